"""Decoding as solved: against PyTorch, all subsets of a small vocabulary, and a network that really is one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from lm import decoding, rnn
from lm.decoding import BOS_ID, EOS_ID, PAD_ID
from lm.testing import StepTable
from lm.types import RNNParams


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers every time."""
    return np.random.default_rng(6)


def test_the_ids_of_the_special_words() -> None:
    """As in every vocabulary."""
    assert (PAD_ID, BOS_ID, EOS_ID) == (0, 1, 2)


@pytest.mark.parametrize("tau", [0.1, 1.0, 2.0, 50.0])
@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_temperature_equals_pytorch(rng: np.random.Generator, tau: float, size: float) -> None:
    """softmax(logits / tau), and -inf stays impossible."""
    logits = size * rng.normal(size=12)
    logits[[2, 7]] = -np.inf
    expected = torch.softmax(torch.tensor(logits) / tau, dim=-1).numpy()
    np.testing.assert_allclose(decoding.temperature(logits, tau), expected, rtol=1e-12, atol=1e-300)
    assert decoding.greedy(logits) == int(torch.tensor(logits).argmax())
    np.testing.assert_array_equal(decoding.temperature(logits, 0), np.eye(12)[decoding.greedy(logits)])


def test_docstring_examples() -> None:
    """The numbers in the docstrings."""
    np.testing.assert_allclose(decoding.temperature(np.log([1.0, 4.0]), 2.0), [1 / 3, 2 / 3])
    np.testing.assert_allclose(decoding.top_k(np.array([0.1, 0.4, 0.1, 0.4]), 3), [1 / 9, 4 / 9, 0, 4 / 9])
    for p in (0.9, 0.6):
        np.testing.assert_allclose(decoding.top_p(np.array([0.5, 0.41, 0.09]), p), [0.5 / 0.91, 0.41 / 0.91, 0])


@pytest.mark.parametrize("k", [1, 3, 8, 9])
def test_top_k_equals_pytorch(rng: np.random.Generator, k: int) -> None:
    """The same words where no two are equally probable."""
    probs = rng.dirichlet(np.ones(8))
    kept = torch.topk(torch.tensor(probs), min(k, 8)).indices.numpy()
    np.testing.assert_array_equal(np.flatnonzero(decoding.top_k(probs, k)), np.sort(kept))
    np.testing.assert_allclose(decoding.top_k(probs, k)[kept], probs[kept] / probs[kept].sum())


@pytest.mark.parametrize("probs", [[4, 1, 3, 0, 8], [2, 2, 4, 4, 4], [1, 5, 5, 5], [16, 0]], ids=str)
def test_cuts_against_all_subsets(probs: list[int]) -> None:
    """Of all sets of k words, or of the smallest sets that reach p, the most probable, then the one of lower ids."""
    sixteenths = np.array(probs) / 16
    subsets = [s for n in range(1, len(probs) + 1) for s in itertools.combinations(range(len(probs)), n)]

    def best(candidates: list[tuple[int, ...]]) -> list[int]:
        return list(min(candidates, key=lambda s: (-sum(probs[i] for i in s), s)))

    def words(distribution: np.ndarray) -> list[int]:
        return np.flatnonzero(distribution).tolist()  # type: ignore[no-any-return]

    for k in range(1, len(probs) + 1):
        expected = best([s for s in subsets if len(s) == k])
        assert words(decoding.top_k(sixteenths, k)) == [i for i in expected if probs[i]]
    for need in range(1, 17):
        reach = [s for s in subsets if sum(probs[i] for i in s) >= need]
        fewest = min(map(len, reach))
        assert words(decoding.top_p(sixteenths, need / 16)) == best([s for s in reach if len(s) == fewest])


def test_generate_draws_with_the_right_frequencies() -> None:
    """Over evenly spaced uniforms each word comes as often as its probability says."""
    probs = np.array([0.5, 0.3, 0.15, 0.05])
    step = StepTable({}, [3.0, 3.0, *np.log(probs)])
    drawn = [decoding.generate(step, (), [(i + 0.5) / 2000], 1) for i in range(2000)]
    counts = [drawn.count([]), *(drawn.count([word]) for word in (3, 4, 5))]
    np.testing.assert_allclose(counts, 2000 * probs, atol=1)


def network(rng: np.random.Generator) -> RNNParams:
    """A random network of nine words."""
    shapes = ((9, 4), (6, 4), (6,), (6, 6), (9, 6), (9,))
    return RNNParams(*(rng.normal(size=shape) for shape in shapes))


@pytest.mark.parametrize(("tau", "k", "p"), [(1.0, None, None), (0.7, 4, 0.9), (0.0, None, None)], ids=str)
def test_generate_with_a_network(rng: np.random.Generator, tau: float, k: int | None, p: float | None) -> None:
    """Step by step a network writes what its pass over the whole sentence would have chosen at each place."""
    params = network(rng)
    params.b_y[EOS_ID] = -1.0

    def step(word: int, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h = rnn.rnn_step_forward(params.E[[word]], h, params)
        return (h @ params.W_hy.T + params.b_y)[0], h

    lengths = set()
    for _ in range(5):
        uniforms: list[Any] = rng.uniform(size=12).tolist()
        words = decoding.generate(step, np.zeros((1, 6)), uniforms, 12, tau, k, p)
        lengths.add(len(words))
        assert not {PAD_ID, BOS_ID, EOS_ID} & set(words)
        logits, _ = rnn.rnn_forward(np.array([[BOS_ID, *words]]), params)
        chosen = [*words, EOS_ID][:12]
        for u, word, row in zip(uniforms, chosen, logits[0], strict=False):
            row[[PAD_ID, BOS_ID]] = -np.inf
            probs = decoding.temperature(row, tau)
            probs = probs if k is None else decoding.top_k(probs, k)
            probs = probs if p is None else decoding.top_p(probs, p)
            below, above = probs[:word].sum(), probs[: word + 1].sum()
            assert below - 1e-12 <= u <= above + 1e-12
    assert max(lengths) > 2
