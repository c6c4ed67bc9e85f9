# Handout version 2026.11
"""Beam search: the k most likely beginnings of a sentence, all extended by one word, the k best of these, and so on.

As in Sutskever, Vinyals and Le (2014), with the length in the score in the simplest form of what Wu et al. (2016) do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .vocab import BOS, EOS, PAD, Vocab

PAD_ID, BOS_ID, EOS_ID = Vocab(()).encode([PAD, BOS, EOS])

#: (ids, log p): the ids of the words without ``<s>`` and ``</s>``, and their log probability in nats.
Hypothesis = tuple[list[int], float]


def beam_search(
    step: Callable[[int, Any], tuple[np.ndarray, Any]],
    start: Any,
    k: int,
    max_len: int,
    alpha: float = 0.0,
) -> list[Hypothesis]:
    """Look for the sentences with the best scores, along k beginnings at a time.

    Args:
        step: ``step(word, state) -> (logits, state)`` as in ``generate``: logits (V,) of what follows after one more
            word; they may be large, and may hold -inf, but at least one logit other than those of ``<pad>`` and
            ``<s>`` is finite. The state that was passed is left as it is.
        start: the state before ``<s>``, the first word that is read.
        k: the width of the beam, at least 1.
        max_len: the largest number of words, ``</s>`` not counted; at least 1.
        alpha: 0 or more. The score of a sentence is log p / n^alpha, where n is the number of its predictions: its
            words, and ``</s>`` where it has one. With 0 the score is log p.

    Returns:
        ``[(ids, log p), ...]``: the at most k sentences with the best scores among those found, the best first; of
        equal ones first the one with the lower ids, as Python compares lists. log p is a float, in nats.

    As in ``generate``, ``<pad>`` and ``<s>`` are never written: their logits become -inf before the softmax. What has
    probability 0 is no candidate.

    One step: each living beginning, at first the empty one, is extended by every word and by ``</s>``. The k with the
    largest log p of all these together are taken (of equal ones those with the lower ids; ``</s>`` is id 2). Those
    with ``</s>`` are finished: they are put aside, whatever happens to the others, and are not extended. The rest live.

    The search is over when nothing lives, or after max_len steps: what then still lives has max_len words, and counts
    as a sentence without ``</s>``, its end not being in log p either. It is over earlier when k are finished and none
    that lives can get a better score than the worst of the best k finished: log p only falls, and n is at most max_len.

    After ``<s>`` let word 3 have probability 0.6 and word 4 0.4. After 3, ``</s>`` has 0.5, and 3 and 4 have 0.25
    each; after 4, ``</s>`` has 1. Greedy finds [3], which has 0.3. With k = 2 and max_len = 3 one gets
    ``[([4], log 0.4), ([3], log 0.3)]``.

    Common trap: k are kept in all, not k of each beginning; and each goes on in the state of the one it extends.
    """
    raise NotImplementedError("beam_search: beam_search")
