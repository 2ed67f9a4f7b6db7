"""Goal: the files of a run for trackers have each committed step once,
whatever died. Method: a run that loses a worker, its coordinator, all of its
processes, and steps that it had shown; its files are read back, the event file
by the format's own rules, and compared with steps.jsonl.
"""
import csv
import os
import signal
import struct
import unittest

from harness.jobs import emulated_job
from harness.live_run import LiveRun
from harness.run_files import read_lines

from ballast_test import BallastTest

POLYNOMIAL = 0x82f63b78  # CRC-32C, reversed


def crc32c(data):
    rest = 0xffffffff
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (POLYNOMIAL if rest & 1 else 0)
    return rest ^ 0xffffffff


def masked(crc):
    return ((crc >> 15 | crc << 17 & 0xffffffff) + 0xa282ead8) & 0xffffffff


def fields(message):
    """(number, value) of a message of Protocol Buffers."""
    def varint(at):
        value = shift = 0
        while True:
            byte = message[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at
    at = 0
    while at < len(message):
        key, at = varint(at)
        if key & 7 == 0:
            value, at = varint(at)
        else:
            if key & 7 == 2:
                size, at = varint(at)
            else:
                size = {1: 8, 5: 4}[key & 7]
            value, at = message[at:at + size], at + size
        yield key >> 3, value


def scalars(file):
    """(step, tag, value) of an event file, each record checked."""
    data, at = file.read_bytes(), 0
    while at < len(data):
        size, of_size = struct.unpack_from("<QI", data, at)
        assert of_size == masked(crc32c(data[at:at + 8])), at
        event = data[at + 12:at + 12 + size]
        [of_event] = struct.unpack_from("<I", data, at + 12 + size)
        assert of_event == masked(crc32c(event)), at
        at += 16 + size
        found = dict(fields(event))
        if 5 not in found:
            assert found[3] == b"brain.Event:2"
            continue
        for number, value in fields(found[5]):
            assert number == 1
            one = dict(fields(value))
            yield (found[2], one[1].decode(),
                   struct.unpack("<f", one[2])[0])


def table(file):
    with open(file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


class Tracks(BallastTest):
    def check(self, run):
        steps = read_lines(run / "steps.jsonl")
        rows = table(run / "track" / "steps.csv")
        self.assertEqual(
            [(int(r["step"]), int(r["epoch"]), int(r["samples"]),
              int(r["world"]), float(r["loss"])) for r in rows],
            [(s["step"], s["epoch"], s["samples"], s["world"], s["loss"])
             for s in steps])
        [events] = (run / "track").glob("events.out.tfevents.*")
        found = list(scalars(events))
        self.assertEqual([(step, round(value, 5)) for step, tag, value in found
                          if tag == "train/loss"],
                         [(s["step"], round(s["loss"], 5)) for s in steps])
        return found

    def test_each_step_is_there_once_whatever_died(self):
        job = emulated_job(
            rows=4000, workers=3, batch=80, epochs=100000, us_per_sample=100,
            trace_samples=False, track=["tensorboard", "csv"],
            checkpoint={"every_steps": 40, "every_s": 0})
        with LiveRun(job, self.folder / "live",
                     self.environment["BALLAST_CACHE"]) as live:
            live.wait_full(3, 60)
            os.kill(live.workers()["w2"], signal.SIGKILL)
            live.wait_for(lambda: live.poll() or live.newest > 1,
                          "a recovery")
            first, before = live.coordinator, len(live.steps.lines)
            os.kill(first, signal.SIGKILL)
            live.wait_for(lambda: live.poll() or live.coordinator != first and
                          len(live.steps.lines) > before + 40,
                          "steps of a second coordinator")
            for pid in live.family():
                os.kill(pid, signal.SIGKILL)
            live.process.wait()
            live.resume()
            live.wait_for(lambda: live.poll() or any(
                e["kind"] == "undone" for e in live.events.lines),
                          "steps that are undone")
            undone = live.newest
            live.wait_for(lambda: live.poll() or live.newest > undone and
                          len(live.steps.lines) > 60, "steps after those")
            live.stop()
        self.check(live.run)

    def test_evaluations_are_there_with_their_metrics(self):
        run = self.run_job({
            "name": "tracked", "seed": 1,
            "data": {"train": {"format": "synthetic", "rows": 600,
                               "features": 4, "classes": 3}},
            "model": {"kind": "logistic"},
            "train": {"epochs": 4, "global_batch": 30,
                      "optimizer": {"kind": "sgd", "lr": 0.1}},
            "evaluate": {"metrics": ["f1_macro", "f1_per_class"]},
            "elastic": {"workers": 2, "heartbeat_ms": 1000},
            "track": ["csv", "tensorboard"]})
        found = self.check(run)
        told = [e for e in read_lines(run / "events.jsonl")
                if e["kind"] == "evaluation"]
        rows = table(run / "track" / "evaluations.csv")
        self.assertEqual([list(row) for row in rows[:1]],
                         [["step", "epoch", "rows", "time", "test_loss",
                           "test_f1_macro"]])
        self.assertEqual([(int(r["step"]), float(r["test_loss"]),
                           float(r["test_f1_macro"])) for r in rows],
                         [(e["step"], e["test_loss"],
                           e["metrics"]["f1_macro"]) for e in told])
        self.assertEqual([(step, round(value, 5)) for step, tag, value in found
                          if tag == "test/f1_macro"],
                         [(e["step"], round(e["metrics"]["f1_macro"], 5))
                          for e in told])

    def test_a_tracker_that_nobody_knows_is_refused(self):
        job = self.write("job.json", emulated_job(track=["tensorbord"]))
        self.refused(2, ["/track/0", "tensorbord", "tensorboard"], "run", job)


if __name__ == "__main__":
    unittest.main()
