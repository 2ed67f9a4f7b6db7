"""Runs that are observed and disturbed while they train: for bench/recovery.py,
goodput.py and balance.py."""
import os

from harness.live_run import LiveRun


PREPARED_S = 600  # the first run with a large set prepares it


class Runs:
    """Starts the runs, ends them, and counts them."""

    def __init__(self, options, scratch):
        self.program, self.scratch, self.count = options.ballast, scratch, 0

    def watch(self, job, what):
        """What `what(live)` returns, in a run of the job that then ends well."""
        self.count += 1
        folder = os.path.join(self.scratch, f"run-{self.count}")
        with LiveRun(job, folder, os.path.join(self.scratch, "cache"), program=self.program) as live:
            live.wait_full(job["elastic"]["workers"], steps=5, seconds=PREPARED_S)
            found = what(live)
            audit = live.stop()["audit"]
            if audit["lost"] or audit["repeated"]:
                raise SystemExit(f"samples were lost or repeated: {audit}")
            return found
