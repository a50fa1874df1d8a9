"""Readers of other software's files, a module for each kind: its `run` is the command's, its `read` is for use from Python."""
