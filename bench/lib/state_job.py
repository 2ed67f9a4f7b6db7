"""The job of bench/state.py: a model of any size that computes as long as asked."""
import json
import os

MILLION = 1_000_000
FLOATS = 4  # bytes of one
STEPS = 24  # of a run
BATCH, ROWS_A_STEP_US = 48, 100_000


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
