"""A moto server: the answers of S3 without S3.

`python3 tools/harness/moto.py [ADDRESS]` serves on a free port of 127.0.0.1 or
another address, prints the endpoint as ADDRESS:PORT, and ends with its standard input, so that it cannot outlive the
test that holds the other end. Where moto is not installed it prints the reason
and exits with 77. `class Moto` is the same for Python.

moto lies in $BALLAST_MOTO, or in .deps/moto, where `./dev setup` puts it.
"""
import http.client
import os
import pathlib
import subprocess
import sys

MISSING = 77


def folder():
    """Where moto should lie."""
    root = pathlib.Path(__file__).resolve().parents[2]
    deps = pathlib.Path(os.environ.get("BALLAST_DEPS", root / ".deps"))
    return pathlib.Path(os.environ.get("BALLAST_MOTO", deps / "moto"))


def serve(address="127.0.0.1"):
    # A script's own folder comes first, and this file is named moto, too.
    sys.path[0] = str(folder())
    try:
        import werkzeug.serving
        from moto.server import DomainDispatcherApplication, create_backend_app
    except ImportError as error:
        print(f"moto is not in {folder()} ({error}): ./dev setup")
        return MISSING

    class Quiet(werkzeug.serving.WSGIRequestHandler):
        def log(self, type, message, *args):
            pass

    server = werkzeug.serving.make_server(
        address, 0, DomainDispatcherApplication(create_backend_app),
        threaded=True, request_handler=Quiet)
    print(f"{address}:{server.server_port}", flush=True)
    import threading
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    return 0


class Moto:
    """Whoever starts it calls end(). Without moto: `missing` says why, and
    `endpoint` is None."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().strip()
        self.missing = None
        self.endpoint = line
        if self.process.poll() == MISSING or not line.startswith("127."):
            self.missing, self.endpoint = line or "moto did not start", None

    def uri(self, path):
        """The s3:// URI of a bucket and key on this server."""
        return f"s3://{path}?endpoint_override={self.endpoint}&scheme=http"

    def put(self, name, body=b""):
        """A bucket, or what lies in one. A plain request: moto does not look
        at signatures."""
        there = http.client.HTTPConnection(self.endpoint)
        there.request("PUT", "/" + name, body, {
            "Authorization": "AWS4-HMAC-SHA256 Credential=any/20260101/"
                             "us-east-1/s3/aws4_request, SignedHeaders=host, "
                             "Signature=any"})
        answer = there.getresponse()
        answer.read()
        there.close()
        if answer.status != 200:
            raise AssertionError(f"{name}: {answer.status}")

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


if __name__ == "__main__":
    sys.exit(serve(*sys.argv[1:]))
