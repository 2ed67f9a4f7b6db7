"""One training step of PyTorch: the same model, batch, precision and optimizer
as bench/device_step.cpp, as anyone would write them.

usage: torch_step.py eager|compile MODEL DEVICE BATCH PRECISION STEPS SIZE WIDTH LAYERS VOCABULARY

Prints JSON: the milliseconds of each step, the parameters, the last loss.
"""
import json
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """GPT-2's, pre-norm."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width)
        self.fc = nn.Linear(width, 4 * width)
        self.proj = nn.Linear(4 * width, width)

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = (part.view(rows, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.qkv(self.ln_1(x)).split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(rows, length, width))
        return x + self.proj(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class Transformer(nn.Module):
    def __init__(self, length, width, layers, vocabulary):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.ModuleList(Block(width, max(1, width // 64)) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe
        for block in self.blocks:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def transformer_loss(model, rows):
    scores = model(rows["tokens"])
    return F.cross_entropy(scores[:, :-1].flatten(0, 1).float(), rows["tokens"][:, 1:].flatten())


def image_loss(model, rows):
    return F.cross_entropy(model(rows["images"]).float(), rows["labels"])


def main():
    how, kind, device = sys.argv[1:4]
    batch, steps, size, width, layers, vocabulary = int(sys.argv[4]), *map(int, sys.argv[6:11])
    precision = sys.argv[5]
    torch.manual_seed(1)
    torch.set_num_threads(int(os.environ.get("BALLAST_BENCH_THREADS", "1")))
    if kind == "transformer":
        model, loss_of = Transformer(size, width, layers, vocabulary), transformer_loss
        host = {"tokens": torch.randint(vocabulary, (batch, size))}
    else:
        import torchvision
        model, loss_of = torchvision.models.resnet18(num_classes=10), image_loss
        host = {"images": torch.rand(batch, 3, size, size), "labels": torch.randint(10, (batch,))}
    on_gpu = device.startswith("cuda")
    model = model.to(device)
    if on_gpu:
        host = {name: value.pin_memory() for name, value in host.items()}
    update = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    if how == "compile":
        model.compile()
    times, loss = [], None
    for _ in range(steps):
        begin = time.perf_counter()
        rows = {name: value.to(device, non_blocking=True) for name, value in host.items()}
        update.zero_grad(set_to_none=True)
        with torch.autocast(device.split(":")[0], torch.bfloat16, enabled=precision == "bfloat16"):
            loss = loss_of(model, rows)
        loss.backward()
        update.step()
        if on_gpu:
            torch.cuda.synchronize()
        times.append(1000 * (time.perf_counter() - begin))
    print(json.dumps({"parameters": sum(p.numel() for p in model.parameters()), "ms": times, "loss": loss.item(),
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()
