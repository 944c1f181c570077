"""Every top folder with sources, and every such folder of the engine, has a README.md."""

from source import CPP, Finding, tracked_paths

SOURCES = CPP + (".py", ".sh", ".yaml")


def folders_of(paths):
    for path in paths:
        parts = path.split("/")
        if len(parts) > 1 and path.endswith(SOURCES) and not parts[0].startswith("."):
            yield parts[0]
            if parts[0] == "engine" and len(parts) > 2:
                yield "/".join(parts[:2])


def missing(paths):
    for folder in sorted(set(folders_of(paths))):
        if f"{folder}/README.md" not in paths:
            yield Finding(f"{folder}/README.md", 1, "missing: what the folder is for, its main "
                          "types, how to add one of its things")


def check():
    yield from missing(set(tracked_paths()))


GOOD = []
BAD = []


def self_test():
    """Findings about the check itself."""
    tree = {"engine/README.md", "engine/base/a.h", "engine/base/README.md", "LICENSE"}
    if list(missing(tree)):
        yield "a good tree was found bad"
    if not list(missing(tree - {"engine/base/README.md"})):
        yield "a missing README.md was not found"
