"""The workload that the importer of a kind makes of an exported file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Dict, List, NamedTuple

from meshsim.tools.exporters._job import Job, Tree, ask, load_tree

FILE = "export"
"""the exported text in messages of the importer"""
SMALLEST = {"mesh": {"dp": "1"}, "batch": {"global": "1"}}
"""what a file needs not say of a workload"""
REQUIRED = "required"
"""the value of a key that the importer asks the user for"""
PLACEHOLDERS = {"vocab": "128"}
"""values of such keys that have no default"""


class ReadBack(NamedTuple):
    """What a file says."""

    tree: Tree
    """the workload, without its platform"""
    open_keys: List[str]
    """keys that the file should say, and does not"""
    rows: List[Dict[str, Any]]
    """what became of each of the file's own words, see `import --json`"""


def read_back(job: Job, kind: str, framework: str, text: str) -> ReadBack:
    """Import a text that was exported.  kind: of the import.  framework: the profile of the software that reads it."""
    with tempfile.TemporaryDirectory(prefix="meshsim-export-") as folder:
        path = Path(folder) / FILE
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        answer, _ = ask(job.call, "import", kind, str(path), "--json", "--quiet", f"--set=framework={framework}", name=str(path), alias=FILE)
    tree = load_tree(job.call, answer["workload"])
    tree.pop("platform", None)
    open_keys: List[str] = []
    _close(tree, "", open_keys)
    for key, smallest in SMALLEST.items():
        tree[key] = {**smallest, **tree.get(key, {})}
    return ReadBack(tree, open_keys, answer["keys"])


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
