"""`meshsim import slurm TOPOLOGY.conf [NCCL.xml...]`: Slurm's topology, and what NCCL found in a node, as a platform file."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Optional, Sequence

from .._call import INPUT, Call, Fault, Place
from .._describe import Kind
from . import SET
from . import nccl_topo, slurm_topology
from .draft import PIPE, Draft
from .nccl_topo import Machine
from .slurm_platform import fill
from .source import deliver, finish, read_bytes, table, target
from .yaml_tree import take_out

KIND = Kind(
    "slurm TOPOLOGY.conf [NCCL.xml...]", "Slurm's topology, with what NCCL found in a node, gives a platform",
    "slurm reads topology.conf (tree or block) and the XML files that NCCL_TOPO_DUMP_FILE makes NCCL write; without one, what nodes are made of is required.",
    (SET,), writes=".yaml")


@dataclass
class Platform(Draft):
    """A platform in the making."""

    summary: str = ""

    def complete(self) -> None:
        """Lay the call's overrides over it and, unless a key is still open, ask the program whether it is a platform."""
        self.override()
        if not self.missing():
            self.ask(self.root, "platform", PIPE)
        take_out(self.root)

    def page(self) -> str:
        """What is told where the file goes elsewhere."""
        missing, examples = self.missing(), table(slurm_topology.TABLES)["examples"]
        given = "".join(" --set " + shlex.quote(f"{key}={examples.get(key, 'VALUE')}") for key in missing)
        return self.summary + (f"required   {', '.join(missing)}, see the file's comments\nnow        add, for example,{given}\n" if missing else "")


def _read_machine(draft: Draft, path: str, before: Optional[Machine], first: str) -> Machine:
    talk = draft.call.talk
    machine, keys = nccl_topo.read_data(talk, path, read_bytes(talk, path))
    if before is None:
        draft.keys += keys  # of several nodes the first one tells what became of its attributes
    elif not before.is_like(machine):
        draft.call.refuse(f"another sort of node than in '{first}'; a platform has one", machine.gpus.place)
    return machine


def _read_topology(draft: Draft, path: str) -> slurm_topology.Topology:
    talk = draft.call.talk
    data = read_bytes(talk, path)
    if data.lstrip(b" \t\r\n").startswith(b"<"):
        draft.call.refuse("expected a topology.conf of Slurm in front of NCCL's files", Place(path, 1))
    found, draft.keys = slurm_topology.read_text(talk, path, data.decode("utf-8", "surrogateescape"))
    return found


def read(call: Call, paths: Sequence[str]) -> Platform:
    """A platform from a topology.conf or topology.yaml of Slurm, and behind it XML files of NCCL_TOPO_DUMP_FILE of its nodes, all alike.
    Raises Fault after every fault of every file is told."""
    draft, found, machine, fault = Platform(call, paths[0]), None, None, None
    for path in paths:
        try:
            if found is None and fault is None:
                found = _read_topology(draft, path)
            else:
                machine = _read_machine(draft, path, machine, paths[1])
        except Fault as one:
            fault = fault or one
    if fault or found is None:
        raise fault or Fault(INPUT)
    finish(call.talk)
    draft.about += " and what NCCL found in its nodes" if machine else ""
    draft.summary = fill(draft, found, machine)
    return draft


def run(call: Call) -> None:
    """The command."""
    target(call)
    draft = read(call, call.arguments)
    draft.complete()
    tree = draft.result("platform")
    deliver(call, draft.keys, tree["platform"], tree, draft.page())
