"""The small languages of Megatron-LM's arguments: pipeline layouts, lists of layers, schedules of batches.

Source of what they mean: Megatron-LM, megatron.core.transformer.pipeline_parallel_layer_layout, megatron.training.arguments (moe_freq_type: Python's
own rules for lists, integers, + and *) and megatron.core.num_microbatches_calculator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Tuple, Union

LETTERS_MAX = 1_000_000
"""layers and stages of a layout: far above any model"""
VALUES_MAX, NUMBER_MAX, DEPTH_MAX = 100_000, 1_000_000_000, 32
Value = Union[int, List[int]]


class Bad(ValueError):
    """A value that is none of its language; its text says what was expected, and where."""


@dataclass
class Layout:
    """Virtual pipeline stages as --pipeline-model-parallel-layout writes them."""

    layers: List[int] = field(default_factory=list)
    """transformer layers of each stage"""
    mtp_stage: int = -1
    """with the prediction modules; -1: there are none"""
    mtp_layers: int = 0
    loss_stage: int = 0
    """with the output layer"""


class _Cursor:
    """A place in a text."""

    def __init__(self, text: str):
        self.text, self.at = text, 0

    @property
    def letter(self) -> str:
        return self.text[self.at:self.at + 1]

    def skip(self) -> "_Cursor":
        """Past blanks."""
        while self.letter == " ":
            self.at += 1
        return self

    def fault(self, expected: str) -> Bad:
        got = f"'{self.letter if ' ' <= self.letter <= '~' else '?'}'" if self.letter else "the end"
        return Bad(f"expected {expected} at character {self.at + 1} of '{self.text}', got {got}")

    def number(self, expected: str, most: int = NUMBER_MAX) -> int:
        """A whole number; the fault stands behind the digit that is too much."""
        start, value = self.at, 0
        while self.letter and self.letter in "0123456789":
            value = 10 * value + int(self.letter)
            self.at += 1
            if value > most:
                raise self.fault(f"a number up to {most}")
        if self.at == start:
            raise self.fault(expected)
        return value


# ---- layouts ----

def read_layout(text: str) -> Layout:
    """A layout: letters E (embedding), t (layer), m (prediction module) and L (loss), '|' between stages, "t*3" and "(tt|)*5" for
    repetition, commas for looks.  Raises Bad."""
    cursor = _Cursor(text.replace(",", "").replace("\\", ""))
    letters = ""
    while cursor.letter:
        letters += _bracket(cursor, len(letters)) if cursor.letter == "(" else _letter(cursor, len(letters), "'|' or '('")
    return _lay(cursor.text, letters)


def _times(cursor: _Cursor, is_needed: bool) -> int:
    if cursor.letter != "*":
        if is_needed:
            raise cursor.fault("'*' and a number")
        return 1
    cursor.at += 1
    times = cursor.number("a number", LETTERS_MAX)
    if cursor.letter == "*":
        raise cursor.fault("a letter, '|' or '('")
    return times


def _repeat(cursor: _Cursor, letters: str, times: int, before: int) -> str:
    if len(letters) * times + before > LETTERS_MAX:
        raise Bad(f"expected at most {LETTERS_MAX} layers and stages, got more in '{cursor.text}'")
    return letters * times


def _letter(cursor: _Cursor, before: int, others: str) -> str:
    letter = cursor.letter
    if not letter or letter not in "EtmL|":
        raise cursor.fault(f"E, t, m, L, {others}")
    cursor.at += 1
    return _repeat(cursor, letter, _times(cursor, False), before)


def _bracket(cursor: _Cursor, before: int) -> str:
    """ "(...)*n": a bracket holds letters alone."""
    cursor.at += 1
    letters = ""
    while cursor.letter != ")":
        letters += _letter(cursor, before + len(letters), "'|' or ')'")
    cursor.at += 1
    return _repeat(cursor, letters, _times(cursor, True), before)


def _lay(text: str, letters: str) -> Layout:
    stages, plain = letters.split("|"), letters.replace("|", "")
    layout = Layout([stage.count("t") for stage in stages])
    with_modules = [index for index, stage in enumerate(stages) if "m" in stage]
    layout.mtp_layers, layout.mtp_stage = letters.count("m"), with_modules[-1] if with_modules else -1
    layout.loss_stage = max((index for index, stage in enumerate(stages) if "L" in stage), default=0)
    for is_wrong, expected in ((not plain.startswith("E") or plain.count("E") != 1, "one E, before all else"),
                               (not plain.endswith("L") or plain.count("L") != 1, "one L, behind all else"),
                               ("m" in plain and "t" in plain[plain.index("m"):], "every m behind all t"),
                               (len(with_modules) > 1, "all m in one stage")):
        if is_wrong:
            raise Bad(f"expected {expected}, got '{text}'")
    return layout


# ---- lists ----

def read_pattern(text: str) -> List[int]:
    """A list expression of integers, such as "([0]*3+[1]*11)" or "[0, 1, 1]".  Raises Bad."""
    cursor = _Cursor(text)
    value = _sum(cursor, 0)
    if cursor.letter:
        raise cursor.fault("'+', '*' or the end")
    if isinstance(value, int):
        raise Bad(f"expected a list, got the number '{text}'")
    return value


def _bounded(cursor: _Cursor, value: Value) -> Value:
    if isinstance(value, int) and value > NUMBER_MAX:
        raise cursor.fault(f"a number up to {NUMBER_MAX}")
    return value


def _too_long(cursor: _Cursor, length: int) -> None:
    if length > VALUES_MAX:
        raise Bad(f"expected a list of at most {VALUES_MAX}, got more in '{cursor.text}'")


def _add(cursor: _Cursor, left: Value, right: Value) -> Value:
    if isinstance(left, list) and isinstance(right, list):
        _too_long(cursor, len(left) + len(right))
        return left + right
    if isinstance(left, int) and isinstance(right, int):
        return _bounded(cursor, left + right)
    raise cursor.fault("lists on both sides of '+'")


def _multiply(cursor: _Cursor, left: Value, right: Value) -> Value:
    if isinstance(left, int) and isinstance(right, int):
        return _bounded(cursor, left * right)
    if isinstance(left, list) and isinstance(right, list):
        raise cursor.fault("a number on one side of '*'")
    entries, times = (left, right) if isinstance(left, list) else (right, left)
    assert isinstance(entries, list) and isinstance(times, int)
    _too_long(cursor, len(entries) * times)
    return entries * times


def _chain(sign: str, part: Callable[[_Cursor, int], Value], join: Callable[[_Cursor, Value, Value], Value]) -> Callable[[_Cursor, int], Value]:
    def read(cursor: _Cursor, depth: int) -> Value:
        value = part(cursor, depth)
        while cursor.skip().letter == sign:
            cursor.at += 1
            value = join(cursor, value, part(cursor, depth))
        return value
    return read


def _factor(cursor: _Cursor, depth: int) -> Value:
    if cursor.skip().letter == "[":
        return _list(cursor)
    if cursor.letter != "(":
        return cursor.number("a list, a number or '('")
    if depth >= DEPTH_MAX:
        raise cursor.fault(f"at most {DEPTH_MAX} brackets in each other")
    cursor.at += 1
    value = _sum(cursor, depth + 1)
    if cursor.skip().letter != ")":
        raise cursor.fault("'+', '*' or ')'")
    cursor.at += 1
    return value


def _list(cursor: _Cursor) -> List[int]:
    """ "[0, 1]"; a comma may end it, as in Python."""
    _too_long(cursor, cursor.text[cursor.at:].split("]")[0].count(",") + 1)
    values = []
    cursor.at += 1
    while cursor.skip().letter != "]":
        values.append(cursor.number("an integer or ']'"))
        if cursor.skip().letter == ",":
            cursor.at += 1
        elif cursor.letter != "]":
            raise cursor.fault("',' or ']'")
    cursor.at += 1
    return values


_product = _chain("*", _factor, _multiply)
_sum = _chain("+", _product, _add)


# ---- batches ----

SUFFIXES: Dict[str, float] = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


def read_steps(text: str) -> List[int]:
    """A schedule of batches, such as "0:384 2.4B:768": thresholds in tokens, from 0 up, and sequences a step from there on.
    Returns the batches.  Raises Bad."""
    cursor = _Cursor(text)
    steps: List[Tuple[float, int]] = []
    while cursor.skip().letter or not steps:
        start = cursor.at
        tokens = _threshold(cursor)
        if tokens != 0 if not steps else tokens <= steps[-1][0]:
            cursor.at = start
            raise cursor.fault("thresholds that grow" if steps else "a first threshold of 0")
        cursor.at += 1
        batch = cursor.skip().number("a batch")
        if batch == 0 or cursor.letter not in ("", " "):
            raise cursor.fault("a blank or the end" if batch else "a batch of 1 or more")
        steps.append((tokens, batch))
    return [batch for _, batch in steps]


def _threshold(cursor: _Cursor) -> float:
    """Tokens, as a number of Python's with K, M, B or T for powers of a thousand."""
    found = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+", re.A).match(cursor.text, cursor.at)
    if not found:
        raise cursor.fault("a count of tokens")
    tokens = float(found[0])
    cursor.at = found.end()
    if cursor.letter in SUFFIXES:
        tokens *= SUFFIXES[cursor.letter]
        cursor.at += 1
    if cursor.letter != ":":
        raise cursor.fault("':' and a batch")
    return tokens
