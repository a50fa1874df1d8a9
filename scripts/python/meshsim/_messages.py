"""Messages between a caller and its workers: pickles, each behind its length."""

from __future__ import annotations

import os
import pickle
import struct
from typing import Any, Optional

_LENGTH = struct.Struct("<Q")
CLOSED = object()
"""What `receive` gives when the other side has closed."""


def _read_whole(file: int, count: int) -> Optional[bytes]:
    """So many bytes; None: fewer came before the end."""
    parts = []
    while count > 0:
        part = os.read(file, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def receive(file: int) -> Any:
    """The next message, or CLOSED."""
    head = _read_whole(file, _LENGTH.size)
    body = None if head is None else _read_whole(file, _LENGTH.unpack(head)[0])
    return CLOSED if body is None else pickle.loads(body)


def send(file: int, message: Any) -> None:
    """Write a message whole."""
    body = pickle.dumps(message)
    view = memoryview(_LENGTH.pack(len(body)) + body)
    while view:
        view = view[os.write(file, view):]
