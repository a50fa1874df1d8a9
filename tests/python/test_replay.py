#!/usr/bin/env python3
"""`meshsim replay`: tables made by hand with their answers on paper, and random tables against a second implementation of the published equations (step_replay.py).

usage: test_replay.py MESHSIM [unittest arguments]
"""

import gzip
import importlib.util
import json
import unittest

import programs
import step_replay
from step_replay import HEAD, Study, make, noisy, write

SECOND = 10 ** 12
RULES = ("waiting", "pooled", "mean", "median", "embedding", "tail", "clip", "replicas", "ends", "posted", "streams", "first_backward")


class Replay(programs.ProgramTest):
    def replay(self, text, *words):
        return json.loads(self.meshsim("replay", self.write(text, "e.csv"), "--json", *words).stdout)

    def refuse(self, text, *parts):
        """A table that is refused, with these parts of the message."""
        done = self.meshsim("replay", self.write(text, "e.csv"), code=3)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertEqual(done.stdout, "")

    def near(self, found, expected, share=1e-9):
        self.assertLessEqual(abs(found - expected), share * abs(expected), (found, expected))


class OnPaper(Replay):
    """Two stages, two microbatches, no head and no tail."""

    def two(self, times, message=0, **more):
        """A table with forward and backward times [s] of each stage."""
        def own(_step, node, _dp):
            kind, _, stage = node
            return round(SECOND * (times[stage][step_replay.PASSES.index(kind)] if kind in step_replay.PASSES else message))
        return make(2, 2, 1, [0], own, has_ends=False, **more)

    def test_two_stages(self):
        for times, message, step in (((1, 2), (1, 2)), 0, 9), (((1, 2), (2, 3)), 0, 13), (((1, 2), (2, 3)), 0.1, 13.2):
            found = self.replay(write(self.two(times, message), 2))
            for key in ("step_t_base", "step_t_replayed", "step_t_nodelay"):
                self.assertEqual(found[key], {"0": step})
        # the ideal passes are the means 1.5 and 2.5: 3 pairs of 4 s, and a message each way of the median 0.1
        self.assertEqual(found["I"], 12.2)
        self.near(found["S"], 13.2 / 12.2)

    def test_transfers(self):
        """A transfer counts from the later begin; an end before it by more than 10 ms counts 0, and is counted."""
        def table(recv, end=1.31):
            rows = [(0, "forward-compute", 0, 1), (0, "forward-send", 1, 0.3), (1, "forward-recv", recv, end - recv), (1, "forward-compute", 1.5, 1),
                    (1, "backward-compute", 2.5, 1), (1, "backward-send", 3.5, 0.1), (0, "backward-recv", 2, 1.6), (0, "backward-compute", 3.6, 1)]
            return HEAD + "\n" + "".join(f"0,{s},{s},7,{kind},{start},{length},0,0,{0 if 'compute' in kind else -1},-1\n" for s, kind, start, length in rows)
        for recv, send_s, recv_s in (0.2, 0.3, 0.31), (1.25, 0.05, 0.06):
            found = self.replay(table(recv))
            self.near(found["ideal"]["forward-send"], send_s)
            self.near(found["ideal"]["forward-recv"], recv_s)
            self.assertEqual(found["clock_faults"], 0)
        self.near(self.replay(table(0.2, 0.995))["ideal"]["forward-recv"], -0.005)
        found = self.replay(table(0.2, 0.9))
        self.assertEqual((found["ideal"].get("forward-recv", 0), found["clock_faults"]), (0, 1))
        self.assertIn("1 transfers or delays of -10 ms and less count as 0", self.meshsim("replay", "e.csv").stderr)

    def test_posted_receives(self):
        """Stage 1 posts its second receive at 0.8 s, behind its first pass: the message arrives at 1.3 s, and the step ends at 2.2 s. Without the rule the receive
        follows the first one at 0.6 s, and all that comes behind it is 0.2 s earlier."""
        text = write(self.two(((0.1, 0.1), (0.2, 0.1)), 0.5), 2)
        self.assertEqual(self.replay(text)["step_t_nodelay"]["0"], 2.2)
        self.assertEqual(self.replay(text, "--without", "posted")["step_t_nodelay"]["0"], 2)

    def test_gradients_reduced_beside_the_passes(self):
        """With separate gradients the reductions follow the last backward pass of their chunk, and the rest both them and garbage collection."""
        rows = [("forward-compute", 0, 1, 0), ("forward-compute", 1, 1, 1), ("backward-compute", 2, 2, 1), ("grads-reduce-scatter", 4, 3, 1), ("backward-compute", 4, 2, 0),
                ("gc", 6, 0.5, -1), ("grads-reduce-scatter", 7, 2, 0), ("layernorm-grads-all-reduce", 9, 0.1, -1), ("separate-grads-all-reduce", 9.1, 0.2, -1),
                ("optimizer-clip-main-grad", 9.3, 0.3, -1), ("optimizer", 9.6, 0.4, -1)]
        text = "dp_rank,stage,step,optype,start_ts,duration,mc,mb_id\n" + "".join(
            f"0,0,0,{kind},{start},{length},{mc},{0 if 'compute' in kind else -1}\n" for kind, start, length, mc in rows)
        # chunk 1's reduction ends at 7, chunk 0's waits for it and ends at 9; then 1 s
        self.assertEqual(self.replay(text)["step_t_nodelay"]["0"], 10)
        shorter = self.replay(text.replace("grads-reduce-scatter,4,3,", "grads-reduce-scatter,4,1,"))
        self.assertEqual(shorter["step_t_nodelay"]["0"], 6 + 2 + 1)  # chunk 0's begins behind its pass at 6
        # without separate ones: 6, gc 0.5, layernorm 0.1, reductions 3 and 2, norm 0.3, update 0.4
        other = "".join(line + "\n" for line in text.splitlines() if "separate" not in line)
        self.assertEqual(self.replay(other)["step_t_nodelay"]["0"], 12.3)

    def test_messages_that_were_never_launched(self):
        """A receive that is posted behind the last pass of its direction, and a send that ends before the first one, have no partner and change nothing."""
        table = self.two(((1, 2), (1, 2)), 0.1)
        found = self.replay(write(table, 2))
        end = max(row[6] + row[7] for row in table)
        more = [(0, 0, 0, "backward-recv", 2, 2, end, SECOND), *((*row[:4], row[4] + (row[3] == "forward-send"), *row[5:]) for row in table),
                (0, 0, 0, "forward-send", 0, 0, 0, SECOND // 10)]
        extra = self.replay(write(more, 2))
        self.assertEqual(extra["step_t_nodelay"], found["step_t_nodelay"])
        self.assertEqual(extra["step_t_base"]["0"], found["step_t_base"]["0"] + 1)  # the receive itself ends a second later

    def test_shifts_and_factors(self):
        own, delay = noisy(3)
        table = make(4, 6, 2, [1, 2], own, delay)
        base = self.replay(write(table, 4))
        shifted = self.replay(write([(*row[:6], row[6] + 1764345600 * SECOND, row[7]) for row in table], 4))
        for key in ("step_t_base", "step_t_replayed", "step_t_nodelay", "S", "S_stage", "Mw"):
            self.assertEqual(shifted[key], base[key])
        doubled = self.replay(write([(*row[:6], 2 * row[6], 2 * row[7]) for row in table], 4))
        for step in ("1", "2"):
            for key in ("step_t_base", "step_t_nodelay", "step_t_noblk"):
                self.near(doubled[key][step], 2 * base[key][step])

    def test_equal_operations_waste_nothing(self):
        found = self.replay(write(make(3, 5, 2, [0], lambda _s, node, _d: len(node[0]) * 10 ** 10), 3))
        self.assertEqual((found["S"], found["wasted_share"]), (1, 0))
        for part in ("S_stage", "S_dp_rank", "S_kind"):
            self.assertEqual(set(found[part].values()), {1})


class SecondImplementation(Replay):
    """Random tables with slow stages, workers and delays."""

    def table(self, seed, shape):
        own, delay = noisy(seed)
        stages, microbatches, dps, steps = shape
        return make(stages, microbatches, dps, range(10, 10 + steps), own, delay)

    def compare(self, found, study, stages, dps):
        for step in study.steps:
            self.near(found["step_t_base"][str(step)], study.base[step] * 1e-12)
            self.near(found["step_t_nodelay"][str(step)], study.time(step, lambda n, d: False) * 1e-12)
            self.near(found["step_t_replayed"][str(step)], study.time(step, lambda n, d: False, True) * 1e-12)
        ideal = study.mean(lambda n, d: True)
        self.near(found["I"], ideal * 1e-12)
        by_stage = [study.mean(lambda n, d, s=s: n[2] != s) / ideal for s in range(stages)]
        by_dp = [study.mean(lambda n, d, r=r: d != r) / ideal for r in range(dps)]
        for s in range(stages):
            self.near(found["S_stage"][str(s)], by_stage[s])
        for r in range(dps):
            self.near(found["S_dp_rank"][str(r)], by_dp[r])
            for s in range(stages):
                self.near(found["S_worker"][r]["stage"][str(s)], min(by_dp[r], by_stage[s]))
        self.near(found["S_kind"]["forward-pp-comm"], study.mean(lambda n, d: n[0] not in ("forward-send", "forward-recv")) / ideal)
        self.near(found["S_kind"]["backward-compute"], study.mean(lambda n, d: n[0] != "backward-compute") / ideal)
        worst = found["Mw"]["workers"][0]["dp_rank"], found["Mw"]["workers"][0]["stage"]
        self.near(found["Ms"]["trem"], study.mean(lambda n, d: n[2] == stages - 1) * 1e-12)
        self.near(found["Mw"]["trem"], study.mean(lambda n, d: (d, n[2]) == worst) * 1e-12)
        self.near(found["Mw"]["tadd"], study.mean(lambda n, d: (d, n[2]) != worst) * 1e-12)
        self.assertTrue(found["launch_slowdown"] >= 1)

    def test_random_tables(self):
        for seed, shape in (1, (4, 6, 2, 2)), (2, (2, 3, 3, 1)), (3, (3, 2, 1, 2)), (4, (1, 4, 2, 1)):
            table = self.table(seed, shape)
            stages, microbatches, dps, _ = shape
            found = self.replay(write(table, stages))
            self.assertEqual((found["dp"], found["pp"], found["num_microbatches"]), (dps, stages, microbatches))
            self.assertEqual(found["step_t_replayed"], found["step_t_base"])
            self.assertEqual(found["clock_faults"], 0)
            if stages > 1:
                self.compare(found, Study(table, stages, microbatches, dps), stages, dps)

    def test_every_rule_left_out(self):
        """Each rule costs what it costs in the second implementation; all but those of the streams and the first backward pass change a figure."""
        shape = (4, 6, 2, 2)
        table = self.table(7, shape)
        text = write(table, 4)
        whole = self.replay(text)
        for rule in RULES:
            found = self.replay(text, "--without", rule)
            study = Study(table, 4, 6, 2, without=(rule,))
            for step in study.steps:
                self.near(found["step_t_nodelay"][str(step)], study.time(step, lambda n, d: False) * 1e-12)
                self.near(found["step_t_replayed"][str(step)], study.time(step, lambda n, d: False, True) * 1e-12)
            self.near(found["I"], study.mean(lambda n, d: True) * 1e-12)
            changed = {key for key in ("step_t_nodelay", "step_t_noblk") if found[key] != whole[key]}
            expected = {"waiting": 2, "pooled": 1, "mean": 1, "median": 1, "streams": 0, "first_backward": 0}.get(rule)
            self.assertEqual(len(changed), len(changed) if expected is None else expected, rule)
            if rule in ("embedding", "tail", "clip", "replicas", "ends"):
                self.assertTrue(changed, rule)

    def test_compressed_and_standard_input(self):
        text = write(self.table(5, (2, 3, 2, 1)), 2)
        plain = self.replay(text)
        with gzip.open(self.folder / "e.csv.gz", "wt") as packed:
            packed.write("# a comment\r\n" + text.replace("\n", "\r\n"))
        found = json.loads(self.meshsim("replay", "e.csv.gz", "--json").stdout)
        self.assertEqual(dict(found, events=""), dict(plain, events=""))
        whole = (self.folder / "e.csv.gz").read_bytes()
        (self.folder / "cut.csv.gz").write_bytes(whole[:-20])
        self.assertIn("cut.csv.gz: error: is damaged", self.meshsim("replay", "cut.csv.gz", code=3).stderr)
        self.meshsim("replay", "none.csv", code=4)

    def test_columns_in_another_order_and_fewer(self):
        """Numbers, chunks and virtual stages follow from the starts where the table lacks them."""
        table = self.table(6, (2, 3, 2, 2))
        rows = ["duration,step,optype,stage,dp_rank,start_ts,note"]
        rows += [f"{step_replay.seconds(row[7])},{row[0]},{row[3]},{row[2]},{row[1]},{step_replay.seconds(row[6])},x" for row in reversed(table)]
        self.assertEqual(dict(self.replay("\n".join(rows)), events=""), dict(self.replay(write(table, 2)), events=""))

    def test_forms(self):
        self.write(write(self.table(8, (3, 4, 2, 2)), 3), "e.csv")
        page = self.meshsim("replay", "e.csv").stdout
        self.assertIn("Stage 2 costs", page)
        self.assertIn("S_step", self.meshsim("replay", "e.csv", "--csv", "-").stdout)
        self.assertIn("| stage |", self.meshsim("replay", "e.csv", "--markdown").stdout.replace("| dp rank | stage | S |", "| stage |"))
        self.meshsim("replay", "e.csv", "--without", "strems", code=2)


@unittest.skipIf(importlib.util.find_spec("h5py") is None, "h5py is not installed")
class Files(Replay):
    """The HDF5 file and the page."""

    def setUp(self):
        super().setUp()
        own, delay = noisy(11)
        self.table = make(3, 4, 2, [5, 8], own, delay)
        self.write(write(self.table, 3), "e.csv")
        self.found = json.loads(self.meshsim("replay", "e.csv", "-o", "r.h5", "--json").stdout)

    def test_the_figures(self):
        import h5py
        with h5py.File(self.folder / "r.h5") as file:
            self.assertEqual(file["replay"].attrs["S"], self.found["S"])
            self.assertEqual(dict(zip(map(str, file["replay/steps/step"][:]), file["replay/steps/step_t_nodelay"][:])), self.found["step_t_nodelay"])
            scores = {(dp, stage): score for dp, stage, score in zip(*(file[f"replay/workers/{name}"][:].tolist() for name in ("dp_rank", "stage", "S")))}
            self.assertEqual(scores, {(row["dp_rank"], int(stage)): score for row in self.found["S_worker"] for stage, score in row["stage"].items()})

    def test_the_longest_step_measured_above_ideal(self):
        """Its passes, those of a rank without launch delays, and of the ideal step."""
        import h5py
        study = Study(self.table, 3, 4, 2)
        timeline = self.found["timeline"]
        self.assertEqual(str(timeline["step"]), max(self.found["step_t_nodelay"], key=self.found["step_t_nodelay"].get))
        for part, is_ideal in ("measured", False), ("ideal", True):
            begins, ends = study.graph.play(2, lambda n, d, i=is_ideal: study.ideal[n[0], n[2]] if i else study.own[timeline["step"], n, d], lambda n, d: 0)
            passes = [row for row in timeline[part] if row["kind"].endswith("compute")]
            self.assertEqual(len(passes), 3 * 8)
            for row in passes:
                node = (row["kind"], row["mb"], row["stage"])
                self.assertLessEqual(abs(row["start_ps"] - begins[node, timeline["dp_rank"]]), 20)
                self.assertLessEqual(abs(row["end_ps"] - ends[node, timeline["dp_rank"]]), 20)
        with h5py.File(self.folder / "r.h5") as file:
            self.assertEqual(file["ranks/rank"][:].tolist(), list(range(6)))
            first = file["events/kind"][:] == 0
            self.assertEqual(sorted(file["events/end_ps"][:][first].tolist()),
                             sorted(row["end_ps"] for part in ("measured", "ideal") for row in timeline[part] if row["kind"] == "forward-compute"))

    def test_report_and_compare(self):
        for name in ("r.svg", "r.html", "r.json"):
            self.meshsim("report", "r.h5", "-o", name, *(["--every-rank"] if name != "r.json" else []))
        self.assertIn("replay of e.csv", (self.folder / "r.svg").read_text())
        self.assertIn("equal", self.meshsim("compare", "r.h5", "r.h5").stdout)
        self.write(write([row for row in self.table if row[0] == 5], 3), "e.csv")
        self.meshsim("replay", "e.csv", "-o", "one.h5")
        differences = json.loads(self.meshsim("compare", "r.h5", "one.h5", "--json", code=1).stdout)["differences"]
        self.assertIn("T", {row["key"] for row in differences})

    def test_the_page(self):
        self.meshsim("replay", "e.csv", "--html", "r.html")
        page = (self.folder / "r.html").read_text()
        self.assertIn("replay of e.csv", page)
        self.assertIn('"timeline":', page)


class BadTables(Replay):
    """Each fault has its line."""

    def setUp(self):
        super().setUp()
        own, delay = noisy(9)
        self.table = make(2, 3, 2, [4, 5], own, delay)
        self.lines = write(self.table, 2).splitlines()

    def number(self, step, dp, stage, kind, number=0):
        """The line of an operation, from 1."""
        return 2 + next(i for i, row in enumerate(self.table) if row[:5] == (step, dp, stage, kind, number))

    def changed(self, line, *pair):
        """The table with a part of a line replaced, or without the line."""
        lines = list(self.lines)
        lines[line - 1:line] = [lines[line - 1].replace(*pair)] if pair else []
        return "\n".join(lines)

    def test_missing_operations(self):
        at = self.number(5, 1, 0, "backward-compute", 2)
        self.refuse(self.changed(at), "step 5, dp_rank 1, stage 0: backward-compute 2 is missing, which step 4, dp_rank 0 has in line")
        at = self.number(5, 1, 0, "backward-compute", 1)
        self.refuse(self.changed(at), "backward-compute 2 has no number 1 before it: operations are missing")
        at = self.number(4, 0, 1, "forward-recv", 2)
        self.refuse(self.changed(at), f"e.csv:", "step 4, dp_rank 1, stage 1: forward-recv 2 is no operation of step 4, dp_rank 0")
        gone = [i for i, row in enumerate(self.table) if row[3] == "forward-recv" and row[4] == 2]
        self.refuse("\n".join(line for i, line in enumerate(self.lines, -1) if i not in gone), "stage 0: forward-send 0 has no other end: operations are missing")

    def test_cells(self):
        at = self.number(5, 0, 1, "optimizer")
        self.refuse(self.changed(at, "optimizer", "optimiser"), f"e.csv:{at}: error: optype: unknown kind 'optimiser'; did you mean 'optimizer'?")
        self.refuse(self.changed(at, ",5,optimizer", ",x,optimizer"), f"e.csv:{at}: error: step: expected a whole number of at least 0, got 'x'")
        self.refuse(self.changed(at, "optimizer,", "optimizer,1e400"), f"e.csv:{at}: error: start_ts: expected a number of seconds")
        self.refuse(self.changed(at, ",0,-1,-1,-1", ",0,-1,-1"), f"e.csv:{at}: error: the line has another number of cells")
        self.refuse(self.changed(1, "stage", "stige"), "e.csv:1: error: the column 'stage' is missing")
        self.refuse(self.changed(1, "rank,step", "step,step"), "e.csv:1: error: step: expected every column once")
        self.refuse("", "has no rows")
        self.refuse(HEAD, "has no rows")
        twice = self.lines + [self.lines[at - 1]]
        self.refuse("\n".join(twice), f"e.csv:{len(twice)}: error:", f"optimizer 0 is in line {at} already")

    def test_orders(self):
        at = self.number(5, 1, 1, "forward-compute", 1)
        start = step_replay.seconds(self.table[at - 2][6])
        self.refuse(self.changed(at, start, step_replay.seconds(self.table[at - 2][6] - SECOND // 10)), f"e.csv:{at}: error:", "passes overlap")
        self.refuse(self.changed(at, ",0,1,1", ",0,2,1"), f"e.csv:{at}: error:", "is another microbatch or chunk than in step 4")
        self.refuse("\n".join([self.lines[0], *(line for line in self.lines[1:] if not line.startswith("0,1,"))]), "stage 1")
        lines = [line for line in self.lines if not line.startswith("1,")]
        self.refuse("\n".join(lines + [f"7{line[1:]}" for line in lines[1:]]), "rows are missing")


if __name__ == "__main__":
    programs.main(__doc__)
