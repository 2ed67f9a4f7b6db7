"""The boards of dashboards/, what they ask Prometheus, and what is to come of
it."""
import datetime
import json
import re

from harness.http_client import request
from harness.program import ROOT

FOLDER = ROOT / "dashboards"
CONFIG = (FOLDER / "prometheus.yml").read_text(encoding="utf-8")
# File name -> board.
BOARDS = {file.name: json.loads(file.read_text(encoding="utf-8"))
          for file in sorted(FOLDER.glob("*.json"))}
RATE_INTERVAL = "4s"  # what Grafana makes of a scrape a second


def config_for(urls):
    """prometheus.yml, with these coordinators in place of the one in it, as
    its reader is told to write several."""
    [entry] = re.findall(r"^ *- url: http://\S+\n *refresh_interval: .*\n",
                         CONFIG, re.M)
    address = re.search(r"http://[^/\s]+", entry)[0]
    return CONFIG.replace(entry, "".join(
        entry.replace(address, url) for url in urls))


class Query:
    """Of a panel or an annotation. `legend` names labels as {{label}}."""

    def __init__(self, place, spec, legend):
        self.place, self.legend = place, legend
        self.expression = spec["expr"]
        self.instant = spec.get("instant", False)
        self.ref = spec.get("refId", "")

    def filled(self, run):
        """The expression, with the variables as a user has chosen this run
        and all workers. For several runs: a pattern."""
        values = {"run": run, "runs": run, "worker": ".*",
                  "__rate_interval": RATE_INTERVAL, "__range": "15m"}

        def value(found):
            if found[1] not in values:
                raise AssertionError(f"unknown variable: {self}")
            return values[found[1]]
        return re.sub(r"\$(\w+)", value, self.expression)

    def __str__(self):
        return f"{self.place}: {self.expression}"


def queries(board):
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield Query(panel["title"], target, target["legendFormat"])
    for note in board["annotations"]["list"]:
        yield Query(note["name"], note,
                    note["titleFormat"] + note["textFormat"])


def query(board, place, part=""):
    """The first of that panel that holds the text."""
    return next(one for one in queries(board)
                if one.place == place and part in one.expression)


def near(one, other, part):
    return abs(one - other) <= part * abs(other)


def seconds_of(text):
    """Of an event's `time`: seconds since 1970."""
    return datetime.datetime.fromisoformat(
        text.replace("Z", "+00:00")).timestamp()


class Shown:
    """What the boards show of a run now."""

    def __init__(self, seen, run):
        self.seen, self.run = seen, run

    def by(self, label, board, title, part=""):
        """Value by that label, of the query that holds the text."""
        one = query(board, title, part)
        found = self.seen.ask(one.filled(self.run), instant=True)
        out = {labels.get(label): number for labels, number in found}
        if len(out) != len(found):
            raise AssertionError(f"two values of one {label}: {one} {found}")
        return out

    def value(self, board, title, part=""):
        """The only value; None where there is none."""
        found = self.seen.ask(query(board, title, part).filled(self.run),
                              instant=True)
        if len(found) > 1:
            raise AssertionError(f"several values: {title} {found}")
        return found[0][1] if found else None


class Truth:
    """Of a run, what its files and its coordinator say."""

    def __init__(self, live):
        live.poll()
        self.steps, self.events = live.steps.lines, live.events.lines
        self.status = request(live.url + "/v1/status").json

    def of(self, kind):
        return [e for e in self.events if e["kind"] == kind]

    def workers(self, field):
        return {w["name"]: w[field] for w in self.status["workers"]
                if w["state"] == "training" and field in w}

    @property
    def recoveries(self):
        return [e for e in self.of("generation") if "ms" in e]

    def rate(self, seconds):
        """Samples per second of its last steps."""
        until = self.steps[-1]["t_ns"]
        some = [s for s in self.steps if s["t_ns"] > until - seconds * 1e9]
        return (sum(s["samples"] for s in some[1:]) /
                ((some[-1]["t_ns"] - some[0]["t_ns"]) / 1e9))
