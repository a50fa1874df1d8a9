#!/usr/bin/env python3
"""Pages of searches, sweeps, comparisons and validations without a browser: their policy, and that their data are what --json prints.

What a browser shows of them is the matter of scripts/check_report.

usage: tests/python/test_results_page.py MESHSIM
"""

import base64
import hashlib
import json
import re
import shlex

import page_data
import programs
from programs import ROOT

TINY = ROOT / "workloads/tiny.yaml"
LINKS = ROOT / "workloads/studies/tiny-links.yaml"
SMALL = ("--vary", "mesh.tp=1,2", "--vary", "mesh.pp=1")


class ResultsPage(programs.ProgramTest):
    def make(self, *words, exits=0):
        """(text of a page, its data, what --json prints beside it)."""
        printed = self.meshsim(*words, "--json", "--html", "p.html", code=exits).stdout
        text = (self.folder / "p.html").read_text(encoding="utf-8")
        return text, page_data.data(text), json.loads(printed)

    def make_traces(self):
        for name, sets in (("a", ()), ("b", ("--set", "batch.global=32"))):
            self.meshsim("run", TINY, *sets, "--trace", "summary", "-o", f"{name}.h5")

    def test_data_are_what_json_prints(self):
        self.make_traces()
        for words, code in ((("search", TINY, *SMALL, "--whatif"), 0), (("search", TINY, "--vary", "mesh.tp=3"), 1), (("sweep", LINKS), 0), (("compare", "a.h5", "b.h5"), 1),
                            (("validate", ROOT / "workloads/validation/cases.yaml", "--group", "korthikanti22"), 0), (("replay", ROOT / "workloads/events/slow-stage.csv"), 0)):
            _, data, printed = self.make(*words, exits=code)
            self.assertEqual("rest" in data["result"], words[0] == "search")
            data["result"].pop("rest", None)
            self.assertEqual(data["result"], printed)
            self.assertEqual((data["page"], data["program_version"]), (words[0], self.meshsim("--version").stdout.split()[1]))
            self.assertEqual(shlex.split(data["command"]), ["meshsim", *map(str, words), "--json", "--html", "p.html"])

    def test_a_search_s_page_has_all_that_was_simulated_and_estimated(self):
        wide = ("search", TINY, "--vary", "mesh.tp=1,2,4", "--vary", "mesh.pp=1,2", "--vary", "batch.micro=1,2")
        _, _, whole = self.make(*wide, "--exhaustive", "--top", "100")
        _, data, _ = self.make(*wide, "--exhaustive", "--top", "2")
        found, rest = data["result"], data["result"]["rest"]
        self.assertEqual(found["results"] + rest["results"], whole["results"])
        self.assertEqual((len(found["results"]), rest["estimated"], found["counts"]["simulated"]), (2, 0, len(whole["results"])))
        _, data, printed = self.make(*wide, "--top", "1")
        found, rest = data["result"], data["result"]["rest"]
        estimated = [row for row in rest["results"] if "step_time_s" not in row]
        self.assertEqual((len(estimated), rest["estimated"]), (rest["estimated"], rest["estimated"]))
        self.assertGreater(rest["estimated"], 0)
        self.assertEqual(1 + len(rest["results"]) - len(estimated), found["counts"]["simulated"])
        self.assertEqual(rest["results"][len(rest["results"]) - len(estimated):], estimated)
        self.assertEqual([row["estimate_s"] for row in estimated], sorted(row["estimate_s"] for row in estimated))
        simulated = {json.dumps(row["settings"]): row for row in whole["results"]}
        for row in estimated:
            same = simulated[json.dumps(row["settings"])]
            for key in ("mesh", "order", "schedule", "v", "micro_batch", "recompute", "zero", "gpus", "platform", "estimate_s", "bound_s"):
                self.assertEqual(row[key], same[key], key)
            self.assertGreaterEqual(same["step_time_s"], printed["results"][0]["step_time_s"])

    def test_offers_side_by_side(self):
        text, data, printed = self.make("search", TINY, *SMALL, "--platform", "dgx-a100,dgx-h100", "--best-of", "platform", "--tokens", "1T")
        self.assertEqual(data["result"]["offers"], printed["offers"])
        self.assertEqual([row["best_of"] for row in data["result"]["results"]], ["platform", "platform"])
        self.assertIn("result.offers", text)

    def test_files_that_were_read_are_in_it(self):
        _, data, _ = self.make("sweep", LINKS)
        self.assertEqual([one["name"] for one in data["inputs"]], ["tiny-links.yaml", "tiny.yaml"])
        for one, path in zip(data["inputs"], (LINKS, TINY)):
            self.assertEqual((one["text"], one["sha256"]), (path.read_text(encoding="utf-8"), hashlib.sha256(path.read_bytes()).hexdigest()))
        _, data, _ = self.make("search", "tiny", *SMALL)  # by its name
        self.assertEqual([(one["name"], one["text"]) for one in data["inputs"]], [("tiny.yaml", TINY.read_text(encoding="utf-8"))])
        large = self.folder / "large.yaml"
        large.write_text(TINY.read_text(encoding="utf-8") + "# filling\n" * 60000, encoding="utf-8")
        _, data, _ = self.make("search", large, *SMALL)
        self.assertEqual(data["inputs"], [{"name": "large.yaml", "sha256": hashlib.sha256(large.read_bytes()).hexdigest(), "text": None}])

    def test_its_policy_allows_its_own_script_and_style_alone(self):
        text, _, _ = self.make("search", TINY, *SMALL)
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        for tag in ("script", "style"):
            inside = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.S).group(1)
            self.assertEqual(rules[f"{tag}-src"], "'sha256-" + base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode() + "'")
            for word in ("fetch(", "XMLHttpRequest", "WebSocket", "import(", "url(", "eval(", "Function(", "innerHTML", "://"):
                self.assertNotIn(word, inside)
        self.assertEqual(rules["default-src"], "'none'")

    def test_names_do_not_leave_their_place(self):
        nasty = "x</script><script>alert(1)</script><!-- \"&'"
        workload = self.folder / "it's $(here).yaml"
        workload.write_text(f"name: {json.dumps(nasty)}\n" + re.sub(r"(?m)^name:.*\n", "", TINY.read_text(encoding="utf-8")), encoding="utf-8")
        text, data, _ = self.make("search", workload, *SMALL)
        self.assertNotIn("alert(1)</", text)
        self.assertNotIn("<!-- ", text)
        self.assertEqual((data["title"], data["subject"]), (nasty, str(workload)))
        self.assertTrue(data["command"].startswith("meshsim search '" + str(workload).replace("'", "'\\''") + "' "), data["command"])

    def test_a_comparison_has_both_sides_and_a_missing_one_is_null(self):
        self.make_traces()
        for side in ("before", "after"):
            (self.folder / side).mkdir()
        (self.folder / "a.h5").rename(self.folder / "before/only.h5")
        (self.folder / "b.h5").rename(self.folder / "after/other.h5")
        _, data, _ = self.make("compare", "before", "after", exits=1)
        only, other = data["result"]["traces"]
        self.assertEqual((only["b"], other["a"]), (None, None))
        for side, row in (("a", only), ("b", other)):
            self.assertEqual(row[side]["step_time_s"], row[f"step_time_{side}_s"])
            self.assertAlmostEqual(sum(row[side]["time_share"].values()), 1, delta=1e-9)
            self.assertGreater(row[side]["memory"]["peak_B"], 0)

    def test_where_it_goes(self):
        done = self.meshsim("search", TINY, *SMALL, "--html", "-")
        self.assertTrue(done.stdout.startswith("<!DOCTYPE html>") and done.stdout.rstrip().endswith("</html>"), "the page alone, and whole")
        self.assertIn("both want the standard output", self.meshsim("sweep", LINKS, "--html", "-", "--json", code=2).stderr)
        self.assertIn("--html p.html' writes it", self.meshsim("search", TINY, "-o", "p.html", code=2).stderr)
        self.meshsim("sweep", LINKS, "--html", "no/such/folder/p.html", code=4)
        self.assertEqual(sorted(self.folder.iterdir()), [])


if __name__ == "__main__":
    programs.main(__doc__)
