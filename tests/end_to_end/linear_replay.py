"""Goal: what Ballast learns is what mathematics says, for any number of
workers: lost, repeated or wrongly weighted rows show in the weights. Method:
the trace of a real run is replayed in plain double-precision loops; and runs of
one and of several workers that must agree are compared.
"""
import random
import unittest

import numpy

from harness.exactness import check_run, expand
from harness.jobs import emulated_job, merged
from harness.run_files import read_json, read_lines

from ballast_test import BallastTest
from replay import (AdamW, Sgd, emulated_weights, linear_loss,
                    read_safetensors, softmax_loss, train, warm_cosine)

ROWS = 517
CLOSE = 1e-5


class TracedTest(BallastTest):
    def steps_of(self, job):
        """Runs the job: its directory, and the samples of each step."""
        run = self.run_job(job)
        found = check_run(run, job["train"]["global_batch"],
                          job["train"]["epochs"])
        self.assertEqual(found.problems, [], found)
        parts = [found.ids_of_step[n] for n in range(1, found.steps + 1)]
        return run, [[i for name in sorted(step) for i in step[name]]
                     for step in parts]

    def assert_close(self, got, expected, what=""):
        numpy.testing.assert_allclose(
            numpy.asarray(got, float).ravel(), numpy.asarray(expected).ravel(),
            rtol=CLOSE, atol=CLOSE, err_msg=what)


class Replay(TracedTest):
    def setUp(self):
        super().setUp()
        rng = random.Random(17)
        # Halves of halves: exact in the file, in float32 and in float64.
        self.rows = [[rng.randrange(-64, 65) / 64 for _ in range(3)]
                     for _ in range(ROWS)]
        self.targets = [2 * a - b + c / 2 + rng.randrange(-16, 17) / 256
                        for a, b, c in self.rows]
        self.labels = [(a + b > 0) + (c > 0.25) for a, b, c in self.rows]

    def job(self, labels, workers=2, **more):
        text = "a,b,c,y\n" + "".join(
            ",".join(map(repr, [*row, label])) + "\n"
            for row, label in zip(self.rows, labels))
        return merged({
            "name": "replay",
            "data": {"train": {"format": "csv", "label": "y",
                               "uri": str(self.write("rows.csv", text))},
                     "test_fraction": 0, "chunk_rows": 31},
            "model": {"kind": "linear", "init": "zeros"},
            "train": {"epochs": 3, "global_batch": 40, "loss": "mse",
                      "optimizer": {"kind": "sgd", "lr": 0.1}},
            "elastic": {"workers": workers}, "trace_samples": True}, more)

    def agrees(self, run, weights, losses):
        model = read_safetensors(run / "model.safetensors")
        self.assertEqual(sorted(model), ["bias", "weight"])
        self.assertEqual(model["weight"].size + model["bias"].size,
                         len(weights))
        self.assert_close([*model["weight"].ravel(), *model["bias"].ravel()],
                          weights, "weights")
        self.assert_close([s["loss"] for s in read_lines(run / "steps.jsonl")],
                          losses, "losses")

    def linear(self, job, optimizer, **how):
        run, steps = self.steps_of(job)
        weights = [0.0] * 4
        losses = train(weights, steps, lambda w, i: linear_loss(
            w, self.rows[i], self.targets[i]), optimizer, **how)
        self.agrees(run, weights, losses)
        # It has learnt something: this is no comparison of zeros.
        self.assert_close_to_truth(weights)

    def assert_close_to_truth(self, weights):
        for got, true in zip(weights, (2, -1, 0.5, 0)):
            self.assertAlmostEqual(got, true, delta=0.35)

    def test_linear_on_one_worker(self):
        self.linear(self.job(self.targets, 1), Sgd(4, 0.1))

    def test_linear_on_two_workers(self):
        self.linear(self.job(self.targets, 2), Sgd(4, 0.1))

    def test_linear_on_three_workers_of_very_different_size(self):
        self.linear(self.job(self.targets, 3, data={
            "chunk_rows": 7,
            "placement": {"kind": "sizes", "shares": [5, 2, 1]}}), Sgd(4, 0.1))

    def test_micro_batches_change_nothing(self):
        self.linear(self.job(self.targets, 2, train={"micro_batch": 3}),
                    Sgd(4, 0.1))

    def test_momentum_decay_clipping_and_schedule(self):
        steps = 3 * 13
        self.linear(self.job(self.targets, 3, train={
            "clip_norm": 1.5,
            "schedule": {"kind": "cosine", "warmup_steps": 5,
                         "final_ratio": 0.1},
            "optimizer": {"kind": "sgd", "lr": 0.05, "momentum": 0.8,
                          "weight_decay": 0.01}}),
            Sgd(4, 0.05, 0.8, 0.01), longest=1.5,
            factor=warm_cosine(5, steps, 0.1))

    def test_adamw(self):
        self.linear(self.job(self.targets, 2, train={
            "optimizer": {"kind": "adamw", "lr": 0.1, "weight_decay": 0.02}}),
            AdamW(4, 0.1, 0.02))

    def test_logistic_with_three_classes(self):
        job = self.job(self.labels, 3, model={"kind": "logistic"},
                       train={"loss": "cross_entropy",
                              "optimizer": {"lr": 0.5}})
        run, steps = self.steps_of(job)
        weights = [0.0] * 12
        losses = train(weights, steps, lambda w, i: softmax_loss(
            w, self.rows[i], self.labels[i], 3), Sgd(12, 0.5))
        self.agrees(run, weights, losses)
        self.assertLess(losses[-1], losses[0] / 1.5)

    def test_rows_kept_for_evaluation_are_never_learnt_from(self):
        job = self.job(self.targets, 2, data={"test_fraction": 0.25})
        run, steps = self.steps_of(job)
        manifest = read_json(run / "manifest.json")

        def source_rows(part):
            return [row for chunk in manifest[part]
                    for row in expand(chunk.get("source_rows",
                                                chunk["samples"]))]
        learnt, kept = source_rows("train"), source_rows("test")
        self.assertEqual(sorted(learnt + kept), list(range(ROWS)))
        self.assertAlmostEqual(len(kept), ROWS / 4, delta=1)
        weights = [0.0] * 4
        losses = train(weights, steps, lambda w, i: linear_loss(
            w, self.rows[learnt[i]], self.targets[learnt[i]]), Sgd(4, 0.1))
        self.agrees(run, weights, losses)
        report = read_json(run / "report.json")
        self.assert_close(report["test_loss"], sum(
            linear_loss(weights, self.rows[i], self.targets[i])[0]
            for i in kept) / len(kept))
        last = losses[-len(losses) // 3:]
        sizes = [len(ids) for ids in steps[-len(last):]]
        self.assert_close(report["train_loss"], sum(
            n * loss for n, loss in zip(sizes, last)) / len(learnt))


class Emulated(TracedTest):
    """Each sample has its own number, so each leaves its mark."""

    def test_weights_name_every_sample(self):
        for workers, shares in ((1, [1]), (3, [5, 2, 1])):
            job = emulated_job(1009, workers=workers, batch=50, epochs=2,
                               parameters=23, data={
                                   "chunk_rows": 13, "placement": {
                                       "kind": "sizes", "shares": shares}})
            run, steps = self.steps_of(job)
            model = read_safetensors(run / "model.safetensors")
            self.assert_close(model["weight"],
                              emulated_weights(23, steps, 0.1, 1009))


class Agreement(BallastTest):
    """A step over the whole set uses the same samples with any number of
    workers, so the gradient is the same but for rounding."""

    def weights(self, model, workers, shares, loss="cross_entropy"):
        job = merged(emulated_job(301, workers=workers, batch=4096, data={
            "train": {"classes": 3, "features": 16}, "chunk_rows": 11,
            "placement": {"kind": "sizes", "shares": shares}}), {
                "train": {"loss": loss, "optimizer": {"lr": 1.0}}})
        run = self.run_job({**job, "model": model})
        self.assertEqual(len(read_lines(run / "steps.jsonl")), 1)
        return read_safetensors(run / "model.safetensors")

    def test_gradients_equal_those_of_one_process(self):
        for model in ({"kind": "mlp", "hidden": [24, 12]},
                      {"kind": "linear", "init": "zeros"}):
            loss = "mse" if model["kind"] == "linear" else "cross_entropy"
            alone = self.weights(model, 1, [1], loss)
            for shares in ([1, 1], [5, 2, 1]):
                several = self.weights(model, len(shares), shares, loss)
                self.assertEqual(sorted(alone), sorted(several))
                for name, values in alone.items():
                    numpy.testing.assert_allclose(
                        several[name], values, rtol=1e-6, atol=1e-6,
                        err_msg=f"{model} {shares} {name}")


if __name__ == "__main__":
    unittest.main()
