"""Files of measured collectives: logs of nccl-tests, the two CSV tables of them, and YAML of hardware facts with nccl-tests points.

Their formats: workloads/validation/README.md. Files of measured steps hold no collective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from ._call import INPUT, Call, Fault, Place, nearest
from .cases import text_of
from .cases._csv import FIGURE_MAX, OWN_HEAD, STEP_HEAD, cells_of, is_table
from .importers import nccl_log
from .importers.nccl_log import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, US_IN_S, busbw_factor, lines_of
from .importers.source import number
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
_HEADS_OF_STEPS = (STEP_HEAD, OWN_HEAD)


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
    return read_text(call, path, text_of(call, path))


def read_text(call: Call, path: str, text: str) -> List[Measured]:
    """The same of a text.  path: its name, which tells tables.  text: bytes that are no UTF-8 stand in it as surrogates."""
    before, body = call.talk.errors, text.removeprefix("\ufeff")
    found = _read_csv(call, path, body) if is_table(path) else _read_log(call, path, text) if nccl_log.is_log(body) else _read_facts(call, path, text)
    if call.talk.errors > before:
        raise Fault(INPUT)
    return found


def read_all(call: Call, paths: Sequence[str]) -> List[Measured]:
    """The collectives of several files.  Ends the call behind the last one where any is wrong."""
    found: List[Measured] = []
    faults: List[Fault] = []
    for path in paths:
        try:
            found += read(call, path)
        except Fault as fault:
            faults.append(fault)
    if faults:
        raise faults[0]
    return found


def _read_log(call: Call, path: str, text: str) -> List[Measured]:
    points: List[nccl_log.Point] = []
    nccl_log.read_text(call.talk, path, text, points)
    return [Measured(p.system, p.kind or "", p.ranks, p.nodes, p.size_B, p.measured_s) for p in points]


# ---- tables ----

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
    cells = cells_of(line)
    if cells is None or not names + numbers <= len(cells) <= CELLS_MAX or any(len(cell.encode("utf-8", "surrogateescape")) >= CELL_MAX_B for cell in cells):
        return None
    values = [value for value in map(number, cells[names:names + numbers]) if value is not None and value < FIGURE_MAX]
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
    rows = [(index, line) for index, line in enumerate(lines_of(text), 1) if line.strip() and not line.strip().startswith("#")]
    for index, line in rows[1:]:
        cells = _cells(line, names, numbers)
        point = take(*cells) if cells else "expected the numbers of the table's head"
        if isinstance(point, str):
            call.talk.error(point, Place(path, index, source=line))
        else:
            found.append(point)
    return found


# ---- facts of hardware ----

_FACTS = ("nccl_tests", "gpus", "nccl_tuning", "busbw_definition", "a100_all_reduce_table", "deepep", "gemm", "calculon_a100", "simumax_b200")
_OTHERS = {"a sweep; 'meshsim sweep {}' simulates its points": "workload axes set picture",
           "a space; 'meshsim search WORKLOAD.yaml --space {}' searches it": "vary gpus platforms usual",
           "a workload; 'meshsim check {}' looks at it": "platform mesh model costs batch schedule precision",
           "a platform; 'meshsim platform {}' shows it": "nodes node gpu tiers fabric pxn base library"}
"""what else a mapping may be, by two of these keys"""
_TABLE = ("system", "op", "ranks", "nodes", "points", "source", "trust", "note")
_POINT = {"bytes": 1e15, "time_us": 1e12, "busbw_gb_s": 1e9}


def _check_keys(call: Call, node: Node, path: str, known: Sequence[str], required: Sequence[str]) -> bool:
    """Whether a mapping has the keys that it needs and no other; faults are told."""
    before = call.talk.errors
    dot = path and path + "."
    if not isinstance(node.value, dict):
        call.talk.error(f"{path}: expected a mapping of keys to values, got {node.shown()}", node.place)
        return False
    slips = {key: nearest(key, known) for key in node.value if key not in known}
    for key, near in slips.items():
        call.talk.error(f"{dot}{key}: unknown key; " + (f"did you mean '{near}'?" if near else f"the keys here are {', '.join(known)}"), node.value[key].key_place)
    for key in required:
        if key not in node.value and key not in slips.values():
            call.talk.error(f"{dot}{key}: this key is required", node.place)
    return call.talk.errors == before


def _list(call: Call, node: Optional[Node], path: str, what: str) -> List[Node]:
    if node is None or not isinstance(node.value, list):
        call.refuse(f"{path}: expected a list of {what}", node.place if node else None)
    return node.value


def _number_of(call: Call, node: Optional[Node], path: str, least: float, most: float, is_count: bool = False) -> float:
    """The number of a key within its range, 0 without one; a fault is told.  is_count: it has to be whole."""
    value = number(node.text) if node else None
    if node is not None and (value is None or not least <= value <= most):
        call.talk.error(f"{path}: expected {f'{least:.0f} to {most:.0f}' if value is not None else 'a number'}, got {node.shown()}", node.place)
    elif node is not None and is_count and value != int(value or 0):
        call.talk.error(f"{path}: expected a whole number, got {node.shown()}", node.place)
    return value or 0


def _fact_point(call: Call, node: Node, like: Measured) -> Optional[Measured]:
    """A point of a table, which says the rest."""
    path, before = "nccl_tests.points", call.talk.errors
    if not _check_keys(call, node, path, list(_POINT), []):
        return None
    given = {key: child for key in _POINT if (child := node.get(key)) is not None and not child.is_null}
    size_B, time_us, busbw_gb_s = (_number_of(call, given.get(key), f"{path}.{key}", 0, most) for key, most in _POINT.items())
    if call.talk.errors == before and time_us <= 0 and busbw_gb_s <= 0:
        call.talk.error(f"{path}: expected time_us or busbw_gb_s, got neither", node.place)
    if call.talk.errors > before:
        return None
    is_plateau, size_B = size_B <= 0, size_B or PLATEAU_B
    # busbw = size / time * factor, so a bandwidth stands for a time
    measured_s = time_us * US_IN_S if time_us > 0 else size_B * busbw_factor(like.kind, like.ranks) / (busbw_gb_s * 1e9)
    return replace(like, size_B=size_B, measured_s=measured_s, is_plateau=is_plateau)


def _read_fact(call: Call, node: Node) -> List[Measured]:
    """A table of a source."""
    before = call.talk.errors
    if not _check_keys(call, node, "nccl_tests", _TABLE, _TABLE[:5]) or not isinstance(node.value, dict):
        return []
    parts = node.value
    for key in ("system", "op", "source"):
        if key in parts and (not isinstance(parts[key].value, str) or parts[key].is_null):
            call.talk.error(f"nccl_tests.{key}: expected a text, got {parts[key].shown()}", parts[key].place)
    ranks, nodes = (_number_of(call, parts[key], f"nccl_tests.{key}", least, COUNT_MAX, is_count=True) for key, least in (("ranks", 2), ("nodes", 1)))
    op, system, source = parts["op"].text, parts["system"].text, parts["source"].text if "source" in parts else ""
    if op not in KINDS and call.talk.errors == before:
        call.talk.error(f"nccl_tests.op: unknown collective '{op}'; expected all_reduce, all_gather, reduce_scatter or all_to_all", parts["op"].place)
    if call.talk.errors > before:
        return []
    timing = next((timing for of, on, timing in TIMINGS if of in source and on in system), QUEUED)
    like = Measured(system, op, int(ranks), int(nodes), 0, 0, source, timing)
    points = [_fact_point(call, child, like) for child in _list(call, parts["points"], "nccl_tests.points", "points")]
    return [point for point in points if point is not None]


def _read_facts(call: Call, path: str, text: str) -> List[Measured]:
    root = parse(call.talk, path, text)
    if isinstance(root.value, list):
        return []  # cases
    if isinstance(root.value, str):
        call.refuse(f"expected keys and values, got {root.shown()}", root.place)
    if not any(key in _FACTS or nearest(key, _FACTS[:1]) for key in root.value):
        other = next((what for what, keys in _OTHERS.items() if sum(key in root.value for key in keys.split()) > 1), "")
        call.refuse("expected measured runs, " + (f"got {other.format(path)}" if other else f"which have a key {_FACTS[0]}"), Place(path, 0))
    if not _check_keys(call, root, "", _FACTS, _FACTS[:1]):
        return []
    return [point for table in _list(call, root.get("nccl_tests"), "nccl_tests", "measured collectives") for point in _read_fact(call, table)]
