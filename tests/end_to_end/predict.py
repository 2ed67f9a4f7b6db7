"""Goal: `ballast predict` answers every row of a new file once and in order, as
the parameters of the run say, whatever dies meanwhile; `ballast evaluate` judges
as the run did; and what cannot be answered is refused before anything is
written. Method: runs over small files made here; their answers computed again
in numpy from model.safetensors; processes killed as they work.
"""
import contextlib
import csv
import json
import os
import random
import signal
import struct
import unittest

import numpy

from harness.jobs import merged
from harness.program import ROOT, command_of
from harness.run_files import read_json
from harness.waiting import wait_until

from ballast_test import BallastTest
from replay import read_safetensors

ROWS = 900
# Of processes in one `predict`, and parts for them: more by the environment.
KILLS = int(os.environ.get("BALLAST_PREDICT_KILLS", "4"))
PARTS = KILLS + 4
KINDS = ("fig", "pear", "plum")


def plants(rows=ROWS, seed=5):
    """x, y and z say which kind it is."""
    draw = random.Random(seed)
    out = []
    for i in range(rows):
        kind = draw.randrange(3)
        out.append({"x": f"{draw.gauss(kind, 0.6):.5f}",
                    "y": f"{draw.gauss(-kind, 0.6):.5f}",
                    "z": str(draw.randrange(-3, 9)), "kind": KINDS[kind],
                    "note": f"row {i}"})
    return out


def as_csv(rows, columns):
    return "\n".join([",".join(columns)]
                     + [",".join(row[one] for one in columns) for row in rows]
                     ) + "\n"


def numbers(rows, columns):
    return numpy.array([[float(row[one]) for one in columns] for row in rows],
                       "float32")


def softmax(outputs):
    shifted = numpy.exp(outputs - outputs.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def mlp(run, features):
    """The outputs of a run's layers."""
    layers = {name: values.astype("float64") for name, values in
              read_safetensors(run / "model.safetensors").items()}
    if "weight" in layers:
        return features @ layers["weight"].T + layers["bias"]
    last = len(layers) // 2
    for i in range(1, last + 1):
        features = (features @ layers[f"fc{i}.weight"].T
                    + layers[f"fc{i}.bias"])
        if i < last:
            features = numpy.maximum(features, 0)
    return features


class Predict(BallastTest):
    def train(self, name="run", **more):
        """A run over the plants, or what `more` says."""
        path = self.folder / "plants.csv"
        if not path.exists():
            self.write("plants.csv",
                       as_csv(plants(), ["x", "note", "y", "kind", "z"]))
        more.setdefault("model", {"kind": "mlp", "hidden": [8]})
        job = self.write(f"{name}.json", merged({
            "data": {"train": {"format": "csv", "uri": str(path),
                               "label": "kind"}},
            "train": {"epochs": 3, "global_batch": 32,
                      "optimizer": {"kind": "adamw", "lr": 0.01}},
            "elastic": {"workers": 1}}, more))
        run = self.folder / name
        self.ballast("run", job, "--run-dir", run, "--no-progress")
        return run

    def predict(self, run, data, out="out.csv", *arguments, **how):
        one = self.ballast("predict", run, "--data", data, "--out",
                           self.folder / out, "--json", *arguments, **how)
        said = json.loads(one.out)
        self.assertFalse((self.folder / f"{out}.parts").exists())
        return said

    def answers(self, out="out.csv"):
        with open(self.folder / out, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def refuse(self, run, data, *parts, out="no.csv", arguments=()):
        """Exit code 2 with these words, and nothing is written."""
        before = sorted(os.listdir(self.folder))
        self.refused(2, parts, "predict", run, "--data", data, "--out",
                     self.folder / out, *arguments)
        self.assertEqual(sorted(os.listdir(self.folder)), before)


class Answers(Predict):
    def test_are_those_of_the_parameters_in_the_order_of_the_rows(self):
        run = self.train()
        new = plants(700, seed=8)
        # Without the label, in another order, with a column more.
        data = self.write("new.csv", as_csv(new, ["z", "note", "y", "x"]))
        said = self.predict(run, data)
        self.assertEqual((said["rows"], said["taken_up"]), (700, 0))
        got = self.answers()
        self.assertEqual(list(got[0]),
                         ["row", "prediction", *(f"p_{one}" for one in KINDS)])
        self.assertEqual([int(one["row"]) for one in got], list(range(700)))
        expected = softmax(mlp(run, numbers(new, ["x", "y", "z"])))
        numpy.testing.assert_allclose(
            [[float(one[f"p_{kind}"]) for kind in KINDS] for one in got],
            expected, atol=1e-6)
        self.assertEqual([one["prediction"] for one in got],
                         [KINDS[i] for i in expected.argmax(axis=1)])
        right = sum(one["prediction"] == row["kind"]
                    for one, row in zip(got, new))
        self.assertGreater(right, 500)

    def test_of_a_regression_are_values(self):
        run = self.train(data={"train": {"label": "z",
                                         "features": ["y", "x"]}},
                         model={"kind": "linear"},
                         train={"loss": "mse"})
        new = plants(40, seed=9)
        self.predict(run, self.write("new.csv", as_csv(new, ["x", "y"])))
        got = self.answers()
        self.assertEqual(list(got[0]), ["row", "value"])
        numpy.testing.assert_allclose(
            [float(one["value"]) for one in got],
            mlp(run, numbers(new, ["y", "x"]))[:, 0], atol=1e-5)

    def test_of_two_numbered_classes_are_those_of_the_log_odds(self):
        rows = plants()
        for row in rows:
            row["late"] = str(int(row["kind"] == "plum"))
        path = self.write("late.csv", as_csv(rows, ["x", "y", "late"]))
        run = self.train(data={"train": {"uri": str(path), "label": "late"}},
                         model={"kind": "logistic"})
        self.predict(run, path)
        got = self.answers()
        odds = mlp(run, numbers(rows, ["x", "y"]))[:, 0]
        numpy.testing.assert_allclose([float(one["p_1"]) for one in got],
                                      1 / (1 + numpy.exp(-odds)), atol=1e-6)
        self.assertEqual([one["prediction"] for one in got],
                         [str(int(z > 0)) for z in odds])

    def test_are_the_same_in_every_format_and_with_any_number_of_processes(self):
        run = self.train()
        data = self.folder / "plants.csv"
        self.predict(run, data, "one.csv", "--workers", "1")
        self.predict(run, data, "three.csv", "--workers", "3")
        one = (self.folder / "one.csv").read_bytes()
        self.assertEqual((self.folder / "three.csv").read_bytes(), one)
        rows = self.answers("one.csv")
        self.predict(run, data, "out.parquet")
        self.ballast("data", "partition", self.folder / "out.parquet",
                     self.folder / "as_csv", "--into", "1", "--to", "csv")
        [as_table] = (self.folder / "as_csv").glob("*.csv")
        self.assertEqual(as_table.read_bytes(), one)
        self.predict(run, data, "out.jsonl")
        with open(self.folder / "out.jsonl", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([line["row"] for line in lines], list(range(ROWS)))
        for name in ("p_fig", "p_plum"):
            numpy.testing.assert_array_equal(
                numpy.array([line[name] for line in lines], "float32"),
                numpy.array([row[name] for row in rows], "float32"))
        # The same rows as Parquet.
        self.ballast("data", "partition", data, self.folder / "parts",
                     "--into", "1")
        [parquet] = (self.folder / "parts").glob("*.parquet")
        self.predict(run, parquet, "of_parquet.csv")
        self.assertEqual((self.folder / "of_parquet.csv").read_bytes(), one)

    def test_follow_what_the_nodes_of_a_graph_have_learned(self):
        """Of the example, whose nodes fill, clip, scale and encode; held
        against the rows that `ballast data apply` makes."""
        run = self.folder / "run"
        self.ballast("run", ROOT / "examples/jobs/clean_csv.json", "--run-dir",
                     run, "--no-progress")
        people = ROOT / "examples/data/people_with_holes.csv"
        self.predict(run, people)
        got = self.answers()
        self.ballast("data", "apply", run, people,
                     self.folder / "applied.csv", "--null", "NA")
        applied = self.answers("applied.csv")
        columns = read_json(run / "manifest.json")["columns"]
        self.assertNotIn("kind", columns)
        names = read_json(run / "manifest.json")["class_names"]
        expected = softmax(mlp(run, numbers(applied, columns)))
        numpy.testing.assert_allclose(
            [[float(one[f"p_{kind}"]) for kind in names] for one in got],
            expected, atol=2e-6)
        # Rows without a label were not trained on, and are answered, too.
        self.assertIn("", [one["kind"] for one in applied])
        # A file without the column, and the same one among others.
        lines = people.read_text(encoding="utf-8").splitlines()
        header = lines[0].split(",")
        place = header.index("kind")
        self.write("without.csv", "\n".join(
            ",".join(cell for i, cell in enumerate(line.split(","))
                     if i != place) for line in lines) + "\n")
        self.predict(run, self.folder / "without.csv", "without-out.csv")
        self.assertEqual((self.folder / "without-out.csv").read_bytes(),
                         (self.folder / "out.csv").read_bytes())

    def test_of_a_copied_model_are_those_of_the_run(self):
        copies = self.folder / "copies"
        run = self.train(checkpoint={"copy_to": str(copies)})
        data = self.folder / "plants.csv"
        self.predict(run, data, "a.csv")
        model = next(copies.rglob("model.safetensors")).parent
        self.predict(model, data, "b.csv")
        self.assertEqual((self.folder / "a.csv").read_bytes(),
                         (self.folder / "b.csv").read_bytes())


class Kills(Predict):
    """Enough rows for many parts, each of some 16,384."""

    def setUp(self):
        super().setUp()
        self.run_dir = self.train(model={"kind": "mlp", "hidden": [512, 512]},
                                  train={"epochs": 1})
        rows = plants(1000, seed=3)
        body = as_csv(rows, ["x", "y", "z"]).split("\n", 1)
        self.data = self.write("many.csv", body[0] + "\n" + body[1] * (16 * PARTS))
        self.rows = 16_000 * PARTS
        self.predict(self.run_dir, self.data, "calm.csv")
        self.calm = (self.folder / "calm.csv").read_bytes()

    def begin(self, workers="2"):
        return self.start("predict", self.run_dir, "--data", self.data, "--out",
                          self.folder / "out.csv", "--json", "--workers",
                          workers)

    def predictors(self, one):
        return [pid for pid in one.family() if "infer" in command_of(pid)]

    def parts_done(self):
        return len(list(self.folder.glob("out.csv.parts/answers-*.safetensors")))

    def check(self, one):
        self.assertEqual(one.wait(120), 0, one)
        self.assertEqual((self.folder / "out.csv").read_bytes(), self.calm)
        self.assertEqual([int(row["row"]) for row in self.answers()],
                         list(range(self.rows)))
        self.assertFalse((self.folder / "out.csv.parts").exists())
        self.nobody_left(one, 5)
        return json.loads(one.out)

    def test_of_processes_cost_no_row(self):
        one = self.begin()
        kills = 0
        while kills < KILLS and one.running():
            done = self.parts_done()
            wait_until(lambda done=done: self.parts_done() > done
                       or not one.running(), "a part", 60)
            for pid in self.predictors(one)[:1]:
                with contextlib.suppress(ProcessLookupError): # it has ended
                    os.kill(pid, signal.SIGKILL)
                    kills += 1
        said = self.check(one)
        self.assertGreater(kills, 2)
        self.assertGreater(said["workers_lost"], 0)

    def test_of_the_command_leave_parts_that_it_goes_on_with(self):
        one = self.begin()
        wait_until(lambda: self.parts_done() >= 3, "three parts", 60)
        os.kill(one.pid, signal.SIGKILL)
        one.wait()
        self.nobody_left(one, 20)
        self.assertFalse((self.folder / "out.csv").exists())
        said = self.check(self.begin("1"))
        self.assertGreaterEqual(said["taken_up"], 3 * 16384)

    def test_by_ctrl_c_do_the_same(self):
        one = self.begin()
        wait_until(lambda: self.parts_done() >= 2, "two parts", 60)
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(), 130, one)
        self.assertIn("goes on", one.last_line)
        self.nobody_left(one, 5)
        self.assertGreaterEqual(self.check(self.begin())["taken_up"], 2 * 16384)


class Evaluate(Predict):
    def test_judges_as_the_run_did(self):
        test = self.write("test.csv", as_csv(plants(300, seed=4),
                                             ["kind", "y", "x", "z", "note"]))
        run = self.train(data={"test": {"format": "csv", "uri": str(test),
                                        "label": "kind"}})
        report = read_json(run / "report.json")
        found = json.loads(self.ballast("evaluate", run, "--data", test,
                                        "--json").out)
        self.assertEqual(found["rows"], 300)
        self.assertAlmostEqual(found["loss"], report["test_loss"], 6)
        self.assertAlmostEqual(found["metrics"]["accuracy"],
                               report["test_accuracy"], 12)
        for name, value in report["test_metrics"].items():
            self.assertAlmostEqual(found["metrics"][name], value, 12, name)
        for workers in ("1", "3"):
            self.assertEqual(json.loads(self.ballast(
                "evaluate", run, "--data", test, "--json", "--workers",
                workers).out), found)
        self.refused(2, "'kind'", "evaluate", run, "--data",
                     self.write("new.csv", "x,y,z\n1,2,3\n"))
        self.refused(2, ("row 2", "'kind'", "apple"), "evaluate", run, "--data",
                     self.write("other.csv",
                                "x,y,z,kind\n1,2,3,fig\n1,2,3,apple\n"))

    def test_judges_each_value_of_a_column_as_if_alone(self):
        """More rows than one part has; a value may be missing."""
        rows = plants(40000, seed=4)
        columns = ["region", "x", "y", "z", "kind"]
        for i, row in enumerate(rows):
            row["region"] = ["north", "", "south, far"][i * 7 % 3]
        quoted = [{**row, "region": f'"{row["region"]}"' if row["region"]
                   else ""} for row in rows]
        test = self.write("test.csv", as_csv(quoted, columns))
        run = self.train()
        whole = json.loads(self.ballast("evaluate", run, "--data", test,
                                        "--json").out)
        found = json.loads(self.ballast("evaluate", run, "--data", test, "--by",
                                        "region", "--json").out)
        by = found.pop("by")
        self.assertEqual(found["metrics"]["f1"], whole["metrics"]["f1"])
        self.assertAlmostEqual(found["loss"], whole["loss"], 12)
        self.assertEqual(by["column"], "region")
        self.assertEqual(sorted(by["slices"]),
                         ["(missing)", "north", "south, far"])
        for value, one in by["slices"].items():
            name = "" if value == "(missing)" else value
            mine = [row for row in rows if row["region"] == name]
            alone = json.loads(self.ballast(
                "evaluate", run, "--data", self.write("mine.csv", as_csv(
                    mine, columns[1:])), "--json").out)
            self.assertEqual(one["rows"], len(mine))
            self.assertAlmostEqual(one["loss"], alone["loss"], 12)
            self.assertEqual(one["metrics"]["f1"], alone["metrics"]["f1"])
        text = self.ballast("evaluate", run, "--data", test, "--by",
                            "region").out
        self.assertRegex(text, r"(?m)^region +rows +loss +accuracy ")
        self.assertRegex(text, r"(?m)^south, far +\d+ +0\.\d+ ")
        self.refused(2, ("has no column 'area'", "--by"), "evaluate", run,
                     "--data", test, "--by", "area")
        self.refused(2, ("'x'", "more than 256 values"), "evaluate", run,
                     "--data", test, "--by", "x")

    def test_judges_each_class_by_its_name(self):
        rows = plants(300, seed=4)
        test = self.write("test.csv", as_csv(rows, ["x", "y", "z", "kind"]))
        run = self.train()
        found = json.loads(self.ballast("evaluate", run, "--data", test,
                                        "--json").out)["metrics"]
        self.predict(run, test, "said.csv")
        said = self.answers("said.csv")
        areas = []
        for kind in KINDS:
            real = [row["kind"] == kind for row in rows]
            taken = [one["prediction"] == kind for one in said]
            hits = sum(map(min, real, taken))
            self.assertAlmostEqual(found["f1"][kind],
                                   2 * hits / (sum(real) + sum(taken)), 12)
            scores = [float(one[f"p_{kind}"]) for one in said]
            mine = [s for s, is_it in zip(scores, real, strict=True) if is_it]
            others = [s for s, is_it in zip(scores, real, strict=True)
                      if not is_it]
            areas.append(sum((a > b) + (a == b) / 2 for a in mine
                             for b in others) / len(mine) / len(others))
        self.assertAlmostEqual(found["roc_auc"], sum(areas) / len(areas), 4)
        text = self.ballast("evaluate", run, "--data", test).out
        self.assertRegex(text, r"(?m)^rows +300$")
        self.assertRegex(text, r"(?m)^f1 fig +0\.\d+$")


class Pictures(Predict):
    """Of the format idx: an image is a class if its part is light."""

    def setUp(self):
        super().setUp()
        draw = numpy.random.default_rng(2)
        self.labels = draw.integers(0, 3, 300)
        self.images = draw.integers(0, 60, (300, 12, 12)).astype("uint8")
        for image, label in zip(self.images, self.labels):
            image[4 * label:4 * label + 4] += 120
        for part, rows in (("train", slice(0, 200)), ("test", slice(200, 300))):
            self.write(f"{part}-images", b"\0\0\x08\3" + struct.pack(
                ">3I", rows.stop - rows.start, 12, 12)
                + self.images[rows].tobytes())
            self.write(f"{part}-labels", b"\0\0\x08\1" + struct.pack(
                ">I", rows.stop - rows.start)
                + self.labels[rows].astype("uint8").tobytes())

    def run_of(self, name, **more):
        source = {part: {"format": "idx",
                         "images": str(self.folder / f"{part}-images"),
                         "labels": str(self.folder / f"{part}-labels")}
                  for part in ("train", "test")}
        job = self.write(f"{name}.json", merged({
            "data": {**source, "pipeline": [
                {"op": "scale", "factor": 1 / 255},
                {"op": "reshape", "shape": [1, 12, 12]}]},
            "model": {"kind": "cnn", "channels": [8]},
            "train": {"epochs": 6, "global_batch": 20,
                      "optimizer": {"kind": "adamw", "lr": 0.01}},
            "elastic": {"workers": 1}}, more))
        run = self.folder / name
        self.ballast("run", job, "--run-dir", run, "--no-progress")
        return run

    def test_are_judged_as_the_run_did_with_and_without_augmentation(self):
        for name, more in (("plain", {}), ("augmented", {"data": {"augment": [
                {"op": "crop", "size": [10, 10]},
                {"op": "normalise", "mean": [0.3], "std": [0.25]}]}})):
            run = self.run_of(name, **more)
            report = read_json(run / "report.json")
            found = json.loads(self.ballast(
                "evaluate", run, "--data", self.folder / "test-images",
                "--labels", self.folder / "test-labels", "--json").out)
            self.assertEqual(found["rows"], 100)
            self.assertAlmostEqual(found["loss"], report["test_loss"], 6)
            self.assertEqual(found["metrics"]["accuracy"],
                             report["test_accuracy"])
            self.predict(run, self.folder / "test-images", f"{name}.csv")
            got = self.answers(f"{name}.csv")
            right = sum(int(one["prediction"]) == label for one, label in
                        zip(got, self.labels[200:], strict=True))
            self.assertEqual(right / 100, report["test_accuracy"])
            self.assertGreater(right, 60)

    def test_of_another_size_and_without_labels_are_refused(self):
        run = self.run_of("run", train={"epochs": 1})
        self.refuse(run, self.write("small", b"\0\0\x08\3"
                                    + struct.pack(">3I", 1, 2, 2) + bytes(4)),
                    "small", "2 x 2", "1 x 12 x 12")
        self.refused(2, "--labels", "evaluate", run, "--data",
                     self.folder / "test-images")


class Refused(Predict):
    def test_are_outputs_that_exist_and_names_without_a_format(self):
        run = self.train()
        data = self.folder / "plants.csv"
        self.write("there.csv", "mine\n")
        self.refuse(run, data, "there.csv", out="there.csv")
        self.assertEqual((self.folder / "there.csv").read_text(), "mine\n")
        self.refuse(run, data, ".parquet", out="no.xlsx")
        (self.folder / "no.csv.parts").mkdir()
        self.write("no.csv.parts/thesis.txt", "mine")
        self.refuse(run, data, "no.csv.parts")

    def test_are_rows_that_lack_what_the_model_needs(self):
        run = self.train()
        for text, parts in (
                ("x,y\n1,2\n", ("'z'", "trained on", "'x', 'y'")),
                ("x,y,z\n1,2,3\n1,?,3\n", ("row 2", "'y'")),
                ("x,y,z\n1,2,3\n1,,3\n", ("row 2", "'y'", "missing")),
                ("x,y,z,z\n1,2,3,3\n", ("'z'",))):
            self.refuse(run, self.write("bad.csv", text), *parts)
        self.refuse(run, self.folder / "nowhere.csv", "nowhere.csv")

    def test_is_a_category_that_was_not_there_to_learn(self):
        job = read_json(ROOT / "examples/jobs/imbalanced_csv.json")
        source = ROOT / "examples/data/customers.csv"
        job["data"]["sources"]["customers"]["uri"] = str(source)
        for node in job["data"]["graph"]:
            if node["op"] == "one_hot":
                node["unseen"] = "error"
        run = self.folder / "run"
        self.ballast("run", self.write("job.json", job), "--run-dir", run,
                     "--no-progress")
        lines = source.read_text(encoding="utf-8").splitlines()
        plan = lines[0].split(",").index("plan")
        row = lines[1].split(",")
        row[plan] = "platinum"
        self.refuse(run, self.write("new.csv", f"{lines[0]}\n{lines[1]}\n"
                                    + ",".join(row) + "\n"),
                    "row 2", "'plan'", "platinum")

    def test_are_folders_that_hold_no_model_and_other_versions(self):
        data = self.write("rows.csv", "x,y,z\n1,2,3\n")
        self.refuse(self.folder / "none", data, "none")
        (self.folder / "empty").mkdir()
        self.refuse(self.folder / "empty", data, "job.json")
        run = self.train()
        (run / "model.safetensors").rename(run / "kept")
        self.refuse(run, data, "model.safetensors", "--resume")
        (run / "kept").rename(run / "model.safetensors")
        manifest = read_json(run / "manifest.json")
        for change, parts in (({"version": 9}, ("manifest.json", "version 9")),
                              ({"columns": None}, ("columns", "features"))):
            self.write(run / "manifest.json", {
                key: value for key, value in {**manifest, **change}.items()
                if value is not None})
            self.refuse(run, data, *parts)
        self.write(run / "manifest.json", manifest)
        raw = (run / "model.safetensors").read_bytes()
        self.write(run / "model.safetensors", raw[:-4])
        self.refuse(run, data, "model.safetensors")

    def test_is_a_model_of_a_set_that_another_job_prepared(self):
        source = self.write("plants.csv", as_csv(plants(), ["x", "y", "kind"]))
        job = {"data": {"train": {"format": "csv", "uri": str(source),
                                  "label": "kind"}},
               "model": {"kind": "logistic"}, "elastic": {"workers": 1}}
        self.ballast("data", "prepare", self.write("job.json", job), "--to",
                     self.folder / "set")
        job["data"] = {"train": {"format": "prepared",
                                 "uri": str(self.folder / "set")}}
        run = self.folder / "run"
        self.ballast("run", self.write("other.json", job), "--run-dir", run,
                     "--no-progress")
        self.refuse(run, source, "prepared")

    def test_is_a_model_that_answers_no_row(self):
        job = self.write("job.json", {
            "data": {"train": {"format": "synthetic", "rows": 64, "classes": 2,
                               "features": 4}, "test_fraction": 0},
            "model": {"kind": "emulated", "parameters": 10},
            "train": {"global_batch": 32}, "elastic": {"workers": 1}})
        run = self.folder / "run"
        self.ballast("run", job, "--run-dir", run, "--no-progress")
        self.refuse(run, self.write("rows.csv", "x\n1\n"), "emulated", "mlp")


if __name__ == "__main__":
    unittest.main()
