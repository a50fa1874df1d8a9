#!/usr/bin/env python3
"""What machines read of `meshsim compare`: its JSON and its JUnit XML.

usage: tests/python/test_compare.py MESHSIM
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import h5py

from trace_trees import put_tree, tree

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
KEYS = {"equal", "guarded_ok", "compared", "are_folders", "traces", "defaults", "inputs", "versions", "differences"}
ROW = {"key", "a", "b"}
NASTY = '"<&>\' ]]> \u00e9 \U0001f600'  # what XML, Markdown and JSON each want escaped


def meshsim(*words):
    """(exit code, standard output)."""
    done = subprocess.run([PROGRAM, *map(str, words)], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode > 1:
        raise AssertionError(done.stderr.decode())
    return done.returncode, done.stdout


class Compare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.place.name)
        for side, batch in (("base", 16), ("now", 32)):
            (cls.folder / side).mkdir()
            for name, size in (("same", 16), ("grown", batch)):
                meshsim("run", ROOT / "workloads/tiny.yaml", "--set", f"batch.global={size}", "-o", cls.path(side, name))
        meshsim("run", ROOT / "workloads/tiny.yaml", "--set", f"name={json.dumps(NASTY, ensure_ascii=False)}", "-o", cls.path("now", "new"))
        meshsim("run", ROOT / "workloads/tiny.yaml", "-o", cls.path("base", "gone"))

    @classmethod
    def path(cls, side, name):
        return cls.folder / side / f"{name}.h5"

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_json_of_files(self):
        code, text = meshsim("compare", self.path("base", "grown"), self.path("now", "grown"), "--json")
        found = json.loads(text)
        self.assertEqual((code, set(found)), (1, KEYS))
        self.assertEqual((found["equal"], found["guarded_ok"], found["are_folders"]), (False, False, False))
        for side, name in (("a", "base"), ("b", "now")):
            with h5py.File(self.path(name, "grown")) as trace:
                self.assertEqual(found["traces"][0][side]["time_share"], tree(trace)["time_share"])
        self.assertEqual(found["inputs"], [{"key": "batch.global", "a": "16", "b": "32"}])
        step = found["differences"][0]
        self.assertEqual(set(step), ROW | {"relative", "guarded", "failed"})
        self.assertEqual(step["key"], "step_time_s")
        self.assertAlmostEqual(step["relative"], (step["b"] - step["a"]) / step["a"], delta=1e-12)
        with h5py.File(self.path("now", "grown")) as trace:
            self.assertEqual(step["b"], tree(trace)["step_time_s"])

    def test_two_offers(self):
        for name, sets in (("other", ("--platform", "dgx-h100")), ("more", ("--set", "platform.nodes=2", "--set", "mesh.dp=4"))):
            meshsim("run", ROOT / "workloads/tiny.yaml", *sets, "--trace", "summary", "-o", self.folder / f"{name}.h5")
        here = self.path("base", "same")
        for name, words in (("other", "dgx-a100 with 8 GPUs, dgx-h100 with 8 GPUs"), ("more", "dgx-a100 with 8 GPUs, dgx-a100 with 16 GPUs")):
            code, out = meshsim("compare", here, self.folder / f"{name}.h5")
            text = " ".join(out.decode().split())
            self.assertEqual(code, 1)  # they are not equal, and everything is guarded
            self.assertTrue(text.startswith("compare: two offers "), text[:80])
            self.assertIn(f"quantities differ between two offers: {words} ", text)
            self.assertNotIn("guard", text.split("inputs that differ")[0])
        found = json.loads(meshsim("compare", here, self.folder / "other.h5", "--json")[1])
        self.assertEqual((found["guarded_ok"], found["traces"][0]["offers"]), (False, True))
        # a guard that is named is told of, and what differs in other respects is no offer
        code, out = meshsim("compare", here, self.folder / "other.h5", "--max-increase", "step_time_s=1%")
        self.assertEqual((code, out.decode().split("\n")[0]), (0, "compare: changed within the guard"))
        self.assertEqual(meshsim("compare", here, self.path("now", "grown"))[1].decode().split("\n")[0], "compare: the guard is broken")

    def test_json_of_folders(self):
        code, text = meshsim("compare", self.folder / "base", self.folder / "now", "--json", "--only", "step_time_s")
        found = json.loads(text)
        self.assertEqual((code, set(found)), (1, KEYS))
        self.assertEqual([(row["trace"], row["in"], row["equal"], row["guarded_ok"]) for row in found["traces"]],
                         [("gone.h5", "a", False, False), ("grown.h5", "both", False, False),
                          ("new.h5", "b", False, True), ("same.h5", "both", True, True)])
        self.assertEqual([(row["trace"], row["key"]) for row in found["differences"]], [("grown.h5", "step_time_s")])
        self.assertEqual([(row["trace"], row["key"]) for row in found["inputs"]], [("grown.h5", "batch.global")])

    def test_rounding_noise_is_no_difference(self):
        noisy = self.folder / "noisy.h5"
        noisy.write_bytes(self.path("base", "same").read_bytes())
        with h5py.File(noisy, "r+") as trace:
            summary = tree(trace)
            summary["step_time_s"] *= 1 + 2e-14
            summary["time_share"]["exposed_cp"] = 3e-17
            put_tree(trace, summary)
        code, text = meshsim("compare", self.path("base", "same"), noisy)
        self.assertEqual(code, 0, text.decode())
        self.assertIn(b"equal: ", text)

    def junit(self, *words):
        """(exit code, suites by name) of the XML of both folders."""
        target = self.folder / "j.xml"
        code, _ = meshsim("compare", self.folder / "base", self.folder / "now", "--junit", target, *words)
        root = ElementTree.parse(target).getroot()
        suites = {suite.get("name"): suite for suite in root}
        for suite in root:
            cases = suite.findall("testcase")
            self.assertEqual(int(suite.get("tests")), len(cases))
            self.assertEqual(int(suite.get("failures")), len(suite.findall("testcase/failure")))
        for count in ("tests", "failures"):
            self.assertEqual(int(root.get(count)), sum(int(suite.get(count)) for suite in root))
        return code, suites

    def test_junit_has_a_case_per_trace_and_guard(self):
        code, suites = self.junit("--max-increase", "step_time_s=1%", "--only", "memory")
        self.assertEqual(code, 1)
        failed = {name: [case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None]
                  for name, suite in suites.items()}
        guards = ["memory", "step_time_s by at most +1 %"]
        self.assertEqual(failed, {"gone.h5": guards, "grown.h5": guards[1:], "new.h5": [], "same.h5": []})
        for suite in suites.values():
            self.assertEqual([case.get("name") for case in suite.findall("testcase")], guards)
        failure = suites["grown.h5"].find("testcase/failure")
        self.assertRegex(failure.get("message"), r"^step_time_s: 0\.04\d+ -> 0\.07\d+ \(\+8\d(\.\d)? %\)$")
        self.assertIn("batch.global: 16 -> 32", suites["grown.h5"].find("system-out").text)

    def test_junit_of_everything(self):
        code, suites = self.junit()
        self.assertEqual(code, 1)
        self.assertEqual({name: int(suite.get("failures")) for name, suite in suites.items()},
                         {"gone.h5": 1, "grown.h5": 1, "new.h5": 1, "same.h5": 0})
        lines = suites["grown.h5"].find("testcase/failure").text.splitlines()
        self.assertGreater(len(lines), 20)
        self.assertTrue(lines[0].startswith("step_time_s: "))

    def test_junit_skips_what_no_guard_judges(self):
        """A trace that is new in B was judged by no named guard; one that B lacks fails; of equal traces nothing is skipped."""
        _, suites = self.junit("--max-increase", "step_time_s=1%", "--only", "memory")
        skipped = {name: [case.find("skipped").get("message") for case in suite.findall("testcase") if case.find("skipped") is not None]
                   for name, suite in suites.items()}
        self.assertEqual(skipped, {"gone.h5": [], "grown.h5": [], "new.h5": ["only in b"] * 2, "same.h5": []})
        self.assertEqual({name: suite.get("skipped") for name, suite in suites.items()}, {"gone.h5": "0", "grown.h5": "0", "new.h5": "2", "same.h5": "0"})

    def test_a_guard_against_decrease(self):
        """Twice the batch: the bubble's share shrinks, tokens per second grow."""
        words = ("compare", self.path("base", "grown"), self.path("now", "grown"))
        rows = {row["key"]: row["relative"] for row in json.loads(meshsim(*words, "--json")[1])["differences"]}
        bubble, tokens = rows["bubble_fraction"], rows["tokens_per_s"]
        self.assertTrue(bubble < 0 < tokens)
        for guard, code in ((f"bubble_fraction={-bubble * 0.99}", 1), (f"bubble_fraction={-bubble * 1.01}", 0), ("tokens_per_s=0", 0)):
            self.assertEqual(meshsim(*words, "--max-decrease", guard)[0], code, guard)
        self.assertEqual(meshsim(*words, "--max-increase", "tokens_per_s=0", "--max-decrease", "tokens_per_s=0")[0], 0, "the last guard of a key holds")
        page = meshsim(*words, "--max-decrease", "bubble_fraction=1%")[1].decode()
        self.assertIn("guarded  bubble_fraction by at most -1 %\n", page)

    def shown(self, *words):
        """(trace, key) of the rows of all tables 'TRACE: quantities that differ', in text or Markdown."""
        rows, trace = [], None
        for line in meshsim(*words)[1].decode().splitlines():
            title = re.fullmatch(r"(?:### )?(\S+\.h5): (.*)", line)
            key = re.match(r"(?:\| )?([a-z]\S*)", line)
            trace = title[1] if title and title[2] == "quantities that differ" else None if title else trace
            if trace and not title and key and key[1] != "key":
                rows.append((trace, key[1].replace("\\", "")))
        return rows

    def test_a_row_stands_on_one_line_of_a_terminal(self):
        """Each table of a trace has one heading, with both values and the change, and no row is wider than 80 columns."""
        words = ("compare", self.folder / "base", self.folder / "now", "--map", "gone.h5=new.h5")
        whole = json.loads(meshsim(*words, "--json")[1])["differences"]
        self.assertEqual(self.shown(*words), [(row["trace"], row["key"]) for row in whole])
        self.assertEqual(self.shown(*words, "--markdown"), [(row["trace"], row["key"]) for row in whole])
        page = meshsim(*words)[1].decode()
        heads = [line.split() for line in page.splitlines() if line.startswith("key ")]
        self.assertEqual(heads, [["key", "a", "b"], ["key", "a", "b", "(b-a)/|a|"], ["key", "a", "b"], ["key", "a", "b"]])  # inputs and results; of new.h5 only texts
        wide = [self.folder / f"wide{i}.h5" for i in range(2)]  # numbers of 14 columns, and a key of 36
        for i, path in enumerate(wide):
            shutil.copy(self.path("base", "same"), path)
            with h5py.File(path, "r+") as trace:
                summary = tree(trace)
                summary["step_time_s"] = 1.23456781e100 * (1 + i * 1e-8)
                summary["q" * 36] = 1.0 + i
                put_tree(trace, summary)
        lines = meshsim("compare", *wide)[1].decode().split("quantities that differ\n")[1].splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["key", "step_time_s", "q" * 36, "1"])
        self.assertRegex(lines[1], r"^step_time_s +1\.23456781e\+100  1\.23456782e\+100 +\+1e-06 %  !$")
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_top_shows_the_largest(self):
        words = ("compare", self.folder / "base", self.folder / "now", "--map", "gone.h5=new.h5")
        whole = json.loads(meshsim(*words, "--json")[1])["differences"]
        for top in (1, 3):
            for form in ((), ("--markdown",)):
                self.assertEqual(self.shown(*words, *form, "--top", top),
                                 [(trace, row["key"]) for trace in ("grown.h5", "new.h5") for row in [one for one in whole if one["trace"] == trace][:top]])
        self.assertEqual(json.loads(meshsim(*words, "--json", "--top", 1)[1])["differences"], whole)

    def test_what_breaks_a_guard_is_never_hidden(self):
        words = ("compare", self.folder / "base", self.folder / "now")
        limits = [word for key in ("engine.ops", "memory.buffers_B", "energy_J") for word in ("--max-increase", f"{key}=0")]
        found = json.loads(meshsim(*words, *limits, "--json")[1])["differences"]
        broken = [(row["key"], f"{100 * row['relative']:+.3g} %") for row in found if row["failed"]]
        self.assertGreaterEqual(len(broken), 2)
        self.assertNotIn("step_time_s", dict(broken))
        self.assertEqual([row["failed"] for row in found], [True] * len(broken) + [False] * (len(found) - len(broken)), "first in every form")
        code, page = meshsim(*words, *limits, "--top", 1)
        shown = [line.split() for line in page.decode().split("grown.h5: quantities that differ\nkey")[1].splitlines()[1:]]
        self.assertEqual(code, 1)
        self.assertEqual([line[0] for line in shown], [key for key, _ in broken] + ["step_time_s"], "one beside those that break a guard")
        self.assertEqual([line[-1] == "!" for line in shown], [True] * len(broken) + [False])
        self.assertIn(f" ! {', '.join(map(' '.join, broken))} new.h5 ", " ".join(page.decode().split()), "in the table of all traces")
        cells = [line for line in meshsim(*words, *limits, "--markdown")[1].decode().splitlines() if line.startswith("| grown.h5 |")][0]
        self.assertTrue(cells.replace("\\", "").endswith(f"| ! | {', '.join(map(' '.join, broken))} |"), cells)
        self.assertRegex(" ".join(meshsim(*words)[1].decode().split()), r" ! step_time_s \+[0-9.]+ %, [^!]* %, \d+ more new\.h5 ")

    def test_renamed_traces_are_compared(self):
        words = ("compare", self.folder / "base", self.folder / "now", "--map", "gone.h5=new.h5", "--json")
        traces = {row["trace"]: row for row in json.loads(meshsim(*words)[1])["traces"]}
        self.assertEqual({name: row["in"] for name, row in traces.items()}, {"grown.h5": "both", "new.h5": "both", "same.h5": "both"})
        self.assertEqual([traces["new.h5"][side]["workload"] for side in "ab"], ["tiny", NASTY])
        done = subprocess.run([PROGRAM, *words[:3], "--map", "gone"], check=False, capture_output=True, text=True)
        self.assertEqual((done.returncode, "--map: expected OLD.h5=NEW.h5, got 'gone'" in done.stderr), (2, True))

    def test_renamed_traces_must_be_there(self):
        base, now = self.folder / "base", self.folder / "now"
        for words, said in ((["gon.h5=new.h5"], [f"no trace 'gon.h5' in '{base}'; did you mean 'gone.h5'?"]),
                            (["gone.h5=same.h5", "same.h5=nw.h5"], [f"no trace 'nw.h5' in '{now}'; did you mean 'new.h5'?"]),
                            (["new.h5=gone.h5"], [f"no trace 'new.h5' in '{base}'\n", f"no trace 'gone.h5' in '{now}'\n"])):
            maps = [word for one in words for word in ("--map", one)]
            done = subprocess.run([PROGRAM, "compare", base, now, *maps, "--accept"], check=False, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout, [text for text in said if text not in done.stderr]), (2, "", []), done.stderr)
            self.assertEqual(done.stderr.count("no trace"), len(said))
        self.assertEqual(sorted(path.name for path in base.iterdir()), ["gone.h5", "grown.h5", "same.h5"])

    def test_accept_makes_a_new_baseline(self):
        with tempfile.TemporaryDirectory() as place:
            base, now = Path(place) / "base", self.folder / "now"
            shutil.copytree(self.folder / "base", base)
            self.assertEqual(meshsim("compare", base, now, "--max-increase", "step_time_s=1%")[0], 1)
            self.assertEqual(sorted(path.name for path in base.iterdir()), ["gone.h5", "grown.h5", "same.h5"], "nothing is accepted unasked")
            code, page = meshsim("compare", base, now, "--max-increase", "step_time_s=1%", "--map", "same.h5=new.h5", "--map", "gone.h5=same.h5", "--accept")
            self.assertEqual((code, b"the guard is broken" in page), (0, True))
            self.assertEqual({path.name: path.read_bytes() for path in base.iterdir()}, {path.name: path.read_bytes() for path in now.iterdir()})
            self.assertEqual(meshsim("compare", base, now)[0], 0)
            swapped = ("--map", "same.h5=new.h5", "--map", "new.h5=same.h5")
            self.assertEqual(meshsim("compare", base, now, *swapped, "--accept", "--only", "workload")[0], 0)
            self.assertEqual({path.name: path.read_bytes() for path in base.iterdir()}, {path.name: path.read_bytes() for path in now.iterdir()})
            one = base / "same.h5"
            meshsim("compare", one, now / "grown.h5", "--accept")
            self.assertEqual(one.read_bytes(), (now / "grown.h5").read_bytes())
            one.unlink()
            one.mkdir()  # in the way of what is accepted
            meshsim("compare", self.path("base", "same"), now / "same.h5")
            done = subprocess.run([PROGRAM, "compare", base, now, "--accept"], check=False, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)

    def test_what_is_let_pass_is_not_equal(self):
        words = ("compare", self.path("base", "grown"), self.path("now", "grown"), "--only", "step_time_s", "--tolerance")
        code, page = meshsim(*words, "50%")  # 40.6 ms and 75.1 ms: 46 % of the larger
        self.assertEqual((code, page.decode().split("\n")[0]), (0, "compare: within the tolerance"))
        self.assertIn("\nwithin the tolerance: 1 quantities compared\n", page.decode())
        self.assertEqual((meshsim(*words, "40%")[0], meshsim(*words, "40%")[1].decode().split("\n")[0]), (1, "compare: the guard is broken"))
        self.assertEqual(meshsim("compare", self.path("base", "same"), self.path("now", "same"), "-t", "50%")[1].decode().split("\n")[0], "compare: equal")
        folders = ("compare", self.folder / "base", self.folder / "now", "--only", "step_time_s", "-t", "50%")
        page = meshsim(*folders, "--map", "gone.h5=new.h5")[1].decode()
        self.assertTrue(page.startswith("compare: within the tolerance\n"), page)
        self.assertIn("traces: 3 equal or within the tolerance, 0 differ, 0 on one side only; none breaks the guard", " ".join(page.split()))
        self.assertRegex(page, r"\ngrown\.h5 .* within the tolerance\n")
        self.assertEqual([row["equal"] for row in json.loads(meshsim(*folders, "--json")[1])["traces"]], [False, True, False, True])

    def test_accept_tells_what_it_wrote_and_removed(self):
        with tempfile.TemporaryDirectory() as place:
            base, now = Path(place) / "base", self.folder / "now"
            shutil.copytree(self.folder / "base", base)
            (base / "two.h5").write_bytes((base / "same.h5").read_bytes())
            for words, said in ((["--map", "gone.h5=new.h5"], "3 written, 2 removed (gone.h5, two.h5)"), (["--json"], "3 written, 0 removed")):
                done = subprocess.run([PROGRAM, "compare", base, now, "--accept", *words], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, f"meshsim: note: accepted as the new baseline: {said}"))
            self.assertEqual(sorted(path.name for path in base.iterdir()), ["grown.h5", "new.h5", "same.h5"])
            done = subprocess.run([PROGRAM, "compare", base / "same.h5", now / "grown.h5", "--accept"], check=False, capture_output=True, text=True)
            self.assertEqual(done.stderr, "meshsim: note: accepted as the new baseline: 1 written, 0 removed\n")

    def test_any_text_is_legal_xml_and_json(self):
        target = self.folder / "n.xml"
        words = ("compare", self.path("base", "same"), self.path("now", "new"), "--only", "workload")
        self.assertEqual(meshsim(*words, "--junit", target)[0], 1)
        self.assertIn(NASTY, ElementTree.parse(target).getroot().find("testsuite/testcase/failure").text)
        self.assertEqual(json.loads(meshsim(*words, "--json")[1])["differences"][0]["b"], NASTY)
        self.assertIn("\\<\\&\\>".encode(), meshsim(*words, "--markdown")[1])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
