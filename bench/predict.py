#!/usr/bin/env python3
"""How fast a trained model answers new rows, from one file to another.

  ./dev bench predict [--repeats N] [--only PART] [--rows N] [--peers DIR] [--save] [--check]

loop     `ballast predict --workers 2` on an mlp and ROWS rows of 20 columns, of
         Parquet and of CSV, against a PyTorch program that reads the file by
         pandas, feeds the model through a DataLoader and writes what it says:
         at least 3 times as fast, both from the spawn to the exit.
forward  Rows per second once the processes are there (what three times the rows
         take longer), against the forward pass of the training (the evaluation
         of a run with the same rows as its test part, 2 workers, as its event
         tells it): at least 0.9 of that. Beside it, file to file, all of it.
start    From the spawn to the answers to 100 rows: at most 0.5 s. Beside it, to
         the first part of the answers to ROWS rows on the disk.
"""
import functools
import json
import os
import shutil
import subprocess
import time

from lib.measure import Ballast, Peer, Scratch, arguments, run_parts, say, summary, table, warn_if_busy

COLUMNS, CLASSES, TRAINING_ROWS, FEW = 20, 3, 20_000, 100
HIDDEN = [256, 256]
TIMES_MIN, FORWARD_MIN, START_S_MAX = 3.0, 0.9, 0.5
FORMATS = ("parquet", "csv")

MAKE = """
import sys, numpy, pyarrow, pyarrow.csv, pyarrow.parquet
rows, seed, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
draw = numpy.random.default_rng(seed)
label = draw.integers(0, CLASSES, rows)
x = draw.normal(size=(rows, COLUMNS)).astype('float32')
x[numpy.arange(rows), label] += 1
table = pyarrow.table({**{f'x{i}': x[:, i] for i in range(COLUMNS)}, 'y': label})
write = pyarrow.csv.write_csv if path.endswith('csv') else pyarrow.parquet.write_table
write(table, path)
""".replace("CLASSES", str(CLASSES)).replace("COLUMNS", str(COLUMNS))


def job(training, test):
    return {
        "name": "predict",
        "data": {"train": {"format": "parquet", "uri": training, "label": "y"}, "test": {"format": "parquet", "uri": test, "label": "y"}},
        "model": {"kind": "mlp", "hidden": HIDDEN},
        "train": {"epochs": 1, "global_batch": 512},
        "evaluate": {"metrics": ["accuracy"]},
    }


class Rows:
    """The files, and a model that was trained."""

    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.ballast = Ballast(options.ballast, scratch)
        self.python = Peer(options.peers).python
        self.files = {name: os.path.join(scratch, f"new.{name}") for name in FORMATS}
        training = os.path.join(scratch, "training.parquet")
        self.files["more"] = os.path.join(scratch, "more.parquet")
        self.files["few"] = os.path.join(scratch, "few.parquet")
        counts = {"more": 3 * options.rows, "few": FEW}
        new = [(path, counts.get(name, options.rows), 2) for name, path in self.files.items()]
        for path, rows, seed in [(training, TRAINING_ROWS, 1), *new]:
            subprocess.run([self.python, "-c", MAKE, str(rows), str(seed), path], check=True)
        self.job = os.path.join(scratch, "job.json")
        with open(self.job, "w") as f:
            json.dump(job(training, self.files["parquet"]), f)
        self.run = self.ballast.run(self.job)["folder"]

    def predict(self, name, watch=None):
        """Seconds from the spawn to the exit."""
        out = os.path.join(self.scratch, "answers." + self.files[name].rsplit(".", 1)[-1])
        command = [self.options.ballast, "predict", self.run, "--data", self.files[name], "--out", out, "--workers", "2"]
        begun = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        seen = watch(out, begun) if watch else None
        if process.wait() != 0:
            raise SystemExit(f"{command} failed")
        seconds = time.monotonic() - begun
        os.remove(out)
        return seen if watch else seconds


def first_part(out, begun):
    """Seconds to the first file of answers."""
    folder = out + ".parts"
    while time.monotonic() - begun < 60:
        try:
            if any(name.startswith("answers-") and name.endswith(".safetensors") for name in os.listdir(folder)):
                return time.monotonic() - begun
        except FileNotFoundError:
            if os.path.exists(out):
                break
        time.sleep(0.001)
    raise SystemExit(f"no part of the answers was seen in {folder}")


def loop(options, rows, verdicts):
    peer = Peer(options.peers)
    raw = {}
    say(f"\n{options.rows:,} rows x {COLUMNS} through an mlp {HIDDEN}, file to file; medians of {options.repeats} repeats")
    lines = [("", "ballast s", "DataLoader s", "times")]
    for name in FORMATS:
        ours, theirs = [], []
        for _ in range(options.repeats):
            ours.append(rows.predict(name))
            if peer.there():
                out = os.path.join(rows.scratch, f"peer.{name}")
                model = os.path.join(rows.run, "model.safetensors")
                theirs.append(peer.run("predict_loop.py", rows.files[name], model, out)["seconds"])
        raw[name] = {"ballast": ours, "peer": theirs}
        own, other = summary(ours)["median"], summary(theirs)["median"] if theirs else None
        lines.append((name, f"{own:.2f}", f"{other:.2f}" if other else "", f"{other / own:.2f}" if other else ""))
        if other:
            verdicts.at_least(f"{name}, over the DataLoader loop", other / own, TIMES_MIN, "x")
    table(lines)
    return {"raw": raw}


def evaluated_rows_per_s(folder):
    with open(os.path.join(folder, "events.jsonl")) as f:
        [event] = [one for one in map(json.loads, f) if one["kind"] == "evaluation"]
    return event["test_rows"] / (event["ms"] / 1e3)


def forward(options, rows, verdicts):
    short, long, training = [], [], []
    for _ in range(options.repeats):
        again = rows.ballast.run(rows.job)["folder"]
        training.append(evaluated_rows_per_s(again))
        shutil.rmtree(again)
        short.append(rows.predict("parquet"))
        long.append(rows.predict("more"))
    first, last = (summary(seconds)["median"] for seconds in (short, long))
    steady, there = 2 * options.rows / (last - first), summary(training)["median"]
    say(f"\nrows per second of {options.rows:,}, file to file: {options.rows / first:,.0f}; of three times as many "
        f"{3 * options.rows / last:,.0f};\nonce the processes are there {steady:,.0f}; forward pass of the training {there:,.0f}")
    verdicts.at_least("of the training's forward pass", steady / there, FORWARD_MIN, "x")
    return {"raw": {"predict_s": short, "predict_three_times_s": long, "training_rows_per_s": training}}


def start(options, rows, verdicts):
    few, many = [], []
    for _ in range(options.repeats):
        few.append(rows.predict("few"))
        many.append(rows.predict("parquet", first_part))
    said = summary(few)
    say(f"\nfrom the command to the answers to {FEW} rows, its exit included: {said['median']:.3f} s ({said['min']:.3f} to "
        f"{said['max']:.3f}); to the first part of {options.rows:,} rows, in one group of Parquet: {summary(many)['median']:.3f} s")
    verdicts.at_most("to the first answers", said["median"], START_S_MAX, "s")
    return {"raw": {"few_s": few, "first_part_s": many}}


def main():
    def more(parser):
        parser.add_argument("--rows", type=int, default=1_000_000)

    parts = {"loop": loop, "forward": forward, "start": start}
    options = arguments(__doc__.splitlines()[0], list(parts), more=more)
    warn_if_busy()
    with Scratch() as scratch:
        rows = Rows(options, scratch)
        run_parts("predict", options, {name: functools.partial(part, options, rows) for name, part in parts.items()})


if __name__ == "__main__":
    main()
