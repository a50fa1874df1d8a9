"""From arguments of Megatron-LM to keys of a workload: the parts of a translation in their order."""

from __future__ import annotations

from typing import List, Optional

from .megatron_arguments import Software, Tables
from .megatron_mesh import set_batch, set_mesh, set_schedule
from .megatron_model import set_experts, set_model
from .megatron_run import Argument, Facts, Job, Run
from .megatron_state import set_data, set_host, set_memory, set_precision, set_recompute

PARTS = (set_model, set_experts, set_mesh, set_schedule, set_batch, set_precision, set_data, set_memory, set_recompute, set_host)


def translate(arguments: List[Argument], tables: Tables, facts: Facts = Facts(), software: Optional[Software] = None) -> Job:
    """Say arguments as keys of a workload, and of each argument what became of it (its use, why and effect are set).

    The last argument of a name counts.  software: whose arguments they are; None: by their names.  Errors are the job's faults."""
    run = Run(arguments, tables, facts, software)
    run.classify()
    run.choose_framework()
    for part in PARTS:
        part(run)
    run.close()
    return run.job
