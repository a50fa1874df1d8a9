#!/usr/bin/env python3
"""Says to doxygen what the headers say to people: a comment counts for all that it stands at.

usage: scripts/doxygen/filter.py HEADER

Writes the header, with as many lines, so that each name of `int a, b; /**< ... */` has that comment, and a declaration that
directly follows another one, without a blank line, has that one's.
"""

import re
import sys

GROUP = re.compile(r"^( +)((?:const )?(?:struct |enum )?\w+(?: const)?) (\**\w+(?:\[[^\]]*\])*(?:, \**\w+(?:\[[^\]]*\])*)+);( /\*\*<.*?\*/)", re.S | re.M)
# the end of a declaration, and the beginning of the next one
FOLLOWING = re.compile(r"^(?=[a-z][\w *]*?\b(ms_\w+(?=\()|MS_\w+(?=\[)))", re.M)


def take_apart(match):
    """Each name of a group on its own."""
    indent, kind, names, comment = match.groups()
    line = " ".join(comment.split())
    return indent + " ".join(f"{kind} {name}; {line}" for name in names.split(", ")) + "\n" * comment.count("\n")


def share(text):
    """The comment of a declaration for those that directly follow it."""
    out, end, last = [], 0, None
    for match in FOLLOWING.finditer(text):
        before = text[:match.start()]
        if last is not None and before.endswith(";\n"):
            out.append(text[end:match.start()] + f"/** @copydoc {last} */ ")
            end = match.start()
        else:
            last = match.group(1)
    return "".join(out) + text[end:]


def main():
    with open(sys.argv[1], encoding="utf-8") as header:
        print(share(GROUP.sub(take_apart, header.read())), end="")


if __name__ == "__main__":
    main()
