"""meshsim from Python: a training step on a GPU cluster that may not exist yet, simulated.

    import meshsim
    result = meshsim.run("workloads/tiny.yaml", mesh__tp=4, mesh__dp=1)
    print(result["step_time_s"], result["time_share"])

Everything is computed by the installed library (libmeshsim.so), in worker processes that are started anew and never forked from this one.
Quantities have their unit at the end of their name: _s seconds, _B bytes, _Bps bytes per second. The keys are those of `meshsim run --json`.
"""

from . import plot
from ._calls import check, collective, command, compare, estimate, report, run, run_many, schedule, search, sweep, validate
from ._errors import (BugError, Diagnostic, FileError, InputError, Interrupted, LibraryError, MeshsimError, UsageError,
                      WorkerError)
from ._files import (Exported, Platform, Workload, export_deepspeed, export_megatron, export_torchtitan, import_deepspeed, import_hf, import_kineto,
                     import_megatron, import_nccl_tests, import_slurm)
from ._result import Result
from ._workers import shut_down

__version__ = "0.1.0"

__all__ = ["BugError", "Diagnostic", "Exported", "FileError", "InputError", "Interrupted", "LibraryError", "MeshsimError", "Platform", "Result",
           "UsageError", "WorkerError", "Workload", "check", "collective", "command", "compare", "estimate", "export_deepspeed", "export_megatron",
           "export_torchtitan", "import_deepspeed", "import_hf", "import_kineto", "import_megatron", "import_nccl_tests", "import_slurm", "plot", "report", "run",
           "run_many", "schedule", "search", "shut_down", "sweep", "validate"]
