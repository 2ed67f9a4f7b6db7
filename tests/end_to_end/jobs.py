"""Goal: the example jobs train as promised, and leave what they promise.
Method: each is run as a user runs it; what it wrote is read by independent
code: the safetensors wheel, hashlib, and a forward pass in numpy.
"""
import gzip
import hashlib
import json
import re
import sys
import unittest

import numpy

from harness.exactness import check_run
from harness.jobs import emulated_job
from harness.program import EXAMPLES, ROOT
from harness.run_files import read_json, read_lines

from ballast_test import BallastTest

sys.path.append(str(ROOT / ".deps" / "python"))
# pylint: disable=wrong-import-position
from safetensors.numpy import load_file  # noqa: E402

REPORT_KEYS = [
    "state", "epochs", "steps", "samples", "wall_s", "samples_per_s",
    "train_loss", "test_loss", "test_accuracy", "test_metrics", "time_s",
    "generations", "recoveries",
    "moved_samples", "moved_bytes", "moved_bound_samples", "skew_tv_start",
    "skew_tv_max", "weights_sha256", "model_step", "audit", "lineage"]
FASHION = "/usr/share/datasets/fashion-mnist/t10k-"


def example(name):
    return EXAMPLES / "jobs" / name


def read_idx(path, header):
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), "u1", offset=header)


def hash_of(tensors):
    """sha256 of the little-endian bytes of all parameters, by name."""
    out = hashlib.sha256()
    for name in sorted(tensors):
        out.update(numpy.ascontiguousarray(tensors[name], "<f4").tobytes())
    return out.hexdigest()


class Jobs(BallastTest):
    def finished(self, one, run, seconds=120):
        """Waits for the end; the report, which must be complete and clean."""
        self.assertEqual(one.wait(seconds), 0, one)
        report = read_json(run / "report.json")
        # An emulated model says nothing of a row.
        kind = read_json(run / "job.json")["model"]["kind"]
        self.assertEqual(list(report), [
            key for key in REPORT_KEYS
            if key != "test_metrics" or kind != "emulated"])
        self.assertEqual(report["state"], "done")
        audit = report["audit"]
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))
        self.assertEqual(audit["expected"], audit["once"])
        self.assertEqual(audit["once"], report["samples"])
        self.assertGreater(report["samples_per_s"], 0)
        self.assertGreater(report["wall_s"], 0)
        self.assertEqual((report["generations"], report["recoveries"]), (1, []))
        self.ballast("audit", run)
        self.nobody_left(one, 2)
        return report

    def run_example(self, name, *arguments):
        # What it learns, not what a crowded machine's silence is taken for.
        patient = ("--set", "/elastic/heartbeat_ms=1000")
        one, run = self.new_run(example(name), *patient, *arguments)
        return self.finished(one, run), run

    def test_fashion_mlp_learns_and_leaves_a_complete_run_directory(self):
        one, run = self.new_run(example("fashion_mlp.json"), "--json")
        report = self.finished(one, run)
        self.assertGreaterEqual(report["test_accuracy"], 0.84)
        self.assertEqual((report["epochs"], report["steps"]), (3, 3 * 235))
        self.assertEqual(report["samples"], 180000)
        # Nothing on stdout but the report, on one line.
        self.assertEqual(one.out.count("\n"), 1, one)
        self.assertEqual(json.loads(one.out), report)
        self.check_model(run, report)
        self.check_files(run)

    def check_model(self, run, report):
        model = load_file(run / "model.safetensors")
        self.assertEqual(
            {name: values.shape for name, values in model.items()},
            {"fc1.weight": (128, 784), "fc1.bias": (128,),
             "fc2.weight": (10, 128), "fc2.bias": (10,)})
        self.assertEqual(hash_of(model), report["weights_sha256"])
        pixels = read_idx(FASHION + "images-idx3-ubyte.gz", 16)
        labels = read_idx(FASHION + "labels-idx1-ubyte.gz", 8)
        rows = pixels.reshape(-1, 784).astype(float) / 255
        hidden = numpy.maximum(
            rows @ model["fc1.weight"].T + model["fc1.bias"], 0)
        scores = hidden @ model["fc2.weight"].T + model["fc2.bias"]
        accuracy = (scores.argmax(1) == labels).mean()
        # A score may tie in one precision and not in the other.
        self.assertAlmostEqual(report["test_accuracy"], accuracy, delta=3e-4)
        top = scores.max(1)
        losses = numpy.log(numpy.exp(scores - top[:, None]).sum(1)) + top
        losses -= scores[numpy.arange(len(labels)), labels]
        self.assertAlmostEqual(report["test_loss"], losses.mean(), delta=1e-4)

    def check_files(self, run):
        for name in ("job.json", "steps.jsonl", "events.jsonl", "workers.json",
                     "coordinator.json", "ledger.sqlite", "report.json",
                     "report.html",
                     "model.safetensors", "logs/w1.log", "logs/w2.log"):
            self.assertTrue((run / name).exists(), name)
        self.assertEqual(list((run / "tmp").iterdir()), [])
        job = read_json(run / "job.json")
        self.assertEqual(job["train"]["micro_batch"], None)
        self.assertEqual(job["elastic"]["heartbeat_ms"], 200)
        workers = read_json(run / "workers.json")["workers"]
        self.assertEqual(
            sorted((w["name"], w["incarnation"], w["rank"], w["state"])
                   for w in workers),
            [("w1", 1, 0, "left"), ("w2", 1, 1, "left")])
        steps = read_lines(run / "steps.jsonl")
        self.assertEqual([s["step"] for s in steps], list(range(1, 706)))
        self.assertEqual(sorted(steps[0]), sorted(
            ["step", "epoch", "generation", "plan", "world", "samples",
             "loss", "t_ns", "time"]))
        times = [s["t_ns"] for s in steps]
        self.assertEqual(times, sorted(times))
        events = read_lines(run / "events.jsonl")
        self.assertEqual([e["seq"] for e in events],
                         list(range(1, len(events) + 1)))
        kinds = [e["kind"] for e in events]
        self.assertEqual(kinds[0], "coordinator_started")
        self.assertEqual(kinds[-1], "done")
        self.assertEqual(kinds.count("epoch"), 3)
        self.assertEqual(kinds.count("evaluation"), 3)
        accuracies = [e["test_accuracy"] for e in events
                      if e["kind"] == "evaluation"]
        self.assertEqual(accuracies[-1],
                         read_json(run / "report.json")["test_accuracy"])

    def test_fashion_cnn_learns(self):
        report, run = self.run_example("fashion_cnn.json", "--set",
                                       "/train/epochs=1")
        self.assertEqual(report["steps"], 235)
        self.assertGreaterEqual(report["test_accuracy"], 0.75)
        model = load_file(run / "model.safetensors")
        self.assertEqual(hash_of(model), report["weights_sha256"])

    def test_resnet18_learns_and_leaves_its_running_statistics(self):
        report, run = self.run_example("resnet18.json")
        self.assertEqual((report["steps"], report["samples"]), (16, 1024))
        self.assertGreaterEqual(report["test_accuracy"], 0.9)
        model = load_file(run / "model.safetensors")
        self.assertEqual(model["conv1.weight"].shape, (64, 3, 7, 7))
        self.assertEqual(model["fc.weight"].shape, (4, 512))
        # A convolution makes values of both signs, of a spread that is not 1.
        self.assertGreater(abs(model["bn1.running_mean"]).max(), 0)
        self.assertTrue((model["layer4.1.bn2.running_var"] < 1).all())
        statistics = [name for name in model if ".running_" in name]
        self.assertEqual(len(statistics), 40)
        self.assertEqual(hash_of({name: model[name] for name in model
                                  if name not in statistics}),
                         report["weights_sha256"])

    def test_transformer_learns_who_follows_whom(self):
        report, run = self.run_example("transformer.json")
        tokens = 64
        likely = 0.75 + 0.25 / tokens
        entropy = -(likely * numpy.log(likely)
                    + (1 - likely) * numpy.log((1 - likely) / (tokens - 1)))
        first = read_lines(run / "steps.jsonl")[0]["loss"]
        self.assertAlmostEqual(first, numpy.log(tokens), delta=0.1)
        self.assertGreater(report["test_loss"], entropy - 0.05)
        self.assertLess(report["test_loss"], entropy + 0.15)
        self.assertAlmostEqual(report["test_accuracy"], likely, delta=0.02)
        model = load_file(run / "model.safetensors")
        self.assertEqual(model["wte.weight"].shape, (tokens, 64))
        self.assertEqual(hash_of(model), report["weights_sha256"])

    def test_rows_of_tokens_come_from_a_csv_without_a_label(self):
        text = "a,b,c,d\n" + "".join(
            f"{i % 5},{(i + 1) % 5},{(i + 2) % 5},{(i + 3) % 5}\n"
            for i in range(300))
        (self.folder / "tokens.csv").write_text(text)
        run = self.run_job({
            "data": {"train": {"format": "csv", "uri": "tokens.csv"},
                     "chunk_rows": 20},
            "model": {"kind": "transformer", "layers": 1, "width": 16,
                      "heads": 2},
            "train": {"epochs": 4, "global_batch": 30, "loss": "next_token",
                      "optimizer": {"kind": "adamw", "lr": 0.03}}})
        report = read_json(run / "report.json")
        self.assertGreater(report["test_accuracy"], 0.95)
        self.assertLess(report["test_loss"], 0.3)

    def test_linear_csv_finds_the_line(self):
        report, run = self.run_example("linear_csv.json")
        self.assertIsNone(report["test_accuracy"])
        self.assertLess(report["test_loss"], 0.015)
        found = check_run(run, 32, 20)
        self.assertEqual(found.problems, [], found)

    def test_emulated_takes_the_time_it_is_asked_to(self):
        report, run = self.run_example("emulated.json")
        self.assertEqual(
            (report["steps"], report["test_loss"], report["test_accuracy"]),
            (158, None, None))
        # 128 rows of 50 us and 500 us a step, on each of two workers.
        steps = read_lines(run / "steps.jsonl")
        whole = (steps[-1]["t_ns"] - steps[0]["t_ns"]) / 1e9
        self.assertGreaterEqual(whole, 156 * 128 * 50e-6 + 157 * 500e-6 - 0.01)

    def test_a_pipe_gets_one_line_for_each_epoch_and_no_others(self):
        job = emulated_job(rows=5000, epochs=12)
        done = self.ballast("run", self.write("job.json", job), "--run-dir",
                            self.folder / "piped")
        first, *lines = done.err.splitlines()
        self.assertIn("2 workers, seed 1", first)
        self.assertEqual(len(lines), 12, done)
        for number, line in enumerate(lines, 1):
            self.assertRegex(line, rf"^epoch {number}/12  loss [\d.]+"
                             r"(  [\d.]+ s  [\d.]+( [kM])? samples/s)?$")

    def test_an_epoch_is_told_with_its_own_evaluation(self):
        job = emulated_job(rows=5000, epochs=5, data={"test_fraction": 0.2},
                           keep={"best": {"metric": "f1_macro"}})
        job["model"] = {"kind": "logistic"}
        run = self.folder / "evaluated"
        done = self.ballast("run", self.write("job.json", job), "--run-dir",
                            run)
        lines = [line for line in done.err.splitlines()
                 if line.startswith("epoch ")]
        found = [e for e in read_lines(run / "events.jsonl")
                 if e["kind"] == "evaluation"]
        self.assertEqual(len(lines), 5, done)
        for line, event in zip(lines, found, strict=True):
            self.assertRegex(line, rf"^epoch {event['epoch']}/5  loss [\d.]+  "
                             r"test [\d.]+  f1_macro [\d.]+")
            shown = [float(number) for number in
                     re.findall(r" (?:test|f1_macro) ([\d.]+)", line)]
            self.assertAlmostEqual(shown[0], event["test_loss"], delta=1e-3)
            self.assertAlmostEqual(shown[1], event["metrics"]["f1_macro"],
                                   delta=1e-3)

    def test_runs_are_numbered_and_say_where_they_lie(self):
        job = self.write("a job.json", emulated_job(500, epochs=1))
        for number in (1, 2):
            one = self.ballast("run", job)
            self.assertIn(f"runs/emulated-{number}", one.out)
            self.assertIn("500 samples expected, 500 once, 0 lost", one.out)
            run = self.folder / "runs" / f"emulated-{number}"
            self.assertTrue((run / "report.json").exists())

    def test_the_same_job_twice_gives_the_same_samples(self):
        # Balanced, they depend on who was how fast.
        job = emulated_job(1000, epochs=2, data={"chunk_rows": 10},
                           balance={"enabled": False})
        runs = [self.run_job(job), self.run_job(job)]
        first, second = ([(run / "trace" / f"w{n}.1.jsonl").read_text()
                          for n in (1, 2)] for run in runs)
        self.assertEqual(first, second)
        other = self.run_job({**job, "seed": 2})
        self.assertNotEqual(
            first[0], (other / "trace" / "w1.1.jsonl").read_text())


if __name__ == "__main__":
    unittest.main()
