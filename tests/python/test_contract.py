#!/usr/bin/env python3
"""What scripts may rely on: the keys of `--json`, sums, repeatability, and the published step times.

usage: test_contract.py MESHSIM [unittest arguments]
"""
# ctest: 4 parts

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy
from parts import load_tests  # noqa: F401 (unittest looks for it)

ROOT = Path(__file__).resolve().parent.parent.parent
CANONICAL = sorted(path.stem for path in (ROOT / "workloads").glob("*.yaml"))
PLATFORMS = sorted(path.stem for path in (ROOT / "platforms").glob("*.yaml"))
PROGRAM = ""

NUMBER = (int, float)
KNOWN = (int, float, type(None))  # null where the workload or the platform does not say enough for it
AXIS = {key: NUMBER for key in ("bytes_per_rank", "busy_s", "exposed_s", "overlapped_s", "in_idle_s", "wait_s")}
SHARES = ("compute optimizer bubble_warmup bubble_steady bubble_cooldown imbalance exposed_tp exposed_cp exposed_ep "
          "exposed_pp exposed_dp other").split()
PATH = "compute optimizer imbalance tp cp ep pp dp other".split()
# A dict is an object with exactly these keys; {"*": x} an object with any keys; [x] a list of x.
RUN = {
    "workload": str, "platform": str, "gpus": int, "mesh": {"*": int}, "order": [str], "mesh_tiers": {"*": (str, type(None))},
    "schedule": str, "fidelity": str, "granularity": str,
    "steps": int, "step_time_s": NUMBER, "samples_per_s": NUMBER, "tokens_per_s": KNOWN, "tokens_per_s_per_gpu": KNOWN,
    "global_batch": int, "num_microbatches": int, "model_tflops_per_gpu": KNOWN, "mfu": KNOWN, "mfu_causal": KNOWN,
    "hfu": KNOWN, "flop_convention": str,
    "cost": KNOWN, "cost_per_million_tokens": KNOWN, "energy_J": KNOWN, "energy_convention": str,
    "bubble_fraction": NUMBER, "bubble_ratio": NUMBER, "idle_fraction": NUMBER,
    "compute_slowdown": NUMBER, "time_share": {key: NUMBER for key in SHARES},
    "other_parts": {"host": NUMBER, "norm": NUMBER},
    "comm": {axis: AXIS for axis in ("tp", "cp", "ep", "pp", "dp", "other")},
    "collectives": [{"axis": str, "kind": str, "tier": str, "algorithm": str, "count_per_rank": NUMBER, "size_B": NUMBER,
                     "time_s": NUMBER, "alone_s": NUMBER, "latency_s": NUMBER, "busbw_Bps": NUMBER, "wait_s": NUMBER}],
    "tiers": {"*": {"bytes": NUMBER, "busy_s": NUMBER, "peak_use": NUMBER}},
    "kernels": [{"name": str, "shape": str, "count": NUMBER, "time_s": NUMBER, "flop_per_s": NUMBER, "bound": str}],
    "memory": {"capacity_B": NUMBER, "peak_B": NUMBER, "fits": bool, "parameters_B": NUMBER, "gradients_B": NUMBER,
               "optimizer_B": NUMBER, "activations_B": NUMBER, "buffers_B": NUMBER, "other_B": NUMBER,
               "transformer_B": NUMBER, "peak_rank": int},
    "stages": [{"pp_rank": int, "compute_s": NUMBER, "bubble_s": NUMBER, "exposed_s": NUMBER, "peak_B": NUMBER}],
    "critical_path": {key: NUMBER for key in PATH},
    "granularity_risk": [{"pass": str, "stage_first": int, "stage_last": int, "axis": str, "kind": str, "tier": str, "with": [str],
                          "pieces": int, "met": int}],
    "engine": {"ops": int, "flows": int, "simulated_ranks": int, "fold_classes": int, "fold_exact": bool, "solver": str, "wall_s": NUMBER, "peak_rss_B": NUMBER},
}
COLLECTIVE = {
    "collective": str, "platform": str, "gpus": int, "algorithm": str, "fidelity": str,
    "rows": [{"size_B": NUMBER, "time_s": NUMBER, "algbw_Bps": NUMBER, "busbw_Bps": NUMBER, "algorithm": str,
              "protocol": str}],
    "engine": {"ops": int, "flows": int, "simulated_ranks": int, "wall_s": NUMBER, "peak_rss_B": NUMBER},
}
# Keys that later versions may add without breaking a script: their absence in the tables above is no fault.
ADDABLE = {"engine", "memory"}


def workload(name):
    """Path of a shipped workload."""
    return str(ROOT / "workloads" / f"{name}.yaml")


def meshsim(*words, code=0):
    """Run the program; its exit code must be `code`. Returns (stdout, stderr)."""
    done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=250)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(words)}: exit code {done.returncode}, expected {code}\n{done.stderr.decode()}")
    return done.stdout.decode(), done.stderr.decode()


def result(*words, code=0):
    """The one JSON object that the program prints; what it warns of stands apart."""
    stdout, stderr = meshsim(*words, "--json", code=code)
    stderr = "".join(line for line in stderr.splitlines(True) if not line.startswith("meshsim: warning: "))
    value, end = json.JSONDecoder(parse_constant=refuse_constant).raw_decode(stdout)
    if stdout[end:] != "\n" or not isinstance(value, dict) or stderr:
        raise AssertionError(f"{words}: expected one JSON object and nothing else, got also {stdout[end:]!r}, {stderr!r}")
    return value


def refuse_constant(word):
    """NaN and Infinity are no JSON."""
    raise AssertionError(f"'{word}' is no JSON")


def mismatches(value, expected, path=""):
    """Where a value has not the expected keys and types."""
    if isinstance(expected, list):
        if not isinstance(value, list):
            return [f"{path}: expected a list"]
        return [fault for i, item in enumerate(value) for fault in mismatches(item, expected[0], f"{path}[{i}]")]
    if isinstance(expected, dict):
        if not isinstance(value, dict):
            return [f"{path}: expected an object"]
        if "*" in expected:
            return [fault for key in value for fault in mismatches(value[key], expected["*"], f"{path}.{key}")]
        faults = [f"{path}.{key}: missing" for key in expected if key not in value]
        if path.lstrip(".") not in ADDABLE:
            faults += [f"{path}.{key}: not in the contract" for key in value if key not in expected]
        return faults + [fault for key in expected if key in value
                         for fault in mismatches(value[key], expected[key], f"{path}.{key}")]
    is_right = isinstance(value, expected) and (expected is bool or not isinstance(value, bool))
    return [] if is_right else [f"{path}: {value!r} is no {expected}"]


def lasting(value):
    """A result without what differs from run to run."""
    kept = dict(value)
    kept["engine"] = {key: item for key, item in value["engine"].items() if key not in ("wall_s", "peak_rss_B")}
    return kept


def datasets(path):
    """Name -> bytes of every dataset of a trace."""
    found = {}
    with h5py.File(path, "r") as file:
        def keep(name, item):
            if isinstance(item, h5py.Dataset):
                value = item[()]
                is_plain = isinstance(value, (numpy.ndarray, numpy.generic)) and not value.dtype.hasobject
                found[name] = value.tobytes() if is_plain else repr(value)
        file.visititems(keep)
    return found


def is_sanitized():
    """Whether the program was built with AddressSanitizer, which needs more memory and time."""
    return b"__asan_init" in Path(PROGRAM).read_bytes()


class Keys(unittest.TestCase):
    """`run --json` and `collective --json`: exactly these keys, of these types."""

    def check(self, *words):
        value = result("run", *words)
        self.assertEqual(mismatches(value, RUN), [], words)
        return value

    def test_canonical_workloads(self):
        for name in CANONICAL:
            with self.subTest(name):
                value = self.check(workload(name), "--ignore-memory")
                self.assertEqual(value["workload"], name)
                self.assertEqual(math.prod(value["mesh"].values()), value["gpus"])
                self.assertEqual(sorted(value["mesh"]), sorted(value["order"]))
                self.assertGreater(len(value["kernels"]), 3)

    def test_what_check_knows_without_simulating(self):
        """Mesh and memory are those of a run; counts of parameters are of the whole model."""
        same = ("workload", "platform", "gpus", "mesh", "order", "mesh_tiers", "schedule", "global_batch", "num_microbatches", "memory")
        for name in ("tiny", "mixtral-8x7b-64", "llama3-8b-128k-64"):
            with self.subTest(name):
                run = result("run", workload(name), "--granularity", "pass", "--ignore-memory")
                check = result("check", workload(name), "--ignore-memory")
                self.assertEqual({key: check[key] for key in same}, {key: run[key] for key in same})
        # Jiang et al., "Mixtral of Experts", arXiv:2401.04088: 47 billion parameters, of which a token uses 13
        counts = result("check", workload("mixtral-8x7b-64"))["parameters"]
        self.assertEqual((counts["total"], counts["active"]), (46702792704, 12879925248))

    def test_every_rank_and_no_contention(self):
        value = self.check(workload("tiny"), "--no-fold", "--fidelity", "analytic")
        self.assertEqual(value["engine"]["simulated_ranks"], value["gpus"])
        self.assertEqual(value["fidelity"], "analytic")

    def test_given_costs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "given.yaml"
            path.write_text("platform: {file: ideal, nodes: 4}\nmesh: {pp: 4, order: [pp]}\nbatch: {microbatches: 8}\n"
                            "costs: {forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms}\n")
            os.environ["MESHSIM_DATA"] = str(ROOT)
            value = self.check(str(path))
        self.assertAlmostEqual(value["bubble_fraction"], 3 / 11, delta=1e-9)
        self.assertEqual(value["kernels"], [])
        self.assertEqual([value[key] for key in ("tokens_per_s", "mfu", "cost")], [None] * 3)
        self.assertTrue(value["memory"]["fits"])

    def test_collective(self):
        for kind in ("p2p", "all_reduce", "reduce_scatter", "all_gather"):
            value = result("collective", kind, "--platform", str(ROOT / "platforms/dgx-a100.yaml"), "-n",
                           "2" if kind == "p2p" else "32", "-b", "1MiB", "-e", "64MiB")
            self.assertEqual(mismatches(value, COLLECTIVE), [], kind)
            self.assertEqual([row["size_B"] for row in value["rows"]], [2**20 * 2**i for i in range(7)])


class Pages(unittest.TestCase):
    """What people read fits a terminal of 80 columns."""

    def check(self, *words):
        page, _ = meshsim(*words)
        wide = [line for line in page.splitlines() if len(line) > 80 or line != line.rstrip()]
        self.assertEqual(wide, [], words)

    def test_workloads(self):
        for name in CANONICAL:
            self.check("run", workload(name), "--ignore-memory")
            self.check("check", workload(name), "--ignore-memory")

    def test_platforms(self):
        for name in PLATFORMS:
            path = str(ROOT / "platforms" / f"{name}.yaml")
            self.check("platform", path, "--route", "0", "1")
            self.check("collective", "all_reduce", "--platform", path, "-n", "8", "-e", "1GiB", "-f", "8")

    def test_studies(self):
        self.check("textbook", "--gpus", "100000")
        self.check("search", workload("tiny"), "--objective", "step_time_s,cost_per_million_tokens", "--set",
                   "platform.price=1e6 USD/h")
        for memory in ("80 GiB", "4.1 GiB"):  # with a mark of what does not fit, too
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "long.yaml"
                path.write_text(f"name: long\nworkload: {workload('tiny')}\nset: {{platform.gpu.hbm: {memory}}}\naxes:\n"
                                "  - data_parallel.overlap_reduce: [true, false]\n  - tensor_parallel.sequence: [true, false]\n"
                                "  - platform.tiers.nvlink.bandwidth: [100 GB/s, 300 GB/s]\n  - batch.micro: [1, 2]\n")
                self.check("sweep", str(path))


class Sums(unittest.TestCase):
    """Parts make up their wholes, in every canonical workload."""

    def test_sums(self):
        for name in CANONICAL:
            with self.subTest(name):
                value = result("run", workload(name), "--ignore-memory")
                step_s = value["step_time_s"]
                shares = value["time_share"]
                memory = value["memory"]
                self.assertAlmostEqual(sum(shares.values()), 1.0, delta=1e-9)
                self.assertAlmostEqual(sum(value["other_parts"].values()), shares["other"], delta=1e-15)
                # no host is modelled yet: what is left is the rounding of the engine's clock
                self.assertAlmostEqual(value["other_parts"]["host"], 0.0, delta=1e-12)
                self.assertAlmostEqual(sum(value["critical_path"].values()), step_s, delta=1e-9 * step_s)
                bubbles = sum(shares[f"bubble_{phase}"] for phase in ("warmup", "steady", "cooldown"))
                self.assertAlmostEqual(value["bubble_fraction"], bubbles, delta=1e-12)
                self.assertAlmostEqual(value["idle_fraction"], 1 - shares["compute"] - shares["optimizer"], delta=1e-12)
                self.assertAlmostEqual(value["bubble_ratio"], bubbles / shares["compute"], delta=1e-12)
                parts = ("parameters_B", "gradients_B", "optimizer_B", "activations_B", "buffers_B", "other_B")
                self.assertAlmostEqual(sum(memory[part] for part in parts), memory["peak_B"], delta=1e-9 * memory["peak_B"])
                self.assertEqual(memory["fits"], memory["peak_B"] <= memory["capacity_B"])
                self.assertAlmostEqual(value["samples_per_s"] * step_s, value["global_batch"], delta=1e-6)
                self.assertLessEqual(value["mfu_causal"], value["mfu"])
                self.assertLessEqual(value["mfu"], value["hfu"])
                for axis, use in value["comm"].items():
                    parts = use["exposed_s"] + use["overlapped_s"] + use["in_idle_s"]
                    self.assertAlmostEqual(use["busy_s"], parts, delta=1e-9 * step_s, msg=axis)
                self.assertEqual([row["pp_rank"] for row in value["stages"]], list(range(value["mesh"].get("pp", 1))))
                for tier in value["tiers"].values():
                    self.assertLessEqual(tier["peak_use"], 1 + 1e-9)
                    self.assertLessEqual(tier["busy_s"], step_s * (1 + 1e-9))


class Counts(unittest.TestCase):
    """What is simulated, in counts that no machine's speed changes."""

    def test_folding_simulates_a_few_ranks_of_each_stage(self):
        for name in CANONICAL:
            value = result("run", workload(name), "--ignore-memory")
            engine = value["engine"]
            pp = value["mesh"].get("pp", 1)
            passes = 2 * pp * value["num_microbatches"]
            classes = engine["simulated_ranks"] // pp  # of each stage: replicas whose messages go another way
            self.assertEqual(engine["simulated_ranks"], engine["fold_classes"], name)
            self.assertEqual(engine["simulated_ranks"], classes * pp, name)
            self.assertLessEqual(classes, 3, name)
            self.assertGreater(engine["ops"], passes, name)
            layers = max(row["layers"] for row in result("check", workload(name), "--ignore-memory")["stages"])
            self.assertLess(engine["ops"], (40 * layers + 40) * passes * classes, f"{name}: layers are events, kernels are not")
            self.assertLessEqual(engine["flows"], engine["ops"], name)

    def test_every_rank(self):
        folded = result("run", workload("tiny"))["engine"]
        every = result("run", workload("tiny"), "--no-fold")["engine"]
        self.assertEqual(every["simulated_ranks"], 8)
        self.assertGreater(every["ops"], 2 * folded["ops"])

    def test_microbatches_scale_the_operations(self):
        words = ["run", workload("tiny"), "--no-fast-forward"]
        counts = [result(*words, "--set", f"batch.global={g}")["engine"]["ops"] for g in (16, 32, 48)]
        self.assertEqual(counts[2] - counts[1], counts[1] - counts[0])


class Repeatability(unittest.TestCase):
    """The same input gives the same bytes."""

    def test_twice_the_same(self):
        for name, more in (("tiny", ["--no-fold"]), ("textbook-70b-64", []), ("gpt3-175b-1024", [])):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                paths = [str(Path(folder) / file) for file in ("a.h5", "b.h5")]
                values = [result("run", workload(name), *more, "-o", path) for path in paths]
                self.assertEqual(lasting(values[0]), lasting(values[1]))
                first, second = (datasets(path) for path in paths)
                self.assertGreater(len(first), 5)
                self.assertEqual(sorted(first), sorted(second))
                differing = [key for key in first if first[key] != second[key]]
                self.assertEqual(differing, [])
                self.assertEqual(sorted(os.listdir(folder)), ["a.h5", "b.h5"])

    def test_writing_a_trace_changes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            written = result("run", workload("tiny"), "-o", str(Path(folder) / "t.h5"))
        self.assertEqual(lasting(written), lasting(result("run", workload("tiny"))))


class Physics(unittest.TestCase):
    """More of a resource is never slower; contention is never faster."""

    def check_falling(self, name, key, values, *more):
        times = [result("run", workload(name), "--set", f"{key}={value}", *more)["step_time_s"] for value in values]
        for before, after in zip(times, times[1:]):
            self.assertLessEqual(after, before * (1 + 1e-9), f"{name}: {key} {values}: {times}")
        self.assertLess(times[-1], times[0], f"{key} changes nothing")

    def test_bandwidth(self):
        rail = [f"{speed} Gbit/s" for speed in (25, 50, 100, 200, 400, 800)]
        self.check_falling("textbook-70b-64", "platform.tiers.rail.bandwidth", rail)
        self.check_falling("gpt3-175b-1024", "platform.tiers.rail.bandwidth", rail[2:])
        self.check_falling("tiny", "platform.tiers.nvlink.bandwidth", ["10 GB/s", "50 GB/s", "300 GB/s", "900 GB/s"])
        self.check_falling("tiny", "platform.tiers.nvlink.bandwidth", ["10 GB/s", "50 GB/s", "300 GB/s"], "--no-fold")

    def test_latency_and_compute(self):
        self.check_falling("tiny", "platform.tiers.nvlink.latency", ["1 ms", "100 us", "1.7 us", "0 s"])
        self.check_falling("tiny", "platform.gpu.peak", ["100 TFLOP/s", "312 TFLOP/s", "1 PFLOP/s"])

    def test_analytic_is_a_lower_bound(self):
        for name in CANONICAL:
            flow = result("run", workload(name), "--fidelity", "flow", "--ignore-memory")
            analytic = result("run", workload(name), "--fidelity", "analytic", "--ignore-memory")
            self.assertLessEqual(analytic["step_time_s"], flow["step_time_s"] * (1 + 1e-9), name)
            self.assertEqual(analytic["engine"]["flows"], 0, name)

    def test_steps_take_as_long_as_flows(self):
        for name in ("tiny", "textbook-70b-64"):
            flow, step = (result("run", workload(name), "--fidelity", fidelity) for fidelity in ("flow", "step"))
            bound_s = result("check", workload(name), "--fidelity", "step")["estimate"]["lower_bound_s"]
            self.assertEqual(step["fidelity"], "step")
            self.assertGreaterEqual(step["engine"]["flows"], flow["engine"]["flows"])
            self.assertAlmostEqual(step["step_time_s"] / flow["step_time_s"], 1, delta=0.01)
            self.assertLessEqual(bound_s, step["step_time_s"])

    def test_published_step_times(self):
        # Narayanan et al., SC'21: 140 and 163 hardware TFLOP/s per GPU
        for name, published_s in (("gpt3-175b-1024", 31.47), ("megatron-1t-3072", 102.6)):
            step_s = result("run", workload(name))["step_time_s"]
            self.assertLess(abs(step_s / published_s - 1), 0.25, f"{name}: {step_s} s, published {published_s} s")

    def test_all_reduce_on_a_flat_network(self):
        size_B, ranks, bandwidth_Bps, latency_s = 2**30, 1024, 25e9, 1e-6
        value = result("collective", "all_reduce", "--platform", str(ROOT / "platforms/flat.yaml"), "-n", str(ranks),
                       "-b", "1GiB", "-e", "1GiB")
        expected_s = 2 * (ranks - 1) * (latency_s + size_B / ranks / bandwidth_Bps)
        self.assertAlmostEqual(value["rows"][0]["time_s"] / expected_s, 1, delta=1e-6)
        if not is_sanitized():
            self.assertLess(value["engine"]["peak_rss_B"], 100e6)

    def test_memory_of_large_jobs(self):
        """No more than what README's table of sizes promises, whatever the heap does."""
        if is_sanitized():
            self.skipTest("sanitizers have a heap of their own")
        mesh = "mesh={dp: 228, pp: 8, ep: 72, order: [dp, pp, ep]}"
        step = result("run", workload("deepseek-v3-gb200-576"), "--set", mesh, "--set", "platform.nodes=1824", "--set", "batch.global=1050624")
        self.assertLess(step["engine"]["peak_rss_B"], 300e6)
        reduced = result("collective", "all_reduce", "--platform", str(ROOT / "platforms/dgx-h100.yaml"), "--set", "platform.nodes=16384", "-n", "131072",
                         "-b", "1GiB", "-e", "1GiB")
        self.assertLess(reduced["engine"]["peak_rss_B"], 150e6)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
