"""Goal: however a run ends, it ends at once, says why, writes what it promised
and leaves no process behind. Method: signals to every process of real runs, in
every phase; the dead are looked for in /proc.
"""
import contextlib
import os
import re
import shlex
import signal
import time
import unittest

from harness.exactness import check_run
from harness.http_client import control, request
from harness.jobs import emulated_job, endless_job
from harness.program import alive, command_of
from harness.run_files import read_json, read_lines
from harness.waiting import patience, wait_until

from ballast_test import BallastTest


class Ending(BallastTest):
    def begin(self, job, *arguments):
        one, self.run_dir = self.new_run(job, *arguments)
        return one

    def training(self, workers=2, **more):
        """A run in the midst of its steps."""
        one = self.begin(endless_job(workers, **more))
        self.after_steps(5)
        return one

    def after_steps(self, count):
        wait_until(lambda: len(read_lines(self.run_dir / "steps.jsonl")) >=
                   count, f"{count} steps", 30)

    def url(self):
        return wait_until(lambda: read_json(
            self.run_dir / "coordinator.json"), "coordinator.json")["http"]

    def status(self):
        with contextlib.suppress(OSError):
            return request(self.url() + "/v1/status").json
        return {"state": "gone", "workers": []}

    def pause(self):
        self.assertEqual(control(self.url(), {"type": "pause"}).status, 200)
        wait_until(lambda: self.status()["state"] == "paused", "the pause")

    def pids(self):
        """name -> pid, as the run itself says."""
        listed = read_json(self.run_dir / "workers.json")
        return {w["name"]: w["pid"] for w in listed["workers"]}

    def pid_of(self, one, name):
        """Of a worker that may not have joined yet."""
        return wait_until(lambda: next(
            (pid for pid in one.family()
             if f"--name {name} " in command_of(pid) + " "), 0),
            f"the process of {name}")

    def ends(self, one, code, seconds):
        """With this code, so soon, and nobody is left; the last line."""
        begun = time.monotonic()
        allowed = patience(seconds)
        self.assertEqual(one.wait(seconds), code, one)
        self.assertLess(time.monotonic() - begun, allowed)
        self.nobody_left(one, 1)
        return one.last_line

    @staticmethod
    def signal_was_read(one):
        """Two signals of a kind are one until the first was read."""
        def pending():
            with open(f"/proc/{one.pid}/status", encoding="utf-8") as file:
                masks = re.findall(r"(?:Sig|Shd)Pnd:\s*(\w+)", file.read())
            return any(int(mask, 16) >> (signal.SIGINT - 1) & 1
                       for mask in masks)
        wait_until(lambda: not pending(), "the signal to be read")

    def cut_but_whole(self, state):
        """What a stopped run leaves: model, report and a clean audit."""
        report = read_json(self.run_dir / "report.json")
        self.assertEqual(report["state"], state)
        steps = read_lines(self.run_dir / "steps.jsonl")
        self.assertEqual(report["steps"], len(steps))
        self.assertEqual(check_run(self.run_dir, 20).problems, [])
        self.assertTrue((self.run_dir / "model.safetensors").exists())
        self.assertEqual(self.audit(self.run_dir)["repeated"], 0)
        self.assertEqual(read_lines(self.run_dir / "events.jsonl")[-1]["kind"],
                         "done")
        return report

    def readable(self):
        """What a failed run leaves can still be read, and is consistent."""
        self.assertEqual(check_run(self.run_dir, 20).problems, [])
        self.assertEqual(read_json(self.run_dir / "report.json")["state"],
                         "failed")
        self.assertEqual(self.audit(self.run_dir)["repeated"], 0)
        kinds = [e["kind"] for e in read_lines(self.run_dir / "events.jsonl")]
        self.assertEqual(kinds[-1], "done")
        self.assertIn("error", kinds)


class Stopping(Ending):
    def test_ctrl_c_writes_model_and_report(self):
        one = self.training()
        pids = self.pids()
        one.signal(signal.SIGINT)
        self.ends(one, 130, 5)
        self.cut_but_whole("stopped")
        self.assertFalse([pid for pid in pids.values() if alive(pid)])

    def test_ctrl_c_says_how_to_go_on_in_a_line_to_paste(self):
        self.run_dir = self.folder / "my run's"
        one = self.start("run", self.write("job.json", endless_job()),
                         "--run-dir", self.run_dir.name, "--no-progress",
                         "--http", "127.0.0.1:0")
        self.assertEqual(one.said(r"page: (http://\S+/)\n", "err")[1],
                         self.url() + "/")
        self.after_steps(5)
        one.signal(signal.SIGINT)
        self.ends(one, 130, 5)
        before, line = one.err.splitlines()[-3:-1]
        self.assertEqual(before, "to go on with it:")
        words = shlex.split(line)
        self.assertEqual(words, ["ballast", "run", "--resume", "my run's",
                                 "--http", "127.0.0.1:0", "--no-progress"])
        steps = len(read_lines(self.run_dir / "steps.jsonl"))
        again = self.start(*words[1:])
        self.after_steps(steps + 5)
        again.signal(signal.SIGINT)
        self.ends(again, 130, 5)

    def test_sigterm_and_a_closed_terminal_do_the_same(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            one = self.training(3)
            one.signal(number)
            self.ends(one, 130, 5)
            self.cut_but_whole("stopped")

    def test_a_terminals_ctrl_c_does_not_reach_the_workers(self):
        one = self.training()
        # What a terminal does: to the whole foreground process group.
        os.killpg(one.pid, signal.SIGINT)
        self.ends(one, 130, 5)
        self.cut_but_whole("stopped")

    def test_stop_by_control_message(self):
        one = self.training()
        self.assertEqual(control(self.url(), {"type": "stop"}).status, 200)
        self.ends(one, 0, 5)
        self.cut_but_whole("stopped")

    def test_stop_of_a_paused_run(self):
        one = self.training()
        self.pause()
        one.signal(signal.SIGINT)
        self.ends(one, 130, 5)
        self.cut_but_whole("stopped")

    def test_a_stop_in_a_pause_leaves_nothing_to_undo(self):
        one = self.training()
        self.pause()
        one.signal(signal.SIGINT)
        self.ends(one, 130, 5)
        steps = read_json(self.run_dir / "report.json")["steps"]
        self.assertTrue(
            (self.run_dir / "checkpoints" / f"step-{steps}").is_dir())

    def test_of_what_cannot_be_audited_is_no_success(self):
        one = self.training()
        os.rename(self.run_dir / "manifest.json", self.run_dir / "away.json")
        self.assertEqual(control(self.url(), {"type": "stop"}).status, 200)
        last = self.ends(one, 1, 5)
        self.assertIn("cannot audit: no ", last)
        report = read_json(self.run_dir / "report.json")
        self.assertEqual((report["state"], report["audit"]), ("failed", None))
        self.assertIn("manifest.json", report["reason"])

    def test_the_only_worker_stands_still_for_a_while(self):
        one = self.training(1)
        pid = self.pid_of(one, "w1")
        os.kill(pid, signal.SIGSTOP)
        try:
            wait_until(lambda: "waits" in self.status(), "the wait")
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_until(lambda: self.status()["state"] == "training", "training")
        one.signal(signal.SIGINT)
        self.ends(one, 130, 5)
        self.cut_but_whole("stopped")
        self.assertFalse((self.run_dir / "undone.jsonl").exists())

    def test_a_second_ctrl_c_ends_it_at_once(self):
        # A step takes a minute: nobody can wait for its end.
        one = self.begin(emulated_job(100, batch=100, us_per_step=60_000_000))
        wait_until(lambda: [w for w in self.status()["workers"]
                            if w["phase"] == "compute"], "the first step")
        one.signal(signal.SIGINT)
        self.signal_was_read(one)
        one.signal(signal.SIGINT)
        self.assertIn("interrupted", self.ends(one, 130, 2))

    def test_ctrl_c_before_the_first_step(self):
        for moment in ("at once", "coordinator", "workers"):
            one = self.begin(endless_job())
            if moment == "coordinator":
                self.url()
            elif moment == "workers":
                self.pid_of(one, "w2")
            one.signal(signal.SIGINT)
            code = one.wait(10)
            # Before it handles signals the system's own way applies.
            allowed = (130, -2) if moment == "at once" else (130,)
            self.assertIn(code, allowed, one)
            self.nobody_left(one, 2)


class Killed(Ending):
    """Where nobody is left, and nobody comes: exit 1 within 3 s, one line says
    who and how. Every other death is survived: recovery_phases.py."""

    ALONE = {"respawn": False}

    def ends_by(self, one, pid, *parts):
        os.kill(pid, signal.SIGKILL)
        last = self.ends(one, 1, 3)
        for part in (*parts, "signal 9"):
            self.assertIn(part, last, one)

    def test_the_last_one_that_held_the_model(self):
        for workers in (1, 2):
            one = self.training(workers, elastic=self.ALONE)
            pids = self.pids()
            if workers == 2:
                os.kill(pids["w2"], signal.SIGKILL)
                wait_until(lambda: self.status().get("world") == 1,
                           "the other to go on")
            self.ends_by(one, pids["w1"], "worker w1",
                         "every worker that held the model")
            self.readable()

    def test_all_at_once(self):
        one = self.training(3, elastic=self.ALONE)
        pids = sorted(self.pids().values())
        for pid in pids[:-1]:
            os.kill(pid, signal.SIGKILL)
        self.ends_by(one, pids[-1], "every worker that held the model")
        self.readable()

    def ends_before_joining(self, elastic, *killed):
        """The run ends by the last of these workers, each killed before it
        joins. On a busy machine one may be faster: once more."""
        for tries_left in range(4, -1, -1):
            one = self.begin(endless_job(elastic=elastic))
            for name in killed:
                os.kill(self.pid_of(one, name), signal.SIGKILL)
            last = self.ends(one, 1, 3)
            self.assertIn("signal 9", last, one)
            if "before it joined" in last or tries_left == 0:
                self.assertIn("before it joined", last, one)
                self.assertIn(f"worker {killed[-1]}", last, one)
                return

    def test_before_it_joined_where_nobody_is_started_for_it(self):
        self.ends_before_joining(self.ALONE, "w2")

    def test_while_it_waits_for_others_to_join(self):
        one = self.begin(endless_job(elastic=self.ALONE))
        os.kill(self.pid_of(one, "w1"), signal.SIGSTOP)
        wait_until(lambda: [w for w in self.status()["workers"]
                            if w["name"] == "w2"], "w2 to join")
        pid = self.pid_of(one, "w2")
        self.ends_by(one, pid, "worker w2", f"pid {pid}")

    def test_workers_that_keep_dying_before_they_join(self):
        self.ends_before_joining({"respawn_limit": 2}, "w2", "w3", "w4")
        self.ends_before_joining({"respawn_limit": 0}, "w1")


class Orphans(Ending):
    """Who is killed without a word leaves no children behind, where nobody is
    to wait for another coordinator; takeover.py has the rest."""

    GIVE_UP = {"orphan_s": 0}

    def test_of_a_killed_supervisor(self):
        for workers in (1, 3):
            one = self.training(workers, elastic=self.GIVE_UP)
            one.signal(signal.SIGKILL)
            self.assertEqual(one.wait(5), -9)
            self.nobody_left(one, 2)
            # No report: nobody was there to write it. The rest is whole.
            self.assertEqual(check_run(self.run_dir, 20).problems, [])
            self.ballast("audit", self.run_dir)

    def test_of_a_supervisor_killed_early(self):
        for moment in (self.url, lambda: self.pid_of(one, "w1")):
            one = self.begin(endless_job())
            moment()
            one.signal(signal.SIGKILL)
            self.nobody_left(one, 2)

    def test_of_a_supervisor_killed_in_a_pause(self):
        one = self.training(elastic=self.GIVE_UP)
        self.pause()
        one.signal(signal.SIGKILL)
        self.nobody_left(one, 2)

    def test_of_a_coordinator_killed_before_the_first_step(self):
        for moment in (self.url, lambda: self.pid_of(one, "w2")):
            one = self.begin(endless_job())
            moment()
            pid = wait_until(lambda: read_json(
                self.run_dir / "coordinator.json"), "the file")["pid"]
            os.kill(pid, signal.SIGKILL)
            # Once its data were prepared it can go on.
            wait_until(lambda: not one.running() or
                       self.status()["state"] == "training", "an end")
            if one.running():
                one.signal(signal.SIGINT)
                self.ends(one, 130, 5)
                continue
            last = self.ends(one, 1, 3)
            self.assertIn(f"the coordinator (pid {pid}) killed by signal 9",
                          last)

    def test_of_a_coordinator_killed_as_it_starts(self):
        flag = self.write("once", "")
        point = "coordinator.listen=kill"
        self.environment["BALLAST_FAULT_POINTS"] = f"{point}!{flag}"
        one = self.begin(emulated_job())
        self.assertEqual(one.wait(30), 0, one)
        self.assertIn("killed by signal 9 (Killed): starts another one",
                      one.err)
        self.environment["BALLAST_FAULT_POINTS"] = point
        one = self.begin(emulated_job())
        self.assertIn("5 coordinators in a row died before they were ready",
                      self.ends(one, 1, 20))

    def test_a_coordinator_that_stands_still_is_told_of(self):
        one = self.training()
        pid = read_json(self.run_dir / "coordinator.json")["pid"]
        os.kill(pid, signal.SIGSTOP)
        one.said(rf"the coordinator \(pid {pid}\) is stopped \(state T\): "
                 "waits until it continues", "err", 5)
        os.kill(pid, signal.SIGCONT)
        one.said("goes on after", "err", 5)
        one.signal(signal.SIGINT)
        self.ends(one, 130, 5)
        self.cut_but_whole("stopped")

    def test_a_silent_coordinator_can_be_left(self):
        one = self.training()
        pid = read_json(self.run_dir / "coordinator.json")["pid"]
        os.kill(pid, signal.SIGSTOP)
        one.signal(signal.SIGINT)
        one.said("another Ctrl-C ends it at once", "err", 5)
        self.signal_was_read(one)
        one.signal(signal.SIGINT)
        self.ends(one, 130, 3)


if __name__ == "__main__":
    unittest.main()
