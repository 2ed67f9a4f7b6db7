#!/usr/bin/env python3
"""Which rows a peer's data layer loses or delivers again in one epoch that
begins with 2 workers, goes on with 3, loses one of them to SIGKILL, and is ended
by 1. Real processes, no loader processes.

    python3 stream_exactness.py --what mosaic --seed 1

10,007 rows {"id": int}, shuffled. A step sleeps 10 ms and ends with an
all-reduce over Gloo. The peer's own state is saved after every 10th step and at
the end of the first part, and loaded by the next part, as its documents say:
  mosaic  StreamingDataLoader.state_dict of rank 0; load_state_dict on all;
          clean_stale_shared_memory before the data set is made
  lance   LanceDB's StreamingDataset: state_dict of every rank, merged with
          merge_state_dicts. Its number of splits cannot change in an epoch and
          must be a multiple of every number of workers: 6
  grain   grain.experimental.ElasticIterator: get_state of rank 0

A row is delivered when it is in a batch of a step that all workers completed:
what a step cut off by the kill had is not. What was delivered after the last
state saved, and is again after the kill, counts as repeated, and also as redone.

The batch is of all workers together. 32 does not go on 3 workers: the batch size of
mosaic and of lance is a whole number of rows of one worker, and grain refuses.
`refused` says so, and the nearest batch that all of 2, 3 and 1 divide is used, 30.

Result:
  lost, repeated  rows never delivered; deliveries of a row after its first
  redone          those of the repeated that the kill explains
  hung            nothing happened for 60 s (before a part's first step: 180 s)
  refused         what the peer did not take, or its failure; empty: nothing
  note            batch, steps of each part, and who ended how
"""
import argparse
import collections
import json
import math
import os
import random
import signal
import sys
import tempfile
import time

from fault_tools import end, free_port, launch

ROWS = 10_007
WORLDS = (2, 3, 1)
SPLITS = math.lcm(*WORLDS)  # of LanceDB
STEP_S = 0.010
SAVE_EVERY = 10
FIRST_STEPS = (40, 80)
KILL_AFTER_S = (0.2, 1.5)
HANG_S = 60
START_S = 180  # how long nothing may happen before a first step
NOTICE_S = 10  # how long survivors may take to see that one is dead


# -- the peers: writing, and one worker's batches with their state -------------


class Mosaic:
    @staticmethod
    def write(folder):
        from streaming import MDSWriter

        with MDSWriter(out=folder, columns={"id": "int"}, compression=None) as writer:
            for i in range(ROWS):
                writer.write({"id": i})

    @staticmethod
    def refusal(batch, world):
        return f"batch_size is of one worker and whole: {batch} / {world} is not" if batch % world else ""

    def __init__(self, folder, batch, rank, world, state):
        from streaming import StreamingDataLoader, StreamingDataset
        from streaming.base.util import clean_stale_shared_memory

        clean_stale_shared_memory()
        rows = StreamingDataset(local=folder, batch_size=batch // world, shuffle=True, shuffle_seed=1)
        self.loader = StreamingDataLoader(rows, batch_size=batch // world)
        if state:
            self.loader.load_state_dict(state)

    def batches(self):
        return (batch["id"].tolist() for batch in self.loader)

    def state(self):
        return self.loader.state_dict()

    @staticmethod
    def merged(states):
        return states[0]


class Lance:
    @staticmethod
    def write(folder):
        import lancedb
        import pyarrow as pa

        lancedb.connect(folder).create_table("rows", data=pa.table({"id": pa.array(range(ROWS))}))

    @staticmethod
    def refusal(batch, world):
        return Mosaic.refusal(batch, world)

    def __init__(self, folder, batch, rank, world, state):
        import lancedb
        from lancedb.streaming import StreamingDataLoader, StreamingDataset

        table = lancedb.connect(folder).open_table("rows")
        self.rows = StreamingDataset(table, num_splits=SPLITS, shuffle_seed=1, rank=rank, world_size=world)
        if state:
            self.rows.load_state_dict(state)
        self.loader = StreamingDataLoader(self.rows, batch_size=batch // world)

    def batches(self):
        return (batch["id"].tolist() for batch in self.loader)

    def state(self):
        return self.rows.state_dict()

    @staticmethod
    def merged(states):
        from lancedb.streaming import StreamingDataset

        return StreamingDataset.merge_state_dicts(states)


class Grain:
    @staticmethod
    def write(folder):
        from array_record.python.array_record_module import ArrayRecordWriter

        os.makedirs(folder)
        writer = ArrayRecordWriter(os.path.join(folder, "rows.array_record"), "group_size:1")
        for i in range(ROWS):
            writer.write(i.to_bytes(8, "little"))
        writer.close()

    @staticmethod
    def iterator(rows, batch, rank, world):
        from grain.experimental import ElasticIterator
        from grain.sharding import ShardOptions

        return ElasticIterator(rows, batch, ShardOptions(shard_index=rank, shard_count=world))

    @staticmethod
    def refusal(batch, world):
        import grain

        try:
            next(iter(Grain.iterator(grain.MapDataset.range(ROWS), batch, 0, world)))
        except ValueError as why:
            return str(why)
        return ""

    def __init__(self, folder, batch, rank, world, state):
        import grain

        source = grain.sources.ArrayRecordDataSource(os.path.join(folder, "rows.array_record"))
        rows = grain.MapDataset.source(source).seed(1).shuffle().map(lambda record: int.from_bytes(record, "little"))
        self.rows = iter(self.iterator(rows, batch, rank, world))
        if state:
            self.rows.set_state(state)

    def batches(self):
        return (batch.tolist() for batch in self.rows)

    def state(self):
        return self.rows.get_state()

    @staticmethod
    def merged(states):
        return states[0]


PEERS = {"mosaic": Mosaic, "lance": Lance, "grain": Grain}


# -- one worker ----------------------------------------------------------------


def work(job):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    saved = {"step": 0, "state": None}
    if os.path.exists(job["state"]):
        with open(job["state"]) as f:
            saved = json.load(f)
    peer = PEERS[job["what"]]
    rows = peer(job["data"], job["batch"], rank, world, saved["state"])

    def save(step):
        states = [None] * world
        dist.all_gather_object(states, rows.state())
        if rank == 0:
            with open(job["state"] + ".new", "w") as f:
                json.dump({"step": step, "state": peer.merged(states)}, f)
            os.rename(job["state"] + ".new", job["state"])

    batches, step, all_have = rows.batches(), saved["step"], torch.ones(1)
    with open(f"{job['log']}.{rank}", "ab", buffering=0) as log:
        while not job["steps"] or step < job["steps"]:
            ids = next(batches, None)
            log.write((json.dumps({"step": step + 1, "ids": ids}) + "\n").encode())
            time.sleep(STEP_S)
            all_have.fill_(ids is not None)
            dist.all_reduce(all_have, dist.ReduceOp.MIN)
            if not all_have:
                break
            step += 1
            log.write((json.dumps({"completed": step}) + "\n").encode())
            if step % SAVE_EVERY == 0 or step == job["steps"]:
                save(step)
    dist.destroy_process_group()


# -- all of them ---------------------------------------------------------------


class Failed(Exception):
    pass


class Hung(Exception):
    pass


class Part:
    """The workers of one part of the epoch, and what they have logged."""

    def __init__(self, folder, number, world, job):
        self.world, self.log, self.out = world, os.path.join(folder, f"part{number}"), os.path.join(folder, f"{number}.out")
        job = {**job, "log": self.log}
        command = [sys.executable, os.path.abspath(__file__), "--worker", json.dumps(job)]
        env = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(world)}
        env["LOCAL_WORLD_SIZE"] = str(world)
        self.group = [
            launch(command, f"{self.out}.{rank}", RANK=str(rank), LOCAL_RANK=str(rank), **env) for rank in range(world)
        ]

    def size(self):
        names = (f"{self.log}.{rank}" for rank in range(self.world))
        return sum(os.path.getsize(name) for name in names if os.path.exists(name))

    def wait(self, enough):
        """Until it is enough; raises when one fails or nothing happens."""
        size, moved = -1, time.monotonic()
        while not enough():
            for rank, p in enumerate(self.group):
                if p.poll():
                    raise Failed(f"worker {rank} of {self.world}: {self.last_words(rank)}")
            if self.size() != size:
                size, moved = self.size(), time.monotonic()
            if time.monotonic() > moved + (HANG_S if size else START_S):
                raise Hung(f"with {self.world} workers, after step {max(self.delivered()[0], default=0)}")
            time.sleep(0.02)

    def ended(self):
        return all(p.poll() is not None for p in self.group)

    def last_words(self, rank):
        with open(f"{self.out}.{rank}", errors="replace") as f:
            lines = [line.strip() for line in f if line.strip()]
        return lines[-1][:300] if lines else "no output"

    def close(self):
        for p in self.group:
            end(p)

    def delivered(self):
        """{step: ids} of the completed steps, and rows left with some at the end."""
        ids, completed = collections.defaultdict(list), set()
        for rank in range(self.world):
            if not os.path.exists(f"{self.log}.{rank}"):
                continue
            with open(f"{self.log}.{rank}") as f:
                for line in f.read().split("\n")[:-1]:
                    entry = json.loads(line)
                    if "completed" in entry:
                        completed.add(entry["completed"])
                    else:
                        ids[entry["step"]] += entry["ids"] or []
        return {step: ids[step] for step in completed}, {step: ids[step] for step in ids if step not in completed}


def kill_one(part, dice):
    """SIGKILL of one worker at a random moment; what the others then did."""
    part.wait(lambda: part.delivered()[0])
    time.sleep(dice.uniform(*KILL_AFTER_S))
    victim = dice.randrange(part.world)
    if part.group[victim].poll() is not None:
        raise Failed("the epoch ended before the kill")
    os.kill(part.group[victim].pid, signal.SIGKILL)
    begun = time.monotonic()
    while not part.ended() and time.monotonic() < begun + NOTICE_S:
        time.sleep(0.02)
    saw = sum(p.poll() is not None for p in part.group) - 1
    return f"worker {victim} of {part.world} killed, {saw} of the others failed by themselves in {NOTICE_S} s"


def measure(options, folder, batch):
    dice, parts, notes = random.Random(options.seed), [], []
    job = {"what": options.what, "data": os.path.join(folder, "data"), "state": os.path.join(folder, "state.json")}
    job.update(batch=batch, steps=dice.randint(*FIRST_STEPS))
    result = {"hung": False, "refused": ""}

    def begin(world):
        parts.append(Part(folder, len(parts), world, job))
        return parts[-1]

    PEERS[options.what].write(job["data"])
    redo = {}
    try:
        first = begin(WORLDS[0])
        first.wait(first.ended)
        job["steps"] = 0
        second = begin(WORLDS[1])
        notes.append(kill_one(second, dice))
        second.close()
        with open(job["state"]) as f:
            saved = json.load(f)["step"]
        redo = {step: ids for step, ids in second.delivered()[0].items() if step > saved}
        last = begin(WORLDS[2])
        last.wait(last.ended)
    except Failed as why:
        result["refused"] = str(why)
    except Hung as why:
        result["hung"] = True
        notes.append(f"hung {why}")
    finally:
        for part in parts:
            part.close()
    seen = collections.Counter()
    for part in parts:
        steps, cut = part.delivered()
        for ids in steps.values():
            seen.update(ids)
        span = f"{min(steps)} to {max(steps)}" if steps else "none"
        notes.append(f"{part.world} workers: steps {span}")
    left = sum(map(len, cut.values()))
    if left and not result["hung"]:
        notes.append(f"{left} rows in a last batch that not all workers had")
    again = collections.Counter(i for ids in redo.values() for i in ids)
    result["lost"] = ROWS - len(seen)
    result["repeated"] = sum(seen.values()) - len(seen)
    result["redone"] = sum(min(n, seen[i] - 1) for i, n in again.items())
    return result, notes


def main():
    p = argparse.ArgumentParser(description="rows that a peer's data layer loses and repeats")
    p.add_argument("--what", choices=list(PEERS), default="mosaic")
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--worker", help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.worker:
        work(json.loads(options.worker))
        return
    peer, batch = PEERS[options.what], options.batch
    refused = next(filter(None, (peer.refusal(batch, world) for world in WORLDS)), "")
    if refused:
        fitting = (b for off in range(batch) for b in (batch - off, batch + off))
        batch = next(b for b in fitting if b > 0 and not any(peer.refusal(b, world) for world in WORLDS))
    with tempfile.TemporaryDirectory(prefix="stream-exactness.") as folder:
        result, notes = measure(options, folder, batch)
    result["refused"] = "; ".join(filter(None, (refused, result["refused"])))
    note = "; ".join([f"batch {batch}", *notes])
    keys = ("lost", "repeated", "redone", "hung", "refused")
    print(json.dumps({"what": options.what, "rows": ROWS, **{key: result[key] for key in keys}, "note": note}))


if __name__ == "__main__":
    main()
