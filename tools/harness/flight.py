"""Arrow Flight servers with faults, by pyarrow.

`python3 tools/harness/flight.py` reads one line of JSON (see `Flight`), prints its
port and ends as served.py says. `class Flight` is the same for Python.
"""
import base64
import json
import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness.served import (MISSING, Served,  # noqa: E402
                            serve_until_input_ends)

STATEMENT = ("type.googleapis.com/arrow.flight.protocol.sql."
             "CommandStatementQuery")


def fields_of(message):
    """Number -> bytes, of a protobuf message that has only such fields."""
    out = {}
    at = 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(message):
        key = varint()
        if key & 7 != 2:
            raise ValueError("a field that is no bytes")
        size = varint()
        out[key >> 3] = message[at:at + size]
        at += size
    return out


def query_of(command):
    """The query of a Flight SQL command; None: it is no such command."""
    try:
        any_of = fields_of(command)
        if any_of[1].decode() != STATEMENT:
            return None
        return fields_of(any_of[2])[1].decode()
    except (IndexError, KeyError, ValueError):
        return None


def serve(how):
    sys.modules["numpy"] = None  # Debian's is older than pyarrow accepts
    try:
        import pyarrow
        import pyarrow.flight as flight
    except ImportError as error:
        print(f"pyarrow cannot be used: {error}")
        return MISSING
    table = pyarrow.table(how["columns"])
    later = pyarrow.table({name: column[::-1]
                           for name, column in how["columns"].items()})
    token = how.get("token")

    class LetIn(flight.ServerMiddlewareFactory):
        def start_call(self, info, headers):
            kind, _, value = next(
                (values[0] for name, values in headers.items()
                 if name.lower() == "authorization"), "").partition(" ")
            if kind == "Basic" and base64.b64decode(value).decode() == how.get(
                    "login"):
                return Sends()
            if kind == "Bearer" and value == token:
                return Sends()
            raise flight.FlightUnauthenticatedError(
                f"who sends '{kind} {value}' is not known here")

    class Sends(flight.ServerMiddleware):
        def sending_headers(self):
            return {"authorization": f"Bearer {token}"}

    class NoHandshake(flight.ServerAuthHandler):
        def authenticate(self, outgoing, incoming):
            pass

        def is_valid(self, token):
            return ""

    class Server(flight.FlightServerBase):
        lock = threading.Lock()
        calls = 0
        asked = 0

        def get_flight_info(self, context, descriptor):
            Server.asked += 1
            command = descriptor.command
            query = query_of(command) if command else None
            if query is not None:
                if query.rstrip() not in how["queries"]:
                    raise flight.FlightServerError(
                        f"there is no table in '{query}'")
            elif command and command.decode() not in how["names"]:
                raise KeyError(f"there is no flight {command.decode()!r}")
            elif not command and "/".join(
                    part.decode() for part in descriptor.path) not in how["names"]:
                raise KeyError(f"there is no flight {descriptor.path!r}")
            return flight.FlightInfo(
                table.schema, descriptor,
                [flight.FlightEndpoint(one["ticket"], one.get("locations", []))
                 for one in how["endpoints"]], -1, -1)

        def do_get(self, context, ticket):
            with self.lock:
                Server.calls += 1
                calls = self.calls
            if calls <= how.get("fail_first", 0):
                raise flight.FlightUnavailableError("not now")
            words = ticket.ticket.decode().split("-")
            if len(words) != 2:
                raise KeyError("no such ticket")
            first, last = map(int, words)
            now = (later if self.asked > how.get("changes_after", 1 << 30)
                   else table)
            rows = now.slice(first, last - first)

            def batches():
                for number, batch in enumerate(rows.to_batches(
                        max_chunksize=how.get("batch", 16))):
                    if number >= how.get("die_after", 1 << 30):
                        os._exit(3)
                    if (number >= how.get("break_after", 1 << 30)
                            and calls == 1):
                        raise flight.FlightUnavailableError("broken off")
                    time.sleep(how.get("slow", 0))
                    yield batch

            return flight.GeneratorStream(rows.schema, batches())

    more = {}
    scheme = "grpc+tcp"
    if token:
        more |= {"auth_handler": NoHandshake(),
                 "middleware": {"let_in": LetIn()}}
    if "certificate" in how:
        scheme = "grpc+tls"
        more["tls_certificates"] = [
            (pathlib.Path(how["certificate"]).read_bytes(),
             pathlib.Path(how["key"]).read_bytes())]
    server = Server(f"{scheme}://127.0.0.1:0", **more)
    serve_until_input_ends(server.serve, server.port)
    os._exit(0)


class Flight(Served):
    """One server.

    columns: name -> list. names: what paths ("a/b") and commands are known;
    queries: of Flight SQL. endpoints: [{"ticket": "FIRST-LAST", "locations":
    [...]}]. Faults: fail_first calls for rows; break_after so many batches, the
    first time; die_after so many; slow: seconds before each batch;
    changes_after so many times that the flight was asked for. token, login
    ("USER:PASSWORD"): who is let in. certificate, key: files of TLS."""

    def __init__(self, columns, endpoints=(), names=(), queries=(), **how):
        super().__init__(__file__, json.dumps(
            {"columns": columns, "endpoints": list(endpoints),
             "names": list(names), "queries": list(queries), **how}),
            str.isdigit)
        self.port = None if self.missing else int(self.endpoint)
        self.tls = "certificate" in how

    def uri(self, path="", user=None):
        return "{}://{}127.0.0.1:{}{}".format(
            "grpc+tls" if self.tls else "grpc", f"{user}@" if user else "",
            self.port, path)


if __name__ == "__main__":
    sys.exit(serve(json.loads(sys.stdin.readline())))
