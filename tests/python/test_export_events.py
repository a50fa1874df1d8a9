#!/usr/bin/env python3
"""`meshsim export events`: runs of our own, replayed from their exported tables, take their step to the picosecond, and name the slow.

usage: test_export_events.py MESHSIM [unittest arguments]
"""
# ctest: 2 parts

import importlib.util
import json
import re
import unittest

import programs
from programs import ROOT

TINY = ROOT / "workloads" / "tiny.yaml"
CHUNKS = {"interleaved": 2, "interleaved_torch": 2, "interleaved_flexible": 3, "looped_bfs": 2, "zb1p": 3, "zbv": 2, "vhalf": 2, "vmin": 2, "dualpipev": 2}


@unittest.skipIf(importlib.util.find_spec("h5py") is None, "h5py is not installed")
class Exported(programs.ProgramTest):
    def replayed(self, *words, code=0):
        """A run with every rank and microbatch, and its replay."""
        ran = json.loads(self.meshsim("run", *words, "--trace", "full", "--no-fold", "--ignore-memory", "-o", "t.h5", "--json").stdout)
        self.meshsim("export", "events", "t.h5", "-o", "t.csv", code=code)
        return ran, json.loads(self.meshsim("replay", "t.csv", "--json").stdout)

    def expect_exact(self, *words):
        ran, found = self.replayed(*words)
        for key in ("T", "step_time_s"):
            self.assertLessEqual(abs(found[key] - ran["step_time_s"]), 1e-12, (words, key))
        self.assertEqual(found["step_t_replayed"], found["step_t_base"], words)
        self.assertEqual((found["clock_faults"], found["num_microbatches"] > 0), (0, True))
        return found

    def costs(self, forward, backward, microbatches, kind="1f1b"):
        """A workload of given costs [s] by stage on a network that takes no time."""
        halves = [cost / 2 for cost in backward]
        lists = {"forward": forward, "input_gradient": halves, "weight_gradient": halves}
        costs = ", ".join(f"{key}: [{', '.join(f'{cost} s' for cost in lists[key])}]" for key in lists)
        return self.write(f"""name: w
platform: {{file: ideal, nodes: {len(forward)}}}
mesh: {{pp: {len(forward)}}}
batch: {{micro: 1, microbatches: {microbatches}}}
schedule: {{kind: {kind}}}
costs: {{{costs}, p2p: 0 B, optimizer: 0 s}}
""", "w.yaml")


class Schedules(Exported):
    """Every kind of schedule, with one and several chunks, slices, split backward passes, pairs and two directions."""

    def kinds(self):
        page = self.meshsim("schedule", "--help").stdout.split("KIND is one of\n")[1].split("\n\n")[0]
        return [kind for line in re.findall(r"^([a-z0-9_]+(?:, [a-z0-9_]+)*): ", page, re.M) for kind in line.split(", ")]

    def settings(self, kind):
        words = ["--set", f"schedule.kind={kind}", "--set", "batch.global=24"]
        words += ["--set", f"schedule.v={CHUNKS[kind]}"] if kind in CHUNKS else []
        return words + (["--set", "schedule.splits=2"] if kind == "seq1f1b" else [])

    def test_all_kinds(self):
        """Layers with tp within passes, and dp behind them."""
        kinds = self.kinds()
        self.assertGreaterEqual(len(kinds), 16)
        for kind in kinds:
            found = self.expect_exact(TINY, "--set", "model.layers=12", *self.settings(kind))
            self.assertEqual(found["dp"], 2)

    def test_all_kinds_with_given_costs(self):
        workload = self.costs([1, 1.25, 1, 2], [2, 2.5, 2, 3.5], 12)
        for kind in self.kinds():
            if kind not in CHUNKS:
                self.expect_exact(workload, *(["--set", "schedule.splits=2"] if kind == "seq1f1b" else []), "--set", f"schedule.kind={kind}")


class Jobs(Exported):
    def test_axes_and_overlaps(self):
        """What is folded into passes, and what overlaps with them."""
        for words in (["mesh={pp: 2, cp: 2, tp: 2, order: [pp, cp, tp]}"], ["mesh={pp: 4, dp: 2}", "model.tied_embeddings=true"], ["mesh={pp: 1, dp: 4, tp: 2}"],
                      ["data_parallel.zero=1", "data_parallel.overlap_reduce=true"], ["data_parallel.zero=3"], ["recompute=full"], ["schedule.sends=blocking"],
                      ["tensor_parallel.sequence=true"], ["granularity=pass"], ["model.type=llama", "model.ffn=4096", "tensor_parallel.sequence=true", "model.moe={experts: 8, top_k: 2}", "expert_mesh={ep: 2, tp: 2}"]):
            self.expect_exact(TINY, *(part for word in words for part in ("--set", word)))

    def test_launches_become_delays(self):
        """Hosts that launch are delays of the table: with them it takes the step, without them less."""
        ran, found = self.replayed(TINY, "--set", "host={launch: 20 us}")
        self.assertLessEqual(abs(found["step_t_replayed"]["0"] - ran["step_time_s"]), 1e-12)
        self.assertLess(found["T"], ran["step_time_s"])

    def test_a_folded_trace(self):
        """One simulated data-parallel rank stands for all."""
        ran = json.loads(self.meshsim("run", TINY, "--trace", "full", "-o", "f.h5", "--json").stdout)
        self.meshsim("export", "events", "f.h5", "-o", "f.csv")
        found = json.loads(self.meshsim("replay", "f.csv", "--json").stdout)
        self.assertLessEqual(abs(found["T"] - ran["step_time_s"]), 1e-12)
        self.assertEqual((found["dp"], found["S_dp_rank"]["0"]), (2, found["S_dp_rank"]["1"]))

    def test_a_slow_stage(self):
        """p 8, m 64, forward 1 s, backward 2 s, one stage 1.5 times slower: by hand, T is the slow stage's 64 x 4.5 s and the fill and drain of the others."""
        for stage, step, slowdown, of_stage in (0, 298.5, 1.318973, 1.330572), (3, 303, 1.338857, 1.347970), (7, 309, 1.365369, 1.371168):
            factors = [1.5 if s == stage else 1 for s in range(8)]
            _, found = self.replayed(self.costs(factors, [2 * factor for factor in factors], 64))
            self.assertEqual((found["T"], found["I"]), (step, 226.3125))
            self.assertAlmostEqual(found["S"], slowdown, 6)
            self.assertAlmostEqual(found["S_stage"][str(stage)], of_stage, 6)
            self.assertEqual(max(found["S_stage"], key=found["S_stage"].get), str(stage))
            self.assertIn(f"Stage {stage} costs", " ".join(found["in_words"]))

    def test_what_cannot_be_exported(self):
        self.meshsim("run", TINY, "--trace", "summary", "-o", "s.h5")
        self.assertIn("write it by 'run --trace full'", self.meshsim("export", "events", "s.h5", code=3).stderr)
        self.meshsim("run", TINY, "--set", "steps=2", "--trace", "full", "-o", "s.h5")
        self.assertIn("has 2 steps", self.meshsim("export", "events", "s.h5", code=3).stderr)
        self.assertIn("takes a trace", self.meshsim("export", "events", "s.h5", "--set", "mesh.tp=1", code=3).stderr)
        self.assertIn("no trace of 'meshsim run'", self.meshsim("export", "events", self.write("x", "x.h5"), code=3).stderr)


if __name__ == "__main__":
    programs.main(__doc__)
