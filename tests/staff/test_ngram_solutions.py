"""The solved n-gram part on the farm corpus: the lecture's figures, within bands that any seed meets.

The bands are about 3.5 standard deviations wide, measured over 5 to 30 seeds. What a figure of this corpus (seed 0)
is stands beside its band.
"""

from __future__ import annotations

import doctest
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from lm import corpus, metrics, ngram, truth
from lm.corpus import Numbers
from lm.types import Counts, LanguageModel, Sentence

ORDERS = range(1, 7)


@dataclass(frozen=True)
class Farm:
    """The corpus and its models, by order."""

    data: corpus.Splits
    counts: dict[int, Counts]
    mle: dict[int, ngram.MLE]
    lambdas: dict[int, float]
    mixed: dict[int, ngram.Interpolated]


@pytest.fixture(scope="module")
def farm() -> Farm:
    """Everything that the tests below measure, made once."""
    data = corpus.splits()
    counts = {n: ngram.count(data.train, n) for n in ORDERS}
    mle = {n: ngram.MLE(counts[n]) for n in ORDERS}
    models = list(mle.values())
    lambdas = ngram.tune_grid(models, data.val)
    mixed = {n: ngram.Interpolated(models[:n], lambdas) for n in ORDERS}
    return Farm(data, counts, mle, lambdas, mixed)


def accuracy(model: LanguageModel, k: int, numbers: Numbers) -> float:
    """Its agreement over 400 prefixes with k attractors."""
    start = ("<s>",) * (model.order - 1)
    return metrics.agreement_accuracy(
        lambda prefix, word: model.prob(word, start + prefix), corpus.agreement_set(k, numbers)
    )


def unseen(model: ngram.MLE, sentences: Sequence[Sentence]) -> int:
    """How many n-grams of the text have probability 0."""
    grams = (gram for sentence in sentences for gram in ngram.ngrams(sentence, model.order))
    return sum(model.prob(gram[-1], gram[:-1]) == 0 for gram in grams)


# The exercise that everybody does on paper.


def test_the_docstrings_examples_are_right() -> None:
    """The worked examples in the docstrings give what stands there."""
    for module, examples in ((ngram, 10), (metrics, 0)):
        found = doctest.testmod(module)
        assert found.failed == 0
        assert found.attempted >= examples


def test_exercise_1_from_counts_to_perplexity() -> None:
    """The lecture's three sentences, counted, estimated, smoothed and scored: 1/9, 9^(1/5), 2/11, 0 and 1/12."""
    sentences = [line.split() for line in ("the cow eats corn", "the cow eats hay", "the bat eats flies")]
    counts = ngram.count(sentences, 2)
    model = ngram.MLE(counts)
    assert model.prob("cow", ("the",)) == 2 / 3
    assert model.prob("corn", ("eats",)) == 1 / 3
    assert model.prob("</s>", ("corn",)) == 1
    new = "the bat eats corn".split()
    assert new not in sentences
    assert ngram.sentence_logprob(model, new) == pytest.approx(math.log(1 / 9), rel=1e-14)
    assert metrics.perplexity(model, [new]) == pytest.approx(1.5518, abs=5e-5)
    assert len(model.vocabulary) == 8
    assert ngram.AddK(counts, 1, model.vocabulary).prob("corn", ("eats",)) == 2 / 11
    assert ngram.AddK(counts, 1, model.vocabulary).prob("fish", ("eats",)) == 0
    assert ngram.AddK(counts, 1, [*model.vocabulary, "fish"]).prob("fish", ("eats",)) == 1 / 12


# Figures that others print, to the digits that stand there.

ABCD = [list("abcd"), ["<unk>", "<unk>", "a", "d", "b", "<unk>"]]  # nltk's text "a b c d", "e g a d b e"
TYPES = ["a", "b", "c", "d", "z", "</s>", "<unk>", "S"]  # its vocabulary; "S" stands for <s>, which nltk counts


@pytest.mark.parametrize(
    ("model", "text", "bits", "perplexity"),
    [
        (ngram.MLE(ngram.count(ABCD, 2)), "a b <unk> a d", 1.0975, 2.1398),
        (ngram.AddK(ngram.count(ABCD, 2), 0.1, TYPES), "a c <unk> d c", 4.0917, 17.0504),
        (ngram.AddK(ngram.count(ABCD, 2), 1, TYPES), "a c <unk> d c", 3.1275, 8.7393),
        (ngram.MLE({(): {**ngram.count(ABCD, 1)[()], "S": 2}}), "S a c <unk> d c", 3.0095, 8.0529),
        (ngram.MLE(ngram.count(ABCD, 2)), "a c d", math.inf, math.inf),
    ],
    ids=["mle", "lidstone", "laplace", "mle-unigrams", "mle-unseen"],
)
def test_the_entropies_of_nltk(model: LanguageModel, text: str, bits: float, perplexity: float) -> None:
    """Counted, estimated and scored by our functions: what the tests of nltk.lm print, to their four digits."""
    found = metrics.cross_entropy(model, [text.split()])
    assert metrics.bits(found) == pytest.approx(bits, abs=6e-5)
    assert metrics.perplexity(model, [text.split()]) == pytest.approx(perplexity, abs=6e-5)


def test_the_printed_figures_of_jurafsky_and_martin() -> None:
    """Chapter 3: three sentences with add-one, with and without ``<s>`` in V; 608 times "want to" shrink to 238."""
    sentences = ["I am Sam".split(), "Sam I am".split(), "I do not like green eggs and ham".split()]
    counts = ngram.count(sentences, 2)
    types = ngram.MLE(counts).vocabulary
    assert len(types) == 11
    assert ngram.AddK(counts, 1, types).prob("am", ("I",)) == pytest.approx(3 / 14, rel=1e-15)
    assert ngram.AddK(counts, 1, [*types, "S"]).prob("am", ("I",)) == pytest.approx(1 / 5, rel=1e-15)  # <s> counted
    assert ngram.AddK(counts, 1, [*types, "S"]).prob("Sam", ("am",)) == pytest.approx(1 / 7, rel=1e-15)
    words = ["to", "...", *map(str, range(1444))]  # V = 1446; "want" occurs 927 times
    p = ngram.AddK({("want",): {"to": 608, "...": 319}}, 1, words).prob("to", ("want",))
    for found, printed in ((p, 0.26), (927 * p / 100, 2.3790), (927 * p / 608, 0.39)):
        assert found == pytest.approx(printed, abs=5e-3)


# Counting.


def test_counts_hold_every_prediction(farm: Farm) -> None:
    """Each order counts the words and ends of 20,000 sentences; ``<s>`` is never among what is predicted."""
    predictions = sum(len(sentence) + 1 for sentence in farm.data.train)
    for counts in farm.counts.values():
        assert sum(sum(row.values()) for row in counts.values()) == predictions
        assert all("<s>" not in row for row in counts.values())
    assert 30_600 <= sum(map(len, farm.counts[6].values())) <= 31_700  # 30,984; lecture 31,136


def test_cows_eat(farm: Farm) -> None:
    """What follows "cows eat": corn, grass and hay, then what other animals eat near the cows."""
    row = farm.counts[3]["cows", "eat"]
    assert 360 <= sum(row.values()) <= 505  # lecture: 433
    first = sorted(row, key=row.__getitem__, reverse=True)
    assert first[:3] == ["corn", "grass", "hay"]
    assert {"flies", "mice", "fish", "bones", "seeds", "eggs"} <= set(row)


# Perplexity.


def test_perplexity_of_the_unsmoothed_models(farm: Farm) -> None:
    """Finite up to bigrams; from trigrams on a few unseen n-grams make it infinite."""
    assert 25.4 <= metrics.perplexity(farm.mle[1], farm.data.test) <= 26.2  # 25.79; lecture 25.42
    assert 3.74 <= metrics.perplexity(farm.mle[2], farm.data.test) <= 3.89  # 3.813
    for n, (least, most) in {3: (1, 10), 4: (20, 45), 5: (330, 405), 6: (1050, 1260)}.items():
        assert least <= unseen(farm.mle[n], farm.data.test) <= most
        assert metrics.perplexity(farm.mle[n], farm.data.test) == math.inf


def test_add_one_gets_worse_with_the_order(farm: Farm) -> None:
    """With k = 1 the 6-gram is far worse than the trigram: the mass goes to words that cannot come."""
    vocabulary = corpus.vocabulary().predictable
    assert len(vocabulary) == 54
    found = {n: metrics.perplexity(ngram.AddK(farm.counts[n], 1, vocabulary), farm.data.test) for n in (3, 5, 6)}
    assert 3.30 <= found[3] <= 3.50  # 3.426
    assert 5.35 <= found[6] <= 6.0  # 5.779; lecture 5.734
    assert found[3] < found[5] < found[6]


def test_the_tuned_weights(farm: Farm) -> None:
    """Short contexts are trusted almost wholly, those of 5 words to a quarter. Order by order: what is found stays."""
    assert list(farm.lambdas) == [2, 3, 4, 5, 6]
    assert farm.lambdas[2] == farm.lambdas[3] == 0.99
    assert farm.lambdas[4] in (0.95, 0.98, 0.99)
    assert 0.40 <= farm.lambdas[5] <= 0.55  # 0.45
    assert 0.20 <= farm.lambdas[6] <= 0.35  # 0.25
    three = ngram.tune_grid([farm.mle[n] for n in (1, 2, 3)], farm.data.val)
    assert three == {n: farm.lambdas[n] for n in (2, 3)}


def test_each_tuned_weight_is_the_best_of_the_grid(farm: Farm) -> None:
    """No other weight of the grid gives the held-out text a lower perplexity, by ``Interpolated`` itself."""
    held_out = farm.data.val[:150]
    models = [farm.mle[n] for n in (1, 2, 3, 4, 5)]
    lambdas = ngram.tune_grid(models, held_out)
    for n in (2, 5):
        found = {
            weight: metrics.perplexity(ngram.Interpolated(models[:n], {**lambdas, n: weight}), held_out)
            for weight in ngram.GRID
        }
        assert min(found, key=found.__getitem__) == lambdas[n]


def test_the_interpolated_6_gram_is_the_best(farm: Farm) -> None:
    """Perplexity falls with every order, to about 2.86, and stays clear of the truth, 2.49."""
    found = [metrics.perplexity(farm.mixed[n], farm.data.test) for n in ORDERS]
    assert found == sorted(found, reverse=True)
    assert 2.76 <= found[-1] <= 2.93  # 2.870; lecture 2.856
    words = sum(len(sentence) + 1 for sentence in farm.data.test)
    entropy = -math.fsum(map(truth.log_probability, farm.data.test)) / words
    assert 0.120 <= math.log(found[-1]) - entropy <= 0.155  # lecture: 0.137 nats a word


# Agreement.


@pytest.mark.parametrize("n", [2, 3, 6], ids=["n2", "n3", "n6"])
def test_agreement_without_attractors(farm: Farm, n: int) -> None:
    """With nothing in between every order agrees."""
    assert accuracy(farm.mixed[n], 0, "opposite") >= 0.99


@pytest.mark.parametrize(
    ("n", "k", "numbers", "least", "most"),
    [
        (2, 2, "opposite", 0.02, 0.11),
        (3, 2, "opposite", 0.02, 0.11),
        (2, 2, "same", 0.89, 0.98),
        (4, 1, "opposite", 0.37, 0.56),
        (4, 4, "opposite", 0.37, 0.56),
        (4, 2, "same", 0.42, 0.63),
        (5, 1, "opposite", 0.74, 0.88),
        (6, 1, "opposite", 0.74, 0.88),
        (5, 2, "opposite", 0.11, 0.31),
        (6, 6, "opposite", 0.11, 0.31),
        (6, 2, "same", 0.70, 0.89),
        (6, 3, "random", 0.38, 0.62),
    ],
    ids=[
        "n2-k2-opposite",
        "n3-k2-opposite",
        "n2-k2-same",
        "n4-k1-opposite",
        "n4-k4-opposite",
        "n4-k2-same",
        "n5-k1-opposite",
        "n6-k1-opposite",
        "n5-k2-opposite",
        "n6-k6-opposite",
        "n6-k2-same",
        "n6-k3-random",
    ],
)
def test_agreement_past_attractors(farm: Farm, n: int, k: int, numbers: Numbers, least: float, most: float) -> None:
    """Short contexts follow the nearest noun, longer ones see the subject past one attractor at most."""
    assert least <= accuracy(farm.mixed[n], k, numbers) <= most


# Sampling.


@pytest.mark.parametrize(
    ("n", "grammatical", "agreeing", "copied"),
    [
        (1, (0.0, 0.002), None, (0.0, 0.002)),
        (2, (0.15, 0.26), (0.58, 0.76), (0.01, 0.05)),
        (3, (0.62, 0.72), (0.58, 0.68), (0.10, 0.17)),
        (5, (1.0, 1.0), (0.77, 0.87), (0.37, 0.47)),
    ],
    ids=["n1", "n2", "n3", "n5"],
)
def test_samples(
    farm: Farm,
    n: int,
    grammatical: tuple[float, float],
    agreeing: tuple[float, float] | None,
    copied: tuple[float, float],
) -> None:
    """The longer the context, the better the grammar, and the more of it is learnt by heart."""
    rng = random.Random(n)
    size = 600
    samples = [ngram.generate(farm.mle[n], [rng.random() for _ in range(60)], 60) for _ in range(size)]
    train = set(farm.data.train)
    right = [sample for sample in samples if truth.is_grammatical(sample)]
    assert grammatical[0] <= len(right) / size <= grammatical[1]
    assert copied[0] <= sum(tuple(sample) in train for sample in samples) / size <= copied[1]
    if agreeing is not None:
        assert agreeing[0] <= sum(map(truth.agrees, right)) / len(right) <= agreeing[1]


def test_samples_follow_the_probabilities(farm: Farm) -> None:
    """Over 20,000 draws each frequency is within five standard deviations of its probability."""
    rng = random.Random(0)
    vocabulary = farm.mle[2].vocabulary
    probs = [farm.mle[2].prob(word, ("eat",)) for word in vocabulary]
    drawn = [0] * len(vocabulary)
    for _ in range(20_000):
        drawn[ngram.draw(probs, rng.random())] += 1
    for p, times in zip(probs, drawn, strict=True):
        assert abs(times / 20_000 - p) <= 5 * math.sqrt(p * (1 - p) / 20_000)
        assert p > 0 or times == 0
