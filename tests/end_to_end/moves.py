"""Goal: rows change their owner safely whatever happens on the way: a chunk that
arrives damaged, a death in any phase of a move, who joins, leaves or stands
still meanwhile. Nothing is lost or repeated, and balance is reached in the end.
Method: real processes that move 20 MB, with faults in a phase that is watched for;
several runs at a time, since they mostly wait.
"""
import concurrent.futures
import contextlib
import json
import os
import re
import signal
import sqlite3
import struct
import unittest

from harness.exactness import check_run, expand
from harness.http_client import request
from harness.jobs import emulated_job, merged
from harness.live_run import LiveRun
from harness.run_files import read_json
from harness.waiting import wait_until

from ballast_test import BallastTest
from takeover_phases import wait_busily

WORKERS, ROWS, BATCH = 3, 40009, 64
BUDGET = 0.05
# Nobody says how fast rows come, so plans wait for their bytes.
BYTES_FIRST = "reads.told=eio"
UNDER_WAY = ("PLANNED", "PENDING", "DWELL", "STALE_REPORT", "STALLED",
             "DISABLED")


def job_of(**more):
    """Chunks sorted by label, 1 KiB a row; balance is switched on later."""
    return merged(emulated_job(
        ROWS, workers=WORKERS, batch=BATCH, epochs=100000, us_per_step=10000,
        parameters=50,
        data={"train": {"features": 256}, "chunk_rows": 100,
              "placement": {"kind": "sorted"}},
        elastic={"heartbeat_ms": 200, "respawn_limit": 1000},
        balance={"enabled": False, "skew_tv": BUDGET}, faults=True), more)


class OriginIsFrozen(Exception):
    """A machine so busy that an owner of chunks sent no byte for 3 s: then they
    are taken from the origin, the coordinator, which this test has frozen."""


class TooQuick(AssertionError):
    """The phase was over before the fault could be put into it."""


def in_time(met):
    if not met:
        raise TooQuick


def kill(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def status(run):
    """None while no coordinator answers."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        return request(run.url + "/v1/status").json
    return None


def events(run, kind):
    run.poll()
    return [e for e in run.events.lines if e["kind"] == kind]


def switches(run):
    """Of plans that move rows: where a core is short, another split of the batch
    may come before, and that copies nothing."""
    return [e for e in events(run, "balance") if e["moved_rows"] > 0]


class Move(BallastTest):
    def live(self, cache=None, points=BYTES_FIRST, **more):
        run = LiveRun(job_of(**more), self.folder / f"live-{next(self.folders)}",
                      cache or self.environment["BALLAST_CACHE"],
                      environment={"BALLAST_FAULT_POINTS": points})
        self.addCleanup(run.process.end)
        run.wait_full(WORKERS, steps=3)
        return run

    def together(self, *tasks):
        """Each on a thread; fails if one does."""
        with concurrent.futures.ThreadPoolExecutor(len(tasks)) as pool:
            for done in [pool.submit(*task) for task in tasks]:
                done.result()

    # -- phases of a move: each returns who gives, who takes, the pids of all

    def copying(self, run):
        """Some chunks may be there, not all."""
        pids = run.workers()
        moves = len(events(run, "move"))
        self.assertIsNone(run.post("set_balance", enabled=True))

        def look():
            now = status(run) or {}
            names = {w["rank"]: w["name"] for w in now.get("workers", [])}
            return [(names[m["from"]], names[m["to"]])
                    for m in now.get("moves", [])]
        pairs = wait_until(look, "a move", pause_s=0.001)
        in_time(len(events(run, "move")) == moves)
        return *pairs[0], {one for _, one in pairs}, pids

    def copied(self, run):
        """Every chunk is there; the coordinator, frozen, does not know it."""
        giver, taker, takers, pids = self.copying(run)
        kill(run.coordinator, signal.SIGSTOP)
        logs = [run.run / "logs" / f"{name}.log" for name in takers]

        def texts():
            return [log.read_text(encoding="utf-8") for log in logs]
        wait_until(lambda: all("copied " in text for text in texts()) or
                   any("from the origin" in text for text in texts()),
                   "the copies", 60)
        if any("from the origin" in text for text in texts()):
            raise OriginIsFrozen
        in_time(events(run, "move") == [])
        return giver, taker, takers, pids

    def offered(self, run):
        """Steps are long, and a plan comes into force after a whole one."""
        who = self.copying(run)
        with contextlib.closing(sqlite3.connect(
                f"file:{run.run / 'ledger.sqlite'}?mode=ro", uri=True)) as book:
            def newest():
                return book.execute("SELECT number, step FROM plan ORDER BY "
                                    "number DESC LIMIT 1").fetchone()
            before = newest()
            wait_until(lambda: newest() > before, "the offer", pause_s=0.001)
            wait_busily(0.01)  # it is journaled first, then sent
            in_time(newest()[1] is None)
        return who

    def in_force(self, run):
        who = self.copying(run)
        wait_until(lambda: switches(run), "the switch", pause_s=0.001)
        return who

    # -- what must hold then

    def balanced(self, run):
        now = status(run) or {}
        # Moves begin beyond 1.25 times the budget.
        return (now.get("state") == "training" and not now.get("moves") and
                now["balance"]["code"] not in UNDER_WAY and
                now["skew_tv_max"] <= 1.25 * BUDGET)

    def ends_balanced(self, run, world=WORKERS):
        run.wait_for(lambda: run.full(world, steps=3) and self.balanced(run),
                     f"balance; {(status(run) or {}).get('balance')}", 90)
        self.ends_exactly(run)

    def ends_exactly(self, run):
        report = run.stop()
        audit = report["audit"]
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))
        # Also what an earlier coordinator moved counts.
        moved = events(run, "balance")
        for key, field in (("moved_samples", "moved_rows"),
                           ("moved_bytes", "moved_bytes")):
            self.assertEqual(report[key], sum(e[field] for e in moved), key)
        found = check_run(run.run, BATCH)
        self.assertEqual(found.problems, [], found)
        self.ballast("audit", run.run)
        self.nobody_left(run.process, 5)
        return report


class Killed(Move):
    """kill -9 of the worker that gives, of the one that takes, and of the
    coordinator."""

    def with_fault(self, phase, victim, more, tries=4):
        run = self.live(**more)
        coordinator = run.coordinator
        try:
            giver, taker, _, pids = phase(run)
        except (OriginIsFrozen, TooQuick) as missed:
            kill(coordinator, signal.SIGCONT)
            run.stop()
            self.assertGreater(tries, 1, type(missed).__doc__)
            self.with_fault(phase, victim, more, tries - 1)
            return
        pid = {"giver": pids[giver], "taker": pids[taker],
               "coordinator": coordinator}[victim]
        kill(pid)
        kill(coordinator, signal.SIGCONT)
        if victim == "coordinator":
            run.wait_for(lambda: len(events(run, "coordinator_started")) > 1,
                         "another coordinator")
        else:
            run.wait_for(lambda: any(e["pid"] == pid for e in
                                     events(run, "worker_lost")), "the loss")
        self.ends_balanced(run)

    def all_victims(self, phase, **more):
        self.together(*[(self.with_fault, phase, victim, more) for victim in
                        ("giver", "taker", "coordinator")])

    def test_while_chunks_are_copied(self):
        self.all_victims(self.copying)

    def test_after_the_copy_and_before_the_plan_is_offered(self):
        self.all_victims(self.copied)

    def test_while_the_plan_is_offered_and_not_in_force(self):
        self.all_victims(self.offered, model={"us_per_step": 60000})

    def test_right_after_the_switch(self):
        self.all_victims(self.in_force)


class Ahead(Move):
    """Rows are owned before their bytes are there, 160 MB this time; then one
    that got some is killed, or the origin of what has not come, or nobody."""

    def owned_ahead(self, victim, tries=4):
        # Steps so long that rows come fast beside them on any machine.
        run = self.live(points="", data={"train": {"features": 1024}},
                        model={"us_per_step": 80000})
        run.wait_for(lambda: run.full(WORKERS, steps=20), "rows that have come")
        pids, coordinator = run.workers(), run.coordinator
        self.assertIsNone(run.post("set_balance", enabled=True))
        # Where a step, or how fast rows come, is not measured yet, bytes come
        # first: then another run is tried.
        first = wait_until(lambda: next((e for e in events(run, "move")
                                         if e["bytes"] == 0 and
                                         e.get("ahead")), None) or
                           (events(run, "move") and self.balanced(run)),
                           "rows before their bytes", 60, pause_s=0.001)
        if first is True:
            seen = [e.get("ahead") for e in events(run, "move")]
            run.stop()
            self.assertGreater(tries, 1, f"all bytes came first: {seen}")
            self.owned_ahead(victim, tries - 1)
            return
        for one in first["ahead"]:
            self.assertGreater(one["reads_bytes_per_s"],
                               2 * one["needs_bytes_per_s"], first)
            self.assertIn(f"{one['worker']}'s steps lack at most",
                          one["reason"])
        run.wait_for(lambda: any(e["plan"] == first["plan"] and
                                 e["moved_bytes"] > 0
                                 for e in switches(run)), "its switch")
        if victim == "taker":
            kill(pids[first["ahead"][0]["worker"]])
            run.wait_for(lambda: events(run, "worker_lost"), "the loss")
        if victim == "coordinator":
            kill(coordinator)
            run.wait_for(lambda: len(events(run, "coordinator_started")) > 1,
                         "another coordinator")
        self.ends_balanced(run)

    def test_owners_before_their_bytes(self):
        self.together(*[(self.owned_ahead, victim)
                        for victim in ("", "taker", "coordinator")])


class Meanwhile(Move):
    def asks(self, kind, fields, world):
        run = self.live()
        giver, taker, _, _ = self.copying(run)
        names = {"giver": giver, "taker": taker}
        before = len(run.members)
        self.assertIsNone(run.post(kind, **{
            key: names.get(value, value) for key, value in fields.items()}))
        run.wait_for(lambda: run.full(world, steps=3) and
                     len(run.members) > before, f"{world} workers")
        self.ends_balanced(run, world)
        self.assertEqual(events(run, "worker_lost"), [])

    def test_workers_join_and_leave(self):
        self.together(
            (self.asks, "scale", {"workers": 4}, 4),
            (self.asks, "drain_worker", {"worker": "giver"}, WORKERS),
            (self.asks, "drain_worker", {"worker": "taker"}, WORKERS))

    def paused(self):
        """The plan is dropped; who asks is answered, and nothing moves."""
        run = self.live()
        self.copying(run)
        self.assertIsNone(run.post("pause"))
        run.wait_for(lambda: events(run, "paused"), "the pause")
        moves = len(events(run, "move"))
        for kind, fields in (("plan", {}), ("explain", {"worker": "w2"}),
                             ("explain", {"chunk": 7}),
                             ("set_balance", {"skew_tv": BUDGET})):
            self.assertIsNone(run.post(kind, **fields))
        self.assertEqual(status(run)["state"], "paused")
        self.assertEqual(len(events(run, "move")), moves)
        self.assertIsNone(run.post("resume"))
        self.ends_balanced(run)
        self.assertEqual(len(run.members), 1)

    def test_all_pause(self):
        self.paused()

    def excluded(self):
        """Its heartbeats stay away: that ends the move and its membership."""
        run = self.live()
        giver, _, _, pids = self.copying(run)
        kill(pids[giver], signal.SIGSTOP)
        run.wait_for(lambda: events(run, "worker_lost"), "its exclusion", 10)
        [lost] = events(run, "worker_lost")
        self.assertEqual(lost["worker"], giver)
        self.assertIn("no heartbeat", lost["reason"])
        self.assertTrue([e for e in events(run, "plan")
                         if e["outcome"] == "dropped"])
        kill(pids[giver], signal.SIGCONT)
        self.ends_balanced(run)

    def test_who_gives_stands_still(self):
        self.excluded()


class Released(Move):
    """Balance stays off: nothing but the change of membership moves rows."""

    def held(self, run, name):
        """Training chunks that a worker says it holds: its last word."""
        text = (run.run / "logs" / f"{name}.log").read_text(encoding="utf-8")
        said = re.findall(r"holds (\d+) train", text)
        return int(said[-1]) if said else None

    def owned(self, run):
        """name -> chunks, under the newest plan that is in force."""
        with contextlib.closing(sqlite3.connect(
                f"file:{run.run / 'ledger.sqlite'}?mode=ro", uri=True)) as book:
            [body] = book.execute("SELECT body FROM plan WHERE step NOT NULL "
                                  "ORDER BY number DESC LIMIT 1").fetchone()
            names = dict(book.execute("SELECT worker, name FROM member"))
        # [chunk, begin, end], or of many in a row [first, begin, end, count].
        return {names[part["worker"]]:
                len({first + k for first, _, _, *count in part["intervals"]
                     for k in range(*count or [1])})
                for part in json.loads(body)["shares"]}

    def test_chunks_of_a_newcomer_are_forgotten_by_the_others(self):
        run = self.live()
        before = self.owned(run)
        self.assertIsNone(run.post("scale", workers=WORKERS + 1))
        run.wait_for(lambda: run.full(WORKERS + 1, steps=3), "a newcomer")
        after = self.owned(run)
        self.assertEqual(len(after), WORKERS + 1)
        for name in before:
            self.assertLess(after[name], before[name])
        run.wait_for(lambda: all(self.held(run, name) == chunks
                                 for name, chunks in after.items()),
                     "the others to forget what it owns", 10)
        self.assertEqual(events(run, "balance"), [])
        # And back.
        self.assertIsNone(run.post("scale", workers=WORKERS))
        run.wait_for(lambda: run.full(WORKERS, steps=3) and
                     len(self.owned(run)) == WORKERS, "three again")
        run.wait_for(lambda: all(self.held(run, name) == chunks for
                                 name, chunks in self.owned(run).items()),
                     "what each owns", 10)
        self.ends_exactly(run)


class Measured(Move):
    def test_how_fast_chunks_travel(self):
        run = self.live()
        self.assertIsNone(run.post("set_balance", enabled=True))
        run.wait_for(lambda: self.balanced(run), "balance", 90)
        told = json.loads(self.ballast("ctl", "explain", "worker=w2", "--json",
                                       "--to", run.run).out)["copies"]
        self.assertGreater(told["bytes_per_s"], 1e6, told)
        self.assertGreater(told["limit_bytes_per_s"], 1e6)
        self.assertLessEqual(set(told["from"]), {"w1", "w3"})
        for source in told["from"].values():
            self.assertGreater(source["copies"], 0)
        shown = dict(re.findall(r"ballast_worker_copy_bytes_per_second\{run="
                                r'"run",worker="(w\d)"\} (\S+)',
                                request(run.url + "/metrics").text))
        self.assertAlmostEqual(float(shown["w2"]) / told["bytes_per_s"], 1,
                               delta=0.5)
        self.ends_exactly(run)


class Damaged(Move):
    def damage(self, run, chunks, *names):
        """Each has heard of it: else a chunk may leave before. And it holds its
        share: else a chunk may come from the origin, which damages none."""
        for name in names:
            self.assertIsNone(run.post("damage_chunks", worker=name,
                                       chunks=chunks))
            log = run.run / "logs" / f"{name}.log"
            for line in ("as asked: damages the next ", f"{name}: holds "):
                run.wait_for(lambda log=log, line=line: line in
                             log.read_text(encoding="utf-8"), line)

    def arrives_damaged(self, chunks):
        run = self.live()
        self.damage(run, chunks, "w1", "w2", "w3")
        self.assertIsNone(run.post("set_balance", enabled=True))
        run.wait_for(lambda: switches(run), "the switch")
        # Once: again from its owner. Always: from the origin.
        again = events(run, "damaged")
        self.assertTrue(again)
        first = events(run, "move")[0]
        self.assertGreaterEqual(first["refetched"],
                                sum(e["plan"] == first["plan"] for e in again))
        if chunks == 1:
            sources = [e["source"] for e in again]
            self.assertEqual(len(set(sources)), len(sources), again)
        for event in again:
            log = run.run / "logs" / f"{event['worker']}.log"
            self.assertIn(f"chunk {event['chunk']} for plan {event['plan']} "
                          f"arrived damaged from {event['source']}",
                          log.read_text(encoding="utf-8"))
        self.ends_balanced(run)
        self.assertEqual(len(run.members), 1, "nobody was fenced for that")

    def test_what_arrives_damaged_is_fetched_again(self):
        self.together((self.arrives_damaged, 1),
                      (self.arrives_damaged, 1000000))

    def test_what_is_damaged_everywhere_is_not_moved(self):
        cache, flag = self.folder / "cache", self.folder / "broken disk"
        run = self.live(cache, f"{BYTES_FIRST};cache.write=eio?{flag}",
                        data={"train": {"rows": 5003}})
        flag.touch()  # nor can it be prepared again
        self.damage(run, 1000000, "w1", "w2", "w3")
        [table] = cache.glob("**/train.arrow")
        break_chunks(run.run, table)
        self.assertIsNone(run.post("set_balance", enabled=True))

        def dropped():
            return [e for e in events(run, "plan")
                    if e["outcome"] == "dropped"]
        run.wait_for(lambda: len(dropped()) >= 3, "plans that fail")
        for event in dropped():
            self.assertRegex(event["reason"], r"w\d could not copy its chunks: "
                             r".*chunk \d+ is damaged: .*; it cannot be "
                             "prepared again: .*Input/output error")
        self.assertTrue(events(run, "damaged"), "its owner sent it damaged")
        run.wait_for(lambda: status(run)["balance"]["code"] == "STALLED",
                     "patience")
        after = len(run.steps.lines)
        run.wait_for(lambda: run.full(WORKERS) and
                     len(run.steps.lines) > after + 20, "steps")
        self.assertEqual(events(run, "move") + switches(run), [])
        self.ends_exactly(run)
        self.assertEqual(len(run.members), 1)

    def test_only_where_faults_are_allowed(self):
        run = self.live(faults=False)
        refused = self.ballast("ctl", "damage_chunks", "worker=w1", "chunks=1",
                               "--to", run.run, code=1)
        self.assertIn('"faults": true', refused.last_line)
        self.ends_exactly(run)


def break_chunks(run, path):
    """Flips a byte of each chunk in the file that the origin serves."""
    table = path.read_bytes()
    mode = path.stat().st_mode
    path.chmod(0o600)
    with open(path, "r+b") as file:
        for chunk in read_json(run / "manifest.json")["train"]:
            ids = expand(chunk["samples"])
            place = table.index(struct.pack(f"<{len(ids)}Q", *ids))
            file.seek(place)
            file.write(bytes([table[place] ^ 0xff]))
    path.chmod(mode)


if __name__ == "__main__":
    unittest.main()
