#!/usr/bin/env python3
"""Folded, a job comes to the same figures as with every rank simulated.

usage: test_fold.py MESHSIM [unittest arguments]      MS_SEED replays a run, MS_RUNS, MS_PLACEMENTS say how many layouts
scripts/check_fold compares as many as one likes.
"""
# ctest: 2 parts

import math
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fold_cases import (LARGE, LARGE_SHARE, ROOT, SORTS, bounds, compare, complete, fold_case, lay_out, mesh_of, simulate, words_of,
                        words_of_large)
from parts import load_tests  # noqa: F401 (unittest looks for it)

SEED = int(os.environ.get("MS_SEED", random.randrange(2**32)))
RUNS = int(os.environ.get("MS_RUNS", 60))
PLACEMENTS = int(os.environ.get("MS_PLACEMENTS", 25))
PROGRAM = ""
# stages of one and a half leaves, which have room for all their NICs, or for a quarter of them
STRADDLING = {"platform.file": "dgx-h100", "platform.nodes": 48, "platform.fabric.nodes_per_unit": 8, "mesh.tp": 8, "mesh.pp": 4, "mesh.dp": 12,
              "batch.global": 48}
NARROW = ["--set", "platform.fabric.oversubscription=4"]

# stages whose messages and reductions share NICs: a difference in the last digit of a date grows until everybody sees it
CHAOTIC = {"platform.file": "dgx-a100", "platform.nodes": 8, "platform.node.gpus": 6, "platform.node.nics": 1, "mesh.tp": 2, "mesh.pp": 3,
           "mesh.dp": 8, "mesh.order": "[pp, tp, dp]", "model.vocab": 0, "tensor_parallel.allow_slow": "true", "tensor_parallel.sequence": "true",
           "model.layers": 6, "batch.global": 96}
CHAOTIC_ALIKE = {"platform.file": "meta-roce-h100", "platform.nodes": 16, "platform.fabric.nodes_per_unit": 2, "platform.fabric.units_per_pod": 1,
                 "mesh.tp": 4, "mesh.pp": 4, "mesh.dp": 2, "mesh.ep": 4, "mesh.order": "[ep, tp, pp, dp, cp]", "fidelity": "step", "model.vocab": 0,
                 "tensor_parallel.allow_slow": "true", "model.projections": "separate", "model.layers": 8, "model.bias": "false",
                 "model.moe": "{experts: 8, top_k: 2}", "batch.global": 64}


class Fold(unittest.TestCase):
    def compare(self, words):
        """Whether the job is legal and its step said to be exact; folded it is then what it is with every rank, else in its bounds."""
        found = compare(PROGRAM, words)
        if found is None:
            return False
        folded, _, far = found
        self.assertEqual(far, {})
        return folded["engine"]["fold_exact"]

    def test_equal(self):
        simulated = 0
        for number in range(RUNS):
            sort, words = fold_case(SEED, number)
            with self.subTest(f"MS_SEED={SEED}, {sort} {number}: {' '.join(words)}"):
                simulated += self.compare(words)
        self.assertGreater(simulated, RUNS / 3)

    def test_every_rank_is_simulated_where_rounding_grows(self):
        """Groups of two on nodes of six GPUs with one NIC, and a job whose ranks of a stage are all alike: rounding errors grow until they show."""
        for job in (CHAOTIC, CHAOTIC_ALIKE):
            for more in ([], ["--granularity", "pass"], ["--set", "steps=2"]):
                with self.subTest(f"{job['platform.file']}, {more}"):
                    words = [*words_of(job), *more]
                    folded, every = simulate(PROGRAM, words), simulate(PROGRAM, [*words, "--no-fold"])
                    self.assertEqual(folded["engine"]["simulated_ranks"], folded["gpus"])
                    self.assertTrue(folded["engine"]["fold_exact"])
                    self.assertEqual(folded["step_time_s"], every["step_time_s"])
        alone = simulate(PROGRAM, [*words_of(CHAOTIC), "--fidelity", "analytic"])
        self.assertTrue(alone["engine"]["fold_exact"])
        self.assertLess(alone["engine"]["simulated_ranks"], alone["gpus"])

    def test_bounds_where_rounding_grows_and_ranks_are_many(self):
        """1,024 ranks of about a million operations: a run of all of them may take SimGrid minutes."""
        folded = simulate(PROGRAM, words_of(CHAOTIC_ALIKE | {"platform.nodes": 128, "mesh.tp": 8, "mesh.pp": 8, "mesh.dp": 4, "model.layers": 16,
                                                             "batch.global": 512}))
        self.assertLess(folded["engine"]["simulated_ranks"], folded["gpus"])
        self.assertFalse(folded["engine"]["fold_exact"])
        self.assertLess(folded["step_time_bounds_s"][0], folded["step_time_s"])
        self.assertGreater(folded["step_time_bounds_s"][1], folded["step_time_s"])

    def test_equal_wherever_ranks_sit(self):
        """Ranks in any order, or two of them changed, by a file."""
        for number in range(PLACEMENTS):
            source = random.Random(f"{SEED} {number}")
            sets = complete(source, lay_out(source, "dgx-h100", mesh_of(source, 32)))
            gpus = list(range(math.prod(sets[f"mesh.{axis}"] for axis in ("tp", "pp", "dp", "cp", "ep"))))
            if source.random() < 0.5:
                source.shuffle(gpus)
            else:
                a, b = source.randrange(len(gpus)), source.randrange(len(gpus))
                gpus[a], gpus[b] = gpus[b], gpus[a]
            with tempfile.NamedTemporaryFile("w", suffix=".csv", prefix="meshsim-ranks-") as file:
                file.write("".join(f"{rank},{gpu}\n" for rank, gpu in enumerate(gpus)))
                file.flush()
                words = words_of(sets | {"placement.file": file.name})
                with self.subTest(f"MS_SEED={SEED}, placement {number}: {' '.join(words)}"):
                    self.compare(words)

    def test_large_clusters_equal_with_few_ranks(self):
        for name in LARGE:
            with self.subTest(name):
                folded, every, far = compare(PROGRAM, words_of_large(name))
                self.assertEqual(far, {})
                self.assertTrue(folded["engine"]["fold_exact"])
                self.assertGreaterEqual(folded["gpus"], 8192)
                self.assertLessEqual(LARGE_SHARE * folded["engine"]["simulated_ranks"], every["engine"]["simulated_ranks"])

    def test_steps_lie_between_their_bounds(self):
        checked = 0
        cases = [("narrow leaves", [*words_of(STRADDLING), *NARROW]), *(fold_case(SEED, number) for number in range(RUNS // 2))]
        for number, (sort, words) in enumerate(cases):
            with self.subTest(f"MS_SEED={SEED}, {sort} {number}: {' '.join(words)}"):
                found = bounds(PROGRAM, words)
                if found is not None:
                    least_s, step_s, most_s = found
                    self.assertLessEqual(least_s, step_s * (1 + 1e-9))
                    self.assertGreaterEqual(most_s, step_s * (1 - 1e-9))
                    checked += 1
        self.assertGreater(checked, 0)

    def test_symmetric_layouts_fold_to_one_rank_of_each_stage(self):
        for words in ([], ["--set", "platform.nodes=4", "--set", "mesh.dp=8"],
                      ["--set", "platform.nodes=4", "--set", "mesh.dp=8", "--set", "data_parallel.zero=3"]):
            folded = simulate(PROGRAM, words)
            self.assertEqual(folded["engine"]["simulated_ranks"], 2, words)
            self.assertEqual(folded["engine"]["fold_classes"], 2, words)

    def test_leaves_with_room_for_all_their_nics_tell_nobody_apart(self):
        """With narrower uplinks it matters which replicas share a leaf."""
        words = words_of(STRADDLING)
        self.assertEqual(simulate(PROGRAM, words)["engine"]["fold_classes"], 4)
        narrow = simulate(PROGRAM, [*words, *NARROW])
        self.assertGreater(narrow["engine"]["fold_classes"], 4)

    def test_what_takes_simgrid_long_is_said_before(self):
        """4,608 ranks of a torus that all differ: told at once, and not of the solver that takes a second for it."""
        words = ["run", "deepseek-v3-2048", "--platform", "tpu-v4-palm", "--set", "platform.nodes=1536", "--set",
                 "mesh={tp: 4, ep: 8, pp: 4, dp: 48, order: [pp, dp, ep, tp]}", "--set", "model.layers=16", "--set", "batch.global=384",
                 "--set", "batch.micro=1", "--set", "schedule={kind: 1f1b}", "--set", "precision.products=parameters", "--ignore-memory"]
        done = subprocess.run([PROGRAM, *words, "--solver", "maxmin"], capture_output=True, text=True, check=True)
        self.assertNotIn("--solver maxmin", done.stderr)
        with subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            told = next((line for line in process.stderr if "--solver maxmin" in line), "")
            process.terminate()
        self.assertRegex(told, r"note: \d+ ranks play different roles, and each is simulated: about .* operations")

    def test_words_that_fold_does_not_take(self):
        for words in (("--fold", "most"), ("--fold", "exact", "--no-fold")):
            done = subprocess.run([PROGRAM, "run", "workloads/tiny.yaml", *words], cwd=ROOT, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("--fold", done.stderr)

    def test_every_sort_is_drawn(self):
        names = {fold_case(1, number)[0] for number in range(len(SORTS))}
        self.assertEqual(names, {sort.__name__ for sort in SORTS})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
