"""Goal: a new run begins with exactly the parameters of another one's checkpoint
or model, whatever else its job changes; what is frozen keeps its bits, a head is
replaced, and what does not fit is refused before anything is written. Method:
small runs, their files read here byte by byte.
"""
import hashlib
import json
import os
import shutil
import signal
import struct
import unittest

from harness.jobs import merged
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from ballast_test import BallastTest
from replay import read_safetensors

ROWS = 480


def mlp(classes=4, **more):
    """8 steps an epoch; the same bits for every number of workers."""
    return merged({
        "name": "mlp",
        "data": {"train": {"format": "synthetic", "rows": ROWS,
                           "classes": classes, "features": 6}},
        "model": {"kind": "mlp", "hidden": [16]},
        "train": {"epochs": 12, "global_batch": 48, "order": "global",
                  "reduction": "canonical", "threads": 1,
                  "optimizer": {"kind": "adamw", "lr": 0.02,
                                "weight_decay": 0.1}},
        "elastic": {"workers": 2, "heartbeat_ms": 1000},
        "checkpoint": {"every_steps": 2, "every_s": 0, "keep": 99}}, more)


def sha256_of(tensors):
    """As a report has it: of the values, in the order of the names."""
    whole = hashlib.sha256()
    for name in sorted(tensors):
        whole.update(tensors[name].tobytes())
    return whole.hexdigest()


def weights_of(path):
    return {name: values for name, values in read_safetensors(path).items()
            if not name.startswith("optimizer/")}


def header_of(path):
    """The metadata of a safetensors file."""
    raw = path.read_bytes()
    [length] = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8:8 + length])["__metadata__"]


def steps_of(run):
    return sorted(int(one.name[5:])
                  for one in (run / "checkpoints").glob("step-*"))


class GoOn(BallastTest):
    def parent(self, **more):
        run = self.run_job(mlp(**more))
        # One at least: a slow disk is still at it when the run has ended.
        self.assertTrue(steps_of(run))
        return run

    def state(self, run, step):
        return run / "checkpoints" / f"step-{step}" / "state.safetensors"

    def branch(self, parent, *arguments, code=0, **more):
        return self.run_job(mlp(**more), "--from", parent, *arguments,
                            code=code)

    def refused_branch(self, parts, source, *arguments, **more):
        """Nothing is left of it; nothing of the other run is changed."""
        one, run = self.new_run(mlp(**more), "--from", source, *arguments)
        self.assertEqual(one.wait(60), 2, one)
        for part in [parts] if isinstance(parts, str) else parts:
            self.assertIn(part, one.last_line, one)
        self.assertFalse(run.exists(), one)


class Branches(GoOn):
    def test_begin_with_the_bits_of_a_checkpoint_for_every_number_of_workers(
            self):
        parent = self.parent()
        step = steps_of(parent)[0]
        there = weights_of(self.state(parent, step))
        found = set()
        for workers in (1, 3):
            run = self.branch(f"{parent}@{step}", "--workers", str(workers),
                              train={"epochs": 1, "optimizer": {
                                  "kind": "sgd", "lr": 0, "weight_decay": 0}})
            report = read_json(run / "report.json")
            self.assertEqual(report["parent"], {
                "run": parent.name, "step": step, "sha256": sha256_of(there)})
            # It learned nothing, so it ends with what it began with.
            self.assertEqual(report["weights_sha256"], sha256_of(there))
            [told] = [one for one in read_lines(run / "events.jsonl")
                      if one["kind"] == "branched"]
            self.assertEqual(told["parent"], report["parent"])
            run = self.branch(f"{parent}@{step}", "--workers", str(workers))
            found.add(read_json(run / "report.json")["weights_sha256"])
        self.assertEqual(len(found), 1)
        # Nothing of the other run is needed any more, also to repeat this one.
        shutil.rmtree(parent)
        out = json.loads(self.ballast("audit", run, "--replay", "--json").out)
        self.assertEqual(out["weights_sha256"], found.pop())

    def test_of_a_model_have_no_step_before_the_first(self):
        parent = self.parent()
        run = self.branch(parent, train={"epochs": 1, "reduction": "fused",
                                         "order": "local"})
        before = read_json(parent / "report.json")
        report = read_json(run / "report.json")
        self.assertEqual(report["parent"], {
            "run": parent.name, "step": before["model_step"],
            "sha256": before["weights_sha256"]})
        self.assertEqual(report["steps"], 8)
        again = self.branch(parent / "model.safetensors",
                            train={"epochs": 1, "reduction": "fused",
                                   "order": "local"})
        self.assertEqual(read_json(again / "report.json")["parent"],
                         report["parent"])

    def test_go_on_after_a_crash_when_the_other_run_is_gone(self):
        parent = self.parent()
        job = mlp(train={"epochs": 60})
        whole = read_json(self.run_job(job, "--from", parent)
                          / "report.json")["weights_sha256"]
        one, run = self.new_run(job, "--from", parent)
        wait_until(lambda: (run / "checkpoints").is_dir() and steps_of(run),
                   "a checkpoint")
        for pid in one.family() + [one.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        one.wait(20)
        self.nobody_left(one, 20)
        shutil.rmtree(parent)
        kept = (run / "parent.safetensors").rename(self.folder / "kept")
        self.refused(2, "parent.safetensors is missing", "run", "--resume",
                     run, "--no-progress")
        kept.rename(run / "parent.safetensors")
        self.ballast("run", "--resume", run, "--no-progress")
        report = read_json(run / "report.json")
        self.assertEqual(report["weights_sha256"], whole)
        self.assertEqual(report["parent"]["run"], parent.name)


class Patterns(GoOn):
    def test_keep_the_bits_of_what_is_frozen(self):
        parent = self.parent()
        before = weights_of(parent / "model.safetensors")
        for more in ({}, {"reduction": "fused", "order": "local"}):
            run = self.branch(parent, init={"freeze": ["fc1.*"]}, train={
                "clip_norm": 0.1, **more,
                "optimizer": {"lr_of": {"fc2.bias": 0}}})
            after = weights_of(run / "model.safetensors")
            for name in ("fc1.weight", "fc1.bias", "fc2.bias"):
                self.assertEqual(after[name].tobytes(), before[name].tobytes(),
                                 (name, more))
            self.assertFalse((after["fc2.weight"] == before["fc2.weight"])
                             .any(), more)

    def test_replace_the_head_for_other_classes(self):
        parent = self.parent()
        before = weights_of(parent / "model.safetensors")
        self.refused_branch(
            ("/init/from", "'fc2.weight' has [4, 16] there, the model [3, 16]",
             '"fc2.*"'), parent, classes=3)
        run = self.branch(parent, classes=3, init={
            "except": ["fc2.*"], "freeze": ["fc1.*"]})
        after = weights_of(run / "model.safetensors")
        self.assertEqual(after["fc2.weight"].shape, (3, 16))
        self.assertEqual(after["fc1.weight"].tobytes(),
                         before["fc1.weight"].tobytes())
        self.refused_branch(("/init/except/0", "fits no parameter",
                             "'fc1.weight'"), parent,
                            init={"except": ["layer9.*"]})


class Optimizers(GoOn):
    def test_go_on_with_their_state_and_their_count(self):
        """All rows in each step, so that their order says little."""
        def job(epochs):
            return {"train": {"epochs": epochs, "global_batch": ROWS},
                    "data": {"test_fraction": 0},
                    "checkpoint": {"every_steps": 1}}
        whole = self.parent(**job(60))
        first = steps_of(whole)[0]
        second = self.branch(f"{whole}@{first}", init={"optimizer": True},
                             **job(60 - first))
        step = steps_of(second)[0]
        third = self.branch(f"{second}@{step}", init={"optimizer": True},
                            **job(60 - first - step))
        anew = self.branch(f"{whole}@{first}", **job(60 - first))
        wanted = weights_of(whole / "model.safetensors")

        def off(run):
            found = weights_of(run / "model.safetensors")
            return max(abs(found[name] - wanted[name]).max()
                       for name in wanted)
        self.assertLess(off(third), 1e-4)
        self.assertGreater(off(anew), 1e-2)
        self.assertEqual(
            header_of(self.state(third, steps_of(third)[0]))["optimizer_steps"],
            str(first + step + steps_of(third)[0]))
        optimizer = "/init/optimizer=true"
        self.refused_branch(("/init/optimizer", "is a model"), whole,
                            "--set", optimizer)
        self.refused_branch(("/train/optimizer/kind", '"adamw"'),
                            f"{whole}@{first}", "--set", optimizer, "--set",
                            "/train/optimizer/kind=adam")


class FromTheBest(GoOn):
    def test_its_parameters_and_not_those_that_lie_beside_it(self):
        # The worst one, so that it is not the last.
        kept = {"keep": {"best": {"metric": "loss", "mode": "max"}}}
        parent = self.parent(**kept)
        report = read_json(parent / "report.json")
        self.assertLess(report["model_step"], report["steps"])
        run = self.branch(f"{parent}@best", "--set", "/train/epochs=1")
        self.assertEqual(
            read_json(run / "report.json")["parent"],
            {"run": parent.name, "step": report["best"]["step"],
             "sha256": report["weights_sha256"]})
        # A checkpoint has the best ones beside its own.
        step = steps_of(parent)[-1]
        there = {name: value for name, value in
                 weights_of(self.state(parent, step)).items()
                 if not name.startswith("best/")}
        run = self.branch(f"{parent}@{step}", "--set", "/train/epochs=1")
        self.assertEqual(read_json(run / "report.json")["parent"]["sha256"],
                         sha256_of(there))
        os.remove(parent / "report.json")
        self.refused_branch("known once it has ended", f"{parent}@best")


class BadInput(GoOn):
    def test_is_refused_by_its_field_and_leaves_nothing(self):
        parent = self.parent()
        steps = steps_of(parent)
        self.refused_branch(("/init/from", "no checkpoint of step 7",
                             " and ".join(map(str, steps[-2:]))),
                            f"{parent}@7")
        self.refused_branch("kept no best model", f"{parent}@best")
        self.refused_branch("no such file or folder", self.folder / "absent")
        (self.folder / "photos").mkdir()
        self.refused_branch("holds no run", self.folder / "photos")
        self.refused_branch(("/init/from", "'fc1.weight' has [16, 6] there"),
                            parent, model={"hidden": [8]})
        self.refused_branch("fits no parameter", parent, "--set",
                            '/init/freeze=["layer1.*"]')
        self.refused_branch("leaves no parameter", parent, "--set",
                            '/init/freeze=["*"]')
        self.refused_branch("/model/init", parent, "--set",
                            f"/model/init={parent}/model.safetensors")
        torn = self.folder / "torn.safetensors"
        torn.write_bytes((parent / "model.safetensors").read_bytes()[:-40])
        self.refused_branch(("/init/from", "torn.safetensors"), torn)
        state = self.state(parent, steps[0])
        state.write_bytes(state.read_bytes()[:-40])
        self.refused_branch(("/init/from", "cannot be used"),
                            f"{parent}@{steps[0]}")
        self.refused(2, "--from begins a new one", "run",
                     "--resume", parent, "--from", parent)


if __name__ == "__main__":
    unittest.main()
