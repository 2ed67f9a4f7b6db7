"""Requests to a coordinator's HTTP interface."""
import http.client
import json

from harness.waiting import patience


class Answer:
    """Of an HTTP request."""

    def __init__(self, status, headers, text):
        self.status = status
        self.headers = headers
        self.text = text

    @property
    def json(self):
        return json.loads(self.text)


def request(url, method="GET", body=None, headers=None, seconds=10):
    """One HTTP request; `url` is http://HOST:PORT/PATH. An OSError also if
    the answer breaks off because the server was killed."""
    address, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(address, timeout=patience(seconds))
    try:
        connection.request(method, "/" + path, body, headers or {})
        got = connection.getresponse()
        return Answer(got.status, got.headers, got.read().decode())
    except http.client.HTTPException as broken:
        raise ConnectionError(f"{url}: {broken!r}") from broken
    finally:
        connection.close()


def control(url, message, **headers):
    """Posts a control message; version and id are added."""
    body = message if isinstance(message, (str, bytes)) else json.dumps(
        {"version": 1, "id": "test", **message})
    return request(url + "/v1/control", "POST", body,
                   {"Content-Type": "application/json", **headers})
