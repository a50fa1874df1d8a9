#!/usr/bin/env python3
"""NCCL's tuning model from its published formulas (NVIDIA/nccl, src/graph/tuning.cc), apart from the program's own, and a table of
what it chooses.

usage: tests/support/nccl_cases.py > tests/support/nccl_cases.h
"""
import collections
import itertools
import math
import random

LL, LL128, SIMPLE = 0, 1, 2
PROTOCOLS = ("ll", "ll128", "simple")
GENERATIONS = ("volta", "ampere", "hopper", "blackwell")
BASE = {"tree": (6.8, 14.0, 8.4), "ring": (6.6, 14.0, 8.4), "collnet_direct": (0, 0, 0), "collnet_chain": (0, 0, 0),
        "nvls": (0, 0, 0), "nvls_tree": (0, 0, 0), "pat": (8, 8, 8)}
NVLINK = {"tree": (0.6, 1.25, 4.0), "ring": (0.6, 1.9, 3.4), "collnet_direct": (0, 0, 3.7),
          "collnet_chain": (0, 0, 2.8), "nvls": (0, 0, 25), "nvls_tree": (0, 0, 25), "pat": (0, 0, 4)}
NETWORK = {"tree": (5.0, 8.5, 14.0), "ring": (2.7, 4.0, 14.0), "collnet_direct": (0, 0, 31),
           "collnet_chain": (0, 0, 30), "nvls": (0, 0, 18), "nvls_tree": (0, 0, 20.9), "pat": (0, 0, 14)}
LL_MOST = ((39.0, 39.0, 20.4), (87.7, 22.5, 19.0), (141.0, 45.0, 35.0), (282.0, 90.0, 70.0))
RING_LL128 = ((20.0,) * 3, (20.0,) * 3, (36.7,) * 3, (40.0,) * 3)
TREE_LL128 = ((20.0,) * 3, (20.0,) * 3, (36.7, 36.7, 29.0), (55.6, 31.67, 20.0))
TREE = ((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (38.7, 41.4, 36.0), (70.0, 42.8, 24.0))
NVLS_TREE = ((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (0.0, 57.7, 45.5), (0.0, 96.0, 80.0))
NVLS_EFFICIENCY = (0.0, 0.0, 0.85, 0.74)
CORRECTION = (
    (1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1),
    (1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1),
    (.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9),
)

# Bandwidths in GB/s of all channels together; latency in microseconds, as the NIC's driver reports it.
Machine = collections.namedtuple("Machine", "generation channels intra inter has_nvls is_amd latency in_order has_sharp nics")


def is_there(kind, name, protocol, ranks, nodes, machine):
    """Whether NCCL has an algorithm with a protocol."""
    if protocol != SIMPLE and not machine.in_order:
        return False
    if name == "ring":
        return True
    if name == "tree":
        return kind == "all_reduce"
    if protocol != SIMPLE:
        return False
    if name == "pat":
        return kind != "all_reduce" and ranks == nodes
    by_network = machine.has_sharp and nodes > 1 and kind == "all_reduce"
    if name.startswith("collnet"):
        return by_network
    if not machine.has_nvls or ranks // nodes <= 2:  # ncclNvlsInit up to 2.28.3
        return False
    if name == "nvls" and by_network and ranks > nodes:
        return True
    return nodes == 1 if name == "nvls" else nodes > 1 and kind == "all_reduce" and ranks > nodes


def searched(name, nodes, machine, is_old=False):
    """GB/s of a graph's channels that the model starts from, as ncclTopoCompute finds them: those inside nodes where there are at most two
    or the network reduces, else those between. Both begin as the slower; all graphs but rings then may have twice that inside nodes. An old
    version copies channels of 25 GB/s after that and leaves a tree no more than the ring has."""
    if nodes == 1:
        return machine.intra
    between = min(machine.intra, machine.inter)
    inside = between if name == "ring" else min(machine.intra, 2 * machine.inter)
    if is_old and name == "tree" and between / machine.nics < 25 <= inside / machine.nics:
        inside /= 2
    return inside if nodes == 2 or name.startswith("collnet") else between


def bandwidth(kind, name, protocol, ranks, nodes, machine):
    """Algorithm bandwidth in GB/s."""
    row, column = GENERATIONS.index(machine.generation), min(nodes, 3) - 1
    channels, reduces = machine.channels, kind == "all_reduce"
    ll_most = LL_MOST[row if nodes == 1 else int(machine.is_amd)][column]
    bus = searched(name, nodes, machine)
    if name.startswith("nvls"):
        inside = machine.intra / channels * NVLS_EFFICIENCY[row] * (channels - 1) / channels
        inside *= 2 if reduces else (ranks / nodes - 1) / (ranks / nodes)
        outside = machine.inter / channels * (2 if nodes == 2 else 1)
        if name == "nvls" and nodes > 1:
            inside = min(inside, machine.inter / channels)
        bus = channels * (inside if name == "nvls" else min(inside, outside, NVLS_TREE[row][column]))
    elif name == "tree":
        bus = min(.92 * bus, channels * TREE[row][column])
        if protocol == LL:
            bus = min(bus / 3.8, ll_most)
        if protocol == LL128:
            bus = min(bus * (7 / 9 if nodes == 1 else 120 / 128), channels * TREE_LL128[row][column])
    elif name.startswith("collnet"):
        if name == "collnet_direct":
            factor = ranks / nodes / machine.nics
            bus = bus / (factor - (factor - 1) / 2) * (.85 if row >= 2 else 1)
    elif name == "pat":
        bus *= .75
    elif protocol == LL:
        bus = min(.5 * bus, ll_most)
    elif protocol == LL128:
        bus = min(.92 * bus, channels * RING_LL128[row][column])
    steps = (2 if reduces else 1) * (ranks - 1)
    if name == "ring" or (reduces and name.startswith("nvls")):
        return bus * ranks / steps
    return bus * .5 if reduces else bus


def latency(kind, name, protocol, ranks, nodes, machine):
    """Latency in microseconds."""
    inside, between = NVLINK[name][protocol], NETWORK["tree" if ranks == nodes else name][protocol]
    between += machine.latency * (2 if protocol == SIMPLE else 1)
    levels = int(math.log2(nodes))
    passes = 2 if kind == "all_reduce" else 1
    value = BASE[name][protocol]
    if name == "ring":
        posting = 0 if nodes == 1 else (2 if machine.is_amd else 1) * (3 if protocol == SIMPLE else 1)
        return value + passes * ((ranks - nodes) * max(inside, posting) + (nodes - 1) * between)
    if name == "tree":
        return value + 2 * ((ranks // nodes - 1) * inside + levels * between)
    if name == "collnet_direct":
        return value + 2 * (min(1, ranks // nodes - 1) * inside + (ranks // nodes - 1) * .4) + between
    if name == "collnet_chain":
        return value + 2 * (ranks // nodes - 1) * inside + between
    if name == "nvls":
        return inside + (between if nodes > 1 else 0)
    if name == "nvls_tree":
        return value + inside + 2 * levels * between
    return value + levels * between / 3.5 + 2.8 * ranks


def time(kind, name, protocol, size, ranks, nodes, machine):
    """Predicted time in microseconds."""
    rate = bandwidth(kind, name, protocol, ranks, nodes, machine)
    if rate <= 0:
        return math.inf
    power = max(0, (size >> 6).bit_length() - 1)
    if name == "tree" and power < 23:
        rate *= CORRECTION[protocol][power]
    wait = latency(kind, name, protocol, ranks, nodes, machine)
    if name == "ring" and protocol == SIMPLE and nodes > 1 and kind == "all_reduce" and size / machine.channels / ranks >= 64:
        wait *= 1.9 if machine.generation == "volta" else 1.4
    return wait + size / (1000 * rate)


def choose(kind, size, ranks, nodes, machine):
    """(time, order, algorithm, protocol) of the fastest way."""
    ways = [(name, protocol) for name in ALGORITHMS for protocol in (LL, LL128, SIMPLE)]
    return min((time(kind, name, protocol, size, ranks, nodes, machine), order, name, protocol)
               for order, (name, protocol) in enumerate(ways) if is_there(kind, name, protocol, ranks, nodes, machine))


# NCCL 2.7, of which CollNet is a chain and has one protocol here.
BASE_27 = {"tree": (4.4, 4.4, 0), "ring": (3.6, 10.0, 8.4), "collnet_chain": (4.4, 4.4, 0)}
NVLINK_27 = {"tree": (.52, 1.2, 28), "ring": (.47, 1.9, 3.4), "collnet_chain": (.5, 1.2, 4)}
NETWORK_27 = {"tree": (5.0, 8.5, 50), "ring": (2.7, 4.0, 9.6), "collnet_chain": (5.0, 5.0, 10.7)}
LL128_27 = {"all_reduce": 16.7, "all_gather": 18.3, "reduce_scatter": 15.2}
CORRECTION_27 = (
    (1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1),
    (1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, 1),
    (.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .5, .5, .6, .6, .7, .8, .9),
)


def is_there_27(kind, name, protocol, ranks, nodes, machine):
    """The same of NCCL 2.7."""
    if protocol != SIMPLE and not machine.in_order:
        return False
    if name == "collnet_chain":
        return protocol == SIMPLE and machine.has_sharp and nodes > 1 and kind == "all_reduce"
    return name == "ring" or (name == "tree" and kind == "all_reduce")


def time_27(kind, name, protocol, size, ranks, nodes, machine):
    """Predicted time in microseconds."""
    reduces, is_ampere, is_far = kind == "all_reduce", machine.generation == "ampere", nodes > 2
    bus = searched(name, nodes, machine, is_old=True)
    if is_ampere:
        bus = min(bus, 235.0)
    most_ll128 = LL128_27[kind] * machine.channels
    if name == "tree":
        most = 80.0 if is_far else 110.0
        if protocol == LL128 and is_ampere:
            most = 105.0 if is_far else 130.0
        rate = min(bus * .9, most)
        if protocol == LL:
            rate /= 3.8
        if protocol == LL128:
            rate = min(rate * (7 / 9 if nodes == 1 else .915), most_ll128 * 7 / 9)
        rate *= .5
        power = max(0, (size >> 6).bit_length() - 1)
        if power < 22:
            rate *= CORRECTION_27[protocol][power]
    elif name == "collnet_chain":
        rate = bus * .9 * .5
    else:
        if protocol == LL:
            bus /= 4 if nodes > 1 or reduces else 3
        if protocol == LL128:
            bus = min(bus * (.7 if ranks == nodes else .92), most_ll128)
        rate = bus * ranks / ((2 if reduces else 1) * (ranks - 1))
    inside, between = NVLINK_27[name][protocol], NETWORK_27[name][protocol]
    between += machine.latency * (2 if protocol == SIMPLE else 1)
    if nodes > 1 and protocol == LL:
        inside *= 1.8
    wait, passes = BASE_27[name][protocol], 2 if reduces else 1
    if name == "ring":
        wait += passes * ((ranks - nodes) * inside + (nodes - 1) * between)
    elif name == "tree":
        wait += 2 * ((ranks // nodes - 1) * inside + int(math.log2(nodes)) * between)
    else:
        wait += 2 * (ranks // nodes - 1) * inside + between
    if name == "ring" and protocol == SIMPLE and nodes > 1 and reduces and size >= ranks / 16 * 65536:
        wait *= 1.9
    return wait + size / (1000 * rate)


def choose_27(kind, size, ranks, nodes, machine):
    """(time, order, algorithm, protocol) of the fastest way of NCCL 2.7."""
    ways = [(name, protocol) for name in ("tree", "ring", "collnet_chain") for protocol in (LL, LL128, SIMPLE)]
    return min((time_27(kind, name, protocol, size, ranks, nodes, machine), order, name, protocol)
               for order, (name, protocol) in enumerate(ways) if is_there_27(kind, name, protocol, ranks, nodes, machine))


ALGORITHMS = ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat")
KINDS = ("all_reduce", "all_gather", "reduce_scatter")


def draw(source):
    """A case: kind, size, communicator and machine."""
    generation = source.choice(GENERATIONS)
    nodes = source.choice((1, 1, 2, 3, 4, 7, 16, 128, 512))
    members = source.choice((1, 2, 4, 8)) if nodes > 1 else source.choice((2, 3, 4, 8, 72))
    intra = {"volta": 130.0, "ampere": 240.0, "hopper": 366.0, "blackwell": 680.0}[generation]
    inter = source.choice((12.5, 23.0, 46.0)) * members
    has_nvls = generation in ("hopper", "blackwell") and source.random() < 0.7
    size = int(2 ** source.uniform(3, 34))
    machine = Machine(generation, 12 if generation in ("volta", "ampere") else 16, math.inf if members == 1 else intra, inter,
                      has_nvls, source.random() < 0.3, source.choice((0, 0, 0, 35, 75)), source.random() < 0.9,
                      source.random() < 0.25, source.choice((members, max(1, members // 2))))
    return source.choice(KINDS), size, members * nodes, nodes, machine


def print_cases(name, chosen_by, cases):
    """Print a table: its cases and what is chosen for them."""
    print(f"static const nccl_case {name}[] = {{")
    for kind, size, ranks, nodes, machine in cases:
        best, _, way, protocol = chosen_by(kind, size, ranks, nodes, machine)
        print(f"    {{MS_COLL_{kind.upper()}, {size}.0, {ranks}, {nodes}, MS_GENERATION_{machine.generation.upper()},"
              f" {'INFINITY' if machine.intra == math.inf else repr(machine.intra)}, {machine.inter!r}, {str(machine.has_nvls).lower()}, {str(machine.is_amd).lower()}, {machine.latency!r}.0,"
              f" {str(machine.in_order).lower()}, {str(machine.has_sharp).lower()}, {machine.nics},"
              f" MS_ALGORITHM_{way.upper()}, MS_PROTOCOL_{PROTOCOLS[protocol].upper()}, {best!r}}},")
    print("};")


def main():
    """Print the tables."""
    source = random.Random(10)
    print("/* Made by nccl_cases.py: do not edit. kind, size, ranks, nodes, generation, GB/s of NVLink and network, NVLS, AMD,")
    print(" * latency [us] and order of the NIC, SHARP, NICs, then algorithm, protocol and time [us] of the fastest way. */")
    print_cases("NCCL_CASES", choose, [draw(source) for _ in range(250)])
    print("\n/* The same of NCCL 2.7. */")
    older = (case for case in iter(lambda: draw(source), None) if case[-1].generation in ("volta", "ampere"))
    print_cases("NCCL_2_7_CASES", choose_27, list(itertools.islice(older, 150)))


if __name__ == "__main__":
    main()
