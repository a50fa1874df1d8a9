#!/usr/bin/env python3
"""Golden cases: run the program, compare what it prints with what is kept.

usage: golden.py [--accept] MESHSIM [CASE...]

Each folder beside this file that has a file `case` is a case. `case` holds lines `key: value`:
    command:  arguments of meshsim, quoted as in a shell (compulsory)
    exit:     its exit code (compulsory)
    compare:  stdout (default), stderr, or the name of a file that the command writes
    drop:     regular expression; lines of text that it matches are left out (may stand several times)
`expected` holds the text. The command runs in a temporary folder with the case's files and links to the repository's
workloads/ and platforms/. JSON is compared key by key without what differs from run to run (VOLATILE); everything else
exactly. --accept rewrites `expected`; say in the commit why it changed.
"""

import argparse
import difflib
import json
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
VOLATILE = {"engine.wall_s", "engine.peak_rss_B", "version", "versions", "command_line", "path", "paths", "host"}
KEYS = {"command", "exit", "compare", "drop"}


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
    if got == before and kept.exists():
        return True
    sys.stdout.writelines(difflib.unified_diff(before.splitlines(keepends=True), got.splitlines(keepends=True),
                                               f"{folder.name}/expected", f"{folder.name}/now"))
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
