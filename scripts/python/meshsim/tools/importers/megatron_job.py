"""From arguments of Megatron-LM to keys of a workload, and what became of each argument.

Source of names, defaults and what follows from what: Megatron-LM, megatron.training.arguments (validate_args), megatron.training.tokenizer
(_vocab_size_with_padding), megatron.core.models.gpt.gpt_layer_specs (moe_layer_freq), megatron.core.transformer.transformer_block
(get_num_layers_to_build), megatron.core.parallel_state (order of ranks: tp-cp-ep-dp-pp, innermost first), megatron.core.optimizer,
megatron.core.tensor_parallel.random (checkpoint), megatron.core.distributed; of forks those that megatron_arguments.yaml names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional, Sequence, Tuple, TypeVar

from .._call import Place
from .megatron_arguments import MEMORY, NOTHING, SIZE, TIME, Flag, Software, Tables, may_be_size
from .megatron_values import Bad, read_layout, read_pattern, read_steps

ENV, LAUNCHER = "env ", "launcher "
"""before the name of an environment variable, and of an argument of torchrun or srun"""
USED, IGNORED, DIFFERENT, UNKNOWN = "used", "ignored", "different", "unknown"
COUNT_MAX, LAYERS_MAX, VOCAB_MAX, STAGES_MAX, RANKS_MAX = 10**9, 100_000, 10_000_000, 100_000, 2**24
USUAL_DROPOUT, USUAL_DIVISOR = 0.1, 128
"""dropout, and what a vocabulary is padded to a multiple of, where none is given"""
DETERMINISTIC_MIB = 32
"""workspace of cuBLAS with --deterministic-mode, :4096:8.  Source: PyTorch, torch.use_deterministic_algorithms; NVIDIA cuBLAS documentation"""
IN_ANY_CASE, NO_CHANGE = "it is simulated so in any case", "it changes nothing in this job"

# [argument, key, the key's value where a switch is given (None: the argument's value is the key's, a count), without it (None: not set), least of a count]
MODEL_PAIRS = [("--untie-embeddings-and-output-weights", "model.tied_embeddings", "false", "true", 0),
               ("--no-gradient-accumulation-fusion", "model.fused_accumulation", "false", "true", 0),
               ("--no-bias-dropout-fusion", "model.separate_dropout", "true", None, 0)]
LATENT_PAIRS = [("--q-lora-rank", "model.mla.q_rank", None, "0", 0), ("--kv-lora-rank", "model.mla.kv_rank", None, "32", 1),
                ("--qk-head-dim", "model.mla.qk_nope", None, "128", 1), ("--qk-pos-emb-head-dim", "model.mla.qk_rope", None, "64", 1),
                ("--v-head-dim", "model.mla.v_dim", None, "128", 1)]
EXPERT_PAIRS = [("--moe-router-topk", "model.moe.top_k", None, "2", 1), ("--moe-ffn-hidden-size", "model.moe.ffn", None, None, 1),
                ("--moe-router-enable-expert-bias", "model.moe.router_bias", "true", None, 0), ("--moe-router-fusion", "model.moe.router", "fused", None, 0)]
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
TYPES_B = {"fp32": 4, "float32": 4, "bf16": 2, "bfloat16": 2, "fp16": 2, "float16": 2, "fp8": 1, "uint8": 1}
# Values that say more than the argument alone.
VALUES = [("--moe-flex-dispatcher-backend", "hybridep", MEMORY, "the dispatcher's buffers hold no memory"),
          ("--moe-flex-dispatcher-backend", "deepep", TIME, "tokens go by plain all-to-alls"),
          ("--moe-token-dispatcher-type", "allgather", TIME, "tokens go by all-to-alls, not by gathers"),
          ("--position-embedding-type", "none", TIME, "queries and keys are rotated"),
          ("--position-embedding-type", "relative", TIME, "queries and keys are rotated, without a bias")]
# Keys that no argument of Megatron-DeepSpeed says: its code and DeepSpeed's engine do, and so its profile.
ENGINES_KEYS = {"model.fused_accumulation", "model.separate_dropout", "data_parallel.overlap_reduce", "data_parallel.overlap_gather", "precision.gradients",
                "memory.libraries", "memory.buffers"}
# Arguments of before sequence parallelism, of 2021 and 2022.  Source: Megatron-LM 2.x and 3.0, megatron.arguments (they were renamed later).
OLD_ARGUMENTS = ("--checkpoint-activations", "--activations-checkpoint-method", "--DDP-impl")
LAUNCH_BLOCKING = ENV + "CUDA_LAUNCH_BLOCKING"  # with "1" a launch of a kernel waits for its end.  Source: CUDA C++ programming guide
LAYOUT, FIRST, LAST = "--pipeline-model-parallel-layout", "--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers"
T = TypeVar("T")


@dataclass
class Argument:
    """An argument as it was given, in Megatron-LM's words whatever it was read from."""

    name: str
    """"--num-layers"; "env NAME" of a variable; "launcher --nnodes" """
    value: str = ""
    """several with blanks between them"""
    place: Optional[Place] = None
    use: str = UNKNOWN
    why: str = ""
    """of one that is used its keys"""
    effect: str = NOTHING
    """of one that is different: what it changes of a run"""


@dataclass(frozen=True)
class Setting:
    """A key of a workload."""

    key: str
    value: Optional[str]
    """YAML flow text; None: the arguments do not say it, it is required"""
    why: str = ""
    """of one that is required: what would say it"""
    place: Optional[Place] = None


@dataclass
class Job:
    """A job in keys of a workload."""

    software: Software
    framework: str = "megatron-core"
    """profile that its other choices come from"""
    gpus: int = 0
    """of all ranks; 0: nothing says how many"""
    settings: List[Setting] = field(default_factory=list)
    faults: List[Tuple[str, Optional[Place]]] = field(default_factory=list)
    """what is wrong, or cannot be simulated; with one there is no job"""


@dataclass(frozen=True)
class Facts:
    """What arguments leave to their surroundings."""

    framework: Optional[str] = None
    gpus: int = 0
    vocab: int = 0
    """padded"""
    global_batch: int = 0
    profile: Callable[[str], Tuple[bool, bool]] = lambda name: (False, True)
    """of a framework's name: whether it is before Transformer Engine, and whether it keeps a buffer of weight gradients"""


def translate(arguments: List[Argument], tables: Tables, facts: Facts = Facts(), software: Optional[Software] = None) -> Job:
    """Say arguments as keys of a workload, and of each argument what became of it (its use, why and effect are set).

    The last argument of a name counts.  software: whose arguments they are; None: by their names.  Errors are the job's faults."""
    run = _Run(arguments, tables, facts, software)
    run.classify()
    run.choose_framework()
    for part in (_set_model, _set_experts, _set_mesh, _set_schedule, _set_batch, _set_precision, _set_data, _set_memory, _set_recompute, _set_host):
        part(run)
    run.close()
    return run.job


class _Run:
    """One translation: arguments asked for, and keys set."""

    def __init__(self, arguments: List[Argument], tables: Tables, facts: Facts, software: Optional[Software]):
        self.arguments, self.tables, self.facts = arguments, tables, facts
        self.job = Job(software or tables.choose(argument.name for argument in arguments if argument.name.startswith("--")))
        self.last: Dict[str, Argument] = {}
        for argument in arguments:
            self.last[tables.usual(argument.name)] = argument
        self.is_old = self.has_zero = self.has_sequence = False
        self.has_gradient_buffer = True
        self.layers, self.tp, self.pp, self.cp, self.ep, self.vpp, self.experts = 0, 1, 1, 1, 1, 1, 0

    # what is known of each argument

    def classify(self) -> None:
        """Tell of each argument what it can be at most; what a part of the translation asks for is used."""
        for argument in self.arguments:
            argument.use, argument.why, argument.effect = UNKNOWN, "", NOTHING
            flag = self.tables.find(argument.name, self.job.software)
            if argument.name == LAUNCH_BLOCKING or argument.name.startswith(LAUNCHER):
                argument.use = IGNORED
            elif argument.name.startswith(ENV):
                argument.use, argument.why = IGNORED, "kernels, libraries and their algorithms are the profile's and the platform's"
            elif re.match(r"\$[@*]|\$\{@", argument.name):
                argument.use, argument.why = IGNORED, "what is added to a script where it is run is not in its file"
            elif argument.name.startswith("$"):
                argument.use, argument.why = IGNORED, f"it is not set here: --define {_variable(argument.name) or 'NAME'}=VALUE"
            elif flag is not None:
                self._classify_known(argument, flag)
            elif may_be_size(argument.name, argument.value):
                self.fault(None, f"{argument.name}: not known, and by its name it changes the size of the model, got '{argument.value}'", argument.place)
            if argument.use != UNKNOWN and not self._counts(argument):
                argument.use, argument.why, argument.effect = IGNORED, "it is given again behind", NOTHING

    def _counts(self, argument: Argument) -> bool:
        return self.last[self.tables.usual(argument.name)] is argument

    def _classify_known(self, argument: Argument, flag: Flag) -> None:
        is_harmless = bool(flag.harmless) and re.fullmatch(flag.harmless, argument.value) is not None
        argument.use, argument.why = IGNORED, flag.why or ""
        if flag.effect == SIZE and not is_harmless:
            if self._counts(argument):
                self.fault(None, f"{argument.name}: it is known and not built: the model has {flag.why}", argument.place)
        elif flag.effect != NOTHING and not is_harmless:
            argument.use, argument.effect = (DIFFERENT, flag.effect) if flag.why else (IGNORED, NOTHING)
            argument.why = flag.why or IN_ANY_CASE  # one without a reason is told of by its value
        elif flag.effect != NOTHING or flag.harmless:
            argument.why = IN_ANY_CASE

    def close(self) -> None:
        """Tell of values that say more than their argument, and of arguments that nobody asked for."""
        for name, value, effect, why in VALUES:
            if self.value(name) == value:
                self.differs(name, effect, why)
        for argument in self.arguments:
            if argument.use == IGNORED and not argument.why:
                argument.why = NO_CHANGE

    def choose_framework(self) -> None:
        """The profile: what the user says, Megatron-DeepSpeed's by the type that it trains in, that of 2021, or the usual one."""
        self.has_zero = self.given("--deepspeed")
        engines = "megatron-deepspeed-fp16" if self.given("--fp16") else "megatron-deepspeed"
        is_early = any([self.given(name) for name in OLD_ARGUMENTS])
        self.job.framework = self.facts.framework or (engines if self.has_zero else "megatron-lm-2021" if is_early else self.job.framework)
        self.is_old, self.has_gradient_buffer = self.facts.profile(self.job.framework)

    # arguments

    def get(self, name: str) -> Optional[Argument]:
        """The argument of a name that counts, now used; None: it was not given."""
        argument = self.last.get(name)
        if argument is not None and argument.use == IGNORED and not argument.why:
            argument.use = USED
        return argument

    def given(self, name: str) -> bool:
        return self.get(name) is not None

    def value(self, name: str) -> Optional[str]:
        """Its value, in Megatron-LM's spelling, or the default of a fork; None: neither."""
        argument, software = self.get(name), self.job.software
        own = next((fork for fork, usual in software.same_as.items() if usual == name), name)
        value = argument.value if argument else software.defaults.get(own, software.defaults.get(name))
        return software.spellings.get(name, {}).get(value, value) if value is not None else None

    def words(self, name: str) -> List[str]:
        """The values of one that has many."""
        return (self.value(name) or "").split(" ")

    def count(self, name: str, least: int, fallback: int) -> int:
        """Its value as a count; the fallback where it is not given, or no count (a fault)."""
        value = self.value(name)
        if value is None:
            return fallback
        if not re.fullmatch(r"\d{1,18}", value, re.A) or not least <= int(value) <= COUNT_MAX:
            self.fault(name, f"expected a count of {least} or more, got '{value}'{_how_to_say(value)}")
            return fallback
        return int(value)

    def number(self, name: str, fallback: float) -> float:
        """Its value as a number of 0 or more, likewise."""
        value = self.value(name)
        try:
            number = float(value) if value is not None and "_" not in value else fallback if value is None else -1.0
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            self.fault(name, f"expected a number of 0 or more, got '{value}'")
            return fallback
        return number

    def parsed(self, name: str, read: Callable[[str], T]) -> Optional[T]:
        """Its value in a language of its own; None: it is none (a fault)."""
        try:
            return read(self.value(name) or "")
        except Bad as bad:
            self.fault(name, str(bad))
            return None

    def fault(self, name: Optional[str], message: str, place: Optional[Place] = None) -> None:
        """What is wrong; name: with which argument."""
        argument = self.get(name) if name else None
        shown = argument.name if argument else name
        self.job.faults.append((f"{shown}: {message}" if name else message, argument.place if argument else place))

    def differs(self, name: str, effect: str, why: str) -> None:
        """Say that an argument has no counterpart, or not its whole meaning."""
        argument = self.get(name)
        if argument is not None:
            argument.use, argument.effect, argument.why = DIFFERENT, effect, why

    # keys

    def set(self, key: str, names: str, value: object) -> None:
        """Set a key.  names: the arguments that decided it, with blanks between them."""
        text = str(value).lower() if isinstance(value, bool) else f"{value:.15g}" if isinstance(value, float) else str(value)
        place = None
        for name in re.findall(r"(?:launcher |env )?\S+", names):
            argument = self.last.get(name)
            if argument is not None and argument.use == USED:
                argument.why += (", " if argument.why else "") + key
            place = place or (argument.place if argument else None)
        if not (self.has_zero and key in ENGINES_KEYS):
            self.job.settings.append(Setting(key, text, place=place))

    def pairs(self, pairs: Sequence[Tuple[str, str, Optional[str], Optional[str], int]], beside: str = "") -> None:
        """Set the keys of a list of pairs.  beside: an argument that asks for the count of more than 0 that has a default."""
        for name, key, value, otherwise, least in pairs:
            if value is not None:
                found = value if self.given(name) else otherwise
            else:
                number = self.count(name, least, -1)
                found = otherwise if number < 0 else str(number)
            if found is not None:
                self.set(key, f"{name} {beside}" if least and beside and name == "--kv-lora-rank" else name, found)

    def require(self, key: str, why: str) -> None:
        """Say that a key is required, as the arguments do not say it."""
        self.job.settings.append(Setting(key, None, why))

    def size(self, key: str, name: str) -> int:
        """A size that a model cannot do without; 0: it is not said."""
        size = self.count(name, 1, 0)
        if size > 0:
            self.set(key, name, size)
        elif not self.given(name):
            self.require(key, name)
        return size

    # what several parts ask

    @property
    def is_half(self) -> bool:
        return any([self.given("--bf16"), self.given("--fp16")])

    @property
    def is_fsdp(self) -> bool:
        return self.given("--use-megatron-fsdp") or self.given("--use-custom-fsdp")

    def fp8_attention(self) -> Optional[str]:
        """The argument that has the attention multiply in fp8. Under delayed scaling both arguments reach Transformer Engine, where the second one
        brings the first with it; to the recipes of other scalings Megatron hands the first alone.
        Source: megatron.core.fp8_utils (get_fp8_recipe); Transformer Engine, DotProductAttention (fp8_mha forces fp8_dpa)."""
        is_delayed = (self.value("--fp8-recipe") or "delayed") == "delayed"
        multi, dot = "--fp8-multi-head-attention", "--fp8-dot-product-attention"
        name = multi if is_delayed and self.given(multi) else dot
        is_fp8 = self.given("--fp8-format") and not self.given("--fp4-format")
        return name if is_fp8 and self.given(name) else None


def _variable(text: str) -> str:
    """The variable that a text is; empty: it is none."""
    found = re.fullmatch(r"\$(?:(\w+)|\{(\w+)\})", text, re.A)
    return (found[1] or found[2]) if found else ""


def _how_to_say(value: str) -> str:
    if "$" not in value and "`" not in value:
        return ""
    name = _variable(value)
    return f", which the file does not set: --define {name}=VALUE" if name else ", which the file does not set"


# ---- the model ----

def _set_model(run: _Run) -> None:
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
    modules = run.count("--mtp-num-layers", 0, 0)
    if modules > 0:
        run.set("model.mtp_layers", "--mtp-num-layers", modules)


def _set_sizes(run: _Run) -> None:
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


def _set_heads(run: _Run, hidden: int) -> None:
    heads = run.size("model.heads", "--num-attention-heads")
    if run.given("--group-query-attention"):
        run.set("model.kv_heads", "--group-query-attention --num-query-groups", run.count("--num-query-groups", 1, 1))
    elif run.given("--num-key-value-heads"):
        run.set("model.kv_heads", "--num-key-value-heads", run.count("--num-key-value-heads", 1, 1))
    channels = run.count("--kv-channels", 1, 0)
    if channels > 0:
        run.set("model.head_dim", "--kv-channels", channels)
    elif heads > 0 and hidden % heads != 0:
        run.fault("--num-attention-heads", f"expected a divisor of --hidden-size {hidden}, or --kv-channels, got {heads}")


def _set_vocab(run: _Run) -> None:
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


def _set_biases(run: _Run, is_latent: bool) -> None:
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


def _set_positions(run: _Run) -> None:
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


def _set_dropout(run: _Run) -> None:
    hidden, attention = run.number("--hidden-dropout", USUAL_DROPOUT), run.number("--attention-dropout", USUAL_DROPOUT)
    if hidden > 1:
        run.fault("--hidden-dropout", f"expected a share up to 1, got {hidden:g}")
    if attention != hidden:
        run.differs("--attention-dropout", MEMORY, "the attention's is --hidden-dropout, too")
    run.set("model.dropout", "--hidden-dropout --attention-dropout", hidden)


def _set_window(run: _Run) -> None:
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


def _set_kernels(run: _Run) -> None:
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

def _experts(run: _Run) -> int:
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


def _set_experts(run: _Run) -> None:
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


def _set_shared(run: _Run) -> None:
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


def _set_frequency(run: _Run) -> None:
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


def _set_rhythm(run: _Run, name: str, pattern: List[int]) -> None:
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


# ---- the mesh ----

def _launched(run: _Run, name: str) -> int:
    """What a launcher was told; 0 where it was not, or by a variable that nothing sets."""
    value = run.value(LAUNCHER + name)
    is_count = value is not None and re.fullmatch(r"\s*\+?\d{1,9}", value, re.A) is not None and 0 < int(value) <= RANKS_MAX
    if value is not None and not is_count:
        run.differs(LAUNCHER + name, NOTHING, f"'{value}' is no number: --define NAME=VALUE says what the file does not")
    return int(value or 0) if is_count else 0


def _gpus_of(run: _Run, ranks_of_replica: int) -> int:
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


def _set_replicas(run: _Run, experts_axis: int) -> None:
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


def _set_expert_mesh(run: _Run, etp: int, is_dp_outermost: bool) -> None:
    """Experts lie over the tp, cp and dp ranks of a stage. Where each of these holds its tokens alone, ep is the inner part of the replicas; else the
    experts have a mesh of their own."""
    run.set("expert_mesh.ep", "--expert-model-parallel-size", run.ep)
    if etp > 1:
        run.set("expert_mesh.tp", "--expert-tensor-parallel-size", etp)
    if is_dp_outermost:
        run.set("expert_mesh.order", "--use-tp-pp-dp-mapping", "[dp, pp, ep, tp]")
    if not run.has_sequence and run.tp > 1:
        run.fault("--expert-model-parallel-size", f"expected --sequence-parallel beside experts on {run.tp} tp ranks")


def _set_mesh(run: _Run) -> None:
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

def _set_schedule(run: _Run) -> None:
    if run.pp == 1:
        run.set("schedule.kind", "", "1f1b")  # a stage alone has no order
        return
    _set_stages(run)
    run.set("schedule.kind", "", "interleaved" if run.vpp > 1 else "1f1b")
    if run.vpp <= 1:
        return
    run.set("schedule.v", f"{LAYOUT} --num-layers-per-virtual-pipeline-stage --num-virtual-stages-per-pipeline-rank --virtual-pipeline-model-parallel-size",
            run.vpp)
    name = "--microbatch-group-size-per-virtual-pipeline-stage"
    group = run.count(name, 1, 0)
    if group > 0:
        run.set("schedule.group", name, group)
    if run.given("--no-overlap-p2p-communication"):
        run.set("schedule.sends", "--no-overlap-p2p-communication", "blocking")


def _set_stages(run: _Run) -> None:
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


def _set_list(run: _Run, names: str, layers: Sequence[int]) -> None:
    """Layers of every virtual stage; stage s is chunk s / pp of rank s mod pp."""
    run.set("schedule.stage_layers", names, f"[{', '.join(map(str, layers))}]")


def _set_layout(run: _Run) -> None:
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


def _chunks(run: _Run, counted_layers: int) -> int:
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


def _set_ends(run: _Run) -> None:
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


def _set_even(run: _Run, embedding: int, loss: int) -> None:
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

def _set_batch(run: _Run) -> None:
    micro = run.count("--micro-batch-size", 1, 0)
    if micro > 0:
        run.set("batch.micro", "--micro-batch-size", micro)
    elif not run.given("--micro-batch-size"):
        run.require("batch.micro", "--micro-batch-size")
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


# ---- types ----

def _set_precision(run: _Run) -> None:
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


def _type_B(run: _Run, name: str) -> int:
    """Bytes of a type that the precision-aware optimizer keeps something in."""
    value = run.value(name)
    if value is not None and value not in TYPES_B:
        run.fault(name, f"expected fp32, fp16, bf16 or fp8, got '{value}'")
    return TYPES_B.get(value or "", 4)


def _gradients(run: _Run) -> str:
    """Beside bf16 gradients are accumulated in fp32 unless said otherwise, beside fp16 in fp16."""
    if run.given("--fp16"):
        return "fp32" if run.given("--accumulate-allreduce-grads-in-fp32") else "fp16"
    is_aware = run.given("--use-precision-aware-optimizer")
    is_short = run.given("--grad-reduce-in-bf16") or (is_aware and _type_B(run, "--main-grads-dtype") < 4) or \
        (run.is_fsdp and _type_B(run, "--megatron-fsdp-main-grads-dtype") < 4)
    return "bf16" if run.given("--bf16") and is_short else "fp32"


def _optimizer_B(run: _Run, is_single: bool, is_bf16: bool) -> float:
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


def _set_few_bits(run: _Run) -> None:
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
    if run.given("--no-fp8-wgrad"):
        run.set("precision.weight_gradients", "--no-fp8-wgrad", "parameters")
    run.set("precision.amax_group", "--tp-only-amax-red", "tensor" if run.given("--tp-only-amax-red") else "replicas")
    run.set("precision.parameter_gathers", "--fp8-param-gather", "products" if run.given("--fp8-param-gather") else "parameters")


# ---- replicas ----

def _set_data(run: _Run) -> None:
    _set_tensor(run)
    _set_context(run)
    _set_sharding(run)


def _set_tensor(run: _Run) -> None:
    is_plain = run.experts == 0 and not run.given("--multi-latent-attention")
    if run.tp > 1:
        run.set("tensor_parallel.sequence", "--sequence-parallel", run.has_sequence)
    if run.given("--tp-comm-overlap") and run.has_sequence and is_plain:
        run.set("tensor_parallel.overlap", "--tp-comm-overlap", "ring")
    elif run.has_sequence and not is_plain:
        run.differs("--tp-comm-overlap", TIME, "products of layers with experts or latents are not cut in pieces")


def _set_context(run: _Run) -> None:
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


def _zero(run: _Run) -> int:
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


def _engines_zero(run: _Run) -> Optional[int]:
    """The stage that --zero-stage asks for; None: the profile's, as in bf16, where stage 0 is an engine of its own that shards the optimizer's state.
    Source: deepspeed/runtime/bf16_optimizer.py."""
    stage = run.count("--zero-stage", 0, 0)
    if stage > 3:
        run.fault("--zero-stage", f"expected a stage of ZeRO from 0 to 3, got {stage}")
    return stage if run.given("--fp16") or 1 < stage <= 3 else None


def _set_sharding(run: _Run) -> None:
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
    run.pairs([("--optimizer-cpu-offload", "data_parallel.offload", "true", None, 0)])
    if run.is_fsdp and (zero or 0) < 2:  # with more the profile's rule has no place
        run.set("data_parallel.bucketing", "--use-megatron-fsdp", "layers")
    bucket = run.count("--ddp-bucket-size", 1, 0)
    if bucket > 0 and overlaps_reduce:
        run.set("data_parallel.bucket", "--ddp-bucket-size", f"{(4 if _gradients(run) == 'fp32' else 2) * bucket} B")


# ---- memory ----

def _set_memory(run: _Run) -> None:
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


def _set_buffers(run: _Run, is_local: bool) -> None:
    """What a run holds of what its software may, and what its arguments add."""
    has_fused = not run.given("--no-gradient-accumulation-fusion")
    is_unfused = (is_local and not run.given("--use-flash-attn")) or run.value("--attention-backend") == "unfused"
    buffers = {"grouped_products": run.given("--moe-grouped-gemm"), "gather": run.has_sequence, "weight_gradients": has_fused and run.has_gradient_buffer,
               "scores": is_local and is_unfused, "main_gradients": run.given("--fp16"),
               "prefetched_parameters": run.is_fsdp and run.given("--overlap-param-gather")}
    run.set("memory.buffers", "--moe-grouped-gemm --no-gradient-accumulation-fusion --transformer-impl",
            f"[{', '.join(name for name, is_there in buffers.items() if is_there)}]")


# ---- recomputation ----

def _set_recompute(run: _Run) -> None:
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


def _set_parts(run: _Run) -> None:
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


def _set_full(run: _Run, method_name: str, count_name: str) -> None:
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


def _set_host(run: _Run) -> None:
    """What the environment says of the host."""
    if run.value(LAUNCH_BLOCKING) == "1":
        run.set("host.sync", LAUNCH_BLOCKING, "[kernels]")
