#!/usr/bin/env python3
"""What a command does not need is not loaded: SimGrid, where no transfers share links, and ns-3.

usage: tests/python/test_startup.py MESHSIM [unittest arguments]
"""

import json
import os
import re
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
    """Exit code, output and errors, which with LD_DEBUG=files name every library that was loaded."""
    result = subprocess.run([program or PROGRAM, *words], cwd=ROOT, env=dict(os.environ, **settings), capture_output=True, text=True,
                            timeout=100)
    return result.returncode, result.stdout, result.stderr


class Startup(unittest.TestCase):
    def test_commands_that_simulate_no_sharing_load_no_simgrid(self):
        for words in (("--help",), ("--version",), ("check", TINY), ("mesh", "--shape", "dp=2,tp=2", "--order", "dp,tp"),
                      ("platform", "platforms/dgx-h100.yaml"), ("schedule", "1f1b", "-p", "4", "-m", "8"),
                      ("run", TINY, "--fidelity", "analytic"),
                      ("run", "workloads/textbook-70b-64.yaml"),  # messages on links that they might share, and never do
                      ("collective", "all_reduce", "--platform", "platforms/flat.yaml", "-n", "64", "-b", "1MiB", "-e", "1MiB")):
            code, _, error = run(*words, LD_DEBUG="files")
            self.assertEqual(code, 0, words)
            self.assertIn("libyaml", error, words)
            for library in (MODULE, "libsimgrid"):
                self.assertNotIn(library, error, words)

    def test_a_run_that_shares_links_loads_it(self):
        code, _, error = run("run", TINY, LD_DEBUG="files", MESHSIM_ENGINE="simgrid")
        self.assertEqual(code, 0)
        self.assertIn(MODULE, error)
        self.assertIn("libsimgrid", error)

    def loaded(self, folder):
        """A run on SimGrid with the modules of a folder: what was loaded, and what it prints but for times of this machine."""
        code, out, error = run("run", TINY, "--json", LD_DEBUG="files", MESHSIM_ENGINE="simgrid", MESHSIM_MODULES=str(folder))
        self.assertEqual(code, 0, error[-500:])
        figures = json.loads(out)
        del figures["engine"]
        return [Path(name).name for name in re.findall("calling init: (.*)", error)], figures

    def test_what_simgrid_is_linked_with_and_not_used_is_not_loaded(self):
        """ns-3, where SimGrid is linked with it: no matter whether something stands in for it, the figures are the same."""
        build = Path(PROGRAM).parent
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(build / MODULE, folder)
            names, figures = self.loaded(folder)
            if not any(name.startswith("libns3-") for name in names):
                self.skipTest("this SimGrid knows no ns-3")
            own_names, own_figures = self.loaded(build)
            self.assertEqual([name for name in own_names if name.startswith("libns3-")], [])
            self.assertIn("libsimgrid", " ".join(own_names))
            self.assertLess(len(own_names), len(names))
            self.assertEqual(own_figures, figures)

    def test_a_simgrid_that_takes_more_than_stands_in_gets_the_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in (Path(PROGRAM).parent / MODULE, *Path(PROGRAM).parent.glob("meshsim-stand-in-*.so")):
                (Path(folder) / path.name).write_bytes(path.read_bytes().replace(b"StaticInitEv", b"StaticInitEx"))
            names, figures = self.loaded(folder)
            self.assertIn(MODULE, names)
            self.assertEqual(figures, self.loaded(Path(PROGRAM).parent)[1])
            if list(Path(folder).glob("meshsim-stand-in-*.so")):
                self.assertTrue(any(name.startswith("libns3-core") for name in names), names)

    def scope(self, **settings):
        """Where the names of SimGrid's module are looked for, in this order; the build's folder, whose name may have blanks, is left out."""
        code, _, error = run("run", TINY, LD_DEBUG="scopes", MESHSIM_ENGINE="simgrid", **settings)
        self.assertEqual(code, 0, error[-500:])
        found = re.search(rf"object=.*{MODULE} .*\n.*scope 0: (.*)", error)
        return [Path(name).name for name in found[1].replace(f"{Path(PROGRAM).parent}/", "").split()]

    def test_simgrid_looks_for_names_among_its_own_first(self):
        """But not beside an allocator of somebody else's, which SimGrid would pass by."""
        preloaded = Path(PROGRAM).parent / "libfailing.so"
        if not preloaded.exists():
            self.skipTest("sanitizers bring an allocator of their own")
        self.assertEqual(self.scope()[0], MODULE)
        with tempfile.TemporaryDirectory() as folder:  # LD_PRELOAD ends a name at a blank
            copied = shutil.copy(preloaded, folder)
            self.assertEqual(self.scope(LD_PRELOAD=copied)[:2], [Path(PROGRAM).name, preloaded.name])

    def test_without_the_module_it_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            settings = {"MESHSIM_MODULES": folder, "MESHSIM_ENGINE": "simgrid"}
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
                code, _, error = run("run", TINY, program=place / "meshsim", LD_DEBUG="files", MESHSIM_ENGINE="simgrid")
                self.assertEqual(code, 0)
                self.assertIn(f"calling init: {found / MODULE}", error)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
