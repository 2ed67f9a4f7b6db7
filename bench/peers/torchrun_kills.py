#!/usr/bin/env python3
"""How long training with torchrun and DistributedDataParallel takes to make a
new step after kill -9 of a worker, as a peer of bench/recovery.py.

    python3 torchrun_kills.py --world 4 --kills 12

One agent with `--max_restarts` restarts all workers; rank 0 has saved a
checkpoint to memory after every step. `to_step_s`: from the kill to the first
step that no worker had made before.

The agent keeps one store over all restarts as it is shipped (2.11), and the new
workers then find addresses of the dead: they hang or fail. Here every restart
gets a store of its own (TORCH_DISABLE_SHARE_RDZV_TCP_STORE).
"""
import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time

from fault_tools import COMPUTE_S, HANG_S, PARAMETERS, StepLog, descendants, end, goodput, launch, log_of, tails


def work(folder):
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    class OneParameter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.p = torch.nn.Parameter(torch.zeros(PARAMETERS))

        def forward(self):
            return self.p.sum()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    net, step = OneParameter(), 0
    checkpoint = os.path.join(folder, "checkpoint.pt")
    if os.path.exists(checkpoint):
        saved = torch.load(checkpoint)
        net.load_state_dict(saved["model"])
        step = saved["step"]
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with log_of(folder) as log:
        while True:
            time.sleep(COMPUTE_S)
            optimizer.zero_grad()
            model().backward()
            optimizer.step()
            step += 1
            if rank == 0:
                torch.save({"step": step, "model": net.state_dict()}, checkpoint + ".new")
                os.rename(checkpoint + ".new", checkpoint)
            log.write(f"{time.monotonic_ns()} {step} {world} {rank} {os.getpid()}\n")


class Job:
    def __init__(self, world, folder):
        self.world, self.folder, self.log = world, folder, StepLog(folder)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={world}"]
        command += ["--max_restarts=1000", "--monitor_interval=0.1", os.path.abspath(__file__), "--folder", folder]
        self.agent = launch(command, os.path.join(folder, "agent.out"), TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1")

    def steady(self, pids_before):
        """Waits for ten steps of workers that are not those; rank -> pid."""
        first = self.log.wait(lambda s: s.pid not in pids_before, HANG_S)
        if not first or not self.log.wait(lambda s: s.number >= first.number + 10, HANG_S):
            sys.exit(f"no ten steps in {HANG_S} s\n{tails(self.folder)}")
        return {s.rank: s.pid for s in self.log.steps if s.pid not in pids_before}


def measure(job, kills, dice):
    result = {"to_step_s": [], "step_ms": [], "hung": 0}
    before = set()
    for _ in range(kills):
        workers = job.steady(before)
        time.sleep(dice.uniform(0, 0.3))
        job.log.poll()
        result["step_ms"].append(job.log.step_ms(workers[0]))
        victim = workers[dice.choice(sorted(workers))]
        at = time.monotonic_ns()
        os.kill(victim, signal.SIGKILL)
        before = set(workers.values())
        again = job.log.wait(lambda s: s.pid not in before, HANG_S)
        top = max(s.number for s in job.log.steps if s.pid in before)
        while again and again.number <= top:
            fresh = [s for s in job.log.steps if s.pid not in before and s.number > top]
            again = fresh[0] if fresh else job.log.wait(lambda s: s.pid not in before and s.number > top, HANG_S)
        if not again:
            result["hung"] += 1
            break
        result["to_step_s"].append((again.t_ns - at) / 1e9)
        job.log.steps = [s for s in job.log.steps if s.pid not in before]
    return result


def kill_one(job, dice):
    """A random worker dies; the agent does the rest."""
    workers = descendants(job.agent.pid)
    if not workers:
        return 0
    os.kill(dice.choice(workers), signal.SIGKILL)
    return 1


def main():
    p = argparse.ArgumentParser(description="torchrun after kill -9 of a worker")
    p.add_argument("--world", type=int, default=4)
    p.add_argument("--kills", type=int, default=12)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--goodput", type=float, default=0, help="steps a second in so many seconds, instead")
    p.add_argument("--every", type=float, default=0, help="of it: a kill so often; 0: none")
    p.add_argument("--folder", help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.folder:
        work(options.folder)
    with tempfile.TemporaryDirectory(prefix="torchrun-kills.", dir="/dev/shm") as folder:
        job = Job(options.world, folder)
        try:
            dice = random.Random(options.seed)
            if options.goodput:
                job.steady(set())
                found = goodput(job.log, lambda: kill_one(job, dice), options.goodput, options.every)
            else:
                found = measure(job, options.kills, dice)
            print(json.dumps(found))
        finally:
            end(job.agent)


if __name__ == "__main__":
    main()
