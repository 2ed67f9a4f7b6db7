"""A headless Chromium that a test steers over the DevTools protocol: JSON
through two pipes, each message ended by a zero byte.
"""
import json
import os
import select
import time

from harness.program import Started
from harness.waiting import patience

# Its own numbers are taken from here on; the shell gives them 3 and 4.
_REDIRECT = 'exec "$0" "$@" 3<&{} 4>&{}'


class Browser:
    def __init__(self, environment, folder):
        from_here, self._to = os.pipe()
        self._from, to_here = os.pipe()
        self.process = Started(
            # Its sandbox refuses to work for root; it opens pages of ours only.
            ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--remote-debugging-pipe",
             "--force-color-profile=srgb", "--hide-scrollbars",
             f"--user-data-dir={folder / 'chromium'}"],
            environment, folder, program="chromium",
            wrapper=["bash", "-c", _REDIRECT.format(from_here, to_here)],
            pass_fds=(from_here, to_here))
        os.close(from_here)
        os.close(to_here)
        self._numbers = 0
        self._rest = b""
        self.troubles = []  # what the console of a page had to complain about
        self._session = None

    def end(self):
        os.close(self._to)
        os.close(self._from)
        self.process.end()

    def open(self, url):
        """A new page, at that address."""
        target = self.call("Target.createTarget", url="about:blank")
        self._session = self.call("Target.attachToTarget", flatten=True,
                                  targetId=target["targetId"])["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Page.navigate", url=url)

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme",
             "value": "dark" if dark else "light"}])

    def value(self, script):
        """Of a JavaScript expression."""
        got = self.call("Runtime.evaluate", expression=script,
                        returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise AssertionError(f"{script}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def call(self, method, **parameters):
        self._numbers += 1
        message = {"id": self._numbers, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + patience(30)
        while True:
            got = self._read(until, method)
            if got.get("id") != self._numbers:
                self._note(got)
            elif "error" in got:
                raise AssertionError(f"{method}: {got['error']}")
            else:
                return got["result"]

    def _read(self, until, waiting_for):
        while b"\0" not in self._rest:
            left = until - time.monotonic()
            if left < 0 or not select.select([self._from], [], [], left)[0]:
                raise AssertionError(f"no answer to {waiting_for} from "
                                     f"{self.process}")
            more = os.read(self._from, 1 << 20)
            if not more:
                raise AssertionError(f"gone: {self.process}")
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def _note(self, message):
        method, what = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.troubles.append(what["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and \
                what["type"] in ("error", "warning", "assert"):
            self.troubles.append(what["args"])
        elif method == "Log.entryAdded" and \
                what["entry"]["level"] in ("error", "warning"):
            self.troubles.append(what["entry"])
