#!/usr/bin/env python3
"""What importance sampling gains where few rows matter, and what it costs where all do.

  ./dev bench importance [--repeats N] [--rows N] [--only PART] [--save] [--check]

easy   Of 20 rows 19 are told apart at once, the 20th is one of two spirals that
       wind around each other. Time to a loss with train.importance (measured)
       over the time without: at most 0.75.
alike  Labels that nothing explains, so that every row matters: seconds a step
       with train.importance (measured) over those without: at most 1.03.

One worker on one thread, in turn with and without. The loss is the mean over
five epochs of what steps.jsonl says, in both cases an estimate without bias of
the mean over all rows; the one to be reached is what training without
importance sampling has after 0.7 of its epochs.
"""
import json
import math
import os
import random
import statistics
import tempfile

from lib.measure import Ballast, arguments, run_parts, say, summary, table, warn_if_busy

PARTS = ["easy", "alike"]
EPOCHS = {"easy": 60, "alike": 15}
SMOOTHED = 5  # epochs
TARGET_AT = 0.7
TIME_MAX, COST_MAX = 0.75, 1.03


def easy(dice):
    """features and class: 19 of 20 of a class of its own, far away."""
    row = [dice.gauss(0, 1) for _ in range(14)]
    if dice.random() < 0.95:
        return [-3 + 0.2 * dice.gauss(0, 1), 0.2 * dice.gauss(0, 1)] + row, "idle"
    worn = dice.random() < 0.5
    angle = 3 * math.pi * math.sqrt(dice.random())
    radius, turned = 0.2 + angle / (2 * math.pi), angle + (math.pi if worn else 0)
    return [1 + radius * math.cos(turned), radius * math.sin(turned)] + [0.1 * x for x in row], "worn" if worn else "sound"


def alike(dice):
    return [dice.gauss(0, 1) for _ in range(16)], dice.choice(("one", "two", "three"))


def write_rows(path, make, rows):
    dice = random.Random(1)
    with open(path, "w", encoding="ascii") as f:
        f.write(",".join(f"x{i}" for i in range(16)) + ",kind\n")
        for _ in range(rows):
            values, kind = make(dice)
            f.write(",".join(f"{v:.4f}" for v in values) + f",{kind}\n")


def job_of(path, epochs):
    return {
        "name": "importance",
        "data": {"train": {"format": "csv", "uri": path, "label": "kind"}, "test_fraction": 0},
        "model": {"kind": "mlp", "hidden": [256, 256, 256]},
        "train": {
            "epochs": epochs,
            "global_batch": 512,
            "threads": 1,
            "optimizer": {"kind": "adamw", "lr": 0.001},
        },
        "elastic": {"workers": 1, "heartbeat_ms": 1000},
    }


class Measured:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.program = Ballast(options.ballast, folder)

    def job(self, part, make):
        rows = os.path.join(self.folder, part + ".csv")
        write_rows(rows, make, self.options.rows)
        path = os.path.join(self.folder, part + ".json")
        with open(path, "w", encoding="ascii") as f:
            json.dump(job_of(rows, EPOCHS[part]), f)
        return path

    def once(self, job, by):
        changes = [f"/train/importance/by={by}"]
        if by != "none":
            changes.append(f"/train/importance/keep={self.options.keep}")
        done = self.program.run(job, changes, workers=1)
        with open(os.path.join(done["folder"], "steps.jsonl"), encoding="ascii") as f:
            steps = [json.loads(line) for line in f]
        return {"curve": curve_of(steps), "step_s": seconds_a_step(steps), "importance": done["report"].get("importance")}

    def in_turn(self, job):
        out = {"none": [], "gradient_norm": [], "loss": []}
        for _ in range(self.options.repeats):
            for by, found in out.items():
                found.append(self.once(job, by))
        return out


def seconds_a_step(steps):
    return (steps[-1]["t_ns"] - steps[0]["t_ns"]) / 1e9 / (len(steps) - 1)


def curve_of(steps):
    """Seconds since the first step, and mean loss, after each epoch."""
    by_epoch = {}
    for step in steps:
        by_epoch.setdefault(step["epoch"], []).append(step)
    losses, out = [], []
    for _, inside in sorted(by_epoch.items()):
        losses.append(sum(s["loss"] * s["samples"] for s in inside) / sum(s["samples"] for s in inside))
        recent = losses[-SMOOTHED:]
        out.append(((inside[-1]["t_ns"] - steps[0]["t_ns"]) / 1e9, sum(recent) / len(recent)))
    return out


def time_to(curve, loss):
    """Between two epochs in proportion; the whole run if it is not reached."""
    before = None
    for seconds, now in curve:
        if now <= loss:
            if before is None or before[1] == now:
                return seconds
            return before[0] + (seconds - before[0]) * (before[1] - loss) / (before[1] - now)
        before = (seconds, now)
    return math.inf


def on_of(one):
    about = one["importance"]
    return about["drawn"] / about["worker_steps"] if about else 0


def measure_easy(measured, verdicts):
    found = measured.in_turn(measured.job("easy", easy))
    at = int(EPOCHS["easy"] * TARGET_AT)
    target = statistics.median(one["curve"][at - 1][1] for one in found["none"])
    times = {by: [time_to(one["curve"], target) for one in all_of] for by, all_of in found.items()}
    plain = statistics.median(times["none"])
    rows = [("by", f"s to a loss of {target:.4f}", "over none", "ms a step", "of the steps on", "last loss")]
    for by, all_of in found.items():
        rows.append(
            (
                by,
                f"{statistics.median(times[by]):.2f}",
                f"{statistics.median(times[by]) / plain:.3f}",
                f"{1e3 * statistics.median(one['step_s'] for one in all_of):.2f}",
                f"{statistics.median(on_of(one) for one in all_of):.2f}",
                f"{statistics.median(one['curve'][-1][1] for one in all_of):.4f}",
            )
        )
    table(rows)
    verdicts.at_most("time to loss by gradient_norm", statistics.median(times["gradient_norm"]) / plain, TIME_MAX, "times")
    verdicts.at_most("time to loss by loss", statistics.median(times["loss"]) / plain, TIME_MAX, "times")
    return {by: {"s": summary(times[by]), "ms_a_step": summary([1e3 * one["step_s"] for one in found[by]])} for by in found}


def measure_alike(measured, verdicts):
    found = measured.in_turn(measured.job("alike", alike))
    rows = [("by", "ms a step", "over none", "of the steps on")]
    plain = statistics.median(one["step_s"] for one in found["none"])
    for by, all_of in found.items():
        middle = statistics.median(one["step_s"] for one in all_of)
        rows.append(
            (by, f"{1e3 * middle:.2f}", f"{middle / plain:.3f}", f"{statistics.median(on_of(one) for one in all_of):.2f}")
        )
        if by != "none":
            verdicts.at_most(f"seconds a step by {by}", middle / plain, COST_MAX, "times")
    table(rows)
    return {by: {"ms_a_step": summary([1e3 * one["step_s"] for one in found[by]])} for by in found}


def main():
    def more(p):
        p.add_argument("--rows", type=int, default=20_000, help="default 20000")
        p.add_argument("--keep", type=float, default=0.3, help="default 0.3")

    options = arguments(__doc__.splitlines()[0], PARTS, more=more)
    warn_if_busy()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        measured = Measured(options, folder)
        say(f"{options.rows} rows of 16 columns, mlp of 3 x 256, batches of 512, keep {options.keep}; one thread")
        functions = {"easy": measure_easy, "alike": measure_alike}
        run_parts("importance", options, {name: lambda v, f=f: f(measured, v) for name, f in functions.items()})


if __name__ == "__main__":
    main()
