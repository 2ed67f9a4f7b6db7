"""Goal: the story that the README tells is true: from a CSV of which few rows
are of the class that matters to a model that is used elsewhere. Method: the
script of the examples, and what it leaves.
"""
import csv
import os
import subprocess
import sys
import unittest

from harness.program import BINARY, ROOT
from harness.run_files import read_json

from ballast_test import BallastTest


class Story(BallastTest):
    def test_from_few_positives_to_a_model_that_is_used(self):
        folder = self.folder / "story"
        done = subprocess.run(
            [os.path.join(ROOT, "examples", "churn", "story.sh"), folder],
            env={**os.environ, **self.environment, "BALLAST": str(BINARY),
                 "PYTHON": sys.executable},
            capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        first, second = (read_json(folder / name / "report.json")
                         for name in ("first", "second"))
        self.assertEqual((first["state"], second["state"]), ("done", "done"))
        # It found more than who says of everybody that they stay.
        found = first["test_metrics"]
        self.assertGreater(found["average_precision"], 0.3)
        self.assertGreater(found["balanced_accuracy"], 0.7)
        self.assertLess(first["steps"], 50 * 200)
        self.assertEqual(second["parent"]["sha256"], first["weights_sha256"])
        card = read_json(folder / "first" / "model" / "card.json")
        self.assertEqual(card["metrics"]["average_precision"],
                         first["best"]["value"])
        self.assertEqual(card["step"], first["best"]["step"])
        with open(folder / "answers.csv", encoding="utf-8") as file:
            self.assertEqual(sum(1 for _ in csv.DictReader(file)), 2000)
        self.assertIn("who calls often leaves with probability", done.stdout)


if __name__ == "__main__":
    unittest.main()
