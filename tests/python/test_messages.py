#!/usr/bin/env python3
"""Messages on a terminal: lines of at most 80 columns, wrapped at words, with the caret under the value; in a pipe one line for each message.

usage: test_messages.py PROGRAM
"""

import os
import pty
import re
import subprocess

import programs

LONG = "a-name-that-is-long-enough-for-the-line-of-the-file-to-be-cut-at-both-ends-where-it-is-quoted"


class Messages(programs.ProgramTest):
    def on_terminal(self, *words, code):
        """What a call says to a standard error that is a terminal; a bare root may have none (no /dev/pts)."""
        try:
            master, slave = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminals here: {error}")
        process = subprocess.Popen([self.program, *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
                                   env=dict(os.environ, MESHSIM_DATA=str(programs.ROOT)))
        os.close(slave)
        said = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # Linux says so where the other side is closed
                break
            if not part:
                break
            said += part
        os.close(master)
        self.assertEqual(process.wait(timeout=100), code, said)
        return said.decode().replace("\r\n", "\n")

    def check_both(self, *words, code=3):
        """The two forms of one message have the same words; returns the lines on the terminal."""
        piped = self.meshsim(*words, code=code).stderr
        said = self.on_terminal(*words, code=code)
        self.assertEqual(said.split(), piped.split())
        self.assertGreater(max(map(len, piped.splitlines())), 80)
        lines = said.splitlines()
        self.assertLessEqual(max(map(len, lines)), 80, said)
        for above, line in zip(lines, lines[1:]):
            if line.startswith("      ") and line[6:7] not in "| ":  # a further line: its first word would not have fitted
                self.assertGreater(len(above) + 1 + len(line.split()[0]), 80, (above, line))
        return lines

    def test_a_message_is_wrapped_at_words(self):
        self.write((programs.ROOT / "workloads/tiny.yaml").read_text(encoding="utf-8"), "w.yaml")
        lines = self.check_both("check", "w.yaml", "--set", "mesh.tp=5")
        self.assertRegex(lines[0], r"^w\.yaml:\d+:\d+: error: mesh: ")  # as editors read it
        self.check_both("check", "no-such-workload")
        self.check_both("platform", "no-such-platform")
        self.check_both("new", "--model", "tiny", code=2)
        self.assertTrue(self.check_both("run", "tiny", "--set", "model.hidden=65536", code=1)[0].startswith("meshsim: does not fit in memory: rank "))

    def test_the_caret_stands_under_the_value(self):
        for before in ("", f"name: {LONG}, ", f"name: {LONG}, description: {LONG}, "):
            for behind in ("", f", description: {LONG}{LONG}"):
                self.write(f"{{{before}seed: ooops{behind}}}\n", "w.yaml")
                said = self.meshsim("check", "w.yaml", code=3).stderr.splitlines()
                at = next(index for index, line in enumerate(said) if "error: seed" in line)
                quote, caret = said[at + 1], said[at + 2]
                self.assertEqual(quote[caret.index("^"):][:4], "seed", said)
                self.assertEqual((len(quote) <= 80, len(caret) <= 80), (True, True))
                self.assertEqual(quote[8:11] == "...", len(before) > 30)
                self.assertEqual(said[at].split(":")[:3], ["w.yaml", "1", str(len(before) + 2)])

    def test_tools_do_the_same(self):
        config = '{"model_type": "llama", "name": "%s", "hidden_size": 1.5, "note": "%s"}' % (LONG, LONG)
        self.write(config, "config.json")
        lines = self.check_both("import", "hf", "config.json", "-o", "w.yaml")
        place = re.search(r"config\.json:1:(\d+): error: hidden_size", "\n".join(lines))
        self.assertEqual(config[int(place.group(1)) - 1:][:3], "1.5")
        quote = next(index for index, line in enumerate(lines) if line.startswith("    1 | "))
        self.assertEqual(lines[quote][lines[quote + 1].index("^"):][:3], "1.5", lines)


if __name__ == "__main__":
    programs.main(__doc__)
