"""The solved beam search: the example it prints, exhaustive search, and what a wider beam is good for."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from lm.beam import BOS_ID, EOS_ID, Hypothesis, beam_search
from lm.decoding import generate
from lm.testing import StepTable

WORDS = 7  # <pad>, <s>, </s> and four more


class Chain:
    """A model that looks at the last two words; its state is the word before. It counts how often it is asked."""

    def __init__(self, seed: int, spread: float = 2.0) -> None:
        self.logits = spread * np.random.default_rng(seed).normal(size=(WORDS, WORDS, WORDS))
        self.asked = 0

    def __call__(self, word: int, state: int) -> tuple[np.ndarray, int]:
        self.asked += 1
        return self.logits[state, word], word


def log_prob(chain: Chain, ids: list[int], max_len: int) -> float:
    """log p of a sentence, its end included where it is shorter than max_len."""
    words = [BOS_ID, *ids, *([EOS_ID] if len(ids) < max_len else [])]
    total = 0.0
    for before, word, following in zip([0, *words], words, words[1:], strict=False):
        logits = chain.logits[before, word]
        total += logits[following] - math.log(sum(math.exp(logit) for logit in logits[EOS_ID:]))
    return total


def everything(max_len: int) -> list[list[int]]:
    """All sentences of up to max_len words."""
    return [list(ids) for n in range(max_len + 1) for ids in product(range(EOS_ID + 1, WORDS), repeat=n)]


def test_the_example_of_the_docstring() -> None:
    """Greedy finds 0.3; a beam of two finds 0.4."""
    table = {
        (1,): [0, 0, -np.inf, *np.log([0.6, 0.4])],
        (1, 3): [0, 0, *np.log([0.5, 0.25, 0.25])],
        (1, 4): [0, 0, 0, -np.inf, -np.inf],
    }
    for k, expected in ((1, {3: 0.3}), (2, {4: 0.4, 3: 0.3})):
        found = beam_search(StepTable(table), (), k, 3)
        assert [ids for ids, _ in found] == [[word] for word in expected]
        assert [math.exp(log_p) for _, log_p in found] == pytest.approx(list(expected.values()))


@pytest.mark.parametrize("alpha", [0.0, 0.7, 2.0], ids=["log-p", "a-little", "a-lot"])
def test_wide_beam_is_exhaustive_search(alpha: float) -> None:
    """It has every sentence with its log p, and their probabilities add up to 1."""
    for seed, max_len in product(range(3), (1, 2, 4)):
        chain = Chain(seed)
        expected = {tuple(ids): log_prob(chain, ids, max_len) for ids in everything(max_len)}
        found = beam_search(chain, 0, 10**6, max_len, alpha)
        assert {tuple(ids): log_p for ids, log_p in found} == pytest.approx(expected, rel=1e-12)
        assert sum(math.exp(log_p) for _, log_p in found) == pytest.approx(1.0)
        scores = [log_p / min(len(ids) + 1, max_len) ** alpha for ids, log_p in found]
        assert scores == sorted(scores, reverse=True)


def test_width_one_is_what_generate_does_at_temperature_zero() -> None:
    """The same words, whether they end or not."""
    for seed in range(20):
        [(ids, _)] = beam_search(Chain(seed), 0, 1, 9)
        assert ids == generate(Chain(seed), 0, [0.0] * 9, 9, tau=0.0)


@pytest.mark.parametrize("alpha", [0.0, 1.0], ids=["log-p", "length"])
def test_stopping_early_loses_nothing(alpha: float) -> None:
    """The scores are those of a search that goes on to the end; what is found has the log p that it claims."""
    for seed in range(20):
        chain = Chain(seed)
        found = beam_search(chain, 0, 3, 12, alpha)
        assert [score(one, 12, alpha) for one in found] == pytest.approx(to_the_end(chain, 3, 12, alpha), rel=1e-12)
        for ids, log_p in found:
            assert log_p == pytest.approx(log_prob(chain, ids, 12), rel=1e-12)


def score(found: Hypothesis, max_len: int, alpha: float) -> float:
    """log p over a power of the number of predictions."""
    ids, log_p = found
    return log_p / min(len(ids) + 1, max_len) ** alpha


def to_the_end(chain: Chain, k: int, max_len: int, alpha: float) -> list[float]:
    """The k best scores of a search as plain as can be, which never stops early."""
    living: list[list[int]] = [[]]
    finished: list[Hypothesis] = []
    for n in range(1, max_len + 1):
        longer = [[*ids, word] for ids in living for word in range(EOS_ID, WORDS)]

        def log_p(ids: list[int], n: int = n) -> float:
            return log_prob(chain, ids[:-1], n) if ids[-1] == EOS_ID else log_prob(chain, ids, n)

        best = sorted(longer, key=lambda ids: -log_p(ids))[:k]
        finished += [(ids[:-1], log_p(ids)) for ids in best if ids[-1] == EOS_ID]
        living = [ids for ids in best if ids[-1] != EOS_ID]
    finished += [(ids, log_prob(chain, ids, max_len)) for ids in living]
    return sorted((score(one, max_len, alpha) for one in finished), reverse=True)[:k]


def test_wider_beams_find_likelier_sentences() -> None:
    """The likeliest of all: in 17 of 40 tables by greedy, in all of them with k = 10. At most k questions a step."""
    found = {1: 0, 2: 0, 4: 0, 10: 0}
    for seed in range(40):
        chain = Chain(seed, spread=1.0)
        likeliest = beam_search(chain, 0, 10**6, 5)[0][1]
        for k in found:
            chain.asked = 0
            found[k] += beam_search(chain, 0, k, 5)[0][1] > likeliest - 1e-9
            assert chain.asked <= 1 + k * 4
    assert found == {1: 17, 2: 30, 4: 38, 10: 40}  # as the writeup says


def test_logits_and_states_of_the_model_stay_as_they_are() -> None:
    """The model gives out its own arrays; nothing is written into them."""
    chain = Chain(0)
    before = chain.logits.copy()
    beam_search(chain, 0, 4, 6)
    assert np.array_equal(chain.logits, before)
