"""Goal: with importance sampling every row is still presented once an epoch,
whatever dies meanwhile; the traces say which rows were used; and where it does
not pay, nothing is drawn. Method: real runs; what they wrote is read by code
that shares nothing with the runtime.
"""
import math
import os
import random
import signal
import unittest

from harness.exactness import check_run
from harness.program import EXAMPLES
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from ballast_test import BallastTest

EXAMPLE = EXAMPLES / "jobs" / "importance.json"
# What it learns, not what a crowded machine's silence is taken for.
PATIENT = ("--set", "/elastic/heartbeat_ms=1000")
ALWAYS = ("--set", "/train/importance/when=always")


class Importance(BallastTest):
    def lines(self, run):
        """Of all workers."""
        return [line for file in sorted((run / "trace").iterdir())
                for line in read_lines(file)]

    def committed(self, run):
        path = run / "steps.jsonl"
        return len(read_lines(path)) if path.exists() else 0

    def finished(self, one, run, epochs, batch):
        self.assertEqual(one.wait(240), 0, one)
        report = read_json(run / "report.json")
        self.assertEqual(report["state"], "done")
        self.assertEqual(
            (report["audit"]["lost"], report["audit"]["repeated"]), (0, 0))
        found = check_run(run, batch, epochs)
        self.assertEqual(found.problems, [], found)
        self.ballast("audit", run)
        return report

    def check_used(self, run, keep):
        """Every line names the rows it used: so many of those presented."""
        for line in self.lines(run):
            used, ids = line.get("used"), line["ids"]
            wanted = max(1, math.ceil(keep * len(ids)))
            if wanted >= len(ids):
                self.assertIsNone(used)
                continue
            self.assertEqual(len(used), wanted, line["step"])
            self.assertLessEqual(set(used), set(ids))
            self.assertEqual(len(set(used)), len(used))

    def test_the_example_learns_while_workers_are_killed(self):
        one, run = self.new_run(EXAMPLE, *PATIENT, *ALWAYS,
                                "--set", "/train/epochs=200")
        for steps in (40, 200):
            wait_until(lambda steps=steps: self.committed(run) > steps,
                       f"steps of {one}")
            workers = [w for w in read_json(run / "workers.json")["workers"]
                       if w["state"] == "training"]
            os.kill(workers[-1]["pid"], signal.SIGKILL)
        report = self.finished(one, run, 200, 400)
        self.assertGreaterEqual(len(report["recoveries"]), 1)
        self.assertGreater(report["test_accuracy"], 0.97)
        self.check_used(run, 0.15)
        drawn = report["importance"]
        self.assertGreater(drawn["drawn"], 0)
        self.assertLess(drawn["mean_gradient_rows"], 0.2 * drawn["mean_rows"])

    def test_an_audit_finds_a_row_that_was_used_and_not_presented(self):
        run = self.run_job(EXAMPLE, *PATIENT, *ALWAYS,
                           "--set", "/train/epochs=2")
        file = sorted((run / "trace").iterdir())[0]
        text = file.read_text()
        file.write_text(text.replace('"used":[', '"used":[3999999,', 1))
        said = self.ballast("audit", run, code=1).out
        self.assertIn('"used" has sample 3999999, which is not among the '
                      '"ids" of the step', said)

    def test_a_resumed_run_says_from_which_step_on_it_counts(self):
        one, run = self.new_run(EXAMPLE, *PATIENT, *ALWAYS,
                                "--set", "/train/epochs=200",
                                "--set", "/checkpoint/every_steps=20")
        wait_until(lambda: self.committed(run) > 100, f"steps of {one}")
        os.kill(one.pid, signal.SIGKILL)
        one.wait(30)
        done = self.ballast("run", "--resume", run, "--no-progress",
                            seconds=120)
        report = read_json(run / "report.json")
        since = report["importance"]["since_step"]
        self.assertGreaterEqual(since, 20)
        self.assertIn(f"(after step {since})", done.out)
        workers = read_json(run / "job.json")["elastic"]["workers"]
        # But those that workers did before it was back.
        counted = report["importance"]["worker_steps"]
        self.assertGreater(counted, workers * (report["steps"] - since) / 2)
        self.assertLess(counted, workers * report["steps"])

    def test_the_same_seed_draws_the_same_rows(self):
        outcomes = []
        for _ in range(2):
            run = self.run_job(
                EXAMPLE, *PATIENT, *ALWAYS, "--set", "/train/epochs=5",
                "--set", "/balance/enabled=false",
                "--set", "/train/threads=1")
            outcomes.append((read_json(run / "report.json")["weights_sha256"],
                             [line["used"] for line in self.lines(run)]))
        self.assertEqual(outcomes[0], outcomes[1])

    def test_nothing_is_drawn_where_all_rows_matter_alike(self):
        dice = random.Random(1)
        self.write("noise.csv", "a,b,kind\n" + "".join(
            f"{dice.gauss(0, 1):.3f},{dice.gauss(0, 1):.3f},"
            f"{dice.choice('xy')}\n" for _ in range(2000)))
        one, run = self.new_run({
            "data": {"train": {"format": "csv", "uri": "noise.csv",
                               "label": "kind"}, "test_fraction": 0},
            "model": {"kind": "mlp", "hidden": [16]},
            "train": {"epochs": 20, "global_batch": 100,
                      "importance": {"by": "loss"}},
            "trace_samples": True})
        report = self.finished(one, run, 20, 100)
        self.assertEqual(report["importance"]["drawn"], 0)
        self.assertGreaterEqual(report["importance"]["worker_steps"], 400)
        self.assertTrue(all("used" not in line for line in self.lines(run)))
        self.assertIn("importance     0 of ", one.out)


if __name__ == "__main__":
    unittest.main()
