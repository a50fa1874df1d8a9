#!/usr/bin/env python3
"""Measured runs: errors that are known by hand, what cannot be simulated, faults with their place, and the score itself.

usage: test_validate.py MESHSIM [unittest arguments]
"""

import csv
import importlib.util
import io
import json
import shlex
import subprocess
import sys
import tempfile
import unittest
import zlib
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CASES = ROOT / "workloads" / "validation" / "cases.yaml"
PROGRAM = ""

# the same run as a case of Narayanan et al. and as a workload, written by hand; %s: its name and step time
CASE = """
- id: %s
  group: %s
  core: true
  num_gpus: 16
  system: {gpu: A100-SXM4-80GB, network: 'HDR InfiniBand (Selene)', nic_gbit_s_per_gpu: 200}
  model: {type: gpt, layers: 24, hidden: 2048, heads: 16, ffn: 8192, ffn_mats: 2, vocab: 51200, seq_len: 1024}
  parallel: {tp: 4, pp: 2, vpp: 1, dp: 2, cp: 1, ep: 1, sp: false, order: [pp, dp, tp], zero: 0}
  schedule_kind: 1f1b
  recompute_kind: full
  precision: fp16
  micro_batch: 2
  global_batch: 32
  num_microbatches: 8
  score_step_time_s: %r
"""
WORKLOAD = """
framework: megatron-lm-2021
platform: {file: selene-a100, nodes: 2}
model: {type: gpt, layers: 24, hidden: 2048, heads: 16, vocab: 51200, sequence: 1024}
mesh: {tp: 4, pp: 2, dp: 2, order: [pp, dp, tp]}
batch: {global: 32, micro: 2}
precision: {parameters: fp16, gradients: fp32, optimizer: 12 B}
host: {launch: 55 us, sync: [messages, norm, batch]}
pipeline: {scatter_gather: true}
recompute: full
"""


def run(*words):
    """The finished process."""
    return subprocess.run([PROGRAM, *(str(word) for word in words)], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, text=True, timeout=250)


def tree(*words):
    """What --json of a run that must succeed prints."""
    done = run("validate", *words, "--json")
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


class InFolder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def write(self, text, name="cases.yaml"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


class Errors(InFolder):
    """One run under several names, its measured times set to what makes the error known."""

    @classmethod
    def setUpClass(cls):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(WORKLOAD)
            file.flush()
            done = run("run", file.name, "--platform", ROOT / "platforms/selene-a100.yaml", "--json")
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.step_s = json.loads(done.stdout)["step_time_s"]

    def test_a_case_is_the_workload_that_says_the_same(self):
        """Measured at 4/5 of what is predicted: 25 % too slow; at 10/9: 10 % too fast."""
        path = self.write(CASE % ("slow", "narayanan21", self.step_s * 0.8) +
                          CASE % ("fast", "narayanan21", self.step_s / 0.9) +
                          CASE % ("exact", "vtrain", self.step_s))
        found = tree(path)
        errors = {row["id"]: row["error"] for row in found["rows"]}
        for name, error in {"slow": 0.25, "fast": -0.1, "exact": 0.0}.items():
            self.assertAlmostEqual(errors[name], error, delta=1e-9)
        for row in found["rows"]:
            self.assertEqual(row["predicted_s"], self.step_s)
            self.assertEqual(row["error"], row["predicted_s"] / row["measured_s"] - 1)
            self.assertIs(row["core"], True)
            self.assertIs(row["fits"], True)
            self.assertIs(row["recompute_stated"], True)
            self.assertEqual(row["framework"], "megatron-lm-2021")
        group = found["groups"]["narayanan21"]
        self.assertEqual((group["n"], group["worst"]), (2, "slow"))
        for key, value in {"mean_abs_error": 0.175, "bias": 0.075, "worst_abs_error": 0.25}.items():
            self.assertAlmostEqual(group[key], value, delta=1e-9)
        self.assertAlmostEqual(found["mean_of_groups"], (0.175 + 0.0) / 2, delta=1e-9)
        self.assertEqual(found["skipped"], [])

    def test_a_job_is_the_same_however_many_run_at_once(self):
        path = self.write("".join(CASE % (f"run{i}", "narayanan21", 1.0) for i in range(5)))
        one, several = tree(path, "--jobs", 1), tree(path, "--jobs", 3)
        self.assertEqual(one, several)

    def test_what_is_not_published_is_skipped_with_its_reason(self):
        rows = (CASE % ("whole", "narayanan21", 1.0) +
                (CASE % ("no_micro", "narayanan21", 1.0)).replace("micro_batch: 2", "micro_batch: null") +
                (CASE % ("no_gpu", "vtrain", 1.0)).replace("A100-SXM4-80GB", "MI250X"))
        found = tree(self.write(rows))
        self.assertEqual([row["id"] for row in found["rows"]], ["whole"])
        self.assertEqual(found["skipped"],
                         [{"id": "no_micro", "group": "narayanan21", "reason": "micro_batch is not published"},
                          {"id": "no_gpu", "group": "vtrain", "reason": "no platform for a GPU 'MI250X'"}])
        self.assertEqual(list(found["groups"]), ["narayanan21"])

    def test_what_is_apart_from_the_score_is_skipped_apart(self):
        path = self.write((CASE % ("ci", "megatron_ci", 1.0)).replace("num_gpus: 16", "num_gpus: null") +
                          (CASE % ("layer", "narayanan21", 1.0)).replace("kind: 1f1b", "kind: layer").replace("tp: 4", "tp: 3"))
        points = self.write("nccl_tests: [{system: abacus, op: all_reduce, ranks: 8, nodes: 1, points: [{bytes: 8, time_us: 1}]}]\n",
                            "points.yaml")
        found = tree(path, points)
        self.assertEqual([(row["id"], row["reason"]) for row in found["skipped_apart"]],
                         [("ci", "num_gpus is not published"), ("layer", "the mesh has 12 ranks, and num_gpus is 16"),
                          ("abacus", "no platform goes by the words of its source")])
        self.assertEqual((found["skipped"], found["rows"], found["groups"], found["mean_of_groups"]), ([], [], {}, None))

    def test_files_are_read_together_and_groups_chosen(self):
        one = self.write(CASE % ("a", "narayanan21", 1.0))
        other = self.write(CASE % ("b", "vtrain", 1.0), "more.yaml")
        self.assertEqual([row["id"] for row in tree(one, other)["rows"]], ["a", "b"])
        self.assertEqual([row["id"] for row in tree(one, other, "--group", "vtrain")["rows"]], ["b"])
        done = run("validate", one, "--group", "vtran")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no case of a group 'vtran'", done.stderr)

    def test_page_and_csv_say_what_json_says(self):
        path = self.write(CASE % ("slow", "narayanan21", self.step_s * 0.8) +
                          (CASE % ("left", "narayanan21", 1.0)).replace("micro_batch: 2", "micro_batch: null"))
        page = run("validate", path).stdout
        self.assertRegex(page, r"\n +\S+ \S+ +\S+ \S+ +25\.0 +slow\n")
        self.assertRegex(page, r"\nnarayanan21 +1 +25\.0 +25\.0 +25\.0 +slow\n")
        self.assertIn("\nskipped\n  left: micro_batch is not published\n", page)
        rows = list(csv.DictReader(io.StringIO(run("validate", path, "--csv", "-").stdout)))
        self.assertEqual([row["id"] for row in rows], ["slow", "left"])
        self.assertAlmostEqual(float(rows[0]["error"]), 0.25, delta=1e-9)
        self.assertEqual(rows[1]["reason"], "micro_batch is not published")

    def test_a_case_is_explained_beside_what_is_published(self):
        path = self.write(CASE % ("slow", "narayanan21", self.step_s * 0.8) + "  measured: {mfu_pct: 41.5, note: 29GB}\n")
        page = run("validate", path, "--explain", "slow").stdout
        self.assertIn("error +25.0 %", page)
        self.assertIn("framework  megatron-lm-2021, on selene-a100", page)
        for word in ("compute", "exposed_tp", "bubble_warmup", "MFU", "a pass: forward", "peak memory"):
            self.assertIn(word, page)
        published = page.split("\npublished\n")[1]
        self.assertEqual(published.split(), ["mfu_pct", "41.5", "note", "29GB"])

    def test_a_layer_and_a_last_rank_are_explained(self):
        page = run("validate", CASES, "--explain", "korthi22_layer22b_full").stdout
        self.assertRegex(page, r"\n  forward, as a layer +7\.\d+ ms\n  backward, as a layer +19(\.\d)? ms\n")
        ci = CASES.parent / "megatron_ci.yaml"
        page = run("validate", ci, "--explain", "mcore_ci_gpt3_7b_tp4_pp1_memory_speed_a100_dev").stdout
        self.assertRegex(page, r"\n  last rank, peak +\S+ GiB\n  last rank, between steps +\S+ GiB\n")

    def test_the_picture_has_a_marker_for_each_row(self):
        picture = self.folder / "p.svg"
        path = self.write(CASE % ("slow", "narayanan21", self.step_s * 0.8) + CASE % ("exact", "vtrain", self.step_s))
        done = run("validate", path, "--plot", picture)
        self.assertEqual(done.returncode, 0, done.stderr)
        space = "{http://www.w3.org/2000/svg}"
        root = ET.parse(picture).getroot()
        self.assertEqual([title.text for title in root.iter(f"{space}title")], ["slow", "exact"])
        texts = [text.text for text in root.iter(f"{space}text")]
        for word in ("measured [s]", "predicted [s]", "narayanan21", "vtrain"):
            self.assertIn(word, texts)
        # one is 25 % above the line of equal values, the other on it: y falls by what x does
        places = {marker.find(f"{space}title").text: (float(marker.get("x")), float(marker.get("y"))) for marker in root.iter(f"{space}use")
                  if marker.find(f"{space}title") is not None}
        (x0, y0), (x1, y1) = places["exact"], places["slow"]
        self.assertLess(x1, x0)
        self.assertAlmostEqual(y1, y0, delta=0.11)  # both predict the same


class Mechanisms(InFolder):
    """Overrides of every job, and what each mechanism buys."""

    def test_overrides_reach_jobs_and_platforms(self):
        path = self.write(CASE % ("one", "narayanan21", 1.0))
        one = tree(path)["rows"][0]["predicted_s"]
        workload = self.write(WORKLOAD, "w.yaml")
        for key in ("model.attention=fused", "platform.gpu.kernel_launch=0 s", "platform.tiers.nvlink.efficiency=1"):
            done = run("run", workload, "--platform", ROOT / "platforms/selene-a100.yaml", "--json", "--set", key)
            self.assertEqual(done.returncode, 0, done.stderr)
            changed = tree(path, "--set", key)["rows"][0]["predicted_s"]
            self.assertEqual(changed, json.loads(done.stdout)["step_time_s"], key)
            self.assertNotEqual(changed, one, key)
        each = [word for tier in ("nvlink", "rail", "spine", "core") for word in ("--set", f"platform.tiers.{tier}.efficiency=1")]
        self.assertEqual(tree(path, "--set", "platform.tiers.*.efficiency=1"), tree(path, *each))
        for key in ("modl.attention=fused", "platform.gpu.kernel_lunch=0 s", "platform.tiers.rial.latency=0 s"):
            done = run("validate", path, "--set", key)
            self.assertEqual((done.returncode, done.stdout), (3, ""), key)
            self.assertIn("did you mean", done.stderr)

    def test_an_ablation_is_a_validation_without_each_mechanism(self):
        """Measured is what is predicted: every mechanism buys the whole error that its absence makes."""
        step_s = tree(self.write(CASE % ("one", "narayanan21", 1.0)))["rows"][0]["predicted_s"]
        path = self.write("".join(CASE % (f"row{i}", "narayanan21", step_s) for i in range(6)))
        found = tree(path, "--ablation")
        self.assertEqual(found["mean_of_groups"], 0)
        unseen = sum(zlib.crc32(f"row{i}".encode()) % 3 == 0 for i in range(6))
        self.assertIn(unseen, range(1, 6))
        rows = {row["mechanism"]: row for row in found["ablation"]}
        self.assertGreater(len(rows), 15)
        for name in ("attention generation", "GEMM tiles and waves", "achieved bandwidth"):
            row = rows[name]
            sets = [word for key in row["off"].split(", ") for word in ("--set", key)]
            error = abs(tree(path, *sets)["rows"][0]["error"])
            self.assertGreater(error, 1e-6)
            for key in ("gain", "fitted_gain", "unseen_gain", "most_gain"):
                self.assertAlmostEqual(row[key], error, delta=1e-12)
            self.assertEqual((row["moved"], row["most"], row["groups"]), (6, "narayanan21", {"narayanan21": row["gain"]}))
        self.assertEqual((rows["NVLS"]["moved"], rows["NVLS"]["gain"]), (0, 0))
        self.assertIsNone(rows["NVLS"]["most"])

    def test_an_ablation_has_a_page_and_csv(self):
        path = self.write(CASE % ("one", "narayanan21", 1.0))
        page = run("validate", path, "--ablation").stdout
        self.assertRegex(page, r"\nattention generation +1 +\S+ +-?\d+\.\d\d ")
        self.assertLessEqual(max(map(len, page.splitlines())), 80)
        rows = list(csv.DictReader(io.StringIO(run("validate", path, "--ablation", "--csv", "-").stdout)))
        self.assertIn({"mechanism": "NVLS", "off": "platform.nvls=false"}, [{key: row[key] for key in ("mechanism", "off")} for row in rows])

    def test_unseen_rows_are_a_third_and_small_groups(self):
        """Of a group of six the rows whose CRC-32 is a multiple of three, of one of five all."""
        large = [f"row{i}" for i in range(6)]
        path = self.write("".join(CASE % (name, "narayanan21", 1.0) for name in large) +
                          "".join(CASE % (f"few{i}", "vtrain", 1.0) for i in range(5)))
        found = {row["id"]: row["unseen"] for row in tree(path)["rows"]}
        for name in large:
            self.assertIs(found[name], zlib.crc32(name.encode()) % 3 == 0, name)
        for i in range(5):
            self.assertIs(found[f"few{i}"], True)
        self.assertEqual({row["id"]: row["unseen"] for row in tree(path, "--group", "vtrain")["rows"]},
                         {f"few{i}": True for i in range(5)})


class Own(InFolder):
    """A user's own runs: workload files with overrides."""

    def test_a_run_is_its_workload_with_its_keys(self):
        workload = self.write(WORKLOAD, "w.yaml")
        step_s = {}
        for micro in (1, 2):
            done = run("run", workload, "--platform", ROOT / "platforms/selene-a100.yaml", "--json", "--set", f"batch.micro={micro}")
            self.assertEqual(done.returncode, 0, done.stderr)
            step_s[micro] = json.loads(done.stdout)
        memory = step_s[2]["memory"]["peak_B"]
        own = self.write("# of Tuesday\nid,workload,group,step_time,peak_memory,batch.micro\n"
                         f"one,w.yaml,,{1e3 * step_s[1]['step_time_s'] / 1.25!r} ms,,1\n"
                         f"two,w.yaml,lab,{step_s[2]['step_time_s']!r} s,{memory / 2!r} B,\n", "own.csv")
        found = tree("--own", own)
        self.assertEqual([(row["id"], row["group"]) for row in found["rows"]], [("one", "own"), ("two", "lab")])
        self.assertAlmostEqual(found["rows"][0]["error"], 0.25, delta=1e-9)
        self.assertAlmostEqual(found["rows"][1]["error"], 0, delta=1e-9)
        self.assertEqual([row["id"] for row in found["memory"]], ["two"])
        self.assertAlmostEqual(found["memory"][0]["error"], 1, delta=1e-9)
        self.assertEqual((found["layers"], found["phases"]), ([], []))
        self.assertEqual(tree(own), found)
        slower = tree("--own", own, "--set", "platform.tiers.*.efficiency=0.5")
        self.assertGreater(slower["rows"][1]["predicted_s"], found["rows"][1]["predicted_s"])
        cases = self.write(CASE % ("three", "narayanan21", 1.0))
        self.assertEqual([row["id"] for row in tree(cases, "--own", own)["rows"]], ["three", "one", "two"])

    def test_faults_are_told_with_their_line(self):
        self.write(WORKLOAD, "w.yaml")
        head = "id,workload,step_time,batch.micro\n"
        for text, word in ((head + "one,w.yaml,3,\n", "own.csv:2: error: expected a figure above 0 with its unit, got '3'"),
                           (head + "one,w.yaml,3 s\n", "own.csv:2: error: expected a cell for each column, got 'one'"),
                           (head + "one,w.yaml,3 s,1\none,w.yaml,3 s,1\n", "own.csv:3: error: this id is there already: 'one'"),
                           ("id,workload,id\n", "own.csv:1: error: a column stands twice: 'id'"),
                           ("id,workload,batch.micro\n", "own.csv:1: error: expected a column step_time, peak_memory or"),
                           (head + "one,none.yaml,3 s,\n", "own.csv:2: error: the workload of 'one' is not sound"),
                           (head.replace("batch.micro", "batch.mikro") + "one,w.yaml,3 s,1\n", "did you mean 'micro'?")):
            done = run("validate", "--own", self.write(text, "own.csv"))
            self.assertEqual((done.returncode, done.stdout), (3, ""), text)
            self.assertIn(word, done.stderr)


class Faults(InFolder):
    def fault(self, old, new, code=3):
        text = CASE % ("one", "narayanan21", 1.0)
        self.assertIn(old, text)
        path = self.write(text.replace(old, new))
        done = run("validate", path)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_an_unknown_key_is_told_with_its_place(self):
        said = self.fault("hidden: 2048", "hiden: 2048")
        self.assertIn("cases.yaml:7:34: error: one.model.hiden: unknown key; did you mean 'hidden'?", said)
        self.assertIn("\n", said)
        self.assertIn("^~~~~", said)
        self.assertEqual(said.count("error:"), 1)

    def test_a_key_without_a_rule_is_left_out_and_told(self):
        text = CASE % ("one", "narayanan21", 1.0)
        known = json.loads(run("validate", self.write(text), "--json").stdout)
        foreign = json.loads(run("validate", self.write(text.replace("hidden: 2048", "hidden: 2048, zygote: {a: 1}")), "--json").stdout)
        self.assertEqual(foreign["rows"][0]["predicted_s"], known["rows"][0]["predicted_s"])
        self.assertIn("no rule for model.zygote", foreign["rows"][0]["differs"])
        self.assertNotIn("no rule", known["rows"][0].get("differs") or "")

    def test_a_missing_key_is_told_with_its_mapping(self):
        self.assertIn("cases.yaml:7:10: error: one.model.vocab: this key is required",
                      self.fault("vocab: 51200, ", ""))
        self.assertIn("cases.yaml:2:3: error: one.global_batch: this key is required",
                      self.fault("  global_batch: 32\n", ""))

    def test_a_unit_is_refused_where_the_key_has_it(self):
        self.assertIn("error: one.system.nic_gbit_s_per_gpu: ",
                      self.fault("nic_gbit_s_per_gpu: 200", "nic_gbit_s_per_gpu: 200 Gbit/s"))
        self.assertIn("error: one.score_step_time_s: ", self.fault("time_s: 1.0", "time_s: 1 s"))

    def test_an_id_may_stand_once(self):
        text = CASE % ("one", "narayanan21", 1.0)
        done = run("validate", self.write(text + text))
        self.assertEqual(done.returncode, 3)
        self.assertIn("cases.yaml:17:7: error: one: id 'one' is there already, at ", done.stderr)
        done = run("validate", self.write(text), self.write(text, "again.yaml"))
        self.assertEqual(done.returncode, 3)

    def test_all_faults_come_at_once(self):
        text = (CASE % ("one", "narayanan21", 1.0)).replace("tp: 4", "tp: x") + (CASE % ("two", "g", 1.0)).replace(
            "layers: 24", "layers: -1")
        said = run("validate", self.write(text)).stderr
        self.assertIn("one.parallel.tp", said)
        self.assertIn("two.model.layers", said)

    def test_a_pipe_is_read_once(self):
        for path in (ROOT / "workloads/validation/hardware.yaml", self.write(CASE % ("one", "narayanan21", 1.0))):
            piped = subprocess.run([PROGRAM, "validate", "/dev/stdin", "--json"], cwd=ROOT, input=path.read_text(encoding="utf-8"), capture_output=True, check=False,
                                   text=True, timeout=250)
            self.assertEqual((piped.returncode, piped.stderr), (0, ""))
            self.assertEqual(json.loads(piped.stdout), tree(path))

    def test_other_files_are_refused(self):
        for text, word in (("model: {type: gpt}\nmesh: {dp: 1}\n", "expected measured runs, got a workload; 'meshsim check "),
                           ("", "got nothing"), ("- 5\n", "expected a case"),
                           ("- [1]\n", "expected a case"), ("nccl_tests: 3\n", "expected a list")):
            done = run("validate", self.write(text))
            self.assertEqual(done.returncode, 3, text)
            self.assertIn(word, done.stderr)
        self.assertEqual(run("validate", self.folder / "none.yaml").returncode, 3)
        self.assertEqual(run("validate").returncode, 2)
        self.assertEqual(run("validate", CASES, "--jobs", "0").returncode, 2)
        self.assertEqual(run("validate", CASES, "--csv", "-", "--json").returncode, 2)
        done = run("validate", CASES, "--plot", self.folder / "no" / "p.svg")
        self.assertEqual(done.returncode, 4)


def load_misses():
    """The module of scripts/score that explains misses."""
    spec = importlib.util.spec_from_file_location("misses", ROOT / "scripts/misses.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Misses(unittest.TestCase):
    """Classes of misses: each row above 10 % has one, each class a row."""

    TEXT = "[slow ones]\nrows = steps/a/*\nsign = +\nreason = two\n  lines\n[rest]\nrows = steps/b/x steps/a/*\nreason = other\n"

    def test_rows_go_to_their_first_class(self):
        module = load_misses()
        classes = module.read_misses(self.TEXT)
        self.assertEqual(classes[0].reason, "two lines")
        errors, complaints = module.explain(classes, [("steps/a/one", 0.2), ("steps/a/two", -0.3), ("steps/b/x", 0.11)])
        self.assertEqual((errors, complaints), ({"slow ones": [0.2], "rest": [-0.3, 0.11]}, []))
        self.assertEqual(module.miss_lines(classes, errors)[2:],
                         ["| slow ones | 1 | 20 | +20 | two lines |", "| rest | 2 | 20 | -10 | other |"])

    def test_what_is_not_explained_is_told(self):
        module = load_misses()
        classes = module.read_misses(self.TEXT)
        _, complaints = module.explain(classes, [("steps/c/new", -0.25), ("steps/b/x", 0.3)])
        self.assertEqual(len(complaints), 2)
        self.assertIn("steps/c/new misses by -25.0 %", complaints[0])
        self.assertIn("[slow ones] explains no row", complaints[1])
        self.assertEqual(len(module.explain(classes, [("steps/b/x", 0.3)], is_whole=False)[1]), 0)
        for text in ("[a]\nrows = x\n", "[a]\nrows = x\nreason = y\nsgin = +\n", "[a]\nrows = x\nreason = y\nsign = plus\n"):
            with self.assertRaises(module.Faulty):
                module.read_misses(text)

    def test_rows_within_a_tenth_need_no_reason(self):
        module = load_misses()
        point = {"kind": "all_reduce", "system": "s", "ranks": 8, "size_B": 1048576.0, "error": 0.2}
        tree = {"rows": [{"group": "g", "id": "i", "error": -0.1}, {"group": "g", "id": "j", "error": 0.101}], "apart_rows":
                [{"group": "h", "id": "k", "error": None}], "memory": [], "layers": [{"id": "l", "quantity": "forward", "error": -1}],
                "phases": [], "collectives": [point]}
        self.assertEqual(module.missed_rows(tree), [("steps/g/j", 0.101), ("layers/l/forward", -1),
                                                    ("collectives/all_reduce/s/8/1048576", 0.2)])

    def test_fits_are_found_in_comments(self):
        text = ("a: 1  # Source: x\nb: 0.5 # Fit: 12 shapes,\n       # of which 4 were left out\nc: 2 us # large. Fit: the same\n"
                "d: 3 # as b's, which is a fit: an estimate\ne: 5 us # all of it. Fitted to some rows\n")
        self.assertEqual(load_misses().fits_of(text), [("b", "0.5", "12 shapes, of which 4 were left out"), ("c", "2 us", "the same"),
                                                         ("e", "5 us", "some rows")])


class Score(unittest.TestCase):
    """The score of quick groups is what the README of the rows says: who changes a prediction writes it anew."""

    def test_quick_groups_are_as_written(self):
        groups = [word for name in ("megatron20", "korthikanti22", "simumax", "torchtitan") for word in ("--group", name)]
        done = subprocess.run([sys.executable, ROOT / "scripts/score", PROGRAM, *groups], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, text=True, timeout=250)
        self.assertEqual(done.returncode, 0, f"scripts/score build/meshsim --accept\n{done.stdout}{done.stderr}")

    def test_a_changed_score_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "meshsim"
            program.write_text(f"#!/bin/sh\n{shlex.quote(PROGRAM)} \"$@\" | sed 's/\"n\": 10/\"n\": 11/'\n", encoding="utf-8")
            program.chmod(0o755)
            done = subprocess.run([sys.executable, ROOT / "scripts/score", program, "--group", "simumax"],
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True, timeout=250)
        self.assertEqual(done.returncode, 1)
        self.assertIn("simumax: now   | simumax | 11 |", done.stdout)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
