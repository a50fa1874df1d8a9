#!/usr/bin/env python3
"""What a command does not need is not loaded: SimGrid, where no transfers share links.

usage: tests/python/test_startup.py MESHSIM [unittest arguments]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TINY = "workloads/tiny.yaml"
MODULE = "meshsim-simgrid.so"
PROGRAM = ""


def run(*words, program=None, **settings):
    """Exit code, output and errors."""
    result = subprocess.run([program or PROGRAM, *words], cwd=ROOT, env=dict(os.environ, **settings), capture_output=True, text=True,
                            timeout=100)
    return result.returncode, result.stdout, result.stderr


def loaded(*words, program=None):
    """Exit code, and what the loader says of every library that the program or a child of it loads."""
    with tempfile.TemporaryDirectory() as folder:
        code, _, _ = run(*words, program=program, LD_DEBUG="files", LD_DEBUG_OUTPUT=f"{folder}/log")
        return code, "".join(log.read_text(encoding="utf-8", errors="replace") for log in Path(folder).iterdir())


class Startup(unittest.TestCase):
    def test_commands_that_simulate_no_sharing_load_no_simgrid(self):
        for words in (("--help",), ("--version",), ("check", TINY), ("mesh", "--shape", "dp=2,tp=2", "--order", "dp,tp"),
                      ("platform", "platforms/dgx-h100.yaml"), ("schedule", "1f1b", "-p", "4", "-m", "8"),
                      ("run", TINY, "--fidelity", "analytic"),
                      ("run", "workloads/textbook-70b-64.yaml"),  # messages on links that they might share, and never do
                      ("collective", "all_reduce", "--platform", "platforms/flat.yaml", "-n", "64", "-b", "1MiB", "-e", "1MiB")):
            code, log = loaded(*words)
            self.assertEqual(code, 0, words)
            self.assertIn("libyaml", log, words)
            for library in (MODULE, "libsimgrid"):
                self.assertNotIn(library, log, words)

    def test_a_run_that_shares_links_loads_it(self):
        code, log = loaded("run", TINY)
        self.assertEqual(code, 0)
        self.assertIn(MODULE, log)
        self.assertIn("libsimgrid", log)

    def test_without_the_module_it_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            settings = {"MESHSIM_MODULES": folder}
            code, out, error = run("run", TINY, **settings)
            self.assertEqual((code, out), (4, ""))
            self.assertEqual(error.count("error: "), 1)
            self.assertIn("cannot load SimGrid, which shares links among transfers: ", error)
            self.assertIn(f"{folder}/{MODULE}", error)
            self.assertEqual(run("check", TINY, **settings)[0], 0)
            (Path(folder) / MODULE).write_text("no library")
            code, _, error = run("run", TINY, **settings)
            self.assertEqual((code, error.count("error: ")), (4, 1), error)

    def test_a_copy_of_the_program_finds_the_module(self):
        with tempfile.TemporaryDirectory() as folder:
            alone, beside = Path(folder) / "alone", Path(folder) / "beside"
            for place in (alone, beside):
                place.mkdir()
                shutil.copy(PROGRAM, place / "meshsim")
            shutil.copy(Path(PROGRAM).parent / MODULE, beside)
            for place, found in ((alone, Path(PROGRAM).parent.resolve()), (beside, beside)):
                code, log = loaded("run", TINY, program=place / "meshsim")
                self.assertEqual(code, 0)
                self.assertIn(f"calling init: {found / MODULE}", log)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
