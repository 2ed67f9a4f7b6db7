"""Goal: a set four times as large as the memory for its rows trains exactly,
whoever dies; each worker stays within its limit, and the draws are those of a
window. Method: the example of that, real processes, kill -9.
"""
import contextlib
import os
import re
import signal
import unittest

from harness.exactness import check_run
from harness.jobs import merged
from harness.live_run import LiveRun
from harness.program import ROOT
from harness.run_files import read_json

from ballast_test import BallastTest

BATCH = 256


class LargerThanMemory(BallastTest):
    def live(self, **more):
        job = merged(
            read_json(ROOT / "examples/jobs/larger_than_memory.json"),
            merged({"train": {"epochs": 100000},
                    "elastic": {"heartbeat_ms": 500}}, more))
        run = LiveRun(job, self.folder / f"live-{next(self.folders)}",
                      self.environment["BALLAST_CACHE"])
        self.addCleanup(run.process.end)
        run.wait_full(2, steps=3)
        return run

    def epochs(self, run):
        run.poll()
        return len({s["epoch"] for s in run.steps.lines}) - 1

    def ends_exactly(self, run):
        run.stop()
        found = check_run(run.run, BATCH)
        self.assertEqual(found.problems, [])
        audit = self.ballast("audit", run.run)
        self.assertIn("0 lost, 0 repeated", audit.out)

    def test_is_exact_whoever_dies(self):
        run = self.live()
        with contextlib.suppress(ProcessLookupError):
            os.kill(run.workers()["w1"], signal.SIGKILL)
        run.wait_for(lambda: "w1" not in run.workers() and run.full(2, 3),
                     "another worker")
        done = self.epochs(run)
        with contextlib.suppress(ProcessLookupError):
            os.kill(run.coordinator, signal.SIGKILL)
        run.wait_for(lambda: self.epochs(run) > done + 1, "an epoch", 120)
        self.ends_exactly(run)

    def test_stays_within_its_memory(self):
        run = self.live()
        run.wait_for(lambda: self.epochs(run) > 1, "an epoch", 120)
        run.stop()
        held = [int(mib) for log in (run.run / "logs").glob("w*.log")
                for mib in re.findall(r"holds .*, (\d+) MB", log.read_text(
                    encoding="utf-8"))]
        self.assertTrue(held)
        self.assertLessEqual(max(held), 6)

    def test_chooses_a_window_where_the_job_names_none(self):
        run = self.live(train={"shuffle": {"window_chunks": None}})
        run.wait_for(lambda: self.epochs(run) > 1, "an epoch", 120)
        self.ends_exactly(run)
        self.assertRegex(run.process.err, r"does not fit .* a window of \d+ "
                         r"of its chunks .*/train/shuffle/window_chunks")
        [chosen] = [e for e in run.events.lines if e["kind"] == "window"]
        # In chunks of 134 kB, a half of 6 MiB.
        self.assertIn(chosen["window_chunks"], range(20, 25))
        # Another life keeps to it, and takes no other.
        other = merged(read_json(run.job_file),
                       {"train": {"shuffle": {"window_chunks": 5}}})
        refused = self.ballast("run", self.write("other.json", other),
                               "--run-dir", run.run, "--resume", code=2)
        self.assertIn("window_chunks", refused.last_line)
        done = self.epochs(run)
        run.resume()
        run.wait_for(lambda: self.epochs(run) > done + 1, "an epoch", 120)
        self.ends_exactly(run)

    def test_is_refused_where_no_two_chunks_fit(self):
        job = read_json(ROOT / "examples/jobs/larger_than_memory.json")
        del job["train"]["shuffle"]
        job["data"]["chunk_rows"] = 8192
        refused = self.ballast("run", self.write("large.json", job),
                               "--no-progress", code=1)
        self.assertIn("cannot hold two chunks", refused.last_line)


if __name__ == "__main__":
    unittest.main()
