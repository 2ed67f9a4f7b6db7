#!/usr/bin/env python3
"""How fast tables become what a run trains on.

  ./dev bench data [--repeats N] [--gb N] [--rows N] [--only PART] [--save] [--check]

csv      A CSV file of 20 columns of numbers and a label to chunks, in memory
         (/dev/shm), beside Arrow's reader alone, Polars and pandas, which read
         it, make float32 of it and write that (bench/peers/tables.py).
tables   10^7 rows: filter, derive, join with 10^6 rows, distinct, and written as
         an Arrow file, beside the same in Polars (streaming) and pandas.
images   JPEG files of 500 x 375 to random parts of 224 x 224, mirrored or not and
         normalised, on one thread, beside torchvision (bench/peers/images.py);
         and files of 2000 x 1500 that are first scaled to 341 x 256.
batches  10^6 rows of a CSV file to shuffled, scaled batches of 256, all on one
         core: `ballast data prepare` and the steps of a run whose model costs
         nothing, with ledger and trace, beside torchdata.nodes and DataLoader,
         which parse line by line (bench/peers/loaders.py); and the steps alone
         beside MosaicML Streaming, whose rows are binary, too. Without the start
         of the processes, of which Python's imports take seconds.
again    The CSV file once more with another placement, number of workers and
         rows of a chunk, over the first time: no source is read again.
postgres  A table of PostgreSQL (bench/lib/sources.py).
s3       Files in S3 behind a slow link (bench/lib/sources.py).
preparing  Files that two hosts prepare, over one host (bench/lib/preparing.py).
memory   Rows prepared, sorted, shuffled, joined and made distinct in a control group
         with a tenth of their size as memory, over no limit (bench/lib/limited.py).

The last four need root and are measured only with --only.

All use as many threads as the machine has cores. The peers' environment is made
by  bench/peers/setup.sh DIR tables  (about 1 GB), that for images by
bench/peers/setup.sh DIR  (about 6 GB; pass  --image-peers DIR). Needs 6 GB of memory beside
pandas, which takes 10 GB.
"""
import functools
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

from lib import limited, preparing, sources
from lib.measure import Peer, Scratch, arguments, built, run_parts, say, table, warn_if_busy

COLUMNS = 20
PEERS = ["arrow", "polars", "pandas"]
CSV_MIN = {"arrow": 0.8, "polars": 1, "pandas": 6}
TABLES_MIN = {"polars": 1, "pandas": 5}
AGAIN_MAX = 0.2
BATCH_PEERS = {"nodes": 10, "dataloader": 10, "streaming": 5}
BATCH_ROWS, BATCH_EPOCHS = 1_000_000, 10
CROP = 224
# Height and width of the files, of the rows, how many, and what is to be reached.
IMAGES = {
    "500 x 375": {"file": (375, 500), "row": (375, 500), "count": 40, "least": 1.5},
    "2000 x 1500": {"file": (1500, 2000), "row": (256, 341), "count": 8, "least": 3},
}
PARTNERS = 10  # rows of the large table for each of the small one


def write_numbers(path, gb, rows=0):
    """A CSV file of this size or so many rows: its lines are some that were made
    once."""
    dice = random.Random(1)
    lines = "".join(
        ",".join(f"{dice.gauss(0, 1):.6f}" for _ in range(COLUMNS)) + f",{dice.randrange(10)}\n" for _ in range(20_000)
    )
    with open(path, "w") as f:
        f.write(",".join(f"x{i}" for i in range(COLUMNS)) + ",y\n")
        for _ in range(max(1, rows // 20_000, int(gb * 1e9 / len(lines)))):
            f.write(lines)


def write_tables(folder, rows):
    """Two CSV files that share a key."""
    dice = random.Random(2)
    with open(os.path.join(folder, "large.csv"), "w") as f:
        f.write("key,k,x,w\n")
        for start in range(0, rows, 100_000):
            f.writelines(
                f"{dice.randrange(rows // PARTNERS)},{dice.randrange(8)},{dice.random():.6f},{dice.random():.6f}\n"
                for _ in range(min(100_000, rows - start))
            )
    with open(os.path.join(folder, "small.csv"), "w") as f:
        f.write("key,z\n")
        f.writelines(f"{i},{dice.random():.6f}\n" for i in range(rows // PARTNERS))


def job(train, **data):
    return {
        "data": {"train": train, "test_fraction": 0, **data},
        "model": {"kind": "logistic"},
        "train": {"global_batch": 256},
    }


class Measured:
    def __init__(self, options, folder, disk):
        self.options = options
        self.folder = folder  # in memory
        self.disk = disk
        self.number = 0
        self.peer = Peer(options.peers)

    def write(self, document):
        self.number += 1
        path = os.path.join(self.folder, f"job-{self.number}.json")
        with open(path, "w") as f:
            json.dump(document, f)
        return path

    def ballast(self, *arguments, cache="cache"):
        env = {**os.environ, "BALLAST_CACHE": os.path.join(self.folder, cache), "TMPDIR": self.folder}
        start = os.times()
        done = subprocess.run([self.options.ballast, *arguments], capture_output=True, text=True, env=env)
        end = os.times()
        if done.returncode != 0:
            raise SystemExit(f"ballast {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
        cpu = end.children_user + end.children_system - start.children_user - start.children_system
        return {"s": end.elapsed - start.elapsed, "cpu_s": cpu}

    def fresh(self, cache="cache"):
        shutil.rmtree(os.path.join(self.folder, cache), ignore_errors=True)


def compared(measured, rounds, ours, peers, verdicts, limits, what):
    """Ours and the peers in turn; ratios of the medians of wall time."""
    raw = {"ballast": []}
    names = peers if measured.peer.there() else []
    for _ in range(rounds):
        raw["ballast"].append(ours())
        for name in names:
            raw.setdefault(name, []).append(peers[name]())
    lines = [("", "s", "processor s")]
    for name, runs in raw.items():
        lines.append((name, f"{middle(runs, 's'):.2f}", f"{middle(runs, 'cpu_s'):.2f}"))
    table(lines)
    for name in names:
        ratio = middle(raw[name], "s") / middle(raw["ballast"], "s")
        verdicts.at_least(f"{what}, over {name}", ratio, limits[name], "x")
    return raw


def middle(runs, key):
    return statistics.median(one[key] for one in runs)


def csv(options, measured, verdicts):
    path = os.path.join(measured.folder, "numbers.csv")
    write_numbers(path, options.gb)
    say(f"a CSV file of {os.path.getsize(path) / 1e9:.2f} GB, {COLUMNS} columns and a label")
    source = measured.write(job({"format": "csv", "uri": path, "label": "y"}))

    def ours():
        measured.fresh()
        return measured.ballast("data", "prepare", source)

    def peer(name):
        return lambda: measured.peer.run("tables.py", "csv", name, measured.folder)

    raw = compared(
        measured, options.repeats, ours, {name: peer(name) for name in PEERS}, verdicts, CSV_MIN, "CSV to chunks"
    )
    os.remove(path)
    measured.fresh()
    return raw


def tables(options, measured, verdicts):
    say(f"{options.rows} rows joined with {options.rows // PARTNERS}")
    write_tables(measured.folder, options.rows)
    sources = {
        name: {"format": "csv", "uri": os.path.join(measured.folder, f"{name}.csv")} for name in ("large", "small")
    }
    whole = {"op": "cast", "columns": {"key": "int64"}}
    graph = [
        {**whole, "from": "large", "columns": {"key": "int64", "k": "int64"}, "as": "large_table"},
        {**whole, "from": "small", "as": "small_table"},
    ]
    prepare = measured.write(job({"from": "large_table", "label": "k"}, sources=sources, graph=graph))
    for name in sources:
        measured.ballast("data", "write", prepare, f"{name}_table", os.path.join(measured.folder, f"{name}.parquet"))
    sources = {
        name: {"format": "parquet", "uri": os.path.join(measured.folder, f"{name}.parquet")} for name in sources
    }
    graph = [
        {"op": "filter", "from": "large", "where": "x > 0.1"},
        {"op": "derive", "columns": {"v": "x * w"}, "as": "some"},
        {"op": "join", "from": ["some", "small"], "on": "key"},
        {"op": "distinct", "on": ["key", "k"], "as": "out"},
    ]
    source = measured.write(job({"from": "out", "label": "k"}, sources=sources, graph=graph))
    out = os.path.join(measured.folder, "out.arrow")

    def ours():
        if os.path.exists(out):
            os.remove(out)
        return measured.ballast("data", "write", source, "out", out)

    def peer(name):
        return lambda: measured.peer.run("tables.py", "tables", name, measured.folder)

    return compared(
        measured, options.repeats, ours, {name: peer(name) for name in TABLES_MIN}, verdicts, TABLES_MIN,
        "filter, derive, join, distinct",
    )


def again(options, measured, verdicts):
    path = os.path.join(measured.folder, "numbers.csv")
    write_numbers(path, options.gb)
    train = {"format": "csv", "uri": path, "label": "y"}
    others = {
        "another placement": {"placement": {"kind": "iid"}},
        "other chunks": {"chunk_rows": 1000},
    }
    raw = {"first": []}
    for _ in range(options.repeats):
        measured.fresh()
        raw["first"].append(measured.ballast("data", "prepare", measured.write(job(train))))
        for name, data in others.items():
            raw.setdefault(name, []).append(measured.ballast("data", "prepare", measured.write(job(train, **data))))
        three = job(train)
        three["elastic"] = {"workers": 3}
        raw.setdefault("3 workers", []).append(measured.ballast("data", "prepare", measured.write(three)))
    table([("", "s", "processor s")] + [(n, f"{middle(r, 's'):.2f}", f"{middle(r, 'cpu_s'):.2f}") for n, r in raw.items()])
    for name, runs in raw.items():
        if name != "first":
            verdicts.at_most(f"{name}, over the first time", middle(runs, "s") / middle(raw["first"], "s"), AGAIN_MAX, "x")
    os.remove(path)
    return raw


def batches(options, measured, verdicts):
    path = os.path.join(measured.folder, "numbers.csv")
    write_numbers(path, 0, BATCH_ROWS)
    train = {"format": "csv", "uri": path, "label": "y"}
    what = job(train, pipeline=[{"op": "scale", "factor": 0.5}])
    what["model"] = {"kind": "emulated"}
    what["elastic"] = {"workers": 1}
    what["train"]["epochs"] = BATCH_EPOCHS
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # and so all processes that this one starts

    def ours():
        measured.fresh()
        folder = os.path.join(measured.folder, "run")
        shutil.rmtree(folder, ignore_errors=True)
        source = measured.write(what)
        prepared = measured.ballast("data", "prepare", source)
        measured.ballast("run", source, "--run-dir", folder, "--no-progress")
        with open(os.path.join(folder, "report.json")) as f:
            training_s = json.load(f)["wall_s"]
        return {
            "prepared_s": prepared["s"],
            "training_s": training_s,
            "first": BATCH_ROWS / (prepared["s"] + training_s / BATCH_EPOCHS),
            "later": BATCH_ROWS * BATCH_EPOCHS / training_s,
        }

    def peer(name):
        found = peers.run("loaders.py", name, packed if name == "streaming" else path)
        return {**found, "rate": found["rows"] / found["s"]}

    peers = Peer(options.image_peers or options.peers)
    names = list(BATCH_PEERS) if peers.there() else []
    packed = os.path.join(measured.folder, "mds")
    if names:
        peers.run("loaders.py", "write", path, packed, BATCH_ROWS // 10)
    raw = {"ballast": [], **{name: [] for name in names}}
    for _ in range(options.repeats):
        raw["ballast"].append(ours())
        for name in names:
            raw[name].append(peer(name))
    os.sched_setaffinity(0, cores)
    rates = {
        "ballast, prepared and the first epoch": middle(raw["ballast"], "first"),
        "ballast, a later epoch": middle(raw["ballast"], "later"),
        **{name: middle(raw[name], "rate") for name in names},
    }
    table([("", "rows/s")] + [(name, f"{rate:,.0f}") for name, rate in rates.items()])
    for name in names:
        which = "later" if name == "streaming" else "first"
        ratio = middle(raw["ballast"], which) / rates[name]
        verdicts.at_least(f"rows a second, over {name}", ratio, BATCH_PEERS[name], "x")
    os.remove(path)
    return raw


def images(options, measured, verdicts):
    program = built(options, "image_batches")
    peer = Peer(options.image_peers or options.peers)
    raw = {}
    for name, what in IMAGES.items():
        folder = os.path.join(measured.folder, name.replace(" ", ""))
        os.mkdir(folder)
        sizes = [str(side) for side in what["file"]]
        subprocess.run([program, "make", folder, *sizes, str(what["count"])], check=True)
        size = sum(os.path.getsize(os.path.join(folder, one)) for one in os.listdir(folder)) / what["count"]
        say(f"JPEG files of {name}, {size / 1000:.0f} kB each; images a second, one thread")
        rows = [str(side) for side in what["row"]]

        def ours(rows=rows, folder=folder):
            command = [program, "run", folder, *rows, str(CROP), "3"]
            return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

        resize = 0 if what["row"] == what["file"] else min(what["row"])
        found = {"ballast": [], **({"torchvision": []} if peer.there() else {})}
        for _ in range(options.repeats):
            found["ballast"].append(ours())
            if "torchvision" in found:
                found["torchvision"].append(peer.run("images.py", folder, resize, CROP, 3))
        keys = ["images_per_s", "decoded_per_s", "augmented_per_s"]
        lines = [("", "together", "decoded", "augmented")]
        table(lines + [(n, *(f"{middle(runs, key):.0f}" for key in keys)) for n, runs in found.items()])
        if "torchvision" in found:
            ratio = middle(found["ballast"], keys[0]) / middle(found["torchvision"], keys[0])
            verdicts.at_least(f"JPEG {name} to random parts, over torchvision", ratio, what["least"], "x")
        raw[name] = found
    return raw


PARTS = {
    "images": images,
    "batches": batches,
    "csv": csv,
    "tables": tables,
    "again": again,
    "postgres": sources.postgres,
    "s3": sources.s3,
    "preparing": functools.partial(preparing.preparing, write=write_numbers),
    "memory": limited.memory,
}
ONLY_IF_ASKED = ["postgres", "s3", "preparing", "memory"]


def main():
    def more(p):
        p.add_argument("--gb", type=float, default=1, help="size of the CSV file (default 1)")
        p.add_argument(
            "--image-peers",
            help="environment with torchvision and loaders, made by bench/peers/setup.sh DIR data (default: that of --peers)",
        )
        p.add_argument("--rows", type=int, default=10_000_000, help="of the larger table (default 10^7)")
        p.add_argument("--s3-rows", type=int, default=5_000_000, help="of the files in S3, 76 bytes each (default 5000000)")
        p.add_argument("--images", type=int, default=4000, help="of the folder that is prepared (default 4000)")
        p.add_argument("--memory-gb", type=float, default=2, help="size of the rows of the part memory (default 2)")
        p.add_argument("--limit-mb", type=int, default=200, help="and the limit of their memory (default 200)")

    usual = [part for part in PARTS if part not in ONLY_IF_ASKED]
    options = arguments(__doc__.splitlines()[0], usual, only_if_asked=ONLY_IF_ASKED, more=more)
    warn_if_busy()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Scratch() as disk, tempfile.TemporaryDirectory(dir="/dev/shm", prefix="ballast-bench-") as folder:
        measured = Measured(options, folder, disk)
        run_parts("data", options, {name: functools.partial(part, options, measured) for name, part in PARTS.items()})


if __name__ == "__main__":
    main()
