"""The program that forks workers, how it ends, and what it kills: ``autograder.zygote``. Needs root, as in CI."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from autograder import confine, zygote
from autograder import pool as pool_module
from autograder.confine import Cell, Confinement
from autograder.feedback.errors import Ended, GraderError
from autograder.feedback.handles import Student
from autograder.pool import Report, WorkerLink, Zygote
from autograder.worker import Post
from tests.staff.links import ITEM, PACKAGE, PROBE, is_alive, open_folder, open_pool, processes, write_package

ROOT = Path(__file__).parents[2]
UID, OTHER_UID = islice(pool_module._uids(), 2)
PING: dict[str, object] = {"do": "sweep", "pid": 0, "alone": False}  # no worker has this number: nothing happens
SECONDS = 10.0  # longer than anything here takes on a slow machine


def wait_for(happened: Callable[[], bool]) -> bool:
    """Ask again and again whether something happened, for SECONDS at most."""
    end = time.monotonic() + SECONDS
    while not happened():
        if time.monotonic() > end:
            return False
        os.sched_yield()
    return True


@contextmanager
def started() -> Iterator[Zygote]:
    """A zygote of our own."""
    zygote = Zygote(torch=False)
    try:
        yield zygote
    finally:
        zygote.close()


@contextmanager
def forked(uid: int = UID) -> Iterator[tuple[Zygote, int, Student, socket.socket]]:
    """A zygote and one worker of it."""
    with open_folder() as folder, started() as zygote:
        write_package(folder / "submission", {"probe": PROBE})
        (folder / "scratch").mkdir()
        os.chown(folder / "scratch", uid, uid)
        post = Post(str(folder / "submission"), PACKAGE, PACKAGE, str(folder / "scratch"), trusted=False)
        cell = Cell(uid, 500, 20, [*pool_module.READABLE, post.folder], [post.scratch, os.devnull])
        pid, sock = pool_module._fork(zygote, post, cell)
        with sock:
            pool_module._wait_until_ready(sock)
            yield zygote, pid, Student(WorkerLink(sock, None, Report())), sock


# How it starts.


def test_zygote_with_threads_refuses_to_start() -> None:
    """A fork of a process with threads may hang: it says so and ends before the first fork."""
    source = """
        import socket, threading
        from autograder import zygote
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.close()
        zygote.main(theirs, False)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "threads after the imports: a fork could hang" in done.stderr


def test_zygote_that_does_not_start_is_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A zygote that dies while it starts is a GraderError at the first request, and at every later one."""
    monkeypatch.setattr(pool_module, "ENGINE", Path("/no/such/folder"))
    with started() as zygote:
        for _ in range(2):
            with pytest.raises(GraderError, match="the zygote does not answer"):
                zygote.ask(PING)


def test_zygote_is_a_new_program_in_a_session_of_its_own() -> None:
    """It inherits no memory, no environment and no terminal: a Ctrl-C ends the tests, and it lives to sweep."""
    os.environ["COURSE_TOKEN"] = "a secret of the trusted process"
    try:
        with started() as zygote:
            zygote.ask(PING)  # by now it has started
            pid = zygote.process.pid
            assert os.getsid(pid) == pid
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            assert b"COURSE_TOKEN" not in environment
            assert b"PYTHONHASHSEED=0" in environment
            assert os.readlink(f"/proc/{pid}/cwd") == "/"
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            assert arguments[1:4] == [b"-s", b"-B", bytes(ROOT / "autograder" / "zygote.py")]
            assert arguments[5].isdigit()
            assert arguments[6:] == [b"numpy", b""]
    finally:
        del os.environ["COURSE_TOKEN"]


def test_zygote_holds_one_socket() -> None:
    """Of the trusted process' files none is open in it but the end of its control socket."""
    with open(__file__, encoding="utf-8") as file, started() as zygote:
        os.set_inheritable(file.fileno(), True)
        zygote.ask(PING)
        links = [os.readlink(entry) for entry in Path(f"/proc/{zygote.process.pid}/fd").iterdir()]
        assert sum(link.startswith("socket:") for link in links) == 1
        assert __file__ not in links


def test_descriptors_do_not_pile_up() -> None:
    """Each worker's socket is closed in the zygote once it is forked."""
    with forked() as (zygote, pid, _, _):
        count = len(os.listdir(f"/proc/{zygote.process.pid}/fd"))
        zygote.ask({**PING, "pid": pid})
        assert len(os.listdir(f"/proc/{zygote.process.pid}/fd")) == count


# How it ends.


def test_closing_the_control_socket_ends_everything() -> None:
    """End of file is the signal to end: the worker and the zygote are gone when close returns."""
    with forked() as (zygote, pid, student, _):
        assert student.probe.run("answer = 1") == 1
        zygote.close()
        assert zygote.process.returncode == 0
        assert not is_alive(pid)
        with pytest.raises(Ended):
            student.probe.run("answer = 1")


def test_killed_zygote_takes_its_worker_along() -> None:
    """A zygote that is killed cannot sweep: the kernel kills its worker, and we say that it is our fault."""
    with forked() as (zygote, pid, student, _):
        zygote.process.kill()
        assert wait_for(lambda: not is_alive(pid))
        with pytest.raises(Ended):
            student.probe.run("answer = 1")
        with pytest.raises(GraderError, match="the zygote does not answer"):
            zygote.ask({**PING, "pid": pid})


TRUSTED = """
    import sys
    from tests.staff.links import ITEM, PROBE, open_pool
    with open_pool({"probe": PROBE}) as (pool, folder), pool.open(ITEM) as student:
        source = '''
            import os
            answer = [os.getpid(), os.getppid(), os.getuid()]
            try:
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0:
                        while True: pass
                    os._exit(0)
            except PermissionError:
                pass
        '''
        print(*student.probe.run(source), folder, flush=True)
        student.probe.run("while True: pass")
"""


def test_killed_trusted_process_leaves_no_worker_behind() -> None:
    """SIGKILL of the trusted process, in the middle of a call: the zygote notices, kills what lives, and ends."""
    command = [sys.executable, "-c", textwrap.dedent(TRUSTED)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as trusted:
        assert trusted.stdout is not None
        worker, zygote_pid, uid, folder = trusted.stdout.readline().split()
        assert is_alive(int(worker))
        assert zygote._processes_of(int(uid)) >= 1
        trusted.kill()
    assert wait_for(lambda: not is_alive(int(worker)) and not is_alive(int(zygote_pid)))
    assert zygote._processes_of(int(uid)) == 0
    subprocess.run(["rm", "-rf", folder], check=True)  # a killed process cannot


# What it is asked.


def test_bad_fork_request_ends_the_child_only() -> None:
    """A child that cannot become a worker ends; it never goes on as a second zygote, that would sweep the others."""
    with forked() as (zygote, _, student, _):
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                zygote.ask({"do": "fork", "post": {"no": "such field"}, "cell": {"uid": None}}, theirs.fileno())
            ours.settimeout(SECONDS)
            assert ours.recv(1) == b""
        assert zygote.ask(PING) == {"left": 0}
        assert student.probe.run("answer = 1") == 1


@pytest.mark.parametrize(
    "cell", [{"memory": "much"}, {"cpu": -(2**70)}, {"uid": 1 << 33}], ids=["memory", "cpu", "uid"]
)
def test_worker_that_cannot_be_confined_does_not_serve(cell: dict[str, Any]) -> None:
    """A step of the confinement that fails ends the worker before it says that it is ready."""
    with started() as zygote, open_folder() as folder:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                post = Post(str(folder), PACKAGE, PACKAGE, str(folder), trusted=False)
                request = {"post": asdict(post), "cell": {"uid": UID, "memory": 500, "cpu": 20, **cell}}
                zygote.ask({"do": "fork", **request}, theirs.fileno())
            with pytest.raises(GraderError, match="a worker did not start"):
                pool_module._wait_until_ready(ours)


def test_zygote_kills_only_what_it_forked() -> None:
    """A process that is none of its workers is not killed, whoever asks."""
    with started() as zygote:
        other = start_as(OTHER_UID, STUBBORN)
        try:
            assert zygote.ask({**PING, "pid": other}) == {"left": 0}
            assert is_alive(other)
        finally:
            end(other)


class Child:
    """Stands in for ``os`` in the child that kills: nothing of it is real."""

    def __init__(self, ids: tuple[int, int, int]) -> None:
        self.ids, self.killed = ids, False

    def fork(self) -> int:
        return 0

    def kill(self, pid: int, number: int) -> None:
        self.killed = True

    def _exit(self, code: int) -> None:
        raise SystemExit(code)

    def setgroups(self, groups: list[int]) -> None:
        pass

    def setresuid(self, *ids: int) -> None:
        pass

    setresgid = setresuid

    def getresuid(self) -> tuple[int, int, int]:
        return self.ids

    getresgid = getresuid

    def getgroups(self) -> list[int]:
        return []


@pytest.mark.parametrize(
    ("uid", "ids", "killed"),
    [
        (77, (77, 77, 77), True),
        (77, (0, 0, 0), False),
        (77, (77, 77, 0), False),
        (0, (0, 0, 0), False),
        (-1, (0, 0, 0), False),
    ],
    ids=["became", "stayed-root", "half-way", "root", "unchanged"],
)
def test_nobody_kills_as_root(
    monkeypatch: pytest.MonkeyPatch, uid: int, ids: tuple[int, int, int], killed: bool
) -> None:
    """The child that kills all it may kill does so only once the kernel says that it is the worker's user."""
    child = Child(ids)
    monkeypatch.setattr(zygote, "os", child)
    monkeypatch.setattr(confine, "os", child)
    with pytest.raises(SystemExit):
        zygote._kill_as(uid)
    assert child.killed is killed


def test_broken_request_ends_the_zygote_and_its_workers() -> None:
    """A request that is none ends it, as it must: not without killing what lives."""
    with forked() as (zygote, pid, _, _):
        with pytest.raises(GraderError):
            zygote.ask({"do": "fork"})
        assert wait_for(lambda: zygote.process.poll() is not None)
        assert not is_alive(pid)


def test_late_answer_is_not_taken_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a time-out the zygote is given up: its late answer does not answer another request."""
    monkeypatch.setattr(pool_module, "CONTROL_SECONDS", 0.02)
    with started() as zygote:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            zygote._control.close()
            zygote._control, zygote._ready = ours, True
            ours.settimeout(0.02)
            with pytest.raises(GraderError, match="timed out"):
                zygote.ask({"do": "fork"})
            with pytest.raises(OSError, match=r"Broken pipe|reset"):
                theirs.send(b'{"pid": 1}')
            with pytest.raises(GraderError):
                zygote.ask(PING)


# The sweep.


def start_as(uid: int, source: str) -> int:
    """Start a program as another user, in a session of its own; returns when it has said that it runs."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(source)],
        user=uid,
        group=uid,
        extra_groups=[],
        start_new_session=True,
        stdout=subprocess.PIPE,
        cwd="/",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.stdout.close()
    return process.pid


def end(pid: int) -> None:
    """Kill a process that ``start_as`` started."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


STUBBORN = """
    import signal
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    print("up", flush=True)
    while True: signal.pause()
"""
# Daemons that leave every group and session, and start themselves again for as long as they live.
STORM = """
    import os, time
    def respawn():
        while True:
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    continue
                os._exit(0)
            os.wait()
            time.sleep(0.001)
            if os.getppid() == 1:
                os._exit(0)
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            respawn()
    print("up", flush=True)
    while True: time.sleep(1)
"""


@pytest.mark.parametrize("source", [STUBBORN, STORM], ids=["ignores-signals", "respawns"])
def test_sweep_leaves_nothing_of_a_user(source: str) -> None:
    """After a sweep nothing of the user runs: not what ignores signals, not what respawns in new sessions."""
    pid = start_as(UID, source)
    assert zygote._processes_of(UID) > 0
    assert zygote.sweep(pid, UID) == 0
    assert zygote._processes_of(UID) == 0


def test_sweep_touches_nobody_else() -> None:
    """Processes of another user live on."""
    pid, other = start_as(UID, STUBBORN), start_as(OTHER_UID, STUBBORN)
    try:
        zygote.sweep(pid, UID)
        assert is_alive(other)
    finally:
        end(other)


def test_sweep_kills_a_stopped_process() -> None:
    """A process that has stopped itself dies as well."""
    pid = start_as(UID, STUBBORN)
    os.kill(pid, signal.SIGSTOP)
    assert zygote.sweep(pid, UID) == 0


def test_sweep_of_what_has_ended_is_nothing() -> None:
    """A worker that is gone already is no error."""
    pid = start_as(UID, "print('up', flush=True)")
    assert wait_for(lambda: not is_alive(pid))
    assert Path(f"/proc/{pid}").exists()  # nobody has waited for it yet: it does not count
    assert zygote._processes_of(UID) == 0
    assert zygote.sweep(pid, UID) == 0
    assert zygote.sweep(pid, UID) == 0


def test_sweep_without_a_user_kills_the_worker() -> None:
    """Without root only the worker and its group are known."""
    pid = start_as(UID, STUBBORN)
    assert zygote.sweep(pid, None) == 0
    assert not is_alive(pid)


def test_sweep_of_a_lone_worker_looks_for_nobody_else() -> None:
    """A worker that could start no process has left none: it is killed, and nothing is searched for."""
    pid, other = start_as(UID, STUBBORN), start_as(UID, STUBBORN)
    try:
        assert zygote.sweep(pid, UID, alone=True) == 0
        assert not is_alive(pid)
        assert is_alive(other)
    finally:
        end(other)


def test_sweep_gives_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be killed is counted after SWEEP_SECONDS, not waited for."""
    monkeypatch.setattr(zygote, "SWEEP_SECONDS", 0.01)
    monkeypatch.setattr(zygote, "_kill_as", lambda uid: None)
    pid, other = start_as(UID, STUBBORN), start_as(UID, STUBBORN)
    try:
        assert zygote.sweep(pid, UID) == 1
    finally:
        end(other)


def test_what_could_not_be_killed_is_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that outlives its sweep breaks the promise of the sandbox: GraderError."""
    with open_pool({"probe": PROBE}) as (pool, _):
        real = pool._zygotes[False].ask

        def ask(request: dict[str, object], descriptor: int | None = None) -> dict[str, int]:
            answer = real(request, descriptor)
            return {"left": 2} if request["do"] == "sweep" else answer

        monkeypatch.setattr(pool._zygotes[False], "ask", ask)
        with pytest.raises(GraderError, match="2 processes of a worker could not be killed"), pool.open(ITEM):
            pass
        assert pool.report.leftovers == 2


@pytest.mark.parametrize("filtered", [True, False], ids=["filtered", "open"])
def test_everything_is_searched_unless_the_kernel_forbade_it(monkeypatch: pytest.MonkeyPatch, filtered: bool) -> None:
    """Only a worker that could start no process, as it said before it touched student code, is taken to be alone."""
    said = Confinement(own_user=True, filtered=filtered)
    asked = []
    with open_pool({"probe": PROBE}) as (pool, _):
        real = pool._zygotes[False].ask

        def ask(request: dict[str, object], descriptor: int | None = None) -> dict[str, int]:
            asked.append(request.get("alone"))
            return real(request, descriptor)

        def ready(sock: socket.socket) -> Confinement:
            wait_until_ready(sock)
            return said

        wait_until_ready = pool_module._wait_until_ready
        monkeypatch.setattr(pool_module, "_wait_until_ready", ready)
        monkeypatch.setattr(pool._zygotes[False], "ask", ask)
        with pool.open(ITEM):
            pass
    assert asked == [None, filtered]


def test_no_process_is_left_behind_by_these_tests() -> None:
    """Everything that was started here as another user is gone."""
    assert zygote._processes_of(UID) == 0
    assert zygote._processes_of(OTHER_UID) == 0
    assert os.getpid() in processes()
