"""What the steps of experiment 1 share: corpus, counts and models, each made once and kept in ``run.shared``."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from lm import corpus, truth
from lm.types import Context, Counts, LanguageModel, NgramModel, Sentence, cut

from .run import Run

if TYPE_CHECKING:  # only for the types: what you have broken must not stop what works
    from lm.ngram import MLE, Interpolated

T = TypeVar("T")

ORDERS = range(1, 7)


def kept(run: Run, key: str, make: Callable[[], T]) -> T:
    """What ``make`` returns, made at the first call and kept for later steps."""
    key = f"1 {key}"
    if key not in run.shared:
        run.shared[key] = make()
    found: T = run.shared[key]
    return found


def data(run: Run) -> corpus.Splits:
    """The corpus of this seed."""
    return kept(run, "corpus", lambda: corpus.splits(run.seed))


def counts(run: Run, n: int) -> Counts:
    """The n-grams of the training set."""
    from lm.ngram import count

    return kept(run, f"counts {n}", lambda: count(data(run).train, n))


def mle(run: Run, n: int) -> MLE:
    """The unsmoothed model of order n."""
    from lm.ngram import MLE

    return kept(run, f"mle {n}", lambda: MLE(counts(run, n)))


def lambdas(run: Run) -> dict[int, float]:
    """The weights of all orders, tuned on the validation set, one order after the other."""
    from lm.ngram import tune_grid

    return kept(run, "lambdas", lambda: tune_grid([mle(run, n) for n in ORDERS], data(run).val))


def interpolated(run: Run, n: int) -> Interpolated:
    """The mixture of the orders 1 to n."""
    from lm.ngram import Interpolated

    return Interpolated([mle(run, order) for order in range(1, n + 1)], lambdas(run))


def perplexities(run: Run, family: str) -> dict[int, float]:
    """The test perplexities of one family of models by order, for the step that shows all of them."""
    return kept(run, f"perplexities {family}", dict)


def unseen(model: NgramModel, sentences: Sequence[Sentence]) -> int:
    """How many n-grams of a text have probability 0."""
    from lm.ngram import ngrams

    grams = [gram for sentence in sentences for gram in ngrams(sentence, model.order)]
    return sum(model.prob(gram[-1], gram[:-1]) == 0 for gram in grams)


def agreement(run: Run, model: LanguageModel, k: int, numbers: corpus.Numbers) -> float:
    """How often a model prefers the right form of the verb, over 400 prefixes with k attractors."""
    from lm.metrics import agreement_accuracy

    start = ("<s>",) * (model.order - 1)
    pairs = kept(run, f"pairs {k} {numbers}", lambda: corpus.agreement_set(k, numbers, run.seed))
    return agreement_accuracy(lambda prefix, word: model.prob(word, start + prefix), pairs)


def judge(samples: Sequence[Sentence], train: Container[Sentence]) -> tuple[float, float, float, float, float]:
    """Shares of samples: grammatical, agreeing among these, both, copied from the training set; all different ones."""
    right = [sample for sample in samples if truth.is_grammatical(sample)]
    agree, size = sum(map(truth.agrees, right)), len(samples)
    copied = sum(sample in train for sample in samples)
    among = agree / len(right) if right else math.nan
    return len(right) / size, among, agree / size, copied / size, len(set(samples)) / size


class Remembering:
    """A model that answers a question for the second time from memory: sampling asks a few thousand a million times.

    Args:
        model: any n-gram model.
    """

    def __init__(self, model: NgramModel) -> None:
        self.model = model
        self.order = model.order
        self.vocabulary = model.vocabulary
        self.rows: dict[Context, dict[str, float]] = {}

    def seen(self, context: Context) -> bool:
        return self.model.seen(context)

    def prob(self, word: str, context: Context) -> float:
        asked = cut(context, self.order)
        row = self.rows.get(asked)
        if row is None:
            row = self.rows[asked] = {w: self.model.prob(w, asked) for w in self.vocabulary}
        return row.get(word, 0.0)


def extremes(run: Run, key: str, values: Sequence[float], low: float, high: float, lecture: str = "") -> None:
    """Note the lowest and the highest of several values, which all have the same band; a single one as it is."""
    if len(values) == 1:
        run.figure(key, values[0], low, high, lecture)
        return
    run.figure(f"{key}, lowest", min(values), low, high, lecture)
    run.figure(f"{key}, highest", max(values), low, high, lecture)


def lines(figure: Any, x: Sequence[float], curves: Mapping[str, Sequence[float]], xlabel: str, ylabel: str) -> Any:
    """Draw curves over the same x into a matplotlib figure, with a legend; the axes are returned.

    The markers are hollow and get smaller: where curves lie upon each other, all of them can still be seen.
    """
    axes = figure.add_subplot()
    for i, (label, y) in enumerate(curves.items()):
        axes.plot(x, y, label=label, fillstyle="none", markersize=max(13 - 2.5 * i, 4))
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.legend()
    return axes
