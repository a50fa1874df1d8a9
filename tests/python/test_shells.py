#!/usr/bin/env python3
"""Manual pages and completion: made from the tables of the command line, so that nothing is missing in either.

usage: test_shells.py PROGRAM
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(sys.argv.pop(1)).resolve()
SCRIPTS = ROOT / "scripts" / "completion"
TIMEOUT_S = 60

# Runs bash's completion of a line as readline would: words split at spaces, '=' and ':', the last one open.
BASH = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_meshsim
((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}"
true
"""


def meshsim(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def complete(*words):
    """What may stand for the last word: {word: what it means}."""
    return dict(line.split("\t", 1) for line in meshsim("help", "--complete", *words).splitlines())


def bash(folder, *words):
    """What bash would put there."""
    split = [part for word in words for part in re.findall(r"[=:]+|[^=:]+", word) or [""]]
    place = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", SCRIPTS / "meshsim.bash", "meshsim", *split], env=place, cwd=folder,
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    assert done.stderr == "", done.stderr
    return set(done.stdout.splitlines())


def commands():
    return [name for name in complete("") if name != "help"]


def options(command):
    """Long options in a command's help page."""
    return set(re.findall(r"^  (?:-\w, |    )--([\w-]+)", meshsim(command, "--help"), re.M))


def run_formatter(page):
    """A manual page as plain text, and what groff says about it."""
    done = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-cbou"], input=page, capture_output=True, text=True, timeout=TIMEOUT_S,
                          check=True)
    return done.stdout, done.stderr


class Manual(unittest.TestCase):
    @unittest.skipUnless(shutil.which("groff"), "LEFT OUT: no groff here (scripts/setup installs groff-base)")
    def test_groff_takes_every_page_without_a_warning(self):
        for words in [()] + [(name,) for name in commands()]:
            text, warnings = run_formatter(meshsim("help", "--man", *words))
            self.assertEqual(warnings, "", words)
            self.assertIn("NAME", text)
            self.assertIn("-".join(("meshsim", *words)), text)

    def test_every_option_stands_in_its_page(self):
        for command in commands():
            page = meshsim("help", "--man", command).replace("\\-", "-")
            for option in options(command):
                self.assertRegex(page, rf"(?m)^\.B (-\w, )?--{option}( |$)", command)

    def test_every_command_stands_in_the_program_s_page(self):
        page = meshsim("help", "--man")
        self.assertGreater(len(commands()), 10)
        for command in commands():
            self.assertIn(f".BR meshsim\\-{command} (1)\n", page)


class Completion(unittest.TestCase):
    def test_every_option_of_every_command(self):
        for command in commands():
            given = complete(command, "-")
            self.assertGreater(len(options(command)), 0)
            self.assertEqual(sorted(given), sorted(f"--{name}" for name in options(command)), command)
            self.assertTrue(all(given.values()), command)

    def test_options_that_stand_there_already_are_not_offered_again(self):
        self.assertNotIn("--json", complete("run", "w.yaml", "--json", "--"))
        self.assertNotIn("--output", complete("run", "w.yaml", "-o", "t.h5", "--"))
        self.assertNotIn("--ranks", complete("schedule", "1f1b", "-p4", "--"))
        self.assertIn("--set", complete("run", "w.yaml", "--set", "a=b", "--"))

    def test_words_come_from_the_tables(self):
        self.assertLess({"1f1b", "zbv", "dualpipe", "search", "csv:"}, set(complete("schedule", "")))
        self.assertEqual(set(complete("schedule", "--compare", "zbv,dual")), {"zbv,dualpipe", "zbv,dualpipev"})
        self.assertLess({"all_reduce", "p2p"}, set(complete("collective", "")))
        self.assertLess({"auto", "ring", "collnet_chain"}, set(complete("collective", "p2p", "--algorithm", "")))
        self.assertNotIn("unknown", complete("collective", "p2p", "--algorithm", ""))
        self.assertLessEqual({"hf", "megatron"}, set(complete("import", "")))
        self.assertEqual(set(complete("import", "hf", "")), {":file"})
        self.assertEqual(set(complete("run", "--fidelity", "")), {"analytic", "flow", "step"})
        self.assertEqual(set(complete("run", "--solver=max")), {"--solver=maxmin"})
        self.assertEqual(set(complete("sweep", "s.yaml", "--plan", "")), {"makeflow=", "slurm="})

    def test_platforms_are_those_that_are_installed(self):
        names = {path.stem for path in (ROOT / "platforms").glob("*.yaml")}
        self.assertEqual(set(complete("platform", "")) - {":file"}, names)
        workloads = {path.stem for path in (ROOT / "workloads").glob("*.yaml")}
        self.assertEqual(set(complete("check", "")) - {":file"}, workloads)
        self.assertEqual(set(complete("run", "--platform", "dgx-")) - {":file"}, {name for name in names if name.startswith("dgx-")})

    def test_names_of_files_stand_wherever_one_is_taken(self):
        workloads = {path.stem for path in (ROOT / "workloads").glob("*.yaml")}
        models = {path.stem for path in (ROOT / "workloads/models").glob("*.json")}
        self.assertEqual(set(complete("new", "--model", "")) - {":file"}, workloads | models)
        for words in (("search", ""), ("import", "kineto", "--against", ""), ("export", "megatron", ""),
                      ("schedule", "--compare", "all", "--workload", "")):
            self.assertEqual(set(complete(*words)) - {":file"}, workloads, words)
        for folder, keys in (("workloads/frameworks", ("framework=", "framework.name=")), ("platforms", ("platform=", "platform.file=", "platform.base=")),
                             ("platforms/gpus", ("platform.gpu=", "platform.gpu.type=")), ("platforms/libraries", ("platform.library.file=",))):
            names = {path.stem for path in (ROOT / folder).glob("*.yaml")}
            self.assertGreaterEqual(len(names), 1)
            for key in keys:
                self.assertEqual(set(complete("run", "w.yaml", "--set", key)), {key + name for name in names}, key)
                self.assertEqual(set(complete("run", "w.yaml", f"--set={key}")), {f"--set={key}{name}" for name in names}, key)
        self.assertIn("gpu.type=h100-sxm5-80gb", complete("platform", "dgx-h100", "--set", "gpu.type=h"))
        self.assertEqual(set(complete("search", "w.yaml", "--vary", "platform.gpu.type=gb200,h200")), {"platform.gpu.type=gb200,h200-sxm5-141gb"})

    def test_keys_go_down_level_by_level(self):
        top = complete("run", "w.yaml", "--set", "")
        self.assertIn("mesh.", top)
        self.assertIn("recompute=", top)
        self.assertIn("mesh.tp=", complete("run", "w.yaml", "--set", "mesh."))
        self.assertEqual(set(complete("run", "w.yaml", "--set", "precision.gradients=f")),
                         {"precision.gradients=fp16", "precision.gradients=fp32"})
        self.assertEqual(set(complete("search", "w.yaml", "--vary", "recompute=none,f")), {"recompute=none,full"})
        self.assertEqual(complete("run", "w.yaml", "--set", "mesh.nonsense.tp="), {})
        self.assertLess({"schedule.kind=zbv", "schedule.kind=zbh1"}, set(complete("run", "w.yaml", "--set", "schedule.kind=z")))

    def test_keys_of_a_platform(self):
        of_workload = complete("run", "w.yaml", "--set", "platform.")
        of_platform = complete("platform", "dgx-h100", "--set", "")
        self.assertLess({"gpu.", "nodes=", "tiers.", "fabric."}, set(of_platform))
        self.assertLess({f"platform.{key}" for key in of_platform}, set(of_workload))
        self.assertIn("tiers.rail.bandwidth=", complete("platform", "dgx-h100", "--set", "tiers.rail.b"))

    def test_lines_that_nothing_goes_with(self):
        for words in (("nonsense", ""), ("run", "--nonsense", "--nonsense="), ("run", "w.yaml", "superfluous"), ("help", "run", "")):
            self.assertEqual(complete(*words), {}, words)
        self.assertEqual(complete("run", "--", "-"), {":file": "\t.yaml"})
        self.assertEqual(complete("schedule", "--workload", "x"), {":file": "\t.yaml"})
        self.assertEqual(complete(), complete(""))


class Shells(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ("a job.yaml", "a.csv", "a.h5"):
            (self.folder / name).touch()
        (self.folder / "above").mkdir()

    def test_bash(self):
        self.assertEqual(bash(self.folder, "calib"), {"calibrate"})
        self.assertLess({"run", "help"}, bash(self.folder, ""))
        self.assertEqual(bash(self.folder, "run", "a"), {"a job.yaml", "above"})
        self.assertEqual(bash(self.folder, "report", "a.h5", "-o", "a"), {"above"})
        self.assertEqual(bash(self.folder, "run", "--gran"), {"--granularity"})
        # what stands before the last '=' or ':' bash has already
        self.assertEqual(bash(self.folder, "run", "--granularity=p"), {"pass"})
        self.assertEqual(bash(self.folder, "run", "w.yaml", "--set", "recompute=f"), {"full"})
        self.assertEqual(bash(self.folder, "run", "w.yaml", "--set", "mesh.t"), {"mesh.tp="})
        self.assertEqual(bash(self.folder, "run", "w.yaml", "--set", "recompute="), {"none", "full", "selective"})
        self.assertEqual(bash(self.folder, "schedule", "csv:a"), {"a job.yaml", "a.csv", "a.h5", "above"})
        self.assertEqual(bash(self.folder, "merge", "a"), {"above"})
        self.assertEqual(bash(self.folder, "nonsense", "a"), set())

    @unittest.skipUnless(shutil.which("fish"), "LEFT OUT: no fish here")
    def test_fish(self):
        script = SCRIPTS / "meshsim.fish"
        subprocess.run(["fish", "--no-execute", script], timeout=TIMEOUT_S, check=True)
        place = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "HOME": str(self.folder)}
        for line, wanted in (("calib", {"calibrate"}), ("run --granularity=p", {"--granularity=pass"}), ("run a", {"a job.yaml", "above/"}),
                             ("schedule csv:a", {"csv:a job.yaml", "csv:a.csv", "csv:a.h5", "csv:above/"})):
            done = subprocess.run(["fish", "--no-config", "-c", f"source '{script}'; complete -C 'meshsim {line}'"], env=place,
                                  cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
            self.assertEqual({offer.split("\t")[0] for offer in done.stdout.splitlines()}, wanted, done.stderr)

    @unittest.skipUnless(shutil.which("zsh"), "LEFT OUT: no zsh here")
    def test_zsh(self):
        subprocess.run(["zsh", "-n", SCRIPTS / "_meshsim"], timeout=TIMEOUT_S, check=True)


if __name__ == "__main__":
    unittest.main()
