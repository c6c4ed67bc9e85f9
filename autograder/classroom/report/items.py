"""The figures of each item: difficulty, discrimination, points lost, states, and what is striking about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...feedback import scores
from ..records import ItemFacts
from .population import NO_VERDICT, Flags, Hundredths, Population, Submission, hundredths
from .statistics import correlation

ENOUGH = 5  # submissions with a verdict, before an item is called striking
EASY, HARD = 0.95, 0.20  # difficulties
SURE = 10  # submissions before a negative discrimination means something
GAP, GAP_COUNT = 0.20, 3  # of those who pass all public tests, the part that fails a hidden one; at least so many
HIDDEN = "hidden/"


@dataclass(frozen=True)
class ItemFigures:
    """An item over the graded submissions.

    Attributes:
        at: its place in the outline.
        n: submissions with a verdict on it.
        difficulty: mean score as a part of its points: 1 is an item that everybody solves.
        full: the part that got all of its points.
        discrimination: correlation of its score with the sum of the other main items; None with ``reason``.
        lost: mean points lost a submission.
        lost_share: its part of all points that were lost in the main items; None for bonus and waived items.
        states: state -> submissions, without a verdict among them.
        public: submissions that pass all public tests of it.
        gap: those among them that do not pass all hidden ones.
        late: submissions with a test that timed out.
        passed: submissions that got all of its points.
        flags: "easy", "hard", "negative", "gap".
    """

    facts: ItemFacts
    at: int
    n: int
    difficulty: float | None
    full: float | None
    discrimination: float | None
    reason: str
    lost: float | None
    lost_share: float | None
    states: Counter[str]
    public: int = 0
    gap: int = 0
    late: int = 0
    passed: int = 0
    flags: tuple[str, ...] = ()


def item_figures(population: Population) -> list[ItemFigures]:
    """One for each item of the outline, in its order."""
    points, core = population.points, population.core
    lost_by_core = sum(_lost(points[:, at], population.outline.items[at]) for at in core)
    return [_figures(population, at, item, lost_by_core) for at, item in enumerate(population.outline.items)]


def complete(population: Population, items: Sequence[int]) -> Flags:
    """Which of the graded submissions have a verdict on all of these items."""
    judged: Flags = population.points[:, list(items)] >= 0
    return np.atleast_1d(judged.all(axis=1))


def _lost(column: Hundredths, item: ItemFacts) -> int:
    judged = column[column >= 0]
    return int(hundredths(item.points) * len(judged) - judged.sum())


def _figures(population: Population, at: int, item: ItemFacts, lost_by_core: int) -> ItemFigures:
    graded, column = population.graded, population.points[:, at]
    judged, worth = column[column >= 0], hundredths(item.points)
    n, lost = len(judged), _lost(column, item)
    counted = n > 0 and worth > 0 and not item.waived
    states = Counter(one.state(item) for one in graded)
    value, reason = _discrimination(population, at)
    if item.waived:
        value, reason = None, "waived"
    public, gap = 0, 0
    for one in graded:
        local, hidden = _local_and_hidden(one, item)
        public += local
        gap += local and not hidden
    passed = int((judged >= worth).sum())
    figures = ItemFigures(
        item,
        at,
        n,
        difficulty=float(judged.sum()) / (n * worth) if counted else None,
        full=passed / n if counted else None,
        discrimination=value,
        reason=reason,
        lost=lost / n / 100 if counted else None,
        lost_share=lost / lost_by_core if at in population.core and lost_by_core > 0 else None,
        states=states,
        public=0 if item.waived else public,
        gap=0 if item.waived else gap,
        late=0 if item.waived else sum(_is_late(one, item) for one in graded),
        passed=passed,
    )
    return replace(figures, flags=_flags(figures))


def _discrimination(population: Population, at: int) -> tuple[float | None, str]:
    others = [core for core in population.core if core != at]
    if not others:
        return None, "no others"
    rows = complete(population, [at, *others])
    points = population.points[rows]
    return correlation(points[:, at], points[:, others].sum(axis=1))


def _local_and_hidden(one: Submission, item: ItemFacts) -> tuple[bool, bool]:
    """Whether all public tests pass (there is one), and whether all hidden ones do, as far as there is a verdict."""
    row = one.rows.get(item.slug)
    tests = {} if row is None else row.tests
    public = [state for name, state in tests.items() if not name.startswith(HIDDEN)]
    hidden = [state for name, state in tests.items() if name.startswith(HIDDEN) and state not in NO_VERDICT]
    return bool(public) and set(public) == {scores.PASSED}, set(hidden) <= {scores.PASSED}


def _is_late(one: Submission, item: ItemFacts) -> bool:
    row = one.rows.get(item.slug)
    return row is not None and (row.state == scores.LATE or scores.LATE in row.tests.values())


def _flags(figures: ItemFigures) -> tuple[str, ...]:
    if figures.difficulty is None or figures.n < ENOUGH:
        return ()
    found = []
    if figures.difficulty >= EASY:
        found.append("easy")
    if figures.difficulty <= HARD and not figures.facts.bonus:  # whoever leaves a bonus out says nothing about it
        found.append("hard")
    if figures.discrimination is not None and figures.discrimination < 0 and figures.n >= SURE:
        found.append("negative")
    if figures.gap >= GAP_COUNT and figures.gap >= GAP * figures.public:
        found.append("gap")
    return tuple(found)
