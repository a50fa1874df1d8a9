"""`import hf`: a config of Hugging Face's Transformers as a workload. The program reads the config, as it does for `new`; which framework it assumes says sim/search/config_workload.c."""

from __future__ import annotations

from pathlib import Path

from .._call import USAGE, Call, Place
from .._describe import Kind
from . import FILLS
from .source import ASSUMED, Key, target
from .workload_draft import Workload
from .yaml_tree import quoted

KIND = Kind("hf CONFIG.json|FOLDER", "a Hugging Face config gives a workload's model", "hf takes Transformers' own defaults for what a config leaves out.", FILLS,
            writes=".yaml")


def read(call: Call, path: str) -> Workload:
    """The workload of a config, or of that in a folder, not yet complete.  Ends the call where the config is refused."""
    said = call.ask("new", "--model", path)
    draft = Workload(call, f"the Hugging Face config {path}")
    lines = Path(said["file"]).read_text(encoding="utf-8", errors="replace").split("\n")
    places = {(row["line"], row["column"]): Place(said["file"], row["line"], row["column"], row["width"], lines[row["line"] - 1])
              for row in said["workload"] + said["keys"] if 0 < row["line"] <= len(lines)}
    has_framework = draft.is_said("framework")
    for row in said["keys"]:
        is_assumed = row["fate"] == ASSUMED and row["line"] == 0
        if not is_assumed or not _is_left(draft, row["key"], has_framework):
            draft.keys.append(Key(row["key"], row["fate"], row["why"], row["value"], places.get((row["line"], row["column"]))))
    for row in said["workload"]:
        if not _is_left(draft, row["key"], has_framework):
            draft.set(row["key"], quoted(row["value"]) if row["is_text"] else row["value"], place=places.get((row["line"], row["column"])))
    draft.remarks = [line.removeprefix("# ") for line in said["remarks"].splitlines() if not (has_framework and line.startswith("# assumed: framework"))]
    return draft


def _is_left(draft: Workload, key: str, has_framework: bool) -> bool:
    """Whether the user's own choice takes the place of what is assumed: his framework goes with his other choices."""
    return not key.startswith("model.") and key in ("framework", "tensor_parallel.sequence") and (has_framework or draft.is_said(key))


def run(call: Call) -> None:
    """The command."""
    if len(call.arguments) != 1:
        call.refuse(f"expected one file, got {len(call.arguments)}", code=USAGE)
    target(call)
    read(call, call.arguments[0]).finish()
