"""Measured runs in CSV: a user's own, each a workload with overrides, and vTrain's table of steps on one node."""

from __future__ import annotations

import csv
import os
import re
from decimal import Decimal
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .._call import Place, Talk
from ..importers.source import number
from ._case import APART, Case, Measured

STEP_HEAD = ("# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data parallelism,"
             "pipeline parallelism,iteration time (ms)")
OWN_HEAD = "id,workload,"
COLLECTIVE_HEADS = ("gpu,ranks,bytes,time_us_out_of_place", "system,op,ranks,nodes,bytes,time_us")
OWN_COLUMNS = ("id", "workload", "group", "platform", "step_time", "peak_memory", "last_rank_memory")
COLUMNS_MAX, COUNT_MAX = 64, 2**24
SECONDS = {"s": "1", "ms": "1e-3", "us": "1e-6", "ns": "1e-9", "min": "60", "h": "3600", "d": "86400"}
BYTES = {"B": "1", "kB": "1e3", "MB": "1e6", "GB": "1e9", "TB": "1e12", "PB": "1e15",
         "KiB": f"{2**10}", "MiB": f"{2**20}", "GiB": f"{2**30}", "TiB": f"{2**40}", "PiB": f"{2**50}"}


class _Wrong(Exception):
    """What is wrong with a line."""


def _lines(text: str) -> Iterator[Tuple[int, str]]:
    """The lines that say something, with their numbers."""
    return ((at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip() and not line.lstrip().startswith("#"))


def _cells(line: str) -> List[str]:
    return [cell.strip() for cell in next(csv.reader([line.rstrip("\r")], skipinitialspace=True, strict=True))]


def read_csv(talk: Talk, path: str, text: str, cases: List[Case]) -> bool:
    """Add the cases of a table.  Returns whether it is one of cases; False: it is one of collectives.  Faults are told."""
    heads = []
    for line in text.split("\n"):
        heads.append(line)
        if line and not line.startswith("#"):
            break
    if any(line.startswith(COLLECTIVE_HEADS) for line in heads[-1:]):
        return False
    is_steps = any(line.startswith(STEP_HEAD) for line in heads)
    first = next(_lines(text), (1, ""))[1]
    if not is_steps and not first.startswith(OWN_HEAD):
        known = "', '".join((STEP_HEAD, *COLLECTIVE_HEADS))
        talk.error(f"a CSV file without a known head; expected '{known}' or '{OWN_HEAD}'", Place(path, 1))
        return True
    own = None if is_steps else _Own(path)
    for at, line in _lines(text):
        place = Place(path, at, source=line.rstrip("\r"))
        try:
            cells = _cells(line)
            case = _step(cells, place) if own is None else own.run(cells, place) if own.heads else own.head(cells)
            if case is not None and any(case.id == other.id for other in cases):
                raise _Wrong(f"this id is there already: '{case.id}'")
            cases.extend([case] if case is not None else [])
        except (_Wrong, csv.Error) as error:
            talk.error(str(error), place)
            if own is not None and not own.heads:
                break
    return True


# ---- steps on one node ----

def _step(cells: List[str], place: Place) -> Case:
    """A run of the table.  Source of what its comment says of all of them: VIA-Research/vTrain, ground truth of single nodes."""
    numbers = [number(cell) for cell in cells[:11]]
    if len(numbers) < 11 or None in numbers:
        raise _Wrong("expected the numbers of the table's head")
    values: List[Any] = [int(value or 0) if value == int(value or 0) else 0 for value in numbers[:10]]
    time_ms = numbers[10] or 0
    if not all(0 < value <= COUNT_MAX for value in values) or not 0 < time_ms <= COUNT_MAX:
        raise _Wrong("expected counts above 0, and a time above 0")
    gpus, batch, micro, hidden, heads, layers, sequence, tp, dp, pp = values
    fields = {"group": "single_node", "num_gpus": gpus, "system": {"gpu": "A100-SXM4-80GB"}, "schedule_kind": "1f1b", "recompute_kind": "full",
              "precision": "fp16", "micro_batch": micro, "global_batch": batch, "parallel": {"tp": tp, "pp": pp, "dp": dp, "vpp": 1, "sp": False, "zero": 0},
              "model": {"type": "gpt", "layers": layers, "hidden": hidden, "heads": heads, "ffn": 4 * hidden, "ffn_mats": 2, "vocab": 50257, "seq_len": sequence}}
    return Case(id=f"single_node_{place.line}", group="single_node", place=place, use=APART, source="vTrain, single-node measurements",
                measured=Measured(step_s=time_ms * 1e-3), fields=fields)


# ---- own runs ----

class _Own:
    """A table of a user's own runs."""

    def __init__(self, path: str):
        self.folder = os.path.dirname(path)
        self.heads: List[str] = []

    def head(self, cells: List[str]) -> None:
        """Take the line of names."""
        for at, name in enumerate(cells):
            if not name or at == COLUMNS_MAX:
                raise _Wrong(f"expected a column's name, and 64 columns at most, got '{name}'")
            if name in OWN_COLUMNS and name in cells[:at]:
                raise _Wrong(f"a column stands twice: '{name}'")
        if not set(cells).intersection(OWN_COLUMNS[4:]):
            raise _Wrong("expected a column step_time, peak_memory or 'last_rank_memory'")
        self.heads = cells

    def run(self, cells: List[str], place: Place) -> Case:
        """A line as a case."""
        if len(cells) > len(self.heads):
            raise _Wrong(f"expected as many cells as the head has, got '{cells[len(self.heads)]}'")
        said: Dict[str, str] = {name: cell for name, cell in zip(self.heads, cells) if name in OWN_COLUMNS}
        figures = [_figure(said.get(name, ""), units) for name, units in (("step_time", SECONDS), ("peak_memory", BYTES), ("last_rank_memory", BYTES))]
        if len(cells) < len(self.heads) or not said["id"]:
            raise _Wrong(f"expected a cell for each column, got '{said['id']}'")
        peak_B = figures[2] if figures[2] is not None else figures[1]
        return Case(id=said["id"], group=said.get("group") or "own", place=place, path=os.path.join(self.folder, said["workload"]), platform=said.get("platform") or None,
                    measured=Measured(step_s=figures[0], peak_B=peak_B, is_last_rank=bool(said.get("last_rank_memory"))),
                    sets=[f"{name}={cell}" for name, cell in zip(self.heads, cells) if name not in OWN_COLUMNS and cell])


def _figure(text: str, units: Dict[str, str]) -> Optional[float]:
    """A quantity in SI units; None: the cell is empty."""
    if not text:
        return None
    found = re.fullmatch(r"([0-9.]+(?:[eE][+-]?\d{1,3})?) *([A-Za-z]+)", text, re.A)
    if found and found[2] in units and number(found[1]):
        return float(Decimal(found[1]) * Decimal(units[found[2]]))  # rounded once
    raise _Wrong(f"expected a figure above 0 with its unit, got '{text}'")
