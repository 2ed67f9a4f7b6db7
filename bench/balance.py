#!/usr/bin/env python3
"""How good the balance is, and what it costs.

  ./dev bench balance [--repeats N] [--only PART] [--long] [--save] [--check]

planner    The mathematics alone, on one core (`ballast bench planner`): quotas
           by the fast path and by the exact solver, whole chunks, the split of
           a batch; and the minimum of random requests against HiGHS: 1,000,
           with --long 10,000 (a quarter of an hour on two cores).
straggler  One of four workers four times slower, then another one, then none:
           throughput from the 20th step after each change on, over the ideal;
           within an epoch, and where short epochs end meanwhile.
skew       Fashion-MNIST sorted by label: how soon the skew is below 0.05, and
           how many rows move for that.
moving     The step's 95th percentile while data move, over that without; and
           the whole time of a job that fills every core.
crowded    The same job beside a process that uses one core half of the time: rows
           moved, and samples a second over those of the unbalanced job.
accuracy   A cnn with batch norm on Fashion-MNIST by Dirichlet(0.1): how far its
           accuracy is below that of iid rows, with and without balancing; and the
           same without batch norm.
runs       Whole runs in virtual time: rows moved over the exact minimum, an hour
           of noise, an hour of drift, other work on one core.
policies   Balancers of other systems (bench/policies/) on the same placements as
           ours: rows moved for the same final balance; and in virtual time,
           with late reports, slow moves and noise, rows moved back and in vain.
"""
import csv
import functools
import io
import os
import statistics
import subprocess
import sys

from lib.accuracy import accuracy
from lib.measure import ROOT, arguments, built, run_parts, say, table, warn_if_busy
from lib.policies import policies
from lib.rebalance import crowded, moving, skew, straggler
from lib.whole_runs import whole_runs

# By function, workers, classes: ms. The slowest placement counts.
PLANNER_MS_MAX = {
    ("fast_quota", 64, 1000): 30,
    ("exact_quota", 64, 1000): 2000,
    ("fast_quota", 1024, 100): 500,
    ("choose_moves", 64, 1000): 1000,
    ("batch_split", 512, 0): 1,
}
SECONDS = 0.5  # a cell and repeat
INSTANCES, INSTANCES_LONG = 1_000, 10_000


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


# -- planner -------------------------------------------------------------------


def same_minimum(options):
    """Random requests of which an integer program of others has the same
    minimum as we; the script ends with an error where one has not. None
    without Debian's scipy."""
    script = os.path.join(ROOT, "tests", "runtime", "balance", "quota_against_scipy.py")
    python = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
    if subprocess.run([python, "-c", "import scipy.optimize"], capture_output=True).returncode != 0:
        return None
    every = INSTANCES_LONG if options.long else INSTANCES
    cores = os.cpu_count() or 1
    first = [1 + every * core // cores for core in range(cores + 1)]
    solving = [
        subprocess.Popen(
            [python, script, built(options, "quota_instances"), str(first[core]), str(first[core + 1] - first[core])],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for core in range(cores)
    ]
    compared = 0
    try:
        for one in solving:
            said = one.communicate()[0].strip()
            if one.returncode != 0:
                raise SystemExit(said)
            say(f"  {said}")
            compared += int(said.split()[0])
    finally:
        for one in solving:
            one.kill()
    return compared


def planner(options, verdicts):
    raw = []
    for _ in range(options.repeats):
        text = run([options.ballast, "bench", "planner", "--csv", "--seconds", SECONDS])
        raw.append(list(csv.DictReader(io.StringIO(text))))
    cells = {}
    for found in raw:
        for r in found:
            key = (r["part"], r["placement"], int(r["workers"]), int(r["classes"]))
            cells.setdefault(key, []).append(r)
    ms = {k: statistics.median(float(r["median_ms"]) for r in rows) for k, rows in cells.items()}
    moved = {k: (int(rows[0]["moved"]), int(rows[0]["bound"])) for k, rows in cells.items()}

    say(f"\nquotas: rows to move, and how long it takes to know; medians of {options.repeats} repeats")
    rows = [("", "workers", "classes", "fast", "exact", "moved", "minimum", "bound", "gap")]
    for part, placement, workers, classes in cells:
        if part != "fast_quota":
            continue
        fast, exact = (part, placement, workers, classes), ("exact_quota", placement, workers, classes)
        rows.append(
            (
                placement,
                workers,
                classes,
                f"{ms[fast]:.2f} ms",
                f"{ms[exact]:.1f} ms" if exact in ms else "",
                f"{moved[fast][0]:,}",
                f"{moved[exact][0]:,}" if exact in moved else "",
                f"{moved[fast][1]:,}",
                f"{moved[fast][0] / max(1, moved[fast][1]) - 1:.2%}",
            )
        )
    table(rows)
    for (part, placement, workers, classes), rows in cells.items():
        if part == "choose_moves":
            took = ms[(part, placement, workers, classes)]
            say(f"  whole chunks, {placement}, {workers} workers, {classes} classes: {took:.1f} ms")
    say()
    for (part, workers, classes), limit in PLANNER_MS_MAX.items():
        slowest = max(t for (p, _, w, c), t in ms.items() if (p, w, c) == (part, workers, classes))
        name = f"{part}, {workers} workers" + (f", {classes} classes" if classes else "")
        verdicts.at_most(name, slowest, limit, "ms")
    minimum = {k[1:]: rows for k, (rows, _) in moved.items() if k[0] == "exact_quota"}
    more = sum(rows - minimum[k[1:]] for k, (rows, _) in moved.items() if k[0] == "fast_quota" and k[1:] in minimum)
    verdicts.at_most("rows of all these quotas beyond the exact minimum", more, 0, "rows")
    instances = same_minimum(options)
    if instances is None:
        say("  no scipy for /usr/bin/python3: the minimum is not compared with HiGHS; ./dev setup installs it")
    else:
        verdicts.at_least("random requests with the minimum that HiGHS finds", instances,
                          INSTANCES_LONG if options.long else INSTANCES, "")
    return {"rounds": raw, "instances": instances}


PARTS = {
    "planner": planner,
    "straggler": straggler,
    "skew": skew,
    "moving": moving,
    "crowded": crowded,
    "accuracy": accuracy,
    "runs": whole_runs,
    "policies": policies,
}


def main():
    options = arguments(
        __doc__.splitlines()[0], list(PARTS),
        more=lambda p: p.add_argument("--long", action="store_true", help="ten times as many random requests"))
    warn_if_busy()
    run_parts("balance", options, {name: functools.partial(measure, options) for name, measure in PARTS.items()})


if __name__ == "__main__":
    main()
