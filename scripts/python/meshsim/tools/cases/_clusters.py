"""Which cluster a case ran on: a platform by the words of its source, with the rates and nodes that the source publishes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

from .._call import Call
from ._words import Line, Words

Tree = Dict[str, Any]
RATE_TOLERANCE = 0.02
"""what data sheets round: a rate within it is the platform's"""
GBIT_S_IN_BPS, GB_S_IN_BPS = 125e6, 1e9


@dataclass
class Cluster:
    """A platform with as many nodes as some GPUs take."""

    platform: Tree
    """as a workload has it"""
    node: int
    """GPUs of a node"""
    pods: int
    """of a torus that the GPUs span; 1: no more than one"""
    words: str
    """that it goes by"""
    has_other_network: bool
    """the source publishes another rate of the network than this has"""


@lru_cache(maxsize=None)
def _ask(program: Path, name: str) -> Tree:
    found: Tree = Call(program, "validate").ask("platform", name)
    return found


def find_cluster(call: Call, words: Words, system: Tree, gpus: int) -> Optional[Cluster]:
    """The cluster of at least so many GPUs that a source's words name; None: no platform goes by them.
    system: the fields of a row, such as {"gpu": "A100-SXM4-80GB", "network": "Selene, HDR InfiniBand"}."""
    line, said = next(words.matches("clusters", {"system": system}, {}), ({}, ""))
    if not line.get("platform"):
        return None
    own = _ask(call.program, line["platform"])
    changes, network_Bps = _changes(own, system, line)
    node, pod = changes.get("node", {"gpus": own["gpus_per_node"]})["gpus"], line.get("pod", gpus)
    platform = {"file": line["platform"], "nodes": -(-gpus // node), **({"gpu": {"type": line["gpu_type"]}} if "gpu_type" in line else {}), **changes}
    has_other = gpus > node and _is_other(system.get("nic_gbit_s_per_gpu", 0) * GBIT_S_IN_BPS, network_Bps)
    return Cluster(platform, node, gpus // pod if gpus % pod == 0 else 1, said, has_other)


def _is_other(published_Bps: float, own_Bps: float) -> bool:
    return published_Bps > 0 and own_Bps > 0 and abs(published_Bps - own_Bps) > RATE_TOLERANCE * own_Bps


def _changes(own: Tree, system: Tree, line: Line) -> Tuple[Tree, float]:
    """What a source says of nodes and links otherwise than a platform has them, and what a GPU then has of its node's ports [B/s]. Only of nodes of NVLink
    with NICs: what a node or a link is on others, sources say in too many ways."""
    tiers, node, nics = own["tiers"], own["gpus_per_node"], own["nics_per_node"]
    network_Bps = tiers[1]["bandwidth_Bps"] * nics / node if len(tiers) > 1 and nics > 0 else 0
    if network_Bps == 0 or tiers[0]["name"] != "nvlink":
        return {}, network_Bps
    domain, nic_Bps = system.get("nvlink_domain_gpus"), system.get("nic_gbit_s_per_gpu", 0) * GBIT_S_IN_BPS
    nvlink_Bps = (system.get("nvlink_gb_s_per_dir") or line.get("nvlink_gb_s", 0)) * GB_S_IN_BPS
    gpus = domain or system.get("gpus_per_node", node) if domain or "node_is_tray" not in line else node
    rates = {"nvlink": nvlink_Bps} if _is_other(nvlink_Bps, tiers[0]["bandwidth_Bps"]) else {}
    if _is_other(nic_Bps, network_Bps):
        rates.update({tier["name"]: tier["bandwidth_Bps"] * (nic_Bps / network_Bps) for tier in tiers[1:]})
    changes: Tree = {"node": {"gpus": gpus, "nics": max(1, nics * gpus // node)}} if gpus != node else {}
    if rates:
        changes["tiers"] = {name: {"bandwidth": f"{rate / GB_S_IN_BPS:.9g} GB/s"} for name, rate in rates.items()}
    found = changes.get("node", {"gpus": node, "nics": nics})
    return changes, rates.get(tiers[1]["name"], tiers[1]["bandwidth_Bps"]) * found["nics"] / found["gpus"]


def find_platform(call: Call, words: Words, gpu: str, network: str, gpus: int) -> Optional[Tree]:
    """The platform of at least so many GPUs that goes by a source's words, as a workload has it; None: there is none."""
    found = find_cluster(call, words, {"gpu": gpu, "network": network}, gpus)
    return found.platform if found else None
