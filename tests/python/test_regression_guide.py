#!/usr/bin/env python3
"""The workflow for GitHub Actions in workloads/guides/regression.md: its commands run as GitHub's shell would run them, on pull requests with and without a change.

usage: test_regression_guide.py PROGRAM

What is not tried: the actions of others, the installation of the package, and GitHub's own evaluation of the expression, of which the two values are given here.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import yaml

import programs

PAGE = programs.ROOT / "workloads/guides/regression.md"
LABEL = "contains(github.event.pull_request.labels.*.name, 'new baseline') && '--accept' || ''"


class Workflow(programs.ProgramTest):
    def setUp(self):
        super().setUp()
        block = re.search(r"```yaml\n# file: guard\.yml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M).group(1)
        self.workflow = yaml.safe_load(block)
        self.steps = self.workflow["jobs"]["compare"]["steps"]
        (self.folder / "bin").mkdir()
        shutil.copy(self.program, self.folder / "bin/meshsim")
        for folder in ("configurations", "base"):
            (self.folder / folder).mkdir()
        for name in ("one", "two"):
            shutil.copy(programs.ROOT / "workloads/tiny.yaml", self.folder / f"configurations/{name}.yaml")
            self.meshsim("run", "tiny", "-o", f"base/{name}.h5", "--trace", "summary")

    def pull_request(self, accept=""):
        """Run all steps that are commands, until one fails: (its name or None, the summary of the run)."""
        summary = self.folder / "summary.md"
        summary.write_text("", encoding="utf-8")
        shutil.rmtree(self.folder / "now", ignore_errors=True)
        environment = dict(os.environ, MESHSIM_DATA=str(programs.ROOT), GITHUB_STEP_SUMMARY=str(summary), PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}")
        for step in self.steps:
            if "run" not in step or step["name"] == "install":
                continue
            values = {key: accept if value == f"${{{{ {LABEL} }}}}" else value for key, value in step.get("env", {}).items()}
            self.assertFalse([value for value in values.values() if "${{" in value], "an expression that this test does not know")
            done = subprocess.run(["sh", "-e", "-c", step["run"]], cwd=self.folder, env=environment | values, capture_output=True, text=True, check=False, timeout=100)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            if done.returncode == 1:
                return step["name"], summary.read_text(encoding="utf-8")
        return None, summary.read_text(encoding="utf-8")

    def contents(self, folder):
        return {path.name: path.read_bytes() for path in Path(self.folder / folder).iterdir()}

    def test_its_form(self):
        """What GitHub needs: a trigger (YAML 1.1 reads `on` as true), a runner, steps that use an action of a version or run commands."""
        self.assertEqual(list(self.workflow.get("on", self.workflow.get(True))), ["pull_request"])
        self.assertIn("runs-on", self.workflow["jobs"]["compare"])
        for step in self.steps:
            self.assertEqual(("uses" in step) + ("run" in step), 1)
            self.assertRegex(step.get("uses", "a/b@v1"), r"^[\w-]+/[\w-]+@v\d+$")
        self.assertEqual([step["name"] for step in self.steps if "run" in step], ["install", "simulate", "compare"])
        self.assertEqual(self.steps[-1]["with"]["path"].split(), ["base/", "guard.xml"])

    def test_a_pull_request_without_a_change_passes(self):
        failed, summary = self.pull_request()
        self.assertIsNone(failed)
        self.assertIn("## meshsim compare: equal", summary)
        self.assertEqual(ElementTree.parse(self.folder / "guard.xml").getroot().get("failures"), "0")

    def test_a_slower_step_fails_until_it_is_accepted(self):
        path = self.folder / "configurations/two.yaml"
        path.write_text(path.read_text(encoding="utf-8") + "recompute: full\n", encoding="utf-8")
        before = self.contents("base")
        failed, summary = self.pull_request()
        self.assertEqual(failed, "compare")
        self.assertRegex(summary, r"\| two\.h5 \| .* \| \+\d+\.\d+ % \|  \| ! \| step_time_s \+\d+\.\d+ % \|")
        root = ElementTree.parse(self.folder / "guard.xml").getroot()
        self.assertEqual({suite.get("name"): suite.get("failures") for suite in root}, {"one.h5": "0", "two.h5": "1"})
        self.assertEqual(self.contents("base"), before)
        failed, summary = self.pull_request("--accept")
        self.assertIsNone(failed)
        self.assertIn("the guard is broken", summary)
        self.assertEqual(self.contents("base"), self.contents("now"))
        self.assertIsNone(self.pull_request()[0])


if __name__ == "__main__":
    programs.main(__doc__)
