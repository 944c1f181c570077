#!/usr/bin/env bash
# The same inputs give the same bytes, whatever compiled the program.
#   tests/determinism.sh PROGRAM...
# The first program runs the quickstart sweep twice, the others once each. All write the same
# results.csv, byte for byte; `commands_hash`, of all that the scheduler asked for, is a column.
# The same holds for a synthetic trace.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0

# sweep PROGRAM RESULTS
sweep() {
  local begin=$SECONDS
  "$1" sweep experiments/quickstart.yaml --no-report --out "$folder/$2" >/dev/null
  echo "$1: $(($(wc -l <"$folder/$2/results.csv") - 1)) cells in $((SECONDS - begin)) s"
}

# synthesize PROGRAM TRACE: under one name and in one folder; the header holds the command line.
synthesize() {
  local program
  program=$(realpath "$1")
  (cd "$folder" &&
    exec -a leanstream "$program" synthesize --model smollm2-135m --out trace >/dev/null)
  mv "$folder/trace" "$folder/$2"
}

# difference NAME RESULTS: from the first run's results, at its first cell and column.
difference() {
  echo "DIFFERENT: $1"
  python3 - "$folder/first/results.csv" "$folder/$2/results.csv" <<'END'
import csv, sys
one, two = (list(csv.reader(open(path, newline=""))) for path in sys.argv[1:])
for number, (a, b) in enumerate(zip(one, two)):
    for column, (x, y) in enumerate(zip(a, b)):
        if x != y:
            cell = ", ".join(f"{name} {a[one[0].index(name)]}"
                             for name in ("system", "memory_budget_bytes", "seed"))
            sys.exit(print(f"  row {number} ({cell}), column {one[0][column]}: {x!r}, here {y!r}"))
print(f"  {len(one)} rows, here {len(two)}; or other line ends")
END
}

sweep "$1" first
synthesize "$1" first.safetensors
for program in "$@"; do
  sweep "$program" other
  if ! cmp -s "$folder/first/results.csv" "$folder/other/results.csv"; then
    difference "$program from $1" other
    status=1
  fi
  synthesize "$program" other.safetensors
  if ! cmp "$folder/first.safetensors" "$folder/other.safetensors"; then
    echo "DIFFERENT: the synthetic trace of $program"
    status=1
  fi
done
exit "$status"
