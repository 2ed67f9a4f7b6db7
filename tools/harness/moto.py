"""A moto server: the answers of S3 without S3.

`python3 tools/harness/moto.py [ADDRESS]` serves on 127.0.0.1 or another address,
prints its endpoint as ADDRESS:PORT and ends as served.py says. `class Moto` is
the same for Python.

moto lies in $BALLAST_MOTO, or in .deps/moto, where `./dev setup` puts it.
"""
import http.client
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness.served import (MISSING, Served, folder_of,  # noqa: E402
                            serve_until_input_ends)


def folder():
    """Where moto should lie."""
    return folder_of("BALLAST_MOTO", "moto")


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
    return serve_until_input_ends(server.serve_forever,
                                  f"{address}:{server.server_port}")


class Moto(Served):
    """A moto of one's own."""

    def __init__(self):
        super().__init__(__file__)

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


if __name__ == "__main__":
    sys.exit(serve(*sys.argv[1:]))
