"""Which works are alike, by what few of the class have.

Every right solution of a short exercise looks like every other one, so what many share says nothing, nor does what
both may have read in the published solutions: that is listed on its own (``copied``). A fingerprint is
*rare* when at most ``RARE`` works have it (or ``RARE_SHARE`` of the class, where that is more); the evidence in a pair
are the rare fingerprints that both have. A pair is shown when these are at least ``LEAST`` and at least ``SHARE`` of
the rare ones of one of the two. An index from fingerprints to works finds the candidates: nobody is compared with
everybody.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .works import Work, owners

RARE, RARE_SHARE = 3, 0.02
LEAST, SHARE = 40, 0.5
MOST = 200  # pairs that are kept


@dataclass(frozen=True)
class Pair:
    """Two works that are alike.

    Attributes:
        first, second: places in the list of works.
        shared: rare fingerprints that both have.
        shares: of the rare ones of the first, and of the second.
        files: file of the first, file of the second -> shared rare fingerprints, most first.
    """

    first: int
    second: int
    shared: int
    shares: tuple[float, float]
    files: tuple[tuple[str, str, int], ...]

    @property
    def rank(self) -> float:
        """What the list is sorted by: much of it, and much of one of them."""
        return max(self.shares) * math.log1p(self.shared)


@dataclass(frozen=True)
class Copied:
    """How much of a work is published text: its share of the work's own fingerprints, and of the published one."""

    work: int
    name: str
    shared: int
    of_work: float
    of_published: float


def rare_limit(works: Sequence[Work]) -> int:
    """How many of these works may have a fingerprint that is rare."""
    return max(RARE, math.ceil(RARE_SHARE * len(works)))


def alike(works: Sequence[Work], common: frozenset[int] = frozenset()) -> list[Pair]:
    """The pairs of a class, most alike first. Works of the same people are not compared.

    Args:
        works: of the class, and of earlier terms.
        common: fingerprints that two works may have from the same published text.
    """
    people = owners(works)
    holders: dict[int, list[tuple[int, str]]] = {}
    for at, work in enumerate(works):
        for file, prints in work.prints.items():
            for key in prints.lines:
                holders.setdefault(key, []).append((at, file))
    most = rare_limit(works)
    own: Counter[int] = Counter()
    shared: dict[tuple[int, int], Counter[tuple[str, str]]] = {}
    for key, places in holders.items():
        mine = dict(places)  # one file of each work is enough
        if len(mine) > most or key in common:
            continue
        own.update(mine.keys())
        ordered = sorted(mine.items())
        for number, (a, file_a) in enumerate(ordered):
            for b, file_b in ordered[number + 1 :]:
                if not people[a] & people[b] and not (works[a].earlier and works[b].earlier):
                    shared.setdefault((a, b), Counter())[file_a, file_b] += 1
    pairs = []
    for (a, b), files in shared.items():
        count = files.total()
        shares = (count / own[a], count / own[b])
        if count >= LEAST and max(shares) >= SHARE:
            listed = tuple((file_a, file_b, n) for (file_a, file_b), n in files.most_common())
            pairs.append(Pair(a, b, count, shares, listed))
    pairs.sort(key=lambda pair: (-pair.rank, pair.first, pair.second))
    return pairs[:MOST]


def same_binaries(works: Sequence[Work]) -> list[tuple[str, tuple[int, ...]]]:
    """Files that are no code and that several people handed in byte for byte: (file, works)."""
    people = owners(works)
    groups: dict[tuple[str, str], list[int]] = {}
    for at, work in enumerate(works):
        for file, digest in work.binaries.items():
            groups.setdefault((file, digest), []).append(at)
    found = [(file, tuple(places)) for (file, _), places in groups.items() if len({people[at] for at in places}) > 1]
    return sorted(found, key=lambda group: (-len(group[1]), group))


def copied(works: Sequence[Work], published: dict[str, frozenset[int]], least: float = 0.9) -> list[Copied]:
    """Works that hold nearly all of a published file or alternative."""
    found = []
    for at, work in enumerate(works):
        own = frozenset[int]().union(*(prints.hashes for prints in work.prints.values()))
        for name, prints in published.items():
            both = len(own & prints)
            if own and len(prints) >= LEAST and both >= least * len(prints):
                found.append(Copied(at, name, both, both / len(own), both / len(prints)))
    return sorted(found, key=lambda one: (-one.of_published, -one.shared, one.work, one.name))
