"""What chaos.py is to do to a run, and what came of it: the proofs that the run
was exact all the same, and the words for people.
"""
import collections
import dataclasses

import numpy

from harness.exactness import check_run
from harness.run_files import read_json
from harness.waiting import wait_until

from census import growth_problems
from replay import emulated_run, read_safetensors

# Primes: no number of rows, batch and workers divides another.
ROWS, PARAMETERS = 1009, 23
# So small that a sample which was used wrongly shows in the weights for some
# thousand steps; in the loss it shows at once.
RATE = 0.001
KILL_WAIT_S = 0.15  # until a move that was seen is offered, or in force


@dataclasses.dataclass
class Plan:
    """What is done to whom. Without `kills` all faults are mixed."""
    seed: int = 1
    workers: int = 4
    seconds: float = 60
    faults: int = 10**9      # at most
    kills: int = 0           # only these, so many, and then stop
    moving: bool = False     # while rows move
    streaming: bool = False  # no worker can hold its share
    everything: int = 0      # kill all processes so often, and resume
    us_per_step: int = 8000
    batch: int = 53
    mean_pause_s: float = 0.8


@dataclasses.dataclass
class Outcome:
    plan: Plan
    problems: list = dataclasses.field(default_factory=list)
    faults: collections.Counter = dataclasses.field(
        default_factory=collections.Counter)
    refused: collections.Counter = dataclasses.field(
        default_factory=collections.Counter)
    seconds: float = 0
    steps: int = 0
    epochs: int = 0
    generations: int = 0
    attempts_left: int = 0
    resumes: int = 0         # lives of `ballast run` after the first
    while_moving: int = 0    # kills, when rows were seen to move or soon after
    moves: int = 0           # that came to their end
    worst_gap_s: float = 0
    lost: int = -1
    repeated: int = -1
    held: dict = dataclasses.field(default_factory=dict)  # name -> Readings


def untold_plans(live):
    """One event tells of each plan under which a step was done, whoever led
    the run when it took effect."""
    told = collections.Counter(
        e["plan"] for e in live.events.lines
        if e["kind"] == "balance" or
        (e["kind"] == "plan" and e["outcome"] == "effective"))
    used = {step["plan"] for step in live.steps.lines}
    return ([f"no event tells of plan {n}" for n in sorted(used)
             if not told[n]] +
            [f"{count} events tell of plan {n}"
             for n, count in sorted(told.items()) if count > 1])


def check(out, live, epochs):
    """The proofs. `epochs` is None where the run was stopped in one."""
    run, problems = live.run, out.problems
    found = check_run(run, out.plan.batch, epochs)
    problems += found.problems[:20]
    out.steps, out.epochs = found.steps, found.epochs_finished
    out.attempts_left = found.attempts_left
    out.generations = live.newest
    out.moves = sum(e["kind"] == "balance" and e["moved_rows"] > 0
                    for e in live.events.lines)
    problems += untold_plans(live)
    times = [step["t_ns"] for step in live.steps.lines]
    out.worst_gap_s = max((b - a for a, b in zip(times, times[1:])),
                          default=0) / 1e9
    report = read_json(run / "report.json") or {}
    audit = report.get("audit") or {}
    out.lost, out.repeated = audit.get("lost", -1), audit.get("repeated", -1)
    if (out.lost, out.repeated) != (0, 0):
        problems.append(f"report.json says: {report}")
    if found.problems or not (run / "model.safetensors").exists():
        problems.append("not replayed")
        return
    steps = [[i for name in sorted(step) for i in step[name]]
             for step in (found.ids_of_step[n]
                          for n in range(1, found.steps + 1))]
    weights, losses = emulated_run(PARAMETERS, steps, RATE, ROWS)
    mine = [step["loss"] for step in live.steps.lines]
    if not numpy.allclose(mine, losses, rtol=1e-5, atol=1e-7):
        step = int(numpy.argmax(numpy.abs(numpy.array(mine) - losses))) + 1
        problems.append(f"the loss of step {step} is {mine[step - 1]}, "
                        f"{losses[step - 1]} in the replay")
    theirs = read_safetensors(run / "model.safetensors")["weight"]
    worst = float(numpy.abs(numpy.asarray(theirs, float).ravel() -
                            weights).max())
    if not worst < 2e-6:
        problems.append(f"a weight differs by {worst:.3g} from the replay")


def check_processes(out, live, census):
    try:
        wait_until(lambda: not live.family(), "the end of all", 3)
    except AssertionError:
        out.problems.append(f"processes are left behind: {live.family()}")
    for name in ("coordinator", census.longest(besides="coordinator")):
        # Who gets more rows holds more.
        if name not in census.of or (out.plan.moving and name != "coordinator"):
            continue
        before, after = census.tenths(name)
        out.held[name] = (len(census.of[name]), before, after)
        if out.plan.kills >= 100:
            out.problems += growth_problems(name, before, after)


def summary(out):
    """Lines for people."""
    counts = ", ".join(f"{n} {kind}" for kind, n in out.faults.most_common())
    yield f"{sum(out.faults.values())} faults in {out.seconds:.0f} s: {counts}"
    if out.refused:
        yield "refused: " + ", ".join(
            f"{n} {kind}" for kind, n in out.refused.items())
    if out.resumes:
        yield f"{out.resumes} times resumed"
    yield (f"{out.steps} steps, {out.epochs} whole epochs, {out.generations} "
           f"generations, {out.attempts_left} takes of attempts that did not "
           f"count, {out.worst_gap_s:.2f} s without a step at worst")
    if out.plan.moving:
        yield (f"{out.while_moving} of the kills at most {KILL_WAIT_S} s after "
               f"rows were seen to move, {out.moves} moves came to their end")
    yield f"{out.lost} samples lost, {out.repeated} repeated"
    for name, (n, before, after) in out.held.items():
        yield (f"{name}, seen {n} times: "
               f"{before.rss_mb:.1f} -> {after.rss_mb:.1f} MB, "
               f"{before.fds:.0f} -> {after.fds:.0f} file descriptors, "
               f"{before.threads:.0f} -> {after.threads:.0f} threads")
    for problem in out.problems:
        yield f"PROBLEM: {problem}"
    yield "exact" if not out.problems else \
        f"NOT WELL: {len(out.problems)} problems, seed {out.plan.seed}"
