"""Logs of nccl-tests: what a benchmark of collectives prints.

Comments tell how many GPUs of which hosts take part and, since version 2.13.7, which collective it is; a line of results has size, count, type,
and out of place and in place each time [us], algbw, busbw and the number of wrong results. A file may hold several runs, and each line may begin
with what mpirun or srun puts before it.  Source: NVIDIA/nccl-tests, src/common.cu.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Dict, Iterator, List, Optional, Sequence, Set, Tuple

from .._call import Place, Talk
from .source import IGNORED, UNKNOWN, USED, Key, finish, number, read_bytes

LINE_MAX_B, HOSTS_MAX, BLOCK, RESULTS_MIN, WORDS_MAX = 512, 4096, 4, 11, 24
UNKNOWN_MAX, SHOWN_MAX = 100, 60
"""lines that nobody understands are told one by one up to so many of a file, with so many characters"""
US_IN_S = 1e-6

ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL = "all_reduce", "all_gather", "reduce_scatter", "all_to_all"
# Parts of the names of nccl-tests' programs, and of the names that users give logs.
PROGRAMS = {"all_reduce": ALL_REDUCE, "all_gather": ALL_GATHER, "reduce_scatter": REDUCE_SCATTER, "alltoall": ALL_TO_ALL,
            "all_to_all": ALL_TO_ALL, "allreduce": ALL_REDUCE}

# Sorts of lines: name, how a comment begins behind '#' and blanks, what becomes of them and why. A sort is told of once a file.
SORTS: Dict[str, Tuple[Tuple[str, ...], str, str]] = {
    "nThread ...": (("nThread ",), USED, "ranks, where none are listed"),
    "Rank ...": (("Rank ",), USED, "system, ranks, nodes"),
    "Collective test starting": (("Collective test starting:",), USED, "op"),
    "headings": (("Using devices", "Collective test concluded"), IGNORED, "no figure"),
    "names of columns": (("out-of-place", "in-place", "size ", "(B) "), IGNORED, "nccl-tests has one order of columns"),
    "Blocking Enabled": (("Blocking Enabled",), IGNORED, "each time holds a barrier then, which no fit parts off"),
    "how it ran": (("Parallel Init", "Swap Comms", "nccl-tests version", "Reducing maxBytes", "Errors with asterisks"), IGNORED, "times are the same"),
    "Out of bounds values": (("Out of bounds values",), IGNORED, "lines of results say which are wrong"),
    "Avg bus bandwidth": (("Avg bus bandwidth",), IGNORED, "follows from the results"),
    "NCCL ...": ((), IGNORED, "messages of the library"),
    "results": ((), USED, "bytes, time_us, busbw_gb_s, in_place_time_us, in_place_busbw_gb_s"),
}
# Before version 2.12 the last column of a block was the largest deviation, such as 5e-07.  Source of what is allowed: NVIDIA/nccl-tests,
# src/common.cu, DeltaMaxValue, of half precision, the least exact type.
DEVIATION_MAX = 1e-2
_OWN = re.compile(r"#|$|\d+ +\d+ ", re.A)
_BLANKS = " \t\n\v\f\r"


@dataclass
class Point:
    """A measured collective."""

    system: str
    """the GPU in NVIDIA's words"""
    kind: Optional[str]
    """such as ALL_REDUCE; None while no line told it"""
    ranks: int
    nodes: int
    size_B: float
    measured_s: float
    """out of place"""
    in_place_s: Optional[float]


def busbw_factor(kind: Optional[str], ranks: int) -> float:
    """Bus bandwidth over algorithm bandwidth.  Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md."""
    return (2.0 if kind == ALL_REDUCE else 1.0) * (ranks - 1) / ranks


def kind_in(text: str) -> Optional[str]:
    """The collective that a name of a program or a log says; None: none."""
    return next((kind for program, kind in PROGRAMS.items() if program in text), None)


# ---- lines ----

# What stands before a line: "[1,0]<stdout>:" of mpirun, "0:" of srun, "[pod]" and "pod:" of what shows several logs, "service  |", and a time,
# "2026-01-31T12:00:00Z".
_LABEL = re.compile(r"\[[^\]]*\](?:<std[^:]+:)?|[^ #|]+ *\||[^ #]*:(?= |\Z)|[^ #]{4}-[^ #]{5}T[^ #]{8,}(?= |\Z)")


def take_label(line: str) -> str:
    """A line without what launchers and tools that collect logs put before it."""
    rest = line
    for _ in range(3):
        label = None if _OWN.match(rest) else _LABEL.match(rest)
        if label is None:
            break
        rest = rest[label.end():].strip(_BLANKS)
    return rest if _OWN.match(rest) else line


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text without their ends; a '\\r' ends none by itself."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end - (text[end - 1:end] == "\r" and end > start)]
        start = end + 1


def is_log(text: str) -> bool:
    """Whether a text is a log of nccl-tests, by its line of settings."""
    return any(take_label(line.strip(_BLANKS)).startswith("# nThread ") for _, line in zip(range(10000), lines_of(text)))


# ---- results ----

@dataclass
class _Block:
    """One of the two blocks of a line, as printed."""

    time_us: float
    algbw: float
    busbw: float
    words: Sequence[str]
    scale: float = 1.0
    """time_us over the time as printed"""

    @staticmethod
    def of(words: Sequence[str]) -> "Optional[_Block]":
        values = [number(word) for word in words[:BLOCK - 1]]
        time, algbw, busbw = values
        if time is None or algbw is None or busbw is None or not 0 < time < math.inf:
            return None
        return _Block(time, algbw, busbw, words)

    def last_digit(self, index: int) -> float:
        """What one in the last printed digit of a figure is worth."""
        exponent = Decimal(self.words[index]).as_tuple().exponent
        return 10.0 ** min(exponent, 300) if isinstance(exponent, int) else 0.0

    def is_in_ms(self, size_B: float) -> bool:
        """Whether the time is in milliseconds, as in logs of version 1: its bandwidth says so."""
        return self.algbw > 0.1 and 900 * self.algbw < size_B / self.time_us * 1e-3 < 1100 * self.algbw

    def law_fault(self, kind: Optional[str], ranks: int) -> str:
        """Whether bus bandwidth is not the algorithm's times the collective's factor, to the printed digits; "": it is.
        Early versions have the bandwidth of the bus in both columns, of all collectives but all-reduce."""
        reduce, other = busbw_factor(ALL_REDUCE, ranks), busbw_factor(ALL_GATHER, ranks)
        factors = [reduce] if kind == ALL_REDUCE else [other, 1.0] if kind else [reduce, other, 1.0]
        slack = self.last_digit(2) + factors[0] * self.last_digit(1)
        if not any(abs(self.busbw - factor * self.algbw) <= slack for factor in factors):
            return (f"busbw is {self.words[2]} where algbw {self.words[1]} makes {factors[0] * self.algbw:.2f}, "
                    f"of {kind or 'a collective'} over {ranks} ranks")
        return ""

    def time_fault(self, size_B: float) -> str:
        """Whether algorithm bandwidth is not size over time, to the printed digits; "": it is."""
        expected = size_B / self.time_us * 1e-3
        slack = self.last_digit(1) + expected * self.last_digit(0) * self.scale / self.time_us
        return f"algbw is {self.words[1]} where size and time make {expected:.2f}" if abs(self.algbw - expected) > slack else ""


def _find_wrong(blocks: Sequence[str]) -> Optional[str]:
    """The wrong results of a block, where it has any; "N/A" where nobody looked."""
    for word in (blocks[BLOCK - 1], blocks[2 * BLOCK - 1]):
        wrong = number(word)
        if wrong is not None and not abs(wrong) <= (DEVIATION_MAX if "e" in word else 0):
            return word
    return None


def _guess_kind(ranks: int, block: _Block) -> Optional[str]:
    """An all-reduce is told by its bus bandwidth, 2 (n - 1) / n of the other one; the rest look alike."""
    factor = busbw_factor(ALL_REDUCE, ranks)
    is_reduce = block.algbw > 1 and (factor - 0.05) * block.algbw < block.busbw < (factor + 0.05) * block.algbw
    return ALL_REDUCE if is_reduce else None


# ---- a log ----

@dataclass
class _Run:
    """What the lines of a run have told so far."""

    kind: Optional[str]
    first: int
    """of its points"""
    listed: int = 0
    """lines of ranks"""
    threads_gpus: int = 0
    group: int = -1
    system: Optional[str] = None
    hosts: Set[str] = field(default_factory=set)
    ranks: Set[int] = field(default_factory=set)
    gpus: Set[Tuple[str, str]] = field(default_factory=set)

    @property
    def rank_count(self) -> int:
        return self.listed if self.listed > 0 else self.threads_gpus


class _Reader:
    def __init__(self, talk: Talk, name: str, points: List[Point]):
        self.talk, self.name, self.points = talk, name, points
        self.keys: List[Key] = []
        self.line, self.source = 0, ""
        self.counts: Dict[str, Tuple[int, int]] = {}  # lines of a sort, and the first of them
        self.unknown = self.results = 0
        self.is_starting = False  # a run's collective is told, its settings are not yet
        self.name_kind = kind_in(name[max(name.rfind("/"), 0):])
        self.run = _Run(self.name_kind, len(points))

    def fault(self, what: str, is_of_line: bool = True) -> None:
        self.talk.error(what, Place(self.name, self.line, source=self.source) if is_of_line else Place(self.name, 0))

    def read(self, text: str) -> None:
        before = self.talk.errors
        for self.line, self.source in enumerate(lines_of(text), 1):
            if self.source:
                self.read_line(self.source)
        if self.talk.errors == before and self.results == 0:
            self.fault("a log of nccl-tests without a line of results", False)
        if self.talk.errors == before:
            self.settle_run()
        if self.talk.errors == before:
            self.tell_sorts()

    # -- what becomes of lines --

    def count(self, sort: str) -> None:
        count, first = self.counts.get(sort, (0, self.line))
        self.counts[sort] = (count + 1, first)

    def tell_unknown(self, text: str) -> None:
        self.unknown += 1
        if self.unknown <= UNKNOWN_MAX:
            self.keys.append(Key(text[:SHOWN_MAX], UNKNOWN, place=Place(self.name, self.line)))

    def tell_sorts(self) -> None:
        def lines(count: int) -> str:
            return f"{count} line{'' if count == 1 else 's'}"

        for sort, (_, fate, why) in SORTS.items():
            if sort in self.counts:
                count, first = self.counts[sort]
                self.keys.append(Key(sort, fate, why, lines(count), Place(self.name, first)))
        if self.unknown > UNKNOWN_MAX:
            self.keys.append(Key("further lines", UNKNOWN, value=lines(self.unknown - UNKNOWN_MAX), place=Place(self.name, 0)))

    # -- runs --

    def settle_run(self) -> None:
        """Points whose collective no line told are of the kind that a later one showed."""
        points = self.points[self.run.first:]
        kind = self.run.kind or next((point.kind for point in points if point.kind), None)
        if kind is None and points:
            self.fault("which collective it is, is told neither in the log nor by the file's name, such as 'all_gather.log'", False)
        for point in points:
            point.kind = kind

    def start_run(self, kind: Optional[str]) -> None:
        """Another run begins: nothing of the one before holds for it."""
        self.settle_run()
        self.run = _Run(kind, len(self.points))

    # -- comments --

    def read_comment(self, text: str) -> None:
        comment = text.lstrip("# \t")
        sort = next((sort for sort, (beginnings, _, _) in SORTS.items() if comment.startswith(beginnings)), None) if comment else None
        if sort is None:
            if comment:
                self.tell_unknown(text)
            return
        self.count(sort)
        if sort == "nThread ...":
            self.read_settings(comment)
        elif sort == "Rank ...":
            self.read_rank(comment)
        elif sort == "Collective test starting":
            self.start_run(kind_in(comment))
            self.is_starting = True
            if self.run.kind is None:
                self.fault("a collective that is not read")

    def read_settings(self, text: str) -> None:
        self.start_run(self.run.kind if self.is_starting else self.name_kind)
        self.is_starting = False
        found = re.match(r"nThread\s*(\+?\d+)\s*nGpus\s*(\+?\d+)", text, re.A)
        threads, gpus = (int(found[1]), int(found[2])) if found else (0, 0)
        self.run.threads_gpus = threads * gpus if max(threads, gpus) <= HOSTS_MAX else 0

    def read_rank(self, text: str) -> None:
        """A line such as "Rank  0 Group  0 Pid  7 on   node1 device  0 [0x07] NVIDIA A100-SXM4-80GB"."""
        found = re.search(r" on \s*(\S{1,127})", text, re.A)
        gpu_at = text.find("]")
        if found is None or gpu_at < 0:
            self.fault("expected '# Rank N ... on HOST device N [BUS] GPU'")
            return
        run, host, gpu = self.run, found[1], text[gpu_at + 1:].lstrip(" \t")
        self.check_group(text)
        self.check_repeats(text, host, text[found.end():gpu_at + 1].strip())
        run.listed += 1
        if run.system is None:
            run.system = gpu
        elif run.system != gpu:
            self.fault(f"another GPU than the ranks before: '{gpu}'")
            return
        if host not in run.hosts and len(run.hosts) == HOSTS_MAX:
            self.fault("more hosts than are read")
            return
        run.hosts.add(host)

    def check_group(self, text: str) -> None:
        """All ranks that are listed share one communicator: NCCL_TESTS_SPLIT makes several, of which each is a group, and the times are those of
        all of them at once."""
        found = re.search(r" Group \s*([+-]?\d+)", text, re.A)
        if found is None:
            return  # versions before groups
        self.run.group = int(found[1]) if self.run.listed == 0 else self.run.group
        if int(found[1]) != self.run.group:
            self.fault("ranks of several groups, whose collectives run at once; expected all of one")

    def check_repeats(self, text: str, host: str, gpu: str) -> None:
        """A rank that is there twice is of another program; a GPU that is there twice may be of another machine."""
        found = re.match(r"Rank\s+(\d+)", text, re.A)
        rank = int(found[1]) if found else -1
        if rank >= 0 and rank in self.run.ranks:
            self.fault(f"rank {rank} is there twice: several programs ran side by side, each by itself, as those of nccl-tests do that are built without MPI=1")
        elif (host, gpu) in self.run.gpus:
            self.talk.warning(f"'{gpu}' of host '{host}' has two ranks: where several machines have this name, they count as one node",
                              Place(self.name, self.line))
        self.run.ranks.add(rank)
        self.run.gpus.add((host, gpu))

    # -- results --

    def read_result(self, text: str) -> None:
        """Size, and the two blocks of results: out of place, and in place."""
        words = [word for word in re.split(r"[ \t]+", text) if word][:WORDS_MAX]
        if len(words) < RESULTS_MIN:
            self.fault("expected size, count, type and twice time, algbw, busbw and wrong results")
            return
        blocks = words[-2 * BLOCK:]
        size_B, block, in_place = number(words[0]), _Block.of(blocks), _Block.of(blocks[BLOCK:])
        if block is None or size_B is None or math.isinf(size_B):
            self.fault("expected a size and a time above 0")
            return
        if block.is_in_ms(size_B):
            for one in (block, in_place):
                if one is not None:
                    one.scale = 1e3
                    one.time_us *= one.scale
        wrong = _find_wrong(blocks)
        ranks = self.run.rank_count
        if wrong is not None:
            self.fault(f"a benchmark with wrong results: '{wrong}'")
        elif ranks < 2:
            self.fault("results without '# Rank' lines before them that tell of 2 GPUs or more")
        elif not self.breaks_law(block, in_place, ranks, size_B):
            self.results += 1
            if size_B > 0:
                self.points.append(Point(self.run.system or "unknown", self.run.kind or _guess_kind(ranks, block), ranks, max(1, len(self.run.hosts)),
                                         size_B, block.time_us * US_IN_S, in_place.time_us * US_IN_S if in_place else None))

    def breaks_law(self, block: _Block, in_place: Optional[_Block], ranks: int, size_B: float) -> bool:
        """Tell of figures that a line has twice and that differ. Versions differ in what the size of all collectives but all-reduce counts, so that
        only an all-reduce's time is compared."""
        kind = self.run.kind
        faults = [one.law_fault(kind, ranks) for one in (block, in_place) if one]
        faults += [block.time_fault(size_B)] if kind == ALL_REDUCE and size_B > 0 else []
        why = next(filter(None, faults), "")
        if why:
            self.fault(f"figures that contradict each other: {why}")
        return bool(why)

    def read_line(self, source: str) -> None:
        text = take_label(source.strip(_BLANKS))
        if not text:
            return
        if len(text) >= LINE_MAX_B // 4 and len(text.encode("utf-8", "surrogateescape")) >= LINE_MAX_B:
            self.count("NCCL ...")  # messages of the library are longer than any line of results
            return
        text = text.partition("\0")[0]
        if text.startswith("#"):
            self.read_comment(text)
        elif re.match(r"\s*\d+(?:\s|$)", text, re.A):
            self.count("results")
            self.read_result(text)
        elif " NCCL " in text or text.startswith("NCCL "):
            self.count("NCCL ...")
        else:
            self.tell_unknown(text)


def read_text(talk: Talk, name: str, text: str, points: List[Point]) -> List[Key]:
    """Add the points of a log, and return what became of its lines. Each fault is told, and the points of a log with one are no use."""
    reader = _Reader(talk, name, points)
    reader.read(text.removeprefix("\ufeff"))
    return reader.keys


def read(*paths: str, talk: Optional[Talk] = None) -> List[Point]:
    """The points of logs of nccl-tests, in their order.  Raises Fault after every fault is told on the standard error: a file that cannot be read,
    wrong results, a rank that is there twice, a bus bandwidth that does not follow from the algorithm's."""
    talk = talk or Talk()
    points: List[Point] = []
    for path in paths:
        read_text(talk, path, read_bytes(talk, path).decode("utf-8", "surrogateescape"), points)
    finish(talk)
    return points
