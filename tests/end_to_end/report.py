"""Goal: the report of a run is one file that a browser shows without anything
else, of a run in any state, and nothing that a run was told becomes markup.
Method: headless Chromium opens the reports of real runs, one of which loses a
worker and one all of its processes, and that of a folder of hostile files.
"""
import json
import os
import signal
import unittest

from harness.jobs import emulated_job, merged
from harness.live_run import LiveRun
from harness.run_files import read_json, read_lines

from live_page import DRAWN, EVENTS, LEGENDS, MARKUP, Page

FACTS = """Object.fromEntries([...document.querySelectorAll("#facts div")].map(
  box => [...box.children].map(one => one.textContent)))"""
INTERRUPTIONS = """[...document.querySelectorAll("#interruptions tr")].map(
  line => [...line.cells].map(cell => cell.textContent))"""
TROUBLE = "document.getElementById('trouble').textContent"
STATE = "document.getElementById('state').textContent"
JOB = {
    "name": "report", "seed": 1,
    "data": {"train": {"format": "synthetic", "rows": 600, "features": 4,
                       "classes": 3}},
    "model": {"kind": "logistic"},
    "train": {"epochs": 5, "global_batch": 30,
              "optimizer": {"kind": "sgd", "lr": 0.1}},
    "elastic": {"workers": 2, "heartbeat_ms": 1000}}


class Report(Page):
    def shown(self, file):
        page = self.opened(file.as_uri())
        self.assertEqual(page.troubles, [])
        return page


class OfRuns(Report):
    def live(self, workers):
        """Trains until it is ended."""
        job = emulated_job(rows=4000, workers=workers, batch=100,
                           epochs=100000, us_per_sample=100,
                           trace_samples=False)
        return LiveRun(job, self.folder / "live",
                       self.environment["BALLAST_CACHE"])

    def test_every_run_leaves_one(self):
        run = self.run_job(JOB)
        page = self.shown(run / "report.html")
        report = read_json(run / "report.json")
        facts = page.value(FACTS)
        self.assertEqual(page.value(STATE), "done")
        self.assertEqual(facts["steps"], str(report["steps"]))
        self.assertEqual(facts["audit"], "2,400 once, 0 lost, 0 repeated")
        self.assertEqual(float(facts["test accuracy"]),
                         float(f"{report['test_accuracy']:.3g}"))
        drawn = page.value(DRAWN)
        self.assertEqual(len(drawn["loss"]), 2)
        self.assertEqual(len(drawn["share"]), 2)
        legend = page.value(LEGENDS)["loss"]
        last = read_lines(run / "steps.jsonl")[-1]["loss"]
        self.assertEqual(float(legend[0].split()[-1]), float(f"{last:.3g}"))
        self.assertEqual(len(page.value(EVENTS)),
                         len(read_lines(run / "events.jsonl")))
        for width, dark in ((400, False), (1400, True)):
            page.size(width, 1200, dark)
            self.assertEqual(
                page.value("document.documentElement.scrollWidth"), width)

    def test_a_recovery_is_told_with_its_phases(self):
        with self.live(3) as live:
            live.wait_full(3, 5)
            os.kill(live.workers()["w2"], signal.SIGKILL)
            live.wait_for(lambda: live.poll() or live.newest > 1 and live.full(
                len(live.members[live.newest]), 5), "a recovery")
            live.stop()
        page = self.shown(live.run / "report.html")
        head, line = page.value(INTERRUPTIONS)[:2]
        self.assertEqual(head[3], "detect fence plan open sync first step ")
        [told] = [e for e in read_lines(live.run / "events.jsonl")
                  if e["kind"] == "generation" and e["generation"] == 2]
        self.assertEqual(line[1], str(told["step"]))
        self.assertEqual(line[2], f"{told['ms']:.0f} ms")
        self.assertIn("w2", line[4])

    def test_of_a_run_that_was_killed_it_is_made_when_asked(self):
        with self.live(2) as live:
            live.wait_full(2, 5)
            for pid in live.family():
                os.kill(pid, signal.SIGKILL)
        self.assertFalse((live.run / "report.html").exists())
        with open(live.run / "events.jsonl", "a", encoding="utf-8") as file:
            file.write('{"seq": 99, "ki')
        out = self.folder / "killed.html"
        told = self.ballast("report", live.run, "-o", out)
        self.assertEqual(told.out, f"{out}\n")
        page = self.shown(out)
        self.assertEqual(page.value(STATE), "not ended")
        self.assertIn("events.jsonl is damaged from line", page.value(TROUBLE))
        self.assertEqual(len(page.value(DRAWN)["loss"]), 1)

    def test_a_life_that_follows_keeps_the_one_before(self):
        run = self.run_job(merged(JOB, {"train": {"epochs": 100000},
                                        "stop": {"max_minutes": 0.004}}))
        before = (run / "report.html").read_bytes()
        self.ballast("run", "--resume", run, "--no-progress", "--set",
                     "/stop/max_minutes=0.006")
        self.assertEqual((run / "report-1.html").read_bytes(), before)
        self.assertNotEqual((run / "report.html").read_bytes(), before)


class OfSeveral(Report):
    def test_runs_are_laid_over_each_other(self):
        runs = [self.run_job(JOB), self.run_job(merged(
            JOB, {"train": {"epochs": 3, "optimizer": {"lr": 0.02}}}))]
        out = self.folder / "both.html"
        told = self.ballast("compare", *runs, "-o", out).out.splitlines()
        self.assertEqual(told, ["/train/epochs:  5  3",
                                "/train/optimizer/lr:  0.1  0.02", str(out)])
        page = self.shown(out)
        drawn = page.value(DRAWN)
        self.assertEqual([len(drawn[one]) for one in (
            "loss", "test_loss", "samples_per_s", "test_accuracy")
            if one in drawn and one != "samples_per_s"], [2, 2, 2])
        self.assertEqual(
            [line.split()[0] for line in page.value(LEGENDS)["loss"]],
            [run.name for run in runs])
        page.value("document.getElementById('over').value = 'step'; "
                   "document.getElementById('over').dispatchEvent("
                   "new Event('change'))")
        self.assertEqual(page.value(DRAWN)["loss"][0] > 5, True)
        cells = page.value("""[...document.querySelectorAll("#differences tr")
          ].map(line => [...line.cells].map(cell => cell.textContent))""")
        self.assertEqual(cells[1:], [["/train/epochs", "5", "3"],
                                     ["/train/optimizer/lr", "0.1", "0.02"]])

    def test_like_jobs_have_no_difference(self):
        runs = [self.run_job(JOB), self.run_job(JOB)]
        self.assertEqual(self.ballast("compare", *runs).out, "")
        self.refused(2, "compare", "compare", runs[0])


class OfAnything(Report):
    def test_names_and_reasons_are_text(self):
        run = self.folder / MARKUP.replace("/", "")
        run.mkdir()
        for name, content in (
                ("job.json", {"name": MARKUP + "</script>"}),
                ("report.json", {"state": MARKUP, "reason": MARKUP,
                                 "best": {"metric": MARKUP, "value": 1.0,
                                          "step": 1}}),
                ("events.jsonl", {"seq": 1, "t_ns": 10**9, "time": MARKUP,
                                  "kind": MARKUP, "reason": MARKUP}),
                ("steps.jsonl", {"step": 1, "loss": 1.0, "t_ns": 2 * 10**9,
                                 "world": 1, "samples": 1})):
            (run / name).write_text(json.dumps(content) + "\n",
                                    encoding="utf-8")
        out = self.folder / "hostile.html"
        self.ballast("report", run, "-o", out)
        page = self.shown(out)
        self.assertEqual(
            page.value("document.querySelectorAll('img').length"), 0)
        self.assertIn(MARKUP, page.value(EVENTS)[0])
        self.assertIn(MARKUP, page.value(TROUBLE))

    def test_what_is_no_run_or_is_there_already_is_refused(self):
        self.refused(2, ["has no job.json that can be read",
                         "expected the directory of a run"],
                     "report", self.folder)
        run = self.run_job(JOB)
        out = self.write("mine.html", "mine")
        self.refused(2, ["mine.html: exists already",
                         "expected the name of a new file"],
                     "report", run, "-o", out)
        self.assertEqual(out.read_text(encoding="utf-8"), "mine")
        self.refused(2, "no/such.html", "report", run, "-o",
                     self.folder / "no" / "such.html")


if __name__ == "__main__":
    unittest.main()
