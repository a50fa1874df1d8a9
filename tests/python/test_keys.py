#!/usr/bin/env python3
"""No key of a workload does nothing in silence: where it applies the result changes, elsewhere a note or a fault names it.

usage: tests/python/test_keys.py MESHSIM [unittest arguments]

The keys are those that `check --keys` lists: a new one needs a row in CASES.
"""
# ctest: 4 parts

import functools
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from keys import workload_keys
from parts import load_tests  # noqa: F401 (unittest looks for it)

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
ECHOES = {"workload", "platform", "nodes", "gpus_per_node", "unit_nodes", "devices", "rank_numbers", "mesh", "expert_mesh", "order", "schedule", "fidelity", "granularity", "engine"}  # what was asked for, and how it was run
OF_PLATFORM = {"platform.nodes"}  # a key of the platform's file, which stands for all of those
FOR_READERS = {"name", "description", "model.name"}

BASES = {
    # a dense model on one node, two of each axis
    "dense": """
platform: {file: dgx-a100, nodes: 1}
model: {type: llama, layers: 8, hidden: 1024, heads: 16, ffn: 4096, vocab: 51200, sequence: 1024}
mesh: {dp: 2, pp: 2, tp: 2}
batch: {global: 16}
""",
    "alone": """
platform: {file: dgx-a100, nodes: 1, node: {gpus: 1, nics: 1}}
model: {type: llama, layers: 8, hidden: 1024, heads: 16, ffn: 4096, vocab: 51200, sequence: 1024}
mesh: {dp: 1}
batch: {global: 4}
""",
    "context": """
platform: {file: dgx-h100, nodes: 1}
model: {type: llama, layers: 2, hidden: 2048, heads: 16, ffn: 4096, vocab: 0, sequence: 32768}
mesh: {cp: 8}
batch: {global: 2}
""",
    # an attention that has kernels in fp8
    "fused": """
platform: {file: dgx-h100, nodes: 1}
model: {type: llama, layers: 2, hidden: 2048, heads: 16, ffn: 4096, vocab: 0, sequence: 4096, attention: cudnn}
mesh: {dp: 8}
batch: {global: 16}
""",
    # stages on one node, more than one to each
    "stages": """
platform: {file: dgx-a100, nodes: 2}
model: {type: llama, layers: 16, hidden: 2048, heads: 16, ffn: 4096, vocab: 51200, sequence: 2048}
mesh: {pp: 16}
batch: {global: 32}
""",
    "blocks": """
platform: {file: gb200-nvl72, nodes: 1}
model: {type: llama, layers: 2, hidden: 2048, heads: 16, ffn: 4096, vocab: 0, sequence: 4096}
mesh: {dp: 72}
batch: {global: 72}
precision: {products: mxfp8}
""",
    # experts over two nodes
    "experts": """
platform: {file: dgx-h100, nodes: 2}
model: {type: llama, layers: 4, hidden: 1024, heads: 16, vocab: 32000, sequence: 1024, moe: {experts: 32, top_k: 4, ffn: 512}}
mesh: {ep: 16, order: [ep]}
batch: {global: 32}
""",
    # the same, experts on a mesh of their own
    "folded": """
platform: {file: dgx-h100, nodes: 2}
model: {type: llama, layers: 4, hidden: 1024, heads: 16, vocab: 32000, sequence: 1024, moe: {experts: 32, top_k: 4, ffn: 512}}
mesh: {dp: 8, tp: 2}
expert_mesh: {ep: 8}
tensor_parallel: {sequence: true}
batch: {global: 32}
""",
    # the same, all experts on every rank
    "local": """
platform: {file: dgx-h100, nodes: 2}
model: {type: llama, layers: 4, hidden: 1024, heads: 16, vocab: 32000, sequence: 1024, moe: {experts: 32, top_k: 4, ffn: 512}}
mesh: {dp: 16}
batch: {global: 32}
""",
    "latent": """
platform: {file: dgx-h100, nodes: 1}
model: {type: llama, layers: 4, hidden: 1024, heads: 16, vocab: 32000, sequence: 1024, ffn: 4096,
  mla: {q_rank: 256, kv_rank: 128, qk_nope: 64, qk_rope: 32, v_dim: 64}}
mesh: {dp: 8}
batch: {global: 16}
""",
    "costs": """
platform: {file: flat, nodes: 4}
mesh: {pp: 4}
costs: {forward: 2 ms, input_gradient: 2 ms, weight_gradient: 1 ms}
batch: {microbatches: 8}
""",
    "costs alone": """
platform: {file: flat, nodes: 1}
mesh: {pp: 1}
costs: {forward: 2 ms, input_gradient: 2 ms, weight_gradient: 1 ms}
batch: {microbatches: 8}
""",
}


class Case:
    """A key's two values, one of them None for "not given", where they make a difference, and what else that takes.

    idle: (base, settings, value) where the second value, or the third entry, makes none.
    """

    def __init__(self, before, after, base, *sets, idle=()):
        self.values, self.base, self.sets, self.idle = (before, after), base, sets, idle


ON_TWO_NODES = ("platform.nodes=2", "placement.spares=0")
ROUNDS = ("schedule.kind=interleaved", "schedule.v=2", "data_parallel.zero=2", "data_parallel.reduce=round")
SLOW_NODES = "platform.slow_nodes={share: 0.5, time: 1.5}"
FP8 = "precision.products=fp8"
# A list where a key has more than one way of being idle.
CASES = {
    "framework.name": Case(None, "megatron-lm-2021", "dense"),
    "framework.expanded": Case("true", "false", "dense", "framework.name=megatron-lm-2021"),
    "platform.file": Case("dgx-a100", "dgx-h100", "dense"),
    "platform.nodes": Case(1, 2, "dense", "mesh.dp=4", idle=[]),
    "mesh.tp": Case(2, 4, "dense", *ON_TWO_NODES),
    "mesh.cp": Case(1, 2, "dense", *ON_TWO_NODES, "mesh.order=[pp, dp, cp, tp]"),
    "mesh.ep": Case(1, 2, "local", "placement.spares=0", "mesh.dp=4", "mesh.order=[dp, ep]"),
    "mesh.pp": Case(2, 4, "dense", *ON_TWO_NODES),
    "mesh.dp": Case(2, 4, "dense", *ON_TWO_NODES),
    "mesh.order": Case("[pp, dp, tp]", "[tp, dp, pp]", "dense", "platform.nodes=2", "mesh.dp=4"),
    "placement.nodes": Case("[0]", "[0, 1]", "dense", "platform.nodes=2", "placement.order=[gpu, node]"),
    "placement.order": Case("[node, gpu]", "[gpu, node]", "dense", "platform.nodes=2", "placement.nodes=[0, 1]"),
    "placement.file": Case(None, f"{ROOT}/tests/python/ranks.csv", "dense", "platform.nodes=2"),
    "placement.spares": Case(0, 1, "dense", "platform.nodes=2"),
    "expert_mesh.ep": Case(4, 8, "folded"),
    "expert_mesh.tp": Case(1, 2, "folded"),
    "expert_mesh.order": Case("[pp, dp, ep, tp]", "[pp, ep, dp, tp]", "folded"),
    "schedule.kind": Case("1f1b", "gpipe", "dense"),
    "schedule.v": Case(2, 4, "dense", "schedule.kind=interleaved", idle=[("dense", (), 2)]),
    "schedule.group": Case(2, 4, "dense", "schedule.kind=interleaved", "schedule.v=2", idle=[("dense", (), 4)]),
    "schedule.splits": Case(1, 2, "dense", "schedule.kind=seq1f1b", idle=[("dense", (), 2)]),
    "schedule.reorder": Case("false", "true", "costs", "schedule.kind=vhalf",
                             idle=[("costs", ("schedule.kind=vmin",), "true"), ("dense", (), "true")]),
    "schedule.overlap": Case("fused", "serial", "experts", "schedule.kind=dualpipev", "mesh.pp=2", "mesh.ep=8", "mesh.order=[pp, ep]",
                             idle=[("dense", (), "serial")]),
    "schedule.communication_sms": Case(0, 20, "experts", "schedule.kind=dualpipev", "mesh.pp=2", "mesh.ep=8", "mesh.order=[pp, ep]",
                                       idle=[("dense", (), 20), ("costs", ("schedule.kind=dualpipev",), 20)]),
    "schedule.sends": Case("async", "blocking", "dense", idle=[("alone", (), "blocking"), ("costs alone", (), "blocking")]),
    "schedule.step_end": Case("synchronous", "post_validation", "costs", "steps=4", "schedule.kind=zbh2",
                              idle=[("alone", ("steps=4",), "post_validation")]),
    "schedule.partition": Case("even", "balanced", "dense", idle=[("alone", (), "balanced")]),
    "schedule.first_stage_layers": Case(None, 3, "dense"),
    "schedule.last_stage_layers": Case(None, 3, "dense"),
    "schedule.stage_layers": Case(None, "[3, 5]", "dense"),
    "batch.global": Case(16, 32, "dense"),
    "batch.micro": Case(1, 2, "dense"),
    "batch.microbatches": Case(8, 16, "costs"),
    "precision.parameters": Case("bf16", "fp32", "dense", "model.attention=unfused", idle=[("dense", (), "fp16")]),
    "precision.gradients": Case("fp32", "bf16", "dense"),
    "precision.optimizer": Case("12 B", "8 B", "dense"),
    "precision.products": Case("parameters", "fp8", "context", idle=[("context", (f"precision.{sets}",), "fp8") for sets in (
        "first_plain_layers=2", "products_of=[head]", "products_of=[experts]")]),
    "precision.scaling": Case("delayed", "blockwise", "context", FP8, idle=[("context", (), "rowwise"), ("blocks", (), "current")]),
    "precision.amax_group": Case("replicas", "none", "context", FP8, idle=[("context", (), "tensor"), ("blocks", (), "tensor"),
                                                                          ("context", (FP8, "precision.scaling=current"), "none")]),
    "precision.casts": Case("streaming", "transformer_engine_1", "context", FP8, idle=[
        ("context", (), "transformer_engine_1"), ("blocks", (), "transformer_engine_1")]),
    "precision.products_of": Case(None, "[mlp]", "context", FP8, idle=[("context", (), "[mlp]")]),
    "precision.weight_gradients": Case("products", "parameters", "context", FP8, idle=[("context", (), "parameters")]),
    "precision.kept": Case("products", "parameters", "context", FP8, idle=[("context", (), "parameters")]),
    "precision.second_form": Case("forward", "backward", "context", FP8, "precision.scaling=blockwise", idle=[
        ("context", (), "backward"), ("context", (FP8,), "backward"), ("blocks", ("precision.kept=parameters",), "backward"),
        ("blocks", ("precision.weight_gradients=parameters",), "backward")]),
    "precision.tensor_gathers": Case("products", "parameters", "folded", FP8, idle=[("folded", (), "parameters"), ("context", (FP8,), "parameters")]),
    "precision.parameter_gathers": Case("parameters", "products", "context", FP8, idle=[("context", (), "products")]),
    "precision.attention": Case("parameters", "fp8_dot_product", "fused", FP8, idle=[
        ("fused", (FP8, "precision.first_plain_layers=2"), "fp8_dot_product")]),
    "precision.first_plain_layers": Case(0, 1, "context", FP8, idle=[("context", (), 1)]),
    "precision.last_plain_layers": Case(0, 1, "context", FP8, idle=[("context", (), 1)]),
    "tensor_parallel.sequence": Case("false", "true", "dense", idle=[("alone", (), "true")]),
    "tensor_parallel.overlap": Case("none", "bulk", "dense", idle=[("alone", (), "bulk")]),
    "tensor_parallel.style": Case("megatron", "dtensor", "dense", "tensor_parallel.sequence=true", idle=[
        ("dense", (), "dtensor"), ("alone", (), "dtensor"),
        ("dense", ("tensor_parallel.sequence=true", "tensor_parallel.overlap=ring"), "dtensor"),
        ("folded", ("tensor_parallel.overlap=ring",), "dtensor")]),
    "tensor_parallel.chunks": Case(4, 8, "dense", "tensor_parallel.sequence=true", "tensor_parallel.overlap=chunks",
                                   idle=[("dense", ("tensor_parallel.overlap=bulk",), 8), ("alone", (), 8)]),
    "tensor_parallel.allow_slow": Case("false", "true", "dense", "platform.nodes=2", "mesh.tp=16", "mesh.dp=1", "mesh.pp=1",
                                       idle=[("dense", (), "true")]),
    "context_parallel.kind": Case("ring", "all_gather", "context", idle=[("dense", (), "all_gather")]),
    "context_parallel.overlap": Case("true", "false", "context",
                                     idle=[("context", ("context_parallel.kind=all_gather",), "true"),
                                           ("context", ("context_parallel.kind=all_to_all",), "true"), ("dense", (), "true")]),
    "data_parallel.zero": Case(0, 1, "dense", idle=[("alone", (), 1)]),
    "data_parallel.shard": Case(None, "[dp]", "dense", "mesh.cp=2", "platform.nodes=2", "mesh.order=[pp, dp, cp, tp]", "data_parallel.zero=1",
                                idle=[("dense", (), "[dp]"), ("alone", ("data_parallel.zero=1",), "[dp]")]),
    "data_parallel.copies": Case(1, 2, "dense", "data_parallel.zero=1", idle=[("dense", (), 2)]),
    "data_parallel.keep_parameters": Case("false", "true", "dense", "data_parallel.zero=3",
                                          idle=[("dense", (), "true"), ("dense", ("data_parallel.zero=2",), "true")]),
    "data_parallel.gather_stages": Case(0, 2, "dense", "data_parallel.zero=3", idle=[("dense", (), 2)]),
    "data_parallel.reduce": Case("last", "every", "dense", "data_parallel.zero=2",
                                 idle=[("dense", (), "every"), ("dense", ("data_parallel.zero=1",), "round"),
                                       ("dense", ("data_parallel.zero=2",), "round")]),
    "data_parallel.all_reduce": Case("false", "true", "dense", "data_parallel.zero=1",
                                     idle=[("dense", (), "true"), ("dense", ("data_parallel.zero=2",), "true"),
                                           ("alone", ("data_parallel.zero=1",), "true")]),
    "data_parallel.overlap_reduce": Case("false", "true", "dense", idle=[("alone", (), "true")]),
    "data_parallel.overlap_gather": Case("false", "true", "dense", "data_parallel.zero=3",
                                         idle=[("dense", (), "true"), ("alone", ("data_parallel.zero=1",), "true"),
                                               ("alone", ("data_parallel.zero=3", "data_parallel.keep_parameters=true"), "true")]),
    "data_parallel.units": Case("in_place", "flat", "dense", "data_parallel.zero=2", "data_parallel.reduce=every",
                                idle=[("dense", (), "flat"), ("dense", ("data_parallel.zero=3",), "flat"), ("alone", ("data_parallel.zero=3",), "flat")]),
    "data_parallel.bucketing": Case("layers", "stages", "dense", "data_parallel.overlap_reduce=true",
                                    idle=[("alone", ("data_parallel.overlap_reduce=true",), "weights"), ("costs", (), "weights")]),
    "data_parallel.bucket": Case("0 B", "1 GB", "dense", "data_parallel.overlap_reduce=true",
                                 idle=[("dense", (), "25 MB"), ("dense", ROUNDS, "25 MB"), ("alone", ("data_parallel.overlap_reduce=true",), "25 MB"),
                                       ("dense", ("data_parallel.overlap_reduce=true", "data_parallel.bucketing=stages"), "25 MB"),
                                       ("dense", ("data_parallel.bucketing=megatron",), "25 MB")]),
    "data_parallel.update": Case("fused", "separate", "dense",
                                 idle=[("costs", (), "separate"), ("dense", ("data_parallel.offload=true",), "operations")]),
    "data_parallel.offload": Case("false", "true", "dense"),
    "pipeline.communicator": Case("pair", "pipeline", "stages", idle=[("alone", (), "world"), ("stages", ("platform.library=none",), "world")]),
    "pipeline.scatter_gather": Case("false", "true", "dense",
                                    idle=[("dense", ("tensor_parallel.sequence=true",), "true"), ("alone", (), "true"),
                                          ("dense", ("mesh.pp=1", "mesh.dp=4"), "true"), ("dense", ("mesh.tp=1", "mesh.dp=4"), "true")]),
    "collectives.algorithms.all_reduce": Case("ring", "tree", "dense",
                                              idle=[("alone", (), "tree"), ("costs", (), "tree")]),
    "host.launch": Case("0 s", "100 us", "dense", idle=[("costs", (), "100 us")]),
    "host.replaces_slow_nodes": Case(None, "true", "dense", SLOW_NODES, idle=[("dense", (), "true"), ("costs", (SLOW_NODES,), "true")]),
    "host.sync": Case(None, "[messages]", "dense", "host.launch=100 us",
                      idle=[("dense", (), "[norm]"), ("costs", (), "[norm]"), ("alone", ("host.launch=100 us",), "[messages]"),
                            ("dense", ("host.launch=100 us",), "[experts]"),
                            ("experts", ("host.launch=100 us", "model.moe.capacity_factor=1", "model.moe.pad=true"), "[experts]")]),
    "memory.allocator_overhead": Case(0, 0.1, "dense"),
    "memory.libraries": Case("none", "torch", "dense"),
    "memory.cublas_workspace": Case("0 B", "32 MiB", "dense", "memory.libraries=torch", idle=[("dense", (), "32 MiB")]),
    "memory.buffers": Case(None, "[weight_gradients]", "dense",
                           idle=[("dense", (), "[gather]"), ("alone", ("tensor_parallel.sequence=true",), "[gather]"), ("dense", (), "[scores]"), ("dense", ("memory.libraries=transformer_engine",), "[grouped_products]"),
                                 ("experts", ("memory.libraries=torch",), "[grouped_products]"),
                                 ("dense", ("model.fused_accumulation=false",), "[weight_gradients]"), ("dense", (), "[main_gradients]"),
                                 ("dense", (), "[prefetched_parameters]")]),
    "memory.offload": Case(None, "[norms]", "dense", idle=[("dense", (), "[experts]"), ("dense", ("recompute=full",), "[norms, attention]")]),
    "recompute": Case("none", "selective", "dense"),
    "recompute_parts": Case(None, "[norms]", "dense", idle=[("dense", ("recompute=full",), "[norms, activations]"), ("dense", (), "[latent_up]"),
                                                            ("dense", ("recompute=full", "recompute_layers=4"), "[norms]")]),
    "recompute_layers": Case(0, 1, "dense", "recompute=full", idle=[("dense", (), 1), ("dense", ("recompute=selective",), 1)]),
    "steps": Case(3, 4, "costs", "schedule.kind=zbh2", "schedule.step_end=post_validation"),
    "fidelity": Case("flow", "analytic", "dense", "platform.nodes=2", "mesh.order=[tp, dp, pp]", "mesh.dp=4", "batch.global=32"),
    "granularity": Case("layer", "pass", "dense", idle=[("costs", (), "pass")]),
    "model.hf": Case(None, str(ROOT / "tests" / "import" / "hf" / "gpt2.json"), "dense"),
    "model.type": Case("llama", "gpt", "dense"),
    "model.layers": Case(8, 16, "dense"),
    "model.hidden": Case(1024, 2048, "dense"),
    "model.heads": Case(16, 8, "dense"),
    "model.kv_heads": Case(16, 4, "dense", idle=[("latent", (), 4)]),
    "model.head_dim": Case(64, 128, "dense", idle=[("latent", (), 128)]),
    "model.ffn": Case(4096, 8192, "dense", idle=[("experts", (), 8192)]),
    "model.vocab": Case(51200, 32000, "dense"),
    "model.sequence": Case(1024, 2048, "dense"),
    "model.tied_embeddings": Case("false", "true", "dense", idle=[("dense", ("model.vocab=0",), "true")]),
    "model.attention": Case("fused", "unfused", "dense"),
    "model.fused_accumulation": Case("true", "false", "dense"),
    "model.loss": Case("vocab_parallel", "plain", "dense", idle=[("dense", ("model.vocab=0",), "plain")]),
    "model.kernels": Case("fused", "eager", "dense"),
    "model.loss_metrics": Case(0, 2, "dense", idle=[("dense", ("model.vocab=0",), 2)]),
    "model.repeat_key_values": Case("false", "true", "dense", "model.kv_heads=4", idle=[("dense", (), "true"), ("latent", (), "true")]),
    "model.projections": Case("merged", "separate", "dense", idle=[
        ("dense", ("tensor_parallel.sequence=true", "tensor_parallel.overlap=ring"), "separate"), ("latent", ("model.gated=false",), "separate"),
        ("dense", ("model.gated=false", "model.attention=unfused"), "concatenated"), ("dense", ("model.attention=unfused",), "interleaved"),
        ("latent", (), "interleaved")]),
    "model.complex_rotary": Case("false", "true", "dense", idle=[("dense", ("model.positions=learned",), "true")]),
    "model.two_pass_norms": Case("false", "true", "dense", "model.norm=layer", idle=[("dense", (), "true")]),
    "model.separate_dropout": Case("false", "true", "dense", "model.dropout=0.1", idle=[("dense", (), "true")]),
    "model.cast_gradients": Case("false", "true", "dense", "model.fused_accumulation=false",
                                 idle=[("dense", (), "true"), ("dense", ("model.fused_accumulation=false", "precision.gradients=bf16"), "true")]),
    "model.parameters_override": Case(0, 1e9, "dense"),
    "model.dropout": Case(0, 0.1, "dense"),
    "model.bias": Case("false", "true", "dense", idle=[("latent", (), "true"), ("experts", (), "true")]),
    "model.norm": Case("rms", "layer", "dense"),
    "model.positions": Case("rotary", "learned", "dense", idle=[("latent", ("model.vocab=0",), "learned"),
                                                               ("dense", ("model.type=gpt", "model.vocab=0"), "alibi")]),
    "model.parallel_block": Case("false", "true", "dense"),
    "model.biases": Case(None, "[qkv]", "dense", idle=[("dense", ("model.bias=true",), "[qkv, mlp]"), ("dense", ("model.vocab=0",), "[head]"),
                                                       ("latent", (), "[qkv]"), ("experts", (), "[mlp]"), ("dense", (), "[experts]")]),
    "model.branch_norms": Case("false", "true", "dense", "model.parallel_block=true", idle=[("dense", (), "true")]),
    "model.qk_norm": Case("false", "true", "dense", idle=[("latent", (), "true")]),
    "model.qk_gains": Case("shared", "own", "dense", "model.qk_norm=true", idle=[("dense", (), "own"), ("latent", (), "own")]),
    "model.window_skip_freq": Case(0, 2, "dense", "model.window=64", idle=[("dense", (), 2)]),
    "model.post_norms": Case("false", "true", "dense", idle=[("dense", ("model.parallel_block=true",), "true")]),
    "model.window": Case(0, 64, "dense", idle=[("dense", (), 1 << 20)]),
    "model.gated": Case("true", "false", "dense"),
    "model.mtp_layers": Case(0, 1, "dense", idle=[("dense", ("model.vocab=0",), 1)]),
    "model.moe.experts": Case(32, 64, "experts"),
    "model.moe.top_k": Case(4, 8, "experts"),
    "model.moe.ffn": Case(512, 1024, "experts"),
    "model.moe.shared_experts": Case(0, 1, "experts"),
    "model.moe.shared_ffn": Case(512, 1024, "experts", "model.moe.shared_experts=1", idle=[("experts", (), 1024)]),
    "model.moe.first_dense_layers": Case(0, 1, "experts", "model.ffn=4096", idle=[("experts", ("model.moe.every=4", "model.ffn=4096"), 1)]),
    "model.moe.dense_layers": Case(None, "[1, 3]", "experts", "model.ffn=4096", idle=[("experts", ("model.ffn=4096",), "[4]")]),
    "model.moe.shared_gate": Case("false", "true", "experts", "model.moe.shared_experts=1", idle=[("experts", (), "true")]),
    "model.moe.every": Case(1, 2, "experts", "model.ffn=4096", idle=[("experts", ("model.ffn=4096",), 5)]),
    "model.moe.capacity_factor": Case(0, 1.1, "experts", "model.moe.imbalance.spread=0.5",
                                      idle=[("experts", (), 1.25), ("experts", ("model.moe.imbalance.spread=0.5",), 8)]),
    "model.moe.pad": Case("false", "true", "experts", "model.moe.capacity_factor=1.25", idle=[("experts", (), "true")]),
    "model.moe.node_limit": Case(0, 1, "experts", idle=[("local", (), 1), ("experts", ("mesh.dp=2", "mesh.ep=8", "mesh.order=[dp, ep]"), 1)]),
    "model.moe.router_bias": Case("false", "true", "experts"),
    "model.moe.router": Case("fused", "eager", "experts"),
    "model.moe.dispatch": Case("as_activations", "fp8", "experts", idle=[("local", (), "fp8")]),
    "model.moe.combine": Case("as_activations", "fp8", "experts", idle=[("local", (), "fp8")]),
    "model.moe.kept": Case("as_activations", "fp8", "experts"),
    "model.moe.overlap": Case("none", "shared", "experts", "model.moe.shared_experts=1",
                              idle=[("experts", (), "shared"), ("local", ("model.moe.shared_experts=1",), "shared"), ("local", (), "all"),
                                    ("experts", ("mesh.pp=2", "mesh.ep=8", "mesh.order=[pp, ep]", "schedule.kind=zbh1"), "all")]),
    "model.moe.imbalance.distribution": Case("lognormal", "zipf", "experts", "model.moe.imbalance.spread=0.5",
                                             idle=[("experts", (), "zipf"), ("local", ("model.moe.imbalance.spread=0.5",), "zipf")]),
    "model.moe.imbalance.spread": Case(0, 0.5, "experts", idle=[("local", (), 0.5), ("experts", ("model.moe.imbalance.distribution=none",), 0.5)]),
    "model.moe.seed": Case(0, 1, "experts", "model.moe.imbalance.spread=0.5",
                           idle=[("experts", (), 1), ("local", ("model.moe.imbalance.spread=0.5",), 1)]),
    "model.mla.q_rank": Case(256, 512, "latent"),
    "model.mla.kv_rank": Case(128, 256, "latent"),
    "model.mla.qk_nope": Case(64, 128, "latent"),
    "model.mla.qk_rope": Case(32, 64, "latent"),
    "model.mla.v_dim": Case(64, 128, "latent"),
    "costs.forward": Case("2 ms", "3 ms", "costs"),
    "costs.input_gradient": Case("2 ms", "3 ms", "costs"),
    "costs.states": Case("1 GiB", "2 GiB", "costs"),
    "costs.activations": Case("1 GiB", "2 GiB", "costs"),
    "costs.weight_gradient": Case("1 ms", "2 ms", "costs"),
    "costs.p2p": Case("0 B", "4 MiB", "costs", idle=[("costs alone", (), "4 MiB")]),
    "costs.optimizer": Case("0 s", "1 ms", "costs"),
}


def meshsim(command, base, sets):
    """The finished process on a base with settings, run once for all who ask."""
    return run(command, base, tuple(sets))


@functools.lru_cache(maxsize=None)
def run(command, base, sets):
    with tempfile.TemporaryDirectory(prefix="meshsim-keys-") as folder:
        path = Path(folder) / "base.yaml"
        path.write_text(BASES[base], encoding="utf-8")
        words = [word for one in sets for word in ("--set", one)]
        options = ["--json"] + (["--ignore-memory"] if command == "run" else [])
        return subprocess.run([PROGRAM, command, path, *options, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True,
                              env=dict(os.environ, MESHSIM_DATA=str(ROOT)), timeout=100)


def setting(key, value):
    return [] if value is None else [f"{key}={value}"]


def notes_on(done, key):
    return [line for line in done.stderr.splitlines() if f": note: {key}: changes nothing: " in line]


def result_of(done):
    """What the simulation found out."""
    return {key: value for key, value in json.loads(done.stdout).items() if key not in ECHOES}


class Keys(unittest.TestCase):
    def test_every_key_has_a_case(self):
        known = {name for name, key in workload_keys(PROGRAM).items() if not key.is_mapping}
        self.assertGreater(len(known), 100)
        self.assertEqual(sorted((known | OF_PLATFORM) - FOR_READERS ^ set(CASES)), [], "keys without a case, and cases without a key")

    def check_effect(self, key, case):
        before, after = (meshsim("run", case.base, [*case.sets, *setting(key, value)]) for value in case.values)
        if before.returncode == 3:  # the key is what makes it legal
            self.assertIn(key.partition(".")[0], before.stderr)
            self.assertEqual(after.returncode, 0, after.stderr)
            return
        self.assertEqual((before.returncode, after.returncode), (0, 0), before.stderr + after.stderr)
        self.assertFalse(result_of(before) == result_of(after), f"{case.values} make no difference")
        self.assertEqual(notes_on(before, key) + notes_on(after, key), [])

    def test_a_style_beside_overlap_is_not_idle_with_shared_experts(self):
        sets = ["model.moe.shared_experts=1", "tensor_parallel.overlap=ring"]
        plain, style = (meshsim("run", "folded", sets + more) for more in ([], ["tensor_parallel.style=dtensor"]))
        self.assertEqual((plain.returncode, style.returncode), (0, 0), style.stderr)
        self.assertEqual(notes_on(style, "tensor_parallel.style"), [])
        self.assertFalse(result_of(plain) == result_of(style), "copies, and what was gathered is kept")

    def check_idle(self, key, base, sets, value):
        without = meshsim("run", base, sets)
        given = meshsim("run", base, [*sets, f"{key}={value}"])
        self.assertEqual(without.returncode, 0, without.stderr)
        self.assertEqual(notes_on(without, key), [], "a note on what nobody gave")
        if given.returncode == 3:
            self.assertIn("error: ", given.stderr)
            return
        self.assertEqual((given.returncode, len(notes_on(given, key))), (0, 1), given.stderr)
        self.assertTrue(result_of(without) == result_of(given), "a note on what makes a difference")
        check = json.loads(meshsim("check", base, [*sets, f"{key}={value}"]).stdout)
        self.assertIn(key, [note["key"] for note in check["notes"]])

    def check_key(self, key):
        case = CASES[key]
        if case.values != (None, None):
            self.check_effect(key, case)
        for base, sets, value in case.idle:
            with self.subTest(f"{key}={value} on '{base}' with {', '.join(sets) or 'nothing else'}"):
                self.check_idle(key, base, sets, value)


for name in CASES:
    setattr(Keys, f"test_{name.replace('.', '_')}", lambda self, key=name: self.check_key(key))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
