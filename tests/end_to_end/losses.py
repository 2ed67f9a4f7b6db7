"""Goal: a model trains with each loss to the same bits for any number of
workers, and predict, evaluate and export say of it what its loss allows.
Method: small runs over tables made here, on one worker and on three; their
answers and losses computed again in numpy; onnxruntime on the same rows.
"""
import csv
import json
import random
import unittest

import numpy
import onnxruntime

from harness.jobs import merged
from harness.run_files import read_json
from harness.torchscript import save_script

from ballast_test import BallastTest
from reproducible import Alike, outcome

ROWS, COLUMNS = 420, 6
NEAR = 1e-5
MLP = {"kind": "mlp", "hidden": [12]}


def rows_of(classes, seed, rows=ROWS):
    """Numbers about the number of the class; without classes a sum of them with
    some far off."""
    draw = random.Random(seed)
    out = []
    for _ in range(rows):
        label = draw.randrange(classes) if classes else None
        row = [round(draw.gauss((label or 0) if i % 2 else 0, 0.8), 4)
               for i in range(COLUMNS)]
        if not classes:
            label = round(sum(row) + 8 * (draw.random() < 0.1), 4)
        out.append(row + [label])
    return out


def log_losses(rows, labels):
    """Of probabilities, as predict says them."""
    return -numpy.log([float(row[f"p_{label}"])
                       for row, label in zip(rows, labels, strict=True)])


def save_focal(path):
    """The loss (1 - p)^2 * -log p, of the probability p of the label."""
    save_script(path, {"weight1": (12, COLUMNS), "bias1": (12,),
                       "weight2": (3, 12), "bias2": (3,)},
                ["a = torch.relu(torch.linear(x, self.weight1, self.bias1))",
                 "return torch.linear(a, self.weight2, self.bias2)"],
                loss=["losses = torch.cross_entropy_loss(outputs, labels, "
                      "None, 0, -100, 0.)",
                      "rest = torch.rsub(torch.exp(torch.neg(losses)), 1)",
                      "return torch.mul(torch.mul(rest, rest), losses)"])


class Losses(BallastTest):
    def table(self, name, rows):
        with open(self.folder / name, "w", encoding="utf-8", newline="") as file:
            out = csv.writer(file)
            out.writerow([f"x{i}" for i in range(COLUMNS)] + ["y"])
            out.writerows(rows)
        return self.folder / name

    def job(self, classes, model, train, workers=2, **more):
        data = self.table("seen.csv", rows_of(classes, 1))
        return merged({
            "name": "losses", "seed": 3,
            "data": {"train": {"format": "csv", "uri": str(data),
                               "label": "y"}, "chunk_rows": 16},
            "model": model,
            "train": merged({"epochs": 4, "global_batch": 24,
                             "order": "global", "reduction": "canonical",
                             "optimizer": {"kind": "adam", "lr": 0.02}}, train),
            "elastic": {"workers": workers, "heartbeat_ms": 1000}}, more)

    def own_loss(self):
        return {"kind": "torchscript", "path": str(self.folder / "net.pt"),
                "loss": "own"}

    def answers(self, run, rows):
        out = self.folder / f"answers-{next(self.folders)}.csv"
        self.ballast("predict", run, "--data", rows, "--out", out)
        with open(out, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def evaluated(self, run, rows):
        return json.loads(
            self.ballast("evaluate", run, "--data", rows, "--json").out)

    def in_onnx(self, run, rows, name):
        out = self.folder / f"model-{next(self.folders)}.onnx"
        self.ballast("export", run, "--out", out)
        session = onnxruntime.InferenceSession(str(out))
        features = numpy.array([row[:COLUMNS] for row in rows], "float32")
        return ([one.name for one in session.get_outputs()],
                session.run([name], {"features": features})[0])


class OfEach(Losses):
    def test_bce_has_one_output_and_probabilities_of_two_classes(self):
        weights = [0.5, 2]
        run = self.run_job(self.job(
            2, MLP, {"loss": "bce", "class_weights": weights,
                     "label_smoothing": 0.1},
            evaluate={"metrics": ["accuracy", "roc_auc", "log_loss", "f1"]}))
        report = read_json(run / "report.json")
        # Its weights draw it towards class 1.
        self.assertGreater(report["test_metrics"]["accuracy"], 0.7)
        self.assertGreater(report["test_metrics"]["roc_auc"], 0.9)
        new = rows_of(2, 2, 90)
        table = self.table("new.csv", new)
        said = self.answers(run, table)
        self.assertEqual(list(said[0]), ["row", "prediction", "p_0", "p_1"])
        labels = [row[-1] for row in new]
        losses = log_losses(said, labels)
        judged = self.evaluated(run, table)
        # Not smoothed; divided by the sum of the weights.
        of_rows = numpy.array([weights[label] for label in labels])
        self.assertAlmostEqual(judged["loss"],
                               (of_rows * losses).sum() / of_rows.sum(),
                               delta=NEAR)
        self.assertAlmostEqual(judged["metrics"]["log_loss"], losses.mean(),
                               delta=NEAR)
        names, got = self.in_onnx(run, new, "probabilities")
        self.assertEqual(names, ["logits", "probabilities"])
        numpy.testing.assert_allclose(
            got, [[float(row["p_0"]), float(row["p_1"])] for row in said],
            atol=NEAR)

    def test_hinge_has_a_score_and_no_probabilities(self):
        for model in (MLP, {"kind": "linear"}):
            run = self.run_job(self.job(2, model, {"loss": "hinge"}))
            new = rows_of(2, 2, 90)
            table = self.table("new.csv", new)
            said = self.answers(run, table)
            self.assertEqual(list(said[0]), ["row", "prediction", "score"])
            scores = numpy.array([float(row["score"]) for row in said])
            self.assertEqual([row["prediction"] for row in said],
                             [str(int(score > 0)) for score in scores])
            labels = numpy.array([row[-1] for row in new])
            judged = self.evaluated(run, table)
            self.assertAlmostEqual(
                judged["loss"],
                numpy.maximum(0, 1 - (2 * labels - 1) * scores).mean(),
                delta=NEAR)
            self.assertAlmostEqual(judged["metrics"]["accuracy"],
                                   ((scores > 0) == labels).mean())
            self.assertGreater(judged["metrics"]["accuracy"], 0.8)
            pairs = scores[labels == 1][:, None] - scores[labels == 0][None]
            self.assertAlmostEqual(
                judged["metrics"]["roc_auc"],
                ((pairs > 0) + 0.5 * (pairs == 0)).mean())
            names, got = self.in_onnx(run, new, "score")
            self.assertEqual(names, ["score"])
            numpy.testing.assert_allclose(got[:, 0], scores, atol=NEAR)
        self.assertEqual(read_json(run / "model" / "card.json")["output"]["kind"],
                         "classes")

    def test_huber_is_a_regression(self):
        run = self.run_job(self.job(0, MLP, {"loss": "huber",
                                             "huber_delta": 0.5}))
        new = rows_of(0, 2, 90)
        table = self.table("new.csv", new)
        said = self.answers(run, table)
        self.assertEqual(list(said[0]), ["row", "value"])
        values = numpy.array([float(row["value"]) for row in said])
        off = numpy.abs(values - numpy.array([row[-1] for row in new]))
        judged = self.evaluated(run, table)
        self.assertAlmostEqual(
            judged["loss"],
            numpy.where(off <= 0.5, off ** 2 / 2, 0.5 * (off - 0.25)).mean(),
            delta=NEAR)
        self.assertAlmostEqual(judged["metrics"]["mae"], off.mean(), delta=NEAR)
        names, got = self.in_onnx(run, new, "value")
        self.assertEqual(names, ["value"])
        numpy.testing.assert_allclose(got[:, 0], values, atol=NEAR)
        self.assertEqual(read_json(run / "model" / "card.json")["output"]["kind"],
                         "number")

    def test_smoothed_labels_are_those_of_training_alone(self):
        """A model that is sure of itself is more so without."""
        train = {"loss": "cross_entropy", "epochs": 8}
        sure = {}
        for part in (0, 0.3):
            run = self.run_job(self.job(
                3, MLP, merged(train, {"label_smoothing": part})))
            new = rows_of(3, 2, 90)
            table = self.table("new.csv", new)
            said = self.answers(run, table)
            self.assertAlmostEqual(
                self.evaluated(run, table)["loss"],
                log_losses(said, [row[-1] for row in new]).mean(), delta=NEAR)
            sure[part] = max(float(row[f"p_{c}"]) for row in said
                             for c in range(3))
        self.assertGreater(sure[0], sure[0.3] + 0.02)

    def test_labels_in_words_are_the_classes_of_two(self):
        words = [row[:-1] + [("no", "yes")[row[-1]]] for row in rows_of(2, 1)]
        for loss in ("bce", "hinge"):
            job = self.job(2, MLP, {"loss": loss})
            self.table("seen.csv", words)
            said = self.answers(self.run_job(job),
                                self.table("new.csv", words[:50]))
            right = sum(one["prediction"] == row[-1]
                        for one, row in zip(said, words[:50], strict=True))
            self.assertGreater(right, 40)

    def test_labels_with_three_classes_are_refused_where_they_are_read(self):
        for loss in ("bce", "hinge"):
            job = self.write("job.json", self.job(3, MLP, {"loss": loss}))
            self.refused(2, ["two classes",
                             "numbers up to 2: use cross_entropy"], "run", job,
                         "--run-dir", self.folder / loss, "--no-progress")

    def test_of_a_script_is_its_method_of_outputs_and_labels(self):
        save_focal(self.folder / "net.pt")
        run = self.run_job(self.job(3, self.own_loss(), {}))
        new = rows_of(3, 2, 90)
        table = self.table("new.csv", new)
        losses = log_losses(self.answers(run, table), [row[-1] for row in new])
        judged = self.evaluated(run, table)
        self.assertAlmostEqual(
            judged["loss"], ((1 - numpy.exp(-losses)) ** 2 * losses).mean(),
            delta=NEAR)
        self.assertGreater(judged["metrics"]["accuracy"], 0.7)

    def test_of_a_script_takes_no_weights_of_the_job(self):
        save_focal(self.folder / "net.pt")
        job = self.write("job.json", self.job(
            3, self.own_loss(), {"class_weights": [1, 2, 3]}))
        self.refused(2, ["/train/class_weights",
                         "weigh the rows in the method"], "run", job,
                     "--run-dir", self.folder / "run", "--no-progress")
        job = self.write("job.json", self.job(
            3, {**self.own_loss(), "loss": "other"}, {}))
        self.refused(2, ["/model/loss", "the module has no method 'other'"],
                     "run", job, "--run-dir", self.folder / "run",
                     "--no-progress")

    def test_a_script_with_two_outputs_is_refused_where_one_is_needed(self):
        save_script(self.folder / "net.pt",
                    {"weight": (2, COLUMNS), "bias": (2,)},
                    ["return torch.linear(x, self.weight, self.bias)"])
        job = self.write("job.json", self.job(
            2, {"kind": "torchscript", "path": str(self.folder / "net.pt")},
            {"loss": "bce"}))
        self.refused(2, "of shape [2, 1], as the loss \"bce\" needs",
                     "run", job, "--run-dir", self.folder / "run",
                     "--no-progress")


class SameBits(Losses, Alike):
    """One worker and three, whose leaves are uneven; and once more on one from
    what the run has left."""

    def alike(self, *job):
        alone, three = (self.run_job(self.job(*job, workers=workers))
                        for workers in (1, 3))
        self.expect_alike(outcome(alone), three)
        found = json.loads(
            self.ballast("audit", three, "--replay", "--json").out)
        self.assertTrue(found["same"], found)

    def test_of_bce(self):
        self.alike(2, MLP, {"loss": "bce", "class_weights": "balanced",
                            "label_smoothing": 0.1})

    def test_of_hinge(self):
        self.alike(2, MLP, {"loss": "hinge", "class_weights": [1, 2]})

    def test_of_huber(self):
        self.alike(0, MLP, {"loss": "huber", "huber_delta": 0.5})

    def test_of_smoothed_cross_entropy(self):
        self.alike(3, MLP, {"label_smoothing": 0.2,
                            "class_weights": [1, 2, 0.5]})

    def test_of_a_script_with_one_output(self):
        save_script(self.folder / "net.pt",
                    {"weight1": (12, COLUMNS), "bias1": (12,),
                     "weight2": (1, 12), "bias2": (1,)},
                    ["a = torch.relu(torch.linear(x, self.weight1, "
                     "self.bias1))",
                     "return torch.linear(a, self.weight2, self.bias2)"])
        model = {"kind": "torchscript", "path": str(self.folder / "net.pt")}
        for loss, classes in (("bce", 2), ("hinge", 2), ("huber", 0)):
            self.alike(classes, model, {"loss": loss})

    def test_of_a_script_with_a_loss_of_its_own(self):
        save_focal(self.folder / "net.pt")
        self.alike(3, self.own_loss(), {})

    def test_of_smoothed_tokens(self):
        def job(workers):
            out = self.job(0, {"kind": "transformer", "layers": 1, "width": 16,
                               "heads": 2},
                           {"loss": "next_token", "label_smoothing": 0.1},
                           workers=workers)
            out["data"]["train"] = {"format": "synthetic", "rows": 300,
                                    "classes": 9, "features": 12}
            return out
        alone, three = (self.run_job(job(workers)) for workers in (1, 3))
        self.expect_alike(outcome(alone), three)


if __name__ == "__main__":
    unittest.main()
