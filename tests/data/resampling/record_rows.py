#!/usr/bin/env python3
"""Writes recorded_rows.json and recorded_categories.json: what imbalanced-learn
makes of 160 rows of numbers, and of 160 rows of categories.

usage: record_rows.py, in an environment made by
       bench/peers/setup.sh DIR operators

Only where another version is to be compared with; the file says of which it is.
The rows have no ties, and are all different. What stays is found by its values, because some methods
tell wrong numbers of rows.
"""
import json
import pathlib
import warnings

import imblearn
import numpy as np
from imblearn import over_sampling, under_sampling
from sklearn.svm import SVC

ROWS, COLUMNS = 160, 4
SHARES = (0.65, 0.25, 0.1)
CLEANED = {
    "tomek_links": under_sampling.TomekLinks(),
    "enn": under_sampling.EditedNearestNeighbours(),
    "enn kind_sel=mode": under_sampling.EditedNearestNeighbours(kind_sel="mode"),
    "renn": under_sampling.RepeatedEditedNearestNeighbours(),
    "all_knn": under_sampling.AllKNN(),
    "ncr": under_sampling.NeighbourhoodCleaningRule(),
    "near_miss version=1": under_sampling.NearMiss(version=1),
    "near_miss version=2": under_sampling.NearMiss(version=2),
    # Where it finds fewer, the peer keeps too few; Ballast refuses.
    "near_miss version=3 n_neighbors_ver3=30": under_sampling.NearMiss(version=3, n_neighbors_ver3=30),
}
DRAWN = {
    "random_over": over_sampling.RandomOverSampler(random_state=7),
    "random_under": under_sampling.RandomUnderSampler(random_state=7),
}
MADE = {"smote": over_sampling.SMOTE(random_state=7)}

CATEGORIES = (6, 5, 7, 4, 6, 5, 8, 6)  # of each column


def write(name, what):
    with open(pathlib.Path(__file__).parent / name, "w", encoding="ascii") as f:
        json.dump(what, f, separators=(",", ":"))
        f.write("\n")


def of_categories():
    draw = np.random.RandomState(20261127)
    y = draw.choice(len(SHARES), ROWS, p=SHARES)
    columns = [np.where(draw.rand(ROWS) < 0.3, y % n, draw.randint(0, n, ROWS)) for n in CATEGORIES]
    x = np.stack(columns, 1)
    assert len(np.unique(x, axis=0)) == ROWS
    made, _ = over_sampling.SMOTEN(random_state=7).fit_resample(x, y)
    return {
        "of": f"imbalanced-learn {imblearn.__version__}",
        "x": x.tolist(),
        "y": y.tolist(),
        "counts": CATEGORIES,
        "made": {"smoten": made[ROWS:].tolist()},
    }


def main():
    warnings.simplefilter("ignore")
    draw = np.random.RandomState(20261127)
    y = draw.choice(len(SHARES), ROWS, p=SHARES)
    x = draw.normal(size=(ROWS, COLUMNS)) + 1.2 * y[:, None]
    number = {row.tobytes(): i for i, row in enumerate(x)}

    def numbers(rows):
        return [number[row.tobytes()] for row in np.ascontiguousarray(rows)]

    out = {
        "of": f"imbalanced-learn {imblearn.__version__}",
        "x": x.tolist(),
        "y": y.tolist(),
        "kept": {name: sorted(numbers(one.fit_resample(x, y)[0])) for name, one in CLEANED.items()},
        "drawn": {name: numbers(one.fit_resample(x, y)[0]) for name, one in DRAWN.items()},
        "support": SVC(gamma="scale").fit(x, y).support_.tolist(),
        "made": {name: one.fit_resample(x, y)[0][ROWS:].tolist() for name, one in MADE.items()},
    }
    write("recorded_rows.json", out)
    write("recorded_categories.json", of_categories())


if __name__ == "__main__":
    main()
