#!/usr/bin/env python3
"""Importing the arguments of runs of Megatron-LM: those of its own tests, scripts, logs, and what is refused.

Where no sandbox can be made, a test of launch scripts ends with the first one, which has to be refused with the reason and the way out.

usage: test_import_megatron.py MESHSIM [unittest arguments]
"""

import json
import re
import shlex

import programs
import yaml
from programs import ROOT

LINE = "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 --micro-batch-size 1 --global-batch-size 16 --bf16 "
WHERE = ["--set", "platform={file: dgx-a100, nodes: 1}", "--set", "model.vocab=51200"]


@programs.may_be_refused
class ImportMegatron(programs.ProgramTest):
    source = "train.sh"

    def imported(self, text, *more, name="train.sh"):
        return json.loads(self.meshsim("import", "megatron", self.write(text, name), "--quiet", "--json", "--accept-differences", *more).stdout)

    def test_every_argument_of_its_own_tests_is_told_of(self):
        """Those of 53 runs, as somebody would paste them into a file, and as MODEL_ARGS."""
        rows = yaml.load((ROOT / "workloads/validation/megatron_ci.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
        self.assertEqual(len(rows), 53)
        for row in rows:
            pairs = [item.partition(" ")[::2] for item in row["args"] if not item.startswith("env ")]
            line = " ".join(name + (" " + shlex.quote(value) if value else "") for name, value in pairs)
            done = self.imported(f"torchrun --nproc_per_node {row.get('num_gpus', 8)} pretrain_gpt.py {line}\n", *WHERE)
            names = [key["key"] for key in done["keys"] if key["key"].startswith("--")]
            self.assertEqual(sorted(names), sorted(name for name, _ in pairs), row["id"])
            self.assertEqual([key["key"] for key in done["keys"] if key["fate"] == "unknown"], [], row["id"])
            self.assertEqual(done["missing"], [], row["id"])
            if row["id"] == rows[0]["id"]:
                text = yaml.dump({"MODEL_ARGS": {name: value or True for name, value in pairs}})
                same = self.imported(text, *WHERE, "--set", f"mesh.dp={row['workload']['mesh']['dp']}", name="model_config.yaml")
                as_lines = [line for line in done["workload"].splitlines() if not line.startswith("#")]
                self.assertEqual([line for line in same["workload"].splitlines() if not line.startswith("#")], as_lines)

    def test_what_an_override_says_is_no_longer_required(self):
        line = f"torchrun --nproc_per_node 8 pretrain_gpt.py {LINE}\n"
        self.assertIn("# required: model.vocab", self.imported(line)["workload"])
        said = self.imported(line, "--set", "model.vocab=32000")["workload"]
        self.assertNotIn("required: model.vocab", said)
        self.assertIn("# required: platform", said)

    def test_two_commands_from_a_script_to_an_answer(self):
        script = f"GPUS=8\nARGS=(\n  {LINE}\n  --tensor-model-parallel-size 2 # of a node\n)\n" \
                 "torchrun --nproc_per_node $GPUS pretrain_gpt.py ${ARGS[@]} --made-up 1 2>&1 | tee log\n"
        done = self.meshsim("import", "megatron", self.write(script), *WHERE, "-o", "w.yaml")
        self.assertIn("train.sh:6:60: note: --made-up: unknown", done.stderr)
        self.assertIn("--num-layers: used for model.layers", done.stderr)
        run = json.loads(self.meshsim("run", "w.yaml", "--json").stdout)
        self.assertEqual((run["mesh"]["tp"], run["mesh"]["dp"], run["global_batch"], run["gpus"]), (2, 4, 16, 8))
        self.assertIn("# --made-up: not known", (self.folder / "w.yaml").read_text(encoding="utf-8"))

    def test_what_arguments_leave_open_is_named_by_check(self):
        done = self.meshsim("import", "megatron", self.write(LINE), "-o", "w.yaml")
        self.assertIn("required   platform, model.vocab, mesh.dp", done.stdout)
        refused = self.meshsim("check", "w.yaml", code=3).stderr
        for key in ("platform", "model.vocab", "mesh.dp"):
            self.assertIn(key, refused)
        self.meshsim("import", "megatron", "train.sh", *WHERE, "--set", "mesh.dp=8", "-o", "w.yaml")
        self.meshsim("check", "w.yaml")

    def test_variables_of_one_file_are_known_in_the_next(self):
        self.write("TP=4\n", "env.sh")
        self.write(f"torchrun --nproc_per_node 8 pretrain_gpt.py {LINE} --tensor-model-parallel-size $TP\n")
        done = json.loads(self.meshsim("import", "megatron", "env.sh", "train.sh", "--quiet", "--json", *WHERE).stdout)
        self.assertIn("tp: 4", done["workload"])
        alone = self.meshsim("import", "megatron", "train.sh", code=3).stderr
        self.assertIn("train.sh:1:", alone)
        self.assertIn("expected a count of 1 or more, got '$TP', which the file does not set", alone)

    def test_what_other_software_calls_by_other_names(self):
        base = ("--num-layers 4 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --micro-batch-size 1 --global-batch-size 8 --vocab-size 50257 "
                "--max-position-embeddings 1024 ")
        def imported(words):
            (self.folder / "run.sh").write_text(f"torchrun --nproc_per_node 8 pretrain_gpt.py {base}{words}\n", encoding="utf-8")
            return json.loads(self.meshsim("import", "megatron", "run.sh", "--quiet", "--json").stdout)
        for words, there in (("--num-key-value-heads 4", ["kv_heads: 4"]),  # of Megatron-DeepSpeed
                             ("--num-experts 8 --topk 3 --moe-expert-parallel-size 4", ["top_k: 3", "ep: 4"]),
                             ("--num-experts 8 --moe-shared-expert-intermediate-size 64 --moe-shared-expert-gate", ["shared_gate: true"]),
                             ("--multi-latent-attention --qk-nope-head-dim 96 --qk-rope-head-dim 32 --num-mtp-predictor 1",
                              ["qk_nope: 96", "qk_rope: 32", "mtp_layers: 1"])):  # of Pai-Megatron-Patch
            found = imported(words)
            self.assertEqual([key["key"] for key in found["keys"] if key["fate"] == "unknown"], [])
            for text in there:
                self.assertIn(text, found["workload"])
        said = self.meshsim("import", "megatron", "run.sh").stderr
        self.assertIn("--qk-nope-head-dim: used for model.mla.qk_nope", said)

    def test_names_with_underscores_and_switches_with_values(self):
        """As ms-swift's documentation has them (Megatron-SWIFT, command line parameters)."""
        (self.folder / "run.sh").write_text("megatron sft --num_layers 4 --hidden_size 1024 --num_attention_heads 16 --seq_length 1024 --sequence_parallel true "
                                            "--tensor_model_parallel_size 2 --swiglu false --micro_batch_size 1 --global_batch_size 16 --bf16 true --lora_rank 8\n",
                                            encoding="utf-8")
        found = json.loads(self.meshsim("import", "megatron", "run.sh", "--quiet", "--json").stdout)
        for text in ("layers: 4", "tp: 2", "sequence: true", "gated: false", "parameters: bf16"):
            self.assertIn(text, found["workload"])
        self.assertEqual([key["key"] for key in found["keys"] if key["fate"] == "unknown"], ["--lora_rank"])
        self.assertIn(("--swiglu false", "ignored", "it is off"), [(key["key"], key["fate"], key["why"]) for key in found["keys"]])

    def test_a_parameter_that_is_not_given_is_asked_for(self):
        (self.folder / "run.sh").write_text("L=${10}\npython pretrain_gpt.py --num-layers $L --hidden-size $H --seq-length 10\n", encoding="utf-8")
        said = self.meshsim("import", "megatron", "run.sh", code=3).stderr
        self.assertIn("--num-layers: expected a count of 1 or more, got '${10}', which the file does not set: --define 10=VALUE", said)
        self.assertIn("--define H=VALUE", said)

    def test_the_page_says_how_what_is_required_is_given(self):
        (self.folder / "run.sh").write_text("torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 "
                                            "--seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 32\n", encoding="utf-8")
        page = self.meshsim("import", "megatron", "run.sh", "-o", "w.yaml").stdout
        later = re.search(r"^or later   meshsim (run w.yaml .*)$", page, re.M)[1]
        self.assertIn("nodes: 4", later)
        self.meshsim(*shlex.split(later))
        now = re.search(r"^now        add, for example, (.*)$", page, re.M)[1]
        self.assertNotIn("required", self.meshsim("import", "megatron", "run.sh", *shlex.split(now), "-o", "w.yaml").stdout)
        self.meshsim("run", "w.yaml")

    def test_defaults_have_quotes_and_defaults_of_their_own(self):
        script = 'NODES=${SLURM_NNODES:-"${WORLD:-3}"}\nGPUS=${GPUS:-\'8\'}\nTP="${TP:-"2"}"\n' \
                 f"torchrun --nproc_per_node $GPUS --nnodes $NODES pretrain_gpt.py {LINE.replace('batch-size 16', 'batch-size 24')}" \
                 "--tensor-model-parallel-size $TP\n"
        done = self.imported(script, "--set", "platform={file: dgx-a100, nodes: 3}", "--set", "model.vocab=51200")
        self.assertEqual(yaml.safe_load(done["workload"])["mesh"]["dp"], 12)
        deep = f"{LINE} --lr " + "${A:-" * 5000 + "1" + "}" * 5000
        self.meshsim("import", "megatron", self.write(deep), *WHERE, "--set", "mesh.dp=8")

    def test_what_a_script_leaves_to_its_surroundings_is_told_and_can_be_said(self):
        sizes = "case $1 in\n  a) L=8 ;;\n  b)\n    L=16\n    ;;\nesac\n[ -n \"$FP8\" ] && X=--fp8-format=hybrid\n"
        script = f"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n{sizes}srun python pretrain_gpt.py {LINE.replace('layers 8', 'layers $L')} --save $CKPT/x $X\n"
        refused = self.meshsim("import", "megatron", self.write(script), "--platform", "dgx-a100", code=3).stderr
        self.assertIn("train.sh:10:29: error: --num-layers: expected a count of 1 or more, got '$L', which the file does not set: --define L=VALUE", refused)
        done = self.meshsim("import", "megatron", "train.sh", "--platform", "dgx-a100", "--set", "model.vocab=51200", "--define", "1=a", "-o", "w.yaml")
        self.assertIn("note: $FP8: assumed: empty, it decides which arguments there are, and is not set here (--define FP8=VALUE)", done.stderr)
        self.assertIn("--save: ignored: checkpoints are left out", done.stderr)  # a path that no step needs does not matter
        found = yaml.safe_load((self.folder / "w.yaml").read_text(encoding="utf-8"))
        self.assertEqual((found["model"]["layers"], found["mesh"]["dp"], found["platform"]["nodes"]), (8, 16, 2))
        self.meshsim("check", "w.yaml")
        found = yaml.safe_load(self.imported(script, *WHERE, "--define", "1=b", "--define", "FP8=1")["workload"])
        self.assertEqual((found["model"]["layers"], found["precision"]["products"]), (16, "fp8"))
        self.assertIn("expected NAME=VALUE", self.meshsim("import", "megatron", "train.sh", "--define", "1", code=3).stderr)

    def test_what_is_not_simulated_is_an_answer_or_a_refusal(self):
        """What an argument changes that the simulation does not follow: memory or time (exit code 1), or the size (refused)."""
        self.write(f"torchrun --nproc_per_node 8 pretrain_gpt.py {LINE} --qk-l2-norm\n")
        told = self.meshsim("import", "megatron", "train.sh", *WHERE, "-o", "w.yaml", code=1).stderr
        self.assertIn("the time of this run differs from what is simulated: --qk-l2-norm; --accept-differences takes that", told)
        self.meshsim("check", "w.yaml")
        self.meshsim("import", "megatron", "train.sh", *WHERE, "--accept-differences", "-o", "w.yaml")
        hybrid = "--is-hybrid-model --hybrid-layer-pattern 'ME*EMEM*'"
        refused = self.meshsim("import", "megatron", self.write(f"{LINE} {hybrid}\n"), *WHERE, "--accept-differences", code=3).stderr
        self.assertIn("--hybrid-layer-pattern: it is known and not built: the model has layers of a state-space model (Mamba)", refused)
        for words in ("--num-side-layers 3", "--experimental-attention-variant dsa", "--mlp-type residual --num-experts 4"):
            self.meshsim("import", "megatron", self.write(f"{LINE} {words}\n"), *WHERE, code=3)
        for words in ("--hybrid-attention-ratio 0.0", "--spec local", "--mlp-type standard", "--made-up 3", "--log-every-layers 3"):
            self.meshsim("import", "megatron", self.write(f"{LINE} {words}\n"), *WHERE)

    def test_forks_have_defaults_of_their_own(self):
        """Published as 1.3B+MoE-128 with 52 billion parameters; Megatron-DeepSpeed has experts in every second layer, one of which a token meets."""
        base = ("--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 "
                "--global-batch-size 512 --deepspeed --zero-stage 1 ")
        sparse = base + "--num-experts 128 --moe-expert-parallel-size 128 --topk 1 --padded-vocab-size 50304 --fp16"
        found = self.imported(f"deepspeed --num_nodes 16 --num_gpus 8 pretrain_gpt.py {sparse}\n", "--platform", "dgx-a100")
        self.assertAlmostEqual(found["parameters"]["total"] / 1e9, 52.4, delta=0.2)
        moe = yaml.safe_load(found["workload"])["model"]["moe"]
        self.assertEqual((moe["every"], moe["top_k"]), (2, 1))
        every = yaml.safe_load(self.imported(f"deepspeed --num_nodes 16 --num_gpus 8 pretrain_gpt.py {sparse} --expert-interval 1\n")["workload"])
        self.assertNotIn("every", every["model"]["moe"])
        dense = base + ("--num-experts 1 --moe-loss-coeff 0.01 --normalization rmsnorm --swiglu --ffn-hidden-size 5504 --disable-bias-linear --bf16 "
                        "--use-rotary-position-embeddings --untie-embeddings-and-output-weights --padded-vocab-size 32000")
        found = self.imported(f"deepspeed --num_nodes 2 --num_gpus 8 pretrain_gpt.py {dense}\n")
        self.assertEqual(found["parameters"]["total"], 1_345_423_360)
        model = yaml.safe_load(found["workload"])["model"]
        self.assertEqual((model["norm"], "moe" in model), ("rms", False))

    def test_thresholds_of_batches_are_numbers_with_suffixes(self):
        found = self.imported(f"{LINE.replace('--global-batch-size 16', '')} --step-batch-size-schedule '0:16 2.4B:320 4.8B:640 12B:1536'\n")
        self.assertEqual(yaml.safe_load(found["workload"])["batch"]["global"], 1536)

    def test_the_gpus_of_a_job_make_its_nodes(self):
        two = f"torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py {LINE}\n"
        nodes = lambda *more: yaml.safe_load(self.imported(two, *more)["workload"]).get("platform")  # noqa: E731
        self.assertEqual(nodes("--platform", "dgx-a100")["nodes"], 2)
        self.assertEqual(nodes("--set", "platform.file=dgx-a100")["nodes"], 2)
        self.assertEqual(nodes("--set", "platform={file: dgx-a100, nodes: 4}")["nodes"], 4)
        self.assertEqual(nodes("--set", "platform.file=not-here"), {"file": "not-here"})
        part = self.imported(two.replace("node 8", "node 5"), "--set", "platform.file=dgx-a100")["workload"]
        self.assertIn("# platform.nodes: 10 GPUs of the job do not fill nodes of 8 each", part)
        # what the user says counts, also where the file says nothing
        more = yaml.safe_load(self.imported(LINE + "--tensor-model-parallel-size 2", "--platform", "dgx-a100", "--gpus", "32")["workload"])
        self.assertEqual((more["mesh"]["dp"], more["platform"]["nodes"]), (16, 4))
        # what starts the job: torchrun once a node, or the ranks themselves
        for start, dp in (("srun -N 2 -n 2 torchrun --nproc-per-node=8 --nnodes=2", 16), ("srun -N 2 --ntasks-per-node=4 python", 8), ("mpirun -np 4 python", 4),
                          ("deepspeed --num_gpus 8 --num_nodes 3", 24), ("python -m torch.distributed.launch --nproc_per_node 4", 4)):
            self.assertEqual(yaml.safe_load(self.imported(f"{start} pretrain_gpt.py {LINE.replace('size 16', 'size 48')}\n")["workload"])["mesh"]["dp"], dp, start)
        # an example that is to be changed for more nodes
        large = self.imported(two.replace("nnodes 2", "nnodes 1").replace(LINE, LINE + "--tensor-model-parallel-size 16"))["workload"]
        self.assertIn("# required: mesh.dp  # GPUs of the job / 16; it is started on 8: --gpus, or --define", large)
        told = self.meshsim("import", "megatron", self.write(two.replace("nnodes 2", "nnodes $N")), "--quiet").stdout
        self.assertIn("# launcher --nnodes: simulated otherwise: '$N' is no number: --define NAME=VALUE says what the file does not", told)

    def test_megatron_deepspeed_is_its_profile(self):
        """A script in the form of BLOOM's: the sizes are those of BigScience, tr11-176B-ml, whose model has 176,247,271,424 parameters with
        a norm of the embedding, which is left out here: 2 x 14,336."""
        script = "#SBATCH --nodes=48\n#SBATCH --ntasks-per-node=1 # one\nNNODES=$SLURM_NNODES\nGPT=\" --pp-partition-method 'type:transformer|embedding' \\\n" \
                 "  --num-layers 70 --hidden-size 14336 --num-attention-heads 112 --seq-length 2048 --micro-batch-size 2 --global-batch-size 2048 \\\n" \
                 "  --embed-layernorm --bf16 --position-embedding-type alibi --checkpoint-activations --pad-vocab-size-to 250880\"\n" \
                 "cat <<EOT > ds.json\n{\n  \"zero_optimization\": {\"stage\": 0}\n}\nEOT\n" \
                 "RUN=\"python -u -m torch.distributed.run --nproc_per_node 8 --nnodes $NNODES --rdzv_endpoint $(hostname | head -n 1):6000\"\n" \
                 "CMD=\"`pwd`/pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 12 $GPT --deepspeed --zero-stage 0\"\n" \
                 "clear; srun --wait=60 bash -c \"$RUN --node_rank \\$SLURM_PROCID $CMD\" 2>&1 | tee -a log\n"
        done = self.imported(script, "--platform", "dgx-a100")
        self.assertEqual(done["parameters"]["total"], 176_247_271_424 - 2 * 14_336)
        self.assertEqual([key["key"] for key in done["keys"] if key["fate"] == "unknown"], [])
        found = yaml.safe_load(done["workload"])
        self.assertEqual((found["framework"], found["model"]["positions"], found["mesh"]["dp"], found["platform"]["nodes"]), ("megatron-deepspeed", "alibi", 8, 48))
        self.assertEqual((found["schedule"]["first_stage_layers"], found["schedule"]["last_stage_layers"]), (5, 5))
        for key in ("data_parallel", "memory", "host"):  # what DeepSpeed's engine does
            self.assertNotIn(key, found)
        blocking = self.imported("export CUDA_LAUNCH_BLOCKING=1\n" + script)  # as BLOOM's had it
        self.assertEqual(yaml.safe_load(blocking["workload"])["host"], {"sync": ["kernels"]})
        self.assertEqual([(key["fate"], key["why"]) for key in blocking["keys"] if key["key"] == "env CUDA_LAUNCH_BLOCKING"], [("used", "host.sync")])
        half = yaml.safe_load(self.imported(script.replace("--bf16", "--fp16").replace("stage 0", "stage 1"))["workload"])
        self.assertEqual((half["framework"], half["data_parallel"]), ("megatron-deepspeed-fp16", {"zero": 1}))
        self.assertIn("expected a stage of ZeRO", self.meshsim("import", "megatron", self.write(script.replace("stage 0", "stage 4")), code=3).stderr)

    def test_ranks_of_experts_without_experts_are_refused(self):
        script = f"fill() {{\n  MOE=(--num-experts 8)\n}}\nMOE=()\nfill\ntorchrun --nproc_per_node 8 pretrain_gpt.py {LINE} ${{MOE[@]}} --expert-model-parallel-size 4\n"
        self.assertEqual(yaml.safe_load(self.imported(script, *WHERE)["workload"])["mesh"]["ep"], 4)
        refused = self.meshsim("import", "megatron", self.write(script.replace("\nfill\n", "\n")), *WHERE, code=3).stderr
        self.assertIn("expected --num-experts beside it", refused)

    def test_an_older_software_has_its_profile(self):
        self.assertIn("framework: megatron-lm-2021", self.imported(LINE + "--checkpoint-activations", *WHERE)["workload"])
        later = self.imported(LINE, *WHERE, "--set", "framework=megatron-core-2025")["workload"]
        self.assertNotIn("weight_gradients", later)
        self.assertIn("weight_gradients", self.imported(LINE, *WHERE)["workload"])

    def test_bad_input_is_refused_with_its_place(self):
        for text, message in (("", "expected arguments of Megatron-LM"), ("ls -l\n", "expected arguments of Megatron-LM"),
                              (LINE + "--num-layers\n", "train.sh:1:128: error: --num-layers: expected a value"),
                              (LINE + "'", "expected a closing '"),
                              (LINE + "--pipeline-model-parallel-layout 'Et*8|x'", "at character 6 of 'Et*8|x', got 'x'"),
                              (LINE + "--num-attention-heads 48", "expected a divisor of --hidden-size 1024")):
            broken = text + (" --pipeline-model-parallel-size 2" if "layout" in text else "")
            refused = self.meshsim("import", "megatron", self.write(broken), code=3)
            self.assertIn(message, refused.stderr)
            self.assertEqual(refused.stdout, "")
        self.meshsim("import", "megatron", "nowhere.sh", code=3)
        self.meshsim("import", "megatron", code=2)


if __name__ == "__main__":
    programs.main(__doc__)
