#!/usr/bin/env python3
"""The frame of the commands that Python answers: it prints, writes and refuses as the program does.

usage: test_tool_frame.py MESHSIM [unittest arguments]
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

import programs

sys.path.insert(0, str(programs.ROOT / "scripts" / "python"))
from meshsim.tools import _call  # noqa: E402
from meshsim.tools.importers import launch_script, megatron  # noqa: E402
from meshsim.tools.importers.megatron_arguments import tables  # noqa: E402

# as in test_terminal.py, with a character that is no letter yet, and a byte that is no UTF-8
ORDERS = "\x1b]0;x\x07\x1b[31m\x7f\r\b\x9b2J\u202a\u202e\u2066\u2069\u200b\u200f\u061c\u2028\u2029\u2060\u00ad\ufeff\U000e0041\U0001fffeé\u0378"
COMMAND = "python pretrain_gpt.py --num-layers 6 --hidden-size 64 {} --micro-batch-size 1\n"


class Frame(programs.ProgramTest):
    def call(self):
        """A call that tells its errors into a text."""
        return _call.Call(Path(self.program), "import", talk=_call.Talk(io.StringIO()))

    def test_what_a_terminal_would_obey_is_a_question_mark(self):
        done = self.meshsim("check", ORDERS, code=3)
        self.assertIn(_call.visible(ORDERS), done.stderr)
        self.assertEqual(_call.visible("a\tb\n\x07\udcff\u200b"), "a\tb\n???")

    def test_objects_have_numbers_and_texts_as_the_program_prints_them(self):
        call, printed = self.call(), io.BytesIO()
        tree = {"whole": 5.0, "many": 8e9, "share": 0.1, "nothing": float("nan"), "flag": True, "rows": [{"a": -2.0}], "text": "\x07\u200b\U000e0041\udcffé\""}
        with contextlib.redirect_stdout(io.TextIOWrapper(printed)):
            _call.print_json(call, tree)
            text = printed.getvalue().decode()
        for part in ('"whole": 5,', '"many": 8000000000,', '"share": 0.1,', '"nothing": null,', '"flag": true,', '"a": -2\n', '"\\u0007\\u200b\\udb40\\udc41\\ufffdé\\""'):
            self.assertIn(part, text)
        self.assertEqual(json.loads(text)["text"], "\x07\u200b\U000e0041\ufffdé\"")

    def test_places_that_take_no_file_have_the_words_of_the_program(self):
        self.write("", "file")
        (self.folder / "to_nothing").symlink_to("nowhere/x")
        (self.folder / "circle").symlink_to("circle")
        for path in ("", ".", "nowhere/x", "file/x", "nowhere/", "to_nothing", "circle", "a" * 300, "/proc/x"):
            ours = self.meshsim("export", "deepspeed", programs.ROOT / "workloads/tiny.yaml", "--quiet", "-o", path, code=4)
            theirs = self.meshsim("platform", "dgx-a100", "--dot", path, code=4)
            self.assertEqual(ours.stderr, theirs.stderr)
        for path, force, regular, code, message in (("file", False, False, 2, "'file' is there already; --force writes over it"), ("file", True, True, 0, ""),
                                                    ("/dev/null", None, True, 4, "it is no regular file"), ("new", False, True, 0, "")):
            call = self.call()
            with contextlib.chdir(self.folder):
                try:
                    _call.check_target(call, path, force, regular)
                    self.assertEqual(code, 0, path)
                except _call.Fault as fault:
                    self.assertEqual(fault.code, code)
            self.assertIn(message, call.talk.stream.getvalue())

    def test_one_result_at_most_goes_to_the_standard_output(self):
        tiny, config = programs.ROOT / "workloads/tiny.yaml", programs.ROOT / "tests/import/hf/bloom-176b.json"
        log = self.write("python pretrain_gpt.py --num-layers 6 --hidden-size 64\n", "train.sh")
        for words in (("export", "megatron", tiny), ("import", "hf", config), ("import", "megatron", log), ("import", "slurm", log), ("import", "nccl-tests", log),
                      ("import", "kineto", log), ("calibrate", log, "--platform", "dgx-a100")):
            done = self.meshsim(*words, "--json", "-o", "-", code=2)
            self.assertEqual((done.stdout, done.stderr.splitlines()[0]), ("", "meshsim: error: '--json' and '--output -' both want the standard output"), words)
        done = self.meshsim("validate", log, "--csv", "-", "--html", "-", code=2)
        self.assertIn("'--csv -' and '--html -' both want the standard output", done.stderr)

    def test_quoted_parentheses_need_no_shell(self):
        self.addCleanup(setattr, launch_script, "BWRAP", launch_script.BWRAP)
        launch_script.BWRAP = os.devnull + "/bwrap"
        for quoted in ("--pipeline-model-parallel-layout 'Et*3|(t*4|)*6t*2mL'", '--pipeline-model-parallel-layout "Et*3|(t*4|)*6t*2mL"', "--x a\\(b"):
            arguments = megatron.read_texts(self.call(), tables(), [megatron.Text("x", COMMAND.format(quoted))], {}).arguments
            self.assertEqual(arguments[2].value.count("("), 1, quoted)
        with self.assertRaises(_call.Fault):
            megatron.read_texts(self.call(), tables(), [megatron.Text("x", COMMAND.format("--x a(b)"))], {})


if __name__ == "__main__":
    programs.main(__doc__)
