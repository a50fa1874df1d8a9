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
        """Most memory that an import ever had, in small pages (PR_SET_THP_DISABLE): of large ones the system gives one more or less, 2 MB each."""
        code = "import ctypes, resource, subprocess, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); " \
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

    def test_without_measured_kernels_there_is_no_table(self):
        trace = kineto_trace.Trace(self.folder / "x.json")
        trace.kernel("nvjet", 0, 100)
        trace.close()
        refused = self.meshsim("import", "kineto", "x.json", "-o", "measured.csv", code=3)
        self.assertIn("x.json: error: no measured kernels to write: expected matrix products or attentions with their sizes, which the profiler records with "
                      "record_shapes=True, got none", refused.stderr)
        self.assertFalse((self.folder / "measured.csv").exists())
        trace = kineto_trace.Trace(self.folder / "x.json")
        trace.operator("aten::mm", 0, 1, 1, dims=[[64, 64], [64, 64]], types=["float", "float"])
        trace.kernel("nvjet", 10, 100, external=1)
        trace.close()
        refused = self.meshsim("import", "kineto", "x.json", "-o", "measured.csv", code=3)
        self.assertIn("no measured kernels to write: all 1 shapes are left out, the longest, gemm 64x64x64: ", refused.stderr)
        self.meshsim("import", "kineto", "x.json")

    def test_pages_are_80_columns_wide(self):
        self.write_two_ranks()
        trace = kineto_trace.Trace(self.folder / "x.json", 0, 8)
        trace.operator("aten::addmm", 0, 1, 1, dims=[[64], [64, 64], [64, 64]], types=["float"] * 3)
        trace.kernel("void at::native::" + "vectorized_elementwise_kernel<4, at::native::SiLU>" * 3, 0, 100, external=1)
        trace.collective("allreduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 50, 100, elements=1 << 20, out=1 << 20, described="a_group_of_some_long_name" * 3)
        trace.close()
        for words in (["rank0.json", "rank1.json"], ["x.json"], ["x.json", "--against", ROOT / "workloads/tiny.yaml"]):
            page = self.meshsim("import", "kineto", *words).stdout
            for line in page.splitlines():
                self.assertLessEqual(len(line), 80, line)

    # Events as versions of PyTorch's profiler wrote them: 1.8 (annotations are operators, ids as texts, no digits behind the point), 1.12, 2.1, 2.5; the host's
    # and the viewer's come along, and what is no JSON.  Source of the shapes: pytorch/kineto, tb_plugin/test and docs/traces, libkineto/src/output_json.cpp.
    VARIANTS = {
        "1.8": """{"schemaVersion": 1, "computeProperties": [{"id": 0, "name": "Tesla V100-DGXS-32GB", "major": 7}], "traceEvents": [
            {"ph": "X", "cat": "Operator", "name": "ProfilerStep#2", "pid": 24572, "tid": "24572", "ts": 1621401187223000, "dur": 100, "args": {"Device": 24572, "External id": 9}},
            {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 24572, "tid": "24572", "ts": 1621401187223005, "dur": 9, "args": {"Device": 24572, "External id": 41,
             "Input dims": [[512, 256], [256, 128]], "Input type": ["c10::Half", "c10::Half"], "Call stack": "train.py(3): step;"}},
            {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 24572, "tid": "24572", "ts": 1621401187223007, "dur": 5, "args": {"cbid": 211, "correlation": 335, "external id": 41, "external ts": 1}},
            {"ph": "X", "cat": "Kernel", "name": "volta_fp16_s884gemm_fp16_64x64_ldg8_f2f_nn", "pid": 0, "tid": "stream 7", "ts": 1621401187223010, "dur": 60,
             "args": {"queued": 0, "device": 0, "context": 1, "stream": "7", "correlation": 335, "external id": 41, "est. achieved occupancy %": N/A}},
            {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": "stream 7", "ts": 1621401187223080, "dur": 10,
             "args": {"device": 0, "context": 1, "stream": 7, "correlation": 336, "bytes": 4, "memory bandwidth (GB/s)": inf}},
            {"ph": "s", "id": 335, "pid": 24572, "tid": 24572, "ts": 1621401187223007, "cat": "async", "name": "launch"},
            {"ph": "i", "s": "g", "name": "Iteration Start: PyTorch Profiler", "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": 1621401187223000}]}""",
        "1.12": r"""{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Tesla V100-DGXS-32GB"}], "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2},
            "with_stack": 1, "record_shapes": 1, "traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 9, "tid": 9, "ts": 1658883870000000, "dur": 100, "args": {"External id": 9, "Trace name": "PyTorch Profiler", "Trace iteration": 0}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 1658883870000005, "dur": 9, "args": {"External id": 41, "Trace name": "PyTorch Profiler", "Trace iteration": 0,
             "Fwd thread id": 0, "Sequence number": 23, "Input Dims": [[512, 256], [256, 128]], "Input type": ["c10::Half", "c10::Half"]}},
            {"ph": "X", "cat": "python_function", "name": "C:\Users\me\train.py(3): step	x", "pid": 9, "tid": 9, "ts": 1658883870000001, "dur": 90, "args": {"Python id": 1, "Python parent id": null, "Python module id": 0}},
            {"ph": "X", "cat": "kernel", "name": "volta_fp16_s884gemm_fp16_64x64_ldg8_f2f_nn", "pid": 0, "tid": 7, "ts": 1658883870000010, "dur": 60,
             "args": {"External id": 41, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 335, "blocks per SM": 1.6, "grid": [128, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 31}},
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 1658883870000080, "dur": 10,
             "args": {"External id": 50, "device": 0, "context": 1, "stream": 7, "correlation": 336, "bytes": 4, "memory bandwidth (GB/s)": Infinity}},
            {"ph": "f", "id": 335, "pid": 0, "tid": 7, "ts": 1658883870000010, "cat": "ac2g", "name": "ac2g", "bp": "e"},
            {"name": "process_labels", "ph": "M", "ts": 1658883870000000, "pid": "Spans", "tid": 0, "args": {"labels": "GPU 0"}}],
            "traceName": "/tmp/worker0.pt.trace.json"}""",
        "2.1": """{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85100199936, "computeMajor": 8, "numSms": 108}],
            "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2}, "cupti_version": 18, "cuda_runtime_version": 12010, "displayTimeUnit": "ms", "traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 9, "tid": 9, "ts": 1.7e15, "dur": 100, "args": {"External id": 9, "Ev Idx": 0}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 1700000000000005, "dur": 9, "args": {"External id": 41, "Record function id": 0, "Ev Idx": 4,
             "Concrete Inputs": ["", ""], "Input Dims": [[512, 256], [256, 128]], "Input type": ["c10::Half", "c10::Half"]}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1700000000000007, "dur": 5, "args": {"External id": 41, "cbid": 211, "correlation": 41}},
            {"ph": "X", "cat": "kernel", "name": "ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_nn", "pid": 0, "tid": 7, "ts": 1700000000000010, "dur": 60,
             "args": {"External id": 41, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 41, "warps per SM": NaN}},
            {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7, "ts": 1700000000000080, "dur": 10, "args": {"device": 0, "stream": 7, "bytes": 4, "memory bandwidth (GB/s)": -Infinity}},
            {"ph": "X", "cat": "overhead", "name": "Activity Buffer Request", "pid": -1, "tid": 0, "ts": 1700000000000001, "dur": 7},
            {"ph": "X", "cat": "Trace", "ts": 1700000000000000, "dur": 100, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}}]}""",
        "2.5": """
            {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 102085492736}], "cupti_version": 24,
            "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2, "pg_count": 1, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl",
             "pg_size": 2, "ranks": [0, 1]}], "nccl_version": "2.21.5"}, "trace_id": "CBF1", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1727000000000000000, "traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 9, "tid": 9, "ts": 4183914210000.125, "dur": 100.000, "args": {"External id": 9, "Record function id": 0, "Ev Idx": 0}},
            {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#2", "pid": 0, "tid": 7, "ts": 4183914210000.125, "dur": 100.000, "args": {"External id": 9}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 4183914210005.125, "dur": 9.000, "args": {"External id": 41, "Record function id": 0, "Ev Idx": 4,
             "Concrete Inputs": ["", ""], "Input Dims": [[512, 256], [256, 128]], "Input Strides": [[256, 1], [128, 1]], "Input type": ["c10::Half", "c10::Half"]}},
            {"ph": "X", "cat": "kernel", "name": "nvjet_hsh_64x64_64x16_4x1_v_bz_TNN", "pid": 0, "tid": 7, "ts": 4183914210010.125, "dur": 60.000,
             "args": {"External id": 41, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 41, "graph id": 0, "graph node id": 0, "est. achieved occupancy %": 0}},
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD (Device -> Device)", "pid": 0, "tid": 7, "ts": 4183914210080.125, "dur": 10.000, "args": {"device": 0, "stream": 7, "bytes": 4}},
            {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 4183914210085.125, "dur": 1.000, "args": {"stream": 7, "correlation": 2, "device": 0}},
            {"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 7, "ts": 4183914210090.125, "dur": NaN, "args": {"device": 0, "stream": 7}},
            {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 4183914210100.125}], "traceName": "/tmp/x.json"}"""}

    def test_traces_of_all_versions(self):
        for version, text in self.VARIANTS.items():
            with self.subTest(version):
                (self.folder / "x.json").write_text(text, encoding="utf-8")
                found = self.read("x.json")
                step = found["mean"]
                self.assertEqual([row["step"] for row in found["steps"]], [2])
                self.assertEqual(found["ranks"][0]["device"], {"1.8": "Tesla V100-DGXS-32GB", "1.12": "Tesla V100-DGXS-32GB", "2.1": "NVIDIA A100-SXM4-80GB"}.get(version, "NVIDIA H100"))
                for name, time_us in (("wall_s", 100), ("compute_s", 60), ("copy_s", 10), ("idle_s", 30)):
                    self.assertAlmostEqual(step[name], time_us * US, delta=1e-12, msg=name)
                self.assertEqual([(row["kernel"], row["shape"], row["count"]) for row in found["shapes"]], [("gemm", "512x128x256", 1)])
                self.assertAlmostEqual(found["shapes"][0]["mean_s"], 60 * US, delta=1e-12)
                with gzip.open(self.folder / "x.pt.trace.json.gz", "wt", encoding="utf-8") as out:
                    out.write(text)
                self.assertEqual(self.read("x.pt.trace.json.gz")["mean"], step)

    def test_launches_tell_the_operator_where_ids_do_not(self):
        """Versions about 1.13 have a kernel's own correlation as its external id: thread and time of the launch lead to the operator.
        Source of the shape: facebookresearch/HolisticTraceAnalysis, its test of call stacks."""
        def event(cat, name, ts, dur, tid, **args):
            return {"ph": "X", "cat": cat, "name": name, "pid": 9, "tid": tid, "ts": ts, "dur": dur, "args": args}
        def mm(number, ts, tid, size):
            ids = {"External id": 2131000 + number, "correlation": 2131000 + number}
            return [event("cpu_op", "aten::mm", ts, 50, tid, **{"External id": 67000 + number, "Input Dims": [[512, 256], [256, size]], "Input type": ["c10::Half"] * 2}),
                    event("cuda_runtime", "cudaLaunchKernel", ts + 10, 5, tid, **ids, cbid=211),
                    event("kernel", "ampere_fp16_s16816gemm", 1000 + 100 * number, 10 * number, 7, **ids, device=0, stream=7),
                    event("cuda_runtime", "cudaLaunchKernel", ts + 20, 5, tid, **{key: value + 500 for key, value in ids.items()}, cbid=211),
                    event("kernel", "void at::native::vectorized_elementwise_kernel", 1050 + 100 * number, 5, 7, device=0, stream=7,
                          **{key: value + 500 for key, value in ids.items()})]
        events = [*mm(1, 0, 11, 64), *mm(2, 5, 12, 128), *mm(3, 60, 11, 192)]
        lost = {"External id": 5, "correlation": 5}
        events += [event("cuda_runtime", "cudaLaunchKernel", 55, 1, 11, **lost), event("kernel", "ampere_fp16_s16816gemm", 2000, 7, 7, **lost, device=0, stream=7)]
        (self.folder / "x.json").write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
        self.meshsim("import", "kineto", "x.json", "-o", "measured.csv")
        self.assertEqual(sorted((self.folder / "measured.csv").read_text().splitlines()),
                         ["gemm,512x128x256,20 us", "gemm,512x192x256,30 us", "gemm,512x64x256,10 us", "kernel,shape,time"])

    def test_words_between_pieces(self):
        """A value that is no number lies across the end of a piece of 64 KiB, wherever it is cut."""
        head = '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "nvjet", "ts": 0, "dur": 5, "args": {"stream": 7, "pad": "'
        for word in ("NaN", "-Infinity", "nan", "null", "-12"):
            for before in range(0, len(word) + 1):
                text = head + "x" * (65536 - before - len(head) - len('", "warps": ')) + f'", "warps": {word}' + "}}]}"
                self.assertEqual(text[65536 - before:].split("}")[0], word)
                (self.folder / "x.json").write_text(text, encoding="utf-8")
                self.assertAlmostEqual(self.read("x.json")["mean"]["compute_s"], 5 * US)

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
        kernel_B = 200  # of three kernels in each layer
        self.assertLess(host_B - small_B, (1 << 20) + kernel_B * 3 * 20 * size_MB)
        self.assertLess(gpu_B - small_B, (1 << 20) + kernel_B * 3 * 2 * 400 * size_MB)
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
            ("empty.json", b"", "empty.json:1: error: expected JSON, an object with traceEvents, got an empty file"),
            ("blank.json", b" \n\n", "blank.json:3: error: expected JSON, an object with traceEvents, got an empty file"),
            ("quoted.json", b'{"traceEvents": [\n{"ph": "X", "cat": "kernel", "name": "k", "ts": 1,\n "dur": "50"}]}',
             "quoted.json:3: error: 'dur' of an event: expected a number of microseconds, got the text '50'"),
            ("null.json", b'{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": null}]}',
             "'ts' of an event: expected a number of microseconds, got 'null'"),
            ("word.json", b'{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": nonsense}]}', "not valid JSON"),
            ("text.json", b"ncclAllReduce took 5 us\n", "text.json:1: error: not valid JSON"),
            ("host.json", b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2}]}', "no work of a GPU"),
            ("deep.json", b'{"traceEvents": [{"args": ' + b"[" * 5000000, "at most 64 levels"),
            ("held.json", b'{"traceEvents": [{"args": N/A, "x": ' + b"N" * 5000000, "at most 256 KiB"),
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

    def test_ranks_of_a_run_are_what_it_sums_up(self):
        """`run --ranks`, which --against asks: its rows give the means that `run` prints, over all ranks and over kernels' calls."""
        for workload, sets in (("tiny", ()), ("mixtral-8x7b-64", ("--set", "batch.global=64"))):
            found = json.loads(self.meshsim("run", ROOT / f"workloads/{workload}.yaml", *sets, "--json", "--ranks").stdout)
            self.assertEqual(sum(row["count"] for row in found["ranks"]), found["gpus"])
            for shares, times in (("time_share", "time_s"), ("other_parts", "other_s")):
                for key, share in found[shares].items():
                    mean_s = sum(row["count"] * row[times][key] for row in found["ranks"]) / found["gpus"]
                    self.assertAlmostEqual(mean_s, share * found["step_time_s"], delta=1e-9 * found["step_time_s"], msg=key)
            for kernel in found["kernels"]:
                self.assertEqual(len(kernel["count_by_pp_rank"]), found["mesh"].get("pp", 1))
                self.assertAlmostEqual(sum(kernel["count_by_pp_rank"]) / found["mesh"].get("pp", 1), kernel["count"], delta=1e-9 * kernel["count"])
            for row in found["collectives"]:
                self.assertLessEqual(row["group_size"], found["gpus"])
        refused = self.meshsim("run", ROOT / "workloads/tiny.yaml", "--ranks", code=2)
        self.assertIn("'--ranks' needs '--json'", refused.stderr)

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
