"""JSON with the place of every key and value."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, NoReturn, Tuple

from .._call import Call, Place
from .yaml_tree import Node

DEPTH_MAX, VALUES_MAX = 64, 1_000_000
_TOKEN = re.compile(r'[ \t\r\n]*(?:(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")|(?P<sign>[{}\[\]:,])|(?P<word>[^\s{}\[\]:,"]+)|(?P<open>"[^\n]*))', re.S)
_WORDS = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity", re.A)
"""a plain value; Python writes the last two, though JSON has them not"""


def shown(node: Node) -> str:
    """A value for a message."""
    return node.value if isinstance(node.value, str) else "an object" if isinstance(node.value, dict) else "a list"


def parse(call: Call, name: str, text: str) -> Node:
    """An object in strict JSON, but for NaN and Infinity.  A repeated key is an error, as is all that is deeper than 64 levels.  Ends the call where it is none."""
    reader = _Reader(call, name, text)
    if not text.strip(" \t\r\n"):
        call.refuse("expected JSON, got an empty file", Place(name, 1, 1))
    root = reader.value(0)
    if reader.peek():
        reader.fail("end of file expected")
    if not isinstance(root.value, dict):
        call.refuse(f"expected keys and values, got {repr(root.value) if isinstance(root.value, str) else shown(root)}", root.place)
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

    def value(self, depth: int) -> Node:
        word = self.peek()
        self.values += 1
        if self.values > VALUES_MAX or depth > DEPTH_MAX:
            self.call.refuse("expected at most 64 levels of objects and lists, got more" if depth > DEPTH_MAX else "expected at most 1,000,000 values in one file, got more",
                             self.place(self.at, self.at + 1))
        if word in ("{", "["):
            return self.several(depth)
        if word and self.token.lastgroup == "string":
            text, place = self.take()
            return Node(self.unquoted(text, place), True, place)
        if word and self.token.lastgroup == "word" and _WORDS.fullmatch(word):
            text, place = self.take()
            return Node(text, False, place)
        self.fail("premature end of input" if not word or self.token.lastgroup == "open" else "unexpected token" if word in "]},:" else "invalid token")

    def unquoted(self, text: str, place: Place) -> str:
        try:
            return str(json.loads(text))
        except ValueError:
            self.call.refuse("not valid JSON: invalid escape", place)

    def several(self, depth: int) -> Node:
        """An object or a list."""
        opened, place = self.take()
        found: Any = {} if opened == "{" else []
        close = "}" if opened == "{" else "]"
        while self.peek() != close or found:
            if opened == "{":
                self.member(found, depth)
            else:
                found.append(self.value(depth + 1))
            if self.peek() != ",":
                break
            self.take()
        if self.peek() != close:
            self.fail(f"'{close}' expected")
        self.take()
        return Node(found, False, place)

    def member(self, found: Dict[str, Node], depth: int) -> None:
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
