"""A machine as NCCL sees it: GPUs, their NVLinks and NICs, in the XML tree of NUMA nodes and PCI that NCCL_TOPO_DUMP_FILE makes it write.

Source: NVIDIA/nccl, src/graph/xml.cc (what is written), src/graph/topo.cc (what it means).
"""

from __future__ import annotations

import math
import re
import xml.parsers.expat
from dataclasses import dataclass, field, replace
from typing import Dict, List, Optional, Set, Tuple
from xml.parsers.expat import errors

from .._call import INPUT, Fault, Place, Talk
from .source import UNKNOWN, Key, leading_number, number, read_bytes, table

LEVELS_MAX, ELEMENTS_MAX, HOSTS_MAX, NICS_MAX, COUNT_MAX, UNKNOWN_MAX = 64, 100_000, 1024, 1024, 2**20, 100
MBIT_S_IN_BPS, MB_S_IN_BPS, US_IN_S = 125e3, 1e6, 1e-6
USUAL_MBIT_S = 10000.0
"""of a NIC that says no speed.  Source: NCCL, src/graph/topo.cc"""
SWITCH_CLASS = "0x068000"
"""PCI class of NVSwitches.  Source: NCCL, src/graph, the header of xml.cc"""

KNOWN = "importers/nccl_topo.yaml"
ELEMENTS = ("system", "cpu", "pci", "gpu", "nvlink", "c2c", "nic", "net")

# What the NVLinks of a node's GPUs join.
NO_LINKS = "none"
SWITCHED = "switch"
"""all GPUs, by switches"""
PAIRED = "pairs"
"""every two GPUs, by equally many links"""
MESHED = "mesh"
"""all GPUs, over one another: some two have no link, or fewer than others"""
APART = "apart"
"""some of the GPUs, as bridges do; the others are reached over PCI"""
UNSEEN = "unseen"
"""devices that all GPUs share and that are no GPUs of the file"""


@dataclass
class Gpus:
    """The GPUs of a machine, all alike."""

    count: int = 0
    sm: int = 0
    """compute capability, such as 90; 0: not said"""
    vendor: int = 0
    """of PCI, such as 0x10de; 0: not said"""
    device: int = 0
    links: int = 0
    """of NVLink, of a GPU"""
    pair_links: int = 0
    """of these, between two GPUs, where they are PAIRED"""
    joined: str = NO_LINKS
    host_Bps: float = 0.0
    """to the processor and back, each way; 0: not said"""
    place: Optional[Place] = None
    link_place: Optional[Place] = None


@dataclass
class Nics:
    """The NICs of a machine, of the speed that most have."""

    count: int = 0
    speed_Bps: float = 0.0
    """of a port, or what its PCI link takes, if that is less"""
    port_Bps: float = 0.0
    latency_s: float = 0.0
    """that its driver reports"""
    has_gdr: bool = False
    """GPUs' memory is read and written directly"""
    has_sharp: bool = False
    """the network reduces, and NCCL has the plug-in for it"""
    others: int = 0
    """NICs of another speed, which are left out"""
    place: Optional[Place] = None


@dataclass
class Machine:
    """A machine, or several that one NVLink switch system joins."""

    hosts: int = 0
    gpus: Gpus = field(default_factory=Gpus)
    """of all hosts"""
    nics: Nics = field(default_factory=Nics)
    """of all hosts"""
    cpu: str = ""
    """intel or amd; "": no maker is said"""
    cpu_place: Optional[Place] = None

    def is_like(self, other: "Machine") -> bool:
        """Whether two nodes are of one sort, as all of a platform are."""
        mine, its = self.gpus, other.gpus
        return ((self.hosts, mine.count, mine.sm, mine.device, mine.links, mine.joined, self.nics.count)
                == (other.hosts, its.count, its.sm, its.device, its.links, its.joined, other.nics.count)
                and abs(self.nics.speed_Bps - other.nics.speed_Bps) < 1)


# ---- XML ----

@dataclass
class _Element:
    name: str
    attributes: Dict[str, str]
    place: Place
    parent: "Optional[_Element]"
    children: "List[_Element]" = field(default_factory=list)

    def host(self) -> Optional[str]:
        """The hash of the machine that it stands in."""
        element = self
        while element.parent is not None and element.name != "cpu":
            element = element.parent
        return element.attributes.get("host_hash")


def _parse(talk: Talk, name: str, data: bytes) -> _Element:
    """The tree of a document. A document type is refused, by whose entities a small file could grow to any size."""
    parser = xml.parsers.expat.ParserCreate()
    top: List[_Element] = []
    open_: List[_Element] = []
    elements = 0

    def refuse(why: str) -> Fault:
        talk.error(why, Place(name, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1))
        return Fault(INPUT)

    def begin(tag: str, attributes: Dict[str, str]) -> None:
        nonlocal elements
        elements += 1
        if len(open_) == LEVELS_MAX or elements > ELEMENTS_MAX:
            raise refuse("more than 64 levels or 100000 elements")
        place = Place(name, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
        element = _Element(tag, attributes, place, open_[-1] if open_ else None)
        (open_[-1].children if open_ else top).append(element)
        open_.append(element)

    def doctype(*_: object) -> None:
        raise refuse("a document type is not read, as it may hold entities")

    parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = begin, lambda _tag: open_.pop(), doctype
    try:
        parser.Parse(data, True)
    except xml.parsers.expat.ExpatError as error:
        raise refuse(f"not valid XML: {errors.messages.get(error.code, str(error))}") from None
    except LookupError:
        raise refuse("not valid XML: unknown encoding") from None
    return top[0]


# ---- GPUs ----

@dataclass
class _Link:
    target: str
    count: int
    is_to_switch: bool
    place: Place


@dataclass
class _Gpu:
    facts: Gpus
    host: Optional[str]
    bus: str
    links: List[_Link]
    element: _Element


def _pci_Bps(pci: _Element) -> float:
    """What a PCI link carries each way: "32.0 GT/s PCIe" on 16 lanes; 0: it does not say. The first two generations write 10 bits for 8, later
    ones 130 for 128."""
    gt_s, lanes = (leading_number(pci.attributes.get(key, "")) for key in ("link_speed", "link_width"))
    is_sound = 0 < gt_s < 1000 and 0 < lanes <= 64
    return gt_s * 1e9 * lanes * (8.0 / 10 if gt_s < 8 else 128.0 / 130) / 8 if is_sound else 0.0


def _is_connected(count: int, pairs: Set[Tuple[int, int]]) -> bool:
    """Whether links lead from the first GPU to all others, over one another."""
    near: Dict[int, Set[int]] = {}
    for a, b in pairs:
        near.setdefault(a, set()).add(b)
    reached, border = {0}, [0]
    while border:
        new = near.get(border.pop(), set()) - reached
        reached |= new
        border += new
    return len(reached) == count


def _join(gpus: List[_Gpu]) -> Tuple[str, int]:
    """What the links of a machine's GPUs join, and how many there are between two, where every two have equally many."""
    index = {gpu.bus: i for i, gpu in enumerate(gpus)}
    counts: Dict[Tuple[int, int], int] = {}
    outside = [{link.target for link in gpu.links if link.target not in index and link.target} for gpu in gpus]
    for i, gpu in enumerate(gpus):
        for link in gpu.links:
            peer = index.get(link.target, i)
            if peer != i:  # a link to itself leads to no other GPU
                counts[i, peer] = counts.get((i, peer), 0) + link.count
    if len(gpus) == 1 or (not counts and outside[0] and all(one == outside[0] for one in outside)):
        return UNSEEN, 0
    values = set(counts.values())
    if len(counts) == len(gpus) * (len(gpus) - 1) and len(values) == 1:
        return PAIRED, values.pop()
    return (MESHED if _is_connected(len(gpus), set(counts)) else APART), 0


# ---- a file ----

@dataclass
class _Nic:
    name: Optional[str]
    host: Optional[str]
    facts: Nics


class _Refused(Exception):
    """An element that cannot be read; told."""


class _Reader:
    def __init__(self, talk: Talk):
        self.talk = talk
        self.machine = Machine()
        self.hosts: List[Optional[str]] = []
        self.gpus: List[_Gpu] = []
        self.nics: List[_Nic] = []
        self.known: Dict[str, Tuple[int, Place]] = {}
        self.unknown: Dict[str, Place] = {}

    def fault(self, element: _Element, why: str) -> _Refused:
        self.talk.error(f"{element.name}: {why}", element.place)
        return _Refused()

    # -- attributes --

    def count(self, element: _Element, key: str, default: int = 0) -> int:
        """A whole number, also "0x10de"."""
        text = element.attributes.get(key)
        if text is None:
            return default
        found = re.fullmatch(r"[ \t\n\v\f\r]*([+-]?)(?:0x([0-9a-f]+)|0([0-7]*)|([1-9]\d*))", text, re.I | re.A)
        value = 0
        if found:
            digits = found[2] or found[3] or found[4] or "0"
            value = int(digits, 16 if found[2] else 8 if found[3] else 10) if len(digits) < 100 else COUNT_MAX + 1
        if not found or value > COUNT_MAX or (found[1] == "-" and value > 0):
            raise self.fault(element, f"expected a whole number of 0 or more as {key}, got '{text[:40]}'")
        return value

    def number(self, element: _Element, key: str) -> float:
        text = element.attributes.get(key)
        value = 0.0 if text is None else number(text)
        if value is None or not math.isfinite(value) or abs(value) > 1e12:
            raise self.fault(element, f"expected a number as {key}, got '{(text or '')[:40]}'")
        return value

    # -- elements --

    def read_cpu(self, cpu: _Element) -> None:
        maker = {"AuthenticAMD": "amd", "GenuineIntel": "intel"}.get(cpu.attributes.get("vendor", ""))
        if maker and not self.machine.cpu:
            self.machine.cpu, self.machine.cpu_place = maker, cpu.place
        host = cpu.attributes.get("host_hash")
        if host not in self.hosts:
            if len(self.hosts) == HOSTS_MAX:
                raise self.fault(cpu, "more machines than are read")
            self.hosts.append(host)

    def read_gpu(self, gpu: _Element) -> None:
        pci = gpu.parent
        if pci is None or pci.name != "pci":
            raise self.fault(gpu, "expected a GPU in a pci element")
        if next(child for child in pci.children if child.name == "gpu") is not gpu:
            return  # several ranks or parts of a GPU stand in one slot
        facts = Gpus(place=gpu.place, host_Bps=_pci_Bps(pci))
        one = _Gpu(facts, gpu.host(), pci.attributes.get("busid", "").lower(), [], gpu)
        self.gpus.append(one)
        facts.sm = self.count(gpu, "sm")
        facts.vendor, facts.device = self.count(pci, "vendor"), self.count(pci, "device")
        for element in gpu.children:
            self.read_link(one, element)
        self.check_alike(one)

    def read_link(self, gpu: _Gpu, element: _Element) -> None:
        count, facts = self.count(element, "count"), gpu.facts
        if element.name == "nvlink":
            facts.link_place = element.place if facts.links == 0 else facts.link_place
            facts.links += count
            is_to_switch = element.attributes.get("tclass") == SWITCH_CLASS
            gpu.links.append(_Link(element.attributes.get("target", "").lower(), count, is_to_switch, element.place))
            facts.joined = SWITCHED if is_to_switch or facts.joined == SWITCHED else UNSEEN
        elif element.name == "c2c":
            facts.host_Bps = self.number(element, "bw") * count * MB_S_IN_BPS
            if facts.host_Bps < 0:
                raise self.fault(element, f"expected a bandwidth of 0 or more as bw, got '{element.attributes['bw'][:40]}'")
        elif element.name == "xgmi":
            raise self.fault(element, "links of AMD's GPUs, in a file of RCCL, are not read; expected one of NCCL, with NVLink or PCI alone")

    def check_alike(self, gpu: _Gpu) -> None:
        first, one = self.gpus[0].facts, gpu.facts
        if (one.sm, one.device, one.vendor) != (first.sm, first.device, first.vendor):
            raise self.fault(gpu.element, "another GPU than those before; a platform has one type")
        if one.links != first.links or (one.joined == SWITCHED) != (first.joined == SWITCHED):
            raise self.fault(gpu.element, f"expected {first.links} links of NVLink, as of the GPUs before, got {one.links}")

    def read_net(self, net: _Element) -> None:
        if net.parent is None or net.parent.name != "nic" or net.parent.parent is None:
            raise self.fault(net, "expected a net in a nic element")
        pci = net.parent.parent
        mbit_s, latency_us = self.number(net, "speed"), self.number(net, "latency")
        gdr, coll = self.count(net, "gdr"), self.count(net, "coll")
        if self.count(net, "net", 1) == 0 or "dev" not in net.attributes:
            return  # part of another one, or not for NCCL
        port_Bps = (mbit_s if mbit_s > 0 else USUAL_MBIT_S) * MBIT_S_IN_BPS
        pci_Bps = _pci_Bps(pci) if pci.name == "pci" else 0.0
        facts = Nics(1, min(port_Bps, pci_Bps) if pci_Bps > 0 else port_Bps, port_Bps, max(0.0, latency_us) * US_IN_S, gdr > 0, coll > 0, place=net.place)
        nic = _Nic(net.attributes.get("name"), net.host(), facts)
        if nic.name is not None and any((known.name, known.host) == (nic.name, nic.host) for known in self.nics):
            return  # a socket's NIC stands below each of the processors
        if len(self.nics) == NICS_MAX:
            raise self.fault(net, "more NICs than are read")
        self.nics.append(nic)

    def walk(self, element: _Element) -> None:
        """Read an element and those below it; the parser bounds the levels."""
        try:
            if element.name not in ELEMENTS:
                self.note(element.name, element)
                return
            for key in element.attributes:
                self.note(f"{element.name} {key}", element)
            reader = {"cpu": self.read_cpu, "gpu": self.read_gpu, "net": self.read_net}.get(element.name)
            if reader:
                reader(element)
        except _Refused:
            pass
        for child in element.children:
            self.walk(child)

    def note(self, name: str, element: _Element) -> None:
        """Count an attribute or element; of those that are unknown the first stands for all."""
        if name in table(KNOWN):
            count, first = self.known.get(name, (0, element.place))
            self.known[name] = (count + 1, first)
        elif name not in self.unknown:
            if len(self.unknown) == UNKNOWN_MAX:
                raise self.fault(element, f"more than {UNKNOWN_MAX} names that NCCL does not have")
            self.unknown[name] = element.place

    # -- the whole --

    def choose_nics(self) -> None:
        """The speed that most have, of several the highest."""
        all_facts = [nic.facts for nic in self.nics]
        counted = [replace(facts, count=sum(abs(other.speed_Bps - facts.speed_Bps) < 1 for other in all_facts)) for facts in all_facts]
        best = max(counted, key=lambda facts: (facts.count, facts.speed_Bps), default=Nics())
        best.others = len(self.nics) - best.count
        self.machine.nics = best

    def check_both_ends(self, gpus: List[_Gpu]) -> None:
        """Two GPUs say of each other how many links join them."""
        counts: Dict[Tuple[str, str], int] = {}
        for gpu in gpus:
            for link in gpu.links:
                counts[gpu.bus, link.target] = counts.get((gpu.bus, link.target), 0) + link.count
        by_bus = {gpu.bus: gpu for gpu in gpus}
        for (bus, target), count in counts.items():
            other = counts.get((target, bus), 0)
            if target in by_bus and bus < target and count != other:
                raise self.fault(by_bus[bus].element, f"{count} links to the GPU at {target}, which has {other} to this one")

    def find_joined(self) -> None:
        """What the links of each machine join; the machines of a file are alike."""
        first = self.gpus[0].facts
        self.machine.gpus = first
        if first.links == 0 or first.joined == SWITCHED:
            first.joined = SWITCHED if first.links else NO_LINKS
            return
        found = set()
        for host in self.hosts:
            gpus = [gpu for gpu in self.gpus if gpu.host == host] if len(self.hosts) > 1 else self.gpus
            self.check_both_ends(gpus)
            found.add(_join(gpus))
        if len(found) > 1:
            raise self.fault(self.gpus[0].element, "machines whose GPUs are joined in different ways; a platform has one")
        first.joined, first.pair_links = found.pop()

    def keys(self) -> List[Key]:
        unknown = [Key(name, UNKNOWN, place=place) for name, place in self.unknown.items()]
        return unknown + [Key(name, *row, f"{self.known[name][0]} times", self.known[name][1]) for name, row in table(KNOWN).items() if name in self.known]


def _has_gpu_device(element: _Element) -> bool:
    """Whether there is a PCI device of the class of GPUs, as in files that clouds ship for NCCL_TOPO_FILE.
    Source: the PCI ID Repository, class 03, subclass 02."""
    return element.attributes.get("class", "").startswith("0x0302") or any(map(_has_gpu_device, element.children))


def read_data(talk: Talk, name: str, data: bytes) -> Tuple[Machine, List[Key]]:
    """The machine that an XML text tells of, and what became of its attributes.  Raises Fault, told."""
    before = talk.errors
    root = _parse(talk, name, data)
    if root.name != "system":
        talk.error(f"expected <system>, as NCCL_TOPO_DUMP_FILE makes NCCL write it, got <{root.name[:40]}>", root.place)
        raise Fault(INPUT)
    reader = _Reader(talk)
    reader.walk(root)
    try:
        if talk.errors == before:
            if not reader.gpus or not reader.hosts:
                raise reader.fault(root, "expected elements 'gpu', got none: this is a file for NCCL_TOPO_FILE, which says where devices are; what they are "
                                   "has the one that NCCL_TOPO_DUMP_FILE makes a job write" if _has_gpu_device(root)
                                   else "expected GPUs below processors (cpu), got none")
            counts = [sum(gpu.host == host for gpu in reader.gpus) for host in reader.hosts]
            if len(reader.hosts) > 1 and min(counts) != max(counts) or len(reader.gpus) % len(reader.hosts) != 0:
                raise reader.fault(root, "machines with different numbers of GPUs")
            reader.find_joined()
    except _Refused:
        pass
    if talk.errors > before:
        raise Fault(INPUT)
    reader.machine.hosts, reader.machine.gpus.count = len(reader.hosts), len(reader.gpus)
    reader.choose_nics()
    return reader.machine, reader.keys()


def read(path: str, talk: Optional[Talk] = None) -> Machine:
    """The machine of a file of NCCL_TOPO_DUMP_FILE.  Raises Fault after every fault is told on the standard error."""
    talk = talk or Talk()
    return read_data(talk, path, read_bytes(talk, path))[0]
