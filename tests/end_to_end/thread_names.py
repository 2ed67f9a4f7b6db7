"""Goal: who looks at a process at night sees what each of its threads does, and
finds every name in docs/cluster.md. Method: /proc of a run that trains.
"""
import pathlib
import re
import signal
import unittest

from harness.jobs import endless_job
from harness.program import ROOT
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from ballast_test import BallastTest


def names_of(pid):
    """Of all threads but the first one."""
    return [(task / "comm").read_text(encoding="utf-8").strip()
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
            if task.name != str(pid)]


def documented():
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    return set(re.findall(r"`(bl-[a-z-]+)`", text))


def written():
    """Every name that the sources give."""
    found = set()
    for folder in ("runtime", "store", "data", "collectives", "gpu", "monitor",
                   "actors", "cli"):
        for file in (ROOT / folder).rglob("*.[ch]pp"):
            found |= set(re.findall(r'"(bl-[a-z-]+)"',
                                    file.read_text(encoding="utf-8")))
    return found


class ThreadNames(BallastTest):
    def test_every_name_is_documented(self):
        self.assertEqual(written(), documented())

    def test_threads_of_a_run_say_what_they_do(self):
        # Several buckets, so that some are reduced beside the gradient.
        one, run = self.new_run(endless_job(model={"parameters": 20_000_000}))
        wait_until(lambda: (run / "steps.jsonl").exists() and
                   len(read_lines(run / "steps.jsonl")) > 2, "steps", 60)
        coordinator = read_json(run / "coordinator.json")["pid"]
        workers = [w["pid"] for w in read_json(run / "workers.json")["workers"]]
        self.has(coordinator, "bl-http", "bl-planner", "bl-supervisor")
        for pid in workers:
            self.has(pid, "bl-http", "bl-supervisor", "bl-compute", "bl-comm",
                     "bl-prefetch", "bl-mesh-accept", "bl-signals")
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(30), 130, one)

    def has(self, pid, *expected):
        found = names_of(pid)
        self.assertLessEqual(set(expected), set(found))
        # The coordinator and the shard manager, or the worker; and CAF's own.
        self.assertLessEqual(found.count("caf.actor"), 4, found)
        self.assertNotIn("ballast", found)
        ours = {name for name in found if name.startswith("bl-")}
        self.assertLessEqual(ours, documented())


if __name__ == "__main__":
    unittest.main()
