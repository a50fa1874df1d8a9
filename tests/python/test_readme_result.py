#!/usr/bin/env python3
"""The results that README.md shows are those that meshsim prints.

usage: test_readme_result.py MESHSIM [unittest arguments]
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""


class Result(unittest.TestCase):
    def test_first_result_is_what_run_prints(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        shown = re.search(r"^    run: (\S+)\n(?:(?:    .*)?\n)+", readme, re.M)
        self.assertIsNotNone(shown)
        workload = ROOT / "workloads" / f"{shown.group(1)}.yaml"
        done = subprocess.run([PROGRAM, "run", str(workload)], stdin=subprocess.DEVNULL, capture_output=True, check=True,
                              text=True, timeout=250)
        lines = [line.strip() for line in shown.group(0).splitlines() if line.strip()]
        self.assertGreater(len(lines), 4)
        printed = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        self.assertEqual(lines, printed[:len(lines)])


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
