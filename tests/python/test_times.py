#!/usr/bin/env python3
"""Times of many points in one call: what --json says besides, options, the standard input, many points.

usage: test_times.py MESHSIM [unittest arguments]
"""

import json
import subprocess

import programs


class Times(programs.ProgramTest):
    source = "p.yaml"
    points = [{"kind": "gemm", "m": 4096, "n": 4096, "k": 1024}, {"kind": "all_reduce", "gpus": 8, "bytes": "1 MiB"}]

    def tree(self, *words):
        return json.loads(self.meshsim("times", *words, "--json").stdout)

    def test_a_collective_takes_what_collective_says(self):
        sizes = [2**power for power in range(10, 31)]
        points = [{"kind": "all_reduce", "gpus": 8, "bytes": f"{size} B"} for size in sizes]
        (found,) = self.tree(self.write({"platform": "dgx-a100", "points": points}))["times_s"]
        rows = json.loads(self.meshsim("collective", "all_reduce", "--platform", "dgx-a100", "-n", "8", "-b", "1KiB", "-e", "1GiB", "--json").stdout)["rows"]
        for time_s, row in zip(found, rows, strict=True):
            self.assertAlmostEqual(time_s / row["time_s"], 1, delta=1e-9)

    def test_a_lone_call_takes_the_host_longer(self):
        points = [{"kind": "all_gather", "gpus": gpus, "bytes": "1 MiB", "timing": timing} for gpus in (8, 16) for timing in ("queued", "lone_call")]
        (found,) = self.tree(self.write({"platform": "dgx-a100", "points": points}))["times_s"]
        self.assertAlmostEqual(found[1] - found[0], 20e-6)
        self.assertAlmostEqual(found[3] - found[2], 185e-6)
        points[1]["nodes"] = 2  # as its benchmark says
        self.assertAlmostEqual(self.tree(self.write({"platform": "dgx-a100", "points": points}))["times_s"][0][1] - found[0], 185e-6)

    def test_numbers_of_the_platform_with_their_places(self):
        found = self.tree(self.write({"platform": {"file": "dgx-a100", "nodes": 3}, "set": ["tiers.rail.latency=3 us"], "points": []}))
        self.assertEqual((found["platform"], found["gpus"], found["times_s"], found["measured"]), ("dgx-a100", 24, [[]], []))
        keys = found["keys"]
        self.assertEqual((keys["nodes"]["value"], keys["nodes"]["place"]), (3, "p.yaml:4"))
        self.assertEqual(keys["tiers.rail.latency"], {"value": 3e-6, "place": "--set:1"})
        self.assertEqual(keys["tiers.nvlink.bandwidth"]["value"], 300e9)
        self.assertRegex(keys["gpu.peak"]["place"], r"gpus/a100-sxm4-80gb\.yaml:\d+$")
        self.assertRegex(keys["library.generations.ampere.overhead"]["place"], r"libraries/nccl-2\.yaml:\d+$")

    def test_kernels_of_a_measured_table(self):
        self.write("kernel,shape,time\ngemm,64x32x16x2,5 us\nmemory,1024,2 us\n", "k.csv")
        tree = {"platform": "dgx-a100", "set": ["gpu.measured='k.csv'"], "points": self.points}
        found = self.tree(self.write(tree))
        self.assertEqual(found["measured"], [{"kind": "gemm", "sizes": [64, 32, 16, 2], "time_s": 5e-6}, {"kind": "memory", "sizes": [1024], "time_s": 2e-6}])
        del tree["set"]
        self.assertEqual(self.tree(self.write(tree))["times_s"], found["times_s"])

    def test_options_come_before_the_file(self):
        path = self.write({"platform": {"file": "dgx-a100", "gpu": {"gemm_efficiency": 0.5}}, "points": self.points})
        other = self.write({"points": self.points}, "o.yaml")
        plain, h100 = self.tree(other, "--platform", "dgx-a100")["times_s"], self.tree(other, "--platform", "dgx-h100")["times_s"]
        self.assertNotEqual(plain, h100)
        self.assertEqual(self.tree(path, "--platform", "dgx-h100")["times_s"], h100)
        self.assertEqual(self.tree(path, "--set", "platform.gpu.gemm_efficiency=0.844")["times_s"], plain)
        self.assertIn("expected a key 'platform', or --platform", self.meshsim("times", other, code=2).stderr)
        self.assertIn("got no '='", self.meshsim("times", path, "--set", "a", code=2).stderr)
        self.assertIn("no platform 'nowhere'", self.meshsim("times", other, "--platform", "nowhere", code=3).stderr)

    def test_the_page_has_a_row_for_each_point_of_each_variant(self):
        path = self.write({"platform": "dgx-a100", "points": self.points, "variants": [[], ["tiers.nvlink.latency=9 us"]]})
        self.assertRegex(
            self.meshsim("times", path).stdout,
            r"\Atimes: dgx-a100\n\nvariants\nvariant +overrides\n +1 +tiers.nvlink.latency=9 us\n\nvariant +point +kind +time\n"
            r" +0 +0 +gemm +[\d.]+ us\n +0 +1 +all_reduce +[\d.]+ us\n +1 +0 +gemm +[\d.]+ us\n +1 +1 +all_reduce +[\d.]+ us\n\Z",
        )
        self.assertIn("| 1 | 0 | gemm | ", self.meshsim("times", path, "--markdown").stdout)

    def test_ten_thousand_points_by_the_standard_input(self):
        tree = {"platform": "dgx-h100", "points": [{"kind": "all_gather", "gpus": 2 + i % 15, "bytes": f"{i + 1} kB"} for i in range(10_000)]}
        done = subprocess.run([self.program, "times", "-", "--json"], input=json.dumps(tree), capture_output=True, check=True, text=True, cwd=programs.ROOT, timeout=100)
        (found,) = json.loads(done.stdout)["times_s"]
        self.assertEqual(len(found), 10_000)
        self.assertEqual(found[14:9_014:15], sorted(found[14:9_014:15]))


if __name__ == "__main__":
    programs.main(__doc__)
