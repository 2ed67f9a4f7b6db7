"""A server that answers as Google Cloud Storage does, without it.

`python3 tools/harness/gcs.py` prints its endpoint as 127.0.0.1:PORT and ends as
served.py says. `class Gcs` is the same for Python.

It lies in $BALLAST_GCS_EMULATOR, or in .deps/gcs, where `./dev setup` puts it.
"""
import http.client
import json
import pathlib
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness.served import (MISSING, Served, folder_of,  # noqa: E402
                            serve_until_input_ends)


def folder():
    """Where the emulator should lie."""
    return folder_of("BALLAST_GCS_EMULATOR", "gcs")


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
    logging.disable(logging.CRITICAL)
    # Its own server answers one request after the other; a file that is read
    # piece by piece would hold up all others.
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0),
        functools.partial(RequestHandler, Storage(use_memory_fs=True)))
    return serve_until_input_ends(server.serve_forever,
                                  f"127.0.0.1:{server.server_port}")


class Gcs(Served):
    """An emulator of one's own."""

    def __init__(self):
        super().__init__(__file__)

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


if __name__ == "__main__":
    sys.exit(serve())
