"""`meshsim import primus config.json pp_rank_0.json ...`: passes that Primus records with `dump_pp_data`, as a table of measured steps for `replay`
(workloads/events.md).

The dump has the passes of each pipeline rank on its GPU, in ms from the rank's own start of the iteration, and no messages. The clocks of neighbouring ranks are
aligned by the passes that wait for each other, as two clocks are by a message there and one back: the least time from the end of a sending pass to the start of
the pass that needs its result is then the same in both directions, and that is the time of every message between the two ranks.

Source: AMD-AGI/Primus 0abd5018, the reader of tools/visualization/pp_vis, and the functions around `dump_pp_data`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, List, NoReturn, Tuple

from .._call import Call, Place
from .._describe import Kind
from .source import IGNORED, USED, Key, deliver, read_bytes, row_of, target

KIND = Kind("primus config.json pp_rank_*.json", "passes that Primus recorded give a table of measured steps for 'replay'",
            "primus reads the folder that training with dump_pp_data writes, one pipeline of one replica.", writes=".csv")

SERIES = ("fwd", "bwd", "wgrad")
HEAD = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc,pair"
MS = 1e-3
Where = Tuple[int, int, int]
"""what a pass is: index of its series, chunk, microbatch"""


@dataclass
class Pass:
    """A pass of a rank, in seconds."""

    series: int
    chunk: int
    mb: int
    start_s: float
    end_s: float
    pair: int = -1


def _refuse(call: Call, path: str, message: str) -> NoReturn:
    call.refuse(message, Place(path, 0))


def _load(call: Call, path: str) -> Dict[str, Any]:
    try:
        tree = json.loads(read_bytes(call.talk, path))
    except ValueError as fault:
        _refuse(call, path, f"is not JSON: {fault}")
    if not isinstance(tree, dict):
        _refuse(call, path, "expected an object of JSON")
    return tree


def _count(call: Call, path: str, config: Dict[str, Any], *names: str) -> int:
    """A whole number of the configuration, which has had several names."""
    value = next((config[name] for name in names if name in config), None)
    if not isinstance(value, int) or not 1 <= value <= 1 << 16:
        _refuse(call, path, f"expected a whole number '{names[0]}' from 1 to 65536, got {value!r}")
    return value


# ---- passes ----

def _passes(call: Call, path: str, data: Dict[str, Any], chunks: int, microbatches: int) -> List[Pass]:
    """The passes of an iteration of a rank, in the order of their starts."""
    passes: List[Pass] = []
    for series, name in enumerate(SERIES):
        starts, ends = data.get(f"{name}_start") or [], data.get(f"{name}_end") or []
        if series == 2 and not starts:
            continue
        if len(starts) != chunks * microbatches or len(ends) != len(starts):
            _refuse(call, path, f"expected {chunks * microbatches} numbers in '{name}_start' and '{name}_end', got {len(starts)} and {len(ends)}")
        of_chunk, of_mb = data.get(f"{name}_chunk") or [], data.get(f"{name}_minibatch") or []
        if chunks == 1:
            of_chunk, of_mb = [0] * len(starts), of_mb if len(of_mb) == len(starts) else list(range(len(starts)))
        if len(of_chunk) != len(starts) or len(of_mb) != len(starts):
            _refuse(call, path, f"with {chunks} chunks a dump needs '{name}_chunk' and '{name}_minibatch', which newer versions of Primus write")
        first = min(of_mb)
        passes += [Pass(series, chunk, mb - first, start * MS, end * MS) for start, end, chunk, mb in zip(starts, ends, of_chunk, of_mb)]
    passes.sort(key=lambda own: own.start_s)
    for number, (one, other) in enumerate(zip(passes, passes[1:])):
        if (one.start_s, one.end_s) == (other.start_s, other.end_s) and one.series != other.series:  # recorded as one
            one.pair = other.pair = number
    return passes


def _is_v(last: List[Pass]) -> bool:
    """Whether two chunks form a V: the last rank then runs a microbatch through both chunks at once."""
    order = [(own.chunk, own.mb) for own in last if own.series == 0]
    return (1, 0) in order and (0, 1) in order and order.index((1, 0)) < order.index((0, 1))


class Step:
    """The passes of all ranks in an iteration."""

    def __init__(self, passes: List[List[Pass]], chunks: int):
        self.passes, self.chunks, self.ranks = passes, chunks, len(passes)
        self.is_v = chunks == 2 and _is_v(passes[-1])
        self.by: List[Dict[Where, Pass]] = [{(own.series, own.chunk, own.mb): own for own in row} for row in passes]

    def gmc(self, rank: int, chunk: int) -> int:
        """Virtual stage of a chunk of a rank."""
        return 2 * self.ranks - 1 - rank if self.is_v and chunk == 1 else chunk * self.ranks + rank

    def place(self, gmc: int) -> Tuple[int, int]:
        """Rank and chunk of a virtual stage."""
        rank, chunk = gmc % self.ranks, gmc // self.ranks
        return (self.ranks - 1 - rank if self.is_v and chunk == 1 else rank), chunk

    def messages(self) -> List[Tuple[int, Pass, int, Pass]]:
        """Sending rank and pass, receiving rank and pass, of each result that another rank needs."""
        found = []
        for rank, row in enumerate(self.passes):
            for own in row:
                to = self.gmc(rank, own.chunk) + (1 if own.series == 0 else -1)
                if own.series < 2 and 0 <= to < self.chunks * self.ranks:
                    other, chunk = self.place(to)
                    if other != rank and (own.series, chunk, own.mb) in self.by[other]:
                        found.append((rank, own, other, self.by[other][own.series, chunk, own.mb]))
        return found

    def align(self, call: Call, number: int) -> Dict[Tuple[int, int], float]:
        """Shift the clocks of the ranks. Returns the time of a message from one rank to another."""
        slack: Dict[Tuple[int, int], float] = {}
        for rank, own, other, its in self.messages():
            slack[rank, other] = min(slack.get((rank, other), float("inf")), its.start_s - own.end_s)
        shifts = [0.0] * self.ranks
        for rank in range(1, self.ranks):
            there, back = slack[rank - 1, rank], slack[rank, rank - 1]
            shifts[rank] = shifts[rank - 1] + (back - there) / 2
            if there + back < 0:
                call.talk.warning(f"iteration {number}: passes of pipeline ranks {rank - 1} and {rank} need results {-(there + back) / 2 / MS:.3g} ms before they are there")
        for rank, row in enumerate(self.passes):
            for own in row:
                own.start_s, own.end_s = own.start_s + shifts[rank], own.end_s + shifts[rank]
        return {(rank, other): max(0.0, least + shifts[other] - shifts[rank]) for (rank, other), least in slack.items()}


# ---- the table ----

def _rows(call: Call, number: int, step: Step) -> List[str]:
    """The rows of an iteration."""
    transfers = step.align(call, number)
    begin = min(own.start_s for row in step.passes for own in row)
    is_split = any(own.series == 2 for row in step.passes for own in row)
    kinds = ("forward-compute", "input-gradient-compute" if is_split else "backward-compute", "weight-gradient-compute")
    rows = []
    for rank, row in enumerate(step.passes):
        rows += [(rank, kinds[own.series], own.start_s, own.end_s, own.chunk, own.mb, own.pair) for own in row]
    for rank, own, other, its in step.messages():
        name, end = ("forward", "backward")[own.series], own.end_s + transfers[rank, other]
        rows += [(rank, f"{name}-send", own.end_s, end, own.chunk, own.mb, -1), (other, f"{name}-recv", begin, end, its.chunk, its.mb, -1)]
    lines, numbers = [], {}
    for rank, kind, start, end, chunk, mb, pair in sorted(rows, key=lambda row: (row[0], row[2])):
        numbers[rank, kind] = numbers.get((rank, kind), -1) + 1
        lines.append(f"0,{rank},{rank},{number},{kind},{start - begin:.12f},{max(0.0, end - start):.12f},{numbers[rank, kind]},{chunk},{mb},{step.gmc(rank, chunk)},{pair}")
    return lines


def run(call: Call) -> None:
    """The command."""
    target(call)
    trees = {path: _load(call, path) for path in call.arguments}
    configs = [path for path, tree in trees.items() if "pp_size" in tree]
    if len(configs) != 1:
        call.refuse(f"expected one config.json with 'pp_size' among the files, got {len(configs)}")
    config = trees.pop(configs[0])
    ranks, microbatches = (_count(call, configs[0], config, *names) for names in (("pp_size",), ("num_mbs", "micro_batches")))
    chunks = _count(call, configs[0], config, "vp_size", "vpp_size")
    paths = {path.rsplit("pp_rank_", 1)[-1].split(".")[0]: path for path in trees}
    missing = [rank for rank in range(ranks) if str(rank) not in paths]
    if missing or len(trees) != ranks:
        call.refuse(f"expected a file pp_rank_N.json of each of {ranks} ranks, got {len(trees)} files" + (f" and none of rank {missing[0]}" if missing else ""))
    lines = [HEAD]
    numbers = sorted(trees[paths["0"]], key=int)
    for number in numbers:
        passes = []
        for rank in range(ranks):
            path = paths[str(rank)]
            if number not in trees[path]:
                _refuse(call, path, f"lacks iteration {number}, which rank 0 has")
            passes.append(_passes(call, path, trees[path][number], chunks, microbatches))
        lines += _rows(call, int(number), Step(passes, chunks))
    keys = [Key(name, USED, "passes") for name in ("fwd", "bwd", "wgrad")]
    keys += [Key("total", IGNORED, "a step of the table ends with its last pass"), Key("memory", IGNORED, "the table has times alone")]
    deliver(call, keys, "\n".join(lines) + "\n", {"keys": list(map(row_of, keys)), "steps": len(numbers), "rows": len(lines) - 1},
            f"steps      {len(numbers)}\nstages     {ranks}\nrows       {len(lines) - 1}\n")
