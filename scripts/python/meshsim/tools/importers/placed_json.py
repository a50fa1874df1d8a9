"""JSON with the place of every key and value."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, NoReturn, Optional, Tuple, Union

from .._call import Call, Place

DEPTH_MAX, VALUES_MAX = 64, 1_000_000
_TOKEN = re.compile(r'[ \t\r\n]*(?:(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")|(?P<sign>[{}\[\]:,])|(?P<word>[^\s{}\[\]:,"]+)|(?P<open>"[^\n]*))', re.S)
_WORDS = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity", re.A)
"""a plain value; Python writes the last two, though JSON has them not"""


@dataclass
class Value:
    """A value with its place."""

    value: Union[str, List["Value"], Dict[str, "Value"]]
    """a text as it stands there, a list, or an object"""
    is_string: bool
    place: Place
    key_place: Optional[Place] = None

    @property
    def text(self) -> Optional[str]:
        """The text; None: it is a list or an object."""
        return self.value if isinstance(self.value, str) else None

    def get(self, path: str) -> Optional["Value"]:
        """The value at a dotted path; None: it is not there, or null."""
        node: Optional[Value] = self
        for name in path.split("."):
            node = node.value.get(name) if node is not None and isinstance(node.value, dict) else None
        return None if node is not None and node.value == "null" and not node.is_string else node

    def members(self) -> Iterator[Tuple[str, "Value"]]:
        """Keys and values of an object."""
        return iter(self.value.items() if isinstance(self.value, dict) else ())

    def shown(self) -> str:
        """The value for a message."""
        return self.value if isinstance(self.value, str) else "an object" if isinstance(self.value, dict) else "a list"


def parse(call: Call, name: str, text: str) -> Value:
    """An object in strict JSON, but for NaN and Infinity.  A repeated key is an error, as is all that is deeper than 64 levels.  Ends the call where it is none."""
    reader = _Reader(call, name, text)
    if not text.strip(" \t\r\n"):
        call.refuse("expected JSON, got an empty file", Place(name, 1, 1))
    root = reader.value(0)
    if reader.peek():
        reader.fail("end of file expected")
    if not isinstance(root.value, dict):
        call.refuse(f"expected keys and values, got {root.shown() if root.text is None else repr(root.text)}", root.place)
    return root


class _Reader:
    def __init__(self, call: Call, name: str, text: str):
        self.call, self.name, self.text, self.at, self.values = call, name, text, 0, 0
        self.lines, self.starts = text.split("\n"), [0]
        for line in self.lines[:-1]:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.line = 0
        self.token: Any = None

    def place(self, start: int, end: int) -> Place:
        while self.line + 1 < len(self.starts) and self.starts[self.line + 1] <= start:
            self.line += 1
        return Place(self.name, self.line + 1, start - self.starts[self.line] + 1, max(1, end - start), self.lines[self.line].rstrip("\r"))

    def peek(self) -> str:
        """The next token; empty: the end."""
        self.token = _TOKEN.match(self.text, self.at)
        return self.token[self.token.lastgroup] if self.token else ""

    def take(self) -> Tuple[str, Place]:
        word = self.peek()
        start, self.at = self.token.start(self.token.lastgroup), self.token.end()
        return word, self.place(start, self.at)

    def fail(self, text: str) -> NoReturn:
        word = self.peek()
        start = self.token.start(self.token.lastgroup) if word else max(0, len(self.text.rstrip()) - 1)
        is_word = bool(word) and self.token.lastgroup == "word"
        letters = re.match(r"[A-Za-z]+", word)
        end = start + ((letters.end() if letters else 1) if is_word and not _WORDS.fullmatch(word) else max(1, len(word)))
        hint = "; JSON has no comments" if word[:1] in ("/", "#") else ""
        self.call.refuse(f"not valid JSON: {text}{hint}", self.place(end - 1, end))

    def value(self, depth: int) -> Value:
        word = self.peek()
        self.values += 1
        if self.values > VALUES_MAX or depth > DEPTH_MAX:
            self.call.refuse("expected at most 64 levels of objects and lists, got more" if depth > DEPTH_MAX else "expected at most 1,000,000 values in one file, got more",
                             self.place(self.at, self.at + 1))
        if word in ("{", "["):
            return self.object(depth) if word == "{" else self.list(depth)
        if word and self.token.lastgroup == "string":
            text, place = self.take()
            return Value(self.unquoted(text, place), True, place)
        if word and self.token.lastgroup == "word" and _WORDS.fullmatch(word):
            return Value(*(lambda pair: (pair[0], False, pair[1]))(self.take()))
        self.fail("premature end of input" if not word or self.token.lastgroup == "open" else "unexpected token" if word in "]},:" else "invalid token")

    def unquoted(self, text: str, place: Place) -> str:
        try:
            return str(json.loads(text))
        except ValueError:
            self.call.refuse("not valid JSON: invalid escape", place)

    def object(self, depth: int) -> Value:
        place = self.take()[1]
        found: Dict[str, Value] = {}
        while self.peek() != "}" or found:
            if not self.token or self.token.lastgroup != "string":
                self.fail("string or '}' expected")
            word, key_place = self.take()
            key = self.unquoted(word, key_place)
            if key in found:
                self.call.refuse("not valid JSON: duplicate object key", key_place)
            if self.peek() != ":":
                self.fail("':' expected")
            self.take()
            found[key] = self.value(depth + 1)
            found[key].key_place = key_place
            if self.peek() != ",":
                break
            self.take()
        if self.peek() != "}":
            self.fail("'}' expected")
        self.take()
        return Value(found, False, place)

    def list(self, depth: int) -> Value:
        place = self.take()[1]
        found: List[Value] = []
        while self.peek() != "]" or found:
            found.append(self.value(depth + 1))
            if self.peek() != ",":
                break
            self.take()
        if self.peek() != "]":
            self.fail("']' expected")
        self.take()
        return Value(found, False, place)
