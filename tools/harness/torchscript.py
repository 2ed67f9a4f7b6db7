"""TorchScript modules without PyTorch: an archive as `torch.jit.save` would
write it, of the code of a module, of a pickle of it, and of the values of its
tensors.
"""
import io
import math
import pathlib
import random
import struct
import zipfile


def _name(module, what):
    return b"c" + module.encode() + b"\n" + what.encode() + b"\n"


def _text(what):
    return b"X" + len(what).to_bytes(4, "little") + what.encode()


def _number(value):
    return b"J" + value.to_bytes(4, "little")


def _tensor(key, shape, trains):
    strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]

    def numbers(of):
        return b"(" + b"".join(map(_number, of)) + b"t"
    return (_name("torch._utils", "_rebuild_tensor_v2") + b"(("
            + _text("storage") + _name("torch", "FloatStorage") + _text(key)
            + _text("cpu") + _number(math.prod(shape)) + b"tQK\x00"
            + numbers(shape) + numbers(strides)
            + (b"\x88" if trains else b"\x89")
            + _name("collections", "OrderedDict") + b")RtR")


def save_script(path, parameters, forward, buffers=(), loss=()):
    """`parameters`: name -> shape, with values about 0 as wide as usual;
    `buffers` likewise, with ones. `forward`: lines of its body, of the input
    `x`. `loss`: likewise of a method `own`, of `outputs` and `labels`."""
    buffers = dict(buffers)
    tensors = {**parameters, **buffers}
    fields = b"".join(_text(name) + _tensor(str(i), shape, name in parameters)
                      for i, (name, shape) in enumerate(tensors.items()))
    pickled = (b"\x80\x02" + _name("__torch__", "Net") + b")\x81}("
               + fields + _text("training") + b"\x88" + b"ub.")

    def listed(names):
        return "[" + "".join(f'"{name}", ' for name in names) + "]"
    code = "\n".join([
        "class Net(Module):",
        f"  __parameters__ = {listed(parameters)}",
        f"  __buffers__ = {listed(buffers)}",
        *(f"  {name} : Tensor" for name in tensors),
        "  training : bool",
        "  def forward(self: __torch__.Net,",
        "    x: Tensor) -> Tensor:",
        *(f"    {line}" for line in forward),
        *(["  def own(self: __torch__.Net,",
           "    outputs: Tensor,",
           "    labels: Tensor) -> Tensor:",
           *(f"    {line}" for line in loss)] if loss else [])]) + "\n"
    dice = random.Random(5)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("net/data.pkl", pickled)
        file.writestr("net/code/__torch__.py", code)
        file.writestr("net/constants.pkl", b"\x80\x02).")
        file.writestr("net/version", b"3\n")
        for i, (name, shape) in enumerate(tensors.items()):
            count, wide = math.prod(shape), 1 / math.sqrt(shape[-1])
            values = ([dice.gauss(0, wide) for _ in range(count)]
                      if name in parameters else [1.0] * count)
            file.writestr(f"net/data/{i}", struct.pack(f"<{count}f", *values))
    pathlib.Path(path).write_bytes(archive.getvalue())
