#!/usr/bin/env python3
"""Importing Slurm's topology.conf with NCCL's XML: trees and blocks of the documented forms, bandwidths of shipped platforms, what a
platform cannot say, what is refused.

usage: test_import_slurm.py MESHSIM [unittest arguments]
"""

import json
import shlex
import re

import programs
import yaml

# Source of both forms: Slurm, topology.conf(5)
TREE = """# three layers
SwitchName=leaf1 Nodes=dgx[001-032] LinkSpeed=400
SwitchName=leaf2 Nodes=dgx[033-064]
SwitchName=leaf3 Nodes=dgx[065-096]
SwitchName=leaf4 Nodes=dgx[097-128]
SwitchName=spine1 Switches=leaf[1-2]
SwitchName=spine2 Switches=leaf[3-4]
switchname = core \\
    switches = "spine[1-2]"
"""
BLOCKS = "".join(f"BlockName=rack{r:02} Nodes=tray[{18 * r:03}-{18 * r + 17:03}]\n" for r in range(16)) + "BlockSizes=18,144\n"
SWITCH, GPU_CLASS = "0x068000", "0x030200"
HGX = [("07", 5), ("06", 5), ("05", 4), ("08", 4)]  # links of a GPU to the four switches of a board


def pci(slot, device, inner, link=("32.0 GT/s PCIe", 16), vendor="0x10de", kind=GPU_CLASS):
    return (f'<pci busid="0000:{slot:02x}:00.0" class="{kind}" vendor="{vendor}" device="{device}" subsystem_vendor="0x10de" subsystem_device="0x16c1" '
            f'link_speed="{link[0]}" link_width="{link[1]}">\n{inner}</pci>\n')


def gpu(index, sm, device, links, target=SWITCH, extra="", **more):
    rows = "".join(f'<nvlink target="0000:{slot}:00.0" count="{count}" tclass="{target}"/>\n' for slot, count in links)
    return pci(16 * index + 8, device, f'<gpu dev="{index}" sm="{sm}" rank="{index}" gdr="1">\n{rows}{extra}</gpu>\n', **more)


def nic(index, speed=400000, latency="0.000000", more="", **link):
    net = f'<net name="mlx5_{index}" dev="{index}" speed="{speed}" port="1" latency="{latency}" guid="0x{index}87c" maxconn="131072" gdr="1"{more}/>'
    return pci(16 * index + 9, "0x1021", f"<nic>\n{net}\n</nic>\n", vendor="0x15b3", kind="0x020000", **link)


def system(*halves, vendor="GenuineIntel", hosts=("0x16fe",), arch="x86_64"):
    """A file of NCCL_TOPO_DUMP_FILE. Source of the form: NVIDIA/nccl, src/graph/xml.cc"""
    cpus = "".join(f'<cpu host_hash="{host}" numaid="{n}" affinity="ff,ff" arch="{arch}" vendor="{vendor}" familyid="6" modelid="143">\n{half}</cpu>\n'
                   for host in hosts for n, half in enumerate(halves))
    return f'<system version="1">\n{cpus}</system>\n'


def node(sm, device, links, **more):
    """Eight GPUs with a NIC each."""
    pairs = [gpu(i, sm, device, links, **more) + nic(i) for i in range(8)]
    return system("".join(pairs[:4]), "".join(pairs[4:]))


DGX_H100 = node(90, "0x2330", HGX)
# a tray: four GPUs whose links end at switches outside of it, each with a link to its Grace, and a NIC each
TRAY = system("".join(gpu(i, 100, "0x2941", [("ff", 18)], extra='<c2c bw="44712" count="5"/>\n') + nic(i) for i in range(4)), arch="arm64", vendor="")


class ImportSlurm(programs.ProgramTest):
    source = "topology.conf"

    def imported(self, conf, *xmls, sets=(), code=0):
        names = [self.write(xml, f"n{i}.xml") for i, xml in enumerate(xmls)]
        words = [word for text in sets for word in ("--set", text)]
        return self.meshsim("import", "slurm", self.write(conf), *names, "-o", "p.yaml", *words, code=code)

    def platform(self, conf, *xmls, **more):
        self.imported(conf, *xmls, **more)
        return yaml.safe_load((self.folder / "p.yaml").read_text(encoding="utf-8"))

    def text(self):
        return (self.folder / "p.yaml").read_text(encoding="utf-8")

    def shown(self, name):
        return json.loads(self.meshsim("platform", name, "--json").stdout)

    def fault(self, conf, *xmls):
        said = self.imported(conf, *xmls, code=3).stderr
        self.assertFalse((self.folder / "p.yaml").exists())
        return said

    def test_a_tree_of_three_layers_of_dgx_h100(self):
        found = self.platform(TREE, DGX_H100)
        self.assertEqual((found["nodes"], found["node"]), (128, {"gpus": 8, "nics": 8, "cpu": "intel"}))
        self.assertEqual(found["gpu"], {"type": "h100-sxm5-80gb", "pcie": "63.02 GB/s"})
        self.assertEqual(found["fabric"], {"kind": "rails", "nodes_per_unit": 32, "oversubscription": 1, "units_per_pod": 2, "core_oversubscription": 1})
        ours, shipped = self.shown("./p.yaml"), self.shown("dgx-h100")
        for tier in shipped["tiers"]:
            mine = next(t for t in ours["tiers"] if t["name"] == tier["name"])
            self.assertEqual((mine["bandwidth_Bps"], mine["latency_s"]), (tier["bandwidth_Bps"], tier["latency_s"]), tier["name"])
        # the one difference: NVLink's efficiency is what NCCL takes, 20.6 of 25 GB/s a link, and measured in the shipped file
        self.assertEqual(found["tiers"]["nvlink"]["efficiency"], 0.824)
        self.assertEqual({t: found["tiers"][t]["efficiency"] for t in ("rail", "spine", "core")}, {"rail": 0.92, "spine": 0.92, "core": 0.92})
        self.assertIn("bandwidth: 450 GB/s  # NVLink 4, 18 links of 25 GB/s per direction (n0.xml:", self.text())
        self.assertNotIn("required", self.text())
        self.meshsim("collective", "all_reduce", "--platform", "./p.yaml", "-n", "16", "-b", "1MiB", "-e", "1MiB")

    def test_racks_of_gb200_are_nodes(self):
        found = self.platform(BLOCKS, TRAY)
        shipped = yaml.safe_load((programs.ROOT / "platforms" / "gb200-nvl72.yaml").read_text(encoding="utf-8"))
        self.assertEqual((found["nodes"], found["node"]["gpus"], found["node"]["nics"]), (16, 72, 72))
        self.assertEqual(found["gpu"]["type"], shipped["gpu"]["type"])
        self.assertEqual(found["gpu"]["pcie"], "223.6 GB/s")
        self.assertEqual(found["fabric"]["kind"], shipped["fabric"]["kind"])
        self.assertEqual(found["fabric"]["nodes_per_unit"], shipped["fabric"]["nodes_per_unit"])
        self.assertEqual((found["nvls"], found["library"]), (shipped["nvls"], shipped["library"]))
        for tier, keys in shipped["tiers"].items():
            self.assertEqual((found["tiers"][tier]["bandwidth"], found["tiers"][tier]["latency"]), (keys["bandwidth"], keys["latency"]), tier)
        self.assertEqual(found["tiers"]["nvlink"]["efficiency"], 0.802)  # NCCL's 40.1 of 50 GB/s a link; the shipped file has a measured one
        self.assertEqual(self.shown("./p.yaml")["gpus"], 16 * 72)
        # a file of two trays shows them as two machines of one switch system
        both = TRAY.replace("<system version=\"1\">\n", "").replace("</system>\n", "")
        pair = "<system version=\"1\">\n" + both + both.replace("0x16fe", "0x16ff") + "</system>\n"
        self.assertEqual(self.platform(BLOCKS, pair), found)

    def test_blocks_of_other_machines_are_units(self):
        found = self.platform("BlockName=b1 Nodes=n[1-32]\nBlockName=b2 Nodes=n[33-64]\nBlockName=b3 Nodes=n[65-96]\nBlockName=b4 Nodes=n[97-128]\nBlockSizes=30,60,120\n",
                              DGX_H100)
        self.assertEqual((found["nodes"], found["fabric"]["nodes_per_unit"], found["fabric"]["units_per_pod"]), (128, 32, 2))
        self.assertIn("# jobs are planned on 30 of a block's 32 nodes (BlockSizes)", self.text())
        self.assertIn("# groups of 120 nodes (BlockSizes) are left out", self.text())
        found = self.platform("BlockName=b1 Nodes=n[1-32]\nBlockName=b2 Nodes=n[33-64]\n", DGX_H100)
        self.assertEqual((list(found["tiers"]), found["fabric"]["nodes_per_unit"]), (["nvlink", "rail", "spine"], 32))

    def test_layers_and_switches_side_by_side(self):
        one = self.platform("SwitchName=s Nodes=a[1-4],b,c[01-03,7]x\n", DGX_H100)
        self.assertEqual((one["nodes"], list(one["tiers"]), list(one["fabric"])), (9, ["nvlink", "rail"], ["kind"]))
        rails = "".join(f"SwitchName=u{u}r{r} Nodes=n[{u * 10}-{u * 10 + 9}]\n" for u in (1, 2) for r in range(8))
        spines = "".join(f"SwitchName=s{s} Switches=u[1-2]r[0-7]\n" for s in range(4))
        found = self.platform(rails + spines, DGX_H100)
        self.assertEqual((found["nodes"], found["fabric"]["kind"], found["fabric"]["nodes_per_unit"], list(found["tiers"])), (20, "rails", 10, ["nvlink", "rail", "spine"]))
        self.assertIn("assumed: leaf switches stand side by side", self.text())
        deep = "SwitchName=l Nodes=n[1-4]\n" + "".join(f"SwitchName=s{i} Switches={'l' if i == 0 else f's{i - 1}'}\n" for i in range(4))
        self.assertEqual(len(self.platform(deep, DGX_H100)["tiers"]), 4)
        self.assertIn("# 5 layers of switches: a platform has three", self.text())

    def test_what_is_irregular_is_told(self):
        leaves = lambda *sizes: "".join(f"SwitchName=l{i} Nodes=n{i}x[1-{size}]\n" for i, size in enumerate(sizes)) + f"SwitchName=top Switches=l[0-{len(sizes) - 1}]\n"
        found = self.platform(leaves(8, 8, 5), DGX_H100)  # a platform's last unit may have fewer nodes
        self.assertEqual((found["nodes"], found["fabric"]["nodes_per_unit"]), (21, 8))
        self.assertNotIn("another number", self.text())
        found = self.platform(leaves(8, 8, 5, 9, 3), DGX_H100)
        self.assertEqual((found["nodes"], found["fabric"]["nodes_per_unit"]), (33, 8))
        self.assertIn("# 2 leaf switches have 8 nodes, 3 another number (3 to 9 in all): a platform's have one number, here 8", self.text())
        self.platform("SwitchName=a Nodes=n[1-8]\nSwitchName=b Nodes=n[9-12]\n", DGX_H100)
        self.assertIn("# switch 'b' with 4 nodes is left out: nothing joins it to 'a'", self.text())
        self.platform("SwitchName=a Nodes=n[1-8]\nSwitchName=b Nodes=n[9-12]\nSwitchName=s Switches=a\nSwitchName=t Switches=s,b\n", DGX_H100)
        self.assertIn("# switches more than one layer below the next (1, such as 'b') are taken as the others", self.text())

    def test_each_key_is_told_of(self):
        said = self.imported(TREE + "Include=more.conf\n", DGX_H100.replace("gdr=", "odd=")).stderr
        for note in ("topology.conf:10:9: note: Include: unknown", "LinkSpeed: ignored: Slurm gives it no unit", "Nodes: used for nodes, fabric.nodes_per_unit",
                     "n0.xml:4:1: note: gpu odd: unknown", "nvlink count: used for tiers.nvlink.bandwidth", "net maxconn: ignored", "tiers.rail.efficiency: assumed: 0.92",
                     "fabric.oversubscription: assumed: 1, non-blocking, as Slurm does not say"):
            self.assertIn(note, said)
        known = json.loads(self.meshsim("import", "slurm", "topology.conf", "n0.xml", "--json", "--quiet").stdout)
        rows = {row["key"]: row for row in known["keys"]}
        self.assertEqual((rows["gpu sm"]["value"], rows["Switches"]["value"], rows["LinkSpeed"]["value"]), ("8 times", "3 times", "1 times"))
        self.assertEqual(known["platform"], self.text())
        self.assertEqual(known["missing"], [])

    def test_the_newer_file_says_the_same(self):
        """Source of the form: Slurm, topology.yaml(5)"""
        tree = {"topology": "a", "cluster_default": True, "tree": {"switches": [
            *({"switch": f"leaf{i}", "nodes": f"dgx[{32 * i - 31:03}-{32 * i:03}]"} for i in (1, 2, 3, 4)),
            {"switch": "spine1", "children": "leaf[1-2]"}, {"switch": "spine2", "children": "leaf[3-4]"}, {"switch": "core", "children": "spine[1-2]"}]}}
        block = {"topology": "b", "cluster_default": False, "block": {
            "block_sizes": [18, 144], "blocks": [{"block": f"rack{r:02}", "nodes": f"tray[{18 * r:03}-{18 * r + 17:03}]"} for r in range(16)]}}
        for own, old, xml in ((tree, TREE, DGX_H100), (block, BLOCKS, TRAY)):
            node, conf = self.write(xml, "n0.xml"), self.write(old)
            expected = json.loads(self.meshsim("import", "slurm", conf, node, "--quiet", "--json").stdout)["platform"]
            new = self.write("---\n" + yaml.dump([dict(tree, cluster_default=own is tree), dict(block, cluster_default=own is block)]), "topology.yaml")
            done = self.meshsim("import", "slurm", new, node, "-o", "p.yaml")
            self.assertIn("topology: ignored: another one is the cluster's default", done.stderr)
            self.assertEqual(yaml.safe_load(self.text()), yaml.safe_load(expected))
        for broken, message in (("- topology: a\n  flat: true\n", "topology.yaml:1:3: error: expected a topology with switches below 'tree', or blocks below 'block'"),
                                ("- tree: {switches: [{switch: a, nodes: [x]}]}\n", "expected names, such as node[01-16]"),
                                ("- tree: {switches: [{switch: a}]}\n", "'a' has neither Nodes nor Switches"),
                                ("- tree: {switches: {switch: a}}\n", "expected a list"), ("[]\n", "expected a topology"), ("x\n", "expected"),
                                ("- block: {block_sizes: [4, 2], blocks: [{block: a, nodes: 'n[1-4]'}]}\n", "expected sizes of blocks that grow"),
                                ("- tree: {switches: [1]}\n", "expected an entry")):
            self.assertIn(message, self.meshsim("import", "slurm", self.write(broken, "topology.yaml"), code=3).stderr, broken)

    def test_what_is_not_known_is_required(self):
        found = self.platform(TREE)
        lacks = ["node.gpus", "node.nics", "gpu.type"] + [f"tiers.{t}.bandwidth" for t in ("nvlink", "rail", "spine", "core")]
        self.assertEqual(found["node"], {"gpus": "required", "nics": "required"})
        refused = self.meshsim("platform", "./p.yaml", code=3).stderr
        for key in lacks:
            self.assertIn(f"# required: {key}  # ", self.text())
            self.assertIn(f"error: {key}: ", refused)
        self.assertEqual(json.loads(self.meshsim("import", "slurm", "topology.conf", "--json", "--quiet").stdout)["missing"], lacks)
        sets = ["node.gpus=8", "node.nics=8", "gpu.type=h100-sxm5-80gb", "library=nccl-2"] + [f"{key}=400 Gbit/s" for key in lacks[3:]]
        self.assertEqual(self.platform(TREE, sets=sets)["fabric"]["units_per_pod"], 2)
        self.meshsim("run", str(programs.ROOT / "workloads" / "tiny.yaml"), "--platform", "./p.yaml", "--set", "platform.nodes=1")
        self.assertIn("expected a unit after the number", self.imported(TREE, sets=[*sets, "tiers.core.bandwidth=3"], code=3).stderr)
        self.assertNotIn("# required", self.text())
        # what is owed comes before what else is to say, as in every file that is imported
        uneven = self.imported(TREE.replace("033-064", "033-048").replace("065-096", "065-070"))
        comments = [line.partition(":")[0] for line in self.text().splitlines() if line.startswith("#")]
        self.assertEqual(comments[1:1 + len(lacks)], ["# required"] * len(lacks), uneven.stderr)
        self.assertGreater(len(comments), 1 + len(lacks))
        # a chip that nobody knows, and links of a generation to come
        self.assertEqual(self.platform(TREE, DGX_H100.replace("0x2330", "0x9999"))["gpu"]["type"], "required")
        self.assertEqual(self.platform(TREE, DGX_H100.replace('sm="90"', 'sm="120"'))["tiers"]["nvlink"]["bandwidth"], "required")

    def test_machines_of_other_kinds(self):
        a100 = self.platform(TREE, node(80, "0x20b2", [(f"c{i}", 2) for i in range(6)]).replace("GenuineIntel", "AuthenticAMD"))
        self.assertEqual((a100["tiers"]["nvlink"]["bandwidth"], a100["node"]["cpu"], a100["gpu"]["type"]), ("300 GB/s", "amd", "a100-sxm4-80gb"))
        self.assertNotIn("nvls", a100)
        v100 = self.platform(TREE, node(70, "0x1db8", [("34", 2), ("36", 4)], target="0x030200"))
        self.assertEqual(v100["tiers"]["nvlink"]["bandwidth"], "150 GB/s")
        self.assertIn("# NVLinks between GPUs are taken as one switch", self.text())
        b200 = self.platform(TREE, node(100, "0x2901", [("ff", 18)]))
        self.assertEqual((b200["tiers"]["nvlink"]["bandwidth"], b200["gpu"]["type"], b200["nvls"]), ("900 GB/s", "b200-sxm6", True))
        plain = self.platform(TREE, system(gpu(0, 80, "0x20b5", [], link=("16.0 GT/s PCIe", 16)) + gpu(1, 80, "0x20b5", [], link=("16.0 GT/s PCIe", 16)) + nic(0)))
        self.assertEqual((list(plain["tiers"])[0], plain["tiers"]["pcie"]["bandwidth"], plain["node"]["gpus"], plain["node"]["nics"]), ("pcie", "31.51 GB/s", 2, 1))
        self.meshsim("platform", "./p.yaml")

    def bridged(self, targets, device="0x2335", own=None):
        """A node of GPUs, each with links to the GPUs of the numbers that `targets` has for it, and how many to each; own: links to itself."""
        pieces = []
        for index, peers in enumerate(targets):
            links = [(f"{16 * peer + 8:02x}", count) for peer, count in peers.items()] + ([(f"{16 * index + 8:02x}", own)] if own else [])
            pieces.append(gpu(index, 90, device, links, target="0x030200") + nic(index))
        half = (len(pieces) + 1) // 2
        return system("".join(pieces[:half]), "".join(pieces[half:]))

    def test_bridges_in_pairs_are_no_switch(self):
        pairs = self.platform(TREE, self.bridged([{1: 12}, {0: 12}, {3: 12}, {2: 12}]))
        self.assertEqual((list(pairs["tiers"])[0], pairs["tiers"]["pcie"]["bandwidth"], pairs["node"]), ("pcie", "63.02 GB/s", {"gpus": 4, "nics": 4, "cpu": "intel"}))
        self.assertIn("# NVLinks that do not join all GPUs of a node, such as bridges between two, are left out", self.text())
        self.meshsim("platform", "./p.yaml")
        rows = json.loads(self.meshsim("collective", "all_reduce", "--platform", "./p.yaml", "-n", "4", "-b", "1GiB", "-e", "1GiB", "--json").stdout)["rows"]
        self.assertLess(rows[-1]["busbw_Bps"], 64e9)
        # a link that ends at the GPU itself, as files of some clouds have, joins it to no other
        own = self.platform(TREE, self.bridged([{}] * 4, own=18))
        self.assertEqual((list(own["tiers"])[0], own["tiers"]["pcie"]["bandwidth"]), ("pcie", "63.02 GB/s"))
        # without a PCI link that says its speed, what joins them all is required
        dark = self.platform(TREE, self.bridged([{1: 12}, {0: 12}, {3: 12}, {2: 12}]).replace('link_speed="32.0 GT/s PCIe"', 'link_speed="Unknown"'))
        self.assertEqual(dark["tiers"]["nvlink"]["bandwidth"], "required")

    def test_links_between_every_two_gpus(self):
        mesh = self.platform(TREE, self.bridged([{peer: 6 for peer in range(4) if peer != index} for index in range(4)]))
        self.assertEqual((mesh["node"]["wiring"], mesh["tiers"]["nvlink"]["bandwidth"]), ("pairs", "150 GB/s"))
        self.assertIn("NVLink 4, 6 links between two GPUs of 25 GB/s per direction", self.text())
        self.assertNotIn("# NVLinks", self.text())
        self.meshsim("platform", "./p.yaml")
        two = self.platform(TREE, self.bridged([{1: 12}, {0: 12}]))
        self.assertEqual((two["node"]["wiring"], two["tiers"]["nvlink"]["bandwidth"]), ("pairs", "300 GB/s"))

    def test_the_cube_mesh_of_dgx_1_is_no_switch(self):
        """Source: NVIDIA, DGX-1 With Tesla V100 System Architecture, figure 4: six links of a GPU to four others."""
        ring = [{1: 1, 2: 1, 3: 2, 4: 2}, {0: 1, 2: 2, 3: 1, 5: 2}, {0: 1, 1: 2, 3: 2, 6: 1}, {0: 2, 1: 1, 2: 2, 7: 1},
                {0: 2, 5: 1, 6: 1, 7: 2}, {1: 2, 4: 1, 6: 2, 7: 1}, {2: 1, 4: 1, 5: 2, 7: 2}, {3: 1, 4: 2, 5: 1, 6: 2}]
        cube = self.platform(TREE, self.bridged(ring))
        self.assertEqual(cube["tiers"]["nvlink"]["bandwidth"], "required")
        self.assertNotIn("wiring", cube["node"])
        self.assertIn("# NVLinks between GPUs are no switch", self.text())
        self.meshsim("platform", "./p.yaml", code=3)
        self.assertEqual(self.platform(TREE, self.bridged(ring), sets=["tiers.nvlink.bandwidth=130 GB/s"])["tiers"]["nvlink"]["bandwidth"], "130 GB/s")

    def test_what_a_file_says_twice_agrees(self):
        one_way = self.bridged([{1: 12}, {0: 12}]).replace('target="0000:08:00.0" count="12"', 'target="0000:08:00.0" count="10"').replace(
            'target="0000:18:00.0" count="12"', 'target="0000:18:00.0" count="10"/><nvlink target="0000:77:00.0" count="2"', 1)
        self.assertRegex(self.fault(TREE, one_way.replace('target="0000:08:00.0" count="10"', 'target="0000:08:00.0" count="12"')),
                         "n0.xml:\\d+:\\d+: error: gpu: 10 links to the GPU at 0000:18:00.0, which has 12 to this one")
        hosts = system(gpu(0, 90, "0x2330", HGX) + gpu(1, 90, "0x2330", HGX)).replace("</system>", '<cpu host_hash="0x2"/></system>')
        self.assertIn("machines with different numbers of GPUs", self.fault(TREE, hosts))

    def test_overrides_replace_whole_values(self):
        said = self.imported(TREE, DGX_H100, sets=["tiers={nvlink: {bandwidth: 450 GB/s}}"], code=3).stderr
        self.assertIn("--set:1:7: error: tiers: a 'rails' fabric has 2 to 4 tiers", said)
        self.assertIn("--set:1:1: error: foo: unknown key", self.imported(TREE, DGX_H100, sets=["foo=1"], code=3).stderr)
        self.assertIn("--set:1:6: error: expected a value behind '='", self.imported(TREE, DGX_H100, sets=["name="], code=3).stderr)
        self.assertIn("--set:1:7: error: there are no keys below 'nodes', it holds '128'", self.imported(TREE, DGX_H100, sets=["nodes.x=1"], code=3).stderr)
        for bad, said in (("nodes", "got no '='"), ("a..b=1", "got an empty key"), ("tiers[0=1", "expected an index such as 'name[2]'")):
            self.assertIn(said, self.imported(TREE, DGX_H100, sets=[bad], code=2).stderr)
        found = self.platform(TREE, DGX_H100, sets=["name='a: b'", "gpu.pcie=~", "slow_nodes={share: 0.005, time: 1.1}"])
        self.assertEqual((found["name"], found["slow_nodes"]), ("a: b", {"share": 0.005, "time": 1.1}))
        self.assertNotIn("pcie", found["gpu"])

    def test_networks(self):
        pair = "".join(gpu(i, 90, "0x2330", HGX) for i in range(2))
        slow = self.platform(TREE, system(pair + nic(0, link=("16.0 GT/s PCIe", 8)) + nic(1, link=("16.0 GT/s PCIe", 8))))
        self.assertEqual(slow["tiers"]["rail"]["bandwidth"], "126.031 Gbit/s")  # eight lanes of Gen4 in the place of 400 Gbit/s
        ports = self.platform(TREE, system(pair + "".join(nic(i, 100000, latency="35", more=' coll="1"') for i in range(8)) + nic(9, 25000)))
        self.assertEqual((ports["node"]["nics"], ports["tiers"]["rail"]["bandwidth"], ports["node"]["nic_latency"], ports["sharp"]), (2, "400 Gbit/s", "35 us", True))
        self.assertIn("# NICs of another speed than most (1) are left out", self.text())
        none = self.platform(TREE, system(pair))
        self.assertEqual((none["node"]["nics"], none["tiers"]["rail"]["bandwidth"]), ("required", "required"))
        socket = '<nic>\n<net name="eth0" dev="0" speed="10000" port="0" latency="0.0" guid="0x0" maxconn="65536" gdr="0"/>\n</nic>\n'
        listed_twice = self.platform(TREE, system(pair + socket, socket))
        self.assertEqual((listed_twice["node"]["nics"], listed_twice["tiers"]["rail"]["bandwidth"], listed_twice["fabric"]["kind"]), (1, "10 Gbit/s", "leaf-spine"))
        self.assertIn("without GPUDirect", self.text())

    def test_nodes_of_a_platform_are_alike(self):
        self.assertEqual(self.platform(TREE, DGX_H100, DGX_H100)["nodes"], 128)
        (self.folder / "p.yaml").unlink()
        for xml, said in ((DGX_H100.replace("0x2330", "0x2335"), "another sort of node than in 'n0.xml'"),
                          (DGX_H100.replace("0x2330", "0x2335", 1), "another GPU than those before"),
                          (DGX_H100.replace('count="5"', 'count="1"', 1), "expected 14 links of NVLink, as of the GPUs before, got 18")):
            self.assertIn(said, self.fault(TREE, DGX_H100, xml))

    def test_bad_topologies(self):
        for conf, said in (("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "topology.conf:1:23: error: a circle of switches at or below 'a'"),
                           ("SwitchName=a Switches=a\n", "a circle of switches"),
                           ("SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[4-8]\n", "topology.conf:2:20: error: 'n4' is below 'a' and 'b'"),
                           ("SwitchName=a Nodes=n[1-4],n2\n", "'n2' stands twice below 'a'"),
                           ("SwitchName=a Switches=b[1-2]\nSwitchName=b1 Nodes=n1\n", "no line names a switch 'b2'"),
                           ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "topology.conf:2:12: error: 'a' is there already, at line 1"),
                           ("SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Nodes=n2\n", "'a' has both Nodes and Switches"),
                           ("SwitchName=a\n", "'a' has neither Nodes nor Switches"), ("Nodes=n1\n", "a list without the SwitchName"),
                           ("SwitchName=l[1] Nodes=n1\nSwitchName=x Nodes=n2\nSwitchName=y Nodes=n3\nSwitchName=s Switches=x,y\nSwitchName=t Switches=y\n",
                            "which do not have the same switches"),
                           ("SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n", "lines of one plug-in"), ("RingName=a Nodes=n1\n", "topology/ring is not read"),
                           ("BlockName=a Nodes=n[1-4]\nBlockName=b Nodes=n4\n", "'n4' is in the blocks 'a' and 'b'"),
                           ("BlockName=a Nodes=n[1-4]\nBlockSizes=5\n", "fewer than the base size 5"), ("BlockName=a Nodes=n[1-4]\nBlockSizes=4,6\n", "whole blocks, got 6"),
                           ("BlockName=a Nodes=n[1-4]\nBlockSizes=4,x\n", "sizes of blocks that grow"), ("BlockName=a Nodes=n[1-4]\nBlockSizes=4,2\n", "that grow"),
                           ("BlockName=a Nodes=n Switches=s\n", "a block has no Switches"), ("", "expected lines with SwitchName or BlockName"),
                           ("SwitchName=a Nodes=ALL\n", "says slurm.conf"), ("SwitchName=a SwitchName=b Nodes=n\n", "a second switch or block"), ("SwitchName a\n", "expected KEY=VALUE"),
                           ("SwitchName=a Nodes=\n", "Nodes has no value"), ("SwitchName=a\x1b[31m Nodes=n\n", "a letter that none can have"), ("SwitchName=a\0 Nodes=n\n", "a byte that no text has"), (DGX_H100, "expected a topology.conf of Slurm in front")):
            self.assertIn(said, self.fault(conf, DGX_H100), conf)

    def test_bad_lists_of_hosts(self):
        for hosts, said in (("n[1-", "expected a number"), ("n[1-4", "a bracket is not closed"), ("n1]", "a bracket closes that none opens"), ("n[]", "expected a number"),
                            ("n[4-1]", "a range ends before it begins"), ("n[1-4],", "a name is missing"), (",n1", "a name is missing"), ("n[1,,2]", "expected a number"),
                            ("n[1-9x4]", "a bracket is not closed, or holds what is no range"), ("n[1-9999999]", "it names too many"), ("n[1-999][1-999]", "it names too many"),
                            ("n[1-12345678901]", "expected a number of 9 digits at most"), ("n" * 300, "a name is longer than 255 letters")):
            self.assertRegex(self.fault(f"SwitchName=a Nodes={hosts}\n"), f"topology.conf:1:20: error: .* is no list of hosts: {said}", hosts)
        many = "".join(f"SwitchName=s{i} Nodes=n{i}x[1-60000]\n" for i in range(4))
        self.assertIn("the file names more than 131072", self.fault(many))

    def test_the_page_says_how_what_is_required_is_given(self):
        page = self.meshsim("import", "slurm", self.write(TREE), "-o", "p.yaml", "--quiet").stdout
        now = re.search(r"^now        add, for example, (.*)$", page, re.M)[1]
        self.assertNotIn("required", self.meshsim("import", "slurm", "topology.conf", *shlex.split(now), "-o", "p.yaml", "--quiet").stdout)
        self.meshsim("platform", "./p.yaml")

    def test_a_file_for_nccl_to_read_is_none_that_it_wrote(self):
        """Files of clouds for NCCL_TOPO_FILE have PCI devices and no GPUs in them.  Source: Azure, ndv4-topo.xml."""
        xml = ('<system version="1"><cpu numaid="0" affinity="ffff" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">'
               '<pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">'
               '<pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/></pci></cpu></system>')
        self.assertRegex(self.fault(TREE, xml), "this is a file for NCCL_TOPO_FILE, .* NCCL_TOPO_DUMP_FILE makes a job write")

    def test_bad_xml(self):
        bomb = '<!DOCTYPE s [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>\n<system version="1">&b;</system>'
        for xml, said in ((DGX_H100[: len(DGX_H100) // 2], "n0.xml:\\d+:\\d+: error: not valid XML: "), (DGX_H100 * 2, "not valid XML: junk after document element"),
                          (bomb, "n0.xml:1:\\d+: error: a document type is not read"), ("", "not valid XML: no element found"), ("<graphs version='1'/>", "expected <system>, .* got <graphs>"),
                          ("<system version='1'/>", "expected GPUs"), ("<system>" + "<pci>" * 70 + "</pci>" * 70 + "</system>", "more than 64 levels"),
                          (DGX_H100.replace('sm="90"', 'sm="x"', 1), "expected a whole number of 0 or more as sm, got 'x'"),
                          (DGX_H100.replace('speed="400000"', 'speed="fast"', 1), "expected a number as speed, got 'fast'"),
                          (DGX_H100.replace("nvlink", "xgmi"), "links of AMD's GPUs, in a file of RCCL, are not read"),
                          (DGX_H100.replace("<nic>", "<nik>").replace("</nic>", "</nik>"), "more than 100|expected a net in a nic element|required"),
                          ('<system version="1"><cpu numaid="0"><gpu dev="0" sm="90"/></cpu></system>', "expected a GPU in a pci element"),
                          (system("".join(gpu(i, 90, "0x2330", HGX) for i in range(1)), "", hosts=("0x1",)).replace("</system>", '<cpu host_hash="0x2"/></system>'), "different numbers of GPUs")):
            if "nik" in xml:  # an element that NCCL does not have is told of, and what is in it is not read
                self.assertIn("nik: unknown", self.imported(TREE, xml).stderr)
                (self.folder / "p.yaml").unlink()
                continue
            self.assertRegex(self.fault(TREE, xml), said)
        self.assertIn("no such file", self.meshsim("import", "slurm", self.write(TREE), "nowhere.xml", code=3).stderr)

    def test_a_file_of_any_name_leaves_a_file_that_is_read(self):
        (self.folder / "a\nb.xml").write_text(DGX_H100, encoding="utf-8")
        self.meshsim("import", "slurm", self.write(TREE), "a\nb.xml", "-o", "p.yaml")
        self.assertIn("(a?b.xml:", self.text())
        self.meshsim("platform", "./p.yaml")

    def test_usage(self):
        self.assertIn("'--gpus' goes with 'deepspeed' and with 'hf' and with 'megatron", self.meshsim("import", "slurm", self.write(TREE), "--gpus", "8", code=2).stderr)
        self.assertIn("is a name for a table", self.meshsim("import", "slurm", "topology.conf", "-o", "p.csv", code=2).stderr)


if __name__ == "__main__":
    programs.main(__doc__)
