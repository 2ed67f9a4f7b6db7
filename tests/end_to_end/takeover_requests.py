"""Goal: what users asked of a run outlives its coordinator, also what it was just
carrying out. Method: real processes; one worker stands still while something is
asked for, so that it cannot be done before the coordinator dies.
"""
import contextlib
import os
import signal
import unittest

from harness.http_client import control, request
from harness.run_files import read_json
from harness.waiting import wait_until

from recovery import assert_exact, job_of
from takeover import Takeover


class Asked(Takeover):
    def restarted(self, run):
        lives = len(self.terms(run))
        self.kill(self.coordinator(run))
        wait_until(lambda: len(self.terms(run)) > lives, "another coordinator")
        recovered = len(self.generations(run))
        wait_until(lambda: len(self.generations(run)) > recovered,
                   "its generation")

    def status(self, run):
        with contextlib.suppress(OSError, ValueError, TypeError):
            return request(self.url(run) + "/v1/status").json
        return {}

    def url(self, run):
        return read_json(run / "coordinator.json")["http"]

    def ask(self, run, kind, **fields):
        answer = control(self.url(run), {"type": kind, **fields}).json
        self.assertTrue(answer["ok"], answer)
        return answer

    def test_what_was_asked_for_is_kept(self):
        one, run = self.begin(job_of(epochs=100000))
        self.ask(run, "set_balance", enabled=False)
        answer = self.ask(run, "set_balance", skew_tv=0.33)
        self.assertEqual((answer["enabled"], answer["skew_tv"]), (False, 0.33))
        self.ask(run, "scale", workers=3)
        wait_until(lambda: len(self.workers(run)) == 3, "one to leave")
        here = set(self.pids(run))
        for _ in range(2):
            self.restarted(run)
            balance = wait_until(lambda: self.status(run).get("balance"),
                                 "its status")
            self.assertEqual((balance["enabled"], balance["skew_tv"]),
                             (False, 0.33))
            # The job says four: who forgets starts one.
            shown = self.committed(run)
            wait_until(lambda: self.committed(run) > shown + 20, "steps")
            self.assertEqual(set(self.pids(run)), here)
        self.assertEqual(self.ask(run, "plan")["code"], "DISABLED")
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(30), 130, one)
        assert_exact(self, run)

    def test_who_was_asked_to_leave_leaves(self):
        one, run = self.begin(job_of(epochs=100000))
        boss = self.coordinator(run)
        pids = self.pids(run)
        # It stands still for a while: the switch cannot come before its death.
        os.kill(pids["w3"], signal.SIGSTOP)
        self.ask(run, "drain_worker", worker="w2")
        self.kill(boss)
        os.kill(pids["w3"], signal.SIGCONT)
        wait_until(lambda: [w for w in self.workers(run, "left")
                            if w["pid"] == pids["w2"]], "it to leave")
        self.assertEqual(len(self.terms(run)), 2)
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(30), 130, one)
        assert_exact(self, run)

    def held(self, run):
        """Nothing that needs all workers is done in this context."""
        return Held(self.pids(run)["w3"])

    def stopped(self, one, run, code=0):
        self.assertEqual(one.wait(30), code, one)
        self.assertEqual(read_json(run / "report.json")["state"], "stopped")
        assert_exact(self, run)

    def test_a_stop_under_way(self):
        one, run = self.begin(job_of(epochs=100000))
        with self.held(run):
            self.ask(run, "stop")
            self.kill(self.coordinator(run))
        self.stopped(one, run)
        self.assertEqual(len(self.terms(run)), 2)

    def test_a_stop_under_way_when_its_run_is_killed(self):
        job = job_of(epochs=100000)
        one, run = self.begin(job)
        with self.held(run):
            self.ask(run, "stop")
            one.signal(signal.SIGKILL)
            one.wait(5)
        self.stopped(self.resume(job, run), run)
        stood = self.committed(run)
        # It has stopped: now to go on means to go on.
        again = self.resume(job, run)
        wait_until(lambda: self.committed(run) > stood + 5, "more steps")
        again.signal(signal.SIGINT)
        self.stopped(again, run, 130)

    def test_a_stop_of_which_nobody_is_left(self):
        job = job_of(epochs=100000)
        one, run = self.begin(job)
        with self.held(run):
            self.ask(run, "stop")
            self.kill_all(one)
        again = self.resume(job, run)
        wait_until(lambda: "undone" in self.kinds(run), "the way back")
        stood = self.committed(run)
        wait_until(lambda: self.committed(run) > stood + 5, "more steps")
        again.signal(signal.SIGINT)
        self.stopped(again, run, 130)

    def test_a_pause_under_way(self):
        one, run = self.begin(job_of(epochs=100000))
        with self.held(run):
            self.ask(run, "pause")
            self.kill(self.coordinator(run))
        wait_until(lambda: self.status(run).get("state") == "paused",
                   "the pause")
        self.assertEqual(len(self.terms(run)), 2)
        self.assertEqual(self.kinds(run).count("paused"), 1)
        stood = self.committed(run)
        self.ask(run, "resume")
        wait_until(lambda: self.committed(run) > stood + 5, "more steps")
        one.signal(signal.SIGINT)
        self.stopped(one, run, 130)


class Held:
    """A process that stands still for a while, if it lives so long."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)


if __name__ == "__main__":
    unittest.main()
