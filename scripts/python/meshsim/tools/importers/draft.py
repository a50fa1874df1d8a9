"""A file in the making, of a workload or a platform: each value with its place in the source, keys that nothing says as `required`, overrides by --set.

The program itself checks what comes out, and its errors are told at the places in the source that the file's lines come from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from .._call import NO, OK, Call, Place
from .source import ASSUMED, Key, inline, row_of
from .yaml_tree import Node, override, parse, write

REQUIRED = "required"
"""value of a key that nothing says: no key takes it, so that the program names the place"""
PIPE = "/dev/stdin"


@dataclass
class Draft:
    """A file in the making."""

    call: Call
    about: str
    """what it is imported from"""
    root: Node = field(default_factory=lambda: Node({}))
    keys: List[Key] = field(default_factory=list)
    """what became of the source's keys"""
    open: Dict[str, str] = field(default_factory=dict)
    """keys that nothing says, and what would say them"""
    remarks: List[str] = field(default_factory=list)
    """what else is to say of the source, a line each"""

    def set(self, path: str, value: str, origin: str = "", place: Optional[Place] = None) -> None:
        """Set a key.  value: YAML flow text.  origin: what it comes from, for a comment."""
        *parents, key = path.split(".")
        node: Any = self.root
        for parent in parents:
            node = node.value.setdefault(parent, Node({}, place=place))
        node.value[key] = _placed(parse(self.call.talk, "", value) if value else Node(""), place, origin)

    def require(self, path: str, why: str, place: Optional[Place] = None) -> None:
        """Set a key that nothing says.  why: what would say it."""
        self.set(path, REQUIRED, why, place)
        self.open[path] = why

    def assume(self, path: str, value: str, why: str) -> None:
        """Set a key whose value no source says, and tell so."""
        self.set(path, value, f"assumed: {why}")
        self.keys.append(Key(path, ASSUMED, why, value))

    def override(self) -> None:
        """Lay what --set says over the tree."""
        for text in self.call.values("set"):
            override(self.call.talk, self.root, text)

    def still_open(self) -> List[str]:
        """The keys that nothing says, not even --set."""
        nodes = {path: self.root.at(path) for path in self.open}
        return [path for path, node in nodes.items() if node is not None and node.value == REQUIRED]

    def missing(self) -> List[str]:
        """What the file lacks."""
        return self.still_open()

    def ask(self, root: Node, *words: str, behind: str = "") -> Any:
        """The JSON that the program makes of a tree, or of a part of this one.  behind: further lines.  Ends the call where it refuses the tree."""
        lines = write(root)
        answer = self.call.answer(*words, "--json", text="".join(f"{line}\n" for line, _ in lines) + behind)
        if answer.code not in (OK, NO):
            self._retell(lines, answer.said)
        return answer.json()

    def _retell(self, lines: List[Tuple[str, Node]], said: str) -> None:
        """The program's errors at places in the source.  lines: of the file that it was given."""
        is_ours = False
        for line in said.splitlines(keepends=True):
            found = re.match(rf"{PIPE}(?::(\d+))?(?::\d+)?: (\w+): (.*)", line)
            if found and found[2] == "error":
                message, number = re.sub(r"'/dev/[^']*', ", "", found[3]), int(found[1] or 0)
                node = lines[number - 1][1] if 0 < number <= len(lines) else None
                if ": this key is required" in message:
                    node = self.root.at(message.partition(":")[0].rpartition(".")[0])
                self.call.talk.error(message, node and (node.key_place if ": unknown key" in message else node.place))
            elif not found and not (is_ours and re.match(r" +\d* \| ", line)):
                self.call.talk.write(line)
            is_ours = bool(found) or (is_ours and line.startswith(" "))

    def result(self, kind: str) -> Dict[str, Any]:
        """What --json prints: what the file lacks, what became of the source's keys, and below `kind` the file."""
        return {"missing": self.missing(), "keys": list(map(row_of, self.keys)), kind: self.text()}

    def text(self) -> str:
        """The file."""
        lines = [f"# Imported by meshsim from {inline(self.about)}."]
        lines += [f"# required: {path}  # {inline(self.open[path])}" for path in self.still_open()]
        return "".join(f"{line}\n" for line in [*lines, *(f"# {remark}" for remark in self.remarks), *self.body()])

    def body(self) -> List[str]:
        """The lines of the tree, each with what its value comes from."""
        return [line + _origin_of(node) for line, node in write(self.root)]


def _placed(node: Node, place: Optional[Place], origin: str) -> Node:
    """A value of which all parts come from one place."""
    node.place, node.key_place, node.origin = place, place, origin
    for child in [] if isinstance(node.value, str) else node.value.values() if isinstance(node.value, dict) else node.value:
        _placed(child, place, origin)
    return node


def _origin_of(node: Node) -> str:
    """The comment behind a value: what it comes from, with its place in the source. Lists have none."""
    if not isinstance(node.value, str) or not node.origin:
        return ""
    place = f" ({inline(node.place.file.rsplit('/', 1)[-1])}:{node.place.line})" if node.place and node.place.line > 0 and node.place.file != "--set" else ""
    return f"  # {inline(node.origin)}{place}"
