#!/usr/bin/env python3
"""What-ifs of `meshsim replay`: against runs with that change, and against the second implementation of the replay (step_replay.py).

usage: test_replay_whatif.py MESHSIM [unittest arguments]
"""

import importlib.util
import json
import unittest

import programs
from programs import ROOT
from step_replay import LONELY, Study, make, noisy, write

TINY = ROOT / "workloads" / "tiny.yaml"


class WhatIf(programs.ProgramTest):
    def whatif(self, *words):
        return json.loads(self.meshsim("replay", "e.csv", *words, "--json").stdout)["whatif"]


@unittest.skipIf(importlib.util.find_spec("h5py") is None, "h5py is not installed")
class AgainstRuns(WhatIf):
    """A run, exported, with a change: the run with that change."""

    def costs(self, forward, more=""):
        lists = ", ".join(f"{key}: [{', '.join(f'{cost} ms' for cost in forward)}]" for key in ("forward", "input_gradient", "weight_gradient"))
        return self.write(f"""name: w
platform: {{file: flat, nodes: {len(forward)}}}
mesh: {{pp: {len(forward)}}}
batch: {{micro: 1, microbatches: 12}}
schedule: {{kind: 1f1b}}
costs: {{{lists}, p2p: 0 B, optimizer: 0 s}}
{more}""", "w.yaml")

    def export(self, *words):
        self.meshsim("run", *words, "--trace", "full", "--no-fold", "-o", "t.h5")
        self.meshsim("export", "events", "t.h5", "-o", "e.csv")

    def run_s(self, *words):
        return json.loads(self.meshsim("run", *words, "--json").stdout)["step_time_s"]

    def test_schedules_of_given_costs(self):
        """Messages take their latency, so that nothing differs."""
        workload = self.costs([1, 1.5, 1, 2])
        self.export(workload)
        for kind in ("gpipe", "zbh1", "zbh2", "chimera", "dualpipe"):
            setting = "--set", f"schedule.kind={kind}"
            row, = self.whatif(*setting)
            self.assertEqual(row["change"], f"schedule.kind={kind}")
            if kind in ("chimera", "dualpipe"):  # a rank holds two stages, here of unlike costs: each takes what its worker takes
                self.assertGreater(row["step_time_s"], 0)
            else:
                self.assertAlmostEqual(row["step_time_s"], self.run_s(workload, *setting), 12)
        workload = self.costs([1, 1, 1, 1])
        self.export(workload)
        for kind in ("chimera", "dualpipe"):
            row, = self.whatif("--set", f"schedule.kind={kind}")
            self.assertLess(abs(row["step_time_s"] / self.run_s(workload, "--set", f"schedule.kind={kind}") - 1), 1e-4)

    def test_schedules_of_a_model(self):
        """Chunks, split passes and a V within 1 %, there and back; the head and the embedding stay with their virtual stages."""
        model = [TINY, "--set", "mesh={pp: 4, dp: 2}", "--set", "batch.global=32", "--set", "model.layers=16", "--set", "model.hidden=2048"]
        self.export(*model)
        for kind, chunks in ("zbh1", 1), ("interleaved", 2), ("looped_bfs", 2), ("zb1p", 2), ("zbv", 2), ("vhalf", 2):
            setting = "--set", f"schedule.kind={kind}", "--set", f"schedule.v={chunks}"
            row, = self.whatif(*setting)
            self.assertLess(abs(row["step_time_s"] / self.run_s(*model, *setting) - 1), 0.01, kind)
        for kind in "interleaved", "zbv":
            self.export(*model, "--set", f"schedule.kind={kind}", "--set", "schedule.v=2")
            row, = self.whatif("--set", "schedule.kind=1f1b", "--set", "schedule.v=1")
            self.assertLess(abs(row["step_time_s"] / self.run_s(*model) - 1), 0.01, kind)

    def test_layers(self):
        """Passes of 2 layers a stage, of 1 ms each, and a head of 1.5 ms; then of 3, 2, 2 and 1 layers."""
        self.export(self.costs([2, 2, 2, 3.5]))
        row, = self.whatif("--set", "schedule.stage_layers=[3,2,2,1]")
        self.assertAlmostEqual(row["step_time_s"], self.run_s(self.costs([3, 2, 2, 2.5])), 12)
        row, = self.whatif("--set", "schedule.stage_layers=[3,2,2,1]", "--set", "schedule.kind=zbh1")
        self.assertAlmostEqual(row["step_time_s"], self.run_s(self.costs([3, 2, 2, 2.5]), "--set", "schedule.kind=zbh1"), 12)

    def test_slices(self):
        workload = self.costs([2, 2, 2, 2])
        self.export(workload)
        row, = self.whatif("--set", "schedule.kind=seq1f1b", "--set", "schedule.splits=2")
        halves = self.costs([1, 1, 1, 1])
        self.assertAlmostEqual(row["step_time_s"], self.run_s(halves, "--set", "schedule.kind=seq1f1b", "--set", "schedule.splits=2"), 12)

    def test_the_workload_beside_the_table(self):
        self.export(TINY)
        found = json.loads(self.meshsim("replay", "e.csv", TINY, "--set", "schedule.stage_layers=[5,3]", "--json").stdout)
        self.assertEqual((found["schedule"], found["whatif"][0]["change"]), ("1f1b", "schedule.stage_layers=[5,3]"))
        self.assertLess(found["whatif"][0]["step_time_s"], found["T"])  # the head is on the last stage
        usual = json.loads(self.meshsim("replay", "e.csv", TINY, "--json").stdout)["whatif"]
        self.assertEqual(usual[0], dict(found["whatif"][0], change="a layer from stage 1 to 0"))
        other = self.write(TINY.read_text().replace("dp: 2, pp: 2, tp: 2", "dp: 4, pp: 2, tp: 1"), "o.yaml")
        self.assertIn("has dp 2, pp 2, 2 virtual stages and 8 microbatches", self.meshsim("replay", "e.csv", other, code=3).stderr)
        other = self.write(TINY.read_text().replace("1f1b", "gpipe"), "o.yaml")
        self.assertIn("are not in the order of the schedule 'gpipe'", self.meshsim("replay", "e.csv", other, code=3).stderr)

    def test_what_cannot_be_changed(self):
        self.export(TINY)
        for words, message in (([TINY, "--set", "platform.tiers.nvlink.bandwidth=1 GB/s"], "--set changes neither the order of passes nor the layers"),
                               (["--set", "mesh={pp: 4, dp: 1}"], "--set changes the mesh"), (["--set", "schedule.kind=zbb"], "zbv"),
                               (["--set", "schedule.stage_layers=[5,x]"], "stage_layers")):
            self.assertIn(message, self.meshsim("replay", "e.csv", *words, code=3).stderr)
        for words in (["--leave-out", "dp=2"], ["--leave-out", "dp=0,stage=2"], ["--leave-out", "dp=0,stage"], ["--transfers", "-1"], ["--replicas", "0"]):
            self.meshsim("replay", "e.csv", *words, code=2)
        empty = self.write(TINY.read_text().replace("kind: 1f1b", "kind: 1f1b, stage_layers: [8, 0]"), "empty.yaml")
        refused = self.meshsim("replay", "e.csv", empty, "--set", "schedule.stage_layers=[4,4]", code=3).stderr
        self.assertIn("virtual stage 1 of the workload has no layers", refused)
        usual = json.loads(self.meshsim("replay", "e.csv", empty, "--json").stdout)["whatif"]
        self.assertNotIn("a layer from", usual[0]["change"])
        self.export(TINY, "--set", "schedule.kind=dualpipe")
        self.assertIn("in two directions", self.meshsim("replay", "e.csv", "--set", "schedule.kind=1f1b", code=3).stderr)


class AgainstTheSecondImplementation(WhatIf):
    """Replicas and transfers: the nodes stay, their times change."""

    def setUp(self):
        super().setUp()
        own, delay = noisy(12)
        table = make(4, 6, 3, [1, 2], own, delay)
        self.study = Study(table, 4, 6, 3)
        self.write(write(table, 4), "e.csv")

    def mean(self, dps, own):
        """The mean step of `dps` replicas whose operations take own(step, node, dp)."""
        total = 0
        for step in self.study.steps:
            _, ends = self.study.graph.play(dps, lambda node, dp, s=step: own(s, node, dp), lambda node, dp: 0)
            total += max(ends.values())
        return total * 1e-12 / len(self.study.steps)

    def near(self, row, expected):
        self.assertLessEqual(abs(row["step_time_s"] / expected - 1), 1e-11)

    def test_a_replica_left_out(self):
        own = self.study.own
        row, = self.whatif("--leave-out", "dp=1")
        self.near(row, self.mean(2, lambda step, node, dp: own[step, node, (0, 2)[dp]]))
        self.assertEqual(row["change"], "without dp 1")

    def test_a_usual_worker(self):
        """In the place of the worker of dp 1, stage 1: the mean of the two others, which is the median."""
        own = self.study.own
        row, = self.whatif("--leave-out", "dp=1,stage=1")
        self.near(row, self.mean(3, lambda step, node, dp: (own[step, node, 0] + own[step, node, 2]) / 2 if (dp, node[2]) == (1, 1) else own[step, node, dp]))

    def test_transfers(self):
        own = self.study.own
        row, = self.whatif("--transfers", "2.5")
        self.near(row, self.mean(3, lambda step, node, dp: own[step, node, dp] * (1 if node[0] in LONELY else 2.5)))

    def test_replicas_and_all_together(self):
        """More replicas like the measured ones leave T, as the slowest is there already; the ideal means move with the draws, which the seed decides."""
        usual = self.whatif()
        self.assertRegex("; ".join(row["change"] for row in usual), "^a usual worker for dp [01], stage [23]; without dp [01]; transfers x 0; 2 more replicas; 8 more replicas$")
        self.near(usual[3], self.mean(3, lambda step, node, dp: self.study.own[step, node, dp]))
        self.assertEqual(self.whatif("--replicas", "2"), [usual[3]])
        self.assertNotEqual(self.whatif("--replicas", "5"), self.whatif("--replicas", "5", "--seed", "2"))
        rows = self.whatif("--transfers", "0", "--leave-out", "dp=1", "--replicas", "1")
        self.assertEqual([row["change"] for row in rows], ["transfers x 0", "without dp 1", "1 more replicas", "all of these"])
        # the worker of dp 2 is replaced before dp 0 and dp 1 are gone
        own = self.study.own
        last = self.whatif("--leave-out", "dp=0", "--leave-out", "dp=1", "--leave-out", "dp=2,stage=1")[-1]
        self.near(last, self.mean(1, lambda step, node, dp: (own[step, node, 0] + own[step, node, 1]) / 2 if node[2] == 1 else own[step, node, 2]))
        self.near(rows[3], self.mean(2, lambda step, node, dp: self.study.own[step, node, (0, 2)[dp]] * (node[0] in LONELY)))


if __name__ == "__main__":
    programs.main(__doc__)
