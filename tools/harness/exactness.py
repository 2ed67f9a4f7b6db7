"""Was every sample used exactly once? An answer from what a run left on disk,
by code that shares nothing with `ballast audit`.

Reads trace/, steps.jsonl and manifest.json, nothing else. A worker's trace says
what it fed to the gradient, steps.jsonl says which attempt of a step counted:
the lines of a trace with the same (generation, plan, step). So a run with
crashes, joins and repeated attempts is checked by the same rule as a quiet one.
"""
import collections
import json
import pathlib
import sys
import unittest.mock


class Findings:
    """`problems` is empty where all is well."""

    def __init__(self):
        self.problems = []
        self.rows = 0          # of the training set
        self.steps = 0         # committed
        self.samples = 0       # in committed steps
        self.epochs_finished = 0
        self.attempts_left = 0  # lines of attempts that did not commit
        self.ids_of_step = {}   # step -> {file of trace: ids}

    def problem(self, text):
        self.problems.append(text)

    def __str__(self):
        head = (f"{self.steps} steps, {self.samples} samples, "
                f"{self.epochs_finished} epochs of {self.rows} rows; ")
        return head + ("fine" if not self.problems else
                       f"{len(self.problems)} problems:\n  " +
                       "\n  ".join(self.problems[:20]))


def expand(runs):
    """"0+3 7" -> [0, 1, 2, 7]"""
    out = []
    for run in runs.split():
        first, _, count = run.partition("+")
        out.extend(range(int(first), int(first) + int(count or 1)))
    return out


def complete_lines(path, findings):
    """(number, object) of every line that ends; a torn last one is ignored."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            yield number, json.loads(line)
        except ValueError:
            findings.problem(f"{path.name} line {number} is no JSON")


def table(path):
    """Column name -> list, of an Arrow IPC stream."""
    # Debian's NumPy is older than pyarrow accepts; without any it works.
    with unittest.mock.patch.dict(sys.modules, {"numpy": None}):
        import pyarrow.ipc  # only sets of many chunks have tables
    with pyarrow.ipc.open_stream(path.read_bytes()) as reader:
        return reader.read_all().to_pydict()


def chunks_of(run):
    """(id, rows, sample_ids) of each training chunk."""
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    if "tables" not in manifest:
        for chunk in manifest["train"]:
            yield chunk["id"], chunk["rows"], expand(chunk["samples"])
        return
    rows = table(run / "chunks.arrow")["rows"]
    runs = table(run / "samples.arrow")
    for number in range(manifest["tables"]["train_chunks"]):
        yield number, rows[number], [
            first + k for first, count in zip(runs["samples"][number],
                                              runs["sample_counts"][number])
            for k in range(count)]


def read_manifest(run, findings):
    """All sample_ids; they must count the prepared rows from 0."""
    ids = []
    for number, rows, of_chunk in chunks_of(run):
        if len(of_chunk) != rows:
            findings.problem(f"chunk {number} has {rows} rows, "
                             f"but {len(of_chunk)} samples")
        ids.extend(of_chunk)
    findings.rows = len(ids)
    if sorted(ids) != list(range(len(ids))):
        findings.problem("the samples of the manifest are not 0, 1, 2, ...")
    return findings.rows


def read_traces(run, findings):
    """attempt -> {file: (epoch, ids)}, attempt = (generation, plan, step)."""
    out = collections.defaultdict(dict)
    for path in sorted((run / "trace").glob("*.jsonl")):
        for number, line in complete_lines(path, findings):
            attempt = (line["generation"], line["plan"], line["step"])
            if path.name in out[attempt]:
                findings.problem(f"trace {path.name} line {number} repeats "
                                 f"(generation, plan, step) {attempt}")
            out[attempt][path.name] = (line["epoch"], line["ids"])
    return out


class Epoch:
    """The samples that the committed steps of one epoch used."""

    def __init__(self, number, rows, batch, findings):
        self.number, self.rows, self.batch = number, rows, batch
        self.findings = findings
        self.used = collections.Counter()
        self.steps = 0

    def add(self, step, ids):
        where = f"step {step['step']} (epoch {self.number})"
        left = self.rows - sum(self.used.values())
        expected = min(self.batch, left)
        if step["samples"] != expected:
            self.findings.problem(f"{where} has {step['samples']} samples, "
                                  f"expected {expected}")
        if len(ids) != step["samples"]:
            self.findings.problem(f"{where}: the traces hold {len(ids)} of "
                                  f"{step['samples']} samples")
        self.used.update(ids)
        self.steps += 1

    def check_repeats(self):
        twice = sorted(i for i, n in self.used.items() if n > 1)
        if twice:
            self.findings.problem(f"epoch {self.number} used {len(twice)} "
                                  f"samples repeatedly, as {twice[:5]}")
        strange = sorted(i for i in self.used if not 0 <= i < self.rows)
        if strange:
            self.findings.problem(f"epoch {self.number} used samples that do "
                                  f"not exist, as {strange[:5]}")

    def check_complete(self):
        lost = sorted(set(range(self.rows)) - set(self.used))
        if lost:
            self.findings.problem(f"epoch {self.number} lost {len(lost)} "
                                  f"samples, as {lost[:5]}")
        expected = -(-self.rows // self.batch)
        if self.steps != expected:
            self.findings.problem(f"epoch {self.number} has {self.steps} "
                                  f"steps, expected {expected}")


def check_order(before, step, findings):
    """Lines of steps.jsonl follow each other without gap or repeat."""
    if step["step"] != before["step"] + 1:
        findings.problem(f"step {step['step']} follows step {before['step']}")
    if step["epoch"] not in (before["epoch"], before["epoch"] + 1):
        findings.problem(f"epoch {step['epoch']} follows {before['epoch']}")
    for key in ("generation", "plan"):
        if step[key] < before[key]:
            findings.problem(f"step {step['step']}: {key} {step[key]} is below "
                             f"the {before[key]} of the step before")


def check_run(run, batch, epochs=None):
    """Findings on a run directory. `batch` is the job's global_batch. With
    `epochs` the run must have finished so many; without, it may have been cut,
    and its last epoch is checked for repeats only."""
    run = pathlib.Path(run)
    findings = Findings()
    rows = read_manifest(run, findings)
    traces = read_traces(run, findings)
    committed = set()
    epoch = None
    before = {"step": 0, "epoch": 0, "generation": 0, "plan": 0}
    for _, step in complete_lines(run / "steps.jsonl", findings):
        check_order(before, step, findings)
        if epoch is None or epoch.number != step["epoch"]:
            if epoch is not None:
                epoch.check_complete()
                epoch.check_repeats()
            epoch = Epoch(step["epoch"], rows, batch, findings)
        attempt = (step["generation"], step["plan"], step["step"])
        committed.add(attempt)
        parts = traces.get(attempt, {})
        for name, (of_epoch, _) in parts.items():
            if of_epoch != step["epoch"]:
                findings.problem(f"step {step['step']} is of epoch "
                                 f"{step['epoch']}, in {name} of {of_epoch}")
        ids = [i for _, part in parts.values() for i in part]
        epoch.add(step, ids)
        findings.ids_of_step[step["step"]] = {
            name: part for name, (_, part) in parts.items()}
        findings.steps += 1
        findings.samples += step["samples"]
        before = step
    whole = epoch is not None and sum(epoch.used.values()) >= rows
    findings.epochs_finished = before["epoch"] - (0 if whole else 1)
    if epoch is not None:
        epoch.check_repeats()
        if whole or epochs is not None:
            epoch.check_complete()
    if epochs is not None and findings.epochs_finished != epochs:
        findings.problem(f"{findings.epochs_finished} epochs are finished, "
                         f"expected {epochs}")
    findings.attempts_left = sum(
        len(files) for attempt, files in traces.items()
        if attempt not in committed)
    return findings
