"""Goal: rows that come by a pipe train like those of a file: they are read
once, of any length, and kept, so that a run that was killed goes on without the
pipe. Method: the real program behind a shell's redirection, and a terminal.
"""
import json
import os
import pathlib
import unittest

from harness.run_files import read_json
from harness.waiting import wait_until

from recovery import job_of
from resume import Resume

ROWS = "".join(json.dumps({"x": i * 37 % 101, "y": i % 2}) + "\n"
               for i in range(600))


def piped(path):
    """The words before a command that is to read this file."""
    return ("sh", "-c", 'cat "$0" | "$@"', str(path))


def job(uri="-", epochs=4, **more):
    out = job_of(workers=2, epochs=epochs,
                 checkpoint={"every_steps": 10, "every_s": 0, "keep": 3})
    out["data"]["train"] = {"format": "jsonl", "uri": uri, "label": "y"}
    out["data"].update(more)
    return out


class StandardInput(Resume):
    def kept(self):
        folder = pathlib.Path(self.environment["BALLAST_CACHE"], "input")
        return sorted(folder.iterdir()) if folder.exists() else []

    def test_a_run_is_killed_and_goes_on_without_the_pipe(self):
        rows = self.write("rows.jsonl", ROWS)
        one, run = self.new_run(job(), wrapper=piped(rows))
        wait_until(lambda: self.committed(run) > 25, "steps")
        self.kill_all(one)
        rows.unlink()
        again = self.resume_dir(run)
        self.assertEqual(again.wait(60), 0, again)
        audit = self.audit(run)
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))
        source, = read_json(run / "manifest.json")["sources"]
        self.assertIn(pathlib.Path(source), self.kept())

    def test_the_same_rows_are_kept_and_prepared_once(self):
        rows = self.write("rows.jsonl", ROWS)
        description = self.write("job.json", job(epochs=1))
        self.assertEqual(
            len({json.loads(self.ballast("data", "prepare", description,
                                         "--json", wrapper=piped(rows)).out)
                 ["folder"] for _ in range(2)}), 1)
        self.assertEqual(len([one for one in self.kept()
                              if one.read_text() == ROWS]), 1)

    def test_other_commands_read_it_too(self):
        rows = self.write("rows.jsonl", ROWS)
        self.ballast("data", "split", "-", "--format", "jsonl",
                     "a.jsonl=0.5", "b.jsonl=0.5", wrapper=piped(rows))
        parts = [(self.folder / name).read_text().splitlines()
                 for name in ("a.jsonl", "b.jsonl")]
        self.assertEqual([len(part) for part in parts], [300, 300])
        told = json.loads(self.ballast("cache", "list", "--json").out)
        self.assertGreaterEqual(told["inputs"]["files"], 1)
        self.ballast("cache", "clear")
        self.assertEqual(self.kept(), [])

    def test_what_cannot_be_read_so_is_refused(self):
        description = self.write("job.json", job())
        self.refused(2, "standard input is empty", "run", description)
        twice = self.write("twice.json", job(
            test={"format": "jsonl", "uri": "-", "label": "y"}))
        self.refused(2, "can be read once", "run", twice)
        self.refused(2, "a file that it can read", "submit", description,
                     "--to", "127.0.0.1:1")
        self.refused(2, "kept with the run", "run", description, "--resume",
                     "--run-dir", "nowhere")
        terminal, ours = os.openpty()
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.close, ours)
        self.refused(2, "is a terminal", "run", description,
                     wrapper=("sh", "-c", f'"$@" < {os.ttyname(ours)}', "sh"))
        self.assertFalse(list(self.folder.glob("runs/*")))


if __name__ == "__main__":
    unittest.main()
