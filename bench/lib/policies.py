"""Part `policies` of bench/balance.py: our planner and the balancers of other
systems that bench/policies/ restates. No clock and no process: the same figures
on every machine."""
import csv
import io
import subprocess

from lib.measure import built, say, table

OURS = "ours"
CHUNKS = "ours, whole chunks"
SEEDS = 3
NEVER = -1


def simulate(options, *what):
    done = subprocess.run(
        [built(options, "policy_simulator"), *map(str, what)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        raise SystemExit(f"policy_simulator failed with exit code {done.returncode}:\n{done.stderr}")
    return list(csv.DictReader(io.StringIO(done.stdout)))


def times(moved, ours):
    if ours > 0:
        return moved / ours
    return 1.0 if moved == 0 else float("inf")


def ordered(rows, column):
    return list(dict.fromkeys(r[column] for r in rows))


# -- placements that stand still -----------------------------------------------


def settle(options, verdicts):
    rows = simulate(options, "settle", SEEDS)
    generators = ordered(rows, "generator")
    others = [p for p in ordered(rows, "policy") if p not in (OURS, CHUNKS)]

    def of(generator, policy):
        return [r for r in rows if r["generator"] == generator and r["policy"] == policy]

    def total(found, column):
        return sum(int(r[column]) for r in found)

    def ratio(found):
        return times(total(found, "moved"), total(found, "ours_for_same"))

    say(
        f"\nrows moved until balanced (skew 0.1, sizes 5 %), {len(of(generators[0], OURS))} placements each: 64,000\n"
        f"rows, 10 classes, 4, 16 and 64 workers, {SEEDS} seeds. Others: times what ours moves for the very sizes and\n"
        "the worst skew (in whole rows) that they end with; ! = so many of the placements stall. In chunks: ours, 25\n"
        "a worker, and the worst skew then"
    )
    shown = [("", "bound", "ours", "in chunks", *others)]
    best = {}
    for generator in generators:
        ours = of(generator, OURS)
        chunks = of(generator, CHUNKS)
        cells = []
        for policy in others:
            found = of(generator, policy)
            stalled = sum(r["balanced"] == "0" for r in found)
            cells.append(f"{ratio(found):.2f}" + (f" !{stalled}" if stalled else "   "))
        best[generator] = min(ratio(of(generator, p)) for p in others)
        shown.append(
            (
                generator,
                f"{total(ours, 'bound'):,}",
                f"{total(ours, 'moved'):,}",
                f"{total(chunks, 'moved'):,} {max(float(r['skew']) for r in chunks):.2f}",
                *cells,
            )
        )
    table(shown)
    stalls = []
    for policy in others:
        for workers in ordered(rows, "workers"):
            found = [r for r in rows if (r["policy"], r["workers"], r["balanced"]) == (policy, workers, "0")]
            if found:
                stalls.append(
                    (
                        policy,
                        workers,
                        len(found),
                        f"{max(float(r['skew']) for r in found):.3f}",
                        f"{max(float(r['size_error']) for r in found):.1%}",
                        f"{total(found, 'moved') // len(found):,}",
                        f"{total(found, 'ours_for_same') // len(found):,}",
                    )
                )
    if stalls:
        say("\nwho stalls: the worst skew and size it ends with, rows moved until then, ours for as much")
        table([("", "workers", "placements", "skew", "size", "moved", "ours"), *stalls])
    say()
    for generator in generators:
        verdicts.at_least(f"{generator}: fewest rows of the others over ours", best[generator], 1.0, "times")
    unbalanced = sum(r["policy"] == OURS and r["balanced"] == "0" for r in rows)
    verdicts.at_most("placements that ours does not balance", unbalanced, 0, "")
    return rows


# -- virtual time --------------------------------------------------------------


def timeline(options, verdicts):
    rows = simulate(options, "timeline")
    by = {(r["scenario"], r["policy"]): r for r in rows}
    say("\nin virtual time: 8 workers, 3,840 chunks of 16 rows, in rows, skew 0.1, sizes 5 %")
    for scenario in ordered(rows, "scenario"):
        shown = [(scenario, "rounds", "moved", "again", "back", "in vain", "balanced after", "and then")]
        for r in rows:
            if r["scenario"] != scenario:
                continue
            never = int(r["balanced_after"]) == NEVER
            shown.append(
                (
                    r["policy"],
                    f"{int(r['rounds']):,}",
                    *(f"{int(r[c]):,}" for c in ("moved", "twice", "back", "redundant")),
                    "never" if never else r["balanced_after"],
                    "" if never else f"{float(r['balanced_part']):.0%}",
                )
            )
        table(shown)
        say()

    def column(name, scenario, policy):
        return int(by[(scenario, policy)][name])

    ours = [r for r in rows if r["policy"] == OURS]
    verdicts.at_most("rows that ours moves back, all scenarios", sum(int(r["back"]) for r in ours), 0, "rows")
    verdicts.at_most("rows that ours moves for noise", column("moved", "noise 10 %", OURS), 0, "rows")
    never = sum(int(r["balanced_after"]) == NEVER for r in ours)
    verdicts.at_most("scenarios that ours does not balance", never, 0, "")
    # The known failures of the others must appear: otherwise these scenarios
    # are too easy to test ours.
    fast, faster, slow = "4 ticks a report", "64 ticks a report", "moves of 1-8 ticks"
    climber, region = "hill climbing", "region score"
    for what, bad, good in (
        ("ticks faster than reports", (fast, climber), ("all at once", climber)),
        ("influence overwritten", (faster, region + ", overwritten"), (faster, region)),
        ("more at once", (slow, climber), (slow, climber + ", 16 at once")),
    ):
        more = column("redundant", *bad) - column("redundant", *good)
        verdicts.at_least(f"known failure comes back: {what}: more rows in vain", more, 1, "rows")
    return rows


def policies(options, verdicts):
    return {"settle": settle(options, verdicts), "timeline": timeline(options, verdicts)}
