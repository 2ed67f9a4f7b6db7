#!/usr/bin/env python3
"""Writes the tables of two examples, of people who do not exist.

people_with_holes.csv  600 rows: which fruit somebody likes follows from age and
                       city; some cells are missing (NA), some incomes are far
                       too high, six rows have no answer
customers.csv          1,500 rows: one customer in 12 leaves, more often after
                       calls to the hotline and in the first years

All from one seed. Own generator, so that every Python writes the same bytes.

usage: make_people.py [FOLDER]
"""
import sys
from pathlib import Path

PEOPLE = 600
CUSTOMERS = 1500
SEED = 20261127


class Draws:
    def __init__(self, seed):
        self.state = seed

    def unit(self):
        """Lehmer's generator (Park and Miller 1988): in (0, 1)."""
        self.state = self.state * 48271 % 2147483647
        return self.state / 2147483647

    def of(self, words):
        return words[int(self.unit() * len(words))]

    def normal(self):
        return sum(self.unit() for _ in range(12)) - 6  # nearly


def people(draws):
    yield "age,income,city,kind"
    for _ in range(PEOPLE):
        age = int(18 + 60 * draws.unit())
        income = 1500 + 30 * age + 300 * draws.normal()
        city = draws.of(("bonn", "oslo", "rome"))
        kind = "fig" if city == "rome" else "pear" if age < 45 else "plum"
        if draws.unit() < 0.02:
            income *= 100
        cells = [str(age), f"{income:.2f}", city, kind]
        for i, share in enumerate((0.05, 0.05, 0.03, 0.01)):
            if draws.unit() < share:
                cells[i] = "NA"
        yield ",".join(cells)


def customers(draws):
    yield "years,calls,bill,plan,left"
    for _ in range(CUSTOMERS):
        years = 10 * draws.unit()
        calls = int(6 * draws.unit() * draws.unit())
        bill = 20 + 15 * draws.unit() + 4 * calls
        leaves = calls - years / 3 + 0.5 * draws.normal() > 1.95
        cells = [f"{years:.1f}", str(calls), f"{bill:.2f}", draws.of(("basic", "family", "pro")), "yes" if leaves else "no"]
        if draws.unit() < 0.03:
            cells[2] = "NA"
        yield ",".join(cells)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, rows in (("people_with_holes", people), ("customers", customers)):
        with open(folder / f"{name}.csv", "w", encoding="ascii", newline="\n") as out:
            out.writelines(row + "\n" for row in rows(Draws(SEED)))


if __name__ == "__main__":
    main()
