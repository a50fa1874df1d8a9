"""From a row in the fields format to its job as a workload: sizes as published, and what is not, by the profile of its software.

Rules read fields; what only words say they take from the table of words. No rule looks at an id, and none holds a number that moves a time. See rules.md.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from .._call import Call, nearest
from ..importers import megatron_arguments, megatron_job, yaml_tree
from ..importers.megatron import joined
from ..importers.megatron_run import DIFFERENT, ENV, UNKNOWN, Argument, Facts
from ..importers.megatron_values import Bad, read_layout
from ._case import LAYER, Case
from ._clusters import find_cluster
from ._rows import document, tables
from ._words import Words, month_of

Tree = Dict[str, Any]
USUAL_ORDER = ["pp", "dp", "cp", "tp"]
"""axes whose order a source does not tell.  Source: README of the measurements"""
STAGES_MAX = 100_000
NEEDED = ("num_gpus", "parallel.tp", "parallel.pp", "parallel.dp", "micro_batch", "global_batch", "model.layers", "model.hidden", "model.heads", "model.ffn",
          "model.vocab", "model.seq_len")
GROUPED = ("interleaved", "interleaved_flexible")
"""schedules with any number of stages to a rank"""
LAYER_ALONE = {"model.vocab": 0, "model.tied_embeddings": False, "model.positions": "rotary", "data_parallel.zero": 0}
"""a layer has neither embedding nor head, and nothing is shared"""


class Refused(Exception):
    """Why a row has no job."""


def demand(is_so: Any, reason: str) -> None:
    """Raise Refused where something is not so."""
    if not is_so:
        raise Refused(reason)


def at(tree: Any, path: str) -> Any:
    """What stands at a dotted path of mappings; None: nothing."""
    for word in path.split("."):
        tree = tree.get(word) if isinstance(tree, dict) else None
    return tree


def put(tree: Tree, path: str, value: Any) -> None:
    """Set what stands at a dotted path; None: nothing is to stand there."""
    *words, last = path.split(".")
    for word in words if value is not None else ():
        tree = tree.setdefault(word, {})
    if value is not None:
        tree[last] = value
    elif at(tree, path) is not None:
        del (at(tree, ".".join(words)) if words else tree)[last]


@lru_cache(maxsize=None)
def _profile(program: Path, name: str) -> Tuple[Optional[Tree], List[str]]:
    """A framework's profile as it is written, of the current folder or of those that meshsim comes with; None: there is none.  Returns it, and which there
    are."""
    import yaml  # pylint: disable=import-outside-toplevel
    given, beside = os.environ.get("MESHSIM_DATA"), program.resolve().parent.parent
    folders = [Path("frameworks"), *(folder / "workloads/frameworks" for folder in (Path(), *([Path(given)] if given else [beside / "share/meshsim", beside])))]
    path = next((path for path in ([Path(name)] if "/" in name else [folder / f"{name}.yaml" for folder in folders]) if path.is_file()), None)
    found = yaml.load(path.read_text(encoding="utf-8"), yaml.CBaseLoader) if path else None
    return found, sorted({path.stem for folder in folders for path in folder.glob("*.yaml")})


def _said(value: Any) -> Any:
    """A value as profiles are read: of texts."""
    if isinstance(value, list):
        return [_said(entry) for entry in value]
    return str(value).lower() if isinstance(value, (bool, int, float)) else value


class _Translation:
    """One row on its way."""

    def __init__(self, call: Call, case: Case, words: Words):
        self.call, self.case, self.words = call, case, words
        self.row: Tree = {"system": {}, "model": {}, "parallel": {}, **(case.fields or {})}
        self.system, self.model, self.parallel = self.row["system"], self.row["model"], self.row["parallel"]
        self.facts = {"month": month_of(self.row), "zero": self.parallel.get("zero"), "parallel_block": self.model.get("parallel_transformer_block", False)}
        self.facts["dated"] = self.facts["month"] is not None
        line, said = ({"framework": self.row["framework"]}, "") if "framework" in self.row else next(words.matches("frameworks", self.row, self.facts))
        name = line["framework"]
        profile, known = _profile(call.program, name)
        if profile is None:
            near = nearest(name, known)
            hint = f"; did you mean '{near}'?" if near else ""
            call.refuse(f"{case.id}: framework: no framework '{name}'{hint} (known: {', '.join(known)})", case.place)
        self.profile, self.case.framework = profile, name
        self.doc: Tree = {"framework": name}
        if self.facts["zero"] is None:
            self.facts["zero"] = int(self.own("data_parallel.zero", 0))
        self.facts["attention"] = self.own("model.attention", "fused")
        if "framework" not in self.row:
            self.say(said, f"framework {name}")

    def own(self, key: str, default: Any = None) -> Any:
        """What the profile of its software has for a key."""
        found = at(self.profile, key)
        return default if found is None else found

    def choose(self, key: str, value: Any) -> None:
        """Set a key of the workload, unless its profile has it so; None: the profile's counts."""
        put(self.doc, key, None if self.own(key) == _said(value) and key != "model.type" else value)

    def say(self, words: str, what: str) -> None:
        """Tell what was taken from the table of words."""
        self.case.assumptions.append(f"{words or 'without a word of it'}: {what}")

    # where it ran

    def set_cluster(self) -> None:
        """The platform, with the nodes that the run took and what its source says of them."""
        gpus = self.row["num_gpus"]
        found = find_cluster(self.call, self.words, self.system, gpus)
        if found is None:
            raise Refused(f"no platform for a GPU '{self.system.get('gpu', '(null)')}'")
        self.say(found.words, " ".join([f"platform {found.platform['file']}", *(["of", found.platform["gpu"]["type"]] if "gpu" in found.platform else [])]))
        self.doc["platform"], self.pods = found.platform, found.pods
        if found.platform["nodes"] * found.node > gpus:
            self.doc["placement"] = {"spares": 0}  # some GPUs stay without a rank
        if self.parallel.get("tp", 1) > found.node:
            put(self.doc, "tensor_parallel.allow_slow", True)  # what ran, ran
        self.case.differs += ["the network's bandwidth is the platform's, not the published one"] * found.has_other_network

    # how it was laid out

    def set_mesh(self) -> None:
        """Axes in the source's order. Expert-parallel ranks are replicas to the rest: where each of them holds its tokens alone, they are the inner part
        of the replicas' axis; else the experts have a mesh of their own. Between pods of a torus sharded parameters are copies: nobody gathers them over a
        data centre's network, layer by layer.  Source of that: PaLM (arXiv 2204.02311), section 4."""
        p, gpus, inner, pods, ranks = self.parallel, self.row["num_gpus"], 1, 1, 1
        sizes = {"tp": p["tp"], "pp": p["pp"], "dp": p["dp"], "cp": p.get("cp", 1)}
        ep, order = p.get("ep", 1), p.get("order") or USUAL_ORDER
        if self.model.get("experts") and ep > 1 and sizes["tp"] * sizes["cp"] > 1:
            is_usual = sizes["tp"] * sizes["cp"] * sizes["dp"] % (ep * sizes["tp"]) == 0  # Megatron-LM refuses a run where it is not
            etp = p.get("etp") or (sizes["tp"] if is_usual else 1)
            self.doc["expert_mesh"] = {"ep": ep, **({"tp": etp} if etp > 1 else {})}
            if "etp" not in p and sizes["tp"] > 1:
                self.say("parallel.etp is not published", f"expert_mesh.tp {etp}" + (", Megatron-LM's default: tp" if is_usual else ", the only one that the ranks leave"))
        elif self.model.get("experts"):
            inner = ep
        demand(sizes["dp"] % inner == 0, f"{ep} expert-parallel ranks do not divide {sizes['dp']} replicas")
        for axis in order:
            demand(axis in sizes, f"parallel.order names an axis '{axis}' that is not known")
            ranks = ranks * sizes[axis] if ranks <= gpus else ranks
        demand(ranks == gpus, f"the mesh has {ranks} ranks, and num_gpus is {gpus}")
        if self.facts["zero"] == 3 and sizes["dp"] // inner % self.pods == 0 and self.pods > 1:
            pods = self.pods
            put(self.doc, "data_parallel.shard", ["dp"])
        parts = {"dp": [("pod", pods), ("dp", sizes["dp"] // inner // pods), ("ep", inner)]}
        axes = [axis for name in order for axis in parts.get(name, [(name, sizes[name])]) if axis[1] > 1] or [("dp", 1)]
        names = [name for name, _ in axes]
        self.doc["mesh"] = {**dict(axes), **({"order": names} if names != [name for name in USUAL_ORDER if name in names] else {})}

    def set_batch(self) -> None:
        """Sequences of a step."""
        batch, micro, replicas = self.row["global_batch"], self.row["micro_batch"], self.parallel["dp"]
        self.doc["batch"] = {"global": batch, **({"micro": micro} if micro > 1 else {})}
        demand(batch % (micro * replicas) == 0, f"a batch of {batch} is no multiple of {micro} sequences on {replicas} replicas")

    def set_recompute(self) -> None:
        """Which parts `selective` and `partial` mean, and what runs where it is not stated, the framework says; without a word of it, `selective` is the
        attention, and `partial` the parts that the source's own words name."""
        kind, parts = self.row.get("recompute_kind", "unstated"), []
        if kind == "unstated":
            return
        is_own = bool(self.own("recompute_parts")) and kind in ("partial", "selective")
        for line, words in self.words.matches("recompute", self.row, self.facts) if kind == "partial" and not is_own else ():
            parts.append(line["part"])
            self.say(words, f"recompute_parts {line['part']}")
        demand(parts or is_own or kind in ("none", "full", "selective"), f"which parts '{kind}' recomputes is not known")
        kind = "none" if is_own or parts else kind
        put(self.doc, "recompute", None if kind == self.own("recompute", "none") else kind)
        if parts or self.own("recompute_parts") and not is_own:
            self.doc["recompute_parts"] = parts

    # what was trained

    def set_model(self) -> None:
        """Sizes as published, and how models of the family are made where the source says so."""
        m = self.model
        kind = "gpt" if m["type"] == "gpt" else "llama"
        demand("head_dim" in m or m["hidden"] % m["heads"] == 0, f"model.head_dim is not published, and {m['heads']} heads do not divide {m['hidden']}")
        demand(not m.get("experts") or m.get("topk") and m.get("moe_ffn"), "model.topk or model.moe_ffn is not published")
        usual = {"kv_heads": m["heads"], "head_dim": m["hidden"] / m["heads"], "ffn": 4 * m["hidden"] if kind == "gpt" else 0}
        self.doc["model"] = model = {"type": kind}
        for name, field in tables()["model"].items():
            is_usual = m.get(name) == usual.get(name, 0) and not (isinstance(m[name], bool) and name in ("tied", "bias"))
            if name in m and isinstance(field, list) and not is_usual and (m.get("experts") or not field[1].startswith("model.moe.")):
                put(self.doc, field[1], {"rope": "rotary", "learned_absolute": "learned"}.get(m[name], m[name]))
        if at(model, "moe.shared_ffn"):
            model["moe"].setdefault("shared_experts", 1)
            put(model, "moe.shared_ffn", None if m.get("shared_experts") or m["shared_ffn"] == m["moe_ffn"] else m["shared_ffn"])
        if (m.get("ffn_mats") == 3) != (kind == "llama"):
            model["gated"] = kind == "gpt"
        if m.get("alibi"):
            model["positions"] = "alibi"
        has_bias = model.get("bias", self.own("model.bias", str(kind == "gpt").lower()) == "true" if self.own("model.type") == kind else kind == "gpt")
        if m.get("kv_lora") and has_bias:
            model["bias"] = False
            self.case.differs.append("latent attention without biases")
        self.case.differs += ["attention to all tokens, not to a window"] * ("sliding_window_attention" in m)

    # in which order passes run

    def set_schedule(self) -> None:
        """The order of a kind that all sources' words are brought to. Interleaved is the framework's own form of it, and with one stage to a rank plain; one
        stage alone has no order."""
        kind, known, own, vpp, pp = self.row["schedule_kind"], tables()["schedules"], self.own("schedule.kind", "1f1b"), self.parallel.get("vpp", 0), self.parallel["pp"]
        kind = "1f1b" if self.case.use == LAYER and kind == "layer" else kind
        demand(kind in known, f"schedule '{kind}' is not built")
        kind = own if kind == "interleaved" and own in GROUPED else kind
        kind = "1f1b" if pp == 1 or kind in GROUPED and vpp == 1 else kind
        chunks = known[kind] or vpp or int(self.own("schedule.v", 0))
        demand(chunks, "parallel.vpp is not published")
        if pp > 1 and kind != own:
            put(self.doc, "schedule.kind", kind)
        if not known[kind]:
            self.choose("schedule.v", chunks)
        demand(pp * chunks <= STAGES_MAX, f"{pp * chunks} stages; at most {STAGES_MAX} are supported")
        self._set_stages(pp * chunks, self.parallel.get("layout"), self.parallel.get("stage_layers") or self.row.get("stage_layers") or [])

    def _set_stages(self, stages: int, layout: Optional[str], given: List[int]) -> None:
        """Layers of stages as the source lists them. Where nothing is published: equal ones; else with embedding and head counted as a layer each, if that
        is said or comes out even; else as many as it takes, and the last one the rest."""
        layers, said, is_balanced = self.model["layers"], self.chosen["layers"], self.own("schedule.partition") == "balanced"
        share, each = -(-layers // stages), (layers + 2) // stages
        rest = layers - share * (stages - 1)
        if layout is not None:
            try:
                given = read_layout(layout).layers
            except Bad:
                given = []
            demand(len(given) == stages and sum(given) == layers, f"parallel.layout '{layout}' does not give {layers} layers to {stages} stages")
        if len(given) == stages:
            put(self.doc, "schedule.stage_layers", given)
        elif is_balanced and not self.parallel.get("vpp"):
            return
        elif layers % stages == 0 and (said != "ends_fewer" or stages == 1):
            put(self.doc, "schedule.partition", "even" if is_balanced else None)
        elif (layers + 2) % stages == 0 and said != "rest_last":
            put(self.doc, "schedule.stage_layers", [each - 1, *[each] * (stages - 2), each - 1])
        elif rest > 0:
            put(self.doc, "schedule.stage_layers", [share] * (stages - 1) + [rest])
        else:
            self.choose("schedule.partition", "balanced")

    # what it did besides

    def read_choices(self) -> None:
        """What words of the row say besides: keys of the workload, the first line of each counts; how layers lie; what is simulated otherwise."""
        self.chosen: Dict[str, Any] = {"set": {}, "layers": None, "differs": []}
        for line, words in self.words.matches("choices", self.row, self.facts):
            news = {key: value for key, value in line.get("set", {}).items() if key not in self.chosen["set"]}
            self.chosen["set"].update(news)
            self.chosen["layers"] = self.chosen["layers"] or line.get("layers")
            self.chosen["differs"] += [line["differs"]] if "differs" in line else []
            for key, value in {**news, **{key: line[key] for key in ("layers",) if key in line}}.items():
                self.say(words, f"{key} {_said(value)}")

    def set_choices(self) -> None:
        """Sharding as published, and what words say."""
        p = self.parallel
        self.choose("data_parallel.zero", p.get("zero"))
        if self.facts["zero"] == 3 and p.get("reshard") is False:
            put(self.doc, "data_parallel.keep_parameters", True)
        if p["tp"] > 1 and (p.get("sp") or self.own("tensor_parallel.sequence") == "true"):
            self.choose("tensor_parallel.sequence", p.get("sp", False))
        for key, value in {**self.chosen["set"], **(LAYER_ALONE if self.case.use == LAYER else {})}.items():
            self.choose(key, value)
        self.case.differs += self.chosen["differs"]

    def check_published(self) -> None:
        """What no job goes without."""
        for path in NEEDED:
            demand(at(self.row, path), f"{path} is not published")
        demand(self.system.get("gpu") and self.model.get("type") and self.row.get("schedule_kind"), "GPU type, model type or schedule is not published")

    def translate(self) -> None:
        """A row of fields."""
        p, gpus = self.parallel, self.row.get("num_gpus", 0)
        ranks = p.get("tp", 0) * p.get("pp", 0) * p.get("cp", 1)
        if "dp" not in p and ranks and gpus and gpus % ranks == 0:
            p["dp"] = gpus // ranks
        self.check_published()
        self.read_choices()
        for step in (self.set_cluster, self.set_mesh, self.set_batch, self.set_recompute, self.set_model, self.set_schedule, self.set_choices):
            step()

    def translate_arguments(self) -> None:
        """A row with its run's arguments: they say the job, all but GPUs, vocabulary and cluster, by the translation that users' imports take."""
        known, arguments = megatron_arguments.tables(), []
        demand(self.row.get("num_gpus"), "num_gpus is not published")
        for text in self.row["args"]:
            name, _, value = text.removeprefix(ENV).partition("=" if text.startswith(ENV) else " ")
            flag = known.find(name)
            arguments.append(Argument(ENV * text.startswith(ENV) + name, joined(value) if flag and flag.takes == megatron_arguments.MANY else value))
        is_early = self.own("memory.libraries", "none") == "none"
        facts = Facts(self.case.framework, self.row["num_gpus"], self.model.get("vocab", 0), self.row.get("global_batch", 0),
                      lambda _: (is_early, "weight_gradients" in self.own("memory.buffers", [])))
        job = megatron_job.translate(arguments, known, facts)
        wrong = [f"args: {message}" for message, _ in job.faults] + [f"{setting.key} is not published" for setting in job.settings if setting.value is None]
        demand(not wrong, "".join(wrong[:1]))
        for setting in job.settings:
            self.choose(setting.key, document(yaml_tree.parse(self.call.talk, "args", f"{{value: {setting.value}}}").value["value"]))
        for argument in arguments:
            if argument.use == DIFFERENT and argument.why not in "; ".join(self.case.differs):
                self.case.differs.append(argument.why)
            elif argument.use == UNKNOWN:
                self.case.differs.append(f"no rule for {argument.name}")
        self.set_cluster()


def translate(call: Call, case: Case, words: Words) -> None:
    """Make the workload of a case in the fields format, or set the reason why there is none. A case that has one is left alone.
    Raises Fault, told, where its framework's profile cannot be read."""
    if case.fields is None or case.workload is not None:
        return
    work = _Translation(call, case, words)
    try:
        if work.row.get("args"):
            work.translate_arguments()
        else:
            work.translate()
        case.workload = {key: value for key, value in work.doc.items() if value != {}}
    except Refused as refused:
        case.reason = str(refused)
