#!/usr/bin/env python3
"""What is known of models and not built: one list (unbuilt.yaml) for the importers, and the program's own for `model: {hf: ...}` says the same.

usage: test_unbuilt.py MESHSIM [unittest arguments]
"""

import re

import programs
import yaml
from programs import ROOT

LIST = ROOT / "scripts/python/meshsim/tools/importers/unbuilt.yaml"


class Unbuilt(programs.ProgramTest):
    source = "config.json"

    def setUp(self):
        super().setUp()
        self.rows = yaml.load(LIST.read_text(encoding="utf-8"), yaml.CSafeLoader)

    def test_each_type_of_models_is_refused_by_what_it_has(self):
        for row in self.rows:
            for kind in row.get("model_types", "").split():
                refused = self.meshsim("import", "hf", self.write({"model_type": kind, "hidden_size": 64}), code=3).stderr
                self.assertIn(f"'{kind}' is known and not built: it has {row['what']}", refused)

    def test_the_program_has_no_type_besides(self):
        file = ROOT / "sim/model/hf/unbuilt.c"
        text = re.sub(r'"\s*\n\s*"', "", file.read_text(encoding="utf-8"))
        own = {kind for types in re.findall(r'\{\s*" ([^"]*) ",', text) for kind in types.split()}
        self.assertEqual(own, {kind for row in self.rows for kind in row.get("model_types", "").split()})

    def test_each_argument_is_refused_by_what_the_model_has(self):
        line = "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 --micro-batch-size 1 --vocab-size 100"
        for row in self.rows:
            for name, takes, *_ in row.get("arguments", []):
                words = f"{line} --{name}{'' if takes == 'none' else ' 3'}\n"
                refused = self.meshsim("import", "megatron", self.write(words, "line"), code=3).stderr
                self.assertIn(f"--{name}: it is known and not built: the model has {row['what']}", refused)


if __name__ == "__main__":
    programs.main(__doc__)
