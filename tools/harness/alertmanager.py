"""A real Alertmanager, and somebody whom it tells."""
import http.server
import json
import threading

from harness.http_client import request
from harness.program import Started
from harness.waiting import wait_until


class Alertmanager:
    """With `config`, the text of an alertmanager.yml. Its files are in
    `folder`. Whoever starts it calls end()."""

    def __init__(self, config, folder, environment):
        file = folder / "alertmanager.yml"
        file.write_text(config, encoding="utf-8")
        self.process = Started(
            ["--config.file", file, "--web.listen-address", "127.0.0.1:0",
             # It looks for no others.
             "--cluster.listen-address", "",
             "--storage.path", folder / "alertmanager"],
            environment, folder, program="prometheus-alertmanager")
        try:
            said = self.process.said(r'"Listening on" address=(\S+)', "err")
            self.address = said[1]
            wait_until(self._ready, "Alertmanager")
        except BaseException:
            self.end()
            raise

    def end(self):
        self.process.end()

    def _ready(self):
        return request(f"http://{self.address}/-/ready").status == 200

    def alerts(self):
        """name -> the alert, of those that last."""
        found = request(f"http://{self.address}/api/v2/alerts").json
        return {one["labels"]["alertname"]: one for one in found}


class Receiver:
    """Takes what webhooks deliver, on a free port. Whoever starts it calls
    end()."""

    def __init__(self):
        self.told = []  # (path, status, labels, annotations), as they came
        told = self.told

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # the name is the library's
                length = int(self.headers["Content-Length"])
                for one in json.loads(self.rfile.read(length))["alerts"]:
                    told.append((self.path, one["status"], one["labels"],
                                 one["annotations"]))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:{}".format(self._server.server_port)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def end(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def of(self, name, status):
        """(path, annotations) of the messages about an alert."""
        return [(path, notes) for path, how, labels, notes in self.told
                if labels["alertname"] == name and how == status]
