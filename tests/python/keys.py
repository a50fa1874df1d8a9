"""The keys of a workload, as `meshsim check --keys` lists them: no test keeps a list of its own."""

import re
import subprocess
from typing import NamedTuple

LINE = re.compile(r"(\S+) =(?: (.*?))?  # (required, )?(.*)")


class Key(NamedTuple):
    """What the program says of a key."""

    default: str  # None: it has none
    is_required: bool
    is_mapping: bool


def workload_keys(program):
    """Key -> what the program says of it, in the order of the tables; those of mappings by their dotted names."""
    done = subprocess.run([program, "check", "--keys"], stdin=subprocess.DEVNULL, capture_output=True, check=True, text=True)
    rows = {}
    for line in done.stdout.splitlines():
        key, default, required, takes = LINE.fullmatch(line).groups()
        rows[key] = Key(default, required is not None, takes.startswith("mapping"))
    return rows
