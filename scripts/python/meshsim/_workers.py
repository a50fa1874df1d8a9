"""The caller's side of worker processes.

Workers are started anew (fork and exec of the interpreter), not forked from this one, whose threads would not come along. multiprocessing's "spawn"
would do that too, but imports the caller's script again, which a script without `if __name__ == "__main__"` does not survive.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Set, Tuple, TypeVar

from . import _messages
from ._errors import LibraryError, WorkerError

Answer = Tuple[int, bytes, str]
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def _variables() -> Dict[str, str]:
    """Environment variables of a worker. It starts in another folder than its caller, so a relative MESHSIM_LIBRARY is made absolute."""
    named = os.environ.get("MESHSIM_LIBRARY")
    return dict(os.environ, MESHSIM_LIBRARY=os.path.abspath(named)) if named else dict(os.environ)


class Worker:
    """A process that runs command lines one after the other."""

    def __init__(self, version: str):
        # in "/", where only root writes: Python, LD_LIBRARY_PATH and PATH may search the current folder
        start = Path(__file__).resolve().parent / "_start.py"
        self.process = subprocess.Popen([sys.executable, "-I", str(start), version], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=_variables(), cwd="/", start_new_session=True)
        assert self.process.stdin and self.process.stdout
        self._requests, self._answers = self.process.stdin, self.process.stdout
        with _lock:
            _alive.add(self)
        reason = self._receive()
        if reason is not None:
            self.end()
            raise LibraryError(reason)

    def _receive(self) -> Any:
        """The next answer, or WorkerError when the process is gone."""
        try:
            answer = _messages.receive(self._answers.fileno())
        except (OSError, ValueError):  # closed from another thread
            answer = _messages.CLOSED
        if answer is _messages.CLOSED:
            self.end()
            raise WorkerError(f"a worker process died, with status {self.process.returncode}")
        return answer

    def perform(self, words: List[str]) -> Answer:
        """Status, standard output and standard error of a command line, in the caller's folder and with its MESHSIM_ variables."""
        variables = {name: value for name, value in os.environ.items() if name.startswith("MESHSIM_")}
        with contextlib.suppress(OSError, ValueError):  # then there is no answer either
            _messages.send(self._requests.fileno(), (words, os.getcwd(), variables))
        status, printed, said = self._receive()
        return status, printed, said

    def end(self) -> None:
        """End the process and what it runs."""
        with _lock:
            is_first = self in _alive
            _alive.discard(self)
        with contextlib.suppress(ProcessLookupError):
            if is_first:
                os.killpg(self.process.pid, signal.SIGTERM)  # a group of its own
        self.process.wait()

    def close(self) -> None:
        """Let go of its pipes, once no thread uses them."""
        self._requests.close()
        self._answers.close()


_lock = threading.Lock()
_alive: Set[Worker] = set()
_idle: "queue.SimpleQueue[Worker]" = queue.SimpleQueue()


def _take() -> Worker:
    """A worker that waits, or a new one."""
    from . import __version__
    try:
        while True:
            worker = _idle.get_nowait()
            if worker.process.poll() is None:
                return worker
            worker.end()
            worker.close()
    except queue.Empty:
        return Worker(__version__)


def perform(words: List[str]) -> Answer:
    """Run a command line in a worker, which is kept for the next one."""
    worker = _take()
    try:
        answer = worker.perform(words)
    except BaseException:  # interrupted, too: what it runs is nobody's any more
        worker.end()
        worker.close()
        raise
    _idle.put(worker)
    return answer


def map_over(task: Callable[[Item], Outcome], items: Iterable[Item], jobs: int) -> List[Outcome]:
    """`task` of each item, `jobs` at once, in order; the first exception, and an interrupt, end all."""
    with ThreadPoolExecutor(max_workers=jobs) as threads:
        futures = [threads.submit(task, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException as error:
            for future in futures:
                future.cancel()
            if not isinstance(error, Exception):
                shut_down()  # an interrupt: the threads, which wait for workers, come to their end with them
            raise


def shut_down() -> None:
    """End all worker processes; the next call starts new ones."""
    with _lock:
        workers = list(_alive)
    for worker in workers:
        worker.end()


def _forget() -> None:
    """In a process that was forked from this one: the workers are its parent's."""
    global _lock, _idle
    _lock, _idle = threading.Lock(), queue.SimpleQueue()
    _alive.clear()


atexit.register(shut_down)
os.register_at_fork(after_in_child=_forget)
