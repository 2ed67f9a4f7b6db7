"""Shared code of the peers of bench/recovery.py: starts and kills processes,
and reads the steps that they log. Standard library only.

The work is the same for all: one parameter of 25 MB whose gradient is
all-reduced in each step, and 50 ms of emulated computation, which sleeps.
"""
import os
import signal
import socket
import statistics
import subprocess
import sys
import time

PARAMETERS = 6_250_000
COMPUTE_S = 0.050
HANG_S = 120  # a fault after which nothing happens for so long

# A benchmark that is told to stop still ends what it has started.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def launch(command, log, **more):
    """Starts a command with one compute thread, its output in a file."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "TP_SOCKET_IFNAME": "lo", **more}
    with open(log, "ab") as out:
        return subprocess.Popen(
            command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=env, start_new_session=True
        )


def descendants(pid):
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        try:
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children") as f:
                    children = [int(child) for child in f.read().split()]
                found += children
                todo += children
        except OSError:
            pass  # it has just ended
    return found


def end(process):
    """Kills a process and all that it started, in whatever session."""
    for pid in [process.pid] + descendants(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


class Step:
    def __init__(self, line):
        self.t_ns, self.number, self.world, self.rank, self.pid = (int(word) for word in line.split())


class StepLog:
    """Follows the lines `t_ns step world rank pid` that the workers append,
    each to a file of its own."""

    def __init__(self, folder):
        self.folder, self.steps, self.offset = folder, [], {}

    def poll(self):
        new = []
        for name in os.listdir(self.folder):
            if not name.endswith(".steps"):
                continue
            with open(os.path.join(self.folder, name)) as f:
                f.seek(self.offset.get(name, 0))
                text = f.read()
            whole = text.rfind("\n") + 1
            self.offset[name] = self.offset.get(name, 0) + whole
            new += [Step(line) for line in text[:whole].splitlines()]
        new.sort(key=lambda step: step.t_ns)
        self.steps += new
        return new

    def wait(self, wanted, seconds):
        """The first new step that is wanted; None when the time is up."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            for step in self.poll():
                if wanted(step):
                    return step
            time.sleep(0.005)
        return None

    def step_ms(self, pid):
        """Median time of the last steps of a process."""
        times = [step.t_ns for step in self.steps if step.pid == pid][-30:]
        return statistics.median(b - a for a, b in zip(times, times[1:])) / 1e6


def log_of(folder):
    """Where a worker appends its steps."""
    return open(os.path.join(folder, f"{os.getpid()}.steps"), "a", buffering=1)


def goodput(log, kill, seconds, every_s):
    """Steps a second that were new, while `kill()` takes one of the workers
    every `every_s` seconds (0: never) and whoever is to starts it again."""
    log.poll()
    top = max((step.number for step in log.steps), default=0)
    first, begun, killed = top, time.monotonic(), 0
    next_kill = begun + (every_s or 1e9)
    while time.monotonic() < begun + seconds:
        time.sleep(max(0.0, min(next_kill, begun + seconds) - time.monotonic()))
        top = max([top, *(step.number for step in log.poll())])
        if time.monotonic() >= next_kill:
            next_kill += every_s
            killed += kill()
    top = max([top, *(step.number for step in log.poll())])
    return {"steps_per_s": (top - first) / (time.monotonic() - begun), "kills": killed}


def tails(folder):
    """The last words of all processes, for a run that went wrong."""
    text = ""
    for name in sorted(os.listdir(folder)):
        if name.endswith(".out"):
            with open(os.path.join(folder, name), errors="replace") as f:
                text += f"--- {name}\n{f.read()[-1500:]}\n"
    return text
