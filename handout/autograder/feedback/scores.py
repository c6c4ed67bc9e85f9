"""From the outcomes of tests to the scores of items. Pure: no pytest, no files, no printing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .assignment import Assignment, Item

PASSED = "passed"
FAILED = "failed"
NOT_STARTED = "not started"
UNFINISHED = "unfinished"  # an item: some tests pass, the others met a stub
CANNOT_IMPORT = "cannot import"
LATE = "timeout"
WAITING = "waiting"
GRADER_ERROR = "grader error"
NOT_RUN = "not run"
SKIPPED = "skipped"  # on a laptop only: it lacks PyTorch

PUBLIC_SHARE = 1 / 3  # public tests carry at most this part of an item


@dataclass(frozen=True)
class Case:
    """One test, or one case of a parametrised test.

    Attributes:
        key: (file, function, case id), unique.
        item: slug of its item.
        share: its part of the item's weight; the cases of one function share that function's weight.
        hidden: whether its inputs are hidden.
        title: what must be true, in one line.
    """

    key: tuple[str, str, str]
    item: str
    share: float
    hidden: bool
    title: str

    @property
    def name(self) -> str:
        """``test_function[case]``."""
        _, function, case = self.key
        return f"{function}[{case}]" if case else function


@dataclass(frozen=True)
class Outcome:
    """How a test ended.

    Attributes:
        state: PASSED (only with the whole of its share), FAILED, NOT_STARTED, CANNOT_IMPORT, LATE, GRADER_ERROR,
            NOT_RUN or SKIPPED.
        fraction: the part of its share that it earned, 0 to 1.
        message: what the student may read.
        detail: what only staff may read.
        hint: which mistake it seems to be, in the language of the run.
        mistakes: the ids of the mistakes whose hint it is, for staff.
    """

    state: str
    fraction: float = 0.0
    message: str = ""
    detail: str = ""
    hint: str = ""
    mistakes: tuple[str, ...] = ()


Outcomes = Mapping[tuple[str, str, str], Outcome]  # by the keys of cases


@dataclass(frozen=True)
class ItemScore:
    """One row: an item's score and what it is made of."""

    item: Item
    score: float
    state: str
    waiting_for: tuple[str, ...]  # numbers of items that this one needs and that are not full
    cases: tuple[tuple[Case, Outcome], ...]

    @property
    def label(self) -> str:
        """The state in words."""
        return f"waiting for {', '.join(self.waiting_for)}" if self.state == WAITING else self.state


def score_items(assignment: Assignment, cases: Iterable[Case], outcomes: Outcomes) -> list[ItemScore]:
    """The score of every item, in the order of the assignment.

    An item's score is its points times the passed share, to two decimals. A test without an outcome was not run.
    """
    return ScoreSheet(assignment).rows(list(cases), outcomes)


class ScoreSheet:
    """``score_items`` after each of a thousand tests: an item to which nothing has happened keeps its row, as it is."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment
        self._cases: dict[str, list[Case]] = {}
        self._count = -1
        self._known: dict[str, tuple[tuple[Outcome | None, ...], tuple[str, ...], ItemScore]] = {}

    def rows(self, cases: Collection[Case], outcomes: Outcomes) -> list[ItemScore]:
        """See ``score_items``. Cases are added between two calls, never taken away."""
        if len(cases) != self._count:
            self._cases, self._count = {item.slug: [] for item in self._assignment.items}, len(cases)
            for case in cases:
                self._cases[case.item].append(case)
        seen = {slug: tuple(outcomes.get(case.key) for case in mine) for slug, mine in self._cases.items()}
        return [self._row(item, seen) for item in self._assignment.items]

    def _row(self, item: Item, seen: Mapping[str, tuple[Outcome | None, ...]]) -> ItemScore:
        needs = [self._assignment.by_slug[need] for need in item.needs if need in self._assignment.by_slug]
        lacking = tuple(need.number for need in needs if not need.waived and _lost(seen[need.slug]))
        mine = seen[item.slug]
        known = self._known.get(item.slug)
        if known is not None and known[0] == mine and known[1] == lacking:  # tuples look at identity first
            return known[2]
        rows = tuple(
            (case, Outcome(NOT_RUN) if outcome is None else outcome)
            for case, outcome in zip(self._cases[item.slug], mine, strict=True)
        )
        fraction = 1.0 if item.waived else _fraction(rows)
        state = PASSED if item.waived else _state([outcome for _, outcome in rows], lacking)
        row = ItemScore(item, round(item.points * fraction, 2), state, lacking, rows)
        self._known[item.slug] = (mine, lacking, row)
        return row


def public_shares(cases: Iterable[Case]) -> dict[str, float]:
    """For each item the part of its weight that public tests carry."""
    public: dict[str, float] = {}
    total: dict[str, float] = {}
    for case in cases:
        total[case.item] = total.get(case.item, 0.0) + case.share
        public[case.item] = public.get(case.item, 0.0) + (0.0 if case.hidden else case.share)
    return {slug: public[slug] / total[slug] for slug in total}


def _fraction(rows: Sequence[tuple[Case, Outcome]]) -> float:
    total = sum(case.share for case, _ in rows)
    earned = sum(case.share * min(1.0, max(0.0, outcome.fraction)) for case, outcome in rows)
    return earned / total if total else 0.0


def _lost(outcomes: Iterable[Outcome | None]) -> bool:
    """Whether a test did not earn its whole share; what was not run, or broke on our side, says nothing."""
    told = (outcome for outcome in outcomes if outcome is not None)
    return any(outcome.fraction < 1 for outcome in told if outcome.state not in (NOT_RUN, GRADER_ERROR, SKIPPED))


def _state(outcomes: list[Outcome], lacking: tuple[str, ...]) -> str:
    states = {outcome.state for outcome in outcomes}
    if not states:
        return NOT_RUN
    if GRADER_ERROR in states:
        return GRADER_ERROR
    if states == {PASSED}:
        return PASSED
    if SKIPPED in states:
        return SKIPPED
    if NOT_RUN in states:  # cut short: whatever the others are, this is no verdict
        return NOT_RUN
    if states == {NOT_STARTED}:
        return NOT_STARTED
    if states == {NOT_STARTED, PASSED}:
        return UNFINISHED
    if CANNOT_IMPORT in states:
        return CANNOT_IMPORT
    if lacking:
        return WAITING
    return LATE if LATE in states else FAILED
