"""Workers for tests: starts the zygotes, gives each test a ``Student`` over a socket, kills and sweeps afterwards.

Trusted; never imports torch. One zygote has numpy, a second has torch too and starts with the first test that needs
it. Where forking is not safe each worker is a program of its own instead (``Fresh``). Invariants: a worker serves one
test; when ``Pool.open`` is left nothing of its uid runs and its scratch folder is gone; when ``Pool.close`` returns no
zygote runs.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from . import canaries, fresh, wire
from .canaries import Isolation
from .confine import Cell, Confinement, can_change_uid, mapped_ids
from .deadlines import Deadlines
from .feedback.assignment import Assignment, Item
from .feedback.errors import Ended, GraderError, InputError, Late, StudentError
from .feedback.handles import Student
from .feedback.values import Flat, Refused, unflatten
from .removal import remove_tree
from .worker import Post

ENGINE = Path(__file__).resolve().parent
START_SECONDS = 60.0  # importing torch on half a core takes several seconds
READY_SECONDS = 10.0
CONTROL_SECONDS = 15.0
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
TORCH_MISSING = Path(sys.prefix) / "torch-missing"  # left by setup.sh, with the reason
UIDS_PER_RUN = 512
WAYS = ("forked", "fresh")  # of $AUTOGRADER_WORKERS


# PYTHONHASHSEED: the order of a set of words is the same in every run. Nothing of our own environment.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", "HOME": "/", **THREADS}


@dataclass(frozen=True)
class Given:
    """A folder with a package's given files and nothing else, which a zygote imports for its workers."""

    folder: Path
    package: str


class Zygote:
    """The trusted side of one zygote process. Whoever has the control socket may use it: one after the other."""

    def __init__(self, torch: bool, given: Given | None = None) -> None:
        self.torch = torch
        self.given = "" if given is None else str(given.folder)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        packages = [] if given is None else [str(given.folder), given.package]
        with theirs:
            self.process = subprocess.Popen(
                [*_program("zygote.py"), str(theirs.fileno()), "torch" if torch else "numpy", *packages],
                pass_fds=[theirs.fileno()],
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # a Ctrl-C is ours: it must live to sweep its workers
            )
        self._control = ours
        self._ready = False

    def ask(self, request: dict[str, object], descriptor: int | None = None) -> dict[str, int]:
        """One request and its answer. Raises GraderError when the zygote is gone or silent, now and ever after."""
        try:
            self._control.settimeout(CONTROL_SECONDS if self._ready else START_SECONDS)
            descriptors = [] if descriptor is None else [descriptor]
            number = secrets.randbits(48)
            socket.send_fds(self._control, [json.dumps({**request, "id": number}).encode()], descriptors)
            while (answer := self._answer()).pop("id", None) != number:  # "ready", or to a session that was killed
                pass
            self._ready = True
            return answer
        except (OSError, GraderError) as error:
            self._control.close()  # a late answer must not be taken for that to the next request
            raise GraderError(f"the zygote does not answer ({error or 'time-out'})") from None

    def _answer(self) -> dict[str, int]:
        data = self._control.recv(1 << 16)
        if not data:
            raise GraderError("it has ended")
        answer: dict[str, int] = json.loads(data)
        return answer

    def settle(self) -> int:
        """Kill whatever it forked. Returns how many processes are left.

        Raises:
            GraderError: it does not answer.
        """
        return self.ask({"do": "settle"})["left"]

    def close(self) -> None:
        """End it and whatever it forked: within CONTROL_SECONDS, or by SIGKILL."""
        self._control.close()
        try:
            self.process.wait(CONTROL_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def pids(self) -> tuple[int, ...]:
        """Processes of ours that a worker must leave alone."""
        return (self.process.pid,)


class Fresh:
    """Answers like a ``Zygote``, and starts a program for each worker instead of forking one.

    When the trusted process is killed its workers end with it on Linux only; elsewhere at their next request.
    """

    given = ""

    def __init__(self, torch: bool) -> None:
        self.torch = torch
        self._workers: dict[int, tuple[subprocess.Popen[bytes], int | None]] = {}

    def ask(self, request: dict[str, Any], descriptor: int | None = None) -> dict[str, int]:
        """One request and its answer. Raises GraderError when a worker does not come to be."""
        if request["do"] == "fork":
            assert descriptor is not None
            return {"pid": self._start(request, descriptor)}
        pid = request["pid"]
        return {"left": self._sweep(pid, request["alone"]) if pid in self._workers else 0}

    def _start(self, request: dict[str, Any], descriptor: int) -> int:
        process = _run_fresh({**request, "socket": descriptor, "torch": self.torch, "parent": os.getpid()}, descriptor)
        self._workers[process.pid] = (process, request["cell"]["uid"])
        assert process.stdout is not None
        with process.stdout:
            select.select([process.stdout], [], [], START_SECONDS)
            os.set_blocking(process.stdout.fileno(), False)
            if process.stdout.read(len(fresh.READY)) != fresh.READY:
                self._sweep(process.pid, alone=False)
                raise GraderError("a worker's program does not start")
        return process.pid

    def _sweep(self, pid: int, alone: bool) -> int:
        process, uid = self._workers.pop(pid)
        for kill in (os.kill, os.killpg):  # a worker leads a group of its own, once it serves
            with suppress(ProcessLookupError):
                kill(pid, signal.SIGKILL)
        process.wait()
        if uid is None or alone:
            return 0
        # not by a fork of ours: it would become the worker's user with our memory
        said, _ = _run_fresh({"do": "sweep", "uid": uid}).communicate()
        return int(said or b"1")

    def close(self) -> None:
        """End every worker."""
        for pid in list(self._workers):
            self._sweep(pid, alone=False)

    def pids(self) -> tuple[int, ...]:
        """Processes of ours that a worker must leave alone: there are none."""
        return ()


def _program(name: str) -> list[str]:
    return [sys.executable, "-s", "-B", str(ENGINE / name), str(ENGINE.parent)]


def _run_fresh(request: dict[str, Any], *descriptors: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        _program("fresh.py"),
        pass_fds=descriptors,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd="/",
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin:  # it says by its end that it did not start
        process.stdin.write(json.dumps(request).encode())
    process.stdin = None
    return process


def start_workers(torch: bool, given: Given | None = None) -> Zygote | Fresh:
    """Where workers come from: forks of a zygote, or programs of their own where $AUTOGRADER_WORKERS is "fresh".

    By themselves where there is no fork, and on macOS, whose libraries do not survive one.

    Raises:
        InputError: another value.
    """
    forks = hasattr(os, "fork") and sys.platform != "darwin"
    way = os.environ.get("AUTOGRADER_WORKERS") or WAYS[0 if forks else 1]
    if way not in WAYS:
        raise InputError(f"AUTOGRADER_WORKERS is one of {', '.join(WAYS)}, not {way!r}")
    return Zygote(torch, given) if way == "forked" else Fresh(torch)


@dataclass
class Report:
    """What a run's workers did, for staff."""

    workers: int = 0
    calls: int = 0
    leftovers: int = 0
    start_seconds: list[float] = field(default_factory=list)
    longest_call: float = 0.0
    confinement: Confinement = field(default_factory=Confinement)


class WorkerLink:
    """A ``handles.Link`` over a socket. After the first failure every further request fails alike."""

    def __init__(self, sock: socket.socket, deadlines: Deadlines | None, report: Report) -> None:
        self._sock, self._deadlines, self._report = sock, deadlines, report
        self._number = 0
        self._over: type[Ended | Late] | None = None
        self._why = ""

    def ask(self, request: str, arguments: Flat) -> tuple[str, Flat]:
        """See ``handles.Link``."""
        __tracebackhide__ = True
        if self._over is not None:
            raise self._over(self._why)
        self._number += 1
        self._report.calls += 1
        began = time.monotonic()
        until, late = (None, "") if self._deadlines is None else self._deadlines.call()
        try:
            wire.send(self._sock, self._number, request, arguments, until)
            number, status, reply = wire.receive(self._sock, until)
            if number != self._number:
                raise wire.Invalid("an answer to another request")
            return status, reply
        except wire.TooLate:
            if self._deadlines is not None:
                self._deadlines.missed()
            self._over, self._why = Late, f"your code {late}"
        except wire.Gone:
            self._over, self._why = Ended, "your code ended its process (os._exit, a crash, or too much memory)"
        except wire.Invalid:
            self._over, self._why = Ended, "your code sent an invalid reply"
        finally:
            self._report.longest_call = max(self._report.longest_call, time.monotonic() - began)
        raise self._over(self._why)


class Pool:
    """Gives each test a worker.

    Args:
        assignment: names the package, and the memory a worker gets.
        submission: folder that holds the student's package; readable by every user.
        scratch: folder of ours in which workers get their scratch folders; others may pass through it.
        deadlines: of the run.
        reference: folder that holds the solved package, for the trusted torch worker.
        given: the package's given files, for the zygotes that this pool starts.
        zygotes: those of somebody who keeps them, by whether they have PyTorch; used, and not closed.
    """

    def __init__(
        self,
        assignment: Assignment,
        submission: Path,
        scratch: Path,
        deadlines: Deadlines,
        reference: Path,
        given: Given | None = None,
        zygotes: Mapping[bool, Zygote] | None = None,
    ) -> None:
        self._assignment, self._submission, self._scratch = assignment, submission, scratch
        self._deadlines, self._reference_folder = deadlines, reference
        self._uids = _uids()
        self._given, self._borrowed = given, dict(zygotes or {})
        self._zygotes: dict[bool, Zygote | Fresh] = {}
        self._zygote(torch=False)
        self._reference: socket.socket | None = None
        self._proven: Confinement | None = None
        self.report = Report()

    @contextmanager
    def open(self, item: Item) -> Iterator[Student]:
        """A fresh worker for one test of this item.

        Raises:
            GraderError: no worker could be had, or one could not be killed.
        """
        __tracebackhide__ = True
        with self._worker(self._post(), item.torch) as (sock, _):
            self._deadlines.begin(item.slug)
            try:
                yield Student(WorkerLink(sock, self._deadlines, self.report))
            finally:
                self._deadlines.end()

    def prove(self, secrets: Sequence[Path], closed: Sequence[Path]) -> Isolation:
        """Let a worker of ours try what must not work.

        Args:
            secrets: files and folders that it must not read.
            closed: folders that it must not write to.

        Raises:
            GraderError: no worker could be had, or it cannot do what honest code needs.
        """
        post = Post(str(ENGINE), "canary", "canary", "", trusted=False)
        with self._worker(post, torch=False) as (sock, confinement):
            deadlines = Deadlines(self._assignment.budgets)
            deadlines.begin("")
            student = Student(WorkerLink(sock, deadlines, Report()))
            pids = (os.getpid(), *self._zygotes[False].pids())
            self._proven = confinement
            return canaries.try_out(student, confinement, secrets, closed, pids)

    def _post(self) -> Post:
        package = self._assignment.package
        return Post(str(self._submission), package, package, "", trusted=False)

    @contextmanager
    def _worker(self, post: Post, torch: bool) -> Iterator[tuple[socket.socket, Confinement]]:
        """A confined worker that is ready; killed, swept and its scratch folder removed on leaving."""
        __tracebackhide__ = True
        uid = next(self._uids) if can_change_uid() else None
        budgets = self._assignment.budgets
        began = time.monotonic()
        scratch = self._make_scratch(uid)
        memory = budgets.torch_memory if torch else budgets.memory
        cell = Cell(uid, memory, int(budgets.test) + 1, [*READABLE, post.folder], [str(scratch), os.devnull])
        self.report.workers += 1
        try:
            zygote = self._zygote(torch)
            pid, sock = _fork(zygote, replace(post, scratch=str(scratch), given=zygote.given), cell)
            confinement = Confinement()
            try:
                with sock:
                    confinement = self.report.confinement = _wait_until_ready(sock)
                    if self._proven not in (None, confinement):
                        raise GraderError(f"a worker is not confined as it was tried: {confinement}")
                    self.report.start_seconds.append(time.monotonic() - began)
                    yield sock, confinement
            finally:
                left = zygote.ask({"do": "sweep", "pid": pid, "alone": confinement.filtered})["left"]
                self.report.leftovers += left
        finally:
            remove_tree(scratch)
        if left:
            raise GraderError(f"{left} processes of a worker could not be killed")

    def precompile(self) -> None:
        """Compile the package once, in a worker that runs none of it, instead of in every worker.

        The bytecode is the worker's, so it is as little trusted as the source: only workers of this submission ever
        load it. A file that does not compile stays as it is, and every worker that imports it says so.
        """
        budgets = self._assignment.budgets
        deadlines = Deadlines(budgets)
        deadlines.begin("")
        package = self._submission / self._assignment.package
        cache = package / "__pycache__"
        cache.mkdir()
        cache.chmod(0o755)  # whatever our umask is: workers read it
        with self._worker(self._post(), torch=False) as (sock, _):
            student = Student(WorkerLink(sock, deadlines, self.report))
            for source in sorted(package.glob("*.py")):
                try:
                    bytecode = student._ask("compiled", source.stem)
                except StudentError as error:
                    if error.sticky:
                        return
                    continue
                if type(bytecode) is bytes:
                    target = Path(importlib.util.cache_from_source(str(source)))
                    target.write_bytes(bytecode)
                    target.chmod(0o644)

    def reference_student(self, alias: str) -> Student:
        """The reference in a trusted worker with torch, by the same handles. One for the whole run."""
        zygote = self._zygote(torch=True)
        post = Post(str(self._reference_folder), self._assignment.package, alias, "/", trusted=True)
        _, self._reference = _fork(zygote, post, Cell(None, 0, 0))
        _wait_until_ready(self._reference)
        return Student(WorkerLink(self._reference, None, Report()), ours=True)

    def close(self) -> None:
        """End every zygote and every worker."""
        if self._reference is not None:
            self._reference.close()
        for torch, zygote in self._zygotes.items():
            if zygote is not self._borrowed.get(torch):
                zygote.close()

    def _zygote(self, torch: bool) -> Zygote | Fresh:
        if torch not in self._zygotes:
            if torch and TORCH_MISSING.is_file():
                raise GraderError(f"the grader is incomplete: {TORCH_MISSING.read_text(encoding='utf-8').strip()}")
            self._zygotes[torch] = self._borrowed.get(torch) or start_workers(torch, self._given)
        return self._zygotes[torch]

    def _make_scratch(self, uid: int | None) -> Path:
        folder = self._scratch / f"w{self.report.workers}"
        folder.mkdir(mode=0o700)
        if uid is not None:
            os.chown(folder, uid, uid)
        return folder


def _fork(zygote: Zygote | Fresh, post: Post, cell: Cell) -> tuple[int, socket.socket]:
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            answer = zygote.ask({"do": "fork", "post": vars(post), "cell": vars(cell)}, theirs.fileno())
        except GraderError:
            ours.close()
            raise
    if answer["pid"] < 0:
        ours.close()
        raise GraderError("no process can be started now")
    return answer["pid"], ours


def _wait_until_ready(sock: socket.socket) -> Confinement:
    """What the worker got; it says so before it has touched student code."""
    try:
        _, _, flat = wire.receive(sock, time.monotonic() + READY_SECONDS)
        return Confinement(**unflatten(flat, _no_handles, writeable=False))
    except (wire.WireError, Refused, TypeError) as error:
        raise GraderError(f"a worker did not start ({type(error).__name__})") from None


def _no_handles(number: int, name: str) -> object:
    raise Refused("a handle")


def _readable() -> tuple[str, ...]:
    """What a worker reads: the interpreter, its libraries, our own files that it imports, and the system's facts."""
    interpreter = [sys.prefix, sys.base_prefix, sys.exec_prefix, *map(os.path.dirname, (os.__file__, np.__file__))]
    libraries = "/usr/lib /usr/lib64 /usr/local/lib /lib /lib64".split()
    system = "/usr/share/zoneinfo /etc/ld.so.cache /etc/localtime".split()
    devices = "/dev/null /dev/zero /dev/random /dev/urandom".split()
    facts = "/proc/self /proc/cpuinfo /proc/meminfo /proc/stat /sys/devices/system/cpu".split()
    folders = {Path(os.path.realpath(path)) for path in (*interpreter, *libraries)}
    outermost = sorted(str(folder) for folder in folders if folders.isdisjoint(folder.parents))  # each costs time
    return (*outermost, str(ENGINE), *system, *devices, *facts)


READABLE = _readable()


def _uids() -> Iterator[int]:
    """Uids that no other run uses: a block of our own, chosen at random, inside what this namespace maps.

    Not by our pid: containers of one host have the same small ones, and the kernel counts a uid's processes over all.
    The block is reused from its start after UIDS_PER_RUN tests: by then nothing of the first ones lives.
    """
    mapped = mapped_ids()
    low = min(1 << 30, mapped // 2)
    blocks = max(1, (min(mapped, (1 << 32) - 2) - low) // UIDS_PER_RUN)
    base = low + secrets.randbelow(blocks) * UIDS_PER_RUN
    while True:
        yield from range(base, base + UIDS_PER_RUN)
