"""Goal: the page of a coordinator shows a run while it is balanced, and nothing
that it is told becomes markup. Method: headless Chromium opens the page of a
real run whose rows move, and then that of a played coordinator whose names and
reasons are hostile; what was drawn is read from the document.
"""
import contextlib
import http.server
import json
import os
import signal
import threading
import unittest

from harness.browser import Browser
from harness.http_client import request
from harness.jobs import emulated_job
from harness.live_run import LiveRun
from harness.program import ROOT
from harness.waiting import wait_until

from ballast_test import BallastTest

PLOTS = ["loss", "test", "speed", "world", "share", "skew", "makespan", "moved"]
EMPTY = {"test"}  # of a model that says nothing of a row
MARKUP = "<img src=x onerror=\"document.title='injected'\">"
# Of every plot: the paths, and how many different heights they have.
DRAWN = """Object.fromEntries([...document.querySelectorAll(".plot")].map(plot =>
  [plot.id, [...plot.querySelectorAll("path")].map(path => new Set(
    path.getAttribute("d").match(/ [0-9.]+/g)).size)]))"""
LEGENDS = """Object.fromEntries([...document.querySelectorAll(".plot")].map(plot =>
  [plot.id, [...plot.querySelectorAll("li")].map(l => l.textContent)]))"""
EVENTS = """[...document.querySelectorAll("#events li")].map(l => l.textContent)"""
TABLE = """[...document.querySelectorAll("#workers tr")].map(line =>
  [...line.cells].map(cell => cell.textContent))"""
BALANCE = "document.getElementById('balance').textContent"


def all_drawn(page, empty=EMPTY):
    return all(paths for plot, paths in page.value(DRAWN).items()
               if plot not in empty)


class Page(BallastTest):
    def opened(self, url, width=1400, height=1200):
        browser = Browser(self.environment, self.folder)
        self.addCleanup(browser.end)
        browser.open(url)
        browser.size(width, height)
        return browser


class Live(Page):
    def test_plots_follow_a_run_that_is_balanced(self):
        job = emulated_job(
            rows=6000, workers=4, batch=128, epochs=100000, us_per_sample=200,
            faults=True, trace_samples=False,
            data={"train": {"classes": 8}, "chunk_rows": 25,
                  "placement": {"kind": "sorted"}})
        with LiveRun(job, self.folder / "live",
                     self.environment["BALLAST_CACHE"]) as live:
            live.wait_full(4)
            page = self.opened(live.url + "/")
            wait_until(lambda: all_drawn(page), "all plots")
            self.assertIsNone(live.post("slow_worker", worker="w2", factor=4))
            live.wait_for(lambda: self.moved(live), "a move by size")
            wait_until(lambda: f"moved {self.moved(live):,}" in
                       page.value(LEGENDS)["moved"], "the rows that moved")
            self.check_plots(page)
            self.check_words(page, live)
            for width, dark in ((400, False), (1400, True)):
                page.size(width, 1200, dark)
                self.assertEqual(
                    page.value("document.documentElement.scrollWidth"), width)
            self.check_end(page, live)

    def moved(self, live):
        """All rows that moved, once some did because of a slow worker."""
        live.poll()
        done = [e for e in live.events.lines if e["kind"] == "balance"]
        if any("than its part" in e["reason"] for e in done):
            return done[-1]["moved_rows_total"]
        return 0

    def check_plots(self, page):
        drawn = page.value(DRAWN)
        self.assertEqual(list(drawn), PLOTS)
        self.assertEqual((drawn["test"], page.value(
            "document.getElementById('test').hidden")), ([], True))
        # One line of steps, as this model is not evaluated; 4 workers.
        self.assertEqual(len(drawn["loss"]), 1)
        self.assertEqual(len(drawn["speed"]), 1)
        self.assertEqual(page.value(LEGENDS)["world"], ["workers 4"])
        # A band, a line each; the areas of what moved have a line on top.
        self.assertEqual(len(drawn["share"]), 4)
        self.assertEqual(len(drawn["skew"]), 5)
        self.assertEqual((len(drawn["makespan"]), len(drawn["moved"])), (1, 3))
        # What changed is seen: borders between bands (the uppermost ends at
        # 100 % all the time), the skew, the rows that moved.
        self.assertGreaterEqual(min(drawn["share"][1:]), 3)
        self.assertGreaterEqual(drawn["skew"][-1], 2)
        self.assertGreaterEqual(min(drawn["moved"]), 2)
        self.assertEqual(
            [line.split()[0] for line in page.value(LEGENDS)["share"]],
            ["w1", "w2", "w3", "w4"])

    def check_words(self, page, live):
        self.assertEqual(page.value("document.title"), "Ballast: run")

        def table():
            head, *lines = page.value(TABLE)
            rows = [int(line[head.index("rows")].replace(",", ""))
                    for line in lines]
            return sum(rows) == 6000 and rows[1] < min(rows[:1] + rows[2:])
        wait_until(table, "fewer rows of w2 in the table")
        wait_until(lambda: "What would change that: " in page.value(BALANCE),
                   "what the last look at the data came to")
        events = page.value(EVENTS)
        self.assertTrue(any("fault" in one and "slow w2" in one
                            for one in events), events)
        for e in live.events.lines:
            if e["kind"] == "balance":
                self.assertTrue(any(e["reason"] in one for one in events),
                                events)

    def check_end(self, page, live):
        """It says so when nobody answers any more, and keeps what it has.
        Only that may be a trouble."""
        self.assertEqual(page.troubles, [])
        live.stop()
        wait_until(lambda: "No answer" in page.value(
            "document.getElementById('trouble').textContent"), "its end")
        self.assertTrue(all_drawn(page))


class Late(Page):
    def test_a_page_opened_late_shows_what_was_before_the_coordinator_died(self):
        job = emulated_job(
            rows=6000, workers=2, batch=128, epochs=100000, us_per_sample=100,
            faults=True, trace_samples=False)
        with LiveRun(job, self.folder / "late",
                     self.environment["BALLAST_CACHE"]) as live:
            live.wait_full(2, 40)
            first, before = live.coordinator, len(live.steps.lines)
            os.kill(first, signal.SIGKILL)
            live.wait_for(lambda: live.coordinator != first and
                          live.full(2, 40) and
                          len(live.steps.lines) > before + 40,
                          "40 steps of a second coordinator")
            found = request(
                live.url + "/v1/series?names=loss&points=2000").json
            known = len(live.steps.lines)
            loss = found["series"]["loss"]
            self.assertEqual(loss["step"], list(range(1, len(loss["step"]) + 1)))
            self.assertGreaterEqual(len(loss["step"]), known - 40)
            self.assertEqual(loss["mean"][:known],
                             [one["loss"] for one in live.steps.lines][
                                 :len(loss["mean"])])
            page = self.opened(live.url + "/")
            wait_until(lambda: all_drawn(page, EMPTY | {"makespan"}),
                       "all plots")
            self.assertEqual(page.troubles, [])


class Played(http.server.BaseHTTPRequestHandler):
    """A coordinator that says MARKUP wherever a text may stand."""

    def do_GET(self):  # pylint: disable=invalid-name
        path = self.path.partition("?")[0]
        folder = ROOT / "monitor" / "page"
        if path == "/v1/status":
            self.answer("application/json", json.dumps(self.status()).encode())
        elif path == "/v1/series":
            of = {"t_s": [1.0, 1.0], "step": [1, 2], "mean": [2.0, 1.0],
                  "least": [1.0, 1.0], "most": [2.0, 1.0]}
            names = ["loss", "test_" + MARKUP, "samples_per_s", "world"]
            self.answer("application/json", json.dumps(
                {"names": names, "series": dict.fromkeys(names, of)}).encode())
        elif path == "/v1/events":
            self.answer("text/event-stream", b"".join(
                b"data: " + json.dumps(one).encode() + b"\n\n"
                for one in self.events()))
        else:
            kind = {"js": "text/javascript", "css": "text/css",
                    "svg": "image/svg+xml"}
            name = path.removeprefix("/page/").strip("/") or "index.html"
            self.answer(kind.get(name.rpartition(".")[2], "text/html"),
                        (folder / name).read_bytes())

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def status(self):
        worker = {"name": MARKUP, "state": MARKUP, "host": MARKUP,
                  "device": MARKUP, "phase": MARKUP, "rank": 0, "batch": 4.0,
                  "rows_owned": 10, "skew_tv": 0.0, "samples_per_s": 1.0,
                  "heartbeat_age_s": 0.0}
        return {"run": MARKUP, "state": MARKUP, "t_ns": 10**9, "epoch": 1,
                "epochs": 2, "step": 1, "steps_total": 4, "loss": 1.5,
                "samples_per_s": 1.0, "skew_tv_max": 0.0, "error": MARKUP,
                "generation": 1, "plan": 1, "moves": [], "workers": [worker],
                "balance": {"code": MARKUP, "why": MARKUP, "would_change": MARKUP,
                            "makespan_ratio": 1.0,
                            "moved_samples": 0, "moved_bound_samples": 0}}

    def events(self):
        for seq, kind in enumerate(("worker_lost", "balance", "error", "fault",
                                    "generation", MARKUP), 1):
            yield {"seq": seq, "t_ns": 10**9, "time": MARKUP, "kind": kind,
                   "worker": MARKUP, "reason": MARKUP, "host": MARKUP,
                   "workers": [MARKUP], "code": MARKUP, "message": MARKUP}

    def log_message(self, *_):
        pass


class Hostile(Page):
    def test_names_and_reasons_are_text(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Played)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        page = self.opened(f"http://127.0.0.1:{server.server_address[1]}/")
        wait_until(lambda: len(page.value(EVENTS)) == 6 and
                   all_drawn(page, set()), "all that is hostile")
        self.assertEqual(page.value("document.querySelectorAll('img').length"),
                         0)
        self.assertEqual(page.value("document.title"), "Ballast: " + MARKUP)
        for text in page.value(EVENTS):
            self.assertIn(MARKUP, text)
        self.assertIn(MARKUP, page.value(TABLE)[1])
        self.assertIn(MARKUP, page.value(BALANCE))
        self.assertIn(MARKUP, page.value(LEGENDS)["share"][0])
        self.assertIn(MARKUP, page.value(LEGENDS)["test"][0])
        self.assertEqual(page.troubles, [])


if __name__ == "__main__":
    unittest.main()
