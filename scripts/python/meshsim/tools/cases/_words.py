"""The table of words (words.yaml): lines that say what follows where words of a row, or facts about it, go with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .._call import Call, Fault
from ..importers import source, yaml_tree
from ._rows import plain

Line = Dict[str, Any]
SECTIONS = {"frameworks": ["framework"], "clusters": ["platform", "gpu_type", "nvlink_gb_s", "node_is_tray", "pod"], "choices": ["set", "differs", "layers"],
            "recompute": ["part"]}
"""and what a line of them may say"""
TEXTS = {"group": ["group"], "gpu": ["system.gpu"], "network": ["system.network"], "source": ["source"], "software": ["source", "provenance", "url"],
         "notes": ["notes"], "precision": ["precision"], "recompute": ["recompute"]}
"""fields that words are looked for in"""
FACTS = ("since", "before", "dated", "zero", "parallel_block", "attention")
YEARS = range(2017, 2036)
MIDDLE = "06"
"""the month of what is dated by a year alone"""


class Words:
    """The table of this package, and what a user's own files add in front of it (`validate --words FILE`)."""

    def __init__(self, call: Call, paths: List[str]):
        """Raises Fault, told, where a file is not sound."""
        self.sections: Dict[str, List[Line]] = {name: [] for name in SECTIONS}
        for path in [*paths, str(Path(__file__).parent / "words.yaml")]:
            root = yaml_tree.parse(call.talk, path, source.read_bytes(call.talk, path, 2**20).decode("utf-8", "surrogateescape"))
            for name, lines in _checked(call, root):
                self.sections[name] += lines

    def matches(self, section: str, row: Dict[str, Any], facts: Dict[str, str]) -> Iterator[Tuple[Line, str]]:
        """The lines of a section that go with a row, each with the words that it was told by."""
        for line in self.sections[section]:
            found = [_holds(key, wanted, row, facts) for key, wanted in line["when"].items()]
            if None not in found:
                yield line, ", ".join(filter(None, map(str, found)))


def _checked(call: Call, root: yaml_tree.Node) -> Iterator[Tuple[str, List[Line]]]:
    def fault(message: str, node: yaml_tree.Node) -> Fault:
        call.talk.error(message, node.key_place or node.place)
        return Fault(3)

    for name, node in root.value.items() if isinstance(root.value, dict) else [("", root)]:
        if name not in SECTIONS or not isinstance(node.value, list):
            raise fault(f"expected a table of words with lists {', '.join(SECTIONS)}, got {f'{name!r}' if name else node.shown()}", node)
        for line in node.value:
            said, when = line.value if isinstance(line.value, dict) else {}, line.get("when")
            wrong = [key for key in said if key not in ("when", *SECTIONS[name])]
            if when is None or not isinstance(when.value, dict) or wrong or len(said) < 2:
                raise fault(f"expected a line with 'when' and of {', '.join(SECTIONS[name])}" + (f", got '{wrong[0]}'" if wrong else ""), line)
            for key, word in when.value.items():
                if key.removeprefix("no ") not in TEXTS and key not in FACTS or isinstance(word.value, dict):
                    raise fault(f"expected a condition of {', '.join((*TEXTS, *FACTS))}, got '{key}'", word)
            if "set" in said and not isinstance(said["set"].value, dict):
                raise fault("expected a mapping of keys of the workload", said["set"])
        yield name, [plain(line) for line in node.value]


def texts(row: Dict[str, Any], key: str) -> List[str]:
    """The texts of a row that a condition looks into."""
    found = []
    for path in TEXTS[key]:
        part, _, name = path.rpartition(".")
        value = (row[part] if part else row).get(name)
        found += [value] if isinstance(value, str) else []
    return found


def _holds(key: str, wanted: Any, row: Dict[str, Any], facts: Dict[str, str]) -> Optional[str]:
    """What a condition was told by, "" where that needs no mention; None: it does not hold."""
    if key in ("since", "before"):
        month = facts.get("month", "")
        return f"software of {month}" if month and (month >= wanted if key == "since" else month < wanted) else None
    if key == "dated":
        return "no date" if (wanted == "true") == ("month" in facts) else None
    if key in FACTS:
        return (f"{key} {wanted}" if key != "parallel_block" else "parallel block") if facts.get(key) == wanted else None
    field = key.removeprefix("no ")
    words = wanted if isinstance(wanted, list) else [wanted]
    for word in words:
        if any(word == text if field == "group" else word.lower() in text.lower() for text in texts(row, field)):
            return f"{field} '{word}'" if field == key else None
    return "" if field != key else None


# ---- dates ----

def month_of(row: Dict[str, Any]) -> Optional[str]:
    """The month of a row's software, as "2024-07": `software_date`; else, in its source or the address of that, a paper's number (2201.11990), then a date
    (2024-12, or a year), then a release (24.07).  None: nothing says it."""
    said = [row[key] for key in ("provenance", "source", "url") if isinstance(row.get(key), str)]
    for form in (_paper, _year, _release):
        for text in [row["software_date"]] if "software_date" in row else said:
            found = form(text)
            if found:
                return found
    return None


def _month(year: int, month: str) -> Optional[str]:
    return f"{year}-{month}" if year in YEARS and 1 <= int(month) <= 12 else None


_ALONE = r"(?<![0-9A-Za-z.])"  # not in the middle of a commit's name


def _paper(text: str) -> Optional[str]:
    return next(filter(None, (_month(2000 + int(found[1]), found[2]) for found in re.finditer(rf"{_ALONE}(\d\d)(\d\d)\.\d{{5}}(?!\d)", text, re.A))), None)


def _year(text: str) -> Optional[str]:
    for found in re.finditer(rf"{_ALONE}(\d{{4}})(?![0-9A-Za-z.])(?:-(\d\d)(?!\d))?", text, re.A):
        if int(found[1]) in YEARS:
            return _month(int(found[1]), found[2] or MIDDLE) or f"{found[1]}-{MIDDLE}"
    return None


def _release(text: str) -> Optional[str]:
    return next(filter(None, (_month(2000 + int(found[1]), found[2]) for found in re.finditer(rf"{_ALONE}(\d\d)\.(\d\d)(?![0-9])", text, re.A))), None)
