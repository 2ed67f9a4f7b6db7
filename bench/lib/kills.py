"""Kills in a run of Ballast, and what became of them: for bench/recovery.py
and bench/ondemand.py."""
import os
import signal
import statistics
import time

from lib.measure import table

PHASES = ["noticed", "fence", "plan", "open", "sync", "first step"]


MB_25 = 6_250_000  # parameters
SMALL = {"rows": 10007, "classes": 4, "features": 4}


def emulated(workers, parameters, us_per_step, train=None, data=None, **elastic):
    return {
        "version": 1,
        "name": "recovery",
        "data": {
            "train": {"format": "synthetic", **(train or SMALL)},
            "test_fraction": 0,
            **(data or {}),
        },
        "model": {"kind": "emulated", "parameters": parameters, "us_per_sample": 0, "us_per_step": us_per_step},
        "train": {"epochs": 100000, "global_batch": 53, "optimizer": {"kind": "sgd", "lr": 0.001}},
        "elastic": {"workers": workers, **elastic},
    }


def p99(values):
    return sorted(values)[min(len(values) - 1, len(values) * 99 // 100)]


def seconds(values):
    """Cells of a table."""
    return f"{statistics.median(values):.3f} s", f"{p99(values):.3f} s", f"{max(values):.3f} s", len(values)


# -- faults --------------------------------------------------------------------


def phases_ms(live, fault, step):
    """What the coordinator says of the recovery, on the clock of the fault:
    from one sign to the next. None where another fault came between."""
    for event in live.events.lines:
        if event["kind"] == "generation" and event["generation"] == step["generation"] and "phases_ms" in event:
            said = event["phases_ms"]
            begun = event["t_ns"] / 1e6 - event["ms"]
            noticed = begun + said["detect"] - fault["at_ns"] / 1e6
            ready = noticed + sum(said[name] for name in ("fence", "plan", "open", "sync"))
            first = (step["t_ns"] - fault["at_ns"]) / 1e6 - ready
            return dict(zip(PHASES, (noticed, said["fence"], said["plan"], said["open"], said["sync"], first)))
    return None


def results(live, faults):
    """Of each fault: seconds to the next step without its worker, the phases,
    and what a step took just before."""
    live.poll()
    out = []
    for fault in faults:
        step = live.to_a_step_without(fault["worker"], fault["at_ns"])
        if step is None:
            raise SystemExit(f"no step without {fault['worker']} was ever made")
        usual = live.gaps(fault["at_ns"] - 10**9, fault["at_ns"])[:-1] or [0]
        out.append(
            {
                "to_step_s": (step["t_ns"] - fault["at_ns"]) / 1e9,
                "step_ms": statistics.median(usual) * 1e3,
                "phases_ms": phases_ms(live, fault, step),
            }
        )
    return out


def strike(live, dice, hit):
    """`hit(pid)` for a random member at a random moment."""
    here = live.workers()
    members = [name for name in live.members[live.newest] if name in here]
    worker = dice.choice(members)
    time.sleep(dice.uniform(0, 0.1))
    at_ns = time.monotonic_ns()
    hit(here[worker])
    return {"worker": worker, "at_ns": at_ns, "pid": here[worker]}


def gone(live, fault):
    def stepped():
        live.poll()
        return live.to_a_step_without(fault["worker"], fault["at_ns"])

    live.wait_for(stepped, f"a step without {fault['worker']}")


def kills(world, count, dice):
    def go(live):
        faults = []
        for _ in range(count):
            live.wait_full(world, steps=3)
            faults.append(strike(live, dice, lambda pid: os.kill(pid, signal.SIGKILL)))
            gone(live, faults[-1])
        return results(live, faults)

    return go


def phase_table(raw):
    """Where the time goes, for all faults and for the slowest tenth of them."""
    known = sorted((r for r in raw if r["phases_ms"]), key=lambda r: r["to_step_s"])
    if not known:
        return
    rows = [("  on the way", *PHASES)]
    for name, part in (("  median", known), ("  of the slowest tenth", known[-max(1, len(known) // 10) :])):
        rows.append((name, *(f"{statistics.median(r['phases_ms'][p] for r in part):.1f} ms" for p in PHASES)))
    table(rows)
