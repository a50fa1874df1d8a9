"""What can go wrong, a class for each exit status of the program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Optional

_FAULT = re.compile(r"^(?! *\d* \| )(?:meshsim|(?P<file>[^\n]*?)(?::(?P<line>\d+)(?::(?P<column>\d+))?)?): error: (?:(?P<key>[\w.\[\]-]+): )?(?P<message>.*)$", re.M)
_EXPECTED = re.compile(r"expected (?P<expected>.*?)(?:, got (?P<got>.*?))?(?:;|$)")


@dataclass(frozen=True)
class Diagnostic:
    """A fault of an input, as the program tells it."""

    message: str
    """what is wrong, in one line"""
    file: Optional[str] = None
    """the file it stands in; None: no file says it"""
    line: Optional[int] = None
    """from 1 on"""
    column: Optional[int] = None
    """from 1 on, in characters"""
    key: Optional[str] = None
    """dotted path of the key, such as "mesh.tp" """

    @property
    def expected(self) -> Optional[str]:
        """What would have been right, where the message says so."""
        found = _EXPECTED.search(self.message)
        return found.group("expected") if found else None

    @property
    def got(self) -> Optional[str]:
        """What stood there, where the message says so."""
        found = _EXPECTED.search(self.message)
        return found.group("got") if found else None


def read_diagnostics(text: str) -> List[Diagnostic]:
    """The faults in what the program wrote to its standard error."""
    def number(text: Optional[str]) -> Optional[int]:
        return None if text is None else int(text)

    return [Diagnostic(found["message"], found["file"], number(found["line"]), number(found["column"]), found["key"])
            for found in _FAULT.finditer(text)]


class MeshsimError(Exception):
    """Something went wrong. `str()` is what the program prints: place, key, what was expected, what came, and the line with a caret."""

    status: Optional[int] = None
    """exit status of the program; None: it did not come to that"""

    def __init__(self, text: str, status: Optional[int] = None):
        super().__init__(text.rstrip("\n"))
        self.status = status
        self.diagnostics = read_diagnostics(text)


class UsageError(MeshsimError):
    """A call makes no sense (exit status 2)."""


class InputError(MeshsimError):
    """A workload, a platform or a setting is wrong (exit status 3)."""


class FileError(MeshsimError):
    """The system refused to read or write, or had no memory left (exit status 4)."""


class BugError(MeshsimError):
    """meshsim broke one of its own rules (exit status 70), or crashed."""


class Interrupted(MeshsimError):
    """A signal ended the simulation (exit status 128 + its number)."""


class LibraryError(MeshsimError):
    """There is no libmeshsim.so, or one of another version."""


class WorkerError(MeshsimError):
    """A worker process died, or could not be started."""


_BY_STATUS = {2: UsageError, 3: InputError, 4: FileError}


def error_of(status: int, text: str) -> MeshsimError:
    """The exception that an exit status stands for."""
    kind = _BY_STATUS.get(status, Interrupted if 128 < status < 192 else BugError)
    return kind(text or f"meshsim ended with status {status}", status)
