"""Goal: a checkpoint of every kind of model is an ordinary safetensors file, with
the parameters and running statistics that the model had after that step, and
what the optimizer remembers of it. Method: read with the safetensors wheel
alone. From a step on the learning rate is as good as nothing, so the model at
the end is the one of that step.
"""
import json
import re
import sys
import unittest

import numpy

from harness.jobs import merged
from harness.program import ROOT
from harness.run_files import read_json
from harness.torchscript import save_script

from ballast_test import BallastTest

sys.path.append(str(ROOT / ".deps" / "python"))
# pylint: disable=wrong-import-position
from safetensors import safe_open  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

EVERY = 4  # steps that count, and between checkpoints
STEPS, BATCH, CLASSES = 12, 8, 3
OPTIMIZERS = {
    "sgd": ({"kind": "sgd", "lr": 0.01}, []),
    "momentum": ({"kind": "sgd", "lr": 0.01, "momentum": 0.9},
                 ["momentum_buffer"]),
    "adam": ({"kind": "adam", "lr": 0.01}, ["exp_avg", "exp_avg_sq"]),
    "adamw": ({"kind": "adamw", "lr": 0.01}, ["exp_avg", "exp_avg_sq"]),
}
IMAGE = {"train": {"features": 3 * 9 * 9},
         "pipeline": [{"op": "reshape", "shape": [3, 9, 9]}]}
KINDS = {
    "linear": {"train": {"loss": "mse"}},
    "logistic": {},
    "mlp": {"model": {"hidden": [5, 4]}},
    "cnn": {"model": {"channels": [4], "batch_norm": True}, "data": IMAGE},
    "resnet18": {"model": {"stem": "cifar"}, "data": IMAGE},
    "transformer": {"model": {"layers": 2, "width": 8, "heads": 2},
                    "train": {"loss": "next_token"}},
    "torchscript": {},
    "emulated": {"model": {"parameters": 1000}},
}
# What must be there of kinds whose names users know from elsewhere.
NAMES = {
    "linear": {"weight": (1, 6), "bias": (1,)},
    "mlp": {"fc1.weight": (5, 6), "fc1.bias": (5,), "fc2.weight": (4, 5),
            "fc3.weight": (CLASSES, 4)},
    "resnet18": {"conv1.weight": (64, 3, 3, 3), "bn1.running_mean": (64,),
                 "fc.weight": (CLASSES, 512)},
    "torchscript": {"weight": (CLASSES, 6), "bias": (CLASSES,)},
}


class EveryKind(BallastTest):
    def job(self, kind, optimizer="adamw"):
        out = merged({
            "name": kind,
            "data": {"train": {"format": "synthetic", "rows": STEPS * BATCH,
                               "classes": CLASSES, "features": 6},
                     "test_fraction": 0},
            "model": {"kind": kind},
            "train": {"epochs": 1, "global_batch": BATCH,
                      "optimizer": OPTIMIZERS[optimizer][0],
                      "schedule": {"kind": "step", "every_steps": EVERY,
                                   "gamma": 1e-30}},
            "checkpoint": {"every_steps": EVERY, "every_s": 0, "keep": 9},
            "elastic": {"workers": 2, "heartbeat_ms": 1000}}, KINDS[kind])
        if kind == "torchscript":
            path = self.folder / "net.pt"
            save_script(
                path, NAMES["torchscript"],
                ["return torch.linear(torch.flatten(x, 1), self.weight, "
                 "self.bias)"])
            out["model"]["path"] = str(path)
        return out

    def check(self, kind, optimizer="adamw"):
        run = self.run_job(self.job(kind, optimizer))
        model = load_file(run / "model.safetensors")
        folders = sorted((run / "checkpoints").glob("step-*"))
        self.assertIn(run / "checkpoints" / f"step-{EVERY}", folders)
        for folder in folders:
            self.check_one(folder, model, OPTIMIZERS[optimizer][1])
            for name, shape in NAMES.get(kind, {}).items():
                state = load_file(folder / "state.safetensors")
                self.assertEqual(state[name].shape, shape, name)

    def check_one(self, folder, model, remembered):
        path = folder / "state.safetensors"
        state = load_file(path)
        about = read_json(folder / "manifest.json")
        with safe_open(path, "numpy") as file:
            told = file.metadata()
        self.assertEqual(int(told["step"]), about["step"])
        self.assertEqual(path.stat().st_size, about["bytes"])
        self.assertEqual({str(one.dtype) for one in state.values()},
                         {"float32"})
        self.assertTrue(all(numpy.isfinite(one).all()
                            for one in state.values()))
        of_optimizer = {name.removeprefix("optimizer/"): one
                        for name, one in state.items()
                        if name.startswith("optimizer/")}
        self.assertEqual(sorted(of_optimizer), remembered)
        buffers = set(json.loads(told.get("buffers", "[]")))
        self.assertEqual(
            {name: one.shape for name, one in model.items()},
            {name: one.shape for name, one in state.items()
             if not name.startswith("optimizer/")})
        count = sum(one.size for name, one in model.items()
                    if name not in buffers)
        for name, one in of_optimizer.items():
            self.assertEqual(one.shape, (count,), name)
            self.assertTrue(one.any(), f"{name} knows of no step")
        # Running statistics go on without the learning rate.
        for name in set(model) - buffers:
            numpy.testing.assert_allclose(state[name], model[name], rtol=0,
                                          atol=1e-12, err_msg=name)

    def test_none_is_left_out(self):
        page = (ROOT / "docs/job.md").read_text(encoding="utf-8")
        [listed] = re.findall(r"^\| `kind` \| \*\*required\*\* \| one of (.*?)"
                              r" \|.*What is trained", page, re.M)
        self.assertEqual(set(json.loads(f"[{listed}]")), set(KINDS))

    def test_every_kind_of_model(self):
        for kind in KINDS:
            with self.subTest(kind):
                self.check(kind)

    def test_every_optimizer(self):
        for optimizer in OPTIMIZERS:
            with self.subTest(optimizer):
                self.check("mlp", optimizer)


if __name__ == "__main__":
    unittest.main()
