"""A kill in a run of two hosts with a line between them and no disk in common:
for bench/ondemand.py."""
import json
import os
import random
import signal
import statistics
import time

from harness.live_run import ObservedRun

from lib.kills import emulated
from lib.measure import say, table
from lib.observed import PREPARED_S
from lib.two_hosts import Cluster, NotHere, two_hosts

WORKERS, STEP_US = 4, 50_000
MBIT = 1000
ROWS = {"rows": 2_000_000, "features": 1_000, "classes": 4}  # 8 GB
PARAMETERS = 250_000  # 1 MB: the line has room for rows
AFTER_S = 20  # of steps that lack nothing
TO_STEP_S_MAX, RATE_MIN = 0.15, 0.9


def wait(cluster, condition, what):
    """Returns the first true value of condition()."""
    until = time.monotonic() + PREPARED_S
    while not (value := condition()):
        if time.monotonic() > until:
            raise SystemExit(f"link: waited in vain for {what}; see {cluster.folder}")
        time.sleep(0.1)
    return value


def full_stores(cluster, names):
    """How often each said that all it owns is here."""
    said = {}
    for name in names:
        with open(cluster.log(name), encoding="utf-8") as log:
            said[name] = log.read().count(" train and ")
    return said


def samples_per_s(live, begin_ns, end_ns):
    inside = [s for s in live.steps.lines if begin_ns < s["t_ns"] <= end_ns]
    return sum(s["samples"] for s in inside[1:]) / ((inside[-1]["t_ns"] - inside[0]["t_ns"]) / 1e9)


def kill_apart(cluster, dice):
    names = sorted(cluster.pids)
    steps = wait(cluster, lambda: cluster.run_file("steps.jsonl"), "its first step")
    live = ObservedRun(os.path.dirname(steps))
    wait(cluster, lambda: all(full_stores(cluster, names).values()), "full stores")
    time.sleep(dice.uniform(1, 2))
    victim = dice.choice(names)
    others = [name for name in names if name != victim]
    before = full_stores(cluster, others)
    killed_ns = time.monotonic_ns()
    os.kill(cluster.pids[victim], signal.SIGKILL)
    wait(cluster, lambda: all(n > before[name] for name, n in full_stores(cluster, others).items()), "residency")
    back_ns = time.monotonic_ns()
    time.sleep(AFTER_S)
    live.poll()
    first = live.to_a_step_without(victim, killed_ns)
    rates = [samples_per_s(live, *span) for span in ((first["t_ns"], back_ns), (back_ns, time.monotonic_ns()))]
    return {
        "to_step_s": (first["t_ns"] - killed_ns) / 1e9,
        "until_back_s": (back_ns - killed_ns) / 1e9,
        "rate_meanwhile": rates[0],
        "rate_behind": rates[1],
    }


def link(options, runs, verdicts):
    dice = random.Random(7)
    job = emulated(WORKERS, PARAMETERS, STEP_US, train=ROWS, data={"chunk_rows": 1_000})
    file = os.path.join(runs.scratch, "apart.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump(job, out)
    raw = []
    try:
        with two_hosts(None, MBIT, 0):
            for _ in range(options.repeats):
                folder = os.path.join(runs.scratch, f"apart-{len(raw)}")
                caches = os.path.join(runs.scratch, "cache"), os.path.join(folder, "cache")
                with Cluster(options.ballast, WORKERS, folder, caches[0], other_cache=caches[1]) as cluster:
                    submitted = cluster.submit(file)
                    raw.append(kill_apart(cluster, dice))
                    cluster.ask("stop")
                    cluster.finish(submitted)
    except NotHere as why:
        say(f"link: {why}")
        return raw
    say(f"\ntwo hosts, {MBIT} Mbit/s, {WORKERS} workers, 8 GB, kill -9 of one")
    rows = [("until the next step", "until all is here", "samples/s meanwhile", "behind it")]
    for r in raw:
        rows.append((f"{r['to_step_s']:.3f} s", f"{r['until_back_s']:.1f} s", f"{r['rate_meanwhile']:.0f}", f"{r['rate_behind']:.0f}"))
    table(rows)
    verdicts.at_most("two hosts, kill to the next step", statistics.median(r["to_step_s"] for r in raw), TO_STEP_S_MAX, "s")
    share = statistics.median(r["rate_meanwhile"] / r["rate_behind"] for r in raw)
    verdicts.at_least("two hosts, samples/s until all is here", share, RATE_MIN, "x")
    return raw
