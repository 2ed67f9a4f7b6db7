#!/usr/bin/env python3
"""What a model's size costs: at a checkpoint, at the start and at the end of a run.

  ./dev bench state [--repeats N] [--only PART] [--parameters N ...] [--peers DIR]
                    [--save] [--check]

pause    The emulated model with AdamW, 100 ms of compute a step, 3 workers: the
         longest step from the one at a checkpoint on until the checkpoint is
         published, over the median of the others; by parameters (25, 125 and 250
         million), and the time until it is published over that of `dd` of as many
         bytes, synced. Beside it PyTorch's torch.distributed.checkpoint.async_save
         of the same tensors, in as many processes.
rate     125 million parameters, the same workers, runs of a minute in turn: steps a
         second with a checkpoint every 30 s over those with none.
start    The first again, until the first committed step.
memory   What a worker and the coordinator hold while checkpoints are made, by
         optimizer and collective, as a multiple of the parameters (25 million, 2
         workers): the proportional set size (PSS) of /proc/PID/smaps_rollup, its
         largest value, less that of the same run with 1,000 parameters. `private`
         is what the process alone maps, `shared` its part of what others map, too.
end      From the last committed step to the end of the command: the model's hash,
         its file, the report; beside it `dd` of as many bytes, synced.
resume   A stopped run goes on: until its first committed step, on 1, 2 and 5
         workers. Beside it one program that reads the bytes of the state once.
         The kernel is asked to forget the file before each of both. What the
         processes read from the disk together, over the state's size, is what
         the workers of a host share.
join     A third worker joins two: the others' longest step until it takes part,
         over the median before.
stripes  Three workers on hosts of their own (network namespaces), 400 Mbit/s out of
         each, and a fourth one that joins them, with no limit in: until it has the
         state, and the same where there is only one to send it. Needs root.
tier     All workers are killed (kill -9), while the newest checkpoint lies in memory:
         until the next committed step, and the steps that are undone (25 million, a
         checkpoint in memory every 5 s).

A step's time is `t_ns` of steps.jsonl, on the clock that this program reads.
"""
import glob
import json
import os
import shutil
import signal
import statistics
import subprocess
import time

from lib.live import Live
from lib.measure import Ballast, Peer, Scratch, arguments, run_parts, say, table, warn_if_busy
from lib.state_job import FLOATS, MILLION, ROWS_A_STEP_US, STEPS, gaps_ms, job
from lib.state_memory import memory
from lib.stripes import stripes

SAVED = 12  # the step that is saved
PUBLISHED_MAX = 1.2
RATE_MIN, RATE_MILLIONS, RATE_EVERY_S, RATE_S = 0.97, 125, 30, 65
PAUSE_MAX = {25: 1.3, 125: 1.5, 250: 1.5}
START_S_MAX = {125: 1.5, 250: 2.5}
END_RATIO_MAX = 1.5
RESUMED_ON = (1, 2, 5)  # workers
RESUME_RATIO_MAX = 1.5
JOIN_MAX = 1.4
TIER_MILLIONS, TIER_EVERY_S, TIER_S_MAX = 25, 5, 2
STATE_VECTORS = 3  # AdamW: the parameters and two of the optimizer


def longest_over_median(times_ns):
    """Of the steps after the saved one, over the median of those before it. The first
    steps touch memory that nobody had before."""
    gaps = gaps_ms(times_ns)  # gaps[i] ends with step i + 2
    usual = statistics.median(gaps[3 : SAVED - 1])
    return max(gaps[SAVED - 1 :]) / usual, usual, max(gaps[SAVED - 1 :])


def saved_ms(run):
    with open(os.path.join(run["folder"], "events.jsonl")) as f:
        events = [json.loads(line) for line in f]
    return [one["ms"] for one in events if one["kind"] == "checkpoint"]


def pause(ballast, peer, options, verdicts):
    raw = {}
    rows = [("million parameters", "step ms", "longest ms", "ratio", "saved in s", "dd s", "async_save: step", "longest", "ratio")]
    for parameters in options.parameters:
        ours, theirs, saved, synced = [], [], [], []
        for _ in range(options.repeats):
            run = ballast.run(job(parameters * MILLION, ballast.scratch, SAVED), workers=options.workers)
            ours.append(longest_over_median(run["t_ns"]))
            saved += saved_ms(run)[:1]
            synced.append(synced_s(ballast.scratch, parameters * MILLION * FLOATS * STATE_VECTORS))
            if peer:
                found = peer.run("async_save.py", parameters * MILLION, options.workers, STEPS, SAVED, ballast.scratch)
                theirs.append(longest_over_median(found["t_ns"]))
        raw[parameters] = {"ballast": ours, "async_save": theirs, "published_ms": saved, "dd_s": synced}
        middle = sorted(ours)[len(ours) // 2]
        beside = sorted(theirs)[len(theirs) // 2] if theirs else None
        rows.append(
            (parameters, f"{middle[1]:.0f}", f"{middle[2]:.0f}", f"{middle[0]:.2f}", f"{statistics.median(saved) / 1e3:.2f}", f"{statistics.median(synced):.2f}")
            + ((f"{beside[1]:.0f}", f"{beside[2]:.0f}", f"{beside[0]:.2f}") if beside else ("", "", ""))
        )
        if parameters in PAUSE_MAX:
            verdicts.at_most(f"{parameters} million: longest step over the median", middle[0], PAUSE_MAX[parameters], "x")
        if parameters == 125:
            verdicts.at_most("125 million: published, over dd", statistics.median(saved) / 1e3 / statistics.median(synced), PUBLISHED_MAX, "x")
        if beside:
            verdicts.at_most(f"{parameters} million: over async_save's", middle[0] / beside[0], 1, "x")
    table(rows)
    return raw


def steps_a_second(ballast, every_s, number):
    """Of RATE_S seconds, from the fifth step on."""
    folder = os.path.join(ballast.scratch, f"rate-{every_s}-{number}")
    path = job(RATE_MILLIONS * MILLION, ballast.scratch, 1 if every_s else 10**6, 10**4)
    live = Live(ballast, folder, [path, "--workers", "3", "--run-dir", folder, "--set", f"/checkpoint/every_s={every_s}"])
    live.until("steps", lambda: len(live.shown()) >= 5)
    begun = live.shown()[4]
    live.until("the time", lambda: live.shown()[-1] - begun >= RATE_S * 1e9)
    times = live.shown()
    saved = [e for e in live.events() if e["kind"] == "checkpoint"]
    live.process.terminate()
    live.process.wait()
    shutil.rmtree(folder)
    return (len(times) - 5) / ((times[-1] - begun) / 1e9), len(saved)


def rate(ballast, _peer, options, verdicts):
    found = [
        (steps_a_second(ballast, RATE_EVERY_S, i), steps_a_second(ballast, 0, i)) for i in range(options.repeats)
    ]
    rows = [("steps/s, one each 30 s", "of them", "steps/s, none", "ratio")]
    ratios = []
    for (some, saved), (none, _) in found:
        ratios.append(some / none)
        rows.append((f"{some:.3f}", saved, f"{none:.3f}", f"{some / none:.3f}"))
    table(rows)
    verdicts.at_least("steps/s with a checkpoint each 30 s over none", statistics.median(ratios), RATE_MIN, "x")
    return found


def start(ballast, _peer, options, verdicts):
    raw = {}
    rows = [("million parameters", "first step after s")]
    for parameters in options.parameters:
        found = []
        for _ in range(options.repeats):
            run = ballast.run(job(parameters * MILLION, ballast.scratch, 10**6, 3), workers=options.workers)
            found.append((run["t_ns"][0] - run["spawned_ns"]) / 1e9)
        raw[parameters] = found
        rows.append((parameters, f"{statistics.median(found):.2f}"))
        if parameters in START_S_MAX:
            verdicts.at_most(f"{parameters} million: until the first step", statistics.median(found), START_S_MAX[parameters], "s")
    table(rows)
    return raw


def synced_s(folder, size):
    path = os.path.join(folder, "dd")
    begun = time.monotonic()
    subprocess.run(
        ["dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={size >> 20}", "conv=fdatasync"], check=True, capture_output=True
    )
    took = time.monotonic() - begun
    os.remove(path)
    return took


def end(ballast, _peer, options, verdicts):
    raw = {}
    rows = [("million parameters", "end s", "dd s", "ratio")]
    for parameters in options.parameters:
        found = []
        for _ in range(options.repeats):
            run = ballast.run(job(parameters * MILLION, ballast.scratch, 10**6, 3), workers=1)
            ended = time.monotonic_ns()
            found.append(((ended - run["t_ns"][-1]) / 1e9, synced_s(ballast.scratch, parameters * MILLION * FLOATS)))
        raw[parameters] = found
        ours, dd = (statistics.median(one[i] for one in found) for i in (0, 1))
        rows.append((parameters, f"{ours:.2f}", f"{dd:.2f}", f"{ours / dd:.2f}"))
        if parameters >= 250:
            verdicts.at_most(f"{parameters} million: end over dd", ours / dd, END_RATIO_MAX, "x")
    table(rows)
    return raw


def newest_state(folder):
    places = glob.glob(os.path.join(folder, "checkpoints", "step-*", "state.safetensors"))
    return max(places, key=lambda path: int(os.path.basename(os.path.dirname(path)).split("-")[1]))


def forget(path):
    """The kernel keeps none of a file in memory, if it does as it is asked."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def read_s(path):
    block = bytearray(1 << 20)
    begun = time.monotonic()
    with open(path, "rb", buffering=0) as f:
        while f.readinto(block):
            pass
    return time.monotonic() - begun


def resume(ballast, _peer, options, verdicts):
    raw = {}
    rows = [("million parameters", "workers", "first step after s", "of it the step", "read once s", "ratio", "read from disk / size")]
    for parameters in options.parameters:
        folder = os.path.join(ballast.scratch, f"resumed-{parameters}")
        path = job(parameters * MILLION, ballast.scratch, 10**6, 10**4)
        live = Live(ballast, folder, [path, "--workers", "1", "--run-dir", folder])
        live.until("step", lambda: len(live.shown()) >= 2)
        live.stop()
        for workers in RESUMED_ON:
            found = []
            for _ in range(options.repeats):
                state = newest_state(folder)
                size = os.path.getsize(state)
                forget(state)
                once = read_s(state)
                forget(state)
                live = Live(ballast, folder, ["--resume", folder, "--workers", str(workers)])
                first = live.first_step_s()
                from_disk = live.disk_bytes() / size
                times = live.until("steps", lambda: (t := live.shown()[live.lines :]) and len(t) > 3 and t)
                live.stop()
                found.append((first, statistics.median(gaps_ms(times)) / 1e3, once, from_disk))
            raw[f"{parameters}/{workers}"] = found
            first, step, once, from_disk = (statistics.median(one[i] for one in found) for i in range(4))
            ratio = statistics.median(one[0] / one[2] for one in found)
            rows.append((parameters, workers, f"{first:.2f}", f"{step:.2f}", f"{once:.2f}", f"{ratio:.2f}", f"{from_disk:.2f}"))
            if parameters == 125:
                verdicts.at_most(f"{parameters} million onto {workers}: first step over reading once", ratio, RESUME_RATIO_MAX, "x")
                verdicts.at_most(f"{parameters} million onto {workers}: read from the disk over the size", from_disk, 1.1, "x")
        shutil.rmtree(folder)
    table(rows)
    return raw


def join(ballast, _peer, options, verdicts):
    raw = {}
    rows = [("million parameters", "step ms", "longest ms", "ratio", "joined after s")]
    for parameters in options.parameters:
        found = []
        for number in range(options.repeats):
            folder = os.path.join(ballast.scratch, f"joined-{parameters}-{number}")
            path = job(parameters * MILLION, ballast.scratch, 10**6, 10**4)
            live = Live(ballast, folder, [path, "--workers", "2", "--run-dir", folder])
            live.until("steps", lambda: len(live.shown()) >= 12)
            before = len(live.shown())
            live.ctl("scale", "workers=3")
            live.until("join", lambda: [e for e in live.events() if e["kind"] == "generation" and e["reason"] == "join"])
            joined = len(live.shown())
            live.until("steps", lambda: len(live.shown()) >= joined + 6)
            times = live.shown()
            live.process.terminate()
            live.process.wait()
            usual = statistics.median(gaps_ms(times[3:before]))
            longest = max(gaps_ms(times[before - 1 : joined + 6]))
            found.append((longest / usual, usual, longest, (times[joined] - times[before]) / 1e9))
            shutil.rmtree(folder)
        raw[parameters] = found
        middle = sorted(found)[len(found) // 2]
        rows.append((parameters, f"{middle[1]:.0f}", f"{middle[2]:.0f}", f"{middle[0]:.2f}", f"{middle[3]:.1f}"))
        if parameters == 125:
            verdicts.at_most(f"{parameters} million: the others' longest step over the median", middle[0], JOIN_MAX, "x")
    table(rows)
    return raw


def tier_job(scratch):
    path = job(TIER_MILLIONS * MILLION, scratch, 1, 10**4)
    with open(path) as f:
        what = json.load(f)
    what["checkpoint"].update(every_s=3600, memory_every_s=TIER_EVERY_S)
    with open(path, "w") as f:
        json.dump(what, f)
    return path


def kill_all_workers(folder):
    with open(os.path.join(folder, "workers.json")) as f:
        pids = [w["pid"] for w in json.load(f)["workers"] if w["state"] == "training"]
    killed_ns = time.monotonic_ns()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return killed_ns


def tier(ballast, _peer, options, verdicts):
    found = []
    for number in range(options.repeats):
        folder = os.path.join(ballast.scratch, f"tier-{number}")
        live = Live(ballast, folder, [tier_job(ballast.scratch), "--workers", str(options.workers), "--run-dir", folder])
        live.until("steps", lambda: len(live.shown()) >= 2)
        of_kind = lambda kind: [e for e in live.events() if e["kind"] == kind]
        kept = lambda: [e for e in of_kind("checkpoint") if e["where"] == "memory"]
        live.until("checkpoints in memory", lambda: len(kept()) >= 2)
        # As late as it gets, and as early.
        time.sleep(TIER_EVERY_S * 0.9 * (number + 1) / options.repeats)
        usual_s = statistics.median(gaps_ms(live.shown()[3:])) / 1e3
        killed_ns = kill_all_workers(folder)
        undone = live.until("way back", lambda: of_kind("undone"))[0]
        step_ns = live.until("step", lambda: [t for t in live.shown() if t > killed_ns])[0]
        live.process.terminate()
        live.process.wait()
        steps = undone["from"] - undone["to"]
        found.append(((step_ns - killed_ns) / 1e9, steps, steps * usual_s, usual_s))
        shutil.rmtree(folder)
    after, steps, undone_s, usual_s = (statistics.median(one[i] for one in found) for i in range(4))
    table(
        [
            ("million parameters", "step ms", "next step after s", "steps undone", "of s"),
            (TIER_MILLIONS, f"{usual_s * 1e3:.0f}", f"{after:.2f}", f"{steps:.0f}", f"{undone_s:.1f}"),
        ]
    )
    verdicts.at_most("all workers killed: until the next step", after, TIER_S_MAX, "s")
    # Saved a moment after its step.
    verdicts.at_most("all workers killed: most of training undone", max(one[2] for one in found), TIER_EVERY_S + 2, "s")
    return found


def main():
    def more(p):
        p.add_argument("--parameters", type=int, nargs="+", default=[25, 125, 250], help="millions (default 25 125 250)")
        p.add_argument("--workers", type=int, default=3, help="default 3")

    parts = {
        "pause": pause, "rate": rate, "memory": memory, "start": start, "end": end, "resume": resume, "join": join,
        "stripes": stripes, "tier": tier,
    }
    options = arguments(__doc__.splitlines()[0], list(parts), more=more)
    warn_if_busy()
    peer = Peer(options.peers)
    peer = peer if "pause" in options.only and peer.there() else None
    with Scratch() as scratch:
        ballast = Ballast(options.ballast, scratch)
        say(f"{options.workers} workers on this machine; the emulated model with AdamW, {ROWS_A_STEP_US // 1000} ms of compute a step")
        run_parts("state", options, {name: lambda v, f=f: f(ballast, peer, options, v) for name, f in parts.items()})


if __name__ == "__main__":
    main()
