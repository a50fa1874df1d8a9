"""`export megatron`: a job as the arguments of Megatron-LM, in a script that can be sourced or run. What they leave unsaid is found by importing them.

Source: Megatron-LM, megatron.training.arguments.
"""

from __future__ import annotations

import itertools
import re
from typing import Any, Iterator, List, Optional, Tuple

from meshsim.tools._describe import Kind
from meshsim.tools.exporters._compare import Exported, Unsaid, comments, compare, name_of, reasons_for
from meshsim.tools.exporters._job import Job, adopt, is_close
from meshsim.tools.exporters._read_back import FILE, ReadBack, read_back
from meshsim.tools.importers import megatron_model, megatron_state
from meshsim.tools.importers.megatron import Text, draft
from meshsim.tools.importers.megatron_run import Pairs

KIND = Kind("megatron WORKLOAD.yaml", "the arguments of Megatron-LM, as a shell script",
            "megatron writes a shell script that holds an array of the arguments, to source, to paste from, or to run with the arguments of data and tokenizer behind it.", writes=".sh")
SOFTWARE = "Megatron-LM"
HAS_COMMENTS = True
USUAL_FRAMEWORK = "megatron-core"

# ---- words that stand for words of a workload: those of the importer in the other direction ----

RECIPES = {pair: name for name, pair in megatron_state.RECIPES.items()}
"""--fp8-recipe by precision.products and precision.scaling"""
CP_TYPES = {kind: name for name, kind in reversed(megatron_state.CP_TYPES.items())}
"""--cp-comm-type by context_parallel.kind"""
RECOMPUTED = {part: name for name, part in megatron_state.RECOMPUTED.items()}
"""--recompute-modules by recompute_parts; the attention's core is `recompute: selective`"""
MOMENT_TYPES_B = {"fp32": 4, "bf16": 2, "fp8": 1}
"""types that the precision-aware optimizer keeps a moment in, and their bytes"""


class Arguments:
    """The arguments of a job, in their order."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.lines: List[str] = []

    def say(self, flag: str, value: Any = None) -> None:
        """Add an argument; a value that is no word of a shell is quoted."""
        text = "" if value is None else str(value)
        quote = "" if re.fullmatch(r"[\w.,:/+=% -]+", text, re.ASCII) or value is None else "'"
        self.lines.append(f"    {flag}" if value is None else f"    {flag} {quote}{text}{quote}")

    def say_if(self, flag: str, is_said: bool) -> None:
        """Add an argument without a value where something holds."""
        if is_said:
            self.say(flag)

    def say_count(self, flag: str, count: int, usual: int) -> None:
        """Add a count that is not its usual one."""
        if count != usual:
            self.say(flag, count)

    def say_pairs(self, pairs: Pairs) -> None:
        """Add those of the importer's pairs whose keys have the values that they give."""
        for flag, key, given, *_ in pairs:
            value = self.job.text(key)
            if given:
                self.say_if(flag, value == given)
            elif value[0] in "123456789":
                self.say(flag, value)


# ---- the model ----

def _say_sizes(args: Arguments, job: Job) -> None:
    for flag, key in (("--num-layers", "layers"), ("--hidden-size", "hidden"), ("--ffn-hidden-size", "ffn")):
        args.say(flag, job.text(f"model.{key}"))
    _say_heads(args, job)
    args.say("--seq-length", job.text("model.sequence"))
    args.say("--max-position-embeddings", job.text("model.sequence"))
    if job.vocab > 0:
        args.say("--vocab-size", job.vocab)
    args.say_count("--mtp-num-layers", job.count("model.mtp_layers"), 0)


def _say_heads(args: Arguments, job: Job) -> None:
    hidden, heads, groups, head_dim = (job.count(f"model.{key}") for key in ("hidden", "heads", "kv_heads", "head_dim"))
    has_latent = job.count("model.mla.kv_rank") > 0
    usual_dim = job.count("model.mla.qk_nope") + job.count("model.mla.qk_rope") if has_latent else hidden / heads
    args.say("--num-attention-heads", heads)
    if groups != heads:
        args.say("--group-query-attention")
        args.say("--num-query-groups", groups)
    if head_dim != usual_dim:
        args.say("--kv-channels", head_dim)


def _say_parts(args: Arguments, job: Job) -> None:
    has_latent, has_bias = job.count("model.mla.kv_rank") > 0, job.is_true("model.bias")
    dropout, window = f"{job.number('model.dropout'):.15g}", job.count("model.window")
    args.say("--normalization", "RMSNorm" if job.text("model.norm") == "rms" else "LayerNorm")
    args.say("--position-embedding-type", "learned_absolute" if job.text("model.positions") == "learned" else "rope")
    args.say_if("--swiglu", job.is_true("model.gated"))
    args.say_if("--disable-bias-linear", not has_bias)
    args.say_if("--add-qkv-bias", "qkv" in job.words("model.biases") and not has_bias and not has_latent)
    args.say_if("--qk-layernorm", job.is_true("model.qk_norm") and not has_latent)
    args.say("--hidden-dropout", dropout)
    args.say("--attention-dropout", dropout)
    if window > 1:
        args.say("--window-size", f"{window - 1},0")
        args.say_count("--window-attn-skip-freq", job.count("model.window_skip_freq"), 0)
    if has_latent:
        args.say("--multi-latent-attention")
        args.say_pairs(megatron_model.LATENT_PAIRS)
    args.say_pairs(megatron_model.MODEL_PAIRS)


def _say_kernels(args: Arguments, job: Job) -> None:
    """Megatron-LM's own layers attend over the score matrix, which they keep; Transformer Engine's where asked to. Experts' layers have the engine's
    products beside either."""
    has_scores = "scores" in job.words("memory.buffers")
    is_unfused, loss = job.text("model.attention") == "unfused", job.text("model.loss")
    if job.text("memory.libraries") == "torch" or (has_scores and job.node("model.moe")):
        args.say("--transformer-impl", "local")
        args.say_if("--use-flash-attn", not is_unfused)
    elif is_unfused:
        args.say("--attention-backend", "unfused")
    args.say_if("--cross-entropy-loss-fusion", loss in ("transformer_engine", "compiled"))
    if loss == "transformer_engine":
        args.say("--cross-entropy-fusion-impl", "te")


def _say_experts(args: Arguments, job: Job) -> None:
    shared, capacity = job.count("model.moe.shared_experts"), job.number("model.moe.capacity_factor")
    if not job.node("model.moe"):
        return
    args.say("--num-experts", job.text("model.moe.experts"))
    args.say_pairs(megatron_model.EXPERT_PAIRS)
    _say_frequency(args, job)
    if shared > 0:
        args.say("--moe-shared-expert-intermediate-size", shared * job.count("model.moe.shared_ffn"))
        args.say_if("--moe-shared-expert-overlap", job.text("model.moe.overlap") == "shared")
    if capacity > 0:
        args.say("--moe-expert-capacity-factor", f"{capacity:.15g}")
        args.say_if("--moe-pad-expert-input-to-capacity", job.is_true("model.moe.pad"))
    args.say_if("--moe-grouped-gemm", "grouped_products" in job.words("memory.buffers"))


def _say_frequency(args: Arguments, job: Job) -> None:
    """Which layers have experts, as a list expression: "([0]*3+[1]*58)"."""
    dense = set(job.words("model.moe.dense_layers"))
    flags = [int(str(layer) not in dense) for layer in range(job.count("model.layers"))]
    if dense:
        args.say("--moe-layer-freq", "(" + "+".join(f"[{flag}]*{len(list(run))}" for flag, run in itertools.groupby(flags)) + ")")


# ---- the mesh ----

def _is_dp_outermost(job: Job) -> bool:
    first = next((name for name in job.words("mesh.order") if name in ("dp", "pp")), "")
    return first == "dp" and job.axis("pp") > 1


def _say_mesh(args: Arguments, job: Job) -> None:
    """Beside several tp ranks experts ask for sequence parallelism, whether the job has it or not."""
    tp, cp = job.axis("tp"), job.axis("cp")
    has_sequence = job.is_true("tensor_parallel.sequence")
    own_ep = job.count("expert_mesh.ep")
    has_moe = bool(job.node("model.moe"))
    has_experts = has_moe and (own_ep > 0 or job.axis("ep") > 1)
    args.say_count("--tensor-model-parallel-size", tp, 1)
    args.say_count("--pipeline-model-parallel-size", job.axis("pp"), 1)
    args.say_count("--context-parallel-size", cp, 1)
    if has_moe:
        args.say_count("--expert-model-parallel-size", own_ep or job.axis("ep"), 1)
        args.say_count("--expert-tensor-parallel-size", job.count("expert_mesh.tp") if own_ep > 0 else tp, tp)
    args.say_if("--use-tp-pp-dp-mapping", _is_dp_outermost(job))
    args.say_if("--sequence-parallel", tp > 1 and (has_sequence or has_experts))
    args.say_if("--tp-comm-overlap", tp > 1 and has_sequence and job.text("tensor_parallel.overlap") == "ring")
    if cp > 1:
        args.say("--cp-comm-type", CP_TYPES[job.text("context_parallel.kind")])


# ---- stages ----

def _say_stages(args: Arguments, job: Job) -> None:
    """The stages of a job whose order deals them to the ranks in turn; of any other order all stages of a rank are one."""
    pp = job.axis("pp")
    layers = job.stage_layers if job.is_dealt() else job.layers_of_ranks()
    chunks = len(layers) // pp
    is_even = len(set(layers)) == 1
    if pp > 1 and is_even and chunks > 1:
        args.say("--num-layers-per-virtual-pipeline-stage", layers[0])
    elif pp > 1 and not is_even and not _say_ends(args, layers, chunks):
        args.say("--pipeline-model-parallel-layout", _layout(layers, job.count("model.mtp_layers")))
    if pp > 1 and chunks > 1:
        args.say_count("--microbatch-group-size-per-virtual-pipeline-stage", job.count("schedule.group"), 0)
        args.say_if("--no-overlap-p2p-communication", job.text("schedule.sends") == "blocking")
    args.say("--micro-batch-size", job.text("batch.micro"))
    args.say("--global-batch-size", job.text("batch.global"))


def _say_ends(args: Arguments, layers: List[int], chunks: int) -> bool:
    """Ends of which one or both have a layer less than the others, as embedding and loss count as one.  Returns whether they are said."""
    middle = layers[1] if len(layers) > 2 and len(set(layers[1:-1])) == 1 else 0
    is_said = middle > 0 and all(end in (middle, middle - 1) for end in (layers[0], layers[-1]))
    if is_said:
        args.say_count("--num-virtual-stages-per-pipeline-rank", chunks, 1)
        args.say_if("--account-for-embedding-in-pipeline-split", layers[0] < middle)
        args.say_if("--account-for-loss-in-pipeline-split", layers[-1] < middle)
    return is_said


def _layout(layers: List[int], mtp_layers: int) -> str:
    """Layers of every virtual stage as Megatron-LM writes them: "Et*3|(t*4|)*6t*2mL"."""
    def part(count: int) -> str:
        return "" if count == 0 else "t" if count == 1 else f"t*{count}"
    middle = ""
    for count, run in itertools.groupby(layers[1:-1]):
        length = len(list(run))
        middle += f"({part(count)}|)*{length}" if length > 1 else f"{part(count)}|"
    return f"E{part(layers[0])}|{middle}{part(layers[-1])}{'m' * mtp_layers}L"


# ---- precision ----

def _say_precision(args: Arguments, job: Job, has_fsdp: bool) -> None:
    parameters, gradients = job.text("precision.parameters"), job.text("precision.gradients")
    args.say_if("--bf16", parameters == "bf16")
    args.say_if("--fp16", parameters == "fp16")
    args.say_if("--accumulate-allreduce-grads-in-fp32", parameters == "fp16" and gradients == "fp32")
    args.say_if("--grad-reduce-in-bf16", parameters == gradients == "bf16")
    _say_optimizer(args, job, has_fsdp)
    if job.text("precision.products") != "parameters":
        _say_products(args, job)


def _say_optimizer(args: Arguments, job: Job, has_fsdp: bool) -> None:
    """What the optimizer keeps of a parameter. Adam with moments in fp32 is usual; with fewer bytes it is the precision-aware one, which beside bf16 keeps
    half a master copy, and which an offloaded optimizer is in any case; else SGD with a momentum."""
    bytes_B, parameters = job.number("precision.optimizer"), job.text("precision.parameters")
    is_single = parameters == "fp32"
    master_B = 0 if is_single and not has_fsdp else 4
    moments_B = bytes_B - (2 if parameters == "bf16" else 4)
    is_usual = is_close(bytes_B, master_B + 8)
    may_be_aware = not is_single and job.count("data_parallel.zero") > 0
    if is_usual:
        args.say_if("--use-precision-aware-optimizer", job.is_true("data_parallel.offload") and may_be_aware)
    elif may_be_aware and 2 <= moments_B <= 8:
        args.say("--use-precision-aware-optimizer")
        for flag, moment in zip(("--exp-avg-dtype", "--exp-avg-sq-dtype"), _moment_types(moments_B) or ()):
            args.say(flag, moment)
    elif is_close(bytes_B, master_B + 4):
        args.say("--optimizer", "sgd")


def _moment_types(moments_B: float) -> Optional[Tuple[str, str]]:
    """Types of Adam's moments that together have so many bytes, alike if there are such; None: there are none."""
    pairs = sorted(itertools.product(MOMENT_TYPES_B, repeat=2), key=lambda pair: pair[0] != pair[1])
    return next((pair for pair in pairs if is_close(sum(MOMENT_TYPES_B[name] for name in pair), moments_B)), None)


def _say_products(args: Arguments, job: Job) -> None:
    first, last = job.count("precision.first_plain_layers"), job.count("precision.last_plain_layers")
    products, attention = job.text("precision.products"), job.text("precision.attention")
    if products == "nvfp4":
        args.say("--fp4-format", "e2m1")
    else:
        args.say("--fp8-format", "hybrid")
        recipe = RECIPES.get((products, "" if products == "mxfp8" else job.text("precision.scaling")))
        if recipe is not None:  # scales of rows: no recipe has them
            args.say("--fp8-recipe", recipe)
    if first > 0 or last > 0:
        args.say("--first-last-layers-bf16")
        args.say("--num-layers-at-start-in-bf16", first)
        args.say("--num-layers-at-end-in-bf16", last)
    args.say_if("--fp8-dot-product-attention", attention in ("fp8_dot_product", "fp8_multi_head"))
    args.say_if("--fp8-multi-head-attention", attention == "fp8_multi_head")
    args.say_pairs(megatron_state.FEW_BITS_PAIRS)


# ---- replicas, recomputation, buffers ----

def _say_state(args: Arguments, job: Job) -> None:
    """Zero 3 that keeps its parameters is PyTorch's FSDP2, all else from zero 2 on Megatron's own."""
    zero = job.count("data_parallel.zero")
    has_torch = zero == 3 and job.is_true("data_parallel.keep_parameters")
    has_fsdp = zero >= 2 and not has_torch
    _say_precision(args, job, has_fsdp)
    args.say_if("--use-torch-fsdp2", has_torch)
    args.say_if("--torch-fsdp2-no-reshard-after-forward", has_torch)
    args.say_if("--use-megatron-fsdp", has_fsdp)
    if has_fsdp:
        args.say("--data-parallel-sharding-strategy", megatron_state.STRATEGIES[zero])
    args.say_if("--use-distributed-optimizer", zero > 0 and not has_torch)
    args.say_count("--num-distributed-optimizer-instances", job.count("data_parallel.copies"), 1)
    if not has_torch:  # which overlaps by itself
        _say_overlaps(args, job, zero)
    args.say_pairs(megatron_state.DATA_PAIRS)
    _say_recompute(args, job)
    offloaded = [" ".join(modules) for part, modules in megatron_state.OFFLOADED.items() if part in job.words("memory.offload")]
    if offloaded:
        args.say("--fine-grained-activation-offloading")
        args.say("--offload-modules", " ".join(offloaded))
    args.say_if("--deterministic-mode", is_close(job.number("memory.cublas_workspace"), megatron_state.DETERMINISTIC_MIB * 2**20))


def _say_overlaps(args: Arguments, job: Job, zero: int) -> None:
    """Parameters are gathered ahead only beside gradients that are reduced so: Megatron-LM asks for it."""
    elements = job.number("data_parallel.bucket") / job.dtype_B("precision.gradients")
    has_reduce = job.is_true("data_parallel.overlap_reduce")
    has_size = job.text("data_parallel.bucketing") not in ("stages", "capped")
    args.say_if("--overlap-grad-reduce", has_reduce)
    args.say_if("--overlap-param-gather", zero > 0 and job.is_true("data_parallel.overlap_gather") and has_reduce)
    if has_reduce and has_size and 1 <= elements <= 1e9 and is_close(elements, int(elements)):
        args.say("--ddp-bucket-size", int(elements))


def _say_recompute(args: Arguments, job: Job) -> None:
    kind, layers = job.text("recompute"), job.count("recompute_layers")
    if kind == "full":
        args.say("--recompute-granularity", "full")
        args.say("--recompute-method", "block" if layers > 0 else "uniform")
        args.say("--recompute-num-layers", layers or 1)
        return
    has = {"norms": True, "latent_up": job.count("model.mla.kv_rank") > 0, "activations": bool(job.node("model.moe"))}
    modules = ["core_attn"] * (kind == "selective")
    modules += [module for part, module in RECOMPUTED.items() if part in job.words("recompute_parts") and has[part]]
    if modules:
        args.say("--recompute-granularity", "selective")
        args.say("--recompute-modules", " ".join(modules))


# ---- the file ----

def _launcher(job: Job) -> str:
    local = next(count for count in range(min(job.gpus, job.node_gpus), 0, -1) if job.gpus % count == 0)
    return f"torchrun --nproc_per_node {local} --nnodes {job.gpus // local}"


def _body(job: Job, lines: List[str]) -> str:
    return "\n".join([f"LAUNCHER=({_launcher(job)})", "MEGATRON_ARGS=(", *lines, ")", 'if [[ "${BASH_SOURCE[0]}" == "$0" ]]; then',
                      '    exec "${LAUNCHER[@]}" pretrain_gpt.py "${MEGATRON_ARGS[@]}" "$@"', "fi", ""])


def _head(job: Job, unsaid: List[Unsaid]) -> str:
    told = f"# What no argument says, and what Megatron-LM then does:\n{comments(unsaid, SOFTWARE)}" if unsaid else ""
    return (f"#!/bin/bash\n# Exported by meshsim: the arguments of Megatron-LM for\n{name_of(job)}"
            f"# Source it for MEGATRON_ARGS, or run it with those of data, tokenizer and learning rate behind it.\n{told}")


# ---- reading it back ----

def _tell_arguments(back: ReadBack) -> Iterator[Unsaid]:
    """Arguments that the importer, too, simulates otherwise."""
    for row in back.keys:
        if row.why.startswith("simulated otherwise"):
            yield Unsaid(row.key, "", "", row.why)
        elif row.key == "--optimizer":
            yield Unsaid(row.key, row.value, "", "chosen by its bytes, all that a workload says of it")


def _find_unsaid(job: Job, lines: List[str]) -> List[Unsaid]:
    """What is read back is the command that the script runs: an importer needs no shell for it."""
    name = job.text("framework.name")
    command = " \\\n".join([f"{_launcher(job)} pretrain_gpt.py", *lines]) + "\n"
    back = read_back(job, name if name.startswith(USUAL_FRAMEWORK) else USUAL_FRAMEWORK, lambda call: draft(call, [Text(FILE, command)]))
    unsaid = [Unsaid(key, job.text(key), "", "an argument must say it, and none says this") for key in back.open_keys]
    return [*unsaid, *compare(job, adopt(job, list(back.tree.items())), reasons_for("megatron")), *_tell_arguments(back)]


def write(job: Job) -> Exported:
    """The arguments of Megatron-LM, as a shell script with an array of them."""
    args = Arguments(job)
    for say in (_say_sizes, _say_parts, _say_kernels, _say_experts, _say_mesh, _say_stages, _say_state):
        say(args, job)
    unsaid = _find_unsaid(job, args.lines)
    return Exported(_head(job, unsaid) + _body(job, args.lines), unsaid)
