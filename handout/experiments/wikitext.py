"""The lecture's training script for WikiText-2 (A.2), as it works today.

    python -m experiments.wikitext --text wiki.train.tokens wiki.valid.tokens [--epochs 10] [--most 200000]

Without --text it asks ``datasets`` for "Salesforce/wikitext" (the lecture's name "wikitext" is refused today, and
``torchtext``, which it lists, is no longer made), if the data are on this machine already. With V = 20,004 and 64 x 35
words at a time it takes 1.2 GB of memory (the lecture's 64 x 34: 1.0) and, on one core, about 950 seconds an epoch of
WikiText-2's two million words; ``--most`` trains on the first words only.

The model is the lecture's. What is around it is not, since there

- pieces of 35 words are dealt out to 64 rows, so the state after piece i goes on to piece i + 64, far away: here
  ``batchify`` makes 64 contiguous streams, and your ``train_chunks`` carries the state along each;
- the last batch has fewer pieces than the state has rows, and the script stops with an error: here there is no such
  batch;
- the first word of each piece is never predicted: here all are;
- the perplexity is that of pieces that start afresh: here your ``evaluate`` reads on with the state;
- of a prompt only the last word is read: here all of it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lm.batching import batchify
from lm.torch_tools import tensors
from torch import nn

from .run import Run
from .text_nets import Carrying, chunks, exp, reader
from .texts import UNK, Sentences, Source, TextError, from_datasets, from_paths

TYPES, STREAMS, LENGTH, RATE, MAX_NORM = 20_000, 64, 35, 1e-3, 5.0
COST = "V = 20,004: 1.2 GB of memory, about 950 s an epoch on one core"
PROMPT = "the meaning of life is"


class RNNLM(nn.Module):
    """The lecture's model: embeddings, two layers of LSTM, dropout between all of them."""

    def __init__(self, vocab_size: int, emb: int = 200, hidden: int = 200, n_layers: int = 2, dropout: float = 0.2):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, emb)
        self.drop = nn.Dropout(dropout)
        self.rnn = nn.LSTM(emb, hidden, n_layers, dropout=dropout, batch_first=True)
        self.fc = nn.Linear(hidden, vocab_size)

    def forward(self, inputs: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
        """(logits, state), as all models of this course."""
        out, state = self.rnn(self.drop(self.embed(inputs)), state)
        return self.fc(self.drop(out)), state


def parameters(vocab_size: int) -> int:
    """How many numbers the model has; none of them is made for that."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in RNNLM(vocab_size).parameters())


def words_of(sentences: Sentences) -> list[str]:
    """``<pad>``, ``<unk>``, ``<bos>``, ``<eos>`` and the 20,000 most frequent words."""
    times = Counter(word for sentence in sentences for word in sentence if word != UNK)
    return ["<pad>", UNK, "<bos>", "<eos>", *(word for word, _ in times.most_common(TYPES))]


def encode(sentences: Sentences, ids: dict[str, int]) -> np.ndarray:
    """All words in a row, unknown ones 1."""
    return np.array([ids.get(word, 1) for sentence in sentences for word in sentence])


def perplexity(model: nn.Module, ids: np.ndarray) -> float:
    """Of a held-out text, in up to 64 streams, with your ``evaluate``."""
    from lm.torch_lm import evaluate

    return exp(evaluate(Carrying(model), chunks(ids, min(STREAMS, len(ids) - 1), LENGTH)))


def epoch(model: nn.Module, optimiser: torch.optim.Optimizer, ids: np.ndarray) -> float:
    """Train once on all streams, with your ``train_chunks``; the mean loss."""
    from lm.torch_lm import train_chunks

    inputs, targets, _ = tensors(batchify(ids, min(STREAMS, len(ids) - 1)))
    losses = train_chunks(model, optimiser, inputs, targets, LENGTH, MAX_NORM)
    return float(np.mean(losses))


def write(model: nn.Module, words: Sequence[str], rng: np.random.Generator, length: int = 50, tau: float = 0.8) -> str:
    """Go on from a prompt, all of which is read."""
    ids = {word: i for i, word in enumerate(words)}
    model.eval()
    prompt, step, state = PROMPT.split(), reader(model), None
    for word in prompt:
        logits, state = step(ids.get(word, 1), state)
    written = list(prompt)
    for _ in range(length):
        probs = np.exp((logits - logits.max()) / tau)
        drawn = rng.choice(len(words), p=probs / probs.sum())
        written.append(words[drawn])
        logits, state = step(int(drawn), state)
    return " ".join(written)


def peak_memory() -> float:
    """The most memory that this process has had so far, in MB; NaN where it cannot be known."""
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


def trial(run: Run, source: Source, steps: int = 12) -> None:
    """A few steps of training: words a second, memory, and how long an epoch would take."""
    words = words_of(source.train)
    ids = encode(source.train, {word: i for i, word in enumerate(words)})
    torch.manual_seed(run.seed)
    torch.set_num_threads(1)
    model = RNNLM(len(words))
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    part = ids[: STREAMS * LENGTH * steps + 1]
    started = time.perf_counter()
    loss = epoch(model, optimiser, part)
    rate = len(part) / (time.perf_counter() - started)
    columns = ["V", "words", "words a second", "an epoch, s", "peak MB", "loss so far"]
    run.table("wikitext", columns, [[len(words), len(ids), rate, len(ids) / rate, peak_memory(), loss]])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m experiments.wikitext", description=__doc__.partition("\n")[0])
    parser.add_argument("--text", type=Path, nargs="+", metavar="FILE", help="training text, held-out text")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--most", type=int, help="train on so many words only")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        source = from_paths(options.text) if options.text else from_datasets()
    except TextError as error:
        print(f"{error}\n(--text TRAIN HELD_OUT names files)")
        return 2
    words = words_of(source.train)
    ids = {word: i for i, word in enumerate(words)}
    train, held_out = encode(source.train, ids)[: options.most], encode(source.held_out, ids)
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    model = RNNLM(len(words))
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    print(f"{source.name}\nV = {len(words):,}, {len(train):,} words, {parameters(len(words)):,} parameters; {COST}")
    for number in range(1, options.epochs + 1):
        started = time.perf_counter()
        loss = epoch(model, optimiser, train)
        value, seconds = perplexity(model, held_out), time.perf_counter() - started
        print(f"epoch {number}: loss {loss:.3f}, held-out perplexity {value:.1f}   {seconds:.0f} s", flush=True)
    print(write(model, words, np.random.default_rng(options.seed)))
    print(f"peak memory {peak_memory():,.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
