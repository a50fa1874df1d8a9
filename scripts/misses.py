"""Why predictions miss, and what was fitted: what the page of measured runs says beside its figures.

Classes of misses stand in workloads/validation/misses.ini: a section is a class, `rows` its patterns (fnmatch) of names as
name_of() makes them, `sign` + (too slow) or - (too fast), and `reason` the mechanism. A row belongs to the first class that it goes with.
"""

import configparser
import re
from collections import namedtuple
from fnmatch import fnmatchcase
from statistics import mean

LIMIT = 0.10  # a larger error needs a reason
COLUMNS = ("rows", "sign", "reason")
SIGNS = {"+", "-"}

Miss = namedtuple("Miss", "name patterns sign reason")


class Faulty(Exception):
    """The file of reasons is wrong."""


def read_misses(text):
    """The classes of a text."""
    parser = configparser.ConfigParser(interpolation=None, comment_prefixes=("#",))
    parser.read_string(text)
    misses = []
    for name in parser.sections():
        section = parser[name]
        unknown = [key for key in section if key not in COLUMNS]
        if unknown or not section.get("rows") or not section.get("reason"):
            raise Faulty(f"misses.ini: [{name}]: expected rows, reason and perhaps sign, got {', '.join(section)}")
        if section.get("sign", "+") not in SIGNS:
            raise Faulty(f"misses.ini: [{name}]: sign is + or -, got '{section['sign']}'")
        misses.append(Miss(name, section["rows"].split(), section.get("sign"), " ".join(section["reason"].split())))
    return misses


def name_of(table, row):
    """What a row of a table of validate --json is known by: the table, its group if it has one, its id, and what it is of that."""
    if table == "collectives":
        return f"{table}/{row['kind']}/{row['system']}/{row['ranks']}/{row['size_B']:.0f}"
    return "/".join([table, *(row[key] for key in ("group", "id", "quantity") if key in row)])


def missed_rows(tree):
    """Name and error of every row of a tree that needs a reason."""
    tables = {"steps": tree["rows"] + tree["apart_rows"], **{key: tree[key] for key in ("memory", "layers", "phases", "collectives")}}
    return [(name_of(table, row), row["error"]) for table, rows in tables.items() for row in rows
            if row["error"] is not None and abs(row["error"]) > LIMIT]


def class_of(misses, name, error):
    """The first class that a row goes with; None: there is none."""
    for miss in misses:
        is_sign = miss.sign is None or (error > 0) == (miss.sign == "+")
        if is_sign and any(fnmatchcase(name, pattern) for pattern in miss.patterns):
            return miss
    return None


def explain(misses, missed, is_whole=True):
    """Errors of each class by its name, and complaints: rows without a class, and, where all rows are there, classes without a row."""
    errors = {miss.name: [] for miss in misses}
    complaints = []
    for name, error in missed:
        miss = class_of(misses, name, error)
        if miss is None:
            complaints.append(f"{name} misses by {100 * error:+.1f} %, and no class of workloads/validation/misses.ini says why")
        else:
            errors[miss.name].append(error)
    complaints += [f"workloads/validation/misses.ini: [{name}] explains no row that misses by more than {100 * LIMIT:.0f} %"
                   for name, found in errors.items() if is_whole and not found]
    return errors, complaints


def miss_lines(misses, errors):
    """The table of classes."""
    lines = ["| miss | rows | mean % | bias % | why |", "|---|---|---|---|---|"]
    for miss in misses:
        found = errors[miss.name]
        if found:
            lines.append(f"| {miss.name} | {len(found)} | {100 * mean(map(abs, found)):.0f} | {100 * mean(found):+.0f} | {miss.reason} |")
    return lines


FIT = re.compile(r"^\s*([\w.]+):\s*([^#]*?)\s*#\s*.*?(?<!a )\b[Ff]it(?:ted)?(?::| to| of)\s*(.*)$")
COMMENT = re.compile(r"^\s*#\s?(.*)$")
TEXT_MAX = 190


def fits_of(text):
    """(key, value, what it is fitted to) of a platform's, GPU's or library's file; comments go on in the lines below."""
    found = []
    is_open = False
    for line in text.splitlines():
        fit, comment = FIT.match(line), COMMENT.match(line)
        if fit:
            found.append([fit[1], fit[2], fit[3]])
        elif is_open and comment:
            found[-1][2] += " " + comment[1].strip()
        is_open = bool(fit) or (is_open and bool(comment))
    return [tuple(row) for row in found]


def shorten(text):
    """What fits into a cell."""
    text = " ".join(text.split()).replace("|", "/")
    return text if len(text) <= TEXT_MAX else text[: text.rindex(" ", 0, TEXT_MAX)] + " ..."


def fit_lines(root, groups):
    """The table of what is fitted and to what, the same fit of several files once; then which groups it names."""
    rows = {}
    for path in sorted([*(root / "platforms").rglob("*.yaml"), *(root / "workloads" / "frameworks").glob("*.yaml")]):
        for key, value, words in fits_of(path.read_text(encoding="utf-8")):
            rows.setdefault((key, value, shorten(words)), []).append(path.name)
    lines = ["| file | key | value | fitted to |", "|---|---|---|---|"]
    lines += [f"| {', '.join(f'`{name}`' for name in files)} | `{key}` | {value} | {words} |" for (key, value, words), files in rows.items()]
    named = [group for group in groups if any(re.search(rf"(?<![\w/-]){group}(?![\w-])", words) for _, _, words in rows)]
    only = [group for group in groups if group not in named]
    return [*lines, "", f"Groups that a fit names: {', '.join(named) or 'none'}. Only predicted: {', '.join(only)}."]
