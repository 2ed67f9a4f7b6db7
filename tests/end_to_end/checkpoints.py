"""Goal: a checkpoint is whole or not there, whoever is killed while it is made,
and a run that goes back to one is exact. Method: the coordinator is stopped in
the midst of writing one, which shows by its unfinished folder; then real
processes are killed. Every checkpoint must hold what the steps before it make,
by an independent reader and a replay in double precision.
"""
import contextlib
import os
import random
import resource
import signal
import time
import unittest

import numpy

from harness.exactness import check_run
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from recovery import RATE, ROWS, job_of
from replay import emulated_weights, flat_weights
from takeover import Takeover

PARAMETERS = 3_000_000
EVERY = 8


def slow_to_write(epochs, **more):
    """A checkpoint every 8 steps, of 12 MB."""
    return job_of(workers=3, epochs=epochs, model={"parameters": PARAMETERS},
                  checkpoint={"every_steps": EVERY, "every_s": 0, "keep": 2}, **more)


class DuringACheckpoint(Takeover):
    def stopped_in_the_midst(self, run):
        """Stops the coordinator while an unfinished checkpoint lies there;
        its pid and the step."""
        def unfinished():
            with contextlib.suppress(FileNotFoundError):
                return [name for name in os.listdir(run / "checkpoints")
                        if name.startswith(".unfinished-")]
            return []

        def caught():
            if not unfinished():
                return None
            pid = self.coordinator(run)
            os.kill(pid, signal.SIGSTOP)
            wait_until(lambda: "T" in self.state_of(pid), "it to stand still")
            if left := unfinished():
                return pid, int(left[0].rpartition("-")[2])
            os.kill(pid, signal.SIGCONT)
            return None
        begun = len(self.published(run))
        wait_until(lambda: len(self.published(run)) >= min(begun + 1, 2),
                   "a checkpoint")
        return wait_until(caught, "the midst of another", 30, pause_s=0)

    @staticmethod
    def state_of(pid):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0]

    @staticmethod
    def published(run):
        return sorted(int(path.name.rpartition("-")[2])
                      for path in (run / "checkpoints").glob("step-*"))

    def all_whole(self, run):
        """Every published checkpoint holds what the steps before it make."""
        found = check_run(run, 50)
        self.assertEqual(found.problems, [], found)
        for step in self.published(run):
            folder = run / "checkpoints" / f"step-{step}"
            about = read_json(folder / "manifest.json")
            state = folder / "state.safetensors"
            self.assertEqual((about["step"], about["bytes"]),
                             (step, state.stat().st_size))
            steps = [[i for ids in found.ids_of_step[n].values() for i in ids]
                     for n in range(1, step + 1)]
            numpy.testing.assert_allclose(
                flat_weights(state),
                emulated_weights(PARAMETERS, steps, RATE, ROWS), atol=1e-5)

    def nothing_unfinished(self, run):
        self.assertEqual([path.name for path in (run / "checkpoints").iterdir()
                          if not path.name.startswith("step-")], [])

    def test_the_coordinator(self):
        one, run = self.begin(slow_to_write(4))
        for _ in range(2):
            pid, step = self.stopped_in_the_midst(run)
            self.kill(pid)
            self.assertNotIn(step, self.published(run))
            wait_until(lambda old=pid: self.coordinator(run) != old,
                       "another coordinator")
        self.ended_well(one, run, 4)
        self.all_whole(run)
        self.nothing_unfinished(run)

    def test_the_worker_that_holds_the_copy(self):
        one, run = self.begin(slow_to_write(4))
        pid, step = self.stopped_in_the_midst(run)
        first = min(self.workers(run), key=lambda w: w["rank"])
        self.kill(first["pid"])
        os.kill(pid, signal.SIGCONT)
        # The copy was fetched already.
        wait_until(lambda: max(self.published(run)) >= step, "the checkpoint")
        self.ended_well(one, run, 4)
        self.all_whole(run)

    def test_the_worker_whose_copy_is_fetched(self):
        dice = random.Random(int(os.environ.get("BALLAST_TEST_SEED", "1")))
        one, run = self.begin(slow_to_write(6))
        for _ in range(4):
            wait_until(lambda: len(self.workers(run)) == 3, "all three")
            due = (self.committed(run) // EVERY + 1) * EVERY
            wait_until(lambda due=due: self.committed(run) >= due, "its step")
            first = min(self.workers(run), key=lambda w: w["rank"])
            until = time.monotonic() + dice.uniform(0, 0.03)
            while time.monotonic() < until:
                pass
            self.kill(first["pid"])
            wait_until(lambda pid=first["pid"]: not [
                w for w in self.workers(run) if w["pid"] == pid], "the loss")
        self.ended_well(one, run, 6)
        self.all_whole(run)
        self.assertGreater(self.kinds(run).count("checkpoint"), 1)

    def test_everything(self):
        job = slow_to_write(4)
        one, run = self.begin(job)
        for times in (1, 2):
            _, step = self.stopped_in_the_midst(run)
            whole = self.published(run)
            self.kill_all(one)
            shown = self.committed(run)
            self.assertLess(max(whole), step)
            self.assertEqual(self.published(run), whole)
            self.all_whole(run)
            one = self.resume(job, run)
            wait_until(lambda times=times: self.kinds(run).count("undone") ==
                       times, "the way back")
            undone = [e for e in read_lines(run / "events.jsonl")
                      if e["kind"] == "undone"][-1]
            self.assertEqual((undone["from"], undone["to"]),
                             (shown, max(whole)))
        self.ended_well(one, run, 4)
        self.all_whole(run)
        self.nothing_unfinished(run)


class NotFetched(Takeover):
    def begun_to_fetch(self, point, epochs):
        """A run that stays for a second at that point of a checkpoint."""
        flag = self.folder / "armed"
        self.environment["BALLAST_FAULT_POINTS"] = f"{point}=delay:1000!{flag}"
        one, run = self.begin(job_of(
            workers=3, epochs=epochs, checkpoint={"every_steps": 100000}))
        flag.touch()
        self.ballast("ctl", "checkpoint", "--to", run)
        wait_until(lambda: not flag.exists(), "the fetch to begin")
        return one, run

    def test_it_says_from_whom_and_why_in_our_words(self):
        one, run = self.begun_to_fetch("checkpoint.fetch", epochs=20)
        first = min(self.workers(run), key=lambda w: w["rank"])
        self.kill(first["pid"])
        failed = wait_until(lambda: [
            e for e in read_lines(run / "events.jsonl")
            if e["kind"] == "checkpoint_failed"], "the event")[0]
        self.assertEqual(failed["code"], "unreachable")
        self.assertRegex(
            failed["message"],
            f"^the state of step {failed['step']} did not come from worker "
            f"{first['name']}: data service 127.0.0.1:[0-9]+, saying hello: "
            "nothing answers there, or the connection broke off; tried again "
            "soon$")
        self.ended_well(one, run, 20)

    def test_a_worker_that_is_lost_but_not_dead_is_not_waited_for(self):
        one, run = self.begun_to_fetch("checkpoint.write", epochs=40)
        last = max(self.workers(run), key=lambda w: w["rank"])
        os.kill(last["pid"], signal.SIGSTOP)
        try:
            # Long before its supervisor ends it, or the service gives up.
            wait_until(lambda: "checkpoint" in self.kinds(run), "another one", 20)
        finally:
            os.kill(last["pid"], signal.SIGCONT)
        failed = [e for e in read_lines(run / "events.jsonl")
                  if e["kind"] == "checkpoint_failed"][0]
        self.assertEqual(
            (failed["code"], failed["message"]),
            ("worker_lost", f"the state of step {failed['step']} did not come "
             f"from worker {last['name']}: it is lost; tried again soon"))
        self.ended_well(one, run, 40)

    def test_what_a_worker_cannot_write_itself_is_fetched(self):
        one, run = self.begin(job_of(
            workers=3, epochs=20, model={"parameters": PARAMETERS},
            checkpoint={"every_steps": 100000}))
        last = max(self.workers(run), key=lambda w: w["rank"])
        usual = resource.prlimit(last["pid"], resource.RLIMIT_FSIZE)
        resource.prlimit(last["pid"], resource.RLIMIT_FSIZE,
                         (1 << 20, usual[1]))
        self.ballast("ctl", "checkpoint", "--to", run)
        wait_until(lambda: "checkpoint" in self.kinds(run), "it")
        resource.prlimit(last["pid"], resource.RLIMIT_FSIZE, usual)
        self.assertNotIn("checkpoint_failed", self.kinds(run))
        logs = "".join(log.read_text() for log in (run / "logs").iterdir())
        self.assertRegex(logs, f"worker {last['name']} does not write its part "
                         "itself: .*; it is fetched")
        self.ended_well(one, run, 20)


if __name__ == "__main__":
    unittest.main()
