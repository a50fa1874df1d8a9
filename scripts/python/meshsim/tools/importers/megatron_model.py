"""The model of Megatron-LM's arguments.

Source of names, defaults and what follows from what: Megatron-LM, megatron.training.arguments (validate_args), megatron.training.tokenizer
(_vocab_size_with_padding), megatron.core.models.gpt.gpt_layer_specs (moe_layer_freq); of Megatron-DeepSpeed megatron/model/transformer.py.
"""

from __future__ import annotations

import re
from typing import List

from .megatron_arguments import MEMORY, NOTHING, TIME
from .megatron_run import Pairs, Run
from .megatron_values import read_pattern

LAYERS_MAX, VOCAB_MAX = 100_000, 10_000_000
USUAL_DROPOUT, USUAL_DIVISOR = 0.1, 128
"""dropout, and what a vocabulary is padded to a multiple of, where none is given"""
MODEL_PAIRS: Pairs = [("--untie-embeddings-and-output-weights", "model.tied_embeddings", "false", "true", 0),
               ("--no-gradient-accumulation-fusion", "model.fused_accumulation", "false", "true", 0),
               ("--no-bias-dropout-fusion", "model.separate_dropout", "true", None, 0)]
LATENT_PAIRS: Pairs = [("--q-lora-rank", "model.mla.q_rank", None, "0", 0), ("--kv-lora-rank", "model.mla.kv_rank", None, "32", 1),
                ("--qk-head-dim", "model.mla.qk_nope", None, "128", 1), ("--qk-pos-emb-head-dim", "model.mla.qk_rope", None, "64", 1),
                ("--v-head-dim", "model.mla.v_dim", None, "128", 1)]
EXPERT_PAIRS: Pairs = [("--moe-router-topk", "model.moe.top_k", None, "2", 1), ("--moe-ffn-hidden-size", "model.moe.ffn", None, None, 1),
                ("--moe-router-enable-expert-bias", "model.moe.router_bias", "true", None, 0), ("--moe-router-fusion", "model.moe.router", "fused", None, 0)]


# ---- the model ----

def set_model(run: Run) -> None:
    is_latent = run.given("--multi-latent-attention")
    run.experts = _experts(run)
    run.set("model.type", "", "llama" if run.given("--swiglu") else "gpt")
    _set_sizes(run)
    run.pairs(MODEL_PAIRS)
    norm = run.value("--normalization")
    if norm not in (None, "LayerNorm", "RMSNorm"):
        run.fault("--normalization", f"expected LayerNorm or RMSNorm, got '{norm}'")
    run.set("model.norm", "--normalization", "rms" if norm == "RMSNorm" else "layer")
    _set_biases(run, is_latent)
    _set_positions(run)
    _set_dropout(run)
    _set_window(run)
    _set_kernels(run)
    if is_latent:
        run.pairs(LATENT_PAIRS, "--multi-latent-attention")
    run.set_positive("model.mtp_layers", "--mtp-num-layers", 0)


def _set_sizes(run: Run) -> None:
    layers = "--encoder-num-layers" if not run.given("--num-layers") and run.given("--encoder-num-layers") else "--num-layers"
    run.layers = run.size("model.layers", layers)
    if run.layers > LAYERS_MAX:
        run.fault(layers, f"expected at most {LAYERS_MAX} layers, got {run.layers}")
    hidden = run.size("model.hidden", "--hidden-size")
    _set_heads(run, hidden)
    is_swiglu = run.given("--swiglu")
    # Without a size a gated MLP has that of 4 h over two matrices in the place of one, as a multiple of 64.
    ffn = run.count("--ffn-hidden-size", 1, 0) or (4 * hidden * 2 // 3 // 64 * 64 if is_swiglu else 4 * hidden)
    if ffn > 0:
        run.set("model.ffn", "--ffn-hidden-size", ffn)
    run.set("model.gated", "--swiglu --quick-geglu", is_swiglu or run.given("--quick-geglu"))
    _set_vocab(run)
    is_encoder = not run.given("--seq-length") and run.given("--encoder-seq-length")
    run.size("model.sequence", "--encoder-seq-length" if is_encoder else "--seq-length")


def _set_heads(run: Run, hidden: int) -> None:
    heads = run.size("model.heads", "--num-attention-heads")
    if run.given("--group-query-attention"):
        run.set("model.kv_heads", "--group-query-attention --num-query-groups", run.count("--num-query-groups", 1, 1))
    elif run.given("--num-key-value-heads"):
        run.set("model.kv_heads", "--num-key-value-heads", run.count("--num-key-value-heads", 1, 1))
    channels = run.set_positive("model.head_dim", "--kv-channels", 1)
    if channels == 0 and heads > 0 and hidden % heads != 0:
        run.fault("--num-attention-heads", f"expected a divisor of --hidden-size {hidden}, or --kv-channels, got {heads}")


def _set_vocab(run: Run) -> None:
    """The vocabulary with its padding: of the model, of the tokenizer, or nobody knows."""
    multiple = run.count("--make-vocab-size-divisible-by", 1, USUAL_DIVISOR) * run.count("--tensor-model-parallel-size", 1, 1)
    padded = run.count("--padded-vocab-size", 1, run.count("--pad-vocab-size-to", 1, 0))
    bare = run.count("--vocab-size", 1, 0)
    if run.facts.vocab > 0:
        run.set("model.vocab", "", run.facts.vocab)
    elif padded > 0:
        run.set("model.vocab", "--padded-vocab-size --pad-vocab-size-to", padded)
    elif max(bare, multiple) > VOCAB_MAX:
        run.fault("--vocab-size" if bare > VOCAB_MAX else "--make-vocab-size-divisible-by",
                  f"expected at most {VOCAB_MAX} words, got {bare if bare > VOCAB_MAX else multiple}")
    elif bare > 0:
        run.set("model.vocab", "--vocab-size --make-vocab-size-divisible-by", -(-bare // multiple) * multiple)
    else:
        run.require("model.vocab", "words of the tokenizer")


def _set_biases(run: Run, is_latent: bool) -> None:
    """Biases of all linear layers, or of some of them.  Latent attention norms its latents in any case; heads are normed where that is said."""
    has_all = not run.given("--disable-bias-linear")
    run.set("model.bias", "--disable-bias-linear", has_all and not is_latent and run.experts == 0)
    if has_all and is_latent:
        run.differs("--multi-latent-attention", NOTHING, "latent attention without biases")
    elif has_all and run.experts > 0:
        run.set("model.biases", "--disable-bias-linear", "[qkv, attention_output, experts]")
    if run.given("--qk-layernorm") and not is_latent:
        run.set("model.qk_norm", "--qk-layernorm", True)
    if run.given("--add-qkv-bias") and not is_latent and not has_all:
        run.set("model.biases", "--add-qkv-bias", "[qkv]")


def _set_positions(run: Run) -> None:
    is_old_rope, kind = run.given("--use-rotary-position-embeddings"), run.value("--position-embedding-type")
    is_learned = not is_old_rope and kind in (None, "learned_absolute")
    if is_learned and run.job.software.name == "megatron-deepspeed" and run.given("--no-position-embedding"):
        is_learned = False
        run.differs("--no-position-embedding", TIME, "queries and keys are rotated")
    run.set("model.positions", "--position-embedding-type --use-rotary-position-embeddings",
            "learned" if is_learned else "alibi" if kind == "alibi" and not is_old_rope else "rotary")
    most = run.count("--max-position-embeddings", 1, 0)
    if is_learned and most > 0 and most != run.count("--seq-length", 1, most):
        run.differs("--max-position-embeddings", MEMORY, "as many positions are learned as a sequence has tokens")


def _set_dropout(run: Run) -> None:
    hidden, attention = run.number("--hidden-dropout", USUAL_DROPOUT), run.number("--attention-dropout", USUAL_DROPOUT)
    if hidden > 1:
        run.fault("--hidden-dropout", f"expected a share up to 1, got {hidden:g}")
    if attention != hidden:
        run.differs("--attention-dropout", MEMORY, "the attention's is --hidden-dropout, too")
    run.set("model.dropout", "--hidden-dropout --attention-dropout", hidden)


def _set_window(run: Run) -> None:
    """Tokens to the left of a token and itself; each so many-th layer attends to everything.
    Source: Megatron-LM, megatron.core.transformer.utils (is_layer_window_attention)."""
    window, skip = run.value("--window-size"), "--window-attn-skip-freq"
    if window is None:
        return
    found = re.match(r"\s*\(?\s*(-?\d{1,9})\s*,\s*-?\d", window, re.A)
    if not found:
        run.fault("--window-size", f"expected two counts, as in 128,0, got '{window}'")
    elif 0 < int(found[1]) < 2**28:
        run.set("model.window", "--window-size", int(found[1]) + 1)
        text = run.value(skip)
        if text is not None and "[" in text:
            run.differs(skip, TIME, "every layer has the window: its list is not read")
        elif text is not None:
            run.set("model.window_skip_freq", skip, run.count(skip, 1, 0))


def _set_kernels(run: Run) -> None:
    """Megatron-LM's own layers attend by products over the score matrix; Transformer Engine's do where they are asked to, and in fp32, which its fused
    kernels do not take. In training only cuDNN's kernels attend in fp8.  Source: Transformer Engine, get_attention_backend."""
    fp8, has_flash = run.fp8_attention(), run.given("--use-flash-attn")
    is_own = run.value("--transformer-impl") == "local" or run.is_old
    if not run.is_half or (is_own and not has_flash) or run.value("--attention-backend") == "unfused":
        run.set("model.attention", "--attention-backend --transformer-impl", "unfused")
    elif run.is_old:
        run.set("model.attention", "--use-flash-attn", "fused")
    elif fp8 is not None:
        run.set("model.attention", fp8, "cudnn")
    loss = "vocab_parallel"
    if run.given("--cross-entropy-loss-fusion"):
        loss = "transformer_engine" if run.value("--cross-entropy-fusion-impl") == "te" else "compiled"
    run.set("model.loss", "--cross-entropy-loss-fusion --cross-entropy-fusion-impl", loss)
    if run.given("--deterministic-mode"):
        run.differs("--deterministic-mode", TIME, "kernels are those of other runs, but for cuBLAS's workspace")


# ---- experts ----

def _experts(run: Run) -> int:
    """Experts of a layer; 0: there are none, or not as many in each layer (a fault)."""
    name = "--num-experts"
    numbers = set((run.value(name) or "").split())
    if len(numbers) > 1:
        run.fault(name, f"it is known and not built: the model has layers with different numbers of experts, got '{run.value(name)}'")
        return 0
    if len(numbers) == 1:
        run.last[name].value = numbers.pop()
    experts = run.count(name, 0, 0)
    return 0 if experts <= run.job.software.dense_experts else experts


def set_experts(run: Run) -> None:
    if run.experts == 0:
        return
    run.set("model.moe.experts", "--num-experts", run.experts)
    run.pairs(EXPERT_PAIRS)
    _set_shared(run)
    _set_frequency(run)
    keys = {setting.key for setting in run.job.settings}
    if "model.biases" in keys and keys & {"model.moe.every", "model.moe.first_dense_layers", "model.moe.dense_layers"}:
        run.differs("--num-experts", NOTHING, "the MLP of dense layers beside experts has no biases")
    capacity = run.number("--moe-expert-capacity-factor", 0)
    if capacity > 0:
        run.set("model.moe.capacity_factor", "--moe-expert-capacity-factor", capacity)
        run.set("model.moe.pad", "--moe-pad-expert-input-to-capacity", run.given("--moe-pad-expert-input-to-capacity"))


def _set_shared(run: Run) -> None:
    name = "--moe-shared-expert-intermediate-size"
    shared = run.count(name, 0, 0)
    if shared == 0 and run.given("--num-shared-experts"):  # of Pai-Megatron-Patch: as many routed experts' sizes
        name = "--num-shared-experts"
        shared = run.count(name, 0, 0) * run.count("--moe-ffn-hidden-size", 1, run.count("--ffn-hidden-size", 1, 0))
    if shared == 0:
        return
    run.set("model.moe.shared_experts", "", 1)
    run.set("model.moe.shared_ffn", name, shared)
    if run.given("--moe-shared-expert-gate"):
        run.set("model.moe.shared_gate", "--moe-shared-expert-gate", True)
    if run.given("--moe-shared-expert-overlap"):
        run.set("model.moe.overlap", "--moe-shared-expert-overlap", "shared")


def _set_frequency(run: Run) -> None:
    """Which layers have experts. A number N of --moe-layer-freq: of every N layers the first; a list: those with 1; --expert-interval: every so many-th."""
    name = "--moe-layer-freq"
    interval = run.count("--expert-interval", 1, 1)
    text = run.value(name)
    if text is None and interval > 1:
        run.set("model.moe.every", "--expert-interval", interval)
    if text is None or run.layers == 0:
        return
    if "[" in text:
        pattern = run.parsed(name, read_pattern)
    else:
        every = run.count(name, 1, 0)
        pattern = [int(layer % every == 0) for layer in range(min(run.layers, LAYERS_MAX))] if every > 0 else None
    if pattern is None:
        return
    if len(pattern) != run.layers:
        run.fault(name, f"expected one entry for each of {run.layers} layers, got {len(pattern)} in '{text}'")
    elif not any(pattern):
        run.fault(name, f"expected a layer with experts, got '{text}'")
    else:
        _set_rhythm(run, name, pattern)


def _set_rhythm(run: Run, name: str, pattern: List[int]) -> None:
    """As a workload says it: none in the first layers, then in every so many-th. The first two layers with experts say the rhythm; what has none is a list
    of dense layers behind the first one with experts."""
    sparse = [layer for layer, has in enumerate(pattern) if has]
    every = sparse[1] - sparse[0] if len(sparse) > 1 else 1
    dense = sparse[0] - every + 1
    if dense < 0 or [int(layer >= dense and (layer - dense) % every == every - 1) for layer in range(len(pattern))] != [int(bool(has)) for has in pattern]:
        dense, every = sparse[0], 1
    if dense > 0:
        run.set("model.moe.first_dense_layers", name, dense)
    if every > 1:
        run.set("model.moe.every", name, every)
    others = [layer for layer in range(dense, len(pattern)) if (layer - dense) % every == every - 1 and not pattern[layer]]
    if others:
        run.set("model.moe.dense_layers", name, f"[{', '.join(map(str, others))}]")
