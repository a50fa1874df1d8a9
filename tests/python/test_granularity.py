#!/usr/bin/env python3
"""Passes as single operations give the figures of their layers: on canonical workloads, and on random jobs.

usage: test_granularity.py MESHSIM [unittest arguments]      MS_SEED replays a run, MS_RUNS says how many jobs
"""
# ctest: 4 parts

import json
import os
import random
import subprocess
import sys
import unittest
from pathlib import Path

from parts import load_tests  # noqa: F401 (unittest looks for it)
from test_random import random_job

ROOT = Path(__file__).resolve().parent.parent.parent
CANONICAL = sorted(path.stem for path in (ROOT / "workloads").glob("*.yaml"))
SEED = int(os.environ.get("MS_SEED", random.randrange(2**32)))
RUNS = int(os.environ.get("MS_RUNS", 16))
PROGRAM = ""


def result(name, *words):
    """The JSON of a run, None where the job is refused."""
    done = subprocess.run([PROGRAM, "run", f"workloads/{name}.yaml", "--json", "--ignore-memory", *words], cwd=ROOT,
                          capture_output=True, check=False, text=True, timeout=120)
    if done.returncode == 3 and "error: " in done.stderr:
        return None
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode} {done.stderr}")
    return json.loads(done.stdout)


def by_sort(rows):
    return {tuple(row[key] for key in ("axis", "kind", "tier", "algorithm", "size_B")): row for row in rows}


class Granularity(unittest.TestCase):
    jobs = 0
    far = []  # steps more than 1 % apart, of random jobs

    def near(self, one, other, share, message=""):
        self.assertLessEqual(abs(one - other), share * max(abs(one), abs(other)), f"{message}: {one} against {other}")

    def check_sums(self, value):
        """What holds exactly of any run."""
        step_s = value["step_time_s"]
        self.assertAlmostEqual(sum(value["time_share"].values()), 1, delta=1e-9)
        self.assertAlmostEqual(sum(value["critical_path"].values()), step_s, delta=1e-9 * step_s)
        for use in value["comm"].values():
            self.assertAlmostEqual(use["busy_s"], use["exposed_s"] + use["overlapped_s"] + use["in_idle_s"], delta=1e-9 * step_s)

    def check_counts(self, layer, whole):
        """What happened is the same, whenever it did."""
        for axis, use in layer["comm"].items():
            self.near(use["bytes_per_rank"], whole["comm"][axis]["bytes_per_rank"], 1e-9, axis)
        for name, tier in layer["tiers"].items():
            self.near(tier["bytes"], whole["tiers"][name]["bytes"], 1e-9, name)
        self.assertEqual([row["name"] for row in layer["kernels"]], [row["name"] for row in whole["kernels"]])
        for one, other in zip(layer["kernels"], whole["kernels"]):
            self.near(one["count"], other["count"], 1e-9, one["name"])
        rows, others = by_sort(layer["collectives"]), by_sort(whole["collectives"])
        self.assertEqual(set(rows), set(others))
        for key, row in rows.items():
            self.near(row["count_per_rank"], others[key]["count_per_rank"], 1e-9, key)
            self.near(row["alone_s"], others[key]["alone_s"], 1e-9, key)
        self.near(layer["memory"]["peak_B"], whole["memory"]["peak_B"], 1e-9, "peak")

    def check_canonical(self, name, *words):
        layer, whole = result(name, *words), result(name, "--granularity", "pass", *words)
        self.assertEqual((layer["granularity"], whole["granularity"]), ("layer", "pass"))
        self.check_sums(whole)
        self.check_counts(layer, whole)
        self.near(layer["step_time_s"], whole["step_time_s"], 0.01, name)
        for key, share in layer["time_share"].items():
            self.assertAlmostEqual(share, whole["time_share"][key], delta=0.01, msg=f"{name} {key}")
        self.assertLess(whole["engine"]["ops"], layer["engine"]["ops"])
        self.assertEqual(layer["granularity_risk"], [])
        if not whole["granularity_risk"]:  # then nothing shared links with what passes hide
            self.near(layer["step_time_s"], whole["step_time_s"], 1e-3, name)
        return layer, whole

    def test_every_rank(self):
        for name in ("tiny", "textbook-70b-64", "mixtral-8x7b-64"):
            with self.subTest(name):
                layer, whole = self.check_canonical(name, "--no-fold")
                self.assertLess(10 * whole["engine"]["ops"], layer["engine"]["ops"])

    def test_operations(self):
        """As few as a pass and a message for each stage and microbatch."""
        layer, whole = self.check_canonical("gpt3-175b-1024")
        self.assertLess(19 * whole["engine"]["ops"], layer["engine"]["ops"])
        layer, whole = self.check_canonical("megatron-1t-3072")
        self.assertLess(7 * whole["engine"]["ops"], layer["engine"]["ops"])

    def test_hosts(self):
        """Hosts that launch too late hold a pass up as they hold up its layers."""
        for words in (["host.launch=100 us"], ["host.launch=20 us", "host.sync=[messages, batch]"]):
            sets = [word for key in [*words, "mesh.dp=4", "mesh.tp=1"] for word in ("--set", key)]
            layer, whole = result("tiny", *sets), result("tiny", "--granularity", "pass", *sets)
            self.check_sums(whole)
            self.assertGreater(layer["time_share"]["other"], 0)
            self.near(layer["step_time_s"], whole["step_time_s"], 1e-3, words)

    def test_hosts_of_experts(self):
        """A host that waits in every layer for the copies of each expert cuts a pass, and is never a layer ahead."""
        keys = ["mesh.tp=1", "mesh.dp=4", "model.bias=false", "model.moe={experts: 8, top_k: 2}", "host.launch=30 us"]
        free, waiting = ([word for key in [*keys, f"host.sync={syncs}"] for word in ("--set", key)] for syncs in ("[]", "[experts]"))
        layer, whole = result("tiny", *waiting), result("tiny", "--granularity", "pass", *waiting)
        self.check_sums(whole)
        self.near(layer["step_time_s"], whole["step_time_s"], 1e-9, "host waits")
        self.assertGreater(layer["step_time_s"], 1.0001 * result("tiny", *free)["step_time_s"])

    def test_slow_down(self):
        """Gradients reduced beside a pass slow down what it computes, not what it waits for."""
        sets = [word for key in ("platform.gpu.compute_slowdown=1.5", "data_parallel.overlap_reduce=true", "mesh.pp=1", "mesh.dp=4",
                                 "platform.nodes=4", "platform.node.gpus=2", "platform.node.nics=2", "batch.global=4")
                for word in ("--set", key)]
        layer, whole = result("tiny", *sets), result("tiny", "--granularity", "pass", *sets)
        self.check_sums(whole)
        self.assertGreater(layer["compute_slowdown"], 0.001)
        self.assertAlmostEqual(layer["compute_slowdown"], whole["compute_slowdown"], delta=0.02)
        self.near(layer["step_time_s"], whole["step_time_s"], 0.01, "step")

    def test_risk(self):
        """Messages beside the tp collectives of a node are named; on rails of their own nothing is."""
        risks = result("tiny", "--granularity", "pass")["granularity_risk"]
        self.assertEqual({(row["pass"], row["axis"], *row["with"]) for row in risks}, {("forward", "tp", "pp"), ("backward", "tp", "pp")})
        self.assertTrue(all(0 < row["met"] <= row["pieces"] for row in risks))
        self.assertEqual(result("textbook-70b-64", "--granularity", "pass")["granularity_risk"], [])
        self.assertEqual(result("tiny", "--granularity", "pass", "--fidelity", "analytic")["granularity_risk"], [])

    def test_chunks(self):
        """Collectives beside products belong to a pass, also those that only later ones of their communicator are waited for."""
        sets = [word for key in ("tensor_parallel.sequence=true", "tensor_parallel.overlap=chunks", "mesh.tp=4", "mesh.pp=1")
                for word in ("--set", key)]
        layer, whole = self.check_canonical("tiny", *sets)
        self.assertLess(10 * whole["engine"]["ops"], layer["engine"]["ops"])

    def test_links_of_other_passes(self):
        """Where passes of several pipeline ranks share links, their collectives stay operations, which wait for each other."""
        keys = ("platform.nodes=4", "platform.fabric.nodes_per_unit=2", "platform.fabric.oversubscription=4", "mesh.tp=2", "mesh.pp=4",
                "mesh.dp=4", "mesh.order=[tp, pp, dp]", "model.layers=8", "batch.global=64")
        for fold in ([], ["--no-fold"]):
            words = ["--platform", "dgx-h100", *(word for key in keys for word in ("--set", key)), *fold]
            layer, whole = result("tiny", *words), result("tiny", "--granularity", "pass", *words)
            self.near(layer["step_time_s"], whole["step_time_s"], 1e-9, fold)
            self.check_counts(layer, whole)
            self.assertEqual(whole["granularity_risk"], [])

    def test_meshes(self):
        """The bench of experiments runs all legal meshes of tp x pp, and the steps of either granularity agree."""
        rows = (ROOT / "tests" / "bench" / "meshes_gpt3_175b_1024.csv").read_text(encoding="utf-8").split()
        meshes = [tuple(map(int, row.split(","))) for row in rows[1:]]
        legal = []
        for tp, pp in ((tp, pp) for tp in (1, 2, 4, 8, 16) for pp in (1, 2, 4, 8, 16, 32, 64)):
            sets = [f"mesh.tp={tp}", f"mesh.pp={pp}", f"mesh.dp={1024 // tp // pp}"]
            done = subprocess.run([PROGRAM, "check", "workloads/gpt3-175b-1024.yaml", *(word for key in sets for word in ("--set", key))],
                                  cwd=ROOT, capture_output=True, check=False, timeout=60)
            legal += [(tp, pp, 1024 // tp // pp)] if done.returncode in (0, 1) else []
        self.assertEqual(meshes, legal)
        sets = [word for key in ("mesh.tp=4", "mesh.pp=8", "mesh.dp=32") for word in ("--set", key)]
        self.check_canonical("gpt3-175b-1024", *sets)

    def check_job(self, number):
        words = random_job(random.Random(f"{SEED} {number}"))
        with self.subTest(f"MS_SEED={SEED}, job {number}: {' '.join(words)}"):
            layer = result("tiny", *words)
            whole = result("tiny", "--granularity", "pass", *words)
            self.assertEqual(layer is None, whole is None)
            if layer is None:
                return
            self.check_sums(whole)
            self.check_counts(layer, whole)
            Granularity.jobs += 1
            error = abs(whole["step_time_s"] / layer["step_time_s"] - 1)
            self.assertLess(error, 0.1)  # links shared with neighbouring stages
            Granularity.far += [error] if error > 0.01 else []

    def check_folding(self, number):
        """Where folding is exact, it is so at pass level."""
        words = [word for word in random_job(random.Random(f"{SEED} fold {number}")) if word != "--no-fold"] + ["--granularity", "pass"]
        with self.subTest(f"MS_SEED={SEED}, folded job {number}: {' '.join(words)}"):
            folded = result("tiny", *words)
            if folded is None or not folded["engine"]["fold_exact"]:
                return
            whole = result("tiny", "--no-fold", *words)
            self.near(folded["step_time_s"], whole["step_time_s"], 1e-9, "step")
            self.check_counts(folded, whole)
            for key, share in folded["time_share"].items():
                self.assertAlmostEqual(share, whole["time_share"][key], delta=1e-9, msg=key)

    @classmethod
    def tearDownClass(cls):
        # 16 of 427 jobs: tp or ep groups across nodes whose links carry messages, too
        if len(cls.far) > 2 + cls.jobs / 5:
            raise AssertionError(f"MS_SEED={SEED}: of {cls.jobs} steps {len(cls.far)} are more than 1 % apart: {cls.far}")


for workload in CANONICAL:
    setattr(Granularity, f"test_canonical_{workload.replace('-', '_')}", lambda self, name=workload: self.check_canonical(name) and None)
for run in range(RUNS):
    setattr(Granularity, f"test_job_{run:04}", lambda self, number=run: self.check_job(number))
    if run % 4 == 0:
        setattr(Granularity, f"test_folding_{run:04}", lambda self, number=run: self.check_folding(number))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
