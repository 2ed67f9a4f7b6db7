#!/usr/bin/env python3
"""What the size of a set costs where a run starts, or loses a worker.

  ./dev bench ondemand [--repeats N] [--kills N] [--seconds S] [--only PART] [--save] [--check]

kill     kill -9 of a random one of 4 workers at a random moment, a model of
         25 MB, steps of 50 ms, until the next step without it: with sets of
         0.2 MB, of 1.6 GB in 2,000 chunks, and of 10^7 rows (640 MB) in 156,000
         chunks. Each takes about as long as the first. `--sets '20 GB'`: with
         rows that do not fit into memory, read from the disk.
start    From the command to the first step of the same jobs, prepared.
join     A new process, from its start to its first step, and how long the three
         others pause for it.
goodput  Steps of a run with 10^7 rows in a time, with a kill every 15, 5 and
         2 s, over those of the same run without.
memory   A CNN on 4 GB, two workers that may keep 256 MiB each and draw from a
         window, beside the same with all of it in memory: samples a second once
         the stores are full, and how long a step waits for its rows.

host     Memory of all processes of a run with 1.6 GB over that of one with
         0.2 MB: one copy of the rows, however many workers.
peers    Samples a second of a linear model on 20 GB from the disk, beside
         MosaicML Streaming, Lance and Grain on as many rows of the same size
         (bench/peers/stream_linear.py); and which rows they lose or repeat when
         the number of workers changes and one of them dies.
link     The same kill where two hosts with two workers each have a line of 1
         Gbit/s between them, a set of 8 GB and no disk in common; and samples a
         second from then until what the dead worker owned has come, over those
         behind it. Needs root.

Needs 4 GB of memory, `memory` and `link` 10 GB, `peers` 41 GB of disk. The sets are prepared first, once, in the
folder of the benchmark.
"""
import functools
import os
import random
import shutil
import signal
import statistics
import sys
import time

from lib.goodput import killed_often
from lib.joins import joins
from lib.kills import MB_25, emulated, kills, p99, phase_table, seconds
from lib.link import link
from lib.measure import Peer, Scratch, arguments, run_parts, say, table, warn_if_busy
from lib.observed import Runs
from lib.phases import pace, rate, wait_for_full_stores

from harness.live_run import LiveRun

WORKERS, STEP_US = 4, 50_000
SETS = {
    "0.2 MB": ({"rows": 10_007, "classes": 4, "features": 4}, {}),
    "1.6 GB": ({"rows": 2_000_000, "classes": 4, "features": 200}, {"chunk_rows": 1_000}),
    "10^7 rows": ({"rows": 10_000_000, "classes": 4, "features": 16}, {"chunk_rows": 64}),
    "20 GB": ({"rows": 1_000_000, "classes": 4, "features": 5_000}, {"chunk_rows": 64, "memory_mb": 2_000}),
}
USUAL_SETS = list(SETS)[:3]
OVER_SMALLEST_MAX = 1.25
JOIN_S_MAX = 0.8
PAUSE_BEYOND_STEP_MS_MAX = 20
JOINS = 3  # a repeat
GOODPUT_MIN = {15: 0.98, 5: 0.96, 2: 0.90}
FIRST_STEP_S_MAX = 0.6
OVER_PEER_MIN = 2
COPIES_MAX = 1.25
RATE_MIN, DATA_SHARE_MAX = 0.95, 0.02


def job_of(name, workers=WORKERS, **elastic):
    train, data = SETS[name]
    return emulated(workers, MB_25, STEP_US, train=train, data=data, **elastic)


def kill(options, runs, verdicts):
    dice = random.Random(4)
    raw = {name: [] for name in options.sets}
    for _ in range(options.repeats):
        for name, found in raw.items():
            each = max(1, options.kills // options.repeats)
            found += runs.watch(job_of(name), kills(WORKERS, each, dice))
    medians = {name: statistics.median(r["to_step_s"] for r in found) for name, found in raw.items()}
    least = medians[options.sets[0]]
    say(f"\nkill -9 of one of {WORKERS} workers, 25 MB, until the next step")
    rows = [("set", "p50", "p99", "most", "kills", "over the first")]
    for name, found in raw.items():
        rows.append((name, *seconds([r["to_step_s"] for r in found]), f"{medians[name] / least:.2f} x"))
    table(rows)
    for name, found in raw.items():
        say(f"\n  {name}, p99 {p99([r['to_step_s'] for r in found]):.3f} s")
        phase_table(found)
    for name in options.sets[1:]:
        verdicts.at_most(f"kill, {name}, over {options.sets[0]}", medians[name] / least, OVER_SMALLEST_MAX, "x")
    return raw


def start(options, runs, verdicts):
    raw = {name: [] for name in options.sets}
    for name in raw:
        runs.watch(job_of(name), lambda live: None)  # prepares it
    for _ in range(options.repeats):
        for name, found in raw.items():
            begun_ns = time.monotonic_ns()
            folder = os.path.join(runs.scratch, f"start-{len(found)}-{options.sets.index(name)}")
            with LiveRun(job_of(name), folder, os.path.join(runs.scratch, "cache"), program=options.ballast) as live:
                live.wait_full(WORKERS, steps=1)
                found.append((live.steps.lines[0]["t_ns"] - begun_ns) / 1e9)
                live.stop()
    say("\nfrom the command to the first step, data prepared, 4 workers, 25 MB")
    rows = [("set", "p50", "p99", "most", "starts")]
    for name, found in raw.items():
        rows.append((name, *seconds(found)))
        verdicts.at_most(f"first step, {name}", statistics.median(found), FIRST_STEP_S_MAX, "s")
    table(rows)
    return raw


def join(options, runs, verdicts):
    raw = {name: [] for name in options.sets}
    for _ in range(options.repeats):
        for name, found in raw.items():
            found += runs.watch(job_of(name, WORKERS - 1), joins(WORKERS, JOINS))
    say("\na fourth worker joins three, 25 MB")
    rows = [("set", "process to first step", "most", "a step", "longest pause", "most", "joins")]
    for name, found in raw.items():
        middle = {key: statistics.median(r[key] for r in found) for key in found[0]}
        rows.append(
            (
                name,
                f"{middle['join_s']:.3f} s",
                f"{max(r['join_s'] for r in found):.3f} s",
                f"{middle['step_ms']:.0f} ms",
                f"{middle['pause_ms']:.0f} ms",
                f"{max(r['pause_ms'] for r in found):.0f} ms",
                len(found),
            )
        )
        verdicts.at_most(f"join, {name}, to the first step", middle["join_s"], JOIN_S_MAX, "s")
        beyond = statistics.median(r["pause_ms"] - r["step_ms"] for r in found)
        verdicts.at_most(f"join, {name}, pause beyond a step", beyond, PAUSE_BEYOND_STEP_MS_MAX, "ms")
    table(rows)
    return raw


def goodput(options, runs, verdicts):
    dice = random.Random(1)
    name = USUAL_SETS[-1]
    raw = {every: [] for every in (0, *GOODPUT_MIN)}
    for _ in range(options.repeats):
        for every, found in raw.items():
            job = job_of(name, respawn_limit=1000)
            found.append(runs.watch(job, killed_often(WORKERS, every, options.seconds, dice)))
    base = statistics.median(r["steps_per_s"] for r in raw[0])
    say(f"\ngoodput, {name}, {options.seconds} s each; {base:.2f} steps a second undisturbed")
    rows = [("a kill every", "goodput", "least", "kills")]
    for every, least in GOODPUT_MIN.items():
        shares = [r["steps_per_s"] / base for r in raw[every]]
        rows.append((f"{every} s", f"{statistics.median(shares):.3f}", f"{min(shares):.3f}", sum(r["kills"] for r in raw[every])))
        verdicts.at_least(f"goodput, {name}, a kill every {every} s", statistics.median(shares), least, "of undisturbed")
    table(rows)
    return {name: raw}


def windowed(memory_mb):
    """4.0 GB of images."""
    return {
        "version": 1,
        "name": "window",
        "data": {
            "train": {"format": "synthetic", "rows": 1_280_000, "classes": 10, "features": 784},
            "test_fraction": 0,
            "pipeline": [{"op": "reshape", "shape": [1, 28, 28]}],
            "chunk_rows": 256,
            "memory_mb": memory_mb,
        },
        "model": {"kind": "cnn", "channels": [16, 32]},
        "train": {
            "epochs": 1000,
            "global_batch": 256,
            "shuffle": {"window_chunks": 32},
            "optimizer": {"kind": "sgd", "lr": 0.01},
        },
        "elastic": {"workers": 2},
    }


def memory(options, runs, verdicts):
    raw = {"all in memory": [], "256 MiB each": []}
    for _ in range(options.repeats):
        for (name, found), memory_mb in zip(raw.items(), (None, 256)):
            found.append(runs.watch(windowed(memory_mb), pace(options.seconds)))
    say(f"\na CNN on 4.0 GB, 2 workers, a window of 32 chunks of 256 rows, {options.seconds} s each")
    rows = [("rows are", "samples/s", "least", "most", "waits for rows")]
    for name, found in raw.items():
        rates = [r["samples_per_s"] for r in found]
        waits = statistics.median(r["data_share"] for r in found)
        rows.append((name, f"{statistics.median(rates):.0f}", f"{min(rates):.0f}", f"{max(rates):.0f}", f"{waits:.2%}"))
    table(rows)
    pairs = [b["samples_per_s"] / a["samples_per_s"] for a, b in zip(*raw.values())]
    verdicts.at_least("memory, samples/s over all in memory", statistics.median(pairs), RATE_MIN, "x")
    waits = statistics.median(r["data_share"] for r in raw["256 MiB each"])
    verdicts.at_most("memory, part of a step that waits for rows", waits, DATA_SHARE_MAX, "")
    return raw


def pss_bytes(pid):
    """Memory of a process; what several map counts in parts."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024


def host(options, runs, verdicts):
    """Of the processes of a run, once all rows are in memory."""

    def together(live):
        wait_for_full_stores(live)
        return sum(pss_bytes(pid) for pid in (live.coordinator, *live.workers().values()))

    raw = {name: [] for name in ("0.2 MB", "1.6 GB")}
    for _ in range(options.repeats):
        for name, found in raw.items():
            found.append(runs.watch(job_of(name), together))
    size = SETS["1.6 GB"][0]
    set_bytes = size["rows"] * (4 * size["features"] + 12)
    copies = statistics.median((b - a) / set_bytes for a, b in zip(*raw.values()))
    say(f"\nmemory of a run with {WORKERS} workers on one machine")
    lines = [("set", "all processes")] + [(name, f"{statistics.median(found) / 1e6:.0f} MB") for name, found in raw.items()]
    table(lines)
    verdicts.at_most("copies of the set in memory", copies, COPIES_MAX, "")
    return raw


LINEAR = {"rows": 1_000_000, "features": 5_000, "classes": 10}  # 20 GB
PEERS = ("mosaic", "lance", "grain")
LINEAR_BATCH, LINEAR_WORKERS, LINEAR_MEMORY_MB = 256, 2, 2_000


def linear_job(gb):
    """Our side of bench/peers/stream_linear.py, with a tenth of the set in memory."""
    train = {"format": "synthetic", **LINEAR, "rows": LINEAR["rows"] * gb // 20}
    return {
        "version": 1,
        "name": "linear",
        "data": {
            "train": train,
            "test_fraction": 0,
            "chunk_rows": 64,
            "memory_mb": LINEAR_MEMORY_MB * gb // 20 // LINEAR_WORKERS,
        },
        "model": {"kind": "logistic"},
        "train": {
            "epochs": 1000,
            "global_batch": LINEAR_BATCH,
            "threads": 1,
            "shuffle": {"window_chunks": 64},
            "optimizer": {"kind": "sgd", "lr": 0.01},
        },
        "elastic": {"workers": LINEAR_WORKERS},
    }


def samples_per_s(seconds_each):
    def go(live):
        first = live.steps.lines[-1]
        time.sleep(seconds_each)
        live.poll()
        return rate(live, first)

    return go


# Of 20 GB: the quickest is still in its first epoch then.
FROM_DISK_S = 10


def forget_pages():
    """What was read before is read from the disk again."""
    try:
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as caches:
            caches.write("1")
    except OSError as why:
        say(f"note: {why}: some of the rows come from memory")


def peers(options, runs, verdicts):
    """One peer's set at a time is on the disk beside ours."""
    peer = Peer(options.peers)
    if not peer.there():
        return {}
    job = linear_job(options.peer_gb)
    runs.watch(job, lambda live: None)  # prepares it
    rows = job["data"]["train"]["rows"]
    raw = {}
    for what in options.what:
        folder = os.path.join(runs.scratch, what)
        size = ("--rows", rows, "--features", LINEAR["features"], "--classes", LINEAR["classes"])
        peer.run("stream_linear.py", "--what", what, "--write", folder, *size)
        seconds_each = FROM_DISK_S * options.peer_gb // 20 or 1
        read = ("--read", folder, "--seconds", seconds_each, "--world", LINEAR_WORKERS, "--batch", LINEAR_BATCH)
        raw[what] = []
        for _ in range(options.repeats):
            forget_pages()
            theirs = peer.run("stream_linear.py", "--what", what, *read)["samples_per_s"]
            forget_pages()
            raw[what].append({"theirs": theirs, "ours": runs.watch(job, samples_per_s(seconds_each))})
        shutil.rmtree(folder, ignore_errors=True)
    say(f"\na linear model on {options.peer_gb} GB from the disk, {LINEAR_WORKERS} workers, batch {LINEAR_BATCH}")
    lines = [("peer", "theirs", "ours", "ours over theirs")]
    for what, found in raw.items():
        ratio = statistics.median(r["ours"] / r["theirs"] for r in found)
        theirs, ours = (statistics.median(r[whose] for r in found) for whose in ("theirs", "ours"))
        lines.append((what, f"{theirs:.0f}/s", f"{ours:.0f}/s", f"{ratio:.2f} x"))
        verdicts.at_least(f"linear from the disk, over {what}", ratio, OVER_PEER_MIN, "x")
    table(lines)
    exactness(peer, options.what)
    return raw


def exactness(peer, which):
    say("\n10,007 rows, 2 -> 3 -> 1 workers, one of the three killed: what the peers lose or repeat (ours: 0, 0)")
    lines = [("peer", "lost", "repeated", "hung", "refused")]
    for what in which:
        found = peer.run("stream_exactness.py", "--what", what)
        lines.append((what, found["lost"], found["repeated"], found["hung"], found["refused"] or "-"))
    table(lines)


PARTS = {"kill": kill, "start": start, "join": join, "goodput": goodput, "memory": memory, "host": host, "link": link, "peers": peers}


def main():
    def more(p):
        p.add_argument("--kills", type=int, default=50, help="for each set (default 50)")
        p.add_argument("--seconds", type=int, default=60, help="of each case of goodput (default 60)")
        p.add_argument("--peer-gb", type=int, default=20, help="size of the set in `peers` (default 20)")
        p.add_argument("--what", choices=PEERS, action="append", help="only this peer; may be repeated")
        p.add_argument("--sets", choices=list(SETS), action="append", help="only this set; may be repeated")

    options = arguments(__doc__.splitlines()[0], list(PARTS), more=more)
    options.sets = options.sets or USUAL_SETS
    options.what = options.what or PEERS
    os.environ.setdefault("BALLAST_CACHE_LIMIT_GB", "60")
    warn_if_busy()
    # On SIGTERM, still end the processes that it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Scratch() as scratch:
        runs = Runs(options, scratch)
        run_parts("ondemand", options, {name: functools.partial(part, options, runs) for name, part in PARTS.items()})


if __name__ == "__main__":
    main()
