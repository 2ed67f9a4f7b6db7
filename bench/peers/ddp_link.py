#!/usr/bin/env python3
"""How much of its all-reduce DistributedDataParallel hides behind the backward
pass, as a peer of bench/allreduce.py. One rank; started once per host with the
environment of torch.distributed (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT,
GLOO_SOCKET_IFNAME).

    python3 ddp_link.py FEATURES HIDDEN,HIDDEN,... CLASSES ROWS STEPS

Rank 0 prints a JSON object: milliseconds of each step alone (no communication),
of each all-reduce of a whole gradient, and of each step with DDP.
"""
import json
import sys
import time

import torch
import torch.distributed as dist


def timed(steps, step):
    ms = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        ms.append((time.perf_counter() - start) * 1e3)
    return ms


def main():
    features, hidden, classes, rows, steps = sys.argv[1], sys.argv[2].split(","), *sys.argv[3:]
    rows, steps = int(rows), int(steps)
    widths = [int(features)] + [int(h) for h in hidden] + [int(classes)]
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    layers = []
    for i, o in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1])
    x = torch.randn(rows, widths[0])
    y = torch.randint(widths[-1], (rows,))
    loss = torch.nn.CrossEntropyLoss()

    def train_with(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

        def step():
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()

        return step

    whole = torch.zeros(sum(p.numel() for p in net.parameters()))
    alone = timed(steps, train_with(net))
    dist.barrier()
    reduce = timed(steps, lambda: dist.all_reduce(whole))
    together = timed(steps, train_with(torch.nn.parallel.DistributedDataParallel(net)))
    if dist.get_rank() == 0:
        print(json.dumps({"parameters": whole.numel(), "alone": alone, "reduce": reduce, "together": together}))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
