"""Goal: there is no moment at which the death of the coordinator, or of every
process at once, ends a run or makes it inexact. Method: real processes, kill -9
by phase, and `--resume` where nobody is left; what they leave is checked as in
recovery.py.
"""
import os
import random
import time
import unittest

from harness.program import alive
from harness.run_files import read_json
from harness.waiting import wait_until

from recovery import job_of
from recovery_phases import Phase, kill
from takeover import Takeover


def wait_busily(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


class TakeoverPhase(Phase):
    def coordinator(self):
        return read_json(self.run_dir / "coordinator.json")["pid"]

    def kill_coordinator(self):
        """And waits until another one has opened a generation."""
        before = len(self.events("coordinator_started"))
        kill(self.coordinator())
        wait_until(lambda: len(self.events("coordinator_started")) > before,
                   "another coordinator")

    def kill_all(self, one):
        family = one.family()
        for pid in [one.pid, *family]:
            kill(pid)
        one.wait(5)
        wait_until(lambda: not [p for p in family if alive(p)], "all to end")

    def resume(self):
        job = read_json(self.run_dir / "job.json")
        path = self.write("resumed.json", job)
        return self.start("run", path, "--run-dir", self.run_dir, "--resume",
                          "--no-progress")

    def nobody_was_restarted(self, before):
        # A new coordinator hears of each process when it connects again.
        wait_until(lambda: all(self.pids().values()), "all to be back")
        self.assertEqual(self.pids(), before)
        self.assertEqual(self.events("worker_lost"), [])


class CoordinatorKilled(TakeoverPhase):
    def test_while_it_evaluates(self):
        dice = random.Random(int(os.environ.get("BALLAST_TEST_SEED", "1")))
        one = self.evaluating()
        before = self.pids()
        # One may end, and the next step with it, while nobody listens.
        for _ in range(4):
            self.kill_coordinator()
            told = len(self.events("evaluation"))
            wait_until(lambda told=told: len(self.events("evaluation")) > told,
                       "evaluations", 60)
            wait_busily(dice.random() * 0.1)
        self.nobody_was_restarted(before)
        self.evaluates_again(one)

    def test_while_all_are_paused(self):
        one = self.begin_small()
        self.after_steps(5)
        self.pause()
        step, before = self.events("paused")[0]["step"], self.pids()
        self.kill_coordinator()
        self.stays_paused(step)
        self.nobody_was_restarted(before)
        self.ballast("ctl", "resume", "--to", self.run_dir)
        self.goes_on("w1", "w2")
        self.stops(one)

    def test_while_it_recovers_from_the_death_of_a_worker(self):
        dice = random.Random(int(os.environ.get("BALLAST_TEST_SEED", "1")))
        one = self.begin_small(elastic={"workers": 3, "heartbeat_ms": 200})
        for pause in (0, 0.002, 0.01, 0.04):
            kill(dice.choice(list(self.all_here(3).values())))
            wait_busily(pause)
            self.kill_coordinator()
        self.goes_on(*self.all_here(3))
        self.stops(one)

    def members(self):
        """Of the newest generation, those who live: name -> pid."""
        made = self.events("generation")
        pids = self.pids() if made else {}
        return {name: pids[name]
                for name in (made[-1]["workers"] if made else [])
                if alive(pids.get(name, 0))}

    def all_here(self, count):
        """Their names. Workers of a run are listed anew whenever one comes, and
        what is read meanwhile may be the list of one moment later."""
        return wait_until(lambda: len(found := self.members()) == count and
                          found, f"{count} workers", 30)

    def test_while_a_newcomer_joins(self):
        for word in ("loading", "holds"):
            one = self.begin_small(elastic={"heartbeat_ms": 200})
            self.after_steps(5)
            kill(self.pids()["w2"])
            path = self.run_dir / "logs" / "w3.log"
            wait_until(lambda path=path, word=word: path.exists() and
                       word in path.read_text(encoding="utf-8"), word)
            self.kill_coordinator()
            self.goes_on(*self.all_here(2))
            self.stops(one)


class AllKilled(TakeoverPhase):
    def test_while_it_evaluates(self):
        self.kill_all(self.evaluating())
        one = self.resume()
        wait_until(lambda: self.events("undone"), "the way back", 30)
        self.evaluates_again(one)

    def test_when_it_has_just_evaluated(self):
        """The epoch may be told of and not yet saved: it is done again."""
        one = self.evaluating()
        wait_until(lambda: self.events("evaluation"), "an evaluation", 60,
                   pause_s=0)
        self.kill_all(one)
        self.evaluates_again(self.resume())

    def test_while_all_are_paused(self):
        one = self.begin_small()
        self.after_steps(5)
        self.pause()
        self.kill_all(one)
        one = self.resume()
        wait_until(lambda: self.events("undone"), "the way back", 30)
        wait_until(lambda: self.events("resumed"), "the end of the pause")
        self.after_steps(5)
        self.stops(one)

    def test_while_it_recovers_from_the_death_of_a_worker(self):
        one = self.begin_small()
        self.after_steps(5)
        kill(self.pids()["w2"])
        wait_busily(0.01)
        self.kill_all(one)
        one = self.resume()
        wait_until(lambda: self.events("undone"), "the way back", 30)
        self.after_steps(5)
        self.stops(one)


class Last(Takeover):
    """6 steps an epoch, so slow that each is seen before the next ends."""

    def begin_short(self, shown):
        job = job_of(workers=2, epochs=2, train={"global_batch": 200},
                     model={"us_per_step": 40000})
        one, run = self.new_run(job)
        wait_until(lambda: self.committed(run) >= shown, "that step")
        dice = random.Random(shown)
        time.sleep(dice.uniform(0, 0.04))
        return one, run, job

    def test_the_coordinator_in_the_last_steps_of_an_epoch_and_of_the_job(self):
        for shown in (5, 6, 11):
            with self.subTest(killed_after_step=shown):
                one, run, _ = self.begin_short(shown)
                self.kill(self.coordinator(run))
                self.ended_well(one, run, 2)

    def test_the_coordinator_that_has_just_written_the_report(self):
        for _ in range(2):
            one, run, _ = self.begin_short(12)
            coordinator = self.coordinator(run)
            wait_until((run / "report.json").exists, "the report", pause_s=0)
            self.kill(coordinator)
            self.ended_well(one, run, 2)

    def test_everything_in_the_last_steps_of_an_epoch_and_of_the_job(self):
        for shown in (6, 11):
            with self.subTest(killed_after_step=shown):
                one, run, job = self.begin_short(shown)
                self.kill_all(one)
                if (run / "report.json").exists():
                    continue  # it was done
                self.ended_well(self.resume(job, run), run, 2)


if __name__ == "__main__":
    unittest.main()
