"""Goal: `ballast data resample` makes a file with other shares of the classes,
the same whatever the threads, and what it cannot do leaves no file and says why.
Method: the command on small files, read again by the csv module.
"""
import collections
import csv
import json
import os
import unittest

from harness.program import EXAMPLES

from ballast_test import BallastTest

CUSTOMERS = EXAMPLES / "data" / "customers.csv"


def lines_of(path):
    with open(path, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


class Resampling(BallastTest):
    def numbers(self):
        """The customers without the text, and without those with holes."""
        rows = [r for r in lines_of(CUSTOMERS) if r["bill"] != "NA"]
        text = "years,calls,bill,left\n" + "".join(
            f"{r['years']},{r['calls']},{r['bill']},{r['left']}\n" for r in rows)
        return self.write("numbers.csv", text), rows

    def classes(self, path):
        return collections.Counter(r["left"] for r in lines_of(path))

    def test_a_rare_class_becomes_as_frequent_as_the_other(self):
        source, rows = self.numbers()
        before = collections.Counter(r["left"] for r in rows)
        out = self.folder / "out.csv"
        said = json.loads(self.ballast(
            "data", "resample", source, out, "--label", "left", "--method",
            "smote", "--with-source", "--json").out)
        self.assertEqual(self.classes(out),
                         {"no": before["no"], "yes": before["no"]})
        self.assertEqual((said["before"], said["after"]),
                         (before, {"no": before["no"], "yes": before["no"]}))
        self.assertEqual(said["synthetic"], before["no"] - before["yes"])
        made = [r for r in lines_of(out) if r["source_row"] == ""]
        self.assertEqual(len(made), before["no"] - before["yes"])
        self.assertEqual({r["left"] for r in made}, {"yes"})
        # Whole numbers stay whole; what lies between two rows is within them.
        self.assertTrue(all(r["calls"].isdigit() for r in made))
        yes = [float(r["years"]) for r in rows if r["left"] == "yes"]
        self.assertTrue(all(min(yes) <= float(r["years"]) <= max(yes)
                            for r in made))

    def test_rows_are_the_same_for_any_number_of_threads(self):
        source, _ = self.numbers()
        contents = []
        for number, cores in enumerate(("0", ",".join(
                map(str, sorted(os.sched_getaffinity(0)))))):
            out = self.folder / f"{number}.csv"
            self.ballast("data", "resample", source, out, "--label", "left",
                         "--method", "smote_tomek",
                         wrapper=("taskset", "-c", cores))
            contents.append(out.read_bytes())
        self.assertEqual(contents[0], contents[1])

    def test_text_is_drawn_but_has_no_distance(self):
        out = self.folder / "out.csv"
        self.ballast("data", "resample", CUSTOMERS, out, "--label", "left",
                     "--method", "random_under")
        counts = self.classes(out)
        self.assertEqual(counts["yes"], counts["no"])
        before = out.read_bytes()
        self.refused(2, "is there; remove it, or name another file", "data",
                     "resample", CUSTOMERS, out, "--label", "left", "--method",
                     "random_under")
        self.assertEqual(out.read_bytes(), before)
        out = self.folder / "other.csv"
        self.refused(2, ["column 'bill' is of type string",
                         "expects numbers in all columns"],
                     "data", "resample", CUSTOMERS, out, "--label", "left",
                     "--method", "smote")
        self.assertFalse(out.exists())

    def test_text_is_a_category_where_the_method_takes_some(self):
        rows = [r for r in lines_of(CUSTOMERS) if r["bill"] != "NA"]
        names = list(rows[0])
        source = self.write("mixed.csv", "\n".join(
            [",".join(names)] + [",".join(r[n] for n in names) for r in rows]) + "\n")
        out = self.folder / "out.csv"
        self.ballast("data", "resample", source, out, "--label", "left",
                     "--method", "smotenc", "--with-source")
        counts = self.classes(out)
        self.assertEqual(counts["yes"], counts["no"])
        text = [n for n in names if not all(
            r[n].replace(".", "", 1).lstrip("-").isdigit() for r in rows)]
        self.assertIn("left", text)
        self.assertGreater(len(text), 1)
        for name in text:
            self.assertLessEqual({r[name] for r in lines_of(out)},
                                 {r[name] for r in rows})

    def test_a_column_of_lists_is_left_out_by_an_option(self):
        source = self.write("lists.jsonl", "".join(
            json.dumps({"a": i, "l": [1, 2], "left": "yes" if i % 4 else "no"})
            + "\n" for i in range(40)))
        packed = self.folder / "lists.parquet"
        self.ballast("data", "split", source, f"{packed}=.5",
                     f"{self.folder}/rest.jsonl=.5")
        out = self.folder / "out.csv"
        words = (out, "--label", "left", "--method", "smote", "--option",
                 "k_neighbors=1")
        for place in (source, packed):
            self.refused(2, [f"{place.name}: column 'l' is of type list",
                             "; on the command line: --drop COLUMN"],
                         "data", "resample", place, *words)
        self.assertFalse(out.exists())
        self.ballast("data", "resample", packed, *words, "--drop", "l",
                     "--where", "a >= 0")
        self.assertEqual(list(lines_of(out)[0]), ["a", "left"])

    def test_mistakes_leave_no_file_and_say_what_was_expected(self):
        source, _ = self.numbers()
        out = self.folder / "out.csv"
        for parts, words in {
                ("--method: ", "did you mean smote?"): ("--method", "smot"),
                ("--option k_neighbors: expected a whole number",):
                    ("--method", "smote", "--option", "k_neighbors=0"),
                ("--option: smote has no option 'rows'",):
                    ("--method", "smote", "--option", "rows=1")}.items():
            self.refused(2, list(parts), "data", "resample", source, out,
                         "--label", "left", *words)
        self.refused(2, "there is no column 'lefd'", "data", "resample", source,
                     out, "--label", "lefd", "--method", "smote")
        few = self.write("few.csv", "x,left\n" + "".join(
            f"{i},no\n" for i in range(20)) + "30,yes\n31,yes\n")
        self.refused(2, "class 'yes' of column 'left'", "data", "resample", few,
                     out, "--label", "left", "--method", "smote")
        self.ballast("data", "resample", few, out, "--label", "left",
                     "--method", "smote", "--option", "k_policy=shrink")
        self.assertEqual(self.classes(out), {"no": 20, "yes": 20})
        self.assertEqual(sorted(p.name for p in self.folder.glob("*.csv*")),
                         ["few.csv", "numbers.csv", "out.csv"])


if __name__ == "__main__":
    unittest.main()
