"""Jobs of many microbatches, and what differs where those that repeat are counted."""

import json
import math
import random
import re
import subprocess
from collections import namedtuple

from fold_cases import ROOT, complete, fold_case, lay_out, words_of

# Of its own size, or of the step for times that are nothing but rounding.
TOLERANCE = 1e-9
ROUNDING = 1e-12
HOW = {"engine.wall_s", "engine.peak_rss_B", "engine.fast_forwarded", "engine.attempted_ops", "engine.ops", "engine.flows"}

Comparison = namedtuple("Comparison", "counted differences cost")
# The search for a period ends the comparison of streams that it is in when its limit is reached: in jobs of many ranks and few
# operations it may pass the limit by so many operations.
SEARCH_OPS = 16


def long_case(seed, number):
    """Words of case `number`: a job of fold_cases.py with more microbatches, of one step."""
    source = random.Random(f"fast-forward {seed} {number}")
    more = source.choice([10, 16, 24])
    _, words = fold_case(seed, number)
    words = [re.sub(r"^batch\.global=(\d+)$", lambda found: f"batch.global={int(found.group(1)) * more}", word) for word in words]
    if "steps=2" in words:
        at = words.index("steps=2")
        del words[at - 1 : at + 1]
    words += source.choice([[], ["--granularity", "pass"]]) + source.choice([[], [], [], ["--no-fold"]])
    return ["workloads/tiny.yaml", *words]


def lone_case(seed, number):
    """Words of case `number`: 1F1B or interleaved, a replica by itself (or replicas that share no link), nothing that rules counting out."""
    source = random.Random(f"lone {seed} {number}")
    sizes = {"tp": source.choice([1, 2, 4, 8]), "pp": source.choice([2, 3, 4, 6, 8]), "dp": 1, "cp": 1, "ep": 1}
    fidelity = source.choice(["flow", "flow", "step", "analytic"])
    if fidelity == "analytic":
        sizes["dp"] = source.choice([1, 2, 3])
    platform, per_node = source.choice([("flat", 1), ("dgx-a100", sizes["tp"]), ("dgx-a100", sizes["tp"] * sizes["pp"] * sizes["dp"])])
    nodes = {"platform.node.gpus": per_node, "platform.node.nics": source.choice([1, per_node])} if platform != "flat" else {}
    sets = complete(source, lay_out(source, platform, sizes, per_node, nodes))
    for key in ("steps", "host.launch", "schedule.step_end", "schedule.sends"):
        sets.pop(key, None)
    kind = source.choice(["1f1b", "interleaved"])
    sets |= {"schedule.kind": kind, "fidelity": fidelity, "model.layers": 2 * sizes["pp"]}
    sets |= {"schedule.v": 2} if kind == "interleaved" else {}
    sets["batch.global"] = sets["mesh.dp"] * int(sets.get("batch.micro", 1)) * sizes["pp"] * source.choice([24, 32, 48])
    return ["workloads/tiny.yaml", *words_of(sets), *source.choice([[], ["--granularity", "pass"]]), *source.choice([[], ["--no-fold"]])]


def sharded_case(seed, number):
    """Words of case `number`: replicas that share their parameters, which the order gathers and frees stage by stage."""
    source = random.Random(f"sharded {seed} {number}")
    sizes = {"tp": source.choice([1, 1, 2, 4]), "pp": source.choice([2, 2, 3, 4]), "dp": source.choice([2, 3, 4]), "cp": 1, "ep": 1}
    platform, per_node = source.choice([("flat", 1), ("dgx-a100", sizes["tp"]), ("dgx-a100", math.prod(sizes.values()))])
    nodes = {"platform.node.gpus": per_node, "platform.node.nics": source.choice([1, per_node])} if platform != "flat" else {}
    sets = complete(source, lay_out(source, platform, sizes, per_node, nodes))
    for key in ("steps", "schedule.step_end", "data_parallel.overlap_gather", "data_parallel.keep_parameters", "tensor_parallel.sequence"):
        sets.pop(key, None)
    kind = source.choice(["1f1b", "interleaved", "interleaved_torch", "interleaved_flexible", "zbh1", "zbv", "vhalf", "dualpipev", "dualpipe"])
    sets |= {"schedule.kind": kind, "model.layers": 6 * sizes["pp"], "data_parallel.zero": 3}
    sets |= {"schedule.v": source.choice([2, 3])} if kind.startswith("interleaved") else {}
    sets |= {"data_parallel.gather_stages": source.choice([1, 2, 2, 3, 4]), "data_parallel.reduce": source.choice(["last", "last", "every"])}
    sets["batch.global"] = sets["mesh.dp"] * int(sets.get("batch.micro", 1)) * sizes["pp"] * source.choice([12, 24, 32])
    return ["workloads/tiny.yaml", *words_of(sets), *source.choice([[], ["--granularity", "pass"]]), *source.choice([[], ["--no-fold"]])]


def hosted_case(seed, number):
    """Words of case `number`: one of the above, whose hosts take time to launch kernels, much or little beside what these take."""
    source = random.Random(f"hosted {seed} {number}")
    words = source.choice([lone_case, lone_case, long_case])(seed, number)
    launch = source.choice(["0.3 us", "1 us", "3 us", "8 us", "20 us", "55 us", "200 us"])
    syncs = source.choice([[], [], ["messages"], ["batch"], ["experts"], ["norm"], ["messages", "norm", "batch"], ["kernels"]])
    return [*words, "--set", f"host.launch={launch}", "--set", f"host.sync=[{', '.join(syncs)}]"]


def stepped_case(seed, number):
    """Words of case `number`: one of the above, of several steps."""
    source = random.Random(f"stepped {seed} {number}")
    words = source.choice([lone_case, lone_case, long_case, sharded_case, hosted_case])(seed, number)
    return [*words, "--set", f"steps={source.choice([2, 3, 4])}"]


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
    """How many microbatches were counted, the figures that differ from those of a whole simulation, and the operations that the run cost
    for each of the whole simulation; None: a job is refused.

    Where none were counted the whole was simulated, and attempts before it change no bit of it.
    """
    whole = result(program, [*words, "--no-fast-forward"])
    if whole is None:
        return None
    counted = result(program, words)
    one, other = dict(figures(whole)), dict(figures(counted))
    scale = {"_s": whole["step_time_s"], "share": 1.0, "parts": 1.0, "fraction": 1.0, "slowdown": 1.0}
    far = {path: (one.get(path), other.get(path)) for path in one.keys() ^ other.keys()}
    for path in one.keys() & other.keys():
        part = next((size for word, size in scale.items() if path.endswith("_s") or (word != "_s" and word in path)), 0.0)
        is_same = is_near(one[path], other[path], ROUNDING * part) if counted["engine"]["fast_forwarded"] else one[path] == other[path]
        if not is_same:
            far[path] = (one[path], other[path])
    engine = counted["engine"]
    cost = engine["attempted_ops"] + (0 if engine["fast_forwarded"] else engine["ops"])
    return Comparison(engine["fast_forwarded"], far, (cost - SEARCH_OPS) / whole["engine"]["ops"])
