"""The data of an HTML report, read back from the page."""

import base64
import json
import re


def numbers(text, is_signed=False):
    """A column: base64 of numbers in pieces of seven bits."""
    found, number, shift = [], 0, 0
    for byte in base64.b64decode(text):
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append((number >> 1) ^ -(number & 1) if is_signed else number)
            number = shift = 0
    return found


def data(page):
    """The JSON of a page's text."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))


def items(of):
    """Each item of the timeline as (row, code, marks, start_ps, end_ps, pass or cause), by row and start: of a pass (microbatch, chunk,
    slack_ps, waited_ps), of idle time (kind, microbatch, pipeline rank) of what it waits for."""
    packed = of["items"]
    passes = zip(*(numbers(packed[name], signed) for name, signed in (("mb", True), ("chunk", True), ("slack_ps", True), ("waited_ps", False))))
    causes = zip(*(numbers(packed[name], True) for name in ("cause_kind", "cause_mb", "cause_pp")))
    spans = zip(numbers(packed["code"]), numbers(packed["gap_ps"], True), numbers(packed["length_ps"]))
    found = []
    for row, count in enumerate(numbers(packed["row_items"])):
        end = 0
        for _ in range(count):
            code, gap, length = next(spans)
            start, end = end + gap, end + gap + length
            is_pass = code % of["codes"] < of["idle_code"]
            found.append((row, code % of["codes"], code // of["codes"], start, end, next(passes) if is_pass else next(causes)))
    return found
