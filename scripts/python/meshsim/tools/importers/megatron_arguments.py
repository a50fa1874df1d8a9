"""What is known of the arguments of Megatron-LM and its forks: megatron_arguments.yaml and unbuilt.yaml."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Dict, Iterable, List, Optional

from .source import table

NONE, ONE, MANY = "none", "one", "many"
SIZE, MEMORY, TIME, NOTHING = "size", "memory", "time", "nothing"
OFF = " false"
"""behind the name of a switch that an argument list says is off"""
# Names of arguments that nobody here knows and that say sizes of a model.
_SIZES = re.compile(r"(?:^|-)(?:layers?|heads?|experts?|hidden|ffn|channels|vocab|mamba|ssm|hybrid|latent|conv)(?:-|$)")
_NO_SIZES = re.compile(r"^(?:log|save|load|ckpt|checkpoint|eval|wandb|tensorboard|profile|data|lr|min|max|inference|rl|grpo|vllm|freeze|check|exit|print|seed|init|lora|timing|"
                       r"tokenizer|train|valid|test)-")


@dataclass(frozen=True)
class Flag:
    """What is known of an argument."""

    name: str
    """with its dashes"""
    takes: str = NONE
    """NONE, ONE or MANY values"""
    is_asked: bool = False
    """the translation may ask for it"""
    effect: str = NOTHING
    """of one that the simulation does not follow: what it changes of a run"""
    why: Optional[str] = None
    """why it is left out, or what is simulated in its place; of SIZE what the model has"""
    harmless: str = ""
    """a regular expression of the values with which it says nothing; empty: none"""
    is_off: bool = False
    """in a log its value is whether it was NOT given"""


@dataclass
class Software:
    """One parser of arguments."""

    name: str
    source: str
    flags: Dict[str, Flag] = field(default_factory=dict)
    """by their names with dashes"""
    defaults: Dict[str, str] = field(default_factory=dict)
    same_as: Dict[str, str] = field(default_factory=dict)
    """its names for arguments of Megatron-LM"""
    spellings: Dict[str, Dict[str, str]] = field(default_factory=dict)
    """of an argument's values, as Megatron-LM has them"""
    marks: List[str] = field(default_factory=list)
    weak_marks: List[str] = field(default_factory=list)
    logs: Dict[str, str] = field(default_factory=dict)
    dense_experts: int = 0
    """--num-experts of a model without experts"""
    has_underscores: bool = False


class Tables:
    """All software, and which of it a job is."""

    def __init__(self, data: Dict[str, Any], unbuilt: List[Dict[str, Any]]):
        self.software = {name: _software(name, rows) for name, rows in data.items()}
        self.base = self.software["megatron-lm"]
        self.refused = {f"--{row[0]}": Flag(f"--{row[0]}", row[1], False, SIZE, part["what"], row[2] if len(row) > 2 else "")
                        for part in unbuilt for row in part["arguments"]}
        self.same_as = {own: usual for software in self.software.values() for own, usual in software.same_as.items()}

    def choose(self, names: Iterable[str]) -> Software:
        """The software whose own arguments a job has most of; Megatron-LM's where it has none."""
        given = set(names)
        def points(software: Software) -> float:
            underscores = sum(name != self.spelling(name) for name in given) if software.has_underscores else 0
            return len(given.intersection(software.marks)) + len(given.intersection(software.weak_marks)) / 100 + underscores / 1000
        best = max(self.software.values(), key=points)
        return best if points(best) > 0 else self.base

    def find(self, name: str, software: Optional[Software] = None) -> Optional[Flag]:
        """An argument by its name with dashes: of that software, of Megatron-LM, of another; None: nobody knows it."""
        if name.endswith(OFF):
            return Flag(name, why="it is off")
        if name in self.refused:
            return self.refused[name]
        return next((one.flags[name] for one in [*([software] if software else []), self.base, *self.software.values()] if name in one.flags), None)

    def usual(self, name: str) -> str:
        """Megatron-LM's name for an argument."""
        return self.same_as.get(name, name)

    def spelling(self, name: str) -> str:
        """A name with '-' for '_', as ms-swift's are written, where that is one that is known and the other is not."""
        dashed = "--" + name[2:].replace("_", "-")
        return dashed if self.find(name) is None and self.find(dashed) is not None else name

    def find_logged(self, key: str) -> Optional[Flag]:
        """What a line of a log says, by its name with underscores; None: nobody knows it."""
        name = self.base.logs.get(key)
        if name is not None:
            flag = self.find(name.lstrip("!"))
            return Flag(**{**flag.__dict__, "is_off": name[0] == "!"}) if flag else None
        return self.find("--" + key) or self.find("--" + key.replace("_", "-"))


def may_be_size(name: str, value: str) -> bool:
    """Whether an argument that nobody knows may say a size of the model, by its name and value."""
    bare = name.lstrip("-").replace("_", "-")
    return bool(re.match(r"[\d\[(]", value) and _SIZES.search(bare) and not _NO_SIZES.match(bare))


@lru_cache(maxsize=None)
def tables() -> Tables:
    """The tables of this package."""
    return Tables(table("importers/megatron_arguments.yaml"), table("importers/unbuilt.yaml"))


def _dashed(names: str) -> List[str]:
    return ["--" + name for name in names.split()]


def _software(name: str, rows: Dict[str, Any]) -> Software:
    flags: Dict[str, Flag] = {}
    for part in rows.get("nothing", []):
        for takes in (NONE, ONE, MANY):
            flags.update({flag: Flag(flag, takes, False, NOTHING, part["why"]) for flag in _dashed(part.get(takes, ""))})
    for row in rows.get("otherwise", []):
        flags["--" + row[0]] = Flag("--" + row[0], row[1], False, row[2], row[3], row[4] if len(row) > 4 else "")
    for takes, names in rows.get("asked", {}).items():
        flags.update({flag: Flag(flag, takes, True) for flag in _dashed(names)})
    pairs = lambda key: {"--" + one: "--" + other for one, other in rows.get(key, {}).items()}  # noqa: E731
    return Software(name, rows["source"], flags, {"--" + key: value for key, value in rows.get("defaults", {}).items()}, pairs("same_as"),
                    {"--" + key: value for key, value in rows.get("spellings", {}).items()}, _dashed(rows.get("marks", "")), _dashed(rows.get("weak_marks", "")),
                    rows.get("logs", {}), rows.get("dense_experts", 0), rows.get("underscores", False))
