#!/usr/bin/env python3
"""Writes linear.csv: 1,200 rows of a known linear law with noise.

y = 3 a - 2 b + 0.5 c + 1 + noise, all from one seed. Own generator, so that
every Python writes the same bytes.

usage: make_linear.py [OUTPUT]
"""
import sys
from pathlib import Path

ROWS = 1200
SEED = 20240501


def uniform(state):
    """Lehmer's generator (Park and Miller 1988): a state, and it in (0, 1)."""
    state = state * 48271 % 2147483647
    return state, state / 2147483647


def rows():
    state = SEED
    for _ in range(ROWS):
        values = []
        for _ in range(15):
            state, u = uniform(state)
            values.append(u)
        a, b, c = (2 * u - 1 for u in values[:3])
        noise = 0.1 * (sum(values[3:]) - 6)  # twelve uniforms: nearly normal
        yield a, b, c, 3 * a - 2 * b + 0.5 * c + 1 + noise


def main():
    target = Path(__file__).parent / "linear.csv"
    if len(sys.argv) > 1:
        target = Path(sys.argv[1])
    with open(target, "w", encoding="ascii", newline="\n") as out:
        out.write("a,b,c,y\n")
        for row in rows():
            out.write(",".join(f"{value:.4f}" for value in row) + "\n")


if __name__ == "__main__":
    main()
