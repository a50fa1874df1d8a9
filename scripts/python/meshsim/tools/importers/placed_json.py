"""JSON with the place of every key and value: the standard library says whether a text is JSON, and YAML, of which JSON is a part, where things stand."""

from __future__ import annotations

import json
import re

from .._call import Call, Place
from . import yaml_tree
from .yaml_tree import Node

_HALVES = re.compile(r"(?<!\\)((?:\\\\)*)\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
"""of characters beyond 16 bits, which YAML does not have"""


def shown(node: Node) -> str:
    """A value for a message."""
    return node.value if isinstance(node.value, str) else "an object" if isinstance(node.value, dict) else "a list"


def parse(call: Call, name: str, text: str) -> Node:
    """An object in strict JSON, but for NaN and Infinity.  A repeated key is an error, as is all that is deeper than 64 levels.  Ends the call where it is none."""
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        hint = "; JSON has no comments" if text[error.pos:error.pos + 1] in ("/", "#") else ""
        place = Place(name, error.lineno, error.colno, 1, (text.split("\n") + [""])[error.lineno - 1].rstrip("\r"))
        call.refuse(f"not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}{hint}", place)
    except RecursionError:
        call.refuse("expected at most 64 levels of objects and lists, got more", Place(name, 0))
    root = yaml_tree.parse(call.talk, name, _HALVES.sub(r"\1\\ufffd", text))
    if not isinstance(root.value, dict):
        call.refuse(f"expected keys and values, got {shown(root) if isinstance(root.value, list) else repr(root.value)}", root.place)
    return root
