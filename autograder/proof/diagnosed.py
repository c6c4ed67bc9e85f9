"""What students are told: submissions with known causes are graded with the hints in place.

A mistake of the catalogue must be told its own hint wherever its answer is a value that says something; a right
solution must be told nothing; what a mechanical mutant is told is listed, for somebody to judge whether it is true.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..feedback import scores
from ..feedback.assignment import ALL, load_assignment
from ..feedback.diagnosis import FILE
from ..feedback.errors import InputError
from ..secret import DEVELOPMENT
from . import rehearsal
from .executed import executed
from .hints import HIDDEN, NAMED, PUBLIC, made_from, make, record
from .operators import Mutant, mutants
from .rehearsal import Rehearsal
from .trials import Package, Sources, noticing

Progress = Callable[[int, int], None]
_Play = tuple[str, str, Callable[[], Package], set[str]]  # kind, id, makes the package, tests


@dataclass(frozen=True)
class Told:
    """What one submission was told.

    Attributes:
        kind: "mistakes", "alternatives" or "mutants".
        id: of the entry or mutant.
        hints: (test, hint in English) of every hint.
        names: the ids of the mistakes whose hints they are.
        why: of a mistake that was not told its own hint, why not.
        expected: whether that is as it must be.
    """

    kind: str
    id: str
    hints: tuple[tuple[str, str], ...]
    names: frozenset[str]
    why: str = ""
    expected: bool = True


def diagnose(
    home: Path,
    secret: bytes = DEVELOPMENT,
    *,
    with_mutants: bool = False,
    jobs: int | None = None,
    told: Progress = lambda done, total: None,
) -> list[Told]:
    """Make the hints of a secret, and grade mistakes, alternatives and, if wanted, mutants with them.

    Args:
        home: the repository.
        secret: seed of the hidden inputs, and what picks the variants.
        with_mutants: also the mechanical mutants.
        jobs: how many at a time; None for one a core.
        told: called with how many are done, of how many.

    Raises:
        GraderError: the reference does not pass its own tests.
        InputError: the sources are unusable, nothing can be rehearsed here, or the assignment does not tell all hints.
    """
    assignment = load_assignment(home / "assignment.toml")
    if assignment.hints != ALL:
        raise InputError(f'assignment.toml: hints = "{assignment.hints}"; what is told is seen with "{ALL}" only')
    sources = Sources(home, assignment, secret)
    records = record(home, secret, jobs=jobs, told=told)
    hints = make(records, {folder: made_from(home, assignment, folder, secret) for folder in (PUBLIC, HIDDEN)})
    fates = {seen.mistake.id: seen.fate(hints) for seen in records}
    found: list[Told] = []
    files = {f"{folder}/{FILE}": made.as_text() for folder, made in hints.items()}
    with ExitStack() as stack:
        hinting = stack.enter_context(_home_with(home, assignment.package, files))
        troupe = stack.enter_context(rehearsal.troupe(hinting, assignment, secret, jobs))
        reached = troupe.one(lambda actor: executed(actor, sources.solved))
        plays: list[_Play] = []
        for kind, entries in (("mistakes", sources.mistakes), ("alternatives", sources.alternatives)):
            for entry in entries:
                plays.append((kind, entry.id, partial(sources.applied, entry), noticing(entry, sources, reached)))
        for mutant in mutants(sources.written, assignment) if with_mutants else ():
            tests = {test for test, functions in reached.items() if mutant.function in functions}
            plays.append(("mutants", mutant.id, partial(_mutated, sources, mutant), tests))

        def play(actor: Rehearsal, one: _Play) -> Told:
            kind, name, package, tests = one
            cases = actor.play(package(), tests=sorted(tests)).cases if tests else ()
            shown = tuple((case.test, case.hint.partition("\n")[0]) for case in cases if case.hint)
            names = frozenset(name for case in cases for name in case.mistakes)
            broken = any(case.state == scores.GRADER_ERROR for case in cases)
            if kind == "mutants":
                return Told(kind, name, shown, names, expected=not broken)
            if kind == "alternatives":
                return Told(kind, name, shown, names, expected=not shown and not broken)
            why = "" if name in names else fates[name] if fates[name] != NAMED else "its hint did not come"
            return Told(kind, name, shown, names, why, expected=not broken and _is_excused(why))

        for answer in troupe.each(play, plays):
            found.append(answer)
            told(len(found), len(plays))
    return found


def _is_excused(why: str) -> bool:
    """Whether a mistake need not be told its hint: no test saw an answer of it that says something."""
    return all(part.startswith(("degenerate", "raises", "hangs")) for part in why.split(", ")) if why else True


def _mutated(sources: Sources, mutant: Mutant) -> Package:
    return {**sources.solved, mutant.path: mutant.source}


@contextmanager
def _home_with(home: Path, package: str, files: dict[str, str]) -> Iterator[Path]:
    """A copy of what grading reads of a home, with more files in it."""
    with tempfile.TemporaryDirectory(prefix="home-") as folder:
        copy = Path(folder)
        shutil.copyfile(home / "assignment.toml", copy / "assignment.toml")
        variants = home / "solutions" / "variants.toml"
        for tree in (PUBLIC, HIDDEN, f"solutions/{package}"):
            shutil.copytree(home / tree, copy / tree, ignore=shutil.ignore_patterns("__pycache__"))
        if variants.is_file():
            shutil.copyfile(variants, copy / "solutions" / "variants.toml")
        for name, text in files.items():
            (copy / name).write_text(text, encoding="utf-8")
        yield copy
