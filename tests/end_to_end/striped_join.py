"""Goal: a worker on another host that joins those that train gets the state
from all of them at once, each byte from one; where one of them dies meanwhile,
it gets it from the others, and everything stays exact. Method: network
namespaces; the line to the newcomer is slow, and its end counts what comes.
"""
import os
import re
import signal
import subprocess
import unittest

from harness.jobs import emulated_job
from harness.run_files import read_json
from harness.waiting import wait_until

from recovery import assert_exact
from two_hosts import TwoHosts

PARAMETERS = 1_000_000
STATE = 4 * PARAMETERS  # bytes; SGD has no state of its own


class StripedJoin(TwoHosts):
    HOSTS = ("a", "b", "c", "d")

    def setUp(self):
        super().setUp()
        for host, name in zip("abc", ("w1", "w2", "w3")):
            self.node(host, name, "--insecure")
        self.run_folder = self.submit(emulated_job(
            1009, workers=3, batch=50, epochs=100000, us_per_step=20000,
            parameters=PARAMETERS, data={"chunk_rows": 13}))
        wait_until(lambda: self.status()["step"] > 5, "training", 30)

    def slow_line_to_newcomer(self, rate):
        """None: as fast as it goes again."""
        where = ("dev", "to-d", "root")
        how = ("tbf", "rate", rate, "burst", "32kb", "latency", "300ms")
        done = subprocess.run(
            ["tc", "-n", self.spaces["a"], "qdisc",
             *(("add", *where, *how) if rate else ("del", *where))],
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest("no slow line: " + done.stderr.strip())

    def received(self):
        """What has come to host d, by the address that sent it: of the one
        connection with the most."""
        said = subprocess.run(
            ["ip", "netns", "exec", self.spaces["d"], "ss", "-tinH"],
            capture_output=True, text=True, check=True).stdout
        out = {}
        for peer, count in re.findall(
                r"(10\.252\.0\.\d+):\d+\s*\n[^\n]*bytes_received:(\d+)", said):
            out[peer] = max(out.get(peer, 0), int(count))
        return out

    def a_part_has_come(self):
        """Half a part from each of the three, and not yet all."""
        wait_until(lambda: sum(count > STATE / 6 for count in
                               self.received().values()) == 3,
                   "half a part from each", 60)
        self.assertEqual(self.events(self.run_folder, "state_received"), [])

    def newcomer_begins(self):
        self.slow_line_to_newcomer("12mbit")
        self.node("d", "w4", "--insecure")
        self.a_part_has_come()

    def newcomer_has_it(self):
        self.slow_line_to_newcomer(None)
        [told] = wait_until(
            lambda: self.events(self.run_folder, "state_received"),
            "the state", 60)
        self.assertEqual((told["worker"], told["bytes"]), ("w4", STATE))

    def ends_exactly(self, world):
        wait_until(lambda: self.status()["world"] == world, "the newcomer", 60)
        here = self.status()["step"]
        wait_until(lambda: self.status()["step"] > here + 5, "steps of all", 60)
        self.here("ctl", "stop", "--to", self.url)
        wait_until(lambda: self.status()["state"] == "stopped", "the end", 60)
        audit = self.audit(self.run_folder)
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))
        assert_exact(self, self.run_folder)
        # Equal on all: else the coordinator's end names who differs.
        self.assertNotIn("differ", self.coordinator.err)

    def test_all_who_hold_the_state_send_a_part_of_it(self):
        self.newcomer_begins()
        self.newcomer_has_it()
        self.ends_exactly(4)

    def test_one_that_dies_while_it_sends_is_not_needed(self):
        self.newcomer_begins()
        [victim] = [w["pid"] for w in read_json(
            self.run_folder / "workers.json")["workers"] if w["name"] == "w2"]
        os.kill(victim, signal.SIGKILL)
        self.newcomer_has_it()
        self.ends_exactly(3)
        lost = self.events(self.run_folder, "worker_lost")
        self.assertEqual([e["worker"] for e in lost], ["w2"], lost)


if __name__ == "__main__":
    unittest.main()
