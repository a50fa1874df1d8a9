#!/usr/bin/env python3
"""Searches: pruning loses nothing, whatever the number of jobs, and what is found is what `run` gives.

usage: test_search.py MESHSIM [unittest arguments]
"""

import csv
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from stores import WAIT_S, as_another_user, await_rows, digest_of, kill_one

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
# Values that a random space draws from.
MODEL = "model={type: gpt, layers: 8, hidden: 1024, heads: 8, vocab: 32000, sequence: 1024}"
SPACE = {
    "mesh.tp": ["1", "2", "4", "8"], "mesh.pp": ["1", "2", "4"], "mesh.cp": ["1", "2"],
    "mesh.order": ["[pp,dp,cp,tp]", "[dp,pp,cp,tp]", "[dp,cp,tp,pp]"],
    "schedule": ["{kind: 1f1b}", "{kind: interleaved, v: 2}", "{kind: zbv}", "{kind: gpipe}", "{kind: zbh1}"],
    "batch.micro": ["1", "2", "4"], "recompute": ["none", "selective", "full"], "data_parallel.zero": ["0", "1", "2", "3"],
    "data_parallel.overlap_reduce": ["true", "false"], "tensor_parallel.sequence": ["true", "false"],
    "platform.tiers.rail.bandwidth": ["25 GB/s", "5 GB/s"], "fidelity": ["flow", "analytic"],
}


OBJECTIVES = ["step_time_s", "tokens_per_s", "cost_per_million_tokens", "energy_J", "gpus"]


def run(*words):
    """(exit code, stdout, stderr)"""
    done = subprocess.run([PROGRAM, *(str(word) for word in words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300, check=False, cwd=ROOT)
    return done.returncode, done.stdout, done.stderr


def search(*words, codes=(0, 1)):
    code, out, err = run("search", *words, "--json")
    assert code in codes, (code, err)
    return json.loads(out)


def settings_words(settings):
    """A row's settings as options of `run`."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()}
    return [word for key, text in texts.items() for word in ("--set", f"{key}={text}")]


def random_space(source):
    """Words of a search over some of the values of some keys, on 8 or 16 GPUs."""
    words = ["workloads/tiny.yaml", "--set", MODEL, "--gpus", source.choice(["8", "16", "8,16"]), "--top", source.choice([1, 3, 10])]
    words += ["--objective", ",".join(source.sample(OBJECTIVES, source.choice([1, 1, 2])))]
    if source.random() < 0.3:
        words += ["--max", source.choice(["peak_B=1 GiB", "step_time_s=60 ms", "bubble_fraction=20 %", "energy_J=400 J"])]
    for key in source.sample(sorted(SPACE), 4):
        values = source.sample(SPACE[key], source.randint(1, min(3, len(SPACE[key]))))
        words += ["--vary", f"{key}={','.join(values)}"]
    return words


def rows(found):
    return [{key: row[key] for key in ("settings", "step_time_s", "peak_B", "limited_by", "energy_J", "cost_per_million_tokens")} for row in found["results"]]


class Exactness(unittest.TestCase):
    def compare(self, words):
        """The same rows without pruning, and with any number of jobs; returns how many were pruned."""
        everything = search(*words, "--exhaustive")
        counts = everything["counts"]
        self.assertEqual(counts["pruned"], 0)
        self.assertEqual(counts["enumerated"], sum(counts.values()) - counts["enumerated"])
        pruned = 0
        for jobs in (1, 3):
            found = search(*words, "--jobs", jobs)
            self.assertEqual(rows(found), rows(everything), words)
            few = found["counts"]
            for key in ("enumerated", "illegal", "does_not_fit"):
                self.assertEqual(few[key], counts[key], words)
            self.assertEqual(few["enumerated"], sum(few.values()) - few["enumerated"], words)
            for key in ("beyond_limits", "simulated"):  # what is pruned is not asked for them
                self.assertLessEqual(few[key], counts[key], words)
            pruned += few["pruned"]
        for row in everything["results"]:
            self.assertLessEqual(row["bound_s"], row["step_time_s"], words)
        name = everything["objective"]
        found = [row[name] * (-1 if name == "tokens_per_s" else 1) for row in everything["results"]]
        for one, next_one in zip(found, found[1:]):
            self.assertLessEqual(one, next_one * (1 + 1e-12) if next_one > 0 else next_one * (1 - 1e-12), words)
        return pruned

    def compare_shards(self, words, source):
        """The same rows from shards in any order, whose files of what they tell each other are lost at random."""
        alone = search(*words)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for shard in source.sample(range(3), 3):
                search(*words, "--shard", f"{shard}/3", "--store", folder, codes=(0,))
                for told in folder.glob("best-*"):
                    if source.random() < 0.5:
                        told.unlink()
            self.assertEqual(run("merge", folder)[0], 0)
            self.assertEqual(rows(search(*words, "--store", folder / "study.db")), rows(alone), words)

    def test_random_spaces(self):
        source = random.Random(20)
        self.assertGreater(sum(self.compare(random_space(source)) for _ in range(4)), 0, "no space had anything to prune")
        self.compare_shards(random_space(source), source)

    def test_rows_are_what_run_gives(self):
        found = search("workloads/tiny.yaml", "--vary", "mesh.tp=1,2,4", "--vary", "mesh.pp=1,2,4", "--vary", "recompute=none,full",
                       "--top", 4)
        self.assertEqual(len(found["results"]), 4)
        for row in found["results"]:
            code, out, err = run("run", "workloads/tiny.yaml", *settings_words(row["settings"]), "--json")
            self.assertEqual(code, 0, err)
            one = json.loads(out)
            self.assertEqual(one["step_time_s"], row["step_time_s"])
            self.assertEqual(one["memory"]["peak_B"], row["peak_B"])
            self.assertEqual(one["time_share"], row["time_share"])
            self.assertEqual({axis: size for axis, size in one["mesh"].items() if size > 1},
                             {axis: size for axis, size in row["mesh"].items() if size > 1})


class Answers(unittest.TestCase):
    def test_platforms_and_sizes(self):
        found = search("workloads/tiny.yaml", "--vary", "mesh.tp=2,4", "--gpus", "8,16", "--platform", "dgx-a100,dgx-h100")
        self.assertEqual({(row["platform"], row["gpus"]) for row in found["results"]},
                         {(platform, gpus) for platform in ("dgx-a100", "dgx-h100") for gpus in (8, 16)})
        best = found["results"][0]
        self.assertEqual((best["platform"], best["gpus"]), ("dgx-h100", 16))

    def test_the_best_of_each_platform(self):
        words = ["workloads/tiny.yaml", "--gpus", "16", "--vary", "mesh.tp=1,2,4", "--vary", "mesh.pp=1,2,4", "--vary", "batch.micro=1,2", "--tokens", "1e12"]
        platforms = ["dgx-a100", "meta-roce-h100", "dgx-h100"]
        for more in ([], ["--exhaustive"], ["--objective", "peak_B"], ["--top", "2"]):
            found = search(*words, *more, "--platform", ",".join(platforms), "--best-of", "platform")
            alone = [search(*words, *([] if "--top" in more else ["--top", "1"]), *more, "--platform", name)["results"] for name in platforms]  # searches that know nothing of each other
            self.assertEqual(sorted(json.dumps(row["settings"]) for row in found["results"]), sorted(json.dumps(row["settings"]) for rows_of in alone for row in rows_of), more)
            best = [row for row in found["results"] if "best_of" in row]
            self.assertEqual(sorted(row["platform"] for row in best), sorted(platforms))
            self.assertEqual(best[0], found["results"][0])
            self.assertEqual(len(found["offers"]), 3)
            for part, row in zip(found["offers"], best):
                days = 1e12 / row["tokens_per_s"] / 86400
                self.assertTrue(part.startswith(row["platform"]) and f"{days:.4g} days" in part and "with 16 GPUs" in part, part)
                price = {"dgx-a100": 2.7, "dgx-h100": 6.155}.get(row["platform"])  # USD an hour, of the platforms' files
                self.assertIn(" an unknown price" if price is None else f" {days * 24 * 16 * price:.0f} USD", part)

    def test_the_best_of_each_platform_in_every_form(self):
        common = ["search", "workloads/tiny.yaml", "--gpus", "8", "--vary", "mesh.tp=1,2", "--best-of", "platform"]
        words = [*common, "--platform", "dgx-a100,dgx-h100"]
        offers = search(*words[1:])["offers"]
        self.assertRegex(offers[0], r"^dgx-h100 is best: [\d.]+ ms a step and [\d.e-]+ USD with 8 GPUs$")
        self.assertRegex(offers[1], r"^dgx-a100: [\d.]+ ms a step and [\d.e-]+ USD with 8 GPUs$")
        with tempfile.TemporaryDirectory() as folder:
            code, out, err = run(*words, "--csv", f"{folder}/a.csv")
            self.assertEqual(code, 0, err)
            self.assertEqual(out.split("\n")[2:5:2], offers)
            with open(f"{folder}/a.csv", encoding="utf-8", newline="") as file:
                self.assertEqual([row["platform"] for row in csv.DictReader(file) if row["best_of"]], ["dgx-h100", "dgx-a100"])
        markdown = run(*words, "--markdown")[1]
        self.assertLess(markdown.index(offers[1]), markdown.index("| # | step |"))
        # with two objectives the front of each platform
        front = search(*words[1:], "--objective", "step_time_s,peak_B")["results"]
        alone = [search(*common[1:6], "--platform", name, "--objective", "step_time_s,peak_B")["results"] for name in ("dgx-a100", "dgx-h100")]
        self.assertEqual(sorted(json.dumps(row["settings"]) for row in front), sorted(json.dumps(row["settings"]) for rows_of in alone for row in rows_of))
        # one of two has room for the model, or none
        found = search(*common[1:], "--set", "model.layers=128", "--set", "model.hidden=4096", "--set", "model.heads=32", "--platform", "dgx-a100,dgx-b200")
        self.assertEqual(([row["platform"] for row in found["results"]], found["offers"][1]), (["dgx-b200"], "dgx-a100: nothing is feasible"))
        self.assertEqual(search(*words[1:], "--max", "step_time_s=1 ms")["offers"], ["dgx-a100: nothing is feasible", "dgx-h100: nothing is feasible"])
        self.assertIn("is platform, got 'gpu'", run(*common[:-1], "gpu")[2])

    def test_most_gpus_that_each_platform_can_use(self):
        words = ["workloads/tiny.yaml", "--set", "batch.global=72", "--vary", "mesh.tp=1,2", "--vary", "mesh.pp=1,2,4"]
        for most, node, platform in ((100, 8, "dgx-a100"), (88, 8, "dgx-a100"), (100, 72, "gb200-nvl72"), (60, 8, "dgx-h100"), (23, 8, "dgx-h100")):
            used = search(*words, "--platform", platform, "--gpus", f"up-to:{most}", "--top", "100")
            numbers = {row["gpus"] for row in used["results"]}
            for gpus in range(most // node * node, 0, -node):  # one number after the other, by searches that are told it
                counts = search(*words, "--platform", platform, "--gpus", gpus)["counts"]
                if counts["illegal"] < counts["enumerated"]:
                    break
            self.assertLessEqual(numbers, {gpus}, platform)
            self.assertLess(used["counts"]["illegal"], used["counts"]["enumerated"])
        self.assertEqual(numbers, {16})
        # 4,032 = 56 x 72, of which dp 32, pp 63, tp 2 makes a job; 4,096 = 512 x 8
        words = ["workloads/llama3-405b-8k.yaml", "--vary", "mesh.tp=2,8", "--vary", "mesh.pp=16,63", "--vary", "schedule.v=2,8", "--vary", "recompute=full",
                 "--vary", "batch.micro=1", "--vary", "data_parallel.zero=3", "--fidelity", "analytic"]
        found = search(*words, "--platform", "dgx-h100,gb200-nvl72", "--gpus", "up-to:4096", "--best-of", "platform")
        self.assertEqual({row["platform"]: row["gpus"] for row in found["results"]}, {"dgx-h100": 4096, "gb200-nvl72": 4032})
        # no number is possible: the largest one's reasons
        found = search("workloads/tiny.yaml", "--vary", "batch.micro=3", "--gpus", "up-to:30")
        self.assertEqual((found["results"], found["counts"]["illegal"]), ([], 1))
        for given, text in (("up-to:x", "got 'up-to:x'"), ("up-to:8,16", "got 'up-to:8'"), ("up-to:0", "takes numbers from 1"), ("up-to:7", "nearest: 8")):
            code, _, err = run("search", "workloads/tiny.yaml", "--gpus", given)
            self.assertEqual(code, 2, err)
            self.assertIn(text, " ".join(err.split()))

    def test_orders_with_equal_figures_are_one_row(self):
        orders = ["[pp,dp,tp]", "[dp,pp,tp]", "[tp,pp,dp]"]
        words = ["workloads/tiny.yaml", "--vary", "mesh.tp=2", "--vary", "mesh.pp=2", "--vary", f"mesh.order={','.join(orders)}"]
        found = search(*words, "--gpus", "8,16", "--exhaustive")
        self.assertEqual([(row["gpus"], row.get("equal_orders", 0)) for row in found["results"]], [(16, 0), (16, 0), (16, 0), (8, 2)])  # a node is one switch
        self.assertEqual((found["equal_orders"], found["counts"]["simulated"]), (2, 6))
        alone = [search("workloads/tiny.yaml", "--vary", "mesh.tp=2", "--vary", "mesh.pp=2", "--vary", f"mesh.order={order}")["results"][0] for order in orders]
        for row in alone:
            self.assertEqual([row["step_time_s"], row["time_share"]], [alone[0]["step_time_s"], alone[0]["time_share"]])
        # the first five are five different jobs, with and without pruning, and however shards divide equal ones
        words = ["workloads/tiny.yaml", "--vary", "mesh.tp=1,2,4", "--vary", "mesh.pp=1,2,4", "--vary", f"mesh.order={','.join(orders)}", "--top", "5"]
        everything = search(*words[:-2], "--exhaustive", "--top", "100")
        self.assertGreater(everything["equal_orders"], 4)
        meshes = [json.dumps(row["mesh"], sort_keys=True) for row in everything["results"]]
        self.assertEqual(len(set(meshes)), len(meshes))
        self.assertEqual(rows(search(*words)), rows(everything)[:5])
        with tempfile.TemporaryDirectory() as folder:
            for shard in range(3):
                search(*words, "--shard", f"{shard}/3", "--store", folder, codes=(0,))
            self.assertEqual(run("merge", folder)[0], 0)
            self.assertEqual(rows(search(*words, "--store", f"{folder}/study.db")), rows(everything)[:5])

    def test_varied_keys_are_columns(self):
        words = ["workloads/tiny.yaml", "--vary", "platform.tiers.rail.bandwidth=25 GB/s,50 GB/s", "--vary", "schedule={kind: 1f1b, partition: balanced},{kind: gpipe}", "--vary",
                 "mesh.pp=1,3", "--vary", "mesh.tp=1", "--gpus", "48"]
        out = run("search", *words, "--markdown")[1]
        table = [[cell.strip() for cell in line.strip("|").split("|")] for line in out.splitlines() if line.startswith("|")]
        head = table[0]
        self.assertIn("rail.bandwidth", head)
        self.assertIn("schedule.partition", head)
        self.assertNotIn("granularity", head)
        found = search(*words)["results"]
        for row, cells in zip(found, table[2:]):
            self.assertEqual(cells[head.index("rail.bandwidth")], row["settings"]["platform.tiers.rail.bandwidth"])
            self.assertEqual(cells[head.index("schedule")], row["schedule"])
        self.assertNotIn("schedule.partition", run("search", "workloads/tiny.yaml", "--vary", "mesh.pp=1,3", "--gpus", "24", "--markdown")[1].split("### candidates")[0].split("to run")[0])

    def test_schedules_of_the_workload_s_software(self):
        every = {"gpipe", "1f1b", "interleaved", "interleaved_torch", "interleaved_flexible", "looped_bfs", "zbh1", "zbh2", "zb1p", "zbv", "vhalf", "vmin", "dualpipe",
                 "dualpipev", "chimera", "seq1f1b"}
        torch = {"gpipe", "interleaved_torch", "looped_bfs", "zb1p", "zbv"}
        bubble = {"interleaved", "zbh1", "zbh2", "zbv", "vhalf", "vmin"}
        for name, offered in (("megatron-core", {"interleaved"}), ("nemo", {"interleaved"}), ("megatron-lm-2021", {"interleaved"}),
                              ("torchtitan", torch), ("torchtitan-2025", torch | {"dualpipev"}), ("deepspeed", set()), ("megatron-deepspeed", set()), ("bloom", set()),
                              ("zero-bubble", bubble), ("deepseek-v3", {"dualpipe", "dualpipev"}), ("none", {"interleaved"})):
            own = ["--set", "schedule={kind: 1f1b}", "--set", f"framework={name}"]
            left_out, why = search("workloads/tiny.yaml", *own, "--usual", "--vary", "mesh.tp=1", "--vary", "mesh.pp=1")["untried_schedules"].split("; ")
            self.assertEqual(set(left_out.split(", ")), every - offered - {"1f1b"}, name)
            self.assertEqual(why, "no framework is named that has them" if name == "none" else "the framework has no further order of passes")
        # DualPipe's other form is tried, and the best of both found
        words = ["workloads/tiny.yaml", "--set", "model.layers=16", "--set", "schedule={kind: dualpipe}", "--vary", "mesh.pp=4", "--vary", "mesh.tp=1", "--vary", "mesh.order=[pp,dp]",
                 "--vary", "batch.micro=1", "--vary", "recompute=none", "--vary", "data_parallel.zero=0"]
        found = search(*words, "--usual", "--top", "50")["results"]
        alone = search(*words, "--vary", "schedule.kind=dualpipev")["results"][0]
        self.assertEqual([row["step_time_s"] for row in found if row["schedule"] == "dualpipev"], [alone["step_time_s"]])
        self.assertIn("dualpipe", [row["schedule"] for row in found])
        self.assertNotIn("untried_schedules", search(*words))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            best, table = (Path(folder) / name for name in ("best.yaml", "a.csv"))
            code, out, err = run("search", "workloads/tiny.yaml", "--set", "framework=megatron-core", "--vary", "mesh.tp=2,4", "--vary",
                                 "batch.micro=1,2", "--top", 3, "-o", best, "--csv", table, "--explain", 2)
            self.assertEqual(code, 0, err)
            self.assertIn("rank explained  2\n\nwhere the time goes", out)
            with table.open(encoding="utf-8", newline="") as file:
                lines = list(csv.DictReader(file))
            self.assertEqual([line["rank"] for line in lines], ["1", "2", "3"])
            code, out, err = run("run", best, "--json")
            self.assertEqual(code, 0, err)
            self.assertEqual(json.loads(out)["step_time_s"], float(lines[0]["step_time_s"]))

    def test_published_meshes(self):
        """With what the runs of 2021 had, their meshes are among the best (workloads/search.md)."""
        for name, mesh in (("mtnlg-530b-2240", (8, 35, 8)), ("gpt3-175b-1024", (8, 16, 8))):
            words = [f"workloads/{name}.yaml", "--usual", "--vary", "schedule.kind=1f1b", "--vary", "recompute=full", "--vary",
                     "data_parallel.zero=0", "--vary", "batch.micro=1", "--vary", "mesh.order=[pp,dp,tp]"]
            best = search(*words, "--top", 1)["results"][0]["step_time_s"]
            own = search(*words, "--vary", f"mesh.tp={mesh[0]}", "--vary", f"mesh.pp={mesh[1]}")["results"]
            self.assertEqual([row["mesh"]["dp"] for row in own], [mesh[2]])
            self.assertLessEqual(own[0]["step_time_s"], 1.1 * best, name)

    def test_what_sets_published_meshes_apart(self):
        """Less recomputation where the optimizer's state is sharded, and a shorter bubble (workloads/search.md)."""
        def simulate(name, *sets):
            code, out, err = run("run", f"workloads/{name}.yaml", "--json", "--ignore-memory", "--granularity", "pass",
                                 *(word for one in sets for word in ("--set", one)))
            self.assertEqual(code, 0, err)
            return json.loads(out)

        less, sharded = "recompute=selective", "data_parallel.zero=1"
        whole, part = simulate("mtnlg-530b-2240"), simulate("mtnlg-530b-2240", less, sharded)
        self.assertLess(part["step_time_s"], 0.85 * whole["step_time_s"])
        self.assertEqual([part["memory"]["fits"], simulate("mtnlg-530b-2240", less)["memory"]["fits"]], [True, False])
        self.assertFalse(simulate("megatron-1t-3072", less, sharded)["memory"]["fits"])
        plain, rounds = simulate("megatron-1t-3072"), simulate("megatron-1t-3072", sharded, "schedule={kind: interleaved, v: 2}")
        self.assertLess(rounds["bubble_fraction"], 0.8 * plain["bubble_fraction"])
        self.assertLess(rounds["step_time_s"], plain["step_time_s"])

    def test_70b_on_64_gpus(self):
        """Stages over racks where the links between them are slow, replicas where they are fast."""
        def steps(bandwidth):
            sets = [word for tier in ("rail", "spine") for word in ("--set", f"platform.tiers.{tier}.bandwidth={bandwidth}")]
            found = search("workloads/textbook-70b-64.yaml", "--vary", "mesh.pp=1,8", "--vary", "data_parallel.zero=1", *sets)
            return {row["mesh"].get("pp", 1): row["step_time_s"] for row in found["results"]}

        slow, fast = steps("25 GB/s"), steps("200 GB/s")
        self.assertGreater(slow[1], 1.2 * slow[8])
        self.assertLess(fast[1], fast[8])

    def test_space_file(self):
        with tempfile.TemporaryDirectory() as folder:
            space = Path(folder) / "space.yaml"
            space.write_text("gpus: [8, 16]\nvary:\n  mesh.tp: [1, 2]\n  mesh.pp: all\n  batch.micro: {from: 1, to: 4, factor: 2}\n"
                             "  schedule: [{kind: 1f1b}, {kind: zbh1}]\n", encoding="utf-8")
            found = search("workloads/tiny.yaml", "--space", space)
            same = search("workloads/tiny.yaml", "--gpus", "8,16", "--vary", "mesh.tp=1,2", "--vary", "mesh.pp=all", "--vary",
                          "batch.micro=1,2,4", "--vary", "schedule={kind: 1f1b},{kind: zbh1}")
            self.assertEqual(rows(found), rows(same))
            self.assertEqual(found["counts"]["enumerated"], same["counts"]["enumerated"])
            less = search("workloads/tiny.yaml", "--space", space, "--gpus", "8", "--vary", "mesh.tp=2", "--vary", "batch.micro=1")
            self.assertEqual({(row["gpus"], row["mesh"].get("tp")) for row in less["results"]}, {(8, 2)})
            for text, line, word in (("gpu: [8]\n", 1, "did you mean 'gpus'"), ("usual: true\nvary: {batch.mirco: [1]}\n", 2, "micro"),
                                     ("vary:\n  schedule.kind: [1f2b]\n", 2, "1f1b"), ("vary: [1]\n", 1, "expected keys")):
                space.write_text(text, encoding="utf-8")
                code, out, err = run("search", "workloads/tiny.yaml", "--space", space)
                self.assertEqual((code, out), (3, ""), err)
                self.assertIn(f"space.yaml:{line}:", err)
                self.assertIn(word, err)

    def test_objectives(self):
        words = ["workloads/tiny.yaml", "--gpus", "8,16,32", "--vary", "mesh.tp=1,2,4", "--vary", "mesh.pp=1,2", "--exhaustive"]
        everything = search(*words, "--top", 100)["results"]

        def best(quantity):
            return search(*words, "--objective", quantity, "--top", 1)["results"][0]

        self.assertEqual(best("step_time_s")["step_time_s"], min(row["step_time_s"] for row in everything))
        self.assertEqual(best("energy_J")["energy_J"], min(row["energy_J"] for row in everything))
        self.assertEqual(best("tokens_per_s")["tokens_per_s"], max(row["tokens_per_s"] for row in everything))
        few = best("gpus")
        self.assertEqual((few["gpus"], few["step_time_s"]), min((row["gpus"], row["step_time_s"]) for row in everything))
        front = search(*words, "--objective", "step_time_s,cost_per_million_tokens")["results"]
        points = [(row["step_time_s"], row["cost_per_million_tokens"]) for row in everything]
        wanted = {one for one in points if not any(a <= one[0] and b <= one[1] and (a, b) != one for a, b in points)}
        self.assertEqual({(row["step_time_s"], row["cost_per_million_tokens"]) for row in front}, wanted)
        self.assertGreater(len(wanted), 1)

    def test_limits(self):
        words = ["workloads/tiny.yaml", "--vary", "mesh.tp=1,2,4", "--vary", "mesh.pp=1,2"]
        everything = search(*words, "--top", 100)["results"]
        for limit, holds in (("peak_B=2 GiB", lambda row: row["peak_B"] <= 2 * 2**30),
                             ("step_time_s=40 ms", lambda row: row["step_time_s"] <= 0.04),
                             ("bubble_fraction=5 %", lambda row: row["bubble_fraction"] <= 0.05),
                             ("cost_per_million_tokens=0.015", lambda row: row["cost_per_million_tokens"] <= 0.015)):
            found = search(*words, "--max", limit, "--top", 100)
            self.assertEqual([row["settings"] for row in found["results"]], [row["settings"] for row in everything if holds(row)])
            self.assertEqual(found["counts"]["beyond_limits"], sum(not holds(row) for row in everything), limit)
            self.assertGreater(found["counts"]["beyond_limits"], 0)
        days = search(*words, "--tokens", "1e12", "--objective", "training_time_s", "--top", 1)["results"][0]
        hours = 1e12 / days["tokens_per_s"] / 3600
        self.assertEqual(search(*words, "--tokens", "1e12", "--max", f"training_time_s={hours * 0.99} h")["results"], [])
        self.assertEqual(len(search(*words, "--tokens", "1e12", "--max", f"training_time_s={hours * 1.01} h")["results"]), 1)

    def test_nothing_feasible(self):
        code, out, _ = run("search", "workloads/tiny.yaml", "--vary", "mesh.tp=1,2", "--set", "model.hidden=65536", "--json")
        self.assertEqual(code, 1)
        self.assertEqual(json.loads(out)["counts"]["does_not_fit"], 2)
        code, out, _ = run("search", "workloads/tiny.yaml", "--vary", "mesh.tp=3", "--json")
        self.assertEqual((code, json.loads(out)["counts"]["enumerated"]), (1, 0))
        self.assertEqual(json.loads(out)["workload"], "tiny")

    def test_gpus_that_no_mesh_fills(self):
        """tiny has nodes of 8 GPUs, tp 2, pp 2 and the replicas that are left: a number of GPUs fits if tp x pp divides it, or is it where dp is given."""
        cases = ((["--vary", "mesh.tp=3"], "8 GPUs are not divided by mesh.tp 3, mesh.pp 2; nearest that are: 24"),
                 (["--gpus", "1000", "--vary", "mesh.tp=16"], "1000 GPUs are not divided by mesh.tp 16, mesh.pp 2; nearest that are: 992 or 1024"),
                 (["--gpus", "1000", "--vary", "mesh.tp=16,48", "--vary", "mesh.pp=all"], "1000 GPUs are not divided by mesh.tp 16 or 48; nearest that are: 992 or 1008"),
                 (["--gpus", "64", "--vary", "mesh.tp=1,4", "--vary", "mesh.dp=3,9"], "64 GPUs are not divided by mesh.pp 2, mesh.dp 3 or 9; nearest that are: 24 or 72"))
        for words, reason in cases:
            code, out, _ = run("search", "workloads/tiny.yaml", *words, "--json")
            self.assertEqual((code, json.loads(out)["no_mesh"]), (1, [reason]))
            code, out, _ = run("search", "workloads/tiny.yaml", *words)
            self.assertIn(reason, " ".join(out.split()))
        self.assertNotIn("no_mesh", search("workloads/tiny.yaml", "--vary", "mesh.tp=2"))

    def test_what_fits_and_keeps_to_no_limit_is_told(self):
        code, out, _ = run("search", "workloads/tiny.yaml", "--vary", "mesh.tp=1,2", "--max", "step_time_s=1 ms")
        self.assertEqual(code, 1)
        self.assertRegex(out, "\nbeyond limits +2\n")
        self.assertNotIn("the least memory", out)

    def test_illegal_candidates_are_counted_by_reason(self):
        found = search("workloads/tiny.yaml", "--vary", "batch.micro=1,3,5,7")
        self.assertEqual(found["counts"]["illegal"], 3)
        self.assertEqual([entry["count"] for entry in found["illegal"]], [3])
        self.assertIn("batch.global", found["illegal"][0]["reason"])
        self.assertEqual(found["illegal"][0]["settings"]["batch.micro"], 3)

    def test_faults_of_the_command_line(self):
        for words, code, text in ((["--vary", "mesh.tpp=1"], 3, "mesh.tpp: expected"), (["--vary", "mesh.tp"], 2, "expected '--vary"),
                                  (["--gpus", "12"], 2, "nearest: 8 or 16"), (["--platform", "dgx-a10"], 3, "dgx-a100"),
                                  (["--top", "0"], 2, "--top"), (["--gpus", "8,,16"], 2, "empty place"),
                                  (["--objective", "step_time"], 2, "did you mean 'step_time_s'"),
                                  (["--max", "step_time_s=3"], 2, "--max step_time_s"), (["--max", "peak_B"], 2, "expected '--max"),
                                  (["--objective", "training_cost"], 3, "--tokens"),
                                  (["--objective", "energy_J", "--set", "platform.node.power=null"], 3, "power")):
            got, out, err = run("search", "workloads/tiny.yaml", *words)
            self.assertEqual((got, out), (code, ""), words)
            self.assertIn(text, err)


class Store(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.store = Path(holder.name) / "s.db"

    def test_what_is_known_is_not_simulated_again(self):
        words = ["workloads/tiny.yaml", "--vary", "mesh.tp=1,2,4", "--vary", "batch.micro=1,2", "--exhaustive", "--store", self.store]
        first = search(*words)
        with sqlite3.connect(self.store) as store:
            known = store.execute("select rowid, key, step_time_s from points order by key").fetchall()
            self.assertGreater(len(known), 0)
            store.execute("update points set step_time_s = step_time_s * 2")  # so that a row shows where it came from
            store.row_factory = sqlite3.Row
            for row in store.execute("select rowid, * from points").fetchall():
                store.execute("update points set digest = ? where rowid = ?", (digest_of(dict(row)), row["rowid"]))
        again = search(*words)
        with sqlite3.connect(self.store) as store:
            self.assertEqual(len(store.execute("select key from points").fetchall()), len(known), "the second search added rows")
        self.assertEqual([row["step_time_s"] for row in again["results"]], [2 * row["step_time_s"] for row in first["results"]])

    MANY = ["workloads/tiny.yaml", "--granularity", "layer", "--vary", "mesh.tp=1,2,4", "--vary", "mesh.pp=1,2", "--vary", "batch.micro=1,2,4",
            "--vary", "recompute=none,full", "--vary", "schedule.kind=1f1b,gpipe", "--vary", "data_parallel.zero=0,1", "--top", "10"]

    def start(self, *words, **more):
        return subprocess.Popen([PROGRAM, "search", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **{"cwd": ROOT, **more})

    def rows(self):
        """Key -> settings and step of the store, which is whole."""
        with sqlite3.connect(self.store, timeout=WAIT_S) as base:
            self.assertEqual(base.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            if base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                return {}  # its process was killed as it began
            rows = base.execute("SELECT key, settings, step_time_s FROM points").fetchall()
        self.assertEqual(len({row[0] for row in rows}), len(rows))
        return {row[0]: row[1:] for row in rows}

    def test_interrupt_keeps_what_is_there(self):
        best = self.store.parent / "best.yaml"
        older = self.store.parent / "older.csv"
        older.write_text("of a whole search\n", encoding="utf-8")
        words = [*self.MANY, "--exhaustive", "--jobs", 1, "--json", "--store", self.store, "-o", best, "--csv", older]
        process = self.start(*words)
        self.assertTrue(await_rows(process, self.store, 2), "it ended before it was interrupted")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WAIT_S)
        self.assertEqual(process.returncode, 130, err)
        found = json.loads(out)
        self.assertTrue(found["partial"])
        self.assertIn("the same command goes on", err)
        self.assertEqual(older.read_text(encoding="utf-8"), "of a whole search\n")
        self.assertIn(f"'{older}' is left as it was", err)
        self.assertTrue(best.read_text(encoding="utf-8").startswith("# Partial: the search was interrupted"))
        subprocess.run([PROGRAM, "check", best], check=True, stdout=subprocess.DEVNULL)
        counts = found["counts"]
        self.assertLess(counts["simulated"], counts["enumerated"] - counts["illegal"] - counts["does_not_fit"])
        self.assertEqual(counts["simulated"], len(self.rows()), "what it counts is in the store")

    def test_a_killed_process_or_worker_loses_nothing(self):
        draw = random.Random(int(os.environ.get("MS_SEED", "1")))
        expected = search(*self.MANY, "--exhaustive", "--jobs", "1")["results"]
        kept = {}
        for attempt in range(2 * int(os.environ.get("MS_KILLS", "5"))):
            # each kind of process leaves rows for the other; what all have found is forgotten now and then, so that there is work
            process = self.start(*self.MANY, "--exhaustive", "--store", self.store, "--jobs", 2, start_new_session=True)
            await_rows(process, self.store, 1)
            kill_one(process, draw, is_worker=attempt % 2 == 1)
            rows = self.rows() if self.store.exists() else {}
            self.assertLessEqual(kept.items(), rows.items())
            kept = rows
            if len(kept) > 60:
                self.assertEqual(search(*self.MANY, "--exhaustive", "--store", self.store)["results"], expected)
                self.store.unlink()
                kept = {}
        self.assertEqual(search(*self.MANY, "--exhaustive", "--store", self.store)["results"], expected)

    def test_a_full_disk_is_told_and_leaves_what_was_there(self):
        search(*self.MANY, "--store", self.store)
        before = self.rows()
        limit_B = self.store.stat().st_size + 8192
        process = self.start(*self.MANY, "--exhaustive", "--store", self.store, "--jobs", 1, "--json",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit_B, limit_B)))
        out, err = process.communicate(timeout=2 * WAIT_S)
        self.assertEqual((process.returncode, out), (4, ""), err)
        self.assertRegex(err, r"^meshsim: error: cannot write the store '.*s\.db': ")
        self.assertEqual(err.count("error: "), 1, err)
        self.assertLessEqual(before.items(), self.rows().items())

    def test_what_may_only_be_read_is_told_before_anything_is_simulated(self):
        words = ["workloads/tiny.yaml", "--vary", "batch.micro=1,2"]
        search(*words, "--store", self.store)
        words[2] = "batch.micro=1,2,4"
        before = self.store.read_bytes()
        self.store.chmod(0o444)
        more = as_another_user(PROGRAM, self.store.parent)
        words[0] = self.store.parent / words[0] if more else ROOT / words[0]
        process = self.start(*words, "--json", "--store", self.store, **more)
        out, err = process.communicate(timeout=WAIT_S)
        self.assertEqual((process.returncode, out), (4, ""), err)
        self.assertIn("cannot write the store", err)
        self.assertEqual(self.store.read_bytes(), before)

    def test_interrupt_before_anything_is_simulated(self):
        """Of ten million candidates, which no machine has looked through when their store has just been made."""
        micros = ",".join(str(size) for size in range(1, 101))
        words = ["workloads/gpt3-175b-1024.yaml", "--gpus", 1048576, "--vary", "mesh.tp=all", "--vary", "mesh.pp=all", "--vary",
                 "mesh.cp=all", "--vary", "mesh.ep=all", "--vary", f"batch.micro={micros}", "--vary", "recompute=none,selective,full", "--vary",
                 "data_parallel.zero=0,1,3", "--json", "--store", self.store]
        process = self.start(*words)
        end = time.monotonic() + WAIT_S
        while not self.store.exists() and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.3)  # of the half a minute or more that it takes to look through them
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WAIT_S)
        self.assertEqual(process.returncode, 130, err)
        if out:  # else the store was made, and the search had not begun
            found = json.loads(out)
            self.assertTrue(found["partial"])
            self.assertEqual((found["results"], found["counts"]["simulated"]), ([], 0))
            self.assertIn("the same command goes on", err)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
