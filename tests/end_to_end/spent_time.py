"""Goal: where the time of the workers goes is told: the causes sum to the time
that passed, and what holds a run up is the cause that was put in. Method: real
runs with a slow worker, a pause and a kill; their status beside their events.
"""
import os
import signal
import time
import unittest

from harness.http_client import request
from harness.jobs import emulated_job
from harness.live_run import LiveRun
from harness.waiting import wait_until

from ballast_test import BallastTest

# Of what passed; and for what is reported up to a second later.
NEAR, LATE_S = 0.01, 1.5


class SpentTime(BallastTest):
    def live(self, **more):
        job = emulated_job(
            rows=6000, workers=3, batch=120, epochs=100000, us_per_sample=150,
            faults=True, trace_samples=False, balance={"enabled": False},
            **more)
        return LiveRun(job, self.folder / "live",
                       self.environment["BALLAST_CACHE"])

    def status(self, live):
        return request(live.url + "/v1/status").json

    def wait_bound(self, live, begin, who=""):
        def bound():
            said = self.status(live).get("bound", "")
            return said.startswith(begin) and who in said
        wait_until(bound, f"bound by {begin}{who}", 60, pause_s=0.2)

    def check_sums(self, live):
        live.poll()
        joined = {e["worker"]: e["t_ns"] for e in live.events.lines
                  if e["kind"] == "worker_joined"}
        status = self.status(live)
        for worker in status["workers"]:
            if worker["state"] != "training":
                continue
            passed = (status["t_ns"] - joined[worker["name"]]) / 1e9
            self.assertAlmostEqual(sum(worker["time_s"].values()), passed,
                                   delta=NEAR * passed + LATE_S, msg=worker)

    def test_a_slow_worker_is_named_by_those_who_wait_for_it(self):
        with self.live() as live:
            live.wait_full(3, 20)
            self.assertIsNone(live.post("slow_worker", worker="w2", factor=4))
            self.wait_bound(live, "straggler: ", "is waiting for w2")
            self.check_sums(live)
            report = live.stop()
            spent = report["time_s"]
            self.assertGreater(spent["straggler"], spent["communication"])
            screen = self.ballast("status", "--to", live.run)
            self.assertNotIn("bound by", screen.out)  # it has ended

    def test_a_pause_and_a_recovery_are_causes(self):
        with self.live() as live:
            live.wait_full(3, 20)
            os.kill(live.workers()["w3"], signal.SIGKILL)
            live.wait_for(lambda: live.poll() or live.newest > 2 and
                          live.full(3, 20), "a recovery and a newcomer")
            self.assertIsNone(live.post("pause"))
            begun = time.monotonic()
            self.wait_bound(live, "pause: ")
            self.assertIn("bound by pause",
                          self.ballast("status", "--to", live.run).out)
            self.assertIsNone(live.post("resume"))
            paused = time.monotonic() - begun
            live.wait_full(3, 20)
            self.check_sums(live)
            report = live.stop()
            self.assertGreater(report["time_s"]["recovery"], 0.01)
            self.assertAlmostEqual(report["time_s"]["paused"], 3 * paused,
                                   delta=3 * 1.0)


if __name__ == "__main__":
    unittest.main()
