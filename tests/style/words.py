"""Words that break determinism, the split between core and worlds, or privacy of a machine."""

import re

from source import CODE, CPP, Finding, Source, blank, sources

CORE = ("engine/scheduler/", "engine/policy/", "engine/backend/")
# (folders, pattern, why)
RULES = [
    (("engine/", "sim/"), r"\bs?rand\s*\(|\brandom_device\b|\bmt19937|\bstd::\w+_distribution\b",
     "randomness comes from engine/base/random.h"),
    (("engine/", "sim/", "traces/"), r"\bis_?simulat(ed|ion)\b",
     "no code asks which world it is in"),
    (("engine/scheduler/", "engine/policy/"), r"\bunordered_(multi)?(map|set)\b",
     "decisions may not depend on the order of a hash table"),
    (CORE, r"\b(system|steady|high_resolution)_clock\b|\bclock_gettime\b|\bgettimeofday\b"
     r"|\bstd::time\s*\(", "the core has no clock"),
    (CORE, r"\bstd::(thread|jthread|mutex|async|condition_variable)\b", "the core has no threads"),
]
MACHINE = re.compile(r"(?<![\w.-])/(work|root|home/\w+)/|localhost:\d|127\.0\.0\.1:\d|"
                     r"--(extra-)?index-url|--trusted-host")
TEXT = CODE + (".md", ".yaml", ".yml", ".json", ".txt")


def check_code(source: Source):
    text = blank(source.text)
    for folders, pattern, why in RULES:
        if source.path.startswith(folders):
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                yield Finding(source.path, line, f"'{match.group()}': {why}")


def check_machine(source: Source):
    for number, line in enumerate(source.lines(), 1):
        if match := MACHINE.search(line):
            yield Finding(source.path, number, f"'{match.group()}' names one machine")


def check_file(source: Source):
    if source.path.endswith(CPP):
        yield from check_code(source)
    yield from check_machine(source)


def check():
    own = "tests/style/words.py"  # it has to spell the words
    for source in sources(TEXT):
        if source.path != own:
            yield from check_file(source)


GOOD = [
    Source("engine/policy/a.cpp", "// not std::unordered_map\nint operand(int);\n"),
    Source("engine/hardware/a.cpp", "auto t = std::chrono::steady_clock::now();\n"),
    Source("README.md", "see framework/ and ./" + "work/x\n"),
]
BAD = [
    Source("engine/base/a.cpp", "int x = std::rand();\n"),
    Source("sim/a.cpp", "std::random_device device;\n"),
    Source("engine/base/a.cpp", "std::normal_distribution<double> d;\n"),
    Source("engine/policy/cache/a.cpp", "std::unordered_map<int, int> ages;\n"),
    Source("engine/scheduler/a.cpp", "auto t = std::chrono::steady_clock::now();\n"),
    Source("engine/backend/a.cpp", "std::thread worker;\n"),
    Source("engine/scheduler/a.cpp", "if (is_simulated) return;\n"),
    Source("README.md", "cd /" + "work/tree\n"),
    Source("experiments/a.sh", "pip --index-url x\n"),
]
