"""`meshsim import nccl-tests LOG...`: logs of nccl-tests as one table of points, which `calibrate` and `validate` read as they read the logs."""

from __future__ import annotations

import itertools
from typing import Any, Dict, List, Optional

from .._call import Call, Fault, check_target, print_json, print_page, write_file
from .._describe import Kind
from . import nccl_log
from .nccl_log import Point, US_IN_S, busbw_factor
from .source import Key, finish, plain, read_bytes, row_of, tell

KIND = Kind(
    "nccl-tests LOG...", "logs of nccl-tests give a table of points for 'calibrate'",
    "nccl-tests reads logs as printed, several runs in one and with the labels of mpirun or srun, too; which collective it was says the log since version 2.13.7 of "
    "nccl-tests, else the file's name.", writes=".csv")
read = nccl_log.read


def _rounded(value: float) -> float:
    """A figure with the digits that a log has of it, without those of the way through seconds."""
    return float(f"{value:.9g}")


def _busbw_gb_s(point: Point, time_s: float) -> float:
    return _rounded(point.size_B / time_s * busbw_factor(point.kind, point.ranks) / 1e9)


def table(points: List[Point]) -> List[Dict[str, Any]]:
    """Rows of the table, times in us and bus bandwidths in GB/s; the first six columns are those by which the reader of tables knows it."""
    rows: List[Dict[str, Any]] = []
    for point in points:
        in_place = point.in_place_s
        rows.append({"system": point.system, "op": point.kind, "ranks": point.ranks, "nodes": point.nodes, "bytes": int(point.size_B),
                     "time_us": plain(_rounded(point.measured_s / US_IN_S)), "busbw_gb_s": plain(_busbw_gb_s(point, point.measured_s)),
                     "in_place_time_us": None if in_place is None else plain(_rounded(in_place / US_IN_S)),
                     "in_place_busbw_gb_s": None if in_place is None else plain(_busbw_gb_s(point, in_place))})
    return rows


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def csv_of(rows: List[Dict[str, Any]]) -> str:
    """Rows as CSV, with a head."""
    lines = [list(rows[0]), *(row.values() for row in rows)] if rows else []
    return "".join(",".join(map(_cell, line)) + "\n" for line in lines) or "\n"


def summary(points: List[Point]) -> str:
    """A line for each benchmark, with its points and the largest bus bandwidth."""
    text = ""
    for (kind, ranks, nodes, system), group in itertools.groupby(points, key=lambda point: (point.kind, point.ranks, point.nodes, point.system)):
        speeds = [_busbw_gb_s(point, point.measured_s) for point in group]
        text += (f"{'' if text else 'points':<10} {kind}, {ranks} ranks on {nodes} node{'' if nodes == 1 else 's'} of '{system}': {len(speeds)} points, "
                 f"at most {max(speeds):.4g} GB/s bus bandwidth\n")
    return text


def run(call: Call) -> None:
    """The command."""
    path = call.value("output", None if call.has("json") else "-")
    if path:
        check_target(call, path)
    points: List[Point] = []
    keys: List[Key] = []
    unreadable: Optional[Fault] = None
    for log in call.arguments:  # also those behind a faulty one
        try:
            text = read_bytes(call.talk, log).decode("utf-8", "surrogateescape")
        except Fault as fault:
            unreadable = unreadable or fault
        else:
            keys += nccl_log.read_text(call.talk, log, text, points)
    if unreadable:
        raise unreadable
    finish(call.talk)
    tell(call, keys)
    rows = table(points)
    if path:
        write_file(call, path, csv_of(rows).encode("utf-8", "surrogateescape"))
    if call.has("json"):
        print_json(call, {"keys": [row_of(key) for key in keys], "rows": rows})
    elif path != "-":
        print_page(call, summary(points))
