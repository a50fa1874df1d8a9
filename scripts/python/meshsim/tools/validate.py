"""`meshsim validate`: measured runs simulated with one set of parameters, predicted against measured.

Nothing here fits anything: a case becomes a workload by the rules of `cases`, the program simulates it (`meshsim runs`), and the difference is the error. A
case without a workload, or whose workload fails, is left out with the reason; one that does not fit in memory is simulated all the same, since it ran.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from meshsim._arguments import yaml_of

from . import _units, cases, measured
from ._call import FAILED, INPUT, OK, USAGE, Call, Fault, Place, check_targets, nearest, plain, print_json, print_page, write_file
from ._describe import JSON, Command, Option
from .cases import APART, LAYER, PHASES, SCORED, Case, find_platform
from .importers.source import count

COMMAND = Command(
    "simulate measured runs, predicted against measured", "[CASES.yaml...]", 0, 1000,
    "Simulates published runs with one set of parameters, nothing of it per run, and prints predicted against measured step times with their error (predicted / "
    "measured - 1), by group and over all (the mean of the groups' mean errors, so that a large table does not drown a small one). Memory, times of single layers and "
    "collectives are tables of their own beside it. A run that cannot be simulated is skipped with the reason. --ablation tells by how much the mean error grows "
    "without each mechanism of the cost model. workloads/validation/README.md says what the files hold.",
    "meshsim validate workloads/validation/cases.yaml --group korthikanti22",
    (Option("own", "runs of your own: a table of id, workload, step_time and keys to override", "CSV", repeatable=True),
     Option("words", "a table of words for rows of other sources, in front of the one that is built in", "FILE", repeatable=True),
     Option("group", "cases of this group only", "G", fallback="all"),
     Option("explain", "one case in full: its job, where the time goes, what its source publishes", "ID"),
     Option("ablation", "simulate once more without each mechanism, and tell what each one buys"),
     Option("set", "override a key of every job, or of every platform as platform.KEY; platform.tiers.*.KEY is that of every tier", "key.path=value",
            repeatable=True, takes="workload key"),
     Option("jobs", "simulations at once", "J", fallback="processors, at most 4"),
     Option("csv", "write the rows as CSV", "FILE", writes=".csv"),
     Option("plot", "draw predicted against measured", "FILE", writes=".svg, .png or .pdf"),
     Option("html", "write a page that a browser opens from disk, with pictures and tables to sort", "FILE", writes=".html"),
     JSON, Option("markdown", "print tables in Markdown, as code hosts show them")))
GROUP_MIN = 6
"""rows that a group has at least if some of them are left out of fits"""
JOBS_MAX = 1024
QUIET_S = 2.0
"""no progress is shown before"""
SIZES_B = ((2**20, "below 1 MiB"), (2**24, "1 to 16 MiB"), (2**28, "16 to 256 MiB"), (math.inf, "256 MiB and more"))
"""sizes of collectives that are summed up together.  Source: how the errors' causes change, launch and latency below, bandwidth above"""
NODE_GPUS = 8
"""of a system of several nodes that a source does not describe"""
NO_PLATFORM = "no platform goes by the words of its source"
Tree = Dict[str, Any]
Groups = Dict[str, Tree]


@dataclass
class Row:
    """A case, and what became of it."""

    case: Case
    is_unseen: bool
    """left out when parameters are fitted"""
    reason: Optional[str] = None
    """why it is left out; None: it is not"""
    result: Tree = field(default_factory=dict)
    """as `meshsim run --json --passes` prints it"""
    predicted_s: float = math.nan
    measured_s: float = math.nan
    """of a range the nearer end; inside it what is predicted"""

    @property
    def error(self) -> float:
        """predicted / measured - 1; NaN without a measured step time"""
        return self.predicted_s / self.measured_s - 1

    @property
    def has_error(self) -> bool:
        return self.reason is None and not math.isnan(self.error)

    @property
    def fits(self) -> bool:
        return bool(self.result["memory"]["fits"])

    def tree(self) -> Tree:
        """What --json and the CSV have of it."""
        case, result = self.case, self.result
        if self.reason is not None:
            return {"id": case.id, "group": case.group, "reason": self.reason}
        found = {"id": case.id, "group": case.group, "core": case.is_core, "predicted_s": self.predicted_s, "measured_s": self.measured_s, "error": self.error,
                 "fits": self.fits, "suspect": case.is_suspect, "unseen": self.is_unseen, "recompute_stated": case.recompute_is_stated,
                 "framework": case.framework or result["framework"], "platform": result["platform"]}
        found.update({key: "; ".join(texts) for key, texts in (("differs", case.differs), ("assumptions", case.assumptions)) if texts})
        return {**found, "mfu": result["mfu"], "bubble_fraction": result["bubble_fraction"], "peak_B": result["memory"]["peak_B"],
                "time_share": result["time_share"]}


@dataclass
class Collective:
    """A measured collective, and the platform it ran on."""

    measured: measured.Measured
    platform: Optional[Tree]
    """as `meshsim times` takes it; None: no platform goes by its words"""


@dataclass
class Validation:
    """What came out: rows and points in the order of the files, and errors by group."""

    rows: List[Row]
    """of the score, then apart from it, then layers"""
    memory: List[Tree] = field(default_factory=list)
    layers: List[Tree] = field(default_factory=list)
    phases: List[Tree] = field(default_factory=list)
    collectives: List[Tree] = field(default_factory=list)
    skipped_systems: List[str] = field(default_factory=list)
    """of collectives without a platform, an entry for each"""
    sizes: Groups = field(default_factory=dict)
    """collectives by size"""

    def of(self, *uses: str) -> List[Row]:
        """The rows of some uses."""
        return [row for row in self.rows if row.case.use in uses]

    def groups(self, use: str = SCORED, is_counted: Callable[[Row], bool] = lambda row: True) -> Groups:
        """Errors of step times by group.  is_counted: of a row that has an error"""
        return sum_up((row.case.group, row.case.id, row.error) for row in self.of(use) if row.has_error and is_counted(row))

    def stated_groups(self) -> Groups:
        """The same of rows of the score that state what they recompute."""
        return self.groups(is_counted=lambda row: row.case.recompute_is_stated)

    def memory_groups(self) -> Groups:
        return sum_up((point["group"], point["id"], point["error"]) for point in self.memory)


def sum_up(errors: Iterable[Tuple[str, str, float]]) -> Groups:
    """Mean and worst error of each group, in the order in which they come.  errors: group, id and error of each"""
    groups: Groups = {}
    for name, identity, error in errors:
        group = groups.setdefault(name, {"n": 0, "mean_abs_error": 0.0, "bias": 0.0, "worst_abs_error": -1.0, "worst": ""})
        group["n"] += 1
        group["mean_abs_error"] += abs(error)
        group["bias"] += error
        if abs(error) > group["worst_abs_error"]:
            group.update(worst_abs_error=abs(error), worst=identity)
    for group in groups.values():
        group.update({key: group[key] / group["n"] for key in ("mean_abs_error", "bias")})
    return groups


def mean_of(groups: Groups) -> float:
    """Mean of the groups' mean errors; NaN without a group."""
    return sum(group["mean_abs_error"] for group in groups.values()) / len(groups) if groups else math.nan


# ---- what is validated ----

class Study:
    """The rows to simulate, read and translated."""

    def __init__(self, call: Call):
        """Reads the call's files.  Raises Fault, told, where one is wrong or no case is of the group or id asked for."""
        self.call = call
        self.group, self.id = call.value("group"), call.value("explain")
        self.done, self.expected, self.start_s = 0, 0, time.monotonic()
        words = cases.Words(call, call.values("words"))
        found, self.collectives = self._read(words)
        scored = [case.group for case in found if case.use == SCORED]
        chosen = [case for case in found if self.group in (None, case.group) and self.id in (None, case.id)]
        if not chosen and not self.is_whole:
            word, names = (self.id, [case.id for case in found]) if self.id is not None else (self.group or "", [case.group for case in found])
            near = nearest(word, names) if names else None
            call.refuse(f"no case {'named' if self.id is not None else 'of a group'} '{word}'" + (f"; did you mean '{near}'?" if near else ""))
        self.cases = [case for use in (SCORED, APART, LAYER) for case in chosen if case.use == use]
        for case in self.cases:
            cases.translate(call, case, words)
        self.unseen = {case.id: zlib.crc32(case.id.encode("utf-8", "surrogateescape")) % 3 == 0 or scored.count(case.group) < GROUP_MIN for case in self.cases}

    @property
    def is_whole(self) -> bool:
        return self.group is None and self.id is None

    def _read(self, words: "cases.Words") -> Tuple[List[Case], List[Collective]]:
        call = self.call
        found: List[Case] = []
        points: List[measured.Measured] = []
        code = OK
        for path in [*call.arguments, *call.values("own")]:  # also those behind a faulty one
            try:
                before = call.talk.errors
                text = cases.text_of(call, path)  # once: it may be a pipe
                if not cases.read_text(call, path, text, found):
                    points += measured.read_text(call, path, text)
                code = code or (INPUT if call.talk.errors > before else OK)
            except Fault as fault:
                code = code or fault.code
        if code != OK:
            raise Fault(code)
        platforms: Dict[Any, Optional[Tree]] = {}
        collectives = []
        for point in points if self.is_whole else []:
            gpus = max(point.ranks, point.nodes * NODE_GPUS if point.nodes > 1 else 0)
            key = (point.system, point.source, gpus)
            if key not in platforms:  # which cluster it was the source may say better than its name for the system
                platforms[key] = find_platform(call, words, point.system, f"{point.system}; {point.source}", gpus)
            collectives.append(Collective(point, platforms[key]))
        return found, collectives

    def validate(self, sets: Sequence[str]) -> Validation:
        """Simulate everything once.  sets: overrides of every job.  Raises Fault, told, where one is wrong, and where a job's own file is."""
        rows = [Row(case, self.unseen[case.id], case.reason) for case in self.cases]
        to_run = [row for row in rows if row.reason is None]
        self.expected = self.expected or len(to_run)
        with contextlib.closing(self._simulate([_job(row.case) for row in to_run], sets)) as lines:
            for line in lines:
                _take(self.call, to_run[line["job"]], line)
                self.done += 1
                self._show_progress()
        validation = Validation(rows)
        for row in rows:
            if row.reason is None:
                _add_points(row, validation)
        self._time_collectives([word for word in sets if word.startswith("platform.")], validation)
        return validation

    def _simulate(self, jobs: List[Tree], sets: Sequence[str]) -> Iterator[Tree]:
        """What the program says of each job, as they end."""
        if not jobs:
            return
        words = [f"--set={word}" for word in sets] + [f"--jobs={value}" for value in self.call.values("jobs")]
        with tempfile.NamedTemporaryFile("w", prefix="meshsim-", suffix=".json", encoding="utf-8", errors="surrogateescape") as file:
            json.dump({"jobs": jobs}, file, ensure_ascii=False)
            file.flush()
            with subprocess.Popen([str(self.call.program), "runs", file.name, *words], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as child:
                assert child.stdout
                try:
                    yield from map(json.loads, child.stdout)
                    code = child.wait()
                finally:
                    child.terminate()  # what runs is nobody's any more
                    child.stdout.read()
        if code != OK:
            raise Fault(code if code > 0 else 128 - code)

    def _time_collectives(self, sets: Sequence[str], out: Validation) -> None:
        times: Dict[str, List[float]] = {}
        by_platform: Dict[str, List[Tree]] = {}
        for one in self.collectives:
            point = one.measured
            by_platform.setdefault(json.dumps(one.platform), []).append(
                {"kind": point.kind, "gpus": point.ranks, "nodes": point.nodes, "bytes": f"{point.size_B!r} B", "timing": point.timing})
        for key, points in by_platform.items():
            if key != "null":
                text = yaml_of({"platform": json.loads(key), "set": list(sets), "points": points})
                times[key] = list(reversed(self.call.ask("times", "-", text=text)["times_s"][0]))
        errors = []
        for one in self.collectives:
            point = one.measured
            if one.platform is None:
                out.skipped_systems.append(point.system)
                continue
            predicted_s = times[json.dumps(one.platform)].pop()
            out.collectives.append({"system": point.system, "kind": point.kind, "ranks": point.ranks, "nodes": point.nodes, "size_B": point.size_B,
                                    "predicted_s": predicted_s, "measured_s": point.measured_s, "error": predicted_s / point.measured_s - 1})
            errors.append((next(name for below_B, name in SIZES_B if point.size_B < below_B), point.system, out.collectives[-1]["error"]))
        out.sizes = sum_up(errors)

    def _show_progress(self) -> None:
        spent_s = time.monotonic() - self.start_s
        if sys.stderr.isatty() and spent_s >= QUIET_S:
            left_s = (self.expected - self.done) * spent_s / self.done
            sys.stderr.write(f"\r\x1b[K{self.done} of {self.expected} simulated, {self.done / spent_s:.3g}/s, {_units.duration(left_s)} left"
                             + "\n" * (self.done == self.expected))
            sys.stderr.flush()

    def tell_rest(self) -> None:
        """After an interrupt: errors of a part of the runs are no score, so none is shown."""
        if sys.stderr.isatty() and time.monotonic() - self.start_s >= QUIET_S:
            sys.stderr.write("\n")
        self.call.talk.note(f"interrupted after {self.done} of {self.expected} simulations; nothing is shown of them, and nothing written: --group G takes "
                            "less time")


def _job(case: Case) -> Tree:
    """A case as `meshsim runs` takes it."""
    if case.path is None:
        return {"workload": case.place.file, "text": yaml_of(case.workload or {})}
    return {"workload": case.path, "set": case.sets, **({"platform": case.platform} if case.platform else {})}


def _take(call: Call, row: Row, line: Tree) -> None:
    """Fill a row with what the program says of it."""
    if not line["is_read"] and (row.case.path is not None or line["blames_set"]):
        sys.stderr.write(line["said"])
        if row.case.path is not None:
            call.talk.error(f"the workload of '{row.case.id}' is not sound", Place(row.case.place.file, row.case.place.line))
        raise Fault(line["exit"])
    row.reason = line.get("reason")
    if row.reason is None:
        known = row.case.measured
        row.result, row.predicted_s = line["result"], line["result"]["step_time_s"]
        if known.low_s is not None and known.high_s is not None:
            row.measured_s = min(max(row.predicted_s, known.low_s), known.high_s)
        elif known.step_s is not None:
            row.measured_s = known.step_s


def _add_points(row: Row, out: Validation) -> None:
    """What else is compared of a run: memory, times of a layer, phases of the step."""
    known, last, passes = row.case.measured, row.result["last_rank"], row.result["passes"]
    peak_B = last["peak_B"] if known.is_last_rank else row.result["memory"]["peak_B"]
    beside_B = last["reserve_B"] if known.is_device else 0
    quantity = "peak_device" if known.is_device else "peak_alloc" if known.is_allocated else "peak_reserved"
    for name, predicted_B, measured_B in ((quantity, beside_B + peak_B, known.peak_B), ("between_steps", last["static_B"], known.static_B)):
        if measured_B is not None:
            out.memory.append({"id": row.case.id, "group": row.case.group, "quantity": name, "rank": "last" if known.is_last_rank else "peak",
                               "predicted_B": predicted_B, "measured_B": measured_B, "error": predicted_B / measured_B - 1})
    halves = passes["forward_s"], passes["backward_s"]
    layers = zip(("forward", "backward", "combined"), (*halves, sum(halves)), (known.forward_s, known.backward_s, known.layer_s))
    phases = ((name, passes["phase_s"][name], known.phase_s.get(name)) for name in PHASES)
    for points, times in ((out.layers, layers), (out.phases, phases)):
        points += [{"id": row.case.id, "quantity": name, "predicted_s": predicted_s, "measured_s": measured_s, "error": predicted_s / measured_s - 1}
                   for name, predicted_s, measured_s in times if measured_s is not None]


# ---- results ----

def tree(v: Validation) -> Tree:
    """What --json prints."""
    def kept(use: str) -> List[Tree]:
        return [row.tree() for row in v.of(use) if row.reason is None]

    def skipped(*uses: str) -> List[Tree]:
        return [row.tree() for row in v.of(*uses) if row.reason is not None]

    return {"rows": kept(SCORED), "groups": v.groups(), "mean_of_groups": mean_of(v.groups()), "mean_of_groups_recompute_stated": mean_of(v.stated_groups()),
            "skipped": skipped(SCORED), "skipped_apart": skipped(APART, LAYER) + [{"id": name, "reason": NO_PLATFORM} for name in v.skipped_systems],
            "apart_rows": kept(APART), "apart": v.groups(APART), "memory": v.memory, "memory_groups": v.memory_groups(), "layers": v.layers,
            "phases": v.phases, "collectives": v.collectives, "collective_sizes": v.sizes}


def table(rows: List[Tree]) -> str:
    """Rows as CSV: a column for each key that some row has, in the order in which rows first have them; empty where a row has none."""
    flat = [{key + name: item for key, value in row.items() for name, item in
             ([(f".{name}", item) for name, item in value.items()] if isinstance(value, dict) else [("", value)])} for row in rows]
    out = io.StringIO()
    writer = csv.DictWriter(out, dict.fromkeys(key for row in flat for key in row), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: value if isinstance(value, str) or value is None else json.dumps(value) for key, value in row.items()} for row in plain(flat))
    return out.getvalue()


def _render(call: Call, found: Tree, *words: str, ending: str = "") -> bytes:
    """What a command of the program makes of results, in a file of that ending, or prints.  words: the command and its options"""
    page = {"subject": call.arguments[0] if call.arguments else "", "command": os.environ.get("MESHSIM_COMMAND_LINE", ""), "files": [*call.arguments, *call.values("own")]}
    if call.has("group"):
        page["title"] = call.value("group") or ""
    with tempfile.TemporaryDirectory(prefix="meshsim-") as folder:
        source, target = Path(folder, "result.json"), Path(folder, "made" + ending)
        source.write_text(json.dumps({**found, "page": page}, ensure_ascii=False), encoding="utf-8", errors="surrogateescape")
        done = subprocess.run([str(call.program), words[0], str(source), *words[1:], *(["-o", str(target)] if ending else [])], stdout=subprocess.PIPE, check=False)
        if done.returncode != OK:
            raise Fault(done.returncode if done.returncode > 0 else FAILED)
        return target.read_bytes() if ending else done.stdout


def _check(call: Call) -> None:
    """Before anything takes long: what stands on the command line."""
    count(call, "jobs", JOBS_MAX, 1)
    check_targets(call, "csv", "plot", "html")
    if not call.arguments and not call.has("own"):
        call.refuse("expected files of measured runs, or --own CSV", code=USAGE)


def run(call: Call) -> None:
    """The command."""
    from . import ablation, validate_page  # pylint: disable=import-outside-toplevel
    _check(call)
    study = Study(call)
    sets = call.values("set")
    try:
        whole, gains = ablation.ablate(study, sets) if call.has("ablation") else (study.validate(sets), None)
    except Fault as fault:
        if fault.code > 128:
            study.tell_rest()
        raise
    found = plain({**tree(whole), **({} if gains is None else {"ablation": gains})})
    rows = [row.tree() for is_kept in (True, False) for row in whole.rows if (row.reason is None) == is_kept]
    made: List[Tuple[str, Callable[[], "str | bytes"]]] = [
        ("csv", lambda: table(rows if gains is None else [{key: row[key] for key in row if key != "groups"} for row in gains])),
        ("plot", lambda: _render(call, found, "plot", ending=os.path.splitext(call.value("plot") or "")[1].lower() or ".svg")),
        ("html", lambda: _render(call, found, "report", ending=".html"))]
    for name, make in made:
        if call.has(name):
            write_file(call, call.value(name) or "", make())
    if "-" in (call.value("csv"), call.value("plot"), call.value("html")):
        return
    if call.has("json"):
        print_json(call, found)
    elif call.has("markdown"):
        print_page(call, _render(call, found, "report", "--markdown").decode("utf-8"))
    else:
        print_page(call, validate_page.ablation_page(whole, gains) if gains is not None else validate_page.case_page(whole.rows[0])
                   if call.has("explain") else validate_page.page(whole))
