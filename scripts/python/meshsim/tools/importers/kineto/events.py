"""Events of a trace of PyTorch's profiler, one after the other. Source of all names: what Kineto writes, libkineto/src/output_json.cpp; kineto.md says more."""

from __future__ import annotations

import math
import re
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from meshsim.tools._call import Call, Place
from meshsim.tools.importers.kineto.json_stream import DEPTH_MAX, NO_NUMBER, JsonStream, Number
from meshsim.tools.importers.kineto.names import Inputs, Sizes

NONE = -1
"""In the place of a number that an event does not have."""

_INT64 = 2**63 - 1
_TIME_MAX_us = _INT64 // 2000  # 146 years
_WORD_MAX = 47  # letters of a short text that are kept
_INPUTS_MAX = 16  # inputs of an operator that are looked at
_RANK_MAX = 4  # sizes of an input
_DECIMAL = re.compile(r"(-?)(\d+)(?:\.(\d*))?")
_WHOLE = re.compile(r"\s*[+-]?\d{1,40}")

KERNEL, COPIED, RUNTIME, OPERATOR, ANNOTATION, GPU_ANNOTATION = "kernel", "copy", "runtime", "operator", "annotation", "gpu annotation"

# `cat` in small letters; the later names are those before PyTorch 1.12
_CATEGORIES = {"kernel": KERNEL, "gpu_memcpy": COPIED, "gpu_memset": COPIED, "cuda_runtime": RUNTIME, "cuda_driver": RUNTIME, "cpu_op": OPERATOR,
               "user_annotation": ANNOTATION, "gpu_user_annotation": GPU_ANNOTATION, "memcpy": COPIED, "memset": COPIED, "runtime": RUNTIME, "operator": OPERATOR}

_MISSING = object()


class Message(NamedTuple):
    """What a collective sends: arguments of record_param_comms, which newer versions repeat in its kernel."""

    collective: str
    type: str
    group: str
    described: str
    in_elements: int
    out_elements: int
    group_size: int


class Event(NamedTuple):
    """An event with a duration, of a category that matters."""

    category: str
    name: str
    start_ns: int
    duration_ns: int
    thread: int
    args: Dict[str, Any]
    """keys in small letters"""

    def number(self, key: str) -> int:
        """A number of the arguments; NONE: there is none."""
        return whole(self.args.get(key))

    def message(self) -> Optional[Message]:
        """What it sends; None: it says nothing of that."""
        args = self.args
        if not word(args.get("collective name", "")):
            return None
        words = (word(args.get(key, "")) for key in ("collective name", "dtype", "process group name", "process group description"))
        return Message(*words, *(whole(args.get(key)) for key in ("in msg nelems", "out msg nelems", "group size")))

    def inputs(self) -> Inputs:
        """Inputs of an operator."""
        def entries(key: str) -> List[Any]:
            value = self.args.get(key)
            return value[:_INPUTS_MAX] if isinstance(value, list) else []
        return Inputs([_sizes(entry) for entry in entries("input dims")], [word(entry) for entry in entries("input type")],
                      [word(entry)[:7] for entry in entries("concrete inputs")])


class Head:
    """What stands beside the events, and what was wrong with single ones, which are left out."""

    def __init__(self) -> None:
        self.rank = self.world_size = NONE
        self.device: Optional[str] = None
        self.has_events = self.is_meshsim = False
        self.negative = self.without_times = 0
        self.negative_line = self.without_line = 0  # of the first of them


def text_of(value: Any) -> str:
    """A value that holds no others as the text has it; "": another one."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return "" if isinstance(value, (list, dict)) else str(value)


def word(value: Any) -> str:
    """A short text."""
    return text_of(value)[:_WORD_MAX]


def whole(value: Any) -> int:
    """A whole number of 64 bits, which some versions write in quotes; NONE: it is none."""
    if isinstance(value, str):
        value = int(value) if _WHOLE.fullmatch(value) else NONE
    return max(-_INT64 - 1, min(value, _INT64)) if type(value) is int else NONE  # pylint: disable=unidiomatic-typecheck


def _sizes(entry: Any) -> Sizes:
    sizes = [whole(size) for size in entry] if isinstance(entry, list) and len(entry) <= _RANK_MAX else None
    return None if sizes is None or any(isinstance(size, (list, dict)) for size in entry) or NONE in sizes else sizes


def nanoseconds(microseconds: Any) -> Optional[int]:
    """A time, exactly: with the microseconds since 1970 its digits are more than a float holds.  None: no number, or more than 146 years."""
    if type(microseconds) is int:  # pylint: disable=unidiomatic-typecheck
        return microseconds * 1000 if abs(microseconds) <= _TIME_MAX_us else None
    match = _DECIMAL.fullmatch(microseconds) if isinstance(microseconds, Number) else None
    if match:
        value = int(match[2][:30]) * 1000 + int((match[3] + "00")[:3])
        return (-value if match[1] else value) if value // 1000 <= _TIME_MAX_us else None
    if not isinstance(microseconds, Number) or not abs(float(microseconds)) < _TIME_MAX_us:
        return None
    value = float(microseconds) * 1000  # with an exponent: no profiler writes it, but other programs do
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def read_events(call: Call, path: str, head: Head) -> Iterator[Event]:
    """Events of a file that matter, whose memory does not grow with the file; what stands beside them goes into `head`.
    Ends the call where the file is no trace of PyTorch's profiler, or cannot be read."""
    stream = JsonStream(call, path)
    first = stream.peek()
    if first == "":
        stream.refuse("expected JSON, an object with traceEvents, got an empty file")
    if first != "{":
        if first != "[":
            stream.value(DEPTH_MAX)
        stream.refuse("expected an object with traceEvents, as Kineto writes it" + (", got a list" if first == "[" else ""))
    for key in stream.keys():
        section = key.lower()
        if section == "traceevents":
            yield from _read_list(stream, head)
        else:
            _read_section(section, stream.value(DEPTH_MAX - 1), head)
    if stream.peek():
        stream.syntax("trailing garbage")
    _check_head(call, path, head)


def _read_section(section: str, value: Any, head: Head) -> None:
    if section == "distributedinfo" and isinstance(value, dict):
        head.rank, head.world_size = whole(value.get("rank", head.rank)), whole(value.get("world_size", head.world_size))
    elif section in ("deviceproperties", "computeproperties") and isinstance(value, list):  # the latter before PyTorch 1.10
        names = (word(entry["name"]) for entry in value if isinstance(entry, dict) and "name" in entry)
        head.device = head.device or next(filter(None, names), None)
    elif section == "otherdata" and isinstance(value, dict) and "program" in value:
        head.is_meshsim = text_of(value["program"]).lower() == "meshsim"


def _check_head(call: Call, path: str, head: Head) -> None:
    place = Place(path, 0)
    if head.is_meshsim:
        call.refuse("expected a trace of PyTorch's profiler, got one that meshsim wrote; 'meshsim compare' takes two of those", place)
    if not head.has_events:
        call.refuse("no traceEvents, which a trace of PyTorch's profiler has", place)
    if head.negative > 0:
        call.talk.note(f"{head.negative} events, the first of them here, last less than no time, and are left out", Place(path, head.negative_line))
    if head.without_times > 0:
        call.talk.note(f"{head.without_times} events, the first of them here, have no 'ts' or no 'dur', and are left out", Place(path, head.without_line))


def _read_list(stream: JsonStream, head: Head) -> Iterator[Event]:
    first = stream.peek()
    if first != "[":
        if first != "{":
            stream.value(DEPTH_MAX)
        stream.refuse(f"traceEvents: expected a list of events, got {'an object' if first == '{' else 'a value'}")
    head.has_events = True
    for _ in stream.items("]"):
        first = stream.peek()
        if first == "[":
            stream.refuse("expected an event, which is an object, got a list")
        event = stream.value(DEPTH_MAX - 2)
        if first != "{":
            stream.refuse("expected an event, which is an object, got a value")
        found = _event({key.lower(): value for key, value in event.items()}, stream, head)
        if found is not None:
            yield found


def _time(event: Dict[str, Any], key: str, stream: JsonStream) -> Optional[int]:
    """A time of an event [ns]; None: it has none."""
    value = event.get(key, _MISSING)
    if value is _MISSING or value == NO_NUMBER:
        return None
    time_ns = nanoseconds(value)
    if time_ns is None:
        got = ("an object" if isinstance(value, dict) else "a list" if isinstance(value, list)
               else ("the text " if isinstance(value, str) and not isinstance(value, Number) else "") + f"'{text_of(value)[:40]}'")
        place = max(stream.text.rfind(f'"{spelt}"', 0, stream.at) for spelt in (key, key.upper()))
        stream.refuse(f"'{key}' of an event: expected a number of microseconds, got {got}", max(place, 0))
    return time_ns


def _event(event: Dict[str, Any], stream: JsonStream, head: Head) -> Optional[Event]:
    start_ns, duration_ns = _time(event, "ts", stream), _time(event, "dur", stream)
    category = _CATEGORIES.get(text_of(event.get("cat")).lower())
    if category is None or text_of(event.get("ph")).lower() != "x":
        return None
    if start_ns is None or duration_ns is None:
        head.without_line = head.without_line or stream.line(stream.at)
        head.without_times += 1
        return None
    if duration_ns < 0:
        head.negative_line = head.negative_line or stream.line(stream.at)
        head.negative += 1
        return None
    args = event.get("args")
    return Event(category, text_of(event.get("name", "")), start_ns, duration_ns, whole(event.get("tid")),
                 {key.lower(): value for key, value in args.items()} if isinstance(args, dict) else {})
