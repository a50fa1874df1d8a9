#!/usr/bin/env python3
"""The library gives strangers the functions of its public headers and nothing else.

usage: tests/install/symbols.py BUILD_FOLDER [--accept]

Compares what BUILD_FOLDER/libmeshsim.a defines with default visibility with the list symbols.txt beside this file.
--accept writes the list anew. Code that C++ headers leave behind in an object (weak symbols) does not count.
"""

import subprocess
import sys
from pathlib import Path

LIST = Path(__file__).resolve().parent / "symbols.txt"


def visible_symbols(library):
    """Names of the strong symbols that the library defines and lets others see, sorted."""
    output = subprocess.run(["readelf", "--symbols", "--wide", library], check=True, capture_output=True, text=True).stdout
    names = set()
    for line in output.splitlines():
        # number, value, size, type, binding, visibility, section, name
        fields = line.split()
        if len(fields) >= 8 and fields[4:6] == ["GLOBAL", "DEFAULT"] and fields[6] != "UND":
            names.add(fields[7])
    return sorted(names)


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--accept"]):
        sys.exit(__doc__)
    found = visible_symbols(Path(sys.argv[1]) / "libmeshsim.a")
    if sys.argv[2:] == ["--accept"]:
        LIST.write_text("".join(f"{name}\n" for name in found), encoding="ascii")
    listed = LIST.read_text(encoding="ascii").split()
    for name in sorted(set(found) ^ set(listed)):
        print(f"{name}: {'visible, not listed' if name in found else 'listed, not visible'}")
    if set(found) != set(listed):
        sys.exit(f"symbols.py: if that is meant: tests/install/symbols.py {sys.argv[1]} --accept")
    print(f"symbols.py: {len(found)} symbols, as listed")


if __name__ == "__main__":
    main()
