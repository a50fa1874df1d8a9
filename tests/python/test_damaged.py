#!/usr/bin/env python3
"""Traces with numbers that no run has are refused, with the place and the value; so are files that ask for too much.

usage: tests/python/test_damaged.py MESHSIM
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
NAN, INF = float("nan"), float("inf")
LEAST, MOST = -(2**31), 2**31 - 1
LEAST_64, MOST_64 = -(2**63), 2**63 - 1

# what stands in row 3 of each column; the last one of the list is also tried in the last row
VALUES = {
    "events/start_ps": (-1, LEAST_64, MOST_64),
    "events/end_ps": (-1, LEAST_64, MOST_64),
    "events/stream": (-1, LEAST, MOST, 10**6),
    "events/kind": (-1, 13, 127, -128),
    "events/axis": (-1, 7, 127, -128),
    "events/stage": (-2, -(2**15)),
    "events/chunk": (-2, -(2**15)),
    "events/mb": (-2, LEAST, MOST),
    "events/step": (-1, 1, 2**15 - 1),
    "events/layer": (-2, -(2**15)),
    "events/bytes": (-1.0, -(2.0**62), 1e300, INF, -INF, NAN),
    "events/flop": (-1.0, -(2.0**62), 1e300, INF, -INF, NAN),
    "events/cause": (-2, LEAST, MOST, 10**6),
    "members/event": (-1, LEAST, MOST, 10**6),
    "members/stream": (-1, LEAST, MOST, 10**6),
    "streams/rank": (-1, LEAST, MOST, 10**6),
    "streams/peer": (-2, LEAST, MOST, 10**6),
    "streams/axis": (-1, 7, 127, -128),
    "ranks/rank": (-1, LEAST, MOST, 0),
    "ranks/multiplicity": (0, -1, LEAST, MOST, 2**30),
    "ranks/pp": (-1, LEAST, MOST),
    "steps/end_ps": (-1, LEAST_64, MOST_64),
    "memory/rank": (-1, LEAST, MOST, 10**6),
    "memory/time_ps": (-1, LEAST_64, MOST_64),
    "memory/bytes": (-1.0, -(2.0**62), 1e300, INF, -INF, NAN),
}

# what counts rows of which table; ranks are all there, from 0 on
INDICES = {
    "events/stream": "streams/rank",
    "events/cause": "events/kind",
    "events/step": "steps/end_ps",
    "members/event": "events/kind",
    "members/stream": "streams/rank",
    "streams/rank": "ranks/rank",
    "streams/peer": "ranks/rank",
    "memory/rank": "ranks/rank",
}


class Damaged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.sound = Path(cls.holder.name) / "sound.h5"
        subprocess.run([PROGRAM, "run", ROOT / "workloads/tiny.yaml", "--no-fold", "-o", cls.sound], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def craft(self, change):
        path = Path(self.holder.name) / "crafted.h5"
        shutil.copy(self.sound, path)
        with h5py.File(path, "r+") as trace:
            change(trace)
        return path

    def read(self, path, command="report", output="x.svg"):
        words = [PROGRAM, command, path, *([path] if command == "compare" else ["-o", Path(self.holder.name) / output])]
        return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)

    def assert_refused(self, result, path, *words):
        error = result.stderr.decode()
        self.assertEqual(result.returncode, 3, error)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn(f"cannot read '{path}': the trace is damaged", error)
        for word in words:
            self.assertIn(word, error)
        self.assertEqual([name for name in os.listdir(self.holder.name) if name.startswith("x.")], [])

    def poke(self, name, row, value):
        def change(trace):
            trace[name][row] = value

        return self.craft(change)

    def test_every_column_has_its_bounds(self):
        for name, values in VALUES.items():
            with h5py.File(self.sound) as trace:
                rows = trace[name].shape[0]
            for row, value in [(min(3, rows - 1), value) for value in values] + [(rows - 1, values[-1])]:
                path = self.poke(name, row, value)
                self.assert_refused(self.read(path), path, f"/{name}[{row}]: ")
                if not name.startswith("events") and value == values[0]:
                    self.assert_refused(self.read(path, "compare"), path, f"/{name}[{row}]: ")

    def test_indices_end_where_their_table_does(self):
        """The number of rows is no index any more; the last row is one, whatever else it contradicts."""
        for name, table in INDICES.items():
            with h5py.File(self.sound) as trace:
                rows = trace[table].shape[0]
            path = self.poke(name, 3, rows)
            self.assert_refused(self.read(path), path, f"/{name}[3]: ")
            path = self.poke(name, 3, rows - 1)
            self.assertNotIn("damaged", self.read(path).stderr.decode())
            (Path(self.holder.name) / "x.svg").unlink(missing_ok=True)

    def test_the_first_bad_value_is_named(self):
        path = self.poke("events/mb", slice(5, None), MOST)
        self.assert_refused(self.read(path), path, "/events/mb[5]: 2147483647, expected -1 to 1073741824")

    def test_an_end_before_its_start(self):
        with h5py.File(self.sound) as trace:
            event = int(numpy.argmax(trace["events/start_ps"][:]))
        path = self.poke("events/end_ps", event, 0)
        self.assert_refused(self.read(path), path, f"/events/end_ps[{event}]: before its start")

    def test_columns_of_one_table_have_one_length(self):
        def change(trace):
            cells = trace["events/mb"][:-1]
            del trace["events/mb"]
            trace["events/mb"] = cells

        path = self.craft(change)
        self.assert_refused(self.read(path), path, "/events/mb: ", "rows, and /events/kind has")

    def test_operations_before_their_causes_are_refused(self):
        def change(trace):
            for name in ("start_ps", "end_ps"):
                trace["events"][name][...] = trace["events"][name][:][::-1]

        result = self.read(self.craft(change), output="x.json")
        self.assertEqual(result.returncode, 3)
        self.assertIn("the trace contradicts itself", result.stderr.decode())
        self.assertFalse((Path(self.holder.name) / "x.json").exists())

    def test_a_summary_of_any_numbers_is_drawn(self):
        for value in (1e300, -1e300, NAN, INF):
            def change(trace, value=value):
                trace["summary"].attrs["num_microbatches"] = value
                trace["summary"].attrs["step_time_s"] = value

            for output in ("x.svg", "x.json"):
                self.assertEqual(self.read(self.craft(change), output=output).returncode, 0)
                os.unlink(Path(self.holder.name) / output)

    def test_rows_that_no_such_file_holds(self):
        def change(trace):
            for name in VALUES:
                if name.startswith("events/"):
                    kind = trace[name].dtype
                    del trace[name]
                    trace.create_dataset(name, shape=(2**28,), dtype=kind)

        path = self.craft(change)
        self.assert_refused(self.read(path), path, "no file of ", " bytes holds 268435456 rows")
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        self.assertLess(used, 1e9)

    def test_too_many_open_files(self):
        codes = set()
        for limit in range(4, 24):
            words = [PROGRAM, "compare", self.sound, self.sound]
            result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
            codes.add(result.returncode)
            error = result.stderr.decode()
            self.assertIn((result.returncode, error), [(0, ""), (4, f"meshsim: error: cannot read '{self.sound}': Too many open files\n")])
        self.assertEqual(codes, {0, 4})

    def test_less_memory_than_it_takes(self):
        """Whatever the address space, the trace is never called damaged."""
        if b"__asan_init" in Path(PROGRAM).read_bytes():
            self.skipTest("sanitizers need an address space of terabytes")
        codes = set()
        for megabytes in range(60, 400, 20):
            limit = megabytes << 20
            result = subprocess.run([PROGRAM, "compare", self.sound, self.sound], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_AS, (n, n)))
            error = result.stderr.decode()
            if result.returncode == 127:
                continue  # not even its libraries have room
            codes.add(result.returncode)
            self.assertIn(result.returncode, (0, 4), error)
            self.assertEqual(error.count("\n"), 1 if result.returncode == 4 else 0, error)
        self.assertIn(0, codes)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
