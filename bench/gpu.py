#!/usr/bin/env python3
"""What the GPU of this machine does with Ballast's kernels and models.

  ./dev bench gpu [--repeats N] [--only PART] [--device cuda:0|cpu]
                  [--peers DIR] [--save] [--check]

kernels   Bytes touched a second of every kernel (bench/cuda_kernels.cpp) with
          arrays of 64 and 256 MiB, against a copy of the same array in device
          memory, measured in turn. At least 85 % of it; the trailer has 64
          bytes and is only reported.
steps     One training step (bench/device_step.cpp: batch to the device,
          gradient, AdamW) of resnet18 (batch 64 of 3 x 64 x 64) and transformer
          (12 layers, 768 wide, 1,024 tokens, vocabulary 32,000, batch 8), both
          in bfloat16, in turn with PyTorch 2.11: the same model, batch,
          precision and fused AdamW, eager and by torch.compile
          (bench/peers/torch_step.py). At least as fast as eager; the ratio to
          torch.compile is reported, 0.75 is the aim.

With --device cpu the steps are tiny, in float32 and in bfloat16: they check that
the programs run, and judge nothing. Without a GPU and without --device cpu it
measures nothing, prints the reason on one line, and exits with code 0.
"""
import json
import os
import statistics
import subprocess

from lib.measure import Peer, arguments, built, run_parts, say, table

OF_COPY_MIN = 0.85
OF_EAGER_MIN = 1.0
SIZES_MIB = (64, 256)
ONLY_REPORTED = ("copy", "write_trailer")
WARM_UP = 10

# model, batch, precision, size (pixels a side, tokens a row), width, layers,
# vocabulary
ON_GPU = (("resnet18", 64, "bfloat16", 64, 0, 0, 0), ("transformer", 8, "bfloat16", 1024, 768, 12, 32000))
ON_CPU = (
    ("resnet18", 2, "float32", 64, 0, 0, 0),
    ("transformer", 2, "float32", 16, 64, 2, 100),
    ("transformer", 2, "bfloat16", 16, 64, 2, 100),
)


def why_no_gpu(options):
    """What `ballast doctor` says; empty where there is a GPU."""
    found = subprocess.run([options.ballast, "doctor", "--json"], capture_output=True, text=True, check=True)
    part = next(one for one in json.loads(found.stdout)["checks"] if one["name"] == "CUDA part")
    return "" if part["result"] == "ok" else part["found"]


def kernels(options, verdicts):
    command = [built(options, "cuda_kernels"), str(4 * options.repeats), *map(str, SIZES_MIB)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"cuda_kernels failed with exit code {done.returncode}: {done.stderr}")
    raw = json.loads(done.stdout)
    if "no_gpu" in raw:
        raise SystemExit(f"cuda_kernels: {raw['no_gpu']}")
    say(f"{raw['device']}, driver for CUDA {raw['driver']}, built with {raw['runtime']}; medians of {4 * options.repeats} rounds")
    rows = [("", "array", "time", "bandwidth", "of a copy")]
    for one in raw["kernels"]:
        rows.append((one["kernel"], f"{one['mebibytes']} MiB", f"{one['us']:.1f} us", f"{one['gb_s']:.0f} GB/s", f"{one['of_copy']:.1%}"))
    table(rows)
    for one in raw["kernels"]:
        if one["kernel"] not in ONLY_REPORTED:
            verdicts.at_least(f"{one['kernel']}, {one['mebibytes']} MiB, of a copy", one["of_copy"], OF_COPY_MIN, "")
    return raw


def own_step(options, load, steps):
    model, batch, precision, *rest = load
    command = [built(options, "device_step"), model, options.device, batch, precision, steps, *rest]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"device_step failed with exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def steps(options, verdicts):
    on_cpu = options.device == "cpu"
    loads, count = (ON_CPU, WARM_UP + 3) if on_cpu else (ON_GPU, WARM_UP + 50)
    os.environ.setdefault("BALLAST_BENCH_THREADS", "1")
    peer = Peer(options.peers)
    compared = peer.there()
    raw = []
    rows = [("", "batch", "precision", "ballast", "eager", "torch.compile", "eager / ballast", "compile / ballast")]
    for load in loads:
        model, batch, precision, *rest = load
        found = {"ballast": [], "eager": [], "compile": []}
        sizes = {}
        for _ in range(options.repeats):
            one = own_step(options, load, count)
            found["ballast"].append(statistics.median(one["ms"][WARM_UP:]))
            sizes["ballast"] = one["parameters"]
            for how in ("eager", "compile") if compared else ():
                one = peer.run("torch_step.py", how, model, options.device, batch, precision, count, *rest)
                found[how].append(statistics.median(one["ms"][WARM_UP:]))
                sizes[how] = one["parameters"]
        if len(set(sizes.values())) != 1:
            raise SystemExit(f"{model}: these are not the same models: {sizes} parameters")
        ms = {how: statistics.median(values) for how, values in found.items() if values}
        raw.append({"load": load, "device": options.device, "parameters": sizes["ballast"], "ms": found})
        ratio = {how: ms[how] / ms["ballast"] for how in ms}
        shown = [f"{ms[how]:.2f} ms" if how in ms else "" for how in ("ballast", "eager", "compile")]
        shown += [f"{ratio[how]:.2f}" if how in ms else "" for how in ("eager", "compile")]
        rows.append((model, batch, precision, *shown))
        if "eager" in ms and not on_cpu:
            verdicts.at_least(f"{model}, speed of PyTorch eager", ratio["eager"], OF_EAGER_MIN, "")
    say(f"on {options.device}; medians of {options.repeats} rounds of {count - WARM_UP} steps")
    table(rows)
    return raw


def main():
    def more(parser):
        parser.add_argument("--device", default="cuda:0", help="where the steps run (default cuda:0)")

    options = arguments(__doc__.splitlines()[0], ["kernels", "steps"], more=more)
    if options.device == "cpu":
        options.only = ["steps"]
    else:
        reason = why_no_gpu(options)
        if reason:
            say(f"nothing measured: {reason}")
            return
    parts = {"kernels": lambda v: kernels(options, v), "steps": lambda v: steps(options, v)}
    run_parts("gpu_on_cpu" if options.device == "cpu" else "gpu", options, parts)


if __name__ == "__main__":
    main()
