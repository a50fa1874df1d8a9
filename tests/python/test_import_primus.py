#!/usr/bin/env python3
"""Importing Primus' dump of pipeline passes: a run of our own, dumped as Primus would with clocks of ranks apart, takes its step again.

usage: test_import_primus.py MESHSIM [unittest arguments]
"""

import csv
import importlib.util
import json
import unittest

import programs

SERIES = {"forward-compute": "fwd", "backward-compute": "bwd", "input-gradient-compute": "bwd", "weight-gradient-compute": "wgrad"}


@unittest.skipIf(importlib.util.find_spec("h5py") is None, "h5py is not installed")
class Primus(programs.ProgramTest):
    def dump(self, schedule, labels=True):
        """The files of a dump of a run, and the run's step."""
        self.write(f"""name: w
platform: {{file: flat, nodes: 4}}
mesh: {{pp: 4}}
batch: {{micro: 1, microbatches: 8}}
schedule: {schedule}
costs: {{forward: 10 ms, input_gradient: 12 ms, weight_gradient: 8 ms, p2p: 0 B, optimizer: 0 s}}
""", "w.yaml")
        step_s = json.loads(self.meshsim("run", "w.yaml", "--trace", "full", "--no-fold", "-o", "t.h5", "--json").stdout)["step_time_s"]
        self.meshsim("export", "events", "t.h5", "-o", "t.csv")
        ranks = [{"total": 1.0, "memory": 2.0, **{f"{name}_{what}": [] for name in ("fwd", "bwd", "wgrad") for what in ("start", "end", "minibatch", "chunk")}} for _ in range(4)]
        with open(self.folder / "t.csv", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["optype"] in SERIES:
                    rank, name, start = int(row["stage"]), SERIES[row["optype"]], float(row["start_ts"]) * 1e3 - 7.5 * int(row["stage"])  # clocks apart
                    values = {"start": start, "end": start + float(row["duration"]) * 1e3}
                    for what, value in ({**values, "minibatch": int(row["mb_id"]), "chunk": int(row["mc"])} if labels else values).items():
                        ranks[rank][f"{name}_{what}"].append(value)
        chunks = len(ranks[0]["fwd_start"]) // 8
        names = [self.write({"pp_size": 4, "vp_size": chunks, "num_mbs": 8}, "config.json")]
        return [*names, *(self.write({"7": rank}, f"pp_rank_{i}.json") for i, rank in enumerate(ranks))], step_s

    def test_schedules(self):
        for schedule in ("{kind: 1f1b}", "{kind: zbh1}", "{kind: interleaved, v: 2}", "{kind: zbv}", "{kind: gpipe}"):
            names, step_s = self.dump(schedule)
            self.meshsim("import", "primus", *names, "-o", "p.csv", "--quiet")
            found = json.loads(self.meshsim("replay", "p.csv", "--json").stdout)
            self.assertAlmostEqual(found["T"], step_s, 9, schedule)
            self.assertAlmostEqual(found["step_t_base"]["7"], step_s, 9, schedule)

    def test_without_labels(self):
        names, step_s = self.dump("{kind: 1f1b}", labels=False)
        printed = self.meshsim("import", "primus", *reversed(names), "-o", "p.csv")
        self.assertIn("memory: ignored", printed.stderr)
        self.assertAlmostEqual(json.loads(self.meshsim("replay", "p.csv", "--json").stdout)["T"], step_s, 9)
        names, _ = self.dump("{kind: interleaved, v: 2}", labels=False)
        self.assertIn("with 2 chunks a dump needs 'fwd_chunk'", self.meshsim("import", "primus", *names, code=3).stderr)

    def test_faults(self):
        names, _ = self.dump("{kind: 1f1b}")
        self.assertIn("none of rank 3", self.meshsim("import", "primus", *names[:-1], code=3).stderr)
        self.assertIn("expected one config.json", self.meshsim("import", "primus", *names[1:], code=3).stderr)
        rank = json.loads((self.folder / names[2]).read_text())
        del rank["7"]["bwd_end"][0]
        self.write(rank, names[2])
        self.assertIn("expected 8 numbers in 'bwd_start' and 'bwd_end', got 8 and 7", self.meshsim("import", "primus", *names, code=3).stderr)
        self.write("{", names[2])
        self.assertIn("is not JSON", self.meshsim("import", "primus", *names, code=3).stderr)
        names, _ = self.dump("{kind: 1f1b}")
        rank = json.loads((self.folder / names[2]).read_text())
        rank["7"]["fwd_start"] = [start - 2 for start in rank["7"]["fwd_start"]]
        self.write(rank, names[2])
        self.assertIn("need results 0.999 ms before they are there", self.meshsim("import", "primus", *names, "-o", "p.csv").stderr)


if __name__ == "__main__":
    programs.main(__doc__)
