"""What the tests of tables share: a small job over one, and a run of it that
used each row once.
"""
import itertools

from harness.run_files import read_json

from ballast_test import BallastTest


class TableTest(BallastTest):
    def setUp(self):
        super().setUp()
        self.runs = itertools.count(1)

    def table_job(self, train, name=None, **data):
        """A file with a job that classifies by the column `kind`, whose rows
        stay in their order."""
        return self.write(name or f"job-{next(self.folders)}.json", {
            "data": {"train": {"label": "kind", **train}, "test_fraction": 0,
                     "placement": {"kind": "contiguous"}, **data},
            "model": {"kind": "logistic"},
            "train": {"epochs": 1, "global_batch": 32},
            "elastic": {"workers": 2}})

    def trained(self, job):
        """Its manifest, and how many rows were used once; the others, none."""
        self.last_run = self.folder / f"trained-{next(self.runs)}"
        self.ballast("run", job, "--run-dir", self.last_run, "--no-progress")
        audit = read_json(self.last_run / "report.json")["audit"]
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))
        return read_json(self.last_run / "manifest.json"), audit["once"]

    def checksums(self, job, rows):
        """Of the chunks of a run that used so many rows; and its manifest."""
        manifest, once = self.trained(job)
        self.assertEqual(once, rows)
        return [chunk["checksum"] for chunk in manifest["train"]], manifest

    def told(self, job, code, *parts):
        """A run ends at once, with one line that has these parts."""
        one = self.ballast("run", job, "--run-dir",
                           self.folder / f"told-{next(self.runs)}",
                           "--no-progress", code=code)
        for part in parts:
            self.assertIn(part, one.err)
        self.assertEqual(len(one.err.strip().splitlines()), 1, one.err)
        return one
