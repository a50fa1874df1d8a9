#!/usr/bin/env python3
"""Counting what repeats in a step gives the figures of simulating all of it.

usage: test_fast_forward.py MESHSIM [unittest arguments]      MS_SEED replays a run, MS_RUNS says how many jobs
"""
# ctest: 4 parts

import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py

from fast_forward_cases import ROOT, compare, hosted_case, lone_case, long_case, result, sharded_case, stepped_case
from parts import load_tests  # noqa: F401 (unittest looks for it)

SEED = int(os.environ.get("MS_SEED", random.randrange(2**32)))
RUNS = int(os.environ.get("MS_RUNS", 4))
PROGRAM = ""
# What a run may cost, attempts to count what repeats included, in operations of a whole simulation.
COST_MAX = 1.5


class FastForward(unittest.TestCase):
    def check(self, *words):
        """That nothing differs; microbatches that were counted."""
        found = compare(PROGRAM, words)
        self.assertIsNotNone(found, f"refused: {words}")
        self.assertEqual(found.differences, {}, f"MS_SEED={SEED} {words}")
        self.assertLessEqual(found.cost, COST_MAX, f"MS_SEED={SEED} {words}")
        return found.counted

    def test_claimed(self):
        """Without contention across replicas 1F1B and interleaved schedules fall into step, and so do others."""
        for granularity in ("layer", "pass"):
            for schedule in (["1f1b"], ["interleaved", "2"], ["zbh1"], ["zbv"], ["dualpipev"]):
                words = ["workloads/tiny.yaml", "--granularity", granularity, "--set", "batch.global=128", "--set", f"schedule.kind={schedule[0]}"]
                words += ["--set", "mesh.pp=4", "--set", "mesh.tp=2", "--set", "mesh.dp=1", "--set", "model.layers=8"]
                words += ["--set", f"schedule.v={schedule[1]}"] if len(schedule) > 1 else []
                with self.subTest(words=words):
                    self.assertGreater(self.check(*words), 64)

    def test_a_v_whose_last_forward_passes_are_of_one_stage(self):
        """ZB-V's steady state ends with the forward passes of the first stage; those of the last stage go on in the cool-down."""
        sets = ["batch.global=64", "schedule.kind=zbv", "mesh.pp=4", "mesh.tp=2", "mesh.dp=1", "model.layers=8"]
        self.assertGreater(self.check("workloads/tiny.yaml", "--granularity", "pass", *(word for one in sets for word in ("--set", one))), 32)

    def test_gradients_reduced_within_the_step(self):
        for sets in (["data_parallel.reduce=every"], ["data_parallel.reduce=round", "schedule.kind=interleaved", "schedule.v=2"],
                     ["data_parallel.reduce=round", "data_parallel.overlap_reduce=true", "schedule.kind=interleaved", "schedule.v=2"]):
            words = [word for one in ("batch.global=256", "data_parallel.zero=2", *sets) for word in ("--set", one)]
            with self.subTest(words=words):
                self.assertGreater(self.check("workloads/tiny.yaml", "--granularity", "pass", *words), 64)

    def test_periods_of_several_microbatches(self):
        """What comes back to the same state after two microbatches is counted in pairs, whatever number is left over."""
        two = ["platform.file=dgx-a100", "platform.nodes=2", "mesh.tp=2", "mesh.pp=8", "model.layers=16"]
        three = ["platform.file=meta-roce-h100", "platform.nodes=3", "mesh.tp=8", "mesh.pp=3", "model.layers=6"]
        for mbs, *rest in ((2, *two, "batch.global=240"), (2, *two, "batch.global=241"), (3, *three, "batch.global=180")):
            settings = ["mesh.dp=1", "model.vocab=0", *rest]
            words = ["workloads/tiny.yaml", "--granularity", "pass", *(word for setting in settings for word in ("--set", setting))]
            with self.subTest(words=words), tempfile.TemporaryDirectory() as folder:
                self.assertGreater(self.check(*words), 40)
                result(PROGRAM, [*words, "-o", f"{folder}/trace.h5"])
                with h5py.File(f"{folder}/trace.h5") as file:
                    self.assertRegex(file["events"].attrs["fast_forwarded"], f"^[0-9]+ times .*, {mbs} mb on$")

    def test_ranks_that_are_done_count_for_nothing(self):
        """Replicas on better routes have done all microbatches of a part, and would have more to do, where the others fall into step."""
        settings = ["platform.file=hypothetical-two-tier", "platform.nodes=3", "platform.fabric.nodes_per_unit=2", "platform.routing=ecmp",
                    "platform.routing_seed=3", "mesh.tp=4", "mesh.pp=1", "mesh.dp=6", "mesh.order=[tp, dp, pp]", "model.layers=2",
                    "tensor_parallel.sequence=true", "tensor_parallel.allow_slow=true", "batch.global=288"]
        self.check("workloads/tiny.yaml", *(word for setting in settings for word in ("--set", setting)))

    def test_hosts(self):
        """Hosts that are far ahead, that wait for their GPUs, and that every GPU waits for; hundreds of microbatches pass until all of the
        second rank's kernels wait for its GPU, whose host is a little faster than the first one's."""
        words = ["workloads/tiny.yaml", "--granularity", "pass", "--set", "batch.global=1024"]
        for launch in ("300 ns", "8 us", "200 us"):
            for sync in ("[]", "[messages, norm, batch]", "[kernels]"):
                with self.subTest(launch=launch, sync=sync):
                    self.assertGreater(self.check(*words, "--set", f"host.launch={launch}", "--set", f"host.sync={sync}"), 128)

    def test_placed_unshards(self):
        """What the order gathers and frees comes again with the passes, its memory too; and it may all be gathered once and kept."""
        words = ["workloads/tiny.yaml", "--set", "batch.global=384", "--set", "mesh.dp=4", "--set", "mesh.tp=1", "--set", "data_parallel.zero=3"]
        for schedule in (["kind=1f1b"], ["kind=interleaved", "v=2"], ["kind=zbv"]):
            for stages in (1, 2, 9):
                keys = [f"data_parallel.gather_stages={stages}", *(f"schedule.{key}" for key in schedule)]
                with self.subTest(keys=keys):
                    self.assertGreater(self.check(*words, *(word for key in keys for word in ("--set", key))), 24)

    def test_several_steps(self):
        """Each has a repeated period of its own, also where no rank waits for the others at a step's end."""
        late = ["schedule.step_end=post_validation", "schedule.kind=zbh2", "mesh.pp=4", "mesh.dp=1", "steps=4"]
        for keys in (["steps=2"], ["steps=3", "schedule.kind=interleaved", "schedule.v=2"], late):
            with self.subTest(keys=keys):
                self.assertGreater(self.check("workloads/tiny.yaml", "--set", "batch.global=256", *(word for key in keys for word in ("--set", key))), 64)

    def test_steps_that_rounding_tells_apart(self):
        """From warm-up to steady state a circle is left and found again, at other dates in the second step: 1e-12 s become 2e-9 s."""
        settings = ["platform.node.gpus=48", "platform.node.nics=1", "mesh.tp=8", "mesh.pp=6", "mesh.dp=1", "mesh.order=[tp, pp, dp]",
                    "model.vocab=0", "tensor_parallel.allow_slow=true", "data_parallel.update=separate", "model.layers=12", "batch.global=288",
                    "schedule.kind=zbh2", "steps=2"]
        self.check("workloads/tiny.yaml", "--fidelity", "step", *(word for setting in settings for word in ("--set", setting)))

    def test_what_rounding_leads_away_from(self):
        """Computations that communication slows down go round in a circle that is one by chance: a rounding later they leave it."""
        settings = ["platform.file=flat", "platform.nodes=16", "mesh.tp=1", "mesh.pp=8", "mesh.dp=2", "mesh.order=[tp, ep, cp, dp, pp]", "model.vocab=0",
                    "platform.gpu.compute_slowdown=2", "data_parallel.overlap_reduce=true", "model.layers=16", "batch.global=512"]
        words = ["workloads/tiny.yaml", "--fidelity", "analytic", "--granularity", "pass", "--no-fold"]
        self.check(*words, *(word for setting in settings for word in ("--set", setting)))

    def test_lone(self):
        """1F1B and interleaved schedules of replicas that share no links; some settle later than an attempt is worth."""
        claimed = legal = 0
        for number in range(6):
            found = compare(PROGRAM, lone_case(SEED, number))
            if found is not None:
                legal += 1
                claimed += found.counted > 0
                self.assertEqual(found.differences, {}, f"MS_SEED={SEED} lone {number}")
        self.assertGreater(claimed, 0, f"MS_SEED={SEED}: {legal} jobs")

    def test_canonical(self):
        counted = self.check("workloads/gpt3-175b-1024.yaml", "--granularity", "pass")
        self.assertEqual(counted, 168)

    def test_refused(self):
        """Bounded folding, and too few microbatches."""
        long = ["--set", "batch.global=128"]
        for words in (["--fold", "bounded", *long], []):
            self.assertEqual(self.check("workloads/tiny.yaml", *words), 0, words)
        self.assertGreater(self.check("workloads/tiny.yaml", *long), 0)

    def test_traces(self):
        """A trace holds the repeated period once; what is drawn of it is what is drawn of all operations."""
        with tempfile.TemporaryDirectory() as folder:
            for granularity, steps in (("layer", 1), ("pass", 1), ("layer", 3)):
                for level in ("full", "passes"):
                    drawn = []
                    for name, words in (("some", ["--trace", level] if level != "full" else []), ("all", ["--trace", level, "--no-fast-forward"])):
                        trace, picture = Path(folder) / f"{name}.h5", Path(folder) / f"{name}.svg"
                        run = [PROGRAM, "run", "workloads/tiny.yaml", "--set", "batch.global=256", "--granularity", granularity, "-o", trace, *words]
                        run += ["--set", f"steps={steps}"]
                        subprocess.run(run, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
                        subprocess.run([PROGRAM, "report", trace, "-o", picture], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
                        drawn.append(picture.read_text())
                        with h5py.File(trace) as file:
                            self.assertEqual("fast_forwarded" in file["events"].attrs, name == "some")
                    self.assertEqual(drawn[0], drawn[1], (granularity, steps, level))

    def test_traces_change_nothing(self):
        """With and without a trace every figure is the same to the last bit."""
        with tempfile.TemporaryDirectory() as folder:
            words = ["workloads/tiny.yaml", "--set", "batch.global=256"]
            plain, traced = result(PROGRAM, words), result(PROGRAM, [*words, "-o", f"{folder}/trace.h5"])
            for key in ("wall_s", "peak_rss_B"):
                del plain["engine"][key], traced["engine"][key]
            self.assertEqual(plain, traced)

    def test_cost_of_attempts_that_fail(self):
        """A job whose first rank keeps the same time from microbatch to microbatch, while other ranks do not: the search for a period has very
        many candidates and none is one. This job (MT-NLG 530B with parameters that take no memory) took 95 times as long as without attempts."""
        settings = ["framework=megatron-deepspeed-fp16", "platform.fabric.units_per_pod=16", "model.parameters_override=1024", "batch.global=5760"]
        words = ["workloads/mtnlg-530b-2240.yaml", *(word for setting in settings for word in ("--set", setting))]
        found = compare(PROGRAM, words)
        self.assertLessEqual(found.cost, COST_MAX)
        self.assertEqual(found.differences, {})

    def check_costs(self, make, name, count):
        """The cost of attempts in so many legal jobs, and in more until an attempt has failed, which costs the most."""
        cost = {}
        number = 0
        while (len(cost) < count or max(cost.values()) <= 1.0) and number < 400:
            words = make(f"cost {name} {SEED}", number)
            number += 1
            found = compare(PROGRAM, words)
            if found is not None:
                cost[" ".join([str(number), *words])] = found.cost
        worst = max(cost, key=cost.get)
        self.assertLessEqual(cost[worst], COST_MAX, f"MS_SEED={SEED} {worst}")
        self.assertGreater(max(cost.values()), 1.0, "no attempt failed")

    # jobs of a kind whose attempts mostly succeed, and of a kind whose attempts often fail

    def test_costs_of_lone_jobs(self):
        self.check_costs(lone_case, "lone", 8 * RUNS)

    def test_costs_of_long_jobs(self):
        self.check_costs(long_case, "long", 4 * RUNS)

    def test_costs_of_more_long_jobs(self):
        self.check_costs(long_case, "more", 4 * RUNS)

    def check_random(self, make, runs):
        legal = claimed = number = 0
        while legal < runs:
            words = make(f"{SEED}", number)
            number += 1
            found = compare(PROGRAM, words)
            if found is not None:
                legal += 1
                claimed += found.counted > 0
                self.assertEqual(found.differences, {}, f"MS_SEED={SEED} {' '.join(words)}")
                self.assertLessEqual(found.cost, COST_MAX, f"MS_SEED={SEED} {' '.join(words)}")
        self.assertGreater(claimed, 0, f"MS_SEED={SEED}: {legal} jobs")

    def test_random(self):
        self.check_random(long_case, RUNS)

    def test_random_hosts(self):
        self.check_random(hosted_case, RUNS)

    def test_random_shards(self):
        self.check_random(sharded_case, RUNS)

    def test_random_steps(self):
        self.check_random(stepped_case, RUNS)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
