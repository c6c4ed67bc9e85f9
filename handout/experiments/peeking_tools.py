"""Exercise 8 of lecture B: a bidirectional RNN reads the word that it has to predict. A step of experiment 5. Given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from lm.adam import Adam
from lm.batching import Batch, batches, pad
from lm.truth import token_log_probabilities
from lm.types import RNNParams, Sentence
from lm.weights import NAMES, init_params

from .rnn_tools import VOCAB, corpus, quality, rnn_losses, stepper, trained, write
from .run import Run

BATCH, LEARNING_RATE, MAX_NORM = 32, 3e-3, 1.0
Pair = tuple[RNNParams, RNNParams]


def both_ways(batch: Batch, pair: Pair) -> tuple[np.ndarray, Any, Any]:
    """The sum of the logits of two RNNs, one of which reads from the right, and their caches.

    So position t has seen all inputs, also the one at t + 1, which is its target.
    """
    from lm.rnn import rnn_forward

    left, left_cache = rnn_forward(batch.inputs, pair[0])
    right, right_cache = rnn_forward(batch.inputs[:, ::-1], pair[1])
    return left + right[:, ::-1], left_cache, right_cache


def train_both(pair: Pair, sentences: Sequence[Sentence], rng: np.random.Generator) -> list[float]:
    """One epoch; the loss of each batch. The gradient of a sum is the gradient of both its parts."""
    from lm.optim import clip_by_global_norm
    from lm.rnn import masked_cross_entropy, rnn_backward

    optimiser = Adam([getattr(params, name) for params in pair for name in NAMES], LEARNING_RATE)
    losses = []
    for batch in batches(sentences, VOCAB, BATCH, rng):
        logits, left, right = both_ways(batch, pair)
        loss, dlogits = masked_cross_entropy(logits, batch.targets, batch.mask)
        found = (rnn_backward(dlogits, left, pair[0]), rnn_backward(dlogits[:, ::-1], right, pair[1]))
        steps = [getattr(gradients, name) for gradients in found for name in NAMES]
        clip_by_global_norm(steps, MAX_NORM)
        optimiser.step(steps)
        losses.append(loss)
    return losses


def no_future(pair: Pair) -> tuple[Any, np.ndarray]:
    """As ``stepper``, for somebody who writes: the RNN from the right begins at the last word that there is."""
    step, start = stepper(pair[0])
    from_right, end = stepper(pair[1])

    def both(word: int, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, h = step(word, h)
        return logits + from_right(word, end)[0], h

    return both, start


def losses_without_future(pair: Pair, sentences: Sequence[Sentence]) -> float:
    """The mean loss where position t is given its inputs up to t only, which is all that a writer has."""
    from lm.rnn import masked_cross_entropy, rnn_forward

    batch = pad(sentences, VOCAB)
    alone = rnn_forward(batch.inputs.reshape(-1, 1), pair[1])[0].reshape(*batch.inputs.shape, -1)
    return masked_cross_entropy(rnn_forward(batch.inputs, pair[0])[0] + alone, batch.targets, batch.mask)[0]


def peeking(run: Run) -> None:
    """Exercise 8: train a bidirectional RNN to predict the next word, then let it write."""
    from lm.rnn import masked_cross_entropy

    params, _ = trained(run)
    data, rng = corpus(run), run.rng("bidirectional")
    pair = (init_params(rng), init_params(rng))
    curve = train_both(pair, data.train[:6_400] if run.quick else data.train, rng)
    test = data.test[:500]
    batch = pad(test, VOCAB)
    peeks, _ = masked_cross_entropy(both_ways(batch, pair)[0], batch.targets, batch.mask)
    alone = losses_without_future(pair, test)
    truth = -np.concatenate([token_log_probabilities(text) for text in test]).mean()
    n, known = 200, frozenset(data.train)
    bidirectional = quality(write(*no_future(pair), run.rng("bidirectional writes"), n), known)
    forwards = quality(write(*stepper(params), run.rng("forwards writes"), n), known)
    run.table(
        "peeking",
        ["model", "test perplexity", "without the future", f"grammatical of {n} samples"],
        [
            ["bidirectional", math.exp(peeks), math.exp(alone), bidirectional.grammatical],
            ["forwards", *[math.exp(np.concatenate(rnn_losses(params, test)).mean())] * 2, forwards.grammatical],
            ["truth", *[math.exp(truth)] * 2, 1.0],
        ],
    )
    run.look(
        f"The bidirectional RNN's loss falls to {curve[-1]:.3f} in one epoch, its perplexity to about 1, far below "
        "the truth: that is no prediction, it reads the answer. Where there is no next word yet it is worse than a "
        "trigram.",
        f"双向 RNN 的损失在一轮内降到 {curve[-1]:.3f}，困惑度接近 1，远低于真实分布：这不是预测，是偷看答案。"
        "下一个词还不存在的时候，它比 trigram 还差。",
    )
    run.figure("exercise 8: perplexity of the RNN that peeks", math.exp(peeks), 1, 1.05, "loss near 0")
    run.figure("exercise 8: its perplexity without the future / the truth's", math.exp(alone - truth), 1.15, 20)
