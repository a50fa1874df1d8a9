"""Rows of a YAML list of cases: the keys that they may have (fields.yaml), and what was measured."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List, Optional

from .._call import Place, Talk
from ..export import nearest
from ..importers.source import number
from ..importers.yaml_tree import Node
from ._case import APART, LAYER, PHASES, SCORED, Case, Measured

APART_PREFIX = "megatron_ci"
"""cases of such groups are there for their memory"""
BAND_SHARE = 0.1
"""two readings of a figure that lie further apart leave the true one open; below, the difference is that of a measurement"""
# Names of memory's peak, the most exact one first: unit [B], whether tensors alone are counted, whether all of the device is.
# Source: README of the measurements
PEAKS = {"peak_alloc_bytes": (1, True, False), "peak_alloc_gib": (2**30, True, False), "peak_memory_gib": (2**30, False, False),
         "peak_memory_gb": (1e9, False, False), "peak_memory_gb_approx": (1e9, False, True)}
PARTS = ("system", "model", "parallel")


@lru_cache(maxsize=None)
def tables() -> Dict[str, Any]:
    """fields.yaml.  Raises ImportError without PyYAML."""
    import yaml  # pylint: disable=import-outside-toplevel
    found: Dict[str, Any] = yaml.load((Path(__file__).parent / "fields.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    return found


def plain(node: Node) -> Any:
    """A value as texts, lists, mappings, and None for nothing."""
    if isinstance(node.value, dict):
        return {key: plain(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [plain(child) for child in node.value]
    return None if node.is_null else node.value


def document(node: Node) -> Any:
    """A value as a document has it: what is not in quotes is a number, a switch or nothing where it looks like one."""
    if isinstance(node.value, dict):
        return {key: document(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [document(child) for child in node.value]
    if node.is_quoted or node.is_null:
        return node.value if node.is_quoted else None
    switch = {"true": True, "false": False}.get(node.value)
    whole = int(node.value) if re.fullmatch(r"-?\d{1,18}", node.value, re.A) else None
    value = number(node.value)
    return switch if switch is not None else whole if whole is not None else value if value is not None and abs(value) < 1e300 else node.value


class _Reader:
    """One row on its way."""

    def __init__(self, talk: Talk, node: Node, path: str):
        self.talk, self.node, self.path = talk, node, path
        self.foreign: List[str] = []
        self.is_sound = True

    def fault(self, message: str, place: Optional[Place], path: str = "") -> None:
        self.is_sound = False
        self.talk.error(f"{path or self.path}: {message}", place)

    def part(self, name: str, node: Node, path: str) -> Dict[str, Any]:
        """The keys of a mapping that say something, by their types. Keys that are like none are left out and listed."""
        table = tables()[name]
        keys: Dict[str, str] = table["keys"]
        if not isinstance(node.value, dict):
            self.fault(f"expected a mapping of keys to values, got {node.shown()}", node.place, path)
            return {}
        unknown = {key: nearest(key, list(keys)) for key in node.value if key not in keys}
        for key in table["required"]:
            if key not in node.value and not any(near == key or nearest(word, [key]) for word, near in unknown.items()):
                self.fault("this key is required; null says that it is not published", node.place, f"{path}.{key}")
        found = {}
        for key, child in node.value.items():
            if child.is_null or key.startswith(("check", "peak_")):
                continue
            if key in keys:
                found[key] = self.typed(child, keys[key], f"{path}.{key}")
            elif unknown[key]:
                self.fault(f"unknown key; did you mean '{unknown[key]}'?", child.key_place, f"{path}.{key}")
            else:
                self.foreign.append(key if name in ("row", "own") else f"{name}.{key}")
        return {key: value for key, value in found.items() if value is not None}

    def typed(self, node: Node, kind: str, path: str) -> Any:
        """A value of a type; None: it is none, which is told."""
        if kind == "any":
            return plain(node)
        if kind in ("words", "ints"):
            if not isinstance(node.value, list) or any(not isinstance(child.value, str) for child in node.value):
                self.fault(f"expected a list of {'words such as [a, b]' if kind == 'words' else 'whole numbers such as [1, 2]'}, got {node.shown()}", node.place, path)
                return None
            return [child.text if kind == "words" else self.typed(child, "size", f"{path}[{at}]") for at, child in enumerate(node.value)]
        if kind == "text" and isinstance(node.value, str):
            return node.value
        if kind == "switch" and node.text in ("true", "false"):
            return node.text == "true"
        if node.text in kind.split("|"):
            return node.text
        expected = {"text": "a text", "switch": "true or false"}.get(kind, " or ".join(kind.split("|")))
        if kind in tables()["bounds"]:
            low, high = tables()["bounds"][kind]
            is_whole = kind not in ("rate", "number")
            value = number(node.text) if not is_whole or re.fullmatch(r"[+-]?\d+", node.text, re.A) else None
            if value is not None and low <= value <= high:
                return int(node.text) if is_whole else value
            expected = f"{low:g} to {high:g}" if value is not None and value == value else "a whole number" if is_whole else "a number such as 0.5"
            expected = expected.replace("1e+08", "100000000").replace("1.67772e+07", "16777216").replace("1e+06", "1000000")
        self.fault(f"expected {expected}, got {node.shown()}", node.place, path)
        return None

    def figures(self, node: Optional[Node]) -> Dict[str, str]:
        """The figures of a source as they stand."""
        if node is None or node.is_null:
            return {}
        path = f"{self.path}.measured"
        if not isinstance(node.value, dict):
            self.fault("expected a mapping of figures", node.place, path)
            return {}
        for child in node.value.values():
            if not isinstance(child.value, str):
                self.fault("expected a figure", child.place, path)
        return {key: child.text for key, child in node.value.items() if not child.is_null}


def measured_of(figures: Dict[str, str], step_s: Optional[float], peak_B: Optional[float]) -> Measured:
    """What was measured.  figures: of a source.  step_s, peak_B: scores that stand beside them; None: there is none."""
    values = {name: value for name, text in figures.items() for value in [number(text)] if value is not None}
    found = Measured(step_s=step_s, peak_B=peak_B, is_allocated=peak_B is not None, figures=figures, is_last_rank=figures.get("rank") == "last",
                     static_B=values.get("alloc_between_steps_bytes"), phase_s={phase: values[name] for phase, name in PHASES.items() if name in values})
    band = [values[name] for name in ("step_time_s_derived_causal", "step_time_s_derived_noncausal") if name in values]
    if len(band) == 2 and max(band) - min(band) > BAND_SHARE * min(band):
        found.low_s, found.high_s = min(band), max(band)
    for name, (unit, is_allocated, is_device) in PEAKS.items():
        if found.peak_B is None and name in values:
            found.peak_B, found.is_allocated, found.is_device = values[name] * unit, is_allocated, is_device
    found.forward_s, found.backward_s, found.layer_s = (values[name] * 1e-3 if name in values else None
                                                        for name in ("fwd_ms", "bwd_ms_incl_recompute", "combined_ms"))
    return found


def _read_row(talk: Talk, node: Node, index: int, cases: List[Case]) -> None:
    name = node.get("id")
    path = name.text if name is not None and name.text and not name.is_null else f"[{index}]"
    reader = _Reader(talk, node, path)
    if not isinstance(node.value, dict):
        reader.fault("expected a case, a mapping of keys", node.place)
        return
    twin = next((case for case in cases if case.id == path), None)
    if twin is not None and name is not None:
        reader.fault(f"id '{path}' is there already, at {twin.place.file}:{twin.place.line}", name.place)
    has_workload = "workload" in node.value or "skipped" in node.value
    row = reader.part("own" if has_workload else "row", node, path)
    if has_workload and not isinstance(row.get("workload"), dict) and "skipped" not in row:
        reader.fault("expected a workload, a mapping of keys", node.place, f"{path}.workload")
    for part in PARTS if not has_workload else ():
        if part in row:
            row[part] = reader.part(part, node.value[part], f"{path}.{part}")
    if reader.is_sound and ("id" not in row or "group" not in row):
        reader.fault("'id' and 'group' cannot be null", node.place)
    if row.get("score_step_time_s") == 0:
        reader.fault("a measured step takes time", node.value["score_step_time_s"].place)
    figures = reader.figures(node.get("measured"))
    kind, group = row.get("schedule_kind"), row.get("group") or ""
    use = row.get("use") or (LAYER if kind == "layer" else APART if group.startswith(APART_PREFIX) else SCORED)
    recompute = row.get("recompute_kind")
    assert node.place is not None
    case = Case(id=path, group=group, place=node.place, use=use, measured=measured_of(figures, row.get("score_step_time_s"), row.get("score_peak_alloc_bytes")),
                is_core=row.get("core") or False, is_suspect="suspect" in row.get("flags", ()), source=row.get("source"), notes=row.get("notes"),
                recompute_is_stated=recompute != "unstated" and (recompute is not None or has_workload), url=row["url"] if isinstance(row.get("url"), str) else None,
                differs=row.get("differs", []) if has_workload else [], reason=row.get("skipped"))
    if reader.foreign:
        case.differs = [f"no rule for {', '.join(reader.foreign)}", *case.differs]
    if has_workload and isinstance(row.get("workload"), dict):
        case.workload = document(node.value["workload"])
        framework = case.workload.get("framework")
        case.framework = framework.get("name") if isinstance(framework, dict) else framework
    elif not has_workload:
        case.fields = row
    cases.append(case)


def read_rows(talk: Talk, rows: List[Node], cases: List[Case]) -> None:
    """Add the cases of a list.  Faults are told; a row with one is added, too, so that its id is taken."""
    for index, node in enumerate(rows):
        _read_row(talk, node, index, cases)
