"""`meshsim import KIND FILE...`: files of other software as workloads, platforms and tables. Each kind is a module of `importers`."""

from __future__ import annotations

import importlib

from ._call import Call


def run(call: Call) -> int:
    """Import by the kind that the first argument names."""
    kind = call.arguments.pop(0).replace("-", "_")
    code: int = importlib.import_module(f"meshsim.tools.importers.{kind}").run(call) or 0
    return code
