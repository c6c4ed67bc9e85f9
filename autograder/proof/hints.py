"""Makes the hints: what every known mistake answers on the inputs of the tests that notice it.

Every mistake of the catalogue is rehearsed, and what each failing check saw is recorded. Where all mistakes that gave
the same answer carry one and the same hint, that is what students who give it are told (``feedback.diagnosis``); where
they do not, or where the answer is degenerate, nothing is. Public tests have a file of hints of their own, which goes
into the handout; the one of the hidden tests is made for a term's secret and goes into the zip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from ..feedback import scores
from ..feedback.assignment import Assignment, load_assignment
from ..feedback.diagnosis import FILE, Hint, Hints
from ..feedback.errors import InputError
from ..secret import DEVELOPMENT
from . import rehearsal
from .catalogue import Mistake
from .executed import executed
from .rehearsal import Rehearsal
from .stage import Seen
from .trials import Sources, noticing

PUBLIC, HIDDEN = "tests/public", "tests/hidden"
NAMED = "named"
AMBIGUOUS, RAISES, HANGS, UNSEEN = "ambiguous", "raises", "hangs", "no test notices it"


@dataclass(frozen=True)
class Record:
    """What the tests saw of one mistake: the cases that did not pass."""

    mistake: Mistake
    failed: tuple[Seen, ...]

    def fate(self, hints: Mapping[str, Hints]) -> str:
        """NAMED when some test tells this mistake's hint; else why none does.

        Args:
            hints: by folder, as made from the records.
        """
        hint = (self.mistake.hint, self.mistake.hint_zh)
        for case in self.failed:
            found = hints[folder_of(case)].named(case.key) if case.key else None
            if found is not None and (found.text, found.text_zh) == hint:
                return NAMED
        reasons = {_reason(case) for case in self.failed}
        if not reasons:
            return UNSEEN
        return ", ".join(sorted(reasons))


def folder_of(case: Seen) -> str:
    """Where a case's test lies."""
    return HIDDEN if case.test.startswith("hidden/") else PUBLIC


def _reason(case: Seen) -> str:
    """Why a failing case names nothing of itself."""
    if case.key:
        return AMBIGUOUS
    if case.reason:
        return f"degenerate: {case.reason}"
    return HANGS if case.state == scores.LATE else RAISES


def record(
    home: Path,
    secret: bytes = DEVELOPMENT,
    *,
    folders: Iterable[str] = (PUBLIC, HIDDEN),
    jobs: int | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> list[Record]:
    """Rehearse every mistake on the tests in these folders.

    Args:
        home: the repository.
        secret: seed of the hidden inputs, and what picks the variants.
        folders: PUBLIC, HIDDEN or both.
        jobs: how many at a time; None for one a core.
        told: called with how many are done, of how many.

    Raises:
        GraderError: the reference does not pass its own tests.
        InputError: the sources are unusable, or nothing can be rehearsed here.
    """
    if not rehearsal.available():
        raise InputError("hints are made on Linux only: mistakes are played in forks there")
    assignment = load_assignment(home / "assignment.toml")
    sources = Sources(home, assignment, secret)
    wanted = set(folders)
    records: list[Record] = []
    with rehearsal.troupe(home, assignment, secret, jobs) as troupe:
        reached = troupe.one(lambda stage: executed(stage, sources.solved))
        tests = {test: names for test, names in reached.items() if _folder(test) in wanted}

        def play(stage: Rehearsal, mistake: Mistake) -> Record:
            noticed = sorted(noticing(mistake, sources, tests) & tests.keys())
            if not noticed:
                return Record(mistake, ())
            played = stage.play(sources.applied(mistake), tests=noticed, traces=True)
            wrong = (case for case in played.cases if case.state not in (scores.PASSED, scores.NOT_RUN))
            return Record(mistake, tuple(wrong))

        for found in troupe.each(play, sources.mistakes):
            records.append(found)
            told(len(records), len(sources.mistakes))
    return records


def make(records: Iterable[Record], made_from: Mapping[str, str]) -> dict[str, Hints]:
    """The hints of each folder in ``made_from`` (folder -> digest of what they are made from)."""
    found: dict[str, dict[bytes, dict[tuple[str, str], set[str]]]] = {folder: {} for folder in made_from}
    for seen in records:
        hint = (seen.mistake.hint, seen.mistake.hint_zh)
        for case in seen.failed:
            if case.key and folder_of(case) in found:
                found[folder_of(case)].setdefault(case.key, {}).setdefault(hint, set()).add(seen.mistake.id)
    hints = {}
    for folder, keys in found.items():
        told = {}
        for key, texts in keys.items():
            if len(texts) == 1:
                (((text, text_zh), ids),) = texts.items()
                told[key] = Hint(tuple(sorted(ids)), text, text_zh)
        hints[folder] = Hints.make(told, made_from[folder])
    return hints


def made_from(home: Path, assignment: Assignment, folder: str, secret: bytes = DEVELOPMENT) -> str:
    """A digest of all that the hints of a folder are made from."""
    digest = blake2b(secret if folder == HIDDEN else b"", digest_size=16)
    package = home / "solutions" / assignment.package
    sources = [home / "assignment.toml", *package.rglob("*"), *(home / folder).glob("*.py")]
    sources += [*(home / "tests/mistakes").rglob("*"), *(home / "tests/alternatives").rglob("*")]
    sources += (Path(__file__).parents[1] / "feedback").glob("*.py")
    for file in sorted(sources):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(b"%s\0%d\0" % (file.name.encode(), file.stat().st_size))
            digest.update(file.read_bytes())
    return digest.hexdigest()


def is_current(home: Path, assignment: Assignment) -> bool:
    """Whether the public tests' file of hints is what the sources make; it is when there is nothing to hint at."""
    file = home / PUBLIC / FILE
    if not file.is_file():
        return not any((home / "tests/mistakes").glob("*/*.toml"))
    return Hints.read(file).made_from == made_from(home, assignment, PUBLIC)


def bring_up_to_date(home: Path, told: Callable[[int, int], None] = lambda done, total: None) -> Hints | None:
    """Make the public tests' file of hints anew if its sources have changed. Returns the new ones, None if not.

    Raises:
        GraderError: the reference does not pass its own tests.
        InputError: the sources are unusable, or nothing can be rehearsed here.
    """
    assignment = load_assignment(home / "assignment.toml")
    if is_current(home, assignment):
        return None
    records = record(home, folders=(PUBLIC,), told=told)
    hints = make(records, {PUBLIC: made_from(home, assignment, PUBLIC)})[PUBLIC]
    (home / PUBLIC / FILE).write_text(hints.as_text(), encoding="utf-8")
    return hints


def for_a_term(
    home: Path, secret: bytes, told: Callable[[int, int], None] = lambda done, total: None
) -> dict[str, str]:
    """The files of hints of a term: path in the repository -> contents. Writes nothing.

    Raises:
        GraderError: the reference does not pass its own tests.
        InputError: the sources are unusable, or nothing can be rehearsed here.
    """
    assignment = load_assignment(home / "assignment.toml")
    digests = {folder: made_from(home, assignment, folder, secret) for folder in (PUBLIC, HIDDEN)}
    hints = make(record(home, secret, told=told), digests)
    return {f"{folder}/{FILE}": made.as_text() for folder, made in hints.items()}


def _folder(test: str) -> str:
    return HIDDEN if test.startswith("hidden/") else PUBLIC
