"""Goal: the dashboard shows what balance does. Method: a real Prometheus, with
the configuration of dashboards/, watches a real run whose data move; every
query of the dashboard is asked, and what it says is compared with the run's own
record.
"""
import json
import re
import subprocess
import unittest

from harness.jobs import emulated_job
from harness.live_run import LiveRun
from harness.program import ROOT
from harness.prometheus import Prometheus
from harness.waiting import patience, wait_until

from ballast_test import BallastTest

FOLDER = ROOT / "dashboards"
BOARD = json.loads((FOLDER / "shard_balance.json").read_text(encoding="utf-8"))
CONFIG = (FOLDER / "prometheus.yml").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:7001"  # in that configuration
ROWS = 6000
WORKERS = 4


class Query:
    """Of a panel or an annotation. `legend` names labels as {{label}}."""

    def __init__(self, place, spec, legend):
        self.place, self.legend = place, legend
        self.expression = spec["expr"]
        self.instant = spec.get("instant", False)

    def of_run(self, run):
        """The expression, with Grafana's variables filled in."""
        out = (self.expression.replace("$run", run)
               .replace("$__rate_interval", "4s"))
        if "$" in out:
            raise AssertionError(f"unknown variable: {self}")
        return out

    def __str__(self):
        return f"{self.place}: {self.expression}"


def queries():
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            yield Query(panel["title"], target, target["legendFormat"])
    for note in BOARD["annotations"]["list"]:
        yield Query(note["name"], note,
                    note["titleFormat"] + note["textFormat"])


class Files(unittest.TestCase):
    def test_prometheus_takes_its_configuration(self):
        done = subprocess.run(
            ["promtool", "check", "config", FOLDER / "prometheus.yml"],
            text=True, capture_output=True, timeout=patience(30), check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_grafana_knows_how_often_prometheus_looks(self):
        source = (FOLDER / "provisioning/datasources/prometheus.yml").read_text(
            encoding="utf-8")
        self.assertEqual(re.search(r"timeInterval: (\S+)", source)[1],
                         re.search(r"scrape_interval: (\S+)", CONFIG)[1])

    def test_every_metric_of_a_query_is_in_the_catalogue(self):
        page = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
        catalogue = set(re.findall(r"^\| `(ballast_\w+)` \|", page, re.M))
        for query in queries():
            used = set(re.findall(r"\bballast_\w+", query.expression))
            self.assertTrue(used, query)
            self.assertLessEqual(used, catalogue, query)

    def test_panels_lie_side_by_side(self):
        taken = {}
        for panel in BOARD["panels"]:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            for x in range(at["x"], at["x"] + at["w"]):
                for y in range(at["y"], at["y"] + at["h"]):
                    other = taken.setdefault((x, y), panel["title"])
                    self.assertEqual(other, panel["title"])


def field(text, name):
    """Of a provisioning file: a value that stands once, on a line of its own.
    They are flat enough to be read without a library for YAML."""
    [value] = re.findall(rf"^ *(?:- )?{name}: (\S.*)$", text, re.M)
    return value


class Provisioned(unittest.TestCase):
    """What Grafana asks of files that it provisions. Grafana itself comes
    with no package of Debian's; what it would refuse, or show empty, is looked
    for here."""

    SOURCE = (FOLDER / "provisioning/datasources/prometheus.yml").read_text(
        encoding="utf-8")
    PROVIDER = (FOLDER / "provisioning/dashboards/ballast.yml").read_text(
        encoding="utf-8")
    PANELS = {"stat", "timeseries"}  # that every Grafana since 7.4 has
    OWN = {"__rate_interval", "__interval", "__range"}  # Grafana's variables

    def setUp(self):
        self.variables = {v["name"]: v for v in BOARD["templating"]["list"]}

    def parts(self):
        """(where, object) of all that asks a data source."""
        for panel in BOARD["panels"]:
            yield panel["title"], panel
            for target in panel["targets"]:
                yield f"{panel['title']} {target['refId']}", target
        for note in BOARD["annotations"]["list"]:
            yield note["name"], note
        for variable in self.variables.values():
            if variable["type"] == "query":
                yield variable["name"], variable

    def test_the_board_can_be_imported(self):
        self.assertRegex(BOARD["uid"], r"^[A-Za-z0-9_-]{1,40}$")
        self.assertTrue(BOARD["title"].strip())
        # A number of its own would collide with another board's; inputs are
        # asked for by hand only.
        self.assertIsNone(BOARD.get("id"))
        self.assertFalse({"__inputs", "__requires", "__elements"} & set(BOARD))
        self.assertIsInstance(BOARD["version"], int)
        # From 36 on a data source is an object; 38 came with Grafana 10.
        self.assertIn(BOARD["schemaVersion"], range(36, 42))
        self.assertRegex(BOARD["refresh"], r"^\d+[smh]$")
        self.assertIn(BOARD["refresh"],
                      BOARD["timepicker"]["refresh_intervals"])
        for end in ("from", "to"):
            self.assertRegex(BOARD["time"][end], r"^now(-\d+[smhd])?$")
        self.assertIn(BOARD["graphTooltip"], (0, 1, 2))

    def test_every_panel_has_what_it_needs(self):
        ids = [panel["id"] for panel in BOARD["panels"]]
        self.assertEqual(len(set(ids)), len(ids))
        for panel in BOARD["panels"]:
            with self.subTest(panel["title"]):
                self.assertGreater(panel["id"], 0)
                self.assertIn(panel["type"], self.PANELS)
                self.assertEqual(set(panel["gridPos"]), set("xywh"))
                for key, least in (("x", 0), ("y", 0), ("w", 1), ("h", 1)):
                    self.assertIsInstance(panel["gridPos"][key], int)
                    self.assertGreaterEqual(panel["gridPos"][key], least)
                self.assertIsInstance(panel["options"], dict)
                self.assertEqual(set(panel["fieldConfig"]),
                                 {"defaults", "overrides"})
                for rule in panel["fieldConfig"]["overrides"]:
                    self.assertEqual(set(rule["matcher"]), {"id", "options"})
                    for one in rule["properties"]:
                        self.assertLessEqual({"id", "value"}, set(one))
                names = [target["refId"] for target in panel["targets"]]
                self.assertEqual(len(set(names)), len(names))
                for target in panel["targets"]:
                    self.assertTrue(target["expr"].strip())
                    self.assertTrue(target.get("range") or
                                    target.get("instant"))

    def test_overrides_name_a_series_that_is_there(self):
        for panel in BOARD["panels"]:
            legends = {target["legendFormat"] for target in panel["targets"]}
            for rule in panel["fieldConfig"]["overrides"]:
                if rule["matcher"]["id"] == "byName":
                    self.assertIn(rule["matcher"]["options"], legends,
                                  panel["title"])

    def test_everything_asks_the_source_that_is_provisioned(self):
        for where, part in self.parts():
            self.assertEqual(part["datasource"], {
                "type": "prometheus", "uid": "${datasource}"}, where)
        source = self.variables["datasource"]
        self.assertEqual(source["type"], "datasource")
        self.assertEqual(source["query"], field(self.SOURCE, "type"))
        self.assertEqual(source["current"]["value"], field(self.SOURCE, "uid"))
        self.assertEqual(source["current"]["text"], field(self.SOURCE, "name"))

    def test_every_variable_that_is_used_is_there(self):
        used = set(re.findall(r"\$\{?(\w+)", json.dumps(BOARD)))
        self.assertEqual(used - self.OWN, set(self.variables))
        for name, variable in self.variables.items():
            if variable["type"] == "query":
                self.assertTrue(variable["query"]["query"], name)
                self.assertTrue(variable["query"]["refId"], name)
                self.assertIn(variable["refresh"], (1, 2), name)

    def test_the_source_and_the_folder_are_provisioned(self):
        for text in (self.SOURCE, self.PROVIDER):
            self.assertEqual(field(text, "apiVersion"), "1")
            self.assertNotIn("\t", text)
        self.assertEqual(field(self.SOURCE, "type"), "prometheus")
        self.assertRegex(field(self.SOURCE, "uid"), r"^[A-Za-z0-9_-]{1,40}$")
        self.assertEqual(field(self.SOURCE, "access"), "proxy")
        self.assertEqual(field(self.SOURCE, "isDefault"), "true")
        self.assertRegex(field(self.SOURCE, "url"), r"^http://[\w.]+:\d+$")
        self.assertEqual(field(self.PROVIDER, "type"), "file")
        self.assertEqual(field(self.PROVIDER, "path"), "$BALLAST_DASHBOARDS")
        # Whoever follows the README sets that variable.
        self.assertIn("BALLAST_DASHBOARDS=", (FOLDER / "README.md").read_text(
            encoding="utf-8"))


class Watched(BallastTest):
    def test_every_query_tells_of_a_run_that_is_balanced(self):
        job = emulated_job(
            rows=ROWS, workers=WORKERS, batch=128, epochs=100000,
            us_per_sample=200, faults=True, trace_samples=False,
            data={"train": {"classes": 8}, "chunk_rows": 25,
                  "placement": {"kind": "sorted"}})
        with LiveRun(job, self.folder / "live",
                     self.environment["BALLAST_CACHE"]) as live:
            live.wait_full(WORKERS)
            live.wait_for(lambda: self.moved(live, "skew"), "a move by skew")
            self.assertEqual(CONFIG.count(ADDRESS), 1)
            seen = Prometheus(CONFIG.replace(ADDRESS, live.url), self.folder,
                              self.environment)
            self.addCleanup(seen.end)
            wait_until(lambda: seen.up() == 1 + WORKERS, "all targets")
            self.assertIsNone(live.post("slow_worker", worker="w2", factor=4))
            live.wait_for(lambda: self.moved(live, "than its part"),
                          "a move by size")
            self.assertIsNone(live.post("kill_worker", worker="w4"))
            live.wait_for(lambda: live.full(WORKERS) and live.newest >= 3,
                          "another worker in its place")
            for query in queries():
                self.answered(seen, query, live.run.name)
            self.check_values(seen, live)
            self.assertIn(live.run.name, seen.get(
                "label/run/values", **{"match[]": "ballast_run_state"}))
            live.stop()

    def moved(self, live, reason=""):
        """Rows that moved by now for such a reason."""
        live.poll()
        return sum(e["moved_rows"] for e in live.events.lines
                   if e["kind"] == "balance" and reason in e["reason"])

    def answered(self, seen, query, run):
        """There is data, with every label that the legend shows."""
        found = wait_until(
            lambda: seen.ask(query.of_run(run), query.instant), str(query))
        for label in re.findall(r"{{(\w+)}}", query.legend):
            for labels, _ in found:
                self.assertIn(label, labels, query)

    def check_values(self, seen, live):
        def now(title, metric, key=None):
            query = next(q for q in queries()
                         if q.place == title and metric in q.expression)
            found = seen.ask(query.of_run(live.run.name), instant=True)
            return {labels.get(key): number for labels, number in found}

        def moved():
            rows = now("Rows moved against the bound", "moved_samples",
                       "reason")
            return sum(rows.values()) == self.moved(live)
        wait_until(moved, "as many rows as events.jsonl says")

        def owned():
            rows = now("Share of the training set by worker", "owned",
                       "worker")
            return (sorted(rows) == ["w1", "w2", "w3", "w5"] and
                    sum(rows.values()) == ROWS)
        wait_until(owned, "four workers that own all rows")
        batch = now("Share of the batch by worker", "batch", "worker")
        self.assertLess(batch["w2"], min(batch["w1"], batch["w3"]) / 2)
        skews = now("Label skew by worker", "worker_skew", "worker")
        self.assertTrue(all(0 <= one < 1 for one in skews.values()), skews)
        [ratio] = now("Makespan ratio", "makespan").values()
        self.assertGreaterEqual(ratio, 1)


if __name__ == "__main__":
    unittest.main()
