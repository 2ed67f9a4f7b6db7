#!/usr/bin/env python3
"""imbalanced-learn's resampling and scikit-learn's imputing, for bench/operators.py.

  resampling.py make FOLDER ROWS      rows.parquet and rows.npz in FOLDER: 20 columns
                                      of make_classification, two classes, 10:1
  resampling.py run FOLDER METHOD     one fit_resample of rows.npz; its last line is
                                      {"s", "rows", "before", "after"}, and what it
                                      kept is in kept-METHOD.npy where it tells that
  resampling.py inertia FOLDER FILE   of centres in a parquet file: the squared
                                      distances of the majority's rows to the nearest
  resampling.py gaps FOLDER ROWS      gaps.parquet and gaps.npz: the columns of make,
                                      one cell of twenty missing
  resampling.py impute FOLDER         one fit_transform of KNNImputer of gaps.npz
  resampling.py filled FOLDER FILE    how far a parquet file is from its result

One thread; default parameters, random_state 0. The time is that of fit_resample
alone, with the data in memory.
"""
import json
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

METHODS = {
    "random_over": ("over_sampling", "RandomOverSampler", {}),
    "smote": ("over_sampling", "SMOTE", {}),
    "adasyn": ("over_sampling", "ADASYN", {}),
    "borderline_smote": ("over_sampling", "BorderlineSMOTE", {}),
    "random_under": ("under_sampling", "RandomUnderSampler", {}),
    "near_miss": ("under_sampling", "NearMiss", {}),
    "cluster_centroids": ("under_sampling", "ClusterCentroids", {}),
    "condensed_nn": ("under_sampling", "CondensedNearestNeighbour", {}),
    "one_sided_selection": ("under_sampling", "OneSidedSelection", {}),
    "tomek_links": ("under_sampling", "TomekLinks", {}),
    "enn": ("under_sampling", "EditedNearestNeighbours", {}),
    "renn": ("under_sampling", "RepeatedEditedNearestNeighbours", {}),
    "all_knn": ("under_sampling", "AllKNN", {}),
    "ncr": ("under_sampling", "NeighbourhoodCleaningRule", {}),
    "smote_enn": ("combine", "SMOTEENN", {}),
    "smote_tomek": ("combine", "SMOTETomek", {}),
}


def make(folder, rows):
    import pyarrow
    import pyarrow.parquet
    from sklearn.datasets import make_classification

    x, y = make_classification(
        n_samples=rows, n_features=20, n_informative=10, n_classes=2, weights=[10 / 11], random_state=0
    )
    np.savez(os.path.join(folder, "rows.npz"), x=x, y=y)
    columns = {f"x{i}": np.ascontiguousarray(x[:, i]) for i in range(x.shape[1])}
    pyarrow.parquet.write_table(
        pyarrow.table({**columns, "y": y.astype(np.int64)}), os.path.join(folder, "rows.parquet")
    )
    return {"rows": rows}


def read(folder):
    with np.load(os.path.join(folder, "rows.npz")) as found:
        return found["x"], found["y"]


def run(folder, method):
    import importlib
    import inspect
    import warnings

    warnings.simplefilter("ignore")
    x, y = read(folder)
    module, name, options = METHODS[method]
    kind = getattr(importlib.import_module(f"imblearn.{module}"), name)
    accepted = inspect.signature(kind).parameters
    options = {**{k: v for k, v in {"random_state": 0, "n_jobs": 1}.items() if k in accepted}, **options}
    sampler = kind(**options)
    start = time.perf_counter()
    x_out, y_out = sampler.fit_resample(x, y)
    seconds = time.perf_counter() - start
    kept = getattr(sampler, "sample_indices_", None)
    if kept is not None:
        np.save(os.path.join(folder, f"kept-{method}.npy"), np.sort(kept))
    np.savez(os.path.join(folder, f"out-{method}.npz"), x=x_out, y=y_out)
    return {
        "s": seconds,
        "rows": len(y_out),
        "before": np.bincount(y).tolist(),
        "after": np.bincount(y_out).tolist(),
    }


def gaps(folder, rows):
    import pyarrow
    import pyarrow.parquet
    from sklearn.datasets import make_classification

    x, _ = make_classification(n_samples=rows, n_features=20, n_informative=10, random_state=0)
    x[np.random.RandomState(0).random_sample(x.shape) < 0.05] = np.nan
    np.savez(os.path.join(folder, "gaps.npz"), x=x)
    columns = {f"x{i}": np.ascontiguousarray(x[:, i]) for i in range(x.shape[1])}
    columns["y"] = np.zeros(rows)
    pyarrow.parquet.write_table(pyarrow.table(columns), os.path.join(folder, "gaps.parquet"))
    return {"rows": rows, "missing": int(np.isnan(x).sum())}


def impute(folder):
    from sklearn.impute import KNNImputer

    with np.load(os.path.join(folder, "gaps.npz")) as found:
        x = found["x"]
    start = time.perf_counter()
    out = KNNImputer(n_neighbors=5).fit_transform(x)
    seconds = time.perf_counter() - start
    np.savez(os.path.join(folder, "out-impute.npz"), x=out)
    return {"s": seconds, "rows": len(out)}


def filled(folder, file):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(file)
    ours = np.column_stack([table[f"x{i}"].to_numpy() for i in range(20)])
    with np.load(os.path.join(folder, "out-impute.npz")) as found:
        return {"apart": float(np.abs(ours - found["x"]).max()), "rows": len(ours)}


def inertia_of(x, y, centres):
    """Of the majority's rows, to the nearest centre."""
    from sklearn.metrics import pairwise_distances_argmin_min

    _, apart = pairwise_distances_argmin_min(x[y == np.argmax(np.bincount(y))], centres, metric="sqeuclidean")
    return float(apart.sum())


def inertia(folder, file):
    import pyarrow.parquet

    x, y = read(folder)
    large = np.argmax(np.bincount(y))
    table = pyarrow.parquet.read_table(file)
    ours = np.column_stack([table[f"x{i}"].to_numpy() for i in range(x.shape[1])])[table["y"].to_numpy() == large]
    with np.load(os.path.join(folder, "out-cluster_centroids.npz")) as found:
        peers = found["x"][found["y"] == large]
    return {"ours": inertia_of(x, y, ours), "peer": inertia_of(x, y, peers)}


def same(folder, method, file):
    """Whether a file with source_row has kept the same rows."""
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(file, columns=["source_row"])["source_row"].to_numpy() - 1
    peers = np.load(os.path.join(folder, f"kept-{method}.npy"))
    return {"same": bool(np.array_equal(np.sort(rows), peers)), "ours": len(rows), "peer": len(peers)}


def equal(folder, method, file):
    """Whether a file has the same rows in the same order, bit by bit."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(file)
    with np.load(os.path.join(folder, f"out-{method}.npz")) as found:
        x, y = found["x"], found["y"]
    ours = np.column_stack([table[f"x{i}"].to_numpy() for i in range(x.shape[1])])
    return {"same": bool(np.array_equal(ours, x) and np.array_equal(table["y"].to_numpy(), y))}


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    call = {"make": lambda f, n: make(f, int(n)), "run": run, "inertia": inertia, "same": same, "equal": equal,
            "gaps": lambda f, n: gaps(f, int(n)), "impute": impute, "filled": filled}[what]
    print(json.dumps(call(*rest)))
