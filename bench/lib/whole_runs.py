"""Part `runs` of bench/balance.py: whole runs in virtual time, of all placements
with several speeds, against the fewest rows that could move. No clock and no
process: the same figures on every machine."""
import csv
import io
import json
import os
import statistics
import subprocess
import sys

from lib.measure import ROOT, built, say, table

CELLS = ((4, 25), (8, 25), (4, 256), (8, 256))  # workers, rows of a chunk
SEEDS = 10
NOISE_SEEDS = 1000
DRIFT_SEEDS = 5
BUSY_SEEDS = 5
BUDGET = 0.1
CHUNKS_SEEDS = 2


def simulate(options, *what):
    done = subprocess.run([built(options, "whole_runs"), *map(str, what)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"whole_runs failed with exit code {done.returncode}:\n{done.stderr}")
    return done.stdout


def rows_of(options, *what):
    return list(csv.DictReader(io.StringIO(simulate(options, *what))))


def over_least(row):
    moved, least = int(row["moved"]), int(row["least"])
    return moved / least if least else 1.0 if moved == 0 else float("inf")


def placements(options, verdicts):
    raw = {}
    shown = [("workers", "chunk", "median", "worst", "of", "moved twice", "skew after", "of the ideal", "10th")]
    every = []
    for workers, chunk in CELLS:
        rows = rows_of(options, "placements", workers, chunk, SEEDS)
        raw[f"{workers} {chunk}"] = rows
        every += rows
        ratios = [over_least(r) for r in rows]
        worst = max(rows, key=over_least)
        ideal = sorted(float(r["of_ideal"]) for r in rows)
        shown.append((workers, chunk, f"{statistics.median(ratios):.3f}", f"{max(ratios):.3f}",
                      f"{worst['placement']}, {worst['speeds']}", sum(int(r["again"]) for r in rows),
                      f"{max(float(r['skew_after']) for r in rows):.3f}", f"{statistics.median(ideal):.3f}",
                      f"{ideal[len(ideal) // 10]:.3f}"))
        verdicts.at_most(f"{workers} workers, chunks of {chunk}: rows over the minimum, median",
                         statistics.median(ratios), 1.03, "times")
        verdicts.at_most(f"{workers} workers, chunks of {chunk}: rows over the minimum, worst", max(ratios), 1.15, "times")
    say(f"\nwhole runs, 16 placements x 4 sets of speeds x {SEEDS} seeds: 4,000 rows, 8 classes, skew 0.1; rows moved\n"
        "over the exact minimum from the first owners to the last (from one disturbance to the next)")
    table(shown)
    say()
    verdicts.at_most("rows that move twice between two disturbances", sum(int(r["again"]) for r in every), 0, "rows")
    verdicts.at_most("skew, once it was in the budget of 0.1", max(float(r["skew_after"]) for r in every), 1.05 * BUDGET, "")
    return raw


def chunks(options, _verdicts):
    """What chunks alone cost: the minimum over parts of chunks, by HiGHS, whose
    parts have the labels of all of it."""
    python = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
    solver = os.path.join(ROOT, "tests", "runtime", "balance", "least_of_chunks.py")
    shown = [("workers", "chunk", "runs", "minimum with chunks", "moved over that", "worst")]
    raw = {}
    for workers, chunk in CELLS:
        lines = simulate(options, "chunks", workers, chunk, CHUNKS_SEEDS)
        done = subprocess.run([python, solver], input=lines, capture_output=True, text=True)
        if done.returncode != 0:
            say(f"  no minimum with chunks: {done.stderr.strip().splitlines()[-1]}")
            return None
        found = [json.loads(line) for line in done.stdout.splitlines()]
        raw[f"{workers} {chunk}"] = found
        price = [r["least_with_chunks"] / r["least"] for r in found]
        over = [r["moved"] / r["least_with_chunks"] for r in found]
        shown.append((workers, chunk, len(found), f"{statistics.median(price):.3f}, worst {max(price):.3f}",
                      f"{statistics.median(over):.3f}", f"{max(over):.3f}"))
    say("\nwhat chunks cost: rows that have to move where a part of a chunk has the labels of all of it, over the\n"
        "minimum; and what was moved over that")
    table(shown)
    return raw


def noise(options, verdicts):
    rows = rows_of(options, "noise", NOISE_SEEDS)
    still = sum(int(r["later"]) == 0 for r in rows) / len(rows)
    say(f"\nan hour of noise of 20 %, {len(rows)} seeds: no row moves after the first 90 s in {still:.1%}; "
        f"at most {max(int(r['later']) for r in rows)} rows else")
    verdicts.at_least("hours of stationary noise in which no row moves", still, 0.99, "")
    return rows


def drift(options, verdicts):
    rows = rows_of(options, "drift", DRIFT_SEEDS)
    ideal = statistics.median(float(r["of_ideal"]) for r in rows)
    over = statistics.median(int(r["moved"]) / float(r["hindsight"]) for r in rows)
    say(f"\nan hour of drift by a factor of two within ten minutes: {ideal:.3f} of the best split of every step, known "
        f"beforehand;\n{over:.2f} times the rows of whoever follows the mean speed of every epoch, known beforehand")
    verdicts.at_least("drift: of the best in hindsight", ideal, 0.95, "")
    verdicts.at_most("drift: rows over those of hindsight", over, 1.5, "times")
    return rows


def busy(options, verdicts):
    rows = rows_of(options, "busy", 4, 25, BUSY_SEEDS)
    shown = [("bursts of", "runs", "median", "worst", "all together", "of the ideal", "10th")]
    for steps in sorted({r["burst"] for r in rows}, key=int):
        some = [r for r in rows if r["burst"] == steps]
        ratios = [over_least(r) for r in some]
        ideal = sorted(float(r["of_ideal"]) for r in some)
        together = sum(int(r["moved"]) for r in some) / sum(int(r["least"]) for r in some)
        shown.append((f"{steps} steps", len(some), f"{statistics.median(ratios):.3f}", f"{max(ratios):.2f}",
                      f"{together:.3f}", f"{statistics.median(ideal):.3f}", f"{ideal[len(ideal) // 10]:.3f}"))
    say("\nother work that has half of one core, half of the time: rows over the minimum (bursts of 400 steps, ten\n"
        "epochs, are disturbances), and what the best split of every step would take over what was taken")
    table(shown)
    lasting = [r for r in rows if r["burst"] == "400"]
    verdicts.at_most("beside other work that lasts: rows over the minimum, worst",
                     max(over_least(r) for r in lasting), 1.3, "times")
    verdicts.at_least("beside other work that lasts: of the ideal",
                      statistics.median(float(r["of_ideal"]) for r in lasting), 0.93, "")
    return rows


def whole_runs(options, verdicts):
    return {part.__name__: part(options, verdicts) for part in (placements, chunks, noise, drift, busy)}
