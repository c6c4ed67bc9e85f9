"""Confine a worker before it touches student code. Loaded in the zygote and its workers.

Theory of operation. The trusted process (root, where there is root) starts a zygote by *exec*, before it has read
anything secret. The zygote imports numpy and never runs student code. For each test it forks a worker; the worker
calls ``confine`` and only then imports the student's package. So the student's code has a uid of its own that owns
nothing but a scratch folder, cannot signal, trace or read any process of ours, and ends with its test: the zygote
kills every process of that uid. The order below is the security argument: limits while we may still raise them, the
out-of-memory score while /proc is still ours, groups before gid before uid, then what needs no root and only ever
takes away: the file system (Landlock), the system calls (seccomp); and the parent-death signal last, since a change of
uid clears it. What a kernel does not have is reported, not raised: ``canaries`` decides whether the rest is enough.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from . import landlock, seccomp

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
MiB = 1 << 20
MAX_FILE = 16 * MiB
MAX_THREADS = 64  # and processes, of the worker's uid
MAX_OPEN_FILES = 128
LEAST_IDS = 4096  # a run needs some hundred, and those of the system are to stay out of it


@dataclass(frozen=True)
class Cell:
    """What one worker gets.

    Attributes:
        uid: user and group id of its own; None to keep ours (no root).
        memory: MiB of address space.
        cpu: seconds of processor time.
        readable: what it may read, with all below: everything else is closed where the kernel has Landlock.
        writable: what it may write to.
    """

    uid: int | None
    memory: int
    cpu: int
    readable: Sequence[str] = ()
    writable: Sequence[str] = ()


@dataclass(frozen=True)
class Confinement:
    """What a worker got.

    Attributes:
        own_user: a user of its own.
        filtered: system calls are filtered: no network, no other process.
        landlock: ABI of the Landlock that closes the file system; 0 for none.
    """

    own_user: bool = False
    filtered: bool = False
    landlock: int = 0


def confine(cell: Cell, parent: int) -> Confinement:
    """Confine this process, whose parent is ``parent``, as far as this machine allows.

    Raises:
        OSError: a step failed that works everywhere: better no worker than a free one.
    """
    limits = [
        (resource.RLIMIT_AS, cell.memory * MiB),
        (resource.RLIMIT_FSIZE, MAX_FILE),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ]
    if cell.uid is not None:
        limits.append((resource.RLIMIT_NPROC, MAX_THREADS))  # counted by uid: ours has other processes
    for which, value in limits:
        resource.setrlimit(which, (value, value))
    resource.setrlimit(resource.RLIMIT_CPU, (cell.cpu, cell.cpu + 1))
    _be_killed_first_when_memory_runs_out()
    os.umask(0o077)
    if cell.uid is not None:
        become(cell.uid)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    landlock_abi = _close_file_system(cell)
    filtered = _filter_system_calls()
    die_with(parent)
    return Confinement(cell.uid is not None, filtered, landlock_abi)


def prepare_filter() -> None:
    """Make the filter of system calls once, before a fork: it is the same for every worker."""
    with suppress(OSError):  # the worker will report it
        seccomp.prepare()


def _close_file_system(cell: Cell) -> int:
    try:
        return landlock.restrict(cell.readable, cell.writable)
    except OSError:
        return 0


def _filter_system_calls() -> bool:
    try:
        seccomp.install(os.getpid())
    except OSError:
        return False
    return True


def become(uid: int) -> None:
    """Be this user and nobody else, for good.

    Raises:
        OSError: the user is root, the kernel refuses, or it says afterwards that we are somebody else.
    """
    if uid <= 0:  # 0 is root, and -1 means "leave it as it is"
        raise PermissionError(f"a worker cannot be user {uid}")
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    ids = {*os.getresuid(), *os.getresgid(), *os.getgroups()}
    if ids != {uid}:
        raise PermissionError(f"this process should be user {uid}, it is {sorted(ids)}")


def can_change_uid() -> bool:
    """Whether workers can get a uid of their own here: root, in a namespace that maps more users than itself."""
    return hasattr(os, "geteuid") and os.geteuid() == 0 and mapped_ids() >= LEAST_IDS


def mapped_ids() -> int:
    """How many ids this user namespace has, users or groups: 1 where only root is mapped, 2**32 outside of any."""
    counts = [1 << 32]
    for name in ("uid_map", "gid_map"):
        try:
            with open(f"/proc/self/{name}", encoding="ascii") as file:
                counts.append(max(int(first) + int(count) for first, _, count in (line.split() for line in file)))
        except (OSError, ValueError):
            pass  # no such file: no namespaces
    return min(counts)


def die_with(parent: int) -> None:
    """Be killed when the parent dies, even by SIGKILL."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


def hide_from_others() -> None:
    """No other process of this uid may read this one's memory or environment."""
    prctl(PR_SET_DUMPABLE, 0)


def _load_prctl() -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    function: Callable[..., int] = ctypes.CDLL(None, use_errno=True).prctl
    return function


_prctl = _load_prctl()  # looked up before the uid changes: loading may run helper programs


def prctl(option: int, value: int) -> None:
    """Linux's prctl; nothing elsewhere."""
    if _prctl is not None and _prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def _be_killed_first_when_memory_runs_out() -> None:
    try:
        file = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        try:
            os.write(file, b"1000")
        finally:
            os.close(file)
    except OSError:
        pass  # no /proc, or not ours to write: the limit on address space still holds
