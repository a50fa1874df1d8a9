"""Measured steps made by hand, and a second implementation of their replay, from the published equations alone, for tests of `meshsim replay`.

Times are whole picoseconds. A node is (kind, number, stage); a table is a list of rows (step, dp, stage, kind, number, microbatch, start, duration).
"""

import random
import statistics
from collections import defaultdict

PASSES = ("forward-compute", "backward-compute")
MESSAGES = ("forward-send", "forward-recv", "backward-send", "backward-recv")
TAIL = ("gc", "layernorm-grads-all-reduce", "embedding-grads-all-reduce", "grads-reduce-scatter", "optimizer-clip-main-grad", "optimizer")
LONELY = PASSES + ("gc", "layernorm-grads-all-reduce", "optimizer")
MEAN = PASSES + ("gc", "optimizer")
ACROSS = ("params-all-gather", "grads-reduce-scatter", "optimizer-clip-main-grad")
HEAD = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc"
LIMIT = -10 ** 10


def seconds(ps):
    """A time as the table has it, to the picosecond."""
    sign, ps = ("-", -ps) if ps < 0 else ("", ps)
    return f"{sign}{ps // 10 ** 12}.{ps % 10 ** 12:012d}"


def write(table, stages):
    """The text of a table."""
    lines = [HEAD]
    for step, dp, stage, kind, number, mb, start, duration in table:
        of_pass = (0, mb, stage) if kind in PASSES else (-1, -1, -1)
        lines.append(f"{dp},{stage},{dp * stages + stage},{step},{kind},{seconds(start)},{seconds(duration)},{number},{of_pass[0]},{of_pass[1]},{of_pass[2]}")
    return "\n".join(lines) + "\n"


def passes_of(stage, stages, microbatches):
    """The passes of a stage in 1F1B, as (kind, microbatch)."""
    warm = min(stages - 1 - stage, microbatches)
    order = [(PASSES[0], mb) for mb in range(warm)]
    for mb in range(microbatches):
        if warm + mb < microbatches:
            order.append((PASSES[0], warm + mb))
        order.append((PASSES[1], mb))
    return order


class Graph:
    """What waits for what, and who meets whom, without the rules that are left out."""

    def __init__(self, stages, microbatches, has_ends=True, without=()):
        self.waits = defaultdict(list)
        self.meetings = []
        self.nodes = []
        self.stages, self.microbatches, self.without = stages, microbatches, without
        for stage in range(stages):
            self.add_worker(stage, has_ends)
        for s in range(stages - 1):
            for mb in range(microbatches):
                self.meetings.append([("forward-send", mb, s), ("forward-recv", mb, s + 1)])
                self.meetings.append([("backward-send", mb, s + 1), ("backward-recv", mb, s)])
        if has_ends and stages > 1 and "embedding" not in without:
            self.meetings.append([("embedding-grads-all-reduce", 0, s) for s in (0, stages - 1)])
        if has_ends and "clip" not in without:
            self.meetings.append([("optimizer-clip-main-grad", 0, s) for s in range(stages)])
        self.meeting_of = {node: meeting for meeting in self.meetings for node in meeting}

    def add_worker(self, stage, has_ends):
        last, without = self.stages - 1, self.without
        order = [(kind, mb, stage) for kind, mb in passes_of(stage, self.stages, self.microbatches)]
        head = ("params-all-gather", 0, stage)
        tail = [(kind, 0, stage) for kind in TAIL if kind != "embedding-grads-all-reduce" or stage in (0, last)]
        if "tail" in without:
            reduce = tail.pop([kind for kind, _, _ in tail].index("grads-reduce-scatter"))
            tail.insert(1, reduce)
        chain = ([head] if has_ends else []) + order + (tail if has_ends else [])
        self.nodes += chain
        for before, node in zip(chain, chain[1:]):
            self.waits[node].append(before)
        for direction, kind, neighbour in (("forward", PASSES[0], stage < last), ("backward", PASSES[1], stage > 0)):
            sends = [(f"{direction}-send", mb, stage) for mb in range(self.microbatches)] if neighbour else []
            recvs = [(f"{direction}-recv", mb, stage) for mb in range(self.microbatches)] if (stage > 0 if direction == "forward" else stage < last) else []
            for mb, send in enumerate(sends):
                self.waits[send].append((kind, mb, stage))
            for mb, recv in enumerate(recvs):
                self.waits[kind, mb, stage].append(recv)
                if mb > 0 and "posted" not in without:
                    self.waits[recv].append((kind, mb - 1, stage))
            for chained in (sends, recvs):
                self.nodes += chained
                for before, node in zip(chained, chained[1:]):
                    if "streams" not in without:
                        self.waits[node].append(before)
            first = [kind for kind, _, _ in order].index(PASSES[1])
            if direction == "backward" and first >= 2 and "first_backward" not in without:
                for chained in (sends, recvs):
                    self.waits[chained[0] if chained else None].append(order[first - 2])

    def play(self, dps, own, delay):
        """Begins and ends by (node, dp), where each has its own time and delay (functions of both)."""
        begins, ends = {}, {}

        def members(node, dp):
            nodes = self.meeting_of.get(node, [node])
            return [(n, d) for n in nodes for d in (range(dps) if node[0] in ACROSS and "replicas" not in self.without else [dp])]

        def ready(node, dp):
            return all((before, dp) in ends for before in self.waits[node])

        left = [(node, dp) for node in self.nodes for dp in range(dps)]
        while left:
            later = []
            for node, dp in left:
                if (node, dp) in ends:
                    continue
                group = members(node, dp)
                if not all(ready(*member) for member in group):
                    later.append((node, dp))
                    continue
                for n, d in group:
                    begins[n, d] = max((ends[before, d] for before in self.waits[n]), default=0) + delay(n, d)
                start = max(begins[member] for member in group)
                for member in group:
                    ends[member] = (begins[member] if node[0] in LONELY else start) + own(*member)
            assert len(later) < len(left), later
            left = later
        return begins, ends


def make(stages, microbatches, dps, steps, own, delay=lambda step, node, dp: 0, has_ends=True):
    """A table of steps in which each operation has its own time and delay."""
    graph, table = Graph(stages, microbatches, has_ends), []
    for step in steps:
        begins, ends = graph.play(dps, lambda node, dp: own(step, node, dp), lambda node, dp: delay(step, node, dp))
        table += [(step, dp, node[2], node[0], node[1], node[1], begins[node, dp], ends[node, dp] - begins[node, dp]) for node, dp in begins]
    return table


def noisy(seed):
    """Own times and delays that differ everywhere: a slow worker, a slow last stage, noise. Returns both as `make` takes them."""
    source = random.Random(seed)
    kept = {}

    def own(step, node, dp):
        kind, _, stage = node
        base = {"forward-compute": 10 ** 11, "backward-compute": 2 * 10 ** 11, "optimizer": 4 * 10 ** 10, "gc": 0}.get(kind, 10 ** 10)
        base = base * 3 // 2 if kind in PASSES and stage >= 2 else base * 5 // 4 if (dp, stage) == (1, 1) else base
        return kept.setdefault((step, node, dp), int(base * source.uniform(0.9, 1.2)))

    def delay(step, node, dp):
        return kept.setdefault((step, node, dp, "delay"), int(source.uniform(0, 2e9)))
    return own, delay


class Study:
    """What the published equations say of a table."""

    def __init__(self, table, stages, microbatches, dps, has_ends=True, without=()):
        self.graph, self.dps, self.without = Graph(stages, microbatches, has_ends, without), dps, without
        self.steps = sorted({row[0] for row in table})
        starts = {(row[0], (row[3], row[4], row[2]), row[1]): row[6] for row in table}
        ends = {(row[0], (row[3], row[4], row[2]), row[1]): row[6] + row[7] for row in table}
        self.base = {s: max(e for k, e in ends.items() if k[0] == s) - min(e for k, e in starts.items() if k[0] == s) for s in self.steps}
        self.own, self.delay = {}, {}
        for (step, node, dp), start in starts.items():
            group = [(n, d) for n in self.graph.meeting_of.get(node, [node])
                     for d in (range(dps) if node[0] in ACROSS and "replicas" not in without else [dp])]
            latest = start if node[0] in LONELY or "waiting" in without else max(starts[step, n, d] for n, d in group)
            own = ends[step, node, dp] - latest
            if "ends" in without and node[0] in MESSAGES:
                own = max(ends[step, n, dp] - latest for n, _ in group)
            self.own[step, node, dp] = 0 if own <= LIMIT and node[0] not in LONELY else own
            before = [ends[step, n, dp] for n in self.graph.waits[node]]
            wait = start - (max(before) if before else min(e for k, e in starts.items() if k[0] == step))
            self.delay[step, node, dp] = 0 if wait <= LIMIT else wait
        self.ideal = {}
        for kind in {node[0] for node in self.graph.nodes}:
            for stage in range(stages):
                pool = [own for (_, node, _), own in self.own.items() if node[0] == kind and ("pooled" not in without or node[2] == stage)]
                is_mean = "mean" not in without if kind in MEAN else "median" in without
                self.ideal[kind, stage] = (statistics.mean if is_mean else statistics.median)(pool) if pool else 0

    def time(self, step, is_ideal, has_delays=False):
        begins, ends = self.graph.play(self.dps, lambda n, d: self.ideal[n[0], n[2]] if is_ideal(n, d) else self.own[step, n, d],
                                       lambda n, d: self.delay[step, n, d] if has_delays else 0)
        return max(ends.values()) - min(begins.values())

    def mean(self, is_ideal):
        return statistics.mean(self.time(step, is_ideal) for step in self.steps)
