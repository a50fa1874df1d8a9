#!/usr/bin/env python3
"""Names with terminal orders and with characters that nobody sees, from files, traces and the command line: no page and no message hands them on.

usage: tests/python/test_terminal.py MESHSIM
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import h5py

import page_data
from trace_trees import put_tree, tree

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
# a title, a colour, DEL, carriage return, backspace, and U+009B, which begins an order in one character; then what turns the direction of the text around,
# ends a line, or is invisible: override, isolates, marks, separators, zero width, soft hyphen, byte order mark, a tag. An e with an accent stays.
ORDERS = "\x1b]0;x\x07\x1b[31m\x7f\r\b\x9b2J\u202a\u202e\u2066\u2069\u200b\u200f\u061c\u2028\u2029\u2060\u00ad\ufeff\U000e0041é"
SHOWN = "?]0;x??[31m????2J?????????????é"
IN_YAML = json.dumps(ORDERS)[1:-1].replace("\\udb40\\udc41", "\\U000e0041")  # YAML's double quotes know JSON's escapes, but for pairs
# Source: Unicode 15.0, DerivedCoreProperties.txt (Default_Ignorable_Code_Point), PropList.txt (Bidi_Control), categories Cc, Zl and Zp
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
                      "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]")


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.holder.name)
        cls.platform = cls.folder / "p.yaml"
        text = (ROOT / "platforms/flat.yaml").read_text().replace("name: flat", f'name: "pl{IN_YAML}"').replace("nodes: 1024", "nodes: 8")
        cls.platform.write_text(text)
        cls.workload = cls.folder / "w.yaml"
        text = (ROOT / "workloads/tiny.yaml").read_text().replace("name: tiny", f'name: "wl{IN_YAML}"')
        cls.workload.write_text(text.replace("{file: dgx-a100, nodes: 1}", "{file: p.yaml, nodes: 8}"))
        cls.order = cls.folder / f"or{ORDERS}.csv"
        subprocess.run([PROGRAM, "schedule", "zbv", "-p2", "-m8", "--csv", cls.order], check=True, stdout=subprocess.DEVNULL)
        cls.trace = cls.folder / f"tr{ORDERS}.h5"
        subprocess.run([PROGRAM, "run", cls.workload, "-o", cls.trace], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def meshsim(self, *words, codes=(0,)):
        """What a terminal would get: a result whose two texts hold no order."""
        result = subprocess.run([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
        self.assertIn(result.returncode, codes, result.stderr)
        for stream in (result.stdout, result.stderr):
            self.assertIsNone(CONTROLS.search(stream.decode()), (words, stream[:2000]))
        return result

    def page(self, *words, codes=(0,)):
        return self.meshsim(*words, codes=codes).stdout.decode()

    def craft(self):
        """A trace whose texts are all orders: the strings of /summary, its keys, and attributes."""
        path = self.folder / "crafted.h5"
        shutil.copy(self.trace, path)

        def spoil(name, node):
            if name in ("mesh", "expert_mesh"):
                return node  # all of it is numbers
            if isinstance(node, dict):
                return {**{key: spoil(key, value) for key, value in node.items()}, f"key{ORDERS}": f"text{ORDERS}"}
            if isinstance(node, list):
                return [spoil(name, value) for value in node]
            return f"{node}{ORDERS}" if isinstance(node, str) else node

        with h5py.File(path, "r+") as trace:
            put_tree(trace, spoil("", tree(trace)))
        return path

    def test_names_of_workloads_and_platforms(self):
        for command in (["run"], ["check"], ["check", "--effective"], ["run", "--no-fold"]):
            text = self.page(*command, self.workload)
            self.assertIn("wl" if "--effective" in command else f"wl{SHOWN}\n", text)
        self.assertIn(f"pl{SHOWN}", self.page("check", self.workload))
        self.assertIn(f"pl{SHOWN}", self.page("platform", self.platform, "--route", 0, 5))
        self.assertIn(f"pl{SHOWN}", self.page("collective", "all_reduce", "--platform", self.platform, "--ranks", 8))
        self.assertIn(f"wl{SHOWN}", self.page("schedule", "1f1b", "--workload", self.workload))

    def test_axes_of_the_command_line(self):
        axis = f"a{ORDERS}"
        words = ("mesh", "--shape", f"{axis}=2,b=4", "--order", f"{axis},b", "--platform", self.platform)
        self.assertIn(f"a{SHOWN}      0\n", self.page(*words))
        words += ("--tensor", "64,64", "--spec", f"{axis}=shard0", "--redistribute", f"{axis}=replicate")
        self.assertIn(f"a{SHOWN} shard0", self.page(*words))

    def test_names_of_schedule_files(self):
        ordered = self.folder / "ordered.yaml"
        ordered.write_text(self.workload.read_text().replace("kind: 1f1b", f'kind: "csv:or{IN_YAML}.csv"'))
        self.assertIn(f"or{SHOWN}.csv", self.page("run", ordered))
        self.assertIn(f"or{SHOWN}.csv", self.page("check", ordered))
        self.assertIn(f"or{SHOWN}.csv", self.page("schedule", f"csv:{self.order}"))
        self.page("schedule", "--compare", f"1f1b,csv:{self.order}", "-p2", "-m8")

    def test_names_and_texts_of_traces(self):
        crafted = self.craft()
        for form in ((), ("--markdown",), ("--json",)):
            text = self.page("compare", self.trace, crafted, *form, codes=(0, 1))
            self.assertIn("text", text)
            if form != ("--json",):
                self.assertIn("[31m", text)  # markdown has spaces in the place of the marks
        folders = [self.folder / f"{name}{ORDERS}" for name in "ab"]
        for folder in folders:
            folder.mkdir()
        shutil.copy(crafted, folders[0] / f"one{ORDERS}.h5")
        shutil.copy(self.trace, folders[1] / f"one{ORDERS}.h5")
        shutil.copy(self.trace, folders[0] / f"lost{ORDERS}.h5")
        self.assertIn(f"lost{SHOWN}", self.page("compare", *folders, codes=(1,)))

    def test_messages(self):
        missing = self.folder / f"no{ORDERS}"
        for words in (("run", missing), ("check", missing), ("platform", missing), ("report", missing, "-o", "x.svg"), ("compare", missing, missing),
                      (missing,), ("help", missing), ("mesh", "--shape", f"{ORDERS}=x"), ("schedule", ORDERS, "-p2", "-m2")):
            self.assertIn("?[31m", self.meshsim(*words, codes=(2, 3, 4)).stderr.decode())

    def test_pictures_are_sound(self):
        path = self.folder / "x.svg"
        for words in (("report", self.trace, "-o", path), ("report", self.craft(), self.trace, "-o", path), ("platform", self.platform, "--svg", path),
                      ("platform", self.platform, "--simgrid-xml", path.with_suffix(".xml")), ("compare", self.craft(), self.trace, "--junit", path.with_suffix(".xml"))):
            self.meshsim(*words, codes=(0, 1))
            for written in self.folder.glob("x.*"):
                text = written.read_bytes().decode()
                self.assertIsNone(CONTROLS.search(text), (words, written))
                ElementTree.fromstring(text)
                os.unlink(written)

    def test_pages_show_escapes(self):
        """A browser decodes a page's JSON, so the page holds each such character as a text of its escape."""
        page = self.folder / "x.html"
        for words in (("report", self.craft(), "-o", page), ("compare", self.trace, self.craft(), "--html", page)):
            self.meshsim(*words, codes=(0, 1))
            text = page.read_text(encoding="utf-8")
            self.assertIsNone(CONTROLS.search(text), words)
            def strings(node):
                if isinstance(node, dict):
                    for key, value in node.items():
                        yield key
                        yield from strings(value)
                elif isinstance(node, list):
                    for value in node:
                        yield from strings(value)
                elif isinstance(node, str):
                    yield node

            every = list(strings(page_data.data(text)))
            for one in every:
                self.assertIsNone(CONTROLS.search(one.replace("\r", "")), (words, one))
            self.assertTrue(any("\\u202e\\u2066" in one and "\\udb40\\udc41é" in one for one in every), words)
            page.unlink()

    def test_written_inputs_hold_escapes(self):
        """A file that meshsim writes for people to edit has the characters escaped, and reads back as the same name."""
        effective = self.folder / "effective.yaml"
        effective.write_text(self.page("check", self.workload, "--effective"))
        self.assertIsNone(CONTROLS.search(effective.read_text()))
        with h5py.File(self.trace) as trace:
            kept = trace["input/workload"][()].decode()
            name = tree(trace)["workload"]
        self.assertIsNone(CONTROLS.search(kept))
        self.assertEqual(name, f"wl{ORDERS}")

    def test_graphs_have_none(self):
        graph = self.folder / "x.dot"
        self.meshsim("platform", self.platform, "--dot", graph)
        self.assertIn(f"pl{SHOWN}", graph.read_text())
        self.assertIsNone(CONTROLS.search(graph.read_text()))
        graph.unlink()

    def test_data_keeps_its_bytes(self):
        """A page on its way to a terminal is changed; a table that somebody asked for is not."""
        table = self.folder / "table.csv"
        words = [PROGRAM, "schedule", "--compare", f"1f1b,csv:{self.order}", "-p2", "-m8", "--csv-table"]
        printed = subprocess.run([*words, "-"], check=True, stdout=subprocess.PIPE).stdout
        subprocess.run([*words, table], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(printed, table.read_bytes())
        self.assertIn(ORDERS.encode(), printed)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
