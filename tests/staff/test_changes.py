"""Who changes and why: drops are never silent, and one reason is one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from autograder.classroom.changes import compare, rows, summary
from autograder.classroom.records import (
    FAILED,
    GRADED,
    REFUSED,
    Entry,
    Grades,
    Handed,
    ItemFacts,
    Outline,
    Person,
    Row,
    write_grades,
)
from autograder.cli.exporting import changes
from tests.staff.graded_class import synthetic

X, Y = "test_rnn.py::test_x[one]", "hidden/test_rnn.py::test_y"
ITEMS = tuple(ItemFacts(slug, f"3.{at}", "rnn", slug, slug, 4.0, "rnn.py") for at, slug in enumerate("pq", start=1))
OUTLINE = Outline("Toy", "小", "1", "g", ITEMS, ())


def entry(content: str, p: float, q: float, tests: dict[str, str] | None = None, status: str = GRADED) -> Entry:
    """An entry whose tests are those of p."""
    return Entry(content, "g", status, (Row("p", p, "failed", tests or {}), Row("q", q, "failed")))


def handed(at: int, content: str = "", **more: object) -> Handed:
    """The submission of student number ``at``."""
    person = Person(f"Student {at}", f"{at:03d}", f"s{at}@x.edu")
    return Handed(f"submission_{at}", (person,), "", content, **more)  # type: ignore[arg-type]


def grades(everybody: list[Handed], entries: list[Entry], outline: Outline = OUTLINE) -> Grades:
    """A class."""
    return Grades(outline, tuple(everybody), {one.content: one for one in entries})


def told(now: Grades, before: Grades | None = None) -> str:
    """The summary as text."""
    return "\n".join(summary(compare(now, before)))


def test_students_with_one_reason_are_one_line() -> None:
    """Eighteen of them, each with content of its own."""
    everybody = [handed(at, f"c{at}") for at in range(18)]
    before = grades(everybody, [entry(f"c{at}", 1, 2, {X: "failed", Y: "passed"}) for at in range(18)])
    now = grades(everybody, [entry(f"c{at}", 4, 2, {X: "passed", Y: "passed"}) for at in range(18)])
    said = told(now, before)
    assert "3.1 p: 18 students +3 each: test_rnn.py::test_x[one] passes now" in said
    assert said.startswith("no student loses points")
    assert "18 students change, 0 keep every score" in said


def test_a_drop_leads_with_its_name_though_the_total_rises() -> None:
    """It is a drop in an item; the reason is the test that fails now."""
    everybody = [handed(1, "a"), handed(2, "b")]
    before = grades(everybody, [entry("a", 4, 0, {X: "passed"}), entry("b", 1, 1)])
    now = grades(everybody, [entry("a", 2, 4, {X: "timeout"}), entry("b", 1, 1)])
    said = told(now, before).splitlines()
    assert said[:2] == ["1 STUDENT LOSES POINTS:", "  Student 1 (s1@x.edu): 3.1 p -2, 3.2 q +4"]
    assert said[3] == "  3.1 p: 1 student -2: test_rnn.py::test_x[one] is timeout now"
    assert "1 students change, 1 keep every score" in said
    table = list(rows(compare(now, before)))
    assert table[1][0] == "drop"
    assert table[1][5:10] == ("p", "3.1", "4", "2", "-2")


def test_without_another_folder_the_platform_s_results_count() -> None:
    """By item, else by total; a total that is not the sum of its items is said to be none."""
    everybody = [
        handed(1, "a", before={"p": 4.0, "q": 1.0}, before_total=5.0),
        handed(2, "b", before_total=3.0),
        handed(3, "c", before={"p": 1.0, "q": 1.0}, before_total=7.0),
        handed(4, "d"),
    ]
    found = compare(grades(everybody, [entry(name, 1, 1) for name in "abcd"]))
    assert [(one.student.person.sid, one.item, one.points) for one in found.changes] == [
        ("001", "p", -3),
        ("002", "", -1),
        ("003", "", -5),
    ]
    assert "not the sum" in found.changes[2].reason
    assert [one.person.sid for one in found.no_previous] == ["004"]
    assert "1 without previous results: Student 4 (s4@x.edu)" in "\n".join(summary(found))


def test_who_has_no_verdict_is_named_and_not_compared() -> None:
    """Failed, waiting; refused is a verdict of 0, and nothing handed in any more is a drop as well."""
    full = {"before": {"p": 4.0, "q": 4.0}}
    everybody = [handed(1, "f", **full), handed(2, "w", **full), handed(3, "r", **full), handed(4, "", **full)]
    now = grades(everybody, [entry("f", 0, 0, status=FAILED), entry("r", 0, 0, status=REFUSED)])
    found = compare(now)
    assert {one.person.sid for one in found.losers} == {"003", "004"}
    said = "\n".join(summary(found))
    assert "1 without a verdict, as the grader failed: Student 1 (s1@x.edu)" in said
    assert "1 not graded yet: Student 2 (s2@x.edu)" in said
    assert "1 refused, as nothing could be taken: Student 3 (s3@x.edu)" in said
    assert "nothing is handed in any more" in said


def test_items_that_are_waived_new_or_gone_say_so() -> None:
    """And those with other points."""
    p, q = ITEMS
    new = msgspec.structs.replace(
        OUTLINE, items=(msgspec.structs.replace(p, waived=True), msgspec.structs.replace(q, slug="r", number="3.3"))
    )
    before = grades([handed(1, "a")], [entry("a", 1, 2)])
    now = Grades(new, before.handed, {"a": Entry("a", "g", GRADED, (Row("p", 4, "passed"), Row("r", 1, "failed")))})
    assert {one.item: (one.points, one.reason) for one in compare(now, before).changes} == {
        "p": (3, "waived now"),
        "r": (1, "a new item"),
        "q": (-2, "the item is gone"),
    }
    worth = msgspec.structs.replace(OUTLINE, items=(p, msgspec.structs.replace(q, points=8.0)))
    now = grades([handed(1, "a")], [entry("a", 1, 4)], worth)
    assert [one.reason for one in compare(now, before).changes] == ["points 4 -> 8"]


def test_another_submission_is_told_from_another_grader() -> None:
    """And whoever is in the earlier folder only is named."""
    before = grades([handed(1, "old"), handed(2, "two")], [entry("old", 4, 4), entry("two", 1, 1)])
    found = compare(grades([handed(1, "new")], [entry("new", 3, 4)]), before)
    assert [one.reason for one in found.changes] == ["another submission"]
    assert found.absent == ("Student 2 (s2@x.edu)",)


def test_groups_count_every_member_and_inactive_submissions_nobody() -> None:
    """Two people, two drops; an older submission is not looked at."""
    pair = Handed("g", (Person("A", "1", "a@x"), Person("B", "2", "b@x")), "", "a", before={"p": 4.0, "q": 0.0})
    old = Handed("o", pair.people, "", "a", before={"p": 4.0, "q": 4.0}, active=False)
    assert [one.student.person.name for one in compare(grades([old, pair], [entry("a", 1, 0)])).drops] == ["A", "B"]


@pytest.mark.parametrize("seed", range(3))
def test_totals_add_up(seed: int) -> None:
    """Over a whole class, what a student had plus what changes is what the student has."""
    now = synthetic(120, seed)
    shifted = tuple(
        replace_before(one, {slug: max(0.0, score - at % 3) for at, (slug, score) in enumerate(one.before.items())})
        if one.before is not None
        else one
        for one in now.handed
    )
    now = replace(now, handed=shifted)
    found = compare(now)
    gained: dict[str, float] = {}
    for change in found.changes:
        gained[change.student.key] = gained.get(change.student.key, 0.0) + change.points
    assert len(gained) > 60
    for change in found.changes:
        student = change.student
        assert student.handed.before is not None
        had = student.handed.before_total
        had = sum(student.handed.before.values()) if had is None else had
        assert (student.total or 0.0) == pytest.approx(had + gained[student.key])


def replace_before(one: Handed, before: dict[str, float]) -> Handed:
    return msgspec.structs.replace(one, before=before)


def test_the_command_says_it_and_writes_a_table(tmp_path: Path) -> None:
    """Exit code 0 also with drops; a name is neither a formula nor an escape code."""
    evil = Handed("e", (Person("=1+2\x1b[31m", "9", "e@x"),), "", "a", before={"p": 4.0, "q": 0.0})
    write_grades(tmp_path / "now", grades([evil], [entry("a", 1, 0)]))
    done = CliRunner().invoke(changes, [str(tmp_path / "now"), "--out", str(tmp_path / "changes.csv")])
    assert done.exit_code == 0, done.output
    assert "1 STUDENT LOSES POINTS:\n  =1+2 (e@x): 3.1 p -3" in done.stdout
    assert "\x1b" not in done.stdout
    lines = (tmp_path / "changes.csv").read_text(encoding="utf-8-sig").splitlines()
    assert lines[1].startswith("drop,'=1+2")
    assert ",-3," in lines[1]
