"""Grading without isolation, for packages that are ours: mistakes of the catalogue, mechanical mutants, the reference.

A thousand trials are what proves a grader. None of them is hostile, so none needs a worker a test: a process that has
collected all tests forks for each package and plays it inline, in a few milliseconds a test. What a test says is the
same in both ways of running it, and the audit grades some of every kind in both to show that.

Never for what somebody else has written: it runs with our rights. Where processes cannot be forked there is no
rehearsal.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

import msgspec

from ..feedback.assignment import Assignment
from ..feedback.errors import GraderError
from ..grade import Graded
from ..host import end, next_line
from ..removal import remove_tree
from ..variants import home_of
from . import stage
from .stage import Play, Played, Seen, Setting

PLAY_SECONDS = 900.0  # of the longest play

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def available() -> bool:
    """Whether there is a rehearsal here: it forks, and counts the processor's time and memory as Linux does."""
    return sys.platform == "linux"


@dataclass(frozen=True)
class Rehearsed(Graded):
    """What came of a play, as of a grading, and every case of it."""

    cases: tuple[Seen, ...] = ()


class Rehearsal:
    """The near side of one stage. Starts with the first play; for one thread at a time, but for ``stop``.

    Args:
        home: holds assignment.toml, solutions/ and tests/, with the secret's variants chosen (``variants.home_of``).
        secret: seed of the hidden inputs.
        seconds: of the processor that a test may use.
    """

    def __init__(self, home: Path, secret: bytes, seconds: float = stage.SECONDS) -> None:
        self._setting = Setting(str(home.resolve()), secret.hex(), seconds)
        self._solutions = home.resolve() / "solutions"
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: Path | None = None  # in which the stage works: it may be killed at any moment
        self._stopped = False

    def play(
        self,
        package: Mapping[str, bytes],
        *,
        tests: Sequence[str] = (),
        items: Sequence[str] = (),
        enough: bool = False,
        once: bool = False,
        traces: bool = False,
    ) -> Rehearsed:
        """Grade a package of ours inline.

        Args:
            package: "lm/rnn.py" -> content; what it lacks is as in the solutions.
            tests, items, enough: as for ``grade``.
            once: try nothing any further when a test has not passed.
            traces: note what every failing check saw and how far every number was off.

        Raises:
            GraderError: the stage has ended, or does not answer.
        """
        changed = {name: content for name, content in package.items() if self._differs(name, content)}
        request = Play(changed, tuple(tests), tuple(items), enough, once, traces)
        played = msgspec.json.decode(self._ask(msgspec.json.encode(request)), type=Played)
        broken = any(case.state == "grader error" for case in played.cases)
        return Rehearsed(played.results, "", broken, tuple(played.cases))

    def _differs(self, name: str, content: bytes) -> bool:
        path = self._solutions / name
        return not path.is_file() or path.read_bytes() != content

    def _ask(self, request: bytes) -> bytes:
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        if self._stopped:
            self.kill()
        try:
            process.stdin.write(request + b"\n")
            process.stdin.flush()
            line = next_line(process.stdout.fileno(), time.monotonic() + PLAY_SECONDS)
        except (OSError, ValueError):
            line = b""
        if not line:
            self.kill()
            raise GraderError("the stage of a rehearsal has ended: do the tests pass on the reference inline?")
        return line

    def _start(self) -> None:
        command = [sys.executable, "-I", stage.__file__, str(Path(__file__).parents[2])]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._scratch = Path(tempfile.mkdtemp(prefix="stage-"))
        environment = {**os.environ, **threads, "PYTHONHASHSEED": "0", "TMPDIR": str(self._scratch)}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(msgspec.json.encode(self._setting) + b"\n")

    def stop(self) -> None:
        """End it, and play nothing any more. May be called from another thread than ``play``."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def kill(self) -> None:
        """End it at once; what it forked ends with it."""
        if self._process is not None:
            self._process.kill()
        self.close()

    def close(self) -> None:
        """End it: END_SECONDS at most."""
        process, self._process = self._process, None
        if process is None:
            return
        end(process)
        if self._scratch is not None:
            remove_tree(self._scratch)


@contextmanager
def troupe(home: Path, assignment: Assignment, secret: bytes, jobs: int | None = None) -> Iterator[Troupe]:
    """Several rehearsals of one secret, for many packages at a time.

    Args:
        home: the repository.
        assignment: of that home.
        secret: seed of the hidden inputs, and what picks the variants.
        jobs: how many; None for one a core.
    """
    with ExitStack() as stack:
        varied = stack.enter_context(home_of(home, assignment, secret))
        rehearsals = [Rehearsal(varied, secret) for _ in range(jobs or os.cpu_count() or 1)]
        for rehearsal in rehearsals:
            stack.enter_context(closing(rehearsal))
        executor = stack.enter_context(ThreadPoolExecutor(len(rehearsals)))  # left first: no thread waits for an answer
        try:
            yield Troupe(rehearsals, executor)
        except BaseException:  # Ctrl-C: nobody waits for the plays that run
            executor.shutdown(wait=False, cancel_futures=True)
            for rehearsal in rehearsals:
                rehearsal.stop()
            raise


class Troupe:
    """Rehearsals and the threads that use them; see ``troupe``."""

    def __init__(self, rehearsals: Sequence[Rehearsal], executor: ThreadPoolExecutor) -> None:
        self._executor = executor
        self._free: SimpleQueue[Rehearsal] = SimpleQueue()
        for rehearsal in rehearsals:
            self._free.put(rehearsal)

    def one(self, play: Callable[[Rehearsal], Result]) -> Result:
        """What a function does with the next rehearsal that is free."""
        rehearsal = self._free.get()
        try:
            return play(rehearsal)
        finally:
            self._free.put(rehearsal)

    def each(self, play: Callable[[Rehearsal, Thing], Result], things: Iterable[Thing]) -> Iterator[Result]:
        """The same for many things, several at a time; what comes of them in their order."""
        return self._executor.map(lambda thing: self.one(lambda rehearsal: play(rehearsal, thing)), things)
