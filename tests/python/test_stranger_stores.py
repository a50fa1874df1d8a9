#!/usr/bin/env python3
"""Stores from strangers: what is no store as meshsim makes it, or is damaged, is refused by name, and never makes a wrong table.

usage: test_stranger_stores.py MESHSIM [unittest arguments]
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

from stores import as_another_user, digest_of

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
BATCHES = [16, 32, 48, 64, 80, 96]
SWEEP = "workload: {root}/workloads/tiny.yaml\nset: {{fidelity: analytic}}\naxes:\n  - batch.global: {batches}\n"
DAMAGED_COPIES = int(os.environ.get("MS_RUNS", 100))


def run(*words, **more):
    """(exit code, stdout, stderr); a command that hangs fails."""
    process = subprocess.run([PROGRAM, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, timeout=120, check=False, **more)
    return process.returncode, process.stdout, process.stderr


class InFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.base = Path(cls.holder.name)
        cls.sweep = cls.base / "sweep.yaml"
        cls.sweep.write_text(SWEEP.format(root=ROOT, batches=BATCHES), encoding="utf-8")
        cls.whole = cls.base / "whole.db"
        cls.shards = cls.base / "shards"
        cls.search = ["search", ROOT / "workloads/tiny.yaml", "--vary", "batch.micro=1,2", "--fidelity", "analytic"]
        for words in (["sweep", cls.sweep, "--store", cls.whole], [*cls.search, "--store", cls.whole],
                      ["sweep", cls.sweep, "--store", cls.shards, "--shard", "0/1"]):
            code, _, err = run(*words)
            assert code == 0, err
        cls.right = json.loads(run("sweep", cls.sweep, "--json")[1])["rows"]
        with sqlite3.connect(cls.whole) as base:
            cls.count = base.execute("SELECT count(*) FROM points").fetchone()[0]
        cls.best = json.loads(run(*cls.search, "--json")[1])["results"]

    def setUp(self):
        holder = tempfile.TemporaryDirectory(dir=self.base)
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.store = self.folder / "s.db"

    def readers(self, store):
        """Every command that reads a store, with this one as its store or its shard."""
        shards, merged = self.folder / "in-shards", self.folder / "to-merge"
        for folder in (shards, merged):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            shutil.copy(store, folder / "shard-0-of-1.db")
        return [["sweep", self.sweep, "--json", "--store", store], [*self.search, "--json", "--store", store],
                ["sweep", self.sweep, "--json", "--store", shards, "--shard", "0/1"], ["merge", merged, "--json"]]

    def change(self, *statements):
        """A copy of the store on which statements were run, by a stranger who asks SQLite for no defence."""
        shutil.copy(self.whole, self.store)
        with sqlite3.connect(self.store) as base:
            base.execute("PRAGMA writable_schema = ON")
            for statement in statements:
                base.execute(statement)
        base.close()

    def refuse(self, *words):
        for command in self.readers(self.store):
            code, out, err = run(*command)
            self.assertEqual((code, out, err.count("error: ")), (3, "", 1), f"{command} {err}")
            for word in words:
                self.assertIn(word, err, command)


class Schema(InFolder):
    def test_what_is_not_the_table_is_refused_by_name(self):
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
        columns = ", ".join(f'"{row[1]}"' for row in sqlite3.connect(self.whole).execute("PRAGMA table_info(points)"))
        for statements, name in (
                ([f"CREATE TRIGGER t AFTER INSERT ON points BEGIN SELECT ({endless}); END"], "trigger 't'"),
                (["CREATE TRIGGER gone AFTER INSERT ON points BEGIN DELETE FROM points; END"], "trigger 'gone'"),
                ([f"CREATE VIEW v AS {endless}"], "view 'v'"),
                (["ALTER TABLE points RENAME TO kept", f"CREATE VIEW points AS SELECT {columns} FROM kept WHERE 0"], "table 'kept'"),
                ([f"CREATE TABLE more AS SELECT {columns} FROM points"], "table 'more'"),
                (["CREATE INDEX i ON points(abs(step_time_s))"], "index 'i'"),
                (["CREATE UNIQUE INDEX i ON points(workload) WHERE 0"], "index 'i'"),
                (["ALTER TABLE points ADD COLUMN g INT GENERATED ALWAYS AS (randomblob(100000000)) VIRTUAL"], "is damaged"),
                (["ALTER TABLE points ADD COLUMN more TEXT DEFAULT 'x'"], "table 'points'"),
                (["ALTER TABLE points RENAME COLUMN mfu TO mfv"], "table 'points'"),
                (["CREATE VIRTUAL TABLE f USING fts5(a)"], "table 'f"),
                (["ANALYZE"], "table 'sqlite_stat1'")):
            with self.subTest(name=name):
                self.change(*statements)
                self.refuse(name)

    def test_a_table_with_a_constraint_is_refused(self):
        self.change("UPDATE sqlite_master SET sql = replace(sql, 'gpus\" INTEGER', 'gpus\" INTEGER CHECK (gpus > 0)') WHERE name = 'points'")
        self.refuse("table 'points'")

    def test_an_older_store_is_left_as_it_is(self):
        self.change("PRAGMA user_version = 1")
        before = self.store.read_bytes()
        self.refuse("was written by an earlier version of meshsim (format 1", "name another file")
        self.assertEqual(self.store.read_bytes(), before)


class Rows(InFolder):
    def rows(self):
        with sqlite3.connect(self.whole) as base:
            base.row_factory = sqlite3.Row
            return [dict(row) for row in base.execute("SELECT * FROM points")]

    def test_have_the_digest_that_the_page_says(self):
        rows = self.rows()
        self.assertEqual(len(rows), self.count)
        for row in rows:
            self.assertEqual(row["digest"], digest_of(row))

    def test_that_are_damaged_are_named_with_their_column(self):
        """Also with the digest of what stands there."""
        for column, value, expected in (
                ("step_time_s", None, "a finite number of at least 0"), ("step_time_s", "fast", "a finite number of at least 0"),
                ("step_time_s", -1.0, "a finite number of at least 0"), ("step_time_s", float("inf"), "a finite number of at least 0"),
                ("mfu", -0.5, "a finite number of at least 0"), ("peak_B", b"\1", "a finite number of at least 0"),
                ("fits", 2, "0 or 1"), ("fits", None, "0 or 1"), ("gpus", -8, "a whole number of at least 0"),
                ("gpus", "many", "a whole number of at least 0"), ("v", None, "a whole number of at least 0"),
                ("workload", None, "a text"), ("workload", "a\0b", "a text"), ("settings", b"{}", "a text"), ("program", None, "a text"),
                ("status", "done", "'simulated'"), ("status", "refused", "'simulated'"), ("reason", "no such job", "'refused'"),
                ("digest", None, "a text"), ("key", "k" * 65, "64 digits at most")):
            with self.subTest(column=column, value=value):
                shutil.copy(self.whole, self.store)
                with sqlite3.connect(self.store) as base:
                    base.row_factory = sqlite3.Row
                    base.execute(f"UPDATE points SET {column} = {'key || ' if column == 'key' else ''}?", (value,))
                    if column != "digest" and not isinstance(value, bytes) and value != float("inf"):
                        for row in base.execute("SELECT rowid, * FROM points").fetchall():
                            base.execute("UPDATE points SET digest = ? WHERE rowid = ?", (digest_of(dict(row)), row["rowid"]))
                base.close()
                named = "status" if column == "reason" else column
                for command in self.readers(self.store):
                    if column == "key" and command[0] != "merge":
                        continue  # no job has such a key
                    code, out, err = run(*command)
                    self.assertEqual((code, out), (3, ""), f"{command} {err}")
                    self.assertRegex(err, rf"expected {expected} as '{named}' of row \d+, got|is damaged: \w+ value in points\.{column}")

    def test_a_cell_that_changed_is_noticed_by_the_digest(self):
        for column, value in (("step_time_s", "step_time_s * 2"), ("workload", "'other'"), ("settings", "'{}'"), ("fits", "1 - fits"),
                              ("program", "'0'"), ("cost", "NULL"), ("energy_J", "1.0"), ("v", "v + 1")):
            self.change(f"UPDATE points SET {column} = {value}")
            self.refuse("expected the digest of its other cells as 'digest' of row ")


class Journals(InFolder):
    MAGIC = bytes.fromhex("d9d505f920a163d7")

    def write_journal(self, named):
        """A journal to be taken back that names another file, as sqlite.org/fileformat2.html describes it."""
        page_B = 4096
        header = self.MAGIC + struct.pack(">5I", 0, 1, self.store.stat().st_size // page_B, 512, page_B)
        name = str(named).encode()
        end = struct.pack(">I", 2**30 // page_B + 1) + name + struct.pack(">2I", len(name), sum(name)) + self.MAGIC
        self.store.with_name("s.db-journal").write_bytes(header.ljust(512, b"\0") + end)

    def test_a_journal_never_deletes_another_file(self):
        shutil.copy(self.whole, self.store)
        victim = self.folder / "victim"
        victim.write_bytes(b"of value\0")
        self.write_journal(victim)
        code, out, err = run("sweep", self.sweep, "--store", self.store)
        self.assertEqual((code, out), (3, ""), err)
        self.assertIn("s.db-journal' of the store names another file", err)
        self.assertTrue(victim.exists())
        # what SQLite itself makes of this journal
        with sqlite3.connect(self.store) as base:
            base.execute("SELECT count(*) FROM points").fetchone()
        self.assertFalse(victim.exists())


class Damaged(InFolder):
    def test_random_bytes_never_make_a_wrong_table(self):
        """What is read is refused, or the same: stored, or simulated again."""
        draw = random.Random(int(os.environ.get("MS_SEED", "1")))
        whole = self.whole.read_bytes()
        counts = {0: 0, 3: 0}
        for copy in range(DAMAGED_COPIES):
            damaged = bytearray(whole)
            for _ in range(draw.choice([1, 1, 2, 8, 64])):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            self.store.write_bytes(damaged)
            commands = self.readers(self.store)
            reader = draw.randrange(len(commands))
            code, out, err = run(*commands[reader])
            place = f"copy {copy}, {commands[reader]}: {err}"
            self.assertIn(code, counts, place)
            counts[code] += 1
            if code != 0:
                self.assertEqual((out, err.count("error: ")), ("", 1), place)
                continue
            tree = json.loads(out)
            if reader == 0 or reader == 2:
                self.assertEqual(tree["rows"], self.right, place)
            elif reader == 1:
                self.assertEqual(tree["results"], self.best, place)
            else:
                self.assertEqual(tree["rows"], self.count, place)
                with sqlite3.connect(tree["store"]) as base:
                    base.row_factory = sqlite3.Row
                    for row in map(dict, base.execute("SELECT * FROM points")):
                        self.assertEqual(row["digest"], digest_of(row), place)
        self.assertGreater(min(counts.values()), 0, counts)


class ReadOnly(InFolder):
    """A complete store on a medium that may only be read is read, by every reader; what it lacks is an error before anything is simulated."""

    def lock(self, names, modes):
        """The folder of the test with copies of `names`, their modes, and how to start a program as somebody who may not write."""
        place = self.folder / "place"
        place.mkdir()
        for name in names:
            (shutil.copytree if name.is_dir() else shutil.copy)(name, place / name.name)
        more = as_another_user(PROGRAM, self.folder)
        root = self.folder if more else ROOT
        sweep = self.folder / "sweep.yaml"
        sweep.write_text(SWEEP.format(root=root, batches=BATCHES), encoding="utf-8")
        sweep.chmod(0o644)
        os.chmod(self.base, 0o755)
        for path in place.rglob("*"):
            path.chmod(0o555 if path.is_dir() else modes[0])
        place.chmod(modes[1])
        self.addCleanup(lambda: [path.chmod(0o755) for path in [place, *place.rglob("*")]])
        return place, sweep, root, more

    def test_a_store(self):
        for modes in ((0o444, 0o777), (0o666, 0o555), (0o444, 0o555)):
            with self.subTest(modes=modes):
                place, sweep, root, more = self.lock([self.whole], modes)
                before = (place / "whole.db").read_bytes()
                code, out, err = run("sweep", sweep, "--json", "--store", place / "whole.db", **more)
                self.assertEqual(code, 0, err)
                tree = json.loads(out)
                self.assertEqual((tree["rows"], tree["counts"]["stored"], tree["counts"]["simulated"]), (self.right, len(BATCHES), 0))
                search = [self.search[0], root / "workloads/tiny.yaml", *self.search[2:]]
                code, out, err = run(*search, "--json", "--store", place / "whole.db", **more)
                self.assertEqual(code, 0, err)
                self.assertEqual(json.loads(out)["results"], self.best)
                for words in (["sweep", sweep, "--fresh"], [*search[:-4], "--vary", "batch.micro=4", *search[-2:]]):
                    code, out, err = run(*words, "--json", "--store", place / "whole.db", **more)
                    self.assertEqual((code, out), (4, ""), err)
                    self.assertRegex(err, r"^meshsim: error: cannot write the store '.*': it may only be read")
                self.assertEqual((place / "whole.db").read_bytes(), before)
                self.assertEqual(os.listdir(place), ["whole.db"])
                self.doCleanups()
                self.setUp()

    def test_a_folder_of_shards(self):
        place, sweep, _, more = self.lock([self.shards], (0o444, 0o555))
        code, out, err = run("sweep", sweep, "--json", "--store", place / "shards", "--shard", "0/1", **more)
        self.assertEqual(code, 0, err)
        self.assertEqual((json.loads(out)["rows"], json.loads(out)["counts"]["stored"]), (self.right, len(BATCHES)))
        self.assertEqual(os.listdir(place / "shards"), ["shard-0-of-1.db"])
        code, out, err = run("merge", place / "shards", **more)
        self.assertEqual((code, out), (4, ""), err)

    def test_a_folder_that_is_merged(self):
        merged = self.base / "merged"
        if not merged.exists():
            shutil.copytree(self.shards, merged)
            self.assertEqual(run("merge", merged)[0], 0)
        place, _, _, more = self.lock([merged], (0o444, 0o555))
        code, out, err = run("merge", place / "merged", "--json", **more)
        self.assertEqual((code, json.loads(out)["rows"] if out else err), (0, len(BATCHES)))


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
