"""Two slots of one assignment: A alone, B with help and after feedback; the better of the two for each item.

As in the first lecture, section 6: slot B is about what was wrong in A, so what is right there stays; whoever has more
than half of the points in slot A gets a bonus. The total of slot A is the one that was shown, bonus items and all; half
is half of the points without them, and exactly half is not more than half.

Students are found by email address, else by student id, never by name. Where the two disagree, nothing is guessed:
that is refused. Names that differ, and equal names without a common address or id, are reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..feedback.errors import InputError
from .exports import IDENTITY, marks
from .records import OUTLINE, ItemFacts, Outline, Person, read_grades
from .tables import number, one_line, read_csv

EPSILON = 0.005


@dataclass(frozen=True)
class Slot:
    """One slot.

    Attributes:
        name: of its file or folder.
        items: slugs, in their order.
        people: everybody, with their scores by slug; a missing score is an item without one, an empty dict nothing.
        outline: of a folder of grades; None of a CSV file.
    """

    name: str
    items: tuple[str, ...]
    people: tuple[tuple[Person, dict[str, float]], ...]
    outline: Outline | None = None


@dataclass(frozen=True)
class Result:
    """A student after both slots.

    Attributes:
        a, b: totals of the slots; None where nothing was handed in.
        scores: slug -> what counts.
        from_b: slugs of the items that slot B made better.
        bonus: for slot A.
    """

    person: Person
    a: float | None
    b: float | None
    scores: dict[str, float]
    from_b: tuple[str, ...]
    bonus: float

    @property
    def total(self) -> float | None:
        """What counts, with the bonus; None for who handed in nothing at all."""
        return None if self.a is None and self.b is None else round(sum(self.scores.values()) + self.bonus, 2)


@dataclass(frozen=True)
class Both:
    """Everybody after both slots, and what somebody should look at."""

    results: tuple[Result, ...]
    items: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    notes: tuple[str, ...]


def read_slot(path: Path, *, previous: bool = False) -> Slot:
    """A folder of grades, or a CSV file of ``autograder export``.

    Raises:
        InputError: it is neither, somebody has no verdict, stands twice, or a score is no number.
    """
    if path.is_dir():
        if not (path / OUTLINE).is_file():
            raise InputError(f"{path}: no folder of grades")
        grades = read_grades(path, outcomes=False)
        # a drop against the platform is not this command's business: it only ever takes the better of two
        everybody = tuple((m.person, m.scores) for m in marks(grades, previous=previous, accept_drops=True))
        return Slot(str(path), tuple(item.slug for item in grades.outline.items), everybody, grades.outline)
    table = read_csv(path)
    columns = list(table[0]) if table else []
    if not {"name", "total"} <= set(columns):
        raise InputError(f"{path}: no columns name and total, or no student; take a file of `autograder export`")
    slugs = tuple(column for column in columns if column not in (*IDENTITY, "total"))
    people = []
    for row in table:
        person = Person(row["name"], row.get("sid", ""), row.get("email", ""))
        people.append((person, {slug: _points(row[slug], path, slug) for slug in slugs if row[slug]}))
        if row["total"] and not people[-1][1]:
            raise InputError(f"{path}: {_label(person)} has a total and no items, so nothing can be compared")
    return Slot(str(path), slugs, tuple(people))


def _points(cell: str, path: Path, slug: str) -> float:
    try:
        points = float(cell)
    except ValueError:
        points = math.nan
    if not 0 <= points < math.inf:
        raise InputError(f"{path}: {slug}: {one_line(cell, 40)!r} is no number of points")
    return points


def facts_of(slot: Slot, given: Sequence[ItemFacts]) -> dict[str, ItemFacts]:
    """The items of slot A: of its outline, else those given, in the file's order.

    Raises:
        InputError: a column is no item.
    """
    known = {item.slug: item for item in (slot.outline.items if slot.outline is not None else given)}
    unknown = [slug for slug in slot.items if slug not in known]
    if unknown:
        raise InputError(f"{slot.name}: {', '.join(map(one_line, unknown))}: no items of this assignment")
    return {slug: known[slug] for slug in slot.items}


def combine(a: Slot, b: Slot, facts: Mapping[str, ItemFacts], bonus: float) -> Both:
    """The better of the two for each item.

    Args:
        a, b: the slots.
        facts: items of slot A.
        bonus: points for more than half in slot A.

    Raises:
        InputError: an item has other points in slot B, or it is not clear who is who.
    """
    notes = []
    if b.outline is not None:
        for item in b.outline.items:
            if item.slug in facts and abs(item.points - facts[item.slug].points) > EPSILON:
                raise InputError(
                    f"{item.slug} has {number(facts[item.slug].points)} points in slot A and "
                    f"{number(item.points)} in slot B"
                )
    more, less = [s for s in b.items if s not in facts], [s for s in facts if s not in b.items]
    if more:
        notes.append(f"in slot B only, not counted: {', '.join(map(one_line, more))}")
    if less:
        notes.append(f"in slot A only, as they were: {', '.join(less)}")
    pairs = _pairs(a, b)
    half = sum(item.points for item in facts.values() if not item.bonus) / 2
    results = []
    only_a, only_b = [], []
    for person, mine, other, other_person in pairs:
        if mine is None and other is not None:
            only_b.append(_label(person))
        if mine is not None and other is None:
            only_a.append(_label(person))
        if other_person is not None and one_line(person.name).casefold() != one_line(other_person.name).casefold():
            notes.append(f"another name in slot B: {_label(person)} and {_label(other_person)}")
        results.append(_result(person, mine, other, facts, half, bonus))
    notes += _namesakes(pairs)
    return Both(tuple(results), tuple(facts), tuple(only_a), tuple(only_b), tuple(notes))


_Scores = dict[str, float]
_Pair = tuple[Person, "_Scores | None", "_Scores | None", "Person | None"]


def _result(
    person: Person, mine: _Scores | None, other: _Scores | None, facts: Mapping[str, ItemFacts], half: float, top: float
) -> Result:
    mine_total = round(sum(mine.values()), 2) if mine else None
    other_total = round(sum(other.values()), 2) if other else None
    scores: _Scores = {}
    from_b = []
    for slug, item in facts.items():
        had, again = (mine or {}).get(slug), (other or {}).get(slug)
        scores[slug] = had or 0.0
        wrong = had is None or had < item.points - EPSILON
        if wrong and again is not None and again > scores[slug] + EPSILON:
            scores[slug] = again
            from_b.append(slug)
    passed = mine_total is not None and mine_total > half + 1e-9
    return Result(person, mine_total, other_total, scores, tuple(from_b), top if passed else 0.0)


def _pairs(a: Slot, b: Slot) -> list[_Pair]:
    """Everybody of slot A with their scores in B, then who is in B only."""
    by_email, by_sid = _index(b, "email"), _index(b, "sid")
    _index(a, "email"), _index(a, "sid")  # for what they refuse
    taken: dict[int, Person] = {}
    pairs: list[_Pair] = []
    for person, scores in a.people:
        email, sid = by_email.get(_key(person, "email")), by_sid.get(_key(person, "sid"))
        if email is not None and sid is not None and email != sid:
            raise InputError(f"{_label(person)}: the email address is one student's of slot B, the id another's")
        at = email if email is not None else sid
        if at is None:
            pairs.append((person, scores or None, None, None))
            continue
        if at in taken:
            raise InputError(f"{_label(person)} and {_label(taken[at])} of slot A are one student in slot B")
        taken[at] = person
        other, again = b.people[at]
        pairs.append((person, scores or None, again or None, other))
    rest = [pair for at, pair in enumerate(b.people) if at not in taken]
    return pairs + [(person, None, again or None, None) for person, again in rest]


def _index(slot: Slot, field: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for at, (person, _) in enumerate(slot.people):
        key = _key(person, field)
        if not key:
            continue
        if key in found:
            raise InputError(
                f"{slot.name}: {_label(person)} and {_label(slot.people[found[key]][0])} share {field} {key}"
            )
        found[key] = at
    return found


def _key(person: Person, field: str) -> str:
    return str(getattr(person, field)).strip().casefold()


def _namesakes(pairs: Sequence[_Pair]) -> Iterator[str]:
    """Equal names of which one is in slot A only and the other in slot B only: perhaps one student."""
    alone = {one_line(person.name).casefold(): person for person, mine, other, _ in pairs if mine and other is None}
    for person, mine, other, _ in pairs:
        before = alone.get(one_line(person.name).casefold())
        if mine is None and other and before is not None and person.name:
            yield f"perhaps one student: {_label(before)} in slot A and {_label(person)} in slot B"


def _label(person: Person) -> str:
    name, other = one_line(person.name, 80), one_line(person.email or person.sid, 80)
    return f"{name} ({other})" if name and other else name or other or "somebody without a name"


def rows(both: Both) -> Iterator[list[str]]:
    """The table: what counts for each item, the slots' totals, the bonus, the total, and what slot B changed."""
    yield ["name", "sid", "email", *both.items, "slot_a", "slot_b", "bonus", "total", "from_b"]
    for one in both.results:
        nothing = one.total is None
        scores = ["" if nothing else number(one.scores[slug]) for slug in both.items]
        totals = [number(one.a), number(one.b), "" if nothing else number(one.bonus), number(one.total)]
        yield [one.person.name, one.person.sid, one.person.email, *scores, *totals, " ".join(one.from_b)]


def summary(both: Both) -> Iterator[str]:
    """In words."""
    better = [one for one in both.results if one.from_b]
    top = sum(one.bonus > 0 for one in both.results)
    yield f"{len(both.results)} students; slot B makes {len(better)} better; {top} have the bonus of slot A"
    for one in better:
        yield f"  {_label(one.person)}: {number(one.a) or 'nothing'} -> {number(one.total)} ({', '.join(one.from_b)})"
    for slot, labels in (("A", both.only_a), ("B", both.only_b)):
        if labels:
            yield f"{len(labels)} in slot {slot} only: {', '.join(labels)}"
    yield from both.notes
