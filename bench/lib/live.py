"""A run that a benchmark watches while it goes on: for bench/state.py."""
import json
import os
import subprocess
import time

LIMIT_S = 300  # for whatever is waited for


class Live:
    """A run that this program watches, asks and ends."""

    def __init__(self, ballast, folder, command):
        self.ballast, self.folder = ballast, folder
        self.steps = os.path.join(folder, "steps.jsonl")
        self.log = folder + ".log"
        env = {**os.environ, "BALLAST_CACHE": ballast.cache}
        self.lines = len(self.shown())
        with open(self.log, "ab") as out:
            self.begun_ns = time.monotonic_ns()
            self.process = subprocess.Popen(
                [ballast.binary, "run", *command, "--no-progress"], stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=env
            )

    def shown(self):
        """Of every committed step, when that was."""
        try:
            with open(self.steps) as f:
                return [json.loads(line)["t_ns"] for line in f if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def events(self):
        with open(os.path.join(self.folder, "events.jsonl")) as f:
            return [json.loads(line) for line in f if line.endswith("\n")]

    def until(self, what, found):
        deadline = time.monotonic() + LIMIT_S
        while not (out := found()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                with open(self.log) as f:
                    raise SystemExit(f"no {what} in {self.folder}:\n{f.read()}")
            time.sleep(0.02)
        return out

    def first_step_s(self):
        """Until this life's first one."""
        times = self.until("step", lambda: self.shown()[self.lines :])
        return (times[0] - self.begun_ns) / 1e9

    def disk_bytes(self):
        """What all of its processes had to read from the disk."""
        family, out = [str(self.process.pid)], 0
        for pid in family:
            try:
                for thread in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{thread}/children") as f:
                        family += f.read().split()
                with open(f"/proc/{pid}/io") as f:
                    out += next(int(line.split()[1]) for line in f if line.startswith("read_bytes"))
            except FileNotFoundError:
                pass  # it has ended
        return out

    def ctl(self, *what):
        subprocess.run([self.ballast.binary, "ctl", *what, "--to", self.folder], check=True, capture_output=True)

    def stop(self):
        """Its state is in a checkpoint of its last step."""
        self.ctl("stop")
        self.process.wait()
