#!/usr/bin/env python3
"""What the GPU of this machine does with Ballast's kernels.

  ./dev bench gpu [--repeats N] [--only PART] [--save] [--check]

kernels   Bytes touched a second of every kernel (bench/cuda_kernels.cpp) with
          arrays of 64 and 256 MiB, against a copy of the same array in device
          memory, measured in turn. At least 85 % of it; the trailer has 64
          bytes and is only reported.

Without a GPU nothing is measured, one line says why, and the exit code is 0.
"""
import json
import subprocess

from lib.measure import arguments, built, run_parts, say, table

OF_COPY_MIN = 0.85
SIZES_MIB = (64, 256)
ONLY_REPORTED = ("copy", "write_trailer")


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


def main():
    options = arguments(__doc__.splitlines()[0], ["kernels"])
    reason = why_no_gpu(options)
    if reason:
        say(f"nothing measured: {reason}")
        return
    run_parts("gpu", options, {"kernels": lambda verdicts: kernels(options, verdicts)})


if __name__ == "__main__":
    main()
