#!/usr/bin/env python3
"""Sweeps: rows are those of `run` with their settings, and a store keeps them through interrupts, faults and other processes.

usage: test_sweep.py MESHSIM [unittest arguments]
"""

import csv
import io
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

from stores import WAIT_S, as_another_user, await_rows, kill_one

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
SWEEP = """
workload: {root}/workloads/tiny.yaml
set: {{granularity: layer}}
axes:
  - batch.global: [{batches}]
  - mesh.tp: [1, 2, 4]
    mesh.dp: [4, 2, 1]
"""
FIGURES = ["step_time_s", "tokens_per_s", "mfu", "bubble_fraction", "idle_fraction", "time_share"]


def start(*words, **more):
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | more
    return subprocess.Popen([PROGRAM, "sweep", *(str(word) for word in words)], **options)


def run(*words, **more):
    """(exit code, stdout, stderr)"""
    process = start(*words, **more)
    out, err = process.communicate(timeout=2 * WAIT_S)
    return process.returncode, out, err


class InFolder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.store = self.folder / "s.db"
        self.sweep = self.write(16, 32)

    def write(self, *batches):
        path = self.folder / "sweep.yaml"
        path.write_text(SWEEP.format(root=ROOT, batches=", ".join(map(str, batches))), encoding="utf-8")
        return path

    def json(self, *words):
        code, out, err = run(self.sweep, "--json", *words)
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def rows(self):
        """Rows of the store by their settings; each is whole, and none is there twice."""
        with sqlite3.connect(self.store, timeout=WAIT_S) as base:
            self.assertEqual(base.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            if base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                return {}  # its process was killed, or has just begun
            rows = base.execute("SELECT settings, step_time_s, peak_B, key FROM points").fetchall()
        found = {json.dumps(json.loads(settings)): (step_s, peak_B) for settings, step_s, peak_B, _ in rows}
        self.assertEqual(len(found), len(rows))
        return found

    def expected(self):
        """The same, of a sweep without a store."""
        if not hasattr(self, "known"):
            tree = self.json()
            self.known = {json.dumps(row["settings"]): (row["step_time_s"], row["peak_B"]) for row in tree["rows"]}
        return self.known

    def assert_right(self, least=0):
        """What the store has is right, and at least so much."""
        rows = self.rows()
        self.assertLessEqual(rows.items(), self.expected().items())
        self.assertGreaterEqual(len(rows), least)
        return len(rows)


class Rows(InFolder):
    def test_are_those_of_runs_with_their_settings(self):
        for row in self.json()["rows"]:
            sets = [word for key, value in row["settings"].items() for word in ("--set", f"{key}={json.dumps(value).strip(chr(34))}")]
            done = subprocess.run([PROGRAM, "run", ROOT / "workloads" / "tiny.yaml", "--json", *sets], capture_output=True, check=True)
            alone = json.loads(done.stdout)
            self.assertEqual([row[key] for key in FIGURES], [alone[key] for key in FIGURES])
            self.assertEqual(row["peak_B"], alone["memory"]["peak_B"])

    def test_do_not_depend_on_jobs(self):
        self.assertEqual(self.json("--jobs", 1), self.json("--jobs", 5))

    def test_as_csv(self):
        code, out, _ = run(self.sweep, "--csv", "-")
        self.assertEqual(code, 0)
        rows = list(csv.DictReader(io.StringIO(out)))
        tree = self.json()["rows"]
        self.assertEqual([(row["batch.global"], row["mesh.tp"], float(row["step_time_s"]), float(row["time_share.compute"])) for row in rows],
                         [(str(row["settings"]["batch.global"]), str(row["settings"]["mesh.tp"]), row["step_time_s"],
                           row["time_share"]["compute"]) for row in tree])

    def test_picture_is_xml_with_a_marker_for_each(self):
        code, out, _ = run(self.sweep, "--plot", "-")
        self.assertEqual(code, 0)
        titles = [node.text for node in ET.fromstring(out).iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(len(titles), 6)
        self.assertTrue(titles[0].startswith("batch.global=16 mesh.tp=1 mesh.dp=4: "), titles[0])

    def test_no_job_at_all_is_the_answer_no(self):
        self.sweep.write_text(f"workload: {ROOT}/workloads/tiny.yaml\naxes:\n  - mesh.tp: [1, 16]\n", encoding="utf-8")
        code, out, _ = run(self.sweep)
        self.assertEqual(code, 1)
        self.assertRegex(out, "\nrefused +2\n")
        code, out, _ = run(self.sweep, "--json")
        self.assertEqual(json.loads(out)["counts"]["refused"], 2)
        self.assertEqual(code, 1)

    def test_without_a_point_there_is_nothing_to_draw(self):
        for axis, reason, code in (("mesh.tpp: [1]", "did you mean 'pp'?", 1), ("schedule.kind: ['csv:none.csv']", "no such file", 1), ("mesh.tp: [16]", "has 8", 1)):
            self.sweep.write_text(f"workload: {ROOT}/workloads/tiny.yaml\naxes:\n  - {axis}\n", encoding="utf-8")
            alone = run(self.sweep)
            self.assertEqual(alone[0], code)
            run(self.sweep, "--store", self.store)
            for option in ("--plot", "--pareto"):
                path = self.folder / "out.svg"
                drawn = run(self.sweep, option, path, *(["--store", self.store] if option == "--pareto" else []))
                self.assertEqual(drawn[:2], alone[:2])
                self.assertIn(reason, " ".join(drawn[1].split()))
                self.assertEqual(drawn[2], alone[2] + "meshsim: note: no point could be simulated, so there is nothing to draw\n")
                self.assertFalse(path.exists())


class Unknown(InFolder):
    """What nobody says is no number: null in JSON, nothing in CSV, NULL in SQLite."""

    def expect(self, workload, axes, unknown, rows):
        (self.folder / "workload.yaml").write_text(workload, encoding="utf-8")
        self.sweep.write_text(f"workload: workload.yaml\naxes:\n  - {axes}\n", encoding="utf-8")
        tree = self.json("--store", self.store)
        code, out, err = run(self.sweep, "--csv", "-")
        self.assertEqual(code, 0, err)
        lines = list(csv.DictReader(io.StringIO(out)))
        with sqlite3.connect(self.store) as base:
            base.row_factory = sqlite3.Row
            kept = [dict(row) for row in base.execute("SELECT * FROM points WHERE reason IS NULL ORDER BY settings")]
        for found in (tree["rows"], lines, kept):
            self.assertEqual(len(found), rows)
            for row in found:
                self.assertEqual({key for key, value in row.items() if value in (None, "") and key != "reason"}, unknown)
        again = self.json("--store", self.store)
        self.assertEqual(again["counts"]["stored"], rows)
        self.assertEqual(again["rows"], tree["rows"])

    def test_without_price_and_power(self):
        tiny = (ROOT / "workloads" / "tiny.yaml").read_text(encoding="utf-8")
        self.expect(tiny.replace("{file: dgx-a100, nodes: 1}", "{file: flat, nodes: 8}"),
                    "batch.global: [16, 32]", {"cost", "cost_per_million_tokens", "energy_J"}, 2)

    def test_without_a_model(self):
        self.expect("name: paper\nplatform: {file: ideal, nodes: 4}\ncosts: {forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms}\n"
                    "mesh: {pp: 4}\nschedule: {kind: 1f1b}\nbatch: {micro: 1, microbatches: 8}\n", "batch.microbatches: [4, 8]",
                    {"tokens_per_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu", "mfu", "mfu_causal", "hfu", "peak_B", "cost",
                     "cost_per_million_tokens", "energy_J"}, 2)

    def test_of_a_job_that_cannot_be(self):
        self.sweep.write_text(f"workload: {ROOT}/workloads/tiny.yaml\nset: {{batch.global: 2}}\naxes:\n  - schedule.kind: [1f1b, dualpipe]\n",
                              encoding="utf-8")
        self.assertEqual([row["status"] for row in self.json("--store", self.store)["rows"]], ["simulated", "refused"])
        with sqlite3.connect(self.store) as base:
            base.row_factory = sqlite3.Row
            row, = base.execute("SELECT * FROM points WHERE reason IS NOT NULL")
        self.assertEqual({key for key in row.keys() if row[key] is not None},
                         {"key", "program", "settings", "digest", "workload", "platform", "gpus", "status", "reason"})


class Store(InFolder):
    def test_is_read_back_to_the_last_bit_and_nothing_is_simulated_twice(self):
        first = self.json("--store", self.store)
        self.assertEqual(self.assert_right(), 6)
        second = self.json("--store", self.store, "--resume")
        self.assertEqual(second["counts"], dict(first["counts"], simulated=0, stored=6))
        self.assertEqual(second["rows"], first["rows"])
        self.write(16, 32, 48)
        more = self.json("--store", self.store)
        self.assertEqual((more["counts"]["simulated"], more["counts"]["stored"]), (3, 6))
        fresh = self.json("--store", self.store, "--fresh")
        self.assertEqual((fresh["counts"]["simulated"], fresh["counts"]["stored"]), (9, 0))
        self.known = None
        self.assertEqual(len(self.rows()), 9)

    def test_an_interrupt_keeps_what_is_done_and_says_how_to_go_on(self):
        batches = range(16, 16016, 16)  # far more than are done before the signal comes
        self.write(*batches)
        kept = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            process = start(self.sweep, "--store", self.store, "--jobs", 2)
            self.assertTrue(await_rows(process, self.store, 3), "it ended before it was interrupted")
            process.send_signal(number)
            _, err = process.communicate(timeout=WAIT_S)
            self.assertEqual(process.returncode, 128 + number)
            before, kept = kept, len(self.rows())
            self.assertGreaterEqual(kept, before + 3)
            self.assertIn(f"{kept} of {3 * len(batches)} points are in '{self.store}'; the same command goes on", err)

    def test_two_processes_share_the_work(self):
        self.expected()
        both = [start(self.sweep, "--store", self.store, "--json", "--jobs", 1) for _ in range(2)]
        trees = []
        for process in both:
            out, err = process.communicate(timeout=WAIT_S)
            self.assertEqual(process.returncode, 0, err)
            trees.append(json.loads(out))
        self.assertEqual(trees[0]["rows"], trees[1]["rows"])
        self.assertEqual(self.assert_right(), 6)

    def test_a_killed_process_or_worker_loses_nothing_that_was_told(self):
        draw = random.Random(int(os.environ.get("MS_SEED", "1")))
        kills = int(os.environ.get("MS_KILLS", "5"))  # of each sort
        batches = 4 * kills  # so that there is something left to lose
        self.write(*range(16, 16 * (batches + 1), 16))
        self.expected()
        kept = 0
        for attempt in range(2 * kills):
            # the table of a sweep that has ended would fill a pipe that nobody reads
            process = start(self.sweep, "--store", self.store, "--jobs", 2, start_new_session=True, stdout=subprocess.DEVNULL)
            await_rows(process, self.store, 1)
            kill_one(process, draw, is_worker=attempt % 2 == 1)
            kept = self.assert_right(kept) if self.store.exists() else kept
        self.assertEqual(self.json("--store", self.store)["counts"]["refused"], 0)
        self.assertEqual(self.assert_right(), 3 * batches)

    def test_a_full_disk_is_told_and_leaves_what_was_there(self):
        self.json("--store", self.store)
        before = self.rows()
        size_B = self.store.stat().st_size
        self.write(*range(16, 1616, 16))
        code, out, err = run(self.sweep, "--store", self.store, "--jobs", 1,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size_B + 8192, size_B + 8192)))
        self.assertEqual((code, out), (4, ""), err)
        self.assertRegex(err, r"^meshsim: error: cannot write the store '.*s\.db': ")
        self.assertLessEqual(before.items(), self.rows().items())

    def test_what_may_only_be_read_is_told_before_anything_is_simulated(self):
        self.json("--store", self.store)
        self.sweep = self.write(16, 32, 48)
        before = self.store.read_bytes()
        self.store.chmod(0o444)
        more = as_another_user(PROGRAM, self.folder)
        if more:
            self.sweep.write_text(self.sweep.read_text(encoding="utf-8").replace(str(ROOT), str(self.folder)), encoding="utf-8")
            self.sweep.chmod(0o644)
        code, out, err = run(self.sweep, "--store", self.store, **more)
        self.assertEqual((code, out), (4, ""), err)
        self.assertIn("cannot write the store", err)
        self.assertEqual(self.store.read_bytes(), before)

    def test_what_is_no_store_is_left_alone(self):
        texts = {b"name: tiny\n" * 20: (3, "is no SQLite database"), b"": (0, "")}
        for text, (expected, words) in texts.items():
            self.store.write_bytes(text)
            code, _, err = run(self.sweep, "--store", self.store)
            self.assertEqual(code, expected, err)
            self.assertIn(words, err)
            if expected != 0:
                self.assertEqual(self.store.read_bytes(), text)
        code, _, err = run(self.sweep, "--store", self.folder)
        self.assertEqual(code, 4, err)
        self.assertIn(f"cannot write '{self.folder}': it is a folder", err)
        code, _, err = run(self.sweep, "--store", self.folder / "none" / "s.db")
        self.assertEqual(code, 4, err)
        self.assertIn(f"folder '{self.folder / 'none'}': No such file or directory", err)

    def test_a_folder_that_may_only_be_read_is_told(self):
        locked = self.folder / "locked"
        locked.mkdir()
        locked.chmod(0o555)
        more = as_another_user(PROGRAM, self.folder)
        if more:
            self.sweep.write_text(self.sweep.read_text(encoding="utf-8").replace(str(ROOT), str(self.folder)), encoding="utf-8")
            self.sweep.chmod(0o644)
        code, out, err = run(self.sweep, "--store", locked / "s.db", **more)
        self.assertEqual((code, out), (4, ""), err)
        self.assertIn(f"cannot write '{locked / 's.db'}': folder '{locked}': Permission denied", err)

    def test_a_damaged_store_is_told(self):
        self.json("--store", self.store)
        with open(self.store, "r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * 4096)
        code, _, err = run(self.sweep, "--store", self.store)
        self.assertEqual(code, 3, err)
        self.assertIn("is damaged", err)

    def test_options_that_do_not_go_together(self):
        for words, told in ((["--fresh"], "needs '--store'"), (["--store", self.store, "--fresh", "--resume"], "do not go together")):
            code, _, err = run(self.sweep, *words)
            self.assertEqual(code, 2, err)
            self.assertIn(told, err)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
