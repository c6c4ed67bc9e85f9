"""The small net and the checks by differences: against PyTorch in double precision, and the lecture's planted bug."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest
import torch
from lm import gradcheck, modules, procedural, testing
from lm.base import Module
from lm.types import NetValues

from autograder.feedback.assignment import load_assignment
from autograder.proof.catalogue import apply, load_mistakes

ROOT = Path(__file__).resolve().parents[2]
SHAPES = [(5, 4, 3), (1, 3, 2), (3, 1, 4), (4, 4, 4), (2, 3, 1)]
Net = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers every time."""
    return np.random.default_rng(5)


def net(rng: np.random.Generator, inputs: int, hidden: int, classes: int) -> Net:
    """x, y, alpha and beta."""
    y = np.eye(classes)[rng.integers(classes)]
    return rng.normal(size=inputs), y, rng.normal(size=(hidden, inputs)), rng.normal(size=(classes, hidden))


def relative_error(got: np.ndarray, expected: np.ndarray) -> float:
    """The largest error over the largest entry."""
    return float(np.abs(got - expected).max() / max(np.abs(got).max(), np.abs(expected).max()))


def whole_net_check(given: Net, g_alpha: np.ndarray, g_beta: np.ndarray) -> tuple[float, float]:
    """The errors of both gradients of the loss, by differences of the whole net."""
    x, y, alpha, beta = given
    by_alpha = gradcheck.numerical_gradient(lambda weights: procedural.forward(x, y, weights, beta).J, alpha)
    by_beta = gradcheck.numerical_gradient(lambda weights: procedural.forward(x, y, alpha, weights).J, beta)
    return relative_error(g_alpha, by_alpha), relative_error(g_beta, by_beta)


def test_the_docstrings_examples_are_right() -> None:
    """The worked examples in the docstrings give what stands there."""
    for module, examples in ((procedural, 11), (gradcheck, 2)):
        found = doctest.testmod(module)
        assert found.failed == 0
        assert found.attempted >= examples


# The small net.


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_net_equals_pytorch(rng: np.random.Generator, shape: tuple[int, int, int]) -> None:
    """All five values and both gradients, in double precision."""
    given = net(rng, *shape)
    values = procedural.forward(*given)
    x, y, alpha, beta = (torch.tensor(array, requires_grad=True) for array in given)
    a = alpha @ x
    z = torch.sigmoid(a)
    b = beta @ z
    J = torch.nn.functional.cross_entropy(b, y.detach())
    J.backward()  # type: ignore[no-untyped-call]
    theirs = {"a": a, "z": z, "b": b, "y_hat": torch.softmax(b, 0), "J": J}
    for name, expected in theirs.items():
        np.testing.assert_allclose(getattr(values, name), expected.detach().numpy(), rtol=1e-13, atol=1e-15)
    for gradient, weights in zip(procedural.backward(*given, values), (alpha, beta), strict=True):
        assert weights.grad is not None
        np.testing.assert_allclose(gradient, weights.grad.numpy(), rtol=1e-13, atol=1e-15)


def test_the_net_is_exact_where_probabilities_are_zero() -> None:
    """Logits of 1000, 0 and -1000 with the third class true: a loss of 2000, no warning, a finite gradient."""
    x, y, alpha = np.array([1000.0]), np.array([0.0, 0.0, 1.0]), np.array([[1.0], [-1.0]])
    beta = np.array([[1000.0, 5.0], [0.0, -5.0], [-1000.0, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        values = procedural.forward(x, y, alpha, beta)
        g_alpha, g_beta = procedural.backward(x, y, alpha, beta, values)
    assert values.J == 2000
    assert values.y_hat.tolist() == [1, 0, 0]
    assert g_beta.tolist() == [[1, 0], [0, 0], [-1, 0]]
    assert np.isfinite(g_alpha).all()


def test_the_lectures_check_of_the_whole_net(rng: np.random.Generator) -> None:
    """Both gradients agree with differences to about 1e-9, as far as differences go in double precision."""
    given = net(rng, 5, 4, 3)
    gradients = procedural.backward(*given, procedural.forward(*given))
    assert max(whole_net_check(given, *gradients)) < 1e-8


# The planted bug: a sigmoid that forgets 1 - b.


def test_the_whole_net_says_that_something_before_beta_is_wrong(rng: np.random.Generator) -> None:
    """With the bug written into the formulas g_alpha is wrong and g_beta right: that is all one learns."""
    mistakes = load_mistakes(ROOT / "tests" / "mistakes", load_assignment(ROOT / "assignment.toml"))
    (bug,) = (mistake for mistake in mistakes if mistake.id == "net-backward-forgets-one-minus-z")
    source = (ROOT / "solutions" / "lm" / "procedural.py").read_bytes()
    namespace = {"__name__": "lm.procedural_with_a_bug", "__package__": "lm"}
    exec(apply(bug, {"lm/procedural.py": source}, [])["lm/procedural.py"], namespace)
    given = net(rng, 5, 4, 3)
    wrong = namespace["backward"](*given, procedural.forward(*given))  # type: ignore[operator]
    alpha_error, beta_error = whole_net_check(given, *wrong)
    assert alpha_error > 0.1
    assert beta_error < 1e-8


def test_module_by_module_it_is_the_sigmoid(rng: np.random.Generator) -> None:
    """check_module has nothing to say about any layer but the sigmoid, and there it does."""
    x, y, alpha, beta = net(rng, 5, 4, 3)
    layers: list[Module] = [
        modules.Linear(alpha),
        testing.ForgetfulSigmoid(),
        modules.Linear(beta),
        modules.Softmax(),
        modules.CrossEntropy(y),
    ]
    errors: dict[str, dict[str, float]] = {}
    for layer in layers:
        errors.setdefault(type(layer).__name__, {}).update(gradcheck.check_module(layer, x, rng))
        x = layer(x)
    assert errors.pop("ForgetfulSigmoid")["a"] > 0.1
    assert set(errors) == {"Linear", "Softmax", "CrossEntropy"}
    assert set(errors["Linear"]) == {"a", "weight"}
    assert all(error < 1e-7 for found in errors.values() for error in found.values())


# The checks.


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3), (2, 1, 3)], ids=str)
def test_differences_equal_pytorchs_gradient(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    """Of a function that mixes all entries, at arrays of any shape, empty ones too."""
    x = np.array(rng.normal(size=shape))
    leaf = torch.tensor(x, requires_grad=True)
    loss = torch.sin(leaf).sum() ** 2 + (leaf**3).sum()
    loss.backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    got = gradcheck.numerical_gradient(lambda at: float(np.sin(at).sum() ** 2 + (at**3).sum()), x)
    assert got.shape == shape
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, leaf.grad.numpy(), rtol=1e-7, atol=1e-8)


def test_the_error_of_central_differences_is_of_second_order() -> None:
    """A tenth of eps, a hundredth of the error."""
    x = np.array(0.5)
    errors = [
        abs(gradcheck.numerical_gradient(lambda at: float(np.exp(at)), x, eps) - np.exp(x)) for eps in (0.1, 0.01)
    ]
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.01)


def test_check_module_finds_nothing_in_the_modules(rng: np.random.Generator) -> None:
    """Every module of the assignment, rows and single rows, losses and ids."""
    rows, weight, bias = rng.normal(size=(4, 3)), rng.normal(size=(2, 3)), rng.normal(size=2)
    distributions = modules.Softmax().forward(rows)
    for module, a, names in (
        (modules.Linear(weight, bias), rows, {"a", "weight", "bias"}),
        (modules.Linear(weight), rows[0], {"a", "weight"}),
        (modules.Sigmoid(), rows, {"a"}),
        (modules.Tanh(), rows, {"a"}),
        (modules.Softmax(), rows, {"a"}),
        (modules.CrossEntropy(np.eye(3)[[0, 2, 1, 1]]), distributions, {"a"}),
        (modules.SoftmaxCrossEntropy(np.array([0, 2, 1, 1])), rows, {"a"}),
        (modules.SoftmaxCrossEntropy(2), rows[0], {"a"}),
        (modules.Embedding(weight), np.array([1, 0, 1]), {"weight"}),
        (modules.Embedding(weight), 1, {"weight"}),
    ):
        errors = gradcheck.check_module(module, a, rng)
        assert set(errors) == names
        assert max(errors.values()) < 1e-7
        assert all(type(error) is float for error in errors.values())


# The doubles.


def test_polynomials_read_arrays_row_by_row() -> None:
    """A coefficient and one power for each entry, also of a transpose and of a single number."""
    x = np.array([[2.0, 3.0], [5.0, 7.0]])
    f = testing.Polynomial([(2.0, [3, 0, 1, 0]), (-1.0, [0, 1, 0, 0])])
    assert f(x) == 2 * 2**3 * 5 - 3
    assert f(x.T) == 2 * 2**3 * 3 - 5
    assert testing.Polynomial([(1.0, [2]), (3.0, [0])])(np.array(4.0)) == 19
    assert testing.at_transpose(lambda g, at: g(at), f, x) == f(x.T)
    answer = testing.ZeroD(f)(x)
    assert type(answer) is np.ndarray
    assert answer.shape == ()
    assert answer == f(x)


def test_a_watch_sees_strangers_and_moves() -> None:
    """It counts arrays that are not its own and entries that were moved, and one day loses its patience."""
    x = np.array([1.0, 2.0, 3.0])
    watch = testing.Watch(testing.Polynomial([(1.0, [1, 1, 1])]), x, patience=3)
    x[0] = 10.0
    assert watch(x) == 60
    assert (watch.calls, watch.strangers, watch.most_moved) == (1, 0, 1)
    x[1] = 20.0
    assert watch(x.copy()) == 600
    x[:] = [1.0, 2.0, 3.0]
    assert watch(np.zeros(3)) == 6
    assert (watch.calls, watch.strangers, watch.most_moved) == (3, 2, 2)
    with pytest.raises(ZeroDivisionError, match="more than 3 times"):
        watch(x)


def right_modules() -> list[tuple[Module, np.ndarray]]:
    """The doubles that are right."""
    rows = np.array([[0.5, -2.0, 1.5], [1.0, 3.0, -1.0]])
    return [
        (testing.Square(), rows),
        (testing.HalfSquares(), rows),
        (testing.Steps(), rows),
        (testing.Reverse(), rows),
        (testing.Stretch(2 * rows, -rows), rows),
        (testing.Powers(1.5), np.array([[3, 0], [1, 2]])),
    ]


@pytest.mark.parametrize(("module", "a"), right_modules(), ids=lambda value: type(value).__name__)
def test_right_doubles_are_right(rng: np.random.Generator, module: Module, a: np.ndarray) -> None:
    """Their gradients agree with differences; they accumulate, and change nothing that they are given."""
    assert max(gradcheck.check_module(module, a, rng).values()) < 1e-7
    b = module.forward(a)
    g_b = rng.normal(size=np.shape(b))
    before = a.copy(), np.copy(b), g_b if isinstance(g_b, float) else g_b.copy()
    once: dict[str, np.ndarray] = {}
    for times in (1, 2):
        module.backward(a, b, g_b)
        for name, parameter in module.parameters().items():
            once.setdefault(name, parameter.grad.copy())
            np.testing.assert_allclose(parameter.grad, times * once[name])
    for now, then in zip((a, b, g_b), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_wrong_doubles_are_wrong(rng: np.random.Generator) -> None:
    """Each in its own way; Reverse only where the entries of g_b differ."""
    a = np.array([0.5, -2.0, 1.5])
    assert gradcheck.check_module(testing.ForgetfulSigmoid(), a, rng)["a"] > 0.1
    assert gradcheck.check_module(testing.Reverse(forgets=True), a, rng)["a"] > 0.1
    reverse, ones = testing.Reverse(forgets=True), np.ones(3)
    np.testing.assert_array_equal(reverse.backward(a, reverse.forward(a), ones), ones)
    errors = gradcheck.check_module(testing.Stretch(a, a, {"scale": 2.0}), a, rng)
    assert errors["scale"] == pytest.approx(0.5)
    assert max(errors["a"], errors["shift"]) < 1e-7
    assert gradcheck.check_module(testing.Powers(2.0, wrong=-1.0), np.array([2, 1]), rng)["base"] == pytest.approx(2)


def test_numbers_of_a_seed_are_the_same_every_time() -> None:
    """Two generators of one seed agree, and are those of numpy."""
    first, second = (testing.random_numbers(3).normal(size=4) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, np.random.default_rng(3).normal(size=4))


def test_net_values_cannot_be_exchanged() -> None:
    """What forward returned stays what it is: NetValues is frozen."""
    values = procedural.forward(*net(np.random.default_rng(0), 2, 2, 2))
    with pytest.raises(AttributeError):
        values.J = 0.0  # type: ignore[misc]
    assert isinstance(values, NetValues)
