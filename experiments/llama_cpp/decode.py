#!/usr/bin/env python3
"""Decodes with llama.cpp, its weights mapped from the file, under a limit of memory; prints JSON.

  VENV/bin/python experiments/llama_cpp/decode.py MODEL.gguf [--weights-mb M] [--threads 1]
      [--prompt-tokens 32] [--tokens 128] [--text FILE]

Needs llama-cpp-python in VENV and, with --weights-mb, root and the memory controller of cgroups.

--weights-mb is what the weights may take in memory, in 10^6 bytes. The process enters a cgroup of
its own, loads the model and reads the prompt; its anonymous memory (interpreter, key-value cache,
buffers) is then what it needs besides weights, the limit is set to the sum, and decoding is timed.
Weights are dropped from the page cache before. llama.cpp would copy weights into its own layout,
which nothing can drop: with a limit that is switched off (use_extra_bufts); --keep-mapped switches
it off without one.

Fields: tokens_per_s of decoding; read_mb_per_token by the disk as the kernel counts it for this
process; kernel_ms_per_token, its CPU time inside the kernel; besides_mb, anonymous memory.
"""

import argparse
import json
import os
import resource
import sys
import time

CGROUP_1 = "/sys/fs/cgroup/memory"
CGROUP_2 = "/sys/fs/cgroup"
MB = 10 ** 6


class Cgroup:
    """A group of this process alone, of either version of cgroups."""

    def __init__(self):
        first = os.path.isdir(CGROUP_1)
        self.limit_file, self.anonymous, self.home = (
            ("memory.limit_in_bytes", "rss", CGROUP_1) if first else
            ("memory.max", "anon", CGROUP_2))
        self.path = os.path.join(self.home, f"leanstream-{os.getpid()}")
        try:
            os.mkdir(self.path)
            self.write("cgroup.procs", os.getpid())
        except OSError as error:
            sys.exit(f"{self.path}: {error.strerror}: a limit needs root and cgroups' memory "
                     "controller")

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def anonymous_bytes(self):
        with open(os.path.join(self.path, "memory.stat"), encoding="ascii") as file:
            stat = dict(line.split() for line in file)
        return int(stat[self.anonymous])

    def limit(self, size):
        self.write(self.limit_file, size)

    def leave(self):
        with open(os.path.join(self.home, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
        os.rmdir(self.path)


def drop_from_page_cache(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_bytes():
    with open("/proc/self/io", encoding="ascii") as file:
        return int(dict(line.split(": ") for line in file)["read_bytes"])


def load(options):
    import llama_cpp
    if options.weights_mb or options.keep_mapped:
        defaults = llama_cpp.llama_cpp.llama_model_default_params

        def mapped():
            params = defaults()
            params.use_extra_bufts = False
            return params
        llama_cpp.llama_cpp.llama_model_default_params = mapped
        llama_cpp.llama_model_default_params = mapped
    return llama_cpp.Llama(options.model, n_ctx=1024, n_threads=options.threads,
                           n_threads_batch=options.threads, use_mmap=True, use_mlock=False,
                           verbose=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--weights-mb", type=float)
    parser.add_argument("--keep-mapped", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt-tokens", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--text", help="decode its tokens instead of the likeliest ones")
    options = parser.parse_args()

    drop_from_page_cache(options.model)
    group = Cgroup() if options.weights_mb else None
    model = load(options)
    forced = None
    if options.text:
        with open(options.text, "rb") as file:
            forced = model.tokenize(file.read(), add_bos=False)
        if len(forced) < options.prompt_tokens + options.tokens:
            sys.exit(f"{options.text} has {len(forced)} tokens, too few")
    prompt = forced or model.tokenize(b"Once upon a time there was a lighthouse keeper who " * 8)
    model.eval(prompt[:options.prompt_tokens])
    besides = group.anonymous_bytes() if group else 0
    if group:
        group.limit(int(besides + options.weights_mb * MB))
    before, kernel, begin = read_bytes(), resource.getrusage(resource.RUSAGE_SELF), time.time()
    for i in range(options.tokens):
        likeliest = model.sample(temp=0)
        model.eval([forced[options.prompt_tokens + i] if forced else likeliest])
    wall = time.time() - begin
    spent = resource.getrusage(resource.RUSAGE_SELF).ru_stime - kernel.ru_stime
    read = read_bytes() - before
    if group:
        group.leave()
    print(json.dumps({"tokens_per_s": options.tokens / wall,
                      "read_mb_per_token": read / options.tokens / MB,
                      "kernel_ms_per_token": spent / options.tokens * 1e3,
                      "besides_mb": besides / MB}))


if __name__ == "__main__":
    main()
