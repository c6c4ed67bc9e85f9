"""Attempts at what a confined worker must not be able to do. Each returns True when it got through.

Runs as student code, in a real worker, and imports nothing of ours.
"""

from __future__ import annotations

import os
import socket
import tempfile


def read(path: str) -> bool:
    """Read a file, or list a folder."""
    try:
        if os.path.isdir(path):
            os.listdir(path)
        else:
            with open(path, "rb") as file:
                file.read(1)
    except OSError:
        return False
    return True


def write(folder: str) -> bool:
    """Make a file in a folder."""
    path = os.path.join(folder, f"canary-{os.getpid()}")
    try:
        with open(path, "wb"):
            pass
        os.unlink(path)
    except OSError:
        return False
    return True


def network() -> bool:
    """Have an internet socket at all."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    except OSError:
        return False
    return True


def signal(pid: int) -> bool:
    """Send a signal, the harmless one, to a process of ours."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def memory(pid: int) -> bool:
    """Look into the memory, or the environment, of a process of ours."""
    for name in ("mem", "environ", "maps"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                file.read(0)
        except OSError:
            continue
        return True
    return False


def owner(pid: int) -> bool:
    """Give a process of ours the signals of a socket: sent by the kernel, whoever may not send them himself."""
    import fcntl

    left, right = socket.socketpair()
    with left, right:
        try:
            fcntl.fcntl(left, fcntl.F_SETOWN, pid)
        except OSError:
            return False
    return True


def fork() -> bool:
    """Have a second process."""
    try:
        child = os.fork()
    except OSError:
        return False
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def execute() -> bool:
    """Become another program. Does not come back when it gets through: the worker's end says so."""
    try:
        os.execv("/bin/true", ["true"])
    except OSError:
        return False


def root() -> bool:
    """Be root, or become it."""
    if os.name != "posix":
        return False
    try:
        os.setresuid(0, 0, 0)
    except OSError:
        pass
    return os.geteuid() == 0 or len(set(os.getresuid())) > 1


def environment() -> list[str]:
    """The names of all environment variables."""
    return sorted(os.environ)


def work() -> bool:
    """What honest code needs: numpy, threads' locks, and a file in the current folder."""
    import numpy as np

    with tempfile.TemporaryFile(dir=".") as file:
        file.write(b"scratch")
    return bool(np.isclose((np.eye(3) @ np.arange(3.0)).sum(), 3.0))
