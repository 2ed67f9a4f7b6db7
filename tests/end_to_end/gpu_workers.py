"""Goal: the same program trains on GPUs, and a worker that dies there costs no
more than elsewhere. Method: real processes on whatever GPUs there are; several
share one. Exit code 77, with the reason, where no GPU can be trained on.
"""
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


def why_no_gpu():
    """What `ballast doctor` says; empty where models can train on a GPU."""
    found = subprocess.run([BINARY, "doctor", "--json"], capture_output=True,
                           text=True, check=True)
    checks = {one["name"]: one for one in json.loads(found.stdout)["checks"]}
    gpus = [one for name, one in checks.items() if name.startswith("cuda:")]
    if any(one["result"] == "ok" for one in gpus):
        return ""
    return gpus[0]["found"] if gpus else checks["CUDA part"]["found"]


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

    def test_survives_the_kill_of_a_worker(self):
        one, run = self.new_run(job_of(
            "fashion_mlp", train={"epochs": 20}, elastic={"workers": 3}))
        wait_until(lambda: self.committed(run) > 50, f"steps of {one}", 60)
        before = {w["name"]: w["pid"] for w in self.workers(run)}
        victim = self.workers(run)[1]["name"]
        os.kill(before.pop(victim), signal.SIGKILL)
        wait_until(lambda: len([e for e in read_lines(run / "events.jsonl")
                                if e["kind"] == "generation"]) >= 2,
                   "a recovery")
        self.assertEqual(one.wait(600), 0, one)
        after = {w["name"]: w["pid"]
                 for w in read_json(run / "workers.json")["workers"]}
        for name, pid in before.items():
            self.assertEqual(after[name], pid, "a survivor was restarted")
        self.ballast("audit", run)
        for recovery in read_json(run / "report.json")["recoveries"]:
            self.assertLess(recovery["ms"], 2000, recovery)

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


if __name__ == "__main__":
    reason = why_no_gpu()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
