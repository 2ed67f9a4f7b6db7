#!/usr/bin/env python3
"""What `ballast data profile` says of a table, by pandas, from the file: types,
missing and different values, moments, quantiles, histograms, outliers, the most
frequent words, repeated rows, correlations. The last line printed is a JSON
object with the seconds of it all, and the most memory that the process took.

    python3 profiles.py FILE.arrow
"""
import json
import resource
import sys
import time

QUANTILES = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]


def profile(path):
    import numpy as np
    import pandas as pd

    rows = pd.read_feather(path)
    out = {"rows": len(rows), "missing": rows.isna().sum().to_dict(), "distinct": rows.nunique().to_dict()}
    numbers = rows.select_dtypes("number")
    out["moments"] = numbers.agg(["min", "max", "mean", "std"]).to_dict()
    quantiles = numbers.quantile(QUANTILES)
    out["quantiles"] = quantiles.to_dict()
    lower, upper = quantiles.loc[0.25], quantiles.loc[0.75]
    reach = 1.5 * (upper - lower)
    out["outliers"] = ((numbers < lower - reach) | (numbers > upper + reach)).sum().to_dict()
    out["zeros"] = (numbers == 0).sum().to_dict()
    out["histograms"] = {name: np.histogram(numbers[name].dropna(), 20)[0].tolist() for name in numbers}
    out["words"] = {name: rows[name].value_counts().head(20).to_dict() for name in rows.columns.difference(numbers.columns)}
    out["repeated_rows"] = int(rows.duplicated().sum())
    out["correlations"] = numbers.corr().to_dict()
    return out


def main():
    start = time.monotonic()
    found = profile(sys.argv[1])
    seconds = time.monotonic() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"s": seconds, "bytes": memory, "rows": found["rows"], "repeated": found["repeated_rows"]}))


if __name__ == "__main__":
    main()
