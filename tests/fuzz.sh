#!/usr/bin/env bash
# Long runs of the fuzz targets with everything instrumented and sanitized (preset `fuzz`).
#   tests/fuzz.sh [seconds for each target, 60] [target...]
# What they learn stays in build/fuzz-corpus, for the next run. An input that crashes a target lies
# in build/fuzz-findings; TARGET FILE repeats it. Status 1: there is one.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
targets=("${@:2}")
[[ ${#targets[@]} -gt 0 ]] || targets=(scheduler gguf safetensors yaml)
build=build/fuzz
mkdir -p build
cmake --preset fuzz >"$build.log" || { cat "$build.log" && exit 1; }
cmake --build --preset fuzz --target fuzz_seeds "${targets[@]/%/_fuzz}"

status=0
for target in "${targets[@]}"; do
  tests/fuzz/run.sh "$build" "$target" "$seconds" || status=1
done
exit "$status"
