"""Goal: a job says how often an epoch uses a row, by class, by a column, by
source, or by what is easy, and just these uses are made, whatever dies.
Method: traces of real runs, counted here by sample and held against what the
column says; nothing is taken from the runtime but its traces and its manifest.
"""
import collections
import json
import math
import os
import random
import signal
import unittest

from harness.exactness import check_run
from harness.jobs import merged
from harness.program import ROOT
from harness.run_files import read_json

from recovery import Recovery

ROWS = 1200


def rows_of_table():
    """A rare class, a weight that may be 0, a source, a score."""
    draw = random.Random(11)
    out = []
    for i in range(ROWS):
        rare = i % 40 == 7
        out.append({"x": f"{draw.gauss(3 * rare, 1):.4f}",
                    "y": f"{draw.gauss(-2 * rare, 1):.4f}",
                    "kind": int(rare), "w": (0, 1, 2.5, 0.125)[i // 3 % 4],
                    "from": ("web", "book", "talk")[i % 3],
                    "score": f"{draw.random():.6f}"})
    return out


def as_text(rows):
    return "\n".join([",".join(rows[0])]
                     + [",".join(map(str, r.values())) for r in rows]) + "\n"


def samples_of(chunk):
    for run in chunk["samples"].split():
        first, _, count = run.partition("+")
        yield from range(int(first), int(first) + int(count or 1))


class EpochUses(Recovery):
    def setUp(self):
        super().setUp()
        self.rows = rows_of_table()
        self.csv = self.write("rows.csv", as_text(self.rows))

    def job(self, sampling, name="job.json", **more):
        return self.write(name, merged({
            "seed": 5,
            "data": {"train": {"format": "csv", "uri": str(self.csv),
                               "label": "kind", "features": ["x", "y"]},
                     "test_fraction": 0, "chunk_rows": 50,
                     "placement": {"kind": "iid"}},
            "model": {"kind": "logistic"},
            "train": {"epochs": 4, "global_batch": 60, "sampling": sampling,
                      "optimizer": {"lr": 0.05}},
            "elastic": {"workers": 3, "heartbeat_ms": 200},
            "trace_samples": True}, more))

    def uses(self, run):
        """epoch -> sample -> how often committed steps used it; and the
        samples of each step."""
        found = check_run(run, read_json(run / "job.json")["train"]
                          ["global_batch"])
        epochs = read_json(run / "job.json")["train"]["epochs"]
        each = found.steps // epochs
        out = collections.defaultdict(collections.Counter)
        steps = {}
        for step, parts in found.ids_of_step.items():
            steps[step] = list(parts.values())
            for ids in parts.values():
                out[(step - 1) // each + 1].update(ids)
        return out, steps

    def audited(self, run, uses):
        for counts in (read_json(run / "report.json")["audit"], self.audit(run)):
            self.assertEqual([counts[key] for key in
                              ("expected", "once", "lost", "repeated")],
                             [uses, uses, 0, 0])

    def as_weighted(self, run, weights, length):
        """Each epoch has this length, and each sample its part of it."""
        whole = sum(weights)
        epochs, _ = self.uses(run)
        for epoch, made in epochs.items():
            self.assertEqual(sum(made.values()), length, epoch)
            for sample, weight in enumerate(weights):
                part = length * weight / whole
                # Rounded for its chunk first, then for the epoch.
                self.assertLess(abs(made[sample] - part), 2 if weight else 1e-9)
        return epochs

    def test_classes_are_used_alike_though_workers_die(self):
        job = self.job({"kind": "class_balanced"}, train={"epochs": 60})
        one, run = self.begin(job)
        os.kill(self.workers(run)[0]["pid"], signal.SIGKILL)
        self.assertEqual(one.wait(120), 0, one)
        report = read_json(run / "report.json")
        self.assertGreaterEqual(report["generations"], 2)
        self.audited(run, 60 * ROWS)
        of_class = collections.Counter(r["kind"] for r in self.rows)
        epochs = self.as_weighted(
            run, [1 / of_class[r["kind"]] for r in self.rows], ROWS)
        chunks = len(read_json(run / "manifest.json")["train"])
        for made in epochs.values():
            rare = sum(n for s, n in made.items() if self.rows[s]["kind"])
            self.assertLess(abs(rare - ROWS / 2), chunks)
        # A row of the common class has its turn in some epoch.
        self.assertEqual(len(set().union(*epochs.values())), ROWS)
        self.nobody_left(one, 3)

    def test_a_column_of_weights_says_how_often_and_0_never(self):
        run = self.run_job(read_json(self.job({
            "kind": "weighted", "column": "w", "rows": 700})))
        self.audited(run, 4 * 700)
        epochs = self.as_weighted(run, [r["w"] for r in self.rows], 700)
        never = {s for s, r in enumerate(self.rows) if r["w"] == 0}
        for made in epochs.values():
            self.assertFalse(never & set(made))

    def test_sources_are_repeated_chosen_from_and_mixed(self):
        count = ROWS // 3
        for said, of_row, length in (
                ({"repeat": [2, 0.5, 0]}, (2, 0.5, 0), int(2.5 * count)),
                ({"choose": [100, 30, 500]},
                 (100 / count, 30 / count, 500 / count), 630),
                ({"proportion": [6, 3, 1]}, (6, 3, 1), ROWS)):
            with self.subTest(said):
                run = self.run_job(read_json(self.job(
                    {"kind": "sources", "column": "from",
                     "values": ["web", "book", "talk"], **said})))
                self.audited(run, 4 * length)
                weight = dict(zip(("web", "book", "talk"), of_row))
                self.as_weighted(run, [weight[r["from"]] for r in self.rows],
                                 length)

    def test_stratified_batches_have_every_class(self):
        run = self.run_job(read_json(self.job(
            {"kind": "stratified"}, data={"train": {"label": "kind"}},
            train={"global_batch": 120}, elastic={"workers": 1})))
        self.audited(run, 4 * ROWS)
        epochs, steps = self.uses(run)
        for made in epochs.values():
            self.assertEqual(set(made.values()), {1})
        for step, parts in steps.items():
            rare = sum(self.rows[s]["kind"] for ids in parts for s in ids)
            self.assertLessEqual(abs(rare - 3), 2, step)

    def test_a_curriculum_begins_with_the_easiest_rows_of_each_chunk(self):
        run = self.run_job(read_json(self.job(
            {"kind": "curriculum", "column": "score", "begin": 0.4, "full": 3},
        )))
        self.audited(run, 4 * ROWS)
        epochs, _ = self.uses(run)
        for epoch, share in ((1, 0.4), (2, 0.7), (3, 1), (4, 1)):
            for chunk in read_json(run / "manifest.json")["train"]:
                samples = sorted(samples_of(chunk), key=lambda s:
                                 float(self.rows[s]["score"]))
                inside = math.ceil(share * len(samples) - 1e-6)
                made = [epochs[epoch][s] for s in samples]
                self.assertEqual(sum(made), len(samples))
                self.assertEqual(made[inside:], [0] * (len(samples) - inside))
                self.assertLessEqual(max(made[:inside]) - min(made[:inside]), 1)

    def test_the_same_uses_for_any_number_of_workers(self):
        seen = []
        for workers in (1, 2, 4):
            run = self.run_job(read_json(self.job(
                {"kind": "weighted", "column": "w"},
                data={"placement": {"kind": "contiguous"}},
                elastic={"workers": workers})))
            seen.append(self.uses(run)[0])
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0], seen[2])

    def test_the_examples_train_though_a_worker_dies(self):
        for name in ("class_balanced", "curriculum"):
            document = read_json(ROOT / f"examples/jobs/{name}.json")
            source = ROOT / "examples/data/customers.csv"
            document["data"]["sources"]["customers"]["uri"] = str(source)
            document["train"]["epochs"] = 100
            one, run = self.begin(self.write(f"{name}.json", document))
            os.kill(self.workers(run)[0]["pid"], signal.SIGKILL)
            self.assertEqual(one.wait(120), 0, one)
            manifest = read_json(run / "manifest.json")
            self.audited(run, 100 * manifest["train_rows"])
            self.assertGreater(read_json(run / "report.json")["test_accuracy"],
                               0.8, name)

    def test_a_row_that_is_given_twice_may_be_drawn_twice(self):
        run = self.run_job(read_json(self.job(
            {"kind": "class_balanced"}, model={"kind": "mlp", "hidden": [8]},
            train={"importance": {"by": "loss", "when": "always"}})))
        self.audited(run, 4 * ROWS)

    def test_a_stopped_run_goes_on_with_the_same_uses(self):
        job = self.job({"kind": "class_balanced"}, train={"epochs": 200},
                       checkpoint={"every_steps": 20})
        one, run = self.begin(job)
        os.kill(one.pid, signal.SIGKILL)
        one.wait(30)
        done = self.ballast("run", "--resume", run, "--no-progress",
                            seconds=120)
        self.audited(run, 200 * ROWS)
        # Not every sample once, so that is not what is said.
        self.assertIn(f"{200 * ROWS} uses expected, {200 * ROWS} as planned",
                      done.out)
        self.assertIn(f"{200 * ROWS} of {200 * ROWS} uses as planned",
                      self.ballast("audit", run).out)

    def test_chunks_that_are_never_used_are_told_of(self):
        job = self.job({"kind": "class_balanced", "rows": 60},
                       data={"chunk_rows": 10})
        for words in (("validate", "--data", job), ("data", "prepare", job),
                      ("run", job, "--run-dir", self.folder / "told",
                       "--no-progress")):
            with self.subTest(words[0]):
                said = self.ballast(*words)
                self.assertIn("will never be used", said.err)
                self.assertIn("raise /train/sampling/rows", said.err)
        # Where the job leaves it open, chunks are large enough for its uses.
        said = self.ballast("data", "prepare", self.job(
            {"kind": "class_balanced", "rows": 120},
            data={"chunk_rows": None}))
        self.assertNotIn("will never be used", said.err)

    def test_mistakes_name_the_row_the_column_and_what_to_do(self):
        def told(sampling, *parts, rows=None, code=2, **more):
            if rows is not None:
                self.csv = self.write("rows.csv", as_text(rows))
            one = self.ballast("run", self.job(sampling, **more), "--run-dir",
                               self.folder / "refused", "--no-progress",
                               code=code)
            for part in parts:
                self.assertIn(part, one.err)
            self.assertFalse((self.folder / "refused" / "model.safetensors")
                             .exists())

        told({"kind": "weighted"}, "/train/sampling/column")
        told({"kind": "weighted", "column": "x", "beta": 0.9},
             "/train/sampling/beta")
        told({"kind": "sources", "column": "from", "values": ["web"]},
             "expected exactly one of")
        told({"kind": "sources", "column": "from", "values": ["web", "book"],
              "repeat": [1]}, "1 numbers for 2 values")
        told({"kind": "sources", "column": "from", "values": ["web"],
              "repeat": [1], "rows": 7}, "follows from")
        told({"kind": "sources", "column": "from", "values": ["web", "book"],
              "repeat": [1, 2]}, "rows.csv: row 3, column \"from\"", "\"talk\"",
             "one of /train/sampling/values")
        told({"kind": "weighted", "column": "nothing"},
             "rows.csv: has no column 'nothing'")
        told({"kind": "weighted", "column": "x"}, "rows.csv: row ",
             "expected a number from 0")
        told({"kind": "stratified"}, "leave /balance/group out",
             balance={"group": "from"})
        rows = rows_of_table()
        rows[100]["w"] = ""
        told({"kind": "weighted", "column": "w"},
             "rows.csv: row 101, column \"w\" has no value", rows=rows)
        for row in rows:
            row["w"] = 0
        told({"kind": "weighted", "column": "w"},
             'column "w" of ', "rows.csv) add up to 0", rows=rows)
        told({"kind": "curriculum", "column": "from"},
             "column \"from\" is \"web\"; expected a number")


if __name__ == "__main__":
    unittest.main()
