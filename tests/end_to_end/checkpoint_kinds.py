"""Goal: a checkpoint of every kind of model is an ordinary safetensors file, with
the parameters and running statistics that the model had after that step, and
what the optimizer remembers of it. Method: read with the safetensors wheel
alone. From a step on the learning rate is as good as nothing, so the model at
the end is the one of that step.
"""
import io
import json
import re
import sys
import unittest
import zipfile

import numpy

from harness.jobs import merged
from harness.program import ROOT
from harness.run_files import read_json

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


def script(path):
    """A dense layer as `torch.jit.save` would write it: an archive of the code
    of the module, of a pickle of it, and of the values of its tensors."""
    def name(module, what):
        return b"c" + module.encode() + b"\n" + what.encode() + b"\n"

    def text(what):
        return b"X" + len(what).to_bytes(4, "little") + what.encode()

    def tensor(key, shape):
        count = int(numpy.prod(shape))
        strides = [int(numpy.prod(shape[i + 1:])) for i in range(len(shape))]

        def numbers(of):
            return b"(" + b"".join(b"K" + bytes([n]) for n in of) + b"t"
        return (name("torch._utils", "_rebuild_tensor_v2") + b"(("
                + text("storage") + name("torch", "FloatStorage") + text(key)
                + text("cpu") + b"K" + bytes([count]) + b"tQK\x00"
                + numbers(shape) + numbers(strides) + b"\x88"
                + name("collections", "OrderedDict") + b")RtR")
    shapes = [("weight", (CLASSES, 6)), ("bias", (CLASSES,))]
    fields = b"".join(text(field) + tensor(str(i), shape)
                      for i, (field, shape) in enumerate(shapes))
    pickled = (b"\x80\x02" + name("__torch__", "Net") + b")\x81}("
               + fields + text("training") + b"\x88" + b"ub.")
    code = ('class Net(Module):\n'
            '  __parameters__ = ["weight", "bias", ]\n'
            '  __buffers__ = []\n'
            '  weight : Tensor\n'
            '  bias : Tensor\n'
            '  training : bool\n'
            '  def forward(self: __torch__.Net,\n'
            '    x: Tensor) -> Tensor:\n'
            '    return torch.linear(torch.flatten(x, 1), self.weight, '
            'self.bias)\n')
    values = numpy.random.default_rng(5)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("net/data.pkl", pickled)
        file.writestr("net/code/__torch__.py", code)
        file.writestr("net/constants.pkl", b"\x80\x02).")
        file.writestr("net/version", b"3\n")
        for i, (_, shape) in enumerate(shapes):
            file.writestr(f"net/data/{i}",
                          values.normal(size=shape).astype("<f4").tobytes())
    path.write_bytes(archive.getvalue())


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
            script(path)
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
