"""The accuracy that a model loses by label skew, and regains by balancing: for
bench/balance.py."""
import json
import os
import statistics

from lib.measure import Ballast, Scratch, say, table
from lib.rebalance import WORKERS, sorted_fashion

SEEDS = 5
EPOCHS = 4
ALPHA = 0.1
POINTS_MAX = 0.5  # of 100, below iid
# By name: batch norm, placement, balanced.
VARIANTS = {
    "batch norm, iid": (True, "iid", True),
    "batch norm, dirichlet, balanced": (True, "dirichlet", True),
    "batch norm, dirichlet, left alone": (True, "dirichlet", False),
    "without, iid": (False, "iid", True),
    "without, dirichlet, balanced": (False, "dirichlet", True),
    "without, dirichlet, left alone": (False, "dirichlet", False),
}


def job(seed, batch_norm, placement, balanced):
    what = sorted_fashion(EPOCHS, seed=seed, balance={"enabled": balanced, "skew_tv": 0.05})
    what["data"]["placement"] = {"kind": placement, **({"alpha": ALPHA} if placement == "dirichlet" else {})}
    # A rate that ends at zero: otherwise the last batches determine the last tenths.
    what["train"]["schedule"] = {"kind": "cosine"}
    what["model"] = {"kind": "cnn", "channels": [16, 32], "batch_norm": batch_norm}
    return what


def accuracy(options, verdicts):
    """Fashion-MNIST, every variant with the same seeds. Batch norm normalises
    with what a worker's own rows look like, so it feels skew; the gradient
    itself is the exact mean, so a model without it must not."""
    found = {name: [] for name in VARIANTS}
    with Scratch() as scratch:
        ballast = Ballast(options.ballast, scratch)
        for seed in range(1, SEEDS + 1):
            for name, variant in VARIANTS.items():
                path = os.path.join(scratch, "job.json")
                with open(path, "w") as f:
                    json.dump(job(seed, *variant), f)
                report = ballast.run(path, workers=WORKERS)["report"]
                found[name].append(
                    {
                        "seed": seed,
                        "accuracy": 100 * report["test_accuracy"],
                        "skew_start": report["skew_tv_start"],
                        "skew_end": report["skew_tv_max"],
                        "moved_samples": report["moved_samples"],
                    }
                )
    say(f"\ncnn on Fashion-MNIST, {WORKERS} workers, {EPOCHS} epochs, Dirichlet({ALPHA}); {SEEDS} seeds")
    rows = [("", "accuracy", "least", "most", "below iid", "skew at first", "at last")]
    mean = {name: statistics.mean(r["accuracy"] for r in runs) for name, runs in found.items()}
    below = {}
    for name, runs in found.items():
        iid = found[name.split(",")[0] + ", iid"]
        # Seed by seed: the same initial weights.
        below[name] = statistics.mean(b["accuracy"] - a["accuracy"] for a, b in zip(runs, iid))
        rows.append(
            (
                name,
                f"{mean[name]:.2f} %",
                f"{min(r['accuracy'] for r in runs):.2f} %",
                f"{max(r['accuracy'] for r in runs):.2f} %",
                f"{below[name]:.2f}",
                f"{statistics.mean(r['skew_start'] for r in runs):.2f}",
                f"{statistics.mean(r['skew_end'] for r in runs):.3f}",
            )
        )
    table(rows)
    for name, what in (
        ("batch norm, dirichlet, balanced", "batch norm: points below iid, balanced"),
        ("without, dirichlet, left alone", "without batch norm: points below iid, left alone"),
    ):
        verdicts.at_most(what, below[name], POINTS_MAX, "points")
    return found
