"""A real Prometheus, asked as Grafana asks it."""
import time
import urllib.parse

from harness.http_client import request
from harness.program import Started
from harness.waiting import wait_until


class Prometheus:
    """Scrapes what `config`, the text of a prometheus.yml, names. Its files are
    in `folder`. Whoever starts it calls end()."""

    def __init__(self, config, folder, environment):
        file = folder / "prometheus.yml"
        file.write_text(config, encoding="utf-8")
        self.process = Started(
            ["--config.file", file, "--web.listen-address", "127.0.0.1:0",
             "--storage.tsdb.path", folder / "prometheus"],
            environment, folder, program="prometheus")
        self.begun = time.time()
        try:
            said = self.process.said(r'"Listening on" address=(\S+)', "err")
            self.url = f"http://{said[1]}/api/v1/"
            wait_until(self._ready, "Prometheus")
        except BaseException:
            self.end()
            raise

    def end(self):
        self.process.end()

    def _ready(self):
        return request(self.url.replace("/api/v1/", "/-/ready")).status == 200

    def get(self, path, **fields):
        answer = request(self.url + path + "?" +
                         urllib.parse.urlencode(fields)).json
        if answer["status"] != "success":
            raise AssertionError(f"{path} {fields}: {answer}")
        return answer["data"]

    def up(self):
        """How many processes have been scraped, the last time as well."""
        found = self.get("targets", state="active")["activeTargets"]
        return sum(one["health"] == "up" for one in found)

    def ask(self, expression, instant=False):
        """Its series that have a value, now or ever: (labels, the newest)."""
        if instant:
            found = self.get("query", query=expression)["result"]
            return [(one["metric"], float(one["value"][1])) for one in found]
        found = self.get("query_range", query=expression, start=self.begun,
                         end=time.time(), step=1)["result"]
        return [(one["metric"], float(one["values"][-1][1])) for one in found]
