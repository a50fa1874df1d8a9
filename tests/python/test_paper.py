#!/usr/bin/env python3
"""Schedules on paper: what search finds beside the public search, costs spread over stages, memory of given costs, reordered kinds, Pareto pictures.

usage: test_paper.py MESHSIM [unittest arguments]
"""

import json
import re
from xml.etree import ElementTree

import programs
from programs import ROOT

PUBLIC = {8: 1309, 10: 1248}
"""Spans that the zero-bubble project's search (its schedules of building blocks in a V) finds with P = 12, M = 36, F, I, W = 5, 6, 4, latency 1, by the cap in microbatches."""


def spans(csv, ranks, costs, latency):
    """The span of each rank and its most activations held, by a calculation of its own: passes run in the order of the lines, in a V."""
    lists = [[(cell[0], int(cell[1]), int(cell[2])) for cell in (re.fullmatch(r"(\d+)([FIW])(\d+)", text).group(2, 1, 3) for text in line.split(",") if text.strip())]
             for line in csv.splitlines()]
    ends, at, now, begun = {}, [0] * ranks, [0.0] * ranks, [None] * ranks
    held, most = [0] * ranks, [0] * ranks
    last = 2 * ranks - 1

    def ready(kind, stage, mb):
        """When the inputs of a pass have arrived; None: not yet known."""
        needs = {"F": [("F", stage - 1)], "I": [("F", stage), ("I", stage + 1)], "W": [("I", stage)]}[kind]
        times = []
        for other, there in needs:
            if 0 <= there <= last:
                end = ends.get((other, there, mb))
                if end is None:
                    return None
                times.append(end + (latency if there != stage and {there, stage} != {ranks - 1, ranks} else 0))
        return max(times, default=0.0)

    moved = True
    while moved:
        moved = False
        for rank in range(ranks):
            while at[rank] < len(lists[rank]):
                kind, stage, mb = lists[rank][at[rank]]
                arrival = ready(kind, stage, mb)
                if arrival is None:
                    break
                start = max(arrival, now[rank])
                begun[rank] = start if begun[rank] is None else begun[rank]
                now[rank] = ends[kind, stage, mb] = start + costs[kind]
                held[rank] += (kind == "F") - (kind == "W")
                most[rank] = max(most[rank], held[rank] + (kind == "W"))
                at[rank] += 1
                moved = True
    assert all(count == len(line) for count, line in zip(at, lists)), "the lists wait for each other"
    return [end - start for end, start in zip(now, begun)], most, ends


class Paper(programs.ProgramTest):
    def test_search_is_no_worse_than_the_public_one(self):
        if self.is_sanitized():
            self.skipTest("minutes under sanitizers; schedule_search.* runs the same code")
        for cap, span in PUBLIC.items():
            words = ("schedule", "search", "-p", "12", "-v", "2", "-m", "36", "--tf", "5", "--tb", "6", "--tw", "4", "--p2p", "1", "--memory-cap", str(cap))
            found = json.loads(self.meshsim(*words, "--json", "--csv", "found.csv").stdout)
            own, held, ends = spans((self.folder / "found.csv").read_text(encoding="ascii"), 12, {"F": 5, "I": 6, "W": 4}, 1)
            self.assertEqual(found["max_span"], max(own))
            self.assertLessEqual(max(own), span)
            self.assertLessEqual(max(held), 2 * cap)
            self.assertEqual(len(ends), 3 * 24 * 36)
            self.assertGreaterEqual(found["max_span"], found["search"]["span_bound"])

    def test_costs_are_spread_alike_on_paper_and_on_a_workload(self):
        times = {"forward": [2, 1, 1, 3], "input_gradient": [2, 1, 1, 3], "weight_gradient": [1, 1, 1, 1]}
        lists = "".join(f"  {key}: [{', '.join(f'{value} s' for value in values)}]\n" for key, values in times.items())
        job = self.write(f"platform: {{file: ideal, nodes: 4}}\nmesh: {{pp: 4}}\nbatch: {{microbatches: 8}}\ncosts:\n{lists}"
                         "  states: [4 GiB, 1 GiB, 1 GiB, 2 GiB]\n  activations: 1 GiB\n", "c.yaml")
        words = ("schedule", "--compare", "all", "-v", "2", "--json")
        paper = json.loads(self.meshsim(*words, "-p", "4", "-m", "8", *(f"--{name}={','.join(map(str, values))}" for name, values in zip(("tf", "tb", "tw"), times.values()))).stdout)
        found = {row["schedule"]: row for row in json.loads(self.meshsim(*words, "--workload", job).stdout)["rows"]}
        self.assertEqual({row["schedule"]: round(row["rank_makespan"], 9) for row in paper["rows"]}, {name: round(row["step_time_s"], 9) for name, row in found.items()})
        self.assertEqual(len(found), 18)
        # rank 0 holds its states and M activations, or P of them; in a V stages 0 and 7, (4 + 2) / 2 GiB, and P activations of a rank's stages
        self.assertEqual([found[name]["peak_B"] / 2**30 for name in ("gpipe", "1f1b", "zbv")], [4 + 8, 4 + 4, 3 + 4])
        capped = json.loads(self.meshsim(*words, "--workload", job, "--memory-cap", "7GiB").stdout)
        self.assertEqual([row["schedule"] for row in capped["rows"] if "reason" not in row], [name for name, row in found.items() if row["peak_B"] <= 7 * 2**30])
        self.write((self.folder / job).read_text().split("  states")[0], "unknown.yaml")
        self.assertNotIn("peak_B", json.loads(self.meshsim("schedule", "--compare", "gpipe", "--workload", "unknown.yaml", "--json").stdout)["rows"][0])

    def test_reordered_kinds_stand_in_the_table(self):
        rows = {row["schedule"]: row for row in json.loads(self.meshsim("schedule", "--compare", "all", "-p", "8", "-m", "32", "--json").stdout)["rows"]}
        # as in Qi et al., Pipeline Parallelism with Controllable Memory: at P = 8 and M = 32 the reordering shortens V-Half alone
        self.assertEqual([rows[name]["max_span_bubble"] for name in ("vhalf", "vhalf-reordered", "vmin", "vmin-reordered")], [26, 17, 27, 27])
        self.assertEqual(rows["vhalf-reordered"]["peak_inflight"], rows["vhalf"]["peak_inflight"])
        alone = json.loads(self.meshsim("schedule", "vhalf-reordered", "-p", "8", "-m", "32", "--json").stdout)
        self.assertEqual(alone, json.loads(self.meshsim("schedule", "vhalf", "--reorder", "-p", "8", "-m", "32", "--json").stdout))
        self.assertIn("unknown schedule 'zbv-reordered'", self.meshsim("schedule", "zbv-reordered", "-p", "8", "-m", "32", code=2).stderr)

    def front(self, rows, x, y):
        """Names of the rows that no other one beats both ways, by comparing all pairs."""
        return {name for name, row in rows.items() if not any(other[x] <= row[x] and other[y] <= row[y] and (other[x], other[y]) != (row[x], row[y]) for other in rows.values())}

    def expect_picture(self, svg, names, front):
        """A picture with a mark for each place, of which those on the front tell their names."""
        root = ElementTree.fromstring(svg)
        told = {name for title in root.iter("{http://www.w3.org/2000/svg}title") for name in (title.text or "").split(", ")}
        self.assertLessEqual(names, told)
        shown = {name for text in root.iter("{http://www.w3.org/2000/svg}text") for name in "".join(text.itertext()).split(", ")}
        self.assertEqual(shown & names, front)

    def test_pareto_pictures(self):
        words = ("schedule", "--compare", "all", "-p", "8", "-m", "32")
        rows = {row["schedule"]: row for row in json.loads(self.meshsim(*words, "--json").stdout)["rows"]}
        svg = self.meshsim(*words, "--pareto", "-").stdout
        self.expect_picture(svg, set(rows), self.front(rows, "peak_inflight", "bubble_fraction"))
        self.assertIn("microbatches in flight on a rank", svg)
        words = ("schedule", "--compare", "1f1b,zbh1,interleaved", "--workload", "tiny", "--json")
        rows = {row["schedule"]: row for row in json.loads(self.meshsim(*words, "--pareto", "p.svg").stdout)["rows"]}
        self.expect_picture((self.folder / "p.svg").read_text(), set(rows), self.front(rows, "peak_B", "bubble_fraction"))
        sweep = self.write(f"name: s\nworkload: {ROOT}/workloads/tiny.yaml\naxes: [{{mesh.tp: [1, 2]}}, {{batch.micro: [1, 2]}}]\n", "s.yaml")
        rows = {f"{row['settings']['mesh.tp']}, {row['settings']['batch.micro']}": row for row in json.loads(self.meshsim("sweep", sweep, "--json", "--pareto", "s.pdf").stdout)["rows"]}
        self.assertTrue((self.folder / "s.pdf").read_bytes().startswith(b"%PDF-"))
        told = [title.text for title in ElementTree.fromstring(self.meshsim("sweep", sweep, "--pareto", "-").stdout).iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(sorted(told), sorted(name for name, row in rows.items() if "cost" in row))
        self.meshsim("search", "tiny", "--top", "5", "--pareto", "f.png")
        self.assertTrue((self.folder / "f.png").read_bytes().startswith(b"\x89PNG"))
        self.assertIn("'--shard' and '--pareto'", self.meshsim("sweep", sweep, "--shard", "1/2", "--store", "s.db", "--pareto", "-", code=2).stderr)

    def test_a_pareto_picture_needs_two_quantities(self):
        free = self.write(self.meshsim("search", "tiny", "--platform", "ideal", "--gpus", "8", "--top", "2", "--json").stdout, "free.json")
        self.assertIn("no job has both 'cost' and 'step_time_s'", self.meshsim("plot", free, "--of", "pareto", code=3).stderr)
        self.assertIn("memory of a GPU", self.meshsim("plot", free, "--of", "pareto", "--x", "peak_B").stdout)


if __name__ == "__main__":
    programs.main("usage: test_paper.py MESHSIM [unittest arguments]")
