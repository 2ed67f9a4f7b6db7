#!/usr/bin/env python3
"""What a model's size costs: at a checkpoint, at the start and at the end of a run.

  ./dev bench state [--repeats N] [--only PART] [--parameters N ...] [--peers DIR]
                    [--save] [--check]

pause    The emulated model with AdamW, 100 ms of compute a step, 3 workers: the
         longest step from the one at a checkpoint on until the checkpoint is
         published, over the median of the others; by parameters (25, 125 and 250
         million). Beside it PyTorch's torch.distributed.checkpoint.async_save of
         the same tensors, in as many processes.
start    The same, until the first committed step.
memory   What a worker and the coordinator hold while checkpoints are made, by
         optimizer and collective, as a multiple of the parameters (25 million, 2
         workers): the proportional set size (PSS) of /proc/PID/smaps_rollup, its
         largest value, less that of the same run with 1,000 parameters. `private`
         is what the process alone maps, `shared` its part of what others map, too.
end      From the last committed step to the end of the command: the model's hash,
         its file, the report; beside it `dd` of as many bytes, synced.

A step's time is `t_ns` of steps.jsonl, on the clock that this program reads.
"""
import json
import os
import statistics
import subprocess
import time

from lib.measure import Ballast, Peer, Scratch, arguments, run_parts, say, table, warn_if_busy

MILLION = 1_000_000
STEPS, SAVED = 24, 12  # of a run; the step that is saved
BATCH, ROWS_A_STEP_US = 48, 100_000
PAUSE_MAX = {25: 1.3, 125: 1.5, 250: 1.5}
START_S_MAX = {125: 1.5, 250: 2.5}
END_RATIO_MAX = 1.5
FLOATS = 4
MEMORY_MILLIONS, MEMORY_WORKERS, MEMORY_STEPS, MEMORY_EVERY = 25, 2, 24, 4
SAMPLE_S = 0.05
OPTIMIZERS = {
    "sgd": {"kind": "sgd", "lr": 0.001},
    "sgd, momentum": {"kind": "sgd", "lr": 0.001, "momentum": 0.9},
    "adam": {"kind": "adam", "lr": 0.001},
    "adamw": {"kind": "adamw", "lr": 0.001},
}
# What to ask for, and the environment: no host's name, no shared memory.
COLLECTIVES = {
    "ring, shared memory": ("ring", {}),
    "ring, TCP": ("ring", {"BALLAST_HOST_ID": ""}),
    "gloo": ("gloo", {}),
}


def job(parameters, folder, every_steps, steps=STEPS):
    what = {
        "version": 1,
        "name": "state",
        "data": {
            "train": {"format": "synthetic", "rows": BATCH * steps, "classes": 10, "features": 16},
            "test_fraction": 0,
        },
        "model": {"kind": "emulated", "parameters": parameters, "us_per_sample": 0, "us_per_step": ROWS_A_STEP_US},
        "train": {"epochs": 1, "global_batch": BATCH, "optimizer": {"kind": "adamw", "lr": 0.001}},
        "checkpoint": {"every_steps": every_steps, "every_s": 0},
    }
    path = os.path.join(folder, "job.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump(what, f)
    return path


def gaps_ms(times_ns):
    return [(b - a) / 1e6 for a, b in zip(times_ns, times_ns[1:])]


def longest_over_median(times_ns):
    """Of the steps after the saved one, over the median of those before it. The first
    steps touch memory that nobody had before."""
    gaps = gaps_ms(times_ns)  # gaps[i] ends with step i + 2
    usual = statistics.median(gaps[3 : SAVED - 1])
    return max(gaps[SAVED - 1 :]) / usual, usual, max(gaps[SAVED - 1 :])


def saved_ms(run):
    with open(os.path.join(run["folder"], "events.jsonl")) as f:
        events = [json.loads(line) for line in f]
    return [one["ms"] for one in events if one["kind"] == "checkpoint"]


def pause(ballast, peer, options, verdicts):
    raw = {}
    rows = [("million parameters", "step ms", "longest ms", "ratio", "saved in s", "async_save: step", "longest", "ratio")]
    for parameters in options.parameters:
        ours, theirs, saved = [], [], []
        for _ in range(options.repeats):
            run = ballast.run(job(parameters * MILLION, ballast.scratch, SAVED), workers=options.workers)
            ours.append(longest_over_median(run["t_ns"]))
            saved += saved_ms(run)[:1]
            if peer:
                found = peer.run("async_save.py", parameters * MILLION, options.workers, STEPS, SAVED, ballast.scratch)
                theirs.append(longest_over_median(found["t_ns"]))
        raw[parameters] = {"ballast": ours, "async_save": theirs, "published_ms": saved}
        middle = sorted(ours)[len(ours) // 2]
        beside = sorted(theirs)[len(theirs) // 2] if theirs else None
        rows.append(
            (parameters, f"{middle[1]:.0f}", f"{middle[2]:.0f}", f"{middle[0]:.2f}", f"{statistics.median(saved) / 1e3:.2f}" if saved else "")
            + ((f"{beside[1]:.0f}", f"{beside[2]:.0f}", f"{beside[0]:.2f}") if beside else ("", "", ""))
        )
        if parameters in PAUSE_MAX:
            verdicts.at_most(f"{parameters} million: longest step over the median", middle[0], PAUSE_MAX[parameters], "x")
        if beside:
            verdicts.at_most(f"{parameters} million: over async_save's", middle[0] / beside[0], 1, "x")
    table(rows)
    return raw


def start(ballast, _peer, options, verdicts):
    raw = {}
    rows = [("million parameters", "first step after s")]
    for parameters in options.parameters:
        found = []
        for _ in range(options.repeats):
            run = ballast.run(job(parameters * MILLION, ballast.scratch, 10**6, 3), workers=options.workers)
            found.append((run["t_ns"][0] - run["spawned_ns"]) / 1e9)
        raw[parameters] = found
        rows.append((parameters, f"{statistics.median(found):.2f}"))
        if parameters in START_S_MAX:
            verdicts.at_most(f"{parameters} million: until the first step", statistics.median(found), START_S_MAX[parameters], "s")
    table(rows)
    return raw


def smaps(pid):
    """PSS of a process, and what of it nobody else maps, in bytes."""
    with open(f"/proc/{pid}/smaps_rollup") as f:
        found = {line.split(":")[0]: int(line.split()[1]) << 10 for line in f if line.endswith(" kB\n")}
    private = found["Private_Clean"] + found["Private_Dirty"]
    return found["Pss"], private


class Memory:
    """The largest PSS of each process of a run while it trains, by rank."""

    def __init__(self):
        self.largest = {}  # rank, or "coordinator" -> (PSS, private)
        self.again = 0

    def __call__(self, folder):
        if time.monotonic() < self.again:
            return
        self.again = time.monotonic() + SAMPLE_S
        try:
            # Not of the end: what it costs is another question.
            with open(os.path.join(folder, "steps.jsonl")) as f:
                if not 1 < len(f.readlines()) < MEMORY_STEPS - 1:
                    return
            with open(os.path.join(folder, "workers.json")) as f:
                pids = {w["rank"]: w["pid"] for w in json.load(f)["workers"] if w["state"] == "training"}
            with open(os.path.join(folder, "coordinator.json")) as f:
                pids["coordinator"] = json.load(f)["pid"]
            for who, pid in pids.items():
                self.largest[who] = max(self.largest.get(who, (0, 0)), smaps(pid))
        except (OSError, ValueError, KeyError):
            pass  # a file is being replaced, or a process has ended

    def of(self, who):
        pss, private = self.largest[who]
        return private, pss - private


def largest_memory(ballast, parameters, optimizer, collective):
    kind, environment = COLLECTIVES[collective]
    path = job(parameters, ballast.scratch, MEMORY_EVERY, MEMORY_STEPS)
    with open(path) as f:
        what = json.load(f)
    what["train"]["optimizer"] = OPTIMIZERS[optimizer]
    what["train"]["collective"] = kind
    with open(path, "w") as f:
        json.dump(what, f)
    found = Memory()
    ballast.run(path, workers=MEMORY_WORKERS, watch=found, environment=environment)
    return found


def memory(ballast, _peer, options, _verdicts):
    raw = {}
    processes = {"rank 0": 0, "another rank": 1, "coordinator": "coordinator"}
    rows = [("collective", "optimizer") + tuple(f"{who}: {what}" for who in processes for what in ("private", "shared"))]
    unit = MEMORY_MILLIONS * MILLION * FLOATS
    for collective in COLLECTIVES:
        for optimizer in OPTIMIZERS:
            found = {who: [] for who in processes}
            for _ in range(options.repeats):
                small = largest_memory(ballast, 1000, optimizer, collective)
                large = largest_memory(ballast, MEMORY_MILLIONS * MILLION, optimizer, collective)
                for who, key in processes.items():
                    found[who].append([(b - a) / unit for a, b in zip(small.of(key), large.of(key))])
            raw[f"{collective}, {optimizer}"] = found
            middle = [statistics.median(one[i] for one in found[who]) for who in processes for i in (0, 1)]
            rows.append((collective, optimizer) + tuple(f"{max(0, one):.2f}" for one in middle))
    table(rows)
    return raw


def synced_s(folder, size):
    path = os.path.join(folder, "dd")
    begun = time.monotonic()
    subprocess.run(
        ["dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={size >> 20}", "conv=fdatasync"], check=True, capture_output=True
    )
    took = time.monotonic() - begun
    os.remove(path)
    return took


def end(ballast, _peer, options, verdicts):
    raw = {}
    rows = [("million parameters", "end s", "dd s", "ratio")]
    for parameters in options.parameters:
        found = []
        for _ in range(options.repeats):
            run = ballast.run(job(parameters * MILLION, ballast.scratch, 10**6, 3), workers=1)
            ended = time.monotonic_ns()
            found.append(((ended - run["t_ns"][-1]) / 1e9, synced_s(ballast.scratch, parameters * MILLION * FLOATS)))
        raw[parameters] = found
        ours, dd = (statistics.median(one[i] for one in found) for i in (0, 1))
        rows.append((parameters, f"{ours:.2f}", f"{dd:.2f}", f"{ours / dd:.2f}"))
        if parameters >= 250:
            verdicts.at_most(f"{parameters} million: end over dd", ours / dd, END_RATIO_MAX, "x")
    table(rows)
    return raw


def main():
    def more(p):
        p.add_argument("--parameters", type=int, nargs="+", default=[25, 125, 250], help="millions (default 25 125 250)")
        p.add_argument("--workers", type=int, default=3, help="default 3")

    parts = {"pause": pause, "memory": memory, "start": start, "end": end}
    options = arguments(__doc__.splitlines()[0], list(parts), more=more)
    warn_if_busy()
    peer = Peer(options.peers)
    peer = peer if "pause" in options.only and peer.there() else None
    with Scratch() as scratch:
        ballast = Ballast(options.ballast, scratch)
        say(f"{options.workers} workers on this machine; the emulated model with AdamW, {ROWS_A_STEP_US // 1000} ms of compute a step")
        run_parts("state", options, {name: lambda v, f=f: f(ballast, peer, options, v) for name, f in parts.items()})


if __name__ == "__main__":
    main()
