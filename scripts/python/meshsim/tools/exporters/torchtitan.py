"""`export torchtitan`: a job as torchtitan's job config, in TOML. There is no importer that would read it back: each line stands beside the keys of the workload
that it says, which are laid over torchtitan's profile.

Source: pytorch/torchtitan 000204a4 of August 2025, torchtitan.config.job_config; names of schedules: PyTorch, torch.distributed.pipelining.schedules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Tuple

from meshsim.tools._describe import Kind
from meshsim.tools.exporters._compare import Exported, Reasons, Unsaid, comments, compare, name_of
from meshsim.tools.exporters._job import Job, adopt, own_model

KIND = Kind("torchtitan WORKLOAD.yaml", "torchtitan's job config, TOML",
            "Of torchtitan and deepspeed the models are code of your own.", writes=".toml")
SOFTWARE = "torchtitan"
HAS_COMMENTS = True
FRAMEWORK = "torchtitan-2025"

REASONS: Reasons = {
    "platform": "the cluster that the launcher starts the job on",
    "placement": "ranks fill the nodes in the launcher's order",
    "framework": "which software runs is not said by its config",
    "fidelity": "how the job is simulated, no part of it",
    "granularity": "how the job is simulated, no part of it",
    "steps": "how many steps are simulated, no part of the job",
    "host": "how fast hosts launch is found by running",
    "collectives": "the library chooses; the environment variable NCCL_ALGO says otherwise",
    "mesh.order": "ranks lie as tp, cp, dp and pp say, innermost first",
    "mesh": "a mesh has tp, cp, pp, and replicas that share state, or not",
    "expert_mesh": "experts lie over replicas, and are cut by tp as the other layers",
    "model": "the model's code and its flavor say it",
    "schedule.kind": "schedules are those of torch.distributed.pipelining",
    "schedule": "no key of the config says it",
    "precision.parameters": "parameters are mixed in bfloat16, or float32",
    "precision.gradients": "gradients are reduced in float32",
    "precision.optimizer": "AdamW keeps its state in the type of the sharded parameters",
    "precision": "products are torchao's, in float8 by tensors or rows, or in mxfp8",
    "tensor_parallel": "layers are cut by DTensor, with sequence parallelism",
    "context_parallel": "keys and values are gathered, or go around a ring",
    "data_parallel.zero": "FSDP shards parameters with all else; without it nothing is",
    "data_parallel.offload": "enable_cpu_offload moves parameters and gradients, too",
    "data_parallel": "FSDP2 does it in its own way",
    "pipeline.communicator": "stages send in batches, in the pipeline's group",
    "pipeline.scatter_gather": "stages send whole tensors",
    "recompute": "whole layers, or every second product with norms and activations",
    "recompute_parts": "whole layers, or every second product with norms and activations",
    "memory.allocator_overhead": "what the allocator loses is found by running",
    "memory": "what the software holds follows from its version",
    "": "no key of the config says it",
}

SCHEDULES = {"gpipe": "GPipe", "1f1b": "1F1B", "interleaved_torch": "Interleaved1F1B", "looped_bfs": "LoopedBFS", "zb1p": "InterleavedZeroBubble",
             "zbv": "ZBVZeroBubble", "dualpipev": "DualPipeV"}
"""kinds of schedules and their names; others run as 1F1B or, with several stages to a rank, interleaved"""
BY_OPERATION = {"norms", "activations", "products"}
"""parts that selective checkpointing by operations recomputes"""
KNOWN_AXES = ("dp", "pp", "cp", "tp", "ep")


@dataclass
class Config:
    """A config as it is written."""

    lines: List[str] = field(default_factory=list)
    claims: List[Tuple[str, Any]] = field(default_factory=list)
    """what is said, as keys of a workload"""

    def section(self, name: str) -> None:
        self.lines += ["", f"[{name}]"]

    def say(self, name: str, value: Any) -> None:
        """Add a key with a number, a switch or a word."""
        text = f"\"{value}\"" if isinstance(value, str) else str(value).lower()
        self.lines.append(f"{name} = {text}")

    def claim(self, key: str, value: Any) -> None:
        """Note what the lines before say of the workload."""
        self.claims.append((key, list(map(str, value)) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)))


# ---- training ----

def _say_training(job: Job, config: Config) -> None:
    """Without a pipeline the local batch is a microbatch, and gradients are accumulated; a pipeline cuts the local batch in microbatches itself."""
    is_half = job.text("precision.parameters") != "fp32"
    is_compiled = job.text("model.kernels") != "eager"
    micro = job.count("batch.micro")
    config.section("training")
    config.say("seq_len", job.count("model.sequence"))
    config.say("local_batch_size", micro * (job.microbatches if job.axis("pp") > 1 else 1))
    config.claim("batch.micro", micro)
    config.say("global_batch_size", job.count("batch.global"))
    config.claim("batch.global", job.count("batch.global"))
    config.say("mixed_precision_param", "bfloat16" if is_half else "float32")
    config.claim("precision.parameters", "bf16" if is_half else "fp32")
    config.say("mixed_precision_reduce", "float32")
    config.claim("precision.gradients", "fp32")
    config.say("compile", is_compiled)
    config.claim("model.kernels", "compiled" if is_compiled else "eager")


# ---- axes ----

def _say_replicas(job: Job, config: Config) -> None:
    """Replicas: those that share state, and copies of these."""
    other = next((name for name in reversed(job.words("mesh.order")) if name not in KNOWN_AXES), "")
    copies = job.axis(other) if other else 1
    is_sharded = job.count("data_parallel.zero") > 0
    is_hybrid = is_sharded and bool(other) and job.words("data_parallel.shard") == ["dp"]
    shared = job.axis("dp") * (1 if is_hybrid else copies)
    config.say("data_parallel_replicate_degree", shared if not is_sharded else copies if is_hybrid else 1)
    config.say("data_parallel_shard_degree", shared if is_sharded else 1)
    config.claim("mesh.dp", shared)
    config.claim("data_parallel.zero", 3 if is_sharded else 0)
    if is_hybrid:
        config.claim(f"mesh.{other}", copies)
        config.claim("data_parallel.shard", ["dp"])
    config.claim("mesh.order", ["pp", *([other] if is_hybrid else []), "dp", "cp", "tp"])
    if is_sharded:
        keeps = job.is_true("data_parallel.keep_parameters")
        config.say("fsdp_reshard_after_forward", "never" if keeps else "always")
        config.claim("data_parallel.keep_parameters", keeps)
    else:  # DistributedDataParallel's buckets are views of the gradients
        config.claim("data_parallel.overlap_gather", False)
        config.claim("data_parallel.units", "in_place")


def _say_axes(job: Job, config: Config) -> None:
    tp, cp = job.axis("tp"), job.axis("cp")
    ep = job.count("expert_mesh.ep")
    if tp > 1:
        config.say("tensor_parallel_degree", tp)
        config.claim("mesh.tp", tp)
        config.claim("tensor_parallel.sequence", True)
    if cp > 1:
        is_ring = job.text("context_parallel.kind") == "ring"
        config.say("context_parallel_degree", cp)
        config.claim("mesh.cp", cp)
        config.say("context_parallel_rotate_method", "alltoall" if is_ring else "allgather")
        config.claim("context_parallel.kind", "ring" if is_ring else "all_gather")
    if job.node("model.moe") and ep > 1:
        config.say("expert_parallel_degree", ep)
        config.claim("expert_mesh.ep", ep)
        config.claim("expert_mesh.tp", tp)


# ---- stages ----

def _say_pipeline(job: Job, config: Config) -> None:
    """Stages as the job has them, where a rank's are dealt in turn or in the V of a schedule that is known; else all of a rank are one."""
    pp, kind = job.axis("pp"), job.text("schedule.kind")
    if pp == 1:
        config.claim("schedule.kind", "1f1b")
        return
    layers = job.stage_layers if kind in SCHEDULES or job.is_dealt() else job.layers_of_ranks()
    chunks = len(layers) // pp
    if kind not in SCHEDULES:
        kind = "interleaved_torch" if chunks > 1 else "1f1b"
    config.say("pipeline_parallel_degree", pp)
    config.claim("mesh.pp", pp)
    config.say("pipeline_parallel_schedule", SCHEDULES[kind])
    config.claim("schedule.kind", kind)
    if chunks > 1:
        config.claim("schedule.v", chunks)
    if all(layers[1:-1]):  # a stage without layers is an end
        config.lines.append(f"pipeline_parallel_split_points = [{', '.join(_points(layers))}]")
        config.claim("schedule.stage_layers", layers)
    config.say("pipeline_parallel_microbatch_size", job.count("batch.micro"))


def _points(layers: List[int]) -> List[str]:
    """Where each stage but the first begins."""
    points, first = [], layers[0]
    for count in layers[1:]:
        points.append(f"\"layers.{first}\"" if count > 0 else "\"norm\"")  # norm and output alone
        first += count
    return points


# ---- layers ----

def _say_recompute(job: Job, config: Config) -> None:
    is_full = job.text("recompute") == "full"
    is_by_operation = not is_full and set(job.words("recompute_parts")) == BY_OPERATION
    config.section("activation_checkpoint")
    config.say("mode", "full" if is_full else "selective" if is_by_operation else "none")
    config.claim("recompute", "full" if is_full else "none")
    if is_by_operation:
        config.say("selective_ac_option", "op")
    config.claim("recompute_parts", ["norms", "activations", "products"] if is_by_operation else [])


def _say_products(job: Job, config: Config) -> None:
    products, scaling = job.text("precision.products"), job.text("precision.scaling")
    is_mx, is_rowwise = products == "mxfp8", scaling == "rowwise"
    is_float8 = products == "fp8" and scaling in ("rowwise", "current")
    is_gathered = is_float8 and job.text("precision.parameter_gathers") == "products"
    if not is_mx and not is_float8:
        return
    config.section("model")
    config.lines.append(f"converters = [\"{'mx' if is_mx else 'float8'}\"]")
    config.section("mx" if is_mx else "float8")
    config.say("recipe_name", "mxfp8" if is_mx else "rowwise" if is_rowwise else "tensorwise")
    config.claim("precision.products", products)
    if is_float8:
        config.claim("precision.scaling", scaling)
        config.say("enable_fsdp_float8_all_gather", is_gathered)
    config.claim("precision.parameter_gathers", "products" if is_gathered else "parameters")


# ---- all ----

def _find_unsaid(job: Job, claims: List[Tuple[str, Any]]) -> List[Unsaid]:
    base: List[Tuple[str, Any]] = [("framework", FRAMEWORK), ("mesh", {"dp": "1"}), ("batch", {"global": "1"}), ("model", own_model(job))]
    own = Unsaid("model", job.text("model.name"), "", "its code and its flavor say it; name both under [model]")
    return [own, *compare(job, adopt(job, base + claims), REASONS)]


def write(job: Job) -> Exported:
    """torchtitan's job config, TOML."""
    config = Config()
    _say_training(job, config)
    config.section("parallelism")
    _say_replicas(job, config)
    _say_axes(job, config)
    _say_pipeline(job, config)
    _say_recompute(job, config)
    _say_products(job, config)
    unsaid = _find_unsaid(job, config.claims)
    head = f"# Exported by meshsim: torchtitan's job config for\n{name_of(job)}# What no key of it says, and what torchtitan then does:\n{comments(unsaid, SOFTWARE)}"
    return Exported(head + "\n".join(config.lines) + "\n", unsaid)
