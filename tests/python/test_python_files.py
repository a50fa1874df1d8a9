#!/usr/bin/env python3
"""The package's face for files of other software: what `import` and `export` give, in this process, and exceptions with the places of faults.

usage: test_python_files.py MESHSIM [unittest arguments]
"""

import json
import os
import sys
from pathlib import Path

import programs
import yaml

sys.path.insert(0, str(programs.ROOT / "scripts" / "python"))
sys.dont_write_bytecode = True
import meshsim  # noqa: E402

ARGUMENTS = ("--num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 128 --vocab-size 1000 --micro-batch-size 1 --global-batch-size 16 --bf16 "
             "--tensor-model-parallel-size 2 --unheard-of --moe-flex-dispatcher-backend deepep")
TREE = "SwitchName=l1 Nodes=n[1-8]\nSwitchName=l2 Nodes=n[9-16]\nSwitchName=s Switches=l[1-2]\n"
LOG = ("# nThread 1 nGpus 1\n" + "".join(f"#  Rank  {rank} Group  0 Pid {rank} on n{rank // 8} device  {rank % 8} [0x{rank:02x}] NVIDIA H100\n" for rank in range(16))
       + "  1073741824   268435456     float     sum      -1   4000.0  268.44  503.32      0   4000.0  268.44  503.32      0\n")
TRACE = {"distributedInfo": {"rank": 0, "world_size": 8},
         "traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 10, "tid": 7, "args": {"stream": 7, "correlation": 1, "device": 0}}]}


class Files(programs.ProgramTest):
    def setUp(self):
        super().setUp()
        library = Path(self.program).parent / "libmeshsim.so.0"
        if self.is_sanitized() or not library.exists():
            self.skipTest("a library that Python can load is beside programs without sanitizers alone")
        os.environ.update(MESHSIM_LIBRARY=str(library), MESHSIM_DATA=str(programs.ROOT))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    @classmethod
    def tearDownClass(cls):
        meshsim.shut_down()

    def test_python_has_tokens(self):
        tiny = str(programs.ROOT / "workloads/tiny.yaml")
        run = meshsim.run(tiny, tokens="1T", settings={"platform.price": "2 USD/h"})
        self.assertTrue(abs(run.training_cost / (2 * run.training_gpu_hours) - 1) < 1e-9)
        self.assertTrue(abs(run.training_days / (1e12 / run.tokens_per_s / 86400) - 1) < 1e-9)
        self.assertGreater(run.training_energy_MWh, 0)
        self.assertIn("training_days", meshsim.check(tiny, tokens=1e12)["estimate"])
        found = meshsim.search(tiny, {"mesh.tp": [1, 2]}, {"platform.price": "2 USD/h"}, tokens="1T", objective="training_cost", top=1)
        self.assertGreater(found.results[0]["training_cost"], 0)

    def test_a_workload_is_what_the_command_prints_and_can_be_run(self):
        self.write(ARGUMENTS, "a.txt")
        words = ("--platform", "dgx-h100", "--gpus", "16", "--set", "mesh.dp=8")
        job = meshsim.import_megatron("a.txt", platform="dgx-h100", gpus=16, mesh__dp=8)
        printed = json.loads(self.meshsim("import", "megatron", "a.txt", *words, "--json", "--quiet", code=1).stdout)
        self.assertEqual((job, job.missing, job.keys, job.parameters), tuple(printed[key] for key in ("workload", "missing", "keys", "parameters")))
        self.assertEqual(job.differences, {"--moe-flex-dispatcher-backend": "time"})
        self.assertGreater(meshsim.run(job).step_time_s, 0)
        self.assertIn("unknown", {row["fate"] for row in job.keys})

    def test_every_importer_gives_what_its_command_prints(self):
        self.write({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": True}}, "ds.json")
        self.write({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
                    "num_hidden_layers": 8, "num_key_value_heads": 16, "vocab_size": 32000, "max_position_embeddings": 2048, "torch_dtype": "bfloat16"}, "config.json")
        self.write(TREE, "t.conf")
        self.write(LOG, "all_reduce.log")
        self.write(TRACE, "trace.json")
        for kind, files, found in (("deepspeed", ["ds.json", "config.json"], meshsim.import_deepspeed("ds.json", Path("config.json"))),
                                   ("hf", ["config.json"], meshsim.import_hf("config.json")), ("slurm", ["t.conf"], meshsim.import_slurm("t.conf")),
                                   ("nccl-tests", ["all_reduce.log"], meshsim.import_nccl_tests("all_reduce.log")),
                                   ("kineto", ["trace.json"], meshsim.import_kineto("trace.json"))):
            printed = json.loads(self.meshsim("import", kind, *files, "--json", "--quiet").stdout)
            if isinstance(found, str):
                self.assertEqual(found, printed["platform" if kind == "slurm" else "workload"])
                self.assertEqual((found.missing, found.keys), (printed["missing"], printed["keys"]))
            else:
                self.assertEqual(json.loads(json.dumps(found.to_dict())), printed)
        self.assertEqual(meshsim.import_slurm("t.conf", node__gpus=4).missing[0], "node.nics")

    def test_tables_are_of_pandas_where_it_is_there(self):
        self.write(LOG, "all_reduce.log")
        found = meshsim.import_nccl_tests("all_reduce.log")
        self.assertEqual([(row["op"], row["ranks"], row["bytes"], row["time_us"]) for row in found["rows"]], [("all_reduce", 16, 2**30, 4000)])
        try:
            import pandas  # pylint: disable=unused-import,import-outside-toplevel
        except ImportError:
            self.assertRaises(ImportError, found.to_pandas, "rows")
        else:
            self.assertEqual(found.to_pandas("rows")["busbw_gb_s"].tolist(), [found["rows"][0]["busbw_gb_s"]])

    def test_exports_are_texts_of_other_software(self):
        tiny = str(programs.ROOT / "workloads/tiny.yaml")
        for kind in ("megatron", "torchtitan", "deepspeed"):
            found = getattr(meshsim, f"export_{kind}")(tiny, mesh__tp=1, mesh__dp=4)
            printed = json.loads(self.meshsim("export", kind, tiny, "--set", "mesh.tp=1", "--set", "mesh.dp=4", "--json", "--quiet").stdout)
            self.assertEqual((found, found.unsaid), (printed["text"], printed["unsaid"]))
        spec = yaml.safe_load(Path(tiny).read_text(encoding="utf-8"))
        self.assertEqual(json.loads(meshsim.export_deepspeed(spec)), json.loads(meshsim.export_deepspeed(tiny)))

    def test_faults_are_exceptions_with_their_places(self):
        self.write(ARGUMENTS.replace("--num-layers 8", "--num-layers x"), "a.txt")
        with self.assertRaises(meshsim.InputError) as caught:
            meshsim.import_megatron("a.txt")
        fault = caught.exception.diagnostics[0]
        self.assertEqual((caught.exception.status, fault.file, fault.line, fault.column), (3, "a.txt", 1, 1))
        self.assertIn("expected a count of 1 or more, got 'x'", fault.message)
        self.write(ARGUMENTS, "a.txt")
        for ask, kind, message in ((lambda: meshsim.import_megatron("a.txt", model__heads=7), meshsim.InputError, "do not divide hidden size"),
                                   (lambda: meshsim.import_slurm("nowhere.conf"), meshsim.InputError, "no such file"),
                                   (lambda: meshsim.import_hf("nowhere.json"), meshsim.MeshsimError, "nowhere.json"),
                                   (lambda: meshsim.import_megatron("a.txt", gpus=8), meshsim.UsageError, "'--gpus' needs '--platform'"),
                                   (lambda: meshsim.export_megatron("nowhere.yaml"), meshsim.MeshsimError, "nowhere.yaml"),
                                   (lambda: meshsim.export_deepspeed({"mesh": {"dp": 1}}), meshsim.InputError, "platform")):
            with self.assertRaises(kind) as caught:
                ask()
            self.assertIn(message, str(caught.exception))
            self.assertTrue(caught.exception.diagnostics, str(caught.exception))


if __name__ == "__main__":
    programs.main(__doc__)
