"""The trees of a trace: /summary and /whatif, each a text of JSON in a dataset."""

import json


def tree(trace, name="summary"):
    """The tree under a name of an open h5py.File."""
    return json.loads(trace[name][()])


def put_tree(trace, value, name="summary"):
    """Put another tree, or a text, in its place."""
    if name in trace:
        del trace[name]
    trace[name] = value if isinstance(value, str) else json.dumps(value)


def change_tree(trace, change, name="summary"):
    """Let change(tree) alter it."""
    value = tree(trace, name)
    change(value)
    put_tree(trace, value, name)
