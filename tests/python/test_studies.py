#!/usr/bin/env python3
"""What the textbook says of pipeline and data parallelism on 64 GPUs.

usage: tests/python/test_studies.py MESHSIM [unittest arguments]
"""

import json
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""


def run(*settings):
    """A step of the 70B model on 64 GPUs, one of its canonical workloads."""
    words = [word for text in settings for word in ("--set", text)]
    done = subprocess.run([PROGRAM, "run", "workloads/textbook-70b-64.yaml", "--json", *words], cwd=ROOT, capture_output=True, text=True,
                          check=True, stdin=subprocess.DEVNULL)
    return json.loads(done.stdout)


class Textbook(unittest.TestCase):
    """(dp, pp, tp) = (1, 8, 8) against (8, 1, 8) with ZeRO-1, simulated layer by layer, at the textbook's bandwidths across racks."""

    def steps(self, bandwidth):
        ports = [f"platform.tiers.{tier}.bandwidth={bandwidth}" for tier in ("rail", "spine")]
        pipeline = run(*ports)
        data = run(*ports, "mesh.dp=8", "mesh.pp=1", "data_parallel.zero=1")
        for value in (pipeline, data):
            self.assertTrue(value["memory"]["fits"])
            self.assertEqual((value["gpus"], value["global_batch"], value["mesh"]["tp"]), (64, 64, 8))
        return pipeline, data

    def test_pipeline_wins_over_slow_links(self):
        pipeline, data = self.steps("25 GB/s")
        self.assertLess(pipeline["step_time_s"], 0.75 * data["step_time_s"])
        self.assertGreater(data["time_share"]["exposed_dp"], 0.3)  # the gradients of 70B parameters
        pipeline, data = self.steps("12.5 GB/s")  # 100 Gbit/s ports
        self.assertLess(pipeline["step_time_s"], 0.6 * data["step_time_s"])

    def test_data_parallelism_is_competitive_again(self):
        pipeline, data = self.steps("200 GB/s")
        self.assertLess(data["step_time_s"], 1.05 * pipeline["step_time_s"])
        self.assertGreater(data["step_time_s"], 0.85 * pipeline["step_time_s"])
        self.assertEqual(data["bubble_fraction"], 0)
        self.assertGreater(pipeline["bubble_fraction"], 0.1)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
