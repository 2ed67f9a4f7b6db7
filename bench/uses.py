#!/usr/bin/env python3
"""What it costs, and what it helps, to use some rows more often than others.

  ./dev bench uses [--repeats N] [--seeds N] [--only PART] [--save] [--check]

steps     the time of a step with `train.sampling` of each kind over that without
          it: an mlp on Fashion-MNIST, two workers, in turn
long_tail Fashion-MNIST whose classes have 6000 to 60 rows: accuracy on the test
          set, which has as many of each, so it is the balanced one. Without
          anything, with `class_balanced`, and of rows that `ballast data resample
          --method smote` made; PyTorch likewise, with WeightedRandomSampler and
          imbalanced-learn's SMOTE (bench/peers/long_tail.py)

The peers' environment is made by  bench/peers/setup.sh DIR ; long_tail also needs
imbalanced-learn==0.14.2 and pyarrow==26.0.1 in it.
"""
import json
import os
import statistics
import subprocess

from lib.measure import Ballast, Peer, Scratch, arguments, run_parts, say, step_times_ms, table, warn_if_busy

PARTS = ["steps", "long_tail"]
STEP_MAX = 1.02
APART_MAX = 0.5  # points of 100
EPOCHS, TAIL_EPOCHS, SKIP = 6, 20, 50
FASHION = "/usr/share/datasets/fashion-mnist/"
KINDS = {
    "once": {"kind": "once"},
    "class_balanced": {"kind": "class_balanced"},
    "stratified": {"kind": "stratified"},
}


def fashion(sampling, seed=1):
    files = {
        part: {"format": "idx", **{kind: f"{FASHION}{name}-{kind}-{end}-ubyte.gz" for kind, end in
                                   (("images", "idx3"), ("labels", "idx1"))}}
        for part, name in (("train", "train"), ("test", "t10k"))
    }
    return {
        "seed": seed,
        "data": {**files, "pipeline": [{"op": "scale", "factor": 1 / 255}], "placement": {"kind": "iid"}},
        "model": {"kind": "mlp", "hidden": [128]},
        "train": {"epochs": EPOCHS, "global_batch": 256, "sampling": sampling,
                  "optimizer": {"kind": "adamw", "lr": 0.001}},
    }


def steps(options):
    def measure(verdicts):
        found = {name: [] for name in KINDS}
        with Scratch() as scratch:
            ballast = Ballast(options.ballast, scratch)
            for _ in range(options.repeats):
                for name, sampling in KINDS.items():
                    path = os.path.join(scratch, "job.json")
                    with open(path, "w") as f:
                        json.dump(fashion(sampling), f)
                    found[name].append(step_times_ms(ballast.run(path)["t_ns"], SKIP))
        rows = [("", "mean step", "median step")]
        for name, runs in found.items():
            rows.append((name, *(f"{statistics.median(r[key] for r in runs):.3f} ms" for key in ("mean_ms", "median_ms"))))
        table(rows)
        for name in KINDS:
            if name == "once":
                continue
            ratio = statistics.median(a["mean_ms"] / b["mean_ms"] for a, b in zip(found[name], found["once"]))
            verdicts.at_most(f"{name}: step over one without sampling", ratio, STEP_MAX, "x")
        return found

    return measure


def tail_job(scratch, rows, sampling, seed):
    def source(name):
        return {"format": "parquet", "uri": os.path.join(scratch, name), "label": "y"}

    return {
        "seed": seed,
        "data": {"train": source(rows), "test": source("test.parquet"),
                 "pipeline": [{"op": "scale", "factor": 1 / 255}], "placement": {"kind": "iid"}},
        "model": {"kind": "mlp", "hidden": [128]},
        "train": {"epochs": TAIL_EPOCHS, "global_batch": 256, "sampling": {"kind": sampling},
                  "optimizer": {"kind": "adamw", "lr": 0.001}},
    }


def resampled(options, scratch, seed):
    out = os.path.join(scratch, "smote.parquet")
    if os.path.exists(out):
        os.remove(out)
    subprocess.run([options.ballast, "data", "resample", os.path.join(scratch, "train.parquet"), out, "--label", "y",
                    "--method", "smote", "--seed", str(seed)], check=True, stdout=subprocess.DEVNULL)
    return "smote.parquet"


def long_tail(options):
    def measure(verdicts):
        peer = Peer(options.peers)
        if not peer.there():
            raise SystemExit("long_tail needs the peers")
        found = {(who, kind): [] for who in ("ballast", "pytorch") for kind in ("plain", "class_balanced", "smote")}
        with Scratch() as scratch:
            say(f"  rows of the classes: {peer.run('long_tail.py', 'make', scratch)['rows']}")
            ballast = Ballast(options.ballast, scratch)
            for seed in range(1, options.seeds + 1):
                for kind in ("plain", "class_balanced", "smote"):
                    rows = resampled(options, scratch, seed) if kind == "smote" else "train.parquet"
                    path = os.path.join(scratch, "job.json")
                    with open(path, "w") as f:
                        json.dump(tail_job(scratch, rows, "class_balanced" if kind == "class_balanced" else "once", seed), f)
                    found["ballast", kind].append(100 * ballast.run(path)["report"]["test_accuracy"])
                    theirs = peer.run("long_tail.py", "train", scratch, "sampler" if kind == "class_balanced" else kind,
                                      seed, TAIL_EPOCHS)
                    found["pytorch", kind].append(100 * theirs["balanced_accuracy"])
        mean = {key: statistics.mean(values) for key, values in found.items()}
        rows = [("balanced accuracy", "plain", "class balanced", "SMOTE")]
        for who in ("ballast", "pytorch"):
            rows.append((who, *(f"{mean[who, kind]:.2f} % ({statistics.stdev(found[who, kind]):.2f})"
                                for kind in ("plain", "class_balanced", "smote"))))
        table(rows)
        for kind in ("class_balanced", "smote"):
            verdicts.at_least(f"{kind}: points above the peer", mean["ballast", kind] - mean["pytorch", kind], -APART_MAX, "points")
            verdicts.at_least(f"{kind}: points above doing nothing", mean["ballast", kind] - mean["ballast", "plain"], 0, "points")
        return {f"{who} {kind}": values for (who, kind), values in found.items()}

    return measure


def main():
    def more(p):
        p.add_argument("--seeds", type=int, default=5)

    options = arguments(__doc__.splitlines()[0], PARTS, more=more)
    warn_if_busy()
    run_parts("uses", options, {"steps": steps(options), "long_tail": long_tail(options)})


if __name__ == "__main__":
    main()
