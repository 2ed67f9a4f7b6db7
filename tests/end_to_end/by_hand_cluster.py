"""A cluster put together by hand, for tests: a real coordinator, and nodes as
they are asked for, on the loopback.
"""
from harness.http_client import request
from harness.program import LOOPBACK
from harness.waiting import wait_until

from ballast_test import BallastTest


class Cluster(BallastTest):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"
        self.lead()

    def lead(self, listen=LOOPBACK):
        self.coordinator = self.start(
            "node", "--coordinator", "--listen", listen, "--http", LOOPBACK,
            "--state", self.state)
        self.address = self.coordinator.said(r"coordinator (\S+)")[1]
        self.url = self.coordinator.said(r"http (\S+)")[1]
        if not self.url.startswith("http://"):
            self.url = "http://" + self.url

    def node(self, name, *arguments):
        return self.start("node", "--join", self.address, "--name", name,
                          *arguments)

    def nodes(self, *names):
        started = [self.node(name) for name in names]
        wait_until(lambda: set(names) <= set(self.members()), "the nodes")
        return started

    def members(self):
        return {w["name"]: w for w in self.status()["workers"]
                if w["state"] != "lost"}

    def status(self):
        return request(self.url + "/v1/status").json

    def in_state(self, *wanted, seconds=30):
        return wait_until(
            lambda: (now := self.status())["state"] in wanted and now,
            f"one of {wanted}", seconds)

    def submit(self, job, *arguments, code=0):
        path = self.write(f"job-{next(self.folders)}.json", job)
        return self.ballast("submit", path, "--to", self.url, *arguments,
                            code=code, seconds=90)

    def train(self, job, *arguments):
        """Submits a job and waits for it; its run directory."""
        name = self.submit(job, "--wait", *arguments).out.strip()
        return self.state / "runs" / name

    def ctl(self, kind, code=0):
        return self.ballast("ctl", kind, "--to", self.url, code=code)
