"""JSON of any length, of which one value at a time is in memory; from a file, which gzip may have compressed.

Why not ijson, and what is mended: kineto.md.
"""

from __future__ import annotations

import codecs
import itertools
import json
import re
import zlib
from typing import Any, Iterator, NoReturn

from meshsim.tools._call import FAILED, INPUT, Call, Place

PIECE_B = 64 * 1024
STRING_MAX = 256 * 1024  # characters
VALUE_MAX = 16 * 2**20  # characters of a value that is read whole
DEPTH_MAX = 64  # levels of objects and lists in one another, as in all other files that are read
NO_NUMBER = "~"  # the text that stands for a value which is no number: NaN, Infinity, N/A
CUT = 16  # a fault that is closer to the end of what was read may be none: a word or an escape goes on

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = r'"(?:[^"\\]|\\.)*+"'
_BRACKET = re.compile(_STRING + r"?|[][{}]", re.S)  # or a string
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


class Number(str):
    """The digits of a number that is not whole."""


# Nothing of a profile needs all digits of a float, and times need more than a float has. Control characters in strings are taken (strict=False).
_DECODER = json.JSONDecoder(parse_float=Number, parse_constant=lambda _: NO_NUMBER, strict=False)


class Mender:
    """What profilers write that is no JSON, made JSON: values without quotes (NaN, inf, N/A), and escapes that there are none of (paths of Windows).

    Valid JSON stays as it is. Source: pytorch/kineto, torch_tb_profiler.profiler.data, which mends the same before it parses.
    """

    # a string, which may go on; a word; what may begin one
    _TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:(")|\\?\Z)|(?:-?[NIi]|-n|n(?=[aA]))[^,:\]} \t\r\n]*|[-n]\Z', re.S)
    _ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\(.)', re.S)

    def __init__(self) -> None:
        self.held = ""
        """the end of the text so far: a string or a word that may go on"""

    def take(self, text: str, is_last: bool) -> str:
        """The next piece, mended, but for what is held of it.  text: begins outside of strings, or goes on where the last one ended."""
        text = self.held + text
        parts, end = [], 0
        for match in self._TOKEN.finditer(text):
            parts.append(text[end:match.start()])
            end = match.start()
            if match.end() == len(text) and not match[1] and not is_last:
                break
            parts.append(self._mended(match[0]))
            end = match.end()
        else:
            parts.append(text[end:])
            end = len(text)
        self.held = text[end:]
        return "".join(parts)

    def _mended(self, token: str) -> str:
        if token[0] != '"':
            return f'"{NO_NUMBER}"'[:len(token)].ljust(len(token))
        return self._ESCAPE.sub(lambda match: "\\/" if match[1] else match[0], token) if "\\" in token else token


class JsonStream:
    """A JSON text under way. `at` is where in `text`, the part of it that is in memory, the next value begins."""

    def __init__(self, call: Call, path: str):
        self.call, self.path = call, path
        self.text, self.at = "", 0
        self.lines = 0  # before `text`
        self.is_ended = False
        self.mender: "Mender | None" = None
        self._pieces = self._read()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    # ---- faults ----

    def line(self, at: int) -> int:
        """Line of a place in `text`, from 1."""
        return self.lines + self.text.count("\n", 0, at) + 1

    def refuse(self, message: str, at: "int | None" = None, code: int = INPUT) -> NoReturn:
        """Tell what is wrong.  at: place in `text`; None: that of the next value; -1: of the whole file."""
        place = Place(self.path, 0 if at == -1 else self.line(self.at if at is None else at))
        self.call.refuse(message, place, code)

    # ---- the text ----

    def _read(self) -> Iterator[bytes]:
        try:
            with open(self.path, "rb") as file:
                packed = file.read(PIECE_B)
                is_packed = packed[:2] == b"\x1f\x8b"
                yield from self._unpack(packed, file) if is_packed else itertools.chain([packed], iter(lambda: file.read(PIECE_B), b""))
        except IsADirectoryError:
            self.refuse("expected a JSON file, got a directory", -1)
        except (FileNotFoundError, NotADirectoryError):
            self.refuse("no such file", -1)
        except OSError as error:
            self.refuse(f"cannot read: {error.strerror}", -1, FAILED)

    def _unpack(self, packed: bytes, file: Any) -> Iterator[bytes]:
        """Members of a file in gzip's format, one behind the other; what follows them is left out, as gunzip does."""
        try:
            while packed[:2] == b"\x1f\x8b":
                unpacker = zlib.decompressobj(31)
                while not unpacker.eof:
                    packed = packed or file.read(PIECE_B)
                    if not packed:
                        self.refuse("damaged compression: unexpected end of file", -1)
                    yield unpacker.decompress(packed, PIECE_B)
                    packed = unpacker.unconsumed_tail
                packed = unpacker.unused_data or file.read(PIECE_B)
        except zlib.error as error:
            self.refuse(f"damaged compression: {str(error).split(': ', 1)[-1]}", -1)

    def more(self) -> bool:
        """Read on, as much as is there.  Returns whether the text had not ended."""
        if self.is_ended:
            return False
        wanted = len(self.text) - self.at
        self.lines += self.text.count("\n", 0, self.at)
        parts, self.text, self.at = [self.text[self.at:]], "", 0
        while not self.is_ended and wanted >= 0:
            data = next(self._pieces, None)
            self.is_ended = data is None
            part = self._decode(data or b"", self.is_ended)
            parts.append(part if self.mender is None else self.mender.take(part, self.is_ended))
            wanted -= PIECE_B
            if self.mender is not None and len(self.mender.held) > STRING_MAX:
                self.refuse("expected strings of at most 256 KiB, got a longer one")
        self.text = "".join(parts)
        return True

    def peek(self) -> str:
        """The next character that is no blank; "": the text has ended."""
        while True:
            match = _BLANK.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    # ---- values ----

    def value(self, levels: int) -> Any:
        """The next value, whole: whole numbers as int, others as Number, what is no number as NO_NUMBER.
        levels: of objects and lists that there may be in it.  Ends the call where there is no value."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
                if end < len(self.text) or not self.more():
                    self._check(levels, end)
                    self.at = end
                    return value
            except (ValueError, RecursionError) as error:
                at = getattr(error, "pos", len(self.text))
                is_open = str(error).startswith("Unterminated string")
                self._check(levels, len(self.text) if is_open else at)
                self._go_on(getattr(error, "msg", str(error)), at, is_open)

    def _check(self, levels: int, end: int) -> None:
        """Refuse what is too deep or too long, from `at` to an end."""
        if self.text.count("[", self.at, end) + self.text.count("{", self.at, end) > levels:
            depth = 0
            for match in _BRACKET.finditer(self.text, self.at, end):
                depth += _STEP.get(match[0], 0)
                if depth > levels:
                    self.refuse(f"expected at most {DEPTH_MAX} levels of objects and lists, got more", match.start())
        if end - self.at > STRING_MAX and any(len(match[0]) > STRING_MAX for match in _BRACKET.finditer(self.text, self.at, end)):
            self.refuse("expected strings of at most 256 KiB, got a longer one")
        if end - self.at > VALUE_MAX:
            self.refuse("expected values of at most 16 MiB, got a longer one")

    def _go_on(self, fault: str, at: int, is_open: bool) -> None:
        """Make another attempt at a value possible: read on where it may be cut off (is_open: in a string), else mend what is there."""
        if (is_open or len(self.text) - at < CUT) and self.more():
            return
        if self.mender is not None:
            self.syntax("premature EOF" if is_open or at >= len(self.text.rstrip()) else fault.lower(), at)
        self.mender = Mender()
        self.lines += self.text.count("\n", 0, self.at)
        self.text, self.at = self.mender.take(self.text[self.at:], self.is_ended), 0

    def syntax(self, message: str, at: "int | None" = None) -> NoReturn:
        """Refuse the text."""
        self.refuse(f"not valid JSON: parse error: {message}", at)

    def step(self, wanted: str) -> None:
        """Go over a character."""
        found = self.peek()
        if found != wanted:
            self.syntax(f"expected '{wanted}', got '{found}'" if found else "premature EOF")
        self.at += 1

    def items(self, close: str) -> Iterator[None]:
        """Go over a list or an object, with a stop before each item, which whoever asks reads.  close: how it ends."""
        self.at += 1
        if self.peek() != close:
            yield
            while self.peek() == ",":
                self.at += 1
                yield
        self.step(close)

    def keys(self) -> Iterator[str]:
        """Go over an object, with a stop before each value."""
        for _ in self.items("}"):
            if self.peek() != '"':
                self.syntax("invalid object key (must be a string)" if self.peek() else "premature EOF")
            key = self.value(DEPTH_MAX)
            self.step(":")
            self.peek()
            yield key
