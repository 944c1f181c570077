#!/usr/bin/env bash
# The one test command: packages, model, format, builds with two compilers, lint, all tests, and
# some seconds of fuzzing.
# Its last line, "N passed, N failed", appears only when every stage ran. Status 0: nothing failed.
#   tests/run.sh          all of it
#   tests/run.sh format   formats the C++ files instead
set -euo pipefail
cd "$(dirname "$0")/.."

passed=0
failed=0
jobs=$(nproc)
export CMAKE_BUILD_PARALLEL_LEVEL=$jobs CTEST_PARALLEL_LEVEL=$jobs
mapfile -t cpp_files < <(git ls-files '*.h' '*.cpp')

# stage TITLE COMMAND...: a header, the command, how long it took.
stage() {
  local title=$1 begin=$SECONDS status=0
  shift
  printf '\n=== %s\n' "$title"
  "$@" || status=$?
  printf -- '--- %s: %d s\n' "$title" $((SECONDS - begin))
  return "$status"
}

# check TITLE COMMAND...: a stage that counts as one test; the others go on when it fails.
check() {
  if stage "$@"; then
    passed=$((passed + 1))
  else
    echo "FAILED: $1"
    failed=$((failed + 1))
  fi
}

build() {
  local preset=$1
  shift
  cmake --preset "$preset" "$@" >"build/$preset.log" || { cat "build/$preset.log" && return 1; }
  grep 'LeanStream:' "build/$preset.log" || true
  cmake --build --preset "$preset"
}

# run_tests PRESET [ctest option...]: adds ctest's own count to the totals.
run_tests() {
  local preset=$1 log="build/$1-tests.log" of bad
  shift
  ctest --preset "$preset" --timeout 300 "$@" >"$log" 2>&1 || true
  grep -vE '^ *(Start|[0-9]+/[0-9]+ Test +#[0-9]+: .*Passed)' "$log" || true
  read -r bad of < <(sed -nE 's/.* ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' "$log") ||
    { echo "ctest gave no count: see $log" && return 1; }
  failed=$((failed + bad))
  passed=$((passed + of - bad))
}

if [[ "${1:-}" == format ]]; then
  exec clang-format -i "${cpp_files[@]}"
fi
mkdir -p build
stage "packages" packages/install.sh build model test
stage "sample model" experiments/get_model.sh
check "format" clang-format --dry-run -Werror "${cpp_files[@]}"
stage "build: g++ -O2" build release
stage "tests: g++ -O2" run_tests release
check "synthetic traces look like a second text" \
  traces/compare_synthetic.py build/release/experiments/leanstream
stage "build: g++ with sanitizers" build debug
stage "tests: g++ with sanitizers" run_tests debug --label-exclude slow
stage "build: g++ with thread sanitizer" build threads
check "no data race in the accelerator" build/threads/tests/hardware/accelerator/accelerator_test
check "no data race in the hardware world" build/threads/tests/hardware/world/world_test
check "memory of a hardware run" tests/hardware/memory.py build/release/experiments/leanstream build
check "build: clang++ -O3 -march=native with clang-tidy" \
  build clang '-DCMAKE_CXX_CLANG_TIDY=clang-tidy;--quiet'
check "same results from every build" tests/determinism.sh \
  build/{release,debug,clang}/experiments/leanstream

check "fuzz: scheduler" tests/fuzz/run.sh build/clang scheduler 5
for target in gguf safetensors yaml; do
  check "fuzz: $target" tests/fuzz/run.sh build/clang "$target" 2
done

printf '\n%d seconds\n%d passed, %d failed\n' "$SECONDS" "$passed" "$failed"
[[ "$failed" -eq 0 ]]
