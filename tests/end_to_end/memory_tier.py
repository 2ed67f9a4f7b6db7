"""Goal: where all who hold the model die at once, a run goes back to the
checkpoint in memory, a second old, and not to the disk's, an hour old; what
lies in memory is gone when the run is over, and nothing is lost with it.
Method: real processes, kill -9; memory that is small or damaged; workers that
see neither the files nor the memory of the coordinator's host.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import unittest

from harness.jobs import endless_job, merged
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from full_disk import small_disks
from recovery import job_of
from takeover import Takeover
from two_hosts import REASON, TwoHosts

MEMORY = pathlib.Path("/dev/shm")
SELDOM = {"every_steps": 5, "every_s": 3600, "memory_every_s": 1}


def memory_of(run):
    """The folder of that run in memory; None: there is none."""
    for folder in MEMORY.glob("ballast-*"):
        with contextlib.suppress(OSError):
            if (folder / "run").read_text(encoding="utf-8") == \
                    str(run.resolve()) + "\n":
                return folder
    return None


def steps_in(folder):
    return sorted(int(path.name.rpartition("-")[2])
                  for path in folder.glob("step-*")) if folder else []


def on_disk(run):
    return steps_in(run / "checkpoints")


def in_memory(run):
    return steps_in(memory_of(run))


def forget(run):
    if folder := memory_of(run):
        shutil.rmtree(folder, ignore_errors=True)


class MemoryTier(Takeover):
    def begin_with(self, job):
        """Trains, and memory has a newer checkpoint than the disk."""
        one, run = self.begin(job)
        self.addCleanup(forget, run)
        self.steps_behind_memory(run)
        return one, run

    def steps_behind_memory(self, run, after=0):
        """A newer one than the disk's, and than that step."""
        def found():
            memory, disk = in_memory(run), on_disk(run)
            return memory and disk and memory[-1] > max(after, disk[-1]) and \
                self.committed(run) > memory[-1] + 3
        wait_until(found, "steps behind a checkpoint in memory")

    def events(self, run, kind):
        return [e for e in read_lines(run / "events.jsonl")
                if e["kind"] == kind]

    def undone(self, run):
        return wait_until(lambda: self.events(run, "undone"), "the way back")

    def all_workers_die(self, run):
        for one in self.workers(run):
            self.kill(one["pid"])


class AllWorkers(MemoryTier):
    def test_the_run_goes_back_to_memory_and_is_exact(self):
        one, run = self.begin_with(job_of(3, 40, checkpoint=SELDOM))
        self.assertEqual(memory_of(run).stat().st_mode & 0o777, 0o700)
        self.all_workers_die(run)
        [back] = self.undone(run)
        self.assertGreater(back["to"], on_disk(run)[-1])
        self.ended_well(one, run, 40)
        self.assertIsNone(memory_of(run))
        where = [e["where"] for e in self.events(run, "checkpoint")]
        self.assertEqual(where[0], "disk")
        self.assertIn("memory", where)
        # The disk has had its one for this hour.
        self.assertEqual(where.count("disk"), 1)

    def test_twice(self):
        one, run = self.begin_with(job_of(2, 60, checkpoint=SELDOM))
        self.all_workers_die(run)
        self.undone(run)
        wait_until(lambda: len(self.workers(run)) == 2, "two others")
        self.steps_behind_memory(run, in_memory(run)[-1])
        self.all_workers_die(run)
        first, second = wait_until(
            lambda: len(self.undone(run)) == 2 and self.undone(run),
            "the second way back")
        self.assertGreater(second["to"], first["to"])
        self.ended_well(one, run, 60)

    def test_a_run_that_nobody_can_go_on_with_saves_it(self):
        job = job_of(2, 200, checkpoint=SELDOM, elastic={"respawn": False})
        one, run = self.begin_with(job)
        self.all_workers_die(run)
        self.assertEqual(one.wait(30), 1, one)
        self.assertIsNone(memory_of(run))
        kept = on_disk(run)
        self.assertEqual(len(kept), 2)
        report = read_json(run / "report.json")
        self.assertLess(kept[0], kept[1])
        self.assertLessEqual(kept[1], report["steps"])
        again = self.resume(merged(job, {"elastic": {"respawn": True}}), run)
        [back] = self.undone(run)
        self.assertEqual(back["to"], kept[1])
        again.signal(signal.SIGINT)
        self.assertEqual(again.wait(30), 130, again)


    def test_what_somebody_removes_is_made_again(self):
        one, run = self.begin_with(job_of(2, 60, checkpoint=SELDOM))
        gone = in_memory(run)[-1]
        forget(run)
        [refused] = wait_until(lambda: self.events(run, "checkpoint_refused"),
                               "the loss")
        self.assertIn("removed", refused["reason"])
        self.steps_behind_memory(run, gone)
        self.assertEqual(self.events(run, "checkpoint_failed"), [])
        self.all_workers_die(run)
        [back] = self.undone(run)
        self.assertGreater(back["to"], gone)
        self.ended_well(one, run, 60)

    def test_what_is_removed_is_not_gone_back_to(self):
        seldom = {**SELDOM, "memory_every_s": 5}
        one, run = self.begin_with(job_of(2, 100, checkpoint=seldom))
        saved = on_disk(run)[-1]
        forget(run)
        wait_until(lambda: self.events(run, "checkpoint_refused"), "the loss")
        self.all_workers_die(run)
        [back] = self.undone(run)
        self.assertEqual(back["to"], saved)
        self.ended_well(one, run, 100)


class Everything(MemoryTier):
    def test_a_resume_goes_on_from_memory(self):
        job = job_of(3, 40, checkpoint=SELDOM)
        one, run = self.begin_with(job)
        self.kill_all(one)
        newest = in_memory(run)[-1]
        again = self.resume(job, run)
        [back] = self.undone(run)
        self.assertEqual(back["to"], newest)
        self.ended_well(again, run, 40)
        self.assertIsNone(memory_of(run))

    def test_a_changed_byte_costs_what_only_memory_has(self):
        job = job_of(2, 40, checkpoint=SELDOM)
        one, run = self.begin_with(job)
        self.kill_all(one)
        saved, newest = on_disk(run)[-1], in_memory(run)[-1]
        state = memory_of(run) / f"step-{newest}" / "state.safetensors"
        with open(state, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)[0]
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last ^ 1]))
        again = self.resume(job, run)
        backs = wait_until(lambda: [e for e in self.undone(run)
                                    if e["to"] == saved], "the disk's")
        self.assertEqual(len(backs), 1)
        [refused] = self.events(run, "checkpoint_refused")
        self.assertEqual((refused["checkpoint"], refused["where"]),
                         (f"step-{newest}", "memory"))
        self.assertIn("checksum", refused["reason"])
        self.ended_well(again, run, 40)

    def test_a_folder_that_others_may_use_is_looked_at_before(self):
        job = job_of(2, 40, checkpoint=SELDOM)
        one, run = self.begin_with(job)
        self.kill_all(one)
        newest, steps = in_memory(run)[-1], self.committed(run)
        memory_of(run).chmod(0o777)
        refused = self.resume(job, run)
        self.assertEqual(refused.wait(30), 2, refused)
        for part in ("chmod 700", f"step {newest} ", "on the disk"):
            self.assertIn(part, refused.last_line)
        self.assertEqual(self.committed(run), steps)
        memory_of(run).chmod(0o700)
        again = self.resume(job, run)
        [back] = self.undone(run)
        self.assertEqual(back["to"], newest)
        self.ended_well(again, run, 40)

    def test_a_stopped_run_has_its_last_state_on_the_disk(self):
        one, run = self.begin_with(job_of(2, 400, checkpoint=SELDOM))
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(30), 130, one)
        self.assertIsNone(memory_of(run))
        self.assertEqual(on_disk(run)[-1],
                         read_json(run / "report.json")["steps"])


@unittest.skipUnless(small_disks(), "mounting in a namespace is not permitted")
class TooSmall(MemoryTier):
    """12 MB of state, and 16 MB of memory for two of them."""

    WRAPPER = ("unshare", "-m", "sh", "-c",
               'mount -t tmpfs -o size=16m none /dev/shm && exec "$@"', "sh")

    def job(self, **checkpoint):
        return job_of(2, 3, model={"parameters": 3_000_000}, checkpoint={
            "every_steps": 5, "every_s": 3600, **checkpoint},
            trace_samples=True)

    def test_who_asks_for_it_is_refused_with_the_numbers(self):
        run = self.folder / "run"
        self.refused(2, ["checkpoint.memory_every_s", "12.0 MB each",
                         "need 24.0 MB", "/dev/shm has 16.8 MB free"],
                     "run", self.write("job.json", self.job(memory_every_s=5)),
                     "--run-dir", run, "--no-progress", wrapper=self.WRAPPER)
        self.assertFalse(run.exists())

    def test_who_does_not_is_told_and_has_the_disk(self):
        one, run = self.new_run(self.job(), wrapper=self.WRAPPER)
        self.assertEqual(one.wait(90), 0, one)
        [told] = self.events(run, "no_memory_checkpoints")
        self.assertIn("need 24.0 MB", told["reason"])
        self.assertIn("checkpoints go to the disk alone", one.err)
        self.assertEqual({e["where"] for e in self.events(run, "checkpoint")},
                         {"disk"})


@unittest.skipIf(REASON, REASON)
class OnAnotherHost(TwoHosts):
    """The workers' host has other files, and another memory."""

    def on(self, host, *arguments):
        if host == "a":
            return super().on(host, *arguments)
        return self.start(*arguments, wrapper=(
            "ip", "netns", "exec", self.spaces[host], "unshare", "--uts",
            "-m", "sh", "-c",
            'hostname host-b && mount -t tmpfs none "$0" && '
            'mount -t tmpfs none /dev/shm && exec "$@"', self.state))

    def test_the_state_outlives_all_workers(self):
        job = merged(endless_job(2), {"trace_samples": False,
                                      "checkpoint": SELDOM})
        nodes = [self.node("b", name, "--insecure") for name in ("w1", "w2")]
        run = self.submit(job)
        self.addCleanup(forget, run)
        wait_until(lambda: on_disk(run) and in_memory(run) and
                   in_memory(run)[-1] > on_disk(run)[-1] and
                   len(read_lines(run / "steps.jsonl")) >
                   in_memory(run)[-1] + 3,
                   "steps behind a checkpoint in memory")
        for one in nodes:
            one.signal(signal.SIGKILL)
        for one in nodes:
            one.wait()
        [back] = wait_until(lambda: self.events(run, "undone"), "the way back")
        self.assertEqual(back["to"], in_memory(run)[-1])
        for name in ("w3", "w4"):
            self.node("b", name, "--insecure")
        wait_until(lambda: self.status()["state"] == "training" and
                   self.status()["step"] > back["from"], "steps of the others")
        self.here("ctl", "stop", "--to", self.url)
        wait_until(lambda: self.status()["state"] == "stopped", "the end")
        self.assertIsNone(memory_of(run))
        audit = self.audit(run)
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
