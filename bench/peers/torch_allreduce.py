#!/usr/bin/env python3
"""torch.distributed.all_reduce over Gloo on the loopback, as a peer of
bench/allreduce.py.

    python3 torch_allreduce.py RANKS SECONDS BYTES...

The last line printed is a JSON object: the size of each row and the time of
every round on rank 0, in milliseconds.
"""
import json
import os
import subprocess
import sys
import tempfile
import time


def worker(out, seconds, sizes):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    go_on = torch.zeros(1)

    def once(data):
        start = time.perf_counter()
        dist.all_reduce(data)
        return (time.perf_counter() - start) * 1e3

    def what_rank_0_says(value):
        go_on[0] = value
        dist.broadcast(go_on, 0)
        return int(go_on[0])

    rows = []
    for size in sizes:
        data = torch.zeros(size // 4)
        quickest = min(once(data) for _ in range(5))
        block = what_rank_0_says(min(2000, max(1, int(40 / quickest))))
        ms, start = [], time.perf_counter()
        while True:
            ms += [once(data) for _ in range(block)]
            if what_rank_0_says(time.perf_counter() - start < seconds) == 0:
                break
        rows.append({"bytes": size, "ms": [round(t, 4) for t in ms]})
    if dist.get_rank() == 0:
        with open(out, "w") as f:
            json.dump({"torch": torch.__version__, "rows": rows}, f)
    dist.barrier()
    dist.destroy_process_group()


def drive(ranks, arguments):
    with tempfile.TemporaryDirectory(prefix="torch_allreduce.") as scratch:
        out = os.path.join(scratch, "out.json")
        env = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "MASTER_ADDR": "127.0.0.1",
            # Free: this runs in a network namespace of its own.
            "MASTER_PORT": "29500",
            "WORLD_SIZE": str(ranks),
        }
        command = [sys.executable, os.path.abspath(__file__), "--worker", out] + arguments
        group = [subprocess.Popen(command, env={**env, "RANK": str(r)}) for r in range(ranks)]
        codes = [p.wait() for p in group]
        if any(codes):
            sys.exit(f"a rank failed: exit codes {codes}")
        with open(out) as f:
            print(f.read())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], float(sys.argv[3]), [int(b) for b in sys.argv[4:]])
    elif len(sys.argv) < 4:
        sys.exit("usage: torch_allreduce.py RANKS SECONDS BYTES...")
    else:
        drive(int(sys.argv[1]), sys.argv[2:])
