"""Quantities with the unit that fits, as the program shows them (sim/base/units.c)."""

from __future__ import annotations

import math
from typing import Sequence, Tuple

_Scales = Sequence[Tuple[str, float, float]]
"""unit, its size in SI, and from which size on it is used"""
_TIMES: _Scales = (("ps", 1e-12, 0.0), ("ns", 1e-9, 1e-9), ("us", 1e-6, 1e-6), ("ms", 1e-3, 1e-3), ("s", 1.0, 1.0), ("min", 60.0, 1e3), ("h", 3600.0, 3600.0),
                   ("d", 86400.0, 259200.0))
_SIZES: _Scales = (("B", 1.0, 0.0), *((unit, 2.0**power, 2.0**power) for unit, power in (("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("PiB", 50))))


def duration(time_s: float) -> str:
    """A time, three to four digits.  time_s: [s]"""
    return _scaled(time_s, _TIMES, "s")


def size(size_B: float) -> str:
    """A number of bytes, likewise.  size_B: [B]"""
    return _scaled(size_B, _SIZES, "B")


def _scaled(value: float, scales: _Scales, si_unit: str) -> str:
    magnitude = abs(value)
    if magnitude == 0 or not math.isfinite(value):
        return f"{value:g} {si_unit}" if magnitude else f"0 {si_unit}"
    at = max(i for i, scale in enumerate(scales) if magnitude >= scale[2])
    text = digits(magnitude / scales[at][1])
    if at + 1 < len(scales) and float(text) * scales[at][1] >= scales[at + 1][2] * (1 - 1e-9):  # 999.97 us is 1 ms
        at += 1
        text = digits(magnitude / scales[at][1])
    return f"{'-' if value < 0 else ''}{text} {scales[at][0]}"


def digits(number: float) -> str:
    """A number with three to four digits, without zeros behind the point."""
    magnitude = abs(number)
    if magnitude < 0.9995 or magnitude >= 1e6:
        return f"{number:.3g}"
    decimals = 2 if magnitude < 9.995 else 1 if magnitude < 999.95 else 0
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text
