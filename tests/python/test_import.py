#!/usr/bin/env python3
"""Importing: configs of Hugging Face as workloads, what becomes of their keys, what is refused.

usage: test_import.py MESHSIM [unittest arguments]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
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
WHERE = ["--set", "platform={file: dgx-h100, nodes: 2}", "--set", "mesh={dp: 4, tp: 4}", "--set", "batch.global=64"]


class Import(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="meshsim-import-")))

    def meshsim(self, *words, code=0):
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True,
                              env=dict(os.environ, MESHSIM_DATA=str(ROOT)), timeout=100)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done

    def write(self, config, name="config.json"):
        (self.folder / name).write_text(json.dumps(config, indent=1) if isinstance(config, dict) else config, encoding="utf-8")
        return name

    def imported(self, config):
        return json.loads(self.meshsim("import", "hf", self.write(config), "--quiet", "--json").stdout)

    def test_two_commands_from_a_config_to_an_answer(self):
        page = self.meshsim("import", "hf", self.write(LLAMA), *WHERE, "-o", "w.yaml").stdout
        self.assertIn("Meta-Llama-3-8B, 8030261248 parameters", page)
        checked = json.loads(self.meshsim("check", "w.yaml", "--json").stdout)
        self.assertEqual(checked["parameters"]["total"], 8030261248)
        self.assertEqual(checked["gpus"], 16)

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

    def test_in_place_it_is_the_same_job(self):
        self.write(LLAMA)
        self.meshsim("import", "hf", "config.json", *WHERE, "-o", "w.yaml")
        place = "platform: {file: dgx-h100, nodes: 2}\nmodel: {hf: %s}\nmesh: {dp: 4, tp: 4}\nbatch: {global: 64}\n"
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
        self.assertIn("error: tie_word_embeddings: expected true or false, got '1'", refused(3, tie_word_embeddings=1))
        self.assertIn("config.json:7:25: error: model.heads: '33' heads do not divide", refused(3, num_attention_heads=33))
        self.assertIn("error: num_hidden_layers: key is missing", refused(3, num_hidden_layers=None))
        unknown = refused(3, "hidden_size", "vocab_size", model_type="llamma")
        self.assertIn("error: model_type: unknown type of models 'llamma', expected one of ", unknown)
        self.assertIn("it has no hidden_size, vocab_size", unknown)
        self.assertIn("error: model_type: key is missing", refused(3, "model_type"))
        self.assertIn("says another value than 'num_hidden_layers'", refused(3, n_layer=31))

    def test_usage(self):
        self.write(LLAMA)
        self.assertIn("unknown kind 'hg'; did you mean 'hf'? (known: hf)", self.meshsim("import", "hg", "config.json", code=2).stderr)
        self.assertIn("expected one file, got 2", self.meshsim("import", "hf", "config.json", "config.json", code=2).stderr)
        self.assertIn("no such file", self.meshsim("import", "hf", "nowhere.json", code=3).stderr)
        self.meshsim("import", "hf", code=2)
        self.meshsim("import", "hf", "config.json", "--set", "model", code=2)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
