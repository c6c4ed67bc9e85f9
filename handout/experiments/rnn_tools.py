"""What experiments 5 and 6 share: the corpus, the trained model, a mixture of n-grams, losses word by word. Given."""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from lm.batching import pad
from lm.corpus import Splits, sample, splits, vocabulary
from lm.truth import agrees, is_grammatical, parse
from lm.types import AgreementPair, LanguageModel, RNNParams, Sentence
from lm.vocab import BOS, EOS
from lm.weights import init_params

from .run import Run

VOCAB = vocabulary()
QUICK_EPOCHS = 3
MAX_LEN = 60  # words of a sample
ATTRACTORS = range(7)  # the k of the agreement sets
ROLES = ("subject", "attractor", "preposition", "verb", "object", "time/place")


class Trained(NamedTuple):
    """The RNN language model of ``python -m lm.train --seed SEED``, after its best epoch, and all epochs."""

    params: RNNParams
    history: list[Any]


def corpus(run: Run) -> Splits:
    """The sentences of this seed."""
    if "splits" not in run.shared:
        run.shared["splits"] = splits(run.seed)
    return run.shared["splits"]


def trained(run: Run) -> Trained:
    """The model that all steps of experiments 5 and 6 share: ten epochs, three when it has to be quick.

    As in ``lm.train``, what counts is the epoch with the lowest validation perplexity: the learning rate stays as large
    as it was, so single epochs end with sentences that are a little too short or too long.
    """
    if "rnn" not in run.shared:
        from lm.train import EPOCHS, train

        rng = np.random.default_rng(run.seed)
        params = best = init_params(rng)
        history: list[Any] = []
        epochs = QUICK_EPOCHS if run.quick else EPOCHS
        for epoch in train(params, corpus(run), VOCAB, rng, epochs, bar=sys.stderr.isatty()):
            history.append(epoch)
            if epoch.perplexity == min(past.perplexity for past in history):
                best = copy.deepcopy(params)
        run.shared["rnn"] = Trained(best, history)
    return run.shared["rnn"]


def six_gram(run: Run) -> LanguageModel:
    """MLE models of the orders 1 to 6, interpolated, a weight for each order from the validation sentences."""
    if "six-gram" not in run.shared:
        from lm.ngram import MLE, Interpolated, count, tune_grid

        data = corpus(run)
        models = [MLE(count(data.train, n)) for n in range(1, 7)]
        run.shared["six-gram"] = Interpolated(models, tune_grid(models, data.val[:500] if run.quick else data.val))
    return run.shared["six-gram"]


def ngram_losses(model: LanguageModel, sentences: Iterable[Sentence]) -> list[np.ndarray]:
    """-log p of each word and of ``</s>``, a row for each sentence."""
    rows = []
    for sentence in sentences:
        before = model.order - 1
        words = [*[BOS] * before, *sentence, EOS]
        pairs = [(words[t], tuple(words[t - before : t])) for t in range(before, len(words))]
        rows.append(-np.log([model.prob(word, context) for word, context in pairs]))
    return rows


def ngram_agreement(model: LanguageModel, pairs: Sequence[AgreementPair]) -> float:
    """``agreement_accuracy`` of an n-gram model."""
    from lm.metrics import agreement_accuracy

    start = (BOS,) * (model.order - 1)
    return agreement_accuracy(lambda prefix, word: model.prob(word, start + tuple(prefix)), pairs)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Along the last axis."""
    below_top = logits - logits.max(axis=-1, keepdims=True)
    return below_top - np.log(np.exp(below_top).sum(axis=-1, keepdims=True))


def rnn_losses(params: RNNParams, sentences: Sequence[Sentence], size: int = 500) -> list[np.ndarray]:
    """The same of the RNN: ``ngram_losses`` made of ``rnn_forward``."""
    from lm.rnn import rnn_forward

    rows = []
    for start in range(0, len(sentences), size):
        inputs, targets, mask = pad(sentences[start : start + size], VOCAB)
        log_p = log_softmax(rnn_forward(inputs, params)[0])
        losses = -np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
        rows += [row[counted] for row, counted in zip(losses, mask, strict=True)]
    return rows


def roles(sentence: Sentence) -> list[str]:
    """What each word is, and ``</s>``; "" for those that are certain: "the" of a noun, "." and ``</s>``."""
    found = parse(sentence)
    if found is None:
        raise ValueError(f"not a sentence of the language: {' '.join(sentence)}")
    between = ["preposition", "", "attractor"] * len(found.attractors)
    phrases = ["object"] * len(found.object.split()) + ["time/place"] * len(found.when.split())
    return ["", "subject", *between, "verb", *phrases, "", ""]


def by_role(rows: Iterable[np.ndarray], sentences: Iterable[Sentence]) -> dict[str, float]:
    """The mean loss of each role of ``ROLES``; of the certain words under ""."""
    found: dict[str, list[float]] = {}
    for row, sentence in zip(rows, sentences, strict=True):
        for loss, role in zip(row, roles(sentence), strict=True):
            found.setdefault(role, []).append(float(loss))
    return {role: sum(losses) / len(losses) for role, losses in found.items()}


def stepper(params: RNNParams) -> tuple[Callable[[int, Any], tuple[np.ndarray, Any]], np.ndarray]:
    """What ``decoding.generate`` takes: a step, made of ``rnn_step_forward``, and the state before ``<s>``."""
    from lm.rnn import rnn_step_forward

    def step(word: int, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h = rnn_step_forward(params.E[[word]], h, params)
        return (h @ params.W_hy.T + params.b_y)[0], h

    return step, np.zeros((1, len(params.b_h)))


def write(
    step: Callable[[int, Any], tuple[np.ndarray, Any]], start: Any, rng: np.random.Generator, n: int, tau: float = 1.0
) -> list[tuple[str, ...]]:
    """n sentences from ``decoding.generate``."""
    from lm.decoding import generate

    return [VOCAB.decode(generate(step, start, row, MAX_LEN, tau)) for row in rng.random((n, MAX_LEN))]


def true_samples(run: Run, n: int) -> list[tuple[str, ...]]:
    """n sentences of the language itself, from a stream of their own."""
    stream = random.Random(f"samples, seed {run.seed}")
    return [sample(stream) for _ in range(n)]


class Quality(NamedTuple):
    """Shares among samples: grammatical, right verb among the grammatical, found in the training text, different."""

    grammatical: float
    agree: float
    copied: float
    different: float


def quality(samples: Sequence[Sentence], known: frozenset[Sentence]) -> Quality:
    """How good samples are."""
    n, right = len(samples), sum(map(is_grammatical, samples))
    agree = sum(map(agrees, samples)) / right if right else 0.0
    return Quality(right / n, agree, sum(text in known for text in samples) / n, len(set(samples)) / n)
