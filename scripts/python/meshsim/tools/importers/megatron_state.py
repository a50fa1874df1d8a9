"""Precision, sharding, overlaps, recomputation and buffers of Megatron-LM's arguments.

Source: Megatron-LM, megatron.training.arguments, megatron.core.optimizer, megatron.core.tensor_parallel.random (checkpoint), megatron.core.distributed.
"""

from __future__ import annotations

from typing import Optional

from .megatron_arguments import MEMORY, TIME
from .megatron_run import LAUNCH_BLOCKING, Pairs, Run

DETERMINISTIC_MIB = 32
"""workspace of cuBLAS with --deterministic-mode, :4096:8.  Source: PyTorch, torch.use_deterministic_algorithms; NVIDIA cuBLAS documentation"""
RECIPES = {"delayed": ("fp8", "delayed"), "tensorwise": ("fp8", "current"), "blockwise": ("fp8", "blockwise"), "mxfp8": ("mxfp8", "")}
"""--fp8-recipe: precision.products and precision.scaling"""
CP_TYPES = {"p2p": "ring", "a2a": "all_to_all", "allgather": "all_gather", "a2a+p2p": "ring"}
RECOMPUTED = {"layernorm": "norms", "mla_up_proj": "latent_up", "moe_act": "activations"}
"""--recompute-modules; the attention's core is `recompute: selective`"""
NOT_RECOMPUTED = {"mlp": "the dense MLP is not recomputed", "moe": "the experts' layer is not recomputed", "shared_experts": "shared experts are not recomputed"}
OFFLOADED = {"norms": ("attn_norm", "mlp_norm"), "attention": ("core_attn",), "experts": ("expert_fc1",)}
"""memory.offload: --offload-modules"""
STRATEGIES = ["no_shard", "optim", "optim_grads", "optim_grads_params"]
"""--data-parallel-sharding-strategy, by stages of ZeRO"""
DATA_PAIRS = [("--optimizer-cpu-offload", "data_parallel.offload", "true", None, 0)]
FEW_BITS_PAIRS: Pairs = [("--no-fp8-wgrad", "precision.weight_gradients", "parameters", None, 0),
                         ("--tp-only-amax-red", "precision.amax_group", "tensor", "replicas", 0),
                         ("--fp8-param-gather", "precision.parameter_gathers", "products", "parameters", 0)]
TYPES_B = {"fp32": 4, "float32": 4, "bf16": 2, "bfloat16": 2, "fp16": 2, "float16": 2, "fp8": 1, "uint8": 1}


# ---- types ----

def set_precision(run: Run) -> None:
    is_fp16, is_bf16, is_fp8 = run.given("--fp16"), run.given("--bf16"), run.given("--fp8-format")
    if is_fp16 and is_bf16:
        run.fault("--fp16", "expected one of it and --bf16, got both")
    run.set("precision.parameters", "--bf16 --fp16", "fp16" if is_fp16 else "bf16" if is_bf16 else "fp32")
    run.set("precision.gradients", "--accumulate-allreduce-grads-in-fp32 --grad-reduce-in-bf16 --main-grads-dtype --megatron-fsdp-main-grads-dtype",
            _gradients(run))
    run.set("precision.optimizer", "--optimizer --use-precision-aware-optimizer --main-params-dtype --exp-avg-dtype --exp-avg-sq-dtype "
                                   "--megatron-fsdp-main-params-dtype", f"{_optimizer_B(run, not is_fp16 and not is_bf16, is_bf16):g} B")
    if is_fp8 or run.given("--fp4-format"):
        _set_few_bits(run)


def _type_B(run: Run, name: str) -> int:
    """Bytes of a type that the precision-aware optimizer keeps something in."""
    value = run.value(name)
    if value is not None and value not in TYPES_B:
        run.fault(name, f"expected fp32, fp16, bf16 or fp8, got '{value}'")
    return TYPES_B.get(value or "", 4)


def _gradients(run: Run) -> str:
    """Beside bf16 gradients are accumulated in fp32 unless said otherwise, beside fp16 in fp16."""
    if run.given("--fp16"):
        return "fp32" if run.given("--accumulate-allreduce-grads-in-fp32") else "fp16"
    is_aware = run.given("--use-precision-aware-optimizer")
    is_short = run.given("--grad-reduce-in-bf16") or (is_aware and _type_B(run, "--main-grads-dtype") < 4) or \
        (run.is_fsdp and _type_B(run, "--megatron-fsdp-main-grads-dtype") < 4)
    return "bf16" if run.given("--bf16") and is_short else "fp32"


def _optimizer_B(run: Run, is_single: bool, is_bf16: bool) -> float:
    """Master copy and moments. Parameters in fp32 are their own master copy, but for Megatron's FSDP, which makes one of all parameters. Beside working
    parameters in bf16 the precision-aware optimizer keeps of a master copy in fp32 the 16 bits that these lack.
    Source: megatron.core.optimizer (fp32 groups of the distributed optimizer are views of the model's; store_param_remainders with Transformer Engine 2.1
    and later); Megatron-FSDP, ParamAndGradBuffer (the buffer of main weights, preserve_fp32_weights)."""
    optimizer = run.value("--optimizer") or "adam"
    master_B, moments_B = 0 if is_single and not run.is_fsdp else 4, 8
    if optimizer == "sgd" or "muon" in optimizer:
        moments_B = 4
    elif optimizer != "adam":
        run.fault("--optimizer", f"expected adam, sgd or muon, got '{optimizer}'")
    if run.given("--use-precision-aware-optimizer") and not is_single:
        given_B = _type_B(run, "--main-params-dtype")
        master_B = 2 if given_B > 2 and is_bf16 else given_B
        moments_B = _type_B(run, "--exp-avg-dtype") + _type_B(run, "--exp-avg-sq-dtype")
    return master_B + moments_B


def _set_few_bits(run: Run) -> None:
    recipe = run.value("--fp8-recipe") or "delayed"
    if run.given("--fp4-format"):
        run.set("precision.products", "--fp4-format", "nvfp4")
    elif recipe not in RECIPES:
        run.fault("--fp8-recipe", f"expected delayed, tensorwise, blockwise or mxfp8, got '{recipe}'")
    else:
        products, scaling = RECIPES[recipe]
        run.set("precision.products", "--fp8-format --fp8-recipe", products)
        if scaling:
            run.set("precision.scaling", "--fp8-recipe", scaling)
    if run.given("--first-last-layers-bf16"):
        for key, name in (("first", "--num-layers-at-start-in-bf16"), ("last", "--num-layers-at-end-in-bf16")):
            run.set(f"precision.{key}_plain_layers", f"--first-last-layers-bf16 {name}", run.count(name, 0, 1))
    attention = run.fp8_attention()
    if attention is not None:
        run.set("precision.attention", attention, "fp8_multi_head" if "multi-head" in attention else "fp8_dot_product")
    run.pairs(FEW_BITS_PAIRS)


# ---- replicas ----

def set_data(run: Run) -> None:
    _set_tensor(run)
    _set_context(run)
    _set_sharding(run)


def _set_tensor(run: Run) -> None:
    is_plain = run.experts == 0 and not run.given("--multi-latent-attention")
    if run.tp > 1:
        run.set("tensor_parallel.sequence", "--sequence-parallel", run.has_sequence)
    if run.given("--tp-comm-overlap") and run.has_sequence and is_plain:
        run.set("tensor_parallel.overlap", "--tp-comm-overlap", "ring")
    elif run.has_sequence and not is_plain:
        run.differs("--tp-comm-overlap", TIME, "products of layers with experts or latents are not cut in pieces")


def _set_context(run: Run) -> None:
    """The first type where layers have several; the two-level one is a ring here. DeepSpeed's sequence parallelism (Ulysses) changes heads for tokens."""
    types = run.words("--cp-comm-type") if run.given("--cp-comm-type") else ["p2p"]
    if run.cp <= 1:
        return
    argument = run.get("--context-parallel-size")
    if argument is not None and argument.name == "--ds-sequence-parallel-size":
        run.set("context_parallel.kind", "--context-parallel-size", "all_to_all")
    elif types[0] not in CP_TYPES:
        run.fault("--cp-comm-type", f"expected p2p, a2a, allgather or a2a+p2p, got '{' '.join(types)}'")
    else:
        run.set("context_parallel.kind", "--cp-comm-type", CP_TYPES[types[0]])
        if types[0] == "a2a+p2p" or len(types) > 1:
            run.differs("--cp-comm-type", TIME, "it has one level, a ring" if types[0] == "a2a+p2p" else "all layers have the first type")


def _zero(run: Run) -> int:
    """The stage of ZeRO that the arguments ask for."""
    name = "--data-parallel-sharding-strategy"
    if run.given("--use-torch-fsdp2"):
        return 3
    is_distributed = run.given("--use-distributed-optimizer")
    if not run.is_fsdp:
        return int(is_distributed)
    strategy = run.value(name) or STRATEGIES[0]
    if strategy not in STRATEGIES:
        run.fault(name, f"expected no_shard, optim, optim_grads or optim_grads_params, got '{strategy}'")
        return 0
    return STRATEGIES.index(strategy)


def _engines_zero(run: Run) -> Optional[int]:
    """The stage that --zero-stage asks for; None: the profile's, as in bf16, where stage 0 is an engine of its own that shards the optimizer's state.
    Source: deepspeed/runtime/bf16_optimizer.py."""
    stage = run.count("--zero-stage", 0, 0)
    if stage > 3:
        run.fault("--zero-stage", f"expected a stage of ZeRO from 0 to 3, got {stage}")
    return stage if run.given("--fp16") or 1 < stage <= 3 else None


def _set_sharding(run: Run) -> None:
    zero = _engines_zero(run) if run.has_zero else _zero(run)
    if zero is not None:
        run.set("data_parallel.zero", "--use-distributed-optimizer --use-megatron-fsdp --use-custom-fsdp --use-torch-fsdp2 "
                                      "--data-parallel-sharding-strategy --zero-stage", zero)
    copies = run.count("--num-distributed-optimizer-instances", 1, 1)
    if copies > 1:
        run.set("data_parallel.copies", "--num-distributed-optimizer-instances", copies)
    overlaps_reduce, overlaps_gather = run.given("--overlap-grad-reduce"), run.given("--overlap-param-gather")
    is_torch = run.given("--use-torch-fsdp2")  # does both by itself
    run.set("data_parallel.overlap_reduce", "--overlap-grad-reduce", overlaps_reduce or is_torch)
    run.set("data_parallel.overlap_gather", "--overlap-param-gather", (zero or 0) > 0 and (overlaps_gather or is_torch))
    if zero == 3 and run.given("--torch-fsdp2-no-reshard-after-forward"):
        run.set("data_parallel.keep_parameters", "--torch-fsdp2-no-reshard-after-forward", True)
    run.pairs(DATA_PAIRS)
    if run.is_fsdp and (zero or 0) < 2:  # with more the profile's rule has no place
        run.set("data_parallel.bucketing", "--use-megatron-fsdp", "layers")
    bucket = run.count("--ddp-bucket-size", 1, 0)
    if bucket > 0 and overlaps_reduce:
        run.set("data_parallel.bucket", "--ddp-bucket-size", f"{(4 if _gradients(run) == 'fp32' else 2) * bucket} B")


# ---- memory ----

def set_memory(run: Run) -> None:
    is_local = run.value("--transformer-impl") == "local"
    if not run.is_old:
        # the products of a router are the engine's in any case
        run.set("memory.libraries", "--transformer-impl", "transformer_engine" if not is_local or run.experts > 0 else "torch")
        _set_buffers(run, is_local)
    if run.given("--deterministic-mode"):
        run.set("memory.cublas_workspace", "--deterministic-mode", f"{DETERMINISTIC_MIB} MiB")
    if run.given("--fine-grained-activation-offloading"):
        modules = run.words("--offload-modules")
        parts = [part for part, names in OFFLOADED.items() if any(name in modules for name in names)]
        run.set("memory.offload", "--fine-grained-activation-offloading --offload-modules", f"[{', '.join(parts)}]")
        run.differs("--fine-grained-activation-offloading", TIME, "copies to the host and back take no time")


def _set_buffers(run: Run, is_local: bool) -> None:
    """What a run holds of what its software may, and what its arguments add."""
    has_fused = not run.given("--no-gradient-accumulation-fusion")
    is_unfused = (is_local and not run.given("--use-flash-attn")) or run.value("--attention-backend") == "unfused"
    buffers = {"grouped_products": run.given("--moe-grouped-gemm"), "gather": run.has_sequence, "weight_gradients": has_fused and run.has_gradient_buffer,
               "scores": is_local and is_unfused, "main_gradients": run.given("--fp16"),
               "prefetched_parameters": run.is_fsdp and run.given("--overlap-param-gather")}
    run.set("memory.buffers", "--moe-grouped-gemm --no-gradient-accumulation-fusion --transformer-impl",
            f"[{', '.join(name for name, is_there in buffers.items() if is_there)}]")


# ---- recomputation ----

def set_recompute(run: Run) -> None:
    granularity = run.value("--recompute-granularity")
    is_old = any([run.given("--checkpoint-activations"), run.given("--activations-checkpoint-method")])
    if granularity == "full":
        _set_full(run, "--recompute-method", "--recompute-num-layers")
    elif granularity == "selective":
        _set_parts(run)
    elif granularity is not None and not (granularity == "none" and run.job.software.has_underscores):
        run.fault("--recompute-granularity", f"expected full or selective, got '{granularity}'")
    elif is_old:
        _set_full(run, "--activations-checkpoint-method", "--activations-checkpoint-num-layers")
    else:
        run.set("recompute", "--recompute-activations", "selective" if run.given("--recompute-activations") else "none")
    if run.given("--moe-layer-recompute"):
        run.differs("--moe-layer-recompute", MEMORY, "the experts' layer is not recomputed")


def _set_parts(run: Run) -> None:
    """Parts that are repeated by themselves."""
    name = "--recompute-modules"
    modules = run.words(name)
    parts = [part for module, part in RECOMPUTED.items() if module in modules]
    run.set("recompute", f"--recompute-granularity {name}", "selective" if not run.given(name) or "core_attn" in modules else "none")
    if parts:
        run.set("recompute_parts", name, f"[{', '.join(parts)}]")
    for module, why in NOT_RECOMPUTED.items():
        if module in modules:
            run.differs(name, MEMORY, why)


def _set_full(run: Run, method_name: str, count_name: str) -> None:
    """Whole layers: all of them in units, or the first ones of each virtual stage."""
    method, count = run.value(method_name), run.count(count_name, 0, 1)
    is_block = method == "block"
    if method not in (None, "block", "uniform"):
        run.fault(method_name, f"expected uniform or block, got '{method}'")
    run.set("recompute", "--recompute-granularity --checkpoint-activations --recompute-method --activations-checkpoint-method",
            "none" if is_block and count == 0 else "full")
    if is_block and count > 0:
        run.set("recompute_layers", "--recompute-num-layers --activations-checkpoint-num-layers", count)
    elif not is_block and count > 1:
        run.differs(count_name, MEMORY, "the input of every layer is kept, not of every unit")


def set_host(run: Run) -> None:
    """What the environment says of the host."""
    if run.value(LAUNCH_BLOCKING) == "1":
        run.set("host.sync", LAUNCH_BLOCKING, "[kernels]")
