"""CSV files for spreadsheets: written so that no cell becomes a formula, and read again.

A text that a spreadsheet would take for a formula gets an apostrophe in front, which reading takes away again. Numbers
stay numbers. Files begin with a byte order mark, without which Excel reads names in UTF-8 as something else; pandas and
Python's "utf-8-sig" skip it.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..feedback.errors import InputError
from ..gradescope import clean

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # the wide ones are the same to a Chinese or Japanese Excel
_GUARDED = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")


def guarded(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(cell: str) -> str:
    """What ``guarded`` was given."""
    return cell[1:] if _GUARDED.match(cell) else cell


def one_line(text: str, most: int = 200) -> str:
    """Text of a student's as one harmless line."""
    return clean(text, most).replace("\n", " ").strip()


def number(value: float | None) -> str:
    """Points with at most two decimals; empty for None."""
    return "" if value is None else f"{value + 0.0:.2f}".rstrip("0").rstrip(".").replace("-0", "0", value == 0)


def csv_bytes(rows: Iterable[Sequence[str]]) -> bytes:
    """Rows as a CSV file in UTF-8 with a byte order mark."""
    text = io.StringIO()
    writer = csv.writer(text)
    for row in rows:
        writer.writerow([guarded(cell) for cell in row])
    return text.getvalue().encode("utf-8-sig")


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file with a header, cells without guards and spaces around them.

    Raises:
        InputError: it cannot be read, is no UTF-8, or two columns have the same name.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if any(row)]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: no UTF-8; save it as CSV UTF-8") from None
    except csv.Error as error:
        raise InputError(f"{path}: {error}") from None
    if not rows:
        raise InputError(f"{path}: empty")
    names = [unguarded(cell).strip() for cell in rows[0]]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise InputError(f"{path}: two columns are called {', '.join(twice)}")
    for at, row in enumerate(rows[1:], start=2):
        if len(row) > len(names):
            raise InputError(f"{path}: row {at} has {len(row)} cells, the header {len(names)}")
    return [dict.fromkeys(names, "") | {n: unguarded(c).strip() for n, c in zip(names, row)} for row in rows[1:]]  # noqa: B905


def write_whole(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file whole, or leave what was there.

    Raises:
        InputError: it cannot be written.
    """
    with whole(path) as temporary, temporary.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A file to write instead of ``path``, which it becomes at the end; it goes where something fails.

    Raises:
        InputError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
