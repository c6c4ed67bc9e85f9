"""Exports: no grade is made up, none is lost, and what other programs read is what they want."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner

from autograder.classroom import canvas, exports, parquet
from autograder.classroom.exports import Mark, as_csv, as_json, marks
from autograder.classroom.records import (
    FAILED,
    GRADED,
    Entry,
    Grades,
    Handed,
    Outline,
    Person,
    Row,
    read_grades,
    write_grades,
)
from autograder.classroom.tables import guarded, number, read_csv, unguarded
from autograder.cli.exporting import export
from autograder.feedback.errors import InputError
from tests.staff.graded_class import synthetic
from tests.staff.test_changes import ITEMS, OUTLINE, X, Y, entry, grades, handed

PREVIOUS = {"p": 1.0, "q": 2.0}


def table(content: bytes) -> list[dict[str, str]]:
    """A CSV file as a spreadsheet reads it."""
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("text", ["=1+2", "+1-2", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1", "'=1", "''@x"])
def test_no_cell_is_a_formula(text: str) -> None:
    """And what was guarded is read as it was."""
    assert guarded(text) == f"'{text}"
    assert unguarded(guarded(text)) == text


@pytest.mark.parametrize("text", ["-2.5", "+49", "0", "O'Brien", "'tis", "a=b", "张伟", ""])
def test_other_cells_stay(text: str) -> None:
    """Numbers above all."""
    assert guarded(text) == text == unguarded(text)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (-0.0, "0"), (0.1 + 0.2, "0.3"), (100, "100"), (123456.78, "123456.78"), (None, "")]
)
def test_points_have_two_decimals_at_most(value: float | None, text: str) -> None:
    """Hundreds keep their noughts."""
    assert number(value) == text


def test_the_table_has_a_row_a_student() -> None:
    """Both members of a group; an empty cell and no 0 for who handed in nothing; the number of points otherwise."""
    pair = Handed("g", (Person("=A", "1", "a@x"), Person("张伟", "2", "b@x")), "", "a")
    now = grades([pair, handed(7), handed(8, "z")], [entry("a", 1.5, 0), entry("z", 0, 0)])
    content = as_csv(OUTLINE, marks(now))
    assert content.startswith(b"\xef\xbb\xbf")
    rows = table(content)
    assert [(row["name"], row["p"], row["q"], row["total"], row["status"]) for row in rows] == [
        ("'=A", "1.5", "0", "1.5", "graded"),
        ("张伟", "1.5", "0", "1.5", "graded"),
        ("Student 7", "", "", "", "not handed in"),
        ("Student 8", "0", "0", "0", "graded"),
    ]


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Over a class with hostile names."""
    now = synthetic(60, 1)
    graded = tuple(one for one in now.handed if not one.content or one.content in now.entries)
    everybody = marks(replace(now, handed=graded), previous=True)
    assert len(everybody) > 50
    (tmp_path / "a.csv").write_bytes(as_csv(now.outline, everybody))
    for row, mark in zip(read_csv(tmp_path / "a.csv"), everybody, strict=True):
        assert row["name"] == mark.person.name.strip()
        assert row["total"] == number(mark.total)


def test_a_failed_entry_is_no_grade() -> None:
    """Neither is one that is still to come; both are named. With the option the platform's result stays."""
    everybody = [handed(1, "f", before=PREVIOUS), handed(2, "w", before_total=7.0), handed(3, "a")]
    now = grades(everybody, [entry("f", 0, 0, status=FAILED), entry("a", 4, 4)])
    with pytest.raises(InputError, match=r"2 without a verdict: Student 1 \(s1@x.edu\), Student 2"):
        marks(now)
    found = marks(now, previous=True)
    assert [(mark.status, mark.total, mark.scores) for mark in found[:2]] == [
        ("previous", 3.0, PREVIOUS),
        ("previous", 7.0, {}),
    ]
    now = replace(now, handed=(handed(1, "f"),))
    with pytest.raises(InputError, match="no previous result either"):
        marks(now, previous=True)


def test_nothing_is_exported_while_somebody_loses_points() -> None:
    """Against the platform as against another folder."""
    now = grades([handed(1, "a", before=PREVIOUS)], [entry("a", 0, 4)])
    with pytest.raises(InputError, match=r"1 lose points: Student 1 \(s1@x.edu\); .*--accept-drops"):
        marks(now)
    assert [mark.total for mark in marks(now, accept_drops=True)] == [4]
    same = grades([handed(1, "a")], [entry("a", 0, 4)])
    assert marks(same, same)
    with pytest.raises(InputError, match="1 lose points"):
        marks(same, grades([handed(1, "a")], [entry("a", 1, 4)]))


def test_a_score_that_is_no_number_is_refused() -> None:
    """JSON could not say it, and a spreadsheet would say "nan"."""
    with pytest.raises(InputError, match="no finite number"):
        marks(grades([handed(1, "a")], [entry("a", float("nan"), 1)]))


def test_json_is_strict_and_says_everything() -> None:
    """Null where there is no grade."""
    now = grades([handed(1, "a"), handed(2)], [entry("a", 1, 2, {X: "failed", Y: "passed"})])

    def refuse(name: str) -> None:
        raise AssertionError(name)

    document = json.loads(b"".join(as_json(now, marks(now))), parse_constant=refuse)
    assert set(document) == {"format", "assignment", "items", "students", "tests"}
    assert document["assignment"] == {"title": "Toy", "title_zh": "小", "version": "1", "points": 8}
    assert [item["slug"] for item in document["items"]] == ["p", "q"]
    assert document["tests"] == [{"id": Y, "item": "p", "hidden": True}, {"id": X, "item": "p", "hidden": False}]
    one, two = document["students"]
    assert (one["total"], one["scores"], one["outcomes"]) == (3, {"p": 1, "q": 2}, {X: "failed", Y: "passed"})
    assert (two["total"], two["status"], two["scores"]) == (None, "not handed in", {})


# --- Canvas


HEAD = "Student,ID,SIS User ID,SIS Login ID,Section,Toy (77),Other (78),Final Score\r\n"
MANUAL = ",,,,,Manual Posting,,\r\n"
POSSIBLE = "    Points Possible,,,,,8.00,10.00,(read only)\r\n"
ROWS = (
    '"Student, 1",9001,001,s1,"CS, 1",,3.00,50\r\n',
    '"Zwei ""Z"", S",9002,,s2@X.edu,CS,1.00,,\r\n',
    "=1+2,9003,003,s3,CS,5.50,4.00,\r\n",
    '"Student, Test",9009,,abc,CS,,,\r\n',
)
BOOK = "\ufeff" + HEAD + MANUAL + POSSIBLE + "".join(ROWS)


def mark(at: int, total: float | None, email: str = "", name: str = "") -> Mark:
    return Mark(Person(name or f"Student {at}", f"{at:03d}", email or f"s{at}@x.edu"), f"sub{at}", GRADED, {}, total)


def test_canvas_s_own_export_keeps_every_other_byte() -> None:
    """Ids, quotes, the row of points, the mark at the beginning, line ends; no grade here leaves what is there."""
    found = canvas.fill(BOOK.encode(), [mark(1, 7.25), mark(2, 8), mark(3, None), mark(4, 6)], "Toy", 8)
    expected = BOOK.replace('"CS, 1",,3.00', '"CS, 1",7.25,3.00').replace("CS,1.00,,", "CS,8,,")
    assert found.content.decode() == expected
    assert (found.column, found.matched) == ("Toy (77)", 2)
    assert found.unmatched == ("Student 4 (s4@x.edu)",)
    assert found.others == ("=1+2",)
    assert found.notes == ()


def test_a_gradebook_with_semicolons_is_filled(tmp_path: Path) -> None:
    """As Canvas writes it where a comma stands in numbers; the column may be the last one."""
    book = 'Student;ID;SIS Login ID;Section;Toy (77)\nPoints Possible;;;;10,00\n"A;B";1;s1@x.edu;S;\nC;2;zz;S;3,5'
    found = canvas.fill(book.encode(), [mark(1, 7.25)], "Toy (77)", 8)
    assert found.content.decode() == book.replace("s1@x.edu;S;", "s1@x.edu;S;7.25")
    assert found.notes == ("Canvas has 10 points for it, here it has 8",)


def test_nobody_gets_another_one_s_grade() -> None:
    """Not by name alone, nor by the address' first part without the name; two claims on a row are none."""
    book = 'Student,ID,SIS User ID,SIS Login ID,Section,Toy (7)\n"One, Ada",1,,ada,S,\nBob,2,,bob,S,\n'
    found = canvas.fill(book.encode(), [mark(1, 5, "ada@x.edu", "Ada One"), mark(2, 6, "bob@x.edu", "Rob")], "Toy", 8)
    assert found.content.decode() == book.replace("ada,S,", "ada,S,5")
    assert found.unmatched == ("Rob (bob@x.edu)",)
    book = "Student,ID,SIS User ID,SIS Login ID,Section,Toy (7)\nBob,2,001,s2@x.edu,S,\n"
    found = canvas.fill(book.encode(), [mark(1, 5), mark(2, 6)], "Toy", 8)
    assert found.content.decode() == book
    assert found.unmatched == ("Bob: 2 students have this row",)


@pytest.mark.parametrize(
    ("book", "name", "says"),
    [
        (BOOK, "Toys", "no column is called 'Toys'.*'Toy \\(77\\)', 'Other \\(78\\)'"),
        (BOOK.replace("Other", "Toy"), "Toy", "several columns are called 'Toy'"),
        (BOOK.replace("8.00", "(read only)"), "Toy", "read only"),
        (BOOK.replace("Toy", "My Final Score"), "My Final Score", "Canvas ignores every column with 'Final Score'"),
        ("name,points\n", "Toy", "no Canvas gradebook"),
        ('Student,ID,"x"y\n', "Toy", "no CSV file"),
    ],
    ids=["no-column", "two-columns", "read-only", "ignored", "other-file", "broken"],
)
def test_what_canvas_would_not_take_is_refused(book: str, name: str, says: str) -> None:
    """One line each."""
    with pytest.raises(InputError, match=says):
        canvas.fill(book.encode(), [mark(1, 1)], name, 8)


def test_without_an_export_there_are_the_columns_that_canvas_asks_for() -> None:
    """Whoever has no grade has no row."""
    content = canvas.minimal([mark(1, 2.5), mark(2, None), mark(3, 4, name="=1, 2")], "Toy", 8)
    assert content.decode() == (
        "Student,ID,SIS User ID,SIS Login ID,Section,Toy\r\nPoints Possible,,,,,8\r\n"
        'Student 1,,001,s1@x.edu,,2.5\r\n"\'=1, 2",,003,s3@x.edu,,4\r\n'
    )


# --- Parquet


def outcomes(now: Grades) -> Counter[tuple[str, str, str, str]]:
    """(submission, item, test, state), counted another way."""
    return Counter(
        (one.submission, row.item, test, state)
        for one in now.handed
        if one.content in now.entries
        for row in now.entries[one.content].rows
        for test, state in row.tests.items()
    )


def test_parquet_holds_every_outcome_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In batches; an entry that was written twice counts with its last line, another grader's not at all."""
    monkeypatch.setattr(parquet, "BATCH", 37)
    now = synthetic(40, 3)
    write_grades(tmp_path, now)
    some = next(iter(now.entries.values()))
    stale = [msgspec.structs.replace(some, rows=()), msgspec.structs.replace(some, grader="other")]
    journal = tmp_path / "journal.jsonl"
    lines = journal.read_bytes()
    journal.write_bytes(msgspec.json.Encoder().encode_lines(stale[:1]) + lines + msgspec.json.encode(stale[1]) + b"\n")
    count = parquet.write_parquet(tmp_path, tmp_path / "out.parquet")
    read = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert count == len(read) == sum(outcomes(now).values()) > 37
    assert outcomes(now) == Counter(
        (row["submission"], row["item"], f"{row['file']}::{row['function']}", row["state"]) for row in read
    )
    assert all(row["hidden"] == row["file"].startswith("hidden/") for row in read)
    assert {row["case"] for row in read} == {""}
    assert {row["active"] for row in read} == {True, False}
    emails = {row["submission"]: row["people"] for row in read}
    assert all(
        emails[one.submission] == [p.email for p in one.people] for one in now.handed if one.submission in emails
    )


def test_an_anonymous_file_names_nobody(tmp_path: Path) -> None:
    """No name, id, address or submission; as many people and submissions as there are, and groups stay groups."""
    now = synthetic(40, 3)
    write_grades(tmp_path, now)
    plain, hidden = tmp_path / "plain.parquet", tmp_path / "hidden.parquet"
    parquet.write_parquet(tmp_path, plain)
    parquet.write_parquet(tmp_path, hidden, anonymise=True)
    one, two = pq.read_table(plain).to_pylist(), pq.read_table(hidden).to_pylist()
    secret = {text for handed in now.handed for p in handed.people for text in (p.name, p.sid, p.email)}
    secret |= {handed.submission for handed in now.handed}
    assert not secret & {text for row in two for text in (row["submission"], *row["people"])}
    pairs = {(tuple(a["people"]), tuple(b["people"])) for a, b in zip(one, two, strict=True)}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert all(len(a) == len(b) for a, b in pairs)


def test_cases_are_told_apart(tmp_path: Path) -> None:
    """A case's name may hold brackets."""
    tests = {"test_a.py::test_x[a[0]]": "passed", "hidden/test_a.py::test_x": "failed"}
    write_grades(tmp_path, grades([handed(1, "a")], [entry("a", 1, 1, tests)]))
    parquet.write_parquet(tmp_path, tmp_path / "o.parquet")
    read = pq.read_table(tmp_path / "o.parquet").to_pylist()
    assert [(row["file"], row["function"], row["case"], row["hidden"]) for row in read] == [
        ("test_a.py", "test_x", "a[0]", False),
        ("hidden/test_a.py", "test_x", "", True),
    ]


# --- the command


@pytest.mark.parametrize("kind", ["csv", "canvas", "json", "parquet"])
def test_the_command_writes_every_format(kind: str, tmp_path: Path) -> None:
    """And leaves nothing else in the folder."""
    write_grades(tmp_path / "g", grades([handed(1, "a")], [entry("a", 1, 2, {X: "passed"})]))
    (tmp_path / "out").mkdir()
    done = CliRunner().invoke(export, [str(tmp_path / "g"), "--format", kind, "--out", str(tmp_path / "out/file")])
    assert done.exit_code == 0, done.output
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["file"]


def test_the_command_refuses_drops_and_writes_nothing(tmp_path: Path) -> None:
    """Until they are accepted."""
    write_grades(tmp_path / "g", grades([handed(1, "a", before=PREVIOUS)], [entry("a", 0, 2)]))
    arguments = [str(tmp_path / "g"), "--format", "csv", "--out", str(tmp_path / "x.csv")]
    done = CliRunner().invoke(export, arguments)
    assert isinstance(done.exception, InputError)
    assert not (tmp_path / "x.csv").exists()
    assert CliRunner().invoke(export, [*arguments, "--accept-drops"]).exit_code == 0
    assert (tmp_path / "x.csv").exists()


def test_the_fields_of_a_table_are_no_items() -> None:
    """Slot files are read by these names."""
    assert not {item.slug for item in ITEMS} & {*exports.IDENTITY, "total"}
    assert Outline("t", "t", "1", "g", ITEMS, ()).points == 8
    assert Entry("a", "g", GRADED, (Row("p", 1, "passed"),)).total == 1


def test_scores_can_be_read_without_outcomes(tmp_path: Path) -> None:
    """The same table, from a fraction of the memory."""
    now = synthetic(30, 2)
    graded = tuple(one for one in now.handed if not one.content or one.content in now.entries)
    write_grades(tmp_path, replace(now, handed=graded))
    whole, scores = read_grades(tmp_path), read_grades(tmp_path, outcomes=False)
    assert as_csv(now.outline, marks(whole, previous=True)) == as_csv(now.outline, marks(scores, previous=True))
    assert not any(row.tests or row.output for one in scores.entries.values() for row in one.rows)
    assert any(row.tests for one in whole.entries.values() for row in one.rows)
