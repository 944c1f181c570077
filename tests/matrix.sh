#!/usr/bin/env bash
# The determinism matrix: {g++, clang++} × {-O0, -O2, -O3 -march=native} × {plain, sanitized}, each
# program's quickstart results with and without address space randomisation, against the release
# build's, byte for byte.
# Builds are unity builds: the same code and flags in a quarter of the time.
#   tests/matrix.sh            all 12 programs; about an hour on two cores
#   tests/matrix.sh g++ -O0    those whose name holds all of the words
# Programs stay in build/matrix. Status 1: one gave other bytes, or none.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p build/matrix
failed=0

# GCC 12 at -O3 sees overflows in inlined headers of fmt and of its own library that are not there.
false_positives='-Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=stringop-overread'
false_positives+=' -Wno-error=maybe-uninitialized -Wno-error=restrict'

build() {
  local compiler=$1 optimise=$2 sanitize=$3 into=$4 quiet=''
  [[ "$compiler" == g++ ]] && quiet=$false_positives
  cmake -S . -B "$into" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="$quiet" -DLEANSTREAM_OPTIMISE="$optimise" \
    -DLEANSTREAM_SANITIZE="$sanitize" -DLEANSTREAM_TESTS=OFF -DCMAKE_UNITY_BUILD=ON \
    >"$into.log" 2>&1 &&
    cmake --build "$into" --target leanstream >>"$into.log" 2>&1
}

# sweep PROGRAM NAME [before…]: results in $folder/NAME.
sweep() {
  "${@:3}" "$1" sweep experiments/quickstart.yaml --no-report --out "$folder/$2" >/dev/null
}

# verdict on|off PROGRAM: what address space randomisation being on or off gives, with its time.
verdict() {
  local begin=$SECONDS before=() word=same
  [[ $1 == off ]] && before=(setarch -R)
  if ! sweep "$2" "$1" "${before[@]}" 2>"$folder/$1-errors"; then
    word=FAILED
    cat "$folder/$1-errors" >&2
  elif ! cmp -s "$folder/release/results.csv" "$folder/$1/results.csv"; then
    word=DIFFERENT
  fi
  rm -rf "${folder:?}/$1"
  echo "$word ($((SECONDS - begin)) s)" >"$folder/$1-verdict"
}

# row NAME PROGRAM: one line of the table; a sweep takes one processor.
row() {
  verdict on "$2" &
  verdict off "$2"
  wait
  printf '%-34s%-18s%-18s\n' "$1" "$(<"$folder/on-verdict")" "$(<"$folder/off-verdict")"
  if grep -qv '^same' "$folder"/{on,off}-verdict; then failed=1; fi
}

release='build/matrix/g++_-O2_plain'
build g++ -O2 OFF "$release" || { cat "$release.log" && exit 1; }
sweep "$release/experiments/leanstream" release
printf '%-34s%-18s%-18s\n' program 'ASLR on' 'ASLR off'
for compiler in g++ clang++; do
  for optimise in -O0 -O2 '-O3 -march=native'; do
    for variant in plain sanitized; do
      name="$compiler $optimise $variant"
      for word in "$@"; do
        [[ " $name " == *" $word "* ]] || continue 2
      done
      into="build/matrix/${name// /_}"
      [[ $variant == sanitized ]] && sanitize=ON || sanitize=OFF
      if build "$compiler" "$optimise" "$sanitize" "$into"; then
        row "$name" "$into/experiments/leanstream"
      else
        printf '%-34snot built: %s\n' "$name" "$into.log"
        failed=1
      fi
    done
  done
done
exit "$failed"
