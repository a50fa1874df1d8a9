"""The table of words (words.yaml): lines that say what follows where words of a row, or facts about it, go with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .._call import Call
from ..importers import source, yaml_tree
from ._rows import document

Line = Dict[str, Any]
SECTIONS = {"frameworks": ["framework"], "clusters": ["platform", "gpu_type", "nvlink_gb_s", "node_is_tray", "pod"], "choices": ["set", "differs", "layers"],
            "recompute": ["part"]}
"""and what a line of them may say"""
TEXTS = {"group": ["group"], "gpu": ["system.gpu"], "network": ["system.network"], "source": ["source"], "software": ["source", "provenance", "url"],
         "notes": ["notes"], "precision": ["precision"], "recompute": ["recompute"]}
"""fields that words are looked for in"""
NAMES = ("gpu", "network")
"""fields whose letters are looked for as they are"""
FACTS = ("since", "before", "dated", "zero", "parallel_block", "attention")
# Ways to write a month in a source: a paper's number, a date or a year alone, a release; none in the middle of a commit's name.
DATES = [re.compile(r"(?<![0-9A-Za-z.])" + form, re.A) for form in (r"(\d\d)(\d\d)\.\d{5}(?!\d)", r"(\d{4})(?![0-9A-Za-z.])(?:-(\d\d)(?!\d))?", r"(\d\d)\.(\d\d)(?!\d)")]
COMMIT = re.compile(r"\bat [0-9a-f]{7,40} \((20\d\d-\d\d)-\d\d\)", re.A)
YEARS = range(2017, 2036)


class Words:
    """The table of this package, and what a user's own files add in front of it (`validate --words FILE`)."""

    def __init__(self, call: Call, paths: List[str]):
        """Raises Fault, told, where a file is not sound."""
        self.sections: Dict[str, List[Line]] = {name: [] for name in SECTIONS}
        for path in [*paths, str(Path(__file__).parent / "words.yaml")]:
            root = yaml_tree.parse(call.talk, path, source.read_bytes(call.talk, path, 2**20).decode("utf-8", "surrogateescape"))
            for name, node in root.value.items() if isinstance(root.value, dict) else [("", root)]:
                if name not in SECTIONS or not isinstance(node.value, list):
                    call.refuse(f"expected lists named {', '.join(SECTIONS)}, got {node.shown() if name in ('', *SECTIONS) else repr(name)}", node.key_place or node.place)
                for line in node.value:
                    _check(call, name, line)
                self.sections[name] += map(document, node.value)

    def matches(self, section: str, row: Dict[str, Any], facts: Dict[str, Any]) -> Iterator[Tuple[Line, str]]:
        """The lines of a section that go with a row, each with the words that it was told by."""
        for line in self.sections[section]:
            found = [_holds(key, wanted, row, facts) for key, wanted in line["when"].items()]
            if None not in found:
                yield line, ", ".join(filter(None, map(str, found)))


def _check(call: Call, section: str, line: yaml_tree.Node) -> None:
    said, when = line.value if isinstance(line.value, dict) else {}, line.get("when")
    wrong = [child for key, child in said.items() if key not in ("when", *SECTIONS[section]) or key == "set" and not isinstance(child.value, dict)]
    if when is None or not isinstance(when.value, dict) or wrong or len(said) < 2:
        call.refuse(f"expected 'when' and of {', '.join(SECTIONS[section])}, each a mapping or a word", wrong[0].key_place if wrong else line.place)
    for key, word in when.value.items():
        if key.removeprefix("no ") not in TEXTS and key not in FACTS or isinstance(word.value, dict):
            call.refuse(f"expected a condition of {', '.join((*TEXTS, *FACTS))}, got '{key}'", word.key_place)


def _holds(key: str, wanted: Any, row: Dict[str, Any], facts: Dict[str, Any]) -> Optional[str]:
    """What a condition was told by, "" where that needs no mention; None: it does not hold."""
    if key in ("since", "before"):
        month = facts.get("month")
        return f"software of {month}" if month and (month >= wanted) == (key == "since") else None
    if key in FACTS:
        return f"{key} {wanted}" if facts.get(key) == wanted else None
    field = key.removeprefix("no ")
    places = [path.split(".") for path in TEXTS[field]]
    texts = [str(value) for *part, name in places for value in [(row[part[0]] if part else row).get(name)] if isinstance(value, str)]
    for word in wanted if isinstance(wanted, list) else [wanted]:
        if any(word == text if field == "group" else word in text if field in NAMES else word.lower() in text.lower() for text in texts):
            return f"{field} '{word}'" if field == key else None
    return "" if field != key else None


def month_of(row: Dict[str, Any]) -> Optional[str]:
    """The month of a row's software, as "2024-07": `software_date`; else that of the commit that `provenance` names (at 93ebf8d72f (2026-08-19)), never the
    day on which the row was read; else, in its source or the address of that, a paper's number (2201.11990), then a date (2024-12; the middle of a year
    alone), then a release (24.07).  None: nothing says it."""
    commit = COMMIT.search(str(row.get("provenance")))
    said = [row.get("software_date") or commit and commit[1]]
    said = said if said[0] else [row[key] for key in ("source", "url") if isinstance(row.get(key), str)]
    for form in DATES:
        for text in said:
            for found in form.finditer(text):
                year, month = int(found[1]) + (2000 if len(found[1]) == 2 else 0), found[2] or ""
                month = month if month and 1 <= int(month) <= 12 else "06" if len(found[1]) == 4 else ""
                if year in YEARS and month:
                    return f"{year}-{month}"
    return None
