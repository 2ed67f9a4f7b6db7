"""Goal: a sample that kills whoever takes it is found and named, and ends the
run instead of its workers one after another. Method: real workers with a
library inside that crashes them in the midst of a step, when the sample is in
it (sample_that_kills.cpp).
"""
import os
import pathlib
import unittest

from harness.exactness import check_run
from harness.program import BINARY
from harness.run_files import read_json, read_lines

from recovery import Recovery, job_of

LIBRARY = pathlib.Path(os.environ.get(
    "BALLAST_TEST_POISON_LIBRARY", BINARY.parent / "libsample_that_kills.so"))
DEADLY = 500


class Poison(Recovery):
    def setUp(self):
        super().setUp()
        self.environment["LD_PRELOAD"] = str(LIBRARY)
        self.environment["BALLAST_TEST_POISON"] = str(DEADLY)

    def ends(self, job, code):
        """By itself and soon; the run directory and the event of its error."""
        one, run = self.new_run(job)
        self.assertEqual(one.wait(60), 1, one)
        self.nobody_left(one, 3)
        errors = [e for e in read_lines(run / "events.jsonl")
                  if e["kind"] == "error"]
        self.assertEqual([e["code"] for e in errors], [code], one)
        self.assertIn(errors[0]["message"], one.last_line)
        report = read_json(run / "report.json")
        self.assertEqual((report["state"], report["reason"]),
                         ("failed", errors[0]["message"]))
        batch = job["train"]["global_batch"]
        self.assertEqual(check_run(run, batch).problems, [])
        self.assertEqual(self.audit(run)["repeated"], 0)
        self.assertFalse((run / "model.safetensors").exists())
        return run, errors[0]["message"]

    def lost_by_crash(self, run):
        return [e for e in read_lines(run / "events.jsonl")
                if e["kind"] == "worker_lost" and
                e["reason"] == "killed by signal 11 (Segmentation fault)"]

    def test_a_sample_that_kills_is_named_however_fast_the_steps_are(self):
        text = "x,y\n" + "".join(f"{i},{i % 3}\n" for i in range(1009))
        table = self.write("rows.csv", text)
        for us_per_step in (1000, 20000):
            job = job_of(workers=3, epochs=3,
                         model={"us_per_step": us_per_step})
            job["data"]["train"] = {"format": "csv", "label": "y",
                                    "uri": str(table)}
            run, says = self.ends(job, "poison_sample")
            self.assertGreaterEqual(len(self.lost_by_crash(run)), 3)
            self.assertRegex(says, rf"sample {DEADLY} \(chunk \d+ row \d+, "
                             rf"row {DEADLY + 1} of {table}\)")
            # Others were in flight with it, but not many each time.
            self.assertLessEqual(says.count("sample "), 11, says)

    def test_a_last_worker_that_keeps_dying_ends_the_run(self):
        # Nobody survives who could tell what it was at.
        run, says = self.ends(job_of(workers=1, epochs=3), "worker_lost")
        self.assertEqual(len(self.lost_by_crash(run)), 3)
        self.assertIn("3 times the last worker died by its own fault", says)


if __name__ == "__main__":
    unittest.main()
