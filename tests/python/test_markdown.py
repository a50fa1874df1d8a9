#!/usr/bin/env python3
"""What --markdown prints: tables as GitHub reads them, of the numbers that --json prints, for any names.

usage: tests/python/test_markdown.py MESHSIM
"""

import json
import re

import programs
from programs import ROOT

TINY = ROOT / "workloads/tiny.yaml"
NASTY = "a|b `c` *d* <e> [f](g) \\h"


def cells(line):
    """Cells of a table's line: between bars that no backslash escapes (GitHub Flavored Markdown, 4.10)."""
    assert line.startswith("| ") and line.endswith(" |"), line
    return [cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]]


def tables(text):
    """Tables of a text, by the heading before them: lists of rows, the first of them the headings."""
    found, title, lines = {}, "", text.split("\n")
    for place, line in enumerate(lines):
        title = line[4:] if line.startswith("### ") else title
        if re.fullmatch(r"\|(:?-+:?\|)+", line):
            rows = [cells(lines[place - 1])]
            assert len(rows[0]) == line.count("|") - 1, f"{line} under {lines[place - 1]}"
            for row in lines[place + 1:]:
                if not row.startswith("|"):
                    break
                rows.append(cells(row))
            assert lines[place - 2] == "", "a table stands behind an empty line"
            found[title] = rows
    return found


class Markdown(programs.ProgramTest):
    def test_every_row_has_as_many_cells_as_its_head(self):
        for name in "ab":
            self.meshsim("run", TINY, "--set", f"batch.global={16 if name == 'a' else 32}", "--trace", "summary", "-o", f"{name}.h5")
        (self.folder / "sweep.yaml").write_text(f"workload: {TINY}\naxes:\n  - batch.micro: [3, 1, 2]\n", encoding="utf-8")
        for words, code in ((("run", TINY, "--whatif"), 0), (("check", TINY), 0), (("compare", "a.h5", "b.h5"), 1), (("sweep", "sweep.yaml"), 0), (("search", TINY, "--vary", "mesh.tp=1,2,3", "--whatif"), 0),
                            (("validate", ROOT / "workloads/validation/cases.yaml", "--group", "korthikanti22"), 0), (("schedule", "zbv", "-p", 4, "-m", 8), 0), (("schedule", "--compare", "all", "-p", 4, "-m", 9), 0),
                            (("schedule", "search", "-p", 4, "-m", 8), 0), (("collective", "p2p", "--platform", ROOT / "platforms/flat.yaml", "-e", "4MiB"), 0)):
            text = self.meshsim(*words, "--markdown", code=code).stdout
            self.assertTrue(text.startswith(f"## meshsim {words[0]}"), text[:60])
            found = tables(text)
            self.assertTrue(found, words)
            for title, (head, *rows) in found.items():
                self.assertTrue(rows, f"{words[0]}: '{title}' is empty")
                for row in rows:
                    self.assertEqual(len(row), len(head), f"{words[0]}: {title}: {row}")

    def test_numbers_are_those_of_json(self):
        words = ("run", TINY, "--whatif")
        found, printed = tables(self.meshsim(*words, "--markdown").stdout), json.loads(self.meshsim(*words, "--json").stdout)
        facts = dict(found[""]) | dict(found["the step"])
        self.assertEqual((facts["MFU"], facts["GPUs"], facts["fits"]), (f"{100 * printed['mfu']:.2f} %", "8", "yes"))
        self.assertEqual(facts["tokens/s"], f"{printed['tokens_per_s']:.0f}")
        self.assertEqual(facts["mesh"], ", ".join(f"{axis} {size}" for axis, size in printed["mesh"].items()))
        self.assertEqual({what: share for what, _, share in found["where the time goes"][1:]}, {key: f"{100 * share:.2f} %" for key, share in printed["time_share"].items() if share > 0})
        self.assertEqual([row[0] for row in found["what one change would buy"][1:]], [row["change"] for row in printed["whatif"]])
        results = json.loads(self.meshsim("search", TINY, "--top", 3, "--json").stdout)["results"]
        head, *rows = tables(self.meshsim("search", TINY, "--top", 3, "--markdown").stdout)[""]
        for number, (row, result) in enumerate(zip(rows, results), 1):
            shown = dict(zip(head, row))
            self.assertEqual((shown["#"], shown["bubble"], shown["limited by"]), (str(number), f"{100 * result['bubble_fraction']:.2f} %", result["limited_by"]))

    def test_a_sweep_whose_first_points_are_refused(self):
        for axis, name, why, code in (("batch.micro: [3, 1]", "tiny", "batch.global: 16 sequences do not divide", 0), ("mesh.order: ['[pp, dp, tp]']", "", "mesh.order: expected a sequence", 1)):
            (self.folder / "sweep.yaml").write_text(f"workload: {TINY}\naxes:\n  - {axis}\n", encoding="utf-8")
            self.assertEqual(json.loads(self.meshsim("sweep", "sweep.yaml", "--json", code=code).stdout)["workload"], name)
            head, *rows = tables(self.meshsim("sweep", "sweep.yaml", "--markdown", code=code).stdout)["left out"]
            self.assertEqual(head[-1], "left out, as")
            self.assertTrue(rows[0][-1].startswith(why), rows[0])
            self.meshsim("sweep", "sweep.yaml", "--html", "p.html", code=code)

    def test_names_stay_in_their_cells(self):
        workload = self.folder / "w.yaml"
        workload.write_text(re.sub(r"(?m)^name:.*$", lambda _: "name: " + json.dumps(NASTY), TINY.read_text(encoding="utf-8")), encoding="utf-8")
        escape = lambda text: re.sub(r"([|\\`*<>\[\]])", r"\\\1", text)
        for command in ("run", "check"):
            self.assertEqual(self.meshsim(command, workload, "--markdown").stdout.split("\n")[0], f"## meshsim {command}: {escape(NASTY)}")
        (self.folder / "sweep.yaml").write_text(f"name: s\nworkload: {TINY}\naxes:\n  - name: [{json.dumps(NASTY)}]\n", encoding="utf-8")
        found = tables(self.meshsim("sweep", "sweep.yaml", "--markdown").stdout)[""]
        self.assertEqual((found[0][1], found[1][1]), ("name", escape(json.dumps(NASTY))))  # a setting stands there as --set takes it

    def test_one_form_at_a_time(self):
        for words in (("run", TINY), ("sweep", "s.yaml"), ("schedule", "1f1b", "-p", 2, "-m", 4)):
            self.assertIn("'--json' and '--markdown' both want the standard output", self.meshsim(*words, "--json", "--markdown", code=2).stderr)
        self.assertIn("both want the standard output", self.meshsim("search", TINY, "--markdown", "--csv", "-", code=2).stderr)


if __name__ == "__main__":
    programs.main(__doc__)
