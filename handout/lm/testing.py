"""Small stand-ins that tests hand to your functions. Given: there is nothing to fill in here.

A test of ``perplexity`` needs a model, but not yours: it builds a ``TableModel``, whose probabilities stand in the
test. So every item can be tested before the others work.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .base import Module, Parameter
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


# --- backprop


class Polynomial:
    """A polynomial of the entries of an array: ``Polynomial([(2.0, [3, 0, 1])])(x)`` is 2 x0^3 x2.

    Args:
        terms: (coefficient, powers), one power for each entry of the array, in row-major order.
    """

    def __init__(self, terms: Sequence[tuple[float, Sequence[int]]]) -> None:
        self.terms = terms

    def __call__(self, x: np.ndarray) -> float:
        entries = x.ravel()
        return sum(float(factor * np.prod(entries ** np.array(powers))) for factor, powers in self.terms)


class Watch:
    """f(x) for an array x that it knows: it ignores its argument, but looks whether that is x itself.

    Args:
        f: what it calculates.
        x: the array.
        patience: it raises ZeroDivisionError in the call after that many; None for never.

    Attributes:
        calls: how often it was called.
        strangers: how often with another array, a copy of x say.
        most_moved: the largest number of entries that differed from those of x at first.
    """

    def __init__(self, f: Callable[[np.ndarray], float], x: np.ndarray, patience: int | None = None) -> None:
        self.f = f
        self.x = x
        self.patience = patience
        self.first = x.copy()
        self.calls = 0
        self.strangers = 0
        self.most_moved = 0

    def __call__(self, x: np.ndarray) -> float:
        if self.calls == self.patience:
            raise ZeroDivisionError(f"called more than {self.patience} times")
        self.calls += 1
        self.strangers += x is not self.x
        self.most_moved = max(self.most_moved, int((self.x != self.first).sum()))
        return self.f(self.x)


class ZeroD:
    """f, with a 0-d array for an answer in place of a float."""

    def __init__(self, f: Callable[[np.ndarray], float]) -> None:
        self.f = f

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.array(self.f(x))


def at_transpose(function: Callable[..., Any], f: Callable[[np.ndarray], float], x: np.ndarray) -> Any:
    """``function(f, the transpose of x)``: an array whose entries do not lie one after the other in memory."""
    return function(f, x.T)


def random_numbers(seed: int) -> np.random.Generator:
    """A generator of random numbers."""
    return np.random.default_rng(seed)


class Square(Module):
    """b = a^2, entry by entry."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        return a**2

    def backward(self, a: np.ndarray, b: np.ndarray, g_b: np.ndarray) -> np.ndarray:
        return 2 * a * g_b


class HalfSquares(Module):
    """A loss: half the sum of all squares, a number."""

    def forward(self, a: np.ndarray) -> float:
        return float((a**2).sum()) / 2

    def backward(self, a: np.ndarray, b: float, g_b: float) -> np.ndarray:
        return g_b * a


class Steps(Module):
    """From each entry of the last axis to the next: b_i = a_(i+1) - a_i. b is shorter than a."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        return np.diff(a)

    def backward(self, a: np.ndarray, b: np.ndarray, g_b: np.ndarray) -> np.ndarray:
        none = np.zeros((*a.shape[:-1], 1))
        return -np.diff(g_b, prepend=none, append=none)


class Stretch(Module):
    """b = scale * a + shift, entry by entry, all of one shape; its gradients are wrong where one wishes.

    Args:
        scale, shift: become Parameters.
        wrong: ``{"a": 2.0}`` makes the gradient by the input twice as large as it is, and so for the names of the
            parameters; an array in place of the number makes each entry wrong by its own factor.
    """

    def __init__(self, scale: np.ndarray, shift: np.ndarray, wrong: Mapping[str, Any] | None = None) -> None:
        self.scale = Parameter(scale)
        self.shift = Parameter(shift)
        self.wrong = wrong or {}

    def forward(self, a: np.ndarray) -> np.ndarray:
        return self.scale.data * a + self.shift.data

    def backward(self, a: np.ndarray, b: np.ndarray, g_b: np.ndarray) -> np.ndarray:
        self.scale.grad += g_b * a * self.wrong.get("scale", 1.0)
        self.shift.grad += g_b * self.wrong.get("shift", 1.0)
        return g_b * self.scale.data * self.wrong.get("a", 1.0)


class Powers(Module):
    """b = base^n for an integer n or an array of them; the input has no gradient.

    Args:
        base: a number, becomes a Parameter of shape ().
        wrong: a factor on its gradient.
    """

    def __init__(self, base: float, wrong: float = 1.0) -> None:
        self.base = Parameter(base)
        self.wrong = wrong

    def forward(self, a: int | np.ndarray) -> np.ndarray:
        return np.asarray(self.base.data ** np.asarray(a))

    def backward(self, a: int | np.ndarray, b: np.ndarray, g_b: np.ndarray) -> None:
        self.base.grad += np.sum(g_b * a * b) / self.base.data * self.wrong


class Reverse(Module):
    """The last axis from back to front.

    Args:
        forgets: its backward does not turn the gradient round. With equal entries nobody would notice.
    """

    def __init__(self, forgets: bool = False) -> None:
        self.forgets = forgets

    def forward(self, a: np.ndarray) -> np.ndarray:
        return a[..., ::-1].copy()

    def backward(self, a: np.ndarray, b: np.ndarray, g_b: np.ndarray) -> np.ndarray:
        return g_b.copy() if self.forgets else g_b[..., ::-1].copy()


class ForgetfulSigmoid(Module):
    """The lecture's planted bug: a sigmoid whose backward forgets the factor 1 - b."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        return 0.5 + np.tanh(a / 2) / 2

    def backward(self, a: np.ndarray, b: np.ndarray, g_b: np.ndarray) -> np.ndarray:
        return g_b * b


def same(a: object, b: object) -> bool:
    """Whether two names stand for one object."""
    return a is b


# For the tape: an operation can be tested without a working tape, a tape without working operations.


class EdgeTape:
    """Stands in for a ``Tape`` under a Var: ``record`` keeps the edges and nothing else."""

    def record(self, data: Any, *edges: tuple[Any, Any]) -> Recorded:
        return Recorded(data, edges)


class Recorded:
    """What ``EdgeTape.record`` was given.

    Attributes:
        data: the value.
        edges: the pairs ``(x, local)``.
    """

    def __init__(self, data: Any, edges: Sequence[tuple[Any, Any]]) -> None:
        self.data = data
        self.edges = edges

    def pulled(self, x: object, g: Any) -> list[Any]:
        """``local(g)`` of each edge to x."""
        return [local(g) for variable, local in self.edges if variable is x]


class Times:
    """The function g -> factor * g."""

    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __call__(self, g: Any) -> Any:
        return self.factor * g


class Same:
    """The function g -> g: the very same object."""

    def __call__(self, g: Any) -> Any:
        return g


def lay_out(tape: Any, new: Any, leaves: Sequence[Any], steps: Sequence[tuple[str, int, int]]) -> list[Any]:
    """A tape built by hand: its nodes are appended one by one, without ``record``.

    Args:
        tape: an empty tape; its ``nodes`` are filled.
        new: makes a Var of data and tape.
        leaves: Vars, the first values.
        steps: ``(name, i, j)`` makes the next value of the values i and j: "add", "mul" entry by entry, "dot" the sum
            of the products.

    Returns:
        All values, the leaves first.
    """
    values = list(leaves)
    for name, i, j in steps:
        x, y = values[i], values[j]
        plus = name == "add"
        data = x.data + y.data if plus else x.data * y.data
        to_x, to_y = (Same(), Same()) if plus else (Times(y.data), Times(x.data))
        out = new(data.sum() if name == "dot" else data, tape)
        tape.nodes.append((out, [(x, to_x), (y, to_y)]))
        values.append(out)
    return values


# The bonus: dual numbers.


class Formula:
    """The function of x that a text describes: ``Formula("sin(x) * x + 1", sin=...)``.

    Attributes:
        seen: what it was called with, a list of one tangent or list of tangents for each call; None for plain numbers.
    """

    def __init__(self, text: str, **functions: Callable[..., Any]) -> None:
        self.function = eval(f"lambda x: {text}", functions)
        self.seen: list[Any] = []

    def __call__(self, x: Any) -> Any:
        several = isinstance(x, (list, tuple))
        self.seen.append([getattr(part, "tangent", None) for part in x] if several else getattr(x, "tangent", None))
        return self.function(x)


# For the RNN: decoding.


class StepTable:
    """A step function whose logits are written down: ``StepTable({(1,): [..], (1, 4): [..]})``.

    Its state is a tuple of the words that it has read. Pass ``()`` as the state to start with.

    Args:
        table: ``{words read: logits}``.
        other: the logits after anything that the table does not hold; None for KeyError.

    Attributes:
        asked: each ``(word, state)`` that it was called with, in order.
    """

    def __init__(self, table: Mapping[tuple[int, ...], Any], other: Any = None) -> None:
        self.table = table
        self.other = other
        self.asked: list[tuple[int, tuple[int, ...]]] = []

    def __call__(self, word: int, state: tuple[int, ...]) -> tuple[np.ndarray, tuple[int, ...]]:
        self.asked.append((int(word), state))
        read = (*state, int(word))
        logits = self.table[read] if self.other is None else self.table.get(read, self.other)
        return np.array(logits, dtype=float), read
