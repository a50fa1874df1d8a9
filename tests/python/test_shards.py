#!/usr/bin/env python3
"""Shards of a sweep: in any order, killed and repeated, they come to what one process finds; plans run them all.

usage: test_shards.py MESHSIM [unittest arguments]
"""

import json
import os
import random
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from stores import digest_of

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
SWEEP = """
workload: {root}/workloads/tiny.yaml
set: {{granularity: layer}}
axes:
  - batch.global: {{from: 16, to: 64, step: 16}}
  - mesh.tp: [1, 2, 4, 8]
    mesh.dp: [4, 2, 1, 1]
"""
SHARDS = 5


# in the path of a program and of a folder in which plans are made
ODD = "it's \"my\" $HOME\\n `studies` #1; 100% <a>"


def odd_program(place):
    """A copy of the program in a path that needs quotes, of which a link would show another path."""
    folder = place / ODD
    folder.mkdir(parents=True)
    return shutil.copy(PROGRAM, folder / "mesh sim")


class InFolder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.place = Path(holder.name)
        self.folder = self.place / "shards"
        self.sweep = self.place / "sweep.yaml"
        self.sweep.write_text(SWEEP.format(root=ROOT), encoding="utf-8")

    def start(self, *words, **more):
        return subprocess.Popen([PROGRAM, *(str(word) for word in words)], cwd=self.place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **more)

    def run_it(self, *words, code=0):
        process = self.start(*words)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, err)
        return out, err

    def shard(self, index, *words):
        return ["sweep", self.sweep, "--shard", f"{index}/{SHARDS}", "--store", self.folder, "--jobs", 1, *words]

    def merge(self, code):
        return json.loads(self.run_it("merge", self.folder, "--json", code=code)[0])


class Shards(InFolder):
    def test_in_any_order_they_come_to_what_one_process_finds(self):
        alone = json.loads(self.run_it("sweep", self.sweep, "--json", code=0)[0])
        order = list(range(SHARDS))
        random.Random(int(os.environ.get("MS_SEED", "1"))).shuffle(order)
        rows = []
        for place, index in enumerate(order):
            rows += json.loads(self.run_it(*self.shard(index, "--json"))[0])["rows"]
            report = self.merge(0 if place == SHARDS - 1 else 1)
            self.assertEqual(report["missing"], sorted(order[place + 1:]))
        self.assertEqual(report["double"], [])
        key = lambda row: json.dumps(row["settings"], sort_keys=True)
        self.assertEqual(sorted(rows, key=key), sorted(alone["rows"], key=key))
        whole = json.loads(self.run_it("sweep", self.sweep, "--store", self.folder / "study.db", "--json")[0])
        self.assertEqual(whole["rows"], alone["rows"])
        self.assertEqual(whole["counts"]["simulated"], 0)
        again = json.loads(self.run_it(*self.shard(2, "--json"))[0])
        self.assertEqual(again["counts"]["simulated"], 0)

    def test_what_is_missing_is_told_as_slurm_takes_it(self):
        for index in (0, 3):
            self.run_it(*self.shard(index))
        out, _ = self.run_it("merge", self.folder, code=1)
        self.assertRegex(out, "\nshards +5\ncomplete +2\n")
        self.assertRegex(out, "\nmissing +--array=1-2,4\n")

    def count_rows(self):
        """Rows of shard 0, which has another name once it is complete."""
        whole = self.folder / f"shard-0-of-{SHARDS}.db"
        for path in (f"{whole}.part", whole):
            try:
                with sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=60) as base:
                    return base.execute("SELECT count(*) FROM points").fetchone()[0]
            except sqlite3.OperationalError:
                pass  # it is not there, or has no table yet
        return 0

    def test_a_killed_shard_goes_on(self):
        draw = random.Random(int(os.environ.get("MS_SEED", "1")))
        kills = int(os.environ.get("MS_KILLS", "5"))
        # 20 points of the shard for each kill, so that there is something left to lose
        self.sweep.write_text(SWEEP.format(root=ROOT).replace("to: 64", f"to: {80 * SHARDS * kills}"), encoding="utf-8")
        kept = 0
        for _ in range(kills):
            process = self.start(*self.shard(0))
            while process.poll() is None and self.count_rows() <= kept:
                time.sleep(0.005)
            time.sleep(draw.uniform(0, 0.02))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            self.assertGreaterEqual(self.count_rows(), kept)
            kept = self.count_rows()
        self.run_it(*self.shard(0))
        with sqlite3.connect(self.folder / f"shard-0-of-{SHARDS}.db") as base:
            self.assertEqual(base.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            settings = [row[0] for row in base.execute("SELECT settings FROM points")]
        self.assertEqual(len(set(settings)), len(settings))
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), [f"shard-0-of-{SHARDS}.db"])

    def test_two_processes_for_one_shard(self):
        both = [self.start(*self.shard(1, "--json")) for _ in range(2)]
        trees = [json.loads(process.communicate(timeout=60)[0]) for process in both]
        self.assertEqual([process.returncode for process in both], [0, 0])
        self.assertEqual(trees[0]["rows"], trees[1]["rows"])
        self.assertEqual(min(tree["counts"]["simulated"] for tree in trees), 0, "the second waits for the first")

    def test_no_job_in_a_shard_is_no_answer(self):
        self.sweep.write_text(f"workload: {ROOT}/workloads/tiny.yaml\naxes:\n  - mesh.tp: [16, 2]\n", encoding="utf-8")
        for index in range(3):
            self.run_it("sweep", self.sweep, "--shard", f"{index}/3", "--store", self.folder)
        self.assertEqual(self.merge(0)["rows"], 2)

    def test_shards_of_two_programs_are_told(self):
        for index in range(SHARDS):
            self.run_it(*self.shard(index))
        self.assertEqual(len(self.merge(0)["programs"]), 1)
        out, _ = self.run_it("merge", self.folder)
        self.assertNotIn("versions of meshsim", out)
        with sqlite3.connect(self.folder / f"shard-2-of-{SHARDS}.db") as base:
            base.row_factory = sqlite3.Row
            for row in base.execute("SELECT rowid, * FROM points").fetchall():
                other = dict(row) | {"program": "another"}
                base.execute("UPDATE points SET program = 'another', digest = ? WHERE rowid = ?", (digest_of(other), row["rowid"]))
        self.assertEqual(self.merge(0)["programs"][1:], ["another"])
        out, _ = self.run_it("merge", self.folder)
        self.assertRegex(out, r"\nversions of meshsim \(they share no rows\) +2\n")

    def test_faults(self):
        for words, told in ((["--shard", "1/2"], "needs '--store'"), (["--shard", "2/2", "--store", "d"], "expected a shard as I/N"),
                            (["--shards", "2"], "needs '--plan'"), (["--shard", "0/2", "--store", "d", "--plot", "a.svg"], "do not go together"),
                            (["--plan", "makeflow=a"], "needs '--store'"), (["--plan", "make=a", "--store", "d"], "expected makeflow=FILE"),
                            (["--plan", "makeflow=a", "--store", "d e"], "Makeflow cannot name files in"),
                            (["--plan", "makeflow=a", "--store", "d:e"], "which has a ':'"),
                            (["--plan", "slurm=a", "--store", "d\\e"], "Slurm cannot name files in"),
                            (["--plan", "slurm=a", "--store", "d\ne"], "a plan cannot hold"),
                            (["--plan", "makeflow=a\rb", "--store", "d"], "a plan cannot hold"),
                            (["--plan", "slurm=a", "--store", "d", "--json"], "do not go together")):
            _, err = self.run_it("sweep", self.sweep, *words, code=2)
            self.assertIn(told, err)
            self.assertFalse((self.place / "a").exists())
        self.run_it("merge", self.place / "none", code=3)
        self.folder.write_text("a file", encoding="utf-8")
        self.run_it(*self.shard(0), code=4)
        _, err = self.run_it("sweep", self.sweep, "--plan", "makeflow=a", "--store", self.folder, code=4)
        self.assertIn("cannot make the folder", err)
        self.assertFalse((self.place / "a").exists())


class Searches(InFolder):
    SPACE = ["--vary", "mesh.tp=1,2,4,8", "--vary", "mesh.pp=1,2,4,8", "--vary", "batch.micro=1,2,4", "--vary", "schedule.kind=1f1b,gpipe", "--top", 5]

    def search(self, *words):
        return json.loads(self.run_it("search", ROOT / "workloads" / "tiny.yaml", *self.SPACE, "--json", *words)[0])

    def rows(self):
        with sqlite3.connect(self.folder / "study.db") as base:
            return base.execute("SELECT count(*) FROM points").fetchone()[0]

    def test_shards_in_any_order_and_what_they_tell_each_other_lost_at_random(self):
        alone = self.search("--jobs", 1)
        draw = random.Random(int(os.environ.get("MS_SEED", "1")))
        for attempt in range(3):
            self.folder = self.place / f"search-{attempt}"
            order = list(range(4))
            draw.shuffle(order)
            for index in order:
                found = self.search("--shard", f"{index}/4", "--store", self.folder)
                self.assertGreater(found["counts"]["of_other_shards"], 0)
                for told in self.folder.glob("best-*"):
                    if draw.random() < 0.4:
                        told.unlink()
            self.assertEqual(self.merge(0)["missing"], [])
            before = self.rows()
            whole = self.search("--store", self.folder / "study.db")
            self.assertEqual(whole["results"], alone["results"])
            self.assertEqual(self.rows(), before, "nothing is simulated again")

    def test_what_is_told_spares_others_work(self):
        shards = [["--shard", f"{index}/4", "--store", self.folder] for index in range(4)]
        told = sum(self.search(*shard)["counts"]["simulated"] for shard in shards)
        self.folder = self.place / "deaf"
        deaf = 0
        for index in range(4):
            deaf += self.search("--shard", f"{index}/4", "--store", self.folder)["counts"]["simulated"]
            (self.folder / f"best-{index}-of-4.txt").unlink()
        self.assertLess(told, deaf)

    def test_what_another_search_in_the_folder_has_told_does_not_count(self):
        # the bubble is known after simulation alone, so all candidates are the same, and the best are out of reach
        self.SPACE = ["--vary", "mesh.tp=1,2,4", "--vary", "mesh.pp=2,4", "--vary", "batch.micro=1,2,4", "--top", 1]
        other = ["--max", "bubble_fraction=0.22"]
        expected = self.search("--shard", "1/2", "--store", self.place / "alone", *other)["results"]
        self.search("--shard", "0/2", "--store", self.folder)
        self.assertEqual(self.search("--shard", "1/2", "--store", self.folder, *other)["results"], expected)
        self.assertGreater(len(expected), 0)

    def test_plan(self):
        links = "platform.tiers.nvlink.bandwidth=200 GB/s,300 GB/s"
        self.run_it("search", ROOT / "workloads" / "tiny.yaml", *self.SPACE, "--vary", links, "--plan", "makeflow=plan", "--shards", 3, "--store", "shards")
        text = (self.place / "plan").read_text(encoding="utf-8")
        self.assertIn(" --vary mesh.tp=1,2,4,8 --vary mesh.pp=1,2,4,8 --vary batch.micro=1,2,4 --vary schedule.kind=1f1b,gpipe"
                      f" --vary '{links}' --top 5 --jobs 1 --store ", text)


class Plans(InFolder):
    def setUp(self):
        super().setUp()
        self.environment = dict(os.environ, MESHSIM_DATA=str(ROOT))
        self.program = odd_program(self.place)
        self.cwd = self.place / ODD
        self.sweep.rename(self.cwd / "a sweep's.yaml")

    def plan(self, engine, store):
        """The text of a plan that is made, and stands, in a folder whose path needs quotes."""
        subprocess.run([self.program, "sweep", "a sweep's.yaml", "--plan", f"{engine}=the plan", "--shards", str(SHARDS), "--store", store, "--jobs", "2"],
                       cwd=self.cwd, env=self.environment, check=True, timeout=120)
        return (self.cwd / "the plan").read_text(encoding="utf-8")

    def finish(self):
        self.assertEqual(self.merge(0)["rows"], 16)

    def test_makeflow(self):
        text = self.plan("makeflow", self.folder)
        rules = dict(re.findall(r"^(/\S+):.*\n\t(.*)$", text, re.M))
        self.assertEqual(len(rules), SHARDS + 1)
        for target, command in rules.items():
            # Makeflow takes a backslash off, in quotes, too, before a shell gets the command
            command = re.sub(r"\\(.)", r"\1", command.removeprefix("LOCAL "))
            subprocess.run(["sh", "-c", command], cwd="/", check=True, stdout=subprocess.DEVNULL, env=self.environment, timeout=120)
            self.assertTrue(Path(target).exists(), target)
        last = re.search(r"^(/\S+/study\.db):(.*)$", text, re.M)
        self.assertEqual(set(last.group(2).split()), set(rules) - {last.group(1)})
        self.finish()
        if shutil.which("makeflow") is not None:  # which reads its file as it likes
            shutil.rmtree(self.folder)
            self.makeflow()
            self.finish()

    def makeflow(self):
        done = subprocess.run(["makeflow", "-T", "local", "-j", "2", "-R", "the plan"], cwd=self.cwd, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_slurm(self):
        self.folder = self.place / "it's 100% shards; #1"
        text = self.plan("slurm", self.folder)
        self.assertIn(f"#SBATCH --array=0-{SHARDS - 1}\n", text)
        self.assertIn("#SBATCH --cpus-per-task=2\n", text)
        for index in range(SHARDS):
            subprocess.run(["sh", "the plan"], cwd=self.cwd, check=True, stdout=subprocess.DEVNULL, timeout=120,
                           env=dict(self.environment, SLURM_ARRAY_TASK_ID=str(index)))
        self.finish()

    def test_slurm_finds_the_folder_as_sbatch_reads_it(self):
        """Quotes keep a name together as in a shell, a backslash does not; '%' stands twice (tried with sbatch of Slurm 22.05.8)."""
        folder = self.place / ODD.replace("\\", "")
        text = self.plan("slurm", folder)
        argument = re.search(r"^#SBATCH --error=(.*)$", text, re.M).group(1)
        self.assertNotIn("\\", argument)
        self.assertEqual([word.replace("%%", "%") for word in shlex.split(argument)], [f"{folder}/shard-%a.err"])


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
