#!/usr/bin/env python3
"""The YAML examples in the READMEs are complete files that meshsim takes, and the READMEs name every key there is.

usage: test_readme_yaml.py MESHSIM [unittest arguments]
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from keys import workload_keys

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```yaml\n(# file: (\S+)\n.*?)^```\s*$", re.S | re.M)
PROGRAM = ""


def blocks(readme):
    """(name, text) of every example file of a README."""
    return [(name, text) for text, name in BLOCK.findall(readme.read_text(encoding="utf-8"))]


def meshsim(*words, cwd):
    """The finished process."""
    return subprocess.run([PROGRAM, *words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True,
                          env=dict(os.environ, MESHSIM_DATA=str(ROOT)), timeout=250)


def keys_of(mapping, *command):
    """The keys meshsim knows in a mapping, as its message about an unknown one tells them."""
    path = f"{mapping}.no_such_key_at_all" if mapping else "no_such_key_at_all"
    done = meshsim(*command, "--set", f"{path}=1", cwd=ROOT)
    listed = re.search(r"no_such_key_at_all: unknown key; the keys here are (.*)\n", done.stderr)
    if done.returncode != 3 or listed is None:
        raise AssertionError(done.stderr)
    return listed.group(1).split(", ")


def rows_of(folder):
    """What stands in backquotes in the first cells of the tables of a README."""
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[^|]*`) \|", text, re.M)
    return {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


def defaults_of(folder):
    """What stands in the column "default" of a README's tables of keys, by key."""
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    return {row[0].strip("`"): row[-2] for row in (re.split(r" ?\| ?", line.strip("| \n")) for line in text.splitlines() if line.startswith("| `"))}


def axis_as_row(key):
    """The row that a key stands in: axes share one."""
    return "mesh.AXIS" if re.fullmatch(r"mesh\.[a-z]{2}", key) else key


class Examples(unittest.TestCase):
    def check(self, readme, at_least):
        found = blocks(readme)
        self.assertGreaterEqual(len(found), at_least)
        with tempfile.TemporaryDirectory(prefix="meshsim-readme-") as name:
            folder = Path(name)
            (folder / "workloads").mkdir()
            for file, text in found:
                (folder / file).write_text(text, encoding="utf-8")
            for file, text in found:
                with self.subTest(file):
                    if re.search(r"^mesh:", text, re.M):
                        words = ["check", file]
                    elif re.search(r"^(nodes|base):", text, re.M):
                        words = ["platform", file]
                    else:
                        words = ["platform", "dgx-h100", "--set", f"platform.gpu.type=./{file}"]
                    done = meshsim(*words, cwd=folder)
                    told = re.sub(r"^meshsim: note: no framework is named: .*\n", "", done.stderr)
                    self.assertEqual((done.returncode, told), (0, ""), words)

    def test_workloads(self):
        self.check(ROOT / "workloads" / "README.md", 8)

    def test_platforms(self):
        self.check(ROOT / "platforms" / "README.md", 2)


class Keys(unittest.TestCase):
    """Each key has its row in the reference, and no row is about a key that does not exist."""

    def test_workload_keys(self):
        rows = {row for row in rows_of("workloads") if re.fullmatch(r"[a-z_0-9.]+", row)} | {"mesh.AXIS"}
        known = {axis_as_row(key) for key in workload_keys(PROGRAM)}
        self.assertGreater(len(known), 100)
        self.assertEqual(sorted(known - rows), [], "keys without a row")
        self.assertEqual(sorted(row for row in rows - known if not row.endswith(".yaml")), [], "rows without a key")

    def test_workload_defaults(self):
        """Where the program has a default the table has it, in quotes or not, and what is required is so in both."""
        cells = defaults_of("workloads")
        for name, key in workload_keys(PROGRAM).items():
            with self.subTest(name):
                cell = cells[axis_as_row(name)]
                if key.default is not None:
                    self.assertEqual(cell.strip("`"), key.default)
                self.assertEqual(cell == "required", key.is_required)

    def test_platform_keys(self):
        rows = rows_of("platforms")
        outer = {row.partition(".")[0] for row in rows}
        command = ("platform", "platforms/dgx-a100.yaml")
        self.assertEqual(sorted(set(keys_of("", *command)) - outer), [], "keys without a row")
        # "fabric" lists the keys of every kind
        for mapping, prefix in (("node", "node."), ("fabric", "fabric."), ("tiers.rail", "tiers.NAME."), ("gpu", "")):
            missing = [prefix + key for key in keys_of(mapping, *command) if prefix + key not in rows]
            self.assertEqual(missing, [], f"keys of {mapping} without a row")

    def test_shipped_files_are_listed(self):
        """Each in the table of the README that is nearest above it."""
        for folder in ("workloads", "workloads/validation", "platforms"):
            below = [ROOT / readme.parent for readme in (ROOT / folder).glob("*/README.md")]
            files = {path.relative_to(ROOT / folder).as_posix() for path in (ROOT / folder).glob("**/*.yaml")
                     if not any(path.is_relative_to(other) for other in below)}
            self.assertEqual(sorted(files - rows_of(folder)), [], f"not in the table of {folder}/README.md")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
