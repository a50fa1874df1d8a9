"""Rows of a YAML list of cases: the keys that they may have (fields.yaml), and what was measured."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List, Optional

from .._call import Place, Talk, nearest
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
MS_IN_S = 1e-3


@lru_cache(maxsize=None)
def tables() -> Dict[str, Any]:
    """fields.yaml.  Raises ImportError without PyYAML."""
    import yaml  # pylint: disable=import-outside-toplevel
    found: Dict[str, Any] = yaml.load((Path(__file__).parent / "fields.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    return found


def document(node: Node) -> Any:
    """A value as JSON has it: what is not in quotes is a number, a switch or nothing where it looks like one."""
    if isinstance(node.value, dict):
        return {key: document(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [document(child) for child in node.value]
    if node.is_quoted or node.is_null:
        return node.value if node.is_quoted else None
    try:
        return json.loads(node.value)
    except ValueError:
        return node.value


class _Reader:
    """One row on its way."""

    def __init__(self, talk: Talk, path: str):
        self.talk, self.path, self.foreign, self.errors = talk, path, [], talk.errors

    def fault(self, message: str, place: Optional[Place], path: str = "") -> None:
        """Tell what is wrong with the row, or with the key at a path."""
        self.talk.error(f"{path or self.path}: {message}", place)

    def part(self, name: str, node: Node, path: str) -> Dict[str, Any]:
        """The keys of a mapping that say something, by their types. Keys that are like none are left out and listed."""
        keys: Dict[str, Any] = tables()[name]
        if not isinstance(node.value, dict):
            self.fault(f"expected a mapping of keys to values, got {node.shown()}", node.place, path)
            return {}
        unknown = [key for key in node.value if key not in keys]
        for key in tables()["required"][name]:
            if key not in node.value and not any(nearest(other, [key]) for other in unknown):
                self.fault("this key is required; null says that it is not published", node.place, f"{path}.{key}")
        found = {}
        for key, child in node.value.items():
            near = nearest(key, list(keys)) if key in unknown else key
            if child.is_null or key.startswith(("check", "peak_")):
                continue
            if near is None:
                self.foreign.append(key if path == self.path else f"{name}.{key}")
            elif near != key:
                self.fault(f"unknown key; did you mean '{near}'?", child.key_place, f"{path}.{key}")
            else:
                found[key] = self.typed(child, keys[key] if isinstance(keys[key], str) else keys[key][0], f"{path}.{key}")
        return {key: value for key, value in found.items() if value is not None}

    def typed(self, node: Node, kind: str, path: str) -> Any:
        """A value of a type; None: it is none, which is told."""
        bounds, text, value = tables()["bounds"].get(kind), node.text, None
        expected = {"text": "a text", "switch": "true or false", "words": "a list of words such as [a, b]", "ints": "a list of whole numbers such as [1, 2]"}
        if kind == "any":
            return document(node)
        if isinstance(node.value, list) and kind in ("words", "ints"):
            return [self.typed(child, "text" if kind == "words" else "size", f"{path}[{at}]") for at, child in enumerate(node.value)]
        if bounds and kind in ("rate", "number"):
            value, wanted = number(text), "a number such as 0.5"
        elif bounds:
            value, wanted = int(text) if re.fullmatch(r"[+-]?(?:0|[1-9]\d{0,17})", text, re.A) else None, "a whole number"
        elif isinstance(node.value, str) and kind in ("text", "switch"):
            value, wanted = text if kind == "text" else {"true": True, "false": False}.get(text), expected[kind]
        else:
            value, wanted = text if text in kind.split("|") else None, expected.get(kind, " or ".join(kind.split("|")))
        if bounds and value is not None and not bounds[0] <= value <= bounds[1]:
            value, wanted = None, f"{bounds[0]} to {bounds[1]}"
        if value is None:
            self.fault(f"expected {wanted}, got {node.shown()}", node.place, path)
        return value

    def figures(self, node: Optional[Node]) -> Dict[str, str]:
        """The figures of a source as they stand."""
        path, value = f"{self.path}.measured", {} if node is None or node.is_null else node.value
        for wrong in [node] if not isinstance(value, dict) else [child for child in value.values() if not isinstance(child.value, str)]:
            self.fault(f"expected a {'mapping of figures' if wrong is node else 'figure'}", wrong.place, path)
        return {key: child.text for key, child in value.items() if not child.is_null} if isinstance(value, dict) else {}


def measured_of(figures: Dict[str, str], step_s: Optional[float], peak_B: Optional[float]) -> Measured:
    """What was measured.  figures: of a source.  step_s, peak_B: scores that stand beside them; None: there is none."""
    values = {name: value for name, text in figures.items() for value in [number(text)] if value is not None}
    times = [values[name] * MS_IN_S if name in values else None for name in ("fwd_ms", "bwd_ms_incl_recompute", "combined_ms")]
    found = Measured(step_s, None, None, peak_B, values.get("alloc_between_steps_bytes"), *times, figures=figures, is_allocated=peak_B is not None,
                     is_last_rank=figures.get("rank") == "last", phase_s={phase: values[name] for phase, name in PHASES.items() if name in values})
    band = sorted(values[name] for name in ("step_time_s_derived_causal", "step_time_s_derived_noncausal") if name in values)
    if len(band) == 2 and band[1] - band[0] > BAND_SHARE * band[0]:
        found.low_s, found.high_s = band
    for name, (unit, is_allocated, is_device) in PEAKS.items():
        if found.peak_B is None and name in values:
            found.peak_B, found.is_allocated, found.is_device = values[name] * unit, is_allocated, is_device
    return found


def _read_row(talk: Talk, node: Node, index: int, cases: List[Case]) -> None:
    name = node.get("id")
    path = name.text if name is not None and name.text and not name.is_null else f"[{index}]"
    reader = _Reader(talk, path)
    if not isinstance(node.value, dict):
        reader.fault("expected a case, a mapping of keys", node.place)
        return
    twin = next((case for case in cases if case.id == path), None)
    if twin is not None and name is not None:
        reader.fault(f"id '{path}' is there already, at {twin.place.file}:{twin.place.line}", name.place)
    is_own = "workload" in node.value or "skipped" in node.value
    row = reader.part("own" if is_own else "row", node, path)
    row.update({part: reader.part(part, node.value[part], f"{path}.{part}") for part in ("system", "model", "parallel") if part in row and not is_own})
    figures, workload, recompute, group = reader.figures(node.get("measured")), row.get("workload"), row.get("recompute_kind"), row.get("group") or ""
    if "workload" in row and not isinstance(workload, dict):
        reader.fault("expected a workload, a mapping of keys", node.value["workload"].place, f"{path}.workload")
    if talk.errors == reader.errors and ("id" not in row or "group" not in row):
        reader.fault("'id' and 'group' cannot be null", node.place)
    if row.get("score_step_time_s") == 0:
        reader.fault("a measured step takes time", node.value["score_step_time_s"].place)
    usual = LAYER if row.get("schedule_kind") == "layer" else APART if group.startswith(APART_PREFIX) else SCORED
    case = Case(path, group, node.place or Place("", 0), measured_of(figures, row.get("score_step_time_s"), row.get("score_peak_alloc_bytes")),
                row.get("use", usual), row.get("core", False), "suspect" in row.get("flags", ()), recompute != "unstated" and (is_own or recompute is not None),
                row.get("source"), row.get("notes"), row["url"] if isinstance(row.get("url"), str) else None, reason=row.get("skipped"), assumptions=row.get("assumptions", []),
                differs=[f"no rule for {', '.join(reader.foreign)}"] * bool(reader.foreign) + row.get("differs", []), fields=None if is_own else row)
    if isinstance(workload, dict):
        framework, case.workload = workload.get("framework"), workload
        case.framework = framework.get("name") if isinstance(framework, dict) else framework
    cases.append(case)


def read_rows(talk: Talk, rows: List[Node], cases: List[Case]) -> None:
    """Add the cases of a list.  Faults are told; a row with one is added, too, so that its id is taken."""
    for index, node in enumerate(rows):
        _read_row(talk, node, index, cases)
