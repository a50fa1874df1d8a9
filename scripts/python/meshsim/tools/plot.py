"""`meshsim plot`: what the program's commands print as JSON, and traces, as pictures. The other commands draw theirs through it, too."""

from __future__ import annotations

import json
import logging
import math
import os
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from meshsim import plot
from meshsim.tools._call import FAILED, USAGE, Call, Fault, Place, check_target, need, read_text, write_file

JSON_MAX_B, ITEMS_MAX = 256 * 2**20, 100_000
KINDS = {"collective": ("collective", "rows"), "sweep": ("axes", "picture", "rows"), "validate": ("mean_of_groups", "rows"), "platform": ("layout", "tiers"),
         "check": ("estimate", "stages"), "mesh": ("order", "sizes"), "compare": ("traces", "compared"), "search": ("results", "objective"),
         "schedule --compare": ("sorted_by", "rows"), "schedule": ("peak_inflight", "idle"), "run": ("time_share", "step_time_s")}
"""keys by which the JSON of a command is known"""
HELD = {"parameters": "parameters_B", "gradients": "gradients_B", "optimizer state": "optimizer_B", "activations": "activations_B", "buffers": "buffers_B",
        "other": "other_B"}
Tree = Mapping[str, Any]
Job = Tuple[str, Tree]


def run(call: Call) -> None:
    """The command."""
    path = call.value("output", "-")
    form = call.value("format") or (os.path.splitext(path)[1][1:].lower() if path != "-" else "svg")
    if form not in ("svg", "png", "pdf", "dot"):
        call.refuse(f"unknown format '{form}'; expected svg, png, pdf or dot", code=USAGE)
    check_target(call, path)
    traces = [file for file in call.arguments if _is_trace(file)]
    if traces and call.value("of", "timeline") == "timeline":
        os.execv(call.program, [str(call.program), "report", *call.arguments, "-o", path if path != "-" else "/dev/stdout"])
    trees = [] if traces else [_read(call, file) for file in call.arguments]
    folder = os.getcwd()
    os.chdir("/")  # where no stranger's matplotlibrc lies
    logging.getLogger("matplotlib").setLevel(logging.CRITICAL)
    need(call, *() if form == "dot" else ("matplotlib.figure", "numpy"))
    os.chdir(folder)
    try:
        drawn = _trace_memory(call, call.arguments) if traces else _draw(call, form, trees)
        write_file(call, path, drawn if isinstance(drawn, str) else plot.save(drawn, form))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, ZeroDivisionError, StopIteration) as fault:
        call.refuse(f"'{call.arguments[0]}' cannot be drawn: {f'it lacks {fault}' if isinstance(fault, KeyError) else plot.plain(fault, 200)}")


def _is_trace(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return path != "-" and file.read(4) == b"\x89HDF"
    except OSError:
        return False


def _read(call: Call, path: str) -> Tree:
    text = read_text(call, path, JSON_MAX_B)
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as fault:
        call.refuse(f"not JSON: {fault.msg}", Place(path, fault.lineno, fault.colno, 1, text.split("\n")[fault.lineno - 1]))
    except RecursionError:
        call.refuse("not JSON of the program: it is too deep", Place(path, 0))
    if not isinstance(tree, dict):
        call.refuse("expected one JSON object, as '--json' prints it", Place(path, 0))
    return tree


def _draw(call: Call, form: str, trees: Sequence[Tree]) -> Any:
    known = [next((kind for kind, keys in KINDS.items() if all(key in tree for key in keys)), None) for tree in trees]
    kind, tree, of = known[0], trees[0], call.value("of")
    if None in known or (len(set(known)) > 1):
        call.refuse(f"'{call.arguments[known.index(None) if None in known else 0]}' is not what 'plot' draws: --json of {', '.join(KINDS)}, of one of them at a time; or a trace")
    if form == "dot" and kind != "platform":
        call.refuse(f"a graph for Graphviz is made of a platform, and this is of '{kind}'", code=USAGE)
    if len(trees) > 1 and kind not in ("collective", "run", "check"):
        call.refuse(f"several files are drawn of collective, run or check, and these are of '{kind}'", code=USAGE)
    if kind == "platform":
        return plot.platform_dot(tree) if form == "dot" else plot.platform(tree)
    if kind == "mesh" or of == "mesh":
        return plot.mesh(tree, call.value("groups"))
    if kind == "collective":
        return _collective(call, trees)
    if kind == "sweep" and of is None:
        return _sweep(call, tree)
    if kind == "validate":
        points = [plot.Point(row["measured_s"], row["predicted_s"], row["group"], row["id"]) for row in tree["rows"] if row.get("error") is not None]
        return plot.scatter(points, list(tree["groups"]), call.value("title", "Step time, predicted against measured"), "measured", "predicted", "s")
    if kind == "schedule":
        parts = {name: [row[name] for row in tree["idle"]] for name in ("warmup", "steady", "cooldown")} if of != "memory" else {"microbatches in flight": tree["peak_inflight"]}
        return plot.bars([str(rank) for rank in range(len(tree["idle"]))], parts, title=call.value("title", f"{tree['schedule']}: {of or 'idle time'} of ranks"), x_label="pipeline rank")
    return _jobs(call, kind, trees)


def _collective(call: Call, trees: Sequence[Tree]) -> Any:
    key, tree = call.value("quantity", "busbw_Bps"), trees[0]
    unit, sizes = plot.unit_of(key), [row["size_B"] for row in tree["rows"]]
    alone = f"{tree['algorithm']}"
    lines = {line["algorithm"]: line["rows"] for line in tree.get("algorithms", [])} or {alone: tree["rows"]}
    if len(trees) > 1:
        lines = {f"{file}: {one['algorithm']} on {one['gpus']} GPUs of {one['platform']}": one["rows"] for file, one in zip(call.arguments, trees)}
    tips = {name: [f"{name}, {row['protocol'] or 'no protocol'}: {plot.quantity(row['size_B'], 'B')} in {plot.quantity(row['time_s'], 's')}, {plot.quantity(row[key], unit)}"
                   for row in rows] for name, rows in lines.items()}
    taken = {name: [row["algorithm"] == name for row in tree["rows"]] for name in lines} if "algorithms" in tree and len(trees) == 1 else {}
    title = f"{tree['collective']} on {tree['gpus']} GPUs of {tree['platform']}" + (f", {alone}" if len(lines) == 1 else "") if len(trees) == 1 else tree["collective"]
    return plot.lines(sizes, {name: [row[key] for row in rows] for name, rows in lines.items()}, [plot.quantity(size, "B") for size in sizes], unit, "",
                      _is_log(call), True, taken, "auto takes it" if len(lines) > 1 and taken else "", tips,
                      [f"without {row['algorithm']}, which {row['reason']}" for row in tree.get("left_out", [])], title=call.value("title", title), x_label="size",
                      y_label={"busbw_Bps": "bus bandwidth", "algbw_Bps": "algorithm bandwidth"}.get(key, key))


def _is_log(call: Call) -> Any:
    return {"log": True, "linear": False}.get(call.value("scale"))


def _sweep(call: Call, tree: Tree) -> Any:
    picture, axes, key = tree["picture"], tree["axes"], call.value("quantity", tree["picture"]["quantity"])
    x = next((i for i, axis in enumerate(axes) if call.value("x") in axis), None) if call.has("x") else picture["x"]
    if x is None:
        call.refuse(f"no axis of the sweep has the key '{call.value('x')}'; they have {', '.join(name for axis in axes for name in axis)}", code=USAGE)
    is_heat = call.has("heat") or picture["kind"] == "heat"
    counts = [len(next(iter(axis.values()))) for axis in axes]
    if math.prod(counts) != len(tree["rows"]) or len(tree["rows"]) > ITEMS_MAX or min(counts) < 1:
        raise ValueError("its axes do not make its rows")
    stride, unit = math.prod(counts[x + 1:]), plot.unit_of(key)
    starts = [i for i in range(len(tree["rows"])) if i // stride % counts[x] == 0]

    def named(row: Tree, is_of_x: bool, has_keys: bool) -> str:
        pairs = [(name, row["settings"][name]) for i, axis in enumerate(axes) if (i == x) == is_of_x for name in axis]
        return (" " if has_keys else ", ").join(f"{name}={value}" if has_keys else str(value) for name, value in pairs)

    table = [[tree["rows"][start + i * stride] for i in range(counts[x])] for start in starts]
    if not any(key in row for row in tree["rows"]):
        call.refuse(f"no row of the sweep has a '{key}'", code=USAGE)
    names, columns = [named(row[0], False, not is_heat) for row in table], [named(row, True, False) for row in table[0]]
    values, large = [[row.get(key) for row in line] for line in table], [[row.get("fits") is False for row in line] for line in table]
    tips = [[f"{named(row, True, True)} {named(row, False, True)}: {row.get('reason') or plot.quantity(row['step_time_s'], 's')}" for row in line] for line in table]
    note = "does not fit in memory" if any(map(any, large)) else ""
    labels = {"title": call.value("title", picture["title"]), "x_label": ", ".join(axes[x])}
    if is_heat:
        y_label = ", ".join(name for i, axis in enumerate(axes) if i != x for name in axis)
        return plot.heat_map(columns, names, values, unit, large, note, tips, **{**labels, "title": f"{labels['title']}: {key}"}, y_label=y_label)
    places = picture["places"] if x == picture["x"] else None
    return plot.lines(places, dict(zip(names, values)), columns, unit, "", _is_log(call), True, dict(zip(names, large)), note, dict(zip(names, tips)), **labels, y_label=key)


def _jobs(call: Call, kind: str, trees: Sequence[Tree]) -> Any:
    """Bars of jobs: where the time goes, or what memory holds."""
    tree = trees[0]
    is_memory = call.value("of", "memory" if kind == "check" else "time") == "memory"
    rows: List[Job] = [(one.get("workload", file), one) for file, one in zip(call.arguments, trees)]
    x_label, title = "", {"run": "step", "check": "memory at its peak"}.get(kind, kind)
    if kind in ("check", "run") and len(trees) == 1 and is_memory:
        rows, x_label, title = [(str(stage["pp_rank"]), stage) for stage in tree["stages"]], "pipeline rank", f"{tree['workload']}: memory at its peak"
    elif kind == "compare":
        rows = [(f"{side} {row['trace'] if tree['are_folders'] else ''}".strip(), row[side]) for row in tree["traces"] for side in "ab" if row.get(side)]
    elif kind == "search":
        rows = [(" ".join(f"{axis}{size}" for axis, size in row["mesh"].items()) + f" {row['schedule']}", row) for row in tree["results"]]
    elif kind == "sweep":
        rows = [(", ".join(str(row["settings"][name]) for axis in tree["axes"] for name in axis), row) for row in tree["rows"] if "peak_B" in row]
    elif "schedule" in kind:
        rows = [(row["schedule"], row) for row in tree["rows"] if "bubble_fraction" in row]
    if not 0 < len(rows) <= ITEMS_MAX // 100:
        raise ValueError(f"it has {len(rows)} jobs")
    names, on_paper, unit, limit = [name for name, _ in rows], "rank_makespan" in rows[0][1], "s", None
    if is_memory and on_paper:
        parts, unit = {"microbatches in flight": [row["peak_inflight"] for _, row in rows]}, ""
    elif is_memory:
        held = [row.get("memory", row) for _, row in rows]
        has_parts = all("activations_B" in row for row in held)
        parts, unit = {part: [row[key] for row in held] for part, key in HELD.items()} if has_parts else {"peak": [row["peak_B"] for row in held]}, "B"
        limit = tree.get("capacity_B") or tree.get("memory", held[0]).get("capacity_B")
    elif on_paper:
        parts, unit = _merge([{part: value * row["rank_makespan"] / row["makespan"] for part, value in row["gap"].items()} for _, row in rows]), ""
    else:
        parts = _merge([{part: share * row["step_time_s"] for part, share in row["time_share"].items()} for _, row in rows])
    labels = {"title": call.value("title", title), "x_label": x_label, "y_label": "memory of a GPU" if unit == "B" else "makespan of a rank" if on_paper else "step time"}
    return plot.bars(names, parts, unit, limit, "capacity", "does not fit", **labels)


def _merge(rows: Sequence[Mapping[str, float]]) -> Dict[str, List[float]]:
    """Values of each part that takes time in any row; the bubble's parts as one."""
    parts: Dict[str, List[float]] = {}
    for i, row in enumerate(rows):
        for name, value in row.items():
            part = name.split("_")[0] if name.startswith("bubble") else name.replace("_", " ")
            parts.setdefault(part, [0.0] * len(rows))[i] += value
    return {part: values for part, values in parts.items() if any(values)}


def _trace_memory(call: Call, paths: Sequence[str]) -> Any:
    """Memory in use over time, a line for each simulated rank of a trace."""
    h5py, numpy = need(call, "h5py", "numpy")
    with h5py.File(paths[0], "r") as file:
        rank, time_ps, held_B = (file[f"memory/{name}"][:ITEMS_MAX] for name in ("rank", "time_ps", "bytes"))
    places = numpy.unique(time_ps)
    held = {f"rank {one}": held_B[rank == one][numpy.searchsorted(time_ps[rank == one], places, "right") - 1] for one in numpy.unique(rank)[:20]}
    steps = {name: numpy.repeat(values, 2)[:-1].tolist() for name, values in held.items()}
    return plot.lines((numpy.repeat(places, 2)[1:] / 1e12).tolist(), steps, None, "B", "s", False, False, title=call.value("title", "memory over the step"),
                      x_label="time", y_label="memory of a GPU")
