"""Includes go along the arrows of the folder table, and device headers stay in their folder."""

import re

from source import CPP, Finding, Source, blank, sources

# What each folder may include, besides itself; what those may include is allowed too.
ARROWS = {
    "engine/base": [],
    "engine/config": ["engine/base"],
    "engine/platform": ["engine/config"],
    "engine/model": ["engine/base", "engine/config"],
    "engine/transformer": ["engine/model"],
    "engine/policy": ["engine/base", "engine/config", "engine/model"],
    "engine/scheduler": ["engine/base", "engine/model", "engine/policy"],
    "engine/backend": ["engine/scheduler"],
    "engine/energy": ["engine/backend", "engine/platform"],
    "engine/learn": ["engine/policy", "engine/model", "engine/scheduler", "engine/backend"],
    "engine/hardware": ["engine/backend", "engine/platform", "engine/transformer"],
    "sim": ["engine/backend", "engine/platform", "engine/energy"],
    "traces": ["engine"],
    "platforms": ["engine", "sim"],
    "experiments": ["engine", "sim", "traces", "platforms"],
    "tests": ["engine", "sim", "traces", "platforms", "experiments"],
}
# Headers of devices, and the only folders that may see them.
DEVICES = {
    r"simgrid/.*": ["sim", "tests/sim"],
    r"liburing(\.h|/.*)": ["engine/hardware", "tests/hardware"],
    r"libaio\.h": ["engine/hardware", "tests/hardware"],
    r"(CL|OpenCL)/.*": ["engine/hardware", "tests/hardware"],
    r"(cuda.*|cublas.*|nvml)\.h": ["engine/hardware", "tests/hardware"],
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def inside(path, folder):
    return path.startswith(folder + "/")


def reachable(folder):
    """The folder and everything its arrows lead to."""
    seen, waiting = set(), [folder]
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            waiting += ARROWS.get(here, [])
    return seen


def check_file(source: Source):
    owner = next((f for f in ARROWS if inside(source.path, f)), None)
    if owner is None:
        yield Finding(source.path, 1, "its folder is not in the table of tests/style/arrows.py")
        return
    text = blank(source.text)
    for match in INCLUDE.finditer(text):
        quote, name = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        if quote == '"':
            if not any(inside(name, f) for f in reachable(owner)):
                yield Finding(source.path, line, f"{owner} may not include {name}")
            continue
        for pattern, folders in DEVICES.items():
            allowed = any(inside(source.path, f) for f in folders)
            if re.fullmatch(pattern, name) and not allowed:
                yield Finding(source.path, line, f"<{name}> belongs in {' or '.join(folders)}")


def check():
    for source in sources(CPP):
        yield from check_file(source)


GOOD = [
    Source("engine/scheduler/a.cpp", '#include "engine/policy/cache/cache.h"\n#include <vector>\n'),
    Source("sim/a.cpp", "#include <simgrid/s4u.hpp>\n"),
    Source("engine/base/a.cpp", '// #include "sim/world.h"\n'),
]
BAD = [
    Source("engine/base/a.cpp", '#include "engine/model/shape.h"\n'),
    Source("engine/scheduler/a.cpp", '#include "engine/platform/platform.h"\n'),
    Source("engine/policy/cache/a.cpp", '#include "engine/scheduler/core.h"\n'),
    Source("engine/backend/a.cpp", "#include <simgrid/s4u.hpp>\n"),
    Source("engine/model/a.cpp", "#include <liburing.h>\n"),
    Source("experiments/a.cpp", "#include <CL/cl.h>\n"),
    Source("traces/a.cpp", '#include "sim/world.h"\n'),
    Source("engine/model/a.cpp", '#include "shape.h"\n'),
    Source("elsewhere/a.cpp", "\n"),
]
