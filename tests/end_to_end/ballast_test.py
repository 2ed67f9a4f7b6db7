"""The base of the end-to-end tests: a folder of its own for each test, the real
program, and nothing left behind.

Deadlines are those of the contract on an idle machine; `patience` stretches
them by the machine's load.
"""
import atexit
import itertools
import json
import os
import pathlib
import shutil
import tempfile
import unittest

from harness.program import Started, command_of
from harness.waiting import wait_until

_SESSION = tempfile.mkdtemp(prefix="ballast-e2e-")
atexit.register(shutil.rmtree, _SESSION, ignore_errors=True)


class BallastTest(unittest.TestCase):
    """A folder of its own, a cache of the session, no process left behind."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=_SESSION))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {**os.environ,
                            "BALLAST_CACHE": os.path.join(_SESSION, "cache")}
        self.folders = itertools.count(1)

    # -- processes

    def start(self, *arguments, wrapper=()):
        one = Started(arguments, self.environment, self.folder, wrapper)
        self.addCleanup(one.end)
        return one

    def ballast(self, *arguments, code=0, seconds=60, wrapper=()):
        """Runs a command to its end, which must be this exit code."""
        one = self.start(*arguments, wrapper=wrapper)
        self.assertEqual(one.wait(seconds), code, one)
        return one

    def refused(self, code, parts, *arguments, wrapper=()):
        """Ends with this code; the last line of stderr has all the parts."""
        one = self.ballast(*arguments, code=code, wrapper=wrapper)
        for part in [parts] if isinstance(parts, str) else parts:
            self.assertIn(part, one.last_line, one)
        return one

    def nobody_left(self, one, seconds):
        """Of all processes that `one` started, directly or not."""
        try:
            wait_until(lambda: not one.family(), "the end of all", seconds)
        except AssertionError:
            left = {pid: command_of(pid) for pid in one.family()}
            self.fail(f"after {seconds} s there are still {left}\n{one}")

    # -- jobs and runs

    def write(self, name, content):
        """A file in the test's folder: text, bytes, or JSON of anything."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str)
                            else json.dumps(content), encoding="utf-8")
        return path

    def new_run(self, job, *arguments, wrapper=()):
        """Starts `ballast run`; the process and its run directory."""
        number = next(self.folders)
        run = self.folder / f"run-{number}"
        if not isinstance(job, os.PathLike):
            job = self.write(f"job-{number}.json", job)
        one = self.start("run", job, "--run-dir", run, "--no-progress",
                         *arguments, wrapper=wrapper)
        return one, run

    def run_job(self, job, *arguments, code=0, seconds=90):
        """Trains to the end; the run directory."""
        one, run = self.new_run(job, *arguments)
        self.assertEqual(one.wait(seconds), code, one)
        return run

    def audit(self, run, code=0):
        """What `ballast audit` says of a run, as JSON."""
        return json.loads(self.ballast("audit", run, "--json", code=code).out)
