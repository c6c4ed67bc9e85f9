"""submission_metadata.json, what the platform tells the grader about a submission: every key that it is known to write.

Trusted side. The platform reserves the right to change the file: who reads it must take every
key as optional.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from .feedback.errors import InputError

_ZONE = timezone(timedelta(hours=-8))
DUE = datetime(2026, 10, 30, 23, 59, 59, tzinfo=_ZONE)
DAY = timedelta(days=1)
STUDENTS = (
    {"id": 3001, "email": "ada@example.edu", "name": "Ada Example", "sid": "20260001"},
    {"id": 3002, "email": "grace@example.edu", "name": "Grace Example", "sid": None},
)


@dataclass(frozen=True)
class Before:
    """An earlier submission of the same student; ``score`` is None for one that crashed."""

    time: datetime
    score: float | None
    autograder_error: bool = False


def metadata(
    *,
    title: str = "Assignment",
    points: float = 100,
    created_at: datetime = DUE - DAY,
    release: datetime = DUE - 14 * DAY,
    due: datetime | None = DUE,
    late_due: datetime | None = None,
    own_due: Sequence[datetime | None] = (),
    group: bool = False,
    previous: Sequence[Before] = (),
    latest_results: dict[str, Any] | None = None,
    method: str = "upload",
) -> dict[str, Any]:
    """A submission_metadata.json with every key that the platform is known to write.

    Args:
        created_at: when it was handed in; a later rerun does not change it.
        due, late_due: the assignment's dates, None when unset.
        own_due: each student's own due date, where an extension shows; the assignment's when not given.
        group: two students instead of one.
        previous: earlier submissions, oldest first; only the last carries ``latest_results``.
    """
    students = STUDENTS if group else STUDENTS[:1]
    dates = [*own_due, *[due] * len(students)]  # at least one for each
    earlier: list[dict[str, Any]] = [
        {"submission_time": _iso(b.time), "score": b.score, "autograder_error": b.autograder_error} for b in previous
    ]
    if earlier:
        earlier[-1]["results"] = latest_results or {}
    return {
        "id": 123456789,
        "created_at": _iso(created_at),
        "assignment_id": None,
        "submission_method": method,
        "assignment": {
            "id": 25828,
            "title": title,
            "course_id": 1200,
            "release_date": _iso(release),
            "due_date": _iso(due),
            "late_due_date": _iso(late_due),
            "total_points": f"{float(points)}",
            "group_submission": group,
            "group_size": 2 if group else None,
            "outline": [],
        },
        "users": [
            {
                **student,
                "assignment": {
                    "release_date": _iso(release),
                    "due_date": _iso(own),
                    "late_due_date": _iso(late_due if own is None or late_due is None else max(late_due, own)),
                },
            }
            for student, own in zip(students, dates, strict=False)
        ],
        "previous_submissions": earlier,
    }


# Named cases: the arguments of metadata() that make them.
VARIANTS: dict[str, dict[str, Any]] = {
    "on-time": {},
    "late": {"created_at": DUE + DAY, "late_due": DUE + 3 * DAY},
    "extension": {"created_at": DUE + DAY, "own_due": (DUE + 2 * DAY,)},
    "group": {"group": True, "created_at": DUE + DAY, "own_due": (DUE, DUE + 2 * DAY)},
    "resubmission": {
        "previous": (Before(DUE - 3 * DAY, 4.0), Before(DUE - 2 * DAY, None, True), Before(DUE - 1.5 * DAY, 11.5)),
        "latest_results": {"tests": [], "extra_data": {}},
    },
    "no-dates": {"due": None},
}


def read_metadata(case: str, title: str = "Assignment", points: float = 100) -> dict[str, Any]:
    """The metadata of a named case, or from a JSON file, as ``--metadata`` takes them.

    Raises:
        InputError: neither the name of a case nor a file with a JSON object.
    """
    if case in VARIANTS:
        return metadata(title=title, points=points, **VARIANTS[case])
    try:
        document = json.loads(Path(case).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{case}: no such file, and none of {', '.join(VARIANTS)}") from None
    except OSError as error:
        raise InputError(f"{case}: {error.strerror}") from None
    except ValueError as error:  # no JSON, or no UTF-8
        raise InputError(f"{case}: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{case}: should be a JSON object")
    return document


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="microseconds")
