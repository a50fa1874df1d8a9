#!/usr/bin/env python3
"""The program and the modules it loads are linked and compiled so that memory faults are hard to make use of, and take libraries from no stranger's folder.

usage: tests/install/hardening.py [--below FOLDER] [MESHSIM [MODULE.so]...]
  --below: of every program and library below FOLDER, where it takes libraries from, and nothing else
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path


def readelf(option, program):
    return subprocess.run(["readelf", "--wide", option, program], check=True, capture_output=True, text=True).stdout


def search_faults(dynamic):
    """What is wrong with the folders in which the loader looks for libraries first: an empty or relative one is looked up where the user happens to be."""
    paths = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic)
    return [f"RUNPATH [{path}] has an empty or relative part" for path in paths
            if any(not part.startswith(("/", "$ORIGIN")) for part in path.split(":"))]


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
        "libraries from whole, absolute folders": not search_faults(dynamic),
    }
    if is_program:  # modules are compiled alike, but gcc proves all of their few calls right and leaves no mark
        checks["fortified functions (_FORTIFY_SOURCE)"] = "printf_chk" in symbols
        checks["position independent (PIE)"] = "DYN (" in head and "INTERP" in segments
    return list(checks), [name for name, holds in checks.items() if not holds]


def check_strangers_folder(program):
    """Libraries of the program's in the current folder, none of which the loader could load, are left alone. What is wrong; "": nothing."""
    with tempfile.TemporaryDirectory() as folder:
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", program)):
            (Path(folder) / name).write_text("no library", encoding="utf-8")
        done = subprocess.run([Path(program).resolve(), "--version"], cwd=folder, capture_output=True, check=False, text=True)
        return "" if done.returncode == 0 else f"started beside a stranger's libraries: {done.stderr}"


def check_below(folder):
    """Programs and libraries below a folder, what is wrong with them."""
    count, faults = 0, []
    for path in sorted(Path(folder).rglob("*")):
        if path.is_symlink() or not path.is_file() or path.suffix == ".o":
            continue
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        count += 1
        faults += [f"{path}: {fault}" for fault in search_faults(readelf("--dynamic", path))]
    return count, faults


def main():
    words = sys.argv[1:]
    if not words or words == ["--below"]:
        sys.exit(__doc__)
    while words[:1] == ["--below"]:
        count, faults = check_below(words[1])
        if faults or count == 0:
            sys.exit("hardening.py: " + ("\n".join(faults) or f"no program below {words[1]}"))
        print(f"hardening.py: {count} programs and libraries below {words[1]} take libraries from whole, absolute folders")
        words = words[2:]
    for path in words:
        names, missing = check(path, path == words[0])
        if missing:
            sys.exit(f"hardening.py: {path}: not {', not '.join(missing)}")
        print(f"hardening.py: {path}: {', '.join(names)}")
    fault = check_strangers_folder(words[0]) if words else ""
    if fault:
        sys.exit(f"hardening.py: {words[0]}: {fault}")


if __name__ == "__main__":
    main()
