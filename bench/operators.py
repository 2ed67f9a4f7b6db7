#!/usr/bin/env python3
"""How fast classes are resampled, and whether the same rows stay.

  ./dev bench operators [--repeats N] [--rows N] [--only PART] [--save] [--check]

Each part is a few methods of `ballast data resample` beside imbalanced-learn
(bench/peers/resampling.py), in turn, on the same rows: 20 columns of
make_classification, two classes, 10:1. One thread each; what counts is the time
from rows in memory to rows in memory (`resample_s`, and fit_resample).

over     random_over, smote, adasyn, borderline_smote
under    random_under, near_miss, cluster_centroids, and the inertia of its centres
clean    tomek_links, enn, renn, all_knn, ncr: the rows that stay must be the same
both     smote_tomek, smote_enn
numpy    random_over, random_under and smote with rng=numpy_mt19937: equal to
         imbalanced-learn's, bit by bit
threads  two threads over one, and whether their files are equal
profile  `ballast data profile` of --profile-rows rows of 20 columns beside pandas
         (bench/peers/profiles.py), from the file, all threads, and its memory
impute   the strategy "knn" of imputing on 20,000 rows, one cell of twenty
         missing, beside scikit-learn's KNNImputer: the whole command `ballast
         data write`, reading and writing included, against fit_transform alone
features 10^7 rows of 20 columns (--table-rows) filled, clipped, standardized, made
         columns of categories and hashed, fitted and applied, in memory, two
         threads, beside scikit-learn's ColumnTransformer and Polars
         (bench/lib/features.py; `ninja feature_columns` builds the program)
equal    the first of 10^7 rows that are equal in all six columns, from file to file,
         two threads, beside pandas and Polars (bench/peers/duplicates.py)
near     the texts of --texts that are near none before them (Jaccard 0.8), from
         file to file, two threads, beside datasketch, whose texts are in memory

The peers' environment is made by  bench/peers/setup.sh DIR operators.
"""
import json
import os
import statistics
import subprocess
import tempfile
import time

from lib.features import AT_LEAST, MAKE, features as features_of
from lib.measure import Peer, arguments, built, run_parts, say, table, warn_if_busy

PARTS = ["over", "under", "clean", "both", "numpy", "threads", "impute", "profile", "features", "equal", "near"]
# How many times faster than the peer, at least.
OVER = {"random_over": 3, "smote": 3, "adasyn": 6, "borderline_smote": 6}
UNDER = {"random_under": 1, "near_miss": 3, "cluster_centroids": 10}
CLEAN = {"tomek_links": 20, "enn": 20, "renn": 15, "all_knn": 15, "ncr": 15}
BOTH = {"smote_tomek": 15, "smote_enn": 15}
SAME_ROWS = ["tomek_links", "enn", "renn", "all_knn", "ncr", "near_miss"]
SLOW = {"cluster_centroids", "smote_tomek", "smote_enn", "renn", "all_knn"}  # of the peer: once is enough
INERTIA_MAX = 1.02
THREADS = 2
TWO_THREADS_MIN = 1.7
PROFILE_MIN = 10
PROFILE_BYTES_MAX = 1_000_000_000
EQUAL_MIN = {"pandas": 5, "polars": 1}
NEAR_MIN, RECALL_MIN = 20, 0.95
IMPUTED_ROWS, IMPUTE_MIN, IMPUTED_APART_MAX = 20_000, 5, 1e-9


class Measured:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.peer = Peer(options.peers)

    def path(self, name):
        return os.path.join(self.folder, name)

    def ballast(self, method, *options, threads=1, out="out.parquet", seed=0):
        """One run on the first cores; `resample_s` and the rows."""
        if os.path.exists(self.path(out)):
            os.remove(self.path(out))
        cores = ",".join(str(c) for c in sorted(os.sched_getaffinity(0))[:threads])
        command = ["taskset", "-c", cores, self.options.ballast, "data", "resample", self.path("rows.parquet")]
        command += [self.path(out), "--label", "y", "--method", method, "--seed", str(seed), "--json"]
        for option in options:
            command += option if isinstance(option, list) else ["--option", option]
        env = {**os.environ, "BALLAST_CACHE": self.path("cache")}
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def run_profile(self, path):
        return self.peer.run("profiles.py", path)

    def write(self, graph, node, out, source="gaps.parquet", label="y", threads=1):
        """Seconds of `ballast data write` on so many cores."""
        for name in (out, out + ".quarantine.jsonl"):
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))
        job = {
            "data": {
                "sources": {"in": {"format": source.split(".")[1], "uri": self.path(source)}},
                "graph": graph,
                "train": {"from": node, "label": label},
                "test_fraction": 0,
            },
            "model": {"kind": "linear"},
            "train": {"loss": "mse"},
        }
        with open(self.path("job.json"), "w", encoding="ascii") as f:
            json.dump(job, f)
        cores = ",".join(str(c) for c in sorted(os.sched_getaffinity(0))[:threads])
        command = ["taskset", "-c", cores, self.options.ballast, "data", "write", self.path("job.json"), node, self.path(out)]
        env = {**os.environ, "BALLAST_CACHE": self.path("cache")}
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        return seconds

    def run_peer(self, *what):
        return self.peer.run("resampling.py", what[0], self.folder, *what[1:])


def compared(measured, limits, verdicts):
    raw = {}
    rows = [("", "ballast s", "imbalanced-learn s", "rows", "its rows")]
    for method in limits:
        ours, theirs = [], []
        for i in range(measured.options.repeats):
            ours.append(measured.ballast(method, ["--with-source"], out=f"{method}.parquet"))
            if measured.there and (i == 0 or method not in SLOW):
                theirs.append(measured.run_peer("run", method))
        raw[method] = {"ballast": ours, "imbalanced-learn": theirs}
        middle = statistics.median(one["resample_s"] for one in ours)
        its = statistics.median(one["s"] for one in theirs) if theirs else None
        raw[method]["s"] = middle
        raw[method]["peer_s"] = its
        rows.append((method, f"{middle:.4f}", f"{its:.3f}" if its else "", ours[0]["rows"], theirs[0]["rows"] if theirs else ""))
    table(rows)
    for method, least in limits.items():
        its = raw[method]["peer_s"]
        if its is None:
            continue
        verdicts.at_least(f"{method}, over imbalanced-learn", its / raw[method]["s"], least, "x")
        if method in SAME_ROWS:
            found = measured.run_peer("same", method, measured.path(f"{method}.parquet"))
            verdicts.at_least(f"{method}: the same rows", int(found["same"]), 1, "")
    return raw


def over(measured, verdicts):
    return compared(measured, OVER, verdicts)


def under(measured, verdicts):
    raw = compared(measured, UNDER, verdicts)
    if measured.there:
        found = measured.run_peer("inertia", measured.path("cluster_centroids.parquet"))
        raw["inertia"] = found
        verdicts.at_most("cluster_centroids: inertia over the peer's", found["ours"] / found["peer"], INERTIA_MAX, "x")
    return raw


def clean(measured, verdicts):
    return compared(measured, CLEAN, verdicts)


def both(measured, verdicts):
    return compared(measured, BOTH, verdicts)


def numpy(measured, verdicts):
    raw = {}
    if not measured.there:
        return raw
    for method in ("random_over", "random_under", "smote"):
        measured.run_peer("run", method)
        measured.ballast(method, "rng=numpy_mt19937", out="numpy.parquet")
        raw[method] = measured.run_peer("equal", method, measured.path("numpy.parquet"))
        verdicts.at_least(f"{method} with rng=numpy_mt19937: equal", int(raw[method]["same"]), 1, "")
    return raw


def threads(measured, verdicts):
    raw = {}
    for method in ("adasyn", "tomek_links", "enn", "smote_tomek", "cluster_centroids"):
        found = {1: [], 2: []}
        for _ in range(measured.options.repeats):
            for count, runs in found.items():
                runs.append(measured.ballast(method, threads=count, out=f"{count}.parquet")["resample_s"])
        contents = []
        for count in found:
            with open(measured.path(f"{count}.parquet"), "rb") as f:
                contents.append(f.read())
        one, two = (statistics.median(found[count]) for count in (1, 2))
        raw[method] = {"one_s": found[1], "two_s": found[2], "equal": contents[0] == contents[1]}
        verdicts.at_least(f"{method}: two threads over one", one / two, TWO_THREADS_MIN, "x")
        verdicts.at_least(f"{method}: equal files", int(raw[method]["equal"]), 1, "")
    return raw


def profile(measured, verdicts):
    path = measured.path("mixed.arrow")
    subprocess.run([measured.peer.python, "-c", MAKE, path, str(measured.options.profile_rows)], check=True)
    raw = {"ballast": [], "pandas": []}
    for _ in range(measured.options.repeats):
        start = time.monotonic()
        child = subprocess.Popen([measured.options.ballast, "data", "profile", path, "--json"], stdout=subprocess.PIPE)
        said = json.loads(child.stdout.read())
        _, status, used = os.wait4(child.pid, 0)
        if status != 0:
            raise SystemExit(f"ballast data profile failed: {status}")
        raw["ballast"].append({"s": time.monotonic() - start, "bytes": used.ru_maxrss * 1024})
        raw["pandas"].append(measured.run_profile(path))
        if raw["pandas"][-1]["repeated"] != said["repeated_rows"]:
            raise SystemExit(f"{said['repeated_rows']} repeated rows, {raw['pandas'][-1]['repeated']} by pandas")
    own, other = (statistics.median(one["s"] for one in raw[name]) for name in ("ballast", "pandas"))
    most = max(one["bytes"] for one in raw["ballast"])
    table([("", "s", "MB"), ("ballast", f"{own:.2f}", f"{most / 1e6:.0f}"),
           ("pandas", f"{other:.2f}", f"{max(one['bytes'] for one in raw['pandas']) / 1e6:.0f}")])
    verdicts.at_least("profile over pandas", other / own, PROFILE_MIN, "x")
    verdicts.at_least("1 GB over the memory of a profile", PROFILE_BYTES_MAX / most, 1, "x")
    return raw


def impute(measured, verdicts):
    measured.run_peer("gaps", IMPUTED_ROWS)
    node = {"op": "impute", "from": "in", "strategy": "knn", "columns": [f"x{i}" for i in range(20)], "as": "filled"}
    raw = {"ballast": [], "peer": []}
    for _ in range(measured.options.repeats):
        raw["ballast"].append(measured.write([node], "filled", "filled.parquet"))
        raw["peer"].append(measured.run_peer("impute")["s"])
    ours, theirs = (statistics.median(raw[name]) for name in ("ballast", "peer"))
    table([("", "ballast s", "scikit-learn s"), ("knn", f"{ours:.3f}", f"{theirs:.3f}")])
    verdicts.at_least("knn, over scikit-learn", theirs / ours, IMPUTE_MIN, "x")
    raw["apart"] = measured.run_peer("filled", measured.path("filled.parquet"))["apart"]
    verdicts.at_most("knn: furthest cell from scikit-learn's", raw["apart"], IMPUTED_APART_MAX, "")
    return raw


def features(measured, verdicts):
    options = measured.options
    built(options, "feature_columns")
    middle, problems = features_of(options.table_rows, options.repeats, measured.peer.python)
    table([("", "s", "M rows/s")] + [(name, f"{one:.2f}", f"{options.table_rows / one / 1e6:.2f}") for name, one in middle.items()])
    for name, least in AT_LEAST.items():
        verdicts.at_least(f"features, over {name}", middle[name] / middle["ballast"], least, "x")
    verdicts.at_least("features: the same state on 1, 2 and 7 threads", int(not any("state" in one for one in problems)), 1, "")
    return middle


def equal(measured, verdicts):
    measured.peer.run("duplicates.py", "equal-rows", measured.folder, measured.options.table_rows)
    node = {"op": "distinct", "from": "in", "as": "once"}
    raw = {"ballast": []}
    for _ in range(measured.options.repeats):
        s = measured.write([node], "once", "once.arrow", "equal.arrow", "key", threads=THREADS)
        raw["ballast"].append({"s": s})
        for name in EQUAL_MIN:
            raw.setdefault(name, []).append(measured.peer.run("duplicates.py", name, measured.folder))
    seconds = {name: statistics.median(one["s"] for one in runs) for name, runs in raw.items()}
    table([("", "s")] + [(name, f"{one:.2f}") for name, one in seconds.items()])
    for name, least in EQUAL_MIN.items():
        verdicts.at_least(f"equal rows, over {name}", seconds[name] / seconds["ballast"], least, "x")
    for name in ("equal.arrow", "once.arrow", "peer.arrow"):
        os.remove(measured.path(name))
    return raw


def near(measured, verdicts):
    made = measured.peer.run("duplicates.py", "near-rows", measured.folder, measured.options.texts)
    node = {
        "op": "distinct", "from": "in", "on": "text", "similarity": 0.8, "shingle_of": "words", "shingle": 3, "as": "once",
    }
    raw = {"texts": made, "ballast": [], "datasketch": []}
    for _ in range(measured.options.repeats):
        s = measured.write([node], "once", "apart.parquet", "near.parquet", "id", threads=THREADS)
        raw["ballast"].append({"s": s})
    found = measured.peer.run("duplicates.py", "recall", measured.folder, measured.path("apart.parquet"))
    raw["found"] = found
    raw["datasketch"].append(measured.peer.run("duplicates.py", "datasketch", measured.folder))
    ours = statistics.median(one["s"] for one in raw["ballast"])
    theirs = raw["datasketch"][0]
    table([("", "s", "recall"), ("ballast", f"{ours:.2f}", f"{found['recall']:.4f}"),
           ("datasketch", f"{theirs['s']:.2f}", f"{theirs['recall']:.4f}")])
    verdicts.at_least("near duplicates, over datasketch", theirs["s"] / ours, NEAR_MIN, "x")
    verdicts.at_least("near duplicates: recall", found["recall"], RECALL_MIN, "")
    verdicts.at_most("near duplicates: rows that are near none and went", found["wrong"], 0, "")
    return raw


def main():
    def more(p):
        p.add_argument("--table-rows", type=int, default=10_000_000, help="default 10000000")
        p.add_argument("--texts", type=int, default=50_000, help="default 50000")
        p.add_argument("--profile-rows", type=int, default=10_000_000, help="default 10000000")
        p.add_argument("--rows", type=int, default=100_000, help="default 100000")

    options = arguments(__doc__.splitlines()[0], PARTS, more=more)
    warn_if_busy()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        measured = Measured(options, folder)
        measured.there = measured.peer.there()
        if not measured.there:
            raise SystemExit("the rows are made by the peers' environment: bench/peers/setup.sh DIR operators")
        measured.run_peer("make", options.rows)
        say(f"{options.rows} rows of 20 columns, two classes, 10:1; one thread each")
        functions = {name: globals()[name] for name in PARTS}
        run_parts("operators", options, {name: lambda v, f=f: f(measured, v) for name, f in functions.items()})


if __name__ == "__main__":
    main()
