"""A trained resnet18 in torchvision, and a trained transformer in transformers:
do they compute what the exported file of ONNX computes?

usage: loaded_elsewhere.py RESNET_RUN TRANSFORMER_RUN
needs torch, torchvision, transformers, safetensors and onnxruntime; exits with 1
if an output differs by more than 1e-5
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import onnxruntime
import torch
import torchvision
import transformers
from safetensors.torch import load_file

NEAR = 1e-5
# Layers of that library have these the other way round.
TURNED = ("c_attn.weight", "c_proj.weight", "c_fc.weight")


def session_of(run, folder, program):
    out = folder / f"{run.name}.onnx"
    subprocess.run([program, "export", run, "--out", out], check=True,
                   stdout=subprocess.DEVNULL)
    return onnxruntime.InferenceSession(str(out))


def of_run(run):
    return (json.loads((run / "job.json").read_text(encoding="utf-8"))["model"],
            load_file(run / "model" / "model.safetensors"))


def resnet(run):
    _, weights = of_run(run)
    model = torchvision.models.resnet18(
        num_classes=weights["fc.weight"].shape[0])
    model.load_state_dict(weights)
    return model.eval()


def gpt2(run):
    how, weights = of_run(run)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=weights["wte.weight"].shape[0],
        n_positions=weights["wpe.weight"].shape[0], n_embd=how["width"],
        n_layer=how["layers"], n_head=how["heads"], bos_token_id=None,
        eos_token_id=None))
    missing = model.load_state_dict(
        {f"transformer.{name}":
         value.T.contiguous() if name.endswith(TURNED) else value
         for name, value in weights.items()}, strict=False)
    assert missing.missing_keys == ["lm_head.weight"], missing
    model.tie_weights()
    return model.eval()


def difference(model, session, rows, name):
    with torch.no_grad():
        there = model(rows)
    there = getattr(there, "logits", there)
    [here] = session.run(["logits"], {name: rows.numpy()})
    return float((there - torch.tensor(here)).abs().max())


def main():
    program = pathlib.Path(__file__).parents[2] / "build/release/ballast"
    images, tokens = map(pathlib.Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        seen = session_of(images, pathlib.Path(folder), program)
        read = session_of(tokens, pathlib.Path(folder), program)
    shape = seen.get_inputs()[0].shape[1:]
    length = read.get_inputs()[0].shape[1]
    vocabulary = read.get_outputs()[0].shape[2]
    found = {
        "torchvision": difference(resnet(images), seen,
                                  torch.randn(5, *shape), "features"),
        "transformers": difference(
            gpt2(tokens), read, torch.randint(0, vocabulary, (4, length)),
            "tokens")}
    for name, largest in found.items():
        print(f"{name:14} largest difference {largest:.1e}")
    sys.exit(any(one > NEAR for one in found.values()))


if __name__ == "__main__":
    main()
