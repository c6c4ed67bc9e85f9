"""Workers without a fork: a program each, and nothing else is different. ``pool.Fresh`` and ``autograder.fresh``."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder import pool as pool_module
from autograder import zygote
from autograder.confine import Confinement
from autograder.feedback.errors import Ended, GraderError, InputError, Late
from autograder.feedback.handles import Student
from autograder.pool import Fresh, Pool, Zygote, start_workers
from tests.staff.links import ITEM, PROBE, is_alive, open_pool
from tests.staff.runs import wait_until
from tests.staff.test_handles import STUDENT, story

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a system where a fork is not safe."""
    monkeypatch.setenv("AUTOGRADER_WORKERS", "fresh")


@pytest.fixture
def site() -> Iterator[tuple[Pool, Path]]:
    """A pool, and the folder in which everything lies."""
    with open_pool({"probe": PROBE}) as (pool, folder):
        yield pool, folder


def run(far: Student, source: str, **names: Any) -> Any:
    """Run code as the student; it leaves its result in ``answer``."""
    return far.probe.run(source, **names)


def test_all_handles_tell_the_same_story(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script of the handles' own tests: the same answers, errors, frames and counts as in a fork."""
    stories = []
    for way in ("fresh", "forked"):
        monkeypatch.setenv("AUTOGRADER_WORKERS", way)
        with open_pool(STUDENT) as (pool, _), pool.open(ITEM) as student:
            stories.append(story(student))
    assert stories[0] == stories[1]
    assert len(stories[0]) > 20


def test_worker_is_a_program_of_its_own(site: tuple[Pool, Path]) -> None:
    """Two tests, two interpreters, children of ours; each another user in another folder; nothing is left of them."""
    seen = []
    for _ in range(2):
        with site[0].open(ITEM) as student:
            pid, parent, uid, folder = who(student)
            assert parent == os.getpid()
            assert b"fresh.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert not is_alive(pid)
        assert not Path(folder).exists()
        seen.append((pid, uid, folder))
    assert [len(set(column)) for column in zip(*seen, strict=True)] == [2, 2, 2]
    assert site[0].report.leftovers == 0


def who(student: Student) -> tuple[int, int, int, str]:
    """A worker's pid, parent, user and folder."""
    pid, parent, uid, folder = run(student, "import os; answer = [os.getpid(), os.getppid(), os.getuid(), os.getcwd()]")
    return pid, parent, uid, folder


def test_worker_is_confined_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's means, the canaries, the environment, the generators and the open files are those of a fork."""
    facts = """
        import os, random, resource, sys
        import numpy as np
        names = ["AS", "FSIZE", "NOFILE", "CORE", "NPROC", "CPU"]
        answer = [sorted(os.environ), random.random(), float(np.random.rand()), os.getsid(0) == os.getpid()]
        answer.append([resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in names])
        answer.append([sys.flags.no_user_site, sys.dont_write_bytecode, len(sys.path), hash("word")])
        opened = []
        for number in range(128):
            try:
                os.fstat(number)
                opened.append(number)
            except OSError:
                pass
        answer.append(len(opened))
    """
    found = []
    for way in ("fresh", "forked"):
        monkeypatch.setenv("AUTOGRADER_WORKERS", way)
        with open_pool({"probe": PROBE}) as (pool, _):
            with pool.open(ITEM) as student:
                answer = run(student, facts)
            isolation = pool.prove([], [])
            found.append((answer, pool.report.confinement, isolation.rung, isolation.through))
    assert found[0] == found[1]
    assert found[0][1].own_user


def test_endless_loop_ends_at_the_deadline() -> None:
    """The deadline kills a program as it kills a fork."""
    with open_pool({"probe": PROBE}, call=0.4) as (pool, _):
        with pool.open(ITEM) as student:
            pid = run(student, "import os; answer = os.getpid()")
            with pytest.raises(Late):
                run(student, "while True: pass")
        assert not is_alive(pid)


def test_everything_of_its_user_is_swept(site: tuple[Pool, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a worker says that its calls are not filtered, all processes of its user are looked for and killed."""
    real = pool_module._wait_until_ready

    def unfiltered(sock: socket.socket) -> Confinement:
        real(sock)
        return Confinement(own_user=True)

    monkeypatch.setattr(pool_module, "_wait_until_ready", unfiltered)
    with site[0].open(ITEM) as student:
        uid = who(student)[2]
        with subprocess.Popen(
            ["/bin/sleep", "60"], user=uid, group=uid, extra_groups=[], start_new_session=True
        ) as stray:
            assert zygote._processes_of(uid) == 2
            site[0]._zygotes[False].ask({"do": "sweep", "pid": who(student)[0], "alone": False})
            assert stray.wait(10) == -signal.SIGKILL
    assert zygote._processes_of(uid) == 0


def test_closed_pool_ends_its_workers(site: tuple[Pool, Path]) -> None:
    """In the middle of a test: when close returns nothing runs, and the test reads that its worker has ended."""
    with site[0].open(ITEM) as student:
        pid = who(student)[0]
        site[0].close()
        assert not is_alive(pid)
        with pytest.raises(Ended):
            run(student, "answer = 1")


def test_killed_trusted_process_leaves_no_worker_behind() -> None:
    """SIGKILL of the trusted process, in the middle of a call: the kernel kills the worker."""
    program = """
        from tests.staff.links import ITEM, PROBE, open_pool
        with open_pool({"probe": PROBE}) as (pool, folder), pool.open(ITEM) as student:
            print(student.probe.run("import os; answer = os.getpid()"), folder, flush=True)
            student.probe.run("while True: pass")
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as trusted:
        assert trusted.stdout is not None
        worker, folder = trusted.stdout.readline().split()
        assert is_alive(int(worker))
        trusted.kill()
    wait_until(lambda: not is_alive(int(worker)))
    subprocess.run(["rm", "-rf", folder], check=True)  # a killed process cannot


def test_program_that_does_not_start_is_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that cannot even import: GraderError, and no process or open file is left."""
    files = len(os.listdir("/proc/self/fd"))
    with open_pool({"probe": PROBE}) as (pool, folder):
        monkeypatch.setattr(pool_module, "ENGINE", Path("/no/such/folder"))
        with pytest.raises(GraderError, match="a worker's program does not start"), pool.open(ITEM):
            pass
        assert list((folder / "scratch").iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == files


@pytest.mark.parametrize(
    ("setting", "forks", "system", "kind"),
    [
        ("", True, "linux", Zygote),
        ("forked", True, "darwin", Zygote),
        ("fresh", True, "linux", Fresh),
        ("", False, "linux", Fresh),
        ("", True, "darwin", Fresh),
    ],
    ids=["linux", "forked-on-request", "fresh-on-request", "no-fork", "macos"],
)
def test_system_decides_unless_somebody_says_so(
    monkeypatch: pytest.MonkeyPatch, setting: str, forks: bool, system: str, kind: type[Zygote | Fresh]
) -> None:
    """Forks of a zygote on Linux; programs where there is no fork, on macOS, and on request."""
    monkeypatch.setenv("AUTOGRADER_WORKERS", setting)
    monkeypatch.setattr(sys, "platform", system)
    if not forks:
        monkeypatch.delattr(os, "fork")
    workers = start_workers(torch=False)
    monkeypatch.undo()
    try:
        assert type(workers) is kind
    finally:
        workers.close()


def test_unknown_way_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that names the values."""
    monkeypatch.setenv("AUTOGRADER_WORKERS", "threads")
    with pytest.raises(InputError, match="AUTOGRADER_WORKERS is one of forked, fresh, not 'threads'"):
        start_workers(torch=False)
