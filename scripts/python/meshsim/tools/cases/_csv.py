"""Measured runs in CSV: a user's own, each a workload with overrides, and vTrain's table of steps on one node."""

from __future__ import annotations

import csv
import os
import re
from decimal import Decimal
from typing import Any, Dict, List, Optional

from .._call import Place, Talk
from ..importers.source import number
from ._case import APART, Case, Measured

STEP_HEAD = "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)"
OWN_HEAD = "id,workload,"
OWN_COLUMNS = ("id", "workload", "group", "platform", "step_time", "peak_memory", "last_rank_memory")
COLUMNS_MAX, COUNT_MAX, FIGURE_MAX = 64, 2**24, 1e300
SECONDS = {"s": "1", "ms": "1e-3", "us": "1e-6", "ns": "1e-9", "min": "60", "h": "3600", "d": "86400"}
BYTES = {"B": "1", "kB": "1e3", "MB": "1e6", "GB": "1e9", "TB": "1e12", "PB": "1e15", **{f"{prefix}iB": str(2**(10 * at)) for at, prefix in enumerate("KMGTP", 1)}}


class _Wrong(Exception):
    """What is wrong with a line."""


def is_table(path: str) -> bool:
    """Whether a file is one of tables, by its name."""
    return path.endswith(".csv") and path != ".csv"


def read_csv(talk: Talk, path: str, text: str, cases: List[Case]) -> bool:
    """Add the cases of a table.  Returns whether it is one of cases; False: it is another one, and nothing was read.  Faults are told."""
    lines = [(at, line.rstrip("\r")) for at, line in enumerate(text.split("\n"), 1)]
    said = [(at, line) for at, line in lines if line.strip() and not line.lstrip().startswith("#")]
    is_own = bool(said) and said[0][1].startswith(OWN_HEAD)
    is_steps = any(line.startswith(STEP_HEAD) for _, line in lines[:said[0][0] if said else None])
    heads: List[str] = []
    for at, line in said if is_own or is_steps else ():
        place = Place(path, at, source=line)
        try:
            cells = cells_of(line)
            if cells is None:
                raise _Wrong(f"expected as many cells as the head has, got '{line}'")
            if is_own and not heads:
                heads = _checked(cells)
            else:
                cases.append(_run(heads, cells, place, cases) if is_own else _step(cells, place))
        except _Wrong as wrong:
            talk.error(str(wrong), place)
            if is_own and not heads:
                break
    return is_own or is_steps


def _demand(is_so: bool, message: str) -> None:
    if not is_so:
        raise _Wrong(message)


def cells_of(line: str) -> Optional[List[str]]:
    """The cells of a line, without blanks around them or around their quotes; None: a quote is not closed."""
    try:
        return [cell.strip() for cell in next(csv.reader([re.sub(r'"[ \t]+(?=,|$)', '"', line.strip())], skipinitialspace=True, strict=True))]
    except csv.Error:
        return None


def _step(cells: List[str], place: Place) -> Case:
    """A run on one node.  Source of what the table's comment says of all of them: VIA-Research/vTrain, ground truth of single nodes."""
    numbers: List[Any] = [number(cell) for cell in cells[:11]]
    _demand(len(numbers) == 11 and None not in numbers, "expected the numbers of the table's head")
    _demand(all(0 < value <= COUNT_MAX for value in numbers) and all(value == int(value) for value in numbers[:10]), "expected counts above 0, and a time above 0")
    gpus, batch, micro, hidden, heads, layers, sequence, tp, dp, pp = map(int, numbers[:10])
    fields = {"group": "single_node", "num_gpus": gpus, "system": {"gpu": "A100-SXM4-80GB"}, "schedule_kind": "1f1b", "recompute_kind": "full",
              "precision": "fp16", "micro_batch": micro, "global_batch": batch, "parallel": {"tp": tp, "pp": pp, "dp": dp, "vpp": 1, "sp": False, "zero": 0},
              "model": {"type": "gpt", "layers": layers, "hidden": hidden, "heads": heads, "ffn": 4 * hidden, "ffn_mats": 2, "vocab": 50257, "seq_len": sequence}}
    return Case(f"single_node_{place.line}", "single_node", place, Measured(step_s=numbers[10] * 1e-3), APART, source="vTrain, single-node measurements", fields=fields)


def _checked(heads: List[str]) -> List[str]:
    """The names of an own table's columns."""
    for at, name in enumerate(heads):
        _demand(name != "" and at < COLUMNS_MAX, f"expected a column's name, and 64 columns at most, got '{name}'")
        _demand(name not in OWN_COLUMNS or name not in heads[:at], f"a column stands twice: '{name}'")
    _demand(bool(set(heads).intersection(OWN_COLUMNS[4:])), "expected a column step_time, peak_memory or 'last_rank_memory'")
    return heads


def _run(heads: List[str], cells: List[str], place: Place, cases: List[Case]) -> Case:
    """A line of an own table."""
    _demand(len(cells) <= len(heads), f"expected as many cells as the head has, got '{cells[-1]}'")
    said: Dict[str, str] = {**dict.fromkeys(OWN_COLUMNS, ""), **dict(zip(heads, cells))}
    time_s, peak_B, last_B = (_figure(said[name], units) for name, units in zip(OWN_COLUMNS[4:], (SECONDS, BYTES, BYTES)))
    _demand(len(cells) == len(heads) and said["id"] != "", f"expected a cell for each column, got '{said['id']}'")
    _demand(all(said["id"] != case.id for case in cases), f"this id is there already: '{said['id']}'")
    return Case(said["id"], said["group"] or "own", place, Measured(step_s=time_s, peak_B=last_B or peak_B, is_last_rank=last_B is not None),
                path=os.path.join(os.path.dirname(place.file), said["workload"]), platform=said["platform"] or None,
                sets=[f"{name}={cell}" for name, cell in said.items() if name not in OWN_COLUMNS and cell])


def _figure(text: str, units: Dict[str, str]) -> Optional[float]:
    """A quantity in SI units, rounded once; None: the cell is empty."""
    found = re.fullmatch(r"([0-9.]+(?:[eE][+-]?\d{1,3})?) *([A-Za-z]+)", text, re.A)
    value = float(Decimal(found[1]) * Decimal(units[found[2]])) if found and found[2] in units and number(found[1]) else 0
    _demand(not text or 0 < value < FIGURE_MAX, f"expected a figure above 0 with its unit, got '{text}'")
    return value or None
