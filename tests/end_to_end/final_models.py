"""Goal: the model of a run is the same file whoever wrote it: one worker, several
together, or none of them because they do not see the coordinator's files.
Method: real runs of a model of some pieces, read with the safetensors wheel
alone.
"""
import hashlib
import subprocess
import sys
import tempfile
import unittest

from harness.jobs import emulated_job, merged
from harness.program import ROOT
from harness.run_files import read_json
from harness.waiting import wait_until

from by_hand_cluster import Cluster

sys.path.append(str(ROOT / ".deps" / "python"))
# pylint: disable=wrong-import-position
from safetensors.numpy import load_file  # noqa: E402

PARAMETERS = 20_000_000  # three pieces
HIDES = 'state=$1; shift; mount -t tmpfs none "$state" && exec "$@"'
# What is there is seen; what is written there stays here.
COVERS = """
state=$1; shift
mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work &&
layers="lowerdir=$state,upperdir=/mnt/upper,workdir=/mnt/work"
mount -t overlay none -o "$layers" "$state" && exec "$@"
"""
# What is there is seen, and nothing can be written there.
READS = """
state=$1; shift
mount --bind "$state" "$state" && mount -o remount,bind,ro "$state" && exec "$@"
"""


def can(script):
    """Whether this machine lets us mount that."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "sh", folder, "true"],
            capture_output=True, check=False).returncode == 0


class Models(Cluster):
    def job(self, workers):
        return merged(emulated_job(200, workers=workers), {
            "model": {"parameters": PARAMETERS}, "trace_samples": False})

    def hash_of(self, run):
        """That of the report, which is that of the file."""
        model = load_file(run / "model.safetensors")
        self.assertEqual(sum(one.size for one in model.values()), PARAMETERS)
        found = hashlib.sha256()
        for name in sorted(model):
            found.update(model[name].tobytes())
        report = read_json(run / "report.json")
        self.assertEqual(report["weights_sha256"], found.hexdigest())
        self.assertEqual(report["state"], "done")
        self.assertEqual(list((run / "tmp").iterdir()), [])
        self.assertEqual((run / "model.safetensors").stat().st_mode & 0o777,
                         0o644)
        self.audit(run)
        return found.hexdigest()

    def behind(self, script, name):
        """A node that has another view of the coordinator's files."""
        node = self.start("node", "--join", self.address, "--name", name,
                          wrapper=("unshare", "-m", "sh", "-c", script, "sh",
                                   str(self.state)))
        wait_until(lambda: name in self.members(), "the node")
        return node

    def test_of_several_workers_is_that_of_one(self):
        alone = self.hash_of(self.run_job(self.job(1)))
        # Halves of a batch add up to the same; thirds round.
        self.assertEqual(self.hash_of(self.run_job(self.job(2))), alone)
        self.hash_of(self.run_job(self.job(3)))

    @unittest.skipUnless(can(HIDES), "mounting in a namespace is not permitted")
    def test_comes_from_workers_that_do_not_see_where_it_is_written(self):
        expected = self.hash_of(self.run_job(self.job(1)))
        self.behind(HIDES, "a")
        self.assertEqual(self.hash_of(self.train(self.job(1))), expected)
        self.behind(HIDES, "b")
        self.assertEqual(self.hash_of(self.train(self.job(2))), expected)
        self.nodes("c")
        self.hash_of(self.train(self.job(3)))

    @unittest.skipUnless(can(COVERS), "an overlay is not permitted")
    def test_comes_from_workers_whose_files_do_not_arrive(self):
        job = merged(self.job(2), {
            "train": {"epochs": 5},
            "checkpoint": {"every_steps": 1, "every_s": 0}})
        expected = self.hash_of(self.run_job(job))
        self.behind(COVERS, "a")
        self.nodes("b")
        run = self.train(job)
        self.assertEqual(self.hash_of(run), expected)
        # The audit reads every byte of it.
        self.assertTrue(list((run / "checkpoints").glob("step-*")))
        self.assertIn("does not arrive here", self.coordinator.err)

    @unittest.skipUnless(can(READS), "mounting in a namespace is not permitted")
    def test_comes_from_workers_that_may_not_write_there(self):
        expected = self.hash_of(self.run_job(self.job(1)))
        node = self.behind(READS, "a")
        self.assertEqual(self.hash_of(self.train(self.job(1))), expected)
        self.assertIn("cannot write the log", node.err)
        self.assertTrue(node.running())


if __name__ == "__main__":
    unittest.main()
