"""For experiment 7: one text for all steps, and what is measured on it. Given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
from lm.types import Counts, NgramModel
from lm.vocab import BOS, EOS, UNK, Vocab

from .array_ngrams import Floats, Found, interpolated, perplexity
from .run import Run, Step
from .texts import BUNDLED, Sentences, Text, TextError, load, prepare
from .words import Quoted

QUICK = (30_000, 2_000)  # the most words to train on, and the most types; in full:
FULL = (250_000, 5_000)


def text_of(run: Run) -> Text | None:
    """The text of this run, read once. None where a file that was named cannot be used: that has been said."""
    if "text" not in run.shared:
        try:
            run.shared["text"] = prepare(load(run.text), *(QUICK if run.quick else FULL))
        except TextError as error:
            run.shared["text"] = None
            run.waiting.append(f"{run.number} a text: {error}")
            print(f"\n-- {error}\n-- experiment {run.number} has no text, and nothing else takes its place")
    found: Text | None = run.shared["text"]
    return found


def with_text(step: Callable[[Run, Text], None]) -> Step:
    """A step that is left out where there is no text."""

    @wraps(step)
    def run_it(run: Run) -> None:
        text = text_of(run)
        if text is not None:
            step(run, text)

    return run_it


def bundled(text: Text) -> bool:
    """Whether this is the excerpt, the one text whose figures are known."""
    return text.source.name == BUNDLED


def vocab_of(text: Text) -> Vocab:
    """The words of a text, with ``<unk>``."""
    return Vocab(text.words, unk=True)


def predictions(sentences: Sentences) -> int:
    """Words and ends of sentences."""
    return sum(len(sentence) + 1 for sentence in sentences)


def tables(run: Run, text: Text, order: int) -> list[Counts]:
    """The student's counts of the orders 1 to ``order``, each made once."""
    from lm.ngram import count

    made: list[Counts] = run.shared.setdefault("text counts", [])
    while len(made) < order:
        made.append(count(text.train, len(made) + 1))
    return made[:order]


def orders(run: Run) -> range:
    """The orders to compare."""
    return range(2, 4 if run.quick else 5)


def note(run: Run, name: str, perplexity: float) -> None:
    """Remember a perplexity for the comparison at the end."""
    run.shared.setdefault("text perplexities", {})[name] = perplexity


def longest_copied(words: Sequence[str], train: str) -> int:
    """The length of the longest piece of a sample that stands in the training text, which is `` w w w `` in one string.

    The ends of the training text's sentences are ``</s>`` in it.
    """
    best = 0
    for start in range(len(words)):
        while start + best < len(words) and f" {' '.join(words[start : start + best + 1])} " in train:
            best += 1
    return best


def joined(sentences: Sentences) -> str:
    """All words in one string, for ``longest_copied``."""
    return f" {f' {EOS} '.join(map(' '.join, sentences))} "


def questions(sentences: Sentences, number: int, rng: np.random.Generator) -> list[tuple[str, tuple[str, ...]]]:
    """(word, all words before it in its sentence), drawn from all predictions but those of ``<unk>``."""
    asked = [
        (word, (BOS, BOS, BOS, *sentence[:i]))
        for sentence in sentences
        for i, word in enumerate((*sentence, EOS))
        if word != UNK
    ]
    return [asked[i] for i in rng.permutation(len(asked))[:number]]


def ranks(model: NgramModel, asked: Sequence[tuple[str, tuple[str, ...]]], words: Sequence[str]) -> Floats:
    """The place of each right word when all words are sorted by what the model says of them; equal ones share a place.

    Scores will do as well as probabilities.
    """
    at = {word: i for i, word in enumerate(words)}
    places = []
    for right, context in asked:
        scores = np.array([model.prob(word, context) for word in words])
        score = scores[at[right]]
        places.append(1 + (scores > score).sum() + ((scores == score).sum() - 1) / 2)
    return np.array(places)


def weights_of(found: Sequence[Found]) -> dict[int, float]:
    """For array counts: of the weights 0.01 to 0.99 those that suit a held-out text, one order after the other.

    ``found`` is what each order knows of that text, lowest first.
    """
    lambdas: dict[int, float] = {}
    for order in range(2, len(found) + 1):
        tried = [{**lambdas, order: weight / 100} for weight in range(1, 100)]
        lambdas = min(tried, key=lambda weights: perplexity(interpolated(found[: len(weights) + 1], weights)))
    return lambdas


def rows_of(names: Sequence[str], samples: Sequence[str], *columns: Sequence[Any]) -> list[list[Any]]:
    """Rows with a sample at the end, quoted as it is."""
    return [list(row) for row in zip(names, *columns, map(Quoted, samples), strict=True)]


def clip(words: Sequence[str], width: int = 88) -> str:
    """The words in a line of at most so many characters."""
    line = " ".join(words)
    return line if len(line) <= width else f"{line[: width - 3]}..."
