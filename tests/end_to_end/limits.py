"""Goal: what a machine cannot do is refused before a step, by name and with
numbers; rows that no survivor has room for wait for a worker that has. Method:
jobs that are far too large, and workers that are told how much memory there is.
"""
import os
import signal
import unittest

from harness.jobs import emulated_job, merged
from harness.run_files import read_lines
from harness.waiting import wait_until

from ballast_test import BallastTest
from by_hand_cluster import Cluster
from recovery import Recovery, job_of

CORES = os.cpu_count() or 1


def wide_job():
    """12 TB a worker, more than any machine has. How many features there are,
    only the data tell."""
    job = emulated_job(100)
    job["model"] = {"kind": "mlp", "hidden": [1000000, 1000000]}
    return job


class OnOneMachine(BallastTest):
    def refused_at_once(self, job, *parts):
        run = self.folder / "run"
        self.refused(2, parts, "run", self.write("job.json", job),
                     "--run-dir", run, "--device", "cpu")
        self.assertFalse(run.exists())

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there may be a GPU")
    def test_a_model_that_cannot_fit_is_refused_before_data_are_read(self):
        self.refused_at_once(
            emulated_job(100, workers=64, model={"parameters": 10**10}),
            "111.8 GiB for 10000000000 parameters", "in each of 64 workers",
            "it has")
        job = wide_job()
        self.refused_at_once(job, "at least 11175.9 GiB for at least "
                             "1000004000001 parameters", "it has")
        job["data"]["train"] = {"format": "csv", "uri": "/absent.csv",
                                "label": "y"}
        self.refused_at_once(job, "at least 11175.9 GiB")

    def test_more_threads_than_cores_are_refused(self):
        self.refused_at_once(
            emulated_job(100, train={"threads": 1024}),
            "1024 compute threads a worker",
            f"the {CORES} cores of this machine", "train.threads")


class Files(BallastTest):
    def limited(self, limit):
        """Runs a command under a limit of the shell."""
        return ("sh", "-c", f'ulimit {limit} && exec "$0" "$@"')

    def test_too_few_open_files_are_refused_with_the_number(self):
        run = self.folder / "run"
        for workers, needed in ((2, 72), (16, 128)):
            self.refused(
                2, f"the limit of open files is 33, at least {needed} are "
                f"needed for {workers} workers: raise it with `ulimit -n "
                f"{needed}`", "run",
                self.write("job.json", emulated_job(100, workers=workers)),
                "--run-dir", run, wrapper=self.limited("-n 33"))
            self.assertFalse(run.exists())
        self.refused(2, "at least 68 are needed for 1 worker", "node",
                     "--coordinator", wrapper=self.limited("-n 33"))

    def test_a_soft_limit_of_open_files_is_raised(self):
        one, _ = self.new_run(emulated_job(100), wrapper=self.limited("-Sn 33"))
        self.assertEqual(one.wait(), 0, one)

    def test_files_too_small_for_shared_memory_leave_sockets(self):
        job = merged(emulated_job(1000), {"trace_samples": False})
        one, run = self.new_run(job, wrapper=self.limited("-f 2000"))
        self.assertEqual(one.wait(), 0, one)
        kinds = [e["kind"] for e in read_lines(run / "events.jsonl")]
        self.assertNotIn("cannot_open", kinds)

    def test_what_every_worker_lacks_ends_the_run_with_the_way_on(self):
        self.environment["BALLAST_FAULT_POINTS"] = "share.memory=eio"
        job = emulated_job(1000, elastic={"grace_s": 3, "min_workers": 2})
        one, run = self.new_run(job)
        why = r"worker w[12] \(pid \d+.*\) cannot join: cannot make shared " \
            "memory: Input/output error"
        one.said(why + "; it is tried again, 3 attempts failed so far", "err")
        self.assertEqual(one.wait(20), 1, one)
        self.assertRegex(one.last_line, why)
        self.assertIn("within 3 s (elastic.grace_s); mend that, then `ballast "
                      f"run --resume {run}` goes on", one.last_line)
        del self.environment["BALLAST_FAULT_POINTS"]
        self.ballast("run", "--resume", run, "--no-progress")
        self.audit(run)


class InACluster(Cluster):
    """The coordinator does not know on which machines the workers will be."""

    def test_a_workers_refusal_is_the_error_of_the_job(self):
        nodes = self.nodes("left", "right")
        for job, parts in (
                (emulated_job(100, train={"threads": 1024}),
                 ["1024 compute threads",
                  f"the {CORES} cores of this machine"]),
                (wide_job(),
                 ["11176.0 GiB for 1000010000004 parameters", "it has"])):
            one = self.submit(job, "--wait", code=2)
            self.assertRegex(one.last_line, r"worker (left|right) \(pid \d+")
            for part in parts:
                self.assertIn(part, one.last_line, one)
        self.assertTrue(all(node.running() for node in nodes))
        self.train(emulated_job(100))


class Memory(Recovery):
    """A worker may hold four fifths of a mebibyte, shared by two: 419 kB. All
    rows are 702 kB."""

    def setUp(self):
        super().setUp()
        self.environment["BALLAST_MEMORY_MB"] = "1"

    def test_rows_without_room_wait_for_the_replacement(self):
        job = merged(job_of(workers=2, epochs=8), {
            "data": {"train": {"rows": 24000}, "chunk_rows": 256},
            "train": {"global_batch": 1000}})
        one, run = self.begin(job)
        os.kill(self.workers(run)[1]["pid"], signal.SIGKILL)

        def waiting():
            return [e for e in read_lines(run / "events.jsonl")
                    if e["kind"] == "waiting"]
        told = wait_until(waiting, "the survivor to say what is missing")[0]
        self.assertEqual(told["workers"], 1)
        self.assertGreater(told["free_bytes"], 0)
        self.assertGreater(told["lacking_bytes"], told["free_bytes"] // 2)
        self.assertIn("of the training data have no place", told["reason"])
        self.assertIn("waits for another worker", told["reason"])
        self.ended_well(one, run, 8)
        # Nothing was done between the death and the replacement.
        self.assertEqual([len(e["workers"]) for e in self.generations(run)],
                         [2, 2])


if __name__ == "__main__":
    unittest.main()
