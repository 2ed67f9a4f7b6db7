"""Goal: bad input gets a clear error, the right exit code, and nothing
half-written. Method: one row of a table for each mistake, through the real
program: the message, the exit code, the run directory, the cache.
"""
import gzip
import json
import os
import pathlib
import signal
import struct
import unittest

from harness.http_client import control
from harness.jobs import emulated_job, endless_job, merged
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from ballast_test import BallastTest


def idx(*sizes, values=b""):
    """An IDX file of bytes."""
    return struct.pack(f">BBBB{len(sizes)}I", 0, 0, 8, len(sizes),
                       *sizes) + values


class BadInput(BallastTest):
    def setUp(self):
        super().setUp()
        self.environment["BALLAST_CACHE"] = str(self.folder / "cache")

    def refuses(self, job, parts, *arguments, code=2):
        """`run` refuses the job, and nothing of it stays."""
        with self.subTest(parts=parts):
            number = next(self.folders)
            run = self.folder / f"run-{number}"
            path = job if isinstance(job, os.PathLike) else self.write(
                f"job-{number}.json", job)
            one = self.refused(code, parts, "run", path, "--run-dir", run,
                               "--no-progress", *arguments)
            self.assertEqual(one.out, "", one)
            self.assertFalse(run.exists(), sorted(run.glob("**/*")))
            self.nobody_left(one, 2)
            self.cache_is_clean()

    def cache_is_clean(self):
        """No part of a set that was never finished."""
        cache = self.folder / "cache"
        names = sorted(one.name for one in cache.iterdir()) \
            if cache.exists() else []
        self.assertEqual([name for name in names
                          if name not in ("locks", "sources")], [])

    def table(self, text, label="y", **more):
        """A job on a CSV file with this content."""
        number = next(self.folders)
        path = self.write(f"table-{number}.csv", text)
        return merged({
            "data": {"train": {"format": "csv", "uri": str(path),
                               "label": label}, "test_fraction": 0},
            "model": {"kind": "logistic"}, "elastic": {"workers": 2}}, more)

    def images(self, images, labels, suffix=""):
        number = next(self.folders)
        return {"data": {"train": {
            "format": "idx",
            "images": str(self.write(f"images-{number}{suffix}", images)),
            "labels": str(self.write(f"labels-{number}{suffix}", labels))},
            "test_fraction": 0}, "model": {"kind": "logistic"}}


class NothingBegun(BadInput):
    def stops_at(self, one, point, pid):
        """Waits until the process has stopped itself there."""
        stat = pathlib.Path(f"/proc/{pid}/stat")

        def stopped():
            return stat.read_text("utf-8").rpartition(")")[2].split()[0] == "T"
        wait_until(stopped, f"{point} in {one}")

    def test_a_worker_that_starts_late_leaves_no_log(self):
        """The last worker opens its log while the coordinator is removing
        what the run has made."""
        self.environment["BALLAST_FAULT_POINTS"] = \
            "worker.start=stop@4;run.discard=stop"
        job = merged(self.table("x,y\n1,0\n"), {
            "data": {"train": {"uri": str(self.folder / "none.csv")}},
            "elastic": {"workers": 4}})
        for there in (False, True):
            with self.subTest(there=there):
                if there:
                    (self.folder / "run-3").mkdir()
                one, run = self.new_run(job)
                self.stops_at(one, "worker.start", one.pid)
                coordinator = wait_until(
                    lambda run=run: read_json(run / "coordinator.json"),
                    "the coordinator's address")["pid"]
                self.stops_at(one, "run.discard", coordinator)
                one.signal(signal.SIGCONT)
                wait_until((run / "logs" / "w4.log").exists, "the late log")
                os.kill(coordinator, signal.SIGCONT)
                self.assertEqual(one.wait(20), 2, one)
                self.assertIn("no such file", one.last_line, one)
                self.assertEqual(run.exists(), there)
                self.assertEqual(list(run.glob("**/*")), [])


class Data(BadInput):
    def test_files_that_are_missing_or_empty(self):
        job = self.table("x,y\n1,0\n2,1\n")
        job["data"]["train"]["uri"] = str(self.folder / "none.csv")
        self.refuses(job, [str(self.folder / "none.csv"), "no such file"])
        self.refuses(self.table(""), "is empty")
        self.refuses(self.table("x,y\n"), ["no rows"])
        self.refuses(self.images(idx(0, 2, 2), idx(0)), "empty")

    def test_tables(self):
        good = "x,z,y\n1,2,0\n"
        for rows, parts in (
                ("1,2\n", ["row 2 (line 3)", "2 columns"]),
                ("1,2,0,4\n", ["row 2 (line 3)", "4 columns"]),
                ("abc,2,1\n", ["row 2", "column 'x'", "'abc' is no number"]),
                ("caf\xe9,2,1\n".encode("latin-1"),
                 ["row 2", "text of 4 characters", r"'caf\xe9'"]),
                ("1\0x,2,1\n", ["row 2", "column 'x'", r"'1\x00x'"]),
                ("1,nan,1\n", ["row 2", "column 'z'", "NaN"]),
                ("1,,1\n", ["row 2", "column 'z'", "missing"]),
                ("1,inf,1\n", ["row 2", "column 'z'", "inf"]),
                ("1,2,-1\n", ["row 2", "column 'y'", "label -1"]),
                ("1,2,cat\n", ["row 2", "column 'y'", "'cat'"]),
                ("1,2,99999\n", ["row 2", "99999"]),
                ("1,2,0\n", ["every row has the same label"])):
            job = self.table(good.encode() + rows if isinstance(rows, bytes)
                             else good + rows)
            self.refuses(job, [job["data"]["train"]["uri"], *parts])
        self.refuses(self.table(good, label="label"),
                     ["no column 'label'", "'x', 'z', 'y'"])

    def test_images(self):
        pixels, labels = bytes(range(40)), bytes([0, 1] * 5)
        whole = idx(10, 2, 2, values=pixels)
        packed = gzip.compress(whole)
        tags = idx(10, values=labels)
        job = self.images(packed[:-12], gzip.compress(tags), ".gz")
        self.refuses(job, [job["data"]["train"]["images"], "truncated"])
        job = self.images(whole, tags[:-3])
        self.refuses(job, [job["data"]["train"]["labels"], "truncated"])
        self.refuses(self.images(whole, idx(9, values=labels[:9])),
                     ["9 labels", "10 rows"])
        self.refuses(self.images(b"PNG.....", tags), "no IDX file")
        self.refuses(self.images(whole, idx(10, values=bytes(10))),
                     "every row has the same label")

    def test_a_test_set_with_labels_that_were_never_learnt(self):
        job = self.images(idx(4, 1, 1, values=b"abcd"),
                          idx(4, values=bytes([0, 1, 0, 1])))
        more = self.images(idx(2, 1, 1, values=b"ab"),
                           idx(2, values=bytes([1, 7])))
        job["data"]["test"] = more["data"]["train"]
        del job["data"]["test_fraction"]
        self.refuses(job, ["row 2", "label 7", "out of range"])

    def test_weights_to_start_from_that_do_not_fit(self):
        good = self.table("x,z,y\n1,2,0\n2,3,1\n3,3,1\n4,5,0\n")
        for name, content, parts in (
                ("none.safetensors", None, ["none.safetensors"]),
                ("short.safetensors", b"\x08\0\0", ["short.safetensors"]),
                ("wrong.safetensors", safetensors("other", [1.0]),
                 ["wrong.safetensors", "weight"])):
            path = self.folder / name
            if content is not None:
                self.write(name, content)
            job = merged(good, {"model": {"init": str(path)}})
            with self.subTest(name):
                one, run = self.new_run(job)
                self.assertEqual(one.wait(), 2, one)
                for part in parts:
                    self.assertIn(part, one.last_line, one)
                self.assertFalse(run.exists())

    def test_columns_of_text(self):
        job = self.table("a,b,y\nn/a,1,0\n2,2,1\n3,3,0\n")
        self.refuses(job, ["row 1 (line 2), column 'a'", "as in row 2",
                           "'n/a' is no number", "/data/train/features"])
        job = self.table("name,b,y\nann,1,0\nbob,2,1\neve,3,0\n")
        said = "left out 'name': no numbers"
        for heard in (True, False):  # when the data are prepared, not again
            one, run = self.new_run(job)
            self.assertEqual(one.wait(), 0, one)
            self.assertEqual(said in one.err, heard, one)
            self.assertEqual(read_json(run / "manifest.json")["left_out"],
                             ["name"])

    def test_the_same_data_is_fine_once_it_is_corrected(self):
        job = self.table("x,y\n1,0\nnan,1\n")
        self.refuses(job, "NaN")
        self.write(os.path.basename(job["data"]["train"]["uri"]),
                   "x,y\n1,0\n2,1\n")
        self.run_job(job)


def safetensors(name, values):
    header = json.dumps({name: {
        "dtype": "F32", "shape": [len(values)],
        "data_offsets": [0, 4 * len(values)]}}).encode()
    return struct.pack("<Q", len(header)) + header + struct.pack(
        f"<{len(values)}f", *values)


class Jobs(BadInput):
    def test_fields(self):
        job = emulated_job(100)
        for more, parts in (
                ({"elastic": {"workers": 0}}, ["/elastic/workers", "from 1"]),
                ({"train": {"epoch": 3}},
                 ["/train/epoch", 'did you mean "epochs"?']),
                ({"trian": {}}, ["/trian", 'did you mean "train"?']),
                ({"train": {"epochs": "3"}},
                 ["/train/epochs", "integer", '"3"']),
                ({"train": {"global_batch": 0}}, ["/train/global_batch"]),
                ({"train": {"optimizer": {"lr": -1}}}, ["/train/optimizer/lr"]),
                ({"data": {"placement": {"kind": "sizes",
                                         "shares": [1, 2, 3]}}},
                 ["/data/placement/shares", "2"]),
                ({"model": {"kind": "perceptron"}}, ["/model/kind"]),
                ({"version": 2}, ["/version"]),
                ({"name": "../up"}, ["/name"])):
            self.refuses(merged(job, more), parts)
        without = dict(job)
        del without["model"]
        self.refuses(without, "/model")
        self.refuses(self.write("broken.json", "{\n  \"version\": 1,,\n"),
                     ["broken.json", "line 2"])
        self.refuses(self.folder / "none.json", "none.json")
        self.refuses(self.write("list.json", "[]"), "object")

    def test_what_is_not_in_this_build(self):
        job = emulated_job(100)
        for more in ({"train": {"strategy": "local_sgd"}},
                     {"train": {"strategy": "parameter_server"}},
                     {"train": {"strategy": "pipeline"}}):
            [[field, value]] = more["train"].items()
            self.refuses(merged(job, more),
                         [f"/train/{field}", value, "not in this build"])
        self.refuses(job, "there is no run directory", "--resume")
        job = self.table("x,y\n1,0\n")
        job["data"]["train"].update(format="csv",
                                    uri="s3://user:secret@bucket/a.csv")
        one = self.ballast("validate", self.write("secret.json", job), code=2)
        self.assertIn("AWS_SECRET_ACCESS_KEY", one.err)
        self.assertNotIn("secret@", one.err)

    def test_devices_that_are_not_there(self):
        job = emulated_job(100)
        job["model"] = {"kind": "mlp", "hidden": [4]}
        job = self.write("job.json", job)
        one = self.ballast("run", job, "--device", "cuda:1023", code=1)
        self.assertIn("--device cuda:1023: ", one.last_line)
        for wrong in ("cuda", "cuda:", "cuda:x", "gpu"):
            one = self.ballast("run", job, "--device", wrong, code=2)
            self.assertIn("auto, cpu or cuda:N", one.err)

    def test_nccl_without_a_gpu(self):
        job = merged(emulated_job(100), {"train": {"collective": "nccl"}})
        one = self.ballast("run", self.write("job.json", job), code=1)
        self.assertIn("'nccl' sums between GPUs", one.last_line)
        self.assertIn("train.collective", one.last_line)

    def test_every_mistake_is_named_at_once(self):
        job = self.write("job.json", merged(emulated_job(100), {
            "sed": 1, "train": {"epochs": 0, "global_batch": "x"}}))
        one = self.ballast("run", job, code=2)
        for pointer in ("/sed", "/train/epochs", "/train/global_batch"):
            self.assertIn(pointer, one.err)
        self.assertEqual(len(one.err.splitlines()), 3, one)
        self.assertFalse((self.folder / "runs").exists())


class Doctor(BallastTest):
    def checks(self):
        found = json.loads(self.ballast("doctor", "--json").out)
        return {one["name"]: one for one in found["checks"]}

    def test_says_why_no_gpu_is_used(self):
        checks = self.checks()
        part = checks["CUDA part"]
        if part["result"] != "ok":
            self.assertIn("no GPU: ", part["found"])
            self.assertNotEqual(part["what_to_do"], "")
        self.assertNotIn("\n", part["found"])
        gpus = [one for name, one in checks.items() if name.startswith("cuda:")]
        for one in gpus:
            self.assertRegex(one["found"], "runs Ballast's kernels|cannot be")

    def test_names_variables_that_break_elasticity(self):
        self.assertNotIn("NCCL_COMM_ID", self.checks())
        self.environment.update(NCCL_COMM_ID="10.0.0.1:5",
                                NCCL_BLOCKING_WAIT="1", NCCL_DEBUG="WARN")
        checks = self.checks()
        for variable in ("NCCL_COMM_ID", "NCCL_BLOCKING_WAIT"):
            self.assertEqual(checks[variable]["result"], "note")
            self.assertEqual(checks[variable]["what_to_do"],
                             f"unset {variable}")
        self.assertNotIn("NCCL_DEBUG", checks)


class Environment(BadInput):
    """Also where the data lie in the cache, and the limit is not needed."""

    def test_sizes_that_are_none(self):
        job = emulated_job(100)
        self.run_job(job)
        path = self.write("job.json", job)
        for name, value, expected in (
                ("BALLAST_CACHE_LIMIT_GB", "-1", "gigabytes"),
                ("BALLAST_CACHE_LIMIT_GB", "nan", "gigabytes"),
                ("BALLAST_MEMORY_MB", "20x", "MiB"),
                ("BALLAST_MEMORY_MB", "0", "MiB")):
            self.environment[name] = value
            commands = [("run", path, "--run-dir", self.folder / "refused")]
            if name == "BALLAST_MEMORY_MB":
                commands += [("node", "--join", "127.0.0.1:1")]
            else:
                commands += [("node", "--coordinator", "--state",
                              self.folder / "state"), ("cache", "clear")]
            for command in commands:
                with self.subTest(command=command, value=value):
                    one = self.refused(2, f"{name} is '{value}'; expected",
                                       *command)
                    self.assertIn(expected, one.last_line)
                    self.assertEqual(len(one.err.splitlines()), 1, one)
            del self.environment[name]
        for none in ("refused", "state"):
            self.assertFalse((self.folder / none).exists())
        self.assertTrue(list((self.folder / "cache").glob("*/train.arrow")))


class RunDirectory(BadInput):
    def test_in_use_or_used_before(self):
        one, run = self.new_run(endless_job())
        wait_until(lambda: read_lines(run / "steps.jsonl"), "the first step")
        job = self.write("job.json", emulated_job(100))
        self.refused(2, [str(run), "is in use by process"], "run", job,
                     "--run-dir", run)
        self.assertTrue(one.running())
        self.assertEqual(control(read_json(run / "coordinator.json")["http"],
                                 {"type": "stop"}).status, 200)
        self.assertEqual(one.wait(), 0, one)
        before = sorted(run.glob("**/*"))
        self.refused(2, [str(run), "holds an earlier run"], "run", job,
                     "--run-dir", run)
        self.assertEqual(sorted(run.glob("**/*")), before)
        self.ballast("audit", run)

    def test_not_writable_or_not_empty(self):
        job = self.write("job.json", emulated_job(100))
        self.write("file", "in the way")
        self.write("full/of.txt", "something else")
        for place, says in (("file", "cannot make the folder"),
                            ("file/below", "cannot make the folder"),
                            ("full", "is not empty; choose an absent or"),
                            ("/proc/ballast", "cannot make the folder")):
            place = self.folder / place
            self.refused(2, [str(place), says], "run", job, "--run-dir", place)
        self.assertEqual((self.folder / "file").read_text(), "in the way")
        self.assertEqual(sorted((self.folder / "full").iterdir()),
                         [self.folder / "full" / "of.txt"])

    def test_a_cache_that_cannot_be_written(self):
        self.environment["BALLAST_CACHE"] = "/proc/cache"
        self.refuses(emulated_job(100), ["/proc/cache"])


if __name__ == "__main__":
    unittest.main()
