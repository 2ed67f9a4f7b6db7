"""Goal: text, files and messages of others never hang a run, never take it
over, and never show what only its owner may read. Method: real processes; the
exit code, the last line, and what others can see of it.
"""
import json
import os
import signal
import unittest

from harness.http_client import control, request
from harness.jobs import emulated_job, endless_job, merged
from harness.program import LOOPBACK
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from ballast_test import BallastTest


class HostileInput(BallastTest):
    def setUp(self):
        super().setUp()
        self.environment["BALLAST_CACHE"] = str(self.folder / "cache")

    def table_job(self, path, **more):
        return merged({
            "data": {"train": {"format": "csv", "uri": str(path),
                               "label": "y"}, "test_fraction": 0},
            "model": {"kind": "logistic"}, "elastic": {"workers": 1}}, more)

    # -- exceptions

    def test_an_exception_in_the_coordinator_ends_the_run_with_its_text(self):
        self.environment["BALLAST_FAULT_POINTS"] = "coordinator.tick=eio@40"
        one, run = self.new_run(endless_job())
        self.assertEqual(one.wait(20), 1, one)
        self.assertIn("internal error in the coordinator: a tick: "
                      "Input/output error", one.last_line, one)
        self.assertIn(f"--resume --run-dir {run}", one.last_line, one)
        self.nobody_left(one, 2)

    def test_an_exception_in_a_worker_ends_the_worker_with_its_text(self):
        once = self.write("once", "")
        self.environment["BALLAST_FAULT_POINTS"] = \
            f"worker.heartbeat=eio@2!{once}"
        one, run = self.new_run(endless_job())
        wait_until(lambda: "internal error in the worker: a heartbeat" in
                   (run / "events.jsonl").read_text("utf-8")
                   if (run / "events.jsonl").exists() else "", "its text")
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(20), 130, one)

    def test_an_exception_in_a_thread_is_the_last_line(self):
        self.environment["BALLAST_FAULT_POINTS"] = "worker.supervisor_watch=eio"
        one = self.start("run", self.write("job.json", emulated_job(100)),
                         "--run-dir", self.folder / "run", "--no-progress")
        self.assertEqual(one.wait(20), 1, one)
        self.assertIn("internal error: a thread: Input/output error",
                      one.last_line, one)

    def test_too_little_memory_is_told_as_that(self):
        """Whatever is the first to get none: a library, a thread, a buffer."""
        # Were the threads not asked for first, the actor library would get
        # some of them, and hang or end the process from a destructor.
        for mebibytes in (120, 160, 190, 210, 240, 280, 320, 400):
            one = self.start("node", "--coordinator", "--listen", LOOPBACK,
                             "--http", LOOPBACK, "--state",
                             self.folder / f"state-{mebibytes}",
                             wrapper=("prlimit", f"--as={mebibytes << 20}"))
            wait_until(lambda one=one: not one.running() or
                       "http " in one.out, "its end or its begin")
            if one.running():
                one.end()
                continue
            self.assertEqual(one.wait(), 1, one)
            self.assertNotIn("without an exception", one.err)
            self.assertRegex(
                one.last_line, "out of memory|cannot start another thread|"
                "cannot open libballast_node.so|Cannot allocate memory")

    # -- data

    def test_ctrl_c_ends_a_run_whose_data_are_read(self):
        job = emulated_job(8_000_000)  # takes seconds
        one, run = self.new_run(job)
        wait_until(lambda: list((self.folder / "cache").glob("*.tmp")),
                   "the preparing")
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(5), 130, one)
        self.assertIn("stopped before the first step", one.last_line, one)
        self.assertEqual(read_json(run / "report.json")["state"], "stopped")
        self.nobody_left(one, 2)

    def test_a_path_too_long_and_a_uri_with_blanks(self):
        self.write("a b.csv", "x,y\n1,0\n2,1\n")
        job = self.table_job("file://" + str(self.folder) + "/a%20b.csv")
        self.run_job(job)
        path = self.write("job.json", job)
        for where in ("x" * 300, "/".join(["x" * 200] * 30)):
            self.refused(2, "a name may have 255 bytes, a path 4095", "run",
                         path, "--run-dir", self.folder / where)

    def test_a_flipped_bit_in_the_cache_costs_a_preparation(self):
        rows = "".join(f"{i % 7},{i % 2}\n" for i in range(5000))
        job = self.table_job(self.write("t.csv", "x,y\n" + rows))
        before = read_json(self.run_job(job) / "report.json")
        [chunks] = (self.folder / "cache").glob("*/train.arrow")
        content = bytearray(chunks.read_bytes())
        content[len(content) // 2] ^= 1
        chunks.write_bytes(content)
        one, run = self.new_run(job)
        self.assertEqual(one.wait(), 0, one)
        self.assertIn(f"warning: {chunks}: chunk ", one.err)
        self.assertIn("prepared again", one.err)
        after = read_json(run / "report.json")
        self.assertEqual(after["weights_sha256"], before["weights_sha256"])
        self.assertEqual(after["audit"], before["audit"])
        listed = json.loads(self.ballast("cache", "list", "--json").out)
        self.assertEqual([entry["state"] for entry in listed["entries"]].count(
            "damaged"), 1, listed)
        whole = [entry for entry in listed["entries"]
                 if entry["state"] == "whole"]
        self.assertEqual([(entry["sources"], entry["train_rows"],
                           entry["in_use"]) for entry in whole],
                         [([str(self.folder / "t.csv")], 5000, False)])
        manifest = self.folder / "cache" / whole[0]["entry"] / "manifest.json"
        manifest.unlink()
        manifest.mkdir()
        self.assertIn("damaged: `ballast cache clear` removes it",
                      self.ballast("cache", "list").out)
        self.assertIn("removed 2 entries", self.ballast("cache", "clear").out)
        self.assertEqual(json.loads(
            self.ballast("cache", "list", "--json").out)["entries"], [])

    def test_a_cut_in_the_cache_does_not_end_the_coordinator(self):
        rows = "".join(f"{i % 7},{i % 2}\n" for i in range(5000))
        job = merged(self.table_job(self.write("t.csv", "x,y\n" + rows)),
                     {"elastic": {"workers": 2}, "train": {"epochs": 100000}})
        one, run = self.new_run(job)
        wait_until(lambda: (run / "steps.jsonl").exists() and
                   read_lines(run / "steps.jsonl"), "the first step")
        [chunks] = (self.folder / "cache").glob("*/train.arrow")
        os.truncate(chunks, 4096)
        listed = read_json(run / "workers.json")["workers"]
        os.kill(listed[-1]["pid"], signal.SIGKILL)
        wait_until(lambda: any(e["kind"] == "generation" and
                               len(e["workers"]) == 2 and e["generation"] > 1
                               for e in read_lines(run / "events.jsonl")),
                   "the replacement")
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(20), 130, one)
        self.assertNotIn("the coordinator (pid", one.err)
        self.assertIn("prepared again", one.err)

    # -- over HTTP

    def coordinator(self):
        node = self.start("node", "--coordinator", "--listen", LOOPBACK,
                          "--http", LOOPBACK, "--state", self.folder / "state")
        url = node.said(r"http (http://\S+)").group(1)
        address = node.said(r"coordinator (\S+)").group(1)
        self.start("node", "--join", address, "--name", "n1")
        return node, url

    def test_cells_stay_with_whoever_may_read_the_file(self):
        secret = "hunter2-is-the-word"
        path = self.write("secret.csv", f"x,y\n1,0\n{secret},1\n")
        job = self.table_job(path)
        one = self.refused(2, [str(path), "row 2", "column 'x'", secret],
                           "run", self.write("job.json", job), "--run-dir",
                           self.folder / "local", "--no-progress")
        self.assertEqual(one.out, "")
        _, url = self.coordinator()
        waited = self.ballast("submit", "--wait", self.folder / "job.json",
                              "--to", url, code=2)
        self.assertIn("expected a number, found text of 19 characters",
                      waited.last_line)
        self.assertIn("row 2", waited.last_line)
        seen = waited.err + request(url + "/v1/status").text
        for file in (self.folder / "state").rglob("*"):
            if file.is_file():
                seen += file.read_bytes().decode(errors="replace")
        self.assertNotIn(secret, seen)

    def test_submit_wait_takes_over_a_failed_audit(self):
        _, url = self.coordinator()
        job = self.write("job.json", emulated_job(
            rows=2000, workers=1, batch=20, epochs=3, us_per_step=3000))
        one = self.start("submit", "--wait", job, "--to", url)
        steps = self.folder / "state" / "runs" / "emulated-1" / "steps.jsonl"
        wait_until(lambda: steps.exists() and read_lines(steps), "a step")
        with open(steps, "r+b") as file:  # in place: it is being appended to
            file.seek(file.readline().index(b'"samples":20') + 11)
            file.write(b"1")
        self.assertEqual(one.wait(30), 1, one)
        self.assertIn("audit", one.last_line, one)
        status = request(url + "/v1/status").json
        self.assertEqual((status["state"], status["exit_code"]), ("failed", 1))
        self.assertIn("audit", status["error"])

    def test_a_signal_elsewhere_ends_submit_wait_as_it_ends_run(self):
        _, url = self.coordinator()
        one = self.start("submit", "--wait",
                         self.write("job.json", endless_job(workers=1)),
                         "--to", url)
        wait_until(lambda: request(url + "/v1/status").json.get("step", 0),
                   "the first step")
        self.assertEqual(control(url, {"type": "stop"}).status, 200)
        self.assertEqual(one.wait(20), 0, one)

    def test_json_that_cannot_be_written_is_no_success(self):
        job = self.write("job.json", emulated_job(100))
        line = self.start("run", job, "--json", "--run-dir",
                          self.folder / "run",
                          wrapper=["sh", "-c", 'exec "$0" "$@" >/dev/full'])
        self.assertEqual(line.wait(), 1, line)
        self.assertIn("cannot write to standard output", line.last_line)
        self.assertEqual(
            read_json(self.folder / "run" / "report.json")["state"], "done")


if __name__ == "__main__":
    unittest.main()
