"""Runs one style check, or with 'self' shows that each of them can fail.

usage: style.py arrows|sizes|words|readmes|self
"""

import sys

import arrows
import readmes
import sizes
import words

CHECKS = {"arrows": arrows, "sizes": sizes, "words": words, "readmes": readmes}


def self_test():
    for name, module in CHECKS.items():
        for source in module.BAD:
            if not list(module.check_file(source)):
                yield f"{name}: not found in {source.path}: {source.text[:80]!r}"
        for source in module.GOOD:
            for finding in module.check_file(source):
                yield f"{name}: found in good text: {finding}"
        for failure in getattr(module, "self_test", list)():
            yield f"{name}: {failure}"


def main():
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    if name not in CHECKS and name != "self":
        sys.exit(__doc__)
    findings = list(self_test() if name == "self" else CHECKS[name].check())
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
