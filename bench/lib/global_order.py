"""What order global costs beside its sums: how long a step waits for rows of the
whole set, and for the slowest worker where leaves are whole."""
import statistics

from lib.kills import emulated
from lib.measure import say, table
from lib.observed import Runs
from lib.phases import pace, phase_s, rate

ROWS, ROW_BYTES = 320_000, 4 * 784
DATA_SHARE_MAX = {"the set fits": 0.02, "a quarter of it fits": 0.05}
CANONICAL = {"order": "global", "reduction": "canonical"}
WORKERS, LEAVES, BATCH = 4, 32, 256
SETTLED, COUNTED = 100, 100  # steps
# Of times 1, 1, 1, 4 for a leaf: 3.25 workers' worth.
IDEAL = 3.25 / 4


def set_job(name):
    """1.0 GB of images for a CNN."""
    quarter = name == "a quarter of it fits"
    return {
        "version": 1,
        "name": "global_order",
        "data": {
            "train": {"format": "synthetic", "rows": ROWS, "classes": 10, "features": 784},
            "test_fraction": 0,
            "pipeline": [{"op": "reshape", "shape": [1, 28, 28]}],
            "chunk_rows": 256,
            "memory_mb": ROWS * ROW_BYTES // 4 // 2**20 if quarter else None,
        },
        "model": {"kind": "cnn", "channels": [16, 32]},
        "train": {
            "epochs": 1000,
            "global_batch": BATCH,
            **CANONICAL,
            **({"shuffle": {"window_chunks": 32}} if quarter else {}),
            "optimizer": {"kind": "sgd", "lr": 0.01},
        },
        "elastic": {"workers": 2},
    }


def wait(options, scratch, verdicts):
    runs = Runs(options, scratch)
    raw = {name: [] for name in DATA_SHARE_MAX}
    for _ in range(options.repeats):
        for name, found in raw.items():
            found.append(runs.watch(set_job(name), pace(options.seconds)))
    say(f"\na cnn on {ROWS * ROW_BYTES / 1e9:.1f} GB in one order, 2 workers, {options.seconds} s each")
    rows = [("", "samples/s", "least", "most", "waits for rows")]
    for name, found in raw.items():
        rates = [r["samples_per_s"] for r in found]
        share = statistics.median(r["data_share"] for r in found)
        rows.append((name, f"{statistics.median(rates):.0f}", f"{min(rates):.0f}", f"{max(rates):.0f}", f"{share:.2%}"))
    table(rows)
    for name, found in raw.items():
        share = statistics.median(r["data_share"] for r in found)
        verdicts.at_most(f"{name}, part of a step that waits for rows", share, DATA_SHARE_MAX[name], "")
    return raw


def uneven_job(leaves):
    """Steps of 64 ms for as many leaves as workers; nobody needs a core."""
    out = emulated(WORKERS, 100_000, 0)
    out["faults"] = True
    out["model"]["us_per_sample"] = 1000
    out["train"].update(CANONICAL, global_batch=BATCH, leaves=leaves)
    return out


def until(live, step):
    live.wait_for(lambda: live.poll() or len(live.steps.lines) >= step, f"step {step}", 120)


def counted(live):
    """Samples a second, and the part of the time in which a worker waits for the
    sums of others, over the next steps."""
    phases = ("data", "compute", "reduce", "optimize")
    first, before = live.steps.lines[-1], {p: phase_s(live, p) for p in phases}
    until(live, len(live.steps.lines) + COUNTED)
    spent = {p: phase_s(live, p) - before[p] for p in phases}
    return {"samples_per_s": rate(live, first), "idle_share": spent["reduce"] / sum(spent.values())}


def one_slow(live):
    until(live, SETTLED)
    out = {"alike": counted(live)}
    live.post("slow_worker", worker="w2", factor=4)
    live.poll()
    until(live, len(live.steps.lines) + SETTLED)
    return out | {"one slow": counted(live)}


def idle(options, scratch, verdicts):
    runs = Runs(options, scratch)
    raw = {"8 leaves": [], f"{LEAVES} leaves": []}
    for _ in range(options.repeats):
        for leaves, found in zip((8, LEAVES), raw.values()):
            found.append(runs.watch(uneven_job(leaves), one_slow))
    say(f"\n{WORKERS} workers, a leaf takes 1, 1, 1, 4 times as long; {COUNTED} steps")
    rows = [("", "waits, alike", "waits, one slow", "samples/s over the ideal")]
    for name, found in raw.items():
        ideal = [r["one slow"]["samples_per_s"] / (IDEAL * r["alike"]["samples_per_s"]) for r in found]
        shares = [statistics.median(r[how]["idle_share"] for r in found) for how in ("alike", "one slow")]
        rows.append((name, f"{shares[0]:.1%}", f"{shares[1]:.1%}", f"{statistics.median(ideal):.1%}"))
    table(rows)
    say("  whole leaves at best: 8 leaves 3, 2, 2, 1, so 62 % of the ideal; 32 leaves 10, 10, 10, 2, so 98 %")
    return raw
