#!/usr/bin/env python3
"""The program and the modules it loads are linked and compiled so that memory faults are hard to make use of.

usage: tests/install/hardening.py MESHSIM [MODULE.so]...
"""

import subprocess
import sys


def readelf(option, program):
    return subprocess.run(["readelf", "--wide", option, program], check=True, capture_output=True, text=True).stdout


def check(path, is_program):
    """Names of the protections, those that are missing."""
    head, segments, dynamic, symbols = (readelf(option, path) for option in
                                        ("--file-header", "--program-headers", "--dynamic", "--dyn-syms"))
    stack = [line for line in segments.splitlines() if "GNU_STACK" in line]
    checks = {
        "relocations read only (-z relro)": "GNU_RELRO" in segments,
        "all bound at the start (-z now)": "BIND_NOW" in dynamic or "NOW" in dynamic,
        "no code on the stack": len(stack) == 1 and " RWE " not in stack[0],
        "stack protector": "__stack_chk_fail" in symbols,
    }
    if is_program:  # modules are compiled alike, but gcc proves all of their few calls right and leaves no mark
        checks["fortified functions (_FORTIFY_SOURCE)"] = "printf_chk" in symbols
        checks["position independent (PIE)"] = "DYN (" in head and "INTERP" in segments
    return list(checks), [name for name, holds in checks.items() if not holds]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        names, missing = check(path, path == sys.argv[1])
        if missing:
            sys.exit(f"hardening.py: {path}: not {', not '.join(missing)}")
        print(f"hardening.py: {path}: {', '.join(names)}")


if __name__ == "__main__":
    main()
