#!/usr/bin/env python3
"""Exporting: what a workload says comes back from the files of other software, and what does not is told.

usage: test_export.py MESHSIM [unittest arguments]
"""
# ctest: 3 parts

import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

import programs
import yaml

from parts import load_tests  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
SEED = 20261123

# Keys that no argument of Megatron-LM is about, whatever the workload: the cluster, and how the job is simulated.
OUTSIDE = {"platform.file", "platform.nodes"}

# What the workloads of this folder ask for and no argument says. They name no framework, so that their layouts, updates, overlaps, buffers and hosts are not
# those of Megatron-LM's profile, which a reader of the file is told.
OWN = {"model.projections", "pipeline.communicator", "data_parallel.update", "data_parallel.bucketing", "memory.libraries", "memory.buffers",
       "tensor_parallel.overlap", "host.launch", "host.sync"}
UNSAID = {
    "deepseek-v3-2048": {"model.moe.node_limit", "model.moe.dispatch", "model.moe.kept", "schedule.kind", "schedule.communication_sms",
                         "precision.second_form"},
    "deepseek-v3-gb200-576": {"model.moe.dispatch"},
    "gpt3-175b-1024": {"pipeline.scatter_gather"},
    "llama3-405b-128k": {"schedule.kind", "data_parallel.reduce"},
    "llama3-405b-8k": {"schedule.kind", "data_parallel.reduce"},
    "llama3-405b-8k-8192": {"schedule.kind", "data_parallel.reduce"},
    "megatron-1t-3072": {"pipeline.scatter_gather"},
    "mtnlg-530b-2240": {"pipeline.scatter_gather"},
    "palm-540b-6144": {"mesh.pod", "mesh.dp", "mesh.order", "model.parallel_block", "data_parallel.shard"},
}
# Keys for which there is another way to say the same, and which one of the two files has, the other not.
SAME = {"mesh.order", "mesh.cp", "data_parallel.reduce", "model.moe.first_dense_layers", "schedule.partition", "schedule.stage_layers", "schedule.first_stage_layers", "schedule.last_stage_layers"}


def flat(tree, path=""):
    """A tree's leaves by their dotted paths."""
    if not isinstance(tree, dict):
        return {path: tree}
    found = {}
    for key, value in tree.items():
        found.update(flat(value, f"{path}.{key}" if path else key))
    return found


def draw_model(draw):
    """A model of a shape that Megatron-LM trains."""
    layers, heads = draw.choice([8, 12, 16]), draw.choice([8, 16])
    model = {"type": draw.choice(["gpt", "llama"]), "layers": layers, "hidden": heads * 64, "heads": heads, "ffn": 64 * draw.randint(8, 64),
             "vocab": 128 * 8 * draw.randint(8, 40), "sequence": draw.choice([512, 1024, 4096])}
    model["bias"] = model["type"] == "gpt"
    for key, values in {"kv_heads": [2, 4, heads], "head_dim": [64, 128], "norm": ["rms", "layer"], "positions": ["learned", "rotary"],
                        "gated": [True, False], "tied_embeddings": [True, False], "dropout": [0, 0.1, 0.25], "attention": ["fused", "unfused"],
                        "fused_accumulation": [True, False], "separate_dropout": [True, False], "qk_norm": [True, False],
                        "loss": ["vocab_parallel", "compiled", "transformer_engine"], "window": [0, 256], "mtp_layers": [0, 1]}.items():
        if draw.random() < 0.4:
            model[key] = draw.choice(values)
    if model.get("window"):
        model["window_skip_freq"] = draw.choice([0, 2, 6])
    if draw.random() < 0.3:
        model["mla"] = {"kv_rank": 128, "qk_nope": 64, "qk_rope": 32, "v_dim": 64, "q_rank": draw.choice([0, 256])}
        for key in ("kv_heads", "head_dim", "window", "window_skip_freq", "qk_norm"):
            model.pop(key, None)
    if draw.random() < 0.4:
        model["moe"] = draw_experts(draw, layers)
    if "mla" in model or "moe" in model:
        model["bias"] = False
    if not model["bias"] and "mla" not in model and draw.random() < 0.3:
        model["biases"] = ["qkv"]
    return model


def draw_experts(draw, layers):
    moe = {"experts": draw.choice([8, 16]), "top_k": draw.choice([1, 2, 4]), "ffn": 64 * draw.randint(4, 16)}
    for key, values in {"first_dense_layers": [1, 3], "every": [2, 4], "router": ["eager", "fused"], "router_bias": [True],
                        "dense_layers": [[layers - 1], [layers - 2, layers - 3]]}.items():
        if draw.random() < 0.3:
            moe[key] = draw.choice(values)
    if draw.random() < 0.4:
        moe.update(shared_experts=1, shared_ffn=64 * draw.randint(4, 16), overlap=draw.choice(["none", "shared"]))
    if draw.random() < 0.2:
        moe.update(capacity_factor=1.25, pad=draw.choice([True, False]))
    return moe


def draw_schedule(draw, mesh, layers):
    pp = mesh["pp"]
    chunks = draw.choice([1, 1, 2]) if pp > 1 else 1
    schedule = {"kind": "interleaved", "v": chunks} if chunks > 1 else {"kind": "1f1b"}
    stages = pp * chunks
    form = draw.choice(["even", "ends", "list"]) if pp > 1 else "even"
    if layers % stages or form == "list":
        cuts = sorted(draw.randint(0, layers) for _ in range(stages - 1))
        schedule["stage_layers"] = [b - a for a, b in zip([0, *cuts], [*cuts, layers])]
    elif form == "ends" and (layers + 2) % stages == 0:
        schedule["first_stage_layers"] = schedule["last_stage_layers"] = (layers + 2) // stages - 1
    if chunks > 1 and draw.random() < 0.4:
        schedule["sends"] = "blocking"
    if chunks > 1 and draw.random() < 0.4:
        schedule["group"] = pp + 1
    return schedule


def draw_data(draw):
    data = {"zero": draw.choice([0, 1, 1, 2, 3])}
    data["overlap_reduce"] = draw.random() < 0.5
    data["overlap_gather"] = data["zero"] > 0 and data["overlap_reduce"] and draw.random() < 0.5
    if data["overlap_reduce"] and draw.random() < 0.3:
        data["bucket"] = f"{4 * draw.randint(1000000, 40000000)} B"
    return data


def draw_recompute(draw, model):
    if draw.random() < 0.3:
        return {"recompute": "full"}
    parts = ["norms"] + ["latent_up"] * ("mla" in model) + ["activations"] * ("moe" in model)
    chosen = [part for part in parts if draw.random() < 0.4]
    recompute = {"recompute": draw.choice(["none", "selective"])}
    return {**recompute, "recompute_parts": chosen} if chosen else recompute


def draw_precision(draw, zero):
    precision = {"parameters": draw.choice(["bf16", "bf16", "fp16"]), "gradients": "fp32", "optimizer": "12 B"}
    if precision["parameters"] == "bf16" and zero == 1 and draw.random() < 0.3:
        precision["optimizer"] = draw.choice(["6 B", "8 B", "10 B"])
    if precision["parameters"] == "bf16" and draw.random() < 0.2:
        precision["gradients"] = "bf16"
    if precision["parameters"] == "bf16" and draw.random() < 0.4:
        precision.update(draw.choice([{"products": "fp8", "scaling": "delayed"}, {"products": "fp8", "scaling": "current"},
                                      {"products": "fp8", "scaling": "blockwise"}, {"products": "mxfp8"}]))
        if draw.random() < 0.5:
            precision.update(first_plain_layers=1, last_plain_layers=draw.choice([0, 2]))
        if draw.random() < 0.5:
            precision["parameter_gathers"] = "products"
    return precision


def draw_workload(draw):
    """A workload of words that Megatron-LM has, legal or not."""
    model = draw_model(draw)
    mesh = draw.choice([{"dp": 8, "tp": 2, "pp": 2}, {"dp": 4, "tp": 2, "pp": 4}, {"dp": 8, "tp": 1, "pp": 4}, {"dp": 4, "tp": 4, "pp": 2},
                        {"dp": 32, "tp": 1, "pp": 1}, {"dp": 4, "tp": 2, "pp": 2, "cp": 2}, {"dp": 16, "tp": 2, "pp": 1}])
    order = draw.choice([["pp", "dp", "cp", "tp"], ["dp", "pp", "cp", "tp"]])
    gpus = 1
    for size in mesh.values():
        gpus *= size
    mesh["order"] = order
    work = {"framework": "megatron-core", "platform": {"file": "dgx-h100", "nodes": gpus // 8}, "model": model, "mesh": mesh}
    if mesh["tp"] > 1:
        sequence = "moe" in model or draw.random() < 0.5
        work["tensor_parallel"] = {"sequence": sequence}
        if sequence and "moe" not in model and "mla" not in model and draw.random() < 0.4:
            work["tensor_parallel"]["overlap"] = "ring"
    has_axis = mesh["tp"] == 1 and "cp" not in mesh  # Megatron-LM's ep then is an axis among the replicas
    if "moe" in model and has_axis and draw.random() < 0.7:
        mesh.update(ep=4, dp=mesh["dp"] // 4)
        order.insert(order.index("cp"), "ep")
    elif "moe" in model and not has_axis and draw.random() < 0.7:
        work["expert_mesh"] = {"ep": draw.choice([2, 4]), "tp": draw.choice([1, mesh["tp"]])}
        if order[0] == "dp":
            work["expert_mesh"]["order"] = ["dp", "pp", "ep", "tp"]
    if mesh.get("cp", 1) > 1:
        work["context_parallel"] = {"kind": draw.choice(["ring", "all_gather", "all_to_all"])}
    work["schedule"] = draw_schedule(draw, mesh, model["layers"])
    micro = draw.choice([1, 1, 2])
    work["batch"] = {"global": mesh["dp"] * mesh.get("ep", 1) * micro * mesh["pp"] * draw.randint(2, 4), "micro": micro}
    work["data_parallel"] = draw_data(draw)
    work["precision"] = draw_precision(draw, work["data_parallel"]["zero"])
    work.update(draw_recompute(draw, model))
    buffers = ["weight_gradients"] * model.get("fused_accumulation", True) + ["grouped_products"] * ("moe" in model and draw.random() < 0.7)
    buffers += ["gather"] * work.get("tensor_parallel", {}).get("sequence", False) + ["main_gradients"] * (work["precision"]["parameters"] == "fp16")
    buffers += ["prefetched_parameters"] * (work["data_parallel"]["zero"] > 1 and work["data_parallel"]["overlap_gather"])
    work["memory"] = {"buffers": buffers}
    return work


class Export(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="meshsim-export-")))

    def run_meshsim(self, *words):
        return subprocess.run([PROGRAM, *words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True,
                              env=dict(os.environ, MESHSIM_DATA=str(ROOT)), timeout=100)

    def meshsim(self, *words, code=0):
        done = self.run_meshsim(*words)
        programs.raise_if_refused(done)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done

    def write(self, work, name):
        (self.folder / name).write_text(yaml.dump(work), encoding="utf-8")
        return name

    def there_and_back(self, path, platform, kind="megatron", *more):
        """Export, import; the unsaid keys, and the workload that came back."""
        told = json.loads(self.meshsim("export", kind, path, "--json", "--quiet", "-o", "out.sh").stdout)
        self.assertEqual((self.folder / "out.sh").read_text(encoding="utf-8"), told["text"])
        self.meshsim("import", kind, "out.sh", "--quiet", "--accept-differences", "-o", "back.yaml", "--set", f"platform={platform}", *more)
        return {row["key"]: row for row in told["unsaid"]}, "back.yaml"

    def figures(self, path):
        """What a check says of a job: parameters, memory, the step's estimate and its parts."""
        done = self.run_meshsim("check", path, "--ignore-memory", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        for key in ("workload", "name", "notes", "description", "framework", "order"):
            found.pop(key, None)  # a pipeline of one rank has no place in an order
        return {key: value for key, value in flat(found).items() if not key.startswith("mesh.") or value != 1}


@programs.may_be_refused
class Megatron(Export):
    def test_random_workloads_come_back_as_they_are(self):
        """What Megatron-LM has words for leaves no key unsaid, and comes back as the same job to the last digit."""
        draw = random.Random(SEED)
        tried = done = 0
        while done < 12 and tried < 400:
            tried += 1
            work = draw_workload(draw)
            path = self.write(work, "w.yaml")
            if self.run_meshsim("check", path, "--ignore-memory").returncode:
                continue
            done += 1
            unsaid, back = self.there_and_back(path, json.dumps(work["platform"]))
            context = f"seed {SEED}, workload {tried}: {(self.folder / 'w.yaml').read_text()}{(self.folder / 'out.sh').read_text()}"
            self.assertEqual({key for key in unsaid if not key.startswith("--")} - OUTSIDE, set(), context)
            before, after = self.figures(path), self.figures(back)
            self.assertEqual({key: (before.get(key), after.get(key)) for key in before | after if before.get(key) != after.get(key)}, {}, context)
        self.assertEqual(done, 12, tried)

    def test_arguments_of_its_own_tests_come_back(self):
        """Of every seventh run of Megatron-LM's tests, and of one with its own layers beside experts: imported, exported and imported."""
        rows = yaml.load((ROOT / "workloads/validation/megatron_ci.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
        rows = [row for row in rows if row.get("num_gpus", 8) % 8 == 0]
        self.assertGreater(len(rows), 40)
        for row in [*rows[::7], next(row for row in rows if "4experts2parallel_h100_dev" in row["id"])]:
            nodes = row.get("num_gpus", 8) // 8
            pairs = [item.partition(" ")[::2] for item in row["args"] if not item.startswith("env ")]
            line = " ".join(name + (" " + shlex.quote(value) if value else "") for name, value in pairs)
            (self.folder / "run.sh").write_text(f"torchrun --nproc_per_node 8 --nnodes {nodes} pretrain_gpt.py {line}\n", encoding="utf-8")
            platform = f"{{file: dgx-h100, nodes: {nodes}}}"
            self.meshsim("import", "megatron", "run.sh", "--quiet", "--accept-differences", "-o", "w.yaml", "--set", f"platform={platform}", "--set", "model.vocab=51200")
            unsaid, back = self.there_and_back("w.yaml", platform)
            self.assertEqual({key for key in unsaid if not key.startswith("--")} - OUTSIDE, set(), row["id"])
            before, after = self.figures("w.yaml"), self.figures(back)
            self.assertEqual({key: (before.get(key), after.get(key)) for key in before | after if before.get(key) != after.get(key)}, {}, row["id"])

    def effective(self, path):
        lines = self.meshsim("check", path, "--effective").stdout.splitlines()
        return {key: value.partition("  # ")[0] for key, _, value in (line.partition(" = ") for line in lines)}

    def test_workloads_of_this_folder_come_back_or_are_told(self):
        paths = sorted((ROOT / "workloads").glob("*.yaml"))
        self.assertGreater(len(paths), 12)
        for path in paths:
            work = yaml.safe_load(path.read_text(encoding="utf-8"))
            unsaid, back = self.there_and_back(str(path), json.dumps(work["platform"]))
            told = {key for key in unsaid if not key.startswith("--")}
            self.assertEqual(told - OUTSIDE - OWN, UNSAID.get(path.stem, set()), path)
            mine, theirs = self.effective(str(path)), self.effective(back)
            for key in flat(work):
                if key.split(".")[0] in ("name", "description", "platform", "framework") or key in SAME or key in unsaid:
                    continue
                if key == "model.vocab":  # padded, as the simulation does in any case
                    multiple = 128 * work["mesh"].get("tp", 1)
                    self.assertEqual(-(-int(mine[key]) // multiple) * multiple, int(theirs[key]), path)
                    continue
                self.assertEqual(mine[key], theirs[key], f"{path}: {key}")

    def test_what_is_unsaid_is_a_comment_with_both_values_and_the_reason(self):
        path = self.write({**TINY, "data_parallel": {"zero": 2, "shard": ["dp"]}, "host": {"launch": "7 us"}, "model": {**TINY["model"], "vocab": 50257},
                           "memory": {"cublas_workspace": "32 MiB"}, "collectives": {"algorithms": {"all_reduce": "tree"}}}, "w.yaml")
        text = self.meshsim("export", "megatron", path).stdout
        self.assertIn("# data_parallel.shard = [dp] (Megatron-LM: none): state is sharded over all replicas", text)
        self.assertIn("# host.launch = 7e-06 s (Megatron-LM: 4e-05 s): how fast hosts launch is found by running\n", text)
        self.assertIn("# collectives.algorithms.all_reduce = tree (Megatron-LM: auto): the library chooses", text)
        self.assertIn("# --deterministic-mode: simulated otherwise: ", text)
        self.assertIn("    --vocab-size 50257\n", text)  # padded to a multiple of 128 tp there, too
        self.assertNotIn("model.vocab", text)
        self.assertEqual(self.meshsim("export", "megatron", path, "--quiet").stdout, text)

    def test_the_script_is_sourced_or_run(self):
        path = self.write(TINY, "w.yaml")
        self.meshsim("export", "megatron", path, "-o", "out.sh")
        words = subprocess.run(["bash", "-c", 'source ./out.sh; printf "%s\\n" "${MEGATRON_ARGS[@]}"'], cwd=self.folder, capture_output=True, text=True, check=True,
                               timeout=20).stdout.split()
        self.assertEqual(words[:4], ["--num-layers", "8", "--hidden-size", "1024"])
        (self.folder / "torchrun").write_text("#!/bin/sh\necho \"$@\"\n", encoding="utf-8")
        (self.folder / "torchrun").chmod(0o755)
        run = subprocess.run(["bash", "./out.sh", "--lr", "1e-4"], cwd=self.folder, capture_output=True, text=True, check=True, timeout=20,
                             env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}).stdout
        self.assertTrue(run.startswith("--nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 8"), run)
        self.assertTrue(run.rstrip().endswith("--bf16 --lr 1e-4"), run)

    def test_the_best_of_a_search(self):
        path = self.write(TINY, "w.yaml")
        self.meshsim("search", path, "--top", "1", "-o", "best.yaml")
        unsaid, back = self.there_and_back("best.yaml", json.dumps(TINY["platform"]))
        mine, theirs = self.figures("best.yaml"), self.figures(back)
        self.assertEqual({key: value for key, value in mine.items() if key.startswith("mesh.")},
                         {key: value for key, value in theirs.items() if key.startswith("mesh.")})
        self.assertNotIn("mesh.tp", unsaid)

    def test_names_that_hold_anything_stay_on_their_line(self):
        path = self.write({**TINY, "name": "x\n--bf16 `id` $(id)"}, "w.yaml")
        text = self.meshsim("export", "megatron", path).stdout
        self.assertTrue(all(line.startswith("#") for line in text.splitlines() if "id" in line and not line.startswith("    ")), text)


def draw_deepspeed(draw):
    """A workload of words that DeepSpeed's configuration has, legal or not."""
    mesh = draw.choice([{"dp": 16}, {"dp": 8, "tp": 2}, {"dp": 4, "cp": 4}, {"dp": 4, "tp": 2, "cp": 2}, {"dp": 8, "pp": 2}, {"dp": 4, "pp": 2, "tp": 2}])
    stage = draw.choice([0, 1]) if "pp" in mesh else draw.choice([0, 1, 2, 3])
    parameters = draw.choice(["bf16", "bf16", "fp16", "fp32"])
    precision = {"parameters": parameters, "gradients": draw.choice([parameters, "fp32"]), "optimizer": "8 B" if parameters == "fp32" else "12 B"}
    data = {"zero": stage, "overlap_reduce": stage > 0 and draw.random() < 0.5, "overlap_gather": stage == 3, "bucket": "400000000 B"}
    if stage > 0 and draw.random() < 0.3:
        data["offload"] = True
    if parameters == "bf16" and stage > 0 and draw.random() < 0.4:
        precision.update(gradients="bf16", optimizer=draw.choice(["6 B", "8 B"]))
    if stage == 1 and parameters == "bf16" and (precision["gradients"] == "fp32" or draw.random() < 0.3):
        data["all_reduce"] = True
    micro = draw.choice([1, 2])
    work = {"framework": "deepspeed", "platform": {"file": "dgx-h100", "nodes": 2}, "mesh": mesh, "precision": precision, "data_parallel": data,
            "model": {"type": "llama", "layers": 8, "hidden": 1024, "heads": 16, "ffn": 2816, "vocab": 32000, "sequence": 4096},
            "batch": {"global": mesh["dp"] * micro * draw.randint(1, 6), "micro": micro}}
    if mesh.get("cp", 1) > 1:
        work["context_parallel"] = {"kind": "all_to_all"}
    if "pp" in mesh and draw.random() < 0.5:
        work["recompute"] = "full"
    return work


class DeepSpeed(Export):
    def test_random_workloads_come_back_as_they_are(self):
        draw = random.Random(SEED)
        tried = done = 0
        while done < 10 and tried < 200:
            tried += 1
            work = draw_deepspeed(draw)
            path = self.write(work, "w.yaml")
            if self.run_meshsim("check", path, "--ignore-memory").returncode:
                continue
            done += 1
            unsaid, back = self.there_and_back(path, json.dumps(work["platform"]), "deepspeed", "--set", "model=" + json.dumps(work["model"]))
            context = f"seed {SEED}, workload {tried}: {(self.folder / 'w.yaml').read_text()}{(self.folder / 'out.sh').read_text()}"
            self.assertEqual(set(unsaid) - OUTSIDE - {"model", "optimizer.type"}, set(), context)
            before, after = self.figures(path), self.figures(back)
            self.assertEqual({key: (before.get(key), after.get(key)) for key in before | after if before.get(key) != after.get(key)}, {}, context)
        self.assertEqual(done, 10, tried)

    def test_what_is_unsaid_is_told_beside_the_file(self):
        path = self.write({**TINY, "recompute": "full", "precision": {"optimizer": "8 B"}, "schedule": {"kind": "gpipe"}}, "w.yaml")
        done = self.meshsim("export", "deepspeed", path)
        config = json.loads(done.stdout)
        self.assertEqual(config["pipeline"], {"stages": 2, "activation_checkpoint_interval": 1})
        self.assertIn("note: schedule.kind: gpipe (DeepSpeed: 1f1b), not said: pipelines are 1F1B", done.stderr)
        self.assertIn("note: optimizer.type: Lion, not said: chosen by its bytes", done.stderr)
        self.assertIn("note: model: model, not said: its code and its config.json say it", done.stderr)
        self.assertEqual(self.meshsim("export", "deepspeed", path, "--quiet").stderr, "")

    def test_every_workload_of_this_folder_gives_a_configuration(self):
        for path in sorted((ROOT / "workloads").glob("*.yaml")):
            told = json.loads(self.meshsim("export", "deepspeed", str(path), "--quiet", "--json").stdout)
            config = json.loads(told["text"])
            batches = [config[key] for key in ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")]
            self.assertEqual(batches[0] % (batches[1] * batches[2]), 0, path)
            self.assertIn("memory.libraries", [row["key"] for row in told["unsaid"]])


class Torchtitan(Export):
    TITAN = {"framework": "torchtitan-2025", "platform": {"file": "dgx-h100", "nodes": 4}, "mesh": {"dp": 8, "pp": 2, "tp": 2}, "batch": {"global": 64, "micro": 2},
             "model": {"type": "llama", "layers": 16, "hidden": 2048, "heads": 16, "ffn": 5632, "vocab": 32768, "sequence": 4096},
             "tensor_parallel": {"sequence": True}}

    def exported(self, work):
        """The config, its text, and what is unsaid beside what no config could say."""
        told = json.loads(self.meshsim("export", "torchtitan", self.write(work, "w.yaml"), "--json").stdout)
        text = told["text"]
        unsaid = {row["key"]: row for row in told["unsaid"]}
        for key, row in unsaid.items():
            self.assertIn(f"# {key} = {row['value']}", text)
        return tomllib.loads(text), set(unsaid) - OUTSIDE - {"model"}

    def test_what_it_has_words_for_is_said(self):
        config, unsaid = self.exported({**self.TITAN, "schedule": {"kind": "interleaved_torch", "v": 2, "stage_layers": [3, 4, 4, 5]}})
        self.assertEqual(config["training"], {"seq_len": 4096, "local_batch_size": 8, "global_batch_size": 64, "mixed_precision_param": "bfloat16",
                                              "mixed_precision_reduce": "float32", "compile": True})
        self.assertEqual(config["parallelism"], {
            "data_parallel_replicate_degree": 1, "data_parallel_shard_degree": 8, "fsdp_reshard_after_forward": "always", "tensor_parallel_degree": 2,
            "pipeline_parallel_degree": 2, "pipeline_parallel_schedule": "Interleaved1F1B", "pipeline_parallel_split_points": ["layers.3", "layers.7", "layers.11"],
            "pipeline_parallel_microbatch_size": 2})
        self.assertEqual(config["activation_checkpoint"], {"mode": "selective", "selective_ac_option": "op"})
        self.assertEqual(unsaid, set())

    def test_each_choice_has_its_line(self):
        flat_mesh = {"mesh": {"dp": 16, "cp": 2}, "tensor_parallel": None}
        rows = [({**flat_mesh, "context_parallel": {"kind": "all_gather"}}, {"parallelism.context_parallel_degree": 2,
                                                                             "parallelism.context_parallel_rotate_method": "allgather", "training.local_batch_size": 2}),
                ({"mesh": {"pod": 4, "dp": 8, "order": ["pod", "dp"]}, "tensor_parallel": None, "data_parallel": {"shard": ["dp"]}},
                 {"parallelism.data_parallel_replicate_degree": 4, "parallelism.data_parallel_shard_degree": 8}),
                ({"data_parallel": {"keep_parameters": True}}, {"parallelism.fsdp_reshard_after_forward": "never"}),
                ({"schedule": {"kind": "zbv"}}, {"parallelism.pipeline_parallel_schedule": "ZBVZeroBubble",
                                                 "parallelism.pipeline_parallel_split_points": ["layers.4", "layers.8", "layers.12"]}),
                ({"recompute": "full", "recompute_parts": []}, {"activation_checkpoint.mode": "full"}),
                ({"precision": {"products": "fp8", "parameter_gathers": "products"}},
                 {"model.converters": ["float8"], "float8.recipe_name": "tensorwise", "float8.enable_fsdp_float8_all_gather": True}),
                ({"precision": {"products": "fp8", "scaling": "rowwise", "parameter_gathers": "parameters"}}, {"float8.recipe_name": "rowwise"}),
                ({"platform": {"file": "dgx-b200", "nodes": 4}, "precision": {"products": "mxfp8", "parameter_gathers": "parameters"}}, {"model.converters": ["mx"], "mx.recipe_name": "mxfp8"})]
        for change, lines in rows:
            work = {key: value for key, value in {**self.TITAN, **change}.items() if value is not None}
            config, unsaid = self.exported(work)
            found = flat(config)
            self.assertEqual({key: found.get(key) for key in lines}, lines, change)
            self.assertEqual(unsaid, set(), change)

    def test_what_it_has_no_words_for_is_told(self):
        _, unsaid = self.exported({**self.TITAN, "schedule": {"kind": "zbh1"}, "data_parallel": {"zero": 1, "offload": True}, "host": {"launch": "5 us"},
                                   "precision": {"products": "fp8", "scaling": "blockwise"}, "model": {**self.TITAN["model"], "attention": "unfused"}})
        self.assertEqual(unsaid, {"schedule.kind", "data_parallel.zero", "data_parallel.offload", "data_parallel.units", "host.launch", "precision.products",
                                  "precision.scaling", "model.attention"})

    def test_every_workload_of_this_folder_gives_a_config_of_its_gpus(self):
        for path in sorted((ROOT / "workloads").glob("*.yaml")):
            text = self.meshsim("export", "torchtitan", str(path)).stdout
            degrees = tomllib.loads(text)["parallelism"]
            gpus = 1
            for key, value in degrees.items():
                gpus *= value if key.endswith("_degree") and not key.startswith("expert") else 1
            mesh = yaml.safe_load(path.read_text(encoding="utf-8"))["mesh"]
            expected = 1
            for key, size in mesh.items():
                expected *= size if key != "order" else 1
            self.assertEqual(gpus, expected, path)


class Refusals(Export):
    def test_a_pipe_is_read_once(self):
        """The program is asked several times, each time with all of it."""
        self.write(TINY, "w.yaml")
        text = (self.folder / "w.yaml").read_text(encoding="utf-8")
        expected = self.meshsim("export", "deepspeed", "w.yaml", "--quiet").stdout
        for path in ("/dev/stdin", "<(cat w.yaml)"):
            done = subprocess.run(["bash", "-c", f"{shlex.quote(PROGRAM)} export deepspeed {path} --quiet"], cwd=self.folder, input=text, capture_output=True, text=True,
                                  env=dict(os.environ, MESHSIM_DATA=str(ROOT)), check=False, timeout=100)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, expected, ""))
        done = subprocess.run([PROGRAM, "export", "deepspeed", "/dev/stdin"], cwd=self.folder, input="a: 1\n", capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual(done.returncode, 3)
        self.assertIn("/dev/stdin:1:1: error: ", done.stderr)

    def test_what_is_no_export_says_why(self):
        path = self.write(TINY, "w.yaml")
        self.assertIn("unknown kind 'megatorn'; did you mean 'megatron'?", self.meshsim("export", "megatorn", path, code=2).stderr)
        self.write({"platform": {"file": "ideal", "nodes": 2}, "mesh": {"pp": 2}, "costs": {"forward": "1 ms", "input_gradient": "1 ms"},
                    "batch": {"microbatches": 4}}, "costs.yaml")
        self.assertIn("given times have no model", self.meshsim("export", "megatron", "costs.yaml", code=3).stderr)
        self.assertIn("mesh", self.meshsim("export", "megatron", path, "--set", "mesh.tp=3", code=3).stderr)


TINY = {"platform": {"file": "dgx-a100", "nodes": 1}, "model": {"type": "gpt", "layers": 8, "hidden": 1024, "heads": 16, "vocab": 51200, "sequence": 1024},
        "mesh": {"dp": 2, "pp": 2, "tp": 2}, "batch": {"global": 16}}


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
