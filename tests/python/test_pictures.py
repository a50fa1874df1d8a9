#!/usr/bin/env python3
"""Pictures of what commands print say what their JSON says.

usage: test_pictures.py MESHSIM [unittest arguments]
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
SVG = "{http://www.w3.org/2000/svg}"
BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
SPEEDS = {"B/s": 1, "KB/s": 1e3, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12}


def meshsim(*words, code=0):
    done = subprocess.run([PROGRAM, *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != code:
        raise AssertionError(f"exit code {done.returncode} instead of {code}: {done.stderr}")
    return done.stdout if code < 2 else done.stderr


def titles_of(text):
    """What a reader sees when pointing at something, from an SVG that has to be well-formed."""
    return [node.text for node in ET.fromstring(text).iter(f"{SVG}title")]


def texts_of(text):
    """What can be read in it."""
    return ["".join(node.itertext()) for node in ET.fromstring(text).iter(f"{SVG}text")]


def number_of(text, units):
    number, unit = text.split()
    return float(number) * units[unit]


class OfMemory(unittest.TestCase):
    CLASSES = {"parameters": "parameters_B", "gradients": "gradients_B", "optimizer state": "optimizer_B", "activations": "activations_B",
               "buffers": "buffers_B", "other": "other_B"}

    def look(self, *words, code=0):
        stages = json.loads(meshsim("check", *words, "--json", code=code))["stages"]
        text = meshsim("check", *words, "--svg", "-", code=code)
        return stages, text

    def test_every_part_is_that_of_the_json(self):
        stages, text = self.look("gpt3-175b-1024")
        seen = {}
        for title in titles_of(text):
            rank, part, value, total = re.fullmatch(r"pipeline rank (\d+): (\D+) ([\d.]+ \w+) of ([\d.]+ \w+)", title).groups()
            self.assertAlmostEqual(number_of(total, BYTES) / stages[int(rank)]["peak_B"], 1, delta=0.005)
            seen[int(rank), self.CLASSES[part]] = number_of(value, BYTES)
        self.assertEqual(len(seen), len(stages) * len(self.CLASSES))
        for (rank, key), value in seen.items():
            self.assertAlmostEqual(value, stages[rank][key], delta=0.005 * stages[rank][key] + 0.5)
        for stage in stages:
            self.assertAlmostEqual(sum(stage[key] for key in self.CLASSES.values()), stage["peak_B"], delta=1)
            self.assertAlmostEqual(sum(stage[key] for key in ("parameters_B", "gradients_B", "optimizer_B")), stage["static_B"], delta=1)

    def test_what_does_not_fit_is_marked(self):
        self.assertNotIn("does not fit", self.look("gpt3-175b-1024")[1])
        stages, text = self.look("gpt3-175b-1024", "--set", "recompute=none", code=1)
        capacity = json.loads(meshsim("check", "gpt3-175b-1024", "--set", "recompute=none", "--json", code=1))["memory"]["capacity_B"]
        self.assertEqual(text.count(">!</text>"), sum(stage["peak_B"] > capacity for stage in stages))
        self.assertIn(">! does not fit</text>", text)

    def test_settings_have_no_picture(self):
        self.assertIn("do not go together", meshsim("check", "tiny", "--effective", "--svg", "-", code=2))


class OfCollectives(unittest.TestCase):
    WORDS = ("all_reduce", "--platform", "dgx-h100", "-n", "32", "-b", "64KiB", "-e", "1GiB", "-f", "8")

    def rows(self, *words):
        return json.loads(meshsim("collective", *self.WORDS, *words, "--json"))["rows"]

    def lines(self, *words):
        """Bus bandwidths by algorithm, from the smallest size on."""
        text = meshsim("collective", *self.WORDS, *words, "--plot", "-")
        lines = {}
        for title in titles_of(text):
            name, size, speed = re.fullmatch(r"(\w+), \w+: (.+) in .+, ([\d.]+ \S+)", title).groups()
            lines.setdefault(name, []).append((number_of(size, BYTES), number_of(speed, SPEEDS)))
        return text, {name: [speed for _, speed in sorted(pairs)] for name, pairs in lines.items()}

    def test_every_line_is_what_the_command_prints_of_its_algorithm(self):
        _, lines = self.lines()
        self.assertGreater(len(lines), 1)
        for name, speeds in lines.items():
            rows = self.rows("--algorithm", name)
            self.assertEqual(len(speeds), len(rows))
            for speed, row in zip(speeds, rows):
                self.assertAlmostEqual(speed / row["busbw_Bps"], 1, delta=0.005)

    def test_hollow_is_what_auto_takes(self):
        text, lines = self.lines()
        taken = [row["algorithm"] for row in self.rows()]
        self.assertLessEqual(set(taken), set(lines))
        marks = [node for node in ET.fromstring(text).iter(f"{SVG}use") if node.find(f"{SVG}title") is not None]
        hollow = [node for node in marks if "fill: #ffffff" in node.get("style")]
        self.assertEqual(sorted(node.find(f"{SVG}title").text.split(",")[0] for node in hollow), sorted(taken))
        for i, row in enumerate(self.rows()):
            self.assertAlmostEqual(lines[row["algorithm"]][i] / row["busbw_Bps"], 1, delta=0.005)

    def test_of_one_algorithm_its_line_alone(self):
        text, lines = self.lines("--algorithm", "tree")
        self.assertEqual(list(lines), ["tree"])
        self.assertNotIn("hollow", text)
        self.assertNotIn("without", text)

    def test_an_algorithm_without_a_line_is_told(self):
        done = subprocess.run([PROGRAM, "collective", *self.WORDS, "--plot", "-"], capture_output=True, text=True, check=True)
        _, lines = self.lines()
        told = dict(re.findall(r"note: the picture has no line of (\w+): it (needs .*)", done.stderr))
        self.assertEqual(set(told) | set(lines), {"ring", "tree", "nvls", "nvls_tree", "collnet_direct", "collnet_chain"})
        self.assertFalse(set(told) & set(lines))
        captions = dict(re.findall(r">without (\w+), which (.*)</text>", done.stdout))
        self.assertEqual(captions, {name: why.split(" (")[0] for name, why in told.items()})
        self.assertIn("needs one node whose NVLink switches reduce", captions["nvls"])

    def test_where_nothing_takes_time_there_is_no_picture(self):
        done = subprocess.run([PROGRAM, "collective", "all_reduce", "--platform", "ideal", "-n", "8", "--plot", "-"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("a transfer takes no time on platform 'ideal'", done.stderr)


class OfMeshes(unittest.TestCase):
    def check(self, shape, axis, *words):
        """Titles of the picture, whose groups have to be those of the JSON."""
        words = ("mesh", "--shape", shape, *words)
        told = json.loads(meshsim(*words, "--groups", axis, "--json"))
        titles = titles_of(meshsim(*words, "--groups", axis, "--svg", "-"))
        groups = {}
        for title in titles:
            found = re.fullmatch(r"GPU (\d+): rank (\d+), (.*); group (\d+) of (\w+)", title)
            if found:
                gpu, _, _, group, name = found.groups()
                self.assertEqual(name, axis)
                groups.setdefault(group, []).append(int(gpu))
        self.assertEqual(sorted(sorted(group) for group in groups.values()), sorted(sorted(group) for group in told["groups"][axis]))
        return titles

    def test_groups_are_those_of_the_json(self):
        for axis in ("pp", "dp", "tp"):
            titles = self.check("pp=2,dp=4,tp=4", axis, "--platform", "dgx-a100", "--set", "platform.nodes=4")
            self.assertEqual(len(titles), 32)
            self.assertTrue(any(title.startswith("GPU 22: rank 22, pp 1, dp 1, tp 2; group ") for title in titles), titles)

    def test_placed_ranks_and_what_they_leave(self):
        titles = self.check("dp=2,tp=4", "tp", "--platform", "dgx-a100", "--set", "platform.nodes=4", "--placement",
                            "{nodes: [0, 2], order: [gpu, node], spares: 1}")
        self.assertIn("GPU 16: rank 1, dp 0, tp 1; group 0 of tp", titles)
        self.assertEqual(sum(title.endswith(": spare") for title in titles), 8)
        self.assertEqual(sum(title.endswith(": idle") for title in titles), 16)

    def test_a_large_mesh_has_an_overview_of_its_gpus(self):
        shape = ("mesh", "--shape", "pp=4,dp=16,tp=8", "--platform", "dgx-h100", "--set", "platform.nodes=64", "--groups", "dp")
        titles = titles_of(meshsim(*shape, "--svg", "-"))
        self.assertEqual(len(titles), 64 + 512)  # the first 64 GPUs in full, and all of them
        self.assertEqual(titles[:64], titles[64:128])
        groups = {}
        for title in titles[64:]:
            gpu, group = re.fullmatch(r"GPU (\d+): rank \d+, .*; group (\d+) of dp", title).groups()
            groups.setdefault(group, []).append(int(gpu))
        told = json.loads(meshsim(*shape, "--json"))["groups"]["dp"]
        self.assertEqual(sorted(sorted(group) for group in groups.values()), sorted(sorted(group) for group in told))

    def test_a_huge_mesh_has_an_overview_of_its_nodes(self):
        text = meshsim("mesh", "--shape", "pp=16,dp=800,tp=8", "--platform", "dgx-h100", "--set", "platform.nodes=12800", "--svg", "-")
        titles = titles_of(text)
        self.assertTrue(all(title.startswith("GPU ") for title in titles[:64]))
        stages = {}
        for title in titles[64:]:
            first, last, stage = map(int, re.fullmatch(r"nodes (\d+) to (\d+): pp (\d+)", title).groups())
            stages.setdefault(stage, []).extend(range(first, last + 1))
        self.assertEqual(stages, {stage: list(range(800 * stage, 800 * stage + 800)) for stage in range(16)})
        self.assertIn("all 12800 nodes, the first 8 of them above; a cell for each 4 nodes, a colour for each pp, seven in turn", texts_of(text))
        self.assertLess(len(text), 1_500_000)

    def test_a_million_gpus_are_drawn(self):
        text = meshsim("mesh", "--shape", "pp=16,dp=8192,tp=8", "--platform", "dgx-h100", "--set", "platform.nodes=131072", "--svg", "-")
        self.assertIn("all 131072 nodes, the first 8 of them above; a cell for each 32 nodes, a colour for each pp, seven in turn", texts_of(text))
        self.assertTrue(titles_of(text)[-1].endswith(" to 131071: pp 15"))
        self.assertLess(len(text), 1_500_000)

    def test_groups_of_experts_are_drawn_beside_others(self):
        text = meshsim("mesh", "--shape", "dp=2,ep=4,tp=2", "--order", "dp,ep,tp", "--platform", "dgx-a100", "--set", "platform.nodes=2", "--svg", "-")
        titles = titles_of(text)
        self.assertEqual([sum(title.endswith(f" of {axis}") for title in titles) for axis in ("tp", "ep")], [16, 16])
        self.assertIn("experts: dp 2 x ep 4 x tp 2; a cell for each GPU, a colour for each group of ep, seven in turn", texts_of(text))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "own.yaml"
            path.write_text("platform: {file: dgx-h100, nodes: 2}\nmesh: {dp: 4, tp: 4}\nexpert_mesh: {ep: 8, tp: 1}\nbatch: {global: 16}\ntensor_parallel: {sequence: true}\n"
                            "model: {type: llama, layers: 2, hidden: 256, heads: 8, ffn: 512, vocab: 1024, sequence: 64, moe: {experts: 8, top_k: 2, ffn: 128}}\n", encoding="utf-8")
            text = meshsim("check", str(path), "--mesh-svg", "-")
        groups = {}
        for title in titles_of(text)[16:]:
            gpu, group = re.fullmatch(r"GPU (\d+): rank \d+, .*; group (\d+) of ep", title).groups()
            groups.setdefault(group, []).append(int(gpu))
        self.assertEqual(sorted(groups.values()), [list(range(8)), list(range(8, 16))])

    def test_drawn_is_where_ranks_are(self):
        text = meshsim("mesh", "--shape", "dp=8,tp=8", "--platform", "dgx-h100", "--set", "platform.nodes=400", "--placement", "{nodes: 300-307}",
                       "--svg", "-")
        texts = texts_of(text)
        self.assertEqual([text for text in texts if text.startswith("node ")], [f"node {node}, unit 9 of the fabric" for node in range(300, 308)])
        self.assertIn("not drawn: 392 nodes without ranks", texts)

    def test_names_cannot_leave_their_place(self):
        text = meshsim("mesh", "--shape", "a<b=2", "--order", "a<b", "--platform", "dgx-a100", "--set", "platform.nodes=1", "--svg", "-")
        self.assertIn("a<b 1", titles_of(text)[1])

    def test_a_workload_is_drawn_as_its_mesh(self):
        for word in ("pp", "tp"):
            order = {"pp": "[tp, dp, pp]", "tp": "[pp, dp, tp]"}[word]
            text = meshsim("check", "tiny", "--set", f"mesh.order={order}", "--mesh-svg", "-")
            self.assertEqual(text, meshsim("mesh", "--shape", "dp=2,pp=2,tp=2", "--order", order[1:-1].replace(" ", ""), "--platform", "dgx-a100",
                                           "--set", "platform.nodes=1", "--groups", word, "--svg", "-"))
            self.assertIn(f"of {word}", titles_of(text)[0])

    def test_without_a_platform_there_is_nothing_to_draw(self):
        self.assertIn("name it with --platform", meshsim("mesh", "--shape", "dp=2", "--svg", "-", code=2))


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
