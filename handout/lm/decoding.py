# Handout version 2026.11
"""From logits to words: greedy, temperature, top-k, top-p, and a loop that puts them together.

No function changes its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .vocab import BOS, EOS, PAD, Vocab

SPECIAL = Vocab(())
PAD_ID, BOS_ID, EOS_ID = SPECIAL.encode([PAD, BOS, EOS])


def greedy(logits: np.ndarray) -> int:
    """The id of the largest logit.

    Args:
        logits: (V,); may hold -inf.

    Returns:
        An int; of equally large ones the lowest id.
    """
    raise NotImplementedError("decoding: greedy")


def temperature(logits: np.ndarray, tau: float) -> np.ndarray:
    """The distribution softmax(logits / tau): sharper for tau below 1, flatter above.

    Args:
        logits: (V,); may be large, and may hold -inf, but not only.
        tau: 0 or more. 0 is the limit: all the probability on the greedy choice.

    Returns:
        (V,), probabilities that sum to 1; 0 where the logit is -inf.

    For the logits [0, log 4] and tau = 2 it is [1/3, 2/3].

    Common trap: the logits are divided, before the softmax. Dividing probabilities changes nothing.
    """
    raise NotImplementedError("decoding: temperature")


def top_k(probs: np.ndarray, k: int) -> np.ndarray:
    """The k most probable words, renormalised; all others get 0.

    Args:
        probs: (V,), probabilities.
        k: 1 or more; more than V keeps all.

    Returns:
        (V,). Of equally probable ones the lower ids are kept, so exactly k are (some of them may have been 0 before).

    For [0.1, 0.4, 0.1, 0.4] and k = 3 it is [1/9, 4/9, 0, 4/9].

    Common trap: "all that are at least as probable as the k-th" can be more than k.
    """
    raise NotImplementedError("decoding: top_k")


def top_p(probs: np.ndarray, p: float) -> np.ndarray:
    """The nucleus: the fewest most probable words that together have at least probability p, renormalised.

    Args:
        probs: (V,), probabilities.
        p: above 0, at most 1.

    Returns:
        (V,), 0 outside the nucleus. Words are taken from the most probable on, of equally probable ones the lower id
        first, until their sum is p or more; so there is always at least one. With p = 1 all are kept, even if their
        sum is a rounding below 1.

    For [0.5, 0.41, 0.09] and p = 0.9 it is [0.5/0.91, 0.41/0.91, 0]; for p = 0.6 too.

    Common trap: the word with which the sum reaches p belongs to the nucleus.
    """
    raise NotImplementedError("decoding: top_p")


def generate(
    step: Callable[[int, Any], tuple[np.ndarray, Any]],
    start: Any,
    uniforms: Sequence[float],
    max_len: int,
    tau: float = 1.0,
    k: int | None = None,
    p: float | None = None,
) -> list[int]:
    """Let a model write: word after word, until ``</s>`` or ``max_len`` words.

    Args:
        step: ``step(word, state) -> (logits, state)``: what the model thinks after reading one more word.
        start: the state before ``<s>``, the first word that is read.
        uniforms: at least max_len numbers in [0, 1): ``uniforms[t]`` decides word t.
        max_len: the largest number of words, ``</s>`` not counted.
        tau, k, p: temperature, then top-k, then top-p, each on what the one before left. tau is always a number; where
            k or p is None, that step is left out.

    Returns:
        The ids of the words, without ``<s>`` and ``</s>``.

    ``<s>`` and ``<pad>`` are never written: their logits become -inf first. A word is drawn as in part 1 (write the
    drawing again here): ids in order, the first whose cumulative probability is above the uniform, else the last with a
    positive probability.

    Common trap: the word that was drawn is the next one to be read, and the state goes on too.
    """
    raise NotImplementedError("generation: generate")
