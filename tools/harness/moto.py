"""A moto server: the answers of S3 without S3.

`python3 tools/harness/moto.py [ADDRESS [PORT]]` serves on 127.0.0.1 or another
address, prints its endpoint as ADDRESS:PORT and ends as served.py says. `class Moto` is
the same for Python.

moto lies in $BALLAST_MOTO, or in .deps/moto, where `./dev setup` puts it.
"""
import http.client
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness.served import (MISSING, Served, folder_of,  # noqa: E402
                            serve_until_input_ends)


def folder():
    """Where moto should lie."""
    return folder_of("BALLAST_MOTO", "moto")


def serve(address="127.0.0.1", port="0"):
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
        address, int(port), DomainDispatcherApplication(create_backend_app),
        threaded=True, request_handler=Quiet)
    return serve_until_input_ends(server.serve_forever,
                                  f"{address}:{server.server_port}")


class Moto(Served):
    """A moto of one's own; `again`: where one was that has been killed."""

    def __init__(self, again=None):
        place = again.endpoint.split(":") if again else ()
        super().__init__(__file__, arguments=place)

    def uri(self, path):
        """The s3:// URI of a bucket and key on this server."""
        return f"s3://{path}?endpoint_override={self.endpoint}&scheme=http"

    def put(self, name, body=b""):
        """A bucket, or what lies in one. A plain request: moto does not look
        at signatures."""
        self._ask("PUT", name, body)

    def get(self, name):
        """The bytes of an object."""
        return self._ask("GET", name)

    def names(self, bucket):
        """What lies in a bucket."""
        text = self._ask("GET", f"{bucket}?list-type=2").decode()
        return re.findall("<Key>(.*?)</Key>", text)

    def _ask(self, method, name, body=b""):
        there = http.client.HTTPConnection(self.endpoint)
        there.request(method, "/" + name, body, {
            "Authorization": "AWS4-HMAC-SHA256 Credential=any/20260101/"
                             "us-east-1/s3/aws4_request, SignedHeaders=host, "
                             "Signature=any"})
        answer = there.getresponse()
        said = answer.read()
        there.close()
        if answer.status != 200:
            raise AssertionError(f"{name}: {answer.status}")
        return said


if __name__ == "__main__":
    sys.exit(serve(*sys.argv[1:]))
