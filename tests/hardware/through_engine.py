#!/usr/bin/env python3
"""Random reads through the whole engine beside fio and a bare io_uring loop.

  tests/hardware/through_engine.py build/release/experiments/leanstream [--folder DIR]
      [--block-kib 16,64,256,512] [--depth 32] [--pairs 15] [--seconds 1]

For each size of a block it packs 256 MiB or more of random weights in such blocks and measures, in
pairs that change their order, a run of the hardware world that keeps nothing and reads half of all
blocks for every token, by importance, one request a block, with the device's queue kept full; and
'leanstream bench storage --fio' on the same image. Printed are medians over the pairs with their
quartiles:
  x fio    requests a second of the run (decoding only) / fio's
  x bare   the same / a loop that does nothing but read
  CPU us   of the scheduler's thread for a request: all of the core, reader and storage (blocks are
           published layer by layer: waking the accelerator is not what a read costs)
  + bare   the same beyond what the bare loop needs
The machine should be quiet: two processors at least, none of them taken.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

KIB = 1024
# What a token reads, half of two layers, is this much and so many requests at least: what a token
# costs by itself should not count.
TOKEN_BYTES = 128 << 20
TOKEN_REQUESTS = 2048
NEURONS = 21             # of a block: 21 * 6 bytes * 128 are 16 KiB less 256 bytes


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def prepare(program, kib, depth, tokens):
    """Model, trace, image and experiment in the current folder."""
    hidden = 8 * kib
    blocks = max(TOKEN_BYTES // (kib * KIB), TOKEN_REQUESTS)
    with open("model.yaml", "w", encoding="utf-8") as file:
        file.write("kind: model\ndescription: little to compute\nreference: none\nlayers: 2\n"
                   f"hidden: {hidden}\nffn: {blocks * NEURONS}\nheads: {hidden // 64}\n"
                   f"kv_heads: 1\nvocab: 256\ntied_embeddings: true\nbytes_per_weight: 2\n")
    with open("experiment.yaml", "w", encoding="utf-8") as file:
        file.write(f"""kind: experiment
name: through
platform: jetson-agx-orin
platform_changes: {{flash: {{logical_block: 4096 B, queue_depth: {depth}}}}}
model: ./model.yaml
system: dejavu
system_changes:
  predictor: oracle
  predict_cost_like: nothing
  loader: prioritised
  controller: {{policy: static, omega_io: 1, omega_gpu: 16}}
  io_segment_sync: none
  publish: segment
  synchronisation: flags
trace: trace
prompt_tokens: 1
tokens: {tokens}
density: 50%
block_neurons: {NEURONS}
memory_budget: 60% of mlp
hardware: {{image: image}}
""")
    call(program, "synthesize", "--model", "./model.yaml", "--tokens", str(tokens), "--out",
         "trace")
    call(program, "pack", "--shape", "./model.yaml", "--block-neurons", str(NEURONS), "--out",
         "image")


def table(name):
    with open(f"o/{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def run(program, kib):
    """Requests a second while decoding, and CPU microseconds a request."""
    call(program, "run", "experiment.yaml", "--backend=hardware", "--out", "o")
    tokens = table("tokens")
    seconds = sum(float(row["tpot_ms"]) for row in tokens) / 1e3
    requests = sum(float(row["bytes_read"]) for row in tokens) / (kib * KIB)
    facts = {row["fact"]: row["value"] for row in table("facts")}
    return (requests / seconds,
            float(facts["scheduler_thread_cpu_s"]) * 1e6 / int(facts["requests"]))


def beside(program, kib, depth, seconds):
    out = call(program, "bench", "storage", "--file", "image", "--block-kib", str(kib), "--depth",
               str(depth), "--seconds", str(seconds), "--pairs", "1", "--fio", "--json")
    return json.loads(out)["cells"][0]


def spread(values, digits):
    quartiles = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return " ".join(f"{q:.{digits}f}" for q in (statistics.median(values), quartiles[0],
                                                 quartiles[2]))


def measure(program, kib, options):
    tokens = max(4, int(options.seconds * 8) + 1)
    prepare(program, kib, options.depth, tokens)
    rows = {name: [] for name in ("iops", "fio", "bare", "cpu", "over")}
    for pair in range(options.pairs):
        first = run(program, kib) if pair % 2 == 0 else None
        other = beside(program, kib, options.depth, options.seconds)
        iops, cpu_us = first or run(program, kib)
        rows["iops"].append(iops)
        rows["cpu"].append(cpu_us)
        rows["fio"].append(iops / other["fio_iops"])
        rows["bare"].append(iops / other["bare_iops"])
        rows["over"].append(cpu_us - other["bare_cpu_us"])
    print(f"{kib:5}{options.depth:6}{statistics.median(rows['iops']):9.0f}"
          f"  {spread(rows['fio'], 3):22}{spread(rows['bare'], 3):22}"
          f"{spread(rows['cpu'], 2):20}{spread(rows['over'], 2):20}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--folder", default=".")
    parser.add_argument("--block-kib", default="16,64,256,512")
    parser.add_argument("--depth", type=int, default=32)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1)
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    print(f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors; median, quartiles of "
          f"{options.pairs} pairs\n"
          f"{'KiB':>5}{'depth':>6}{'IOPS':>9}  {'x fio':22}{'x bare':22}{'CPU us':20}{'+ bare':20}")
    for kib in map(int, options.block_kib.split(",")):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            back = os.getcwd()
            os.chdir(folder)
            try:
                measure(program, kib, options)
            finally:
                os.chdir(back)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
