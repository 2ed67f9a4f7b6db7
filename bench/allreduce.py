#!/usr/bin/env python3
"""How fast the collectives are, and how soon they let go of a dead rank.

  ./dev bench allreduce [--repeats N] [--only PART] [--peers DIR] [--save] [--check]

speed     All-reduce of 64 KiB to 64 MiB with 2 and 4 ranks on one machine:
          through shared memory, over TCP on the loopback, with the Gloo that
          `collective: gloo` uses, with the same Gloo in a program of its own,
          and with torch.distributed. busbw = 2 (n-1)/n bytes / time.
kills     kill -9 of one rank at a random moment: until the last survivor is out
          of its operation, and until the next generation is open.
training  The two Fashion-MNIST examples with 2 workers: samples a second with
          the ring and with Gloo.
overlap   Steps of the emulated model whose all-reduce takes half as long as
          their computation: which share of it is hidden behind that.
link      Two network namespaces with 1 Gbit/s between them (needs root).

Subjects take turns, and what counts is the median over the repeats.
"""
import contextlib
import csv
import io
import os
import statistics
import subprocess
import sys

from lib.measure import (
    ROOT,
    Ballast,
    Peer,
    Scratch,
    Verdicts,
    arguments,
    keep,
    machine,
    say,
    step_times_ms,
    summary,
    table,
    warn_if_busy,
)

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


def build_stock_gloo(options):
    build = os.path.dirname(options.ballast)
    if os.path.exists(os.path.join(build, "build.ninja")):
        subprocess.run(["ninja", "-C", build, "gloo_allreduce"], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(build, "gloo_allreduce")


def speed(options, peer, verdicts):
    program = build_stock_gloo(options)
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


# -- overlap -------------------------------------------------------------------

OVERLAP_PARAMETERS = 16 * MIB
OVERLAP_BUCKETS = 8  # the step executor's: at most an eighth of the model each
OVERLAP_BATCH = 64
OVERLAP_STEPS = 120


def overlap(options, ballast, verdicts):
    """T_m: all buckets one after another. T_c: a worker alone. T: both."""
    job = os.path.join(ROOT, "bench", "jobs", "overlap.json")
    size = OVERLAP_PARAMETERS * 4 // OVERLAP_BUCKETS
    result = []
    for _ in range(options.repeats):
        text = run(
            [options.ballast, "bench", "allreduce", "--csv", "--ranks", 2, "--seconds", SECONDS]
            + ["--backends", "ring-tcp", "--bytes", size]
        )
        t_m = float(next(csv.DictReader(io.StringIO(text)))["median_ms"]) * OVERLAP_BUCKETS
        sleep_us = int(2 * t_m * 1000 / (OVERLAP_BATCH // 2))

        def steps(workers, batch):
            changes = [
                f"/model/parameters={OVERLAP_PARAMETERS}",
                f"/model/us_per_sample={sleep_us}",
                f"/train/global_batch={batch}",
                f"/data/train/rows={batch * OVERLAP_STEPS}",
                "/train/collective=ring",
            ]
            os.environ["BALLAST_HOST_ID"] = ""  # no shared memory: TCP
            try:
                return step_times_ms(ballast.run(job, changes, workers)["t_ns"], 10)["median_ms"]
            finally:
                del os.environ["BALLAST_HOST_ID"]

        t_c = steps(1, OVERLAP_BATCH // 2)
        t = steps(2, OVERLAP_BATCH)
        result.append({"t_c_ms": t_c, "t_m_ms": t_m, "t_ms": t, "hidden": (t_c + t_m - t) / t_m})
    middle = {k: statistics.median(r[k] for r in result) for k in result[0]}
    say(f"\noverlap, emulated, 2 workers over TCP, {OVERLAP_BUCKETS} buckets; medians of {options.repeats} repeats")
    say(
        f"  computation {middle['t_c_ms']:.2f} ms, all-reduce {middle['t_m_ms']:.2f} ms, "
        f"step {middle['t_ms']:.2f} ms: {middle['hidden']:.0%} hidden"
    )
    verdicts.at_least("share of the all-reduce hidden behind computation", middle["hidden"], HIDDEN_MIN, "")
    return result


# -- link ----------------------------------------------------------------------

LINE_BITS = 1_000_000_000
DELAY_MS = 10  # round trip
LINK_SIZES = [MIB, 16 * MIB, 64 * MIB]
NAMESPACES = ["ballast-a", "ballast-b"]
ADDRESSES = ["10.251.0.1", "10.251.0.2"]


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True)


def shape(namespace, device):
    """1 Gbit/s, and 10 ms there and back where the kernel has netem."""
    tc = ["ip", "netns", "exec", namespace, "tc", "qdisc", "add", "dev", device, "root"]
    netem = tc + ["netem", "rate", "1gbit", "delay", f"{DELAY_MS // 2}ms", "limit", "20000"]
    if subprocess.run(netem, capture_output=True).returncode == 0:
        return DELAY_MS
    run(tc + ["tbf", "rate", "1gbit", "burst", "128kb", "latency", "50ms"])
    return 0


@contextlib.contextmanager
def two_hosts():
    """Two namespaces with one wire; yields the delay of the wire in ms."""
    try:
        for namespace in NAMESPACES:
            made = ip("netns", "add", namespace)
            if made.returncode != 0:
                raise SystemExit(f"link: no network namespace: {made.stderr.strip()}; run it as root")
        ends = ["ballast-va", "ballast-vb"]
        run(["ip", "link", "add", ends[0], "netns", NAMESPACES[0]]
            + ["type", "veth", "peer", "name", ends[1], "netns", NAMESPACES[1]])
        for namespace, end, address in zip(NAMESPACES, ends, ADDRESSES):
            run(["ip", "-n", namespace, "addr", "add", f"{address}/24", "dev", end])
            run(["ip", "-n", namespace, "link", "set", end, "up"])
            run(["ip", "-n", namespace, "link", "set", "lo", "up"])
        yield min(shape(n, e) for n, e in zip(NAMESPACES, ends))
    finally:
        for namespace in NAMESPACES:
            ip("netns", "del", namespace)


def ranks_across(options, ranks, backend, sizes):
    """`ballast bench allreduce` with its ranks spread over the two hosts; this
    program carries the addresses."""
    processes = []
    for r in range(ranks):
        host = r % 2
        command = ["ip", "netns", "exec", NAMESPACES[host], options.ballast, "bench", "allreduce"]
        command += ["--as-rank", r, "--of", ranks, "--host", ADDRESSES[host], "--seconds", SECONDS * 3]
        command += ["--backends", backend, "--bytes", ",".join(str(s) for s in sizes)]
        processes.append(
            subprocess.Popen(
                [str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
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
    with two_hosts() as delay_ms:
        for backend, ranks in (("ring", 2), ("ring", 4), ("gloo", 2), ("gloo", 4)):
            for size, ms in ranks_across(options, ranks, backend, LINK_SIZES).items():
                # The ring's unit is the host where hosts share memory.
                members = 2 if backend == "ring" else ranks
                sent_bits = 2 * (members - 1) / members * size * 8
                share = sent_bits / (ms / 1e3) / LINE_BITS
                result.append({"backend": backend, "ranks": ranks, "bytes": size, "ms": ms, "line": share})
    say(f"\ntwo hosts, 1 Gbit/s, {delay_ms} ms there and back; ranks spread over both")
    rows = [("", "ranks", "size", "median", "of the line rate")]
    for r in result:
        rows.append((r["backend"], r["ranks"], name_of(r["bytes"]), f"{r['ms']:.1f} ms", f"{r['line']:.0%}"))
    table(rows)
    if not delay_ms:
        say("  this kernel has no netem: without the delay of 10 ms")
    for r in result:
        if r["backend"] == "ring" and r["bytes"] >= 16 * MIB:
            what = f"ring, {r['ranks']} ranks on two hosts, {name_of(r['bytes'])}, of the line rate"
            verdicts.at_least(what, r["line"], LINE_RATE_MIN, "")
    return {"delay_ms": delay_ms, "raw": result}


def main():
    options = arguments(__doc__.splitlines()[0], ["speed", "kills", "training", "overlap", "link"])
    warn_if_busy()
    peer = Peer(options.peers)
    peer = peer if "speed" in options.only and peer.there() else None
    verdicts = Verdicts()
    result = {"benchmark": "allreduce", "machine": machine(), "repeats": options.repeats}
    with Scratch() as scratch:
        ballast = Ballast(options.ballast, scratch)
        if "speed" in options.only:
            result["speed"] = speed(options, peer, verdicts)
        if "kills" in options.only:
            result["kills"] = kills(options, verdicts)
        if "training" in options.only:
            result["training"] = training(options, ballast, verdicts)
        if "overlap" in options.only:
            result["overlap"] = overlap(options, ballast, verdicts)
        if "link" in options.only:
            result["link"] = link(options, verdicts)
    result["verdicts"] = verdicts.found
    keep("allreduce", result, options.save)
    sys.exit(1 if options.check and not verdicts.all_met() else 0)


if __name__ == "__main__":
    main()
