"""Lines that scripts write into pages (*.md)."""

import textwrap

WIDTH = 120  # scripts/check_docs.py holds pages to it


def wrapped(lines):
    """Lines of a page with sentences cut into lines of WIDTH columns; rows of tables stay whole."""
    return [part for line in lines for part in
            ([line] if not line or line.startswith("|") else textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False))]
