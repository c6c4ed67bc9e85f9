"""experiments/array_ngrams.py: the same numbers as the solved n-gram part, whatever the order and the words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from experiments import array_ngrams
from experiments.array_ngrams import MAX_ORDER, Counts, Text, add_k, interpolated, mle, perplexity
from lm import corpus, metrics, ngram
from lm.types import Sentence
from lm.vocab import Vocab

ORDERS = range(1, MAX_ORDER + 1)
TRAIN = corpus.splits().train[:1_500]
TEST = [*corpus.splits().test[:150], ("the", "unicorn", "eats", "the", "corn"), (), ("unicorn",), ("corn",)]
VOCABS = {
    "unk": Vocab((word for sentence in TRAIN for word in sentence), unk=True),
    "closed": Vocab(word for sentence in TRAIN for word in sentence),
    "many": Vocab([*(word for sentence in TRAIN for word in sentence), *map(str, range(20_000))], unk=True),
}
"""With many words the ids take 15 bits: from order 5 on contexts are hashed."""


def events(sentences: Sequence[Sentence], n: int) -> list[tuple[str, ...]]:
    """The n-grams of all sentences, in their order."""
    return [gram for sentence in sentences for gram in ngram.ngrams(sentence, n)]


@pytest.mark.parametrize("words", VOCABS)
@pytest.mark.parametrize("n", ORDERS)
def test_counts_are_those_of_the_dictionary(n: int, words: str) -> None:
    """As many n-grams, and each n-gram of the text has its count and that of its context."""
    text = Text.of(TRAIN, VOCABS[words].ids)
    counts, expected = Counts.of(text, n), ngram.count(TRAIN, n)
    assert len(counts) == sum(map(len, expected.values()))
    assert int(counts.count.sum()) == len(text) == sum(len(sentence) + 1 for sentence in TRAIN)
    found, grams = counts.find(text.keys(n)), events(TRAIN, n)
    assert found.count.tolist() == [expected[gram[:-1]][gram[-1]] for gram in grams]
    totals = {context: sum(row.values()) for context, row in expected.items()}
    assert found.total.tolist() == [totals[gram[:-1]] for gram in grams]


@pytest.mark.parametrize("words", VOCABS)
@pytest.mark.parametrize("n", ORDERS)
def test_add_k_is_that_of_the_solution(n: int, words: str) -> None:
    """Prediction by prediction, with unknown words, with and without <unk>; and so is the perplexity."""
    vocab = VOCABS[words]
    model = ngram.AddK(ngram.count(TRAIN, n), 0.3, vocab.predictable)
    text = Text.of(TEST, vocab.ids)
    keys, counts = text.keys(n), Counts.of(Text.of(TRAIN, vocab.ids), n)
    got = add_k(counts.find(keys), 0.3, len(vocab.predictable))
    np.testing.assert_allclose(got, [model.prob(gram[-1], gram[:-1]) for gram in events(TEST, n)], rtol=1e-13)
    assert perplexity(got) == pytest.approx(metrics.perplexity(model, TEST), rel=1e-12)
    assert perplexity(got) == math.inf or words != "closed"  # the unicorn
    in_any_order = add_k(counts.find_sorted(np.sort(keys)), 0.3, len(vocab.predictable))
    assert perplexity(in_any_order) == pytest.approx(perplexity(got), rel=1e-12)


@pytest.mark.parametrize("words", VOCABS)
@pytest.mark.parametrize("n", ORDERS)
def test_relative_frequencies_and_mixtures_are_those_of_the_solution(n: int, words: str) -> None:
    """MLE, and the orders 1 to n mixed: a seen context with a zero, an unseen one, an unknown word."""
    vocab = VOCABS[words]
    text, train = Text.of(TEST, vocab.ids), Text.of(TRAIN, vocab.ids)
    models = [ngram.MLE(ngram.count(TRAIN, order)) for order in range(1, n + 1)]
    found = [Counts.of(train, order).find(text.keys(order)) for order in range(1, n + 1)]
    grams = events(TEST, n)
    assert mle(found[-1]).tolist() == [models[-1].prob(gram[-1], gram[:-1]) for gram in grams]
    assert (found[-1].total > 0).tolist() == [models[-1].seen(gram[:-1]) for gram in grams]
    lambdas = {order: 0.9 - order / 10 for order in range(2, n + 1)}
    mixed = ngram.Interpolated(models, lambdas)
    expected = [mixed.prob(gram[-1], gram[:-1]) for gram in grams]
    np.testing.assert_allclose(interpolated(found, lambdas), expected, rtol=1e-13)


@pytest.mark.parametrize("n", ORDERS)
def test_a_text_of_nothing(n: int) -> None:
    """It has no counts; all that is asked of it was never seen; and it may be asked about, too."""
    ids = VOCABS["unk"].ids
    empty, other = Text.of([], ids), Text.of([["corn"], []], ids)
    counts = Counts.of(empty, n)
    assert (len(empty), len(counts), len(counts.find(empty.keys(n)).count)) == (0, 0, 0)
    found = counts.find(other.keys(n))
    assert (found.count.tolist(), found.total.tolist(), mle(found).tolist()) == ([0] * 3, [0] * 3, [0.0] * 3)
    assert add_k(found, 0.5, 8).tolist() == [1 / 8] * 3
    assert len(Counts.of(other, n).find(empty.keys(n)).count) == 0


@pytest.mark.parametrize("n", ORDERS)
def test_each_sentence_is_padded(n: int) -> None:
    """An empty sentence is one prediction; no n-gram reaches into the next sentence."""
    ids = Vocab(["corn", "cow"]).ids
    apart = Counts.of(Text.of([["cow"], ["corn"], []], ids), n)
    expected = ngram.count([["cow"], ["corn"], []], n)
    assert sorted(apart.count.tolist()) == sorted(times for row in expected.values() for times in row.values())
    together = Text.of([["cow", "corn"]], ids).keys(n)
    known = [gram[-1] in expected.get(gram[:-1], {}) for gram in ngram.ngrams(["cow", "corn"], n)]
    assert (apart.find(together).count > 0).tolist() == known


def test_one_word_over_and_over() -> None:
    """A text of one word type: its id is the largest there is, and the n-gram of it the last key."""
    ids = {"<pad>": 0, "<s>": 1, "</s>": 2, "corn": 3}
    text = Text.of([["corn"] * 50], ids)
    counts = Counts.of(text, 2)
    assert sorted(counts.count.tolist()) == [1, 1, 49]  # <s> corn, corn </s>, corn corn
    unknown = counts.find(Text.of([["cow", "cow"]], ids).keys(2))
    assert (unknown.count.tolist(), unknown.total.tolist()) == ([0, 0, 0], [1, 0, 0])
    assert unknown.known.tolist() == [False, False, True]


def test_contexts_are_found_at_both_ends_of_their_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word below all, above all and between the words that followed the context; also in blocks of two."""
    ids = {word: i for i, word in enumerate(["<pad>", "<s>", "</s>", *"abcdefgh"])}
    counts = Counts.of(Text.of([["d", "c"], ["d", "e"], ["g", "c"]], ids), 2)
    asked = [["d", "b"], ["d", "d"], ["d", "h"], ["f", "h"], ["h", "a"], ["a", "a"], ["d", "c"], ["g", "h"]]
    keys = Text.of(asked, ids).keys(2)[1::3]
    for block in (array_ngrams._BLOCK, 2):
        monkeypatch.setattr(array_ngrams, "_BLOCK", block)
        found = counts.find(keys)
        assert found.total.tolist() == [2, 2, 2, 0, 0, 0, 2, 1]
        assert found.count.tolist() == [0, 0, 0, 0, 0, 0, 1, 0]


def test_words_fill_a_key_exactly() -> None:
    """Ids of 16 bits: order 4 takes all 64 bits, the highest among them, and nothing is hashed."""
    ids = {"<s>": 0, "</s>": 1} | {str(i): i for i in range(2, 40_000)}
    text = Text.of([["39999"] * 5, ["39999", "2", "39999", "39999"]], ids)
    assert text.bits == 16
    keys = text.keys(4)
    assert int(keys.max()) == 39_999 * (1 + 2**16 + 2**32 + 2**48)
    expected = ngram.count([["39999"] * 5, ["39999", "2", "39999", "39999"]], 4)
    found = Counts.of(text, 4).find(keys)
    assert sorted(found.total.tolist()) == sorted(
        total for row in expected.values() for total in [sum(row.values())] * sum(row.values())
    )


def test_words_that_do_not_fit_are_hashed() -> None:
    """Ids of 13 bits: order 5 would take 65, and its oldest word without its highest bit would be another one."""
    ids = {"<s>": 0, "</s>": 1} | {str(i): i for i in range(2, 5_000)}
    text = Text.of([["7", *"2222"], [str(7 + 2**12), *"2222"]], ids)
    assert text.bits == 13
    assert len(Counts.of(text, 5)) == sum(map(len, ngram.count([["7", *"2222"], ["x", *"2222"]], 5).values()))


@pytest.mark.parametrize("n", ORDERS)
def test_an_ngram_takes_sixteen_bytes(n: int) -> None:
    """The key, its count and that of its context."""
    counts = Counts.of(Text.of(TRAIN, VOCABS["many"].ids), n)
    assert counts.nbytes == 16 * len(counts)


@pytest.mark.parametrize("order", [0, MAX_ORDER + 1], ids=["none", "too-long"])
def test_other_orders_are_refused(order: int) -> None:
    """The text is padded for the orders 1 to 6."""
    with pytest.raises(ValueError, match="order is 1 to 6"):
        Text.of(TEST, VOCABS["unk"].ids).keys(order)
