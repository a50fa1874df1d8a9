#!/usr/bin/env python3
"""Schemas of input files take what ships and what `meshsim` takes, and refuse wrong keys and types as it does.

usage: tests/python/test_schema.py MESHSIM [unittest arguments]
"""
# ctest: 2 parts

import copy
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jsonschema
import yaml

from keys import workload_keys
from parts import load_tests  # noqa: F401 (unittest looks for it)

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
SEED = int(os.environ.get("MS_SEED", "1"))
STRIDE = 3  # of the mutants of a file every third is tried, from that on which the seed says
KINDS = ["workload", "platform", "gpu", "library", "framework", "space", "sweep"]

# A value of each sort that some keys do not take, and a key that no mapping knows.
WRONG_VALUES = [{"no_such_key": 1}, [[1], 2], "no such word", -123456789.5]
WRONG_KEY = "no_such_key_at_all"

# What a schema has no words for, by what `meshsim` says of it: names of files, axes that another key lists, and what a text has to hold.
BEYOND_A_SCHEMA = re.compile(r"does not stand in|no (platform|GPU type|library|framework) '|expected \[node, gpu\]|expected numbers of nodes|is no axis of replicas")

RICH = """
name: rich
framework: {name: megatron-core}
platform: {file: dgx-h100, nodes: 2, tiers: {rail: {bandwidth: 200 Gbit/s}}, gpu: {hbm: 90 GB}, library: {file: nccl-2}}
mesh: {dp: 4, pp: 2, tp: 2, order: [pp, dp, tp]}
placement: {nodes: [0-1], order: [node, gpu]}
model: {type: llama, layers: 4, hidden: 1024, heads: 16, ffn: 4096, vocab: 51200, sequence: 1024, dropout: 5 %}
schedule: {kind: interleaved, v: 2, stage_layers: [1, 1, 1, 1]}
batch: {global: 32, micro: 1}
precision: {products: fp8, products_of: [mlp], optimizer: 12 B}
tensor_parallel: {sequence: true}
context_parallel: {kind: ring}
data_parallel: {zero: 1, bucket: 1 MB, shard: [dp]}
pipeline: {scatter_gather: false}
collectives: {algorithms: {all_reduce: ring}}
host: {launch: 1 us, sync: [norm]}
memory: {libraries: torch, buffers: [gather], allocator_overhead: 0.1}
recompute: selective
steps: 1
"""

GPU = """
name: mine
type: h100-sxm5-80gb
compute_slowdown: {all_reduce: 1.1}
fp8: {peak: 1900 TFLOP/s, transposing_casts: {torch_compile: 0.5}}
attention: {flash3: {ramp: [1, 2], d128: [0.6, 0.5]}}
sms: 132
generation: hopper
"""


# What a framework's profile leaves to the workload, and no more, as what a workload says is not read from a profile.
SIZES = """
platform: {file: dgx-h100, nodes: 2}
mesh: {dp: 8, pp: 2}
model: {type: llama, layers: 8, hidden: 1024, heads: 16, ffn: 4096, vocab: 51200, sequence: 1024, moe: {experts: 8, top_k: 2, ffn: 512}}
batch: {global: 64, micro: 1}
"""


class Yaml12(yaml.SafeLoader):
    """YAML as editors and meshsim read it: `1e6` is a number, `on` and `no` are texts."""


Yaml12.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in [
        ("bool", r"true|false", "tf"), ("null", r"~|null|", "~n\0"), ("int", r"[-+]?[0-9]+", "-+0123456789"),
        ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+0123456789.")]:
    Yaml12.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first) + ([""] if _tag == "null" else []))
Yaml12.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(loader.construct_scalar(node)))
Yaml12.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))


def read(text):
    """What a YAML text says."""
    return yaml.load(text, Yaml12)  # noqa: S506 (a safe loader)


def meshsim(*words):
    """The finished process."""
    return subprocess.run([PROGRAM, *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True,
                          env=dict(os.environ, MESHSIM_DATA=str(ROOT)), timeout=60)


@functools.lru_cache(None)
def validator(kind):
    """The validator of a kind's schema, itself checked."""
    schema = json.loads(meshsim("schema", kind).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def places(tree, path=()):
    """Paths of all values in a tree, the root's first."""
    yield path
    below = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else []
    for key, child in below:
        yield from places(child, (*path, key))


def changed(tree, path, value):
    """A copy of a tree in which a path has another value."""
    if not path:
        return value
    tree = copy.deepcopy(tree)
    at = tree
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return tree


def mutants(tree):
    """(what was done, tree) of every wrong value in every place, and of a key that nobody knows in every mapping."""
    for path in places(tree):
        at = functools.reduce(lambda node, key: node[key], path, tree)
        if isinstance(at, dict):
            yield (*path, WRONG_KEY), changed(tree, path, dict(at, **{WRONG_KEY: 1}))
        for value in WRONG_VALUES if path else []:
            yield (*path, value), changed(tree, path, value)


class Schema(unittest.TestCase):
    """Schemas beside the program."""

    def test_kinds(self):
        """Each kind has a schema, valid and with a title; another is refused with the nearest."""
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.assertEqual(validator(kind).schema["title"], f"meshsim {kind}")
        self.assertEqual(meshsim("schema").stdout, meshsim("schema", "workload").stdout)
        done = meshsim("schema", "workloads")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("did you mean 'workload'?", done.stderr)

    def test_shipped(self):
        """Every file that ships is taken."""
        files = {"workload": "workloads/*.yaml", "platform": "platforms/*.yaml", "gpu": "platforms/gpus/*.yaml",
                 "library": "platforms/libraries/*.yaml", "framework": "workloads/frameworks/*.yaml", "sweep": "workloads/studies/*.yaml"}
        for kind, pattern in files.items():
            found = sorted(ROOT.glob(pattern))
            self.assertTrue(found)
            for path in found:
                with self.subTest(file=path.name):
                    validator(kind).validate(read(path.read_text(encoding="utf-8")))

    def test_space(self):
        """A space as workloads/search.md writes it, and its faults."""
        good = read("usual: true\ngpus: [8, 16]\nplatforms: [dgx-a100]\nvary: {mesh.tp: all, batch.micro: [1, 2], "
                    "platform.tiers.rail.bandwidth: {from: 25 GB/s, to: 100 GB/s, factor: 2}}\n")
        validator("space").validate(good)
        for wrong in ({"vary": {"mesh.tp": "some"}}, {"vary": {"mesh.tp": {"from": 1}}}, {"gpus": [0]}, {"varies": {}}):
            self.assertFalse(validator("space").is_valid(dict(good, **wrong)), wrong)

    def test_keys(self):
        """Every key that `check --keys` lists stands in the schema with its default, and no other."""
        listed = workload_keys(PROGRAM)
        found = {}

        def collect(schema, path):
            for way in [schema, *schema.get("anyOf", [])]:
                for key, below in way.get("properties", {}).items():
                    if "title" in below:
                        found.setdefault(".".join([*path, key]), below)
                        collect(below, [*path, key])

        collect(validator("workload").schema, [])
        of_platform = {key for key in found if key.startswith("platform.") and key != "platform.file"}
        self.assertEqual(set(found) - of_platform, set(listed))
        self.assertIn("platform.gpu.hbm", of_platform)
        for key, row in listed.items():
            with self.subTest(key=key):
                self.assertEqual(found[key]["title"], key)
                if row.default not in (None, '""'):
                    self.assertEqual(found[key]["default"], read(row.default))

    def agree(self, kind, text, command, unread=None):
        """Hold the schema to the program over all mutants of a file: it refuses nothing that the program takes, and what it takes and the
        program refuses is beyond a schema. unread: path of a key that another file overrides."""
        tree = read(text)
        counts = {"both": 0, "neither": 0, "beyond": 0}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mutant.yaml"
            path.write_text(text, encoding="utf-8")
            self.assertIn(meshsim(*command(path)).returncode, (0, 1))
            validator(kind).validate(tree)
            for what, mutant in list(mutants(tree))[SEED % STRIDE::STRIDE]:
                if what[: len(unread or what)] == unread:
                    continue
                path.write_text(yaml.safe_dump(mutant, sort_keys=False), encoding="utf-8")
                done = meshsim(*command(path))
                self.assertIn(done.returncode, (0, 1, 3), done.stderr)
                is_valid = validator(kind).is_valid(mutant)
                if done.returncode != 3:
                    self.assertTrue(is_valid, f"{what}: only the schema refuses it")
                    counts["neither"] += 1
                elif is_valid:
                    self.assertRegex(done.stderr, BEYOND_A_SCHEMA, f"{what}: the schema takes it")
                    counts["beyond"] += 1
                else:
                    counts["both"] += 1
        self.assertGreater(counts["both"], counts["beyond"], counts)

    def test_workload_mutants(self):
        """Wrong keys and values of a workload with most sections, and one with given costs."""
        self.agree("workload", RICH, lambda path: ["check", str(path)])
        self.agree("workload", "platform: {file: ideal, nodes: 2}\nmesh: {pp: 2}\nbatch: {microbatches: 4}\ncosts: {forward: [1 ms, 2 ms], input_gradient: 1 ms, "
                   "weight_gradient: 1 ms, p2p: 0 B}\n", lambda path: ["check", str(path)])

    def test_platform_mutants(self):
        """The same of platforms: one whole, one on another's base, one whose links are unlimited."""
        for name in ("dgx-h100", "dgx-h200", "ideal"):
            text = (ROOT / "platforms" / f"{name}.yaml").read_text(encoding="utf-8")
            self.agree("platform", text, lambda path: ["platform", str(path)])

    def test_gpu_mutants(self):
        """And of a GPU type."""
        self.agree("gpu", GPU, lambda path: ["platform", "dgx-h100", "--set", f"platform.gpu={{type: {path}}}"])

    def test_framework_mutants(self):
        """And of a framework's profile, which has no sizes: those are the workload's."""
        with tempfile.TemporaryDirectory() as folder:
            sizes = Path(folder) / "sizes.yaml"
            sizes.write_text(SIZES, encoding="utf-8")
            for name in ("megatron-core", "deepseek-v3"):
                text = (ROOT / "workloads/frameworks" / f"{name}.yaml").read_text(encoding="utf-8")
                self.agree("framework", text, lambda path: ["check", str(sizes), "--set", f"framework={{name: {path}}}"], ("model", "type"))
        for wrong in ({"mesh": {"tp": 2}}, {"model": {"layers": 4}}, {"model": {"moe": {"experts": 8}}}, {"platform": "flat"}):
            self.assertFalse(validator("framework").is_valid(dict(wrong, name="mine")), wrong)

    def test_lacking_keys(self):
        """A required key that is left out is missed, also in a mapping below; nothing is where another file gives it."""
        whole = {"workload": RICH, "platform": (ROOT / "platforms/dgx-a100.yaml").read_text(encoding="utf-8")}
        for kind, path in (("workload", ("platform",)), ("workload", ("mesh",)), ("workload", ("model", "layers")), ("workload", ("platform", "file")),
                           ("platform", ("node", "gpus")), ("platform", ("tiers", "rail", "bandwidth")), ("platform", ("gpu", "type"))):
            tree = read(whole[kind])
            at = functools.reduce(lambda node, key: node[key], path[:-1], tree)
            del at[path[-1]]
            with self.subTest(path=path):
                self.assertFalse(validator(kind).is_valid(tree))
        self.assertTrue(validator("platform").is_valid({"base": "dgx-a100", "name": "mine", "node": {"nics": 4}}))
        self.assertTrue(validator("workload").is_valid(read("platform: {file: ideal, nodes: 2}\nmesh: {dp: 1}\nmodel: {hf: config.json}\nbatch: {global: 1}\n")))


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
