"""Goal: a user who looks at a run sees what its checkpoints cost, and which
interval is best by that and by the failures that there were. Method: a running
job is asked; the pause is worked out once more from steps.jsonl, and all of its
processes are killed to lose its state.
"""
import contextlib
import json
import math
import statistics
import unittest

from harness.run_files import read_lines
from harness.waiting import wait_until

from recovery import job_of
from takeover import Takeover

EVERY = 25


def saving_job():
    """Steps of 20 ms, of a model that takes a moment to be saved."""
    return job_of(workers=2, epochs=100000, trace_samples=False,
                  model={"parameters": 2_000_000, "us_per_step": 20000},
                  checkpoint={"every_steps": EVERY, "every_s": 0})


class InTheStatus(Takeover):
    def status(self, run):
        return json.loads(self.ballast("status", "--json", "--to", run).out)

    def cost(self, run):
        """Of the run, once it was measured."""
        def measured():
            about = self.status(run).get("checkpoint")
            return about if about and about["pause_s"] is not None else None
        return wait_until(measured, "the cost of a checkpoint", 60)

    def test_shows_what_a_checkpoint_costs(self):
        one, run = self.begin(saving_job())
        wait_until(lambda: self.kinds(run).count("checkpoint") >= 4, "some")
        about = self.cost(run)
        times = [s["t_ns"] / 1e9 for s in read_lines(run / "steps.jsonl")]
        gaps = [b - a for a, b in zip(times, times[1:])]
        self.assertGreater(about["step_s"], statistics.median(gaps) / 2)
        self.assertLess(about["step_s"], statistics.median(gaps) * 2)
        # More than all the time that was not a usual step's there cannot be.
        self.assertGreaterEqual(about["pause_s"], 0)
        self.assertLess(about["pause_s"], sum(gaps))
        self.assertGreater(about["saved_s"], 0)
        self.assertGreaterEqual(about["step"], EVERY)
        self.assertEqual(
            (about["failures_undone"], about["mttf_assumed"]), (0, True))
        self.assertEqual(about["mttf_s"], 86400)
        # After EVERY steps, or as soon as the one before is saved.
        now = about["now"]
        rounds = (now["interval_s"] - about["pause_s"]) / (
            EVERY * about["step_s"])
        self.assertAlmostEqual(rounds, round(rounds), places=3)
        self.assertAlmostEqual(now["lost_s"], now["interval_s"] / 2 +
                               about["saved_s"], places=6)
        young = math.sqrt(2 * about["pause_s"] * about["mttf_s"])
        self.assertGreaterEqual(about["best"]["interval_s"], young * 0.99)
        screen = self.ballast("status", "--to", run).out
        for part in ("checkpoints: step ", " holds training up by ",
                     "  now:  one every ", "  best: one every ",
                     "checkpoint.every_s ", "assumed: once in 24 h"):
            self.assertIn(part, screen)
        self.stop(one, run)

    def test_counts_the_failures_that_took_the_state(self):
        job = saving_job()
        one, run = self.begin(job)
        for times in (1, 2):
            done = self.kinds(run).count("checkpoint")
            wait_until(lambda done=done:
                       self.kinds(run).count("checkpoint") > done,
                       "another checkpoint")
            shown = self.committed(run)
            wait_until(lambda shown=shown: self.committed(run) > shown + 3 and
                       self.committed(run) % EVERY > 3, "steps behind it")
            self.kill_all(one)
            one = self.resume(job, run)
            wait_until(lambda times=times:
                       self.kinds(run).count("undone") == times,
                       "the way back")
            wait_until(lambda times=times: self.seen(run) == times,
                       f"{times} failures in the status")
        about = self.cost(run)
        self.assertFalse(about["mttf_assumed"])
        self.assertLess(about["mttf_s"], 600)
        self.assertIn("state lost 2 times in ",
                      self.ballast("status", "--to", run).out)
        self.stop(one, run)

    def seen(self, run):
        """Nothing while its coordinator is on the way."""
        with contextlib.suppress(AssertionError):
            return self.status(run)["checkpoint"]["failures_undone"]
        return None

    def stop(self, one, run):
        self.ballast("ctl", "stop", "--to", run)
        self.assertEqual(one.wait(30), 0, one)


if __name__ == "__main__":
    unittest.main()
