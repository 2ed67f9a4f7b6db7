"""Goal: what goes wrong in a run reaches somebody, with a page that says what
to do. Method: promtool judges the rules of dashboards/ and their unit tests;
rules and runbooks are compared with each other and with the references; the
commands and queries of the runbooks are asked of a real run; a real Prometheus
and a real Alertmanager, with the configuration of dashboards/, watch a run
whose workers are killed and stopped.
"""
import os
import re
import signal
import subprocess
import unittest

from harness.alertmanager import Alertmanager, Receiver
from harness.jobs import endless_job
from harness.live_run import LiveRun
from harness.program import ROOT
from harness.prometheus import Prometheus
from harness.waiting import patience, wait_until

from ballast_test import BallastTest

FOLDER = ROOT / "dashboards"
BOOKS = ROOT / "docs" / "runbooks"
TESTS = ROOT / "tests" / "dashboards" / "alerts_test.yml"
WORKERS = 3


def text(path):
    return path.read_text(encoding="utf-8")


RULES = text(FOLDER / "alerts.yml")
PAGES = {f"docs/runbooks/{path.name}": text(path)
         for path in sorted(BOOKS.glob("*.md"))}


def alerts():
    """(name, the text of its rule), flat enough to be read without a library
    for YAML."""
    rules = re.split(r"^      - (?=alert:|record:)", RULES, flags=re.M)
    for rule in rules[1:]:
        if rule.startswith("alert: "):
            yield rule.split("\n")[0].removeprefix("alert: "), rule


def commands():
    """What the pages tell to type, each once; what is optional or needs
    somebody's own file is left out."""
    found = set()
    for page in PAGES.values():
        found.update(re.findall(r"^\$ (ballast .*)$", page, re.M))
        found.update(" ".join(one.split()) for one in
                     re.findall(r"`(ballast\s[^`]*)`", page))
    return sorted(found)


def queries():
    for name, page in PAGES.items():
        for block in re.findall(r"^```promql\n(.*?)^```", page, re.M | re.S):
            for line in block.splitlines():
                yield name, line


class Files(unittest.TestCase):
    def passes(self, *command):
        done = subprocess.run(command, text=True, capture_output=True,
                              timeout=patience(60), check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_prometheus_takes_the_rules(self):
        self.passes("promtool", "check", "rules", "--lint-fatal",
                    FOLDER / "alerts.yml")

    def test_alertmanager_takes_its_configuration(self):
        self.passes("amtool", "check-config", FOLDER / "alertmanager.yml")

    def test_every_rule_says_what_it_is_to_say(self):
        self.passes("promtool", "test", "rules", TESTS)

    def test_every_alert_is_tried_where_it_fires_and_where_it_does_not(self):
        tests = text(TESTS)
        for name, _ in alerts():
            tried = re.findall(rf"alertname: {name}\b(.*?)exp_alerts:(.*?)\n",
                               tests, re.S)
            said = {bool(expected.strip(" }")) for _, expected in tried}
            self.assertEqual(said, {True, False}, name)

    def test_every_alert_has_a_page_and_every_page_an_alert(self):
        named = {re.search(r"^ *runbook: (\S+)$", rule, re.M)[1]
                 for _, rule in alerts()}
        self.assertEqual(named, set(PAGES))

    def test_every_alert_says_how_bad_it_is_and_of_which_run(self):
        for name, rule in alerts():
            self.assertRegex(rule, r"severity: (page|ticket|info)\b", name)
            summary = rule[rule.index("summary:"):]
            self.assertIn("run {{ $labels.run }}", summary, name)
            self.assertRegex(summary, r"\$value|\| query|\$labels\.state",
                             name)

    def test_every_severity_has_a_receiver(self):
        config = text(FOLDER / "alertmanager.yml")
        for level in set(re.findall(r"severity: (\w+)", RULES)):
            self.assertIn(f"- name: {level}\n", config)

    def test_every_metric_is_in_the_catalogue(self):
        page = text(ROOT / "docs/metrics.md")
        catalogue = set(re.findall(r"^\| `(ballast_\w+)` \|", page, re.M))
        for histogram in re.findall(r"^\| `(ballast_\w+)` \| histogram",
                                    page, re.M):
            catalogue |= {histogram + "_sum", histogram + "_count"}
        groups = set(re.findall(r"- name: (ballast_\w+)$", RULES, re.M))
        for where, what in [("alerts.yml", RULES), *queries()]:
            used = set(re.findall(r"\bballast_\w+", what))
            self.assertLessEqual(used, catalogue | groups, where)

    def test_every_recorded_series_is_used_and_recorded(self):
        recorded = re.findall(r"- record: (\S+)$", RULES, re.M)
        used = re.findall(r"(?<!record: )\bballast:[\w:]+", RULES)
        self.assertEqual(set(used), set(recorded))

    def test_every_error_code_and_state_of_a_rule_exists(self):
        codes = set(re.findall(r"^\| `(\w+)` \|",
                               text(ROOT / "docs/errors.md"), re.M))
        states = set(re.findall(r"`(\w+)`", re.search(
            r"Values of `state`: (.*)", text(ROOT / "docs/metrics.md"))[1]))
        for label, known in (("code", codes), ("state", states)):
            found = re.findall(rf'\b{label}!?=~?"([^"]+)"', RULES)
            self.assertTrue(found)
            for pattern in "|".join(found).split("|"):
                self.assertTrue(any(re.fullmatch(pattern, one)
                                    for one in known), pattern)

    def test_every_kind_of_event_of_a_page_exists(self):
        logs = ROOT / "monitor/logs"
        kinds = "".join(map(text, logs.glob("*event_text.cpp")))
        for name, page in PAGES.items():
            for kind in re.findall(r"--kind (\w+)", page):
                self.assertTrue(f'{{"{kind}"' in kinds or
                                f'"{kind}",' in kinds, f"{name}: {kind}")

    def test_pages_are_short_and_their_links_lead_somewhere(self):
        for name, page in PAGES.items():
            self.assertLessEqual(page.count("\n"), 30, name)
            for link in re.findall(r"\]\(([^)#]+)", page):
                self.assertTrue((BOOKS / link).exists(), f"{name}: {link}")


class Runs(BallastTest):
    def run_of(self, environment=(), **more):
        """A run that goes on until it is stopped."""
        job = endless_job(workers=WORKERS, trace_samples=False, **more)
        live = self.enterContext(LiveRun(
            job, self.folder / "live", self.environment["BALLAST_CACHE"],
            environment=environment))
        live.wait_full(WORKERS)
        return live


class Commands(Runs):
    """Of the pages: none is refused. Those that change the run come last."""

    ENDS = "ballast ctl stop --to RUN"
    # They need a file of the reader's, another machine, or a run that is over.
    OTHERS = re.compile(
        r"ballast (run|node|validate|cache|audit --replay)\b")

    def test_every_command_of_a_page_is_taken(self):
        found = [one for one in commands() if not self.OTHERS.match(one)]
        self.assertIn(self.ENDS, found)
        live = self.run_of()
        after = [one for one in found
                 if "RUN_DIR" in one or one.startswith("ballast events")]
        now = [one for one in found if one not in [*after, self.ENDS]]
        for one in [*sorted(now, key=self.changes), self.ENDS]:
            self.does(one, live.run)
        self.assertEqual(live.process.wait(60), 0, live.process)
        for one in after:
            self.does(one, live.run)

    @staticmethod
    def changes(command):
        return bool(re.search("drain_worker|scale|set_balance", command))

    def does(self, command, run):
        filled = {"RUN_DIR": run, "RUN": run, "worker=NAME": "worker=w1",
                  "workers=N": f"workers={WORKERS - 1}"}
        self.ballast(*(filled.get(word, word)
                       for word in command.split()[1:]))


class Watched(Runs):
    def watch(self, live, rules=()):
        """A receiver that is told what happens to the run. `rules`: texts of
        alerts.yml that are replaced."""
        self.told = Receiver()
        self.addCleanup(self.told.end)
        self.manager = Alertmanager(
            self.changed("alertmanager.yml", {
                "127.0.0.1:7002": self.told.address,
                # The end of an alert waits for this.
                "group_interval: 1m": "group_interval: 5s"}),
            self.folder, self.environment)
        self.addCleanup(self.manager.end)
        self.write("alerts.yml", self.changed("alerts.yml", dict(rules)))
        self.seen = Prometheus(
            self.changed("prometheus.yml", {
                "http://127.0.0.1:7001": live.url,
                "127.0.0.1:9093": self.manager.address}),
            self.folder, self.environment)
        self.addCleanup(self.seen.end)
        wait_until(lambda: self.seen.up() == 1 + WORKERS, "all targets")
        wait_until(lambda: len(self.seen.ask(
            f'ballast_worker_samples_owned{{run="{live.run.name}"}}',
            instant=True)) == WORKERS, "the workers' rows")

    def changed(self, name, others):
        """A configuration of dashboards/ with other addresses and times."""
        out = text(FOLDER / name)
        for old, new in others.items():
            self.assertIn(old, out)
            out = out.replace(old, new)
        return out

    def firing(self):
        """name -> summary of what Prometheus finds wrong."""
        return {one["labels"]["alertname"]: one["annotations"]["summary"]
                for one in self.seen.get("alerts")["alerts"]
                if one["state"] == "firing"}

    def arrives(self, name, status, live, seconds):
        """The newest message: (path, annotations)."""
        def told():
            live.ended()
            return self.told.of(name, status)
        return wait_until(told, f"{name} that is {status}", seconds)[-1]

    def kill(self, live, name):
        os.kill(live.workers()[name], signal.SIGKILL)

    def test_a_run_that_is_well_sets_nothing_off(self):
        live = self.run_of()
        self.watch(live)
        # Nor do the queries of the pages, which are those of this run.
        for page, query in queries():
            with self.subTest(page, query=query):
                self.seen.ask(query.replace("NAME", live.run.name),
                              instant=True)
        for group in self.seen.get("rules")["groups"]:
            for rule in group["rules"]:
                wait_until(lambda: self.health(rule["name"]) == {"ok"},
                           f"{rule['name']} without an error")
        self.assertEqual(self.firing(), {})
        self.assertEqual(self.told.told, [])
        live.stop()

    def health(self, name):
        return {rule["health"] for group in self.seen.get("rules")["groups"]
                for rule in group["rules"] if rule["name"] == name}

    def test_a_worker_that_is_killed_is_told_of_by_name_for_a_minute(self):
        live = self.run_of()
        self.watch(live)
        self.kill(live, "w2")
        wait_until(lambda: "BallastWorkerLost" in self.manager.alerts(),
                   "a lost worker at Alertmanager", 20)
        path, notes = self.arrives("BallastWorkerLost", "firing", live, 20)
        self.assertEqual(path, "/ticket")
        self.assertEqual(
            notes["summary"], f"run {live.run.name}: losses of workers within "
            "a minute: 1; gone: w2")
        self.assertEqual(notes["runbook"], "docs/runbooks/worker-lost.md")
        live.wait_full(WORKERS)
        # A minute after the loss, as the window of the rule says.
        self.arrives("BallastWorkerLost", "resolved", live, 90)
        self.assertNotIn("BallastWorkerLost", self.firing())
        self.assertFalse(self.told.of("BallastCrashLoop", "firing"))
        live.stop()

    def test_deaths_one_after_the_other_page_and_the_tickets_are_held_back(
            self):
        live = self.run_of(elastic={"respawn_limit": 1000})
        self.watch(live)
        for name in ("w1", "w2", "w3"):
            before = live.newest
            self.kill(live, name)
            live.wait_for(lambda: live.full(WORKERS) and
                          live.newest >= before + 2, "another in its place")
        path, notes = self.arrives("BallastCrashLoop", "firing", live, 20)
        self.assertEqual(path, "/page")
        self.assertRegex(notes["summary"], f"^run {live.run.name} loses "
                         "processes again and again: 3 within 5 minutes$")

        def held_back():
            lost = self.manager.alerts().get("BallastWorkerLost")
            return lost and lost["status"]["inhibitedBy"]
        wait_until(held_back, "the ticket to be held back")
        live.stop()

    def test_a_coordinator_that_dies_again_and_again_pages(self):
        live = self.run_of()
        self.watch(live)
        for life in (1, 2, 3):
            # A life is seen if it counts more steps than the next one has
            # done by its first scrape.
            wait_until(lambda: self.seen.ask(
                f"ballast_generation == {life} and "
                "ballast_steps_committed_total > 600", instant=True),
                       "a scrape of this life")
            os.kill(live.coordinator, signal.SIGKILL)
            live.wait_for(lambda: live.full(WORKERS) and live.newest > life,
                          "another life")
        path, notes = self.arrives("BallastCrashLoop", "firing", live, 20)
        self.assertEqual(path, "/page")
        self.assertRegex(notes["summary"], r": \d within 5 minutes$")
        live.stop()

    def test_a_checkpoint_that_finds_the_disk_full_pages(self):
        flag = self.folder / "full"
        live = self.run_of(
            environment={"BALLAST_FAULT_POINTS":
                         f"checkpoint.write=enospc?{flag}"},
            checkpoint={"every_steps": 20, "every_s": 1})
        self.watch(live)
        flag.touch()
        path, notes = self.arrives("BallastDiskFull", "firing", live, 30)
        self.assertEqual(path, "/page")
        self.assertIn("the coordinator found a disk full", notes["summary"])
        flag.unlink()
        live.stop()

    def test_a_worker_that_becomes_slow_is_told_of_by_name(self):
        live = self.run_of(data={"train": {"rows": 6000}}, faults=True,
                           train={"global_batch": 60},
                           model={"us_per_step": 0, "us_per_sample": 200})
        # Not for five minutes: once is enough here.
        self.watch(live, {"for: 5m": "for: 5s"})
        self.assertIsNone(live.post("slow_worker", worker="w2", factor=6))
        path, notes = self.arrives("BallastStraggler", "firing", live, 120)
        self.assertEqual(path, "/ticket")
        self.assertRegex(notes["summary"], f"^run {live.run.name}: worker w2 "
                         r"needs \d\.\d times as long for a sample")
        live.stop()

    def test_workers_that_stand_still_are_told_of_until_they_go_on(self):
        # They are waited for as long as this takes.
        live = self.run_of(elastic={"grace_s": 3600})
        self.watch(live)
        stopped = list(live.workers().values())
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        path, notes = self.arrives("BallastNoCommittedStep", "firing", live,
                                   60)
        self.assertEqual(path, "/page")
        self.assertRegex(notes["summary"], f"^run {live.run.name}: no step "
                         r"committed for [34]\d(\.\d+)?s$")
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        live.wait_full(WORKERS)
        self.arrives("BallastNoCommittedStep", "resolved", live, 60)
        live.stop()


if __name__ == "__main__":
    unittest.main()
