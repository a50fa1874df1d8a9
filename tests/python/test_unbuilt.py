#!/usr/bin/env python3
"""What is known of models and not built: types of Hugging Face models (workloads/families/hugging-face.yaml), and arguments of Megatron-LM (unbuilt.yaml).

usage: test_unbuilt.py MESHSIM [unittest arguments]
"""

import os

import programs
import yaml
from programs import ROOT

ARGUMENTS = ROOT / "scripts/python/meshsim/tools/importers/unbuilt.yaml"
ALL = "MS_ALL" in os.environ  # each type of models, not one of each row
TYPES = ROOT / "workloads/families/hugging-face.yaml"


def load(path):
    return yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)


class Unbuilt(programs.ProgramTest):
    source = "config.json"

    def test_each_type_of_models_is_refused_by_what_it_has(self):
        types = load(TYPES)
        for row in types["unbuilt"]:
            self.assertEqual(set(row["model_types"]) & set(types["families"]), set())
            for kind in row["model_types"] if ALL else row["model_types"][:1]:
                refused = self.meshsim("import", "hf", self.write({"model_type": kind, "hidden_size": 64}), code=3).stderr
                self.assertIn(f"'{kind}' is known and not built: it has {row['what']}", refused)

    def test_each_argument_is_refused_by_what_the_model_has(self):
        line = "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 --micro-batch-size 1 --vocab-size 100"
        for row in load(ARGUMENTS):
            for name, takes, *_ in row["arguments"]:
                words = f"{line} --{name}{'' if takes == 'none' else ' 3'}\n"
                refused = self.meshsim("import", "megatron", self.write(words, "line"), code=3).stderr
                self.assertIn(f"--{name}: it is known and not built: the model has {row['what']}", refused)


if __name__ == "__main__":
    programs.main(__doc__)
