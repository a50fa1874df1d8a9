#!/usr/bin/env python3
"""Every command that writes a file does it in the same way: whole or not at all, behind links, with the mode kept.

usage: tests/python/test_targets.py MESHSIM
"""

import os
import re
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TINY = ROOT / "workloads/tiny.yaml"
# 900,000 operations: its trace is packed, which takes a while
LARGE = ["run", str(ROOT / "workloads/gpt3-175b-1024.yaml"), "--no-fast-forward", "--set", "batch.global=3072", "-o"]
PLATFORM = ROOT / "platforms/dgx-a100.yaml"
PROGRAM = ""
NOBODY = 65534
NAME_MAX = 255
LLAMA = """{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
"num_hidden_layers": 8, "num_key_value_heads": 16, "vocab_size": 32000, "max_position_embeddings": 2048, "torch_dtype": "bfloat16"}"""


def meshsim(*words, **how):
    return subprocess.run([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, **how)


class Targets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        os.chmod(cls.holder.name, 0o755)
        # a build that counts what is covered writes its counts there, where they would be cut off or refused otherwise
        cls.spare = {}
        for name in ("limited", "nobody"):
            counts = Path(cls.holder.name) / name
            counts.mkdir()
            counts.chmod(0o777)
            cls.spare[name] = dict(os.environ, GCOV_PREFIX=str(counts))
        cls.trace = Path(cls.holder.name) / "trace.h5"
        meshsim("run", TINY, "-o", cls.trace)
        cls.writers = {
            ".h5": ("run", TINY, "-o"),
            ".svg": ("report", cls.trace, "-o"),
            ".json": ("report", cls.trace, "-o"),
            ".html": ("report", cls.trace, "-o"),
            ".csv": ("schedule", "1f1b", "-p4", "-m64", "--csv"),
            ".gantt.svg": ("schedule", "1f1b", "-p4", "-m64", "--gantt"),
            ".compared.svg": ("schedule", "--compare", "1f1b,gpipe", "-p4", "-m64", "--gantt"),
            ".dot": ("platform", PLATFORM, "--dot"),
            ".picture.svg": ("platform", PLATFORM, "--svg"),
            ".xml": ("platform", PLATFORM, "--simgrid-xml"),
            ".exported": ("export", "deepspeed", TINY, "--quiet", "-o"),
        }

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def setUp(self):
        holder = tempfile.TemporaryDirectory(dir=self.holder.name)
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.folder.chmod(0o755)

    def each(self):
        """Every kind of file in a folder of its own, with the words that write it."""
        for ending, words in self.writers.items():
            folder = self.folder / ending[1:]
            folder.mkdir()
            yield folder, ending, words

    def assert_refused(self, result, path, cause):
        error = result.stderr.decode()
        self.assertEqual(result.returncode, 4, error)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn(f"meshsim: error: cannot write '{path}': ", error)
        self.assertIn(cause, error)

    def test_nothing_is_called_minus(self):
        """'-' is the standard output; what needs a file or a folder refuses it, with the reason. Every option that names an output is tried."""
        space = ("--vary", "mesh.tp=1,2", "--top", "1")
        sweep = "sweep.yaml"
        to_stdout = [("report", self.trace, "-o"), ("check", TINY, "--svg"), ("check", TINY, "--mesh-svg"), ("compare", self.trace, self.trace, "--junit"),
                     ("compare", self.trace, self.trace, "--html"), ("schedule", "1f1b", "-p2", "-m4", "--csv"), ("schedule", "1f1b", "-p2", "-m4", "--gantt"),
                     ("schedule", "--compare", "1f1b,gpipe", "-p2", "-m4", "--csv-table"), ("search", TINY, *space, "-o"), ("search", TINY, *space, "--csv"),
                     ("search", TINY, *space, "--html"), ("sweep", sweep, "--csv"), ("sweep", sweep, "--plot"), ("sweep", sweep, "--html"),
                     ("import", "hf", "config.json", "-o"), ("export", "megatron", TINY, "-o"), ("new", "--model", "tiny", "--platform", "dgx-h100", "-o"),
                     ("platform", PLATFORM, "--dot"), ("platform", PLATFORM, "--svg"), ("platform", PLATFORM, "--simgrid-xml"),
                     ("mesh", "--shape", "a=2,b=4", "--order", "a,b", "--platform", PLATFORM, "--set", "platform.nodes=1", "--svg"),
                     ("collective", "all_reduce", "--platform", PLATFORM, "-n", "8", "--plot"), ("run", TINY, "-o"), ("search", TINY, *space, "--store"),
                     ("sweep", sweep, "--store"), ("schedule", "--compare", "1f1b,gpipe", "--workload", TINY, "--traces"), ("validate", "--csv"),
                     ("validate", "--plot"), ("validate", "--html"), ("calibrate", "-o"), ("import", "kineto", "--kernels")]
        refused = {("report", "-o"): "the ending of the file's name chooses", ("run", "-o"): "HDF5 needs a file", ("search", "--store"): "SQLite needs a file",
                   ("sweep", "--store"): "SQLite needs a file", ("schedule", "--traces"): "a folder of several files"}
        named = {"report": {"-o"}}
        for words in to_stdout:
            named.setdefault(words[0], set()).add(words[-1])
        for command in meshsim("--help").stdout.decode().split("commands:")[1].split("exit codes:")[0].splitlines():
            if command[:3].strip() == "" and command[2:3].strip():
                name = command.split()[0]
                page = meshsim(name, "--help").stdout.decode()
                outputs = re.findall(r"^ +(?:(-\w), )?(--[\w-]+) (?:FILE\S*|FOLDER|TRACE\.h5)(?: |$)(?! +times per stage)", page, re.M)
                self.assertEqual({short or long for short, long in outputs} - named.get(name, set()), set(), name)
        with tempfile.TemporaryDirectory() as folder:
            base = ROOT / "workloads/tiny.yaml"
            (Path(folder) / sweep).write_text(f"workload: {base}\naxes:\n  - batch.global: [16, 32]\npicture: {{quantity: step_time_s, title: x}}\n")
            (Path(folder) / "config.json").write_text(LLAMA)
            before = sorted(os.listdir(folder))
            for words in to_stdout:
                result = meshsim(*words, "-", cwd=folder)
                error = result.stderr.decode()
                why = refused.get((words[0], words[-1]))
                if why is not None:
                    self.assertEqual((result.returncode, result.stdout), (2, b""), (words, error))
                    self.assertIn("cannot write to the standard output, for which '-' stands", error)
                    self.assertIn(why, error)
                elif words[0] not in ("validate", "calibrate") and "--plot" != words[-1] and words[1] != "kineto":
                    self.assertEqual(result.returncode, 0, (words, error))
                    self.assertNotEqual(result.stdout, b"", words)
                self.assertEqual(sorted(os.listdir(folder)), before, words)

    def test_links_and_modes_stay(self):
        for folder, ending, words in self.each():
            real, link, dangling = folder / f"real{ending}", folder / f"link{ending}", folder / f"new{ending}"
            (folder / "below").mkdir()
            real.write_text("older")
            real.chmod(0o640)
            link.symlink_to(real.name)
            dangling.symlink_to(folder / "below" / "later")
            self.assertEqual(meshsim(*words, link).returncode, 0)
            self.assertEqual(meshsim(*words, dangling).returncode, 0)
            self.assertTrue(link.is_symlink() and dangling.is_symlink())
            self.assertEqual(stat.S_IMODE(real.stat().st_mode), 0o640)
            self.assertEqual(real.read_bytes(), dangling.read_bytes())
            self.assertGreater(real.stat().st_size, 100)
            self.assertEqual(len(os.listdir(folder)) + len(os.listdir(folder / "below")), 5)

    def test_new_files_have_the_mode_of_the_umask(self):
        for folder, ending, words in self.each():
            path = folder / f"new{ending}"
            self.assertEqual(meshsim(*words, path, umask=0o027).returncode, 0)
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o640)

    def test_the_longest_names(self):
        for folder, ending, words in self.each():
            path = folder / ("n" * (NAME_MAX - len(ending)) + ending)
            self.assertEqual(meshsim(*words, path).returncode, 0)
            self.assertEqual(os.listdir(folder), [path.name])

    def test_a_full_disk_leaves_the_older_file(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

        for folder, ending, words in self.each():
            path = folder / f"t{ending}"
            path.write_text("older")
            self.assert_refused(meshsim(*words, path, preexec_fn=limit, env=self.spare["limited"]), path, "File too large")
            self.assertEqual(path.read_text(), "older")
            self.assertEqual(os.listdir(folder), [path.name])

    @unittest.skipIf(os.getuid() != 0, "needs to become another user")
    def test_places_without_permission(self):
        try:
            meshsim("check", TINY, user=NOBODY, env=self.spare["nobody"]).check_returncode()
        except (PermissionError, subprocess.CalledProcessError):
            self.skipTest("another user cannot come to the program here")
        for folder, ending, words in self.each():
            path = folder / f"t{ending}"
            self.assert_refused(meshsim(*words, path, user=NOBODY, env=self.spare["nobody"]), path, f"folder '{folder}': Permission denied")
            folder.chmod(0o777)
            path.write_text("older")
            path.chmod(0o444)
            self.assert_refused(meshsim(*words, path, user=NOBODY, env=self.spare["nobody"]), path, "Permission denied")
            self.assertEqual(path.read_text(), "older")

    def test_devices_take_texts_as_they_come(self):
        for folder, ending, words in self.each():
            full, whole = folder / f"full{ending}", folder / f"whole{ending}"
            full.symlink_to("/dev/full")
            if ending == ".h5":
                self.assert_refused(meshsim(*words, full), full, "it is no regular file")
                continue
            self.assert_refused(meshsim(*words, full), full, "No space left on device")
            self.assertTrue(full.is_symlink() and stat.S_ISCHR(os.stat("/dev/full").st_mode))
            pipe = folder / f"pipe{ending}"
            os.mkfifo(pipe)
            piped = folder / f"piped{ending}"
            with open(piped, "wb") as file, subprocess.Popen(["cat", pipe], stdout=file):  # pages are larger than pipes
                self.assertEqual(meshsim(*words, pipe).returncode, 0)
            meshsim(*words, whole)
            self.assertEqual(piped.read_bytes(), whole.read_bytes())

    def test_standard_output_in_a_file_keeps_all_that_is_printed(self):
        for folder, ending, words in self.each():
            out, link, whole = folder / "out", folder / f"link{ending}", folder / f"whole{ending}"
            link.symlink_to("/dev/stdout")
            printed = meshsim(*words, whole).stdout
            with open(out, "wb") as file:
                code = subprocess.run([PROGRAM, *map(str, words), link], stdout=file, stderr=subprocess.DEVNULL).returncode
            if ending == ".h5":
                self.assertEqual((code, out.read_bytes()), (4, b""))
                continue
            self.assertEqual(code, 0)
            text = out.read_bytes()
            self.assertIn(whole.read_bytes(), text)
            self.assertEqual(len(text), len(printed) + whole.stat().st_size)

    @staticmethod
    def has_bytes(path):
        """Whether something was written to a file; one without a byte may not be locked yet, and may be swept away."""
        try:
            return path.stat().st_size > 0
        except FileNotFoundError:
            return False

    def start_large(self, path, **how):
        """A run that has begun to write a large trace."""
        words = [PROGRAM, *LARGE, str(path)]
        before = set(os.listdir(path.parent))
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how)
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            if any(name.startswith(".meshsim.") and self.has_bytes(path.parent / name) for name in set(os.listdir(path.parent)) - before):
                return process
            time.sleep(0.001)
        process.kill()
        process.wait()
        self.fail("it never began to write")

    def test_signals_leave_nothing_behind(self):
        path = self.folder / "t.h5"
        path.write_text("older")
        for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
            process = self.start_large(path)
            process.send_signal(number)
            self.assertEqual(process.wait(), 128 + number)
            self.assertEqual(os.listdir(self.folder), ["t.h5"])
            self.assertEqual(path.read_text(), "older")

    def test_nohup_goes_on(self):
        process = self.start_large(self.folder / "t.h5",
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(), 0)
        self.assertEqual(os.listdir(self.folder), ["t.h5"])

    def test_leftovers_of_the_dead_go_and_files_of_the_living_stay(self):
        dead = self.start_large(self.folder / "dead.h5")
        dead.kill()
        dead.wait()
        (left,) = os.listdir(self.folder)
        living = self.start_large(self.folder / "living.h5")
        living.send_signal(signal.SIGSTOP)
        (held,) = set(os.listdir(self.folder)) - {left}
        others = {".meshsim.ffffffff.abcdef", left + "x", left[:-6] + "a-cdef", ".meshsim.txt"}
        for name in others:
            (self.folder / name).write_text("another's")
        meshsim("schedule", "gpipe", "-p2", "-m2", "--csv", self.folder / "order.csv")
        self.assertEqual(set(os.listdir(self.folder)), others | {held, "order.csv"})
        living.send_signal(signal.SIGCONT)
        self.assertEqual(living.wait(), 0)
        self.assertEqual(set(os.listdir(self.folder)), others | {"living.h5", "order.csv"})

    def test_equal_process_ids_do_not_meet(self):
        """As in two containers that share a folder: each writer is process 2 of its own."""
        path = self.folder / "t.h5"
        words = ["unshare", "--pid", "--fork", "sh", "-c", '"$0" "$@"; exit $?', PROGRAM, *LARGE, str(path)]
        if subprocess.run([*words[:4], "-c", "exit 0"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no namespaces here")
        both = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
        for process in both:
            self.assertEqual((process.communicate()[1], process.returncode), (b"", 0))
        self.assertEqual(os.listdir(self.folder), ["t.h5"])
        self.assertEqual(meshsim("compare", path, path).returncode, 0)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
