#!/usr/bin/env python3
"""A linear softmax classifier whose rows come from disk in random order through a
peer's data layer: PyTorch's DistributedDataParallel over Gloo, one compute thread a
worker, SGD 0.01, cross entropy, float32. The last line printed is a JSON object.

    python3 stream_linear.py --what mosaic --write DIR --rows 1000000 --features 1024
    python3 stream_linear.py --what mosaic --read DIR --seconds 20 --world 2 --batch 256

The set: the mean of a row's class + noise, in the peer's own format. Each takes
the newest interface that its documents recommend for training, with its shuffle
of single rows over the whole set. The settings below were compared on 160 MB in
the page cache (40,000 x 1,024 and 600,000 x 64 features), 2 workers on 2 cores that
had other work too, so by processor time a row before rows a second. Kept are the
defaults of the options.

  mosaic  MosaicML StreamingDataset and StreamingDataLoader over MDS, not
          compressed, a row in one column of bytes, shards of 64 MB, shuffle py1e.
          Loader processes 0, 1, 2: the same processor time a row; 1 had the best
          median rate. Rows ahead (--predownload): more than the default saves only
          where a whole epoch fits into it, and costs else.
  lance   LanceDB's StreamingDataset (lancedb.streaming) and its
          StreamingDataLoader; the features are a fixed-size list of float32. Rows
          a read 64, 256, 1024: 1024 is best, with 2 reads ahead as with 4. Splits
          a worker 1, 2: no difference. Loader processes: slower, and started anew
          each epoch. --clump 64, which shuffles groups of 64 rows, saves a quarter
          of the processor time: not kept, since single rows are to be shuffled.
  grain   grain.MapDataset over ArrayRecord, not compressed, group size 1 as Grain
          asks, global shuffle. A read of one row takes time in proportion to the
          rows of its file, so files of 4,096 rows (at most 1,000 files): 1.5 times
          quicker than files of 64 MB with 1,024 features, 10 times with 64.
          Reading threads 0, 1, 2, 4, 16: 1 and 2 are alike and best. Loader
          processes 0, 1, 2: 0.

An epoch that ends is followed by the next one. Rows that the peers leave out of an
epoch: mosaic none (it repeats some, so that all workers have as many), lance what
its splits do not divide, grain what the batch does not divide.
One run of mosaic at a time on a machine: it first removes the shared memory that an
earlier one may have left, as its documents say.

Result:
  samples_per_s  all workers together, without the first 20 steps
  first_step_s   from the launch to the end of the first step of rank 0
  accuracy       on the last batch of rank 0
  peak_mb        largest resident set of a worker, without its loader processes
"""
import argparse
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np

WARM_UP_STEPS = 20
STEPS_A_LOOK = 20  # how often the workers agree on whether the time is up
LABEL_BYTES = 4
BLOCK_BYTES = 16 << 20
SETTINGS = {  # what an option is where it is not given
    "mosaic": {"loader_workers": 1, "depth": 0},
    "lance": {"loader_workers": 0, "depth": 2},
    "grain": {"loader_workers": 0, "depth": 4},
}
FILE_ROWS, FILES = 4096, 1000  # of ArrayRecord: rows a file, but no more files than that

# One that is told to stop still ends what it has started.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


# -- writing -------------------------------------------------------------------


def blocks(rows, features, classes):
    """Yields (float32 features, int32 labels): the mean of the class + noise
    from a small pool, each time from another place in it."""
    dice = np.random.default_rng(1)
    most = max(1, min(rows, BLOCK_BYTES // (4 * features)))
    means = dice.standard_normal((classes, features), np.float32)
    pool = dice.standard_normal((most + 1000, features), np.float32)
    for begin in range(0, rows, most):
        labels = dice.integers(0, classes, min(most, rows - begin), np.int32)
        at = dice.integers(0, 1000)
        x = means[labels]
        x += pool[at : at + len(labels)]
        yield x, labels


def records(x, labels):
    """Each row as bytes: the features, then the label."""
    width = x.shape[1] * 4 + LABEL_BYTES
    packed = np.empty((len(x), width), np.uint8)
    packed[:, :-LABEL_BYTES] = x.view(np.uint8)
    packed[:, -LABEL_BYTES:] = labels[:, None].view(np.uint8)
    whole = packed.tobytes()
    return [whole[at : at + width] for at in range(0, len(whole), width)]


def write_mosaic(args, source):
    from streaming import MDSWriter

    class Packed(MDSWriter):
        def encode_sample(self, sample):
            return len(sample).to_bytes(4, "little") + sample  # what the encoding `bytes` is in a file

    with Packed(out=args.write, columns={"row": "bytes"}, compression=None) as writer:
        for block in source:
            for record in records(*block):
                writer.write(record)


def write_lance(args, source):
    import lancedb
    import pyarrow as pa

    schema = pa.schema([("x", pa.list_(pa.float32(), args.features)), ("y", pa.int32())])

    def batches():
        for x, labels in source:
            lists = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), args.features)
            yield pa.record_batch([lists, pa.array(labels)], schema=schema)

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    lancedb.connect(args.write).create_table("rows", data=reader)


def write_grain(args, source):
    from array_record.python.array_record_module import ArrayRecordWriter

    a_file, row, writer = max(FILE_ROWS, -(-args.rows // FILES)), 0, None
    for block in source:
        for record in records(*block):
            if row % a_file == 0:
                if writer:
                    writer.close()
                name = os.path.join(args.write, f"{row // a_file:05}.array_record")
                writer = ArrayRecordWriter(name, "group_size:1,uncompressed")
            writer.write(record)
            row += 1
    writer.close()


WRITERS = {"mosaic": write_mosaic, "lance": write_lance, "grain": write_grain}


def write(args):
    shutil.rmtree(args.write, ignore_errors=True)
    os.makedirs(args.write)
    begun = time.monotonic()
    WRITERS[args.what](args, blocks(args.rows, args.features, args.classes))
    shape = {"what": args.what, "rows": args.rows, "features": args.features, "classes": args.classes}
    with open(os.path.join(args.write, "shape.json"), "w") as f:
        json.dump(shape, f)
    print(json.dumps({**shape, "write_s": time.monotonic() - begun}))


# -- reading -------------------------------------------------------------------


def joined(list_of_records):
    """Rows as bytes -> one array, with one copy."""
    return np.frombuffer(bytearray().join(list_of_records), np.float32).reshape(len(list_of_records), -1)


def parts(whole):
    import torch

    return torch.from_numpy(whole[:, :-1]), torch.from_numpy(whole[:, -1].view(np.int32).astype(np.int64))


def parts_of_dicts(rows):
    return parts(joined([row["row"] for row in rows]))


def shape_of(args):
    try:
        with open(os.path.join(args.read, "shape.json")) as f:
            shape = json.load(f)
    except OSError as why:
        sys.exit(f"no set in {args.read}: {why}")
    if shape["what"] != args.what:
        sys.exit(f"the set in {args.read} is one of {shape['what']}")
    return shape


def read_mosaic(args, shape, rank):
    from streaming import StreamingDataLoader, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    batch = args.batch // args.world
    more = {"predownload": args.predownload} if args.predownload else {}
    rows = StreamingDataset(local=args.read, shuffle=True, shuffle_seed=1, batch_size=batch, **more)
    loader = StreamingDataLoader(
        rows,
        batch_size=batch,
        num_workers=args.loader_workers,
        persistent_workers=args.loader_workers > 0,
        collate_fn=parts_of_dicts,
    )
    while True:
        yield from loader


def lance_rows(batch):
    """A record batch -> its rows, as views."""
    x = batch.column(0).flatten().to_numpy().view(np.uint8)
    width = len(x) // len(batch)
    view = memoryview(x)
    features = [view[at : at + width] for at in range(0, len(x), width)]
    return list(zip(features, batch.column(1).to_pylist()))


def parts_of_pairs(rows):
    import torch

    features, labels = zip(*rows)
    return torch.from_numpy(joined(features)), torch.tensor(labels)


def read_lance(args, shape, rank):
    import lancedb
    from lancedb.streaming import StreamingDataLoader, StreamingDataset

    table = lancedb.connect(args.read).open_table("rows")
    epoch = 0
    while True:
        rows = StreamingDataset(
            table,
            num_splits=args.splits * args.world * max(1, args.loader_workers),
            shuffle_seed=1,
            epoch=epoch,
            rank=rank,
            world_size=args.world,
            columns=["x", "y"],
            read_batch_size=args.read_batch,
            io_queue_depth=args.depth,
            shuffle_clump_size=args.clump or None,
            transform=lance_rows,
            transform_parallelism=1,
        )
        yield from StreamingDataLoader(
            rows,
            batch_size=args.batch // args.world,
            num_workers=args.loader_workers,
            multiprocessing_context="spawn" if args.loader_workers else None,
            collate_fn=parts_of_pairs,
        )
        epoch += 1


def read_grain(args, shape, rank):
    import grain

    files = sorted(os.path.join(args.read, n) for n in os.listdir(args.read) if n.endswith(".array_record"))
    rows = grain.MapDataset.source(grain.sources.ArrayRecordDataSource(files)).seed(1).shuffle()
    rows = rows[: shape["rows"] // args.batch * args.batch].repeat()[rank :: args.world]
    rows = rows.batch(args.batch // args.world, drop_remainder=True, batch_fn=joined)
    rows = rows.to_iter_dataset(grain.ReadOptions(num_threads=args.threads, prefetch_buffer_size=args.depth))
    if args.loader_workers:
        rows = rows.mp_prefetch(grain.MultiprocessingOptions(num_workers=args.loader_workers))
    iterator = iter(rows)
    try:
        for whole in iterator:
            yield parts(whole)
    finally:
        iterator.close()


READERS = {"mosaic": read_mosaic, "lance": read_lance, "grain": read_grain}


def work(args):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    shape = shape_of(args)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(shape["features"], shape["classes"]))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loss = torch.nn.CrossEntropyLoss()
    result = {"what": args.what}
    up, rows = torch.zeros(1), 0
    batches = READERS[args.what](args, shape, rank)
    for step, (x, y) in enumerate(batches, start=1):
        optimizer.zero_grad()
        loss(net(x), y).backward()
        optimizer.step()
        rows += len(y)
        if step == 1:
            result["first_step_s"] = (time.monotonic_ns() - args.launched_ns) / 1e9
        if step == WARM_UP_STEPS:
            begun, rows = time.monotonic(), 0
        if step > WARM_UP_STEPS and step % STEPS_A_LOOK == 0:
            spent = time.monotonic() - begun
            up[0] = spent >= args.seconds
            dist.broadcast(up, 0)
            if up[0]:
                break
    result["steps"] = step
    result["samples_per_s"] = rows * args.world / spent
    with torch.no_grad():
        result["accuracy"] = (net.module(x).argmax(1) == y).float().mean().item()
    peak = torch.tensor([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024])
    dist.all_reduce(peak, dist.ReduceOp.MAX)
    result["peak_mb"] = peak.item()
    if rank == 0:
        with open(args.result, "w") as f:
            json.dump(result, f)
    batches.close()
    dist.destroy_process_group()


# -- all of them ---------------------------------------------------------------


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def last_words(log):
    with open(log, errors="replace") as f:
        lines = [line.strip() for line in f if line.strip()]
    return lines[-1] if lines else "no output"


def launch(args, scratch):
    args.result = os.path.join(scratch, "result.json")
    args.launched_ns = time.monotonic_ns()
    env = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1"}
    env.update(MASTER_PORT=str(free_port()), WORLD_SIZE=str(args.world), LOCAL_WORLD_SIZE=str(args.world))
    command = [sys.executable, os.path.abspath(__file__), "--worker", json.dumps(vars(args))]
    group, logs = [], [os.path.join(scratch, f"{rank}.out") for rank in range(args.world)]
    try:
        for rank, log in enumerate(logs):
            with open(log, "wb") as out:
                own = {**env, "RANK": str(rank), "LOCAL_RANK": str(rank)}
                group.append(subprocess.Popen(command, env=own, stdout=out, stderr=out, stdin=subprocess.DEVNULL))
        # One that fails leaves the others waiting: end them.
        limit = time.monotonic() + args.seconds + args.start_s
        while any(p.poll() is None for p in group) and not any(p.poll() for p in group):
            if time.monotonic() > limit:
                sys.exit(f"not done {args.start_s} s after the {args.seconds} s; rank 0: {last_words(logs[0])}")
            time.sleep(0.05)
        failed = [rank for rank, p in enumerate(group) if p.poll()]
    finally:
        for p in group:
            if p.poll() is None:
                p.terminate()
        for p in group:
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
    if failed:
        sys.exit(f"worker {failed[0]} ended with exit code {group[failed[0]].returncode}: {last_words(logs[failed[0]])}")
    with open(args.result) as f:
        return json.load(f)


def main():
    p = argparse.ArgumentParser(description="DDP over Gloo of a linear model, with a peer's data layer")
    p.add_argument("--what", choices=list(READERS))
    p.add_argument("--write", metavar="DIR", help="write a set there; replaces what is there")
    p.add_argument("--rows", type=int, default=100_000)
    p.add_argument("--features", type=int, default=1024)
    p.add_argument("--classes", type=int, default=10)
    p.add_argument("--read", metavar="DIR", help="train on the set there")
    p.add_argument("--seconds", type=float, default=10, help="of training, after 20 steps")
    p.add_argument("--world", type=int, default=2)
    p.add_argument("--batch", type=int, default=256, help="of all workers together")
    p.add_argument("--loader-workers", type=int, help="processes of each worker that load; mosaic: 1, else 0")
    p.add_argument("--predownload", type=int, default=0, help="mosaic: rows ahead; 0: its default")
    p.add_argument("--splits", type=int, default=1, help="lance: of each worker (or of each of its loader processes)")
    p.add_argument("--read-batch", type=int, default=1024, help="lance: rows a read")
    p.add_argument("--clump", type=int, default=0, help="lance: shuffle groups of so many rows; 0: single rows")
    p.add_argument("--depth", type=int, help="lance: reads ahead, 2; grain: batches ahead, 4")
    p.add_argument("--threads", type=int, default=2, help="grain: threads that read")
    p.add_argument("--start-s", type=float, default=300, help="how long the start may take")
    p.add_argument("--worker", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.worker:
        work(argparse.Namespace(**json.loads(args.worker)))
        return
    if not args.what or bool(args.write) == bool(args.read):
        p.error("wants --what and one of --write and --read")
    for name, value in SETTINGS[args.what].items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    if args.batch % args.world:
        sys.exit(f"a batch of {args.batch} cannot be divided among {args.world} workers")
    if args.write:
        write(args)
        return
    shape_of(args)
    with tempfile.TemporaryDirectory(prefix="stream-linear.") as scratch:
        print(json.dumps(launch(args, scratch)))


if __name__ == "__main__":
    main()
