#!/usr/bin/env bash
# Line coverage of the scheduler core and the policies by their tests: builds those in
# build/coverage, runs them, and prints each folder's share. Status 1: a folder is below 90 %.
set -euo pipefail
cd "$(dirname "$0")/.."
folders=(engine/scheduler engine/policy)
build=build/coverage
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=g++ \
  -DCMAKE_CXX_FLAGS=--coverage -DLEANSTREAM_WITH_SIMGRID=OFF >"$build.log" ||
  { cat "$build.log" && exit 1; }
cmake --build "$build" --target scheduler_test policy_test
find "$build" -name '*.gcda' -delete
for test in scheduler policy; do "$build/tests/$test/${test}_test" >"$build/$test.txt"; done
find "$build" -name '*.gcda' -print0 |
  (cd "$build" && xargs -0 -I{} gcov --json-format --stdout "$OLDPWD/{}") |
  python3 tests/coverage.py 90 "${folders[@]}"
