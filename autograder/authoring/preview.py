"""The assignment as a student sees it: the handout unpacked in a clean folder, at the start, half-way, and at the end.

What is run is what students run, ``check.py`` of the handout, with the interpreter of this process; what is handed in
is the zip that ``check.py submit`` makes, and it is graded in isolation as on Gradescope. Half-way, the first half of
the items is solved, one of them with a known mistake whose hint shows, and a file of a later item does not parse.

Trusted side. The code that runs here is ours: the solutions, and the catalogue's mistakes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..archive import Member, write_zip
from ..build import HANDOUT, handout_members, package_members
from ..feedback.assignment import Assignment, load_assignment
from ..feedback.errors import GraderError, InputError
from ..grade import Graded, grade
from ..host import Host
from ..proof.catalogue import SOLUTIONS, Mistake, apply, load_mistakes
from .picture import picture, plain

BLANK, HALF, DONE = "blank", "half-done", "done"
VIEWS = (BLANK, HALF, DONE)
FRONT = "check.py"
SUBMISSION = "submission.zip"  # what ``check.py submit`` writes
BROKEN = b"\n\nvalues = (1 + 2\n"  # a bracket that is never closed, at the end of a file
PATIENCE = 900.0  # seconds for one run of check.py
TRIES = 12  # mistakes that are tried until one is told its hint by the local checks

Package = dict[str, Member]
Tell = Callable[[str], object]


@dataclass(frozen=True)
class View:
    """What a student sees at one point.

    Attributes:
        name: one of ``VIEWS``.
        about: what is in the files, in one line.
        folder: the unpacked handout.
        checked: what ``python check.py`` prints.
        submitted: what ``python check.py submit`` prints.
        graded: what comes back from grading.
    """

    name: str
    about: str
    folder: Path
    checked: str
    submitted: str
    graded: Graded


def preview(
    root: Path,
    folder: Path,
    *,
    handout: Path | None = None,
    lang: str = "en",
    only: Collection[str] = VIEWS,
    secret: bytes | None = None,
    tell: Tell = lambda line: None,
) -> Iterator[View]:
    """The views, one after the other; each leaves a folder of its name with all that was seen.

    Args:
        root: the repository.
        folder: an empty folder to work in.
        handout: the students' zip; None for one that is made from the sources.
        lang: of ``check.py``. Rows are in the language that assignment.toml says.
        only: the views that are wanted.
        secret: what a term's hidden inputs are made from; None for development.
        tell: told what is going on.

    Raises:
        InputError: the zip is none of a handout, or the sources are wrong.
        GraderError: nothing could be graded.
    """
    assignment = load_assignment(root / "assignment.toml")
    key = {} if secret is None else {"secret": secret}
    if handout is None:
        handout = folder / f"{HANDOUT}.zip"
        members = handout_members(root, assignment, **key)
        write_zip(handout, {f"{HANDOUT}/{name}": member for name, member in members.items()})
    host = Host()
    try:
        for name in (view for view in VIEWS if view in only):
            tell(f"{name}: unpacking")
            place = unpack(handout, folder / name)
            about = "as it is unpacked"
            if name == HALF:
                about = _half(root, assignment, place, lang, key, tell)
            elif name == DONE:
                about = "everything solved"
                _fill(place, package_members(root, assignment, None, **key), assignment)
            tell(f"{name}: python {FRONT}")
            shown = run_front(place, "--lang", lang, colours=True)
            checked = plain(shown)
            tell(f"{name}: python {FRONT} submit")
            submitted = run_front(place, "submit", "--lang", lang)
            tell(f"{name}: grading")
            results = folder / name / "results.json"
            graded = grade(place / SUBMISSION, root, results=results, secret=secret, host=host)
            svg = picture(shown, f"python {FRONT}")
            for file, text in (("check.txt", checked), ("submit.txt", submitted), ("check.svg", svg)):
                (folder / name / file).write_text(text, encoding="utf-8")
            yield View(name, about, place, checked, submitted, graded)
    finally:
        host.close()


def unpack(handout: Path, into: Path) -> Path:
    """Unpack a handout; returns the folder in which ``check.py`` lies, at the top or in the only folder there.

    Raises:
        InputError: it is no zip, or there is no ``check.py`` in it.
    """
    try:
        with zipfile.ZipFile(handout) as opened:
            opened.extractall(into)
    except OSError as error:
        raise InputError(f"{handout}: {error.strerror or error}") from None
    except zipfile.BadZipFile:
        raise InputError(f"{handout}: not a zip") from None
    found = [place for place in (into, *sorted(into.iterdir())) if (place / FRONT).is_file()]
    if not found:
        raise InputError(f"{handout}: no {FRONT} in it: this is no handout")
    return found[0]


def run_front(place: Path, *arguments: str, colours: bool = False) -> str:
    """What ``python check.py`` prints, run as on a machine of its own: no settings of this process hold there.

    Args:
        place: the unpacked handout.
        arguments: of the command.
        colours: as on a terminal.

    Raises:
        InputError: it had nothing to check, for the reason that it gives.
        GraderError: it did not come to an end.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    environment.update(PYTHONIOENCODING="utf-8", PYTHONDONTWRITEBYTECODE="1", FORCE_COLOR="1" if colours else "")
    try:
        done = subprocess.run(
            [sys.executable, FRONT, *arguments],
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GraderError(f"python {FRONT} did not end within {PATIENCE:g} s") from None
    if done.returncode not in (0, 1):
        raise InputError(f"python {FRONT} ended with {done.returncode}: {done.stdout.strip().rpartition(chr(10))[2]}")
    return done.stdout


def _fill(place: Path, package: Package, assignment: Assignment) -> None:
    """Put submission files into an unpacked handout."""
    for name in (f"{assignment.package}/{file}" for file in assignment.files):
        if name in package:
            (place / name).write_bytes(package[name].content)


def _half(root: Path, assignment: Assignment, place: Path, lang: str, key: dict[str, bytes], tell: Tell) -> str:
    """Fill a handout half-way; returns what is in it.

    A mistake counts when the local checks tell its hint. Where none does, the last one that was tried stays.
    """
    order = list(assignment.by_slug)
    middle = order[(len(order) - 1) // 2]
    known = _candidates(root, assignment)
    slug, words, package = middle, "", package_members(root, assignment, _until(order, middle), **key)
    for mistake in known[:TRIES]:
        (slug,) = mistake.items
        solved = package_members(root, assignment, _until(order, slug), **key)
        try:
            wrong = apply(mistake, {name: member.content for name, member in solved.items()})
        except InputError:
            continue  # it is about a function that nobody has solved yet
        package = {name: Member(content) for name, content in wrong.items()}
        words = f", {assignment.by_slug[slug].number} with a known mistake"
        tell(f"{HALF}: trying {mistake.id}")
        _fill(place, package, assignment)
        found = json.loads(run_front(place, "--json", "--item", slug, "--lang", lang))
        if any(one["hint"] for item in found for one in item["checks"]):
            break
    broken = _broken(assignment, slug)
    if broken:
        path = f"{assignment.package}/{broken}"
        package[path] = Member(package[path].content + BROKEN)
        words += f", {broken} does not parse"
    _fill(place, package, assignment)
    return f"solved up to {assignment.by_slug[slug].number}{words}"


def _until(order: list[str], slug: str) -> list[str]:
    return order[: order.index(slug) + 1]


def _candidates(root: Path, assignment: Assignment) -> list[Mistake]:
    """Mistakes of one item in one function, those of items in the middle first."""
    folder = root / "tests" / "mistakes"
    if not folder.is_dir():
        return []
    order = list(assignment.by_slug)
    middle = (len(order) - 1) // 2
    fitting = [
        mistake
        for mistake in load_mistakes(folder, assignment)
        if len(mistake.items) == 1 and mistake.base == SOLUTIONS and not mistake.files and len(mistake.changes) == 1
    ]
    return sorted(fitting, key=lambda mistake: abs(order.index(mistake.items[0]) - middle))


def _broken(assignment: Assignment, slug: str) -> str:
    """The first program whose items all come later, else another program; "" where there is none."""
    order = list(assignment.by_slug)
    programs: dict[str, int] = {}
    for place, item in enumerate(assignment.items):
        if item.file.endswith(".py") and item.file != assignment.by_slug[slug].file:
            programs.setdefault(item.file, place)
    later = [file for file, place in programs.items() if place > order.index(slug)]
    return next(iter([*later, *programs]), "")
