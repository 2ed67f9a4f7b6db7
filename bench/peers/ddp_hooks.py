#!/usr/bin/env python3
"""DistributedDataParallel with its own hooks that compress gradients, as a peer of
bench/compression.py. One rank; started once for each with the environment of
torch.distributed (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, GLOO_SOCKET_IFNAME).

    python3 ddp_hooks.py HOOK PARAMETERS STEP_MS STEPS

HOOK: none, bf16 (bf16_compress_hook) or powersgd (powerSGD_hook, rank 4, from the
second step on). The model has square matrices and computes nothing but a product of
a row with each; STEP_MS are slept. Rank 0 prints a JSON object: the milliseconds of
each step.
"""
import json
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

WIDTH = 500  # 25 of them are the 6.25 million of the bench
RANK = 4


def main():
    hook, parameters, step_ms, steps = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    layers = [torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(max(1, parameters // WIDTH**2))]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    if hook == "bf16":
        model.register_comm_hook(None, default_hooks.bf16_compress_hook)
    elif hook == "powersgd":
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=RANK, start_powerSGD_iter=2)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(1, WIDTH)
    ms = []
    for _ in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        out = model(x).sum()
        time.sleep(step_ms / 1e3)
        out.backward()
        optimizer.step()
        ms.append((time.perf_counter() - start) * 1e3)
    if dist.get_rank() == 0:
        print(json.dumps({"parameters": sum(p.numel() for p in model.parameters()), "ms": ms}))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
