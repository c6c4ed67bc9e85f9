"""Who changes and why: a graded class against its previous results, before anything is exported.

Previous results are those of another folder of grades, else those that the platform had. The reasons come from the
outcomes of tests where the other folder has them: students for whom the same tests of an item changed in the same way
are one line. Nothing that lowers a score is left out: it is listed by student, and leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..feedback import scores
from .records import Grades, ItemFacts
from .standing import NOT_GRADED, NOT_HANDED_IN, REFUSED, Standing, standings
from .tables import number

EPSILON = 0.005  # points; scores have two decimals
SHOWN = 4  # tests of one reason
GONE = "the item is gone"
NEW = "a new item"
WAIVED = "waived now"
NOTHING = "nothing is handed in any more"
TAKEN = "nothing could be taken from what was handed in"
NO_SUM = "the previous total was not the sum of its items: points by hand, a penalty or an override"
NO_ITEMS = "of the previous results only the total is known"
NO_OUTCOMES = "the previous outcomes are not known"
SAME_OUTCOMES = "the same outcomes: weights or partial credit"
ANEW = "another submission"


@dataclass(frozen=True)
class Change:
    """One score of one student; ``item`` is a slug, empty for the total as a whole."""

    student: Standing
    item: str
    before: float
    after: float
    reason: str

    @property
    def points(self) -> float:
        """What is gained; lost below 0."""
        return round(self.after - self.before, 2)


@dataclass(frozen=True)
class Group:
    """The changes of one item in one direction that have one reason."""

    item: str
    reason: str
    changes: tuple[Change, ...]

    def line(self, names: Mapping[str, str]) -> str:
        """For example "3.2 bptt: 18 students +3 each: hidden/test_rnn.py::test_x passes now"."""
        points = sorted({change.points for change in self.changes})
        each = "" if len(self.changes) == 1 else " each"
        span = f"{_signed(points[0])}{each}" if len(points) == 1 else f"{_signed(points[0])} to {_signed(points[-1])}"
        count = f"{len(self.changes)} student{'s' if len(self.changes) > 1 else ''}"
        return f"{names.get(self.item, self.item) or 'total'}: {count} {span}: {_shortened(self.reason)}"


@dataclass(frozen=True)
class Comparison:
    """What a class has now against what it had.

    Attributes:
        changes: by student, in the order of the roster.
        same: how many students keep every score.
        no_previous: students with a verdict now and none before.
        no_verdict: the grader failed, or they are not graded yet: not compared.
        refused: nothing could be taken from what they handed in.
        absent: labels of those who are in the other folder only.
        names: item slug -> number and slug.
    """

    changes: tuple[Change, ...]
    same: int
    no_previous: tuple[Standing, ...]
    no_verdict: tuple[Standing, ...]
    refused: tuple[Standing, ...]
    absent: tuple[str, ...]
    names: dict[str, str]

    @property
    def drops(self) -> list[Change]:
        """Every score that is lower now."""
        return [change for change in self.changes if change.points < 0]

    @property
    def losers(self) -> list[Standing]:
        """Those with a drop, once each."""
        return list({change.student.key: change.student for change in self.drops}.values())

    def groups(self) -> tuple[list[Group], list[Group]]:
        """Drops and gains by reason, those of most students first."""
        found: dict[tuple[bool, str, str], list[Change]] = {}
        for change in self.changes:
            found.setdefault((change.points < 0, change.item, change.reason), []).append(change)
        groups = [(key, Group(key[1], key[2], tuple(changes))) for key, changes in found.items()]
        groups.sort(key=lambda pair: -len(pair[1].changes))
        return [one for key, one in groups if key[0]], [one for key, one in groups if not key[0]]


@dataclass(frozen=True)
class _Previous:
    """What a student had. ``rows`` is None where no outcomes are known, ``items`` where not even scores are."""

    items: dict[str, float] | None
    total: float | None
    source: Standing | None = None


def compare(grades: Grades, against: Grades | None = None) -> Comparison:
    """Compare a class with another folder of grades or, for whoever is not in it, with the platform's results."""
    now = standings(grades)
    earlier = {} if against is None else {one.key: one for one in standings(against)}
    facts = {item.slug: item for item in grades.outline.items}
    old = {} if against is None else {item.slug: item for item in against.outline.items}
    changes: list[Change] = []
    same = 0
    no_previous, no_verdict = [], []
    for student in now:
        if not student.has_verdict and student.status != NOT_HANDED_IN:
            no_verdict.append(student)
            continue
        previous = _previous(student, earlier.get(student.key))
        if previous is None:
            if student.has_verdict:
                no_previous.append(student)
            continue
        found = list(_changes(student, previous, facts, old))
        changes += found
        same += not found
    keys = {student.key for student in now}
    return Comparison(
        changes=tuple(changes),
        same=same,
        no_previous=tuple(no_previous),
        no_verdict=tuple(no_verdict),
        refused=tuple(student for student in now if student.status == REFUSED),
        absent=tuple(one.label for key, one in earlier.items() if key not in keys and one.status != NOT_HANDED_IN),
        names={slug: f"{item.number} {slug}" for slug, item in {**old, **facts}.items()},
    )


def _previous(student: Standing, earlier: Standing | None) -> _Previous | None:
    if earlier is not None and earlier.has_verdict:
        return _Previous(earlier.scores, earlier.total, earlier)
    handed = student.handed
    if handed.before is None and handed.before_total is None:
        return None
    return _Previous(handed.before, handed.before_total)


def _changes(
    student: Standing, previous: _Previous, facts: Mapping[str, ItemFacts], old: Mapping[str, ItemFacts]
) -> Iterator[Change]:
    after = student.scores
    if previous.items is None:
        before, total = previous.total or 0.0, student.total or 0.0
        if abs(total - before) > EPSILON:
            yield Change(student, "", before, total, _status(student) or NO_ITEMS)
        return
    before_sum = round(sum(previous.items.values()), 2)
    if previous.total is not None and abs(previous.total - before_sum) > EPSILON:
        yield Change(student, "", previous.total, before_sum, NO_SUM)
    for slug in [*facts, *(slug for slug in previous.items if slug not in facts)]:
        had, has = previous.items.get(slug, 0.0), after.get(slug, 0.0)
        if abs(has - had) > EPSILON:
            yield Change(student, slug, had, has, _reason(slug, student, previous, facts, old))


def _status(student: Standing) -> str:
    return {REFUSED: TAKEN, NOT_HANDED_IN: NOTHING}.get(student.status, "")


def _reason(
    slug: str, student: Standing, previous: _Previous, facts: Mapping[str, ItemFacts], old: Mapping[str, ItemFacts]
) -> str:
    assert previous.items is not None
    if slug not in facts:
        return GONE
    if _status(student):
        return _status(student)
    if slug not in previous.items:
        return NEW
    if facts[slug].waived and not (slug in old and old[slug].waived):
        return WAIVED
    source = previous.source
    if source is None:
        return NO_OUTCOMES
    said = [ANEW] if source.handed.content != student.handed.content else []
    if source.status == REFUSED:
        said.append("nothing could be taken before")
    if slug in old and abs(old[slug].points - facts[slug].points) > EPSILON:
        said.append(f"points {number(old[slug].points)} -> {number(facts[slug].points)}")
    before = source.rows[slug].tests if slug in source.rows else {}
    said += _outcomes(before, student.rows[slug].tests if slug in student.rows else {})
    return "; ".join(said or [SAME_OUTCOMES])


def _outcomes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """What happened to tests, for example "test_rnn.py::test_x[a, b] passes now"; one text a function and fate."""
    fates: dict[tuple[str, str], list[str]] = {}
    for test in sorted({*before, *after}):
        was, now = before.get(test), after.get(test)
        if was != now:
            function, _, case = test.partition("[")
            fates.setdefault((function, _fate(was, now)), []).append(case.removesuffix("]"))
    for (function, fate), cases in fates.items():
        yield f"{function}[{', '.join(cases)}] {fate}" if cases[0] else f"{function} {fate}"


def _fate(was: str | None, now: str | None) -> str:
    if now is None:
        return "is gone"
    word = "passes" if now == scores.PASSED else "fails" if now == scores.FAILED else f"is {now}"
    return f"is new and {word}" if was is None else f"{word} now"


def _shortened(reason: str) -> str:
    parts = reason.split("; ")
    more = f"; and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    return "; ".join(part if len(part) <= 160 else f"{part[:157]}..." for part in parts[:SHOWN]) + more


def _signed(points: float) -> str:
    return f"{'+' if points > 0 else '-'}{number(abs(points))}"


# --- in words


def summary(comparison: Comparison) -> Iterator[str]:
    """The comparison as lines; drops come first, with everybody's name."""
    drops, gains = comparison.groups()
    if drops:
        losers = comparison.losers
        yield f"{len(losers)} STUDENT{'S LOSE' if len(losers) > 1 else ' LOSES'} POINTS:"
        mine: dict[str, list[Change]] = {}
        for change in comparison.changes:
            mine.setdefault(change.student.key, []).append(change)
        for student in losers:
            told = ", ".join(
                f"{comparison.names.get(change.item, change.item) or 'total'} {_signed(change.points)}"
                for change in mine[student.key]
            )
            yield f"  {student.label}: {told}"
        yield "why they lose points:"
        yield from (f"  {group.line(comparison.names)}" for group in drops)
    else:
        yield "no student loses points"
    if gains:
        yield "gains:"
        yield from (f"  {group.line(comparison.names)}" for group in gains)
    changed = len({change.student.key for change in comparison.changes})
    yield f"{changed} students change, {comparison.same} keep every score"
    yield from _others("without previous results", [one.label for one in comparison.no_previous])
    failed = [one for one in comparison.no_verdict if one.status != NOT_GRADED]
    yield from _others("without a verdict, as the grader failed", [one.label for one in failed])
    waiting = [one for one in comparison.no_verdict if one.status == NOT_GRADED]
    yield from _others("not graded yet", [one.label for one in waiting])
    yield from _others("refused, as nothing could be taken", [one.label for one in comparison.refused])
    yield from _others("in the previous grades only", comparison.absent)


def _others(what: str, labels: Iterable[str]) -> Iterator[str]:
    labels = list(labels)
    if labels:
        yield f"{len(labels)} {what}: {', '.join(labels)}"


HEADER = ("kind", "name", "sid", "email", "submission", "item", "number", "before", "after", "change", "reason")


def rows(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """The comparison as a table, drops first; whoever is not compared has a row without numbers."""
    yield HEADER
    for wanted in (True, False):
        for change in comparison.changes:
            if (change.points < 0) == wanted:
                name, _, slug = comparison.names.get(change.item, f" {change.item}").partition(" ")
                told = (number(change.before), number(change.after), number(change.points), change.reason)
                yield ("drop" if wanted else "gain", *_who(change.student), slug or "total", name, *told)
    for kind, students in (("no previous", comparison.no_previous), ("no verdict", comparison.no_verdict)):
        for student in students:
            yield (kind, *_who(student), "", "", "", "", "", student.status)
    for label in comparison.absent:
        yield ("previous only", label, "", "", "", "", "", "", "", "", "")


def _who(student: Standing) -> tuple[str, str, str, str]:
    person = student.person
    return person.name, person.sid, person.email, student.handed.submission
