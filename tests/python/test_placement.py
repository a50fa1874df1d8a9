#!/usr/bin/env python3
"""Ranks on a part of a platform: idle and spare nodes change nothing, and a placement changes no more than its routes.

usage: test_placement.py MESHSIM [unittest arguments]      MS_SEED replays a run
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SEED = int(os.environ.get("MS_SEED", random.randrange(2**32)))
PROGRAM = ""
# what a placement may not change: the work of the ranks
WORK = ("workload", "gpus", "mesh", "schedule", "global_batch", "num_microbatches", "kernels", "memory")


def meshsim(*words):
    done = subprocess.run([PROGRAM, *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True,
                          timeout=280)
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    return done.stdout


def run(workload, *sets):
    """The result without what names the placement or differs from run to run."""
    words = [word for setting in sets for word in ("--set", setting)]
    result = json.loads(meshsim("run", f"workloads/{workload}.yaml", "--json", "--ignore-memory", *words))
    for key in ("wall_s", "peak_rss_B"):
        del result["engine"][key]
    del result["energy_J"]  # which has what GPUs without a rank take
    return result, result.pop("placement", None)


class Placement(unittest.TestCase):
    def placed(self, gpus, workload, *sets):
        """The result with the ranks on these GPUs, by a file."""
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write("".join(f"{rank},{gpu}\n" for rank, gpu in enumerate(gpus)))
            file.flush()
            return run(workload, *sets, f"placement.file={file.name}")[0]

    def test_spares_change_nothing(self):
        """1,024 ranks on 1,280 GPUs with 32 spare nodes take the step of 1,024 GPUs.

        Selene's switches do not change with its size: rails of 20 nodes below a spine of seven such units, without
        oversubscription. The job fills six units and a part of the seventh; spares beside it add leaves and a pod, and
        change nothing above or below the others."""
        alone, _ = run("gpt3-175b-1024")
        beside, placement = run("gpt3-175b-1024", "platform.nodes=160", "placement={spares: 32}")
        self.assertEqual(placement, {"idle_gpus": 0, "spare_gpus": 256, "spare_nodes": list(range(128, 160))})
        self.assertEqual(alone["gpus"], 1024)
        self.assertEqual(beside, alone)
        idle, placement = run("gpt3-175b-1024", "platform.nodes=160", "placement={nodes: 0-127}")
        self.assertEqual(placement, {"idle_gpus": 256, "spare_gpus": 0, "spare_nodes": []})
        self.assertEqual(idle, alone)

    def test_a_file_of_ranks_in_order_is_no_placement(self):
        for workload, ranks in (("tiny", 8), ("textbook-70b-64", 64)):
            self.assertEqual(self.placed(range(ranks), workload), run(workload)[0])

    def test_alike_gpus_may_be_exchanged(self):
        """GPUs of one node on one switch: who sits where makes no difference to any figure."""
        source = random.Random(SEED)
        for _ in range(5):
            gpus = source.sample(range(8), 8)
            with self.subTest(f"MS_SEED={SEED}: {gpus}"):
                self.assertEqual(self.placed(gpus, "tiny"), run("tiny")[0])

    def test_a_placement_changes_routes_only(self):
        source = random.Random(SEED)
        sets = ("platform.nodes=4",)
        plain, _ = run("tiny", *sets, "placement={nodes: 0}")
        for _ in range(5):
            gpus = source.sample(range(32), 8)
            placed = self.placed(gpus, "tiny", *sets)
            with self.subTest(f"MS_SEED={SEED}: {gpus}"):
                self.assertEqual({key: placed[key] for key in WORK}, {key: plain[key] for key in WORK})
                for axis, comm in placed["comm"].items():
                    self.assertEqual(comm["bytes_per_rank"], plain["comm"][axis]["bytes_per_rank"])
                self.assertGreaterEqual(placed["step_time_s"], plain["step_time_s"] * (1 - 1e-12))

    def test_the_trace_says_where_ranks_sit(self):
        import h5py  # as the README shows it
        with tempfile.TemporaryDirectory() as folder:
            trace = f"{folder}/t.h5"
            words = ["--set", "platform.nodes=2", "--set", "placement={nodes: [1], spares: 1}", "-o", trace]
            meshsim("run", "workloads/tiny.yaml", "--no-fold", *words)
            with h5py.File(trace) as file:
                ranks = dict(zip(file["ranks/rank"][:].tolist(), file["ranks/gpu"][:].tolist()))
                self.assertEqual(ranks, {rank: 8 + rank for rank in range(8)})
                self.assertEqual(json.loads(file["summary"][()])["placement"]["spare_nodes"], [0])
            self.assertIn("equal", json.loads(meshsim("compare", trace, trace, "--json")))

    def test_a_file_of_ranks_is_kept_and_compared(self):
        import h5py
        with tempfile.TemporaryDirectory() as folder:
            texts = ["".join(f"{rank},{gpu}\n" for rank, gpu in enumerate(gpus)) for gpus in (range(8), [1, 0, 2, 3, 4, 5, 6, 7])]
            for name, text in zip("ab", texts):
                Path(folder, "ranks.csv").write_text(text, encoding="utf-8")
                meshsim("run", "workloads/tiny.yaml", "--set", f"placement.file={folder}/ranks.csv", "-o", f"{folder}/{name}.h5")
                with h5py.File(f"{folder}/{name}.h5") as trace:
                    self.assertEqual(trace["input/placement"][()].decode(), text)
            result = json.loads(meshsim("compare", f"{folder}/a.h5", f"{folder}/b.h5", "--json"))
            self.assertEqual([(row["key"], row["a"], row["b"]) for row in result["inputs"]],
                             [("placement.csv", "line 1: 0,0", "line 1: 0,1")])

    def test_the_picture_shows_what_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            for placement, legend in (("{spares: 32}", (1024, 0, 256)), ("{nodes: 0-3, spares: 1}", (32, 1240, 8))):
                meshsim("platform", "dgx-a100", "--set", "platform.nodes=160", "--placement", placement, "--svg", f"{folder}/p.svg")
                text = Path(folder, "p.svg").read_text(encoding="utf-8")
                for count, word in zip(legend, ("with a rank", "idle", "spare")):
                    self.assertIn(f">{count} GPU{'s' if count != 1 else ''} {word}<", text)
                self.assertIn("#eaae80", text.split("with a rank")[0])

    def test_the_picture_finds_what_is_left_among_many_units(self):
        text = meshsim("platform", "dgx-a100", "--set", "platform.nodes=400", "--placement", "{nodes: [0-199, 220-399]}", "--svg", "-")
        drawn = [int(unit) for unit in re.findall(r">unit (\d+): 20 nodes<", text)]
        self.assertEqual(drawn, [0, 1, 2, 3, 10, 19])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
