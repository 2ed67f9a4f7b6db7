#!/usr/bin/env python3
"""Draws docs/collectives.svg from bench/results/allreduce.jsonl: bus bandwidth
over size, with 2 and with 4 ranks. Python's standard library only.

  python3 bench/plot_allreduce.py
"""
import math
import os
import re

from lib import figures

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "bench", "results", "allreduce.jsonl")
SUBJECTS = [
    ("ring-shm", "ring, shared memory", "#1b6ca8", ""),
    ("ring-tcp", "ring, TCP", "#2a9d5c", ""),
    ("gloo", "gloo (train.collective)", "#c0392b", ""),
    ("stock gloo", "Gloo alone", "#c0392b", "5 4"),
    ("torch", "torch.distributed", "#8e5ba6", "2 3"),
]
WIDTH, HEIGHT = 380, 300  # of one panel's axes
LEFT, TOP, GAP, BOTTOM = 56, 34, 70, 96


def busbw_gb_s(rows, ranks):
    """subject -> [(bytes, GB/s)]"""
    found = {}
    for r in rows:
        if r["ranks"] == ranks:
            busbw = 2 * (ranks - 1) / ranks * r["bytes"] / r["median_ms"] / 1e6
            found.setdefault(r["subject"], []).append((r["bytes"], busbw))
    return {s: sorted(points) for s, points in found.items()}


def speeds():
    """The medians of the part "speed"."""
    shape = re.compile(r"(\d+) ranks, ([^,]+), (\d+) bytes, median_ms")
    medians = {line["figure"]: line["median"] for line in figures.read(RESULTS)["speed"]}
    matches = [(shape.fullmatch(name), ms) for name, ms in medians.items()]
    return [
        {"subject": m[2], "ranks": int(m[1]), "bytes": int(m[3]), "median_ms": ms} for m, ms in matches if m
    ]


class Panel:
    def __init__(self, left, sizes, lowest, highest):
        self.left, self.sizes = left, sizes
        self.low, self.high = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))

    def x(self, size):
        first, last = math.log2(self.sizes[0]), math.log2(self.sizes[-1])
        return self.left + (math.log2(size) - first) / (last - first) * WIDTH

    def y(self, value):
        return TOP + HEIGHT * (1 - (math.log10(value) - self.low) / (self.high - self.low))


def text(x, y, what, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{what}</text>'


def line(x1, y1, x2, y2, colour, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {more}/>'


def name_of(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def draw(panel, ranks, lines):
    out = [text(panel.left + WIDTH / 2, TOP - 12, f"{ranks} ranks on one machine", more='font-weight="bold"')]
    for size in panel.sizes:
        out.append(line(panel.x(size), TOP, panel.x(size), TOP + HEIGHT, "#e4e4e4"))
        out.append(text(panel.x(size), TOP + HEIGHT + 16, name_of(size)))
    for power in range(panel.low, panel.high + 1):
        value = 10.0**power
        out.append(line(panel.left, panel.y(value), panel.left + WIDTH, panel.y(value), "#e4e4e4"))
        out.append(text(panel.left - 6, panel.y(value) + 4, f"{value:g}", "end"))
    for subject, _, colour, dash in SUBJECTS:
        points = lines.get(subject, [])
        path = " ".join(f"{panel.x(b):.1f},{panel.y(v):.1f}" for b, v in points)
        dashes = f'stroke-dasharray="{dash}"' if dash else ""
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" {dashes}/>')
        out += [f'<circle cx="{panel.x(b):.1f}" cy="{panel.y(v):.1f}" r="3" fill="{colour}"/>' for b, v in points]
    return out


def main():
    rows = speeds()
    lines = {ranks: busbw_gb_s(rows, ranks) for ranks in sorted({r["ranks"] for r in rows})}
    sizes = sorted({r["bytes"] for r in rows})
    values = [v for found in lines.values() for points in found.values() for _, v in points]
    whole = LEFT + len(lines) * WIDTH + (len(lines) - 1) * GAP + 24
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{TOP + HEIGHT + BOTTOM}"'
        ' font-family="sans-serif" font-size="12" fill="#222">',
        "<title>All-reduce: bus bandwidth by size</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for i, (ranks, found) in enumerate(lines.items()):
        out += draw(Panel(LEFT + i * (WIDTH + GAP), sizes, min(values), max(values)), ranks, found)
    middle = TOP + HEIGHT / 2
    out.append(text(14, middle, "bus bandwidth, GB/s", more=f'transform="rotate(-90 14 {middle})"'))
    there = [s for s in SUBJECTS if any(s[0] in found for found in lines.values())]
    for i, (_, name, colour, dash) in enumerate(there):
        x, y = LEFT + i * 165, TOP + HEIGHT + 56
        out.append(line(x, y - 4, x + 26, y - 4, colour, f'stroke-width="2" stroke-dasharray="{dash or "none"}"'))
        out.append(text(x + 32, y, name, "start"))
    out.append("</svg>")
    with open(os.path.join(ROOT, "docs", "collectives.svg"), "w") as f:
        f.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
