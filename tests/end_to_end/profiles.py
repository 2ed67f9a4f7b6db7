"""Goal: what a table holds, and how far another one has drifted from it, is
told before anybody trains. Method: the real program over tables whose figures
are computed here; its page in a real browser.
"""
import json
import random
import statistics
import unittest

from ballast_test import BallastTest
from browser import Browser
from harness.waiting import wait_until

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
