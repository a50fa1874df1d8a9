"""The small languages of Megatron-LM's arguments: pipeline layouts, lists of layers, schedules of batches.

Source of what they mean: Megatron-LM, megatron.core.transformer.pipeline_parallel_layer_layout, megatron.training.arguments (moe_freq_type: Python's
own rules for lists, integers, + and *) and megatron.core.num_microbatches_calculator.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass, field
from typing import Dict, List, Tuple, Union

LETTERS_MAX = 1_000_000
"""layers and stages of a layout: far above any model"""
VALUES_MAX, NUMBER_MAX, SIGNS_MAX = 100_000, 1_000_000_000, 1000
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

_PART = re.compile(r"(?P<letter>[EtmL|])(?:\*(?P<times>\d{1,7}))?|\((?P<inner>[EtmL|*\d]*)\)\*(?P<all>\d{1,7})", re.A)


def read_layout(text: str) -> Layout:
    """A layout: letters E (embedding), t (layer), m (prediction module) and L (loss), '|' between stages, "t*3" and "(tt|)*5" for
    repetition, commas for looks.  Raises Bad."""
    text = text.replace(",", "").replace("\\", "")
    return _lay(text, _letters(text, text))


def _letters(text: str, whole: str) -> str:
    """The letters that a layout, or a bracket of it, stands for.  whole: the layout."""
    cursor, letters = _Cursor(text), ""
    while cursor.letter:
        part = _PART.match(text, cursor.at)
        if not part:
            raise cursor.fault("E, t, m or L, a '|', one of them with a repetition such as t*3, or a bracket such as (tt|)*5")
        more, times = part["letter"] or _letters(part["inner"], whole), int(part["times"] or part["all"] or 1)
        if len(letters) + len(more) * times > LETTERS_MAX:
            raise Bad(f"expected at most {LETTERS_MAX} layers and stages, got more in '{whole}'")
        letters, cursor.at = letters + more * times, part.end()
    return letters


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
    odd = re.search(r"[^0-9\[\]()+*, ]", text)
    if odd:
        raise Bad(f"expected digits, brackets, ',', '+' and '*', got '{odd[0] if ' ' <= odd[0] <= '~' else '?'}' at character {odd.start() + 1} of '{text}'")
    if len(re.findall(r"[+*\[(]", text)) > SIGNS_MAX or text.count(",") > VALUES_MAX:
        raise Bad(f"expected at most {SIGNS_MAX} signs and brackets and {VALUES_MAX} numbers, got more in '{text}'")
    try:
        value = _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError) as fault:
        where = f" at character {fault.offset}" if isinstance(fault, SyntaxError) and fault.offset else ""
        raise Bad(f"expected a list of integers such as ([0]*3+[1]*11), got '{text}'; it goes wrong{where}") from None
    if isinstance(value, int):
        raise Bad(f"expected a list, got the number '{text}'")
    return value


def _value(node: ast.expr) -> Value:
    """What an expression of integers, lists of integers, '+' and '*' is."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
        left, right = _value(node.left), _value(node.right)
        is_sum = isinstance(node.op, ast.Add)
        if is_sum and isinstance(left, list) != isinstance(right, list):
            raise Bad("expected lists on both sides of '+'")
        if not is_sum and isinstance(left, list) and isinstance(right, list):
            raise Bad("expected a number on one side of '*'")
        sizes = [len(side) if isinstance(side, list) else side for side in (left, right)]
        size, most = (sum(sizes), math.prod(sizes))[not is_sum], VALUES_MAX if isinstance(left, list) or isinstance(right, list) else NUMBER_MAX
        if size > most:
            raise Bad(f"expected {'a list of at most' if most == VALUES_MAX else 'a number up to'} {most}")
        return left + right if is_sum else left * right  # type: ignore[operator]
    if isinstance(node, ast.List):
        values = [_value(entry) for entry in node.elts]
        if all(isinstance(value, int) for value in values):
            return values  # type: ignore[return-value]
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        if node.value > NUMBER_MAX:
            raise Bad(f"expected a number up to {NUMBER_MAX}")
        return node.value
    raise Bad(f"expected a list of integers such as ([0]*3+[1]*11) at character {node.col_offset + 1}")


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
