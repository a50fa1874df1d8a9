#!/usr/bin/env python3
"""Importing DeepSpeed's configurations: what they say, what a trainer fills in, and what is refused.

usage: test_import_deepspeed.py MESHSIM [unittest arguments]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
WHERE = ["--set", "platform={file: dgx-h100, nodes: 2}"]
MODEL = str(ROOT / "tests/import/hf/llama-2-7b.json")
BATCH = {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4}
# As Transformers' documentation has it for stage 3 with offloading, all that its trainer knows left to it.
AUTO = {"fp16": {"enabled": "auto", "loss_scale": 0, "loss_scale_window": 1000, "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1},
        "bf16": {"enabled": "auto"}, "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
        "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": "auto"}},
        "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": True}, "offload_param": {"device": "cpu", "pin_memory": True},
                              "overlap_comm": True, "contiguous_gradients": True, "sub_group_size": 1e9, "reduce_bucket_size": "auto",
                              "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto", "stage3_max_live_parameters": 1e9,
                              "stage3_max_reuse_distance": 1e9, "stage3_gather_16bit_weights_on_model_save": True},
        "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "steps_per_print": 2000, "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto", "wall_clock_breakdown": False}


class ImportDeepSpeed(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="meshsim-deepspeed-")))

    def meshsim(self, *words, code=0):
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True,
                              env=dict(os.environ, MESHSIM_DATA=str(ROOT)), timeout=100)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done

    def write(self, config, name="ds.json"):
        (self.folder / name).write_text(config if isinstance(config, str) else json.dumps(config, indent=2), encoding="utf-8")
        return name

    def imported(self, config, *more):
        """What came of a configuration: the report, and the workload as a tree."""
        told = json.loads(self.meshsim("import", "deepspeed", self.write(config), *more, "--quiet", "--json", "--accept-differences").stdout)
        return told, yaml.safe_load(told["workload"])

    def fates(self, told):
        return {key["key"]: (key["fate"], key["why"]) for key in told["keys"]}

    def test_two_commands_from_a_configuration_to_an_answer(self):
        self.write(AUTO)
        done = self.meshsim("import", "deepspeed", "ds.json", MODEL, "--platform", "dgx-h100", "--gpus", "16", "--batch", "32", "--set", "precision.parameters=bf16",
                            "-o", "w.yaml", code=1)
        self.assertIn("6738415616 parameters", done.stdout)
        self.assertIn("ds.json:51:3: note: train_batch_size: used for batch\n", done.stderr)
        self.assertIn("zero_optimization.reduce_bucket_size: assumed: hidden size squared, as Transformers fills it in\n", done.stderr)
        self.assertIn("the memory of this run differs from what is simulated: zero_optimization.offload_param.device; --accept-differences takes that\n", done.stderr)
        run = json.loads(self.meshsim("run", "w.yaml", "--json").stdout)
        self.assertEqual((run["gpus"], run["global_batch"]), (16, 32))

    def test_what_a_trainer_fills_in_is_required(self):
        told, work = self.imported(AUTO)
        self.assertEqual(told["missing"], ["platform", "model", "mesh", "batch", "precision.parameters"])
        self.assertIn("# required: precision.parameters  # bf16, fp16 or fp32, as the trainer runs", told["workload"])
        self.assertEqual(work["data_parallel"], {"zero": 3, "overlap_reduce": True, "overlap_gather": True, "bucket": "1000000000 B", "offload": True})
        fates = self.fates(told)
        self.assertEqual(fates["zero_optimization.offload_param.device"], ("ignored", "simulated otherwise: parameters stay on the GPUs"))
        self.assertEqual(fates["optimizer.type"], ("used", "precision.optimizer"))
        self.assertEqual([key for key, (fate, _) in fates.items() if fate == "unknown"], [])
        (self.folder / "w.yaml").write_text(told["workload"], encoding="utf-8")
        refused = self.meshsim("check", "w.yaml", code=3).stderr
        for key in ("platform", "mesh", "batch", "precision.parameters"):
            self.assertIn(key, refused)
        # The square of the model's size, of 2 bytes each, as Transformers fills it in.
        self.assertEqual(self.imported(AUTO, MODEL)[1]["data_parallel"]["bucket"], f"{2 * 4096 * 4096} B")

    def test_of_three_batch_sizes_two_say_the_third(self):
        rows = [(BATCH, {"global": 64, "micro": 1}, {"dp": 16}),
                ({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2}, {"global": 64, "micro": 2}, None),
                ({"train_batch_size": 64, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 4}, {"global": 64, "micro": "required"}, None),
                ({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4}, {"micro": 2, "microbatches": 4}, None),
                ({"train_micro_batch_size_per_gpu": 2}, {"micro": 2, "microbatches": 1}, None),
                ({"train_batch_size": "auto", "gradient_accumulation_steps": 4}, {"micro": "required", "microbatches": 4}, None)]
        for config, batch, mesh in rows:
            _, work = self.imported(config)
            self.assertEqual((work["batch"], work.get("mesh")), (batch, mesh), config)

    def test_types_and_bytes_of_each_precision(self):
        half = {"bf16_master_weights_and_grads": True}
        rows = [({}, 0, ("fp32", "fp32", "8 B")), ({"bf16": {"enabled": True}}, 0, ("bf16", "fp32", "12 B")),
                ({"bf16": {"enabled": True}}, 2, ("bf16", "bf16", "12 B")), ({"fp16": {"enabled": True}}, 1, ("fp16", "fp16", "12 B")),
                ({"bf16": {"enabled": True, **half}}, 2, ("bf16", "bf16", "10 B")),
                ({"bf16": {"enabled": True, **half, "bf16_optimizer_states": True}}, 3, ("bf16", "bf16", "6 B")),
                ({"bf16": {"enabled": True}, "optimizer": {"type": "Lion"}}, 1, ("bf16", "bf16", "8 B")),
                ({"bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp32"}}, 1, ("bf16", "fp32", "12 B"))]
        for config, stage, (parameters, gradients, optimizer) in rows:
            _, work = self.imported({**BATCH, **config, "zero_optimization": {"stage": stage}})
            self.assertEqual(work["precision"], {"parameters": parameters, "gradients": gradients, "optimizer": optimizer}, config)
        self.assertTrue(work["data_parallel"]["all_reduce"])  # of the last one, DeepSpeed's optimizer of bf16

    def test_overlaps_of_each_stage_are_deepspeeds_defaults(self):
        for stage, given, overlaps in [(0, None, False), (0, True, False), (1, None, False), (2, True, True), (3, None, True), (3, False, False)]:
            zero = {"stage": stage} if given is None else {"stage": stage, "overlap_comm": given}
            told, work = self.imported({**BATCH, "bf16": {"enabled": True}, "zero_optimization": zero})
            self.assertEqual((work["data_parallel"]["overlap_reduce"], work["data_parallel"]["overlap_gather"]), (overlaps, stage == 3), zero)
            self.assertEqual(self.fates(told).get("zero_optimization.overlap_comm", ("",))[0], "assumed" if given is None else "used", zero)

    def test_axes(self):
        told, work = self.imported({**BATCH, "train_batch_size": 16, "tensor_parallel": {"autotp_size": 2}, "sequence_parallel_size": 2,
                                    "pipeline": {"stages": 2, "activation_checkpoint_interval": 1, "partition": "best"}})
        self.assertEqual(work["mesh"], {"tp": 2, "pp": 2, "cp": 2, "dp": 4})
        self.assertEqual((work["context_parallel"]["kind"], work["recompute"]), ("all_to_all", "full"))
        self.assertEqual(self.fates(told)["pipeline.partition"][0], "ignored")
        told, work = self.imported({"train_batch_size": "auto", "tensor_parallel": {"autotp_size": 4}})
        self.assertEqual((work["mesh"], told["missing"]), ({"tp": 4, "dp": "required"}, ["platform", "model", "batch", "mesh.dp"]))

    def test_what_a_step_would_show_is_told_apart_from_what_it_would_not(self):
        zero = {"stage": 3, "zero_hpz_partition_size": 8, "zero_quantized_gradients": True, "zero_quantized_weights": False, "mics_shard_size": -1, "made_up": 1}
        told, _ = self.imported({**BATCH, "zero_optimization": zero, "communication_data_type": "fp16", "elasticity": {"enabled": False}, "wandb": {"enabled": True},
                                 "also made\nup": {"x": 1}, "activation_checkpointing": {"cpu_checkpointing": True, "profile": False}})
        fates = self.fates(told)
        for key, why in {"zero_optimization.zero_hpz_partition_size": "parameters are gathered from all replicas in the backward pass, too",
                         "zero_optimization.zero_quantized_gradients": "gradients are reduced in their own type",
                         "communication_data_type": "gradients are sent as they are accumulated",
                         "activation_checkpointing.cpu_checkpointing": "kept inputs of layers stay on the GPUs"}.items():
            self.assertEqual(fates[key], ("ignored", "simulated otherwise: " + why))
            self.assertIn(f"# {key}: simulated otherwise: {why}\n", told["workload"])
        for key in ("zero_optimization.zero_quantized_weights", "zero_optimization.mics_shard_size", "elasticity"):
            self.assertEqual(fates[key], ("ignored", "it is simulated so in any case"))
        self.assertEqual([key for key, (fate, _) in fates.items() if fate == "unknown"], ["zero_optimization.made_up", "also made\nup"])
        self.assertIn("# also made?up: not known\n", told["workload"])

    def test_what_is_wrong_is_told_with_its_place(self):
        rows = [("{", "expecting"), ("[]", "expected"), ("{\n  // why\n  \"bf16\": {\"enabled\": true}}", "ds.json:2:3: error: not valid JSON: expecting property name enclosed in double quotes; JSON has no comments"), ("{\"bf16\": {\"enabled\": true},}", "ds.json:1:28"),
                ({"bf16": {"enabled": True}}, "train_batch_size: key is missing: DeepSpeed needs it or train_micro_batch_size_per_gpu"),
                ({**BATCH, "train_batch_size": 63}, "ds.json:2:23: error: train_batch_size: expected a multiple of 1 x 4"),
                ({**BATCH, "train_micro_batch_size_per_gpu": "two"}, "expected a number from 1 or \"auto\", got 'two'"),
                ({**BATCH, "gradient_accumulation_steps": 1.5}, "expected a whole number from 1 to 100000000, got '1.5'"),
                ({**BATCH, "train_batch_size": [1]}, "got 'a list'"),
                ({**BATCH, "bf16": {"enabled": True}, "fp16": {"enabled": True}}, "fp16.enabled: expected one of it and bf16.enabled, got both"),
                ({**BATCH, "bf16": {"enabled": "yes"}}, "bf16.enabled: expected true, false or \"auto\", got 'yes'"),
                ({**BATCH, "zero_optimization": {"stage": 4}}, "zero_optimization.stage: expected 0 to 3, got '4'"),
                ({**BATCH, "zero_optimization": 3}, "zero_optimization: expected an object, got '3'"),
                ({**BATCH, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "tape"}}}, "expected cpu, nvme or none, got 'tape'"),
                ({**BATCH, "zero_optimization": {"stage": 3, "reduce_bucket_size": -5}}, "got '-5'"),
                ({**BATCH, "optimizer": {"type": "Sofia"}}, "expected an optimizer whose bytes are known"),
                ({**BATCH, "data_types": {"grad_accum_dtype": "int8"}}, "expected fp32, fp16 or bf16, got 'int8'")]
        for config, message in rows:
            self.assertIn(message, self.meshsim("import", "deepspeed", self.write(config), code=3).stderr, config)
        twice = self.meshsim("import", "deepspeed", self.write({**BATCH, "zero_optimization": {"stage": 9}, "fp16": {"enabled": 7}}), code=3).stderr
        self.assertEqual(twice.count("error: "), 2)

    def test_numbers_that_python_writes_are_read(self):
        told, _ = self.imported('{"train_batch_size": 64, "gradient_clipping": Infinity, "scheduler": {"x": NaN}}')
        self.assertEqual(self.fates(told)["gradient_clipping"][0], "ignored")
        self.assertIn("got 'NaN'", self.meshsim("import", "deepspeed", self.write('{"train_batch_size": NaN}'), code=3).stderr)

    def test_files_go_together_in_either_order(self):
        self.write(BATCH)
        one = self.meshsim("import", "deepspeed", "ds.json", MODEL, *WHERE, "--quiet").stdout
        self.assertEqual(self.meshsim("import", "deepspeed", MODEL, "ds.json", *WHERE, "--quiet").stdout, one)
        self.assertIn("'import hf' takes one alone", self.meshsim("import", "deepspeed", MODEL, code=3).stderr)
        self.assertIn("which has a 'model_type'", self.meshsim("import", "deepspeed", "ds.json", "ds.json", code=3).stderr)
        self.assertIn("got two", self.meshsim("import", "deepspeed", MODEL, MODEL, code=3).stderr)
        self.assertIn("got 3 files", self.meshsim("import", "deepspeed", "ds.json", MODEL, MODEL, code=2).stderr)
        self.meshsim("import", "deepspeed", "no.json", code=3)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
