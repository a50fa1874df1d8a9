#!/usr/bin/env python3
"""The two solvers agree: every event happens at the same time whether SimGrid or meshsim's own solver shares links among flows (--solver).

usage: tests/python/test_engine.py MESHSIM [unittest arguments]      MS_ALL=1: megatron-1t-3072 as well, a minute more
"""
# ctest: 2 parts

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy
from parts import load_tests  # noqa: F401 (unittest looks for it)

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
SLOW = "platform.gpu.compute_slowdown={p2p: 1.2, all_reduce: 1.3, all_gather: 1.5, reduce_scatter: 1.4, all_to_all: 1.25, ring_shift: 1.1}"
HOST = ("host.launch=60 us", "host.sync=[messages, norm]")
TOO_LARGE = set() if os.environ.get("MS_ALL") else {"megatron-1t-3072"}  # 920,000 operations
SAME = ("rank", "stream", "kind", "mb", "cause")


def events(workload, settings, solver="simgrid"):
    """The events of a run by column, in the order of operations."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "run.h5"
        words = [word for setting in settings for word in ("--set", setting)]
        command = [PROGRAM, "run", str(workload), "--json", "--ignore-memory", "-o", str(trace), "--solver", solver, *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
        with h5py.File(trace) as file:
            return {name: file["events"][name][:] for name in ("start_ps", "end_ps", *SAME)}


class Engine(unittest.TestCase):
    def check_workload(self, workload, settings):
        simgrid = events(workload, settings)
        own = events(workload, settings, solver="maxmin")
        within_ps = 1e-9 * simgrid["end_ps"].max() + 1
        for name in SAME:
            numpy.testing.assert_array_equal(simgrid[name], own[name], name)
        for name in ("start_ps", "end_ps"):
            self.assertLessEqual(abs(simgrid[name] - own[name]).max(), within_ps, name)

    def test_the_solver_is_checked(self):
        done = subprocess.run([PROGRAM, "run", str(ROOT / "workloads/tiny.yaml"), "--solver", "minmax"], check=False, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("minmax", done.stderr)
        self.assertIn("simgrid or maxmin", done.stderr)


for path in sorted((ROOT / "workloads").glob("*.yaml")):
    if path.stem not in TOO_LARGE:
        name = path.stem.replace("-", "_")
        setattr(Engine, f"test_{name}", lambda self, workload=path: self.check_workload(workload, []))
        setattr(Engine, f"test_{name}_slowed", lambda self, workload=path: self.check_workload(workload, [SLOW]))
for path, settings in (("tiny", []), ("textbook-70b-64", [SLOW]), ("tiny", ["schedule.kind=dualpipe", SLOW])):
    setattr(Engine, f"test_{path.replace('-', '_')}_launched_{len(settings)}",
            lambda self, workload=ROOT / f"workloads/{path}.yaml", settings=tuple(settings): self.check_workload(workload, [*settings, *HOST]))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
