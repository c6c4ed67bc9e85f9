"""The filter of system calls: what it says of every call, in an interpreter of its programs, and what the kernel does.

The interpreter covers both architectures, also the one that this machine does not have. The kernel is asked in a child
that is another user and that tries nothing before the kernel says that a filter is on.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import struct
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

from autograder import seccomp
from tests.staff.links import open_folder

ROOT = Path(__file__).parents[2]
UID = (1 << 30) + 4242
PID = 12345  # of the process that the interpreted programs are made for
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386 = 0x40000003
REFUSED = seccomp.ERRNO | errno.EPERM
HIGH = 0xFFFF_FFFF_0000_0000  # what the kernel ignores of a 32-bit argument


def program(monkeypatch: pytest.MonkeyPatch, machine: str) -> list[bytes]:
    """The filter as it would be made on a machine of this architecture."""
    monkeypatch.setattr(platform, "machine", lambda: machine)
    return seccomp._program(PID)


def verdict(code: Sequence[bytes], architecture: int, number: int, arguments: Sequence[int] = ()) -> int:
    """What a filter says of a call: an interpreter of the five instructions that ours have."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    place = accumulator = 0
    while True:
        operation, then, otherwise, value = struct.unpack("HBBI", code[place])
        place += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif operation == 0x54:
            accumulator &= value
        elif operation == 0x15:
            place += then if accumulator == value else otherwise
        elif operation == 0x35:
            place += then if accumulator >= value else otherwise
        else:
            assert operation == 0x06
            return int(value)


# What the program says, on both architectures.


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize("call", seccomp.NUMBERS)
def test_every_row_is_refused(monkeypatch: pytest.MonkeyPatch, machine: str, call: str) -> None:
    """A call of the table fails with EPERM whatever its arguments; one that an architecture lacks is passed over."""
    number = seccomp.NUMBERS[call][list(ARCHITECTURES).index(machine)]
    if number is None:
        assert machine == "aarch64"  # which left out what older calls do
        return
    code = program(monkeypatch, machine)
    for arguments in ((0,) * 6, (PID,) * 6, (2**64 - 1,) * 6):
        assert verdict(code, ARCHITECTURES[machine], number, arguments) == REFUSED


THREAD, PROCESS = 0x3D0F00, 0x1200011  # what the C library passes to clone for a thread, and for a fork
BY_ARGUMENT = {
    "thread": ("_CLONE", (THREAD,), True),
    "fork": ("_CLONE", (PROCESS,), False),
    "fork-with-high-bits": ("_CLONE", (PROCESS | 1 << 48,), False),
    "kill-itself": ("_KILL", (PID, 6), True),
    "kill-another": ("_KILL", (PID + 1, 0), False),
    "kill-everybody": ("_KILL", (2**64 - 1, 9), False),
    "kill-its-group": ("_KILL", (0, 9), False),
    "kill-with-high-bits": ("_KILL", (HIGH | PID + 1, 9), False),
    "abort": ("_TGKILL", (PID, PID, 6), True),
    "signal-a-thread-of-another": ("_TGKILL", (PID + 1, PID + 1, 6), False),
    "own-limits": ("_PRLIMIT", (0, 7), True),
    "own-limits-by-pid": ("_PRLIMIT", (PID, 7), True),
    "limits-of-another": ("_PRLIMIT", (PID + 1, 7), False),
    "own-processors": ("_SET_AFFINITY", (0, 8), True),
    "processors-of-another": ("_SET_AFFINITY", (PID + 1, 8), False),
    "close-on-exec": ("_FCNTL", (3, 2, 1), True),
    "flags": ("_FCNTL", (3, 4, 0o4000), True),
    "lock": ("_FCNTL", (3, 6, 0), True),
    "owner": ("_FCNTL", (3, 8, PID + 1), False),
    "owner-with-high-bits": ("_FCNTL", (3, HIGH | 8, PID + 1), False),
    "owner-by-pointer": ("_FCNTL", (3, 15, 0), False),
    "signal-of-the-owner": ("_FCNTL", (3, 10, 9), False),
    "watch-a-folder": ("_FCNTL", (3, 1026, 1), False),
    "is-a-terminal": ("_IOCTL", (1, 0x5401, 0), True),
    "owner-by-ioctl": ("_IOCTL", (3, 0x8901, 0), False),
    "group-by-ioctl": ("_IOCTL", (3, 0x8902, 0), False),
    "type-on-a-terminal": ("_IOCTL", (0, 0x5412, 0), False),
}
BY_ARGUMENT_NAMES = {name for name, _, _ in BY_ARGUMENT.values()}


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize(("name", "arguments", "allowed"), BY_ARGUMENT.values(), ids=BY_ARGUMENT)
def test_arguments_decide(
    monkeypatch: pytest.MonkeyPatch, machine: str, name: str, arguments: tuple[int, ...], allowed: bool
) -> None:
    """A thread yes, a process no; oneself yes, another no; a file's flags yes, its owner no."""
    number = getattr(seccomp, name)[list(ARCHITECTURES).index(machine)]
    answer = verdict(program(monkeypatch, machine), ARCHITECTURES[machine], number, arguments)
    assert answer == (seccomp.ALLOW if allowed else REFUSED)


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_clone3_does_not_exist(monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    """Its flags cannot be looked at: the C library is told that there is no such call, and takes clone."""
    answer = verdict(program(monkeypatch, machine), ARCHITECTURES[machine], 435, (0, 88))
    assert answer == seccomp.ERRNO | errno.ENOSYS


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_everything_else_is_allowed(monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    """A list of what is denied: no call beside it fails, known or not."""
    code, column = program(monkeypatch, machine), list(ARCHITECTURES).index(machine)
    by_argument = [value[column] for name, value in vars(seccomp).items() if name in BY_ARGUMENT_NAMES]
    denied = {row[column] for row in seccomp.NUMBERS.values()} | {435, *by_argument}
    for number in set(range(600)) - denied:
        assert verdict(code, ARCHITECTURES[machine], number) == seccomp.ALLOW, number


@pytest.mark.parametrize(
    ("machine", "architecture"),
    [("x86_64", I386), ("x86_64", ARCHITECTURES["aarch64"]), ("aarch64", 0x40000028), ("aarch64", 0)],
    ids=["i386", "other", "arm", "none"],
)
def test_calls_of_another_abi_are_refused(monkeypatch: pytest.MonkeyPatch, machine: str, architecture: int) -> None:
    """A 32-bit call has other numbers, so all of them fail, even one that would be harmless."""
    code = program(monkeypatch, machine)
    assert {verdict(code, architecture, number) for number in range(500)} == {REFUSED}


def test_calls_of_x32_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same architecture with a bit in the number: a second name of every call."""
    code = program(monkeypatch, "x86_64")
    for number in (0x40000000, 0x40000000 + 41, 0x40000000 + 520, 0xFFFFFFFF):
        assert verdict(code, ARCHITECTURES["x86_64"], number) == REFUSED


@pytest.mark.parametrize("column", [0, 1], ids=ARCHITECTURES)
def test_no_number_comes_twice(column: int) -> None:
    """Two names with one number are a slip of the pen: one of the two calls would be open."""
    special = [value[column] for name, value in vars(seccomp).items() if name in BY_ARGUMENT_NAMES]
    numbers = [number for row in seccomp.NUMBERS.values() if (number := row[column]) is not None]
    assert len({*numbers, *special, 435}) == len(numbers) + len(special) + 1
    assert all(0 <= number < 512 for number in numbers)


def test_new_calls_have_one_number() -> None:
    """From 424 on a call has the same number on every architecture, and only old calls are missing on one."""
    for call, (intel, arm) in seccomp.NUMBERS.items():
        assert intel is not None, call
        if intel >= 424 or (arm or 0) >= 424:
            assert intel == arm, call
    missing = {call for call, (_, arm) in seccomp.NUMBERS.items() if arm is None}
    assert missing == {"fork", "vfork", "inotify_init", "modify_ldt", "ioperm", "iopl"}


# A machine that has no such filter.


@pytest.mark.parametrize(
    ("machine", "system", "order"),
    [("riscv64", "linux", "little"), ("x86_64", "darwin", "little"), ("aarch64", "linux", "big")],
    ids=["architecture", "system", "byte-order"],
)
def test_machine_without_numbers_is_reported(
    monkeypatch: pytest.MonkeyPatch, machine: str, system: str, order: str
) -> None:
    """Where the numbers are not known nothing is installed, and the error says why."""
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(sys, "byteorder", order)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    seccomp._bytes.cache_clear()  # of this machine's
    with pytest.raises(OSError, match=f"no system call numbers for {machine} on {system}"):
        seccomp.install(PID)


def test_worker_on_an_unknown_machine_is_not_filtered_and_says_so() -> None:
    """A worker there starts all the same; what it reports decides its rung."""
    assert child("platform.machine = lambda: 'riscv64'; answer = filtered()") is False
    assert child("answer = filtered()") is True


# What the kernel does.

CHILD = """
    import ctypes, errno, json, os, platform, signal, socket, sys, threading
    from autograder import seccomp
    from autograder.confine import Cell, become, confine

    def filtered():
        return confine(Cell(uid, 2000, 20), os.getppid()).filtered

    def call(number, *arguments):
        libc = ctypes.CDLL(None, use_errno=True)
        return errno.errorcode.get(ctypes.get_errno()) if libc.syscall(number, *arguments) < 0 else "done"

    def seal():
        become(uid)
        seccomp.install(os.getpid())
        assert ctypes.CDLL(None).prctl(21, 0, 0, 0, 0) == 2  # the kernel says that a filter is on
"""


def child(source: str, *arguments: str) -> object:
    """The ``answer`` of a program that may become another user, and filter itself by ``seal``."""
    program = f"{textwrap.dedent(CHILD)}\nuid = {UID}\n{textwrap.dedent(source)}\nprint(json.dumps(answer), flush=True)"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_kernel_refuses_every_row() -> None:
    """Each call of the table, really made: EPERM. A number that the kernel does not have is refused alike."""
    column = 0 if platform.machine() == "x86_64" else 1
    numbers = {call: row[column] for call, row in seccomp.NUMBERS.items() if row[column] is not None}
    answers = child(
        f"""
        seal()
        # the arguments are such that a call that is let through does nothing
        answer = {{name: call(number, -1, 0, 0, 0, 0, 0) for name, number in {numbers!r}.items()}}
        """
    )
    assert answers == dict.fromkeys(numbers, "EPERM")


def test_unfiltered_calls_say_something_else() -> None:
    """Without the filter calls answer otherwise: the test above looks at the filter and not at the user."""
    column = 0 if platform.machine() == "x86_64" else 1
    numbers = [seccomp.NUMBERS[call][column] for call in ("connect", "bind", "listen", "accept")]
    assert child(f"become(uid); answer = [call(n, -1, 0, 0, 0) for n in {numbers!r}]") == ["EBADF"] * 4


REFUSALS = {
    "fork": "os.fork()",
    "internet": "socket.socket(socket.AF_INET)",
    "datagrams": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "unix": "socket.socket(socket.AF_UNIX)",
    "program": "os.execv('/bin/true', ['true'])",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "signal-the-parent": "os.kill(os.getppid(), 0)",
    "signal-everybody": "os.kill(-1, 0)",
    "signal-the-group": "os.killpg(0, 0)",
    "owner-of-a-socket": "fcntl.fcntl(socket.socketpair()[0], fcntl.F_SETOWN, os.getppid())",
    "signal-of-a-socket": "fcntl.fcntl(socket.socketpair()[0], fcntl.F_SETSIG, 9)",
    "limits-of-the-parent": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU)",
    "processors-of-the-parent": "os.sched_setaffinity(os.getppid(), {0})",
    "priority": "os.nice(1)",
}


def test_refusals_are_python_exceptions() -> None:
    """What students may try by mistake raises PermissionError: a name to search for, not a death by a signal."""
    answers = child(
        f"""
        import fcntl, resource
        seal()
        answer = {{}}
        for name, expression in {REFUSALS!r}.items():
            try:
                eval(expression)
                answer[name] = "done"
            except OSError as error:
                answer[name] = type(error).__name__
        """
    )
    assert answers == dict.fromkeys(REFUSALS, "PermissionError")


def test_clone3_is_unknown_to_the_kernel() -> None:
    """ENOSYS, and so the C library falls back."""
    assert child("seal(); answer = call(435, 0, 0)") == "ENOSYS"


def test_honest_code_makes_its_calls() -> None:
    """Threads, own limits, own signals, pipes, socket pairs, temporary files and numpy are as ever."""
    with open_folder() as folder:
        os.chown(folder, UID, UID)
        answers = child(HONEST, str(folder))
    assert answers == [3, True, 3, "x", 20.0, True]


HONEST = """
    import concurrent.futures, fcntl, resource, tempfile, time
    folder = sys.argv[1]
    seal()
    import numpy as np
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answer = [sum(pool.map(len, ["a", "bc"]))]
    answer.append(resource.prlimit(os.getpid(), resource.RLIMIT_CORE) == resource.getrlimit(resource.RLIMIT_CORE))
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
    caught = []
    signal.signal(signal.SIGUSR1, lambda number, frame: caught.append(number))
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR1)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
    answer.append(len(caught))
    left, right = socket.socketpair()
    left.sendall(b"x")
    left.setblocking(False)
    answer.append(right.recv(1).decode())
    fcntl.fcntl(left, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(dir=folder) as inner, open(inner + "/a", "w") as file:
        file.write("text")
    answer.append(float(np.linalg.svd(np.eye(20))[1].sum()))
    answer.append(np.random.default_rng(os.getrandom(4)[0]).random() < 1)
    time.sleep(0)
"""


@pytest.mark.parametrize("call", ["os.abort()", "signal.raise_signal(signal.SIGABRT)"], ids=["abort", "raise"])
def test_abort_ends_the_process_by_its_own_signal(call: str) -> None:
    """abort() signals its own thread by tgkill: a crash looks like one."""
    program = f"{textwrap.dedent(CHILD)}\nuid = {UID}\nseal()\n{call}"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False, timeout=60)
    assert done.returncode == -6


def test_filter_holds_for_threads() -> None:
    """A thread that is started later is filtered as well."""
    assert child(
        """
            seal()
            answer = []
            def attempt():
                try:
                    socket.socket()
                    answer.append("done")
                except PermissionError:
                    answer.append("refused")
            thread = threading.Thread(target=attempt)
            thread.start()
            thread.join()
            """
    ) == ["refused"]


def test_prepared_filter_is_that_of_the_process() -> None:
    """What is made before the fork is, with the worker's pid put in, what would be made after it."""
    prepared = seccomp._bytes().replace(struct.pack("I", seccomp._SOME_PID), struct.pack("I", PID))
    assert prepared == b"".join(seccomp._program(PID))
    assert seccomp._bytes().count(struct.pack("I", seccomp._SOME_PID)) == 4  # kill, tgkill, prlimit, sched_setaffinity
    assert seccomp._SOME_PID > 1 << 22  # the kernel's largest


def test_filter_is_small() -> None:
    """The kernel takes 4096 instructions at most, and every call runs through all of them."""
    assert len(seccomp._program(os.getpid())) < 512


def test_refused_filter_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that the kernel does not take is raised with its reason, and nothing holds."""
    monkeypatch.setattr(seccomp, "_bytes", lambda: struct.pack("HBBI", 0xFFFF, 0, 0, 0))
    with pytest.raises(OSError, match="seccomp: Invalid argument"):
        seccomp.install(PID)
