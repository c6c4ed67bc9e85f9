"""What a worker is proved to be: the rungs, the attempts, and one name for each that gets through.

The attempts are those of ``canary.attempts``. Flaws are planted in a copy of the engine, whose zygote then serves.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograder import pool as pool_module
from autograder.canaries import NAMES, RUNGS, Isolation, rung_of, try_out
from autograder.canary import attempts
from autograder.confine import Confinement
from autograder.feedback.errors import Ended, GraderError, StudentError
from tests.staff.links import ITEM, PROBE, open_folder, open_pool

ROOT = Path(__file__).parents[2]
SEALED = Confinement(own_user=True, filtered=True, landlock=7)
MEANS = {
    "3": SEALED,
    "2": Confinement(own_user=True, filtered=True),
    "2n": Confinement(own_user=True),
    "1": Confinement(filtered=True, landlock=3),
    "1b": Confinement(),
}

# The ladder.


@pytest.mark.parametrize(
    ("own_user", "filtered", "landlock", "rung"),
    [
        (True, True, 7, "3"),
        (True, True, 1, "3"),
        (True, True, 0, "2"),
        (True, False, 7, "2n"),
        (True, False, 0, "2n"),
        (False, True, 1, "1"),
        (False, True, 0, "1b"),
        (False, False, 7, "1b"),
        (False, False, 0, "1b"),
    ],
)
def test_means_make_the_rung(own_user: bool, filtered: bool, landlock: int, rung: str) -> None:
    """Each of the eight combinations of the kernel's three means stands on one rung."""
    assert rung_of(Confinement(own_user, filtered, landlock)) == rung


def test_ladder_is_in_order() -> None:
    """Every rung is as good as itself and those below, and no better; each has a name."""
    for place, rung in enumerate(RUNGS):
        found = Isolation(rung, 0, 5, ())
        assert [found.at_least(other) for other in RUNGS] == [other <= place for other in range(len(RUNGS))]
    assert set(NAMES) == set(RUNGS)


def test_rung_that_does_not_hold_is_none() -> None:
    """One attempt that gets through, and the worker is not as good as any rung."""
    assert not any(Isolation("3", 7, 15, ("fork",)).at_least(rung) for rung in RUNGS)


def test_line_says_what_got_through() -> None:
    """Staff read the rung, its name, the count, and every attempt that should have failed."""
    assert Isolation("3", 7, 15, ()).line() == "rung 3 sealed | landlock ABI 7 | canaries 15/15"
    line = "rung 2 separated | landlock ABI 0 | canaries 13/15 | GOT THROUGH: fork | GOT THROUGH: network"
    assert Isolation("2", 0, 15, ("fork", "network")).line() == line


# The attempts, of a worker of our making.


def holding(**through: Any) -> Any:
    """A student whose attempts all fail but for those named; an exception is raised."""

    def answer(value: Any) -> Any:
        def attempt(*arguments: object) -> Any:
            if isinstance(value, BaseException):
                raise value
            return value

        return attempt

    names = "read write network signal memory owner fork execute root".split()
    answers = {**dict.fromkeys(names, False), "work": True, "environment": ["HOME", "PATH"], **through}
    return SimpleNamespace(attempts=SimpleNamespace(**{name: answer(value) for name, value in answers.items()}))


def tried(confinement: Confinement, **through: Any) -> Isolation:
    """What is found of such a worker."""
    return try_out(holding(**through), confinement, [Path("/x/secret")], [Path("/x/results")], [1])


@pytest.mark.parametrize(("rung", "count"), [("3", 10), ("2", 10), ("2n", 6), ("1", 9), ("1b", 1)])
def test_rung_decides_what_is_tried(rung: str, count: int) -> None:
    """What a rung promises is tried, and all of it; a rung that promises little is not blamed for it."""
    found = tried(MEANS[rung])
    assert (found.rung, found.tried, found.through) == (rung, count, ())


@pytest.mark.parametrize(
    ("attempt", "value", "named"),
    [
        ("read", True, "read secret"),
        ("write", True, "write to results"),
        ("signal", True, "signal the grader"),
        ("memory", True, "read the grader's memory"),
        ("owner", True, "signal the grader by a file"),
        ("network", True, "network"),
        ("fork", True, "fork"),
        ("root", True, "root"),
        ("environment", ["HOME", "TOKEN"], "environment"),
        ("execute", Ended("your code ended its process"), "run a program"),
        ("execute", None, "run a program"),
    ],
    ids="read write signal memory owner network fork root environment execute-ends execute-odd".split(),
)
def test_attempt_that_gets_through_is_named(attempt: str, value: Any, named: str) -> None:
    """Staff read which of the attempts it was, and the worker is as good as no rung."""
    found = tried(SEALED, **{attempt: value})
    assert found.through == (named,)
    assert found.tried == 10
    assert not found.at_least("1b")


@pytest.mark.parametrize(
    ("work", "complaint"),
    [
        (False, "a worker cannot compute"),
        (StudentError("no space", "OSError"), "what honest code needs: .*no space"),
        (Ended("your code ended its process"), "what honest code needs"),
    ],
    ids=["wrong", "raises", "ends"],
)
def test_worker_that_cannot_work_is_a_fault_of_ours(work: Any, complaint: str) -> None:
    """A sandbox that breaks honest code is no better than one that holds nothing."""
    with pytest.raises(GraderError, match=complaint):
        tried(SEALED, work=work)


# The attempts themselves, where nothing holds them.


def test_attempts_get_through_in_an_open_process(tmp_path: Path) -> None:
    """Each attempt says True where nothing is closed: one that never could would prove nothing."""
    (tmp_path / "file").write_text("x")
    assert attempts.read(str(tmp_path))
    assert attempts.read(str(tmp_path / "file"))
    assert attempts.write(str(tmp_path))
    assert os.listdir(tmp_path) == ["file"]
    assert attempts.signal(os.getppid())
    assert attempts.memory(os.getpid())
    assert attempts.owner(os.getpid())
    assert attempts.fork()
    assert attempts.root() is (os.geteuid() == 0)
    assert "PATH" in attempts.environment()


def test_attempt_at_the_network_gets_through_where_there_is_one() -> None:
    """An internet socket can be made here, and the attempt says so."""
    socket.socket(socket.AF_INET).close()
    assert attempts.network()


def test_attempt_to_run_a_program_ends_the_process() -> None:
    """It does not come back: that is how the pool learns of it."""
    source = "from autograder.canary import attempts; attempts.execute(); raise SystemExit(9)"
    assert subprocess.run([sys.executable, "-c", source], cwd=ROOT, check=False).returncode == 0


# A real worker, with a planted flaw.

PLANTS = {
    "nothing": ("zygote.py", "import gc", "import gc"),
    "no-filter": ("seccomp.py", "program = _bytes()", 'raise OSError("no filters")\n    program = _bytes()'),
    "filter-that-filters-nothing": ("seccomp.py", "program = _bytes()", "return\n    program = _bytes()"),
    "filter-without-clone": ("seccomp.py", "allowed=(CLONE_THREAD,)),", "allowed=(CLONE_THREAD, 0)),"),
    "filter-without-fcntl": ("seccomp.py", "denied=(_F_SETOWN, ", "denied=("),
    "no-landlock": ("landlock.py", "everything = _ALL", 'raise OSError("no landlock")\n    everything = _ALL'),
    "landlock-that-closes-nothing": ("landlock.py", "everything = _ALL", "return abi\n    everything = _ALL"),
    "no-change-of-user": ("confine.py", "        become(cell.uid)\n", "        pass\n"),
    "environment": ("worker.py", "os.chdir(post.scratch)", "os.environ['TOKEN'] = 'x'; os.chdir(post.scratch)"),
}


@contextmanager
def proved(monkeypatch: pytest.MonkeyPatch, plant: str) -> Iterator[tuple[Isolation, list[str]]]:
    """What is found of a worker with a flaw, where secrets and results are private, and where they are open."""
    file, old, new = PLANTS[plant]
    with open_folder() as folder:
        shutil.copytree(ROOT / "autograder", folder / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
        path = folder / "autograder" / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")
        monkeypatch.setattr(pool_module, "ENGINE", folder / "autograder")
        monkeypatch.setattr(pool_module, "READABLE", (*pool_module.READABLE, str(folder / "autograder")))
        with open_pool({"probe": PROBE}) as (pool, site):
            for name, mode in (("private", 0o700), ("open", 0o777)):
                (site / name).mkdir()
                (site / name / f"secret-{name}").write_text("x")
                (site / name).chmod(mode)
            closed = pool.prove([site / "private" / "secret-private"], [site / "private"])
            opened = pool.prove([site / "open" / "secret-open"], [site / "open"])
            yield closed, sorted(set(opened.through) - set(closed.through))


def test_later_worker_must_be_confined_like_the_one_that_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that got less than the proof says serves no test: a fault of ours."""
    with open_pool({"probe": PROBE}) as (pool, _):
        pool.prove([], [])
        with pool.open(ITEM) as student:
            assert student.probe.run("answer = 1") == 1
        real = pool_module._wait_until_ready

        def less(sock: socket.socket) -> Confinement:
            return replace(real(sock), filtered=False)

        monkeypatch.setattr(pool_module, "_wait_until_ready", less)
        with pytest.raises(GraderError, match="a worker is not confined as it was tried"), pool.open(ITEM):
            pytest.fail("it served")


OPENED = ["read secret-open", "write to open"]
FOUND: dict[str, tuple[str, set[str], list[str]]] = {
    "nothing": ("3", set(), []),
    "no-filter": ("2n", set(), []),
    "filter-that-filters-nothing": ("3", {"network", "fork", "run a program", "signal the grader by a file"}, []),
    "filter-without-clone": ("3", {"fork"}, []),
    "filter-without-fcntl": ("3", {"signal the grader by a file"}, []),
    "no-landlock": ("2", set(), OPENED),
    "landlock-that-closes-nothing": ("3", set(), OPENED),
    "no-change-of-user": ("3", {"root"}, []),
    "environment": ("3", {"environment"}, []),
}


@pytest.mark.parametrize("plant", FOUND)
def test_planted_flaw_is_found(monkeypatch: pytest.MonkeyPatch, plant: str) -> None:
    """A means that is missing lowers the rung; one that is there and does not hold is named; both by a real worker."""
    rung, through, opened = FOUND[plant]
    with proved(monkeypatch, plant) as (found, more):
        assert found.rung == rung
        assert set(found.through) == through
        assert more == opened
        assert found.at_least("1b") is not bool(through)
