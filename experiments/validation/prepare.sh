#!/usr/bin/env bash
# Makes the images and the trace of the two validations under build/: 3.5 GB, on the flash that is
# to be measured. What is there stays.
#   experiments/validation/prepare.sh [PROGRAM]     default: build/release's
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${1:-build/release/experiments/leanstream}

make() {  # FILE COMMAND…: unless the file is there
  [[ -e $1 ]] || "${@:2}" --out "$1"
}

mkdir -p build/images build/traces
model=$(experiments/get_model.sh)
for k in 2 8; do
  make "build/images/smollm2-135m-$k.image" "$program" pack "$model" --weights f16 \
    --block-neurons "$k"
done
shape=mistral-7b-4-layers
for k in 2 8; do
  make "build/images/$shape-$k.image" "$program" pack --shape "$shape" --weights f16 \
    --block-neurons "$k"
done
make "build/traces/$shape.safetensors" "$program" synthesize --model "$shape" --tokens 16
