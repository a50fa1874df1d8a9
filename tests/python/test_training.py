#!/usr/bin/env python3
"""What a whole training takes (--tokens), and how near a search without a result is, against sums by hand.

usage: test_training.py MESHSIM [unittest arguments]
"""

import csv
import json
import math

import programs
from programs import ROOT

TINY = str(ROOT / "workloads" / "tiny.yaml")
PRICED = ("--set", "platform.price=2 USD/h", "--set", "platform.pue=1.25")
TOKENS = 300e9


class Training(programs.ProgramTest):
    def step(self, *words):
        return json.loads(self.meshsim("run", TINY, "--json", *words).stdout)

    def expect_training(self, found, step_s, tokens_per_step, gpus):
        """What the figures of a step say of a training of TOKENS."""
        steps = TOKENS / tokens_per_step
        self.assertTrue(math.isclose(found["training_days"], steps * step_s / 86400, rel_tol=1e-9))
        self.assertTrue(math.isclose(found["training_gpu_hours"], steps * step_s * gpus / 3600, rel_tol=1e-9))
        return steps

    def test_a_run_and_its_page(self):
        trace, page = self.folder / "t.h5", self.folder / "t.html"
        done = self.step("--tokens", "300B", "-o", str(trace), *PRICED)
        workload_tokens = done["global_batch"] * 1024  # model.sequence of tiny.yaml
        steps = self.expect_training(done, done["step_time_s"], workload_tokens, done["gpus"])
        # 8 GPUs at 2 USD an hour
        self.assertTrue(math.isclose(done["training_cost"], 2 * done["training_gpu_hours"], rel_tol=1e-9))
        self.assertTrue(math.isclose(done["training_energy_MWh"], steps * done["energy_J"] / 3.6e9, rel_tol=1e-9))
        text = self.meshsim("run", TINY, "--tokens", "300e9", *PRICED).stdout
        self.assertRegex(text, r"training, days +\d")
        self.assertRegex(text, r"training, USD +\d")
        self.meshsim("report", str(trace), "--tokens", "300B", "-o", str(page))
        self.assertIn(f'"training_days":{done["training_days"]!r}'[:30], page.read_text().replace(" ", ""))
        self.meshsim("report", str(trace), "--tokens", "300B", "-o", str(self.folder / "t.svg"), code=2)

    def test_without_a_price_the_cost_is_unknown(self):
        done = self.step("--tokens", "300B", "--platform", "ideal", "--set", "platform.nodes=8")
        self.assertIsNone(done["training_cost"])
        self.assertGreater(done["training_days"], 0)

    def test_check_sweep_and_search(self):
        checked = json.loads(self.meshsim("check", TINY, "--tokens", "300B", "--json").stdout)
        self.expect_training(checked["estimate"], checked["estimate"]["step_time_s"], checked["global_batch"] * 1024, 8)
        sweep = self.write(f"name: s\nworkload: {TINY}\naxes: [{{batch.micro: [1, 2]}}]\n", "s.yaml")
        rows = json.loads(self.meshsim("sweep", sweep, "--tokens", "300B", "--json").stdout)["rows"]
        for row in rows:
            self.expect_training(row, row["step_time_s"], row["tokens_per_s"] * row["step_time_s"], 8)
        table = self.folder / "found.csv"
        found = json.loads(self.meshsim("search", TINY, "--tokens", "300B", "--top", "2", "--csv", str(table), "--json").stdout)
        for row in found["results"]:
            self.expect_training(row, row["step_time_s"], row["tokens_per_s"] * row["step_time_s"], 8)
        with table.open() as text:
            self.assertAlmostEqual(float(next(csv.DictReader(text))["training_days"]), found["results"][0]["training_days"])

    def test_numbers_of_tokens(self):
        days = [self.step("--tokens", text)["training_days"] for text in ("15T", "15e12", "15000B", "15t")]
        self.assertEqual(len(set(days)), 1)
        for text in ("15X", "0", "-1T", "T", "nan", "15 %"):
            self.assertIn("such as 15T", self.meshsim("run", TINY, "--tokens", text, code=2).stderr)


class Nearest(programs.ProgramTest):
    def test_the_nearest_candidate_is_named(self):
        words = ("search", TINY, "--vary", "batch.micro=1,2", "--max", "step_time_s=1ms", "--json")
        found = json.loads(self.meshsim(*words, code=1).stdout)
        free = json.loads(self.meshsim(*words[:4], "--json").stdout)
        self.assertEqual(found["nearest"]["quantity"], "step_time_s")
        self.assertEqual(found["nearest"]["limit"], 1e-3)
        least = min(row["estimate_s"] for row in free["results"])
        self.assertTrue(math.isclose(found["nearest"]["value"], least, rel_tol=1e-6))

    def test_days_and_memory(self):
        text = self.meshsim("search", TINY, "--tokens", "15T", "--max", "training_time_s=30d", code=1).stdout
        self.assertRegex(text, r"the nearest candidate has training_time_s [\d.]+ days; the limit is 30 days")

    def test_least_memory(self):
        rows = json.loads(self.meshsim("search", TINY, "--objective", "peak_B", "--top", "3", "--json").stdout)["results"]
        peaks = [row["peak_B"] for row in rows]
        self.assertEqual(peaks, sorted(peaks))
        fastest = json.loads(self.meshsim("search", TINY, "--top", "3", "--json").stdout)["results"]
        self.assertLess(peaks[0], min(row["peak_B"] for row in fastest))


class NearMisses(programs.ProgramTest):
    def test_words(self):
        for words, code, expected in [
                (("run", TINY, "--platform", "h100"), 3, "did you mean 'dgx-h100'?"),
                (("run", TINY, "--set", "tp=4"), 3, "did you mean 'mesh.tp'?"),
                (("run", TINY, "--set", "layers=4"), 3, "did you mean 'model.layers'?"),
                (("run", TINY[:-4] + "yml"), 3, f"did you mean '{TINY}'?"),
                (("run", "tiny.yml"), 3, "did you mean 'tiny'?"),
                ((TINY,), 2, f"'meshsim run {TINY}' simulates it"),
                ((str(ROOT / "platforms/flat.yaml"),), 2, f"'meshsim platform {ROOT}/platforms/flat.yaml' shows it")]:
            with self.subTest(words):
                self.assertIn(expected, self.meshsim(*words, code=code).stderr)


if __name__ == "__main__":
    programs.main("usage: test_training.py MESHSIM [unittest arguments]")
