#!/usr/bin/env python3
"""Lengths of functions and files, and numbers of parameters.

usage: scripts/check_size.py [ROOT]

Fails (exit 1) on a function over 80 lines or with more than 5 parameters in sim/, include/ and tests/,
and on a file over 1000 lines there; a file over 600 lines is a warning. Prints how long functions are.
What functions hand through is not counted: an arena, the diagnostics, and outputs (named out or *_out, at the end).
"""

import json
import re
import subprocess
import sys
from pathlib import Path

FUNCTION_LINES_MAX = 80
PARAMETERS_MAX = 5
CALLED_BY_OTHERS = {"keep_lengths"}  # whose parameters a foreign library sets: H5T_conv_t of HDF5
FILE_LINES_WARN = 600
FILE_LINES_MAX = 1000
FOLDERS = ["sim", "include", "tests"]


def list_functions(root, files):
    """(path, line, name, lines, parameters) of each function defined in the C and C++ files, or declared in a header."""
    names = "\n".join(path.relative_to(root).as_posix() for path in files)
    command = ["ctags", "--options=NONE", "-L", "-", "-f", "-", "--output-format=json", "--languages=C,C++",
               "--langmap=C:.c.h", "--kinds-C=fp", "--kinds-C++=fp", "--fields=+neS",
               # Criterion's tests are functions too: Test(suite, name) { ... }
               "-D", "Test(suite,name,...)=void suite ## _ ## name(void)"]
    output = subprocess.run(command, input=names, cwd=root, check=True, capture_output=True, text=True).stdout
    functions = []
    for line in output.splitlines():
        tag = json.loads(line)
        if tag.get("_type") != "tag":
            continue
        lines = tag["end"] - tag["line"] + 1 if tag["kind"] == "function" and "end" in tag else 0
        functions.append((tag["path"], tag["line"], tag["name"], lines, count_parameters(tag.get("signature", "()"))))
    return functions


def count_parameters(signature):
    """Parameters that count in a signature such as "(int a, void (*f)(int, int), ms_arena *arena, int *sum_out)"."""
    parameters = [""]
    depth = 0
    for letter in signature.strip()[1:-1]:
        depth += letter in "([{<"
        depth -= letter in ")]}>"
        if letter == "," and depth == 0:
            parameters.append("")
        else:
            parameters[-1] += letter
    parameters = [text.strip() for text in parameters if text.strip() not in ("", "void")]
    while parameters and re.search(r"\*\s*(\w+_)?out$", parameters[-1]):
        parameters.pop()
    return sum(1 for text in parameters if not re.match(r"ms_(arena|diag)\s*\*", text))


def percentile(ordered, share):
    """Smallest value that at least `share` of the ordered list do not exceed."""
    index = -(-int(share * len(ordered) * 1000) // 1000) - 1
    return ordered[max(0, min(index, len(ordered) - 1))]


def check_functions(functions):
    """Complaints about functions; prints the distribution."""
    defined = sorted(function for function in functions if function[3] > 0)
    lengths = sorted(function[3] for function in defined)
    if lengths:
        print(f"{len(lengths)} functions: median {percentile(lengths, 0.5)} lines, "
              f"90 % {percentile(lengths, 0.9)}, 99 % {percentile(lengths, 0.99)}, longest:")
        for path, line, name, length, _ in sorted(defined, key=lambda f: -f[3])[:10]:
            print(f"  {length:4} {path}:{line} {name}")
    complaints = []
    for path, line, name, length, parameters in functions:
        if length > FUNCTION_LINES_MAX:
            complaints.append(f"{path}:{line}: {name} has {length} lines, limit {FUNCTION_LINES_MAX}")
        if parameters > PARAMETERS_MAX and not name.startswith("operator") and name not in CALLED_BY_OTHERS:
            complaints.append(f"{path}:{line}: {name} has {parameters} parameters, limit {PARAMETERS_MAX}")
    return complaints


def check_files(root, files):
    """Complaints about files; prints warnings."""
    complaints = []
    for path in files:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        name = path.relative_to(root).as_posix()
        if lines > FILE_LINES_MAX:
            complaints.append(f"{name}:1: {lines} lines, limit {FILE_LINES_MAX}")
        elif lines > FILE_LINES_WARN:
            print(f"warning: {name} has {lines} lines (over {FILE_LINES_WARN}): split it before it grows")
    return complaints


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    files = sorted(path for folder in FOLDERS for suffix in ("c", "h", "cpp")
                   for path in (root / folder).glob(f"**/*.{suffix}"))
    complaints = check_functions(list_functions(root, files)) + check_files(root, files)
    for complaint in sorted(set(complaints)):
        print(complaint)
    if complaints:
        print(f"check_size: {len(set(complaints))} over the limit", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
