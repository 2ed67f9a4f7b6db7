"""Goal: nodes on several hosts train together as they are started, also over a
slow line; where one announces an address that the other cannot reach, everybody
is told which, of whom, and what to set, and the attempts become rarer; where
nothing goes between two of three, one of them is left out while that lasts.
Method: network namespaces, each with its own host name, and a bridge in one of
them.
"""
import json
import os
import re
import subprocess
import unittest

from harness.exactness import check_run
from harness.jobs import emulated_job, endless_job, merged
from harness.program import alive
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from ballast_test import BallastTest

ADDRESSES = {"a": "10.252.0.1", "b": "10.252.0.2", "c": "10.252.0.3",
             "d": "10.252.0.4"}


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True,
                          check=False)


def why_not():
    """Why this machine cannot have two hosts; empty if it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"ballast-probe-{os.getpid()}"
    try:
        made = ip("netns", "add", name)
    except FileNotFoundError:
        return "no program `ip` (Debian package iproute2)"
    if made.returncode == 0:
        made = ip("-n", name, "link", "add", "x", "type", "veth", "peer",
                  "name", "y")
    ip("netns", "del", name)
    return made.stderr.strip() if made.returncode != 0 else ""


REASON = why_not()


@unittest.skipIf(REASON, REASON)
class TwoHosts(BallastTest):
    HOSTS = ("a", "b")

    def setUp(self):
        super().setUp()
        self.spaces = {host: f"ballast-{host}-{os.getpid()}"
                       for host in self.HOSTS}
        self.remove_those_of_the_dead()
        # Runs last: cleanups go backwards, and processes are ended before.
        for space in self.spaces.values():
            self.addCleanup(ip, "netns", "del", space)
        for space in self.spaces.values():
            self.assertEqual(ip("netns", "add", space).returncode, 0, space)
        ip("-n", self.spaces["a"], "link", "add", "cable", "type", "bridge")
        for host in self.HOSTS[1:]:
            ip("link", "add", "to-" + host, "netns", self.spaces["a"], "type",
               "veth", "peer", "name", "cable", "netns", self.spaces[host])
            ip("-n", self.spaces["a"], "link", "set", "to-" + host, "master",
               "cable", "up")
        for host, space in self.spaces.items():
            for words in (["addr", "add", ADDRESSES[host] + "/24", "dev",
                           "cable"],
                          ["link", "set", "cable", "up"],
                          ["link", "set", "lo", "up"]):
                done = ip("-n", space, *words)
                self.assertEqual(done.returncode, 0, done.stderr)
        self.state = self.folder / "state"
        self.coordinator = self.on("a", "node", "--coordinator", "--listen",
                                   ADDRESSES["a"] + ":0", "--http",
                                   "127.0.0.1:0", "--state", self.state,
                                   "--insecure")
        self.address = self.coordinator.said(r"coordinator (\S+)")[1]
        self.url = self.coordinator.said(r"http (\S+)")[1]

    @staticmethod
    def remove_those_of_the_dead():
        """A test that was killed has left its own."""
        for space in re.findall(r"ballast-(?:a|b|c|d|probe)-\d+",
                                ip("netns", "list").stdout):
            if not alive(int(space.rpartition("-")[2])):
                ip("netns", "del", space)

    def on(self, host, *arguments):
        return self.start(*arguments, wrapper=(
            "ip", "netns", "exec", self.spaces[host], "unshare", "--uts", "sh",
            "-c", f'hostname host-{host} && exec "$@"', "sh"))

    def node(self, host, name, *arguments):
        one = self.on(host, "node", "--join", self.address, "--name", name,
                      *arguments)
        one.said("joined as", "err")
        return one

    def here(self, *arguments, code=0):
        """A command beside the coordinator, to its end."""
        one = self.on("a", *arguments)
        self.assertEqual(one.wait(60), code, one)
        return one

    def status(self):
        return json.loads(
            self.here("status", "--json", "--to", self.url).out)

    def submit(self, job, *arguments):
        path = self.write("job.json", job)
        name = self.here("submit", path, "--to", self.url, *arguments)
        return self.state / "runs" / name.out.strip()

    def events(self, run, kind):
        return [e for e in read_lines(run / "events.jsonl")
                if e["kind"] == kind]


class AsTheyAreStarted(TwoHosts):
    def test_they_train(self):
        self.node("a", "left", "--insecure")
        self.node("b", "right", "--insecure")
        run = self.submit(emulated_job(1003, workers=2, epochs=2, batch=64),
                          "--wait")
        found = check_run(run, 64, 2)
        self.assertEqual(found.problems, [], found)
        self.assertEqual(len(found.ids_of_step[1]), 2)
        self.assertEqual({w["name"]: w["host"] for w in read_json(
            run / "workers.json")["workers"]},
            {"left": "host-a", "right": "host-b"})
        audit = self.audit(run)
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))
        self.assertEqual(self.events(run, "cannot_open"), [])


class OverASlowLine(TwoHosts):
    def test_they_train_slowly(self):
        """A megabit: what a step sends takes more than a second."""
        for host, device in (("a", "to-b"), ("b", "cable")):
            done = subprocess.run(
                ["tc", "-n", self.spaces[host], "qdisc", "add", "dev", device,
                 "root", "tbf", "rate", "1mbit", "burst", "16kb", "latency",
                 "500ms"], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                self.skipTest("no slow line: " + done.stderr.strip())
        self.node("a", "left", "--insecure")
        self.node("b", "right", "--insecure")
        run = self.submit(emulated_job(100, workers=2, batch=20,
                                       parameters=50000))
        wait_until(lambda: self.events(run, "done"), "the end", 120)
        self.assertEqual(self.events(run, "cannot_open"), [])
        self.assertEqual(read_lines(run / "steps.jsonl")[-1]["world"], 2)
        self.assertEqual(read_json(run / "report.json")["recoveries"], [])


class WithABrokenLink(TwoHosts):
    HOSTS = ("a", "b", "c")

    def setUp(self):
        super().setUp()
        self.node("a", "w1", "--insecure")
        self.node("b", "w2", "--insecure")
        self.node("c", "w3", "--insecure")

    def cut(self, host, other):
        """What `host` sends to `other` goes to a card that nobody has."""
        done = ip("-n", self.spaces[host], "neigh", "replace",
                  ADDRESSES[other], "lladdr", "02:00:00:00:00:99", "dev",
                  "cable", "nud", "permanent")
        self.assertEqual(done.returncode, 0, done.stderr)

    def mend(self, host, other):
        ip("-n", self.spaces[host], "neigh", "del", ADDRESSES[other], "dev",
           "cable")

    def world(self):
        return self.status()["world"]

    def steps(self):
        return self.status()["step"]

    def test_two_go_on_and_the_third_comes_back(self):
        run = self.submit(endless_job(3))
        wait_until(lambda: self.steps() > 20, "training")
        self.cut("c", "b")  # one way is enough
        waits = wait_until(lambda: self.status().get("waits"),
                           "a word on what is waited for", 20)
        self.assertIn("w3 has no connection with w2", waits)
        wait_until(lambda: self.events(run, "worker_lost"), "a dismissal", 60)
        lost = self.events(run, "worker_lost")
        self.assertEqual([e["worker"] for e in lost], ["w3"], lost)
        self.assertIn("cannot reach worker w2", lost[0]["reason"])
        told = self.events(run, "cannot_open")[0]
        self.assertEqual((told["worker"], told["cannot_reach"]), ("w3", "w2"))
        self.assertNotIn("has closed its connection", told["message"])
        here = wait_until(lambda: self.world() == 2 and self.steps(),
                          "training of two")
        wait_until(lambda: self.steps() > here + 50, "steps of two")
        self.mend("c", "b")
        wait_until(lambda: self.world() == 3, "all three", 60)
        here = self.steps()
        wait_until(lambda: self.steps() > here + 20, "steps of three")
        self.here("ctl", "stop", "--to", self.url)
        wait_until(lambda: self.status()["state"] == "stopped", "the end")
        audit = self.audit(run)
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))


class AtAnAddressOfItsOwn(TwoHosts):
    def setUp(self):
        super().setUp()
        # Of two that connect the first by name listens.
        self.far = self.node("b", "far", "--host", "127.0.0.1")
        self.near = self.node("a", "near", "--insecure")

    def told(self, run):
        """The event says it, and so do the coordinator's log and status."""
        event = wait_until(lambda: self.events(run, "cannot_open"),
                           "the event")[0]
        self.assertEqual((event["worker"], event["cannot_reach"]),
                         ("near", "far"))
        self.assertGreaterEqual(event["attempts"], 3)
        self.assertTrue(event["address"].startswith("127.0.0.1:"), event)
        for part in ("worker near (pid", "on host-a) cannot reach worker far "
                     f"on host-b at {event['address']}",
                     "start far with --host ADDRESS"):
            self.assertIn(part, event["message"])
        self.coordinator.said("cannot_open .*cannot reach worker far", "err")
        return event

    def test_both_are_needed_so_attempts_become_rarer(self):
        run = self.submit(merged(endless_job(), {
            "elastic": {"min_workers": 2}}))
        self.told(run)
        self.assertIn("cannot reach worker far on host-b",
                      self.status()["cannot_open"])
        screen = self.here("status", "--to", self.url).out
        self.assertRegex(screen, r"cannot connect to each other: worker near .*"
                         r"--host ADDRESS")
        # After waits of 0.1, 0.2, 0.4, 0.8 and 1.6 s.
        now = wait_until(lambda: (now := self.status())["generation"] >= 6
                         and now, "a sixth attempt")
        begun = self.events(run, "coordinator_started")[0]["t_ns"]
        self.assertGreater(now["t_ns"] - begun, 3.1e9)
        self.assertLessEqual(len(self.events(run, "cannot_open")), 4)
        self.here("ctl", "stop", "--to", self.url)
        wait_until(lambda: self.status()["state"] == "stopped", "the end")

    def test_one_is_enough_so_the_unreachable_one_is_shown_out(self):
        run = self.submit(emulated_job(1003, workers=2, epochs=2, batch=64),
                          "--wait")
        event = self.told(run)
        found = check_run(run, 64, 2)
        self.assertEqual(found.problems, [], found)
        self.assertEqual(set(found.ids_of_step[1]), {"near.1.jsonl"})
        lost = self.events(run, "worker_lost")
        self.assertEqual([e["worker"] for e in lost], ["far"])
        self.assertIn(event["address"], lost[0]["reason"])
        self.far.said("dismissed.*cannot reach|cannot reach.*--host", "err")
        self.assertTrue(self.far.running())
        report = read_json(run / "report.json")
        self.assertLessEqual(report["generations"], 8)
        # Started as it was told to, it takes part in the next run.
        self.far.end()
        self.node("b", "far", "--insecure", "--host", ADDRESSES["b"])
        run = self.submit(emulated_job(1003, workers=2), "--wait")
        self.assertEqual(read_lines(run / "steps.jsonl")[0]["world"], 2)


if __name__ == "__main__":
    unittest.main()
