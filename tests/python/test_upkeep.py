#!/usr/bin/env python3
"""Prices and powers of one of several platforms, what is said where they are missing, and what a search of many candidates keeps, against sums by hand.

usage: test_upkeep.py MESHSIM [unittest arguments]
"""

import json
import math
import os
import subprocess

import programs
from programs import ROOT

TINY = str(ROOT / "workloads" / "tiny.yaml")
OFFERS = ("search", TINY, "--platform", "flat,dgx-h100", "--gpus", "8", "--vary", "mesh.tp=1,2", "--tokens", "1T")


class Upkeep(programs.ProgramTest):
    def found(self, *words):
        return json.loads(self.meshsim(*words, "--json").stdout)

    def test_a_price_of_one_of_several_platforms(self):
        before = {row["platform"]: row for row in self.found(*OFFERS, "--best-of", "platform")["results"]}
        found = self.found(*OFFERS, "--best-of", "platform", "--set", "flat:platform.price=2 USD/h", "--set", "batch.micro=1")
        for row in found["results"]:
            if row["platform"] == "flat":
                self.assertTrue(math.isclose(row["training_cost"], 2 * row["training_gpu_hours"], rel_tol=1e-9))
                self.assertEqual(row["settings"]["platform.price"], "2 USD/h")
                sets = [word for key, value in row["settings"].items() for word in ("--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}")]
                alone = self.found("run", TINY, *sets)
                self.assertEqual((alone["step_time_s"], alone["cost"]), (row["step_time_s"], row["cost"]))
            else:
                self.assertEqual(row["training_cost"], before[row["platform"]]["training_cost"])
                self.assertNotIn("platform.price", row["settings"])
        self.assertIsNone(before["flat"]["training_cost"])
        self.assertIsNotNone(before["dgx-h100"]["training_cost"])

    def test_a_wrong_name_or_key(self):
        self.assertIn("unknown platform of --set 'flatt'; did you mean 'flat'?", self.meshsim(*OFFERS, "--set", "flatt:platform.price=2 USD/h", code=2).stderr)
        self.assertIn("prize: unknown key; did you mean 'price'?", self.meshsim(*OFFERS, "--set", "flat:platform.prize=2 USD/h", code=3).stderr)

    def test_what_is_missing_is_named(self):
        def notes(*words):
            return " ".join(self.meshsim(*words).stderr.split())

        run = ("run", TINY, "--platform", "flat", "--set", "platform.nodes=8", "--set", "tensor_parallel.allow_slow=true", "--tokens", "1T")
        price, power = "no price, so there is no cost (USD): --set 'platform.price=2 USD/h'", "no energy (MWh): --set 'platform.node.power=3 kW'"
        for text in (price, power):
            self.assertIn(text, notes(*run))
            self.assertIn(text, notes("check", *run[1:]))
            self.assertNotIn(text, notes(*run, "--json"))
            self.assertNotIn(text, notes(*run, "--set", "platform.price=2 USD/h", "--set", "platform.node.power=3 kW"))
        said = notes(*OFFERS, "--best-of", "platform")
        self.assertIn("--set 'flat:platform.price=2 USD/h'", said)
        self.assertNotIn("dgx-h100", said)

    def test_pue_and_network_power(self):
        """(energy + 8 GPUs * 100 W * step) * 1.5"""
        plain = self.found("run", TINY)
        more = self.found("run", TINY, "--set", "platform.pue=1.5", "--set", "platform.network_power=100 W")
        self.assertTrue(math.isclose(more["energy_J"], 1.5 * (plain["energy_J"] + 8 * 100 * plain["step_time_s"]), rel_tol=1e-9))

    def test_rows_do_not_depend_on_threads_and_memory_is_bounded(self):
        """104,448 candidates took 1.5 GB when costs and orders of passes were kept of all."""
        words = [self.program, "search", TINY, "--usual", "--vary", f"batch.global={','.join(str(64 * i) for i in range(1, 65))}", "--json", "--jobs"]
        rows = []
        for jobs in ("1", "3"):
            child = subprocess.Popen([*words, jobs], stdout=subprocess.PIPE)
            rows.append({key: value for key, value in json.loads(child.stdout.read()).items() if key != "counts"})
            child.stdout.close()
            _, state, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(state)
            self.assertEqual(child.returncode, 0)
            if not self.is_sanitized():
                self.assertLess(used.ru_maxrss, 3500 * 104448 / 1000 if jobs == "1" else 6000 * 104448 / 1000)  # KiB
        self.assertEqual(rows[0], rows[1])


if __name__ == "__main__":
    programs.main("usage: test_upkeep.py MESHSIM [unittest arguments]")
