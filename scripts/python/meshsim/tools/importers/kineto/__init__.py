"""`meshsim import kineto`: what traces of PyTorch's profiler say, as pages, tables and JSON. kineto.md says what stands in a trace and how it is taken.

From Python: `read(call, paths)` gives the tables of a Trace, of which each is a list of rows that pandas.DataFrame takes.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any, Dict, List, Optional

from meshsim.tools._call import Call, Place, check_targets, plain, print_json, print_page, write_file
from meshsim.tools._describe import Kind, Option
from meshsim.tools.importers import SET
from meshsim.tools.importers.kineto.against import compare
from meshsim.tools.importers.kineto.page import page_of
from meshsim.tools.importers.kineto.trace import Row, Trace, read
from meshsim.tools.importers.source import count

__all__ = ["Trace", "compare", "read", "run"]

KIND = Kind(
    "kineto TRACE.json[.gz]...", "traces of PyTorch's profiler, one per rank, give steps, communication and a table of measured kernels",
    "kineto reads traces of any length, plain or compressed: where each step's time went, communication by kind and group, kernels by class, and with -o the times of "
    "matrix products and attentions whose sizes were recorded (record_shapes=True), as a GPU type's 'measured' names them; --against puts a workload's simulated step "
    "beside the measured one.",
    (SET, Option("kernels", "write the table of all kernels there: class, calls, times and streams by name", "FILE.csv", writes=".csv"),
     Option("steps", "steps in a trace that has no annotations ProfilerStep", "N", fallback="1"),
     Option("against", "simulate that workload, and show its step beside the measured one, part by part", "WORKLOAD")),
    needs=(("set", "against", "whose keys it gives"),), writes=".csv")
_STEPS_MAX = 1000000


def _csv(columns: List[str], rows: List[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([value if isinstance(value, str) else json.dumps(plain(value)) for value in map(row.get, columns)] for row in rows)
    return text.getvalue()


def beside(call: Call, trace: Trace) -> Optional[Dict[str, Any]]:
    """Simulate the workload of --against and put its step beside the trace's; None: there is no such option."""
    workload = call.value("against")
    if workload is None:
        return None
    sets = [word for assignment in call.values("set") for word in ("--set", assignment)]
    result = call.ask("run", workload, *sets, "--ranks", "--ignore-memory")
    against = compare(trace, result)
    if not against["of_traced_ranks"]:
        call.talk.note(f"predicted times are means over all {result['gpus']} ranks: the trace does not say which of them it is of")
    return against


def _check_measured(call: Call, trace: Trace) -> None:
    """Refuse to write a table of measured kernels that says nothing."""
    if trace.measured():
        return
    reason = ("expected matrix products or attentions with their sizes, which the profiler records with record_shapes=True, got none")
    if trace.shapes:
        first = trace.shapes[0]
        reason = f"all {len(trace.shapes)} shapes are left out, the longest, {first['kernel']} {first['shape'][:60]}: {first['left_out']}"
    call.refuse(f"no measured kernels to write: {reason}", Place(trace.ranks[0]["file"], 0))


def run(call: Call) -> None:
    """Read the traces that the call names, and write and print what it asks for."""
    check_targets(call, "output", "kernels")
    trace = read(call, call.arguments, count(call, "steps", _STEPS_MAX, 1))
    against = beside(call, trace)
    if call.value("output"):
        _check_measured(call, trace)
    texts = {"output": _csv(["kernel", "shape", "time"], trace.measured()), "kernels": _csv(list(trace.kernels[0]), trace.kernels)}
    targets = sorted((name for name in texts if call.has(name)), key=lambda name: call.value(name) == "-")  # files first
    for name in targets:
        write_file(call, call.value(name) or "-", texts[name])
    if call.has("json"):
        print_json(call, {**vars(trace), **({"against": against} if against else {})})
    elif all(call.value(name) != "-" for name in targets):
        print_page(call, page_of(trace, against))
