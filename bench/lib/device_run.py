"""A whole run of one worker that trains a transformer on a device, observed
while it trains: for bench/gpu.py."""
import re

from lib.measure import step_times_ms

from harness.http_client import request
from harness.live_run import LiveRun
from harness.run_files import read_json

PHASES = ("data", "compute", "reduce", "optimize")


def transformer(batch, precision, tokens, width, layers, vocabulary, epoch_steps):
    """The job that bench/device_step.cpp makes one step of. No checkpoint falls
    into what is measured: it copies all of the state."""
    return {
        "version": 1,
        "name": "transformer",
        "data": {
            "train": {"format": "synthetic", "rows": batch * epoch_steps, "classes": vocabulary, "features": tokens},
            "test_fraction": 0,
        },
        "model": {
            "kind": "transformer",
            "layers": layers,
            "width": width,
            "heads": max(1, width // 64),
            "vocabulary": vocabulary,
        },
        "train": {
            "epochs": 1000,
            "global_batch": batch,
            "loss": "next_token",
            "precision": precision,
            "threads": 1,
            "optimizer": {"kind": "adamw", "lr": 0.001},
        },
        "checkpoint": {"every_steps": 1_000_000},
        "elastic": {"workers": 1},
    }


def phases_so_far(worker):
    """Of each phase, the seconds and the steps that the worker has counted."""
    text = request(worker["metrics"] + "/metrics").text

    def value(suffix, phase):
        found = re.search(rf'^ballast_step_seconds_{suffix}{{.*phase="{phase}".*}} (\S+)$', text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    return {phase: (value("sum", phase), value("count", phase)) for phase in PHASES}


def watched(job, folder, cache, program, device, warm_up, steps):
    """Times of the first `steps` steps but `warm_up`; what a step after the
    warm-up spent in each phase; and what its gradients were reduced with."""
    with LiveRun(job, folder, cache, ["--device", device], program=program) as live:

        def made(count):
            live.poll()
            return len(live.steps.lines) >= count

        live.wait_for(lambda: made(warm_up), "the warm-up", 300)
        (worker,) = read_json(live.run / "workers.json")["workers"]
        if worker["device"] != device:
            raise SystemExit(f"the worker trains on {worker['device']} and not on {device}")
        begun = phases_so_far(worker)
        live.wait_for(lambda: made(steps), f"{steps} steps", 300)
        # The worker counts a few times a second.
        ended = begun

        def counted():
            nonlocal ended
            ended = phases_so_far(worker)
            return ended["data"][1] > begun["data"][1]

        live.wait_for(counted, "the phases of steps")
        collective = next(e["collective"] for e in live.events.lines if e["kind"] == "generation")
        audit = live.stop(180)["audit"]
    if audit["lost"] or audit["repeated"]:
        raise SystemExit(f"samples were lost or repeated: {audit}")
    count = ended["data"][1] - begun["data"][1]
    return {
        "collective": collective,
        **step_times_ms([line["t_ns"] for line in live.steps.lines[:steps]], warm_up),
        "phases_ms": {phase: (ended[phase][0] - begun[phase][0]) * 1000 / count for phase in PHASES},
    }
