"""Goal: whatever happened to a run directory, `ballast run --resume` goes on
from it, or says what is missing and leaves it as it is; nothing that an earlier
life wrote is ever lost. Method: real runs are stopped or killed, their
directories changed as a power cut, a full disk or a mistake changes them.
"""
import os
import random
import shutil
import signal
import unittest

from harness.jobs import merged
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from recovery import job_of
from run_digest import checkpoints_of, digest, what_went
from takeover import Takeover

ROWS = "x,y\n" + "".join(f"{i * 37 % 101},{i % 2}\n" for i in range(600))


def quick(epochs=4, **more):
    """21 steps an epoch of 8 ms; every checkpoint is kept."""
    return job_of(workers=2, epochs=epochs,
                  checkpoint={"every_steps": 10, "every_s": 0, "keep": 3},
                  **more)


class Resume(Takeover):
    def resume_dir(self, run, *arguments):
        return self.start("run", "--resume", run, "--no-progress", *arguments)

    def stopped(self, job):
        """The directory of a run that was stopped behind a checkpoint."""
        one, run = self.begin(job)
        wait_until(lambda: checkpoints_of(run), "a checkpoint")
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(20), 130, one)
        return run

    def killed(self, job, checkpoints=1):
        one, run = self.begin(job)
        wait_until(lambda: len(checkpoints_of(run)) >= checkpoints,
                   "checkpoints")
        shown = self.committed(run)
        wait_until(lambda: self.committed(run) > shown + 2, "steps behind it")
        self.kill_all(one)
        return run

    def refused_by(self, one, *parts):
        self.assertNotEqual(one.wait(30), 0, one)
        for part in parts:
            self.assertIn(part, one.last_line, one)

    def events(self, run, kind):
        return [e for e in read_lines(run / "events.jsonl")
                if e["kind"] == kind]


class Untouched(Resume):
    def test_a_resume_whose_data_are_gone_leaves_all_as_it_is(self):
        table = self.write("train.csv", ROWS)
        job = merged(quick(), {"data": {
            "train": {"format": "csv", "uri": str(table), "label": "y"}}})
        del job["data"]["train"]["rows"], job["data"]["train"]["classes"]
        del job["data"]["train"]["features"]
        job["data"]["train"] = {"format": "csv", "uri": str(table),
                                "label": "y"}
        run = self.stopped(job)
        before = digest(run)
        table.rename(self.folder / "away.csv")
        again = self.resume_dir(run)
        self.refused_by(again, "train.csv", f"ballast run --resume {run}")
        after = digest(run)
        self.assertEqual(what_went(before, after, 3), [])
        self.assertEqual(after["report.json"], before["report.json"])
        # Another row: other data.
        table.write_text(ROWS.replace("37,1", "38,1", 1), encoding="utf-8")
        self.refused_by(self.resume_dir(run), "training data have changed",
                        "chunk 0")
        self.assertEqual(what_went(before, digest(run), 3), [])
        (self.folder / "away.csv").rename(table)
        again = self.resume_dir(run)
        self.assertEqual(again.wait(60), 0, again)
        self.assertEqual(what_went(before, digest(run), 3), [])
        self.assertEqual(read_json(run / "report-1.json")["state"], "stopped")

    def test_a_refused_run_removes_only_what_it_made(self):
        job = quick()
        job["data"]["train"] = {"format": "csv", "uri": "/absent.csv",
                                "label": "y"}
        job = self.write("job.json", job)
        mine = self.folder / "mine"
        mine.mkdir()
        (mine / "thesis.tex").write_text("years of work", encoding="utf-8")
        self.refused(2, "is not empty", "run", job, "--run-dir", mine)
        self.assertEqual(os.listdir(mine), ["thesis.tex"])

    def test_another_job_is_refused_before_anything_is_touched(self):
        run = self.stopped(quick())
        before = digest(run)
        for change, where in (("/seed=77", "/seed"),
                              ("/train/global_batch=49", "/train"),
                              ("/model/parameters=24", "/model")):
            again = self.resume_dir(run, "--set", change)
            self.refused_by(again, "differs", where)
            after = digest(run)
            # What SQLite needs to read the journal; a log is added to.
            self.assertEqual(what_went(before, after, 3), [])
            self.assertEqual(after.keys() - before.keys() - {
                "ledger.sqlite-shm", "ledger.sqlite-wal"}, set())
        again = self.resume_dir(run, "--set", "/elastic/workers=3")
        self.ended_well(again, run, 4)


class OfALongRun(Resume):
    def test_reads_what_it_has_done_however_long_that_takes(self):
        run = self.stopped(quick())
        flag = self.folder / "armed"
        flag.touch()
        self.environment["BALLAST_FAULT_POINTS"] = \
            f"past.read=delay:11000!{flag}"
        again = self.resume_dir(run)
        self.assertEqual(again.wait(60), 0, again)
        self.assertFalse(flag.exists())
        self.assertEqual(read_json(run / "report.json")["state"], "done")


class WhoseCoordinatorDies(Resume):
    def test_goes_on_at_whichever_of_its_first_writes_that_is(self):
        for write in range(1, 5):
            with self.subTest(write=write):
                run = self.stopped(quick())
                flag = self.folder / "armed"
                flag.touch()
                self.environment["BALLAST_FAULT_POINTS"] = \
                    f"journal.commit=kill@{write}!{flag}"
                self.ended_well(self.resume_dir(run), run, 4)
                self.assertFalse(flag.exists())

    def test_waits_for_space_to_keep_that_it_goes_on(self):
        run = self.stopped(quick())
        full = self.folder / "full"
        full.touch()
        self.environment["BALLAST_FAULT_POINTS"] = \
            f"journal.commit=enospc@3-1000?{full}"
        again = self.resume_dir(run)
        again.said("disk full: .*ledger.sqlite", "err")
        full.unlink()
        self.ended_well(again, run, 4)


class AfterAPowerCut(Resume):
    def test_lines_that_were_lost_are_made_again(self):
        run = self.killed(quick(), 2)
        newest = checkpoints_of(run)[-1]
        steps = run / "steps.jsonl"
        lines = steps.read_bytes().splitlines(keepends=True)
        # Blocks behind the first lines never reached the disk.
        steps.write_bytes(b"".join(lines[:newest - 7]) + bytes(300))
        again = self.resume_dir(run)
        again.said("steps.jsonl is damaged from line", "err")
        self.ended_well(again, run, 4)
        restored = self.events(run, "steps_restored")[0]
        self.assertEqual(restored["from"], newest - 6)
        self.assertGreaterEqual(restored["to"], newest)
        self.assertEqual((run / "steps.jsonl.damaged-1").read_bytes(),
                         bytes(300))
        for undone in self.events(run, "undone"):
            self.assertGreaterEqual(undone["to"], newest)

    def test_a_torn_journal_is_repaired(self):
        dice = random.Random(int(os.environ.get("BALLAST_TEST_SEED", "1")))
        run = self.killed(quick(epochs=3), 2)
        wal = (run / "ledger.sqlite-wal").read_bytes()
        ended = set()
        for number in range(4):
            copy = self.folder / f"cut-{number}"
            shutil.copytree(run, copy)
            size = dice.randrange(len(wal))
            (copy / "ledger.sqlite-wal").write_bytes(wal[:size])
            again = self.resume_dir(copy)
            code = again.wait(60)
            ended.add(code)
            with self.subTest(size=size, of=len(wal)):
                if code == 0:
                    self.ballast("audit", copy)
                else:
                    # More was cut than a power cut can take: decisions are
                    # synced. It is named, and nothing is gone.
                    self.assertRegex(again.last_line, "ledger")
                    self.assertEqual(
                        what_went(digest(run), digest(copy), 3), [])
        self.assertLessEqual(ended, {0, 1, 2})

    def test_three_times_in_a_row_nothing_is_gone(self):
        run = self.killed(quick(epochs=8))
        for _ in range(3):
            before = digest(run)
            stood = self.committed(run)
            again = self.resume_dir(run)
            wait_until(lambda stood=stood: self.committed(run) > stood + 12 or
                       not again.running(), f"more steps of {again}")
            self.kill_all(again)
            self.assertEqual(what_went(before, digest(run), 3), [])
        self.ended_well(self.resume_dir(run), run, 8)


class StoppedWhilePreparing(Resume):
    """A request that was answered with ok shows in how the run ends."""

    def preparing(self, run):
        """A resume that reads its data, which finds no room in the cache."""
        full = self.write("full", "")
        self.environment["BALLAST_CACHE"] = str(self.folder / "cold")
        self.environment["BALLAST_FAULT_POINTS"] = f"cache.write=enospc?{full}"
        again = self.resume_dir(run)
        again.said("disk full", "err")
        return again

    def stopped_again(self, again, run, code):
        steps = self.committed(run)
        self.assertEqual(again.wait(20), code, again)
        self.assertIn("while the data were being prepared", again.last_line)
        self.assertIn("ballast run --resume", again.last_line)
        self.assertIn("stopped:", again.out)
        report = read_json(run / "report.json")
        self.assertEqual(report["state"], "stopped")
        self.assertEqual(report["steps"], steps)
        self.assertEqual(self.kinds(run)[-1], "done")

    def test_is_told_and_goes_on_later(self):
        run = self.killed(quick())
        before = digest(run)
        again = self.preparing(run)
        self.ballast("ctl", "stop", "--to", run)
        self.stopped_again(again, run, 0)
        again = self.preparing(run)
        again.signal(signal.SIGINT)
        self.stopped_again(again, run, 130)
        self.assertEqual(what_went(before, digest(run), 3), [])
        self.ballast("audit", run)
        del self.environment["BALLAST_FAULT_POINTS"]
        self.ended_well(self.resume_dir(run), run, 4)


class Mistakes(Resume):
    def test_each_is_named(self):
        empty = self.folder / "empty"
        empty.mkdir()
        job = self.write("job.json", quick())
        for parts, arguments in (
                (["expected JOB.json, or --resume RUN_DIR"], []),
                (["which run?"], ["--resume"]),
                (["there is no run directory", "absent"],
                 ["--resume", "absent"]),
                (["holds no run"], ["--resume", empty]),
                (["ballast run --resume"], [empty]),
                (["ballast run --resume"], [empty, "--resume"]),
                (["two run directories"],
                 ["--resume", empty, "--run-dir", "other"]),
                (["holds no run"], [job, "--resume", "--run-dir", empty])):
            self.refused(2, parts, "run", *arguments)
            self.assertEqual(os.listdir(empty), [])

    def test_a_second_resume_names_the_first(self):
        run = self.stopped(quick(epochs=200))
        first = self.resume_dir(run)
        wait_until(lambda: "report.json" not in os.listdir(run), "the first")
        second = self.resume_dir(run)
        self.refused_by(second, "is in use by process",
                        str(self.coordinator(run)))
        self.assertTrue(first.running())

    def test_a_run_killed_before_it_began_begins(self):
        self.environment["BALLAST_FAULT_POINTS"] = "run.begin=kill"
        one, run = self.new_run(quick(epochs=1))
        self.assertEqual(one.wait(20), 1, one)
        self.assertFalse((run / "manifest.json").exists())
        del self.environment["BALLAST_FAULT_POINTS"]
        again = self.resume_dir(run)
        again.said("begins from the beginning", "err")
        self.ended_well(again, run, 1)

    def test_a_manifest_that_is_lost_is_made_again(self):
        run = self.stopped(quick())
        text = (run / "manifest.json").read_text(encoding="utf-8")
        (run / "manifest.json").write_text(text[:40], encoding="utf-8")
        again = self.resume_dir(run)
        again.said("manifest.json was damaged", "err")
        self.ended_well(again, run, 4)
        self.assertIn(" s since it began", again.out)
        self.assertEqual((run / "manifest.json").read_text(encoding="utf-8"),
                         text)

    def test_a_model_that_cannot_be_read_gives_way_to_the_new_one(self):
        run = self.stopped(quick())
        torn = (run / "model.safetensors").read_bytes()[:90]
        (run / "model.safetensors").write_bytes(torn)
        again = self.resume_dir(run)
        self.ended_well(again, run, 4)
        self.assertEqual(again.err.count("model.safetensors.damaged-1"), 1)
        self.assertEqual(
            (run / "model.safetensors.damaged-1").read_bytes(), torn)
        self.assertEqual(len(self.events(run, "model_refused")), 1)

    def test_a_report_that_cannot_be_read_is_set_aside(self):
        run = self.stopped(quick())
        for number, content in enumerate((b"", b'{"state": "sto'), 1):
            (run / "report.json").write_bytes(content)
            again = self.resume_dir(run)
            again.said("report.json of the life before is no JSON object; it "
                       f"is kept as report-{number}.json", "err")
            self.assertEqual(
                (run / f"report-{number}.json").read_bytes(), content)
            if number == 1:
                self.kill_all(again)
        self.ended_well(again, run, 4)

    def test_what_will_be_undone_is_said(self):
        run = self.killed(quick())
        newest, shown = checkpoints_of(run)[-1], self.committed(run)
        again = self.resume_dir(run)
        again.said(f"goes on from step {newest}; steps {newest + 1} to {shown} "
                   "were committed but not saved", "err")
        self.ended_well(again, run, 4)


if __name__ == "__main__":
    unittest.main()
