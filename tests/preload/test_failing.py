#!/usr/bin/env python3
"""Where memory runs out, or the disk is slow or broken: the right answer, or exit code 4 and one message.

usage: tests/preload/test_failing.py MESHSIM FAILING.so [--all] [unittest arguments]

Fails single allocations, and all from one on, of each command; the sample depends on MS_SEED (default 1). --all fails
each allocation of `check`, `mesh` and `schedule`, and twenty times as many of the commands that take longer.
"""

import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TINY = ROOT / "workloads/tiny.yaml"
PROFILE = ROOT / "tests/fuzz/corpus/fuzz_kineto/steps"
PROGRAM, LIBRARY = "", ""
WHOLE = False
FOREVER = 2**60
CORPUS = ROOT / "tests" / "fuzz" / "corpus"

# words of the command, with {} for the folder it writes to and {trace} for a trace; samples of each kind
COMMANDS = [
    (["mesh", "--shape", "dp=2,pp=2,tp=2", "--order", "pp,dp,tp", "--json"], 100),
    (["schedule", "zbv", "-p", "4", "-m", "8", "--p2p", "0.1"], 100),
    (["schedule", "--compare", "1f1b,zbv", "-p", "4", "-m", "8", "--json"], 20),
    (["check", TINY, "--json"], 50),
    (["import", "slurm", CORPUS / "fuzz_slurm" / "tree", CORPUS / "fuzz_nccl_topo" / "one_gpu", "--json", "--quiet"], 20),
    (["import", "nccl-tests", CORPUS / "fuzz_cases" / "nccl_log", "--json", "--quiet"], 20),
    (["schema", "space"], 20),
    (["run", TINY, "--json", "-o", "{}/t.h5"], 35),
    (["run", ROOT / "workloads/gpt3-175b-1024.yaml", "--granularity", "pass", "--json"], 15),  # SimGrid loads and shares links
    (["report", "{trace}", "-o", "{}/t.svg"], 20),
    (["report", "{trace}", "-o", "{}/t.json"], 10),
    (["report", "{trace}", "-o", "{}/t.html"], 20),
    (["compare", "{trace}", "{trace}", "--json"], 20),
    (["import", "kineto", PROFILE, "--json", "-o", "{}/k.csv"], 60),
]
SWEEP = f"workload: {TINY}\nset: {{fidelity: analytic}}\naxes:\n  - batch.global: [16]\n"
# words of commands that keep what they find in the store {}/s.db; one simulation, in closed form, as SimGrid's loading takes most allocations
# and none of ours; and a candidate that cannot be
STORED = [
    ["sweep", "{}/sweep.yaml", "--json", "--jobs", "1", "--store", "{}/s.db"],
    ["sweep", "{}/sweep.yaml", "--json", "--jobs", "1", "--store", "{}/shards", "--shard", "0/1"],
    ["search", TINY, "--vary", "batch.micro=1,3", "--fidelity", "analytic", "--json", "--jobs", "1", "--store", "{}/s.db"],
]
STORED_SAMPLES = 8


def plain(out):
    """What a command printed, without what differs from run to run."""
    try:
        value = json.loads(out)
    except ValueError:
        return out
    if "engine" in value:
        value["engine"] = {k: v for k, v in value["engine"].items() if k not in ("wall_s", "peak_rss_B")}
    return value


class Failing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.trace = Path(cls.holder.name) / "trace.h5"
        # LD_PRELOAD ends a name at a space or colon, either of which the checkout's path may hold
        cls.library = shutil.copy(LIBRARY, cls.holder.name)
        subprocess.run([PROGRAM, "run", TINY, "-o", cls.trace], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def run_program(self, words, **settings):
        """Exit code, output, errors, files and allocations of a command."""
        folder = Path(tempfile.mkdtemp(dir=self.holder.name))
        count = Path(self.holder.name) / "count"
        count.write_bytes(bytes(8))
        environment = dict(os.environ, LD_PRELOAD=self.library, MS_FAIL_COUNT=str(count), **{k: str(v) for k, v in settings.items()})
        words = [str(word).replace("{trace}", str(self.trace)).replace("{}", str(folder)) for word in words]
        result = subprocess.run([PROGRAM, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        shutil.rmtree(folder)
        allocations, = struct.unpack("=Q", count.read_bytes())
        return result.returncode, plain(result.stdout), result.stderr.decode(), files, allocations

    def sweep(self, words, samples):
        code, out, error, files, allocations = self.run_program(words)
        self.assertEqual((code, error), (0, ""))
        self.assertGreater(allocations, 5)
        numbers = random.Random(int(os.environ.get("MS_SEED", "1")))
        samples = samples if not WHOLE else 20 * samples if files else allocations
        for last in (None, FOREVER):
            for at in sorted(numbers.sample(range(1, allocations + 1), min(samples, allocations))):
                found = self.run_program(words, MS_FAIL_AT=at, MS_FAIL_LAST=last or at)[:4]
                place = f"{words[0]}: MS_FAIL_AT={at} MS_FAIL_LAST={last or at}: {found[0]}, {found[2]}"
                if found[0] == 0:
                    self.assertEqual(found, (0, out, "", files), place)
                    continue
                if found[0] == 127 and ("thread-local data" in found[2] or found[2] == "out of memory\n"):
                    continue  # the same of the loader, while it loads SimGrid
                if found[0] == 1 and found[2].startswith("Operating system error: Cannot allocate memory"):
                    continue  # and of the Fortran library that SimGrid brings
                self.assertEqual(found[:2], (4, b""), place)
                self.assertEqual(found[2].count("error: "), 1, place)
                # HDF5 forgets the reason of a few of its own allocations that fail alone, and says only what it could not do then
                self.assertRegex(found[2], r"out of memory|cannot write '.*': HDF5: " if last is None else "out of memory", place)
                self.assertTrue(found[3].items() <= files.items(), f"{place} {found[3].keys()}")

    def test_memory_runs_out(self):
        for words, samples in COMMANDS:
            self.sweep(words, samples)

    def run_stored(self, words, folder, **settings):
        """Exit code, output, errors and allocations of a command that keeps its rows in `folder`, and the rows there."""
        count = Path(self.holder.name) / "count"
        count.write_bytes(bytes(8))
        (folder / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
        environment = dict(os.environ, LD_PRELOAD=self.library, MS_FAIL_COUNT=str(count), **{k: str(v) for k, v in settings.items()})
        result = subprocess.run([PROGRAM, *(str(word).replace("{}", str(folder)) for word in words)], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=100)
        stores = [path for path in (folder / "s.db", *(folder / "shards").glob("shard-*.db*")) if path.exists()]
        rows = set()
        for store in stores:
            with sqlite3.connect(store) as base:
                self.assertEqual(base.execute("PRAGMA integrity_check").fetchone()[0], "ok")
                if base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0:
                    rows |= set(base.execute("SELECT * FROM points"))
        return result.returncode, result.stdout.decode(), result.stderr.decode(), struct.unpack("=Q", count.read_bytes())[0], rows

    def found_of(self, out):
        tree = json.loads(out)
        return tree["results"] if "results" in tree else tree["rows"]

    def test_memory_runs_out_with_a_store(self):
        """Never a wrong row; and without the lack the same command goes on to what it finds otherwise."""
        numbers = random.Random(int(os.environ.get("MS_SEED", "1")))
        for words in STORED:
            with tempfile.TemporaryDirectory(dir=self.holder.name) as folder:
                code, out, error, allocations, rows = self.run_stored(words, Path(folder))
            self.assertEqual((code, error, len(rows)), (0, "", 1))
            samples = STORED_SAMPLES * (20 if WHOLE else 1)
            for last in (None, FOREVER):
                for at in sorted(numbers.sample(range(1, allocations + 1), samples)):
                    with tempfile.TemporaryDirectory(dir=self.holder.name) as folder:
                        code, told, error, _, kept = self.run_stored(words, Path(folder), MS_FAIL_AT=at, MS_FAIL_LAST=last or at)
                        place = f"{words[0]}: MS_FAIL_AT={at} MS_FAIL_LAST={last or at}: {code}, {error}"
                        self.assertLessEqual(kept, rows, place)
                        if code == 0:
                            self.assertEqual((told, error, kept), (out, "", rows), place)
                        else:
                            self.assertEqual(code, 4, place)
                            self.assertIn("out of memory", error, place)
                        code, told, error, _, kept = self.run_stored(words, Path(folder))
                        self.assertEqual((code, error, kept), (0, "", rows), place)
                        self.assertEqual(self.found_of(told), self.found_of(out), place)

    def test_a_store_on_a_broken_disk_is_told(self):
        for words in STORED:
            with tempfile.TemporaryDirectory(dir=self.holder.name) as folder:
                code, out, error, _, rows = self.run_stored(words, Path(folder), MS_FAIL_SYNC=1)
                self.assertEqual((code, out, rows), (4, "", set()), error)
                self.assertRegex(error, r"^meshsim: error: cannot write the store '.*': (Input/output error|disk I/O error)\n$")
                self.run_stored(words, Path(folder))
                code, out, error, _, rows = self.run_stored(words, Path(folder), MS_FAIL_READ=1)
                self.assertEqual((code, out, len(rows)), (4, "", 1), error)
                self.assertRegex(error, r"^meshsim: error: cannot (open|read|write) the store '.*': (Input/output error|disk I/O error)\n$")

    def test_a_broken_disk_is_not_a_damaged_trace(self):
        codes = []
        for read in (1, 2, 3, 5, 10, 20, 50, 100, 10**6):
            code, _, error, _, _ = self.run_program(["compare", "{trace}", "{trace}"], MS_FAIL_READ=read)
            codes.append(code)
            if code != 0:
                self.assertEqual((code, error), (4, f"meshsim: error: cannot read '{self.trace}': Input/output error\n"))
        self.assertEqual((codes[0], codes[-1]), (4, 0))

    def test_a_slow_disk_takes_its_time(self):
        code, _, error, _, _ = self.run_program(["compare", "{trace}", "{trace}"], MS_SLOW_READ=10000)
        self.assertEqual((code, error), (0, ""))

    def writers(self):
        return {
            "t.h5": ["run", TINY, "-o"],
            "t.svg": ["report", self.trace, "-o"],
            "t.json.gz": ["report", self.trace, "-o"],
            "t.html": ["report", self.trace, "-o"],
            "t.csv": ["schedule", "1f1b", "-p4", "-m8", "--csv"],
        }

    def write(self, words, folder, **settings):
        """Exit code and errors of a command that writes to `folder`, and the calls that bring files to disk."""
        log = Path(self.holder.name) / "log"
        log.write_text("")
        environment = dict(os.environ, LD_PRELOAD=self.library, MS_SYNC_LOG=str(log), **settings)
        result = subprocess.run([PROGRAM, *map(str, words)], env=environment, cwd=folder, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, timeout=100)
        return result.returncode, result.stderr.decode(), log.read_text().splitlines()

    def test_files_are_on_disk_before_their_name_and_then_the_folder(self):
        for name, words in self.writers().items():
            with tempfile.TemporaryDirectory(dir=self.holder.name) as folder:
                code, error, calls = self.write([*words, name], folder)
                self.assertEqual((code, error), (0, ""), name)
                file, above = (Path(folder) / name).stat().st_ino, Path(folder).stat().st_ino
                self.assertEqual(calls, [f"fsync file {file}", f"rename file {file}", f"fsync folder {above}"], name)

    def test_what_does_not_reach_the_disk_gets_no_name(self):
        for name, words in self.writers().items():
            with tempfile.TemporaryDirectory(dir=self.holder.name) as folder:
                (Path(folder) / name).write_text("older")
                code, error, calls = self.write([*words, name], folder, MS_FAIL_SYNC="1")
                self.assertEqual((code, error), (4, f"meshsim: error: cannot write '{name}': Input/output error\n"))
                self.assertEqual([call.split()[:2] for call in calls], [["fsync", "file"]], name)
                self.assertEqual(os.listdir(folder), [name])
                self.assertEqual((Path(folder) / name).read_text(), "older")


if __name__ == "__main__":
    if "--all" in sys.argv:
        sys.argv.remove("--all")
        WHOLE = True
    PROGRAM, LIBRARY = (str(Path(sys.argv.pop(1)).resolve()) for _ in range(2))
    unittest.main()
