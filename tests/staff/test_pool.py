"""A worker for each test, and nothing left of it: ``autograder.pool``. Needs root, as in CI."""

from __future__ import annotations

import dataclasses
import os
import socket
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import pool as pool_module
from autograder import wire, zygote
from autograder.confine import Confinement
from autograder.deadlines import Deadlines
from autograder.feedback.assignment import Budgets
from autograder.feedback.errors import Ended, GraderError, Late
from autograder.feedback.handles import Student
from autograder.feedback.values import Flat, flatten
from autograder.pool import Pool, Report, WorkerLink
from tests.staff.links import ITEM, PROBE, is_alive, open_pool, processes

ROOT = Path(__file__).parents[2]
SOON = 0.4  # seconds: the deadline of a call that never ends, and enough for one that does on a busy machine


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Pool, Path]]:
    """A pool, and the folder in which everything lies."""
    with open_pool({"probe": PROBE}, memory=700) as (pool, folder):
        with pool.open(ITEM):  # the zygote has started
            pass
        yield pool, folder


def run(far: Student, source: str, **names: Any) -> Any:
    """Run code as the student; it leaves its result in ``answer``."""
    return far.probe.run(source, **names)


WHO = "import os; answer = [os.getpid(), os.getuid(), os.getcwd()]"


# A worker a test.


def test_every_test_gets_a_process_a_user_and_a_folder_of_its_own(site: tuple[Pool, Path]) -> None:
    """Nothing that identifies a worker comes twice; its folder is private, and gone with it."""
    seen = []
    for _ in range(3):
        with site[0].open(ITEM) as student:
            pid, uid, folder = run(student, WHO)
            status = Path(folder).stat()
            assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (uid, 0o700)
            assert is_alive(pid)
        assert not is_alive(pid)
        assert not Path(folder).exists()
        seen.append((pid, uid, folder))
    assert [len(set(column)) for column in zip(*seen, strict=True)] == [3, 3, 3]


def test_state_does_not_outlive_a_test(site: tuple[Pool, Path]) -> None:
    """Globals, patched libraries and files of one test are unknown to the next."""
    source = """
        import builtins, math, os
        answer = [hasattr(builtins, "left"), math.pi > 3, os.listdir(), os.environ.get("LEFT")]
        builtins.left, math.pi, os.environ["LEFT"] = 1, 3, "here"
        open("left", "w").close()
    """
    for _ in range(2):
        with site[0].open(ITEM) as student:
            assert run(student, source) == [False, True, [], None]


def test_patched_libraries_do_not_reach_the_trusted_process(site: tuple[Pool, Path]) -> None:
    """A student who patches numpy's comparisons patches his own."""
    with site[0].open(ITEM) as student:
        source = "import numpy as np; np.allclose = lambda *a: True; answer = np.allclose(1, 2)"
        assert run(student, source) is True
    assert not np.allclose(1, 2)


LEAVINGS = {
    "closed-folder": "import os; os.makedirs('a/b'); open('a/b/c', 'w').close(); os.chmod('a/b', 0); os.chmod('a', 0)",
    "link-to-a-folder": "import os; os.symlink(place, 'link'); os.symlink('/', 'root')",
    "many-files": "for n in range(300): open(str(n), 'w').close()",
    "odd-names": "import os; os.mkdir(b'\\xff\\n'); open('-rf', 'w').close()",
    "pipe": "import os; os.mkfifo('pipe')",
}


@pytest.mark.parametrize("source", LEAVINGS.values(), ids=LEAVINGS)
def test_whatever_is_left_in_a_scratch_folder_is_removed(site: tuple[Pool, Path], source: str) -> None:
    """The folder goes with all that is in it; what links point to stays."""
    kept = site[1] / "kept"
    kept.mkdir(exist_ok=True)
    (kept / "file").write_text("kept")
    with site[0].open(ITEM) as student:
        folder = run(student, source + "\nimport os; answer = os.getcwd()", place=str(kept))
    assert not Path(folder).exists()
    assert (kept / "file").read_text() == "kept"
    assert list((site[1] / "scratch").iterdir()) == []


def test_torch_is_not_started_before_it_is_needed(site: tuple[Pool, Path]) -> None:
    """Items without torch are served by the numpy zygote alone: the other one takes seconds to start."""
    with site[0].open(ITEM) as student:
        assert run(student, "answer = 1") == 1
    assert list(site[0]._zygotes) == [False]


def test_two_workers_at_once_do_not_meet(site: tuple[Pool, Path]) -> None:
    """The end of one worker is not the end of another."""
    with site[0].open(ITEM) as first:
        with site[0].open(ITEM) as second:
            assert run(first, WHO)[1] != run(second, WHO)[1]
        assert run(first, "answer = 1") == 1


# Deadlines.


def test_endless_loop_ends_at_the_deadline() -> None:
    """A call that never returns is Late at its deadline, sticky; after two such tests the item is closed."""
    with open_pool({"probe": PROBE}, call=SOON) as (pool, _):
        for missed in (1, 2):
            assert pool._deadlines.refusal(ITEM.slug) == ""
            with pool.open(ITEM) as student:
                pid = run(student, "import os; answer = os.getpid()")
                began = time.monotonic()
                with pytest.raises(Late, match=f"your code did not finish within {SOON} s") as caught:
                    run(student, "while True: pass")
                assert SOON * 0.9 < time.monotonic() - began < SOON + 5
                assert student.sticky is caught.value
                with pytest.raises(Late, match="did not finish"):  # it is not asked again
                    run(student, "answer = 1")
            assert not is_alive(pid)
            assert pool._deadlines._missed == {ITEM.slug: missed}
        assert pool._deadlines.refusal(ITEM.slug) == "not run: 2 checks of this item did not finish in time"


@pytest.mark.parametrize(
    "source",
    [
        "import signal, time\nfor n in set(signal.Signals) - {9, 19}: signal.signal(n, signal.SIG_IGN)\ntime.sleep(99)",
        "import numpy as np\na = np.ones((600, 600))\nwhile True: a @ a",
        "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    ],
    ids=["ignores-signals", "in-a-library", "catches-everything", "stops-itself"],
)
def test_nothing_holds_a_deadline_off(source: str) -> None:
    """Whatever a student's code does or catches, its worker is killed from outside."""
    with open_pool({"probe": PROBE}, call=SOON) as (pool, _):
        with pool.open(ITEM) as student:
            pid = run(student, "import os; answer = os.getpid()")
            with pytest.raises(Late):
                run(student, source)
        assert not is_alive(pid)


def test_slow_import_has_the_deadline_of_a_call() -> None:
    """A module that never ends its import is Late as well."""
    with open_pool({"endless": "while True: pass"}, call=SOON) as (pool, _), pool.open(ITEM) as student:
        with pytest.raises(Late) as caught:
            _ = student.endless
        assert caught.value.importing == "endless"


# Nothing is left behind.

DAEMON = """
    import os
    def start():
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                while True: pass
            os._exit(0)
    answer = os.getuid()
    try:
        for _ in range(3): start()
    except PermissionError:  # where the sandbox forbids it, there is nothing to sweep
        pass
"""


def test_daemon_is_swept(site: tuple[Pool, Path]) -> None:
    """A process that left the worker's session and group ends with the test all the same."""
    with site[0].open(ITEM) as student:
        uid = run(student, DAEMON)
        assert zygote._processes_of(uid) >= 1
    assert zygote._processes_of(uid) == 0


def failing(student: Student) -> None:
    raise RuntimeError("a test fails")


ENDINGS: dict[str, Callable[[Student], Any]] = {
    "success": lambda student: run(student, "answer = 1"),
    "failure-of-the-test": failing,
    "exception-of-the-student": lambda student: run(student, "1 / 0"),
    "exit": lambda student: run(student, "import os; os._exit(1)"),
    "crash": lambda student: run(student, "import ctypes; ctypes.string_at(0)"),
    "garbage": lambda student: run(student, "import os; [os.write(n, b'x' * 99) for n in (3, 4, 5, 6)]"),
    "daemon": lambda student: run(student, DAEMON),
    "not-used": lambda student: None,
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_test_leaves_no_process_and_no_open_file(site: tuple[Pool, Path], ending: Callable[[Student], Any]) -> None:
    """However a test ends: the processes and the open files are those of before."""
    pool, folder = site
    running, files = processes(), len(os.listdir("/proc/self/fd"))
    try:
        with pool.open(ITEM) as student:
            uid = run(student, "import os; answer = os.getuid()")
            ending(student)
    except (RuntimeError, ZeroDivisionError, Ended, OSError):
        pass
    assert zygote._processes_of(uid) == 0
    assert {pid for pid in processes() - running if _parent(pid) == pool._zygotes[False].pids()[0]} == set()
    assert len(os.listdir("/proc/self/fd")) == files
    assert list((folder / "scratch").iterdir()) == []


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except OSError:
        return 0


def test_closed_pool_leaves_nothing() -> None:
    """When ``close`` returns there is no zygote, no worker and no open file of the pool's; twice is once."""
    files = len(os.listdir("/proc/self/fd"))
    with open_pool({"probe": PROBE}) as (pool, folder):
        zygote_pid = pool._zygotes[False].pids()[0]
        opened = pool.open(ITEM)
        student = opened.__enter__()
        pid = run(student, "import os; answer = os.getpid()")
        pool.close()  # in the middle of a test, as when a run is broken off
        assert not is_alive(pid)
        assert not is_alive(zygote_pid)
        with pytest.raises(Ended):
            run(student, "answer = 1")
        with pytest.raises(GraderError, match="the zygote does not answer"):
            opened.__exit__(None, None, None)  # the test's own end finds no zygote any more
        with pytest.raises(GraderError, match="the zygote does not answer"), pool.open(ITEM):
            pass
        assert list((folder / "scratch").iterdir()) == []
        pool.close()
    assert len(os.listdir("/proc/self/fd")) == files


def test_unused_pool_closes() -> None:
    """A pool that never gave a worker ends as well, before its zygote has even started."""
    files = len(os.listdir("/proc/self/fd"))
    with open_pool({"probe": PROBE}) as (pool, _):
        zygote_pid = pool._zygotes[False].pids()[0]
    assert not is_alive(zygote_pid)
    assert len(os.listdir("/proc/self/fd")) == files


# A worker that does not come to be is a fault of ours.


def test_worker_that_does_not_start_is_a_fault_of_ours(
    site: tuple[Pool, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """GraderError, and nothing is left; the next worker starts."""
    pool, folder = site
    files = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(pool, "_assignment", _with_memory(pool, "much"))
    with pytest.raises(GraderError, match="a worker did not start"), pool.open(ITEM):
        pass
    monkeypatch.undo()
    assert len(os.listdir("/proc/self/fd")) == files
    assert list((folder / "scratch").iterdir()) == []
    with pool.open(ITEM) as student:
        assert run(student, "answer = 1") == 1


def _with_memory(pool: Pool, memory: Any) -> Any:
    budgets = dataclasses.replace(pool._assignment.budgets, memory=memory)
    return dataclasses.replace(pool._assignment, budgets=budgets)


def test_silent_worker_is_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that does not say that it is ready is waited for READY_SECONDS."""
    monkeypatch.setattr(pool_module, "READY_SECONDS", 0.02)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(GraderError, match="a worker did not start"):
        pool_module._wait_until_ready(ours)


# The link, with a far side of our own.


class Peer:
    """The far end of a link, and what it is to answer."""

    def __init__(self, **budgets: float) -> None:
        self.ours, self.theirs = socket.socketpair()
        values: dict[str, Any] = {"call": 5, "test": 5, "item": 50, "run": 500, "platform": 600, **budgets}
        self.deadlines = Deadlines(Budgets(**values))
        self.deadlines.begin("a")
        self.report = Report()
        self.link = WorkerLink(self.ours, self.deadlines, self.report)

    def send(self, number: int, word: str = "ok", value: object = 1.5) -> None:
        wire.send(self.theirs, number, word, plain(value))

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


def plain(value: object) -> Flat:
    return flatten(value, lambda far: (0, "object"))


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer(call=SOON)
    yield peer
    peer.close()


def test_request_and_answer_have_the_same_number(peer: Peer) -> None:
    """Requests are numbered from 1; an answer is taken by its number."""
    for number in (1, 2):
        peer.send(number)
        assert peer.link.ask("call", plain([]))[0] == "ok"
        assert wire.receive(peer.theirs)[:2] == (number, "call")
    assert peer.report.calls == 2


@pytest.mark.parametrize("number", [0, 2, -1], ids=["ready", "next", "negative"])
def test_answer_to_another_request_is_invalid(peer: Peer, number: int) -> None:
    """An answer that was sent before it was asked for is none."""
    peer.send(number)
    with pytest.raises(Ended, match="your code sent an invalid reply"):
        peer.link.ask("call", plain([]))


def test_answer_sent_twice_is_invalid(peer: Peer) -> None:
    """What is left over of one answer does not become the next."""
    peer.send(1)
    peer.send(1, value="forged")
    peer.link.ask("call", plain([]))
    with pytest.raises(Ended, match="your code sent an invalid reply"):
        peer.link.ask("call", plain([]))


HALF = b"\x09\0\0\0x"
FAILURES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "closed": (lambda far: far.close(), Ended, "your code ended its process"),
    "closed-half-way": (lambda far: [far.send(HALF), far.close()], Ended, "your code ended its process"),
    "garbage": (lambda far: far.send(b"\xff" * 20), Ended, "your code sent an invalid reply"),
    "silent": (lambda far: None, Late, f"your code did not finish within {SOON} s"),
    "half-a-frame": (lambda far: far.send(HALF), Late, f"your code did not finish within {SOON} s"),
}


@pytest.mark.parametrize(("fail", "error", "message"), FAILURES.values(), ids=FAILURES)
def test_link_that_failed_once_is_over(
    peer: Peer, fail: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    """After the first failure every request fails alike, at once, and nothing more is sent or read."""
    fail(peer.theirs)
    with pytest.raises(error, match=message):
        peer.link.ask("call", plain([]))
    calls, began = peer.report.calls, time.monotonic()
    with pytest.raises(error, match=message):
        peer.link.ask("call", plain([]))
    assert peer.report.calls == calls
    assert time.monotonic() - began < SOON / 2
    assert peer.deadlines._missed == ({"a": 1} if error is Late else {})


def test_link_without_deadlines_waits() -> None:
    """The reference's link has no deadline of its own: not even that of its start."""
    peer = Peer()
    try:
        peer.send(0, "ready", asdict(Confinement(own_user=True)))
        assert pool_module._wait_until_ready(peer.ours) == Confinement(own_user=True)
        peer.send(1)
        assert WorkerLink(peer.ours, None, Report()).ask("call", plain([]))[0] == "ok"
        assert peer.ours.gettimeout() is None
    finally:
        peer.close()


# What a run tells of itself.


def test_report_counts_what_happened() -> None:
    """Workers, calls, start times and the longest call are counted for staff."""
    with open_pool({"probe": PROBE}) as (pool, _):
        for _ in range(2):
            with pool.open(ITEM) as student:
                run(student, "answer = 1")
        report = pool.report
        assert (report.workers, report.calls, report.leftovers) == (2, 6, 0)
        assert report.confinement.own_user
        assert len(report.start_seconds) == 2
        assert 0 < report.longest_call < 20


def test_trusted_process_stays_clean() -> None:
    """A process that grades has neither torch nor the student's package in it afterwards."""
    source = """
        import sys
        from tests.staff.links import ITEM, PROBE, open_pool
        with open_pool({"probe": PROBE}) as (pool, folder), pool.open(ITEM) as student:
            student.probe.run("answer = 1")
        print([name for name in sys.modules if name.partition(".")[0] in ("torch", "mini", "pickle5", "dill")])
        print([place for place in sys.path if place.startswith(str(folder))])
    """
    command = [sys.executable, "-c", textwrap.dedent(source)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n[]\n"


# Compiling once for all workers.

COMPILED = {
    "good": "value = 1\n",
    "never": "import os\nos._exit(1)\n",
    "bad": "value = = 1\n",
    "null": "value = '\0'\n",
}


def test_package_is_compiled_once_and_not_run() -> None:
    """Bytecode is there for what compiles, and nothing of it ran; what does not compile says so when imported."""
    with open_pool(COMPILED) as (pool, folder):
        pool.precompile()
        cache = folder / "submission" / "mini" / "__pycache__"
        assert sorted(path.name.partition(".")[0] for path in cache.iterdir()) == ["__init__", "good", "never"]
        assert {(path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) for path in cache.iterdir()} == {(0, 0o644)}
        with pool.open(ITEM) as student:
            assert student.good.value == 1
            with pytest.raises(SyntaxError):
                _ = student.bad
            with pytest.raises(Ended):
                _ = student.never


def test_packages_of_two_pools_do_not_mix(site: tuple[Pool, Path]) -> None:
    """Each pool serves its own submission."""
    with open_pool({"probe": PROBE, "mark": "name = 'second'\n"}) as (second, folder):
        assert not (folder / "submission" / "mini" / "__pycache__").exists()
        with second.open(ITEM) as student, site[0].open(ITEM) as other:
            assert student.mark.name == "second"
            with pytest.raises(ModuleNotFoundError):
                _ = other.mark


def test_package_that_is_missing_is_the_students_error() -> None:
    """A submission without its package fails at the first import, not at the start of a worker."""
    with open_pool({}) as (pool, folder):
        (folder / "submission" / "mini").rename(folder / "submission" / "other")
        with pool.open(ITEM) as student, pytest.raises(ModuleNotFoundError, match="mini"):
            _ = student.probe
