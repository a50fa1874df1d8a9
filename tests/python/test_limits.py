#!/usr/bin/env python3
"""Limits: what is exactly as large as allowed is taken, the next larger is refused and the limit named.

usage: tests/python/test_limits.py MESHSIM [unittest arguments]
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TINY = "workloads/tiny.yaml"
FLAT = "platforms/flat.yaml"
ECMP = "platforms/bytedance-a100.yaml"
TORUS = "platforms/tpu-v4.yaml"
PROGRAM = ""
MIB = 2**20

MOE = "model.moe={experts: 8, top_k: 1, imbalance: {spread: 0.5}}"
MANY = "model.moe={experts: 2500, top_k: {}, imbalance: {spread: 0.5}}"
# words with {} for what is limited, the largest taken, the next, what the refusal says
COMMANDS = [
    (("mesh", "--shape", "a={}", "--order", "a"), 16777216, 16777217, "more than 16777216 ranks"),
    (("mesh", "--shape", "a=4096,b={}", "--order", "a,b"), 4096, 4097, "more than 16777216 ranks"),
    (("mesh", "--shape", "a=1", "--order", "a", "--reshape", "{}"), "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1",
     "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1", "more than 8 axes"),
    (("mesh", "--shape", "a=1", "--order", "a", "--devices", "{}"), 16777215, 16777216, "expected GPU numbers"),
    (("mesh", "--shape", "a=2", "--order", "a", "--tensor", "{}"), 10**12, 10**12 + 1, "expected sizes"),
    (("mesh", "--shape", "a=2", "--order", "a", "--tensor", "2{}"), ",1" * 7, ",1" * 8, "more than 8 axes"),
    (("collective", "all_to_all", "--platform", ECMP, "--set", "platform.nodes=513", "-b", "1MiB", "-e", "1MiB",
      "--fidelity", "analytic", "-n", "{}"), 4096, 4097, "at most 4096"),
    (("collective", "all_to_all", "--platform", FLAT, "--set", "platform.nodes=131073", "-b", "1MiB", "-e", "1MiB",
      "--fidelity", "analytic", "-n", "{}"), 131072, 131073, "or 131072 behind switches"),
    (("collective", "all_reduce", "--platform", FLAT, "-n", "2", "-b", "1 B", "--fidelity", "analytic", "-e", "{} B"),
     2**63, 2**64, "more than 64 sizes"),
    (("check", TINY, "--set", MOE, "--set", "model.bias=false", "--ignore-memory", "--set",
      "model.layers={}"), 1000, 1002, "at most 1000 layers"),
    (("check", TINY, "--set", MANY, "--set", "model.bias=false", "--ignore-memory"), 1000, 1001,
     "20000000 in product"),
    (("platform", FLAT, "--set", "platform.nodes={}"), 16777216, 16777217, "expected 1 to 16777216"),
    (("platform", FLAT, "--set", "platform.node.gpus=2", "--set", "platform.nodes={}"), 8388608, 8388609,
     "at most 16777216"),
    (("platform", FLAT, "--simgrid-xml", "/dev/null", "--set", "platform.nodes={}"), 1024, 1025, "at most 1024 GPUs"),
    (("platform", TORUS, "--set", "platform.nodes=32", "--set", "platform.fabric.shape=[{}]"), 128, 130,
     "at most 64 are supported"),
    (("platform", TORUS, "--set", "platform.nodes=128", "--set", "platform.fabric.shape=[8, 8, 8{}]"), "", ", 1",
     "expected 1 to 3 sizes"),
    (("check", TINY, "--set", "batch={microbatches: {}}"), 2500000, 2500001, "limit of 1e+07"),
    (("check", TINY, "--set", "batch={microbatches: {}, micro: 1000}", "--ignore-memory"), 50000, 50001, "more than 100000000 sequences"),
    (("schedule", "--compare", "1f1b", "--workload", TINY, "--jobs", "{}"), 1024, 1025, "from 1 to 1024"),
    (("schedule", "gpipe", "-p", "{}", "-m", "1", "--json"), 32767, 32768, "the limit is 32767"),
    (("schedule", "gpipe", "-p", "2", "-m", "2", "--tf", "{}"), "1e280", "1.000000000000001e280", "from 0 to 1e+280"),
    (("schedule", "dualpipe", "-p", "2", "-m", "4", "--fbscale", "{}"), "1e9", "1000000000.000001", "to 1e+09"),
    (("platform", FLAT, "--set", "platform.tiers.fabric.bandwidth={} GB/s"), "0" * 98 + "25", "0" * 99 + "25", "expected"),
]


def nested(depth):
    """A flow list of so many levels below the top one."""
    return "platform: " + "[" * depth + "]" * depth + "\n"


def aliases(made):
    """A file with so many values made by aliases: lists of a thousand, and of a hundred of one each."""
    thousands, rest = divmod(made, 1001)
    text = f"a: &a [{', '.join(['1'] * 1000)}]\nb: &b 1\n"
    return text + f"c: [{', '.join(['*a'] * thousands + ['*b'] * rest)}]\n"


# name, text of the largest file that is taken (its keys may be unknown), of the next, what the refusal says
FILES = [
    ("levels", nested(63), nested(64), "at most 64 levels"),
    ("size", "#" * (16 * MIB - 1) + "\n", "#" * (16 * MIB) + "\n", "at most 16 MiB"),
    ("anchors", "".join(f"a{i}: &b{i} 1\n" for i in range(1000)), "".join(f"a{i}: &b{i} 1\n" for i in range(1001)),
     "at most 1,000 anchors"),
    ("aliases", aliases(100000), aliases(100001), "at most 100,000 values made by aliases"),
    ("values", "a: [" + "1," * 999996 + "1]\n", "a: [" + "1," * 999997 + "1]\n", "at most 1,000,000 values"),
]


class Limits(unittest.TestCase):
    def meshsim(self, *words):
        """(exit code, stderr)"""
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=250, check=False)
        return done.returncode, done.stderr.decode()

    def test_commands(self):
        for words, largest, larger, refusal in COMMANDS:
            for value, is_taken in ((largest, True), (larger, False)):
                filled = [word.replace("{}", str(value)) for word in words]
                with self.subTest(" ".join(filled)[:200]):
                    code, said = self.meshsim(*filled)
                    self.assertEqual((code in (0, 1), refusal in said), (is_taken, not is_taken), f"{code}: {said[:500]}")

    def test_files(self):
        for name, largest, larger, refusal in FILES:
            for text, is_taken in ((largest, True), (larger, False)):
                with self.subTest(name, is_taken=is_taken), tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "limit.yaml"
                    path.write_text(text, encoding="ascii")
                    code, said = self.meshsim("check", path)
                    # neither file is a workload; what counts is whether the limit is what is wrong with it
                    self.assertEqual((code, refusal in said), (3, not is_taken), said[:500])

    def test_schedule_file(self):
        for length, is_taken in ((256 * MIB, True), (256 * MIB + 1, False)):
            with self.subTest(length), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "schedule.csv"
                path.write_text("0F0,0I0,0W0\n")
                with path.open("a") as file:
                    file.truncate(length)
                code, said = self.meshsim("schedule", f"csv:{path}")
                self.assertEqual((code, "at most 256 MiB" in said), (3, not is_taken), said[:500])

    def test_types_on_types(self):
        for count, is_taken in ((4, True), (5, False)):
            with self.subTest(count), tempfile.TemporaryDirectory() as folder:
                gpus = Path(folder) / "gpus"
                gpus.mkdir()
                source = (ROOT / "platforms/gpus/a100-sxm4-80gb.yaml").read_text()
                for i in range(count):
                    (gpus / f"g{i}.yaml").write_text(source if i == 0 else f"name: g{i}\ntype: g{i - 1}\n")
                platform = Path(folder) / "p.yaml"
                platform.write_text((ROOT / FLAT).read_text().replace("a100-sxm4-80gb", f"g{count - 1}"))
                code, said = self.meshsim("platform", platform)
                self.assertEqual((code, "more than 4 types" in said), (0, False) if is_taken else (3, True), said[:500])

    def test_keys_of_a_path(self):
        for depth, is_taken in ((64, True), (65, False)):
            with self.subTest(depth):
                code, said = self.meshsim("check", TINY, "--set", ".".join(["a"] * depth) + "=1")
                self.assertEqual((code in (2, 3), "at most 64 keys" in said), (True, not is_taken), said[:500])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
