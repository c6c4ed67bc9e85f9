"""Who and what counts: from the records of a class to students, submissions and a table of scores.

Rules, which the page states as well:

* A *submission* counts when it is active and the latest of at least one of its people. A group's is one submission.
* A *student* is a person. Whoever is in several active submissions counts with the latest. A submission without known
  people has one unnamed student.
* Scores are whole hundredths of a point, as they were written, so that sums are exact and "no variance" is no matter
  of rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...feedback import scores
from ..records import FAILED, GRADED, REFUSED, Entry, Grades, Handed, ItemFacts, Outline, Person, Row, moment

NOT_HANDED_IN, NOT_GRADED = "not handed in", "not graded"
STATUSES = (GRADED, REFUSED, FAILED, NOT_GRADED, NOT_HANDED_IN)
NO_VERDICT = frozenset((scores.GRADER_ERROR, scores.NOT_RUN, scores.SKIPPED))
STATES = (  # in the order in which strips show them: least to worry about first
    scores.PASSED,
    scores.UNFINISHED,
    scores.FAILED,
    scores.LATE,
    scores.CANNOT_IMPORT,
    scores.WAITING,
    scores.NOT_STARTED,
    scores.GRADER_ERROR,
)
Hundredths = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Student:
    """A person, and the place of their submission in ``Population.submissions``."""

    person: Person
    submission: int


@dataclass(frozen=True)
class Submission:
    """A submission that counts, or the place of one that was never made.

    Attributes:
        status: one of ``STATUSES``.
        rows: item slug -> row.
        students: how many people count with it, 1 or more.
    """

    handed: Handed
    entry: Entry | None
    status: str
    rows: Mapping[str, Row]
    students: int

    @property
    def total(self) -> float | None:
        """Its points; None where there is no verdict."""
        if self.entry is None or self.status not in (GRADED, REFUSED):
            return None
        return self.entry.total

    def state(self, item: ItemFacts) -> str:
        """The state of an item as it is shown; what is no verdict is GRADER_ERROR, nothing at all is empty."""
        row = self.rows.get(item.slug)
        if self.entry is None:
            return ""
        if row is None:
            return scores.CANNOT_IMPORT if self.status == REFUSED else scores.GRADER_ERROR
        if row.state in NO_VERDICT:
            return scores.GRADER_ERROR
        return row.state if row.state in STATES else scores.FAILED


@dataclass(frozen=True)
class Population:
    """Everybody and everything that counts."""

    outline: Outline
    submissions: tuple[Submission, ...]
    students: tuple[Student, ...]

    @cached_property
    def graded(self) -> tuple[Submission, ...]:
        """The submissions on which statistics of items stand: those with a verdict on what was handed in."""
        return tuple(one for one in self.submissions if one.status == GRADED)

    @cached_property
    def points(self) -> Hundredths:
        """Submission of ``graded`` x item of the outline: hundredths of a point; -1 where there is no verdict."""
        table = np.full((len(self.graded), len(self.outline.items)), -1, dtype=np.int64)
        for at, one in enumerate(self.graded):
            for column, item in enumerate(self.outline.items):
                row = one.rows.get(item.slug)
                if row is not None and row.state not in NO_VERDICT:
                    table[at, column] = hundredths(row.score)
        return table

    @cached_property
    def core(self) -> tuple[int, ...]:
        """The items that make the main score: neither bonus nor waived, and somebody has a verdict on them."""
        judged = np.atleast_1d((self.points >= 0).any(axis=0))
        items = enumerate(self.outline.items)
        return tuple(at for at, item in items if not item.bonus and not item.waived and item.points > 0 and judged[at])

    def counts(self) -> dict[str, int]:
        """Status -> number of students."""
        found = dict.fromkeys(STATUSES, 0)
        for one in self.submissions:
            found[one.status] += one.students
        return found


def hundredths(score: float) -> int:
    """A score in whole hundredths of a point; what is no number is 0."""
    return round(score * 100) if math.isfinite(score) else 0


def populate(grades: Grades) -> Population:
    """Sort out who counts with which submission."""
    active = list(grades.active())
    latest: dict[str, tuple[float, int, Person]] = {}
    for at, (handed, _) in enumerate(active):
        when = moment(handed.created_at)
        for person in handed.people or (Person(),):
            key = f"person {person.key}" if person.key else f"unnamed {at}"
            if key not in latest or when >= latest[key][0]:
                latest[key] = (when, at, person)
    sizes: dict[int, int] = {}
    for _, at, _ in latest.values():
        sizes[at] = sizes.get(at, 0) + 1
    places = {at: place for place, at in enumerate(sorted(sizes))}
    submissions = tuple(_submission(*active[at], sizes[at]) for at in places)
    students = tuple(Student(person, places[at]) for _, at, person in latest.values())
    return Population(grades.outline, submissions, students)


def _submission(handed: Handed, entry: Entry | None, students: int) -> Submission:
    if entry is not None:
        status = entry.status if entry.status in (GRADED, REFUSED) else FAILED
    else:
        status = NOT_GRADED if handed.content else NOT_HANDED_IN
    rows = {} if entry is None else {row.item: row for row in entry.rows}
    return Submission(handed, entry, status, rows, students)
