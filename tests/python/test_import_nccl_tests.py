#!/usr/bin/env python3
"""Importing logs of nccl-tests: the points of the table are those of the logs, and `calibrate` finds the same in both.

usage: test_import_nccl_tests.py MESHSIM [unittest arguments]
"""

import csv
import json

import programs

GPU = "NVIDIA H100 80GB HBM3"
# Source: the layout of NVIDIA/nccl-tests, src/common.cu; what mpirun --tag-output and srun --label put before a line
STARTING = "# nccl-tests version 2.17.6 nccl-headers=22707 nccl-library=22707\n# Collective test starting: {op}_perf\n"
SETTINGS = "# nThread 1 nGpus 1 minBytes 8 maxBytes 16777216 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
COLUMNS = """#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 10.1\n#\n# Collective test concluded\n"


def busbw(op, ranks, size, time_us):
    factor = 2 if op == "all_reduce" else 1
    return factor * (ranks - 1) / ranks * size / time_us / 1e3


def log_of(op, ranks, node, times, starting=True):
    text = (STARTING.format(op=op) if starting else "") + SETTINGS
    for rank in range(ranks):
        text += f"#  Rank {rank:2} Group  0 Pid {100 + rank:6} on      node{rank // node} device {rank % node:2} [0000:07:00] {GPU}\n"
    text += COLUMNS
    for size, time in times:
        block = f"{time:8.2f} {size / time / 1e3:7.2f} {busbw(op, ranks, size, time):7.2f}"
        text += f"{size:12} {size // 4:13}     float     sum      -1 {block}      0 {block}    N/A\n"
    return text + END


class ImportNcclTests(programs.ProgramTest):
    source = "x.log"

    def rows(self, *logs):
        return list(csv.DictReader(self.meshsim("import", "nccl-tests", *logs, "--quiet").stdout.splitlines()))

    def test_rows_are_the_lines_of_the_logs(self):
        times = [(8, 13.5), (1048576, 61.52), (16777216, 400.0)]
        logs = [self.write(log_of("all_gather", 16, 8, times), "a.log"), self.write(log_of("all_reduce", 8, 8, times), "b.log")]
        rows = self.rows(*logs)
        self.assertEqual([(r["op"], r["ranks"], r["nodes"]) for r in rows], [("all_gather", "16", "2")] * 3 + [("all_reduce", "8", "1")] * 3)
        for row, (size, time) in zip(rows, times * 2):
            self.assertEqual((row["system"], int(row["bytes"])), (GPU, size))
            for key in ("time_us", "in_place_time_us"):
                self.assertAlmostEqual(float(row[key]), time, delta=1e-9)
            for key in ("busbw_gb_s", "in_place_busbw_gb_s"):
                self.assertAlmostEqual(float(row[key]), busbw(row["op"], int(row["ranks"]), size, time), delta=1e-6)
        page = self.meshsim("import", "nccl-tests", *logs, "-o", "points.csv", "--quiet").stdout
        self.assertIn(f"points     all_gather, 16 ranks on 2 nodes of '{GPU}': 3 points, at most 39.32 GB/s bus bandwidth\n", page)
        self.assertEqual((self.folder / "points.csv").read_text(encoding="utf-8"), self.meshsim("import", "nccl-tests", *logs, "--quiet").stdout)
        found = json.loads(self.meshsim("import", "nccl-tests", *logs, "--json").stdout)
        self.assertEqual([row["bytes"] for row in found["rows"]], [8, 1048576, 16777216] * 2)

    def test_a_table_calibrates_as_its_logs_do(self):
        points = json.loads(self.meshsim("collective", "all_reduce", "--platform", "dgx-h100", "-n", "8", "-b", "1KiB", "-e", "1GiB", "-f", "2", "--json").stdout)
        times = [(int(row["size_B"]), 1.1 * float(row["time_s"]) * 1e6) for row in points["rows"]]
        log = self.write(log_of("all_reduce", 8, 8, times))
        self.meshsim("import", "nccl-tests", log, "-o", "points.csv")
        of_log, of_table = (json.loads(self.meshsim("calibrate", name, "--platform", "dgx-h100", "--json").stdout) for name in (log, "points.csv"))
        self.assertGreater(len(of_log["points"]), 15)
        self.assertEqual([p["name"] for p in of_log["points"]], [p["name"] for p in of_table["points"]])
        for a, b in zip(of_log["points"] + of_log["parameters"], of_table["points"] + of_table["parameters"]):
            for key in ("measured_s", "after_s", "after"):
                if key in a:
                    self.assertAlmostEqual(a[key], b[key], delta=1e-6 * abs(a[key]))

    def test_labels_of_launchers_and_several_runs_in_a_file(self):
        times = [(1048576, 61.52)]
        runs = log_of("all_gather", 16, 8, times) + log_of("reduce_scatter", 8, 8, times)
        plain = self.rows(self.write(runs))
        self.assertEqual([(r["op"], r["ranks"], r["nodes"]) for r in plain], [("all_gather", "16", "2"), ("reduce_scatter", "8", "1")])
        for label in ("[1,0]<stdout>:", "[1,0]<stdout>: ", "0: ", "12: ", "2026-01-31T12:00:00.123456789Z ", "nccl-test-job-0-x7: ", "[launcher-0] ",
                      "worker-1  | ", "2026-01-31T12:00:00Z [launcher-0] 0: "):
            labelled = self.write("".join(label + line + "\n" for line in runs.splitlines()))
            self.assertEqual(self.rows(labelled), plain)
            self.assertEqual(len(json.loads(self.meshsim("validate", labelled, "--json").stdout)["collectives"]), 2)
        # without the line that says which collective it is, the file's name says it of all runs
        named = self.write(log_of("x", 8, 8, times, starting=False) + log_of("x", 4, 4, times, starting=False), "alltoall_perf.log")
        self.assertEqual([(r["op"], r["ranks"]) for r in self.rows(named)], [("all_to_all", "8"), ("all_to_all", "4")])

    def test_every_line_is_told_of(self):
        log = self.write(log_of("all_gather", 2, 1, [(8, 13.5)]) + "node0:1:1 [0] NCCL INFO Bootstrap\nSlurm job ends here\n# a note\n" + "odd\n" * 200)
        said = self.meshsim("import", "nccl-tests", log).stderr
        for note in ("note: Slurm job ends here: unknown\n", "note: # a note: unknown", "note: NCCL ...: ignored: ", "note: results: used for bytes",
                     "note: Rank ...: used for system, ranks, nodes", "note: further lines: unknown"):
            self.assertIn(note, said)
        rows = {row["key"]: row for row in json.loads(self.meshsim("import", "nccl-tests", log, "--quiet", "--json").stdout)["keys"]}
        self.assertEqual(rows["further lines"]["value"], "102 lines")
        self.assertEqual((rows["Rank ..."]["value"], rows["Rank ..."]["line"], rows["results"]["value"]), ("2 lines", 6, "1 line"))
        counted = sum(int(row["value"].split()[0]) for row in rows.values() if row["value"])
        blank = sum(line.strip("# ") == "" for line in (self.folder / log).read_text(encoding="utf-8").splitlines())
        self.assertEqual(counted + 2 + 98 + blank, len((self.folder / log).read_text(encoding="utf-8").splitlines()))

    def test_what_is_wrong_is_told_with_its_line(self):
        text = log_of("all_gather", 2, 1, [(8, 13.5), (16, 13.5)])
        for bad, said, line in ((text.replace("   0    ", "   3    ", 1), "a benchmark with wrong results: '3'", 12),
                                (text.replace("    N/A", "      2", 1), "a benchmark with wrong results: '2'", 12),
                                (text.replace("Rank  1 Group  0", "Rank  1 Group  1"), "ranks of several groups", 7),
                                (text.replace("all_gather_perf", "sendrecv_perf"), "a collective that is not read", 2),
                                (text.replace("13.50 ", "-1.00 "), "expected a size and a time above 0", 12),
                                ("\n".join(text.splitlines()[:11]), "without a line of results", None)):
            place = "x.log" if line is None else f"x.log:{line}"
            found = self.meshsim("import", "nccl-tests", self.write(bad), "-o", "p.csv", code=3).stderr
            self.assertRegex(found, f"{place}: error: [^\\n]*{said}")
            self.assertFalse((self.folder / "p.csv").exists())
        self.assertIn("no such file", self.meshsim("import", "nccl-tests", "nowhere.log", code=3).stderr)

    def test_logs_of_before_wrong_results_were_counted(self):
        """Source: NVIDIA/nccl-tests 2.0 to 2.11, src/common.cu: the last column of a block is the largest deviation, "%7.0le"."""
        text = log_of("all_reduce", 8, 8, [(8, 13.5), (1048576, 61.52)], starting=False)
        old = text.replace("#wrong", " error").replace("    root", "").replace("      -1", "").replace("      0 ", "  5e-07 ").replace("    N/A", "  0e+00")
        rows, before = self.rows(self.write(text, "all_reduce.log")), self.rows(self.write(old, "all_reduce_old.log"))
        self.assertEqual(len(before), 2)
        self.assertEqual(before, rows)
        found = self.meshsim("import", "nccl-tests", self.write(old.replace("5e-07", "3e+01", 1), "all_reduce_old.log"), code=3).stderr
        self.assertIn("a benchmark with wrong results: '3e+01'", found)

    def test_logs_of_version_1_have_milliseconds(self):
        """Source: NVIDIA/nccl-tests issue 7 (2018), where times are in ms; the bandwidth beside them says so."""
        row = "     1048576        262144   float     sum    0.200   5.24   5.24    0e+00    0.250   4.19   4.19    0e+00\n"
        log = ("nThread 1 nGpus 2 minBytes 9 maxBytes 33554432 step: 1048576(bytes) warmup iters: 5 iters: 20 validation: 1\n"
               "# Using devices\n#   Rank  0 on host1 device  0 [0x04] Tesla V100-SXM2-16GB\n#   Rank  1 on host1 device  1 [0x05] Tesla V100-SXM2-16GB\n")
        (point,) = self.rows(self.write(log + row, "all_reduce.log"))
        self.assertEqual([float(point[key]) for key in ("time_us", "in_place_time_us")], [200, 250])
        (point,) = self.rows(self.write(log + row.replace("5.24", "5242.88"), "all_reduce.log"))
        self.assertEqual(float(point["time_us"]), 0.2)

    def test_programs_that_ran_side_by_side_are_refused(self):
        """nccl-tests without MPI=1: each of two programs has one rank, copies to itself, and prints 0.00 as bus bandwidth.
        Source: NVIDIA/nccl-tests issue 30."""
        head = "# nThread 1 nGpus 1 minBytes 1310720000 maxBytes 1310720000 step: 1048576(bytes) warmup iters: 5 iters: 20 validation: 1\n#\n# Using devices\n"
        ranks = "".join(f"#   Rank  0 Pid   {pid} on ip-{host} device  0 [0x00] Tesla V100-SXM2-16GB\n" for host, pid in ((1, 1320), (2, 2066)))
        row = "  1310720000     327680000     float     sum   3410.0  384.38    0.00  0e+00    3.45  379922    0.00  0e+00\n"
        said = self.meshsim("import", "nccl-tests", self.write(head * 2 + ranks + row, "all_reduce_perf.log"), "-o", "p.csv", code=3).stderr
        self.assertIn("all_reduce_perf.log:8: error: rank 0 is there twice: several programs ran side by side", said)
        self.assertIn("all_reduce_perf.log:9: error: figures that contradict each other: busbw is 0.00 where algbw 384.38 makes 384.38", said)
        self.assertFalse((self.folder / "p.csv").exists())

    def test_bandwidth_follows_the_law_of_the_collective(self):
        for op, factor in (("all_reduce", 1.75), ("all_gather", 0.875), ("reduce_scatter", 0.875), ("alltoall", 0.875)):
            text = log_of(op, 8, 8, [(1 << 30, 4000.0), (16, 13.5)])
            self.assertEqual(len(self.rows(self.write(text))), 2, op)
            for right, wrong in (("  268.44", "  200.00"), (f"{factor * 268.435456:8.2f}", "   11.11")):
                for times in (1, 2):  # in the place of the figure out of place, and in both blocks
                    bad = text.replace(right, wrong, times)
                    self.assertNotEqual(bad, text)
                    self.assertIn("x.log:18: error: figures that contradict each other",
                                  self.meshsim("import", "nccl-tests", self.write(bad), code=3).stderr, (op, right, times))
        # early versions have the bandwidth of the bus in both columns, but of all-reduce
        early = log_of("all_gather", 8, 8, [(1 << 30, 4000.0)]).replace("  268.44", "  234.88")
        self.assertEqual(len(self.rows(self.write(early))), 1)
        # a rank that is missing from the list, and the name of another collective
        text = log_of("all_reduce", 8, 8, [(1 << 30, 4000.0)], starting=False)
        lacks = "".join(line for line in text.splitlines(keepends=True) if "Rank  7" not in line)
        for name, bad in (("all_reduce.log", lacks), ("all_gather.log", text)):
            self.assertIn("busbw is", self.meshsim("import", "nccl-tests", self.write(bad, name), code=3).stderr)
        # figures that are too large for two digits behind the point have fewer, or an exponent
        row = "  1310720000     327680000     float     sum      -1     3.45  379919  664859      0     3.45 3.8e+05 6.6e+05    N/A\n"
        big = "".join(line for line in log_of("all_reduce", 8, 8, [(8, 1.0)]).splitlines(keepends=True) if not line.startswith("  ")) + row
        self.assertEqual([float(r["time_us"]) for r in self.rows(self.write(big))], [3.45])

    def test_machines_of_one_name_are_told(self):
        """Containers that all have one host name: their GPUs stand twice, and nodes cannot be counted."""
        text = log_of("all_gather", 4, 2, [(8, 13.5)]).replace("node1", "node0")
        done = self.meshsim("import", "nccl-tests", self.write(text), "--quiet")
        self.assertEqual(done.stderr.count("x.log:8: warning: 'device  0 [0000:07:00]' of host 'node0' has two ranks"), 1)
        self.assertEqual([r["nodes"] for r in csv.DictReader(done.stdout.splitlines())], ["1"])

    def test_options_of_workloads_are_refused(self):
        log = self.write(log_of("all_gather", 2, 1, [(8, 13.5)]))
        for words in (["--set", "a=1"], ["--platform", "dgx-h100"], ["--gpus", "8"], ["--batch", "8"]):
            self.assertIn(f"'{words[0]}' goes with 'deepspeed' and with 'hf' and with 'megatron", self.meshsim("import", "nccl-tests", log, *words, code=2).stderr)
        self.assertIn("'p.yaml' is a name for an input file", self.meshsim("import", "nccl-tests", log, "-o", "p.yaml", code=2).stderr)
        self.assertIn("'p.csv' is a name for a table", self.meshsim("import", "hf", log, "-o", "p.csv", code=2).stderr)

    def test_a_table_of_points_that_is_wrong(self):
        head = "system,op,ranks,nodes,bytes,time_us\n"
        for line, said in (("a,broadcast,8,1,8,1", "all_to_all as op"), ("a,all_gather,1,1,8,1", "2 ranks or more"), ("a,all_gather,8,9,8,1", "2 ranks or more"),
                           ("a,all_gather,8,1,0,1", "a size and a time above 0"), ("a,all_gather,8,1", "expected the numbers of the table's head")):
            self.write(head + line + "\n", "p.csv")
            self.assertRegex(self.meshsim("calibrate", "p.csv", "--platform", "dgx-h100", code=3).stderr, f"p.csv:2: error: .*{said}")


if __name__ == "__main__":
    programs.main(__doc__)
