"""Progress over submissions: how often students hand in, and what that changes.

Scores of earlier submissions are the platform's; the last is the platform's too where it has one, so that they were
graded alike, else the one of this grading. A group is one line.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .population import Population, hundredths
from .statistics import Summary, summarise

SHOWN = 10  # submissions in a row that get a column; later ones are counted together


@dataclass(frozen=True)
class Progress:
    """Of the graded submissions.

    Attributes:
        times: how often handed in -> how many.
        tries: of the first, second, ... submission the scores, as far as there are any, up to ``SHOWN``.
        first, last: scores of those with a score on two submissions or more.
        rose, fell, same: how their last score compares with their first.
    """

    times: Counter[int]
    tries: tuple[Summary, ...]
    first: Summary
    last: Summary
    rose: int
    fell: int
    same: int


def progress(population: Population) -> Progress:
    """Follow each graded submission from its first to its last."""
    times: Counter[int] = Counter()
    tries: list[list[int]] = []
    first, last = [], []
    for one in population.graded:
        final = one.handed.before_total if one.handed.before_total is not None else one.total
        line = [*(earlier.score for earlier in one.handed.earlier), final]
        times[len(line)] += 1
        for at, score in enumerate(line[:SHOWN]):
            while len(tries) <= at:
                tries.append([])
            if score is not None:
                tries[at].append(hundredths(score))
        told = [hundredths(score) for score in line if score is not None]
        if len(told) > 1:
            first.append(told[0])
            last.append(told[-1])
    pairs = list(zip(first, last, strict=True))
    return Progress(
        times,
        tuple(summarise(scores) for scores in tries),
        summarise(first),
        summarise(last),
        rose=sum(a < b for a, b in pairs),
        fell=sum(a > b for a, b in pairs),
        same=sum(a == b for a, b in pairs),
    )
