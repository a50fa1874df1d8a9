"""Mesh, pipeline stages and batch of Megatron-LM's arguments.

Source: Megatron-LM, megatron.training.arguments (validate_args), megatron.core.transformer.transformer_block (get_num_layers_to_build),
megatron.core.parallel_state (order of ranks: tp-cp-ep-dp-pp, innermost first).
"""

from __future__ import annotations

import re
from typing import Sequence

from .megatron_arguments import NOTHING, TIME
from .megatron_run import LAUNCHER, Run
from .megatron_values import read_layout, read_steps

STAGES_MAX, RANKS_MAX = 100_000, 2**24
LAYOUT, FIRST, LAST = "--pipeline-model-parallel-layout", "--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers"


# ---- the mesh ----

def _launched(run: Run, name: str) -> int:
    """What a launcher was told; 0 where it was not, or by a variable that nothing sets."""
    value = run.value(LAUNCHER + name)
    is_count = value is not None and re.fullmatch(r"\s*\+?\d{1,9}", value, re.A) is not None and 0 < int(value) <= RANKS_MAX
    if value is not None and not is_count:
        run.differs(LAUNCHER + name, NOTHING, f"'{value}' is no number: --define NAME=VALUE says what the file does not")
    return int(value or 0) if is_count else 0


def _gpus_of(run: Run, ranks_of_replica: int) -> int:
    """Ranks that are started. torchrun starts some on each node, and is itself started once on each by srun or mpirun; without it these start the ranks."""
    if run.facts.gpus > 0:
        return run.facts.gpus
    replicas, world = run.count("--data-parallel-size", 1, 0), run.count("--world-size", 1, 0)
    if world > 0 or replicas > 0:
        return world or replicas * ranks_of_replica
    nodes = _launched(run, "--nnodes") if run.given(LAUNCHER + "--nnodes") else 1
    if run.given(LAUNCHER + "--nproc-per-node"):
        return _launched(run, "--nproc-per-node") * nodes
    return _launched(run, "--ntasks") or _launched(run, "--ntasks-per-node") * nodes


def _set_replicas(run: Run, experts_axis: int) -> None:
    """Replicas: what the GPUs of the job leave. The number that starts it is to be changed in examples, and so no fault."""
    ranks = run.tp * run.pp * run.cp * experts_axis
    gpus = _gpus_of(run, run.tp * run.pp * run.cp)
    is_launched = run.facts.gpus == 0 and not run.given("--world-size") and not run.given("--data-parallel-size")
    if gpus == 0:
        run.require("mesh.dp", f"GPUs of the job / {ranks}")
    elif gpus % ranks and is_launched:
        run.require("mesh.dp", f"GPUs of the job / {ranks}; it is started on {gpus}: --gpus, or --define of the variable that counts nodes")
    elif gpus % ranks:
        run.fault("--tensor-model-parallel-size",
                  f"expected sizes of tp, pp, cp and ep that divide {gpus} GPUs, got {run.tp} x {run.pp} x {run.cp} x {experts_axis}")
    else:
        run.set("mesh.dp", "launcher --nnodes launcher --nproc-per-node launcher --ntasks launcher --ntasks-per-node --world-size", gpus // ranks)
        run.job.gpus = gpus


def _set_expert_mesh(run: Run, etp: int, is_dp_outermost: bool) -> None:
    """Experts lie over the tp, cp and dp ranks of a stage. Where each of these holds its tokens alone, ep is the inner part of the replicas; else the
    experts have a mesh of their own."""
    run.set("expert_mesh.ep", "--expert-model-parallel-size", run.ep)
    if etp > 1:
        run.set("expert_mesh.tp", "--expert-tensor-parallel-size", etp)
    if is_dp_outermost:
        run.set("expert_mesh.order", "--use-tp-pp-dp-mapping", "[dp, pp, ep, tp]")
    if not run.has_sequence and run.tp > 1:
        run.fault("--expert-model-parallel-size", f"expected --sequence-parallel beside experts on {run.tp} tp ranks")


def set_mesh(run: Run) -> None:
    run.tp, run.pp = run.count("--tensor-model-parallel-size", 1, 1), run.count("--pipeline-model-parallel-size", 1, 1)
    run.cp = run.count("--context-parallel-size", 1, 1)
    ep = run.count("--expert-model-parallel-size", 1, 1)
    run.ep = ep if run.experts > 0 else 1
    if not run.given("--num-experts") and ep > 1:
        run.fault("--expert-model-parallel-size", "expected --num-experts beside it, as Megatron-LM does")
    run.has_sequence = run.given("--sequence-parallel") and run.tp > 1
    etp = run.count("--expert-tensor-parallel-size", 1, run.tp) if run.experts > 0 else run.tp
    if max(run.tp, run.cp, run.ep, etp) > RANKS_MAX or run.pp > STAGES_MAX:
        run.fault(None, f"expected sizes of tp, cp and ep up to {RANKS_MAX}, and of pp up to {STAGES_MAX}")
        run.tp = run.pp = run.cp = run.ep = 1
        return
    is_dp_outermost = run.given("--use-tp-pp-dp-mapping")
    is_folded = max(run.tp, run.cp, etp) > 1 if run.ep > 1 else etp != run.tp
    is_axis = run.ep > 1 and not is_folded
    for key, name, size in (("tp", "--tensor-model-parallel-size", run.tp), ("pp", "--pipeline-model-parallel-size", run.pp),
                            ("cp", "--context-parallel-size", run.cp), ("ep", "--expert-model-parallel-size", run.ep if is_axis else 1)):
        if size > 1:
            run.set(f"mesh.{key}", name, size)
    _set_replicas(run, run.ep if is_axis else 1)
    run.set("mesh.order", "--use-tp-pp-dp-mapping", f"[{'dp, pp' if is_dp_outermost else 'pp, dp'}, {'ep, ' if is_axis else ''}cp, tp]")
    if is_folded:
        _set_expert_mesh(run, etp, is_dp_outermost)


# ---- pipeline stages ----

def set_schedule(run: Run) -> None:
    if run.pp == 1:
        run.set("schedule.kind", "", "1f1b")  # a stage alone has no order
        return
    _set_stages(run)
    run.set("schedule.kind", "", "interleaved" if run.vpp > 1 else "1f1b")
    if run.vpp <= 1:
        return
    run.set("schedule.v", f"{LAYOUT} --num-layers-per-virtual-pipeline-stage --num-virtual-stages-per-pipeline-rank --virtual-pipeline-model-parallel-size",
            run.vpp)
    run.set_positive("schedule.group", "--microbatch-group-size-per-virtual-pipeline-stage", 1)
    if run.given("--no-overlap-p2p-communication"):
        run.set("schedule.sends", "--no-overlap-p2p-communication", "blocking")


def _set_stages(run: Run) -> None:
    """DeepSpeed shares out what a pattern names: "type:transformer|embedding" has the embedding at both ends, where it is the output layer, too.
    Source: deepspeed.runtime.pipe.module, _partition_layers."""
    method = run.value("--pp-partition-method") or ""
    counts_both = method.startswith("type:") and "mbedding" in method
    embedding = int(run.given("--account-for-embedding-in-pipeline-split") or counts_both)
    loss = int(run.given("--account-for-loss-in-pipeline-split") or counts_both)
    has_ends = any([run.given(FIRST), run.given(LAST)])
    run.vpp = 1
    if run.value(LAYOUT) is not None:
        _set_layout(run)
        return
    run.vpp = _chunks(run, run.layers + embedding + loss)
    if run.pp * run.vpp > STAGES_MAX:
        run.fault("--num-virtual-stages-per-pipeline-rank", f"expected at most {STAGES_MAX} virtual stages, got {run.pp * run.vpp}")
        run.vpp = 1
    elif has_ends and run.layers > 0:
        _set_ends(run)
    elif run.layers > 0:
        _set_even(run, embedding, loss)


def _set_list(run: Run, names: str, layers: Sequence[int]) -> None:
    """Layers of every virtual stage; stage s is chunk s / pp of rank s mod pp."""
    run.set("schedule.stage_layers", names, f"[{', '.join(map(str, layers))}]")


def _set_layout(run: Run) -> None:
    layout = run.parsed(LAYOUT, read_layout)
    modules = run.count("--mtp-num-layers", 0, 0)
    if layout is None:
        return
    stages = len(layout.layers)
    if stages % run.pp or stages > STAGES_MAX:
        run.fault(LAYOUT, f"expected a multiple of {run.pp} stages, up to {STAGES_MAX}, got {stages}")
    elif sum(layout.layers) != run.layers or layout.mtp_layers != modules:
        run.fault(LAYOUT, f"expected {run.layers} layers and {modules} prediction modules, got {sum(layout.layers)} and {layout.mtp_layers}")
    else:
        run.vpp = stages // run.pp
        _set_list(run, LAYOUT, layout.layers)
    if layout.loss_stage != stages - 1 or layout.mtp_stage not in (-1, stages - 1):
        run.differs(LAYOUT, TIME, "prediction modules and output layer are on the last stage")


def _chunks(run: Run, counted_layers: int) -> int:
    """Virtual stages of a rank by the layers of one, or by their number."""
    per_stage_name, number_name = "--num-layers-per-virtual-pipeline-stage", "--num-virtual-stages-per-pipeline-rank"
    per_stage, number = run.count(per_stage_name, 1, 0), run.count(number_name, 1, 0)
    if per_stage > 0 and number > 0:
        run.fault(number_name, f"expected one of it and {per_stage_name}, got both")
    if per_stage == 0:
        return number or run.count("--virtual-pipeline-model-parallel-size", 1, 1)
    of_rank = counted_layers // run.pp
    if counted_layers % run.pp or of_rank % per_stage:
        run.fault(per_stage_name, f"expected a divisor of the {of_rank} layers on each of {run.pp} pipeline ranks, got {per_stage}")
        return 1
    return of_rank // per_stage


def _set_ends(run: Run) -> None:
    """Stages of pipeline ranks of which the first and the last are said."""
    first, last = run.count(FIRST, 0, -1), run.count(LAST, 0, -1)
    ranks = run.pp - (first >= 0) - (last >= 0)
    rest = run.layers - max(first, 0) - max(last, 0)
    if ranks < 0 or (rest != 0 if ranks == 0 else rest < 0 or rest % ranks):
        run.fault(FIRST if first >= 0 else LAST, f"expected a rest of the {run.layers} layers that {ranks} pipeline ranks share evenly, got {rest}")
        return
    share = rest // ranks if ranks else 0
    first, last = share if first < 0 else first, share if last < 0 else last
    if any(layers % run.vpp for layers in (first, share, last)):
        run.fault(FIRST, f"expected {first}, {share} and {last} layers of ranks to be multiples of {run.vpp} virtual stages")
        return
    of_rank = [first, *[share] * (run.pp - 2), last]
    _set_list(run, f"{FIRST} {LAST}", [layers // run.vpp for layers in of_rank] * run.vpp)


def _set_even(run: Run, embedding: int, loss: int) -> None:
    """Embedding and loss may count as a layer each."""
    by_embedding, by_loss = "--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"
    counted, stages = run.layers + embedding + loss, run.pp * run.vpp
    share = counted // stages
    if counted % stages or share - embedding - (loss if stages == 1 else 0) < 0:
        ends = " with embedding and loss" if embedding + loss else ""
        run.fault("--pipeline-model-parallel-size", f"expected a divisor of {counted} layers{ends}, got {stages} stages")
        return
    if share == 1 and embedding + loss > 0:  # ends that have the embedding or the loss alone
        _set_list(run, f"{by_embedding} {by_loss} --pp-partition-method", [1 - embedding, *[1] * (stages - 2), 1 - loss])
        return
    if embedding > 0:
        run.set("schedule.first_stage_layers", f"{by_embedding} --pp-partition-method", share - 1)
    if loss > 0:
        run.set("schedule.last_stage_layers", f"{by_loss} --pp-partition-method", share - 1)


# ---- the batch ----

def set_batch(run: Run) -> None:
    micro = run.size("batch.micro", "--micro-batch-size")
    steps = "--step-batch-size-schedule"
    batches = (run.parsed(steps, read_steps) or []) if run.value(steps) is not None else []
    if len(batches) > 1:
        # the largest of a schedule's batches is that of most of its steps
        run.differs(steps, NOTHING, "a step of one of its batches, the largest unless batch.global says another")
    total = run.count("--global-batch-size", 1, 0) or run.facts.global_batch or max(batches, default=0)
    if run.given("--rampup-batch-size"):
        run.differs("--rampup-batch-size", NOTHING, "a step of the final batch")
    if total > 0:
        run.set("batch.global", f"--global-batch-size {steps}", total)
    elif micro > 0:
        run.set("batch.microbatches", "", 1)  # the default: one on each replica
