"""Goal: what a board of Grafana shows is what happened. Method: a real
Prometheus watches two real runs at once. In one a worker is slow, rows move,
another worker is killed, a checkpoint fails; the other trains a model on GPUs
that are played (played_gpus.py). Every query of every board is asked as
Grafana asks it; what it says is compared with the runs' own files and status.
"""
import math
import os
import re
import signal
import time
import unittest

from harness.jobs import emulated_job, merged
from harness.live_run import LiveRun
from harness.program import BINARY
from harness.prometheus import Prometheus
from harness.waiting import patience, wait_until

from ballast_test import BallastTest
from board_files import (BOARDS, Shown, Truth, config_for, near, queries,
                         query, seconds_of)
from played_gpus import HEAT, WELL, PlayedGpus

ROWS, TEST_ROWS, FEATURES = 6000, 300, 4
ROW_BYTES = 8 + 4 * FEATURES + 4  # id, features, label
WORKERS = 4
HEARTBEAT_S = 1
# Of the played GPU: what fake_nvml.cpp says.
GPU = {"Utilization": 0.93, "Memory used": 0.6, "Temperature": 91,
       "Slowed down": 1, "Memory errors": 9, "Xid errors": 48}
OVERVIEW, STEPS, RECOVERY, DATA, GPUS, FLEET = (
    BOARDS[f"{name}.json"] for name in (
        "overview", "steps_and_stragglers", "recovery",
        "data_and_collectives", "gpu", "fleet"))


class Boards(PlayedGpus, BallastTest):
    def setUp(self):
        try:
            super().setUp()
            self.played = True
        except unittest.SkipTest:  # no CUDA part that could be played
            self.played = False
        self.full = self.folder / "checkpoints fail"

    def balanced(self):
        """A run whose workers are as slow as they are told."""
        job = emulated_job(
            rows=ROWS, workers=WORKERS, batch=128, epochs=100000,
            us_per_sample=200, faults=True, trace_samples=False,
            data={"train": {"classes": 8, "features": FEATURES},
                  "test_fraction": TEST_ROWS / ROWS, "chunk_rows": 25,
                  "placement": {"kind": "sorted"}},
            checkpoint={"every_steps": 20, "every_s": 1})
        return self.live(job, "balanced", BALLAST_FAULT_POINTS=
                         f"checkpoint.rename=eio?{self.full}")

    def on_gpus(self):
        job = merged(self.job(), {"data": {"test_fraction": 0.1}})
        return self.live(job, "on-gpus", "--device",
                         "cuda:0" if self.played else "cpu")

    def live(self, job, name, *arguments, **environment):
        one = LiveRun(job, self.folder / name,
                      self.environment["BALLAST_CACHE"], arguments,
                      {**self.environment, **environment},
                      self.tree / "ballast" if self.played else BINARY, name)
        self.addCleanup(one.__exit__, None)
        return one

    def test_every_query_tells_what_happened(self):
        live, other = self.balanced(), self.on_gpus()
        live.wait_full(WORKERS)
        other.wait_full(2)
        seen = Prometheus(config_for([live.url, other.url]), self.folder,
                          self.environment)
        self.addCleanup(seen.end)
        wait_until(lambda: seen.up() == 2 + WORKERS + 2, "all targets")
        seen.ready = time.time()
        self.check_gpus(seen, other)
        self.check_learning(seen, other)
        live.wait_for(lambda: self.moved(live, "skew"), "a move by skew")
        self.assertIsNone(live.post("slow_worker", worker="w2", factor=4))
        live.wait_for(lambda: self.moved(live, "than its part"),
                      "a move by size")
        self.check_speeds(seen, live)
        self.lose_one(seen, live)
        self.fail_a_checkpoint(live)
        for board in BOARDS.values():
            if board is not GPUS:
                # The emulated model says nothing of a row.
                self.answered(seen, board, live.run.name,
                              but=["Test metrics"])
        self.assertIsNone(live.post("pause"))
        wait_until(lambda: Truth(live).status["state"] == "paused", "a pause")
        self.check_overview(seen, live, other)
        self.check_recovery(seen, live)
        self.check_data(seen, live)
        self.check_marks(seen, live)
        self.check_fleet(seen, live, other)
        self.check_report(seen, live)

    def moved(self, live, reason=""):
        """Rows that moved by now for such a reason."""
        live.poll()
        return sum(e["moved_rows"] for e in live.events.lines
                   if e["kind"] == "balance" and reason in e["reason"])

    def answered(self, seen, board, run, but=()):
        """Every query has a number, now or before, with every label that its
        legend shows."""
        for one in queries(board):
            if one.place in but:
                seen.ask(one.filled(run), one.instant)
                continue
            found = wait_until(lambda one=one: [
                labels for labels, number in
                seen.ask(one.filled(run), one.instant)
                if not math.isnan(number)], f"an answer to {one}")
            for label in re.findall(r"{{(\w+)}}", one.legend):
                for labels in found:
                    self.assertIn(label, labels, one)

    def agree(self, what, shown, expected, part=1e-6):
        """Waits until both are the same: to look takes Prometheus a second."""
        last = []

        def same():
            last[:] = [shown(), expected()]
            a, b = last
            if isinstance(a, dict) and isinstance(b, dict):
                return a.keys() == b.keys() and all(
                    near(a[key], b[key], part) for key in a)
            return a is not None and near(a, b, part)
        try:
            wait_until(same, what, pause_s=0.1)
        except AssertionError as never:
            raise AssertionError(f"{what}: shown {last[0]}, expected "
                                 f"{last[1]}") from never

    # -- the parts

    def check_gpus(self, seen, other):
        if self.played:
            self.check_readings(seen, other)
        else:
            for one in queries(GPUS):
                seen.ask(one.filled(other.run.name), one.instant)

    def check_learning(self, seen, other):
        shown = Shown(seen, other.run.name)
        wait_until(lambda: Truth(other).of("evaluation"), "an evaluation")
        self.assertIsNone(other.post("pause"))
        wait_until(lambda: Truth(other).status["state"] == "paused", "a pause")

        self.agree("accuracy", lambda: shown.value(
            OVERVIEW, "Test metrics", "accuracy"),
            lambda: Truth(other).of("evaluation")[-1]["test_accuracy"])
        self.agree("metrics", lambda: shown.by(
            "metric", OVERVIEW, "Test metrics", "metric{"),
            lambda: {name: value for name, value in
                     Truth(other).of("evaluation")[-1]["metrics"].items()
                     if isinstance(value, float)})

    def check_readings(self, seen, other):
        shown = Shown(seen, other.run.name)
        self.gpu(91, HEAT, errors=9, xid=48)
        for title, value in GPU.items():
            self.agree(title, lambda title=title:
                       shown.by("worker", GPUS, title),
                       lambda value=value: {"w1": value, "w2": value})
        self.agree("slowed GPUs", lambda: shown.value(
            GPUS, "GPUs slowed down"), lambda: 2)
        pcie = query(GPUS, "PCIe").filled(other.run.name)
        for way, kilobytes in (("sent", 5), ("received", 9)):
            self.agree(f"bytes {way}", lambda way=way: {
                labels["worker"]: number
                for labels, number in seen.ask(pcie, instant=True)
                if labels["direction"] == way},
                lambda kilobytes=kilobytes: dict.fromkeys(
                    ("w1", "w2"), kilobytes * 1024))
        # Of this GPU the driver does not say what it draws, and nothing else
        # happens to this run.
        self.answered(seen, GPUS, other.run.name,
                      but=["Power", "Generations", "Recoveries"])

    def check_speeds(self, seen, live):
        shown = Shown(seen, live.run.name)
        self.agree("speeds", lambda: shown.by("worker", STEPS,
                                              "Speed by worker"),
                   lambda: Truth(live).workers("samples_per_s"), 0.1)
        self.agree("throughput", lambda: shown.value(OVERVIEW, "Throughput"),
                   lambda: Truth(live).rate(4), 0.2)
        self.agree("throughput of the fleet",
                   lambda: shown.value(FLEET, "Throughput"),
                   lambda: Truth(live).rate(4), 0.2)
        # It was told to be four times slower than the others; a machine that
        # is crowded makes of that more, never less.
        wait_until(lambda: (shown.value(
            STEPS, "Slowest against the others") or 0) > 3, "w2 as slow")
        self.assertEqual(list(shown.by("worker", STEPS, "Slowest worker")),
                         ["w2"])

        def row():
            one = shown.by("worker", STEPS, "Time for a row by worker")
            return one.pop("w2") >= 800e-6 and min(one.values()) >= 200e-6
        wait_until(row, "the time that the emulated model takes for a row")
        self.agree("phases of a step",
                   lambda: sum(shown.by("phase", STEPS,
                                        "Time of a step by phase").values()),
                   lambda: shown.value(STEPS, "Time of a step"), 0.2)
        self.agree("steps a second",
                   lambda: 1 / shown.value(STEPS, "Time of a step"),
                   lambda: shown.value(OVERVIEW, "Steps per second"), 0.2)
        self.check_phases(seen, live)

    def check_phases(self, seen, live):
        shown = Shown(seen, live.run.name)

        def times(title):
            return shown.by("worker", STEPS, title)
        computing, batch = "Computing by worker", "Batch by worker"
        self.agree("batches", lambda: times(batch),
                   lambda: Truth(live).workers("batch"), 0.1)
        self.agree("computing", lambda: times(computing), lambda: {
            name: rows * times("Time for a row by worker")[name]
            for name, rows in Truth(live).workers("batch").items()}, 0.3)
        # What is shown of each, and the mean of all.
        for phase, title in (("compute", computing),
                             ("reduce", "Waiting for the others by worker"),
                             ("data", "Waiting for data by worker")):
            self.agree(title, lambda title=title: sum(
                times(title).values()) / WORKERS,
                lambda phase=phase: shown.by(
                    "phase", STEPS, "Time of a step by phase")[phase], 0.1)
        # Whoever does not compute waits for the others.
        self.agree("waiting", lambda: {
            name: time + times("Waiting for the others by worker")[name]
            for name, time in times(computing).items()},
            lambda: dict.fromkeys(live.members[live.newest], shown.value(
                STEPS, "Time of a step")), 0.2)
        self.agree("waiting of all", lambda: shown.value(STEPS, "Waiting"),
                   lambda: 1 - sum(times(computing).values()) / WORKERS /
                   shown.value(STEPS, "Time of a step"), 0.3)
        # A quantile is that of a bucket, of several steps.
        slow = shown.by("phase", STEPS, "Time of a step by phase, p99")
        self.assertGreater(slow["compute"] * 2.5,
                           max(times(computing).values()))
        self.agree("rows with a gradient",
                   lambda: times("Rows with a gradient by worker"),
                   lambda: dict.fromkeys(live.members[live.newest], 1))
        for name, age in times("Heartbeat age by worker").items():
            self.assertTrue(0 <= age < patience(HEARTBEAT_S * 3), (name, age))
        # 1000 numbers, and some sums.
        self.agree("gradients", lambda: shown.value(
            DATA, "Gradients per step"), lambda: 4 * 1000, 0.1)

    def lose_one(self, seen, live):
        shown = Shown(seen, live.run.name)
        os.kill(live.workers()["w4"], signal.SIGKILL)
        live.wait_for(lambda: live.full(WORKERS) and live.newest >= 3,
                      "another worker in its place")
        members = {"w1": 1, "w2": 1, "w3": 1, "w5": 1}
        self.agree("another in its place", lambda: shown.by(
            "worker", RECOVERY, "Members", "by (worker)"), lambda: members)
        self.agree("no worker fewer",
                   lambda: shown.value(RECOVERY, "Workers fewer"), lambda: 0)
        self.assertIsNone(live.post("scale", workers=WORKERS - 1))
        live.wait_full(WORKERS - 1)
        self.agree("one worker fewer",
                   lambda: shown.value(RECOVERY, "Workers fewer"), lambda: 1)
        self.agree("who is left", lambda: shown.by(
            "worker", RECOVERY, "Members", "by (worker)"),
            lambda: dict.fromkeys(live.members[live.newest], 1))

    def fail_a_checkpoint(self, live):
        self.full.touch()
        live.wait_for(lambda: Truth(live).of("checkpoint_failed"),
                      "a checkpoint that fails")
        self.full.unlink()
        count = len(Truth(live).of("checkpoint"))
        live.wait_for(lambda: len(Truth(live).of("checkpoint")) > count,
                      "another one that does not")

    def check_overview(self, seen, live, other):
        for one in (live, other):
            shown = Shown(seen, one.run.name)
            self.agree("the state", lambda shown=shown: shown.by(
                "state", OVERVIEW, "State"), lambda: {"paused": 1})
            for title, expected in self.overview(one).items():
                self.agree(f"{title} of {one.run.name}",
                           lambda title=title, shown=shown:
                           shown.value(OVERVIEW, title),
                           expected)
        shown = Shown(seen, live.run.name)
        self.agree("recoveries", lambda: shown.by(
            "reason", OVERVIEW, "Recoveries by reason"),
            lambda: {"crash": len(Truth(live).recoveries), "silence": 0,
                     "evicted": 0, "coordinator": 0, "bits": 0, "other": 0})
        # Besides, a worker may have counted that its peer was gone.
        [failed] = {e["code"] for e in Truth(live).of("checkpoint_failed")}
        self.agree("errors", lambda: shown.by(
            "code", OVERVIEW, "Errors by code")[failed],
            lambda: len(Truth(live).of("checkpoint_failed")))

    @staticmethod
    def overview(live):
        """Panel -> what is expected there, as last written."""
        def last(kind, key):
            return Truth(live).of(kind)[-1][key]
        return {
            "Epoch": lambda: Truth(live).steps[-1]["epoch"],
            "Steps": lambda: len(Truth(live).steps),
            "Samples": lambda: sum(s["samples"] for s in Truth(live).steps),
            "Training loss": lambda: Truth(live).steps[-1]["loss"],
            "Test loss": lambda: last("evaluation", "test_loss"),
            "Workers": lambda: len(last("generation", "workers")),
            "Generation": lambda: last("generation", "generation"),
            "Recoveries": lambda: len(Truth(live).recoveries),
            "Rows moved": lambda: sum(e["moved_rows"] for e in
                                      Truth(live).of("balance"))}

    def check_recovery(self, seen, live):
        shown, truth = Shown(seen, live.run.name), Truth(live)
        ms = [e["ms"] for e in truth.recoveries]
        self.assertTrue(ms)
        self.agree("mean recovery",
                   lambda: shown.value(RECOVERY, "Mean recovery"),
                   lambda: sum(ms) / len(ms) / 1e3)
        self.agree("time in recoveries",
                   lambda: shown.value(RECOVERY, "Time in recoveries"),
                   lambda: sum(ms) / 1e3)
        phases = {name: [e["phases_ms"][name] / 1e3
                         for e in truth.recoveries]
                  for name in truth.recoveries[0]["phases_ms"]}
        self.agree("time by phase", lambda: shown.by(
            "phase", RECOVERY, "Time in recoveries by phase"),
            lambda: {name: sum(times) for name, times in phases.items()})
        for title in ("median", "p99"):
            found = shown.by("phase", RECOVERY, f"Recovery by phase, {title}")
            self.assertEqual(found.keys(), phases.keys())
            for name, times in phases.items():
                # Of its bucket: at most 2.5 times as wide as it begins.
                self.assertLessEqual(found[name],
                                     max(1e-4, 2.5 * max(times)), name)
                self.assertGreaterEqual(found[name], min(times) / 2.5, name)
        self.agree("checkpoints", lambda: shown.value(RECOVERY, "Checkpoints"),
                   lambda: len(Truth(live).of("checkpoint")))
        took = [e["ms"] / 1e3 for e in Truth(live).of("checkpoint")]
        for part in ("0.5", "0.99"):
            found = shown.value(RECOVERY, "Time to write a checkpoint", part)
            self.assertLessEqual(found, max(1e-4, 2.5 * max(took)))
            self.assertGreaterEqual(found, min(took) / 2.5)
        self.agree("pause", lambda: shown.value(RECOVERY,
                                                "Pause by a checkpoint"),
                   lambda: Truth(live).status["checkpoint"]["pause_s"])
        self.agree("best interval", lambda: shown.value(
            RECOVERY, "Best time between checkpoints"),
            lambda: Truth(live).status["checkpoint"]["best"]["interval_s"])

    def check_data(self, seen, live):
        shown = Shown(seen, live.run.name)

        def moved(cause):
            return sum(e["moved_rows"] for e in Truth(live).of("balance")
                       if e["cause"] == cause)
        self.agree("rows moved by reason", lambda: shown.by(
            "reason", DATA, "Rows moved by reason"),
            lambda: {"skew": moved("SKEW"), "coverage": 0,
                     "size": moved("SIZE")})
        self.agree("bytes moved", lambda: shown.value(DATA,
                                                      "Copied for balance"),
                   lambda: sum(e["moved_bytes"]
                               for e in Truth(live).of("balance")))
        self.agree("rows owned", lambda: shown.by("worker", DATA,
                                                  "Rows owned by worker"),
                   lambda: Truth(live).workers("rows_owned"))
        # The coordinator forgets one that is old; its metric stays.
        known = Truth(live).workers("copy_bytes_per_s")
        copies = shown.by("worker", DATA, "Speed of copies by worker")
        for name, rate in known.items():
            self.assertTrue(near(copies[name], rate, 1e-6), (copies, known))
        # At the start its part of all rows, later those of who was lost.
        read = shown.by("worker", DATA, "Rows read by worker, in all")
        self.assertEqual(read.keys(), Truth(live).workers("pid").keys())
        self.assertEqual(sum(read.values()), shown.value(DATA, "Rows read"))
        for name in {"w1", "w2", "w3"} & read.keys():
            self.assertEqual(read[name] % ROW_BYTES, 0, read)
            self.assertGreaterEqual(read[name], ROWS / WORKERS * ROW_BYTES)

    def check_fleet(self, seen, live, other):
        pattern = f"{live.run.name}|{other.run.name}"
        shown = Shown(seen, pattern)
        runs = {live.run.name: live, other.run.name: other}
        [table] = [p for p in FLEET["panels"] if p["type"] == "table"]
        [_, organize] = table["transformations"]
        names = organize["options"]["renameByName"]
        columns = {names[f"Value #{target['refId']}"]: target["expr"]
                   for target in table["targets"]
                   if f"Value #{target['refId']}" in names}
        for title in ("Epoch", "Steps", "Training loss", "Test loss",
                      "Workers", "Generation", "Recoveries"):
            self.agree(f"{title} of the fleet", lambda title=title: shown.by(
                "run", FLEET, "Runs", columns[title]),
                lambda title=title: {name: self.overview(one)[title]()
                                     for name, one in runs.items()})
        self.agree("makespan ratios", lambda: shown.by(
            "run", FLEET, "Makespan ratio by run"), lambda: {
                name: Truth(one).status["balance"]["makespan_ratio"]
                for name, one in runs.items()})
        since = shown.by("run", FLEET, "Since the last step by run")
        for name, one in runs.items():
            last = time.time() - seconds_of(Truth(one).steps[-1]["time"])
            self.assertLess(abs(since[name] - last), patience(2), name)
        accuracy = shown.by("run", FLEET, "Test accuracy by run")
        self.assertEqual(accuracy[live.run.name], 0)
        self.assertGreater(accuracy[other.run.name], 0)
        self.assertEqual(shown.value(FLEET, "Recoveries"),
                         len(Truth(live).recoveries))
        self.assertEqual(shown.value(FLEET, "Runs", "count"), 2)
        self.assertEqual(shown.value(FLEET, "Training"), 0)
        self.assertEqual(shown.value(FLEET, "Workers"), WORKERS - 1 + 2)
        self.assertEqual(shown.value(FLEET, "Builds"), 1)
        self.assertIsNone(other.post("resume"))
        self.agree("runs that train", lambda: shown.value(FLEET, "Training"),
                   lambda: 1)

    def check_marks(self, seen, live):
        """Each annotation stands where it happened, and nowhere else."""
        window = 4 + patience(4)  # of the rate; to scrape, and to ask
        expected = {"Recoveries": Truth(live).recoveries,
                    "Generations": Truth(live).of("generation"),
                    "Errors": Truth(live).of("checkpoint_failed"),
                    "Checkpoints": Truth(live).of("checkpoint")}
        for place, events in expected.items():
            one = query(RECOVERY, place, "[$__rate_interval])) > 0"
                        if place == "Errors" else "[$__rate_interval]) > 0")
            times = [seconds_of(e["time"]) for e in events]
            watched = [when for when in times if when > seen.ready]
            self.assertTrue(watched, place)

            def marks(one=one):
                found = seen.get("query_range", start=seen.begun,
                                 end=time.time(), step=1,
                                 query=one.filled(live.run.name))
                return sorted(float(when) for series in found["result"]
                              for when, _ in series["values"])

            def all_there(watched=watched, marks=marks):
                now = marks()
                return all(any(when <= mark <= when + window for mark in now)
                           for when in watched)
            # The newest may have been a moment ago.
            wait_until(all_there, f"the marks of {place}", pause_s=0.5)
            if place != "Errors":  # those of workers are no events
                for mark in marks():
                    self.assertTrue(
                        any(when <= mark <= when + window for when in times),
                        (place, mark, times))

    def check_report(self, seen, live):
        """What was shown of a run that is paused is how it ended."""
        shown = Shown(seen, live.run.name)
        last = {title: shown.value(OVERVIEW, title)
                for title in ("Steps", "Samples", "Generation", "Recoveries",
                              "Rows moved")}
        copied = shown.value(DATA, "Copied for balance")
        report = live.stop()
        self.assertEqual(last, {
            "Steps": report["steps"], "Samples": report["samples"],
            "Generation": report["generations"],
            "Recoveries": len(report["recoveries"]),
            "Rows moved": report["moved_samples"]})
        self.assertEqual(copied, report["moved_bytes"])
        self.assertEqual(report["audit"]["once"], last["Samples"])


if __name__ == "__main__":
    unittest.main()
