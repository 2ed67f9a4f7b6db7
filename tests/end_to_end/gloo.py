"""Goal: a run whose gradients go over Gloo recovers as any other, also where
the fence finds its old members alive, and one Ctrl-C ends it. Method: real
processes; each kind of fence once.
"""
import os
import signal
import unittest

from harness.jobs import merged
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from recovery import Recovery, job_of


class Gloo(Recovery):
    def run_of(self, epochs, workers=3):
        return self.begin(merged(job_of(workers=workers, epochs=epochs),
                                 {"train": {"collective": "gloo"}}))

    def pids(self, run):
        return {w["name"]: w["pid"] for w in self.workers(run)}

    def test_a_frozen_worker_is_excluded_and_the_others_go_on(self):
        one, run = self.run_of(8)
        frozen = self.workers(run)[1]["pid"]
        os.kill(frozen, signal.SIGSTOP)
        wait_until(lambda: len(self.generations(run)) >= 2, "a recovery")
        os.kill(frozen, signal.SIGCONT)
        self.ended_well(one, run, 8)

    def test_an_evicted_worker_leaves_nobody_waiting(self):
        one, run = self.run_of(8)
        self.ballast("ctl", "evict_worker", "worker=w2", "--to", run)
        wait_until(lambda: len(self.generations(run)) >= 2, "a recovery")
        self.ended_well(one, run, 8)

    def test_the_coordinator_is_killed_and_all_workers_go_on(self):
        one, run = self.run_of(8)
        before = self.pids(run)
        os.kill(read_json(run / "coordinator.json")["pid"], signal.SIGKILL)
        wait_until(lambda: len(self.generations(run)) >= 2, "a recovery")
        self.assertEqual(self.pids(run), before)
        self.ended_well(one, run, 8)

    def test_one_interrupt_ends_it(self):
        one, run = self.run_of(200)
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(20), 130, one)
        self.assertEqual(read_json(run / "report.json")["state"], "stopped")
        self.assertTrue(read_lines(run / "steps.jsonl"))
        self.nobody_left(one, 3)


if __name__ == "__main__":
    unittest.main()
