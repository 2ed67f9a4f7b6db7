"""Goal: whatever dies, freezes, comes or goes, the run goes on, every sample is
in exactly one step of its epoch, and the parameters are those that the steps
make. Method: real processes, seeded faults; the trace is checked by a program
that shares nothing with the runtime, and replayed in double precision.
"""
import contextlib
import os
import random
import signal
import time
import unittest

import numpy

from harness.exactness import check_run
from harness.jobs import emulated_job, merged
from harness.run_files import read_json, read_lines
from harness.waiting import patience, wait_until

from ballast_test import BallastTest
from replay import emulated_weights, flat_weights

ROWS, BATCH, PARAMETERS, RATE = 1009, 50, 23, 0.1


def job_of(workers=4, epochs=12, **more):
    return merged(emulated_job(
        ROWS, workers=workers, batch=BATCH, epochs=epochs, us_per_step=8000,
        parameters=PARAMETERS, data={"chunk_rows": 13},
        elastic={"workers": workers, "heartbeat_ms": 200,
                 "respawn_limit": 1000}, faults=True), more)


def assert_exact(test, run, epochs=None):
    """Every sample in one step, and the parameters are what the steps make of
    the seed's. A run that was stopped is looked at as far as it came."""
    job = read_json(run / "job.json")
    batch, rows = job["train"]["global_batch"], job["data"]["train"]["rows"]
    found = check_run(run, batch, epochs)
    test.assertEqual(found.problems, [], found)
    steps = [[i for name in sorted(step) for i in step[name]]
             for step in (found.ids_of_step[n]
                          for n in range(1, found.steps + 1))]
    expected = emulated_weights(job["model"]["parameters"], steps,
                                job["train"]["optimizer"]["lr"], rows)
    numpy.testing.assert_allclose(flat_weights(run / "model.safetensors"),
                                  expected, rtol=1e-5, atol=1e-5)
    return found


class Recovery(BallastTest):
    def workers(self, run, state="training"):
        with contextlib.suppress(OSError, ValueError):
            return [w for w in read_json(run / "workers.json")["workers"]
                    if w["state"] == state]
        return []

    def committed(self, run):
        with contextlib.suppress(OSError):
            return len(read_lines(run / "steps.jsonl"))
        return 0

    def begin(self, job):
        one, run = self.new_run(job)
        wait_until(lambda: self.committed(run) > 5, f"steps of {one}")
        return one, run

    def ended_well(self, one, run, epochs):
        """Exit 0, and audit, checker and replay agree that all is exact."""
        self.assertEqual(one.wait(120), 0, one)
        rows = read_json(run / "job.json")["data"]["train"]["rows"]
        report = read_json(run / "report.json")
        self.assertEqual(report["audit"], {
            "expected": rows * epochs, "once": rows * epochs, "lost": 0,
            "repeated": 0})
        self.assertEqual(
            [(e["reason"], e["ms"]) for e in self.generations(run)
             if "ms" in e],
            [(e["reason"], e["ms"]) for e in report["recoveries"]])
        assert_exact(self, run, epochs)
        self.ballast("audit", run)
        self.nobody_left(one, 3)

    def generations(self, run):
        return [e for e in read_lines(run / "events.jsonl")
                if e["kind"] == "generation"]


class Killed(Recovery):
    def test_survivors_go_on_and_the_dead_is_replaced(self):
        one, run = self.begin(job_of())
        victim = self.workers(run)[1]
        os.kill(victim["pid"], signal.SIGKILL)
        wait_until(lambda: len(self.generations(run)) >= 3, "a replacement")
        self.ended_well(one, run, 12)
        first, recovered, joined = self.generations(run)[:3]
        # A crowded machine goes on before it hears how the process ended.
        self.assertRegex(recovered["reason"], f"worker {victim['name']} lost: "
                         r"(killed by signal 9 \(Killed\)|its process is gone)")
        [lost] = [e for e in read_lines(run / "events.jsonl")
                  if e["kind"] == "worker_lost"]
        self.assertEqual(lost["reason"], "killed by signal 9 (Killed)")
        self.assertNotIn(victim["name"], recovered["workers"])
        self.assertEqual(set(recovered["phases_ms"]), {
            "detect", "fence", "plan", "open", "sync", "first_step"})
        self.assertEqual(joined["reason"], "join")
        self.assertEqual(joined["workers"][-1], "w5")

    def test_two_at_once(self):
        one, run = self.begin(job_of())
        for victim in self.workers(run)[1:3]:
            os.kill(victim["pid"], signal.SIGKILL)
        self.ended_well(one, run, 12)

    def test_all_but_one(self):
        one, run = self.begin(job_of())
        for victim in self.workers(run)[1:]:
            os.kill(victim["pid"], signal.SIGKILL)
        self.ended_well(one, run, 12)

    def test_the_last_one_left_is_the_end(self):
        one, run = self.begin(job_of(workers=1, elastic={"respawn": False}))
        os.kill(self.workers(run)[0]["pid"], signal.SIGKILL)
        self.assertEqual(one.wait(20), 1, one)
        self.assertIn("every worker that held the model", one.last_line)
        self.nobody_left(one, 3)

    def test_again_and_again_with_others_stopped_meanwhile(self):
        seed = int(os.environ.get("BALLAST_TEST_SEED", "1"))
        dice = random.Random(seed)
        epochs = 40
        one, run = self.begin(job_of(epochs=epochs))
        asleep = []  # (pid, when to wake it up)
        faults = 0
        while one.running() and faults < 15:
            time.sleep(dice.uniform(0.1, 0.5))
            for pid, until in list(asleep):
                if time.monotonic() > until:
                    asleep.remove((pid, until))
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGCONT)
            sleeping = {pid for pid, _ in asleep}
            awake = [w["pid"] for w in self.workers(run)
                     if w["pid"] not in sleeping]
            # Somebody must stay who holds the model.
            if len(awake) < 3:
                continue
            victim = dice.choice(awake)
            faults += 1
            with contextlib.suppress(ProcessLookupError):
                if dice.random() < 0.2:
                    os.kill(victim, signal.SIGSTOP)
                    asleep.append((victim, time.monotonic() +
                                   dice.uniform(0.05, 2)))
                else:
                    os.kill(victim, signal.SIGKILL)
        for pid, _ in asleep:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        with self.subTest(seed=seed, faults=faults):
            self.assertGreater(faults, 5)
            self.ended_well(one, run, epochs)


class Silent(Recovery):
    def test_a_stopped_worker_is_excluded_and_comes_back_as_another(self):
        one, run = self.begin(job_of(epochs=28))
        victim = self.workers(run)[1]
        os.kill(victim["pid"], signal.SIGSTOP)
        wait_until(lambda: len(self.generations(run)) >= 2, "its exclusion",
                   patience(5))
        os.kill(victim["pid"], signal.SIGCONT)

        def back():
            return [w for w in self.workers(run) if w["name"] ==
                    victim["name"] and w["incarnation"] == 2]
        self.assertEqual(wait_until(back, "its return")[0]["pid"],
                         victim["pid"])
        self.ended_well(one, run, 28)

    def test_who_came_back_within_grace_is_not_ended_later(self):
        grace_s = 2
        one, run = self.begin(job_of(workers=3, epochs=1000,
                                     elastic={"grace_s": grace_s}))
        victim = self.workers(run)[1]
        os.kill(victim["pid"], signal.SIGSTOP)
        wait_until(lambda: len(self.generations(run)) >= 2, "its exclusion")
        os.kill(victim["pid"], signal.SIGCONT)
        wait_until(lambda: len(self.generations(run)) >= 3, "its return")
        returned = self.generations(run)[2]
        self.assertIn(victim["name"], returned["workers"])
        wait_until(lambda: read_lines(run / "steps.jsonl")[-1]["t_ns"] >
                   returned["t_ns"] + 2 * grace_s * 10**9, "steps after that")
        self.assertIn((victim["name"], victim["pid"], 2), [
            (w["name"], w["pid"], w["incarnation"])
            for w in self.workers(run)])
        kinds = [e["kind"] for e in read_lines(run / "events.jsonl")]
        self.assertEqual(kinds.count("worker_lost"), 1)
        self.assertEqual(len(self.generations(run)), 3)
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(20), 130, one)

    def test_a_short_stop_costs_no_membership(self):
        one, run = self.begin(job_of(epochs=14))
        victim = self.workers(run)[1]
        os.kill(victim["pid"], signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(victim["pid"], signal.SIGCONT)
        self.ended_well(one, run, 14)
        self.assertEqual(len(self.generations(run)), 1)


class Steering(Recovery):
    def ctl(self, run, *words, code=0):
        return self.ballast("ctl", *words, "--to", run, code=code)

    def test_more_and_fewer_workers_while_it_trains(self):
        one, run = self.begin(job_of(workers=2, epochs=28))
        self.ctl(run, "scale", "workers=4")
        wait_until(lambda: len(self.workers(run)) == 4, "four workers")
        self.ctl(run, "scale", "workers=1")
        wait_until(lambda: len(self.generations(run)) >= 3 and
                   len(self.generations(run)[-1]["workers"]) == 1,
                   "one worker")
        self.ended_well(one, run, 28)
        kinds = [e["kind"] for e in read_lines(run / "events.jsonl")]
        self.assertEqual(kinds.count("worker_lost"), 0)
        self.assertEqual(kinds.count("worker_left"), 3)

    def test_a_drained_worker_ends_and_is_replaced(self):
        one, run = self.begin(job_of(epochs=22))
        pid = [w for w in self.workers(run) if w["name"] == "w2"][0]["pid"]
        self.ctl(run, "drain_worker", "worker=w2")
        wait_until(lambda: [w for w in self.workers(run, "left")
                            if w["pid"] == pid], "w2 to leave")
        wait_until(lambda: len(self.workers(run)) == 4, "its replacement")
        self.ended_well(one, run, 22)

    def test_faults_on_purpose_need_a_job_that_allows_them(self):
        one, run = self.begin(job_of(epochs=200, faults=False))
        refused = self.ctl(run, "kill_worker", "worker=w1", code=1)
        self.assertIn('"faults": true', refused.last_line)
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(20), 130, one)


if __name__ == "__main__":
    unittest.main()
