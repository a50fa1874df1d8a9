#!/usr/bin/env python3
"""Importing: configs of Hugging Face as workloads, what becomes of their keys, what is refused.

usage: test_import.py MESHSIM [unittest arguments]
"""

import json
import re
import shlex

import programs
from programs import ROOT

CONFIGS = ROOT / "tests" / "import" / "hf"
PUBLISHED = re.compile(r"^\| `(\S+\.json)` \| [^|]+ \| ([0-9.e+]+)((?: [+-]\w+)*) \| ([0-9.e]*)((?: [+-]\w+)*) *\|", re.M)
LLAMA = {
    "_name_or_path": "meta-llama/Meta-Llama-3-8B",
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "vocab_size": 128256,
    "rope_theta": 500000.0,
    "an_unknown_one": 1,
}
ON_A_NODE = ["--set", "platform={file: dgx-h100, nodes: 1}", "--set", "mesh={dp: 8}", "--set", "batch.global=8"]
WHERE = ["--set", "platform={file: dgx-h100, nodes: 2}", "--set", "mesh={dp: 4, tp: 4}", "--set", "batch.global=64"]


class Import(programs.ProgramTest):
    source = "config.json"

    def imported(self, config):
        return json.loads(self.meshsim("import", "hf", self.write(config), "--quiet", "--json").stdout)

    def test_two_commands_from_a_config_to_an_answer(self):
        page = self.meshsim("import", "hf", self.write(LLAMA), *WHERE, "-o", "w.yaml").stdout
        self.assertIn("exactly    8030261248 parameters", page)
        checked = json.loads(self.meshsim("check", "w.yaml", "--json").stdout)
        self.assertEqual(checked["parameters"]["total"], 8030261248)
        self.assertEqual(checked["gpus"], 16)

    def test_options_fill_what_is_left_out(self):
        self.meshsim("import", "hf", self.write(LLAMA), "--platform", "dgx-h100", "--gpus", "64", "--batch", "256", "-o", "w.yaml")
        checked = json.loads(self.meshsim("check", "w.yaml", "--json", "--ignore-memory").stdout)
        self.assertEqual((checked["gpus"], checked["mesh"]["dp"], checked["global_batch"]), (64, 64, 256))
        self.assertNotIn("required", (self.folder / "w.yaml").read_text(encoding="utf-8"))
        self.meshsim("import", "hf", "config.json", "--platform", "dgx-h100", "--gpus", "64", "--set", "mesh={dp: 8, tp: 8}", "-o", "w.yaml")
        self.assertIn("tp: 8", (self.folder / "w.yaml").read_text(encoding="utf-8"))
        for words, said in ((["--gpus", "64"], "'--gpus' needs '--platform'"), (["--platform", "dgx-h100", "--gpus", "12"], "no whole nodes of 'dgx-h100', which have 8"),
                            (["--batch", "0"], "batch")):
            self.assertIn(said, self.meshsim("import", "hf", "config.json", *words, code=2).stderr)
        self.meshsim("import", "hf", "config.json", "--platform", "nowhere", code=3)

    def test_what_the_source_does_not_say_is_required(self):
        self.meshsim("import", "hf", self.write(LLAMA), "-o", "w.yaml")
        text = (self.folder / "w.yaml").read_text(encoding="utf-8")
        refused = self.meshsim("check", "w.yaml", code=3).stderr
        for key in ("platform", "mesh", "batch"):
            self.assertIn(f"# required: {key}: ", text)
            self.assertRegex(refused, rf"w\.yaml:\d+:\d+: error: {key}: this key is required")
        self.assertEqual(refused.count("error: "), 3)
        self.meshsim("check", "w.yaml", *WHERE)
        self.assertEqual(self.imported(LLAMA)["missing"], ["platform", "mesh", "batch"])

    def test_the_page_says_how_what_is_required_is_given(self):
        page = self.meshsim("import", "hf", self.write(LLAMA), "-o", "w.yaml").stdout
        self.assertIn("required   platform, mesh, batch, see the file's comments\n", page)
        now = re.search(r"^now        add, for example, (.*)$", page, re.M)[1]
        later = re.search(r"^or later   meshsim (run w.yaml .*)$", page, re.M)[1]
        self.meshsim(*shlex.split(later), "--ignore-memory")
        page = self.meshsim("import", "hf", "config.json", *shlex.split(now), "-o", "w.yaml").stdout
        self.assertNotIn("required", page)
        self.meshsim("run", "w.yaml", "--ignore-memory")

    def test_what_is_no_config_is_told(self):
        for name in ("meta-llama/Llama-3.1-8B", "https://huggingface.co/x/y/resolve/main/config.json"):
            self.assertIn(f"{name}: no such file or folder; nothing is downloaded: save the config.json", self.meshsim("import", "hf", name, code=3).stderr)
        self.assertIn("nowhere.json: error: no such file", self.meshsim("import", "hf", "nowhere.json", code=3).stderr)
        for keys, said in (({"peft_type": "LORA", "r": 8}, "that of an adapter (PEFT)"), ({"_from_model_config": True}, "that of generation"),
                           ({"_class_name": "X"}, "a pipeline of Diffusers"), ({"dim": 4096, "n_layers": 32, "ffn_dim_multiplier": 1.3}, "Meta's params.json")):
            self.assertRegex(self.meshsim("import", "hf", self.write(keys), code=3).stderr, "model_type: key is missing; it is .*" + re.escape(said))

    def test_keys_beside_those_of_the_text(self):
        config = {"model_type": "llava", "ignore_index": -100, "image_token_index": 32000, "vocab_size": 32064, "_name_or_path": "x/llava-1.5-7b",
                  "an_unknown_one": 1, "text_config": {"model_type": "llama", "vocab_size": 32064, "max_position_embeddings": 4096, "an_unknown_one": 1}}
        found = self.imported(config)
        self.assertEqual(found["parameters"]["total"], 6738939904)
        fates = {row["key"]: (row["fate"], row["why"]) for row in found["keys"]}
        self.assertEqual(fates["ignore_index"], ("ignored", "names tokens"))
        self.assertEqual(fates["an_unknown_one"], ("ignored", "not of the text model, which alone is simulated"))
        self.assertEqual(fates["text_config.an_unknown_one"][0], "unknown")
        self.assertIn('name: "llava-1.5-7b"', found["workload"])
        for key, why in (("video_token_id", "names tokens"), ("mm_vision_tower", "not of the text model, which alone is simulated")):
            rows = {row["key"]: row["why"] for row in self.imported(LLAMA | {key: 1})["keys"]}
            self.assertEqual(rows[key], why)

    def test_each_key_is_told_of(self):
        said = self.meshsim("import", "hf", self.write(LLAMA)).stderr
        for key in LLAMA:
            self.assertRegex(said, rf"config\.json:\d+:\d+: note: {key}: (used for|ignored: |unknown)")
        self.assertIn("an_unknown_one: unknown", said)
        self.assertIn("tie_word_embeddings: assumed: false, Transformers' default for llama", said)
        fates = {row["key"]: row["fate"] for row in self.imported(LLAMA)["keys"]}
        self.assertEqual(fates["hidden_size"], "used")
        self.assertEqual(fates["rope_theta"], "ignored")
        self.assertEqual(fates["an_unknown_one"], "unknown")
        self.assertEqual(fates["attention_bias"], "assumed")

    def test_what_trains_the_model_is_assumed(self):
        def imported(*sets, config=LLAMA):
            done = self.meshsim("import", "hf", self.write(config), *WHERE, *[word for text in sets for word in ("--set", text)], "-o", "w.yaml")
            return (self.folder / "w.yaml").read_text(encoding="utf-8"), done.stderr
        text, said = imported()
        self.assertIn("framework: megatron-core\n", text)
        self.assertIn("\n# assumed: framework: no config says what trains the model;", text)
        self.assertIn("tensor_parallel:\n  sequence: true\n", text)
        self.assertIn("note: framework: assumed: megatron-core, no config says what trains the model: --set framework=NAME", said)
        self.assertIn("note: tensor_parallel.sequence: assumed: true, ", said)
        plain = json.loads(self.meshsim("run", "w.yaml", "--json", "--set", "framework=null", "--set", "tensor_parallel=null").stdout)
        self.assertLess(json.loads(self.meshsim("run", "w.yaml", "--json").stdout)["step_time_s"], plain["step_time_s"])
        text, said = imported("framework=torchtitan")
        self.assertIn("framework: torchtitan\n", text)
        self.assertNotIn("sequence: true", text)
        self.assertNotIn("assumed: framework", text + said)
        for sets, there in ((["tensor_parallel.sequence=false"], "sequence: false"), (["tensor_parallel={overlap: bulk}"], "overlap: bulk"),
                            (["tensor_parallel.overlap=ring"], "sequence: true")):
            text, _ = imported(*sets)
            self.assertIn("framework: megatron-core\n", text)
            self.assertIn(there, text)
            self.assertEqual("sequence: true" in text, there == "sequence: true")
        neox = json.loads((CONFIGS / "gpt-neox-20b.json").read_text(encoding="utf-8"))
        self.assertNotIn("sequence: true", imported(config=neox)[0])
        self.meshsim("check", "w.yaml", "--ignore-memory")

    def test_in_place_it_is_the_same_job(self):
        self.write(LLAMA)
        self.meshsim("import", "hf", "config.json", *WHERE, "-o", "w.yaml")
        place = ("framework: megatron-core\nplatform: {file: dgx-h100, nodes: 2}\nmodel: {hf: %s}\nmesh: {dp: 4, tp: 4}\nbatch: {global: 64}\n"
                 "tensor_parallel: {sequence: true}\n")
        (self.folder / "w").mkdir()
        imported = json.loads(self.meshsim("check", "w.yaml", "--json").stdout)
        for said in ("../config.json", "..", str(self.folder / "config.json")):
            (self.folder / "w" / "p.yaml").write_text(place % said, encoding="utf-8")
            there = json.loads(self.meshsim("check", "w/p.yaml", "--json").stdout)
            self.assertEqual(there | {"workload": "w"}, imported)
        effective = self.meshsim("check", "w/p.yaml", "--effective", "--set", "model.layers=16").stdout
        self.assertIn("model.layers = 16  # --set", effective)
        self.assertRegex(effective, r"model.hidden = 4096  # hf, .*config.json:4")

    def test_in_place_a_bad_config_is_the_one_fault(self):
        self.write("{")
        (self.folder / "p.yaml").write_text("platform: {file: dgx-h100, nodes: 2}\nmodel: {hf: config.json}\nmesh: {dp: 16}\nbatch: {global: 64}\n",
                                            encoding="utf-8")
        said = self.meshsim("check", "p.yaml", code=3).stderr
        self.assertIn("config.json:1:1: error: not valid JSON", said)
        self.assertEqual(said.count("error: "), 1, said)
        self.meshsim("check", "p.yaml", "--set", "model.hf=[1]", code=3)
        self.write(LLAMA | {"an_unknown_one": None})
        self.meshsim("check", "p.yaml", "--ignore-memory")

    def test_published_models_have_their_published_sizes(self):
        rows = PUBLISHED.findall((CONFIGS / "README.md").read_text(encoding="utf-8"))
        self.assertEqual(sorted(row[0] for row in rows), sorted(path.name for path in CONFIGS.glob("*.json")))
        self.assertGreaterEqual(len(rows), 93)
        families = set()
        for name, total, basis, active, active_basis in rows:
            found = json.loads(self.meshsim("import", "hf", str(CONFIGS / name), "--quiet", "--json", *ON_A_NODE, "-o", "w.yaml").stdout)
            counts = found["parameters"]
            family = json.loads((CONFIGS / name).read_text(encoding="utf-8"))["model_type"]
            with self.subTest(name):
                counted = self.counted(counts, "total", basis)
                self.assertTrue(abs(counted / float(total) - 1) < 1e-3 or self.rounds_to(counted, total), counts)
                if active:
                    self.assertTrue(self.rounds_to(self.counted(counts, "active", active_basis), active), counts)
                self.assertEqual([key["key"] for key in found["keys"] if key["fate"] == "unknown"], [])
                if family not in families:  # one of each family is laid out
                    families.add(family)
                    checked = json.loads(self.meshsim("check", "w.yaml", "--json", "--ignore-memory").stdout)
                    self.assertEqual(checked["parameters"]["total"], counts["total"])
                    self.assertGreater(checked["estimate"]["step_time_s"], 0)
        self.assertGreaterEqual(len(families), 50)

    @staticmethod
    def rounds_to(counted, published):
        """Whether a count is a published one, rounded to as many digits as that has."""
        digits = len(published.partition("e")[0].replace(".", ""))
        return float(f"{counted:.{digits - 1}e}") == float(published)

    @staticmethod
    def counted(counts, what, basis):
        """A count as the authors of a model make it: `basis` says with what, and without what."""
        words = basis.split()
        count = counts[what] if "+modules" in words else counts[f"{what}_without_mtp"]
        count += counts["total_untied"] - counts["total"] if "+untied" in words else 0
        return count + sum({"+": 1, "-": -1}[word[0]] * counts[word[1:]] for word in words if word[1:] in ("embedding", "head"))

    def test_counts_with_and_without_modules_and_tied_head(self):
        head, modules = 7168 * 129280, 11610068224
        counts = json.loads(self.meshsim("import", "hf", str(CONFIGS / "deepseek-v3.json"), "--quiet", "--json").stdout)["parameters"]
        self.assertEqual((counts["total"], counts["total_without_mtp"]), (671026419200 + modules, 671026419200))
        self.assertEqual((counts["total_untied"], counts["total_tied"]), (counts["total"], counts["total"] - head))
        self.assertEqual((counts["embedding"], counts["head"]), (head, head))
        tied = json.loads(self.meshsim("import", "hf", str(CONFIGS / "qwen3-0.6b.json"), "--quiet", "--json").stdout)["parameters"]
        self.assertEqual((tied["total"], tied["total_tied"], tied["total_untied"]), (596049920, 596049920, 751632384))
        self.meshsim("import", "hf", str(CONFIGS / "deepseek-v3.json"), "--quiet", "-o", "w.yaml")
        words = ("check", "w.yaml", "--set", "platform={file: h800, nodes: 256}", "--set", "mesh={pp: 16, dp: 2, ep: 64, order: [pp, dp, ep]}", "--set",
                 "batch.global=2048", "--set", "schedule.partition=balanced", "--ignore-memory")
        page = self.meshsim(*words).stdout
        for name, count in (("parameters", "682.6 billion"), ("of them active", "38.24 billion"), ("without prediction modules", "671 billion")):
            self.assertRegex(page, rf"(?m)^{name} +{count}$")
        checked = json.loads(self.meshsim(*words, "--json").stdout)["parameters"]
        self.assertEqual((checked["total"], checked["active"], checked["total_without_mtp"]), (counts["total"], 38240398080, 671026419200))

    def model_of(self, name, **keys):
        """The model of a stored config with other keys, as the workload has it, and what it counts."""
        config = json.loads((CONFIGS / name).read_text(encoding="utf-8")) | keys
        found = self.imported({key: value for key, value in config.items() if value != "absent"})
        return found["workload"], found["parameters"]["total"]

    def test_layers_without_experts(self):
        base, total = self.model_of("qwen1.5-moe-a2.7b.json")
        self.assertNotIn("dense_layers", base)
        expert_layer, dense = 2048 * (60 * 3 * 1408 + 60 + 3 * 5632 + 1), 2048 * 3 * 5632
        for count, said, keys in ((1, "first_dense_layers: 1", {"mlp_only_layers": [0]}), (2, "dense_layers: [2, 4]", {"mlp_only_layers": [2, 4]}),
                                  (12, "every: 2", {"decoder_sparse_step": 2}), (8, "dense_layers: [1, 2, 4, 5,", {"moe_layer_freq": [1, 0, 0] * 8}),
                                  (3, "first_dense_layers: 3", {"first_k_dense_replace": 3}), (16, "dense_layers: [1, 2, 4,", {"moe_layer_freq": 3})):
            text, counted = self.model_of("qwen1.5-moe-a2.7b.json", **keys)
            self.assertIn(said, text)
            count = 16 if isinstance(keys.get("moe_layer_freq"), list) else count
            self.assertEqual(total - counted, count * (expert_layer - dense), keys)

        for types, there in ((["dense"] * 3 + ["sparse"] * 21, "first_dense_layers: 3"), (["dense", "sparse"] * 12, "every: 2"), (["sparse"] * 24, "experts: 60")):
            self.assertIn(there, self.model_of("qwen1.5-moe-a2.7b.json", mlp_layer_types=types)[0])
        config = json.loads((CONFIGS / "qwen1.5-moe-a2.7b.json").read_text(encoding="utf-8"))
        for types, fault in ((["dense"], "expected a list with an entry for each of 24 layers"), ("dense", "expected a list"), (["x"] * 24, "'dense' and 'sparse'")):
            said = self.meshsim("import", "hf", self.write(config | {"mlp_layer_types": types}), "--quiet", code=3).stderr
            self.assertRegex(said, f"mlp_layer_types: .*{fault}")

    def test_defaults_are_those_of_the_family(self):
        self.assertIn("tied_embeddings: true", self.model_of("gemma-2b.json")[0])
        self.assertIn("tied_embeddings: false", self.model_of("phi-2.json", tie_word_embeddings="absent")[0])
        self.assertIn("window: 4096", self.model_of("mistral-7b-v0.1.json", sliding_window="absent")[0])
        self.assertNotIn("window", self.model_of("mistral-7b-v0.1.json", sliding_window=None)[0])
        self.assertIn("window: 32768", self.model_of("qwen2.5-7b.json", use_sliding_window=True, max_window_layers=0)[0])
        self.assertNotIn("window", self.model_of("qwen2.5-7b.json", use_sliding_window=True)[0])
        self.assertNotIn("kv_heads", self.model_of("llama-2-7b.json", num_key_value_heads="absent")[0])
        self.assertIn("biases: [qkv, attention_output]", self.model_of("llama-2-7b.json", attention_bias=True)[0])
        self.assertIn("bias: true", self.model_of("llama-2-7b.json", attention_bias=True, mlp_bias=True)[0])
        self.assertNotIn("parallel_block", self.model_of("pythia-6.9b.json", use_parallel_residual=False)[0])
        text, _ = self.model_of("gemma-3-4b.json")
        for said in ("heads: 8", "kv_heads: 4", "head_dim: 256", "vocab: 262208", "qk_norm: true", "post_norms: true", "sequence: 8192"):
            self.assertIn(said, text)
        text, _ = self.model_of("deepseek-v2-lite.json")
        self.assertNotIn("q_rank", text)
        self.assertIn("sequence: 4096", text)
        self.assertIn("q_rank: 1536", self.model_of("deepseek-v2-lite.json", q_lora_rank="absent")[0])
        for name in ("num_local_experts", "n_routed_experts"):
            self.assertIn("experts: 60", self.model_of("qwen1.5-moe-a2.7b.json", num_experts="absent", **{name: 60})[0])

    def test_windows_of_some_layers(self):
        for name, said in (("gpt-oss-20b", (128, 2)), ("gemma-2-9b", (4096, 2)), ("gemma-3-4b", (1024, 6)), ("olmo-3-7b", (4096, 4)), ("command-r7b", (4096, 4))):
            text = self.model_of(f"{name}.json")[0]
            self.assertIn("window: %d\n  window_skip_freq: %d\n" % said, re.sub("  #.*", "", text), name)
        types = ["sliding_attention"] * 5 + ["full_attention"]
        self.assertIn("window_skip_freq: 6", self.model_of("gpt-oss-20b.json", layer_types=types * 4)[0])
        text = self.model_of("gpt-oss-20b.json", layer_types=["sliding_attention"] * 24)[0]
        self.assertIn("window: 128", text)
        self.assertNotIn("window_skip_freq", text)
        for changes in ({"layer_types": types[::-1] * 4}, {"layer_types": ["full_attention"] * 24}, {"sliding_window": None}):
            self.assertNotIn("window", self.model_of("gpt-oss-20b.json", **changes)[0], changes)
        irregular = json.loads((CONFIGS / "gpt-oss-20b.json").read_text(encoding="utf-8")) | {"layer_types": types[::-1] * 4}
        self.assertIn("sliding_window: ignored: a window that is off, or of layers without a rhythm", self.meshsim("import", "hf", self.write(irregular)).stderr)
        self.assertIn("window: 4096", self.model_of("qwen3-8b.json", use_sliding_window=True, sliding_window=4096, max_window_layers=0)[0])

    def test_what_is_not_built_is_refused_by_name(self):
        for kind, why in (("qwen3_next", "layers of linear attention (gated delta networks)"), ("mamba2", "layers of a state-space model (Mamba)"),
                          ("minimax_m1", "layers of linear attention (lightning attention)"), ("bert", "an encoder, which is no causal model"),
                          ("t5", "an encoder beside the decoder"), ("qwen3_5_moe_text", "layers of linear attention (gated delta networks)"),
                          ("llada", "attention in both directions (text diffusion)")):
            said = self.meshsim("import", "hf", self.write(LLAMA | {"model_type": kind}), "--quiet", code=3).stderr
            self.assertIn(f"config.json:3:16: error: model_type: '{kind}' is known and not built: it has {why}", said)
        for name, changes, said in (
                ("smollm3-3b", {"layer_types": ["linear_attention"] * 36}, "layer_types: layers of 'linear_attention' are not built"),
                ("hunyuan-a13b", {"moe_topk": [8] * 31 + [4]}, "moe_topk: layers that differ in it are not built"),
                ("hunyuan-a13b", {"use_cla": True}, "use_cla: keys and values that layers share"),
                ("opt-6.7b", {"word_embed_proj_dim": 512}, "word_embed_proj_dim: expected the hidden size, '4096', got '512'"),
                ("opt-6.7b", {"do_layer_norm_before": False}, "do_layer_norm_before: expected true"),
                ("mpt-7b", {"expansion_ratio": 3}, "expansion_ratio: expected 4, got '3'"),
                ("chatglm3-6b", {"multi_query_attention": False}, "multi_query_attention: expected true: the first ChatGLM"),
                ("qwen-7b", {"no_bias": False}, "no_bias: expected true"),
                ("internlm3-8b", {"bias": True}, "bias: expected false"),
                ("gpt-oss-20b", {"sliding_window": 0}, "sliding_window: expected a window of 1 to")):
            config = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8")) | changes
            self.assertIn(f"error: {said}", self.meshsim("import", "hf", self.write(config), "--quiet", code=3).stderr)

    def test_what_types_of_models_say_in_their_own_way(self):
        def said(name, **changes):
            return re.sub("  #.*", "", self.model_of(f"{name}.json", **changes)[0])
        for name, changes, there, absent in (
                ("falcon-7b", {}, ["kv_heads: 1", "parallel_block: true", "positions: rotary"], "branch_norms"),
                ("falcon-40b", {}, ["kv_heads: 8", "parallel_block: true", "branch_norms: true"], "alibi"),
                ("falcon-40b", {"num_ln_in_parallel_attn": 1}, ["parallel_block: true"], "branch_norms"),
                ("falcon-rw-1b", {}, ["positions: alibi", "bias: true"], "parallel_block"),
                ("mpt-7b", {}, ["positions: alibi", "norm: gain", "sequence: 2048"], "biases"),
                ("mpt-7b", {"no_bias": False}, ["bias: true", "norm: layer"], "gain"),
                ("dbrx", {}, ["kv_heads: 8", "experts: 16", "top_k: 4", "ffn: 10752", "norm: gain"], "every"),
                ("gpt-oss-20b", {}, ["biases: [qkv, attention_output, experts]", "router_bias: true"], "shared_experts"),
                ("llama-4-maverick", {}, ["every: 2", "ffn: 16384", "ffn: 8192", "shared_experts: 1"], "qk_norm"),
                ("ernie-4.5-21b-a3b", {"moe_layer_end_index": 20}, ["first_dense_layers: 1", "dense_layers: [21,"], "every"),
                ("ernie-4.5-21b-a3b", {"moe_layer_end_index": -1}, ["first_dense_layers: 1"], "dense_layers: ["),
                ("seed-oss-36b", {"attention_out_bias": True}, ["biases: [qkv, attention_output]"], "mlp"),
                ("qwen-7b", {}, ["biases: [qkv]", "ffn: 11008", "sequence: 8192", "head_dim: 128"], "window"),
                ("gpt-neo-2.7b", {}, ["biases: [attention_output, mlp]", "positions: learned", "heads: 20"], "qk_norm"),
                ("baichuan-7b", {}, ["positions: rotary", "sequence: 4096"], "alibi"),
                ("baichuan-7b", {"max_position_embeddings": "absent", "model_max_length": 2048}, ["positions: alibi", "sequence: 2048"], "rotary"),
                ("mimo-7b", {}, ["biases: [qkv]", "mtp_layers: 1"], "qk_norm"),
                ("olmo-2-7b", {}, ["qk_norm: true", "qk_gains: own"], "post_norms"),
                ("command-r-plus", {}, ["qk_gains: own"], "branch_norms"), ("command-r", {}, ["norm: gain"], "qk_gains"),
                ("internlm2-7b", {"bias": True}, ["biases: [qkv, attention_output]"], "mlp"),
                ("olmo-7b", {}, ["norm: plain"], "qk_norm"), ("baichuan2-13b", {}, ["positions: alibi", "sequence: 4096"], "kv_heads"),
                ("minimax-m2", {"use_routing_bias": False}, ["qk_gains: own"], "router_bias"),
                ("llama-4-maverick", {"text_config": json.loads((CONFIGS / "llama-4-maverick.json").read_text(encoding="utf-8"))["text_config"] | {"moe_layers": [0, 2, 5]}},
                 ["dense_layers: [1, 3, 4,"], "every"),
                ("glm-4.5", {}, ["biases: [qkv]", "mtp_layers: 1"], "attention_output")):
            text = said(name, **changes)
            for words in there:
                self.assertIn(words, text, name)
            self.assertNotIn(absent, text, name)
        nested = {"model_type": "qwen2_5_vl", "vision_config": {"depth": 32}, "text_config": LLAMA | {"model_type": "qwen2_5_vl_text"}}
        self.assertIn("biases: [qkv]", self.imported(nested)["workload"])
        flat = {key: value for key, value in LLAMA.items() if key != "an_unknown_one"} | {"model_type": "qwen2_5_vl", "vision_config": {"depth": 32}}
        self.assertEqual(self.imported(flat)["parameters"]["total"], self.imported(nested)["parameters"]["total"])

    def test_what_is_left_out_is_told(self):
        said = self.meshsim("import", "hf", str(CONFIGS / "gpt-oss-20b.json"), "-o", "w.yaml").stderr
        self.assertIn("model_type: used for model.type; not simulated: the attention sinks", said)
        self.assertIn("\n# not simulated: the attention sinks, a number per head\n", (self.folder / "w.yaml").read_text(encoding="utf-8"))

    def test_a_file_is_whole_or_not_there(self):
        (self.folder / "w.yaml").write_text("mine", encoding="utf-8")
        self.meshsim("import", "hf", self.write("{"), "-o", "w.yaml", code=3)
        self.assertEqual((self.folder / "w.yaml").read_text(encoding="utf-8"), "mine")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["config.json", "w.yaml"])

    def test_faults_have_a_place(self):
        def refused(code, *changes, **keys):
            config = {key: value for key, value in (LLAMA | keys).items() if key not in changes}
            return self.meshsim("import", "hf", self.write(config), "--quiet", code=code).stderr
        self.assertIn("config.json:4:17: error: hidden_size: expected a whole number, 0 to 2147483647, got '1.5'", refused(3, hidden_size=1.5))
        self.assertIn("error: hidden_size: expected a whole number, 0 to 2147483647, got the text '4096'", refused(3, hidden_size="4096"))
        self.assertIn("got a list", refused(3, vocab_size=[1]))
        self.assertIn("got a list", refused(3, num_attention_heads=[32, 32]))
        self.assertIn("error: tie_word_embeddings: expected true or false, got '1'", refused(3, tie_word_embeddings=1))
        self.assertIn("config.json:7:25: error: model.heads: '33' heads do not divide", refused(3, num_attention_heads=33))
        for dropout, got in (({"p": 0.1}, "an object"), ([0.1], "a list"), ("0.1", "the text '0.1'"), (True, "'true'"), (2, "'2'")):
            self.assertIn(f"error: resid_pdrop: expected a number, 0 to 1, got {got}", refused(3, model_type="gpt2", n_positions=4096, resid_pdrop=dropout))
        self.assertIn("error: num_hidden_layers: key is missing", refused(3, num_hidden_layers=None))
        unknown = refused(3, "hidden_size", "vocab_size", model_type="llamma")
        self.assertIn("error: model_type: unknown type of models 'llamma'; did you mean 'llama'?; it has no hidden_size, vocab_size; expected one of apertus, ", unknown)
        self.assertIn("error: model_type: key is missing", refused(3, "model_type"))
        self.assertIn("says another value than 'num_hidden_layers'", refused(3, n_layer=31))

    def test_usage(self):
        self.write(LLAMA)
        self.assertIn("unknown kind 'hg'; did you mean 'hf'? (known: deepspeed, hf, ", self.meshsim("import", "hg", "config.json", code=2).stderr)
        self.assertIn("expected one file, got 2", self.meshsim("import", "hf", "config.json", "config.json", code=2).stderr)
        self.assertIn("no such file", self.meshsim("import", "hf", "nowhere.json", code=3).stderr)
        self.assertEqual(self.meshsim("import", "hf", "", code=3).stderr, "meshsim: error: expected a file's name, got ''\n")
        self.meshsim("import", "hf", code=2)
        self.meshsim("import", "hf", "config.json", "--set", "model", code=2)


if __name__ == "__main__":
    programs.main(__doc__)
