#!/usr/bin/env python3
"""What people open traces and reports with: h5py, xarray, pandas, a JSON reader, an XML reader.

usage: tests/python/test_trace.py MESHSIM
"""

import bisect
import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

import h5py
import numpy
import pandas
import xarray

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
TABLES = ("events", "members", "streams", "ranks", "mesh", "steps", "axes", "tiers", "links", "memory", "critical_path")
EVENT_TYPES = {"start_ps": "i8", "end_ps": "i8", "rank": "i4", "stream": "i4", "kind": "i1", "axis": "i1", "stage": "i2",
               "chunk": "i2", "mb": "i4", "step": "i2", "layer": "i2", "bytes": "f8", "flop": "f8", "cause": "i4"}
PS = 10**6  # picoseconds in the microsecond of Chrome traces


def meshsim(*words):
    return subprocess.run([PROGRAM, *map(str, words)], check=True, stdout=subprocess.PIPE).stdout


class Run(unittest.TestCase):
    """One run of tiny.yaml with everything made from it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name) / "t.h5"
        cls.printed = json.loads(meshsim("run", ROOT / "workloads/tiny.yaml", "-o", cls.path, "--json"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class Hdf5(Run):
    def test_order_of_a_file_is_kept(self):
        order, path = Path(self.folder.name) / "order.csv", Path(self.folder.name) / "order.h5"
        meshsim("schedule", "zbv", "-p2", "-m8", "--csv", order)
        meshsim("run", ROOT / "workloads/tiny.yaml", "--set", f"schedule.kind=csv:{order}", "-o", path)
        with h5py.File(path) as trace, h5py.File(self.path) as plain:
            self.assertEqual(trace["input/schedule"][()], order.read_bytes())
            self.assertNotIn("schedule", plain["input"])

    def test_root_names_format_program_and_input(self):
        with h5py.File(self.path) as trace:
            self.assertEqual(trace.attrs["format"], "meshsim-trace")
            self.assertEqual(trace.attrs["format_version"], 1)
            self.assertRegex(trace.attrs["program_version"], r"^\d+\.\d+")
            self.assertRegex(trace.attrs["simgrid_version"], r"^3\.\d+")
            self.assertEqual(trace.attrs["seed"], 0)
            for name in ("workload", "platform"):
                text = trace["input"][name][()]
                self.assertGreater(len(text), 20)
                self.assertEqual(trace["input"][name].attrs["sha256"], hashlib.sha256(text).hexdigest())

    def test_the_seed_is_that_of_the_experts(self):
        path = Path(self.folder.name) / "seed.h5"
        experts = "model.moe={experts: 8, top_k: 2, ffn: 512, imbalance: {spread: 0.5}, seed: 7}"
        meshsim("run", ROOT / "workloads/tiny.yaml", "--set", "model.bias=false", "--set", experts, "-o", path)
        with h5py.File(path) as trace:
            self.assertEqual(trace.attrs["seed"], 7)

    def test_only_the_input_decides_the_bytes(self):
        folder = Path(self.folder.name) / "another"
        folder.mkdir()
        names = ("t.h5", "with a much longer name than before.h5", "../x.h5")
        for name, words in zip(names, ((), ("--json",), ("--ignore-memory",))):
            meshsim("run", *words, ROOT / "workloads/tiny.yaml", "-o", folder / name)
            self.assertEqual((folder / name).read_bytes(), self.path.read_bytes(), name)
        with h5py.File(self.path) as trace:
            self.assertNotIn("command_line", trace.attrs)

    def test_the_time_of_day_is_in_no_byte(self):
        """HDF5 dates objects in whole seconds unless told not to."""
        until = int(self.path.stat().st_mtime) + 2
        time.sleep(max(0.0, until - time.time()))
        later = Path(self.folder.name) / "later.h5"
        meshsim("run", ROOT / "workloads/tiny.yaml", "-o", later)
        self.assertEqual(later.read_bytes(), self.path.read_bytes())

    def test_every_column_is_described_and_of_one_length(self):
        with h5py.File(self.path) as trace:
            self.assertEqual({n: d.dtype.str[1:] for n, d in trace["events"].items() if n != "event"}, EVENT_TYPES)
            for table in TABLES:
                dimension = [n for n, d in trace[table].items() if h5py.h5ds.is_scale(d.id)]
                self.assertEqual(len(dimension), 1, table)
                rows = trace[table][dimension[0]].shape
                for name, data in trace[table].items():
                    self.assertEqual(data.shape, rows, f"{table}/{name}")
                    if name != dimension[0]:
                        self.assertTrue(data.attrs["units"] and data.attrs["long_name"], f"{table}/{name}")
                        self.assertEqual(data.dims[0][0], trace[table][dimension[0]], f"{table}/{name}")

    def test_dimension_stores_no_coordinates(self):
        with h5py.File(self.path) as trace:
            self.assertEqual(trace["events/event"].id.get_storage_size(), 0)

    def test_enum_and_flags_agree(self):
        with h5py.File(self.path) as trace:
            for name in ("kind", "axis"):
                column = trace["events"][name]
                words = column.attrs["flag_meanings"].split()
                flags = dict(zip(words, column.attrs["flag_values"]))
                self.assertEqual(h5py.check_enum_dtype(column.dtype), flags)

    def test_causes_end_when_what_they_release_starts(self):
        with h5py.File(self.path) as trace:
            cause = trace["events/cause"][:]
            start = trace["events/start_ps"][:]
            end = trace["events/end_ps"][:]
            kind = trace["events/kind"][:]
        has = cause >= 0
        is_p2p = kind[cause] == 6
        gap = start - end[cause]
        self.assertTrue(numpy.all(abs(gap[has & ~is_p2p]) <= 1))
        self.assertGreater(has.sum(), 0)

    def test_ranks_sum_to_the_step(self):
        with h5py.File(self.path) as trace:
            step = trace["steps/end_ps"][0] * 1e-12
            shares = [n for n in trace["ranks"] if n.endswith("_s") and n != "peak_time_s"]
            self.assertEqual(len(shares), 12)
            total = sum(trace["ranks"][n][:] for n in shares)
            numpy.testing.assert_allclose(total, step, rtol=1e-9)
            self.assertAlmostEqual(trace["critical_path/time_s"][:].sum() / step, 1, places=9)
            self.assertEqual(step, round(self.printed["step_time_s"] * 1e12) * 1e-12)
            self.assertEqual(trace["ranks/multiplicity"][:].sum(), self.printed["gpus"])

    def test_every_step_has_a_row_and_its_events(self):
        workload = Path(self.folder.name) / "steps.yaml"
        workload.write_text(f"platform: {{file: {ROOT}/platforms/ideal.yaml, nodes: 4}}\n"
                            "costs: {forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms}\n"
                            "mesh: {pp: 4}\nschedule: {kind: zbh2}\nbatch: {microbatches: 8}\nsteps: 3\n")
        for end, overlap in (("synchronous", False), ("post_validation", True)):
            path = Path(self.folder.name) / f"{end}.h5"
            printed = json.loads(meshsim("run", workload, "-o", path, "--json", "--set", f"schedule.step_end={end}"))
            with h5py.File(path) as trace:
                start, stop = trace["steps/start_ps"][:], trace["steps/end_ps"][:]
                step, first, last = (trace["events"][n][:] for n in ("step", "start_ps", "end_ps"))
            self.assertEqual(printed["steps"], 3)
            for row in range(3):
                self.assertEqual((start[row], stop[row]), (first[step == row].min(), last[step == row].max()))
            self.assertEqual(start[1] < stop[0], overlap)
            self.assertAlmostEqual((stop[2] - stop[0]) / 2 * 1e-12 / printed["step_time_s"], 1, places=9)

    def test_summary_is_what_run_printed(self):
        def tree(group):
            def plain(value):
                if isinstance(value, h5py.Empty):
                    return None
                return value.tolist() if isinstance(value, (numpy.ndarray, numpy.generic)) else value

            if "array_length" in group.attrs:
                names = [f"{i:03d}" for i in range(group.attrs["array_length"])]
                return [plain(group.attrs[n]) if n in group.attrs else tree(group[n]) for n in names]
            result = {name: plain(value) for name, value in group.attrs.items()}
            result.update({name: tree(child) for name, child in group.items()})
            return result

        expected = dict(self.printed)
        expected["engine"] = {k: v for k, v in expected["engine"].items() if k not in ("wall_s", "peak_rss_B")}
        with h5py.File(self.path) as trace:
            self.assertEqual(tree(trace["summary"]), expected)


class OtherReaders(Run):
    def test_xarray_opens_every_table_without_a_warning(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for table in TABLES:
                with xarray.open_dataset(self.path, group=table, engine="h5netcdf") as data:
                    self.assertEqual(len(data.dims), 1, table)
                    self.assertEqual(list(data.coords), [], table)
                    data.load()

    def test_pandas_gets_a_frame_with_a_plain_index(self):
        with xarray.open_dataset(self.path, group="events", engine="h5netcdf") as data:
            frame = data.to_dataframe()
        self.assertIsInstance(frame.index, pandas.RangeIndex)
        self.assertEqual(len(frame), self.printed["engine"]["ops"])


class Chrome(Run):
    """Trace Event Format, JSON object form."""

    def load(self, *settings):
        trace = Path(self.folder.name) / "c.h5"
        path = Path(self.folder.name) / "c.json"
        meshsim("run", ROOT / "workloads/tiny.yaml", "-o", trace, *settings)
        meshsim("report", trace, "-o", path)
        meshsim("report", trace, "-o", f"{path}.gz")
        self.assertEqual(gzip.decompress(Path(f"{path}.gz").read_bytes()), path.read_bytes())
        return json.loads(path.read_text(encoding="utf-8"))

    def check(self, report):
        self.assertIn(report["displayTimeUnit"], ("ms", "ns"))
        slices = defaultdict(list)
        named = set()
        starts, ends = {}, {}
        for event in report["traceEvents"]:
            self.assertTrue({"ph", "pid", "tid", "name"} <= event.keys(), event)
            if event["ph"] == "X":
                start = round(event["ts"] * PS)
                self.assertTrue(start >= 0 and event["dur"] >= 0 and event["cat"], event)
                slices[event["pid"], event["tid"]].append((start, start + round(event["dur"] * PS)))
            elif event["ph"] == "M":
                self.assertEqual(len(event["args"]), 1)
                if event["name"] == "thread_name":
                    named.add((event["pid"], event["tid"]))
            elif event["ph"] == "C":
                self.assertGreaterEqual(event["args"]["bytes"], 0)
            else:
                self.assertIn(event["ph"], "sf")
                side = starts if event["ph"] == "s" else ends
                self.assertNotIn(event["id"], side)
                side[event["id"]] = event
        self.assertTrue(slices.keys() <= named)
        for thread, spans in slices.items():
            spans.sort()
            for before, after in zip(spans, spans[1:]):
                self.assertLessEqual(before[1], after[0], thread)
        self.assertTrue(starts)
        self.assertEqual(starts.keys(), ends.keys())
        for event in [*starts.values(), *ends.values()]:
            spans = slices[event["pid"], event["tid"]]
            at = round(event["ts"] * PS)
            span = spans[bisect.bisect_right(spans, (at, 1 << 62)) - 1]
            self.assertTrue(span[0] <= at <= span[1], event)
        for number, event in starts.items():
            self.assertLess(event["ts"], ends[number]["ts"])
            self.assertEqual(ends[number]["bp"], "e")
        return slices

    def test_operations(self):
        report = self.load()
        self.assertEqual(report["otherData"]["detail"], "operations")
        ends = defaultdict(float)  # computations and idle time fill the step of every rank
        for event in report["traceEvents"]:
            if event["ph"] == "X" and event["cat"] in ("forward", "backward", "optimizer", "idle"):
                ends[event["pid"]] += event["dur"]
        for end in ends.values():
            self.assertAlmostEqual(end * 1e-6, self.printed["step_time_s"], delta=1e-9)
        self.assertGreaterEqual(sum(map(len, self.check(report).values())), self.printed["engine"]["ops"])

    def test_operations_of_every_rank(self):
        self.check(self.load("--no-fold"))

    def test_passes(self):
        report = self.load("--set", "batch.global=24000")
        self.assertEqual(report["otherData"]["detail"], "passes")
        passes = sum(1 for e in report["traceEvents"] if e["ph"] == "X" and e.get("cat") in ("forward", "backward"))
        with h5py.File(Path(self.folder.name) / "c.h5") as trace:
            microbatches = trace["events/mb"][:].max() + 1
        self.assertEqual(passes, 2 * 2 * microbatches)
        self.check(report)

    def test_passes_that_run_together_have_threads_of_their_own(self):
        report = self.load("--set", "batch.global=24000", "--set", "schedule.kind=dualpipe")
        self.assertEqual(report["otherData"]["detail"], "passes")
        self.check(report)
        names = [e["args"]["name"] for e in report["traceEvents"] if e["name"] == "thread_name"]
        self.assertEqual((names.count("compute"), names.count("compute, overlapped")), (2, 2))

    def test_messages_under_way_together_are_cut_apart(self):
        """A message frees its stream before its latency is over: in the trace it overlaps the next, on a thread it may not."""
        report = self.load("--set", "schedule.kind=gpipe", "--set", "mesh={dp: 4, pp: 2, tp: 1}",
                           "--set", "platform.tiers.nvlink.latency=20ms")
        with h5py.File(Path(self.folder.name) / "c.h5") as trace:
            stream, start, end = (trace["events"][name][:] for name in ("stream", "start_ps", "end_ps"))
        overlaps = sum(int((start[stream == i][1:] < end[stream == i][:-1]).sum()) for i in set(stream))
        self.assertGreater(overlaps, 0)
        self.check(report)


class Svg(Run):
    def test_picture_is_xml_with_a_row_per_rank_and_numbers_as_text(self):
        path = Path(self.folder.name) / "t.svg"
        meshsim("report", self.path, "-o", path)
        root = ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
        for word in ("pp 0", "pp 1", "F7", "B7", "B backward", "1.1 GiB"):
            self.assertIn(word, texts)

    def test_stacked_pictures_are_xml_with_a_title_each(self):
        path = Path(self.folder.name) / "stacked.svg"
        meshsim("report", self.path, self.path, "-o", path)
        self.assertEqual(self.titles(path), [f"{Path(self.path).name} · tiny: 1f1b, 2 pipeline ranks, 8 microbatches"] * 2)
        meshsim("schedule", "--compare", "1f1b,zbv,chimera", "-p", "4", "-m", "8", "--gantt", path)
        self.assertEqual(self.titles(path), ["1f1b: 4 pipeline ranks, 8 microbatches",
                                             "zbv: 4 pipeline ranks, 2 stages each, 8 microbatches",
                                             "chimera: 4 pipeline ranks, 8 microbatches"])

    @staticmethod
    def titles(path):
        texts = ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")
        return [e.text for e in texts if e.get("font-weight") == "bold"]

    def test_picture_of_many_passes_stays_small(self):
        trace = Path(self.folder.name) / "large.h5"
        path = Path(self.folder.name) / "large.svg"
        meshsim("run", ROOT / "workloads/megatron-1t-3072.yaml", "-o", trace)
        meshsim("report", trace, "-o", path)
        self.assertLess(path.stat().st_size, 3e6)
        ElementTree.parse(path)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
