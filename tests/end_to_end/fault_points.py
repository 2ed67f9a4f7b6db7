"""Goal: a run whose processes are all killed at any point where it writes,
reads or copies goes on to an exact end. Method: the first process that reaches
a named point kills itself there with SIGKILL; then the others are killed, too,
or the run is left to itself; the checker shares nothing with the runtime.

usage: fault_points.py [Sample|All]   Sample: eight of the points, once each
"""
import re
import sys
import unittest

from harness.exactness import check_run
from harness.program import ROOT
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from recovery import job_of
from run_digest import checkpoints_of
from takeover import Takeover

EPOCHS = 3

# point -> from when on it is armed: the beginning, some steps, the way back to
# a checkpoint.
POINTS = {
    "cache.write": "begin", "cache.rename": "begin",
    "store.read": "begin", "store.write": "begin",
    "file.write": "begin", "file.rename": "begin", "run.begin": "begin",
    "journal.commit": "steps", "journal.committed": "steps",
    "steps.append": "steps", "events.append": "steps",
    "trace.write": "steps",
    "coordinator.tick": "steps", "worker.heartbeat": "steps",
    "checkpoint.fetch": "steps", "checkpoint.write": "steps",
    "checkpoint.sync": "steps", "checkpoint.rename": "steps",
    "history.sync": "steps",
    "undo.append": "back",
    "model.fetch": "steps", "model.write": "steps", "model.sync": "steps",
    "model.rename": "steps", "report.write": "steps",
}
SAMPLE = ["checkpoint.fetch", "journal.commit", "journal.committed",
          "steps.append", "trace.write", "checkpoint.rename", "undo.append",
          "model.rename"]
# Reached in tests of their own: rows move, a disk fails, a run is refused.
ELSEWHERE = {"cache.link", "coordinator.listen", "copies.complete",
             "copies.write", "copy.fetch", "fragment.find",
             "fragment.read", "fragment.write", "kept.read", "kept.write",
             "reads.told", "run.discard", "sink.appear", "spill.open",
             "spill.write", "worker.start"}


def points_of_the_code():
    found = set()
    for folder in ("store", "data", "monitor", "actors", "cli"):
        for path in (ROOT / folder).rglob("*.?pp"):
            found |= set(re.findall(
                r'(?:fault_point|fault_at|reach|reach_writing|file_|kept|'
                r'emplace)\([^"()]*"([a-z]+\.[a-z]+)"'
                r'|(?:fault_name|write|sync) = "([a-z]+\.[a-z]+)"'
                r'|"(file\.[a-z]+)"', path.read_text(encoding="utf-8")))
    return {name for names in found for name in names if name}


class FaultPoints(Takeover):
    def job(self):
        return job_of(workers=2, epochs=EPOCHS,
                      checkpoint={"every_steps": 8, "every_s": 0})

    def killed_at(self, point):
        """A run of which one process has killed itself at the point."""
        flag = self.folder / "armed"
        self.environment["BALLAST_CACHE"] = str(self.folder / point)
        self.environment["BALLAST_FAULT_POINTS"] = f"{point}=kill!{flag}"
        when = POINTS[point]
        if when == "begin":
            flag.touch()
        one, run = self.new_run(self.job())
        if when != "begin":
            wait_until(lambda: self.committed(run) > 5, f"steps of {one}")
        if when == "back":
            wait_until(lambda: "checkpoint" in self.kinds(run), "a way back")
            self.kill_all(one)
            while (stood := self.committed(run)) == checkpoints_of(run)[-1]:
                one = self.resume(self.job(), run)  # nothing to take back
                wait_until(lambda: self.committed(run) > stood, f"{one}")
                self.kill_all(one)
            flag.touch()
            one = self.resume(self.job(), run)
        if when == "steps":
            flag.touch()
        wait_until(lambda: not flag.exists(), f"{point} in {one}")
        return one, run

    def exact(self, one, run):
        self.assertEqual(one.wait(60), 0, one)
        self.assertEqual(check_run(run, 50, EPOCHS).problems, [])
        audit = self.audit(run)
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))

    def goes_on_by_itself(self, point):
        one, run = self.killed_at(point)
        self.exact(one, run)

    def goes_on_after_all_are_killed(self, point):
        one, run = self.killed_at(point)
        self.kill_all(one)
        report = read_json(run / "report.json")
        if report and report["state"] == "done":
            return self.assertEqual(check_run(run, 50, EPOCHS).problems, [])
        before = read_lines(run / "steps.jsonl")
        self.exact(self.resume(self.job(), run), run)
        kept = (read_lines(run / "steps.jsonl")
                + read_lines(run / "undone.jsonl"))
        for step in before:
            self.assertIn(step, kept)
        return None

    def each(self, points, check):
        for point in points:
            with self.subTest(point):
                check(point)


class Sample(FaultPoints):
    def test_after_a_kill_there_it_goes_on(self):
        self.each(SAMPLE[0::2], self.goes_on_by_itself)

    def test_after_a_kill_of_all_it_is_resumed(self):
        self.each(SAMPLE[1::2], self.goes_on_after_all_are_killed)


class All(FaultPoints):
    def test_every_point_of_the_code_is_in_the_table(self):
        self.assertEqual(points_of_the_code(), set(POINTS) | ELSEWHERE)

    def test_after_a_kill_there_it_goes_on(self):
        self.each(POINTS, self.goes_on_by_itself)

    def test_after_a_kill_of_all_it_is_resumed(self):
        self.each(POINTS, self.goes_on_after_all_are_killed)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.argv.append("Sample")
    unittest.main()
