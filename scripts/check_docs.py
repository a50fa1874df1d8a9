#!/usr/bin/env python3
"""Every public function is documented, and pages and comments name nothing that does not exist.

usage: scripts/check_docs.py [ROOT]

Each function that a header of include/meshsim/ or an interface of a room declares (a header of sim/ that opens with
/** @file */) has a non-empty /** */ comment directly before it, or shares that of the declaration directly before it (no
blank line between them); one that returns ms_status says what it returns.
In pages (*.md) and in comments of sim, include, tests and scripts each path below those folders exists, each file of
code or page is one of the repository or of FOREIGN, and each name that begins with ms_ stands in some code; NAME, <x>
and * stand for anything.
Prose of pages ends at column 120; tables, blocks of code, comments and pictures are free. Prints each breach as
file:line and exits 1.
"""

import re
import sys
from pathlib import Path

TOKEN = re.compile(
    r"(?P<doc>/\*\*.*?\*/)|(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<directive>^[ \t]*#(?:[^\n\\]|\\.|\\\n)*)"
    r"|(?P<blank>\n[ \t]*(?=\n))|(?P<open>\{)|(?P<close>\})|(?P<end>;)|(?P<text>[^{};#/\n]+|.|\n)", re.S | re.M)
INTERFACE = re.compile(r"/\*\*\s*\*?\s*@file\b")
FUNCTION = re.compile(r"\b(ms_\w+)\s*\(")

FOLDERS = ("sim", "include", "tests", "scripts")
READ = (".c", ".h", ".cpp", ".py", ".md", ".cmake", ".in", "")
UNREAD = re.compile(r"tests/golden/.*/|tests/fuzz/(corpus|slow)/|__pycache__")  # inputs and outputs
# Files that are not ours, or made up.
FOREIGN = {"stdio.h", "stdlib.h", "yaml.h", "jansson.h", "hdf5.h", "zlib.h", "sqlite3.h", "output_json.cpp", "flash_attn_interface.py", "stdbool.h", "stdint.h", "splitmix64.c", "PERFORMANCE.md", "parallel_state.py", "layer.py", "loss.py",
           "stage.py", "eager.py", "test_ce_permute_efficiency.py", "bf16_optimizer.py", "pretrain_gpt.py", "x.h", "alone.c", "cross_entropy.py", "model_parallel_config.py", "transformer.py", "moe_layer.py", "arguments.py",
           "engine.py", "pipeline_parallel.py"}
PROSE_COLUMNS = 120
FREE = re.compile(r"    |\s*(?:\||<!--|!\[)")  # how lines of a page begin that may be longer: code, tables, comments, pictures
COMMENTS_OF_C = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)
COMMENTS_OF_SCRIPTS = re.compile(r'"""(?:.*?)"""|(?:^|(?<=\s))#[^\n]*', re.S | re.M)
PATH = re.compile(r"(?<![\w/.*-])(?:sim|include|tests|scripts)/[\w./*<>-]*[\w>*/]")
FILE = re.compile(r"(?<![\w.*>-])[\w-]+\.(?:c|h|cpp|py|md)\b(?![/(]|\.\w)")
NAME = re.compile(r"\b(?:ms|MS)_\w+")


class Reader:
    """Walks one header and collects what is missing."""

    def __init__(self):
        self.complaints = []
        self.functions = 0
        self.doc = ""  # the comment that the next declaration stands under
        self.fresh = False  # nothing but line ends since that comment or the declaration that shares it
        self.declaration = ""
        self.start = 0
        self.depth = 0

    def finish(self):
        """A declaration has ended."""
        text = self.declaration.strip()
        self.declaration = ""
        match = FUNCTION.search(re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", text))
        if match is None or re.match(r"(typedef|struct|enum|union|extern\s+const)\b[^(]*$", text) or text.startswith("typedef"):
            self.fresh = False
            return
        self.functions += 1
        name = match.group(1)
        words = re.sub(r"[/*\s]+", " ", self.doc).strip()
        if not self.fresh or not words:
            self.complaints.append((self.start, f"{name} has no comment of its own"))
        elif re.match(r"(static\s+inline\s+)?ms_status\s", text) and not re.search(r"\b(Returns?|MS_E_\w+)\b", words):
            self.complaints.append((self.start, f"{name} returns ms_status; its comment does not say what it returns"))

    def take(self, kind, text, line):
        """One token of the header."""
        if kind == "doc" and self.depth == 0 and not text.startswith("/**<"):
            self.doc, self.fresh = text, "@file" not in text
        elif kind == "blank" and self.depth == 0 and not self.declaration.strip():
            self.fresh = False
        elif kind == "open":
            self.depth += 1
        elif kind == "close":
            self.depth -= 1
            # an inline function ends with its body, a type only with its semicolon
            if self.depth == 0 and re.match(r"\s*static\s+inline\b", self.declaration):
                self.finish()
        elif kind == "end" and self.depth == 0:
            self.finish()
        elif kind == "text" and self.depth == 0:
            if not self.declaration.strip() and text.strip():
                self.start = line + len(text) - len(text.lstrip("\n"))
            self.declaration += text


def check_header(path):
    """(complaints as (line, text), number of functions) of one header."""
    text = path.read_text(encoding="utf-8")
    reader = Reader()
    if not INTERFACE.match(text):
        reader.complaints.append((1, "the header does not open with /** @file */"))
    line = 1
    for match in TOKEN.finditer(text):
        reader.take(match.lastgroup, match.group(), line)
        line += match.group().count("\n")
    return reader.complaints, reader.functions


def prose_of(path, text):
    """(offset, text) of what is written for people: a page as a whole, comments elsewhere."""
    if path.suffix == ".md":
        return [(0, text)]
    is_c = path.suffix in (".c", ".h", ".cpp")
    pattern = COMMENTS_OF_C if is_c else COMMENTS_OF_SCRIPTS
    return [(match.start(), match.group()) for match in pattern.finditer(text) if not (is_c and match.group().startswith('"'))]


def texts_of(root):
    """Path -> text of each file that people read."""
    files = sorted(root.glob("*.md")) + [file for folder in FOLDERS for file in sorted((root / folder).glob("**/*")) if file.is_file()]
    files += [file for folder in ("workloads", "platforms") for file in sorted((root / folder).glob("**/*.md"))]
    names = {file: file.relative_to(root).as_posix() for file in files}
    return {file: file.read_text(encoding="utf-8", errors="replace") for file, name in names.items()
            if file.suffix in READ and not UNREAD.search(name)}


def code_names(texts):
    """Names with the prefix that stand in code, settings of the environment among them."""
    names = set()
    for path, text in texts.items():
        for start, prose in reversed(prose_of(path, text)):
            text = text[:start] + text[start + len(prose) :]
        names |= set(NAME.findall(text))
    return names


def missing_in(prose, root, files, names):
    """(offset, complaint) of what a text names and does not exist."""
    for match in PATH.finditer(prose):
        pattern = re.sub(r"<[\w-]+>|NAME|\*+", "*", match.group()).rstrip("/")
        if next(root.glob(pattern), None) is None:
            yield match.start(), f"there is no {match.group()}"
    for match in FILE.finditer(prose):
        if match.group() not in files and match.group() not in FOREIGN and "NAME" not in match.group():
            yield match.start(), f"no file is called {match.group()}"
    for match in NAME.finditer(prose):
        name = match.group()
        is_beginning = name.endswith("_") and any(one.startswith(name) for one in names)
        if name not in names and not is_beginning and "NAME" not in name:
            yield match.start(), f"no code has {name}"


def check_names(root):
    """Complaints about names in pages and comments, as (path, line, text)."""
    texts = texts_of(root)
    names = code_names(texts)
    files = {path.name for path in texts} | {path.name for path in root.glob("*")}
    for path, text in texts.items():
        for start, prose in prose_of(path, text):
            for offset, complaint in missing_in(prose, root, files, names):
                yield path, text.count("\n", 0, start + offset) + 1, complaint


def check_lines(root):
    """Complaints about lines of pages that are too long, as (path, line, text)."""
    for path in (path for path in texts_of(root) if path.suffix == ".md"):
        is_code = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            is_fence = line.lstrip().startswith("```")
            is_code ^= is_fence
            is_free = is_code or is_fence or FREE.match(line) or " " not in line.strip()
            if len(line) > PROSE_COLUMNS and not is_free:
                yield path, number, f"a line of {len(line)} columns; prose of pages ends at column {PROSE_COLUMNS}"


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    total = 0
    failed = 0
    for path, line, text in [*check_names(root), *check_lines(root)]:
        failed += 1
        print(f"{path.relative_to(root)}:{line}: {text}")
    interfaces = [path for path in sorted((root / "sim").glob("**/*.h")) if INTERFACE.match(path.read_text(encoding="utf-8"))]
    for path in sorted((root / "include" / "meshsim").glob("*.h")) + interfaces:
        complaints, functions = check_header(path)
        total += functions
        for line, text in complaints:
            failed += 1
            print(f"{path.relative_to(root)}:{line}: {text}")
    if failed:
        print(f"check_docs: {failed} breaches", file=sys.stderr)
        return 1
    print(f"check_docs: {total} functions of interfaces documented, and all that pages and comments name exists")
    return 0


if __name__ == "__main__":
    sys.exit(main())
