# Handout version 2026.11
"""How good is a language model? Cross-entropy and perplexity, and a test of grammar.

Nothing here knows what kind of model it measures: counts or a neural network, all it asks for is probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .types import AgreementPair, LanguageModel, Sentence
from .vocab import BOS, EOS


def cross_entropy(model: LanguageModel, sentences: Sequence[Sentence]) -> float:
    """The mean of -log p(word | context) over all predictions of a text, in nats.

    Each word of each sentence is a prediction, and so is the ``</s>`` after it: N = words + sentences. ``<s>`` is only
    context: it is never predicted and not counted.

    Args:
        model: anything with ``order`` and ``prob(word, context)``. A context is a tuple of order - 1 words, filled up
            with ``<s>`` at the start of a sentence; no context reaches back into the sentence before.
        sentences: a list of sentences (at least one), each a list or tuple of words without ``<s>`` and ``</s>``.
            It is not changed.

    Returns:
        A float, 0.0 or above, with the natural logarithm; inf, without an error, as soon as one prediction has
        probability 0. (A warning of numpy's does no harm.)

    A text of two sentences of one word each, whose four predictions have the probabilities 1/2, 1/4, 1/2 and 1/4:
    (log 2 + log 4 + log 2 + log 4) / 4 = 1.0397.

    Common trap: the mean is over all predictions of the text, not the mean of the sentences' means.
    """
    raise NotImplementedError("perplexity: cross_entropy")


def perplexity(model: LanguageModel, sentences: Sequence[Sentence]) -> float:
    """The exponential of the cross-entropy: among how many words the model wavers, on average.

    Args:
        model, sentences: as in ``cross_entropy``.

    Returns:
        A float, 1.0 or above; inf as soon as one prediction has probability 0.

    A model that gives each of V words 1/V has perplexity V on any text of these words. In the example of
    ``cross_entropy``: exp(1.0397) = (2 * 4 * 2 * 4)^(1/4) = 2.8284.

    Common trap: multiplying the probabilities first ends at 0 after some hundred words. Add logarithms.
    """
    raise NotImplementedError("perplexity: perplexity")


def bits(nats: float) -> float:
    """The same amount of information in bits (logarithm to base 2) instead of nats (natural logarithm).

    Args:
        nats: any float; inf stays inf.

    Returns:
        A float: log 2 = 0.6931 nats are 1 bit, 1 nat is 1.4427 bits.

    Common trap: a bit is less than a nat, so the number grows.
    """
    raise NotImplementedError("perplexity: bits")


def agreement_accuracy(score: Callable[[tuple[str, ...], str], float], pairs: Sequence[AgreementPair]) -> float:
    """The share of prefixes after which a model prefers the right form of the verb to the wrong one.

    Args:
        score: ``score(prefix, word) -> float``, the higher the likelier: a probability, a log-probability (-inf is
            possible) or a logit, of a model of any kind. Only comparisons within one pair mean anything.
        pairs: a list of (prefix, right, wrong), at least one: a tuple of the words before the verb, the verb in the
            right number and the verb in the wrong number.

    Returns:
        A float in [0, 1]: the number of pairs with score(prefix, right) > score(prefix, wrong) over the number of
        pairs. Equal scores are a failure: a model that knows nothing earns nothing.

    If the right form scores 0.3, 0.2 and 0.2 and the wrong one 0.1, 0.2 and 0.4, it is 1/3.

    Common trap: a right form that is likelier than 0.5, or likeliest of all words, is not what is asked for.
    """
    raise NotImplementedError("agreement: agreement_accuracy")
