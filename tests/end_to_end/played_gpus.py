"""Goal: what a worker's GPU suffers from is named as the cause wherever one
looks; every generation has the collective that fits its workers. Method: real
processes of the real program, whose CUDA part, NCCL and NVML are played
(tests/gpu/fake_gpu.cpp, fake_nvml.cpp); a file says how the GPU is.
"""
import json
import os
import pathlib
import shutil
import tempfile
import unittest

from harness.http_client import control
from harness.jobs import endless_job
from harness.program import BINARY, Started
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from ballast_test import BallastTest
from by_hand_cluster import Cluster

GPUS = pathlib.Path(os.environ.get(
    "BALLAST_TEST_GPU_LIBRARY", BINARY.parent / "libfake_gpu.so"))
NVML = GPUS.parent / "libfake_nvml.so"
HEAT, WELL = 0x40, 0x4  # slowed down by heat; at the power cap, as they all are


def same_file(source, target):
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)


class PlayedGpus:
    """A program of its own, in whose folder the played parts lie."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tree = pathlib.Path(tempfile.mkdtemp(prefix="ballast-gpus-"))
        cls.addClassCleanup(shutil.rmtree, tree, ignore_errors=True)
        for name in ("ballast", "libballast_node.so"):
            same_file(BINARY.parent / name, tree / name)
        same_file(GPUS, tree / "libballast_cuda.so")
        same_file(GPUS, tree / "libballast_torch.so")
        same_file(NVML, tree / "libnvidia-ml.so.1")
        cls.tree = tree

    def setUp(self):
        super().setUp()
        if not (BINARY.parent / "libballast_cuda.so").exists():
            self.skipTest("this build has no CUDA part")
        self.environment["LD_LIBRARY_PATH"] = ":".join(
            [str(self.tree), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
        self.environment["BALLAST_TEST_NVML"] = str(self.folder / "nvml")
        self.environment["BALLAST_TEST_TORCH"] = str(
            BINARY.parent / "libballast_torch.so")
        self.gpu(60, WELL)

    def start(self, *arguments, wrapper=()):
        one = Started(arguments, self.environment, self.folder, wrapper,
                      program=self.tree / "ballast")
        self.addCleanup(one.end)
        return one

    def job(self, workers=2, **more):
        """Of a model that computes on its worker's device."""
        job = endless_job(workers=workers, **more)
        job["data"]["train"]["features"] = 64
        job["model"] = {"kind": "mlp", "hidden": [128, 128]}
        job["train"]["global_batch"] = 200
        return job

    def gpu(self, celsius, reasons, errors=7, xid=0):
        """How the GPU is from now on."""
        new = self.write("nvml.new", f"{celsius} {reasons} {errors} {xid}\n")
        os.replace(new, self.folder / "nvml")



class Stragglers(PlayedGpus, BallastTest):
    def stragglers(self, run):
        return [e for e in read_lines(run / "events.jsonl")
                if e["kind"] == "straggler"]

    def ask(self, run, *words):
        return json.loads(self.ballast("ctl", *words, "--json", "--to",
                                       run).out)

    def test_a_gpu_that_is_hot_is_the_cause_of_its_slow_worker(self):
        _, run = self.new_run(self.job(faults=True), "--device", "cuda:0")
        wait_until(lambda: (run / "steps.jsonl").exists() and
                   read_lines(run / "steps.jsonl"), "the first steps")
        workers = read_json(run / "workers.json")["workers"]
        self.assertEqual([w["device"] for w in workers], ["cuda:0", "cuda:0"])
        self.assertEqual(self.stragglers(run), [])
        self.gpu(91, HEAT)
        # It is that of both; on a crowded machine one of them is slow besides,
        # which is told for itself.
        told = wait_until(
            lambda: {"w1", "w2"} == {e["worker"] for e in self.stragglers(run)}
            and self.stragglers(run), "both named")
        for event in told:
            self.assertEqual(event["causes"], ["heat"])
            self.assertIn("its cuda:0: slowed down by heat (91 degrees)",
                          event["reason"])

        url = read_json(run / "coordinator.json")["http"]
        self.assertTrue(control(url, {"type": "slow_worker", "worker": "w2",
                                      "factor": 4}).json["ok"])
        slow = wait_until(lambda: [
            e for e in self.stragglers(run)
            if e["worker"] == "w2" and e.get("row_time_ratio", 0) > 1.2],
            "w2 named as slow")[-1]
        self.assertRegex(slow["reason"],
                         "^w2 is slow, .* because of its cuda:0: slowed down")
        status = json.loads(self.ballast("status", "--to", run, "--json").out)
        trouble = {w["name"]: w["trouble"] for w in status["workers"]}
        self.assertTrue(trouble["w2"]["slow"])
        self.assertFalse(trouble["w1"]["slow"])
        self.assertGreater(trouble["w2"]["since_s"], 0)
        self.assertIn("because of its cuda:0: slowed down by heat",
                      self.ballast("status", "--to", run).out)
        answer = self.ask(run, "explain", "worker=w2")
        self.assertIn("cuda:0: slowed down by heat", answer["device_trouble"])

        self.gpu(60, WELL)
        # On a crowded machine a worker may have waited for its rows as well,
        # whose end is told for itself.
        wait_until(lambda: [e for e in self.stragglers(run) if e["over"] and
                            "is well again" in e["reason"]],
                   "the end of it", 60)
        self.ballast("ctl", "stop", "--to", run)

    def test_a_gpu_that_fails_is_named_while_its_worker_keeps_up(self):
        _, run = self.new_run(self.job(workers=1), "--device", "cuda:0")
        wait_until(lambda: (run / "steps.jsonl").exists() and
                   read_lines(run / "steps.jsonl"), "the first steps")
        self.gpu(60, WELL, errors=9, xid=48)
        [told] = wait_until(lambda: self.stragglers(run), "the event")
        self.assertEqual(told["causes"], ["driver_error", "memory_errors"])
        self.assertIn("error Xid 48; 2 memory errors", told["reason"])
        self.ballast("ctl", "stop", "--to", run)


class Collectives(PlayedGpus, Cluster):
    def generations(self, run):
        return [e for e in read_lines(run / "events.jsonl")
                if e["kind"] == "generation"]

    def after(self, run, count):
        return wait_until(lambda: len(self.generations(run)) >= count and
                          self.generations(run)[-1], f"generation {count}", 30)

    def steps(self, run, generation):
        return wait_until(lambda: [
            s for s in read_lines(run / "steps.jsonl")
            if s["generation"] == generation], f"steps of {generation}", 30)

    def begin(self, nccl):
        self.environment["BALLAST_TEST_NCCL"] = nccl
        self.node("a", "--device", "cuda:0")
        self.node("b", "--device", "cuda:1")
        wait_until(lambda: {"a", "b"} <= set(self.members()), "the nodes")
        return self.state / "runs" / self.submit(self.job()).out.strip()

    def end(self, run):
        self.ctl("stop")
        self.in_state("stopped")
        self.assertEqual(self.audit(run)["repeated"], 0)

    def test_a_cpu_that_comes_and_goes_takes_nccl_away_and_gives_it_back(self):
        run = self.begin("works")
        self.assertEqual(self.steps(run, 1)[0]["world"], 2)
        [first] = self.generations(run)
        self.assertEqual(first["collective"], "nccl", first)
        cpu = self.node("c", "--device", "cpu")
        joined = self.after(run, 2)
        self.assertEqual((joined["collective"], joined["collective_reason"]),
                         ("ring", "c computes on cpu"))
        self.assertEqual(self.steps(run, joined["generation"])[0]["world"], 3)
        self.assertEqual(self.status()["collective"], "ring")
        cpu.end()
        lost = self.after(run, 3)
        self.assertEqual(lost["collective"], "nccl", lost)
        self.steps(run, lost["generation"])
        self.end(run)

    def test_an_nccl_that_does_not_work_gives_way_to_the_ring(self):
        run = self.begin("broken")
        found = wait_until(lambda: (run / "events.jsonl").exists() and [
            e for e in self.generations(run) if e["collective"] == "ring"],
            "the ring", 60)[0]
        self.assertIn("NCCL failed before: ", found["collective_reason"])
        self.assertIn("unhandled system error", found["collective_reason"])
        self.steps(run, found["generation"])
        self.end(run)

    def test_two_workers_of_one_gpu_use_the_ring(self):
        self.environment["BALLAST_TEST_NCCL"] = "works"
        self.node("a", "--device", "cuda:0")
        self.node("b", "--device", "cuda:0")
        wait_until(lambda: {"a", "b"} <= set(self.members()), "the nodes")
        run = self.state / "runs" / self.submit(self.job()).out.strip()
        self.steps(run, 1)
        self.assertEqual(self.generations(run)[0]["collective_reason"],
                         "a and b share a GPU, cuda:0; NCCL takes one worker "
                         "for each")
        self.end(run)


if __name__ == "__main__":
    unittest.main()
