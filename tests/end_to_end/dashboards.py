"""Goal: Grafana can load every board, and the one of the balance shows what
balance does. Method: the files are read for what Grafana would refuse, or show
empty; a real Prometheus, with the configuration of dashboards/, watches a real
run whose data move; every query of that board is asked, and what it says is
compared with the run's own record. The others are asked in boards.py.
"""
import functools
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
from board_files import BOARDS, CONFIG, FOLDER, config_for, queries, query

SOURCE = (FOLDER / "provisioning/datasources/prometheus.yml").read_text(
    encoding="utf-8")
PROVIDER = (FOLDER / "provisioning/dashboards/ballast.yml").read_text(
    encoding="utf-8")
BALANCE = BOARDS["shard_balance.json"]
ROWS = 6000
WORKERS = 4


class Files(unittest.TestCase):
    def test_prometheus_takes_its_configuration(self):
        done = subprocess.run(
            ["promtool", "check", "config", FOLDER / "prometheus.yml"],
            text=True, capture_output=True, timeout=patience(30), check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_grafana_knows_how_often_prometheus_looks(self):
        self.assertEqual(re.search(r"timeInterval: (\S+)", SOURCE)[1],
                         re.search(r"scrape_interval: (\S+)", CONFIG)[1])

    def test_every_metric_of_a_query_is_in_the_catalogue(self):
        page = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
        catalogue = set(re.findall(r"^\| `(ballast_\w+)` \|", page, re.M))
        for one in [one for board in BOARDS.values()
                    for one in queries(board)]:
            used = set(re.findall(r"\bballast_\w+", one.expression))
            used = {re.sub("_(bucket|sum|count)$", "", name)
                    if name not in catalogue else name for name in used}
            self.assertTrue(used, one)
            self.assertLessEqual(used, catalogue, one)

    def test_panels_lie_side_by_side(self):
        for file, board in BOARDS.items():
            taken = {}
            for panel in board["panels"]:
                at = panel["gridPos"]
                self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
                for x in range(at["x"], at["x"] + at["w"]):
                    for y in range(at["y"], at["y"] + at["h"]):
                        other = taken.setdefault((x, y), panel["id"])
                        self.assertEqual(other, panel["id"],
                                         f"{file} {panel['title']}")

    def test_the_readme_names_every_board(self):
        text = (FOLDER / "README.md").read_text(encoding="utf-8")
        for file, board in BOARDS.items():
            self.assertIn(f"`{file}`", text)
            self.assertIn(board["title"].removeprefix("Ballast: "), text)


def field(text, name):
    """Of a provisioning file: a value that stands once, on a line of its own.
    They are flat enough to be read without a library for YAML."""
    [value] = re.findall(rf"^ *(?:- )?{name}: (\S.*)$", text, re.M)
    return value


PANELS = {"stat", "timeseries", "table"}  # that every Grafana since 7.4 has
UNITS = {"short", "none", "s", "bytes", "Bps", "percentunit", "celsius",
         "watt"}  # Grafana's names of them
# Grafana's own variables.
OWN = {"__rate_interval", "__interval", "__range", "__url_time_range",
       "__field", "__value"}


def variables(board):
    return {one["name"]: one for one in board["templating"]["list"]}


def parts(board):
    """(where, object) of all that asks a data source."""
    for panel in board["panels"]:
        yield panel["title"], panel
        for target in panel["targets"]:
            yield f"{panel['title']} {target['refId']}", target
    for note in board["annotations"]["list"]:
        yield note["name"], note
    for variable in variables(board).values():
        if variable["type"] == "query":
            yield variable["name"], variable


def addresses(thing):
    """The texts of all `url` in an object."""
    if isinstance(thing, dict):
        for key, value in thing.items():
            if key == "url":
                yield value
            yield from addresses(value)
    if isinstance(thing, list):
        for value in thing:
            yield from addresses(value)


def of_every_board(test):
    @functools.wraps(test)
    def all_boards(self):
        for file, board in BOARDS.items():
            with self.subTest(file):
                test(self, board)
    return all_boards


class Provisioned(unittest.TestCase):
    """What Grafana asks of files that it provisions. Grafana itself comes
    with no package of Debian's; what it would refuse, or show empty, is looked
    for here."""

    def test_no_two_boards_have_the_same_name(self):
        self.assertIn("overview.json", BOARDS)
        for key in ("uid", "title"):
            names = [board[key] for board in BOARDS.values()]
            self.assertEqual(len(set(names)), len(names), names)

    @of_every_board
    def test_a_board_can_be_imported(self, board):
        self.assertRegex(board["uid"], r"^[A-Za-z0-9_-]{1,40}$")
        self.assertTrue(board["title"].strip())
        self.assertTrue(board["description"].strip())
        # A number of its own would collide with another board's; inputs
        # are asked for by hand only.
        self.assertIsNone(board.get("id"))
        self.assertFalse({"__inputs", "__requires", "__elements"} &
                         set(board))
        self.assertIsInstance(board["version"], int)
        # From 36 on a data source is an object; 38 came with Grafana 10.
        self.assertIn(board["schemaVersion"], range(36, 42))
        self.assertRegex(board["refresh"], r"^\d+[smh]$")
        self.assertIn(board["refresh"],
                      board["timepicker"]["refresh_intervals"])
        for end in ("from", "to"):
            self.assertRegex(board["time"][end], r"^now(-\d+[smhd])?$")
        self.assertIn(board["graphTooltip"], (0, 1, 2))

    @of_every_board
    def test_every_panel_has_what_it_needs(self, board):
        ids = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(set(ids)), len(ids))
        titles = [(panel["title"], panel["type"])
                  for panel in board["panels"]]
        self.assertEqual(len(set(titles)), len(titles))
        for panel in board["panels"]:
            with self.subTest(panel["title"]):
                self.check_panel(panel)

    def check_panel(self, panel):
        self.assertGreater(panel["id"], 0)
        self.assertIn(panel["type"], PANELS)
        self.assertRegex(panel["description"], r"^[A-Z0-9].*\.$")
        self.assertEqual(set(panel["gridPos"]), set("xywh"))
        for key, least in (("x", 0), ("y", 0), ("w", 1), ("h", 1)):
            self.assertIsInstance(panel["gridPos"][key], int)
            self.assertGreaterEqual(panel["gridPos"][key], least)
        self.assertIsInstance(panel["options"], dict)
        self.assertEqual(set(panel["fieldConfig"]), {"defaults", "overrides"})
        self.assertIn(panel["fieldConfig"]["defaults"]["unit"], UNITS)
        for rule in panel["fieldConfig"]["overrides"]:
            self.assertEqual(set(rule["matcher"]), {"id", "options"})
            for one in rule["properties"]:
                self.assertLessEqual({"id", "value"}, set(one))
                if one["id"] == "unit":
                    self.assertIn(one["value"], UNITS)
        names = [target["refId"] for target in panel["targets"]]
        self.assertEqual(len(set(names)), len(names))
        for target in panel["targets"]:
            self.assertTrue(target["expr"].strip())
            # A number wants one value; a plot wants those of its time.
            self.assertNotEqual(target["range"], target.get("instant", False))
            self.assertEqual(target["range"], panel["type"] == "timeseries")
            self.assertEqual(target.get("format"), "table"
                             if panel["type"] == "table" else None)

    @of_every_board
    def test_overrides_name_a_series_that_is_there(self, board):
        for panel in board["panels"]:
            names = {target["legendFormat"] for target in panel["targets"]}
            for step in panel.get("transformations", []):
                names |= set(step["options"].get("renameByName",
                                                 {}).values())
            for rule in panel["fieldConfig"]["overrides"]:
                if rule["matcher"]["id"] == "byName":
                    self.assertIn(rule["matcher"]["options"], names,
                                  panel["title"])

    @of_every_board
    def test_a_table_names_the_column_of_each_query(self, board):
        for panel in board["panels"]:
            if panel["type"] != "table":
                continue
            [merge, organize] = panel["transformations"]
            self.assertEqual(merge["id"], "merge")
            self.assertEqual(organize["id"], "organize")
            named = {**organize["options"]["renameByName"],
                     **organize["options"]["excludeByName"]}
            self.assertLessEqual(
                {f"Value #{target['refId']}"
                 for target in panel["targets"]}, set(named))

    @of_every_board
    def test_everything_asks_the_source_that_is_provisioned(self, board):
        for where, part in parts(board):
            self.assertEqual(part["datasource"], {
                "type": "prometheus", "uid": "${datasource}"}, where)
        source = variables(board)["datasource"]
        self.assertEqual(source["type"], "datasource")
        self.assertEqual(source["query"], field(SOURCE, "type"))
        self.assertEqual(source["current"]["value"], field(SOURCE, "uid"))
        self.assertEqual(source["current"]["text"], field(SOURCE, "name"))

    @of_every_board
    def test_every_variable_that_is_used_is_there(self, board):
        used = set(re.findall(r"\$\{?(\w+)", json.dumps(board)))
        # Of `var-run` in a link to another board, `run` is that board's.
        self.assertEqual(used - OWN - {"__all"}, set(variables(board)))
        for name, variable in variables(board).items():
            if variable["type"] == "query":
                self.assertTrue(variable["query"]["query"], name)
                self.assertTrue(variable["query"]["refId"], name)
                self.assertIn(variable["refresh"], (1, 2), name)
                # One value would not match a pattern, several would not
                # match as one.
                sign = "=~" if variable["multi"] else "="
                for match in re.findall(rf'(\W+)"\${name}"',
                                        json.dumps(board).replace(
                                            '\\"', '"')):
                    self.assertEqual(match, sign, name)

    @of_every_board
    def test_links_lead_to_a_board_and_keep_what_was_chosen(self, board):
        by_uid = {board["uid"]: board for board in BOARDS.values()}
        [link] = board["links"]
        self.assertEqual(link["type"], "dashboards")
        for other in BOARDS.values():
            self.assertLessEqual(set(link["tags"]), set(other["tags"]))
        self.assertTrue(link["includeVars"] and link["keepTime"])
        for url in filter(None, addresses(board)):
            found = re.fullmatch(r"/d/([\w-]+)\?(\S+)", url)
            self.assertIn(found[1], by_uid, url)
            self.assertLessEqual(
                set(re.findall(r"var-(\w+)=", found[2])),
                set(variables(by_uid[found[1]])), url)
            self.assertIn("${__url_time_range}", url)
            self.assertIn("${datasource:queryparam}", url)

    def test_the_source_and_the_folder_are_provisioned(self):
        for text in (SOURCE, PROVIDER):
            self.assertEqual(field(text, "apiVersion"), "1")
            self.assertNotIn("\t", text)
        self.assertEqual(field(SOURCE, "type"), "prometheus")
        self.assertRegex(field(SOURCE, "uid"), r"^[A-Za-z0-9_-]{1,40}$")
        self.assertEqual(field(SOURCE, "access"), "proxy")
        self.assertEqual(field(SOURCE, "isDefault"), "true")
        self.assertRegex(field(SOURCE, "url"), r"^http://[\w.]+:\d+$")
        self.assertEqual(field(PROVIDER, "type"), "file")
        self.assertEqual(field(PROVIDER, "path"), "$BALLAST_DASHBOARDS")
        # Whoever follows the README sets that variable, and copies all boards.
        text = (FOLDER / "README.md").read_text(encoding="utf-8")
        self.assertIn("BALLAST_DASHBOARDS=", text)
        self.assertIn(" dashboards/*.json\n", text)


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
            seen = Prometheus(config_for([live.url]), self.folder,
                              self.environment)
            self.addCleanup(seen.end)
            wait_until(lambda: seen.up() == 1 + WORKERS, "all targets")
            self.assertIsNone(live.post("slow_worker", worker="w2", factor=4))
            live.wait_for(lambda: self.moved(live, "than its part"),
                          "a move by size")
            self.assertIsNone(live.post("kill_worker", worker="w4"))
            live.wait_for(lambda: live.full(WORKERS) and live.newest >= 3,
                          "another worker in its place")
            for one in queries(BALANCE):
                self.answered(seen, one, live.run.name)
            self.check_values(seen, live)
            self.assertIn(live.run.name, seen.get(
                "label/run/values", **{"match[]": "ballast_run_state"}))
            live.stop()

    def moved(self, live, reason=""):
        """Rows that moved by now for such a reason."""
        live.poll()
        return sum(e["moved_rows"] for e in live.events.lines
                   if e["kind"] == "balance" and reason in e["reason"])

    def answered(self, seen, one, run):
        """There is data, with every label that the legend shows."""
        found = wait_until(
            lambda: seen.ask(one.filled(run), one.instant), str(one))
        for label in re.findall(r"{{(\w+)}}", one.legend):
            for labels, _ in found:
                self.assertIn(label, labels, one)

    def check_values(self, seen, live):
        def now(title, metric, key=None):
            one = query(BALANCE, title, metric)
            found = seen.ask(one.filled(live.run.name), instant=True)
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
