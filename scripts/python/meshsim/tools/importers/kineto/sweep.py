"""The time of a GPU, instant by instant: what ran, and in which step. Each instant belongs to one step and to one of: computation, communication that nothing
computes beside, copies that nothing else runs beside, idle. So the parts of a step sum to it.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Tuple

from meshsim.tools._call import Call, need
from meshsim.tools.importers.kineto.events import NONE
from meshsim.tools.importers.kineto.names import CLASSES, COMMUNICATION, COMPUTE, COPY
from meshsim.tools.importers.kineto.records import Mark, Records, parts

LANE_FLOWS = len(CLASSES)
"""Lanes of what may run: a class, or LANE_FLOWS + the number of a flow, which is communication of a kind in a group."""

Window = Tuple[int, int, int]
"""Time of a step: start [ns], its number, end [ns]."""


class Flow(NamedTuple):
    """Communication of a kind in a group."""

    kind: str
    group: str
    group_size: int


class FlowTime:
    """Calls of a flow inside of steps, and how long it ran [ns], and did while nothing computed, shared evenly with others beside it."""

    def __init__(self) -> None:
        self.count = 0
        self.busy_ns = self.exposed_ns = 0.0


class Step:
    """Times of a step [ns]; `classes`: of COMPUTE."""

    def __init__(self, number: int):
        self.number = number
        self.wall = self.busy = self.compute = self.communication = self.exposed = self.copy = self.idle = 0.0
        self.classes = [0.0] * len(COMPUTE)


def _gather(marks: List[Mark], is_gpu: bool) -> List[Window]:
    """Windows of annotations of one side, which on a GPU come once for each stream."""
    found: Dict[int, Window] = {}
    for _, number, start, end in (mark for mark in marks if mark[0] == is_gpu):
        old = found.get(number, (start, number, end))
        found[number] = (min(start, old[0]), number, max(end, old[2]))
    return sorted(found.values())


def windows_of(marks: List[Mark]) -> Tuple[List[Window], bool]:
    """Steps in their order, and whether they are the GPU's: where it has as many as the host, as work of a step runs behind the host, and only the GPU's say
    which work is whose. A step lasts to the next one's start, so that no time between them is lost."""
    host, gpu = _gather(marks, False), _gather(marks, True)
    is_gpu = len(gpu) > 0 and len(gpu) >= len(host)
    windows = gpu if is_gpu else host
    ends = [window[0] for window in windows[1:]] + [window[2] for window in windows[-1:]]
    return [(start, number, end) for (start, number, _), end in zip(windows, ends)], is_gpu


class Sweep:
    """One pass over a file's records.  lanes: [records].  flows: [flows] in which times are added up."""

    def __init__(self, records: Records, lanes: Any, flows: List[FlowTime]):
        self.records, self.lanes, self.flows = records, lanes, flows
        self.steps: List[Step] = []
        self.outside_ns = 0.0
        """busy outside of all steps"""
        self.beside = bytearray(len(records.op_id))
        """[operators] whether communication ran beside one of its kernels"""
        self._windows: List[Window] = []
        self._next = 0  # window under way, or the next one
        self._now = 0
        self._running = [0] * (LANE_FLOWS + len(flows))
        self._active: Dict[int, None] = {}  # lanes in which something runs
        self._sums = [0, 0, 0]  # records that compute, communicate, copy
        self._communicated = -2**63  # when communication last ran [ns]
        self._step = Step(NONE)

    def run(self, call: Call, windows: List[Window]) -> None:
        """Go over all of it.  windows: without any, the whole file is one.  O(records log records)."""
        np, = need(call, "numpy")
        records = self.records
        lasting = np.nonzero(records.end > records.start)[0]
        at = np.concatenate([records.start[lasting], records.end[lasting]])
        is_start = np.repeat([True, False], len(lasting))
        order = np.lexsort((is_start, at))  # ends stand before starts at the same instant: what touches does not overlap
        first, last = (int(at[order[0]]), int(at[order[-1]])) if len(order) else (0, 0)
        self._windows = windows or [(first, NONE, last)]
        self._now = min(first, self._windows[0][0]) if len(order) else self._windows[0][0]
        self._begin_step()
        for part in parts(order):
            which = lasting[part % len(lasting)]
            for row in zip(at[part].tolist(), is_start[part].tolist(), self.lanes[which].tolist(), records.start[which].tolist(), records.launch[which].tolist()):
                self._advance(row[0])
                self._turn(row[2], 1 if row[1] else -1, row[3], row[4])
        while self._next < len(self._windows):  # steps that go on after the last kernel, or are empty
            end = self._windows[self._next][2]
            if end > self._now:
                self._advance(end)
            else:
                self._end_step()

    # ---- steps ----

    def _begin_step(self) -> None:
        if self._next < len(self._windows):
            self._step = Step(self._windows[self._next][1])

    def _end_step(self) -> None:
        start, _, end = self._windows[self._next]
        self._step.wall = float(end - start)
        self.steps.append(self._step)
        self._next += 1
        self._begin_step()

    def _is_inside(self) -> bool:
        return self._next < len(self._windows) and self._windows[self._next][0] <= self._now

    # ---- instants ----

    def _advance(self, to: int) -> None:
        """Go on to an instant, through the ends of steps before it."""
        while self._now < to:
            is_inside = self._is_inside()
            until = to
            if self._next < len(self._windows):
                start, _, end = self._windows[self._next]
                until = min(to, end if is_inside else start)
            if is_inside:
                self._pass(float(until - self._now))
            elif self._active:
                self.outside_ns += float(until - self._now)
            self._now = until
            if is_inside and until == self._windows[self._next][2]:
                self._end_step()

    def _pass(self, time: float) -> None:
        """So long [ns] what runs ran, inside a step."""
        step, running = self._step, self._running
        computing, communicating, copying = self._sums
        for lane in self._active:
            if lane < COMMUNICATION:
                step.classes[lane] += time * running[lane] / computing
            elif lane >= LANE_FLOWS:
                flow = self.flows[lane - LANE_FLOWS]
                flow.busy_ns += time
                flow.exposed_ns += time * running[lane] / communicating if computing == 0 else 0
        step.busy += time if self._active else 0
        step.communication += time if communicating > 0 else 0
        if computing > 0:
            step.compute += time
        elif communicating > 0:
            step.exposed += time
        elif copying > 0:
            step.copy += time
        else:
            step.idle += time

    # ---- records ----

    def _turn(self, lane: int, by: int, start: int, launch: int) -> None:
        """A record begins (by 1) or ends (by -1)."""
        self._running[lane] += by
        if self._running[lane] == 0:
            del self._active[lane]
        else:
            self._active[lane] = None
        self._sums[0 if lane < COMMUNICATION else 2 if lane == COPY else 1] += by
        if lane >= LANE_FLOWS:
            self._communicated = self._now
            self.flows[lane - LANE_FLOWS].count += 1 if by > 0 and self._is_inside() else 0
        elif by < 0 and launch != NONE and (self._sums[1] > 0 or self._communicated > start):
            self.beside[launch] = 1
