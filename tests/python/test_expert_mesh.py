#!/usr/bin/env python3
"""Experts on a mesh of their own: what it shares with ep as an axis is the same to the last bit, the rest is by hand.

usage: tests/python/test_expert_mesh.py MESHSIM [unittest arguments]
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""

# DeepSeek-like: latent attention, a shared expert, one dense layer
BASE = """
platform: {{file: dgx-h100, nodes: {nodes}}}
model: {{type: llama, layers: 8, hidden: 1024, heads: 16, ffn: 4096, vocab: 32000, sequence: 2048,
  mla: {{q_rank: 256, kv_rank: 128, qk_nope: 64, qk_rope: 32, v_dim: 64}},
  moe: {{experts: 32, top_k: 4, ffn: 512, shared_experts: 1, first_dense_layers: 1}}}}
tensor_parallel: {{sequence: true}}
batch: {{global: {batch}}}
"""
COPIES = 2048 // 2 * 4  # tokens of a tp rank, experts of each
COPY_B = 1024 * 2
EXPERT_PARAMETERS = 3 * 1024 * 512 * 32 // 16  # of a layer on a rank
ECHOES = ("workload", "mesh", "expert_mesh", "order", "mesh_tiers", "expert_mesh_tiers", "engine")


def run(text, *words):
    """The result of a workload, or what was said about it."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([PROGRAM, "run", file.name, "--json", *words], cwd=ROOT, capture_output=True, text=True,
                              check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def folded(nodes, *words, extra=""):
    """Result with tp 2, pp 4 and ep 16 over `nodes` nodes."""
    dp = nodes  # 8 GPUs a node, pp 4 x tp 2
    return run(BASE.format(nodes=nodes, batch=8 * dp) + f"mesh: {{pp: 4, dp: {dp}, tp: 2, order: [pp, dp, tp]}}\n" + extra, *words)


class ExpertMesh(unittest.TestCase):
    def test_ep_as_an_axis_is_one_case(self):
        for extra in ("", "data_parallel: {zero: 1}\n", "data_parallel: {zero: 3, overlap_gather: true, overlap_reduce: true}\n",
                      "schedule: {kind: interleaved, v: 2}\nrecompute: selective\n"):
            for words in ((), ("--no-fold",), ("--fidelity", "analytic")):
                with self.subTest(extra, words=words):
                    axis = run(BASE.format(nodes=16, batch=128) + "mesh: {pp: 4, dp: 2, ep: 8, tp: 2, order: [pp, dp, ep, tp]}\n" + extra,
                               *words)
                    own = folded(16, *words, extra=extra + "expert_mesh: {ep: 8, tp: 2}\n")
                    for result in (axis, own):
                        self.assertIsInstance(result, dict, result)
                        for key in ECHOES:
                            result.pop(key, None)
                    self.assertEqual(axis, own)

    def test_bytes_by_hand(self):
        for nodes, replicas in ((8, 1), (16, 2)):
            with self.subTest(nodes=nodes):
                result = folded(nodes, extra="expert_mesh: {ep: 16}\ndata_parallel: {zero: 1}\n")
                self.assertEqual(result["expert_mesh"], {"pp": 4, "dp": replicas, "ep": 16, "tp": 1})
                # 7 layers on 4 stages, there and back in both passes, 8 microbatches; (n - 1)/n of the buffer
                sent_B = 7 / 4 * 4 * 8 * COPIES * COPY_B * 15 / 16
                self.assertAlmostEqual(result["comm"]["ep"]["bytes_per_rank"], sent_B, delta=1)
                reduced = [row for row in result["collectives"] if row["axis"] == "dp" and row["kind"] == "reduce_scatter"
                           and row["size_B"] in (4 * EXPERT_PARAMETERS, 8 * EXPERT_PARAMETERS)]
                self.assertEqual(len(reduced), 0 if replicas == 1 else 2, "stages of one and of two layers with experts")

    def test_memory_by_hand(self):
        one, two = (folded(nodes, extra="expert_mesh: {ep: 16}\ndata_parallel: {zero: 1}\n")["memory"] for nodes in (8, 16))
        self.assertEqual(one["peak_rank"] * 2, two["peak_rank"])
        # what ZeRO shards twice as finely: of the peak rank's stage two layers' experts stand on 1 and on 2 ranks, the
        # rest on 8 and on 16
        experts = 2 * EXPERT_PARAMETERS if one["peak_rank"] >= 16 else EXPERT_PARAMETERS
        dense = one["parameters_B"] / 2 - experts
        self.assertAlmostEqual(one["optimizer_B"], 12 * (dense / 8 + experts), delta=1)
        self.assertAlmostEqual(two["optimizer_B"], 12 * (dense / 16 + experts / 2), delta=1)

    def test_fold(self):
        for extra in ("expert_mesh: {ep: 16}\n", "expert_mesh: {ep: 4, tp: 2, order: [pp, ep, dp, tp]}\n"):
            with self.subTest(extra):
                whole, fold = (folded(8, *words, extra=extra) for words in (("--no-fold",), ()))
                self.assertTrue(fold["engine"]["fold_exact"])
                self.assertAlmostEqual(fold["step_time_s"] / whole["step_time_s"], 1, delta=1e-9)

    def test_faults_name_the_place(self):
        for extra, fault in (("expert_mesh: {ep: 5}\n", "ep 5 x tp 1 do not divide the 16 ranks"),
                             ("expert_mesh: {tp: 2}\n", "expected 'ep'"),
                             ("expert_mesh: {ep: 4, order: [dp, pp, ep, tp]}\n", "on pipeline rank"),
                             ("expert_mesh: {ep: 16, etp: 2}\n", "unknown key; did you mean"),
                             ("expert_mesh: {ep: 64}\n", "do not divide")):
            with self.subTest(extra):
                said = folded(8, extra=extra)
                self.assertIn(fault, said)
                self.assertRegex(said, r"\.yaml:\d+:\d+: error: expert_mesh")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
