#!/usr/bin/env python3
"""`meshsim plot` and meshsim.plot: pictures of what --json prints, of traces, and of a caller's own numbers.

MS_SEED replays the damaged results.
# ctest: 2 parts

usage: test_plot.py MESHSIM [unittest arguments]
"""

import contextlib
import copy
import io
import json
import os
import random
import re
import sys
import time
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib.image

import programs
from parts import load_tests  # noqa: F401
from programs import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "python"))
from meshsim import plot  # noqa: E402
from meshsim.tools import _call  # noqa: E402
from meshsim.tools import plot as tool  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
SECONDS = float(os.environ.get("MS_FUZZ_S", "3"))
CHECK = ("check", "tiny")
COLLECTIVE = ("collective", "all_reduce", "--platform", "dgx-h100", "-n", "16", "-b", "1MiB", "-e", "64MiB", "-f", "8")
MESH = ("mesh", "--shape", "pp=2,dp=2,tp=4", "--platform", "dgx-a100", "--set", "platform.nodes=4", "--placement", "{nodes: [0, 2], spares: 1}")
PLATFORM = ("platform", "dgx-a100", "--placement", "{spares: 2}", "--ranks", "100")
SWEEP = """workload: %s/workloads/tiny.yaml
axes:
  - platform.tiers.nvlink.bandwidth: [50 GB/s, 100 GB/s, 300 GB/s]
  - {mesh.tp: [1, 2, 8], mesh.dp: [4, 2, 1]}
picture: {kind: %s, quantity: step_time_s, title: "links $x^2$ and <meshes>"}
"""


def words_of(svg, tag="text"):
    """What can be read in a picture, or what its shapes are."""
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter(f"{SVG}{tag}")]


def seconds(text):
    number, unit = text.split()
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


class OfResults(programs.ProgramTest):
    def results(self, *words, **how):
        """Name of a file with what a command prints."""
        return self.write(self.meshsim(*words, "--json", **how).stdout, "results.json")

    def plot(self, *words, **how):
        return self.meshsim("plot", *words, **how).stdout

    def bars(self, *words):
        """Values of bars by their names, and those of their parts, in seconds."""
        found = {}
        for title in words_of(self.plot(*words), "title"):
            name, part, value, total = re.fullmatch(r"(.*): (\D+) ([\d.]+ \w+) of ([\d.]+ \w+)", title).groups()
            found.setdefault(name, [seconds(total), {}])[1][part] = seconds(value)
        return found

    def test_a_commands_own_picture_is_that_of_its_json(self):
        for words, option in ((CHECK, "--svg"), (MESH, "--svg"), (PLATFORM, "--svg")):
            self.assertEqual(self.plot(self.results(*words)), self.meshsim(*words, option, "-").stdout)
        self.assertEqual(self.plot(self.results(*CHECK), "--of", "mesh"), self.meshsim(*CHECK, "--mesh-svg", "-").stdout)
        self.assertEqual(self.plot(self.results(*PLATFORM), "--format", "dot"), self.meshsim(*PLATFORM, "--dot", "-").stdout)
        results = self.write(self.meshsim(*COLLECTIVE, "--plot", "p.svg", "--json").stdout, "results.json")
        self.assertEqual(self.plot(results), (self.folder / "p.svg").read_text(encoding="utf-8"))

    def test_sweeps_by_other_axes_and_quantities(self):
        sweep = self.write(SWEEP % (ROOT, "lines"), "sweep.yaml")
        results = self.results("sweep", sweep)
        self.assertEqual(self.plot(results), self.meshsim("sweep", sweep, "--plot", "-").stdout)
        rows = [row for row in json.loads((self.folder / results).read_text(encoding="utf-8"))["rows"] if "mfu" in row]
        svg = self.plot(results, "--x", "mesh.dp", "--quantity", "mfu", "--heat", "--title", "mine")
        texts = words_of(svg)
        self.assertLessEqual({"mine: mfu", "mesh.tp, mesh.dp", "1, 4", "300 GB/s", "-", *(f"{100 * row['mfu']:.3g} %" for row in rows)}, set(texts))
        self.assertEqual(len(words_of(svg, "title")), 9)
        for words, error in ((("--x", "mesh.pp"), "no 'mesh.pp'; its keys are platform.tiers.nvlink.bandwidth, mesh.tp, mesh.dp"), (("--quantity", "mf"), "no 'mf'")):
            self.assertIn(error, self.meshsim("plot", results, *words, code=2).stderr)

    def test_bars_show_where_the_time_goes(self):
        one, two = (self.write(self.meshsim("run", "tiny", "--set", f"mesh.order={order}", "--json").stdout, f"{order[1]}.json") for order in ("[pp,dp,tp]", "[dp,pp,tp]"))
        for found in (self.bars(one, two), self.bars(self.results("search", "tiny", "--top", "2")),
                      self.bars(self.results("schedule", "--compare", "1f1b,zbv", "--workload", "tiny"))):
            self.assertGreater(len(found), 0)
            for total, parts in found.values():
                self.assertAlmostEqual(sum(parts.values()) / total, 1, delta=0.02)
        rows = json.loads((self.folder / "results.json").read_text(encoding="utf-8"))["rows"]
        for row in rows:
            self.assertAlmostEqual(found[row["schedule"]][0] / row["step_time_s"], 1, delta=0.005)
        self.assertIn("capacity: 77 GiB", words_of(self.plot("results.json", "--of", "memory")))
        self.assertIn("makespan of a rank", words_of(self.plot(self.results("schedule", "--compare", "1f1b,zbv", "-p4", "-m8"))))

    def test_traces(self):
        self.meshsim("run", "tiny", "-o", "t.h5")
        self.plot("t.h5", "-o", "a.svg")
        self.meshsim("report", "t.h5", "-o", "b.svg")
        self.assertEqual((self.folder / "a.svg").read_bytes(), (self.folder / "b.svg").read_bytes())
        self.assertLessEqual({"rank 0", "rank 4", "memory of a GPU", "0 s"}, set(words_of(self.plot("t.h5", "--of", "memory"))))
        found = self.bars(self.results("compare", "t.h5", "t.h5"))
        self.assertEqual(found["a"], found["b"])

    def test_validated_runs(self):
        cases = ROOT / "workloads/validation/cases.yaml"
        results = self.results("validate", cases, "--group", "simumax")
        rows = json.loads((self.folder / results).read_text(encoding="utf-8"))["rows"]
        svg = self.plot(results)
        self.assertEqual(sorted(words_of(svg, "title")), sorted(row["id"] for row in rows))
        self.assertLessEqual({"measured [s]", "predicted [s]", "10 % off", "simumax"}, set(words_of(svg)))

    def test_the_same_bytes_each_time(self):
        results = self.results(*CHECK)
        for form, start in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF-")):
            for name in "ab":
                self.plot(results, "-o", f"{name}.{form}")
            drawn = (self.folder / f"a.{form}").read_bytes()
            self.assertTrue(drawn.startswith(start))
            self.assertEqual(drawn, (self.folder / f"b.{form}").read_bytes())

    def test_names_are_text_and_no_file_of_the_folder_counts(self):
        tree = json.loads(self.meshsim(*CHECK, "--json").stdout)
        for name in ("$x^2$", "$\\frac{1}{", "<b>&\"'", "a--b", "日本 ✓"):
            tree["workload"] = name
            self.assertIn(f"{name}: memory at its peak", words_of(self.plot(self.write(tree, "t.json"))))
        tree["workload"] = "a\nb\x1b[31m\ud800"
        before = self.plot(self.write(tree, "t.json"))
        self.assertIn("a?b?[31m?: memory at its peak", words_of(before))
        self.write("figure.facecolor: red\ntext.usetex: True\nbackend: module://evil\n", "matplotlibrc")
        self.write("raise SystemExit(9)\n", "matplotlib.py")
        self.assertEqual(self.plot("t.json"), before)

    def test_what_is_refused(self):
        for text, place in (("{", "t.json:1:2: error: not JSON: Expecting property name"), ('{\n "a": 1,,\n}', "t.json:2:9: error: not JSON"),
                            ("[" * 100000, "too deep"), ("[1]", "'t.json' is neither a trace nor what --json of one of these prints: collective, sweep"),
                            ('{"layout": 1, "tiers": []}', "'t.json' cannot be drawn: ")):
            self.assertIn(place, self.meshsim("plot", self.write(text, "t.json"), code=3).stderr)
        check, mesh = self.results(*CHECK), self.write(self.meshsim(*MESH, "--json").stdout, "mesh.json")
        self.assertIn("a graph for Graphviz is made of a platform, and this is of check", self.meshsim("plot", check, "-o", "x.dot", code=2).stderr)
        self.assertIn("several files are drawn of collective, of run or of check", self.meshsim("plot", check, mesh, code=2).stderr)
        self.assertIn("unknown format 'gif'", self.meshsim("plot", check, "--format", "gif", code=2).stderr)
        self.assertIn("cannot be drawn", self.meshsim("plot", mesh, "--groups", "xx", code=3).stderr)
        self.assertIn("cannot read 'none.json'", self.meshsim("plot", "none.json", code=3).stderr)
        self.assertIn("cannot read '.': Is a directory", self.meshsim("plot", ".", code=3).stderr)
        self.assertIn("cannot write 'no/x.svg'", self.meshsim("plot", check, "-o", "no/x.svg", code=4).stderr)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.suffix in (".svg", ".dot")], [])

    def test_a_missing_package_ends_with_the_line_to_type(self):
        program = self.folder / "bin" / "meshsim"  # beside a package whose matplotlib is missing
        package = self.folder / "share" / "meshsim" / "python"
        program.parent.mkdir()
        package.mkdir(parents=True)
        program.write_bytes(Path(self.program).read_bytes())
        program.chmod(0o755)
        for path in (ROOT / "scripts/python/meshsim").rglob("*.py"):
            copied = package / "meshsim" / path.relative_to(ROOT / "scripts/python/meshsim")
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes(path.read_bytes())
        start = package / "meshsim/tools/_start.py"
        start.write_text(start.read_text(encoding="utf-8").replace("    sys.exit(main(", "    sys.modules['matplotlib'] = None\n    sys.exit(main("), encoding="utf-8")
        type(self).program, kept = str(program), self.program
        self.addCleanup(setattr, type(self), "program", kept)
        said = self.meshsim("check", "tiny", "--svg", "c.svg", code=4)
        self.assertIn("apt-get install python3-matplotlib", said.stderr)
        self.assertEqual(said.stdout, "")
        self.assertEqual(self.meshsim("platform", "flat", "--dot", "-").stdout[:7], "// flat")
        start.unlink()
        self.assertIn("Python package, which is not installed beside the program", self.meshsim("check", "tiny", "--svg", "c.svg", code=4).stderr)
        self.meshsim("check", "tiny")


class OfPlatforms(programs.ProgramTest):
    def test_levels(self):
        for words, texts in ((("selene-a100",), {"core", "spine of pod 0", "spine of pod 3", "unit 27: 20 nodes", "184 Gbit/s a link, 7 us", "GPU 7"}),
                             (("dgx-a100", "--set", "platform.nodes=50"), {"unit 2: 10 nodes", "one leaf switch per rail"}), (("ideal",), {"unlimited a link, 0 s"}),
                             (("gb200-nvl72",), {"GPU 14", "..", "8 nodes"}), (("tpu-v4", "--set", "platform.nodes=4096"), {"pod 2: 16 x 16 x 16", "dcn: 8192 links"}),
                             (PLATFORM[1:], {"100 GPUs with a rank", "12 GPUs idle", "16 GPUs spare"})):
            self.assertLessEqual(texts, set(words_of(self.meshsim("platform", *words, "--svg", "-").stdout)))

    def test_graphs(self):
        for nodes, edges in ((16, 3 * 64), (2, 12)):  # a cube's neighbours face each other both ways round
            dot = self.meshsim("platform", "tpu-v4", "--set", f"platform.nodes={nodes}", "--dot", "-").stdout
            self.assertEqual(dot.count("-- chip"), edges)
        self.assertIn("spine -- core [label=\"1873 x 206.1 Tbit/s\"]", self.meshsim("platform", "selene-a100", "--set", "platform.nodes=262144", "--dot", "-").stdout)
        self.assertIn("100 pods, each", self.meshsim("platform", "tpu-v4", "--set", "platform.nodes=102400", "--dot", "-").stdout)
        named = self.meshsim("platform", "dgx-a100", "--set", "platform.nodes=2", "--set", "platform.gpu.name='g\"]; x [label=\"\\'", "--dot", "-").stdout
        self.assertIn('8 x g\\"]; x [label=\\"\\\\"];', named)


class OfNumbers(unittest.TestCase):
    """From Python: values are those of the figure."""

    def test_lines(self):
        figure = plot.lines([1, 2, 64], {"a": [1.0, None, 100.0], "b": [3, 4, 5]}, ["x", "y", "z"], "B/s", marked={"a": [True, False, False]}, mark_note="chosen", notes=["below"])
        axes = figure.axes[0]
        self.assertEqual((axes.get_xscale(), axes.get_yscale()), ("log", "log"))
        self.assertEqual([list(line.get_ydata()) for line in axes.lines[2:4]], [[3, 4, 5], []])
        texts = words_of(plot.save(figure))
        self.assertLessEqual({"a", "b", "x", "z", "hollow: chosen", "below", "100 B/s"}, set(texts))
        self.assertEqual(sorted(words_of(plot.save(figure), "title"))[:2], ["a: 1 B/s", "a: 100 B/s"])

    def test_bars_and_their_limit(self):
        figure = plot.bars(["p", "q"], {"low": [2**30, 2**31], "high": [2**30, 0]}, "B", 1.5 * 2**30, over_note="too large", x_label="rank")
        self.assertEqual([bar.get_height() for bar in figure.axes[0].patches[:4]], [2**30, 2**31, 2**30, 0])
        texts = words_of(plot.save(figure))
        self.assertEqual(texts.count("!"), 2)
        self.assertLessEqual({"capacity: 1.5 GiB", "! too large", "2 GiB"}, set(texts))

    def test_scatter_leaves_out_what_has_no_place(self):
        points = [plot.Point(1, 1.1, "g", "one"), plot.Point(0, 1, "g", "zero"), plot.Point(float("nan"), 1, "g", "none"), plot.Point(20, 19, "h", "two")]
        self.assertEqual(words_of(plot.save(plot.scatter(points, unit="s")), "title"), ["one", "two"])

    def test_thousands_of_values(self):
        start = time.monotonic()
        for figure in (plot.lines(range(1, 20001), {f"line {i}": [i + j % 7 for j in range(20000)] for i in range(5)}),
                       plot.heat_map([str(i) for i in range(200)], [str(i) for i in range(100)], [[i * j + 1 for i in range(200)] for j in range(100)]),
                       plot.scatter([plot.Point(i + 1, i + 2, "g", str(i)) for i in range(5000)]), plot.bars([f"name {i}" for i in range(500)], {"p": range(500)})):
            self.assertLess(len(plot.save(figure)), 3_000_000)
        self.assertLess(time.monotonic() - start, 60)

    def test_names_do_not_run_into_each_other(self):
        for names in ([f"a name of {i}" for i in range(40)], ["x" * 50, "y" * 50, "z"], ["1", "2"]):
            figure = plot.bars(names, {"p": [1] * len(names)})
            figure.draw_without_rendering()
            labels = [label for label in figure.axes[0].get_xticklabels() if label.get_text()]
            boxes = [label.get_window_extent() for label in labels]
            self.assertTrue(boxes)
            if labels[0].get_rotation() == 0:
                self.assertTrue(all(left.x1 <= right.x0 for left, right in zip(boxes, boxes[1:])))
            else:
                self.assertTrue(all(right.x1 - left.x1 >= 12 for left, right in zip(boxes, boxes[1:])))

    def test_titles_of_axes_stay_in_the_picture(self):
        title = "platform.node.gpus, platform.nodes, mesh.dp, mesh.pp, mesh.ep"
        for figure in (plot.heat_map(["a", "b"], ["r"], [[1, 2]], y_label=title), plot.lines(None, {"s": [1, 2]}, ["a", "b"], y_label=2 * title, x_label=2 * title)):
            image = matplotlib.image.imread(io.BytesIO(plot.save(figure, "png")))[..., :3]
            self.assertTrue((image[[0, -1]] == 1).all() and (image[:, [0, -1]] == 1).all(), "nothing is cut at a border")
        self.assertEqual(plot.heat_map(["a"], ["r"], [[1]], y_label=title).axes[0].yaxis.label.get_rotation(), 0, "a table may be lower than its title is long")

    def test_the_last_name_is_there(self):
        for count in range(1, 30):
            names = [f"setting number {i}" for i in range(count)]
            for figure in (plot.lines(None, {"s": list(range(count))}, names), plot.bars(names, {"p": [1] * count})):
                shown = [label.get_text() for label in figure.axes[0].get_xticklabels() if label.get_text()]
                self.assertEqual((shown[0], shown[-1]), (names[0], names[-1]))
                self.assertTrue(count > 20 or not figure.axes[0].patches or shown == names, "of up to 20 bars each has its name")

    def test_ticks_of_bytes_are_round(self):
        heat = plot.heat_map([str(i) for i in range(40)], [str(i) for i in range(30)], [[(i + 1) * (j + 1) * 5e7 for i in range(40)] for j in range(30)], "B")
        for axis in (heat.axes[1].yaxis, plot.lines([2**i for i in range(20, 34)], {"s": [3.3 * 2**i for i in range(20, 34)]}, None, "B", "B").axes[0].yaxis,
                     plot.lines([1, 2], {"s": [0, 6e10]}, None, "B", log=False).axes[0].yaxis):
            texts = [label.get_text() for label in axis.get_ticklabels() if label.get_text()]
            self.assertGreater(len(texts), 2)
            self.assertTrue(all(re.fullmatch(r"\d+ ([KMGT]i)?B", text) for text in texts), texts)

    def test_a_limit_far_above_all_bars_leaves_them_their_height(self):
        figure = plot.bars(["a"], {"p": [2**30]}, "B", 77 * 2**30)
        self.assertLess(figure.axes[0].get_ylim()[1], 2**31)
        self.assertIn("capacity: 77 GiB", words_of(plot.save(figure)))

    def test_quantities_are_as_the_program_prints_them(self):
        for value, unit, text in ((0.0348, "s", "34.8 ms"), (0, "s", "0 s"), (366.75e9, "B/s", "366.8 GB/s"), (46e9, "bit/s", "368 Gbit/s"), (5.25e-3, "s", "5.25 ms"),
                                  (0.99999, "s", "1 s"), (1183662080, "B", "1.1 GiB"), (0.0482, "%", "4.82 %"), (236169.4, "", "236169"), (None, "B/s", "unlimited")):
            self.assertEqual(plot.quantity(value, unit), text)
        for key, unit in (("step_time_s", "s"), ("tokens_per_s", ""), ("peak_B", "B"), ("mfu", "%"), ("busbw_Bps", "B/s"), ("tokens_per_s_per_gpu", ""), ("energy_J", "J")):
            self.assertEqual(plot.unit_of(key), unit)


class Damaged(programs.ProgramTest):
    VALUES = (None, True, -1, 0, 3, 10**9, 10**400, 1e308, float("nan"), float("inf"), "", "x", "$\\x$", [], [0], {}, {"a": 1})

    def damage(self, tree, rng):
        """A tree with up to three changed values."""
        tree = copy.deepcopy(tree)
        for _ in range(rng.randint(1, 3)):
            node = tree
            while True:
                keys = list(node) if isinstance(node, dict) else list(range(len(node)))
                if not keys:
                    break
                key = rng.choice(keys)
                if isinstance(node[key], (dict, list)) and node[key] and rng.random() < 0.8:
                    node = node[key]
                    continue
                if rng.random() < 0.2:
                    del node[key]
                else:
                    node[key] = rng.choice(self.VALUES)
                break
        return tree

    def test_damaged_results_are_drawn_or_refused(self):
        seed = int(os.environ.get("MS_SEED", str(time.time_ns() % 10**6)))
        rng = random.Random(seed)
        os.chdir(self.folder)
        sweep = self.write(SWEEP % (ROOT, "heat"), "sweep.yaml")
        trees = [json.loads(self.meshsim(*words, "--json").stdout) for words in (CHECK, COLLECTIVE, MESH, PLATFORM, ("platform", "tpu-v4"), ("sweep", sweep),
                                                                                   ("schedule", "--compare", "1f1b,zbv", "-p4", "-m8"), ("run", "tiny"))]
        end = time.monotonic() + SECONDS * 2
        while time.monotonic() < end:
            name = self.write(self.damage(rng.choice(trees), rng), "t.json")
            of = {"of": ["mesh"]} if rng.random() < 0.2 else {}
            call = _call.Call(Path(self.program), "plot", {"output": ["t.svg"], **of, **({"format": ["dot"]} if rng.random() < 0.1 else {})}, [name])
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                try:
                    tool.run(call)
                except _call.Fault as fault:
                    self.assertIn(fault.code, (_call.INPUT, _call.USAGE), f"seed {seed}")
                    self.assertIn(" error: ", said.getvalue(), f"seed {seed}")
                except Exception as fault:  # pylint: disable=broad-except
                    raise AssertionError(f"seed {seed}: {(self.folder / name).read_text(encoding='utf-8')[:2000]}") from fault


if __name__ == "__main__":
    programs.main(__doc__)
