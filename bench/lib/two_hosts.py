"""Two hosts on one machine: two network namespaces with a cable between them,
and a Ballast cluster that spans both. Needs root.

The kernel's token bucket (tbf) in front of each end limits the rate, as a
network card does: the sender's TCP knows what waits there. A
cable without length is a veth pair, which costs the processors next to nothing;
one that delays is bench/wire.cpp, because not every kernel has the queueing
discipline for that (netem). Each host has half of the processors.
"""
import contextlib
import glob
import json
import os
import subprocess

NAMES = ["ballast-a", "ballast-b"]
ADDRESSES = ["10.251.0.1", "10.251.0.2"]
DEVICE = "ballast-wire"
CABLE_MBIT = 10000  # where it only delays


class NotHere(Exception):
    """Why this machine cannot have two hosts."""


def cores_of(host):
    """Half of the cores, as a list for taskset: two hosts share no processors,
    so neither is slowed down by what the other one does. All where there is one."""
    cores = sorted(os.sched_getaffinity(0))
    return ",".join(str(c) for c in (cores[host::2] if len(cores) > 1 else cores))


def command_on(host, *words):
    """The command line that runs `words` on host 0 or 1."""
    there = ["ip", "netns", "exec", NAMES[host], "taskset", "--cpu-list", cores_of(host)]
    return there + [str(w) for w in words]


def ip(*words):
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True)
    except FileNotFoundError:
        raise NotHere("no program `ip` (Debian package iproute2)") from None
    if done.returncode != 0:
        raise NotHere(f"ip {' '.join(words)}: {done.stderr.strip()}")


def _tc(name, *words):
    # A bucket of 4 ms, or a busy processor would slow down the cable, which a
    # network card would not do; and a queue of 50 ms.
    more = ["burst", "512kb", "latency", "50ms"]
    done = subprocess.run(["ip", "netns", "exec", name, "tc", *words, *more], capture_output=True, text=True)
    if done.returncode != 0:
        raise NotHere(f"tc {' '.join(words)}: {done.stderr.strip()}")


@contextlib.contextmanager
def two_hosts(wire, mbit, delay_us):
    """A cable of `mbit` each way and `delay_us` one way; raises NotHere.
    `wire`: the program of a cable that delays."""
    if os.geteuid() != 0:
        raise NotHere("network namespaces need root")
    if delay_us and not os.path.exists("/dev/net/tun"):
        raise NotHere("this kernel has no /dev/net/tun")
    cable = None
    try:
        for name in NAMES:
            ip("netns", "add", name)
        if delay_us:
            command = [wire, *NAMES, DEVICE, str(CABLE_MBIT), str(delay_us)]
            cable = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            if cable.stdout.readline() != "ready\n":
                raise NotHere("the cable could not be laid; its last line says why")
        else:
            end = ["type", "veth", "peer", "name", DEVICE, "netns"]
            ip("link", "add", DEVICE, "netns", NAMES[0], *end, NAMES[1])
        for name in NAMES:
            _tc(name, "qdisc", "add", "dev", DEVICE, "root", "tbf", "rate", f"{mbit}mbit")
        for name, address in zip(NAMES, ADDRESSES):
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "addr", "add", f"{address}/24", "dev", DEVICE)
            ip("-n", name, "link", "set", DEVICE, "up")
        yield
    finally:
        if cable:
            cable.stdin.close()
            cable.wait()
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


# -- a cluster across them -----------------------------------------------------


@contextlib.contextmanager
def _process(command, log, env):
    with open(log, "ab") as errors:
        p = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, text=True, env=env
        )
    try:
        yield p
    finally:
        p.terminate()
        try:
            p.wait(20)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()


class Cluster:
    """A coordinator on one host and workers on both, in turn. `other_cache`:
    of the host without the coordinator, else they share a disk. `environment`:
    more variables of all nodes; `apart`: all workers on the other host."""

    def __init__(
        self, ballast, workers, folder, cache, first_host=0, other_cache=None, environment=None, apart=False
    ):
        self.ballast, self.folder, self.host = ballast, folder, first_host
        self.environment, self.apart = environment or {}, apart
        self.caches = {first_host: cache, 1 - first_host: other_cache or cache}
        self.workers = workers
        self.pids = {}  # by name; the nodes themselves, nothing stands between
        self._stack = contextlib.ExitStack()

    def log(self, name):
        return os.path.join(self.folder, f"{name}.log")

    def _env(self, host):
        return {**os.environ, "BALLAST_CACHE": self.caches[host], **self.environment}

    def _node(self, host, name, *words):
        command = command_on(host, self.ballast, "node", "--insecure", *words)
        return self._stack.enter_context(_process(command, self.log(name), self._env(host)))

    def __enter__(self):
        os.makedirs(self.folder)
        where = ["--listen", f"{ADDRESSES[self.host]}:0", "--http", "127.0.0.1:0", "--state", self.folder]
        with contextlib.ExitStack() as undo:
            undo.push(self._stack)
            coordinator = self._node(self.host, "coordinator", "--coordinator", *where)
            address = coordinator.stdout.readline().split()
            http = coordinator.stdout.readline().split()
            if len(address) != 2 or len(http) != 2:
                raise SystemExit(f"link: the coordinator did not start; see {self.log('coordinator')}")
            self.http = http[1]
            for w in range(self.workers):
                host = (self.host + (1 if self.apart else w)) % 2
                join = ["--join", address[1], "--name", f"w{w}", "--host", ADDRESSES[host], "--once"]
                self.pids[f"w{w}"] = self._node(host, f"w{w}", *join).pid
            undo.pop_all()
        return self

    def __exit__(self, *what):
        return self._stack.__exit__(*what)

    def submit(self, job, changes=()):
        """The submitter, which waits for the end of the run."""
        words = [job, "--to", self.http, "--wait", "--set", f"/elastic/workers={self.workers}"]
        for change in changes:
            words += ["--set", change]
        command = command_on(self.host, self.ballast, "submit", *words)
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self._env(self.host)
        )

    def ask(self, *words):
        """A control message."""
        command = command_on(self.host, self.ballast, "ctl", "--to", self.http, *words)
        subprocess.run(command, check=True, capture_output=True)

    def finish(self, submitted):
        """Its run has to end well."""
        said, _ = submitted.communicate()
        if submitted.returncode != 0:
            with open(self.log("coordinator")) as f:
                raise SystemExit(f"link: the run failed with exit code {submitted.returncode}:\n{said}{f.read()}")

    def run_file(self, name):
        """Of its only run; None where it is not there yet."""
        found = glob.glob(os.path.join(self.folder, "runs", "*", name))
        return found[0] if found else None


def train(ballast, job, changes, workers, folder, first_host=0):
    """One job on `workers` workers, the hosts in turn; the moments in ns at
    which its steps were done."""
    cache = os.path.join(os.path.dirname(folder), "cache")
    with Cluster(ballast, workers, folder, cache, first_host) as cluster:
        cluster.finish(cluster.submit(job, changes))
        with open(cluster.run_file("steps.jsonl")) as f:
            return [json.loads(line)["t_ns"] for line in f]
