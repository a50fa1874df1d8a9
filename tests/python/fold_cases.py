"""Layouts that folding meets, by sort: symmetric ones, and such whose groups nodes, leaves and pods cut unevenly."""

import json
import math
import random
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TOLERANCE = 1e-9
KINDS = ["1f1b", "gpipe", "interleaved", "looped_bfs", "zbh1", "zbh2", "zbv", "vhalf", "vmin", "dualpipe", "dualpipev", "chimera",
         "seq1f1b", "interleaved_flexible", "zb1p"]
CHOICES = [
    ("batch.micro", [1, 2]),
    ("model.ffn", [3000]),
    ("tensor_parallel.sequence", ["true"]),
    ("context_parallel.kind", ["ring", "all_gather", "all_to_all"]),
    ("data_parallel.zero", [1, 2, 3]),
    ("data_parallel.overlap_reduce", ["true"]),
    ("data_parallel.overlap_gather", ["true"]),
    ("model.projections", ["separate", "concatenated", "interleaved"]),
    ("model.loss_metrics", [2]),
    ("tensor_parallel.style", ["dtensor"]),
    ("data_parallel.update", ["separate", "operations"]),
    ("data_parallel.units", ["flat", "parameters"]),
    ("schedule.sends", ["blocking"]),
    ("schedule.step_end", ["post_validation"]),
    ("steps", [2]),
    ("host.launch", ["5 us", "30 us"]),
    ("platform.gpu.spread", [0.3]),
    ("collectives.algorithms.all_reduce", ["tree", "ring"]),
    ("platform.gpu.compute_slowdown", ["{all_reduce: 1.5, p2p: 1.1, all_gather: 1.2, reduce_scatter: 1.3}", 2]),
    ("fidelity", ["analytic", "step"]),
]


def mesh_of(source, most=128):
    """Sizes of the axes, of at most so many ranks."""
    while True:
        sizes = {"tp": source.choice([1, 2, 4, 8]), "pp": source.choice([1, 2, 2, 3, 4, 8]), "dp": source.choice([1, 2, 3, 4, 6, 8]),
                 "cp": source.choice([1, 1, 1, 2]), "ep": source.choice([1, 1, 1, 2, 4])}
        if 2 <= math.prod(sizes.values()) <= most:
            return sizes


def lay_out(source, platform, sizes, per_node=8, settings=()):
    """Settings of a job on nodes that it fills, its dp made a multiple of what is missing."""
    gpus = math.prod(sizes.values())
    sizes = dict(sizes)
    if gpus % per_node != 0:
        sizes["dp"] *= per_node // math.gcd(gpus, per_node)
    sets = {"platform.file": platform, "platform.nodes": math.prod(sizes.values()) // per_node, **dict(settings)}
    sets |= {f"mesh.{axis}": size for axis, size in sizes.items()}
    sets["mesh.order"] = f"[{', '.join(source.sample(list(sizes), len(sizes)))}]"
    return sets


def rails(nodes_per_unit, oversubscription=1):
    return {"platform.fabric.nodes_per_unit": nodes_per_unit, "platform.fabric.oversubscription": oversubscription}


def symmetric(source):
    return lay_out(source, source.choice(["dgx-h100", "dgx-a100", "flat"]), mesh_of(source))


def on_flat(source):
    return lay_out(source, "flat", mesh_of(source, 64), per_node=1)


def oversubscribed_4(source):
    return lay_out(source, "dgx-h100", mesh_of(source), settings=rails(source.choice([1, 2, 3, 4]), 4))


def oversubscribed_7(source):
    settings = {"platform.fabric.nodes_per_unit": source.choice([1, 2]), "platform.fabric.units_per_pod": source.choice([1, 2, 3])}
    return lay_out(source, "meta-roce-h100", mesh_of(source), settings=settings)


def straddling_leaves(source):
    return lay_out(source, source.choice(["dgx-h100", "hypothetical-two-tier"]), mesh_of(source),
                   settings=rails(source.choice([2, 3, 5]), source.choice([1, 2, 4])))


def unequal_groups(source):
    """Nodes of a number of GPUs that the groups' sizes do not divide."""
    per_node = source.choice([3, 5, 6, 7, 12])
    sizes = mesh_of(source, 48)
    sets = lay_out(source, "dgx-a100", sizes, per_node)
    return sets | {"platform.node.gpus": per_node, "platform.node.nics": source.choice([1, per_node])}


def odd_nodes(source):
    """An odd number of nodes, pp innermost."""
    sizes = {"tp": source.choice([1, 2, 4]), "pp": source.choice([2, 3, 4]), "dp": source.choice([3, 5, 7, 9]), "cp": 1, "ep": 1}
    sets = lay_out(source, source.choice(["dgx-h100", "dgx-a100"]), sizes)
    return sets | {"mesh.order": "[dp, ep, cp, tp, pp]"}


def ecmp(source):
    return lay_out(source, source.choice(["dgx-h100", "hypothetical-two-tier"]), mesh_of(source),
                   settings={**rails(source.choice([1, 2, 4]), source.choice([1, 2])), "platform.routing": "ecmp",
                             "platform.routing_seed": source.randrange(1, 9)})


def torus(source):
    return lay_out(source, "tpu-v4", mesh_of(source, 64), per_node=4,
                   settings={"platform.fabric.shape": source.choice(["[4, 4, 4]", "[2, 2, 4]", "[4, 4]"])})


def experts(source):
    sets = lay_out(source, "dgx-h100", mesh_of(source), settings=rails(source.choice([1, 2, 32]), source.choice([1, 2])))
    sets |= {"model.moe": source.choice(["{experts: 8, top_k: 2, shared_experts: 1}", "{experts: 8, top_k: 1, imbalance: {spread: 0.5}}"])}
    if source.random() < 0.5:
        sets["model.moe.overlap"] = "shared"
    return sets


def expert_mesh(source):
    sizes = mesh_of(source) | {"ep": 1, "cp": 1}
    sets = lay_out(source, "dgx-h100", sizes, settings=rails(source.choice([1, 2, 32])))
    sets.pop("mesh.ep")
    sets |= {"mesh.order": "[pp, dp, cp, tp]", "model.moe": "{experts: 16, top_k: 2}",
             "expert_mesh.ep": source.choice([2, 4, 8, 16]), "expert_mesh.tp": source.choice([1, 1, 2])}
    return sets


def sharded(source):
    sets = lay_out(source, "dgx-h100", mesh_of(source), settings=rails(source.choice([1, 2, 4]), source.choice([1, 2])))
    return sets | {"data_parallel.zero": 3, "data_parallel.overlap_gather": source.choice(["true", "false"]),
                   "data_parallel.overlap_reduce": source.choice(["true", "false"]),
                   "data_parallel.gather_stages": source.choice([1, 2, 0])}


def spares(source):
    """More nodes than the job needs, some left out, some in another order."""
    sets = lay_out(source, "dgx-h100", mesh_of(source), settings=rails(source.choice([2, 4]), source.choice([1, 4])))
    needed = sets["platform.nodes"]
    sets["platform.nodes"] = needed + source.choice([1, 2, 3])
    chosen = source.sample(range(sets["platform.nodes"]), needed)
    sets["placement"] = source.choice([f"{{nodes: {chosen}}}", f"{{nodes: {sorted(chosen)}}}", f"{{nodes: {chosen}, order: [gpu, node]}}"])
    return sets


def schedules(source):
    sets = lay_out(source, source.choice(["dgx-h100", "hypothetical-two-tier"]), mesh_of(source) | {"pp": source.choice([2, 4])},
                   settings=rails(source.choice([1, 2, 4]), source.choice([1, 2])))
    sets["schedule.kind"] = source.choice(KINDS)
    return sets


SORTS = [symmetric, on_flat, oversubscribed_4, oversubscribed_7, straddling_leaves, unequal_groups, odd_nodes, ecmp, torus, experts,
         expert_mesh, sharded, spares, schedules, schedules]


def complete(source, sets):
    """What else the job needs, and a few choices that folding has nothing to do with."""
    pp = sets["mesh.pp"]
    sets |= {"model.vocab": source.choice([0, 32000]), "tensor_parallel.allow_slow": "true"}
    for key, values in source.sample(CHOICES, source.randrange(0, 5)):
        sets.setdefault(key, source.choice(values))
    kind = sets.get("schedule.kind", "1f1b")
    if kind in ("interleaved", "looped_bfs", "interleaved_flexible"):
        sets["schedule.v"] = 2
    if kind == "seq1f1b":
        sets["schedule.splits"] = 2
    sets["model.layers"] = 2 * pp
    if sets.get("mesh.ep", 1) > 1:
        sets.setdefault("model.moe", "{experts: 8, top_k: 2}")
    if "model.moe" in sets:
        sets["model.bias"] = "false"
    if "data_parallel.overlap_gather" in sets:
        sets.setdefault("data_parallel.zero", 1)
    replicas = sets["mesh.dp"] * sets.get("mesh.ep", 1)
    sets["batch.global"] = replicas * int(sets.get("batch.micro", 1)) * source.choice([1, 2]) * 2 * pp
    return sets


def large(platform, nodes, order="[pp, dp, ep, cp, tp]", settings=(), **axes):
    """Settings of a job on a large cluster, two layers a stage, two microbatches for each of them."""
    sizes = {"tp": 8, "pp": 1, "cp": 1, "ep": 1} | axes
    sets = {"platform.file": platform, "platform.nodes": nodes, "mesh.order": order, "tensor_parallel.allow_slow": "true"}
    sets |= {f"mesh.{axis}": size for axis, size in sizes.items()}
    sets |= {"model.layers": 2 * sizes["pp"], "batch.global": 2 * sizes["pp"] * sizes["dp"] * sizes["ep"]}
    return sets | dict(settings)


# of 8,192 ranks and more, of which one in eight is enough; with ECMP's hashes no two ranks are alike
EXPERTS = {"model.moe": "{experts: 64, top_k: 2}", "model.bias": "false"}
LARGE = {
    "symmetric": large("dgx-h100", 1024, pp=8, dp=128),
    "oversubscribed_4": large("dgx-h100", 1024, pp=8, dp=128, settings={"platform.fabric.oversubscription": 4}),
    "oversubscribed_7": large("meta-roce-h100", 1024, pp=4, dp=256),
    "straddling_leaves": large("dgx-h100", 1152, pp=4, dp=288, settings=rails(36, 2)),
    "odd_nodes": large("dgx-h100", 1025, pp=5, dp=205),
    "unequal_groups": large("dgx-a100", 1366, tp=4, dp=2049, settings={"platform.node.gpus": 6, "platform.node.nics": 6}),
    "torus": large("tpu-v4", 2048, tp=4, pp=4, dp=512, settings={"platform.fabric.shape": "[16, 16, 32]"}),
    "experts": large("dgx-h100", 1024, tp=1, pp=8, dp=16, ep=64, settings=EXPERTS),
    "expert_mesh": large("dgx-h100", 1024, tp=2, pp=8, dp=512, settings=EXPERTS | {"expert_mesh.ep": 64, "expert_mesh.tp": 1,
                                                                                   "tensor_parallel.sequence": "true"}),
    "sharded": large("dgx-h100", 1024, dp=1024, settings={"data_parallel.zero": 3}),
    "spares": large("dgx-h100", 1030, pp=8, dp=128, settings={"placement": f"{{nodes: {[*range(3, 515), *range(518, 1030)]}}}"}),
    "interleaved": large("dgx-h100", 1024, pp=8, dp=128, settings={"schedule.kind": "interleaved", "schedule.v": 2}),
    "zbv": large("dgx-h100", 1024, pp=8, dp=128, settings={"schedule.kind": "zbv"}),
    "pp_innermost": large("dgx-h100", 1024, "[dp, ep, cp, tp, pp]", pp=16, dp=64),
}
LARGE_SHARE = 8  # at most one rank of so many is simulated


def words_of_large(name):
    """At granularity `pass` and with the quicker solver, as every rank is simulated to compare."""
    return [*words_of(LARGE[name]), "--granularity", "pass", "--solver", "maxmin"]


def words_of(sets):
    words = ["--fidelity", sets["fidelity"]] if "fidelity" in sets else []
    return words + [word for key, value in sets.items() if key != "fidelity" for word in ("--set", f"{key}={value}")]


def fold_case(seed, number):
    """Sort and words of case `number`, which does not depend on the others; three in four are legal."""
    source = random.Random(f"fold {seed} {number}")
    sort = SORTS[number % len(SORTS)]
    return sort.__name__, words_of(complete(source, sort(source)))


def simulate(program, words):
    """The result, None where the job is refused."""
    command = [program, "run", "workloads/tiny.yaml", "--json", "--ignore-memory", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=600)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"exit {done.returncode}: {' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def figures(value):
    """What folding must not change: times, shares of the step, bytes and waiting, memory, each relative to what it is a part of."""
    step_s = value["step_time_s"]
    yield "step_time_s", step_s, step_s
    yield "compute_slowdown", value["compute_slowdown"], 1.0
    for name, share in value["time_share"].items():
        yield f"time_share.{name}", share, 1.0
    for axis, use in value["comm"].items():
        for name in (name for name in use if name.endswith("_s")):
            yield f"comm.{axis}.{name}", use[name], step_s
    for name, tier in value["tiers"].items():
        yield f"tiers.{name}.bytes", tier["bytes"], max(tier["bytes"], 1e-300)
    for stage in value["stages"]:
        yield f"stages[{stage['pp_rank']}].compute_s", stage["compute_s"], step_s
    yield "memory.peak_B", value["memory"]["peak_B"], value["memory"]["peak_B"]


def differences(value, other):
    """Figures of a result that are not those of another, with how far they are apart."""
    others = {name: figure for name, figure, _ in figures(other)}
    far = {name: (figure - others[name]) / scale for name, figure, scale in figures(value)}
    return {name: share for name, share in far.items() if not abs(share) <= TOLERANCE}


def bounds(program, words):
    """(least, step of every rank, most), None for what is refused or exact all the same."""
    bounded = simulate(program, [*words, "--fold", "bounded"])
    if bounded is None or bounded["engine"]["fold_exact"]:
        return None
    least_s, most_s = bounded["step_time_bounds_s"]
    return least_s, simulate(program, [*words, "--fold", "off"])["step_time_s"], most_s


def compare(program, words):
    """(folded, every rank, differences), None for what is refused. A step that is not said to be exact differs where it is out of its bounds."""
    folded = simulate(program, words)
    if folded is None:
        return None
    every = simulate(program, [*words, "--no-fold"])
    if folded["engine"]["fold_exact"]:
        return folded, every, differences(folded, every)
    least_s, most_s = folded["step_time_bounds_s"]
    step_s = every["step_time_s"]
    is_inside = least_s * (1 - TOLERANCE) <= step_s <= most_s * (1 + TOLERANCE)
    return folded, every, {} if is_inside else {"step_time_bounds_s": (most_s - least_s) / step_s}
