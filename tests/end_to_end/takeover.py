"""Goal: a run outlives its coordinator, its `ballast run`, and even all of its
processes: workers keep their state and are found again, or the run goes back
to a checkpoint; every sample still counts once in the model that comes out.
Method: real processes, kill -9; the checker shares nothing with the runtime.
"""
import contextlib
import json
import os
import random
import signal
import socket
import time
import unittest

from harness.jobs import merged
from harness.program import alive
from harness.run_files import read_json, read_lines
from harness.waiting import patience, wait_until

from recovery import Recovery, job_of


# Of tests in which nobody may be lost: a machine that is busy must not look
# like a worker that does not come back.
UNHURRIED = {"heartbeat_ms": 1000}


class Takeover(Recovery):
    def coordinator(self, run):
        return read_json(run / "coordinator.json")["pid"]

    def pids(self, run):
        return {w["name"]: w["pid"] for w in self.workers(run)}

    def kinds(self, run):
        return [e["kind"] for e in read_lines(run / "events.jsonl")]

    def terms(self, run):
        return [e["term"] for e in read_lines(run / "events.jsonl")
                if e["kind"] == "coordinator_started"]

    def kill(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def resume(self, job, run, *arguments):
        path = self.write("resumed.json", job)
        return self.start("run", path, "--run-dir", run, "--resume",
                          "--no-progress", *arguments)

    def kill_all(self, one):
        family = one.family()
        one.signal(signal.SIGKILL)
        for pid in family:
            self.kill(pid)
        one.wait(5)
        wait_until(lambda: not [p for p in family if alive(p)], "all to end")


class CoordinatorKilled(Takeover):
    def test_steps_go_on_and_no_worker_is_restarted(self):
        one, run = self.begin(job_of(epochs=20, elastic=UNHURRIED))
        before = self.pids(run)
        self.kill(self.coordinator(run))
        wait_until(lambda: len(self.terms(run)) == 2, "another coordinator")
        wait_until(lambda: len(self.generations(run)) == 2, "its generation")
        self.assertEqual(self.pids(run), before)
        self.ended_well(one, run, 20)
        kinds = self.kinds(run)
        self.assertEqual(kinds.count("worker_returned"), 4)
        self.assertNotIn("worker_lost", kinds)
        self.assertNotIn("undone", kinds)
        # What was done while nobody watched counts: no gap of a whole life.
        times = [s["t_ns"] for s in read_lines(run / "steps.jsonl")]
        self.assertLess(max(b - a for a, b in zip(times, times[1:])), 1e9)

    def test_a_worker_that_dies_with_it_is_replaced(self):
        one, run = self.begin(job_of(epochs=20))
        victim = self.workers(run)[2]
        self.kill(self.coordinator(run))
        self.kill(victim["pid"])
        self.ended_well(one, run, 20)
        self.assertIn("worker_lost", self.kinds(run))

    def test_seven_deaths_within_a_minute_do_not_end_the_run(self):
        one, run = self.begin(job_of(epochs=200))
        seen = set()
        for _ in range(7):
            self.kill(self.next_coordinator(run, seen))
        self.next_coordinator(run, seen)
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(20), 130, one)
        self.assertEqual(read_json(run / "report.json")["state"], "stopped")

    def test_a_port_that_was_taken_meanwhile_costs_the_page_its_address(self):
        one, run = self.begin(job_of(epochs=20))
        before = read_json(run / "coordinator.json")
        host, port = before["http"].removeprefix("http://").split(":")
        one.signal(signal.SIGSTOP)  # the next one starts when the port is gone
        self.kill(before["pid"])
        with contextlib.closing(socket.socket()) as thief:
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            wait_until(lambda: thief.connect_ex((host, int(port))), "its end")
        with contextlib.closing(socket.socket()) as thief:
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

            def bound():  # its last connections may hold the port for a moment
                with contextlib.suppress(OSError):
                    thief.bind((host, int(port)))
                    return True

            wait_until(bound, "the port")
            thief.listen()
            one.signal(signal.SIGCONT)
            self.ended_well(one, run, 20)
        self.assertRegex(one.err, f"{port}: the port is in use.*: the page is "
                         "at http://127.0.0.1:")

    def next_coordinator(self, run, seen):
        pid = wait_until(lambda: (pid := self.coordinator(run)) not in seen and
                         alive(pid) and pid, "another coordinator", 30)
        seen.add(pid)
        return pid

    def test_a_signal_right_after_its_death_reaches_the_next_one(self):
        for later_s in (0, 0.01, 0.025):  # it may hear it, or none does
            with self.subTest(later_s=later_s):
                one, run = self.begin(job_of(epochs=200))
                self.kill(self.coordinator(run))
                time.sleep(later_s)
                one.signal(signal.SIGINT)
                self.assertEqual(one.wait(20), 130, one)
                self.assertEqual(read_json(run / "report.json")["state"],
                                 "stopped")
                self.assertIn("stopped", one.last_line)

    def test_again_and_again_with_workers_dying_meanwhile(self):
        seed = int(os.environ.get("BALLAST_TEST_SEED", "1"))
        dice = random.Random(seed)
        one, run = self.begin(job_of(epochs=40))
        for _ in range(4):
            time.sleep(dice.uniform(0.2, 1.2))
            if not one.running():
                break
            self.kill(self.coordinator(run))
            if dice.random() < 0.5 and len(self.workers(run)) > 2:
                self.kill(dice.choice(self.workers(run))["pid"])
        with self.subTest(seed=seed):
            self.ended_well(one, run, 40)
            self.assertGreater(len(self.terms(run)), 2)


class RunKilled(Takeover):
    def test_its_workers_wait_and_are_adopted(self):
        job = job_of(epochs=15, elastic=UNHURRIED)
        one, run = self.begin(job)
        before = self.pids(run)
        one.signal(signal.SIGKILL)
        one.wait(5)
        wait_until(lambda: not alive(self.coordinator(run)), "its coordinator")
        stood = self.committed(run)
        self.assertTrue(all(alive(pid) for pid in before.values()))
        again = self.resume(job, run)
        wait_until(lambda: self.committed(run) > stood + 5, "more steps")
        self.assertEqual(self.pids(run), before)
        self.ended_well(again, run, 15)
        self.assertNotIn("undone", self.kinds(run))
        wait_until(lambda: not [p for p in before.values() if alive(p)],
                   "the workers to end")

    def test_a_worker_of_another_run_with_its_pid_is_left_alone(self):
        job = job_of(workers=2, epochs=6, checkpoint={"every_steps": 30,
                                                      "every_s": 0})
        one, run = self.begin(job)
        wait_until(lambda: "checkpoint" in self.kinds(run), "a checkpoint")
        self.kill_all(one)
        other, its_run = self.begin(job_of(workers=2, epochs=60))
        strangers = self.pids(its_run)
        listed = read_json(run / "workers.json")
        for worker in listed["workers"]:
            worker["pid"] = strangers[worker["name"]]
        (run / "workers.json").write_text(json.dumps(listed))
        self.ended_well(self.resume(job, run), run, 6)
        self.assertEqual(self.pids(its_run), strangers)
        self.assertTrue(all(alive(pid) for pid in strangers.values()))
        other.signal(signal.SIGINT)
        self.assertEqual(other.wait(20), 130, other)

    def test_they_wait_only_so_long(self):
        one, run = self.begin(job_of(epochs=200, elastic={"orphan_s": 1}))
        before = self.pids(run)
        one.signal(signal.SIGKILL)
        wait_until(lambda: not [p for p in before.values() if alive(p)],
                   "the workers to give up", patience(6))


class AllKilled(Takeover):
    def test_it_goes_on_from_the_newest_checkpoint(self):
        job = job_of(epochs=15, checkpoint={"every_steps": 40, "every_s": 0,
                                            "keep": 2})
        one, run = self.begin(job)
        wait_until(lambda: self.kinds(run).count("checkpoint") >= 3,
                   "checkpoints")
        shown = self.committed(run)
        wait_until(lambda: self.committed(run) > shown + 3, "steps behind them")
        self.kill_all(one)
        shown = self.committed(run)
        newest = max(int(p.name.split("-")[1])
                     for p in (run / "checkpoints").glob("step-*"))
        again = self.resume(job, run)
        self.ended_well(again, run, 15)
        undone = [e for e in read_lines(run / "events.jsonl")
                  if e["kind"] == "undone"]
        self.assertEqual([(e["from"], e["to"]) for e in undone],
                         [(shown, newest)] if shown > newest else [])
        self.assertEqual([s["step"] for s in read_lines(run / "undone.jsonl")],
                         list(range(newest + 1, shown + 1)))
        self.assertLessEqual(len(list((run / "checkpoints").glob("step-*"))), 2)

    def killed_behind_two_checkpoints(self):
        """The job, the run's folder, and its two newest checkpoints."""
        job = job_of(epochs=12, checkpoint={"every_steps": 40, "every_s": 0,
                                            "keep": 2})
        one, run = self.begin(job)
        wait_until(lambda: self.kinds(run).count("checkpoint") >= 2,
                   "checkpoints")
        self.kill_all(one)
        # A third one is there while the oldest is being removed.
        *_, older, newest = sorted((run / "checkpoints").glob("step-*"),
                                   key=lambda p: int(p.name.split("-")[1]))
        return job, run, older, newest

    def test_a_damaged_checkpoint_is_passed_over(self):
        job, run, older, newest = self.killed_behind_two_checkpoints()
        state = newest / "state.safetensors"
        state.write_bytes(state.read_bytes()[:-1])
        again = self.resume(job, run)
        self.ended_well(again, run, 12)
        undone = [e for e in read_lines(run / "events.jsonl")
                  if e["kind"] == "undone"]
        self.assertEqual(undone[0]["to"], int(older.name.split("-")[1]))

    def test_a_bit_that_changed_is_found_by_those_who_load_it(self):
        job, run, older, newest = self.killed_behind_two_checkpoints()
        state = newest / "state.safetensors"
        content = bytearray(state.read_bytes())
        content[-5] ^= 4
        state.write_bytes(content)
        again = self.resume(job, run)
        self.ended_well(again, run, 12)
        events = read_lines(run / "events.jsonl")
        [refused] = [e for e in events if e["kind"] == "checkpoint_refused"]
        self.assertEqual(refused["checkpoint"], newest.name)
        self.assertIn("its state does not match its checksum",
                      refused["reason"])
        self.assertEqual((run / refused["kept"] / "state.safetensors")
                         .read_bytes(), content)
        [back] = [e for e in events if e["kind"] == "undone"
                  and "cannot load the checkpoint" in e["reason"]]
        self.assertEqual((back["from"], back["to"]),
                         (int(newest.name.split("-")[1]),
                          int(older.name.split("-")[1])))

    def test_without_a_checkpoint_from_the_seed_onto_other_workers(self):
        job = job_of(workers=3, epochs=8, checkpoint={"every_steps": 100000})
        one, run = self.begin(job)
        self.kill_all(one)
        again = self.resume(job, run, "--workers", "2")
        self.ended_well(again, run, 8)

    def test_the_last_holders_of_the_model(self):
        one, run = self.begin(job_of(workers=2, epochs=15,
                                     checkpoint={"every_steps": 30, "every_s": 0}))
        wait_until(lambda: "checkpoint" in self.kinds(run), "a checkpoint")
        shown = self.committed(run)
        wait_until(lambda: self.committed(run) > shown + 3, "steps behind it")
        for victim in self.workers(run):
            self.kill(victim["pid"])
        self.ended_well(one, run, 15)
        self.assertIn("undone", self.kinds(run))


class AnotherRun(Takeover):
    """Numbers of processes are given again, and run directories are copied:
    what workers.json names may be another run's by now."""

    def named(self, run):
        return {w["name"]: w for w in self.workers(run)}

    def named_by(self, run, theirs, *fields):
        """Makes workers.json name the other run's workers, as far as these
        fields go."""
        path = run / "workers.json"
        listed = read_json(path)
        for one in listed["workers"]:
            one.update({field: theirs[one["name"]][field]
                        for field in fields})
        path.write_text(json.dumps(listed), encoding="utf-8")

    def test_a_resume_leaves_its_workers_alone(self):
        other, others_run = self.begin(job_of(workers=2, epochs=10000))
        theirs = self.named(others_run)
        for fields in (["pid"], ["pid", "start_ticks", "boot_id"]):
            with self.subTest(fields):
                job = job_of(workers=2, epochs=8)
                one, run = self.begin(job)
                self.kill_all(one)
                self.named_by(run, theirs, *fields)
                again = self.resume(job, run)
                self.ended_well(again, run, 8)
                shown = self.committed(others_run)
                wait_until(lambda: self.committed(others_run) > shown,
                           "steps of the other run")
                self.assertEqual(self.named(others_run), theirs)
                self.assertEqual(len(self.generations(others_run)), 1)
                self.assertNotIn("worker_lost", self.kinds(others_run))
        other.signal(signal.SIGINT)
        self.assertEqual(other.wait(20), 130, other)


class Resumed(Takeover):
    def test_a_stopped_run_goes_on(self):
        job = job_of(epochs=15)
        one, run = self.begin(job)
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(20), 130, one)
        self.assertEqual(self.kinds(run)[-1], "done")
        stood = read_json(run / "report.json")["steps"]
        again = self.resume(job, run)
        self.ended_well(again, run, 15)
        self.assertNotIn("undone", self.kinds(run))
        self.assertGreater(self.committed(run), stood)

    def test_what_cannot_go_on_is_refused(self):
        job = job_of(epochs=1)
        one, run = self.begin(job)
        self.assertEqual(one.wait(30), 0, one)
        done = self.resume(job, run)
        self.assertEqual(done.wait(20), 2, done)
        self.assertIn("is done: there is nothing to go on with",
                      done.last_line)
        stopped = {"state": "stopped"}
        (run / "report.json").write_text(json.dumps(stopped))
        other = self.resume(merged(job, {"seed": 77}), run)
        self.assertEqual(other.wait(20), 2, other)
        self.assertIn("differs from the one that the run began with at /seed",
                      other.last_line)
        self.assertEqual(read_json(run / "report.json"), stopped)

    def test_a_running_one_is_left_alone(self):
        job = job_of(epochs=200)
        one, run = self.begin(job)
        second = self.resume(job, run)
        self.assertEqual(second.wait(20), 2, second)
        self.assertIn("in use by process", second.last_line)
        self.assertNotIn("worker_lost", self.kinds(run))
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(20), 130, one)


class Refused(Takeover):
    def test_a_loss_that_is_not_finite_leaves_the_state_before_it(self):
        job = merged(job_of(epochs=3), {
            "faults": False,
            "train": {"loss": "cross_entropy",
                      "optimizer": {"kind": "sgd", "lr": 1e6}}})
        job["model"] = {"kind": "mlp", "hidden": [8]}
        one, run = self.new_run(job)
        self.assertEqual(one.wait(60), 1, one)
        error = [e for e in read_lines(run / "events.jsonl")
                 if e["kind"] == "error"][-1]
        self.assertEqual(error["code"], "non_finite_loss")
        samples = [i for ids in error["samples"].values() for i in ids]
        self.assertEqual(len(samples), 50)
        self.assertEqual(len(set(samples)), 50)
        if error["step"] > 1:
            self.assertTrue((run / "checkpoints" /
                             f"step-{error['step'] - 1}").exists())

    def test_sigterm_to_a_worker_lets_it_leave(self):
        one, run = self.begin(job_of(epochs=30))
        victim = self.workers(run)[1]
        os.kill(victim["pid"], signal.SIGTERM)
        wait_until(lambda: [w for w in self.workers(run, "left")
                            if w["pid"] == victim["pid"]], "it to leave")
        self.ended_well(one, run, 30)
        self.assertNotIn("worker_lost", self.kinds(run))


if __name__ == "__main__":
    unittest.main()
