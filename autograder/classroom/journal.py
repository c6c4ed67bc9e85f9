"""The journal: one line for each content that was graded with a grader, only ever appended to.

A line is on disk before anybody is told of it, so a killed run loses at most what it was grading. What a crash left of
a last line is cut off when the journal is opened again. One writer at a time: a second one is refused. The shards of a
class that is graded in parts have a journal each, and are read as one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ..feedback.errors import InputError
from .records import FAILED, Entry, journal_name, journals, read_lines

try:
    import fcntl
except ImportError:  # Windows: nobody looks whether a second one writes
    fcntl = None  # type: ignore[assignment]


class Journal:
    """The journal of a folder of grades, open for appending.

    Attributes:
        known: contents that this grader has graded, in any shard; a failure of the grader is none.
    """

    def __init__(self, file: int, known: set[str]) -> None:
        self._file, self.known = file, known

    def append(self, entry: Entry) -> None:
        """Write an entry down, for good.

        Raises:
            InputError: the disk is full, or gone.
        """
        try:
            _write(self._file, msgspec.json.encode(entry) + b"\n")
            os.fsync(self._file)
        except OSError as error:
            raise InputError(f"cannot write the journal: {error.strerror}") from None
        if entry.status != FAILED:
            self.known.add(entry.content)


@contextmanager
def open_journal(folder: Path, grader: str, shard: tuple[int, int] = (1, 1)) -> Iterator[Journal]:
    """The journal of a shard, after what a crash left half-written was cut off.

    Raises:
        InputError: somebody else writes it, or it cannot be read or written.
    """
    path = folder / journal_name(shard)
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    try:
        _lock(file, path)
        _cut_half_a_line(file)
        known = {
            entry.content
            for journal in journals(folder)
            for entry in read_lines(journal, Entry)
            if entry.grader == grader and entry.status != FAILED
        }
        yield Journal(file, known)
    finally:
        os.close(file)


def _lock(file: int, path: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"{path}: another regrade is writing it") from None


def _cut_half_a_line(file: int) -> None:
    size = os.fstat(file).st_size
    end = size
    while end:
        start = max(0, end - 65536)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end != size:
        os.ftruncate(file, end)


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
