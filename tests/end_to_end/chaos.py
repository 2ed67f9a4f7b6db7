#!/usr/bin/env python3
"""Goal: whatever mix of faults comes, however long, the run ends well and is
exact. Method: real processes and a seed; who watches shares nothing with
the runtime (exactness_checker.py, replay.py).

  ./dev chaos --seed S --minutes M [--workers N]
  ./dev chaos --seed S --kills K [--workers N] [--moving]

The first form mixes all faults for about M minutes, until the job ends by
itself: every epoch must be complete. The second one kills workers K times in a
run of small steps, each time as soon as the world is whole again, and looks at
what the coordinator and a worker that it spares hold meanwhile: memory, file
descriptors, threads. Then it stops the job, in the middle of an epoch. With
--moving it waits each time until rows move for balance, most often kills one
who gives or takes, and spares nobody.

A line for every fault, then a summary. Exit code 0 only if no sample was lost
or repeated, the loss of every step and the weights are those that a replay in
double precision gives, nothing grew, and no process is left behind. Else the
run directory is kept.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import time

from ballast_process import (ROOT, alive, emulated_job, merged, patience,
                             request)
from census import Census
from chaos_outcome import (KILL_WAIT_S, PARAMETERS, RATE, ROWS, Outcome, Plan,
                           check, check_processes, summary)
from live_run import LiveRun

STALLED_S = 30  # without a step, nobody being kept from it
AWAY_S = 5  # a coordinator is started again and has its workers back
MOVE_WAIT_S = 2.0  # what moved a moment ago stays for a while
SETTLE_S = 1.0  # until who leaves after `scale` is known


class Chaos:
    def __init__(self, plan, live, say):
        self.plan, self.live, self.say = plan, live, say
        self.dice = random.Random(plan.seed)
        self.out = Outcome(plan)
        self.census = Census()
        self.begun = time.monotonic()
        # By name: names are never used again, as process ids are.
        self.until = {}   # name -> when it is awake again; inf: never
        self.frozen = {}  # name -> pid of those that only we can wake up
        self.unsure = (0, 0.0)  # so many may leave, until then
        self.wanted = plan.workers
        self.last_step = (0, time.monotonic())
        self.away = 0.0  # until then the coordinator may be

    # -- who is there

    def healthy(self):
        """name -> pid of the members of the newest generation that nothing was
        done to. Its first step was made, so they hold the model."""
        members = self.live.members.get(self.live.newest, [])
        now = time.monotonic()
        return {name: pid for name, pid in self.live.workers().items()
                if name in members and self.until.get(name, 0) < now
                and alive(pid)}

    def victims(self, count):
        """So many healthy workers; none if fewer than one would be left who
        surely holds the model."""
        here = self.healthy()
        leaving = self.unsure[0] if time.monotonic() < self.unsure[1] else 0
        if len(here) - leaving < count + 1:
            return []
        return self.dice.sample(sorted(here.items()), count)

    def one(self):
        return next(iter(self.victims(1)), (None, None))

    # -- the faults: each says what it did, or None where it could not

    def kill(self):
        name, pid = self.one()
        return pid and self.signal(signal.SIGKILL, {name: pid}, "kill -9")

    def kill_two(self):
        both = dict(self.victims(2))
        return both and self.signal(signal.SIGKILL, both, "kill -9")

    def freeze(self):
        name, pid = self.one()
        if not pid:
            return None
        seconds = self.dice.choice([self.dice.uniform(0.02, 0.5),
                                    self.dice.uniform(0.5, 4)])
        self.frozen[name] = pid
        return self.signal(signal.SIGSTOP, {name: pid},
                           f"stop for {seconds:.2f} s:", seconds)

    def stall_worker(self):
        name, pid = self.one()
        if not pid:
            return None
        seconds = round(self.dice.uniform(0.05, 3), 2)
        self.until[name] = time.monotonic() + seconds + 0.2
        return self.ctl("stall_worker", worker=name, seconds=seconds)

    def kill_worker(self):
        name, pid = self.one()
        if not pid:
            return None
        self.until[name] = float("inf")
        return self.ctl("kill_worker", worker=name)

    def drain(self):
        name, pid = self.one()
        if not pid:
            return None
        self.until[name] = float("inf")
        return self.ctl("drain_worker", worker=name)

    def scale(self):
        wanted = self.dice.randint(max(2, self.plan.workers - 1),
                                   self.plan.workers + 2)
        fewer = max(0, max(self.wanted, len(self.live.workers())) - wanted)
        if len(self.healthy()) < fewer + 2:
            return None
        self.unsure = (fewer, time.monotonic() + patience(SETTLE_S))
        self.wanted = wanted
        return self.ctl("scale", workers=wanted)

    def kill_coordinator(self):
        # One that dies too often is not started again.
        if self.out.faults["kill_coordinator"] >= 4 * max(
                1, self.plan.seconds / 60):
            return None
        pid = self.live.coordinator
        os.kill(pid, signal.SIGKILL)
        self.away = time.monotonic() + patience(AWAY_S)
        return f"kill -9 the coordinator ({pid})"

    WEIGHTS = {kill: 8, kill_two: 3, freeze: 5, stall_worker: 2,
               kill_worker: 2, drain: 3, scale: 3, kill_coordinator: 2}

    def signal(self, number, victims, what, seconds=float("inf")):
        for name in victims:
            self.until[name] = time.monotonic() + seconds
        for pid in victims.values():
            os.kill(pid, number)
        return f"{what} {' '.join(victims)}"

    def ctl(self, kind, **fields):
        refused = self.live.post(kind, **fields)
        text = " ".join(f"{k}={v}" for k, v in fields.items())
        if refused:
            self.out.refused[kind] += 1
            return f"ctl {kind} {text}: refused: {refused}"
        return f"ctl {kind} {text}"

    # -- between them

    def look(self):
        """Keeps up with the run; False once it has ended."""
        self.live.poll()
        self.census.take(self.processes)
        now = time.monotonic()
        for name in [n for n in self.frozen if self.until[n] <= now]:
            self.wake(name)
        steps = len(self.live.steps.lines)
        if steps > self.last_step[0]:
            self.last_step = (steps, now)
        elif now - self.last_step[1] > patience(STALLED_S):
            raise AssertionError(f"no step for {now - self.last_step[1]:.0f} s "
                                 f"after step {steps}")
        return self.live.process.running()

    def processes(self):
        return {"coordinator": self.live.coordinator, **self.live.workers()}

    def wake(self, name):
        try:
            os.kill(self.frozen.pop(name), signal.SIGCONT)
        except ProcessLookupError:
            pass  # the runtime gave it up

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
            except (OSError, AssertionError):
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
    if plan.kills:
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
                 "respawn_limit": 1000})
    if plan.moving:
        # As many bytes as take a moment to copy, and all labels apart.
        job = merged(job, {"data": {"train": {"features": 4000},
                                    "placement": {"kind": "sorted"}}})
    with LiveRun(job, folder, cache or pathlib.Path(folder, "..", "cache")) \
            as live:
        one = Chaos(plan, live, say)
        out = one.run()
        check_processes(out, live, one.census)
    check(out, live, None if plan.kills else epochs)
    return out


def plan_of(arguments):
    if arguments.kills:
        return Plan(arguments.seed, arguments.workers, kills=arguments.kills,
                    us_per_step=2000, batch=17, moving=arguments.moving)
    return Plan(arguments.seed, arguments.workers, arguments.minutes * 60)


def main():
    p = argparse.ArgumentParser(
        prog="./dev chaos", description="faults for real processes, and a "
        "proof that the run was exact all the same")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--workers", type=int, default=4)
    form = p.add_mutually_exclusive_group(required=True)
    form.add_argument("--minutes", type=float, help="mix all faults that long")
    form.add_argument("--kills", type=int, help="kill so many, nothing else")
    p.add_argument("--moving", action="store_true",
                   help="kill them while rows move for balance")
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
