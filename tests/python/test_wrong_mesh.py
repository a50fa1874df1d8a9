#!/usr/bin/env python3
"""A job whose mesh makes no job: the message proposes settings that were tried, and the job with them is legal and fits in memory.

usage: test_wrong_mesh.py PROGRAM
"""

import json
import os
import re
import shlex
import threading

import programs

TOLD = "meshsim: note: these settings were tried, and the job fits: "


class WrongMesh(programs.ProgramTest):
    def proposals(self, *words):
        """The settings that a refused job gets, as lists of words."""
        said = self.meshsim("check", *words, code=3).stderr
        lines = [line[len(TOLD):] for line in said.splitlines() if line.startswith(TOLD)]
        self.assertLessEqual(len(lines), 1, said)
        return [shlex.split(one) for line in lines for one in line.split(", or for these sizes ")]

    def test_what_is_proposed_by_hand(self):
        """64 GPUs, 64 heads, 80 layers, batch 64. A doubling of dp counts a quarter: tp 4, dp 2 is log2(4/3) + 1/4 = 0.67 from tp 3, tp 2, dp 4 is 1.08."""
        for sets, expected in ((["mesh.tp=3"], [["--set", "mesh.dp=2", "--set", "mesh.tp=4"]]),  # 3 nodes would do, but 64 heads do not divide by 3
                               (["mesh.pp=4"], [["--set", "mesh.dp=2"], ["--set", "platform.nodes=4"]]),
                               (["mesh.pp=7"], [["--set", "mesh.pp=8"]]),  # 80 layers do not divide by 7
                               (["mesh.tp=16"], [["--set", "mesh.tp=8"]]),  # a node has 8
                               (["platform.nodes=9"], [["--set", "platform.nodes=8"]]),  # batch, heads and layers have no factor of 9
                               (["mesh.tp=3", "platform.nodes=3"], []),  # nor has 24 GPUs any mesh: 3 divides none of them
                               (["batch.global=63", "mesh.dp=2", "mesh.pp=4"], [])):  # no fault of the mesh
            words = ["textbook-70b-64"] + [word for one in sets for word in ("--set", one)]
            self.assertEqual(self.proposals(*words), expected, sets)

    def test_what_is_proposed_is_a_job_that_fits(self):
        tried = 0
        for workload, sets in (("textbook-70b-64", ["mesh.tp=5"]), ("mixtral-8x7b-64", ["mesh.ep=3"]), ("mixtral-8x7b-64", ["mesh.ep=16"]),
                               ("deepseek-v3-2048", ["platform.nodes=64"]), ("deepseek-v3-2048", ["mesh.pp=15"]), ("megatron-1t-3072", ["mesh.tp=6"]),
                               ("llama3-405b-128k", ["mesh.cp=6"]), ("tiny", ["mesh.tp=5"]), ("tiny", ["platform.nodes=1000"])):
            words = [workload] + [word for one in sets for word in ("--set", one)]
            for proposal in self.proposals(*words):
                with self.subTest(words=words, proposal=proposal):
                    checked = json.loads(self.meshsim("check", *words, *proposal, "--json").stdout)
                    self.assertTrue(checked["memory"]["fits"])
                    tried += 1
        self.assertGreaterEqual(tried, 7)

    def test_a_pipe_is_read_once(self):
        """Opening a FIFO again would wait for a writer: the mesh is proposed from what was read, other nodes are not tried."""
        os.mkfifo(self.folder / "pipe")
        text = (programs.ROOT / "workloads/textbook-70b-64.yaml").read_text(encoding="utf-8")
        writer = threading.Thread(target=lambda: (self.folder / "pipe").write_text(text, encoding="utf-8"))
        writer.start()
        self.assertEqual(self.proposals("pipe", "--set", "mesh.pp=4"), [["--set", "mesh.dp=2"]])
        writer.join()

    def test_a_placement_and_other_faults_get_no_proposal(self):
        self.assertEqual(self.proposals("tiny", "--set", "batch.global=17"), [])
        self.assertEqual(self.proposals("tiny", "--set", "mesh.tp=5", "--set", "placement={nodes: [0]}"), [])
        self.assertEqual(self.proposals("tiny", "--set", "mesh.tp=none"), [])
        said = self.meshsim("run", "tiny", "--set", "mesh.tp=4", "--json", code=3)
        self.assertEqual((said.stdout, len(re.findall("these settings were tried", said.stderr))), ("", 1))


if __name__ == "__main__":
    programs.main(__doc__)
