#!/usr/bin/env python3
"""What people use to clean columns, on the file of bench/lib/features.py: holes
filled with the mean, outliers clipped at three deviations, standardized,
categories made columns or hashed. Fitted on all rows, then applied to them. The
last line printed is a JSON object: the seconds of each round, without reading.

    python3 features.py sklearn|polars FILE.arrow ROUNDS

Each as its documents recommend: scikit-learn's ColumnTransformer with a job for
each core, sparse where it makes it so; Polars with lazy expressions on all
threads (POLARS_MAX_THREADS).
"""
import json
import os
import sys
import time

LIMIT = 3
BUCKETS = 1024


def columns_of(names):
    return [[name for name in names if name.startswith(kind)] for kind in "xch"]


def with_sklearn(path):
    import numpy as np
    import pyarrow.feather
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    class Clip(TransformerMixin, BaseEstimator):
        """scikit-learn has none."""

        def fit(self, x, y=None):
            mean, far = x.mean(axis=0), LIMIT * x.std(axis=0)
            self.low_, self.high_ = mean - far, mean + far
            return self

        def transform(self, x):
            return np.clip(x, self.low_, self.high_)

    class Hash(TransformerMixin, BaseEstimator):
        def fit(self, x, y=None):
            return self

        def transform(self, x):
            hasher = FeatureHasher(BUCKETS, input_type="string")
            return hasher.transform(x.to_numpy().reshape(-1, 1))

    rows = pyarrow.feather.read_table(path).to_pandas()
    numbers, categories, hashed = columns_of(rows.columns)
    # One for each column that is hashed, as the others keep them apart.
    parts = [
        ("numbers", make_pipeline(SimpleImputer(), Clip(), StandardScaler()), numbers),
        ("categories", OneHotEncoder(), categories),
    ] + [(name, Hash(), [name]) for name in hashed]

    def work():
        ColumnTransformer(parts, n_jobs=os.cpu_count()).fit_transform(rows)

    return work


def with_polars(path):
    import polars as pl

    rows = pl.read_ipc(path).rechunk()
    numbers, categories, hashed = columns_of(rows.columns)

    def work():
        # Fit: a pass for each operator, as each learns from the one before.
        means = rows.select(pl.col(numbers).mean()).row(0)
        filled = [pl.col(name).fill_null(mean) for name, mean in zip(numbers, means)]
        spread = rows.select(
            *[one.mean().name.suffix(" mean") for one in filled],
            *[one.std(ddof=0).name.suffix(" std") for one in filled],
        ).row(0, named=True)
        clipped = [
            one.clip(
                spread[name + " mean"] - LIMIT * spread[name + " std"],
                spread[name + " mean"] + LIMIT * spread[name + " std"],
            )
            for name, one in zip(numbers, filled)
        ]
        scale = rows.select(
            *[one.mean().name.suffix(" mean") for one in clipped],
            *[one.std(ddof=0).name.suffix(" std") for one in clipped],
        ).row(0, named=True)
        known = {name: sorted(rows[name].unique().to_list()) for name in categories}
        # Apply.
        rows.lazy().select(
            *[(one - scale[name + " mean"]) / scale[name + " std"] for name, one in zip(numbers, clipped)],
            *[
                (pl.col(name) == word).cast(pl.UInt8).alias(f"{name}_{word}")
                for name in categories
                for word in known[name]
            ],
            *[(pl.col(name).hash() % BUCKETS).cast(pl.Int64) for name in hashed],
        ).collect()

    return work


def main():
    subject, path, rounds = sys.argv[1:]
    work = {"sklearn": with_sklearn, "polars": with_polars}[subject](path)
    seconds = []
    for _ in range(int(rounds)):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
