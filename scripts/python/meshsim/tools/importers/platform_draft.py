"""A platform file in the making: each value with what it comes from and where, keys that nothing says as `required`, overrides by --set.

The program itself checks what comes out, unless a key is still open.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .._call import USAGE, Call, Fault, INPUT, Place, Talk
from .source import ASSUMED, Key, inline
from .yaml_tree import LEVELS_MAX, Node, parse, shown, write

REQUIRED = "required"
"""value of a key that nothing says: no key takes it, so that the program names the place"""
_SET = "--set"


@dataclass
class Draft:
    """A file in the making."""

    about: str = ""
    """what it is imported from"""
    root: Node = field(default_factory=lambda: Node({}))
    keys: List[Key] = field(default_factory=list)
    """what became of the source's keys"""
    opens: Dict[str, str] = field(default_factory=dict)
    """keys that nothing says, and what would say them"""
    remarks: List[str] = field(default_factory=list)
    """what else is to say of the source, a line each"""
    summary: str = ""

    # -- building --

    def add(self, path: str, text: str, what: str, place: Optional[Place] = None) -> None:
        """Add a key.  what: what its value comes from."""
        *parents, key = path.split(".")
        node: Any = self.root
        for parent in parents:
            node = node.value.setdefault(parent, Node({}, origin="import"))
        node.value[key] = Node(text, place=place, key_place=place, origin=what)

    def require(self, path: str, why: str) -> None:
        """Add a key that nothing says.  why: what would say it."""
        self.add(path, REQUIRED, why)
        self.opens[path] = why

    def assume(self, path: str, text: str, why: str) -> None:
        """Add a key whose value no source says, and tell so."""
        self.add(path, text, f"assumed: {why}")
        self.keys.append(Key(path, ASSUMED, why, text))

    def remark(self, text: str) -> None:
        """Say something in a comment at the file's head."""
        self.remarks.append(text)

    # -- asking --

    def find(self, path: str) -> Optional[Node]:
        """The value of a dotted path; None: there is none."""
        node: Optional[Node] = self.root
        for key in path.split("."):
            node = node.get(key) if node else None
        return node

    def missing(self) -> List[str]:
        """The keys that are still open, in the order of the file."""
        nodes = {path: self.find(path) for path in self.opens}
        return [path for path, node in nodes.items() if node is not None and node.value == REQUIRED]

    def text(self) -> str:
        """The file."""
        missing = self.missing()
        head = f"# Imported by meshsim from {inline(self.about)}.\n"
        head += "".join(f"# required: {path}  # {inline(self.opens[path])}\n" for path in missing)
        head += "".join(f"# {remark}\n" for remark in self.remarks)
        return head + "".join(f"{line}{_origin_of(node)}\n" for line, node in write(self.root))


def _origin_of(node: Node) -> str:
    """The comment behind a value: what it comes from, with its place in the source. Lists have none."""
    if not isinstance(node.value, str) or not node.origin:
        return ""
    place = f" ({inline(node.place.file.rsplit('/', 1)[-1])}:{node.place.line})" if node.place and node.place.line > 0 and node.origin != _SET else ""
    return f"  # {inline(node.origin)}{place}"


# ---- overrides ----

def _usage(talk: Talk, text: str, start: int, end: int, message: str) -> Fault:
    talk.error(message, Place(_SET, 1, start + 1, max(1, end - start), text))
    return Fault(USAGE)


def _steps(talk: Talk, text: str, end: int) -> List[Tuple[str, int, bool]]:
    """The keys of a path with their places, and whether one is the number of a list's entry."""
    steps: List[Tuple[str, int, bool]] = []
    at = 0
    for part in text[:end].split("."):
        name = part.partition("[")[0]
        steps.append((name, at, False))
        indices = part[len(name):]
        if not re.fullmatch(r"(?:\[[^\]]*\])*", indices):
            bracket = at + len(name) + len((re.match(r"(?:\[[^\]]*\](?=\[))*", indices) or [""])[0])
            raise _usage(talk, text, bracket, bracket + 1, "expected an index such as 'name[2]'")
        steps += [(found[1], at + len(name) + found.start() + 1, True) for found in re.finditer(r"\[([^\]]*)\]", indices)]
        at += len(part) + 1
    empty = next((start for key, start, _ in steps if not key), None)
    if empty is not None:
        raise _usage(talk, text, empty, empty, "expected key.path=value, got an empty key")
    if len(steps) > LEVELS_MAX:
        raise _usage(talk, text, steps[LEVELS_MAX][1], end, "expected at most 64 keys in a path, got more")
    return steps


def override(talk: Talk, root: Node, text: str) -> None:
    """Lay "key.path=value" over a tree; the value null takes a key out.  Raises Fault, told."""
    equals = text.find("=")
    if equals < 0:
        raise _usage(talk, text, 0, len(text), "expected key.path=value, got no '='")
    steps = _steps(talk, text, equals)
    value = parse(talk, _SET, text, equals + 1, _SET)
    node = root
    for depth, (key, start, is_index) in enumerate(steps):
        place = Place(_SET, 1, start + 1, len(key), text)
        if isinstance(node.value, str) and not node.is_null:
            talk.error(f"there are no keys below '{text[:start - 1]}', it holds {node.shown()}", place)
            raise Fault(INPUT)
        if isinstance(node.value, str):
            node.value = {}
        last = depth + 1 == len(steps)
        node = _child(talk, node, key, is_index, place, value if last else None)
    node.value, node.is_quoted, node.place, node.origin = value.value, value.is_quoted, value.place, value.origin
    node.key_place = Place(_SET, 1, 1, equals, text)


def _child(talk: Talk, node: Node, key: str, is_index: bool, place: Place, value: Optional[Node]) -> Node:
    """The child that a step of a path names, made where a mapping lacks it."""
    if isinstance(node.value, list):
        index = int(key) if re.fullmatch(r"\d{1,9}", key, re.A) else len(node.value)
        if index < len(node.value):
            return node.value[index]
        message = (f"expected the number of a list entry, 0 to {len(node.value) - 1}, got '{shown(key)}'" if node.value
                   else "the list here is empty, set it as a whole")
    elif is_index:
        message = "expected a key here, got the number of a list entry"
    else:
        return node.value.setdefault(key, value or Node("", place=place, key_place=place, origin=_SET))  # type: ignore[union-attr]
    talk.error(message, place)
    raise Fault(INPUT)


def take_out(node: Node) -> None:
    """Remove the keys whose value is null, which an override takes out."""
    if isinstance(node.value, dict):
        node.value = {key: child for key, child in node.value.items() if not (child.is_null and child.text)}
        for child in node.value.values():
            take_out(child)


# ---- the check ----

def complete(call: Call, draft: Draft) -> None:
    """Lay the call's overrides over a draft and, unless a key is still open, ask the program whether it is a platform. What is wrong is told with its
    place in the source."""
    for text in call.values("set"):
        override(call.talk, draft.root, text)
    lines = write(draft.root)
    if draft.missing():
        take_out(draft.root)
        return
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            call.ask("platform", "/dev/stdin", text="".join(f"{line}\n" for line, _ in lines))
    except Fault:
        _retell(call, lines, said.getvalue())
        raise
    take_out(draft.root)


def _retell(call: Call, lines: List[Tuple[str, Node]], said: str) -> None:
    """The program's errors, with the places in the source that its lines come from.  lines: of the file that it was given."""
    is_ours = False
    for line in said.splitlines(keepends=True):
        found = re.match(r"/dev/stdin(?::(\d+))?(?::\d+)?: error: (.*)", line)
        if found:
            message, number = re.sub(r"'/dev/[^']*', ", "", found[2]), int(found[1] or 0)
            node = lines[number - 1][1] if 0 < number <= len(lines) and ": this key is required" not in message else None
            call.talk.error(message, node and (node.key_place if ": unknown key" in message else node.place))
        elif not (is_ours and re.match(r" +\d* \| ", line)):
            sys.stderr.write(line)
        is_ours = bool(found) or (is_ours and line.startswith(" "))
