"""`import deepspeed`: DeepSpeed's configuration, with the config of the model beside it, as a workload (deepspeed.md)."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Dict, List, Optional, Sequence, Tuple, Union

from .._call import USAGE, Call, Place, need
from .._describe import Kind
from . import DIFFERENCES, FILLS, hf, source
from .placed_json import parse, shown
from .workload_draft import Workload
from .yaml_tree import Node

KIND = Kind(
    "deepspeed DS.json [CONFIG.json|FOLDER]", "DeepSpeed's configuration gives a workload, the model's a model",
    "deepspeed takes the model's Hugging Face config, or its folder, beside DeepSpeed's JSON, and asks for what a trainer fills in where that says \"auto\".",
    (*FILLS, DIFFERENCES), writes=".yaml")
GLOBAL, MICRO, STEPS = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"
STAGE, OVERLAP, BUCKET = "zero_optimization.stage", "zero_optimization.overlap_comm", "zero_optimization.reduce_bucket_size"
SCATTER, OFFLOAD, OLD_OFFLOAD = "zero_optimization.reduce_scatter", "zero_optimization.offload_optimizer.device", "zero_optimization.cpu_offload"
BF16, FP16, OLD_BF16 = "bf16.enabled", "fp16.enabled", "bfloat16.enabled"
MASTER, HALF_MASTER, STATES = "bf16.bf16_master_weights_and_grads", "fp16.fp16_master_weights_and_grads", "bf16.bf16_optimizer_states"
GRADIENTS, OPTIMIZER, SENT = "data_types.grad_accum_dtype", "optimizer.type", "communication_data_type"
TENSOR, SEQUENCE, PIPELINE, CHECKPOINT = "tensor_parallel.autotp_size", "sequence_parallel_size", "pipeline.stages", "pipeline.activation_checkpoint_interval"
ASKED = {GLOBAL, MICRO, STEPS, STAGE, OVERLAP, BUCKET, SCATTER, OFFLOAD, OLD_OFFLOAD, BF16, FP16, OLD_BF16, MASTER, HALF_MASTER, STATES, GRADIENTS, OPTIMIZER, TENSOR,
         SEQUENCE, PIPELINE, CHECKPOINT}
"""keys that a translation may ask for"""
AUTO = "auto"
COUNT_MAX, NUMBER_MAX = 100_000_000, 1e15
BUCKET_ELEMENTS = 5e8
"""of a bucket where none are given.  Source: deepspeed.runtime.zero.config"""
IS_DEFAULT = "DeepSpeed's default"
SIZE_MAX_B = 16 * 2**20


def _known() -> Tuple[Dict[str, Tuple[str, str]], List[str], Dict[str, int]]:
    """Of keys that no key of a workload follows the effect (empty: nothing) and the reason; sections; optimizers' moments."""
    data = source.table("importers/deepspeed_keys.yaml")
    rows = {path: ("", why) for why, paths in data["nothing"].items() for path in paths.split()}
    rows.update({path: (effect, why) for path, effect, why in data["otherwise"]})
    return rows, data["sections"].split(), data["optimizers"]


class _Run:
    """One translation."""

    def __init__(self, draft: Workload, config: Node, hidden: int):
        self.draft, self.config, self.hidden, self.call = draft, config, hidden, draft.call
        self.uses: Dict[int, List[str]] = {}
        self.assumed: List[source.Key] = []
        self.effects: Dict[str, str] = {}
        self.stage, self.gradient_B = 0, 4
        self.has_replicas = self.is_fp16 = self.is_bf16 = self.is_open = False

    # what stands there

    def get(self, path: str) -> Optional[Node]:
        """The value of a key; None: it is not given, or null."""
        node = self.config.at(path)
        return None if node is not None and node.value == "null" and not node.is_quoted else node

    def fault(self, path: str, message: str) -> None:
        node = self.get(path)
        self.call.talk.error(f"{path}: {message}", node.place if node is not None else self.config.place)

    def number(self, path: str, least: float) -> Union[None, str, float]:
        """A number, which JSON may write as 5e8; AUTO; None: it is not given, or wrong (told)."""
        node = self.get(path)
        if node is None or node.value == AUTO:
            return None if node is None else AUTO
        is_number = not node.is_quoted and re.fullmatch(r"-?[\d.eE+-]+", node.text) is not None
        if not is_number or not least <= float(node.text) <= NUMBER_MAX:
            self.fault(path, f'expected a number from {least:g} or "auto", got \'{shown(node)}\'')
            return None
        return float(node.text)

    def count(self, path: str, least: int) -> Union[None, str, int]:
        """A count, likewise."""
        value = self.number(path, least)
        if isinstance(value, float):
            if value > COUNT_MAX or value != int(value):
                self.fault(path, f"expected a whole number from {least} to {COUNT_MAX}, got '{self.word(path)}'")
                return None
            return int(value)
        return value

    def truth(self, path: str) -> Union[None, str, bool]:
        """true or false, likewise."""
        node = self.get(path)
        if node is None or node.value == AUTO:
            return None if node is None else AUTO
        if node.is_quoted or node.value not in ("true", "false"):
            self.fault(path, f'expected true, false or "auto", got \'{shown(node)}\'')
            return None
        return node.value == "true"

    def word(self, path: str) -> Optional[str]:
        node = self.get(path)
        return node.text if node is not None else None

    # what it says

    def use(self, paths: Sequence[str], key: str) -> Optional[Place]:
        """Remember that keys decide one of the workload.  Returns where the first of them stands."""
        nodes = [node for node in (self.get(path) for path in paths) if node is not None]
        for node in nodes:
            self.uses.setdefault(id(node), []).append(key)
        return nodes[0].place if nodes else None

    def set(self, key: str, paths: Sequence[str], value: object) -> None:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        self.draft.set(key, text, place=self.use(paths, key))

    def require(self, key: str, paths: Sequence[str], why: str) -> None:
        self.draft.require(key, why, self.use(paths, key))

    def assume(self, path: str, value: str, why: str) -> None:
        self.assumed.append(source.Key(path, source.ASSUMED, why, value))


def translate(draft: Workload, config: Node, hidden: int) -> Dict[str, str]:
    """Say a configuration as keys of the draft's workload, and of each of its keys what became of it.

    hidden: size of the model, 0: it is not known.  Returns what is simulated otherwise: keys, and what of a run each changes.
    Errors are told.
    """
    run = _Run(draft, config, hidden)
    for part in (_find_stage, _set_batch, _set_axes, _set_parameters, _set_gradients, _set_optimizer, _set_overlap, _set_all_reduce, _set_offload, _set_recompute):
        part(run)
    if draft.call.talk.errors == 0:
        _tell_all(run, config, "")
        draft.keys += run.assumed
    return run.effects


def _find_stage(run: _Run) -> None:
    section, stage = run.get("zero_optimization"), run.count(STAGE, 0)
    is_old = section is not None and section.value in ("true", "false")
    if section is not None and not isinstance(section.value, dict) and not is_old:
        run.fault("zero_optimization", f"expected an object, got '{shown(section)}'")
    if isinstance(stage, int) and stage > 3:
        run.fault(STAGE, f"expected 0 to 3, got '{stage}'")
    if not isinstance(stage, int) and not is_old:
        run.assume(STAGE, "0", IS_DEFAULT)
    # before it had stages, it was one or none
    run.stage = int(section is not None and section.value == "true") if is_old else stage if isinstance(stage, int) and stage <= 3 else 0
    run.set("data_parallel.zero", [STAGE, "zero_optimization"], run.stage)


def _set_batch(run: _Run) -> None:
    """Sequences per step, per microbatch, and microbatches: of the three two say the third, and all three how many replicas there are."""
    total, micro, steps = run.count(GLOBAL, 1), run.count(MICRO, 1), run.count(STEPS, 1)
    if total is None and micro is None:
        if run.call.talk.errors == 0:
            run.fault(GLOBAL, f'key is missing: DeepSpeed needs it or {MICRO}, or "auto" for them')
        return
    if not any(isinstance(value, int) for value in (total, micro, steps)):
        run.use([GLOBAL, MICRO, STEPS], "batch")
        return  # the whole of it is required
    if isinstance(total, int) and isinstance(micro, int) and isinstance(steps, int):
        if total % (micro * steps):
            run.fault(GLOBAL, f"expected a multiple of {micro} x {steps} ({MICRO} x {STEPS}), got '{total}'")
            return
        run.set("mesh.dp", [GLOBAL, MICRO, STEPS], total // (micro * steps))
        run.has_replicas = True
    if isinstance(total, int):
        run.set("batch.global", [GLOBAL], total)
    elif isinstance(steps, int) or isinstance(micro, int):
        run.set("batch.microbatches", [STEPS], steps if isinstance(steps, int) else 1)
        if not isinstance(steps, int):
            run.assume(STEPS, "1", IS_DEFAULT)
    if isinstance(micro, int):
        run.set("batch.micro", [MICRO], micro)
    else:
        run.require("batch.micro", [MICRO, STEPS], f"{GLOBAL} / {STEPS} / replicas")


def _set_axes(run: _Run) -> None:
    """Sizes of axes; 1 where nothing is said, or a trainer or the model's code says it. Ulysses changes tokens of all heads for all tokens of some."""
    others = 1
    for path, key, least in ((SEQUENCE, "mesh.cp", 1), (TENSOR, "mesh.tp", 0), (PIPELINE, "mesh.pp", 1)):
        size = run.count(path, least)
        if isinstance(size, int) and size > 1:
            run.set(key, [path], size)
            others *= size
    if others > 1 and not run.has_replicas:
        run.require("mesh.dp", [], f"GPUs of the job / {others}")
    if run.draft.root.at("mesh.cp") is not None:
        run.set("context_parallel.kind", [SEQUENCE], "all_to_all")


def _set_parameters(run: _Run) -> None:
    bf16, fp16 = run.truth(BF16), run.truth(FP16)
    bf16 = run.truth(OLD_BF16) if bf16 is None else bf16
    if bf16 is True and fp16 is True:
        run.fault(FP16, f"expected one of it and {BF16}, got both")
    run.is_bf16, run.is_fp16 = bf16 is True, fp16 is True
    run.is_open = not run.is_bf16 and not run.is_fp16 and AUTO in (bf16, fp16)
    paths = [BF16, FP16, OLD_BF16]
    if run.is_open:
        run.require("precision.parameters", paths, "bf16, fp16 or fp32, as the trainer runs")
    else:
        run.set("precision.parameters", paths, "bf16" if run.is_bf16 else "fp16" if run.is_fp16 else "fp32")


def _set_gradients(run: _Run) -> None:
    """Gradients are kept in the type of parameters, but for bf16 without ZeRO.  Source: deepspeed.runtime.engine, get_data_types."""
    given = run.get(GRADIENTS)
    is_short = run.truth(MASTER) is True
    kind = "fp16" if run.is_fp16 else None if run.is_open else "bf16" if run.is_bf16 and (run.stage > 0 or is_short) else "fp32"
    if given is not None:
        if given.value in ("fp32", "fp16", "bf16"):
            kind = str(given.value)
        else:
            run.fault(GRADIENTS, f"expected fp32, fp16 or bf16, got '{shown(given)}'")
    run.gradient_B = 4 if kind == "fp32" else 2
    if kind is None:
        return
    run.set("precision.gradients", [GRADIENTS, MASTER], kind)
    if run.word(SENT) == kind:
        run.use([SENT], "precision.gradients")
    if given is None:
        run.assume(GRADIENTS, kind, IS_DEFAULT)


def _set_optimizer(run: _Run) -> None:
    """Master copy and moments, in fp32 unless said otherwise; parameters in fp32 are their own copy. The trainer's own optimizer is taken for Adam's."""
    given, moments = run.get(OPTIMIZER), 2
    if given is None:
        run.assume(OPTIMIZER, "AdamW", "the trainer's usual one")
    elif given.text.lower() in _known()[2]:
        moments = _known()[2][given.text.lower()]
    else:
        run.fault(OPTIMIZER, "expected an optimizer whose bytes are known (Adam, AdamW, Lamb, Lion, Muon, SGD, Adagrad, OneBitAdam, ZeroOneAdam), "
                             f"got '{shown(given)}'")
    has_half_master = True in (run.truth(MASTER), run.truth(HALF_MASTER))
    is_single = not run.is_fp16 and not run.is_bf16 and not run.is_open
    master_B = 0 if is_single else 2 if has_half_master else 4
    run.set("precision.optimizer", [OPTIMIZER, MASTER, STATES, HALF_MASTER], f"{master_B + moments * (2 if run.truth(STATES) is True else 4)} B")


def _set_overlap(run: _Run) -> None:
    """By default stage 3 reduces beside the backward pass, the others behind it. Parameters are fetched ahead with stage 3, and gathered behind the update
    with stages 1 and 2.  Source: deepspeed.runtime.zero.config, overlap_comm_valid."""
    given = run.truth(OVERLAP)
    overlaps = run.stage > 0 and (given if isinstance(given, bool) else run.stage == 3)
    if not isinstance(given, bool):
        run.assume(OVERLAP, "true" if overlaps else "false", IS_DEFAULT)
    run.set("data_parallel.overlap_reduce", [OVERLAP], overlaps)
    run.set("data_parallel.overlap_gather", [STAGE], run.stage == 3)
    _set_bucket(run)


def _set_bucket(run: _Run) -> None:
    """Elements of a bucket; a trainer takes the square of the model's size.  Source: Transformers, transformers.integrations.deepspeed
    (trainer_config_finalize)."""
    elements = run.number(BUCKET, 0)
    if elements is None:
        elements = BUCKET_ELEMENTS
        run.assume(BUCKET, "5e8", IS_DEFAULT)
    elif elements == AUTO:
        elements = float(run.hidden * run.hidden) or BUCKET_ELEMENTS
        run.assume(BUCKET, *(("hidden size squared", "as Transformers fills it in") if run.hidden else
                             ("5e8", "without the model's config, which Transformers fills it in by")))
    run.set("data_parallel.bucket", [BUCKET], f"{float(elements) * run.gradient_B:.15g} B")


def _set_all_reduce(run: _Run) -> None:
    """Stage 1 sums whole gradients on all replicas where it is told to, and where it accumulates those of bf16 in fp32, which is another optimizer of its own
    (BF16_Optimizer)."""
    is_own = run.is_bf16 and run.gradient_B > 2
    scatters = run.truth(SCATTER) is not False
    if run.stage == 1 and (not scatters or is_own):
        run.set("data_parallel.all_reduce", [SCATTER, GRADIENTS], True)


def _set_offload(run: _Run) -> None:
    device = run.get(OFFLOAD)
    is_host = device is not None and device.value in ("cpu", "nvme")
    if device is not None and not is_host and device.value != "none":
        run.fault(OFFLOAD, f"expected cpu, nvme or none, got '{shown(device)}'")
    if device is not None and device.value == "nvme":
        run.draft.remarks.append(f"{OFFLOAD}: simulated otherwise: the optimizer's state is in the host's memory")
        run.effects[OFFLOAD] = "time"
    if run.stage > 0 and (is_host or run.truth(OLD_OFFLOAD) is True):
        run.set("data_parallel.offload", [OFFLOAD, OLD_OFFLOAD], True)


def _set_recompute(run: _Run) -> None:
    """Layers are repeated where the model's code says so; of a pipeline the configuration does."""
    interval = run.count(CHECKPOINT, 0)
    if isinstance(interval, int) and interval > 0:
        run.set("recompute", [CHECKPOINT], "full")


# ---- what became of the keys ----

def _is_off(node: Node) -> bool:
    """Whether a value asks for nothing."""
    enabled = node.value.get("enabled") if isinstance(node.value, dict) else None
    node = enabled or node
    return node.value in ("false", "0", "1", "-1", "none", "null", "auto")


def _row(path: str) -> Optional[Tuple[str, str]]:
    """What is known of a key, or of a mapping around it."""
    rows = _known()[0]
    while path and path not in rows:
        path = path.rpartition(".")[0]
    return rows.get(path)


def _tell_all(run: _Run, mapping: Node, path: str) -> None:
    """As deep as sections go."""
    for name, node in mapping.value.items() if isinstance(mapping.value, dict) else ():
        below = f"{path}.{name}" if path else name
        if isinstance(node.value, dict) and below in _known()[1]:
            _tell_all(run, node, below)
        else:
            run.draft.keys.append(_told(run, node, below))


def _told(run: _Run, node: Node, path: str) -> source.Key:
    keys, row = run.uses.get(id(node)), _row(path)
    fate, why = source.UNKNOWN, ""
    if keys:
        fate, why = source.USED, ", ".join(keys)
    elif path in ASKED:
        fate, why = source.IGNORED, "it changes nothing in this job"
    elif row is not None:
        fate, why = source.IGNORED, row[1] if not row[0] else "it is simulated so in any case"
        if row[0] and not _is_off(node):
            why = f"simulated otherwise: {row[1]}"
            run.effects[path] = row[0]
            run.draft.remarks.append(f"{source.inline(path)}: {why}")
    else:
        run.draft.remarks.append(f"{source.inline(path)}: not known")
    return source.Key(path, fate, why, node.text, node.key_place)


# ---- the command ----

def _load(call: Call, paths: Sequence[str]) -> Tuple[str, Node, str]:
    """Of one or two files the configuration with its path, and the path of the model's config; empty: there is none."""
    if len(paths) > 2:
        call.refuse(f"expected a configuration and the config of its model, got {len(paths)} files", code=USAGE)
    found: Optional[Tuple[str, Node]] = None
    model, place = "", None
    for path in paths:
        file = os.path.join(path, "config.json") if os.path.isdir(path) else path
        root = parse(call, file, _text(call, file))
        if root.get("model_type"):
            if model:
                call.refuse("expected one config of a model, got two", root.place)
            model, place = path, root.place
        elif found is not None:
            call.refuse("expected one configuration of DeepSpeed, and the model's config, which has a 'model_type'", root.place)
        else:
            found = path, root
    if found is None:
        call.refuse("expected a configuration of DeepSpeed, got that of a model; 'import hf' takes one alone", place)
    return (*found, model)


def _text(call: Call, path: str) -> str:
    data = source.read_bytes(call.talk, path, SIZE_MAX_B)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        call.refuse("not valid UTF-8", Place(path, data.count(b"\n", 0, error.start) + 1))


def draft(call: Call, path: str, config: Node, model: str = "") -> Workload:
    """The workload that a configuration says.  path: its file.  model: path of the model's config, or its folder; empty: there is none.
    Raises Fault where a file is not understood; each reason was told to call.talk."""
    found = Workload(call, f"the DeepSpeed configuration {path}")
    other = hf.read(replace(call, options={"set": ["framework=deepspeed"]}), model) if model else Workload(call, "")
    if model:
        found.root.value["model"] = other.root.get("model")  # type: ignore[index,call-overload,assignment]
    hidden = other.root.at("model.hidden")
    found.effects = translate(found, config, int(hidden.text) if hidden is not None and hidden.text.isdigit() else 0)
    source.finish(call.talk)
    found.set("framework", "deepspeed")
    found.keys += other.keys
    return found


def read(call: Call, paths: Sequence[str]) -> Workload:
    """The workload that a configuration says.  paths: the configuration, and if it is there the model's config or its folder, in either order.
    Raises Fault as `draft` does."""
    need(call, "yaml")
    return draft(call, *_load(call, paths))


def run(call: Call) -> int:
    """Import the configuration that the call names.  Returns NO where a run would show what is simulated otherwise."""
    source.target(call)
    return read(call, call.arguments).finish()
