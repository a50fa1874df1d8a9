#!/usr/bin/env python3
"""What `meshsim check` proposes for a job that does not fit in memory: every proposal is typed as it is printed.

usage: test_fitting_change.py PROGRAM
"""
# ctest: 2 parts

import json
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from parts import load_tests  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(sys.argv.pop(1)).resolve()
TIMEOUT_S = 300
HEAD = "--set "

# DeepSeek-V3's layers (arXiv 2412.19437, section 4.2), four times as many: 2.7 trillion parameters
EXPERTS = """
platform: {file: dgx-h100, nodes: %d}
model:
  type: llama
  layers: 244
  hidden: 7168
  heads: 128
  ffn: 18432
  vocab: 129280
  sequence: 4096
  mla: {q_rank: 1536, kv_rank: 512, qk_nope: 128, qk_rope: 64, v_dim: 128}
  moe: {experts: 256, top_k: 8, ffn: 2048, shared_experts: 1, first_dense_layers: 3}
mesh: {dp: %d}
batch: {global: 4096}
"""


class FittingChange(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def check(self, workload, *words, code=None):
        done = subprocess.run(
            [PROGRAM, "check", workload, *words], cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        if code is not None:
            self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done

    def write(self, text):
        path = self.folder / "job.yaml"
        path.write_text(text)
        return path

    def assert_proposals_hold(self, workload, *words):
        """Type each line of the page's that begins with --set; returns the sets of the smallest change."""
        page = self.check(workload, *words, code=1).stdout
        tree = json.loads(self.check(workload, *words, "--json", code=1).stdout)
        lines = [re.sub("^change +", "", line) for line in re.sub(r" \\\n +", " ", page).splitlines()]
        commands = [shlex.split(line.split("  ")[0]) for line in lines if line.startswith(HEAD)]
        self.assertEqual(len(commands), len(tree["memory_options"]) + 1, page)
        for command, option in zip(commands, tree["memory_options"]):
            self.assertEqual(shlex.split(option["setting"]), command)
            then = json.loads(self.check(workload, *words, *command, "--json", code=0 if option["fits"] else 1).stdout)
            self.assertEqual(then["memory"]["peak_B"], option["peak_B"], command)
            self.assertEqual(then["gpus"], tree["gpus"])
        change = tree["fitting_change"]
        self.assertEqual(commands[-1], [word for one in change["sets"] for word in ("--set", one)])
        self.assertEqual(commands[-1], shlex.split(change["setting"]))
        then = json.loads(self.check(workload, *words, *commands[-1], "--json", code=0).stdout)
        self.assertTrue(then["memory"]["fits"])
        self.assertEqual(then["memory"]["peak_B"], change["peak_B"])
        self.assertEqual(then["estimate"]["step_time_s"], change["step_time_s"])
        self.assertEqual((then["gpus"], then["global_batch"]), (tree["gpus"], tree["global_batch"]))
        searched = re.compile(r"mesh\.|batch\.microb|data_parallel\.(zero|reduce)|recompute=|tensor_parallel|pipeline")
        for command, option in zip(commands, tree["memory_options"]):
            if option["fits"] and all(searched.match(one) for one in command[1::2]):
                self.assertLessEqual(len(change["sets"]), len(command) // 2, command)
        return change["sets"]

    def test_dense_on_too_few_stages(self):
        # two stages of GPT-3 hold 175e9 / 16 parameters of 18 bytes each, 183 GiB
        sets = self.assert_proposals_hold(ROOT / "workloads/gpt3-175b-1024.yaml", "--set", "mesh.pp=2", "--set", "mesh.dp=64")
        self.assertTrue(sets)

    def test_experts_that_need_terabytes(self):
        # 2.7e12 parameters of 16 bytes over 1024 GPUs are 42 GB each, if all axes share them
        sets = self.assert_proposals_hold(self.write(EXPERTS % (128, 1024)))
        keys = {one.split("=")[0] for one in sets}
        self.assertTrue(keys & {"mesh.tp", "mesh.pp", "mesh.ep"}, sets)

    def test_choices_of_the_framework_follow_the_mesh(self):
        # what the framework chooses for several tp or pp ranks is taken back with one, and there again with more
        quarter = EXPERTS.replace("layers: 244", "layers: 61")
        self.assert_proposals_hold(self.write(quarter % (128, 1024)), "--set", "framework=megatron-core")

    def test_experts_on_a_mesh_of_their_own(self):
        text = EXPERTS.replace("mesh: {dp: %d}", "mesh: {dp: %d, tp: 2, order: [pp, dp, tp]}\nexpert_mesh: {ep: 2}\ntensor_parallel: {sequence: true}") % (128, 512)
        self.assert_proposals_hold(self.write(text))

    def test_microbatches_follow_the_replicas(self):
        self.assert_proposals_hold(
            ROOT / "workloads/textbook-70b-64.yaml", "--set", "mesh.pp=1", "--set", "mesh.dp=8", "--set", "batch.global=null", "--set", "batch.microbatches=8"
        )

    def test_layers_of_stages_are_those_of_other_stages(self):
        self.assert_proposals_hold(ROOT / "workloads/deepseek-v3-2048.yaml", "--set", "platform.gpu.hbm=34 GB")

    def test_single_changes_as_they_are_typed(self):
        self.assert_proposals_hold(ROOT / "workloads/tiny.yaml", "--set", "platform.gpu.hbm=1GiB", "--set", "platform.gpu.reserve=0B")

    def test_nothing_fits(self):
        # 42 TB of states on 8 GPUs of 80 GB
        workload = self.write(EXPERTS % (1, 8))
        page = self.check(workload, code=1).stdout
        tree = json.loads(self.check(workload, "--json", code=1).stdout)
        self.assertIsNone(tree["fitting_change"])
        self.assertIn("smallest peak (no change fits)", page)
        self.assertGreater(tree["smallest_peak_B"], 2.6e12 * 16 / 8)
        self.assertLess(tree["smallest_peak_B"], min(option["peak_B"] for option in tree["memory_options"]) * (1 + 1e-9))
        self.assertIn("no change fits", self.check(workload, "--markdown", code=1).stdout)

    def test_a_job_that_fits_needs_no_change(self):
        tree = json.loads(self.check(ROOT / "workloads/tiny.yaml", "--json", code=0).stdout)
        self.assertIsNone(tree["fitting_change"])
        self.assertNotIn("smallest_peak_B", tree)


if __name__ == "__main__":
    unittest.main()
