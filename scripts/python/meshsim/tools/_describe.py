"""What the commands of this package are called with: the program reads this as JSON (tools.json, which the build makes) for parsing, help, manual pages and completion.

A command is a module of this folder with COMMAND. Of `import` and `export` each kind is a module of `importers` or `exporters` with KIND, so that a new one is one file.
"""

from __future__ import annotations

import importlib
import json
import keyword
import pkgutil
from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

COMMANDS = ("import", "export")
"""in the order of the help page; the program knows these by name, and no others"""


@dataclass(frozen=True)
class Option:
    """An option."""

    name: str
    help: str
    """one line, lower case"""
    argument: str = ""
    """its name in the help page, such as "FILE"; empty: a flag"""
    letter: str = ""
    repeatable: bool = False
    fallback: Optional[str] = None
    """the default that the help page shows"""
    writes: Optional[str] = None
    """endings of the file that it names and writes, such as ".svg or .json\""""
    takes: str = ""
    """what its argument is: "workload key", "platform key"; empty: what `argument` says"""


@dataclass(frozen=True)
class Kind:
    """One of several things that a command makes, by its first argument."""

    usage: str
    """its own words behind the command's name, the first of them its name"""
    summary: str
    about: str = ""
    """sentences for the help page"""
    options: Tuple[Option, ...] = ()
    """those that not every kind of the command takes"""
    needs: Tuple[Tuple[str, str, str], ...] = ()
    """an option, the one that it needs, and why"""
    writes: Optional[str] = None
    """endings of what --output writes"""


@dataclass(frozen=True)
class Command:
    """A command."""

    summary: str
    arguments: str
    """such as "[LOG...]\""""
    at_least: int
    """arguments"""
    at_most: int
    about: str
    """paragraphs for the help page; {kinds} stands for what the kinds say"""
    example: str
    options: Tuple[Option, ...]
    kinds: str = ""
    """the package below this one whose modules are the kinds; empty: it has none"""


PLATFORM = Option("platform", "platform file, or the name of one, instead of the workload's", "P.yaml")
SET = Option("set", "override a key of the workload, or of its platform as platform.KEY; null takes it out", "key.path=value", repeatable=True, takes="workload key")
SET_PLATFORM = Option("set", "override a key of the platform, such as platform.nodes=128", "KEY=VALUE", repeatable=True, takes="platform key")
JSON = Option("json", "print one JSON object on stdout")


def kinds_of(package: str) -> Dict[str, Kind]:
    """The kinds of a package below this one, by their names in the order of the alphabet."""
    folder = importlib.import_module(f"meshsim.tools.{package}")
    modules = [importlib.import_module(f"{folder.__name__}.{found.name}") for found in pkgutil.iter_modules(folder.__path__)]
    kinds = [module.KIND for module in modules if hasattr(module, "KIND")]
    return {kind.usage.split()[0]: kind for kind in sorted(kinds, key=lambda kind: kind.usage)}


def module_of(name: str) -> str:
    """The module of a command or kind: a name that Python keeps for itself gets an underscore."""
    return name.replace("-", "_") + ("_" if keyword.iskeyword(name) else "")


def _options(command: Command, kinds: Sequence[Kind]) -> List[Dict[str, Any]]:
    """All options, each once, with the numbers of the kinds that take it: none where all do."""
    takers: Dict[Option, List[int]] = {}
    for number, kind in enumerate(kinds):
        for option in kind.options:
            takers.setdefault(option, []).append(number)
    return [{**asdict(option), "kinds": takers.get(option, [])} for option in [*command.options[:1], *takers, *command.options[1:]]]


def describe(name: str) -> Dict[str, Any]:
    """One command."""
    command: Command = importlib.import_module(f"meshsim.tools.{module_of(name)}").COMMAND
    kinds = list(kinds_of(command.kinds).values()) if command.kinds else []
    row = asdict(command)
    row.update(name=name, about=command.about.replace("{kinds}", " ".join(kind.about for kind in kinds if kind.about)), options=_options(command, kinds),
               kinds=[{key: value for key, value in asdict(kind).items() if key not in ("options", "about")} for kind in kinds])
    return row


def text() -> str:
    """All commands as JSON."""
    return json.dumps({"commands": [describe(name) for name in COMMANDS]}, indent=1, ensure_ascii=False) + "\n"
