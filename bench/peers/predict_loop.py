"""What a PyTorch program does to answer a file of rows: pandas reads it, a
DataLoader feeds the model batch by batch, pandas writes what it says.

usage: predict_loop.py FILE MODEL.safetensors OUT
FILE and OUT are .csv or .parquet; the label `y` is left out. Prints seconds of
the whole program, the start of Python left out.
"""
import json
import sys
import time

begun = time.monotonic()

import pandas  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

BATCH = 1024


def main():
    path, model, out = sys.argv[1:4]
    weights = load_file(model)
    layers = []
    for i in range(1, len(weights) // 2 + 1):
        wide, narrow = weights[f"fc{i}.weight"].shape
        layers += [torch.nn.Linear(narrow, wide), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1])
    with torch.no_grad():
        for target, name in zip(net.parameters(), [f"fc{i}.{part}" for i in range(1, len(weights) // 2 + 1)
                                                   for part in ("weight", "bias")]):
            target.copy_(weights[name])
    torch.set_num_threads(2)
    read = pandas.read_csv if path.endswith("csv") else pandas.read_parquet
    table = read(path).drop(columns="y")
    features = torch.from_numpy(table.to_numpy("float32"))
    said = []
    with torch.inference_mode():
        for [batch] in DataLoader(TensorDataset(features), batch_size=BATCH):
            said.append(torch.softmax(net(batch), 1))
    chances = torch.cat(said)
    answers = pandas.DataFrame(chances.numpy(), columns=[f"p_{i}" for i in range(chances.shape[1])])
    answers.insert(0, "prediction", chances.argmax(1).numpy())
    answers.insert(0, "row", range(len(answers)))
    if out.endswith("csv"):
        answers.to_csv(out, index=False)
    else:
        answers.to_parquet(out, index=False)
    print(json.dumps({"seconds": time.monotonic() - begun}))


main()
