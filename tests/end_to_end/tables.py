"""Goal: a table as people have it (text, holes, "NA", semicolons, names for
classes) trains after what `ballast validate --data` says of it. Method: the
real program; the rows of the run's manifest held against a filter in Python.
"""
import gzip
import json
import sqlite3
import unittest

from harness.moto import Moto
from harness.postgres import GUARDED, NotInstalled, Postgres

from table_test import TableTest

ROWS = 400


def people():
    """Rows with numbers and holes, text, and a label that is text."""
    return [{"age": None if i % 50 == 7 else 20 + i % 60,
             "city": ("berlin", "rome", None)[i % 3],
             "score": i / 8,
             "kind": ("pear", "apple", "fig")[i // 3 % 3]} for i in range(ROWS)]


def as_csv(rows, separator=",", missing="NA"):
    lines = [separator.join(rows[0])]
    for row in rows:
        lines.append(separator.join(
            missing if cell is None else str(cell) for cell in row.values()))
    return "\n".join(lines) + "\n"


def as_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


class Tables(TableTest):
    def job(self, name, path, **train):
        return self.table_job({"format": name, "uri": str(path), **train},
                              f"job-{name}.json")

    def test_two_formats_give_the_same_bytes_of_the_rows_that_are_taken(self):
        rows = people()
        where = "age is not null and city <> 'rome'"
        taken = [i for i, row in enumerate(rows)
                 if row["age"] is not None and row["city"] == "berlin"]
        seen = []
        for name, text, more in (
                ("csv", as_csv(rows), {"null_values": ["NA"]}),
                ("jsonl", as_lines(rows), {})):
            with self.subTest(format=name):
                path = self.write(f"people.{name}", text)
                manifest, samples = self.trained(self.job(
                    name, path, where=where, features=["age", "score"], **more))
                self.assertEqual(samples, len(taken))
                self.assertEqual(manifest["class_names"],
                                 ["apple", "fig", "pear"])
                source = [row for chunk in manifest["train"]
                          for run in chunk.get("source_rows",
                                               chunk["samples"]).split()
                          for row in self.numbers_of(run)]
                self.assertEqual(source, taken)
                seen.append([chunk["checksum"] for chunk in manifest["train"]])
        self.assertEqual(seen[0], seen[1])

    @staticmethod
    def numbers_of(run):
        """Of "12+3" or "12"."""
        first, _, count = run.partition("+")
        return range(int(first), int(first) + int(count or 1))

    def test_what_is_wrong_is_said_at_once_with_what_mends_it(self):
        path = self.write("people.csv", as_csv(people(), ";"))
        job = self.job("csv", path)
        said = self.ballast("validate", "--data", job, code=2).out
        self.assertIn("400 rows, 4 columns", said)
        self.assertIn("8 cells with text ('NA'), the first in", said)
        self.assertIn("row 8 (line 9)", said)
        self.assertIn("left out", said)
        report = json.loads(self.ballast("validate", "--data", "--json", job,
                                         code=2).out)
        self.assertFalse(report["valid"])
        fix = report["sources"][0]["fix"]
        self.assertEqual(fix, {"null_values": ["NA"],
                               "where": 'age is not null'})
        self.refused(2, ["column 'age'", "row 8 (line 9)"], "run", job,
                     "--run-dir", self.folder / "refused", "--no-progress")
        mended = self.job("csv", path, **fix)
        self.assertIn("nothing in the data stands against a run",
                      self.ballast("validate", "--data", mended).out)
        manifest, samples = self.trained(mended)
        self.assertEqual(samples, ROWS - 8)
        self.assertEqual(manifest["left_out"], ["city"])

    def test_tables_in_a_bucket_train_like_those_on_a_disk(self):
        store = Moto()
        self.addCleanup(store.end)
        if store.missing:
            self.skipTest(store.missing)
        self.environment |= {"AWS_ACCESS_KEY_ID": "any",
                             "AWS_SECRET_ACCESS_KEY": "any",
                             "AWS_EC2_METADATA_DISABLED": "true"}
        text = as_csv(people())
        half = text.index("\n", len(text) // 2) + 1
        header = text[:text.index("\n") + 1]
        store.put("data")
        store.put("data/part-1.csv", text[:half].encode())
        store.put("data/part-2.csv.gz",
                 gzip.compress((header + text[half:]).encode()))
        more = {"null_values": ["NA"], "where": "age is not null"}
        here, _ = self.trained(self.job(
            "csv", self.write("people.csv", text), **more))
        there, samples = self.trained(self.job(
            "csv", store.uri("data/part-*"), **more))
        self.assertEqual(samples, ROWS - 8)
        self.assertEqual([c["checksum"] for c in there["train"]],
                         [c["checksum"] for c in here["train"]])
        self.assertEqual(there["sources"],
                         ["s3://data/part-1.csv", "s3://data/part-2.csv.gz"])
        self.refused(2, ["s3://data/none.csv", "no such file"], "run",
                     self.job("csv", store.uri("data/none.csv")), "--run-dir",
                     self.folder / "none", "--no-progress")

    def sql_job(self, uri, **train):
        return self.job("sql", uri, features=["age", "score"],
                        where="age is not null", **train)

    def checksums_from_a_file(self):
        manifest, _ = self.trained(self.job(
            "csv", self.write("people.csv", as_csv(people())),
            features=["age", "score"], where="age is not null",
            null_values=["NA"]))
        return [chunk["checksum"] for chunk in manifest["train"]]

    def test_a_table_of_sqlite_trains_like_a_file(self):
        path = self.folder / "shop.db"
        with sqlite3.connect(path) as base:
            base.execute("create table people (age integer, city text, "
                         "score real, kind text)")
            base.executemany("insert into people values (?, ?, ?, ?)",
                             [tuple(row.values()) for row in people()])
        base.close()
        manifest, samples = self.trained(self.sql_job(
            f"sqlite://{path}", table="people"))
        self.assertEqual(samples, ROWS - 8)
        self.assertEqual([chunk["checksum"] for chunk in manifest["train"]],
                         self.checksums_from_a_file())
        self.refused(2, "nobody", "run",
                     self.sql_job(f"sqlite://{path}", table="nobody"),
                     "--run-dir", self.folder / "none", "--no-progress")

    def test_a_query_of_postgresql_trains_like_a_file(self):
        try:
            server = Postgres()
        except NotInstalled as why:
            self.skipTest(str(why))
        self.addCleanup(server.end)
        values = ", ".join(
            "({})".format(", ".join(
                "null" if cell is None else repr(cell)
                for cell in (i, *row.values())))
            for i, row in enumerate(people()))
        server.sql("create table people (id integer primary key, age integer, "
                   "city text, score double precision, kind text); "
                   f"insert into people values {values}; "
                   "grant select on people to guarded")
        self.environment["SHOP_PASSWORD"] = GUARDED
        manifest, samples = self.trained(self.sql_job(
            server.uri("guarded"), query="select * from people",
            partition_by="id", connections=2, password_env="SHOP_PASSWORD"))
        self.assertEqual(samples, ROWS - 8)
        self.assertEqual([chunk["checksum"] for chunk in manifest["train"]],
                         self.checksums_from_a_file())
        self.environment["SHOP_PASSWORD"] = "wrong"
        one = self.ballast("run", self.sql_job(
            server.uri("guarded"), table="people",
            password_env="SHOP_PASSWORD"), "--run-dir", self.folder / "none",
            "--no-progress", code=1)
        self.assertIn("password", one.err)
        self.assertNotIn(GUARDED, one.err)

    def test_a_condition_is_judged_before_data_are_read(self):
        path = self.write("people.csv", as_csv(people()))
        for condition, parts in (
                ("agee > 3", ["/data/train/where", "age"]),
                ("age >", ["/data/train/where"]),
                ("age + 1", ["/data/train/where"]),
                ("score < 0", ["/data/train/where: none of the 400 rows"])):
            with self.subTest(condition=condition):
                job = self.job("csv", path, where=condition,
                               null_values=["NA"])
                one = self.ballast("run", job, "--run-dir", self.folder /
                                   f"run-{next(self.folders)}",
                                   "--no-progress", code=2)
                for part in parts:
                    self.assertIn(part, one.err, one)


if __name__ == "__main__":
    unittest.main()
