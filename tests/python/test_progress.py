#!/usr/bin/env python3
"""What a long run tells a terminal, and nobody else.

usage: tests/python/test_progress.py MESHSIM
"""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
LONG = ["run", str(ROOT / "workloads/megatron-1t-3072.yaml"), "--no-fast-forward"]
WIPE = b"\r\x1b[K"
QUIET_S = 2.0
LINE = re.compile(rb"meshsim: (reading|laying out operations|simulating|summing up|writing the trace), "
                  rb"(\d+ (s|min|h)|\d+ % of [\d.]+( [kMG])? operations, [\d.]+( [kMG])?/s, \d+ (s|min|h) left)")


class Progress(unittest.TestCase):
    def open_terminal(self):
        """Both ends of a pseudo-terminal; a bare root may have none (no /dev/pts)."""
        try:
            return pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminals here: {error}")

    def run_slowly(self, words, stderr, stop_s=QUIET_S + 0.2):
        """Start the program, and have it stand still until it is long-running."""
        child = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=stderr)
        until = time.monotonic() + (60 if stderr != subprocess.PIPE else 0.2)
        # its clock runs once there is a second thread, which a pipe should not get
        while len(os.listdir(f"/proc/{child.pid}/task")) < 2 and time.monotonic() < until and child.poll() is None:
            time.sleep(0.001)
        child.send_signal(signal.SIGSTOP)
        time.sleep(stop_s)
        child.send_signal(signal.SIGCONT)
        return child

    def on_terminal(self, words, **options):
        """Results, and what the terminal at stderr got."""
        ours, theirs = self.open_terminal()
        child = self.run_slowly(words, theirs, **options)
        os.close(theirs)
        return self.collect(child, ours)

    def collect(self, child, terminal):
        seen = b""
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # nobody has the other end open any more
                break
            if not piece:
                break
            seen += piece
        os.close(terminal)
        out, _ = child.communicate()
        return child.returncode, out, seen

    def test_a_terminal_sees_one_line_that_goes(self):
        with tempfile.TemporaryDirectory() as folder:
            code, out, seen = self.on_terminal([*LONG, "-o", f"{folder}/t.h5"])
        self.assertEqual(code, 0, seen)
        self.assertIn(b"step time", out)
        lines = seen.split(WIPE)
        # each line takes the place of the one before, and the last one is taken away before anything else is said
        self.assertGreater(len(lines), 2, seen)
        self.assertEqual(lines[0], b"", seen)
        drawn = [line for line in lines[1:-1] if line]
        for line in drawn:
            self.assertIsNotNone(LINE.fullmatch(line), line)
            self.assertLess(len(line), 80)
        self.assertNotIn(b"% of", lines[-1])
        self.assertTrue(any(b"operations" in line or b"summing" in line or b"writing" in line for line in drawn), drawn)

    def test_a_terminal_that_is_narrow(self):
        ours, theirs = self.open_terminal()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 30, 0, 0))
        child = self.run_slowly(LONG, theirs)
        os.close(theirs)
        code, _, seen = self.collect(child, ours)
        self.assertEqual(code, 0)
        drawn = [line for line in seen.split(WIPE)[1:-1] if line]
        self.assertTrue(drawn, seen)
        self.assertLess(max(map(len, drawn)), 30)

    def test_nobody_else_sees_anything(self):
        child = self.run_slowly(LONG, subprocess.PIPE)
        out, err = child.communicate()
        self.assertEqual((child.returncode, err), (0, b""))
        self.assertNotIn(b"\x1b", out)

    def test_a_short_run_says_nothing(self):
        code, out, seen = self.on_terminal(["run", str(ROOT / "workloads/tiny.yaml")], stop_s=0.0)
        self.assertEqual((code, seen), (0, b""))
        self.assertIn(b"step time", out)

    def test_messages_take_the_line_away_first(self):
        with tempfile.TemporaryDirectory() as folder:
            code, _, seen = self.on_terminal([*LONG, "-o", f"{folder}/t.h5", "--trace", "ranks=1"])
        self.assertEqual(code, 3)
        lines = seen.split(WIPE)
        self.assertTrue(lines[1].startswith(b"meshsim: "), seen)
        self.assertTrue(any(line.startswith(b"meshsim: error: cannot trace rank 1") for line in lines), seen)

    def test_an_interrupt_leaves_no_line(self):
        ours, theirs = self.open_terminal()
        child = self.run_slowly(["run", str(ROOT / "workloads/gpt3-175b-1024.yaml"), "--no-fold", "--no-fast-forward"], theirs)
        os.close(theirs)
        seen = b""
        while b"meshsim" not in seen:
            seen += os.read(ours, 65536)
        child.send_signal(signal.SIGINT)
        code, _, rest = self.collect(child, ours)
        self.assertEqual(code, 130)
        self.assertTrue((seen + rest).endswith(WIPE), (seen, rest))

    def test_a_search_goes_by_the_rate_of_the_last_seconds(self):
        """After a pause the rate is again what it was, which the mean since the start is not for long."""
        ours, theirs = self.open_terminal()
        batches = ",".join(str(16 * i) for i in range(1, 41))
        child = subprocess.Popen([PROGRAM, "search", ROOT / "workloads/tiny.yaml", "--exhaustive", "--jobs", "1", "--vary", "mesh.tp=1,2,4", "--vary", "mesh.pp=1,2,4,8",
                                  "--vary", "recompute=none,selective,full", "--vary", "data_parallel.zero=0,1,2", "--vary", "batch.micro=1,2", "--vary",
                                  f"batch.global={batches}"], stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        drawn, seen, end = [], b"", None  # (when, done, rate) of each line; when the pause ended
        while end is None or drawn[-1][0] - end < 7.5:
            seen += os.read(ours, 65536)  # OSError: the search has ended, which takes a minute
            *whole, seen = seen.split(WIPE)
            for line in whole:
                words = re.match(rb"simulating: (\d+) of \d+ candidates, (\d+)/s, at most \d+ s left", line)
                drawn += [(time.monotonic(), *map(int, words.groups()))] if words else []
            if drawn and end is None:
                child.send_signal(signal.SIGSTOP)
                time.sleep(5)
                child.send_signal(signal.SIGCONT)
                end = time.monotonic()
        child.send_signal(signal.SIGINT)
        child.wait()
        os.close(ours)
        told = [line for line in drawn if line[0] - end > 6.5]  # more than twice the three seconds after which a rate begins anew
        for when, done, rate in told:
            rates = [(done - early[1]) / (when - early[0]) for early in drawn if 2.5 < when - early[0] < 6.5]
            self.assertTrue(0.9 * min(rates) - 1 <= rate <= 1.1 * max(rates) + 1, (rate, min(rates), max(rates)))
        when, done, rate = told[-1]
        self.assertGreater(rate, 1.2 * (done - drawn[0][1]) / (when - drawn[0][0]), "the mean since the start")

    def test_an_interrupted_validation_says_how_far_it_was(self):
        ours, theirs = self.open_terminal()
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "rows.csv"
            child = subprocess.Popen([PROGRAM, "validate", ROOT / "workloads/validation/cases.yaml", "--ablation", "--jobs", "1", "--csv", page],
                                     stdout=subprocess.PIPE, stderr=theirs)
            os.close(theirs)
            seen = b""
            while b" simulated, " not in seen:  # two seconds after it began, of minutes
                seen += os.read(ours, 65536)
            child.send_signal(signal.SIGINT)
            code, out, rest = self.collect(child, ours)
            self.assertFalse(page.exists())
        self.assertEqual((code, out), (130, b""), rest)
        self.assertRegex(" ".join(rest.decode().split()), r"interrupted after \d+ of \d{4,} simulations; nothing is shown of them, and nothing written")


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
