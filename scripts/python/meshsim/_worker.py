"""A worker process: loads the library once, then runs one command line after the other, each in a child of its own.

A simulation that runs out of memory or is interrupted ends its process, so each runs in a child; the worker has a single thread, which is what makes that safe.
Started by _start.py. Requests come and answers go as pickles through the standard input and output.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from typing import Dict, List, NamedTuple, Tuple

from . import _library
from ._messages import CLOSED, receive, send


class Request(NamedTuple):
    """What a caller wants to be run."""

    words: List[str]
    """behind the program's name"""
    folder: str
    """the current one"""
    variables: Dict[str, str]
    """of the environment"""


def become_program(library: ctypes.CDLL, request: Request, files: Tuple[int, int]) -> None:
    """In a child: be the program with these arguments, and end with its status."""
    status = 70
    try:
        os.chdir(request.folder)
        os.environ.update(request.variables)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(files[0], 1)
        os.dup2(files[1], 2)
        words = [b"meshsim", *map(os.fsencode, request.words)]
        status = library.ms_program_main(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None))
    except BaseException as error:
        os.write(files[1], f"meshsim: error: {error}\n".encode())
    finally:
        os._exit(status)


def wait(child: int, requests: int) -> int:
    """The status of a child; where the caller goes away meanwhile, both end."""
    try:
        watched = os.pidfd_open(child)
    except (AttributeError, OSError):  # an older kernel: then what runs goes on to its end
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    poll = select.poll()
    poll.register(watched, select.POLLIN)
    poll.register(requests, 0)  # POLLHUP alone
    while not any(file == watched for file, _ in poll.poll()):
        os.kill(child, signal.SIGTERM)
        os._exit(1)
    os.close(watched)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def contents(file: int) -> bytes:
    """All that was written to a memory file."""
    return os.pread(file, os.fstat(file).st_size, 0)


def perform(library: ctypes.CDLL, request: Request, requests: int) -> Tuple[int, bytes, str]:
    """Status (negative: the signal that killed it), standard output and standard error of a command line."""
    files = (os.memfd_create("stdout"), os.memfd_create("stderr"))
    child = os.fork()
    if child == 0:
        become_program(library, request, files)
    status = wait(child, requests)
    answer = status, contents(files[0]), contents(files[1]).decode("utf-8", "replace")
    for file in files:
        os.close(file)
    return answer


def main() -> None:
    """Serve until the caller closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller hears it, and ends us
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(2, 1)  # what prints by accident does not get among the answers
    try:
        library, data = _library.load(sys.argv[1])
    except OSError as error:
        send(answers, error.args[0])
        return
    if data:
        os.environ.setdefault("MESHSIM_DATA", data)
    send(answers, None)
    while True:
        request = receive(requests)
        if request is CLOSED:
            return
        send(answers, perform(library, Request(*request), requests))
