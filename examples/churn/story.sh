#!/usr/bin/env bash
# From a CSV of which few rows are of the class that matters, to a model that is
# used: train and stop in time, judge on new rows, answer, go on from the best,
# hand on. Takes half a minute.
#
#   examples/churn/story.sh [FOLDER]
#
# BALLAST: the program, else build/release/ballast. PYTHON: one that has
# onnxruntime and numpy for the last step, which is left out without them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ballast=$(realpath "${BALLAST:-$here/../../build/release/ballast}")
python=${PYTHON:-python3}
folder=${1:-runs/churn-story}
mkdir -p "$folder"
cd "$folder"
cp "$here/churn.json" .

echo "== customers, of whom few leave; and some that come later"
python3 "$here/make_customers.py" 8000 1 > customers.csv
python3 "$here/make_customers.py" 2000 2 > later.csv
grep -c ',yes$' customers.csv | sed 's/$/ of 8000 leave/'

echo "== train, and stop in time"
"$ballast" run churn.json --run-dir first --no-progress

echo "== judge it on customers that it has never seen"
"$ballast" evaluate first --data later.csv

echo "== say who will leave"
"$ballast" predict first --data later.csv --out answers.csv
head -4 answers.csv

echo "== go on from the best, with a tenth of the learning rate"
"$ballast" run churn.json --from first@best --run-dir second --no-progress \
  --set /train/optimizer/lr=0.0003 --set /stop/patience=3

echo "== hand it on"
ls second/model
"$ballast" export second --out churn.onnx
if "$python" -c 'import numpy, onnxruntime' 2> /dev/null; then
  "$python" "$here/load.py" churn.onnx
fi
