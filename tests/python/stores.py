"""Watching processes that keep what they find in a store."""

import hashlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

WAIT_S = 60  # for what a slow disk holds up: rows are flushed, and whoever reads waits for it


def digest_of(row):
    """The digest of a row, as workloads/studies/README.md says it; row: columns by name, in their order."""
    cells = bytearray()
    for name, value in row.items():
        if name not in ("digest", "rowid") and value is not None:
            text = (value if isinstance(value, str) else f"{value:.17g}" if isinstance(value, float) else str(value)).encode()
            cells += f"{name} {len(text)}\n".encode() + text + b"\n"
    return hashlib.sha256(cells).hexdigest()


def commits(store):
    """How often a store was written, of its header, which needs no lock that its writer would have to wait for, or would keep from us."""
    try:
        with open(store, "rb") as file:
            return int.from_bytes(file.read(28)[24:], "big")
    except FileNotFoundError:
        return 0


def await_rows(process, store, more):
    """Wait until a process has opened its store, which is one commit, and put rows into it `more` times; whether it still runs."""
    goal = commits(store) + 1 + more
    end = time.monotonic() + WAIT_S
    while process.poll() is None and commits(store) < goal:
        if time.monotonic() > end:
            process.kill()
            raise AssertionError(f"no row in {WAIT_S} s")
        time.sleep(0.002)
    return process.poll() is None


def kill_one(process, draw, is_worker):
    """Kill -9 a process, or one that simulates for it, at a moment that `draw` draws; then it has ended, either way."""
    time.sleep(draw.uniform(0, 0.02))
    if is_worker:
        workers = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False)
        for pid in workers.stdout.split()[:1]:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass  # it was done
    else:
        process.kill()
    process.communicate(timeout=WAIT_S)


def as_another_user(program, folder):
    """How to start a program as somebody who may write nothing: options of Popen, and what is to be read in `folder`.

    Root, whom no mode stops, becomes nobody, who may not enter the folder of the program and of the workloads."""
    if os.getuid() != 0:
        return {}
    nobody = 65534
    root = Path(__file__).resolve().parent.parent.parent
    copy = shutil.copy(program, folder / "meshsim")
    shutil.copytree(root / "platforms", folder / "platforms")
    (folder / "workloads").mkdir()
    shutil.copy(root / "workloads" / "tiny.yaml", folder / "workloads")
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    return {"executable": copy, "user": nobody, "cwd": "/", "env": dict(os.environ, MESHSIM_DATA=str(folder))}
