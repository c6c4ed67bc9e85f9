"""Sentences of the farm language. Given: there is nothing to fill in here.

``splits()`` is the corpus of all experiments, ``agreement_set`` the test of Linzen, Dupoux and Goldberg (2016,
arXiv 1611.01368): does a model give the verb the number of its subject, whatever stands in between?
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeVar, get_args

from .farm import ANIMALS, K_WEIGHTS, PREPOSITIONS, SINGULAR, Derivation, Noun, verb_form
from .types import AgreementPair
from .vocab import Vocab

T = TypeVar("T")
Numbers = Literal["opposite", "same", "random"]


class Splits(NamedTuple):
    """Lists of sentences; a sentence is a tuple of words without ``<s>`` and ``</s>``."""

    train: list[tuple[str, ...]]
    val: list[tuple[str, ...]]
    test: list[tuple[str, ...]]


def splits(seed: int = 0, k_weights: Sequence[float] = K_WEIGHTS) -> Splits:
    """20,000 sentences to train on, 2,000 for validation, 2,000 to test on. Seed 0 is the published corpus.

    Args:
        seed: of the one stream from which all three are drawn, in this order.
        k_weights: the probabilities of k = 0, 1, ... attractor phrases. ValueError unless they sum to 1.
    """
    if not math.isclose(sum(k_weights), 1.0):
        raise ValueError(f"k_weights must sum to 1, not to {sum(k_weights)}")
    rng = random.Random(seed)
    train, val, test = ([sample(rng, k_weights) for _ in range(n)] for n in (20_000, 2_000, 2_000))
    return Splits(train, val, test)


def sample(rng: random.Random, k_weights: Sequence[float] = K_WEIGHTS) -> tuple[str, ...]:
    """The words of one sentence from the true distribution."""
    return derive(rng, draw(rng, enumerate(k_weights))).words


def derive(rng: random.Random, k: int, numbers: Numbers = "random") -> Derivation:
    """Draws a sentence with k attractors, one ``rng.random()`` for each choice.

    ``numbers`` forces the number of every attractor: the "same" as the subject's, or "opposite" to it.
    """
    subject = draw_noun(rng)
    attractors = []
    for _ in range(k):
        preposition, noun = pick(rng, PREPOSITIONS), draw_noun(rng)
        if numbers != "random":
            noun = Noun(noun.animal, subject.plural == (numbers == "same"))
        attractors.append((preposition, noun))
    habits = ANIMALS[subject.animal]
    verb = draw(rng, habits.verbs.items())
    what = draw(rng, habits.objects[verb].items())
    when = draw(rng, habits.when.items())
    return Derivation(subject, tuple(attractors), verb, subject.plural, what, when)


def agreement_set(k: int, numbers: Numbers, seed: int = 0, n: int = 400) -> list[AgreementPair]:
    """n pairs (prefix, right verb, wrong verb) with k attractors, as ``agreement_accuracy`` takes them.

    Args:
        k: how many nouns stand between subject and verb. Training ends at 3; larger k show who has learnt the rule.
        numbers: that of the attractors: "opposite" to the subject's (the hard case), the "same", or "random".
            ValueError for anything else.
        seed: each (seed, k, numbers) is a stream of its own.
        n: how many.

    Returns:
        Tuples such as ``(("the", "bat", "near", "the", "cows"), "makes", "make")``.
    """
    if numbers not in get_args(Numbers):
        raise ValueError(f"numbers must be one of {', '.join(get_args(Numbers))}, not {numbers!r}")
    rng = random.Random(f"agreement, seed {seed}, k {k}, {numbers}")
    drawn = [derive(rng, k, numbers) for _ in range(n)]
    return [(d.prefix, verb_form(d.verb, d.plural), verb_form(d.verb, not d.plural)) for d in drawn]


def draw(rng: random.Random, distribution: Iterable[tuple[T, float]]) -> T:
    """One outcome of ``(outcome, probability)`` pairs: the first whose cumulative probability exceeds u."""
    u, cumulative = rng.random(), 0.0
    for outcome, p in distribution:
        cumulative += p
        if u < cumulative:
            return outcome
    return outcome  # the last one: rounding has left the sum a little below 1


def pick(rng: random.Random, choices: Sequence[T]) -> T:
    """One of the choices, all equally likely."""
    return choices[int(rng.random() * len(choices))]


def draw_noun(rng: random.Random) -> Noun:
    return Noun(pick(rng, tuple(ANIMALS)), rng.random() < 0.5)


def vocabulary() -> Vocab:
    """The 56 words of the language, 54 of them predictable. From the grammar: a small training set may lack some."""
    words = {"the", ".", *PREPOSITIONS, *SINGULAR, *SINGULAR.values(), *ANIMALS}
    for habits in ANIMALS.values():
        phrases = [*habits.when, *(what for row in habits.objects.values() for what in row)]
        words.update([habits.plural], *(phrase.split() for phrase in phrases))
    return Vocab(words)
