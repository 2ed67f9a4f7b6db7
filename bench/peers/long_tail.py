#!/usr/bin/env python3
"""Fashion-MNIST with a long tail, for bench/uses.py: what people do about it
with PyTorch and imbalanced-learn.

    python3 long_tail.py make FOLDER          writes train.parquet, test.parquet
    python3 long_tail.py train FOLDER KIND SEED EPOCHS
                                              one run; prints its result as JSON

Class c keeps 6000 / 100^(c / 9) of its rows, the first ones. Model: 784-128-10;
AdamW, 1e-3, batches of 256, as the job of the benchmark.

KIND  plain     a shuffle
      sampler   WeightedRandomSampler, 1 / rows of the class, as many draws as rows
      smote     imbalanced-learn's SMOTE of the rows, then a shuffle
"""
import gzip
import json
import os
import sys

import numpy as np

DATA = "/usr/share/datasets/fashion-mnist"
CLASSES, TAIL, BATCH, RATE = 10, 100, 256, 1e-3


def part(name):
    def content(kind, header):
        with gzip.open(os.path.join(DATA, f"{name}-{kind}-ubyte.gz")) as f:
            return np.frombuffer(f.read(), np.uint8, offset=header)

    return content("images-idx3", 16).reshape(-1, 784), content("labels-idx1", 8)


def long_tail():
    images, labels = part("train")
    kept = np.concatenate(
        [np.flatnonzero(labels == c)[: int(6000 / TAIL ** (c / (CLASSES - 1)))] for c in range(CLASSES)]
    )
    kept.sort()
    return images[kept], labels[kept]


def make(folder):
    import pyarrow
    import pyarrow.parquet

    for name, (images, labels) in (("train", long_tail()), ("test", part("t10k"))):
        columns = {f"p{i}": images[:, i] for i in range(784)}
        columns["y"] = labels.astype(np.int32)
        pyarrow.parquet.write_table(pyarrow.table(columns), os.path.join(folder, name + ".parquet"))
    return {"rows": np.bincount(long_tail()[1]).tolist()}


def train(kind, seed, epochs):
    import torch
    from torch import nn

    torch.manual_seed(seed)
    images, labels = long_tail()
    if kind == "smote":
        from imblearn.over_sampling import SMOTE

        images, labels = SMOTE(random_state=seed).fit_resample(images.astype(np.float32), labels)
    x = torch.from_numpy(images.astype(np.float32) / 255)
    y = torch.from_numpy(labels.astype(np.int64))
    weights = (1.0 / torch.bincount(y).double())[y]
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, CLASSES))
    update = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0)
    for _ in range(epochs):
        if kind == "sampler":
            order = torch.tensor(list(torch.utils.data.WeightedRandomSampler(weights, len(y))))
        else:
            order = torch.randperm(len(y))
        for at in range(0, len(order), BATCH):
            rows = order[at : at + BATCH]
            update.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
            update.step()
    images, labels = part("t10k")
    with torch.no_grad():
        said = model(torch.from_numpy(images.astype(np.float32) / 255)).argmax(1).numpy()
    each = [float((said[labels == c] == c).mean()) for c in range(CLASSES)]
    return {"balanced_accuracy": sum(each) / CLASSES, "each": each}


def main():
    if sys.argv[1] == "make":
        print(json.dumps(make(sys.argv[2])))
    else:
        print(json.dumps(train(sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))))


if __name__ == "__main__":
    main()
