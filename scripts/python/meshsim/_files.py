"""Files of other software as workloads, platforms and tables, and workloads as files of other software: what `meshsim import` and `meshsim export` do, in this
process. What only the simulator knows is asked of the installed library."""

from __future__ import annotations

import importlib
import io
import os
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from . import _workers
from ._arguments import Spec, file_of, path_of, settings_of
from ._calls import Settings
from ._errors import error_of
from ._result import Result
from .tools._call import Answer, Call, Fault, Talk, plain

PathLike = Union[str, "os.PathLike[str]"]
_PIPE = "/dev/stdin"


class _LibraryCall(Call):
    """A call of a command that asks the library in the place of a program."""

    def answer(self, *words: str, text: str = "") -> Answer:
        with tempfile.TemporaryDirectory(prefix="meshsim-") as folder:
            path = Path(folder) / "text.yaml"
            path.write_text(text, encoding="utf-8", errors="surrogateescape")
            status, printed, said = _workers.perform([str(path) if text and word == _PIPE else word for word in words])
            return Answer(status if status >= 0 else 128 - status, printed.decode("utf-8", "surrogateescape"), said.replace(str(path), _PIPE))


class Imported(str):
    """A file of meshsim, as text, with what an import tells of it. `run` and others take one that lacks nothing in the place of a path."""

    missing: List[str]
    """dotted paths of keys that the source does not say; the text says what would"""
    keys: List[Dict[str, Any]]
    """what became of each key of the source: key, value, fate (used, assumed, ignored, unknown), why, line (from 1; 0: none)"""
    messages: str
    """warnings and notes, as the command prints them"""

    @classmethod
    def of(cls, kind: str, tree: Mapping[str, Any], messages: str = "") -> Any:
        """From what `import --json` prints, whose text stands below `kind`."""
        found = cls(tree[kind])
        vars(found).update({key: value for key, value in tree.items() if key != kind}, messages=messages)
        return found


class Workload(Imported):
    """A workload file."""

    parameters: Optional[Dict[str, float]] = None
    """of the model [count]: total, active and others, as `check` counts them; None: the source has no whole model"""
    differences: Mapping[str, str] = {}
    """keys of the source that are simulated otherwise, and what of a run each changes: memory or time"""


class Platform(Imported):
    """A platform file."""


class Exported(str):
    """A file of other software, as text."""

    unsaid: List[Dict[str, str]]
    """what it leaves unsaid of the workload: key, value, instead (what the software does), why"""
    messages: str
    """warnings and notes, as the command prints them"""


def _perform(name: str, work: Callable[[Call], Any], **options: Any) -> Any:
    """Do the work of a command.  options: by long names; None: not given.  Raises the exception that its exit code stands for, with what it told."""
    given = {key: list(map(str, value)) if isinstance(value, list) else [str(value)] for key, value in options.items() if value is not None}
    said = io.StringIO()
    call = _LibraryCall(Path(), name, {**given, "quiet": [""]}, [], Talk(said))
    try:
        return work(call), said.getvalue()
    except Fault as fault:
        call.talk.finish()
        raise error_of(fault.code, said.getvalue()) from None


def _importer(name: str) -> Any:
    return importlib.import_module(f"meshsim.tools.importers.{name}")


def _sets(settings: Settings, overrides: Mapping[str, Any]) -> List[str]:
    return settings_of(settings, overrides)[1::2]


def _import_workload(work: Callable[[Call], Any], **options: Any) -> Workload:
    def complete(call: Call) -> Any:
        draft = work(call)
        draft.complete()
        return {**draft.result("workload"), "differences": draft.effects}

    return Workload.of("workload", *_perform("import", complete, **options))  # type: ignore[no-any-return]


def import_megatron(*paths: PathLike, defines: Optional[Mapping[str, str]] = None, settings: Settings = None, platform: Optional[str] = None,
                    gpus: Optional[int] = None, batch: Optional[int] = None, **overrides: Any) -> Workload:
    """A workload from the arguments of a run of Megatron-LM or of a fork: a log, lines of arguments, a YAML of them, or launch scripts, which bash runs in a sandbox.

    paths: files that belong together.  defines: variables that a script finds set.  settings, overrides: keys of the workload, as of `run`.
    platform, gpus, batch: the cluster, its GPUs [count] and sequences per step [count], where the files do not say them.
    Raises InputError where a file is not understood or the job cannot be simulated, with the places; FileError where one cannot be read.
    Source: Megatron-LM, megatron.training.arguments, and the parsers that tools/importers/megatron_arguments.yaml names."""
    module = _importer("megatron")
    return _import_workload(lambda call: module.draft(call, module.load(call, list(map(os.fspath, paths))), dict(defines or {})),
                            set=_sets(settings, overrides), platform=platform, gpus=gpus, batch=batch)


def import_deepspeed(path: PathLike, model: Optional[PathLike] = None, settings: Settings = None, *, platform: Optional[str] = None, gpus: Optional[int] = None,
                     batch: Optional[int] = None, **overrides: Any) -> Workload:
    """A workload from a configuration of DeepSpeed.  model: config.json of its model, or its folder.  Further arguments and exceptions as of `import_megatron`.
    Source: DeepSpeed, deepspeed.runtime.config."""
    paths = [os.fspath(one) for one in (path, model) if one is not None]
    return _import_workload(lambda call: _importer("deepspeed").read(call, paths), set=_sets(settings, overrides), platform=platform, gpus=gpus, batch=batch)


def import_hf(path: PathLike, settings: Settings = None, *, platform: Optional[str] = None, gpus: Optional[int] = None, batch: Optional[int] = None,
              **overrides: Any) -> Workload:
    """A workload of a model of Hugging Face.  path: its config.json, or its folder.  Further arguments and exceptions as of `import_megatron`."""
    return _import_workload(lambda call: _importer("hf").read(call, os.fspath(path)), set=_sets(settings, overrides), platform=platform, gpus=gpus, batch=batch)


def import_slurm(topology: PathLike, *nccl: PathLike, settings: Settings = None, **overrides: Any) -> Platform:
    """A platform from Slurm's topology.conf or topology.yaml.  nccl: XML files of NCCL_TOPO_DUMP_FILE of its nodes, all alike.
    settings, overrides: keys of the platform.  Raises InputError with the places of all faults.  Source: Slurm, topology.conf(5); NVIDIA/nccl, src/graph."""
    def complete(call: Call) -> Any:
        draft = _importer("slurm").read(call, list(map(os.fspath, (topology, *nccl))))
        draft.complete()
        return draft.result("platform")

    return Platform.of("platform", *_perform("import", complete, set=_sets(settings, overrides)))  # type: ignore[no-any-return]


def import_nccl_tests(*paths: PathLike) -> Result:
    """Logs of nccl-tests as a Result: `rows`, a point each: system, op, ranks, nodes [count], bytes [B], time_us [us], busbw_gb_s [GB/s], in_place_time_us,
    in_place_busbw_gb_s (None: not measured); `keys`, what became of lines. `to_pandas("rows")` is the table where pandas is installed.
    Raises InputError for logs with wrong results or figures that contradict each other.  Source: NVIDIA/nccl-tests, src/common.cu."""
    module, source = _importer("nccl_tests"), _importer("source")
    (points, keys), said = _perform("import", lambda call: module.read_logs(call, list(map(os.fspath, paths))))
    return Result({"keys": list(map(source.row_of, keys)), "rows": module.table(points)}, messages=said)


def import_kineto(*paths: PathLike, steps: int = 1, against: Optional[PathLike] = None, settings: Settings = None, **overrides: Any) -> Result:
    """Traces of PyTorch's profiler, a file for each rank, as a Result with the keys of `import kineto --json`: `ranks`, `mean`, `steps`, `channels`,
    `collectives`, `kernels`, `shapes`, times in seconds; `to_pandas("kernels")` and others are tables where pandas is installed.

    steps: of a file without annotations ProfilerStep [count].  against: a workload that is simulated, with `settings` and `overrides`, and put beside (`against`).
    Raises InputError where a file is no such trace.  Source: pytorch/kineto, libkineto/src/output_json.cpp."""
    def work(call: Call) -> Any:
        trace = _importer("kineto").read(call, list(map(os.fspath, paths)), steps)
        return {**vars(trace), **({"against": _importer("kineto").beside(call, trace)} if against is not None else {})}

    tree, said = _perform("import", work, against=None if against is None else path_of(against), set=_sets(settings, overrides))
    return Result(plain(tree), messages=said)


def _export(kind: str, spec: Spec, settings: Settings, platform: Optional[str], overrides: Mapping[str, Any]) -> Exported:
    with file_of(spec) as path:
        done, said = _perform("export", lambda call: importlib.import_module("meshsim.tools.export").write(call, kind, path),
                              set=_sets(settings, overrides), platform=platform)
    found = Exported(done.text)
    found.unsaid, found.messages = [row._asdict() for row in done.unsaid], said
    return found


def export_megatron(spec: Spec, settings: Settings = None, *, platform: Optional[str] = None, **overrides: Any) -> Exported:
    """A workload as the arguments of Megatron-LM, a shell script. Arguments as of `run`.  `.unsaid`: what no argument says.
    Raises InputError where the workload is wrong or has no model.  Source: Megatron-LM, megatron.training.arguments."""
    return _export("megatron", spec, settings, platform, overrides)


def export_torchtitan(spec: Spec, settings: Settings = None, *, platform: Optional[str] = None, **overrides: Any) -> Exported:
    """A workload as torchtitan's job config, TOML. Arguments, result and exceptions as of `export_megatron`.  Source: torchtitan.config.job_config."""
    return _export("torchtitan", spec, settings, platform, overrides)


def export_deepspeed(spec: Spec, settings: Settings = None, *, platform: Optional[str] = None, **overrides: Any) -> Exported:
    """A workload as DeepSpeed's configuration, JSON. Arguments, result and exceptions as of `export_megatron`.  Source: deepspeed.runtime.config."""
    return _export("deepspeed", spec, settings, platform, overrides)
