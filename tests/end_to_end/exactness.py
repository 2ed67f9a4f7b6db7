"""Goal: every sample in exactly one committed step of an epoch, whatever the
number of workers, their shares, the batch and the chunks. Method: real runs,
checked by `harness.exactness` and by `ballast audit`, which know nothing of
each other; then every kind of damage to the records must be noticed by both.
"""
import contextlib
import json
import shutil
import sqlite3
import unittest

from harness.exactness import check_run
from harness.jobs import emulated_job
from harness.run_files import read_json

from ballast_test import BallastTest

ROWS = 10007


class Exactness(BallastTest):
    def check(self, job):
        run = self.run_job(job)
        found = check_run(run, job["train"]["global_batch"],
                          job["train"]["epochs"])
        self.assertEqual(found.problems, [], found)
        expected = found.rows * job["train"]["epochs"]
        self.assertEqual(found.samples, expected)
        self.assertEqual(found.attempts_left, 0)
        audit = self.audit(run)
        report = read_json(run / "report.json")
        for counts in (audit, audit["ledger"], audit["traces"],
                       report["audit"]):
            self.assertEqual(
                {key: counts[key] for key in
                 ("expected", "once", "lost", "repeated")},
                {"expected": expected, "once": expected, "lost": 0,
                 "repeated": 0})
        self.assertEqual(report["steps"], found.steps)
        self.assertEqual(report["samples"], expected)
        return run, found

    def rows_by_worker(self, found):
        """Rows of the first epoch by worker, in the order of their names."""
        rows = {}
        steps = -(-found.rows // len(self.ids(found, 1)))
        for step in range(1, steps + 1):
            for name, ids in found.ids_of_step[step].items():
                rows[name] = rows.get(name, 0) + len(ids)
        return [rows[name] for name in sorted(rows)]

    @staticmethod
    def ids(found, step):
        return [i for part in found.ids_of_step[step].values() for i in part]

    def test_one_worker_and_a_batch_that_does_not_divide_the_rows(self):
        _, found = self.check(emulated_job(
            ROWS, workers=1, batch=300, epochs=3, data={"chunk_rows": 37}))
        self.assertEqual((found.rows, found.steps), (ROWS, 3 * 34))
        # Shuffled, and anew in every epoch.
        self.assertNotEqual(self.ids(found, 1), sorted(self.ids(found, 1)))
        self.assertNotEqual(set(self.ids(found, 1)), set(self.ids(found, 35)))

    def test_two_workers_with_chunks_of_an_odd_size(self):
        _, found = self.check(emulated_job(
            ROWS, workers=2, batch=256, epochs=2,
            data={"chunk_rows": 101, "placement": {"kind": "iid"}}))
        self.assertEqual(found.steps, 2 * 40)
        one, two = self.rows_by_worker(found)
        self.assertLessEqual(abs(one - two), 101)

    def test_three_workers_with_shares_5_2_1(self):
        _, found = self.check(emulated_job(
            ROWS, workers=3, batch=97, epochs=2, data={
                "chunk_rows": 53,
                "placement": {"kind": "sizes", "shares": [5, 2, 1]}}))
        self.assertEqual(found.steps, 2 * 104)
        rows = self.rows_by_worker(found)
        for got, share in zip(rows, (5, 2, 1)):
            self.assertLessEqual(abs(got - ROWS * share / 8), 53, rows)
        # The takes follow the shares, so that all end together.
        takes = {name: len(ids) for name, ids in found.ids_of_step[1].items()}
        self.assertEqual(sum(takes.values()), 97)
        self.assertAlmostEqual(takes["w1.1.jsonl"], 97 * 5 / 8, delta=1)

    def test_rows_of_a_file_that_workers_share_by_label(self):
        text = "x,z,y\n" + "".join(
            f"{i % 19},{i},{i * i % 3}\n" for i in range(3001))
        job = emulated_job(workers=3, batch=64, epochs=2)
        job["data"] = {
            "train": {"format": "csv", "label": "y",
                      "uri": str(self.write("rows.csv", text))},
            "test_fraction": 0.1, "chunk_rows": 29,
            "placement": {"kind": "sorted"}}
        _, found = self.check(job)
        self.assertAlmostEqual(found.rows, 2701, delta=3)

    def test_batches_larger_than_the_set_and_workers_without_rows(self):
        _, found = self.check(emulated_job(
            5, workers=3, batch=64, epochs=3, data={"chunk_rows": 3}))
        self.assertEqual(found.steps, 3)
        self.check(emulated_job(7, workers=2, batch=1, epochs=2,
                                data={"chunk_rows": 1}))


class Damage(BallastTest):
    """Each of the three records is damaged in turn; audit compares them all,
    so it must notice. The independent checker sees what it reads."""

    BATCH = 32

    @classmethod
    def setUpClass(cls):
        cls.runs = {}

    def fresh(self):
        """A copy of a good run."""
        if "good" not in self.runs:
            job = emulated_job(500, workers=2, batch=self.BATCH, epochs=2,
                               data={"chunk_rows": 17})
            kept = self.folder.parent / "good-run"
            shutil.copytree(self.run_job(job), kept)
            self.runs["good"] = kept
        copy = self.folder / f"copy-{next(self.folders)}"
        shutil.copytree(self.runs["good"], copy)
        return copy

    def noticed(self, run, says, by_checker=True):
        done = self.ballast("audit", run, code=1)
        self.assertRegex(done.out + done.err, says)
        self.assertIn("NOT FINE", done.out)
        problems = check_run(run, self.BATCH, 2).problems
        self.assertEqual(bool(problems), by_checker, problems)

    @staticmethod
    def edit_lines(path, change):
        lines = path.read_text(encoding="utf-8").splitlines()
        change(lines)
        path.write_text("".join(line + "\n" for line in lines),
                        encoding="utf-8")

    def edit_object(self, path, index, **fields):
        def change(lines):
            lines[index] = json.dumps({**json.loads(lines[index]), **fields})
        self.edit_lines(path, change)

    def test_a_copy_alone_is_fine(self):
        run = self.fresh()
        self.audit(run)
        self.assertEqual(check_run(run, self.BATCH, 2).problems, [])

    def test_a_sample_in_a_trace_that_was_another_one(self):
        run = self.fresh()
        trace = run / "trace" / "w1.1.jsonl"
        ids = json.loads(trace.read_text(encoding="utf-8").split("\n")[3])
        self.edit_object(trace, 3, ids=[ids["ids"][1], *ids["ids"][1:]])
        self.noticed(run, r"trace/w1\.1\.jsonl line 4")

    def test_a_line_that_is_missing_in_a_trace(self):
        run = self.fresh()
        self.edit_lines(run / "trace" / "w2.1.jsonl",
                        lambda lines: lines.pop(5))
        self.noticed(run, "step 6|lost")

    def test_a_trace_that_is_missing(self):
        run = self.fresh()
        (run / "trace" / "w2.1.jsonl").unlink()
        self.noticed(run, "lost")

    def test_a_trace_of_somebody_who_was_not_there(self):
        run = self.fresh()
        shutil.copy(run / "trace" / "w2.1.jsonl", run / "trace" / "w9.1.jsonl")
        self.noticed(run, r"w9\.1\.jsonl belongs to no worker")

    def test_a_step_that_is_missing_repeated_or_too_small(self):
        run = self.fresh()
        self.edit_lines(run / "steps.jsonl", lambda lines: lines.pop(9))
        self.noticed(run, "step")
        run = self.fresh()
        self.edit_lines(run / "steps.jsonl",
                        lambda lines: lines.insert(9, lines[9]))
        self.noticed(run, "step")
        run = self.fresh()
        self.edit_object(run / "steps.jsonl", 9, samples=31)
        self.noticed(run, "samples")

    def test_the_last_steps_missing(self):
        run = self.fresh()
        self.edit_lines(run / "steps.jsonl", lambda lines: lines.pop())
        self.noticed(run, "report.json says 32 steps, steps.jsonl has 31|"
                     "lost")

    def test_a_plan_that_gives_a_chunk_to_another_worker(self):
        run = self.fresh()
        with contextlib.closing(sqlite3.connect(run / "ledger.sqlite")) as db:
            [[number, body]] = db.execute(
                "select number, body from plan").fetchall()
            plan = json.loads(body)
            first, second = (share["intervals"] for share in plan["shares"])
            second.append(first.pop())
            db.execute("update plan set body = ? where number = ?",
                       (json.dumps(plan), number))
            db.commit()
        # The checker does not read the ledger.
        self.noticed(run, "trace", by_checker=False)

    def test_a_manifest_of_other_data(self):
        run = self.fresh()
        manifest = read_json(run / "manifest.json")
        gone = manifest["train"].pop()
        manifest["train_rows"] -= gone["rows"]
        (run / "manifest.json").write_text(json.dumps(manifest),
                                           encoding="utf-8")
        done = self.start("audit", run)
        self.assertNotEqual(done.wait(), 0, done)
        self.assertTrue(check_run(run, self.BATCH, 2).problems)

    def test_no_run_directory_at_all(self):
        self.refused(2, "there is no journal", "audit",
                     self.folder / "none")
        self.ballast("audit", self.folder, code=2)


if __name__ == "__main__":
    unittest.main()
