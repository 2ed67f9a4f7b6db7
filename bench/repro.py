#!/usr/bin/env python3
"""What it costs that a run ends with the same bits for every number of workers.

  ./dev bench repro [--repeats N] [--kills N] [--seconds S] [--only PART]
                    [--peers DIR] [--save] [--check]

cost     order global and reduction canonical with 8 leaves against the usual
         (local, fused): the Fashion-MNIST examples and the transformer, 1 and 2
         workers, all cores. 1 worker: at most 5 % slower; 2 workers: cnn and
         transformer 12 %, mlp 35 %. Balancing is off: it is not what is measured.
ddp      canonical with 2 workers against PyTorch's DistributedDataParallel over
         Gloo, tensors in memory: at least 3 times (mlp), 1.3 times (cnn).
digests  canonical with digests of the parameters every 50 steps against none:
         at most 0.5 % slower.
verify   canonical where every 50 steps leaves are computed twice against never: at
         most 0.5 % slower.
wait     the part of a step that waits for rows in order global, a cnn on 2 workers:
         where the set fits into memory at most 2 %; where each worker may keep a
         quarter of it and rows are drawn within a window, 5 %.
idle     the part of the time in which workers wait for the slowest, whose leaves
         take 1, 1, 1, 4 times as long, with 8 and with 32 leaves; and the speed
         over that of the best split of rows.
bits     weights_sha256 with 1, 2, 3, 4, 5 and 7 workers: one.
recovery kill -9 of a random one of 4 workers at a random moment, until the first
         step of a generation without it: a model of 25 MB whose rows cost so
         much that a step of 4 workers takes 50 ms, canonical with 32 leaves
         against fused: at most 0.75 times as long (p50). The others keep what
         leaves of the step they have computed.

A run's speed is `samples_per_s` of report.json, from the first step on and
without evaluation. Medians over the repeats, alternated.
"""
import os
import random
import signal
import statistics
import sys

from lib.global_order import idle, wait
from lib.kills import MB_25, emulated, kills, phase_table, seconds
from lib.measure import (
    ROOT,
    Ballast,
    Peer,
    Scratch,
    arguments,
    run_parts,
    say,
    summary,
    table,
    warn_if_busy,
)
from lib.observed import Runs

SLOWER_PERCENT_MAX = {
    (1, "mlp"): 5, (1, "cnn"): 5, (1, "transformer"): 5,
    (2, "mlp"): 35, (2, "cnn"): 12, (2, "transformer"): 12,
}
RECOVERY_RATIO_MAX = 0.75  # p50, canonical over fused
TIMES_DDP_MIN = {"mlp": 3.0, "cnn": 1.3}
EPOCHS = {"mlp": 6, "cnn": 1, "transformer": 6}
CANONICAL = ["/train/order=global", "/train/reduction=canonical", "/train/leaves=8"]


def job_of(model):
    name = model if model == "transformer" else f"fashion_{model}"
    return os.path.join(ROOT, "examples", "jobs", f"{name}.json")


def speed(ballast, model, workers, changes):
    settings = [f"/train/epochs={EPOCHS[model]}", "/balance/enabled=false"]
    return ballast.run(job_of(model), settings + changes, workers)["report"]["samples_per_s"]


def alternated(subjects, repeats):
    raw = {name: [] for name in subjects}
    for _ in range(repeats):
        for name, run in subjects.items():
            raw[name].append(run())
    return raw


def cost(ballast, options, verdicts):
    subjects = {}
    for model in EPOCHS:
        for workers in (1, 2):
            for how, changes in (("fused", []), ("canonical", CANONICAL)):
                subjects[f"{model}, {workers}, {how}"] = (
                    lambda m=model, w=workers, c=changes: speed(ballast, m, w, c))
    raw = alternated(subjects, options.repeats)
    say(f"\nsamples/s, global batch of the examples; medians of {options.repeats} repeats")
    rows = [("", "fused", "canonical", "slower")]
    percents = {}
    for model in EPOCHS:
        for workers in (1, 2):
            fused, canonical = (
                statistics.median(raw[f"{model}, {workers}, {how}"]) for how in ("fused", "canonical"))
            percents[workers, model] = (fused / canonical - 1) * 100
            rows.append((f"{model}, {workers} worker{'s' if workers > 1 else ''}", f"{fused:,.0f}",
                         f"{canonical:,.0f}", f"{percents[workers, model]:+.1f} %"))
    table(rows)
    for (workers, model), limit in SLOWER_PERCENT_MAX.items():
        verdicts.at_most(f"{model}, {workers}: canonical slower than fused", percents[workers, model], limit, "%")
    return {name: summary(values, 0) | {"raw": values} for name, values in raw.items()}


def ddp(ballast, peer, options, verdicts):
    subjects = {}
    for model in TIMES_DDP_MIN:
        subjects[f"{model}, canonical"] = (
            lambda m=model: speed(ballast, m, 2, CANONICAL + ["/train/threads=1"]))
        subjects[f"{model}, ddp"] = lambda m=model: statistics.median(peer.run(
            "ddp_fashion.py", "--model", m, "--world", 2, "--loader", "memory", "--epochs", EPOCHS[m]
        )["samples_per_s"])
    raw = alternated(subjects, options.repeats)
    for model, least in TIMES_DDP_MIN.items():
        times = statistics.median(raw[f"{model}, canonical"]) / statistics.median(raw[f"{model}, ddp"])
        verdicts.at_least(f"{model}: canonical over ddp in memory, 2 workers", times, least, "times")
    return {name: summary(values, 0) | {"raw": values} for name, values in raw.items()}


def digests(ballast, options, verdicts):
    subjects = {
        f"every {every}": lambda e=every: speed(
            ballast, "mlp", 2, CANONICAL + [f"/train/digest_every_steps={e}", "/train/epochs=20"])
        for every in (0, 50)
    }
    raw = alternated(subjects, options.repeats)
    without, some = (statistics.median(raw[f"every {every}"]) for every in (0, 50))
    verdicts.at_most("mlp, 2 workers: digests every 50 steps", (without / some - 1) * 100, 0.5, "%")
    return {name: summary(values, 0) | {"raw": values} for name, values in raw.items()}


def verify(ballast, options, verdicts):
    subjects = {
        f"every {every}": lambda e=every: speed(
            ballast, "mlp", 2, CANONICAL + [f"/verify/every_steps={e}", "/train/epochs=20"])
        for every in (0, 50)
    }
    raw = alternated(subjects, options.repeats)
    without, some = (statistics.median(raw[f"every {every}"]) for every in (0, 50))
    verdicts.at_most("mlp, 2 workers: spot checks every 50 steps", (without / some - 1) * 100, 0.5, "%")
    return {name: summary(values, 0) | {"raw": values} for name, values in raw.items()}


def bits(ballast, _options, verdicts):
    hashes = {}
    for workers in (1, 2, 3, 4, 5, 7):
        report = ballast.run(job_of("mlp"), ["/train/epochs=1", *CANONICAL], workers)["report"]
        hashes[workers] = report["weights_sha256"]
        say(f"  {workers} workers: {report['weights_sha256']}")
    verdicts.at_most("different weights of 1, 2, 3, 4, 5, 7 workers", len(set(hashes.values())), 1, "")
    return {"weights_sha256": hashes}


def recovery(options, runs, verdicts):
    """The same rows and the same cost of a row in both."""
    rows, step_us, world = 64, 50_000, 4
    fused = emulated(world, MB_25, 0)
    fused["model"]["us_per_sample"] = step_us * world // rows
    fused["train"].update(global_batch=rows, threads=1)
    canonical = {**fused, "train": {**fused["train"], "order": "global", "reduction": "canonical", "leaves": 32}}
    dice = random.Random(4)
    raw = {"fused": [], "canonical": []}
    for _ in range(options.repeats):
        for how, job in (("fused", fused), ("canonical", canonical)):
            raw[how] += runs.watch(job, kills(world, max(1, options.kills // options.repeats), dice))
    say(f"\nkill -9 of one of {world} workers, 25 MB, until the next step; 32 leaves")
    lines = [("", "p50", "p99", "most", "kills", "a step")]
    for how, found in raw.items():
        step = statistics.median(one["step_ms"] for one in found)
        lines.append((how, *seconds([one["to_step_s"] for one in found]), f"{step:.0f} ms"))
    table(lines)
    for found in raw.values():
        phase_table(found)
    canonical_s, fused_s = (statistics.median(r["to_step_s"] for r in raw[how]) for how in ("canonical", "fused"))
    verdicts.at_most("recovery, p50: canonical over fused", canonical_s / fused_s, RECOVERY_RATIO_MAX, "times")
    return raw


def main():
    def more(p):
        p.add_argument("--kills", type=int, default=200, help="of each reduction in the part recovery (default 200)")
        p.add_argument("--seconds", type=float, default=20, help="of a measurement of `wait` (default 20)")

    known = ["cost", "ddp", "digests", "verify", "wait", "idle", "bits", "recovery"]
    options = arguments(__doc__.splitlines()[0], known, more=more)
    warn_if_busy()
    # On SIGTERM, still end the processes that it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Scratch() as scratch:
        ballast = Ballast(options.ballast, scratch)
        parts = {"cost": lambda verdicts: cost(ballast, options, verdicts)}
        if "ddp" in options.only:
            peer = Peer(options.peers)
            if peer.there():
                parts["ddp"] = lambda verdicts: ddp(ballast, peer, options, verdicts)
        parts["digests"] = lambda verdicts: digests(ballast, options, verdicts)
        parts["verify"] = lambda verdicts: verify(ballast, options, verdicts)
        parts["wait"] = lambda verdicts: wait(options, scratch, verdicts)
        parts["idle"] = lambda verdicts: idle(options, scratch, verdicts)
        parts["bits"] = lambda verdicts: bits(ballast, options, verdicts)
        parts["recovery"] = lambda verdicts: recovery(options, Runs(options, scratch), verdicts)
        run_parts("repro", options, parts)


if __name__ == "__main__":
    sys.exit(main())
