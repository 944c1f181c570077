#!/usr/bin/env python3
"""What to run when the weights do not fit: dense streaming, sparse systems, or llama.cpp?

  experiments/llama_cpp/compare.py --python VENV/bin/python [--shares 10,25,50,75] [--rounds 5]
      [--program build/release/experiments/leanstream] [--work build/llama_cpp]

SmolLM2-135M-Instruct (Q4_1), one compute thread. Memory for weights is the same for all: what stays
resident plus a share f of the MLPs' bytes.

1. Quality. Each sparse system, with each test predictor and block size, runs the model itself
   (activations: live) over two texts at each density. It may be used where its perplexity is
   within 5 % (15 %) of dense on both; of those densities the lowest counts.
2. Speed, in rounds that begin with another rival each: blocks really read and really multiplied,
   with the recorded sets of one of the texts (the test predictors need the whole model in memory
   when it runs live); llama.cpp maps the file under a limit (decode.py) and decodes the same
   tokens.

Printed: tables in Markdown, medians with half the range. The machine should be quiet.
"""

import argparse
import csv
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
TEXTS = ["tests/data/texts/pride_and_prejudice.txt", "tests/data/texts/two_cities.txt"]
MODEL = "build/models/SmolLM2-135M-Instruct.Q4_1.gguf"
MLP_WEIGHTS = 30 * 3 * 576 * 1536
Q4_1 = 0.625       # bytes a weight
PROMPT = 32
DENSITIES = [0.7, 0.5, 0.4, 0.3, 0.2]
LIMITS = [1.05, 1.15]
HOPELESS = 1.5  # lower densities are not tried
# Neurons of a block -> (how it is stored, bytes a weight). 32 keep Q4_1 as it is; two fill 4 KiB
# as Q8_0, the smallest read that O_DIRECT is good at.
BLOCKS = {2: ("q8_0", 1.0625), 32: ("as_is", Q4_1)}
SYSTEMS = ["llm_in_a_flash", "leanstream"]
PREDICTORS = ["oracle", "statistical"]


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}:\n{done.stderr}{done.stdout}")
    return done.stdout


class Bench:
    def __init__(self, options):
        self.options = options
        os.makedirs(options.work, exist_ok=True)

    def path(self, name):
        return os.path.join(self.options.work, name)

    def image(self, neurons):
        path = self.path(f"k{neurons}.image")
        if not os.path.exists(path):
            call(self.options.program, "pack", MODEL, "--weights", BLOCKS[neurons][0],
                 "--block-neurons", str(neurons), "--out", path)
        return path

    def trace(self):
        path = self.path(f"trace-{self.options.tokens}.safetensors")
        if not os.path.exists(path):
            call(self.options.program, "record", "--gguf", MODEL, "--text", TEXTS[0], "--limit",
                 str(PROMPT + self.options.tokens), "--no-recall", "--out", path)
        return path

    def run(self, system, neurons, budget, tokens, *changes):
        """The row of results.csv; memory as a share of the MLPs' bytes in the model file."""
        out = self.path("out")
        shutil.rmtree(out, ignore_errors=True)
        budget_bytes = round(budget * MLP_WEIGHTS * Q4_1)
        call(self.options.program, "run", "experiments/quickstart.yaml", "--backend=hardware",
             "--out", out, f"system={system}", f"block_neurons={neurons}",
             f"bytes_per_weight={BLOCKS[neurons][1]!r}", f"hardware.image={self.image(neurons)}",
             f"hardware.weights={MODEL}", "platform_changes.flash.logical_block=4096 B",
             f"prompt_tokens={PROMPT}", f"tokens={PROMPT + tokens}",
             f"memory_budget={budget_bytes} B", *changes)
        with open(os.path.join(out, "results.csv"), encoding="utf-8", newline="") as file:
            return next(csv.DictReader(file))

    def speed(self, system, neurons, budget, *changes):
        row = self.run(system, neurons, budget, self.options.tokens, f"trace={self.trace()}",
                       *changes)
        return float(row["tokens_per_s"])

    def perplexity(self, system, neurons, text, *changes):
        """What was measured before is taken from the folder."""
        known = {}
        if os.path.exists(self.path("perplexity.json")):
            with open(self.path("perplexity.json"), encoding="utf-8") as file:
                known = json.load(file)
        tokens = self.options.quality_tokens
        key = " ".join([system, str(neurons), text, str(tokens), *changes])
        if key not in known:
            row = self.run(system, neurons, 8, tokens, "activations=live", f"text={text}",
                           *changes)
            known[key] = float(row["perplexity"])
            with open(self.path("perplexity.json"), "w", encoding="utf-8") as file:
                json.dump(known, file, indent=1)
        return known[key]

    def perplexities(self, system, neurons, *changes):
        return [self.perplexity(system, neurons, text, *changes) for text in TEXTS]

    def llama(self, *words):
        return json.loads(call(self.options.python, "experiments/llama_cpp/decode.py", MODEL,
                               "--tokens", str(self.options.tokens), "--prompt-tokens",
                               str(PROMPT), "--text", TEXTS[0], *words))


def quality(bench):
    """Prints the table; returns {(system, predictor, neurons, limit): density}."""
    dense = bench.perplexities("dense", 32)
    names = [os.path.basename(text) for text in TEXTS]
    print(f"\nPerplexity, dense: " + ", ".join(f"{p:.3f} ({n})" for p, n in zip(dense, names)))
    print("\n| system | predictor | k |" + "".join(f" {d:g} |" for d in DENSITIES))
    print("|---" * (3 + len(DENSITIES)) + "|")
    chosen = {}
    for system, predictor, neurons in itertools.product(SYSTEMS, PREDICTORS, BLOCKS):
        worse = []
        for density in DENSITIES:
            if worse and max(ratios) > HOPELESS:
                worse.append("")
                continue
            found = bench.perplexities(system, neurons, f"system_changes.predictor={predictor}",
                                       f"density={density}")
            ratios = [a / b for a, b in zip(found, dense)]
            worse.append(" / ".join(f"{r - 1:+.1%}" for r in ratios))
            for limit in LIMITS:
                if max(ratios) <= limit:
                    chosen[system, predictor, neurons, limit] = density
        print(f"| {system} | {predictor} | {neurons} |" + "".join(f" {w} |" for w in worse),
              flush=True)
    return chosen


def rivals(bench, chosen):
    """{name: share of the MLPs -> tokens/s}; equal settings of two limits are one rival."""
    found = {"dense": lambda f: bench.speed("dense", 32, f),
             "llama.cpp": lambda f: bench.llama("--weights-mb", repr(total_mb(f)))["tokens_per_s"]}
    settings = {(s, p, k, d) for (s, p, k, _), d in chosen.items()}
    for system, predictor, neurons, density in sorted(settings):
        name = f"{system}, {predictor}, k = {neurons}, density {density:g}"
        found[name] = lambda f, s=system, p=predictor, k=neurons, d=density: bench.speed(
            s, k, f, f"system_changes.predictor={p}", f"density={d}")
    return found


def total_mb(share):
    return (os.path.getsize(MODEL) - (1 - share) * MLP_WEIGHTS * Q4_1) / 1e6


def rounds(bench, contest):
    """{key: [tokens/s]} of callables, each round beginning with the next one."""
    found = {key: [] for key in contest}
    keys = list(contest)
    for i in range(bench.options.rounds):
        for j in range(len(keys)):
            key = keys[(i + j) % len(keys)]
            found[key].append(contest[key]())
    return found


def spread(values):
    return f"{statistics.median(values):.1f} ± {(max(values) - min(values)) / 2:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/experiments/leanstream")
    parser.add_argument("--python", required=True, help="of an environment with llama-cpp-python")
    parser.add_argument("--work", default="build/llama_cpp", help="folder on the flash to be used")
    parser.add_argument("--shares", default="10,25,50,75", help="f, per cent of the MLPs' bytes")
    parser.add_argument("--tokens", type=int, default=128, help="decoded for a speed")
    parser.add_argument("--quality-tokens", type=int, default=256, help="of each text")
    parser.add_argument("--quality-only", action="store_true", help="this may run beside others")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.chdir(ROOT)
    bench = Bench(options)
    shares = [int(share) / 100 for share in options.shares.split(",")]

    chosen = quality(bench)
    if options.quality_only:
        return
    contest = rivals(bench, chosen)
    print("\n| tokens/s |" + "".join(f" f = {f:.0%}, {total_mb(f):.1f} MB |" for f in shares))
    print("|---" * (1 + len(shares)) + "|")
    results = {f: rounds(bench, {name: lambda f=f, run=run: run(f)
                                 for name, run in contest.items()}) for f in shares}
    for name in contest:
        print(f"| {name} |" + "".join(f" {spread(results[f][name])} |" for f in shares))
    for limit in LIMITS:
        for system, predictor in itertools.product(SYSTEMS, PREDICTORS):
            densities = [chosen.get((system, predictor, k, limit)) for k in BLOCKS]
            print(f"Within {limit - 1:.0%}: {system}, {predictor}: " + ", ".join(
                f"k = {k}: " + ("infeasible" if d is None else f"density {d:g}")
                for k, d in zip(BLOCKS, densities)))
    resident = rounds(bench, {
        "dense": lambda: bench.speed("dense", 32, 1.2),
        "llama.cpp": lambda: bench.llama()["tokens_per_s"],
        "llama.cpp, weights as in the file": lambda: bench.llama("--keep-mapped")["tokens_per_s"]})
    print("\nEverything in memory: " +
          ", ".join(f"{name} {spread(values)}" for name, values in resident.items()))


if __name__ == "__main__":
    main()
