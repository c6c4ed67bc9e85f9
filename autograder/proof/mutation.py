"""Which mechanical mutants of the solutions the graded tests do not notice.

Every mutant (``operators``) is rehearsed on the tests that execute the function it changes, until one of them does not
pass. What survives either shows what no test looks at, or is listed as equivalent with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..feedback import scores
from ..feedback.assignment import load_assignment
from ..feedback.errors import InputError
from ..secret import DEVELOPMENT
from . import rehearsal
from .executed import executed
from .operators import Mutant, explained, load_equivalents, mutants
from .rehearsal import Rehearsal
from .trials import Sources

KILLED, SURVIVED, EQUIVALENT, NOT_EQUIVALENT = "killed", "survived", "equivalent", "called equivalent, and killed"
EQUIVALENTS = "tests/equivalent.toml"


@dataclass(frozen=True)
class Fate:
    """What became of one mutant.

    Attributes:
        state: KILLED, SURVIVED, EQUIVALENT (survived, and listed) or NOT_EQUIVALENT.
        by: the test that killed it.
        reason: why it is equivalent.
    """

    mutant: Mutant
    state: str
    by: str = ""
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether a test kills it, or the list says why none can."""
        return self.state in (KILLED, EQUIVALENT)


def try_mutants(
    home: Path,
    secret: bytes = DEVELOPMENT,
    *,
    only: Callable[[Mutant], bool] = lambda mutant: True,
    jobs: int | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> list[Fate]:
    """Rehearse the mutants of the solutions.

    Args:
        home: the repository.
        secret: seed of the hidden inputs, and what picks the variants.
        only: which of them.
        jobs: how many at a time; None for one a core.
        told: called with how many are done, of how many.

    Raises:
        GraderError: the reference does not pass its own tests.
        InputError: the sources are unusable, an entry of the list fits no mutant, or nothing can be rehearsed here.
    """
    if not rehearsal.available():
        raise InputError("mutants are tried on Linux only: they are played in forks there")
    assignment = load_assignment(home / "assignment.toml")
    sources = Sources(home, assignment, secret)
    found = mutants(sources.written, assignment)
    list_ = load_equivalents(home / EQUIVALENTS, assignment)
    reasons = {name: entry.reason for name, entry in explained(found, list_).items()}
    chosen = [mutant for mutant in found if only(mutant)]
    fates: list[Fate] = []
    with rehearsal.troupe(home, assignment, secret, jobs) as troupe:
        reached = troupe.one(lambda stage: executed(stage, sources.solved))

        def play(stage: Rehearsal, mutant: Mutant) -> Fate:
            tests = [test for test, functions in reached.items() if mutant.function in functions]
            if not tests:  # outside of functions: executed by whatever imports the file
                module = mutant.function.partition(".")[0] + "."
                inside = {name for functions in reached.values() for name in functions if name.startswith(module)}
                tests = [test for test, functions in reached.items() if functions & inside]
            package = {**sources.solved, mutant.path: mutant.source}
            played = stage.play(package, tests=tests, once=True) if tests else None
            killers = [
                f"{case.test}[{case.case}]"
                for case in (played.cases if played is not None else ())
                if case.state not in (scores.PASSED, scores.NOT_RUN)
            ]
            reason = reasons.get(mutant.id, "")
            if killers:
                return Fate(mutant, NOT_EQUIVALENT if reason else KILLED, killers[0], reason)
            return Fate(mutant, EQUIVALENT if reason else SURVIVED, "", reason)

        for fate in troupe.each(play, chosen):
            fates.append(fate)
            told(len(fates), len(chosen))
    return fates
