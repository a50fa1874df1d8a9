"""Measured beside predicted: the mean step of a trace and the simulated step of a job, part by part. Both columns sum to their step; what only one side has
stands there alone. The simulated step is what `meshsim run --json --ranks` says.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from meshsim.tools.importers.kineto import names
from meshsim.tools.importers.kineto.names import CLASSES, COMPUTE, OPTIMIZER, OTHER
from meshsim.tools.importers.kineto.trace import Row, Trace

_AXES = ("tp", "cp", "ep", "pp", "dp", "other")
_UNMATCHED = "unmatched"  # axis of communication of which nobody says whose it is

# Starts of simulated kernels' names, which sim/model gives them; of others the shape tells.
_SIMULATED = (("embedding_dropout", names.ELEMENTWISE), ("embedding", names.EMBEDDING), ("position_embedding", names.EMBEDDING), ("cross_entropy", names.LOSS),
              ("softmax", names.ATTENTION))


def _class_of(kernel: Row) -> int:
    """Class of a simulated kernel."""
    shape = kernel["shape"]
    told = next((kind for start, kind in _SIMULATED if kernel["name"].startswith(start)), None)
    if told is not None:
        return told
    if shape.startswith("b"):  # "b1 s4096 a32 kv8 d128"
        return names.ATTENTION
    return names.GEMM if kernel["flop_per_s"] > 0 and "x" in shape else names.ELEMENTWISE


class _Predicted:
    """Predicted seconds of a GPU and step: by category and part of `other`, what communication adds to kernels, and those of classes."""

    def __init__(self) -> None:
        self.time: Dict[str, float] = {}
        self.slowed = 0.0
        self.classes = [0.0] * len(COMPUTE)

    def add(self, result: Row, stage: Optional[int], share: float) -> None:
        """Add the times of the ranks of a pipeline rank (None: all), of which each counts `share`."""
        for kernel in result["kernels"]:
            calls = kernel["count"] if stage is None else kernel["count_by_pp_rank"][stage]
            self.classes[_class_of(kernel)] += share * calls * kernel["time_s"]
        ranks = [rank for rank in result["ranks"] if stage is None or rank["pp_rank"] == stage]
        weights = sum(float(rank["count"]) for rank in ranks)
        for rank in ranks:
            weight = share * rank["count"] / weights
            for key, time_s in (*rank["time_s"].items(), *rank["other_s"].items()):
                self.time[key] = self.time.get(key, 0.0) + weight * time_s
            self.slowed += weight * rank["slowed_s"]

    def exposed(self, axis: str) -> float:
        """Seconds that an axis is exposed for."""
        return self.time["norm" if axis == "other" else f"exposed_{axis}"]


def _stage_of(result: Row, rank: int) -> int:
    """Pipeline rank of a rank; the mesh's axes are named from the one whose neighbours are farthest apart."""
    for axis in reversed(result["order"]):
        if axis == "pp":
            return int(rank % result["mesh"][axis])
        rank //= result["mesh"][axis]
    return 0


def _predict(trace: Trace, result: Row) -> Tuple[_Predicted, bool]:
    """The predicted times of the traced ranks, which are those of their pipeline ranks, and whether the trace says which ranks of this job it is of; where it
    does not, the times are those of all ranks."""
    found = _Predicted()
    world = result["gpus"]
    if not all(0 <= row["rank"] < world and row["world_size"] == world for row in trace.ranks):
        found.add(result, None, 1)
        return found, False
    stages = [_stage_of(result, row["rank"]) for row in trace.ranks]
    for stage in sorted(set(stages)):
        found.add(result, stage, stages.count(stage) / len(stages))
    return found, True


# ---- communication ----

def _axis_of(result: Row, channel: Row) -> str:
    """The axis that a group's maker names it after, else the one axis with such communication in groups of such a size; _UNMATCHED: none, or several."""
    named = names.axis_of(channel["group"])
    if named is not None:
        return named
    alike = {row["axis"] for row in result["collectives"] if row["kind"] == channel["kind"]
             and (channel["group_size"] == 0 or row["kind"] == "p2p" or row["group_size"] == channel["group_size"])}
    return alike.pop() if len(alike) == 1 else _UNMATCHED


def _match(trace: Trace, result: Row, predicted: _Predicted) -> List[Row]:
    """Rows of an axis and kind, measured and predicted."""
    rows: List[Row] = []
    channels = [(_axis_of(result, channel), channel) for channel in trace.channels]

    def row_of(axis: str, kind: str) -> Row:
        found = next((row for row in rows if (row["axis"], row["kind"]) == (axis, kind)), None)
        if found is None:
            keys = (f"{side}_{what}" for what in ("calls", "busy_s", "exposed_s") for side in ("measured", "predicted"))
            found = {"axis": axis, "kind": kind, "groups": None, **dict.fromkeys(keys)}
            rows.append(found)
        return found

    def add(row: Row, key: str, value: float) -> None:
        row[key] = (row[key] or 0.0) + value

    for axis in (_UNMATCHED, *_AXES):
        for _, channel in (pair for pair in channels if pair[0] == axis):
            row = row_of(axis, channel["kind"])
            row["groups"] = " ".join(filter(None, (row["groups"], channel["group"] or "-")))
            for key in ("busy_s", "exposed_s"):
                add(row, f"measured_{key}", channel[key])
            add(row, "measured_calls", channel["count"])
        for other in (other for other in result["collectives"] if other["axis"] == axis):
            row = row_of(axis, other["kind"])
            add(row, "predicted_calls", other["count_per_rank"])
            add(row, "predicted_busy_s", other["count_per_rank"] * (other["time_s"] + other["wait_s"]))
        only = [row for row in rows if row["axis"] == axis and row["predicted_calls"] is not None]
        if axis != _UNMATCHED and len(only) == 1:  # a simulation tells what an axis exposes, not what a kind does
            only[0]["predicted_exposed_s"] = predicted.exposed(axis)
    return rows


# ---- parts of the step ----

class _Parts:
    """Parts of the step: those of level 1 sum to the step, those of level 2 to the one of level 1 before them."""

    def __init__(self) -> None:
        self.rows: List[Row] = []

    def add(self, part: str, level: int, measured_s: Optional[float], predicted_s: Optional[float]) -> None:
        """None: there is no such part on that side."""
        measured, predicted = measured_s or 0.0, predicted_s or 0.0
        if level < 2 or measured > 0 or predicted > 0:
            self.rows.append({"part": part, "level": level, "measured_s": measured_s, "predicted_s": predicted_s, "difference_s": predicted - measured,
                              "ratio": predicted / measured if measured > 0 and predicted > 0 else None})

    def add_computation(self, mean: Row, predicted: _Predicted) -> None:
        compute_s, optimizer_s = predicted.time["compute"], predicted.time["optimizer"]
        rest_s = compute_s - predicted.slowed
        self.add("computation", 1, mean["compute_s"], compute_s + optimizer_s)
        for i, name in enumerate(CLASSES[:OTHER]):
            self.add(f"computation.{name}", 2, mean["class_s"][name], optimizer_s if i == OPTIMIZER else predicted.classes[i])
            rest_s -= predicted.classes[i]
        # times of passes that a workload gives as `costs:` are of no class
        self.add("computation.other", 2, mean["class_s"]["other"], rest_s if rest_s > 1e-9 * compute_s else None)
        self.add("computation.slowed_by_communication", 2, None, predicted.slowed)

    def add_waiting(self, mean: Row, predicted: _Predicted, communication: List[Row], categories: List[str]) -> None:
        """All that is no computation. A kernel of NCCL waits for its peers: bubbles of the pipeline are measured as its communication, and predicted apart. So
        only the sum can be held to the other."""
        time = predicted.time

        def measured(axis: str) -> Optional[float]:
            times = [row["measured_exposed_s"] for row in communication if row["axis"] == axis and row["measured_exposed_s"] is not None]
            return sum(times) if times else None

        self.add("waiting", 1, mean["exposed_s"] + mean["copy_s"] + mean["idle_s"], sum(time[key] for key in categories if key not in ("compute", "optimizer")))
        for axis in _AXES:
            self.add(f"waiting.{axis}", 2, measured(axis), predicted.exposed(axis))
        self.add("waiting.unmatched", 2, measured(_UNMATCHED), None)
        self.add("waiting.copies", 2, mean["copy_s"], None)
        self.add("waiting.bubble", 2, None, time["bubble_warmup"] + time["bubble_steady"] + time["bubble_cooldown"])
        self.add("waiting.imbalance", 2, None, time["imbalance"])
        self.add("waiting.idle", 2, mean["idle_s"], time["host"])


def compare(trace: Trace, result: Row) -> Dict[str, Any]:
    """Put the mean of a trace's steps beside a simulated step.
    result: of `meshsim run --json --ranks`.  Returns of_traced_ranks (predicted times are those of the traced ranks' pipeline ranks, else of all ranks), parts
    and communication, as `--json` prints them [s]."""
    predicted, is_of_traced = _predict(trace, result)
    communication = _match(trace, result, predicted)
    parts = _Parts()
    parts.add("step", 0, trace.mean["wall_s"], result["step_time_s"])
    parts.add_computation(trace.mean, predicted)
    parts.add_waiting(trace.mean, predicted, communication, list(result["time_share"]))
    return {"of_traced_ranks": is_of_traced, "parts": parts.rows, "communication": communication}
