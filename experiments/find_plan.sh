#!/usr/bin/env bash
# Finds leanstream's static plan: records a text that quickstart does not use, runs the 25 plans at
# quickstart's budgets, and ranks them by the geometric mean of tokens/s over the budgets.
#   experiments/find_plan.sh [PROGRAM]     the leanstream program; default: build/release's
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-build/release/experiments/leanstream}
out=out/plan_search
trace=$out/pride_and_prejudice.safetensors

if [[ ! -e $trace ]]; then
  experiments/get_model.sh
  mkdir -p "$out"
  "$program" record --gguf build/models/SmolLM2-135M-Instruct.Q4_1.gguf \
    --text tests/data/texts/pride_and_prejudice.txt --limit 160 --out "$trace"
fi
"$program" sweep experiments/plan_search.yaml --out "$out" --no-report >/dev/null
awk -F, '
  NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
  { plan = $column["system_changes.controller.omega_io"] ", " \
           $column["system_changes.controller.omega_gpu"]
    log_sum[plan] += log($column["tokens_per_s"]); cells[plan]++ }
  END { for (plan in cells) printf "%8.3f tokens/s  (omega_io, omega_gpu) = (%s)\n",
          exp(log_sum[plan] / cells[plan]), plan }' "$out/results.csv" | sort -rn
