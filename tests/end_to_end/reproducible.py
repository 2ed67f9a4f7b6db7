"""Goal: with order global and reduction canonical a run ends with the same bits
for every number of workers and whatever happens to them: the weights, the loss
of each step, and that of the test part. Method: real runs of small models, with
kills, frozen workers, joins and resumes onto another number by a seed.
"""
import contextlib
import json
import os
import random
import signal
import sqlite3
import time
import unittest

from harness.jobs import merged
from harness.live_run import LiveRun
from harness.program import LOOPBACK
from harness.run_files import read_json, read_lines
from harness.torchscript import save_script
from harness.waiting import wait_until

from ballast_test import BallastTest
from resume import Resume
from run_digest import digest, what_went

IMAGES = "/usr/share/datasets/fashion-mnist/"
# Products and sums without what this CPU has beyond the first of its kind.
WIDE = {"hidden": [64, 48]}
OTHER_BITS = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41",
              "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}


def table_job(workers, **more):
    """Some dense layers over made-up rows; 3 workers have uneven leaves."""
    return merged({
        "name": "reproducible", "seed": 5,
        "data": {"train": {"format": "synthetic", "rows": 3001, "classes": 4,
                           "features": 20}, "test_fraction": 0.2,
                 "chunk_rows": 64},
        "model": {"kind": "mlp", "hidden": [33, 17]},
        "train": {"epochs": 3, "global_batch": 100, "order": "global",
                  "reduction": "canonical", "leaves": 8,
                  "optimizer": {"kind": "adamw", "lr": 0.01}},
        "elastic": {"workers": workers, "heartbeat_ms": 1000}}, more)


def outcome(run):
    """What must be equal between two runs of one job."""
    report = read_json(run / "report.json")
    steps = [(one["step"], one["epoch"], one["samples"], one["loss"])
             for one in read_lines(run / "steps.jsonl")]
    tests = [(one["epoch"], one["test_loss"], one.get("metrics"))
             for one in read_lines(run / "events.jsonl")
             if one["kind"] == "evaluation"]
    return report["weights_sha256"], steps, tests


class Alike(BallastTest):
    def expect_alike(self, expected, run):
        weights, steps, tests = outcome(run)
        self.assertEqual(steps, expected[1])
        # events.jsonl does not tell of every epoch of a long run.
        before = {one[0]: one for one in expected[2]}
        for one in tests:
            self.assertEqual(one, before.get(one[0], one))
        self.assertEqual(tests[-1], expected[2][-1])
        self.assertEqual(weights, expected[0])
        self.audit(run)

    @contextlib.contextmanager
    def environment_of(self, more):
        before = dict(self.environment)
        self.environment.update(more)
        yield
        self.environment = before


class Reproducible(Alike):
    def test_every_number_of_workers_ends_with_the_same_bits(self):
        expected = outcome(self.run_job(table_job(1)))
        self.assertGreater(len(expected[1]), 70)
        for workers in (2, 3, 5):
            with self.subTest(workers=workers):
                self.expect_alike(expected,
                                  self.run_job(table_job(workers)))

    def test_threads_do_not_matter(self):
        self.expect_alike(
            outcome(self.run_job(table_job(1, train={"threads": 1}))),
            self.run_job(table_job(1, train={"threads": 2})))

    def test_more_workers_than_leaves_wait_as_spares(self):
        job = {"train": {"leaves": 2}}
        self.expect_alike(outcome(self.run_job(table_job(1, **job))),
                          self.run_job(table_job(3, **job)))

    def test_a_window_does_not_matter(self):
        job = {"train": {"shuffle": {"window_chunks": 3}}}
        self.expect_alike(outcome(self.run_job(table_job(1, **job))),
                          self.run_job(table_job(3, **job)))


class Kept(Alike):
    """What leaves were computed of a step that a death broke off."""

    def test_a_step_that_is_done_again_has_the_same_bits(self):
        def job(workers, us_per_sample):
            out = table_job(workers, trace_samples=True,
                            train={"epochs": 6, "leaves": 16, "threads": 1})
            out["model"] = {"kind": "emulated", "parameters": 5000,
                            "us_per_step": 0, "us_per_sample": us_per_sample}
            return out
        expected = outcome(self.run_job(job(1, 0)))
        # Of 60 ms, so that a kill is within a step.
        with LiveRun(job(4, 2400), self.folder / "killed",
                     self.environment["BALLAST_CACHE"]) as live:
            for turn in range(4):
                live.wait_full(4, steps=1)
                time.sleep(0.007 * turn)
                os.kill(sorted(live.workers().values())[turn % 4],
                        signal.SIGKILL)
            self.assertEqual(live.process.wait(120), 0, live.process)
        self.expect_alike(expected, live.run)
        with contextlib.closing(
                sqlite3.connect(live.run / "ledger.sqlite")) as ledger:
            plans = [json.loads(body) for (body,) in ledger.execute(
                "SELECT body FROM plan ORDER BY number")]
        kept = [plan["kept"] for plan in plans if "kept" in plan]
        self.assertTrue(kept, plans)
        for one in kept:
            leaves = sorted(leaf for own in one["leaves"]
                            for begin, end in own
                            for leaf in range(begin, end))
            self.assertEqual(leaves, list(range(16)))


class HandMade:
    """A coordinator, and nodes with an environment of their own."""

    def __init__(self, test):
        self.test = test
        self.runs = test.folder / "state" / "runs"
        lead = test.start("node", "--coordinator", "--listen", LOOPBACK,
                          "--http", LOOPBACK, "--state", test.folder / "state")
        self.address = lead.said(r"coordinator (\S+)")[1]
        self.url = lead.said(r"http (\S+)")[1]

    def node(self, name, environment=()):
        with self.test.environment_of(environment):
            one = self.test.start("node", "--join", self.address, "--name",
                                  name)
        one.said("joined as", "err")
        return one

    def submit(self, job):
        """The words of the command."""
        return ("submit", self.test.write("job.json", job), "--to", self.url,
                "--wait")


class Refused(Resume, Alike):
    """Each in one line, before anything starts."""

    def test_jobs_whose_sums_would_have_no_order(self):
        for pointer, says, *changes in (
                ("/train/reduction", "local", "/train/order=local",
                 "/train/leaves=8"),
                ("/train/compression", "none", "/train/compression=bf16"),
                ("/train/global_batch", "at least 8", "/train/global_batch=7"),
                ("/train/leaves", "4 or 8", "/train/leaves=6"),
                ("/train/collective", "gloo", "/train/collective=gloo"),
                ("/train/collective", "nccl", "/train/collective=nccl"),
                ("/train/importance/by", "none", "/train/importance/by=loss")):
            with self.subTest(pointer, says=says):
                job = table_job(2)
                if "/train/order=local" in changes:
                    del job["train"]["leaves"]
                    changes.remove("/train/leaves=8")
                run = self.folder / "refused"
                one = self.refused(
                    2, [pointer, says], "run", self.write("job.json", job),
                    "--run-dir", run, "--no-progress",
                    *(word for one in changes for word in ("--set", one)))
                self.assertEqual(len(one.err.splitlines()), 1, one)
                self.assertFalse(run.exists())

    def test_a_module_with_running_statistics(self):
        path = self.folder / "norm.pt"
        save_script(path, {"scale": (20,), "shift": (20,), "weight": (4, 20)}, [
            "x = torch.batch_norm(x, self.scale, self.shift, self.mean, "
            "self.variance, self.training, 0.1, 1e-5, False)",
            "return torch.linear(x, self.weight)"],
            {"mean": (20,), "variance": (20,)})
        job = table_job(2)
        job["model"] = {"kind": "torchscript", "path": str(path)}
        run = self.folder / "refused"
        self.refused(2, ["norm.pt", "mean", "changes in training"], "run",
                     self.write("job.json", job), "--run-dir", run,
                     "--no-progress")
        self.assertFalse(run.exists())

    def test_a_resume_with_another_order_or_other_leaves_or_another_seed(self):
        run = self.stopped(table_job(2, train={"epochs": 1000}, checkpoint={
            "every_steps": 10, "every_s": 0}))
        before = digest(run)
        job = read_json(run / "job.json")
        local = merged(job, {"train": {"order": "local"}})
        for name in ("leaves", "reduction", "kernels", "digest_every_steps"):
            del local["train"][name]
        for pointer, other in (
                ("/seed", merged(job, {"seed": 6})),
                ("/train", merged(job, {"train": {"leaves": 16}})),
                ("/train", local),
                ("/train", merged(job, {"train": {"shuffle": {
                    "window_chunks": 2}}}))):
            again = self.resume(other, run)
            self.assertEqual(again.wait(30), 2, again)
            self.refused_by(again, "differs", pointer)
            self.assertEqual(what_went(before, digest(run), 2), [])

    def says_who_computes_other_bits(self, text, who, others):
        for part in (who, f"computes other bits than {others}", "CPU",
                     "ATEN_*", "ballast doctor"):
            self.assertIn(part, text)

    def test_two_workers_that_compute_other_bits(self):
        """Nobody can say which is right."""
        cluster = HandMade(self)
        cluster.node("like")
        cluster.node("unlike", OTHER_BITS)
        one = self.refused(2, "reproducible-1 failed", *cluster.submit(
            table_job(2, model=WIDE)))
        named = "unlike" if "worker unlike" in one.last_line else "like"
        other = {"like": "unlike", "unlike": "like"}[named]
        self.says_who_computes_other_bits(one.last_line, f"worker {named} ",
                                          other)
        self.assertEqual(read_lines(cluster.runs / "reproducible-1" /
                                    "steps.jsonl"), [])

    def test_one_of_three_that_computes_other_bits(self):
        """The two others go on."""
        job = table_job(3, model=WIDE)
        expected = outcome(self.run_job(table_job(1, model=WIDE)))
        cluster = HandMade(self)
        unlike = cluster.node("unlike", OTHER_BITS)
        for name in ("a", "b"):
            cluster.node(name)
        submitted = self.start(*cluster.submit(job))
        unlike.said("computes other bits than [ab] ", "err", 60)
        self.assertEqual(submitted.wait(60), 0, submitted)
        self.expect_alike(expected, cluster.runs / "reproducible-1")

    def test_a_resume_where_all_compute_other_bits(self):
        job = table_job(2, model=WIDE, train={"epochs": 60}, checkpoint={
            "every_steps": 10, "every_s": 0})
        expected = outcome(self.run_job(merged(job, {"elastic": {
            "workers": 1}})))
        run = self.stopped(job)
        steps = self.committed(run)
        with self.environment_of(OTHER_BITS):
            again = self.resume_dir(run)
            self.assertEqual(again.wait(60), 2, again)
        self.says_who_computes_other_bits(again.last_line, "worker w",
                                          "this run did before")
        self.assertEqual(self.committed(run), steps)
        self.ballast("run", "--resume", run, "--no-progress")
        self.expect_alike(expected, run)

    def test_portable_kernels_on_machines_that_are_not_alike(self):
        """One has AVX2 at most, and another environment."""
        job = table_job(2, model=WIDE, train={"kernels": "portable"})
        expected = outcome(self.run_job(merged(job, {"elastic": {
            "workers": 1}})))
        cluster = HandMade(self)
        cluster.node("new", {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2"})
        cluster.node("old", {**OTHER_BITS, "MKL_ENABLE_INSTRUCTIONS": "AVX2"})
        submitted = self.start(*cluster.submit(job))
        self.assertEqual(submitted.wait(60), 0, submitted)
        self.expect_alike(expected, cluster.runs / "reproducible-1")

    def slow_down(self, cluster, factor):
        self.ballast("ctl", "slow_worker", "worker=like", f"factor={factor}",
                     "--to", cluster.url)

    def test_a_newcomer_that_computes_other_bits(self):
        job = table_job(1, faults=True, model=WIDE, train={"epochs": 60})
        expected = outcome(self.run_job(job))
        cluster = HandMade(self)
        cluster.node("like")
        submitted = self.start(*cluster.submit(job))
        run = cluster.runs / "reproducible-1"
        wait_until(lambda: read_lines(run / "steps.jsonl"), "steps")
        # Until the newcomer has loaded.
        self.slow_down(cluster, 100)
        unlike = cluster.node("unlike", OTHER_BITS)
        unlike.said("computes other bits", "err", 60)
        self.slow_down(cluster, 1)
        self.says_who_computes_other_bits(unlike.err, "unlike", "like")
        self.assertEqual(submitted.wait(60), 0, submitted)
        self.expect_alike(expected, run)


class Disturbed(Alike):
    JOB = {"faults": True, "train": {"epochs": 60},
           "checkpoint": {"every_s": 1, "every_steps": 10},
           "elastic": {"heartbeat_ms": 200, "respawn_limit": 1000}}

    def test_faults_leave_the_bits_as_they_are(self):
        expected = outcome(self.run_job(table_job(1, **self.JOB)))
        for seed in range(1, 4):
            with self.subTest(seed=seed):
                self.expect_alike(expected, self.disturbed(seed))

    def disturbed(self, seed):
        chance = random.Random(seed)
        job = table_job(chance.choice((2, 3)), **self.JOB)
        with LiveRun(job, self.folder / f"disturbed-{seed}",
                     self.environment["BALLAST_CACHE"]) as live:
            for _ in range(6):
                if not live.process.running():
                    break
                time.sleep(chance.uniform(0.05, 0.4))
                self.disturb(live, chance)
            self.assertEqual(live.process.wait(120), 0, live.process)
            return live.run

    def disturb(self, live, chance):
        workers = sorted(live.workers().items())
        what = chance.choice(("kill", "kill", "freeze", "slow", "all"))
        with contextlib.suppress(OSError, IndexError, TypeError,
                                 AssertionError):
            if what == "kill":
                os.kill(chance.choice(workers)[1], signal.SIGKILL)
            elif what == "freeze":
                name = chance.choice(workers)[0]
                live.post("stall_worker", worker=name, seconds=1)
            elif what == "slow":
                name = chance.choice(workers)[0]
                live.post("slow_worker", worker=name, factor=3)
            else:
                for _, pid in workers:
                    os.kill(pid, signal.SIGKILL)


@unittest.skipUnless(os.path.isdir(IMAGES), "without Fashion-MNIST")
class Models(Alike):
    """Of each kind some steps on images."""

    def check(self, model, **more):
        def job(workers):
            base = table_job(workers, **more)
            base["data"] = {
                "train": {"format": "idx",
                          "images": IMAGES + "t10k-images-idx3-ubyte.gz",
                          "labels": IMAGES + "t10k-labels-idx1-ubyte.gz"},
                "test_fraction": 0.02,
                "pipeline": [{"op": "scale", "factor": 1 / 255}]}
            base["model"] = model
            return merged(base, {"train": {"epochs": 1, "global_batch": 490}})
        expected = outcome(self.run_job(job(1), seconds=300))
        for workers in (2, 3):
            self.expect_alike(expected,
                              self.run_job(job(workers), seconds=300))

    def test_cnn(self):
        self.check({"kind": "cnn"})


if __name__ == "__main__":
    unittest.main()
