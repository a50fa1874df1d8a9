"""Jobs as exporters see them: the program says what a workload means, and nothing here reads one a second time.

A workload is a tree of dictionaries, lists and texts, each text as the program writes it (`7e-06 s`, `true`). Keys that have their default are not in it.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from meshsim.tools._call import INPUT, NO, OK, Call, Fault, Place, need, read_text
from meshsim.tools.importers.draft import PIPE

Tree = Dict[str, Any]

NONE = "none"
"""what stands for the value of a key that has none, and no default"""
EXPERT_ORDER = ["pp", "dp", "ep", "tp"]
VOCABULARY_MULTIPLE = 128
"""a vocabulary is padded to a multiple of this times tp"""


# ---- a workload ----

@dataclass
class Workload:
    """A workload, whose keys are asked for by their dotted paths."""

    tree: Tree
    defaults: Dict[str, str]
    """every key that a workload may have, in its order, with its default or NONE"""

    def node(self, path: str) -> Any:
        """What stands at a path; None: nothing."""
        node: Any = self.tree
        for word in path.split("."):
            node = node.get(word) if isinstance(node, dict) else None
        return node

    def text(self, path: str) -> str:
        """The text of a key, which may be its default; NONE: neither."""
        found = self.node(path)
        return found if isinstance(found, str) else self.defaults.get(path, NONE)

    def number(self, path: str) -> float:
        """The number of a key in its SI unit; 0: it has none."""
        text = self.text(path)
        return 0.0 if text == NONE else float(text.split()[0])

    def count(self, path: str) -> int:
        return int(self.number(path))

    def is_true(self, path: str) -> bool:
        return self.text(path) == "true"

    def words(self, path: str) -> List[str]:
        """The entries of a key that is a list."""
        found = self.node(path)
        return found if isinstance(found, list) else []

    def axis(self, name: str) -> int:
        """Size of an axis of the mesh, 1 if it has none."""
        return int(self.tree["mesh"].get(name, 1))

    def dtype_B(self, path: str) -> int:
        """Bytes of an element of the type that a key names."""
        return {"bf16": 2, "fp16": 2, "fp32": 4}[self.text(path)]

    def has_experts(self, layer: int) -> bool:
        """Whether the MLP of a layer, counted from 0, is a mixture of experts."""
        first, every = self.count("model.moe.first_dense_layers"), self.count("model.moe.every")
        is_dense = self.count("model.moe.experts") == 0 or layer < first or str(layer) in self.words("model.moe.dense_layers")
        return not is_dense and (layer - first) % every == every - 1


@dataclass(frozen=True)
class Source:
    """The file of a workload, which is read several times."""

    path: str
    text: Optional[str] = None
    """of a pipe, which can be read once"""

    def ask(self, call: Call, *words: str, is_told: bool = False) -> Any:
        """The effective workload. What the program refuses is told and ends the call.  is_told: so is what it says beside a result."""
        path = self.path if self.text is None else PIPE
        answer = call.answer("check", path, "--effective", "--json", *[f"--platform={value}" for value in call.values("platform")], *words, text=self.text or "")
        if is_told or answer.code not in (OK, NO):
            call.talk.write(re.sub(r"^meshsim: try 'meshsim .*\n", "", answer.said.replace(path, self.path), flags=re.MULTILINE))
        return answer.json()


@dataclass
class Job(Workload):
    """A workload in the one form that `settle` makes, with what laying it out found."""

    call: Call
    source: Source
    name: str
    vocab: int
    """of the model, before it is padded"""
    gpus: int
    node_gpus: int
    microbatches: int
    """per step and replica"""
    stage_ranks: List[int]
    """[stages] the pipeline rank of each virtual stage"""
    stage_layers: List[int]
    """[stages]"""

    def is_dealt(self) -> bool:
        """Whether the stages are dealt to the pipeline ranks in turn."""
        pp = self.axis("pp")
        return len(self.stage_ranks) % pp == 0 and all(rank == stage % pp for stage, rank in enumerate(self.stage_ranks))

    def layers_of_ranks(self) -> List[int]:
        """Layers of each pipeline rank: [pp]."""
        layers = [0] * self.axis("pp")
        for rank, count in zip(self.stage_ranks, self.stage_layers):
            layers[rank] += count
        return layers


def is_close(a: float, b: float) -> bool:
    """Whether two numbers of bytes or elements are the same."""
    return abs(a - b) < 1e-6


# ---- one form ----

def settle(work: Workload) -> None:
    """Bring a workload into one form, so that two workloads of one job differ in no key: stages as the list of their layers, experts on a mesh of
    their own, sizes of 1 and what nothing uses left out, the vocabulary padded.  work: changed in place."""
    _settle_experts(work)
    mesh = work.tree["mesh"]
    for name in [name for name in mesh["order"] if mesh[name] == "1"]:
        _drop_axis(mesh, name)
    _settle_schedule(work)
    _settle_model(work)
    _settle_choices(work)


def _drop_axis(mesh: Tree, name: str) -> None:
    del mesh[name]
    mesh["order"].remove(name)


def _settle_experts(work: Workload) -> None:
    """Experts on an axis of the mesh are experts on a mesh of their own, whose tp ranks share them; not beside cp, over which the former are alike,
    and the latter lie."""
    mesh, experts = work.tree["mesh"], work.tree.get("expert_mesh", {})
    ep, tp = work.axis("ep"), work.axis("tp")
    own_ep = int(experts.get("ep", 0))
    order = experts.get("order", EXPERT_ORDER)
    if ep > 1 and work.axis("cp") == 1:
        order = _order_of_axes(mesh["order"])
        _fold_replicas(mesh)
        experts = {"ep": str(ep), "tp": str(tp)}
    elif own_ep == 0 or (own_ep == 1 and int(experts.get("tp", 1)) == tp):
        work.tree.pop("expert_mesh", None)
        return
    has_stages = work.axis("pp") > 1  # of a single pipeline rank the place among the others says nothing
    work.tree["expert_mesh"] = {**experts, "order": [name for name in order if has_stages or name != "pp"]}


def _order_of_axes(axes: List[str]) -> List[str]:
    """The order of the experts' axes that an axis ep of the mesh makes."""
    order = ["pp"] * ("pp" not in axes)
    for name in axes:
        order += ["dp"] * (name == "ep" and "dp" not in axes)
        order += [name] * (name in EXPERT_ORDER)
    return (order + ["tp"] * ("tp" not in axes))[:4]


def _fold_replicas(mesh: Tree) -> None:
    """Replicas on the ep axis become replicas on dp."""
    if "dp" in mesh:
        mesh["dp"] = str(int(mesh["dp"]) * int(mesh["ep"]))
        _drop_axis(mesh, "ep")
    else:
        mesh["dp"] = mesh.pop("ep")
        mesh["order"] = ["dp" if name == "ep" else name for name in mesh["order"]]


def _settle_schedule(work: Workload) -> None:
    schedule = dict(work.tree.get("schedule", {}))
    pp, chunks = work.axis("pp"), max(1, work.count("schedule.v"))
    layers = schedule.pop("stage_layers", None) or _list_layers(work, pp * chunks)
    for key in ("v", "partition", "first_stage_layers", "last_stage_layers"):
        schedule.pop(key, None)
    if schedule.get("group") == str(pp):
        del schedule["group"]
    if chunks > 1:
        schedule["v"] = str(chunks)
    if layers and (pp > 1 or chunks > 1):  # a stage alone has no order
        schedule["stage_layers"] = layers
    work.tree["schedule"] = schedule


def _list_layers(work: Workload, stages: int) -> List[str]:
    """Layers of each virtual stage by what the partition says of the ends; all alike without."""
    if stages <= 1:
        return []
    first, last = work.count("schedule.first_stage_layers"), work.count("schedule.last_stage_layers")
    count = stages - (first > 0) - (last > 0)
    middle = str((work.count("model.layers") - first - last) // count) if count > 0 else "0"
    return [str(first)] * (first > 0) + [middle] * count + [str(last)] * (last > 0)


def _settle_model(work: Workload) -> None:
    model = work.tree["model"]
    multiple = VOCABULARY_MULTIPLE * work.axis("tp")
    model["vocab"] = str(-(-int(model["vocab"]) // multiple) * multiple)
    moe = model.get("moe")
    if moe is None:
        return
    dense = [str(layer) for layer in range(int(model["layers"])) if not work.has_experts(layer)]
    for key in ("dense_layers", "first_dense_layers", "every"):
        moe.pop(key, None)
    if dense:
        moe["dense_layers"] = dense
    if work.count("model.moe.shared_experts") == 0:
        moe["shared_ffn"] = moe["ffn"]


def _settle_choices(work: Workload) -> None:
    """What is usual where nothing is said, and what nothing uses."""
    data = work.tree.setdefault("data_parallel", {})
    is_every = work.count("data_parallel.zero") >= 2 and work.axis("pp") == 1
    data.setdefault("reduce", "every" if is_every else "last")
    data.setdefault("gather_stages", "0")
    context = work.tree.get("context_parallel", {})
    if work.axis("cp") == 1:
        work.tree.pop("context_parallel", None)
    elif context.get("overlap") == ("true" if work.text("context_parallel.kind") == "ring" else "false"):
        del context["overlap"]
    if work.text("recompute") != "full":
        work.tree.pop("recompute_layers", None)


# ---- what the program says ----

def load_tree(call: Call, text: str) -> Tree:
    """A workload's text as a tree whose leaves are texts."""
    yaml, = need(call, "yaml")
    return yaml.load(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader))


def _read_defaults(call: Call) -> Dict[str, str]:
    defaults = {}
    for line in call.answer("check", "--keys").printed.splitlines():
        key, _, rest = line.partition(" =")
        defaults[key] = rest.split(" #")[0].strip() or NONE
    return defaults


def _layers_of(work: Workload, stages: int) -> List[int]:
    layers = [int(item) for item in work.words("schedule.stage_layers")]
    return layers if len(layers) == stages else [0] * stages


def read_job(call: Call, path: str, software: str) -> Job:
    """The job of a workload file and the call's options.  software: that could train its model.
    Ends the call where the program refuses it, or where it has given costs and no model."""
    is_pipe = os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
    source = Source(path, read_text(call, path) if is_pipe else None)
    answer = source.ask(call, *[f"--set={value}" for value in call.values("set")], is_told=True)
    if "laid_out" not in answer:
        raise Fault(INPUT)
    work = Workload(load_tree(call, answer["laid_out"]), _read_defaults(call))
    if "model" not in work.tree:
        call.refuse(f"costs: given times have no model that {software} could train", _place_of_costs(call, source))
    layout = answer["layout"]
    name = layout["name"] if source.text is None or "name" in work.tree else Path(path).stem
    job = Job(work.tree, work.defaults, call, source, name, work.count("model.vocab"), layout["gpus"], layout["node_gpus"],
              layout["num_microbatches"], layout["stage_pp_ranks"], _layers_of(work, len(layout["stage_pp_ranks"])))
    settle(job)
    return job


def _place_of_costs(call: Call, source: Source) -> Optional[Place]:
    """Where the costs begin; None: in a workload that comes with the program."""
    yaml, = need(call, "yaml")
    for text in reversed(call.values("set")):
        if text.startswith("costs="):
            return Place("--set", 1, len("costs=") + 1, 1, text)
    if source.text is None and not os.path.isfile(source.path):
        return None
    text = read_text(call, source.path) if source.text is None else source.text
    pairs = yaml.compose(text, yaml.SafeLoader).value
    key, value = next((pair for pair in pairs if pair[0].value == "costs"), (None, None))
    if key is None:
        return None
    mark, width = (value.start_mark, 1) if value.flow_style else (key.start_mark, len("costs"))
    return Place(source.path, mark.line + 1, mark.column + 1, width, text.splitlines()[mark.line])


# ---- what other software makes of a file ----

def adopt(job: Job, sets: List[Tuple[str, Any]]) -> Workload:
    """The workload that a software makes of a file on the job's own cluster.
    sets: keys with their values in the order in which they count; those at the top that are not among them have the default, or what `framework` chooses."""
    tops = [key for key in job.defaults if "." not in key and key not in ("platform", "name", "description")]
    given = {key for key, _ in sets}
    words = [f"--set={text}" for text in job.call.values("set") if re.match(r"platform\b", text)]
    words += [f"--set={key}=null" for key in tops if key not in given]
    words += [f"--set={key}={flow(value)}" for key, value in sets]
    work = Workload(load_tree(job.call, job.source.ask(job.call, *words)["workload"]), job.defaults)
    settle(work)
    return work


_PLAIN = re.compile(r"[\w./+-][\w./+ -]*")


def flow(node: Any) -> str:
    """A tree in one line of YAML."""
    if isinstance(node, dict):
        return "{" + ", ".join(f"{key}: {flow(value)}" for key, value in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(map(flow, node)) + "]"
    return node if _PLAIN.fullmatch(node) or node == "" else json.dumps(node, ensure_ascii=False)


MODEL_OF_SOFTWARE = {"attention", "fused_accumulation", "loss", "loss_metrics", "kernels", "projections", "repeat_key_values", "two_pass_norms", "separate_dropout",
                     "complex_rotary", "cast_gradients"}
"""keys of a model that are kernels of the software, not the user's own sizes"""


def own_model(job: Job) -> Tree:
    """The job's model without the kernels that the software brings, with every default said, so that no profile says another."""
    model = {key: value for key, value in job.tree["model"].items() if key not in MODEL_OF_SOFTWARE and key != "hf"}
    for path, default in job.defaults.items():
        words = path.split(".")
        is_own = words[0] == "model" and len(words) > 1 and words[1] not in MODEL_OF_SOFTWARE and default != NONE
        below = _mapping_at(model, words[1:-1]) if is_own else None
        if below is not None:
            below.setdefault(words[-1], default)
    return model


def _mapping_at(tree: Tree, words: List[str]) -> Optional[Tree]:
    for word in words:
        if word not in ("imbalance",) and word not in tree:
            return None
        tree = tree.setdefault(word, {})
    return tree
