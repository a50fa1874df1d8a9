"""Jobs of many microbatches, and what differs where those that repeat are counted."""

import json
import random
import re
import subprocess
from collections import namedtuple

from fold_cases import ROOT, fold_case

# Of its own size, or of the step for times that are nothing but rounding.
TOLERANCE = 1e-9
ROUNDING = 1e-12
HOW = {"engine.wall_s", "engine.peak_rss_B", "engine.fast_forwarded", "engine.ops", "engine.flows"}

Comparison = namedtuple("Comparison", "counted differences")


def long_case(seed, number):
    """Words of case `number`: a job of fold_cases.py with more microbatches, of one step."""
    source = random.Random(f"fast-forward {seed} {number}")
    more = source.choice([5, 8, 12])
    _, words = fold_case(seed, number)
    words = [re.sub(r"^batch\.global=(\d+)$", lambda found: f"batch.global={int(found.group(1)) * more}", word) for word in words]
    if "steps=2" in words:
        at = words.index("steps=2")
        del words[at - 1 : at + 1]
    words += source.choice([[], ["--granularity", "pass"]]) + source.choice([[], [], [], ["--no-fold"]])
    return ["workloads/tiny.yaml", *words]


def kind_of(words):
    """Schedule of a case."""
    return next((word.partition("=")[2] for word in words if word.startswith("schedule.kind=")), "1f1b")


def result(program, words):
    """The result, None where the job is refused."""
    command = [program, "run", "--json", "--ignore-memory", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=600)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"exit {done.returncode}: {' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def figures(value, path=""):
    """Every number and word of a result by its path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from figures(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from figures(inner, f"{path}[{i}]")
    elif path not in HOW:
        yield path, value


def is_near(one, other, least):
    if any(isinstance(value, (str, bool, type(None))) for value in (one, other)):
        return one == other
    return abs(one - other) <= max(TOLERANCE * max(abs(one), abs(other)), least)


def compare(program, words):
    """How many microbatches were counted, and the figures that differ from those of a whole simulation; None: a job is refused."""
    whole = result(program, [*words, "--no-fast-forward"])
    if whole is None:
        return None
    counted = result(program, words)
    one, other = dict(figures(whole)), dict(figures(counted))
    scale = {"_s": whole["step_time_s"], "share": 1.0, "parts": 1.0, "fraction": 1.0, "slowdown": 1.0}
    far = {path: (one.get(path), other.get(path)) for path in one.keys() ^ other.keys()}
    for path in one.keys() & other.keys():
        part = next((size for word, size in scale.items() if path.endswith("_s") or (word != "_s" and word in path)), 0.0)
        if not is_near(one[path], other[path], ROUNDING * part):
            far[path] = (one[path], other[path])
    return Comparison(counted["engine"]["fast_forwarded"], far)
