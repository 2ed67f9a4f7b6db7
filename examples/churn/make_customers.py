#!/usr/bin/env python3
"""Customers of whom few leave: who is new, calls the support often or pays a
lot for little, leaves more likely.

usage: make_customers.py ROWS SEED > customers.csv
"""
import csv
import math
import random
import sys


def main():
    rows, seed = int(sys.argv[1]), int(sys.argv[2])
    draw = random.Random(seed)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["months", "plan", "minutes", "calls", "price", "leaves"])
    for _ in range(rows):
        months = draw.randint(1, 72)
        plan = draw.choice(["basic", "family", "pro"])
        minutes = max(0.0, draw.gauss(180, 80))
        calls = min(9, int(draw.expovariate(0.8)))
        price = {"basic": 9, "family": 25, "pro": 40}[plan] + draw.gauss(0, 3)
        pain = (0.9 * calls - 0.07 * months + 0.05 * (price - minutes / 8)
                - 2.2)
        leaves = draw.random() < 1 / (1 + math.exp(-pain))
        out.writerow([months if draw.random() > 0.03 else "", plan,
                      f"{minutes:.1f}", calls, f"{price:.2f}",
                      "yes" if leaves else "no"])


main()
