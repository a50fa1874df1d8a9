"""`meshsim import nccl-tests LOG...`: logs of nccl-tests as one table of points, which `calibrate` and `validate` read as they read the logs."""

from __future__ import annotations

import csv
import io
import itertools
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .._call import Call, Fault, plain
from .._describe import Kind
from . import nccl_log
from .nccl_log import Point, US_IN_S, busbw_factor
from .source import Key, deliver, finish, read_bytes, row_of, target

KIND = Kind(
    "nccl-tests LOG...", "logs of nccl-tests give a table of points for 'calibrate'",
    "nccl-tests reads logs as printed, several runs in one and with the labels of mpirun or srun, too; which collective it was says the log since version 2.13.7 of "
    "nccl-tests, else the file's name.", writes=".csv")


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


def csv_of(rows: List[Dict[str, Any]]) -> str:
    """Rows as CSV, with a head."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([list(rows[0]), *(row.values() for row in rows)] if rows else [])
    return text.getvalue() or "\n"


def summary(points: List[Point]) -> str:
    """A line for each benchmark, with its points and the largest bus bandwidth."""
    text = ""
    for (kind, ranks, nodes, system), group in itertools.groupby(points, key=lambda point: (point.kind, point.ranks, point.nodes, point.system)):
        speeds = [_busbw_gb_s(point, point.measured_s) for point in group]
        text += (f"{'' if text else 'points':<10} {kind}, {ranks} ranks on {nodes} node{'' if nodes == 1 else 's'} of '{system}': {len(speeds)} points, "
                 f"at most {max(speeds):.4g} GB/s bus bandwidth\n")
    return text


def read_logs(call: Call, paths: Sequence[str]) -> Tuple[List[Point], List[Key]]:
    """The points of logs, and what became of their lines.  Raises Fault after every fault of every log is told."""
    points: List[Point] = []
    keys: List[Key] = []
    unreadable: Optional[Fault] = None
    for path in paths:
        try:
            keys += nccl_log.read_text(call.talk, path, read_bytes(call.talk, path).decode("utf-8", "surrogateescape"), points)
        except Fault as fault:
            unreadable = unreadable or fault
    if unreadable:
        raise unreadable
    finish(call.talk)
    return points, keys


def run(call: Call) -> None:
    """The command."""
    target(call)
    points, keys = read_logs(call, call.arguments)
    rows = table(points)
    deliver(call, keys, csv_of(rows), {"keys": list(map(row_of, keys)), "rows": rows}, summary(points))
