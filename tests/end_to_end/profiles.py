"""Goal: what a table holds, and how far another one has drifted from it, is
told before anybody trains. Method: the real program over tables whose figures
are computed here; its page in a real browser.
"""
import json
import random
import statistics
import subprocess
import unittest

from harness.browser import Browser
from harness.waiting import wait_until

from ballast_test import BallastTest

ROWS = 20000


def lines(seed, shift=0.0, city="oslo"):
    draw = random.Random(seed)
    out = ["age,income,twice,city,day"]
    for i in range(ROWS):
        age = "" if i % 40 == 0 else str(20 + draw.randrange(60))
        income = draw.gauss(3000 + shift, 400)
        where = city if i % 4 == 0 else draw.choice(["rome", "bern"])
        out.append(f"{age},{income},{-2 * income},{where},"
                   f"2026-01-{1 + i % 28:02}")
    return out


class Profiles(BallastTest):
    def table(self, name, rows):
        return self.write(name, "\n".join(rows) + "\n")

    def profile(self, *arguments):
        return json.loads(self.ballast("data", "profile", *arguments,
                                       "--json").out)

    def test_says_what_the_columns_hold(self):
        rows = lines(1)
        found = self.profile(self.table("a.csv", rows + rows[1:51]))
        cells = [row.split(",") for row in rows[1:] + rows[1:51]]
        self.assertEqual((found["rows"], found["repeated_rows"]),
                         (ROWS + 50, 50))
        age, income, _, city, day = found["columns"]
        ages = [float(row[0]) for row in cells if row[0]]
        self.assertEqual(age["missing"], len(cells) - len(ages))
        self.assertEqual(age["type"], "int64")
        self.assertAlmostEqual(age["mean"], statistics.fmean(ages), 9)
        self.assertAlmostEqual(age["deviation"], statistics.pstdev(ages), 9)
        self.assertEqual(age["quantiles"]["0.5"], statistics.median(ages))
        incomes = sorted(float(row[1]) for row in cells)
        self.assertEqual((income["least"], income["most"]),
                         (incomes[0], incomes[-1]))
        self.assertAlmostEqual(income["quantiles"]["0.25"] /
                               incomes[len(incomes) // 4], 1, 2)
        self.assertEqual({one["word"]: one["rows"]
                          for one in city["most_frequent"]},
                         {name: sum(row[3] == name for row in cells)
                          for name in ("oslo", "rome", "bern")})
        self.assertEqual(day["distinct"], 28)
        pairs = {tuple(one["columns"]): one for one in found["correlations"]}
        self.assertAlmostEqual(pairs["income", "twice"]["r"], -1, 9)
        self.assertEqual(pairs["age", "income"]["rows"], len(ages))

    def test_tells_how_far_another_table_has_drifted(self):
        before = self.table("before.csv", lines(1))
        same = self.profile(before, "--against",
                            self.table("same.csv", lines(2)))["drift"]
        self.assertEqual({one["drift"] for one in same["columns"]}, {"none"})
        later = self.profile(before, "--against", self.table(
            "later.csv", lines(3, shift=400, city="kiel")))["drift"]
        sizes = {one["name"]: one["drift"] for one in later["columns"]}
        self.assertEqual(sizes, {"age": "none", "income": "large",
                                 "twice": "large", "city": "large",
                                 "day": "none"})
        # Normal numbers, moved by their deviation: 2 Phi(1/2) - 1.
        self.assertAlmostEqual(later["columns"][1]["distance"], 0.383, 1)
        self.assertEqual(later["columns"][3]["new_words"], ["kiel"])
        said = self.ballast("data", "profile", before, "--against",
                            self.folder / "later.csv").out
        self.assertIn(f"city: {ROWS // 4} rows with what was not there: kiel",
                      said)

    def test_takes_the_rows_of_a_condition(self):
        found = self.profile(self.table("a.csv", lines(1)), "--where",
                             "city = 'oslo'")
        self.assertEqual(found["rows"], ROWS // 4)

    def test_tells_drift_and_frequent_words_among_many(self):
        many = [f"a{i}" for i in range(8000)]
        before = self.table("before.csv", ["w"] + many)
        hot = self.table("hot.csv", ["w"] + many + ["HOT"] * 8000)
        found = self.profile(before, "--against", hot)
        first = found["against"]["columns"][0]["most_frequent"][0]
        self.assertEqual(first["word"], "HOT")
        self.assertLessEqual(first["rows_least"], 8000)
        self.assertGreaterEqual(first["rows"], 8000)
        drift = found["drift"]["columns"][0]
        self.assertEqual((drift["drift"], drift["new_words"],
                          drift["estimated"]), ("large", ["HOT"], True))
        self.assertAlmostEqual(drift["distance"], 0.5, 2)
        other = self.table("other.csv", ["w"] + [f"b{i}" for i in range(8000)])
        self.assertAlmostEqual(
            self.profile(before, "--against", other)
            ["drift"]["columns"][0]["distance"], 1, 9)
        said = self.ballast("data", "profile", before, "--against", other).out
        self.assertIn("w: estimated: more than 4096 words are different", said)

    def test_has_the_same_bits_on_any_number_of_threads(self):
        draw = random.Random(5)
        source = self.table("many.csv", ["w,x"] + [
            f"word-{int(1 / (draw.random() + 1e-5))}-{draw.randrange(99)},"
            f"{draw.random()}" for _ in range(300000)])
        arguments = ("data", "profile", source, "--json")
        alone = self.ballast(*arguments, wrapper=("taskset", "-c", "0"))
        self.assertTrue(json.loads(alone.out)["columns"][0]["estimated"])
        self.assertEqual(self.ballast(*arguments).out, alone.out)

    def test_a_column_of_which_all_is_missing_has_drifted(self):
        full = self.table("full.csv", ["x,y"] + [f"{i},a" for i in range(99)])
        empty = self.table("empty.csv", ["x,y"] + [","] * 99)
        for before, after in ((full, empty), (empty, full)):
            found = self.profile(before, "--against", after)["drift"]
            self.assertEqual([one["drift"] for one in found["columns"]],
                             ["large", "large"])

    def test_holds_numbers_of_64_bits(self):
        most = 2**63 - 1
        found = self.profile(self.table("e.csv", ["a", str(most), "0"]))
        self.assertEqual([found["columns"][0][name] for name in
                          ("least", "most", "distinct")], [0, most, 2])

    def test_more_bad_rows_than_may_be_left_out_are_refused(self):
        source = self.table("bad.csv", ["a,b"] + [
            f"{i},{i if i < 600 else 'x'}" for i in range(900)])
        arguments = ("data", "profile", source, "--type", "b=int64",
                     "--on-error", "skip", "--errors-max")
        self.refused(2, ["300 of the 900 rows", "at most 0 % may be"],
                     *arguments, "0")
        self.assertIn("300 of 900 rows were left out",
                      self.ballast(*arguments, "0.4").out)

    def test_refuses_what_it_would_ignore(self):
        source = self.table("a.csv", ["a", "1"])
        for more, said in ((("--html", ""), "--html: expected a file"),
                           (("--against", ""), "its name does not tell its format"),
                           (("--on-error", "quarantine"),
                            "a profile keeps no rows")):
            self.refused(2, said, "data", "profile", source, *more)

    def test_a_column_of_lists_is_named_and_not_looked_into(self):
        lists = self.table("l.jsonl", ['{"a":1,"l":[1],"s":{"q":1,"r":"x"}}',
                                       '{"a":2,"l":null,"s":null}'] * 50)
        parts = [self.folder / "one.parquet", self.folder / "two.arrow"]
        self.ballast("data", "split", lists, f"{parts[0]}=0.5",
                     f"{parts[1]}=0.5")
        for source in (lists, *parts):
            said = self.ballast("data", "profile", source).out
            self.assertIn("not looked into, but for what is missing: l, s",
                          said)
            columns = self.profile(source)["columns"]
            self.assertEqual([one["name"] for one in columns],
                             ["a", "l", "s"])
            self.assertGreater(columns[1]["missing"], 10)
            self.assertEqual(columns[1]["missing"], columns[2]["missing"])

    def test_a_page_for_which_there_is_no_room_costs_no_profile(self):
        disk = self.folder / "disk"
        disk.mkdir()
        small = ("unshare", "-m", "sh", "-c", 'disk=$1; shift; mount -t tmpfs '
                 '-o size=4k none "$disk" || exit 99; exec "$@"', "sh",
                 str(disk))
        if subprocess.run([*small, "true"], check=False,
                          capture_output=True).returncode != 0:
            self.skipTest("mounting in a namespace is not permitted")
        one = self.refused(1, ["page.html: No space left", "make space"],
                           "data", "profile", self.table("a.csv", lines(1)),
                           "--html", disk / "page.html", wrapper=small)
        self.assertIn(f"{ROWS} rows", one.out)

    def test_a_page_shows_it_in_a_browser(self):
        page = self.folder / "page.html"
        before = self.table("a.csv", lines(1))
        later = self.table("b.csv", lines(3, shift=400, city="<b>kiel</b>"))
        self.ballast("data", "profile", before, "--against", later, "--html",
                     page)
        self.refused(2, ["page.html", "is there"], "data", "profile", before,
                     "--html", page)
        browser = Browser(self.environment, self.folder)
        self.addCleanup(browser.end)
        browser.open(page.as_uri())
        browser.size(1000, 900)
        wait_until(lambda: browser.value("document.readyState") == "complete",
                   "the page")
        self.assertEqual(browser.value(
            "document.querySelectorAll('section.col').length"), 5)
        self.assertEqual(browser.value(
            "document.querySelectorAll('section.col svg').length"), 3)
        self.assertIn("<b>kiel</b>", browser.value("document.body.innerText"))
        self.assertLessEqual(browser.value(
            "document.documentElement.scrollWidth"), 1000)
        self.assertEqual(browser.troubles, [])


if __name__ == "__main__":
    unittest.main()
