"""From Slurm's topology and NCCL's view of a node to the keys of a platform: what neither says is assumed, and told so, where the field has one usual
value; else it is required. The reasons stand in slurm.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from .._call import Place
from .draft import Draft
from .nccl_topo import APART, MESHED, PAIRED, SWITCHED, UNSEEN, Gpus, Machine
from .slurm_topology import TABLES, Topology
from .source import table

NVIDIA = 0x10DE
NVLS_SM_MIN = 90
"""NVLink SHARP came with Hopper's switches.  Source: NVIDIA H100 whitepaper"""
GB_S_IN_BPS, GBIT_S_IN_BPS, US_IN_S = 1e9, 125e6, 1e-6

SUPERCHIPS = (0x2941,)
"""share one NVLink switch system with others in their rack"""

# What stands where nothing is said.  Sources: NVIDIA/nccl, src/graph/tuning.cc, hardware latencies (half of a ring step's with the Simple protocol);
# 369 of 400 GB/s bus bandwidth of an all-reduce on four DGX H100 (S. Bekman, Machine Learning Engineering); a QM9700 switch and 10 m of cable.
NVLINK_LATENCY, RAIL_LATENCY, SPINE_LATENCY, RAIL_EFFICIENCY = "1.7 us", "7 us", "230 ns", "0.92"
OUTER_TIERS = ("rail", "spine", "core")
JOINED_REMARKS = {UNSEEN: "NVLinks between GPUs are taken as one switch",
                  MESHED: "NVLinks between GPUs are no switch: some two GPUs have none, or fewer than others",
                  APART: "NVLinks that do not join all GPUs of a node, such as bridges between two, are left out: what all do together goes over PCI"}
"""by what NVLinks join"""


def _gb_s(Bps: float) -> str:
    return f"{Bps / GB_S_IN_BPS:.4g} GB/s"


@dataclass
class _Builder:
    """A platform while it is made."""

    topology: Topology
    machine: Optional[Machine]
    draft: Draft
    nodes: int = 0
    hosts_per_node: int = 1
    """Slurm's nodes in one of the platform"""
    gpus: int = 0
    """of a node"""
    nics: int = 0
    """of a node"""
    tiers: int = 0
    nodes_per_unit: int = 0
    """0: not needed"""
    units_per_pod: int = 0
    """0: not needed"""
    kind: str = ""

    # -- sizes --

    def find_hosts(self) -> int:
        """How many of Slurm's nodes are one node of a platform: those that one NVLink switch system joins, which NCCL shows as machines of one file, or,
        of superchips, the block."""
        machine = self.machine
        is_superchip = machine is not None and machine.gpus.vendor == NVIDIA and machine.gpus.device in SUPERCHIPS
        if machine is None or machine.gpus.joined != SWITCHED or (machine.hosts == 1 and not is_superchip):
            return 1
        if self.topology.has_blocks:
            return self.topology.nodes_per_leaf
        if machine.hosts == 1:
            self.draft.remarks.append("GPUs of this type share NVLink with those of other nodes, and neither file says which: a node stands alone here")
        return machine.hosts

    def find_nics(self, machine: Machine) -> None:
        """NICs of a node: one a GPU at most; ports beyond are bundled."""
        nics, hosts = machine.nics, machine.hosts
        self.nics = nics.count // hosts * self.hosts_per_node
        if nics.others > 0:
            self.draft.remarks.append(f"NICs of another speed than most ({nics.others}) are left out: a platform's have one")
        if nics.count % hosts != 0:
            self.draft.remarks.append(f"{nics.count} NICs in {hosts} machines: each is taken to have {nics.count // hosts}")

    def find_sizes(self) -> None:
        slurm_nodes = self.topology.nodes
        self.hosts_per_node = self.find_hosts()
        self.nodes, rest = divmod(slurm_nodes, self.hosts_per_node)
        if rest != 0:
            self.draft.remarks.append(f"{rest} of Slurm's {slurm_nodes} nodes are left out, as {self.hosts_per_node} of them make a node here")
        if self.machine:
            self.gpus = self.machine.gpus.count // self.machine.hosts * self.hosts_per_node
            self.find_nics(self.machine)

    @property
    def is_block_node(self) -> bool:
        return self.topology.has_blocks and self.hosts_per_node > 1

    def find_fabric(self) -> None:
        """Layers of switches: leaves of blocks and leaf switches are units, unless a block is a node."""
        t = self.topology
        layers = t.layers + (t.has_blocks and not self.is_block_node)
        leaf = t.nodes_per_leaf // self.hosts_per_node
        has_rails = t.rails > 1 or (self.nics > 1 and self.hosts_per_node == 1)
        self.tiers = 1 + layers
        self.nodes_per_unit = 0 if layers < 2 else t.leaves_per_pod if self.is_block_node else max(leaf, 1)
        self.units_per_pod = 0 if layers < 3 else t.leaves_per_pod
        self.kind = "rails" if has_rails else "leaf-spine"
        if not t.has_blocks and t.nodes_per_leaf % self.hosts_per_node != 0:
            self.draft.remarks.append(f"leaf switches have {t.nodes_per_leaf} of Slurm's nodes, of which {self.hosts_per_node} make a node here: taken as "
                              f"{self.nodes_per_unit} nodes")

    # -- keys --

    def add_node(self) -> None:
        draft, machine = self.draft, self.machine
        if machine is None:
            draft.require("node.gpus", "GPUs of a node, which NCCL's file would say")
            draft.require("node.nics", "NICs of a node, likewise")
            return
        joined = ("gpu elements" if self.hosts_per_node == 1
                  else f"{machine.gpus.count // machine.hosts} of each of the {self.hosts_per_node} machines that NVLink joins")
        draft.set("node.gpus", str(self.gpus), joined, machine.gpus.place)
        self.add_nics(machine)
        if machine.gpus.joined == PAIRED and self.gpus > 1:
            draft.set("node.wiring", "pairs", "nvlink targets: every two GPUs have links of their own", machine.gpus.link_place)
        if machine.cpu:
            draft.set("node.cpu", machine.cpu, "cpu vendor", machine.cpu_place)

    def add_nics(self, machine: Machine) -> None:
        nics = machine.nics
        if self.nics == 0:
            self.draft.require("node.nics", "NICs of a node: NCCL's file has none")
            return
        is_bundled = self.nics > self.gpus
        self.draft.set("node.nics", str(min(self.nics, self.gpus)), "one a GPU, of several ports" if is_bundled else "net elements", nics.place)
        if nics.latency_s > 0:
            self.draft.set("node.nic_latency", f"{nics.latency_s / US_IN_S:g} us", "net latency", nics.place)

    def add_gpu(self) -> None:
        if self.machine is None:
            self.draft.require("gpu.type", "a file of gpus/, such as h100-sxm5-80gb")
            return
        gpus = self.machine.gpus
        name = table(TABLES)["types"].get(gpus.device) if gpus.vendor == NVIDIA else None
        if name:
            self.draft.set("gpu.type", name, f"PCI device 0x{gpus.device:x}", gpus.place)
        else:
            self.draft.require("gpu.type", f"a file of gpus/: PCI device 0x{gpus.vendor:x}:0x{gpus.device:x} of compute capability {gpus.sm} is not known")
        if gpus.host_Bps > 0:
            self.draft.set("gpu.pcie", _gb_s(gpus.host_Bps), "to the processor and back, each way", gpus.place)

    def add_library(self) -> None:
        """What NCCL's file says of the whole: that NCCL is the library, and what switches do."""
        machine = self.machine
        if machine is None or machine.gpus.vendor != NVIDIA:
            return
        gpus = machine.gpus
        self.draft.set("library", "nccl-2", "the file is NCCL's", gpus.place)
        if gpus.joined == SWITCHED and gpus.sm >= NVLS_SM_MIN:
            self.draft.set("nvls", "true", "NVLink switches of this generation reduce", gpus.link_place)
        if machine.nics.has_sharp:
            self.draft.set("sharp", "true", "net coll", machine.nics.place)

    # -- tiers --

    def add_nvlink(self, gpus: Gpus) -> bool:
        """Links of NVLink by their generation.  Returns false where it is not known."""
        row = next((row for row in table(TABLES)["nvlinks"] if row[0] <= gpus.sm <= row[1]), None)
        if row is None or gpus.links == 0 or gpus.joined == MESHED:
            return False
        _, _, link_gb_s, nccl_gb_s, generation = row
        is_paired = gpus.joined == PAIRED and self.gpus > 1
        links, which = (gpus.pair_links, " between two GPUs") if is_paired else (gpus.links, "")
        self.draft.set("tiers.nvlink.bandwidth", _gb_s(links * link_gb_s * GB_S_IN_BPS),
                       f"{generation}, {links} links{which} of {link_gb_s:g} GB/s per direction", gpus.link_place)
        self.draft.assume("tiers.nvlink.efficiency", f"{nccl_gb_s / link_gb_s:.3g}",
                          f"NCCL takes {nccl_gb_s:g} of {link_gb_s:g} GB/s a link; calibrate fits it")
        return True

    def add_inner_tier(self) -> None:
        """The tier inside a node: NVLink; without any that joins all GPUs, PCI."""
        draft, why = self.draft, "half of NCCL's ring step in a node"
        gpus = self.machine.gpus if self.machine else None
        has_nvlink = gpus is not None and gpus.links > 0 and gpus.joined != APART
        if gpus is not None and not has_nvlink and gpus.host_Bps > 0:
            what = "GPUs have no NVLink: their PCI links" if gpus.links == 0 else "NVLink does not join all GPUs: their PCI links"
            draft.set("tiers.pcie.bandwidth", _gb_s(gpus.host_Bps), what, gpus.place)
            draft.assume("tiers.pcie.latency", NVLINK_LATENCY, why)
            return
        if gpus is None or not has_nvlink or not self.add_nvlink(gpus):
            draft.require("tiers.nvlink.bandwidth", "what a ring over all GPUs of a node reaches, per direction: NVLinks join some two of them and others not"
                          if gpus is not None and gpus.joined == MESHED else "of a GPU's links in a node, per direction")
        draft.assume("tiers.nvlink.latency", NVLINK_LATENCY, why)

    def add_outer_tier(self, layer: int) -> None:
        """A tier of the network. The first is the NIC's link; those above are taken to be of its speed."""
        draft, nics = self.draft, self.machine.nics if self.machine else None
        tier = f"tiers.{OUTER_TIERS[layer]}"
        if nics is None or self.nics == 0:
            draft.require(f"{tier}.bandwidth", "of one link, per direction")
        else:
            ports = self.nics / self.gpus if self.nics > self.gpus else 1
            text = f"{nics.speed_Bps * ports / GBIT_S_IN_BPS:.6g} Gbit/s"
            if layer == 0:
                is_bound = nics.speed_Bps < nics.port_Bps
                draft.set(f"{tier}.bandwidth", text, "the NIC's PCI link, which takes less than its port" if is_bound else "net speed", nics.place)
            else:
                draft.assume(f"{tier}.bandwidth", text, "as the NICs' links")
        draft.assume(f"{tier}.efficiency", RAIL_EFFICIENCY, "what NDR ports reach in all-reduces; calibrate fits it")
        latency = (RAIL_LATENCY, "half of NCCL's ring step between nodes") if layer == 0 else (SPINE_LATENCY, "a switch and 10 m of cable")
        draft.assume(f"{tier}.latency", *latency)

    def add_fabric(self) -> None:
        draft, t = self.draft, self.topology
        draft.assume("fabric.kind", self.kind, "leaf switches stand side by side" if t.rails > 1
                     else "a node's NICs are on a leaf switch each; leaf-spine where they are on one" if self.kind == "rails"
                     else "a node's NICs are on one leaf switch")
        blocking = "non-blocking, as Slurm does not say"
        leaf: Tuple[str, Optional[Place]] = ("nodes of a block" if t.has_blocks else "nodes of a leaf switch", t.nodes_place)
        group: Tuple[str, Optional[Place]] = ("blocks of a group", t.pod_place)
        if self.nodes_per_unit > 0:
            draft.set("fabric.nodes_per_unit", str(self.nodes_per_unit), *(group if self.is_block_node else leaf))
            draft.assume("fabric.oversubscription", "1", blocking)
        if self.units_per_pod > 0:
            draft.set("fabric.units_per_pod", str(self.units_per_pod), *(group if t.has_blocks else ("leaf switches of a switch above", t.pod_place)))
            draft.assume("fabric.core_oversubscription", "1", blocking)

    # -- the whole --

    def remark_machine(self, machine: Machine) -> None:
        if machine.gpus.links > 0 and machine.gpus.joined in JOINED_REMARKS:
            self.draft.remarks.append(JOINED_REMARKS[machine.gpus.joined])
        if self.nics > 0 and not machine.nics.has_gdr:
            self.draft.remarks.append("NICs without GPUDirect (gdr 0): taken as if they had it")

    def write(self) -> None:
        what = "all nodes" if self.hosts_per_node == 1 else f"{self.topology.nodes} of Slurm's nodes, {self.hosts_per_node} each"
        self.draft.assume("name", "slurm-cluster", "no file has a cluster's name")
        self.draft.set("nodes", str(self.nodes), what, self.topology.nodes_place)
        self.add_node()
        self.add_gpu()
        self.add_library()
        self.add_inner_tier()
        for layer in range(min(self.tiers - 1, len(OUTER_TIERS))):
            self.add_outer_tier(layer)
        self.add_fabric()
        if self.machine:
            self.remark_machine(self.machine)

    def summary(self) -> str:
        units = f"{self.nodes_per_unit} a unit" if self.nodes_per_unit else "all on one leaf"
        pods = f", {self.units_per_pod} units a pod" if self.units_per_pod else ""
        return f"nodes      {self.nodes}{f' of {self.gpus} GPUs' if self.gpus else ''}, {units}{pods}\n"


def fill(draft: Draft, topology: Topology, machine: Optional[Machine]) -> str:
    """Add a platform's keys to a draft, with remarks.  machine: None: not known.  Returns a summary."""
    builder = _Builder(topology, machine, draft)
    draft.remarks += topology.remarks
    builder.find_sizes()
    builder.find_fabric()
    builder.write()
    return builder.summary()
