#!/usr/bin/env python3
"""Arguments of Megatron-LM from Python: its small languages, the forms in which they are kept, the keys that they give, and scripts in their sandbox.

usage: test_megatron_arguments.py MESHSIM [unittest arguments]
"""

import os
import random
import sys
import tempfile
import time
import unittest
from pathlib import Path

import programs
from programs import ROOT

sys.path.insert(0, str(ROOT / "scripts/python"))

# pylint: disable=wrong-import-position
from meshsim.tools._call import Call, Fault  # noqa: E402
from meshsim.tools.importers import deepspeed, launch_script, megatron  # noqa: E402
from meshsim.tools.importers.workload_draft import Workload  # noqa: E402
from meshsim.tools.importers.megatron_arguments import tables  # noqa: E402
from meshsim.tools.importers.megatron_job import translate  # noqa: E402
from meshsim.tools.importers.megatron_run import Argument  # noqa: E402
from meshsim.tools.importers.megatron_values import Bad, read_layout, read_pattern, read_steps  # noqa: E402
from meshsim.tools.importers.placed_json import parse  # noqa: E402

SMALL = "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 --micro-batch-size 2 "
LAYOUTS = [  # layers of each stage, stage and number of prediction modules, stage of the loss
    ("E|t|tL", [0, 1, 1], -1, 0, 2), ("Et*7|t*7mL", [7, 7], 1, 1, 1), ("Et*2|(tt|)*5t|tmL", [2, 2, 2, 2, 2, 2, 1, 1], 7, 1, 7),
    ("Ettt|(tt|)*2,m|L", [3, 2, 2, 0, 0], 3, 1, 4), ("Et*3\\|\\(tt\\|\\)*6L", [3, 2, 2, 2, 2, 2, 2, 0], -1, 0, 7),
    ("E(t*2|)*3L", [2, 2, 2, 0], -1, 0, 3), ("Et|*2tL", [1, 0, 1], -1, 0, 2), ("Et*0t|(t)*0t|tmmL", [1, 1, 1], 2, 2, 2)]
PATTERNS = [("([0]*3+[1]*5)", [0] * 3 + [1] * 5), ("([1]*3+[0]*1)*2", [1, 1, 1, 0] * 2), ("2*[0,1]", [0, 1, 0, 1]), ("[0]+[1]*2+[0]", [0, 1, 1, 0]),
            ("[0]*(1+2)+[1]", [0, 0, 0, 1]), ("[0, 1, 1]", [0, 1, 1]), ("[1,]", [1]), ("[]*4+[1]*0", [])]
STEPS = [("0:384 200B:768 400B:1152", [384, 768, 1152]), ("0:8", [8]), ("0:8 1K:16 1M:32 1T:64", [8, 16, 32, 64]), ("0:16 2.4B:320 4.8B:640", [16, 320, 640]),
         ("5:8", "expected a first threshold of 0"), ("0:8 2M:16 900K:32", "expected thresholds that grow"), ("0:8 2M", "expected ':' and a batch at character 7"),
         ("0:0", "expected a batch of 1 or more"), ("0:8x", "expected a blank or the end"), ("", "expected a count of tokens")]
LAYOUT_FAULTS = [  # a layout, and what is told of it
    ("", "expected one E, before all else, got ''"), ("t|tL", "expected one E, before all else"), ("Et|tLt", "expected one L, behind all else"),
    ("EtmtL", "expected every m behind all t"), ("Etm|mL", "expected all m in one stage"),
    ("Et|xL", "expected E, t, m or L, a '|', one of them with a repetition such as t*3, or a bracket such as (tt|)*5 at character 4 of 'Et|xL', got 'x'"),
    ("E(tt|)L", "at character 2 of 'E(tt|)L', got '('"), ("E(tt|L", "at character 2 of 'E(tt|L', got '('"), ("E((t)*2|)*2L", "at character 2"),
    ("E(t*)*2L", "at character 2 of 't*', got '*'"), ("Et*L", "at character 3 of 'Et*L', got '*'"), ("Et*2*2L", "at character 5"), ("Et*12345678L", "at most 1000000 layers"),
    ("E(t*1000000)*1000000L", "at most 1000000 layers and stages"),
]
PATTERN_FAULTS = [  # a list, and what is told of it
    ("", "expected a list of integers such as ([0]*3+[1]*11), got ''"), ("4", "expected a list, got the number '4'"),
    ("[0]*[1]", "expected a number on one side of '*'"), ("[0]+1", "expected lists on both sides of '+'"), ("1+[0]", "expected lists on both sides of '+'"),
    ("[0 1]", "got '[0 1]'; it goes wrong at character 2"), ("([0]*3", "got '([0]*3'; it goes wrong at character 1"), ("[0]*3)", "it goes wrong at character 6"),
    ("[-1]", "expected digits, brackets, ',', '+' and '*', got '-' at character 2 of '[-1]'"), ("[0]*1000000", "expected a list of at most 100000"),
    ("[0]*99999999999", "expected a number up to 1000000000"), ("1000000000*9*[1]", "expected a number up to 1000000000"), ("__import__", "got '_' at character 1"),
    ("[0]\x1b", "got '?' at character 4"), ("[[0]]", "expected a list of integers such as ([0]*3+[1]*11) at character 1"), ("([0],[1])", "at character 1"),
    ("[0]**2", "at character 1"), ("(" * 900 + "[1]" + ")" * 900, "it goes wrong"), ("+".join(["[1]"] * 900), "at most 1000 signs"), ("[" + "9" * 5000 + "]", "expected a"),
]
FAULTS = [  # arguments, and what is told of them
    ("--num-layers x", "expected a count of 1 or more, got 'x'"), ("--tensor-model-parallel-size $TP", "which the file does not set"),
    ("--num-experts 4 --moe-layer-freq [0]*3", "expected one entry for each of 8 layers, got 3"),
    ("--num-experts 4 --moe-layer-freq [0]*8", "expected a layer with experts"),
    ("--pipeline-model-parallel-size 3", "expected a divisor of 8 layers, got 3 stages"),
    ("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|tL'", "expected 8 layers and 0 prediction modules, got 2 and 0"),
    ("--world-size 6 --tensor-model-parallel-size 4", "that divide 6 GPUs"), ("--bf16 --fp16", "expected one of it and --bf16, got both"),
    ("--fp8-format hybrid --fp8-recipe odd", "expected delayed, tensorwise, blockwise or mxfp8"),
    ("--recompute-granularity all", "expected full or selective, got 'all'"),
    ("--cp-comm-type odd --context-parallel-size 2", "expected p2p, a2a, allgather or a2a+p2p"),
    ("--hidden-dropout -1", "expected a number of 0 or more, got '-1'"),
]
KEYS = [  # arguments, a key, and its value: "-" where it is required, None where it is not set
    ("", "model.type", "gpt"), ("", "model.ffn", "4096"), ("", "model.vocab", "-"), ("", "mesh.dp", "-"), ("", "model.kv_heads", None),
    ("", "model.head_dim", None), ("", "model.norm", "layer"), ("", "model.bias", "true"), ("", "model.positions", "learned"),
    ("", "model.tied_embeddings", "true"), ("", "model.dropout", "0.1"), ("", "model.gated", "false"), ("", "precision.parameters", "fp32"),
    ("", "precision.optimizer", "8 B"), ("", "data_parallel.zero", "0"), ("", "data_parallel.overlap_reduce", "false"), ("", "recompute", "none"),
    ("", "model.loss", "vocab_parallel"), ("", "batch.microbatches", "1"), ("", "batch.global", None), ("--swiglu", "model.ffn", "2688"),
    ("--swiglu", "model.type", "llama"), ("--group-query-attention", "model.kv_heads", "1"),
    ("--group-query-attention --num-query-groups 4", "model.kv_heads", "4"), ("--num-query-groups 4", "model.kv_heads", None),
    ("--vocab-size 50257", "model.vocab", "50304"), ("--vocab-size 50257 --tensor-model-parallel-size 8", "model.vocab", "51200"),
    ("--vocab-size 100 --make-vocab-size-divisible-by 64", "model.vocab", "128"), ("--padded-vocab-size 777 --vocab-size 5", "model.vocab", "777"),
    ("--kv-channels 128", "model.head_dim", "128"), ("--window-size 127,0", "model.window", "128"), ("--multi-latent-attention", "model.mla.kv_rank", "32"),
    ("--multi-latent-attention", "model.mla.q_rank", "0"), ("--multi-latent-attention", "model.bias", "false"), ("--qk-layernorm", "model.qk_norm", "true"),
    ("--qk-layernorm --multi-latent-attention", "model.qk_norm", None), ("--add-qkv-bias --disable-bias-linear", "model.biases", "[qkv]"),
    ("--q-lora-rank 5", "model.mla.q_rank", None), ("--position-embedding-type rope", "model.positions", "rotary"),
    ("--num-experts 4", "model.moe.top_k", "2"), ("--num-experts 4", "model.moe.first_dense_layers", None),
    ("--num-experts 4 --moe-layer-freq ([0]*3+[1]*5)", "model.moe.first_dense_layers", "3"),
    ("--num-experts 4 --moe-layer-freq [0,1]*4", "model.moe.every", "2"), ("--num-experts 4 --moe-layer-freq [0,0,0,1]*2", "model.moe.every", "4"),
    ("--num-experts 4 --moe-layer-freq 2", "model.moe.dense_layers", "[1, 3, 5, 7]"),
    ("--num-experts 4 --moe-layer-freq [1,1,0,1,1,0,1,1]", "model.moe.dense_layers", "[2, 5]"),
    ("--num-experts 4 --moe-shared-expert-intermediate-size 64", "model.moe.shared_experts", "1"),
    ("--num-experts 4 --moe-router-enable-expert-bias", "model.moe.router_bias", "true"), ("--moe-router-topk 4", "model.moe.top_k", None),
    ("--world-size 16 --tensor-model-parallel-size 4", "mesh.dp", "4"), ("", "mesh.order", "[pp, dp, cp, tp]"),
    ("--use-tp-pp-dp-mapping", "mesh.order", "[dp, pp, cp, tp]"), ("--num-experts 8 --expert-model-parallel-size 4 --world-size 8", "mesh.ep", "4"),
    ("--num-experts 8 --expert-model-parallel-size 4 --world-size 8", "mesh.dp", "2"),
    ("--num-experts 8 --expert-model-parallel-size 4 --world-size 8 --tensor-model-parallel-size 2 --sequence-parallel", "expert_mesh.ep", "4"),
    ("--num-experts 8 --expert-model-parallel-size 4 --world-size 8 --tensor-model-parallel-size 2 --sequence-parallel", "expert_mesh.tp", "2"),
    ("--num-experts 8 --tensor-model-parallel-size 2 --sequence-parallel --expert-tensor-parallel-size 1", "expert_mesh.ep", "1"),
    ("--sequence-parallel", "tensor_parallel.sequence", None), ("--context-parallel-size 2 --cp-comm-type a2a", "context_parallel.kind", "all_to_all"),
    ("--pipeline-model-parallel-size 2", "schedule.kind", "1f1b"),
    ("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2", "schedule.v", "2"),
    ("--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 4", "schedule.kind", "interleaved"),
    ("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|ttt|tt|ttL'", "schedule.stage_layers", "[1, 3, 2, 2]"),
    ("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|ttt|tt|ttL'", "schedule.v", "2"),
    ("--pipeline-model-parallel-size 5 --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split", "schedule.first_stage_layers", "1"),
    ("--pipeline-model-parallel-size 3 --account-for-embedding-in-pipeline-split", "schedule.first_stage_layers", "2"),
    ("--pipeline-model-parallel-size 3 --decoder-first-pipeline-num-layers 2", "schedule.stage_layers", "[2, 3, 3]"),
    ("--pipeline-model-parallel-size 3 --decoder-first-pipeline-num-layers 2 --num-virtual-stages-per-pipeline-rank 2 --decoder-last-pipeline-num-layers 2", "schedule.stage_layers", "[1, 2, 1, 1, 2, 1]"),
    ("--bf16", "precision.optimizer", "12 B"), ("--bf16", "precision.gradients", "fp32"), ("--bf16 --grad-reduce-in-bf16", "precision.gradients", "bf16"),
    ("--fp16", "precision.gradients", "fp16"), ("--fp16 --accumulate-allreduce-grads-in-fp32", "precision.gradients", "fp32"),
    ("--bf16 --optimizer sgd", "precision.optimizer", "8 B"),
    ("--bf16 --use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype fp8", "precision.optimizer", "5 B"),
    ("--bf16 --use-precision-aware-optimizer --main-grads-dtype bf16", "precision.gradients", "bf16"),
    ("--bf16 --main-grads-dtype bf16", "precision.gradients", "fp32"), ("--use-distributed-optimizer", "data_parallel.zero", "1"),
    ("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads", "data_parallel.zero", "2"), ("--use-torch-fsdp2", "data_parallel.zero", "3"),
    ("--overlap-grad-reduce --ddp-bucket-size 1000 --bf16", "data_parallel.bucket", "4000 B"), ("--fp8-format hybrid", "precision.scaling", "delayed"),
    ("--fp8-format e4m3 --fp8-recipe mxfp8", "precision.products", "mxfp8"), ("--fp4-format e2m1", "precision.products", "nvfp4"),
    ("--fp8-format hybrid --no-fp8-wgrad", "precision.weight_gradients", "parameters"),
    ("--fp8-format hybrid --fp8-dot-product-attention", "precision.attention", "fp8_dot_product"),
    ("--bf16 --fp8-format hybrid --fp8-dot-product-attention", "model.attention", "cudnn"), ("--fp8-dot-product-attention", "precision.attention", None),
    ("--fp8-format hybrid --fp8-multi-head-attention", "precision.attention", "fp8_multi_head"),
    ("--fp8-format hybrid --fp8-recipe tensorwise --fp8-dot-product-attention --fp8-multi-head-attention", "precision.attention", "fp8_dot_product"),
    ("--recompute-activations", "recompute", "selective"), ("--recompute-granularity full --recompute-method uniform", "recompute", "full"),
    ("--recompute-granularity full --recompute-method block --recompute-num-layers 3", "recompute_layers", "3"),
    ("--recompute-granularity full --recompute-method block --recompute-num-layers 0", "recompute", "none"),
    ("--recompute-granularity selective", "recompute", "selective"),
    ("--recompute-granularity selective --recompute-modules layernorm moe_act", "recompute_parts", "[norms, activations]"),
    ("--recompute-granularity selective --recompute-modules layernorm", "recompute", "none"), ("--checkpoint-activations", "recompute", "full"),
]
FORMS = [  # a file, its text, and the arguments in it
    ("c", "torchrun --nproc_per_node 8 --nnodes=2 pretrain_gpt.py --num-layers 24 --bf16", "launcher --nproc-per-node=8;launcher --nnodes=2;--num-layers=24;--bf16;"),
    ("c", "--num-layers 24 --hidden-size=1024\n--bf16\n", "--num-layers=24;--hidden-size=1024;--bf16;"),
    ("c", "python -m a --moe-layer-freq \"([0]*3+[1]*11)\" --cp-comm-type p2p a2a --swiglu", "--moe-layer-freq=([0]*3+[1]*11);--cp-comm-type=p2p a2a;--swiglu;"),
    ("c", "torchrun -m a --num-layers 24 # --bf16\n", "--num-layers=24;"), ("c", "torchrun -m a --bf16 stray --made-up 1 2", "--bf16;stray;--made-up=1 2;"),
    ("m.yaml", "ENV_VARS:\n  NCCL_ALGO: Ring\nMODEL_ARGS:\n  --num-layers: 12\n  --bf16: true\n  --fp16: false\n  --recompute-modules: [layernorm moe_act]\n"
               "  --cp-comm-type: [p2p, a2a]\n", "--num-layers=12;--bf16;--recompute-modules=layernorm moe_act;--cp-comm-type=p2p a2a;env NCCL_ALGO=Ring;"),
    ("train.log", "using world size: 8\n------------ arguments ------------\n  add_bias_linear ....................... False\n  bias_dropout_fusion ......... True\n"
                  "  bf16 .................................. True\n0:   fp8 ................................... hybrid\n  fp16 ........................... False\n"
                  "  moe_layer_freq ........................ [0, 1, 1]\n  num_experts ........................... None\n  hybrid_attention_ratio ........ 0.0\n"
                  "  params_dtype .......................... torch.bfloat16\n  recompute_modules ..................... ['core_attn', 'moe_act']\n"
                  "  made_up ............................... 3\n  world_size ............................ 8\n----------- end of arguments -----------\n"
                  "  late .................. 1\n",
     "--disable-bias-linear;--bf16;--fp8-format=hybrid;--moe-layer-freq=[0, 1, 1];--params-dtype=bfloat16;--recompute-modules=core_attn moe_act;made_up=3;"
     "--world-size=8;")]
SCRIPTS = [
    ("#!/bin/bash\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\nTP=4\nLAYERS=${LAYERS:-32}\nGPUS_PER_NODE=8\nARGS=(\n    --num-layers $LAYERS  # layers\n"
     "    --tensor-model-parallel-size ${TP}\n    --split \"949,50,1\"\n)\ntorchrun --nproc_per_node $GPUS_PER_NODE pretrain_gpt.py \\\n    ${ARGS[@]} \\\n    --bf16\n",
     "launcher --nproc-per-node=8;--num-layers=32;--tensor-model-parallel-size=4;--split=949,50,1;--bf16;env CUDA_DEVICE_MAX_CONNECTIONS=1;"),
    ("GPT_ARGS=\"\n    --num-layers 24 \\\n    --bf16\n\"\nGPT_ARGS+=\" --swiglu\"\nrun=\"python pretrain_gpt.py ${GPT_ARGS}\"\nsrun -N 4 ${run}\n",
     "launcher --nnodes=4;--num-layers=24;--bf16;--swiglu;"),
    ("MODEL_ARGS=(--num-layers 2)\nMODEL_ARGS+=(--bf16)\n", "--num-layers=2;--bf16;"),
    ("python x.py --num-layers $A --hidden-size ${B} --seq-length $S\n", "--num-layers=$A;--hidden-size=$B;--seq-length=$S;"),
    ("python x.py --num-layers 4 --global-batch-size $((8 * K)) --save $CKPT/x\n", "--num-layers=4;--global-batch-size=$K;--save=$CKPT/x;"),
    ("f() { A+=(--num-layers $1); return; }\nA=()\nfor n in 2 3; do f $n; done\npython p.py ${A[@]} $(echo --bf16) `seq -s ' ' 0`\n", "--num-layers=2;--num-layers=3;--bf16;"),
    ("python tools/convert.py --num 3\nmodule load cuda\nset -eu\ntorchrun p.py --num-layers 4 |& tee log\necho never\n", "--num-layers=4;"),
    ("cat > run.sh <<'END'\npython p.py --num-layers $1 --bf16\nEND\nbash run.sh 5\n", "--num-layers=5;--bf16;")]
# What a script may not do, with a word that its training would be given if it did; each still starts its training.
HOSTILE = ["$(cat SECRET /etc/shadow 2>/dev/null)", "$(env | grep -c STRANGER | grep 1)", "$(cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep STRANGER)",
           "$(echo x 2>/dev/null > SECRET && cat SECRET)", "$(touch /usr/bin/evil 2>/dev/null && echo written)", "$(echo core > /proc/sys/kernel/core_pattern && echo written)",
           "$( (exec 3<>/dev/tcp/127.0.0.1/80) 2>/dev/null && echo net)", "$(ls /sys /home /root 2>/dev/null)", "$(unshare -Ur echo userns 2>/dev/null)",
           "$(mount -t tmpfs x /mnt 2>/dev/null && echo mounted)", "$(kill -9 1 && false)", "$(head -c 100000000 /dev/zero 2>/dev/null > big; stat -c %s big | grep 100000000)"]


def tool(*options):
    """A call of `import`, which tells nobody."""
    call = Call(Path(programs.ProgramTest.program), "import", {option: [""] for option in options})
    call.talk._say = lambda kind, message, place: call.told.append((message, place))
    call.told = []
    return call


def read(call, name, text):
    """The arguments of a text."""
    return megatron.read_texts(call, tables(), [megatron.Text(name, text)], {}).arguments


def shown(arguments):
    return "".join(argument.name + ("=" + argument.value if argument.value else "") + ";" for argument in arguments)


class Languages(unittest.TestCase):
    def test_layouts_unroll_as_megatron_does(self):
        for text, layers, mtp_stage, mtp_layers, loss_stage in LAYOUTS:
            found = read_layout(text)
            self.assertEqual((found.layers, found.mtp_stage, found.mtp_layers, found.loss_stage), (layers, mtp_stage, mtp_layers, loss_stage), text)

    def test_lists_and_schedules_are_read(self):
        for text, values in PATTERNS:
            self.assertEqual(read_pattern(text), values, text)
        for text, result in STEPS:
            if isinstance(result, list):
                self.assertEqual(read_steps(text), result)
            else:
                with self.assertRaisesRegex(Bad, result):
                    read_steps(text)

    def test_what_is_none_says_where(self):
        for read_one, rows in ((read_layout, LAYOUT_FAULTS), (read_pattern, PATTERN_FAULTS)):
            for text, message in rows:
                with self.assertRaises(Bad) as raised:
                    read_one(text)
                self.assertIn(message, str(raised.exception))


class Forms(unittest.TestCase):
    def test_each_form_gives_its_arguments(self):
        for name, text, expected in FORMS:
            self.assertEqual(shown(read(tool(), name, text)), expected, text)

    def test_what_is_no_arguments_is_refused(self):
        for name, text, message in (("a", "", "expected arguments of Megatron-LM"), ("a", "hello world\n", "expected arguments of Megatron-LM"),
                                    ("a", "python x.py --num-layers\n", "--num-layers: expected a value"), ("a", "python x.py --num-layers \"24\n", "expected a closing \""),
                                    ("a.yaml", "MODEL_ARGS: {--num-layers: {a: 1}}\n", "expected a value, got a mapping"), ("a.yaml", "a: [\n", "not valid YAML"),
                                    ("a.yaml", "b: *x\n", "alias '*x' has no anchor"), ("a.yaml", "- 1\n", "expected keys and values"),
                                    ("a.yaml", "MODEL_ARGS: {--num-layers: 1, --num-layers: 2}\n", "repeated key '--num-layers'")):
            call = tool()
            try:
                read(call, name, text)
            except Fault:
                pass
            self.assertIn(message, str(call.told), text)

    def test_every_argument_of_the_tables_has_a_row_that_makes_sense(self):
        known = tables()
        for software in known.software.values():
            self.assertTrue(software.source)
            for flag in [*software.flags.values(), *known.refused.values()]:
                self.assertIn(flag.takes, ("none", "one", "many"), flag.name)
                self.assertIn(flag.effect, ("size", "memory", "time", "nothing"), flag.name)
                self.assertTrue(flag.is_asked or flag.why or "moe-" in flag.name, flag.name)
            for name in [*software.marks, *software.weak_marks, *software.defaults, *software.same_as]:
                self.assertIsNotNone(known.find(name, software), f"{software.name} {name}")
            for name in [*software.same_as.values(), *(logged.lstrip("!") for logged in software.logs.values())]:
                self.assertIsNotNone(known.find(name), name)


class Keys(unittest.TestCase):
    def job(self, line):
        arguments = read(tool(), "line", line)
        return translate(arguments, tables()), arguments

    def test_keys_are_those_of_megatrons_rules(self):
        for words, key, value in KEYS:
            job, _ = self.job(SMALL + words)
            self.assertEqual(job.faults, [], words)
            found = {setting.key: "-" if setting.value is None else setting.value for setting in job.settings}
            self.assertEqual(found.get(key), value, f"{words}: {key}")
            self.assertEqual(len(found), len(job.settings), words)

    def test_values_that_are_wrong_are_faults_with_their_place(self):
        for words, message in FAULTS:
            job, _ = self.job(SMALL + words.replace("$TP", "'$TP'"))
            self.assertIn(message, str([text for text, _ in job.faults]), words)
            self.assertEqual(job.faults[0][1].line, 1, words)

    def test_of_every_argument_is_said_what_became_of_it(self):
        _, arguments = self.job(SMALL + "--lr 1 --q-lora-rank 5 --qk-layernorm --qk-l2-norm --made-up 3 --log-interval 1 --log-interval 2 --moe-token-dispatcher-type alltoall")
        first = {}
        for argument in arguments:
            first.setdefault(argument.name, argument)
        for name, use, why in (("--num-layers", "used", "model.layers"), ("--lr", "ignored", "rates"), ("--q-lora-rank", "ignored", "changes nothing in this job"),
                               ("--qk-layernorm", "used", "model.qk_norm"), ("--qk-l2-norm", "different", "not normalised"), ("--made-up", "unknown", ""),
                               ("--log-interval", "ignored", "given again"), ("--moe-token-dispatcher-type", "ignored", "in any case")):
            self.assertEqual(first[name].use, use, name)
            self.assertIn(why, first[name].why, name)


class Scripts(unittest.TestCase):
    """Where no sandbox can be made, each script is refused with the reason and the way out."""

    def setUp(self):
        self.reason = launch_script.check_sandbox()

    def recorded(self, text, call=None):
        """The arguments of a script; None: it was refused, as it has to be here."""
        call = call or tool()
        if not self.reason:
            return read(call, "a.sh", text)
        with self.assertRaises(Fault):
            read(call, "a.sh", text)
        self.assertRegex(str(call.told), "a launch script runs in a sandbox, .* the arguments that Megatron-LM itself prints at the head of its log")
        return None

    def test_scripts_are_run(self):
        for text, expected in SCRIPTS:
            found = self.recorded(text)
            if found is not None:
                self.assertEqual(shown(found), expected, text)

    def test_nothing_of_the_users_is_seen_or_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            secret = Path(folder) / "secret"
            secret.write_text("confidential", encoding="utf-8")
            os.environ["STRANGER"] = "confidential"
            for word in HOSTILE:
                found = self.recorded(f"torchrun p.py --num-layers 4 --made-up x{word.replace('SECRET', str(secret))}\n")
                if found is not None:
                    self.assertEqual(shown(found), "--num-layers=4;--made-up=x;", word)
            self.assertEqual(secret.read_text(encoding="utf-8"), "confidential")

    def test_nothing_outlives_a_script_or_goes_beyond_its_limits(self):
        launch_script.TIME_S, before = 2, launch_script.TIME_S
        try:
            for text in ("while :; do :; done\n", "x=a; while :; do x=$x$x; done\n", "yes >&2; true\n", ":(){ :|:& };:\nwait; /usr/bin/sleep 60\n",
                         "(/usr/bin/sleep 70 &) ; setsid /usr/bin/sleep 71 & exit 3\n", "A=1; while :; do A=$A$A; done; true\n"):
                start = time.monotonic()
                with self.assertRaises(Fault):
                    self.recorded(text)
                    raise Fault(3)
                self.assertLess(time.monotonic() - start, 60, text)
        finally:
            launch_script.TIME_S = before
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                self.assertNotIn(process.read_bytes(), (b"/usr/bin/sleep\x0070\0", b"/usr/bin/sleep\x0071\0"))
            except OSError:
                continue


class Mutated(unittest.TestCase):
    """Texts near those of tests/fuzz/corpus, by a seed (MS_SEED): what is refused is explained, and of what is read every argument is told of."""

    def setUp(self):
        self.seed = int(os.environ.get("MS_SEED", "1"))
        self.random = random.Random(self.seed)

    def texts(self, target, count):
        seeds = [path.read_bytes() for path in sorted((ROOT / "tests/fuzz/corpus" / target).iterdir())]
        for _ in range(count):
            data = bytearray(self.random.choice(seeds))
            for _ in range(self.random.randint(1, 6)):
                at = self.random.randrange(len(data) + 1)
                other = self.random.choice(seeds)
                piece = other[self.random.randrange(len(other)):][:self.random.randint(1, 30)]
                data[at:at + self.random.randint(0, 8)] = self.random.choice((piece, bytes([self.random.randrange(256)]), b"", b"9" * 12))
            yield data.decode("utf-8", "surrogateescape")

    def test_small_languages(self):
        for target, read_one in (("fuzz_layout", read_layout), ("fuzz_pattern", read_pattern), ("fuzz_pattern", read_steps)):
            for text in self.texts(target, 1500):
                try:
                    found = read_one(text)
                    self.assertIsNotNone(found)
                except Bad as bad:
                    self.assertTrue(str(bad).startswith("expected"))

    def test_forms_without_a_sandbox(self):
        known = tables()
        for text in self.texts("fuzz_megatron", 400):
            call = tool()
            name = "fuzz.yaml" if text.startswith("M") else "fuzz"
            try:
                one = megatron.Text(name, text)
                if name == "fuzz":
                    arguments = megatron.read_log(known, one)
                    try:
                        lines = megatron.read_lines(one)
                    except ValueError:
                        continue
                    arguments += [Argument(word.text, "", word.place) for line in lines or [] for word in line]
                else:
                    arguments = megatron.read_yaml(call, known, one)
            except Fault:
                self.assertTrue(call.told, text)
                continue
            job = translate(arguments, known)
            self.assertEqual(len({setting.key for setting in job.settings}), len(job.settings), text)
            for argument in arguments:
                self.assertTrue(argument.why or argument.use in ("unknown", "used") or job.faults, argument)

    def test_configurations_of_deepspeed(self):
        for text in self.texts("fuzz_deepspeed", 400):
            call = tool()
            try:
                draft = Workload(call, "x")
                deepspeed.translate(draft, parse(call, "fuzz.json", text), 4096)
            except Fault:
                self.assertTrue(call.told, text)
                continue
            for key in draft.keys:
                self.assertTrue(key.why or key.fate == "unknown", key)
                self.assertTrue(key.place is not None or key.fate == "assumed", key)


if __name__ == "__main__":
    programs.main(__doc__)
