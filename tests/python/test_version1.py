#!/usr/bin/env python3
"""Traces of format version 1, whose /summary and /whatif are groups and attributes, are still read.

usage: tests/python/test_version1.py MESHSIM

version1.h5.gz is what the last program of that version wrote of a small job with --whatif.
"""

import gzip
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy

import page_data

OLD = Path(__file__).resolve().parent / "version1.h5.gz"
PROGRAM = ""


def plain(value):
    """An attribute as JSON has it."""
    if isinstance(value, h5py.Empty):
        return None
    return value.tolist() if isinstance(value, (numpy.ndarray, numpy.generic)) else value


def tree(group):
    """What a group of version 1 stands for."""
    if "array_length" in group.attrs:
        names = [f"{i:03d}" for i in range(group.attrs["array_length"])]
        return [plain(group.attrs[n]) if n in group.attrs else tree(group[n]) for n in names]
    return {**{name: plain(value) for name, value in group.attrs.items()}, **{name.replace("%2F", "/"): tree(child) for name, child in group.items()}}


class Version1(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.trace = self.folder / "old.h5"
        self.trace.write_bytes(gzip.decompress(OLD.read_bytes()))

    def meshsim(self, *words, code=0):
        result = subprocess.run([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def change(self, change):
        with h5py.File(self.trace, "r+") as trace:
            change(trace)

    def test_a_page_has_its_figures(self):
        self.meshsim("report", self.trace, "-o", self.folder / "old.html")
        data = page_data.data((self.folder / "old.html").read_text(encoding="utf-8"))
        with h5py.File(self.trace) as trace:
            self.assertEqual(trace.attrs["format_version"], 1)
            self.assertEqual(data["summary"], tree(trace["summary"]))
            self.assertEqual(data["tables"]["whatif"], tree(trace["whatif"]))
            self.assertGreater(len(data["summary"]), 30)
            self.assertEqual(len(data["tables"]["whatif"]), 3)

    def test_its_operations_are_drawn(self):
        for name in ("old.svg", "old.json"):
            self.meshsim("report", self.trace, "-o", self.folder / name)
        events = json.loads((self.folder / "old.json").read_text())["traceEvents"]
        with h5py.File(self.trace) as trace:
            last = trace["steps/end_ps"][-1]
        self.assertAlmostEqual(max(event["ts"] + event.get("dur", 0) for event in events if "ts" in event) * 1e6, last, delta=2)

    def test_it_is_compared_with_itself(self):
        found = json.loads(self.meshsim("compare", self.trace, self.trace, "--json").stdout)
        self.assertTrue(found["equal"])
        with h5py.File(self.trace) as trace:
            self.assertEqual(found["traces"][0]["a"]["time_share"], tree(trace["summary/time_share"]))

    def test_numbers_that_are_none_are_null(self):
        self.change(lambda trace: trace["summary"].attrs.create("step_time_s", float("nan")))
        self.meshsim("report", self.trace, "-o", self.folder / "x.svg")

    def test_damaged_summaries_are_refused(self):
        texts = h5py.string_dtype()
        for change in (lambda trace: trace["summary"].attrs.create("workload", "x" * (20 * 10**6), dtype=texts),
                       lambda trace: trace["summary"].attrs.create("workload", 1j),
                       lambda trace: trace["summary/stages"].attrs.create("array_length", 100),
                       lambda trace: trace["summary/stages"].attrs.create("array_length", "many"),
                       lambda trace: trace["summary"].create_dataset("rows", data=[1.0]),
                       lambda trace: trace["summary/mesh"].attrs.create("pp", 4),
                       lambda trace: trace.__delitem__("summary")):
            with self.subTest(change=change):
                self.setUp()
                self.change(change)
                said = self.meshsim("compare", self.trace, self.trace, code=3).stderr
                self.assertIn("the trace is damaged at /summary", said)
                self.assertEqual(said.count("\n"), 1)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
