"""From Python's values to what a command line and a YAML file take."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Iterator, List, Mapping, Optional, Union

Spec = Union[str, "os.PathLike[str]", Mapping[str, Any]]
_PLAIN = re.compile(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?( ?%)?")  # numbers, which meshsim takes without quotes only


def yaml_of(value: Any) -> str:
    """A value in YAML's flow style, which is JSON but for shares such as "5 %"."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {yaml_of(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(yaml_of, value)) + "]"
    if hasattr(value, "item"):  # of numpy
        return yaml_of(value.item())
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
    return json.dumps(value)


def settings_of(settings: Optional[Mapping[str, Any]], overrides: Mapping[str, Any]) -> List[str]:
    """`--set` words of {"mesh.tp": 4}, and of keywords, in which two underscores stand for the point: mesh__tp=4."""
    every = dict(settings or {}, **{key.replace("__", "."): value for key, value in overrides.items()})
    return [word for key, value in every.items() for word in ("--set", f"{key}={yaml_of(value)}")]


def options_of(options: Mapping[str, Any]) -> List[str]:
    """Command-line words of keywords: p=8 is `-p 8`, memory_cap="60GiB" `--memory-cap 60GiB`, whatif=True `--whatif`, a list stands several times."""
    words: List[str] = []
    for name, value in options.items():
        option = f"-{name}" if len(name) == 1 else "--" + name.replace("_", "-")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            words += [] if item is None or item is False else [option] if item is True else [option, str(item)]
    return words


def path_of(path: Union[str, "os.PathLike[str]"]) -> str:
    """A path as a word of a command line that is never taken for an option, even if it begins with '-'."""
    word = os.fspath(path)
    return os.path.join(".", word) if word.startswith("-") else word


@contextlib.contextmanager
def file_of(spec: Spec) -> Iterator[str]:
    """The path of a workload: its own, or, of a mapping or a text of several lines, that of a temporary file."""
    if isinstance(spec, Mapping):
        text = yaml_of(spec) + "\n"
    elif isinstance(spec, str) and "\n" in spec:
        text = spec
    else:
        yield path_of(spec)
        return
    with tempfile.TemporaryDirectory(prefix="meshsim-") as folder:
        path = Path(folder) / "spec.yaml"
        path.write_text(text, encoding="utf-8")
        yield str(path)
