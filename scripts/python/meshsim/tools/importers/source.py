"""What importers share: reading a foreign file, and telling of each of its keys what became of it."""

from __future__ import annotations

import bisect
import itertools
import os
import re
import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Iterable, Optional, Sequence, Union

from .._call import FAILED, INPUT, UNSEEN, USAGE, Call, Fault, Place, Talk, check_targets, need, print_json, print_page, write_file

SOURCE_MAX_B = 256 * 2**20
"""largest log, script or list that is read"""
USED, ASSUMED, IGNORED, UNKNOWN = "used", "assumed", "ignored", "unknown"
_BEFORE_WHY = {USED: " for ", ASSUMED: ", ", IGNORED: ": ", UNKNOWN: ": "}
# What C's strtod takes whole; only the decimal form, infinity and "nan" are written by the software that is read here.
_NUMBER = re.compile(r"[ \t\n\v\f\r]*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.I | re.A)


@dataclass(frozen=True)
class Key:
    """A key of a foreign file, or a sort of its lines, and what became of it."""

    key: str
    fate: str
    """USED, ASSUMED, IGNORED or UNKNOWN"""
    why: str = ""
    """which of our keys it says, or why it is ignored"""
    value: str = ""
    place: Optional[Place] = None


class Text:
    """A text with its lines."""

    def __init__(self, name: str, data: str):
        self.name, self.data, self.lines = name, data, data.split("\n")
        self._starts = [0, *itertools.accumulate(len(line) + 1 for line in self.lines[:-1])]

    def place(self, line: int, column: int = 0, width: int = 1) -> Place:
        """A place; line and column from 1 on."""
        return Place(self.name, line, column, max(1, width), self.lines[line - 1].rstrip("\r"))

    def place_at(self, offset: int, width: int = 1) -> Place:
        """The place of an offset into the text."""
        line = bisect.bisect_right(self._starts, offset)
        return self.place(line, offset - self._starts[line - 1] + 1, width)


def tell(call: Call, keys: Iterable[Key]) -> None:
    """Say on the standard error what became of each key, unless --quiet."""
    if call.has("quiet"):
        return
    for key in keys:
        value = f": {key.value}" if key.fate == ASSUMED else ""
        why = _BEFORE_WHY[key.fate] + key.why if key.why else ""
        call.talk.note(f"{key.key + ': ' if key.key else ''}{key.fate}{value}{why}", key.place)


def row_of(key: Key) -> Dict[str, Union[str, int]]:
    """A key as --json has it."""
    return {"key": key.key, "value": key.value, "fate": key.fate, "why": key.why, "line": key.place.line if key.place else 0}


def target(call: Call) -> Optional[str]:
    """Where the result goes, once it is known that it can be written there; "-": the standard output; None: into --json alone."""
    check_targets(call, "output")
    return call.value("output", None if call.has("json") else "-")


def deliver(call: Call, keys: Sequence[Key], text: str, tree: Dict[str, Any], page: str) -> None:
    """Tell what became of keys, and write the result.  text: the file.  tree: what --json prints.  page: what people read where the file goes elsewhere."""
    tell(call, keys)
    path = call.value("output", None if call.has("json") else "-")
    if path is not None:
        write_file(call, path, text)
    if call.has("json"):
        print_json(call, tree)
    elif path != "-":
        print_page(call, page)


def inline(text: str) -> str:
    """A text for a comment on one line: what is invisible or ends a line is a '?'."""
    return UNSEEN.sub("?", text)


def read_bytes(talk: Talk, path: str, limit_B: int = SOURCE_MAX_B) -> bytes:
    """A file whole.  Raises Fault (told) where it cannot be read or is larger than the limit."""
    def refuse(message: str, code: int = INPUT) -> Fault:
        talk.error(message, Place(path, 0) if path else None)
        return Fault(code)

    limit = f"expected a text file of at most {limit_B // 2**20} MiB, got"
    if not path:
        raise refuse("expected a file's name, got ''")
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno())
            if stat.S_ISREG(size.st_mode) and size.st_size > limit_B:
                raise refuse(f"{limit} {size.st_size / 2**20:.1f} MiB")
            data = file.read(limit_B + 1)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the name
        raise refuse("no such file") from None
    except IsADirectoryError:
        raise refuse("expected a text file, got a directory") from None
    except OSError as error:
        raise refuse(f"cannot open: {error.strerror}", FAILED) from None
    if len(data) > limit_B:
        raise refuse(f"{limit} more")
    return data


def number(text: str) -> Optional[float]:
    """A text that is a number as C's strtod reads it; None: it is none, or more stands behind it."""
    return float(text) if _NUMBER.fullmatch(text) else None


def leading_number(text: str) -> float:
    """The number that a text begins with, such as 32 of "32.0 GT/s"; 0: it begins with none."""
    found = _NUMBER.match(text)
    return float(found[0]) if found else 0.0


@lru_cache(maxsize=None)
def table(name: str) -> Any:
    """A table of this package, a file in YAML.  name: its path from the folder of tools."""
    yaml, = need(Call(Path(), "import"), "yaml")
    return yaml.load((Path(__file__).parent.parent / name).read_text(encoding="utf-8"), yaml.CSafeLoader)


def count(call: Call, option: str, most: int, default: int) -> int:
    """An option's count from 1 to `most`."""
    text = call.value(option)
    if text is None:
        return default
    if not re.fullmatch(r"\+?\d{1,18}", text, re.A) or not 1 <= int(text) <= most:
        call.refuse(f"option '--{option}' takes a whole number from 1 to {most}, got '{text}'", code=USAGE)
    return int(text)


def finish(talk: Talk) -> None:
    """End the call where an error was told."""
    if talk.errors > 0:
        raise Fault(INPUT)
