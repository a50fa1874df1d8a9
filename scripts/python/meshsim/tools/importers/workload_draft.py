"""Workloads that importers make: what users say besides, keys in the order of the program's schema, and the model's parameters.

What the simulator knows (keys of a workload in their order, the parameters of a model, the GPUs of a platform's node) is asked of the program.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from .._call import NO, OK, USAGE
from .draft import PIPE, Draft
from .source import count, deliver
from .yaml_tree import Node, quoted, take_out, write

GPUS_MAX, BATCH_MAX = 2**24, 10**8
NEEDED = {"platform": "platform: {file: dgx-h100, nodes: 8}  # a cluster, see 'meshsim platform'", "model": "model: {...}",
          "mesh": "mesh: {dp: 64}  # sizes of dp, pp, tp, cp, ep; their product is the GPUs",
          "batch": "batch: {global: 512, micro: 1}  # sequences per step, and per microbatch"}
"""what every workload needs, with what a user may put there; costs may stand in the model's place"""
GIVEN = {"platform": (" --platform dgx-h100", ""), "mesh": (" --gpus 64", " --set 'mesh={dp: 64}'"), "batch": (" --batch 256", " --set 'batch={global: 256}'"),
         "model.vocab": ("", " --set model.vocab=32000"), "mesh.dp": ("", " --set mesh.dp=8"), "batch.micro": ("", " --set batch.micro=1"),
         "precision.parameters": ("", " --set precision.parameters=bf16")}
"""how what is required is given, with examples: to this command, and to those that read its file"""
_PROBE = "platform: {file: dgx-h100, nodes: 1}\nmesh: {dp: 8}\nbatch: {global: 8, micro: 1}\n"  # around a model whose parameters are asked for


@dataclass
class Workload(Draft):
    """A workload in the making."""

    gpus: int = 0
    """of the job, as the source or the user says; 0: not known"""
    parameters: Optional[Dict[str, Any]] = None
    """the model's, as the program counts them"""
    effects: Dict[str, str] = field(default_factory=dict)
    """by the source's keys, what of a run is simulated otherwise: memory or time"""
    schema: Dict[str, Any] = field(default_factory=dict)

    # what users say

    def fill(self) -> None:
        """What --platform, --gpus and --batch say where the source does not."""
        name, fills = self.call.value("platform"), {}
        if name is None and self.call.has("gpus"):
            self.call.refuse("'--gpus' needs '--platform': of which cluster", code=USAGE)
        if name is not None:
            platform = self.call.ask("platform", name)
            gpus = count(self.call, "gpus", GPUS_MAX, platform["gpus"])
            if gpus % platform["gpus_per_node"]:
                self.call.refuse(f"--gpus '{gpus}' are no whole nodes of '{platform['platform']}', which have {platform['gpus_per_node']} each", code=USAGE)
            path = os.path.realpath(name) if "/" in name or os.path.exists(name) else name
            fills = {"platform": f"{{file: {quoted(path)}, nodes: {gpus // platform['gpus_per_node']}}}", "mesh": f"{{dp: {gpus}}}"}
        if self.call.has("batch"):
            fills["batch"] = f"{{global: {count(self.call, 'batch', BATCH_MAX, 1)}}}"
        for key, value in fills.items():
            if self.root.get(key) is None:
                self.set(key, value)

    def is_said(self, path: str) -> bool:
        """Whether --set says a key, or one above it."""
        return any(path == name or path.startswith(name + ".") for name in (text.split("=")[0] for text in self.call.values("set")))

    # what follows

    def complete(self) -> None:
        """Fill the tree up with what users say, and ask what its model is.  Ends the call where the model is wrong."""
        self.fill()
        self.override()
        take_out(self.root, "platform")  # whose file may have keys to take out
        self.schema = json.loads(self.call.answer("schema", "workload").printed or "{}")
        _arrange(self.root, self.schema)
        self._fit_nodes()
        model = self.root.get("model")
        if model is not None and not any(path.startswith("model.") for path in self.still_open()):
            self.parameters = self.ask(Node({"model": model}), "check", PIPE, "--ignore-memory", behind=_PROBE)["parameters"]

    def missing(self) -> List[str]:
        """The keys that every workload needs, and those that the source leaves open."""
        has = lambda key: self.root.get(key) is not None  # noqa: E731
        return [key for key in NEEDED if not has(key) and not (key == "model" and has("costs"))] + self.still_open()

    def _fit_nodes(self) -> None:
        """As many nodes of the platform as the GPUs of the job fill, or a remark why not."""
        file = self.root.at("platform.file")
        says_nodes = any(re.match(r"platform\.nodes=|platform=.*\bnodes\b", text) for text in self.call.values("set"))
        if self.gpus == 0 or self.call.has("gpus") or file is None or not file.text or says_nodes:
            return
        answer = self.call.answer("platform", file.text, "--json")
        if answer.code != OK:
            return
        of_node = answer.json()["gpus_per_node"]
        if self.gpus % of_node == 0:
            self.set("platform.nodes", str(self.gpus // of_node))
        else:
            self.remarks.append(f"platform.nodes: {self.gpus} GPUs of the job do not fill nodes of {of_node} each")

    # what is written

    def result(self, kind: str) -> Dict[str, Any]:
        return {**({"parameters": self.parameters} if self.parameters is not None else {}), **super().result(kind)}

    def body(self) -> List[str]:
        """The lines of the tree; what every workload needs and this one lacks stands as comments."""
        lines, missing = [], self.missing()
        for key in _properties(self.schema):
            node = self.root.get(key)
            if node is not None:
                lines += [line for line, _ in write(Node({key: node}))]
            elif key in missing:
                lines.append(f"# required: {NEEDED[key]}")
        return lines

    def page(self) -> str:
        """What is told where the file goes elsewhere."""
        page, missing = self._model_page(self.parameters) if self.parameters else "", self.missing()
        if not missing:
            return page
        now, later = ("".join(self._given(key, is_here) for key in missing) for is_here in (True, False))
        return page + f"required   {', '.join(missing)}, see the file's comments\nnow        add, for example,{now}\n" \
                      f"or later   meshsim run {self.call.value('output', '')}{later}\n"

    def _model_page(self, parts: Dict[str, Any]) -> str:
        name, layers = self.root.at("model.name"), self.root.at("model.layers")
        page = f"name       {name.text if name else 'model'}\nmodel      {_counted(parts['total'], parts['active'])}, {layers.text if layers else '?'} layers\n"
        if parts["total"] > parts["total_without_mtp"]:
            page += f"           without prediction modules\n           {_counted(parts['total_without_mtp'], parts['active_without_mtp'])}\n"
        if parts["total_untied"] > parts["total"] and parts["head"] > 0:
            page += f"           the head's {_said(parts['head'])} are the embedding's, counted once\n"
        page += f"exactly    {parts['total_without_mtp']:.0f} parameters, {parts['active_without_mtp']:.0f} active"
        return page + (", without prediction modules\n" if parts["total"] > parts["total_without_mtp"] else "\n")

    def _given(self, key: str, is_here: bool) -> str:
        here, later = GIVEN.get(key, ("", f" --set {key}=VALUE"))
        if is_here and here:
            return here
        return later or f" --set 'platform={{file: dgx-h100, nodes: {(self.gpus or 64) // 8 + ((self.gpus or 64) % 8 > 0)}}}'"

    def finish(self) -> int:
        """Complete, tell and write: what `import` does with a workload.  Returns the exit code: NO where a run would show what is simulated otherwise."""
        self.complete()
        tree = self.result("workload")
        deliver(self.call, self.keys, tree["workload"], tree, self.page())
        if not self.effects or self.call.has("accept-differences"):
            return OK
        what = " and the ".join(sorted(set(self.effects.values())))
        self.call.talk.warning(f"the {what} of this run {'differs' if ' ' not in what else 'differ'} from what is simulated: {', '.join(self.effects)}; "
                               "--accept-differences takes that")
        return NO


def _said(number: float) -> str:
    """A count of parameters as people say it, such as "174.6 billion"."""
    for scale, word in ((1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if number >= scale:
            return f"{number / scale:.4g}{word}"
    return f"{number:.4g}"


def _counted(total: float, active: float) -> str:
    return f"{_said(total)} parameters" + (f", {_said(active)} of them active" if active < total else "")


# ---- keys in their order ----

def _properties(schema: Dict[str, Any]) -> Dict[str, Any]:
    return next((dict(row["properties"]) for row in [schema, *schema.get("anyOf", [])] if "properties" in row), {})


def _arrange(node: Node, schema: Dict[str, Any]) -> None:
    """Put keys in the order of the schema, those that it lacks behind."""
    if isinstance(node.value, dict):
        order = _properties(schema)
        node.value = {**{name: node.value[name] for name in order if name in node.value}, **node.value}
        for name, child in node.value.items():
            if name != "platform":
                _arrange(child, order.get(name, {}))
