"""A call of one of these commands: its words, what it asks the program, what it prints and writes, and how it ends."""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib
import json
import keyword
import math
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, NoReturn, Optional, Sequence, TextIO

OK, NO, USAGE, INPUT, FAILED, BUG = 0, 1, 2, 3, 4, 70
TEXT_MAX_B = 16 * 2**20
QUOTE_COLUMNS, QUOTE_BEFORE = 71, 30
"""columns of a quoted line, and of them those up to the fault in the middle of a longer line.  Source: sim/base/diag.c"""
FAULTS_MAX = 20


class Fault(Exception):
    """What ends a call: an exit code and what is wrong. Without a message it has been told already."""

    def __init__(self, code: int, message: str = ""):
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Place:
    """Where in a text something stands."""

    file: str
    line: int
    """from 1 on; 0: the whole file"""
    column: int = 0
    """from 1 on, in characters; 0: the whole line"""
    width: int = 1
    """characters"""
    source: str = ""
    """the line itself, without its end"""


# ---- what people read ----

UNSEEN = re.compile("[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef"
                    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
                    + "".join(chr(plane << 16 | end) for plane in range(17) for end in (0xfffe, 0xffff)) + "]")
"""what controls a terminal, is invisible, or changes the direction of text; bytes that are no UTF-8.  Source: sim/base/text.c"""


def visible(text: str) -> str:
    """A text as a terminal may have it: what is UNSEEN, but for ends of lines and tabs, is a '?'."""
    return UNSEEN.sub(lambda found: found[0] if found[0] in "\n\t" else "?", text)


class Talk:
    """What a call says on the standard error."""

    def __init__(self, stream: Optional[TextIO] = None) -> None:
        """stream: in the place of the standard error"""
        self.errors, self.stream = 0, stream

    def error(self, message: str, place: Optional[Place] = None) -> None:
        """Tell what is wrong, with the line and a caret where there is a place; of a call's errors the first FAULTS_MAX are told."""
        self.errors += 1
        if self.errors <= FAULTS_MAX:
            self._say("error", message, place)

    def warning(self, message: str, place: Optional[Place] = None) -> None:
        self._say("warning", message, place)

    def note(self, message: str, place: Optional[Place] = None) -> None:
        self._say("note", message, place)

    def finish(self) -> None:
        """Say how many errors were not told."""
        if self.errors > FAULTS_MAX:
            self.write(f"meshsim: ... and {self.errors - FAULTS_MAX} more faults\n")

    def write(self, text: str) -> None:
        """Say lines as they are; to a terminal wrapped at words."""
        stream = self.stream or sys.stderr
        if stream.isatty():  # 80 columns, as the C program's
            text = "".join(textwrap.fill(line, 80, subsequent_indent=" " * 6, break_on_hyphens=False) + "\n" for line in text.splitlines())
        with contextlib.suppress(OSError):
            stream.write(text)
            stream.flush()

    def _say(self, kind: str, message: str, place: Optional[Place]) -> None:
        if place is None:
            text = f"meshsim: {kind}: {message}\n"
        else:
            line = f":{place.line}" if place.line > 0 else ""
            column = f":{place.column}" if line and place.column > 0 else ""
            text = f"{place.file}{line}{column}: {kind}: {message}\n" + (self._caret(place) if kind == "error" and place.source else "")
        self.write(visible(text))

    @staticmethod
    def _caret(place: Place) -> str:
        line = "".join(" " if character < " " else character for character in place.source)
        first = 0 if place.column + place.width <= QUOTE_COLUMNS - 2 else max(0, min(place.column - QUOTE_BEFORE, len(line) - QUOTE_COLUMNS))
        last = first + QUOTE_COLUMNS
        quote = ("..." if first > 0 else line[:3]) + line[first + 3:last - 3] + ("..." if last < len(line) else line[max(3, last - 3):last])
        text = f"{place.line:5d} | {quote}\n"
        if 0 < place.column <= len(line) + 1:
            width = max(1, min(place.width, min(last, len(line)) - place.column + 1))
            text += "      | " + " " * (place.column - 1 - first) + "^" + "~" * (width - 1) + "\n"
        return text


# ---- a call ----

class Answer(NamedTuple):
    """What the program answered."""

    code: int
    printed: str
    said: str
    """on its standard error"""

    def json(self) -> Any:
        """The JSON that the program printed.  Raises Fault with the program's exit code where it refused the call."""
        if self.code not in (OK, NO):
            raise Fault(self.code)
        return json.loads(self.printed)


@dataclass
class Call:
    """One call of a command."""

    program: Path
    """meshsim, which started this"""
    command: str
    options: Dict[str, List[str]] = field(default_factory=dict)
    """values of each option that was given, by its long name; a flag has \"\" """
    arguments: List[str] = field(default_factory=list)
    talk: Talk = field(default_factory=Talk)

    def has(self, name: str) -> bool:
        """Whether an option was given."""
        return name in self.options

    def value(self, name: str, default: Optional[str] = None) -> Optional[str]:
        """The last value of an option, or the default."""
        return self.options[name][-1] if name in self.options else default

    def values(self, name: str) -> List[str]:
        """All values of an option that may stand several times."""
        return self.options.get(name, [])

    def refuse(self, message: str, place: Optional[Place] = None, code: int = INPUT) -> NoReturn:
        """Tell what is wrong and end the call."""
        self.talk.error(message, place)
        raise Fault(code)

    def answer(self, *words: str, text: str = "") -> Answer:
        """What the program answers, whatever that is.  text: its standard input."""
        done = subprocess.run([str(self.program), *words], input=text, capture_output=True, text=True, encoding="utf-8", errors="surrogateescape", check=False)
        return Answer(done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout, done.stderr)

    def ask(self, *words: str, text: str = "") -> Any:
        """The JSON that the program prints. What it refuses ends this call as it ended that one, with what it said.
        text: its standard input."""
        done = self.answer(*words, "--json", text=text)
        self.talk.write(re.sub(r"(?m)^meshsim: try 'meshsim .*\n", "", done.said))  # this command's own help is named in main
        return done.json()


def read_text(call: Call, path: str, limit_B: int = TEXT_MAX_B) -> str:
    """A text file whole; "-": the standard input.  Ends the call where it cannot be read, is larger than the limit, or is not UTF-8."""
    try:
        with (contextlib.nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb")) as file:
            data = file.read(limit_B + 1)
    except OSError as error:
        is_of_file = isinstance(error, (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError))
        call.refuse(f"cannot read '{path}': {error.strerror}", code=INPUT if is_of_file else FAILED)
    if len(data) > limit_B:
        call.refuse(f"'{path}' is larger than {limit_B // 2**20} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        call.refuse("not valid UTF-8", Place(path, data.count(b"\n", 0, error.start) + 1))


def nearest(word: str, known: Iterable[str]) -> Optional[str]:
    """The known word that a word was probably meant to be; None: there is none."""
    return next(iter(difflib.get_close_matches(word, list(known), 1, 0.75)), None)


# ---- results ----

def check_target(call: Call, path: str, force: Optional[bool] = None, regular: bool = False) -> None:
    """Before anything takes long: whether a file can be written there.  force: None: it may write over one; else only if true.
    regular: it is written back and forth, as no pipe and no device can be."""
    if path == "-":
        return
    if force is False and os.path.lexists(path):
        call.refuse(f"'{path}' is there already; --force writes over it", code=USAGE)
    fault = _target_fault(path, regular)
    if fault:
        call.refuse(f"cannot write '{path}': {fault}", code=FAILED)


def check_targets(call: Call, *options: str, force: Optional[bool] = None) -> None:
    """Before anything takes long: whether one result at most goes to the standard output, --json and --markdown among them, and the others to files that can
    be written.  options: names of those that name a file.  force: as check_target takes it.  Ends the call where not."""
    users = [f"--{name}" for name in ("json", "markdown") if call.has(name)] + [f"--{name} -" for name in options if call.value(name) == "-"]
    if len(users) > 1:
        call.refuse(f"'{users[0]}' and '{users[1]}' both want the standard output", code=USAGE)
    for name in options:
        if call.has(name):
            check_target(call, call.value(name) or "", force)


def _target_fault(path: str, regular: bool) -> str:
    """Why no file can be written there, in the words of sim/base/target.c; "": one can."""
    if not path:
        return "the name is empty"
    try:
        facts = os.stat(path)
        is_in_place = not stat.S_ISREG(facts.st_mode) or _standard_stream(path) is not None
        if stat.S_ISDIR(facts.st_mode):
            return "it is a folder"
        if not os.access(path, os.W_OK):
            return os.strerror(errno.EACCES)
        if is_in_place:
            return "" if not regular else "it is the standard output" if stat.S_ISREG(facts.st_mode) else "it is no regular file"
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            return os.strerror(error.errno or 0)
    while os.path.islink(path):  # to what is not there yet
        path = os.path.join(os.path.dirname(path) or ".", os.readlink(path))
    if not os.path.basename(path):
        return "it is a folder"
    folder = os.path.dirname(path) or "."
    try:
        is_folder = stat.S_ISDIR(os.stat(folder).st_mode)
    except OSError as error:
        return f"folder '{folder}': {error.strerror}"
    return f"'{folder}' is no folder" if not is_folder else "" if os.access(folder, os.W_OK | os.X_OK) else f"folder '{folder}': {os.strerror(errno.EACCES)}"


def _standard_stream(path: str) -> Optional[int]:
    """The standard output or error that is this very file, as a shell redirected it there: a new file would miss what else is printed."""
    for number in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(number), os.stat(path)):
                return number
    return None


def write_file(call: Call, path: str, data: "str | bytes") -> None:
    """Write a file whole through a temporary one beside it, or the standard output ("-").  An older file stays as it was where that fails."""
    content = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    if path == "-":
        _print(call, content)
        return
    stream = _standard_stream(path)
    if stream is not None or (os.path.exists(path) and not os.path.isfile(path)):  # a pipe or a device
        with _told(call, path), open(path if stream is None else os.dup(stream), "wb") as file:
            file.write(content)
        return
    target = os.path.realpath(path)
    with _told(call, path), contextlib.ExitStack() as on_failure:
        mode = os.stat(target).st_mode & 0o7777 if os.path.exists(target) else 0o666 & ~_umask()
        handle, temporary = tempfile.mkstemp(prefix=".meshsim-", dir=os.path.dirname(target))
        on_failure.callback(Path(temporary).unlink, missing_ok=True)
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, target)
        on_failure.pop_all()


def print_page(call: Call, text: str) -> None:
    """Print a page for people."""
    _print(call, visible(text).encode("utf-8"))


def plain(tree: Any) -> Any:
    """A tree as the program prints it: numbers that are whole without a point, and null in the place of what is no number."""
    if isinstance(tree, dict):
        return {key: plain(item) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [plain(item) for item in tree]
    if isinstance(tree, float) and not math.isfinite(tree):
        return None
    return int(tree) if isinstance(tree, float) and tree.is_integer() and abs(tree) < 1e16 else tree


def print_json(call: Call, tree: Any) -> None:
    """Print one JSON object, numbers with as many digits as they need to read back equal."""
    text = json.dumps(plain(tree), indent=2, ensure_ascii=False) + "\n"
    escaped = UNSEEN.sub(lambda found: found[0] if found[0] == "\n" else "\\ufffd" if "\ud800" <= found[0] <= "\udfff" else json.dumps(found[0])[1:-1], text)
    _print(call, escaped.encode("utf-8"))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def _told(call: Call, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        call.refuse(f"cannot write '{path}': {error.strerror}", code=FAILED)


def _print(call: Call, data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the interpreter's own flush does not fail again
        call.refuse(f"cannot write to the standard output: {error.strerror}", code=FAILED)


# ---- the start ----

def need(call: Call, *modules: str) -> List[Any]:
    """Modules of packages that may be missing; one that is ends the call with the line that installs it."""
    packages = {"yaml": "python3-yaml", "numpy": "python3-numpy", "scipy.optimize": "python3-scipy", "matplotlib.figure": "python3-matplotlib",
                "h5py": "python3-h5py", "pandas": "python3-pandas", "ijson": "python3-ijson", "defusedxml.ElementTree": "python3-defusedxml"}
    found = []
    for module in modules:
        try:
            found.append(importlib.import_module(module))
        except ImportError:
            call.refuse(f"'{call.command}' needs the Python package '{module.split('.')[0]}': apt-get install {packages[module]}", code=FAILED)
    return found


def parse(words: Sequence[str]) -> Call:
    """The call that the program's words say, see _start.py."""
    call = Call(Path(words[0]), words[1])
    end = words.index("--") if "--" in words else len(words)
    for word in words[2:end]:
        name, _, value = word[2:].partition("=")
        call.options.setdefault(name, []).append(value)
    call.arguments = list(words[end + 1:])
    return call


def main(words: Sequence[str]) -> int:
    """Run a command.  Returns its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    call = parse(words)
    try:
        module = call.command.replace("-", "_") + ("_" if keyword.iskeyword(call.command) else "")  # import_
        run: Callable[[Call], Optional[int]] = importlib.import_module(f"meshsim.tools.{module}").run
        code = run(call) or OK
    except Fault as fault:
        code = fault.code
        if str(fault):
            call.talk.error(str(fault))
    except MemoryError:
        call.talk.error("out of memory")
        code = FAILED
    except OSError as error:
        call.talk.error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        code = FAILED
    call.talk.finish()
    if code == USAGE:
        call.talk.write(f"meshsim: try 'meshsim {call.command} --help'\n")
    return code


def _interrupt(number: int, _frame: Any) -> NoReturn:
    raise Fault(128 + number)
