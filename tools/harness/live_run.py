"""A run that is observed, and disturbed, while it trains: reads what it writes as
it grows. For tests and benchmarks that cause faults and measure recoveries.
"""
import contextlib
import json
import os
import pathlib
import sys
import time

from harness.http_client import control
from harness.program import BINARY, Started
from harness.run_files import Tail, read_json
from harness.waiting import patience


class ObservedRun:
    """A run directory, read as it grows."""

    def __init__(self, run):
        self.run = pathlib.Path(run)
        self.steps = Tail(self.run / "steps.jsonl")
        self.events = Tail(self.run / "events.jsonl")
        self.members = {}  # generation -> names of its workers

    def poll(self):
        for event in self.events.poll():
            if event["kind"] == "generation":
                self.members[event["generation"]] = event["workers"]
            if event["kind"] == "undone":
                self.steps.forget()
        self.steps.poll()

    @property
    def newest(self):
        """The number of the generation that trains, as far as is known."""
        return max(self.members, default=0)

    def workers(self, state="training"):
        """name -> pid of the workers in that state."""
        with contextlib.suppress(OSError, ValueError):
            listed = read_json(self.run / "workers.json") or {"workers": []}
            return {w["name"]: w["pid"] for w in listed["workers"]
                    if w["state"] == state}
        return {}

    def full(self, world, steps=1):
        """True when a generation of so many has made so many steps, and
        nothing is known against it."""
        self.poll()
        here = self.members.get(self.newest, [])
        if len(here) != world or not set(here) <= set(self.workers()):
            return False
        last = self.steps.lines[-steps:]
        return len(last) == steps and all(
            s["generation"] == self.newest for s in last)

    def to_a_step_without(self, name, since_ns):
        """Of the first step after that moment whose generation does not hold
        the worker: the line of steps.jsonl, None where there is none."""
        for step in self.steps.lines[self._first_after(since_ns):]:
            if name not in self.members.get(step["generation"], [name]):
                return step
        return None

    def _first_after(self, t_ns):
        """Index of the first step applied after that moment."""
        low, high = 0, len(self.steps.lines)
        while low < high:
            middle = (low + high) // 2
            if self.steps.lines[middle]["t_ns"] <= t_ns:
                low = middle + 1
            else:
                high = middle
        return low

    def gaps(self, begin_ns, end_ns):
        """Seconds between neighbours of the steps that reach into a time."""
        lines = self.steps.lines[max(0, self._first_after(begin_ns) - 1):]
        times = []
        for step in lines:
            times.append(step["t_ns"])
            if step["t_ns"] > end_ns:
                break
        return [(b - a) / 1e9 for a, b in zip(times, times[1:])]


class LiveRun(ObservedRun):
    """`ballast run` of a job, in a folder of its own."""

    def __init__(self, job, folder, cache, arguments=(), environment=(),
                 program=BINARY, name="run"):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        super().__init__(self.folder / name)
        self.job_file = self.folder / "job.json"
        self.job_file.write_text(json.dumps(job), encoding="utf-8")
        self.environment = {**os.environ, "BALLAST_CACHE": str(cache),
                            **dict(environment)}
        self.program = program
        self.earlier = []  # lives of `ballast run` that have ended
        self.process = self._start(*arguments)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None and not self.process.running():
            self.process.wait()
            print(f"ended by itself: {self.process}", file=sys.stderr)
        for one in [*self.earlier, self.process]:
            one.end()

    def _start(self, *arguments):
        return Started(["run", self.job_file, "--run-dir", self.run,
                        "--no-progress", *arguments], self.environment,
                       self.folder, program=self.program)

    def resume(self):
        """Another life of a run whose `ballast run` has ended."""
        self.earlier.append(self.process)
        self.process = self._start("--resume")

    def family(self):
        """All processes of all its lives."""
        return [pid for one in [*self.earlier, self.process]
                for pid in one.family()]

    def wait_for(self, condition, what, seconds=60):
        """Looks rarely: to look costs time of a processor that trains. `what` is
        a text, or gives one when it was in vain."""
        until = time.monotonic() + patience(seconds)
        while not condition():
            self.ended()
            if time.monotonic() > until:
                what = what() if callable(what) else what
                raise AssertionError(f"waited {seconds} s in vain for {what}: "
                                     f"{self.members} {self.process}")
            time.sleep(0.025)

    def wait_full(self, world, steps=1, seconds=60):
        self.wait_for(lambda: self.full(world, steps),
                      f"{world} workers that train", seconds)

    def ended(self):
        """Fails where the run has ended although nobody asked it to."""
        if not self.process.running():
            self.process.wait()
            raise AssertionError(f"ended by itself: {self.process}")

    @property
    def url(self):
        return read_json(self.run / "coordinator.json")["http"]

    @property
    def coordinator(self):
        return read_json(self.run / "coordinator.json")["pid"]

    def post(self, kind, **fields):
        """A control message; None if it is accepted, else why not."""
        answer = control(self.url, {"type": kind, **fields}).json
        return None if answer["ok"] else answer["error"]["message"]

    def stop(self, seconds=60):
        """Ends it after the step that is under way; the report."""
        self.post("stop")
        code = self.process.wait(seconds)
        if code != 0:
            raise AssertionError(f"exit code {code} of {self.process}")
        return read_json(self.run / "report.json")


def started_ns(pid):
    """When a process was started, on CLOCK_MONOTONIC, to 10 ms."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    ticks = int(stat.rpartition(")")[2].split()[19])
    since_boot = ticks * 10**9 // os.sysconf("SC_CLK_TCK")
    # /proc counts the time that the machine slept, CLOCK_MONOTONIC does not.
    return since_boot - (time.clock_gettime_ns(time.CLOCK_BOOTTIME) -
                         time.monotonic_ns())
