#!/usr/bin/env python3
"""`meshsim new`: workloads to begin with, for every shipped model on every shipped platform.

usage: test_new.py PROGRAM
"""
# ctest: 3 parts

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml
from parts import load_tests  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(sys.argv.pop(1)).resolve()
TIMEOUT_S = 120
# each model on two platforms, all platforms in turn; with MS_ALL each on each, which takes minutes
ALL = "MS_ALL" in os.environ
MODELS = sorted(path.stem for path in (ROOT / "workloads").glob("*.yaml"))
NAMED = ROOT / "workloads/models"
PLATFORMS = sorted(path.stem for path in (ROOT / "platforms").glob("*.yaml"))


class New(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def meshsim(self, *words, code=0):
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), (words, done.stderr))
        return done

    def new(self, *words, code=0):
        return self.meshsim("new", *words, "-o", "my.yaml", "--force", code=code)


class Words(New):
    def test_without_a_model_and_a_platform_it_lists_what_there_is(self):
        page = self.meshsim("new").stdout
        for name in MODELS + PLATFORMS + [path.stem for path in NAMED.glob("*.json")]:
            self.assertRegex(page, rf"(?<![-\w]){re.escape(name)}(?![-\w])")
        self.assertEqual(self.meshsim("new", "--list", "--model", "tiny", "--platform", "ideal").stdout, page)
        self.assertIn("option '--platform' is missing: one of bytedance-a100, ", self.meshsim("new", "--model", "tiny", code=2).stderr)
        self.assertIn("option '--model' is missing: one of deepseek-v3, ", self.meshsim("new", "--platform", "ideal", code=2).stderr)

    def test_models_by_name_are_the_published_ones(self):
        """Sizes as in the configs of tests/import/hf, parameters as the README says."""
        rows = re.findall(r"^\| `(\S+)\.json` \| (.*) \| (\d+) \| ([\de.]+)(?: \(.*\))? \|$", (NAMED / "README.md").read_text(encoding="utf-8"), re.M)
        self.assertEqual(sorted(row[0] for row in rows), sorted(path.stem for path in NAMED.glob("*.json")))
        page = (ROOT / "tests/import/hf/README.md").read_text(encoding="utf-8")
        for name, source, sequence, parameters in rows:
            with self.subTest(name):
                gpus = {"llama3-8b": "8", "llama3-70b": "64", "mixtral-8x7b": "64", "qwen3-235b-a22b": "256"}.get(name, "512")
                self.new("--model", name, "--platform", "dgx-h100", "--gpus", gpus)
                spec = yaml.safe_load((self.folder / "my.yaml").read_text(encoding="utf-8"))
                self.assertEqual((spec["model"]["sequence"], spec["name"]), (int(sequence), f"{name} on {gpus} GPUs"))
                total = json.loads(self.meshsim("check", "my.yaml", "--json").stdout)["parameters"]["total_without_mtp"]
                self.assertLess(abs(total / float(parameters) - 1.0), 1e-3)
                config = json.loads((NAMED / f"{name}.json").read_text(encoding="utf-8"))
                if "huggingface" in source:
                    file = re.search(rf"^\| `(\S+)` \| {re.escape(source)} \|", page, re.M).group(1)
                    published = json.loads((ROOT / "tests/import/hf" / file).read_text(encoding="utf-8"))
                    self.assertEqual(config, published)
                else:  # Brown et al., table 2.1: layers, d_model, heads
                    self.assertEqual([config[key] for key in ("n_layer", "n_embd", "n_head")], [96, 12288, 96])

    def test_a_name_works_wherever_a_config_does(self):
        path = str(NAMED / "llama3-8b.json")
        self.assertEqual(self.meshsim("new", "--model", "llama3-8b", "--json").stdout, self.meshsim("new", "--model", path, "--json").stdout)
        self.new("--model", "llama3-8b", "--platform", "dgx-h100", "--gpus", "8", "--sequence", "1024")
        self.assertEqual(yaml.safe_load((self.folder / "my.yaml").read_text(encoding="utf-8"))["model"]["sequence"], 1024)
        for word, near in (("llama3-70", "llama3-70b"), ("deepseek", "deepseek-v3"), ("tinny", "tiny")):
            self.assertIn(f"did you mean '{near}'?", self.new("--model", word, "--platform", "dgx-h100", code=3).stderr)
        (self.folder / "llama3-8b").mkdir()  # what is in the current folder comes first, as for workloads
        self.assertIn("llama3-8b/config.json: error: no such file", self.new("--model", "llama3-8b", "--platform", "dgx-h100", code=3).stderr)

    def test_paths_with_quotes(self):
        """Paths and names become values of YAML, in which quotes have a meaning."""
        folder = self.folder / "it's \"here\""
        folder.mkdir()
        shutil.copy(NAMED / "llama3-8b.json", folder / "a 'config'.json")
        platform = yaml.safe_load((ROOT / "platforms/dgx-h100.yaml").read_text(encoding="utf-8"))
        (folder / "it's.yaml").write_text(yaml.safe_dump(platform), encoding="utf-8")
        self.new("--model", str(folder / "a 'config'.json"), "--platform", str(folder / "it's.yaml"), "--gpus", "8")
        self.meshsim("check", "my.yaml")
        spec = yaml.safe_load((self.folder / "my.yaml").read_text(encoding="utf-8"))
        self.assertEqual((spec["platform"]["file"], spec["name"]), (str(folder / "it's.yaml"), "a 'config'.json on 8 GPUs"))

    def test_the_page_says_a_line_that_works(self):
        line = re.search(r"such as: meshsim (.*)", self.meshsim("new").stdout).group(1)
        self.meshsim(*line.split())
        self.meshsim("check", "my.yaml")

    def test_nothing_is_written_over_unasked(self):
        path = self.folder / "my.yaml"
        path.write_text("precious\n", encoding="utf-8")
        words = ("new", "--model", "tiny", "--platform", "dgx-h100", "--gpus", "8", "-o", "my.yaml")
        self.assertIn("'my.yaml' is there already; --force writes over it", self.meshsim(*words, code=2).stderr)
        self.assertEqual(path.read_text(encoding="utf-8"), "precious\n")
        self.meshsim(*words, "--force")
        self.meshsim("check", "my.yaml")

    def test_every_key_has_a_comment(self):
        self.new("--model", "deepseek-v3-2048", "--platform", "dgx-h100", "--gpus", "2048")
        lines = (self.folder / "my.yaml").read_text(encoding="utf-8").splitlines()
        keys = 0
        for above, line in zip(lines, lines[1:]):
            if re.match(r" *\w+:", line):
                keys += 1
                self.assertRegex(above, r"^ *# .*\.$", line)
        self.assertGreater(keys, 20)
        text = re.sub(r"\s*\n\s*# ", " ", "\n".join(lines))
        self.assertRegex(text, r"\bdp: \d+")
        self.assertIn("Activations recomputed in the backward pass. Choices: none, full or selective.", text)
        self.assertIn("Choices: gpipe, 1f1b, ", text)

    def test_sizes_are_as_asked(self):
        self.new("--model", "tiny", "--platform", "dgx-h100", "--gpus", "24", "--batch", "96", "--sequence", "512")
        spec = yaml.safe_load((self.folder / "my.yaml").read_text(encoding="utf-8"))
        self.assertEqual(spec["batch"], {"global": 96, "micro": 1})
        self.assertEqual(spec["platform"], {"file": "dgx-h100", "nodes": 3})
        self.assertEqual(spec["model"]["sequence"], 512)
        mesh = spec["mesh"]
        self.assertEqual(mesh["dp"] * mesh["pp"] * mesh["tp"], 24)

    def test_a_hugging_face_config(self):
        config = {"model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 8, "num_attention_heads": 8,
                  "vocab_size": 32000, "max_position_embeddings": 2048}
        (self.folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        self.new("--model", "config.json", "--platform", "dgx-h100", "--gpus", "8")
        spec = yaml.safe_load((self.folder / "my.yaml").read_text(encoding="utf-8"))
        self.assertEqual((spec["model"]["layers"], spec["model"]["ffn"]), (8, 4096))
        self.meshsim("run", "my.yaml")

    def test_a_program_apart_from_its_data_says_what_to_set(self):
        copy = self.folder / "meshsim"
        shutil.copy(PROGRAM, copy)
        clean = {key: value for key, value in os.environ.items() if not key.startswith("MESHSIM")}

        def run(code, *words, **variables):
            done = subprocess.run([copy, *words], cwd=self.folder, env=clean | variables, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            return done.stderr

        said = "of meshsim's platforms, models and workloads is not there; set MESHSIM_DATA to the folder that holds 'platforms' and 'workloads'"
        if not Path("/usr/local/share/meshsim/platforms").exists():
            for words in (("new",), ("new", "--list"), ("check", "tiny"), ("platform", "dgx-h100"), ("new", "--model", "llama3-8b", "--platform", "dgx-h100")):
                self.assertEqual(run(3, *words).count(said), 1, words)
            self.assertNotIn(said, run(2, "check"))
            self.assertEqual(run(0, "check", str(ROOT / "workloads/tiny.yaml")), "")  # it finds the platforms beside the workload
        self.assertIn(f"the folder '{self.folder}/none' {said}", run(3, "check", "tiny", MESHSIM_DATA=f"{self.folder}/none"))
        self.assertNotIn(said, run(3, "check", "tinny", MESHSIM_DATA=str(ROOT)))
        self.assertEqual(run(0, "check", "tiny", MESHSIM_DATA=str(ROOT)), "")

    def test_types_of_models_are_data(self):
        (self.folder / "config.json").write_text(json.dumps({"model_type": "mine", "hidden_size": 1024}), encoding="utf-8")
        words = ("new", "--model", "config.json", "--json")
        types = Path("workloads/families/hugging-face.yaml")
        (self.folder / types).parent.mkdir(parents=True)
        text = (ROOT / types).read_text(encoding="utf-8")
        self.assertIn("unknown type of models 'mine'", self.meshsim(*words, code=3).stderr)
        for row, code, said in (("{like: llama, left_out: its hat}", 0, "its hat"), ("{like: llama, traits: [gatd]}", 3, "did you mean 'gated'?"),
                                ("{like: llama, rules: [{ky: a}]}", 3, "unknown key"), ("{like: llama, defaults: 3}", 3, "no default for mine")):
            (self.folder / types).write_text(text.replace("families:\n", f"families:\n  mine: {row}\n", 1), encoding="utf-8")
            done = self.meshsim(*words, code=code)
            self.assertIn(said, done.stdout + done.stderr)
        (self.folder / types).unlink()
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, env=dict(os.environ, MESHSIM_DATA="nowhere"), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, "no file 'hugging-face.yaml' of the types of models" in done.stderr), (3, True), done.stderr)

    def test_faults(self):
        for words, code, said in (
            (("--model", "tinny", "--platform", "ideal"), 3, "no model 'tinny'; looked for"),
            (("--model", "tiny", "--platform", "nowhere"), 3, "nowhere"),
            (("--model", "tiny", "--platform", "dgx-h100", "--gpus", "7"), 2, "are no whole nodes of 'dgx-h100'"),
            (("--model", "nowhere.json", "--platform", "dgx-h100"), 3, "no such file"),
            (("--model", "megatron-1t-3072", "--platform", "dgx-h100", "--gpus", "8"), 1, "it does not fit in memory on 8 GPUs"),
            (("--model", "tiny", "--platform", "dgx-h100", "--gpus", "16", "--batch", "0"), 2, "--batch"),
            (("--model", "tiny", "--platform", "dgx-h100", "--gpus", "1024", "--batch", "1"), 3, "no mesh of 1024 GPUs shares 1 sequences a step"),
        ):
            self.assertIn(said, self.new(*words, code=code).stderr, words)
            self.assertFalse((self.folder / "my.yaml").exists(), words)

    def test_what_is_written_is_what_was_estimated(self):
        """The framework's choices depend on ZeRO and recomputation: each candidate has its own, as the file that is written."""
        for platform, gpus in (("meta-roce-h100", "1024"), ("flat", "2048")):
            done = self.new("--model", "llama3-405b-8k", "--platform", platform, "--gpus", gpus)
            time_s, peak_GiB = map(float, re.search(r"some ([\d.]+) s a step, ([\d.]+) GiB\s+per", done.stdout).groups())
            checked = json.loads(self.meshsim("check", "my.yaml", "--json").stdout)
            # three or four digits are printed, and the estimates of a candidate and of a job agree to 0.1 %
            self.assertLess(abs(time_s / checked["estimate"]["step_time_s"] - 1), 2e-3, platform)
            self.assertLess(abs(peak_GiB * 2**30 / checked["memory"]["peak_B"] - 1), 1e-3, platform)
            (self.folder / "my.yaml").unlink()

    def test_without_any_word_it_says_what_to_type_and_that_works(self):
        done = self.meshsim(code=2)
        lines = re.findall(r"^  meshsim (.*?) +#", done.stderr, re.M)
        self.assertEqual(len(lines), 3)
        for line in lines:
            self.meshsim(*line.split())
        for name in ("tiny.h5", "tiny.html", "my.yaml"):
            self.assertTrue((self.folder / name).exists(), name)


class Combinations(New):
    """Where a model fits on a platform, `check` and `run` take what is written; where not, nothing is."""

    def try_out(self, model, platform):
        described = json.loads(self.meshsim("platform", platform, "--json").stdout)
        gpus = described["gpus"] if ALL else min(described["gpus"], 1024 // described["gpus_per_node"] * described["gpus_per_node"])
        done = self.new("--model", model, "--platform", platform, "--gpus", str(gpus), code=(0, 1))
        path = self.folder / "my.yaml"
        if done.returncode == 1:
            self.assertIn("it does not fit in memory", done.stderr)
            self.assertFalse(path.exists())
            return False
        next_lines = re.findall(r"^meshsim (\w+) my\.yaml ", done.stdout, re.M)
        self.assertEqual(next_lines, ["check", "run", "search"], done.stdout)
        for command in next_lines[:2]:  # as the page says: a step whose ranks all differ is simulated with its bounds
            self.meshsim(command, "my.yaml")
        path.unlink()
        return True


def add_combinations():
    for index, model in enumerate(MODELS):
        def test(self, model=model, index=index):
            tried = PLATFORMS if ALL else [PLATFORMS[(2 * index) % len(PLATFORMS)], PLATFORMS[(2 * index + 1) % len(PLATFORMS)]]
            ran = [platform for platform in tried if self.try_out(model, platform)]
            self.assertTrue(ran or not ALL, model)

        setattr(Combinations, f"test_{index:02}_{model.replace('-', '_')}", test)


add_combinations()

if __name__ == "__main__":
    unittest.main()
