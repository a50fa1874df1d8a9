"""Traces of some ranks as tables: each file by itself, then all of them together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

from meshsim.tools._call import Call, Place, need
from meshsim.tools.importers.kineto.events import NONE, Head, Message, read_events
from meshsim.tools.importers.kineto.names import CLASSES, COMMUNICATION, COMPUTE, OTHER, Work, kind_of, type_B
from meshsim.tools.importers.kineto.records import Numbered, Records, Tables, chunks
from meshsim.tools.importers.kineto.sweep import LANE_FLOWS, Flow, FlowTime, Step, Sweep, windows_of

_STREAMS_MAX = 8  # of a kernel's, that are named
_UNKNOWN_SHOWN = 5

Row = Dict[str, Any]


@dataclass
class Trace:
    """What some ranks did in some steps. Rows as `--json` prints them: times in seconds, None for what the trace does not say."""

    ranks: List[Row] = field(default_factory=list)
    """a file each: file, rank, world_size, device, kernels (and copies), steps (0: no annotations), outside_s (busy outside of all steps), gpu_steps (they are
    those of the GPU, not of the host)"""
    mean: Row = field(default_factory=dict)
    """of all steps"""
    steps: List[Row] = field(default_factory=list)
    """rank by rank: rank, step (-1: the whole trace counts as one or several), wall_s = compute_s + exposed_s + copy_s + idle_s, busy_s, communication_s,
    class_s: compute_s by class, shared evenly among kernels that ran at the same time"""
    channels: List[Row] = field(default_factory=list)
    """communication of one kind in one process group, most busy first: calls and seconds are means over the steps of all ranks; exposed_s is the part of busy_s
    in which nothing computed, shared evenly with others beside it"""
    collectives: List[Row] = field(default_factory=list)
    """messages of one collective, group and size, most time first: size_B is the whole buffer, what a member puts in, or gets out of an all-gather"""
    kernels: List[Row] = field(default_factory=list)
    """by name, most time first: class, count, total_s, mean_s, min_s, max_s, streams"""
    shapes: List[Row] = field(default_factory=list)
    """matrix products and attentions whose sizes the trace has, most time first, as rows of a table of measured kernels (platforms/README.md): mean_s of those
    that no communication ran beside, if there are any; left_out: why it is in no such table, None: it is"""

    def measured(self) -> List[Row]:
        """The table of measured kernels that `measured` of a GPU type and `calibrate --kernels` read: kernel, shape, time with its unit."""
        return [{"kernel": row["kernel"], "shape": row["shape"], "time": f"{row['mean_s'] * 1e6:.6g} us"} for row in self.shapes if row["left_out"] is None]


class _Calls:
    """Calls that make a row of a table, and the streams of the first of them [ns]."""

    def __init__(self) -> None:
        self.count = self.total = self.least = self.most = 0
        self.streams: List[int] = []

    def add(self, time_ns: int, stream: int) -> None:
        self.least = time_ns if self.count == 0 else min(self.least, time_ns)
        self.most = max(self.most, time_ns)
        self.total += time_ns
        self.count += 1
        if stream not in self.streams and len(self.streams) <= _STREAMS_MAX:
            self.streams.append(stream)

    def row(self) -> Row:
        total_s = self.total / 1e9
        return {"count": self.count, "total_s": total_s, "mean_s": total_s / self.count, "min_s": self.least / 1e9, "max_s": self.most / 1e9}


class _Sized:
    """Operators of one shape: how many, how many of them with communication beside, and their times, of all and of those without [ns]."""

    def __init__(self) -> None:
        self.count = self.beside = self.total = self.alone = 0


class _Reader:
    """Rows of all files, under way."""

    def __init__(self, call: Call, whole_steps: int):
        self.call, self.whole_steps = call, whole_steps
        self.tables = Tables()
        self.trace = Trace()
        self.names: List[_Calls] = []  # of each name
        self.sent, self.flows = Numbered(), Numbered()  # (message, kind); Flow
        self.sent_calls: List[_Calls] = []
        self.flow_times: List[FlowTime] = []
        self.sized: List[_Sized] = []  # of each work

    # ---- a file ----

    def read(self, path: str) -> None:
        """Read a file and add it to the rows."""
        head, records = Head(), Records(self.tables)
        for event in read_events(self.call, path, head):
            records.take(event)
        records.link(self.call, path)
        lanes = self._count(records)
        windows, has_gpu_steps = windows_of(records.marks)
        sweep = Sweep(records, lanes, self.flow_times)
        sweep.run(self.call, windows)
        self._count_shapes(records, sweep.beside)
        self.trace.steps += [_step_row(step, head.rank, 1 if windows else self.whole_steps) for step in sweep.steps]
        self.trace.ranks.append({"file": path, "rank": head.rank, "world_size": head.world_size, "device": head.device, "kernels": len(records.start),
                                 "steps": len(windows), "outside_s": sweep.outside_ns / 1e9, "gpu_steps": has_gpu_steps})
        self._check_ranks()

    def _count(self, records: Records) -> Any:
        """Add work of the GPU to the calls of its name and message.  Returns the lane of each for the sweep."""
        np, = need(self.call, "numpy")
        self.names += [_Calls() for _ in range(len(self.tables.classes) - len(self.names))]
        lanes = np.zeros(len(records.start), dtype=np.int32)
        for i, (time_ns, name, message, stream) in enumerate(chunks(records.end - records.start, records.name, records.message, records.stream)):
            self.names[name].add(time_ns, stream)
            lane = self.tables.classes[name]
            if lane == COMMUNICATION:
                number = self._send(message, self.tables.kinds[name])
                self.sent_calls[number].add(time_ns, stream)
                lane = LANE_FLOWS + self.flows[self._flow(message, self.sent.rows[number][1])]
            lanes[i] = lane
        return lanes

    def _message(self, number: int) -> Optional[Message]:
        message: Optional[Message] = None if number == NONE else self.tables.messages.rows[number]
        return message

    def _send(self, number: int, kind: str) -> int:
        """Row of a kernel's message. A collective that the trace names "coalesced" is what its kernel is."""
        message = self._message(number)
        told = "other" if message is None else kind_of(message.collective)
        sent = self.sent[number, kind if told == "other" else told]
        if sent == len(self.sent_calls):
            self.sent_calls.append(_Calls())
            if self.flows[self._flow(*self.sent.rows[sent])] == len(self.flow_times):
                self.flow_times.append(FlowTime())
        return sent

    def _flow(self, number: int, kind: str) -> Flow:
        """What has no kind that is simulated is of kind "other", whatever it does."""
        message = self._message(number)
        return Flow(kind, "", 0) if message is None else Flow(kind, message.described or message.group, max(message.group_size, 0))

    def _count_shapes(self, records: Records, beside: bytearray) -> None:
        """Add to shapes the calls of their operators."""
        np, = need(self.call, "numpy")
        self.sized += [_Sized() for _ in range(len(self.tables.works) - len(self.sized))]
        launched = records.launch != NONE
        operators, launches = np.unique(records.launch[launched], return_inverse=True)
        times = np.zeros(len(operators), dtype=np.int64)
        np.add.at(times, launches, (records.end - records.start)[launched])
        for operator, time_ns in zip(operators.tolist(), times.tolist()):
            if records.op_work[operator] != NONE:
                row, is_beside = self.sized[records.op_work[operator]], beside[operator]
                row.count += 1
                row.beside += is_beside
                row.total += time_ns
                row.alone += 0 if is_beside else time_ns

    def _check_ranks(self) -> None:
        """The files are those of ranks of one job."""
        *others, last = self.trace.ranks
        for other in others:
            if last["rank"] >= 0 and other["rank"] == last["rank"]:
                self.call.refuse(f"distributedInfo: rank {last['rank']} is that of '{other['file']}', too", Place(last["file"], 0))
            if last["world_size"] >= 0 and other["world_size"] >= 0 and last["world_size"] != other["world_size"]:
                self.call.refuse(f"distributedInfo: expected a world of {other['world_size']} ranks, as in '{other['file']}', got {last['world_size']}",
                                 Place(last["file"], 0))

    # ---- tables ----

    def finish(self) -> Trace:
        """The tables of all files."""
        trace = self.trace
        steps = sum(rank["steps"] or self.whole_steps for rank in trace.ranks)
        trace.mean = _mean(trace.steps)
        trace.kernels = sorted(
            ({"name": name, "class": CLASSES[self.tables.classes[i]], **self.names[i].row(), "streams": _streams(self.names[i].streams)}
             for name, i in self.tables.names.items() if self.names[i].count > 0), key=lambda row: (-row["total_s"], row["name"]))
        trace.collectives = sorted(map(self._collective_row, self.sent.rows, self.sent_calls),
                                   key=lambda row: (-row["total_s"], row["collective"], -(row["size_B"] or 0)))
        trace.channels = sorted(
            ({"kind": flow.kind, "group": flow.group, "group_size": flow.group_size, "count": time.count / steps, "busy_s": time.busy_ns / steps / 1e9,
              "exposed_s": time.exposed_ns / steps / 1e9} for flow, time in zip(self.flows.rows, self.flow_times)),
            key=lambda row: (-row["busy_s"], row["kind"], row["group"]))
        trace.shapes = sorted((_shape_row(work, sized) for work, sized in zip(self.tables.works.rows, self.sized) if sized.count > 0),
                              key=lambda row: (-row["mean_s"] * row["count"], row["kernel"], row["shape"]))
        return trace

    def _collective_row(self, sent: Any, calls: _Calls) -> Row:
        number, kind = sent
        message, flow = self._message(number), self._flow(number, kind)
        size_B = None
        if message is not None:
            elements = message.out_elements if kind == "all_gather" else message.in_elements
            size_B = elements * type_B(message.type) if elements >= 0 and type_B(message.type) > 0 else None
        return {"collective": kind if message is None else message.collective, "kind": None if kind == "other" else kind, "group": flow.group or None,
                "group_size": flow.group_size, "type": message.type or None if message else None, "size_B": size_B, **calls.row()}


def _streams(streams: Sequence[int]) -> str:
    return " ".join(map(str, streams[:_STREAMS_MAX])) + (" ..." if len(streams) > _STREAMS_MAX else "")


def _shape_row(work: Work, sized: _Sized) -> Row:
    kernel, shape, type_name, why = work
    alone = sized.count - sized.beside
    return {"kernel": kernel, "shape": shape, "type": type_name, "count": sized.count, "beside": sized.beside,
            "mean_s": sized.alone / 1e9 / alone if alone > 0 else sized.total / 1e9 / sized.count,
            "left_out": "its kernels take no time" if why is None and sized.total == 0 else why}


def _step_row(step: Step, rank: int, steps: int) -> Row:
    """Nanoseconds of a step, or of several that nothing parts, as seconds of one."""
    def seconds(time_ns: float) -> float:
        return time_ns / (steps * 1e9)
    return {"rank": rank, "step": step.number, "wall_s": seconds(step.wall), "busy_s": seconds(step.busy), "compute_s": seconds(step.compute),
            "communication_s": seconds(step.communication), "exposed_s": seconds(step.exposed), "copy_s": seconds(step.copy), "idle_s": seconds(step.idle),
            "class_s": dict(zip(COMPUTE, map(seconds, step.classes)))}


def _mean(steps: List[Row]) -> Row:
    """The mean of steps, which sums as each of them does."""
    def mean(rows: List[Row]) -> Row:
        return {key: mean([row[key] for row in rows]) if isinstance(value, dict) else sum(row[key] / len(rows) for row in rows) for key, value in rows[0].items()}
    return {**mean(steps), "rank": NONE, "step": NONE}


def _note_unknown(call: Call, kernels: List[Row]) -> None:
    """What no rule knows is computation of class "other": the user should know what that is."""
    unknown = [row for row in kernels if row["class"] == CLASSES[OTHER]]
    if unknown:
        longest = ", ".join(f"'{row['name'][:80]}'" for row in unknown[:_UNKNOWN_SHOWN])
        call.talk.note(f"{len(unknown)} kernels have names that no rule knows, {sum(row['total_s'] for row in unknown):.6g} s altogether; they count as "
                       f"computation of class 'other'; the longest: {longest}")


def read(call: Call, paths: Sequence[str], steps: int = 1) -> Trace:
    """Traces of PyTorch's profiler, a file for each rank, summed up.
    steps: in a file without annotations ProfilerStep.  Ends the call (Fault) where a file is no such trace, has no work of a GPU, or is of another job than the
    others.  O(bytes + kernels log kernels); memory grows with the kernels, 130 B for each, not with the files."""
    reader = _Reader(call, steps)
    for path in paths:
        reader.read(path)
    trace = reader.finish()
    _note_unknown(call, trace.kernels)
    return trace
