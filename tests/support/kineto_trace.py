"""Traces as PyTorch's profiler writes them (Kineto, libkineto/src/output_json.cpp), of made up training steps.

usage: kineto_trace.py FILE [--steps N] [--layers N] [--host N] [--rank R] [--world N]

--host: events of the host (python_function, cpu_op, cuda_runtime) for each kernel, which no figure needs.
"""

import argparse
import gzip
import json
import sys


class Trace:
    """Writes events one by one, as Kineto does: the file may be larger than memory."""

    def __init__(self, path, rank=0, world=1, head=True):
        self.out = gzip.open(path, "wt") if str(path).endswith(".gz") else open(path, "w")
        self.out.write('\n  {\n    "schemaVersion": 1,\n    "deviceProperties": [\n    {"id": 0, "name": "NVIDIA H100 80GB HBM3"}\n    ],')
        if head:
            info = {"backend": "nccl", "rank": rank, "world_size": world, "pg_count": 1, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]}
            self.out.write(f'\n  "distributedInfo": {json.dumps(info)},')
        self.out.write('\n  "displayTimeUnit": "ms",\n  "baseTimeNanoseconds": 1727000000000000000,\n  "traceEvents": [')

    def event(self, cat, name, ts_us, dur_us, pid=0, tid=7, **args):
        given = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in args.items())
        self.out.write(
            f'\n  {{\n    "ph": "X", "cat": "{cat}", "name": {json.dumps(name)}, "pid": {pid}, "tid": {tid},\n'
            f'    "ts": {ts_us:.3f}, "dur": {dur_us:.3f},\n    "args": {{\n      {given}\n    }}\n  }},'
        )

    def step(self, number, ts_us, dur_us):
        self.event("user_annotation", f"ProfilerStep#{number}", ts_us, dur_us, pid=99, tid=99, **{"External id": number})

    def kernel(self, name, ts_us, dur_us, stream=7, external=None, **args):
        ids = {} if external is None else {"External id": external}
        self.event("kernel", name, ts_us, dur_us, tid=stream, **{**ids, "device": 0, "context": 1, "stream": stream, "correlation": 1, **args})

    def operator(self, name, ts_us, dur_us, external, dims=None, types=None, values=None, **more):
        args = {"External id": external, **more}
        args.update({} if dims is None else {"Input Dims": dims, "Input type": types, "Concrete Inputs": values or [""] * len(dims)})
        self.event("cpu_op", name, ts_us, dur_us, pid=99, tid=99, **args)

    def collective(self, name, kernel, ts_us, dur_us, stream=20, elements=0, out=0, group="1", described="", size=2, dtype="BFloat16"):
        self.kernel(
            kernel, ts_us, dur_us, stream=stream,
            **{"Collective name": name, "In msg nelems": elements, "Out msg nelems": out, "Group size": size, "dtype": dtype,
               "Process Group Name": group, "Process Group Description": described, "Process Group Ranks": "[0, 1]"},
        )

    def close(self):
        self.out.write(
            '\n  {\n    "name": "Record Window End", "ph": "i", "s": "g",\n    "pid": "", "tid": "", "ts": 1.000\n  }\n  ],'
            '\n  "traceName": "/tmp/trace.json"\n}\n'
        )
        self.out.close()


def layer(trace, at_us, external, host):
    """A product, a norm and a reduction that the product's successor hides half of; returns when it ends."""
    trace.operator("aten::mm", at_us, 5, external, dims=[[4096, 4096], [4096, 11008]], types=["c10::BFloat16"] * 2)
    for i in range(host):
        trace.event("python_function", f"torch/nn/modules/linear.py({i}): forward", at_us + i / 100, 0.01, pid=99, tid=99,
                    **{"Python id": i, "Python parent id": i - 1, "Python module id": 3})
    trace.kernel("nvjet_hsh_256x128_64x4_2x1_v_bz_coopA_NTN", at_us, 60, external=external)
    trace.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::SiLU>", at_us + 60, 10, external=external + 1)
    trace.collective("allreduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at_us + 65, 15,
                     elements=1 << 20, out=1 << 20, described="mesh_tp")
    return at_us + 80


def write(path, steps=2, layers=10, host=0, rank=0, world=1):
    trace = Trace(path, rank, world)
    at_us, external = 1000.0, 1
    for number in range(steps):
        start_us = at_us
        for _ in range(layers):
            at_us = layer(trace, at_us, external, host)
            external += 2
        at_us += 20  # nothing runs
        trace.step(number + 5, start_us, at_us - start_us)
    trace.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    for option, fallback in (("steps", 2), ("layers", 10), ("host", 0), ("rank", 0), ("world", 1)):
        parser.add_argument(f"--{option}", type=int, default=fallback)
    given = parser.parse_args()
    write(given.file, given.steps, given.layers, given.host, given.rank, given.world)
    return 0


if __name__ == "__main__":
    sys.exit(main())
