"""The types that the files of ``lm`` share. Given: there is nothing to fill in here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

#: The words of a sentence in order, without ``<s>`` and ``</s>``.
Sentence = Sequence[str]

#: The words before a prediction, oldest first; at the start of a sentence padded with ``<s>``.
Context = tuple[str, ...]

#: How often each word followed each context: ``counts[("cows", "eat")]["corn"]``. Zeros are not stored.
Counts = dict[Context, dict[str, int]]

#: (prefix, right, wrong): the words before the verb, then the verb in the right and in the wrong number.
AgreementPair = tuple[tuple[str, ...], str, str]


def cut(context: Sequence[str], order: int) -> Context:
    """The last order - 1 words of a context, as a tuple: all that a model of this order looks at.

    ``context[-(order - 1):]`` would not do: for order 1 it is the whole context, not an empty one.
    """
    return tuple(context[max(len(context) - order + 1, 0) :])


class LanguageModel(Protocol):
    """Anything with ``order`` and ``prob``: n-gram tables, mixtures of them, the doubles of ``testing.py``."""

    @property
    def order(self) -> int:
        """n: a prediction looks at the n - 1 words before it."""
        ...

    def prob(self, word: str, context: Context) -> float:
        """p(word | context), in [0, 1]. A longer context is cut to its last n - 1 words."""
        ...


class NgramModel(LanguageModel, Protocol):
    """A language model that can list what it predicts, and that knows which contexts it has met."""

    @property
    def vocabulary(self) -> Sequence[str]:
        """The words that it can predict, in the order of their ids: with ``</s>``, without ``<s>`` and ``<pad>``."""
        ...

    def seen(self, context: Context) -> bool:
        """Whether this context, cut to its last n - 1 words, has a distribution of its own."""
        ...


@dataclass(frozen=True)
class NetValues:
    """Everything that the forward pass of the net in ``procedural.py`` computes, in this order.

    Attributes:
        a: (H,), the input of the hidden layer.
        z: (H,), its output.
        b: (K,), the logits.
        y_hat: (K,), the predicted distribution.
        J: the loss, a float.
    """

    a: np.ndarray
    z: np.ndarray
    b: np.ndarray
    y_hat: np.ndarray
    J: float


@dataclass
class RNNParams:
    """The parameters of the RNN language model: V words, embeddings of d numbers, a state of H numbers.

    Attributes:
        E: (V, d), a row for each word.
        W_xh: (H, d), from the embedding to the state.
        b_h: (H,).
        W_hh: (H, H), from one state to the next.
        W_hy: (V, H), from the state to the logits.
        b_y: (V,).

    Arrays of float64, as a rule; in ``tape.py`` leaves of a tape.
    """

    E: Any
    W_xh: Any
    b_h: Any
    W_hh: Any
    W_hy: Any
    b_y: Any


@dataclass
class RNNCache:
    """What the forward pass keeps for the backward pass: B sequences of T words.

    Attributes:
        inputs: (B, T), the ids of the words that were read.
        x: (B, T, d), their embeddings.
        h: (B, T + 1, H), the states: ``h[:, 0]`` is h0, ``h[:, t + 1]`` the state after word t.
    """

    inputs: np.ndarray
    x: np.ndarray
    h: np.ndarray


@dataclass
class StepGradients:
    """The gradients of the loss by everything that goes into one step.

    Attributes:
        x: (B, d), by the input of the step.
        h_prev: (B, H), by the state before it.
        W_xh, b_h, W_hh: by these parameters, of their shapes: the share of this one step.
    """

    x: np.ndarray
    h_prev: np.ndarray
    W_xh: np.ndarray
    b_h: np.ndarray
    W_hh: np.ndarray


@dataclass
class RNNGradients:
    """The gradients of the loss by all parameters, each of its parameter's shape, and by the first state.

    Attributes:
        E, W_xh, b_h, W_hh, W_hy, b_y: as in ``RNNParams``.
        h0: (B, H).
    """

    E: np.ndarray
    W_xh: np.ndarray
    b_h: np.ndarray
    W_hh: np.ndarray
    W_hy: np.ndarray
    b_y: np.ndarray
    h0: np.ndarray
