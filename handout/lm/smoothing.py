# Handout version 2026.11
"""Better smoothing than add-k: back off, adjust the counts, count contexts, and weights by EM. All of it is bonus.

Brants et al. 2007 (stupid backoff), Good 1953 (adjusted counts), Kneser and Ney 1995 in the interpolated form of Chen
and Goodman 1998, Dempster, Laird and Rubin 1977 (EM). Counts are what ``count(sentences, n)`` of ``ngram.py`` returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .types import Context, Counts, NgramModel, Sentence, cut
from .vocab import BOS, EOS, PAD, UNK, Vocab


class Tables:
    """Counts of the orders 1 to n of one text: what the two models below look up. Given.

    Args:
        tables: counts of the orders 1, 2, .., n, lowest first; plain dicts will do. Never write to them.

    Attributes:
        tables: as given. ``tables[0]`` has the one context ``()``.
        totals: for each order ``{context: how often}``, the sum of each row.
        order: n.
        vocabulary: the words that order 1 has counted, in the order of their ids (see ``vocab.py``).
        known: the vocabulary as a set.
    """

    def __init__(self, tables: Sequence[Counts]) -> None:
        self.tables = tables
        self.totals = [{context: sum(row.values()) for context, row in table.items()} for table in tables]
        self.order = len(tables)
        words = tables[0][()]
        self.vocabulary = Vocab(words, unk=UNK in words).predictable
        self.known = frozenset(self.vocabulary)

    def seen(self, context: Context) -> bool:
        """True: every context has an answer of its own here."""
        return True

    def replace_unknown(self, word: str) -> str:
        """The word itself; ``<unk>`` for one that was never counted, if ``<unk>`` was. ``<s>`` stays."""
        unknown = word not in self.known and word not in (BOS, PAD)
        return UNK if unknown and UNK in self.known else word


class StupidBackoff(Tables):
    """Relative frequencies of the longest context that the word has followed, made smaller for each word dropped.

    The scores are no distribution: they do not sum to 1, so their perplexity means nothing. For ranking words they
    serve as well as better models, if the text is large enough (Brants et al. 2007).

    Args:
        tables: counts of the orders 1 to n of one text, lowest first (see ``Tables``).
        weight: the factor for each word that is dropped from the context.
    """

    def __init__(self, tables: Sequence[Counts], weight: float = 0.4) -> None:
        super().__init__(tables)
        self.weight = weight

    def prob(self, word: str, context: Context) -> float:
        """S(word | context) = count(context, word) / count(context), or where that is 0, weight * S(word | shorter).

        The shorter context lacks the oldest word. With no word left it is S(word) = count(word) / count of all.
        Where ``<unk>`` was counted, it stands for each unknown word first, in place of ``word`` and in the context
        (``replace_unknown``).

        Args:
            word: any word. One that was never counted has the score 0.0, so ``<s>`` always has.
            context: a tuple of n - 1 words or more, oldest first. Only its last n - 1 words matter (``cut``).

        Returns:
            A float in [0, 1].

        >>> model = StupidBackoff([{(): {"cow": 3, "bat": 1}}, {("the",): {"cow": 2}, ("a",): {"cow": 1, "bat": 1}}])
        >>> model.prob("cow", ("the",))
        1.0
        >>> model.prob("bat", ("the",))  # 0.4 * 1/4
        0.1

        Common trap: a context that was never seen costs the factor too, once for each word that is dropped.
        """
        raise NotImplementedError("stupid_backoff: StupidBackoff.prob")


def good_turing(counts_of_counts: Mapping[int, int]) -> dict[int, float]:
    """What a count is worth on new text: r* = (r + 1) N_(r+1) / N_r (Good 1953).

    Args:
        counts_of_counts: ``{r: N_r}``: N_r n-grams occurred exactly r times. r = 0 is among them where one knows how
            many never occurred. What is missing is 0, and a 0 may be written down too. It is not changed.

    Returns:
        ``{r: r*}``, a float for each r with N_r > 0. Where N_(r+1) = 0, at a gap and at the largest r, the formula
        would say that those n-grams never come again; there r* = r, the count as it is.

    >>> good_turing({1: 10, 2: 4, 4: 1})
    {1: 0.8, 2: 2.0, 4: 4.0}

    Common trap: the gap is looked for at r + 1, the division is by N_r.
    """
    raise NotImplementedError("good_turing: good_turing")


def continuation_counts(counts: Counts) -> Counts:
    """In how many ways the n-grams of the next lower order are continued to the left: types, not tokens.

    Args:
        counts: of order n >= 2, ``{context: {word: how often}}``. It is not changed.

    Returns:
        Counts of order n - 1: for each context, which has lost its oldest word, and each word the number of
        different words v with which ``counts`` has ``(v, *context)`` followed by the word. Only what occurs has an
        entry.

    >>> continuation_counts({("san",): {"francisco": 9}, ("the",): {"bay": 2}, ("a",): {"bay": 1}})
    {(): {'francisco': 1, 'bay': 2}}

    Common trap: how often an n-gram occurred plays no part. Nine times after one word is still one.
    """
    raise NotImplementedError("kneser_ney: continuation_counts")


class KneserNey(Tables):
    """Interpolated Kneser-Ney: each count gives up a discount, and what is saved goes to the next lower order.

    Only the highest order looks at how often an n-gram occurred. The lower ones ask in how many different contexts:
    their counts are those of ``continuation_counts``, made of the order above.

    Args:
        counts: of the highest order n, what ``count(sentences, n)`` returns.
        discount: D, above 0 and below 1.
    """

    def __init__(self, counts: Counts, discount: float = 0.75) -> None:
        tables = [counts]
        for _ in next(iter(counts)):  # once for each word of a context
            tables.insert(0, continuation_counts(tables[0]))
        super().__init__(tables)
        self.discount = discount

    def prob(self, word: str, context: Context) -> float:
        """p_n(word | context) = (max(c - D, 0) + D * types * p_(n-1)(word | context)) / total.

        c is the count of the word in the context's row of the table of order n, total the sum of that row and types
        the number of words in it. Where the table has no such row, p_n = p_(n-1) in full.
        At the bottom nothing is discounted: p_1(word) = c / total in the table of order 1. So a word that was never
        counted has probability 0.0, and the probabilities of ``vocabulary`` sum to 1, whatever the context. (This is
        nltk's definition; others mix p_1 with 1/V.) For unknown words, have ``<unk>`` in the training text: where it
        was counted, it stands for each of them, in place of ``word`` and in the context (``replace_unknown``).

        Args:
            word: any word; ``<s>`` always has probability 0.0.
            context: a tuple of words, oldest first. Only its last n - 1 words matter (``cut``).

        Returns:
            p_N(word | context), a float in [0, 1]. N is the order of the model, and N = 1 is the bottom at once.

        >>> model = KneserNey({("the",): {"cow": 3, "bat": 1}, ("a",): {"cow": 1}}, 0.5)
        >>> model.prob("bat", ("the",))  # (1 - 0.5 + 0.5 * 2 * 1/3) / 4
        0.20833333333333331

        Common trap: what is given away has to be what was taken, a discount for each different word of the row.
        """
        raise NotImplementedError("kneser_ney: KneserNey.prob")


START, TOLERANCE, STEPS = 0.5, 1e-6, 100
"""Where ``tune_em`` starts, below which change it stops, and the most steps that it takes. Given."""


def events(sentences: Sequence[Sentence], order: int) -> list[tuple[str, Context]]:
    """What a model of this order is asked about a text: (word, context) for each word and each ``</s>``. Given."""
    found: list[tuple[str, Context]] = []
    for sentence in sentences:
        past = [BOS] * (order - 1)
        for word in (*sentence, EOS):
            found.append((word, tuple(past)))
            past = [*past, word][1:]
    return found


def tune_em(models: Sequence[NgramModel], held_out: Sequence[Sentence]) -> dict[int, float]:
    """The lambdas of ``ngram.Interpolated`` by EM, for one order after the other; what is found stays.

    For each order n from 2 on, with q for the model of order n, p for the mixture of the orders below with the lambdas
    already found, and lambda = 0.5 (``START``) to begin with:

        E: posterior of an event = lambda q / (lambda q + (1 - lambda) p)
        M: lambda = the mean of the posteriors

    The mean is over the held-out events whose context the model of order n has seen (``seen``). An event to which both
    give probability 0 has no posterior and is left out; if nothing is left, lambda stays 0.5. It ends after the step
    that changes lambda by less than 1e-6 (``TOLERANCE``), or after 100 steps (``STEPS``). No step makes the held-out
    text less probable.

    Args:
        models: the models of the orders 1, 2, .., N, lowest first, each with ``order``, ``prob`` and ``seen``.
        held_out: a list of sentences, never of the training text. It is not changed. ``events(held_out, N)`` are the
            words with their contexts.

    Returns:
        ``{2: .., 3: .., N: ..}``, floats in [0, 1].

    If 7 of 20 events have q = 1 and p = 0, and the other 13 have q = 0 and p = 1, then lambda_2 = 7/20.

    Common trap: q = 0 where the context was seen counts, with posterior 0. An unseen context does not count at all.
    """
    raise NotImplementedError("tune_em: tune_em")
