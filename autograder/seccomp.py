"""System calls that a worker may not make, as a filter of the kernel. Loaded in the zygote; needs no library, no root.

A list of what is denied, not of what is allowed: numpy, torch and the C library change their calls between versions,
and a list of what is allowed would break honest students. A denied call fails with an error number, it does not kill:
an honest mistake gets a readable Python exception. Each row says why.

The filter is classic BPF over ``struct seccomp_data``: number, architecture, instruction pointer, six arguments.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from dataclasses import dataclass
from functools import cache

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW = 0x7FFF0000
ERRNO = 0x00050000
X32_BIT = 0x40000000
CLONE_THREAD = 0x00010000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_SOME_PID = 0x5EA1ED00  # stands for the worker's in the prepared program: larger than any pid
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name: (x86_64, aarch64); None where that architecture has no such call
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    # the network, in and out, whatever the family; the worker's own socket was made before
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    # a second way to make every other call
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # other programs and processes: nothing may outlive the worker
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
    # other processes' memory, descriptors and fate; in the rootless rung they have our uid
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "kcmp": (312, 272),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "setpriority": (141, 140),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # memory and queues that other processes can find by a number
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    # keyrings outlive a process and cross to others of its uid
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    # watching for the moment at which results are written
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # rarely used corners of the kernel, where its bugs are
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "modify_ldt": (154, None),
    "ioperm": (173, None),
    "iopl": (172, None),
    "lookup_dcookie": (212, 18),
    "vhangup": (153, 58),
    "syslog": (103, 116),
}
# Calls that honest code needs, denied for certain arguments only.
_CLONE, _CLONE3 = (56, 220), (435, 435)
_KILL, _TGKILL, _PRLIMIT, _SET_AFFINITY = (62, 129), (234, 131), (302, 261), (203, 122)
_FCNTL, _IOCTL = (72, 25), (16, 29)
# A socket's owner gets a signal, of the caller's choice, when data arrives: a second kill(). F_NOTIFY watches a folder.
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _F_NOTIFY = 8, 10, 15, 1026
_FIOSETOWN, _SIOCSPGRP = 0x8901, 0x8902
_TIOCSTI = 0x5412  # types on a terminal


def install(pid: int) -> None:
    """Filter this thread's calls, and those of the threads it will start, for good.

    Args:
        pid: of this process: it may signal itself and nobody else.

    Raises:
        OSError: the kernel has no such filters, or the architecture is not known here.
    """
    program = _bytes().replace(struct.pack("I", _SOME_PID), struct.pack("I", pid))
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code)))
    prctl = _libc().prctl
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


def prepare() -> None:
    """Make the filter, which is the same in every worker, before a fork. Raises OSError as ``install`` does."""
    _bytes()
    _libc()


@cache
def _bytes() -> bytes:
    return b"".join(_program(_SOME_PID))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class _Rule:
    """Deny a call with ``error``.

    Attributes:
        argument: its position, where the call is not denied whatever its arguments.
        mask: which bits of it count.
        allowed: with any other value the call is denied; empty when ``denied`` says which.
        denied: with any other value the call is allowed.
    """

    number: int
    error: int = errno.EPERM
    argument: int | None = None
    mask: int = 0xFFFFFFFF
    allowed: tuple[int, ...] = ()
    denied: tuple[int, ...] = ()


def _rules(pid: int, column: int) -> list[_Rule]:
    rules = [_Rule(number) for row in NUMBERS.values() if (number := row[column]) is not None]
    return [
        *rules,
        _Rule(_CLONE3[column], errno.ENOSYS),  # its flags lie in memory; the C library falls back to clone
        _Rule(_CLONE[column], argument=0, mask=CLONE_THREAD, allowed=(CLONE_THREAD,)),  # threads yes, processes no
        _Rule(_KILL[column], argument=0, allowed=(pid,)),
        _Rule(_TGKILL[column], argument=0, allowed=(pid,)),  # abort() and threads signal their own group
        _Rule(_PRLIMIT[column], argument=0, allowed=(0, pid)),
        _Rule(_SET_AFFINITY[column], argument=0, allowed=(0, pid)),
        _Rule(_FCNTL[column], argument=1, denied=(_F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _F_NOTIFY)),
        _Rule(_IOCTL[column], argument=1, denied=(_FIOSETOWN, _SIOCSPGRP, _TIOCSTI)),
    ]


def _program(pid: int) -> list[bytes]:
    machine = platform.machine()
    if not sys.platform.startswith("linux") or machine not in _AUDIT_ARCH or sys.byteorder != "little":
        raise OSError(errno.ENOSYS, f"no system call numbers for {machine} on {sys.platform}")
    code = [
        _load(_ARCHITECTURE),
        _jump_equal(_AUDIT_ARCH[machine], 1, 0),
        _return(ERRNO | errno.EPERM),  # calls of another ABI have other numbers
        _load(_NUMBER),
    ]
    if machine == "x86_64":
        code += [_jump_at_least(X32_BIT, 0, 1), _return(ERRNO | errno.EPERM)]
    for rule in _rules(pid, 0 if machine == "x86_64" else 1):
        block = [_return(ERRNO | rule.error)]
        if rule.argument is not None:
            # the low half of the argument: pids, flags and commands have 32 bits
            load = [_load(_ARGUMENTS + 8 * rule.argument), _and(rule.mask)]
            values = rule.allowed or rule.denied
            tests = [_jump_equal(value, len(values) - index, 0) for index, value in enumerate(values)]
            ends = [_return(ERRNO | rule.error), _return(ALLOW)]
            block = [*load, *tests, *(ends if rule.allowed else reversed(ends))]
        code += [_jump_equal(rule.number, 0, len(block)), *block]
    return [*code, _return(ALLOW)]


def _load(offset: int) -> bytes:
    return struct.pack("HBBI", 0x20, 0, 0, offset)


def _and(mask: int) -> bytes:
    return struct.pack("HBBI", 0x54, 0, 0, mask)


def _jump_equal(value: int, then: int, otherwise: int) -> bytes:
    return struct.pack("HBBI", 0x15, then, otherwise, value)


def _jump_at_least(value: int, then: int, otherwise: int) -> bytes:
    return struct.pack("HBBI", 0x35, then, otherwise, value)


def _return(action: int) -> bytes:
    return struct.pack("HBBI", 0x06, 0, 0, action)
