#!/usr/bin/env python3
"""Damaged topologies of Slurm, XML of NCCL, logs of nccl-tests and tables of measured collectives: what is refused is explained, and what is read has sizes that go together.

The seeds are the kept inputs below tests/fuzz/corpus; each is changed at random for a few seconds. MS_SEED replays a run.

usage: test_importers_damaged.py MESHSIM [unittest arguments]
"""

import contextlib
import io
import math
import os
import random
import sys
import time
import unittest

import programs

sys.path.insert(0, str(programs.ROOT / "scripts" / "python"))
from meshsim.tools import _call, measured  # noqa: E402
from meshsim.tools.importers import nccl_log, nccl_topo, slurm_topology  # noqa: E402

CORPUS = programs.ROOT / "tests" / "fuzz" / "corpus"
SECONDS = float(os.environ.get("MS_FUZZ_S", "2"))
PIECES = (b"[", b"]", b",", b"=", b"-", b"\n", b"\\\n", b"#", b'"', b" ", b"0", b"9", b"<", b">", b"/>", b"\xff", b"nan", b"'", b"\0", b"\t", b"\r", b"&a", b"*a",
          b"Nodes=", b"n[1-9]", b"{", b"}", b": ", b"0x", b"1e9", b"99999999999999999999", b"Rank  0", b"<!DOCTYPE a>")


def damaged(data, rng):
    """Some bytes with up to four changes."""
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(data) + 1), rng.randint(1, 16)
        other = rng.randrange(len(data) + 1)
        data = rng.choice((lambda: data[:at] + data[at + length:], lambda: data[:at] + rng.choice(PIECES) + data[at:], lambda: data[:at],
                           lambda: data[:at] + bytes([rng.randrange(256)]) + data[at + 1:], lambda: data[:at] + data[other:other + 4 * length] + data[at:]))()
    return data[:4000]


class Damaged(unittest.TestCase):
    def told(self, read, *arguments):
        """What a reader makes of its arguments; None where it refuses them, which it explains."""
        talk, said = _call.Talk(), io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                found = read(talk, *arguments)
            except _call.Fault as fault:
                self.assertEqual(fault.code, _call.INPUT)
                found = None
        self.assertEqual(found is None, talk.errors > 0, said.getvalue())
        self.assertEqual(talk.errors > 0, " error: " in said.getvalue())
        return found

    def damage(self, corpus, check):
        """Check the seeds of a corpus, and changed ones."""
        seed = int(os.environ.get("MS_SEED", str(time.time_ns() % 10**6)))
        rng = random.Random(seed)
        seeds = [path.read_bytes() for path in sorted((CORPUS / corpus).iterdir())]
        for data in seeds:
            check(data)
        end, count = time.monotonic() + SECONDS, 0
        while time.monotonic() < end:
            data, count = damaged(rng.choice(seeds), rng), count + 1
            with self.subTest(MS_SEED=seed, count=count, data=data):
                check(data)
        self.assertGreater(count, 20)

    def check_hosts(self, data):
        try:
            hosts = slurm_topology.hosts_of(data.decode("utf-8", "surrogateescape"))
        except ValueError as error:
            self.assertNotIn("invalid literal", str(error))
            return
        self.assertTrue(0 < len(hosts) <= slurm_topology.NODES_MAX)
        self.assertFalse([host for host in hosts if not host or set(host) & set("[],")])

    def check_slurm(self, data):
        if data[:1] == b"=":
            self.check_hosts(data[1:])
            return
        found = self.told(slurm_topology.read_text, "x.yaml" if data[:1] in (b"-", b"[") else "x.conf", data.decode("utf-8", "surrogateescape"))
        if found:
            topology, keys = found
            self.assertTrue(keys and 1 <= topology.layers <= 3 and topology.rails >= 1 and topology.leaves_per_pod >= 1)
            self.assertTrue(1 <= topology.nodes_per_leaf <= topology.nodes <= slurm_topology.NODES_MAX)

    def check_machine(self, data):
        found = self.told(nccl_topo.read_data, "x.xml", data)
        if found:
            machine, _ = found
            self.assertTrue(machine.gpus.count > 0 and machine.gpus.count % machine.hosts == 0)
            self.assertTrue(machine.gpus.links >= 0 and machine.nics.count >= 0 and machine.nics.others >= 0)
            self.assertTrue(machine.nics.count == 0 or machine.nics.speed_Bps > 0)
            self.assertTrue(math.isfinite(machine.gpus.host_Bps) and machine.gpus.host_Bps >= 0)

    def check_log(self, data):
        def read(talk, text):
            points = []
            keys = nccl_log.read_text(talk, "x.log", text, points)
            if talk.errors:
                raise _call.Fault(_call.INPUT)
            return points, keys

        found = self.told(read, data.decode("utf-8", "surrogateescape"))
        for point in found[0] if found else []:
            self.assertTrue(point.kind and point.ranks >= 2 and 1 <= point.nodes <= max(point.ranks, 1) and point.size_B > 0 and point.measured_s > 0)

    def check_collectives(self, data):
        def read(talk, text):
            return measured.read_text(_call.Call("", "calibrate", talk=talk), "x.csv" if text.startswith(("gpu,", "system,")) else "x.yaml", text)

        for point in self.told(read, data.decode("utf-8", "surrogateescape")) or []:
            self.assertTrue(point.kind in measured.KINDS and point.ranks >= 2 and point.nodes >= 1)
            self.assertTrue(0 < point.size_B < math.inf and 0 < point.measured_s < math.inf)

    def test_tables_of_collectives(self):
        self.damage("collectives", self.check_collectives)

    def test_topologies_of_slurm(self):
        self.damage("fuzz_slurm", self.check_slurm)

    def test_xml_of_nccl(self):
        self.damage("fuzz_nccl_topo", self.check_machine)

    def test_logs_of_nccl_tests(self):
        self.damage("fuzz_nccl_log", self.check_log)


if __name__ == "__main__":
    programs.main(__doc__)
