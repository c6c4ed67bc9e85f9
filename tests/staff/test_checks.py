"""check.*: what is right, what is wrong, and in which words. Nothing here needs pytest's plugin."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.feedback.checks import Check, differences
from autograder.feedback.errors import CheckFailed, GraderError, WrongType
from autograder.feedback.handles import Student
from autograder.feedback.inline import InlineLink
from autograder.feedback.loading import forget

from .links import PACKAGE, write_package

F64, F32 = np.float64, np.float32
INF, NAN = math.inf, math.nan
Call = Callable[[Check], object]

CODE = """
    import numpy as np

    class Model:
        def __init__(self):
            self.weight = np.ones(2)
            self.loss = 0.5

        @property
        def broken(self):
            raise AttributeError("no such thing")

        def prob(self, word):
            return self

    class Sigmoid:
        factor = 1.0

        def backward(self, a, b, g_b):
            return self.factor * g_b * b * (1 - b)

    class Numerical(Sigmoid):
        def backward(self, a, b, g_b):
            step = 1e-6
            forward = lambda x: 1 / (1 + np.exp(-x))
            return g_b * (forward(a + step) - forward(a - step)) / (2 * step)

    class Negative(Sigmoid):
        factor = -1.0

    class Double(Sigmoid):
        factor = 2.0

    class IgnoresUpstream(Sigmoid):
        def backward(self, a, b, g_b):
            return b * (1 - b)

    class SumsUpstream(Sigmoid):
        def backward(self, a, b, g_b):
            return np.sum(g_b) * b * (1 - b)

    class Nothing(Sigmoid):
        def backward(self, a, b, g_b):
            return None

    class Nameless(Sigmoid):
        pass

    nameless = type("", (), {})()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student's package."""
    return write_package(tmp_path_factory.mktemp("checks"), {"work": CODE})


@pytest.fixture
def mini(folder: Path) -> Iterator[Student]:
    """That package behind handles, inline."""
    yield Student(InlineLink(folder, PACKAGE))
    forget(PACKAGE)


def message(call: Call, *, hidden: bool = False, tolerance: float = 1.0) -> str:
    """What a student reads of a check that must fail."""
    with pytest.raises((CheckFailed, WrongType)) as caught:
        call(Check(hidden, tolerance))
    return str(caught.value)


def table(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """argvalues and ids of rows whose first column is the id."""
    return {"argvalues": [row[1:] for row in rows], "ids": [row[0] for row in rows]}


# --- close: what is right

RIGHT = [
    ("float", 0.25, 0.25),
    ("int-for-a-float", 2, 2.0),
    ("float-for-an-int", 2.0, 2),
    ("int-for-an-int", 2, 2),
    ("numpy-float", F64(0.25), 0.25),
    ("numpy-int", np.int64(2), 2.0),
    ("numpy-unsigned", np.uint8(2), 2.0),
    ("zero-d", np.array(0.25), 0.25),
    ("zero-d-int", np.array(2), 2.0),
    ("zero-d-expected", 0.25, np.array(0.25)),
    ("numpy-scalar-expected", 0.25, F64(0.25)),
    ("fraction", Fraction(1, 4), 0.25),
    ("fraction-expected", 0.25, Fraction(1, 4)),
    ("fraction-beyond-every-float", Fraction(10**400, 3), INF),
    ("fraction-of-numbers-beyond-every-float", Fraction(10**400, 3 * 10**400), Fraction(1, 3)),
    ("negative-zero", -0.0, 0.0),
    ("infinity", INF, INF),
    ("minus-infinity", -INF, -INF),
    ("numpy-infinity", F64(-INF), -INF),
    ("last-bit", 0.1 + 0.2, 0.3),
    ("largest", 1.7e308, 1.7e308),
    ("smallest", 5e-324, 0.0),
    ("large-int", 10**300, 1e300),
    ("int-beyond-every-float", 10**400, INF),
    ("negative-int-beyond-every-float", -(10**400), -INF),
    ("complex", 1 + 2j, 1 + 2j),
    ("array", np.array([0.25, 0.5]), np.array([0.25, 0.5])),
    ("list-expected", np.array([0.25, 0.5]), [0.25, 0.5]),
    ("matrix", np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)),
    ("other-memory-order", np.asfortranarray(np.eye(3)), np.eye(3)),
    ("empty", np.zeros(0), np.zeros(0)),
    ("empty-with-axes", np.zeros((0, 3)), np.zeros((0, 3))),
    ("one-entry", np.array([0.5]), np.array([0.5])),
    ("integers", np.array([1, 2]), np.array([1, 2])),
    ("smaller-integers", np.array([1, 2], np.int8), np.array([1, 2])),
    ("unsigned", np.array([1, 2], np.uint64), np.array([1, 2])),
    ("booleans", np.array([True, False]), np.array([True, False])),
    ("single-where-single-is-expected", np.ones(2, F32), np.ones(2, F32)),
    ("double-where-single-is-expected", np.ones(2), np.ones(2, F32)),
    ("infinite-entries", np.array([INF, -INF, 1.0]), np.array([INF, -INF, 1.0])),
    ("complex-array", np.array([1j, 2.0]), np.array([1j, 2.0])),
]


@pytest.mark.parametrize("hidden", [False, True], ids=["public", "hidden"])
@pytest.mark.parametrize(("got", "expected"), **table(RIGHT))
def test_close_accepts(got: Any, expected: Any, hidden: bool) -> None:
    """Numbers and arrays that are equal up to rounding, in every form in which a number comes."""
    Check(hidden).close(got, expected)


# --- close: what is wrong, and the words for it

WRONG: list[tuple[str, Any, Any, str]] = [
    ("none", None, 0.5, "it should be a number, not None"),
    ("truth", True, 1.0, "it should be a number, not a bool"),
    ("numpy-truth", np.True_, 1.0, "it should be a float, not a boolean"),
    ("text", "0.5", 0.5, "it should be a number, not a str"),
    ("list", [0.5], 0.5, "it should be a number, not a list"),
    ("list-for-an-array", [0.5, 0.5], np.array([0.5, 0.5]), "it should be an array, not a list"),
    ("tuple", (0.5,), 0.5, "it should be a number, not a tuple"),
    (
        "fraction",
        Fraction(1, 2),
        0.25,
        "it is wrong\n  got 0.5    expected 0.25\n  relative error 1.0e+00, allowed 1e-10",
    ),
    ("dict", {}, 0.5, "it should be a number, not a dict"),
    ("complex", 0.5 + 0j, 0.5, "it should be a float, not a complex number"),
    (
        "one-entry",
        np.array([0.5]),
        0.5,
        "it should be a number, not an array of shape (1,): take the one entry out of it",
    ),
    (
        "one-entry-of-two-axes",
        np.array([[0.5]]),
        0.5,
        "it should be a number, not an array of shape (1, 1): take the one entry out of it",
    ),
    ("array-for-a-number", np.array([0.5, 0.5]), 0.5, "it should be a number, not an array of shape (2,)"),
    ("empty-for-a-number", np.zeros(0), 0.5, "it should be a number, not an array of shape (0,)"),
    ("number-for-an-array", 0.5, np.array([0.5, 0.5]), "it should be an array of shape (2,), not a single number"),
    ("number-for-one-entry", 0.5, np.array([0.5]), "it should be an array of shape (1,), not a single number"),
    ("column-for-a-row", np.ones((3, 1)), np.ones(3), "it should have shape (3,), not (3, 1)"),
    ("row-for-a-column", np.ones(3), np.ones((3, 1)), "it should have shape (3, 1), not (3,)"),
    ("one-row", np.ones((1, 3)), np.ones((2, 3)), "it should have shape (2, 3), not (1, 3)"),
    ("transposed", np.ones((3, 2)), np.ones((2, 3)), "it should have shape (2, 3), not (3, 2): it is transposed"),
    ("empty-array", np.zeros(0), np.ones(2), "it should have shape (2,), not (0,)"),
    ("empty-of-other-shape", np.zeros((0, 2)), np.zeros((0, 3)), "it should have shape (0, 3), not (0, 2)"),
    ("shape-before-values", np.full((3, 1), NAN), np.ones(3), "it should have shape (3,), not (3, 1)"),
    ("integers-for-floats", np.array([1, 2]), np.array([1.0, 2.0]), "it should hold floats, not integers"),
    ("floats-for-integers", np.array([1.0, 2.0]), np.array([1, 2]), "it should hold integers, not floats"),
    ("booleans-for-floats", np.array([True]), np.array([1.0]), "it should hold floats, not booleans"),
    ("floats-for-booleans", np.array([1.0]), np.array([True]), "it should hold booleans, not floats"),
    ("complex-for-floats", np.array([1j]), np.array([1.0]), "it should hold floats, not complex numbers"),
    ("kind-before-values", np.array([7, 8]), np.array([1.0, 2.0]), "it should hold floats, not integers"),
    (
        "single-precision",
        np.ones(2, F32),
        np.ones(2),
        "it should be float64, not float32: compute in double precision",
    ),
    ("single-scalar", F32(1), 1.0, "it should be float64, not float32: compute in double precision"),
    ("half-precision", np.float16(1), 1.0, "it should be float64, not float16: compute in double precision"),
    (
        "single-complex",
        np.ones(1, np.complex64),
        np.ones(1, complex),
        "it should be complex128, not complex64: compute in double precision",
    ),
    ("nan", NAN, 0.5, "it should not be NaN (expected 0.5)"),
    ("nan-entry", np.array([0.5, NAN]), np.array([0.5, 0.5]), "it should not be NaN at [1] (1 of 2 entries) (expected"),
    ("nan-for-infinity", NAN, INF, "it should not be NaN (expected inf)"),
    ("infinite", INF, 0.5, "it should be finite (expected 0.5)"),
    ("finite", 0.5, -INF, "it should be infinite (expected -inf)"),
    ("other-infinity", INF, -INF, "it should be infinite with the other sign (expected -inf)"),
    (
        "infinite-entry",
        np.array([[1.0, 1.0], [1.0, INF]]),
        np.ones((2, 2)),
        "it should be finite at [1, 1] (1 of 4 entries) (expected",
    ),
    ("infinities-swapped", np.array([INF, -INF]), np.array([-INF, INF]), "with the other sign at [0] (2 of 2 entries)"),
    ("value", 0.5, 0.25, "it is wrong\n  got 0.5    expected 0.25\n  relative error 1.0e+00, allowed 1e-10"),
    ("sign", -0.25, 0.25, "it is wrong\n  got -0.25    expected 0.25\n  relative error 2.0e+00, allowed 1e-10"),
    (
        "entries",
        np.array([0.25, 0.5, 0.75, 1.0]),
        np.array([0.25, 0.4, -0.25, 1.0]),
        "worst at [2]    got 0.75    expected -0.25\n  error 1.0e+00 of the largest entry, allowed",
    ),
    (
        "one-wrong-entry",
        np.array([1.0]),
        np.array([2.0]),
        "it: 1 of 1 entry is wrong\n  shape (1,) float64, as expected\n  worst at [0]",
    ),
    ("worst-of-two-axes", np.array([[1.0, 2.0], [4.0, 4.0]]), np.array([[1.0, 2.0], [3.0, 4.0]]), "worst at [1, 0]"),
    ("instead-of-zero", 1e-3, 0.0, "it is wrong\n  got 0.001    expected 0\n  error 1.0e-03, allowed 1e-12"),
    ("integers", np.array([1, 2, 3]), np.array([1, 2, 5]), "worst at [2]    got 3    expected 5"),
    (
        "unsigned-below",
        np.array([3], np.uint8),
        np.array([5], np.uint8),
        "got 3    expected 5\n  relative error 4.0e-01",
    ),
    ("booleans", np.array([True, False]), np.array([True, True]), "worst at [1]    got False    expected True"),
    ("overflow", 1.7e308, -1.7e308, "got 1.7e+308    expected -1.7e+308\n  relative error inf"),
    ("int-beyond-every-float", 10**400, 1.0, "it should be finite (expected 1.0)"),
    ("complex-value", 1 + 2j, 1 - 2j, "got 1+2j    expected 1-2j"),
    ("beside-infinity", np.array([INF, 2.0]), np.array([INF, 1.0]), "it: 1 of 2 entries is wrong"),
]


@pytest.mark.parametrize(("got", "expected", "text"), **table(WRONG))
def test_close_refuses(got: Any, expected: Any, text: str) -> None:
    """Everything else is refused, in words that say what is wrong, where, and what was expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = message(lambda check: check.close(got, expected, "it"))
    assert text in told
    assert told.startswith("it")


HIDDEN = [
    ("value", 0.5, 0.25, "it is wrong\n  relative error about 1e+00, allowed 1e-10"),
    (
        "entries",
        np.array([1.0, 2.0]),
        np.array([1.0, 3.0]),
        "it: 1 of 2 entries is wrong\n  error about 3e-01 of the largest entry, ",
    ),
    ("instead-of-zero", 1e-3, 0.0, "it is wrong\n  error about 1e-03, allowed 1e-12"),
    ("nan", NAN, 0.5, "it should not be NaN"),
    ("nan-entry", np.array([0.5, NAN]), np.ones(2), "it should not be NaN at [1] (1 of 2 entries)"),
    ("infinite", INF, 0.5, "it should be finite"),
    ("finite", 0.5, INF, "it should be infinite"),
    ("more-axes", np.ones((3, 1)), np.ones(3), "it should have 1 axis, not 2"),
    ("fewer-axes", np.ones(3), np.ones((3, 1)), "it should have 2 axes, not 1"),
    ("shape", np.ones((4, 3)), np.ones((2, 3)), "it has the wrong shape, (4, 3)"),
    ("transposed", np.ones((3, 2)), np.ones((2, 3)), "it has the wrong shape, (3, 2): it is transposed"),
    ("number-for-an-array", 0.5, np.ones(3), "it should be an array, not a single number"),
    ("kind", np.array([1]), np.array([1.0]), "it should hold floats, not integers"),
]


@pytest.mark.parametrize(("got", "expected", "text"), **table(HIDDEN))
def test_close_on_hidden_inputs_says_what_but_not_how_much(got: Any, expected: Any, text: str) -> None:
    """On hidden inputs the message says what is wrong and where, and no value."""
    told = message(lambda check: check.close(got, expected, "it"), hidden=True)
    assert told == text if not text.endswith(" ") else told.startswith(text)


def digits(value: float) -> set[str]:
    """Every way in which four digits or more of a number could stand in a message."""
    text = re.sub(r"\D", "", f"{abs(value):.17e}"[:18])
    return {text[:4], f"{abs(value):.4g}".replace(".", "").lstrip("0")[:4]}


FLOATS = st.floats(-1e6, 1e6).filter(lambda value: abs(value) > 1e-3)


@given(got=FLOATS, expected=FLOATS)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_hidden_messages_of_numbers_hold_no_digits_of_them(got: float, expected: float) -> None:
    """Neither what was expected nor what came can be read out of a hidden message; staff see both."""
    if abs(got - expected) <= 1e-9 * abs(expected):
        return
    for mine, theirs in ((got, expected), (np.array([got, 1.0]), np.array([expected, 1.0]))):
        with pytest.raises(CheckFailed) as caught:
            Check(hidden=True).close(mine, theirs, "it")
        shown = re.sub(r"\D", "", str(caught.value))
        for value in (got, expected):
            assert not any(len(text) == 4 and text in shown for text in digits(value)), str(caught.value)
        assert f"{expected:.9g}" in caught.value.detail


PLAIN = st.recursive(
    st.integers(1000, 9999) | st.text("abcdefgh", min_size=4, max_size=6) | st.none() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text("abcdefgh", min_size=4, max_size=6), inner, max_size=3)
        | st.dictionaries(st.integers(1000, 9999), inner, max_size=3)
    ),
    max_leaves=8,
)


def leaves(value: Any) -> Iterator[str]:
    """Every text and number in a value, keys among them."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield str(key)
            yield from leaves(member)
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from leaves(member)
    elif type(value) in (int, str):
        yield str(value)


def with_another_leaf(value: Any, where: int) -> tuple[Any, int]:
    """The value with its leaf number ``where`` replaced, and how many leaves are still to be passed."""
    if isinstance(value, (list, tuple)):
        members = []
        for member in value:
            changed, where = with_another_leaf(member, where)
            members.append(changed)
        return type(value)(members), where
    if isinstance(value, dict):
        entries = {}
        for key, member in value.items():
            entries[key], where = with_another_leaf(member, where)
        return entries, where
    return (value if where else 12345), where - 1


@given(expected=PLAIN, other=PLAIN, where=st.none() | st.integers(0, 7))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_hidden_messages_of_plain_values_hold_nothing_of_them(expected: Any, other: Any, where: int | None) -> None:
    """No text, no number and no key of either value stands in a hidden message, however deep the difference."""
    got = other if where is None else with_another_leaf(expected, where)[0]
    if got == expected:
        return
    told = message(lambda check: check.equal(got, expected, "it"), hidden=True)
    assert {*leaves(got), *leaves(expected)}.isdisjoint(re.findall(r"\w+", told))


# --- close: the edge of the tolerance

SCALES = [("one", 1.0), ("tiny", 1e-5), ("huge", 1e200), ("small", 3e-2)]


@pytest.mark.parametrize("scale", [row[1] for row in SCALES], ids=[row[0] for row in SCALES])
@pytest.mark.parametrize("sign", [1, -1], ids=["above", "below"])
def test_the_tolerance_grows_with_the_expected_value(scale: float, sign: int) -> None:
    """Just under the tolerance passes, just over it fails, on both sides and at every scale."""
    for rtol in (1e-3, 1e-10):
        Check(False).close(scale * (1 + sign * 0.99 * rtol), scale, rtol=rtol, atol=0.0)
        with pytest.raises(CheckFailed):
            Check(False).close(scale * (1 + sign * 1.01 * rtol), scale, rtol=rtol, atol=0.0)


def test_the_largest_expected_entry_sets_the_scale() -> None:
    """A small entry may be off by what rounding does to the large ones, not by what its own size allows."""
    want = np.array([1e6, 1.0])
    Check(False).close(want + np.array([0.0, 0.9e-4]), want, rtol=1e-10, atol=0.0)
    message(lambda check: check.close(want + np.array([0.0, 1.1e-4]), want, rtol=1e-10, atol=0.0))


def test_a_large_wrong_entry_does_not_widen_the_tolerance() -> None:
    """The scale is that of what is expected: a student cannot set it."""
    assert "2 of 2 entries" in message(lambda check: check.close(np.array([1e12, 1.0 + 1e-6]), np.ones(2)))


def test_an_infinite_entry_does_not_widen_the_tolerance() -> None:
    """Beside an infinity the finite entries are held to their own scale."""
    message(lambda check: check.close(np.array([INF, 1.0 + 1e-6]), np.array([INF, 1.0])))


def test_the_absolute_tolerance_is_for_values_near_zero() -> None:
    """Where zero is expected the absolute tolerance decides, and the message speaks of it."""
    Check(False).close(0.9e-12, 0.0)
    assert "\n  error 1.1e-12, allowed 1e-12" in message(lambda check: check.close(1.1e-12, 0.0))
    Check(False).close(1e-3, 0.0, atol=1e-2)


@pytest.mark.parametrize("factor", [1.0, 100.0, 0.01], ids=["usual", "wider", "narrower"])
def test_an_item_may_widen_every_tolerance(factor: float) -> None:
    """The factor of assignment.toml multiplies relative and absolute tolerances alike, and is told."""
    Check(False, factor).close(1 + 0.99e-10 * factor, 1.0, atol=0.0)
    Check(False, factor).close(0.99e-12 * factor, 0.0)
    told = message(lambda check: check.close(1 + 1.1e-10 * factor, 1.0, atol=0.0), tolerance=factor)
    assert f"allowed {1e-10 * factor:.0e}" in told
    message(lambda check: check.close(1.1e-12 * factor, 0.0), tolerance=factor)


@pytest.mark.parametrize(
    "expected",
    [NAN, np.array([1.0, NAN]), "0.5", None, np.array(["a"]), {"a": 1}, True, [1.0, [2.0]]],
    ids=["nan", "nan-entry", "text", "none", "texts", "dict", "truth", "ragged"],
)
def test_an_expected_value_that_is_no_number_is_our_fault(expected: Any) -> None:
    """A broken test or reference never costs a student points."""
    with pytest.raises(GraderError):
        Check(False).close(0.5, expected)


# --- equal

EQUAL = [
    ("none", None, None),
    ("int", 3, 3),
    ("int-beyond-every-float", 10**400, 10**400),
    ("numpy-int", np.int64(3), 3),
    ("numpy-int-expected", 3, np.int64(3)),
    ("numpy-truth", np.True_, True),
    ("truth", False, False),
    ("float", 0.1, 0.1),
    ("numpy-float", F64(0.1), 0.1),
    ("numpy-complex", np.complex128(1j), 1j),
    ("negative-zero", -0.0, 0.0),
    ("infinity", INF, INF),
    ("text", "corn", "corn"),
    ("bytes", b"corn", b"corn"),
    ("fraction", Fraction(1, 3), Fraction(1, 3)),
    ("list", [1, [2, (3, None)]], [1, [2, (3, None)]]),
    ("numpy-in-a-list", [np.int64(1), np.int32(2)], [1, 2]),
    ("empty-list", [], []),
    ("empty-tuple", (), ()),
    ("set", {1, ("a", 2)}, {("a", 2), 1}),
    ("dict-of-other-order", {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ("nested", {("the",): {"cat": 1}, (): {}}, {(): {}, ("the",): {"cat": 1}}),
]


@pytest.mark.parametrize("hidden", [False, True], ids=["public", "hidden"])
@pytest.mark.parametrize(("got", "expected"), **table(EQUAL))
def test_equal_accepts(got: Any, expected: Any, hidden: bool) -> None:
    """The same value of the same type; numpy's scalars count as Python's."""
    Check(hidden).equal(got, expected)


COUNTS = {("the",): {"cat": 1, "dog": 2}, ("a",): {"cat": 3}}
UNEQUAL: list[tuple[str, Any, Any, str, str]] = [
    ("value", 3, 4, "it: wrong value", " (got 3, expected 4)"),
    ("text", "cat", "dog", "it: wrong value", " (got 'cat', expected 'dog')"),
    ("truth-for-one", True, 1, "it should be an int, not a bool", ""),
    ("one-for-truth", 1, True, "it should be a bool, not an int", ""),
    ("numpy-truth-for-one", np.True_, 1, "it should be an int, not a bool", ""),
    ("float-for-int", 1.0, 1, "it should be an int, not a float", ""),
    ("numpy-float-for-int", F64(1), 1, "it should be an int, not a float", ""),
    ("int-for-float", 1, 1.0, "it should be a float, not an int", ""),
    ("none", None, 0, "it should be an int, not None", ""),
    ("zero-for-none", 0, None, "it should be None, not an int", ""),
    ("last-bit", 0.1 + 0.2, 0.3, "it: wrong value", " (got 0.30000000000000004, expected 0.3)"),
    ("nan", NAN, 1.0, "it: wrong value", " (got nan, expected 1.0)"),
    ("list-for-tuple", [1], (1,), "it should be a tuple, not a list", ""),
    ("tuple-for-list", (1,), [1], "it should be a list, not a tuple", ""),
    ("text-for-tuple", "ab", ("a", "b"), "it should be a tuple, not a str", ""),
    ("set-for-list", {1}, [1], "it should be a list, not a set", ""),
    ("array-for-list", np.array([1, 2]), [1, 2], "it should be a list, not an array of shape (2,)", ""),
    ("array-in-a-list", [np.array([1])], [[1]], "it at [0] should be a list, not an array of shape (1,)", ""),
    ("array-for-int", np.array(1), 1, "it should be an int, not an array of shape ()", ""),
    ("shorter", [1], [1, 2], "it: too few entries", " (1, expected 2)"),
    ("longer", (1, 2, 3), (1, 2), "it: too many entries", " (3, expected 2)"),
    ("entry", [1, 2, 3], [1, 5, 3], "it at [1]: wrong value", " (got 2, expected 5)"),
    ("order", [2, 1], [1, 2], "it at [0]: wrong value", " (got 2, expected 1)"),
    ("deep-entry", [(1, [2])], [(1, [3])], "it at [0][1][0]: wrong value", " (got 2, expected 3)"),
    ("deep-type", [(1, 2)], [(1, True)], "it at [0][1] should be a bool, not an int", ""),
    ("key-missing", {"a": 1}, {"a": 1, "b": 2}, "it: 1 key is missing", ", such as 'b'"),
    ("keys-missing", {}, {"a": 1, "b": 2}, "it: 2 keys are missing", ", such as 'a'"),
    ("key-too-many", {"a": 1, "b": 2}, {"a": 1}, "it: 1 key too many", ", such as 'b'"),
    ("keys-too-many", {"a": 1, "b": 2}, {}, "it: 2 keys too many", ", such as 'a'"),
    ("keys-of-other-type", {"a": 1}, {("a",): 1}, "it: 1 key is missing", ", such as ('a',)"),
    ("member-missing", {1}, {1, 2}, "it: 1 member is missing", ", such as 2"),
    ("members-too-many", {1, 2, 3}, {3}, "it: 2 members too many", ", such as 1"),
    ("int-for-dict", 3, {}, "it should be a dict, not an int", ""),
]


@pytest.mark.parametrize(("got", "expected", "text", "values"), **table(UNEQUAL))
def test_equal_refuses(got: Any, expected: Any, text: str, values: str) -> None:
    """The first difference is named by its place; values stand in the message of public inputs only."""
    assert message(lambda check: check.equal(got, expected, "it")) == text + values
    assert message(lambda check: check.equal(got, expected, "it"), hidden=True) == text


def test_equal_names_the_place_in_a_dict_of_public_inputs() -> None:
    """The keys on the way stand in the message: they are the test's own inputs."""
    wrong = {("the",): {"cat": 1, "dog": 2}, ("a",): {"cat": 4}}
    told = message(lambda check: check.equal(wrong, COUNTS, "the counts"))
    assert told == "the counts at [('a',)]['cat']: wrong value (got 4, expected 3)"


def test_equal_hides_the_keys_of_hidden_inputs() -> None:
    """They are inputs too: only how deep the difference stands is told."""
    wrong = {("the",): {"cat": 1, "dog": 2}, ("a",): {"cat": 4}}
    assert message(lambda check: check.equal(wrong, COUNTS, "it"), hidden=True) == "it at [...][...]: wrong value"
    short = {("the",): {"cat": 1, "dog": 2}, ("a",): {}}
    assert message(lambda check: check.equal(short, COUNTS, "it"), hidden=True) == "it at [...]: 1 key is missing"


def test_equal_tells_staff_everything() -> None:
    """The detail holds the first difference, what came and what was expected."""
    with pytest.raises(CheckFailed) as caught:
        Check(hidden=True).equal([1, 2, 3], [1, 5, 3])
    assert caught.value.detail == "wrong value (got 2, expected 5); got [1, 2, 3], expected [1, 5, 3]"


def test_long_values_are_cut() -> None:
    """A value of a million digits is no message; numpy's scalars are shown as numbers."""
    told = message(lambda check: check.equal("x" * 10_000, "y", "it"))
    assert told.endswith("..., expected 'y')")
    assert len(told) < 150
    told = message(lambda check: check.close(np.full(1000, NAN), np.zeros(1000), "it"))
    assert told.endswith("(1000 of 1000 entries) (expected an array of shape (1000,))")
    with pytest.raises(CheckFailed) as caught:
        Check(hidden=False).equal([F64(0.5), np.int64(3)], [], "it")
    assert "got [0.5, 3]" in caught.value.detail


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (NAN, "NaN"),
        ([1.0, NAN], "NaN"),
        (np.array([1]), "does not compare with an array of shape \\(1,\\)"),
        ([np.array([1])], "does not compare with an array"),
        (object(), "does not compare with an object"),
        (lambda: 1, "does not compare with a function"),
    ],
    ids=["nan", "nan-entry", "array", "array-entry", "object", "function"],
)
def test_an_expected_value_that_cannot_be_compared_is_our_fault(expected: Any, text: str) -> None:
    """A broken test or reference never costs a student points."""
    with pytest.raises(GraderError, match=text):
        Check(False).equal([1.0] * len(expected) if isinstance(expected, list) else 1.0, expected)


# --- that, number, array, unpack, fields


@pytest.mark.parametrize("condition", [True, np.True_], ids=["bool", "numpy"])
def test_that_accepts_the_truth(condition: Any) -> None:
    """True, of Python or numpy."""
    Check(False).that(condition, "it holds")


@pytest.mark.parametrize("condition", [False, np.False_], ids=["bool", "numpy"])
def test_that_says_the_property(condition: Any) -> None:
    """The message of a failure is the test's own, hidden or not."""
    assert message(lambda check: check.that(condition, "it should rise")) == "it should rise"
    assert message(lambda check: check.that(condition, "it should rise"), hidden=True) == "it should rise"


@pytest.mark.parametrize(
    "condition",
    [1, "yes", None, [], np.array([True]), np.array(True)],
    ids=["int", "text", "none", "list", "array", "0-d"],
)
def test_that_takes_nothing_but_truth_values(condition: Any) -> None:
    """A test that hands over something else has not checked it before: our fault."""
    with pytest.raises(GraderError, match=r"check\.that takes True or False, not "):
        Check(False).that(condition, "it")


@pytest.mark.parametrize(
    ("got", "value"),
    [
        *[(0.5, 0.5), (2, 2.0), (F64(0.5), 0.5), (np.array(3), 3.0), (-INF, -INF), (10**400, INF), (F32(0.5), 0.5)],
        (Fraction(1, 4), 0.25),
    ],
    ids=["float", "int", "numpy", "zero-d", "infinite", "large", "single", "fraction"],
)
def test_number_gives_a_float(got: Any, value: float) -> None:
    """Any real scalar, as a float to compute with."""
    result = Check(False).number(got)
    assert type(result) is float
    assert result == value


@pytest.mark.parametrize(
    ("got", "text"),
    [
        (NAN, "it should not be NaN"),
        (True, "it should be a number, not a bool"),
        (np.True_, "it should be a real number, not a boolean"),
        (1j, "it should be a real number, not a complex number"),
        (None, "it should be a number, not None"),
        ("1", "it should be a number, not a str"),
        (np.array([1.0]), "it should be a number, not an array of shape (1,): take the one entry out of it"),
    ],
    ids=["nan", "truth", "numpy-truth", "complex", "none", "text", "one-entry"],
)
def test_number_refuses(got: Any, text: str) -> None:
    """What cannot be computed with is refused before the test computes with it."""
    assert message(lambda check: check.number(got, "it")) == text


def test_array_gives_an_array() -> None:
    """Numbers of any kind, of the shape that is asked for."""
    assert Check(False).array(np.arange(6).reshape(2, 3), shape=(2, 3)).shape == (2, 3)
    assert Check(False).array(np.zeros(0)).shape == (0,)
    assert Check(False).array(2.5, shape=()) == 2.5
    assert Check(False).array(np.array([INF]))[0] == INF


@pytest.mark.parametrize(
    ("got", "shape", "text"),
    [
        ([1.0], None, "it should be an array, not a list"),
        (None, (2,), "it should be an array, not None"),
        (np.ones(3), (2,), "it should have shape (2,), not (3,)"),
        (np.ones((3, 2)), (2, 3), "it should have shape (2, 3), not (3, 2): it is transposed"),
        (0.5, (2,), "it should be an array of shape (2,), not a single number"),
        (np.array([1.0, NAN]), None, "it should not be NaN at [1] (1 of 2 entries)"),
    ],
    ids=["list", "none", "shape", "transposed", "number", "nan"],
)
def test_array_refuses(got: Any, shape: tuple[int, ...] | None, text: str) -> None:
    """Lists, other shapes and NaN."""
    assert message(lambda check: check.array(got, "it", shape)) == text


@pytest.mark.parametrize("got", [(1, "a"), [1, "a"]], ids=["tuple", "list"])
def test_unpack_gives_the_parts(got: Any) -> None:
    """A tuple or a list of as many values as the test says."""
    assert Check(False).unpack(got, 2) == (1, "a")


@pytest.mark.parametrize(
    ("got", "text"),
    [
        (None, "it should be a tuple or list of 2 values, not None"),
        (3, "it should be a tuple or list of 2 values, not an int"),
        ("ab", "it should be a tuple or list of 2 values, not a str"),
        ({1, 2}, "it should be a tuple or list of 2 values, not a set"),
        (np.ones(2), "it should be a tuple or list of 2 values, not an array of shape (2,)"),
        ((1,), "it should be a tuple or list of 2 values, not of 1"),
        ([1, 2, 3], "it should be a tuple or list of 2 values, not of 3"),
    ],
    ids=["none", "int", "text", "set", "array", "short", "long"],
)
def test_unpack_refuses(got: Any, text: str) -> None:
    """Anything that is not two values is said before the test's own unpacking fails."""
    assert message(lambda check: check.unpack(got, 2, "it")) == text


def test_fields_of_an_object(mini: Student) -> None:
    """The named attributes of the student's object, as values."""
    found = Check(False).fields(mini.work.Model(), ["weight", "loss"])
    assert found["loss"] == 0.5
    assert found["weight"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["bias", "broken"], ids=["missing", "property-that-raises"])
def test_fields_that_are_missing(mini: Student, name: str) -> None:
    """A missing field is named, and is the student's."""
    model = mini.work.Model()
    assert message(lambda check: check.fields(model, ["loss", name], "the model")) == f"the model has no field '{name}'"


@pytest.mark.parametrize(("got", "name"), [({"loss": 1}, "a dict"), (None, "None")], ids=["dict", "none"])
def test_fields_of_a_plain_value(got: Any, name: str) -> None:
    """A dict is no object with fields."""
    told = message(lambda check: check.fields(got, ["loss", "weight"], "it"))
    assert told == f"it should be an object with the fields loss, weight, not {name}"


# --- handles

REFUSING: list[tuple[str, Callable[[Check, Any], object], str]] = [
    ("close", lambda check, handle: check.close(handle, 1.0, "it"), "it should be a number, not a Model"),
    ("close-array", lambda check, handle: check.close(handle, [1.0], "it"), "it should be an array, not a Model"),
    ("equal", lambda check, handle: check.equal(handle, {}, "it"), "it should be a dict, not a Model"),
    (
        "equal-in-a-list",
        lambda check, handle: check.equal([1, handle], [1, 2], "it"),
        "it should hold plain values only, not a Model",
    ),
    (
        "equal-in-a-dict",
        lambda check, handle: check.equal({"a": (handle,)}, {"a": (1,)}, "it"),
        "it should hold plain values only, not a Model",
    ),
    ("that", lambda check, handle: check.that(handle, "it"), "the result should be True or False, not a Model"),
    ("number", lambda check, handle: check.number(handle, "it"), "it should be a number, not a Model"),
    ("array", lambda check, handle: check.array(handle, "it"), "it should be an array, not a Model"),
    (
        "unpack",
        lambda check, handle: check.unpack(handle, 2, "it"),
        "it should be a tuple or list of 2 values, not a Model",
    ),
]


@pytest.mark.parametrize(("call", "text"), **table(REFUSING))
def test_every_check_refuses_an_object(mini: Student, call: Callable[[Check, Any], object], text: str) -> None:
    """An object of the student's never judges itself, and the refusal sticks even when the test swallows it."""
    model = mini.work.Model()
    assert message(lambda check: call(check, model)) == text
    assert type(mini.sticky) is WrongType
    assert str(mini.sticky) == text


def test_an_object_whose_class_has_no_name(mini: Student) -> None:
    """The name of a class is the student's to choose; an empty one breaks nothing of ours."""
    odd = mini.work.nameless
    assert "it should be a number, not a" in message(lambda check: check.close(odd, 1.0, "it"))


def test_messages_name_the_function_that_was_called_last(mini: Student) -> None:
    """The first word of a message is where to look."""
    check = Check(False, student=lambda: mini)
    answer = mini.work.Model().prob("the")
    with pytest.raises(WrongType, match=r"^work.Model.prob: P\(the\) should be a number, not a Model$"):
        check.close(answer, 1.0, "P(the)")
    with pytest.raises(CheckFailed, match=r"^work.Model.prob: P\(the\) is wrong"):
        check.close(0.5, 1.0, "P(the)")


# --- gradients


def sigmoid(a: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-a))


AT = np.array([-2.0, -0.3, 0.1, 1.7])
UPSTREAM = np.array([0.3, -1.2, 0.7, 2.0])
RIGHT_GRADIENT = UPSTREAM * sigmoid(AT) * (1 - sigmoid(AT))


def test_differences_agree_with_the_formula() -> None:
    """Central differences of a trusted forward are right to about 1e-9."""
    assert np.abs(differences(sigmoid, AT, UPSTREAM) - RIGHT_GRADIENT).max() < 1e-9
    assert differences(lambda x: x**2, np.array(3.0)) == pytest.approx(6.0)
    assert differences(lambda x: x @ x.T, np.arange(4).reshape(2, 2), np.eye(2)) == pytest.approx(
        2 * np.arange(4.0).reshape(2, 2)
    )


def test_differences_leave_their_input_alone() -> None:
    """The point at which they are taken may be read-only, and is the same afterwards."""
    at = AT.copy()
    at.flags.writeable = False
    differences(sigmoid, at, UPSTREAM)
    assert (at == AT).all()


def test_gradient_accepts_the_right_one() -> None:
    """The formula, held against differences of a trusted forward."""
    Check(False).gradient(RIGHT_GRADIENT, sigmoid, AT, UPSTREAM)


BAD_GRADIENTS = [
    ("sign", -RIGHT_GRADIENT, "error 2.0e+00 of the largest entry"),
    ("factor-two", 2 * RIGHT_GRADIENT, "error 1.0e+00 of the largest entry"),
    ("mean", RIGHT_GRADIENT / 4, "error 7.5e-01 of the largest entry"),
    ("no-upstream", RIGHT_GRADIENT / UPSTREAM, "entries are wrong"),
    (
        "one-entry-off",
        RIGHT_GRADIENT + np.array([0, 1e-4, 0, 0]),
        "1 of 4 entries is wrong\n  shape (4,) float64, as expected\n  worst at [1]",
    ),
    ("summed", RIGHT_GRADIENT.sum(), "should be an array of shape (4,), not a single number"),
    ("column", RIGHT_GRADIENT[:, None], "should have shape (4,), not (4, 1)"),
]


@pytest.mark.parametrize(("got", "text"), **table(BAD_GRADIENTS))
def test_gradient_refuses(got: Any, text: str) -> None:
    """Wrong signs, factors, means, a forgotten upstream gradient and other shapes."""
    assert text in message(lambda check: check.gradient(got, sigmoid, AT, UPSTREAM))


MODULES = [
    ("right", "Sigmoid", ""),
    ("numerical", "Numerical", ""),
    ("sign", "Negative", "the gradient of Negative.backward: 7 of 7 entries are wrong"),
    ("factor-two", "Double", "the gradient of Double.backward: 7 of 7 entries are wrong"),
    ("ignores-upstream", "IgnoresUpstream", "the gradient of IgnoresUpstream.backward: 7 of 7 entries are wrong"),
    ("sums-upstream", "SumsUpstream", "the gradient of SumsUpstream.backward: 7 of 7 entries are wrong"),
    ("nothing", "Nothing", "the gradient of Nothing.backward should be an array, not None"),
]


@pytest.mark.parametrize(("name", "text"), **table(MODULES))
def test_module_gradient(mini: Student, name: str, text: str) -> None:
    """backward(a, b, g_b) is held against differences of the trusted forward, for a random upstream gradient."""
    module = getattr(mini.work, name)()
    check = Check(False, rng=np.random.Generator(np.random.PCG64(3)))
    inputs = np.random.Generator(np.random.PCG64(4)).normal(size=7)
    if not text:
        check.module_gradient(module, sigmoid, inputs)
        return
    with pytest.raises(CheckFailed) as caught:
        check.module_gradient(module, sigmoid, inputs)
    assert str(caught.value).startswith(text)


def test_what_all_entries_have_in_common_is_said() -> None:
    """One factor, or the wrong sign; of scattered errors and of zeros nothing is said."""
    want = np.array([0.5, -2.0, 4.0])
    assert "every entry is 0.25 times what is expected" in message(lambda check: check.close(want / 4, want))
    assert "every entry has the wrong sign" in message(lambda check: check.close(-want, want))
    for got in (want + 1, want * np.array([2, 2, 3]), 0 * want):
        assert "every entry" not in message(partial(Check.close, got=got, expected=want))
