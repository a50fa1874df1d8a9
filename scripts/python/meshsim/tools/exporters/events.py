"""`meshsim export events`: writes the operations of a trace of meshsim as the table of measured steps that `meshsim replay` reads (workloads/events.md).

Of the ranks that share a pass (tp, cp, ep) the first is recorded, and their communication becomes a part of the pass. Where hosts launch in no time, a pass begins
when all that it waits for in the table has ended, so that waits for anything else (gathered parameters, sends that block) are a part of it, too. What follows the
last pass is a chain in the order of the table's rules: an operation that overlaps with the one before it begins with that one's end.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from meshsim.tools._call import INPUT, Call, Fault, Place, need
from meshsim.tools._describe import Kind
from meshsim.tools.exporters._compare import Exported

KIND = Kind("events TRACE.h5", "the operations of a trace, a table for 'replay', CSV",
            "Of the kind events the input is a trace of one step, with every microbatch ('run --trace full').", writes=".csv")
SOFTWARE = ""
HAS_COMMENTS = True

PASSES = {"forward": "forward-compute", "backward": "backward-compute", "input_gradient": "input-gradient-compute", "weight_gradient": "weight-gradient-compute"}
TAIL = ("layernorm-grads-all-reduce", "embedding-grads-all-reduce", "separate-grads-all-reduce", "grads-reduce-scatter",
        "optimizer-clip-main-grad", "optimizer", "params-all-gather")
"""kinds in the order in which the rules of the table have them behind the last pass"""
HEAD = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc,pair"


class Event(NamedTuple):
    """A row of the trace's events."""

    index: int
    start_ps: int
    end_ps: int
    kind: str
    axis: str
    rank: int
    peer: int
    """receiving rank of a message, else -1"""
    stage: int
    chunk: int
    mb: int


@dataclass
class Pass:
    """A pass of a rank, or its part of a message or of the step's end."""

    kind: str
    stage: int
    chunk: int
    mb: int
    first: int
    """rows of the trace, as are `last`"""
    last: int
    start_ps: int
    end_ps: int
    pair: int = -1

    def take(self, event: Event) -> None:
        """Make an event a part of the pass."""
        self.first, self.last = min(self.first, event.index), max(self.last, event.index)
        self.start_ps, self.end_ps = min(self.start_ps, event.start_ps), max(self.end_ps, event.end_ps)


@dataclass
class Worker:
    """What a recorded rank does."""

    rank: int
    passes: List[Pass] = field(default_factory=list)
    sends: List[Tuple[Pass, Event]] = field(default_factory=list)
    """messages, each with the pass that sends it"""
    tail: List[Tuple[str, int, int]] = field(default_factory=list)
    """kind, row and end of each operation behind the passes"""


class Trace(NamedTuple):
    """What of a trace is exported."""

    events: Dict[int, List[Event]]
    """of each simulated rank, in the order of the graph"""
    ranks: Dict[int, int]
    """pipeline rank of each simulated rank"""
    sizes: List[Tuple[str, int, int]]
    """axis, size and stride of the mesh"""
    launch_s: float


# ---- reading ----

def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _read(path: str) -> Trace:
    """Read a trace.  Raises Fault where it does not have what is exported."""
    import h5py
    try:
        with h5py.File(path, "r") as file:
            return _read_file(path, file)
    except (OSError, KeyError) as error:
        raise Fault(INPUT, f"{path}: no trace of 'meshsim run' could be read: {str(error)[:200]}") from error


def _read_file(path: str, file: Any) -> Trace:
    group = file["events"]
    level = _text(group.attrs.get("level", ""))
    if level not in ("full", "passes"):
        raise Fault(INPUT, f"{path}: the trace has no row for every pass (its level is '{level}'); write it by 'run --trace full'")
    if "fast_forwarded" in group.attrs:
        raise Fault(INPUT, f"{path}: the trace counts microbatches that were not simulated; write it by 'run --trace full'")
    if len(file["steps/start_ps"]) != 1:
        raise Fault(INPUT, f"{path}: the trace has {len(file['steps/start_ps'])} steps; only one is exported")
    import h5py
    names = {column: {code: name for name, code in h5py.check_enum_dtype(group[column].dtype).items()} for column in ("kind", "axis")}
    rank_of, peer_of = file["streams/rank"][:].tolist(), file["streams/peer"][:].tolist()
    columns = [group[name][:].tolist() for name in ("start_ps", "end_ps", "kind", "axis", "rank", "stream", "stage", "chunk", "mb")]
    rows = [Event(i, start, end, names["kind"][kind], names["axis"][axis], rank, peer_of[stream], stage, chunk, mb)
            for i, (start, end, kind, axis, rank, stream, stage, chunk, mb) in enumerate(zip(*columns))]
    members = defaultdict(list)
    for event, stream in zip(file["members/event"][:].tolist(), file["members/stream"][:].tolist()):
        members[event].append(rank_of[stream])
    events: Dict[int, List[Event]] = defaultdict(list)
    for row in rows:
        for rank in {row.rank, *members[row.index]}:
            events[rank].append(row)
    resolved = _text(file["input/resolved"][()]) if "input/resolved" in file else ""
    launch = re.search(r"^host\.launch = ([0-9.e+-]+)", resolved, re.M)
    return Trace(events, dict(zip(file["ranks/rank"][:].tolist(), file["ranks/pp"][:].tolist())),
                 list(zip([_text(name) for name in file["mesh/axis"][:]], file["mesh/size"][:].tolist(), file["mesh/stride"][:].tolist())),
                 float(launch[1]) if launch else 0.0)


# ---- workers ----

def _choose_ranks(path: str, trace: Trace) -> Dict[Tuple[int, int], int]:
    """For each pair of data-parallel rank and pipeline rank, the simulated rank whose operations are exported.

    Raises Fault if the run was folded and the trace does not say which data-parallel ranks a simulated rank stands for.
    """
    size = {axis: count for axis, count, _ in trace.sizes}
    stride = {axis: distance for axis, _, distance in trace.sizes}
    chosen = {}
    for dp in range(size.get("dp", 1)):
        for pp in range(size.get("pp", 1)):
            rank = dp * stride.get("dp", 0) + pp * stride.get("pp", 0)
            alike = [other for other, of_pp in trace.ranks.items() if of_pp == pp]
            if rank not in trace.ranks and len(alike) != 1:
                raise Fault(INPUT, f"{path}: rank {rank} was not simulated; write the trace by 'run --no-fold --trace full'")
            chosen[dp, pp] = rank if rank in trace.ranks else alike[0]
    return chosen


def _collect(trace: Trace, rank: int) -> Worker:
    """The passes and messages of a rank, and what follows the passes."""
    worker = Worker(rank)
    found: Dict[Tuple[int, int, str], Pass] = {}
    last: Optional[Pass] = None
    waiting: List[Event] = []  # communication that belongs to the next pass
    for event in trace.events[rank]:
        if event.axis == "none" and (event.kind in PASSES or event.kind == "recompute"):
            kind = event.kind
            if kind == "recompute":  # of the backward pass that follows
                waiting.append(event)
                continue
            key = event.stage, event.mb, kind
            if key not in found:
                found[key] = Pass(PASSES[kind], event.stage, event.chunk, event.mb, event.index, event.index, event.start_ps, event.end_ps)
                worker.passes.append(found[key])
            last = found[key]
            last.take(event)
            for early in waiting:
                if (early.stage, early.mb) == (event.stage, event.mb):
                    last.take(early)
            waiting = [early for early in waiting if (early.stage, early.mb) != (event.stage, event.mb)]
        elif event.kind == "p2p" and event.rank == rank:
            back = next((found[key] for kind in ("backward", "input_gradient") for key in [(event.stage, event.mb, kind)] if key in found), None)
            sender = back or found[event.stage, event.mb, "forward"]
            worker.sends.append((sender, event))
        elif event.axis in ("tp", "cp", "ep") and event.mb >= 0:
            if last is not None and (last.stage, last.mb) == (event.stage, event.mb) and event.start_ps <= last.end_ps:
                last.take(event)
            else:
                waiting.append(event)
        elif event.kind != "p2p":
            worker.tail.append((_tail_kind(event, any(kind == "optimizer" for kind, _, _ in worker.tail)), event.index, event.end_ps))
    _pair(worker)
    return worker


def _tail_kind(event: Event, is_updated: bool) -> str:
    """The kind of an operation that is no part of a pass."""
    if event.kind == "optimizer":
        return "optimizer"
    if event.axis == "dp":
        return "params-all-gather" if is_updated else "grads-reduce-scatter"
    if event.axis == "pp":
        return "embedding-grads-all-reduce"
    if event.axis == "other" and event.kind == "all_reduce":
        return "optimizer-clip-main-grad"
    return "layernorm-grads-all-reduce" if event.axis == "tp" else "separate-grads-all-reduce"


def _pair(worker: Worker) -> None:
    """Number the pairs of passes whose operations take turns, or that end together although one begins behind the other."""
    for number, (one, other) in enumerate(zip(worker.passes, worker.passes[1:])):
        if other.first < one.last and one.pair < 0:
            one.pair = other.pair = number


def _settle(workers: Dict[Tuple[int, int], Worker], trace: Trace) -> None:
    """Let each pass begin with the end of what it waits for, where hosts launch in no time, and last until its message begins."""
    arrivals: Dict[Tuple[int, int, int, bool], int] = {}
    of_rank = {worker.rank: worker for worker in workers.values()}
    for worker in of_rank.values():
        for sender, event in worker.sends:
            is_forward = sender.kind == PASSES["forward"]
            arrivals[event.peer, event.stage + (1 if is_forward else -1), event.mb, is_forward] = event.end_ps
            if trace.launch_s == 0.0:
                sender.end_ps = max(sender.end_ps, event.start_ps)
    for worker in of_rank.values():
        before, group = 0, 0
        for i, own in enumerate(worker.passes):
            is_second = own.pair >= 0 and i > 0 and worker.passes[i - 1].pair == own.pair
            before = before if is_second else group
            is_forward = own.kind == PASSES["forward"]
            arrival = 0 if own.kind == PASSES["weight_gradient"] else arrivals.get((worker.rank, own.stage, own.mb, is_forward), 0)
            if trace.launch_s == 0.0 or own.pair >= 0:
                own.start_ps = max(before, arrival)
                own.end_ps = max(own.end_ps, own.start_ps)
            group = max(group, own.end_ps)


# ---- rows ----

def _seconds(ps: int) -> str:
    return f"{ps // 10 ** 12}.{ps % 10 ** 12:012d}"


def _rows_of(dp: int, pp: int, worker: Worker, late: List[bool]) -> List[Tuple[str, int, int, int, int, int, int]]:
    """Kind, start, end, chunk, microbatch, virtual stage and pair of each operation of a worker, receives apart.  late: which operations of the tail count."""
    rows = [(own.kind, own.start_ps, own.end_ps, own.chunk, own.mb, own.stage, own.pair) for own in worker.passes]
    for sender, event in worker.sends:
        kind = "forward-send" if sender.kind == PASSES["forward"] else "backward-send"
        rows.append((kind, event.start_ps, event.end_ps, sender.chunk, event.mb, event.stage, -1))
    at = max(own.end_ps for own in worker.passes)
    tail = sorted((row for row, is_late in zip(worker.tail, late) if is_late), key=lambda row: (TAIL.index(row[0]), row[1]))
    for kind, _, end in tail:
        rows.append((kind, at, max(at, end), -1, -1, -1, -1))
        at = max(at, end)
    return rows


def _late(workers: List[Worker]) -> List[bool]:
    """Which operations of the step's end end behind the passes of a worker; the others are hidden behind passes."""
    ends = [max(own.end_ps for own in worker.passes) for worker in workers]
    return [any(worker.tail[i][2] > end or worker.tail[i][0] not in ("grads-reduce-scatter", "params-all-gather") for worker, end in zip(workers, ends))
            for i in range(len(workers[0].tail))]


def _table(path: str, trace: Trace) -> str:
    chosen = _choose_ranks(path, trace)
    collected = {rank: _collect(trace, rank) for rank in set(chosen.values())}
    workers = {place: collected[rank] for place, rank in chosen.items()}
    _settle(workers, trace)
    lines = [HEAD]
    receives: Dict[int, List[Tuple[str, int, int, int]]] = defaultdict(list)
    for worker in collected.values():
        for sender, event in worker.sends:
            is_forward = sender.kind == PASSES["forward"]
            receives[event.peer].append(("forward-recv" if is_forward else "backward-recv", event.end_ps, event.mb, event.stage + (1 if is_forward else -1)))
    stages = {pp for _, pp in workers}
    late = {pp: _late([worker for (_, of_pp), worker in workers.items() if of_pp == pp]) for pp in stages}
    for (dp, pp), worker in workers.items():
        chunks = {own.stage: own.chunk for own in worker.passes}
        rows = _rows_of(dp, pp, worker, late[pp])
        rows += [(kind, 0, end, chunks[gmc], mb, gmc, -1) for kind, end, mb, gmc in receives[worker.rank]]
        numbers: Dict[str, int] = defaultdict(int)
        for kind, start, end, mc, mb, gmc, pair in sorted(rows, key=lambda row: row[1]):
            lines.append(f"{dp},{pp},{worker.rank},0,{kind},{_seconds(start)},{_seconds(end - start)},{numbers[kind]},{mc},{mb},{gmc},{pair}")
            numbers[kind] += 1
    return "\n".join(lines) + "\n"


def write_from_file(call: Call, path: str) -> Exported:
    """The table of a trace."""
    need(call, "h5py", "numpy")
    return Exported(_table(path, _read(path)), [])
