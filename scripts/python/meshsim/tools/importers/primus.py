"""`meshsim import primus config.json pp_rank_0.json ...`: passes that Primus records with `dump_pp_data`, as a table of measured steps for `replay`
(workloads/events.md).

The dump has the passes of each pipeline rank on its GPU, in ms from the rank's own start of the iteration, and no messages (pipeline_passes.py).

Source: AMD-AGI/Primus 0abd5018, the reader of tools/visualization/pp_vis, and the functions around `dump_pp_data`.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, NoReturn

from .._call import Call, Place
from .._describe import Kind
from .pipeline_passes import HEAD, Pass, Step, rows_of
from .source import IGNORED, USED, Key, deliver, read_bytes, row_of, target

KIND = Kind("primus config.json pp_rank_*.json", "passes that Primus recorded give a table of measured steps for 'replay'",
            "primus reads the folder that training with dump_pp_data writes, one pipeline of one replica.", writes=".csv")

SERIES = ("fwd", "bwd", "wgrad")
MS = 1e-3


def _refuse(call: Call, path: str, message: str) -> NoReturn:
    call.refuse(message, Place(path, 0))


def _load(call: Call, path: str) -> Dict[str, Any]:
    try:
        tree = json.loads(read_bytes(call.talk, path))
    except ValueError as fault:
        _refuse(call, path, f"is not JSON: {fault}")
    if not isinstance(tree, dict):
        _refuse(call, path, "expected an object of JSON")
    return tree


def _count(call: Call, path: str, config: Dict[str, Any], *names: str) -> int:
    """A whole number of the configuration, which has had several names."""
    value = next((config[name] for name in names if name in config), None)
    if not isinstance(value, int) or not 1 <= value <= 1 << 16:
        _refuse(call, path, f"expected a whole number '{names[0]}' from 1 to 65536, got {value!r}")
    return value


# ---- passes ----

def _passes(call: Call, path: str, data: Dict[str, Any], chunks: int, microbatches: int) -> List[Pass]:
    """The passes of an iteration of a rank, in the order of their starts."""
    passes: List[Pass] = []
    for series, name in enumerate(SERIES):
        starts, ends = data.get(f"{name}_start") or [], data.get(f"{name}_end") or []
        if series == 2 and not starts:
            continue
        if len(starts) != chunks * microbatches or len(ends) != len(starts):
            _refuse(call, path, f"expected {chunks * microbatches} numbers in '{name}_start' and '{name}_end', got {len(starts)} and {len(ends)}")
        of_chunk, of_mb = data.get(f"{name}_chunk") or [], data.get(f"{name}_minibatch") or []
        if chunks == 1:
            of_chunk, of_mb = [0] * len(starts), of_mb if len(of_mb) == len(starts) else list(range(len(starts)))
        if len(of_chunk) != len(starts) or len(of_mb) != len(starts):
            _refuse(call, path, f"with {chunks} chunks a dump needs '{name}_chunk' and '{name}_minibatch', which newer versions of Primus write")
        first = min(of_mb)
        passes += [Pass(series, chunk, mb - first, start * MS, end * MS) for start, end, chunk, mb in zip(starts, ends, of_chunk, of_mb)]
    passes.sort(key=lambda own: own.start_s)
    for number, (one, other) in enumerate(zip(passes, passes[1:])):
        if (one.start_s, one.end_s) == (other.start_s, other.end_s) and one.series != other.series:  # recorded as one
            one.pair = other.pair = number
    return passes


def run(call: Call) -> None:
    """The command."""
    target(call)
    trees = {path: _load(call, path) for path in call.arguments}
    configs = [path for path, tree in trees.items() if "pp_size" in tree]
    if len(configs) != 1:
        call.refuse(f"expected one config.json with 'pp_size' among the files, got {len(configs)}")
    config = trees.pop(configs[0])
    ranks, microbatches = (_count(call, configs[0], config, *names) for names in (("pp_size",), ("num_mbs", "micro_batches")))
    chunks = _count(call, configs[0], config, "vp_size", "vpp_size")
    paths = {path.rsplit("pp_rank_", 1)[-1].split(".")[0]: path for path in trees}
    missing = [rank for rank in range(ranks) if str(rank) not in paths]
    if missing or len(trees) != ranks:
        call.refuse(f"expected a file pp_rank_N.json of each of {ranks} ranks, got {len(trees)} files" + (f" and none of rank {missing[0]}" if missing else ""))
    lines = [HEAD]
    numbers = sorted(trees[paths["0"]], key=int)
    for number in numbers:
        passes = []
        for rank in range(ranks):
            path = paths[str(rank)]
            if number not in trees[path]:
                _refuse(call, path, f"lacks iteration {number}, which rank 0 has")
            passes.append(_passes(call, path, trees[path][number], chunks, microbatches))
        lines += rows_of(call, int(number), Step(passes, chunks))
    keys = [Key(name, USED, "passes") for name in ("fwd", "bwd", "wgrad")]
    keys += [Key("total", IGNORED, "a step of the table ends with its last pass"), Key("memory", IGNORED, "the table has times alone")]
    deliver(call, keys, "\n".join(lines) + "\n", {"keys": list(map(row_of, keys)), "steps": len(numbers), "rows": len(lines) - 1},
            f"steps      {len(numbers)}\nstages     {ranks}\nrows       {len(lines) - 1}\n")
