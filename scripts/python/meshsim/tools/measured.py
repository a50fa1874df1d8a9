"""Files of measured collectives: logs of nccl-tests, the two CSV tables of them, and YAML of hardware facts with nccl-tests points.

Their formats: workloads/validation/README.md. Files of measured steps hold no collective.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from ._call import INPUT, TEXT_MAX_B, Call, Fault, Place
from .importers import nccl_log
from .importers.nccl_log import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, US_IN_S, busbw_factor, lines_of
from .importers.source import SOURCE_MAX_B, read_bytes
from .importers.yaml_tree import Node, parse

QUEUED, ONE_THREAD, LONE_CALL = "queued", "one_thread", "lone_call"
"""how a benchmark timed its calls, in the words of `meshsim times`"""
KINDS = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)
COUNT_MAX, CELL_MAX_B, CELLS_MAX = 1 << 24, 128, 16
PLATEAU_B = 16.0 * 2**30
"""at which the bandwidth of large messages is compared where the source gives no size"""
# How sources timed their points, by words of the source and of the system; others by nccl-tests with a process for each GPU.
# Source: S. Bekman's book runs `all_reduce_perf -g 8` on its A100; its own script, of that commit, times one call between two events, after a barrier.
TIMINGS = (("stas00/ml-engineering 744d01e1", "A100", ONE_THREAD), ("stas00/ml-engineering 744d01e1", "", LONE_CALL))
_HEADS_OF_STEPS = ("# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data parallelism,"
                   "pipeline parallelism,iteration time (ms)", "id,workload,")
_NUMBER = re.compile(r"[ \t]*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[ \t]*", re.A)


@dataclass(frozen=True)
class Measured:
    """A measured collective."""

    system: str
    """in the source's words"""
    kind: str
    """of KINDS"""
    ranks: int
    nodes: int
    size_B: float
    """as nccl-tests counts it"""
    measured_s: float
    """out of place"""
    source: str = ""
    """where it was published; "": not said"""
    timing: str = QUEUED
    is_plateau: bool = False
    """the source gives the bandwidth of large messages, without a size"""


def read(call: Call, path: str) -> List[Measured]:
    """The collectives that a file holds, in its order; none of one with measured steps.  Ends the call, every fault told with its place, where the file
    cannot be read or is wrong."""
    is_csv = path.endswith(".csv") and len(path) > 4
    text = read_bytes(call.talk, path, SOURCE_MAX_B if is_csv else TEXT_MAX_B).decode("utf-8", "surrogateescape")
    before = call.talk.errors
    found = (_read_csv(call, path, text.removeprefix("\ufeff")) if is_csv else _read_log(call, path, text) if nccl_log.is_log(text.removeprefix("\ufeff"))
             else _read_facts(call, path, text))
    if call.talk.errors > before:
        raise Fault(INPUT)
    return found


def _read_log(call: Call, path: str, text: str) -> List[Measured]:
    points: List[nccl_log.Point] = []
    nccl_log.read_text(call.talk, path, text, points)
    return [Measured(p.system, p.kind or "", p.ranks, p.nodes, p.size_B, p.measured_s) for p in points]


# ---- tables ----

def number(text: str) -> Optional[float]:
    """A pure number as the program's files have it; None: it is none."""
    return float(text) if _NUMBER.fullmatch(text) else None


def _is_count(value: float, least: int) -> bool:
    return least <= value <= COUNT_MAX and value == int(value)


def _reduce_of(names: Sequence[str], numbers: Sequence[float]) -> "Measured | str":
    ranks, size_B, time_us = numbers
    if not (_is_count(ranks, 2) and ranks < 1e6 and size_B > 0 and time_us > 0):
        return "expected 2 ranks or more, a size and a time above 0"
    # its source names no launcher; below 3 MiB times stand at 11 to 12 us for each of 5 to 8 GPUs, whatever the size, as they do where one thread launches
    return Measured(names[0], ALL_REDUCE, int(ranks), 1, size_B, time_us * US_IN_S, timing=ONE_THREAD)


def _point_of(names: Sequence[str], numbers: Sequence[float]) -> "Measured | str":
    ranks, nodes, size_B, time_us = numbers
    if names[1] not in KINDS:
        return "expected all_reduce, all_gather, reduce_scatter or all_to_all as op"
    if not (_is_count(ranks, 2) and _is_count(nodes, 1) and nodes <= ranks and size_B > 0 and time_us > 0):
        return "expected 2 ranks or more on 1 node or more, a size and a time above 0"
    return Measured(names[0], names[1], int(ranks), int(nodes), size_B, time_us * US_IN_S)


# Head of a table, how many of its columns are names, how many numbers stand behind them, what a line is.
TABLES: Dict[str, Tuple[int, int, Callable[[Sequence[str], Sequence[float]], "Measured | str"]]] = {
    "gpu,ranks,bytes,time_us_out_of_place": (1, 3, _reduce_of), "system,op,ranks,nodes,bytes,time_us": (2, 4, _point_of)}


def _cells(line: str, names: int, numbers: int) -> Optional[Tuple[List[str], List[float]]]:
    """The cells of a line that are read; None: there are too few, or one is no number."""
    try:
        cells = [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True, strict=True))]
    except csv.Error:
        return None
    if not names + numbers <= len(cells) <= CELLS_MAX or any(len(cell.encode("utf-8", "surrogateescape")) >= CELL_MAX_B for cell in cells):
        return None
    values = [value for value in map(number, cells[names:names + numbers]) if value is not None]
    return (cells[:names], values) if len(values) == numbers else None


def _read_csv(call: Call, path: str, text: str) -> List[Measured]:
    first = []  # the first line that says something, and comments before it
    for line in filter(None, lines_of(text)):
        first.append(line)
        if not line.startswith("#"):
            break
    head = next((head for head in (*TABLES, *_HEADS_OF_STEPS) for line in first if line.startswith(head)), "")
    if head in _HEADS_OF_STEPS:
        return []
    if not head:
        steps, own = _HEADS_OF_STEPS
        reduces, points = TABLES
        call.refuse(f"a CSV file without a known head; expected '{steps}', '{reduces}', '{points}' or '{own}'", Place(path, 1))
    names, numbers, take = TABLES[head]
    found: List[Measured] = []
    is_head = True
    for index, line in enumerate(lines_of(text), 1):
        if not line.strip() or line.strip().startswith("#"):
            continue
        if not is_head:
            cells = _cells(line, names, numbers)
            point = take(*cells) if cells else "expected the numbers of the table's head"
            if isinstance(point, str):
                call.talk.error(point, Place(path, index, source=line))
            else:
                found.append(point)
        is_head = False
    return found


# ---- facts of hardware ----

_FACTS = ("nccl_tests", "gpus", "nccl_tuning", "busbw_definition", "a100_all_reduce_table", "deepep", "gemm", "calculon_a100", "simumax_b200")
_TABLE = ("system", "op", "ranks", "nodes", "points", "source", "trust", "note")
_POINT = {"bytes": 1e15, "time_us": 1e12, "busbw_gb_s": 1e9}


def _check_keys(call: Call, node: Node, path: str, known: Sequence[str], required: Sequence[str]) -> bool:
    """Whether a mapping has the keys that it needs and no other; faults are told."""
    before = call.talk.errors
    mapping = node.value if isinstance(node.value, dict) else {}
    if not isinstance(node.value, dict):
        call.talk.error(f"{path}: expected a mapping of keys to values, got {node.shown()}", node.place)
        return False
    for key in mapping:
        if key not in known:
            call.talk.error(f"{path and path + '.'}{key}: unknown key; the keys here are {', '.join(known)}", mapping[key].key_place)
    for key in required:
        if key not in mapping:
            call.talk.error(f"{path and path + '.'}{key}: required key is missing", node.place)
    return call.talk.errors == before


def _list(call: Call, node: Optional[Node], path: str, what: str) -> List[Node]:
    if node is None or not isinstance(node.value, list):
        call.refuse(f"{path}: expected a list of {what}", node.place if node else None)
    return node.value


def _count(call: Call, node: Optional[Node], path: str, least: int) -> int:
    value = number(node.text) if node and re.fullmatch(r"[+-]?\d+", node.text, re.A) else None
    if value is None or not _is_count(value, least):
        call.talk.error(f"{path}: expected a whole number from {least} to {COUNT_MAX}, got {node.shown() if node else 'nothing'}", node.place if node else None)
        return least
    return int(value)


def _fact_point(call: Call, node: Node, like: Measured) -> Optional[Measured]:
    """A point of a table, which says the rest."""
    path = "nccl_tests.points"
    if not _check_keys(call, node, path, list(_POINT), []):
        return None
    values = dict.fromkeys(_POINT, 0.0)
    for key, most in _POINT.items():
        child = node.get(key)
        if child is not None and not child.is_null:
            value = number(child.text)
            if value is None or not 0 <= value <= most:
                call.talk.error(f"{path}.{key}: expected a number from 0 to {most:g}, got {child.shown()}", child.place)
                return None
            values[key] = value
    size_B, time_s, busbw_Bps = values["bytes"] or PLATEAU_B, values["time_us"] * US_IN_S, values["busbw_gb_s"] * 1e9
    if time_s <= 0 and busbw_Bps <= 0:
        call.talk.error(f"{path}: expected time_us or busbw_gb_s, got neither", node.place)
        return None
    # busbw = size / time * factor, so a bandwidth stands for a time
    measured_s = time_s if time_s > 0 else size_B * busbw_factor(like.kind, like.ranks) / busbw_Bps
    return Measured(like.system, like.kind, like.ranks, like.nodes, size_B, measured_s, like.source, like.timing, values["bytes"] <= 0)


def _read_fact(call: Call, node: Node) -> List[Measured]:
    if not _check_keys(call, node, "nccl_tests", _TABLE, _TABLE[:5]):
        return []
    words = {key: child.text for key in ("system", "op", "source") if (child := node.get(key)) is not None}
    op, system, source = words["op"], words["system"], words.get("source", "")
    if op not in KINDS:
        call.talk.error(f"nccl_tests.op: unknown collective '{op}'; expected all_reduce, all_gather, reduce_scatter or all_to_all", node.get("op").place)
        return []
    timing = next((timing for of, on, timing in TIMINGS if of in source and on in system), QUEUED)
    like = Measured(system, op, _count(call, node.get("ranks"), "nccl_tests.ranks", 2), _count(call, node.get("nodes"), "nccl_tests.nodes", 1), 0, 0, source, timing)
    points = [_fact_point(call, child, like) for child in _list(call, node.get("points"), "nccl_tests.points", "points")]
    return [point for point in points if point is not None]


def _read_facts(call: Call, path: str, text: str) -> List[Measured]:
    root = parse(call.talk, path, text)
    if isinstance(root.value, list) or not _check_keys(call, root, "", _FACTS, ["nccl_tests"]):
        return []  # cases, or told
    return [point for table in _list(call, root.get("nccl_tests"), "nccl_tests", "measured collectives") for point in _read_fact(call, table)]
