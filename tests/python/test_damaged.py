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

from trace_trees import change_tree, put_tree

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
NAN, INF = float("nan"), float("inf")
LEAST, MOST = -(2**31), 2**31 - 1
LEAST_64, MOST_64 = -(2**63), 2**63 - 1

# what stands in row 3 of each column; the last one of the list is also tried in the last row
VALUES = {
    "events/start_ps": (-1, LEAST_64, MOST_64),
    "events/end_ps": (-1, LEAST_64, MOST_64),
    "events/rank": (-1, LEAST, MOST),
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
    "mesh/size": (0, -1, LEAST, MOST, 3),
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
                self.assert_refused(self.read(path), path, f"/{name}: a mesh" if value == 3 else f"/{name}[{row}]: ")
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
        self.assert_refused(self.read(path), path, "/events/mb: ", "rows, and /events/start_ps has")

    def test_operations_before_their_causes_are_refused(self):
        def change(trace):
            for name in ("start_ps", "end_ps"):
                trace["events"][name][...] = trace["events"][name][:][::-1]

        result = self.read(self.craft(change), output="x.json")
        self.assertEqual(result.returncode, 3)
        self.assertIn("the trace contradicts itself", result.stderr.decode())
        self.assertFalse((Path(self.holder.name) / "x.json").exists())

    def test_a_summary_of_any_numbers_is_drawn(self):
        for value in (1e300, -1e300, 0, -1, None):
            def change(trace, value=value):
                change_tree(trace, lambda summary: summary.update(num_microbatches=value, step_time_s=value))

            for output in ("x.svg", "x.json"):
                self.assertEqual(self.read(self.craft(change), output=output).returncode, 0)
                os.unlink(Path(self.holder.name) / output)

    def test_a_summary_is_an_object_of_json(self):
        for text in ("", "{", "[]", "1", '{"step_time_s": NaN}', '{"step_time_s": 1e999}', "{}, 2", '{"a": 1, "a": 2}', "[" * 100000):
            path = self.craft(lambda trace, text=text: put_tree(trace, text))
            self.assert_refused(self.read(path, "compare"), path, "damaged at /summary")

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

    def test_dataspaces_without_cells(self):
        """A dataspace of 2^20 rows of which nothing is stored, or one chunk of many; zlib.net: deflate packs at most 1,032 bytes into one."""
        for written in (0, 1000):
            def change(trace, written=written):
                for name in VALUES:
                    if name.startswith("events/"):
                        cells = trace[name][:1]
                        kind = trace[name].dtype
                        del trace[name]
                        trace.create_dataset(name, shape=(2**20,), dtype=kind, chunks=(1000,), compression="gzip", shuffle=True)
                        trace[name][:written] = cells[0]

            path = self.craft(change)
            self.assert_refused(self.read(path), path, "no file of ", " bytes holds 1048576 rows")

    def test_small_files_ask_for_little(self):
        """Columns of 240 MB of zeros pack into 0.4 MB. No run is so even: an operation's start, end and cause do not pack."""
        rows = 2**22

        def change(trace):
            for name in VALUES:
                if name.startswith("events/"):
                    kind = trace[name].dtype
                    del trace[name]
                    trace.create_dataset(name, data=numpy.zeros(rows, dtype=kind), dtype=kind, chunks=(2**20,), compression="gzip")

        path = self.craft(change)
        self.assertLess(os.path.getsize(path), 1e6)
        self.assert_refused(self.read(path), path, "no file of ", f" bytes holds {rows} rows")

    def test_nothing_leads_out_of_the_file(self):
        """Links and data of other files, and code of other people, are refused before anything is read, and by name."""
        secret = Path(self.holder.name) / "secret.h5"
        with h5py.File(secret, "w") as other:
            other["text"] = "the reader's own"
            other["mb"] = numpy.zeros(1000, dtype="i4")
            other.create_group("group").attrs["secret"] = "the reader's own"
        raw = Path(self.holder.name) / "secret.txt"
        raw.write_bytes(b"the reader's own" * 1000)

        def put(name, value):
            def change(trace):
                if name in trace:
                    del trace[name]
                trace[name] = value

            return change

        def put_external_storage(name):
            def change(trace):
                rows, kind = trace[name].shape, trace[name].dtype
                del trace[name]
                trace.create_dataset(name, rows, dtype=kind, external=[(str(raw), 0, h5py.h5f.UNLIMITED)])

            return change

        def put_virtual(name, source):
            def change(trace):
                kind, shape = trace[name].dtype, trace[name].shape
                del trace[name]
                layout = h5py.VirtualLayout(shape=shape, dtype=kind)
                layout[...] = h5py.VirtualSource(source, "mb" if shape else "text", shape=shape)
                trace.create_virtual_dataset(name, layout)

            return change

        def put_filter(number):
            def change(trace):
                del trace["events/mb"]
                storage = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                storage.set_chunk((100,))
                storage.set_filter(number, h5py.h5z.FLAG_OPTIONAL, (1,))
                h5py.h5d.create(trace["events"].id, b"mb", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((598,)), storage)

            return change

        cases = [("/input/workload: it is an external link", put("input/workload", h5py.ExternalLink(str(secret), "/text"))),
                 ("/events/mb: it is an external link", put("events/mb", h5py.ExternalLink(str(secret), "/mb"))),
                 ("/input/more: it is an external link", put("input/more", h5py.ExternalLink(str(secret), "/group"))),
                 ("/events: it is an external link", put("events", h5py.ExternalLink(str(secret), "/group"))),
                 ("/summary: it is an external link", put("summary", h5py.ExternalLink(str(secret), "/group"))),
                 ("/whatif: it is an external link", put("whatif", h5py.ExternalLink(str(secret), "/group"))),
                 ("/somewhere: it is an external link", put("somewhere", h5py.ExternalLink("nowhere.h5", "/"))),
                 ("/input/workload: it is a soft link", put("input/workload", h5py.SoftLink("/input/platform"))),
                 ("/input/resolved: it is an external link", put("input/resolved", h5py.ExternalLink(str(secret), "/text"))),
                 ("/events/mb: it is a soft link", put("events/mb", h5py.SoftLink("/events/stream"))),
                 ("/events/mb: its data are in another file", put_external_storage("events/mb")),
                 ("/links/bytes: its data are in another file", put_external_storage("links/bytes")),
                 ("/events/mb: its data are those of other datasets", put_virtual("events/mb", str(secret))),
                 ("/events/mb: its data are those of other datasets", put_virtual("events/mb", ".")),
                 ("/input/workload: its data are those of other datasets", put_virtual("input/workload", str(secret))),
                 ("/ranks/peak_B: its data are those of other datasets", put_virtual("ranks/peak_B", str(secret))),
                 ("/events/mb: it has a filter", put_filter(32000)), ("/events/mb: it has a filter", put_filter(h5py.h5z.FILTER_LZF))]
        for place, change in cases:
            path = self.craft(change)
            for command, output in (("report", "x.svg"), ("report", "x.html"), ("report", "x.json"), ("compare", None)):
                with self.subTest(place=place, command=command, output=output):
                    result = self.read(path, command, output)
                    self.assert_refused(result, path, f"damaged at {place}")
                    self.assertNotIn(b"own", result.stdout + result.stderr)

    def test_groups_in_circles(self):
        def change(trace):
            trace["input/round"] = trace["/"]

        path = self.craft(change)
        for command in ("report", "compare"):
            self.assert_refused(self.read(path, command), path, "/input/round/", "nested too deep, or in a circle")

    def test_many_names_of_one_group(self):
        """Ten links in each of ten groups would be ten thousand million values."""
        def change(trace):
            group = trace.create_group("input/deep")
            for _ in range(10):
                below = trace.create_group(None)
                for i in range(10):
                    group[f"{i}"] = below
                group = below

        path = self.craft(change)
        for command in ("report", "compare"):
            self.assert_refused(self.read(path, command), path, "more objects than a trace has")

    def test_more_repetitions_than_a_trace_may_hold(self):
        """As many copies of an event as fill 32 bits are refused before any list of them is filled."""
        def change(trace):
            late_s = int(trace["events/start_ps"][:].max()) * 1e-12
            trace["events"].attrs["fast_forwarded"] = f"2000000000 times 1e-06 s from {late_s - 5e-7!r} s, 1 mb on"

        path = self.craft(change)
        self.assert_refused(self.read(path), path)

    def test_causes_in_circles(self):
        for rows in (((4, 4),), ((3, 5), (5, 3)), ((1, 2), (2, 7), (7, 1))):
            def change(trace, rows=rows):
                for row, cause in rows:
                    trace["events/cause"][row] = cause

            path = self.craft(change)
            for output in ("x.svg", "x.html", "x.json"):
                self.assert_refused(self.read(path, output=output), path, f"/events/cause[{rows[0][0]}]: its causes lead back to it")

    def test_meshes_are_of_the_ranks(self):
        """The sound trace has pp 2 x dp 2 x tp 2, 8 ranks."""
        for size, words in ((0, "/summary/mesh/pp: expected a whole number from 1 to 1073741824"), (MOST, "/summary/mesh/pp: expected"),
                            (-2, "/summary/mesh/pp: expected"), (2.5, "/summary/mesh/pp: expected"), ("2", "/summary/mesh/pp: expected"),
                            (None, "/summary/mesh/pp: expected"), (10**30, "/summary"), (4, "/summary/mesh: a mesh of 16 ranks, and those of /ranks stand for 8")):
            def change(trace, size=size):
                change_tree(trace, lambda summary: summary["mesh"].update(pp=size))

            path = self.craft(change)
            for command in ("report", "compare"):
                self.assert_refused(self.read(path, command), path, words)

    def rewrite(self, change):
        """The sound trace in a file of its own, all of it written anew, since HDF5 spoils files to which it adds very long texts."""
        path = Path(self.holder.name) / "crafted.h5"
        with h5py.File(self.sound) as sound, h5py.File(path, "w") as trace:
            for name, value in sound.attrs.items():
                trace.attrs[name] = value
            change(trace)
            for name in sound:
                for member in sound[name] if name == "input" else (None,):
                    place = name if member is None else f"{name}/{member}"
                    if place not in trace:
                        sound.copy(place, trace.require_group("input") if member else trace)
        return path

    def test_texts_have_the_limit_of_inputs(self):
        """A workload of 16 MiB is the most that a file may have; one byte more is refused, and so are 200 MB, which are read once."""
        for name, size in (("workload", 2**24 + 1), ("workload", 200 * 10**6), ("platform", 2**24 + 1), ("sources", 2**24 + 1), ("resolved", 2**24 + 1), ("schedule", 2**28 + 1)):
            path = self.rewrite(lambda trace, name=name, size=size: trace.__setitem__(f"input/{name}", "#" * size))
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            for command in ("report", "compare"):
                self.assert_refused(self.read(path, command), path, f"/input/{name}: expected a text of at most {256 if name == 'schedule' else 16} MiB")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 8)
        path = self.rewrite(lambda trace: put_tree(trace, "{" + " " * 2**24 + "}"))
        self.assert_refused(self.read(path), path, "/summary: expected a text of at most 16 MiB")
        path = self.rewrite(lambda trace: trace.__setitem__("input/workload", "#" * 2**24))
        self.assertEqual(self.read(path).returncode, 0)
        (Path(self.holder.name) / "x.svg").unlink()

    def test_texts_of_attributes_have_it_too(self):
        kind = h5py.string_dtype()
        for place, name, words in (("/", "program_version", "program_version: expected a text of at most 127 bytes"),
                                   ("/", "format", "format: expected a text of at most 127 bytes")):
            def change(trace, place=place, name=name):
                trace.require_group(place).attrs.create(name, "x" * (50 * 10**6), dtype=kind)

            path = self.rewrite(change)
            self.assert_refused(self.read(path), path, words)

    def test_plug_ins_are_not_loaded(self):
        """HDF5_PLUGIN_PATH names a folder with a library, of which HDF5 would load the filter 32000."""
        folder = Path(self.holder.name) / "plugins"
        folder.mkdir()
        source = folder / "p.c"
        ran = folder / "ran"
        source.write_text(f'#include <stdio.h>\n__attribute__((constructor)) static void run(void) {{ fclose(fopen("{ran}", "w")); }}\n'
                          "int H5PLget_plugin_type(void) { return 0; }\nconst void *H5PLget_plugin_info(void) { return 0; }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "libp.so", source], check=True)

        def change(trace):
            del trace["events/mb"]
            storage = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            storage.set_chunk((598,))
            storage.set_filter(32000, h5py.h5z.FLAG_OPTIONAL, (1,))
            h5py.h5d.create(trace["events"].id, b"mb", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((598,)), storage).write(
                h5py.h5s.ALL, h5py.h5s.ALL, numpy.zeros(598, dtype="i4"))

        path = self.craft(change)
        words = [str(word) for word in (PROGRAM, "report", path, "-o", Path(self.holder.name) / "x.svg")]
        result = subprocess.run(words, env=dict(os.environ, HDF5_PLUGIN_PATH=str(folder)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assert_refused(result, path, "/events/mb: it has a filter")
        self.assertFalse(ran.exists())

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
