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
            self.assertEqual(trace.attrs["format_version"], 2)
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
        expected = dict(self.printed)
        expected["engine"] = {k: v for k, v in expected["engine"].items() if k not in ("wall_s", "peak_rss_B")}
        with h5py.File(self.path) as trace:
            text = trace["summary"][()]
            self.assertEqual(json.loads(text), expected)
            self.assertEqual(trace["summary"].attrs["sha256"], hashlib.sha256(text).hexdigest())


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


class Levels(Run):
    """What --trace leaves out, and that what is left is what a full trace holds."""

    OPTIONS = ((), ("--set", "schedule.kind=zbv"), ("--set", "schedule.kind=dualpipe"), ("--set", "recompute=full"),
               ("--no-fold",), ("--set", "steps=2"), ("--granularity", "pass"))

    def write(self, level, *options):
        path = Path(self.folder.name) / f"{level.partition('=')[0]}.h5"
        meshsim("run", ROOT / "workloads/tiny.yaml", "-o", path, "--trace", level, *options)
        return path

    def frame(self, level, *options):
        with h5py.File(self.write(level, *options)) as trace:
            self.assertEqual(trace["events"].attrs["level"], level.partition("=")[0])
            frame = pandas.DataFrame({n: d[:] for n, d in trace["events"].items() if n != "event"})
            frame["row"] = frame.index
            return frame, pandas.DataFrame({n: d[:] for n, d in trace["members"].items() if n != "member"})

    def test_full_is_what_is_written_without_a_level(self):
        self.assertEqual(self.write("full").read_bytes(), self.path.read_bytes())

    def test_passes_are_sums_of_layers(self):
        for options in self.OPTIONS:
            full, full_members = self.frame("full", *options)
            passes, members = self.frame("passes", *options)
            backward = full.kind.isin((1, 4))  # input gradients and recomputation are of one pass, as fused ones are
            full["pass_kind"] = full.kind.where(~backward, 3)
            keys = ["stream", "step", "stage", "chunk", "mb", "pass_kind"]
            inside = (full.axis == 0) & (full.mb >= 0)
            sums = full[inside].groupby(keys).agg(start_ps=("start_ps", "min"), end_ps=("end_ps", "max"), bytes=("bytes", "sum"),
                                                  flop=("flop", "sum")).reset_index()
            rows = passes[(passes.axis == 0) & (passes.mb >= 0)].copy()
            self.assertTrue((rows.layer == -1).all() and not rows.kind.eq(4).any(), options)
            rows["pass_kind"] = rows.kind.where(~rows.kind.isin((1, 4)), 3)
            both = rows.merge(sums, on=keys, suffixes=("", "_sum"))
            self.assertEqual((len(both), len(rows)), (len(sums), len(sums)), options)
            for name in ("start_ps", "end_ps", "bytes", "flop"):
                numpy.testing.assert_allclose(both[name], both[f"{name}_sum"], rtol=1e-13, err_msg=f"{options} {name}")
            if "pass" in options:  # each pass is one operation already
                numpy.testing.assert_array_equal(full[list(EVENT_TYPES)], passes[list(EVENT_TYPES)])
                continue
            self.assertLess(len(rows), inside.sum())
            # operations of no pass are as they were, with their members
            left_out = full.axis.isin((1, 2, 3)) & (full.mb >= 0)
            others, kept = full[~inside & ~left_out], passes[~passes.row.isin(rows.row)]
            names = [n for n in EVENT_TYPES if n != "cause"]
            numpy.testing.assert_array_equal(others[names], kept[names], str(options))
            self.assertEqual(full_members.event.isin(others.row).sum(), len(members))

    def test_causes_of_passes_are_rows_that_end_before(self):
        for options in self.OPTIONS:
            passes, _ = self.frame("passes", *options)
            has = passes.cause >= 0
            self.assertGreater(has.sum(), len(passes) / 2)
            cause = passes.loc[passes.cause[has]].reset_index(drop=True)
            later = passes[has].reset_index(drop=True)
            self.assertTrue((cause.row != later.row).all())
            # paired passes of a rank run together, and what releases one ends while the other is under way
            apart = (later.start_ps - cause.end_ps >= -1) | (cause.axis == 0) | (cause.kind == 6)
            self.assertTrue(apart.all(), options)

    def test_ranks_are_rows_of_a_full_trace(self):
        full, full_members = self.frame("full", "--no-fold")
        rank_of = self.ranks_of_streams()
        for ranks in ((0,), (2, 5), range(8)):
            part, members = self.frame("ranks=" + ",".join(map(str, ranks)), "--no-fold")
            with h5py.File(self.write("ranks=" + ",".join(map(str, ranks)), "--no-fold")) as trace:
                self.assertEqual(trace["events"].attrs["ranks"].tolist(), list(ranks))
                self.assertTrue(set(trace["memory/rank"][:]) == set(ranks))
            every = pandas.concat([full[["row", "stream"]], full_members.rename(columns={"event": "row"})[["row", "stream"]]])
            every["rank"], every["peer"] = (every.stream.map(numbers.__getitem__) for numbers in rank_of)
            wanted = sorted(set(every.row[every["rank"].isin(ranks) | every.peer.isin(ranks)]))
            whole = full.loc[wanted].reset_index(drop=True)
            for name in ("start_ps", "end_ps", "kind", "axis", "stage", "mb", "bytes", "flop"):
                numpy.testing.assert_array_equal(part[name], whole[name], name)
            new = {old: row for row, old in enumerate(wanted)}
            self.assertEqual(part.cause.tolist(), [new.get(cause, -1) for cause in whole.cause])
            of = pandas.concat([part[["row", "stream"]], members.rename(columns={"event": "row"})[["row", "stream"]]])
            listed = every[every["rank"].isin(ranks)]
            self.assertEqual(sorted((r, s) for r, s in zip(of.row, of.stream) if rank_of[0][s] in ranks),
                             sorted((new[r], s) for r, s in zip(listed.row, listed.stream)))
            messages = part[~part["rank"].isin(ranks)]
            self.assertTrue((messages.kind == 6).all(), "only messages to a listed rank are on a stream of another")

    def ranks_of_streams(self):
        with h5py.File(self.write("full", "--no-fold")) as trace:
            return trace["streams/rank"][:], trace["streams/peer"][:]

    def test_a_summary_holds_no_operations(self):
        path = self.write("summary")
        with h5py.File(path) as trace, h5py.File(self.path) as full:
            for table in ("events", "members", "memory"):
                self.assertEqual({d.shape for d in trace[table].values()}, {(0,)}, table)
            for table in ("ranks", "axes", "links", "critical_path", "steps"):
                for name, data in full[table].items():
                    numpy.testing.assert_array_equal(data[()], trace[table][name][()], f"{table}/{name}")
        self.assertLess(path.stat().st_size, self.path.stat().st_size)
        for ending in ("svg", "json"):
            result = subprocess.run([PROGRAM, "report", path, "-o", path.with_suffix(f".{ending}")], stderr=subprocess.PIPE)
            self.assertEqual(result.returncode, 3)
            self.assertIn(b"written with --trace summary and holds no operations", result.stderr)
            self.assertFalse(path.with_suffix(f".{ending}").exists())

    def test_traces_of_all_levels_compare_as_equal(self):
        for level in ("passes", "ranks=0", "summary"):
            compared = json.loads(meshsim("compare", self.path, self.write(level), "--json"))
            self.assertEqual((compared["equal"], compared["differences"]), (True, []), level)

    def test_pandas_and_xarray_read_every_level(self):
        for level in ("passes", "ranks=0,4", "summary"):
            path = self.write(level)
            for table in TABLES:
                with xarray.open_dataset(path, group=table, engine="h5netcdf") as data:
                    data.load()
            with xarray.open_dataset(path, group="events", engine="h5netcdf") as data:
                self.assertEqual(data.attrs["level"], level.partition("=")[0])

    def test_the_same_run_gives_the_same_bytes(self):
        for level in ("passes", "ranks=0,4", "summary"):
            once = self.write(level).read_bytes()
            self.assertEqual(once, self.write(level).read_bytes(), level)

    def test_a_level_needs_a_file_and_a_sense(self):
        path = Path(self.folder.name) / "none.h5"
        for words, code, text in ((("--trace", "full"), 2, "expected -o"), (("--trace", "some", "-o", path), 2, "expected full, passes"),
                                  (("--trace", "ranks=", "-o", path), 2, "ranks 0 to 7"), (("--trace", "ranks=0,8", "-o", path), 2, "ranks 0 to 7"),
                                  (("--trace", "ranks=1", "-o", path), 3, "rank 1, which is folded; simulated are 0, 4")):
            result = subprocess.run([PROGRAM, "run", ROOT / "workloads/tiny.yaml", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual((result.returncode, result.stdout), (code, b""), words)
            self.assertIn(text.encode(), result.stderr)
            self.assertFalse(path.exists())

    def test_pictures_of_passes_and_of_ranks_show_the_same_passes(self):
        def passes(level, *options, rows=()):
            path = self.write(level, *options)
            meshsim("report", path, *rows, "-o", path.with_suffix(".svg"))
            texts = [e.text or "" for e in ElementTree.parse(path.with_suffix(".svg")).iter("{http://www.w3.org/2000/svg}text")]
            return sorted(t for t in texts if t[1:].isdigit() and t[0] in "FIWB"), texts

        for options in self.OPTIONS:
            self.assertEqual(passes("full", *options)[0], passes("passes", *options)[0], options)
        one, titles = passes("full", "--no-fold")  # of each pipeline rank the lowest
        part, texts = passes("ranks=0,4", "--no-fold")
        self.assertEqual(one, part)
        self.assertTrue(any("2 pipeline ranks (rank 0, 4), " in t for t in titles))
        self.assertFalse(any("(rank " in t for t in texts))
        self.assertEqual([t for t in texts if t.startswith("pp ")], ["pp 0", "pp 1"] * 2)
        self.assertTrue(any("8 simulated, 2 shown" in t for t in texts))
        every, texts = passes("full", "--no-fold", rows=("--every-rank",))
        self.assertEqual(len(every), 4 * len(one))
        self.assertIn("rank 7", texts)


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

    def test_traces_of_passes_and_of_ranks(self):
        for options in (("--trace", "passes"), ("--trace", "passes", "--set", "schedule.kind=dualpipe"), ("--no-fold", "--trace", "ranks=1,6")):
            report = self.load(*options)
            self.check(report)
            named = [e for e in report["traceEvents"] if e["name"] == "process_name"]
            self.assertLessEqual(len(named), 4)
            idle = [e for e in report["traceEvents"] if e.get("cat") == "idle"]
            self.assertTrue(any(e["args"]["waits_for"] == "operations that the trace does not hold" for e in idle))
            self.assertFalse(any(e["args"]["waits_for"] == "host" for e in idle))

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

    def test_stacked_pictures_say_what_differs(self):
        other, path = Path(self.folder.name) / "other.h5", Path(self.folder.name) / "differ.svg"
        meshsim("run", ROOT / "workloads/tiny.yaml", "--set", "mesh.tp=4", "--set", "mesh.dp=1", "-o", other)
        meshsim("report", self.path, other, self.path, "-o", path)
        name = Path(self.path).name
        texts = [e.text for e in ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text") if e.get("class") == "caption"]
        self.assertEqual(texts, [f"against {name}: mesh.dp 1 in place of 2, mesh.tp 4 in place of 2", f"against {name}: the same input"])
        many = [f"--set=platform.tiers.{tier}.{key}" for tier in ("nvlink", "rail", "spine") for key in ("bandwidth=77 GB/s", "latency=7.7 us", "efficiency=0.77")]
        meshsim("run", ROOT / "workloads/tiny.yaml", *many, "--set", "name=" + "n" * 60, "-o", other)
        meshsim("report", self.path, other, "-o", path)
        text = next(e.text for e in ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text") if e.get("class") == "caption")
        self.assertRegex(text, r"^against .*: .*name n{28}\.\.\. in place of tiny, .*, and [0-9]+ more$")
        self.assertLess(len(text), 215)

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
