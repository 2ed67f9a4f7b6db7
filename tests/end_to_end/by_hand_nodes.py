"""Goal: a cluster put together by hand trains as `ballast run` does, outlives
its nodes, and says clearly whom it refuses. Method: a real coordinator and real
nodes on the loopback.
"""
import contextlib
import signal
import socket
import threading
import unittest

from harness.exactness import check_run
from harness.http_client import control
from harness.jobs import emulated_job, endless_job, merged
from harness.program import LOOPBACK
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from by_hand_cluster import Cluster


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
        # At once: who is shown out first may be back with the model soon.
        for name in ("keeps", "fresh"):
            answer = control(self.url, {"type": "evict_worker",
                                        "worker": name})
            self.assertTrue(answer.json["ok"], answer.json)
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

    def test_the_next_job_of_a_coordinator_that_was_started_again(self):
        nodes = self.nodes("a", "b")
        self.submit(endless_job())
        wait_until(lambda: self.status().get("step", 0) > 3, "some steps")
        self.coordinator.signal(signal.SIGKILL)
        self.coordinator.wait()
        self.lead(self.address)
        wait_until(lambda: self.status()["state"] == "training" and
                   len(self.members()) == 2, "the nodes")
        self.ctl("stop")
        self.in_state("stopped")
        run = self.train(emulated_job(500, workers=2))
        self.assertEqual(check_run(run, 256, 1).problems, [])
        # Nodes that know nothing of the first one take part as well.
        for one in nodes:
            one.signal(signal.SIGTERM)
            one.wait()
        self.nodes("c")
        run = self.train(emulated_job(300, workers=1))
        self.assertEqual(read_json(run / "report.json")["state"], "done")
        self.assertEqual(read_json(run / "coordinator.json")["term"], 2)

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
                (1, "--device cuda:1023: ", ("--join", self.address,
                                             "--device", "cuda:1023")),
                (2, "cuda:N", ("--join", self.address, "--device", "cuda")),
                (2, "HOST:PORT", ("--join", "nowhere"))):
            self.refused(code, says, "node", *arguments)

    def test_a_second_coordinator_in_one_state_folder(self):
        self.refused(2, ["--state", str(self.state), "another coordinator"],
                     "node", "--coordinator", "--state", self.state)


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
