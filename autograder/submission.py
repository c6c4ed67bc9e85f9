"""Takes the submission files, and nothing else, out of what a student handed in. Trusted side.

How it works::

    1. descend  while a folder holds one real entry and that is a folder, go into it
    2. look     for each file of assignment.toml in <package>/ and beside it; the one in <package>/ counts
    3. read     regular files only, no link is followed, each up to its cap; from a zip member by member
    4. judge    a .py file must be UTF-8 text; whether it is Python, its tests find out
    5. write    to into/<package>/<file>, mode 0644, only when everything has been read

Nothing is ever extracted, imported or executed, an archive inside is not opened, and no other file is read,
however many there are. What is wrong with the submission goes into the answer, in words for the student;
``InputError`` is for what the caller passed.
"""

from __future__ import annotations

import difflib
import re
import shutil
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from .feedback.assignment import Assignment
from .feedback.errors import InputError
from .upload import MAX_DEPTH, Entry, UnusableError, Upload, Where, open_upload, shown

MAX_NOTES = 10
_MAX_LISTED = 8  # names in one note
_MAX_SEARCH = 2_000  # entries looked at when a missing file is searched for elsewhere
_MAX_SEARCH_DEPTH = 4

_NOISE = {"__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini", "Icon\r"}
_SETTINGS = {"conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"}
_STARTUP = {"sitecustomize.py", "usercustomize.py"}
_PACKAGES = {"numpy", "torch", "scipy", "pytest", "matplotlib", "gradescope_utils"}
_COMPILED = (".pth", ".pyc", ".pyd", ".so", ".dll", ".dylib")
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")

# How a file starts that somebody renamed to .py, in lower case, and what to say about it.
_DISGUISES: tuple[tuple[bytes, str], ...] = (
    (b"%pdf-", "is a PDF document, not a Python file"),
    (b"pk\x03\x04", "is a zip archive or an office document, not a Python file"),
    (b"\x1f\x8b", "is a gzip archive, not a Python file"),
    (b"{\\rtf", "is a rich text document; save it as plain text"),
    (b"\xff\xfe", "is UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16 text; save it as UTF-8"),
    (b"<!doctype html", "is a web page; download the file itself (the raw file)"),
    (b"<html", "is a web page; download the file itself (the raw file)"),
)
_NOTEBOOK = re.compile(rb'\s*\{.*"(?:cells|nbformat)"\s*:', re.DOTALL)
# What systems and people add to a stem: "ngram (1)", "ngram - Copy", "ngram_final", "ngram-2".
_ADDED = re.compile(r"(?:\s*\(\d+\)|[\s_-]*(?:copy|final|\d+))+$")


@dataclass(frozen=True)
class Taken:
    """What was found.

    Attributes:
        files: the files now in ``into/<package>/``, in the order of assignment.toml.
        missing: those that were not handed in.
        rejected: those that were, and cannot be used: name -> why, to be read after the name ("is empty").
        notes: what was left out or looks like a mistake, for the student: ``MAX_NOTES`` lines, then "and 3 more".
    """

    files: tuple[str, ...]
    missing: tuple[str, ...]
    rejected: dict[str, str]
    notes: tuple[str, ...]


def take(path: Path, assignment: Assignment, into: Path, given: Collection[str] = ()) -> Taken:
    """Copy the submission files from a folder or zip to ``into/<package>/``, and nothing else.

    Args:
        path: what was handed in; the caller's own path, so a link to it is followed.
        assignment: says which files, how large, and what the package is called.
        into: an existing, empty folder. After an error it is as empty as before.
        given: names of the package's given files, so that a copy of one is told from a stray file.

    Raises:
        InputError: no such path, no folder and no zip, a zip that is damaged or too large, nothing inside.
    """
    notes: dict[str, None] = {}  # an ordered set
    contents: dict[str, bytes] = {}
    rejected: dict[str, str] = {}
    missing: list[str] = []
    with open_upload(path) as upload:
        top = _descend(upload)
        if top and top != (assignment.package,):
            notes[f"the files were looked for in {shown('/'.join(top))}/, the only folder inside"] = None
        places = _places(upload, top, assignment)
        for name, cap in assignment.files.items():
            found = [where for where in places if name in places[where]]
            if not found:
                missing.append(name)
                continue
            if len(found) > 1:
                package = f"{assignment.package}/"
                notes[f"{name} was handed in twice: {package}{name} counts, the one beside {package} does not"] = None
            try:
                contents[name] = _judge(name, _content(upload, found[0], places[found[0]][name], cap))
            except UnusableError as error:
                rejected[name] = str(error)
        notes.update(dict.fromkeys(_about_missing(upload, top, places, missing, given)))
        notes.update(dict.fromkeys(_about_others(places, assignment, given)))
        notes.update(dict.fromkeys(upload.notes))
    _write(into, assignment.package, contents)
    return Taken(tuple(contents), tuple(missing), rejected, _short(tuple(notes)))


# --- finding ----------------------------------------------------------------------------------------------------


def is_noise(name: str) -> bool:
    """True for what systems and editors leave behind: ``__MACOSX``, ``.DS_Store``, ``._x``, ``.git``, caches."""
    return name.startswith(".") or name in _NOISE


def _descend(upload: Upload) -> Where:
    """Through wrapping folders to the one that holds something."""
    where: Where = ()
    for _ in range(MAX_DEPTH):
        real: list[Entry] = []
        for entry in upload.entries(where):
            if not is_noise(entry.name):
                real.append(entry)
            if len(real) > 1:
                return where
        if not real:
            raise InputError(f"{upload.path}: nothing inside")
        if real[0].kind != "folder":
            return where
        where = (*where, real[0].name)
    return where


def _places(upload: Upload, top: Where, assignment: Assignment) -> dict[Where, dict[str, Entry]]:
    """The folders to look in, the one that counts first, with their real entries by name."""
    places = {top: _real_entries(upload, top)}
    package = places[top].get(assignment.package)
    if package is not None and package.kind == "folder":
        inside = (*top, assignment.package)
        places = {inside: _real_entries(upload, inside), **places}
    return places


def _real_entries(upload: Upload, where: Where) -> dict[str, Entry]:
    return {entry.name: entry for entry in upload.entries(where) if not is_noise(entry.name)}


def _content(upload: Upload, where: Where, entry: Entry, cap: int) -> bytes:
    if entry.kind == "link":
        raise UnusableError("is a link; hand in the file itself")
    if entry.kind == "folder":
        raise UnusableError("is a folder, not a file")
    if entry.kind != "file":
        raise UnusableError("is not a regular file")
    return upload.read(where, entry.name, cap)


def _judge(name: str, content: bytes) -> bytes:
    """The content to grade: a .py file must be UTF-8 text, and loses its byte order mark."""
    if not name.endswith(".py"):
        return content
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        raise UnusableError("is empty")
    start = content[:100].lstrip().lower()
    for magic, message in _DISGUISES:
        if start.startswith(magic):
            raise UnusableError(message)
    if _NOTEBOOK.match(content):
        raise UnusableError("is a Jupyter notebook; export it as a Python file (.py)")
    if b"\0" in content:
        raise UnusableError(f"is not text: it has a NUL byte in {_line(content, content.index(0))}")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnusableError(f"is not UTF-8 text ({_line(content, error.start)}); save it as UTF-8") from None
    return content


def _line(content: bytes, position: int) -> str:
    before = content[:position].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return f"line {before.count(10) + 1}"


def _write(into: Path, package: str, contents: Mapping[str, bytes]) -> None:
    folder = into / package
    folder.mkdir()
    try:
        folder.chmod(0o755)
        for name, content in contents.items():
            target = folder / name
            target.write_bytes(content)
            target.chmod(0o644)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


# --- notes ------------------------------------------------------------------------------------------------------


def _about_missing(
    upload: Upload, top: Where, places: Mapping[Where, Mapping[str, Entry]], missing: list[str], given: Collection[str]
) -> list[str]:
    """For each missing file that the student probably did hand in: under which name, or where."""
    if not missing:
        return []
    notes = []
    names = sorted({e.name for entries in places.values() for e in entries.values() if e.name not in given})
    elsewhere = _elsewhere(upload, top, places, missing)
    for name in missing:
        near = _near(name, names)
        if near:
            notes.append(f"{name} is missing; is it {shown(near)!r}? The name must be exactly {name}")
        elif name in elsewhere:
            notes.append(f"{name} is missing; there is one in {shown(elsewhere[name])}/, where nobody looks for it")
    return notes


def _about_others(
    places: Mapping[Where, Mapping[str, Entry]], assignment: Assignment, given: Collection[str]
) -> list[str]:
    """What was left out and why, where a word is worth it: a line for each reason."""
    reasons: dict[str, list[str]] = {}
    found = {name: entry for entries in places.values() for name, entry in entries.items()}
    for name in sorted(found.keys() - assignment.files.keys()):
        reason = _why_not(found[name], given)
        if reason:
            reasons.setdefault(reason, []).append(shown(name))
    return [f"{_listed(names)} not used: {reason}" for reason, names in reasons.items()]


def _listed(names: list[str]) -> str:
    if len(names) > _MAX_LISTED:
        names = [*names[: _MAX_LISTED - 1], f"{len(names) - _MAX_LISTED + 1} more"]
    if len(names) == 1:
        return f"{names[0]} was"
    return f"{', '.join(names[:-1])} and {names[-1]} were"


def _why_not(entry: Entry, given: Collection[str]) -> str:
    name = entry.name
    if entry.kind == "link":
        return "links are not followed"
    if name in given:
        return "the grader has its own"
    if entry.kind == "other":
        return "it is not a regular file"
    if name in _SETTINGS:
        return "the grader has settings of its own"
    if name in _STARTUP:
        return "the grader's Python does not load it"
    if name.endswith(_COMPILED):
        return "compiled files and path files are never read"
    if name.lower().endswith(_ARCHIVES):
        return "an archive inside a submission is not opened; hand in the files themselves"
    stem = name.removesuffix(".py")
    hides = stem in _PACKAGES or (stem != name and stem in sys.stdlib_module_names)
    return f"and on your machine it hides the library {stem}; rename it" if hides else ""


def _near(name: str, names: Collection[str]) -> str:
    """The found name that was probably meant: another case, a copy's number, a second ending, a slip."""
    plain = {other: _plain(other) for other in names}
    for other in names:
        if plain[other] == name.lower():
            return other
    stem = name.lower().rpartition(".")[0]
    for other in names:
        if plain[other].rpartition(".")[0] == stem:  # ngram.ipynb
            return other
    close = difflib.get_close_matches(name, list(names), 1, 0.8)
    return close[0] if close else ""


def _plain(name: str) -> str:
    """A file name without what systems and people add: ``ngram (1).py``, ``Copy of ngram.py``, ``ngram.py.txt``."""
    name = name.lower().removesuffix(".txt").removeprefix("copy of ")
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, "py"
    return f"{_ADDED.sub('', stem.strip())}.{ending}"


def _elsewhere(
    upload: Upload, top: Where, places: Mapping[Where, Mapping[str, Entry]], missing: Collection[str]
) -> dict[str, str]:
    """Where else in the submission the missing files lie; a short look, not a search of everything."""
    found: dict[str, str] = {}
    folders: list[Where] = [top]
    looked = 0
    for where in folders:  # grows while it is walked: breadth first
        for entry in upload.entries(where):
            looked += 1
            if looked > _MAX_SEARCH:
                return found
            if is_noise(entry.name):
                continue
            if entry.kind == "folder" and len(where) < len(top) + _MAX_SEARCH_DEPTH:
                folders.append((*where, entry.name))
            elif entry.kind == "file" and entry.name in missing and where not in places:
                found.setdefault(entry.name, "/".join(where[len(top) :]))
    return found


def _short(notes: tuple[str, ...]) -> tuple[str, ...]:
    if len(notes) <= MAX_NOTES:
        return notes
    return (*notes[:MAX_NOTES], f"and {len(notes) - MAX_NOTES} more")
