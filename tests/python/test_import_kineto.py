#!/usr/bin/env python3
"""Importing traces of PyTorch's profiler: two ranks by hand, what the tables are good for, memory, and what is refused.

usage: test_import_kineto.py MESHSIM [unittest arguments]
"""

import csv
import gzip
import json
import os
import subprocess
import sys

import programs
from programs import ROOT

sys.path.insert(0, str(ROOT / "tests" / "support"))
import kineto_trace  # noqa: E402

US = 1e-6


class ImportKineto(programs.ProgramTest):
    def read(self, *words):
        return json.loads(self.meshsim("import", "kineto", *words, "--json").stdout)

    def peak_B(self, *words):
        """Most memory that an import ever had."""
        code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); " \
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        done = subprocess.run([sys.executable, "-c", code, self.program, "import", "kineto", *map(str, words)], cwd=self.folder,
                              capture_output=True, check=True, text=True, timeout=100)
        return 1024 * int(done.stdout)

    def write_two_ranks(self):
        """Of each rank two steps of 200 us: a product of 100 us, and a reduce-scatter of which the second rank exposes more."""
        for rank, shown_us in ((0, 20), (1, 50)):
            trace = kineto_trace.Trace(self.folder / f"rank{rank}.json", rank, 16)
            for number in range(2):
                at_us = 200.0 * number
                trace.step(number + 3, at_us, 200)
                trace.operator("aten::mm", at_us, 5, number + 1, dims=[[512, 256], [256, 1024]], types=["c10::BFloat16"] * 2)
                trace.kernel("nvjet_hsh_128x128", at_us + 10, 100, external=number + 1)
                trace.collective("_reduce_scatter_base", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", at_us + 80, 30 + shown_us, elements=4096,
                                 out=1024, described="mesh_dp_shard", size=4, dtype="Float")
            trace.close()

    def test_two_ranks(self):
        self.write_two_ranks()
        found = self.read("rank0.json", "rank1.json")
        self.assertEqual([(row["rank"], row["world_size"], row["steps"]) for row in found["ranks"]], [(0, 16, 2), (1, 16, 2)])
        self.assertEqual([(row["rank"], row["step"]) for row in found["steps"]], [(0, 3), (0, 4), (1, 3), (1, 4)])
        for row in found["steps"]:
            self.assertAlmostEqual(row["wall_s"], 200 * US)
            self.assertAlmostEqual(row["compute_s"], 100 * US)
            self.assertAlmostEqual(row["exposed_s"], (20 if row["rank"] == 0 else 50) * US)
            self.assertAlmostEqual(row["compute_s"] + row["exposed_s"] + row["copy_s"] + row["idle_s"], row["wall_s"], delta=1e-15)
        self.assertAlmostEqual(found["mean"]["exposed_s"], 35 * US)
        channel = found["channels"][0]
        self.assertEqual((channel["kind"], channel["group"], channel["group_size"], channel["count"]), ("reduce_scatter", "mesh_dp_shard", 4, 1))
        self.assertAlmostEqual(channel["busy_s"], 65 * US)
        self.assertEqual((found["collectives"][0]["size_B"], found["collectives"][0]["count"]), (16384, 4))

    def test_compressed_is_the_same(self):
        self.write_two_ranks()
        with gzip.open(self.folder / "rank0.json.gz", "wb") as out:
            out.write((self.folder / "rank0.json").read_bytes())
        plain, packed = self.read("rank0.json"), self.read("rank0.json.gz")
        plain["ranks"][0].pop("file"), packed["ranks"][0].pop("file")
        self.assertEqual(plain, packed)

    def test_measured_kernels_serve_at_once(self):
        kineto_trace.write(self.folder / "x.json")
        self.meshsim("import", "kineto", "x.json", "-o", "measured.csv", "--kernels", "all.csv")
        self.assertEqual((self.folder / "measured.csv").read_text(), "kernel,shape,time\ngemm,4096x11008x4096,60 us\n")
        with open(self.folder / "all.csv", encoding="utf-8") as text:
            rows = list(csv.DictReader(text))
        self.assertEqual([(row["class"], row["count"], row["streams"]) for row in rows],
                         [("gemm", "20", "7"), ("communication", "20", "20"), ("elementwise", "20", "7")])
        job = ["run", ROOT / "workloads/textbook-70b-64.yaml", "--json", "--set"]
        self.meshsim(*job, f"platform.gpu.measured={self.folder}/measured.csv")

    def test_calibrate_takes_measured_kernels(self):
        trace = kineto_trace.Trace(self.folder / "x.json")
        sizes = [(1024 * m, 1024 * n, 4096) for m in range(1, 5) for n in range(1, 5)]
        for number, (m, n, k) in enumerate(sizes):
            trace.operator("aten::mm", 0, 1, number + 1, dims=[[m, k], [k, n]], types=["c10::BFloat16"] * 2)
            trace.kernel("nvjet", 1000 * number, 2 * m * n * k / 500e6, external=number + 1)  # 500 TFLOP/s
        trace.close()
        self.meshsim("import", "kineto", "x.json", "-o", "measured.csv")
        found = json.loads(self.meshsim("calibrate", "--platform", "dgx-h100", "--kernels", "measured.csv", "--fit", "gpu.gemm_efficiency", "--json").stdout)
        self.assertEqual(len((self.folder / "measured.csv").read_text().splitlines()), 17)
        self.assertIn("gemm_efficiency", json.dumps(found))

    def test_steps_without_annotations(self):
        trace = kineto_trace.Trace(self.folder / "x.json")
        for at_us in (0, 100, 200, 300):
            trace.kernel("nvjet", at_us, 100)
        trace.close()
        found = self.read("x.json", "--steps", 4)
        self.assertAlmostEqual(found["mean"]["wall_s"], 100 * US)
        self.assertEqual((found["ranks"][0]["steps"], found["steps"][0]["step"]), (0, -1))

    def test_memory_follows_the_kernels_not_the_file(self):
        if self.is_sanitized():
            self.skipTest("sanitizers keep what is freed")
        kineto_trace.write(self.folder / "small.json", steps=1, layers=5)
        size_MB = int(os.environ.get("MS_TRACE_MB", "5"))
        kineto_trace.write(self.folder / "host.json", steps=1, layers=20 * size_MB, host=220)
        kineto_trace.write(self.folder / "gpu.json", steps=2, layers=400 * size_MB)
        small_B, host_B, gpu_B = (self.peak_B(f"{name}.json") for name in ("small", "host", "gpu"))
        self.assertGreater((self.folder / "host.json").stat().st_size, size_MB << 20)
        self.assertGreater((self.folder / "gpu.json").stat().st_size, size_MB << 20)
        self.assertLess(host_B - small_B, 1 << 20)
        self.assertLess(gpu_B - small_B, (1 << 20) + 200 * 3 * 2 * 400 * size_MB)
        self.assertLess(gpu_B, 200 << 20)

    def test_ranks_must_go_together(self):
        self.write_two_ranks()
        (self.folder / "again.json").write_text((self.folder / "rank1.json").read_text())
        done = self.meshsim("import", "kineto", "rank0.json", "rank1.json", "again.json", code=3)
        self.assertIn("again.json: error: distributedInfo: rank 1 is that of 'rank1.json', too", done.stderr)
        (self.folder / "other.json").write_text((self.folder / "rank1.json").read_text().replace('"world_size": 16', '"world_size": 8').replace('"rank": 1', '"rank": 2'))
        done = self.meshsim("import", "kineto", "rank0.json", "other.json", code=3)
        self.assertIn("expected a world of 16 ranks, as in 'rank0.json', got 8", done.stderr)

    def test_bad_files(self):
        self.write_two_ranks()
        whole = (self.folder / "rank0.json").read_bytes()
        cut = gzip.compress(whole)[:-40]
        for name, data, said in (
            ("cut.json", whole[:2000], "not valid JSON: parse error: premature EOF"),
            ("cut.json.gz", cut, "damaged compression: unexpected end of file"),
            ("bad.json.gz", cut[:60] + b"\xff" * 40, "damaged compression:"),
            ("empty.json", b"", "not valid JSON"),
            ("text.json", b"ncclAllReduce took 5 us\n", "text.json:1: error: not valid JSON"),
            ("host.json", b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2}]}', "no work of a GPU"),
            ("deep.json", b'{"traceEvents": [{"args": ' + b"[" * 5000000, "at most 64 levels"),
        ):
            with self.subTest(name):
                (self.folder / name).write_bytes(data)
                self.assertIn(said, self.meshsim("import", "kineto", name, code=3).stderr)
        self.assertIn("expected a JSON file, got a directory", self.meshsim("import", "kineto", ".", code=3).stderr)
        self.assertIn("no such file", self.meshsim("import", "kineto", "none.json", code=3).stderr)

    def profile(self, summary, rank, axes, world):
        """What a profiler would write of a simulated rank: from its Chrome trace, as a process of it."""
        events = json.loads((self.folder / "own.json").read_text())["traceEvents"]
        names = {event["pid"]: event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "process_name"}
        process = next(pid for pid, name in names.items() if f"rank {rank}" in name.split(" (")[0])
        trace = kineto_trace.Trace(self.folder / f"rank{rank}.json", rank, world)
        trace.step(0, 0, summary["step_time_s"] / US)
        for event in events:
            if event["ph"] != "X" or event["pid"] != process or event["cat"] == "idle":
                continue
            if event["cat"] in axes:
                kind = event["name"]
                trace.collective(kind, "ncclDevKernel_SendRecv" if kind == "p2p" else f"ncclDevKernel_{kind}", event["ts"], event["dur"],
                                 described=f"mesh_{event['cat']}" if event["cat"] != "other" else "default_pg")
            else:
                name = "multi_tensor_apply_kernel" if event["cat"] == "optimizer" else "nvjet_hsh"
                trace.kernel(name, event["ts"], event["dur"])
        trace.close()
        return f"rank{rank}.json"

    def against(self, workload, *sets):
        """A simulated step as a profile, and that profile beside the simulated step."""
        words = [word for key in sets for word in ("--set", key)]
        summary = json.loads(self.meshsim("run", ROOT / f"workloads/{workload}.yaml", *words, "-o", "own.h5", "--json").stdout)
        self.meshsim("report", "own.h5", "-o", "own.json")
        file = self.profile(summary, 0, ("tp", "cp", "ep", "pp", "dp", "other"), summary["gpus"])
        return summary, self.read(file, "--against", ROOT / f"workloads/{workload}.yaml", *words)

    def check_sums(self, parts):
        """Parts of the second level sum to those of the first, and these to the step, on both sides."""
        for side in ("measured_s", "predicted_s"):
            value = {row["part"]: row[side] or 0 for row in parts}
            self.assertAlmostEqual(value["step"], value["computation"] + value["waiting"], delta=1e-9 * value["step"])
            for whole in ("computation", "waiting"):
                inside = sum(row[side] or 0 for row in parts if row["level"] == 2 and row["part"].startswith(whole + "."))
                self.assertAlmostEqual(value[whole], inside, delta=1e-9 * value["step"], msg=f"{side} {whole}")

    def test_a_simulated_step_is_measured_as_predicted(self):
        for workload, sets in (("tiny", ()), ("textbook-70b-64", ()), ("tiny", ("mesh={pp: 1, dp: 8}",)), ("mixtral-8x7b-64", ("batch.global=64",))):
            with self.subTest(workload, sets=sets):
                summary, found = self.against(workload, *sets)
                parts = {row["part"]: row for row in found["against"]["parts"]}
                self.assertTrue(found["against"]["of_traced_ranks"])
                self.check_sums(found["against"]["parts"])
                self.assertAlmostEqual(parts["step"]["measured_s"], summary["step_time_s"], delta=2e-9)
                for part in ("step", "computation", "waiting"):
                    self.assertAlmostEqual(parts[part]["ratio"], 1, delta=1e-3, msg=part)
                for row in found["against"]["communication"]:
                    self.assertNotEqual(row["axis"], "unmatched")
                    self.assertTrue(row["groups"], f"only predicted: {row}")

    def test_what_cannot_be_matched_is_named(self):
        trace = kineto_trace.Trace(self.folder / "x.json", 0, 8)
        trace.step(1, 0, 1000)
        trace.kernel("nvjet", 0, 500)
        trace.collective("allreduce", "ncclDevKernel_AllReduce", 500, 100, group="17", size=3)
        trace.collective("_allgather_base", "ncclDevKernel_AllGather", 600, 50, described="mesh_cp", size=2)
        trace.kernel("ncclDevKernel_Reduce_Sum", 650, 50, stream=20)
        trace.close()
        found = self.read("x.json", "--against", ROOT / "workloads/tiny.yaml")
        self.check_sums(found["against"]["parts"])
        rows = {(row["axis"], row["kind"]): row for row in found["against"]["communication"]}
        self.assertAlmostEqual(rows["unmatched", "all_reduce"]["measured_exposed_s"], 100 * US)
        self.assertEqual(rows["unmatched", "all_reduce"]["groups"], "17")
        self.assertAlmostEqual(rows["unmatched", "other"]["measured_busy_s"], 50 * US)
        self.assertIsNone(rows["cp", "all_gather"]["predicted_calls"])
        self.assertIsNone(rows["tp", "all_reduce"]["measured_calls"])
        parts = {row["part"]: row for row in found["against"]["parts"]}
        self.assertAlmostEqual(parts["waiting.unmatched"]["measured_s"], 150 * US)
        self.assertAlmostEqual(parts["waiting.idle"]["measured_s"], 300 * US)

    def test_a_trace_of_another_world_is_held_to_all_ranks(self):
        self.write_two_ranks()
        done = self.meshsim("import", "kineto", "rank0.json", "--against", ROOT / "workloads/tiny.yaml")
        self.assertIn("means over all 8 ranks", done.stderr)
        self.assertIn("computation", done.stdout)
        self.meshsim("import", "kineto", "rank0.json", "--set", "mesh.dp=2", code=2)
        self.meshsim("import", "kineto", "rank0.json", "--against", "none.yaml", code=3)

    def test_own_traces_are_no_profiles(self):
        self.meshsim("run", ROOT / "workloads/tiny.yaml", "-o", "t.h5")
        self.meshsim("report", "t.h5", "-o", "t.json")
        done = self.meshsim("import", "kineto", "t.json", code=3)
        self.assertIn("expected a trace of PyTorch's profiler, got one that meshsim wrote", done.stderr)

    def test_options_of_other_kinds_are_refused(self):
        self.write_two_ranks()
        self.meshsim("import", "kineto", "rank0.json", "--platform", "dgx-h100", code=2)
        self.meshsim("import", "kineto", "rank0.json", "-o", "x.yaml", code=2)
        self.meshsim("import", "kineto", "rank0.json", "--steps", "0", code=2)


if __name__ == "__main__":
    programs.main(__doc__)
