#!/usr/bin/env python3
"""How soon training goes on after a worker dies, freezes or comes.

  ./dev bench recovery [--repeats N] [--kills N] [--only PART] [--peers DIR]
                       [--long] [--save] [--check]

kill       kill -9 of a random worker at a random moment, until the first step
           of a generation without it: a model of 25 MB, steps of 50 ms, with 4
           and with 2 workers. Beside it torchrun and torchft with the same work.
protocol   The same without a model and with steps of 10 ms: the time that neither
           data nor gradients cause.
join       A new process, from its start to its first step, and how long the
           others pause for it: a model of 25 MB, and one of 100 MB.
silence    SIGSTOP of a random worker, until the first step without it.
control    A change among 256 workers: the coordinator's processor time until
           it is decided and every worker's order is ready; no worker computes.
kills1000  1,000 kills in one run (some minutes, only with --long or --only):
           no sample may be lost or repeated, and no resource may grow.

A step's time is `t_ns` of steps.jsonl: the first apply among the workers that
hold it. Kills are spread over the repeats, each of which is a run of its own;
the peers alternate with it. After a kill the next one waits until all workers
train again, and up to 0.1 s more.
"""
import functools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time

from lib.joins import joins
from lib.kills import MB_25, emulated, gone, kills, p99, phase_table, results, seconds, strike
from lib.measure import ROOT, Peer, Scratch, arguments, built, run_parts, say, table, warn_if_busy
from lib.observed import Runs

MB_100 = 25_000_000  # parameters
KILL_P50_S_MAX = {4: 0.15, 2: 0.10}
KILL_P99_S_MAX = {4: 0.35}
BEYOND_STEP_MS_MAX = 30
JOIN_S_MAX = 0.8
PAUSE_BEYOND_STEP_MS_MAX = {MB_25: 50, MB_100: 100}
CONTROL_RATIO_MAX = {256: 1.5, 1024: 2.5}  # by workers, of the p99 of 4
SILENCE_S_MAX = {200: 1.5, 100: 0.8}  # by heartbeat_ms
JOINS, SILENCES = 6, 4  # a repeat


# -- kill ----------------------------------------------------------------------


def kill(options, runs, peer, verdicts):
    dice = random.Random(1)
    each = max(1, options.kills // options.repeats)
    theirs = max(2, each // 20)  # they take longer
    peers = {
        "torchrun": lambda world: peer.run("torchrun_kills.py", "--world", world, "--kills", theirs),
        "torchft": lambda world: peer.run("torchft_kills.py", "--groups", world, "--kills", theirs),
        "torchft, tuned": lambda world: peer.run(
            "torchft_kills.py", "--groups", world, "--kills", theirs, "--setting", "tuned"
        ),
    }
    raw = {world: {"ballast": []} for world in KILL_P50_S_MAX}
    for _ in range(options.repeats):
        for world, found in raw.items():
            found["ballast"] += runs.watch(emulated(world, MB_25, 50_000), kills(world, each, dice))
            for name, run in peers.items() if peer else ():
                found.setdefault(name, []).append(run(world))
    for world, found in raw.items():
        ours = [r["to_step_s"] for r in found["ballast"]]
        step = statistics.median(r["step_ms"] for r in found["ballast"])
        say(f"\nkill -9 of one of {world} workers, 25 MB, until the next step")
        rows = [("", "p50", "p99", "most", "kills", "a step", "ballast is")]
        rows.append(("ballast", *seconds(ours), f"{step:.0f} ms", ""))
        for name, peer_runs in list(found.items())[1:]:
            times = [t for r in peer_runs for t in r["to_step_s"]]
            hung = sum(r["hung"] for r in peer_runs)
            theirs_ms = statistics.median(t for r in peer_runs for t in r["step_ms"])
            ratio = f"{statistics.median(times) / statistics.median(ours):.1f} x" if times else "-"
            cells = seconds(times) if times else ("-", "-", "-", 0)
            rows.append((name + (f" ({hung} hung)" if hung else ""), *cells, f"{theirs_ms:.0f} ms", ratio))
        table(rows)
        phase_table(found["ballast"])
        verdicts.at_most(f"kill, {world} workers, p50", statistics.median(ours), KILL_P50_S_MAX[world], "s")
        if world in KILL_P99_S_MAX:
            verdicts.at_most(f"kill, {world} workers, p99", p99(ours), KILL_P99_S_MAX[world], "s")
    return raw


def protocol(options, runs, _, verdicts):
    dice = random.Random(2)
    raw = []
    for _ in range(options.repeats):
        job = emulated(4, 0, 10_000)
        raw += runs.watch(job, kills(4, max(1, options.kills // options.repeats), dice))
    beyond_ms = [r["to_step_s"] * 1e3 - r["step_ms"] for r in raw]
    say("\nkill -9 of one of 4 workers, no model, steps of 10 ms: beyond a step")
    rows = [("", "p50", "p99", "most", "kills")]
    rows.append(("ballast", *(f"{v:.1f} ms" for v in (statistics.median(beyond_ms), p99(beyond_ms), max(beyond_ms)))))
    rows[-1] += (len(raw),)
    table(rows)
    phase_table(raw)
    verdicts.at_most("protocol, p50 beyond a step", statistics.median(beyond_ms), BEYOND_STEP_MS_MAX, "ms")
    return raw


# -- join ----------------------------------------------------------------------


def join(options, runs, _, verdicts):
    raw = {MB_25: [], MB_100: []}
    for _ in range(options.repeats):
        for parameters, found in raw.items():
            found += runs.watch(emulated(3, parameters, 50_000), joins(4, JOINS))
    say("\na fourth worker joins three")
    rows = [("", "process to first step", "most", "a step, of 3", "of 4", "longest pause", "most", "joins")]
    for parameters, found in raw.items():
        middle = {key: statistics.median(r[key] for r in found) for key in found[0]}
        rows.append(
            (
                f"{parameters * 4 / 1e6:.0f} MB",
                f"{middle['join_s']:.3f} s",
                f"{max(r['join_s'] for r in found):.3f} s",
                f"{middle['step_ms']:.0f} ms",
                f"{middle['step_after_ms']:.0f} ms",
                f"{middle['pause_ms']:.0f} ms",
                f"{max(r['pause_ms'] for r in found):.0f} ms",
                len(found),
            )
        )
    table(rows)
    to_step_s = statistics.median(r["join_s"] for r in raw[MB_25])
    verdicts.at_most("join, 25 MB, to the first step", to_step_s, JOIN_S_MAX, "s")
    for parameters, found in raw.items():
        beyond = statistics.median(r["pause_ms"] - r["step_ms"] for r in found)
        what = f"join, {parameters * 4 / 1e6:.0f} MB, pause beyond a step of before"
        verdicts.at_most(what, beyond, PAUSE_BEYOND_STEP_MS_MAX[parameters], "ms")
    return raw


# -- silence -------------------------------------------------------------------


def silences(world, count, dice):
    def go(live):
        faults = []
        for _ in range(count):
            live.wait_full(world, steps=3)
            faults.append(strike(live, dice, lambda pid: os.kill(pid, signal.SIGSTOP)))
            gone(live, faults[-1])
            os.kill(faults[-1]["pid"], signal.SIGCONT)
        return results(live, faults)

    return go


def silence(options, runs, _, verdicts):
    dice = random.Random(3)
    raw = {heartbeat_ms: [] for heartbeat_ms in SILENCE_S_MAX}
    for _ in range(options.repeats):
        for heartbeat_ms, found in raw.items():
            found += runs.watch(emulated(4, MB_25, 50_000, heartbeat_ms=heartbeat_ms), silences(4, SILENCES, dice))
    say("\nSIGSTOP of one of 4 workers, 25 MB, until the next step")
    rows = [("", "p50", "p99", "most", "stops")]
    for heartbeat_ms, found in raw.items():
        rows.append((f"heartbeat_ms {heartbeat_ms}", *seconds([r["to_step_s"] for r in found])))
    table(rows)
    for heartbeat_ms, found in raw.items():
        phase_table(found)
        most = max(r["to_step_s"] for r in found)
        verdicts.at_most(f"silence, heartbeat_ms {heartbeat_ms}, worst", most, SILENCE_S_MAX[heartbeat_ms], "s")
    return raw


# -- a thousand kills ----------------------------------------------------------


def kills1000(options, _runs, _peer, verdicts):
    done = subprocess.run(
        [os.path.join(ROOT, "dev"), "chaos", "--kills", "1000", "--json"],
        env={**os.environ, "BALLAST_BINARY": options.ballast},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    found = json.loads(done.stdout) if done.stdout else {"faults": {}}
    if found["faults"].get("kill", 0) < 1000:
        raise SystemExit(f"./dev chaos ended after {found['faults']}, exit code {done.returncode}: {done.stderr}")
    say(f"\n{found['faults'].get('kill', 0)} kills in one run of {found['seconds']:.0f} s, 4 workers, steps of 2 ms")
    rows = [("", "memory", "file descriptors", "threads")]
    for name, (_, before, after) in found["held"].items():
        pairs = list(zip(before, after))[1:]
        rows.append((name, *(f"{a:.0f} -> {b:.0f}{unit}" for (a, b), unit in zip(pairs, (" MB", "", "")))))
    table(rows)
    say(f"  {found['steps']} steps, {found['generations']} generations, {found['worst_gap_s']:.2f} s at worst between two")
    for problem in found["problems"]:
        say(f"  {problem}")
    verdicts.at_most("samples", abs(found["lost"]) + abs(found["repeated"]), 0, "lost or repeated")
    verdicts.at_most("proofs that fail, things that grow", len(found["problems"]), 0, "problems")
    return found


def control(options, _runs, _peer, verdicts):
    command = [built(options, "membership_change"), "40"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    raw = [json.loads(line) for line in found.splitlines()]
    say("\none of many workers dies: from its death to the first step, in virtual time: the coordinator's own time, "
        "messages of 0.2 ms over 1 GB/s, workers as above")
    say(f"  {'workers':>7s}  {'p50':>8s}  {'p99':>8s}  {'coordinator':>11s}  p99 beside 4")
    for one in raw:
        say(f"  {one['workers']:7d}  {one['p50_ms']:5.1f} ms  {one['p99_ms']:5.1f} ms  {one['coordinator_ms']:8.1f} ms"
            f"  {one['p99_ratio']:.2f} x")
        if one["workers"] in CONTROL_RATIO_MAX:
            verdicts.at_most(f"membership change, {one['workers']} workers, p99 beside that of 4", one["p99_ratio"],
                             CONTROL_RATIO_MAX[one["workers"]], "x")
    return raw


PARTS = {"kill": kill, "protocol": protocol, "join": join, "silence": silence, "control": control}
LONG = {"kills1000": kills1000}


def main():
    def more(p):
        p.add_argument("--kills", type=int, default=200, help="of Ballast's workers, for each row (default 200)")
        p.add_argument("--long", action="store_true", help="also what takes long: kills1000")

    options = arguments(__doc__.splitlines()[0], list(PARTS), list(LONG), more)
    if options.long:
        options.only = [*options.only, *LONG]
    warn_if_busy()
    peer = Peer(options.peers)
    peer = peer if "kill" in options.only and peer.there() else None
    # On SIGTERM, still end the processes that it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Scratch() as scratch:
        runs = Runs(options, scratch)
        parts = {**PARTS, **LONG}
        run_parts("recovery", options, {n: functools.partial(part, options, runs, peer) for n, part in parts.items()})


if __name__ == "__main__":
    main()
