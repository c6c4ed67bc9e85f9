"""N-gram counts of real text: sorted integer keys beside dictionaries, nltk.lm and KenLM.

    python -m benchmarks.ngram [TEXT [HELD_OUT]]

A text has a sentence a line, its words between spaces. Without HELD_OUT the last tenth of TEXT is held out; without
TEXT both are sentences of the farm language. ``NGRAM_TEXT`` in the environment (one path or two, with ``:`` between)
serves as well as arguments. Trigrams, 0.1 added to each count; the arrays at 4, 5 and 6 words too. Contestants:

- arrays: ``solutions/experiments/array_ngrams.py`` from ids on; "from words" looks the words up too (and, to fit,
  collects and numbers them);
- Counter: ``Counter(zip(words, words[1:], words[2:]))``, nothing else;
- dictionary: perplexity from ``{context: ({word: count}, sum)}`` in one tuned loop;
- reference: the functions of solutions/;
- nltk.lm: ``Lidstone``, fitted with the orders 1 to 3 as in its documentation, or with trigrams alone, and asked with
  trigrams, always on a tenth of the text;
- KenLM: ``score`` of each line as a string, of a model with the same n-grams (fit: none, it takes a file).

nltk and KenLM take part where they are installed. Counts and perplexities are compared first. Exit code 1 when a goal
is missed; those against the others are for real text, and are left out for the farm language with its 54 words.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from math import exp, isclose, log, log10
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from experiments.array_ngrams import BOS, EOS, MAX_ORDER, UNK, Counts, Text, add_k, perplexity

from benchmarks.side_by_side import packages, protocol, race, report

N, K = 3, 0.1
ORDERS = range(N + 1, MAX_ORDER + 1)
TENTH = 10  # nltk.lm and the reference are asked about every tenth sentence
FASTER = {  # on real text: contestant, against, how many times as fast at least
    "fit": [("arrays", "Counter", 12.0), ("arrays", "nltk.lm", 300.0)],
    "perplexity": [("arrays", "dictionary", 8.0), ("arrays", "KenLM", 0.7)],
}
LONGER = 2.0  # times as long as at N words, at most, for each longer order
BYTES = 25.0  # an n-gram, at most

Sentences = Sequence[Sequence[str]]
Rows = dict[tuple[str, ...], tuple[dict[str, int], int]]
Contestants = dict[str, tuple[int, Callable[[], Any]]]
"""How many predictions each makes, and how."""


def read(paths: Sequence[str], corpus: ModuleType) -> tuple[Sentences, Sentences]:
    """The sentences to train on and those held out."""
    if not paths:
        return corpus.splits().train, corpus.splits().test
    for path in paths[:2]:
        if not Path(path).is_file():
            raise SystemExit(f"{path}: no such file")
    texts = [
        [line.split() for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
        for path in paths[:2]
    ]
    if len(texts) == 1:
        end = len(texts[0]) * 9 // 10
        texts = [texts[0][:end], texts[0][end:]]
    return texts[0], texts[1]


def padded(sentences: Sentences, n: int) -> list[str]:
    """All words in a row, with n - 1 times <s> before each sentence and </s> after it."""
    return list(chain.from_iterable((*[BOS] * (n - 1), *sentence, EOS) for sentence in sentences))


def counter(words: list[str], n: int) -> Counter[tuple[str, ...]]:
    """The n-grams of a padded text; those that end in <s> are counted too, and never asked for."""
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


def dictionary(words: list[str], n: int) -> Rows:
    """``{context: ({word: count}, sum)}``."""
    rows: dict[tuple[str, ...], dict[str, int]] = {}
    for gram, times in counter(words, n).items():
        if gram[-1] != BOS:
            rows.setdefault(gram[:-1], {})[gram[-1]] = times
    return {context: (row, sum(row.values())) for context, row in rows.items()}


def ask_dictionary(rows: Rows, words: list[str], size: int) -> float:
    """The perplexity of a padded text of known words: two look-ups and a logarithm a prediction, and little else."""
    unseen: tuple[dict[str, int], int] = ({}, 0)
    row_of, added, total, predictions = rows.get, K * size, 0.0, 0
    contexts = zip(*(words[i:] for i in range(N - 1)), strict=False)
    for context, word in zip(contexts, words[N - 1 :], strict=False):
        if word != BOS:
            row, times = row_of(context, unseen)
            total += log((row.get(word, 0) + K) / (times + added))
            predictions += 1
    return exp(-total / predictions)


def ask_arrays(counts: Counts, text: Text, size: int) -> float:
    return perplexity(add_k(counts.find_sorted(np.sort(text.keys(counts.order))), K, size))


def nltk_model(vocabulary: Sequence[str], grams: list[list[tuple[str, ...]]]) -> Any:
    """A model that was fitted to these n-grams, a list for each sentence."""
    lm: Any = importlib.import_module("nltk.lm")
    words = [word for word in vocabulary if word != UNK] + [BOS]  # it adds the label of unknown words itself
    model = lm.Lidstone(K, N, vocabulary=lm.Vocabulary(words, unk_cutoff=1, unk_label=UNK))
    model.fit(grams)
    return model


def nltk_grams(sentences: Sentences, orders: Sequence[int]) -> list[list[tuple[str, ...]]]:
    """The n-grams of each sentence, of all these orders."""
    lines = [[BOS] * (N - 1) + [*sentence, EOS] for sentence in sentences]
    return [[tuple(line[i : i + n]) for n in orders for i in range(len(line) - n + 1)] for line in lines]


def kenlm_model(sentences: Sentences, words: Sequence[str]) -> Any:
    """A model with the n-grams of the text; its numbers are relative frequencies and a back-off by 0.4 everywhere."""
    kenlm: Any = importlib.import_module("kenlm")
    lines, sizes = [], []
    for order in range(1, N + 1):
        rows = dictionary(padded(sentences, order), order)
        frequencies = {
            (*context, word): log10(times / total)
            for context, (row, total) in rows.items()
            for word, times in row.items()
            if context[:2] != (BOS, BOS)  # KenLM has one <s> before a sentence
        }
        if order == 1:
            frequencies = {(word,): -7.0 for word in (UNK, BOS, *words)} | frequencies
        back_off = "" if order == N else f"\t{log10(0.4):.4f}"
        sizes.append(f"ngram {order}={len(frequencies)}")
        lines += ["", f"\\{order}-grams:"]
        lines += [f"{value:.4f}\t{' '.join(gram)}{back_off}" for gram, value in frequencies.items()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.arpa")
        path.write_text("\n".join(["\\data\\", *sizes, *lines, "", "\\end\\", ""]), encoding="utf-8")
        return kenlm.Model(str(path))


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def compare(train: Sentences, text: Text, ids: Mapping[str, int]) -> None:
    """Every n-gram has the count that Counter gives it, and there are no others; also where contexts are hashed."""
    for n in (N, MAX_ORDER):
        expected = {gram: times for gram, times in counter(padded(train, n), n).items() if gram[-1] != BOS}
        counts = Counts.of(text, n)
        stream = Text.of(train, ids).keys(n)
        grams = [gram for gram in zip(*(padded(train, n)[i:] for i in range(n)), strict=False) if gram[-1] != BOS]
        if len(counts) != len(expected) or counts.find(stream).count.tolist() != [expected[gram] for gram in grams]:
            raise SystemExit(f"arrays and Counter count differently, n = {n}")


def agree(values: Mapping[str, tuple[float, float]]) -> None:
    for name, (got, expected) in values.items():
        if not isclose(got, expected, rel_tol=1e-9):
            raise SystemExit(f"{name}: perplexity {got}, arrays {expected}")


def memory(make: Callable[[], Any]) -> int:
    tracemalloc.start()
    made = make()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del made
    return size


def judge(word: str, good: bool) -> bool:
    print(f"{'met' if good else 'missed'}: {word}")
    return good


def ran(title: str, contestants: Contestants, goals: Sequence[tuple[str, str, float]]) -> bool:
    """Race, print the table and the goals; whether all were met."""
    times = race({name: run for name, (_, run) in contestants.items()})
    each = {name: times[name] / size * 1000 for name, (size, _) in contestants.items()}
    report(title, each, "arrays", (), "ns a prediction")
    good = True
    for one, other, goal in goals:
        if other in each:
            ratio = each[other] / each[one]
            good &= judge(f"{one} {ratio:.2f} times as fast as {other}, goal {goal:g}", ratio >= goal)
    for n in ORDERS:
        ratio = each[f"arrays, n = {n}"] / each["arrays"]
        good &= judge(f"n = {n} takes {ratio:.2f} times as long as n = {N}, goal {LONGER:g}", ratio <= LONGER)
    return good


def main() -> int:
    paths = sys.argv[1:] or [path for path in os.environ.get("NGRAM_TEXT", "").split(os.pathsep) if path]
    with packages([]) as (package,):
        corpus, ngram, metrics, vocab = (
            importlib.import_module(f".{name}", package.__name__) for name in ("corpus", "ngram", "metrics", "vocab")
        )
        train, held_out = read(paths, corpus)
        words = vocab.Vocab(chain.from_iterable(train), unk=True)
        ids, size = words.ids, len(words.predictable)
        held_out = [[word if word in words else UNK for word in sentence] for sentence in held_out]
        text, asked = Text.of(train, ids), Text.of(held_out, ids)
        few_train, few_held_out = train[::TENTH], held_out[::TENTH]
        few = sum(map(len, few_held_out)) + len(few_held_out)
        few_fit = sum(map(len, few_train)) + len(few_train)
        compare(train, text, ids)
        counts = {n: Counts.of(text, n) for n in (N, *ORDERS)}
        flat, flat_held_out = padded(train, N), padded(held_out, N)
        rows = dictionary(flat, N)
        model = ngram.AddK(ngram.count(train, N), K, words.predictable)
        right, few_asked = ask_arrays(counts[N], asked, size), Text.of(few_held_out, ids)
        print(f"{len(text):,} predictions to train on, {len(asked):,} held out, {size:,} words")
        for n in range(1, MAX_ORDER + 1):
            made = Counts.of(text, n)
            print(f"n = {n}: {len(made):,} n-grams, held-out perplexity {ask_arrays(made, asked, size):,.1f}")

        fit: Contestants = {
            "arrays": (len(text), lambda: Counts.of(text, N)),
            "arrays, from words": (
                len(text),
                lambda: Counts.of(Text.of(train, vocab.Vocab(chain.from_iterable(train), unk=True).ids), N),
            ),
            "Counter": (len(text), lambda: counter(flat, N)),
            "reference": (len(text), lambda: ngram.count(train, N)),
        }
        ask: Contestants = {
            "arrays": (len(asked), lambda: ask_arrays(counts[N], asked, size)),
            "arrays, from words": (len(asked), lambda: ask_arrays(counts[N], Text.of(held_out, ids), size)),
            "dictionary": (len(asked), lambda: ask_dictionary(rows, flat_held_out, size)),
            "reference": (few, lambda: metrics.perplexity(model, few_held_out)),
        }
        for n in ORDERS:
            fit[f"arrays, n = {n}"] = (len(text), partial(Counts.of, text, n))
            ask[f"arrays, n = {n}"] = (len(asked), partial(ask_arrays, counts[n], asked, size))
        values = {
            "dictionary": (ask_dictionary(rows, flat_held_out, size), right),
            "reference": (metrics.perplexity(model, few_held_out), ask_arrays(counts[N], few_asked, size)),
        }
        if installed("nltk"):
            one, every = nltk_grams(few_train, [N]), nltk_grams(few_train, range(1, N + 1))
            fit["nltk.lm"] = (few_fit, lambda: nltk_model(words.predictable, every))
            fit["nltk.lm, trigrams alone"] = (few_fit, lambda: nltk_model(words.predictable, one))
            fitted = nltk_model(words.predictable, nltk_grams(train, [N]))
            grams = list(chain.from_iterable(nltk_grams(few_held_out, [N])))
            ask["nltk.lm"] = (few, lambda: fitted.perplexity(grams))
            # <s> is one of its words
            values["nltk.lm"] = (fitted.perplexity(grams), ask_arrays(counts[N], few_asked, size + 1))
        if installed("kenlm"):
            scorer, lines = kenlm_model(train, words.predictable), [" ".join(sentence) for sentence in held_out]
            ask["KenLM"] = (len(asked), lambda: sum(map(scorer.score, lines)))
        agree(values)

        good = ran("Fit, trigrams", fit, FASTER["fit"] if paths else ())
        good &= ran("Perplexity, trigrams", ask, FASTER["perplexity"] if paths else ())
        for n, made in counts.items():
            each = made.nbytes / len(made)
            good &= judge(f"n = {n}: {each:.1f} bytes an n-gram, goal {BYTES:g}", each <= BYTES)
        print(f"dictionary, n = {N}: {memory(lambda: dictionary(flat, N)) / len(counts[N]):.0f} bytes an n-gram")
    return 0 if good else 1


if __name__ == "__main__":
    protocol("benchmarks.ngram")
    sys.exit(main())
