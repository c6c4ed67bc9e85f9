"""Exposure bias: a model that has only read true words now reads its own. A step of experiment 6. Given."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from lm.batching import pad
from lm.truth import next_words, probability, token_log_probabilities
from lm.types import RNNParams, Sentence

from .rnn_tools import VOCAB, corpus, log_softmax, rnn_losses, stepper, trained, write
from .run import Run


def scored_after(params: RNNParams, read: Sequence[Sentence], told: Sequence[Sentence]) -> float:
    """The mean loss of the words of ``told`` where the model has read those of ``read``, as far as both go."""
    from lm.rnn import rnn_forward

    inputs, _, are_read = pad(read, VOCAB)
    _, targets, are_told = pad(told, VOCAB)
    T = min(are_read.shape[1], are_told.shape[1])
    log_p = log_softmax(rnn_forward(inputs[:, :T], params)[0])
    losses = -np.take_along_axis(log_p, targets[:, :T, None], axis=-1)[..., 0]
    return float(losses[are_read[:, :T] & are_told[:, :T]].mean())


def divergence(params: RNNParams, sentences: Sequence[Sentence]) -> float:
    """The mean over all predictions of KL(truth, model): nats a word that the model loses after these words."""
    from lm.rnn import rnn_forward

    batch = pad(sentences, VOCAB)
    log_p = log_softmax(rnn_forward(batch.inputs, params)[0])
    found = []
    for row, sentence in zip(log_p, sentences, strict=True):
        for distribution, logs in zip(next_words(sentence), row, strict=False):
            found.append(sum(p * (math.log(p) - logs[VOCAB.ids[word]]) for word, p in distribution.items()))
    return sum(found) / len(found)


def exposure_bias(run: Run) -> None:
    """Perplexity after true words, after words of the model's own, and what that does and does not show."""
    params, _ = trained(run)
    test = corpus(run).test[: 400 if run.quick else 2_000]
    own = write(*stepper(params), run.rng("rollout"), len(test))
    losses = {
        "the sentence itself": scored_after(params, test, test),
        "words that it wrote": scored_after(params, own, test),
        "another true sentence": scored_after(params, [*test[1:], test[0]], test),
    }
    run.table(
        "rollout",
        ["the model reads", "perplexity of the test sentences"],
        [[name, math.exp(loss)] for name, loss in losses.items()],
    )
    run.look(
        "Rolled out, it is beyond all measure: but after another true sentence, too. Two sentences are different "
        "sentences; this is no exposure bias yet.",
        "自己往下写时困惑度大得离谱；但读另一个真实句子时也一样。两个句子本来就不同，这还不是 exposure bias。",
    )
    inside = [text for text in own if probability(text) > 0]
    rows = {"true words": test, "words that it wrote": inside}
    gaps = {name: divergence(params, texts) for name, texts in rows.items()}
    run.table(
        "exposure",
        ["after", "perplexity", "of the truth", "KL, nats a word", "sentences outside the language"],
        [
            [
                name,
                math.exp(np.concatenate(rnn_losses(params, texts)).mean()),
                math.exp(-np.concatenate([token_log_probabilities(text) for text in texts]).mean()),
                gaps[name],
                0.0 if texts is test else 1 - len(inside) / len(own),
            ]
            for name, texts in rows.items()
        ],
    )
    run.look(
        "As long as its own words make a sentence of the language, it is as good after them as after true ones. What "
        "is left of the bias is in the last column: sentences that nobody says, and after the first such word nothing "
        "in the training text has taught it how to go on.",
        "只要自己写的仍是这个语言的句子，它读自己的词和读真实的词一样好。剩下的偏差在最后一列：没有人会说的句子，"
        "写出第一个这样的词之后该怎么办，训练集从没教过。",
    )
    forced, rolled, other = losses.values()
    run.figure("lecture A 5.2: perplexity rolled out / teacher-forced", math.exp(rolled - forced), 10, 1e6)
    run.figure("lecture A 5.2: the same / with another true sentence", math.exp(rolled - other), 0.1, 10)
    ratio = gaps["words that it wrote"] / gaps["true words"]
    run.figure("lecture A 5.2: KL after its own words / after true ones", ratio, 0.4, 1.6)
