#!/usr/bin/env python3
"""Rows of a CSV file to shuffled batches of tensors on one thread, as other loaders
do it: lines are parsed and scaled row by row in a random order, 256 to a batch.

    python3 loaders.py write FILE.csv FOLDER ROWS   so many as MosaicML Streaming
                                                    keeps them, for `streaming`
    python3 loaders.py nodes|dataloader|streaming FILE.csv|FOLDER

  nodes       torchdata.nodes: SamplerWrapper, Mapper, Batcher, Mapper
  dataloader  torch.utils.data.DataLoader, shuffle, num_workers 0
  streaming   StreamingDataset, shuffle, behind a DataLoader, rows as bytes, which it
              reads twice as fast as arrays; an epoch after a first one that is not
              measured

The last line printed is a JSON object: rows, seconds, the sum of all values. For
`nodes` and `dataloader` the file is read into memory within the time. Their
environment is made by  bench/peers/setup.sh DIR data  (about 7 GB).
"""
import itertools
import json
import sys
import time

import numpy as np
import torch

BATCH, FACTOR = 256, 0.5


def parsed(line):
    values = np.fromstring(line, dtype=np.float32, sep=",")
    return torch.from_numpy(values[:-1]) * FACTOR, int(values[-1])


def collated(rows):
    return torch.stack([x for x, _ in rows]), torch.tensor([y for _, y in rows])


class Lines(torch.utils.data.Dataset):
    def __init__(self, path):
        with open(path) as f:
            self.lines = f.read().split("\n")[1:-1]

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, i):
        return parsed(self.lines[i])


def nodes(path):
    from torchdata.nodes import Batcher, Loader, Mapper, SamplerWrapper

    rows = Lines(path)
    order = SamplerWrapper(torch.utils.data.RandomSampler(rows))
    return Loader(Mapper(Batcher(Mapper(order, rows.__getitem__), BATCH, drop_last=False), collated))


def dataloader(path):
    return torch.utils.data.DataLoader(Lines(path), batch_size=BATCH, shuffle=True, collate_fn=collated)


def streaming(folder):
    from streaming import StreamingDataset

    class Rows(StreamingDataset):
        def __getitem__(self, i):
            row = np.frombuffer(super().__getitem__(i)["row"], dtype=np.float32)
            return torch.tensor(row[:-1]) * FACTOR, int(row[-1])

    rows = Rows(local=folder, shuffle=True, batch_size=BATCH)
    return torch.utils.data.DataLoader(rows, batch_size=BATCH, collate_fn=collated)


def write(path, folder, rows):
    from streaming import MDSWriter

    with open(path) as f, MDSWriter(out=folder, columns={"row": "bytes"}) as out:
        next(f)
        for line in itertools.islice(f, int(rows)):
            out.write({"row": np.fromstring(line, dtype=np.float32, sep=",").tobytes()})


def epoch(batches):
    count, total = 0, 0.0
    for x, _ in batches:
        count += len(x)
        total += float(x.sum())
    return count, total


def main():
    torch.set_num_threads(1)
    how, *places = sys.argv[1:]
    if how == "write":
        write(*places)
        print(json.dumps({}))
        return
    begin = time.perf_counter()
    batches = {"nodes": nodes, "dataloader": dataloader, "streaming": streaming}[how](*places)
    if how == "streaming":
        epoch(batches)
        begin = time.perf_counter()
    count, total = epoch(batches)
    print(json.dumps({"rows": count, "s": time.perf_counter() - begin, "sum": total}))


if __name__ == "__main__":
    main()
