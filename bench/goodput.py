#!/usr/bin/env python3
"""How much of its speed a run keeps while its workers are killed again and again.

  ./dev bench goodput [--repeats N] [--seconds S] [--only PART] [--peers DIR] [--save] [--check]

kills      4 workers, a model of 25 MB, steps of 50 ms. kill -9 of a random worker every 15, 5 and 2 s; goodput is the
           number of committed steps in a time, over that of the same run without kills. Beside it torchft and torchrun
           with the same work, which restart dead workers as soon as they can.
           Below it the processor time of a kill and its replacement: on a machine with few cores, where no process
           waits, this is the gap to 1.

Time begins when all four train, and each case is a run of its own. The cases alternate, repeat by repeat.
"""
import functools
import os
import random
import signal
import statistics
import sys
import time

from lib.goodput import killed_often
from lib.kills import MB_25, emulated
from lib.measure import Peer, Scratch, arguments, run_parts, say, table, warn_if_busy
from lib.observed import Runs

WORKERS, STEP_US = 4, 50_000
EVERY_S = (15, 5, 2)
GOODPUT_MIN = {15: 0.99, 5: 0.97, 2: 0.93}


def peers_of(peer, seconds):
    """name -> what measures it: steps a second with a kill so often (0: never)."""
    if not peer:
        return {}

    def run(script, *how):
        def measured(every_s):
            try:
                return peer.run(script, *how, "--goodput", seconds, "--every", every_s)
            except SystemExit as problem:
                say(f"  {script} {' '.join(map(str, how))}, a kill every {every_s} s: {str(problem).splitlines()[0]}")
                return {"steps_per_s": 0.0, "kills": 0, "hung": True}

        return measured

    return {
        "torchft, tuned": run("torchft_kills.py", "--groups", WORKERS, "--setting", "tuned"),
        "torchft": run("torchft_kills.py", "--groups", WORKERS),
        "torchrun": run("torchrun_kills.py", "--world", WORKERS),
    }


def kills(options, runs, peer, verdicts):
    dice = random.Random(1)
    cases = (0, *EVERY_S)
    raw = {"ballast": {every: [] for every in cases}}
    theirs = peers_of(peer, options.seconds)
    for repeat in range(options.repeats):
        for every in cases:
            job = emulated(WORKERS, MB_25, STEP_US, respawn_limit=1000)
            raw["ballast"][every].append(runs.watch(job, killed_often(WORKERS, every, options.seconds, dice)))
            for name, measure in theirs.items() if repeat < options.peer_repeats else ():
                raw.setdefault(name, {e: [] for e in cases})[every].append(measure(every))
    say(f"\ngoodput of {WORKERS} workers, 25 MB, steps of 50 ms, {options.seconds} s each, medians of {options.repeats}")
    rows = [("", "no kill", *(f"every {e} s" for e in EVERY_S), "least", "steps/s undisturbed")]
    shares = {}
    for name, found in raw.items():
        base = statistics.median(r["steps_per_s"] for r in found[0]) or float("inf")
        share = {e: [r["steps_per_s"] / base for r in found[e]] for e in cases}
        shares[name] = {e: statistics.median(v) for e, v in share.items()}
        rows.append((name, *(f"{shares[name][e]:.3f}" for e in cases), f"{min(min(v) for v in share.values()):.3f}", f"{base:.2f}"))
    table(rows)
    for every, least in GOODPUT_MIN.items():
        verdicts.at_least(f"goodput, a kill every {every} s", shares["ballast"][every], least, "of undisturbed")
    quiet = statistics.median(r["processor_s"] / r["seconds"] for r in raw["ballast"][0])
    say(f"\nprocessor time: {quiet:.2f} of {os.cpu_count()} cores undisturbed; beyond that, by kill:")
    rows = [("", "processor time a kill", "share of the cores")]
    for every in EVERY_S:
        more = [(r["processor_s"] - quiet * r["seconds"]) / max(1, r["kills"]) for r in raw["ballast"][every]]
        rows.append((f"every {every} s", f"{statistics.median(more):.2f} s", f"{statistics.median(more) / every / os.cpu_count():.1%}"))
    table(rows)
    return raw


PARTS = {"kills": kills}


def main():
    def more(p):
        p.add_argument("--seconds", type=int, default=60, help="of each case (default 60)")
        p.add_argument("--peer-repeats", type=int, default=1, help="repeats in which the peers take part (default 1)")

    options = arguments(__doc__.splitlines()[0], list(PARTS), (), more)
    warn_if_busy()
    peer = Peer(options.peers)
    peer = peer if peer.there() else None
    # On SIGTERM, still end the processes that it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Scratch() as scratch:
        runs = Runs(options, scratch)
        run_parts("goodput", options, {n: functools.partial(part, options, runs, peer) for n, part in PARTS.items()})


if __name__ == "__main__":
    main()
