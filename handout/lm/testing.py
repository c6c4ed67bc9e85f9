"""Small stand-ins that tests hand to your functions. Given: there is nothing to fill in here.

A test of ``perplexity`` needs a model, but not yours: it builds a ``TableModel``, whose probabilities stand in the
test. So every item can be tested before the others work.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from .types import Context, NgramModel, cut
from .vocab import Vocab

T = TypeVar("T")


class TableModel:
    """An n-gram model whose probabilities are written down: ``TableModel({("the",): {"bat": 0.7, "cow": 0.3}})``.

    Args:
        table: ``{context: {word: probability}}``. What it does not hold has probability 0.
        order: n; by default one more than the longest context of the table.
        vocabulary: what it predicts; by default ``</s>``, ``<unk>`` if the table has it, then its other words, sorted.
    """

    def __init__(
        self,
        table: Mapping[Context, Mapping[str, float]],
        order: int | None = None,
        vocabulary: Sequence[str] | None = None,
    ) -> None:
        self.table = table
        self.order = max(map(len, table), default=0) + 1 if order is None else order
        if vocabulary is None:
            words = {word for row in table.values() for word in row}
            vocabulary = Vocab(words, unk="<unk>" in words).predictable
        self.vocabulary = tuple(vocabulary)

    def seen(self, context: Sequence[str]) -> bool:
        return cut(context, self.order) in self.table

    def prob(self, word: str, context: Sequence[str]) -> float:
        return self.table.get(cut(context, self.order), {}).get(word, 0.0)


class UniformModel:
    """1/V for each of the V words of a vocabulary, whatever the context; 0 for any other word. Perplexity V."""

    def __init__(self, vocabulary: Sequence[str], order: int = 1) -> None:
        self.vocabulary = tuple(vocabulary)
        self.order = order

    def seen(self, context: Sequence[str]) -> bool:
        return True

    def prob(self, word: str, context: Sequence[str]) -> float:
        return 1 / len(self.vocabulary) if word in self.vocabulary else 0.0


class Recording:
    """A model that answers as ``model`` does and keeps what it was asked.

    Attributes:
        queries: each ``(word, context)`` that ``prob`` was asked for, in order, the context cut to its last order - 1
            words: passing more than that is nobody's mistake.
    """

    def __init__(self, model: NgramModel) -> None:
        self.model = model
        self.order = model.order
        self.vocabulary = model.vocabulary
        self.queries: list[tuple[str, Context]] = []

    def seen(self, context: Sequence[str]) -> bool:
        return self.model.seen(tuple(context))

    def prob(self, word: str, context: Sequence[str]) -> float:
        self.queries.append((word, cut(context, self.order)))
        return self.model.prob(word, tuple(context))


class ScoreTable:
    """A scoring function, ``score(prefix, word) -> float``, from ``{prefix: {word: score}}``.

    KeyError when it is asked for anything else.
    """

    def __init__(self, table: Mapping[tuple[str, ...], Mapping[str, float]]) -> None:
        self.table = table

    def __call__(self, prefix: Sequence[str], word: str) -> float:
        return self.table[tuple(prefix)][word]


class RaisesAfter(Iterator[Any]):
    """An iterator that gives k items, 0 to k - 1 or the first of ``items``, and raises RuntimeError for one more.

    It shows code that reads further than it has to.
    """

    def __init__(self, k: int, items: Sequence[Any] | None = None) -> None:
        self.items = list(range(k) if items is None else items[:k])
        self.taken = 0

    def __next__(self) -> Any:
        if self.taken == len(self.items):
            raise RuntimeError(f"more than {self.taken} items were read")
        self.taken += 1
        return self.items[self.taken - 1]


def as_generator(items: Iterable[T]) -> Generator[T, None, None]:
    """The items, once: a second loop over the result finds it empty."""
    yield from items


def collect(items: Iterable[T]) -> list[T]:
    """The items of a list, generator or other iterable, as a list."""
    return list(items)


def advance(iterator: Iterator[T]) -> tuple[bool, T | None]:
    """One step of an iterator: ``(False, the next item)``, or ``(True, None)`` at its end."""
    try:
        return False, next(iterator)
    except StopIteration:
        return True, None
