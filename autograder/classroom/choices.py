"""Which mistake or alternative a student has at each item, so that all fits into one package and only gets better.

An item that is solved is the reference, or at times an alternative; one that is tried carries a mistake of the
catalogue, chosen so that some are common and most are rare. What is chosen stays from one submission to the next as
long as the item's state does. What does not fit gives way: an alternative to the reference, a mistake to another one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..proof.catalogue import Mistake
from .pieces import Piece, Pieces
from .students import BLANK, SOLVED, TRIED, Student

ALTERNATIVE = "alternative"
OF_ALTERNATIVES = 0.4  # share of solved items that are not the reference, where one fits


@dataclass(frozen=True)
class Choice:
    """An item as the student has it: BLANK, TRIED (a mistake), SOLVED (the reference) or ALTERNATIVE."""

    state: str
    entry: str = ""


@dataclass
class Work:
    """A submission's items, and the pieces that make its files."""

    choices: dict[str, Choice] = field(default_factory=dict)
    pieces: list[Piece] = field(default_factory=list)

    @property
    def blank(self) -> list[str]:
        """Slugs of blank items."""
        return [slug for slug, choice in self.choices.items() if choice.state == BLANK]

    def right(self, slug: str) -> bool:
        """Whether an item is solved."""
        return self.choices[slug].state in (SOLVED, ALTERNATIVE)


class Chooser:
    """Chooses for a class.

    Args:
        pieces: what there is to choose from.
        seed: of the class; it says which mistakes are common.
    """

    def __init__(self, pieces: Pieces, seed: int) -> None:
        self._pieces, self._seed = pieces, seed
        self._items = [item.slug for item in pieces.assignment.items]
        self._mistakes = {slug: self._weighted(slug, self._of(slug)) for slug in self._items}
        by_item: dict[str, list[str]] = {slug: [] for slug in self._items}
        for entry in pieces.alternatives:
            by_item[entry.item].append(entry.id)
        self._alternatives = {slug: self._weighted(f"right {slug}", by_item[slug]) for slug in self._items}

    def _of(self, slug: str) -> list[str]:
        return [entry.id for entry in self._pieces.mistakes if slug in entry.items]

    def _weighted(self, slug: str, ids: list[str]) -> list[tuple[str, float]]:
        """The k-th of a random order weighs 1 / k: a few mistakes are common, most are rare."""
        order = random.Random(f"{self._seed} popular {slug}").sample(ids, len(ids))
        return [(ident, 1 / (place + 1)) for place, ident in enumerate(order)]

    def choose(self, student: Student, levels: Mapping[str, str], before: Work | None) -> Work:
        """A submission's items.

        Args:
            student: whose.
            levels: slug -> BLANK, TRIED or SOLVED.
            before: the same student's previous submission.
        """
        work = Work()
        levels = dict(levels)
        for slug in self._items:
            if levels[slug] == BLANK or (levels[slug] == TRIED and not self._mistakes[slug]):
                self._put(work, (slug,), Choice(BLANK), self._pieces.blank(slug))
        if before is not None:
            self._keep(work, levels, before)
        for slug in self._items:
            if levels[slug] == TRIED and slug not in work.choices:
                self._mistaken(work, slug, levels, student, before)
        for slug in self._items:
            if slug not in work.choices:
                self._solved(work, slug, student)
        work.choices = {slug: work.choices[slug] for slug in self._items}
        return work

    def _keep(self, work: Work, levels: dict[str, str], before: Work) -> None:
        for slug, choice in before.choices.items():
            if choice.state == SOLVED:
                levels[slug] = SOLVED  # it may have been solved for want of a mistake that fits
                work.choices[slug] = choice
            elif choice.entry and slug not in work.choices:
                entry = self._pieces.entries[choice.entry]
                slugs = entry.items if isinstance(entry, Mistake) else (slug,)
                wanted = TRIED if isinstance(entry, Mistake) else SOLVED
                if all(levels[other] == wanted and other not in work.choices for other in slugs):
                    self._try(work, slugs, choice.state, choice.entry)

    def _mistaken(
        self, work: Work, slug: str, levels: Mapping[str, str], student: Student, before: Work | None
    ) -> None:
        for ident in self._order(student, slug, self._mistakes[slug]):
            entry = self._pieces.entries[ident]
            assert isinstance(entry, Mistake)
            if all(levels.get(other) == TRIED and other not in work.choices for other in entry.items) and self._try(
                work, entry.items, TRIED, ident
            ):
                return
        blank = self._pieces.blank(slug)
        tried_before = before is not None and before.choices[slug].state == TRIED
        if not tried_before and blank.fits(work.pieces):
            self._put(work, (slug,), Choice(BLANK), blank)
        else:
            work.choices[slug] = Choice(SOLVED)

    def _solved(self, work: Work, slug: str, student: Student) -> None:
        rng = random.Random(f"{self._seed} {student.number} way {slug}")
        if rng.random() < OF_ALTERNATIVES:
            for ident in self._order(student, slug, self._alternatives[slug]):
                if self._try(work, (slug,), ALTERNATIVE, ident):
                    return
        work.choices[slug] = Choice(SOLVED)

    def _order(self, student: Student, slug: str, weighted: Sequence[tuple[str, float]]) -> list[str]:
        """A random order in which heavier ones tend to come first, always the same for a student."""
        rng = random.Random(f"{self._seed} {student.number} prefers {slug}")
        keys = {ident: rng.random() ** (1 / weight) for ident, weight in weighted}
        return sorted(keys, key=lambda ident: -keys[ident])

    def _try(self, work: Work, slugs: Sequence[str], state: str, ident: str) -> bool:
        piece = self._pieces.entry(ident)
        if piece is None or not piece.fits(work.pieces):
            return False
        self._put(work, slugs, Choice(state, ident), piece)
        return True

    def _put(self, work: Work, slugs: Sequence[str], choice: Choice, piece: Piece) -> None:
        for slug in slugs:
            work.choices[slug] = choice
        work.pieces.append(piece)
