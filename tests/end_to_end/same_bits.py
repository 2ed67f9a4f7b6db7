#!/usr/bin/env python3
"""Goal: order global and reduction canonical give the same bits for every kind of
model: the weights, the loss of each step and that of the test part, for 1, 2, 3,
4, 5 and 7 workers, through shared memory, over TCP and between hosts, and under
any mix of kills, freezes, joins, leaves, slow workers with uneven leaves, and
deaths of the coordinator and of `ballast run`, resumed onto another number of
workers; and each sample is used exactly once. Method: real runs, compared with
one of a single worker that nothing disturbs; the faults come by a seed.

usage: same_bits.py [Some|EveryNumber|OnTwoHosts|Schedules ...] [--seed S]
                                   Some: what is quick; --seed: one schedule
"""
import contextlib
import os
import random
import signal
import sys
import time
import unittest

from harness.exactness import check_run
from harness.jobs import merged
from harness.live_run import LiveRun
from harness.run_files import read_json
from harness.torchscript import save_script
from harness.waiting import patience, wait_until

from ballast_test import BallastTest
from chaos_faults import Faults
from chaos_outcome import Outcome, Plan
from reproducible import outcome
from two_hosts import REASON, TwoHosts

# The last step of an epoch has fewer rows than there are leaves.
ROWS, BATCH = 254, 32
SEEDS = range(1, 21)
TCP = {"BALLAST_HOST_ID": ""}  # turns shared memory off

IMAGE = {"train": {"features": 144},
         "pipeline": [{"op": "reshape", "shape": [1, 12, 12]}]}
COLOUR = {"train": {"features": 3 * 81},
          "pipeline": [{"op": "reshape", "shape": [3, 9, 9]}]}
SCRIPT = {"weight1": (24, 20), "bias1": (24,), "weight2": (4, 24), "bias2": (4,)}
KINDS = {
    "mlp": {"model": {"hidden": [33, 17]}},
    "cnn": {"model": {"channels": [4, 6], "batch_norm": True, "dropout": 0.3},
            "data": IMAGE},
    "resnet18": {"model": {"stem": "cifar"}, "data": COLOUR,
                 # Eleven million parameters a leaf.
                 "train": {"optimizer": {"kind": "sgd", "momentum": 0.9},
                           "epochs": 1, "leaves": 4}},
    "transformer": {"model": {"layers": 2, "width": 16, "heads": 2},
                    "data": {"train": {"classes": 11}},
                    "train": {"loss": "next_token"}},
    "torchscript": {},
}
# In a schedule: a single worker takes some seconds for so many.
EPOCHS = {"mlp": 600, "cnn": 120, "resnet18": 3, "transformer": 50,
          "torchscript": 200}


def same_bits_job(kind, folder, workers=1, **more):
    out = merged({
        "name": kind, "seed": 7,
        "data": {"train": {"format": "synthetic", "rows": ROWS, "classes": 4,
                           "features": 20}, "test_fraction": 0.1,
                 "chunk_rows": 13},
        "model": {"kind": kind},
        "train": {"epochs": 2, "global_batch": BATCH, "order": "global",
                  "reduction": "canonical", "leaves": 8,
                  "digest_every_steps": 5, "clip_norm": 1.0,
                  "optimizer": {"kind": "adamw", "lr": 0.003}},
        "elastic": {"workers": workers, "heartbeat_ms": 1000},
        "trace_samples": True}, KINDS[kind])
    if out["train"]["optimizer"]["kind"] == "sgd":
        out["train"]["optimizer"] = {**KINDS[kind]["train"]["optimizer"],
                                     "lr": 0.003}
    if kind == "torchscript":
        out["model"]["path"] = str(folder / "net.pt")
        save_script(folder / "net.pt", SCRIPT, [
            "a = torch.linear(x, self.weight1, self.bias1)",
            "b = torch.dropout(torch.relu(a), 0.2, self.training)",
            "return torch.linear(b, self.weight2, self.bias2)"])
    return merged(out, more)


class Alike(BallastTest):
    def first_difference(self, expected, run):
        """Of two outcomes, in words; None where they are equal."""
        found = outcome(run)
        for before, now in zip(expected[1], found[1]):
            if before != now:
                return f"(step, epoch, samples, loss) {now}, not {before}"
        if len(expected[1]) != len(found[1]):
            return f"{len(found[1])} steps, not {len(expected[1])}"
        # events.jsonl does not tell of every epoch of a long run.
        tests = {one[0]: one for one in expected[2]}
        for one in found[2]:
            if tests.get(one[0], one) != one:
                return f"(epoch, test loss, accuracy) {one}, not {tests[one[0]]}"
        if found[2][-1] != expected[2][-1]:
            return f"at the end {found[2][-1]}, not {expected[2][-1]}"
        if found[0] != expected[0]:
            return f"weights {found[0]}, not {expected[0]}"
        return None

    def expect_alike(self, expected, run):
        """The same bits, and each sample once."""
        job = read_json(run / "job.json")["train"]
        self.assertIsNone(self.first_difference(expected, run), run)
        found = check_run(run, job["global_batch"], job["epochs"])
        self.assertEqual(found.problems, [], found)
        audit = self.audit(run)
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))

    def trained(self, kind, workers=1, **more):
        return self.run_job(same_bits_job(kind, self.folder, workers, **more),
                            seconds=300)

    def over_tcp(self, kind, workers, **more):
        before = dict(self.environment)
        self.environment.update(TCP)
        try:
            return self.trained(kind, workers, **more)
        finally:
            self.environment = before

    def replayed(self, run):
        found = self.ballast("audit", run, "--replay", seconds=300)
        self.assertIn("the same bits", found.out)


class Some(Alike):
    """Of each kind a few steps; and that they have to do with each other."""

    def test_three_workers_end_as_one_does(self):
        for kind in KINDS:
            with self.subTest(kind):
                epochs = {"train": {"epochs": 1}}
                one = self.trained(kind, **epochs)
                expected = outcome(one)
                self.assertGreater(expected[1][0][3], 0)
                self.assertLess(expected[1][-1][2], 8)
                self.expect_alike(expected, self.trained(kind, 3, **epochs))

    def test_tcp_does_not_matter(self):
        self.expect_alike(outcome(self.trained("cnn")),
                          self.over_tcp("cnn", 3))

    def test_a_slow_worker_takes_fewer_leaves_of_the_same_step(self):
        job = {"faults": True, "train": {"epochs": 60, "leaves": 16},
               "model": {"hidden": [400, 300]}}
        expected = outcome(self.trained("mlp", **job))
        with self.live(same_bits_job("mlp", self.folder, 2, **job)) as live:
            live.wait_full(2)
            live.post("slow_worker", worker="w2", factor=4)
            self.assertEqual(live.process.wait(120), 0, live.process)
        self.expect_alike(expected, live.run)
        found = check_run(live.run, BATCH)
        shares = {tuple(len(ids) for _, ids in sorted(parts.items()))
                  for parts in found.ids_of_step.values()}
        self.assertTrue(any(left > 2 * right for left, right in
                            (one for one in shares if len(one) == 2)), shares)

    def live(self, job, **environment):
        return Resumable(job, self.folder / f"live-{next(self.folders)}",
                         self.environment["BALLAST_CACHE"],
                         environment=environment)


class EveryNumber(Alike):
    def test_of_workers_ends_with_the_same_bits(self):
        for kind in KINDS:
            one = self.trained(kind)
            expected = outcome(one)
            self.replayed(one)
            for workers in (2, 3, 4, 5, 7):
                with self.subTest(kind, workers=workers):
                    self.expect_alike(expected, self.trained(kind, workers))

    def test_over_tcp(self):
        for kind in KINDS:
            expected = outcome(self.trained(kind))
            for workers in (2, 5):
                with self.subTest(kind, workers=workers):
                    self.expect_alike(expected, self.over_tcp(kind, workers))


@unittest.skipIf(REASON, REASON)
class OnTwoHosts(TwoHosts, Alike):
    def test_every_kind(self):
        for host, name in (("a", "w1"), ("b", "w2"), ("b", "w3")):
            self.node(host, name, "--insecure")
        for kind in KINDS:
            with self.subTest(kind):
                expected = outcome(self.trained(kind))
                run = self.submit(same_bits_job(kind, self.folder, 3), "--wait")
                self.assertEqual({w["host"] for w in read_json(
                    run / "workers.json")["workers"]}, {"host-a", "host-b"})
                self.expect_alike(expected, run)

    def test_a_host_that_dies_and_one_that_joins(self):
        job = {"train": {"epochs": EPOCHS["cnn"]},
               "elastic": {"heartbeat_ms": 200}}
        expected = outcome(self.trained("cnn", **job))
        self.node("a", "w1", "--insecure")
        far = self.node("b", "w2", "--insecure")
        run = self.submit(same_bits_job("cnn", self.folder, 2, **job))
        wait_until(lambda: self.status()["step"] > 20, "steps of two")
        far.signal(signal.SIGKILL)
        wait_until(lambda: self.status()["world"] == 1, "a world of one")
        self.node("b", "w3", "--insecure")
        wait_until(lambda: self.events(run, "done"), "the end", 120)
        self.expect_alike(expected, run)
        self.assertEqual([len(e["workers"]) for e in
                          self.events(run, "generation")], [2, 1, 2])


class Resumable(LiveRun):
    """A run whose next lives have another number of workers."""
    dice = random.Random(1)

    def resume(self):
        self.earlier.append(self.process)
        self.process = self._start("--resume", "--workers",
                                   self.dice.choice((1, 2, 3, 4, 5)))


class Schedule(Faults):
    """One seed's faults."""

    def __init__(self, seed, live, workers):
        plan = Plan(seed, workers)
        super().__init__(plan, live, Outcome(plan))
        live.dice = self.dice
        self.told = []
        self.begun = time.monotonic()

    def kill_all_workers(self):
        """Nobody holds the model any more: back to a checkpoint."""
        here = self.live.workers()
        return here and self.signal(signal.SIGKILL, here, "kill -9 all:")

    def freeze_a_moment(self):
        """Not so long that it is given up."""
        name, pid = self.one()
        if not pid:
            return None
        seconds = self.dice.uniform(0.02, 0.3)
        self.frozen[name] = pid
        return self.signal(signal.SIGSTOP, {name: pid},
                           f"stop for {seconds:.2f} s:", seconds)

    # Of each line one, in some order: so each schedule has all that the goal
    # names, and can be over soon.
    KINDS = (
        (Faults.kill, Faults.kill, Faults.kill_two),
        (Faults.freeze, freeze_a_moment),
        (Faults.scale,),
        (Faults.slow,),
        (Faults.drain, Faults.evict, Faults.kill),
        (Faults.checkpoint, Faults.pause, Faults.freeze_coordinator),
        (Faults.kill_coordinator, kill_all_workers),
        (Faults.kill_supervisor, Faults.kill_everything, Faults.interrupt),
    )

    def run(self):
        """Until the run is over."""
        self.live.wait_full(self.plan.workers)
        faults = [self.dice.choice(kind) for kind in self.KINDS]
        self.dice.shuffle(faults)
        while self.rest(self.dice.uniform(0, 0.8)) and faults:
            # Who could not, as nobody was there, has its turn later.
            text = None
            with contextlib.suppress(OSError, TypeError, ValueError):
                text = faults[0](self)
            if text:
                self.told.append(f"step {len(self.live.steps.lines)}: {text}")
                faults.pop(0)
            else:
                faults.append(faults.pop(0))
        while self.rest(0.1):
            pass
        for name in list(self.frozen):
            self.wake(name)
        code = self.live.process.wait(120)
        if code != 0:
            self.out.problems.append(f"exit code {code}: {self.live.process}")

    def rest(self, seconds):
        """False once the run is over."""
        until = time.monotonic() + seconds
        while self.live.process.running():
            self.live.poll()
            self.keep_up()
            if time.monotonic() > until:
                return True
            if time.monotonic() > self.begun + patience(180):
                raise AssertionError(f"no end in sight: {self.told}")
            time.sleep(0.02)
        return False


class Schedules(Alike):
    expected = {}

    def test_each_ends_as_an_undisturbed_run_of_one_worker(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.schedule(seed)

    def schedule(self, seed):
        dice = random.Random(seed)
        kind = list(KINDS)[seed % len(KINDS)]
        more = {"faults": True,
                "train": {"epochs": EPOCHS[kind],
                          "leaves": dice.choice(
                              (4,) if kind == "resnet18" else (8, 16))},
                "checkpoint": {"every_s": 1, "every_steps": 5},
                "elastic": {"heartbeat_ms": 200, "respawn_limit": 1000}}
        workers = dice.choice((2, 3, 4))
        tcp = dice.random() < 0.4
        key = (kind, more["train"]["leaves"])
        if key not in self.expected:
            self.expected[key] = outcome(self.trained(kind, **more))
        job = same_bits_job(kind, self.folder, workers, **more)
        print(f"seed {seed}: {kind}, {workers} workers, "
              f"{more['train']['leaves']} leaves"
              f"{', TCP' if tcp else ''}: ", end="", flush=True)
        with Resumable(job, self.folder / f"seed-{seed}",
                       self.environment["BALLAST_CACHE"],
                       environment=TCP if tcp else {}) as live:
            schedule = Schedule(seed, live, workers)
            schedule.run()
            live.poll()
        splits = sum(e["kind"] == "balance" for e in live.events.lines)
        print(f"{len(schedule.told)} faults, {live.newest} generations, "
              f"{splits} splits of the leaves", flush=True)
        self.assertEqual(schedule.out.problems, [], schedule.told)
        try:
            self.expect_alike(self.expected[key], live.run)
        except AssertionError:
            self.keep(live.run, schedule.told)
            raise
        if seed <= len(KINDS):
            self.replayed(live.run)

    def keep(self, run, told):
        kept = os.environ.get("BALLAST_TEST_KEEP")
        print(*told, sep="\n", flush=True)
        if kept:
            os.rename(run, os.path.join(kept, f"{run.parent.name}"))


def main():
    words = sys.argv[1:]
    if "--seed" in words:
        at = words.index("--seed")
        globals()["SEEDS"] = [int(words[at + 1])]
        words[at:at + 2] = ["Schedules"]
    unittest.main(argv=sys.argv[:1] + (words or ["Some"]))


if __name__ == "__main__":
    main()
