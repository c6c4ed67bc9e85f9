"""Train your own translator: ``python -m lm.torch_translate``. Given: nothing to fill in here.

Eight epochs over 20,000 pairs of ``parallel.py``: batches of 64, Adam, a learning rate that falls to 0, the gradient
clipped at 1.0. Then it translates sentences that it has not seen, greedily and by beam search, and says how many came
out right in every word: by the number k of phrases between subject and verb. Training sentences end at k = 5; k = 6
shows what happens beyond.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from .beam import beam_search
from .corpus import derive
from .parallel import Pair, Parallel, held_out, pad_pairs, pair_batches, pairs, translate, vocabularies
from .seq2seq import Seq2Seq, step
from .vocab import BOS, EOS, PAD, Vocab

LEARNING_RATE, BATCH, MAX_NORM, EPOCHS = 5e-3, 64, 1.0, 8
PHRASES = range(7)  # the k of the test sentences
BEAM = 5


class Epoch(NamedTuple):
    """An epoch, the mean training loss while it ran, and the share of the validation pairs that came out right."""

    epoch: int
    loss: float
    right: float


def train(
    model: Seq2Seq,
    data: Parallel,
    vocabs: tuple[Vocab, Vocab],
    rng: np.random.Generator,
    epochs: int,
    bar: bool = False,
) -> Iterator[Epoch]:
    """Change the model in place, epoch by epoch."""
    optimiser = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    steps = -(-len(data.train) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, epochs * steps)
    for epoch in range(1, epochs + 1):
        losses, started = [], time.perf_counter()
        for number, batch in enumerate(pair_batches(data.train, *vocabs, BATCH, rng), 1):
            loss = model.loss(*map(torch.from_numpy, batch))
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
            if bar:
                show(epoch, number / steps, time.perf_counter() - started)
        yield Epoch(epoch, sum(losses) / len(losses), accuracy(data.val, greedy_translations(model, data.val, vocabs)))


def greedy_translations(model: Seq2Seq, data: Sequence[Pair], vocabs: tuple[Vocab, Vocab]) -> list[tuple[str, ...]]:
    """The most probable word at each place, for all sentences at once, until all have come to ``</s>``."""
    _, target = vocabs
    source, mask, *_ = map(torch.from_numpy, pad_pairs(data, *vocabs))
    word = torch.full((len(data), 1), target.ids[BOS])
    written = []
    with torch.no_grad():
        state = model.encode(source, mask)
        for _ in range(max_length(data)):
            states, state = model.decoder(model.E_y(word), state)
            logits = model.W_hy(states)
            logits[..., [target.ids[PAD], target.ids[BOS]]] = -torch.inf
            word = logits.argmax(dim=-1)
            written.append(word)
    rows = torch.cat(written, dim=1).tolist()
    return [target.decode(row[: row.index(target.ids[EOS])] if target.ids[EOS] in row else row) for row in rows]


def beam_translations(
    model: Seq2Seq, data: Sequence[Pair], vocabs: tuple[Vocab, Vocab], k: int = BEAM
) -> list[tuple[str, ...]]:
    """The best of a beam, sentence by sentence, with your ``beam_search``."""
    source, target = vocabs
    found = []
    for sentence, _ in data:
        best, *_ = beam_search(step(model, source.encode(sentence)), None, k, max_length(data))
        found.append(target.decode(best[0]))
    return found


def max_length(data: Sequence[Pair]) -> int:
    """A few words more than the longest translation has, so that a sentence that does not end is seen to be wrong."""
    return max(len(translation) for _, translation in data) + 4


def accuracy(data: Sequence[Pair], translations: Sequence[tuple[str, ...]]) -> float:
    """The share of sentences that are right in every word."""
    return sum(right == got for (_, right), got in zip(data, translations, strict=True)) / len(data)


def unseen_pairs(k: int, n: int, seed: int = 0) -> list[Pair]:
    """n pairs with k phrases between subject and verb, none of them a training sentence."""
    rng = random.Random(f"translate, seed {seed}, k {k}")
    found: list[Pair] = []
    while len(found) < n:
        sentence = derive(rng, k).words
        if held_out(sentence):
            found.append((sentence, translate(sentence)))
    return found


def show(epoch: int, done: float, seconds: float) -> None:
    """A bar on the terminal."""
    bar = "#" * round(30 * done)
    print(f"\repoch {epoch:2}  [{bar:<30}] {seconds:5.1f} s", end="" if done < 1 else "\n", file=sys.stderr, flush=True)


def report(model: Seq2Seq, vocabs: tuple[Vocab, Vocab], n: int) -> None:
    """A table of what comes out right, and one sentence that does not."""
    print(f"\n  k  source words  greedy  beam of {BEAM}   (sentences right in every word, of {n} unseen ones)")
    wrong = None
    for k in PHRASES:
        data = unseen_pairs(k, n)
        greedy = greedy_translations(model, data, vocabs)
        try:
            beam = f"{accuracy(data, beam_translations(model, data, vocabs)):9.3f}"
        except NotImplementedError:
            beam = "  not written yet"
        words = sum(len(sentence) for sentence, _ in data) / n
        print(f"{k:3}  {words:12.1f}  {accuracy(data, greedy):6.3f}  {beam}", flush=True)
        misses = [(*pair, got) for pair, got in zip(data, greedy, strict=True) if pair[1] != got]
        wrong = wrong or (misses[0] if misses else None)
    if wrong:
        print("\nThe first mistake:")
        for name, words_of in zip(("source", "right", "written"), wrong, strict=True):
            print(f"  {name:8} {' '.join(words_of)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m lm.torch_translate", description="Train a translator.")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=0, help="of the parameters and of the order of the sentences")
    parser.add_argument("--embedding", type=int, default=32, help="d")
    parser.add_argument("--hidden", type=int, default=64, help="H, of each layer")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=20_000, help="to train on")
    parser.add_argument("--test", type=int, default=100, help="sentences of each length to translate")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # on products as small as these, several get into each other's way
    torch.manual_seed(options.seed)
    data, vocabs = pairs(sizes=(options.pairs, 500, 0)), vocabularies()
    source, target = vocabs
    model = Seq2Seq(len(source), len(target), options.embedding, options.hidden, options.layers)
    size = sum(parameter.numel() for parameter in model.parameters())
    told = 2 * options.layers * options.hidden
    print(f"{size:,} parameters; {told} numbers go from encoder to decoder\nepoch  loss   right of 500 unseen pairs")
    started = time.perf_counter()
    rng = np.random.default_rng(options.seed)
    for epoch in train(model, data, vocabs, rng, options.epochs, bar=sys.stderr.isatty()):
        print(f"{epoch.epoch:5}  {epoch.loss:.3f}  {epoch.right:.3f}", flush=True)
    print(f"{time.perf_counter() - started:.0f} seconds")
    report(model, vocabs, options.test)
    return 0


if __name__ == "__main__":
    sys.exit(main())
