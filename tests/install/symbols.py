#!/usr/bin/env python3
"""The shared library gives programs the functions of include/meshsim/ and nothing else.

usage: tests/install/symbols.py LIBRARY.so
"""

import re
import subprocess
import sys
from pathlib import Path

HEADERS = Path(__file__).resolve().parent.parent.parent / "include" / "meshsim"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    output = subprocess.run(["nm", "--dynamic", "--defined-only", sys.argv[1]], check=True, capture_output=True, text=True).stdout
    # weak symbols are what C++ headers leave behind
    visible = {line.split()[-1] for line in output.splitlines() if line.split()[-2] not in "WVwvu"}
    declared = {name for header in HEADERS.glob("*.h") for name in re.findall(r"\b(ms_\w+)\(", header.read_text(encoding="utf-8"))}
    for name in sorted(visible ^ declared):
        print(f"{name}: {'visible, in no header of include/meshsim/' if name in visible else 'declared, not visible'}")
    if visible != declared or not declared:
        sys.exit(1)
    print(f"symbols.py: {len(declared)} functions, as declared")


if __name__ == "__main__":
    main()
