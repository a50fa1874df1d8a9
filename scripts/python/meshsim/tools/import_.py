"""`meshsim import KIND FILE...`: files of other software as workloads, platforms and tables. Each kind is a module of `importers` with KIND and `run`."""

from __future__ import annotations

import importlib

from ._call import Call
from ._describe import JSON, Command, Option, module_of

COMMAND = Command(
    "make a workload, a platform or a table of what other software has", "KIND FILE...", 2, 1000,
    "{kinds} What a source does not say, such as the platform, stands in the file as a comment that begins with 'required:', inside a mapping as 'required'; "
    "--platform, --gpus, --batch and --set give it.\n"
    "Tells on stderr, and in --json, of each of the source's keys (of a log, of each sort of lines) whether it is used, assumed, ignored (and why) or unknown.",
    "meshsim import hf config.json --platform dgx-h100 --gpus 64 --batch 256 -o workload.yaml",
    (Option("output", "write what was made there, '-' for standard output", "FILE", letter="o", fallback="-", writes=".yaml or .csv"),
     Option("quiet", "do not tell what became of each of the source's keys"), JSON),
    kinds="importers")


def run(call: Call) -> int:
    """Import by the kind that the first argument names."""
    code: int = importlib.import_module(f"meshsim.tools.importers.{module_of(call.arguments.pop(0))}").run(call) or 0
    return code
