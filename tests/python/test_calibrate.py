#!/usr/bin/env python3
"""Calibration: parameters that made a log are found again, what is wrong with a log is told with its line, files that are written are read.

usage: test_calibrate.py MESHSIM [unittest arguments]
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
REDUCES = ROOT / "workloads" / "validation" / "allreduce_a100.csv"
PROGRAM = ""

# Source: the layout of NVIDIA/nccl-tests, src/common.cu
HEAD = """# nThread 1 nGpus 1 minBytes 1024 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
"""
RANK = "#  Rank {rank:2d} Group  0 Pid  {pid:6d} on {host:>10s} device {device:2d} [0x{device:02x}] {gpu}\n"
COLUMNS = """#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
TAIL = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1\n#\n"


def run(*words, cwd=ROOT):
    """The finished process."""
    return subprocess.run([PROGRAM, *(str(word) for word in words)], cwd=cwd, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, text=True, timeout=250)


def tree(*words):
    """What --json of a run that must succeed prints."""
    done = run(*words, "--json")
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def log_of(rows, ranks, kind="all_reduce", gpu="NVIDIA A100-SXM4-80GB", node=8, starting=True):
    """A log of nccl-tests with the times of rows of `meshsim collective --json`."""
    text = HEAD + "".join(RANK.format(rank=rank, pid=4000 + rank, host=f"node{rank // node}", device=rank % node, gpu=gpu)
                          for rank in range(ranks))
    text = (f"# Collective test starting: {kind}_perf\n" if starting else "") + text + COLUMNS
    for row in rows:
        block = f"{1e6 * row['time_s']:9.4f}  {row['algbw_Bps'] / 1e9:7.2f}  {row['busbw_Bps'] / 1e9:7.2f}      0"
        text += f"{row['size_B']:12.0f}  {row['size_B'] / 4:12.0f}     float     sum      -1 {block} {block}\n"
    return text + TAIL


def simulated(platform, ranks, *sets, kind="all_reduce"):
    """What an all-reduce takes with a platform's keys set."""
    words = [word for key in sets for word in ("--set", key)]
    return tree("collective", kind, "--platform", platform, "-n", ranks, "-b", "1KiB", "-e", "4GiB", *words)["rows"]


class InFolder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def write(self, text, name="all_reduce.log"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


class Recovery(InFolder):
    """Logs made from known parameters."""

    def recover(self, logs, truth, *words):
        found = tree("calibrate", *logs, "--platform", "dgx-a100", *words)
        after = {row["key"]: row for row in found["parameters"]}
        for key, value in truth.items():
            self.assertAlmostEqual(after[key]["after"] / value, 1, delta=0.01, msg=key)
            self.assertIs(after[key]["at_bound"], False)
        self.assertLess(found["fitted"]["mean_abs_error"], 0.002)
        self.assertLess(found["left_out"]["mean_abs_error"], 0.002)
        return found

    def test_parameters_of_a_node_are_found_within_a_hundredth(self):
        truth = {"tiers.nvlink.efficiency": 0.7, "library.generations.ampere.overhead": 9e-6,
                 "library.generations.ampere.ring_turn": 0.3, "library.generations.ampere.ramp_time": 300e-6,
                 "library.generations.ampere.ramp_size": 64 * 2**20}
        sets = ["tiers.nvlink.efficiency=0.7", "library.generations.ampere.overhead=9us", "library.generations.ampere.ring_turn=0.3",
                "library.generations.ampere.ramp_time=300us", "library.generations.ampere.ramp_size=64MiB"]
        logs = [self.write(log_of(simulated("dgx-a100", ranks, *sets), ranks), f"all_reduce_{ranks}.log") for ranks in (2, 4, 8)]
        keys = [word for key in truth for word in ("--fit", key)]
        found = self.recover(logs, truth, *keys)
        self.assertEqual(len(found["parameters"]), len(truth))
        names = [point["name"] for point in found["points"]]
        self.assertEqual(len(names), 3 * 23)
        for point in found["points"]:
            self.assertIs(point["left_out"], zlib.crc32(point["name"].encode()) % 3 == 0)
        self.assertEqual(found["left_out"]["points"] + found["fitted"]["points"], len(names))
        places = {row["key"]: row["place"] for row in found["parameters"]}
        lines = (ROOT / "platforms/dgx-a100.yaml").read_text(encoding="utf-8").splitlines()
        path, line = places["tiers.nvlink.efficiency"].rsplit(":", 1)
        self.assertTrue(path.endswith("platforms/dgx-a100.yaml"))
        self.assertIn("efficiency: 0.803", lines[int(line) - 1])
        self.assertIn("libraries/nccl-2.yaml:", places["library.generations.ampere.ring_turn"])

    def test_nodes_of_a_log_load_the_network(self):
        truth = {"tiers.rail.efficiency": 0.6}
        log = self.write(log_of(simulated("dgx-a100", 32, "tiers.rail.efficiency=0.6", kind="all_gather"), 32, "all_gather"))
        found = self.recover([log], truth, "--fit", "tiers.rail.efficiency")
        self.assertTrue(found["points"][0]["name"].startswith("all_gather/32/"))

    def test_kernels_give_those_of_the_gpu(self):
        """GEMMs as the cost model has them at other parameters, one a line of `run --json`."""
        truth = {"gpu.gemm_efficiency": 0.6, "gpu.gemm_depth_half": 300.0, "gpu.kernel_launch": 6e-6, "gpu.memory_efficiency": 0.7}
        sets = ["platform.gpu.gemm_efficiency=0.6", "platform.gpu.gemm_depth_half=300", "platform.gpu.kernel_launch=6 us",
                "platform.gpu.memory_efficiency=0.7", "platform.gpu.spread=0"]  # a table is of one GPU
        table = {}
        for hidden, heads in ((512, 8), (1024, 16), (2048, 16), (4096, 32), (8192, 64)):
            for sequence in (256, 2048):
                words = [word for key in [*sets, f"model.hidden={hidden}", f"model.heads={heads}", f"model.sequence={sequence}"]
                         for word in ("--set", key)]
                kernels = tree("run", "workloads/tiny.yaml", "--ignore-memory", *words)["kernels"]
                for kernel in kernels:
                    if kernel["name"] in ("qkv", "attention_output", "mlp_up", "mlp_down"):
                        table["gemm," + kernel["shape"]] = kernel["time_s"]
                    if kernel["name"] in ("layer_norm", "residual", "gelu"):
                        table["memory," + kernel["shape"][:-2]] = kernel["time_s"]
        self.assertGreater(sum(name.startswith("memory") for name in table), 5)
        self.assertGreater(sum(name.startswith("gemm") for name in table), 20)
        text = "kernel,shape,time\n" + "".join(f"{name},{1e6 * time_s!r} us\n" for name, time_s in table.items())
        self.recover(["--kernels", self.write(text, "kernels.csv")], truth)

    def test_attention_gives_that_of_the_gpu(self):
        """Fused attention, which A100's type says of its own kernel: times of another efficiency bring it back."""
        truth = {"gpu.attention_efficiency": 0.5, "gpu.attention_backward_efficiency": 0.4}
        sets = ["platform.gpu.attention_efficiency=0.5", "platform.gpu.attention_backward_efficiency=0.4", "platform.gpu.spread=0",
                "model.attention=fused"]
        table = {}
        for hidden, heads in ((1024, 16), (2048, 16), (4096, 32)):
            for sequence in (2048, 4096, 8192):
                words = [word for key in [*sets, f"model.hidden={hidden}", f"model.heads={heads}", f"model.sequence={sequence}"]
                         for word in ("--set", key)]
                for kernel in tree("run", "workloads/tiny.yaml", "--ignore-memory", *words)["kernels"]:
                    if kernel["name"] in ("attention", "attention_backward"):
                        batch, rows, query_heads, keys, size = (part.lstrip("bsakvd") for part in kernel["shape"].split())
                        table[f"{kernel['name']},{batch}x{rows}x{query_heads}x{keys}x{size}x{size}"] = kernel["time_s"]
        self.assertEqual(len(table), 2 * 9)
        text = "kernel,shape,time\n" + "".join(f"{name},{1e6 * time_s!r} us\n" for name, time_s in table.items())
        found = self.recover(["--kernels", self.write(text, "kernels.csv")], truth, "--fit", "gpu.attention_efficiency",
                             "--fit", "gpu.attention_backward_efficiency")
        self.assertTrue(found["points"][0]["name"].startswith("attention/1x"))


class Files(InFolder):
    def test_the_file_is_a_platform(self):
        path = self.folder / "mine.yaml"
        done = run("calibrate", REDUCES, "--system", "a100", "--platform", "dgx-a100", "--fit", "tiers.nvlink.efficiency", "-o", path,
                   "--name", "mine")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\ntiers\.nvlink\.efficiency +0\.803 +0\.\d+ +\S*platforms/dgx-a100\.yaml:\d+\n")
        self.assertRegex(done.stdout, r"\nleft out +\d+ +\d+\.\d +\d+\.\d +\d+\.\d +\d+\.\d\n")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        after = float(done.stdout.split("tiers.nvlink.efficiency")[1].split()[1])
        text = path.read_text(encoding="utf-8")
        self.assertIn("base: 'dgx-a100'\nname: 'mine'\n", text)
        self.assertIn(f"    efficiency: {after}  # fit: was 0.803 (", text)
        platform = tree("platform", path)
        self.assertEqual(platform["platform"], "mine")
        same = tree("run", ROOT / "workloads/tiny.yaml", "--platform", "dgx-a100", "--set", f"platform.tiers.nvlink.efficiency={after}")
        mine = tree("run", ROOT / "workloads/tiny.yaml", "--platform", path)
        self.assertEqual(mine["step_time_s"], same["step_time_s"])

    def test_a_file_that_is_there_stays(self):
        path = self.write("mine", "mine.yaml")
        words = ["calibrate", REDUCES, "--system", "a100", "--platform", "dgx-a100", "--fit", "tiers.nvlink.efficiency", "-o", path]
        done = run(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("is there already; --force writes over it", done.stderr)
        self.assertEqual(path.read_text(encoding="utf-8"), "mine")
        self.assertEqual(run(*words, "--force").returncode, 0)
        self.assertIn("base: ", path.read_text(encoding="utf-8"))

    def test_the_published_all_reduces_are_fitted(self):
        found = tree("calibrate", REDUCES, "--system", "a100", "--platform", "dgx-a100")
        self.assertEqual(found["fitted"]["points"] + found["left_out"]["points"], 140)
        self.assertLess(found["fitted"]["mean_abs_error"], found["fitted"]["mean_abs_error_before"])
        self.assertLess(found["left_out"]["mean_abs_error"], 0.08)

    def test_a_log_can_be_validated(self):
        rows = simulated("dgx-a100", 8)
        found = tree("validate", self.write(log_of(rows, 8)))["collectives"]
        self.assertEqual([point["size_B"] for point in found], [row["size_B"] for row in rows])
        self.assertLess(max(abs(point["error"]) for point in found), 1e-4)


class Faults(InFolder):
    def fault(self, text, *words, name="all_reduce.log", code=3):
        done = run("calibrate", self.write(text, name), "--platform", "dgx-a100", *words)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        return done.stderr

    def test_bad_lines_are_told_with_their_number(self):
        text = log_of(simulated("dgx-a100", 8)[:6], 8)
        line = text.splitlines()[18]
        number = 19
        self.assertTrue(line.strip()[0].isdigit())
        for bad, word in ((line[:60], "expected size, count, type and twice time"),
                          (re.sub(r"-1 +[0-9.]+", "-1 -5.0", line), "a time above 0"),
                          (re.sub(r"-1 +[0-9.]+", "-1 5,0", line), "a time above 0"),
                          (line.replace("      0 ", "      3 "), "a benchmark with wrong results: '3'")):
            said = self.fault(text.replace(line, bad))
            self.assertIn(f"all_reduce.log:{number}: error: ", said)
            self.assertIn(word, said)
        other = text.replace("on      node0 device  3 [0x03] NVIDIA A100-SXM4-80GB", "on      node0 device  3 [0x03] NVIDIA A100-PCIE-40GB")
        self.assertIn("all_reduce.log:8: error: another GPU than the ranks before: 'NVIDIA A100-PCIE-40GB'", self.fault(other))

    def test_a_log_that_says_too_little_is_refused(self):
        rows = simulated("dgx-a100", 8)
        self.assertIn("without a line of results", self.fault(log_of([], 8)))
        self.assertIn("without '# Rank' lines", self.fault(HEAD.replace("nGpus 1", "nGpus 1") + COLUMNS + log_of(rows, 0).split("(GB/s)\n")[-1]))
        gathers = simulated("dgx-a100", 8, kind="all_gather")
        self.assertIn("which collective it is", self.fault(log_of(gathers, 8, starting=False), name="x.log"))
        self.assertEqual(run("calibrate", self.write(log_of(rows, 8, starting=False), "x.log"), "--platform", "dgx-a100").returncode, 0)
        self.assertIn("are too few for", self.fault(log_of(rows[:2], 8)))

    def test_what_is_asked_for_has_to_be_there(self):
        text = log_of(simulated("dgx-a100", 8), 8)
        self.assertIn("did you mean 'tiers.nvlink.efficiency'?", self.fault(text, "--fit", "tiers.nvlink.eficiency"))
        self.assertIn("no point depends on 'gpu.gemm_efficiency'", self.fault(text, "--fit", "gpu.gemm_efficiency"))
        self.assertIn("and the platform has 8", self.fault(log_of(simulated("dgx-a100", 16), 16), "--set", "platform.nodes=1"))
        several = run("calibrate", REDUCES, "--platform", "dgx-a100")
        self.assertEqual(several.returncode, 3)
        self.assertIn("--system takes one of them", several.stderr)
        for words in (["--platform", "dgx-a100"], [REDUCES]):
            self.assertEqual(run("calibrate", *words).returncode, 2)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
