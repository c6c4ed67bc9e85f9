"""Which rung of the sandbox ladder this run stands on: tried in a real worker, not assumed.

Trusted. A worker says which of the kernel's means it got (``confine.Confinement``); then it runs ``canary.attempts``
as if it were student code. A means that is there and does not hold counts as not there.

=====  ==================  ===================================================================================
rung   name                a worker has
=====  ==================  ===================================================================================
3      sealed              a user of its own, system calls filtered, the file system closed but for its own
2      separated           a user of its own and system calls filtered; it reads what everybody may read, so the
                           modes of our files must close them
2n     network open        a user of its own, nothing filtered; on the platform this is too little
1      rootless            our own user, system calls filtered, the file system closed
1b     process             a process of its own: accidents are contained, malice is not
=====  ==================  ===================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .confine import Confinement
from .feedback.errors import Ended, GraderError, StudentError
from .feedback.handles import Student

RUNGS = ("1b", "1", "2n", "2", "3")
NAMES = {"3": "sealed", "2": "separated", "2n": "network open", "1": "rootless", "1b": "process"}
PLATFORM_MINIMUM = "2"
_ENVIRONMENT = frozenset(
    "HOME LANG LC_CTYPE MKL_NUM_THREADS OMP_NUM_THREADS OPENBLAS_NUM_THREADS PATH PYTHONHASHSEED TMPDIR".split()
)


@dataclass(frozen=True)
class Isolation:
    """What was found.

    Attributes:
        rung: of the ladder.
        landlock: ABI of the kernel's Landlock that holds; 0 for none.
        tried: how many attempts were made.
        through: those that got through although the rung says that they must not.
    """

    rung: str
    landlock: int
    tried: int
    through: tuple[str, ...]

    def at_least(self, rung: str) -> bool:
        """Whether this is as good as a rung, and holds what it says."""
        return not self.through and RUNGS.index(self.rung) >= RUNGS.index(rung)

    def line(self) -> str:
        """One line for staff."""
        held = self.tried - len(self.through)
        text = f"rung {self.rung} {NAMES[self.rung]} | landlock ABI {self.landlock} | canaries {held}/{self.tried}"
        return text + "".join(f" | GOT THROUGH: {attempt}" for attempt in self.through)


def rung_of(confinement: Confinement) -> str:
    """The rung that a worker's means make."""
    if confinement.own_user:
        if not confinement.filtered:
            return "2n"
        return "3" if confinement.landlock else "2"
    return "1" if confinement.filtered and confinement.landlock else "1b"


def try_out(
    student: Student, confinement: Confinement, secrets: Iterable[Path], closed: Iterable[Path], pids: Iterable[int]
) -> Isolation:
    """Run the attempts through a worker whose package is ``canary``.

    Args:
        student: the worker.
        confinement: what it says of itself.
        secrets: files and folders that it must not read.
        closed: folders that it must not write to.
        pids: processes of ours that it must not signal.

    Raises:
        GraderError: the worker cannot do what honest code needs.
    """
    rung = rung_of(confinement)
    attempts: Any = student.attempts
    through: list[str] = []
    tried = 0

    def expect_not(what: str, got_through: bool) -> None:
        nonlocal tried
        tried += 1
        if got_through:
            through.append(what)

    try:
        if attempts.work() is not True:
            raise GraderError("a worker cannot compute")
        if rung in ("2n", "2", "3"):
            expect_not("root", attempts.root())
        if rung != "1b":
            for path in secrets:
                expect_not(f"read {path.name}", attempts.read(str(path)))
            for folder in closed:
                expect_not(f"write to {folder.name}", attempts.write(str(folder)))
            for pid in pids:
                expect_not("signal the grader", attempts.signal(pid))
                expect_not("read the grader's memory", attempts.memory(pid))
                if confinement.filtered:
                    expect_not("signal the grader by a file", attempts.owner(pid))
        if confinement.filtered:
            expect_not("network", attempts.network())
            expect_not("fork", attempts.fork())
        expect_not("environment", not _ENVIRONMENT.issuperset(attempts.environment()))
    except StudentError as error:
        raise GraderError(f"a worker cannot do what honest code needs: {error.kind}: {error}") from None
    if confinement.filtered:
        got_through = True
        with suppress(Ended):  # it ends when it gets through
            got_through = attempts.execute() is not False
        expect_not("run a program", got_through)
    return Isolation(rung, confinement.landlock, tried, tuple(through))
