"""Sums gcov's JSON (one object a line on stdin) by folder: coverage.py PERCENT FOLDER…

A line counts as run when any object file ran it. Prints the files below PERCENT with their lines.
"""

import collections
import json
import os
import sys

needed, folders = float(sys.argv[1]), sys.argv[2:]
root = os.getcwd() + "/"
runs = collections.defaultdict(collections.Counter)  # file → line → times
for text in sys.stdin:
    data = json.loads(text)
    for file in data["files"]:
        path = os.path.normpath(os.path.join(data["current_working_directory"], file["file"]))
        for line in file["lines"]:
            runs[path.removeprefix(root)][line["line_number"]] += line["count"]
bad = False
for folder in folders:
    files = {f: lines for f, lines in runs.items() if f.startswith(folder + "/")}
    total = sum(map(len, files.values()))
    if not total:
        sys.exit(f"{folder}: no line was measured")
    run = sum(count > 0 for lines in files.values() for count in lines.values())
    bad |= 100 * run < needed * total
    print(f"{folder}: {run} of {total} lines, {100 * run / total:.1f} %")
    for file, lines in sorted(files.items()):
        missed = sorted(line for line, count in lines.items() if count == 0)
        if 100 * len(missed) > (100 - needed) * len(lines):
            print(f"  {file}: {len(missed)} of {len(lines)} lines did not run: {missed}")
sys.exit(bad)
