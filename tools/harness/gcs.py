"""A server that answers as Google Cloud Storage does, without it.

`python3 tools/harness/gcs.py` serves on a free port, prints the endpoint as
127.0.0.1:PORT, and ends with its standard input, so that it cannot outlive the
test that holds the other end. Where the emulator is not installed it prints the
reason and exits with 77. `class Gcs` is the same for Python.

It lies in $BALLAST_GCS_EMULATOR, or in .deps/gcs, where `./dev setup` puts it.
"""
import http.client
import json
import os
import pathlib
import subprocess
import sys
import urllib.parse

MISSING = 77


def folder():
    """Where the emulator should lie."""
    root = pathlib.Path(__file__).resolve().parents[2]
    deps = pathlib.Path(os.environ.get("BALLAST_DEPS", root / ".deps"))
    return pathlib.Path(os.environ.get("BALLAST_GCS_EMULATOR", deps / "gcs"))


def serve():
    sys.path[0] = str(folder())
    try:
        from gcp_storage_emulator.server import RequestHandler
        from gcp_storage_emulator.storage import Storage
    except ImportError as error:
        print(f"the emulator of Google Cloud Storage is not in {folder()} "
              f"({error}): ./dev setup")
        return MISSING
    import functools
    import http.server
    import logging
    import threading
    logging.disable(logging.CRITICAL)
    # Its own server answers one request after the other; a file that is read
    # piece by piece would hold up all others.
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0),
        functools.partial(RequestHandler, Storage(use_memory_fs=True)))
    print(f"127.0.0.1:{server.server_port}", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    return 0


class Gcs:
    """Whoever starts it calls end(). Without an emulator: `missing` says why,
    and `endpoint` is None."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().strip()
        self.missing = None
        self.endpoint = line
        if not line.startswith("127."):
            self.missing, self.endpoint = line or "it did not start", None

    def uri(self, path):
        """The gs:// URI of a bucket and key on this server."""
        return (f"gs://anonymous@{path}?scheme=http&endpoint_override="
                f"{urllib.parse.quote(self.endpoint)}")

    def _ask(self, method, path, body, kind):
        there = http.client.HTTPConnection(self.endpoint)
        there.request(method, path, body, {"Content-Type": kind})
        answer = there.getresponse()
        answer.read()
        there.close()
        if answer.status not in (200, 204):
            raise AssertionError(f"{path}: {answer.status}")

    def bucket(self, name):
        self._ask("POST", "/storage/v1/b", json.dumps({"name": name}),
                  "application/json")

    def put(self, name, body):
        """What lies in a bucket: "BUCKET/KEY"."""
        bucket, key = name.split("/", 1)
        self._ask("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media"
                  f"&name={urllib.parse.quote(key, safe='')}", body,
                  "application/octet-stream")

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


if __name__ == "__main__":
    sys.exit(serve())
