"""In which keys two jobs differ: what the words of other software leave unsaid is found by reading them back, and not by what an exporter believes to have said."""

from __future__ import annotations

import copy
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from meshsim.tools.exporters._job import NONE, Job, Tree, Workload
from meshsim.tools.importers.source import inline, table

Reasons = Dict[str, str]
"""why a key, or all keys of a mapping, cannot be said: the first row that fits counts; "": of the others"""


class Unsaid(NamedTuple):
    """A key that the other software has no word for."""

    key: str
    """dotted path of the workload, or a word of the other software's that stands in the file and is simulated otherwise"""
    value: str
    """as the workload has it; "": nothing to tell"""
    instead: str
    """as the other software has it; "": it has nothing of that kind"""
    why: str


class Exported(NamedTuple):
    """A file, and what it leaves unsaid, in the order of a workload's keys."""

    text: str
    unsaid: List[Unsaid]


PRODUCTS = ("products", "scaling", "amax_group", "casts", "products_of", "weight_gradients", "kept", "second_form", "tensor_gathers", "parameter_gathers",
            "first_plain_layers", "attention", "last_plain_layers")
"""keys of `precision` that nothing uses where products multiply in the working type"""


def reasons_for(kind: str) -> Reasons:
    """The reasons of a kind of export."""
    rows = table("exporters/reasons.yaml")
    return {**rows["every"], **rows[kind]}


def reason_of(reasons: Reasons, path: str) -> str:
    """Why a key cannot be said."""
    return next((why for key, why in reasons.items() if path == key or path.startswith(f"{key}.")), reasons[""])


def compare(job: Job, theirs: Workload, reasons: Reasons) -> List[Unsaid]:
    """The keys in which a job and what the other software makes of its file differ.  job, theirs: settled."""
    mine_tree, their_tree = _without_names(job, theirs)
    rows = []
    for path, mine, other in _walk(mine_tree, their_tree, ""):
        default = job.defaults.get(path, NONE)
        value = default if mine is None else one_line(mine)
        instead = default if other is None else one_line(other)
        if value != instead:
            rows.append(Unsaid(path, value, instead, reason_of(reasons, path)))
    places = {key: place for place, key in enumerate(job.defaults)}
    rows.sort(key=lambda row: _place_of(places, row.key))
    cluster = [Unsaid(f"platform.{key}", one_line(value), "", reason_of(reasons, "platform")) for key, value in job.tree["platform"].items()]
    return cluster + rows


def _without_names(job: Job, theirs: Workload) -> Tuple[Tree, Tree]:
    """Both trees without what no choice of words is about."""
    trees = copy.deepcopy(job.tree), copy.deepcopy(theirs.tree)
    is_plain = job.text("precision.products") == theirs.text("precision.products") == "parameters"
    for tree in trees:
        for key in ("name", "description", "platform", *(() if "framework" in job.tree else ("framework",))):
            tree.pop(key, None)
        tree["model"].pop("name", None)
        for key in PRODUCTS if is_plain else ():
            tree.get("precision", {}).pop(key, None)
    return trees


def _walk(mine: Tree, theirs: Tree, path: str) -> Iterator[Tuple[str, Any, Any]]:
    """Leaves that differ, below a mapping of either side: as the one and the other have it, None where it does not."""
    for key in [*mine, *(key for key in theirs if key not in mine)]:
        below, sides = f"{path}.{key}" if path else key, (mine.get(key), theirs.get(key))
        if any(isinstance(side, dict) for side in sides):
            yield from _walk(*(side if isinstance(side, dict) else {} for side in sides), below)
        elif sides[0] != sides[1]:
            yield below, *sides


def _place_of(places: Dict[str, int], key: str) -> int:
    """Where a key, or the nearest mapping around it, stands among all keys."""
    while key and key not in places:
        key = key.rpartition(".")[0]
    return places.get(key, 0)


def one_line(node: Any) -> str:
    """A value on one line."""
    if isinstance(node, dict):
        return "{" + ", ".join(f"{key}: {one_line(value)}" for key, value in node.items()) + "}"
    return "[" + ", ".join(map(one_line, node)) + "]" if isinstance(node, list) else node


# ---- comments ----

def comments(unsaid: List[Unsaid], software: str) -> str:
    """What is unsaid as lines of comments, each of one line whatever its texts hold."""
    lines = []
    for row in unsaid:
        value = f" = {inline(row.value)}" if row.value else ""
        instead = f" ({software}: {inline(row.instead)})" if row.instead else ""
        lines.append(f"# {inline(row.key)}{value}{instead}: {row.why}\n")
    return "".join(lines)


def name_of(job: Job) -> str:
    """The workload's path and name, as a comment."""
    return f"# {inline(job.source.path)}: {inline(job.name)}\n"
