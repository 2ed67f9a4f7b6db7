#!/usr/bin/env python3
"""How fast the collectives are, and how soon they let go of a dead rank.

  ./dev bench allreduce [--repeats N] [--only PART] [--peers DIR] [--save] [--check]

speed     All-reduce of 64 KiB to 64 MiB with 2 and 4 ranks on one machine:
          through shared memory, over TCP on the loopback, with the Gloo that
          `collective: gloo` uses, with the same Gloo in a program of its own,
          and with torch.distributed. busbw = 2 (n-1)/n bytes / time.
kills     kill -9 of one rank at a random moment: the time until the last survivor
          leaves its operation, and until the next generation is open.
training  The two Fashion-MNIST examples with 2 workers: samples a second with
          the ring and with Gloo.
overlap   Steps whose all-reduce takes half as long as their computation, on two
          hosts (network namespaces) with 1 Gbit/s between them: the hidden
          share of the all-reduce. The emulated model, a wide mlp, and the same mlp
          with DistributedDataParallel. Needs root.
link      All-reduce between two such hosts 10 ms apart. Needs root.

Subjects alternate; the result is the median over the repeats.
"""
import concurrent.futures
import csv
import io
import json
import os
import statistics
import subprocess

from lib.measure import (
    ROOT,
    Ballast,
    Peer,
    Scratch,
    arguments,
    built,
    run_parts,
    say,
    step_times_ms,
    summary,
    table,
    warn_if_busy,
)
from lib.two_hosts import ADDRESSES, DEVICE, NotHere, command_on, train, two_hosts

KIB, MIB = 1 << 10, 1 << 20
SIZES = [64 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB]
LARGE = SIZES[2:]
RANKS = [2, 4]
SECONDS = 1.0  # a cell and repeat
OURS = ["ring-shm", "ring-tcp", "gloo"]
STOCK, TORCH = "stock gloo", "torch"
KILLS = 1000  # a backend, over all numbers of ranks
KILL_RANKS = [2, 4, 8]
KILL_P99_MS_MAX = 20
OPEN_P50_MS_MAX = 10
HIDDEN_MIN = 0.8
LINE_RATE_MIN = 0.8

# At least so many times as fast as Gloo (`gloo` of the same process, whose
# turns alternate with ours), by backend, ranks and size.
TIMES_GLOO_MIN = {
    **{("ring-shm", 2, b): 4.0 for b in LARGE},
    **{("ring-shm", 4, b): 2.5 for b in LARGE},
    **{("ring-tcp", 2, b): 1.7 for b in LARGE},
    **{("ring-tcp", 4, b): 1.1 for b in LARGE},
    ("ring-shm", 2, 64 * KIB): 1.0,
    ("ring-shm", 2, MIB): 1.0,
    ("ring-shm", 4, 64 * KIB): 3.0,
    ("ring-shm", 4, MIB): 1.0,
    ("ring-tcp", 2, 64 * KIB): 0.9,
    ("ring-tcp", 2, MIB): 0.9,
    ("ring-tcp", 4, 64 * KIB): 3.0,
    ("ring-tcp", 4, MIB): 0.9,
}


def name_of(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


def run(command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def p99(ms):
    return sorted(ms)[min(len(ms) - 1, len(ms) * 99 // 100)]


# -- speed ---------------------------------------------------------------------


def ours(ballast, ranks):
    """(backend, size) -> median and p99 in ms, the backends in turns."""
    text = run(
        [ballast, "bench", "allreduce", "--csv", "--ranks", ranks, "--seconds", SECONDS]
        + ["--backends", ",".join(OURS), "--bytes", ",".join(str(s) for s in SIZES)]
    )
    rows = csv.DictReader(io.StringIO(text))
    return {(r["backend"], int(r["bytes"])): (float(r["median_ms"]), float(r["p99_ms"])) for r in rows}


def stock_gloo(program, ranks):
    found = {}
    for line in run([program, ranks, SECONDS] + SIZES).splitlines():
        size, *ms = line.split()
        ms = [float(t) for t in ms]
        found[(STOCK, int(size))] = (statistics.median(ms), p99(ms))
    return found


def torch(peer, ranks):
    rows = peer.run("torch_allreduce.py", ranks, SECONDS, *SIZES)["rows"]
    return {(TORCH, r["bytes"]): (statistics.median(r["ms"]), p99(r["ms"])) for r in rows}


def speed(options, peer, verdicts):
    program = built(options, "gloo_allreduce")
    subjects = OURS + [STOCK] + ([TORCH] if peer else [])
    raw = []
    for _ in range(options.repeats):
        for ranks in RANKS:
            found = {**ours(options.ballast, ranks), **stock_gloo(program, ranks)}
            if peer:
                found.update(torch(peer, ranks))
            raw += [
                {"ranks": ranks, "subject": s, "bytes": b, "median_ms": m, "p99_ms": p}
                for (s, b), (m, p) in found.items()
            ]

    def middle(ranks, subject, size, key="median_ms"):
        return statistics.median(
            r[key] for r in raw if (r["ranks"], r["subject"], r["bytes"]) == (ranks, subject, size)
        )

    for ranks in RANKS:
        say(f"\nall-reduce, {ranks} ranks on this machine; medians of {options.repeats} repeats")
        rows = [("", *(f"{s}" for s in subjects), "shm / gloo", "tcp / gloo")]
        for size in SIZES:
            ms = {s: middle(ranks, s, size) for s in subjects}
            busbw = {s: 2 * (ranks - 1) / ranks * size / ms[s] / 1e6 for s in subjects}
            rows.append(
                (
                    name_of(size),
                    *(f"{ms[s]:.3f} ms {busbw[s]:.2f} GB/s" for s in subjects),
                    f"{ms['gloo'] / ms['ring-shm']:.2f} x",
                    f"{ms['gloo'] / ms['ring-tcp']:.2f} x",
                )
            )
        table(rows)
        say("  99 of 100 rounds are quicker than:")
        table(
            [("", *subjects)]
            + [(name_of(z), *(f"{middle(ranks, s, z, 'p99_ms'):.3f} ms" for s in subjects)) for z in SIZES]
        )
    say()
    for (backend, ranks, size), limit in TIMES_GLOO_MIN.items():
        times = middle(ranks, "gloo", size) / middle(ranks, backend, size)
        verdicts.at_least(f"{backend}, {ranks} ranks, {name_of(size)}, over gloo", times, limit, "x")
    return raw


# -- kills ---------------------------------------------------------------------


def kills(options, verdicts):
    rounds = max(1, KILLS // len(KILL_RANKS) + 1)
    say(f"\nkill -9 of a random rank at a random moment, {rounds} times each")
    rows = [("", "ranks", "out p50", "out p99", "out max", "open p50", "open p99", "crashes", "hangs")]
    raw = []
    for backend in ("ring-shm", "ring-tcp"):
        for ranks in KILL_RANKS:
            text = run(
                [options.ballast, "bench", "allreduce", "--kills", rounds, "--ranks", ranks, "--backends", backend]
            )
            cells = text.splitlines()[-1].split()
            names = ["backend", "ranks", "kills", "p50_ms", "p99_ms", "max_ms", "open_p50_ms", "open_p99_ms"]
            found = dict(zip(names + ["crashes", "hangs"], cells))
            raw.append({k: v if k == "backend" else float(v) for k, v in found.items()})
            rows.append((backend, ranks, *(f"{c} ms" for c in cells[3:8]), *cells[8:]))
    table(rows)
    for r in raw:
        what = f"{r['backend']}, {r['ranks']:.0f} ranks"
        verdicts.at_most(f"{what}, last survivor out, p99", r["p99_ms"], KILL_P99_MS_MAX, "ms")
        verdicts.at_most(f"{what}, crashes and hangs", r["crashes"] + r["hangs"], 0, "")
        if r["ranks"] == 4:
            verdicts.at_most(f"{what}, open, p50", r["open_p50_ms"], OPEN_P50_MS_MAX, "ms")
    return raw


# -- training ------------------------------------------------------------------


def training(options, ballast, verdicts):
    result = {}
    for model in ("mlp", "cnn"):
        job = os.path.join(ROOT, "examples", "jobs", f"fashion_{model}.json")
        raw = {"ring": [], "gloo": []}
        for _ in range(options.repeats):
            for collective, found in raw.items():
                changes = [f"/train/collective={collective}", "/train/epochs=1", "/train/threads=1"]
                found.append(ballast.run(job, changes)["report"]["samples_per_s"])
        middle = {c: summary(found, 0) for c, found in raw.items()}
        say(f"\nFashion-MNIST {model}, 2 workers, samples a second; medians of {options.repeats} repeats")
        table([("", "median", "least", "most")] + [(c, m["median"], m["min"], m["max"]) for c, m in middle.items()])
        times = middle["ring"]["median"] / middle["gloo"]["median"]
        verdicts.at_least(f"training fashion_{model} with the ring, over gloo", times, 1.0, "x")
        result[model] = raw
    return result


# -- two hosts -----------------------------------------------------------------

LINE_MBIT = 1000
DELAY_US = 5000  # one way: 10 ms there and back
LINK_SIZES = [16 * MIB, 64 * MIB]


def ranks_across(options, ranks, backend, sizes):
    """`ballast bench allreduce` with its ranks on the two hosts in turn; this
    program carries the addresses. Median ms by size."""
    processes = []
    for r in range(ranks):
        command = [options.ballast, "bench", "allreduce", "--as-rank", r, "--of", ranks, "--seconds", SECONDS * 3]
        command += ["--host", ADDRESSES[r % 2], "--backends", backend, "--bytes", ",".join(str(s) for s in sizes)]
        processes.append(
            subprocess.Popen(
                command_on(r % 2, *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        )
    addresses = "".join(p.stdout.readline() for p in processes)
    for p in processes:
        p.stdin.write(addresses)
        p.stdin.flush()
    rows = processes[0].stdout.read().splitlines()
    if any(p.wait() != 0 for p in processes):
        raise SystemExit("link: a rank failed")
    return {int(r.split(",")[2]): float(r.split(",")[4]) for r in rows}


def link(options, verdicts):
    result = []
    with two_hosts(built(options, "wire"), LINE_MBIT, DELAY_US):
        for backend, ranks in (("ring", 2), ("ring", 4), ("gloo", 2), ("gloo", 4)):
            for size, ms in ranks_across(options, ranks, backend, LINK_SIZES).items():
                # The ring counts hosts, not ranks, if ranks share a host.
                members = 2 if backend == "ring" else ranks
                sent_bits = 2 * (members - 1) / members * size * 8
                share = sent_bits / (ms / 1e3) / (LINE_MBIT * 1e6)
                result.append({"backend": backend, "ranks": ranks, "bytes": size, "ms": ms, "line": share})
    say(f"\ntwo hosts, {LINE_MBIT} Mbit/s, {2 * DELAY_US / 1e3:.0f} ms there and back; ranks spread over both")
    rows = [("", "ranks", "size", "median", "of the line rate")]
    for r in result:
        rows.append((r["backend"], r["ranks"], name_of(r["bytes"]), f"{r['ms']:.1f} ms", f"{r['line']:.0%}"))
    table(rows)
    for r in result:
        if r["backend"] == "ring" and r["bytes"] >= 16 * MIB:
            what = f"ring, {r['ranks']} ranks on two hosts, {name_of(r['bytes'])}, of the line rate"
            verdicts.at_least(what, r["line"], LINE_RATE_MIN, "")
    return result


# -- overlap -------------------------------------------------------------------

# The wire must be the bottleneck of the all-reduce. On the loopback it is the
# processors, whose work cannot overlap with their own computation.
EMULATED_PARAMETERS = 4 * MIB
EMULATED_BATCH = 32  # a worker
MLP_FEATURES, MLP_HIDDEN, MLP_CLASSES = 784, [256] + [1024] * 6, 10  # of link_mlp.json
MLP_ROWS = 512  # a worker, to begin with
OVERLAP_STEPS = 40
OVERLAP_WARM_UP = 8


def mlp_parameters():
    widths = [MLP_FEATURES] + MLP_HIDDEN + [MLP_CLASSES]
    return sum((i + 1) * o for i, o in zip(widths, widths[1:]))


def hidden(t_c, t_m, t):
    return {"t_c_ms": t_c, "t_m_ms": t_m, "t_ms": t, "hidden": (t_c + t_m - t) / t_m}


def ddp_across(peer, rows):
    """DistributedDataParallel on the same two hosts with the same model."""
    arguments = [MLP_FEATURES, ",".join(str(h) for h in MLP_HIDDEN), MLP_CLASSES, rows, OVERLAP_STEPS]
    script = os.path.join(ROOT, "bench", "peers", "ddp_link.py")
    env = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": DEVICE, "WORLD_SIZE": "2"}
    env.update(MASTER_ADDR=ADDRESSES[0], MASTER_PORT="29500")
    ranks = [
        subprocess.Popen(
            command_on(r, peer.python, script, *arguments),
            env={**env, "RANK": str(r)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for r in range(2)
    ]
    said = [p.communicate()[0] for p in ranks]
    if any(p.returncode for p in ranks):
        raise SystemExit("overlap: a rank of DDP failed; its last line says why")
    found = json.loads(said[0].splitlines()[-1])
    middle = {k: statistics.median(found[k][OVERLAP_WARM_UP:]) for k in ("alone", "reduce", "together")}
    return hidden(middle["alone"], middle["reduce"], middle["together"])


def overlap(options, peer, verdicts, scratch):
    """T_m: one all-reduce of the whole gradient. T_c: a step of one worker
    alone, while the other host is as busy with a run of its own. T: a step of
    two workers. T_m = T_c / 2."""
    job = {k: os.path.join(ROOT, "bench", "jobs", f) for k, f in (("emulated", "overlap.json"), ("mlp", "link_mlp.json"))}
    result = {"emulated": [], "mlp": [], "ddp": []}
    runs = iter(range(1000))

    def step_ms(kind, workers, batch, changes=()):
        rows = workers * batch
        sizes = [f"/train/global_batch={rows}", f"/data/train/rows={rows * OVERLAP_STEPS}"]

        def one_run(first_host):
            folder = os.path.join(scratch, f"overlap-{next(runs)}")
            t_ns = train(options.ballast, job[kind], sizes + list(changes), workers, folder, first_host)
            return step_times_ms(t_ns, OVERLAP_WARM_UP)["median_ms"]

        with concurrent.futures.ThreadPoolExecutor() as pool:
            return statistics.mean(pool.map(one_run, range(2) if workers == 1 else [0]))

    with two_hosts(None, LINE_MBIT, 0):
        sizes = [EMULATED_PARAMETERS * 4, mlp_parameters() * 4]
        rows = None
        for _ in range(options.repeats):
            t_m = ranks_across(options, 2, "ring", sizes)
            sleep_us = int(2 * t_m[sizes[0]] * 1000 / EMULATED_BATCH)
            emulated = [f"/model/parameters={EMULATED_PARAMETERS}", f"/model/us_per_sample={sleep_us}"]
            t_c, t = (step_ms("emulated", w, EMULATED_BATCH, emulated) for w in (1, 2))
            result["emulated"].append(hidden(t_c, t_m[sizes[0]], t))
            if rows is None:
                rows = MLP_ROWS
                for _ in range(2):  # a row of a larger batch takes less time
                    rows = int(rows * 2 * t_m[sizes[1]] / step_ms("mlp", 1, rows))
            t_c, t = (step_ms("mlp", w, rows) for w in (1, 2))
            result["mlp"].append(hidden(t_c, t_m[sizes[1]], t))
            if peer:
                result["ddp"].append(ddp_across(peer, rows))
    middle = {
        k: {f: statistics.median(r[f] for r in found) for f in found[0]} for k, found in result.items() if found
    }
    say(f"\noverlap, 2 workers on two hosts, {LINE_MBIT} Mbit/s; medians of {options.repeats} repeats")
    say(f"  emulated: {EMULATED_PARAMETERS:,} parameters; mlp and ddp: {mlp_parameters():,}, {rows} rows a worker")
    lines = [("", "computation", "all-reduce", "step", "hidden")]
    for k, m in middle.items():
        lines.append((k, *(f"{m[f]:.1f} ms" for f in ("t_c_ms", "t_m_ms", "t_ms")), f"{m['hidden']:.0%}"))
    table(lines)
    for k in ("emulated", "mlp"):
        verdicts.at_least(f"{k}, share of the all-reduce that is hidden", middle[k]["hidden"], HIDDEN_MIN, "")
    if "ddp" in middle:
        less = middle["mlp"]["hidden"] - middle["ddp"]["hidden"]
        verdicts.at_least("mlp, hidden share less that of ddp", less, 0, "")
    return result


def where_possible(part, *arguments):
    try:
        return part(*arguments)
    except NotHere as e:
        say(f"\n{part.__name__}: skipped: {e}")
        return {"skipped": str(e)}


PARTS = ["speed", "kills", "training", "overlap", "link"]


def main():
    options = arguments(__doc__.splitlines()[0], PARTS)
    warn_if_busy()
    peer = Peer(options.peers)
    peer = peer if {"speed", "overlap"} & set(options.only) and peer.there() else None
    with Scratch() as scratch:
        ballast = Ballast(options.ballast, scratch)
        parts = {
            "speed": lambda verdicts: speed(options, peer, verdicts),
            "kills": lambda verdicts: kills(options, verdicts),
            "training": lambda verdicts: training(options, ballast, verdicts),
            "overlap": lambda verdicts: where_possible(overlap, options, peer, verdicts, scratch),
            "link": lambda verdicts: where_possible(link, options, verdicts),
        }
        run_parts("allreduce", options, parts)


if __name__ == "__main__":
    main()
