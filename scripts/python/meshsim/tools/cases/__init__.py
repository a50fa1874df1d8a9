"""Cases: published or own measured runs, each with what was measured and the workload that ran.

A file of cases is a YAML list or a table of runs (CSV). A row of the list has its job as a workload under `workload`, or it says where and what it ran in the
fields format (workloads/validation/README.md); then rules make a workload of it (rules.py), and each word of the table of words (words.yaml) that they used
stands in `assumptions`.
"""

from __future__ import annotations

from typing import List

from .._call import Call, Fault
from ..importers import source, yaml_tree
from ._case import APART, LAYER, PHASES, SCORED, Case, Measured
from ._clusters import find_platform
from ._csv import read_csv
from ._rows import read_rows
from ._words import Words
from .rules import translate

FILE_MAX_B = 16 * 2**20
NCCL_LOG = "# nThread "


def read(call: Call, path: str, cases: List[Case]) -> bool:
    """Add the cases of a file.  Returns whether it is a file of cases; False: it is one of collectives, or another mapping, and nothing was read.
    Faults are told, each with its place; what is sound is added all the same (call.talk.errors tells)."""
    data = source.read_bytes(call.talk, path, 16 * FILE_MAX_B if path.endswith(".csv") else FILE_MAX_B)
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    if path.endswith(".csv"):
        return read_csv(call.talk, path, text, cases)
    if any(line.startswith(NCCL_LOG) for line in text.splitlines()[:100]):
        return False
    try:
        root = yaml_tree.parse(call.talk, path, text)
    except Fault:
        return True  # told
    if isinstance(root.value, list):
        read_rows(call.talk, root.value, cases)
    return isinstance(root.value, list)


__all__ = ["APART", "LAYER", "PHASES", "SCORED", "Case", "Measured", "Words", "find_platform", "read", "translate"]
