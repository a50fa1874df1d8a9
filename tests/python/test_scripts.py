#!/usr/bin/env python3
"""What scripts/setup installs and says, with an apt that only keeps a diary, what scripts/demo asks of it, and what
scripts/compare_builds and scripts/check_readme find.

usage: tests/python/test_scripts.py MESHSIM
"""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
NOISE = "Get:1 http://deb.example bookworm InRelease"
FOR_PROGRAM = {"gcc", "g++", "cmake", "ninja-build", "pkg-config", "libsimgrid-dev", "libyaml-dev", "libhdf5-dev"}
FOR_TESTS = {"libcriterion-dev", "python3-h5py", "python3-xarray", "python3-pandas"}
FOR_GUARDS = {"clang-format", "valgrind", "shellcheck"}


def write_script(path, body):
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class Setup(unittest.TestCase):
    """On a machine where nothing is installed, as root."""

    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.addCleanup(self.holder.cleanup)
        self.folder = Path(self.holder.name)
        write_script(self.folder / "dpkg-query", "exit 1")
        write_script(self.folder / "id", "echo 0")

    def setup(self, *words, failing=()):
        """(exit code, what was said, packages that were asked for)."""
        diary = self.folder / "diary"
        faults = "\n".join(f'[ "$1" != {verb} ] || exit 100' for verb in failing)
        write_script(self.folder / "apt-get", f'echo "$@" >>{diary}\necho "{NOISE}"; echo "{NOISE}" >&2\n{faults}')
        environment = dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}")
        done = subprocess.run([ROOT / "scripts/setup", *words], env=environment, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        lines = diary.read_text(encoding="utf-8").splitlines() if diary.exists() else []
        asked = {word for line in lines if line.startswith("install") for word in line.split() if not word.startswith("-")}
        return done.returncode, done.stdout, asked

    def test_the_program_needs_no_test_packages(self):
        code, _, asked = self.setup("--program")
        self.assertEqual(code, 0)
        self.assertLessEqual(FOR_PROGRAM, asked)
        self.assertFalse(asked & (FOR_TESTS | FOR_GUARDS))

    def test_without_a_word_the_tests_are_served_as_well(self):
        _, _, asked = self.setup()
        self.assertLessEqual(FOR_PROGRAM | FOR_TESTS, asked)
        self.assertFalse(asked & FOR_GUARDS)

    def test_guards_need_all_of_it(self):
        self.assertLessEqual(FOR_PROGRAM | FOR_TESTS | FOR_GUARDS, self.setup("--guards")[2])

    def test_unknown_words_are_refused(self):
        self.assertEqual(self.setup("--programs")[0::2], (2, set()))

    def test_apt_is_quiet(self):
        code, said, _ = self.setup("--program")
        self.assertEqual(code, 0)
        self.assertRegex(said, r"\Ascripts/setup: installing [^\n]*\n\Z")

    def test_lists_that_cannot_be_fetched_stop_nothing(self):
        code, said, _ = self.setup(failing=["update"])
        self.assertEqual(code, 0)
        self.assertIn("'apt-get update' failed", said)
        self.assertNotIn(NOISE, said)

    def test_what_apt_says_is_shown_when_it_fails(self):
        code, said, _ = self.setup(failing=["install"])
        self.assertEqual(code, 1)
        self.assertEqual(said.count(NOISE), 4)  # of update and install, on both streams
        self.assertIn("scripts/setup: failed: apt-get install", said)


class Demo(unittest.TestCase):
    """In a tree in which set-up and build are done at once."""

    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="a demo of meshsim-")
        self.addCleanup(self.holder.cleanup)
        self.root = Path(self.holder.name).resolve()
        for name in ("scripts", "build", "elsewhere/far"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(ROOT / "scripts/demo", self.root / "scripts/demo")
        for name in ("setup", "build"):
            write_script(self.root / "scripts" / name, f'echo "{name} $*" >>diary')
        (self.root / "build/meshsim").symlink_to(Path(PROGRAM).resolve())
        for name in ("platforms", "workloads"):
            (self.root / name).symlink_to(ROOT / name)

    def test_paths_lead_from_where_it_was_called(self):
        for place in (".", "elsewhere/far", "build", "/"):
            start = self.root / place
            done = subprocess.run([self.root / "scripts/demo", "workloads/tiny.yaml"], cwd=start, check=True,
                                  stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=100)
            found = dict(re.findall(r"^(trace|picture): +(.*)$", done.stdout, re.M))
            self.assertEqual(set(found), {"trace", "picture"})
            self.assertFalse(any(path.startswith("/") for path in found.values()), found)
            self.assertEqual((start / found["picture"]).resolve(), self.root / "build/demo/tiny.svg")
            self.assertTrue((start / found["picture"]).read_bytes().startswith(b"<"))
            self.assertTrue((start / found["trace"]).is_file())

    def test_it_asks_for_the_program_alone(self):
        subprocess.run([self.root / "scripts/demo", "workloads/tiny.yaml"], check=True, stdout=subprocess.DEVNULL,
                       stdin=subprocess.DEVNULL, timeout=100)
        self.assertEqual((self.root / "diary").read_text(encoding="utf-8"), "setup --program\nbuild --program\n")


class CompareBuilds(unittest.TestCase):
    """Against itself, and against a build whose step takes longer."""

    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.addCleanup(self.holder.cleanup)
        self.slow = Path(self.holder.name) / "slow"
        write_script(self.slow, f'result=$("{Path(PROGRAM).resolve()}" "$@") || exit $?\n'
                                """printf '%s' "$result" | sed 's/"step_time_s": */&1/'""")

    def compare(self, *words):
        """(exit code, what was said)"""
        done = subprocess.run([ROOT / "scripts/compare_builds", PROGRAM, *words], stdin=subprocess.DEVNULL, check=False, cwd=ROOT,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100)
        return done.returncode, done.stdout

    def test_a_build_is_equal_to_itself(self):
        self.assertEqual(self.compare(PROGRAM, "workloads/tiny.yaml"), (0, "tiny.yaml: equal\n"))
        code, said = self.compare(PROGRAM, "--random", "3", "--seed", "7")
        self.assertEqual(code, 0, said)
        self.assertEqual(said.count(" of seed 7: equal\n"), 3)

    def test_what_both_refuse_is_not_equal(self):
        code, said = self.compare(PROGRAM, "platforms/flat.yaml")
        self.assertEqual(code, 1)
        self.assertIn("both refuse flat.yaml: exit 3: ", said)

    def test_a_figure_that_differs_is_named_with_its_job(self):
        code, said = self.compare(str(self.slow), "--random", "1")
        self.assertEqual(code, 1)
        self.assertRegex(said, r"of seed 1: 1 of \d+ figures differ\n    step_time_s: .* -> .*\n    workloads/tiny.yaml --set ")
        self.assertRegex(self.compare(str(self.slow), "workloads/tiny.yaml")[1], r"tiny.yaml: 1 of \d+ figures differ")


PAGE = """# A page

```sh
meshsim one
```

<!-- printed -->
```text
one
...
three
```

```sh
meshsim draw it.svg
```

![it](pictures/it.svg)
"""


class CheckReadme(unittest.TestCase):
    """On a page of its own, with a program that prints three lines, or draws it.svg."""

    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "scripts").mkdir()
        (self.root / "pictures").mkdir()
        shutil.copy(ROOT / "scripts/check_readme", self.root / "scripts")
        self.write('<svg xmlns="http://www.w3.org/2000/svg"><text>seen</text></svg>', "pictures/it.svg")
        self.program("one\\ntwo\\nthree", "seen")

    def program(self, lines, drawn):
        write_script(self.root / "meshsim", f"if [ $1 = draw ]; then echo '<svg xmlns=\"http://www.w3.org/2000/svg\"><text>{drawn}</text></svg>' >it.svg; "
                                            f"else printf '{lines}\\n'; fi")

    def write(self, text, name="page.md"):
        (self.root / name).write_text(text, encoding="utf-8")

    def check(self, text, *words):
        """(exit code, what was said)"""
        self.write(text)
        done = subprocess.run([self.root / "scripts/check_readme", self.root / "meshsim", *words, "page.md"], stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100)
        return done.returncode, done.stdout

    def test_what_is_shown_is_what_was_printed(self):
        self.assertEqual(self.check(PAGE), (0, "4 examples in 1 READMEs, 0 fail\n"))
        for shown in ("one\n...\nfour\n", "...\ntwo\n", "one\n"):
            code, said = self.check(PAGE.replace("one\n...\nthree\n", shown))
            self.assertEqual(code, 1)
            self.assertIn("page.md:8: this is not what was printed", said)

    def test_accepted_is_what_was_printed_with_its_cut(self):
        self.program("one\\nfour\\nfive", "other")
        self.assertEqual(self.check(PAGE)[0], 1)
        self.assertEqual(self.check(PAGE, "--accept")[0], 0)
        self.assertEqual((self.root / "page.md").read_text(encoding="utf-8"), PAGE.replace("three", "five"))
        self.assertIn("other", (self.root / "pictures/it.svg").read_text(encoding="utf-8"))

    def test_a_picture_has_the_words_of_the_one_that_was_made(self):
        self.program("one\\ntwo\\nthree", "unseen")
        self.assertIn("pictures/it.svg is not the picture that was made", self.check(PAGE)[1])
        self.assertIn("pictures/it.svg is not the picture that was made", self.check(PAGE.replace("meshsim draw", "echo"))[1])

    def test_an_example_that_fails_is_named(self):
        code, said = self.check(PAGE.replace("meshsim draw it.svg", "false"))
        self.assertEqual(code, 1)
        self.assertIn("page.md:14: this example fails: exit code 1", said)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
