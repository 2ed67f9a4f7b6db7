"""What a limit of memory costs: the part `memory` of bench/data.py.

Rows of 1 KB in a Parquet file are prepared, made distinct, shuffled, joined and
sorted in a control group whose memory is a tenth of them, beside the same
without a limit. Everything is on the disk of the project: memory that a file in
/dev/shm takes would count. Needs root.
"""
import contextlib
import glob
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

from lib.measure import ROOT, say, table

SPEED_MIN = 0.5
COLUMNS = 124  # and a key, and a label: 1 KB a row


class NotHere(Exception):
    """Why no group can be made here."""


@contextlib.contextmanager
def group(limit_bytes):
    """The folder of a control group with this much memory."""
    for top, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        if os.path.isdir(top) and os.path.exists(os.path.join(top, "cgroup.procs")):
            break
    else:
        raise NotHere("no control groups for memory in /sys/fs/cgroup")
    folder = os.path.join(top, f"ballast-bench-{os.getpid()}")
    try:
        os.mkdir(folder)
        try:
            with open(os.path.join(folder, limit), "w") as f:
                f.write(str(limit_bytes))
            yield folder
        finally:
            wait_until_empty(folder)
            os.rmdir(folder)
    except OSError as why:
        raise NotHere(f"{folder}: {why.strerror}") from None


def wait_until_empty(folder):
    for _ in range(100):
        with open(os.path.join(folder, "cgroup.procs")) as f:
            if not f.read().strip():
                return
        time.sleep(0.05)


def rows_file(path, rows, keys, columns=COLUMNS, prefix=""):
    """A Parquet file of rows of 1 KB whose keys come in no order."""
    script = os.path.join(ROOT, "bench", "peers", "wide_parquet.py")
    deps = os.environ.get("BALLAST_DEPS", os.path.join(ROOT, ".deps"))
    env = {**os.environ, "PYTHONPATH": ":".join(glob.glob(os.path.join(deps, "pyarrow-*")))}
    command = [sys.executable, script, path, str(rows), str(keys), str(columns), prefix]
    subprocess.run(command, check=True, env=env)


def jobs(folder):
    """By name: the job, and the node that is written; None: it is prepared."""
    large, small = (os.path.join(folder, f"{name}.parquet") for name in ("large", "small"))
    model = {"model": {"kind": "logistic"}, "train": {"global_batch": 256}}
    out = {
        "prepare": (
            {"data": {"train": {"format": "parquet", "uri": large, "label": "y"}, "test_fraction": 0,
                      "placement": {"kind": "iid"}}, **model}, None)
    }
    nodes = {
        "distinct": {"op": "distinct", "from": "large", "on": ["key"]},
        "shuffle": {"op": "shuffle", "from": "large"},
        "join": {"op": "join", "from": ["large", "small"], "on": "key"},
        "sort": {"op": "sort", "from": "large", "by": "key"},
    }
    for name, node in nodes.items():
        sources = {"large": {"format": "parquet", "uri": large}}
        if name == "join":
            sources["small"] = {"format": "parquet", "uri": small}
        graph = [{**node, "as": "out"}]
        data = {"sources": sources, "graph": graph, "train": {"from": "out", "label": "y"}}
        out[name] = ({"data": data, **model}, "out")
    return out


def once(options, folder, job, node, inside):
    path = os.path.join(folder, "job.json")
    with open(path, "w") as f:
        json.dump(job, f)
    made = os.path.join(folder, "made")
    os.mkdir(made)
    command = [options.ballast, "data"] + (
        ["prepare", path] if node is None else ["write", path, node, os.path.join(made, "out.arrow")]
    )
    if inside:
        enter = f'echo $$ > {os.path.join(inside, "cgroup.procs")} && exec "$@"'
        command = ["sh", "-c", enter, "sh", *command]
    env = {**os.environ, "BALLAST_CACHE": os.path.join(made, "cache"), "TMPDIR": made}
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    seconds = time.monotonic() - start
    shutil.rmtree(made)
    if inside and done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL):
        return {"s": float("inf")}  # the kernel: it took more memory than there is
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return {"s": seconds}


def memory(options, measured, verdicts):
    size = int(options.memory_gb * 1e9)
    rows = size // 1024
    folder = os.path.join(measured.disk, "memory")
    os.mkdir(folder)
    rows_file(os.path.join(folder, "large.parquet"), rows, rows // 2)
    rows_file(os.path.join(folder, "small.parquet"), max(1, rows // 20), rows // 2, 2, "small_")
    say(f"{rows} rows of 1 KB, {size / 1e9:.1f} GB, in {options.limit_mb} MB of memory, and without a limit")
    raw = {}
    lines = [("", "limited s", "unlimited s", "MB/s limited")]  # inf: killed for its memory
    try:
        for name, (job, node) in jobs(folder).items():
            found = raw[name] = {"limited": [], "unlimited": []}
            for _ in range(options.repeats):
                with group(options.limit_mb * 1_000_000) as inside:
                    found["limited"].append(once(options, folder, job, node, inside))
                found["unlimited"].append(once(options, folder, job, node, None))
            limited, free = (statistics.median(one["s"] for one in runs) for runs in found.values())
            lines.append((name, f"{limited:.1f}", f"{free:.1f}", f"{size / limited / 1e6:.0f}"))
    except NotHere as why:
        say(f"  no limit: {why}")
        return {}
    finally:
        shutil.rmtree(folder)
    table(lines)
    for name, found in raw.items():
        limited, free = (statistics.median(one["s"] for one in runs) for runs in found.values())
        verdicts.at_least(f"{name} in limited memory, speed over unlimited", free / limited, SPEED_MIN, "x")
    return raw
