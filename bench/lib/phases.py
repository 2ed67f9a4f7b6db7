"""Where the steps of a run spend their time, by what its workers count while it
trains: for bench/ondemand.py and bench/repro.py."""
import re
import time

from harness.http_client import request
from harness.run_files import read_json


def phase_s(live, phase):
    """Seconds that the steps of all workers spent in it so far."""
    total = 0.0
    for worker in read_json(live.run / "workers.json")["workers"]:
        text = request(worker["metrics"] + "/metrics").text
        total += sum(float(s) for s in re.findall(rf'ballast_step_seconds_sum{{.*phase="{phase}".*}} (\S+)', text))
    return total


def wait_for_full_stores(live):
    def full(name):
        return "holds " in (live.run / "logs" / f"{name}.log").read_text(encoding="utf-8")

    live.wait_for(lambda: all(full(name) for name in live.workers()), "full stores", 300)


def rate(live, first):
    """Samples a second after this step."""
    last = live.steps.lines[-1]
    samples = sum(s["samples"] for s in live.steps.lines if first["step"] < s["step"] <= last["step"])
    return samples / ((last["t_ns"] - first["t_ns"]) / 1e9)


def pace(seconds_each):
    def go(live):
        wait_for_full_stores(live)
        phases = ("data", "compute", "reduce", "optimize")
        live.poll()
        first, before = live.steps.lines[-1], {p: phase_s(live, p) for p in phases}
        time.sleep(seconds_each)
        live.poll()
        spent = {p: phase_s(live, p) - before[p] for p in phases}
        return {"samples_per_s": rate(live, first), "data_share": spent["data"] / sum(spent.values())}

    return go
