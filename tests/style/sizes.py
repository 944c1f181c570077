"""Length of files, functions and lines."""

import re
import statistics

from source import CODE, CPP, Finding, Source, blank, sources

MAX_COLUMNS = 100
MAX_FUNCTION = 70
MAX_FILE = 600
MOST_FILES = 400  # 95 % of the C++ files have at most so many lines
MEDIAN_FILE = 120
# A '{' after one of these opens a scope, not a function.
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
# What may stand between a parameter list and the body of a function.
BODY = re.compile(r"\)\s*(const|noexcept|override|final|mutable|&|->\s*[\w:<>,&*\s]+|\s)*$")


def functions(text):
    """(first line, last line) of every outermost function body, heads included."""
    text = blank(text, strings=True)
    text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", lambda m: re.sub(r"[^\n]", " ", m.group()), text,
                  flags=re.M)
    head, stack, begin = 0, [], None
    for position, c in enumerate(text):
        if c == "{":
            before = text[head:position]
            if begin is not None:
                kind = "inner"
            elif BODY.search(before) or re.search(r"\)\s*:.*[)}]\s*$", before, re.S):
                kind = "function"
                begin = head + len(before) - len(before.lstrip())
            elif SCOPE.search(before):
                kind = "scope"
            else:
                kind = "braces"
            stack.append(kind)
            head = position + 1 if kind == "scope" else head
        elif c == "}" and stack:
            kind = stack.pop()
            if kind == "function":
                yield text.count("\n", 0, begin) + 1, text.count("\n", 0, position) + 1
                begin = None
            head = position + 1 if kind in ("scope", "function") else head
        elif c == ";" and begin is None and "braces" not in stack:
            head = position + 1


def check_file(source: Source):
    lines = source.lines()
    if len(lines) > MAX_FILE:
        yield Finding(source.path, len(lines), f"{len(lines)} lines; at most {MAX_FILE}")
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            yield Finding(source.path, number, f"{len(line)} columns; at most {MAX_COLUMNS}")
        if line != line.rstrip():
            yield Finding(source.path, number, "space at the end of the line")
    if source.text and not source.text.endswith("\n"):
        yield Finding(source.path, len(lines), "no line end at the end of the file")
    if source.path.endswith(CPP):
        for first, last in functions(source.text):
            if last - first + 1 > MAX_FUNCTION:
                length = last - first + 1
                yield Finding(source.path, first,
                              f"a function of {length} lines; at most {MAX_FUNCTION}")


def check_spread(lengths):
    """The distribution over all C++ files."""
    if not lengths:
        return
    long = sum(n > MOST_FILES for n in lengths)
    if long > 0.05 * len(lengths):
        yield Finding("tree", 1, f"{long} of {len(lengths)} files over {MOST_FILES} lines")
    median = statistics.median(lengths)
    if median > MEDIAN_FILE:
        yield Finding("tree", 1, f"the median file has {median:g} lines; at most {MEDIAN_FILE}")


def check():
    lengths = []
    for source in sources(CODE):
        yield from check_file(source)
        if source.path.endswith(CPP):
            lengths.append(len(source.lines()))
    yield from check_spread(lengths)


def _function(head, lines):
    return Source("engine/a.cpp", head + " {\n" + "  f();\n" * (lines - 2) + "}\n")


_ENOUGH = "namespace a {\nclass B {\n" + "  int x();\n" * 90 + "};\n}\n"
GOOD = [
    _function("int f()", 70),
    Source("engine/a.cpp", _ENOUGH),
    Source("engine/a.cpp", "const int table[] = {\n" + "  1,\n" * 90 + "};\n"),
    Source("engine/a.cpp", "x" * 100 + "\n"),
]
BAD = [
    _function("int f()", 71),
    _function("namespace a {\nint f(int x) const noexcept", 71),
    _function("A::A(int x) : x_(x), y_{x}", 71),
    _function("auto f(int x) -> std::vector<int>", 71),
    _function("struct A {\n  struct B f(const C& c) const", 71),
    _function("TEST(Scheduler, Works)", 71),
    Source("engine/a.cpp", "x" * 101 + "\n"),
    Source("engine/a.cpp", "int x;\n" * 601),
    Source("engine/a.cpp", "int x; \n"),
    Source("engine/a.cpp", "int x;"),
]


def self_test():
    """Findings about the check of the spread itself."""
    if not list(check_spread([401, 10])) or not list(check_spread([121, 121])):
        yield "a bad spread of file lengths was not found"
    if list(check_spread([400, 100, 10])):
        yield "a good spread of file lengths was found bad"
