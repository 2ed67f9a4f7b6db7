"""Models and optimizers once more, in plain double-precision loops: what the
weights must be if exactly the samples of the trace were used, in its order.
Shares nothing with Ballast but the definitions."""
import json
import math
import struct

import numpy


def read_safetensors(path):
    """name -> array; the format is 8 bytes of length, a JSON header, bytes."""
    raw = path.read_bytes()
    [length] = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    out = {}
    for name, about in header.items():
        if name == "__metadata__":
            continue
        assert about["dtype"] == "F32", about
        begin, end = about["data_offsets"]
        values = numpy.frombuffer(raw[8 + length + begin:8 + length + end],
                                  "<f4")
        out[name] = values.reshape(about["shape"])
    return out


class Sgd:
    def __init__(self, size, lr, momentum=0.0, weight_decay=0.0):
        self.lr, self.momentum, self.decay = lr, momentum, weight_decay
        self.velocity = [0.0] * size

    def apply(self, weights, gradient, factor=1.0):
        for j, g in enumerate(gradient):
            g += self.decay * weights[j]
            self.velocity[j] = self.momentum * self.velocity[j] + g
            weights[j] -= self.lr * factor * self.velocity[j]


class AdamW:
    def __init__(self, size, lr, weight_decay=0.0):
        self.lr, self.decay, self.step = lr, weight_decay, 0
        self.first, self.second = [0.0] * size, [0.0] * size

    def apply(self, weights, gradient, factor=1.0):
        self.step += 1
        lr = self.lr * factor
        for j, g in enumerate(gradient):
            weights[j] *= 1 - lr * self.decay
            self.first[j] = 0.9 * self.first[j] + 0.1 * g
            self.second[j] = 0.999 * self.second[j] + 0.001 * g * g
            m = self.first[j] / (1 - 0.9 ** self.step)
            v = self.second[j] / (1 - 0.999 ** self.step)
            weights[j] -= lr * m / (math.sqrt(v) + 1e-8)


def clipped(gradient, longest):
    """The gradient, scaled down where it is longer than that."""
    length = math.sqrt(sum(g * g for g in gradient))
    if longest is None or length <= longest:
        return gradient
    return [g * longest / length for g in gradient]


def warm_cosine(warmup, total, final_ratio=0.0):
    """Factor of the learning rate at step 1, 2, ..."""
    def factor(step):
        if step <= warmup:
            return step / warmup
        progress = (step - warmup - 1) / (total - warmup - 1)
        return final_ratio + (1 - final_ratio) * (
            1 + math.cos(math.pi * progress)) / 2
    return factor


def linear_loss(weights, row, target):
    """Squared error of w x + b, without 1/2, and its gradient."""
    *w, b = weights
    error = sum(a * x for a, x in zip(w, row)) + b - target
    return error * error, [2 * error * x for x in row] + [2 * error]


def softmax_loss(weights, row, label, classes):
    """Cross entropy of W x + b; weights are W row by row, then b."""
    width = len(row)
    scores = [weights[classes * width + c] + sum(
        weights[c * width + j] * row[j] for j in range(width))
        for c in range(classes)]
    top = max(scores)
    powers = [math.exp(s - top) for s in scores]
    total = sum(powers)
    gradient = [0.0] * len(weights)
    for c in range(classes):
        g = powers[c] / total - (1.0 if c == label else 0.0)
        for j in range(width):
            gradient[c * width + j] = g * row[j]
        gradient[classes * width + c] = g
    return math.log(total) + top - scores[label], gradient


def train(weights, steps, row_loss, optimizer, longest=None,
          factor=lambda step: 1.0):
    """Applies the mean gradient of each step's samples, in the order of the
    trace; the loss of every step. Changes `weights`."""
    losses = []
    for number, ids in enumerate(steps, 1):
        total = [0.0] * len(weights)
        loss = 0.0
        for i in ids:
            one, gradient = row_loss(weights, i)
            loss += one
            for j, g in enumerate(gradient):
                total[j] += g
        mean = clipped([g / len(ids) for g in total], longest)
        optimizer.apply(weights, mean, factor(number))
        losses.append(loss / len(ids))
    return losses


def flat_weights(path):
    """All of an emulated model, which lies in parts, in one array."""
    tensors = read_safetensors(path)
    return numpy.concatenate([numpy.asarray(tensors[name], float).ravel()
                              for name in sorted(tensors)])


# -- the emulated model --------------------------------------------------------


def philox(counter, key):
    """Philox4x32-10 (doi:10.1145/2063384.2063405) on arrays of counters."""
    low = numpy.uint64(0xFFFFFFFF)
    shift = numpy.uint64(32)
    c = [numpy.asarray(x, numpy.uint64) for x in counter]
    k0, k1 = key
    for _ in range(10):
        a = numpy.uint64(0xD2511F53) * c[0]
        b = numpy.uint64(0xCD9E8D57) * c[2]
        c = [(b >> shift) ^ c[1] ^ numpy.uint64(k0), b & low,
             (a >> shift) ^ c[3] ^ numpy.uint64(k1), a & low]
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def emulated_targets(rows):
    """a(id) in [-1, 1) for id = 0 .. rows - 1."""
    seed = 0x656D756C61746564
    ids = numpy.arange(rows, dtype=numpy.uint64)
    zero = numpy.zeros(rows, numpy.uint64)
    block = philox((ids, zero, zero, zero), (seed & 0xFFFFFFFF, seed >> 32))
    bits = (block[1] << numpy.uint64(32) | block[0]) >> numpy.uint64(11)
    return 2 * (bits.astype(float) * 2.0 ** -53) - 1


def emulated_run(parameters, steps, lr, rows):
    """Plain SGD from zeros: each sample leaves its mark in every weight, and in
    the loss of its step. The weights and the losses."""
    targets = emulated_targets(rows)
    slopes = 1 + (numpy.arange(parameters) % 7) / 8
    weights = numpy.zeros(parameters)
    losses = []
    for ids in steps:
        mine = targets[ids]
        losses.append(float(((weights[0] - mine) ** 2).mean()) / 2)
        weights -= lr * (weights - slopes * mine.mean())
    return weights, losses


def emulated_weights(parameters, steps, lr, rows):
    # The slopes repeat, and so do the weights.
    few = emulated_run(min(parameters, 7), steps, lr, rows)[0]
    return numpy.resize(few, parameters)
