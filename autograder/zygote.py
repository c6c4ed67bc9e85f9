"""A program that imports numpy once and forks a worker for each test.

Started by *exec* in a clean interpreter, before the trusted process has read anything secret: a fork inherits its
memory. It never runs student code; it parses only requests of the trusted process, from a control socket whose
closing, even by SIGKILL of the trusted process, makes it kill every worker that lives and end.

Things that do not work: forking from the trusted process (its memory holds the tests); a thread pool of workers
(``fork`` with threads hangs in BLAS); ``kill`` by process group (a student's ``setsid`` leaves it).

Requests, one datagram each, JSON: ``{"do": "fork", ...}`` with the worker's socket attached, answered by
``{"pid": n}``; ``{"do": "sweep", "pid": n, "alone": true}``, answered by ``{"left": n}``; ``{"do": "settle"}``,
answered alike. An answer repeats its request's ``id``. It kills only what it forked.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # This file's folder must not be importable: a student's `import results` has no business there.
    sys.path[0] = sys.argv[1]

import gc
import json
import os
import signal
import socket
import time
from typing import Any

from autograder.confine import Cell, become

PRELOAD = (
    "bisect collections copy dataclasses fractions functools heapq importlib.util itertools math operator py_compile "
    "random re statistics string typing numpy numpy.linalg numpy.random autograder.worker"
).split()
# torch._dynamo is imported by the first optimiser: in every worker it would cost most of a second
PRELOAD_TORCH = ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch._dynamo")
NO_PROCESS = -1
SWEEP_SECONDS = 5.0  # a process of several GiB takes a while to die
MAX_REQUEST = 1 << 16


def main(control: socket.socket, torch: bool, given: str = "", package: str = "") -> None:
    """Serve requests until the control socket closes. On return no worker lives."""
    preload(torch, given, package)
    threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
    if threads != 1:
        raise RuntimeError(f"{threads} threads after the imports: a fork could hang")
    gc.collect()
    gc.disable()  # a collection in the parent would copy every page that a worker shares
    gc.freeze()
    control.send(json.dumps({"ready": os.getpid()}).encode())
    live: dict[int, int | None] = {}
    try:
        _serve(control, live)
    finally:
        for pid, uid in live.items():
            sweep(pid, uid)


def preload(torch: bool, given: str = "", package: str = "") -> None:
    """Import what workers need, before anything is closed to them, and do what is the same for all.

    Args:
        given: a folder that holds the package's given files and nothing else; empty for none.
        package: the package's name.
    """
    import importlib

    for name in (*PRELOAD, *(PRELOAD_TORCH if torch else ())):
        importlib.import_module(name)
    from autograder import worker

    if given:
        _preload_given(given, package, torch)
    worker.prepare()


def _preload_given(folder: str, package: str, torch: bool) -> None:
    """Import a package's given files once, instead of in every worker. No student's file lies beside them.

    So one that imports a student's file cannot be imported here, nor one whose library is not there: the worker will.
    So will it import one that asks where it lies: that is beside the student's files.
    """
    import importlib
    from contextlib import suppress

    from autograder.worker import NoTorch

    names = sorted(name.removesuffix(".py") for name in os.listdir(os.path.join(folder, package)))
    barriers: list[Any] = [_Refuses({name for name in names if _asks_where_it_lies(folder, package, name)}, package)]
    if not torch:
        barriers.append(NoTorch())
    sys.meta_path[:0] = barriers
    sys.path.insert(0, folder)
    for name in names:
        with suppress(Exception):
            importlib.import_module(package if name == "__init__" else f"{package}.{name}")
    sys.path.remove(folder)
    for barrier in barriers:
        sys.meta_path.remove(barrier)


def _asks_where_it_lies(folder: str, package: str, name: str) -> bool:
    with open(os.path.join(folder, package, f"{name}.py"), encoding="utf-8") as file:
        source = file.read()
    return any(word in source for word in ("__file__", "__path__", "__spec__", "importlib"))


class _Refuses:
    """A finder that has none of these modules, and lets nobody else have them."""

    def __init__(self, names: set[str], package: str) -> None:
        self._names = {package if name == "__init__" else f"{package}.{name}" for name in names}

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in self._names:
            raise ModuleNotFoundError("to be imported in a worker", name=name)


def _serve(control: socket.socket, live: dict[int, int | None]) -> None:
    """Fork and sweep on request; ``live`` holds what runs. Returns when the control socket closes."""
    from autograder import worker

    parent = os.getpid()
    while True:
        try:
            data, descriptors, _, _ = socket.recv_fds(control, MAX_REQUEST, 1)
        except OSError:
            data = b""
        if not data:
            return
        request: dict[str, Any] = json.loads(data)
        if request["do"] == "fork":
            try:
                pid = os.fork()
            except OSError:  # no memory or no process to be had now: that costs one test, not the run
                pid = NO_PROCESS
            if pid == 0:
                try:
                    control.close()
                    sock = socket.socket(fileno=descriptors[0])
                    worker.serve(sock, worker.Post(**request["post"]), Cell(**request["cell"]), parent)
                finally:
                    os._exit(1)  # a child must never go on as a zygote
            if pid != NO_PROCESS:
                live[pid] = request["cell"]["uid"]
            answer = {"pid": pid}
        elif request["do"] == "settle":
            answer = {"left": sum(sweep(pid, live.pop(pid)) for pid in list(live))}
        else:
            pid = request["pid"]
            answer = {"left": sweep(pid, live.pop(pid), request["alone"]) if pid in live else 0}
        for descriptor in descriptors:
            os.close(descriptor)
        try:
            control.send(json.dumps({**answer, "id": request.get("id", 0)}).encode())
        except OSError:
            return


def sweep(pid: int, uid: int | None, alone: bool = False) -> int:
    """Kill a worker and everything else of its uid; wait until it is gone, SWEEP_SECONDS at most.

    Args:
        pid: of the worker.
        uid: of the worker, if it has one of its own.
        alone: the kernel let it start no other process, so there is nothing else to look for.

    Returns:
        How many processes of that uid are left: 0, or the sandbox is broken.
    """
    for kill in (os.kill, os.killpg):  # the worker leads a group of its own
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    _reap(pid)
    return 0 if uid is None or alone else sweep_user(uid)


def sweep_user(uid: int) -> int:
    """Kill every process of a worker's uid, and wait for SWEEP_SECONDS at most. Returns how many are left."""
    deadline = time.monotonic() + SWEEP_SECONDS
    while True:
        # first kill, then count: after the kill nothing of this uid can fork any more
        _kill_as(uid)
        left = _processes_of(uid)
        if left == 0 or time.monotonic() > deadline:
            return left


def _kill_as(uid: int) -> None:
    """Kill every process that this uid may signal, by a child that becomes it: no race with a fork bomb's pids."""
    child = os.fork()
    if child == 0:
        try:
            become(uid)  # raises rather than let root go on to the next line
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _reap(pid: int) -> None:
    """Wait for the killed worker, if it was not waited for yet."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass


def _processes_of(uid: int) -> int:
    """Live processes of a uid, zombies aside."""
    count = 0
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/status", encoding="ascii", errors="replace") as file:
                    status = file.read()
            except OSError:
                continue
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            if fields.get("Uid", "").split()[:1] == [str(uid)] and not fields.get("State", "").startswith("Z"):
                count += 1
    return count


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[2])), sys.argv[3] == "torch", *sys.argv[4:])
