"""The workload that the importer of a kind makes of an exported file."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, List, NamedTuple

from meshsim.tools._call import Call
from meshsim.tools.exporters._job import Job, Tree, load_tree
from meshsim.tools.importers.draft import REQUIRED
from meshsim.tools.importers.source import Key
from meshsim.tools.importers.workload_draft import Workload

FILE = "export"
"""the exported text in messages of the importer"""
SMALLEST = {"mesh": {"dp": "1"}, "batch": {"global": "1"}}
"""what a file needs not say of a workload"""
PLACEHOLDERS = {"vocab": "128"}
"""values of such keys that have no default"""


class ReadBack(NamedTuple):
    """What a file says."""

    tree: Tree
    """the workload, without its platform"""
    open_keys: List[str]
    """keys that the file should say, and does not"""
    keys: List[Key]
    """what became of each of the file's own words"""


def read_back(job: Job, framework: str, draft: Callable[[Call], Workload]) -> ReadBack:
    """Import a text that was exported.  framework: the profile of the software that reads it.  draft: the importer, of a text whose name is FILE."""
    workload = draft(replace(job.call, command="import", options={"set": [f"framework={framework}"], "quiet": [""]}, arguments=[]))
    workload.complete()
    tree = load_tree(job.call, workload.text())
    tree.pop("platform", None)
    open_keys: List[str] = []
    _close(tree, "", open_keys)
    for key, smallest in SMALLEST.items():
        tree[key] = {**smallest, **tree.get(key, {})}
    return ReadBack(tree, open_keys, workload.keys)


def _close(tree: Tree, path: str, open_keys: List[str]) -> None:
    """Take keys out that the importer left open, or give them a value that nothing follows from."""
    for key in list(tree):
        below = f"{path}.{key}" if path else key
        if isinstance(tree[key], dict):
            _close(tree[key], below, open_keys)
        elif tree[key] == REQUIRED:
            open_keys.append(below)
            tree.pop(key)
            if key in PLACEHOLDERS:
                tree[key] = PLACEHOLDERS[key]
