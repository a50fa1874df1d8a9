"""`meshsim import megatron-otel SPANS.json...`: passes among the OpenTelemetry spans of Megatron-LM, as a table of measured steps for `replay`
(workloads/events.md).

Read are `megatron.microbatch.forward`, `megatron.microbatch.backward` and `megatron.optimizer_step` within `megatron.train_step`, of tensor-parallel rank 0 of every
pipeline and data-parallel rank, in OTLP's JSON: one object, or one a line as the collector's file exporter writes them. Spans are times of the host.

Source: NVIDIA/Megatron-LM 10e11801, docs/user-guide/observability (span groups); names of attributes: nemo-lens; OTLP's JSON: opentelemetry-proto.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from .._call import Call, Place
from .._describe import Kind
from .pipeline_passes import HEAD, Pass, Step, rows_of
from .source import IGNORED, USED, Key, deliver, read_bytes, row_of, target

KIND = Kind("megatron-otel SPANS.json...", "OpenTelemetry spans of Megatron-LM give a table of measured steps for 'replay'",
            "megatron-otel reads OTLP's JSON with the span groups step, microbatch and optimizer of every pipeline rank.", writes=".csv")

PASSES = {"megatron.microbatch.forward": 0, "megatron.microbatch.backward": 1}
STEP, UPDATE = "megatron.train_step", "megatron.optimizer_step"
NS = 1e-9


class Span(NamedTuple):
    """A span of a rank."""

    name: str
    start_ns: int
    end_ns: int
    attributes: Dict[str, Any]


Rank = Tuple[int, int]
"""data-parallel and pipeline rank"""


def _attributes(node: Dict[str, Any]) -> Dict[str, Any]:
    """Attributes by name; whole numbers are texts in OTLP."""
    found = {}
    for row in node.get("attributes") or []:
        value = row.get("value") or {}
        found[row.get("key")] = int(value["intValue"]) if "intValue" in value else next(iter(value.values()), None)
    return found


def _spans(tree: Dict[str, Any]) -> Iterator[Tuple[Rank, Span]]:
    """The spans of a request that count, with their rank."""
    for resource in tree.get("resourceSpans") or []:
        common = _attributes(resource.get("resource") or {})
        for scope in resource.get("scopeSpans") or []:
            for span in scope.get("spans") or []:
                own = {**common, **_attributes(span)}
                if span["name"] in (*PASSES, STEP, UPDATE) and own.get("dl.tensor_parallel.rank", 0) == 0:
                    rank = own.get("dl.data_parallel.rank", 0), own.get("dl.pipeline_parallel.rank", 0)
                    yield rank, Span(span["name"], int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]), own)


def _read(call: Call) -> Dict[Rank, List[Span]]:
    found: Dict[Rank, List[Span]] = defaultdict(list)
    for path in call.arguments:
        text = read_bytes(call.talk, path).decode("utf-8", "replace")
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        is_lines = len(lines) > 0 and all(line.lstrip().startswith("{") and line.rstrip().endswith("}") for _, line in lines)
        for number, part in lines if is_lines else [(1, text)]:
            try:
                for rank, span in _spans(json.loads(part)):
                    found[rank].append(span)
            except (ValueError, KeyError, TypeError, AttributeError) as fault:
                call.refuse(f"is no OTLP in JSON: {str(fault)[:100]}", Place(path, number))
    if not found:
        call.refuse(f"none of the spans {', '.join(PASSES)} is among the files; they are of the span group 'microbatch'")
    return found


def _passes(call: Call, rank: Rank, spans: List[Span], number: int, origin_ns: int) -> List[Pass]:
    """The passes of a rank in a step."""
    passes: List[Pass] = []
    order: List[int] = []
    for series, name in enumerate(PASSES):
        own = sorted((span for span in spans if span.name == name), key=lambda span: span.start_ns)
        numbers = [span.attributes.get("megatron.microbatch_id", i) for i, span in enumerate(own)] if series == 0 else order
        if series == 0:
            order = numbers
        if len(set(numbers)) < len(numbers) or len(numbers) != len(own):
            call.refuse(f"iteration {number}, dp {rank[0]}, pp {rank[1]}: {len(own)} {name} spans of {len(set(order))} microbatches; spans do not name the chunk of a rank, "
                        "so only pipelines with one chunk are read")
        passes += [Pass(series, 0, mb, (span.start_ns - origin_ns) * NS, (span.end_ns - origin_ns) * NS) for mb, span in zip(numbers, own)]
    return sorted(passes, key=lambda own: own.start_s)


def run(call: Call) -> None:
    """The command."""
    target(call)
    found = _read(call)
    dps, pps = (1 + max(rank[i] for rank in found) for i in (0, 1))
    missing = [(dp, pp) for dp in range(dps) for pp in range(pps) if (dp, pp) not in found]
    if missing:
        call.refuse(f"no spans of dp {missing[0][0]}, pp {missing[0][1]}; every rank has to export (MEGATRON_OTEL_EXPORT_RANK=-1)")
    origin = min(span.start_ns for spans in found.values() for span in spans)
    steps = {rank: {span.attributes.get("megatron.iteration", i): span for i, span in enumerate(s for s in spans if s.name == STEP)} for rank, spans in found.items()}
    numbers = sorted(set.intersection(*(set(own) for own in steps.values())))
    if not numbers:
        call.refuse(f"no iteration has a span {STEP} on every rank; they are of the span group 'step'")
    lines = [HEAD]
    for number in numbers:
        for dp in range(dps):
            inside = [[span for span in found[dp, pp] if steps[dp, pp][number].start_ns <= span.start_ns < steps[dp, pp][number].end_ns] for pp in range(pps)]
            passes = [_passes(call, (dp, pp), inside[pp], number, origin) for pp in range(pps)]
            updates = [(pp, (span.start_ns - origin) * NS, (span.end_ns - origin) * NS) for pp in range(pps) for span in inside[pp] if span.name == UPDATE]
            lines += rows_of(call, number, Step(passes, 1), dp, updates)
    call.talk.warning("spans are times of hosts, which run ahead of their GPUs: passes are as long as on the GPU only where the host waits for them")
    keys = [Key(name, USED, "passes") for name in PASSES] + [Key(UPDATE, USED, "the update"), Key("other spans", IGNORED, "the table needs passes and updates alone")]
    deliver(call, keys, "\n".join(lines) + "\n", {"keys": list(map(row_of, keys)), "steps": len(numbers), "rows": len(lines) - 1},
            f"steps      {len(numbers)}\nmesh       dp {dps}, pp {pps}\nrows       {len(lines) - 1}\n")
