#!/usr/bin/env python3
"""HTML reports without a browser: what their policy allows, that their data is the trace's, and that it makes the trace again.

What a browser shows of it is the matter of scripts/check_report.

usage: tests/python/test_page.py MESHSIM
"""

import base64
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path

import h5py

import page_data
from trace_trees import tree

ROOT = Path(__file__).resolve().parent.parent.parent
TINY = ROOT / "workloads/tiny.yaml"
PROGRAM = ""
PART, UPPER, LOWER = 1, 2, 4


def meshsim(*words):
    return subprocess.run([PROGRAM, *map(str, words)], check=True, stdout=subprocess.PIPE).stdout


class Parser(HTMLParser):
    """Elements of a page, and the text of its scripts and styles."""

    def __init__(self):
        super().__init__()
        self.elements, self.texts = [], defaultdict(str)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, text):
        if self.elements and self.elements[-1][0] in ("script", "style"):
            tag, attributes = self.elements[-1]
            self.texts[attributes.get("type", tag)] += text

    def handle_endtag(self, tag):
        self.elements.append(("/" + tag, {}))


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.holder.name)
        cls.trace, cls.text, cls.data = cls.make("t")

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    @classmethod
    def make(cls, name, *words, options=()):
        """(trace, page, data) of tiny.yaml with words behind `run`, and options of `report`."""
        trace, page = cls.folder / f"{name}.h5", cls.folder / f"{name}.html"
        meshsim("run", TINY, *words, "-o", trace)
        meshsim("report", trace, *options, "-o", page)
        text = page.read_text(encoding="utf-8")
        return trace, text, page_data.data(text)

    def test_its_policy_allows_what_is_in_it_and_nothing_else(self):
        parser = Parser()
        parser.feed(self.text)
        policy = next(a["content"] for tag, a in parser.elements if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy")
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        digests = {tag: base64.b64encode(hashlib.sha256(parser.texts[tag].encode()).digest()).decode() for tag in ("script", "style")}
        self.assertEqual(rules, {"default-src": "'none'", "script-src": f"'sha256-{digests['script']}'", "style-src": f"'sha256-{digests['style']}'",
                                 "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"})
        for tag, attributes in parser.elements:
            for name in ("src", "href", "action", "data", "srcset", "poster"):
                self.assertRegex(attributes.get(name) or "", r"^(|#[a-z]+|data:,)$", tag)
            self.assertFalse([name for name in attributes if name == "style" or name.startswith("on")], tag)
        for word in ("fetch(", "XMLHttpRequest", "WebSocket", "import(", "url(", "@import", "eval(", "Function("):
            self.assertNotIn(word, parser.texts["script"] + parser.texts["style"])

    def test_figures_are_those_of_the_trace(self):
        with h5py.File(self.trace) as trace:
            self.assertEqual(self.data["summary"], tree(trace))
            for name in ("ranks", "axes", "tiers", "links", "steps"):
                for column, cells in self.data["tables"][name].items():
                    stored = [cell.decode() if isinstance(cell, bytes) else cell for cell in trace[name][column][:].tolist()]
                    self.assertEqual(cells, stored, f"{name}/{column}")
            self.assertEqual(set(self.data["tables"]["ranks"]), set(trace["ranks"]) - {"simulated_rank"})
            for document in self.data["inputs"]:
                self.assertEqual(document["text"], trace["input"][document["name"]][()].decode())
                self.assertEqual(document["sha256"], trace["input"][document["name"]].attrs["sha256"])
        self.assertAlmostEqual(sum(self.data["summary"]["time_share"].values()), 1, delta=1e-9)
        self.assertAlmostEqual(sum(self.data["summary"]["critical_path"].values()), self.data["summary"]["step_time_s"], delta=1e-12)

    def test_the_platforms_sources_are_in_it(self):
        _, _, data = self.make("sources", "--set", "platform.gpu.peak=300 TFLOP/s")
        sources = dict(line.split(":", 1) for document in data["inputs"] if document["name"] == "sources" for line in document["text"].splitlines())
        self.assertEqual(sources["platform.gpu.peak"], " (--set)")
        self.assertEqual(sources["platform.gpu.hbm_bandwidth"], " Source: NVIDIA A100 80GB data sheet")
        self.assertEqual(sources["platform.tiers.spine.efficiency"], " as the rail")

    def test_items_fill_each_row_and_sum_to_its_categories(self):
        ranks = self.data["tables"]["ranks"]
        sums = defaultdict(int)
        last = defaultdict(int)
        for row, code, marks, start, end, _ in page_data.items(self.data):
            name = self.data["kinds"][code] if code < self.data["idle_code"] else self.data["categories"][code - self.data["idle_code"]]
            sums[row, name] += end - start
            if not marks & PART:
                self.assertEqual(start, last[row], "what is not inside another follows what is before it")
                last[row] = end
        self.assertEqual(set(last.values()), {self.data["end_ps"]})
        for row, rank in enumerate(self.data["rows"]):
            place = ranks["rank"].index(rank["rank"])
            for name in self.data["categories"]:
                if name not in ("compute", "optimizer"):
                    self.assertAlmostEqual(sums[row, name] * 1e-12, ranks[f"{name}_s"][place], delta=1e-10, msg=name)

    def check_passes(self, path, data):
        """The passes of a page are those of the events of a trace that holds all of them. Returns how many."""
        with h5py.File(path) as trace:
            names = {code: name for name, code in h5py.check_enum_dtype(trace["events/kind"].dtype).items()}
            columns = {name: trace["events"][name][:].tolist() for name in ("kind", "axis", "rank", "mb", "chunk", "start_ps", "end_ps")}
        wanted = {}
        for kind, axis, rank, mb, chunk, start, end in zip(*columns.values()):
            if axis == 0 and mb >= 0:
                key = rank, names[kind].replace("recompute", "backward"), mb, chunk
                before = wanted.get(key, (start, end))
                wanted[key] = (min(before[0], start), max(before[1], end))
        found = {}
        for row, code, marks, start, end, of in page_data.items(data):
            if code < data["idle_code"] and of[0] >= 0 and not marks & PART:
                found[data["rows"][row]["rank"], data["kinds"][code], of[0], of[1]] = (start, end)
                self.assertLessEqual(0, of[2])
                self.assertLessEqual(of[2], data["end_ps"] - end)
                self.assertLessEqual(of[3], end - start)
        self.assertEqual(found, wanted)
        return len(found)

    def test_passes_are_those_of_the_events(self):
        self.assertEqual(self.check_passes(self.trace, self.data), 32)

    def test_above_200000_operations_those_of_a_pass_are_merged(self):
        words = ("--set", "batch.global=8000", "--set", "recompute=full")
        trace, _, data = self.make("merged", *words, "--no-fast-forward")
        self.assertGreater(data["events"], 200000)
        self.assertFalse(data["items"]["has_parts"])
        self.assertEqual(self.check_passes(trace, data), 2 * 2 * 4000)
        ranks = data["tables"]["ranks"]
        idle = [sum(end - start for row, code, _, start, end, _ in page_data.items(data) if row == r and code >= data["idle_code"]) for r in range(2)]
        waited = [sum(of[3] for row, code, _, _, _, of in page_data.items(data) if row == r and code < data["idle_code"]) for r in range(2)]
        for r in range(2):
            known = sum(ranks[f"{name}_s"][r] for name in data["categories"] if name not in ("compute", "optimizer"))
            self.assertAlmostEqual((idle[r] + waited[r]) * 1e-12, known, delta=1e-7, msg="waiting inside passes is counted in them")
            self.assertGreater(waited[r], 0)
        self.check_sent(data)
        _, _, repeated = self.make("repeated", *words)  # of which the file holds one period
        self.assertLess((self.folder / "repeated.h5").stat().st_size, trace.stat().st_size / 10)
        self.assertEqual(repeated["events"], data["events"])
        ours, theirs = page_data.items(repeated), page_data.items(data)
        self.assertEqual([one[:3] for one in ours], [one[:3] for one in theirs])
        self.assertLess(max(max(abs(a[3] - b[3]), abs(a[4] - b[4])) for a, b in zip(ours, theirs)), 1000, "picoseconds, by the engine's clock")
        self.check_sent(repeated)
        folded, whole = (self.memory_of("report", self.folder / f"{name}.h5", "-o", self.folder / "memory.html") for name in ("repeated", "merged"))
        self.assertLess(folded, 0.6 * whole, "of what is repeated no operation is kept")

    def memory_of(self, *words):
        """The most memory that a call of the program needs at once [KiB]."""
        call = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        return int(subprocess.run([sys.executable, "-c", call, PROGRAM, *map(str, words)], check=True, stdout=subprocess.PIPE).stdout)

    def test_several_traces_are_on_one_page(self):
        (self.folder / "other").mkdir()
        meshsim("run", TINY, "--set", "mesh.tp=1", "--set", "mesh.dp=4", "-o", self.folder / "other/t.h5")
        page = self.folder / "side.html"
        meshsim("report", self.trace, self.folder / "other/t.h5", "--tokens", "1T", "-o", page)
        side = page_data.data(page.read_text(encoding="utf-8"))
        self.assertEqual([one["trace"] for one in side["traces"]], ["t.h5", "t.h5"])
        self.assertEqual(side["kinds"], self.data["kinds"])
        first, second = side["traces"]
        training = {key: first["summary"].pop(key) for key in list(first["summary"]) if key.startswith("training_")}
        self.assertAlmostEqual(training["training_days"], 1e12 / self.data["summary"]["tokens_per_s"] / 86400, delta=1e-9)
        self.assertEqual(first, self.data, "what its own page holds")
        self.assertEqual(second["differences"], "against t.h5: mesh.dp 4 in place of 2, mesh.tp 1 in place of 2")
        self.assertEqual(second["summary"]["mesh"], {"pp": 2, "dp": 4, "tp": 1})

    def test_the_path_leads_from_the_beginning_to_the_end(self):
        path = self.data["path"]
        self.assertEqual(set(page_data.numbers(path["gap_ps"], True)), {0})
        self.assertEqual(sum(page_data.numbers(path["length_ps"])), self.data["end_ps"])
        self.assertEqual(len(page_data.numbers(path["pp"])), len(page_data.numbers(path["length_ps"])))

    def test_memory_and_what_is_sent_are_whole(self):
        memory = self.data["memory"]
        counts, times, levels = (page_data.numbers(memory[name], name != "row_points") for name in ("row_points", "time_ps", "level_B"))
        with h5py.File(self.trace) as trace:
            for rank, count in zip([row["rank"] for row in self.data["rows"]], counts):
                mine = trace["memory/rank"][:] == rank
                for name, deltas in (("time_ps", times), ("bytes", levels)):
                    stored = trace["memory"][name][:][mine].tolist()
                    self.assertEqual([sum(deltas[:place + 1]) for place in range(count)], stored)
                    del deltas[:count]
        self.check_sent(self.data)

    def check_sent(self, data):
        """What GPUs send over the whole run is what the summary says."""
        for axis, text in data["sent"].items():
            rates = memoryview(base64.b64decode(text)).cast("f")
            sent = sum(rates) * data["end_ps"] * 1e-12 / len(rates)
            self.assertAlmostEqual(sent / data["summary"]["comm"][axis]["bytes_per_rank"], 1, delta=1e-4, msg=axis)

    def test_every_rank_has_a_row_when_asked(self):
        _, _, data = self.make("every", "--no-fold", options=["--every-rank"])
        self.assertEqual([row["rank"] for row in data["rows"]], list(range(8)))
        _, _, data = self.make("each", "--no-fold")
        self.assertEqual([row["label"] for row in data["rows"]], ["pp 0", "pp 1"])

    def test_other_levels_and_jobs(self):
        _, _, data = self.make("passes", "--trace", "passes")
        self.assertEqual([(row, code) for row, code, marks, *_ in page_data.items(data) if code < data["idle_code"]],
                         [(row, code) for row, code, marks, *_ in page_data.items(self.data) if code < data["idle_code"]])
        _, _, data = self.make("summary", "--trace", "summary")
        self.assertEqual((data["rows"], "items" in data), ([], False))
        _, _, data = self.make("one", "--trace", "ranks=4")
        self.assertEqual([row["rank"] for row in data["rows"]], [4])
        for words in (["--set", "schedule.kind=zbv"], ["--set", "schedule.kind=dualpipev"], ["--set", "recompute=full"], ["--set", "steps=3"],
                      ["--set", "granularity=pass"]):
            _, _, data = self.make("other", *words)
            for row in range(2):
                tops = [item for item in page_data.items(data) if item[0] == row and not item[2] & PART]
                self.assertEqual(max(item[4] for item in tops), data["end_ps"])
                busy = 0
                for _, _, marks, start, end, _ in tops:
                    self.assertTrue(start >= busy or marks & (UPPER | LOWER), words)
                    busy = max(busy, end)

    def test_its_input_makes_the_trace_again(self):
        trace, _, data = self.make("changed", "--set", "mesh.tp=1", "--set", "mesh.dp=4", "--set", "platform.tiers.nvlink.bandwidth=150 GB/s", "--set", "batch.micro=2")
        folder = self.folder / "again"
        folder.mkdir()
        for document in data["inputs"]:
            (folder / f"{document['name']}.yaml").write_text(document["text"])
        meshsim("run", folder / "workload.yaml", "--platform", folder / "platform.yaml", "-o", folder / "changed.h5")
        with h5py.File(trace) as one, h5py.File(folder / "changed.h5") as other:
            self.assertEqual(tree(one), tree(other))

    def test_the_same_trace_gives_the_same_page(self):
        meshsim("report", self.trace, "-o", self.folder / "twice.html")
        self.assertEqual((self.folder / "twice.html").read_text(encoding="utf-8"), self.text)

    def test_whatif_is_in_it(self):
        trace, _, data = self.make("whatif", "--whatif", "--jobs", "1")
        with h5py.File(trace) as file:
            stored = tree(file, "whatif")
        self.assertEqual([row["change"] for row in data["tables"]["whatif"]], [row["change"] for row in stored])
        self.assertEqual([row["step_time_s"] for row in data["tables"]["whatif"]], [row["step_time_s"] for row in stored])
        self.assertGreater(len(stored), 3)

    def test_damaged_tables_are_refused(self):
        def shorter(file):
            cells = file["links/bytes"][:-1]
            del file["links/bytes"]
            file["links/bytes"] = cells

        def text(file):
            del file["tiers/latency_s"]
            file["tiers/latency_s"] = "none"

        def no_tiers(file):
            del file["tiers"]

        for change, place in ((shorter, "/links/bytes"), (text, "/tiers/latency_s"), (no_tiers, "/tiers")):
            path = self.folder / "damaged.h5"
            path.write_bytes(self.trace.read_bytes())
            with h5py.File(path, "r+") as file:
                change(file)
            done = subprocess.run([PROGRAM, "report", path, "-o", self.folder / "damaged.html"], stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr), (3, f"meshsim: error: cannot read '{path}': the trace is damaged at {place}\n"))
            self.assertFalse((self.folder / "damaged.html").exists())

    def test_an_older_trace_with_fewer_columns_has_a_page(self):
        path = self.folder / "older.h5"
        path.write_bytes(self.trace.read_bytes())
        with h5py.File(path, "r+") as file:
            del file["ranks/gpu"]
        meshsim("report", path, "-o", self.folder / "older.html")
        self.assertNotIn("gpu", page_data.data((self.folder / "older.html").read_text())["tables"]["ranks"])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
