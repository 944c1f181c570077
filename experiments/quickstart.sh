#!/usr/bin/env bash
# From a bare machine to a plotted comparison: packages, build, one simulated sweep, its report.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p build
packages/install.sh build
cmake -S . -B build/quickstart -G Ninja -DCMAKE_BUILD_TYPE=Release -DLEANSTREAM_TESTS=OFF \
  -DLEANSTREAM_WITH_SIMGRID=ON >build/quickstart.log || { cat build/quickstart.log && exit 1; }
cmake --build build/quickstart --target leanstream
build/quickstart/experiments/leanstream sweep experiments/quickstart.yaml --out out/quickstart
