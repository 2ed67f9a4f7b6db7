"""Goal: ids, zeros in front and late keys survive `ballast data`; what a job
says of its columns is what is checked, refused and trained on. Method: the real
program; files compared with those that Python reads.
"""
import csv
import json
import unittest

from table_test import TableTest

ROWS = 300
#: More than the first MiB, by which columns are told.
MANY = 60000


class ColumnTypes(TableTest):
    def job(self, source, **train):
        return self.table_job({**source, **train})

    def graph_job(self, source, **train):
        return self.table_job({"from": "in", **train},
                              sources={"in": source})

    def refused_alike(self, parts, job):
        """By `validate --data` and by a run."""
        self.refused(2, parts, "run", job, "--run-dir",
                     self.folder / f"run-{next(self.folders)}", "--no-progress")
        said = self.ballast("validate", "--data", job, code=2)
        return said.out + said.err

    def rows_of(self, *paths):
        out = []
        for path in paths:
            with path.open(newline="") as rows:
                out += list(csv.reader(rows))[1:]
        return sorted(out)

    def test_split_and_partition_keep_every_cell(self):
        hard = [[str(2**63 - 1 - i), f"{i:05}", f"x \"{i}\", y\nz", str(i)]
                for i in range(ROWS)]
        source = self.folder / "in.csv"
        with source.open("w", newline="") as to:
            csv.writer(to).writerows([["id", "zip", "text", "n"], *hard])
        parts = [self.folder / "a.csv", self.folder / "b.csv"]
        self.ballast("data", "split", source, *(f"{p}=0.5" for p in parts))
        self.assertEqual(self.rows_of(*parts), sorted(hard))
        self.ballast("data", "partition", source, self.folder / "parts",
                     "--into", 3, "--to", "csv")
        self.assertEqual(self.rows_of(*(self.folder / "parts").iterdir()),
                         sorted(hard))

    def test_a_late_cell_is_named_with_what_mends_it(self):
        source = self.write("in.csv", "id,price,kind\n" + "".join(
            f"{i},{i},{i % 2}\n" for i in range(2 * MANY)) + "7,2.5,1\n")
        parts = [f"{self.folder}/a.csv=0.5", f"{self.folder}/b.csv=0.5"]
        self.refused(2, [f"row {2 * MANY + 1} (line {2 * MANY + 2})",
                         "column 'price'", '"columns": {"price":"float64"}'],
                     "data", "split", source, *parts)
        self.ballast("data", "split", source, *parts, "--type",
                     "price=float64")
        file = {"format": "csv", "uri": str(source)}
        said = self.refused_alike("column 'price'", self.graph_job(file))
        self.assertIn('"columns": {"price":"float64"}', said)
        # What is not read is no mistake, and training alone reads numbers.
        for job in (self.graph_job(file, features=["id"]), self.job(file),
                    self.graph_job({**file, "columns": {"price": "float64"}})):
            self.ballast("validate", "--data", job)
            self.trained(job)

    def test_what_a_job_says_of_columns_is_checked(self):
        source = self.write("in.csv", "when,paid,code,kind\n" + "".join(
            f"2026-01-{1 + i % 28:02},{('yes', 'NO')[i % 2]},0{i},{i % 2}\n"
            for i in range(ROWS)))
        file = {"format": "csv", "uri": str(source)}
        types = {"when": "date", "paid": "bool", "code": "text"}
        for job in (self.job(file, columns=types),
                    self.graph_job({**file, "columns": types})):
            self.ballast("validate", "--data", job)
            manifest, once = self.trained(job)
            self.assertEqual(once, ROWS)
            self.assertEqual(manifest["left_out"], ["when", "code"])
        said = self.refused_alike(
            "row 1 (line 2), column 'code'",
            self.job(file, columns={"code": "bool", "paid": "bool"}))
        self.assertIn("code", said)
        self.refused_alike("did you mean 'paid'",
                           self.job(file, columns={"payd": "bool"}))
        self.refused(2, "/data/train/columns/code", "validate", self.job(
            file, columns={"code": "text"}, features=["code"]))

    def test_keys_that_come_late_are_not_lost(self):
        rows = [{"x": i / 2, "kind": i % 2} for i in range(MANY)]
        rows.append({"x": 1.5, "kind": 1, "late": 2, "o": {"k": [1]}})
        source = self.write("in.jsonl", "".join(
            json.dumps(row) + "\n" for row in rows))
        file = {"format": "jsonl", "uri": str(source)}
        job = self.graph_job(file)
        out = self.folder / "out.jsonl"
        self.refused(2, [f"row {MANY + 1} (line {MANY + 1})", "'late'",
                         '"columns": {"late":"int64","o":"text"}'],
                     "data", "write", job, "in", out)
        self.refused_alike("'late'", job)
        self.refused_alike("'late'", self.job(file))
        named = self.job(file, features=["x"])
        self.ballast("validate", "--data", named)
        self.trained(named)
        self.ballast("data", "write", self.graph_job(
            {**file, "columns": {"late": "int64", "o": "text"}}), "in", out)
        last = json.loads(out.read_text().splitlines()[-1])
        self.assertEqual(last, {"x": 1.5, "kind": 1, "late": 2,
                                "o": '{"k": [1]}'})

    def test_the_first_file_says_the_types_of_all(self):
        first = self.write("part-1.jsonl", '{"a":1,"t":"2026-01-31"}\n')
        self.write("part-2.jsonl", '{"t":"x"}\n{"a":2}\n')
        job = self.graph_job({"format": "jsonl",
                              "uri": str(first.parent / "part-*.jsonl")})
        out = self.folder / "out.jsonl"
        self.ballast("data", "write", job, "in", out)
        self.assertEqual([json.loads(line) for line in
                          out.read_text().splitlines()],
                         [{"a": 1, "t": "2026-01-31"}, {"a": None, "t": "x"},
                          {"a": 2, "t": None}])
        self.write("part-1.csv", "a,b\n1,01\n")
        self.write("part-2.csv", "b,a\n2,3\n5,x\n")
        self.refused(2, ["part-2.csv: row 2 (line 3), column 'a'",
                         "found text of 1 character"], "data", "write",
                     self.graph_job({"format": "csv", "uri":
                                     str(first.parent / "part-*.csv")}), "in",
                     self.folder / "out.csv")


if __name__ == "__main__":
    unittest.main()
