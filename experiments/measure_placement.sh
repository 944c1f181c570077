#!/usr/bin/env bash
# Learns placements of SmolLM2-135M from one text and measures them on others:
#   experiments/measure_placement.sh [PROGRAM]     the leanstream program; default: build/release's
# Learned from 8,192 tokens of The Debian Administrator's Handbook (every other one of its longer
# chapters, eight pieces of 1,024), looked at on chapters that were not learned from and on the
# public-domain prose of tests/data/texts. Minutes, most of them for the embedding. Needs apt-get to
# download the package debian-handbook (nothing is installed) and python3.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-build/release/experiments/leanstream}")
out=out/placement
model=build/models/SmolLM2-135M-Instruct.Q4_1.gguf

experiments/get_model.sh
mkdir -p "$out"
if [[ ! -d $out/handbook ]]; then
  (cd "$out" && apt-get download debian-handbook && dpkg -x debian-handbook_*.deb handbook)
fi
cp tests/data/texts/*.txt "$out"
python3 - "$out" <<'PYTHON'
import html, pathlib, re, sys

out = pathlib.Path(sys.argv[1])
chapters = []
for file in sorted(out.glob("handbook/usr/share/doc/debian-handbook/html/en-US/*.html")):
    found = re.findall(r'<div class="para">(.*?)</div>|<p[^>]*>(.*?)</p>',
                       file.read_text(encoding="utf-8"), re.S)
    lines = [re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", a or b))).strip()
             for a, b in found]
    text = "\n\n".join(line for line in lines if len(line) > 150)
    if len(text) >= 6200:
        chapters.append(text)
learn, others = chapters[::2], chapters[1::2]
for i in range(8):
    (out / f"learn{i}.txt").write_text(learn[2 * i * len(learn) // 16][:7000])
for i in range(3):
    (out / f"handbook{i}.txt").write_text(others[(2 * i + 1) * len(others) // 6][:7000])
PYTHON
for text in "$out"/*.txt; do
  trace=${text%.txt}.safetensors
  [[ -e $trace ]] || "$program" record --gguf "$model" --text "$text" --limit 1024 --no-recall \
    --out "$trace"
done
learn=()
for i in 0 1 2 3 4 5 6 7; do learn+=(--trace "$out/learn$i.safetensors"); done
for policy in frequency pairwise embedding; do
  "$program" train placement "${learn[@]}" --policy $policy --threads "$(nproc)" \
    --out "$out/$policy.placement.safetensors"
done
for trace in handbook0 handbook1 handbook2 two_cities pride_and_prejudice genesis; do
  "$program" trace placement "$out/$trace.safetensors" --fit-tokens 0 --block-neurons 2 3 4 8 \
    --placement identity --placement "$out/frequency.placement.safetensors" \
    --placement "$out/pairwise.placement.safetensors" \
    --placement "$out/embedding.placement.safetensors" --platform jetson-agx-orin
done
