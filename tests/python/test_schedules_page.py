#!/usr/bin/env python3
"""The tables and the picture of workloads/schedules.md are what its commands make.

usage: test_schedules_page.py MESHSIM [unittest arguments]
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "workloads" / "schedules.md"
PROGRAM = Path()
FENCES = re.compile(r"^```sh\n(?P<command>.*?)^```\n+^```text\n(?P<shown>.*?)^```\n", re.S | re.M)
PICTURE = re.compile(r"!\[[^\]]*\]\((?P<file>[^)]+\.svg)\)")


def words(svg):
    """Everything that can be read in a picture."""
    texts = ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()) for text in texts]


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "workloads").symlink_to(ROOT / "workloads")
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "meshsim").symlink_to(PROGRAM)
        self.page = PAGE.read_text(encoding="utf-8")

    def run_block(self, command):
        environment = dict(os.environ, PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}", MESHSIM_DATA=str(ROOT))
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.folder, env=environment, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.rstrip() for line in done.stdout.splitlines()]

    def test_tables_and_picture(self):
        blocks = list(FENCES.finditer(self.page))
        self.assertEqual(len(blocks), 2)
        for block in blocks:
            with self.subTest(block["command"]):
                self.assertEqual(block["shown"].splitlines(), self.run_block(block["command"]))
                for kind in ("1f1b", "interleaved", "zbv", "dualpipev"):
                    self.assertRegex(block["shown"], rf"(?m)^{kind} ")
        pictures = PICTURE.findall(self.page)
        self.assertEqual(len(pictures), 1)
        made = self.folder / Path(pictures[0]).name
        self.assertIn(f"--gantt {made.name}", blocks[1]["command"])
        self.assertEqual(words(PAGE.parent / pictures[0]), words(made))
        self.assertNotIn("height of a colour", " ".join(words(made)))  # single passes are drawn


if __name__ == "__main__":
    PROGRAM = Path(sys.argv.pop(1)).resolve()
    unittest.main()
