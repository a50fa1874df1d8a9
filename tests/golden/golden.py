#!/usr/bin/env python3
"""Golden cases: run the program, compare what it prints with what is kept.

usage: golden.py [--accept] MESHSIM [CASE...]

Each folder beside this file that has a file `case` is a case. `case` holds lines `key: value`:
    command:  arguments of meshsim, quoted as in a shell (compulsory)
    exit:     its exit code (compulsory)
    compare:  stdout (default), stderr, or the name of a file that the command writes
    drop:     regular expression; lines of text that it matches are left out (may stand several times)
`expected` holds the text. The command runs in a temporary folder with the case's files and links to the repository's
workloads/ and platforms/. JSON is compared key by key without what differs from run to run (VOLATILE). Words, whole
numbers and their order must be equal; numbers with a fraction may differ by 1e-9 of themselves, as compilers and
mathematical libraries do in the last digits, and in printed tables by one in the last digit shown. --accept rewrites `expected`; say in the commit why it changed.
"""

import argparse
import difflib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Dotted path of keys in a JSON result, or a key alone wherever it stands.
VOLATILE = {"engine.wall_s", "engine.peak_rss_B", "version", "versions", "path", "paths", "host"}
KEYS = {"command", "exit", "compare", "drop"}
RELATIVE = 1e-9
ABSOLUTE = 1e-13  # what is left of differences of times and of shares that should be 0
COUNT_LIMIT = 10**9  # bytes and FLOP/s are printed without a fraction, too
FRACTION = re.compile(r"(?<![\w.])-?\d+\.\d+(?:[eE][-+]?\d+)?")
DIFFERENCES_SHOWN = 40


def read_case(folder):
    """The case's settings: key -> list of values."""
    settings = {}
    for number, line in enumerate((folder / "case").read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        if not colon or key.strip() not in KEYS:
            sys.exit(f"{folder}/case:{number}: expected one of {', '.join(sorted(KEYS))}, then a colon")
        settings.setdefault(key.strip(), []).append(value.strip())
    if "command" not in settings or "exit" not in settings:
        sys.exit(f"{folder}/case: 'command' and 'exit' are compulsory")
    return settings


def without_volatile(value, path=""):
    """A JSON value without the keys that differ from run to run."""
    if isinstance(value, list):
        return [without_volatile(item, path) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, child in value.items():
        inner = f"{path}.{key}" if path else key
        if key not in VOLATILE and inner not in VOLATILE:
            kept[key] = without_volatile(child, inner)
    return kept


def normalised(text, folder, drops):
    """Text as it is compared: JSON indented, paths and dropped lines taken out."""
    if text.lstrip().startswith("{"):
        try:
            return json.dumps(without_volatile(json.loads(text)), indent=2) + "\n"
        except json.JSONDecodeError:
            pass
    text = text.replace(str(folder) + "/", "").replace(str(ROOT) + "/", "")
    return "".join(line for line in text.splitlines(keepends=True) if not any(drop.search(line) for drop in drops))


def is_close(before, now):
    """Whether two numbers are the same but for the last digits of floating-point arithmetic."""
    return math.isclose(before, now, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def has_fraction(before, now):
    """Whether two JSON numbers are measured, not counted: one has a fraction, or both are as large as no count is."""
    if {type(before), type(now)} <= {int, float}:
        return float in (type(before), type(now)) or min(abs(before), abs(now)) >= COUNT_LIMIT
    return False


def value_differences(before, now, path=""):
    """Lines that say where two JSON values differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        faults = [f"{path}.{key}: gone, was {json.dumps(before[key])[:80]}" for key in before if key not in now]
        faults += [f"{path}.{key}: new, {json.dumps(now[key])[:80]}" for key in now if key not in before]
        if not faults and list(before) != list(now):
            faults = [f"{path}: other order of keys: {', '.join(now)}"]
        return faults + [fault for key in before if key in now
                         for fault in value_differences(before[key], now[key], f"{path}.{key}")]
    if isinstance(before, list) and isinstance(now, list):
        faults = [] if len(before) == len(now) else [f"{path}: {len(before)} entries before, {len(now)} now"]
        return faults + [fault for i, (one, other) in enumerate(zip(before, now))
                         for fault in value_differences(one, other, f"{path}[{i}]")]
    is_equal = type(before) is type(now) and before == now
    if is_equal or (has_fraction(before, now) and is_close(before, now)):
        return []
    return [f"{path}: {json.dumps(before)} before, {json.dumps(now)} now"]


def is_close_text(before, now):
    """Whether two printed numbers with a fraction are equal to 1e-9 or to one in their last digit."""
    decimals = min(len(re.split("[eE]", word)[0].partition(".")[2]) for word in (before, now))
    exponent = re.split("[eE]", before)[1:]
    last_digit = 10.0 ** (int(exponent[0] if exponent else 0) - decimals)
    return abs(float(before) - float(now)) <= 1.001 * last_digit or is_close(float(before), float(now))


def is_same_text(before, now):
    """Whether two texts are the same but for the last digits of numbers with a fraction."""
    if FRACTION.sub("#", before) != FRACTION.sub("#", now):
        return False
    return all(map(is_close_text, FRACTION.findall(before), FRACTION.findall(now)))


def differences(before, now, name):
    """Lines that say how what is printed differs from what is kept."""
    try:
        faults = value_differences(json.loads(before), json.loads(now))
        more = len(faults) - DIFFERENCES_SHOWN
        return [f"{name}{fault}\n" for fault in faults[:DIFFERENCES_SHOWN]] + ([f"... and {more} more\n"] if more > 0 else [])
    except json.JSONDecodeError:
        pass
    if is_same_text(before, now):
        return []
    return list(difflib.unified_diff(before.splitlines(keepends=True), now.splitlines(keepends=True),
                                     f"{name}/expected", f"{name}/now"))


def run_case(program, folder):
    """(exit code, compared text, everything printed) of a case."""
    settings = read_case(folder)
    drops = [re.compile(expression) for expression in settings.get("drop", [])]
    with tempfile.TemporaryDirectory(prefix="meshsim-golden-") as name:
        work = Path(name) / "case"
        shutil.copytree(folder, work)
        for inputs in ("workloads", "platforms"):
            os.symlink(ROOT / inputs, work / inputs)
            # a workload of the case finds platforms by name as one in workloads/ does: in ../platforms
            os.symlink(ROOT / inputs, work.parent / inputs)
        done = subprocess.run([program, *shlex.split(settings["command"][0])], cwd=work, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
        stdout, stderr = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        subject = settings.get("compare", ["stdout"])[0]
        if subject in ("stdout", "stderr"):
            text = stdout if subject == "stdout" else stderr
        elif (work / subject).is_file():
            text = (work / subject).read_text(encoding="utf-8", errors="replace")
        else:
            text = f"(the command wrote no '{subject}')\n"
        return done.returncode, normalised(text, work, drops), stdout + stderr


def check(program, folder, accept):
    """Whether the case holds; rewrites it first when `accept`."""
    wanted = int(read_case(folder)["exit"][0])
    code, got, printed = run_case(program, folder)
    if code != wanted:
        print(f"{folder.name}: exit code {code}, expected {wanted}; it printed:\n{printed}")
        return False
    kept = folder / "expected"
    before = kept.read_text(encoding="utf-8") if kept.exists() else ""
    faults = differences(before, got, folder.name) if kept.exists() else [f"{folder.name}: nothing is kept yet\n"]
    if not faults:
        return True
    sys.stdout.writelines(faults)
    if accept:
        kept.write_text(got, encoding="utf-8")
    return accept


def main():
    parser = argparse.ArgumentParser(description="Runs golden cases.")
    parser.add_argument("--accept", action="store_true", help="rewrite what is expected")
    parser.add_argument("program", help="path of meshsim")
    parser.add_argument("cases", nargs="*", help="names of cases, all if none is given")
    arguments = parser.parse_args()
    folders = [HERE / name for name in arguments.cases] or sorted(path.parent for path in HERE.glob("*/case"))
    program = str(Path(arguments.program).resolve())
    results = [check(program, folder, arguments.accept) for folder in folders]
    print(f"{sum(results)} of {len(results)} golden cases hold")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
