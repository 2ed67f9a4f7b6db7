#!/usr/bin/env python3
"""How long a step takes, and how many samples a second that is.

  ./dev bench step [--repeats N] [--only PART] [--peers DIR] [--save] [--check]

overhead  Steps that sleep 10 ms (bench/jobs/ten_ms_steps.json), 2 workers,
          against bench/bare_loop.cpp: the same sleep, the same all-reduce of
          the same bytes, one more of 64 bytes, and nothing else; with Gloo and
          with Ballast's own collective, because Gloo's times vary by more than
          the overhead. The overhead of Ballast (control plane, ledger, metrics,
          prefetch, optimizer) is at most 1 %.
mlp, cnn  The two Fashion-MNIST examples with 2 workers, against PyTorch's
          DistributedDataParallel over Gloo with the same model, batch and
          optimizer, a thread for each worker. With tensors in memory, which is
          the fastest input, and with the torchvision loader, which is the usual
          one. At least 2.0 times (mlp) and 1.0 times (cnn) the former.

Samples a second: of Ballast, `samples_per_s` of report.json, which counts from
the first step on; of the peer, the median over its epochs, the first one
without its first 20 steps. Both leave evaluation out.
"""
import os
import statistics
import subprocess
import sys

from lib.measure import (
    ROOT,
    Ballast,
    Peer,
    Scratch,
    Verdicts,
    arguments,
    built,
    keep,
    machine,
    say,
    step_times_ms,
    summary,
    table,
    warn_if_busy,
)

WARM_UP_STEPS = 50
# What bench/jobs/ten_ms_steps.json says, for the bare loop.
PARAMETERS, SLEEP_US, STEPS = 100_000, 10_000, 1000
OVERHEAD_PERCENT_MAX = 1.0
TIMES_DDP_MIN = {"mlp": 2.0, "cnn": 1.0}
EPOCHS = {"mlp": 3, "cnn": 1}


# -- overhead ------------------------------------------------------------------


def run_bare_loop(program, collective):
    command = [program, collective, str(PARAMETERS), str(SLEEP_US), str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"bare_loop failed with exit code {done.returncode}: {done.stderr}")
    return [int(line) for line in done.stdout.split()]


def overhead(ballast, options, verdicts):
    program = built(options, "bare_loop")
    job = os.path.join(ROOT, "bench", "jobs", "ten_ms_steps.json")

    def ours(collective):
        return ballast.run(job, [f"/train/collective={collective}"])["t_ns"]

    subjects = {}
    for collective in ("gloo", "ring"):
        subjects[f"bare loop, {collective}"] = lambda it=collective: run_bare_loop(program, it)
        subjects[f"ballast, {collective}"] = lambda it=collective: ours(it)
    raw = {name: [] for name in subjects}
    for _ in range(options.repeats):
        for name, run in subjects.items():
            raw[name].append(step_times_ms(run(), WARM_UP_STEPS))

    say(f"\nsteps of 10 ms, 2 workers, {PARAMETERS:,} parameters; medians of {options.repeats} repeats")
    middle = {
        name: {key: statistics.median(r[key] for r in runs) for key in ("mean_ms", "median_ms", "p99_ms")}
        for name, runs in raw.items()
    }
    rows = [("", "mean step", "median step", "99 of 100 below", "over its bare loop")]
    percents = {}
    for name, m in middle.items():
        who, collective = name.split(", ")
        if who == "ballast":
            percents[collective] = (m["mean_ms"] / middle[f"bare loop, {collective}"]["mean_ms"] - 1) * 100
        over = f"{percents[collective]:+.2f} %" if who == "ballast" else ""
        rows.append((name, f"{m['mean_ms']:.3f} ms", f"{m['median_ms']:.3f} ms", f"{m['p99_ms']:.3f} ms", over))
    table(rows)
    verdicts.at_most("overhead of the runtime on a step of 10 ms, gloo", percents["gloo"], OVERHEAD_PERCENT_MAX, "%")
    return {"parameters": PARAMETERS, "sleep_us": SLEEP_US, "medians": middle, "raw": raw}


# -- samples a second ----------------------------------------------------------


def training(model, ballast, peer, options, verdicts):
    job = os.path.join(ROOT, "examples", "jobs", f"fashion_{model}.json")

    def ours(workers):
        changes = [f"/train/epochs={EPOCHS[model]}", "/train/threads=1"]
        report = ballast.run(job, changes, workers)["report"]
        return {"samples_per_s": report["samples_per_s"], "accuracy": report["test_accuracy"]}

    def theirs(loader, world):
        result = peer.run(
            "ddp_fashion.py", "--model", model, "--world", world, "--loader", loader, "--epochs", EPOCHS[model]
        )
        return {"samples_per_s": statistics.median(result["samples_per_s"]), "accuracy": result["accuracy"][-1]}

    subjects = {"ballast, 2 workers": lambda: ours(2), "ballast, 1 worker": lambda: ours(1)}
    if peer:
        subjects["ddp, 2 workers, in memory"] = lambda: theirs("memory", 2)
        subjects["ddp, 2 workers, torchvision"] = lambda: theirs("torchvision", 2)
        subjects["ddp, 1 worker, in memory"] = lambda: theirs("memory", 1)
    raw = {name: [] for name in subjects}
    for _ in range(options.repeats):
        for name, run in subjects.items():
            raw[name].append(run())

    say(f"\nFashion-MNIST {model}, global batch 256 (ddp, 1 worker: 128); medians of {options.repeats} repeats")
    speeds = {name: summary([r["samples_per_s"] for r in runs], 0) for name, runs in raw.items()}
    ours_2 = speeds["ballast, 2 workers"]["median"]
    rows = [("", "samples/s", "least", "most", "accuracy", "ballast is")]
    for name, s in speeds.items():
        accuracy = statistics.median(r["accuracy"] for r in raw[name])
        times = f"{ours_2 / s['median']:.2f} x" if name.startswith("ddp, 2") else ""
        rows.append(
            (name, f"{s['median']:,.0f}", f"{s['min']:,.0f}", f"{s['max']:,.0f}", f"{accuracy:.3f}", times)
        )
    table(rows)
    if peer:
        times = ours_2 / speeds["ddp, 2 workers, in memory"]["median"]
        verdicts.at_least(f"{model}: samples/s over those of ddp in memory", times, TIMES_DDP_MIN[model], "times")
    return {"epochs": EPOCHS[model], "samples_per_s": speeds, "raw": raw}


def main():
    options = arguments(__doc__.splitlines()[0], ["overhead", "mlp", "cnn"])
    warn_if_busy()
    result = {"benchmark": "step", "machine": machine(), "repeats": options.repeats}
    peer = Peer(options.peers) if options.only != ["overhead"] else None
    if peer and not peer.there():
        peer = None
    verdicts = Verdicts()
    with Scratch() as scratch:
        ballast = Ballast(options.ballast, scratch)
        if "overhead" in options.only:
            result["overhead"] = overhead(ballast, options, verdicts)
        for model in ("mlp", "cnn"):
            if model in options.only:
                result[model] = training(model, ballast, peer, options, verdicts)
    result["verdicts"] = verdicts.found
    keep("step", result, options.save)
    sys.exit(1 if options.check and not verdicts.all_met() else 0)


if __name__ == "__main__":
    main()
