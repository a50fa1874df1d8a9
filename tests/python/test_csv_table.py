#!/usr/bin/env python3
"""The table of `schedule --compare` as CSV says what --json says, row by row and key by key.

usage: tests/python/test_csv_table.py MESHSIM
"""

import csv
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
ON_PAPER = ("schedule", "--compare", "1f1b,zbv,interleaved,dualpipev", "-p", "4", "-m", "7")  # interleaved is left out
SIMULATED = ("schedule", "--compare", "1f1b,zbv,chimera", "--workload", str(ROOT / "workloads/tiny.yaml"),
             "--set", "batch.global=18")  # an odd number of microbatches: chimera is left out


def meshsim(*words, code=0):
    done = subprocess.run([PROGRAM, *map(str, words)], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != code:
        raise AssertionError(f"exit code {done.returncode}\n{done.stderr.decode()}")
    return done.stdout.decode()


def flat(value, path=""):
    """A row as dotted keys and the texts of their values; null is an empty cell."""
    if isinstance(value, dict):
        return {name: cell for key, below in value.items()
                for name, cell in flat(below, f"{path}.{key}" if path else key).items()}
    return {path: "" if value is None else value if isinstance(value, str) else json.dumps(value)}


class Table(unittest.TestCase):
    def check(self, words):
        found = json.loads(meshsim(*words, "--json"))
        expected = [flat(row) for row in found["rows"] + found["left_out"]]
        self.assertTrue(found["rows"] and found["left_out"])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.csv"
            page = meshsim(*words, "--csv-table", path)
            text = path.read_text(encoding="utf-8")
        self.assertEqual(page, meshsim(*words))
        self.assertEqual(meshsim(*words, "--csv-table", "-"), text)
        rows = list(csv.DictReader(io.StringIO(text), strict=True))
        self.assertEqual(len(rows), len(expected))
        for row, wanted in zip(rows, expected):
            self.assertLessEqual(set(wanted), set(row))
            for key, cell in row.items():
                number = wanted.get(key, "")
                try:
                    self.assertEqual(float(cell), float(number), key)
                except ValueError:
                    self.assertEqual(cell, number, key)

    def test_on_paper(self):
        self.check(ON_PAPER)

    def test_simulated(self):
        self.check(SIMULATED)

    def test_beside_a_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.csv"
            self.assertIn("<svg", meshsim(*ON_PAPER, "--csv-table", path, "--gantt", "-"))
            self.assertTrue(path.read_text().startswith("schedule,v,makespan,"))

    def test_what_cannot_be_written_is_told_first(self):
        done = subprocess.run([PROGRAM, *SIMULATED, "--csv-table", "/nowhere/t.csv"], check=False, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (4, b""))
        self.assertIn(b"/nowhere/t.csv", done.stderr)

    def test_words_that_do_not_go_together(self):
        for words, talk in (((*ON_PAPER, "--csv-table", "-", "--json"), "'--csv-table -' and '--json' both want"),
                            ((*ON_PAPER, "--csv-table", "-", "--gantt", "-"), "'--csv-table -' and '--gantt -' both"),
                            (("schedule", "1f1b", "-p2", "-m2", "--csv-table", "t.csv"), "goes with '--compare'")):
            done = subprocess.run([PROGRAM, *words], check=False, capture_output=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(talk, done.stderr.decode())


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
