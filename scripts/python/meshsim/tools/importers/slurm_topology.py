"""Slurm's topology.conf: lines of parameters, KEY=VALUE, in any order and of any case; and topology.yaml, which has the same in lists. What comes of
them is which nodes share a switch or a block, and how many layers of switches join them.

Source: Slurm, topology.conf(5) and topology.yaml(5), topology/tree and topology/block.
"""

from __future__ import annotations

import contextlib
import graphlib
import itertools
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .._call import INPUT, Fault, Place, Talk
from .source import IGNORED, UNKNOWN, Key, Text, table
from .yaml_tree import Node, parse

NODES_MAX = 2**17
"""nodes of a file"""
NAME_MAX, DIGITS_MAX, LAYERS_MAX, PLATFORM_LAYERS = 255, 9, 64, 3
SWITCH, BLOCK, NODES, SWITCHES, SIZES, RING = "SwitchName", "BlockName", "Nodes", "Switches", "BlockSizes", "RingName"
TABLES = "importers/slurm.yaml"
_GRAPH = re.compile(r"[!-~]+")


@dataclass
class Topology:
    """What a topology.conf says."""

    has_blocks: bool = False
    """topology/block; else topology/tree"""
    nodes: int = 0
    """of the tree, or of all blocks"""
    layers: int = 1
    """of switches, 1 to 3; of blocks 1, and 2 where BlockSizes groups them"""
    nodes_per_leaf: int = 0
    """below a leaf switch, or of a block"""
    leaves_per_pod: int = 0
    """leaf switches below one of the second layer, or blocks of a group; of one layer all"""
    rails: int = 1
    """leaf switches side by side that have the same nodes"""
    nodes_place: Optional[Place] = None
    """the first list of nodes"""
    pod_place: Optional[Place] = None
    """what says leaves_per_pod"""
    remarks: List[str] = field(default_factory=list)
    """what of it a platform cannot say"""


@dataclass
class Group:
    """A line that names a switch or a block, with the places of its values."""

    name: str = ""
    nodes: List[str] = field(default_factory=list)
    switches: List[str] = field(default_factory=list)
    place: Optional[Place] = None
    nodes_place: Optional[Place] = None
    switches_place: Optional[Place] = None


class _Refused(Exception):
    """A value that cannot be read; told."""


# ---- lists of hosts ----

_RANGE = re.compile(r"(\d+)(?:-(\d+))?(.*)", re.A | re.S)
_PART = re.compile(r"(?P<letters>[^\[\]]+)|\[(?P<ranges>[^\]]*)(?P<close>\]?)|\]")


def _range(text: str) -> List[str]:
    """The endings that "001-064" or "070" stands for; ValueError says what is wrong."""
    found = _RANGE.fullmatch(text)
    first, last = (found[1], found[2] or found[1]) if found else ("", "")
    if not found or max(len(first), len(last)) > DIGITS_MAX or found[3] == "-":
        raise ValueError("expected a number of 9 digits at most in brackets")
    if found[3]:
        raise ValueError("a bracket is not closed, or holds what is no range")
    if int(last) < int(first):
        raise ValueError("a range ends before it begins")
    if int(last) - int(first) >= NODES_MAX:
        raise ValueError("it names too many")
    return [f"{number:0{len(first)}d}" for number in range(int(first), int(last) + 1)]


def _endings(part: "re.Match[str]") -> List[str]:
    """What a part of a name such as "n[1-2]x[3]" stands for: its letters, or NODES_MAX + 1 endings at most of its brackets."""
    if part["letters"] is not None:
        if not _GRAPH.fullmatch(part["letters"]):
            raise ValueError("a name has a letter that none can have")
        return [part["letters"]]
    if part["ranges"] is None:
        raise ValueError("a bracket closes that none opens")
    endings = list(itertools.islice(itertools.chain.from_iterable(map(_range, part["ranges"].split(","))), NODES_MAX + 1))
    if not part["close"]:
        raise ValueError("a bracket is not closed, or holds what is no range")
    return endings


def hosts_of(text: str) -> List[str]:
    """The hosts that a list of Slurm's names, such as "node[001-064,070],login1"; ranges keep their leading zeros.
    Raises ValueError for what is no list, or one of more than NODES_MAX."""
    hosts: List[str] = []
    for item in re.split(r",(?![^\[\]]*\])", text):
        if not item:
            raise ValueError("a name is missing")
        names = [""]
        for part in _PART.finditer(item):
            endings = _endings(part)
            if len(names) * len(endings) + len(hosts) > NODES_MAX:
                raise ValueError("it names too many")
            names = [name + ending for name in names for ending in endings]
            if max(map(len, names)) > NAME_MAX:
                raise ValueError("a name is longer than 255 letters")
        hosts += names
    return hosts


# ---- parameters ----

class _Reader:
    """A file while it is taken apart."""

    def __init__(self, talk: Talk, name: str):
        self.talk, self.name = talk, name
        self.keys: List[Key] = []
        self.groups: List[Group] = []
        self.sizes: List[int] = []
        self.sizes_place: Optional[Place] = None
        self.counts: Dict[str, Tuple[int, Place]] = {}
        self.file_kind = self.kind = ""  # SWITCH or BLOCK, of the lines before and of the line
        self.group = Group()
        self.hosts = 0  # in all lists so far

    def refuse(self, message: str, place: Optional[Place] = None) -> _Refused:
        self.talk.error(message, place or Place(self.name, 0))
        return _Refused()

    def take(self, key: str, value: str, place: Place) -> None:
        """A parameter of a line."""
        count, first = self.counts.get(key, (0, place))
        self.counts[key] = (count + 1, first)
        if key in (SWITCH, BLOCK):
            self.name_group(key, value, place)
        elif key == NODES:
            self.group.nodes_place = place
            self.group.nodes = self.read_hosts(value, place)
        elif key == SWITCHES:
            self.group.switches_place = place
            self.group.switches = self.read_hosts(value, place)
        elif key == SIZES:
            self.read_sizes(value, place)
        elif key == RING:
            raise self.refuse("topology/ring is not read; expected SwitchName or BlockName", place)

    def name_group(self, key: str, value: str, place: Place) -> None:
        if self.kind:
            raise self.refuse(f"a line names a second switch or block, '{value[:80]}'", place)
        if self.file_kind not in ("", key):
            raise self.refuse("expected lines of one plug-in, got SwitchName and BlockName", place)
        if not _GRAPH.fullmatch(value):
            raise self.refuse("a name has a letter that none can have", place)
        self.kind = self.file_kind = key
        self.group.name, self.group.place = value, place

    def read_hosts(self, value: str, place: Place) -> List[str]:
        if value.upper() == "ALL":
            raise self.refuse("which nodes 'ALL' is, says slurm.conf; expected a list of them", place)
        if self.hosts > NODES_MAX:
            raise _Refused  # told
        try:
            hosts = hosts_of(value)
        except ValueError as error:
            raise self.refuse(f"'{value[:80]}' is no list of hosts: {error}", place) from None
        self.hosts += len(hosts)
        if self.hosts > NODES_MAX:
            raise self.refuse(f"the file names more than {NODES_MAX} nodes and switches", place)
        return hosts

    def read_sizes(self, value: str, place: Place) -> None:
        self.sizes_place = place
        words = value.split(",")
        self.sizes = [int(word) for word in words if re.fullmatch(r"\d{1,9}", word, re.A)]
        is_sound = len(self.sizes) == len(words) and all(1 <= size <= NODES_MAX for size in self.sizes)
        if not is_sound or any(after <= before for before, after in zip(self.sizes, self.sizes[1:])):
            raise self.refuse(f"expected sizes of blocks that grow, such as 18,144, got '{value[:80]}'", place)

    def end_line(self, has_fault: bool) -> None:
        group, kind = self.group, self.kind
        self.group, self.kind = Group(), ""
        if has_fault:
            return
        if not kind and (group.nodes or group.switches):
            self.refuse("a list without the SwitchName or BlockName it belongs to on its line", group.nodes_place if group.nodes else group.switches_place)
        elif kind and not group.nodes and not group.switches:
            self.refuse(f"'{group.name[:80]}' has neither Nodes nor Switches", group.place)
        elif kind == SWITCH and group.nodes and group.switches:
            self.refuse(f"'{group.name[:80]}' has both Nodes and Switches; expected one of them", group.place)
        elif kind == BLOCK and group.switches:
            self.refuse("a block has no Switches", group.switches_place)
        elif kind:
            self.groups.append(group)

    def tell_all(self) -> None:
        self.keys += [Key(name, *row, f"{self.counts[name][0]} times", self.counts[name][1]) for name, row in table(TABLES)["parameters"].items() if name in self.counts]


# ---- topology.conf ----

# What stands between parameters: blanks, comments, and a '\\' at a line's end, which makes one line of two.
_BETWEEN = r"(?:#[^\n]*|[ \t\r]|\\(?=[\n\r])[^\n]*(?:\n|\Z))*"
_SKIP = re.compile(_BETWEEN)
_PARAMETER = re.compile(rf'(?P<name>[^= \t\r\n#"]*){_BETWEEN}(?:(?P<equals>=){_BETWEEN}(?:"(?P<quoted>[^"\n]*)"?|(?P<bare>[^ \t\r\n#]*)))?')


def _read_lines(reader: _Reader, text: Text) -> None:
    """The parameters of a topology.conf."""
    has_fault, at = False, 0
    while at <= len(text.data):
        at = _SKIP.match(text.data, at).end()  # type: ignore[union-attr]
        if text.data[at:at + 1] in ("", "\n"):
            reader.end_line(has_fault)
            has_fault, at = False, at + 1
            continue
        found: Any = _PARAMETER.match(text.data, at)
        at = found.end()
        try:
            _read_parameter(reader, text, found)
        except _Refused:
            has_fault = True
            if not found["name"] or not found["equals"]:  # the rest of the line says nothing
                end = text.data.find("\n", found.start("equals") if found["equals"] else at)
                at = end if end >= 0 else len(text.data)


def _read_parameter(reader: _Reader, text: Text, found: "re.Match[str]") -> None:
    name, which = found["name"], "bare" if found["quoted"] is None else "quoted"
    if not name or not found["equals"]:
        raise reader.refuse(f"expected KEY=VALUE, got '{name[:80] or 'a sign alone'}'", text.place_at(found.start(), len(name)))
    value, place = found[which], text.place_at(found.start(which), len(found[which]))
    key = next((known for known in table(TABLES)["parameters"] if known.lower() == name.lower()), None)
    if key is None:
        reader.keys.append(Key(name, UNKNOWN, value=value, place=place))
    elif not value:
        raise reader.refuse(f"{key} has no value", place)
    else:
        reader.take(key, value, place)


# ---- topology.yaml ----

_ENTRY_KEYS = {"switches": {"switch": SWITCH, "nodes": NODES, "children": SWITCHES}, "blocks": {"block": BLOCK, "nodes": NODES}}


def _read_entry(reader: _Reader, entry: Node, names: Dict[str, str]) -> None:
    """The parameters of an entry of a list of switches or blocks."""
    has_fault = True
    with contextlib.suppress(_Refused):
        if not isinstance(entry.value, dict):
            raise reader.refuse("expected an entry with a name and nodes or children", entry.place)
        for key, node in entry.value.items():
            if key not in names:
                reader.keys.append(Key(key, UNKNOWN, place=node.key_place))
            elif not node.text:
                raise reader.refuse("expected names, such as node[01-16]", node.place)
            elif node.place:
                reader.take(names[key], node.text, node.place)
        has_fault = False
    reader.end_line(has_fault)


def _choose_topology(reader: _Reader, root: Node) -> Optional[Node]:
    """The topology that is the cluster's, of several; the others are those of partitions."""
    if not isinstance(root.value, list):
        return root
    if not root.value:
        return None
    defaults = [node for node in root.value if (flag := node.get("cluster_default")) and flag.text == "true"]
    chosen = defaults[-1] if defaults else root.value[0]
    reader.keys += [Key("topology", IGNORED, "another one is the cluster's default", place=node.place) for node in root.value if node is not chosen]
    return chosen


def _read_yaml(reader: _Reader, text: str) -> None:
    root = parse(reader.talk, reader.name, text.removeprefix("\ufeff"))
    if isinstance(root.value, str):
        raise reader.refuse(f"expected keys and values, got {root.shown()}", root.place)
    chosen = _choose_topology(reader, root)
    tree, block = (chosen.get("tree"), chosen.get("block")) if chosen else (None, None)
    switches, blocks = tree.get("switches") if tree else None, block.get("blocks") if block else None
    entries = switches or blocks
    if entries is None:
        raise reader.refuse("expected a topology with switches below 'tree', or blocks below 'block'", (chosen or root).place)
    if not isinstance(entries.value, list):
        raise reader.refuse("expected a list", entries.place)
    before = reader.talk.errors
    for entry in entries.value:
        _read_entry(reader, entry, _ENTRY_KEYS["switches" if switches else "blocks"])
    sizes = block.get("block_sizes") if block and not switches else None
    if sizes and sizes.place and reader.talk.errors == before:
        items = sizes.value if isinstance(sizes.value, list) else [sizes]
        if items:
            reader.take(SIZES, ",".join(item.text if isinstance(item.value, str) else "?" for item in items), sizes.place)


# ---- what groups have in common ----

def _members(reader: _Reader) -> List[Tuple[str, int]]:
    """All nodes of all groups with the group's number, by name; the nodes of a group twice are a fault."""
    members = sorted((name, index) for index, group in enumerate(reader.groups) for name in group.nodes)
    for before, member in zip(members, members[1:]):
        if before == member:
            group = reader.groups[member[1]]
            reader.refuse(f"'{member[0][:80]}' stands twice below '{group.name[:80]}'", group.nodes_place)
    return members


def _names(reader: _Reader) -> Dict[str, int]:
    """Groups by their names; names that stand twice are a fault."""
    names = sorted((group.name, index) for index, group in enumerate(reader.groups))
    for (before, first), (name, index) in zip(names, names[1:]):
        if before == name:
            place = reader.groups[first].place
            reader.refuse(f"'{name[:80]}' is there already, at line {place.line if place else 0}", reader.groups[index].place)
    return dict(reversed(names))


def _usual(topology: Topology, values: Sequence[int], groups: str, members: str) -> int:
    """The number that most of some values are, of several the largest, with a remark on the others unless they are one that is smaller, as the last
    unit of a platform may be."""
    counts = {value: len(list(same)) for value, same in itertools.groupby(sorted(values))}
    usual = max(counts, key=lambda value: (counts[value], value))
    best, others = counts[usual], len(values) - counts[usual]
    if others > 0 and not (others == 1 and min(values) < usual):
        topology.remarks.append(f"{best} {groups} have {usual} {members}, {others} another number ({min(values)} to {max(values)} in all): a platform's have "
                                f"one number, here {usual}, and the last what is left")
    return usual


def _stop(reader: _Reader, before: int) -> None:
    if reader.talk.errors > before:
        raise _Refused


# ---- topology/block ----

def _find_blocks(reader: _Reader, topology: Topology) -> None:
    """Blocks of nodes, and the sizes in which BlockSizes groups them."""
    before = reader.talk.errors
    _names(reader)
    _stop(reader, before)
    members = _members(reader)
    _stop(reader, before)
    for (name, first), (other, second) in zip(members, members[1:]):
        if name == other:
            a, b = reader.groups[first], reader.groups[second]
            raise reader.refuse(f"'{name[:80]}' is in the blocks '{a.name[:80]}' and '{b.name[:80]}'", b.nodes_place)
    topology.nodes = len(members)
    topology.nodes_per_leaf = _usual(topology, [len(group.nodes) for group in reader.groups], "blocks", "nodes")
    topology.leaves_per_pod = len(reader.groups)
    sizes, place, leaf = reader.sizes, reader.sizes_place, topology.nodes_per_leaf
    if sizes and sizes[0] > leaf:
        raise reader.refuse(f"blocks have {leaf} nodes, fewer than the base size {sizes[0]}", place)
    if sizes and sizes[0] < leaf:
        topology.remarks.append(f"jobs are planned on {sizes[0]} of a block's {leaf} nodes (BlockSizes): all of them stand here")
    if len(sizes) > 1:
        if sizes[1] % sizes[0] != 0:
            raise reader.refuse(f"expected sizes of whole blocks, got {sizes[1]} of blocks of {sizes[0]}", place)
        topology.layers, topology.leaves_per_pod, topology.pod_place = 2, sizes[1] // sizes[0], place
    topology.remarks += [f"groups of {size} nodes (BlockSizes) are left out: a platform has one sort of groups above blocks" for size in sizes[2:]]


# ---- topology/tree ----

@dataclass
class _Switch:
    """A switch, or several side by side, which have the same children, as rails and spines do, and count as one of their layer."""

    index: int
    group: Group
    children: List[int] = field(default_factory=list)
    """switches that are the first of those side by side, or numbers of nodes"""
    layer: int = 0
    """1: a leaf; 0: not known yet"""
    same_as: int = 0
    """the first of those side by side, itself for most"""
    beside: int = 1
    """how many stand side by side; of the first"""
    parent: int = -1
    """of the first; -1: none"""
    nodes: int = 0
    """below it"""

    @property
    def is_first(self) -> bool:
        return self.same_as == self.index

    @property
    def name(self) -> str:
        return self.group.name[:80]


class _Tree:
    def __init__(self, reader: _Reader):
        self.reader = reader
        self.switches = [_Switch(index, group, same_as=index) for index, group in enumerate(reader.groups)]
        self.layers = 0

    def build(self) -> None:
        before = self.reader.talk.errors
        names = _names(self.reader)
        for step in (lambda: self.link(names), self.number_nodes, self.find_layers, self.join_layers, self.find_parents, self.check_nodes, self.count_nodes):
            _stop(self.reader, before)
            step()
        _stop(self.reader, before)

    def link(self, names: Dict[str, int]) -> None:
        for switch in self.switches:
            for name in switch.group.switches:
                if name not in names:
                    self.reader.refuse(f"no line names a switch '{name[:80]}'", switch.group.switches_place)
                switch.children.append(names.get(name, -1))

    def number_nodes(self) -> None:
        """Nodes by numbers that are the same where their names are."""
        numbers: Dict[str, int] = {}
        for name, index in _members(self.reader):
            self.switches[index].children.append(numbers.setdefault(name, len(numbers)))

    def find_layers(self) -> None:
        """One more than the highest layer below a switch; a leaf switch is of layer 1."""
        try:
            order = list(graphlib.TopologicalSorter({switch.index: switch.children if switch.group.switches else () for switch in self.switches}).static_order())
        except graphlib.CycleError as error:
            odd = self.switches[min(error.args[1])]
            raise self.reader.refuse(f"a circle of switches at or below '{odd.name}'", odd.group.switches_place) from None
        for switch in map(self.switches.__getitem__, order):
            switch.layer = 1 + max((self.switches[child].layer for child in switch.children if switch.group.switches), default=0)
            self.layers = max(self.layers, switch.layer)
        if self.layers > LAYERS_MAX:
            raise self.reader.refuse(f"more than {LAYERS_MAX} layers of switches")

    def join_layers(self) -> None:
        """Join the switches of a layer that have the same children, from the leaves on."""
        firsts: Dict[Tuple[int, ...], _Switch] = {}
        for switch in sorted(self.switches, key=lambda switch: switch.layer):
            switch.children = sorted({self.switches[child].same_as for child in switch.children} if switch.layer > 1 else set(switch.children))
            first = firsts.setdefault((switch.layer, *switch.children), switch)
            if first is not switch:
                switch.same_as = first.index
                first.beside += 1

    def find_parents(self) -> None:
        for switch in self.switches:
            for index in switch.children if switch.layer > 1 and switch.is_first else []:
                child = self.switches[index]
                if child.parent >= 0:
                    self.reader.refuse(f"'{child.name}' is below '{self.switches[child.parent].name}' and '{switch.name}', which do not have the same "
                                       "switches", switch.group.switches_place)
                child.parent = switch.index

    def check_nodes(self) -> None:
        """A node below two leaf switches that do not have the same nodes is a fault."""
        members = _members(self.reader)
        for (name, first), (other, second) in zip(members, members[1:]):
            a, b = self.switches[first], self.switches[second]
            if name == other and a.same_as != b.same_as:
                raise self.reader.refuse(f"'{name[:80]}' is below '{a.name}' and '{b.name}', which do not have the same nodes", b.group.nodes_place)

    def count_nodes(self) -> None:
        for switch in sorted(self.switches, key=lambda switch: switch.layer):
            if switch.is_first:
                switch.nodes += len(switch.children) if switch.layer == 1 else 0
                if switch.parent >= 0:
                    self.switches[switch.parent].nodes += switch.nodes

    # -- what a platform takes of it --

    def choose_root(self, topology: Topology) -> _Switch:
        """The switch on top with the most nodes; the others' nodes are told to be left out."""
        roots = [switch for switch in self.switches if switch.is_first and switch.parent < 0]
        best = max(roots, key=lambda switch: switch.nodes)
        topology.remarks += [f"switch '{switch.name}' with {switch.nodes} nodes is left out: nothing joins it to '{best.name}', which has more"
                             for switch in roots if switch is not best]
        return best

    def root_of(self, switch: _Switch) -> _Switch:
        while switch.parent >= 0:
            switch = self.switches[switch.parent]
        return switch

    def remark_depths(self, topology: Topology, root: _Switch, below: List[_Switch]) -> None:
        """Leaf switches right below a layer that is not the second: a platform has none such."""
        odd = [switch for switch in below if switch.parent >= 0 and self.switches[switch.parent].layer != switch.layer + 1]
        if odd:
            topology.remarks.append(f"switches more than one layer below the next ({len(odd)}, such as '{odd[0].name}') are taken as the others")
        if root.layer > PLATFORM_LAYERS:
            topology.remarks.append(f"{root.layer} layers of switches: a platform has three, and those above the second are taken as one")

    def sum_up(self, topology: Topology) -> None:
        root = self.choose_root(topology)
        below = [switch for switch in self.switches if switch.is_first and self.root_of(switch) is root]
        leaves = [switch for switch in below if switch.layer == 1]
        topology.layers, topology.nodes = min(root.layer, PLATFORM_LAYERS), root.nodes
        topology.rails = leaves[0].beside if len({leaf.beside for leaf in leaves}) == 1 else 1
        topology.nodes_per_leaf = _usual(topology, [len(leaf.children) for leaf in leaves], "leaf switches", "nodes")
        topology.leaves_per_pod = len(leaves)
        if root.layer > 2:
            pods = [len(switch.children) for switch in below if switch.layer == 2]
            topology.leaves_per_pod = _usual(topology, pods, "switches of the second layer", "leaf switches")
        if root.layer > 1:
            topology.pod_place = root.group.switches_place
        self.remark_depths(topology, root, below)


# ---- all ----

def read_text(talk: Talk, name: str, text: str) -> Tuple[Topology, List[Key]]:
    """What a topology.conf, or a topology.yaml by its name, says, and what became of its parameters.  Raises Fault after every fault is told."""
    reader, topology, before = _Reader(talk, name), Topology(), talk.errors
    try:
        if "\0" in text:
            raise reader.refuse("a byte that no text has")
        if name.endswith((".yaml", ".yml")):
            _read_yaml(reader, text)
        else:
            _read_lines(reader, Text(name, text))
        _stop(reader, before)
        if not reader.groups:
            raise reader.refuse("expected lines with SwitchName or BlockName")
        reader.tell_all()
        topology.has_blocks = reader.file_kind == BLOCK
        topology.nodes_place = reader.counts[NODES][1] if NODES in reader.counts else None
        if topology.has_blocks:
            _find_blocks(reader, topology)
        else:
            tree = _Tree(reader)
            tree.build()
            tree.sum_up(topology)
        _stop(reader, before)
    except _Refused:
        raise Fault(INPUT) from None
    return topology, reader.keys
