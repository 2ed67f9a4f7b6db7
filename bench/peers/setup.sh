#!/bin/sh
# Makes the Python environment of the peers that the benchmarks compare with.
#   bench/peers/setup.sh DIR      about 6 GB, some minutes; DIR can be deleted
#   bench/peers/setup.sh DIR data also the data layers of stream_linear.py,
#                                 stream_exactness.py and loaders.py, about 1 GB more
#   bench/peers/setup.sh DIR tables  only those of tables.py and databases.py, about 1 GB
#   bench/peers/setup.sh DIR operators  only those of bench/operators.py, about 600 MB
set -eu
case "$#:${2:-}" in
1: | 2:data | 2:tables | 2:operators) ;;
*)
  echo "usage: setup.sh DIR [data|tables|operators]" >&2
  exit 2
  ;;
esac
python3 -m venv "$1"
if [ "${2:-}" = tables ]; then
  "$1/bin/pip" --disable-pip-version-check install --quiet \
    polars pandas pyarrow==26.0.1 numpy connectorx sqlalchemy psycopg2-binary
  "$1/bin/python" -c 'import connectorx, pandas, polars
print("polars", polars.__version__, "pandas", pandas.__version__, "connectorx", connectorx.__version__)'
  exit
fi
if [ "${2:-}" = operators ]; then
  "$1/bin/pip" --disable-pip-version-check install --quiet \
    imbalanced-learn==0.14.2 pandas polars datasketch pyarrow==26.0.1
  "$1/bin/python" -c 'import datasketch, imblearn, pandas, polars, sklearn
print("imbalanced-learn", imblearn.__version__, "scikit-learn", sklearn.__version__, "pandas", pandas.__version__)
print("polars", polars.__version__, "datasketch", datasketch.__version__)'
  exit
fi
"$1/bin/pip" --disable-pip-version-check install --quiet \
  torch==2.11.0 torchvision==0.26.0 torchft==0.2.0 numpy \
  transformers==5.24.0 safetensors==0.8.0 onnxruntime==1.32.0 pandas pyarrow==26.0.1
"$1/bin/python" -c 'import torch, torchvision
print("torch", torch.__version__, "torchvision", torchvision.__version__)'
if [ $# -eq 2 ]; then
  "$1/bin/pip" --disable-pip-version-check install --quiet \
    mosaicml-streaming==0.13.0 torchdata==0.11.0 lancedb==0.40.0 grain==0.2.18 array_record==0.8.6 pyarrow==26.0.1
  "$1/bin/python" -c 'import array_record, grain, lancedb.streaming, pyarrow, streaming
print("mosaicml-streaming", streaming.__version__, "lancedb", lancedb.__version__)'
fi
