"""What experiment 6 measures: gradients by the states between a verb and its subject. Given."""

from __future__ import annotations

import numpy as np
from lm.corpus import agreement_set
from lm.types import RNNParams
from lm.vocab import BOS

from .rnn_tools import VOCAB, log_softmax

SUBJECT = 18  # steps from the last state before the verb back to the state after the subject: six nouns of three words
PAIRS = 200


def before_the_verb(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """200 prefixes of 21 words, ``<s>`` included, six nouns of the other number in each; and the right verbs."""
    pairs = agreement_set(6, "opposite", seed, PAIRS)
    inputs = np.array([VOCAB.encode((BOS, *prefix)) for prefix, _, _ in pairs])
    return inputs, np.array(VOCAB.encode([right for _, right, _ in pairs]))


def decay(params: RNNParams, inputs: np.ndarray, verbs: np.ndarray) -> np.ndarray:
    """For d = 0 to 20: the mean norm of the gradient by the state d steps before the last, over that by the last."""
    from lm.rnn import gradient_norms

    means = gradient_norms(inputs, verbs, params).mean(axis=0)
    return means / means[0]


def left(params: RNNParams, inputs: np.ndarray, verbs: np.ndarray) -> float:
    """``decay`` at the subject."""
    return float(decay(params, inputs, verbs)[SUBJECT])


def left_without_tanh(params: RNNParams, inputs: np.ndarray, verbs: np.ndarray) -> float:
    """The same for these weights without tanh: there each step back is a product with W_hh, nothing else."""
    h = np.zeros((len(inputs), len(params.b_h)))
    for column in inputs.T:
        h = params.E[column] @ params.W_xh.T + params.b_h + h @ params.W_hh.T
    wrong = -np.exp(log_softmax(h @ params.W_hy.T + params.b_y))
    wrong[np.arange(len(verbs)), verbs] += 1
    last = wrong @ params.W_hy
    first = last @ np.linalg.matrix_power(params.W_hh, SUBJECT)
    return float(np.linalg.norm(first, axis=1).mean() / np.linalg.norm(last, axis=1).mean())


def mean_slope(params: RNNParams, inputs: np.ndarray) -> float:
    """The mean of 1 - h^2, the derivative of tanh, over all sentences, steps and units."""
    from lm.rnn import rnn_forward

    return float((1 - rnn_forward(inputs, params)[1].h[:, 1:] ** 2).mean())
