#!/usr/bin/env python3
"""The fewest rows that lead from chunks at their first owners to sizes and skew,
where chunks may be cut into any parts, and a part has the labels of all of it.
A linear program, given to HiGHS (Debian's scipy).

usage: whole_runs chunks WORKERS CHUNK_ROWS SEEDS | least_of_chunks.py
"""
import json
import sys

import numpy
from scipy.optimize import linprog
from scipy.sparse import coo_matrix


def least(run):
    """Variables: rows of chunk k at worker w, then rows of class c beyond the
    fair part of worker w."""
    owners = [owner for owner, _ in run["chunks"]]
    histograms = numpy.array([h for _, h in run["chunks"]], float)
    chunks, classes = histograms.shape
    workers = len(run["sizes"])
    rows = histograms.sum(axis=1)
    mix = histograms / rows[:, None]
    parts = histograms.sum(axis=0) / rows.sum()
    place = lambda k, w: k * workers + w
    beyond = lambda w, c: chunks * workers + w * classes + c
    cost = numpy.zeros(chunks * workers + workers * classes)
    equal, equal_to, most, at_most = [], [], [], []
    for k in range(chunks):
        equal.append([(place(k, w), 1) for w in range(workers)])
        equal_to.append(rows[k])
        for w in range(workers):
            cost[place(k, w)] = w != owners[k]
    for w, size in enumerate(run["sizes"]):
        equal.append([(place(k, w), 1) for k in range(chunks)])
        equal_to.append(size)
        for c in range(classes):
            terms = [(place(k, w), mix[k, c]) for k in range(chunks) if mix[k, c]]
            most.append([*terms, (beyond(w, c), -1)])
            at_most.append(parts[c] * size)
        most.append([(beyond(w, c), 1) for c in range(classes)])
        at_most.append(run["skew_tv"] * size + 1e-6)

    def matrix(terms):
        entries = [(i, v, f) for i, row in enumerate(terms) for v, f in row]
        i, v, f = zip(*entries)
        return coo_matrix((f, (i, v)), shape=(len(terms), len(cost))).tocsr()

    found = linprog(cost, A_ub=matrix(most), b_ub=at_most, A_eq=matrix(equal), b_eq=equal_to, method="highs")
    return found.fun if found.status == 0 else None


def main():
    for line in sys.stdin:
        run = json.loads(line)
        if run["moved"] == 0 or run["least"] == 0:
            continue
        rows = least(run)
        if rows:
            about = {key: run[key] for key in ("placement", "speeds", "seed", "moved", "least")}
            print(json.dumps({**about, "least_with_chunks": rows}))


if __name__ == "__main__":
    main()
