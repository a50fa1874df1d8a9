#!/usr/bin/env python3
"""What a new user meets first: software that is assumed, schedules by their kind alone, keys taken out, units of a makespan.

usage: test_first_hour.py MESHSIM [unittest arguments]
"""

import json
import re

import programs
import yaml
from programs import ROOT

TINY = ROOT / "workloads" / "tiny.yaml"
LLAMA = {"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 16, "vocab_size": 32000,
         "max_position_embeddings": 2048}
MIXTRAL = LLAMA | {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2, "intermediate_size": 4096}
# kinds that run several virtual stages per rank, as many as they are told
ANY_V = ("interleaved", "interleaved_torch", "interleaved_flexible", "looped_bfs", "zb1p")
MOE = "model.moe={experts: 8, top_k: 2, ffn: 1024}"
OF_GATED = ("model.type=llama", "model.ffn=4096")


def sets(*texts):
    return [word for text in texts for word in ("--set", text)]


class Software(programs.ProgramTest):
    source = "config.json"

    def made(self, *words):
        self.meshsim(*words, "-o", "w.yaml", *(["--force"] if words[0] == "new" else []))
        return yaml.safe_load((self.folder / "w.yaml").read_text(encoding="utf-8"))

    def test_new_and_import_write_the_same_software_and_model(self):
        where = ("--platform", "dgx-h100", "--gpus", "16", "--batch", "64")
        for config in (LLAMA, MIXTRAL, json.loads((ROOT / "tests/import/hf/gpt-neox-20b.json").read_text(encoding="utf-8"))):
            name = self.write(config)
            new, imported = self.made("new", "--model", name, *where), self.made("import", "hf", name, *where, "--quiet")
            self.assertEqual(new["framework"], "megatron-core")
            for key in ("framework", "tensor_parallel", "model", "platform"):
                self.assertEqual(new.get(key), imported.get(key), key)
            self.assertEqual(new["batch"]["global"], imported["batch"]["global"])
            self.assertLessEqual(set(imported), set(new))
            self.assertIn("# assumed: framework: ", (self.folder / "w.yaml").read_text(encoding="utf-8"))

    def test_new_gives_the_model_of_a_workload_software_too(self):
        new = self.made("new", "--model", "mixtral-8x7b-64", "--platform", "dgx-h100", "--gpus", "64")
        self.assertEqual((new["framework"], new["tensor_parallel"]), ("megatron-core", {"sequence": True}))
        self.assertIn("moe", new["model"])
        (self.folder / "own.yaml").write_text(TINY.read_text(encoding="utf-8").replace("framework: none", "framework: megatron-lm-2022"), encoding="utf-8")
        self.assertEqual(self.made("new", "--model", "own.yaml", "--platform", "dgx-a100", "--gpus", "8")["framework"], "megatron-lm-2022")

    def test_a_job_without_software_says_what_would_be_assumed(self):
        # Megatron Core's choices, workloads/frameworks/megatron-core.yaml
        choices = ("data_parallel={zero: 1, overlap_reduce: true, overlap_gather: true, bucketing: megatron, update: separate}",
                   "tensor_parallel={overlap: bulk}", "pipeline={communicator: pipeline}", "host={launch: 4e-05 s, sync: [norm, experts]}")
        for words in (("run",), ("check",), ("check", "--json"), ("search", "--vary", "mesh.tp=2")):
            def noted(*texts, words=words):
                return self.meshsim(words[0], TINY, *words[1:], *sets("framework=null", *texts)).stderr
            said = noted()
            self.assertIn("note: no framework is named: ", said)
            self.assertIn("'--set framework=megatron-core' would assume ", said)
            for choice in choices:
                self.assertIn(choice, said)
            self.assertEqual(said.count("note: "), 1)
            self.assertIn("data_parallel={overlap_gather: true, bucketing", noted("data_parallel={zero: 1, overlap_reduce: true}"))
            for name in ("megatron-core", "none"):
                self.assertNotIn("no framework", noted(f"framework={name}"))
        costs = sets("model=null", "costs={forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms}")
        self.assertEqual(self.meshsim("run", TINY, *costs).stderr, "")

    def test_what_the_framework_refuses_is_refused(self):
        interleaved = ("schedule.kind=interleaved", "schedule.v=2")
        for name, texts, cure, said in (
            ("megatron-core", (MOE, *OF_GATED), "tensor_parallel.sequence=true", "'megatron-core' refuses experts with 'mesh.tp' above 1"),
            ("nemo", (MOE, *OF_GATED, "tensor_parallel.sequence=false"), "tensor_parallel.sequence=true", "'nemo' refuses experts"),
            ("megatron-core", (*interleaved, "schedule.sends=blocking"), "schedule.sends=async", "interleaved schedule of two pipeline ranks"),
            ("megatron-core", (*interleaved, "mesh.pp=1", "mesh.dp=4"), "schedule={kind: 1f1b}", "interleaved schedule with 'mesh.pp' of 1"),
            ("megatron-core", ("data_parallel.overlap_reduce=false",), "data_parallel.overlap_gather=false", "without 'data_parallel.overlap_reduce'"),
            ("megatron-core", ("mesh.cp=2", "platform.nodes=2", "model.sequence=1026", "mesh.order=[pp, dp, cp, tp]"), "model.sequence=1024", "twice 'mesh.cp'"),
            ("megatron-lm-2021", interleaved, "schedule={kind: 1f1b}", "fewer than three pipeline ranks"),
            ("deepspeed", ("data_parallel.zero=3",), "data_parallel.zero=1", "'deepspeed' refuses 'data_parallel.zero' of 2 or 3"),
            ("megatron-deepspeed", ("data_parallel.zero=2",), "data_parallel.zero=1", "'data_parallel.zero' of 2 or 3"),
            ("torchtitan", ("schedule.kind=interleaved", "schedule.v=1"), "schedule.v=2", "several stages per rank with 'schedule.v' of 1"),
        ):
            words = ("check", TINY, "--ignore-memory", *sets(f"framework={name}", *texts))
            self.assertIn(said, self.meshsim(*words, code=3).stderr, texts)
            self.meshsim(*words, *sets(cure))
        self.meshsim("check", TINY, *sets(MOE, *OF_GATED))  # nobody refuses it


class Schedules(programs.ProgramTest):
    source = "order.csv"

    def test_a_kind_that_takes_any_v_is_told_it(self):
        for kind in ANY_V:
            said = self.meshsim("run", TINY, *sets(f"schedule.kind={kind}"), code=3).stderr
            self.assertIn(f"schedule.v: '{kind}' needs the number of virtual stages per pipeline rank; expected 2, 4, which divide the 8 layers", said)
            self.meshsim("check", TINY, *sets(f"schedule.kind={kind}", "schedule.v=2"))
            self.assertIn("needs the number of stages per rank V", self.meshsim("schedule", kind, "-p", "4", "-m", "8", code=2).stderr)
        for texts, said in ((("model.layers=7",), "expected 2 to 3 with 'schedule.partition: balanced'"),
                            (("schedule.partition=balanced",), "expected 2 to 4"),
                            (("model.layers=2",), "2 layers are fewer than two for each of 2 ranks"),
                            (("schedule.stage_layers=[1, 1, 1, 2, 2, 1]",), "expected 3, as 'schedule.stage_layers' has 6 entries"),
                            (("model=null", "costs={forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms}"), "expected 2 or more")):
            self.assertIn(said, self.meshsim("check", TINY, *sets("schedule.kind=interleaved", *texts), code=3).stderr)
        for kind in ("zbv", "vhalf", "vmin", "dualpipev"):
            self.meshsim("check", TINY, *sets(f"schedule.kind={kind}"))
            self.assertIn("nearest legal V: 2", self.meshsim("check", TINY, *sets(f"schedule.kind={kind}", "schedule.v=1"), code=3).stderr)

    def found(self, *words):
        rows = json.loads(self.meshsim("search", TINY, *words, "--json", "--top", "50", "--exhaustive").stdout)["results"]
        return {(row["schedule"], row["v"]) for row in rows}

    def test_a_search_over_kinds_varies_v(self):
        self.assertEqual(self.found("--vary", "schedule.kind=interleaved"), {("interleaved", v) for v in (2, 3, 4)})
        self.assertEqual(self.found("--vary", "schedule.kind=1f1b,interleaved,zbv"), {("1f1b", 1), ("zbv", 2)} | {("interleaved", v) for v in (2, 3, 4)})
        self.assertEqual(self.found("--vary", "schedule={kind: interleaved},{kind: zb1p, v: 2}"), {("zb1p", 2)} | {("interleaved", v) for v in (2, 3, 4)})
        self.assertEqual(self.found("--vary", "schedule.kind=interleaved", "--vary", "schedule.v=4"), {("interleaved", 4)})
        self.assertEqual(self.found("--vary", "schedule.kind=1f1b,zb1p", *sets("schedule.kind=interleaved", "schedule.v=4")),
                         {("1f1b", 1)} | {("zb1p", v) for v in (2, 3, 4)})

    def test_a_makespan_names_its_unit_and_is_the_same_in_both(self):
        # golden formula: interleaved, P=4 V=2 M=16, F=I=W=1 of a virtual stage: (V M + P - 1) 3 = 105, of a rank's two stages 52.5
        self.meshsim("schedule", "interleaved", "-p", "4", "-v", "2", "-m", "16", "--csv", "order.csv")
        for kind in ("csv:order.csv", "interleaved"):
            sizes = ("-p", "4", "-m", "16", "-v", "2")
            alone = self.meshsim("schedule", kind, *(sizes if kind == "interleaved" else ())).stdout
            self.assertRegex(alone, r"times in +T, the unit of --tf, --tb and --tw of one\s+virtual stage\n")
            self.assertRegex(alone, r"makespan +105\n")
            self.assertRegex(alone, r"makespan in T of a rank's stages +52\.5\n")
            table = self.meshsim("schedule", "--compare", kind, *sizes).stdout
            self.assertIn("times in T of one virtual stage, or of a rank's stages together", table)
            self.assertRegex(table, rf"(?m)^{re.escape(kind)} +2 +105 +52\.5 ")
            row = json.loads(self.meshsim("schedule", "--compare", kind, *sizes, "--json").stdout)["rows"][0]
            self.assertEqual((row["makespan"], row["rank_makespan"]), (105, 52.5))
        only = json.loads(self.meshsim("schedule", "csv:order.csv", "--json").stdout)
        self.assertEqual((only["makespan"], only["max_span"] >= 96), (105, True))
        rows = json.loads(self.meshsim("schedule", "--compare", "1f1b,csv:order.csv", "--json").stdout)["rows"]
        # 1F1B: (M + P - 1) 3 = 57 with one stage to a rank; the table is sorted by what compares
        self.assertEqual([(row["makespan"], row["rank_makespan"]) for row in rows], [(105, 52.5), (57, 57)])
        self.assertRegex(self.meshsim("schedule", "1f1b", "--workload", TINY).stdout, r"times in +seconds, (.|\n)*makespan +[0-9.e-]+\n")


class TakenOut(programs.ProgramTest):
    def effective(self, *texts, workload=TINY):
        return self.meshsim("check", workload, "--effective", *sets(*texts)).stdout

    def test_keys_of_the_platform_and_of_its_base(self):
        for platform in ("dgx-h100", "dgx-h200"):  # the second builds on the first
            for key, usual in (("price", None), ("node.power", None), ("nvls", None), ("library", None), ("tiers.nvlink.latency", None), ("pxn", None),
                               ("gpu.spread", None), ("node", "node: this key is required"), ("gpu.hbm", "gpu.hbm: this key is required"),
                               ("tiers", "tiers: this key is required"), ("nodes", "nodes: this key is required"),
                               ("fabric.kind", "fabric.kind: this key is required"), ("gpu.type", "required key is missing")):
                for command in (("check", TINY, "--platform", platform, "--ignore-memory", *sets(f"platform.{key}=null")),
                                ("platform", platform, *sets(f"platform.{key}=null"))):
                    if usual is not None:
                        self.assertIn(usual, self.meshsim(*command, code=3).stderr, key)
                        continue
                    self.meshsim(*command)
        self.assertIn('"price_USD_per_h": 6.305', self.meshsim("platform", "dgx-h200", "--json").stdout)
        for text in ("platform.price=null", "price=null"):
            self.assertIn('"price_USD_per_h": null', self.meshsim("platform", "dgx-h200", "--json", *sets(text)).stdout)
        (self.folder / "own.yaml").write_text("name: own\nbase: dgx-h200\nprice: null\nnvls: ~\n", encoding="utf-8")
        self.assertIn('"price_USD_per_h": null', self.meshsim("platform", "own.yaml", "--json").stdout)

    def test_a_key_that_nobody_knows_is_still_told(self):
        for key, said in (("platform.prise", "did you mean 'price'?"), ("platform.tiers.nvlnk", "no tier 'nvlnk'"), ("platform.tiers.x", "no tier 'x'"),
                          ("modell", "unknown key"), ("model.layer", "did you mean 'layers'?"), ("platform.gpu.peek", "did you mean 'peak'?"),
                          ("platform.fabric.kinds", "did you mean 'kind'?")):
            self.assertIn(said, self.meshsim("check", TINY, *sets(f"{key}=null"), code=3).stderr, key)

    def test_keys_of_the_workload(self):
        for key, said in (("model", "expected either 'model' or 'costs', got neither"), ("mesh", "mesh: this key is required"), ("batch", "batch: "),
                          ("platform", "platform: this key is required"), ("model.layers", "model.layers: this key is required"),
                          ("platform.file", "platform.file: expected the name or path")):
            self.assertIn(said, self.meshsim("check", TINY, *sets(f"{key}=null"), code=3).stderr, key)
        for key in ("schedule", "schedule.v", "recompute", "framework", "precision", "mesh.order", "name", "expert_mesh", "data_parallel.bucket"):
            self.meshsim("check", TINY, *sets(f"{key}=null"))
        self.assertIn("schedule.kind = 1f1b  # default", self.effective("schedule.kind=null"))
        self.write({"model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 8, "num_attention_heads": 8,
                    "vocab_size": 32000, "num_key_value_heads": 4}, "config.json")
        (self.folder / "w.yaml").write_text("platform: {file: dgx-h100, nodes: 1}\nmodel: {hf: config.json}\nmesh: {dp: 8}\nbatch: {global: 8}\n", encoding="utf-8")
        self.assertIn("model.kv_heads = 4  # hf", self.effective(workload="w.yaml"))
        self.assertIn("model.kv_heads =  # not given", self.effective("model.kv_heads=null", workload="w.yaml"))
        self.assertIn("model.vocab: this key is required", self.meshsim("check", "w.yaml", *sets("model.vocab=null"), code=3).stderr)

    def test_a_trace_keeps_it_out(self):
        self.meshsim("run", TINY, *sets("platform.price=null"), "-o", "t.h5")
        self.meshsim("run", TINY, "-o", "u.h5")
        said = json.loads(self.meshsim("compare", "t.h5", "u.h5", "--json", code=1).stdout)
        self.assertIn("platform.price", [row["key"] for row in said["inputs"]])

    def test_a_search_takes_it_out(self):
        rows = json.loads(self.meshsim("search", TINY, "--vary", "platform.price=null,2 USD/h", "--json", "--exhaustive").stdout)["results"]
        self.assertEqual([row["cost"] is None for row in rows if row["settings"]["platform.price"] is None], [True])
        self.assertEqual(len(rows), 2)
        rows = json.loads(self.meshsim("search", TINY, "--vary", "platform.nvls=null,false", "--vary", "recompute=null,full", "--json", "--exhaustive",
                                       "--top", "9").stdout)["results"]
        self.assertEqual(len(rows), 4)


if __name__ == "__main__":
    programs.main("usage: test_first_hour.py MESHSIM [unittest arguments]")
