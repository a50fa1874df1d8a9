"""Readers of other software's files, a module for each kind: its KIND says what the command takes, its `run` is the command's, its `read` is for use from Python."""

from .._describe import Option

SET = Option("set", "give the file, or the workload of --against, a key, in the place of what it says", "key.path=value", repeatable=True, takes="workload key")
FILLS = (Option("platform", "platform file, or the name of one, where the source names none", "P.yaml"),
         Option("gpus", "GPUs of it; where the source has no mesh, each is a replica, from which 'search' goes on", "N", fallback="all of the platform"),
         Option("batch", "sequences per step, where the source does not say", "N"), SET)
"""of kinds that give a workload"""
DIFFERENCES = Option("accept-differences", "exit with 0 also if memory or time of the source's run differ from what is simulated")
