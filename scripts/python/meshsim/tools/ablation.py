"""Ablation: what each mechanism of the cost model (mechanisms.yaml) buys on measured runs.

Everything is simulated once as it is and once more without each mechanism; what the mean error grows by is what the mechanism buys, and below zero what it
costs.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

from . import validate
from ._call import need
from .cases import APART, SCORED

MOVE_MIN = 1e-9
"""a prediction that differs by less is the same one: rounding"""


def ablate(study: "validate.Study", sets: Sequence[str]) -> Tuple["validate.Validation", List[Dict[str, Any]]]:
    """Validate as it is, and without each mechanism.  sets: overrides of every job.  Returns the first, and a row for each mechanism: differences of mean
    absolute errors, off minus on, which are above 0 where the mechanism helps; NaN where there is no row."""
    yaml, = need(study.call, "yaml")
    mechanisms = yaml.safe_load(Path(__file__).with_name("mechanisms.yaml").read_text(encoding="utf-8"))
    study.expected = (1 + len(mechanisms)) * sum(case.reason is None for case in study.cases)
    whole = study.validate(sets)
    return whole, [_compare(name, off, whole, study.validate([*sets, *off])) for name, off in mechanisms.items()]


def _compare(name: str, off: List[str], on: "validate.Validation", without: "validate.Validation") -> Dict[str, Any]:
    pairs = {a.case.id: a.has_error and b.has_error for a, b in zip(on.rows, without.rows)}

    def both(use: str, is_part: Callable[["validate.Row"], bool] = lambda row: True) -> List["validate.Groups"]:
        """Errors by group with and without it, of rows that run both ways."""
        return [v.groups(use, lambda row: pairs[row.case.id] and is_part(row)) for v in (on, without)]

    def gain(is_part: Callable[["validate.Row"], bool] = lambda row: True) -> float:
        a, b = both(SCORED, is_part)
        return validate.mean_of(b) - validate.mean_of(a)

    groups: Dict[str, float] = {}
    most, most_gain = None, math.nan
    for use in (SCORED, APART):
        a, b = both(use)
        for group in a:
            groups[group] = b[group]["mean_abs_error"] - a[group]["mean_abs_error"]
            if abs(groups[group]) > (MOVE_MIN if most is None else abs(most_gain)):
                most, most_gain = group, groups[group]
    moved = sum(abs(b.predicted_s - a.predicted_s) > MOVE_MIN * a.predicted_s for a, b in zip(on.of(SCORED, APART), without.of(SCORED, APART)))
    return {"mechanism": name, "off": ", ".join(off), "moved": moved, "mean_of_groups": validate.mean_of(without.groups()), "gain": gain(),
            "fitted_gain": gain(lambda row: not row.is_unseen), "unseen_gain": gain(lambda row: row.is_unseen),
            "layer_gain": _mean_error(without.layers) - _mean_error(on.layers),
            "memory_gain": validate.mean_of(without.memory_groups()) - validate.mean_of(on.memory_groups()),
            "collective_gain": validate.mean_of(without.sizes) - validate.mean_of(on.sizes), "most": most, "most_gain": most_gain, "groups": groups}


def _mean_error(points: List[Dict[str, Any]]) -> float:
    return sum(abs(point["error"]) for point in points) / len(points) if points else math.nan
