#!/usr/bin/env python3
"""Importing OpenTelemetry spans of Megatron-LM: a run of our own, written as spans of hosts whose clocks are apart, takes its step again.

usage: test_import_megatron_otel.py MESHSIM [unittest arguments]
"""

import csv
import importlib.util
import json
import unittest

import programs

NAMES = {"forward-compute": "megatron.microbatch.forward", "backward-compute": "megatron.microbatch.backward", "optimizer": "megatron.optimizer_step"}
EPOCH_NS = 1764345600 * 10**9


def span(name, start_ns, end_ns, **attributes):
    return {"name": name, "startTimeUnixNano": str(start_ns), "endTimeUnixNano": str(end_ns),
            "attributes": [{"key": key, "value": {"intValue": str(value)}} for key, value in attributes.items()]}


@unittest.skipIf(importlib.util.find_spec("h5py") is None, "h5py is not installed")
class MegatronOtel(programs.ProgramTest):
    def requests(self, schedule="{kind: 1f1b}"):
        """A request of OTLP for each rank of a run, and the run's step."""
        self.write(f"""name: w
platform: {{file: flat, nodes: 6}}
mesh: {{pp: 3, dp: 2}}
batch: {{micro: 1, microbatches: 6}}
schedule: {schedule}
costs: {{forward: 10 ms, input_gradient: 12 ms, weight_gradient: 8 ms, p2p: 0 B, optimizer: 5 ms}}
""", "w.yaml")
        step_s = json.loads(self.meshsim("run", "w.yaml", "--trace", "full", "--no-fold", "-o", "t.h5", "--json").stdout)["step_time_s"]
        self.meshsim("export", "events", "t.h5", "-o", "t.csv")
        ranks = {}
        with open(self.folder / "t.csv", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["optype"] in NAMES:
                    dp, pp = int(row["dp_rank"]), int(row["stage"])
                    start = EPOCH_NS + round(float(row["start_ts"]) * 1e9) + 7_000_000 * pp - 3_000_000 * dp  # clocks apart
                    more = {"megatron.microbatch_id": int(row["mb_id"])} if row["optype"] == "forward-compute" else {}
                    ranks.setdefault((dp, pp), []).append(span(NAMES[row["optype"]], start, start + round(float(row["duration"]) * 1e9), **more))
        found = []
        for (dp, pp), spans in ranks.items():
            whole = span("megatron.train_step", EPOCH_NS - 10**8, EPOCH_NS + 10**10, **{"megatron.iteration": 12})
            resource = {"attributes": span("", 0, 0, **{"dl.data_parallel.rank": dp, "dl.pipeline_parallel.rank": pp, "dl.tensor_parallel.rank": 0})["attributes"]}
            found.append({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [whole, span("megatron.pretrain", 0, 1), *spans]}]}]})
        return found, step_s

    def test_a_run(self):
        requests, step_s = self.requests()
        self.write("\n".join(map(json.dumps, requests)) + "\n", "spans.json")
        said = self.meshsim("import", "megatron-otel", "spans.json", "-o", "o.csv").stderr
        self.assertIn("warning: spans are times of hosts, which run ahead of their GPUs", said)
        found = json.loads(self.meshsim("replay", "o.csv", "--json").stdout)
        self.assertEqual((found["dp"], found["pp"], found["num_microbatches"], list(found["step_t_base"])), (2, 3, 6, ["12"]))
        self.assertAlmostEqual(found["T"], step_s, 6)
        # one file for each rank, indented
        names = [self.write(request, f"spans-{i}.json") for i, request in enumerate(requests)]
        self.meshsim("import", "megatron-otel", *names, "-o", "p.csv", "--quiet")
        self.assertEqual((self.folder / "p.csv").read_text(), (self.folder / "o.csv").read_text())

    def test_faults(self):
        requests, _ = self.requests()
        self.write("\n".join(map(json.dumps, requests[:-1])), "spans.json")
        self.assertIn("no spans of dp 1, pp 2", self.meshsim("import", "megatron-otel", "spans.json", code=3).stderr)
        self.write("{}\n{x}\n", "spans.json")
        self.assertIn("spans.json:2: error: is no OTLP in JSON", self.meshsim("import", "megatron-otel", "spans.json", code=3).stderr)
        self.write("{}", "spans.json")
        self.assertIn("they are of the span group 'microbatch'", self.meshsim("import", "megatron-otel", "spans.json", code=3).stderr)
        requests, _ = self.requests("{kind: interleaved, v: 2}")
        self.write("\n".join(map(json.dumps, requests)), "spans.json")
        self.assertIn("only pipelines with one chunk are read", self.meshsim("import", "megatron-otel", "spans.json", code=3).stderr)


if __name__ == "__main__":
    programs.main(__doc__)
