"""`import megatron`: the arguments of a run of Megatron-LM, or of a fork, as a workload.

They come (a) as Megatron-LM prints them at the head of a log, (b) as a line or a file of arguments, (c) as a YAML of arguments, or (d) from a launch script,
which bash runs in a sandbox (launch_script.py).
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from .._call import INPUT, NO, OK, Call, Fault, Place, need
from .._describe import Kind, Option
from . import DIFFERENCES, FILLS
from . import source
from .workload_draft import Draft, begin
from .launch_script import Script, run_scripts
from .megatron_arguments import MANY, NONE, NOTHING, OFF, ONE, Software, Tables, tables
from .megatron_job import translate
from .megatron_run import DIFFERENT, ENV, LAUNCHER, UNKNOWN, Argument, Facts, Job

KIND = Kind(
    "megatron FILE...", "the arguments of a run of Megatron-LM give a workload",
    "megatron reads a command line, a shell script (which bash runs in a sandbox, without a network or files of yours, up to where it starts the training; "
    "--define says what its surroundings set; files that it reads: give them, too), MODEL_ARGS of its tests in YAML, or the block 'arguments' of a log, for model, "
    "mesh, schedule, batch and all else but the platform. An argument that changes the size of the model in a way that is not built is refused; where others change "
    "memory or time, the exit code is 1.",
    (*FILLS, Option("define", "a variable that a script's surroundings set, or a parameter by its number: 1=VALUE", "NAME=VALUE", repeatable=True), DIFFERENCES),
    writes=".yaml")
ARGUMENTS_MAX = 100_000
# A launcher's arguments that count GPUs.  Source: torch.distributed.run, deepspeed, srun(1), mpirun(1)
LAUNCHERS = {"--nproc_per_node": "--nproc-per-node", "--nproc-per-node": "--nproc-per-node", "--num_gpus": "--nproc-per-node",
             "--ntasks-per-node": "--ntasks-per-node", "--nnodes": "--nnodes", "--num_nodes": "--nnodes", "--nodes": "--nnodes", "-N": "--nnodes",
             "--ntasks": "--ntasks", "-n": "--ntasks", "-np": "--ntasks"}
LIBRARIES = ("NCCL_", "NVTE_", "CUDA_", "PYTORCH_", "TORCH_", "CUBLAS", "TORCHINDUCTOR_")
"""variables that libraries read, and with them a job's kernels, begin so"""
FATES = {"used": source.USED, "ignored": source.IGNORED, DIFFERENT: source.IGNORED, UNKNOWN: source.UNKNOWN}
NOTHING_FOUND = ("expected arguments of Megatron-LM (a command line or script with --num-layers and others, MODEL_ARGS of its tests, or the arguments in a log), "
                 "got none")


@dataclass(frozen=True)
class Word:
    """A word of a command line."""

    text: str
    place: Optional[Place] = None


@dataclass
class Reading:
    """Arguments as they were found."""

    arguments: List[Argument] = field(default_factory=list)
    notes: List[source.Key] = field(default_factory=list)
    """what running a script took for granted"""
    software: Optional[Software] = None
    """whose arguments a command has; None: it follows from their names"""


class _Text:
    """A text with its lines."""

    def __init__(self, name: str, data: str):
        self.name, self.data, self.lines = name, data, data.split("\n")

    def place(self, line: int, column: int = 0, width: int = 1) -> Place:
        """A place; line and column from 1 on."""
        return Place(self.name, line, column, width, self.lines[line - 1].rstrip("\r"))

    def place_at(self, offset: int, width: int = 1) -> Place:
        """The place of an offset into the text."""
        line = self.data.count("\n", 0, offset) + 1
        return self.place(line, offset - (self.data.rfind("\n", 0, offset) + 1) + 1, width)


# ---- words ----

def take_words(call: Call, known: Tables, words: Sequence[Word], reading: Reading) -> None:
    """The arguments of a command: those that count GPUs of what starts the program, and all of the program's. They say whose they are."""
    program = next((index for index, word in enumerate(words) if len(word.text) > 3 and word.text.endswith(".py")), None)
    at = 0 if program is None else program + 1
    found = _launcher(words[:program]) if program is not None else []
    while program is None and at < len(words) and not _is_argument(words[at].text):
        at += 1
    software = known.choose(word.text.split("=")[0] for word in words[at:] if _is_argument(word.text))
    while at < len(words):
        if _is_argument(words[at].text):
            at = _take_argument(call, known, software, words, at, found)
        else:
            found.append(Argument(words[at].text, "", words[at].place))  # belongs to nothing
            at += 1
    reading.software = software
    reading.arguments += found


def _is_argument(text: str) -> bool:
    return text.startswith("--") and len(text) > 2


def _launcher(words: Sequence[Word]) -> List[Argument]:
    found = []
    for index, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if name in LAUNCHERS:
            behind = words[index + 1].text if index + 1 < len(words) else ""
            found.append(Argument(LAUNCHER + LAUNCHERS[name], value if equals else behind, word.place))
    return found


def _take_argument(call: Call, known: Tables, software: Software, words: Sequence[Word], at: int, found: List[Argument]) -> int:
    """Take the argument there with its values.  Returns where the next one stands."""
    name, equals, value = words[at].text.partition("=")
    place, name = words[at].place, known.spelling(name)
    flag = known.find(name, software)
    takes = flag.takes if flag is not None else MANY
    at += 1
    behind = words[at].text if at < len(words) else ""
    if flag is not None and takes == NONE and not equals and behind in ("true", "false"):  # as ms-swift writes switches
        found.append(Argument(name + (OFF if behind == "false" else ""), "", place))
        return at + 1
    if not equals:
        end = at
        while end < len(words) and not _is_argument(words[end].text) and takes != NONE and (takes == MANY or end == at):
            end += 1
        value, at = " ".join(word.text for word in words[at:end]), end
    if flag is not None and takes == ONE and not equals and not value:
        call.talk.error(f"{name}: expected a value, got {behind or 'the end of the command'}", place)
        return at
    found.append(Argument(name, _joined(value) if flag is not None and takes == MANY else value, place))
    return at


def _joined(text: str) -> str:
    """Several values as one text: "[a b]", "['a', 'b']" and "a b" are all "a b"."""
    return re.sub(r"[ ,\t\n]+", " ", re.sub(r"[\[\]'\"]", "", text)).strip(" ")


# ---- the block of a log ----

_LOG_LINE = re.compile(r"(?<= )([A-Za-z0-9_-]+) \.\.\.\.* (.*)$")


def _is_log(text: _Text) -> bool:
    lines = 0
    for line in text.lines:
        lines += _LOG_LINE.search(line) is not None
        if lines == 2:
            return True
    return False


def read_log(known: Tables, text: _Text) -> List[Argument]:
    """The block between "--- arguments ---" and "--- end of arguments ---"; a text without the first is a block as a whole. Arguments with what they have
    where they are not given are left out."""
    begin_line = next((index for index, line in enumerate(text.lines) if "- arguments -" in line), -1)
    found: List[Argument] = []
    for number, line in enumerate(text.lines[begin_line + 1:], begin_line + 2):
        if begin_line >= 0 and "- end of arguments -" in line:
            break
        match = _LOG_LINE.search(line)
        if match:
            argument = _logged(known, match[1], match[2].rstrip(" \r"), text.place(number, match.start(1) + 1, len(match[1])))
            found += [argument] if argument else []
    return found


def _logged(known: Tables, key: str, value: str, place: Place) -> Optional[Argument]:
    flag = known.find_logged(key)
    if value in ("None", "[]", "", "True" if flag and flag.is_off else "False"):
        return None
    text = "" if value in ("True", "False") else re.sub(r"^AttnBackend\.", "", re.sub(r"^torch\.", "", value))
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        text = text[1:-1]
    if flag is None:
        return Argument(key, text, place)
    text = _joined(text) if flag.takes == MANY else text
    return None if flag.harmless and re.fullmatch(flag.harmless, text) else Argument(flag.name, text, place)


# ---- YAML ----

def _is_yaml(text: _Text) -> bool:
    return text.name.endswith((".yaml", ".yml")) or any(line.startswith("MODEL_ARGS:") for line in text.lines)


def read_yaml(call: Call, known: Tables, text: _Text) -> List[Argument]:
    """MODEL_ARGS of Megatron-LM's tests, with ENV_VARS, or a mapping of arguments alone."""
    yaml, = need(call, "yaml")
    try:
        events = sum(1 for _, event in zip(range(ARGUMENTS_MAX), yaml.parse(text.data, Loader=yaml.CSafeLoader)) if not isinstance(event, yaml.AliasEvent)
                     or call.refuse("expected no aliases, got '*'", text.place(event.start_mark.line + 1, event.start_mark.column + 1)))
        root = yaml.compose(text.data, Loader=yaml.CSafeLoader) if events < ARGUMENTS_MAX else call.refuse("expected a file of arguments, got a larger one",
                                                                                                            text.place(1))
    except UnicodeError:
        call.refuse("not valid UTF-8", Place(text.name, 1))
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        call.refuse(f"not valid YAML: {getattr(error, 'problem', None) or error}", text.place(mark.line + 1, mark.column + 1) if mark and mark.line < len(text.lines)
                    else Place(text.name, 1))
    if not isinstance(root, yaml.MappingNode):
        got = "nothing" if root is None else "a list" if isinstance(root, yaml.SequenceNode) else f"'{root.value}'"
        call.refuse(f"expected keys and values, got {got}", text.place(1, 1) if root is None else _yaml_place(text, root))
    return _yaml_arguments(call, known, text, root)


def _yaml_arguments(call: Call, known: Tables, text: _Text, root: Any) -> List[Argument]:
    """The pairs of the mappings of arguments; without such a mapping those of the root."""
    found: List[Argument] = []
    sections = _members(call, text, root)
    for name in ("MODEL_ARGS", "MODEL_ARGS_1"):
        if name in sections and sections[name][1].id == "mapping" and not found:
            found = [argument for pair in _members(call, text, sections[name][1]).values() for argument in _pair(call, known, text, *pair)]
    found = found or [argument for pair in sections.values() for argument in _pair(call, known, text, *pair)]
    if "ENV_VARS" in sections and sections["ENV_VARS"][1].id == "mapping":
        for key, value in _members(call, text, sections["ENV_VARS"][1]).values():
            found.append(Argument(ENV + key.value, _yaml_text(value), _yaml_place(text, key)))
    return found


def _yaml_place(text: _Text, node: Any) -> Place:
    width = node.end_mark.column - node.start_mark.column if node.end_mark.line == node.start_mark.line else 1
    return text.place(node.start_mark.line + 1, node.start_mark.column + 1, width)


def _members(call: Call, text: _Text, mapping: Any) -> Dict[str, Tuple[Any, Any]]:
    """Keys and values of a mapping; a repeated key is an error."""
    found: Dict[str, Tuple[Any, Any]] = {}
    for key, value in mapping.value:
        if key.id != "scalar":
            call.refuse("expected a name as a key", _yaml_place(text, key))
        if key.value in found:
            first = _yaml_place(text, found[key.value][0])
            call.talk.error(f"repeated key '{key.value}', first at line {first.line}:{first.column}", _yaml_place(text, key))
        found[key.value] = (key, value)
    return found


def _yaml_text(value: Any) -> str:
    """A scalar, or the scalars of a list."""
    if value.id == "scalar":
        return str(value.value)
    return " ".join(item.value for item in value.value if getattr(item, "id", "") == "scalar")


def _pair(call: Call, known: Tables, text: _Text, key: Any, value: Any) -> List[Argument]:
    """ "--bf16: true" is the argument, "--bf16: false" is none."""
    if not key.value.startswith("--"):
        return []
    if value.id == "mapping":
        call.talk.error(f"{key.value}: expected a value, got a mapping", _yaml_place(text, value))
        return []
    flag, found = known.find(key.value), _yaml_text(value)
    is_plain = value.id == "scalar" and not value.style
    if is_plain and found in ("false", "False"):
        return []
    if is_plain and found in ("true", "True") and (flag is None or flag.takes == NONE):
        found = ""
    return [Argument(key.value, _joined(found) if flag is not None and flag.takes == MANY else found, _yaml_place(text, key))]


# ---- lines of arguments ----

_PIECE = re.compile(r"""(?P<blank>[ \t\r]+|\\\n)|(?P<end>\n)|(?P<comment>\#[^\n]*)|'(?P<single>[^']*)'|"(?P<double>(?:[^"\\$`]|\\.)*)"|\\(?P<escaped>.)|(?P<plain>[^\s'"\\$`|&;<>]+)""",
                    re.S | re.X)


def read_lines(text: _Text) -> Optional[List[List[Word]]]:
    """The lines of a text that is words and quotes alone; None: it is a script.  Raises ValueError(quote, offset) where a quote is open."""
    lines: List[List[Word]] = [[]]
    at, word, start = 0, None, 0
    while at < len(text.data):
        piece = _PIECE.match(text.data, at)
        if piece is None:
            if text.data[at] in "'\"" and not re.search(r"[$`]", text.data[at:]):
                raise ValueError(text.data[at], at)
            return None
        kind = piece.lastgroup or ""
        if kind == "comment" and word is not None:
            word, piece, kind = word + "#", _PIECE.match(text.data, at + 1), ""
            at += 1
            continue
        if kind in ("blank", "end", "comment"):
            if word is not None:
                lines[-1].append(Word(word, text.place_at(start)))
                word = None
            if kind == "end" and lines[-1]:
                lines.append([])
        else:
            start = at if word is None else start
            value = piece[kind]
            word = (word or "") + (re.sub(r"\\([\\\"$`\n])", lambda found: "" if found[1] == "\n" else found[1], value) if kind == "double" else value)
        at = piece.end()
    if word is not None:
        lines[-1].append(Word(word, text.place_at(start)))
    return [line for line in lines if line]


def _as_command(lines: List[List[Word]]) -> Optional[List[Word]]:
    """The words of lines of arguments, or of one command; None: a shell has more to do."""
    is_loose = [_is_argument(line[0].text) for line in lines]
    if lines and all(is_loose):
        return [word for line in lines for word in line]
    if len(lines) > 1 or not lines:
        return None if lines else []
    words = lines[0]
    is_assigned = re.match(r"[A-Za-z_]\w*(?:\[.*\])?\+?=", words[0].text)
    needs_shell = is_assigned or any(word.text in ("-c", "-lc", "eval") or "(" in word.text and not word.text.startswith(("(", "[")) for word in words)
    return None if needs_shell or not any(_is_argument(word.text) for word in words) and words[0].text.endswith(".sh") else words


# ---- all forms ----

def read_texts(call: Call, known: Tables, texts: Sequence[_Text], defines: Dict[str, str]) -> Reading:
    """The arguments of texts that belong together, each of the form that it looks like.  Faults are told."""
    reading, scripts = Reading(), []
    for text in texts:
        if _is_yaml(text):
            reading.arguments += read_yaml(call, known, text)
        elif _is_log(text):
            reading.arguments += read_log(known, text)
        else:
            scripts.append(text)
    if scripts and call.talk.errors == 0:
        _read_scripts(call, known, scripts, defines, reading)
    if not reading.arguments and call.talk.errors == 0:
        call.talk.error(NOTHING_FOUND, Place(texts[0].name, 0) if texts else None)
    return reading


def _read_scripts(call: Call, known: Tables, scripts: Sequence[_Text], defines: Dict[str, str], reading: Reading) -> None:
    words: Optional[List[Word]] = None
    if len(scripts) == 1:
        try:
            lines = read_lines(scripts[0])
        except ValueError as error:
            quote, offset = error.args
            call.refuse(f"expected a closing {quote}, got the end of the text", scripts[0].place_at(offset))
        words = _as_command(lines) if lines is not None else None
    reading.arguments += _batch(scripts)
    if words is not None:
        if any(_is_argument(word.text) for word in words):
            take_words(call, known, words, reading)
        return
    recorded = run_scripts(call, [Script(text.name, text.data) for text in scripts], defines,
                           lambda command: sum(known.find(known.spelling(word.split("=")[0])) is not None for word in command if _is_argument(word)))
    finder = _Finder(scripts)
    words = finder.words(recorded.words)
    if any(_is_argument(word.text) for word in words):
        take_words(call, known, words, reading)
    if reading.arguments or recorded.words:
        reading.arguments += [Argument(ENV + name, value, finder.variable(name)) for name, value in recorded.environment.items() if name.startswith(LIBRARIES)]
    reading.notes += [source.Key(f"${{{name}}}" if name.isdigit() else f"${name}", source.ASSUMED, f"{why} (--define {name}=VALUE)", "empty", finder.use(name))
                      for name, why in recorded.unset.items()]


def _batch(scripts: Sequence[_Text]) -> List[Argument]:
    """What lines "#SBATCH" ask for, which what starts the program may say otherwise."""
    found = []
    for text in scripts:
        for number, line in enumerate(text.lines, 1):
            options = re.match(r"#SBATCH\s+([^#]*)", line)
            for option in re.finditer(r"(?<!\S)(--[a-z-]+|-[Nn])(?:[= \t]\s*|(?<=[Nn]))([^\s#]+)", options[1]) if options else ():
                if option[1] in LAUNCHERS:
                    found.append(Argument(LAUNCHER + LAUNCHERS[option[1]], option[2], text.place(number, 1)))
    return found


class _Finder:
    """Where in scripts words that were recorded stand."""

    def __init__(self, scripts: Sequence[_Text]):
        self.scripts = scripts

    def words(self, texts: Sequence[str]) -> List[Word]:
        """Words of a command with the places where their names stand, as well as they are found; one that holds several is cut at its blanks."""
        cut: List[str] = []
        for text in texts:
            is_whole = re.search(r"(?:^|[ \n])--", text) and re.search(r"\s", text.strip()) is not None and (text.startswith("--") or " --" in text or "\n--" in text)
            cut += re.sub(r"(?<!\S)(['\"])(\S*)\1(?!\S)", r"\2", text).split() if is_whole else [text]
        behind = [*cut[1:], ""]
        return [Word(text, self.find(text.split("=")[0], value) if text.startswith("-") else self.use(text.strip("${}")) if re.fullmatch(r"\$\{?\w+\}?", text) else None)
                for text, value in zip(cut, behind)]

    def find(self, name: str, value: str) -> Optional[Place]:
        """The last place of a name, of several one with its value behind it, outside of comments."""
        best: Optional[Place] = None
        best_points = -1
        for text in self.scripts:
            for found in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text.data):
                line_start = text.data.rfind("\n", 0, found.start()) + 1
                if re.search(r"(?:^|\s)#(?!SBATCH)", text.data[line_start:found.start()]):
                    continue
                points = int(text.data[found.end():].lstrip(" =\"'\\\n").startswith(value))
                if points >= best_points:
                    best, best_points = text.place_at(found.start()), points
        return best

    def variable(self, name: str) -> Optional[Place]:
        """Where a variable is set."""
        return self._search(rf"(?<!\w){name}=")

    def use(self, name: str) -> Optional[Place]:
        """Where a variable is used."""
        return self._search(rf"\$\{{?{name}(?!\w)")

    def _search(self, pattern: str) -> Optional[Place]:
        for text in self.scripts:
            found = re.search(pattern, text.data)
            if found:
                return text.place_at(found.start())
        return None


# ---- the command ----

def load(call: Call, paths: Iterable[str]) -> List[_Text]:
    """Files as texts."""
    texts = []
    for path in paths:
        limit = 16 * 2**20 if path.endswith((".yaml", ".yml")) else source.SOURCE_MAX_B
        data = source.read_bytes(call.talk, path, limit)
        texts.append(_Text(path, data.decode("utf-8", "surrogateescape").replace("\0", "").removeprefix("\ufeff")))
    return texts


def _defines(call: Call) -> Dict[str, str]:
    found = {}
    for text in call.values("define"):
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*|[1-9]\d?", name, re.A):
            call.refuse(f"--define: expected NAME=VALUE, got '{text}'")
        found[name] = value
    return found


def _profile(call: Call, framework: str) -> Tuple[bool, bool]:
    """Of a framework's profile: whether it is before Transformer Engine, and whether it keeps a buffer of weight gradients."""
    probe = "model: {type: gpt, layers: 1, hidden: 128, heads: 1, ffn: 128, vocab: 128, sequence: 128}\nplatform: {file: dgx-h100, nodes: 1}\nmesh: {dp: 8}\nbatch: {global: 8}\n"
    with tempfile.TemporaryDirectory(prefix="meshsim-import-") as folder:
        path = os.path.join(folder, "profile.yaml")
        Path(path).write_text(f"framework: {framework}\n{probe}", encoding="utf-8")
        done = subprocess.run([str(call.program), "check", path, "--effective"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode not in (OK, NO):
        call.refuse(re.sub(r"^\S*: error: ", "", (done.stderr.splitlines() or ["no such framework"])[0]))
    said = dict(re.findall(r"^(memory\.\w+) = (.*)$", done.stdout, re.M))
    return said.get("memory.libraries", "").split(" ")[0] in ("", "none"), "weight_gradients" in said.get("memory.buffers", "")


def _facts(call: Call) -> Facts:
    said = [text.partition("=")[2] for text in call.values("set") if re.match(r"framework(?:\.name)?=", text)]
    gpus = 0
    if call.has("platform") and call.has("gpus"):
        gpus = int(call.value("gpus") or 0) if (call.value("gpus") or "").isdigit() else 0
    return Facts(framework=said[-1] if said else None, gpus=gpus, profile=lambda name: _profile(call, name))


def _tell_arguments(draft: Draft, reading: Reading) -> None:
    """What became of each argument; comments name what is simulated otherwise."""
    draft.keys += reading.notes
    for argument in reading.arguments:
        why = argument.why
        if argument.use == DIFFERENT:
            why = f"simulated otherwise: {why}"
        if argument.use in (DIFFERENT, UNKNOWN):
            draft.remarks += f"# {source.inline(argument.name)}: {why if argument.use == DIFFERENT else 'not known'}\n"
        draft.keys.append(source.Key(argument.name, FATES[argument.use], why, argument.value, argument.place))


def _hang(draft: Draft, job: Job) -> None:
    draft.set("framework", job.framework)
    for setting in job.settings:
        if setting.value is None:
            draft.require(setting.key, setting.why, setting.place)
        else:
            draft.set(setting.key, setting.value, setting.place)
    draft.gpus = job.gpus


def read(call: Call, paths: Sequence[str], defines: Optional[Dict[str, str]] = None, facts: Facts = Facts()) -> Tuple[Reading, Job]:
    """The job that the arguments in files say, and what became of each argument.

    paths: files that belong together, of any of the four forms.  defines: variables that a script finds set, and its parameters by number.
    Raises Fault where a file is not understood, or the job cannot be simulated; each reason was told to call.talk.
    """
    need(call, "yaml")
    known = tables()
    reading = read_texts(call, known, load(call, paths), defines or {})
    source.finish(call.talk)
    job = translate(reading.arguments, known, facts, reading.software)
    for message, place in job.faults:
        call.talk.error(message, place)
    source.finish(call.talk)
    return reading, job


def run(call: Call) -> int:
    """Import the arguments in the files that the call names.  Returns NO where a run would show what is simulated otherwise."""
    draft = begin(call, f"the arguments of Megatron-LM in {call.arguments[0]}")
    reading, job = read(call, call.arguments, _defines(call), _facts(call))
    _hang(draft, job)
    _tell_arguments(draft, reading)
    draft.finish()
    effects = {argument.name: argument.effect for argument in reading.arguments if argument.use == DIFFERENT and argument.effect != NOTHING}
    if not effects or call.has("accept-differences"):
        return OK
    draft.tell_differences(effects)
    return NO


__all__ = ["read", "run", "Fault", "INPUT"]
