"""Goal: a job that says so trains on the good rows of files with bad ones, and
keeps exactly the bad ones for their owner; without it the first is named. Too
many of them are an error, and who is killed and started again has the same
rows. Method: the real program over files with rubbish in one row of 1,000.
"""
import json
import unittest

from harness.run_files import read_json

from ballast_test import BallastTest

ROWS = 6000
FILES = 3


def is_bad(number):
    return number % 1000 == 357


def line(number, bad):
    label = number % 2
    if not bad:
        return f"{number % 97},{number / 8},{label}"
    return (f"rubbish,{number},{label}", f"{number},1", f"1,,{label}",
            f"3,4,{label}.5", f'"{number},2,{label}', f"5,1e99,{label}")[
                number // 1000 % 6]


class OnError(BallastTest):
    def setUp(self):
        super().setUp()
        self.environment["BALLAST_CACHE"] = str(self.folder / "cache")
        self.lines = {}  # the bad ones, by file and row
        for file in range(FILES):
            rows = range(file * ROWS // FILES, (file + 1) * ROWS // FILES)
            path = self.write(f"rows-{file}.csv", "a,b,y\n" + "".join(
                line(i, is_bad(i)) + "\n" for i in rows))
            self.lines |= {(str(path), i - rows[0] + 1): line(i, True)
                           for i in rows if is_bad(i)}

    def job(self, policy="quarantine", **more):
        return {"data": {"train": {"format": "csv", "label": "y",
                                   "uri": str(self.folder / "rows-*.csv")},
                         "on_error": policy, **more},
                "model": {"kind": "logistic"},
                "train": {"epochs": 2, "global_batch": 64},
                "elastic": {"workers": 2}}

    def quarantine(self, path):
        return [json.loads(one) for one in path.read_text().splitlines()]

    def check_run(self, run):
        manifest = read_json(run / "manifest.json")
        bad = len(self.lines)
        self.assertEqual(manifest["rejected"],
                         {"read": ROWS, "rows": bad, "kept": bad})
        self.assertEqual(manifest["train_rows"] + manifest["test_rows"],
                         ROWS - bad)
        audit = read_json(run / "report.json")["audit"]
        self.assertEqual((audit["once"], audit["lost"], audit["repeated"]),
                         (2 * manifest["train_rows"], 0, 0))
        told = self.quarantine(run / "quarantine.jsonl")
        self.assertEqual([(one["file"], one["row"]) for one in told],
                         sorted(self.lines))
        for one in told:
            self.assertEqual(one["line"], one["row"] + 1)
            self.assertEqual(one["operator"], "read")
            cells = self.lines[one["file"], one["row"]]
            if "values" in one:
                self.assertEqual(",".join(one["values"][c] for c in "aby"),
                                 cells)
            else:
                self.assertEqual(one["text"], cells)
        return manifest, told

    def test_a_run_trains_on_the_others_and_keeps_the_bad_rows(self):
        one, run = self.new_run(self.job())
        self.assertEqual(one.wait(90), 0, one)
        bad = len(self.lines)
        self.assertIn(f"{bad} of {ROWS} rows were left out because something "
                      f"is wrong with them: {run}/quarantine.jsonl", one.err)
        _, told = self.check_run(run)
        again, second = self.new_run(self.job())
        self.assertEqual(again.wait(90), 0, again)
        self.assertIn(f"{bad} of {ROWS} rows were left out", again.err)
        self.assertEqual(self.check_run(second)[1], told)

    def test_near_duplicates_are_listed_with_the_row_that_stays(self):
        words = [f"w{i * i % 911}x{i * 7 % 613}" for i in range(4000)]
        texts = [" ".join(words[10 * i:10 * i + 10]) for i in range(400)]
        near = {120: 30, 121: 31, 399: 0}  # a row, and the one that it is near
        for row, kept in near.items():
            texts[row] = texts[kept] + "!"
        self.write("posts.csv", "a,text,y\n" + "".join(
            f"{i % 7},{text},{i % 2}\n" for i, text in enumerate(texts)))
        job = self.job()
        job["data"] |= {
            "sources": {"posts": {"format": "csv",
                                  "uri": str(self.folder / "posts.csv")}},
            "graph": [{"op": "distinct", "from": "posts", "on": "text",
                       "similarity": 0.8, "as": "fresh"}],
            "train": {"from": "fresh", "label": "y", "features": ["a"]}}
        one, run = self.new_run(job)
        self.assertEqual(one.wait(90), 0, one)
        told = self.quarantine(run / "quarantine.jsonl")
        self.assertEqual({line["row"] - 1 for line in told}, set(near))
        for line in told:
            self.assertEqual(line["operator"], "fresh")
            self.assertIn(f"posts.csv: row {near[line['row'] - 1] + 1}",
                          line["reason"])
            self.assertIn("which stays (similarity 0.9", line["reason"])
        manifest = read_json(run / "manifest.json")
        self.assertEqual(manifest["train_rows"] + manifest["test_rows"],
                         len(texts) - len(near))
        self.assertEqual(manifest["rejected"], {
            "read": len(texts), "rows": 0, "kept": len(near),
            "removed": {"fresh": len(near)}})

    def test_without_it_the_first_bad_row_is_named(self):
        self.refused(2, ["rows-0.csv: row 358 (line 359), column 'a'",
                         "expected a number"],
                     "run", self.write("job.json", self.job("fail")),
                     "--run-dir", self.folder / "run")

    def test_too_many_bad_rows_are_an_error_with_the_last_of_them(self):
        self.refused(2, ["/data/errors_max: ", "of the 2000 rows read so far "
                         "are wrong (0.1 %), at most 0.05 % may be",
                         "rows-0.csv: row 1358 (line 1359)"],
                     "data", "prepare", self.write(
                         "job.json", self.job("skip", errors_max=0.0005)))

    def test_who_is_killed_while_preparing_has_the_same_rows_later(self):
        once = self.write("once", "")
        self.environment["BALLAST_FAULT_POINTS"] = f"cache.rename=kill!{once}"
        one, run = self.new_run(self.job())
        self.assertEqual(one.wait(90), 0, one)
        self.assertIn("killed by signal 9", one.err)
        manifest, told = self.check_run(run)
        self.environment["BALLAST_CACHE"] = str(self.folder / "other")
        other, others = self.check_run(self.run_job(self.job()))
        self.assertEqual(told, others)
        self.assertEqual([c["checksum"] for c in manifest["train"]],
                         [c["checksum"] for c in other["train"]])

    def test_files_that_are_read_apart_give_the_same(self):
        expected, told = self.check_run(self.run_job(self.job()))
        self.environment |= {"BALLAST_PREPARE_ON_THIS_MACHINE": "1",
                             "BALLAST_CACHE": str(self.folder / "apart")}
        manifest, others = self.check_run(self.run_job(self.job()))
        self.assertEqual(others, told)
        self.assertEqual([c["checksum"] for c in manifest["train"]],
                         [c["checksum"] for c in expected["train"]])

    def test_validate_says_what_a_run_would_leave_out(self):
        job = self.write("job.json", self.job())
        bad = len(self.lines)
        one = self.ballast("validate", "--data", job)
        self.assertIn("nothing in the data stands against a run; with "
                      f'/data/on_error "quarantine" {bad} of {ROWS} rows',
                      one.out)
        said = json.loads(self.ballast("validate", "--data", "--json",
                                       job).out)
        self.assertTrue(said["valid"])
        self.assertEqual((said["left_out"]["rows"], said["left_out"]["of"]),
                         (bad, ROWS))
        self.assertEqual([(row["file"], row["row"])
                          for row in said["left_out"]["first"]],
                         sorted(self.lines)[:5])
        self.refused(2, ["/data/errors_max: "], "validate", "--data",
                     self.write("few.json", self.job(errors_max=0.0001)))

    def test_a_profile_passes_over_rows_that_cannot_be_read(self):
        source = self.folder / "rows-0.csv"
        self.refused(2, ["rows-0.csv: row 1358 (line 1359) has 2 columns"],
                     "data", "profile", source)
        one = self.ballast("data", "profile", source, "--on-error", "skip")
        self.assertIn(f"2 of {ROWS // FILES} rows were left out", one.out)

    def test_data_split_writes_them_beside_its_files(self):
        parts = [self.folder / "one.parquet", self.folder / "two.csv"]
        one = self.ballast("data", "split", self.folder / "rows-0.csv",
                           f"{parts[0]}=0.8", f"{parts[1]}=0.2", "--on-error",
                           "quarantine")
        listed = self.folder / "one.parquet.quarantine.jsonl"
        self.assertIn("2 of 2000 rows were left out because something is wrong "
                      f"with them: {listed}", one.out)
        self.assertEqual([one["row"] for one in self.quarantine(listed)],
                         [358, 1358])


if __name__ == "__main__":
    unittest.main()
