"""Grades one submission after another with everything warm: hosts and zygotes are started once, not a submission.

What an item's outcomes depend on is looked up before it is run (``Memory``): stubs as they were handed out, and items
whose files did not change since the last regrade, cost nothing. A killed session or host costs a second try.
"""

from __future__ import annotations

import contextlib
import queue
import re
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from ..feedback import scores
from ..feedback.assignment import load_assignment
from ..feedback.errors import GraderError
from ..grade import SPARE_SECONDS, make_job, require_reachable, staged
from ..host import BAD_JOB, Host
from ..proof.attacks import items_of_tests
from ..recall import ItemOutcomes, read_outcomes, write_outcomes
from ..secret import read_secret, secret_of
from ..session import OK
from ..submission import Taken
from ..variants import home_of
from .digests import GraderDigests, content_digest, digest
from .export import Source
from .memory import Memory
from .reach import reached
from .records import FAILED, GRADED, REFUSED, Entry, Row

TRIES = 3  # of a submission whose session was killed
_RUN = re.compile(r" Run \w+\.")  # another one each time
_NO_VERDICT = (scores.LATE, scores.GRADER_ERROR, scores.NOT_RUN)  # they depend on more than on bytes


class Setup(msgspec.Struct, frozen=True):
    """What a grader needs to know, as plain data: it goes to other machines, on which the same paths must be there.

    Attributes:
        home: the repository, or an unpacked zip.
        secret: file with the term's secret; empty for the one of ``home``.
        memory: file that keeps outcomes of items; empty for one that goes with the process.
        jobs: how many submissions at once.
    """

    home: str
    secret: str = ""
    memory: str = ""
    jobs: int = 1


class Grader:
    """Grades submissions, from several threads at once. Close it.

    Raises:
        InputError: the home is unusable.
    """

    def __init__(self, setup: Setup) -> None:
        home = Path(setup.home)
        self._stack = contextlib.ExitStack()
        self.assignment = load_assignment(home / "assignment.toml")
        self._secret = read_secret(Path(setup.secret)) if setup.secret else secret_of(home)
        require_reachable()
        self.digests = GraderDigests(home, self.assignment, self._secret, items_of_tests(home))
        self._home = self._stack.enter_context(home_of(home, self.assignment, self._secret))
        package = self._home / "solutions" / self.assignment.package
        named = {*self.assignment.files, *self.assignment.left_out}
        self._given = [path.name for path in package.glob("*.py") if path.name not in named]
        memory = setup.memory or f"{self._stack.enter_context(tempfile.TemporaryDirectory())}/items.sqlite"
        self._memory = Memory(Path(memory))
        self._idle: queue.SimpleQueue[Host] = queue.SimpleQueue()
        self._hosts: set[Host] = set()
        self._lock, self._stopped = threading.Lock(), False

    def grade(self, source: Source, grader: str = "") -> Entry:
        """What comes out of grading a submission. Never raises for what a student handed in.

        Args:
            grader: digest that this grader must have: on another machine, another version could lie.

        Raises:
            GraderError: it has another one, or was closed meanwhile.
        """
        if grader not in ("", self.digests.whole):
            raise GraderError("this machine has another version of the grader, or of its libraries")
        began = time.monotonic()
        with (
            source.unpacked() as path,
            staged(path, self._home, self.assignment, accept_nothing=True) as (
                staging,
                taken,
            ),
        ):
            entry = self._entry(staging, taken)
        return msgspec.structs.replace(entry, seconds=round(time.monotonic() - began, 3))

    def content(self, source: Source) -> str:
        """The digest of what a submission hands in."""
        with (
            source.unpacked() as path,
            staged(path, self._home, self.assignment, accept_nothing=True) as (
                staging,
                taken,
            ),
        ):
            return content_digest(taken, self._files(staging, taken))

    def _entry(self, staging: Path, taken: Taken) -> Entry:
        files = self._files(staging, taken)
        content = content_digest(taken, files)
        keys = self._keys(files, taken)
        said = "the session left no results"
        for _ in range(TRIES):
            job = make_job(self.assignment, self._home, staging, taken, staging / "results.json", self._secret)
            recalled = self._memory.recall({slug: key for slug, (key, _) in keys.items()})
            write_outcomes(staging / "recalled.json", recalled)
            lines = tuple(_RUN.sub("", line) for line in job.lines)
            job = msgspec.structs.replace(
                job,
                lines=lines,
                recalled=str(staging / "recalled.json"),
                outcomes=str(staging / "outcomes.json"),
            )
            _clear(staging)
            with self._host() as host:
                answer = host.run(job, self.assignment.budgets.run + SPARE_SECONDS)
            results = staging / "results.json"
            if answer.code == OK and results.is_file():
                rows = _rows(results)
                self._remember(keys, recalled, staging / "outcomes.json")
                status = GRADED if taken.files else REFUSED
                return Entry(content, self.digests.whole, status, rows, "\n".join(lines))
            if self._stopped:
                raise GraderError("stopped")
            said = (answer.stderr or answer.stdout).strip().rpartition("\n")[2] or said
            if answer.code == BAD_JOB:
                break
        rows = _rows(staging / "results.json") if (staging / "results.json").is_file() else ()
        return Entry(content, self.digests.whole, FAILED, rows, said)

    def _files(self, staging: Path, taken: Taken) -> dict[str, bytes]:
        package = staging / "submission" / self.assignment.package
        return {name: (package / name).read_bytes() for name in taken.files}

    def _keys(self, files: Mapping[str, bytes], taken: Taken) -> dict[str, tuple[bytes, frozenset[str]]]:
        """Item -> the key of its outcomes, and the files that it stands for."""
        keys = {}
        for item in self.assignment.items:
            mine = reached(files, self._given, self.assignment.package, [item.file])
            parts = []
            for name in sorted(mine):
                parts += [name.encode(), files.get(name, taken.rejected.get(name, "").encode())]
            keys[item.slug] = digest([self.digests.items[item.slug]], parts), mine
        return keys

    def _remember(
        self, keys: Mapping[str, tuple[bytes, frozenset[str]]], recalled: Mapping[str, ItemOutcomes], path: Path
    ) -> None:
        """Keep what depends on bytes alone, and on no file that the key does not stand for."""
        new = {}
        for slug, item in read_outcomes(path).items():
            key, mine = keys[slug]
            asked = {f"{name}.py" for name in item.asked} - set(self._given)
            certain = all(outcome.state not in _NO_VERDICT for _, outcome in item.cases)
            if slug not in recalled and certain and asked <= mine:
                new[key] = item
        self._memory.remember(new)

    @contextlib.contextmanager
    def _host(self) -> Iterator[Host]:
        try:
            host = self._idle.get_nowait()
        except queue.Empty:
            host = Host()
        with self._lock:
            if self._stopped:
                raise GraderError("stopped")
            self._hosts.add(host)
        try:
            yield host
        except BaseException:
            host.kill()
            raise
        finally:
            self._idle.put(host)

    def stop(self) -> None:
        """End what runs, from any thread: whoever waits for it gets a GraderError."""
        with self._lock:
            self._stopped = True
            for host in self._hosts:
                host.stop()

    def close(self) -> None:
        """End the hosts and what belongs to them."""
        self.stop()
        for host in self._hosts:
            host.close()
        self._stack.close()


def _clear(staging: Path) -> None:
    """A second try begins like the first."""
    for name in ("results.json", "outcomes.json"):
        (staging / name).unlink(missing_ok=True)
    for left in (staging / "submission").glob("*/__pycache__"):
        for file in left.iterdir():
            file.unlink()
        left.rmdir()


def _rows(results: Path) -> tuple[Row, ...]:
    document = msgspec.json.decode(results.read_bytes())
    return tuple(
        Row(
            item=row["extra_data"]["item"],
            score=row["score"],
            state=row["extra_data"]["state"],
            tests=row["extra_data"]["tests"],
            mistakes=tuple(row["extra_data"]["mistakes"]),
            output=row["output"],
        )
        for row in document["tests"]
    )
