"""Launch scripts: what training a shell script starts, found out by running it in a sandbox.

Real bash runs the script inside bubblewrap: without a network, with no processes or files of the user but a read-only /usr and the files that are named, in an
empty environment and a private temporary file system, with limits on time, memory and processes. torchrun, python, srun and the like are stand-ins there, which
record their arguments and end the script.

What nothing sets is found by running the script again with a text "$NAME" in each such variable: where it turns up in the recorded arguments it is theirs.
launch_script.md says why it is done so.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from .._call import FAILED, Call, Place

TIME_S, CPU_S, MEMORY_KIB, PROCESSES, FILES_B, RECORD_MAX_B, STDERR_MAX_B = 20, 10, 512 * 1024, 128, 16 * 2**20, 4 * 2**20, 64 * 2**10
"""limits of one run: wall clock, processor time and memory of a process, processes at once, files, what it records, what it says"""
RUNS_MAX, SEARCH_S = 80, 40
"""runs to find variables that nothing sets, and how long they may take together"""
ABSENT_MAX = 50
BWRAP, SETPRIV = "/usr/bin/bwrap", "/usr/bin/setpriv"
NOBODY = "65534"
HOME, BIN = "/job", "/stand-ins"
# What trains, or starts what trains: each records its arguments. A wrapper starts a command that stands among its arguments.
PROGRAMS = "torchrun python python3 python2 deepspeed megatron swift accelerate colossalai horovodrun".split()
WRAPPERS = "srun mpirun mpiexec jsrun aprun sbatch salloc nsys numactl singularity apptainer docker podman enroot ssh pdsh ray uv poetry taskset sudo nohup time env".split()
# What is there on a cluster, and says nothing of a job.
QUIET = ("module ml conda mamba pip pip3 nvidia-smi rocm-smi scontrol sinfo squeue sacct scancel ibstat ibdev2netdev git wget curl docker-compose make cmake nvcc ninja "
         "nproc lscpu lspci free apt apt-get yum huggingface-cli wandb sleep sync").split()
# Set by Slurm and by launchers on each node, as a script's first process finds them.
SURROUNDINGS = {"SLURM_PROCID": "0", "SLURM_NODEID": "0", "SLURM_LOCALID": "0", "HOME": HOME, "USER": "nobody", "LOGNAME": "nobody", "TERM": "dumb", "LANG": "C.UTF-8",
                "HOSTNAME": "localhost", "TMPDIR": "/tmp"}
# Options of sbatch, and the variables that a script finds what they ask for in.  Source: Slurm, sbatch(1), options and output environment variables.
SLURM = {"--nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), "-N": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), "--ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
         "-n": ("SLURM_NTASKS", "SLURM_NPROCS"), "--ntasks-per-node": ("SLURM_NTASKS_PER_NODE",), "--gpus-per-node": ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"),
         "--gres": ("SLURM_GPUS_ON_NODE",), "--cpus-per-task": ("SLURM_CPUS_PER_TASK",), "--job-name": ("SLURM_JOB_NAME",)}
WAY_OUT = "the arguments that Megatron-LM itself prints at the head of its log, or its arguments as a line, are read without one"



@dataclass(frozen=True)
class Script:
    """A file that was named."""

    name: str
    """as on the command line"""
    text: str


@dataclass
class Recording:
    """What a script starts."""

    words: List[str] = field(default_factory=list)
    """of the command that trains, with what starts it in front"""
    environment: Dict[str, str] = field(default_factory=dict)
    unset: Dict[str, str] = field(default_factory=dict)
    """variables that nothing sets, and what they decide"""


@dataclass
class _Command:
    kind: str
    words: List[str] = field(default_factory=list)
    environment: Dict[str, str] = field(default_factory=dict)


@dataclass
class _Outcome:
    """One run."""

    commands: List[_Command] = field(default_factory=list)
    is_up: bool = False
    """whether the sandbox stood"""
    code: Optional[int] = None
    """of the script; None: it was ended by what it started, or by a limit"""
    said: str = ""
    """on its standard error"""
    printed: str = ""
    """on its standard output"""
    is_cut: bool = False
    """whether a limit ended it before it started anything"""


def run_scripts(call: Call, scripts: Sequence[Script], defines: Dict[str, str], worth: Callable[[List[str]], int]) -> Recording:
    """Run scripts that belong together, and tell what they start.

    defines: variables that they find set; by numbers their parameters.  worth: of a command, how many of its words are arguments of what is looked for;
    the command with the most counts, of several the last.  Ends the call where no sandbox can be made, or where nothing is started.
    """
    box = _Box(scripts, defines)
    first = box.run({})
    if not first.is_up:
        _refuse(call, scripts, first)
    names = _names(scripts, defines, box.surroundings)
    found = Recording() if first.is_cut else _Search(box, names, _choose(first, worth), worth).find()
    if not found.words:
        _explain(call, scripts, first, [name for name in names.open if not names.is_assigned(name)])
    return found


def _refuse(call: Call, scripts: Sequence[Script], outcome: _Outcome) -> None:
    if not os.path.exists(BWRAP):
        call.refuse(f"a launch script runs in a sandbox, which needs bubblewrap: apt-get install bubblewrap; {WAY_OUT}", Place(scripts[0].name, 0), FAILED)
    reason = (outcome.said.strip().splitlines() or ["it ended at once"])[-1]
    call.refuse(f"a launch script runs in a sandbox, which cannot be made here ({reason}); {WAY_OUT}", Place(scripts[0].name, 0))


def _explain(call: Call, scripts: Sequence[Script], outcome: _Outcome, unset: Sequence[str]) -> None:
    """Why nothing was recorded."""
    said = [line for line in (outcome.said.strip() or outcome.printed if outcome.code else outcome.said).splitlines() if line.strip()]
    if not said and outcome.code in (0, None) and not outcome.is_cut and not unset:
        return
    how = "was ended by its limit of time or memory" if outcome.is_cut else "ended" + (f" with exit code {outcome.code}" if outcome.code else "")
    place, last = Place(scripts[0].name, 0), said[-1].strip()[:200] if said else ""
    for script in scripts:
        found = re.match(rf"(?:\./)?{re.escape(_Box.place(script.name))}: line (\d+): (.*)", last)
        lines = script.text.split("\n")
        if found and 0 < int(found[1]) <= len(lines):
            place, last = Place(script.name, int(found[1]), 0, 1, lines[int(found[1]) - 1].rstrip("\r")), found[2]
    names = f"; set nowhere: {', '.join(unset[:8])} (--define NAME=VALUE)" if unset else ""
    call.refuse(f"the script {how} before it started a training{': ' if last else ''}{last}{names}; files that it reads are to be named, too", place)


def _choose(outcome: _Outcome, worth: Callable[[List[str]], int]) -> _Command:
    """The command that trains, of several the last of those with the most arguments; or lines that are arguments alone; or variables that hold them."""
    def points(command: _Command) -> int:
        return worth([part for word in command.words for part in word.split()])
    best = max((command for command in reversed(outcome.commands) if command.kind in ("training", "other")), key=points, default=_Command("none"))
    most = points(best)
    for kind in ("loose", "variables"):
        together = _Command(kind, [word for command in outcome.commands if command.kind == kind for word in command.words])
        if points(together) > most and (kind == "loose" or (most == 0 and outcome.code == 0 and not outcome.said)):
            best, most = together, points(together)
    return best if most > 0 else _Command("none")


# ---- what nothing sets ----

_BASHS = re.compile(r"(?:BASH\w*|RANDOM|SECONDS|LINENO|PWD|OLDPWD|PATH|UID|EUID|PPID|FUNCNAME|IFS|OPT\w*|REPLY|PIPESTATUS|HOSTTYPE|OSTYPE|SHLVL|GROUPS|DIRSTACK|_)$")
_USE = re.compile(r"(?<!\\)\$(?:\{(#?)([A-Za-z_]\w*|\d+)([^}]?)|([A-Za-z_]\w*|[1-9]))", re.A)


@dataclass
class _Names:
    """Variables and parameters that scripts use, in their order."""

    text: str
    """of the scripts, without comments"""
    open: List[str] = field(default_factory=list)
    """those that may be found unset"""

    def is_assigned(self, name: str) -> bool:
        return re.search(rf"(?<![\w$-]){name}(?:\[[^\]]*\])?=", self.text) is not None

    @property
    def counted(self) -> List[str]:
        """Names that arithmetic has."""
        parts = [part for found in re.findall(r"\(\((.*?)\)\)|\blet\b([^\n;]*)|\bexpr\b([^`)\n]*)", self.text, re.S) for part in found]
        return re.findall(r"(?<![\w\[])[A-Za-z_]\w*|(?<=\$)\d|(?<=\$\{)\d+", " ".join(parts))


def _names(scripts: Sequence[Script], defines: Dict[str, str], surroundings: Dict[str, str]) -> _Names:
    """What scripts use and may find unset: not what has a default where it is used, adds to itself, is a loop's, or is bash's own."""
    names = _Names("\n".join(re.sub(r"(?m)(?:^|(?<=\s))#.*$", "", script.text) for script in scripts))
    text = names.text
    passed = set(re.findall(r"(?<![\w$-])([A-Za-z_]\w*)(?:\[[^\]]*\])?\+=", text, re.A))
    passed.update(name for name, value in re.findall(r"(?<![\w$-])([A-Za-z_]\w*)=([^\n]*)", text, re.A) if re.search(rf"\$\{{?{name}(?!\w)", value))
    passed.update(name for line in re.findall(r"\b(?:for|read|local|declare|typeset|mapfile|readarray|select|getopts\s+\S+)\b([^;|\n]*)", text)
                  for name in re.findall(r"[A-Za-z_]\w*", line))
    has_functions = re.search(r"(?m)^\s*(?:function\s+\w+|[\w-]+\s*\(\s*\))", text) is not None
    found: Dict[str, None] = {}
    for length, name, operator, bare in _USE.findall(text):
        name = name or bare
        if operator in (":", "-", "+", "=", "?") and not re.search(rf"\$\{{{name}:\s*\d", text):
            passed.add(name)
        if not length:
            found[name] = None
    found.update(dict.fromkeys(names.counted))
    names.open = [name for name in found if name not in passed and name not in defines and name not in surroundings and not _BASHS.match(name)
                  and not (name.isdigit() and has_functions and not re.search(rf"(?m)^\s*\w+=[\"']?\$\{{?{name}\b", text))]
    return names


def _mark(name: str) -> str:
    return f"${{{name}}}" if name.isdigit() and len(name) > 1 else f"${name}"


class _Search:
    """Runs that find what of the recorded arguments nothing sets."""

    def __init__(self, box: "_Box", names: _Names, first: _Command, worth: Callable[[List[str]], int]):
        self.box, self.names, self.first, self.worth, self.runs, self.deadline = box, names, first, worth, 0, time.monotonic() + SEARCH_S

    def tried(self, values: Dict[str, str]) -> _Command:
        """The command with these values; no words: none, or too many runs."""
        self.runs += 1
        return _choose(self.box.run(values), self.worth) if self.runs <= RUNS_MAX and time.monotonic() < self.deadline else _Command("none")

    def is_same(self, command: _Command, marks: Sequence[str]) -> bool:
        """Whether a command is the first one but for texts "$NAME"."""
        return bool(command.words) and (not self.first.words or _stripped(command.words, marks) == _stripped(self.first.words, []))

    def find(self) -> Recording:
        """The command with "$NAME" where it has what nothing sets."""
        marks = {name: _mark(name) for name in self.names.open}
        best, others = self.tried(marks) if marks else self.first, {}
        if marks and not self.is_same(best, list(marks.values())):
            alone = {name: self.tried({name: mark}) for name, mark in marks.items()}
            known = {name: marks[name] for name, command in alone.items() if self.is_same(command, [marks[name]])}
            others = {name: command for name, command in alone.items() if name not in known}
            best = self.tried(known) if known else self.first
            best = best if self.is_same(best, list(known.values())) else self.first
        recording = Recording(list(best.words), best.environment)
        for name, command in others.items():
            self._tell(recording, name, command)
        return recording

    def _tell(self, recording: Recording, name: str, command: _Command) -> None:
        """A variable in a condition, or in arithmetic: where a number changes one of the words, the word is the variable's."""
        if name in self.names.counted and not self.names.is_assigned(name):
            command = self.tried({name: "7"})
            if len(command.words) == len(self.first.words) == len(recording.words):
                rows = zip(recording.words, self.first.words, command.words)
                recording.words = [word if one == other else _mark(name) for word, one, other in rows]
                return
        recording.unset[name] = "it decides which arguments there are, and is not set here"


def _stripped(words: Sequence[str], marks: Sequence[str]) -> List[str]:
    """Words without texts "$NAME"; those that are empty are left out."""
    parts = []
    for word in words:
        for mark in sorted(marks, key=len, reverse=True):
            word = word.replace(mark, "")
        parts.append("".join(word.split()))
    return [part for part in parts if part]


# ---- the sandbox ----

class _Box:
    """A sandbox with files."""

    def __init__(self, scripts: Sequence[Script], defines: Dict[str, str]):
        self.scripts = scripts
        self.places = [self.place(script.name) for script in scripts]
        self.parameters = {int(name): value for name, value in defines.items() if name.isdigit()}
        self.surroundings = {**SURROUNDINGS, **_slurm(scripts)}
        self.surroundings.update({name: value for name, value in defines.items() if not name.isdigit()})

    @staticmethod
    def place(name: str) -> str:
        """Where a file lies in the sandbox: as it was named, below the folder that the script starts in."""
        path = os.path.normpath(name)
        return os.path.basename(path) if path.startswith(("/", "..")) else path

    def _main(self) -> List[str]:
        """The scripts that run, in their order: those that no other one names."""
        texts = [script.text for script in self.scripts]
        def is_named(index: int) -> bool:
            base = re.escape(os.path.basename(self.places[index]))
            return any(re.search(rf"(?m)(?<![\w.-]){base}(?![\w.-])", text) for other, text in enumerate(texts) if other != index)
        return [place for index, place in enumerate(self.places) if not is_named(index)] or self.places[-1:]

    def _command(self, record: int, files: Sequence[Tuple[int, str]], values: Dict[str, str]) -> List[str]:
        as_nobody = [SETPRIV, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
        command = ["/usr/bin/env", "-i", *(as_nobody if os.geteuid() == 0 else []), BWRAP, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent",
                   "--new-session", "--hostname", "localhost", "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev",
                   "--size", str(FILES_B), "--tmpfs", "/tmp", "--size", str(FILES_B), "--tmpfs", HOME]
        for folder in ("bin", "sbin", "lib", "lib64"):
            command += ["--symlink", f"usr/{folder}", f"/{folder}"]
        for number, place in files:
            command += ["--perms", "0555", "--ro-bind-data", str(number), place]
        for name in [*PROGRAMS, *WRAPPERS, *QUIET]:
            command += ["--symlink", "quiet" if name in QUIET else "program", f"{BIN}/{name}"]
        for path in self._absolute_programs():
            command += ["--symlink", f"{BIN}/{re.sub(r'^python[0-9.]+$', 'python3', os.path.basename(path))}", path]
        main = self._main()
        driver = _filled("launch_driver.bash", {"CPU": CPU_S, "MEMORY": MEMORY_KIB, "PROCESSES": PROCESSES, "FILES": FILES_B // 1024, "RECORD": record, "COUNT": len(main)})
        parameters = {**{int(name): value for name, value in values.items() if name.isdigit()}, **self.parameters}
        for name, value in {**self.surroundings, **{name: value for name, value in values.items() if not name.isdigit()}, "PATH": f"{BIN}:/usr/bin:/usr/sbin"}.items():
            command += ["--setenv", name, value]
        return [*command, "--chdir", HOME, "/usr/bin/bash", "--norc", "--noprofile", "-c", driver, "bash", *("./" + place for place in main),
                *(parameters.get(number, "") for number in range(1, max(parameters, default=0) + 1))]

    def _absolute_programs(self) -> Iterator[str]:
        """Paths outside of /usr that scripts call stand-ins by."""
        names = "|".join([*PROGRAMS, *WRAPPERS, r"python3\.\d+"])
        seen = {path for script in self.scripts for path in re.findall(rf"(?<![\w.$}}-])(/(?!usr/|bin/|proc/|dev/|job/|stand-ins/)[\w./-]*/(?:{names}))(?![\w.-])", script.text)}
        return iter(sorted(path for path in seen if ".." not in path))

    def _absent(self) -> Iterator[str]:
        """Python programs that scripts name, and look for before they start them: they are there, and empty."""
        names = {name for script in self.scripts for name in re.findall(r"(?<![\w/$}.*-])(?:\./)?([\w-][\w.-]*(?:/[\w-][\w.-]*)*\.py)(?![\w.])", script.text)}
        return iter(sorted(names.difference(self.places))[:ABSENT_MAX])

    def run(self, values: Dict[str, str]) -> _Outcome:
        """Run the scripts.  values: of variables and parameters besides."""
        stand_in = "#!/usr/bin/bash\n" + _filled("launch_stand_in.bash", {"WRAPPERS": " ".join(WRAPPERS), "PROGRAMS": " ".join(PROGRAMS)})
        contents = [(f"{HOME}/{place}", script.text) for place, script in zip(self.places, self.scripts)]
        contents += [(f"{HOME}/{os.path.basename(place)}", script.text) for place, script in zip(self.places, self.scripts) if "/" in place]
        contents += [(f"{HOME}/{name}", "") for name in self._absent()]
        contents += [(f"{BIN}/program", stand_in), (f"{BIN}/quiet", "#!/usr/bin/bash\nexit 0\n")]
        contents += [(path, stand_in) for path in _own_pythons()]
        files = [(_in_memory(text), place) for place, text in dict(contents).items()]
        record = _in_memory("")
        try:
            return _watch(self._command(record, files, values), record, [number for number, _ in files])
        finally:
            for number in (record, *(number for number, _ in files)):
                os.close(number)


def _own_pythons() -> List[str]:
    """The machine's own Pythons, which a stand-in covers."""
    folder = "/usr/bin"
    return [f"{folder}/{name}" for name in os.listdir(folder) if re.fullmatch(r"python[0-9.]*", name) and not os.path.islink(f"{folder}/{name}")]


def _filled(name: str, values: Dict[str, object]) -> str:
    """A script of this folder with values in the place of words."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return re.sub(r"\b(" + "|".join(values) + r")\b", lambda found: str(values[found[1]]), text)


def _in_memory(text: str) -> int:
    """A file descriptor that a text is read from."""
    number = os.memfd_create("script")
    with open(number, "wb", closefd=False) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    os.lseek(number, 0, os.SEEK_SET)
    return number


def batch_options(text: str) -> Iterator[Tuple[int, str, str]]:
    """Options of lines "#SBATCH": the line's number from 1, the option and its value."""
    for number, line in enumerate(text.split("\n"), 1):
        options = re.match(r"#SBATCH[ \t]+([^#]*)", line)
        for option, value in re.findall(r"(?<!\S)(--[a-z-]+|-[Nn])(?:[= \t]\s*|(?<=[Nn]))([^\s#]+)", options[1]) if options else ():
            yield number, option, value


def _slurm(scripts: Sequence[Script]) -> Dict[str, str]:
    """What Slurm sets of lines "#SBATCH"."""
    found: Dict[str, str] = {}
    for script in scripts:
        for _, option, value in batch_options(script.text):
            value = value.rsplit(":", 1)[-1] if option in ("--gpus-per-node", "--gres") else value
            found.update({name: value for name in SLURM.get(option, ()) if name not in found})
    return found


def _watch(command: List[str], record: int, files: Sequence[int]) -> _Outcome:
    """Run a sandbox up to its limit of time, and read what it recorded and said.  record: a file in memory, to which it writes.  files: it reads."""
    said, printed = os.memfd_create("said"), os.memfd_create("printed")
    try:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=printed, stderr=said, pass_fds=[record, *files], start_new_session=True) as process:
            try:
                process.wait(TIME_S)
            except subprocess.TimeoutExpired:
                pass
            finally:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
        outcome = _Outcome(said=os.pread(said, STDERR_MAX_B, 0).decode("utf-8", "replace"), printed=os.pread(printed, STDERR_MAX_B, 0).decode("utf-8", "replace"))
        _parse(os.pread(record, RECORD_MAX_B, 0), outcome)
    except OSError as error:
        return _Outcome(said=f"{error.filename}: {error.strerror}")
    finally:
        os.close(said)
        os.close(printed)
    outcome.is_cut = outcome.is_up and outcome.code is None and not outcome.commands
    return outcome


def _parse(record: bytes, outcome: _Outcome) -> None:
    """Commands of a record; it comes from the script's side, and is believed no more than a file."""
    command: Optional[_Command] = None
    for item in record.split(b"\0"):
        text = item[1:].decode("utf-8", "replace")
        if item == b"!":
            outcome.is_up = True
        elif item[:1] == b"#" and text.isdigit():
            outcome.code = int(text)
        elif item[:1] == b"@":
            command = _Command(text)
        elif item[:1] == b"=" and command is not None:
            command.words.append(text)
        elif item[:1] == b"+" and command is not None and "=" in text:
            name, _, value = text.partition("=")
            command.environment[name] = value
        elif item == b"." and command is not None:
            outcome.commands.append(command)
            command = None


def check_sandbox() -> str:
    """Why no sandbox can be made here; empty: one can."""
    if not shutil.which(BWRAP):
        return "bubblewrap is not installed"
    outcome = _Box([Script("probe.sh", "")], {}).run({})
    return "" if outcome.is_up else (outcome.said.strip().splitlines() or ["it ended at once"])[-1]
