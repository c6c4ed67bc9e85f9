"""A folder as Gradescope exports it: submission_metadata.yml, and a folder for each submission.

The file is YAML as Ruby writes it: a mapping from the folder's name to keys that are symbols (":submitters:"); results
are stored as they were uploaded, with plain keys. It is written a submission at a time, so that a class of any size
takes no memory. Texts stand in JSON's quotes, which are YAML's as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from ..feedback.errors import InputError
from .records import Person

METADATA = "submission_metadata.yml"


@dataclass(frozen=True)
class Exported:
    """What the platform knows of a submission.

    Attributes:
        number: the platform's; the folder is ``submission_<number>``.
        results: a results.json.
        history: (number, time, score) of earlier ones, oldest first.
    """

    number: int
    people: tuple[Person, ...]
    created_at: datetime
    score: float | None
    results: Mapping[str, Any]
    history: Sequence[tuple[int, datetime, float | None]] = ()

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"submission_{self.number}"


class ExportWriter:
    """Writes an export; use it in a ``with`` statement.

    Args:
        folder: it must not exist, or be empty.

    Raises:
        InputError: it is not empty, or cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise InputError(f"{folder} is not empty")
            self._file: TextIO = (folder / METADATA).open("w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise InputError(f"cannot write {folder}: {error.strerror}") from None
        self._file.write("---\n")

    def __enter__(self) -> ExportWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def add(self, submission: Exported, files: Mapping[str, bytes]) -> None:
        """Write one submission: what is known of it, and its files by path; a folder is there even without any."""
        folder = self.folder / submission.folder
        folder.mkdir()
        for folders in {path.rpartition("/")[0] for path in files if "/" in path}:
            (folder / folders).mkdir(parents=True, exist_ok=True)
        for path, content in files.items():
            (folder / path).write_bytes(content)
        self._file.write("".join(f"{line}\n" for line in _entry(submission)))


def _entry(submission: Exported) -> Iterator[str]:
    yield f"{submission.folder}:"
    yield "  :submitters:"
    for person in submission.people:
        yield f"  - :name: {_text(person.name)}"
        yield f"    :sid: {_text(person.sid)}"
        yield f"    :email: {_text(person.email)}"
    yield f"  :created_at: {_time(submission.created_at)}"
    yield f"  :score: {_text(submission.score)}"
    yield f"  :status: {_text('processed')}"
    yield "  :results:"
    yield from _block(submission.results, "    ")
    yield "  :history:" if submission.history else "  :history: []"
    for number, created_at, score in submission.history:
        yield f"  - :id: {number}"
        yield f"    :created_at: {_time(created_at)}"
        yield f"    :score: {_text(score)}"


def _block(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield f"{indent}{key}:"
            yield from _block(inner, indent + "  ")
        elif isinstance(inner, list) and inner and all(isinstance(entry, Mapping) for entry in inner):
            yield f"{indent}{key}:"
            for entry in inner:
                first, *others = _block(entry, indent + "  ")
                yield f"{indent}- {first.strip()}"
                yield from others
        else:
            yield f"{indent}{key}: {_text(inner)}"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _time(moment: datetime) -> str:
    """With nine digits of a second, in UTC, as Ruby writes it."""
    return f"{moment.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S.%f}000 Z"
