"""Workloads that importers make: a tree of keys with the places of what they were made of, what the source leaves open, and the file.

What the simulator knows (keys of a workload in their order, the parameters of a model, the GPUs of a platform's node) is asked of the program.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .._call import INPUT, NO, OK, USAGE, Call, Fault, Place, check_target, need, print_json, print_page, visible, write_file
from .source import ASSUMED, Key, inline, row_of, tell

REQUIRED = "required"
"""value of a key inside a mapping that the source leaves open: no key takes it, so that `check` names the place"""
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
class Node:
    """A value of a workload: a scalar's text, a list, or a mapping."""

    text: Optional[str] = None
    is_quoted: bool = False
    items: Optional[List["Node"]] = None
    keys: Optional[Dict[str, "Node"]] = None
    place: Optional[Place] = None

    def at(self, path: str) -> Optional["Node"]:
        """The value of a dotted path; None: it is not there."""
        node: Optional[Node] = self
        for name in path.split("."):
            node = node.keys.get(name) if node is not None and node.keys is not None else None
        return node

    @property
    def is_null(self) -> bool:
        """Whether the value takes its key out."""
        return self.text in ("null", "~", "Null", "NULL", "") and not self.is_quoted

    def shown(self) -> str:
        """The value for a message."""
        return "a list" if self.items is not None else "keys" if self.keys is not None else f"'{self.text}'"


# ---- from and to text ----

def _node_of(call: Call, text: str, offset: int = 0, whole: str = "") -> Node:
    """YAML flow text as a value.  offset, whole: where it stands in an override [characters]."""
    yaml, = need(call, "yaml")
    try:
        return _convert(yaml, yaml.compose(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        column = offset + (mark.column if mark else 0) + 1
        call.refuse(f"not valid YAML: {getattr(error, 'problem', None) or error}", Place("--set", 1, column, 1, whole))


def _convert(yaml: Any, node: Any) -> Node:
    if node is None:
        return Node(text="")
    if isinstance(node, yaml.ScalarNode):
        return Node(text=node.value, is_quoted=bool(node.style))
    if isinstance(node, yaml.SequenceNode):
        return Node(items=[_convert(yaml, item) for item in node.value])
    return Node(keys={key.value: _convert(yaml, value) for key, value in node.value})


def _is_word(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9](?:[\w./%+ -]*[\w./%+-])?", text, re.A) is not None


def _is_plain(text: str) -> bool:
    """Whether a text needs no quotes.  Source: YAML 1.1, section 9.1.3 (plain style)."""
    if not text:
        return True
    is_bad = text[0] in ",[]{}#&*!|>'\"%@` \t" or text[-1] in " \t" or re.match(r"[-?:](?:[ \t]|$)", text) or re.search(r":(?:[ \t]|$)|(?:[ \t]|^)#", text)
    return not is_bad and visible(text) == text and "\n" not in text


def quoted(text: str) -> str:
    """A text in double quotes."""
    escape = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
    def letter(character: str) -> str:
        code = ord(character)
        hidden = f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
        return escape.get(character) or (character if visible(character) == character else hidden)
    return '"' + "".join(map(letter, text)) + '"'


def _scalar(node: Node) -> str:
    text = node.text or ""
    return text if not node.is_quoted and _is_plain(text) else quoted(text)


def _lines(node: Node, indent: str = "") -> Iterator[Tuple[str, Optional[Place]]]:
    """The lines of a mapping or list as a file has them, each with the place of what it was made of."""
    entries = node.keys.items() if node.keys is not None else [(None, item) for item in node.items or []]
    for name, child in entries:
        head = indent + ("-" if name is None else (name if _is_word(name) else quoted(name)) + ":")
        if child.text is not None:
            yield head + (" " if child.text or child.is_quoted else "") + _scalar(child), child.place
        elif child.items is not None and all(item.text is not None and (item.is_quoted or _is_word(item.text)) for item in child.items):
            yield f"{head} [{', '.join(map(_scalar, child.items))}]", child.place
        elif not child.keys and not child.items:
            yield head + " {}", child.place
        elif name is None:
            inner = list(_lines(child, indent + "  "))
            yield head + " " + inner[0][0].lstrip(), inner[0][1]
            yield from inner[1:]
        else:
            yield head, child.place
            yield from _lines(child, indent + "  ")


# ---- keys in their order ----

@lru_cache(maxsize=None)
def _schema(program: str) -> Dict[str, Any]:
    done = subprocess.run([program, "schema", "workload"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return json.loads(done.stdout) if done.returncode == OK else {}


def _properties(schema: Dict[str, Any]) -> Dict[str, Any]:
    for row in [schema, *schema.get("anyOf", [])]:
        if "properties" in row:
            return dict(row["properties"])
    return {}


def _arrange(node: Node, schema: Dict[str, Any]) -> None:
    """Put keys in the order of the schema, those that it lacks behind; and take out those that are null, but for a platform's own."""
    order = _properties(schema)
    assert node.keys is not None
    node.keys = {**{name: node.keys[name] for name in order if name in node.keys}, **node.keys}
    for name, child in list(node.keys.items()):
        if child.is_null and name in order:
            del node.keys[name]
        elif child.keys is not None and name != "platform":
            _arrange(child, order.get(name, {}))


# ---- the draft ----

@dataclass
class Draft:
    """A workload in the making."""

    call: Call
    about: str
    """one line on where it comes from"""
    remarks: str = ""
    """further comments, lines that begin with '#'"""
    root: Node = field(default_factory=lambda: Node(keys={}))
    keys: List[Key] = field(default_factory=list)
    """those of the source, and what became of each"""
    open: Dict[str, str] = field(default_factory=dict)
    """dotted paths that the source leaves open, with what would say them"""
    gpus: int = 0
    """of the job, as the source or the user says; 0: not known"""
    parameters: Optional[Dict[str, Any]] = None
    """the model's, as the program counts them"""
    missing: List[str] = field(default_factory=list)

    def set(self, path: str, value: str, place: Optional[Place] = None) -> None:
        """Set a key.  value: YAML flow text."""
        node = self.root
        for name in path.split(".")[:-1]:
            assert node.keys is not None
            node = node.keys.setdefault(name, Node(keys={}, place=place))
        assert node.keys is not None
        node.keys[path.rsplit(".", 1)[-1]] = _placed(_node_of(self.call, value), place)

    def require(self, path: str, why: str, place: Optional[Place] = None) -> None:
        """Say that the source leaves a key open."""
        self.set(path, REQUIRED, place)
        self.open[path] = why

    # what users say

    def fill(self) -> None:
        """What --platform, --gpus and --batch say where the source does not."""
        name, batch = self.call.value("platform"), self.call.value("batch")
        assert self.root.keys is not None
        if name is None and self.call.has("gpus"):
            self.call.refuse("'--gpus' needs '--platform': of which cluster", code=USAGE)
        fills = []
        if name is not None:
            platform = self.call.ask("platform", name)
            gpus = count(self.call, "gpus", GPUS_MAX, platform["gpus"])
            if gpus % platform["gpus_per_node"]:
                self.call.refuse(f"--gpus '{gpus}' are no whole nodes of '{platform['platform']}', which have {platform['gpus_per_node']} each", code=USAGE)
            path = os.path.realpath(name) if "/" in name or os.path.exists(name) else name
            fills = [("platform", f"{{file: {quoted(path)}, nodes: {gpus // platform['gpus_per_node']}}}"), ("mesh", f"{{dp: {gpus}}}")]
        if batch is not None:
            fills.append(("batch", f"{{global: {count(self.call, 'batch', BATCH_MAX, 1)}}}"))
        for key, value in fills:
            if key not in self.root.keys:
                self.set(key, value)

    def override(self) -> None:
        """Lay what --set says over the tree."""
        for text in self.call.values("set"):
            _override(self.call, self.root, text)

    def is_said(self, path: str) -> bool:
        """Whether --set says a key, or one above it."""
        return any(path == name or path.startswith(name + ".") for name in (text.split("=")[0] for text in self.call.values("set")))

    # what follows

    def complete(self) -> None:
        """Fill the tree up with what users say, find what it still lacks, and ask what its model is.  Ends the call where the model is wrong."""
        self.fill()
        self.override()
        _arrange(self.root, _schema(str(self.call.program)))
        self._fit_nodes()
        assert self.root.keys is not None
        self.missing = [key for key in NEEDED if key not in self.root.keys and not (key == "model" and "costs" in self.root.keys)]
        still = [path for path in self.open if self._is_open(path)]
        self.missing += still
        if "model" in self.root.keys and not any(path.startswith("model.") for path in still):
            self._ask_model()

    def _is_open(self, path: str) -> bool:
        node = self.root.at(path)
        return node is not None and node.text == REQUIRED

    def _fit_nodes(self) -> None:
        """As many nodes of the platform as the GPUs of the job fill, or a remark why not."""
        file = self.root.at("platform.file")
        says_nodes = any(re.match(r"platform\.nodes=|platform=.*\bnodes\b", text) for text in self.call.values("set"))
        if self.gpus == 0 or self.call.has("gpus") or file is None or file.text is None or says_nodes:
            return
        done = subprocess.run([str(self.call.program), "platform", file.text, "--json"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != OK:
            return
        of_node = json.loads(done.stdout)["gpus_per_node"]
        if self.gpus % of_node == 0:
            self.set("platform.nodes", str(self.gpus // of_node))
        else:
            self.remarks += f"# platform.nodes: {self.gpus} GPUs of the job do not fill nodes of {of_node} each\n"

    def _ask_model(self) -> None:
        lines = list(_lines(Node(keys={"model": self.root.keys["model"]})))  # type: ignore[index]
        with tempfile.TemporaryDirectory(prefix="meshsim-import-") as folder:
            path = os.path.join(folder, "model.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line, _ in lines) + _PROBE)
            done = subprocess.run([str(self.call.program), "check", path, "--ignore-memory", "--json"], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode in (OK, NO):
            self.parameters = json.loads(done.stdout)["parameters"]
            return
        for line, message in re.findall(rf"^{re.escape(path)}:(\d+)(?::\d+)?: error: (.*)$", done.stderr, re.M):
            self.call.talk.error(message, lines[int(line) - 1][1] if int(line) <= len(lines) else None)
        if self.call.talk.errors == 0:
            self.call.talk.error((done.stderr.strip().splitlines() or ["the model is not understood"])[0].replace("meshsim: error: ", ""))
        raise Fault(INPUT)

    # what is written

    def text(self) -> str:
        """The file: what it lacks stands as comments."""
        lines = [f"# Imported by meshsim from {inline(self.about)}."]
        lines += [f"# required: {path}  # {inline(why)}" for path, why in self.open.items() if self._is_open(path)]
        lines += self.remarks.splitlines()
        assert self.root.keys is not None
        order = _properties(_schema(str(self.call.program)))
        for key in order:
            if key in self.root.keys:
                lines += [line for line, _ in _lines(Node(keys={key: self.root.keys[key]}))]
            elif key in self.missing:
                lines.append(f"# required: {NEEDED[key]}")
        return "".join(line + "\n" for line in lines)

    def page(self) -> str:
        """What is told where the file goes elsewhere."""
        page = ""
        if self.parameters is not None:
            page = self._model_page(self.parameters)
        if not self.missing:
            return page
        given = lambda is_here: "".join(self._given(key, is_here) for key in self.missing)  # noqa: E731
        return page + f"required   {', '.join(self.missing)}, see the file's comments\nnow        add, for example,{given(True)}\n" \
                      f"or later   meshsim run {self.call.value('output', '')}{given(False)}\n"

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

    def finish(self) -> None:
        """Complete, tell and write: what `import` does with a workload."""
        self.complete()
        tell(self.call, self.keys)
        path = self.call.value("output", None if self.call.has("json") else "-")
        text = self.text()
        if path is not None:
            write_file(self.call, path, text)
        if self.call.has("json"):
            tree: Dict[str, Any] = {"parameters": self.parameters} if self.parameters is not None else {}
            print_json(self.call, {**tree, "missing": self.missing, "keys": [row_of(key) for key in self.keys], "workload": text})
        elif path not in (None, "-"):
            print_page(self.call, self.page())


    def tell_differences(self, effects: Dict[str, str]) -> None:
        """Say what of a run is simulated otherwise.  effects: by the source's keys what each changes."""
        what = " and the ".join(sorted(set(effects.values())))
        self.call.talk.warning(f"the {what} of this run {'differs' if ' ' not in what else 'differ'} from what is simulated: {', '.join(effects)}; "
                               "--accept-differences takes that")


def begin(call: Call, about: str) -> Draft:
    """A draft, once it is known that its file can be written."""
    if call.has("output"):
        check_target(call, call.value("output", "-") or "-")
    return Draft(call, about, gpus=0)


def assumed(key: str, value: str, why: str) -> Key:
    """A key that the source does not have, and the default of the software whose file it is."""
    return Key(key, ASSUMED, why, value)


def count(call: Call, option: str, most: int, default: int) -> int:
    """An option's count from 1 to `most`."""
    text = call.value(option)
    if text is None:
        return default
    if not re.fullmatch(r"\d{1,12}", text, re.A) or not 1 <= int(text) <= most:
        call.refuse(f"option '--{option}' takes a whole number from 1 to {most}, got '{text}'", code=USAGE)
    return int(text)


def _placed(node: Node, place: Optional[Place]) -> Node:
    node.place = place
    for child in [*(node.keys or {}).values(), *(node.items or [])]:
        _placed(child, place)
    return node


def _said(number: float) -> str:
    """A count of parameters as people say it, such as "174.6 billion"."""
    for scale, word in ((1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if number >= scale:
            return f"{number / scale:.4g}{word}"
    return f"{number:.4g}"


def _counted(total: float, active: float) -> str:
    return f"{_said(total)} parameters" + (f", {_said(active)} of them active" if active < total else "")


def _override(call: Call, root: Node, text: str) -> None:
    """Lay "key.path=value" over a tree; "name[2]" is an entry of a list."""
    path, equals, value = text.partition("=")
    if not equals:
        call.refuse("expected key.path=value, got no '='", Place("--set", 1, 1, len(text), text), USAGE)
    given = _placed(_node_of(call, value, len(path) + 1, text), Place("--set", 1, len(path) + 2, max(1, len(value)), text))
    node, end = root, 0
    for step in re.finditer(r"(?:^|\.)([^.\[\]]*)|\[(\d+)\]|(.)", path):
        name, index, rest = step.groups()
        place = Place("--set", 1, (step.start(1) if name is not None else step.start()) + 1, max(1, len(name or step[0])), text)
        if rest or name == "":
            call.refuse("expected an index such as 'name[2]'" if rest else "expected key.path=value, got an empty key", place, USAGE)
        node, end = _enter(call, node, name if name is not None else int(index), path[:end], place), step.end()
    node.text, node.is_quoted, node.items, node.keys, node.place = given.text, given.is_quoted, given.items, given.keys, given.place


def _enter(call: Call, node: Node, step: "str | int", before: str, place: Place) -> Node:
    """The value of a key, made where it is missing, or an entry of a list."""
    if isinstance(step, int):
        if node.items is None or step >= len(node.items):
            call.refuse(f"expected the number of a list entry, 0 to {len(node.items or []) - 1}, got '{step}'" if node.items else
                        "expected a key here, got the number of a list entry", place)
        return node.items[step]
    if node.keys is None and not (node.text is not None and node.is_null):
        call.refuse(f"there are no keys below '{before}', it holds {node.shown()}", place)
    if node.keys is None:
        node.text, node.keys = None, {}
    return node.keys.setdefault(step, Node(text=""))
