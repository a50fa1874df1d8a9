"""YAML as a tree whose values are texts that remember where they stand, and back to text as meshsim writes it.

Values stay as they are written, so that `450 GB/s` or `1e3` goes through unchanged. What meshsim's own files may not have is refused here, too: tags,
merge keys, repeated keys, aliases that grow a small file, more than 64 levels.
"""

from __future__ import annotations

import bisect
import itertools
import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Optional, Tuple, Union

from .._call import INPUT, UNSEEN, USAGE, Call, Fault, Place, Talk, need

LEVELS_MAX, NODES_MAX, ALIAS_NODES_MAX, KEY_MAX, SHOWN_MAX, SIMPLE_KEY_MAX = 64, 1_000_000, 100_000, 1000, 64, 100
_NULLS = ("", "~", "null", "Null", "NULL")
_WORD = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z_./%+\- ]*[0-9A-Za-z_./%+\-])?", re.A)


@dataclass
class Node:
    """A value: a text, a mapping or a list."""

    value: "Union[str, Dict[str, Node], List[Node]]"
    is_quoted: bool = False
    place: Optional[Place] = None
    key_place: Optional[Place] = None
    """of a mapping's value"""
    origin: str = "file"
    """what it comes from, for a comment"""

    @property
    def text(self) -> str:
        """The text of one that is no mapping and no list; "" of those."""
        return self.value if isinstance(self.value, str) else ""

    @property
    def is_null(self) -> bool:
        return isinstance(self.value, str) and not self.is_quoted and self.value in _NULLS

    def get(self, key: str) -> "Optional[Node]":
        """The value of a mapping's key; None: there is none."""
        return self.value.get(key) if isinstance(self.value, dict) else None

    def at(self, path: str) -> "Optional[Node]":
        """The value of a dotted path; None: there is none."""
        node: Optional[Node] = self
        for key in path.split("."):
            node = node.get(key) if node else None
        return node

    def shown(self) -> str:
        """What it is, for messages."""
        if not isinstance(self.value, str):
            return "a mapping" if isinstance(self.value, dict) else "a list"
        return "nothing" if self.is_null else f"'{shown(self.value)}'"


def shown(text: str) -> str:
    """A text fit for a message."""
    return UNSEEN.sub("?", text[:SHOWN_MAX]) + ("..." if len(text) > SHOWN_MAX else "")


# ---- reading ----

@dataclass
class _Level:
    """A mapping or list whose end has not come yet."""

    node: Node
    key: Optional[Node] = None
    """of the next value"""
    is_dropped: bool = False
    """the key was refused"""
    is_key: bool = False
    """stands where a key should"""


@dataclass
class _Builder:
    """Nodes from PyYAML's events."""

    talk: Talk
    file: str
    lines: List[str]
    start: int = 0
    """characters of the text before the part that is parsed"""
    origin: str = "file"
    root: Optional[Node] = None
    levels: List[_Level] = field(default_factory=list)
    anchors: Dict[str, Node] = field(default_factory=dict)
    nodes: int = 0
    alias_nodes: int = 0

    def __post_init__(self) -> None:
        self.starts = [0, *itertools.accumulate(len(line) + 1 for line in self.lines[:-1])]

    def place(self, start: Any, end: Any) -> Place:
        # by characters: libyaml's own lines end at '\\r' and others, too
        at = self.start + start.index
        number = bisect.bisect_right(self.starts, at) - 1
        line, column = self.lines[number], at - self.starts[number]
        last = min(self.start + end.index - self.starts[number], len(line))
        return Place(self.file, number + 1, column + 1, max(1, last - column), line)

    def fail(self, place: Optional[Place], message: str) -> Fault:
        self.talk.error(message, place)
        return Fault(INPUT)

    def add(self, node: Node) -> None:
        """Hang a value where it belongs."""
        if not self.levels:
            self.root = node
            return
        level = self.levels[-1]
        if isinstance(level.node.value, list):
            level.node.value.append(node)
        elif isinstance(level.node.value, dict) and level.key is None:
            self.take_key(level, node)
        elif isinstance(level.node.value, dict) and level.key is not None:
            key, level.key = level.key, None
            if not level.is_dropped:
                node.key_place = key.place
                node.place = key.place if node.value == "" and not node.is_quoted else node.place
                level.node.value[key.text] = node

    def take_key(self, level: _Level, node: Node) -> None:
        """The key in front of a value; one that is refused takes its value with it."""
        mapping: Any = level.node.value
        fault = ("expected a name as key, got a list or mapping" if not isinstance(node.value, str)
                 else "expected a name as key, got nothing" if not node.value
                 else "merge keys ('<<') are not supported; write the keys out" if node.value == "<<" and not node.is_quoted
                 else f"expected a key of at most {KEY_MAX} bytes, got '{shown(node.value)}'" if len(node.value.encode()) > KEY_MAX else "")
        if not fault and node.value in mapping:
            first = mapping[node.value].key_place
            fault = f"repeated key '{shown(node.text)}', first at line {first.line}:{first.column}"
        if fault:
            self.talk.error(fault, node.place)
        level.key, level.is_dropped = node, bool(fault)

    def new(self, event: Any, value: Any, is_quoted: bool = False) -> Node:
        node = Node(value, is_quoted, self.place(event.start_mark, event.end_mark), origin=self.origin)
        self.nodes += 1
        if self.nodes > NODES_MAX:
            raise self.fail(node.place, "expected at most 1,000,000 values in one file, got more")
        if getattr(event, "tag", None) is not None:
            self.talk.error("tags such as '!!str' are not supported; put a text in quotes instead", node.place)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def on_alias(self, event: Any) -> None:
        node = self.anchors.get(event.anchor)
        place = self.place(event.start_mark, event.end_mark)
        if node is None:
            raise self.fail(place, f"alias '*{shown(event.anchor)}' has no anchor '&{shown(event.anchor)}' before it")
        if any(level.node is node for level in self.levels):
            raise self.fail(place, "this alias contains itself")
        self.add(self.copy(node, len(self.levels), place))

    def copy(self, node: Node, depth: int, place: Place) -> Node:
        self.alias_nodes += 1
        if self.alias_nodes > ALIAS_NODES_MAX:
            raise self.fail(place, "expected at most 100,000 values made by aliases, got more")
        if depth > LEVELS_MAX:
            raise self.fail(place, "expected at most 64 levels of mappings and lists, got more by aliases")
        value: Any = node.value
        if isinstance(value, dict):
            value = {key: self.copy(child, depth + 1, place) for key, child in value.items()}
        elif isinstance(value, list):
            value = [self.copy(child, depth + 1, place) for child in value]
        return Node(value, node.is_quoted, node.place, node.key_place, node.origin)

    def on_event(self, event: Any) -> None:
        name = type(event).__name__
        if name == "ScalarEvent":
            is_plain_style = event.style in (None, "")
            self.add(self.new(event, event.value, not is_plain_style or not is_plain(event.value)))
        elif name in ("MappingStartEvent", "SequenceStartEvent"):
            node = self.new(event, {} if name == "MappingStartEvent" else [])
            if len(self.levels) >= LEVELS_MAX:
                raise self.fail(node.place, "expected at most 64 levels of mappings and lists, got more")
            level = self.levels[-1] if self.levels else None
            is_key = level is not None and isinstance(level.node.value, dict) and level.key is None
            if not is_key:
                self.add(node)
            self.levels.append(_Level(node, is_key=is_key))
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            ended = self.levels.pop()
            if ended.is_key:
                self.take_key(self.levels[-1], ended.node)
        elif name == "AliasEvent":
            self.on_alias(event)
        elif name == "DocumentStartEvent" and self.root is not None:
            raise self.fail(self.place(event.start_mark, event.end_mark), "expected one document, got a second one")


def _bad_character(text: str) -> Optional[Tuple[int, str]]:
    """Where a text has what YAML may not hold, and what it is."""
    found = re.search("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]", text)
    if found is None:
        return None
    code = ord(found[0])
    what = (f"expected UTF-8 text, got the byte 0x{code - 0xdc00:02x}" if 0xdc80 <= code <= 0xdcff
            else "expected text, got a NUL byte" if code == 0 else f"expected text, got the control character U+{code:04X}")
    return found.start(), what


def _syntax_fault(builder: _Builder, error: Any) -> Tuple[Place, str]:
    """The parser's own complaint, with the place it names."""
    place = builder.place(error.problem_mark, error.problem_mark)
    problem = error.problem or "cannot be read"
    if "cannot start any token" in problem:
        character = builder.lines[place.line - 1][place.column - 1:place.column]
        problem = "found a tab, indent with spaces" if character == "\t" else f"a value cannot start with '{character}'; put it in quotes"
    elif error.context and error.context_mark:
        began = builder.place(error.context_mark, error.context_mark).line
        problem += f" ({error.context} that began at line {began})" if began != place.line else ""
    return place, f"not valid YAML: {problem}"


def parse(talk: Talk, file: str, text: str, start: int = 0, origin: str = "file") -> Node:
    """The tree of a YAML text from its `start` on.  text: bytes that are no UTF-8 stand in it as surrogates.  Raises Fault, told, for what is no YAML
    or has what this module refuses."""
    yaml, = need(Call("", "import", talk=talk), "yaml")  # type: ignore[arg-type]
    before = talk.errors
    builder = _Builder(talk, file, text.split("\n"), start, origin)
    bad = _bad_character(text)
    if bad:
        line = text.count("\n", 0, bad[0])
        column = bad[0] - (text.rfind("\n", 0, bad[0]) + 1)
        raise builder.fail(Place(file, line + 1, column + 1, 1, "".join("?" if _bad_character(c) else c for c in builder.lines[line])), bad[1])
    try:
        for event in yaml.parse(text[start:], Loader=yaml.CSafeLoader):
            builder.on_event(event)
    except yaml.MarkedYAMLError as error:
        raise builder.fail(*_syntax_fault(builder, error)) from None
    except yaml.YAMLError as error:
        raise builder.fail(Place(file, 0), f"not valid YAML: {error}") from None
    if builder.root is None:
        raise builder.fail(Place(file, 1, start + 1, 1, builder.lines[0]),
                           "expected a value behind '=', got nothing" if start else "expected keys and values, got nothing")
    if talk.errors > before:
        raise Fault(INPUT)
    return builder.root


# ---- overrides ----

_SET = "--set"
_STEP = re.compile(r"(?:^|\.)(?P<name>[^.\[]*)|\[(?P<index>[^\].]*)\](?=[.\[]|\Z)|(?P<bad>.)", re.S)


def _set_place(text: str, start: int, end: int) -> Place:
    return Place(_SET, 1, start + 1, max(1, end - start), text)


def _steps(talk: Talk, text: str, end: int) -> "List[re.Match[str]]":
    """The steps of an override's path, such as `a.b[2]`: a key, or the number of a list's entry, each.  end: where the path ends in the text.  Raises Fault, told, for a path that is wrong."""
    steps = list(_STEP.finditer(text[:end]))
    names = [step[step.lastgroup or ""] for step in steps]
    bad = next((step for step in steps if step["bad"]), None)
    if bad:
        fault, place = "expected an index such as 'name[2]'", _set_place(text, bad.start(), bad.end())
    elif "" in names:
        at = steps[names.index("")].end("name") if steps[names.index("")]["name"] is not None else steps[names.index("")].start("index")
        fault, place = "expected key.path=value, got an empty key", _set_place(text, at, at)
    elif len(steps) > LEVELS_MAX:
        fault, place = f"expected at most {LEVELS_MAX} keys in a path, got more", _set_place(text, steps[LEVELS_MAX].start(steps[LEVELS_MAX].lastgroup or ""), end)
    else:
        return steps
    talk.error(fault, place)
    raise Fault(USAGE)


def override(talk: Talk, root: Node, text: str) -> None:
    """Lay "key.path=value" over a tree; "name[2]" is an entry of a list, and the value null takes a key out.  Raises Fault, told."""
    equals = text.find("=")
    if equals < 0:
        talk.error("expected key.path=value, got no '='", _set_place(text, 0, len(text)))
        raise Fault(USAGE)
    steps = _steps(talk, text, equals)
    value = parse(talk, _SET, text, equals + 1, _SET)
    node = root
    for step in steps:
        start, end = step.span(step.lastgroup or "")
        if isinstance(node.value, str) and not node.is_null:
            fault = f"there are no keys below '{text[:start - 1]}', it holds {node.shown()}"
        else:
            node, fault = _child(node, step, _set_place(text, start, end))
        if fault:
            talk.error(fault, _set_place(text, start, end))
            raise Fault(INPUT)
    node.value, node.is_quoted, node.place, node.origin = value.value, value.is_quoted, value.place, value.origin
    node.key_place = _set_place(text, 0, equals)


def _child(node: Node, step: "re.Match[str]", place: Place) -> Tuple[Node, str]:
    """The child that a step of a path names, made where a mapping lacks it, and what is wrong with that."""
    key, index = step["name"], step["index"]
    if isinstance(node.value, list):
        word = key if index is None else index
        number = int(word) if re.fullmatch(r"\d{1,9}", word, re.A) else len(node.value)
        if number < len(node.value):
            return node.value[number], ""
        return node, (f"expected the number of a list entry, 0 to {len(node.value) - 1}, got '{shown(word)}'" if node.value
                      else "the list here is empty, set it as a whole")
    if index is not None:
        return node, "expected a key here, got the number of a list entry"
    node.value = node.value or {}
    assert isinstance(node.value, dict)
    return node.value.setdefault(key, Node("", place=place, key_place=place, origin=_SET)), ""


def take_out(node: Node, kept: str = "") -> None:
    """Remove the keys whose value is null, which an override takes out.  kept: a key below which nothing is."""
    if isinstance(node.value, dict):
        node.value = {key: child for key, child in node.value.items() if not (child.is_null and child.text)}
        for key, child in node.value.items():
            if key != kept:
                take_out(child)


# ---- writing ----

def is_plain(text: str) -> bool:
    """Whether a text may stand without quotes on a line of its own.  Source: YAML 1.1, section 9.1.3."""
    if not text:
        return True
    if text[0] in ",[]{}#&*!|>'\"%@` \t" or text[-1] in " \t":
        return False
    if text[0] in "-?:" and (len(text) == 1 or text[1] in " \t"):
        return False
    return not re.search(r":(?:[ \t]|$)|[ \t]#", text) and not UNSEEN.search(text.replace("\t", ""))


def _escaped(character: str) -> str:
    code = ord(character)
    named = {"\n": "\\n", "\t": "\\t"}.get(character)
    return named or (f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}")


def quoted(text: str) -> str:
    """A text in double quotes."""
    return '"' + UNSEEN.sub(lambda found: _escaped(found[0]), re.sub(r'(["\\])', r"\\\1", text)) + '"'


def _scalar(node: Node) -> str:
    return node.text if not node.is_quoted and is_plain(node.text) else quoted(node.text)


def _key(key: str, indent: str) -> str:
    text = key if _WORD.fullmatch(key) else quoted(key)
    return f"? {text}\n{indent}:" if len(key.encode()) > SIMPLE_KEY_MAX else f"{text}:"


def write(node: Node, level: int = 0) -> List[Tuple[str, Node]]:
    """The lines of a mapping or list, each with the value that it has, or begins; those in a list have no origin."""
    lines: List[Tuple[str, Node]] = []
    indent, value = "  " * level, node.value
    pairs = list(value.items()) if isinstance(value, dict) else [("", child) for child in value]
    for key, child in pairs:
        head = indent + (_key(key, indent) if isinstance(value, dict) else "-")
        inner = child.value
        if isinstance(inner, str):
            text = _scalar(child)
            lines.append((head + (f" {text}" if text else ""), child))
        elif isinstance(inner, list) and all(isinstance(e.value, str) and (e.is_quoted or _WORD.fullmatch(e.value)) for e in inner):
            lines.append((f"{head} [{', '.join(map(_scalar, inner))}]", child))
        elif not inner:
            lines.append((f"{head} {{}}", child))
        elif isinstance(value, dict):
            lines += [(head, child), *write(child, level + 1)]
        else:  # the first line of an entry goes on the line of its '-'
            (first, at), *rest = write(child, level + 1)
            lines += [(f"{head} {first[2 * level + 2:]}", at), *rest]
    return lines if isinstance(value, dict) else [(line, replace(at, origin="")) for line, at in lines]
