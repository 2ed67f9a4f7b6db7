"""A worker more, and a worker fewer: for bench/recovery.py and
bench/ondemand.py."""
import statistics
import time

from harness.live_run import started_ns


def joins(world, count):
    """Grows from world - 1 to world workers and shrinks back, so many times."""

    def go(live):
        found = []
        for _ in range(count):
            live.wait_full(world - 1, steps=20)
            before = set(live.workers())
            asked_ns = time.monotonic_ns()
            live.post("scale", workers=world)
            live.wait_full(world, steps=10)
            [name] = set(live.members[live.newest]) - before
            begun_ns = started_ns(live.workers()[name])
            first = next(s for s in live.steps.lines if name in live.members[s["generation"]])
            usual = live.gaps(asked_ns - 2 * 10**9, asked_ns)[:-1]
            around = live.gaps(begun_ns, first["t_ns"] + 10**9)
            found.append(
                {
                    "join_s": (first["t_ns"] - begun_ns) / 1e9,
                    "asked_s": (first["t_ns"] - asked_ns) / 1e9,
                    "step_ms": statistics.median(usual) * 1e3,
                    "step_after_ms": statistics.median(live.gaps(first["t_ns"], time.monotonic_ns())) * 1e3,
                    "pause_ms": max(around) * 1e3,
                }
            )
            live.post("scale", workers=world - 1)
        return found

    return go
