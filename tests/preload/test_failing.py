#!/usr/bin/env python3
"""Where memory runs out, or a system call fails: the right answer, or exit code 4, one message and no output.

usage: tests/preload/test_failing.py MESHSIM FAILING.so [--all] [unittest arguments]

Fails single allocations and system calls, and all from one on, of each command; the sample depends on MS_SEED
(default 1). --all fails every one, but of the allocations of `run` and `report` twenty times the sample.
"""

import json
import os
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TINY = ROOT / "workloads/tiny.yaml"
PROGRAM, LIBRARY = "", ""
WHOLE = False
FOREVER = 2**60
CORPUS = ROOT / "tests" / "fuzz" / "corpus"

# words of the command, with {} for the folder it writes to and {trace} for a trace; samples of each kind
COMMANDS = [
    (["mesh", "--shape", "dp=2,pp=2,tp=2", "--order", "pp,dp,tp", "--json"], 60),
    (["schedule", "zbv", "-p", "4", "-m", "8", "--p2p", "0.1"], 60),
    (["schedule", "--compare", "1f1b,zbv", "-p", "4", "-m", "8", "--json"], 20),
    (["check", TINY, "--json"], 30),
    (["schema", "space"], 20),
    (["run", TINY, "--json", "-o", "{}/t.h5"], 25),
    (["run", ROOT / "workloads/gpt3-175b-1024.yaml", "--granularity", "pass", "--json"], 15),  # SimGrid loads and shares links
    (["report", "{trace}", "-o", "{}/t.svg"], 20),
    (["report", "{trace}", "-o", "{}/t.json"], 10),
    (["report", "{trace}", "-o", "{}/t.html"], 20),
    (["compare", "{trace}", "{trace}", "--json"], 20),
    (["new", "--json", "--model", "{config}"], 15),  # more than one write puts out
    (["new", "--model", "{config}", "--platform", "dgx-h100", "--gpus", "64", "--batch", "64", "-o", "{}/w.yaml"], 15),
    (["sweep", "{sweep}", "--json", "--jobs", "1", "--csv", "{}/s.csv"], 15),
    (["search", TINY, "--vary", "batch.micro=1,3", "--fidelity", "analytic", "--jobs", "1", "--json", "-o", "{}/w.yaml"], 15),
    (["replay", ROOT / "workloads/events/slow-stage.csv", "--set", "schedule.kind=zbh1", "--leave-out", "dp=1", "--json"], 25),
    (["run", TINY, "--set", "fidelity=analytic", "--whatif", "--json", "--jobs", "1"], 5),
]
LONG = {"run", "report"}  # of which not even --all fails every allocation: most are SimGrid's, HDF5's, or of the page's tables
# of which system calls fail; samples of each kind
CALLED = [(words, 10) for words, _ in COMMANDS
          if words[0] in ("sweep", "search", "report", "compare", "run", "new") and "pass" not in words and words[-1] != "{config}"]
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8192, "intermediate_size": 28672,
          "num_attention_heads": 64, "num_hidden_layers": 80, "num_key_value_heads": 8, "vocab_size": 128256,
          "max_position_embeddings": 8192, "rope_theta": 500000.0, "torch_dtype": "bfloat16", "tie_word_embeddings": False}
SWEEP = f"workload: {TINY}\nset: {{fidelity: analytic}}\naxes:\n  - batch.global: [16]\n"
# words of commands that keep what they find in the store {}/s.db; one simulation, in closed form, as SimGrid's loading takes most allocations
# and none of ours; and a candidate that cannot be
STORED = [
    ["sweep", "{}/sweep.yaml", "--json", "--jobs", "1", "--store", "{}/s.db"],
    ["sweep", "{}/sweep.yaml", "--json", "--jobs", "1", "--store", "{}/shards", "--shard", "0/1"],
    ["search", TINY, "--vary", "batch.micro=1,3", "--fidelity", "analytic", "--json", "--jobs", "1", "--store", "{}/s.db"],
    ["merge", "{}/shards", "--json"],
]
STORED_SAMPLES = 8


def plain(out):
    """What a command printed, with 0 for the two figures that differ from run to run."""
    return re.sub(rb'("(?:wall_s|peak_rss_B)": )[0-9.e+-]+', rb"\g<1>0", out)


class Failing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.trace = Path(cls.holder.name) / "trace.h5"
        (Path(cls.holder.name) / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
        (Path(cls.holder.name) / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
        # LD_PRELOAD ends a name at a space or colon, either of which the checkout's path may hold
        cls.library = shutil.copy(LIBRARY, cls.holder.name)
        subprocess.run([PROGRAM, "run", TINY, "-o", cls.trace], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def start(self, words, **settings):
        """Exit code, output and errors of a command, and how many allocations and system calls it made."""
        with tempfile.NamedTemporaryFile(dir=self.holder.name) as count:
            count.write(bytes(16))
            count.flush()
            environment = dict(os.environ, LD_PRELOAD=self.library, MS_FAIL_COUNT=count.name, **{k: str(v) for k, v in settings.items()})
            result = subprocess.run([PROGRAM, *map(str, words)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
            counts = struct.unpack("=QQ", Path(count.name).read_bytes())
        return result.returncode, result.stdout, result.stderr.decode(), counts

    def run_program(self, words, **settings):
        """Exit code, output, errors, files and counts of a command."""
        folder = Path(tempfile.mkdtemp(dir=self.holder.name))
        places = {"{trace}": self.trace, "{config}": self.trace.parent / "config.json", "{sweep}": self.trace.parent / "sweep.yaml", "{}": folder}
        for name, place in places.items():
            words = [str(word).replace(name, str(place)) for word in words]
        code, out, error, counts = self.start(words, **settings)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        shutil.rmtree(folder)
        plain_out = plain(out.replace(str(folder).encode(), b"FOLDER"))
        return code, plain_out, error.replace(str(folder), "FOLDER"), files, counts

    def draw(self, count, samples):
        """Numbers of those to fail, and of the last one that fails with each."""
        numbers = random.Random(int(os.environ.get("MS_SEED", "1")))
        return [(at, last or at) for last in (None, FOREVER) for at in sorted(numbers.sample(range(1, count + 1), min(samples, count)))]

    def each(self, pairs, check):
        """Check all, some at once: the program waits for the disk most of the time."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for _ in pool.map(lambda pair: check(*pair), pairs):
                pass

    def is_the_loaders(self, code, error):
        """Whether the loader, or the Fortran library that SimGrid brings, ended the program while it loaded SimGrid."""
        return (code == 127 and ("thread-local data" in error or error == "out of memory\n" or "error while loading" in error)
                or code == 1 and error.startswith("Operating system error: Cannot allocate memory"))

    def sweep(self, words, samples):
        code, out, error, files, (allocations, _) = self.run_program(words)
        self.assertEqual(code, 0)
        self.assertGreater(allocations, 5)
        is_long = words[0] in LONG

        def check(at, last):
            found = self.run_program(words, MS_FAIL_AT=at, MS_FAIL_LAST=last)[:4]
            place = f"{words[0]}: MS_FAIL_AT={at} MS_FAIL_LAST={last}: {found[0]}, {found[2]}"
            if found[0] == 0:
                self.assertEqual(found, (0, out, error, files), place)
            elif not self.is_the_loaders(found[0], found[2]):
                self.assertEqual(found[:2], (4, b""), place)
                self.assertEqual(found[2].count("error: "), 1, place)
                # HDF5 forgets the reason of a few of its own allocations that fail alone, and says only what it could not do then;
                # the loader of libraries has words of its own
                words_alone = r"out of memory|cannot write '.*': HDF5: |cannot load SimGrid.*: cannot create shared object descriptor"
                self.assertRegex(found[2], words_alone if last == at else "out of memory", place)
                self.assertEqual(found[3], {}, place)

        self.each(self.draw(allocations, samples if not WHOLE else 20 * samples if is_long else allocations), check)

    def test_memory_runs_out(self):
        for words, samples in COMMANDS:
            self.sweep(words, samples)

    def test_a_system_call_fails(self):
        """A file that was complete before a later call failed, such as that for the standard output, may be there."""
        for words, samples in CALLED:
            code, out, error, files, (_, calls) = self.run_program(words, MS_FAIL_CALL=0)
            self.assertEqual(code, 0, error)
            self.assertGreater(calls, 5)

            def check(at, last):
                found = self.run_program(words, MS_FAIL_CALL=at, MS_FAIL_CALL_LAST=last)
                place = f"{words[0]}: MS_FAIL_CALL={at} MS_FAIL_CALL_LAST={last}: {found[0]}, {found[2]}"
                if found[0] == 0:
                    self.assertEqual(found[:4], (0, out, error, files), place)
                elif not self.is_the_loaders(found[0], found[2]):
                    self.assertEqual(found[0], 4, place)
                    # what an earlier call has written to the standard output stays there
                    told = out if "cannot write to the standard output" in found[2] else b""
                    self.assertEqual(told[: len(found[1])], found[1], place)
                    self.assertEqual(found[2].count("error: "), 1, place)
                    left = {name: text for name, text in found[3].items() if not name.startswith(".meshsim.")}
                    self.assertLessEqual(left.items(), files.items(), place)

            self.each(self.draw(calls, calls if WHOLE else samples), check)

    def run_stored(self, words, folder, **settings):
        """Exit code, output, errors and counts of a command that keeps its rows in `folder`, and the rows there."""
        (folder / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
        if words[0] == "merge" and not (folder / "shards").exists():
            self.run_stored(STORED[1], folder)
        code, out, error, counts = self.start([str(word).replace("{}", str(folder)) for word in words], **settings)
        own = [folder / "shards/study.db"] if words[0] == "merge" else [folder / "s.db", *(folder / "shards").glob("shard-*.db*")]
        rows = set()
        for store in (path for path in own if path.exists() and not path.name.endswith("-journal")):
            with sqlite3.connect(store) as base:
                self.assertEqual(base.execute("PRAGMA integrity_check").fetchone()[0], "ok")
                if base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0:
                    rows |= set(base.execute("SELECT * FROM points"))
        return code, out.decode().replace(str(folder), "FOLDER"), error.replace(str(folder), "FOLDER"), counts, rows

    def found_of(self, out):
        tree = json.loads(out)
        return tree["results"] if "results" in tree else tree["rows"]

    def test_a_system_call_fails_with_a_store(self):
        self.fail_stored("MS_FAIL_CALL", "MS_FAIL_CALL_LAST", 1, "")

    def test_memory_runs_out_with_a_store(self):
        self.fail_stored("MS_FAIL_AT", "MS_FAIL_LAST", 0, "out of memory")

    def fail_stored(self, first, final, counter, told_why):
        """Never a wrong row; and without the failure the same command goes on to what it finds otherwise."""
        for words in STORED:
            with tempfile.TemporaryDirectory(dir=self.holder.name) as folder:
                code, out, error, counts, rows = self.run_stored(words, Path(folder), **{first: 0})
            self.assertEqual((code, error, len(rows)), (0, "", 1))

            def check(at, last):
                with tempfile.TemporaryDirectory(dir=self.holder.name) as folder:
                    code, told, error, _, kept = self.run_stored(words, Path(folder), **{first: at, final: last})
                    place = f"{words[0]}: {first}={at} {final}={last}: {code}, {error}"
                    self.assertLessEqual(kept, rows, place)
                    if code == 0:
                        self.assertEqual((told, error, kept), (out, "", rows), place)
                    else:
                        self.assertEqual((code, told, error.count("error: ")), (4, "", 1), place)
                        self.assertIn(told_why, error, place)
                    code, told, error, _, kept = self.run_stored(words, Path(folder))
                    self.assertEqual((code, error, kept), (0, "", rows), place)
                    self.assertEqual(self.found_of(told), self.found_of(out), place)

            self.each(self.draw(counts[counter], counts[counter] if WHOLE else STORED_SAMPLES), check)

    def test_a_store_on_a_broken_disk_is_told(self):
        for words in STORED[:3]:
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
