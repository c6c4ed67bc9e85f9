"""From an export to the page about who is alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...feedback.assignment import load_assignment
from .page import as_csv, page
from .pairs import Copied, Pair, alike, copied, rare_limit, same_binaries
from .works import Tell, Work, published, works


@dataclass(frozen=True)
class Compared:
    """What came out."""

    works: list[Work]
    pairs: list[Pair]
    binaries: list[tuple[str, tuple[int, ...]]]
    copied: list[Copied]
    common: frozenset[int]

    def page(self) -> bytes:
        """As HTML."""
        counts: Counter[int] = Counter()
        for work in self.works:
            counts.update({key for prints in work.prints.values() for key in prints.lines})
        most = rare_limit(self.works)
        rare = {key: count for key, count in counts.items() if count <= most and key not in self.common}
        return page(self.works, self.pairs, self.binaries, self.copied, rare)

    def csv(self) -> bytes:
        """The pairs as CSV."""
        return as_csv(self.works, self.pairs)


def compare(export: Path, home: Path, against: Sequence[Path], tell: Tell) -> Compared:
    """Compare a class with itself, with what is published, and with earlier terms.

    Args:
        export: an export or a folder of submissions.
        home: the repository.
        against: exports or folders of earlier terms.
        tell: hears how many of how many were read.

    Raises:
        InputError: a path cannot be read, or copydetect is not installed.
    """
    assignment = load_assignment(home / "assignment.toml")
    every = list(works(export, home, assignment, False, tell))
    for path in against:
        every += works(path, home, assignment, True, tell)
    texts = published(home, assignment)
    common = frozenset[int]().union(*texts.values())
    return Compared(every, alike(every, common), same_binaries(every), copied(every, texts), common)
