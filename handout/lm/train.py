"""Train the RNN language model with your own functions: ``python -m lm.train``. Given: nothing to fill in here.

Ten epochs over 20,000 sentences of the farm language: batches of 32, Adam, the gradient clipped at 1.0. After each
epoch it says how good the model is on sentences that it has not seen, and if that is better than ever, it writes
``rnn_lm.npz``, which you hand in. The gap, log(perplexity / perplexity of the truth), is about what the grader measures
on other sentences: how many nats a word the model loses against the truth.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .adam import Adam
from .batching import batches, pad
from .corpus import Splits, agreement_set, splits, vocabulary
from .metrics import agreement_accuracy
from .optim import clip_by_global_norm
from .rnn import masked_cross_entropy, rnn_backward, rnn_forward
from .truth import log_probability
from .types import AgreementPair, RNNParams, Sentence
from .vocab import Vocab
from .weights import NAMES, WEIGHTS, init_params, save_weights

LEARNING_RATE, BATCH, MAX_NORM, EPOCHS = 3e-3, 32, 1.0, 10
ATTRACTORS = range(7)  # the k of the agreement sets


class Epoch(NamedTuple):
    """What is known after an epoch.

    Attributes:
        epoch: 1, 2, ..
        loss: the mean training loss while it ran.
        perplexity: on the validation sentences.
        agreement: for each k of ATTRACTORS the share of right verbs after k nouns of the other number; NaN where item
            agreement of part 1 is not there yet.
    """

    epoch: int
    loss: float
    perplexity: float
    agreement: tuple[float, ...]


def train(
    params: RNNParams, data: Splits, vocab: Vocab, rng: np.random.Generator, epochs: int = EPOCHS, bar: bool = False
) -> Iterator[Epoch]:
    """Change the parameters in place, epoch by epoch."""
    arrays = [getattr(params, name) for name in NAMES]
    optimiser = Adam(arrays, LEARNING_RATE)
    tests = [agreement_set(k, "opposite") for k in ATTRACTORS]
    for epoch in range(1, epochs + 1):
        losses, started = [], time.perf_counter()
        for number, batch in enumerate(batches(data.train, vocab, BATCH, rng), 1):
            logits, cache = rnn_forward(batch.inputs, params)
            loss, dlogits = masked_cross_entropy(logits, batch.targets, batch.mask)
            gradients = rnn_backward(dlogits, cache, params)
            steps = [getattr(gradients, name) for name in NAMES]
            clip_by_global_norm(steps, MAX_NORM)
            optimiser.step(steps)
            losses.append(loss)
            if bar:
                show(epoch, number / math.ceil(len(data.train) / BATCH), time.perf_counter() - started)
        loss = sum(losses) / len(losses)
        yield Epoch(epoch, loss, math.exp(mean_loss(params, data.val, vocab)), accuracies(params, tests, vocab))


def mean_loss(params: RNNParams, sentences: Sequence[Sentence], vocab: Vocab, size: int = 500) -> float:
    """The cross-entropy in nats over all predictions, ``</s>`` among them."""
    total, count = 0.0, 0
    for start in range(0, len(sentences), size):
        batch = pad(sentences[start : start + size], vocab)
        loss, _ = masked_cross_entropy(rnn_forward(batch.inputs, params)[0], batch.targets, batch.mask)
        predictions = int(batch.mask.sum())
        total, count = total + loss * predictions, count + predictions
    return total / count


def accuracy(params: RNNParams, pairs: Sequence[AgreementPair], vocab: Vocab) -> float:
    """The share of prefixes after which the right verb form has the higher logit (``agreement_accuracy``)."""
    prefixes = [prefix for prefix, _, _ in pairs]
    batch = pad(prefixes, vocab)
    logits, _ = rnn_forward(batch.inputs, params)
    last = logits[np.arange(len(pairs)), [len(prefix) for prefix in prefixes]]  # after <s> and the prefix
    scores = dict(zip(prefixes, last, strict=True))
    return agreement_accuracy(lambda prefix, word: float(scores[tuple(prefix)][vocab.ids[word]]), pairs)


def accuracies(params: RNNParams, tests: Sequence[Sequence[AgreementPair]], vocab: Vocab) -> tuple[float, ...]:
    """``accuracy`` of each test; all NaN without ``agreement_accuracy``: one can train without it."""
    try:
        return tuple(accuracy(params, pairs, vocab) for pairs in tests)
    except NotImplementedError:
        return (math.nan,) * len(tests)


def show(epoch: int, done: float, seconds: float) -> None:
    """A bar on the terminal."""
    bar = "#" * round(30 * done)
    print(f"\repoch {epoch:2}  [{bar:<30}] {seconds:5.1f} s", end="" if done < 1 else "\n", file=sys.stderr, flush=True)


def plot(history: Sequence[Epoch], truth: float, path: Path) -> bool:
    """Perplexity and agreement by epoch as a picture. False when matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    epochs = [epoch.epoch for epoch in history]
    left.plot(epochs, [epoch.perplexity for epoch in history], marker="o")
    left.axhline(truth, linestyle="--", color="grey", label="the truth")
    left.set(xlabel="epoch", ylabel="validation perplexity")
    left.legend()
    for k in ATTRACTORS:
        right.plot(epochs, [epoch.agreement[k] for epoch in history], label=f"k = {k}")
    right.set(xlabel="epoch", ylabel="agreement", ylim=(0, 1.02))
    right.legend()
    figure.savefig(path)
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m lm.train", description="Train the RNN language model.")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=0, help="of the parameters and of the order of the sentences")
    parser.add_argument("--hidden", type=int, default=64, help="H, at most 256")
    parser.add_argument("--out", type=Path, default=Path(WEIGHTS))
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    data, vocab = splits(), vocabulary()
    params = init_params(rng, len(vocab), hidden=options.hidden)
    print(f"{sum(getattr(params, field.name).size for field in fields(params)):,} parameters")
    predictions = sum(len(sentence) + 1 for sentence in data.val)
    truth = math.exp(-sum(map(log_probability, data.val)) / predictions)
    print(f"epoch  loss   validation perplexity (truth {truth:.3f})   gap    agreement after k = 0 .. 6 attractors")
    history = []
    for epoch in train(params, data, vocab, rng, options.epochs, bar=sys.stderr.isatty()):
        history.append(epoch)
        shares = " ".join("   -" if math.isnan(share) else f"{share:.2f}" for share in epoch.agreement)
        gap = math.log(epoch.perplexity / truth)
        print(f"{epoch.epoch:5}  {epoch.loss:.3f}  {epoch.perplexity:.3f}{'':33}{gap:.3f}  {shares}", flush=True)
        if epoch.perplexity == min(past.perplexity for past in history):
            save_weights(params, options.out)
    if history and any(math.isnan(share) for share in history[-1].agreement):
        print("no agreement: that takes agreement_accuracy of lm/metrics.py, item agreement of part 1")
    if history and plot(history, truth, options.out.with_suffix(".png")):
        print(f"the picture is in {options.out.with_suffix('.png')}")
    if history:
        gap = math.log(min(epoch.perplexity for epoch in history) / truth)
        print(f"gap of the best epoch: {gap:.3f} nats a word (0.03 or less earns all, 0.08 or more nothing)")
    print(f"the weights of the best epoch are in {options.out}: hand them in")
    return 0


if __name__ == "__main__":
    sys.exit(main())
