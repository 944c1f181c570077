#!/usr/bin/env python3
"""Runs the micro-benchmarks and prints ratios, with their spread, to a reference in the same run.

  tests/bench/ratios.py build/release/tests/bench/leanstream_bench [--repetitions N] [--filter RE]

A ratio is reference time / time: 2.0x is twice as fast as the reference. All benchmarks of a group
run interleaved in random order, so that a noisy machine troubles them alike. The spread is that of
the single repetitions against the reference's median.
"""
import argparse
import json
import statistics
import subprocess

# Reference first; what is measured against it.
GROUPS = [
    ("selection_naive", r"^selection"),
    ("cache_layer_list_and_hash_lru", r"^cache_layer"),
    ("prediction_with_lasting_errors", r"^prediction"),
    ("core_run/lru", r"^core_run"),
    ("sim_reads_segment", r"^sim_reads_segment$"),  # one simulation a process
    ("sim_reads_segment", r"^sim_reads_request$"),
]


def run(program, pattern, repetitions):
    """{benchmark name: [CPU time of each repetition in ns]}"""
    output = subprocess.run(
        [program, f"--benchmark_filter={pattern}", "--benchmark_format=json",
         f"--benchmark_repetitions={repetitions}",
         "--benchmark_enable_random_interleaving=true"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    times = {}
    for entry in json.loads(output)["benchmarks"]:
        if entry["run_type"] == "iteration" and not entry.get("error_occurred"):
            scale = {"ns": 1, "us": 1e3, "ms": 1e6}[entry["time_unit"]]
            times.setdefault(entry["run_name"], []).append(entry["cpu_time"] * scale)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--filter", default="", help="only groups whose reference has this in it")
    options = parser.parse_args()
    references = {}
    print(f"{'benchmark':34} {'CPU time':>12}  ratio to its reference (least … most)")
    for reference, pattern in GROUPS:
        if options.filter not in reference:
            continue
        times = run(options.program, pattern, options.repetitions)
        if reference in times:
            references[reference] = statistics.median(times[reference])
        base = references.get(reference)
        if base is None:
            print(f"{reference}: not run")
            continue
        for name, values in times.items():
            middle = statistics.median(values)
            ratios = [base / value for value in values]
            print(f"{name:34} {middle / 1e3:9.2f} us  {base / middle:6.2f}x "
                  f"({min(ratios):.2f} … {max(ratios):.2f})"
                  + ("  reference" if name == reference else ""))


if __name__ == "__main__":
    main()
