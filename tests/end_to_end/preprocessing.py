"""Goal: a table with holes trains after what the nodes of its graph learned of
the training rows alone, each row once though a worker dies; what they learned is
kept with the run, and makes of raw rows what the model was trained and tested
on. Method: the example's job over a file made here; the chunks of the run held
against those of rows that `ballast data apply` changed.
"""
import json
import os
import random
import signal
import unittest

from harness.jobs import merged
from harness.program import ROOT
from harness.run_files import read_json
from harness.waiting import wait_until

from recovery import Recovery
from standard_input import piped

ROWS = 1200
STATES = ["impute", "impute", "clip_outliers", "standardize", "one_hot"]


def people():
    """Numbers with holes and one outlier, text with holes, a label with some."""
    draw = random.Random(7)
    lines = ["age,income,city,kind"]
    for i in range(ROWS):
        kind = i % 3
        age = "NA" if i % 17 == 3 else str(20 + draw.randrange(50))
        income = "" if i % 23 == 5 else f"{2000 + 900 * kind + draw.random():.3f}"
        if i == 600:
            income = "9000000"
        city = "" if i % 31 == 7 else draw.choice(("oslo", "rome", "bonn"))
        lines.append(f"{age},{income},{city},"
                     + ("" if i % 101 == 50 else ("pear", "fig", "plum")[kind]))
    return "\n".join(lines) + "\n"


class Preprocessing(Recovery):
    def setUp(self):
        super().setUp()
        self.csv = self.write("people.csv", people())

    def job(self, name="job.json", **more):
        out = read_json(ROOT / "examples/jobs/clean_csv.json")
        out["data"]["sources"]["people"]["uri"] = str(self.csv)
        return self.write(name, merged(out, more))

    def checksums(self, manifest):
        return [[chunk["checksum"] for chunk in manifest[part]]
                for part in ("train", "test")]

    def test_trains_exactly_though_a_worker_dies_and_keeps_what_was_learned(self):
        job = self.job(train={"epochs": 150})
        one, run = self.begin(job)
        os.kill(self.workers(run)[0]["pid"], signal.SIGKILL)
        self.assertEqual(one.wait(120), 0, one)
        report = read_json(run / "report.json")
        manifest = read_json(run / "manifest.json")
        rows = 150 * manifest["train_rows"]
        self.assertEqual(report["audit"], {"expected": rows, "once": rows,
                                           "lost": 0, "repeated": 0})
        self.assertGreaterEqual(report["generations"], 2)
        self.assertGreater(report["test_accuracy"], 0.9)
        self.assertEqual(manifest["test_rows_trained_on"], 0)
        self.assertEqual([s["op"] for s in manifest["preprocessing"]], STATES)
        kept = read_json(run / "preprocessing" / "manifest.json")
        self.assertEqual([s["sha256"] for s in kept["states"]],
                         [s["sha256"] for s in manifest["preprocessing"]])
        state = read_json(run / "preprocessing" / "4-one_hot" / "state.json")
        self.assertEqual(state["columns"][0]["categories"],
                         ["bonn", "oslo", "rome", "unknown"])
        self.assertEqual(state["rows"], manifest["train_rows"])
        self.assertTrue((run / "model.safetensors").exists())
        self.nobody_left(one, 3)

    def test_the_examples_train_as_they_are(self):
        for name in ("clean_csv", "imbalanced_csv"):
            one, run = self.new_run(ROOT / f"examples/jobs/{name}.json")
            self.assertEqual(one.wait(120), 0, one)
            self.assertGreater(read_json(run / "report.json")["test_accuracy"],
                               0.85, name)

    def test_rows_are_made_of_training_rows_alone_and_outlive_a_worker(self):
        document = read_json(ROOT / "examples/jobs/imbalanced_csv.json")
        source = ROOT / "examples/data/customers.csv"
        document["data"]["sources"]["customers"]["uri"] = str(source)
        document["train"]["epochs"] = 100
        job = self.write("imbalanced.json", document)
        one, run = self.begin(job)
        os.kill(self.workers(run)[0]["pid"], signal.SIGKILL)
        self.assertEqual(one.wait(120), 0, one)
        manifest = read_json(run / "manifest.json")
        rows = 100 * manifest["train_rows"]
        self.assertEqual(read_json(run / "report.json")["audit"],
                         {"expected": rows, "once": rows, "lost": 0,
                          "repeated": 0})
        self.assertEqual(manifest["test_rows_trained_on"], 0)
        counts = {}
        for name in ("train-3", "train-balanced", "test-clean"):
            shown = json.loads(self.ballast("data", "show", job, "--node", name,
                                            "--rows", "10000", "--json").out)
            counts[name] = [row["left"] for row in shown["rows"]].count
        few = counts["train-3"]("yes")
        many = counts["train-3"]("no")
        self.assertGreater(many, 8 * few)
        self.assertEqual(counts["train-balanced"]("yes"), many)
        self.assertEqual(counts["train-balanced"]("no"), many)
        self.assertEqual(manifest["train_rows"], 2 * many)
        self.assertEqual(manifest["test_rows"],
                         counts["test-clean"]("yes") + counts["test-clean"]("no"))

    def test_a_sample_of_a_stream_trains_exactly_though_a_worker_dies(self):
        draw = random.Random(3)
        rows = self.write("rows.jsonl", "".join(
            json.dumps({"x": draw.gauss(3 * (i % 20 == 7), 1),
                        "y": int(i % 20 == 7)}) + "\n"
            for i in range(20000)))
        document = read_json(ROOT / "examples/jobs/stream_reservoir.json")
        document["train"]["epochs"] = 100
        job = self.write("stream.json", document)
        one, run = self.new_run(job, wrapper=piped(rows))
        wait_until(lambda: self.committed(run) > 5, f"steps of {one}")
        os.kill(self.workers(run)[0]["pid"], signal.SIGKILL)
        self.assertEqual(one.wait(120), 0, one)
        report = read_json(run / "report.json")
        self.assertEqual(report["audit"], {"expected": 80000, "once": 80000,
                                           "lost": 0, "repeated": 0})
        self.assertGreater(report["test_accuracy"], 0.85)
        shown = json.loads(self.ballast(
            "data", "show", job, "--node", "train", "--rows", "1000", "--json",
            wrapper=piped(rows)).out)
        labels = [row["y"] for row in shown["rows"]]
        self.assertEqual((labels.count(0), labels.count(1)), (400, 400))

    def test_applied_to_raw_rows_gives_what_was_trained_on(self):
        run = self.run_job(self.job(train={"epochs": 1}))
        parts = {}
        for part in ("train", "test"):
            raw = self.folder / f"{part}.csv"
            parts[part] = self.folder / f"{part}.parquet"
            self.ballast("data", "write", self.folder / "job.json", part, raw)
            said = json.loads(self.ballast(
                "data", "apply", run, raw, parts[part], "--json").out)
            self.assertEqual([s["op"] for s in said["states"]], STATES)
        again = self.run_job({
            "data": {part: {"format": "parquet", "uri": str(path),
                            "label": "kind"} for part, path in parts.items()},
            "model": {"kind": "logistic"},
            "train": {"epochs": 1, "global_batch": 32},
            "elastic": {"workers": 2}})
        self.assertEqual(self.checksums(read_json(again / "manifest.json")),
                         self.checksums(read_json(run / "manifest.json")))

    def test_rows_that_nodes_remove_are_listed_counted_and_said(self):
        lines = ["id,age,city,kind"]
        for i in range(400):
            age = {30: "300", 31: "none", 32: ""}.get(i, str(20 + i % 50))
            city = "atlantis" if i == 33 else ("oslo", "rome")[i % 2]
            lines.append(f"{7 if i == 34 else i},{age},{city},{i % 2}")
        people = self.write("rules.csv", "\n".join(lines) + "\n")
        job = self.write("rules.json", {
            "version": 1, "seed": 1,
            "data": {
                "sources": {"people": {"format": "csv", "uri": str(people),
                                       "columns": {"age": "text"}}},
                "graph": [
                    {"op": "distinct", "from": "people", "on": "id",
                     "as": "once"},
                    {"op": "check", "as": "sound", "rules": {
                        "age": {"type": "int64", "min": 0, "max": 120,
                                "not_null": True},
                        "city": {"in": ["oslo", "rome"]}}},
                    {"op": "one_hot", "columns": "city", "as": "clean"}],
                "train": {"from": "clean", "label": "kind",
                          "features": ["age", "city_oslo", "city_rome"]},
                "test_fraction": 0},
            "model": {"kind": "logistic"},
            "train": {"epochs": 1, "global_batch": 32},
            "elastic": {"workers": 2}})
        one, run = self.new_run(job)
        self.assertEqual(one.wait(90), 0, one)
        told = [json.loads(line) for line in
                (run / "quarantine.jsonl").read_text().splitlines()]
        self.assertEqual(
            [(t["operator"], t["row"], t.get("column")) for t in told],
            [("once", 35, None), ("sound", 31, "age"), ("sound", 32, "age"),
             ("sound", 33, "age"), ("sound", 34, "city")])
        self.assertEqual(told[2]["reason"],
                         "expected int64, found something else")
        self.assertEqual(told[2]["values"]["age"], "none")
        rejected = {"read": 400, "rows": 0, "kept": 5,
                    "removed": {"once": 1, "sound": 4}}
        self.assertEqual(read_json(run / "manifest.json")["rejected"], rejected)
        report = read_json(run / "report.json")
        self.assertEqual(report["rejected"], rejected)
        self.assertEqual(report["audit"]["once"], 395)
        self.assertIn("5 of 400 rows were removed (1 by once, 4 by sound): "
                      f"{run}/quarantine.jsonl", one.err)
        out = self.folder / "sound.csv"
        said = json.loads(self.ballast("data", "write", job, "sound", out,
                                       "--json").out)
        self.assertEqual(said["left_out"]["removed"], rejected["removed"])
        self.assertEqual(
            len((self.folder / "sound.csv.quarantine.jsonl").read_text()
                .splitlines()), 5)

    def test_texts_become_numbers_that_train(self):
        draw = random.Random(5)
        words = [["cheap", "offer", "buy", "now"], ["meeting", "report", "team"]]
        lines = "".join(json.dumps({
            "t": " ".join(draw.choice(words[i % 2] + ["the", "a", "and"])
                          for _ in range(8)),
            "y": i % 2}) + "\n" for i in range(600))
        mails = self.write("mails.jsonl", lines)
        def job(node):
            return self.write(node["op"] + ".json", {
                "version": 1, "seed": 1,
                "data": {
                    "sources": {"mails": {"format": "jsonl", "uri": str(mails)}},
                    "graph": [
                        {"op": "split", "from": "mails",
                         "fractions": [0.8, 0.2], "as": ["train", "test"]},
                        node | {"from": ["train", "test"],
                                "as": ["train-1", "test-1"]}],
                    "train": {"from": "train-1", "label": "y"},
                    "test": {"from": "test-1", "label": "y"}},
                "model": {"kind": "logistic"},
                "train": {"epochs": 20, "global_batch": 32,
                          "optimizer": {"kind": "adamw", "lr": 0.05}},
                "elastic": {"workers": 2}})
        for node in ({"op": "tf_idf", "columns": "t", "ngram_max": 2,
                      "min_df": 3, "stop_words": ["the", "and"]},
                     {"op": "hash_text", "columns": "t", "buckets": 64}):
            run = self.run_job(job(node))
            self.assertGreater(read_json(run / "report.json")["test_accuracy"],
                               0.95, node["op"])
            raw = self.write("new.jsonl", '{"t": "cheap report", "y": 0}\n')
            out = self.folder / (node["op"] + ".csv")
            said = json.loads(self.ballast("data", "apply", run, raw, out,
                                           "--json").out)
            self.assertEqual([s["op"] for s in said["states"]], [node["op"]])
            header, row = out.read_text().splitlines()
            values = [float(v) for v in row.split(",")]
            self.assertEqual(len(header.split(",")), len(values))
            if node["op"] == "tf_idf":
                self.assertIn("t_cheap", header)
                self.assertNotIn("t_the", header)
                self.assertEqual(sum(v > 0 for v in values), 2)

    def test_a_resumed_run_and_one_from_the_cache_have_the_same_states(self):
        job = self.job(train={"epochs": 1})
        first, second = self.run_job(job), self.run_job(job)
        hashes = [read_json(run / "manifest.json")["preprocessing"]
                  for run in (first, second)]
        self.assertEqual(hashes[0], hashes[1])
        for name in ("state.json", "numbers.safetensors"):
            place = f"preprocessing/3-standardize/{name}"
            self.assertEqual((first / place).read_bytes(),
                             (second / place).read_bytes())

    def test_the_states_are_the_same_for_any_number_of_workers(self):
        found = []
        for workers in (1, 2, 3, 4):
            self.environment["BALLAST_CACHE"] = str(
                self.folder / f"cache-{workers}")
            run = self.run_job(self.job(f"of-{workers}.json",
                                        train={"epochs": 1},
                                        elastic={"workers": workers}))
            found.append([state["sha256"] for state in
                          read_json(run / "manifest.json")["preprocessing"]])
        self.assertEqual(found, [found[0]] * 4)

    def test_mistakes_name_column_row_and_what_to_do(self):
        leak = self.job("leak.json")
        document = read_json(leak)
        document["data"]["graph"][5]["from"] = ["labelled", "test-3"]
        one = self.ballast("validate", self.write("leak.json", document),
                           code=2)
        for part in ("/data/graph/5/from", "may hold rows of /data/test"):
            self.assertIn(part, one.err)
        document = read_json(self.job("holes.json"))
        del document["data"]["graph"][2:4]
        for node in document["data"]["graph"][2:]:
            node["from"] = [name.replace("-2", "") for name in node["from"]]
        self.refused(2, ["people.csv: row ", "column 'income'",
                         "the value is missing", "put an \"impute\""],
                     "data", "prepare", self.write("holes.json", document))
        run = self.run_job(self.job(train={"epochs": 1}))
        out = self.folder / "out.csv"
        other = self.write("other.csv", "age,incom,city\n30,2000,oslo\n")
        self.refused(2, ["other.csv: ", "there is no column 'income' (double)",
                         "did you mean 'incom'?"],
                     "data", "apply", run, other, out)
        text = self.write("text.csv", "age,income,city\n30,much,oslo\n")
        said = self.refused(
            2, ["text.csv: row 1", "column 'income'",
                "correct the cell, or give --null if it stands for a"],
            "data", "apply", run / "preprocessing", text, out)
        self.assertNotIn("/data/sources", said.err)
        self.refused(2, ["cannot be read", "preprocessing/"],
                     "data", "apply", self.folder, text, out)
        self.assertFalse(out.exists())

    def test_show_says_what_is_learned_and_gives_rows(self):
        shown = self.ballast("data", "show", self.job(), "--node", "test-clean",
                             "--rows", "2").out
        self.assertIn("columns that are learned from the rows", shown)
        self.assertIn('"city_oslo":', shown)


if __name__ == "__main__":
    unittest.main()
