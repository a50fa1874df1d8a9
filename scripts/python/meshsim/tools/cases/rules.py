"""From a row in the fields format to its job as a workload: sizes as published, and what is not, by the profile of its software.

Rules read fields; what only words say they take from the table of words. No rule looks at an id, and none holds a number that moves a time. See rules.md.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from .._call import Call, Place
from ..importers import megatron_arguments, megatron_job, yaml_tree
from ..importers.megatron import joined
from ..importers.megatron_run import DIFFERENT, ENV, UNKNOWN, Argument, Facts
from ..importers.megatron_values import Bad, read_layout
from ..export import nearest
from ._case import LAYER, Case, Measured
from ._rows import document, tables
from ._words import Line, Words, month_of

Tree = Dict[str, Any]
USUAL_ORDER = ["pp", "dp", "cp", "tp"]
"""axes whose order a source does not tell.  Source: README of the measurements"""
RATE_TOLERANCE = 0.02
"""what data sheets round: a rate within it is the platform's"""
STAGES_MAX = 100_000
NEEDED = ("num_gpus", "parallel.tp", "parallel.pp", "parallel.dp", "micro_batch", "global_batch", "model.layers", "model.hidden", "model.heads", "model.ffn",
          "model.vocab", "model.seq_len")
GROUPED = ("interleaved", "interleaved_flexible")
"""schedules with any number of stages to a rank"""


class Refused(Exception):
    """Why a row has no job."""


def at(tree: Any, path: str) -> Any:
    """What stands at a dotted path of mappings; None: nothing."""
    for word in path.split("."):
        tree = tree.get(word) if isinstance(tree, dict) else None
    return tree


def put(tree: Tree, path: str, value: Any) -> None:
    """Set what stands at a dotted path; None: take it away."""
    *words, last = path.split(".")
    for word in words:
        tree = tree.setdefault(word, {})
    if value is None:
        tree.pop(last, None)
    else:
        tree[last] = value


# ---- what meshsim comes with ----

def _folders(call: Call, name: str) -> List[Path]:
    """Folders of its data: the current one's, and the one that it is installed with."""
    program = call.program.resolve().parent
    given = [Path(os.environ["MESHSIM_DATA"])] if os.environ.get("MESHSIM_DATA") else []
    return [Path(name), *(folder / name for folder in (*given, program.parent / "share/meshsim", program.parent))]


@lru_cache(maxsize=None)
def _load(path: Path) -> Tree:
    import yaml  # pylint: disable=import-outside-toplevel
    found = yaml.load(path.read_text(encoding="utf-8"), yaml.CBaseLoader)
    return found if isinstance(found, dict) else {}


def _profile(call: Call, case: Case, name: str) -> Tree:
    """A framework's profile, as it is written."""
    folders = [Path("frameworks"), *_folders(call, "workloads/frameworks")]
    paths = [Path(name)] if "/" in name else [folder / f"{name}.yaml" for folder in folders]
    found = next((path for path in paths if path.is_file()), None)
    if found is None:
        known = sorted({path.stem for folder in folders for path in folder.glob("*.yaml")})
        near = nearest(name, known)
        hint = f"; did you mean '{near}'?" if near else ""
        call.refuse(f"{case.id}: framework: no framework '{name}'{hint} (known: {', '.join(known)})", case.place)
    return _load(found)


@lru_cache(maxsize=None)
def _platform(program: Path, name: str) -> Tree:
    """What the program says of a platform."""
    found: Tree = Call(program, "validate").ask("platform", name)
    return found


def _gpu(call: Call, name: str) -> Tree:
    """A GPU type, as it is written, over the one that it builds on."""
    own = next((_load(path) for path in (folder / f"{name}.yaml" for folder in _folders(call, "platforms/gpus")) if path.is_file()), {})
    return {**(_gpu(call, own["type"]) if "type" in own else {}), **own}


# ---- one row ----

class _Translation:
    """One row on its way."""

    def __init__(self, call: Call, case: Case, words: Words):
        self.call, self.case, self.words = call, case, words
        self.row: Tree = {"system": {}, "model": {}, "parallel": {}, **(case.fields or {})}
        self.doc: Tree = {}
        month = month_of(self.row)
        facts = {"month": month, "zero": at(self.row, "parallel.zero"), "parallel_block": "true" if at(self.row, "model.parallel_transformer_block") else None}
        self.facts = {key: str(value) for key, value in facts.items() if value is not None}
        self._count_replicas()
        self.profile: Tree = {}
        self.cluster: Line = {}
        self.platform: Tree = {}
        self.notes: Tree = {}
        """of choices: how layers lie"""

    def _count_replicas(self) -> None:
        p, gpus = self.row["parallel"], self.row.get("num_gpus", 0)
        ranks = p.get("tp", 0) * p.get("pp", 0) * p.get("cp", 1)
        if "dp" not in p and ranks and gpus and gpus % ranks == 0:
            self.row["parallel"] = {**p, "dp": gpus // ranks}

    def get(self, path: str, default: Any = 0) -> Any:
        """A field; the default where it is not published."""
        found = at(self.row, path)
        return default if found is None else found

    def choose(self, key: str, value: Any) -> None:
        """Set a key of the workload, unless its profile has it so."""
        own = at(self.profile, key)
        put(self.doc, key, None if own == _said(value) and key != "model.type" else value)

    def say(self, words: str, what: str) -> None:
        """Tell what was taken from the table of words."""
        self.case.assumptions.append(f"{words or 'without a word of it'}: {what}")

    # which software, which cluster

    def set_framework(self) -> None:
        name = self.row.get("framework")
        if name is None:
            line, words = next(self.words.matches("frameworks", self.row, self.facts))
            name = line["framework"]
            self.say(words, f"framework {name}")
        self.case.framework = name
        self.profile = _profile(self.call, self.case, name)
        self.doc["framework"] = name
        self.facts.setdefault("zero", at(self.profile, "data_parallel.zero") or "0")
        self.facts["attention"] = at(self.profile, "model.attention") or "fused"

    def check_published(self) -> None:
        for path in NEEDED:
            if not self.get(path):
                raise Refused(f"{path} is not published")
        if not (self.get("system.gpu") and self.get("model.type") and self.get("schedule_kind")):
            raise Refused("GPU type, model type or schedule is not published")

    def set_cluster(self) -> None:
        self.cluster, words = next(self.words.matches("clusters", self.row, self.facts), ({}, ""))
        name = self.cluster.get("platform")
        if not name:
            raise Refused(f"no platform for a GPU '{self.get('system.gpu', '(null)')}'")
        self.say(words, f"platform {name}" + (f" of {self.cluster['gpu_type']}" if "gpu_type" in self.cluster else ""))
        own = self.platform = _platform(self.call.program, name)
        changes, node, network_Bps = self._changes(own)
        gpus = self.row["num_gpus"]
        nodes = -(-gpus // node)
        if self.get("parallel.tp") > node:
            put(self.doc, "tensor_parallel.allow_slow", True)  # what ran, ran
        self.doc["platform"] = {"file": name, "nodes": nodes, **changes}
        if nodes * node > gpus:
            self.doc["placement"] = {"spares": 0}  # some GPUs stay without a rank
        if nodes > 1 and _is_other(self.get("system.nic_gbit_s_per_gpu") * 125e6, network_Bps):
            self.case.differs.append("the network's bandwidth is the platform's, not the published one")

    def _changes(self, own: Tree) -> Tuple[Tree, int, float]:
        """What a source says of its nodes and links otherwise than a platform has it, GPUs of a node, and what each has of its ports [B/s]. Only of nodes
        of NVLink with NICs: what a node or a link is on others, sources say in too many ways."""
        changes: Tree = {"gpu": {"type": self.cluster["gpu_type"]}} if "gpu_type" in self.cluster else {}
        tiers, node, nics = own["tiers"], own["gpus_per_node"], own["nics_per_node"]
        network_Bps = tiers[1]["bandwidth_Bps"] * nics / node if len(tiers) > 1 and nics > 0 else 0
        if network_Bps == 0 or tiers[0]["name"] != "nvlink":
            return changes, node, network_Bps
        rates = {}
        domain = self.get("system.nvlink_domain_gpus")
        gpus = domain or self.get("system.gpus_per_node")
        if gpus and gpus != node and (domain or "node_is_tray" not in self.cluster):
            changes["node"] = {"gpus": gpus, "nics": max(1, nics * gpus // node)}
        nvlink_Bps = (self.get("system.nvlink_gb_s_per_dir") or float(self.cluster.get("nvlink_gb_s", 0))) * 1e9
        if _is_other(nvlink_Bps, tiers[0]["bandwidth_Bps"]):
            rates[tiers[0]["name"]] = nvlink_Bps
        nic_Bps = self.get("system.nic_gbit_s_per_gpu") * 125e6
        if _is_other(nic_Bps, network_Bps):
            rates.update({tier["name"]: tier["bandwidth_Bps"] * (nic_Bps / network_Bps) for tier in tiers[1:]})
        if rates:
            changes["tiers"] = {name: {"bandwidth": f"{rate / 1e9:.9g} GB/s"} for name, rate in rates.items()}
        found = changes.get("node", {"gpus": node, "nics": nics})
        rate_Bps = rates.get(tiers[1]["name"], tiers[1]["bandwidth_Bps"])
        return changes, found["gpus"], rate_Bps * found["nics"] / found["gpus"]

    # how it was laid out

    def set_mesh(self) -> None:
        p, gpus = self.row["parallel"], self.row["num_gpus"]
        sizes = {"tp": p["tp"], "pp": p["pp"], "dp": p["dp"], "cp": p.get("cp", 1)}
        inner = self._set_experts(sizes)
        order = p.get("order") or USUAL_ORDER
        ranks = 1
        for axis in order:
            if axis not in sizes:
                raise Refused(f"parallel.order names an axis '{axis}' that is not known")
            ranks *= sizes[axis]
            if ranks > gpus:
                break
        if ranks != gpus:
            raise Refused(f"the mesh has {ranks} ranks, and num_gpus is {gpus}")
        axes: List[Tuple[str, int]] = []
        for axis in order:
            axes += [(axis, sizes[axis])] if axis != "dp" else [*self._replicas(sizes["dp"] // inner), ("ep", inner)]
        axes = [axis for axis in axes if axis[1] > 1] or [("dp", 1)]
        self.doc["mesh"] = dict(axes)
        names = [name for name, _ in axes]
        if names != [axis for axis in USUAL_ORDER if axis in names]:
            self.doc["mesh"]["order"] = names

    def _set_experts(self, sizes: Dict[str, int]) -> int:
        """Expert-parallel ranks are replicas to the rest. Where each of them holds its tokens alone, they are the inner part of the replicas' axis; else
        the experts have a mesh of their own.  Returns the size of that part."""
        ep = self.get("parallel.ep", 1)
        if not self.get("model.experts") or ep == 1:
            return 1
        if sizes["tp"] > 1 or sizes["cp"] > 1:
            etp = self.get("parallel.etp", 1)
            self.doc["expert_mesh"] = {"ep": ep, **({"tp": etp} if etp > 1 else {})}
            return 1
        if sizes["dp"] % ep:
            raise Refused(f"{ep} expert-parallel ranks do not divide {sizes['dp']} replicas")
        return int(ep)

    def _replicas(self, size: int) -> List[Tuple[str, int]]:
        """The replicas' axis. Between pods of a torus sharded parameters are copies: nobody gathers them over a data centre's network, layer by layer.
        Source: PaLM (arXiv 2204.02311), section 4."""
        gpus, pod = self.row["num_gpus"], int(self.cluster.get("pod", 0))
        pods = gpus // pod if pod and gpus % pod == 0 else 1
        if pods > 1 and self.facts["zero"] == "3" and size % pods == 0:
            put(self.doc, "data_parallel.shard", ["dp"])
            return [("pod", pods), ("dp", size // pods)]
        return [("dp", size)]

    def set_batch(self) -> None:
        batch, micro, replicas = self.row["global_batch"], self.row["micro_batch"], self.row["parallel"]["dp"]
        self.doc["batch"] = {"global": batch, **({"micro": micro} if micro > 1 else {})}
        if batch % (micro * replicas):
            raise Refused(f"a batch of {batch} is no multiple of {micro} sequences on {replicas} replicas")

    # what was trained

    def set_model(self) -> None:
        m, get = self.row["model"], self.get
        kind = "gpt" if m["type"] == "gpt" else "llama"
        model: Tree = {"type": kind, "layers": m["layers"], "hidden": m["hidden"], "heads": m["heads"]}
        model.update({key: m[key] for key, usual in (("kv_heads", m["heads"]), ("head_dim", m["hidden"] / m["heads"])) if key in m and m[key] != usual})
        model.update({"ffn": m["ffn"], "vocab": m["vocab"], "sequence": m["seq_len"]})
        self.doc["model"] = model
        if kind == "gpt" and m["ffn"] == 4 * m["hidden"]:
            del model["ffn"]
        if (get("model.ffn_mats") == 3) != (kind == "llama"):
            model["gated"] = get("model.ffn_mats") == 3
        self._set_traits()
        if "head_dim" not in m and m["hidden"] % m["heads"]:
            raise Refused(f"model.head_dim is not published, and {m['heads']} heads do not divide {m['hidden']}")
        if get("model.experts"):
            self._set_moe()
        if get("model.kv_lora"):
            ranks = {"q_rank": "q_lora", "kv_rank": "kv_lora", "qk_nope": "qk_nope", "qk_rope": "qk_rope", "v_dim": "v_dim"}
            model["mla"] = {key: m[name] for key, name in ranks.items() if get(f"model.{name}")}
            own = at(self.profile, "model.bias") == "true" if at(self.profile, "model.type") == kind and at(self.profile, "model.bias") else kind == "gpt"
            if model.get("bias", own):
                model["bias"] = False
                self.case.differs.append("latent attention without biases")
        if get("model.mtp_layers"):
            model["mtp_layers"] = m["mtp_layers"]
        if get("model.parallel_transformer_block"):
            model["parallel_block"] = True
        if get("model.sliding_window_attention"):
            self.case.differs.append("attention to all tokens, not to a window")

    def _set_traits(self) -> None:
        for field, key, values in (("tied", "tied_embeddings", {}), ("bias", "bias", {}), ("norm", "norm", {}),
                                   ("positions", "positions", {"rope": "rotary", "learned_absolute": "learned"})):
            value = self.get(f"model.{field}", None)
            if value is not None:
                self.doc["model"][key] = values.get(value, value)
        if self.get("model.alibi"):
            self.doc["model"]["positions"] = "alibi"

    def _set_moe(self) -> None:
        m = self.row["model"]
        if not self.get("model.topk") or not self.get("model.moe_ffn"):
            raise Refused("model.topk or model.moe_ffn is not published")
        moe = self.doc["model"]["moe"] = {"experts": m["experts"], "top_k": m["topk"], "ffn": m["moe_ffn"]}
        counted, shared = self.get("model.shared_experts"), self.get("model.shared_ffn")
        if counted or shared:
            moe["shared_experts"] = counted or 1
        if shared and not counted and shared != m["moe_ffn"]:
            moe["shared_ffn"] = shared
        if self.get("model.dense_layers"):
            moe["first_dense_layers"] = m["dense_layers"]

    # what is recomputed, and in which order passes run

    def set_recompute(self) -> None:
        """Which parts `selective` and `partial` mean, and what runs where it is not stated, the framework says; without a word of it, `selective` is the
        attention, and `partial` the parts that the source's own words name."""
        kind = self.get("recompute_kind", "unstated")
        if kind == "unstated":
            return
        has_parts = bool(at(self.profile, "recompute_parts"))
        if has_parts and kind in ("partial", "selective"):
            self.set_plain_recompute("none")
            return
        parts = []
        for line, words in self.words.matches("recompute", self.row, self.facts) if kind == "partial" else ():
            parts.append(line["part"])
            self.say(words, f"recompute_parts {line['part']}")
        if parts:
            self.set_plain_recompute("none")
            self.doc["recompute_parts"] = parts
            return
        if kind not in ("none", "full", "selective"):
            raise Refused(f"which parts '{kind}' recomputes is not known")
        self.set_plain_recompute(kind)
        if has_parts:
            self.doc["recompute_parts"] = []

    def set_plain_recompute(self, kind: str) -> None:
        """Whole layers, attention or nothing."""
        put(self.doc, "recompute", None if kind == (at(self.profile, "recompute") or "none") else kind)

    def set_schedule(self) -> None:
        """The order of a kind that all sources' words are brought to. Interleaved is the framework's own form of it, and with one stage to a rank plain; one
        stage alone has no order."""
        kind, known = self.row["schedule_kind"], tables()["schedules"]
        own, own_v = at(self.profile, "schedule.kind") or "1f1b", int(at(self.profile, "schedule.v") or 0)
        vpp, pp = self.get("parallel.vpp"), self.row["parallel"]["pp"]
        kind = "1f1b" if self.case.use == LAYER and kind == "layer" else kind
        if kind not in known:
            raise Refused(f"schedule '{kind}' is not built")
        kind = own if kind == "interleaved" and own in GROUPED else kind
        kind = "1f1b" if pp == 1 or kind in GROUPED and vpp == 1 else kind
        if pp > 1:
            self.choose("schedule.kind", None if kind == own == "1f1b" else kind)
        chunks = known[kind]
        if kind in GROUPED:
            chunks = vpp or own_v
            if not chunks:
                raise Refused("parallel.vpp is not published")
            self.choose("schedule.v", chunks)
        self._set_stages(pp * chunks, vpp)

    def _set_stages(self, stages: int, vpp: int) -> None:
        if stages > STAGES_MAX:
            raise Refused(f"{stages} stages; at most {STAGES_MAX} are supported")
        layers, layout = self.row["model"]["layers"], self.get("parallel.layout", None)
        given = self.get("parallel.stage_layers", None) or self.get("stage_layers", None) or []
        own = at(self.profile, "schedule.partition") or "even"
        if layout is not None:
            try:
                found = read_layout(layout).layers
            except Bad:
                found = []
            if len(found) != stages or sum(found) != layers:
                raise Refused(f"parallel.layout '{layout}' does not give {layers} layers to {stages} stages")
            put(self.doc, "schedule.stage_layers", found)
        elif len(given) == stages:
            put(self.doc, "schedule.stage_layers", given)
        elif vpp or own != "balanced":
            self._share_layers(stages, layers)

    def _share_layers(self, stages: int, layers: int) -> None:
        """Stages where nothing is published: equal ones; else with embedding and head counted as a layer each, if that is said or comes out even; else as
        many as it takes, and the last one the rest."""
        said = self.notes.get("layers")
        share, rest = -(-layers // stages), layers - -(-layers // stages) * (stages - 1)
        if layers % stages == 0 and said != "ends_fewer":
            self.choose("schedule.partition", None if at(self.profile, "schedule.partition") is None else "even")
        elif (layers + 2) % stages == 0 and said != "rest_last" and stages > 1:
            each = (layers + 2) // stages
            put(self.doc, "schedule.stage_layers", [each - 1, *[each] * (stages - 2), each - 1])
        elif rest > 0:
            put(self.doc, "schedule.stage_layers", [share] * (stages - 1) + [rest])
        else:
            self.choose("schedule.partition", "balanced")

    # what it does where its fields are silent

    def read_choices(self) -> List[Tuple[str, Any]]:
        """Keys that words of the row say, the first line of each key; how layers lie is kept, what is simulated otherwise told."""
        found: Dict[str, Any] = {}
        for line, words in self.words.matches("choices", self.row, self.facts):
            news = {key: value for key, value in line.get("set", {}).items() if key not in found}
            found.update(news)
            if "layers" in line:
                self.notes.setdefault("layers", line["layers"])
            told = [f"{key} {value}" for key, value in news.items()] + [f"layers {line[key]}" for key in ("layers",) if key in line]
            if told:
                self.say(words, ", ".join(told))
            if "differs" in line:
                found[f"differs {len(found)}"] = line["differs"]
        return list(found.items())

    def set_sharding(self) -> None:
        zero = self.get("parallel.zero", None)
        if zero is not None:
            self.choose("data_parallel.zero", zero)
        if self.facts["zero"] == "3" and self.get("parallel.reshard", None) is False:
            put(self.doc, "data_parallel.keep_parameters", True)
        tp = self.row["parallel"]["tp"]
        if tp > 1:
            has_sequence = self.get("parallel.sp", False)
            self.choose("tensor_parallel.sequence", has_sequence if has_sequence or at(self.profile, "tensor_parallel.sequence") == "true" else None)

    def set_choices(self, choices: List[Tuple[str, Any]]) -> None:
        for key, value in choices:
            if key.startswith("differs "):
                self.case.differs.append(value)
            else:
                self.choose(key, value)
        self.fit_products()

    def fit_products(self) -> None:
        """A GPU without products of few bits multiplies in the working type."""
        kind = at(self.doc, "precision.products")
        gpu = self.cluster.get("gpu_type") or self.platform["gpu"]["name"]
        if kind not in (None, "parameters") and kind not in _gpu(self.call, gpu):
            for key in ("products", "scaling", "tensor_gathers", "parameter_gathers"):
                put(self.doc, f"precision.{key}", None)
            self.case.differs.append("products of fewer bits run in the working type: the GPU has none")

    def set_layer(self) -> None:
        """A layer alone: neither embedding nor head, and nothing shared."""
        for key, value in (("model.vocab", 0), ("model.tied_embeddings", False), ("model.positions", "rotary"), ("data_parallel.zero", 0)):
            self.choose(key, value)

    def translate(self) -> None:
        """A row of fields."""
        self.check_published()
        choices = self.read_choices()
        for step in (self.set_cluster, self.set_mesh, self.set_batch, self.set_recompute, self.set_model, self.set_schedule, self.set_sharding):
            step()
        self.set_choices(choices)
        if self.case.use == LAYER:
            self.set_layer()

    # rows with arguments

    def translate_arguments(self) -> None:
        """A row with its run's arguments: they say the job, all but GPUs, vocabulary and cluster, by the translation that users' imports take."""
        if not self.row.get("num_gpus"):
            raise Refused("num_gpus is not published")
        known = megatron_arguments.tables()
        arguments = []
        for text in self.row["args"]:
            name, _, value = text.removeprefix(ENV).partition("=" if text.startswith(ENV) else " ")
            flag = known.find(name)
            arguments.append(Argument(ENV + name if text.startswith(ENV) else name, joined(value) if flag and flag.takes == megatron_arguments.MANY else value))
        facts = Facts(self.case.framework, self.row["num_gpus"], self.get("model.vocab"), self.get("global_batch"), lambda name: (
            at(self.profile, "memory.libraries") in (None, "none"), "weight_gradients" in (at(self.profile, "memory.buffers") or [])))
        job = megatron_job.translate(arguments, known, facts)
        if job.faults:
            raise Refused(f"args: {job.faults[0][0]}")
        for setting in job.settings:
            if setting.value is None:
                raise Refused(f"{setting.key} is not published")
            self.choose(setting.key, document(yaml_tree.parse(self.call.talk, "args", f"value: {setting.value}").value["value"]))
        for argument in arguments:
            if argument.use == DIFFERENT and argument.why not in "; ".join(self.case.differs):
                self.case.differs.append(argument.why)
            elif argument.use == UNKNOWN:
                self.case.differs.append(f"no rule for {argument.name}")
        self.set_cluster()
        self.fit_products()


def _said(value: Any) -> Any:
    """A value as profiles are read: of texts."""
    if isinstance(value, list):
        return [_said(entry) for entry in value]
    return str(value).lower() if isinstance(value, (bool, int, float)) else value


def _is_other(published_Bps: float, own_Bps: float) -> bool:
    return published_Bps > 0 and own_Bps > 0 and abs(published_Bps - own_Bps) > RATE_TOLERANCE * own_Bps


def translate(call: Call, case: Case, words: Words) -> None:
    """Make the workload of a case in the fields format, or set the reason why there is none. A case that has one is left alone.
    Raises Fault, told, where its framework's profile cannot be read."""
    if case.fields is None or case.workload is not None:
        return
    work = _Translation(call, case, words)
    work.set_framework()
    try:
        if work.row.get("args"):
            work.translate_arguments()
        else:
            work.translate()
        case.workload = {"framework": work.doc.pop("framework"), **work.doc}
    except Refused as refused:
        case.reason = str(refused)


def find_platform(call: Call, words: Words, gpu: str, network: str, gpus: int) -> Optional[Tree]:
    """The platform of at least so many GPUs that goes by a source's words, as a workload has it; None: there is none."""
    case = Case("", "", Place("", 0), Measured(), fields={"system": {"gpu": gpu, "network": network}, "num_gpus": gpus})
    work = _Translation(call, case, words)
    try:
        work.set_cluster()
    except Refused:
        return None
    found: Tree = work.doc["platform"]
    return found
