#!/usr/bin/env python3
"""What it wins that gradients travel compressed, and what that costs.

  ./dev bench compression [--repeats N] [--only PART] [--peers DIR] [--save] [--check]

link      Two hosts (network namespaces) with 100 Mbit/s between them, one worker
          each, a gradient of 25 MB (emulated model): steps a second of each kind
          over those of none. At least 1.8 times (bf16), 3.3 (int8), 10 (topk,
          1 %), 8 (powersgd, rank 4). Needs root.
hooks     The same two hosts, with 1 and 2 workers each, in turn with PyTorch's
          DistributedDataParallel over Gloo with its own hooks and as large a
          gradient: bf16 and powersgd at least as fast, bf16 with 2 workers a host
          1.5 times. DDP's powersgd stands still for ever now and then, with more
          than two ranks over Gloo: its time is `inf` then.
shared    Two workers in shared memory, the Fashion-MNIST mlp: `auto` at most 2 %
          slower than none.
accuracy  Fashion-MNIST mlp and cnn, 3 epochs, 2 workers, 5 seeds, with a learning
          rate of 0.003 that falls to 0 (cosine): the mean within half a point of
          none, topk within one; topk begins with more values (an epoch).

Medians over the repeats, alternated.
"""
import json
import math
import os
import statistics
import subprocess

from lib.measure import (
    ROOT,
    Ballast,
    Peer,
    Scratch,
    arguments,
    run_parts,
    say,
    step_times_ms,
    summary,
    table,
    warn_if_busy,
)
from lib.two_hosts import ADDRESSES, DEVICE, NotHere, command_on, train, two_hosts

KINDS = {
    "none": {},
    "bf16": {"compression": "bf16"},
    "int8": {"compression": "int8"},
    "topk": {"compression": "topk", "compression_ratio": 0.01},
    "powersgd": {"compression": "powersgd", "compression_rank": 4},
    "auto": {"compression": "auto"},
}
TIMES_MIN = {"bf16": 1.8, "int8": 3.3, "topk": 10, "powersgd": 8}
MBIT = 100
PARAMETERS = 6_250_000  # 25 MB
STEP_US = 20_000
STANDS_STILL_S = 120  # a run of DDP that takes longer
STEPS = {"none": 14, "bf16": 20, "int8": 30, "topk": 80, "powersgd": 80, "auto": 60}
SKIP = {"auto": 20}  # its trial; of the others 2
SLOWER_PERCENT_MAX = 2
HOOKS = {"none": None, "bf16": {1: 1.0, 2: 1.5}, "powersgd": {1: 1.0, 2: 1.0}}  # by workers a host: times theirs
SEEDS = 5
FALLING = ["/train/optimizer/lr=0.003", "/train/schedule/kind=cosine"]
POINTS_MAX = {"topk": 1.0}  # of 100, below none; of the others half of one


def settings(kind):
    return [f"/train/{field}={value}" for field, value in KINDS[kind].items()]


def emulated(steps):
    batch = 64
    return {
        "name": "compression",
        "data": {"train": {"format": "synthetic", "rows": steps * batch, "classes": 4, "features": 4},
                 "test_fraction": 0},
        "model": {"kind": "emulated", "parameters": PARAMETERS, "us_per_step": STEP_US, "us_per_sample": 0},
        "train": {"epochs": 1, "global_batch": batch, "optimizer": {"kind": "sgd", "lr": 0.0001}},
        "checkpoint": {"every_steps": 1_000_000},
        "balance": {"enabled": False},
    }


def ours_ms(options, kind, workers, scratch, repeat):
    job = os.path.join(scratch, f"{kind}.json")
    with open(job, "w", encoding="utf-8") as out:
        json.dump(emulated(STEPS[kind]), out)
    folder = os.path.join(scratch, f"{kind}-{workers}-{repeat}")
    t_ns = train(options.ballast, job, settings(kind), workers, folder, repeat % 2)
    return step_times_ms(t_ns, SKIP.get(kind, 2))["mean_ms"]


def link(options, verdicts):
    raw = {kind: [] for kind in KINDS}
    with Scratch() as scratch:
        try:
            with two_hosts(None, MBIT, 0):
                for repeat in range(options.repeats):
                    for kind in KINDS:
                        raw[kind].append(ours_ms(options, kind, 2, scratch, repeat))
        except NotHere as why:
            say(f"link: {why}")
            return raw
    say(f"\ntwo hosts, {MBIT} Mbit/s, {4 * PARAMETERS / 1e6:.0f} MB of gradient, {STEP_US / 1000:.0f} ms to compute it")
    rows = [("", "ms a step", "times none")]
    none = statistics.median(raw["none"])
    for kind, values in raw.items():
        mean = statistics.median(values)
        rows.append((kind, f"{mean:.0f}", f"{none / mean:.2f}"))
    table(rows)
    for kind, least in TIMES_MIN.items():
        verdicts.at_least(f"{kind}, {MBIT} Mbit/s", none / statistics.median(raw[kind]), least, "x none")
    return raw


def theirs_ms(peer, hook, ranks):
    script = os.path.join(ROOT, "bench", "peers", "ddp_hooks.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": DEVICE, "WORLD_SIZE": str(ranks)}
    environment.update(MASTER_ADDR=ADDRESSES[0], MASTER_PORT="29500")
    processes = [
        subprocess.Popen(
            command_on(rank % 2, peer.python, script, hook, PARAMETERS, STEP_US / 1000, STEPS[hook]),
            env={**environment, "RANK": str(rank)}, stdout=subprocess.PIPE, text=True,
        )
        for rank in range(ranks)
    ]
    try:
        said = [one.communicate(timeout=STANDS_STILL_S)[0] for one in processes]
    except subprocess.TimeoutExpired:
        for one in processes:
            one.kill()
            one.wait()
        return math.inf
    if any(one.returncode for one in processes):
        raise SystemExit("hooks: a rank of DDP failed; its last line says why")
    return statistics.mean(json.loads(said[0].splitlines()[-1])["ms"][3:])


def hooks(options, verdicts):
    peer = Peer(options.peers)
    raw = {}
    if not peer.there():
        return raw
    with Scratch() as scratch:
        try:
            with two_hosts(None, MBIT, 0):
                for repeat in range(options.repeats):
                    for a_host in (1, 2):
                        for kind in HOOKS:
                            ours = ours_ms(options, kind, 2 * a_host, scratch, repeat)
                            raw.setdefault(f"{kind}, {a_host} a host", []).append(ours)
                            theirs = theirs_ms(peer, kind, 2 * a_host)
                            say(f"  {kind}, {a_host} a host: {ours:.0f} ms, DDP {theirs:.0f}")
                            raw.setdefault(f"{kind}, {a_host} a host, DDP", []).append(theirs)
        except NotHere as why:
            say(f"hooks: {why}")
            return raw
    rows = [("workers a host", "", "ms a step", "DDP's", "times")]
    for a_host in (1, 2):
        for kind, least in HOOKS.items():
            ours, theirs = (statistics.median(raw[f"{kind}, {a_host} a host{who}"]) for who in ("", ", DDP"))
            rows.append((a_host, kind, f"{ours:.0f}", f"{theirs:.0f}", f"{theirs / ours:.2f}"))
            if least:
                verdicts.at_least(f"{kind}, {a_host} a host, over DDP's hook", theirs / ours, least[a_host], "x")
    table(rows)
    return raw


def shared(options, verdicts):
    raw = {"none": [], "auto": []}
    job = os.path.join(ROOT, "examples", "jobs", "fashion_mlp.json")
    with Scratch() as scratch:
        ballast = Ballast(options.ballast, scratch)
        for _ in range(options.repeats):
            for kind, values in raw.items():
                changes = ["/train/epochs=6", "/balance/enabled=false", *settings(kind)]
                values.append(ballast.run(job, changes, 2)["report"]["samples_per_s"])
    none, auto = (statistics.median(raw[kind]) for kind in ("none", "auto"))
    say(f"\nshared memory, mlp, 2 workers: none {none:,.0f} samples/s, auto {auto:,.0f}")
    verdicts.at_most("shared memory, auto slower than none", (none / auto - 1) * 100, SLOWER_PERCENT_MAX, "%")
    return raw


def accuracy(options, verdicts):
    kinds = [kind for kind in KINDS if kind != "auto"]
    raw = {f"{model}, {kind}": [] for model in ("mlp", "cnn") for kind in kinds}
    with Scratch() as scratch:
        ballast = Ballast(options.ballast, scratch)
        for seed in range(1, SEEDS + 1):
            for what, values in raw.items():
                model, kind = what.split(", ")
                job = os.path.join(ROOT, "examples", "jobs", f"fashion_{model}.json")
                changes = ["/train/epochs=3", f"/seed={seed}", *FALLING, *settings(kind)]
                if kind == "topk":
                    changes.append("/train/compression_warmup_steps=235")
                values.append(100 * ballast.run(job, changes, 2)["report"]["test_accuracy"])
    say(f"\nFashion-MNIST, 3 epochs, 2 workers, {SEEDS} seeds: accuracy in percent")
    mean = {what: statistics.mean(values) for what, values in raw.items()}
    rows = [("", "mean", "least", "most", "below none")]
    for what, values in raw.items():
        model, kind = what.split(", ")
        below = mean[f"{model}, none"] - mean[what]
        rows.append((what, f"{mean[what]:.2f}", f"{min(values):.2f}", f"{max(values):.2f}", f"{below:+.2f}"))
        if kind != "none":
            verdicts.at_most(f"{what}, accuracy below none", below, POINTS_MAX.get(kind, 0.5), "points")
    table(rows)
    return raw


def kept(raw, digits):
    return {kind: summary(values, digits) | {"raw": values} for kind, values in raw.items()}


def main():
    options = arguments(__doc__.splitlines()[0], ["link", "hooks", "shared", "accuracy"])
    warn_if_busy()
    run_parts("compression", options, {
        "link": lambda verdicts: kept(link(options, verdicts), 2),
        "hooks": lambda verdicts: kept(hooks(options, verdicts), 2),
        "shared": lambda verdicts: kept(shared(options, verdicts), 0),
        "accuracy": lambda verdicts: kept(accuracy(options, verdicts), 2),
    })


if __name__ == "__main__":
    main()
