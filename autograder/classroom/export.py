"""Reads what an instructor has: a Gradescope export, folder or zip, or any folder of submissions.

An export is a folder a submission and ``submission_metadata.yml``, written by Ruby: its keys are symbols, so they begin
with a colon. Whatever else stands there is passed over, and whatever is missing stays empty: the platform promises
nothing about this file. Without it each folder and each zip is a submission, and nothing is known of who handed it in.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

from ..feedback.assignment import Assignment
from ..feedback.errors import InputError
from ..removal import remove_tree
from ..upload import MAX_ZIP, FolderUpload, UnusableError, Where, ZipUpload, open_upload
from .records import Earlier, Handed, Person, moment

METADATA = "submission_metadata.yml"
MAX_EXPORT, MAX_FILES = 100_000_000_000, 10_000_000  # bytes and files of the zip of a whole class
MAX_METADATA = 1_000_000_000  # bytes
_MOST_FILES = 2_000  # that are copied out of a zip, of one submission


@dataclass(frozen=True)
class Source:
    """Where a submission lies: a folder or zip of its own, or a folder inside the zip of the whole export."""

    path: str
    inside: tuple[str, ...] = ()

    @contextmanager
    def unpacked(self) -> Iterator[Path]:
        """A path that can be graded; what was copied out of a zip for it is removed on leaving.

        Raises:
            InputError: the zip is gone or damaged.
        """
        if not self.inside:
            yield Path(self.path)
            return
        folder = Path(tempfile.mkdtemp(prefix="autograder-upload-"))
        try:
            with open_upload(Path(self.path), MAX_EXPORT, MAX_FILES) as upload:
                _copy(upload, self.inside, folder)
            yield folder
        finally:
            remove_tree(folder)


@dataclass(frozen=True)
class Export:
    """A class: its submissions in the order of the metadata, each with its source, and what to know about it."""

    submissions: tuple[tuple[Handed, Source], ...]
    notes: tuple[str, ...]


def read_export(path: Path, assignment: Assignment | None = None) -> Export:
    """List an export.

    Args:
        assignment: to find the item of a previous result that does not name it, by its number.

    Raises:
        InputError: no such path, no submission in it, or a metadata file that cannot be read.
    """
    with open_upload(path, MAX_EXPORT, MAX_FILES) as upload:
        top = _descend(upload)
        found = _read_metadata(upload, top, path)
        known = sorted((entry.name, entry.kind) for entry in upload.entries(top) if not entry.name.startswith("."))
        names = {name for name, kind in known if kind == "folder" or (kind == "file" and name.endswith(".zip"))}
        names.discard("__MACOSX")
        inside = isinstance(upload, ZipUpload)
        if inside:
            names = {name for name in names if not name.endswith(".zip")}
    notes = []
    listed = [name for name in found if name in names] if found else sorted(names)
    for name in found:
        if name not in names:
            notes.append(f"{name} stands in {METADATA} and has no folder")
    for name in sorted(names - found.keys()) if found else ():
        notes.append(f"{name} does not stand in {METADATA}: it is graded, but nobody knows whose it is")
        listed.append(name)
    if not listed:
        raise InputError(f"{path}: no submission here: neither folders nor zip archives")
    numbers = {} if assignment is None else {item.number: item.slug for item in assignment.items}
    slugs = set(numbers.values())
    handed = [(_handed(name, found.get(name, {}), numbers, slugs), _source(path, top, name, inside)) for name in listed]
    return Export(tuple(_with_active(handed)), tuple(notes))


def _source(path: Path, top: Where, name: str, inside: bool) -> Source:
    if inside:
        return Source(str(path.resolve()), (*top, name))
    return Source(str(path.resolve().joinpath(*top, name)))


def _descend(upload: FolderUpload | ZipUpload) -> Where:
    """The folder that holds the submissions: a zip of an export has one folder around them."""
    top: Where = ()
    while True:
        entries = [entry for entry in upload.entries(top) if entry.name != "__MACOSX" and entry.name[0] != "."]
        if len(entries) != 1 or entries[0].kind != "folder" or not _is_around(upload, (*top, entries[0].name)):
            return top
        top = (*top, entries[0].name)


def _is_around(upload: FolderUpload | ZipUpload, where: Where) -> bool:
    """Whether a lone folder holds a class, and is not itself the only submission of one."""
    entries = [entry for entry in upload.entries(where) if entry.name != "__MACOSX" and entry.name[0] != "."]
    submissions = [entry for entry in entries if entry.kind == "folder" or entry.name.endswith(".zip")]
    return any(entry.name == METADATA for entry in entries) or (len(submissions) > 1 and submissions == entries)


def _read_metadata(upload: FolderUpload | ZipUpload, top: Where, path: Path) -> dict[str, Mapping[str, Any]]:
    if not any(entry.name == METADATA and entry.kind == "file" for entry in upload.entries(top)):
        return {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        document = yaml.load(upload.read(top, METADATA, MAX_METADATA), Loader=loader)
    except (yaml.YAMLError, UnusableError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: {METADATA}: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path}: {METADATA}: should be a mapping from folders to submissions")
    return {str(name): value for name, value in document.items() if isinstance(value, dict)}


def _handed(name: str, told: Mapping[str, Any], numbers: Mapping[str, str], slugs: set[str]) -> Handed:
    results = _get(told, "results")
    results = results if isinstance(results, dict) else None
    return Handed(
        submission=name,
        people=tuple(
            Person(*(_text(_get(person, key)) for key in ("name", "sid", "email")))
            for person in _list(told, "submitters")
        ),
        created_at=_time(_get(told, "created_at")),
        earlier=tuple(
            Earlier(_time(_get(one, "created_at")), _number(_get(one, "score"))) for one in _list(told, "history")
        ),
        before=None if results is None else _scores(results, numbers, slugs),
        before_total=_number(_get(told, "score")),
    )


def _scores(results: Mapping[str, Any], numbers: Mapping[str, str], slugs: set[str]) -> dict[str, float] | None:
    """Item -> score of a results.json as the platform keeps it."""
    scores: dict[str, float] = {}
    for row in _list(results, "tests"):
        extra = _get(row, "extra_data")
        slug = _get(extra, "item") if isinstance(extra, dict) else None
        slug = slug if slug in slugs or not slugs else numbers.get(_text(_get(row, "number")))
        score = _number(_get(row, "score"))
        if isinstance(slug, str) and score is not None:
            scores[slug] = score
    return scores or None


def _with_active(handed: Iterable[tuple[Handed, Source]]) -> Iterator[tuple[Handed, Source]]:
    """Mark as not active whatever the same people have handed in anew: a student's last one counts."""
    import msgspec

    everything = list(handed)
    last: dict[str, str] = {}
    for one, _ in sorted(everything, key=lambda pair: (moment(pair[0].created_at), pair[0].submission)):
        for person in one.people:
            last[person.key] = one.submission
    for one, source in everything:
        known = [person.key for person in one.people if person.key]  # of others nobody knows whether they are one
        active = not known or any(last[key] == one.submission for key in known)
        yield (one if active else msgspec.structs.replace(one, active=False)), source


def _get(mapping: Mapping[Any, Any], key: str) -> Any:
    return mapping.get(f":{key}", mapping.get(key))


def _list(mapping: Mapping[Any, Any], key: str) -> list[dict[Any, Any]]:
    """The mappings of a list; none where it is something else."""
    found = _get(mapping, key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _text(value: object) -> str:
    return str(value) if isinstance(value, (str, int, float)) else ""  # nothing that an alias could make endless


def _number(value: object) -> float | None:
    try:
        number = float("nan" if isinstance(value, bool) else value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None  # not NaN either


def _time(value: object) -> str:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).isoformat(timespec="microseconds")
    return _text(value)


def _copy(upload: FolderUpload | ZipUpload, where: Where, into: Path) -> None:
    """Copy the regular files below a folder, as far as they fit into an upload; their names are safe."""
    left, files = MAX_ZIP, 0
    folders = [where]
    while folders:
        here = folders.pop()
        for entry in upload.entries(here):
            target = into.joinpath(*here[len(where) :], entry.name)
            if entry.kind == "folder":
                target.mkdir()
                folders.append((*here, entry.name))
            elif entry.kind == "file" and files < _MOST_FILES:
                files += 1
                try:
                    content = upload.read(here, entry.name, left)
                except UnusableError:
                    content = b""  # too large or damaged: an empty file says that it was there
                left -= len(content)
                target.write_bytes(content)
