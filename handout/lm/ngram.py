# Handout version 2026.11
"""N-gram language models: counting, smoothing, mixing, sampling.

An n-gram model predicts a word from the n - 1 words before it, its *context*. Before each sentence stand n - 1 times
``<s>``, so that its first word has a full context too, and after it stands one ``</s>``, so that a model learns when
to stop. ``<s>`` is only ever context, never predicted. Every number here is a plain float, every logarithm natural.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from .types import Context, Counts, LanguageModel, NgramModel, Sentence, cut
from .vocab import BOS, EOS, PAD, UNK, Vocab


def ngrams(sentence: Sentence, n: int) -> list[tuple[str, ...]]:
    """All n-grams of one sentence, from left to right: one for each word and one for ``</s>``.

    The sentence is read with n - 1 times ``<s>`` before it and one ``</s>`` after it.

    Args:
        sentence: a list or tuple of words, without ``<s>`` and ``</s>``; may be empty. It is not changed.
        n: the length of the n-grams, 1 or more.

    Returns:
        len(sentence) + 1 tuples of n words each (a list; another iterable of tuples is right too).

    >>> list(ngrams(["the", "cow"], 3))
    [('<s>', '<s>', 'the'), ('<s>', 'the', 'cow'), ('the', 'cow', '</s>')]
    >>> list(ngrams(["the", "cow"], 1))
    [('the',), ('cow',), ('</s>',)]

    Common trap: there are n - 1 times ``<s>``, not always one, and none for n = 1; but there is always one ``</s>``.
    """
    raise NotImplementedError("count_ngrams: ngrams")


def count(sentences: Sequence[Sentence], n: int) -> Counts:
    """How often each word follows each context of n - 1 words.

    Args:
        sentences: a list of sentences, each a list or tuple of words. It is not changed.
        n: 1 or more.

    Returns:
        ``{context: {word: how often}}``: a context is a tuple of n - 1 words, ``()`` for n = 1. Only what occurs
        has an entry. A dict, Counter or defaultdict, as you like.

    >>> count([["the", "cow"], ["the", "bat"]], 2)[("the",)] == {"cow": 1, "bat": 1}
    True
    >>> count([["the", "cow"], ["the", "bat"]], 1) == {(): {"the": 2, "cow": 1, "bat": 1, "</s>": 2}}
    True

    Common trap: an n-gram never reaches from one sentence into the next.
    """
    raise NotImplementedError("count_ngrams: count")


class MLE:
    """The n-gram model of maximum likelihood: relative frequencies, nothing smoothed.

    Args:
        counts: what ``count(sentences, n)`` returns; it may be plain dicts. It is kept, not copied: never write to it.

    Attributes:
        counts: ``{context: {word: how often}}``.
        totals: ``{context: how often}``, the sum of each row of ``counts``.
        order: n.
        vocabulary: the words that it can predict, in the order of their ids (see ``vocab.py``).
    """

    def __init__(self, counts: Counts) -> None:
        words = {word for followers in counts.values() for word in followers}
        self.counts = counts
        self.totals = {context: sum(followers.values()) for context, followers in counts.items()}
        self.order = len(next(iter(counts))) + 1
        self.vocabulary = Vocab(words, unk=UNK in words).predictable

    def seen(self, context: Context) -> bool:
        """Whether the context, cut to its last n - 1 words, occurs in the training text. Given."""
        return cut(context, self.order) in self.counts

    def prob(self, word: str, context: Context) -> float:
        """p(word | context) = count(context, word) / count(context).

        Args:
            word: any word; one that never followed this context has probability 0.0, so ``<s>`` always has.
            context: a tuple of words, oldest first. Only its last n - 1 words matter (``cut``).

        Returns:
            A float in [0, 1]; 0.0 for every word when the context was never seen.

        >>> model = MLE(count([["the", "cow"], ["the", "cow"], ["the", "bat"]], 2))
        >>> model.prob("cow", ("<s>", "the"))
        0.6666666666666666
        >>> model.prob("cow", ("fish",))
        0.0

        Common trap: asking must not change the model. With a defaultdict, ``counts[context]`` adds the context.
        """
        raise NotImplementedError("mle: MLE.prob")


def sentence_logprob(model: LanguageModel, sentence: Sentence) -> float:
    """The natural logarithm of a sentence's probability, by the chain rule.

    log p(w_1 .. w_T) = sum of log p(w_t | the words before it), for t = 1 .. T + 1, where w_(T+1) is ``</s>``.

    Args:
        model: anything with ``order`` and ``prob(word, context)``.
        sentence: a list or tuple of words, without ``<s>`` and ``</s>``; may be empty. It is not changed.

    Returns:
        A float, 0.0 or below; -inf, without an error, when one of the words has probability 0. (A warning of numpy's
        does no harm.)

    A sentence of two words whose three predictions have the probabilities 1, 2/3 and 1/2 has log(1/3) = -1.0986.

    Common trap: a context is a tuple of order - 1 words, filled up with ``<s>`` at the start of the sentence.
    """
    raise NotImplementedError("sentence_logprob: sentence_logprob")


class AddK:
    """The n-gram model that adds k to every count before it divides.

    Args:
        counts: what ``count(sentences, n)`` returns; it may be plain dicts. It is kept, not copied: never write to it.
        k: what is added, above 0; not always 1, and not always whole.
        vocabulary: the words that can be predicted: with ``</s>``, with ``<unk>`` if there is one, without ``<s>``
            and ``<pad>``. Every word that ``counts`` counts is among them. Their number is V.

    Attributes:
        counts, totals, order: as in ``MLE``.
        k, vocabulary: as given.
        known: the vocabulary as a set.
    """

    def __init__(self, counts: Counts, k: float, vocabulary: Sequence[str]) -> None:
        self.counts = counts
        self.totals = {context: sum(followers.values()) for context, followers in counts.items()}
        self.order = len(next(iter(counts))) + 1
        self.k = k
        self.vocabulary = tuple(vocabulary)
        self.known = frozenset(vocabulary)

    def seen(self, context: Context) -> bool:
        """True: every context has a distribution of its own here. Given."""
        return True

    def replace_unknown(self, word: str) -> str:
        """The word itself; ``<unk>`` for an unknown one, if the vocabulary has ``<unk>``. ``<s>`` stays. Given."""
        unknown = word not in self.known and word not in (BOS, PAD)
        return UNK if unknown and UNK in self.known else word

    def prob(self, word: str, context: Context) -> float:
        """p(word | context) = (count(context, word) + k) / (count(context) + k V).

        Where the vocabulary has ``<unk>``, it stands for each unknown word first: in place of ``word`` and in the
        context (``replace_unknown``).

        Args:
            word: any word. One that is not in the vocabulary even so has probability 0.0: ``<s>`` always, and every
                unknown word when there is no ``<unk>``. Smoothing helps no word that the vocabulary lacks.
            context: a tuple of words, oldest first. Only its last n - 1 words matter (``cut``).

        Returns:
            A float in [0, 1]; 1/V for every word of the vocabulary when the context was never seen. Over the
            vocabulary the probabilities sum to 1, whatever the context.

        >>> words = ["</s>", "bat", "cow", "the"]
        >>> model = AddK(count([["the", "cow"], ["the", "cow"], ["the", "bat"]], 2), 0.5, words)
        >>> model.prob("cow", ("the",))  # (2 + 0.5) / (3 + 0.5 * 4)
        0.5
        >>> model.prob("the", ("fish",))
        0.25
        >>> model.prob("fish", ("the",))
        0.0

        Common trap: V is the size of the vocabulary, not the number of words that were seen after this context.
        """
        raise NotImplementedError("add_k: AddK.prob")


class Interpolated:
    """A mixture of n-gram models of the orders 1 to N.

    Args:
        models: the models of the orders 1, 2, .., N, lowest first (plain ``MLE`` models, as a rule).
        lambdas: ``{2: .., 3: .., N: ..}``, for each order from 2 on the weight of the model of that order; what is
            left, 1 - lambda, goes to the mixture of all lower orders.

    Attributes:
        models, lambdas: as given.
        order: N.
        vocabulary: that of the model of order 1.
    """

    def __init__(self, models: Sequence[NgramModel], lambdas: Mapping[int, float]) -> None:
        self.models = models
        self.lambdas = lambdas
        self.order = models[-1].order
        self.vocabulary = models[0].vocabulary

    def seen(self, context: Context) -> bool:
        """True: every context has a distribution here. Given."""
        return True

    def prob(self, word: str, context: Context) -> float:
        """p_n(word | context) = lambda_n q_n(word | context) + (1 - lambda_n) p_(n-1)(word | context), p_1 = q_1.

        q_n is the model of order n. Where it has not seen the context (``models[n - 1].seen(context)`` is False),
        p_n = p_(n-1) in full: its weight is not lost.

        Args:
            word: any word.
            context: a tuple of words, oldest first. The models cut it themselves, each to its own length.

        Returns:
            p_N(word | context), a float in [0, 1].

        With q_1 = 0.5, q_2 = 0.25, q_3 = 1 and the lambdas {2: 0.8, 3: 0.5}: p_2 = 0.8 * 0.25 + 0.2 * 0.5 = 0.3 and
        p_3 = 0.5 * 1 + 0.5 * 0.3 = 0.65. Where the model of order 3 has not seen the context, it is 0.3.

        Common trap: q_n = 0 does not mean unseen. Where the context is seen and the word is not, lambda_n * 0 counts.
        """
        raise NotImplementedError("interpolation: Interpolated.prob")


GRID = (*(i / 20 for i in range(1, 20)), 0.98, 0.99)
"""The weights that ``tune_grid`` tries: .05, .10, .., .95, then .98 and .99, in this order. Given."""


def tune_grid(models: Sequence[NgramModel], held_out: Sequence[Sentence]) -> dict[int, float]:
    """The lambdas of ``Interpolated`` that suit a held-out text best, found for one order after the other.

    First lambda_2, for the mixture of the orders 1 and 2 alone. Then lambda_3, for the mixture of the orders 1 to 3
    with the lambda_2 just found, and so on: a lambda, once found, stays. Each is the one of ``GRID`` that gives the
    held-out text the highest log-probability (so the lowest perplexity), ``</s>`` of each sentence counted.

    Args:
        models: the models of the orders 1, 2, .., N, lowest first, each with ``order``, ``prob`` and ``seen``.
        held_out: a list of sentences, each a list or tuple of words; never the training text, never the test text.

    Returns:
        ``{2: .., 3: .., N: ..}``, values of ``GRID``. Of equally good ones (equal as floats) the smallest; so .05 too
        where nothing helps: all contexts unseen, or a probability of 0 (log-probability -inf) whatever the lambda.

    If 7 of 20 events have q_2 = 1 and p_1 = 0, and the other 13 have q_2 = 0 and p_1 = 1, then lambda_2 = 7/20. With
    one more event that has q_2 = p_1 = 0, every lambda gives -inf, and lambda_2 = .05.

    Common trap: on the training text the highest order always wins. That says nothing about new text.
    """
    raise NotImplementedError("tune_lambdas: tune_grid")


def draw(probs: Sequence[float], u: float) -> int:
    """Throw a loaded die: an index, drawn with the given probabilities by inverting their cumulative sums.

    Args:
        probs: the probability of each index, a list or array, at least one of them positive.
        u: a number in [0, 1), drawn evenly by the caller. It alone decides: ``draw`` has no randomness of its own.

    Returns:
        The first index i with probs[0] + .. + probs[i] > u. If there is none (rounding can leave the sum of all
        below 1), the last index with a positive probability. An int (a whole number of numpy's is taken too).

    >>> [draw([0.25, 0.5, 0.25], u) for u in (0.0, 0.25, 0.7, 0.75)]
    [0, 1, 1, 2]
    >>> draw([0.5, 0.25, 0.0], 0.9)
    1

    Common trap: ">", not ">=". With u = 0 an index of probability 0 must not come out.
    """
    raise NotImplementedError("sampling: draw")


def generate(model: NgramModel, uniforms: Sequence[float], max_len: int) -> list[str]:
    """Draw a sentence word by word, each from p(. | the words so far), until ``</s>``.

    The die for each word has the sides of ``model.vocabulary`` in its order, and is thrown as in ``draw``. The context
    of the first word is order - 1 times ``<s>``.

    Args:
        model: anything with ``order``, ``prob(word, context)`` and ``vocabulary``.
        uniforms: a list or array of numbers in [0, 1), at least max_len of them: uniforms[t] decides word t.
        max_len: the largest number of words, ``</s>`` not counted.

    Returns:
        The list of words, without ``<s>`` and ``</s>``. It ends before ``</s>``, or after max_len words, or where no
        word has a positive probability (an unsmoothed model in a context that it never saw): then it is what was
        drawn so far.

    A model that gives only "the" at the start, and after "the" both "bat" and "cow" with 0.5, draws ["the", "cow"]
    from the uniforms [0.9, 0.5], if max_len is 2.

    Common trap: the drawn word belongs to the next context.
    """
    raise NotImplementedError("sampling: generate")
