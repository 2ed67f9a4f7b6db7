"""Goal: data follow the speed of the workers and the distribution of labels
while the run goes on, nothing is lost or repeated by it, and every decision
can be asked for. Method: real processes, steered by HTTP; the trace is checked
by a program that shares nothing with the runtime.
"""
import json
import pathlib
import random
import subprocess
import sys
import time
import unittest

from harness.exactness import check_run
from harness.http_client import request
from harness.jobs import emulated_job, merged
from harness.live_run import LiveRun
from harness.program import EXAMPLES
from harness.run_files import read_json, read_lines

from ballast_test import BallastTest

CHECKER = (pathlib.Path(__file__).parent.parent / "runtime" / "balance" /
           "check_certificate.py")
WORKERS = 4
ROWS = 10007
BUDGET = 0.05 + 1e-9  # reached to the last row, it is rounded in a sum


def job_of(epochs, **more):
    """Chunks sorted by label: every worker owns one class in four."""
    return merged(emulated_job(
        ROWS, workers=WORKERS, batch=128, epochs=epochs, us_per_sample=100,
        parameters=50, data={"chunk_rows": 50,
                             "placement": {"kind": "sorted"}},
        elastic={"heartbeat_ms": 200, "respawn_limit": 1000},
        balance={"skew_tv": 0.05}, faults=True), more)


class Balance(BallastTest):
    def live(self, job, workers=WORKERS):
        run = LiveRun(job, self.folder / f"live-{next(self.folders)}",
                      self.environment["BALLAST_CACHE"])
        self.addCleanup(run.process.end)
        run.wait_full(workers)
        return run

    def ended_exactly(self, run, epochs=None):
        report = run.stop() if epochs is None else None
        if report is None:
            self.assertEqual(run.process.wait(120), 0, run.process)
            report = read_json(run.run / "report.json")
        audit = report["audit"]
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))
        found = check_run(run.run, 128, epochs)
        self.assertEqual(found.problems, [], found)
        self.ballast("audit", run.run)
        return report

    def balanced(self, run):
        run.poll()
        return [e for e in run.events.lines if e["kind"] == "balance"]

    def test_skew_falls_below_the_budget_and_hardly_more_moves_than_must(self):
        run = self.live(job_of(epochs=100000))
        run.wait_for(lambda: self.balanced(run) and
                     self.balanced(run)[-1]["skew_tv_max"] <= BUDGET,
                     "skew below the budget")
        report = self.ended_exactly(run)
        self.assertGreater(report["skew_tv_start"], 0.6)
        self.assertLessEqual(report["skew_tv_max"], BUDGET)
        self.assertGreater(report["moved_bound_samples"], 0)
        self.assertLessEqual(report["moved_samples"],
                             1.1 * report["moved_bound_samples"])
        moved = [e for e in read_lines(run.run / "events.jsonl")
                 if e["kind"] == "move"]
        self.assertEqual(sum(e["bytes"] for e in moved),
                         report["moved_bytes"])

    def test_skew_of_a_number_falls_below_the_budget_too(self):
        job = job_of(epochs=100000, train={"loss": "mse"})
        job["model"] = {"kind": "linear", "init": "zeros"}
        run = self.live(job)
        # Steps of microseconds: sizes follow their noise, and what then is less
        # than a quarter above the budget is left alone.
        budget = 1.25 * 0.05
        run.wait_for(lambda: self.balanced(run) and
                     self.balanced(run)[-1]["skew_tv_max"] <= budget,
                     lambda: f"skew below {budget}, there were "
                     f"{[e['skew_tv_max'] for e in self.balanced(run)]}", 150)
        report = self.ended_exactly(run)
        self.assertGreater(report["skew_tv_start"], 0.7)
        self.assertLessEqual(report["skew_tv_max"], budget)

    def test_the_example_shows_skew_and_makespan_falling(self):
        """What a user sees who starts it and then slows a worker down."""
        job = read_json(EXAMPLES / "jobs" / "skewed.json")
        job["train"]["epochs"] = 100000
        run = self.live(job)

        def now():
            return request(run.url + "/v1/status").json
        seen = []

        def settled():
            status = now()
            seen.append((status["skew_tv_max"],
                         status["balance"]["makespan_ratio"]))
            last = self.balanced(run)[-1:]
            return (status["skew_tv_max"] <= BUDGET and last and
                    status["balance"]["makespan_ratio"] < 1.2)
        try:
            run.wait_for(settled, "skew in the budget")
        except AssertionError as error:
            self.fail(f"{error}; skew and makespan: {seen[-3:]}, events: "
                      f"{self.balanced(run)}, {now()['balance']}")
        self.assertGreater(seen[0][0], 0.6, "sorted by label")
        self.assertIsNone(run.post("slow_worker", worker="w2", factor=4))
        run.wait_for(lambda: now()["balance"]["makespan_ratio"] > 1.5,
                     "the slow one to be seen", 20)
        moved = len(self.balanced(run))
        run.wait_for(lambda: len(self.balanced(run)) > moved and settled(),
                     "a better split")
        last = self.balanced(run)[-1]
        self.assertLess(last["batch"]["w2"],
                        0.6 * min(last["batch"][w] for w in ("w1", "w3")))
        report = run.stop()
        self.assertGreater(report["skew_tv_start"], 0.6)
        self.assertLessEqual(report["skew_tv_max"], 0.0625)
        self.assertGreater(report["moved_bound_samples"], 30000)
        self.assertGreater(report["moved_samples"], 30000)
        self.assertEqual((report["audit"]["lost"],
                          report["audit"]["repeated"]), (0, 0))

    def test_a_class_of_one_worker_alone_gets_a_second_holder(self):
        """Four rows of it in 4,004: no skew to speak of."""
        table = self.folder / "rare.csv"
        rows = [("a", n % 3) for n in range(4000)]
        rows[10:10] = [("rare", 3)] * 4
        table.write_text("x,y\n" + "".join(
            f"{n}.5,{label}\n" for n, (_, label) in enumerate(rows)),
            encoding="utf-8")
        job = job_of(epochs=100000, balance={"enabled": False, "skew_tv": 0.1})
        job["data"] = {"train": {"format": "csv", "uri": str(table),
                                 "label": "y"}, "test_fraction": 0,
                       "chunk_rows": 100, "placement": {"kind": "contiguous"}}
        run = self.live(job)

        def ask(*words):
            return json.loads(self.ballast("ctl", *words, "--json", "--to",
                                           run.run).out)
        run.wait_for(lambda: run.post("plan") is None, "a first look")
        self.assertEqual(ask("plan")["held_alone"],
                         [{"class": 3, "rows": 4, "worker": "w1"}])
        # Once the workers' speeds are known.
        run.wait_for(lambda: ask("plan")["after"]["classes_held_alone"] == 0,
                     "a plan that gives it another one")
        self.assertEqual(ask("explain", "worker=w1")["holds_alone"],
                         [{"class": 3, "rows": 4}])
        ask("set_balance", "enabled=true")
        run.wait_for(lambda: any(e["cause"] == "COVERAGE"
                                 for e in self.balanced(run)), "its plan")
        [event] = [e for e in self.balanced(run) if e["cause"] == "COVERAGE"]
        self.assertEqual(event["reason"], "class 3 is held by w1 alone")
        self.assertLessEqual(event["moved_rows"], 26)
        run.wait_for(lambda: ask("plan")["held_alone"] == [], "its holder")
        self.assertIn('moved_samples_total{run="run",reason="coverage"} '
                      f'{event["moved_rows"]}\n',
                      request(run.url + "/metrics").text)
        self.ended_exactly(run)

    def test_a_slow_worker_gets_less_to_do_and_less_to_own(self):
        job = job_of(epochs=100000, data={"placement": {"kind": "iid"}})
        run = self.live(job)
        self.assertIsNone(run.post("slow_worker", worker="w2", factor=4))
        run.wait_for(lambda: any(e["moved_rows"] > 0
                                 for e in self.balanced(run)), "its data")
        last = self.balanced(run)[-1]
        others = [last["rows"][w] for w in ("w1", "w3", "w4")]
        self.assertLess(last["rows"]["w2"], min(others) / 2)
        self.assertLess(last["batch"]["w2"], 20)
        self.ended_exactly(run)

    @staticmethod
    def checked(proof):
        """What the checker that shares nothing with the runtime says of it."""
        done = subprocess.run([sys.executable, CHECKER], input=json.dumps(proof),
                              capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).strip()

    def test_every_decision_can_be_asked_for(self):
        run = self.live(job_of(epochs=100000, balance={"enabled": False}))

        def ask(*words):
            return json.loads(self.ballast("ctl", *words, "--json", "--to",
                                           run.run).out)
        run.wait_for(lambda: run.post("plan") is None, "a first look")
        plan = ask("plan")
        self.assertGreater(plan["moved_rows"], 0)
        self.assertGreaterEqual(plan["moved_rows"], plan["bound_rows"])
        proof = ask("plan", "certificate=true")["certificate"]
        self.assertEqual(proof["bound_rows"], plan["bound_rows"])
        self.assertEqual(self.checked(proof),
                         f"at least {plan['bound_rows']} rows must move: proven")
        proof["bound_rows"] += 1
        self.assertIn("the prices prove", self.checked(proof))
        self.assertEqual(plan["code"], "DISABLED")
        self.assertGreater(plan["before"]["skew_tv_max"],
                           plan["after"]["skew_tv_max"])
        worker = ask("explain", "worker=w2")
        self.assertEqual((worker["worker"], worker["rank"]), ("w2", 1))
        chunk = ask("explain", "chunk=3")
        self.assertEqual(len(chunk["owners"]), 1)
        said = self.ballast("ctl", "plan", "--to", run.run).out
        self.assertRegex(said, r"^[\d,]+ samples of 10,007 \([\d.]+ %\) would "
                         r"move; no plan that leads as far moves fewer than ")
        self.assertRegex(said, r"\n  w1 gives [\d,]+ samples to w")
        self.assertIn("\nnow: balancing is switched off\n", said)
        lines = self.ballast("ctl", "explain", "--to", run.run).out.splitlines()
        self.assertEqual([line.split()[0] for line in lines[:WORKERS]],
                         ["w1", "w2", "w3", "w4"], lines)
        self.assertEqual(self.balanced(run), [], "a dry run moves nothing")
        # Switched on, it is done.
        ask("set_balance", "enabled=true")
        run.wait_for(lambda: self.balanced(run), "balance")
        for wrong, says in ((("set_balance", "skew_tv=2"), "0 to 1"),
                            (("set_balance",), "give"),
                            (("explain", "worker=w9"), "no worker named w9"),
                            (("explain", "chunk=100000"), "expected 0 to"),
                            (("explain",), "one of them"),
                            (("slow_worker", "worker=w1", "factor=0"),
                             "1 to 1000")):
            refused = self.ballast("ctl", *wrong, "--json", "--to", run.run,
                                   code=1)
            self.assertIn(says, refused.err)
        self.refused(2, "expected a value of type number", "ctl",
                     "set_balance", "skew_tv=low", "--to", run.run)
        self.ended_exactly(run)

    def test_sites_are_mixed_and_patients_stay_whole(self):
        """What is balanced is no label, and groups move as a whole, also when
        somebody dies and is replaced."""
        rows = [(("berlin", "paris", "rome", "oslo")[i // 1000],
                 f"p{i // 8}", i % 7, i % 2) for i in range(4000)]
        text = "site,patient,x,y\n" + "".join(
            ",".join(map(str, row)) + "\n" for row in rows)
        job = job_of(epochs=100000)
        job["data"] = {
            "train": {"format": "csv", "label": "y", "features": ["x"],
                      "uri": str(self.write("rows.csv", text))},
            "test_fraction": 0, "chunk_rows": 20,
            "placement": {"kind": "contiguous"}}
        job["balance"] = {"skew_tv": 0.1, "by": ["site"], "group": "patient"}
        run = self.live(job)
        run.wait_for(lambda: self.balanced(run) and
                     self.balanced(run)[-1]["skew_tv_max"] <= 0.1,
                     "skew of sites below the budget")
        run.post("slow_worker", worker="w2", factor=3)
        run.post("kill_worker", worker="w1")
        run.wait_full(WORKERS, steps=20)
        report = self.ended_exactly(run)
        self.assertGreater(report["skew_tv_start"], 0.7)
        patient_plans = {}
        for path in (run.run / "trace").glob("*.jsonl"):
            for line in read_lines(path):
                for sample in line["ids"]:
                    key = (line["generation"], line["plan"], rows[sample][1])
                    patient_plans.setdefault(key, set()).add(path.name)
        self.assertGreater(len({plan for _, plan, _ in patient_plans}), 1)
        torn = [key for key, holders in patient_plans.items()
                if len(holders) > 1]
        self.assertEqual(torn, [])

    def test_one_worker_has_nothing_to_move_and_says_so(self):
        run = self.live(job_of(epochs=100000, elastic={"workers": 1}), 1)
        run.wait_for(lambda: run.post("plan") is None, "a first look")
        plan = json.loads(self.ballast("ctl", "plan", "--json", "--to",
                                       run.run).out)
        self.assertEqual((plan["moved_rows"], plan["moves"]), (0, []))
        worker = json.loads(self.ballast("ctl", "explain", "worker=w1",
                                         "--json", "--to", run.run).out)
        self.assertEqual((worker["rows"], worker["skew_tv"]), (ROWS, 0))
        self.assertEqual(self.balanced(run), [])
        self.ended_exactly(run)

    def test_kills_while_data_move_lose_and_repeat_nothing(self):
        seed = 1
        print(f"seed {seed}")
        rng = random.Random(seed)
        run = self.live(job_of(epochs=100000, data={"chunk_rows": 20}))
        kills = 0
        until = time.monotonic() + 12
        while time.monotonic() < until:
            # Labels are apart again after every restart of a share: ask for
            # another budget to keep data moving, and hit somebody meanwhile.
            run.post("set_balance", skew_tv=rng.choice([0, 0.01, 0.3, 0.5]))
            run.post("slow_worker", worker=rng.choice(["w1", "w2", "w3"]),
                     factor=rng.choice([1, 3, 6]))
            victim = rng.choice(list(run.workers().items()) or [(None, 0)])
            if victim[0]:
                run.post("kill_worker", worker=victim[0])
                kills += 1
                # Else it counts as one that holds the model.
                run.wait_for(lambda name=victim[0]: name not in run.workers(),
                             "the end of " + victim[0])
            # The next one dies once the others hold what it held.
            run.wait_full(WORKERS, steps=2)
        self.ended_exactly(run)
        self.assertGreater(kills, 5)


if __name__ == "__main__":
    unittest.main()
