"""The pictures of docs/: the page of a run and its report, each from a real
run. Run it from a checkout whose program is built:

    PYTHONPATH=tools python3 tools/screenshots.py
"""
import base64
import os
import pathlib
import signal
import sys
import tempfile

from harness.browser import Browser
from harness.jobs import merged
from harness.live_run import LiveRun
from harness.program import ROOT
from harness.run_files import read_json
from harness.waiting import wait_until

DRAWN = """[...document.querySelectorAll(".plot")].every(plot => plot.hidden ||
  plot.querySelector("path"))"""
HEIGHT = "document.documentElement.scrollHeight"


def shot(browser, url, to, *, width=1200, height=None):
    browser.open(url)
    browser.size(width, 1000)
    wait_until(lambda: browser.value(DRAWN), "all plots")
    browser.size(width, height or browser.value(HEIGHT))
    browser.value("new Promise(done => setTimeout(done, 300))")
    png = browser.call("Page.captureScreenshot", format="png")["data"]
    pathlib.Path(to).write_bytes(base64.b64decode(png))
    print(to)


def main():
    job = merged(read_json(ROOT / "examples" / "jobs" / "skewed.json"), {
        "train": {"epochs": 60},
        "evaluate": {"metrics": ["accuracy", "f1_macro", "ece"]}})
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        browser = Browser(dict(os.environ), folder)
        with LiveRun(job, folder / "skewed", folder / "cache") as live:
            live.wait_full(4, 400)
            live.post("slow_worker", worker="w2", factor=3)
            live.wait_for(lambda: live.full(4, 900), "steps beside a slow one")
            os.kill(live.workers()["w3"], signal.SIGKILL)
            live.wait_for(lambda: live.poll() or live.newest > 2 and
                          live.full(4, 400), "a recovery")
            shot(browser, live.url + "/", ROOT / "docs" / "live_page.png")
            live.stop()
            shot(browser, (live.run / "report.html").as_uri(),
                 ROOT / "docs" / "report.png", height=1500)
        browser.end()


if __name__ == "__main__":
    sys.exit(main())
