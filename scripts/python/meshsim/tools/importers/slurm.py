"""`meshsim import slurm TOPOLOGY.conf [NCCL.xml...]`: Slurm's topology, and what NCCL found in a node, as a platform file."""

from __future__ import annotations

from typing import Optional

from .._call import INPUT, Call, Fault, Place, Talk, check_target, print_json, print_page, write_file
from .._describe import Kind
from . import SET
from . import nccl_topo, slurm_topology
from .platform_draft import Draft, complete
from .nccl_topo import Machine
from .slurm_platform import fill
from .source import finish, read_bytes, row_of, tell

KIND = Kind(
    "slurm TOPOLOGY.conf [NCCL.xml...]", "Slurm's topology, with what NCCL found in a node, gives a platform",
    "slurm reads topology.conf (tree or block) and the XML files that NCCL_TOPO_DUMP_FILE makes NCCL write; without one, what nodes are made of is required.",
    (SET,), writes=".yaml")
# How what is required is given, with values that are examples.
EXAMPLES = {"node.gpus": "8", "node.nics": "8", "gpu.type": "h100-sxm5-80gb", "tiers.nvlink.bandwidth": "450 GB/s", "tiers.rail.bandwidth": "400 Gbit/s",
            "tiers.spine.bandwidth": "400 Gbit/s", "tiers.core.bandwidth": "400 Gbit/s"}


def _read_machine(draft: Draft, talk: Talk, path: str, before: Optional[Machine], first: str) -> Machine:
    machine, keys = nccl_topo.read_data(talk, path, read_bytes(talk, path))
    if before is None:
        draft.keys += keys  # of several nodes the first one tells what became of its attributes
    elif not before.is_like(machine):
        talk.error(f"another sort of node than in '{first}'; a platform has one", machine.gpus.place)
        raise Fault(INPUT)
    return machine


def read(topology: str, *nccl: str, talk: Optional[Talk] = None) -> Draft:
    """A platform file in the making from a topology.conf or topology.yaml of Slurm, and XML files of NCCL_TOPO_DUMP_FILE of its nodes, all alike.
    Raises Fault after every fault of every file is told on the standard error."""
    talk = talk or Talk()
    draft, machine, fault = Draft(topology), None, None
    found = None
    try:
        data = read_bytes(talk, topology)
        if data.lstrip(b" \t\r\n").startswith(b"<"):
            talk.error("expected a topology.conf of Slurm in front of NCCL's files", Place(topology, 1))
            raise Fault(INPUT)
        found, draft.keys = slurm_topology.read_text(talk, topology, data.decode("utf-8", "surrogateescape"))
    except Fault as one:
        fault = one
    for path in nccl:
        try:
            machine = _read_machine(draft, talk, path, machine, nccl[0])
        except Fault as one:
            fault = fault or one
    if fault or found is None:
        raise fault or Fault(INPUT)
    finish(talk)
    draft.about += " and what NCCL found in its nodes" if machine else ""
    fill(draft, found, machine)
    return draft


def _page(draft: Draft) -> str:
    missing = draft.missing()
    if not missing:
        return draft.summary
    given = "".join(f" --set {key}=VALUE" if key not in EXAMPLES else f" --set '{key}={EXAMPLES[key]}'" if " " in EXAMPLES[key]
                    else f" --set {key}={EXAMPLES[key]}" for key in missing)
    return f"{draft.summary}required   {', '.join(missing)}, see the file's comments\nnow        add, for example,{given}\n"


def run(call: Call) -> None:
    """The command."""
    path = call.value("output", None if call.has("json") else "-")
    if path:
        check_target(call, path)
    draft = read(*call.arguments, talk=call.talk)
    complete(call, draft)
    tell(call, draft.keys)
    text = draft.text()
    if path:
        write_file(call, path, text.encode("utf-8", "surrogateescape"))
    if call.has("json"):
        print_json(call, {"missing": draft.missing(), "keys": [row_of(key) for key in draft.keys], "platform": text})
    elif path != "-":
        print_page(call, _page(draft))
