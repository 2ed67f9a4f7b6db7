"""Goal: files, a bucket and a database server are joined into one set, and each
of its rows is trained on once whoever is killed, while the set is prepared, too.
Method: the example's job with its places put in; a real PostgreSQL, a server of
S3; the rows held against the same join in Python.
"""
import json
import os
import pathlib
import signal
import unittest

from harness.jobs import merged
from harness.moto import Moto
from harness.postgres import GUARDED, NotInstalled, Postgres
from harness.program import alive
from harness.run_files import read_json
from harness.waiting import wait_until

from resume import Resume

EXAMPLE = (pathlib.Path(__file__).parents[2] / "examples" / "jobs" /
           "multi_source.json")
PEOPLE, ORDERS = 100, 4000


class MultiSource(Resume):
    def setUp(self):
        super().setUp()
        self.bucket = Moto()
        self.addCleanup(self.bucket.end)
        if self.bucket.missing:
            self.skipTest(self.bucket.missing)
        try:
            self.server = Postgres()
        except NotInstalled as why:
            self.skipTest(str(why))
        self.addCleanup(self.server.end)
        self.environment |= {"AWS_ACCESS_KEY_ID": "any",
                             "AWS_SECRET_ACCESS_KEY": "any",
                             "AWS_EC2_METADATA_DISABLED": "true",
                             "SHOP_PASSWORD": GUARDED}
        self.fill()

    def fill(self):
        """The example's tables, at places of this test."""
        self.people = self.write("people.csv", "person,age\n" + "".join(
            f"{i},{10 + i % 60}\n" for i in range(PEOPLE)))
        self.bucket.put("shop")
        for part in range(2):
            rows = self.write(f"orders-{part}.csv", "person,amount,days,kind\n" +
                              "".join(f"{i % PEOPLE},{i / 4},{1 + i % 7},{i % 2}\n"
                                      for i in range(part, ORDERS, 2)))
            file = self.folder / f"orders-{part}.parquet"
            self.ballast("data", "split", rows, f"{file}=0.5",
                         f"{self.folder}/rest-{part}.parquet=0.5")
            for name in (file, self.folder / f"rest-{part}.parquet"):
                self.bucket.put(f"shop/orders-{name.name}", name.read_bytes())
        visits = ", ".join(f"({i % 80}, {i % 13})" for i in range(500))
        self.server.sql("create table visits (person integer, seconds integer);"
                        f" insert into visits values {visits};"
                        " grant select on visits to guarded")

    def job(self, name="job.json", **more):
        out = json.loads(EXAMPLE.read_text(encoding="utf-8"))
        sources = out["data"]["sources"]
        sources["people"]["uri"] = str(self.people)
        sources["orders"]["uri"] = self.bucket.uri("shop/orders-*.parquet")
        sources["visits"]["uri"] = self.server.uri("guarded")
        return self.write(name, merged(merged(out, {
            "checkpoint": {"every_steps": 20, "every_s": 0, "keep": 2},
            "elastic": {"workers": 2, "heartbeat_ms": 200}}), more))

    def rows_of_adults(self):
        return sum(10 + (i % PEOPLE) % 60 >= 18 for i in range(ORDERS))

    def exact(self, run, epochs):
        about = read_json(run / "manifest.json")
        self.assertEqual(about["train_rows"] + about["test_rows"],
                         self.rows_of_adults())
        self.assertEqual(read_json(run / "report.json")["audit"], {
            "expected": epochs * about["train_rows"],
            "once": epochs * about["train_rows"], "lost": 0, "repeated": 0})
        for source in ("people.csv", "s3://shop/", "/postgres"):
            self.assertTrue(any(source in name for name in about["sources"]),
                            about["sources"])
        for name in ("job.json", "manifest.json", "events.jsonl"):
            self.assertNotIn(GUARDED, (run / name).read_text())
        return [chunk["checksum"] for chunk in about["train"]]

    def test_it_trains_though_a_worker_and_the_coordinator_are_killed(self):
        one, run = self.begin(self.job(train={"epochs": 20}))
        os.kill(self.workers(run)[0]["pid"], signal.SIGKILL)
        wait_until(lambda: len(self.generations(run)) >= 2, "a recovery")
        self.kill(self.coordinator(run))
        wait_until(lambda: len(self.terms(run)) == 2, "another coordinator")
        self.assertEqual(one.wait(90), 0, one)
        self.exact(run, 20)

    def test_killed_while_it_prepares_it_prepares_anew(self):
        straight = self.run_job(self.job("straight.json", train={"epochs": 1}))
        expected = self.exact(straight, 1)
        self.environment["BALLAST_CACHE"] = str(self.folder / "other")
        one, run = self.new_run(self.job(train={"epochs": 1}))
        wait_until(lambda: list(self.folder.glob("other/*.tmp")) or
                   self.committed(run), "a set that is made")
        with_children = one.family()
        one.signal(signal.SIGKILL)
        for pid in with_children:
            self.kill(pid)
        wait_until(lambda: not [p for p in with_children if alive(p)], "the end")
        if not (run / "ledger.sqlite").exists():
            run = self.run_job(self.folder / "job.json")
        else:
            again = self.resume_dir(run)
            self.assertEqual(again.wait(90), 0, again)
        self.assertEqual(self.exact(run, 1), expected)
        self.assertFalse(list(self.folder.glob("other/*.tmp")))


if __name__ == "__main__":
    unittest.main()
