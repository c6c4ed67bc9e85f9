"""Neural models on a long text: streams, training with your ``train_chunks``, and a test that goes on. Given.

A text becomes one row of ids, ``<s> words </s> <s> words </s> ..``. Training and testing carry the state from chunk to
chunk, also over the ends of sentences. What is tested are the predictions that an n-gram model makes, words and
``</s>``: that ``<s>`` comes after ``</s>`` is no merit, so it is masked out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from lm.batching import batchify
from lm.torch_tools import map_state, tensors
from lm.vocab import BOS, EOS, Vocab
from torch import nn

from .texts import Sentences


class Budget(NamedTuple):
    """How large the models are, and how long they are trained, whatever the machine."""

    embedding: int
    hidden: int
    epochs: int
    streams: int
    chunk: int = 20
    rate: float = 3e-3
    max_norm: float = 1.0


def exp(loss: float) -> float:
    """e to the loss; inf where that is too large a number."""
    with np.errstate(over="ignore"):
        return float(np.exp(loss))


class Carrying(nn.Module):
    """A model that remembers its state from one call to the next, so that ``evaluate`` reads on where it stopped."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.state: Any = None

    def forward(self, inputs: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
        """As the model, with the state of the call before."""
        logits, after = self.model(inputs, self.state if state is None else state)
        self.state = map_state(torch.Tensor.detach, after)
        return logits, after


def stream(sentences: Sentences, vocab: Vocab) -> np.ndarray:
    """All ids in a row, each sentence between its marks."""
    return np.array(vocab.encode([word for sentence in sentences for word in (BOS, *sentence, EOS)]))


Chunk = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def chunks(ids: np.ndarray, size: int, length: int, unmasked: int | None = None) -> Iterator[Chunk]:
    """Inputs, targets and mask of ``size`` streams, so many words at a time; targets ``unmasked`` do not count."""
    inputs, targets, mask = tensors(batchify(ids, size))
    if unmasked is not None:
        mask = targets != unmasked
    yield from zip(*(part.split(length, dim=1) for part in (inputs, targets, mask)), strict=True)


def perplexity(model: nn.Module, ids: np.ndarray, vocab: Vocab, size: int = 1, length: int = 64) -> float:
    """Of the words and ``</s>`` of a stream, with your ``evaluate``; with one row no prediction is left out."""
    from lm.torch_lm import evaluate

    size = max(min(size, len(ids) // 8), 1)
    return exp(evaluate(Carrying(model), chunks(ids, size, length, vocab.ids[BOS])))


class Epoch(NamedTuple):
    """What is known after an epoch: perplexities while it ran (``<s>`` predicted too), and on the text to tune on."""

    epoch: int
    train: float
    tune: float


def train(
    model: nn.Module, ids: np.ndarray, tune: np.ndarray, vocab: Vocab, budget: Budget, say: Callable[[str], None]
) -> list[Epoch]:
    """Train with your ``train_chunks``; at the end the model is as it was after its best epoch on ``tune``."""
    from lm.torch_lm import train_chunks

    optimiser = torch.optim.Adam(model.parameters(), lr=budget.rate)
    inputs, targets, _ = tensors(batchify(ids, min(budget.streams, len(ids) - 1)))
    history: list[Epoch] = []
    best: dict[str, torch.Tensor] = {}
    for epoch in range(1, budget.epochs + 1):
        losses = train_chunks(model, optimiser, inputs, targets, budget.chunk, budget.max_norm)
        tuned = perplexity(model, tune, vocab, size=8)
        history.append(Epoch(epoch, exp(sum(losses) / len(losses)), tuned))
        if tuned == min(past.tune for past in history):
            best = {name: value.detach().clone() for name, value in model.state_dict().items()}
        say(f"epoch {epoch} of {budget.epochs}: perplexity {tuned:.1f}")
    if best:  # there is none where all is NaN
        model.load_state_dict(best)
    return history


def reader(model: nn.Module) -> Callable[[int, Any], tuple[np.ndarray, Any]]:
    """The model as ``decoding.generate`` wants it: a word and a state go in, logits and a state come out."""

    def step(word: int, state: Any) -> tuple[np.ndarray, Any]:
        with torch.no_grad():
            logits, state = model(torch.tensor([[word]]), state)
        return logits[0, -1].double().numpy(), state

    return step
