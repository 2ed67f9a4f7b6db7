#!/usr/bin/env python3
"""Goal: whatever mix of faults comes, however long, the run ends well and is
exact. Method: real processes and a seed; what checks the run shares nothing
with the runtime (tools/harness/exactness.py, replay.py).

  ./dev chaos --seed S --minutes M [--workers N] [--larger-than-memory]
  ./dev chaos --seed S --kills K [--workers N] [--moving]
  ./dev chaos --seed S --everything K [--workers N]

The first form mixes all faults for about M minutes, until the job ends by
itself: every epoch must be complete. Workers, the coordinator and `ballast run`
are killed, frozen and interrupted, the disk is full for a while, the time of
day steps, and users ask for whatever can be asked for; a run whose `ballast
run` has ended is resumed each time, and none of its files may be gone then. The second one kills workers K times in a
run of small steps, each time as soon as the world is whole again, and looks at
what the coordinator and a worker that it spares hold meanwhile: memory, file
descriptors, threads. Then it stops the job, in the middle of an epoch. With
--moving it waits each time until rows move for balance, most often kills one
who gives or takes, and spares nobody.

With --larger-than-memory, which goes with every form, no worker has room for its
share: it draws from a window, and reads its rows while it trains.

The third form kills all processes of the run at once, K times, each time at a
random instant of its life, and resumes it.

A line for every fault, then a summary. Exit code 0 only if no sample was lost
or repeated, the loss of every step and the weights are those that a replay in
double precision gives, nothing grew, and no process is left behind. Else the
run directory is kept.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import sys
import time

from harness.http_client import request
from harness.jobs import emulated_job, merged
from harness.live_run import LiveRun
from harness.program import BINARY, ROOT
from harness.waiting import patience

from census import Census
from chaos_faults import DISK, Faults
from chaos_outcome import (KILL_WAIT_S, PARAMETERS, RATE, ROWS, Outcome, Plan,
                           check, check_processes, summary)

STALLED_S = 30  # without a step, nobody being kept from it
MOVE_WAIT_S = 2.0  # what moved a moment ago stays for a while
CLOCK_LIBRARY = pathlib.Path(os.environ.get(
    "BALLAST_TEST_CLOCK_LIBRARY", BINARY.parent / "libclock_that_steps.so"))


class Chaos(Faults):
    def __init__(self, plan, live, say):
        super().__init__(plan, live, Outcome(plan))
        self.say = say
        self.census = Census()
        self.begun = time.monotonic()
        self.last_step = (0, time.monotonic())

    # -- between them

    def look(self):
        """Keeps up with the run; False once it has ended."""
        self.live.poll()
        self.census.take(self.processes)
        self.keep_up()
        now = time.monotonic()
        steps = len(self.live.steps.lines)
        if steps != self.last_step[0]:
            self.last_step = (steps, now)
        elif now - self.last_step[1] > patience(STALLED_S):
            raise AssertionError(f"no step for {now - self.last_step[1]:.0f} s "
                                 f"after step {steps}")
        return self.live.process.running()

    def processes(self):
        return {"coordinator": self.live.coordinator, **self.live.workers()}

    def rest(self, seconds):
        until = time.monotonic() + seconds
        while self.look() and time.monotonic() < until:
            time.sleep(min(0.02, max(0.0, until - time.monotonic())))

    def tell(self, kind, text):
        self.out.faults[kind] += 1
        self.say(f"{time.monotonic() - self.begun:7.1f} s  step "
                 f"{len(self.live.steps.lines):6}  generation "
                 f"{self.live.newest:4}  {text}")

    # -- the two forms

    def mix(self):
        kinds, weights = list(self.WEIGHTS), list(self.WEIGHTS.values())
        plan, done = self.plan, 0
        while self.look() and done < plan.faults and \
                time.monotonic() - self.begun < plan.seconds:
            fault = self.dice.choices(kinds, weights)[0]
            try:
                text = fault(self)
            except (OSError, TypeError):
                if not self.look():
                    break  # it ended under our hands
                if time.monotonic() > self.away:
                    raise
                text = None  # nobody was there to be asked
            if text:
                done += 1
                self.tell(fault.__name__, text)
            # Now and then at once, into the recovery from the last one.
            self.rest(self.dice.uniform(0, 0.03) if self.dice.random() < 0.15
                      else self.dice.uniform(0, 2 * plan.mean_pause_s))
        for name in list(self.frozen):
            self.wake(name)
        for flag in list(self.full):
            self.free(flag)
        while self.look():
            time.sleep(0.02)

    def kill_again_and_again(self):
        spared = min(self.healthy())
        whole = time.monotonic()
        while self.out.faults["kill"] < self.plan.kills:
            here = self.healthy()
            if len(here) < self.plan.workers:
                if not self.look():
                    return
                if time.monotonic() - whole > patience(STALLED_S):
                    raise AssertionError(
                        f"{self.plan.workers} workers were not there again "
                        f"within {STALLED_S} s: {sorted(here)}")
                time.sleep(0.02)
                continue
            whole = time.monotonic()
            self.rest(self.dice.uniform(0, 0.05))
            victim = self.dice.choice(sorted(set(here) - {spared}))
            self.tell("kill", self.signal(
                signal.SIGKILL, {victim: here[victim]}, "kill -9"))
        self.rest(2)
        self.live.post("stop")

    def kill_while_rows_move(self):
        """Repair is told to care for sizes alone, so that labels are apart
        again once the world is whole: then it is told the opposite."""
        while self.out.faults["kill"] < self.plan.kills:
            self.live.wait_full(self.plan.workers)
            self.live.post("slow_worker", factor=self.dice.choice([1, 1, 4]),
                           worker=self.dice.choice(sorted(self.healthy())))
            self.live.post("set_balance", skew_tv=0.01)
            until = time.monotonic() + MOVE_WAIT_S
            moves = []
            while not moves and time.monotonic() < until:
                self.rest(0.005)
                moves = self.names_of_moves()
            self.live.post("set_balance", skew_tv=1)
            # Half of them at once, half of them in a later phase.
            self.rest(self.dice.uniform(0, KILL_WAIT_S) *
                      self.dice.choice([0, 1]))
            here = self.healthy()
            party = sorted(here.keys() & set(sum(moves, ())))
            if len(here) < 2:
                continue
            victim = self.dice.choice(
                party if party and self.dice.random() < 0.8 else sorted(here))
            self.out.while_moving += bool(moves)
            self.tell("kill", self.signal(
                signal.SIGKILL, {victim: here[victim]}, "kill -9") +
                (f", {len(moves)} chunks on their way" if moves else ""))
        self.rest(2)
        self.live.post("stop")

    def kill_everything_again_and_again(self):
        """At any instant of a life, also before it leads the run. What a
        checkpoint held is never undone."""
        while self.out.faults["kill_everything"] < self.plan.everything:
            self.rest(self.dice.uniform(0, 1.5))
            saved = self.saved()
            seen = len(self.live.events.lines)
            text = self.kill_everything(
                hasty=self.dice.random() < 0.25 and
                self.dice.uniform(0, 0.5))
            self.tell("kill_everything", text)
            self.live.poll()
            for event in self.live.events.lines[seen:]:
                if event["kind"] == "undone" and event["to"] < saved:
                    self.out.problems.append(
                        f"went back to step {event['to']}, although there is "
                        f"a checkpoint of step {saved}")
        self.rest(2)
        self.live.post("stop")

    def saved(self):
        """The step of the newest checkpoint."""
        return max((int(path.name.removeprefix("step-")) for path in
                    (self.live.run / "checkpoints").glob("step-*")), default=0)

    def names_of_moves(self):
        """[(who gives, who takes)] of what is under way."""
        status = request(self.live.url + "/v1/status").json
        names = {w["rank"]: w["name"] for w in status["workers"]
                 if w["state"] != "lost"}
        return [(names.get(m["from"], ""), names.get(m["to"], ""))
                for m in status["moves"]]

    def run(self):
        self.live.wait_full(self.plan.workers, steps=3)
        try:
            if self.plan.moving:
                self.kill_while_rows_move()
            elif self.plan.everything:
                self.kill_everything_again_and_again()
            elif self.plan.kills:
                self.kill_again_and_again()
            else:
                self.mix()
            code = self.live.process.wait(60)
            if code != 0:
                self.out.problems.append(f"exit code {code}: "
                                         f"{self.live.process.last_line}")
        except AssertionError as problem:
            self.out.problems.append(str(problem))
        self.out.seconds = time.monotonic() - self.begun
        self.live.poll()
        return self.out


def epochs_for(plan):
    """Those that a run without faults makes in three quarters of the time:
    with them it takes about all of it."""
    if plan.kills or plan.everything:
        return 10**6
    step_s = plan.us_per_step / 1e6 + 0.001
    return max(3, int(plan.seconds * 0.75 / step_s * plan.batch / ROWS))


def chaos(plan, folder, cache=None, say=print):
    """One run of it in `folder`, which is there afterwards; an Outcome."""
    epochs = epochs_for(plan)
    job = emulated_job(
        ROWS, workers=plan.workers, batch=plan.batch, epochs=epochs,
        us_per_step=plan.us_per_step, parameters=PARAMETERS,
        data={"chunk_rows": 13}, faults=True,
        train={"optimizer": {"kind": "sgd", "lr": RATE}},
        elastic={"workers": plan.workers, "heartbeat_ms": 200,
                 # They are killed young, and nothing is wrong with them.
                 "respawn_limit": 1000},
        checkpoint={"every_s": 1})
    if plan.moving:
        # As many bytes as take a moment to copy, and all labels apart.
        job = merged(job, {"data": {"train": {"features": 4000},
                                    "placement": {"kind": "sorted"}}})
    if plan.streaming:  # 16 MB
        job = merged(job, {"data": {"train": {"features": 4000}, "memory_mb": 1},
                           "train": {"shuffle": {"window_chunks": 2}}})
    clock = pathlib.Path(f"{folder}.clock")
    clock.parent.mkdir(parents=True, exist_ok=True)
    clock.write_bytes(bytes(8))
    environment = {} if plan.kills or plan.everything else {
        "LD_PRELOAD": str(CLOCK_LIBRARY), "BALLAST_TEST_CLOCK": str(clock),
        "BALLAST_FAULT_POINTS": ";".join(
            f"{name}=enospc?{pathlib.Path(folder) / ('full-' + name)}"
            for name in DISK)}
    with LiveRun(job, folder, cache or pathlib.Path(folder, "..", "cache"),
                 environment=environment) as live:
        one = Chaos(plan, live, say)
        out = one.run()
        check_processes(out, live, one.census)
    check(out, live, None if plan.kills or plan.everything else epochs)
    return out


def plan_of(arguments):
    if arguments.kills or arguments.everything:
        return Plan(arguments.seed, arguments.workers,
                    kills=arguments.kills or 0,
                    everything=arguments.everything or 0,
                    us_per_step=2000, batch=17, moving=arguments.moving,
                    streaming=arguments.larger_than_memory)
    return Plan(arguments.seed, arguments.workers, arguments.minutes * 60,
                streaming=arguments.larger_than_memory)


def main():
    p = argparse.ArgumentParser(
        prog="./dev chaos", description="faults for real processes, and a "
        "proof that the run was exact all the same")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--workers", type=int, default=4)
    form = p.add_mutually_exclusive_group(required=True)
    form.add_argument("--minutes", type=float, help="mix all faults that long")
    form.add_argument("--kills", type=int, help="kill so many, nothing else")
    form.add_argument("--everything", type=int,
                      help="kill all processes so often, and resume")
    p.add_argument("--moving", action="store_true",
                   help="kill them while rows move for balance")
    p.add_argument("--larger-than-memory", action="store_true",
                   help="no worker can hold its share")
    shown = p.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="only the summary")
    shown.add_argument("--json", action="store_true",
                       help="the summary as one JSON object, nothing else")
    arguments = p.parse_args()
    if arguments.workers < 3:
        p.error("--workers: expected 3 or more")
    if arguments.moving and not arguments.kills:
        p.error("--moving needs --kills")
    # Told to stop, it still ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = ROOT / "build" / "chaos" / f"seed-{arguments.seed}"
    shutil.rmtree(folder, ignore_errors=True)
    out = chaos(plan_of(arguments), folder,
                say=(lambda _: None) if arguments.quiet or arguments.json else
                lambda line: print(line, flush=True))
    if arguments.json:
        print(json.dumps({**vars(out), "plan": vars(out.plan)}))
    else:
        print(*summary(out), sep="\n", flush=True)
    if out.problems:
        print(f"kept: {folder.relative_to(ROOT)}", file=sys.stderr)
        sys.exit(1)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
