#!/usr/bin/env python3
"""Fashion-MNIST with PyTorch's DistributedDataParallel over Gloo: the ordinary
way to train one model on several processes, as a peer of bench/step.py and
bench/start.py. One run; the last line printed is a JSON object.

    python3 ddp_fashion.py --model mlp --world 2 --loader memory --epochs 3

Models: `mlp` = 784-128-10; `cnn` = conv 16@3x3, pool, conv 32@3x3, pool, linear.
The same batch (128 a worker) and optimizer (AdamW, 1e-3) as the example jobs.

Loaders, from the quickest to the most usual:
  memory       float32 tensors in memory, one advanced index a batch
  dataset      the same tensors behind TensorDataset and DataLoader
  torchvision  torchvision's FashionMNIST with ToTensor behind DataLoader

Result:
  samples_per_s  of each epoch, all workers together; in the first one without
                 its first 20 steps
  first_step_s   from the launch to the end of the first step of rank 0
  accuracy       on the test set, after each epoch
  peak_mb        largest resident set of a worker
"""
import argparse
import gzip
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time

BATCH = 128  # a worker
WARM_UP_STEPS = 20
NAMES = {"train": "train-{}-ubyte", "test": "t10k-{}-ubyte"}


# -- one worker ----------------------------------------------------------------


def read(folder, part):
    import numpy as np
    import torch

    def content(kind, header):
        with gzip.open(os.path.join(folder, NAMES[part].format(kind) + ".gz")) as f:
            return np.frombuffer(f.read(), np.uint8, offset=header)

    images = content("images-idx3", 16).reshape(-1, 1, 28, 28).astype(np.float32) / 255
    return torch.from_numpy(images), torch.from_numpy(content("labels-idx1", 8).astype(np.int64))


def network(kind):
    from torch import nn

    if kind == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    convolutions = [layer for i, o in ((1, 16), (16, 32)) for layer in (nn.Conv2d(i, o, 3), nn.ReLU(), nn.MaxPool2d(2))]
    return nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(32 * 5 * 5, 10))


def make_batches(args, seed):
    """Returns (function of the epoch that yields batches)."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    from torch.utils.data.distributed import DistributedSampler

    if args.loader == "torchvision":
        from torchvision.datasets import FashionMNIST
        from torchvision.transforms import ToTensor

        rows = FashionMNIST(args.unpacked, train=True, transform=ToTensor())
    else:
        images, labels = read(args.data, "train")
        rows = TensorDataset(images, labels)
    sampler = DistributedSampler(rows, seed=seed)

    def from_memory(epoch):
        sampler.set_epoch(epoch)
        for ids in torch.tensor(list(sampler)).split(BATCH):
            yield images[ids], labels[ids]

    def from_loader(epoch):
        sampler.set_epoch(epoch)
        yield from DataLoader(rows, batch_size=BATCH, sampler=sampler, num_workers=0)

    return from_memory if args.loader == "memory" else from_loader


def accuracy(net, images, labels):
    import torch

    net.eval()
    with torch.no_grad():
        right = sum((net(x).argmax(1) == y).sum().item() for x, y in zip(images.split(1000), labels.split(1000)))
    net.train()
    return right / len(labels)


def work(args):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    dist.init_process_group("gloo")
    first = dist.get_rank() == 0
    batches = make_batches(args, args.seed)
    net = network(args.model)
    parallel = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(parallel.parameters(), lr=1e-3)
    loss = torch.nn.CrossEntropyLoss()
    test = read(args.data, "test") if first else None
    result = {"samples_per_s": [], "accuracy": []}
    for epoch in range(args.epochs):
        begun_ns, rows = time.monotonic_ns(), 0
        for step, (x, y) in enumerate(batches(epoch)):
            optimizer.zero_grad()
            loss(parallel(x), y).backward()
            optimizer.step()
            rows += len(y)
            if epoch == 0 and step == 0:
                result["first_step_s"] = (time.monotonic_ns() - args.launched_ns) / 1e9
            if epoch == 0 and step + 1 == WARM_UP_STEPS:
                begun_ns, rows = time.monotonic_ns(), 0
        dist.barrier()
        result["samples_per_s"].append(rows * dist.get_world_size() * 1e9 / (time.monotonic_ns() - begun_ns))
        if first:
            result["accuracy"].append(accuracy(net, *test))
        dist.barrier()
    result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if first:
        with open(args.result, "w") as f:
            json.dump(result, f)
    dist.destroy_process_group()


# -- all of them ---------------------------------------------------------------


def unpack(data, folder):
    """What torchvision expects to find, so that it downloads nothing."""
    raw = os.path.join(folder, "FashionMNIST", "raw")
    os.makedirs(raw)
    for part in NAMES.values():
        for kind in ("images-idx3", "labels-idx1"):
            name = part.format(kind)
            with gzip.open(os.path.join(data, name + ".gz")) as a, open(os.path.join(raw, name), "wb") as b:
                shutil.copyfileobj(a, b)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def launch(args, scratch):
    env = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    result = os.path.join(scratch, "result.json")
    script = [os.path.abspath(__file__), "--worker", "--result", result, "--unpacked", scratch]
    for name in ("model", "loader", "epochs", "seed", "data"):
        script += ["--" + name, str(getattr(args, name))]
    script += ["--launched-ns", str(time.monotonic_ns())]
    if args.launcher == "torchrun":
        starter = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(args.world)]
        group = [subprocess.Popen([sys.executable] + starter + script, env=env)]
    else:
        env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE=str(args.world))
        group = [
            subprocess.Popen([sys.executable] + script, env={**env, "RANK": str(rank)}) for rank in range(args.world)
        ]
    try:
        # One that fails leaves the others waiting: end them.
        while any(p.poll() is None for p in group) and not any(p.poll() for p in group):
            time.sleep(0.05)
    finally:
        for p in group:
            if p.poll() is None:
                p.terminate()
    codes = [p.wait() for p in group]
    if any(codes):
        sys.exit(f"workers ended with exit codes {codes}")
    with open(result) as f:
        return json.load(f)


def main():
    p = argparse.ArgumentParser(description="DDP over Gloo on Fashion-MNIST")
    p.add_argument("--model", choices=["mlp", "cnn"], default="mlp")
    p.add_argument("--world", type=int, default=2)
    p.add_argument("--loader", choices=["memory", "dataset", "torchvision"], default="memory")
    p.add_argument("--launcher", choices=["direct", "torchrun"], default="direct")
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="folder with the four .gz files")
    for internal in ("--result", "--unpacked"):
        p.add_argument(internal, help=argparse.SUPPRESS)
    p.add_argument("--launched-ns", type=int, help=argparse.SUPPRESS)
    p.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.worker:
        work(args)
        return
    with tempfile.TemporaryDirectory(prefix="ddp-fashion.") as scratch:
        if args.loader == "torchvision":
            unpack(args.data, scratch)
        print(json.dumps(launch(args, scratch)))


if __name__ == "__main__":
    main()
