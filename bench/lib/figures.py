"""What of a benchmark's raw measurements is kept in the repository: one line of
JSON per figure, with its median, extremes and count, and the machine.

Raw measurements are nested dictionaries and lists, as each benchmark likes
them. A list holds repeats, or rows of a table; words, and the numbers named in
`IDENTITY`, say which row a number belongs to.
"""
import json
import statistics

# Numbers that say what was measured, not how it came out.
IDENTITY = {"ranks", "bytes", "workers", "classes", "burst"}
# Not figures: the single run behind them, and which of the repeats it was.
IGNORED = {"seed", "report", "plan"}
# A table with more figures than these is kept as the benchmark sums it up: in its
# text and its verdicts.
FIGURES_MAX = 120


def number(value):
    """As a number, also where a program printed it as text; else None."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def is_summary(value):
    return isinstance(value, dict) and {"n", "median", "min", "max"} <= value.keys()


def collect(raw, address, found):
    """found[address] = every value measured there, or a summary of them."""
    if is_summary(raw):
        found[address] = raw
    elif isinstance(raw, list):
        for one in raw:
            collect(one, address, found)
    elif isinstance(raw, dict):
        figures = {key: value for key, value in raw.items() if key not in IGNORED}
        for key, value in list(figures.items()):
            if isinstance(value, str) and number(value) is None:
                address += (figures.pop(key),)
            elif key in IDENTITY and number(value) is not None:
                address += (f"{int(float(figures.pop(key)))} {key}",)
        for key, value in figures.items():
            collect(value, address + (key,), found)
    elif number(raw) is not None:
        found.setdefault(address, []).append(number(raw))


def lines(part, machine, raw, verdicts):
    """The lines of one part, verdicts first."""
    where = {k: machine[k] for k in ("cpu", "cores", "commit", "date", "load_1min")}
    out = []
    for one in verdicts:
        out.append({"part": part, "figure": one["what"], "median": one["measured"], "unit": one["unit"],
                    "limit": one["limit"], "met": one["met"], "machine": where})
    found = {}
    for name, table in raw.items() if isinstance(raw, dict) else [("", raw)]:
        figures = {}
        collect(table, (name,) if name else (), figures)
        if len(figures) <= FIGURES_MAX:
            found.update(figures)
    for address, values in found.items():
        if not is_summary(values):
            values = {"n": len(values), "median": statistics.median(values), "min": min(values), "max": max(values)}
        out.append({"part": part, "figure": ", ".join(map(str, address)), "median": round(values["median"], 6),
                    "least": round(values["min"], 6), "most": round(values["max"], 6), "n": values["n"],
                    "machine": where})
    return out


def read(path):
    """Lines by part; nothing where there is no such file."""
    out = {}
    try:
        with open(path) as f:
            for text in f:
                line = json.loads(text)
                out.setdefault(line["part"], []).append(line)
    except FileNotFoundError:
        pass
    return out
