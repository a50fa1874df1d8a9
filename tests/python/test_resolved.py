#!/usr/bin/env python3
"""The resolved inputs of a trace (/input/resolved), and what `meshsim compare` makes of them: defaults that changed, told first, and versions.

usage: tests/python/test_resolved.py MESHSIM [unittest arguments]
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py

from keys import workload_keys
from trace_trees import change_tree

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
TINY = ROOT / "workloads/tiny.yaml"
LINE = re.compile(r"(?P<key>[^ ]+) =(?: (?P<value>.*))?  # (?P<origin>.*)")
NOT_GIVEN = "not given"


def meshsim(*words, code=0):
    """Standard output and standard error of a call that ends with `code`."""
    done = subprocess.run([PROGRAM, *map(str, words)], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != code:
        raise AssertionError(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def resolved(path):
    """The text of a trace."""
    with h5py.File(path) as trace:
        return trace["input/resolved"][()].decode()


def keys_of(text):
    """{key: (value, origin)} of a text."""
    lines = [LINE.fullmatch(line) for line in text.splitlines()]
    return {line["key"]: (line["value"], line["origin"]) for line in lines}


class Resolved(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.holder.name)
        cls.run_tiny("a.h5")

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    @classmethod
    def path(cls, name):
        return cls.folder / name

    @classmethod
    def run_tiny(cls, name, *words, workload=TINY):
        meshsim("run", workload, "-o", cls.path(name), *words)
        return cls.path(name)

    def altered(self, name, *edits, base="a.h5", version=None, slower=1.0):
        """A copy of a trace as another version would have written it: its resolved text with (old, new) put in the place of each other."""
        path = self.path(name)
        shutil.copy(self.path(base), path)
        with h5py.File(path, "r+") as trace:
            text = trace["input/resolved"][()].decode()
            for old, new in edits:
                self.assertIn(old, text)
                text = text.replace(old, new)
            del trace["input/resolved"]
            trace["input/resolved"] = text
            change_tree(trace, lambda summary: summary.update(step_time_s=summary["step_time_s"] * slower))
            if version is not None:
                trace.attrs["program_version"] = version
        return path

    def without(self, name, base="a.h5"):
        """A copy of a trace as earlier versions wrote it."""
        path = self.path(name)
        shutil.copy(self.path(base), path)
        with h5py.File(path, "r+") as trace:
            del trace["input/resolved"]
        return path

    def compared(self, *paths, code=0):
        return json.loads(meshsim("compare", *paths, "--json", code=code)[0])

    # ---- what a trace holds

    def test_every_key_of_a_workload_is_there(self):
        """With its value, or below a mapping that is not given."""
        found = keys_of(resolved(self.path("a.h5")))
        listed = workload_keys(PROGRAM)
        self.assertGreater(len(listed), 100)
        for key in listed:
            above = [key.rsplit(".", depth)[0] for depth in range(1, key.count(".") + 1)]
            is_there = key in found or any(other.startswith(f"{key}.") for other in found)
            self.assertTrue(is_there or any(found.get(one) == (None, NOT_GIVEN) for one in above), key)

    def test_values_are_those_in_use_with_their_origin(self):
        path = self.run_tiny("b.h5", "--set", "framework=megatron-core", "--set", "mesh.tp=4", "--set", "mesh.dp=1", "--fidelity", "analytic")
        found = keys_of(resolved(path))
        for key, expected in (("mesh.tp", ("4", "typed")), ("model.layers", ("8", "typed")), ("mesh.cp", ("1", "default")), ("fidelity", ("analytic", "typed")),
                              ("model.kv_heads", ("16", "derived")), ("model.dropout", ("0.1", "derived")), ("batch.microbatches", ("16", "derived")),
                              ("data_parallel.reduce", ("last", "derived")), ("model.moe", (None, NOT_GIVEN)), ("platform.file", ("dgx-a100", "typed")),
                              ("platform.pue", ("1", "default")), ("platform.node.cpu", ("amd", "dgx-a100.yaml")), ("platform.fabric.core_oversubscription", ("1", "default")),
                              ("platform.gpu.peak", ("312 TFLOP/s", "a100-sxm4-80gb.yaml")), ("platform.library.net_channels", ("2", "nccl-2.yaml")),
                              ("platform.library.generations.ampere.nvls_share", ("1", "default"))):
            self.assertEqual(found[key], expected, key)
        self.assertEqual(found["precision.gradients"][1], "framework megatron-core")
        self.assertEqual([key for key in found if key.startswith("platform.library.generations") and "ampere" not in key], [])

    def test_a_key_that_was_taken_out_was_typed(self):
        path = self.run_tiny("null.h5", "--set", "platform.price=null", "--set", "model.moe=null", "--set", "schedule.kind=null", "--set", "recompute=null")
        found = keys_of(resolved(path))
        for key, expected in (("platform.price", (None, "typed")), ("model.moe", (None, "typed")), ("schedule.kind", ("1f1b", "default")), ("recompute", ("none", "default"))):
            self.assertEqual(found[key], expected, key)
        rows = self.compared(self.path("a.h5"), path, code=1)
        self.assertEqual((rows["defaults"], [row["key"] for row in rows["inputs"]]), ([], ["schedule.kind", "platform.price"]))

    def test_the_same_job_gives_the_same_text_wherever_its_files_lie(self):
        texts = []
        for name in ("one", "two/deeper"):
            place = self.path(name)
            place.mkdir(parents=True)
            for part in ("workloads/tiny.yaml", "platforms"):
                source = ROOT / part
                target = place / part
                target.parent.mkdir(exist_ok=True)
                (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
            self.run_tiny(f"{name}/t.h5", "--set", "framework=torchtitan", workload=place / "workloads/tiny.yaml")
            self.run_tiny(f"{name}/p.h5", "--platform", place / "platforms/dgx-h100.yaml", workload=place / "workloads/tiny.yaml")
            texts.append(resolved(place / "t.h5") + resolved(place / "p.h5"))
            self.assertNotIn(str(self.folder), texts[-1])
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(resolved(self.path("a.h5")), resolved(self.run_tiny("again.h5")))
        self.assertLess(len(texts[0]), 40_000)

    def test_names_of_the_user_keep_to_their_line(self):
        path = self.run_tiny("names.h5", "--set", 'name="a  # b = c\\nd"', "--set", 'mesh={"x\\ny = z": 1, tp: 2, pp: 2, dp: 2, order: [pp, dp, "x\\ny = z", tp]}')
        self.assertTrue(all(" =" in line and "  # " in line for line in resolved(path).splitlines()))
        self.assertTrue(self.compared(path, path)["equal"])

    # ---- what is made of it

    def test_a_changed_default_is_told_first_and_versions_where_figures_differ(self):
        before = self.path("a.h5")
        after = self.altered("after.h5", ("model.kernels = fused", "model.kernels = eager"), ("batch.micro = 1  # typed", "batch.micro = 2  # typed"),
                             ("platform.library.net_channels = 2 ", "platform.library.net_channels = 4 "), version="9.9.9", slower=1.25)
        found = self.compared(before, after, code=1)
        self.assertEqual(list(found)[5:], ["defaults", "inputs", "versions", "differences"])
        self.assertEqual(found["defaults"], [{"key": "model.kernels", "a": "fused", "b": "eager"}, {"key": "platform.library.net_channels", "a": "2", "b": "4"}])
        self.assertEqual(found["inputs"], [{"key": "batch.micro", "a": "1", "b": "2"}])
        with h5py.File(before) as trace:
            self.assertEqual(found["versions"], [{"a": trace.attrs["program_version"], "b": "9.9.9"}])
        self.assertTrue(found["traces"][0]["defaults_known"])
        for words in ([], ["--markdown"], ["--junit", "-"]):
            with self.subTest(words):
                page, _ = meshsim("compare", before, after, *words, code=1)
                places = [page.index(part) for part in ("hat changed", "model.kernels", "net_channels", "that differ", "batch.micro", "b by meshsim 9.9.9")]
                self.assertEqual(places, sorted(places), page)

    def test_versions_count_for_nothing_where_figures_are_equal(self):
        after = self.altered("version.h5", version="9.9.9")
        found = self.compared(self.path("a.h5"), after)
        self.assertEqual((found["equal"], found["versions"], found["defaults"]), (True, [], []))
        self.assertNotIn("9.9.9", meshsim("compare", self.path("a.h5"), after)[0])

    def test_a_key_that_one_version_lacks(self):
        after = self.altered("new-key.h5", ("costs =  # not given\n", "costs =  # not given\nmodel.more = 3  # default\nmodel.none =  # not given\n"))
        self.assertEqual(self.compared(self.path("a.h5"), after)["defaults"], [{"key": "model.more", "a": None, "b": "3"}])

    def test_what_follows_from_inputs_is_no_default(self):
        """A larger model has other sizes, another GPU other constants; a default that changed besides is still told."""
        other = self.run_tiny("other.h5", "--set", "model.hidden=2048", "--platform", "dgx-h100")
        found = self.compared(self.path("a.h5"), other, code=1)
        self.assertEqual(found["defaults"], [])
        self.assertLess({"model.hidden", "platform.gpu.peak", "platform.file"}, {row["key"] for row in found["inputs"]})
        after = self.altered("other-version.h5", ("model.kernels = fused", "model.kernels = eager"), base="other.h5")
        self.assertEqual([row["key"] for row in self.compared(self.path("a.h5"), after, code=1)["defaults"]], ["model.kernels"])

    def test_a_changed_profile_or_gpu_type_is_a_changed_default(self):
        for name in ("old", "new"):
            place = self.path(f"data-{name}")
            shutil.copytree(ROOT / "platforms", place / "platforms")
            shutil.copytree(ROOT / "workloads/frameworks", place / "workloads/frameworks")
            shutil.copy(TINY, place / "workloads")
        for path, old, more in (("platforms/gpus/a100-sxm4-80gb.yaml", "peak: 312 TFLOP/s", "peak: 300 TFLOP/s"),
                                ("platforms/libraries/nccl-2.yaml", "net_channels: 2", "net_channels: 4"),
                                ("workloads/frameworks/megatron-core.yaml", "launch: 40 us", "launch: 50 us")):
            file = self.path("data-new") / path
            self.assertIn(old, file.read_text())
            file.write_text(file.read_text().replace(old, more))
        traces = [self.run_tiny(f"data-{name}.h5", "--set", "framework=megatron-core", "--set", f"model.layers={layers}", workload=self.path(f"data-{name}") / "workloads/tiny.yaml")
                  for name, layers in (("old", 8), ("new", 8))]
        found = self.compared(*traces, code=1)
        self.assertEqual([(row["key"], row["a"], row["b"]) for row in found["defaults"]],
                         [("host.launch", "40 us", "50 us"), ("platform.gpu.peak", "312 TFLOP/s", "300 TFLOP/s"), ("platform.library.net_channels", "2", "4")])
        self.assertEqual(found["inputs"], [])
        typed = self.run_tiny("typed.h5", "--set", "framework=megatron-core", "--set", "platform.gpu.peak=300 TFLOP/s", "--set", "model.layers=16")
        found = self.compared(traces[0], typed, code=1)
        self.assertEqual((found["defaults"], [row["key"] for row in found["inputs"]]), ([], ["model.layers", "platform.gpu.peak"]))

    def test_folders_name_the_trace(self):
        for side in ("base", "now"):
            self.path(side).mkdir()
        self.without("base/old.h5")
        shutil.copy(self.path("a.h5"), self.path("now/old.h5"))
        shutil.copy(self.path("a.h5"), self.path("base/t.h5"))
        self.altered("now/t.h5", ("steps = 1", "steps = 2"), version="9.9.9", slower=2)
        found = self.compared(self.path("base"), self.path("now"), code=1)
        self.assertEqual([row["defaults_known"] for row in found["traces"]], [False, True])
        self.assertEqual(found["defaults"], [{"trace": "t.h5", "key": "steps", "a": "1", "b": "2"}])
        self.assertEqual([(row["trace"], row["b"]) for row in found["versions"]], [("t.h5", "9.9.9")])

    # ---- old, damaged and hostile traces

    def test_traces_of_earlier_versions_are_read(self):
        old = self.without("old.h5")
        for pair, who in (((old, self.path("a.h5")), "a holds"), ((self.path("a.h5"), old), "b holds"), ((old, old), "neither trace holds")):
            found = self.compared(*pair)
            self.assertEqual((found["equal"], found["defaults"], found["traces"][0]["defaults_known"]), (True, [], False))
            for words in ([], ["--markdown"], ["--junit", "-"]):
                self.assertIn(f"changed defaults are unknown: {who} no resolved inputs", meshsim("compare", *pair, *words)[0])
        meshsim("report", old, "-o", self.path("old.html"))

    def test_damage_is_told_with_its_place(self):
        line = resolved(self.path("a.h5")).splitlines().index("mesh.tp = 2  # typed") + 1
        for text in ("mesh.tp 2  # typed", "mesh.tp = 2 # typed", " = 2  # typed", "", "mesh.tp"):
            with self.subTest(text):
                path = self.altered("damaged.h5", ("mesh.tp = 2  # typed", text))
                for pair in ((path, self.path("a.h5")), (self.path("a.h5"), path)):
                    _, said = meshsim("compare", *pair, code=3)
                    self.assertIn(f"damaged.h5': the trace is damaged at /input/resolved, line {line}: expected 'KEY = VALUE  # ORIGIN'", said)
        path = self.altered("damaged.h5")
        with h5py.File(path, "r+") as trace:
            text = trace["input/resolved"][()].replace(b"mesh.tp = 2", b"mesh.tp = \xff")
            del trace["input/resolved"]
            trace.create_dataset("input/resolved", data=text, dtype=h5py.string_dtype("ascii"))
        self.assertIn(f"/input/resolved, line {line}: it is no UTF-8", meshsim("compare", path, path, code=3)[1])

    def test_what_people_do_not_see_is_not_printed(self):
        path = self.altered("hidden.h5", ("model.kernels = fused", "model.kernels = \x1b[31mfu\u202esed\x07"), ("steps = 1", "ste\x1bps = 1"))
        page, _ = meshsim("compare", self.path("a.h5"), path)
        self.assertIn("model.kernels", page)
        self.assertIsNone(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", page))

    def test_many_keys_are_compared_in_no_time(self):
        """16 MiB is the most that the text may have, which is more than a million short lines."""
        path = self.altered("many.h5")
        with h5py.File(path, "r+") as trace:
            del trace["input/resolved"]
            trace["input/resolved"] = "".join(f"k{i % 70000 * 7919 % 100003} =  # d\n" for i in range(900_000))
        self.assertEqual(self.compared(path, path)["defaults"], [])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
