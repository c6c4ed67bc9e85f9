"""Is anything broken in the assignment? What to look at before anybody asks, most urgent first.

Each check gives a ``Finding``, also when it found nothing: that it was looked for is part of the answer. FAULT is ours
to repair before grades go out; LOOK may be right as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...feedback import scores
from ..records import FAILED, GRADED, REFUSED
from .items import ENOUGH, ItemFigures
from .population import NO_VERDICT, NOT_GRADED, Population

FAULT, LOOK = "fault", "look"


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        key: "grader", "ungraded", "nobody", "test", "everybody", "gap", "late", "negative" or "refused".
        level: FAULT or LOOK.
        count: submissions, items or tests, whatever it counts; 0 means that all is well.
        items: place of an item -> how many submissions, where that says something; 0 where the item is all there is
            to say.
        tests: names of tests.
        submissions: places of the submissions that it is about.
        judged: False where there are too few submissions to say.
    """

    key: str
    level: str
    count: int
    items: tuple[tuple[int, int], ...] = ()
    tests: tuple[str, ...] = ()
    submissions: tuple[int, ...] = ()
    judged: bool = True


def findings(population: Population, figures: Sequence[ItemFigures]) -> list[Finding]:
    """All checks, those that found something first."""
    judged = [one for one in figures if one.difficulty is not None and one.n >= ENOUGH]
    enough = bool(judged)
    nobody = [one.at for one in judged if one.passed == 0]
    everybody = [one.at for one in judged if one.passed == one.n]
    gap = [(one.at, one.gap) for one in figures if "gap" in one.flags]
    late_items = sorted(((one.at, one.late) for one in figures if one.late), key=lambda pair: -pair[1])
    late = _late(population)
    negative = [one.at for one in figures if "negative" in one.flags]
    tests = _never_passed(population, {population.outline.items[at].slug for at in nobody})
    found = [
        _grader(population),
        _by_status(population, "ungraded", NOT_GRADED, FAULT),
        Finding("nobody", FAULT, len(nobody), tuple((at, 0) for at in nobody), judged=enough),
        Finding("test", FAULT, len(tests), tests=tests, judged=enough),
        Finding("gap", LOOK, len(gap), tuple(gap), judged=enough),
        Finding("negative", LOOK, len(negative), tuple((at, 0) for at in negative), judged=enough),
        Finding("late", LOOK, len(late), tuple(late_items), submissions=late),
        _by_status(population, "refused", REFUSED, LOOK),
        Finding("everybody", LOOK, len(everybody), tuple((at, 0) for at in everybody), judged=enough),
    ]
    return sorted(found, key=lambda one: one.count == 0)  # a stable sort: urgent ones stay first


def _grader(population: Population) -> Finding:
    """Submissions without a verdict, and the items on which it failed."""
    hit, items = [], Counter[int]()
    for place, one in enumerate(population.submissions):
        faults = [at for at, item in enumerate(population.outline.items) if _is_fault(one.rows.get(item.slug))]
        items.update(faults)
        if faults or one.status == FAILED:
            hit.append(place)
    return Finding("grader", FAULT, len(hit), tuple(items.most_common()), submissions=tuple(hit))


def _is_fault(row: object) -> bool:
    return getattr(row, "state", None) == scores.GRADER_ERROR


def _by_status(population: Population, key: str, status: str, level: str) -> Finding:
    places = tuple(place for place, one in enumerate(population.submissions) if one.status == status)
    return Finding(key, level, len(places), submissions=places)


def _late(population: Population) -> tuple[int, ...]:
    """Graded submissions in which something timed out."""
    names = [item.slug for item in population.outline.items if not item.waived]
    return tuple(
        place
        for place, one in enumerate(population.submissions)
        if one.status == GRADED
        and any(
            (row := one.rows.get(name)) is not None and (row.state == scores.LATE or scores.LATE in row.tests.values())
            for name in names
        )
    )


def _never_passed(population: Population, known: set[str]) -> tuple[str, ...]:
    """Tests that at least ``ENOUGH`` submissions met and none passed, of items that some pass.

    ``known`` are items that nobody passes: they are listed by themselves.
    """
    met, passed = Counter[str](), set[str]()
    waived = {item.slug for item in population.outline.items if item.waived}
    for one in population.graded:
        for row in one.rows.values():
            if row.item not in waived and row.item not in known:
                for name, state in row.tests.items():
                    if state not in NO_VERDICT:
                        met[name] += 1
                        if state == scores.PASSED:
                            passed.add(name)
    return tuple(name for name, count in met.items() if count >= ENOUGH and name not in passed)
