#!/usr/bin/env python3
"""Random jobs: whatever is asked for is either refused with a message or simulated with sums that hold.

usage: test_random.py MESHSIM [unittest arguments]      MS_SEED replays a run, MS_RUNS says how many jobs
"""
# ctest: 4 parts

import json
import math
import os
import random
import subprocess
import sys
import unittest
from pathlib import Path

from parts import load_tests  # noqa: F401 (unittest looks for it)

ROOT = Path(__file__).resolve().parent.parent.parent
SEED = int(os.environ.get("MS_SEED", random.randrange(2**32)))
RUNS = int(os.environ.get("MS_RUNS", 120))
PROGRAM = ""
# key, values: the first is the most usual
CHOICES = [
    ("schedule.kind", ["1f1b", "gpipe", "interleaved", "interleaved_flexible", "looped_bfs", "zbh1", "zbh2", "zb1p", "zbv", "vhalf", "vmin",
                       "dualpipe", "dualpipev", "chimera", "seq1f1b"]),
    ("schedule.kind", ["zbv", "dualpipe", "dualpipev", "chimera"]),
    ("schedule.v", [1, 2, 3]),
    ("schedule.splits", [2, 4]),
    ("schedule.sends", ["blocking", "async"]),
    ("schedule.overlap", ["serial", "fused"]),
    ("schedule.communication_sms", [20, 0]),
    ("schedule.step_end", ["post_validation", "synchronous"]),
    ("steps", [3, 2, 4]),
    ("batch.micro", [1, 1, 2, 4]),
    ("model.layers", [8, 12, 16, 24, 7]),
    ("model.hidden", [1024, 2048, 512]),
    ("model.sequence", [1024, 512, 4096]),
    ("model.vocab", [51200, 32000, 0, 1]),
    ("model.type", ["gpt", "gpt", "llama"]),
    ("model.ffn", [4096, 1000, 11008]),
    ("model.kv_heads", [16, 4, 2, 1]),
    ("model.attention", ["fused", "unfused"]),
    ("model.tied_embeddings", ["true", "false"]),
    ("recompute", ["none", "full", "selective"]),
    ("recompute_layers", [0, 1, 2]),
    ("tensor_parallel.sequence", ["false", "true"]),
    ("tensor_parallel.overlap", ["none", "bulk", "chunks", "ring"]),
    ("tensor_parallel.style", ["dtensor"]),
    ("model.projections", ["separate", "concatenated", "interleaved"]),
    ("model.complex_rotary", ["true"]),
    ("model.repeat_key_values", ["true"]),
    ("model.loss_metrics", [2]),
    ("model.two_pass_norms", ["true"]),
    ("model.separate_dropout", ["true"]),
    ("model.fused_accumulation", ["false"]),
    ("model.cast_gradients", ["true"]),
    ("model.parallel_block", ["true"]),
    ("model.branch_norms", ["true"]),
    ("model.qk_norm", ["true"]),
    ("model.qk_gains", ["own"]),
    ("model.window_skip_freq", [2]),
    ("model.norm", ["gain"]),
    ("model.post_norms", ["true"]),
    ("model.biases", ["[qkv]", "[attention_output, head]"]),
    ("model.positions", ["alibi"]),
    ("model.mla", ["{q_rank: 256, kv_rank: 128, qk_nope: 64, qk_rope: 32, v_dim: 64}"]),
    ("context_parallel.kind", ["ring", "all_gather", "all_to_all"]),
    ("context_parallel.overlap", ["true", "false"]),
    ("data_parallel.zero", [0, 1, 2, 3]),
    ("data_parallel.shard", ["[dp]", "[dp, cp]"]),
    ("data_parallel.keep_parameters", ["false", "true"]),
    ("data_parallel.gather_stages", [3, 1, 2, 0]),
    ("data_parallel.reduce", ["every", "last", "round"]),
    ("data_parallel.overlap_reduce", ["false", "true"]),
    ("data_parallel.overlap_gather", ["false", "true"]),
    ("data_parallel.bucket", ["0 B", "25 MB"]),
    ("data_parallel.bucketing", ["weights", "capped", "stages", "megatron"]),
    ("data_parallel.units", ["flat", "parameters"]),
    ("data_parallel.all_reduce", ["true"]),
    ("data_parallel.update", ["fused", "separate", "operations"]),
    ("data_parallel.offload", ["false", "true"]),
    ("host.replaces_slow_nodes", ["true"]),
    ("host.launch", ["5 us", "30 us", "200 us"]),
    ("host.sync", ["[messages]", "[norm]", "[messages, norm]", "[kernels]", "[batch]", "[experts]"]),
    ("memory.allocator_overhead", [0, 0.1]),
    ("memory.buffers", ["[prefetched_parameters]", "[last_gradients, main_gradients]", "[gather, weight_gradients]"]),
    ("collectives.algorithms.all_reduce", ["tree", "ring", "auto"]),
    ("model.moe", ["{experts: 8, top_k: 2}", "{experts: 4, top_k: 1, shared_experts: 1, router: eager, imbalance: {spread: 0.5}}"]),
    ("model.mtp_layers", [0, 1]),
    ("pipeline.scatter_gather", ["false", "true"]),
    ("precision.gradients", ["fp32", "bf16"]),
    ("platform.file", ["dgx-h100", "h800"]),
    ("precision.products", ["fp8"]),
    ("precision.scaling", ["rowwise", "blockwise", "current"]),
    ("precision.casts", ["transformer_engine_1", "torch_compile"]),
    ("platform.gpu.spread", [0, 0.08, 0.5]),
    ("platform.slow_nodes", ["{share: 0.5, time: 1.5}"]),
    ("platform.tiers.nvlink.exchange_efficiency", [0.3]),
    ("platform.gpu.kernel_launch", ["2 us", "0 s", "1 ms"]),
    ("platform.gpu.compute_slowdown", [1.3, 2, "{all_reduce: 1.5, p2p: 1.1}", "{all_gather: 1.2, reduce_scatter: 1.2, all_to_all: 2}"]),
    ("platform.tiers.nvlink.latency", ["1.7 us", "0 s", "1 ms"]),
    ("platform.tiers.nvlink.bandwidth", ["300 GB/s", "unlimited", "1 MB/s"]),
    ("platform.tiers.rail.bandwidth", ["200 Gbit/s", "unlimited", "1 Gbit/s"]),
]


def random_job(source):
    """Overrides and options of one job; most fit together."""
    sizes = {"tp": source.choice([1, 2, 4, 8]), "pp": source.choice([1, 2, 3, 4, 8]), "dp": source.choice([1, 2, 4, 6]),
             "cp": source.choice([1, 1, 1, 2, 4]), "ep": source.choice([1, 1, 1, 2])}
    gpus = math.prod(sizes.values())
    nodes = max(1, math.ceil(gpus / 8))
    sets = {f"mesh.{axis}": size for axis, size in sizes.items()}
    sets |= {"mesh.order": f"[{', '.join(source.sample(list(sizes), len(sizes)))}]",
             "platform.nodes": nodes, "platform.node.gpus": math.ceil(gpus / nodes)}
    for key, values in source.sample(CHOICES, source.randrange(0, 11)):
        sets[key] = source.choice(values)
    if sizes["ep"] > 1:
        sets.setdefault("model.moe", "{experts: 8, top_k: 2}")
    if sets.get("model.type") == "llama":
        sets.setdefault("model.ffn", 4096)
    if "precision.products" in sets:
        sets["platform.file"] = "dgx-h100"  # an A100 has no such products
    if "model.moe" in sets or "model.mla" in sets:
        sets["model.bias"] = "false"  # of experts and latents is not built
        sets.pop("model.parallel_block", None)
    if "data_parallel.gather_stages" in sets:
        sets["data_parallel.zero"] = 3
    sets["batch.global"] = sizes["dp"] * sizes["ep"] * int(sets.get("batch.micro", 1)) * source.choice([1, 5, *(k * sizes["pp"] for k in (1, 2, 2, 4))])
    if sets["platform.node.gpus"] < 8:
        sets["platform.node.nics"] = sets["platform.node.gpus"]
    words = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    words += source.choice([[], [], ["--no-fold"]]) + source.choice([[], ["--fidelity", "analytic"], ["--fidelity", "step"]])
    return words


def meshsim(*words):
    """The finished process."""
    return subprocess.run([PROGRAM, *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          text=True, timeout=120)


# what a platform may not say, and bounds of cost and energy need
PRICED = ["--set", "platform.price=2 USD/h", "--set", "platform.node.power=3 kW"]


class Random(unittest.TestCase):
    tried = 0
    simulated = 0
    errors = []  # of estimates, shares of the step: scripts/check_estimate shows how they are spread

    def check_result(self, value):
        step_s = value["step_time_s"]
        self.assertTrue(math.isfinite(step_s) and step_s > 0, step_s)
        self.assertAlmostEqual(sum(value["time_share"].values()), 1, delta=1e-9)
        self.assertAlmostEqual(sum(value["critical_path"].values()), step_s, delta=1e-9 * step_s)
        self.assertGreaterEqual(min(value["time_share"].values()), 0)
        self.assertGreaterEqual(value["idle_fraction"], 0)
        self.assertGreaterEqual(value["compute_slowdown"], 0)  # at most half of what computes, at factor 2
        self.assertLessEqual(value["compute_slowdown"], value["time_share"]["compute"] / 2 + 1e-9)
        for use in value["comm"].values():
            self.assertAlmostEqual(use["busy_s"], use["exposed_s"] + use["overlapped_s"] + use["in_idle_s"],
                                   delta=1e-9 * step_s)
        for tier in value["tiers"].values():
            self.assertLessEqual(tier["peak_use"], 1 + 1e-9)
            self.assertLessEqual(tier["busy_s"], step_s)

    def check_job(self, number):
        """Job `number` of this seed, which does not depend on the others."""
        words = [*random_job(random.Random(f"{SEED} {number}")), *PRICED]
        with self.subTest(f"MS_SEED={SEED}, job {number}: {' '.join(words)}"):
            done = meshsim("run", "workloads/tiny.yaml", "--json", *words)
            Random.tried += 1
            self.assertIn(done.returncode, (0, 1, 3), done.stderr)
            if done.returncode == 3:
                self.assertEqual(done.stdout, "")
                self.assertIn("error: ", done.stderr)
                return
            Random.simulated += 1
            value = json.loads(done.stdout)
            self.check_result(value)
            check = json.loads(meshsim("check", "workloads/tiny.yaml", "--json", *words).stdout)
            self.assertLessEqual(check["estimate"]["lower_bound_s"], value["step_time_s"])
            self.assertLessEqual(check["estimate"]["cost_lower_bound"], value["cost"])
            self.assertLessEqual(check["estimate"]["energy_lower_bound_J"], value["energy_J"])
            self.assertGreater(check["estimate"]["energy_lower_bound_J"], 0)
            error = abs(check["estimate"]["step_time_s"] / value["step_time_s"] - 1)
            self.assertLess(error, 0.3)  # rings and all-to-alls of neighbouring stages that share slow links
            Random.errors.append(error)
            self.assertAlmostEqual(check["memory"]["peak_B"], value["memory"]["peak_B"],
                                   delta=1e-9 * value["memory"]["peak_B"])

    def check_words(self, *words):
        done = meshsim("run", "workloads/tiny.yaml", "--json", *(word for pair in words for word in ("--set", pair)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_result(json.loads(done.stdout))

    def test_gpu_that_never_waits(self):
        """Rounding makes no share of the step less than nothing."""
        for batch in range(1, 17):
            self.check_words("mesh={tp: 1, pp: 1, dp: 1}", "platform.node={gpus: 1, nics: 1}", f"batch.global={batch}")

    def test_links_that_never_rest(self):
        """Of two steps the first is longer; a link is busy all the time, and not longer than the step."""
        self.check_words("steps=2", "mesh={tp: 4, pp: 1, dp: 4}", "platform.nodes=8", "platform.node={gpus: 2, nics: 1}", "platform.fabric.nodes_per_unit=1",
                         "platform.fabric.oversubscription=8", "data_parallel={zero: 3, overlap_gather: true, overlap_reduce: true}",
                         "tensor_parallel.allow_slow=true", "host.launch=5 us", "granularity=pass")

    @classmethod
    def tearDownClass(cls):
        # three in ten are legal: of 30, the smallest part that ctest asks for, none is one run in 40,000
        if cls.tried >= 30 and cls.simulated <= cls.tried / 10 - 3:
            raise AssertionError(f"MS_SEED={SEED}: of {cls.tried} jobs hardly any was legal, {cls.simulated}")
        far = sum(error > 0.15 for error in cls.errors)
        if far > 1 + len(cls.errors) / 100:
            raise AssertionError(f"MS_SEED={SEED}: of {len(cls.errors)} estimates {far} are more than 15 % off")
        if len(cls.errors) >= 10 and sum(cls.errors) > 0.04 * len(cls.errors):
            raise AssertionError(f"MS_SEED={SEED}: estimates are {sum(cls.errors) / len(cls.errors):.3f} off on average")


for run in range(RUNS):
    setattr(Random, f"test_job_{run:04}", lambda self, number=run: self.check_job(number))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
