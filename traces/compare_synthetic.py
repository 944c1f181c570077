#!/usr/bin/env python3
"""How much a synthetic trace looks like a real one that its fit has not seen.

    traces/compare_synthetic.py PROGRAM [--fit-text A.txt --other-text B.txt] [--tokens 1024]

Records both texts with SmolLM2-135M (experiments/get_model.sh), fits the first, synthesises the
model's shape from the fit and compares with the second: share of importance, overlap of
consecutive sets by layer, firings of the hottest neurons, miss ratios of caches. Each figure may be
off by 0.03, or by 1.5 times the difference between the two texts if that is more. Status 1 when
one is further off. Files stay in build/compare_synthetic; recordings there are used again.
"""

import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXTS = os.path.join(ROOT, "tests/data/texts")


def figures(statistics):
    """Name → value, from `leanstream trace info --json`."""
    found = {"importance share": statistics["importance_share"], "overlap": statistics["overlap"]}
    for layer, overlap in enumerate(statistics["overlap_by_layer"]):
        found[f"overlap, layer {layer}"] = overlap
    for share, value in statistics["hottest_share"].items():
        found[f"firings in the hottest {100 * float(share):.0f} %"] = value
    for cache in statistics["cache"]:
        for policy in ("lru", "lfu", "belady"):
            name = f"{policy}, cache of {100 * cache['cache_share']:.0f} %"
            found[name] = cache[f"{policy}_miss_ratio"]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--fit-text", default=os.path.join(TEXTS, "pride_and_prejudice.txt"))
    parser.add_argument("--other-text", default=os.path.join(TEXTS, "two_cities.txt"))
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    gguf = os.path.join(ROOT, "build/models/SmolLM2-135M-Instruct.Q4_1.gguf")
    folder = os.path.join(ROOT, "build/compare_synthetic")
    os.makedirs(folder, exist_ok=True)

    def call(*command):
        return subprocess.run([args.program, *command], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def statistics(trace):
        return figures(json.loads(call("trace", "info", "--json", trace))["statistics"])

    def record(text):
        name = os.path.splitext(os.path.basename(text))[0]
        trace = os.path.join(folder, f"{name}-{args.tokens}.safetensors")
        if not os.path.exists(trace):
            call("record", "--gguf", gguf, "--text", text, "--limit", str(args.tokens),
                 "--no-recall", "--out", trace)
        return trace

    first, other = record(args.fit_text), record(args.other_text)
    fit = os.path.join(folder, "fit.yaml")
    made = os.path.join(folder, "synthetic.safetensors")
    call("trace", "fit", first, "--out", fit)
    call("synthesize", "--model", "smollm2-135m", "--fit", fit, "--tokens", str(args.tokens),
         "--seed", str(args.seed), "--out", made)
    missed = 0
    print(f"{'':32}  fitted  synthetic  other    off  allowed")
    rows = zip(*(statistics(trace).items() for trace in (first, made, other)))
    for (name, a), (_, s), (_, b) in rows:
        allowed = max(0.03, 1.5 * abs(a - b))
        far = abs(s - b) > allowed
        missed += far
        print(f"{name:32}  {a:.3f}   {s:.3f}      {b:.3f}  {s - b:+.3f}  {allowed:.3f}"
              f"{'  TOO FAR' if far else ''}")
    print(f"{missed} figures too far off")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
