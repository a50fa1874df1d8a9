"""`export deepspeed`: a job as DeepSpeed's configuration. What it leaves unsaid is found by importing it."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

from meshsim.tools._describe import Kind
from meshsim.tools.exporters._compare import Exported, Reasons, Unsaid, compare
from meshsim.tools.exporters._job import Job, adopt, is_close, own_model
from meshsim.tools.exporters._read_back import read_back

KIND = Kind("deepspeed WORKLOAD.yaml", "DeepSpeed's configuration, JSON", writes=".json")
SOFTWARE = "DeepSpeed"
HAS_COMMENTS = False
FRAMEWORK = "deepspeed"
ONE_MOMENT = "Lion"
"""an optimizer that keeps no second moment"""

REASONS: Reasons = {
    "platform": "the cluster that the launcher starts the job on",
    "placement": "ranks fill the nodes in the launcher's order",
    "framework": "which software runs is not said by its configuration",
    "fidelity": "how the job is simulated, no part of it",
    "granularity": "how the job is simulated, no part of it",
    "steps": "how many steps are simulated, no part of the job",
    "host": "how fast hosts launch is found by running",
    "collectives": "the library chooses; the environment variable NCCL_ALGO says otherwise",
    "mesh": "the configuration has replicas, tp, sequence-parallel ranks and stages",
    "expert_mesh": "the model's code says which ranks have experts (deepspeed.moe)",
    "model": "the model's code and its config.json say it",
    "schedule": "pipelines are 1F1B, with stages that the PipelineModule cuts",
    "precision.products": "Transformer Engine's layers are the model's code",
    "precision.optimizer": "an optimizer's bytes follow from its kind and types",
    "tensor_parallel": "layers are cut by AutoTP, without sequence parallelism",
    "context_parallel": "sequences are parted by Ulysses, which exchanges tokens for heads",
    "data_parallel.overlap_reduce": "without ZeRO nothing overlaps",
    "data_parallel.overlap_gather": "ZeRO stage 3 fetches ahead, the others do not",
    "data_parallel.bucketing": "weights are reduced when the next one has no room beside them",
    "data_parallel.bucket": "buckets are counted in elements, and none is a layer",
    "data_parallel.all_reduce": "stage 1 with gradients in fp32 beside bf16 is an optimizer of its own, which sums them whole",
    "data_parallel.reduce": "ZeRO stages 2 and 3 reduce behind each microbatch",
    "data_parallel.shard": "state is sharded over all replicas",
    "data_parallel.update": "the optimizer is DeepSpeed's",
    "recompute_parts": "the model's code says which layers are repeated",
    "recompute": "the model's code, or the trainer, says which layers are repeated",
    "memory.allocator_overhead": "what the allocator loses is found by running",
    "memory": "what the software holds follows from its version",
    "": "no key of the configuration says it",
}


# ---- the configuration ----

def _batch(job: Job) -> Dict[str, Any]:
    return {"train_batch_size": job.count("batch.global"), "train_micro_batch_size_per_gpu": job.count("batch.micro"), "gradient_accumulation_steps": job.microbatches}


def _precision(job: Job) -> Dict[str, Any]:
    parameters, gradients = job.text("precision.parameters"), job.text("precision.gradients")
    has_zero = job.count("data_parallel.zero") > 0
    usual = "fp32" if parameters == "bf16" and not has_zero else parameters
    config: Dict[str, Any] = {} if parameters == "fp32" else {parameters: {"enabled": True}}
    if gradients != usual:
        config["data_types"] = {"grad_accum_dtype": gradients}
    _add_optimizer(job, has_zero, config)
    return config


def _add_optimizer(job: Job, has_zero: bool, config: Dict[str, Any]) -> None:
    """Adam in fp32 is the trainer's; of fewer bytes that with masters, or states, in bf16, or an optimizer with one moment."""
    bytes_B = job.number("precision.optimizer")
    master_B = 0 if job.text("precision.parameters") == "fp32" else 4
    has_half_states = is_close(bytes_B, 6)
    is_half = has_half_states or (is_close(bytes_B, 10) and job.is_true("data_parallel.offload"))
    if is_half and has_zero and job.text("precision.parameters") == "bf16":
        config["bf16"]["bf16_master_weights_and_grads"] = True
        if has_half_states:
            config["bf16"]["bf16_optimizer_states"] = True
            return
    if is_close(bytes_B, master_B + 4):
        config["optimizer"] = {"type": ONE_MOMENT}


def _zero(job: Job) -> Dict[str, Any]:
    stage = job.count("data_parallel.zero")
    elements = job.number("data_parallel.bucket") / job.dtype_B("precision.gradients")
    section: Dict[str, Any] = {"stage": stage}
    if stage > 0:
        section["overlap_comm"] = job.is_true("data_parallel.overlap_reduce")
    if 1 <= elements < 1e15 and is_close(elements, int(elements)):
        section["reduce_bucket_size"] = int(elements)
    if stage == 1 and job.is_true("data_parallel.all_reduce"):
        section["reduce_scatter"] = False
    if stage > 0 and job.is_true("data_parallel.offload"):
        section["offload_optimizer"] = {"device": "cpu"}
    return {"zero_optimization": section}


def _axes(job: Job) -> Dict[str, Any]:
    tp, cp, pp = job.axis("tp"), job.axis("cp"), job.axis("pp")
    config: Dict[str, Any] = {}
    if tp > 1:
        config["tensor_parallel"] = {"autotp_size": tp}
    if cp > 1:
        config["sequence_parallel_size"] = cp
    if pp > 1:
        config["pipeline"] = {"stages": pp, **({"activation_checkpoint_interval": 1} if job.text("recompute") == "full" else {})}
    return config


# ---- all ----

def _find_unsaid(job: Job, text: str, optimizer: str) -> List[Unsaid]:
    unsaid = [Unsaid("model", job.text("model.name"), "", "its code and its config.json say it")]
    if optimizer:
        unsaid.append(Unsaid("optimizer.type", optimizer, "", "chosen by its bytes, all that a workload says of it"))
    tree = read_back(job, "deepspeed", FRAMEWORK, text).tree
    sets: List[Tuple[str, Any]] = [*tree.items(), ("model", own_model(job))]
    return unsaid + compare(job, adopt(job, sets), REASONS)


def write(job: Job) -> Exported:
    """DeepSpeed's configuration, JSON."""
    config = {**_batch(job), **_precision(job), **_zero(job), **_axes(job)}
    text = json.dumps(config, indent=2) + "\n"
    return Exported(text, _find_unsaid(job, text, config.get("optimizer", {}).get("type", "")))
