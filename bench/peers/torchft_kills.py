#!/usr/bin/env python3
"""How long torchft takes to make a step after kill -9 of a replica group, and
how a new one comes in, as a peer of bench/recovery.py.

    python3 torchft_kills.py --groups 4 --kills 12 --setting tuned

Each group is one process (Manager, ProcessGroupGloo, DistributedDataParallel);
a new one heals from a living one over HTTP. Settings: `shipped`; `tuned` = a
silence of 200 ms is death, and all other times accordingly short. Shorter ones
are no quicker with four groups, or do not work.

  to_step_s  from the kill to a survivor's first committed step without the dead
  join_s     from the start of a new process to its first committed step
  pause_s    the longest time between two steps of the others meanwhile
"""
import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time

from fault_tools import COMPUTE_S, HANG_S, PARAMETERS, StepLog, end, free_port, goodput, launch, log_of, tails

SETTINGS = {
    "shipped": {"heartbeat_ms": 100, "dead_ms": 5000, "tick_ms": 100, "join_ms": 60000, "timeout_s": 60},
    "tuned": {"heartbeat_ms": 20, "dead_ms": 200, "tick_ms": 10, "join_ms": 200, "timeout_s": 5},
}


def work(options):
    from datetime import timedelta

    import torch
    from torch.distributed import TCPStore
    from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo

    class OneParameter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.p = torch.nn.Parameter(torch.zeros(PARAMETERS))

        def forward(self):
            return self.p.sum()

    torch.set_num_threads(1)
    net = OneParameter()
    sgd = torch.optim.SGD(net.parameters(), lr=1e-3)

    def load(state):
        net.load_state_dict(state["model"])
        sgd.load_state_dict(state["optimizer"])

    setting = SETTINGS[options.setting]
    timeout = timedelta(seconds=setting["timeout_s"])
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    manager = Manager(
        pg=ProcessGroupGloo(timeout=timeout),
        min_replica_size=1,
        load_state_dict=load,
        state_dict=lambda: {"model": net.state_dict(), "optimizer": sgd.state_dict()},
        replica_id=f"group{options.group}",
        store_addr="127.0.0.1",
        store_port=store.port,
        rank=0,
        world_size=1,
        lighthouse_addr=f"http://127.0.0.1:{options.port}",
        hostname="127.0.0.1",
        timeout=timeout,
        heartbeat_interval=timedelta(milliseconds=setting["heartbeat_ms"]),
    )
    model = DistributedDataParallel(manager, net)
    optimizer = Optimizer(manager, sgd)
    with log_of(options.folder) as log:
        while True:
            before = manager.current_step()
            optimizer.zero_grad()
            time.sleep(COMPUTE_S)
            model().backward()
            optimizer.step()
            step = manager.current_step()
            if step > before:
                log.write(f"{time.monotonic_ns()} {step} {manager.num_participants()} {options.group} {os.getpid()}\n")


class Job:
    def __init__(self, options, folder):
        self.options, self.folder, self.log = options, folder, StepLog(folder)
        self.port, self.groups = free_port(), {}
        setting = SETTINGS[options.setting]
        program = os.path.join(os.path.dirname(sys.executable), "torchft_lighthouse")
        command = [program, "--bind", f"127.0.0.1:{self.port}", "--min_replicas", "1"]
        for name, key in (("heartbeat_timeout", "dead"), ("quorum_tick", "tick"), ("join_timeout", "join")):
            command += [f"--{name}_ms", str(setting[f"{key}_ms"])]
        self.lighthouse = launch(command, os.path.join(folder, "lighthouse.out"))
        time.sleep(1)
        for group in range(options.groups):
            self.start(group)

    def start(self, group):
        command = [sys.executable, os.path.abspath(__file__), "--folder", self.folder, "--group", str(group)]
        command += ["--port", str(self.port), "--setting", self.options.setting]
        self.groups[group] = launch(command, os.path.join(self.folder, f"group{group}.out"))
        return time.monotonic_ns()

    def steady(self):
        """Waits until every group has made ten steps with all the others."""

        def enough(_=None):
            return all(
                sum(s.pid == p.pid and s.world == len(self.groups) for s in self.log.steps) >= 10
                for p in self.groups.values()
            )

        if not enough() and not self.log.wait(enough, HANG_S):
            sys.exit(f"no ten steps with all groups in {HANG_S} s\n{tails(self.folder)}")

    def close(self):
        for process in [*self.groups.values(), self.lighthouse]:
            end(process)


def longest_gap_s(steps, pids, begin, end_):
    longest = 0
    for pid in pids:
        times = [s.t_ns for s in steps if s.pid == pid]
        longest = max([longest] + [b - a for a, b in zip(times, times[1:]) if b >= begin and a <= end_])
    return longest / 1e9


def measure(job, kills, dice):
    result = {"to_step_s": [], "step_ms": [], "join_s": [], "pause_s": [], "hung": 0}
    world = len(job.groups)
    for _ in range(kills):
        job.steady()
        time.sleep(dice.uniform(0, 0.3))
        job.log.poll()
        group = dice.randrange(world)
        victim = job.groups.pop(group)
        others = {p.pid for p in job.groups.values()}
        result["step_ms"].append(job.log.step_ms(victim.pid))
        at = time.monotonic_ns()
        os.kill(victim.pid, signal.SIGKILL)
        victim.wait()
        # The step in flight may still end with the dead one's gradients.
        alone = job.log.wait(lambda s: s.t_ns > at and s.pid in others and s.world < world, HANG_S)
        if not alone:
            result["hung"] += 1
            break
        result["to_step_s"].append((alone.t_ns - at) / 1e9)
        job.log.wait(lambda s: s.t_ns > alone.t_ns + 1e9, 5)
        started = job.start(group)
        pid = job.groups[group].pid
        back = job.log.wait(lambda s: s.pid == pid and s.world == world, HANG_S)
        if not back:
            result["hung"] += 1
            break
        job.log.wait(lambda s: s.t_ns > back.t_ns + 5e8, 5)
        result["join_s"].append((back.t_ns - started) / 1e9)
        result["pause_s"].append(longest_gap_s(job.log.steps, others, started, back.t_ns))
        here = {p.pid for p in job.groups.values()}
        job.log.steps = [s for s in job.log.steps if s.pid in here and s.t_ns >= back.t_ns]
    return result


def kill_and_restart(job, dice):
    """A random group dies and is started again at once."""
    group = dice.choice(sorted(job.groups))
    victim = job.groups.pop(group)
    victim.kill()
    victim.wait()
    job.start(group)
    return 1


def main():
    p = argparse.ArgumentParser(description="torchft after kill -9 of a replica group")
    p.add_argument("--groups", type=int, default=4)
    p.add_argument("--kills", type=int, default=12)
    p.add_argument("--setting", choices=list(SETTINGS), default="shipped")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--goodput", type=float, default=0, help="steps a second in so many seconds, instead")
    p.add_argument("--every", type=float, default=0, help="of it: a kill so often; 0: none")
    for internal in ("--group", "--port"):
        p.add_argument(internal, type=int, help=argparse.SUPPRESS)
    p.add_argument("--folder", help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.folder:
        work(options)
    with tempfile.TemporaryDirectory(prefix="torchft-kills.", dir="/dev/shm") as folder:
        job = Job(options, folder)
        try:
            dice = random.Random(options.seed)
            if options.goodput:
                job.steady()
                found = goodput(job.log, lambda: kill_and_restart(job, dice), options.goodput, options.every)
            else:
                found = measure(job, options.kills, dice)
            print(json.dumps(found))
        finally:
            job.close()


if __name__ == "__main__":
    main()
