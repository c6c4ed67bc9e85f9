"""A graded class from nothing: n students with a stated ability, as ``Grades``. No repository, no grading.

The model (Rasch): student s has ability a_s ~ N(0, 1), item i has difficulty d_i, evenly from -2 to 2, and s solves i
with probability 1 / (1 + exp(d_i - a_s)), scaled by ``SLOPE``. Who does not solve an item has not started it, fails it
(with part of its points and perhaps a known mistake), times out, cannot be imported, or waits for an item before it.

Among the students are groups of two, some who never handed in (no content and no entry), some whose upload was refused
or met a failure of the grader, one who is not graded yet, two with the same bytes, and names that attack a page. All of
it from one seed: the same arguments give the same class.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator

from autograder.classroom.records import (
    FAILED,
    GRADED,
    REFUSED,
    Earlier,
    Entry,
    Grades,
    Handed,
    ItemFacts,
    MistakeFacts,
    Outline,
    PartFacts,
    Person,
    Row,
)
from autograder.feedback import scores

GRADER = "a" * 64
SLOPE = 1.7
TESTS = 2  # public ones of each item, and as many hidden ones
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</script></style></title><svg onload=alert(3)>",
    '=HYPERLINK("http://evil.example","x")',
    "O'Brien & Söhne <b>bold",
    "张伟\u202egnp.exe",
    "Robert'); DROP TABLE students;--\n\x1b[31m",
    "javascript:alert(4)//" + "x" * 3000,
)


def synthetic_outline(items: int = 12, bonus: int = 2, waived: bool = True) -> Outline:
    """An assignment of that many items in parts of four, the last ones bonus, the third waived; two mistakes each."""
    facts = []
    for at in range(items):
        is_bonus = at >= items - bonus
        facts.append(
            ItemFacts(
                slug=f"item_{at}",
                number=f"{at // 4 + 1}.{at % 4 + 1}",
                part=f"part_{at // 4}",
                title=f"Item {at} & <more>",
                title_zh=f"第 {at} 题 <b>",
                points=float(1 + at % 3),
                file=f"file_{at // 4}.py",
                bonus=is_bonus,
                waived=waived and at == 2,
                page=f"{at // 4 + 1}-part",
            )
        )
    parts = tuple(
        PartFacts(f"part_{at}", str(at + 1), f"Part {at}", f"第 {at} 部分") for at in range(math.ceil(items / 4))
    )
    mistakes = {
        f"item_{at}/{name}": MistakeFacts(
            (f"item_{at}",), f"Look at `x` in {name} of {at} <i>.", f"看看 {name} {at} 里的 `x`。"
        )
        for at in range(items)
        for name in ("sign", "scale")
    }
    return Outline("Synthetic & <small>", "合成 <作业>", "2026.11", GRADER, tuple(facts), parts, mistakes)


def synthetic(students: int, seed: int = 0, outline: Outline | None = None, *, handed_in: bool = True) -> Grades:
    """A graded class.

    Args:
        students: how many people there are.
        seed: of everything that is drawn.
        outline: the assignment; None for ``synthetic_outline()``.
        handed_in: False for a class of which nobody handed anything in.
    """
    outline = synthetic_outline() if outline is None else outline
    draw = random.Random(seed)
    people = [_person(at) for at in range(students)]
    handed: list[Handed] = []
    entries: dict[str, Entry] = {}
    waiting = list(people)
    while waiting:
        size = 2 if len(waiting) > 3 and draw.random() < 0.08 else 1
        group, waiting = tuple(waiting[:size]), waiting[size:]
        number = len(handed)
        name = f"submission_{700_000_000 + number * 7919}"
        kind = draw.random()
        if students > 20:  # one of each at least
            kind = {4: 0.0, 5: 0.98, 7: 0.95}.get(number, kind)
        if not handed_in or (kind < 0.05 and students > 1):
            handed.append(Handed(f"none_{number}", group))
            continue
        ability = draw.gauss(0.0, 1.0)
        content = hashlib.sha256(f"{seed} {number}".encode()).hexdigest()
        if number == 9:  # the very bytes of another student
            content = next((one.content for one in handed if one.content), content)
        if content not in entries and not (number == 13 and students > 13):  # that one is not graded yet
            entries[content] = _entry(content, kind, ability, outline, draw)
        total = entries[content].total if content in entries else None
        times = min(7, int(draw.expovariate(0.6)))
        earlier = tuple(
            Earlier(
                f"2026-11-{2 + at:02d}T12:00:00+08:00",
                None if draw.random() < 0.1 or total is None else round(total * draw.uniform(0.2, 1.05), 2),
            )
            for at in range(times)
        )
        when = f"2026-11-20T{number % 24:02d}:{number % 60:02d}:00.{number:06d}+08:00"
        before = {row.item: row.score for row in entries[content].rows} if content in entries else None
        if number % 10 == 7:  # an older one, which does not count
            old = next(iter(entries), content)
            handed.append(Handed(f"old_{name}", group, "2026-11-01T00:00:00+08:00", old, active=False))
        handed.append(Handed(name, group, when, content, earlier, before, total if number % 2 else None))
    return Grades(outline, tuple(handed), entries)


def _person(at: int) -> Person:
    name = HOSTILE[at // 3 % len(HOSTILE)] if at % 3 == 1 else f"Given{at:04d} Family{at * 37 % 9973:04d}"
    return Person(name, f"2026{at:06d}", f"student.{at:04d}@university.example")


def _entry(content: str, kind: float, ability: float, outline: Outline, draw: random.Random) -> Entry:
    if kind > 0.97:
        rows = tuple(_row(item, scores.CANNOT_IMPORT, 0.0, {}) for item in outline.items)
        return Entry(content, GRADER, REFUSED, rows, f"Nothing could be taken from the upload {HOSTILE[0]}.", 0.1)
    rows = tuple(_rows(ability, outline, draw))
    if kind > 0.94:
        broken = draw.randrange(len(rows))
        rows = tuple(
            _row(item, scores.GRADER_ERROR, 0.0, {f"{item.slug}.py::test_0": scores.GRADER_ERROR})
            if at == broken
            else rows[at]
            for at, item in enumerate(outline.items)
        )
        return Entry(content, GRADER, FAILED, rows, "The grader itself failed.", 3.0)
    return Entry(content, GRADER, GRADED, rows, HOSTILE[1], round(draw.uniform(2, 9), 3))


def _rows(ability: float, outline: Outline, draw: random.Random) -> Iterator[Row]:
    count = max(1, len(outline.items) - 1)
    unparsed = next((item.file for item in outline.items if draw.random() < 0.004), None)
    for at, item in enumerate(outline.items):
        difficulty = -2.0 + 4.0 * at / count
        solved = draw.random() < 1.0 / (1.0 + math.exp(SLOPE * (difficulty - ability)))
        names = [f"{place}test_{item.slug}.py::test_{n}" for place in ("", "hidden/") for n in range(TESTS)]
        if item.file == unparsed:
            yield _row(item, scores.CANNOT_IMPORT, 0.0, dict.fromkeys(names, scores.CANNOT_IMPORT))
        elif solved:
            yield _row(item, scores.PASSED, 1.0, dict.fromkeys(names, scores.PASSED))
        elif draw.random() < 0.3 - 0.1 * ability:
            yield _row(item, scores.NOT_STARTED, 0.0, dict.fromkeys(names, scores.NOT_STARTED))
        else:
            passed = draw.randrange(len(names))  # the first ones, so that public ones pass before hidden ones do
            bad = scores.LATE if draw.random() < 0.1 else scores.FAILED
            tests = {name: scores.PASSED if n < passed else bad for n, name in enumerate(names)}
            state = scores.WAITING if at % 4 == 3 and draw.random() < 0.3 else bad
            known = [mistake for mistake, facts in outline.mistakes.items() if item.slug in facts.items]
            seen = (known[int(draw.random() ** 3 * len(known))],) if known and draw.random() < 0.6 else ()
            yield _row(item, state, passed / len(names), tests, seen)


def _row(item: ItemFacts, state: str, share: float, tests: dict[str, str], mistakes: tuple[str, ...] = ()) -> Row:
    if item.waived:
        return Row(item.slug, item.points, scores.PASSED, tests)
    output = "" if state == scores.PASSED else f"wrong {HOSTILE[2]}"
    return Row(item.slug, round(item.points * share, 2), state, tests, mistakes, output)
