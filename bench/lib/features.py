"""How fast columns are cleaned in memory: the part `features` of the benchmarks
of operators.

A table of 20 columns: twelve of numbers, of which eight have holes, four of text
with few categories and four with many. Holes are filled with the mean, outliers
clipped, numbers standardized, few categories made columns and many hashed: fitted
on all rows, then applied to them, by `feature_columns`, scikit-learn and Polars
in turn, each on two threads. What is counted is from rows in memory to rows in
memory; the state must have the same bits on one, two and seven threads.

    python3 bench/lib/features.py [--rows N] [--rounds N] [--peers PYTHON]

PYTHON has scikit-learn, Polars and pyarrow; without it only our own is measured.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
THREADS = 2
AT_LEAST = {"sklearn": 4, "polars": 1}  # times as fast

MAKE = """
import sys, numpy as np, pyarrow as pa, pyarrow.feather as feather
path, rows = sys.argv[1], int(sys.argv[2])
draw = np.random.default_rng(1)
out = {}
for i in range(12):
    column = draw.normal(10 * i, 1 + i, rows)
    column[draw.integers(0, rows, rows // 1000)] *= 50
    out[f"x{i}"] = pa.array(column, mask=draw.random(rows) < 0.05 if i < 8 else None)
for i in range(8):
    words = np.array([f"word {k}" for k in range(12 if i < 4 else 50_000)])
    chosen = pa.array(draw.integers(0, len(words), rows, dtype=np.int32))
    kind = "c" if i < 4 else "h"
    out[f"{kind}{i % 4}"] = pa.DictionaryArray.from_arrays(chosen, pa.array(words)).cast(pa.string())
feather.write_feather(pa.table(out), path, compression="uncompressed", chunksize=1 << 18)
"""


def last_object(command, environment=None):
    """What the command's last line says."""
    said = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **(environment or {})}
    ).stdout
    return json.loads(said.splitlines()[-1])


def own(path, threads, rounds):
    program = os.path.join(ROOT, "build", "release", "feature_columns")
    return last_object([program, path, str(threads), str(rounds)])


def features(rows, rounds, peers):
    """The middle of the seconds of each subject, by its name; problems, if the
    bits of a state hang on the threads, or a peer is faster than it may be."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.arrow")
        subprocess.run([peers or sys.executable, "-c", MAKE, path, str(rows)], check=True)
        hashes = {own(path, threads, 1)["sha256"] for threads in (1, 2, 7)}
        script = os.path.join(os.path.dirname(HERE), "peers", "features.py")
        two = {name: str(THREADS) for name in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS")}
        seconds = {}
        for _ in range(rounds):  # in turn
            seconds.setdefault("ballast", []).extend(own(path, THREADS, 1)["seconds"])
            for name in AT_LEAST if peers else []:
                seconds.setdefault(name, []).extend(last_object([peers, script, name, path, "1"], two)["seconds"])
    middle = {name: statistics.median(all_of) for name, all_of in seconds.items()}
    problems = [] if len(hashes) == 1 else ["the state depends on the number of threads"]
    for name, least in AT_LEAST.items():
        if name in middle and middle[name] < least * middle["ballast"]:
            problems.append(f"{middle[name] / middle['ballast']:.2f} times as fast as {name}, expected {least}")
    return middle, problems


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--peers", help="a Python that has scikit-learn, Polars and pyarrow")
    told = options.parse_args()
    middle, problems = features(told.rows, told.rounds, told.peers)
    for name, one in middle.items():
        print(f"{name:8} {one:8.2f} s  {told.rows / one / 1e6:6.2f} M rows/s  {one / middle['ballast']:5.2f} times")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
