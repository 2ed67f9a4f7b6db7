"""Goal: the commands that the thin program answers itself: right answers,
clear refusals, exit codes. Method: the real binary against a coordinator that
this test plays, on a loopback port.

usage: command_line_test.py BALLAST
"""
import http.server
import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

BALLAST = sys.argv.pop(1)

JOB = {
    "name": "tiny",
    "data": {"train": {"format": "csv", "uri": "a.csv", "label": "y"}},
    "model": {"kind": "linear"},
    "train": {"loss": "mse"},
}

STATUS = {
    "run": "tiny-1", "run_dir": "runs/tiny-1", "state": "training",
    "epoch": 2, "epochs": 3, "step": 312, "steps_total": 705, "loss": 0.4123,
    "samples_per_s": 81234.5, "world": 2, "generation": 1, "term": 1,
    "plan": 1, "skew_tv_max": 0.0123, "moves": [], "error": None,
    "workers": [
        {"name": "w1", "device": "cpu", "rank": 0, "state": "training",
         "samples_per_s": 41000.2, "rows_owned": 30000, "batch": 128,
         "skew_tv": 0.01, "heartbeat_age_s": 0.12},
        {"name": "w2", "device": "cpu", "rank": None, "state": "joining",
         "rows_owned": 10000},
    ],
}


class Coordinator(http.server.ThreadingHTTPServer):
    """Plays a coordinator; `states` are shown one after another."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.states = ["training"]
        self.messages = []
        self.answers = {}  # by type of message: fields of the reply
        self.explained = {}  # by worker
        self.refusal = None
        threading.Thread(target=self.serve_forever, args=(0.02,),
                         daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, code, body, kind="application/json"):
        body = body.encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        states = self.server.states
        if self.path == "/v1/status":
            state = states.pop(0) if len(states) > 1 else states[0]
            more = state if isinstance(state, dict) else {"state": state}
            error = "worker w2 lost" if state == "failed" else None
            self.answer(200, json.dumps({**STATUS, "error": error, **more}))
        elif self.path.startswith("/v1/events?after="):
            first = int(self.path.split("=")[1]) + 1
            text = ": hello\n\n" + "".join(
                f'id: {n}\ndata: {{"seq":{n}}}\n\n'
                for n in range(first, first + 2))
            self.answer(200, text, "text/event-stream")
        else:
            self.answer(404, "nothing here", "text/plain")

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        message = json.loads(self.rfile.read(size))
        self.server.messages.append((self.headers["Content-Type"], message))
        reply = {"version": 1, "id": message["id"], "ok": True}
        if message["type"] == "explain" and "worker" in message:
            reply.update(self.server.explained[message["worker"]])
        reply.update(self.server.answers.get(message["type"], {}))
        if message["type"] == "submit":
            reply["run"] = "tiny-1"
        if self.server.refusal:
            reply["ok"] = False
            reply["error"] = self.server.refusal
        self.answer(409 if self.server.refusal else 200, json.dumps(reply))


class CommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.job = self.write("job.json", json.dumps(JOB))

    def coordinator(self):
        server = Coordinator()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def ballast(self, *arguments, exit_code=0):
        done = subprocess.run([BALLAST, *arguments], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, exit_code,
                         f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def refused(self, exit_code, says, *arguments):
        """Fails with this exit code; the last line on stderr says why."""
        done = self.ballast(*arguments, exit_code=exit_code)
        self.assertIn(says, done.stderr.splitlines()[-1], arguments)
        return done

    def test_wrong_usage_ends_with_2_and_says_what_is_wrong(self):
        for says, arguments in [
                ("required", []),
                ('did you mean "status"?', ["statsu"]),
                ("--to is required", ["status"]),
                ("--frob", ["status", "--to", "x", "--frob"]),
                ("no host and port", ["status", "--to", "nowhere"]),
                ("is no port", ["status", "--to", "127.0.0.1:99999"]),
                ("expected JOB.json, or --resume RUN_DIR", ["run"]),
                ("--workers", ["run", self.job, "--workers", "0"]),
                ("/json/pointer=value", ["run", self.job, "--set", "x"]),
                ("key=value", ["ctl", "pause", "x", "--to", "127.0.0.1:1"]),
                ('did you mean "pause"?',
                 ["ctl", "puase", "--to", "127.0.0.1:1"]),
                ("unknown key", ["ctl", "pause", "x=1", "--to",
                                 "127.0.0.1:1"]),
                ('there is no command "data shwo"; did you mean "show"?',
                 ["data", "shwo", self.job]),
                ("--seed: Value -1 not in range 0 to 9007199254740991",
                 ["data", "split", "a.csv", "b.csv=0.5", "c.csv=0.5",
                  "--seed", "-1"]),
                ("--to: names no folder",
                 ["data", "prepare", self.job, "--to", ""]),
                ("name of a benchmark", ["bench"]),
                ("no number from 0.01", ["bench", "planner", "--seconds",
                                         "soon"]),
                ("is unknown", ["bench", "planner", "--quick"])]:
            self.refused(2, says, *arguments)

    def test_what_is_not_there_yet_is_refused_and_does_nothing(self):
        for arguments in [
                ["bench", "step"],
                ["run", self.job, "--set", "/train/strategy=pipeline"]]:
            self.refused(2, "not in this build", *arguments)

    def test_resume_without_a_run_to_go_on_with_is_refused(self):
        self.refused(2, "there is no run of 'tiny' in runs/", "run", self.job,
                     "--resume")

    def test_validate_names_every_mistake(self):
        wrong = self.write("wrong.json", json.dumps(
            {**JOB, "sed": 1, "elastic": {"workers": 0}}))
        done = self.ballast("validate", wrong, exit_code=2)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 2, lines)
        self.assertIn('/sed: unknown key; did you mean "seed"?', lines[0])
        self.assertIn("/elastic/workers: expected an integer from 1", lines[1])
        self.assertEqual(done.stdout, "")
        report = json.loads(self.ballast("validate", "--json", wrong,
                                         exit_code=2).stdout)
        self.assertEqual([m["pointer"] for m in report["mistakes"]],
                         ["/sed", "/elastic/workers"])

    def test_validate_fills_in_defaults_and_resolves_paths(self):
        report = json.loads(self.ballast("validate", "--json", self.job).stdout)
        self.assertTrue(report["valid"])
        self.assertEqual(report["job"]["train"]["global_batch"], 256)
        self.assertEqual(report["job"]["data"]["train"]["uri"],
                         os.path.join(self.folder, "a.csv"))

    def test_a_job_that_cannot_be_read_ends_with_2(self):
        self.refused(2, "No such file", "run", self.folder + "/none.json")
        self.refused(2, "is a folder", "run", self.folder)
        self.refused(2, "line 1, column 2", "run", self.write("x.json", "{a"))
        self.refused(2, "the text is empty", "run", self.write("y.json", ""))
        self.refused(2, "at most", "run",
                     self.write("z.json", " " * ((1 << 20) + 1)))

    def test_status_is_one_screen(self):
        server = self.coordinator()
        screen = self.ballast("status", "--to", server.url).stdout
        for part in ["tiny-1  training", "epoch 2/3", "step 312/705",
                     "loss 0.4123", "skew 0.012", "75.0 %", "41000"]:
            self.assertIn(part, screen)
        self.assertLessEqual(len(screen.splitlines()), 24)
        status = json.loads(
            self.ballast("status", "--json", "--to", server.url).stdout)
        self.assertEqual(status, STATUS)

    def test_status_says_what_checkpoints_cost(self):
        server = self.coordinator()
        about = {
            "step": 400, "step_s": 0.105, "trained_s": 200,
            "failures_survived": 2, "failures_undone": 0,
            "mttf_s": 86400, "mttf_assumed": True,
            "pause_s": 0.0144, "saved_s": 0.62,
            "now": {"interval_s": 21.0, "pause_ratio": 0.00069,
                    "lost_s": 11.12, "waste_ratio": 0.0008},
            "best": {"interval_s": 49.9, "pause_ratio": 0.00002,
                     "lost_s": 25.6, "waste_ratio": 0.0006},
            "advice": {"every_s": 50, "every_steps": 200}}
        server.states = [{"checkpoint": about}]
        screen = self.ballast("status", "--to", server.url).stdout
        for line in [
                "checkpoints: step 400 is on the disk; one is saved in 620 ms "
                "and holds training up by 14 ms (a step takes 105 ms)",
                "  now:  one every 21 s, 0.07 % of the time; a failure of all "
                "workers loses 11 s",
                "  best: one every 50 s, less than 0.01 % of the time; loses "
                "26 s (checkpoint.every_s 50, every_steps 200)",
                "  state lost never in 3.3 min of training, 2 failures "
                "survived; assumed: once in 24 h"]:
            self.assertIn(line, screen.splitlines())
        about.update(failures_undone=3, mttf_s=400000, mttf_assumed=False,
                     trained_s=1.2e6)
        screen = self.ballast("status", "--to", server.url).stdout
        self.assertIn("state lost 3 times in 14 days of training, 2 failures "
                      "survived; so once in 4.6 days", screen)
        about.update(memory_step=480)
        about["advice"].update(memory_every_s=40)
        screen = self.ballast("status", "--to", server.url).stdout
        for part in ("step 400 is on the disk, step 480 in memory; one is",
                     "(checkpoint.memory_every_s 40, every_steps 200)"):
            self.assertIn(part, screen)
        about.update(step=None, now=None, best=None, advice=None, pause_s=None,
                     memory_step=None)
        screen = self.ballast("status", "--to", server.url).stdout
        self.assertIn("checkpoints: none is on the disk yet; what one costs is "
                      "not measured yet", screen)

    def test_status_says_where_copies_of_checkpoints_are(self):
        server = self.coordinator()
        about = {"step": 400, "now": None, "best": None, "copied_step": None,
                 "copy_to": "s3://ours/run", "copy_trouble": "no answer"}
        server.states = [{"checkpoint": about}]
        screen = self.ballast("status", "--to", server.url).stdout
        self.assertIn("  copies: none is in s3://ours/run; no answer",
                      screen.splitlines())
        about.update(copied_step=300, copy_trouble=None)
        screen = self.ballast("status", "--to", server.url).stdout
        self.assertIn("  copies: step 300 is in s3://ours/run",
                      screen.splitlines())

    def test_status_says_why_no_step_is_done(self):
        server = self.coordinator()
        for more, part in [
                ({"cannot_open": "worker w1 cannot reach worker w2"},
                 "cannot connect to each other: worker w1 cannot reach"),
                ({"waits": "1 of at least 2 workers are here"},
                 "waits: 1 of at least 2"),
                ({"waiting_for_memory": {"lacking_bytes": 2500000,
                                         "free_bytes": 400000}},
                 "2.5 MB of the training data have no place, the workers have "
                 "room for 0.4 MB more")]:
            server.states = [{"state": "waiting", **more}]
            self.assertIn(
                part, self.ballast("status", "--to", server.url).stdout)

    def test_a_run_directory_leads_to_its_coordinator(self):
        self.refused(1, "does not exist", "status", "--to", self.folder)
        server = self.coordinator()
        self.write("coordinator.json",
                   json.dumps({"http": f"127.0.0.1:{server.server_port}"}))
        self.ballast("status", "--to", self.folder)
        self.write("coordinator.json", '{"http": "127.0.0.1:1"}')
        self.refused(1, "is the coordinator running?", "status", "--to",
                     self.folder)
        self.write("report.json", "{}")
        self.refused(1, "the run has ended", "ctl", "pause", "--to",
                     self.folder)

    def test_ctl_sends_one_message_and_prints_the_reply(self):
        server = self.coordinator()
        reply = json.loads(
            self.ballast("ctl", "pause", "--to", server.url).stdout)
        self.assertTrue(reply["ok"])
        [(kind, message)] = server.messages
        self.assertEqual(kind, "application/json")
        self.assertEqual((message["version"], message["type"]), (1, "pause"))
        server.refusal = {"code": "busy", "message": "it is busy"}
        done = self.refused(1, "it is busy", "ctl", "stop", "--to", server.url)
        self.assertFalse(json.loads(done.stdout)["ok"])

    PLAN = {
        "plan": 3, "code": "DISABLED", "reason": "balancing is switched off",
        "before": {"step_ms": 12.5, "skew_tv_max": 0.7,
                   "classes_held_alone": 0, "workers": {
                       "w1": {"batch": 64, "rows": 40000},
                       "w2": {"batch": 64, "rows": 20000}}},
        "after": {"step_ms": 8, "skew_tv_max": 0.05,
                  "classes_held_alone": 0, "workers": {
                      "w1": {"batch": 100, "rows": 40000},
                      "w2": {"batch": 28, "rows": 20000}}},
        "moved_rows": 12345, "moved_bytes": 12530000, "bound_rows": 12000,
        "takes_s": 0.52, "moves_total": 3, "moves": [
            {"chunk": 1, "rows": 6000, "from": "w1", "to": "w2"},
            {"chunk": 2, "rows": 345, "from": "w1", "to": "w2"},
            {"chunk": 3, "rows": 6000, "from": "w2", "to": "w1"}],
        "weighed": {"asked": ["labels: w2 is the furthest"],
                    "why_not_more": "labels are good enough",
                    "would_change": "`ballast ctl set_balance enabled=true`"}}

    def test_ctl_plan_says_who_gives_what_to_whom_and_why(self):
        server = self.coordinator()
        server.answers["plan"] = self.PLAN
        said = self.ballast("ctl", "plan", "--to", server.url).stdout
        self.assertEqual(said.splitlines(), [
            "12,345 samples of 60,000 (20.6 %) would move; no plan that leads "
            "as far moves fewer than 12,000",
            "  w1 gives 6,345 samples to w2",
            "  w2 gives 6,000 samples to w1",
            "  samples of a step: w1 64 -> 100 and w2 64 -> 28",
            "why: labels: w2 is the furthest",
            "costs: 12.5 MB to copy, which takes 0.520 s beside the steps",
            "wins: labels at most 5.0 % off the whole set instead of 70.0 % "
            "and a step of 8.000 ms instead of 12.50 ms",
            "now: balancing is switched off",
            "why not more: labels are good enough",
            "would change it: `ballast ctl set_balance enabled=true`"])
        reply = json.loads(self.ballast("ctl", "plan", "--json", "--to",
                                        server.url).stdout)
        self.assertTrue(reply["ok"])
        self.assertEqual(reply["moves"], self.PLAN["moves"])

    def test_ctl_plan_of_a_balanced_run_says_that_nothing_moves(self):
        server = self.coordinator()
        server.answers["plan"] = {
            **self.PLAN, "moved_rows": 0, "moves": [], "moves_total": 0,
            "after": self.PLAN["before"]}
        said = self.ballast("ctl", "plan", "--to", server.url).stdout
        self.assertTrue(said.startswith("nothing would move\nwhy: "), said)
        for part in ("costs", "wins", "gives"):
            self.assertNotIn(part, said)

    def test_a_plan_that_is_refused_is_told_without_json(self):
        server = self.coordinator()
        server.refusal = {"code": "busy", "message": "no plan yet"}
        done = self.refused(1, "no plan yet", "ctl", "plan", "--to",
                            server.url)
        self.assertEqual(done.stdout, "")

    def explained(self):
        server = self.coordinator()
        workers = [{"name": name, "rank": rank, "state": "training"}
                   for name, rank in (("w2", 1), ("new", None), ("w1", 0))]
        server.states = [{"workers": workers}]
        every = {"skew_noise_floor": 0.008, "holds_alone": [],
                 "device_trouble": None, "reason": "nothing is better",
                 "would_change": "another speed"}
        server.explained = {
            "w1": {**every, "worker": "w1", "rows": 48000, "batch": 206,
                   "batch_best": 206, "skew_tv": 0, "waits_for_core": 0.01,
                   "speed": {"row_us": 100.5}},
            "w2": {**every, "worker": "w2", "rows": 12000, "batch": 50,
                   "batch_best": 40, "skew_tv": 0.049, "waits_for_core": 0.25,
                   "speed": {"row_us": 402}, "holds_alone": [{"class": 3}],
                   "device_trouble": "cuda:0: slowed down by heat",
                   "classes": [{"class": 3, "share_over_global": 0.12},
                               {"class": 1, "share_over_global": -0.04}]}}
        return server

    def test_ctl_explain_has_a_line_for_each_worker(self):
        server = self.explained()
        said = self.ballast("ctl", "explain", "--to", server.url).stdout
        self.assertEqual(said.splitlines(), [
            "w1   80.0 %  48,000 of 60,000 samples, 206 of 256 of a step: a "
            "sample takes it 100.5 us, none is faster",
            "w2   20.0 %  12,000 of 60,000 samples, 50 of 256 of a step: a "
            "sample takes it 402.0 us, 4.0 times as long as w1; cuda:0: slowed "
            "down by heat; waits for a core 25.0 % of its time; its labels are "
            "4.9 % off the whole set (0.8 % would be chance); holds 1 class "
            "alone",
            "now: nothing is better", "would change it: another speed"])

    def test_ctl_explain_says_more_of_one_worker(self):
        server = self.explained()
        said = self.ballast("ctl", "explain", "worker=w2", "--to",
                            server.url).stdout.splitlines()
        self.assertTrue(said[0].startswith("w2   20.0 %  12,000 of 60,000"))
        self.assertEqual(said[1:3], [
            "  by its speed a step would take 40 samples of it",
            "  against the whole set: class 3 +12.0 % and class 1 -4.0 %"])
        one = json.loads(self.ballast("ctl", "explain", "worker=w2", "--json",
                                      "--to", server.url).stdout)
        self.assertEqual((one["rows"], one["ok"]), (12000, True))

    def test_ctl_explain_tells_of_a_chunk(self):
        server = self.coordinator()
        server.answers["explain"] = {
            "chunk": 17, "rows": 1000, "bytes": 81234, "may_move": True,
            "owners": [{"worker": "w1", "begin": 0, "end": 400},
                       {"worker": "w2", "begin": 400, "end": 1000}],
            "windows_since_move": None, "planned": None}
        said = self.ballast("ctl", "explain", "chunk=17", "--to", server.url)
        self.assertEqual(said.stdout.splitlines(), [
            "chunk 17: 1,000 samples, 81.2 kB",
            "  w1 owns 400 samples of it, 0 to 399",
            "  w2 owns 600 samples of it, 400 to 999",
            "  it may move"])

    def test_submit_sends_the_whole_job(self):
        server = self.coordinator()
        done = self.ballast("submit", self.job, "--to", server.url,
                            "--set", "/seed=9")
        self.assertEqual(done.stdout, "tiny-1\n")
        job = server.messages[0][1]["job"]
        self.assertEqual(job["seed"], 9)
        self.assertEqual(job["data"]["train"]["uri"],
                         os.path.join(self.folder, "a.csv"))
        server.refusal = {"code": "invalid_data", "message": "row 3 is short"}
        self.refused(2, "row 3 is short", "submit", self.job, "--to",
                     server.url)

    def test_submit_wait_takes_over_the_exit_code(self):
        for state, code in [("done", 0), ("stopped", 0), ("failed", 1)]:
            server = self.coordinator()
            server.states = ["preparing", "training", state]
            done = self.ballast("submit", "--wait", self.job, "--to",
                                server.url, exit_code=code)
            if code:
                self.assertIn("worker w2 lost", done.stderr)

    def test_submit_wait_takes_over_how_the_report_has_it(self):
        for end, code, says in [
                ({"state": "failed", "exit_code": 1,
                  "error": "the audit of the run found: x"}, 1, "audit"),
                ({"state": "stopped", "exit_code": 130,
                  "reason": "stopped by a signal"}, 130, "by a signal"),
                ({"state": "stopped", "exit_code": 0}, 0, ""),
                ({"state": "done", "exit_code": 0}, 0, "")]:
            server = self.coordinator()
            server.states = ["training", "finishing", end]
            done = self.ballast("submit", "--wait", self.job, "--to",
                                server.url, exit_code=code)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stderr == "", code == 0, done.stderr)

    def test_submit_wait_says_once_why_no_step_is_done(self):
        server = self.coordinator()
        waits = {"state": "waiting", "waits": "0 of 2 workers are here"}
        server.states = [waits, waits, waits, "done"]
        done = self.ballast("submit", "--wait", self.job, "--to", server.url)
        self.assertEqual(done.stderr,
                         "tiny-1 waits: 0 of 2 workers are here\n")

    def test_a_coordinator_that_stands_still_is_told_of(self):
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
            started = [subprocess.Popen(
                [BALLAST, *arguments, "--to", url], stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True)
                for arguments in (["ctl", "stop"], ["status"])]
            said = [one.communicate(timeout=60)[1] for one in started]
        for one, text in zip(started, said):
            self.assertEqual(one.returncode, 1)
            first, last = text.splitlines()
            self.assertIn(f"no answer from {url} for 5 s", first)
            self.assertIn("no answer in time", last)
        self.assertIn("may still take effect later", said[0])
        self.assertNotIn("may still take effect later", said[1])

    def test_bash_completes_from_the_tables(self):
        script = self.ballast("docs", "completion").stdout
        for words, expected in (
                (["sub"], {"submit"}),
                (["ctl", "sta"], {"status", "stall_worker"}),
                (["ctl", "slow_worker", ""], {"worker=", "factor="}),
                (["run", "j.json", "--set", "/train/ep"], {"/train/epochs="})):
            with self.subTest(words=words):
                done = subprocess.run(
                    ["bash", "-c", script + """
                     COMP_WORDS=(ballast "$@"); COMP_CWORD=$#
                     _ballast 2>/dev/null; printf '%s\\n' "${COMPREPLY[@]}"
                     """, "bash", *words],
                    capture_output=True, text=True, check=True)
                self.assertEqual(set(done.stdout.split()), expected, done)

    @unittest.skipUnless(shutil.which("fish"), "needs fish")
    def test_fish_completes_from_the_tables(self):
        script = pathlib.Path(self.folder, "ballast.fish")
        script.write_text(self.ballast("docs", "completion-fish").stdout,
                          encoding="utf-8")
        for words, expected in (("pre", "predict"),
                                ("ctl stall", "stall_worker"),
                                ("run --set /train/ep", "/train/epochs="),
                                ("export --o", "--out")):
            with self.subTest(words=words):
                done = subprocess.run(
                    ["fish", "-c", f"source {script}; "
                     f"complete -C 'ballast {words}'"],
                    capture_output=True, text=True, check=True)
                self.assertEqual([line.split("\t")[0] for line in
                                  done.stdout.splitlines()], [expected])

    @unittest.skipUnless(shutil.which("zsh"), "needs zsh")
    def test_zsh_reads_the_completion(self):
        script = pathlib.Path(self.folder, "_ballast")
        script.write_text(self.ballast("docs", "completion-zsh").stdout,
                          encoding="utf-8")
        done = subprocess.run(
            ["zsh", "-f", "-c", "autoload -U compinit; compinit -u -D; "
             f"source {script}; print $_comps[ballast]"],
            capture_output=True, text=True, check=True)
        self.assertEqual((done.stdout, done.stderr), ("_ballast\n", ""))

    def test_the_manual_page_has_each_command_once(self):
        text = self.ballast("docs", "man").stdout
        for name in ("run", "predict", "export", "audit"):
            self.assertEqual(text.count(f".SS ballast {name}\n"), 1, name)
        self.assertEqual(text.count("BALLAST_CACHE_LIMIT_GB"), 1)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-ww", "-z"], input=text,
                                  capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")

    def test_help_of_audit(self):
        done = self.ballast("audit", "--help")
        self.assertIn("usage: ballast audit RUN_DIR [--replay] [--json]", done.stdout)

    def test_a_result_that_cannot_be_written_is_no_success(self):
        for arguments in (["docs", "errors"], ["validate", self.job, "--json"],
                          ["validate", self.job], ["--help"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run(
                    [BALLAST, *arguments], stdout=full, timeout=60,
                    stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1, arguments)
            # Why is known of the last write only.
            self.assertRegex(done.stderr, "cannot write to standard output: "
                             "(No space|an earlier write failed)")

    def test_text_that_is_not_utf8_is_refused_by_name(self):
        self.refused(2, r"caf\xe9", "validate", self.job, "--set",
                     b"/name=caf\xe9")
        self.refused(2, r"caf\xe9", "run", self.job, "--run-dir", b"caf\xe9")
        folder = os.path.join(self.folder.encode(), b"caf\xe9")
        os.mkdir(folder)
        path = os.path.join(folder, b"job.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(JOB, out)
        self.refused(2, "is not UTF-8", "validate", path)

    def test_events_prints_what_the_server_sends(self):
        server = self.coordinator()
        done = self.ballast("events", "--after", "4", "--to", server.url)
        self.assertEqual(done.stdout, '{"seq":5}\n{"seq":6}\n')

    def ended_run(self):
        run = os.path.join(self.folder, "ended")
        os.mkdir(run)
        with open(os.path.join(run, "events.jsonl"), "w",
                  encoding="utf-8") as out:
            for seq, (time, kind) in enumerate(
                    (("2026-11-28T20:00:00.100Z", "run_started"),
                     ("2026-11-28T20:10:00.200Z", "worker_lost"),
                     ("2026-11-28T20:20:00.300Z", "run_ended"))):
                out.write(json.dumps({"seq": seq + 1, "time": time,
                                      "kind": kind}) + "\n")
            out.write('{"seq": 4, "ti')  # its writer died
        with open(os.path.join(run, "report.json"), "w",
                  encoding="utf-8") as out:
            json.dump({"state": "done", "steps": 12, "samples": 100,
                       "wall_s": 3.5, "samples_per_s": None,
                       "test_loss": 0.25}, out)
        return run

    def test_events_of_an_ended_run_come_from_its_file(self):
        run = self.ended_run()
        for chosen, expected in (
                ([], [1, 2, 3]),
                (["--after", "1"], [2, 3]),
                (["--kind", "run_ended", "--kind", "run_started"], [1, 3]),
                (["--since", "2026-11-28T20:10"], [2, 3]),
                (["--since", "2026-11-29"], []),
                (["--since", "1s"], [])):
            done = self.ballast("events", "--to", run, *chosen)
            self.assertEqual(
                [json.loads(line)["seq"] for line in
                 done.stdout.splitlines()], expected, chosen)
        done = self.ballast("events", "--to", run, "--kind", "lost")
        self.assertEqual(done.stdout, "")
        self.assertIn("there is no event of the kind lost; there are: "
                      "run_ended, run_started, worker_lost", done.stderr)
        self.refused(2, "--since soon: expected a time before now",
                     "events", "--to", run, "--since", "soon")

    def test_the_status_of_an_ended_run_is_its_report(self):
        run = self.ended_run()
        done = self.ballast("status", "--to", run)
        self.assertIn("done: 12 steps, 100 samples in 3.5 s", done.stdout)
        self.assertIn("test loss      0.2500", done.stdout)
        done = self.ballast("status", "--to", run, "--json")
        self.assertEqual(json.loads(done.stdout)["state"], "done")

    def test_thin_commands_start_within_50_ms(self):
        # Processor time of the fastest of ten: what else runs on the machine
        # does not count.
        for arguments in [["--version"], ["validate", self.job]]:
            times = []
            for _ in range(10):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                self.ballast(*arguments)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                times.append(after.ru_utime + after.ru_stime -
                             before.ru_utime - before.ru_stime)
            self.assertLess(min(times), 0.05)


if __name__ == "__main__":
    unittest.main()
