#!/usr/bin/env python3
"""Every public function is documented.

usage: scripts/check_docs.py [ROOT]

Each function declared in include/meshsim/*.h has a non-empty /** */ comment directly before it, or shares that of
the declaration directly before it (no blank line between them); one that returns ms_status says what it returns.
Each header opens with a /** @file */ comment, stands in the index, meshsim.h, and what it declares stands between
MS_BEGIN_DECLS and MS_END_DECLS (decls.h), else it is not in the library. Prints each breach as file:line
and exits 1.
"""

import re
import sys
from pathlib import Path

TOKEN = re.compile(
    r"(?P<doc>/\*\*.*?\*/)|(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<directive>^[ \t]*#(?:[^\n\\]|\\.|\\\n)*)"
    r"|(?P<blank>\n[ \t]*(?=\n))|(?P<open>\{)|(?P<close>\})|(?P<end>;)|(?P<text>[^{};#/\n]+|.|\n)", re.S | re.M)
INDEX = "meshsim.h"
WRAPPER = re.compile(r"\bMS_(BEGIN|END)_DECLS\b")
FUNCTION = re.compile(r"\b(ms_\w+)\s*\(")


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
            text = WRAPPER.sub("", text)
            if not self.declaration.strip() and text.strip():
                self.start = line + len(text) - len(text.lstrip("\n"))
            self.declaration += text


def check_header(path):
    """(complaints as (line, text), number of functions) of one header."""
    text = path.read_text(encoding="utf-8")
    reader = Reader()
    if not re.match(r"/\*\*\s*\*?\s*@file\b", text):
        reader.complaints.append((1, "the header does not open with /** @file */"))
    line = 1
    for match in TOKEN.finditer(text):
        reader.take(match.lastgroup, match.group(), line)
        line += match.group().count("\n")
    if reader.functions and not re.search(r"^MS_BEGIN_DECLS$.*^MS_END_DECLS$", text, re.S | re.M):
        reader.complaints.append((1, "functions stand outside MS_BEGIN_DECLS and MS_END_DECLS (decls.h)"))
    return reader.complaints, reader.functions


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    total = 0
    failed = 0
    folder = root / "include" / "meshsim"
    index = (folder / INDEX).read_text(encoding="utf-8") if (folder / INDEX).exists() else ""
    for path in sorted(folder.glob("*.h")):
        complaints, functions = check_header(path)
        if path.name != INDEX and not re.search(rf"\b{re.escape(path.name)}\b", index):
            complaints.append((1, f"{path.name} is not in the index, {INDEX}"))
        total += functions
        for line, text in complaints:
            failed += 1
            print(f"{path.relative_to(root)}:{line}: {text}")
    if failed:
        print(f"check_docs: {failed} breaches", file=sys.stderr)
        return 1
    print(f"check_docs: {total} public functions documented")
    return 0


if __name__ == "__main__":
    sys.exit(main())
