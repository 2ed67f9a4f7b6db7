"""The faults of chaos.py: what a user, a machine or an operator may do to a run
at any moment. Each says what it did, or None where it could not.
"""
import contextlib
import json
import os
import random
import signal
import struct
import threading
import time

from harness.program import alive
from harness.run_files import read_json
from harness.waiting import patience, wait_until

from run_digest import digest, what_went

AWAY_S = 5  # a coordinator is started again and has its workers back
RESUME_S = 20  # a resumed run leads its workers again
KEPT = 2  # checkpoints, by the job
SETTLE_S = 1.0  # until who leaves after `scale` is known
# Where a full disk is met, by the names of the fault points in the program.
DISK = ("journal.commit", "steps.append", "events.append", "file.write",
        "checkpoint.write", "trace.write")


class Faults:
    """Of one run: `plan`, `live`, `out` and `dice` are those of Chaos."""

    def __init__(self, plan, live, out):
        self.plan, self.live, self.out = plan, live, out
        self.dice = random.Random(plan.seed)
        # By name: names are never used again, as process ids are.
        self.until = {}   # name -> when it is awake again; inf: never
        self.frozen = {}  # name -> pid of those that only we can wake up
        self.unsure = (0, 0.0)  # so many may leave, until then
        self.wanted = plan.workers
        self.away = 0.0  # until then the coordinator may be
        self.full = {}   # flag of a full disk -> when it is freed
        self.paused = None  # when it is to go on
        self.sure_of_pause = False

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
        pid = self.live.coordinator
        os.kill(pid, signal.SIGKILL)
        self.away = time.monotonic() + patience(AWAY_S)
        return f"kill -9 the coordinator ({pid})"

    def freeze_coordinator(self):
        if "coordinator" in self.frozen:
            return None
        pid, seconds = self.live.coordinator, self.dice.uniform(0.05, 3)
        self.frozen["coordinator"] = pid
        self.until["coordinator"] = time.monotonic() + seconds
        self.away = time.monotonic() + seconds + patience(AWAY_S)
        os.kill(pid, signal.SIGSTOP)
        # Woken by another thread: this one may ask it for something meanwhile.
        threading.Timer(seconds, self.wake, ["coordinator"]).start()
        return f"stop for {seconds:.2f} s: the coordinator ({pid})"

    def evict(self):
        name, pid = self.one()
        if not pid:
            return None
        self.until[name] = float("inf")
        return self.ctl("evict_worker", worker=name)

    def checkpoint(self):
        return self.ctl("checkpoint")

    def set_balance(self):
        return self.ctl("set_balance", enabled=self.dice.random() < 0.7,
                        skew_tv=round(self.dice.uniform(0.01, 0.5), 3))

    def slow(self):
        name, pid = self.one()
        return pid and self.ctl("slow_worker", worker=name,
                                factor=self.dice.choice([1, 1, 2, 4]))

    def pause(self):
        if self.paused:
            return None
        self.paused = time.monotonic() + self.dice.choice(
            [0, self.dice.uniform(0, 0.05), self.dice.uniform(0, 2)])
        self.sure_of_pause = False  # until somebody has answered
        said = self.ctl("pause")
        self.sure_of_pause = "refused" not in said
        if not self.sure_of_pause:
            self.paused = None
        return said

    def go_on(self):
        """The end of a pause; asked for again until somebody hears it."""
        refused = self.live.post("resume") or ""
        if "ask again" in refused:
            return
        self.paused = None
        if refused and self.sure_of_pause:
            self.out.problems.append(f"a pause cannot be ended: {refused}")

    def disk_full(self):
        """So long that it is met, and shorter than `grace_s`."""
        name = self.dice.choice(DISK)
        seconds = self.dice.uniform(0.1, 4)
        flag = self.live.folder / f"full-{name}"
        flag.touch()
        self.full[flag] = time.monotonic() + seconds
        threading.Timer(seconds, self.free, [flag]).start()
        return f"disk full for {seconds:.2f} s at {name}"

    def free(self, flag):
        self.full.pop(flag, None)
        flag.unlink(missing_ok=True)

    def clock_step(self):
        seconds = self.dice.choice([-1, 1]) * self.dice.uniform(1, 7200)
        with open(self.live.environment["BALLAST_TEST_CLOCK"], "r+b") as file:
            file.write(struct.pack("<q", int(seconds * 1e9)))
        return f"the time of day is {seconds:+.0f} s off"

    # -- ends of `ballast run`, and its next life

    def kill_supervisor(self):
        """Its coordinator ends, its workers wait to be adopted."""
        os.kill(self.live.process.pid, signal.SIGKILL)
        self.live.process.process.wait()
        self.next_life()
        return "kill -9 `ballast run`; resumed"

    def kill_everything(self, hasty=None):
        """`hasty`: and once more so many seconds after it was resumed, whether
        that leads the run by then or not."""
        self.kill_family()
        if hasty:
            self.live.resume()
            time.sleep(hasty)
            self.kill_family()
        self.next_life()
        return "kill -9 everything; resumed"

    def kill_family(self):
        def left():
            for pid in (pids := self.live.family()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return pids
        wait_until(lambda: not left(), "the end of all")
        self.live.process.process.wait()

    def interrupt(self):
        """Stops after a checkpoint: nothing may be undone after that."""
        if self.paused or self.full:
            return None
        self.live.process.signal(signal.SIGINT)
        code = self.live.process.wait(60)
        self.live.poll()
        undone = self.undone()
        if self.ended_well(code):
            return "ctrl-C, but it was done"
        if code != 130:
            self.out.problems.append(
                f"exit code {code} after Ctrl-C: {self.live.process.last_line}")
        self.next_life()
        self.live.poll()
        if self.undone() > undone:
            self.out.problems.append("a stopped run went back when resumed")
        return "ctrl-C; resumed"

    def ended_well(self, code):
        report = read_json(self.live.run / "report.json") or {}
        return code == 0 and report.get("state") == "done"

    def was_done(self):
        """Its last life had ended the run before all of it was killed."""
        report = read_json(self.live.run / "report.json") or {}
        return report.get("state") == "done" and \
            "nothing to go on with" in self.live.process.last_line

    def undone(self):
        return sum(e["kind"] == "undone" for e in self.live.events.lines)

    def next_life(self):
        """`--resume` until it leads the run; nothing may be gone then."""
        for flag in list(self.full):
            self.free(flag)
        for name in list(self.frozen):
            self.wake(name)
        before = digest(self.live.run)
        term = (read_json(self.live.run / "coordinator.json") or {}).get("term")
        until = time.monotonic() + patience(RESUME_S)
        while True:
            self.live.resume()
            wait_until(lambda: self.leads(term) or
                       not self.live.process.running(), "a resumed run",
                       RESUME_S)
            if self.leads(term):
                break
            code = self.live.process.wait()
            if self.ended_well(code) or self.was_done():
                break
            # The coordinator of the life before may still be ending.
            if "in use" not in self.live.process.last_line or \
                    time.monotonic() > until:
                raise AssertionError(f"cannot be resumed: {self.live.process}")
        went = what_went(before, digest(self.live.run), KEPT)
        if went:
            self.out.problems.append(f"after a resume: {went[:5]}")
        self.paused = None
        self.out.resumes += 1
        self.away = time.monotonic() + patience(AWAY_S)

    def leads(self, term):
        now = read_json(self.live.run / "coordinator.json") or {}
        return now.get("term") != term and now.get("pid") and \
            self.live.process.running()

    def wake(self, name):
        # KeyError: another thread was first; else the runtime gave it up.
        with contextlib.suppress(KeyError, ProcessLookupError):
            os.kill(self.frozen.pop(name), signal.SIGCONT)

    def keep_up(self):
        """What is to end by now."""
        now = time.monotonic()
        for name in [n for n in self.frozen if self.until[n] <= now]:
            self.wake(name)
        for flag in [f for f, until in self.full.items() if until <= now]:
            self.free(flag)
        if self.paused and self.paused <= now and \
                "coordinator" not in self.frozen:
            with contextlib.suppress(OSError, TypeError, json.JSONDecodeError):
                self.go_on()

    WEIGHTS = {kill: 8, kill_two: 3, freeze: 5, stall_worker: 2,
               kill_worker: 2, drain: 3, scale: 3, evict: 2,
               kill_coordinator: 2, freeze_coordinator: 2, checkpoint: 2,
               set_balance: 1, slow: 1, pause: 2, disk_full: 3, clock_step: 1,
               kill_supervisor: 1, kill_everything: 1, interrupt: 1}

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
