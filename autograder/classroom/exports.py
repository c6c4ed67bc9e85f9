"""Grades for other programs: which grade everybody gets, as a CSV file and as JSON.

No grade is made up. Whoever handed in nothing has an empty cell and no 0; a submission without a verdict has no grade,
and is refused by name or gets its previous one where that is asked for; a grade that falls is let through only when
somebody has said so.

The JSON is one object, strict (no NaN), and holds nothing of a platform:

* ``format``: "autograder-grades/1"
* ``assignment``: ``title``, ``title_zh``, ``version``, ``points`` (without bonus items)
* ``items``: ``slug``, ``number``, ``title``, ``title_zh``, ``points``, ``bonus``, ``waived``
* ``students``: ``name``, ``sid``, ``email``, ``submission``, ``created_at``, ``status`` ("graded", "refused",
  "previous", "not handed in"), ``total`` (null: none), ``scores`` (slug -> points), ``outcomes`` (test -> state)
* ``tests``: ``id`` ("file::function[case]"), ``item``, ``hidden``
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..feedback.errors import InputError
from .changes import compare
from .records import Grades, Outline, Person
from .standing import NOT_HANDED_IN, Standing, named, standings
from .tables import csv_bytes, number

FORMAT = "autograder-grades/1"
PREVIOUS = "previous"
IDENTITY = ("name", "sid", "email", "submission", "status")


@dataclass(frozen=True)
class Mark:
    """What a student gets.

    Attributes:
        status: GRADED, REFUSED (0 points), PREVIOUS or NOT_HANDED_IN.
        scores: item slug -> points; an item may be missing.
        total: None for who handed in nothing.
    """

    person: Person
    submission: str
    status: str
    scores: dict[str, float] = field(default_factory=dict)
    total: float | None = None
    created_at: str = ""
    outcomes: dict[str, str] = field(default_factory=dict)


def marks(
    grades: Grades, against: Grades | None = None, *, previous: bool = False, accept_drops: bool = False
) -> list[Mark]:
    """Everybody's grade, in the order of the roster.

    Args:
        grades: the class.
        against: what it is compared with; None for the platform's previous results.
        previous: whoever has no verdict keeps the platform's previous result.
        accept_drops: let lower scores through.

    Raises:
        InputError: somebody has no verdict, or loses points, and that was not accepted; a score is no finite number.
    """
    losers = compare(grades, against).losers
    if losers and not accept_drops:
        names = named([one.label for one in losers])
        raise InputError(f"{len(losers)} lose points: {names}; see `autograder changes`, then give --accept-drops")
    everybody = standings(grades)
    missing = [one for one in everybody if not _may_go(one, previous)]
    if missing:
        names = named([one.label for one in missing])
        way = (
            "they have no previous result either" if previous else "grade them again, or --without-verdict-as previous"
        )
        raise InputError(f"{len(missing)} without a verdict: {names}; {way}")
    found = [_mark(one) for one in everybody]
    for mark in found:
        if not all(map(math.isfinite, [*mark.scores.values(), mark.total or 0.0])):
            raise InputError(f"{mark.submission}: a score is no finite number")
    return found


def _may_go(one: Standing, previous: bool) -> bool:
    has_previous = one.handed.before is not None or one.handed.before_total is not None
    return one.has_verdict or one.status == NOT_HANDED_IN or (previous and has_previous)


def _mark(one: Standing) -> Mark:
    handed = one.handed
    if one.has_verdict:
        outcomes = {test: state for row in one.rows.values() for test, state in row.tests.items()}
        return Mark(one.person, handed.submission, one.status, one.scores, one.total, handed.created_at, outcomes)
    if one.status == NOT_HANDED_IN:
        return Mark(one.person, handed.submission, NOT_HANDED_IN)
    before = handed.before or {}
    total = round(sum(before.values()), 2) if handed.before_total is None else handed.before_total
    return Mark(one.person, handed.submission, PREVIOUS, dict(before), total, handed.created_at)


def as_csv(outline: Outline, everybody: Sequence[Mark]) -> bytes:
    """A row a student, a column an item under its slug, and the total."""
    slugs = [item.slug for item in outline.items]

    def rows() -> Iterator[list[str]]:
        yield [*IDENTITY, *slugs, "total"]
        for mark in everybody:
            person = mark.person
            identity = [person.name, person.sid, person.email, mark.submission, mark.status]
            yield [*identity, *(number(mark.scores.get(slug)) for slug in slugs), number(mark.total)]

    return csv_bytes(rows())


def as_json(grades: Grades, everybody: Sequence[Mark]) -> Iterator[bytes]:
    """The document, piece by piece: a class of thousands need not stand in memory twice."""
    encode = msgspec.json.Encoder().encode
    outline = grades.outline
    tests = {test: row.item for entry in grades.entries.values() for row in entry.rows for test in row.tests}
    assignment = {
        "title": outline.title,
        "title_zh": outline.title_zh,
        "version": outline.version,
        "points": outline.points,
    }
    items = [
        {
            "slug": item.slug,
            "number": item.number,
            "title": item.title,
            "title_zh": item.title_zh,
            "points": item.points,
            "bonus": item.bonus,
            "waived": item.waived,
        }
        for item in outline.items
    ]
    yield b'{"format":%s,\n"assignment":%s,\n"items":%s,\n"students":[' % tuple(
        map(encode, (FORMAT, assignment, items))
    )
    for at, mark in enumerate(everybody):
        yield (b",\n" if at else b"\n") + encode(_student(mark))
    yield b'],\n"tests":%s}\n' % encode(
        [{"id": test, "item": item, "hidden": test.startswith("hidden/")} for test, item in sorted(tests.items())]
    )


def _student(mark: Mark) -> dict[str, Any]:
    return {
        "name": mark.person.name,
        "sid": mark.person.sid,
        "email": mark.person.email,
        "submission": mark.submission,
        "created_at": mark.created_at,
        "status": mark.status,
        "total": mark.total,
        "scores": mark.scores,
        "outcomes": mark.outcomes,
    }
