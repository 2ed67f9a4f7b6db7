#!/usr/bin/env bash
# Trains examples/jobs/reproducible.json on one worker, on three, and on three
# that are killed, frozen and joined by more, and says whether the weights are
# the same bits. Takes half a minute.
#
#   examples/same_bits.sh [FOLDER FOR THE RUNS]
#
# BALLAST: the program, else build/release/ballast.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ballast=${BALLAST:-build/release/ballast}
runs=${1:-runs/same-bits}
job=examples/jobs/reproducible.json
mkdir -p "$runs"

train() { # NAME WORKERS
  "$ballast" run "$job" --set /train/epochs=10 --set /elastic/respawn_limit=100 \
    --workers "$2" --run-dir "$runs/$1" --no-progress > "$runs/$1.log" 2>&1
}
weights() { grep -o '"weights_sha256": *"[0-9a-f]*"' "$runs/$1/report.json" | grep -o '[0-9a-f]\{64\}'; }
steps() { if [ -e "$runs/$1/steps.jsonl" ]; then wc -l < "$runs/$1/steps.jsonl"; else echo 0; fi; }
# The process of a worker that trains, any one.
worker() {
  python3 - "$runs/$1/workers.json" <<'PYTHON'
import json, random, sys
try:
    workers = [w["pid"] for w in json.load(open(sys.argv[1]))["workers"] if w["state"] == "training"]
except (OSError, ValueError, KeyError):
    workers = []
print(random.choice(workers) if workers else "")
PYTHON
}

train one 1
echo "1 worker:             $(weights one)"
train three 3
echo "3 workers:            $(weights three)"

train disturbed 3 &
running=$!
while [ "$(steps disturbed)" -lt 50 ]; do sleep 0.05; done
did=""
for what in kill freeze add kill add kill; do
  kill -0 $running 2>/dev/null || break
  pid=$(worker disturbed)
  case $what in
    kill) [ -z "$pid" ] || { kill -9 "$pid" && did="$did, one killed"; } ;;
    freeze) [ -z "$pid" ] || { kill -STOP "$pid"; sleep 1; kill -CONT "$pid" 2>/dev/null || true; did="$did, one frozen"; } ;;
    add) "$ballast" ctl scale workers=4 --to "$runs/disturbed" > /dev/null 2>&1 && did="$did, one added" ;;
  esac || true
  sleep 0.3
done
wait $running
echo "3 workers, disturbed: $(weights disturbed)  (${did#, })"

[ "$(weights one)" = "$(weights three)" ] && [ "$(weights one)" = "$(weights disturbed)" ] ||
  { echo "NOT the same bits" >&2; exit 1; }
"$ballast" audit --replay "$runs/disturbed"
