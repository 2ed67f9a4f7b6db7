#!/usr/bin/env python3
"""What the GPU of this machine does with Ballast's kernels and models.

  ./dev bench gpu [--repeats N] [--only PART] [--device cuda:0|cpu]
                  [--no-compile] [--generations N] [--peers DIR] [--save] [--check]

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
          torch.compile is reported, 0.75 is the aim. Ballast records a step
          that comes again; as a worker of several it does not, so the step
          without recordings is measured, too.
run       `ballast run` of that transformer with one worker, in turn with the
          bare step of bench/device_step.cpp. What the run adds is at most 0.3 %
          of its step, and at most 2 % of a step waits for input. The run also
          computes the norm of the gradient, which says whether it is finite:
          that pass over it is measured alone (bench/cuda_kernels.cpp), and the
          rest is reported without it, too.
rebuild   From one collective over NCCL to the next (bench/nccl_rebuild.cpp),
          with one rank: the next one is open within 50 ms, and descriptors,
          threads and memory stay as they were, whether the last one was closed
          or aborted.

With --device cpu `steps` and `run` are tiny, in float32 and in bfloat16: they
check that the programs run, and judge nothing. Without a GPU and without --device
cpu it measures nothing, prints the reason on one line, and exits with code 0.
"""
import functools
import itertools
import json
import os
import statistics
import subprocess

from lib.device_run import PHASES, transformer, watched
from lib.measure import Peer, Scratch, arguments, built, run_parts, say, step_times_ms, table

OF_COPY_MIN = 0.85
OF_EAGER_MIN = 1.0
SIZES_MIB = (64, 256)
ONLY_REPORTED = ("copy", "write_trailer")
WARM_UP = 10
UNRECORDED = "BALLAST_BENCH_UNRECORDED"  # what device_step looks for
RUN_STEPS, RUN_WARM_UP = 250, 50
RUNTIME_SHARE_MAX, INPUT_SHARE_MAX = 0.003, 0.02
NORM_ROUNDS = 5
OPEN_MS_MAX = 50
# What may stay of 90 generations that leave nothing: caches that fill late.
STAYS_MAX = {"descriptors": 4, "threads": 4, "device MiB": 16}

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


def result_of(options, program, *arguments):
    """What one of our programs prints as JSON; its errors and its progress go to
    stderr at once."""
    command = [built(options, program), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{program} failed with exit code {done.returncode}")
    found = json.loads(done.stdout)
    if "no_gpu" in found:
        raise SystemExit(f"{program}: {found['no_gpu']}")
    return found


def kernels(options, verdicts):
    raw = result_of(options, "cuda_kernels", 4 * options.repeats, *SIZES_MIB)
    say(f"{raw['device']}, driver for CUDA {raw['driver']}, built with {raw['runtime']}; medians of {4 * options.repeats} rounds")
    rows = [("", "array", "time", "bandwidth", "of a copy")]
    for one in raw["kernels"]:
        rows.append((one["kernel"], f"{one['mebibytes']} MiB", f"{one['us']:.1f} us", f"{one['gb_s']:.0f} GB/s", f"{one['of_copy']:.1%}"))
    table(rows)
    for one in raw["kernels"]:
        if one["kernel"] not in ONLY_REPORTED:
            verdicts.at_least(f"{one['kernel']}, {one['mebibytes']} MiB, of a copy", one["of_copy"], OF_COPY_MIN, "")
    return raw


def own_step(options, load, steps, recorded=True):
    model, batch, precision, *rest = load
    os.environ.pop(UNRECORDED, None)
    if not recorded:
        os.environ[UNRECORDED] = "1"
    return result_of(options, "device_step", model, options.device, batch, precision, steps, *rest)


def steps(options, verdicts):
    on_cpu = options.device == "cpu"
    loads, count = (ON_CPU, WARM_UP + 3) if on_cpu else (ON_GPU, WARM_UP + 50)
    peer = Peer(options.peers)
    compared = ("eager", *([] if options.no_compile else ["compile"])) if peer.there() else ()
    raw = []
    names = {"ballast": "ballast", "unrecorded": "not recorded", "eager": "eager", "compile": "torch.compile"}
    rows = [("", "batch", "precision", *names.values(), "eager / ballast", "compile / ballast")]
    for load in loads:
        model, batch, precision, *rest = load
        found = {how: [] for how in names}
        sizes = {}
        for _ in range(options.repeats):
            for how in ("ballast", "unrecorded"):
                one = own_step(options, load, count, how == "ballast")
                found[how].append(statistics.median(one["ms"][WARM_UP:]))
                sizes[how] = one["parameters"]
            for how in compared:
                one = peer.run("torch_step.py", how, model, options.device, batch, precision, count, *rest)
                found[how].append(statistics.median(one["ms"][WARM_UP:]))
                sizes[how] = one["parameters"]
        if len(set(sizes.values())) != 1:
            raise SystemExit(f"{model}: these are not the same models: {sizes} parameters")
        ms = {how: statistics.median(values) for how, values in found.items() if values}
        raw.append({"load": load, "device": options.device, "parameters": sizes["ballast"], "ms": found})
        ratio = {how: ms[how] / ms["ballast"] for how in ms}
        shown = [f"{ms[how]:.2f} ms" if how in ms else "" for how in names]
        shown += [f"{ratio[how]:.2f}" if how in ms else "" for how in ("eager", "compile")]
        rows.append((model, batch, precision, *shown))
        if "eager" in ms and not on_cpu:
            verdicts.at_least(f"{model}, speed of PyTorch eager", ratio["eager"], OF_EAGER_MIN, "")
    say(f"on {options.device}; medians of {options.repeats} rounds of {count - WARM_UP} steps")
    table(rows)
    return raw


def bare_step(options, load):
    """As the run: from the end of a step to the end of the next."""
    one = own_step(options, load, RUN_STEPS)
    ends_ns = [ms * 1e6 for ms in itertools.accumulate(one["ms"])]
    return {"parameters": one["parameters"], **step_times_ms(ends_ns, RUN_WARM_UP)}


def norm_pass_ms(options, parameters):
    """The pass over the gradient that a run makes and the bare step does not."""
    mebibytes = max(1, round(4 * parameters / 2**20))
    found = result_of(options, "cuda_kernels", NORM_ROUNDS, mebibytes)["kernels"]
    return next(one["us"] for one in found if one["kernel"] == "clip_by_norm") / 1000


def run(options, verdicts):
    on_cpu = options.device == "cpu"
    load = next(one for one in (ON_CPU if on_cpu else ON_GPU) if one[0] == "transformer")
    _, batch, precision, tokens, width, layers, vocabulary = load
    # One epoch reaches beyond what is measured.
    job = transformer(batch, precision, tokens, width, layers, vocabulary, RUN_STEPS + 50)
    bare, whole = [], []
    with Scratch() as scratch:
        cache = os.path.join(scratch, "cache")
        for i in range(options.repeats):
            bare.append(bare_step(options, load))
            folder = os.path.join(scratch, f"run-{i}")
            whole.append(watched(job, folder, cache, options.ballast, options.device, RUN_WARM_UP, RUN_STEPS))
    parameters = bare[0]["parameters"]
    say(f"a transformer of {parameters:,} parameters on {options.device}, {batch} rows of {tokens} tokens, {precision}")
    say(f"medians of {options.repeats} repeats of {RUN_STEPS - RUN_WARM_UP} steps; reduced by {whole[0]['collective']}")
    rows = [("a step", "mean", "median", "99 of 100 below")]
    for name, found in (("bare step", bare), ("ballast run", whole)):
        middle = [statistics.median(one[key] for one in found) for key in ("mean_ms", "median_ms", "p99_ms")]
        rows.append((name, *(f"{ms:.3f} ms" for ms in middle)))
    table(rows)
    mean = statistics.median(one["mean_ms"] for one in whole)
    for one in whole:
        one["phases_ms"]["between steps"] = one["mean_ms"] - sum(one["phases_ms"].values())
    rows = [("phases of a step of the run", "mean", "of it")]
    for phase in (*PHASES, "between steps"):
        ms = statistics.median(one["phases_ms"][phase] for one in whole)
        rows.append((phase, f"{ms:.4f} ms", f"{ms / mean:.2%}"))
    table(rows)
    added = {}
    for key in ("mean_ms", "median_ms"):
        added[key] = statistics.median(b[key] - a[key] for a, b in zip(bare, whole))
        share = statistics.median((b[key] - a[key]) / b[key] for a, b in zip(bare, whole))
        say(f"  the run adds to the {key.removesuffix('_ms')} step {added[key]:.3f} ms, {share:.2%} of it")
    raw = {"bare step": bare, "ballast run": whole}
    if on_cpu:
        return raw
    raw["norm_pass_ms"] = norm = norm_pass_ms(options, parameters)
    rest = added["mean_ms"] - norm
    say(f"  of the mean the pass for the norm of the gradient {norm:.3f} ms; without it {rest:.3f} ms, {rest / mean:.2%}")
    shares = [(b["mean_ms"] - a["mean_ms"]) / b["mean_ms"] for a, b in zip(bare, whole)]
    verdicts.at_most("what the run adds, of a step", statistics.median(shares), RUNTIME_SHARE_MAX, "")
    # Far below zero the bare step is no floor, and the limit above means nothing.
    verdicts.at_least("the same, so the bare step is a floor", statistics.median(shares), -RUNTIME_SHARE_MAX, "")
    waits = [one["phases_ms"]["data"] / sum(one["phases_ms"][p] for p in PHASES) for one in whole]
    verdicts.at_most("waits for input, of a step", statistics.median(waits), INPUT_SHARE_MAX, "")
    return raw


def rebuild(options, verdicts):
    raw = result_of(options, "nccl_rebuild", options.generations)
    first, *_ = raw["generations"]
    later = raw["generations"][raw["warm_up"] :]
    for one in raw["generations"]:
        one["open_ms"] = one["prepare_ms"] + one["connect_ms"]
    closed, aborted = ([one for one in later if one["ended"] == how] for how in ("closed", "aborted"))
    say(f"{raw['device']}, driver for CUDA {raw['driver']}, NCCL {raw['nccl']}, one rank")
    say(f"{len(later)} generations after the first {raw['warm_up']}")
    rows = [("", "the first", "median", "least", "most")]
    for name, key, among in (
        ("open", "open_ms", later),
        ("  prepare", "prepare_ms", later),
        ("  connect", "connect_ms", later),
        ("first all-reduce", "all_reduce_ms", later),
        ("end, closed", "end_ms", closed),
        ("  thereof dropped", "drop_ms", closed),
        ("end, aborted", "end_ms", aborted),
    ):
        values = [one[key] for one in among]
        begun = f"{first[key]:.2f} ms" if among is not aborted else ""
        rows.append((name, begun, *(f"{of(values):.2f} ms" for of in (statistics.median, min, max))))
    table(rows)
    verdicts.at_most("open, median", statistics.median(one["open_ms"] for one in later), OPEN_MS_MAX, "ms")
    before, after = raw["before"], raw["after"]
    stays = {name: after[name] - before[name] for name in ("descriptors", "threads")}
    stays["device MiB"] = (before["free_bytes"] - after["free_bytes"]) / 2**20
    for name, most in STAYS_MAX.items():
        verdicts.at_most(f"left behind by {len(later)} generations, {name}", stays[name], most, "")
    return raw


def main():
    def more(parser):
        parser.add_argument("--device", default="cuda:0", help="where steps and runs compute (default cuda:0)")
        parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out, which takes a minute")
        parser.add_argument("--generations", type=int, default=100, help="of the part rebuild (default 100)")

    parts = {"kernels": kernels, "steps": steps, "run": run, "rebuild": rebuild}
    options = arguments(__doc__.splitlines()[0], list(parts), more=more)
    if options.generations < 4:
        raise SystemExit("--generations: expected 4 or more")
    os.environ.setdefault("BALLAST_BENCH_THREADS", "1")
    if options.device == "cpu":
        options.only = [part for part in options.only if part in ("steps", "run")]
    else:
        reason = why_no_gpu(options)
        if reason:
            say(f"nothing measured: {reason}")
            return
    name = "gpu_on_cpu" if options.device == "cpu" else "gpu"
    run_parts(name, options, {part: functools.partial(measure, options) for part, measure in parts.items()})


if __name__ == "__main__":
    main()
