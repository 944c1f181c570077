"""What the style checks share: the files of the tree, text without comments, findings."""

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CPP = (".h", ".cpp", ".cu", ".cl")
CODE = CPP + (".py", ".sh", ".cmake", "CMakeLists.txt", ".ci/run")


class Finding(NamedTuple):
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


class Source(NamedTuple):
    """One file: its path from the root, with '/', and its text."""

    path: str
    text: str

    def lines(self):
        return self.text.split("\n")[: -1 if self.text.endswith("\n") else None]


def tracked_paths():
    """Every file of the tree that git does not ignore; without git, all but build and out."""
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return sorted(p for p in set(listed.splitlines()) if (ROOT / p).is_file())
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [f for f in folders if f not in (".git", "build", "out")]
            found += [(Path(folder) / f).relative_to(ROOT).as_posix() for f in files]
        return sorted(found)


def sources(endings):
    """The files of the tree with one of these endings, without the data of tests and samples."""
    for path in tracked_paths():
        if path.endswith(endings) and not path.startswith(("tests/data/", "traces/samples/")):
            yield Source(path, (ROOT / path).read_text(encoding="utf-8"))


_TOKEN = re.compile(
    r'R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'  # string
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"  # character, not a digit separator
    r"|//[^\n]*|/\*.*?\*/",  # comments
    re.S,
)


def blank(text, strings=False):
    """C++ with comments (and strings) replaced by spaces; lines stay where they are."""

    def replace(match):
        found = match.group()
        if not found.startswith("/") and not strings:
            return found
        return re.sub(r"[^\n]", " ", found)

    return _TOKEN.sub(replace, text)
