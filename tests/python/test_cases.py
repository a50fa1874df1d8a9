#!/usr/bin/env python3
"""Cases in Python: rows in the fields format against the workloads that rules make of them, the table of words, files, and damaged files.

The seeds of the damaged files are the kept inputs below tests/fuzz/corpus; MS_SEED replays a run.

usage: test_cases.py MESHSIM [unittest arguments]
"""

import contextlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import replace
from pathlib import Path

import programs
import yaml
from programs import ROOT

sys.path.insert(0, str(ROOT / "scripts/python"))

# pylint: disable=wrong-import-position
from meshsim.tools import cases  # noqa: E402
from meshsim.tools._call import Call, Fault  # noqa: E402
from meshsim.tools.cases import _words  # noqa: E402
from test_importers_damaged import damaged  # noqa: E402

SECONDS = float(os.environ.get("MS_FUZZ_S", "2"))
GPT = "type: gpt, layers: 96, hidden: 12288, heads: 96, ffn: 49152, ffn_mats: 2, vocab: 51200, seq_len: 2048"
LLAMA = "type: llama, layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, ffn_mats: 3, vocab: 128256, seq_len: 8192"
EXPERTS = ("type: moe_mla, layers: 16, hidden: 7168, heads: 128, ffn: 18432, ffn_mats: 3, vocab: 129280, seq_len: 4096, experts: 256, topk: 8, moe_ffn: 2048, "
           "shared_experts: 1, dense_layers: 1, q_lora: 1536, kv_lora: 512, qk_nope: 128, qk_rope: 64, v_dim: 128, mtp_layers: 1")
ROW = {"id": "one", "group": "narayanan21", "num_gpus": "1024", "system": "{gpu: A100-SXM4-80GB, network: 'HDR, Selene'}", "model": "{" + GPT + "}",
       "parallel": "{tp: 8, pp: 16, dp: 8, vpp: 1, sp: false, zero: 0}", "schedule_kind": "1f1b", "recompute_kind": "full", "micro_batch": "1",
       "global_batch": "1536", "score_step_time_s": "2.5"}
ZB = {"group": "zerobubble", "num_gpus": "8", "micro_batch": "6", "global_batch": "144", "parallel": "{tp: 1, pp: 8, vpp: 1, dp: 1}",
      "model": "{type: gpt, layers: 22, hidden: 2304, heads: 24, ffn: 9216, ffn_mats: 2, vocab: 50257, seq_len: 1024}"}
BLOOM = {**ZB, "group": "bloom", "num_gpus": "96", "parallel": "{tp: 8, pp: 12, vpp: 1, dp: 1}",
         "model": "{type: gpt, layers: 78, hidden: 13824, heads: 128, ffn: 55296, ffn_mats: 2, vocab: 250880, seq_len: 2048}"}
TITAN = {"group": "torchtitan", "system": "{gpu: H100-SXM5-80GB}", "model": "{" + LLAMA + "}", "parallel": "{tp: 1, pp: 1, dp: 8, zero: 3}", "num_gpus": "8",
         "global_batch": "8"}
PALM = {"group": "palm", "system": "{gpu: TPU v4}", "global_batch": "2048", "num_gpus": "6144", "parallel": "{tp: 12, pp: 1, dp: 512}",
        "model": "{type: llama, layers: 118, hidden: 18432, heads: 48, kv_heads: 1, head_dim: 256, ffn: 73728, ffn_mats: 3, vocab: 256000, seq_len: 2048}"}
DEEPSEEK = {"group": "dsv3", "system": "{gpu: H800-SXM5-80GB}", "model": "{" + EXPERTS + "}", "parallel": "{tp: 1, pp: 2, vpp: 2, dp: 16, ep: 8}",
            "schedule_kind": "dualpipe", "recompute_kind": "partial", "num_gpus": "32", "global_batch": "128"}
FOLDED = {**DEEPSEEK, "group": "other", "system": "{gpu: H100-SXM5-80GB}", "schedule_kind": "1f1b", "recompute_kind": "none"}
FOLDED_MESH = "{tp: 2, pp: 2, vpp: 1, dp: 8, ep: 8, sp: true%s}"
JOBS = [  # what a row says otherwise than ROW, and what its workload has at some keys (None: nothing)
    ({}, {"framework": "megatron-lm-2021", "platform": {"file": "selene-a100", "nodes": 128}, "placement": None, "mesh": {"pp": 16, "dp": 8, "tp": 8},
          "batch": {"global": 1536}, "schedule": None, "recompute": None, "data_parallel": {"zero": 0}, "tensor_parallel": None,
          "model": {"type": "gpt", "layers": 96, "hidden": 12288, "heads": 96, "vocab": 51200, "sequence": 2048}}),
    # models
    (TITAN, {"model.kernels": None, "model.attention": None, "model.kv_heads": 8, "model.ffn": 14336}),
    ({**TITAN, "notes": "torch.compile"}, {"model.kernels": None}),
    ({**TITAN, "notes": "no torch.compile"}, {"model.kernels": "eager"}),
    ({**TITAN, "parallel": "{tp: 1, pp: 1, dp: 8, zero: 3, reshard: false}"}, {"data_parallel": {"keep_parameters": True}}),
    ({"model": "{" + LLAMA + ", tied: true, bias: true, norm: layer, positions: learned_absolute, alibi: false, parallel_transformer_block: true}"},
     {"model.tied_embeddings": True, "model.bias": True, "model.norm": "layer", "model.positions": "learned", "model.parallel_block": True}),
    ({"model": "{" + GPT + ", positions: rope, parallel_transformer_block: false}"}, {"model.positions": "rotary", "model.parallel_block": None}),
    ({"model": "{" + GPT + ", alibi: true}"}, {"model.positions": "alibi"}),
    ({"model": "{" + GPT.replace("ffn_mats: 2", "ffn_mats: 3") + ", head_dim: 64}"}, {"model.gated": True, "model.head_dim": 64}),
    # attention where the software had none of its own
    ({"notes": "with Flash Attention"}, {"model.attention": "flash1"}), ({"notes": "with FlashAttention-2"}, {"model.attention": "flash2"}),
    ({"notes": "no flash attention"}, {"model.attention": None}), ({"group": "nemo2407", "notes": "flash attention"}, {"model.attention": None}),
    # clusters
    ({"system": "{gpu: V100-SXM3-32GB}", "parallel": "{tp: 1, pp: 1, dp: 1}", "num_gpus": "1", "global_batch": "8"},
     {"platform": {"file": "dgx2-v100", "nodes": 1}, "placement": {"spares": 0}, "mesh": {"dp": 1}}),
    ({"parallel": "{tp: 8, pp: 16, dp: null, cp: 2}", "group": "nemo2407"}, {"mesh": {"pp": 16, "dp": 4, "cp": 2, "tp": 8}}),
    ({"parallel": "{tp: 8, pp: 16, dp: 8, order: [dp, pp, tp]}"}, {"mesh.order": ["dp", "pp", "tp"]}),
    ({"parallel": "{tp: 16, pp: 16, dp: 4}"}, {"tensor_parallel": {"allow_slow": True}}),
    (PALM, {"mesh": {"pod": 2, "dp": 256, "tp": 12, "order": ["pod", "dp", "tp"]}, "data_parallel": {"shard": ["dp"]}, "framework": "t5x"}),
    ({**PALM, "num_gpus": "3072", "parallel": "{tp: 12, pp: 1, dp: 256}"}, {"mesh": {"dp": 256, "tp": 12}, "data_parallel": None}),
    # stages
    ({**ZB, "notes": "first and last stage one layer fewer"}, {"schedule.stage_layers": [2, 3, 3, 3, 3, 3, 3, 2]}),
    ({**ZB, "stage_layers": "[1, 3, 3, 3, 3, 3, 3, 3]"}, {"schedule.stage_layers": [1, 3, 3, 3, 3, 3, 3, 3]}),
    ({**ZB, "schedule_kind": "interleaved", "parallel": "{tp: 1, pp: 4, vpp: 3, dp: 2}"},
     {"schedule": {"kind": "interleaved", "v": 3, "stage_layers": [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1]}}),
    ({**ZB, "schedule_kind": "interleaved"}, {"schedule.kind": "1f1b", "schedule.v": None}),
    ({**ZB, "schedule_kind": "zbh2"}, {"schedule.kind": None}),
    ({**BLOOM, "notes": "'ceil(layers/pp) per stage, remainder on last'"}, {"schedule": {"stage_layers": [7] * 11 + [1]}}),
    ({**BLOOM, "model": BLOOM["model"].replace("78", "13")}, {"schedule": {"partition": "balanced"}}),
    ({"group": "llama3", "schedule_kind": "interleaved", "parallel": "{tp: 8, pp: 8, dp: 16}"}, {"schedule": None}),
    ({"group": "llama3", "schedule_kind": "interleaved", "parallel": "{tp: 8, pp: 16, dp: 8, vpp: 6}"}, {"schedule": {"v": 6, "partition": "even"}}),
    ({"parallel": "{tp: 8, pp: 2, vpp: 1, dp: 1, layout: 'Et*50|t*46mL'}", "num_gpus": "16"}, {"schedule.stage_layers": [50, 46]}),
    # experts
    (DEEPSEEK, {"mesh": {"pp": 2, "dp": 2, "ep": 8, "order": ["pp", "dp", "ep"]}, "expert_mesh": None, "recompute_parts": None, "schedule": None,
                "model.moe": {"experts": 256, "top_k": 8, "ffn": 2048, "shared_experts": 1, "first_dense_layers": 1},
                "model.mla": {"q_rank": 1536, "kv_rank": 512, "qk_nope": 128, "qk_rope": 64, "v_dim": 128}, "model.mtp_layers": 1}),
    ({**FOLDED, "parallel": FOLDED_MESH % ", etp: 1"}, {"expert_mesh": {"ep": 8}, "tensor_parallel.sequence": True}),
    ({**FOLDED, "parallel": FOLDED_MESH % ""}, {"expert_mesh": {"ep": 8, "tp": 2}}),  # Megatron-LM's default is tp
    ({**FOLDED, "parallel": (FOLDED_MESH % "").replace("ep: 8", "ep: 16")}, {"expert_mesh": {"ep": 16}}),  # and here there is no room for it
    ({**FOLDED, "model": "{" + EXPERTS.replace("shared_experts: 1", "shared_ffn: 4096") + "}"}, {"model.moe.shared_experts": 1, "model.moe.shared_ffn": 4096}),
    # what is recomputed
    ({"group": "korthikanti22", "recompute_kind": "selective"}, {"recompute": "selective"}), ({"group": "korthikanti22", "recompute_kind": "none"}, {"recompute": "none"}),
    ({"group": "korthikanti22", "recompute_kind": "unstated"}, {"recompute": None}), ({"recompute_kind": "null"}, {"recompute": None}),
    ({"recompute_kind": "partial", "recompute": "RMSNorm and SwiGLU"}, {"recompute": "none", "recompute_parts": ["norms", "activations"]}),
    ({**TITAN, "recompute_kind": "selective"}, {"recompute": None, "recompute_parts": None}), ({**TITAN, "recompute_kind": "full"}, {"recompute": "full", "recompute_parts": []}),
    # types
    ({**TITAN, "precision": "fp8 rowwise"}, {"precision": {"products": "fp8", "scaling": "rowwise", "tensor_gathers": "parameters", "parameter_gathers": "parameters"}}),
    ({**TITAN, "precision": "fp8 tensorwise"}, {"precision": {"products": "fp8"}}), ({**TITAN, "precision": "bf16"}, {"precision": None}),
    ({**TITAN, "system": "{gpu: B200}", "precision": "mxfp8"}, {"precision": {"products": "mxfp8"}}), ({"precision": "fp8"}, {"precision": None}),
    ({**TITAN, "group": "mpt", "precision": "amp_bf16"}, {"precision": {"gradients": "fp32"}}), ({**TITAN, "group": "mpt", "precision": "bf16"}, {"precision": None}),
    ({"group": "bloom", "precision": "fp16"}, {"framework": "bloom-fp16"}),
    ({"group": "bloom", "precision": "bf16", "notes": "0 + BF16 optimizer"}, {"framework": "bloom", "data_parallel": None, "memory": {"buffers": ["last_gradients"]}}),
    # a layer alone
    ({"schedule_kind": "layer", "num_gpus": "8", "parallel": "{tp: 8, pp: 1, dp: 1}", "global_batch": "1"},
     {"model.vocab": 0, "model.tied_embeddings": False, "model.positions": "rotary", "data_parallel.zero": 0}),
]
DIFFERS = [({"system": "{gpu: MI300X, nic_gbit_s_per_gpu: 100}"}, "bandwidth is the platform's"), ({"precision": "fp8"}, "the GPU has none"), ({"notes": "async TP"}, "asynchronous tp"),
           ({"model": "{" + GPT + ", sliding_window_attention: yes}"}, "not to a window"), ({**DEEPSEEK, "model": "{" + EXPERTS + ", bias: true}"}, "without biases"),
           ({"zygote": "{a: 1}", "model": "{" + GPT + ", wobble: 3}"}, "no rule for zygote, model.wobble")]
REASONS = [
    ({"micro_batch": "null"}, "micro_batch is not published"), ({"parallel": "{tp: 8, pp: null, dp: null}"}, "parallel.pp is not published"),
    ({"parallel": "{tp: 8, pp: 10, dp: null}"}, "parallel.dp is not published"), ({"system": "{gpu: MI250X}"}, "no platform for a GPU 'MI250X'"),
    ({"system": "{gpu: null}"}, "GPU type, model type or schedule is not published"), ({"system": "{gpu: A100-PCIe-80GB}"}, "no platform for a GPU 'A100-PCIe-80GB'"),
    ({"parallel": "{tp: 8, pp: 16, dp: 4}"}, "the mesh has 512 ranks, and num_gpus is 1024"), ({"schedule_kind": "spiral"}, "schedule 'spiral' is not built"),
    ({"recompute_kind": "some"}, "which parts 'some' recomputes is not known"), ({"recompute_kind": "partial"}, "which parts 'partial' recomputes is not known"),
    ({"schedule_kind": "interleaved", "parallel": "{tp: 8, pp: 16, dp: 8}"}, "parallel.vpp is not published"),
    ({"micro_batch": "3", "global_batch": "1535"}, "a batch of 1535 is no multiple of 3 sequences on 8 replicas"),
    ({"parallel": "{tp: 8, pp: 16, dp: 8, layout: Et|t}"}, "parallel.layout 'Et|t' does not give 96 layers to 16 stages"),
    ({"parallel": "{tp: 8, pp: 16, dp: 8, order: [pp, xp]}"}, "parallel.order names an axis 'xp' that is not known"),
    ({"model": "{" + GPT.replace("heads: 96", "heads: 97") + "}"}, "model.head_dim is not published, and 97 heads do not divide 12288"),
    ({"model": "{" + GPT + ", experts: 8}"}, "model.topk or model.moe_ffn is not published"),
    ({**DEEPSEEK, "parallel": "{tp: 1, pp: 2, dp: 16, ep: 3}"}, "3 expert-parallel ranks do not divide 16 replicas"),
    ({"parallel": "{tp: 8, pp: 16, dp: 8, vpp: 9999}", "schedule_kind": "interleaved"}, "159984 stages; at most 100000 are supported"),
    ({"args": "[--num-layers 8, --tensor-model-parallel-size 3]"}, "args: "), ({"args": "[--num-layers 8]", "num_gpus": "null"}, "num_gpus is not published"),
]
CLUSTERS = [  # a system of 64 GPUs, and its platform: file, GPU type, nodes, GPUs and NICs of a node, changed rates
    ("gpu: A100-SXM4-40GB, network: RoCE", "dgx-a100", "a100-sxm4-40gb", 8, None, None),
    ("gpu: A100-SXM4, network: 'DGX A100 SuperPOD, HDR IB'", "dgx-a100", "a100-sxm4-40gb", 8, None, None),
    ("gpu: A100-SXM4-80GB, network: 'DGX A100 SuperPOD, HDR IB'", "dgx-a100", None, 8, None, None),
    ("gpu: A100-SXM4-80GB, network: Omni-Path", "jean-zay-a100", None, 8, None, None), ("gpu: A100, network: 4x HDR200", "hdr4-a100", None, 8, None, None), ("gpu: a100", "dgx-a100", None, 8, None, None),
    ("gpu: 'A100-class Ampere (\"NVIDIA Ampere GPUs\")', network: '3-layer Clos, Tomahawk 4 switches'", "bytedance-a100", None, 8, None, None),
    ("gpu: H100-SXM5-80GB 700W, network: RoCE 400G", "meta-roce-h100", None, 8, None, None), ("gpu: H100-SXM5-80GB", "dgx-h100", None, 8, None, None),
    ("gpu: H100-SXM5 96GB HBM2e 500W cap, network: RDMA", "meta-roce-h100", "h100-sxm5-96gb", 8, None, None), ("gpu: H200-SXM5-141GB", "dgx-h200", None, 8, None, None),
    ("gpu: B200-SXM6", "dgx-b200", None, 8, None, None), ("gpu: B200, network: EFA 400G", "p6-b200", None, 8, None, None), ("gpu: GB200", "gb200-nvl72", None, 1, None, None),
    ("gpu: MI300X", "mi300x", None, 8, None, None), ("gpu: A100 80GB, nic_gbit_s_per_gpu: 50", "dgx-a100", None, 8, None, {"rail": "6.25 GB/s", "spine": "6.25 GB/s"}),
    ("gpu: A100 80GB, nic_gbit_s_per_gpu: 198.4", "dgx-a100", None, 8, None, None),  # rounded
    ("gpu: A100 80GB, gpus_per_node: 4", "dgx-a100", None, 16, {"gpus": 4, "nics": 4}, None), ("gpu: A800-SXM4-80GB", "dgx-a100", None, 8, None, {"nvlink": "200 GB/s"}),
    ("gpu: A100 80GB, nvlink_gb_s_per_dir: 150", "dgx-a100", None, 8, None, {"nvlink": "150 GB/s"}),
    ("gpu: V100-SXM2, gpus_per_node: 8, nic_gbit_s_per_gpu: 100", "dgx2-v100", None, 8, {"gpus": 8, "nics": 4}, {"rail": "25 GB/s", "spine": "25 GB/s"}),
    ("gpu: GB200, gpus_per_node: 4", "gb200-nvl72", None, 1, None, None),  # a tray is no domain of NVLink
    ("gpu: GB200, gpus_per_node: 4, nvlink_domain_gpus: 32", "gb200-nvl72", None, 2, {"gpus": 32, "nics": 32}, None),
]
FRAMEWORKS = [  # of a row of no known group, and the profile of its software
    ({}, "megatron-core"), ({"system": "{gpu: V100-SXM2}"}, "megatron-lm-2020"), ({"source": "'Using DeepSpeed and Megatron (2201.11990)'"}, "megatron-deepspeed"),
    ({"precision": "fp16", "source": "Megatron-DeepSpeed 2021"}, "megatron-deepspeed-fp16"), ({"source": "MLPerf Training 3.1 2023-11"}, "nemo-2024"),
    ({"source": "X et al. 2022", "url": "'https://arxiv.org/abs/2201.11990v3'"}, "megatron-lm-2021"), ({"source": "X et al. 2022"}, "megatron-lm-2022"),
    ({"source": "X 2023-12"}, "megatron-lm-2023"), ({"source": "results (2020-21)"}, "megatron-lm-2020"), ({"source": "X 2024-03", "provenance": "at 2021ab"}, "megatron-core"),
    ({"source": "2048 GPUs at 20.21 s"}, "megatron-core"), ({"source": "NeMo 24.07"}, "nemo-2024"), ({"source": "NeMo 25.02"}, "nemo"),
    ({"source": "nvidia/DGXC-benchmarking of DeepSeek-V3"}, "nemo"), ({"source": "DeepSpeed 2023"}, "deepspeed"), ({"system": "{gpu: TPU v4}"}, "t5x"),
    ({"framework": "simumax", "source": "NeMo"}, "simumax"), ({"group": "megascale"}, "megatron-lm-2023"),
    ({"group": "megascale", "model": "{" + GPT + ", parallel_transformer_block: true}"}, "megascale"),
    *[({"parallel": "{tp: 1, pp: 1, dp: 1024, zero: 3}", **more}, name) for more, name in (
        ({}, "torchtitan"), ({"source": "X et al. 2023"}, "composer"), ({"source": "X 2025-02"}, "torchtitan"), ({"source": "X 2026"}, "torchtitan-2025"), ({"source": "X 2021"}, "deepspeed"))],
    # the day on which a row was read is not that of its software; the one of the commit that it was read from is
    ({"source": "X et al. 2022", "provenance": "read 2026-11-27"}, "megatron-lm-2022"), ({"provenance": "read 2026-11-27"}, "megatron-core"),
    ({"source": "X et al. 2022", "software_date": "2021-02"}, "megatron-lm-2021"), ({"source": "X 2026", "software_date": "2023-08-01"}, "megatron-lm-2023"),
    ({"group": "megatron_ci", "provenance": "a/golden.json at 93ebf8d72f (2025-09-30)"}, "megatron-core-2025"),
    ({"group": "megatron_ci", "provenance": "a/golden.json at 93ebf8d72f (2025-10-02)"}, "megatron-core"),
]


def text_of(row, changes=None):
    """A row of a file of cases."""
    keys = {**row, **(changes or {})}
    return "- {" + ", ".join(f"{key}: {value}" for key, value in keys.items()) + "}\n"


def at(tree, path):
    """What stands at a dotted path; None: nothing."""
    for word in path.split("."):
        tree = tree.get(word) if isinstance(tree, dict) else None
    return tree


class Cases(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.call = Call(Path(programs.ProgramTest.program), "validate")
        self.words = cases.Words(self.call, [])

    def read(self, text, name="cases.yaml", found=None):
        """The cases of a text, and what is told of it."""
        path, found, said = self.folder / name, [] if found is None else found, io.StringIO()
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with contextlib.redirect_stderr(said):
            try:
                cases.read(self.call, str(path), found)
            except Fault:
                self.assertGreater(self.call.talk.errors, 0)
        return found, said.getvalue()

    def case(self, changes, words=None):
        """The one case of ROW with other words, translated."""
        (found,), said = self.read(text_of(ROW, changes))
        self.assertEqual(said, "")
        cases.translate(self.call, found, words or self.words)
        return found


class Rules(Cases):
    def test_rows_become_workloads(self):
        for changes, wanted in JOBS:
            with self.subTest(changes=changes):
                found = self.case(changes)
                self.assertIsNone(found.reason)
                self.assertEqual({path: at(found.workload, path) for path in wanted}, wanted)
                done = subprocess.run([self.call.program, "check", "/dev/stdin", "--json"], input=json.dumps(found.workload), capture_output=True, text=True, check=False)
                self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_what_is_not_published_is_a_reason(self):
        for changes, reason in REASONS:
            with self.subTest(changes=changes):
                found = self.case(changes)
                self.assertIsNone(found.workload)
                self.assertTrue(found.reason == reason or reason == "args: " and found.reason.startswith(reason), found.reason)

    def test_what_is_simulated_otherwise_is_told(self):
        for changes, words in DIFFERS:
            with self.subTest(changes=changes):
                self.assertIn(words, "; ".join(self.case(changes).differs))
        self.assertEqual(self.case({}).differs, [])

    def test_clusters_go_by_gpu_and_network(self):
        for system, file, gpu, nodes, node, rates in CLUSTERS:
            with self.subTest(system=system):
                found = self.case({"system": "{" + system + "}", "num_gpus": "64", "parallel": "{tp: 1, pp: 1, dp: 64}", "global_batch": "64"}).workload["platform"]
                self.assertEqual((found["file"], found.get("gpu"), found["nodes"], found.get("node")), (file, {"type": gpu} if gpu else None, nodes, node))
                self.assertEqual({name: tier["bandwidth"] for name, tier in found.get("tiers", {}).items()}, rates or {})
        self.assertIsNone(cases.find_platform(self.call, self.words, "MI250X", "any", 8))
        self.assertIsNone(cases.find_platform(self.call, self.words, "v100", "vTrain", 8))  # no name of a product
        self.assertEqual(cases.find_platform(self.call, self.words, "DGX H100", "a table of it", 20), {"file": "dgx-h100", "nodes": 3})

    def test_software_goes_by_group_source_and_date(self):
        for changes, framework in FRAMEWORKS:
            with self.subTest(changes=changes):
                self.assertEqual(self.case({"group": "unknown", **changes}).framework, framework)

    def test_a_profile_that_is_not_there_is_told_at_its_case(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(Fault):
            self.case({"framework": "nimo"})
        self.assertIn("cases.yaml:1:3: error: one: framework: no framework 'nimo'; did you mean", said.getvalue())

    def test_arguments_say_the_job_but_gpus_vocabulary_and_cluster(self):
        words = ("--num-layers 16, --hidden-size 2048, --num-attention-heads 16, --seq-length 4096, --micro-batch-size 2, --global-batch-size 32, --bf16, "
                 "--tensor-model-parallel-size 2, --sequence-parallel, --use-distributed-optimizer, --cuda-graph-impl local, --wobble 3, env NVTE_FUSED_ATTN=1")
        found = self.case({"group": "megatron_ci", "num_gpus": "8", "system": "{gpu: H100-SXM5-80GB}", "args": f"[{words}]"})
        self.assertEqual((found.reason, found.framework, found.use), (None, "megatron-core", "apart"))
        self.assertEqual((found.workload["mesh"]["dp"], found.workload["mesh"]["tp"], found.workload["model"]["vocab"]), (4, 2, 51200))
        self.assertEqual(found.workload["batch"], {"micro": 2, "global": 32})
        self.assertEqual(found.differs, ["CUDA graphs hold no memory of their own", "no rule for --wobble"])


    def test_workloads_of_rows_with_arguments_are_what_these_say(self):
        """Of every fourth run of Megatron-LM's own tests: the written workload is the one that its arguments make."""
        call, found = self.call, []
        path = ROOT / "workloads/validation/megatron_ci.yaml"
        rows = {row["id"]: row for row in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) if "workload" in row}
        cases.read(call, str(path), found)
        self.assertEqual((len(found), len(rows)), (53, 52))
        for one in [one for one in found if one.workload][::4]:
            row = rows[one.id]
            args = {key: row[key] for key in ("args", "num_gpus", "system")}
            other = replace(one, workload=None, differs=[], fields={**args, "group": one.group, "model": {"vocab": one.workload["model"]["vocab"]}, "framework": one.framework})
            cases.translate(call, other, self.words)
            name = {"model": {**other.workload["model"], "name": one.workload["model"]["name"]}}
            self.assertEqual(self.laid_out(other.workload | name), self.laid_out(one.workload), one.id)
            self.assertEqual(other.differs, one.differs, one.id)

    def laid_out(self, workload):
        done = subprocess.run([self.call.program, "check", "/dev/stdin", "--effective", "--json"], input=json.dumps(workload), capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["laid_out"]


class Table(Cases):
    """The table of words."""

    def test_each_use_of_a_word_is_told(self):
        found = self.case({"group": "other", "source": "X 2021-04", "notes": "with FlashAttention; async TP", "precision": "fp16"})
        self.assertEqual(found.assumptions, ["software of 2021-04: framework megatron-lm-2021", "notes 'FlashAttention', attention unfused: model.attention flash1",
                                             "gpu 'A100', network 'Selene': platform selene-a100"])

    def test_a_users_lines_stand_in_front(self):
        (self.folder / "own.yaml").write_text("clusters: [{when: {gpu: MI250X}, platform: mi300x}]\nchoices: [{when: {notes: warm}, set: {host.launch: 9 us}}]\n", encoding="utf-8")
        words = cases.Words(self.call, [str(self.folder / "own.yaml")])
        found = self.case({"system": "{gpu: MI250X}", "notes": "Warm start"}, words)
        self.assertEqual((found.workload["platform"]["file"], found.workload["host"]), ("mi300x", {"launch": "9 us"}))
        self.assertIn("notes 'warm': host.launch 9 us", found.assumptions)

    def test_faults_of_a_users_table_are_told_with_their_place(self):
        for text, message in (("- 1\n", "own.yaml:1:1: error: expected lists named"), ("cluster: []\n", "own.yaml:1:1: error: expected lists named"),
                              ("clusters: [{when: {gpu: x}}]\n", "expected 'when' and of platform"), ("clusters: [{when: {gpu: x}, patform: y}]\n", "own.yaml:1:29: error: "),
                              ("clusters: [{when: {gpo: x}, platform: y}]\n", "own.yaml:1:20: error: expected a condition of group"),
                              ("choices: [{when: {}, set: 3}]\n", "own.yaml:1:22: error: "), ("choices: [7]\n", "error: expected 'when'"), ("a: [\n", "not valid YAML")):
            said = io.StringIO()
            (self.folder / "own.yaml").write_text(text, encoding="utf-8")
            with self.subTest(text=text), contextlib.redirect_stderr(said), self.assertRaises(Fault):
                cases.Words(self.call, [str(self.folder / "own.yaml")])
            self.assertIn(message, said.getvalue())

    def test_dates_are_read_from_sources(self):
        for text, month in (("2201.11990", "2022-01"), ("X 2024-12", "2024-12"), ("X et al. 2024", "2024-06"), ("24.07", "2024-07"), ("2048", None), ("ab2021", None),
                            ("2021.5", None), ("v25.04.02", None), ("99.07", None), ("2024-13", "2024-06"), ("2024-12-01", "2024-12")):
            self.assertEqual(_words.month_of({"source": text}), month, text)


class Files(Cases):
    def test_figures_are_read_with_the_unit_of_their_name(self):
        for changes, wanted in (({"measured": "{peak_memory_gb: 30, mfu_pct: 41.5, memory_note: 29GB}"}, {"step_s": 2.5, "peak_B": 30e9, "is_allocated": False, "low_s": None}),
                                ({"group": "megatron_ci", "score_peak_alloc_bytes": "1000", "measured": "{rank: last, peak_alloc_bytes: 999, alloc_between_steps_bytes: 500}"},
                                 {"peak_B": 1000, "static_B": 500, "is_allocated": True, "is_last_rank": True, "is_device": False}),
                                ({"measured": "{peak_memory_gb_approx: 59}"}, {"peak_B": 59e9, "is_device": True, "is_allocated": False}),
                                ({"schedule_kind": "layer", "measured": "{fwd_ms: 7.7, bwd_ms_incl_recompute: 11.9, combined_ms: 19.6, peak_alloc_gib: 2}"},
                                 {"forward_s": 7.7e-3, "backward_s": 11.9e-3, "layer_s": 19.6 * 1e-3, "peak_B": 2 * 2**30}),
                                ({"measured": "{step_time_s_derived_causal: 10.9, step_time_s_derived_noncausal: 15.28}"}, {"low_s": 10.9, "high_s": 15.28}),
                                ({"measured": "{step_time_s_derived_causal: 6.461, step_time_s_derived_noncausal: 6.721}"}, {"low_s": None, "high_s": None}),
                                ({"measured": "{t_1F_s: 1.13, t_opt_s: 0.29}"}, {"phase_s": {"1F": 1.13, "optimizer": 0.29}})):
            with self.subTest(changes=changes):
                found = self.case(changes).measured
                self.assertEqual({key: getattr(found, key) for key in wanted}, wanted)

    def test_rows_may_have_a_workload_of_their_own(self):
        found, said = self.read("- {id: a, group: g, use: apart, workload: {framework: nemo, mesh: {dp: 8}, host: {launch: 9 us}, name: \"8\"}, differs: [x], recompute_kind: unstated,\n"
                                "   measured: {peak_memory_gb: 3}, system: {gpu: any words}, score_step_time_s: 2, zygote: 1}\n"
                                "- {id: b, group: g, skipped: nobody says how many GPUs, num_gpus_candidates: [8, 16]}\n")
        self.assertEqual(said, "")
        for one in found:
            cases.translate(self.call, one, self.words)
        self.assertEqual(found[0].workload, {"framework": "nemo", "mesh": {"dp": 8}, "host": {"launch": "9 us"}, "name": "8"})
        self.assertEqual((found[0].framework, found[0].use, found[0].recompute_is_stated, found[0].differs), ("nemo", "apart", False, ["no rule for zygote", "x"]))
        self.assertEqual((found[1].workload, found[1].reason), (None, "nobody says how many GPUs"))
        self.assertIn("cases.yaml:1:31: error: a.workload: expected a workload", self.read("- {id: a, group: g, workload: 3}\n")[1])

    def test_tables_are_read(self):
        head = ("# units: ms\n# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data parallelism,"
                "pipeline parallelism,iteration time (ms)\n")
        (found,), said = self.read(head + "8,4,1,1024,16,16,1024,1,2,4,77.216619\n", "steps.csv")
        cases.translate(self.call, found, self.words)
        self.assertEqual((said, found.id, found.use, found.measured.step_s, found.workload["mesh"]), ("", "single_node_3", "apart", 77.216619e-3, {"pp": 4, "dp": 2}))
        self.assertFalse(cases.read(self.call, str(self.write("gpu,ranks,bytes,time_us_out_of_place\n", "r.csv")), []))
        for line in ("8,4,1\n", "8,4,1.5,1024,16,16,1024,1,2,4,7\n", "8,4,1,1024,16,16,1024,1,2,4,0\n"):
            self.assertIn("steps.csv:3: error: expected ", self.read(head + line, "steps.csv")[1])
        self.assertFalse(cases.read(self.call, str(self.write("a,b\n1,2\n", "other.csv")), []))  # told by who reads the other tables

    def write(self, text, name):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def test_an_id_names_one_case_of_all_files(self):
        found, _ = self.read(text_of(ROW))
        self.assertIn("more.yaml:1:8: error: one: id 'one' is there already, at ", self.read(text_of(ROW), "more.yaml", found)[1])

    def test_damaged_files_are_refused_or_translated(self):
        seed = int(os.environ.get("MS_SEED", str(time.time_ns() % 10**6)))
        rng, end = random.Random(seed), time.monotonic() + SECONDS
        seeds = [path.read_bytes() for path in sorted((ROOT / "tests/fuzz/corpus/fuzz_cases").iterdir())] + [text_of(ROW, changes).encode() for changes, _ in JOBS]
        count = 0
        while time.monotonic() < end:
            data, name, count = damaged(rng.choice(seeds), rng), rng.choice(("a.yaml", "a.csv")), count + 1
            with self.subTest(MS_SEED=seed, count=count, data=data):
                self.call.talk.errors = 0
                for one in self.read(data, name)[0] if self.call.talk.errors == 0 else ():
                    self.assertNotEqual(one.id, "")
                    if self.call.talk.errors == 0 and one.fields is not None and not one.fields.get("framework"):
                        cases.translate(self.call, one, self.words)
                        self.assertNotEqual(one.workload is None, one.reason is None)
        self.assertGreater(count, 20)


if __name__ == "__main__":
    programs.main(__doc__)
