"""Where every student stands: one line a person, whoever handed in with whom.

Who counts with which submission is decided in ``report.population``, for the report as for everything here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .records import GRADED, REFUSED, Grades, Handed, Person, Row
from .report.population import NOT_GRADED, NOT_HANDED_IN, populate
from .tables import one_line

__all__ = ["GRADED", "NOT_GRADED", "NOT_HANDED_IN", "REFUSED", "Standing", "named", "standings"]
NAMED = 10  # of a list in one line


@dataclass(frozen=True)
class Standing:
    """A student with the submission that counts.

    Attributes:
        person: every field may be empty.
        handed: the submission; of a group the same for each member.
        status: GRADED, REFUSED, FAILED, NOT_GRADED or NOT_HANDED_IN.
        rows: item slug -> row; empty without an entry.
        total: None where there is no verdict.
    """

    person: Person
    handed: Handed
    status: str
    rows: dict[str, Row] = field(default_factory=dict)
    total: float | None = None

    @property
    def key(self) -> str:
        """What tells this student from others, in this class and in another one."""
        return self.person.key or f"submission {self.handed.submission}"

    @property
    def label(self) -> str:
        """Name and address, or whatever there is, in one line."""
        name, other = one_line(self.person.name, 80), one_line(self.person.email or self.person.sid, 80)
        if not name and not other:
            return one_line(self.handed.submission, 80)
        return f"{name} ({other})" if name and other else name or other

    @property
    def has_verdict(self) -> bool:
        """Whether a grader has come to an end with it."""
        return self.status in (GRADED, REFUSED)

    @property
    def scores(self) -> dict[str, float]:
        """Item slug -> score."""
        return {slug: row.score for slug, row in self.rows.items()}


def standings(grades: Grades) -> list[Standing]:
    """Everybody in a class, in the order of the roster."""
    population = populate(grades)
    found = []
    for student in population.students:
        one = population.submissions[student.submission]
        found.append(Standing(student.person, one.handed, one.status, dict(one.rows), one.total))
    return found


def named(labels: list[str], most: int = NAMED) -> str:
    """Names in one line, the first ones of many."""
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more
