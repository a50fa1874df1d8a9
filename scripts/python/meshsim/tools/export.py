"""`meshsim export`: workloads as files of other software.

An exporter says what it can of a job in the words of other software, and tells of every key that these words leave unsaid: with the value it has in the job,
the one it has there, and the reason. A kind is a module of `exporters` with KIND, SOFTWARE (whose file it is), HAS_COMMENTS (whether the file itself says what it
leaves unsaid) and `write(job)`; one that takes a trace has `write_from_file(call, path)` in its place.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from meshsim.tools._call import Call, check_targets, print_json, write_file
from meshsim.tools._describe import JSON, PLATFORM, SET, Command, Option
from meshsim.tools.exporters._compare import Exported
from meshsim.tools.exporters._job import read_job

COMMAND = Command(
    "say a workload, or a trace, in the words of other software", "KIND WORKLOAD.yaml", 2, 2,
    "{kinds} Keys that the other software has no words for stand in the file as comments (of JSON on stderr), each with its value, what that software does instead, and "
    "why; in --json under 'unsaid'. These are found by reading the file back as 'import' does, so that what is not listed comes back as it is. Takes what 'search' writes, too.",
    "meshsim export megatron workloads/tiny.yaml -o train.sh",
    (Option("output", "write the file there, '-' for standard output", "FILE", letter="o", fallback="-", writes=".sh, .toml, .json or .csv"), PLATFORM, SET,
     Option("quiet", "do not tell what the file leaves unsaid"), JSON),
    kinds="exporters")


def write(call: Call, kind: str, workload: str) -> Exported:
    """Say a workload in the words of other software.  kind: the name of one.  workload: its file; the call's options `platform` and `set` change it.
    Raises Fault, what is wrong told, where the program refuses the workload, or where it has given costs and no model."""
    module = _module(kind)
    if hasattr(module, "write_from_file"):  # of a trace, which no option changes
        for option in ("platform", "set"):
            if call.has(option):
                call.refuse(f"'--{option}' changes a workload; 'export {kind}' takes a trace")
        return module.write_from_file(call, workload)
    return module.write(read_job(call, workload, module.SOFTWARE))


def run(call: Call) -> None:
    """The command."""
    kind, workload = call.arguments
    has_json = call.has("json")
    path = call.value("output", None if has_json else "-")
    check_targets(call, "output")
    exported = write(call, kind, workload)
    if not call.has("quiet") and not _module(kind).HAS_COMMENTS:
        _tell(call, exported, _module(kind).SOFTWARE)
    if path is not None:
        write_file(call, path, exported.text)
    if has_json:
        print_json(call, {"kind": kind, "unsaid": [row._asdict() for row in exported.unsaid], "text": exported.text})


def _module(kind: str) -> ModuleType:
    return importlib.import_module(f"meshsim.tools.exporters.{kind}")


def _tell(call: Call, exported: Exported, software: str) -> None:
    """A file that cannot hold comments leaves this to the terminal."""
    for row in exported.unsaid:
        instead = f" ({software}: {row.instead})" if row.instead else ""
        value = f"{row.value}{instead}, " if row.value or instead else ""
        call.talk.note(f"{row.key}: {value}not said: {row.why}")
