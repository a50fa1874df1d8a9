"""What can be asked."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _library, _workers
from ._arguments import Spec, file_of, options_of, path_of, settings_of
from ._errors import BugError, LibraryError, UsageError, error_of
from ._result import Result, TraceFile

Settings = Optional[Mapping[str, Any]]
Job = Union[Spec, Tuple[Spec, Mapping[str, Any]]]


_TOOLS = ("import", "export", "validate", "calibrate", "plot")
"""commands that the program starts as tools of this package"""


def _start_tool(words: List[str]) -> Tuple[int, bytes, str]:
    """Run the command line of a tool, which needs the program itself. As _workers.perform."""
    program = _library.find_program()
    if not program:
        raise LibraryError(f"'{words[0]}' needs the program meshsim in PATH, or beside the library that {_library.VARIABLE} names")
    done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def _finish(words: List[str]) -> Tuple[int, bytes, str]:
    """Run a command line. Status (0 or 1), standard output, standard error."""
    status, printed, said = (_start_tool if words[0] in _TOOLS else _workers.perform)(words)
    if status < 0:
        raise BugError(f"{said}meshsim was killed by signal {-status} in: {' '.join(words)}", status)
    if status > 1:
        raise error_of(status, said)
    return status, printed, said


def _perform(words: List[str], trace: Optional[TraceFile] = None) -> Result:
    """Run a command line that prints JSON."""
    status, printed, said = _finish([*words, "--json"])
    if not printed:
        raise error_of(status, said)
    try:
        result = json.loads(printed)
    except ValueError:  # a help text, say
        raise UsageError(f"meshsim: error: 'meshsim {' '.join(words)}' prints a text in place of a result") from None
    return Result(result, status, said, trace)


def command(name: str, *arguments: Any, **options: Any) -> Result:
    """Any command of the program that takes --json, such as command("collective", "all_reduce", platform="dgx-h100", n=16): options as keywords,
    see `meshsim NAME --help`. A list gives an option several times, True is a flag."""
    return _perform([name, *map(str, arguments), *options_of(options)])


def run(spec: Spec, settings: Settings = None, *, trace: Union[str, bool, None] = None, trace_file: Optional["os.PathLike[str]"] = None,
        platform: Optional[str] = None, tokens: Union[str, float, None] = None, **overrides: Any) -> Result:
    """Simulate one step of a workload.

    spec: path of a workload file, or the workload itself as a mapping or a text of YAML (in which relative paths are of no use, names are).
    settings: values of keys by their dotted paths, {"mesh.tp": 4}; overrides: the same as keywords, mesh__tp=4.
    trace: "passes", "full" (True), "summary" or "ranks=0,8-15": what to keep for `.trace`; trace_file: where, else it goes with the result.
    platform: a platform file or name in the place of the workload's.
    tokens: of a whole training, 15e12 or "15T": adds training_days, training_gpu_hours, training_cost [USD] and training_energy_MWh.
    Returns a Result with the keys of `meshsim run --json`; status 1: it does not fit in memory. Raises InputError and so on."""
    kept = TraceFile(None if trace_file is None else os.fspath(trace_file)) if trace or trace_file else None
    words = [] if kept is None else ["-o", os.path.abspath(kept.path)] + (["--trace", trace] if isinstance(trace, str) else [])
    with file_of(spec) as path:
        return _perform(["run", path, *options_of({"platform": platform, "tokens": tokens}), *settings_of(settings, overrides), *words], kept)


def run_many(jobs_to_run: Iterable[Job], settings: Settings = None, *, jobs: Optional[int] = None, trace: Union[str, bool, None] = None,
             platform: Optional[str] = None, **overrides: Any) -> List[Result]:
    """Simulate many workloads, `jobs` at once (default: a worker for each processor), and keep the workers for the next call.

    jobs_to_run: specs, or pairs (spec, settings of this one alone), which count before those of all. Returns results in this order; the first
    exception, and Ctrl-C, end all."""
    def one(job: Job) -> Result:
        spec, own = job if isinstance(job, tuple) else (job, {})
        return run(spec, {**(settings or {}), **{k.replace("__", "."): v for k, v in overrides.items()}, **own}, trace=trace, platform=platform)

    return _workers.map_over(one, jobs_to_run, jobs or len(os.sched_getaffinity(0)))


def check(spec: Spec, settings: Settings = None, *, platform: Optional[str] = None, tokens: Union[str, float, None] = None, **overrides: Any) -> Result:
    """Validate a workload without simulating it: mesh, memory by stage, parameters, and the estimate of a step. Arguments as of `run`; keys as
    `meshsim check --json` has them, what `tokens` adds under `estimate`."""
    with file_of(spec) as path:
        return _perform(["check", path, *options_of({"platform": platform, "tokens": tokens}), *settings_of(settings, overrides)])


def estimate(spec: Spec, settings: Settings = None, *, platform: Optional[str] = None, **overrides: Any) -> Mapping[str, float]:
    """The estimate of a step alone: step_time_s, lower_bound_s [s] and so on, in milliseconds of work. Arguments as of `run`."""
    found: Mapping[str, float] = check(spec, settings, platform=platform, **overrides)["estimate"]
    return found


def schedule(kind: str, **options: Any) -> Result:
    """A pipeline schedule on paper: schedule("interleaved", p=4, v=2, m=8, p2p=0.1); or in a workload: schedule("zbv", workload="tiny.yaml").
    Options as of `meshsim schedule`."""
    return command("schedule", kind, **options)


def search(spec: Spec, vary: Optional[Mapping[str, Sequence[Any]]] = None, settings: Settings = None, **options: Any) -> Result:
    """The fastest meshes and settings of a workload: `results`, best first. vary: values by key, {"mesh.tp": [1, 2, 4]}, or "all" of an axis; further
    options as of `meshsim search` (top=5, gpus=[64, 128], jobs=2, store="results.db"; tokens="15T", objective="training_cost"). settings: a key of one
    of several platforms as {"h800:platform.price": "2 USD/h"}."""
    from ._arguments import yaml_of
    words = [word for key, values in (vary or {}).items() for word in
             ("--vary", f"{key}={values if isinstance(values, str) else ','.join(map(yaml_of, values))}")]
    with file_of(spec) as path:
        return _perform(["search", path, *words, *settings_of(settings, {}), *options_of(options)])


def sweep(path: Union[str, "os.PathLike[str]"], **options: Any) -> Result:
    """What a sweep's file asks for: a row per point. Options as of `meshsim sweep` (jobs=2, store="results.db")."""
    return command("sweep", path_of(path), **options)


def collective(kind: str, platform: str, **options: Any) -> Result:
    """Time and bandwidth of a collective over sizes: collective("all_reduce", "dgx-h100", n=16, b="1MiB", e="1GiB")."""
    return command("collective", kind, platform=platform, **options)


def compare(a: Union[str, "os.PathLike[str]"], b: Union[str, "os.PathLike[str]"], **options: Any) -> Result:
    """What differs between two traces, or two folders of them: `differences`; status 1 where a guard is broken."""
    return command("compare", path_of(a), path_of(b), **options)


def validate(*cases: "str | os.PathLike[str]", settings: Settings = None, own: Sequence["str | os.PathLike[str]"] = (), ablation: bool = False,
             **options: Any) -> Result:
    """Measured runs simulated with one set of parameters, predicted against measured.

    cases: files of cases, measured collectives or logs of nccl-tests; own: tables of your own runs (workloads/validation/README.md). settings: values of
    keys in every job, {"platform.tiers.*.efficiency": 1}. ablation: also what each mechanism of the cost model buys, under `ablation`. Options as of
    `meshsim validate` (group="llama3", jobs=2, words="words.yaml").
    Returns `rows` with predicted_s and measured_s [s] and error = predicted / measured - 1, `groups`, `mean_of_groups`, `memory` [B] and so on;
    `.to_pandas("rows")` makes a table of one. Raises InputError where a file is wrong, and so on."""
    files = [path_of(path) for path in cases]
    return _perform(["validate", *files, *options_of({"own": [os.fspath(path) for path in own], "ablation": ablation, **options}),
                     *settings_of(settings, {})])


def report(traces: Union[Result, Sequence[Union[Result, str]]], path: Union[str, "os.PathLike[str]"], **options: Any) -> str:
    """Draw results that have traces, or files of traces, into one picture (.svg) or page (.html), several on one time axis, or one for
    a trace viewer (.json). Options as of `meshsim report`. Returns the path."""
    several = [traces] if isinstance(traces, (Result, str)) else traces
    files = [one.trace_file if isinstance(one, Result) else path_of(one) for one in several]
    _finish(["report", *files, "-o", os.path.abspath(path), *options_of(options)])
    return os.fspath(path)
