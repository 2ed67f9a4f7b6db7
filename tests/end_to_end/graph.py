"""Goal: a job trains on several sources that a graph joins, each row once
whoever dies; what `ballast data` says and writes is what the run takes. Method:
the real program, with a bucket and a database where their servers are there.
"""
import json
import sqlite3
import unittest

from harness.moto import Moto
from harness.run_files import read_json

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


if __name__ == "__main__":
    unittest.main()
