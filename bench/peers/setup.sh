#!/bin/sh
# Makes the Python environment of the peers that the benchmarks compare with.
#   bench/peers/setup.sh DIR      about 6 GB, some minutes; DIR can be deleted
set -eu
if [ $# -ne 1 ]; then
  echo "usage: setup.sh DIR" >&2
  exit 2
fi
python3 -m venv "$1"
"$1/bin/pip" --disable-pip-version-check install --quiet \
  torch==2.11.0 torchvision==0.26.0 torchft==0.2.0 numpy
"$1/bin/python" -c 'import torch, torchvision
print("torch", torch.__version__, "torchvision", torchvision.__version__)'
