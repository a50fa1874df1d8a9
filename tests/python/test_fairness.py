#!/usr/bin/env python3
"""All-to-alls beside rings end when a simulation of their single messages says, written without looking at meshsim's.

usage: test_fairness.py MESHSIM [unittest arguments]
"""

import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path

import h5py

PROGRAM = ""
PORT_BPS = 25e9
LATENCY_S = 1e-6  # of an all-to-all on the platform flat: from port to port
# four expert-parallel ranks and two replicas whose reductions and gathers run beside the exchanges
WORKLOAD = """
platform: {file: flat, nodes: 8}
model: {type: llama, layers: 4, hidden: 2048, heads: 16, ffn: 8192, vocab: 0, sequence: 4096,
        moe: {experts: 8, top_k: 2, ffn: 1408, shared_experts: 1, overlap: shared}}
mesh: {dp: 2, ep: 4, order: [dp, ep]}
data_parallel: {zero: 1, overlap_reduce: true, overlap_gather: true}
batch: {global: 16}
"""


def enum_names(column):
    names = column.attrs["flag_meanings"]
    names = (names if isinstance(names, str) else names.decode()).split()
    return {int(value): name for value, name in zip(column.attrs["flag_values"], names)}


def read_operations(path):
    """Communications as (start_s, end_s, kind, members, bytes a member sends)."""
    with h5py.File(path) as trace:
        events = trace["events"]
        kinds, axes = enum_names(events["kind"]), enum_names(events["axis"])
        rows = list(zip(*(events[name][:].tolist() for name in ("start_ps", "end_ps", "axis", "kind", "bytes", "rank"))))
    together = defaultdict(list)
    for *what, rank in rows:
        if axes[what[2]] in ("dp", "ep"):
            together[tuple(what)].append(rank)
    for (start, end, axis, kind, sent_B), leads in together.items():
        for lead in leads:  # the lowest rank of each group has the row; a group of all replicas has one in all
            replicas = [lead, lead + 4] if len(leads) == 4 else range(8)
            members = range(lead, lead + 4) if axes[axis] == "ep" else replicas
            yield start * 1e-12, end * 1e-12, kinds[kind], list(members), sent_B


def flows_of(operation):
    """(ports crossed, bytes) of each transfer: a message for each pair, or the edges of a ring at one pace."""
    _, _, kind, members, sent_B = operation
    if kind == "all_to_all":
        return [([("up", a), ("down", b)], sent_B / (len(members) - 1)) for a in members for b in members if a != b]
    edges = zip(members, members[1:] + members[:1])
    return [([port for a, b in edges for port in (("up", a), ("down", b))], sent_B)]


def share(active):
    """Max-min fair rates of the active transfers by progressive filling."""
    room, users, rates = defaultdict(lambda: PORT_BPS), defaultdict(list), {}
    for flow in active:
        for port in flow["ports"]:
            users[port].append(flow["id"])
    crossed = {flow["id"]: flow["ports"] for flow in active}
    while len(rates) < len(crossed):
        waiting = {port: sum(flow not in rates for flow in flows) for port, flows in users.items()}
        narrowest = min((port for port in waiting if waiting[port]), key=lambda port: room[port] / waiting[port])
        rate = room[narrowest] / waiting[narrowest]
        for flow in set(users[narrowest]) - set(rates):
            rates[flow] = rate
            for port in crossed[flow]:
                room[port] -= rate
    return rates


def simulate(operations):
    """When the last transfer of each operation ends."""
    waiting = sorted(({"start": o[0], "ports": ports, "left": size, "operation": index}
                      for index, o in enumerate(operations) for ports, size in flows_of(o)), key=lambda flow: flow["start"])
    for index, flow in enumerate(waiting):
        flow["id"] = index
    ends, active, now = {}, [], 0.0
    while waiting or active:
        while waiting and (waiting[0]["start"] <= now + 1e-13 or not active):
            now = max(now, waiting[0]["start"])
            active.append(waiting.pop(0))
        rates = share(active)
        step = min(flow["left"] / rates[flow["id"]] for flow in active)
        step = min(step, waiting[0]["start"] - now) if waiting else step
        now += step
        for flow in active:
            flow["left"] -= rates[flow["id"]] * step
            ends[flow["operation"]] = now
        active = [flow for flow in active if flow["left"] > 1]
    return ends


class Fairness(unittest.TestCase):
    def test_exchanges_end_as_their_messages_do(self):
        with tempfile.TemporaryDirectory() as folder:
            workload, trace = Path(folder) / "fairness.yaml", Path(folder) / "t.h5"
            workload.write_text(WORKLOAD, encoding="utf-8")
            subprocess.run([PROGRAM, "run", str(workload), "--no-fold", "-o", str(trace)], check=True, timeout=120,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            operations = list(read_operations(trace))
        ends = simulate(operations)
        exchanges = [index for index, operation in enumerate(operations) if operation[2] == "all_to_all"]
        alone_s = {round(ends[index] - operations[index][0], 9) for index in exchanges}
        self.assertEqual(len(exchanges), 64)
        self.assertGreater(len(alone_s), 4, "some share their ports, some do not")
        for index in exchanges:
            start_s, end_s = operations[index][:2]
            self.assertAlmostEqual((end_s - LATENCY_S - start_s) / (ends[index] - start_s), 1, delta=0.001)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
