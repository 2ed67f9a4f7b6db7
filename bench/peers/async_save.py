"""Steps of PyTorch with AdamW in some processes, one of which is followed by
torch.distributed.checkpoint.async_save, as its documents recommend: every rank
holds the same tensors, each writes a part, and training goes on meanwhile.

usage: async_save.py PARAMETERS WORLD STEPS SAVED FOLDER

A step is 100 ms of waiting in place of compute, an all-reduce of the gradients
(Gloo) and the update. Prints JSON: t_ns of each step, on the monotonic clock.
"""
import json
import os
import shutil
import socket
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp

PIECE = 1 << 22  # of a parameter
COMPUTE_S = 0.1


def train(rank, parameters, world, steps, saved, folder, port, out):
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // world))
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    apart = dist.new_group(backend="gloo")  # saving talks beside the steps
    sizes = [PIECE] * (parameters // PIECE) + ([parameters % PIECE] if parameters % PIECE else [])
    model = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(size)) for size in sizes])
    for one in model:
        one.grad = torch.full_like(one, 0.01)
    update = torch.optim.AdamW(model.parameters(), lr=0.001)
    times, saving = [], None
    for step in range(1, steps + 1):
        time.sleep(COMPUTE_S)
        for one in model:
            dist.all_reduce(one.grad)
            one.grad.div_(world)
        update.step()
        times.append(time.monotonic_ns())
        if step == saved:
            state = {"model": model.state_dict(), "optimizer": update.state_dict()}
            saving = dcp.async_save(state, checkpoint_id=os.path.join(folder, "async"), process_group=apart)
    saving.result()
    if rank == 0:
        out.put(times)
    dist.destroy_process_group()


def main():
    parameters, world, steps, saved = map(int, sys.argv[1:5])
    folder = sys.argv[5]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    out = mp.get_context("spawn").SimpleQueue()
    mp.spawn(train, (parameters, world, steps, saved, folder, port, out), nprocs=world, join=True)
    shutil.rmtree(os.path.join(folder, "async"))
    print(json.dumps({"t_ns": out.get()}))


if __name__ == "__main__":
    main()
