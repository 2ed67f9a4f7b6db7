"""Goal: no metric of the catalogue stands still for ever: each moves in a run
that has everything happen to it, or is named here with the reason why it
cannot. Method: every process of the run is scraped while rows move, a worker is
slow, another one dies, checkpoints are written and epochs end; a metric moves
if one of its series has two values.
"""
import concurrent.futures
import re
import unittest

from harness.http_client import request
from harness.jobs import emulated_job
from harness.live_run import LiveRun
from harness.program import ROOT
from harness.waiting import wait_until

from ballast_test import BallastTest

WORKERS = 4
# name -> why it cannot move on a machine without a GPU.
STANDS_STILL = {
    "ballast_build_info": "is 1 for ever; its label is what it says",
    "ballast_evaluation_accuracy": "the emulated model never gets better",
    "ballast_evaluation_metric": "the emulated model says nothing of a row",
    "ballast_gpu_utilization_ratio": "needs a GPU",
    "ballast_gpu_memory_used_bytes": "needs a GPU",
    "ballast_gpu_memory_bytes": "needs a GPU, and is a constant of it",
    "ballast_gpu_power_watts": "needs a GPU",
    "ballast_gpu_temperature_celsius": "needs a GPU",
    "ballast_gpu_slowed": "needs a GPU that is hot",
    "ballast_gpu_pcie_bytes_per_second": "needs a GPU",
    "ballast_gpu_memory_errors": "needs a GPU that is broken",
    "ballast_gpu_xid": "needs a GPU that is broken",
}


def catalogue():
    page = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(ballast_\w+)` \| (\w+) \|", page, re.M)


class Watcher:
    """What was ever seen of each series, by the name of its metric."""

    def __init__(self, live):
        self.live = live
        self.values = {}  # series -> values
        self.names = {f"{name}_count" if kind == "histogram" else name: name
                      for name, kind in catalogue()}

    def scrape(self):
        """Every process, at once: what lasts for a moment is to be met."""
        targets = request(self.live.url + "/v1/targets").json
        hosts = [host for one in targets for host in one["targets"]]
        with concurrent.futures.ThreadPoolExecutor(len(hosts)) as pool:
            for host, text in zip(hosts, pool.map(self._text, hosts)):
                for line in text.splitlines():
                    if not line.startswith("#"):
                        series, value = line.rsplit(" ", 1)
                        self.values.setdefault((host, series), set()).add(value)

    @staticmethod
    def _text(host):
        try:
            return request(f"http://{host}/metrics").text
        except OSError:  # it has just died
            return ""

    def moved(self):
        out = set()
        for (_, series), values in self.values.items():
            name = self.names.get(series.split("{")[0])
            if name and len(values) > 1:
                out.add(name)
        return out

    def until(self, condition, what):
        def look():
            self.live.poll()
            self.live.ended()
            self.scrape()
            return condition()
        wait_until(look, what, 90)


class Metrics(BallastTest):
    def test_names_only_metrics_that_there_are(self):
        self.assertLessEqual(set(STANDS_STILL),
                             {name for name, _ in catalogue()})

    def test_every_metric_moves(self):
        job = emulated_job(
            rows=20000, workers=WORKERS, batch=128, epochs=100000,
            us_per_sample=200, faults=True, trace_samples=False,
            # 4 KiB a row: a move lasts long enough to be seen on its way.
            data={"train": {"classes": 8, "features": 1024},
                  "test_fraction": 0.05,
                  "chunk_rows": 100, "placement": {"kind": "sorted"}},
            checkpoint={"every_steps": 20, "every_s": 2}, elastic={"respawn_limit": 1000})
        # Nobody says how fast rows come, so plans wait for their bytes, and a
        # move is under way for a moment.
        with LiveRun(job, self.folder / "live",
                     self.environment["BALLAST_CACHE"],
                     environment={"BALLAST_FAULT_POINTS":
                                  "reads.told=eio"}) as live:
            wait_until(lambda: (live.run / "coordinator.json").exists(),
                       "the coordinator")
            seen = Watcher(live)
            seen.until(lambda: live.full(WORKERS), "all workers")
            seen.until(lambda: self.moves(live, "skew"), "a move by skew")
            self.assertIsNone(live.post("slow_worker", worker="w2", factor=4))
            # Where skew is left, one move mends both and is named for that.
            seen.until(lambda: self.moves(live, "than its part") or
                       self.moves(live, "skew") > 1, "a move by size")
            expected = {name for name, _ in catalogue()} - set(STANDS_STILL)
            self.kill_one(live, seen)
            # If the coordinator hears of a death first, no worker has the time
            # to report an error.
            for _ in range(10):
                if "ballast_errors_total" not in seen.moved():
                    self.kill_one(live, seen)
            try:
                seen.until(lambda: expected <= seen.moved(), "all metrics")
            except AssertionError as never:
                raise AssertionError(
                    f"these never moved: {sorted(expected - seen.moved())}; "
                    "count them where it happens, or say here why they cannot"
                ) from never
            self.assertEqual(seen.moved() & set(STANDS_STILL), set())
            live.stop()

    def kill_one(self, live, seen):
        before = live.newest
        victim = next(w["name"] for w in request(live.url + "/v1/status")
                      .json["workers"] if w["state"] == "training")
        self.assertIsNone(live.post("kill_worker", worker=victim))
        seen.until(lambda: live.full(WORKERS) and live.newest >= before + 2,
                   "another worker in its place")

    @staticmethod
    def moves(live, reason):
        return sum(e["kind"] == "balance" and e["moved_rows"] > 0 and
                   reason in e["reason"] for e in live.events.lines)


if __name__ == "__main__":
    unittest.main()
