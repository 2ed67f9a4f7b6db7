"""Goal: `ballast audit --replay` trains a reproducible run again on one worker
and names the first thing that differs, and nothing where nothing does. Method:
real runs, of which one file at a time is changed.
"""
import contextlib
import json
import shutil
import sqlite3
import unittest

from harness.run_files import read_json, read_lines

from reproducible import OTHER_BITS, WIDE, Alike, table_job
from resume import ROWS, Resume


class Replayed(Resume, Alike):
    """`ballast audit --replay`."""

    def test_a_run_of_three_workers_is_the_same_on_one(self):
        run = self.run_job(table_job(3))
        found = json.loads(
            self.ballast("audit", run, "--replay", "--json").out)
        self.assertTrue(found["same"], found)
        self.assertEqual(found["problems"], [])
        self.assertGreater(found["digests_compared"], 0)
        self.assertEqual(found["digests_compared"], found["digests_due"])
        self.assertEqual(found["losses_compared"], found["steps"])
        self.assertEqual(found["weights_sha256"],
                         read_json(run / "report.json")["weights_sha256"])

    def test_the_first_step_and_tensor_that_differ_are_named(self):
        run = self.run_job(table_job(2, train={"digest_every_steps": 10}))
        with self.line_of(run / "digests.jsonl", '"step":30,') as one:
            one["tensors"]["fc2.weight"] = "0123456789abcdef"
        self.refused(1, ["after step 30", "'fc2.weight'"],
                     "audit", run, "--replay")

    def test_the_first_loss_that_differs_is_named(self):
        run = self.run_job(table_job(2, train={"digest_every_steps": 0}))
        with self.line_of(run / "steps.jsonl", '"step":7,') as one:
            one["loss"] += 1e-6
        self.refused(1, "the loss of step 7", "audit", run, "--replay")

    def test_a_stopped_run_is_repeated_up_to_where_it_was(self):
        """Its job would go on for hours."""
        run = self.stopped(table_job(2, train={"epochs": 1000000},
                                     checkpoint={"every_steps": 10,
                                                 "every_s": 0}))
        found = json.loads(
            self.ballast("audit", run, "--replay", "--json").out)
        self.assertTrue(found["same"], found)
        self.assertEqual(found["losses_compared"], found["steps"])
        self.assertTrue(found["compared_files"][0].endswith(
            "model.safetensors"),
                        found)
        self.flip_in(run / "model.safetensors")
        self.refused(1, ["model.safetensors", "has other parameters"], "audit",
                     run, "--replay")

    def test_a_model_that_no_report_vouches_for_is_compared(self):
        """All died between the two."""
        run = self.run_job(table_job(2))
        (run / "report.json").unlink()
        self.assertIn("no report.json has the hash of model.safetensors",
                      self.ballast("audit", run).out)
        found = json.loads(
            self.ballast("audit", run, "--replay", "--json").out)
        self.assertTrue(found["same"], found)
        self.assertTrue(found["compared_files"], found)
        self.flip_in(run / "model.safetensors")
        self.refused(1, ["model.safetensors", "has other parameters"], "audit",
                     run, "--replay")

    def test_a_digest_that_is_not_that_of_its_tensors_is_named(self):
        run = self.run_job(table_job(2))
        digests = read_lines(run / "digests.jsonl")
        with self.line_of(run / "digests.jsonl",
                          f'"step":{digests[0]["step"]},') as one:
            one["digest"] = "0" * 16
        self.refused(1, ["digests.jsonl", "the line was changed"], "audit",
                     run, "--replay")

    def test_results_that_contradict_each_other_are_named(self):
        run = self.run_job(table_job(2))
        kept = (run / "report.json").read_text(encoding="utf-8")
        for key in ("train_loss", "test_loss", "test_accuracy"):
            report = json.loads(kept)
            report[key] += 1e-6
            (run / "report.json").write_text(json.dumps(report),
                                             encoding="utf-8")
            for how in ([], ["--replay"]):
                self.refused(1, ["report.json has " + key], "audit", run, *how)
        (run / "report.json").write_text(kept, encoding="utf-8")
        self.ballast("audit", run)
        with contextlib.closing(sqlite3.connect(run / "ledger.sqlite")) as book:
            what = json.loads(book.execute(
                "SELECT what FROM evaluation_after WHERE epoch = 1").fetchone()[0])
            what["loss"] += 1e-6
            book.execute("UPDATE evaluation_after SET what = ? WHERE epoch = 1",
                         (json.dumps(what),))
            book.commit()
        self.refused(1, ["the evaluation after step 25 has test_loss"], "audit",
                     run)

    def test_lines_that_are_gone_and_another_best_one_are_named(self):
        run = self.run_job(table_job(2, keep={"best": {"metric": "loss"}}))
        kept = (run / "report.json").read_text(encoding="utf-8")
        report = json.loads(kept)
        for key, other in (("step", 25), ("value", 0.5)):
            changed = json.loads(kept)
            changed["best"][key] = other
            (run / "report.json").write_text(json.dumps(changed),
                                             encoding="utf-8")
            self.refused(1, f"report.json has {key} ", "audit", run)
        (run / "report.json").write_text(json.dumps(
            {**report, "model_step": 1}), encoding="utf-8")
        self.refused(1, "report.json has model_step 1", "audit", run)
        (run / "report.json").write_text(kept, encoding="utf-8")
        self.ballast("audit", run)
        lines = (run / "events.jsonl").read_text().splitlines(keepends=True)
        (run / "events.jsonl").write_text("".join(lines[:2] + lines[3:]))
        self.refused(1, "event 4 behind 2: lines were removed", "audit", run)

    def test_the_newest_checkpoint_of_a_run_that_died_is_compared(self):
        run = self.killed(table_job(2, train={"epochs": 1000000},
                                    checkpoint={"every_steps": 10,
                                                "every_s": 0}))
        found = json.loads(
            self.ballast("audit", run, "--replay", "--json").out)
        self.assertTrue(found["same"], found)
        self.assertIn("checkpoints/step-", found["compared_files"][-1])

    def test_losses_that_a_resume_has_restored_are_passed_by(self):
        run = self.run_job(table_job(2))
        with self.line_of(run / "steps.jsonl", '"step":7,') as one:
            one["loss"] = None
        found = json.loads(
            self.ballast("audit", run, "--replay", "--json").out)
        self.assertTrue(found["same"], found)
        self.assertEqual(found["losses_compared"], found["steps"] - 1)

    def test_steps_that_are_ahead_of_the_ledger_are_repeated(self):
        run = self.killed(table_job(2, train={"epochs": 1000000},
                                    checkpoint={"every_steps": 10,
                                                "every_s": 0}))
        steps = max(line["step"] for line in read_lines(run / "steps.jsonl"))
        with contextlib.closing(sqlite3.connect(run / "ledger.sqlite")) as book:
            book.execute("UPDATE progress SET step = step - 5")
            book.commit()
        found = json.loads(
            self.ballast("audit", run, "--replay", "--json").out)
        self.assertTrue(found["same"], found)
        self.assertEqual(found["losses_compared"], steps)

    def test_a_model_of_which_a_bit_is_flipped_is_found(self):
        run = self.run_job(table_job(2))
        self.flip_in(run / "model.safetensors")
        self.refused(1, "is not the model that report.json names", "audit",
                     run, "--replay")

    def test_a_machine_that_computes_other_bits_is_told_so(self):
        run = self.run_job(table_job(2, model=WIDE))
        with self.environment_of(OTHER_BITS):
            self.refused(2, "this machine computes other bits", "audit", run,
                         "--replay")

    @contextlib.contextmanager
    def line_of(self, file, part):
        """The first line with that part, to be changed."""
        lines = file.read_text().split("\n")
        at = next(i for i, line in enumerate(lines) if part in line)
        one = json.loads(lines[at])
        yield one
        lines[at] = json.dumps(one)
        file.write_text("\n".join(lines))

    def flip_in(self, file):
        """A bit of its last tensor."""
        content = bytearray(file.read_bytes())
        content[-2] ^= 1
        file.write_bytes(content)

    def test_another_test_loss_is_named(self):
        run = self.run_job(table_job(2, train={"digest_every_steps": 0}))
        with self.line_of(run / "events.jsonl",
                          '"kind":"evaluation"') as one:
            one["test_loss"] += 1e-6
        self.refused(1, "the test part after step 25", "audit", run,
                     "--replay")

    def test_a_copied_run_directory_will_do(self):
        run = self.run_job(table_job(2))
        there = self.folder / "copied"
        shutil.copytree(run, there, ignore=shutil.ignore_patterns("*.lock"))
        self.ballast("audit", there, "--replay")

    def test_a_run_without_an_order_of_its_sums_is_refused(self):
        job = table_job(1)
        for name in ("order", "reduction", "leaves"):
            del job["train"][name]
        run = self.run_job(job)
        self.refused(2, "/train/reduction", "audit", run, "--replay")

    def test_a_replay_with_other_data_or_another_program(self):
        table = self.write("train.csv", ROWS)
        job = table_job(1, train={"global_batch": 50})
        job["data"]["train"] = {"format": "csv", "uri": str(table),
                                "label": "y"}
        run = self.run_job(job)
        table.write_text(ROWS.replace("37,1", "38,1", 1), encoding="utf-8")
        self.refused(2, ["/data", "not those that the run was trained on"],
                     "audit", run, "--replay")
        table.write_text(ROWS, encoding="utf-8")
        self.ballast("audit", run, "--replay")
        with contextlib.closing(sqlite3.connect(run / "ledger.sqlite")) as file:
            file.execute("UPDATE origin SET build = 'ba11a57'")
            file.commit()
        self.refused(2, [str(run), "trained by build ba11a57"], "audit", run,
                     "--replay")


if __name__ == "__main__":
    unittest.main()
