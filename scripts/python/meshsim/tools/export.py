"""`meshsim export`: workloads as files of other software.

An exporter says what it can of a job in the words of other software, and tells of every key that these words leave unsaid: with the value it has in the job,
the one it has there, and the reason. A kind is a module of `exporters` with SOFTWARE (whose file it is), HAS_COMMENTS (whether the file itself says what it
leaves unsaid) and `write(job)`.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Optional, Sequence

from meshsim.tools._call import USAGE, Call, check_target, print_json, write_file
from meshsim.tools.exporters._compare import Exported
from meshsim.tools.exporters._job import read_job

KINDS = ("megatron", "torchtitan", "deepspeed")
"""in the order of the help page"""


def write(call: Call, kind: str, workload: str) -> Exported:
    """Say a workload in the words of other software.  kind: one of KINDS.  workload: its file; the call's options `platform` and `set` change it.
    Raises Fault, what is wrong told, where the program refuses the workload, or where it has given costs and no model."""
    module = _module(kind)
    return module.write(read_job(call, workload, module.SOFTWARE))


def run(call: Call) -> None:
    """The command."""
    kind, workload = call.arguments
    if kind not in KINDS:
        near = nearest(kind, KINDS)
        hint = f"; did you mean '{near}'?" if near else ""
        call.refuse(f"unknown kind '{kind}'{hint} (known: {', '.join(KINDS)})", code=USAGE)
    has_json = call.has("json")
    path = call.value("output", None if has_json else "-")
    if has_json and path == "-":
        call.refuse("'--json' and '--output -' both want the standard output", code=USAGE)
    if path is not None:
        check_target(call, path)
    exported = write(call, kind, workload)
    if not call.has("quiet") and not _module(kind).HAS_COMMENTS:
        _tell(call, exported, _module(kind).SOFTWARE)
    if path is not None:
        write_file(call, path, exported.text)
    if has_json:
        print_json(call, {"kind": kind, "unsaid": [row._asdict() for row in exported.unsaid], "text": exported.text})


def _module(kind: str) -> ModuleType:
    return importlib.import_module(f"meshsim.tools.exporters.{kind}")


def _tell(call: Call, exported: Exported, software: str) -> None:
    """A file that cannot hold comments leaves this to the terminal."""
    for row in exported.unsaid:
        instead = f" ({software}: {row.instead})" if row.instead else ""
        value = f"{row.value}{instead}, " if row.value or instead else ""
        call.talk.note(f"{row.key}: {value}not said: {row.why}")


# ---- slips ----

def nearest(word: str, known: Sequence[str]) -> Optional[str]:
    """The known word that a word may have been meant to be: with fewest slips, and no more than one in three letters; None: there is none."""
    least = 1 if len(word) == 2 else len(word) // 3
    distances = [(slips(word.lower(), other.lower()), -place) for place, other in enumerate(known)]
    distance, place = min(distances, key=lambda found: (found[0], -found[1]))
    return known[-place] if distance <= least else None


def slips(a: str, b: str) -> int:
    """Slips that make one word of the other: letters put in, left out, replaced, or swapped with the next."""
    rows = [list(range(len(b) + 1))]
    for i in range(1, len(a) + 1):
        row = [i]
        for j in range(1, len(b) + 1):
            best = min(rows[-1][j - 1] + (a[i - 1] != b[j - 1]), rows[-1][j] + 1, row[j - 1] + 1)
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][len(b)]
