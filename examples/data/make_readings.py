#!/usr/bin/env python3
"""Writes machine_readings.csv: 4,000 readings of machines that do not exist. 19
of 20 are of an idle machine, which any model tells from the others; whether one
that works is sound or worn is hard to see: the two wind around each other.

All from one seed, by the generator of make_people.py.

usage: make_readings.py [FOLDER]
"""
import math
import sys
from pathlib import Path

from make_people import Draws

ROWS = 4000
SEED = 20261127


def normal(draws):
    return sum(draws.unit() for _ in range(12)) - 6  # nearly


def readings(draws):
    yield "load,vibration,state"
    for row in range(ROWS):
        if row % 20:
            load, vibration, state = -3 + 0.2 * normal(draws), 0.2 * normal(draws), "idle"
        else:
            worn = draws.unit() < 0.5
            angle = 3 * math.pi * math.sqrt(draws.unit())
            radius = 0.2 + angle / (2 * math.pi)
            turned = angle + (math.pi if worn else 0)
            load = 1 + radius * math.cos(turned) + 0.05 * normal(draws)
            vibration = radius * math.sin(turned) + 0.05 * normal(draws)
            state = "worn" if worn else "sound"
        yield f"{load:.3f},{vibration:.3f},{state}"


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    with open(folder / "machine_readings.csv", "w", encoding="ascii", newline="\n") as out:
        out.writelines(row + "\n" for row in readings(Draws(SEED)))


if __name__ == "__main__":
    main()
