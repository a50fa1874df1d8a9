#!/usr/bin/env python3
"""The Python package, installed with pip beside an installed library, does what its page says and what the program does.

usage: tests/install/python.py MESHSIM BUILD_FOLDER [unittest arguments]

Installs into a temporary prefix and a virtual environment, without a network.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "scripts/python/README.md"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?", re.S | re.M)
VOLATILE = ("engine",)
LIMIT_S = 100
PROGRAM = BUILD = WORK = None


def setUpModule():
    """The library in a prefix, the package in an environment, and what the examples read."""
    global WORK
    WORK = Path(tempfile.mkdtemp())
    subprocess.run(["cmake", "--install", BUILD, "--prefix", WORK / "prefix"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", WORK / "env"], check=True)
    shutil.copytree(ROOT / "scripts/python", WORK / "package")  # pip builds where the sources are
    done = subprocess.run([sys.executable, "-m", "pip", "--python", WORK / "env/bin/python", "install", "-q", "--no-build-isolation", "--no-index",
                           "--no-deps", "--no-cache-dir", "--disable-pip-version-check", WORK / "package"], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    shutil.copytree(ROOT / "workloads", WORK / "place/workloads", ignore=shutil.ignore_patterns("pictures", "validation"))


def tearDownModule():
    """Nothing stays."""
    shutil.rmtree(WORK)


def environment(**changes):
    """Variables of a user who has the prefix in the PATH and nothing else of meshsim."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("MESHSIM", "PYTHON"))}
    return dict(variables, PATH=f"{WORK / 'prefix/bin'}:{os.environ['PATH']}", **changes)


def start(code, **variables):
    """A script of the user's, away from the sources."""
    script = Path(tempfile.mkstemp(suffix=".py", dir=WORK)[1])
    script.write_text("import meshsim\n" + textwrap.dedent(code), encoding="utf-8")
    return subprocess.Popen([WORK / "env/bin/python", script], cwd=WORK / "place", env=environment(**variables), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def python(code, **variables):
    """What a script prints."""
    process = start(code, **variables)
    printed, said = process.communicate(timeout=LIMIT_S)
    if process.returncode != 0:
        raise AssertionError(said)
    return printed


def program(*words):
    """The program's JSON."""
    done = subprocess.run([PROGRAM, *words, "--json"], cwd=WORK / "place", env=dict(os.environ, MESHSIM_DATA=str(ROOT)), stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, text=True, timeout=LIMIT_S)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def steady(result):
    """A result without what differs from run to run."""
    return {key: value for key, value in result.items() if key not in VOLATILE}


class Package(unittest.TestCase):
    """The package beside the program."""

    def test_page(self):
        """Every example of the page prints what stands below it, and its picture has the words of the one in workloads/pictures."""
        blocks = list(BLOCK.finditer(PAGE.read_text(encoding="utf-8")))
        self.assertGreater(len(blocks), 4)
        printed = python("\nprint('----')\n".join(block["code"] for block in blocks)).split("----\n")
        for block, now in zip(blocks, printed):
            self.assertEqual(now, block["printed"] or "")
        ten = next(block["code"] for block in blocks if "meshsim.report" in block["code"])
        self.assertLessEqual(len(ten.strip().splitlines()), 10)

        def words(path):
            """Words of a picture, but for its files' names and what tells the traces apart: of named schedules that is the name."""
            texts = re.findall(r">([^<>]*)</text>", path.read_text(encoding="utf-8"))
            return [re.sub(r"\w+\.h5 · ", "", text) for text in texts if not text.startswith("against ")]

        self.assertEqual(words(WORK / "place/schedules.svg"), words(ROOT / "workloads/pictures/gpt3-175b-schedules.svg"))

    def test_figures_of_the_page_of_schedules(self):
        """The ten lines' numbers are those of workloads/schedules.md."""
        rows = dict(re.findall(r"^(\S+) +\d +(\S+) s .*?(?= \S+ GiB)", (ROOT / "workloads/schedules.md").read_text(encoding="utf-8").split("microbatches  32")[1], re.M))
        told = dict(re.findall(r"^(\S+) +(\S+) s  bubble", PAGE.read_text(encoding="utf-8"), re.M))
        self.assertEqual(len(told), 4)
        self.assertEqual(told, {kind: rows[kind] for kind in told})

    def test_equal_to_the_program(self):
        """Results are the program's, by path, mapping, text, keyword and setting; so are statuses."""
        printed = json.loads(python("""
            import json, pathlib
            text = pathlib.Path("workloads/tiny.yaml").read_text()
            spec = {"platform": {"file": "dgx-a100", "nodes": 1}, "mesh": {"dp": 2, "pp": 2, "tp": 2, "order": ["pp", "dp", "tp"]},
                    "model": {"type": "gpt", "layers": 8, "hidden": 1024, "heads": 16, "vocab": 51200, "sequence": 1024, "dropout": "10 %"},
                    "schedule": {"kind": "1f1b"}, "batch": {"global": 16, "micro": 1}, "name": "tiny"}
            runs = [meshsim.run(pathlib.Path("workloads/tiny.yaml"), mesh__tp=4, mesh__dp=1),
                    meshsim.run(text, {"mesh.tp": 4, "mesh.dp": 1}), meshsim.run(spec, mesh__tp=4, mesh__dp=1)]
            no = meshsim.check("workloads/tiny.yaml", batch__global=65536, batch__micro=8192)
            print(json.dumps([[dict(run) for run in runs], dict(no), no.status, dict(meshsim.schedule("interleaved", p=4, v=2, m=8, p2p=0.1)),
                              dict(meshsim.search("workloads/tiny.yaml", {"mesh.tp": [1, 2]}, top=1)), meshsim.estimate(spec)]))
            """))
        _, one, _ = program("run", "workloads/tiny.yaml", "--set", "mesh.tp=4", "--set", "mesh.dp=1")
        for run in printed[0]:
            self.assertEqual(steady(run), steady(one))
        status, big, _ = program("check", "workloads/tiny.yaml", "--set", "batch.global=65536", "--set", "batch.micro=8192")
        self.assertEqual((printed[1], printed[2]), (big, status))
        self.assertEqual(status, 1)
        self.assertEqual(printed[3], program("schedule", "interleaved", "-p", "4", "-v", "2", "-m", "8", "--p2p", "0.1")[1])
        found = program("search", "workloads/tiny.yaml", "--vary", "mesh.tp=1,2", "--top", "1")[1]
        self.assertEqual(printed[4]["results"][0]["settings"], found["results"][0]["settings"])
        self.assertEqual(printed[5], program("check", "workloads/tiny.yaml")[1]["estimate"])

    def test_errors(self):
        """A class for each status, with the program's words."""
        for call, kind, words in (
                ("meshsim.run('workloads/tiny.yaml', mesh__tq=4)", "InputError", ["run", "workloads/tiny.yaml", "--set", "mesh.tq=4"]),
                ("meshsim.command('run')", "UsageError", ["run"]),
                ("meshsim.run('workloads/tiny.yaml', trace_file='/nowhere/at/all.h5')", "FileError", ["run", "workloads/tiny.yaml", "-o", "/nowhere/at/all.h5"])):
            with self.subTest(kind=kind):
                told = python(f"""
                    try:
                        {call}
                    except meshsim.{kind} as error:
                        print(error.status, len(error.diagnostics))
                        print(error)
                    """)
                status, _, said = program(*words)
                self.assertEqual(told, f"{status} 1\n{said}")

    def test_folder_of_a_stranger(self):
        """Nothing of the current folder runs, though PYTHONPATH, PATH and LD_LIBRARY_PATH name it: no module, no program, no library."""
        folder = WORK / "stranger"
        (folder / "meshsim").mkdir(parents=True)
        trap = "import pathlib\npathlib.Path('TRAP').write_text(__name__)\n".replace("TRAP", str(folder / "ran"))
        for name in ("ctypes", "select", "pickle", "sitecustomize", "usercustomize", "meshsim/__init__", "meshsim/_worker", "_worker", "_messages"):
            (folder / f"{name}.py").write_text(trap, encoding="utf-8")
        for name in ("libmeshsim.so.0", "libyaml-0.so.2", "meshsim.so"):
            (folder / name).write_text("no library", encoding="utf-8")
        script = WORK / "at_stranger.py"
        script.write_text("import os, meshsim\nos.environ['PYTHONPATH'] = os.environ['LD_LIBRARY_PATH'] = os.environ['HDF5_PLUGIN_PATH'] = '.'\n"
                          "os.environ['PATH'] = '.:' + os.environ['PATH']\n"
                          f"print(meshsim.run({str(WORK / 'place/workloads/tiny.yaml')!r}, mesh__tp=4, mesh__dp=1).step_time_s)", encoding="utf-8")
        done = subprocess.run([WORK / "env/bin/python", script], cwd=folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(float(done.stdout), program("run", "workloads/tiny.yaml", "--set", "mesh.tp=4", "--set", "mesh.dp=1")[1]["step_time_s"])
        self.assertFalse((folder / "ran").exists())

    def test_words_that_are_options(self):
        """A path that begins with '-' is a path, and what prints no result says so."""
        for call, kind, words in (("meshsim.run('--help')", "InputError", "./--help"), ("meshsim.run('-h')", "InputError", "./-h"),
                                  ("meshsim.check('--version')", "InputError", "./--version"), ("meshsim.sweep('--help')", "InputError", "./--help"),
                                  ("meshsim.compare('--help', '-h')", "InputError", "./--help"), ("meshsim.report('--help', 'x.svg')", "InputError", "./--help"),
                                  ("meshsim.schedule('--help')", "UsageError", "'meshsim schedule --help' prints a text"),
                                  ("meshsim.schedule('1f1b', help=True)", "UsageError", "prints a text"),
                                  ("meshsim.collective('all_reduce', 'dgx-h100', help=True)", "UsageError", "prints a text"),
                                  ("meshsim.command('--version')", "UsageError", "prints a text"), ("meshsim.command('help')", "UsageError", "unknown option '--json'")):
            with self.subTest(call=call):
                told = python(f"""
                    try:
                        {call}
                    except meshsim.MeshsimError as error:
                        print(type(error).__name__, error)
                    """)
                self.assertTrue(told.startswith(kind), told)
                self.assertIn(words, told)

    def test_version(self):
        """Package, library and program are of one version."""
        told = python("import importlib.metadata\nprint(meshsim.__version__, importlib.metadata.version('meshsim'))").split()
        done = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True)
        self.assertEqual(told, [done.stdout.split()[1]] * 2)

    def test_no_library(self):
        """A library that is not there, or of another version, is told, with where it was looked for."""
        code = """
            meshsim.__version__ = WANTED
            try:
                meshsim.run("workloads/tiny.yaml")
            except meshsim.LibraryError as error:
                print(error)
            """
        self.assertIn("/no/such/file.so: no such file", python(code.replace("WANTED", "'0.1.0'"), MESHSIM_LIBRARY="/no/such/file.so"))
        self.assertRegex(python(code.replace("WANTED", "'9.1.0'")), r"prefix/lib.*/libmeshsim\.so\.0\S* is meshsim \S+, and this package was made for 9\.1\.0")

    def test_workers(self):
        """Many at once, in order, from several threads and in a forked process; workers stay, have one thread, and their end is an exception."""
        print_ = python("""
            import multiprocessing, os, signal, threading
            from meshsim import _workers
            sizes = [16, 64, 32, 16]
            times = [r.step_time_s for r in meshsim.run_many([("workloads/tiny.yaml", {"batch.global": size}) for size in sizes], jobs=2)]
            print(times[0] == times[3] < times[2] < times[1])
            os.environ["MESHSIM_DATA"] = "/nowhere"
            try:
                meshsim.run({**dict(platform="dgx-a100", mesh={"dp": 8}), "costs": {"forward": "1 ms"}, "batch": {"microbatches": 1}})
            except meshsim.InputError as error:
                print("/nowhere/platforms" in str(error))
            del os.environ["MESHSIM_DATA"]
            before = {worker.process.pid for worker in _workers._alive}
            print(len(before) <= 2, all(len(os.listdir(f"/proc/{pid}/task")) == 1 for pid in before))
            threads = [threading.Thread(target=meshsim.check, args=("workloads/tiny.yaml",)) for _ in range(4)]
            [thread.start() for thread in threads], [thread.join() for thread in threads]
            print(before <= {worker.process.pid for worker in _workers._alive})
            def in_child(pipe):
                pipe.send(meshsim.run("workloads/tiny.yaml").step_time_s)
            ours, theirs = multiprocessing.Pipe()
            child = multiprocessing.get_context("fork").Process(target=in_child, args=(theirs,))
            child.start(); print(ours.poll(60) and ours.recv() == times[0]); child.join(60)
            workers = list(_workers._alive)
            for worker in workers:
                os.kill(worker.process.pid, signal.SIGSTOP)  # so that it dies while it is asked
            timer = threading.Timer(0.2, lambda: [os.kill(worker.process.pid, signal.SIGKILL) for worker in workers])
            timer.start()
            try:
                meshsim.run("workloads/tiny.yaml")
            except meshsim.WorkerError as error:
                print(error)
            timer.join()
            for worker in workers:
                worker.process.wait(60)
            print(meshsim.run("workloads/tiny.yaml").step_time_s == times[0])
            """)
        self.assertEqual(print_, "True\nTrue\nTrue True\nTrue\nTrue\na worker process died, with status -9\nTrue\n")

    def end_while_it_runs(self, number):
        """What a script prints that a signal hits in a long run, once all its processes are gone."""
        process = start("""
            from meshsim import _workers
            import threading, time
            def tell():
                while not any(open(f"/proc/{w.process.pid}/task/{w.process.pid}/children").read() for w in list(_workers._alive)):
                    time.sleep(0.01)
                print(*[w.process.pid for w in _workers._alive], flush=True)
            threading.Thread(target=tell, daemon=True).start()
            try:
                meshsim.run_many(["workloads/megatron-1t-3072.yaml"] * 50, fidelity="step", steps=8, jobs=2)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            """)
        workers = [int(pid) for pid in process.stdout.readline().split()]
        process.send_signal(number)
        printed, _ = process.communicate(timeout=LIMIT_S)
        self.assertTrue(workers)
        end = time.monotonic() + LIMIT_S
        while any(self.is_in_group(pid) for pid in workers):
            self.assertLess(time.monotonic(), end, "a process has survived")
            time.sleep(0.01)
        return printed

    def test_interrupt(self):
        """Ctrl-C ends a long run, with all its processes."""
        self.assertEqual(self.end_while_it_runs(signal.SIGINT), "interrupted\n")

    def test_caller_dies(self):
        """Where the caller is killed, what it asked for ends, too."""
        self.assertEqual(self.end_while_it_runs(signal.SIGKILL), "")

    @staticmethod
    def is_in_group(group):
        """Whether a process of a worker's group runs still; one that nobody has waited for does not."""
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, of_group = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(of_group) == group and state not in "ZX":
                return True
        return False


if __name__ == "__main__":
    PROGRAM, BUILD = (str(Path(sys.argv.pop(1)).resolve()) for _ in range(2))
    unittest.main()
