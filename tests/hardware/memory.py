#!/usr/bin/env python3
"""Whether a hardware run's memory is what it states, on an image larger than what is kept of it.

  tests/hardware/memory.py build/release/experiments/leanstream [folder]

Packs 1.3 GiB of random weights (four layers of mistral-7b) into a temporary folder inside the given
one (default: here; a disk with O_DIRECT), runs systems at two budgets, and compares for each
  growth   of the process while it ran, now and at its peak: at most what facts.csv states in all
           + max(5 %, 16 MiB)
  cached   pages of the image's blocks in the page cache afterwards: none
Status 1 when one does not hold. The folder is removed.
"""

import csv
import ctypes
import json
import mmap
import os
import re
import subprocess
import sys
import tempfile

LAYERS = 4
MIB = 1 << 20
SYSTEMS = ["dense", "llm_in_a_flash", "leanstream"]
BUDGETS = ["60% of mlp", "80% of mlp"]


def cached_pages(path, first_byte):
    """Pages from first_byte on that are in the page cache."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        mapped = mmap.mmap(file.fileno(), size, flags=mmap.MAP_PRIVATE,
                           prot=mmap.PROT_READ | mmap.PROT_WRITE)
        pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
        flags = (ctypes.c_ubyte * pages)()
        address = ctypes.c_char.from_buffer(mapped)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mincore(ctypes.c_void_p(ctypes.addressof(address)), ctypes.c_size_t(size),
                        flags) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
        del address
        mapped.close()
        return sum(flag & 1 for flag in bytes(flags)[first_byte // mmap.PAGESIZE:])


def forget(path):
    """Takes a file out of the page cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main():
    program = os.path.abspath(sys.argv[1])
    shapes = os.path.join(os.path.dirname(__file__), "../../experiments/models/mistral-7b.yaml")
    with open(shapes, encoding="utf-8") as file:
        model = re.sub(r"layers: \d+", f"layers: {LAYERS}", file.read())
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else ".") as folder:
        os.chdir(folder)

        def call(*words):
            done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"{' '.join(words)}: {done.stderr}")
            return done.stdout

        with open("model.yaml", "w", encoding="utf-8") as file:
            file.write(model)
        call("synthesize", "--model", "./model.yaml", "--tokens", "12", "--out", "trace")
        packed = json.loads(call("pack", "--shape", "./model.yaml", "--out", "image", "--json"))
        with open("experiment.yaml", "w", encoding="utf-8") as file:
            file.write("kind: experiment\nname: memory\nplatform: jetson-agx-orin\n"
                       "platform_changes: {flash: {logical_block: 4096 B}}\n"
                       "model: ./model.yaml\nsystem: dense\ntrace: trace\nprompt_tokens: 4\n"
                       "density: 20%\nmemory_budget: 30% of mlp\nhardware: {image: image}\n")
        data_offset = os.path.getsize("image") - packed["blocks"] * packed["block_bytes"]
        print(f"image of {os.path.getsize('image') / MIB:.0f} MiB; MiB:\n"
              f"{'system':16}{'budget':14}{'stated':>9}{'growth':>9}{'peak':>9}{'cached':>8}")
        good = True
        for system in SYSTEMS:
            for budget in BUDGETS:
                forget("image")
                call("run", "experiment.yaml", "--backend=hardware", f"system={system}",
                     f"memory_budget={budget}", "--out", "o")
                with open("o/facts.csv", encoding="utf-8", newline="") as file:
                    facts = {row["fact"]: row["value"] for row in csv.DictReader(file)}
                stated, growth, peak = (int(facts[f"memory_bytes_{name}"]) for name in
                                        ("stated", "process_growth", "process_growth_peak"))
                cached = cached_pages("image", data_offset)
                print(f"{system:16}{budget:14}{stated / MIB:9.1f}{growth / MIB:9.1f}"
                      f"{peak / MIB:9.1f}{cached:8}")
                good = good and cached == 0
                good = good and max(growth, peak) <= stated + max(0.05 * stated, 16 * MIB)
    print("good" if good else "BAD: more memory than stated, or weights in the page cache")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
