"""Passes of a pipeline whose ranks have clocks of their own, as a table of measured steps for `replay` (workloads/events.md).

The sources have passes and no messages. The clocks of neighbouring ranks are aligned by the passes that wait for each other, as two clocks are by a message there
and one back: the least time from the end of a sending pass to the start of the pass that needs its result is then the same in both directions, and that is the
time of every message between the two ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Sequence, Tuple

from .._call import Call

HEAD = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc,pair"
Where = Tuple[int, int, int]
"""what a pass is: index of its series, chunk, microbatch"""


@dataclass
class Pass:
    """A forward or backward pass of one rank for one microbatch; its times are in seconds."""

    series: int
    """0: forward, 1: backward or its input gradients, 2: weight gradients"""
    chunk: int
    mb: int
    start_s: float
    end_s: float
    pair: int = -1


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

    def align(self, call: Call, number: int) -> Tuple[Dict[Tuple[int, int], float], List[float]]:
        """Shift the clocks of the ranks. Returns the time of a message from one rank to another, and the shift of each rank."""
        slack: Dict[Tuple[int, int], float] = {}
        for rank, own, other, its in self.messages():
            slack[rank, other] = min(slack.get((rank, other), float("inf")), its.start_s - own.end_s)
        shifts = [0.0] * self.ranks
        for rank in range(1, self.ranks):
            if (rank - 1, rank) not in slack or (rank, rank - 1) not in slack:
                call.refuse(f"iteration {number}: no microbatch has a forward and a backward pass on both of the pipeline ranks {rank - 1} and {rank}")
            there, back = slack[rank - 1, rank], slack[rank, rank - 1]
            shifts[rank] = shifts[rank - 1] + (back - there) / 2
            if there + back < 0:
                call.talk.warning(f"iteration {number}: passes of pipeline ranks {rank - 1} and {rank} need results {-(there + back) / 2 * 1e3:.3g} ms before they are there")
        for rank, row in enumerate(self.passes):
            for own in row:
                own.start_s, own.end_s = own.start_s + shifts[rank], own.end_s + shifts[rank]
        return {(rank, other): max(0.0, least + shifts[other] - shifts[rank]) for (rank, other), least in slack.items()}, shifts


Update = Tuple[int, float, float]
"""pipeline rank, start and end of an optimizer's update"""


def rows_of(call: Call, number: int, step: Step, dp: int = 0, updates: Sequence[Update] = ()) -> List[str]:
    """The rows of an iteration of one pipeline."""
    transfers, shifts = step.align(call, number)
    begin = min(own.start_s for row in step.passes for own in row)
    is_split = any(own.series == 2 for row in step.passes for own in row)
    kinds = ("forward-compute", "input-gradient-compute" if is_split else "backward-compute", "weight-gradient-compute")
    rows = [(rank, "optimizer", start + shifts[rank], end + shifts[rank], -1, -1, -1) for rank, start, end in updates]
    for rank, row in enumerate(step.passes):
        rows += [(rank, kinds[own.series], own.start_s, own.end_s, own.chunk, own.mb, own.pair) for own in row]
    for rank, own, other, its in step.messages():
        name, end = ("forward", "backward")[own.series], own.end_s + transfers[rank, other]
        rows += [(rank, f"{name}-send", own.end_s, end, own.chunk, own.mb, -1), (other, f"{name}-recv", begin, end, its.chunk, its.mb, -1)]
    lines: List[str] = []
    numbers: Dict[Tuple[int, str], int] = {}
    for rank, kind, start, end, chunk, mb, pair in sorted(rows, key=lambda row: (row[0], row[2])):
        numbers[rank, kind] = numbers.get((rank, kind), -1) + 1
        gmc = step.gmc(rank, chunk) if chunk >= 0 else -1
        lines.append(f"{dp},{rank},{dp * step.ranks + rank},{number},{kind},{start - begin:.12f},{max(0.0, end - start):.12f},{numbers[rank, kind]},{chunk},{mb},{gmc},{pair}")
    return lines
