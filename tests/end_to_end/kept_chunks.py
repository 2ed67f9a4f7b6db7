"""Goal: what a worker of another machine cannot hold in memory comes over the
network once; a disk that is full, or returns errors, costs only that. Method:
nodes with a cache of their own, so that the coordinator's set is not theirs;
where their rows came from is read from their metrics.
"""
import re
import unittest

from harness.exactness import check_run
from harness.http_client import request
from harness.jobs import merged
from harness.program import ROOT
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from by_hand_cluster import Cluster

BATCH = 256


class KeptChunks(Cluster):
    def begin(self, disk_mb, faults=""):
        """Two workers of 6 MiB of memory for half of 55 MB each."""
        job = merged(
            read_json(ROOT / "examples/jobs/larger_than_memory.json"),
            {"train": {"epochs": 100000}, "data": {"disk_mb": disk_mb}})
        self.environment["BALLAST_CACHE"] = str(self.folder / "theirs")
        if faults:
            self.environment["BALLAST_FAULT_POINTS"] = faults
        self.nodes("a", "b")
        return self.state / "runs" / self.submit(job).out.strip()

    def read(self, name):
        """source -> bytes that came from it to this worker."""
        text = request(self.members()[name]["metrics"] + "/metrics").text
        return {source: int(float(number)) for source, number in re.findall(
            r'ballast_rows_read_bytes_total{.*source="(\w+)".*} (\S+)', text)}

    def epochs(self, run):
        lines = read_lines(run / "steps.jsonl")
        return lines[-1]["epoch"] if lines else 0

    def trains_for(self, run, epochs):
        begun = self.epochs(run)
        wait_until(lambda: self.epochs(run) >= begun + epochs,
                   f"{epochs} epochs", 120)

    def ends_exactly(self, run):
        self.ctl("stop")
        self.in_state("stopped")
        self.assertEqual(check_run(run, BATCH).problems, [])
        self.assertIn("0 lost, 0 repeated", self.ballast("audit", run).out)

    def logs(self, run):
        return "".join(path.read_text(encoding="utf-8")
                       for path in (run / "logs").glob("*.log"))

    def test_come_over_the_network_once(self):
        run = self.begin(64)
        self.trains_for(run, 3)
        before = self.read("a")
        self.trains_for(run, 2)
        after = self.read("a")
        self.assertEqual(after["prepared_set"], 0)
        # Half of 55 MB, twice; single rows that a step lacked come anew.
        kept = after["kept"] - before["kept"]
        self.assertGreater(kept, 30 << 20)
        self.assertLess(after["origin"] - before["origin"], kept / 3)
        self.assertEqual([path.name for path in (self.folder / "theirs").iterdir()
                          if path.is_file()], [])
        self.ends_exactly(run)

    def test_fill_the_disk_that_they_may_have_and_no_more(self):
        run = self.begin(8)
        self.trains_for(run, 3)
        self.assertGreater(self.read("b")["kept"], 1 << 20)
        self.assertGreater(self.read("b")["origin"], 30 << 20)
        self.ends_exactly(run)

    def test_of_a_disk_that_fails_come_from_the_origin(self):
        run = self.begin(64, "kept.read=eio@20;kept.write=enospc@300")
        self.trains_for(run, 3)
        self.ends_exactly(run)
        said = self.logs(run)
        self.assertIn("no chunks are kept on this disk", said)
        self.assertEqual(said.count("no chunks are kept on this disk"), 2, said)

    def test_need_no_disk_where_the_set_lies(self):
        self.nodes("c")
        job = merged(
            read_json(ROOT / "examples/jobs/larger_than_memory.json"),
            {"train": {"epochs": 100000}, "data": {"disk_mb": 64},
             "elastic": {"workers": 1}})
        run = self.state / "runs" / self.submit(job).out.strip()
        self.trains_for(run, 2)
        read = self.read("c")
        self.assertEqual(read["kept"], 0)
        self.assertGreater(read["prepared_set"], 30 << 20)
        self.ends_exactly(run)


if __name__ == "__main__":
    unittest.main()
