"""The solved bonus on smoothing: on the farm corpus, against what others print, and EM as the theory has it."""

from __future__ import annotations

import doctest
import importlib
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from lm import corpus, metrics, ngram, smoothing
from lm.testing import TableModel
from lm.types import Counts

TRAIN, ORDERS = 1_000, (1, 2, 3, 4)
KS = (1, 0.5, 0.1, 0.05, 0.02, 0.01, 0.005)  # the best of them is inside


@dataclass(frozen=True)
class Farm:
    """A small part of the corpus, and its counts by order."""

    data: corpus.Splits
    counts: dict[int, Counts]


@pytest.fixture(scope="module")
def farm() -> Farm:
    """1,000 sentences to train on, 500 of each other kind."""
    train, val, test = corpus.splits()
    data = corpus.Splits(train[:TRAIN], val[:500], test[:500])
    return Farm(data, {n: ngram.count(data.train, n) for n in ORDERS})


def test_the_examples_of_the_docstrings() -> None:
    """They give what they say."""
    found = doctest.testmod(importlib.import_module(smoothing.__name__))  # public tests import the package anew
    assert found == doctest.TestResults(0, 7)


@pytest.mark.parametrize(("n", "least"), [(3, 1.02), (4, 1.2)], ids=["n3", "n4"])
def test_kneser_ney_is_better_than_any_add_k(farm: Farm, n: int, least: float) -> None:
    """Its perplexity on new sentences is below that of add-k, although k was chosen on these very sentences.

    By 1.044 to 1.072 for trigrams and 1.26 to 1.36 for 4-grams, over five seeds.
    """
    vocabulary = corpus.vocabulary().predictable
    added = [metrics.perplexity(ngram.AddK(farm.counts[n], k, vocabulary), farm.data.test) for k in KS]
    assert min(added) not in (added[0], added[-1])
    assert metrics.perplexity(smoothing.KneserNey(farm.counts[n]), farm.data.test) * least < min(added)


@pytest.mark.parametrize("n", ORDERS, ids=["n1", "n2", "n3", "n4"])
def test_kneser_ney_sums_to_one_on_the_farm(farm: Farm, n: int) -> None:
    """In contexts seen and unseen, also where ``<unk>`` is among the words."""
    rare = {word for word, times in farm.counts[1][()].items() if times < 20}
    text = [["<unk>" if word in rare else word for word in sentence] for sentence in farm.data.train]
    model = smoothing.KneserNey(ngram.count(text, n), 0.6)
    assert "<unk>" in model.vocabulary
    assert "<s>" not in model.vocabulary
    asked = [context for _, context in smoothing.events(farm.data.test[:20], n)]
    for context in [*asked, ("fish",) * (n - 1), ("</s>",) * n]:
        assert math.fsum(model.prob(word, context) for word in model.vocabulary) == pytest.approx(1, abs=1e-12)


def test_stupid_backoff_is_no_distribution(farm: Farm) -> None:
    """Its scores sum to more than 1 wherever a word did not follow; the best word is that of the trigram counts."""
    model = smoothing.StupidBackoff([farm.counts[n] for n in (1, 2, 3)])
    for context, row in list(farm.counts[3].items())[:50]:
        scores = {word: model.prob(word, context) for word in model.vocabulary}
        if len(row) < len(scores):
            assert sum(scores.values()) > 1.001
        assert row[max(scores, key=scores.__getitem__)] == max(row.values())


def test_models_can_be_drawn_from(farm: Farm) -> None:
    """``generate`` and ``perplexity`` take both, as they take every model."""
    uniforms = np.random.default_rng(0).random(40).tolist()
    for model in (
        smoothing.KneserNey(farm.counts[3]),
        smoothing.StupidBackoff([farm.counts[n] for n in (1, 2, 3)]),
    ):
        sentence = ngram.generate(model, uniforms, 40)
        assert set(sentence) <= set(model.vocabulary)
        assert sentence[-1] == "."
        assert 1 < metrics.perplexity(model, farm.data.test[:20]) < 10


def test_good_turing_as_it_is_printed() -> None:
    """Church and Gale (1991), newswire, r* for r = 0 to 8; Jurafsky and Martin's fish."""
    n = (74_671_100_000, 2_018_046, 449_721, 188_933, 105_668, 68_379, 48_190, 35_709, 27_710, 22_280)
    found = smoothing.good_turing(dict(enumerate(n)))
    printed = {0: 0.000027, 1: 0.446, 2: 1.26, 3: 2.24, 4: 3.24, 5: 4.22, 6: 5.19, 7: 6.21, 8: 7.24}
    for r, value in printed.items():
        assert found[r] == pytest.approx(value, rel=3e-3)
    assert smoothing.good_turing({1: 3, 2: 1, 3: 1, 10: 1})[1] == pytest.approx(Fraction(2, 3))


def likelihood(pairs: list[tuple[float, float]], weight: float) -> float:
    """log p of events that have q and p."""
    return math.fsum(math.log(weight * q + (1 - weight) * p) for q, p in pairs)


def test_no_step_of_em_makes_the_text_less_probable(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one step more each time the likelihood rises, up to a point that a step does not move."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        words = [f"w{i}" for i in range(12)]
        low, high = ({w: float(x) for w, x in zip(words, rng.uniform(0.01, 1, 12), strict=True)} for _ in range(2))
        models = [TableModel({(): {**low, "</s>": 1.0}}), TableModel({("<s>",): high})]
        pairs = [(high[w], low[w]) for w in words]
        found = []
        for steps in range(1, 30):
            monkeypatch.setattr(smoothing, "STEPS", steps)
            found.append(smoothing.tune_em(models, [[w] for w in words])[2])
        values = [likelihood(pairs, weight) for weight in [0.5, *found]]
        assert all(later >= earlier - 1e-12 for earlier, later in pairwise(values))
        assert values[-1] > values[0]


def test_em_and_the_grid_agree_on_the_farm(farm: Farm) -> None:
    """Nothing of the grid is better than EM's weight, with its own weights below, and the best of it lies beside."""
    models = [ngram.MLE(farm.counts[n]) for n in ORDERS]
    found = smoothing.tune_em(models, farm.data.val)
    for n in (2, 3, 4):
        by_weight = {
            weight: metrics.perplexity(ngram.Interpolated(models[:n], {**found, n: weight}), farm.data.val)
            for weight in (*ngram.GRID, found[n])
        }
        assert min(by_weight.values()) == pytest.approx(by_weight.pop(found[n]), rel=1e-9)
        assert found[n] == pytest.approx(min(by_weight, key=by_weight.__getitem__), abs=0.03)
    assert smoothing.tune_em(models, farm.data.train)[4] > 0.99  # on the training text the highest order always wins
