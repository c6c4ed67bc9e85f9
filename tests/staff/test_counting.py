"""lm/counting.py: the lecture's count of operations, and gradients that are those of forward_mode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lm import counting, forward_mode

RNG = np.random.default_rng(5)


def point(n: int) -> list[float]:
    """Where the gradient is taken."""
    return [float(number) for number in RNG.normal(size=n)]


def cyclic(x):
    """The lecture's function on Duals."""
    total = forward_mode.Dual(0.0)
    for i, number in enumerate(x):
        total = total + forward_mode.sin(number) * x[(i + 1) % len(x)]
    return total


@pytest.fixture(scope="module")
def thousand():
    """Both modes at n = 1000: the point, then (gradient, operations) forwards and backwards."""
    x = point(1000)
    return x, counting.by_forward_mode(x), counting.by_reverse_mode(x)


def test_forward_mode_takes_375_times_the_operations(thousand):
    """Three million against eight thousand."""
    _, (_, forwards), (_, backwards) = thousand
    assert (forwards, backwards) == (3_000_000, 8_000)
    assert f"{forwards / backwards:.2f}" == "375.00"


def test_both_modes_give_the_same_gradient(thousand):
    """That of the closed form, with the cyclic neighbour."""
    numbers, (one, _), (other, _) = thousand
    x = np.array(numbers)
    exact = np.cos(x) * np.roll(x, -1) + np.sin(np.roll(x, 1))
    np.testing.assert_allclose(one, exact, rtol=0, atol=1e-13)
    np.testing.assert_allclose(other, one, rtol=0, atol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 30], ids=["n1", "n2", "n3", "n30"])
def test_any_number_of_inputs(n):
    """3n operations a pass, n passes; 3n and 5n the other way. The gradients are those of the student's Dual."""
    x = point(n)
    (one, forwards), (other, backwards) = counting.by_forward_mode(x), counting.by_reverse_mode(x)
    assert (forwards, backwards) == (3 * n * n, 8 * n)
    assert forwards / backwards == pytest.approx(3 * n / 8)
    duals = forward_mode.gradient(cyclic, x)
    np.testing.assert_allclose(one, duals, rtol=0, atol=1e-15)
    np.testing.assert_allclose(other, duals, rtol=0, atol=1e-15)


def test_values_are_those_of_the_function():
    """The last node is f(x), and the first ones are the inputs."""
    x = point(6)
    graph = counting.cyclic(x)
    assert graph.values[:6] == x
    assert graph.values[-1] == pytest.approx(float(np.sum(np.sin(x) * np.roll(x, -1))))
    assert graph.values[-1] == pytest.approx(cyclic([forward_mode.Dual(number) for number in x]).value)


def test_a_node_that_is_used_twice():
    """(a + a) * a at 3: both modes add up what comes over several edges."""
    graph = counting.Graph()
    a = graph.leaf(3.0)
    graph.multiply(graph.add(a, a), a)
    assert graph.forward(a) == graph.reverse()[a] == 12.0
    assert graph.operations == 2 + (2 + 4)


def test_counting_gives_nothing_away():
    """It knows neither file of which students write a part."""
    source = Path(counting.__file__).read_text(encoding="utf-8")
    assert "forward_mode import" not in source
    assert "tape" not in source
