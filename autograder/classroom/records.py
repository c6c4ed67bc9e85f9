"""A graded class on disk: what ``regrade`` writes, and what reports, exports, slots and comparisons read.

A folder of grades holds three files:

* ``assignment.json``: an ``Outline``, so that nothing below needs the repository
* ``roster.jsonl``: a ``Handed`` a line, one for each submission of the class, in the order of the export
* ``journal.jsonl``: an ``Entry`` a line, one for each content that was graded with a grader; only ever appended to. A
  class that is graded in shards has ``journal-2-of-8.jsonl`` and so on, which are read as one

A submission's entry is the one with its content and the outline's grader. Two students who hand in the same bytes share
an entry, and an entry of another grader (an earlier regrade) stays in the journal, unused. Where the grader failed and
a later run did not, the verdict counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

import msgspec

from ..feedback.errors import InputError

OUTLINE, ROSTER, JOURNAL = "assignment.json", "roster.jsonl", "journal.jsonl"
GRADED, REFUSED, FAILED = "graded", "refused", "failed"

Kind = TypeVar("Kind", bound=msgspec.Struct)


class Person(msgspec.Struct, frozen=True, omit_defaults=True):
    """A student as the platform knows them; each field may be empty."""

    name: str = ""
    sid: str = ""
    email: str = ""

    @property
    def key(self) -> str:
        """What tells this student from others: the email address, else the student id, else the name."""
        return self.email.casefold() or self.sid or self.name


class Earlier(msgspec.Struct, frozen=True, omit_defaults=True):
    """An earlier submission as the platform recorded it; ``score`` is None where it has none."""

    created_at: str = ""
    score: float | None = None


class Handed(msgspec.Struct, frozen=True, omit_defaults=True):
    """One submission.

    Attributes:
        submission: its name: that of its folder or zip in the export.
        people: who handed it in: several for a group, none where that is not known.
        created_at: ISO 8601 with offset; empty where that is not known.
        content: digest of the submission files that were taken; the key of its entry.
        earlier: the same people's earlier submissions, oldest first.
        before: item -> score, as the platform has it; None where it has no results.
        before_total: the platform's total; None where it has none.
        active: the one that counts: a student's latest.
    """

    submission: str
    people: tuple[Person, ...] = ()
    created_at: str = ""
    content: str = ""
    earlier: tuple[Earlier, ...] = ()
    before: dict[str, float] | None = None
    before_total: float | None = None
    active: bool = True


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item of a graded submission.

    Attributes:
        item: slug.
        state: one of ``feedback.scores``' states.
        tests: "file::function[case]" -> state; hidden tests' files begin with "hidden/".
        mistakes: ids of the known mistakes whose hint was shown.
        output: what the student reads.
    """

    item: str
    score: float
    state: str
    tests: dict[str, str] = {}
    mistakes: tuple[str, ...] = ()
    output: str = ""


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came out of grading one content with one grader.

    Attributes:
        content, grader: the key.
        status: GRADED; REFUSED, nothing could be taken from what was handed in (every row is 0); FAILED, the grader
            failed in part or as a whole: no verdict.
        output: what stands above the rows.
        seconds: of wall time.
    """

    content: str
    grader: str
    status: str
    rows: tuple[Row, ...] = ()
    output: str = ""
    seconds: float = 0.0

    @property
    def scores(self) -> dict[str, float]:
        """Item slug -> score."""
        return {row.item: row.score for row in self.rows}

    @property
    def total(self) -> float:
        """The sum of all scores, bonus and all."""
        return round(sum(row.score for row in self.rows), 2)


class ItemFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item of the assignment; ``page`` is the stem of its writeup page, without language."""

    slug: str
    number: str
    part: str
    title: str
    title_zh: str
    points: float
    file: str
    bonus: bool = False
    waived: bool = False
    page: str = ""


class PartFacts(msgspec.Struct, frozen=True):
    """A part of the assignment."""

    slug: str
    number: str
    title: str
    title_zh: str


class MistakeFacts(msgspec.Struct, frozen=True):
    """A known mistake: the items that it costs, and its hints."""

    items: tuple[str, ...]
    hint: str
    hint_zh: str


class Outline(msgspec.Struct, frozen=True, omit_defaults=True):
    """The assignment as it was graded.

    Attributes:
        grader: digest of everything that a grade depends on beside the submission: the key of the entries.
        mistakes: by id.
        slot_bonus: points for slot A above half, of ``autograder slots``.
    """

    title: str
    title_zh: str
    version: str
    grader: str
    items: tuple[ItemFacts, ...]
    parts: tuple[PartFacts, ...]
    mistakes: dict[str, MistakeFacts] = {}
    language: str = "en"
    slot_bonus: float = 0.0

    @property
    def points(self) -> float:
        """The sum of all points that are no bonus."""
        return sum(item.points for item in self.items if not item.bonus)


@dataclass(frozen=True)
class Grades:
    """A graded class.

    Attributes:
        entries: by content, of the outline's grader.
    """

    outline: Outline
    handed: tuple[Handed, ...]
    entries: dict[str, Entry] = field(default_factory=dict)

    def active(self) -> Iterator[tuple[Handed, Entry | None]]:
        """Each submission that counts, with its entry; None where it was not graded (yet)."""
        for handed in self.handed:
            if handed.active:
                yield handed, self.entries.get(handed.content)


def read_grades(folder: Path, *, outcomes: bool = True) -> Grades:
    """Read a folder of grades.

    Args:
        folder: what ``regrade`` has written.
        outcomes: False leaves out tests and outputs, which are nearly all of its size, where scores are enough.

    Raises:
        InputError: there is none here, or a file of it cannot be read.
    """
    outline = read_outline(folder)
    handed = tuple(read_lines(folder / ROSTER, Handed))
    entries: dict[str, Entry] = {}
    for path in journals(folder):
        for entry in read_lines(path, Entry):
            before = entries.get(entry.content)
            if entry.grader == outline.grader and (before is None or before.status == FAILED):
                entries[entry.content] = entry if outcomes else _scores_of(entry)
    return Grades(outline, handed, entries)


def journal_name(shard: tuple[int, int]) -> str:
    """The journal of one of several shards, counted from 1."""
    number, count = shard
    return JOURNAL if count == 1 else f"journal-{number}-of-{count}.jsonl"


def journals(folder: Path) -> list[Path]:
    """All journals of a folder of grades."""
    return sorted(folder.glob("journal*.jsonl"))


def _scores_of(entry: Entry) -> Entry:
    rows = tuple(msgspec.structs.replace(row, tests={}, output="") for row in entry.rows)
    return msgspec.structs.replace(entry, rows=rows)


def write_grades(folder: Path, grades: Grades) -> None:
    """Write a folder of grades anew, for those that come from elsewhere than ``regrade``, such as tests."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / OUTLINE).write_bytes(msgspec.json.format(msgspec.json.encode(grades.outline), indent=1))
    (folder / ROSTER).write_bytes(lines_of(grades.handed))
    (folder / JOURNAL).write_bytes(lines_of(grades.entries.values()))


def lines_of(structs: Iterable[msgspec.Struct]) -> bytes:
    """Structs as JSON, a line each."""
    return msgspec.json.Encoder().encode_lines(structs)


def moment(text: str) -> float:
    """Seconds since 1970 of a time as records have it; before everything where there is none."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return -math.inf
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()


def read_lines(path: Path, kind: type[Kind]) -> Iterator[Kind]:
    """The structs of a file of lines, one at a time. A last line without its end was cut off by a crash: none.

    Raises:
        InputError: no such file, or a line of it is something else.
    """
    decoder = msgspec.json.Decoder(kind)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    try:
                        yield decoder.decode(line)
                    except msgspec.DecodeError as error:
                        raise InputError(f"{path}:{number}: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def read_outline(folder: Path) -> Outline:
    """The outline alone of a folder of grades.

    Raises:
        InputError: there is none here, or it cannot be read.
    """
    path = folder / OUTLINE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Outline)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: is {path.parent} a folder of grades?") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{path}: {error}") from None
