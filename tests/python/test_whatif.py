#!/usr/bin/env python3
"""What-ifs of `run`: the same figures as a run with their settings, gains known in closed form, kept in the trace.

usage: tests/python/test_whatif.py MESHSIM [unittest arguments]
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py

from trace_trees import tree

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""

# Two stages, one microbatch, on GPUs behind one switch at 25 GB/s: 6 ms of passes, two messages of 1 ms and 1 us of latency.
BY_HAND = """name: by-hand
platform: {file: flat, nodes: 2}
costs: {forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms, p2p: 25 MB}
mesh: {pp: 2, order: [pp]}
schedule: {kind: 1f1b}
batch: {microbatches: 1}
"""


def meshsim(*words, code=0):
    done = subprocess.run([PROGRAM, *words], cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(words)}: exit code {done.returncode}, expected {code}\n{done.stderr}")
    return done


def result(workload, *words, code=0):
    return json.loads(meshsim("run", workload, "--json", *words, code=code).stdout)


def sets(settings):
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


class Whatif(unittest.TestCase):
    def check_rows(self, workload, *words, least_gain=-1e-12):
        """Every row is a run of its own, and the rows stand by gain."""
        value = result(workload, *words, "--whatif")
        rows = value["whatif"]
        self.assertGreater(len(rows), 3)
        for row in rows:
            alone = result(workload, *words, *sets(row["settings"]))
            self.assertEqual(row["step_time_s"], alone["step_time_s"], row)
            self.assertEqual(row["gain"], 1 - row["step_time_s"] / value["step_time_s"], row)
            self.assertGreaterEqual(row["gain"], least_gain, row)
        self.assertEqual(rows, sorted(rows, key=lambda row: -row["gain"]))
        return {row["change"]: row for row in rows}

    def test_settings_make_the_same_figures(self):
        """To the last bit; what is there to change follows from the platform."""
        two_nodes = sum((["--set", text] for text in ("platform.nodes=2", "mesh.dp=4", "batch.global=16", "mesh.order=[tp, dp, pp]")), [])
        rows = self.check_rows("workloads/tiny.yaml", *two_nodes)
        self.assertEqual(set(rows), {"nvlink bandwidth x 2", "nvlink latency 0", "rail bandwidth x 2", "rail latency 0", "spine bandwidth x 2",
                                     "spine latency 0", "library latencies 0", "GPU peak x 2", "HBM bandwidth x 2", "perfect overlap", "no jitter"})
        self.assertGreater(rows["perfect overlap"]["gain"], rows["rail bandwidth x 2"]["gain"])
        self.assertGreater(rows["rail bandwidth x 2"]["gain"], 0.01)

    def test_without_a_library_nothing_gets_slower(self):
        rows = self.check_rows("workloads/textbook-70b-64.yaml", "--set", "platform.library=none", "--granularity", "pass")
        self.assertNotIn("library latencies 0", rows)

    def test_gains_by_hand(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "by-hand.yaml"
            path.write_text(BY_HAND, encoding="utf-8")
            step_s = 6e-3 + 2 * (1e-3 + 1e-6)
            self.assertAlmostEqual(result(str(path))["step_time_s"], step_s, delta=1e-12)
            rows = {row["change"]: row["gain"] for row in result(str(path), "--whatif")["whatif"]}
        self.assertEqual(set(rows), {"fabric bandwidth x 2", "fabric latency 0", "perfect overlap"})
        self.assertAlmostEqual(rows["fabric bandwidth x 2"], 1e-3 / step_s, delta=1e-9)
        self.assertAlmostEqual(rows["fabric latency 0"], 2e-6 / step_s, delta=1e-9)
        self.assertAlmostEqual(rows["perfect overlap"], 2.002e-3 / step_s, delta=1e-9)

    def test_memory_counts_where_it_unlocks_less_recomputation(self):
        words = ["--set", "recompute=full", "--set", "platform.gpu.reserve=0 B"]
        kept_B = result("workloads/tiny.yaml", *words, "--set", "recompute=none")["memory"]["peak_B"]
        full_B = result("workloads/tiny.yaml", *words)["memory"]["peak_B"]
        self.assertGreater(kept_B, full_B)
        between = ["--set", f"platform.gpu.hbm={(kept_B + full_B) / 2:.0f} B"]
        rows = self.check_rows("workloads/tiny.yaml", *words, *between, least_gain=-1e-3)
        self.assertIn("platform.gpu.hbm", rows["memory x 2, recompute none"]["settings"])
        self.assertGreater(rows["memory x 2, recompute none"]["gain"], 0.02)
        plenty = self.check_rows("workloads/tiny.yaml", *words, least_gain=-1e-3)
        self.assertEqual(plenty["recompute none, which fits"]["settings"], {"recompute": "none"})
        scarce = result("workloads/tiny.yaml", *words, "--set", f"platform.gpu.hbm={0.49 * kept_B:.0f} B", "--whatif", code=1)
        self.assertFalse([row for row in scarce["whatif"] if "recompute none" in row["change"]])

    def test_trace_and_page_have_the_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder) / "tiny.h5"
            rows = result("workloads/tiny.yaml", "--whatif", "--jobs", "1", "-o", str(trace))["whatif"]
            with h5py.File(trace, "r") as file:
                self.assertEqual(tree(file, "whatif"), rows)
            meshsim("run", "workloads/tiny.yaml", "-o", str(trace))
            with h5py.File(trace, "r") as file:
                self.assertNotIn("whatif", file)
        page = meshsim("run", "workloads/tiny.yaml", "--whatif", "--jobs", "3").stdout
        for row in rows:
            self.assertIn(f"\n{row['change']} ", page)
        self.assertIn("--set 'platform.tiers.nvlink.bandwidth=600 GB/s'", page)

    def test_search_says_the_same_of_its_best(self):
        space = ["--vary", "mesh.tp=1,2,4", "--vary", "mesh.pp=1,2", "--set", "batch.global=32", "--json"]
        found = json.loads(meshsim("search", "workloads/tiny.yaml", *space, "--whatif").stdout)
        settings = {key: f"[{', '.join(value)}]" if isinstance(value, list) else value for key, value in found["results"][0]["settings"].items()}
        alone = result("workloads/tiny.yaml", "--set", "batch.global=32", *sets(settings), "--whatif")
        self.assertGreater(len(found["whatif"]), 3)
        self.assertEqual(found["whatif"], alone["whatif"])
        self.assertNotIn("whatif", json.loads(meshsim("search", "workloads/tiny.yaml", *space).stdout))

    def test_usage(self):
        self.assertIn("--whatif, too", meshsim("run", "workloads/tiny.yaml", "--jobs", "2", code=2).stderr)
        self.assertIn("--fold bounded", meshsim("run", "workloads/tiny.yaml", "--whatif", "--fold", "bounded", code=2).stderr)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
