"""What a worker may see of the file system, by the kernel's Landlock. Loaded in the zygote; needs no root.

Everything that is not named is closed: the worker reads the interpreter, the libraries, the engine's own files and
the student's package, and writes its scratch folder. From ABI 4 on TCP is closed as well, from ABI 6 on signals and
abstract sockets do not leave the worker.

Kernel documentation: userspace-api/landlock. Its three system calls have the same numbers on every architecture.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
# access rights, in the kernel's order
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_ALL_OF_ABI_1 = (1 << 13) - 1
_ON_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_TCP_BIND, _TCP_CONNECT = 1 << 0, 1 << 1
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1
READ = _EXECUTE | _READ_FILE | _READ_DIR

_libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None


def version() -> int:
    """The kernel's Landlock ABI; 0 where there is none."""
    if _libc is None:
        return 0
    abi: int = _libc.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION_FLAG)
    return max(0, abi)


def restrict(readable: Iterable[str], writable: Iterable[str]) -> int:
    """Close the file system to this process for good, but for these paths and what lies below them.

    Needs no_new_privs. A path that does not exist is passed over.

    Returns:
        The ABI that holds now.

    Raises:
        OSError: the kernel has no Landlock.
    """
    abi = version()
    if abi < 1 or _libc is None:
        raise OSError("landlock: not in this kernel")
    everything = _ALL_OF_ABI_1
    for least, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        everything |= right if abi >= least else 0
    net = _TCP_BIND | _TCP_CONNECT if abi >= 4 else 0
    scope = _ABSTRACT_SOCKETS | _SIGNALS if abi >= 6 else 0
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = _checked(_libc.syscall(_CREATE, struct.pack("QQQ", everything, net, scope), ctypes.c_size_t(size), 0))
    try:
        for path in readable:
            _allow(rules, path, READ)
        for path in writable:
            _allow(rules, path, everything & ~_EXECUTE)
        _checked(_libc.syscall(_RESTRICT, rules, 0))
    finally:
        os.close(rules)
    return abi


def _allow(rules: int, path: str, rights: int) -> None:
    assert _libc is not None
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _ON_A_FILE
        _checked(_libc.syscall(_ADD, rules, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0))
    finally:
        os.close(descriptor)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"landlock: {os.strerror(number)}")
    return result
