"""How much better Kneser-Ney is than adding k, on real text: perplexities of the solutions' models.

    python -m benchmarks.smoothing TEXT [HELD_OUT]

A text has a sentence a line, its words between spaces. Without HELD_OUT the last tenth of TEXT is held out; of the rest
the last tenth tunes what there is to tune. Words that occur once in the training text count as ``<unk>``. Exit code 1
when interpolated Kneser-Ney does not have the lowest perplexity at every order.
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.side_by_side import packages

ORDERS = (2, 3)
KS = (1.0, 0.1, 0.01, 0.001)

Sentences = list[list[str]]


def read(paths: Sequence[str]) -> tuple[Sentences, Sentences, Sentences]:
    """The sentences to train on, to tune on and to test on."""
    for path in paths:
        if not Path(path).is_file():
            raise SystemExit(f"{path}: no such file")
    texts = [
        [line.split() for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()] for path in paths
    ]
    text = texts[0]
    test = texts[1] if len(texts) > 1 else [text.pop() for _ in range(len(text) // 10)]
    tune = [text.pop() for _ in range(len(text) // 10)]
    counts = Counter(word for sentence in text for word in sentence)
    known = {word for word, count in counts.items() if count > 1}
    train, tune, test = ([[w if w in known else "<unk>" for w in s] for s in part] for part in (text, tune, test))
    return train, tune, test


def main(arguments: Sequence[str]) -> int:
    """The command."""
    if not 1 <= len(arguments) <= 2 or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    train, tune, test = read(arguments)
    with packages([]) as (package,):
        ngram, smoothing, vocab, metrics = (
            importlib.import_module(f".{name}", package.__name__) for name in ("ngram", "smoothing", "vocab", "metrics")
        )
    perplexity = metrics.perplexity
    tables = {order: ngram.count(train, order) for order in range(1, max(ORDERS) + 1)}
    vocabulary = vocab.Vocab(tables[1][()], unk=True).predictable
    words = sum(len(sentence) + 1 for sentence in test)
    print(f"{sum(map(len, train)):,} words to train on, {words:,} predictions, V = {len(vocabulary):,}\n")
    print(f"{'':28}" + "".join(f"n = {order:<6}" for order in ORDERS))
    best = {}
    rows: dict[str, Callable[[int], float]] = {}
    for k in KS:
        rows[f"add-{k:g}"] = lambda n, k=k: perplexity(ngram.AddK(tables[n], k, vocabulary), test)  # type: ignore[misc]

    def interpolated(n: int) -> float:
        models = [ngram.MLE(tables[order]) for order in range(1, n + 1)]
        return float(perplexity(ngram.Interpolated(models, smoothing.tune_em(models, tune)), test))

    rows["interpolated, EM"] = interpolated
    rows["Kneser-Ney, D = 0.75"] = lambda n: perplexity(smoothing.KneserNey(tables[n]), test)
    for name, row in rows.items():
        found = [row(n) for n in ORDERS]
        best[name] = found
        print(f"{name:28}" + "".join(f"{value:<10.1f}" for value in found), flush=True)
    wins = all(min(best, key=lambda name: best[name][i]) == "Kneser-Ney, D = 0.75" for i in range(len(ORDERS)))
    print("\nKneser-Ney has the lowest perplexity" + ("" if wins else ": no"))
    return 0 if wins else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
