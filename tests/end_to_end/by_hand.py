"""Goal: a cluster put together by hand can be watched and steered, by those who
may. Method: a real coordinator and real nodes on the loopback, the command line
and plain HTTP.
"""
import contextlib
import http.client
import json
import subprocess
import threading
import unittest

from harness.exactness import check_run
from harness.http_client import control, request
from harness.jobs import emulated_job, endless_job
from harness.run_files import read_json, read_lines
from harness.waiting import patience, wait_until

from by_hand_cluster import Cluster


class Steering(Cluster):
    def test_pause_holds_all_and_resume_goes_on(self):
        self.nodes("a", "b")
        self.submit(endless_job())
        wait_until(lambda: self.status().get("step", 0) > 3, "some steps")
        self.assertIn("nothing to resume", self.ctl("resume", 1).last_line)
        self.ctl("pause")
        step = self.in_state("paused")["step"]
        run = self.state / "runs" / "emulated-1"
        lines = wait_until(
            lambda: (got := read_lines(run / "steps.jsonl"))[-1]["step"] >=
            self.status()["step"] and got, "the last line")
        # Held: heartbeats go on, steps do not.
        for _ in range(3):
            self.next_heartbeat()
        self.assertEqual(self.status()["step"], lines[-1]["step"])
        self.assertGreaterEqual(lines[-1]["step"], step)
        self.ctl("resume")
        wait_until(lambda: self.status()["step"] > lines[-1]["step"] + 3,
                   "more steps")
        self.ctl("pause")
        self.in_state("paused")
        self.ctl("stop")
        self.in_state("stopped")
        self.assertEqual(check_run(run, 20).problems, [])
        report = read_json(run / "report.json")
        self.assertEqual(report["state"], "stopped")
        self.assertTrue((run / "model.safetensors").exists())
        self.ballast("audit", run)
        self.assertIn("nothing to stop", self.ctl("stop", 1).last_line)

    def next_heartbeat(self):
        """Waits until the age of somebody's last one falls."""
        before = []

        def fell():
            ages = [w["heartbeat_age_s"] or 0 for w in self.status()["workers"]]
            younger = [a for a, b in zip(ages, before) if a < b]
            before[:] = ages
            return younger
        wait_until(fell, "a heartbeat")

    def test_status_on_one_screen_and_as_json(self):
        self.nodes("a", "b")
        screen = self.ballast("status", "--to", self.url).out
        self.assertIn("idle", screen)
        self.submit(endless_job())
        wait_until(lambda: self.status().get("samples_per_s", 0) > 0, "steps")
        screen = self.ballast("status", "--to", self.url).out
        for part in ("emulated-1", "training", "world 2", "50.0 %"):
            self.assertIn(part, screen)
        got = json.loads(
            self.ballast("status", "--json", "--to", self.url).out)
        self.assertEqual(sorted(got), sorted(self.status()))
        self.assertEqual(got["steps_total"], 100 * 100000)
        self.assertEqual([w["rows_owned"] for w in got["workers"]],
                         [1000, 1000])
        # The run directory knows where its coordinator is.
        run = self.state / "runs" / "emulated-1"
        self.assertIn("training",
                      self.ballast("status", "--to", run).out)
        reply = json.loads(self.ctl("status").out)
        self.assertTrue(reply["ok"])
        self.assertEqual(reply["status"]["run"], "emulated-1")

    def test_stop_before_and_while_it_trains(self):
        name = self.submit(emulated_job(100)).out.strip()
        self.in_state("waiting")
        self.ctl("stop")
        self.in_state("stopped")
        report = read_json(self.state / "runs" / name / "report.json")
        self.assertEqual((report["state"], report["steps"]), ("stopped", 0))
        self.nodes("a", "b")
        path = self.write("job.json", endless_job())
        one = self.start("submit", path, "--to", self.url, "--wait")
        self.in_state("training")
        self.ctl("stop")
        self.assertEqual(one.wait(20), 0, one)


class Watching(Cluster):
    def metrics_of(self, url):
        """The text of /metrics, after promtool has nothing to say about it."""
        answer = request(url + "/metrics")
        self.assertEqual(answer.status, 200)
        self.assertIn("text/plain; version=0.0.4",
                      answer.headers["Content-Type"])
        done = subprocess.run(
            ["promtool", "check", "metrics"], input=answer.text, text=True,
            capture_output=True, timeout=patience(30), check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "", ""), answer.text)
        return answer.text

    def value(self, text, name):
        """Of the first sample of this metric."""
        for line in text.splitlines():
            if line.startswith((name + " ", name + "{")):
                return float(line.rpartition(" ")[2])
        raise AssertionError(f"no {name} in\n{text}")

    def test_promtool_is_silent_about_every_process(self):
        self.nodes("a", "b", "c")
        self.check_all_processes()
        self.submit(endless_job(workers=3))
        wait_until(lambda: self.status().get("step", 0) > 3, "some steps")
        self.check_all_processes()
        text = self.metrics_of(self.url)
        self.assertEqual(self.value(text, "ballast_world_size"), 3)
        self.assertEqual(self.value(text, "ballast_generation"), 1)
        before = self.value(text, "ballast_steps_committed_total")
        wait_until(lambda: self.value(
            self.metrics_of(self.url), "ballast_steps_committed_total") >
            before, "a growing counter")
        for worker in self.status()["workers"]:
            text = self.metrics_of(worker["metrics"])
            self.assertIn("ballast_step_seconds_bucket", text)
            self.assertIn(f'worker="{worker["name"]}"', text)
        self.ctl("stop")
        self.in_state("stopped")
        self.check_all_processes()

    def check_all_processes(self):
        groups = request(self.url + "/v1/targets").json
        addresses = [one for group in groups for one in group["targets"]]
        self.assertEqual(len(addresses), 4)
        self.assertEqual({group["labels"].get("worker") for group in groups},
                         {None, "a", "b", "c"})
        for address in addresses:
            self.assertIn("ballast_build_info",
                          self.metrics_of("http://" + address))
            for path in ("/healthz", "/readyz"):
                answer = request(f"http://{address}{path}")
                self.assertEqual((answer.status, answer.text), (200, "ok\n"))

    def test_the_page_and_the_schema(self):
        page = request(self.url + "/")
        self.assertEqual(page.status, 200)
        self.assertIn("<html", page.text)
        schema = request(self.url + "/v1/schema").json
        self.assertIn("train", schema["job"]["properties"])
        self.assertEqual([one["title"] for one in schema["control"]["oneOf"]],
                         ["submit", "status", "pause", "resume", "stop",
                          "checkpoint", "scale", "drain_worker", "evict_worker",
                          "set_balance", "plan", "explain", "note", "slow_worker",
                          "stall_worker", "damage_chunks", "flip_gradients",
                          "kill_worker"])

    def test_events_come_live_and_from_the_number_that_was_asked_for(self):
        self.assertEqual(request(self.url + "/v1/events").status, 404)
        self.nodes("a", "b")
        self.submit(endless_job())
        follower = self.start("events", "--to", self.url)
        follower.said('"kind":"generation"')
        self.in_state("training")
        self.ctl("pause")
        follower.said('"kind":"paused"')
        lines = [json.loads(one) for one in follower.out.splitlines()]
        self.assertEqual([one["seq"] for one in lines],
                         list(range(1, len(lines) + 1)))
        address = self.url.removeprefix("http://")
        connection = http.client.HTTPConnection(address, timeout=patience(10))
        with contextlib.closing(connection):
            connection.request("GET", "/v1/events?after=2")
            answer = connection.getresponse()
            self.assertEqual(answer.headers["Content-Type"],
                             "text/event-stream")
            while not (line := answer.readline()).startswith(b"id:"):
                self.assertTrue(line)
            self.assertEqual(line, b"id: 3\n")
        bad = request(self.url + "/v1/events?after=x")
        self.assertEqual(bad.status, 400)


class Guarded(Cluster):
    """What /v1/control refuses: with a 4xx status and a code, and nothing
    changed."""

    def refuses(self, status, code, says, answer):
        self.assertEqual(answer.status, status, answer.text)
        self.assertFalse(answer.json["ok"])
        self.assertEqual(answer.json["error"]["code"], code)
        self.assertIn(says, answer.json["error"]["message"])

    def test_messages_that_are_none(self):
        self.nodes("a", "b")
        self.submit(endless_job())
        self.in_state("training")
        for status, code, says, message in (
                (400, "bad_request", "set_balance: give",
                 {"type": "set_balance"}),
                (404, "unknown_worker", "there are: ",
                 {"type": "drain_worker", "worker": "c"}),
                (404, "unknown_worker", "there are: ",
                 {"type": "evict_worker", "worker": "c"}),
                (400, "bad_request", "nobody here can start workers",
                 {"type": "scale", "workers": 3}),
                (400, "bad_request", '"faults": true',
                 {"type": "kill_worker", "worker": "a"}),
                (400, "bad_request", '"faults": true',
                 {"type": "stall_worker", "worker": "a", "seconds": 1}),
                (400, "bad_request", 'did you mean "pause"?',
                 {"type": "puase"}),
                (400, "bad_request", "unknown key",
                 {"type": "pause", "now": True}),
                (400, "bad_request", "/version",
                 {"version": 2, "type": "pause"}),
                (400, "bad_request", "/id", {"id": 7, "type": "pause"}),
                (400, "bad_request", "/job", {"type": "submit"}),
                (400, "bad_request", "/type", {}),
                (400, "bad_request", "", "{"),
                (400, "bad_request", "", ""),
                (400, "bad_request", "expected an object", "[1]"),
                (400, "bad_request", "", b"\xff\xfe{}")):
            self.refuses(status, code, says, control(self.url, message))
        deep = "[" * 100000 + "]" * 100000
        self.refuses(400, "bad_request", "", control(self.url, deep))
        self.assertEqual(self.status()["state"], "training")

    def test_bodies_that_are_too_large_or_of_another_type(self):
        big = b'{"version":1,"type":"pause","id":"' + b"x" * (1 << 20) + b'"}'
        self.refuses(413, "bad_request", "larger than",
                     control(self.url, big))
        self.refuses(415, "bad_request", "application/json",
                     control(self.url, {"type": "status"},
                             **{"Content-Type": "text/plain"}))
        self.assertEqual(request(self.url + "/v1/control").status, 405)
        self.assertEqual(request(self.url + "/v1/nothing").status, 404)

    def test_web_pages_of_others_cannot_steer(self):
        for headers in ({"Host": "evil.example:80"},
                        {"Origin": "http://evil.example"},
                        {"Origin": "null"}):
            answer = control(self.url, {"type": "status"}, **headers)
            self.assertEqual(answer.status, 403, headers)
        answer = request(self.url + "/v1/status",
                         headers={"Host": "evil.example"})
        self.assertEqual(answer.status, 403)
        answer = control(self.url, {"type": "status"}, Origin=self.url)
        self.assertEqual((answer.status, answer.json["ok"],
                          answer.json["id"]), (200, True, "test"))

    def test_many_clients_at_once_are_all_answered(self):
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(
            request(self.url + "/metrics").status)) for _ in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [200] * 32)


if __name__ == "__main__":
    unittest.main()
