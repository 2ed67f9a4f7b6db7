"""Goal: a run trains on a prepared set that lies in a store or a folder, each
worker reading its own chunks there, exactly, whoever is killed; what is wrong
with the place is one line. Method: the real program; moto in place of S3.
"""
import os
import pathlib
import shutil
import signal
import unittest

from harness.moto import Moto
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from ballast_test import BallastTest

ROWS = 2000


def rows():
    return "a,b,c,kind\n" + "".join(
        f"{i % 97},{i / 8},{(i * 7) % 31},{('pear', 'apple')[i // 3 % 2]}\n"
        for i in range(ROWS))


class StoredSets(BallastTest):
    def setUp(self):
        super().setUp()
        self.environment["BALLAST_CACHE"] = str(self.folder / "cache")
        self.source = self.write("rows.csv", rows())

    def job(self, data, workers=2, epochs=1):
        return {"data": data, "model": {"kind": "logistic"},
                "train": {"epochs": epochs, "global_batch": 32},
                "elastic": {"workers": workers}}

    def made(self, place, **data):
        job = self.write("prepare.json", self.job(
            {"train": {"format": "csv", "uri": str(self.source),
                       "label": "kind"},
             "test_fraction": 0.2, "chunk_rows": 50,
             "placement": {"kind": "iid"}, **data}))
        one = self.ballast("data", "prepare", job, "--to", place)
        self.assertIn("written to ", one.out)
        return job

    def trained_on(self, place, epochs=1):
        return self.job({"train": {"format": "prepared", "uri": str(place)}},
                        epochs=epochs)

    @staticmethod
    def checksums(run):
        manifest = read_json(run / "manifest.json")
        return [[c["checksum"] for c in manifest[part]]
                for part in ("train", "test")]

    def exact(self, run):
        audit = read_json(run / "report.json")["audit"]
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))
        return audit["once"]

    def forget(self):
        """The sources, and all that was prepared of them."""
        shutil.rmtree(self.folder / "cache")
        self.source.unlink()

    def bytes_from_origin(self, run):
        return sum(path.read_text(errors="replace").count("origin sends")
                   for path in pathlib.Path(run).rglob("*.log"))

    def test_a_folder_has_all_that_a_run_needs(self):
        job = self.made(self.folder / "set")
        expected = self.run_job(job)
        self.forget()
        run = self.run_job(self.trained_on(self.folder / "set"))
        self.assertEqual(self.checksums(run), self.checksums(expected))
        self.assertEqual(self.exact(run), self.exact(expected))
        self.assertEqual(self.bytes_from_origin(run), 0)
        # A second one finds the tables in the cache.
        self.exact(self.run_job(self.trained_on("set")))

    def test_a_set_of_many_chunks_has_its_tables_there(self):
        self.made(self.folder / "set", chunk_rows=1)
        self.assertTrue((self.folder / "set" / "chunks.arrow").exists() or
                        ROWS < 4096)
        self.forget()
        self.exact(self.run_job(self.trained_on(self.folder / "set")))

    def test_what_is_wrong_with_the_place_is_one_line(self):
        place = self.folder / "set"
        job = self.write("one.json", self.trained_on(place))

        def told(*parts, code=2):
            self.refused(code, parts, "run", job, "--run-dir",
                         self.folder / f"run-{next(self.folders)}",
                         "--no-progress")

        told(str(place), "there is no prepared set", "data prepare")
        prepare = self.made(place)
        self.forget()
        good = (place / "manifest.json").read_text()
        (place / "manifest.json").write_text(good.replace('"version":1',
                                                          '"version":9'))
        told(str(place), "manifest.json")
        (place / "manifest.json").write_text(good[:200])
        # Not where a copy of it lay, and what is said to do works.
        one = self.refused(2, [f"{place}/manifest.json", "was cut off",
                               "remove what lies there, and write it again"],
                           "validate", "--data",
                           self.write("one.json", self.trained_on(place)))
        self.assertNotIn(".tmp", one.err)
        self.assertNotIn("prepare the set again", one.err)
        (place / "manifest.json").write_text(good)
        (place / "test.arrow").rename(place / "gone")
        told(str(place), "lacks test.arrow", "write it again")
        (place / "gone").rename(place / "test.arrow")
        three = self.trained_on(place)
        three["elastic"]["workers"] = 3
        self.refused(2, ["/elastic/workers", "is placed on 2 workers, not 3"],
                     "run", self.write("three.json", three), "--run-dir",
                     self.folder / "three", "--no-progress")
        number = self.trained_on(place)
        number["model"]["kind"] = "linear"
        number["train"]["loss"] = "mse"
        self.refused(2, ["/train/loss", "has classes"], "run",
                     self.write("number.json", number), "--run-dir",
                     self.folder / "number", "--no-progress")
        placed = self.trained_on(place)
        placed["data"]["placement"] = {"kind": "iid"}
        self.refused(2, ["/data/placement/kind", "prepared set has this"],
                     "validate", self.write("placed.json", placed))
        self.write("rows.csv", rows() + "1,2,3,pear\n")
        self.refused(2, ["has another prepared set"], "data", "prepare",
                     prepare, "--to", place)

    def test_damaged_rows_are_never_trained_on(self):
        place = self.folder / "set"
        self.made(place)
        self.forget()
        file = place / "train.arrow"
        content = bytearray(file.read_bytes())
        middle = len(content) // 2
        content[middle:middle + 8] = bytes(8 * [0x5a])
        file.write_bytes(content)
        one, run = self.new_run(self.trained_on(place))
        # There is no other copy, so the run ends and says where it lies.
        self.assertEqual(one.wait(60), 2, one)
        self.assertRegex(one.err, f"{place}/train.arrow.*chunk [0-9]+ is "
                         "damaged: its checksum is")
        # Looked for before a run, it is found; written again, it is mended.
        job = self.write("one.json", self.trained_on(place))
        self.assertRegex(self.refused(2, "damaged", "validate", "--data", job)
                         .err, "train.arrow")
        self.write("rows.csv", rows())
        self.made(place)
        self.assertIn("1600 rows to train on, 400 to test",
                      self.ballast("validate", "--data", job).out)
        self.exact(self.run_job(self.trained_on(place)))

    def test_a_writer_that_is_killed_leaves_no_set(self):
        place = self.folder / "set"
        before = dict(self.environment)
        self.environment["BALLAST_FAULT_POINTS"] = "stored_set.manifest=kill"
        job = self.write("prepare.json", self.job(
            {"train": {"format": "csv", "uri": str(self.source),
                       "label": "kind"}}))
        one = self.start("data", "prepare", job, "--to", place)
        self.assertNotEqual(one.wait(60), 0)
        self.environment = before
        self.assertTrue((place / "train.arrow").exists())
        self.refused(2, "there is no prepared set", "run",
                     self.write("one.json", self.trained_on(place)),
                     "--run-dir", self.folder / "run", "--no-progress")
        self.ballast("data", "prepare", job, "--to", place)
        self.exact(self.run_job(self.trained_on(place)))

    # -- S3

    def bucket(self):
        store = Moto()
        self.addCleanup(store.end)
        if store.missing:
            self.skipTest(store.missing)
        self.environment |= {"AWS_ACCESS_KEY_ID": "any",
                             "AWS_SECRET_ACCESS_KEY": "any",
                             "AWS_DEFAULT_REGION": "us-east-1",
                             "AWS_EC2_METADATA_DISABLED": "true"}
        store.put("shop")
        return store

    def test_a_run_trains_from_s3_and_loses_nothing_with_a_worker(self):
        store = self.bucket()
        place = store.uri("shop/sets/one")
        self.made(place)
        self.forget()
        epochs = 300
        one, run = self.new_run(self.trained_on(place, epochs))
        steps = run / "steps.jsonl"
        wait_until(lambda: steps.exists() and len(read_lines(steps)) > 20,
                   "steps", 60)
        victim = read_json(run / "workers.json")["workers"][1]
        os.kill(victim["pid"], signal.SIGKILL)
        self.assertEqual(one.wait(180), 0, one)
        self.assertGreaterEqual(
            len(read_json(run / "report.json")["recoveries"]), 1)
        self.assertEqual(self.exact(run), ROWS * 8 // 10 * epochs)
        self.assertEqual(self.bytes_from_origin(run), 0)
        self.assertFalse(list((self.folder / "cache").glob("*/train.arrow")))

    def test_a_bucket_that_is_not_there_is_one_line(self):
        store = self.bucket()
        job = self.write("one.json",
                         self.trained_on(store.uri("nowhere/set")))
        one = self.ballast("run", job, "--run-dir", self.folder / "run",
                           "--no-progress", code=2)
        self.assertEqual(len(one.err.strip().splitlines()), 1, one.err)
        self.assertIn("s3://nowhere/set", one.err)


if __name__ == "__main__":
    unittest.main()
