#!/usr/bin/env bash
# Runs one fuzz target from the seeds and what earlier runs of it found worth keeping.
#   tests/fuzz/run.sh BUILD TARGET SECONDS
set -euo pipefail
cd "$(dirname "$0")/../.."

build=$1 target=$2 seconds=$3
corpus=build/fuzz-corpus/$target seeds=build/fuzz-seeds findings=build/fuzz-findings
mkdir -p "$corpus" "$seeds"/{scheduler,yaml} "$findings"
"$build/tests/fuzz/fuzz_seeds" "$seeds"
cp experiments/*.yaml experiments/systems/*.yaml "$seeds/yaml"
"$build/tests/fuzz/${target}_fuzz" -max_total_time="$seconds" -timeout=20 -max_len=8192 \
  -print_final_stats=1 -artifact_prefix="$findings/$target-" "$corpus" "$seeds/$target" \
  >"$findings/$target.log" 2>&1 || { tail -n 40 "$findings/$target.log" && exit 1; }
sed -n 's/^stat::\(number_of_executed_units\): */\1 /p' "$findings/$target.log"
