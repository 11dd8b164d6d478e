#!/bin/bash
# All benchmarks: the core (Google Benchmark), then end to end on a real API server. Arguments go to bench/run.py.
set -euo pipefail
cd "$(dirname "$0")/.."
for bench in build/*_bench; do
  [ -x "$bench" ] || continue
  echo "== $(basename "$bench")"
  "$bench" --benchmark_min_time=0.2
done
echo "== end to end"
exec python3 bench/run.py "$@"
