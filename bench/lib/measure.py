"""What every benchmark needs: statistics, the machine's description, one run
of `ballast`, and results kept as text and JSON. Python's standard library only.

A benchmark measures its subjects in turn (A B C, A B C, ...), never all
repeats of one and then all of the next: a machine that slows down for a minute
then slows all of them. What counts is the median over the repeats.
"""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from lib import figures

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(ROOT, "bench", "results")
RAW = os.path.join(ROOT, "build", "bench")


# -- numbers -------------------------------------------------------------------


def summary(values, digits=4):
    """Median, extremes and count; what is shown of any list of figures."""
    values = [v for v in values if v is not None]
    if not values:
        return {"n": 0}
    return {
        "n": len(values),
        "median": round(statistics.median(values), digits),
        "min": round(min(values), digits),
        "max": round(max(values), digits),
    }


def step_times_ms(times_ns, skip):
    """Mean and median time of a step from the moments of completion.

    The mean is what a run costs and holds every rare pause; the median is what
    a step usually costs. The first `skip` steps are warm-up.
    """
    kept = times_ns[skip:]
    between = [(b - a) / 1e6 for a, b in zip(kept, kept[1:])]
    if len(between) < 10:
        raise SystemExit(f"only {len(times_ns)} steps were done, {skip + 11} or more are needed")
    return {
        "mean_ms": (kept[-1] - kept[0]) / 1e6 / len(between),
        "median_ms": statistics.median(between),
        "p99_ms": statistics.quantiles(between, n=100)[98],
        "steps": len(between),
    }


# -- the machine ---------------------------------------------------------------


def machine():
    """What a figure depends on, as far as it can be read."""
    cpu = platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            cpu = next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release().split("-")[0],
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "load_1min": round(os.getloadavg()[0], 2),
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def commit():
    """The commit that is measured, with a + where files differ from it."""
    git = ["git", "-C", ROOT]
    try:
        name = subprocess.run(git + ["rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(git + ["status", "--porcelain", "-uno"], capture_output=True, text=True)
        return name.stdout.strip() + ("+" if changed.stdout.strip() else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def warn_if_busy():
    load = os.getloadavg()[0]
    if load > 1.0:
        say(f"note: load average {load:.1f}: something else runs here, the figures will be noisy")


def built(options, target):
    """The path of a program beside `ballast`, built first where that is a build
    folder: the default build may not have it."""
    folder = os.path.dirname(options.ballast)
    if os.path.exists(os.path.join(folder, "build.ninja")):
        subprocess.run(["ninja", "-C", folder, target], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, target)


# -- one run of ballast --------------------------------------------------------


class Ballast:
    """Runs jobs in fresh run directories under one scratch folder.

    The cache of prepared data lies in the scratch folder, too: the first run
    of a data set is a cold one, whatever ran on this machine before.
    """

    def __init__(self, binary, scratch):
        self.binary = binary
        self.scratch = scratch
        self.cache = os.path.join(scratch, "cache")
        self.runs = 0
        if not os.access(binary, os.X_OK):
            raise SystemExit(f"no program {binary}; build it with ./dev build")

    def run(self, job, changes=(), workers=2, cache=None, watch=None, environment=()):
        """One run to its end; ends the benchmark where the run fails.

        `watch(folder)` is called every few milliseconds while it goes on;
        `environment` is added to that of this program.
        Result: report (report.json), t_ns (of every committed step), folder,
        spawned_ns (CLOCK_MONOTONIC, the clock of t_ns).
        """
        self.runs += 1
        folder = os.path.join(self.scratch, f"run-{self.runs}")
        command = [self.binary, "run", job, "--json", "--no-progress", "--workers", str(workers), "--run-dir", folder]
        for change in changes:
            command += ["--set", change]
        env = {**os.environ, "BALLAST_CACHE": cache or self.cache, **dict(environment)}
        log = os.path.join(self.scratch, f"run-{self.runs}.log")
        with open(log, "wb") as errors:
            spawned_ns = time.monotonic_ns()
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=errors, stdin=subprocess.DEVNULL, env=env
            )
            try:
                while watch and process.poll() is None:
                    watch(folder)
                    time.sleep(0.01)
                code = process.wait()
            except BaseException:
                process.terminate()
                process.wait()
                raise
        if code != 0:
            with open(log) as f:
                raise SystemExit(f"ballast run {os.path.basename(job)} failed with exit code {code}:\n{f.read()}")
        with open(os.path.join(folder, "report.json")) as f:
            report = json.load(f)
        with open(os.path.join(folder, "steps.jsonl")) as f:
            t_ns = [json.loads(line)["t_ns"] for line in f]
        return {"report": report, "t_ns": t_ns, "folder": folder, "spawned_ns": spawned_ns}


# -- peers ---------------------------------------------------------------------


class Peer:
    """The Python environment in which other systems run, if there is one."""

    def __init__(self, folder):
        self.folder = folder
        self.python = os.path.join(folder, "bin", "python")

    def there(self):
        if os.access(self.python, os.X_OK):
            return True
        print(
            f"no peers in {shown(self.folder)}: measuring Ballast alone. To compare, make their environment\n"
            "(about 6 GB) with  bench/peers/setup.sh DIR  and pass  --peers DIR",
            flush=True,
        )
        return False

    def run(self, script, *arguments):
        """One run of bench/peers/SCRIPT without any network but the loopback;
        its last line is the result."""
        peers = os.path.join(ROOT, "bench", "peers")
        command = [sys.executable, os.path.join(peers, "loopback.py"), self.python, os.path.join(peers, script)]
        done = subprocess.run(
            command + [str(a) for a in arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise SystemExit(f"peer {script} failed with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])


# -- output --------------------------------------------------------------------

transcript = []  # every line said, for the readable copy of a result


def say(line=""):
    transcript.append(line.rstrip())
    print(line, flush=True)


def shown(path):
    """A path as a reader of the results should see it."""
    inside = os.path.relpath(path, ROOT)
    return path if inside.startswith("..") else inside


def table(rows):
    """Columns as wide as needed; the first row is the heading."""
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [str(row[0]).ljust(widths[0])] + [str(c).rjust(w) for c, w in zip(row[1:], widths[1:])]
        say("  " + "   ".join(cells))


def sections(path):
    """What was printed of each part: a part begins with "== NAME, "."""
    out, part = {}, None
    try:
        with open(path) as f:
            for line in f.read().split("\n"):
                if line.startswith("== "):
                    part = line[3:].split(",")[0]
                    out[part] = [""]
                if part:
                    out[part].append(line)
    except FileNotFoundError:
        pass
    for said in out.values():
        while said and not said[-1]:
            said.pop()
    return out


class Verdicts:
    """Limits and whether they are met; `--check` makes them the exit code."""

    def __init__(self):
        self.found = []

    def at_most(self, what, value, limit, unit):
        self._add(what, value, limit, unit, "<=", value <= limit)

    def at_least(self, what, value, limit, unit):
        self._add(what, value, limit, unit, ">=", value >= limit)

    def _add(self, what, value, limit, unit, sign, met):
        self.found.append(
            {"what": what, "measured": round(value, 4), "limit": f"{sign} {limit}", "unit": unit, "met": met}
        )
        word = "met" if met else "NOT MET"
        say(f"  {what}: {value:.3g} {unit} (limit {sign} {limit} {unit}): {word}")

    def all_met(self):
        return all(one["met"] for one in self.found)


def parts_of(result):
    """Of a benchmark that measures all of its parts in one go, too."""
    if "parts" in result:
        return result["parts"]
    measured = [k for k, v in result.items() if isinstance(v, dict) and k != "machine"]
    return {
        part: {"machine": result["machine"], "raw": result[part], "verdicts": result["verdicts"] if part == measured[0] else []}
        for part in measured
    }


def measured_before(name):
    """Every measurement of earlier runs, by part."""
    try:
        with open(os.path.join(RAW, f"{name}.json")) as f:
            return json.load(f)["parts"]
    except (OSError, ValueError, KeyError):
        return {}


def keep(name, result, commit_it, before=()):
    """Writes what was said and every measurement into build/bench/; with
    `commit_it` what was said and one line per figure into bench/results/.
    `before`: lines of parts that an earlier run has measured."""
    about = result["machine"]
    head = f"{name}, {about['date']}, commit {about['commit']}: {about['cores']} cores of {about['cpu']}"
    for folder in [RAW] + ([RESULTS] if commit_it else []):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name) + ".txt", "w") as f:
            f.write("\n".join([head] + transcript) + "\n")
    raw = result
    if "parts" in result: # those that were not measured now are kept
        raw = {**result, "parts": {**measured_before(name), **result["parts"]}}
    with open(os.path.join(RAW, name) + ".json", "w") as f:
        json.dump(raw, f, indent=1)
        f.write("\n")
    written = [os.path.join(RAW, name) + ".json and .txt"]
    if commit_it:
        lines = list(before)
        for part, found in parts_of(result).items():
            lines += figures.lines(part, found["machine"], found["raw"], found["verdicts"])
        with open(os.path.join(RESULTS, name) + ".jsonl", "w") as f:
            f.writelines(json.dumps(line) + "\n" for line in lines)
        written.append(os.path.join(RESULTS, name) + ".jsonl and .txt")
    for path in written:
        print(f"written: {shown(path)}", flush=True)


def run_parts(name, options, parts):
    """Measures the parts that are asked for, in order, and keeps them beside
    what earlier runs have found of the others; ends the program.

    `parts`: by name, a function of Verdicts that returns its raw figures.
    """
    verdicts = Verdicts()
    kept = os.path.join(RESULTS if options.save else RAW, name)
    said_before, lines_before = sections(kept + ".txt"), figures.read(kept + ".jsonl")
    result = {"benchmark": name, "machine": machine(), "parts": {}}
    before = []
    for part, measure in parts.items():
        said, judged = len(transcript), len(verdicts.found)
        if part in options.only:
            about = machine()
            say(f"\n== {part}, {about['date']}, commit {about['commit']}, load {about['load_1min']}")
            raw = measure(verdicts)
            result["parts"][part] = {
                "machine": about,
                "repeats": options.repeats,
                "raw": raw,
                "verdicts": verdicts.found[judged:],
                "said": transcript[said:],
            }
        elif part in said_before:
            transcript.extend(said_before[part])
            before += lines_before.get(part, [])
    keep(name, result, options.save, before)
    sys.exit(1 if options.check and not verdicts.all_met() else 0)


def arguments(description, parts, only_if_asked=(), more=None):
    """The options that every benchmark has, and those that `more` adds to the
    parser."""
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--repeats", type=int, default=5, help="alternated repeats; medians count (default 5)")
    p.add_argument("--only", choices=[*parts, *only_if_asked], action="append", help="only this part; may be repeated")
    p.add_argument(
        "--peers",
        default=os.environ.get("BALLAST_PEERS", os.path.join(ROOT, "build", "peers")),
        help="environment made by bench/peers/setup.sh (default $BALLAST_PEERS or build/peers)",
    )
    p.add_argument(
        "--ballast", default=os.path.join(ROOT, "build", "release", "ballast"), help="the program to measure"
    )
    p.add_argument("--save", action="store_true", help="also write bench/results/, the committed copy")
    p.add_argument("--check", action="store_true", help="exit 1 where a limit is not met")
    if more:
        more(p)
    chosen = p.parse_args()
    chosen.ballast = os.path.abspath(chosen.ballast)
    chosen.only = chosen.only or parts
    if chosen.repeats < 1:
        p.error("--repeats: expected 1 or more")
    return chosen


class Scratch:
    """A temporary folder on the disk of the project, removed at the end."""

    def __enter__(self):
        os.makedirs(RAW, exist_ok=True)
        self.path = tempfile.mkdtemp(prefix="scratch.", dir=RAW)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
