#!/usr/bin/env python3
"""What people use for tables, on the files of bench/data.py. The last line
printed is a JSON object: seconds, and seconds of processor time, without the
imports.

    python3 tables.py csv arrow|polars|pandas FOLDER      numbers.csv to float32
    python3 tables.py tables polars|pandas FOLDER         large.parquet, small.parquet

Each as its documents recommend for speed: Polars' streaming engine from scan to
sink; pandas with its C reader (`engine="pyarrow"` was slower here with float32).
"""
import json
import os
import sys
import time


def csv_arrow(folder):
    import pyarrow.csv

    def work():
        pyarrow.csv.read_csv(os.path.join(folder, "numbers.csv"))

    return work


def csv_polars(folder):
    import polars as pl

    def work():
        rows = pl.scan_csv(os.path.join(folder, "numbers.csv"))
        numbers = [pl.col(f"x{i}").cast(pl.Float32) for i in range(20)]
        rows.select(*numbers, pl.col("y").cast(pl.Int32)).sink_ipc(os.path.join(folder, "peer.arrow"))

    return work


def csv_pandas(folder):
    import pandas as pd

    def work():
        rows = pd.read_csv(os.path.join(folder, "numbers.csv"))
        rows.astype("float32").to_numpy().tofile(os.path.join(folder, "peer.bin"))

    return work


def tables_polars(folder):
    import polars as pl

    def work():
        large = pl.scan_parquet(os.path.join(folder, "large.parquet"))
        small = pl.scan_parquet(os.path.join(folder, "small.parquet"))
        (
            large.filter(pl.col("x") > 0.1)
            .with_columns(v=pl.col("x") * pl.col("w"))
            .join(small, on="key", maintain_order="left")
            .unique(["key", "k"], keep="first", maintain_order=True)
            .sink_ipc(os.path.join(folder, "peer.arrow"), engine="streaming")
        )

    return work


def tables_pandas(folder):
    import pandas as pd

    def work():
        large = pd.read_parquet(os.path.join(folder, "large.parquet"))
        small = pd.read_parquet(os.path.join(folder, "small.parquet"))
        rows = large[large["x"] > 0.1].assign(v=lambda t: t["x"] * t["w"])
        rows = rows.merge(small, on="key").drop_duplicates(["key", "k"])
        rows.to_feather(os.path.join(folder, "peer.arrow"), compression="uncompressed")

    return work


def main():
    what, peer, folder = sys.argv[1:4]
    work = globals()[f"{what}_{peer}"](folder)
    start = os.times()
    began = time.monotonic()
    work()
    took = time.monotonic() - began
    end = os.times()
    print(json.dumps({"s": took, "cpu_s": end.user + end.system - start.user - start.system}))


if __name__ == "__main__":
    main()
