"""Goal: there is no moment at which the death or the silence of a worker ends a
run or makes it inexact: before it joined, while it loads, trains, evaluates or
stands still, in the last step, during the recovery from another. Method: real
processes, killed by phase; what they leave is checked as in recovery.py.
"""
import contextlib
import os
import random
import signal
import time
import unittest

from harness.exactness import check_run
from harness.jobs import emulated_job, endless_job, merged
from harness.program import alive
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from endings import Ending
from recovery import Recovery, assert_exact, job_of


def kill(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class Phase(Ending):
    """A run of two that goes on for hours; w3, w4, ... replace the dead."""

    def events(self, kind):
        return [e for e in read_lines(self.run_dir / "events.jsonl")
                if e["kind"] == kind]

    def steps(self):
        return len(read_lines(self.run_dir / "steps.jsonl"))

    def begin_small(self, **more):
        return self.begin(endless_job(model={"parameters": 23}, **more))

    def goes_on(self, *names):
        """With these workers, in whatever order, and it takes steps."""
        def together():
            made = self.events("generation")
            return made and set(made[-1]["workers"]) == set(names)
        wait_until(together, f"a generation of {names}", 30)
        after = self.steps()
        wait_until(lambda: self.steps() > after + 5, "more steps", 30)

    def evaluating(self):
        """A run whose epochs are one short step and seconds of evaluation."""
        job = merged(emulated_job(64, batch=64, epochs=1000), {
            "elastic": {"heartbeat_ms": 200},
            "data": {"test": {"format": "synthetic", "rows": 20000,
                              "classes": 4, "features": 4},
                     "chunk_rows": 4096}})
        job["model"] = {"kind": "mlp", "hidden": [1024, 1024]}
        del job["data"]["test_fraction"]
        one = self.begin(job)
        wait_until(lambda: [w for w in self.status()["workers"]
                            if w["name"] == "w1" and
                            w["phase"] == "evaluate"], "evaluation", 60)
        return one

    def evaluates_again(self, one):
        """By those who are left, and no epoch stays without."""
        # A process that has just begun does not take signals yet.
        before = max(1, len(self.events("evaluation")))
        wait_until(lambda: len(self.events("evaluation")) > before,
                   "evaluations", 60)
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(30), 130, one)
        epochs = self.epochs_evaluated()
        self.assertEqual(epochs, list(range(1, len(epochs) + 1)))
        self.assertEqual(check_run(self.run_dir, 64).problems, [])
        self.nobody_left(one, 1)

    def epochs_evaluated(self):
        """Of one step each: that of an undone step is evaluated again."""
        epochs = []
        for event in read_lines(self.run_dir / "events.jsonl"):
            if event["kind"] == "evaluation":
                epochs.append(event["epoch"])
            elif event["kind"] == "undone":
                epochs = [e for e in epochs if e <= event["to"]]
        return epochs

    def stays_paused(self, step):
        """The others stand still again, and at the same step."""
        wait_until(lambda: len(self.events("paused")) > 1, "another pause")
        wait_until(lambda: self.status()["state"] == "paused", "the pause")
        time.sleep(0.3)
        status = self.status()
        self.assertEqual((status["state"], status["step"]), ("paused", step))

    def stops(self, one):
        """Ctrl-C, and all that it leaves is whole and exact."""
        one.signal(signal.SIGINT)
        self.ends(one, 130, 5)
        self.cut_but_whole("stopped")
        assert_exact(self, self.run_dir)

    def was_lost(self, name, pid, reason):
        """One event says who and why."""
        def told():
            return [e for e in self.events("worker_lost") if e["pid"] == pid]
        [lost] = wait_until(told, f"the loss of {name}", 5)
        self.assertEqual(lost["worker"], name)
        self.assertRegex(lost["reason"], reason)


class Killed(Phase):
    def test_before_it_joined(self):
        one = self.begin_small()
        kill(self.pid_of(one, "w2"))
        self.goes_on("w1", "w3")
        self.assertEqual(len(self.events("generation")), 1)
        self.stops(one)

    def test_while_the_data_is_prepared(self):
        one = self.begin_small(data={"train": {"rows": 1_500_000}})
        pid = self.pid_of(one, "w2")
        self.assertEqual(self.status()["state"], "preparing")
        kill(pid)
        self.goes_on("w1", "w3")
        self.stops(one)

    def test_while_it_waits_for_others_to_join(self):
        one = self.begin_small()
        frozen = self.pid_of(one, "w1")
        kill(frozen, signal.SIGSTOP)
        wait_until(lambda: [w for w in self.status()["workers"]
                            if w["name"] == "w2"], "w2 to join")
        self.assertIn(self.status()["state"], ("preparing", "waiting"))
        pid = self.pid_of(one, "w2")
        kill(pid)
        self.was_lost("w2", pid, "signal 9")
        kill(frozen, signal.SIGCONT)
        self.goes_on("w1", "w3")
        self.stops(one)

    def test_while_it_loads(self):
        one = self.begin_small()
        wait_until(lambda: self.events("generation"), "the generation")
        pid = self.pids()["w2"]
        kill(pid)
        self.was_lost("w2", pid, "signal 9")
        self.goes_on("w1", "w3")
        self.stops(one)

    def test_while_it_evaluates(self):
        one = self.evaluating()
        pid = self.pids()["w1"]
        kill(pid)
        self.was_lost("w1", pid, "signal 9")
        self.evaluates_again(one)

    def test_by_other_signals(self):
        one = self.begin_small()
        self.after_steps(5)
        for name, number, then in (("w2", signal.SIGABRT, ("w1", "w3")),
                                   ("w1", signal.SIGSEGV, ("w3", "w4"))):
            pid = self.pids()[name]
            kill(pid, number)
            self.was_lost(name, pid, f"signal {int(number)}")
            self.goes_on(*then)
        self.stops(one)

    def test_while_all_are_paused(self):
        one = self.begin_small()
        self.after_steps(5)
        self.pause()
        step = self.events("paused")[0]["step"]
        pid = self.pids()["w1"]
        kill(pid)
        self.was_lost("w1", pid, "signal 9")
        self.stays_paused(step)
        self.ballast("ctl", "resume", "--to", self.run_dir)
        self.goes_on("w2", "w3")
        self.stops(one)


class Silent(Phase):
    def test_while_it_evaluates(self):
        one = self.evaluating()
        pid = self.pids()["w1"]
        kill(pid, signal.SIGSTOP)
        self.was_lost("w1", pid, "no heartbeat for")
        self.evaluates_again(one)

    def test_while_all_are_paused(self):
        one = self.begin_small(elastic={"heartbeat_ms": 200})
        self.after_steps(5)
        self.pause()
        step = self.events("paused")[0]["step"]
        pid = self.pids()["w2"]
        kill(pid, signal.SIGSTOP)
        self.was_lost("w2", pid, "no heartbeat for")
        self.stays_paused(step)
        kill(pid, signal.SIGCONT)
        self.ballast("ctl", "resume", "--to", self.run_dir)
        self.goes_on("w1", "w2")
        self.stops(one)

    def test_who_stays_away_is_killed_and_replaced(self):
        one = self.begin_small(elastic={"heartbeat_ms": 200, "grace_s": 1})
        self.after_steps(5)
        pid = self.pids()["w2"]
        kill(pid, signal.SIGSTOP)
        self.was_lost("w2", pid, "no heartbeat for")
        wait_until(lambda: not alive(pid), "its end")
        self.goes_on("w1", "w3")
        self.stops(one)

    def test_who_comes_back_is_not_killed(self):
        one = self.begin_small(elastic={"heartbeat_ms": 200, "grace_s": 1})
        self.after_steps(5)
        pid = self.pids()["w2"]
        kill(pid, signal.SIGSTOP)
        self.was_lost("w2", pid, "no heartbeat for")
        kill(pid, signal.SIGCONT)
        self.goes_on("w1", "w2")
        back = self.events("generation")[-1]["t_ns"]
        wait_until(lambda: read_lines(self.run_dir / "steps.jsonl")[-1]["t_ns"]
                   > back + 2_500_000_000, "its grace to be over", 30)
        self.assertTrue(alive(pid))
        self.assertEqual(self.pids()["w2"], pid)
        self.stops(one)


class Joining(Phase):
    def test_newcomers_killed_at_any_moment(self):
        """They come one after another; the run goes on all the time."""
        one = self.begin_small(elastic={"respawn_limit": 1000})
        self.after_steps(5)
        self.ballast("ctl", "scale", "workers=3", "--to", self.run_dir)
        dice = random.Random(int(os.environ.get("BALLAST_TEST_SEED", "1")))
        for number in range(3, 23):
            name = f"w{number}"
            pid = self.pid_of(one, name)
            moment = number % 4
            if moment == 1:  # known, and then any moment until it trains
                self.once_listed(name)
                time.sleep(dice.uniform(0, 0.03))
            elif moment == 2:  # it has its orders
                self.once_logged(name, "loading")
                time.sleep(dice.uniform(0, 0.005))
            elif moment == 3:  # it waits for the others
                self.once_logged(name, "holds")
                time.sleep(dice.uniform(0, 0.01))
            kill(pid)
        self.goes_on("w1", "w2", "w23")
        self.stops(one)

    def once_listed(self, name):
        wait_until(lambda: name in self.pids(), f"{name} to be known")

    def once_logged(self, name, word):
        path = self.run_dir / "logs" / f"{name}.log"
        wait_until(lambda: path.exists() and
                   word in path.read_text(encoding="utf-8"),
                   f"{word!r} in {path.name}")


class Together(Recovery):
    def test_a_second_death_within_milliseconds_of_the_first(self):
        dice = random.Random(int(os.environ.get("BALLAST_TEST_SEED", "1")))
        epochs = 30
        one, run = self.begin(job_of(epochs=epochs))
        for pause in (0, 0.0005, 0.001, 0.003, 0.005, 0.02):
            wait_until(lambda: len(self.workers(run)) == 4, "all four")
            first, second = dice.sample(self.workers(run), 2)
            kill(first["pid"])
            until = time.monotonic() + pause
            while time.monotonic() < until:
                pass
            kill(second["pid"])
            wait_until(lambda dead=(first, second): not [
                w for w in self.workers(run)
                if w["pid"] in (dead[0]["pid"], dead[1]["pid"])], "the loss")
        self.ended_well(one, run, epochs)

    def test_the_last_steps_of_an_epoch_and_of_the_job(self):
        # 6 steps an epoch, so slow that each is seen before the next ends.
        per_epoch, epochs = 6, 2
        total = per_epoch * epochs
        for seed, shown in enumerate((per_epoch - 1, per_epoch, total - 2,
                                      total - 1, total - 1, total)):
            dice = random.Random(seed)
            with self.subTest(killed_after_step=shown):
                one, run = self.new_run(job_of(
                    workers=3, epochs=epochs, train={"global_batch": 200},
                    model={"us_per_step": 40000}))
                wait_until(lambda: self.committed(run) >= shown, "that step")
                victims = dice.sample(read_json(run / "workers.json")
                                      ["workers"], 1 + seed % 2)
                time.sleep(dice.uniform(0, 0.04))
                for victim in victims:
                    kill(victim["pid"])
                self.ended_well(one, run, epochs)


if __name__ == "__main__":
    unittest.main()
