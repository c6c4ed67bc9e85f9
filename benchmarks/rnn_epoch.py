"""One epoch of training on the farm language: forward, loss, backward, clipping and Adam, beside PyTorch.

    python -m benchmarks.rnn_epoch

20,000 sentences in batches of 64, sorted by length and padded, float32; the batches are made before. Contestants: the
functions of solutions/ (clear), their fast alternatives, and ``nn.RNN`` with ``clip_grad_norm_`` and ``optim.Adam``.
Three epochs of each in turn. Exit code 1 when the goal is missed.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.rnn import FAST, NAMES
from benchmarks.side_by_side import Goal, packages, protocol, race, report

BATCH, RATE, MAX_NORM, ROUNDS = 64, 3e-3, 1.0, 3
GOALS = (Goal("fast", "nn.RNN", 0.45),)


def numpy_epoch(package: ModuleType, batches: list[Any]) -> Callable[[], float]:
    rnn, optim, adam, weights = (
        importlib.import_module(f".{name}", package.__name__) for name in ("rnn", "optim", "adam", "weights")
    )
    params = weights.init_params(np.random.default_rng(0))
    arrays = [getattr(params, name).astype(np.float32) for name in NAMES]
    params = type(params)(*arrays)
    optimiser = adam.Adam(arrays, RATE)

    def run() -> float:
        total = 0.0
        for batch in batches:
            logits, cache = rnn.rnn_forward(batch.inputs, params)
            loss, dlogits = rnn.masked_cross_entropy(logits, batch.targets, batch.mask)
            gradients = rnn.rnn_backward(dlogits, cache, params)
            steps = [getattr(gradients, name) for name in NAMES]
            optim.clip_by_global_norm(steps, MAX_NORM)
            optimiser.step(steps)
            total += loss
        return total / len(batches)

    return run


def pytorch_epoch(vocabulary: int, batches: list[Any]) -> Callable[[], float]:
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    embedding, cell, out = nn.Embedding(vocabulary, 32), nn.RNN(32, 64, batch_first=True), nn.Linear(64, vocabulary)
    trained = [*embedding.parameters(), *cell.parameters(), *out.parameters()]
    optimiser = torch.optim.Adam(trained, lr=RATE)
    data = [(torch.tensor(batch.inputs), torch.tensor(batch.targets)) for batch in batches]

    def run() -> float:
        total = 0.0
        for inputs, targets in data:
            optimiser.zero_grad()
            logits = out(cell(embedding(inputs))[0])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)  # <pad>
            loss.backward()
            nn.utils.clip_grad_norm_(trained, MAX_NORM)
            optimiser.step()
            total += loss.item()
        return total / len(data)

    return run


def main() -> int:
    with packages([], FAST) as (clear, fast):
        corpus, batching = (importlib.import_module(f".{name}", clear.__name__) for name in ("corpus", "batching"))
        vocab = corpus.vocabulary()
        sentences = sorted(corpus.splits().train, key=len)
        batches = [batching.pad(sentences[i : i + BATCH], vocab) for i in range(0, len(sentences), BATCH)]
        np.random.default_rng(0).shuffle(batches)
        contestants = {
            "nn.RNN": pytorch_epoch(len(vocab), batches),
            "clear": numpy_epoch(clear, batches),
            "fast": numpy_epoch(fast, batches),
        }
        losses = {name: [run() for _ in range(2)][-1] for name, run in contestants.items()}
        times = race(contestants, ROUNDS)
    code = report("One epoch, 20,000 sentences", times, "nn.RNN", GOALS, "µs")
    for name, loss in losses.items():
        print(f"training loss of the second epoch, {name}: {loss:.3f}")
    return code


if __name__ == "__main__":
    protocol("benchmarks.rnn_epoch")
    sys.exit(main())
