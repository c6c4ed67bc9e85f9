"""The known mistakes of a class: how many students were told each hint, item by item."""

from __future__ import annotations

from dataclasses import dataclass

from ...feedback import scores
from ..records import MistakeFacts
from .population import Population

ASTRAY = frozenset((scores.FAILED, scores.LATE, scores.WAITING))  # states of code that ran and was wrong


@dataclass(frozen=True)
class Known:
    """A hint that students of an item were shown. Mistakes with the same hint are one.

    Attributes:
        names: ids of the mistakes.
        facts: of the first of them; None where the outline has none.
        students: how many were shown it.
    """

    names: tuple[str, ...]
    facts: MistakeFacts | None
    students: int


@dataclass(frozen=True)
class ItemMistakes:
    """What went wrong in an item.

    Attributes:
        at: the item's place in the outline.
        known: by number of students, most first.
        astray: students whose code for it ran and was wrong.
        unknown: those among them whose mistake is not a known one.
    """

    at: int
    known: tuple[Known, ...]
    astray: int
    unknown: int


def mistakes_by_item(population: Population) -> list[ItemMistakes]:
    """Of each item in which somebody went astray, in the outline's order. Graded submissions only."""
    found = []
    for at, item in enumerate(population.outline.items):
        students: dict[str, int] = {}
        names: dict[str, set[str]] = {}
        astray = unknown = 0
        for one in population.graded:
            row = one.rows.get(item.slug)
            if row is None or item.waived:
                continue
            hints = {_hint(population, name) for name in row.mistakes}
            for name in row.mistakes:
                names.setdefault(_hint(population, name), set()).add(name)
            for hint in hints:
                students[hint] = students.get(hint, 0) + one.students
            if row.state in ASTRAY or hints:
                astray += one.students
                unknown += 0 if hints else one.students
        if astray:
            known = [_known(population, names[hint], count) for hint, count in students.items()]
            known.sort(key=lambda one: (-one.students, one.names))
            found.append(ItemMistakes(at, tuple(known), astray, unknown))
    return found


def _hint(population: Population, name: str) -> str:
    facts = population.outline.mistakes.get(name)
    return name if facts is None else f"hint {facts.hint}"


def _known(population: Population, names: set[str], students: int) -> Known:
    listed = tuple(sorted(names))
    return Known(listed, population.outline.mistakes.get(listed[0]), students)
