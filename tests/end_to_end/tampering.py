"""Goal: nobody can change a record of a run, a checkpoint, the data, the job or
the build without `ballast audit` or `ballast run --resume` naming it. Method:
one stopped run of which a worker died once; a copy of it for every change.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import tempfile
import unittest

from harness.jobs import merged
from harness.run_files import read_lines
from harness.waiting import wait_until

from resume import ROWS, Resume, quick
from run_digest import checkpoints_of, digest


def edit_json(path, change):
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")


def json_field(name, where, to):
    """A change of one field; `to` may be a function of what it was."""
    def change(run):
        def edit(value):
            *outer, last = where
            for key in outer:
                value = value[key]
            value[last] = to(value[last]) if callable(to) else to
        edit_json(run / name, edit)
    return change


def lines(name, change):
    """Changes the list of a file's lines; `name` may be a pattern."""
    def apply(run):
        path = sorted(run.glob(name))[0]
        text = path.read_text(encoding="utf-8").splitlines()
        change(text)
        path.write_text("".join(one + "\n" for one in text), encoding="utf-8")
    return apply


def line_field(name, number, field, to):
    def change(text):
        line = json.loads(text[number])
        line[field] = to(line[field])
        text[number] = json.dumps(line)
    return lines(name, change)


@contextlib.contextmanager
def ledger(run):
    """Closed behind the change: nothing beside the file is left."""
    with contextlib.closing(sqlite3.connect(run / "ledger.sqlite")) as on:
        with on:
            yield on


def sql(*statements):
    def change(run):
        with ledger(run) as on:
            for one in statements:
                assert on.execute(one).rowcount > 0, one
    return change


def plan_body(edit, newest=False):
    def change(run):
        order = "DESC" if newest else "ASC"
        with ledger(run) as on:
            number, body = on.execute(
                "SELECT number, body FROM plan WHERE step IS NOT NULL "
                f"ORDER BY number {order}").fetchone()
            body = json.loads(body)
            edit(body)
            on.execute("UPDATE plan SET body = ? WHERE number = ?",
                       (json.dumps(body), number))
    return change


def swap_owners(body):
    one, other = body["shares"][0], body["shares"][1]
    a, b = one["intervals"], other["intervals"]
    a[0], b[0] = b[0], a[0]
    a.sort()
    b.sort()


def drop_interval(body):
    del body["shares"][0]["intervals"][0]


def more_weight(body):
    body["shares"][0]["batch_weight"] *= 3


def job_in_ledger(*where, to):
    def change(run):
        with ledger(run) as on:
            job = json.loads(on.execute("SELECT job FROM run").fetchone()[0])
            place = job
            for key in where[:-1]:
                place = place[key]
            place[where[-1]] = to
            on.execute("UPDATE run SET job = ?", (json.dumps(job),))
    return change


def newest(run):
    return run / "checkpoints" / f"step-{checkpoints_of(run)[-1]}"


def older(run):
    return run / "checkpoints" / f"step-{checkpoints_of(run)[-2]}"


def flip(path, at=-5):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(bytes(content))


def older_as_newest(run):
    shutil.rmtree(newest_folder := newest(run))
    shutil.copytree(sorted((run / "checkpoints").glob("step-*"), key=lambda p:
                           int(p.name.rpartition("-")[2]))[-1], newest_folder)


def older_state_as_newest(run):
    for name in ("bytes", "slices"):
        about = json.loads((older(run) / "manifest.json").read_text())
        json_field("manifest.json", [name], about[name])(newest(run))
    shutil.copy(older(run) / "state.safetensors", newest(run))


def remove(name):
    return lambda run: sorted(run.glob(name))[0].unlink()


def write(name, content):
    return lambda run: (run / name).write_bytes(content)


def folder(name):
    """A folder with something in it, where a file belongs."""
    def change(run):
        (run / name).unlink()
        (run / name).mkdir()
        (run / name / "mine").write_text("mine", encoding="utf-8")
    return change


def file_for_folder(name):
    def change(run):
        shutil.rmtree(run / name)
        (run / name).write_text("mine", encoding="utf-8")
    return change


def in_newest(name, where, to):
    return lambda run: json_field(name, where, to)(newest(run))


def twice(text):
    text.insert(4, text[3])


def exchange(text):
    text[3], text[4] = text[4], text[3]


def next_line(text):
    line = json.loads(text[-1])
    line["step"] += 1
    text.append(json.dumps(line))


# What `ballast audit` must name: the change, and what it says.
AUDITED = [
    ("ledger: seed", sql("UPDATE run SET seed = seed + 1"), "seed"),
    ("ledger: rows", sql("UPDATE run SET rows = rows - 1"), "rows"),
    ("ledger: batch", job_in_ledger("train", "global_batch", to=49),
     "job.json differs"),
    ("ledger: epochs", job_in_ledger("train", "epochs", to=3),
     "job.json differs"),
    ("ledger: learning rate",
     job_in_ledger("train", "optimizer", "lr", to=0.2), "job.json differs"),
    ("ledger: set", sql("UPDATE origin SET manifest = '0'"),
     "manifest.json is not the one"),
    ("ledger: key", sql("UPDATE origin SET identity = '0123456789abcdef'"),
     "lineage"),
    ("ledger: first plan gone", sql("DELETE FROM plan_note WHERE number = 1",
                                    "DELETE FROM plan WHERE number = 1"),
     "ledger"),
    ("ledger: a plan gone",
     sql("DELETE FROM plan_note WHERE number = 2",
         "DELETE FROM plan WHERE number = 2"), "ledger"),
    ("ledger: two owners exchanged", plan_body(swap_owners), "ledger"),
    ("ledger: an interval gone", plan_body(drop_interval), "plan 1"),
    ("ledger: a weight", plan_body(more_weight), "ledger"),
    ("ledger: where a plan begins",
     sql("UPDATE plan SET step = step + 1 WHERE number = 2"), "plan 2"),
    ("ledger: a plan's number",
     plan_body(lambda body: body.update(number=77)), "77"),
    ("ledger: progress ahead", sql("UPDATE progress SET step = step + 5"),
     "the journal says"),
    ("ledger: progress behind", sql("UPDATE progress SET step = step - 5"),
     "the journal says"),
    ("ledger: a member", sql("UPDATE member SET worker = 77 WHERE rank = 0"),
     "not in its generation"),
    ("ledger: a member's name",
     sql("UPDATE member SET name = 'x' WHERE name = 'w1'"),
     "belongs to no worker"),
    ("steps: samples", line_field("steps.jsonl", 5, "samples",
                                  lambda n: n + 1), "step 6 has samples"),
    ("steps: plan", line_field("steps.jsonl", 5, "plan", lambda n: n + 1),
     "step 6 has plan"),
    ("steps: generation", line_field("steps.jsonl", 5, "generation",
                                     lambda n: n + 1), "has generation"),
    ("steps: epoch", line_field("steps.jsonl", 5, "epoch", lambda n: n + 1),
     "step 6 has epoch"),
    ("steps: world", line_field("steps.jsonl", 5, "world", lambda n: n + 1),
     "step 6 has world"),
    ("steps: a line gone", lines("steps.jsonl", lambda text: text.pop(4)),
     "after step 4 comes step 6"),
    ("steps: a line twice", lines("steps.jsonl", twice),
     "after step 4 comes step 4"),
    ("steps: two lines exchanged", lines("steps.jsonl", exchange),
     "after step 3 comes step 5"),
    ("steps: the last line gone", lines("steps.jsonl",
                                        lambda text: text.pop()), "steps"),
    ("steps: a line more", lines("steps.jsonl", next_line), "steps"),
    ("steps: no JSON", lines("steps.jsonl",
                             lambda text: text.insert(3, "{step}")), "line 4"),
    ("steps: gone", remove("steps.jsonl"), "steps.jsonl"),
    ("trace: another sample",
     line_field("trace/w1.1.jsonl", 2, "ids", lambda ids: [599] + ids[1:]),
     "trace/w1.1.jsonl line 3"),
    ("trace: a sample more",
     line_field("trace/w1.1.jsonl", 2, "ids", lambda ids: ids + [ids[0]]),
     "trace/w1.1.jsonl line 3"),
    ("trace: a line gone", lines("trace/w1.1.jsonl",
                                 lambda text: text.pop(2)), "none of worker"),
    ("trace: another generation", line_field("trace/w1.1.jsonl", 2,
                                             "generation", lambda n: n + 9),
     "none of worker"),
    ("trace: another step", line_field("trace/w1.1.jsonl", 2, "step",
                                       lambda n: n + 1), "trace"),
    ("trace: gone", remove("trace/w1.1.jsonl"), "none of worker"),
    ("trace: of a stranger", write("trace/w99.1.jsonl", b"{}\n"),
     "belongs to no worker"),
    ("checkpoint: a bit", lambda run: flip(newest(run) / "state.safetensors"),
     "does not match its checksum"),
    ("checkpoint: torn", lambda run: os.truncate(
        newest(run) / "state.safetensors", 50), "has 50 bytes"),
    ("checkpoint: its step", in_newest("manifest.json", ["step"], 5),
     "its manifest is of step 5"),
    ("checkpoint: its lineage", in_newest("manifest.json", ["lineage"],
                                          "0123456789abcdef"), "lineage"),
    ("checkpoint: no manifest",
     lambda run: (newest(run) / "manifest.json").unlink(), "is missing"),
    ("checkpoint: an older one in its place", older_as_newest,
     "its manifest is of step"),
    ("checkpoint: an older state in its place", older_state_as_newest,
     "its state is that of step"),
    ("manifest: rows", json_field("manifest.json", ["train_rows"], 599),
     "manifest"),
    ("manifest: a checksum", json_field(
        "manifest.json", ["train", 0, "checksum"], "0" * 16),
     "manifest.json is not the one"),
    ("manifest: samples", json_field(
        "manifest.json", ["train", 0, "samples"],
        lambda text: text.replace("0+", "1+")), "manifest"),
    ("manifest: gone", remove("manifest.json"), "manifest.json"),
    ("job.json: the seed", json_field("job.json", ["seed"], 99),
     "job.json differs from the job in the journal at /seed"),
    ("job.json: the model", json_field("job.json", ["model", "parameters"], 9),
     "at /model/parameters"),
    ("report: steps", json_field("report.json", ["steps"], lambda n: n - 1),
     "report.json says"),
    ("report: lineage", json_field("report.json", ["lineage"], "0" * 16),
     "report.json names lineage"),
    ("model: a bit", lambda run: flip(run / "model.safetensors"),
     "model.safetensors"),
    ("model: gone", remove("model.safetensors"),
     "model.safetensors is missing"),
    ("model: a folder", folder("model.safetensors"),
     "model.safetensors is a folder"),
    ("job.json: gone", remove("job.json"), "job.json is missing"),
    ("job.json: a folder", folder("job.json"), "job.json"),
    ("run.key: half", lambda run: os.truncate(run / "run.key", 16),
     "run.key is not the key"),
    ("run.key: gone", remove("run.key"), "run.key is missing"),
    ("run.key: a folder", folder("run.key"), "run.key is a folder"),
    ("manifest: a folder", folder("manifest.json"),
     "manifest.json is a folder"),
    ("report: a folder", folder("report.json"), "report.json"),
    ("report: half", lambda run: os.truncate(run / "report.json", 40),
     "report.json is no JSON object"),
    ("steps: a folder", folder("steps.jsonl"), "steps.jsonl"),
    ("events: a folder", folder("events.jsonl"), "events.jsonl is a folder"),
    ("ledger: a folder", folder("ledger.sqlite"), "ledger.sqlite is a folder"),
    ("checkpoints: a file", file_for_folder("checkpoints"),
     "checkpoints is a file"),
]

# They hold the number of the process that had them last.
LOCKS = {"run.lock", "coordinator.lock"}

def without_index(files):
    """Whoever reads a log of SQLite makes the index beside it."""
    return {name: what for name, what in files.items()
            if name != "ledger.sqlite-shm"}


def changes(before, after):
    return {name for name in before.keys() | after.keys()
            if before.get(name) != after.get(name)}


# What `ballast run --resume` must refuse, and leave everything as it is.
REFUSED = [
    ("ledger: key", sql("UPDATE origin SET identity = '0123456789abcdef'"),
     "run.key"),
    ("ledger: seed", sql("UPDATE run SET seed = seed + 1"), "seed"),
    ("ledger: gone", remove("ledger.sqlite"), "ledger.sqlite is missing"),
    ("ledger: empty", write("ledger.sqlite", b""), "ledger.sqlite is empty"),
    ("ledger: cut", lambda run: os.truncate(run / "ledger.sqlite", 5000),
     "ledger.sqlite cannot be read"),
    ("ledger: something else", write("ledger.sqlite", b"hello" * 999),
     "ledger.sqlite cannot be read"),
    ("steps: samples", line_field("steps.jsonl", 5, "samples",
                                  lambda n: n + 1), "step 6 has samples"),
    ("code: another build", sql("UPDATE origin SET build = 'b0'"), "build"),
    ("job.json: the seed", json_field("job.json", ["seed"], 99), "/seed"),
    ("job.json: the batch", json_field(
        "job.json", ["train", "global_batch"], 49), "/train"),
    ("job.json: gone", remove("job.json"), "job.json is missing"),
    ("run.key: another", write("run.key", b"0" * 32), "run.key"),
    ("run.key: half", lambda run: os.truncate(run / "run.key", 16),
     "run.key is not the key"),
    ("run.key: empty", write("run.key", b""), "run.key is empty"),
    ("run.key: gone", remove("run.key"), "run.key is missing"),
    ("run.key: a folder", folder("run.key"), "run.key is a folder"),
    ("steps: a folder", folder("steps.jsonl"), "steps.jsonl is a folder"),
    ("events: a folder", folder("events.jsonl"), "events.jsonl is a folder"),
    ("workers.json: a folder", folder("workers.json"),
     "workers.json is a folder"),
    ("coordinator.json: a folder", folder("coordinator.json"),
     "coordinator.json is a folder"),
    ("ledger: a folder", folder("ledger.sqlite"), "ledger.sqlite is a folder"),
    ("trace: a file", file_for_folder("trace"), "trace"),
    ("checkpoints: a file", file_for_folder("checkpoints"), "checkpoints"),
    ("report: done", json_field("report.json", ["state"], "done"),
     "is done: there is nothing to go on with"),
]

# The data, which are not in the run directory.
DATA = [
    ("a row", ROWS.replace("37,1", "38,1", 1), "training data have changed"),
    ("fewer rows", ROWS[:-6], "training data have changed"),
    ("another order", "\n".join(["x,y", *reversed(ROWS.split("\n")[1:-1])]) +
     "\n", "training data have changed"),
]


class Tampering(Resume):
    def setUp(self):
        super().setUp()
        self.table = self.write("train.csv", ROWS)
        job = merged(quick(epochs=60), {"elastic": {"respawn": True}})
        job["data"]["train"] = {"format": "csv", "uri": str(self.table),
                                "label": "y"}
        job["balance"] = {"enabled": False}
        one, self.run_dir = self.begin(job)
        os.kill(self.pids(self.run_dir)["w2"], signal.SIGKILL)
        wait_until(lambda: len(checkpoints_of(self.run_dir)) == 3 and
                   read_lines(self.run_dir / "steps.jsonl")[-1]["world"] == 2
                   and read_lines(self.run_dir / "steps.jsonl")[-1]["plan"] > 2,
                   "checkpoints, and a plan of both again")
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(20), 130, one)
        self.ballast("audit", self.run_dir)

    def copies(self, table, act):
        """Changes a copy of the run for each row, and prints what came of it;
        how many were not found."""
        missed = []
        for number, (name, change, expected) in enumerate(table):
            copy = pathlib.Path(tempfile.mkdtemp(
                prefix=f"{act.__name__}-{number}-", dir=self.folder)) / "run"
            shutil.copytree(self.run_dir, copy)
            change(copy)
            told = act(copy)
            if expected not in told:
                missed.append((name, expected, told))
            print(f"{'missed' if expected not in told else 'found ':6}  "
                  f"{name:40}  {told[:110]}")
        return missed

    def audited(self, copy):
        before = without_index(digest(copy))
        one = self.start("audit", copy)
        code = one.wait(30)
        after = without_index(digest(copy))
        if after != before:
            return f"it has changed {changes(before, after)}"
        return one.out + one.last_line if code != 0 else "passed"

    def resumed(self, copy):
        before = without_index(digest(copy))
        one = self.resume_dir(copy)
        code = one.wait(30)
        after = without_index(digest(copy))
        changed = changes(before, after) - LOCKS
        # What only the data show is refused by a life that has begun.
        begun = "left as it was" in one.last_line
        if code != 0 and changed and not begun:
            return f"it has changed {sorted(changed)}: {one.last_line}"
        return one.last_line if code != 0 else "passed"

    def test_every_change_is_found_by_name(self):
        missed = self.copies(AUDITED, self.audited)
        missed += self.copies(REFUSED, self.resumed)
        missed += self.copies(
            [(f"data: {name}", lambda _, text=text: self.table.write_text(
                text, encoding="utf-8"), expected)
             for name, text, expected in DATA], self.resumed)
        self.table.write_text(ROWS, encoding="utf-8")
        every = len(AUDITED) + len(REFUSED) + len(DATA)
        print(f"{every - len(missed)} of {every} found by name")
        self.assertEqual(missed, [])
        self.assertGreaterEqual(every, 50)

    def test_a_strange_checkpoint_is_passed_over_by_name(self):
        other = self.folder / "other"
        shutil.copytree(self.run_dir, other)
        step = checkpoints_of(self.run_dir)[-1]
        in_newest("manifest.json", ["lineage"], "0123456789abcdef")(other)
        in_newest("manifest.json", ["generation"], 77)(self.run_dir)
        for run, why in ((other, "it is of other steps than the ledger's"),
                         (self.run_dir, "it is of generation 77")):
            again = self.resume_dir(run)
            again.said(f"cannot go on from .*step-{step}: {why}", "err")
            again.said(f"goes on from step {checkpoints_of(run)[-1]};", "err")
            self.kill_all(again)
            kept = run / "checkpoints" / "aside-1" / f"step-{step}"
            self.assertTrue((kept / "state.safetensors").exists())


if __name__ == "__main__":
    unittest.main()
