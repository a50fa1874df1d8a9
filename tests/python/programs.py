"""What tests of the program share: a folder of their own, the program run in it, a file written there."""

import functools
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Refused(Exception):
    """A launch script was refused for want of a sandbox, as it has to be."""


def raise_if_refused(done):
    """Where no sandbox can be made, as in a chroot: see that a launch script was refused with the reason and the way out, and raise Refused."""
    if "a launch script runs in a sandbox, which cannot be made here (" in done.stderr:
        assert done.returncode == 3, done.stderr
        assert "the arguments that Megatron-LM itself prints at the head of its log" in done.stderr, done.stderr
        raise Refused


def may_be_refused(tests):
    """Let each test of a class end with the first launch script that is refused."""
    def wrap(test):
        @functools.wraps(test)
        def run(self):
            try:
                test(self)
            except Refused:
                pass
        return run

    for name in [name for name in vars(tests) if name.startswith("test_")]:
        setattr(tests, name, wrap(getattr(tests, name)))
    return tests


class ProgramTest(unittest.TestCase):
    """Tests that run the program, each in an empty folder."""

    program = ""
    source = ""  # how a test's file is called where it does not matter

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="meshsim-test-")))

    def meshsim(self, *words, code=0, **environment):
        """The finished process, which must have ended with `code`."""
        done = subprocess.run([self.program, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              encoding="utf-8", env=dict(os.environ, MESHSIM_DATA=str(ROOT), **environment), timeout=100)
        raise_if_refused(done)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done

    def is_sanitized(self):
        """Whether the program was built with AddressSanitizer, which needs more memory and time."""
        return b"__asan_init" in Path(self.program).read_bytes()

    def write(self, content, name=""):
        """Write a text, or anything else as JSON, into the folder. Returns its name."""
        name = name or self.source
        (self.folder / name).write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
        return name


def main(usage):
    """Run the tests of the script that was called with the program and arguments of unittest."""
    if len(sys.argv) < 2:
        sys.exit(usage)
    ProgramTest.program = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
