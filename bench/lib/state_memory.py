"""Part `memory` of bench/state.py: what each process holds while checkpoints are made."""
import json
import os
import statistics
import time

from lib.measure import table
from lib.state_job import FLOATS, MILLION, job

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
