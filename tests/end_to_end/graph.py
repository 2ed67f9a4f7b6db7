"""Goal: a job trains on several sources that a graph joins, each row once
whoever dies; what `ballast data` says and writes is what the run takes. Method:
the real program, with a bucket and a database where their servers are there.
"""
import json
import os
import signal
import sqlite3
import unittest

from harness.moto import Moto
from harness.run_files import read_json
from harness.waiting import wait_until

from ballast_test import BallastTest

PEOPLE = 40
ORDERS = 2000


class Graph(BallastTest):
    def setUp(self):
        super().setUp()
        self.people = self.write("people.csv", "person,age,city\n" + "".join(
            f"{i},{15 + i},{('oslo', 'rome', 'bonn')[i % 3]}\n"
            for i in range(PEOPLE)))
        self.orders = [(i % PEOPLE, i / 4, 1 + i % 7, i % 2)
                       for i in range(ORDERS)]

    def job(self, sources, graph, name="job.json", **more):
        return self.write(name, {
            "data": {"sources": sources, "graph": graph,
                     "train": {"from": "train", "label": "kind"},
                     "test": {"from": "test", "label": "kind"}},
            "model": {"kind": "logistic"},
            "train": {"epochs": 2, "global_batch": 32},
            "elastic": {"workers": 2}, **more})

    GRAPH = [
        {"op": "filter", "from": "people", "where": "age >= 18", "as": "adults"},
        {"op": "join", "from": ["orders", "adults"], "on": "person",
         "as": "both"},
        {"op": "derive", "columns": {"rate": "amount / days"}},
        {"op": "split", "fractions": [0.8, 0.2], "by": "stratified",
         "column": "kind", "as": ["train", "test"]}]

    def adults(self):
        """Orders of people of 18 and more."""
        return [one for one in self.orders if 15 + one[0] >= 18]

    def trained(self, job):
        number = next(self.folders)
        run = self.folder / f"run-{number}"
        self.ballast("run", job, "--run-dir", run, "--no-progress")
        report = read_json(run / "report.json")
        audit = report["audit"]
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))
        return read_json(run / "manifest.json"), audit["once"]

    def database(self):
        path = self.folder / "orders.db"
        with sqlite3.connect(path) as db:
            db.execute("create table orders"
                       " (person int, amount real, days int, kind int)")
            db.executemany("insert into orders values (?, ?, ?, ?)", self.orders)
        return {"format": "sql", "uri": f"sqlite://{path}", "table": "orders"}

    def test_a_file_and_a_database_are_joined_and_trained_on(self):
        job = self.job({"people": {"format": "csv", "uri": str(self.people)},
                        "orders": self.database()}, self.GRAPH)
        manifest, once = self.trained(job)
        rows = len(self.adults())
        self.assertEqual(manifest["train_rows"] + manifest["test_rows"], rows)
        self.assertLess(abs(manifest["test_rows"] - rows / 5), 3)
        self.assertEqual(once, 2 * manifest["train_rows"])
        again, _ = self.trained(job)
        self.assertEqual([c["checksum"] for c in again["train"]],
                         [c["checksum"] for c in manifest["train"]])

    def test_sources_in_a_bucket_join_like_those_on_a_disk(self):
        store = Moto()
        self.addCleanup(store.end)
        if store.missing:
            self.skipTest(store.missing)
        self.environment |= {"AWS_ACCESS_KEY_ID": "any",
                             "AWS_SECRET_ACCESS_KEY": "any",
                             "AWS_EC2_METADATA_DISABLED": "true"}
        people = {"format": "csv", "uri": str(self.people)}
        orders = self.write("orders.csv", "person,amount,days,kind\n" + "".join(
            ",".join(map(str, one)) + "\n" for one in self.orders))
        local = self.job({"people": people,
                          "orders": {"format": "csv", "uri": str(orders)}},
                         self.GRAPH, "local.json")
        here, _ = self.trained(local)
        parquet = self.folder / "orders.parquet"
        self.ballast("data", "write", local, "orders", parquet)
        store.put("shop")
        store.put("shop/orders.parquet", parquet.read_bytes())
        there, _ = self.trained(self.job(
            {"people": people,
             "orders": {"format": "parquet",
                        "uri": store.uri("shop/orders.parquet")}},
            self.GRAPH, "remote.json"))
        self.assertEqual([c["checksum"] for c in there["train"]],
                         [c["checksum"] for c in here["train"]])
        self.assertEqual(there["sources"][0], "s3://shop/orders.parquet")

    def test_data_show_says_what_each_node_gives(self):
        job = self.job({"people": {"format": "csv", "uri": str(self.people)},
                        "orders": self.database()}, self.GRAPH)
        shown = json.loads(self.ballast(
            "data", "show", job, "--json", "--rows", "3").out)
        self.assertEqual([node["op"] for node in shown["nodes"]],
                         ["sql", "csv", "filter", "join", "derive", "split"])
        self.assertEqual([c["name"] for c in shown["nodes"][4]["columns"]],
                         ["person", "amount", "days", "kind", "age", "city",
                          "rate"])
        self.assertEqual(len(shown["rows"]), 3)
        self.assertIn('"both" -> "derive 3"',
                      self.ballast("data", "show", job, "--dot").out)
        self.refused(2, ["--node: ", 'did you mean "adults"'],
                     "data", "show", job, "--node", "adult")

    def test_mistakes_are_found_before_a_row_is_read(self):
        wrong = [dict(node) for node in self.GRAPH]
        wrong[2]["columns"] = {"rate": "amuont / days"}
        job = self.job({"people": {"format": "csv", "uri": str(self.people)},
                        "orders": self.database()}, wrong)
        self.refused(2, ["/data/graph/2/columns/rate", "amount"], "run", job,
                     "--run-dir", self.folder / "never", "--no-progress")
        self.assertFalse(list(self.folder.glob("**/*.partial")))

    def test_split_writes_each_row_into_one_file(self):
        source = self.write("rows.csv", "x,kind\n" + "".join(
            f"{i},{i % 4}\n" for i in range(1000)))
        files = [self.folder / "a.csv", self.folder / "b.csv"]
        said = json.loads(self.ballast(
            "data", "split", source, f"{files[0]}=0.9", f"{files[1]}=0.1",
            "--by", "stratified", "--column", "kind", "--json").out)
        self.assertEqual([one["rows"] for one in said["files"]], [900, 100])
        parts = [[line.split(",") for line in
                  path.read_text().splitlines()[1:]] for path in files]
        self.assertEqual(sorted(int(x) for part in parts for x, _ in part),
                         list(range(1000)))
        for kind in "0123":
            self.assertEqual(sum(k == kind for _, k in parts[1]), 25)
        self.refused(2, ["a.csv: is there"], "data", "split", source,
                     f"{files[0]}=0.5", f"{self.folder}/c.csv=0.5")
        self.assertFalse((self.folder / "c.csv").exists())
        self.refused(2, ["d.csv: is named twice"], "data", "split", source,
                     f"{self.folder}/d.csv=0.5", f"{self.folder}/./d.csv=0.5")
        few = self.folder / "few.csv"
        self.ballast("data", "split", source, f"{few}=0.5",
                     f"{self.folder}/rest.csv=0.5", "--where", "x < 10")
        self.assertEqual(len(few.read_text().splitlines()), 1 + 5)

    def test_a_graph_that_branches_again_and_again_is_read_once(self):
        graph = [{"op": "sort", "from": "people", "by": "age", "as": "n0"}]
        for i in range(60):
            graph.append({"op": "join", "from": [f"n{i}", f"n{i}"],
                          "on": "person", "kind": "semi", "as": f"n{i + 1}"})
        graph.append({"op": "derive", "columns": {"kind": "person % 2"}})
        graph.append({"op": "split", "fractions": [0.5, 0.5],
                      "as": ["train", "test"]})
        job = self.job({"people": {"format": "csv", "uri": str(self.people)}},
                       graph)
        out = self.folder / "out.csv"
        few = ("prlimit", "--nofile=80")
        self.ballast("data", "write", job, "n60", out, wrapper=few)
        self.assertEqual(len(out.read_text().splitlines()), 1 + PEOPLE)
        self.ballast("data", "show", job, wrapper=few)
        self.ballast("validate", "--data", job)
        self.ballast("data", "prepare", job)

    def test_a_node_that_nobody_reads_is_checked_by_all_alike(self):
        graph = [*self.GRAPH[:1],
                 {"op": "derive", "columns": {"kind": "person % 2"}},
                 {"op": "split", "fractions": [0.5, 0.5],
                  "as": ["train", "test"]},
                 {"op": "select", "from": "people", "columns": ["agee"],
                  "as": "unused"}]
        job = self.job({"people": {"format": "csv", "uri": str(self.people)}},
                       graph)
        parts = ["/data/graph/3/columns", "did you mean 'age'?"]
        for command in (["validate"], ["validate", "--data"],
                        ["data", "prepare"], ["data", "show"],
                        ["run", "--no-progress", "--run-dir",
                         self.folder / "never"]):
            self.refused(2, parts, *command, job)
        said = json.loads(self.ballast("validate", "--json", job, code=2).out)
        self.assertEqual(said["mistakes"][0]["pointer"],
                         "/data/graph/3/columns")

    def large(self):
        """Rows that take seconds to write."""
        path = self.folder / "large.csv"
        with path.open("w", encoding="utf-8") as out:
            out.write("x,y,text\n")
            block = "".join(f"{i},{i % 7},some text of row {i}\n"
                            for i in range(20000))
            for _ in range(60):
                out.write(block)
        return path

    def ended_by(self, number, code, begun, *arguments):
        """The command ends with this code once `begun` finds something."""
        temporary = self.folder / f"tmp-{next(self.folders)}"
        temporary.mkdir()
        self.environment["TMPDIR"] = str(temporary)
        one = self.start(*arguments)
        wait_until(lambda: begun(temporary), "the work to begin", 60)
        os.kill(one.process.pid, number)
        self.assertEqual(one.wait(60), code, one)
        return temporary

    def test_a_signal_leaves_nothing_behind(self):
        large = self.large()
        job = self.job({"in": {"format": "csv", "uri": str(large)}},
                       [{"op": "shuffle", "from": "in", "as": "mixed"},
                        {"op": "sort", "by": "text", "as": "sorted"},
                        {"op": "split", "fractions": [0.5, 0.5],
                         "as": ["train", "test"]}])
        there = lambda temporary: list(temporary.glob("ballast-rows-*"))
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            out = self.folder / f"out-{number}"
            temporary = self.ended_by(number, code, there, "data",
                                      "write", job, "sorted", f"{out}.csv")
            self.assertEqual(list(temporary.iterdir()), [])
            parts = lambda _: list(self.folder.glob(f"out-{number}.*/*"))
            self.ended_by(number, code, parts, "data", "partition",
                          large, out, "--into", "3")
            self.assertEqual(list(self.folder.glob("out-*")), [])
        temporary = self.ended_by(signal.SIGKILL, -signal.SIGKILL, there,
                                  "data", "write", job, "sorted",
                                  self.folder / "out.csv")
        self.assertTrue(there(temporary))
        self.ballast("data", "show", job, "--node", "in", "--rows", "1")
        self.assertEqual(list(temporary.iterdir()), [])

    def test_preparing_ends_with_a_signal_and_leaves_nothing(self):
        cache = self.folder / "cache"
        self.environment["BALLAST_CACHE"] = str(cache)
        job = self.job({"in": {"format": "csv", "uri": str(self.large())}},
                       [{"op": "shuffle", "from": "in", "as": "mixed"},
                        {"op": "sort", "by": "text", "as": "sorted"},
                        {"op": "rename", "columns": {"y": "kind"}},
                        {"op": "split", "fractions": [0.5, 0.5],
                         "as": ["train", "test"]}])
        begun = lambda _: list(cache.glob("*.tmp"))
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            self.ended_by(number, code, begun, "data", "prepare", job)
            self.assertEqual(list(cache.glob("*.tmp")), [])
        self.ended_by(signal.SIGINT, 130, begun, "run", job,
                      "--no-progress", "--run-dir", self.folder / "run")
        self.assertEqual(list(cache.glob("*.tmp")), [])

    def test_what_would_be_ignored_is_refused(self):
        job = self.job({"people": {"format": "csv", "uri": str(self.people)}},
                       [{"op": "derive", "from": "people",
                         "columns": {"kind": "person % 2"}},
                        {"op": "split", "fractions": [0.5, 0.5],
                         "as": ["train", "test"]}])
        self.refused(2, ["--dot", "--json"], "data", "show", job, "--dot",
                     "--json")
        self.refused(2, ["--rows", "1000000"], "data", "show", job, "--rows",
                     "1000001")
        self.refused(2, ["/data/graph/0/column", "random"], "data", "split",
                     self.people, f"{self.folder}/a.csv=0.5",
                     f"{self.folder}/b.csv=0.5", "--column", "age")
        self.environment["TMPDIR"] = str(self.folder / "gone")
        self.refused(2, ["gone", "$TMPDIR"], "data", "show", job)

    def test_a_fraction_is_any_number_above_0(self):
        self.ballast("data", "split", self.people, f"{self.folder}/a.csv=.5",
                     f"{self.folder}/b.csv=5e-1")
        for wrong in ("half", "0", "-.5", "1e999", ".5x", "nan"):
            self.refused(2, ["a number above 0 and at most 1",
                             f"found {self.folder}/c.csv={wrong}"],
                         "data", "split", self.people,
                         f"{self.folder}/c.csv={wrong}",
                         f"{self.folder}/d.csv=0.5")

    def test_an_empty_part_is_said(self):
        same = self.write("same.csv", "x,at\n" + "1,5\n" * 20)
        one = self.ballast("data", "split", same, f"{self.folder}/a.csv=0.5",
                           f"{self.folder}/b.csv=0.5", "--by", "time",
                           "--column", "at")
        self.assertIn("a.csv has no rows", one.err)
        done = self.ballast("data", "partition", same, self.folder / "parts",
                            "--by", "x", "--to", "csv")
        self.assertIn("column 'x' is in the names of the folders", done.out)


if __name__ == "__main__":
    unittest.main()
