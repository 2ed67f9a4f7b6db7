#!/usr/bin/env python3
"""Goal: the quota with the fewest moves is the one with the fewest moves.

Method: an independent solver. Random requests are written down as integer
programs, straight from the definition and not as a flow, and given to HiGHS
(scipy.optimize.milp). Every request says by which seed it can be had again:
`quota_instances SEED 1`.

usage: quota_against_scipy.py QUOTA_INSTANCES [FIRST_SEED COUNT]
"""
import json
import subprocess
import sys

import numpy
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix

from check_certificate import proven


def limits(request):
    """Fair rows of each cell and rows beyond them of each worker, in fractions
    of rows, as the definition has them; holders of each class."""
    held, sizes = numpy.array(request["held"]), request["sizes"]
    total = int(held.sum())
    of_class = [int(n) for n in held.sum(axis=0)]
    fair = numpy.array([[n * size / total for n in of_class] for size in sizes])
    whole = [sum(n * size // total for n in of_class) for size in sizes]
    budget = [max(request["skew_tv"] * size, size - w) for size, w in zip(sizes, whole)]
    active = sum(size > 0 for size in sizes)
    wanted = [min(request["holders_min"], active) if n >= request["holders_min"] else 0 for n in of_class]
    return fair, budget, wanted


class Program:
    """Minimise cost over whole numbers between 0 and their upper bounds."""

    def __init__(self):
        self.cost, self.upper, self.whole, self.rows, self.low, self.high = [], [], [], [], [], []

    def variable(self, cost, upper=numpy.inf, whole=True):
        self.cost.append(cost)
        self.upper.append(upper)
        self.whole.append(whole)
        return len(self.cost) - 1

    def constrain(self, terms, low=-numpy.inf, high=numpy.inf):
        self.rows.append(terms)
        self.low.append(low)
        self.high.append(high)

    def minimum(self):
        entries = [(r, v, f) for r, terms in enumerate(self.rows) for v, f in terms]
        r, v, f = zip(*entries)
        matrix = coo_matrix((f, (r, v)), shape=(len(self.rows), len(self.cost)))
        found = milp(
            self.cost,
            integrality=numpy.array(self.whole, dtype=int),
            bounds=Bounds(0, self.upper),
            constraints=LinearConstraint(matrix.tocsr(), self.low, self.high),
            options={"mip_rel_gap": 0},
        )
        assert found.status == 0, found.message
        return round(found.fun)


def solve(request):
    """(holders that are missing, rows that move) of the optimum: holders count
    before moves."""
    held, sizes = numpy.array(request["held"]), request["sizes"]
    fair, budget, wanted = limits(request)
    workers, classes = held.shape
    much = int(held.sum()) + 1
    program = Program()
    target = [[program.variable(0, sizes[w]) for c in range(classes)] for w in range(workers)]
    for w in range(workers):
        program.constrain([(v, 1) for v in target[w]], sizes[w], sizes[w])
        beyond = []
        for c in range(classes):
            arrives, excess = program.variable(1), program.variable(0, whole=False)
            program.constrain([(arrives, 1), (target[w][c], -1)], -int(held[w][c]))
            program.constrain([(excess, 1), (target[w][c], -1)], -fair[w][c])
            beyond.append((excess, 1))
        program.constrain(beyond, high=budget[w] + 1e-7)
    for c in range(classes):
        n = int(held[:, c].sum())
        program.constrain([(target[w][c], 1) for w in range(workers)], n, n)
        if wanted[c] == 0:
            continue
        holders = []
        for w in range(workers):
            holds = program.variable(0, 1)
            program.constrain([(target[w][c], 1), (holds, -1)], 0)
            holders.append((holds, 1))
        program.constrain(holders + [(program.variable(much), 1)], wanted[c])
    return divmod(program.minimum(), much)


def check(request):
    held, sizes = numpy.array(request["held"]), numpy.array(request["sizes"])
    fair, budget, wanted = limits(request)
    missing, moved = solve(request)
    for name in ("fast", "exact"):
        ours = request[name]
        target = numpy.array(ours["target"])
        assert (target.sum(axis=1) == sizes).all(), "sizes"
        assert (target.sum(axis=0) == held.sum(axis=0)).all(), "classes"
        assert (numpy.maximum(target - fair, 0).sum(axis=1) <= numpy.array(budget) + 1e-6).all(), "budgets"
        assert ours["moved"] == numpy.maximum(target - held, 0).sum(), "rows moved"
        holders = (target > 0).sum(axis=0)
        lacking = int(numpy.maximum(numpy.array(wanted) - holders, 0).sum())
        assert ours["covered"] == (lacking == 0), "covered"
        assert lacking >= missing, "more holders than there can be"
        assert ours["bound"] <= moved, f"bound {ours['bound']} of {moved}"
        if ours["exact"]:
            assert lacking == missing, f"{lacking} holders missing, {missing} need be"
            assert ours["moved"] == moved, f"{name} moves {ours['moved']}, {moved} are enough"
    assert lacking == missing, f"{lacking} holders missing, {missing} need be"
    proof = request["certificate"]
    assert proven(proof) >= proof["bound_rows"] - 1 + 1e-7, "the certificate does not hold"
    bound = proof["bound_rows"]
    assert bound <= moved, f"certificate of {bound} rows of {moved}"
    return request["exact"]["exact"], bound == moved, missing > 0, ours["moved"] - moved, moved - bound, moved


def main():
    program, first, count = sys.argv[1], sys.argv[2:3] or ["1"], sys.argv[3:4] or ["800"]
    lines = subprocess.run([program, *first, *count], capture_output=True, text=True, check=True).stdout
    facts = []
    for line in lines.splitlines():
        request = json.loads(line)
        try:
            facts.append(check(request))
        except AssertionError as e:
            raise SystemExit(f"seed {request['seed']}: {e}\n{line}") from e
    exact, met, short, more, below, moved = (sum(column) for column in zip(*facts))
    print(
        f"{len(facts)} requests: the minimum proven in {exact}, bound met in {met}, holders short in {short}; "
        f"{moved} rows must move, ours are {more} more ({more / moved:.3%}), the bound is {below} less ({below / moved:.3%})"
    )
    if len(facts) >= 800:  # else some case was hardly met
        assert met > len(facts) / 2 and short > 0


if __name__ == "__main__":
    main()
