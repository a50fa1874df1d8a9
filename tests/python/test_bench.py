#!/usr/bin/env python3
"""What page and picture say of speed is what was measured, and can be measured again.

usage: tests/python/test_bench.py MESHSIM
"""

import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
BENCH = ROOT / "tests/bench/run"
sys.path.insert(0, str(BENCH.parent))

import picture  # noqa: E402


def bench(*words):
    return subprocess.run([sys.executable, BENCH, *map(str, words)], capture_output=True, text=True, check=False)


class Bench(unittest.TestCase):
    def test_page_and_picture_are_those_of_the_results(self):
        done = bench("--check")
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_results_say_when_and_on_what_they_were_measured(self):
        text = (ROOT / "tests/bench/results.csv").read_text(encoding="utf-8")
        self.assertRegex(text, r"(?m)^# date: \d{4}-\d\d-\d\d$")
        self.assertRegex(text, r"(?m)^# machine: \d+ cores of .+$")
        page = (ROOT / "tests/bench/README.md").read_text(encoding="utf-8")
        self.assertIn(re.search(r"(?m)^# machine: (.+)$", text)[1], " ".join(page.split()))

    def test_every_curve_is_in_the_picture(self):
        rows = [{"table": "search" if case == picture.SEARCH else "scale", "case": case, "gpus": gpus, "cpu_s": "0.5", "peak_B": "5e7"}
                for case in picture.SERIES for gpus in (8, 1024)]
        root = ElementTree.fromstring(picture.draw(rows))
        self.assertEqual(len(root.findall("{http://www.w3.org/2000/svg}circle")), 2 * len(rows) + 1)  # searches have one in the legend
        kept = (ROOT / "tests/bench/results.csv").read_text(encoding="utf-8")
        for case in picture.SERIES:
            self.assertTrue(case in kept or case == picture.SEARCH, case)

    def test_a_table_is_measured(self):
        done = bench(Path(PROGRAM).parent, "--only", "start", "--rounds", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"Start-up takes \d+\.\d+ s of CPU time and ")

    def test_a_run_that_fails_is_told(self):
        done = bench(ROOT, "--only", "start")
        self.assertNotEqual(done.returncode, 0)

    def test_usage(self):
        for words in ((), (ROOT / "build", "--accept", "--only", "trace"), (ROOT, "--only", "nothing")):
            self.assertEqual(bench(*words).returncode, 2, words)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
