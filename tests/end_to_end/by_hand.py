"""Goal: a cluster put together by hand works as `ballast run` does, says
clearly what it refuses, and can be watched and steered. Method: a real
coordinator and real nodes on the loopback, the command line and plain HTTP.
"""
import contextlib
import http.client
import json
import signal
import socket
import subprocess
import threading
import unittest

from ballast_process import (LOOPBACK, BallastTest, control, emulated_job,
                             endless_job, merged, patience, read_json,
                             read_lines, request, wait_until)
from exactness_checker import check_run


class Cluster(BallastTest):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"
        self.coordinator = self.start(
            "node", "--coordinator", "--listen", LOOPBACK, "--http", LOOPBACK,
            "--state", self.state)
        self.address = self.coordinator.said(r"coordinator (\S+)")[1]
        self.url = self.coordinator.said(r"http (\S+)")[1]
        if not self.url.startswith("http://"):
            self.url = "http://" + self.url

    def node(self, name, *arguments):
        return self.start("node", "--join", self.address, "--name", name,
                          *arguments)

    def nodes(self, *names):
        started = [self.node(name) for name in names]
        wait_until(lambda: set(names) <= set(self.members()), "the nodes")
        return started

    def members(self):
        return {w["name"]: w for w in self.status()["workers"]
                if w["state"] != "lost"}

    def status(self):
        return request(self.url + "/v1/status").json

    def in_state(self, *wanted, seconds=30):
        return wait_until(
            lambda: (now := self.status())["state"] in wanted and now,
            f"one of {wanted}", seconds)

    def submit(self, job, *arguments, code=0):
        path = self.write(f"job-{next(self.folders)}.json", job)
        return self.ballast("submit", path, "--to", self.url, *arguments,
                            code=code, seconds=90)

    def train(self, job, *arguments):
        """Submits a job and waits for it; its run directory."""
        name = self.submit(job, "--wait", *arguments).out.strip()
        return self.state / "runs" / name

    def ctl(self, kind, code=0):
        return self.ballast("ctl", kind, "--to", self.url, code=code)


class Training(Cluster):
    def test_three_nodes_train_one_job_after_another(self):
        nodes = self.nodes("left", "middle", "right")
        job = emulated_job(1003, workers=3, epochs=2, batch=64)
        first = self.train(job)
        self.assertEqual(first.name, "emulated-1")
        second = self.train(merged(job, {"seed": 5}))
        self.assertEqual(second.name, "emulated-2")
        for run in (first, second):
            found = check_run(run, 64, 2)
            self.assertEqual(found.problems, [], found)
            self.assertEqual(len(found.ids_of_step[1]), 3)
            self.assertEqual(self.audit(run)["repeated"], 0)
            self.assertEqual(read_json(run / "report.json")["state"], "done")
            self.assertTrue((run / "logs" / "left.log").exists())
        workers = read_json(second / "workers.json")["workers"]
        self.assertEqual({w["name"]: (w["pid"], w["incarnation"])
                          for w in workers},
                         {name: (node.pid, 1) for name, node in
                          zip(("left", "middle", "right"), nodes)})
        self.assertTrue(all(node.running() for node in nodes))

    def test_a_job_waits_until_there_are_enough_nodes(self):
        self.nodes("a")
        name = self.submit(emulated_job(200, workers=2)).out.strip()
        status = self.in_state("waiting")
        self.assertEqual((status["run"], status["waiting_for_workers"]),
                         (name, 2))
        self.nodes("b")
        self.in_state("done")
        # More than it asked for take part as well.
        self.nodes("c")
        run = self.train(emulated_job(300, workers=2))
        self.assertEqual(read_lines(run / "steps.jsonl")[0]["world"], 3)
        run = self.train(emulated_job(300, elastic={"max_workers": 2}))
        self.assertEqual(read_lines(run / "steps.jsonl")[0]["world"], 2)

    def test_a_torch_model_trains_twice_on_the_same_nodes(self):
        self.nodes("a", "b")
        job = merged(emulated_job(400, epochs=2), {
            "data": {"test_fraction": 0.2}})
        job["model"] = {"kind": "mlp", "hidden": [8]}
        hashes = [read_json(self.train(job) / "report.json")["weights_sha256"]
                  for _ in range(2)]
        self.assertEqual(*hashes)

    def test_a_second_job_is_refused_as_busy(self):
        self.nodes("a", "b")
        name = self.submit(endless_job()).out.strip()
        self.in_state("training")
        refused = self.submit(emulated_job(100), code=1)
        self.assertIn(f"busy with run {name}", refused.last_line)
        answer = control(self.url, {"type": "submit",
                                    "job": emulated_job(100)})
        self.assertEqual((answer.status, answer.json["error"]["code"]),
                         (409, "busy"))
        self.ctl("stop")
        self.in_state("stopped")
        self.train(emulated_job(100))

    def test_an_invalid_job_is_refused_and_the_next_one_runs(self):
        self.nodes("a")
        missing = {"train": {"format": "csv", "label": "y",
                             "uri": str(self.folder / "none.csv")}}
        job = emulated_job(workers=1)
        job["data"] = missing
        # Read only once it runs: the data is the nodes' business.
        one = self.submit(job, "--wait", code=2)
        self.assertIn("none.csv", one.last_line)
        self.assertEqual(list((self.state / "runs").iterdir()), [])
        answer = control(self.url, {"type": "submit", "job": {"version": 1}})
        self.assertEqual((answer.status, answer.json["error"]["code"]),
                         (422, "invalid_job"))
        self.train(emulated_job(100, workers=1))

    def test_a_node_with_once_leaves_after_one_job(self):
        node = self.node("a", "--once")
        self.train(emulated_job(100, workers=1))
        self.assertEqual(node.wait(10), 0, node)

    def test_a_job_survives_its_nodes_as_long_as_one_is_left(self):
        keeps, dies = self.nodes("keeps", "dies")
        path = self.write("job.json", endless_job())
        waiting = self.start("submit", path, "--to", self.url, "--wait")
        self.in_state("training")
        dies.signal(signal.SIGKILL)
        self.in_world(1)
        self.nodes("fresh")
        self.in_world(2)
        run = self.state / "runs" / "emulated-1"
        self.assertEqual(
            [sorted(e["workers"]) for e in read_lines(run / "events.jsonl")
             if e["kind"] == "generation"],
            [["dies", "keeps"], ["keeps"], ["fresh", "keeps"]])
        for name in ("keeps", "fresh"):
            self.ballast("ctl", "evict_worker", f"worker={name}", "--to",
                         self.url)
        # Nobody holds the model any more. They come back as new nodes, and
        # the run goes back to what is on the disk: nothing yet, so the seed.
        undone = wait_until(lambda: [
            e for e in read_lines(run / "events.jsonl")
            if e["kind"] == "undone"], "the way back")[0]
        self.assertEqual(undone["to"], 0)
        self.assertIn("every worker that held the model", undone["reason"])
        wait_until(lambda: self.status()["step"] > 3, "steps again")
        self.ctl("stop")
        self.assertEqual(waiting.wait(10), 0, waiting)
        self.assertEqual(check_run(run, 20).problems, [])
        # Whoever was shown out has come back, for the next job.
        wait_until(lambda: len(self.members()) == 2, "the nodes")
        run = self.train(emulated_job(500, workers=2))
        self.assertEqual(check_run(run, 256, 1).problems, [])
        self.assertTrue(keeps.running())

    def test_a_job_with_too_few_nodes_keeps_its_state_and_waits(self):
        _, dies = self.nodes("keeps", "dies")
        self.submit(endless_job(elastic={"min_workers": 2}))
        wait_until(lambda: self.status().get("step", 0) > 3, "some steps")
        dies.signal(signal.SIGKILL)
        run = self.state / "runs" / "emulated-1"

        def waits():
            return [e for e in read_lines(run / "events.jsonl")
                    if e["kind"] == "waiting"]
        [event] = wait_until(waits, "the wait")
        self.assertEqual((event["workers"], event["min_workers"]), (1, 2))
        [fresh] = self.nodes("fresh")
        wait_until(lambda: self.status()["step"] > event["step"] + 3,
                   "more steps")
        # Who waits can be stopped.
        fresh.signal(signal.SIGKILL)
        wait_until(lambda: len(waits()) == 2, "the wait")
        self.ctl("stop")
        self.in_state("stopped")
        self.assertEqual(check_run(run, 20).problems, [])

    def in_world(self, size):
        """So many train, and they take steps."""
        wait_until(lambda: self.status().get("world") == size,
                   f"a world of {size}")
        step = self.status()["step"]
        wait_until(lambda: self.status()["step"] > step + 3, "more steps")

    def test_nodes_end_when_their_coordinator_does(self):
        nodes = self.nodes("a", "b")
        self.submit(endless_job(elastic={"orphan_s": 0}))
        self.in_state("training")
        self.coordinator.signal(signal.SIGTERM)
        self.assertEqual(self.coordinator.wait(10), 130, self.coordinator)
        for node in nodes:
            self.assertEqual(node.wait(10), 1, node)
            self.assertIn("the coordinator is gone", node.last_line)


class Refusals(Cluster):
    def test_two_nodes_with_one_name(self):
        [first] = self.nodes("twin")
        second = self.node("twin")
        self.assertEqual(second.wait(20), 1, second)
        for part in ("a node named twin is already here",
                     f"pid {first.pid}", "--name"):
            self.assertIn(part, second.last_line)
        self.train(emulated_job(100, workers=1))
        self.assertTrue(first.running())
        # A name is free again when its node is gone; incarnations count on.
        first.signal(signal.SIGKILL)
        first.wait()
        wait_until(lambda: "twin" not in self.members(), "the loss")
        self.nodes("twin")
        self.assertEqual(self.members()["twin"]["incarnation"], 2)

    def test_a_node_of_another_build(self):
        node = self.node("other", "--build-id", "0123")
        self.assertEqual(node.wait(20), 1, node)
        for part in ("other", "is build 0123", "only equal builds"):
            self.assertIn(part, node.last_line)
        self.assertEqual(self.members(), {})

    def test_an_unreachable_coordinator(self):
        with socket.socket() as taken:  # bound, but nobody listens
            taken.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            self.refused(1, [f"no coordinator at {address}", "refused"],
                         "node", "--join", address, "--name", "x", "--wait",
                         1)
            self.refused(1, [address, "is the coordinator running?"],
                         "status", "--to", f"http://{address}")

    def test_a_peer_that_accepts_and_stays_silent(self):
        with silent_peer() as address:
            one = self.start("node", "--join", address, "--name", "x",
                             "--wait", 1)
            self.assertEqual(one.wait(10), 1, one)
            self.assertIn(f"no coordinator at {address}", one.last_line)
            self.assertIn("does not answer", one.last_line)

    def test_a_peer_that_is_something_else(self):
        address = self.url.removeprefix("http://")
        self.refused(1, f"no coordinator at {address}", "node", "--join",
                     address, "--name", "x", "--wait", 1)

    def test_ports_in_use(self):
        http_address = self.url.removeprefix("http://")
        for arguments in (
                ("--coordinator", "--listen", self.address, "--http", LOOPBACK,
                 "--state", self.folder / "a"),
                ("--coordinator", "--listen", LOOPBACK, "--http", http_address,
                 "--state", self.folder / "b"),
                ("--join", self.address, "--name", "x", "--metrics",
                 http_address)):
            taken = self.address if self.address in arguments[:3] and \
                arguments[0] == "--coordinator" else http_address
            self.refused(1, [taken, "in use"], "node", *arguments)
        job = self.write("job.json", emulated_job(100))
        one = self.refused(1, [http_address, "in use"], "run", job, "--http",
                           http_address)
        self.nobody_left(one, 2)
        self.assertEqual(self.members(), {})

    def test_addresses_beyond_the_loopback_and_devices_that_are_not_there(self):
        for code, says, arguments in (
                (2, "--insecure", ("--coordinator", "--listen", "0.0.0.0:0")),
                (2, "--insecure", ("--coordinator", "--http", "0.0.0.0:0")),
                (2, "--insecure", ("--join", self.address, "--metrics",
                                   "0.0.0.0:0")),
                (2, "not in this build", ("--join", self.address, "--device",
                                          "cuda:0")),
                (2, "HOST:PORT", ("--join", "nowhere"))):
            self.refused(code, says, "node", *arguments)

    def test_a_second_coordinator_in_one_state_folder(self):
        self.refused(2, ["--state", str(self.state), "another coordinator"],
                     "node", "--coordinator", "--state", self.state)


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
            ages = [w["heartbeat_age_s"] for w in self.status()["workers"]]
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
                          "stall_worker", "kill_worker"])

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
                (422, "not_in_build", "set_balance", {"type": "set_balance"}),
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


@contextlib.contextmanager
def silent_peer():
    """Accepts connections and says nothing."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        kept = []

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    kept.append(server.accept()[0])
        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    for one in kept:
        one.close()


if __name__ == "__main__":
    unittest.main()
