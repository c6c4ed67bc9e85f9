"""Sentences in two languages, for sequence to sequence. Given: there is nothing to fill in here.

The source is the farm language, the target an invented one, here called Barnish, that says the same in another order:

    the cows near the dog behind the hens eat corn in the field .
    polu ine   pikun eru   runo apu   kovan   maku   naman .
    field in   hens behind dog near   cows    corn   eat   .

Time or place comes first. What stands behind a noun in English stands before it in Barnish, the farthest first, each
with a *post*position. There is no article; a plural ends in -n. The verb comes last, and its ending agrees with the
subject in two ways: -a for animals of the day, -o for those of the night, and again -n for the plural. So the first
noun that was read decides the last word that is written, and everything in between has to be remembered as well.

``translate`` knows the rules, ``pairs`` draws sentences, ``pad_pairs`` makes arrays of them.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .batching import pad
from .corpus import sample
from .corpus import vocabulary as source_vocabulary
from .farm import ANIMALS, SINGULAR
from .types import Sentence
from .vocab import PAD, Vocab

NOUNS = {
    "bat": "lepa",
    "cow": "kova",
    "dog": "runo",
    "hen": "piku",
    "owl": "hulo",
    "fox": "zoro",
    "cat": "mira",
    "horse": "tako",
    "flies": "siti",
    "fish": "wela",
    "noise": "goro",
    "corn": "maku",
    "grass": "yupa",
    "hay": "heno",
    "milk": "lati",
    "bones": "koti",
    "holes": "fudu",
    "seeds": "sena",
    "eggs": "ovu",
    "nests": "nidu",
    "mice": "tiki",
}
"""Animals in the singular, and what else is eaten, made, seen, heard or chased, in its only form."""

POSTPOSITIONS = {"near": "apu", "behind": "eru", "beside": "osu"}

STEMS = {"eat": "nam", "make": "tek", "see": "vis", "hear": "aud", "chase": "kur"}

NIGHT = {"bat", "owl", "fox", "cat"}
"""The animals whose verbs end in -o; those of all others end in -a."""

WHEN = {
    "at night": "nohte",
    "every night": "nohte sem",
    "every day": "diga sem",
    "in the morning": "zoru ine",
    "in the barn": "granu ine",
    "in the field": "polu ine",
    "in the yard": "dvoru ine",
}

K_WEIGHTS = (0.25, 0.2, 0.15, 0.15, 0.15, 0.1)
"""The probabilities of k = 0 .. 5 phrases between subject and verb: longer sentences than those of the farm."""

Pair = tuple[tuple[str, ...], tuple[str, ...]]
"""A sentence and its translation, both without ``<s>`` and ``</s>``."""


class Parallel(NamedTuple):
    """Lists of pairs. No sentence of ``train`` is in ``val`` or ``test``."""

    train: list[Pair]
    val: list[Pair]
    test: list[Pair]


class PairBatch(NamedTuple):
    """B pairs, each side padded on the right to its own longest sentence. S and T need not be equal.

    Attributes:
        source: (B, S), ids of the words of the source, nothing added.
        source_mask: (B, S), bool: True where there is a word, False for padding; at least one True in a row.
        inputs: (B, T), ids of ``<s>`` and the words of the target: what the decoder reads.
        targets: (B, T), ids of the words of the target and ``</s>``: what it is to predict.
        mask: (B, T), bool: True where there is a prediction, False for padding.
    """

    source: np.ndarray
    source_mask: np.ndarray
    inputs: np.ndarray
    targets: np.ndarray
    mask: np.ndarray


def translate(sentence: Sentence) -> tuple[str, ...]:
    """A sentence of the farm language in Barnish. Each has one translation.

    Args:
        sentence: the words, "." included, with any number of phrases between subject and verb. The ending of the verb
            is taken from the subject, so a verb in the wrong number is translated as if it were right.

    Returns:
        The words of the translation, "." included. ValueError for what is no sentence of the farm.
    """
    words = tuple(sentence)
    try:
        verb = next(i for i, word in enumerate(words) if word in _VERBS)
        *rest, dot = words[verb + 1 :]
        when = next(i for i in range(1, len(rest)) if " ".join(rest[i:]) in WHEN)
        (the, subject), phrases = words[:2], [words[i : i + 3] for i in range(2, verb, 3)]  # preposition, the, noun
        _, what = rest[:when] if when == 2 else ("the", *rest[:when])
        articles = {the, *(article for _, article, _ in phrases), *rest[: when - 1]}
        if (articles, dot) != ({"the"}, "."):
            raise ValueError
        before = [part for prep, _, noun in phrases[::-1] for part in (_ANIMALS[noun], POSTPOSITIONS[prep])]
        place = WHEN[" ".join(rest[when:])].split()
        return (*place, *before, _ANIMALS[subject], _NOUNS[what], _VERBS[words[verb]] + _ENDINGS[subject], ".")
    except (StopIteration, KeyError, ValueError):
        raise ValueError(f"not a sentence of the farm language: {' '.join(words)}") from None


_ANIMALS = {word: NOUNS[name] + n for name, kind in ANIMALS.items() for word, n in ((name, ""), (kind.plural, "n"))}
_NOUNS = {**NOUNS, **_ANIMALS}
_VERBS = {form: STEMS[plural] for plural, singular in SINGULAR.items() for form in (plural, singular)}
_ENDINGS = {
    word: ("o" if name in NIGHT else "a") + n
    for name, kind in ANIMALS.items()
    for word, n in ((name, ""), (kind.plural, "n"))
}


def target_vocabulary() -> Vocab:
    """The words of Barnish. From the rules: a small training set may lack some."""
    verbs = [stem + ending for stem in STEMS.values() for ending in _ENDINGS.values()]
    when = [word for phrase in WHEN.values() for word in phrase.split()]
    return Vocab([*_NOUNS.values(), *POSTPOSITIONS.values(), *verbs, *when, "."])


def vocabularies() -> tuple[Vocab, Vocab]:
    """Of the source and of the target. Each has ids of its own; ``<pad>``, ``<s>`` and ``</s>`` are 0, 1, 2 in both."""
    return source_vocabulary(), target_vocabulary()


def held_out(sentence: Sentence) -> bool:
    """Whether a sentence is kept for validation and test, as about one in ten is, in every split of every seed.

    Short sentences are few: if chance alone dealt them out, the training set would have nearly all of them.
    """
    return zlib.crc32(" ".join(sentence).encode()) % 10 == 0


def pairs(
    seed: int = 0,
    k_weights: Sequence[float] = K_WEIGHTS,
    sizes: tuple[int, int, int] = (20_000, 500, 2_000),
) -> Parallel:
    """Pairs to train on, for validation, and to test on, by default 20,000, 500 and 2,000.

    Args:
        seed: of the one stream from which all three are drawn, in this order.
        k_weights: the probabilities of k = 0, 1, ... phrases between subject and verb.
        sizes: how many of each.
    """
    rng = random.Random(seed)

    def draw(size: int, out: bool) -> list[Pair]:
        found: list[Pair] = []
        while len(found) < size:
            sentence = sample(rng, k_weights)
            if held_out(sentence) == out:
                found.append((sentence, translate(sentence)))
        return found

    train, val, test = (draw(size, out) for size, out in zip(sizes, (False, True, True), strict=True))
    return Parallel(train, val, test)


def pad_pairs(pairs: Sequence[Pair], source: Vocab, target: Vocab) -> PairBatch:
    """One batch of all these pairs, in their order."""
    lengths = np.array([len(sentence) for sentence, _ in pairs])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, source.ids[PAD])
    for row, (sentence, _) in enumerate(pairs):
        ids[row, : len(sentence)] = source.encode(sentence)
    return PairBatch(ids, mask, *pad([translation for _, translation in pairs], target))


def pair_batches(
    pairs: Sequence[Pair], source: Vocab, target: Vocab, size: int, rng: np.random.Generator
) -> Iterator[PairBatch]:
    """All pairs once, in a new random order, ``size`` at a time; the last batch may be smaller."""
    order = rng.permutation(len(pairs))
    for start in range(0, len(order), size):
        yield pad_pairs([pairs[i] for i in order[start : start + size]], source, target)
