#!/usr/bin/env python3
"""The parts that exporters share: one form of a workload, the keys in which two differ, and words on one line.

usage: test_export_tools.py MESHSIM [unittest arguments]
"""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "python"))

from meshsim.tools import export
from meshsim.tools._call import INPUT, Call, Fault
from meshsim.tools.exporters import _compare, _job, megatron

PROGRAM = ""
MODEL = {"type": "llama", "layers": "8", "hidden": "512", "heads": "8", "ffn": "1024", "vocab": "1000", "sequence": "512"}


def settled(**keys):
    """A settled workload of a small model."""
    model = {**MODEL, **keys.pop("model", {})}
    defaults = {"schedule.v": "0", "data_parallel.zero": "0", "model.moe.every": "1", "model.moe.shared_experts": "0", "recompute": "none",
                "context_parallel.kind": "ring", "mesh": "none", "model": "none", "model.vocab": "none", "host.launch": "0 s", "precision.products": "parameters",
                "precision.scaling": "delayed"}
    work = _job.Workload({"platform": {"file": "ideal", "nodes": "1"}, "mesh": {"dp": "8", "order": ["dp"]}, "model": model, **keys}, defaults)
    _job.settle(work)
    return work


def mesh(**sizes):
    return {**{name: str(size) for name, size in sizes.items()}, "order": list(sizes)}


class OneForm(unittest.TestCase):
    def test_sizes_of_one_are_left_out_and_the_vocabulary_is_padded(self):
        work = settled(mesh=mesh(pp=1, dp=4, cp=1, tp=2))
        self.assertEqual(work.tree["mesh"], mesh(dp=4, tp=2))
        self.assertEqual(work.tree["model"]["vocab"], "1024")
        self.assertEqual(settled(model={"vocab": "1025"}).tree["model"]["vocab"], "1152")
        self.assertEqual(settled(model={"vocab": "0"}).tree["model"]["vocab"], "0")

    def test_experts_on_an_axis_are_experts_on_a_mesh_of_their_own(self):
        moe = {"moe": {"experts": "8", "top_k": "2", "ffn": "256"}}
        rows = [(mesh(pp=2, dp=2, ep=4, tp=2), {"ep": "4", "tp": "2", "order": ["pp", "dp", "ep", "tp"]}, mesh(pp=2, dp=8, tp=2)),
                (mesh(ep=4, pp=2), {"ep": "4", "tp": "1", "order": ["dp", "ep", "pp", "tp"]}, mesh(dp=4, pp=2)),
                (mesh(dp=2, ep=4), {"ep": "4", "tp": "1", "order": ["dp", "ep", "tp"]}, mesh(dp=8))]
        for given, experts, folded in rows:
            work = settled(mesh=given, model=moe)
            self.assertEqual((work.tree["expert_mesh"], work.tree["mesh"]), (experts, folded))
        beside_cp = settled(mesh=mesh(dp=2, cp=2, ep=2), model=moe)
        self.assertEqual(beside_cp.tree["mesh"], mesh(dp=2, cp=2, ep=2))
        self.assertNotIn("expert_mesh", settled(mesh=mesh(dp=4, tp=2), expert_mesh={"ep": "1", "tp": "2"}, model=moe).tree)
        self.assertEqual(settled(expert_mesh={"ep": "2"}, model=moe).tree["expert_mesh"], {"ep": "2", "order": ["dp", "ep", "tp"]})

    def test_stages_are_the_list_of_their_layers(self):
        rows = [({}, {"stage_layers": ["4", "4"]}), ({"v": "1", "partition": "balanced"}, {"stage_layers": ["4", "4"]}),
                ({"first_stage_layers": "3"}, {"stage_layers": ["3", "5"]}), ({"v": "2", "last_stage_layers": "2"}, {"v": "2", "stage_layers": ["2", "2", "2", "2"]}),
                ({"stage_layers": ["7", "1"], "group": "2"}, {"stage_layers": ["7", "1"]}), ({"group": "3"}, {"group": "3", "stage_layers": ["4", "4"]})]
        for given, expected in rows:
            self.assertEqual(settled(mesh=mesh(pp=2, dp=4), schedule=given).tree["schedule"], expected, given)
        self.assertEqual(settled(schedule={"v": "1", "stage_layers": ["8"]}).tree["schedule"], {})

    def test_layers_with_experts_are_the_list_of_the_others(self):
        for given, dense in (({"first_dense_layers": "2"}, "01"), ({"every": "2"}, "0246"), ({"first_dense_layers": "1", "every": "3", "dense_layers": ["6"]}, "0124567"),
                             ({"dense_layers": ["7"]}, "7"), ({}, "")):
            moe = settled(model={"moe": {"experts": "8", "ffn": "256", **given}}).tree["model"]["moe"]
            self.assertEqual(moe, {"experts": "8", "ffn": "256", "shared_ffn": "256", **({"dense_layers": list(dense)} if dense else {})}, given)

    def test_what_nothing_uses_is_left_out(self):
        work = settled(context_parallel={"kind": "all_gather", "overlap": "true"}, recompute_layers="2", data_parallel={"zero": "2"})
        self.assertFalse({"context_parallel", "recompute_layers"} & set(work.tree))
        self.assertEqual(work.tree["data_parallel"], {"zero": "2", "reduce": "every", "gather_stages": "0"})
        work = settled(mesh=mesh(pp=2, cp=4), context_parallel={"kind": "ring", "overlap": "true"}, recompute="full", recompute_layers="2", data_parallel={"zero": "2"})
        self.assertEqual((work.tree["context_parallel"], work.tree["recompute_layers"]), ({"kind": "ring"}, "2"))
        self.assertEqual(work.tree["data_parallel"]["reduce"], "last")
        self.assertEqual(settled(mesh=mesh(cp=8), context_parallel={"overlap": "false"}).tree["context_parallel"], {"overlap": "false"})


class Differences(unittest.TestCase):
    @staticmethod
    def job(work):
        return _job.Job(work.tree, work.defaults, Call(Path("meshsim"), "export"), _job.Source("w.yaml"), "w", 1000, 8, 8, 1, [0], [8])

    def compare(self, mine, theirs):
        rows = _compare.compare(self.job(settled(**mine)), settled(**theirs), {"host.launch": "of a key", "model": "of a mapping", "": "of others"})
        self.assertEqual([(row.key, row.value, row.instead, row.why) for row in rows[:2]], [("platform.file", "ideal", "", "of others"), ("platform.nodes", "1", "", "of others")])
        return [tuple(row) for row in rows[2:]]

    def test_each_differing_key_has_both_values_in_the_order_of_keys(self):
        self.assertEqual(self.compare({"host": {"launch": "1 s"}, "mesh": mesh(pod=2, dp=4)}, {"model": {"ffn": "9"}}),
                         [("mesh.pod", "2", "none", "of others"), ("mesh.dp", "4", "8", "of others"), ("mesh.order", "[pod, dp]", "[dp]", "of others"),
                          ("model.ffn", "1024", "9", "of a mapping"), ("host.launch", "1 s", "0 s", "of a key")])

    def test_a_default_that_is_written_is_no_difference(self):
        self.assertEqual(self.compare({"host": {"launch": "0 s"}}, {}), [])
        self.assertEqual(self.compare({"name": "a", "model": {"name": "b"}}, {"framework": {"name": "c"}, "description": "d"}), [])

    def test_keys_of_products_count_only_where_products_have_a_type(self):
        self.assertEqual(self.compare({"precision": {"scaling": "current"}}, {}), [])
        self.assertEqual(self.compare({"precision": {"products": "fp8", "scaling": "current"}}, {}),
                         [("precision.products", "fp8", "parameters", "of others"), ("precision.scaling", "current", "delayed", "of others")])

    def test_comments_stay_on_their_line(self):
        rows = [_compare.Unsaid("a", "x\ny", "\u200bz", "why"), _compare.Unsaid("b", "", "", "why")]
        self.assertEqual(_compare.comments(rows, "S"), "# a = x?y (S: ?z): why\n# b: why\n")


class Words(unittest.TestCase):
    def test_a_tree_in_one_line_of_yaml(self):
        tree = {"a": "12 B", "b": ["x", "y: z"], "c": {"d": "", "e": "$(id) \"q\""}}
        self.assertEqual(_job.flow(tree), "{a: 12 B, b: [x, \"y: z\"], c: {d: , e: \"$(id) \\\"q\\\"\"}}")

    def test_layouts_of_stages(self):
        rows = {(3, 4, 4, 2): "Et*3|(t*4|)*2t*2L", (0, 1, 0, 1): "E|t||tL", (8,) * 1 + (1,): "Et*8|tL", (2, 1, 1, 1, 3): "Et*2|(t|)*3t*3L"}
        self.assertEqual({layers: megatron._layout(list(layers), 0) for layers in rows}, rows)
        self.assertEqual(megatron._layout([1, 1], 2), "Et|tmmL")

    def test_types_of_moments(self):
        rows = {8: ("fp32", "fp32"), 6: ("fp32", "bf16"), 4: ("bf16", "bf16"), 3: ("bf16", "fp8"), 2: ("fp8", "fp8"), 5: ("fp32", "fp8"), 7: None}
        self.assertEqual({moments_B: megatron._moment_types(moments_B) for moments_B in rows}, rows)


class Face(unittest.TestCase):
    """Exports from Python."""

    def test_a_workload_is_written_without_a_command_line(self):
        call = Call(Path(PROGRAM), "export", {"set": ["batch.global=32"]})
        exported = export.write(call, "megatron", str(ROOT / "workloads" / "tiny.yaml"))
        self.assertIn("    --global-batch-size 32\n", exported.text)
        self.assertIn("host.launch", [row.key for row in exported.unsaid])

    def test_what_the_program_refuses_ends_the_call(self):
        with tempfile.TemporaryDirectory(prefix="meshsim-export-") as folder:
            path = Path(folder) / "w.yaml"
            path.write_text("a: 1\n", encoding="utf-8")
            with self.assertRaises(Fault) as caught:
                export.write(Call(Path(PROGRAM), "export"), "deepspeed", str(path))
            self.assertEqual(caught.exception.code, INPUT)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
