"""Goal: a run waits for space on a full disk and goes on by itself; one whose
disk stays full ends with one line that says so, and what was written stays
readable. Method: real runs on a file system of a few megabytes in a namespace
of their own, under a limit on the size of files, or with fault points that fail
a write while a file exists.
"""
import contextlib
import os
import pathlib
import re
import resource
import signal
import subprocess
import unittest

from harness.exactness import check_run
from harness.http_client import control, request
from harness.jobs import emulated_job, endless_job, merged
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from ballast_test import BallastTest


def small_disks():
    """Whether this machine lets us mount a file system of our own."""
    done = subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True, check=False)
    return done.returncode == 0


@unittest.skipUnless(small_disks(), "mounting in a namespace is not permitted")
class FullDisk(BallastTest):
    """The run directory, the cache or the log lies on a disk that is soon
    full: exit 1, one line says so, what was written stays readable."""

    SCRIPT = """
        disk=$1 size=$2 kept=$3; shift 3
        mkdir -p "$disk"
        mount -t tmpfs -o size="$size" none "$disk" || exit 99
        "$@"
        code=$?
        cp -r "$disk" "$kept"
        exit $code
    """

    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.kept = self.folder / "kept"  # the disk dies with its namespace

    def begin(self, job, size, *arguments, grace_s=0):
        """Runs a job with its run directory on the disk; the process."""
        job = merged(job, {"elastic": {"grace_s": grace_s}})
        return self.start(
            "run", self.write("job.json", job), "--run-dir", self.disk / "run",
            "--no-progress", *arguments,
            wrapper=("unshare", "-m", "sh", "-c", self.SCRIPT, "sh",
                     str(self.disk), size, str(self.kept)))

    def fills(self, job, size, *arguments):
        """The run that fills the disk."""
        one = self.begin(job, size, *arguments)
        self.ends_full(one)
        return one

    def ends_full(self, one):
        self.assertEqual(one.wait(60), 1, one)
        self.nobody_left(one, 2)
        self.says_full(one)

    def seen(self, one):
        """The disk, which only the processes of the run have mounted."""
        return pathlib.Path(f"/proc/{one.pid}/root{self.disk}")

    @staticmethod
    def fill(disk, but_bytes=0):
        """By something else than the run."""
        with open(disk / "filler", "wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while file.write(bytes(4096)):
                    pass
            file.truncate(max(0, file.tell() - but_bytes))

    def says_full(self, one):
        self.assertRegex(one.last_line, "No space left on device|is full")
        self.assertIn(str(self.disk), one.last_line)

    def stays_readable(self, batch, finished=False):
        run = self.kept / "run"
        found = check_run(run, batch)
        self.assertGreater(found.steps, 0)
        # A line of a trace may be torn: the last one that was written.
        wrong = [p for p in found.problems if "the traces hold" not in p]
        self.assertEqual(wrong, [], found)
        self.assertTrue(read_json(run / "job.json"))
        self.assertTrue(read_json(run / "workers.json"))
        self.assertTrue(read_lines(run / "events.jsonl"))
        report = run / "report.json"
        if report.exists():
            self.assertEqual(read_json(report)["state"], "failed")
        self.assertFalse((run / "model.safetensors").exists() and not finished)
        audit = self.audit(run)
        self.assertEqual(audit["repeated"], 0)

    def test_by_the_records_of_its_steps(self):
        self.fills(emulated_job(20000, batch=1, epochs=100,
                                trace_samples=False), "700k")
        self.stays_readable(1)

    def test_by_its_traces(self):
        # Slower than the coordinator, which writes the steps down meanwhile.
        self.fills(emulated_job(20000, batch=512, epochs=10000,
                                us_per_step=5000), "900k")
        self.stays_readable(512)

    def test_by_its_model(self):
        self.fills(emulated_job(500, batch=100, parameters=2_000_000), "2m")
        self.stays_readable(100)

    def test_a_checkpoint_that_does_not_fit(self):
        """It is given up, and the run goes on; with room for it the next one
        is made."""
        job = merged(endless_job(model={"parameters": 300_000}), {
            "train": {"epochs": 8}, "checkpoint": {"every_steps": 50, "every_s": 0}})
        one = self.begin(job, "16m")
        run = self.seen(one) / "run"

        def events(kind):
            return [e for e in read_lines(run / "events.jsonl")
                    if e["kind"] == kind]
        wait_until(lambda: events("checkpoint"), "a checkpoint")
        self.fill(self.seen(one), 600_000)
        failed = wait_until(lambda: events("checkpoint_failed"), "one less")[0]
        self.assertEqual(failed["code"], "disk_full")
        self.assertRegex(failed["message"], "checkpoints/.*No space left")
        # One or more, each whole: nothing of the one that did not fit is left.
        self.assertEqual({path.name[:5] for path in
                          (run / "checkpoints").iterdir()}, {"step-"})
        made = len(events("checkpoint"))
        (self.seen(one) / "filler").unlink()
        wait_until(lambda: len(events("checkpoint")) > made, "another")
        self.assertEqual(one.wait(60), 0, one)
        self.assertEqual(check_run(self.kept / "run", 20, 8).problems, [])
        self.audit(self.kept / "run")

    def test_that_is_freed(self):
        """By its steps and traces, and journal and events, which share it."""
        job = merged(endless_job(), {"train": {"epochs": 6}})
        one = self.begin(job, "16m", grace_s=60)
        steps = self.seen(one) / "run" / "steps.jsonl"
        wait_until(lambda: len(read_lines(steps)) > 20, "steps")
        self.fill(self.seen(one))
        one.said("disk full: .*up to 60 s", "err")
        (self.seen(one) / "filler").unlink()
        self.assertEqual(one.wait(60), 0, one)
        run = self.kept / "run"
        self.assertEqual(check_run(run, 20, 6).problems, [])
        self.audit(run)
        kinds = [e["kind"] for e in read_lines(run / "events.jsonl")]
        self.assertIn("disk_full", kinds)
        self.assertNotIn("worker_lost", kinds)

    def test_before_the_first_step(self):
        one = self.fills(emulated_job(20000, data={"chunk_rows": 1}), "60k")
        self.assertFalse((self.kept / "run" / "model.safetensors").exists())
        self.assertEqual(one.out.count("done"), 0)

    def test_the_cache(self):
        self.environment["BALLAST_CACHE"] = str(self.disk / "cache")
        run = self.folder / "run"
        one = self.start(
            "run", self.write("job.json", emulated_job(
                100000, elastic={"grace_s": 0})), "--run-dir",
            run, "--no-progress",
            wrapper=("unshare", "-m", "sh", "-c", self.SCRIPT, "sh",
                     str(self.disk), "1m", str(self.kept)))
        self.assertEqual(one.wait(60), 1, one)
        self.says_full(one)
        left = [path for path in (self.kept / "cache").glob("*")
                if path.name not in ("locks", "sources")]
        self.assertEqual(left, [])


class FullJournal(BallastTest):
    """No room is left for the journal in the midst of a run: the limit on the
    size of a coordinator's files fails a write in the same way."""

    def test_who_cannot_journal_a_change_does_not_make_it(self):
        job = merged(endless_job(model={"parameters": 23}),
                     {"train": {"epochs": 4}, "elastic": {"grace_s": 1}})
        one, run = self.new_run(job)
        wait_until(lambda: len(read_lines(run / "steps.jsonl")) > 5, "steps")
        coordinator = read_json(run / "coordinator.json")["pid"]
        full = (run / "ledger.sqlite-wal").stat().st_size
        resource.prlimit(coordinator, resource.RLIMIT_FSIZE, (full, full))
        os.kill(read_json(run / "workers.json")["workers"][1]["pid"],
                signal.SIGKILL)
        self.assertEqual(one.wait(30), 1, one)
        self.assertIn(f"the journal {run}/ledger.sqlite", one.last_line)
        self.assertIn("make space", one.last_line)
        self.assertIn(f"`ballast run --resume {run}` goes on", one.last_line)
        self.nobody_left(one, 2)
        # What was not journaled did not happen, and nobody says that it did.
        self.assertEqual(len([e for e in read_lines(run / "events.jsonl")
                              if e["kind"] == "generation"]), 1)
        self.assertEqual(read_json(run / "report.json")["state"], "failed")
        self.assertFalse((run / "model.safetensors").exists())
        self.assertEqual(check_run(run, 20).problems, [])
        self.assertEqual(self.audit(run)["repeated"], 0)
        # With space it goes on to an exact end.
        path = self.write("again.json", job)
        self.ballast("run", path, "--run-dir", run, "--resume", "--no-progress")
        self.assertEqual(check_run(run, 20, 4).problems, [])
        self.audit(run)


class Freed(BallastTest):
    """A write fails for want of space while a file exists."""

    FILES = {"cache.write": "/cache/", "journal.commit": "ledger.sqlite",
             "steps.append": "steps.jsonl", "events.append": "events.jsonl",
             "file.write.manifest.json": "manifest.json",
             "model.write": "model.safetensors",
             "file.write.report.json": "report.json"}

    def arm(self, *points):
        self.environment["BALLAST_FAULT_POINTS"] = ";".join(
            f"{point}=enospc?{self.flag(point)}" for point in points)

    def flag(self, point):
        return self.folder / f"full-{point}"

    def fill(self, point):
        self.flag(point).touch()

    def wait_for(self, one, run, point):
        """The run says what it waits for; then there is space."""
        def told():
            return re.search(
                f"disk full: .*{self.FILES[point]}.*No space left on device",
                self.status(run)["trouble"] or "")
        wait_until(told, f"{point} to be waited for by {one}")
        one.said("disk full: ", "err")
        self.flag(point).unlink()

    def status(self, run):
        return request(read_json(run / "coordinator.json")["http"]
                       + "/v1/status").json

    def events(self, run, kind):
        return [e for e in read_lines(run / "events.jsonl")
                if e["kind"] == kind]

    def goes_on(self, run):
        count = len(read_lines(run / "steps.jsonl"))
        wait_until(lambda: len(read_lines(run / "steps.jsonl")) > count + 5,
                   "more steps")

    def test_a_trace_is_waited_for_by_its_worker(self):
        self.arm("trace.write")
        one, run = self.new_run(merged(endless_job(), {
            "elastic": {"heartbeat_ms": 200}}))
        wait_until(lambda: len(read_lines(run / "steps.jsonl")) > 5, "steps")
        self.fill("trace.write")
        one.said("disk full: worker w[12] cannot write its trace", "err")
        self.assertIn("disk_full",
                      [w["phase"] for w in self.status(run)["workers"]])
        self.flag("trace.write").unlink()
        self.goes_on(run)
        wait_until(lambda: self.events(run, "disk_full"), "what it was")
        self.assertEqual(self.events(run, "worker_lost"), [])
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(30), 130, one)
        self.assertEqual(check_run(run, 20).problems, [])

    def test_nobody_is_given_up_for_an_order_that_could_not_be_journaled(self):
        """A worker dies meanwhile; its replacement and the fence wait, too."""
        self.arm("journal.commit")
        one, run = self.new_run(merged(endless_job(workers=3), {
            "elastic": {"heartbeat_ms": 50}}))
        wait_until(lambda: len(read_lines(run / "steps.jsonl")) > 5, "steps")
        self.fill("journal.commit")
        victim = read_json(run / "workers.json")["workers"][1]
        os.kill(victim["pid"], signal.SIGKILL)
        one.said("disk full: ", "err")
        # Far more than the five heartbeats after which silence excludes.
        begun = self.status(run)["t_ns"]
        wait_until(lambda: self.status(run)["t_ns"] > begun + 1e9, "a second")
        self.flag("journal.commit").unlink()
        wait_until(lambda: len(self.events(run, "generation")) >= 2,
                   "a recovery")
        self.goes_on(run)
        self.assertEqual([e["worker"] for e in self.events(run, "worker_lost")],
                         [victim["name"]])
        self.assertEqual(self.events(run, "undone"), [])
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(30), 130, one)
        self.assertEqual(check_run(run, 20).problems, [])

    def test_a_coordinator_that_restarts_waits_for_its_journal(self):
        self.arm("journal.commit")
        one, run = self.new_run(merged(endless_job(), {
            "elastic": {"heartbeat_ms": 200}}))
        wait_until(lambda: len(read_lines(run / "steps.jsonl")) > 5, "steps")
        self.fill("journal.commit")
        os.kill(read_json(run / "coordinator.json")["pid"], signal.SIGKILL)
        one.said("starts another one", "err")
        one.said("disk full: .*ledger.sqlite", "err")
        self.flag("journal.commit").unlink()
        self.goes_on(run)
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(30), 130, one)
        self.assertEqual(check_run(run, 20).problems, [])

    def test_a_cache_that_stays_full_is_told_once_and_ends_with_the_way_on(
            self):
        """The grace of three seconds is over before it would be told again."""
        self.arm("cache.write")
        self.fill("cache.write")
        self.environment["BALLAST_CACHE"] = str(self.folder / "cache")
        one, run = self.new_run(emulated_job(elastic={"grace_s": 3}))
        self.assertEqual(one.wait(30), 1, one)
        self.assertEqual(one.err.count("disk full: "), 1, one)
        self.assertIn("No space left on device", one.last_line)
        self.assertIn("waited for 3 s; mend that, then `ballast run --resume "
                      f"{run}` goes on", one.last_line)
        self.flag("cache.write").unlink()
        self.ballast("run", "--resume", run, "--no-progress")
        self.audit(run)

    def test_at_each_kind_of_write_in_turn(self):
        lines = ["steps.append", "journal.commit", "events.append"]
        ends = ["model.write", "file.write.report.json"]
        begins = ["cache.write", "file.write.manifest.json"]
        self.arm(*begins, *lines, *ends)
        self.environment["BALLAST_CACHE"] = str(self.folder / "cache")
        for point in begins:
            self.fill(point)
        one, run = self.new_run(merged(endless_job(), {
            "elastic": {"heartbeat_ms": 200}}))
        for point in begins:
            wait_until(lambda: read_json(run / "coordinator.json"), "a run")
            self.wait_for(one, run, point)
        wait_until(lambda: len(read_lines(run / "steps.jsonl")) > 5, "steps")
        for point in lines:
            self.fill(point)
            control(read_json(run / "coordinator.json")["http"],
                    {"type": "checkpoint"})
            self.wait_for(one, run, point)
            self.goes_on(run)
        self.assertEqual(self.events(run, "worker_lost"), [])
        self.assertEqual(self.events(run, "undone"), [])
        self.assertGreaterEqual(len(self.events(run, "disk_full")), 4)
        for point in ends:
            self.fill(point)
        one.signal(signal.SIGINT)
        for point in ends:
            self.wait_for(one, run, point)
        self.assertEqual(one.wait(30), 130, one)
        self.assertTrue((run / "model.safetensors").exists())
        self.assertEqual(check_run(run, 20).problems, [])
        self.assertEqual(self.audit(run)["repeated"], 0)


if __name__ == "__main__":
    unittest.main()
