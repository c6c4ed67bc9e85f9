"""Every outcome of every test as a Parquet file, for pandas, DuckDB and the like.

A row a submission and test: ``submission``, ``people`` (a list: emails, else ids, else names; or pseudonyms),
``active``, ``status``, ``item``, ``file``, ``function``, ``case``, ``hidden``, ``state``. The journal is read line by
line and written in batches, so memory does not grow with the class. It is no list of grades: submissions without a
verdict are in it, with their status.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from ..feedback.errors import InputError
from .records import JOURNAL, ROSTER, Entry, Grades, Handed, Outline, read_lines, read_outline
from .report.population import populate
from .report.pseudonyms import numbers
from .tables import whole

BATCH = 100_000  # rows


class _Key(msgspec.Struct):
    content: str
    grader: str


def write_parquet(folder: Path, out: Path, *, anonymise: bool = False) -> int:
    """Write the outcomes of a folder of grades. Returns the number of rows.

    Args:
        folder: of grades.
        out: the file.
        anonymise: numbers in place of people and submissions. Those of who is in a report are the report's.

    Raises:
        InputError: the folder cannot be read, the file cannot be written, or pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError('Parquet needs pyarrow: pip install "autograder[classes]"') from None
    outline = read_outline(folder)
    roster = tuple(read_lines(folder / ROSTER, Handed))
    shown = _shown(outline, roster, anonymise)
    texts = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema(
        [
            ("submission", pa.string()),
            ("people", pa.list_(pa.string())),
            ("active", pa.bool_()),
            *((name, texts) for name in ("status", "item", "file", "function", "case")),
            ("hidden", pa.bool_()),
            ("state", texts),
        ]
    )
    count = 0
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    with whole(out) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        for rows in _rows(folder, outline.grader, shown):
            for name, values in rows.items():
                columns[name] += values
            if len(columns["state"]) >= BATCH:
                count += _flush(writer, columns, pa.table(columns, schema))
        count += _flush(writer, columns, pa.table(columns, schema))
    return count


_Shown = dict[str, list[tuple[str, list[str], bool]]]  # content -> (submission, people, active) of those who have it


def _shown(outline: Outline, roster: tuple[Handed, ...], anonymise: bool) -> _Shown:
    grades = Grades(outline, roster)
    known: dict[str, str] = {}
    if anonymise:
        population = populate(grades)
        for student, place in zip(population.students, numbers(grades, population), strict=True):
            known[_key(student.person.key, population.submissions[student.submission].handed)] = f"student {place}"
    shown: _Shown = {}
    order = sorted(range(len(roster)), key=lambda at: roster[at].content) if anonymise else range(len(roster))
    for place, at in enumerate(order, start=1):
        handed = roster[at]
        people = [person.key for person in handed.people] or ([""] if anonymise else [])
        if anonymise:
            people = [known.setdefault(_key(key, handed), f"student {len(known) + 1}") for key in people]
        name = f"submission {place}" if anonymise else handed.submission
        shown.setdefault(handed.content, []).append((name, people, handed.active))
    return shown


def _key(person: str, handed: Handed) -> str:
    return f"person {person}" if person else f"submission {handed.submission}"


def _flush(writer: Any, columns: dict[str, list[Any]], table: Any) -> int:
    writer.write_table(table)
    for values in columns.values():
        values.clear()
    return int(table.num_rows)


def _rows(folder: Path, grader: str, shown: _Shown) -> Iterator[dict[str, list[Any]]]:
    """The columns of one submission after the other."""
    last: dict[str, int] = {}  # a content that was graded twice counts with its last line, as everywhere
    for line, key in enumerate(read_lines(folder / JOURNAL, _Key)):
        if key.grader == grader and key.content in shown:
            last[key.content] = line
    wanted = set(last.values())
    for line, entry in enumerate(read_lines(folder / JOURNAL, Entry)):
        if line not in wanted:
            continue
        tests = [(row.item, *_parts(test), state) for row in entry.rows for test, state in row.tests.items()]
        if not tests:
            continue
        named = dict(zip(("item", "file", "function", "case", "hidden", "state"), map(list, zip(*tests)), strict=True))  # noqa: B905
        for submission, people, active in shown[entry.content]:
            one = {"submission": submission, "people": people, "active": active, "status": entry.status}
            yield {**{name: [value] * len(tests) for name, value in one.items()}, **named}


@lru_cache(maxsize=100_000)
def _parts(test: str) -> tuple[str, str, str, bool]:
    """File, function, case, and whether it is hidden."""
    file, _, name = test.partition("::")
    function, _, case = name.partition("[")
    return file, function, case.removesuffix("]"), file.startswith("hidden/")
