"""Diagnosis: equal answers are equal, degenerate ones say nothing, and a file of hints gives nothing away."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from autograder.feedback.diagnosis import Hint, Hints, degenerate, fingerprint, hints_in, trace
from autograder.feedback.errors import InputError

RNG = np.random.Generator(np.random.PCG64(0))


@pytest.mark.parametrize("size", [1e-200, 1e-9, 1e-3, 1.0, 7.0, 1e6, 1e200])
def test_rounding_makes_no_difference(size: float) -> None:
    """Arrays that differ in their last digits are the same answer, whatever their size."""
    for _ in range(200):
        array = RNG.normal(size=(3, 4)) * size
        noisy = array * (1 + RNG.normal(size=array.shape) * 2e-16)
        assert fingerprint(array) == fingerprint(noisy)


@pytest.mark.parametrize("value", [1.0, 0.5, 0.1, 1 / 3, 2 / 7, 1 / 512, 0.12345678, 0.123456785, 1e-3, 1024.0, 1e8])
def test_no_common_fraction_lies_on_an_edge(value: float) -> None:
    """The numbers that answers are made of, and their neighbours, are the same."""
    assert fingerprint(value) == fingerprint(np.nextafter(value, 2e9)) == fingerprint(np.nextafter(value, -1))


def test_a_small_error_makes_another_answer() -> None:
    """From about a millionth of the largest entry on."""
    array = np.linspace(-1, 1, 7)
    for place in range(7):
        other = array.copy()
        other[place] += 1e-6
        assert fingerprint(other) != fingerprint(array)


DIFFERENT: list[object] = [
    1, 1.0, True, "1", b"1", None, [1], (1,), [[1]], {1}, {1: 1}, {1: 2}, [1, 1], [], (), "", 1j, ..., Fraction(1, 2),
    np.zeros(2), np.zeros((2, 1)), np.zeros(2, dtype=int), np.zeros(2, dtype=bool), np.array([0.0, np.inf]),
    np.array([0.0, -np.inf]), np.array([0.0, np.nan]), ["ab"], ["a", "b"], [["a"], "b"], {"a": [1]}, {"a": 1},
]  # fmt: skip


def test_answers_of_different_kinds_are_different() -> None:
    """No two of a list of unlike values have the same fingerprint."""
    assert len({fingerprint(value) for value in DIFFERENT}) == len(DIFFERENT)


def test_order_counts_where_it_has_a_meaning() -> None:
    """Not for sets and dictionaries."""
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({"x", "y", "z"}) == fingerprint({"z", "y", "x"})
    assert fingerprint([1, 2]) != fingerprint([2, 1])
    assert fingerprint(np.float64(0.25)) == fingerprint(0.25)


DEGENERATE: dict[str, list[object]] = {
    "nothing": [None, [], (), {}, [None, None]],
    "NaN": [float("nan"), np.array([1.5, np.nan])],
    "infinite": [float("inf"), np.array([-np.inf, np.inf])],
    "all zeros": [0, 0.0, False, np.zeros((2, 3)), [0, 0.0], {"a": 0}],
    "all ones": [1, True, np.ones(3), [1, 1]],
    "a small whole number": [2, 999, -3, 2.0, np.int64(7), Fraction(4, 2)],
    "no answer in part": [[1.5, None], (..., 2.5)],
    "too large": [np.linspace(0, 1, 1 << 22), [0.5] * 200_000, [[0.5] * 1_000] * 1_000],
    "an input itself": [np.array([1.5, 2.5]), "cow", ("the", "cow")],
}


@pytest.mark.parametrize("reason", DEGENERATE)
def test_degenerate_answers_say_nothing(reason: str) -> None:
    """Each with its reason."""
    sent = [("call", "f", [np.array([1.5, 2.5]), {"words": ("the", "cow")}])]
    assert {degenerate(value, sent) for value in DEGENERATE[reason]} == {reason}


@pytest.mark.parametrize("value", [1000, 0.5, 2.5, np.array([0, 2.0]), [3, 5], "the", np.array([1.5, 2.6])])
def test_other_answers_say_something(value: object) -> None:
    """Among them arrays of few numbers."""
    sent = [("call", "f", [np.array([1.5, 2.5])])]
    assert degenerate(value, sent) == ""


def test_a_trace_is_of_its_place_its_inputs_and_its_answer() -> None:
    """Another check, other inputs or another answer: another trace."""
    first = trace("t close 1", [("call", [1.5])], 2.5)
    assert first.key
    assert trace("t close 1", [("call", [1.5])], 2.5) == first
    assert trace("t close 2", [("call", [1.5])], 2.5).key != first.key
    assert trace("t close 1", [("call", [1.6])], 2.5).key != first.key
    assert trace("t close 1", [("call", [1.5]), ("call", [1.5])], 2.5).key != first.key
    assert trace("t close 1", [("call", [1.5])], 2.6).key != first.key
    assert trace("t close 1", [], None).reason == "nothing"


KEY, OTHER = trace("t", [], 2.5).key, trace("t", [], 3.5).key
HINT = Hint(("adds-two", "adds-more"), "Twice is not plus two.", "两倍不是加二。")


def test_a_hint_is_found_by_its_trace_alone() -> None:
    """Also after it has been written and read."""
    made = Hints.make({KEY: HINT}, "digest")
    again = Hints(**{name: json.loads(made.as_text())[name] for name in ("entries", "texts", "made_from")})
    for hints in (made, again):
        assert hints.named(KEY) == HINT
        assert hints.named(OTHER) is None
        assert hints.named(b"") is None
        assert hints.made_from == "digest"
        assert len(hints) == 1


def test_a_file_of_hints_gives_nothing_away() -> None:
    """Neither text nor id nor key stands in it; equal hints are stored once, and the order of making is not seen."""
    text = Hints.make({KEY: HINT, OTHER: HINT}).as_text()
    assert text == Hints.make({OTHER: HINT, KEY: HINT}).as_text()
    assert len(json.loads(text)["texts"]) == 1
    for secret in ("Twice", "plus", "adds", "两倍", KEY.hex(), KEY.hex()[:12]):
        assert secret not in text
        assert json.dumps(secret)[1:-1] not in text


def test_no_file_means_no_hints_and_a_broken_one_is_told(tmp_path: Path) -> None:
    """Whoever reads it to check it hears of it; a run of tests goes on without hints."""
    assert len(Hints.read(tmp_path / "hints.json")) == 0
    for content in ("{", "[]", '{"entries": {}}', "null"):
        (tmp_path / "hints.json").write_text(content)
        with pytest.raises(InputError, match="no file of hints"):
            Hints.read(tmp_path / "hints.json")
    hints_in.cache_clear()
    assert len(hints_in(tmp_path)) == 0
