"""The HDF5 file of `meshsim replay -o`: the figures as tables (/replay) and as JSON (/summary), and the longest step as a trace, for `report` and `compare`.

The trace has a rank for each pipeline stage of one data-parallel rank, as measured (dp 0), and below it the same with ideal times (dp 1), both without launch delays.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from typing import Any, Dict, List, Mapping, Sequence, Tuple

KINDS = ("forward", "input_gradient", "weight_gradient", "backward", "recompute", "optimizer", "p2p", "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast",
         "ring_shift")
AXES = ("none", "tp", "cp", "ep", "pp", "dp", "other")
"""as in a trace (sim/trace/README.md)"""
OF_TABLE = {"forward-compute": ("forward", "none"), "backward-compute": ("backward", "none"), "input-gradient-compute": ("input_gradient", "none"),
            "weight-gradient-compute": ("weight_gradient", "none"), "optimizer": ("optimizer", "none"), "gc": ("optimizer", "none"),
            "params-all-gather": ("all_gather", "dp"), "grads-reduce-scatter": ("reduce_scatter", "dp"), "layernorm-grads-all-reduce": ("all_reduce", "tp"),
            "embedding-grads-all-reduce": ("all_reduce", "pp"), "separate-grads-all-reduce": ("all_reduce", "other"),
            "optimizer-clip-main-grad": ("all_reduce", "other")}
"""kind and axis of an operation of the table; messages are left out"""


def _events(timeline: Mapping[str, Any], stages: int) -> Tuple[Dict[str, List[int]], List[Tuple[int, str]]]:
    """Columns of /events, and the streams: rank and axis of each."""
    streams = [(rank, "none") for rank in range(2 * stages)]
    columns: Dict[str, List[int]] = {name: [] for name in ("start_ps", "end_ps", "rank", "stream", "kind", "axis", "stage", "chunk", "mb")}
    for part, name in enumerate(("measured", "ideal")):
        for row in timeline[name]:
            if row["kind"] not in OF_TABLE:
                continue
            kind, axis = OF_TABLE[row["kind"]]
            rank = part * stages + row["stage"]
            if (rank, axis) not in streams:
                streams.append((rank, axis))
            values = (row["start_ps"], row["end_ps"], rank, streams.index((rank, axis)), KINDS.index(kind), AXES.index(axis), row["gmc"], row["mc"], row["mb"])
            for column, value in zip(columns, values):
                columns[column].append(value)
    return columns, streams


class Writer:
    """Tables as a trace has them: a group with one dimension, which has no values of its own."""

    def __init__(self, file: Any):
        import numpy
        import h5py
        self.file, self.numpy = file, numpy
        self.enums = {"kind": h5py.enum_dtype({name: i for i, name in enumerate(KINDS)}, basetype="i1"),
                      "axis": h5py.enum_dtype({name: i for i, name in enumerate(AXES)}, basetype="i1")}

    def table(self, path: str, dimension: str, columns: Mapping[str, Tuple[str, Sequence[Any], str]], **attributes: str) -> None:
        """columns: by name their type, values and unit."""
        group = self.file.create_group(path, track_order=True)
        count = len(next(iter(columns.values()))[1])
        scale = group.create_dataset(dimension, data=self.numpy.zeros(count, ">f4"))
        scale.make_scale(f"This is a netCDF dimension but not a netCDF variable.{count:10d}")
        for name, (form, values, unit) in columns.items():
            data = group.create_dataset(name, data=self.numpy.asarray(values, dtype=self.enums.get(form, form)), dtype=self.enums.get(form, form))
            data.dims[0].attach_scale(scale)
            data.attrs["units"] = unit
        for name, value in attributes.items():
            group.attrs[name] = value

    def text(self, path: str, text: str) -> None:
        import h5py
        data = self.file.create_dataset(path, data=text, dtype=h5py.string_dtype())
        data.attrs["sha256"] = hashlib.sha256(text.encode()).hexdigest()


def _write_replay(writer: Writer, tree: Mapping[str, Any]) -> None:
    """The group /replay."""
    writer.file.create_group("replay").attrs.update({key: tree[key] for key in ("T", "I", "S", "launch_slowdown")})
    names = [name for name in tree["rows"][0] if name != "step"]
    writer.table("replay/steps", "row", {"step": ("i4", [row["step"] for row in tree["rows"]], "1"),
                                         **{name: ("f8", [row[name] for row in tree["rows"]], "1" if name == "S_step" else "s") for name in names}})
    cells = [(row["dp_rank"], int(stage), score) for row in tree["S_worker"] for stage, score in row["stage"].items()]
    writer.table("replay/workers", "worker", {"dp_rank": ("i4", [dp for dp, _, _ in cells], "1"), "stage": ("i4", [stage for _, stage, _ in cells], "1"),
                                              "S": ("f8", [score for _, _, score in cells], "1")})
    for part in ("S_stage", "S_dp_rank", "S_kind"):
        writer.table(f"replay/{part}", "value", {"name": ("S48", [name.encode() for name in tree[part]], "1"), "S": ("f8", list(tree[part].values()), "1")})
    writer.table("replay/whatif", "change", {"name": ("S96", [row["change"].encode() for row in tree["whatif"]], "1"),
                                             **{key: ("f8", [row[key] for row in tree["whatif"]], unit) for key, unit in (("step_time_s", "s"), ("gain", "1"), ("S", "1"))}})


def _write_trace(writer: Writer, tree: Mapping[str, Any]) -> None:
    """What `report` and `compare` read."""
    stages, timeline = tree["pp"], tree["timeline"]
    columns, streams = _events(timeline, stages)
    count, ranks, end = len(columns["rank"]), 2 * stages, max(columns["end_ps"])
    writer.file.attrs.update({"format": "meshsim-trace", "format_version": 2, "program_version": "replay", "simgrid_version": "none", "hdf5_version": "none", "seed": 0})
    writer.table("steps", "step", {"start_ps": ("i8", [0], "ps"), "end_ps": ("i8", [end], "ps")})
    writer.table("mesh", "level", {"axis": ("S48", [b"dp", b"pp"], "1"), "size": ("i4", [2, stages], "1"), "stride": ("i4", [stages, 1], "1")})
    writer.table("ranks", "simulated_rank", {"rank": ("i4", range(ranks), "1"), "multiplicity": ("i4", [1] * ranks, "1"), "pp": ("i4", [r % stages for r in range(ranks)], "1")})
    writer.table("streams", "stream", {"rank": ("i4", [rank for rank, _ in streams], "1"), "peer": ("i4", [-1] * len(streams), "1"),
                                       "axis": ("axis", [AXES.index(axis) for _, axis in streams], "1")})
    writer.table("members", "member", {"event": ("i4", [], "1"), "stream": ("i4", [], "1")})
    writer.table("memory", "point", {"rank": ("i4", [], "1"), "time_ps": ("i8", [], "ps"), "bytes": ("f8", [], "B")})
    types = {"start_ps": "i8", "end_ps": "i8", "kind": "kind", "axis": "axis", "stage": "i2", "chunk": "i2"}
    more = {"step": ("i2", [0] * count, "1"), "layer": ("i2", [-1] * count, "1"), "bytes": ("f8", [0] * count, "B"), "flop": ("f8", [0] * count, "FLOP"),
            "cause": ("i4", [-1] * count, "1")}
    writer.table("events", "event", {**{name: (types.get(name, "i4"), values, "ps" if name.endswith("_ps") else "1") for name, values in columns.items()}, **more},
                 level="full")
    writer.table("axes", "use", {"rank": ("i4", [], "1"), "axis": ("axis", [], "1"), "bytes": ("f8", [], "B")})
    writer.table("tiers", "tier", {"name": ("S48", [], "1")})
    writer.table("links", "used_link", {"link": ("i4", [], "1")})
    figures = {key: value for key, value in tree.items() if key not in ("timeline", "rows", "steps")}
    head = {"workload": f"replay of {os.path.basename(tree['events'])}, step {timeline['step']}", "mesh": {"dp": 2, "pp": stages}, "order": ["dp", "pp"], "gpus": ranks}
    writer.text("summary", json.dumps({**head, **figures, "measured_steps": tree["steps"]}))


def content(tree: Mapping[str, Any]) -> bytes:
    """The bytes of the file for what `replay --json` prints, with its timeline."""
    import h5py
    memory = io.BytesIO()
    with h5py.File(memory, "w", libver=("earliest", "v110"), track_order=False) as file:
        writer = Writer(file)
        _write_trace(writer, tree)
        _write_replay(writer, tree)
    return memory.getvalue()
