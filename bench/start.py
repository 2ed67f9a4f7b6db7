#!/usr/bin/env python3
"""How long it takes from a command to the first step, and what a worker holds.

  ./dev bench start [--repeats N] [--only PART] [--peers DIR] [--save] [--check]

start    `ballast run examples/jobs/fashion_mlp.json`, 2 workers, from the spawn
         of the command to the first committed step: once with an empty cache,
         once with prepared data (at most 0.8 s); against PyTorch's
         DistributedDataParallel with the same model, started by hand and by
         torchrun. Preparing the data set takes at most 3 s: from the start of
         the coordinator to the run's manifest. And once with the parameters of
         another run (`--from`), which are its bits: at most 0.6 s.
memory   The largest resident set of a worker (VmHWM) is at most the model, the
         optimizer's state, the worker's own chunks, and 200 MB.

A committed step's time is `t_ns` of steps.jsonl, on the same clock that this
program reads when it spawns the command.
"""
import calendar
import json
import os
import statistics
import sys
import time

from lib.measure import (
    ROOT,
    Ballast,
    Peer,
    Scratch,
    Verdicts,
    arguments,
    keep,
    machine,
    say,
    summary,
    table,
    warn_if_busy,
)

JOB = os.path.join(ROOT, "examples", "jobs", "fashion_mlp.json")
START_S_MAX = 0.8
BRANCH_S_MAX = 0.6
PREPARE_S_MAX = 3.0
EXTRA_MB_MAX = 200
ADAMW_MOMENTS = 2


def events(folder):
    with open(os.path.join(folder, "events.jsonl")) as f:
        return [json.loads(line) for line in f]


def phases(run):
    """Seconds from the spawn to each of the places on the way, in order."""
    found = {}
    for event in events(run["folder"]):
        if event["kind"] == "coordinator_started":
            found["coordinator"] = event["t_ns"]
        elif event["kind"] == "worker_joined":
            found["workers joined"] = event["t_ns"]  # the last one counts
        elif event["kind"] == "generation":
            found["data prepared, owners chosen"] = event["t_ns"]
    found["first step"] = run["t_ns"][0]
    return {name: (t - run["spawned_ns"]) / 1e9 for name, t in found.items()}


def prepare_s(run):
    """The manifest is written when the data are there; the coordinator begins
    to prepare as soon as it has opened the run."""
    opened = next(e for e in events(run["folder"]) if e["kind"] == "coordinator_started")["time"]
    whole, fraction = opened.rstrip("Z").split(".")
    begun = calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + fraction)
    return os.stat(os.path.join(run["folder"], "manifest.json")).st_mtime - begun


class PeakMemory:
    """Follows the workers of a run; the kernel keeps the peak of each."""

    def __init__(self):
        self.peaks_mb = {}

    def __call__(self, folder):
        try:
            with open(os.path.join(folder, "workers.json")) as f:
                pids = [w["pid"] for w in json.load(f)["workers"]]
        except (OSError, ValueError, KeyError):
            return  # not there yet
        for pid in pids:
            try:
                with open(f"/proc/{pid}/status") as f:
                    line = next(line for line in f if line.startswith("VmHWM"))
                self.peaks_mb[pid] = int(line.split()[1]) / 1024
            except (OSError, StopIteration):
                pass  # it has ended; the last reading stands


def allowance_mb(folder, workers):
    """Model, optimizer state and a worker's own chunks."""
    model = os.path.getsize(os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, "manifest.json")) as f:
        manifest = json.load(f)
    chunks = sum(c["bytes"] for part in ("train", "test") for c in manifest[part]) / workers
    return (model * (1 + ADAMW_MOMENTS) + chunks) / 2**20


def start(ballast, peer, options, verdicts, warm_runs):
    colds, prepares, branches, theirs = [], [], [], {"ddp, started by hand": [], "ddp, torchrun": []}
    for i in range(options.repeats):
        cold = ballast.run(JOB, ["/train/epochs=1"], cache=os.path.join(ballast.scratch, f"cold-{i}"))
        colds.append(phases(cold))
        prepares.append(prepare_s(cold))
        warm_runs.append(one_warm_run(ballast))
        branches.append(one_branch(ballast, cold["folder"]))
        if peer:
            for name, launcher in (("ddp, started by hand", "direct"), ("ddp, torchrun", "torchrun")):
                theirs[name].append(peer.run("ddp_fashion.py", "--world", 2, "--launcher", launcher))
    warm = [w["phases"] for w in warm_runs]

    say(f"\nfrom the command to the first step, 2 workers; medians of {options.repeats} repeats")
    rows = [("", "seconds", "least", "most")]
    times = {
        "ballast, data prepared": [w["first step"] for w in warm],
        "ballast, from another run's model": [b["first step"] for b in branches],
        "ballast, empty cache": [c["first step"] for c in colds],
    }
    for name, runs in theirs.items():
        if runs:
            times[name] = [r["first_step_s"] for r in runs]
    for name, seconds in times.items():
        s = summary(seconds)
        rows.append((name, f"{s['median']:.2f}", f"{s['min']:.2f}", f"{s['max']:.2f}"))
    table(rows)
    say("\non the way, with data prepared")
    table([("", "seconds")] + [(name, f"{statistics.median(w[name] for w in warm):.3f}") for name in warm[0]])
    verdicts.at_most("to the first committed step", statistics.median(times["ballast, data prepared"]), START_S_MAX, "s")
    verdicts.at_most("to the first step from another run", statistics.median(times["ballast, from another run's model"]), BRANCH_S_MAX, "s")
    verdicts.at_most("preparing Fashion-MNIST", statistics.median(prepares), PREPARE_S_MAX, "s")
    return {
        "first_step_s": {name: summary(seconds) for name, seconds in times.items()},
        "prepare_s": summary(prepares),
        "raw": {"cold": colds, "warm": warm, "branches": branches, "prepare_s": prepares, "peers": theirs},
    }


def one_branch(ballast, parent):
    """A run from the model of another one."""
    run = ballast.run(JOB, ["/train/epochs=1", f"/init/from={parent}"])
    reports = []
    for folder in (parent, run["folder"]):
        with open(os.path.join(folder, "report.json")) as f:
            reports.append(json.load(f))
    if reports[1]["parent"]["sha256"] != reports[0]["weights_sha256"]:
        raise SystemExit("the branch began with other parameters than those of its parent")
    return phases(run)


def one_warm_run(ballast):
    peak = PeakMemory()
    run = ballast.run(JOB, ["/train/epochs=1"], watch=peak)
    if not peak.peaks_mb:
        raise SystemExit("no worker was seen in /proc while the run went on")
    return {
        "phases": phases(run),
        "peak_mb": max(peak.peaks_mb.values()),
        "allowance_mb": allowance_mb(run["folder"], workers=2),
    }


def memory(ballast, options, verdicts, warm_runs, theirs):
    while len(warm_runs) < options.repeats:
        warm_runs.append(one_warm_run(ballast))
    peaks = [w["peak_mb"] for w in warm_runs]
    allowance = warm_runs[0]["allowance_mb"]
    say(f"\nlargest resident set of a worker; medians of {options.repeats} repeats")
    rows = [("", "MB"), ("ballast", f"{statistics.median(peaks):.0f}")]
    for name, runs in theirs.items():
        if runs:
            rows.append((name, f"{statistics.median(r['peak_mb'] for r in runs):.0f}"))
    rows.append(("model, optimizer, own chunks", f"{allowance:.0f}"))
    table(rows)
    verdicts.at_most("beyond model, optimizer and own chunks", statistics.median(peaks) - allowance, EXTRA_MB_MAX, "MB")
    return {"peak_mb": summary(peaks, 1), "model_optimizer_chunks_mb": round(allowance, 1), "raw": peaks}


def main():
    options = arguments(__doc__.splitlines()[0], ["start", "memory"])
    warn_if_busy()
    result = {"benchmark": "start", "machine": machine(), "repeats": options.repeats}
    peer = Peer(options.peers) if "start" in options.only else None
    if peer and not peer.there():
        peer = None
    verdicts, warm_runs, theirs = Verdicts(), [], {}
    with Scratch() as scratch:
        ballast = Ballast(options.ballast, scratch)
        one_warm_run(ballast)  # prepares the data; what it measured is not used
        if "start" in options.only:
            result["start"] = start(ballast, peer, options, verdicts, warm_runs)
            theirs = result["start"]["raw"]["peers"]
        if "memory" in options.only:
            result["memory"] = memory(ballast, options, verdicts, warm_runs, theirs)
    result["verdicts"] = verdicts.found
    keep("start", result, options.save)
    sys.exit(1 if options.check and not verdicts.all_met() else 0)


if __name__ == "__main__":
    main()
