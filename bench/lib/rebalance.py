"""Disturbed runs and their results: for bench/balance.py."""
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from harness.live_run import LiveRun

from lib.measure import say, table

WORKERS = 4
FASHION = "/usr/share/datasets/fashion-mnist/"
WHOLE_EPOCHS = 30  # long enough that two equal runs take about the same time
# Of four workers one four times slower: 3.25 workers' worth.
IDEAL = (WORKERS - 1 + 1 / 4) / WORKERS


def emulated(rows=30000, us_per_sample=200, parameters=1000, epochs=1000, **more):
    return {
        "version": 1,
        "name": "emulated",
        "data": {
            "train": {"format": "synthetic", "rows": rows, "classes": 10, "features": 64},
            "test_fraction": 0,
            **more.pop("data", {}),
        },
        "model": {"kind": "emulated", "parameters": parameters, "us_per_sample": us_per_sample},
        "train": {"epochs": epochs, "global_batch": 256, "optimizer": {"kind": "sgd", "lr": 0.01}},
        "elastic": {"workers": WORKERS},
        "faults": True,
        **more,
    }


def sorted_fashion(epochs=20, **more):
    def part(name):
        return {
            "format": "idx",
            "images": f"{FASHION}{name}-images-idx3-ubyte.gz",
            "labels": f"{FASHION}{name}-labels-idx1-ubyte.gz",
        }

    return {
        "version": 1,
        "name": "sorted",
        "data": {
            "train": part("train"),
            "test": part("t10k"),
            "pipeline": [{"op": "scale", "factor": 1 / 255}],
            "placement": {"kind": "sorted"},
        },
        "model": {"kind": "mlp", "hidden": [128]},
        "train": {"epochs": epochs, "global_batch": 256, "optimizer": {"kind": "adamw", "lr": 0.001}},
        "elastic": {"workers": WORKERS},
        "balance": {"skew_tv": 0.05},
        **more,
    }


class Disturbed:
    """A run in a temporary folder."""

    def __init__(self, options, job):
        self.folder = tempfile.mkdtemp(prefix="ballast-bench-")
        self.run = LiveRun(
            job,
            os.path.join(self.folder, "run"),
            os.path.join(tempfile.gettempdir(), "ballast-bench-cache"),
            program=options.ballast,
        )

    def __enter__(self):
        return self.run

    def __exit__(self, *_):
        self.run.process.end()
        shutil.rmtree(self.folder, ignore_errors=True)


def until_step(run, step):
    run.wait_for(lambda: run.poll() or len(run.steps.lines) >= step, f"step {step}", 120)


def rate(steps, begin, count):
    """Samples a second of `count` steps after step `begin`."""
    lines = steps[begin : begin + count + 1]
    return sum(s["samples"] for s in lines[1:]) / ((lines[-1]["t_ns"] - lines[0]["t_ns"]) / 1e9)


def disturbed_once(options, rows):
    """Rates after each change of speed, as parts of the ideal."""
    window = 60
    changes = [("one slow", [("w2", 4)], IDEAL), ("another slow", [("w2", 1), ("w3", 4)], IDEAL), ("none", [("w3", 1)], 1)]
    with Disturbed(options, emulated(rows)) as run:
        run.wait_full(WORKERS)
        until_step(run, 130)
        undisturbed = rate(run.steps.lines, 40, 70)
        found = {"undisturbed": undisturbed}
        for name, slow, ideal in changes:
            for worker, factor in slow:
                run.post("slow_worker", worker=worker, factor=factor)
            run.poll()
            at = len(run.steps.lines)
            until_step(run, at + 20 + window + 120)
            found[name] = {
                "after_20": rate(run.steps.lines, at + 20, window) / (ideal * undisturbed),
                "until_140": rate(run.steps.lines, at + 20, window + 60) / (ideal * undisturbed),
            }
        found["report"] = run.stop()
    return found


def straggler(options, verdicts):
    """One slow, then another, then none: part of the ideal after 20 steps, in
    the midst of an epoch and with the ends of short ones.

    Rows that follow a change of speed are those that each worker should own from
    the next epoch on; so this epoch ends with a few steps of the slow one alone.
    """
    raw = []
    for _ in range(options.repeats):
        raw.append({"long": disturbed_once(options, 300_000), "short": disturbed_once(options, 30_000)})
    say(f"\npart of the ideal throughput from step 20 after a change on; medians of {options.repeats} repeats")
    rows = [("change", "60 steps", "120 steps", "60, epochs of 117", "120, epochs of 117")]
    for name in ("one slow", "another slow", "none"):
        part = {
            (epochs, span): statistics.median(r[epochs][name][span] for r in raw)
            for epochs in ("long", "short")
            for span in ("after_20", "until_140")
        }
        rows.append((name, *(f"{one:.1%}" for one in part.values())))
        verdicts.at_least(f"{name}: part of the ideal from the 20th step on", 100 * part["long", "after_20"], 93, "%")
    table(rows)
    lost = sum(run["report"]["audit"][what] for r in raw for run in r.values() for what in ("lost", "repeated"))
    verdicts.at_most("samples lost or repeated", lost, 0, "samples")
    return raw


def skew(options, verdicts):
    """Sorted Fashion-MNIST: from 0.70 below the budget, and how soon."""
    raw = []
    for _ in range(options.repeats):
        with Disturbed(options, sorted_fashion()) as run:
            run.wait_full(WORKERS)
            until_step(run, 1)
            moved = []

            def low(moved=moved):
                run.poll()
                moved[:] = [e for e in run.events.lines if e["kind"] == "balance" and e["moved_rows"]]
                return moved and moved[-1]["skew_tv_max"] <= 0.05

            run.wait_for(low, "skew below 0.05", 30)
            gaps = run.gaps(run.steps.lines[0]["t_ns"], moved[-1]["t_ns"])
            raw.append(
                {
                    "seconds": (moved[-1]["t_ns"] - run.steps.lines[0]["t_ns"]) / 1e9,
                    "skew": moved[-1]["skew_tv_max"],
                    "ratio": sum(e["moved_rows"] for e in moved) / moved[0]["bound_rows"],
                    "longest_gap_s": max(gaps),
                    "report": run.stop(),
                }
            )
    say(f"\nsorted Fashion-MNIST on {WORKERS} workers; medians of {options.repeats} repeats")
    median = {k: statistics.median(r[k] for r in raw) for k in ("seconds", "skew", "ratio", "longest_gap_s")}
    say(f"  longest time between two steps meanwhile: {1e3 * median['longest_gap_s']:.0f} ms")
    verdicts.at_most("skew, from 0.70, after", median["seconds"], 5, "s")
    verdicts.at_most("skew that is reached", median["skew"], 0.05, "")
    verdicts.at_most("rows moved over the fewest possible", median["ratio"], 1.1, "x")
    return raw


def in_turn(options, measure):
    """Ratios of a run that moves data to one that does not, in turn; and of two
    that do not, for the spread. `measure(balanced)`: figure, rows moved."""
    pairs, same = [], []
    for _ in range(max(7, options.repeats)):
        still, _ = measure(False)
        again, _ = measure(False)
        moved, rows = measure(True)
        same.append(again / still)
        pairs.append({"still": still, "moving": moved, "rows": rows, "ratio": moved / still})
    say(f"  {pairs[0]['rows']:,} rows moved; medians of {len(pairs)} pairs in turn")
    say(f"  two runs without any move: {min(same):.3f} to {max(same):.3f}, median {statistics.median(same):.3f}")
    return {"pairs": pairs, "same": same}, statistics.median(p["ratio"] for p in pairs)


def moved_rows(run):
    run.poll()
    return sum(e["moved_rows"] for e in run.events.lines if e["kind"] == "balance")


HALF_A_CORE = """
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
while True:
    end = time.monotonic() + 0.01
    while time.monotonic() < end:
        pass
    time.sleep(0.01)
"""


@contextlib.contextmanager
def half_a_core_gone():
    other = subprocess.Popen([sys.executable, "-c", HALF_A_CORE])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def crowded(options, verdicts):
    """Beside a process that wants one core half of the time: rows moved, and
    samples a second of the half of the run in which nothing is left to do,
    against the same job with its sorted, even shares left alone. Equal shares
    are the best there is here: the kernel deals the cores out to all workers."""

    def measure(balanced):
        job = sorted_fashion(WHOLE_EPOCHS, balance={"enabled": balanced, "skew_tv": 0.05})
        with Disturbed(options, job) as run:
            run.process.wait(180)
            run.poll()
            steps = run.steps.lines
            report = json.loads((run.run / "report.json").read_text())
            return {
                "samples_per_s": rate(steps, len(steps) // 2, len(steps) // 2 - 1),
                "moved": report["moved_samples"],
                "least": report["moved_bound_samples"],
            }

    raw = []
    with half_a_core_gone():
        for _ in range(max(5, options.repeats)):
            raw.append({"left alone": measure(False), "balanced": measure(True)})
    share = [r["balanced"]["samples_per_s"] / r["left alone"]["samples_per_s"] for r in raw]
    over = [r["balanced"]["moved"] / r["balanced"]["least"] for r in raw]
    say(f"\nmlp on sorted Fashion-MNIST, {WORKERS} workers on {len(os.sched_getaffinity(0))} cores, beside a process that wants "
        f"one of them half of\nthe time: {statistics.median(over):.3f} times the fewest rows, at most {max(over):.3f}; "
        f"{statistics.median(share):.1%} of the samples a second\nof the same job left alone, {min(share):.1%} to {max(share):.1%}; "
        f"{len(raw)} pairs in turn")
    verdicts.at_most("beside other work: rows over the fewest, worst", max(over), 1.3, "times")
    verdicts.at_least("beside other work: of what the machine gives", 100 * statistics.median(share), 93, "%")
    return raw


def moving(options, verdicts):
    """What steps notice while data move: their 95th percentile where the cores
    have time to spare, the whole run where they have not."""

    def p95_ms(balanced):
        job = emulated(
            rows=20000,
            us_per_sample=300,
            balance={"enabled": False, "skew_tv": 0.05},
            data={"placement": {"kind": "sorted"}, "chunk_rows": 64},
        )
        with Disturbed(options, job) as run:
            run.wait_full(WORKERS)
            until_step(run, 60)
            begin = len(run.steps.lines)
            if balanced:
                run.post("set_balance", enabled=True)
            until_step(run, begin + 100)
            times = [b["t_ns"] - a["t_ns"] for a, b in zip(run.steps.lines[begin:], run.steps.lines[begin + 1 : begin + 100])]
            rows = moved_rows(run)
            run.stop()
        return statistics.quantiles(times, n=20)[18] / 1e6, rows

    def whole_s(balanced):
        job = sorted_fashion(WHOLE_EPOCHS, balance={"enabled": balanced, "skew_tv": 0.05})
        with Disturbed(options, job) as run:
            run.process.wait(120)
            rows = moved_rows(run)
            return (run.steps.lines[-1]["t_ns"] - run.steps.lines[0]["t_ns"]) / 1e9, rows

    say("\nemulated, steps of 20 ms")
    steps, median = in_turn(options, p95_ms)
    verdicts.at_most("95th percentile of the step while data move, over that without", median, 1.03, "x")
    say(f"\nmlp on sorted Fashion-MNIST, which fills every core, {WHOLE_EPOCHS} epochs")
    whole, median = in_turn(options, whole_s)
    verdicts.at_most("time of a run that balances, over that of one that does not", median, 1.03, "x")
    return {"steps": steps, "whole": whole}
