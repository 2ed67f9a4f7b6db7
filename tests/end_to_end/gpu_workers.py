"""Goal: the same program trains on GPUs, and a worker that dies there costs no
more than elsewhere. Method: real processes on whatever GPUs there are; several
share one. Exit code 77, with the reason, where no GPU can be trained on.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import unittest

from harness.jobs import merged
from harness.program import BINARY, EXAMPLES
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from ballast_test import BallastTest
from by_hand_cluster import Cluster


def why_no_gpu():
    """What `ballast doctor` says; empty where models can train on a GPU."""
    found = subprocess.run([BINARY, "doctor", "--json"], capture_output=True,
                           text=True, check=True)
    checks = {one["name"]: one for one in json.loads(found.stdout)["checks"]}
    gpus = [one for name, one in checks.items() if name.startswith("cuda:")]
    if any(one["result"] == "ok" for one in gpus):
        return ""
    return gpus[0]["found"] if gpus else checks["CUDA part"]["found"]


@contextlib.contextmanager
def gpu_that_is_almost_full(free_mb):
    """Another program holds all memory of the first GPU but so much."""
    script = f"""
import sys, torch
free, _ = torch.cuda.mem_get_info(0)
held = torch.empty(free - {free_mb} * 2**20, dtype=torch.uint8, device=0)
print("held", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", script], text=True,
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as other:
        if other.stdout.readline() != "held\n":
            raise unittest.SkipTest("no PyTorch that could fill a GPU")
        try:
            yield
        finally:
            other.stdin.close()


def job_of(name, **more):
    job = read_json(EXAMPLES / "jobs" / f"{name}.json")
    return merged(job, {"trace_samples": True, **more})


class OnGpus(BallastTest):
    def workers(self, run):
        return [w for w in read_json(run / "workers.json")["workers"]
                if w["state"] == "training"]

    def committed(self, run):
        path = run / "steps.jsonl"
        return len(read_lines(path)) if path.exists() else 0

    def test_trains_every_worker_on_a_gpu(self):
        one, run = self.new_run(job_of("fashion_mlp"))
        wait_until(lambda: self.committed(run) > 5, f"steps of {one}", 60)
        for worker in self.workers(run):
            self.assertRegex(worker["device"], "^cuda:[0-9]+$")
        self.assertEqual(one.wait(300), 0, one)
        self.assertGreater(read_json(run / "report.json")["test_accuracy"],
                           0.85)
        self.ballast("audit", run)

    def trains_through_a_kill(self, job, steps):
        """Kills a worker after so many steps: the others go on, in their
        processes, within two seconds, and every row is used once an epoch."""
        one, run = self.new_run(job)
        wait_until(lambda: self.committed(run) > steps, f"steps of {one}", 90)
        workers = self.workers(run)
        for worker in workers:
            self.assertRegex(worker["device"], "^cuda:[0-9]+$")
        before = {w["name"]: w["pid"] for w in workers}
        os.kill(before.pop(workers[1]["name"]), signal.SIGKILL)
        wait_until(lambda: len([e for e in read_lines(run / "events.jsonl")
                                if e["kind"] == "generation"]) >= 2,
                   "a recovery")
        self.assertEqual(one.wait(300), 0, one)
        after = {w["name"]: w["pid"]
                 for w in read_json(run / "workers.json")["workers"]}
        for name, pid in before.items():
            self.assertEqual(after[name], pid, "a survivor was restarted")
        found = self.audit(run)
        self.assertEqual((found["lost"], found["repeated"]), (0, 0), found)
        recoveries = read_json(run / "report.json")["recoveries"]
        self.assertTrue(recoveries)
        for recovery in recoveries:
            self.assertLess(recovery["ms"], 2000, recovery)

    def test_fashion_mlp_survives_the_kill_of_a_worker(self):
        self.trains_through_a_kill(job_of(
            "fashion_mlp", train={"epochs": 8}, elastic={"workers": 3}), 50)

    def test_fashion_cnn_survives_the_kill_of_a_worker(self):
        self.trains_through_a_kill(job_of(
            "fashion_cnn", train={"epochs": 2}, elastic={"workers": 3}), 50)

    def test_resnet18_survives_the_kill_of_a_worker(self):
        self.trains_through_a_kill(job_of(
            "resnet18", train={"epochs": 40, "precision": "bfloat16"},
            elastic={"workers": 3}), 20)

    def test_a_transformer_survives_the_kill_of_a_worker(self):
        self.trains_through_a_kill(job_of(
            "transformer", train={"epochs": 15}, elastic={"workers": 3}), 50)

    def test_halves_a_micro_batch_that_does_not_fit(self):
        with gpu_that_is_almost_full(free_mb=2500):
            run = self.run_job(job_of(
                "resnet18",
                data={"train": {"rows": 8192}, "chunk_rows": 256},
                train={"global_batch": 4096, "micro_batch": None},
                elastic={"workers": 1}), seconds=240)
        found = self.audit(run)
        self.assertEqual((found["lost"], found["repeated"]), (0, 0), found)

    def test_trains_a_network_in_bfloat16(self):
        one, run = self.new_run(job_of(
            "resnet18", train={"precision": "bfloat16", "epochs": 3}))
        self.assertEqual(one.wait(300), 0, one)
        steps = read_lines(run / "steps.jsonl")
        self.assertLess(steps[-1]["loss"], steps[0]["loss"])
        self.ballast("audit", run)

    def test_refuses_nccl_for_two_workers_of_one_gpu(self):
        self.environment["CUDA_VISIBLE_DEVICES"] = "0"
        one, _ = self.new_run(job_of("fashion_mlp",
                                     train={"collective": "nccl"}))
        self.assertEqual(one.wait(120), 1, one)
        self.assertIn("share the GPU", one.err)

    def test_reduces_by_nccl_with_a_gpu_for_every_worker(self):
        one, run = self.new_run(job_of(
            "fashion_mlp", train={"collective": "nccl"},
            elastic={"workers": 1}))
        self.assertEqual(one.wait(300), 0, one)
        self.ballast("audit", run)


class BesideTheCpu(Cluster):
    def test_a_gpu_and_a_cpu_train_together_and_apart(self):
        self.node("a", "--device", "auto")
        self.node("b", "--device", "cpu")
        wait_until(lambda: {"a", "b"} <= set(self.members()), "the nodes")
        run = self.state / "runs" / self.submit(
            job_of("fashion_mlp", train={"epochs": 100000})).out.strip()
        wait_until(lambda: (run / "steps.jsonl").exists() and
                   len(read_lines(run / "steps.jsonl")) > 50, "steps", 60)
        devices = {w["name"]: w["device"]
                   for w in read_json(run / "workers.json")["workers"]}
        self.assertEqual(devices, {"a": "cuda:0", "b": "cpu"})
        other = self.node("c", "--device", "cuda:0")
        wait_until(lambda: self.generations(run) >= 2, "a join", 60)
        os.kill(self.pid_of(run, "b"), signal.SIGKILL)
        wait_until(lambda: self.generations(run) >= 3, "a recovery")
        steps = len(read_lines(run / "steps.jsonl"))
        wait_until(lambda: len(read_lines(run / "steps.jsonl")) > steps + 50,
                   f"steps of {other}", 60)
        self.ctl("stop")
        self.in_state("stopped")
        found = self.audit(run)
        self.assertEqual((found["lost"], found["repeated"]), (0, 0), found)

    def pid_of(self, run, name):
        return next(w["pid"] for w in read_json(run / "workers.json")["workers"]
                    if w["name"] == name)

    def generations(self, run):
        return len([e for e in read_lines(run / "events.jsonl")
                    if e["kind"] == "generation"])


class SeveralOnOneGpu(Cluster):
    """NCCL takes one rank of a host for each GPU. Told that the nodes are on
    hosts of their own it meets over sockets, as between hosts."""

    def node_of_its_own_host(self, name):
        self.environment["NCCL_HOSTID"] = name
        return self.node(name, "--device", "cuda:0")

    def committed(self, run):
        path = run / "steps.jsonl"
        return len(read_lines(path)) if path.exists() else 0

    def more_steps(self, run, count):
        wanted = self.committed(run) + count
        wait_until(lambda: self.committed(run) > wanted, "steps", 120)

    def test_nccl_goes_on_without_a_rank_that_was_killed_and_takes_a_new_one(
            self):
        nodes = {name: self.node_of_its_own_host(name) for name in "abc"}
        wait_until(lambda: set(nodes) <= set(self.members()), "the nodes")
        run = self.state / "runs" / self.submit(job_of(
            "fashion_mlp", train={"epochs": 100000,
                                  "collective": "nccl"})).out.strip()
        self.more_steps(run, 20)
        for victim, newcomer in (("c", "d"), ("a", "e")):
            os.kill(nodes.pop(victim).pid, signal.SIGKILL)
            self.more_steps(run, 20)
            nodes[newcomer] = self.node_of_its_own_host(newcomer)
            wait_until(lambda: len(
                [w for w in read_json(run / "workers.json")["workers"]
                 if w["state"] == "training"]) == 3, "a join", 60)
            self.more_steps(run, 20)
        self.ctl("stop")
        self.in_state("stopped")
        generations = [e for e in read_lines(run / "events.jsonl")
                       if e["kind"] == "generation"]
        self.assertGreaterEqual(len(generations), 5)
        self.assertEqual({e["collective"] for e in generations}, {"nccl"},
                         generations)
        found = self.audit(run)
        self.assertEqual((found["lost"], found["repeated"]), (0, 0), found)
        recoveries = read_json(run / "report.json")["recoveries"]
        print("recoveries", [(r["ms"], r.get("reason")) for r in recoveries])
        self.assertGreaterEqual(len(recoveries), 2)
        for recovery in recoveries:
            self.assertLess(recovery["ms"], 2000, recovery)


if __name__ == "__main__":
    reason = why_no_gpu()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
