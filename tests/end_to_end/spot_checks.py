"""Goal: a worker whose gradients err is found by a leaf that another computes
again, before the step is applied: it is named, excluded, and the run ends with
the weights of a run without the fault. Where nobody can say who errs, the run
ends and says so. Method: real runs of as many leaves as workers that compute,
all of which are computed twice, and bits that flip on purpose.
"""
import unittest

from harness.jobs import merged
from harness.live_run import LiveRun
from harness.run_files import read_json, read_lines

from reproducible import Alike, outcome, table_job


def checked_job(workers, **more):
    """Each leaf of each step is computed twice."""
    return table_job(workers, **merged({
        "faults": True, "verify": {"every_steps": 1},
        "train": {"epochs": 60, "leaves": 2, "digest_every_steps": 0},
        "checkpoint": {"every_s": 1, "every_steps": 10},
        "elastic": {"heartbeat_ms": 200, "respawn_limit": 1000}}, more))


class Unharmed(Alike):
    def test_no_worker_is_ever_blamed_and_the_weights_stay_as_they_are(self):
        plain = {"train": {"epochs": 3, "leaves": 8}}
        expected = outcome(self.run_job(
            checked_job(1, verify={"every_steps": 0}, **plain)))
        for workers in (1, 2, 3, 5):
            with self.subTest(workers=workers):
                run = self.run_job(checked_job(workers, **plain))
                self.expect_alike(expected, run)
                self.assertEqual([one for one in read_lines(run / "events.jsonl")
                                  if one["kind"] == "worker_lost"], [])


class Flipped(Alike):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.expected = None

    def unharmed(self):
        if Flipped.expected is None:
            Flipped.expected = outcome(self.run_job(checked_job(1)))
        return Flipped.expected

    def live(self, workers):
        return LiveRun(checked_job(workers), self.folder / "live",
                       self.environment["BALLAST_CACHE"])

    def flip(self, live, world, worker, leaves):
        """In that worker's gradients, once all train."""
        live.wait_full(world, steps=5)
        self.assertIsNone(live.post("flip_gradients", worker=worker,
                                    leaves=leaves))

    def lost(self, run):
        return [one for one in read_lines(run / "events.jsonl")
                if one["kind"] == "worker_lost"]

    def test_one_of_three_is_excluded_before_the_step_is_applied(self):
        expected = self.unharmed()
        with self.live(3) as live:
            self.flip(live, 3, "w2", 1000000)
            self.assertEqual(live.process.wait(120), 0, live.process)
        self.expect_alike(expected, live.run)
        lost = self.lost(live.run)
        self.assertEqual([one["worker"] for one in lost], ["w2"])
        self.assertRegex(lost[0]["reason"], r"leaf [01] of step \d+: worker w2 "
                         r"\(pid \d+ on .*\) computed other bits than worker w[13]")

    def test_a_bit_that_flips_once_names_one_of_two(self):
        expected = self.unharmed()
        with self.live(2) as live:
            self.flip(live, 2, "w1", 1)
            self.assertEqual(live.process.wait(120), 0, live.process)
        self.expect_alike(expected, live.run)
        self.assertEqual([one["worker"] for one in self.lost(live.run)], ["w1"])

    def test_a_lone_worker_does_the_step_again(self):
        # Of its leaves one is computed twice.
        job = checked_job(1, train={"leaves": 1, "epochs": 120})
        expected = outcome(self.run_job(job))
        with LiveRun(job, self.folder / "live",
                     self.environment["BALLAST_CACHE"]) as live:
            self.flip(live, 1, "w1", 1)
            self.assertEqual(live.process.wait(120), 0, live.process)
        self.expect_alike(expected, live.run)
        self.assertEqual(self.lost(live.run), [])
        reasons = [one["reason"] for one in read_lines(live.run / "events.jsonl")
                   if one["kind"] == "generation" and "reason" in one]
        self.assertIn("computed it twice, to other bits", reasons[-1])

    def test_two_that_cannot_say_who_errs_end_and_a_third_lets_them_go_on(self):
        expected = self.unharmed()
        with self.live(2) as live:
            self.flip(live, 2, "w2", 1000000)
            self.assertEqual(live.process.wait(120), 1, live.process)
        said = live.process.last_line
        for part in ("leaf", "of step", "worker w1", "worker w2",
                     "no third worker"):
            self.assertIn(part, said)
        self.assertIsNone((read_json(live.run / "report.json") or {})
                          .get("weights_sha256"))
        again = self.start("run", "--resume", live.run, "--no-progress",
                           "--workers", "3")
        self.assertEqual(again.wait(120), 0, again)
        self.expect_alike(expected, live.run)


if __name__ == "__main__":
    unittest.main()
