"""Goal: what a run begins with is what its parent ended with, and stays that: a
model, or the copy that the new run keeps, that somebody changed or removed is
found by name, and never trained on in silence. Method: real runs, whose files
are changed in place here.
"""
import json
import shutil
import signal
import unittest

import numpy

from harness.jobs import merged
from harness.run_files import read_json
from harness.waiting import wait_until

from ballast_test import BallastTest
from go_on import mlp, sha256_of, steps_of, weights_of


def change(file, number=0.25):
    """The last value of the file, in place: all its names see that."""
    with open(file, "r+b") as out:
        out.seek(-4, 2)
        out.write(numpy.float32(number).tobytes())


class ChangedParents(BallastTest):
    def refused_branch(self, parts, source, *arguments):
        one, run = self.new_run(mlp(), "--from", source, *arguments)
        self.assertEqual(one.wait(60), 2, one)
        for part in [parts] if isinstance(parts, str) else parts:
            self.assertIn(part, one.last_line, one)
        self.assertFalse(run.exists(), one)

    def stopped(self, job, *arguments):
        one, run = self.new_run(job, *arguments)
        wait_until(lambda: (run / "steps.jsonl").is_file() and
                   (run / "steps.jsonl").stat().st_size, "steps")
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(60), 130, one)
        return run


class Models(ChangedParents):
    def test_that_are_not_what_the_run_ended_with_are_refused(self):
        parent = self.run_job(mlp())
        change(parent / "model.safetensors")
        other = "holds other parameters than"
        self.refused_branch(("/init/from", other, "RUN_DIR@STEP"), parent)
        rows = self.write("rows.csv", "a,b,c,d,e,f\n1,2,3,4,5,6\n")
        for out in ("folder", "model.onnx"):
            self.refused(2, other, "export", parent, "--out", out)
        self.refused(2, other, "predict", parent, "--data", rows, "--out",
                     "answers.csv")
        self.assertEqual({one.name for one in self.folder.iterdir()} &
                         {"folder", "model.onnx", "answers.csv"}, set())

    def test_with_numbers_that_nothing_can_be_learned_from_are_refused(self):
        parent = self.run_job(mlp())
        free = self.folder / "free.safetensors"
        shutil.copy(parent / "model.safetensors", free)
        change(free, numpy.nan)
        self.refused_branch(("/init/from", "holds NaN at"), free)

    def test_behind_a_link_are_kept_themselves(self):
        parent = self.run_job(mlp())
        hub = self.folder / "hub"
        (hub / "blobs").mkdir(parents=True)
        (hub / "snapshot").mkdir()
        shutil.copy(parent / "model.safetensors", hub / "blobs" / "abc")
        link = hub / "snapshot" / "model.safetensors"
        link.symlink_to("../blobs/abc")
        run = self.run_job(mlp(train={"epochs": 1}), "--from", link)
        kept = run / "parent.safetensors"
        self.assertFalse(kept.is_symlink())
        shutil.rmtree(hub)
        self.assertEqual(sha256_of(weights_of(kept)),
                         read_json(run / "report.json")["parent"]["sha256"])

    def test_of_a_run_that_goes_on_can_be_taken_at_any_time(self):
        """It keeps one checkpoint, and writes another every few steps."""
        one, parent = self.new_run(mlp(train={"epochs": 100000}, checkpoint={
            "every_steps": 2, "keep": 1}))
        wait_until(lambda: (parent / "checkpoints").is_dir() and
                   steps_of(parent), "a checkpoint")
        for _ in range(5):
            run = self.run_job(mlp(train={"epochs": 1}), "--from", parent)
            self.assertEqual(
                read_json(run / "report.json")["parent"]["sha256"],
                sha256_of(weights_of(run / "parent.safetensors")))
        self.assertTrue(one.running(), one)

    def test_of_a_run_that_failed_are_those_of_its_checkpoints(self):
        parent = self.run_job(mlp(), "--set", "/keep/best/metric=loss")
        (parent / "model.safetensors").unlink()
        report = read_json(parent / "report.json")
        (parent / "report.json").write_text(json.dumps(
            {**report, "state": "failed"}), encoding="utf-8")
        self.refused_branch(("failed, and left no model",
                             str(steps_of(parent)[-1])), f"{parent}@best")
        self.refused(2, ("the run failed", "@STEP"), "export", parent, "--out",
                     "folder")

    def test_of_other_classes_are_told_of(self):
        def rows(*names):
            return "x,y\n" + "".join(
                f"{i},{names[i % len(names)]}\n" for i in range(60))

        def job(table):
            out = mlp(train={"epochs": 1})
            out["data"] = {"train": {"format": "csv", "uri": str(table),
                                     "label": "y"}, "test_fraction": 0}
            return out
        parent = self.run_job(job(self.write("one.csv", rows("fig", "plum"))))
        other = job(self.write("two.csv", rows("plum", "apple")))
        one, _ = self.new_run(other, "--from", parent)
        self.assertEqual(one.wait(60), 0, one)
        one.said("class 0 is 'apple', was 'fig'", "err")
        one, _ = self.new_run(job(self.folder / "one.csv"), "--from", parent)
        self.assertEqual(one.wait(60), 0, one)
        self.assertNotIn("was '", one.err)

    def test_of_no_name_are_no_new_beginning(self):
        """As from a variable of the shell that is not set."""
        self.refused_branch("found an empty text", "")


class KeptOnes(ChangedParents):
    def test_that_somebody_has_changed_are_not_gone_on_with(self):
        parent = self.run_job(mlp())
        run = self.stopped(mlp(train={"epochs": 100000}), "--from", parent)
        self.ballast("audit", run)
        whole = (run / "parent.safetensors").read_bytes()
        # A second name of the same file.
        change(parent / "model.safetensors")
        other = ("parent.safetensors", "than the run began with")
        self.refused(1, other, "audit", run)
        self.refused(2, (*other, "put it back"), "run", "--resume", run,
                     "--no-progress")
        (run / "parent.safetensors").write_bytes(b"")
        self.refused(2, ("parent.safetensors", "is damaged"), "run",
                     "--resume", run, "--no-progress")
        (run / "parent.safetensors").write_bytes(whole)
        self.ballast("audit", run)
        (run / "parent.json").unlink()
        self.refused(1, "parent.json", "audit", run)

    def test_are_found_by_a_replay_wherever_that_is_started(self):
        parent = self.run_job(mlp())
        run = self.run_job(mlp(train={"epochs": 2}), "--from", parent.name)
        shutil.rmtree(parent)
        found = self.ballast("audit", run.name, "--replay")
        self.assertIn("the same bits", found.out)
        report = read_json(run / "report.json")
        report["parent"]["step"] += 1
        (run / "report.json").write_text(json.dumps(report), encoding="utf-8")
        self.refused(1, "report.json has another parent", "audit", run)


class Folders(ChangedParents):
    def test_of_a_model_are_audited_with_their_run(self):
        run = self.run_job(mlp(train={"epochs": 1}))
        model = run / "model" / "model.safetensors"
        kept = model.read_bytes()
        model.unlink()  # a second name of model.safetensors
        model.write_bytes(kept)
        self.ballast("audit", run)
        change(model)
        self.refused(1, "model/model.safetensors is not the model", "audit",
                     run)
        model.write_bytes(kept)
        card = read_json(run / "model" / "card.json")
        (run / "model" / "card.json").write_text(json.dumps(
            {**card, "weights_sha256": "0" * 64}), encoding="utf-8")
        self.refused(1, "model/card.json has another weights_sha256", "audit",
                     run)

    def test_are_copied_and_not_exported_once_more(self):
        run = self.run_job(mlp(train={"epochs": 1}), "--set",
                           "/keep/best/metric=loss")
        self.refused(2, ("is such a folder already", "cp -r"), "export",
                     run / "model", "--out", "again")
        self.refused(2, "is an exported model", "run", self.write(
            "job.json", merged(mlp(), {"name": "x"})), "--from",
                     f"{run / 'model'}@best")


if __name__ == "__main__":
    unittest.main()
