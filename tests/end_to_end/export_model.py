"""Goal: a trained model leaves the house: the file of ONNX answers as `ballast
predict` does, the folder of the model explains itself and answers wherever it
is moved to, and what cannot be exported is refused. Method: small runs of each
kind; onnxruntime on the same rows.
"""
import csv
import json
import random
import shutil
import unittest

import numpy
import onnxruntime
from safetensors.numpy import load_file

from harness.jobs import merged
from harness.run_files import read_json

from ballast_test import BallastTest
from replay import read_safetensors

ROWS = 240
NEAR = 1e-5


def rows_of(columns, classes, seed, rows=ROWS):
    """Class k is larger in every k-th column."""
    draw = random.Random(seed)
    out = []
    for _ in range(rows):
        label = draw.randrange(classes)
        out.append([round(draw.gauss(1 if i % classes == label else 0, 0.5), 4)
                    for i in range(columns)] + [label])
    return out


def write(path, rows, names):
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(names)
        out.writerows(rows)


class Exported(BallastTest):
    def trained(self, name, columns, model, *, classes=3, loss="cross_entropy",
                shape=None, **more):
        """The run directory, and new rows."""
        names = [f"x{i}" for i in range(columns)] + ["y"]
        seen, new = (self.folder / f"{name}-{part}.csv"
                     for part in ("seen", "new"))
        write(seen, rows_of(columns, classes, 1), names)
        write(new, rows_of(columns, classes, 2, 50), names)
        data = {"train": {"format": "csv", "uri": str(seen), "label": "y"}}
        if shape:
            data["pipeline"] = [{"op": "reshape", "shape": shape}]
        run = self.run_job(merged(
            {"name": name, "seed": 3, "data": data, "model": model,
             "train": {"epochs": 2, "global_batch": 32, "loss": loss,
                       "optimizer": {"kind": "adam", "lr": 0.01}},
             "elastic": {"workers": 2}}, more))
        return run, new

    def answers_of(self, model, rows):
        out = self.folder / f"answers-{next(self.folders)}.csv"
        self.ballast("predict", model, "--data", rows, "--out", out)
        with open(out, encoding="utf-8") as file:
            return out, list(csv.DictReader(file))

    def session_of(self, model):
        out = self.folder / f"model-{next(self.folders)}.onnx"
        self.ballast("export", model, "--out", out)
        return onnxruntime.InferenceSession(str(out))

    def agrees(self, name, columns, model, **more):
        run, new = self.trained(name, columns, model, **more)
        session = self.session_of(run)
        features = numpy.loadtxt(new, "float32", delimiter=",",
                                 skiprows=1)[:, :columns]
        [asked] = session.get_inputs()
        self.assertEqual(asked.shape[0], "rows")
        features = features.reshape([-1, *asked.shape[1:]])
        _, told = self.answers_of(run, new)
        wanted = [one for one in told[0] if one.startswith("p_")] or ["value"]
        said = numpy.array([[float(row[one]) for one in wanted]
                            for row in told])
        [got] = session.run([session.get_outputs()[-1].name],
                            {asked.name: features})
        self.assertEqual(got.shape, said.shape)
        self.assertLess(numpy.abs(got - said).max(), NEAR)

    def test_dense_models_answer_in_onnx_as_here(self):
        self.agrees("mlp", 8, {"kind": "mlp", "hidden": [16, 8]})
        self.agrees("logistic-3", 5, {"kind": "logistic"})
        self.agrees("logistic-2", 5, {"kind": "logistic"}, classes=2)
        self.agrees("linear", 4, {"kind": "linear"}, loss="mse")
        self.agrees("number", 4, {"kind": "mlp", "hidden": [8]}, loss="mse")

    def test_models_of_images_answer_in_onnx_as_here(self):
        self.agrees("cnn", 144, {"kind": "cnn", "channels": [4, 6]},
                    shape=[12, 12])
        self.agrees("cnn-norm", 300,
                    {"kind": "cnn", "channels": [4], "batch_norm": True,
                     "dropout": 0.2}, shape=[3, 10, 10])
        self.agrees("resnet-small", 243,
                    {"kind": "resnet18", "stem": "cifar"}, shape=[3, 9, 9],
                    train={"epochs": 1})

    def test_tokens_have_in_onnx_the_loss_that_the_run_reports(self):
        length, vocabulary = 12, 7
        draw = random.Random(4)
        names = [f"t{i}" for i in range(length)]
        files = []
        for part, rows in (("seen", 120), ("test", 40)):
            tokens = []
            for _ in range(rows):
                first = draw.randrange(vocabulary)
                tokens.append([(first + i * (1 + first % 2)) % vocabulary
                               for i in range(length)])
            files.append(self.folder / f"tokens-{part}.csv")
            write(files[-1], tokens, names)
        run = self.run_job(
            {"name": "tokens", "seed": 3,
             "data": {"train": {"format": "csv", "uri": str(files[0])},
                      "test": {"format": "csv", "uri": str(files[1])}},
             "model": {"kind": "transformer", "layers": 2, "width": 16,
                       "heads": 2},
             "train": {"epochs": 3, "global_batch": 16, "loss": "next_token",
                       "optimizer": {"kind": "adam", "lr": 0.01}},
             "elastic": {"workers": 2}})
        tokens = numpy.loadtxt(files[1], "int64", delimiter=",", skiprows=1)
        [scores] = self.session_of(run).run(None, {"tokens": tokens})
        scores = scores[:, :-1].astype("float64")
        scores -= scores.max(-1, keepdims=True)
        chances = scores - numpy.log(numpy.exp(scores).sum(-1, keepdims=True))
        loss = -numpy.take_along_axis(chances, tokens[:, 1:, None], 2).mean()
        self.assertAlmostEqual(
            loss, read_json(run / "report.json")["test_loss"], delta=NEAR)

    def trains_on(self, name, columns, model, **more):
        """As a module of TorchScript, which a job takes, too: with a learning
        rate of 0 it has the losses that the run ended with."""
        run, _ = self.trained(name, columns, model, **more)
        script = self.folder / f"{name}.pt"
        self.ballast("export", run, "--out", script)
        job = read_json(run / "job.json")
        job["model"] = {"kind": "torchscript", "path": str(script)}
        job["train"]["epochs"] = 1
        job["train"]["optimizer"] = {"kind": "sgd", "lr": 0}
        if model["kind"] == "logistic":
            job["train"]["loss"] = "bce"  # its one output
        again = read_json(self.run_job(job) / "report.json")
        before = read_json(run / "report.json")
        for key in ("test_loss", "test_accuracy"):
            if before[key] is not None:
                self.assertAlmostEqual(again[key], before[key], delta=NEAR)
        return run, script

    def test_modules_of_torchscript_go_on_where_the_run_ended(self):
        self.trains_on("script-mlp", 8, {"kind": "mlp", "hidden": [16, 8]})
        self.trains_on("script-logistic", 5, {"kind": "logistic"}, classes=2)
        run, script = self.trains_on("script-number", 4, {"kind": "linear"},
                                     loss="mse")
        self.refused(2, "is there; remove it", "export", run, "--out", script)
        self.trains_on("script-cnn", 144, {"kind": "cnn", "channels": [4, 6]},
                       shape=[12, 12])
        self.trains_on("script-norm", 300,
                       {"kind": "cnn", "channels": [4], "batch_norm": True},
                       shape=[3, 10, 10])
        self.trains_on("script-resnet", 243,
                       {"kind": "resnet18", "stem": "cifar"}, shape=[3, 9, 9],
                       train={"epochs": 1})

    def test_the_folder_of_the_model_answers_wherever_it_is(self):
        run, new = self.trained(
            "moved", 6, {"kind": "mlp", "hidden": [8]},
            card={"licence": "CC-BY-4.0", "intended use": "tests | of this"})
        of_run, _ = self.answers_of(run, new)
        elsewhere = self.folder / "elsewhere"
        shutil.move(run / "model", elsewhere)
        handed_on = self.folder / "handed-on"
        self.ballast("export", run, "--out", handed_on)
        shutil.rmtree(run)
        for folder in (elsewhere, handed_on):
            of_folder, _ = self.answers_of(folder, new)
            self.assertEqual(of_run.read_bytes(), of_folder.read_bytes())
            self.session_of(folder)

    def test_the_card_says_what_went_in_and_how_good_it_is(self):
        run, _ = self.trained(
            "told", 6, {"kind": "mlp", "hidden": [8]},
            card={"licence": "CC-BY-4.0", "intended use": "tests | of this"})
        card, report = (read_json(run / "model" / "card.json"),
                        read_json(run / "report.json"))
        self.assertEqual(card["weights_sha256"], report["weights_sha256"])
        self.assertEqual(card["metrics"]["loss"], report["test_loss"])
        self.assertEqual(card["metrics"]["f1_macro"],
                         report["test_metrics"]["f1_macro"])
        self.assertEqual(card["input"]["columns"], [f"x{i}" for i in range(6)])
        self.assertEqual(card["model"]["parameters"], 6 * 8 + 8 + 8 * 3 + 3)
        self.assertEqual(card["output"]["label"], "y")
        text = (run / "model" / "README.md").read_text(encoding="utf-8")
        self.assertTrue(text.startswith(
            '---\nlibrary_name: ballast\nlicense: "CC-BY-4.0"\n---\n'), text)
        self.assertIn("| intended use | tests \\| of this |", text)
        self.assertEqual(
            {name: value.tolist() for name, value in
             load_file(run / "model" / "model.safetensors").items()},
            {name: value.tolist() for name, value in
             read_safetensors(run / "model.safetensors").items()})

    def test_the_folder_appears_whole_and_leaves_nothing_behind(self):
        run, _ = self.trained("first", 4, {"kind": "mlp", "hidden": [4]})
        self.assertTrue((run / "model" / "card.json").exists())
        self.assertEqual(sorted(one.name for one in (run / "tmp").iterdir()),
                         [])

    def test_what_cannot_be_exported_is_refused(self):
        run, _ = self.trained("refused", 4, {"kind": "mlp", "hidden": [4]})
        taken = self.folder / "taken.onnx"
        taken.write_text("mine", encoding="utf-8")
        self.refused(2, "taken.onnx", "export", run, "--out", taken)
        self.assertEqual(taken.read_text(encoding="utf-8"), "mine")
        self.refused(2, "expected NAME.onnx", "export", run, "--out",
                     self.folder / "model.h5")
        self.refused(2, "no such folder", "export", self.folder / "nothing",
                     "--out", self.folder / "a.onnx")
        self.refused(2, "nowhere", "export", run, "--out",
                     self.folder / "nowhere" / "a.onnx")
        job = json.loads((run / "job.json").read_text(encoding="utf-8"))
        job["model"]["hidden"] = [4, 4]
        (run / "job.json").write_text(json.dumps(job), encoding="utf-8")
        self.refused(2, "has no parameter fc3.weight", "export", run, "--out",
                     self.folder / "b.onnx")
        self.assertFalse((self.folder / "b.onnx").exists())


if __name__ == "__main__":
    unittest.main()
