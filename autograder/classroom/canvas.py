"""A CSV file that Canvas imports into its gradebook.

Best made from Canvas's own export (Grades, Export): one column is filled, and every other byte stays as it came: ids,
sections, the rows "Points Possible" and "Manual Posting", the delimiter (a semicolon in some languages), the line ends.
Whoever has no grade here keeps the cell that Canvas wrote: an empty one might take a grade away.

Without an export, the columns that its importer (``lib/gradebook_importer.rb`` of canvas-lms) asks for: Student, ID,
SIS User ID, SIS Login ID, Section, and the assignment; it finds a student by ID, else by SIS User ID, else by SIS Login
ID, else by name. It ignores a column whose name holds "Final Score" and the like (its issue 2134), so such a name is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..feedback.errors import InputError
from .exports import Mark
from .tables import guarded, number, one_line, unguarded

IDENTITY = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_IGNORED = re.compile("(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)")
_TITLE = re.compile(r"(.*?)\s*\((\d+)\)")
_NOT_STUDENTS = re.compile(r"\s*(Points Possible.*|Muted.*|Manual Posting.*)?\s*|.*Student, Test", re.IGNORECASE)


@dataclass(frozen=True)
class Filled:
    """What became of a gradebook.

    Attributes:
        content: the file.
        column: the header of the assignment's column.
        matched: how many students have their grade in it.
        unmatched: who has a grade here and no row there, or more than one.
        others: who has a row there and no grade here; their cells are as they came.
        notes: what else to know.
    """

    content: bytes
    column: str
    matched: int
    unmatched: tuple[str, ...]
    others: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_gradebook(path: Path) -> bytes:
    """The bytes of Canvas's export.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def fill(content: bytes, marks: Sequence[Mark], assignment: str, points: float) -> Filled:
    """Put totals into the column of an assignment.

    Students are found by SIS User ID or SIS Login ID, which is compared with student id and email address; by the part
    of the address before the @ only where the name is the same, too. Never by the name alone.

    Args:
        content: of Canvas's export.
        marks: everybody's grade.
        assignment: its name in Canvas, or its header there with the number in brackets.
        points: of the assignment here, to be compared with "Points Possible".

    Raises:
        InputError: no gradebook, no or several such columns, or a column that Canvas does not import.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("the Canvas gradebook is no UTF-8: take the file as Canvas gave it") from None
    body = text.removeprefix("\ufeff")
    delimiter = ";" if body.startswith(("Student;", '"Student";')) else ","
    records = list(_records(body, delimiter))
    if not records or _value(records[0][0]) != "Student" or "ID" not in map(_value, records[0]):
        raise InputError("no Canvas gradebook: its first columns should be Student and ID")
    header = [_value(cell).strip() for cell in records[0]]
    column = _column(header, assignment)
    notes = list(_points(records, column, points))
    people = [row for row in records[1:] if len(row) > column and not _NOT_STUDENTS.fullmatch(_value(row[0]))]
    found, unmatched = _match(marks, people, header)
    for at, mark in found.items():
        people[at][column] = number(mark.total) + _end(people[at][column])
    mark_of = text[: len(text) - len(body)]
    lines = (delimiter.join(row) for row in records)
    others = tuple(one_line(_value(row[0]), 80) for at, row in enumerate(people) if at not in found)
    filled = (mark_of + "".join(lines)).encode("utf-8")
    return Filled(filled, header[column], len(found), tuple(unmatched), others, tuple(notes))


def minimal(marks: Iterable[Mark], assignment: str, points: float) -> bytes:
    """The columns that Canvas needs, where there is no export to fill.

    Raises:
        InputError: Canvas would ignore a column of this name.
    """
    _refuse_ignored(assignment)
    rows = [[*IDENTITY, assignment], ["Points Possible", "", "", "", "", number(points)]]
    for mark in marks:
        if mark.total is not None:
            person = mark.person
            rows.append([one_line(person.name), "", person.sid, person.email, "", number(mark.total)])
    return "".join(",".join(_quoted(guarded(cell)) for cell in row) + "\r\n" for row in rows).encode("utf-8")


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if re.search(r'[",\r\n]', cell) else cell


def _records(text: str, delimiter: str) -> Iterable[list[str]]:
    """Rows of cells as they are written, quotes and all; the last cell of a row has its line end."""
    cell = re.compile(rf'("(?:[^"]|"")*"|[^"{delimiter}\r\n]*)({delimiter}|\r\n|\r|\n|\Z)')
    row: list[str] = []
    at = 0
    while at < len(text):
        found = cell.match(text, at)
        if found is None:
            raise InputError(f"the Canvas gradebook is no CSV file: near {one_line(text[at : at + 40])!r}")
        at = found.end()
        if found[2] == delimiter:
            row.append(found[1])
            if at == len(text):
                row.append("")
                yield row
        else:
            yield [*row, found[1] + found[2]]
            row = []


def _end(cell: str) -> str:
    return cell[len(cell.rstrip("\r\n")) :]


def _value(cell: str) -> str:
    cell = cell.rstrip("\r\n")
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def _column(header: Sequence[str], assignment: str) -> int:
    found = [at for at, name in enumerate(header) if name == assignment]
    titles = [(at, title[1]) for at, name in enumerate(header) if (title := _TITLE.fullmatch(name))]
    found = found or [at for at, title in titles if title == assignment]
    if len(found) != 1:
        there = ", ".join(repr(one_line(header[at], 60)) for at, _ in titles) or "none"
        what = "several columns are" if found else "no column is"
        raise InputError(f"{what} called {assignment!r} in the Canvas gradebook; assignments: {there}")
    _refuse_ignored(header[found[0]])
    return found[0]


def _refuse_ignored(name: str) -> None:
    if ignored := _IGNORED.search(name):
        raise InputError(f"Canvas ignores every column with {ignored[0]!r} in its name: rename the assignment there")


def _points(records: Sequence[Sequence[str]], column: int, points: float) -> Iterable[str]:
    for row in records[1:4]:
        if "Points Possible" in _value(row[0]) and len(row) > column:
            cell = _value(row[column]).strip()
            if "read only" in cell:
                raise InputError("this column of the Canvas gradebook is read only")
            try:
                possible = float(cell.replace(",", "."))
            except ValueError:
                return
            if abs(possible - points) > 0.005:
                yield f"Canvas has {number(possible)} points for it, here it has {number(points)}"


def _match(
    marks: Sequence[Mark], people: Sequence[Sequence[str]], header: Sequence[str]
) -> tuple[dict[int, Mark], list[str]]:
    """Row of the gradebook -> its grade, and who has none."""
    columns = {name: header.index(name) for name in ("SIS User ID", "SIS Login ID", "Email") if name in header}
    rows_of: dict[str, set[int]] = {}
    for at, row in enumerate(people):
        for column in columns.values():
            if key := _value(row[column]).strip().casefold():
                rows_of.setdefault(key, set()).add(at)
    wanted: dict[int, list[Mark]] = {}
    unmatched = []
    for mark in marks:
        person = mark.person
        label = f"{one_line(person.name, 80)} ({one_line(person.email or person.sid or mark.submission, 80)})"
        if mark.total is None:
            continue
        keys = [key.strip().casefold() for key in (person.sid, person.email) if key.strip()]
        rows = set().union(*(rows_of.get(key, set()) for key in keys))
        if not rows and person.email:
            local = rows_of.get(person.email.partition("@")[0].casefold(), set())
            rows = {at for at in local if _words(_value(people[at][0])) == _words(person.name)}
        if len(rows) == 1:
            wanted.setdefault(rows.pop(), []).append(mark)
        else:
            unmatched.append(f"{label}: {len(rows)} rows" if rows else label)
    for at, claims in wanted.items():
        if len(claims) > 1:
            unmatched.append(f"{one_line(_value(people[at][0]), 80)}: {len(claims)} students have this row")
    return {at: claims[0] for at, claims in wanted.items() if len(claims) == 1}, unmatched


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", unguarded(name).casefold()))
