"""Goal: the metrics of the test part are those of all its rows together,
whatever number of workers evaluated them, and say what a loss does not. Method:
models whose weights are given and stay as they are, on rows for which their
outputs are exact in float32; the metrics are computed once more by plain loops
and numpy, as scikit-learn defines them.
"""
import json
import math
import random
import sqlite3
import struct
import unittest

import numpy

from harness.jobs import emulated_job, merged
from harness.run_files import read_json, read_lines

from ballast_test import BallastTest
from reproducible import table_job
from resume import Resume

CLOSE = 1e-9
WORLDS = (1, 3, 7)
CLASS_METRICS = [
    "accuracy", "balanced_accuracy", "majority_accuracy", "precision_macro",
    "recall_macro", "f1_macro", "precision_weighted", "recall_weighted",
    "f1_weighted", "precision_per_class", "recall_per_class", "f1_per_class",
    "rows_per_class", "confusion_matrix", "top_2_accuracy", "log_loss",
    "brier", "ece", "roc_auc", "roc_auc_per_class", "average_precision",
    "average_precision_per_class"]


def safetensors(tensors):
    """Of lists of numbers: name -> shape and values."""
    header, body = {}, b""
    for name, (shape, values) in tensors.items():
        part = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(body), len(body) + len(part)]}
        body += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def table(rows, labels):
    width = len(rows[0])
    return ",".join(f"x{i}" for i in range(width)) + ",y\n" + "".join(
        ",".join(map(repr, [*row, label])) + "\n"
        for row, label in zip(rows, labels))


def auc_of(scores, own):
    """Of all pairs, ties counting half."""
    a, b = scores[own], scores[~own]
    return ((a[:, None] > b).sum() + (a[:, None] == b).sum() / 2) / (
        len(a) * len(b))


def average_precision_of(scores, own):
    found, last = 0.0, 0
    for score in sorted(set(scores), reverse=True):
        said = scores >= score
        hits = (said & own).sum()
        found += (hits - last) / own.sum() * hits / said.sum()
        last = hits
    return found


def f1_of(precision, recall):
    return 2 * precision * recall / (precision + recall) \
        if precision + recall > 0 else 0.0


def calibration_error(p, hits):
    bins = numpy.minimum((p * 15).astype(int), 14)
    return sum(abs(hits[bins == i].sum() - p[bins == i].sum())
               for i in range(15)) / len(p)


def expected_of_classes(outputs, labels, classes):
    """As scikit-learn, zero_division=0; outputs before the softmax."""
    # By the C library, so that what is equal there is equal here.
    e = [[math.exp(z - max(line)) for z in line] for line in outputs.tolist()]
    p = numpy.array([[one / sum(line) for one in line] for line in e])
    said = outputs.argmax(1)
    each = range(classes)
    matrix = [[int(((labels == a) & (said == b)).sum()) for b in each]
              for a in each]
    rows = [sum(matrix[c]) for c in each]
    predicted = [sum(line[c] for line in matrix) for c in each]
    precision = [matrix[c][c] / predicted[c] if predicted[c] else 0.0
                 for c in each]
    recall = [matrix[c][c] / rows[c] for c in each]
    f1 = [f1_of(*both) for both in zip(precision, recall)]

    def macro(values):
        return sum(values) / classes

    def weighted(values):
        return sum(a * b for a, b in zip(values, rows)) / len(labels)

    one_hot = numpy.eye(classes)[labels]
    auc = [auc_of(p[:, c], labels == c) for c in each]
    precisions = [average_precision_of(p[:, c], labels == c) for c in each]
    top = (numpy.argsort(-outputs, axis=1, kind="stable")[:, :2]
           == labels[:, None]).any(1)
    return {
        "accuracy": (said == labels).mean(), "balanced_accuracy": macro(recall),
        "majority_accuracy": max(rows) / len(labels),
        "precision_macro": macro(precision), "recall_macro": macro(recall),
        "f1_macro": macro(f1), "precision_weighted": weighted(precision),
        "recall_weighted": weighted(recall), "f1_weighted": weighted(f1),
        "precision_per_class": precision, "recall_per_class": recall,
        "f1_per_class": f1, "rows_per_class": rows, "confusion_matrix": matrix,
        "top_2_accuracy": top.mean(),
        "log_loss": -numpy.log(p[range(len(labels)), labels]).mean(),
        "brier": ((p - one_hot) ** 2).sum(1).mean(),
        "ece": calibration_error(p.max(1), said == labels),
        "roc_auc": macro(auc), "roc_auc_per_class": auc,
        "average_precision": macro(precisions),
        "average_precision_per_class": precisions}


class Metrics(BallastTest):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(23)

    def numbers(self, *shape):
        """Eighths: sums and products of a few are exact in float32."""
        if len(shape) == 1:
            return [self.rng.randrange(-16, 17) / 8 or 1 / 8
                    for _ in range(shape[0])]
        return [self.numbers(*shape[1:]) for _ in range(shape[0])]

    def job(self, kind, learnt, test, outputs, **more):
        """Of a model with these weights, which training leaves alone."""
        width = len(learnt[0][0])
        self.weights = self.numbers(outputs, width)
        self.bias = self.numbers(outputs)
        init = self.write("init.safetensors", safetensors({
            "weight": ([outputs, width], sum(self.weights, [])),
            "bias": ([outputs], self.bias)}))
        source = {"format": "csv", "label": "y"}
        return merged({
            "name": "metrics",
            "data": {"train": {**source, "uri": str(
                self.write("train.csv", table(*learnt)))},
                     "test": {**source, "uri": str(
                         self.write("test.csv", table(*test)))},
                     "chunk_rows": 23},
            "model": {"kind": kind, "init": str(init)},
            "train": {"global_batch": 40,
                      "optimizer": {"kind": "sgd", "lr": 0}},
            "elastic": {"heartbeat_ms": 1000}}, more)

    def outputs(self, rows):
        return numpy.array(rows) @ numpy.array(self.weights).T + self.bias

    def metrics_of(self, job, workers):
        run = self.run_job(merged(job, {"elastic": {"workers": workers}}))
        report = read_json(run / "report.json")
        told = [e for e in read_lines(run / "events.jsonl")
                if e["kind"] == "evaluation"]
        self.assertEqual(told[-1]["metrics"], report["test_metrics"])
        return report

    def expect_close(self, got, expected):
        self.assertEqual(sorted(got), sorted(expected))
        for name, value in expected.items():
            numpy.testing.assert_allclose(
                numpy.array(got[name], float), numpy.array(value, float),
                rtol=CLOSE, atol=CLOSE, err_msg=name)

    def test_classes_are_judged_alike_by_any_number_of_workers(self):
        rows, test = self.numbers(240, 3), self.numbers(203, 3)
        job = self.job("logistic", (rows, [i % 3 for i in range(240)]),
                       (test, [0] * 203), 3,
                       evaluate={"metrics": CLASS_METRICS})
        outputs = self.outputs(test)
        # Labels that the model often, but not always, knows; one is rare.
        labels = numpy.array([
            int(line.argmax()) if self.rng.random() < 0.6
            else self.rng.choice([0, 1, 1, 1, 2]) for line in outputs])
        self.write("test.csv", table(test, labels.tolist()))
        expected = expected_of_classes(outputs, labels, 3)
        for workers in WORLDS:
            with self.subTest(workers=workers):
                report = self.metrics_of(job, workers)
                self.expect_close(report["test_metrics"], expected)
                self.assertAlmostEqual(report["test_loss"],
                                       expected["log_loss"], delta=1e-6)

    def test_two_classes_are_judged_by_class_1(self):
        rows, test = self.numbers(200, 2), self.numbers(151, 2)
        job = self.job("logistic", (rows, [i % 2 for i in range(200)]),
                       (test, [0] * 151), 1,
                       evaluate={"metrics": [
                           "precision", "recall", "f1", "roc_auc", "brier",
                           "average_precision", "log_loss"]})
        odds = self.outputs(test)[:, 0]
        labels = numpy.array([int(z > self.rng.gauss(0, 3)) for z in odds])
        self.write("test.csv", table(test, labels.tolist()))
        p, said, own = 1 / (1 + numpy.exp(-odds)), odds > 0, labels == 1
        precision = (said & own).sum() / said.sum()
        recall = (said & own).sum() / own.sum()
        expected = {
            "precision": precision, "recall": recall,
            "f1": f1_of(precision, recall), "roc_auc": auc_of(p, own),
            "brier": ((p - labels) ** 2).mean(),
            "average_precision": average_precision_of(p, own),
            "log_loss": -numpy.log(numpy.where(own, p, 1 - p)).mean()}
        for workers in WORLDS:
            with self.subTest(workers=workers):
                self.expect_close(
                    self.metrics_of(job, workers)["test_metrics"], expected)

    def test_numbers_are_judged_alike_by_any_number_of_workers(self):
        rows, test = self.numbers(200, 3), self.numbers(157, 3)
        targets = [1000 + t for t in self.numbers(157)]
        job = self.job("linear", (rows, self.numbers(200)), (test, targets), 1,
                       train={"loss": "mse"},
                       evaluate={"metrics": [
                           "mae", "rmse", "r2", "mean_rmse", "abs_error_p50",
                           "abs_error_p90", "abs_error_p99"]})
        off = numpy.abs(self.outputs(test)[:, 0] - targets)
        spread = ((numpy.array(targets) - numpy.mean(targets)) ** 2).mean()
        expected = {"mae": off.mean(), "rmse": math.sqrt((off ** 2).mean()),
                    "r2": 1 - (off ** 2).mean() / spread,
                    "mean_rmse": math.sqrt(spread),
                    **{f"abs_error_p{n}": numpy.quantile(off, n / 100)
                       for n in (50, 90, 99)}}
        for workers in WORLDS:
            with self.subTest(workers=workers):
                self.expect_close(
                    self.metrics_of(job, workers)["test_metrics"], expected)

    def test_the_loss_with_weights_divides_by_them_and_log_loss_has_none(self):
        rows, test = self.numbers(120, 3), self.numbers(90, 3)
        labels = [0] * 60 + [1] * 20 + [2] * 10
        job = self.job("logistic", (rows, [i % 3 for i in range(120)]),
                       (test, labels), 3,
                       train={"class_weights": [0.5, 2, 4]},
                       evaluate={"metrics": ["log_loss"]})
        outputs = self.outputs(test)
        losses = numpy.log(numpy.exp(outputs).sum(1)) - outputs[
            range(90), labels]
        weights = numpy.array([0.5, 2, 4])[labels]
        report = self.metrics_of(job, 3)
        self.assertAlmostEqual(report["test_loss"],
                               (losses * weights).sum() / weights.sum(),
                               delta=1e-6)
        self.assertAlmostEqual(report["test_metrics"]["log_loss"],
                               losses.mean(), delta=CLOSE)

    def test_a_class_without_test_rows_is_undefined_and_says_so(self):
        rows, test = self.numbers(120, 3), self.numbers(40, 3)
        job = self.job("logistic", (rows, [i % 3 for i in range(120)]),
                       (test, [i % 2 for i in range(40)]), 3,
                       evaluate={"metrics": ["roc_auc", "recall_per_class"]})
        report = self.metrics_of(job, 2)
        self.assertIsNone(report["test_metrics"]["roc_auc"])
        self.assertIsNone(report["test_metrics"]["recall_per_class"][2])
        self.assertEqual(report["test_metrics_undefined"], dict.fromkeys(
            ["roc_auc", "recall_per_class"],
            "class 2 has no rows in the test part"))

    def test_what_is_for_two_classes_is_refused_of_three(self):
        rows = self.numbers(60, 2)
        labels = [i % 3 for i in range(60)]
        job = self.job("logistic", (rows, labels), (rows, labels), 3,
                       evaluate={"metrics": ["accuracy", "f1"]})
        one, run = self.new_run(job, "--json")
        self.assertEqual(one.wait(60), 2, one)
        self.assertIn("this label has 3 classes", one.err, one)
        self.assertIn("/evaluate/metrics/1", one.err, one)
        self.assertFalse(run.exists())

    def test_a_metric_of_another_loss_is_refused_before_anything(self):
        job = self.write("job.json", merged(
            emulated_job(100), {"model": {"kind": "mlp"},
                                "evaluate": {"metrics": ["mae"]},
                                "data": {"test_fraction": 0.5}}))
        self.refused(2, ["/evaluate/metrics/0", "\"mae\" is not for the loss",
                         "\"f1_macro\""], "run", job)


class Imbalanced(BallastTest):
    """One row of 25 is of class 1, near the others."""

    def job(self, **more):
        rng = random.Random(4)
        labels = [int(i % 25 == 0) for i in range(3000)]
        rows = [[rng.gauss(1.2 * y, 1), rng.gauss(-0.8 * y, 1)]
                for y in labels]
        return merged({
            "name": "rare",
            "data": {"train": {"format": "csv", "label": "y", "uri": str(
                self.write("rare.csv", table(rows, labels)))},
                     "test_fraction": 0.3},
            "model": {"kind": "logistic", "init": "zeros"},
            "train": {"epochs": 4, "global_batch": 64, "order": "global",
                      "reduction": "canonical",
                      "optimizer": {"kind": "sgd", "lr": 0.5}},
            "evaluate": {"metrics": ["accuracy", "majority_accuracy", "f1",
                                     "recall", "roc_auc"]},
            "elastic": {"workers": 2, "heartbeat_ms": 1000}}, more)

    def report(self, **more):
        return read_json(self.run_job(self.job(**more)) / "report.json")

    def test_accuracy_hides_what_f1_shows_and_balanced_weights_mend(self):
        plain = self.report()["test_metrics"]
        self.assertGreater(plain["accuracy"], 0.95)
        self.assertAlmostEqual(plain["accuracy"], plain["majority_accuracy"],
                               delta=0.01)
        self.assertLess(plain["f1"], 0.2)
        weighted = self.report(train={"class_weights": "balanced"})
        found = weighted["test_metrics"]
        self.assertLess(found["accuracy"], plain["accuracy"])
        self.assertGreater(found["f1"], plain["f1"] + 0.1)
        self.assertGreater(found["recall"], 0.6)
        # The train part has 2016 rows of class 0 and 84 of class 1.
        manual = self.report(train={"class_weights": [2100 / (2 * 2016),
                                                      2100 / (2 * 84)]})
        self.assertEqual(manual["weights_sha256"], weighted["weights_sha256"])
        self.assertEqual(manual["test_loss"], weighted["test_loss"])


class SameBits(BallastTest):
    def test_with_reduction_canonical_metrics_have_the_same_bits(self):
        told = []
        for workers in WORLDS:
            run = self.run_job(table_job(workers, evaluate={
                "metrics": CLASS_METRICS}))
            told.append([e["metrics"] for e in read_lines(run / "events.jsonl")
                         if e["kind"] == "evaluation"])
        self.assertEqual(told[0][-1], told[1][-1])
        self.assertEqual(told[0][-1], told[2][-1])


class OfEarlierBuilds(Resume):
    """A directory whose evaluations are not kept can be gone on with."""

    def test_a_run_without_metrics_goes_on_and_has_them_then(self):
        rng = random.Random(1)
        rows = [[rng.randrange(64) / 8, rng.randrange(64) / 8]
                for _ in range(300)]
        job = {"name": "early",
               "data": {"train": {"format": "csv", "label": "y", "uri": str(
                   self.write("rows.csv", table(rows, [i % 2 for i in range(
                       300)])))}, "test_fraction": 0.2},
               "model": {"kind": "logistic"},
               "train": {"epochs": 60, "global_batch": 8},
               "checkpoint": {"every_steps": 5, "every_s": 0},
               "elastic": {"workers": 2, "heartbeat_ms": 1000}}
        run = self.stopped(job)
        with sqlite3.connect(run / "ledger.sqlite") as journal:
            journal.execute("DROP TABLE evaluation_after")
        again = self.resume_dir(run)
        self.assertEqual(again.wait(90), 0, again)
        report = read_json(run / "report.json")
        self.assertEqual(sorted(report["test_metrics"]), [
            "accuracy", "balanced_accuracy", "f1_macro", "majority_accuracy"])


if __name__ == "__main__":
    unittest.main()
