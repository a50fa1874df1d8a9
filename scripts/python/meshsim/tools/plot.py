"""`meshsim plot`: what the program's commands print as JSON, and traces, as pictures. The other commands draw theirs through it, too."""

from __future__ import annotations

import json
import logging
import math
import os
from typing import Any, Mapping, Sequence

from meshsim import plot
from meshsim.tools import replay_file
from meshsim.tools._call import USAGE, Call, Place, check_target, need, read_text, write_file
from meshsim.tools._describe import Command, Option

COMMAND = Command(
    "draw results (what --json prints) and traces", "FILE...", 1, 1000,
    "FILE is what a command printed with --json, or a trace; '-' is the standard input. The picture is that of the command: lines of collective (of several files a line each) and sweep, predicted against "
    "measured times of validate, levels of platform, ranks of mesh; where the time goes, or what memory holds, of run, check, search, schedule --compare and sweep (of several files a bar each) and of "
    "both sides of compare; the timeline of a trace, or its memory over time. From Python the same pictures are functions of meshsim.plot.",
    "meshsim plot sweep.json -o sweep.svg",
    (Option("output", "write the picture there, '-' for standard output", "FILE", letter="o", fallback="-", writes=".svg, .png, .pdf or .dot"),
     Option("format", "dot is a platform's graph for Graphviz", "svg|png|pdf|dot", fallback="as FILE ends, of '-' svg"),
     Option("of", "what is drawn of a file that has several: time or memory (of jobs and schedules), pareto (schedules by memory and bubble, jobs of search or sweep by cost and step time), mesh (of check), memory or timeline (of a trace)", "time|memory|pareto|mesh|timeline"),
     Option("title", "above the picture", "TEXT"),
     Option("quantity", "of a sweep or pareto, as --json calls it, such as mfu; of a collective busbw_Bps, algbw_Bps or time_s", "Q", fallback="what the sweep's file asks for"),
     Option("x", "key of a sweep, or quantity of pareto, that runs to the right", "KEY", fallback="what the sweep's file asks for"),
     Option("heat", "of a sweep a table of colours"),
     Option("scale", "of the y axis of lines", "linear|log", fallback="as the values ask for"),
     Option("groups", "axis of a mesh whose groups have colours", "AXIS")))

JSON_MAX_B, ITEMS_MAX, BARS_MAX = 256 * 2**20, 100_000, 1000
KINDS = {"collective": ("collective", "rows"), "sweep": ("axes", "picture", "rows"), "validate": ("mean_of_groups", "rows"), "platform": ("layout", "tiers"),
         "check": ("estimate", "stages"), "mesh": ("order", "sizes"), "compare": ("traces", "compared"), "search": ("results", "objective"),
         "schedule --compare": ("sorted_by", "rows"), "run": ("time_share", "step_time_s")}
"""keys by which the JSON of a command is known"""
HELD = {"parameters": "parameters_B", "gradients": "gradients_B", "optimizer state": "optimizer_B", "activations": "activations_B", "buffers": "buffers_B",
        "other": "other_B"}
Tree = Mapping[str, Any]


def run(call: Call) -> None:
    """The command."""
    path = call.value("output", "-")
    form = call.value("format") or (os.path.splitext(path)[1][1:].lower() if path != "-" else "svg")
    if call.value("of") == "replay":  # 'replay -o' calls this
        need(call, "numpy", "h5py")
        tree = _read(call, call.arguments[0])
        if "timeline" not in tree:
            call.refuse(f"'{call.arguments[0]}' is not what 'replay -o' hands over")
        write_file(call, path, replay_file.content(tree))
        return
    if form not in ("svg", "png", "pdf", "dot"):
        call.refuse(f"unknown format '{form}'; expected svg, png, pdf or dot", code=USAGE)
    check_target(call, path)
    is_trace = any(map(_is_trace, call.arguments))
    if is_trace and call.value("of", "timeline") == "timeline":
        os.execv(call.program, [str(call.program), "report", *call.arguments, "-o", path])
    trees = [] if is_trace else [_read(call, file) for file in call.arguments]
    folder = os.getcwd()
    os.chdir("/")  # where no stranger's matplotlibrc lies
    logging.getLogger("matplotlib").setLevel(logging.CRITICAL)
    need(call, "numpy", *["h5py"] * is_trace, *["matplotlib.figure"] * (form != "dot"))
    os.chdir(folder)
    try:
        drawn = _trace_memory(call) if is_trace else _draw(call, form, trees)
        write_file(call, path, drawn if isinstance(drawn, str) else plot.save(drawn, form))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, ZeroDivisionError, StopIteration) as fault:
        call.refuse(f"'{call.arguments[0]}' cannot be drawn: {f'it lacks {fault}' if isinstance(fault, KeyError) else plot.plain(fault, 200)}")


def _is_trace(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x89HDF"


def _read(call: Call, path: str) -> Tree:
    text = read_text(call, path, JSON_MAX_B)
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as fault:
        call.refuse(f"not JSON: {fault.msg}", Place(path, fault.lineno, fault.colno, 1, text.split("\n")[fault.lineno - 1]))
    except RecursionError:
        call.refuse("too deep for JSON of the program", Place(path, 0))
    return tree if isinstance(tree, dict) else {}


def _draw(call: Call, form: str, trees: Sequence[Tree]) -> Any:
    kinds = [next((kind for kind, keys in KINDS.items() if all(key in tree for key in keys)), "") for tree in trees]
    kind, tree = kinds[0], trees[0]
    if "" in kinds:
        call.refuse(f"'{call.arguments[kinds.index('')]}' is neither a trace nor what --json of one of these prints: {', '.join(KINDS)}")
    if len(trees) > 1 and (kind not in ("collective", "run", "check") or len(set(kinds)) > 1):
        call.refuse(f"several files are drawn of collective, of run or of check, and these are of {', '.join(dict.fromkeys(kinds))}", code=USAGE)
    if form == "dot" and kind != "platform":
        call.refuse(f"a graph for Graphviz is made of a platform, and this is of {kind}", code=USAGE)
    if kind == "platform":
        return plot.platform_dot(tree) if form == "dot" else plot.platform(tree)
    if kind == "mesh" and "gpus_per_node" not in tree:
        call.refuse("a mesh is drawn on the GPUs of a platform; expected what meshsim mesh --platform NAME --json prints", code=USAGE)
    if kind == "mesh" or call.value("of") == "mesh":
        return plot.mesh(tree, call.value("groups"))
    if kind == "validate":
        points = [plot.Point(row["measured_s"], row["predicted_s"], row["group"], row["id"]) for row in tree["rows"] if row["error"] is not None]
        return plot.scatter(points, list(tree["groups"]), call.value("title", "Step time, predicted against measured"), "measured [s]", "predicted [s]")
    if call.value("of") == "pareto" and kind in ("schedule --compare", "search", "sweep"):
        return _pareto(call, kind, tree)
    if kind == "sweep" and not call.has("of"):
        return _sweep(call, tree)
    return _collective(call, trees) if kind == "collective" else _jobs(call, kind, trees)


def _collective(call: Call, trees: Sequence[Tree]) -> Any:
    tree, key, is_alone = trees[0], call.value("quantity", "busbw_Bps"), len(trees) == 1
    unit, where = plot.unit_of(key), f"{tree['gpus']} GPUs of {tree['platform']}"
    lines = {line["algorithm"]: line["rows"] for line in tree.get("algorithms", [])} or {tree["algorithm"]: tree["rows"]}
    if not is_alone:
        lines = {f"{file}: {one['algorithm']} on {one['gpus']} GPUs of {one['platform']}": one["rows"] for file, one in zip(call.arguments, trees)}
    tips = {name: [f"{name}, {row['protocol'] or 'no protocol'}: {plot.quantity(row['size_B'], 'B')} in {plot.quantity(row['time_s'], 's')}, {plot.quantity(row[key], unit)}"
                   for row in rows] for name, rows in lines.items()}
    taken = {name: [row["algorithm"] == name for row in tree["rows"]] for name in lines} if is_alone and len(lines) > 1 else {}
    title = f"{tree['collective']}{f' on {where}' if is_alone else ''}{'' if taken or not is_alone else ', ' + next(iter(lines))}"
    sizes = [row["size_B"] for row in tree["rows"]]
    return plot.lines(sizes, {name: [row[key] for row in rows] for name, rows in lines.items()}, [plot.quantity(size, "B") for size in sizes], unit, log=_is_log(call),
                      marked=taken, mark_note="auto takes it" if taken else "", tips=tips,
                      notes=[f"without {row['algorithm']}, which {row['reason']}" for row in tree.get("left_out", [])], title=call.value("title", title),
                      x_label="size", y_label={"busbw_Bps": "bus bandwidth", "algbw_Bps": "algorithm bandwidth"}.get(key, key))


def _is_log(call: Call) -> Any:
    return {"log": True, "linear": False}.get(call.value("scale"))


def _sweep(call: Call, tree: Tree) -> Any:
    picture, axes, rows = tree["picture"], tree["axes"], tree["rows"]
    key, is_heat = call.value("quantity", picture["quantity"]), call.has("heat") or picture["kind"] == "heat"
    x = next((i for i, axis in enumerate(axes) if call.value("x") in axis), -1) if call.has("x") else picture["x"]
    if x < 0 or not any(key in row for row in rows):
        call.refuse(f"the sweep has no '{key if x >= 0 else call.value('x')}'; its keys are {', '.join(name for axis in axes for name in axis)}", code=USAGE)
    counts = [len(next(iter(axis.values()))) for axis in axes]
    stride, unit = math.prod(counts[x + 1:]), plot.unit_of(key)
    if math.prod(counts) != len(rows) or len(rows) > ITEMS_MAX:
        raise ValueError("its axes do not make its rows")

    def named(row: Tree, is_of_x: bool, form: str, between: str) -> str:
        return between.join(form.format(name, row["settings"][name]) for i, axis in enumerate(axes) if (i == x) == is_of_x for name in axis)

    def told(row: Tree) -> str:
        return f"{named(row, True, '{}={}', ' ')} {named(row, False, '{}={}', ' ')}: {row.get('reason') or plot.quantity(row['step_time_s'], 's')}"

    table = [[rows[start + i * stride] for i in range(counts[x])] for start in range(len(rows)) if start // stride % counts[x] == 0]
    names = [named(row[0], False, "{1}" if is_heat else "{}={}", ", " if is_heat else " ") for row in table]
    columns = [named(row, True, "{1}", ", ") for row in table[0]]
    values, large, tips = ([[get(row) for row in line] for line in table] for get in (lambda row: row.get(key), lambda row: row.get("fits") is False, told))
    note = "does not fit in memory" if any(map(any, large)) else ""
    title, x_label = call.value("title", picture["title"]), ", ".join(axes[x])
    if is_heat:
        y_label = ", ".join(name for i, axis in enumerate(axes) if i != x for name in axis)
        return plot.heat_map(columns, names, values, unit, large, note, tips, title=f"{title}: {key}", x_label=x_label, y_label=y_label)
    return plot.lines(picture["places"] if x == picture["x"] else None, dict(zip(names, values)), columns, unit, log=_is_log(call), marked=dict(zip(names, large)),
                      mark_note=note, tips=dict(zip(names, tips)), title=title, x_label=x_label, y_label=key)


def _jobs_of(kind: str, trees: Sequence[Tree], is_of_ranks: bool = False) -> "list[tuple[str, Tree]]":
    """The jobs of a result, or the pipeline ranks of one, with their names."""
    tree = trees[0]
    return {"compare": lambda: [(f"{side} {row['trace'] if tree['are_folders'] else ''}".strip(), row[side]) for row in tree["traces"] for side in "ab" if row[side]],
            "search": lambda: [(" ".join(f"{axis}{size}" for axis, size in row["mesh"].items()) + f" {row['schedule']}", row) for row in tree["results"]],
            "sweep": lambda: [(", ".join(str(row["settings"][name]) for axis in tree["axes"] for name in axis), row) for row in tree["rows"] if "peak_B" in row],
            "schedule --compare": lambda: [(row["schedule"], row) for row in tree["rows"] if "bubble_fraction" in row]}.get(
                kind, lambda: [(str(row["pp_rank"]), row) for row in tree["stages"]] if is_of_ranks else [(one["workload"], one) for one in trees])()


def _pareto(call: Call, kind: str, tree: Tree) -> Any:
    """Jobs by two quantities of which less is better: schedules by memory and bubble, others by cost and step time."""
    jobs = _jobs_of(kind, [tree])
    x, y = ("cost", "step_time_s") if kind != "schedule --compare" else ("peak_B" if any("step_time_s" in row for _, row in jobs) else "peak_inflight", "bubble_fraction")
    x, y = call.value("x", x), call.value("quantity", y)
    points = [plot.Point(row[x], row[y], "" if row.get("fits", True) else "does not fit in memory", name) for name, row in jobs if row.get(x) is not None and row.get(y) is not None]
    if not points:
        call.refuse(f"no job has both '{x}' and '{y}'; a cost needs a platform with a price, and '--x' and '--quantity' of 'meshsim plot' take other keys")
    labels = {"cost": "cost of a step [USD]", "step_time_s": "step time", "peak_B": "memory of a GPU", "peak_inflight": "microbatches in flight on a rank", "bubble_fraction": "bubble"}
    title = call.value("title", f"{kind}: {labels.get(y, y)} against {labels.get(x, x)}")
    return plot.pareto(points[:ITEMS_MAX], plot.unit_of(y), plot.unit_of(x), title=title, x_label=labels.get(x, x), y_label=labels.get(y, y))


def _jobs(call: Call, kind: str, trees: Sequence[Tree]) -> Any:
    """Bars of jobs: where the time of a step goes, or what memory holds; of one job the memory of its pipeline ranks."""
    tree, is_memory = trees[0], call.value("of", "memory" if kind == "check" else "time") == "memory"
    is_of_ranks = kind in ("check", "run") and len(trees) == 1 and is_memory
    jobs = _jobs_of(kind, trees, is_of_ranks)
    if not 0 < len(jobs) <= BARS_MAX:
        raise ValueError(f"it has {len(jobs)} jobs, and 1 to {BARS_MAX} can be drawn")
    names, rows, on_paper = [name for name, _ in jobs], [row for _, row in jobs], "rank_makespan" in jobs[0][1]
    unit, limit, parts = "" if on_paper else "B" if is_memory else "s", None, {}
    if is_memory and on_paper:
        parts = {"microbatches in flight": [row["peak_inflight"] for row in rows]}
    elif is_memory:
        held = [row.get("memory", row) for row in rows]
        parts = {part: [row[key] for row in held] for part, key in HELD.items()} if "other_B" in held[0] else {"peak": [row["peak_B"] for row in held]}
        limit = tree.get("capacity_B") or tree.get("memory", held[0]).get("capacity_B")
    else:
        for i, row in enumerate(rows):
            scale = row["rank_makespan"] / row["makespan"] if on_paper else row["step_time_s"]
            for name, value in row["gap" if on_paper else "time_share"].items():
                parts.setdefault(name.split("_")[0] if name.startswith("bubble") else name.replace("_", " "), [0.0] * len(rows))[i] += scale * value
        parts = {part: values for part, values in parts.items() if any(values)}
    title = f"{tree['workload']}: memory at its peak" if is_of_ranks else f"{kind}: {'memory' if is_memory else 'time'}"
    return plot.bars(names, parts, unit, limit, over_note="does not fit", title=call.value("title", title), x_label="pipeline rank" if is_of_ranks else "",
                     y_label={"s": "step time", "B": "memory of a GPU"}.get(unit, "microbatches in flight" if is_memory else "makespan of a rank"))


def _trace_memory(call: Call) -> Any:
    """Memory in use over time, a line for each of the first simulated ranks of a trace."""
    import h5py
    import numpy as np
    with h5py.File(call.arguments[0], "r") as file:
        rank, time_ps, held_B = (file[f"memory/{name}"][:ITEMS_MAX] for name in ("rank", "time_ps", "bytes"))
    places, ranks = np.unique(time_ps), np.unique(rank)[:20]
    held = [held_B[rank == one][np.searchsorted(time_ps[rank == one], places, "right") - 1] for one in ranks]
    return plot.lines((np.repeat(places, 2)[1:] / 1e12).tolist(), {f"rank {one}": np.repeat(values, 2)[:-1].tolist() for one, values in zip(ranks, held)}, None, "B", "s",
                      has_marks=False, log=False, title=call.value("title", "memory over the step"), x_label="time", y_label="memory of a GPU")
