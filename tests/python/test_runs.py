#!/usr/bin/env python3
"""Many jobs in one call: each is what `run` makes of it, and one that fails leaves the others be.

usage: test_runs.py MESHSIM [unittest arguments]
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
TEXT = "platform: {file: selene-a100, nodes: 1}\nmodel: {type: gpt, layers: 4, hidden: 1024, heads: 16, vocab: 51200, sequence: 1024}\nmesh: {tp: 4, dp: 2}\nbatch: {global: 8}\n"
LARGE = TEXT.replace("hidden: 1024", "hidden: 32768").replace("layers: 4", "layers: 40")


def start(*words):
    """The finished process."""
    return subprocess.run([PROGRAM, *map(str, words)], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True, timeout=250)


def steady(result):
    """A result without what differs from run to run."""
    return {key: value for key, value in result.items() if key != "engine"}


class Runs(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def runs(self, tree, *words):
        """The exit code, the lines by job, and what was said."""
        path = self.folder / "jobs.json"
        path.write_text(tree if isinstance(tree, str) else json.dumps({"jobs": tree}), encoding="utf-8")
        done = start("runs", path, *words)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return done.returncode, {line["job"]: line for line in lines}, done.stderr

    def test_a_job_is_what_run_makes_of_it(self):
        workload = self.folder / "own.yaml"
        workload.write_text(TEXT, encoding="utf-8")
        jobs = [{"workload": "tiny", "set": ["batch.micro=2"]}, {"workload": str(workload)}, {"workload": "nowhere.yaml", "text": TEXT},
                {"workload": "tiny", "platform": "dgx-h100"}]
        words = [["tiny", "--set", "batch.micro=2"], [workload], [workload], ["tiny", "--platform", "dgx-h100"]]
        for number in (1, 3):
            code, lines, said = self.runs(jobs, "--jobs", number, "--set", "platform.gpu.spread=0")
            self.assertEqual((code, said, sorted(lines)), (0, "", [0, 1, 2, 3]))
            for i, one in enumerate(words):
                done = start("run", *one, "--set", "platform.gpu.spread=0", "--json", "--passes")
                self.assertEqual(done.returncode, 0, done.stderr)
                expected = steady(json.loads(done.stdout))
                if i == 2:
                    expected["workload"] = "nowhere"
                self.assertEqual((lines[i]["exit"], lines[i]["is_read"], steady(lines[i]["result"])), (0, True, expected))

    def test_what_does_not_fit_is_simulated(self):
        _, lines, _ = self.runs([{"workload": "large", "text": LARGE}])
        self.assertEqual((lines[0]["exit"], lines[0]["result"]["memory"]["fits"]), (0, False))

    def test_a_job_that_fails_says_why(self):
        jobs = [{"workload": "broken", "text": "mesh: {dp: 1"}, {"workload": "tiny"}, {"workload": "tiny", "set": ["mesh.tp=3"]}, {"workload": "none.yaml"}]
        code, lines, said = self.runs(jobs)
        self.assertEqual((code, said), (0, ""))
        self.assertEqual([(lines[i]["exit"], lines[i]["is_read"]) for i in range(4)], [(3, False), (0, True), (3, True), (3, False)])
        self.assertTrue(lines[0]["said"].startswith("broken:1:13: error: not valid YAML"), lines[0])
        self.assertIn("needs 12 GPUs", lines[2]["reason"])
        self.assertNotIn("result", lines[2])

    def test_an_override_of_all_is_blamed_where_it_is_wrong(self):
        jobs = [{"workload": "broken", "text": "mesh: {dp: 1"}, {"workload": "tiny"}]
        code, lines, _ = self.runs(jobs, "--set", "platform.tiers.rial.latency=0 s")
        self.assertEqual((code, [lines[i]["blames_set"] for i in range(2)]), (0, [False, True]))
        self.assertIn("did you mean 'rail'?", lines[1]["reason"])

    def test_any_tier_is_each_tier(self):
        _, one, _ = self.runs([{"workload": "x", "text": TEXT}], "--set", "platform.tiers.*.latency=0 s")
        each = [word for tier in ("nvlink", "rail", "spine", "core") for word in ("--set", f"platform.tiers.{tier}.latency=0 s")]
        _, all_of_them, _ = self.runs([{"workload": "x", "text": TEXT}], *each)
        self.assertEqual(one[0]["result"]["step_time_s"], all_of_them[0]["result"]["step_time_s"])
        later = ["--set", "platform.tiers.*.latency=0 s", "--set", "platform.tiers.nvlink.latency=9 us"]
        earlier = [*later[2:], *later[:2]]
        times = [self.runs([{"workload": "x", "text": TEXT}], *words)[1][0]["result"]["step_time_s"] for words in (later, earlier)]
        self.assertGreater(times[0], one[0]["result"]["step_time_s"])
        self.assertEqual(times[1], one[0]["result"]["step_time_s"])

    def test_a_list_that_is_none_is_refused(self):
        for text, place in (("[]", "expected"), ('{"jobs": 3}', "jobs.json:1:10: error: jobs: expected a list of jobs"), ('{"jobs": [{"worklod": "tiny"}]}', "did you mean 'workload'?"),
                            ('{"jobs": [{"workload": "tiny"}, 3]}', "jobs.json:1:33: error: "), ("{", "not valid JSON")):
            code, lines, said = self.runs(text)
            self.assertEqual((code, lines), (3, {}), text)
            self.assertIn(place, said)
        self.assertEqual(start("runs", self.folder / "none.json").returncode, 3)
        self.assertEqual(self.runs([], "--jobs", "0")[0], 2)
        self.assertEqual(self.runs([]), (0, {}, ""))

    def test_a_full_disk_ends_it(self):
        path = self.folder / "jobs.json"
        path.write_text(json.dumps({"jobs": [{"workload": "tiny"}] * 3}), encoding="utf-8")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "runs", path], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, check=False, timeout=100)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"cannot write to the standard output", done.stderr)


class Passes(unittest.TestCase):
    """What --passes adds to `run --json`."""

    def test_phases_sum_to_the_step(self):
        done = start("run", "tiny", "--json", "--passes")
        found = json.loads(done.stdout)
        plain = json.loads(start("run", "tiny", "--json").stdout)
        self.assertEqual(list(found)[:len(plain)], list(plain))
        self.assertAlmostEqual(sum(found["passes"]["phase_s"].values()), found["step_time_s"], delta=1e-12)
        self.assertGreater(found["passes"]["compute_s"]["forward"], 0)
        self.assertLessEqual(found["last_rank"]["static_B"], found["last_rank"]["peak_B"])
        self.assertEqual(found["framework"], "none")

    def test_it_adds_to_json_alone(self):
        done = start("run", "tiny", "--passes")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("'--passes' needs '--json'", done.stderr)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
