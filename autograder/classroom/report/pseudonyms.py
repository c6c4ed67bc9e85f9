"""Names for students whose names are not shown.

Students are numbered in the order of a keyed hash, so that numbers say nothing about the roster. The key is a digest of
the whole roster, the digests of all that was handed in among it: whoever has only the page, or a list of the class
beside it, cannot compute it. The same roster gives the same numbers, so a report after a regrade can be laid beside the
one before.
"""

from __future__ import annotations

import hashlib
import hmac

import msgspec

from ..records import Grades
from .population import Population


def numbers(grades: Grades, population: Population) -> list[int]:
    """The number of each student of the population, from 1."""
    roster = sorted(
        (one.submission, one.created_at, one.content, sorted((p.name, p.sid, p.email) for p in one.people))
        for one in grades.handed
    )
    key = hashlib.sha256(msgspec.json.encode(roster)).digest()
    marks = []
    for at, student in enumerate(population.students):
        person, handed = student.person, population.submissions[student.submission].handed
        text = msgspec.json.encode([person.key, handed.submission])
        marks.append((hmac.digest(key, text, "sha256"), at))
    ranks = {at: rank for rank, (_, at) in enumerate(sorted(marks), start=1)}
    return [ranks[at] for at in range(len(marks))]
