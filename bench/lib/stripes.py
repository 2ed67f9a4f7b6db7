"""Part `stripes` of bench/state.py: what a newcomer gains from several who hold the
state, each behind a slow line of its own. Network namespaces; needs root."""
import contextlib
import json
import os
import statistics
import subprocess
import time

from lib.measure import say, table
from lib.state_job import MILLION, job
from lib.two_hosts import NotHere, ip

MBIT = 400  # out of each host that holds the state
MILLIONS = 10  # parameters; AdamW: 120 MB
HOLDERS = (1, 3)
RATIO_MIN = 2.5
NAME, NET = "ballast-stripes", "10.250.0."
WAIT_S = 120


def name(host):
    return f"{NAME}-{host}"


@contextlib.contextmanager
def hosts(count, slow):
    """Namespaces 0 to count - 1 on one switch, which is in the first; those of `slow`
    send MBIT at most. Raises NotHere."""
    if os.geteuid() != 0:
        raise NotHere("network namespaces need root")
    try:
        for host in range(count):
            ip("netns", "add", name(host))
        ip("-n", name(0), "link", "add", "line", "type", "bridge")
        for host in range(1, count):
            ip("link", "add", f"to-{host}", "netns", name(0), "type", "veth", "peer", "name", "line", "netns", name(host))
            ip("-n", name(0), "link", "set", f"to-{host}", "master", "line", "up")
        for host in range(count):
            ip("-n", name(host), "addr", "add", f"{NET}{host + 1}/24", "dev", "line")
            ip("-n", name(host), "link", "set", "line", "up")
            ip("-n", name(host), "link", "set", "lo", "up")
        for host in slow:
            limit = ["root", "tbf", "rate", f"{MBIT}mbit", "burst", "512kb", "latency", "50ms"]
            ip("netns", "exec", name(host), "tc", "qdisc", "add", "dev", "line", *limit)
        yield
    finally:
        for host in range(count):
            subprocess.run(["ip", "netns", "del", name(host)], capture_output=True)


class Cluster:
    """A coordinator on host 0, `holders` workers on hosts of their own from 1 on."""

    def __init__(self, ballast, folder, holders):
        self.ballast, self.folder, self.holders = ballast, folder, holders
        self.env = {**os.environ, "BALLAST_CACHE": ballast.cache}
        self.processes = []

    def start(self, host, *words):
        command = ["ip", "netns", "exec", name(host), self.ballast.binary, "node", "--insecure", *words]
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.processes.append(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True, env=self.env)
            )
        return self.processes[-1]

    def __enter__(self):
        os.makedirs(self.folder)
        where = ["--listen", f"{NET}1:0", "--http", "127.0.0.1:0", "--state", self.folder]
        coordinator = self.start(0, "--coordinator", *where)
        self.address = coordinator.stdout.readline().split()[1]
        self.http = coordinator.stdout.readline().split()[1]
        for host in range(1, self.holders + 1):
            self.join(host)
        return self

    def join(self, host):
        self.start(host, "--join", self.address, "--name", f"w{host}")

    def ask(self, *words):
        command = ["ip", "netns", "exec", name(0), self.ballast.binary, *words, "--to", self.http]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=self.env).stdout.strip()

    def lines(self, run, file):
        try:
            with open(os.path.join(self.folder, "runs", run, file)) as f:
                return [json.loads(line) for line in f if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def until(self, what, found):
        deadline = time.monotonic() + WAIT_S
        while not (out := found()):
            if time.monotonic() > deadline:
                with open(os.path.join(self.folder, "log")) as f:
                    raise SystemExit(f"stripes: waited in vain for {what}:\n{f.read()}")
            time.sleep(0.05)
        return out

    def __exit__(self, *_):
        for one in self.processes:
            one.terminate()
        for one in self.processes:
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


def received(ballast, holders, number):
    """Seconds in which the newcomer got the state, and its bytes."""
    newcomer = holders + 1
    folder = os.path.join(ballast.scratch, f"stripes-{holders}-{number}")
    path = job(MILLIONS * MILLION, ballast.scratch, 10**6, 10**4)
    with hosts(newcomer + 1, range(1, newcomer)), Cluster(ballast, folder, holders) as cluster:
        run = cluster.ask("submit", path, "--set", f"/elastic/workers={holders}")
        cluster.until("steps", lambda: len(cluster.lines(run, "steps.jsonl")) >= 4)
        cluster.join(newcomer)
        told = lambda: [e for e in cluster.lines(run, "events.jsonl") if e["kind"] == "state_received"]
        [event] = cluster.until("the state", told)
        return event["ms"] / 1e3, event["bytes"]


def stripes(ballast, _peer, options, verdicts):
    found = {holders: [] for holders in HOLDERS}
    try:
        for number in range(options.repeats):
            for holders in HOLDERS:
                found[holders].append(received(ballast, holders, number))
    except NotHere as why:
        say(f"stripes: {why}")
        return found
    rows = [("sent by", "MB", "s", "Mbit/s")]
    for holders, times in found.items():
        seconds, size = (statistics.median(one[i] for one in times) for i in (0, 1))
        rows.append((holders, f"{size / 1e6:.0f}", f"{seconds:.2f}", f"{size * 8 / seconds / 1e6:.0f}"))
    table(rows)
    ratio = statistics.median(a[0] / b[0] for a, b in zip(found[1], found[3]))
    verdicts.at_least(f"the state from three at {MBIT} Mbit/s each: times as fast as from one", ratio, RATIO_MIN, "x")
    return found
