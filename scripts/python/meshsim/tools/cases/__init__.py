"""Cases: published or own measured runs, each with what was measured and the workload that ran.

A file of cases is a YAML list or a table of runs (CSV). A row of the list has its job as a workload under `workload`, or it says where and what it ran in the
fields format (workloads/validation/README.md); then rules make a workload of it (rules.py), and each word of the table of words (words.yaml) that they used
stands in `assumptions`.
"""

from __future__ import annotations

from typing import List

from .._call import TEXT_MAX_B, Call, Fault
from ..importers import nccl_log, source, yaml_tree
from ._case import APART, LAYER, PHASES, SCORED, Case, Measured
from ._clusters import find_platform
from ._csv import is_table, read_csv
from ._rows import read_rows
from ._words import Words
from .rules import translate


def text_of(call: Call, path: str) -> str:
    """The text of a file of cases or of measured collectives, which may be a pipe: up to 256 MiB of a table, up to 16 MiB of another file; bytes that are no
    UTF-8 stand in it as surrogates.  Ends the call where it cannot be read."""
    return source.read_bytes(call.talk, path, source.SOURCE_MAX_B if is_table(path) else TEXT_MAX_B).decode("utf-8", "surrogateescape")


def read(call: Call, path: str, cases: List[Case]) -> bool:
    """Add the cases of a file, as read_text."""
    return read_text(call, path, text_of(call, path), cases)


def read_text(call: Call, path: str, text: str, cases: List[Case]) -> bool:
    """Add the cases of a text.  path: its name, which tells tables.  Returns whether it is one of cases; False: it is one of collectives, or another one, and
    nothing was read.  Faults are told, each with its place; what is sound is added all the same (call.talk.errors tells)."""
    text = text.removeprefix("\ufeff")
    if is_table(path) or nccl_log.is_log(text):
        return is_table(path) and read_csv(call.talk, path, text, cases)
    try:
        root = yaml_tree.parse(call.talk, path, text)
    except Fault:
        return True  # told
    read_rows(call.talk, root.value if isinstance(root.value, list) else [], cases)
    return isinstance(root.value, list)


__all__ = ["APART", "LAYER", "PHASES", "SCORED", "Case", "Measured", "Words", "find_platform", "read", "read_text", "text_of", "translate"]
