#!/usr/bin/env python3
"""The reader of traces of PyTorch's profiler, by itself: traces small enough to do by hand, faults with their place, and any bytes.

usage: test_kineto_reader.py MESHSIM [unittest arguments]      MS_SEED replays the mutations, MS_RUNS says how many
"""

import contextlib
import io
import json
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path

import programs
from programs import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "python"))
from meshsim.tools._call import INPUT, Call, Fault  # noqa: E402
from meshsim.tools.importers import kineto  # noqa: E402
from meshsim.tools.importers.kineto import json_stream, names, page  # noqa: E402

US = 1e-6
SEED = int(os.environ.get("MS_SEED", random.randrange(2**32)))
RUNS = int(os.environ.get("MS_RUNS", 1500))


class ReaderTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="meshsim-test-")))
        self.events = []
        self.said = ""

    def read_bytes(self, data, steps=1):
        """The trace of a text. What is said of it goes into `said`."""
        path = self.folder / "trace.json"
        path.write_bytes(data)
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                return kineto.read(Call(Path("meshsim"), "import"), [str(path)], steps)
        finally:
            self.said = said.getvalue().replace(str(path), "trace.json")

    def read(self, **head):
        return self.read_bytes(json.dumps({**head, "traceEvents": self.events}).encode())

    def event(self, cat, name, ts, dur, tid=7, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": dur, "args": args})

    def kernel(self, name, ts, dur, external=None, **args):
        self.event("kernel", name, ts, dur, device=0, stream=7, **({} if external is None else {"External id": external}), **args)

    def operator(self, name, number, **args):
        self.event("cpu_op", name, 1, 2, tid=1, **{"External id": number, **args})

    def near(self, row, **values):
        for key, value in values.items():
            self.assertAlmostEqual(row[key], value, delta=1e-12, msg=key)


class TwoSteps(ReaderTest):
    """Two steps of 100 us: a product beside and one after an all-reduce of which 20 us are exposed, a copy; then a product and an optimizer that run 20 us
    together, and an all-gather that runs into the time after the steps."""

    def setUp(self):
        super().setUp()
        sizes = {"Input Dims": [[64, 32], [32, 16]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
        self.event("user_annotation", "ProfilerStep#1", 0, 99)
        self.event("user_annotation", "ProfilerStep#2", 100, 100)
        self.operator("aten::mm", 1, **sizes)
        self.operator("aten::mm", 2, **sizes)
        self.kernel("nvjet_hsh_256x128", 10, 20, external=1)
        self.kernel("void at::native::vectorized_elementwise_kernel<4>", 30, 10)
        self.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 25, 35, external=9, **{
            "Collective name": "allreduce", "In msg nelems": 512, "Out msg nelems": 512, "Group size": 4, "dtype": "BFloat16", "Process Group Name": "1",
            "Process Group Description": "mesh_tp"})
        self.kernel("nvjet_hsh_256x128", 60, 30, external=2)
        self.event("gpu_memcpy", "Memcpy HtoD", 92, 3, stream=7, device=0, bytes=4)
        self.kernel("nvjet_hsh_256x128", 110, 40)
        self.kernel("multi_tensor_apply_kernel<FusedAdam>", 130, 40)
        self.kernel("ncclDevKernel_AllGather_RING_LL", 190, 20)
        self.trace = self.read(schemaVersion=1, deviceProperties=[{"id": 0, "name": "NVIDIA H100"}], distributedInfo={"rank": 3, "world_size": 8})

    def test_parts_of_a_step(self):
        first, second = self.trace.steps
        self.near(first, wall_s=100 * US, compute_s=60 * US, communication_s=35 * US, exposed_s=20 * US, copy_s=3 * US, idle_s=17 * US, busy_s=83 * US)
        self.near(first["class_s"], gemm=50 * US, elementwise=10 * US)
        self.near(second, compute_s=60 * US, exposed_s=10 * US, idle_s=30 * US)
        self.near(second["class_s"], gemm=30 * US, optimizer=30 * US)
        self.assertEqual([(row["rank"], row["step"]) for row in self.trace.steps], [(3, 1), (3, 2)])
        self.near(self.trace.ranks[0], outside_s=10 * US, world_size=8)
        self.assertEqual(self.trace.ranks[0]["device"], "NVIDIA H100")
        self.near(self.trace.mean, exposed_s=15 * US)

    def test_communication_by_kind_and_group(self):
        reduce, gather = self.trace.channels
        self.assertEqual((reduce["kind"], reduce["group"], reduce["group_size"]), ("all_reduce", "mesh_tp", 4))
        self.near(reduce, count=0.5, busy_s=17.5 * US, exposed_s=10 * US)
        self.assertEqual((gather["kind"], gather["group"]), ("all_gather", ""))
        self.near(gather, exposed_s=5 * US)
        self.assertEqual((self.trace.collectives[0]["collective"], self.trace.collectives[0]["size_B"]), ("allreduce", 1024))

    def test_a_product_is_timed_without_communication_beside_it(self):
        self.assertEqual([(row["count"], row["beside"]) for row in self.trace.shapes], [(2, 1)])
        self.assertEqual(self.trace.measured(), [{"kernel": "gemm", "shape": "64x16x32", "time": "30 us"}])

    def test_kernels_by_name(self):
        self.assertEqual(len(self.trace.kernels), 6)
        first = self.trace.kernels[0]
        self.assertEqual((first["name"], first["count"], first["streams"]), ("nvjet_hsh_256x128", 3, "7"))
        self.near(first, total_s=90 * US, mean_s=30 * US, min_s=20 * US, max_s=40 * US)


class Reading(ReaderTest):
    def test_steps_of_the_gpu_go_before_those_of_the_host(self):
        """Work of a step runs behind the host: the annotations of the GPU say when."""
        for cat, number, ts, dur in (("user_annotation", 5, 0, 10), ("user_annotation", 6, 10, 10), ("gpu_user_annotation", 5, 50, 30),
                                     ("gpu_user_annotation", 5, 55, 35), ("gpu_user_annotation", 6, 100, 40)):  # the second one on another stream
            self.event(cat, f"ProfilerStep#{number}", ts, dur)
        self.kernel("gemm", 50, 30)
        self.kernel("gemm", 100, 40)
        trace = self.read()
        self.assertTrue(trace.ranks[0]["gpu_steps"])
        first, second = trace.steps
        self.near(first, wall_s=50 * US, idle_s=20 * US)
        self.near(second, wall_s=40 * US)

    def test_a_trace_without_steps_is_one(self):
        self.kernel("gemm", 50, 30)
        self.kernel("gemm", 90, 10)
        step, = self.read().steps
        self.near(step, step=-1, wall_s=50 * US, idle_s=10 * US)

    def test_times_are_exact_to_the_nanosecond(self):
        """Microseconds since 1970 with nanoseconds have more digits than a float."""
        text = '{"traceEvents": [' + ", ".join(f'{{"ph": "X", "cat": "kernel", "name": "gemm", "ts": {ts}, "dur": {dur}}}' for ts, dur in (
            ("1700000000000000.001", "0.003"), ("1700000000000000.014", "1e-3"))) + "]}"
        step, = self.read_bytes(text.encode()).steps
        self.assertAlmostEqual(step["wall_s"], 14e-9, delta=1e-15)
        self.assertAlmostEqual(step["compute_s"], 4e-9, delta=1e-15)

    def test_older_versions_say_what_is_sent_on_the_host_only(self):
        self.operator("record_param_comms", 4, **{"Collective name": "_allgather_base", "dtype": "Float", "In msg nelems": 8, "Out msg nelems": 32,
                                                  "Group size": 4, "Process Group Name": "7"})
        self.kernel("ncclKernel_AllGather_RING_LL_Sum_int8_t", 0, 10, external=4)
        row, = self.read().collectives
        self.assertEqual((row["group"], row["size_B"]), ("7", 128))

    def test_shapes_of_operators(self):
        """What stands in a table of measured kernels, and what does not."""
        half = ["c10::Half"] * 3
        for name, dims, types, values, shape, is_in in (
                ("aten::addmm", [[16], [64, 32], [32, 16]], half, [], "64x16x32", True),
                ("aten::addmm", [[64, 16], [64, 32], [32, 16]], half, [], "64x16x32", False),
                ("aten::bmm", [[8, 64, 32], [8, 32, 16]], half, [], "64x16x32x8", True),
                ("aten::mm", [[64, 32], [32, 16]], ["float"] * 2, [], "64x16x32", False),
                ("aten::mm", None, None, None, "aten::mm", False),
                ("aten::mm", [[64, 32], [33, 16]], [], [], "aten::mm", False),
                ("aten::mm", [[[64, 32]], [[32, 16]]], half, [], "aten::mm", False),
                ("aten::_flash_attention_forward", [[2, 1024, 16, 128], [2, 1024, 4, 128], [2, 1024, 4, 64], [], [], [], [], [], []], half,
                 [""] * 5 + ["1024", "1024", "0.", "True"], "2x1024x16x4x128x64", True),
                ("aten::_scaled_dot_product_cudnn_attention", [[2, 16, 1024, 128], [2, 4, 1024, 128], [2, 4, 1024, 128]], half,
                 [""] * 4 + ["True", "0.", "False"], "2x1024x16x4x128x128", False)):
            with self.subTest(name, dims=dims):
                self.events = []
                self.operator(name, 1, **({} if dims is None else {"Input Dims": dims, "Input type": types, "Concrete Inputs": values}))
                self.kernel("k", 0, 10, external=1)
                self.kernel("splitKreduce", 10, 2, external=1)
                row, = self.read().shapes
                self.assertEqual((row["shape"], row["left_out"] is None), (shape, is_in), row["left_out"])
                self.near(row, mean_s=12 * US)

    def test_classes_of_names(self):
        for name, kernel_class in (("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", "gemm"), ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "gemm"),
                                   ("void cutlass::device_kernel<flash::FlashAttnFwdSm90<...>>", "attention"),
                                   ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop", "attention"),
                                   ("void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel", "elementwise"),
                                   ("fused_rotary_embedding_kernel", "elementwise"), ("void at::native::indexSelectLargeIndex<c10::BFloat16>", "embedding"),
                                   ("triton_red_fused__log_softmax_nll_loss_forward_3", "loss"),
                                   ("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor>", "optimizer"),
                                   ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "communication"), ("my_secret_kernel", "other")):
            self.assertEqual(names.CLASSES[names.class_of(name)], kernel_class, name)

    def test_axes_of_groups(self):
        for group, axis in (("TENSOR_MODEL_PARALLEL_GROUP", "tp"), ("DATA_PARALLEL_GROUP_WITH_CP", "dp"), ("mesh_dp_shard", "dp"), ("default_pg", "other"),
                            ("PIPELINE_MODEL_PARALLEL_GROUP", "pp"), ("my-ep.group", "ep"), ("17", None), ("cpu", None), ("", None)):
            self.assertEqual(names.axis_of(group), axis, group)

    def test_broken_events_are_left_out_and_told_of(self):
        self.kernel("gemm", 50, 30)
        self.kernel("gemm", 100, -5)
        self.events.append({"ph": "X", "cat": "kernel", "name": "gemm", "ts": 5})
        self.kernel("strange thing", 5, 1)
        for _ in range(2):
            self.event("kernel", "gemm", 5, 1, device=3)
        self.kernel("gemm", 100, 5)
        text = '{"traceEvents": [\n' + ",\n".join(map(json.dumps, self.events)) + "]}"
        trace = self.read_bytes(text.encode())
        self.assertIn("trace.json:3: note: 1 events, the first of them here, last less than no time", self.said)
        self.assertIn("trace.json:4: note: 1 events, the first of them here, have no 'ts' or no 'dur'", self.said)
        self.assertIn("2 events are of other GPUs than 0", self.said)
        self.assertIn("1 kernels have names that no rule knows, 1e-06 s altogether; they count as computation of class 'other'; the longest: 'strange thing'", self.said)
        self.near(trace.mean, compute_s=36 * US)

    def test_durations_on_pages(self):
        for time_s, text in ((0, "0 s"), (1e-13, "0.1 ps"), (999.97e-6, "1 ms"), (1.234e-3, "1.23 ms"), (99.95, "100 s"), (999.4, "999.4 s"), (1000, "16.7 min"), (-2e-6, "-2 us"),
                             (86400, "24 h"), (1e6, "11.6 d")):
            self.assertEqual(page.duration(time_s), text)


class Faults(ReaderTest):
    def refuse(self, data, said):
        with self.assertRaises(Fault) as caught:
            self.read_bytes(data)
        self.assertEqual(caught.exception.code, INPUT)
        self.assertIn(said, self.said)

    def test_faults_are_named_with_their_place(self):
        for text, said in (
                ("", "trace.json:1: error: expected JSON, an object with traceEvents, got an empty file"), ("[]", "got a list"),
                ("5", "expected an object with traceEvents"), ("{}", "no traceEvents"), ('{"traceEvents": 5}', "expected a list of events, got a value"),
                ('{"traceEvents": {}}', "expected a list of events, got an object"), ('{"traceEvents": [5]}', "trace.json:1: error: expected an event"),
                ('{"traceEvents": [[]]}', "expected an event, which is an object, got a list"),
                ('{"traceEvents": [\n\n{"ph": "X", "ts": "early"}]}', "trace.json:3: error: 'ts' of an event: expected a number of microseconds, got the text 'early'"),
                ('{"traceEvents": [{"dur": [1]}]}', "'dur' of an event: expected a number of microseconds, got a list"),
                ('{"traceEvents": [{"ts": 99999999999999999999}]}', "expected a number of microseconds, got '9"), ('{"traceEvents": []}', "no work of a GPU"),
                ('{"traceEvents": [\n{"ph": "X",', "trace.json:2: error: not valid JSON: parse error: premature EOF"),
                ('{"otherData": {"program": "meshsim"}, "traceEvents": []}', "one that meshsim wrote"), ('{"traceEvents": []} {}', "trailing garbage"),
                ('{"traceEvents": [],}', "not valid JSON"), ("\ufeff{}", "not valid JSON"), ('{"x": ' + "9" * 5000 + "}", "not valid JSON")):
            with self.subTest(text[:60]):
                self.refuse(text.encode(), said)

    def test_nesting_has_an_end(self):
        self.refuse(b'{"traceEvents": [' + b"[" * 1000, "expected an event")
        self.refuse(b'{"x": ' + b"[" * 70, "at most 64 levels")
        self.refuse(b'{"x": ' + b"[" * 64 + b"]" * 64 + b"}", "at most 64 levels")
        self.refuse(b'{"x": ' + b"[" * 63 + b"]" * 63 + b', "traceEvents": []}', "no work of a GPU")
        self.refuse(b'{"traceEvents": [{"name": "' + b"[{" * 5000 + b'"}]}', "no work of a GPU")

    def test_a_string_without_end_is_given_up(self):
        self.refuse(b'{"name": "' + b"0123456789012345678901234567890123456789\\n" * 50000, "at most 256 KiB")
        self.refuse(b'{"a": N/A, "name": "' + b"0123456789012345678901234567890123456789\\n" * 50000, "at most 256 KiB")
        self.refuse(b'{"name": "' + b"0" * 300000 + b'"}', "at most 256 KiB")

    def test_a_value_beside_the_events_has_an_end(self):
        self.refuse(b'{"x": [' + b"1, " * 6000000 + b'1], "traceEvents": []}', "at most 16 MiB")


class Mending(unittest.TestCase):
    def mend(self, text, cuts):
        mender = json_stream.Mender()
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)])]
        return "".join(mender.take(piece, i == len(cuts)) for i, piece in enumerate(pieces))

    def test_pieces_are_as_the_whole(self):
        text = '{"a": NaN, "b": [-Infinity, inf, N/A,-nan ], "NaN \\" N": null, "C:\\Users\\u00e4\\users\\\\": nan, "d": -5, "e": true}'
        expected = {"a": "~", "b": ["~"] * 4, 'NaN " N': None, "C:/sersä/sers\\": "~", "d": -5, "e": True}
        self.assertEqual(json.loads(self.mend(text, [])), expected)
        for first in range(len(text) + 1):
            for second in (first, min(first + 1, len(text)), min(first + 7, len(text))):
                self.assertEqual(self.mend(text, [first, second]), self.mend(text, []), f"{first} {second}")
        self.assertEqual(len(self.mend(text, [])), len(text))

    def test_valid_json_stays(self):
        text = json.dumps({"a": [1.5, -3, None, True, "N/A inf \\ \" \n é"], "b": "-"})
        self.assertEqual(self.mend(text, [5, 30]), text)


class AnyBytes(ReaderTest):
    """Mutated traces: what is refused is explained; of what is read every step is the sum of its parts, and tables hold what they promise."""

    PARTS = [b"NaN", b'"', b"[", b"{}", b",", b"1e9", b"null", b"\\u0041", b"-", b"N/A", b'"dur": 5', b'"cat": "kernel"', b"\xff", b"9" * 30]

    def mutate(self, chance, seeds):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(len(data) + 1)
            kind = chance.randrange(4)
            if kind == 0:
                data[at:at + 1] = bytes([chance.choice(b'{}[]",:0123456789-.eNaXx \n\\')])
            elif kind == 1:
                del data[at:at + chance.randint(1, 20)]
            elif kind == 2:
                data[at:at] = chance.choice(self.PARTS)
            else:
                other = chance.choice(seeds)
                start = chance.randrange(len(other))
                data[at:at] = other[start:start + chance.randint(1, 100)]
        return bytes(data)

    def check(self, trace):
        self.assertTrue(len(trace.ranks) == 1 and trace.steps and trace.kernels)
        for step in trace.steps:
            scale = 1e-9 * (step["wall_s"] + 1e-9)
            self.assertGreaterEqual(min(step["class_s"].values()), 0)
            self.assertAlmostEqual(sum(step["class_s"].values()), step["compute_s"], delta=scale)
            self.assertAlmostEqual(step["compute_s"] + step["exposed_s"] + step["copy_s"] + step["idle_s"], step["wall_s"], delta=scale)
            self.assertTrue(step["communication_s"] >= step["exposed_s"] and step["busy_s"] <= step["wall_s"] * (1 + 1e-9))
        for channel in trace.channels:
            self.assertLessEqual(channel["exposed_s"], channel["busy_s"] * (1 + 1e-9))
        self.assertAlmostEqual(sum(channel["exposed_s"] for channel in trace.channels), trace.mean["exposed_s"], delta=1e-9 * (trace.mean["wall_s"] + 1e-9))
        for kernel in trace.kernels:
            self.assertTrue(kernel["count"] >= 1 and 0 <= kernel["min_s"] <= kernel["max_s"])
        self.assertLessEqual(len(trace.measured()), len(trace.shapes))
        page.page_of(trace, None)

    def test_mutations(self):
        chance = random.Random(SEED)
        seeds = [path.read_bytes() for path in sorted((ROOT / "tests/fuzz/corpus/fuzz_kineto").iterdir())]
        for number in range(RUNS + len(seeds)):
            data = seeds[number] if number < len(seeds) else self.mutate(chance, seeds)
            with self.subTest(f"MS_SEED={SEED} {number}"):
                try:
                    self.check(self.read_bytes(data))
                except Fault as fault:
                    self.assertEqual(fault.code, INPUT, data)
                    self.assertRegex(self.said, r"trace\.json(:\d+)?: error: .")


if __name__ == "__main__":
    programs.main(__doc__)
