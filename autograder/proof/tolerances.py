"""Where every tolerance stands: above the rounding of right solutions, below the errors of wrong ones.

The reference, the alternatives and the mistakes are rehearsed, and every comparison of numbers is measured in units of
what it allows; what a solution makes of a check is its largest error over all cases of the test. A tolerance is well
placed when the largest error of a right solution is a tenth of it at most, and the smallest error of a mistake that it
fails ten times it at least. Where it is not, a reason is listed, for a check or for a mistake that is near the truth
everywhere::

    [[reason]]
    test = "hidden/test_x.py::test_y"
    what = "the gradient"               # as the check says; left out for all checks of the test
    reason = "..."

    [[reason]]
    mistake = "gradient-by-differences"
    reason = "..."
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..feedback.assignment import load_assignment
from ..feedback.errors import InputError
from ..secret import DEVELOPMENT
from . import rehearsal
from .catalogue import Alternative, Mistake, only_known, text_of
from .executed import executed
from .rehearsal import Rehearsal
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
        rights, wrongs: the largest error of every right solution, and of every mistake that fails here.
        near: those of the mistakes that are near the truth for a reason.
        reason: why it is as it is.
    """

    item: str
    test: str
    what: str
    rights: dict[str, float] = field(default_factory=dict)
    wrongs: dict[str, float] = field(default_factory=dict)
    near: dict[str, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def right(self) -> float:
        """The largest error of a right solution."""
        return max(self.rights.values(), default=0.0)

    @property
    def right_by(self) -> str:
        """Whose that is."""
        return max(self.rights, key=self.rights.__getitem__, default="")

    @property
    def wrong(self) -> float | None:
        """The smallest error of a mistake that fails here; None where none does."""
        return min(self.wrongs.values(), default=None)

    @property
    def wrong_by(self) -> str:
        """Whose that is."""
        return min(self.wrongs, key=self.wrongs.__getitem__, default="")

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
        InputError: the sources or the reasons are unusable, or nothing can be rehearsed here. A reason about nothing
            that is tight is refused with the development secret only, for which the reasons are written.
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
    _excuse(margins.values(), reasons, strict=secret == DEVELOPMENT)
    order = {slug: place for place, slug in enumerate(assignment.by_slug)}
    return sorted(margins.values(), key=lambda margin: (order[margin.item], margin.test, margin.what))


Reasons = dict[tuple[str, str], str]  # (test, what) or (mistake, MISTAKE) -> reason
MISTAKE = "(a mistake)"


def load_reasons(file: Path) -> Reasons:
    """The reasons that are listed; none where there is no file.

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
    found: Reasons = {}
    for number, table in enumerate(tables, 1):
        where = f"{file.name}: entry {number}"
        if "mistake" in table:
            only_known(table, ("mistake", "reason"), where)
            key = (text_of(table, "mistake", where), MISTAKE)
        else:
            only_known(table, ("test", "what", "reason"), where)
            key = (text_of(table, "test", where), text_of(table, "what", where) if "what" in table else "")
        if key in found:
            raise InputError(f"{where}: stands twice")
        found[key] = text_of(table, "reason", where)
    return found


def _excuse(margins: Collection[Margin], reasons: Reasons, strict: bool) -> None:
    """Take the near mistakes out, and give what is tight its reason.

    Raises:
        InputError: a reason is about nothing that is tight, and ``strict``: on other inputs something else may be.
    """
    used = set()
    for margin in margins:
        for mistake in [name for name in margin.wrongs if (name, MISTAKE) in reasons]:
            if margin.wrongs[mistake] < MARGIN:
                used.add((mistake, MISTAKE))
            margin.near[mistake] = margin.wrongs.pop(mistake)
        for key in ((margin.test, margin.what), (margin.test, "")):
            if key in reasons and margin.tight:
                margin.reason = reasons[key]
                used.add(key)
                break
    for name, what in sorted(reasons.keys() - used if strict else ()):
        raise InputError(f"{REASONS}: {name} {what}: nothing like this is tight any more")


def _note(margins: dict[tuple[str, str], Margin], cases: Iterable[Seen], by: str, right: bool) -> None:
    """Note what came of a play; NOT_RUN cases and checks that a failure kept from being reached say nothing."""
    for case in cases:
        for what, ratio in case.measured:
            margin = margins.setdefault((case.test, what), Margin(case.item, case.test, what))
            if right or ratio > 1:
                side = margin.rights if right else margin.wrongs
                side[by] = max(side.get(by, 0.0), min(ratio, FAR))
