"""`import megatron`: the arguments of a run of Megatron-LM, or of a fork, as a workload.

They come (a) as Megatron-LM prints them at the head of a log, (b) as a line or a file of arguments, (c) as a YAML of arguments, or (d) from a launch script,
which bash runs in a sandbox (launch_script.py).
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

from .._call import NO, OK, Call, Place, need
from .._describe import Kind, Option
from . import DIFFERENCES, FILLS
from . import source
from .draft import PIPE
from .launch_script import Script, batch_options, run_scripts
from .megatron_arguments import MANY, NONE, NOTHING, OFF, ONE, Software, Tables, tables
from .megatron_job import translate
from .megatron_run import DIFFERENT, ENV, LAUNCHER, UNKNOWN, Argument, Facts, Job
from .source import Text
from .workload_draft import Workload
from .yaml_tree import Node, parse

KIND = Kind(
    "megatron FILE...", "the arguments of a run of Megatron-LM give a workload",
    "megatron reads a command line, a shell script (which bash runs in a sandbox, without a network or files of yours, up to where it starts the training; "
    "--define says what its surroundings set; files that it reads: give them, too), MODEL_ARGS of its tests in YAML, or the block 'arguments' of a log, for model, "
    "mesh, schedule, batch and all else but the platform. An argument that changes the size of the model in a way that is not built is refused; where others change "
    "memory or time, the exit code is 1.",
    (*FILLS, Option("define", "a variable that a script's surroundings set, or a parameter by its number: 1=VALUE", "NAME=VALUE", repeatable=True), DIFFERENCES),
    writes=".yaml")
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
    has_parenthesis: bool = False
    """outside of quotes"""


@dataclass
class Reading:
    """Arguments as they were found."""

    arguments: List[Argument] = field(default_factory=list)
    notes: List[source.Key] = field(default_factory=list)
    """what running a script took for granted"""
    software: Optional[Software] = None
    """whose arguments a command has; None: it follows from their names"""


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
    found.append(Argument(name, joined(value) if flag is not None and takes == MANY else value, place))
    return at


def joined(text: str) -> str:
    """Several values as one text: "[a b]", "['a', 'b']" and "a b" are all "a b"."""
    return re.sub(r"[ ,\t\n]+", " ", re.sub(r"[\[\]'\"]", "", text)).strip(" ")


# ---- the block of a log ----

_LOG_LINE = re.compile(r"(?<= )([A-Za-z0-9_-]+) \.\.\.\.* (.*)$")


def _is_log(text: Text) -> bool:
    return len(list(itertools.islice(filter(_LOG_LINE.search, text.lines), 2))) == 2


def read_log(known: Tables, text: Text) -> List[Argument]:
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
    text = joined(text) if flag.takes == MANY else text
    return None if flag.harmless and re.fullmatch(flag.harmless, text) else Argument(flag.name, text, place)


# ---- YAML ----

def _is_yaml(text: Text) -> bool:
    return text.name.endswith((".yaml", ".yml")) or any(line.startswith("MODEL_ARGS:") for line in text.lines)


def read_yaml(call: Call, known: Tables, text: Text) -> List[Argument]:
    """MODEL_ARGS of Megatron-LM's tests, with ENV_VARS, or a mapping of arguments alone."""
    root = parse(call.talk, text.name, text.data)
    if not isinstance(root.value, dict):
        call.refuse(f"expected keys and values, got {root.shown()}", root.place)
    parts = (_pairs(call, known, node) for node in (root.get("MODEL_ARGS"), root.get("MODEL_ARGS_1"), root) if node is not None)
    found = next(filter(None, parts), [])
    environment = root.get("ENV_VARS")
    if environment is not None and isinstance(environment.value, dict):
        found += [Argument(ENV + key, _yaml_text(value), value.key_place) for key, value in environment.value.items()]
    return found


def _yaml_text(node: Node) -> str:
    """A text, or the texts of a list."""
    return " ".join(item.value for item in node.value if isinstance(item, Node) and isinstance(item.value, str)) if isinstance(node.value, list) else node.text


def _pairs(call: Call, known: Tables, mapping: Node) -> List[Argument]:
    """The arguments of a mapping: "--bf16: true" is one, "--bf16: false" is none."""
    found = []
    for key, node in mapping.value.items() if isinstance(mapping.value, dict) else ():
        flag, value = known.find(key), _yaml_text(node)
        word = value if isinstance(node.value, str) and not node.is_quoted else ""
        if not key.startswith("--") or word in ("false", "False"):
            continue
        if isinstance(node.value, dict):
            call.talk.error(f"{key}: expected a value, got a mapping", node.place)
        if word in ("true", "True") and (flag is None or flag.takes == NONE):
            value = ""
        found.append(Argument(key, joined(value) if flag is not None and flag.takes == MANY else value, node.key_place))
    return found


# ---- lines of arguments ----

_PIECE = re.compile(r"""(?P<blank>[ \t\r]+|\\\n)|(?P<end>\n)|(?P<comment>\#[^\n]*)|'(?P<single>[^']*)'|"(?P<double>(?:[^"\\$`]|\\.)*)"|\\(?P<escaped>.)|(?P<plain>[^\s'"\\$`|&;<>]+)""",
                    re.S | re.X)


def read_lines(text: Text) -> Optional[List[List[Word]]]:
    """The lines of a text that is words and quotes alone; None: it is a script.  Raises ValueError(quote, offset) where a quote is open."""
    lines: List[List[Word]] = [[]]
    at, word, start, has_parenthesis = 0, None, 0, False
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
                lines[-1].append(Word(word, text.place_at(start), has_parenthesis))
                word = None
            if kind == "end" and lines[-1]:
                lines.append([])
        else:
            start, has_parenthesis = (at, False) if word is None else (start, has_parenthesis)
            value = piece[kind]
            has_parenthesis = has_parenthesis or (kind == "plain" and "(" in value)
            word = (word or "") + (re.sub(r"\\([\\\"$`\n])", lambda found: "" if found[1] == "\n" else found[1], value) if kind == "double" else value)
        at = piece.end()
    if word is not None:
        lines[-1].append(Word(word, text.place_at(start), has_parenthesis))
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
    needs_shell = is_assigned or any(word.text in ("-c", "-lc", "eval") or word.has_parenthesis and not word.text.startswith(("(", "[")) for word in words)
    return None if needs_shell or not any(_is_argument(word.text) for word in words) and words[0].text.endswith(".sh") else words


# ---- all forms ----

def read_texts(call: Call, known: Tables, texts: Sequence[Text], defines: Dict[str, str]) -> Reading:
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


def _read_scripts(call: Call, known: Tables, scripts: Sequence[Text], defines: Dict[str, str], reading: Reading) -> None:
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


def _batch(scripts: Sequence[Text]) -> List[Argument]:
    """What lines "#SBATCH" ask for, which what starts the program may say otherwise."""
    return [Argument(LAUNCHER + LAUNCHERS[option], value, text.place(number, 1)) for text in scripts for number, option, value in batch_options(text.data)
            if option in LAUNCHERS]


class _Finder:
    """Where in scripts words that were recorded stand."""

    def __init__(self, scripts: Sequence[Text]):
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
        return next((text.place_at(found.start()) for text in self.scripts for found in re.finditer(pattern, text.data)), None)


# ---- the command ----

def load(call: Call, paths: Iterable[str]) -> List[Text]:
    """Files as texts."""
    texts = []
    for path in paths:
        limit = 16 * 2**20 if path.endswith((".yaml", ".yml")) else source.SOURCE_MAX_B
        data = source.read_bytes(call.talk, path, limit)
        texts.append(Text(path, data.decode("utf-8", "surrogateescape").replace("\0", "").removeprefix("\ufeff")))
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
    answer = call.answer("check", PIPE, "--effective", text=f"framework: {framework}\n{probe}")
    if answer.code not in (OK, NO):
        call.refuse(re.sub(r"^\S*: error: ", "", (answer.said.splitlines() or ["no such framework"])[0]))
    said = dict(re.findall(r"^(memory\.\w+) = (.*)$", answer.printed, re.M))
    return said.get("memory.libraries", "").split(" ")[0] in ("", "none"), "weight_gradients" in said.get("memory.buffers", "")


def _facts(call: Call) -> Facts:
    said = [text.partition("=")[2] for text in call.values("set") if re.match(r"framework(?:\.name)?=", text)]
    given = call.value("gpus") or ""
    gpus = int(given) if call.has("platform") and given.isdigit() else 0
    return Facts(framework=said[-1] if said else None, gpus=gpus, profile=lambda name: _profile(call, name))


def read(call: Call, paths: Sequence[str], defines: Optional[Dict[str, str]] = None, facts: Facts = Facts()) -> Tuple[Reading, Job]:
    """The job that the arguments in files say, and what became of each argument.

    paths: files that belong together, of any of the four forms.  defines: variables that a script finds set, and its parameters by number.
    Raises Fault where a file is not understood, or the job cannot be simulated; each reason was told to call.talk.
    """
    return _read(call, load(call, paths), defines or {}, facts)


def _read(call: Call, texts: Sequence[Text], defines: Dict[str, str], facts: Facts) -> Tuple[Reading, Job]:
    need(call, "yaml")
    reading = read_texts(call, tables(), texts, defines)
    source.finish(call.talk)
    job = translate(reading.arguments, tables(), facts, reading.software)
    for message, place in job.faults:
        call.talk.error(message, place)
    source.finish(call.talk)
    return reading, job


def draft(call: Call, texts: Sequence[Text], defines: Optional[Dict[str, str]] = None) -> Workload:
    """The workload that arguments in texts say, with the call's options.  defines: as of `read`.  Raises Fault as `read` does."""
    reading, job = _read(call, texts, defines or {}, _facts(call))
    found = Workload(call, f"the arguments of Megatron-LM in {texts[0].name}", gpus=job.gpus)
    found.set("framework", job.framework)
    for setting in job.settings:
        if setting.value is None:
            found.require(setting.key, setting.why, setting.place)
        else:
            found.set(setting.key, setting.value, place=setting.place)
    found.keys += reading.notes
    for argument in reading.arguments:
        why = argument.why
        if argument.use == DIFFERENT:
            why = f"simulated otherwise: {why}"
            found.effects.update({argument.name: argument.effect} if argument.effect != NOTHING else {})
        if argument.use in (DIFFERENT, UNKNOWN):
            found.remarks.append(f"{source.inline(argument.name)}: {why if argument.use == DIFFERENT else 'not known'}")
        found.keys.append(source.Key(argument.name, FATES[argument.use], why, argument.value, argument.place))
    return found


def run(call: Call) -> int:
    """Import the arguments in the files that the call names.  Returns NO where a run would show what is simulated otherwise."""
    source.target(call)
    return draft(call, load(call, call.arguments), _defines(call)).finish()
