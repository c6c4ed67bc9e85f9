"""Where every tolerance stands: above the rounding of right solutions, below the errors of wrong ones.

The reference, the alternatives and the mistakes are rehearsed, and every comparison of numbers is measured in units of
what it allows. A tolerance is well placed when the largest error of a right solution is a tenth of it at most, and the
smallest error by which it fails a mistake ten times it at least. Where it is not, a reason is listed::

    [[reason]]
    test = "hidden/test_x.py::test_y"
    what = "the gradient"               # as the check says; left out for all checks of the test
    reason = "..."
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from . import rehearsal
from .catalogue import Alternative, Mistake, only_known, text_of
from .executed import executed
from .feedback.assignment import load_assignment
from .feedback.errors import InputError
from .rehearsal import Rehearsal
from .secret import DEVELOPMENT
from .stage import FAR, Seen
from .trials import Sources, noticing

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib

REASONS = "tests/tolerances.toml"
MARGIN = 10.0


@dataclass
class Margin:
    """What was measured at one check, over all cases of its test; in units of what it allows.

    Attributes:
        right: the largest error of a right solution.
        wrong: the smallest error by which it fails a mistake; None where no mistake fails here.
        right_by, wrong_by: whose they are.
        reason: why it is as it is.
    """

    item: str
    test: str
    what: str
    right: float = 0.0
    wrong: float | None = None
    right_by: str = ""
    wrong_by: str = ""
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is room on both sides, or a reason why not."""
        return bool(self.reason) or not self.tight

    @property
    def tight(self) -> bool:
        """Whether a side has too little room."""
        return self.right * MARGIN > 1 or (self.wrong is not None and self.wrong < MARGIN)


def measure(
    home: Path,
    secret: bytes = DEVELOPMENT,
    *,
    jobs: int | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> list[Margin]:
    """Measure every comparison of numbers, in the order of items and tests.

    Args:
        home: the repository.
        secret: seed of the hidden inputs, and what picks the variants.
        jobs: how many at a time; None for one a core.
        told: called with how many are done, of how many.

    Raises:
        GraderError: the reference does not pass its own tests.
        InputError: the sources or the reasons are unusable, or nothing can be rehearsed here.
    """
    if not rehearsal.available():
        raise InputError("tolerances are measured on Linux only: solutions are played in forks there")
    assignment = load_assignment(home / "assignment.toml")
    sources = Sources(home, assignment, secret)
    reasons = load_reasons(home / REASONS)
    margins: dict[tuple[str, str], Margin] = {}
    entries: list[Mistake | Alternative] = [*sources.alternatives, *sources.mistakes]
    with rehearsal.troupe(home, assignment, secret, jobs) as troupe:
        reached = troupe.one(lambda stage: executed(stage, sources.solved))

        def play(stage: Rehearsal, entry: Mistake | Alternative) -> tuple[Seen, ...]:
            tests = sorted(noticing(entry, sources, reached))
            return stage.play(sources.applied(entry), tests=tests, traces=True).cases if tests else ()

        reference = troupe.one(lambda stage: stage.play(sources.solved, traces=True))
        _note(margins, reference.cases, "the reference", right=True)
        for done, (entry, cases) in enumerate(zip(entries, troupe.each(play, entries), strict=True), 1):
            _note(margins, cases, entry.id, right=isinstance(entry, Alternative))
            told(done, len(entries))
    used = set()
    for margin in margins.values():
        for key in ((margin.test, margin.what), (margin.test, "")):
            if key in reasons and margin.tight:
                margin.reason = reasons[key]
                used.add(key)
                break
    for test, what in reasons.keys() - used:
        raise InputError(f"{REASONS}: {test} {what}: no tight tolerance is like this any more")
    order = {slug: place for place, slug in enumerate(assignment.by_slug)}
    return sorted(margins.values(), key=lambda margin: (order[margin.item], margin.test, margin.what))


def load_reasons(file: Path) -> dict[tuple[str, str], str]:
    """(test, what) -> reason; none where there is no file.

    Raises:
        InputError: it is malformed.
    """
    if not file.is_file():
        return {}
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file.name}: {error}") from None
    only_known(raw, ("reason",), file.name)
    tables = raw.get("reason", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{file.name}: reason is a list of [[reason]] tables")
    found: dict[tuple[str, str], str] = {}
    for number, table in enumerate(tables, 1):
        where = f"{file.name}: entry {number}"
        only_known(table, ("test", "what", "reason"), where)
        key = (text_of(table, "test", where), text_of(table, "what", where) if "what" in table else "")
        if key in found:
            raise InputError(f"{where}: stands twice")
        found[key] = text_of(table, "reason", where)
    return found


def _note(margins: dict[tuple[str, str], Margin], cases: Iterable[Seen], by: str, right: bool) -> None:
    """Note what came of a play; NOT_RUN cases and checks that a failure kept from being reached say nothing."""
    for case in cases:
        for what, ratio in case.measured:
            margin = margins.setdefault((case.test, what), Margin(case.item, case.test, what))
            if right and ratio > margin.right:
                margin.right, margin.right_by = ratio, by
            elif not right and ratio > 1 and (margin.wrong is None or ratio < margin.wrong):
                margin.wrong, margin.wrong_by = min(ratio, FAR), by
