#!/usr/bin/env python3
"""Checks a proof that so many rows must move at least (`ballast ctl plan`).

It shares nothing with who wrote the proof. A certificate names what each worker
holds of each class, the size that it is to have, the budget of skew, and a
price for each of these; runtime/balance/moves_bound.hpp says why any prices
prove a bound. Read it: that is the whole argument.

usage: ballast ctl plan certificate=true --to RUN_DIR | check_certificate.py
"""
import json
import math
import sys


def proven(proof):
    """Rows that must move, whatever is done."""
    held, sizes = proof["held"], proof["sizes"]
    of_class = [sum(column) for column in zip(*held)]
    total = sum(of_class)
    rows = sum(price * n for price, n in zip(proof["class_prices"], of_class))
    for mine, size, price, of_budget in zip(held, sizes, proof["worker_prices"], proof["budget_prices"]):
        fair = [n * size / total for n in of_class]
        budget = max(proof["skew_tv"] * size, size - sum(n * size // total for n in of_class))
        if of_budget < 0:
            raise ValueError("the price of a budget is below 0")
        rows += price * size - of_budget * budget
        for c, n in enumerate(of_class):

            def paid(x):  # for a quota of x rows, less what the prices give for them
                return max(0, x - mine[c]) + of_budget * max(0, x - fair[c]) - (proof["class_prices"][c] + price) * x

            most = min(n, size)
            rows += min(paid(x) for x in (0, min(mine[c], most), min(fair[c], most), most))
    return rows


def main():
    proof = json.load(sys.stdin)
    proof = proof.get("certificate", proof)  # all that `ctl plan` says
    rows = math.ceil(proven(proof) - 1e-6)
    if rows < proof["bound_rows"]:
        sys.exit(f"the prices prove {rows} rows, not {proof['bound_rows']}")
    print(f"at least {proof['bound_rows']} rows must move: proven")


if __name__ == "__main__":
    main()
