"""How much faster two hosts prepare a set than one: the part `preparing` of
bench/data.py.

Two network namespaces (bench/lib/two_hosts.py) on half of the cores each, with
caches of their own: a coordinator, and a worker on the same host or on the
other one. From the submission to the manifest. (Both hosts are one machine to
the program, which would not let a worker there help: BALLAST_PREPARE_ON_THIS_MACHINE.)
"""
import json
import os
import shutil
import subprocess
import time

from lib.measure import built, say, table
from lib.sources import middle_s
from lib.two_hosts import Cluster, NotHere, two_hosts

FILES = 24
SPEEDUP_MIN = 1.7
MBIT = 10_000
PREPARED_S = 600
LOOK_S = 0.005


def csv_files(measured, gb, write):
    folder = os.path.join(measured.folder, "csv")
    os.mkdir(folder)
    first = os.path.join(folder, "part-00.csv")
    write(first, gb / FILES)
    for number in range(1, FILES):
        # Of another content, or they would be read once.
        with open(first) as old, open(os.path.join(folder, f"part-{number:02}.csv"), "w") as new:
            new.write(old.readline())
            new.write(f"{'%.6f,' % (number / FILES) * (old.readline().count(','))}{number % 10}\n")
            shutil.copyfileobj(old, new)
    return {"format": "csv", "uri": os.path.join(folder, "part-*.csv"), "label": "y"}


def image_files(measured, program, count):
    folder = os.path.join(measured.folder, "images")
    os.mkdir(folder)
    once = os.path.join(measured.folder, "once")
    os.mkdir(once)
    subprocess.run([program, "make", once, "375", "500", "40"], check=True)
    made = sorted(os.listdir(once))
    for label in ("a", "b"):
        os.mkdir(os.path.join(folder, label))
    for number in range(count):
        with open(os.path.join(once, made[number % len(made)]), "rb") as old:
            content = old.read()
        # A comment behind the end of the picture makes it another file.
        with open(os.path.join(folder, "ab"[number % 2], f"{number:06}.jpg"), "wb") as new:
            new.write(content + str(number).encode())
    shutil.rmtree(once)
    return {"format": "images", "uri": folder, "size": 64}


def prepared(options, measured, job, apart, number):
    """Seconds until the set of a job is there; who read its files."""
    folder = os.path.join(measured.folder, f"cluster-{number}")
    caches = [os.path.join(measured.folder, f"cache-{number}-{host}") for host in range(2)]
    try:
        more = {"BALLAST_PREPARE_ON_THIS_MACHINE": "1"} if apart else {}
        with Cluster(
            options.ballast, 1, folder, caches[0], other_cache=caches[1], environment=more, apart=apart
        ) as cluster:
            wait(lambda: joined(cluster) == 1, "the worker")
            begin = time.monotonic()
            submitted = cluster.submit(job)
            wait(lambda: cluster.run_file("manifest.json") or submitted.poll() is not None, "the set")
            seconds = time.monotonic() - begin
            submitted.communicate()
            if submitted.returncode != 0:
                with open(cluster.log("coordinator")) as f:
                    raise SystemExit(f"preparing: the run failed:\n{f.read()}")
            with open(cluster.log("coordinator")) as f:
                said = [line for line in f if "were read here" in line]
    finally:
        for one in [folder, *caches]:
            shutil.rmtree(one, ignore_errors=True)
    return {"s": seconds, "readers": said[-1].split("of ", 1)[-1].strip() if said else ""}


def joined(cluster):
    with open(cluster.log("coordinator")) as f:
        return sum(" joined from " in line for line in f)


def wait(there, what):
    end = time.monotonic() + PREPARED_S
    while not there():
        if time.monotonic() > end:
            raise SystemExit(f"preparing: {what} did not come")
        time.sleep(LOOK_S)


def preparing(options, measured, verdicts, write):
    raw = {}
    kinds = {
        f"{FILES} CSV files": csv_files(measured, options.gb, write),
        f"{options.images} images": image_files(measured, built(options, "image_batches"), options.images),
    }
    count = 0
    try:
        with two_hosts(None, MBIT, 0):
            for name, source in kinds.items():
                job = measured.write({
                    "data": {"train": source, "test_fraction": 0},
                    "model": {"kind": "emulated"},
                    "train": {"epochs": 1, "global_batch": 65536},
                })
                found = {"one host": [], "two hosts": []}
                for _ in range(options.repeats):
                    for apart, which in enumerate(found):
                        count += 1
                        found[which].append(prepared(options, measured, job, bool(apart), count))
                say(f"{name}; half of the cores each")
                table([("", "s", "files")] + [(n, f"{middle_s(r):.2f}", r[-1]["readers"]) for n, r in found.items()])
                ratio = middle_s(found["one host"]) / middle_s(found["two hosts"])
                verdicts.at_least(f"{name}, two hosts over one", ratio, SPEEDUP_MIN, "x")
                raw[name] = found
    except NotHere as why:
        say(f"  no hosts: {why}")
    return raw
