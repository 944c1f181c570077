"""Replays an exported trace in libCacheSim and compares its misses with `leanstream trace misses`.

    pip install libcachesim==0.3.5
    python3 traces/compare_libcachesim.py build/dev/experiments/leanstream [--write FILE]

Exit status 1 when any count differs. --write saves the simulator's counts: the expected result that
tests/traces/replay_test.cpp holds ours against.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import libcachesim

SAMPLE = pathlib.Path(__file__).parent / "samples/genesis-smollm2-135m.safetensors"
POLICIES = {"lru": libcachesim.LRU, "fifo": libcachesim.FIFO, "sieve": libcachesim.Sieve,
            "s3fifo": libcachesim.S3FIFO}


def simulated_misses(path, policy, slots, wanted):
    reader = libcachesim.TraceReader(path, libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    ratio, _ = POLICIES[policy](cache_size=slots).process_trace(reader)
    return round(ratio * wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("leanstream", help="the program")
    parser.add_argument("--trace", default=str(SAMPLE))
    parser.add_argument("--density", default="0.2")
    parser.add_argument("--sizes", default="10%,25%,50%")
    parser.add_argument("--write", metavar="FILE", help="save the simulator's counts as JSON")
    args = parser.parse_args()

    common = [args.trace, "--density", args.density]
    ours = json.loads(subprocess.run(
        [args.leanstream, "trace", "misses", *common, "--policy", ",".join(POLICIES), "--sizes",
         args.sizes, "--lookup", "access", "--warm-up", "0", "--json"],
        check=True, capture_output=True, text=True).stdout)
    with tempfile.TemporaryDirectory() as folder:
        exported = f"{folder}/trace.oracleGeneral"
        subprocess.run([args.leanstream, "trace", "export", *common, "--out", exported],
                       check=True, stdout=subprocess.DEVNULL)
        theirs = {p: [simulated_misses(exported, p, s, ours["wanted"]) for s in ours["slots"]]
                  for p in POLICIES}

    different = 0
    print(f"{'policy':8} {'slots':>8} {'leanstream':>12} {'libCacheSim':>12}")
    for curve in ours["policies"]:
        policy = curve["cache"]["policy"]
        for slots, mine, other in zip(ours["slots"], curve["misses"], theirs[policy]):
            different += mine != other
            print(f"{policy:8} {slots:8} {mine:12} {other:12}{'' if mine == other else '  differ'}")
    if args.write:
        result = {"trace": pathlib.Path(args.trace).name, "density": float(args.density),
                  "lookup": "access", "warm_up_tokens": 0,
                  "simulator": f"libcachesim {libcachesim.__version__}",
                  "wanted": ours["wanted"], "slots": ours["slots"], "misses": theirs}
        pathlib.Path(args.write).write_text(json.dumps(result, indent=1) + "\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
