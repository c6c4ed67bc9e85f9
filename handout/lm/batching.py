"""From sentences to arrays of ids: padded batches, and streams for truncated BPTT. Given: nothing to fill in here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .types import Sentence
from .vocab import BOS, EOS, PAD, Vocab


class Batch(NamedTuple):
    """B sentences, padded on the right to the longest one.

    Attributes:
        inputs: (B, T), ids of ``<s>`` and the words.
        targets: (B, T), ids of the words and ``</s>``.
        mask: (B, T), bool: True where there is a prediction, False for padding.
    """

    inputs: np.ndarray
    targets: np.ndarray
    mask: np.ndarray


def pad(sentences: Sequence[Sentence], vocab: Vocab) -> Batch:
    """One batch of all these sentences, in their order."""
    lengths = np.array([len(sentence) + 1 for sentence in sentences])
    mask = np.arange(lengths.max()) < lengths[:, None]
    inputs, targets = np.full(mask.shape, vocab.ids[PAD]), np.full(mask.shape, vocab.ids[PAD])
    for row, sentence in enumerate(sentences):
        ids = vocab.encode(sentence)
        inputs[row, : len(ids) + 1] = [vocab.ids[BOS], *ids]
        targets[row, : len(ids) + 1] = [*ids, vocab.ids[EOS]]
    return Batch(inputs, targets, mask)


def batches(sentences: Sequence[Sentence], vocab: Vocab, size: int, rng: np.random.Generator) -> Iterator[Batch]:
    """All sentences once, in a new random order, ``size`` at a time; the last batch may be smaller."""
    order = rng.permutation(len(sentences))
    for start in range(0, len(order), size):
        yield pad([sentences[i] for i in order[start : start + size]], vocab)


def batchify(ids: np.ndarray, size: int) -> Batch:
    """A long text as ``size`` streams, each a contiguous piece of it, for ``tbptt``.

    What truncated BPTT carries from chunk to chunk is the state after the words before: so row b must go on where row
    b stopped, in every chunk. A text cut into chunks first, and the chunks dealt out to rows, would not do.

    Args:
        ids: (N,), the text.
        size: how many streams; N - 1 is at least that. What does not fill all streams is left out.

    Returns:
        A batch of (size, (N - 1) // size), every prediction of which counts: each input's target is the next id.
    """
    length = (len(ids) - 1) // size
    inputs = ids[: size * length].reshape(size, length)
    targets = ids[1 : size * length + 1].reshape(size, length)
    return Batch(inputs, targets, np.ones(inputs.shape, dtype=bool))
