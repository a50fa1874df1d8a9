"""What is kept of one file: work of the GPU in arrays of numbers, as there may be millions, and the operators that launched it.

An array's element is 4 or 8 bytes, where a Python object has 50: a kernel takes 56 bytes here, an operator of which something is wanted 40, all others none.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from typing import Any, Dict, Iterator, List, Optional, Tuple

from meshsim.tools._call import Call, Place, need
from meshsim.tools.importers.kineto.events import ANNOTATION, COPIED, GPU_ANNOTATION, KERNEL, NONE, OPERATOR, RUNTIME, Event, Message
from meshsim.tools.importers.kineto.names import ATTENTION, COMMUNICATION, COPY, GEMM, class_of, is_work, kind_of, work_of

_NESTED_MAX = 16  # operators that are looked through for one that lasts until a launch, from the latest one before it: they hardly stand in one another
_CHUNK = 512  # elements of arrays that are Python objects at once
_STEP = "ProfilerStep"

Mark = Tuple[bool, int, int, int]
"""A step by an annotation: whether the GPU's, its number, start and end [ns]."""


class Numbered(Dict[Any, int]):
    """Things with numbers, from 0 in the order in which they came, and `rows`, the things by number."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: List[Any] = []

    def __missing__(self, key: Any) -> int:
        self[key] = len(self)
        self.rows.append(key)
        return self[key]


class Tables:
    """What the files of all ranks have in common: names, messages and shapes by number."""

    def __init__(self) -> None:
        self.names = Numbered()
        self.classes: List[int] = []  # of each name
        self.kinds: List[str] = []  # of each name that communicates; others: "other"
        self.messages = Numbered()
        self.works = Numbered()

    def name(self, event: Event, message: Optional[Message]) -> int:
        """Number of a kernel's or copy's name, whose first event tells its class."""
        number = self.names[event.name]
        if number == len(self.classes):
            kind = COPY if event.category == COPIED else COMMUNICATION if message else class_of(event.name)
            self.classes.append(COMMUNICATION if message else kind)
            self.kinds.append(kind_of(event.name) if self.classes[number] == COMMUNICATION else "other")
        return number


def parts(column: Any) -> Iterator[Any]:
    """An array of numpy, piece by piece, as Python's objects of all of it would need much memory."""
    return (column[at:at + _CHUNK] for at in range(0, len(column), _CHUNK))


def chunks(*columns: Any) -> Iterator[Tuple[Any, ...]]:
    """Rows of arrays of numpy, as Python's numbers."""
    for pieces in zip(*map(parts, columns)):
        yield from zip(*(piece.tolist() for piece in pieces))


class Records:
    """Work of the GPU in one file, and who launched it. After `link`, columns are arrays of numpy, of one GPU."""

    def __init__(self, tables: Tables):
        self.tables = tables
        self.start, self.end, self.external, self.correlation = (array("q") for _ in range(4))
        self.name, self.message, self.stream, self.device = array("i"), array("i"), array("q"), array("q")
        self.marks: List[Mark] = []
        # operators of which something is wanted: external id, what they compute and send (numbers; NONE: nothing), and where they ran
        self.op_id, self.op_work, self.op_message, self.op_thread, self.op_start, self.op_end = (
            array("q"), array("i"), array("i"), array("q"), array("q"), array("q"))
        # calls of CUDA that launched a kernel
        self.call_correlation, self.call_thread, self.call_time = array("q"), array("q"), array("q")
        self.launch: Any = None
        """[records] index of the operator that launched it; NONE: none that is known"""

    # ---- events ----

    def take(self, event: Event) -> None:
        """Keep of an event what is needed."""
        if event.category in (KERNEL, COPIED):
            self._take_work(event)
        elif event.category == RUNTIME:
            self._take_call(event)
        elif event.name.startswith(_STEP) and event.category in (ANNOTATION, GPU_ANNOTATION, OPERATOR):  # the latter before PyTorch 1.11
            number = re.match(r"#?(\s*[+-]?\d{1,18})", event.name[len(_STEP):])
            self.marks.append((event.category == GPU_ANNOTATION, int(number[1]) if number else 0, event.start_ns, event.start_ns + event.duration_ns))
        elif event.category == OPERATOR:
            self._take_operator(event)

    def _take_work(self, event: Event) -> None:
        message = event.message()
        self.name.append(self.tables.name(event, message))
        self.message.append(NONE if message is None else self.tables.messages[message])
        self.start.append(event.start_ns)
        self.end.append(event.start_ns + event.duration_ns)
        for column, key in ((self.external, "external id"), (self.correlation, "correlation"), (self.stream, "stream"), (self.device, "device")):
            column.append(event.number(key))

    def _take_operator(self, event: Event) -> None:
        number, message = event.number("external id"), event.message()
        if number == NONE or message is None and not is_work(event.name):
            return
        self.op_id.append(number)
        self.op_work.append(self.tables.works[work_of(event.name, event.inputs())] if is_work(event.name) else NONE)
        self.op_message.append(NONE if message is None else self.tables.messages[message])
        self.op_thread.append(event.thread)
        self.op_start.append(event.start_ns)
        self.op_end.append(event.start_ns + event.duration_ns)

    def _take_call(self, event: Event) -> None:
        """cudaLaunchKernel, cudaLaunchKernelExC, cuLaunchKernel, hipModuleLaunchKernel and others."""
        correlation = event.number("correlation")
        if correlation != NONE and "Launch" in event.name:
            self.call_correlation.append(correlation)
            self.call_thread.append(event.thread)
            self.call_time.append(event.start_ns)

    # ---- who launched what ----

    def link(self, call: Call, path: str) -> None:
        """Lead from kernels to the operators that launched them, and keep the work of the GPU with most of it: a process of a training job has one, and copies
        that it takes part in on others.  O(records log records)."""
        np, = need(call, "numpy")
        if not self.start:
            call.refuse("no work of a GPU: expected events of the categories kernel, gpu_memcpy or gpu_memset (a profile with ProfilerActivity.CUDA has them)",
                        Place(path, 0))
        for key in ("start", "end", "external", "correlation", "name", "message", "stream", "device"):
            setattr(self, key, np.array(getattr(self, key)))
        self._find_launches(np)
        devices, first, counts = np.unique(self.device, return_index=True, return_counts=True)
        best = max(range(len(devices)), key=lambda i: (counts[i], -first[i]))
        if len(devices) > 1:
            call.talk.note(f"{len(self.device) - counts[best]} events are of other GPUs than {devices[best]}, which has most, and left out", Place(path, 0))
            kept = self.device == devices[best]
            for key in ("start", "end", "name", "message", "stream", "launch"):
                setattr(self, key, getattr(self, key)[kept])
        del self.external, self.correlation, self.device

    def _find_launches(self, np: Any) -> None:
        """A kernel's `External id` is its operator's where Kineto linked them. Versions about PyTorch 1.13 have the kernel's own correlation there
        (facebookresearch/HolisticTraceAnalysis, its test of call stacks): then the call of CUDA with that correlation tells thread and time of the launch, and
        the operator is the innermost one that ran there. Operators of which nothing is to be known are not kept, so what they launched inside of another is
        told by its class."""
        ids = np.array(self.op_id)
        self.launch = _find(np, ids, self.external)
        calls = _find(np, np.array(self.call_correlation), self.correlation)
        first = _find(np, ids, ids)  # of operators with the same id
        threads = self._threads(np)
        for i in np.nonzero((calls != NONE) & ((self.launch == NONE) | (self.external == self.correlation)))[0].tolist():
            at = int(calls[i])
            operator = _innermost(threads.get(self.call_thread[at]), self.call_time[at])
            if operator != NONE and self._is_of(self.tables.classes[self.name[i]], int(first[operator])):
                self.launch[i] = first[operator]
        lacks = (self.message == NONE) & (self.launch != NONE)
        self.message[lacks] = np.array(self.op_message, dtype=np.int32)[self.launch[lacks]]

    def _threads(self, np: Any) -> "Dict[int, Tuple[array[int], array[int], array[int]]]":
        """Operators of each thread by their start: starts, ends, indices."""
        start, thread = np.array(self.op_start), np.array(self.op_thread)
        order = np.lexsort((start, thread))
        found = {}
        for number in np.unique(thread).tolist():
            own = order[thread[order] == number]
            found[number] = (array("q", start[own].tobytes()), array("q", np.array(self.op_end)[own].tobytes()), array("q", own.astype(np.int64).tobytes()))
        return found

    def _is_of(self, kernel_class: int, operator: int) -> bool:
        """Whether a kernel's class is what its operator computes or sends."""
        if self.op_work[operator] == NONE:
            return kernel_class == COMMUNICATION
        return kernel_class == (GEMM if self.tables.works.rows[self.op_work[operator]][0] == "gemm" else ATTENTION)


def _find(np: Any, ids: Any, wanted: Any) -> Any:
    """Index of the first of some ids that is the wanted one; NONE: there is none, or none is wanted."""
    if len(ids) == 0:
        return np.full(len(wanted), NONE, dtype=np.int64)
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids[order], wanted), len(ids) - 1)
    return np.where((ids[order][at] == wanted) & (wanted != NONE), order[at], NONE)


def _innermost(thread: "Optional[Tuple[array[int], array[int], array[int]]]", time_ns: int) -> int:
    """The innermost operator that ran on a thread at a time; NONE: none of those that are kept."""
    if thread is None:
        return NONE
    starts, ends, operators = thread
    after = bisect_right(starts, time_ns)
    return next((operators[i] for i in range(after - 1, max(after - 1 - _NESTED_MAX, -1), -1) if ends[i] >= time_ns), NONE)
