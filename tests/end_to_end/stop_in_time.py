#!/usr/bin/env python3
"""Goal: a run that stops in time ends with the best model of its whole curve,
and at the same step whatever dies meanwhile. Method: tables of noise, which a
model learns by heart; the loss of the model that comes out is computed once more
with numpy, and by `ballast evaluate`; with order global and reduction canonical
the bits of a run under kills are those of a run that nothing disturbs.

usage: stop_in_time.py [Curves|Alike|... ...] [--long]
"""
import json
import os
import random
import signal
import sys
import unittest

import numpy

from harness.jobs import merged
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from model_metrics import table
from replay import read_safetensors as tensors_of
from takeover import Takeover

LONG = "--long" in sys.argv
SEEDS = 100 if LONG else 20
WIDTH = 12


def noise(seed, rows):
    """Labels that the first column says a little of."""
    rng = random.Random(seed)
    x = [[rng.gauss(0, 1) for _ in range(WIDTH)] for _ in range(rows)]
    y = [int(row[0] + rng.gauss(0, 2) > 0) for row in x]
    return x, y


class StopInTime(Takeover):
    EVERY = 2  # steps from one evaluation to the next: here each epoch

    def job(self, seed, workers=1, **more):
        source = {"format": "csv", "label": "y"}
        self.train = self.write(f"train-{seed}.csv", table(*noise(seed, 60)))
        self.rows = noise(seed + 1000, 80)
        self.test = self.write(f"test-{seed}.csv", table(*self.rows))
        return merged({
            "name": "overfits", "seed": seed,
            "data": {"train": {**source, "uri": str(self.train)},
                     "test": {**source, "uri": str(self.test)},
                     "chunk_rows": 10},
            "model": {"kind": "logistic"},
            "train": {"epochs": 100, "global_batch": 30,
                      "optimizer": {"kind": "adam", "lr": 0.1}},
            "evaluate": {"metrics": ["accuracy"]},
            "stop": {"metric": "loss", "patience": 4},
            "keep": {"best": {"metric": "loss"}},
            "elastic": {"workers": workers, "heartbeat_ms": 1000}}, more)

    def curve(self, run):
        """step -> loss of the test part after it, each once."""
        found = [e for e in read_lines(run / "events.jsonl")
                 if e["kind"] == "evaluation"]
        out = {e["step"]: e["test_loss"] for e in found}
        self.assertEqual(sorted(out), list(range(
            self.EVERY, self.EVERY * len(out) + 1, self.EVERY)))
        return out

    def loss_of(self, model):
        """Of a logistic model, over all test rows."""
        of = tensors_of(model)
        weight, bias = (of[next(n for n in of if n.endswith(end))]
                        for end in ("weight", "bias"))
        x, y = (numpy.array(one) for one in self.rows)
        z = x @ weight.astype(float).T + bias.astype(float)
        z = numpy.hstack([numpy.zeros_like(z), z])  # one output, of class 1
        z -= z.max(axis=1, keepdims=True)
        p = z - numpy.log(numpy.exp(z).sum(axis=1, keepdims=True))
        return -p[range(len(y)), y].mean()

    def expect_best(self, run, patience=4):
        """The report and the model are those of the best evaluation."""
        curve = self.curve(run)
        report = read_json(run / "report.json")
        best = min(curve, key=lambda step: (curve[step], step))
        self.assertEqual(report["best"], {
            "metric": "loss", "value": curve[best], "epoch": (best + 1) // 2,
            "step": best})
        self.assertEqual(report["model_step"], best)
        self.assertEqual(report["state"], "done")
        self.assertEqual(max(curve), best + patience * self.EVERY)
        self.assertEqual(max(curve), report["steps"])
        self.assertIn(f"no better loss in {patience} evaluations",
                      report["reason"])
        return curve, best


class Curves(StopInTime):
    def test_the_model_is_the_best_of_the_whole_curve(self):
        for seed in range(1, SEEDS + 1):
            with self.subTest(seed=seed):
                run = self.run_job(self.job(seed))
                curve, best = self.expect_best(run)
                self.assertLess(max(curve), 200)
                model = run / "model.safetensors"
                self.assertAlmostEqual(self.loss_of(model), curve[best], 6)
                last = run / "last" / "model.safetensors"
                self.assertAlmostEqual(self.loss_of(last), curve[max(curve)],
                                       6)
                if seed <= 2:
                    self.evaluated_alike(run, curve[best])

    def evaluated_alike(self, run, loss):
        found = json.loads(self.ballast("evaluate", run, "--data", self.test,
                                        "--json").out)
        self.assertAlmostEqual(found["loss"], loss, 6, found)
        self.assertEqual(self.audit(run)["lost"], 0)

    def test_a_target_ends_it_and_a_metric_keeps_it(self):
        run = self.run_job(self.job(
            1, stop={"metric": "accuracy", "patience": None, "target": 0.5},
            keep={"best": {"metric": "accuracy"}}))
        report = read_json(run / "report.json")
        self.assertIn("accuracy is at least 0.5 after epoch", report["reason"])
        self.assertGreaterEqual(report["best"]["value"], 0.5)

    def test_the_time_is_over(self):
        job = self.job(1, stop={"patience": None, "max_minutes": 0.005},
                       train={"epochs": 1000000})
        run = self.run_job(job)
        report = read_json(run / "report.json")
        self.assertEqual(report["state"], "stopped")
        self.assertIn("0.005000 minutes of training of stop.max_minutes",
                      report["reason"])
        again = self.start("run", "--resume", run, "--no-progress", "--set",
                           "/stop/max_minutes=0.008")
        self.assertEqual(again.wait(60), 0, again)
        more = read_json(run / "report.json")
        self.assertGreater(more["steps"], report["steps"])
        self.assertEqual(more["best"]["step"], more["model_step"])
        self.assertIn(f"ballast run --resume {run.name} --set "
                      "/stop/max_minutes=0.016", again.err)

    def test_the_card_of_a_model_has_the_numbers_of_that_model(self):
        job = self.job(1, stop={"patience": None, "max_minutes": 0.005},
                       evaluate={"every": 1000000}, train={"epochs": 1000000})
        del job["keep"], job["stop"]["metric"]
        run = self.run_job(job)
        card = read_json(run / "model" / "card.json")
        self.assertEqual(card["metrics"], {})
        self.assertIn("This model was not evaluated on the test part",
                      (run / "model" / "README.md").read_text("utf-8"))

    def test_when_it_is_judged_does_not_change_at_a_resume(self):
        run = self.run_job(self.job(
            1, stop={"patience": None, "max_minutes": 0.005},
            train={"epochs": 1000000}))
        self.refused(2, "/evaluate/every", "run", "--resume", run,
                     "--no-progress", "--set", "/evaluate/every=3",
                     "--set", "/stop/max_minutes=0.008")

    def test_what_cannot_be_looked_at_is_refused(self):
        job = self.job(1)
        del job["data"]["test"], job["keep"], job["evaluate"]
        job["data"]["test_fraction"] = 0
        path = self.write("bad.json", job)
        run = self.folder / "never"
        self.refused(2, "/stop/patience", "run", path, "--run-dir", run)
        self.assertFalse(run.exists())


class Alike(StopInTime):
    """The best one is an early one; the patience lasts for seconds."""

    PATIENCE = 300

    def canonical(self, workers):
        return self.job(
            3, workers, model={"kind": "mlp", "hidden": [32]},
            train={"epochs": 5000, "order": "global", "reduction": "canonical",
                   "leaves": 4, "optimizer": {"kind": "adam", "lr": 0.02}},
            stop={"patience": self.PATIENCE}, faults=True,
            checkpoint={"every_steps": 25, "every_s": 0})

    def test_how_long_a_replay_takes_says_nothing(self):
        run = self.run_job(merged(self.canonical(1), {
            "stop": {"patience": None, "max_minutes": 0.004},
            "train": {"epochs": 1000000}}))
        self.ballast("run", "--resume", run, "--no-progress", "--set",
                     "/stop/max_minutes=0.01")
        found = json.loads(
            self.ballast("audit", run, "--replay", "--json").out)
        self.assertTrue(found["same"], found)
        self.assertEqual(found["losses_compared"],
                         read_json(run / "report.json")["steps"])

    def outcome(self, run):
        curve, best = self.expect_best(run, self.PATIENCE)
        self.audit(run)
        report = read_json(run / "report.json")
        last = run / "last" / "model.safetensors"
        return (best, curve, report["weights_sha256"], report["steps"],
                {name: one.tobytes() for name, one in tensors_of(last).items()})

    def middle(self, run):
        """Behind the best one, and long before the end."""
        wait_until(lambda: self.committed(run) > self.PATIENCE, "its middle")

    def test_it_ends_alike_whatever_dies(self):
        expected = self.outcome(self.run_job(self.canonical(1)))
        self.assertLess(expected[0], self.PATIENCE)
        self.assertEqual(self.outcome(self.run_job(self.canonical(3))),
                         expected)
        for kill in (self.a_worker, self.the_coordinator, self.all):
            with self.subTest(kill.__name__):
                job = self.canonical(2)
                one, run = self.begin(job)
                self.middle(run)
                one = kill(one, run, job)
                self.assertEqual(one.wait(90), 0, one)
                self.assertEqual(self.outcome(run), expected)

    def a_worker(self, one, run, _):
        os.kill(self.workers(run)[0]["pid"], signal.SIGKILL)
        return one

    def the_coordinator(self, one, run, _):
        self.kill(self.coordinator(run))
        return one

    def all(self, one, run, job):
        self.kill_all(one)
        return self.resume(job, run)

    def test_a_stopped_run_goes_on_to_the_same_end(self):
        expected = self.outcome(self.run_job(self.canonical(1)))
        job = self.canonical(2)
        one, run = self.begin(job)
        self.middle(run)
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(60), 130, one)
        report = read_json(run / "report.json")
        self.assertEqual(report["model_step"], report["best"]["step"])
        again = self.resume(job, run)
        self.assertEqual(again.wait(90), 0, again)
        self.assertEqual(self.outcome(run), expected)
        found = self.ballast("audit", run, "--replay", seconds=120)
        self.assertIn("the same bits", found.out)
        again = self.resume(job, run)
        self.assertNotEqual(again.wait(30), 0)
        self.assertIn("is done", again.last_line)


class AfterEachThreeSteps(Alike):
    """Every second evaluation is within an epoch."""

    EVERY = 3

    def canonical(self, workers):
        return merged(super().canonical(workers), {
            "evaluate": {"every": self.EVERY}})

    def test_the_last_step_is_evaluated_too(self):
        run = self.run_job(self.job(1, evaluate={"every": 7},
                                    stop={"patience": None},
                                    train={"epochs": 5}))
        steps = [e["step"] for e in read_lines(run / "events.jsonl")
                 if e["kind"] == "evaluation"]
        self.assertEqual(steps, [7, 10])
        self.refused(2, ("/evaluate/every", '"epoch" or an integer from 1'),
                     "run", run / "job.json", "--set", "/evaluate/every=0")
        self.refused(2, ("/evaluate/every", '"epoch" or an integer from 1'),
                     "run", run / "job.json", "--set", "/evaluate/every=epochs")


if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "--long"])
