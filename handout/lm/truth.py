"""What we know about the farm language and no model is told. Given: there is nothing to fill in here.

Since we made the language, we know what real text hides: whether a sentence is right, and its true probability, hence
the perplexity below which no model can get on average: 2.4897 for the sentences of ``corpus.sample``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache

from .farm import ANIMALS, K_WEIGHTS, PREPOSITIONS, SINGULAR, Derivation, Noun, verb_form
from .types import Sentence
from .vocab import EOS


def parse(sentence: Sentence) -> Derivation | None:
    """The derivation of a sentence, or None where the words do not fit the template.

    Habits are not syntax: any animal may do anything that some animal does, at any time, and the verb may have either
    number. k has no upper end.
    """
    match = template().fullmatch(" ".join(sentence))
    if match is None:
        return None
    subject, between, form, what, when = match.groups()
    verb = next(verb for verb, singular in SINGULAR.items() if form in (verb, singular))
    if not any(what in habits.objects.get(verb, ()) for habits in ANIMALS.values()):
        return None
    words = between.split()  # preposition, the, noun, preposition, the, noun, ...
    attractors = tuple((preposition, nouns()[noun]) for preposition, noun in zip(words[::3], words[2::3], strict=True))
    return Derivation(nouns()[subject], attractors, verb, form == verb, what, when)


def is_grammatical(sentence: Sentence) -> bool:
    """Whether the words fit the template of the language, see ``parse``. Agreement is not asked for."""
    return parse(sentence) is not None


def agrees(sentence: Sentence) -> bool:
    """Whether a sentence is grammatical and its verb has the number of its subject."""
    found = parse(sentence)
    return found is not None and found.plural == found.subject.plural


@cache
def nouns() -> dict[str, Noun]:
    """The 16 nouns by the word that says them."""
    return {noun.word: noun for animal in ANIMALS for noun in (Noun(animal, False), Noun(animal, True))}


@cache
def template() -> re.Pattern[str]:
    """The sentences of the language, and some that only their objects give away, as a regular expression."""
    noun = "|".join(nouns())
    verb = "|".join(form for pair in SINGULAR.items() for form in pair)
    what = "|".join(what for habits in ANIMALS.values() for row in habits.objects.values() for what in row)
    when = "|".join(when for habits in ANIMALS.values() for when in habits.when)
    return re.compile(rf"the ({noun})((?: (?:{'|'.join(PREPOSITIONS)}) the (?:{noun}))*) ({verb}) ({what}) ({when}) \.")


def probability(sentence: Sentence, k_weights: Sequence[float] = K_WEIGHTS) -> float:
    """The true probability of a sentence, ``</s>`` included; 0.0 for what the language never says."""
    found = parse(sentence)
    if found is None or found.plural != found.subject.plural or len(found.attractors) >= len(k_weights):
        return 0.0
    k, habits = len(found.attractors), ANIMALS[found.subject.animal]
    p_object = habits.objects.get(found.verb, {}).get(found.object, 0.0)
    p_habits = habits.verbs.get(found.verb, 0.0) * p_object * habits.when.get(found.when, 0.0)
    return k_weights[k] / 16 / 48.0**k * p_habits


def log_probability(sentence: Sentence, k_weights: Sequence[float] = K_WEIGHTS) -> float:
    """The natural logarithm of ``probability``; minus infinity for 0."""
    p = probability(sentence, k_weights)
    return math.log(p) if p > 0 else -math.inf


def token_log_probabilities(sentence: Sentence, k_weights: Sequence[float] = K_WEIGHTS) -> list[float]:
    """log p(word | all words before it) of each word and of ``</s>``, in nats; they sum to ``log_probability``.

    ValueError for a sentence of probability 0.
    """
    rows = next_words(sentence, k_weights)
    return [math.log(row[word]) for word, row in zip((*sentence, EOS), rows, strict=True)]


def next_words(sentence: Sentence, k_weights: Sequence[float] = K_WEIGHTS) -> list[dict[str, float]]:
    """The true distribution of each word of a sentence, and of ``</s>``, given all words before it.

    A distribution is ``{word: probability}``, without words of probability 0. ValueError for a sentence of probability
    0, after whose words there is no truth.
    """
    found = parse(sentence)
    if found is None or probability(sentence, k_weights) == 0:
        raise ValueError(f"not a sentence of the language: {' '.join(sentence)}")
    habits = ANIMALS[found.subject.animal]
    noun = dict.fromkeys(nouns(), 1 / 16)
    rows = [{"the": 1.0}, noun]
    for j in range(len(found.attractors) + 1):
        more = sum(k_weights[j + 1 :]) / sum(k_weights[j:])  # P(k > j) / P(k >= j): whether a phrase follows
        row = {verb_form(verb, found.plural): (1 - more) * p for verb, p in habits.verbs.items()}
        rows += [row | dict.fromkeys(PREPOSITIONS, more / 3), {"the": 1.0}, noun]
    del rows[-2:]  # after the last of these rows comes a verb
    rows += phrase_words(found.object, habits.objects[found.verb]) + phrase_words(found.when, habits.when)
    return [{word: p for word, p in row.items() if p > 0} for row in (*rows, {".": 1.0}, {EOS: 1.0})]


def phrase_words(phrase: str, phrases: dict[str, float]) -> list[dict[str, float]]:
    """The distribution of each word of a phrase given those before it: from all phrases that begin alike."""
    words = phrase.split()
    rows = []
    for i in range(len(words)):
        row: dict[str, float] = {}
        for other, p in phrases.items():
            if other.split()[:i] == words[:i]:
                row[other.split()[i]] = row.get(other.split()[i], 0.0) + p
        rows.append({word: p / sum(row.values()) for word, p in row.items()})
    return rows
