"""What a test says of itself: @item, and gradescope-utils' decorators in every order; what is refused at collection."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import (
    hide_errors,
    leaderboard,
    number,
    partial_credit,
    tags,
    visibility,
    weight,
)

from autograder.feedback.marks import BadTest, Marks, clear_values, item, read_marks, refuse_broad_raises, set_value

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]


def decorated(*decorators: Decorator) -> Function:
    """A test under these decorators, the first of them on top."""

    def test_it(**given: Any) -> None:
        for name, value in (("set_score", 1.5), ("set_leaderboard_value", 42)):
            if name in given:
                given[name](value)

    function: Function = test_it
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


def marks(*decorators: Decorator, parametrized: bool = False) -> Marks:
    """What is read of such a test."""
    return read_marks(decorated(*decorators), parametrized)


def refusal(*decorators: Decorator, parametrized: bool = False) -> str:
    """Why it is refused."""
    with pytest.raises(BadTest) as caught:
        marks(*decorators, parametrized=parametrized)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- what is honoured


def test_an_item_alone_has_weight_one() -> None:
    """Weight 1, no partial credit, no leaderboard, its own message."""
    assert marks(item("mle")) == Marks("mle", 1.0, False, None, None, ())


@pytest.mark.parametrize("value", [2, 0.5, np.float64(2)], ids=["int", "fraction", "numpy"])
def test_weight(value: float) -> None:
    """Any positive number, as a float."""
    read = marks(item("mle"), weight(value)).weight
    assert type(read) is float
    assert read == value


def test_every_mark_is_read() -> None:
    """Partial credit with its weight, the leaderboard's column and order, message and tags."""
    read = marks(item("mle"), partial_credit(4), leaderboard("loss", "asc"), hide_errors("no"), tags("a", "b"))
    assert read == Marks("mle", 4.0, True, ("loss", "asc"), "no", ("a", "b"))


def test_a_leaderboard_is_descending_unless_it_says_otherwise() -> None:
    """As in gradescope-utils."""
    assert marks(item("mle"), leaderboard("accuracy")).leaderboard == ("accuracy", "desc")


def test_a_message_may_be_empty() -> None:
    """hide_errors("") shows nothing, which is not the same as no mark."""
    assert marks(item("mle"), hide_errors("")).hidden_message == ""
    assert marks(item("mle"), hide_errors()).hidden_message == "Test failed"


def test_visible_is_no_news() -> None:
    """The one visibility that hides nothing is accepted."""
    assert marks(item("mle"), visibility("visible")).item == "mle"


STACK: dict[str, Decorator] = {
    "item": item("mle"),
    "partial": partial_credit(2),
    "board": leaderboard("loss", "asc"),
    "hide": hide_errors("no"),
    "tags": tags("a"),
}
ORDERS = [order for order in permutations(STACK) if order.index("hide") < order.index("tags")]


@pytest.mark.parametrize("order", ORDERS, ids=["-".join(order) for order in ORDERS])
def test_every_order_of_decorators(order: tuple[str, ...]) -> None:
    """However decorators are stacked all are read, and what the test sets while it runs is found and forgotten."""
    function = decorated(*(STACK[name] for name in order))
    assert read_marks(function, False) == Marks("mle", 2.0, True, ("loss", "asc"), "no", ("a",))
    assert set_value(function, "__score__") is None
    function()
    assert set_value(function, "__score__") == 1.5
    assert set_value(function, "__leaderboard_value__") == 42
    clear_values(function)
    assert set_value(function, "__score__") is None
    assert set_value(function, "__leaderboard_value__") is None


@pytest.mark.parametrize(
    "decorators",
    [(weight(3), leaderboard("loss")), (leaderboard("loss"), weight(3))],
    ids=["above", "below"],
)
def test_a_leaderboard_test_counts_with_its_weight(decorators: tuple[Decorator, ...]) -> None:
    """gradescope-utils ignores it."""
    assert marks(item("mle"), *decorators).weight == 3.0


def test_two_functions_share_nothing() -> None:
    """Clearing one test's score leaves another's."""
    first, second = decorated(item("a"), partial_credit(2)), decorated(item("b"), partial_credit(2))
    first()
    second()
    clear_values(first)
    assert set_value(first, "__score__") is None
    assert set_value(second, "__score__") == 1.5


# --- what is refused


REFUSED: list[tuple[str, tuple[Decorator, ...], str]] = [
    ("no-item", (weight(2),), "test_it has no @item"),
    ("hidden", (item("mle"), visibility("hidden")), "one row that is not visible hides every student's total"),
    ("after-due-date", (item("mle"), visibility("after_due_date")), "hides every student's total; drop @visibility"),
    ("visibility-misspelt", (item("mle"), visibility("hiden")), "hides every student's total; drop @visibility"),
    ("visibility-inside", (partial_credit(1), visibility("hidden"), item("mle")), "hides every student's total"),
    ("number", (item("mle"), number("1.1")), "numbers follow from assignment.toml; drop @number"),
    ("weight-text", (item("mle"), weight("2")), "a weight is a positive number, not '2'"),
    ("weight-truth", (item("mle"), weight(True)), "a weight is a positive number, not True"),
    ("weight-none", (item("mle"), weight(None)), "a weight is a positive number, not None"),
    ("weight-zero", (item("mle"), weight(0)), "a weight is a positive number, not 0"),
    ("weight-negative", (item("mle"), weight(-1)), "a weight is a positive number, not -1"),
    ("weight-nan", (item("mle"), weight(math.nan)), "a weight is a positive number, not nan"),
    ("weight-endless", (item("mle"), weight(math.inf)), "a weight is a positive number, not inf"),
    ("partial-text", (item("mle"), partial_credit("2")), "a weight is a positive number, not '2'"),
    ("two-weights", (item("mle"), weight(2), partial_credit(10)), "two weights, 2 and 10"),
    ("two-weights-apart", (weight(2), leaderboard("x"), item("mle"), weight(3)), "two weights, 2 and 3"),
    ("board-without-column", (item("mle"), leaderboard("")), "@leaderboard takes a column's name, and asc or desc"),
    ("board-number", (item("mle"), leaderboard(3)), "@leaderboard takes a column's name, and asc or desc"),
    ("board-order", (item("mle"), leaderboard("x", "up")), "@leaderboard takes a column's name, and asc or desc"),
    ("message-number", (item("mle"), hide_errors(3)), "@hide_errors takes a text, not 3"),
]


@pytest.mark.parametrize(("decorators", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(decorators: tuple[Decorator, ...], text: str) -> None:
    """A mark that would lose or leak points is refused in one line that names the test."""
    told = refusal(*decorators)
    assert text in told
    assert told.startswith("test_it")


def test_partial_credit_and_parametrize_do_not_go_together() -> None:
    """Which case would set the score? In every order."""
    for decorators in ((item("mle"), partial_credit(2)), (partial_credit(2), leaderboard("x"), item("mle"))):
        told = refusal(*decorators, parametrized=True)
        assert told == "test_it: @partial_credit and parametrize do not go together"
    assert marks(item("mle"), weight(2), parametrized=True).weight == 2.0


@pytest.mark.parametrize(
    "decorators",
    [(item("a"), item("b")), (item("a"), partial_credit(1), item("a")), (item("a"), leaderboard("x"), item("b"))],
    ids=["next-to-each-other", "around-partial-credit", "around-leaderboard"],
)
def test_two_items_are_refused(decorators: tuple[Decorator, ...]) -> None:
    """A test counts for one item."""
    with pytest.raises(BadTest, match="test_it has two @item marks"):
        decorated(*decorators)


def test_an_item_without_a_slug_is_refused() -> None:
    """@item without brackets would replace the test by a function that tests nothing."""
    with pytest.raises(BadTest, match="@item takes a slug"):
        decorated(item)  # type: ignore[arg-type]


# --- pytest.raises


BROAD: list[tuple[str, str, str]] = [
    ("exception", "pytest.raises(Exception)", "Exception"),
    ("base", "pytest.raises(BaseException)", "BaseException"),
    ("student", "pytest.raises(StudentError)", "StudentError"),
    ("of-a-module", "pytest.raises(feedback.StudentError)", "StudentError"),
    ("builtins", "pytest.raises(builtins.Exception)", "Exception"),
    ("in-a-tuple", "pytest.raises((ValueError, Exception))", "Exception"),
    ("in-a-tuple-in-a-tuple", "pytest.raises((ValueError, (KeyError, Exception)))", "Exception"),
    ("with-match", "pytest.raises(Exception, match='x')", "Exception"),
    ("keyword", "pytest.raises(expected_exception=Exception)", "Exception"),
    ("imported", "raises(Exception)", "Exception"),
    ("module-alias", "pt.raises(Exception)", "Exception"),
    ("choice", "pytest.raises(Exception if x else ValueError)", "Exception"),
    ("other-class", "pytest.RaisesExc(Exception)", "Exception"),
    ("import-alias", "from pytest import raises as throws\nthrows(Exception)", "Exception"),
    ("error-alias", "from builtins import Exception as Any\npytest.raises(Any)", "Exception"),
    ("student-alias", "from autograder.feedback import StudentError as SE\npytest.raises(SE)", "StudentError"),
    ("assigned", "throws = pytest.raises\nthrows(Exception)", "Exception"),
    ("assigned-twice", "a = pytest.raises\nb = a\nb(Exception)", "Exception"),
    ("class-assigned", "ANY = Exception\npytest.raises(ANY)", "Exception"),
    ("tuple-assigned", "ANY = (ValueError, Exception)\npytest.raises(ANY)", "Exception"),
    ("assigned-again", "E = Exception\nE = ValueError\npytest.raises(E)", "Exception"),
    (
        "parametrized",
        "@pytest.mark.parametrize('error', [ValueError, Exception])\ndef test(error):\n    pytest.raises(error)",
        "Exception",
    ),
    (
        "parametrized-with-others",
        "@pytest.mark.parametrize('text, error', [('a', Exception)])\ndef test(text, error):\n    pytest.raises(error)",
        "Exception",
    ),
    ("function-form", "pytest.raises(Exception, student.f, 3)", "Exception"),
]


@pytest.mark.parametrize(("source", "name"), [row[1:] for row in BROAD], ids=[row[0] for row in BROAD])
def test_broad_raises_are_refused(source: str, name: str) -> None:
    """raises(Exception) would accept the student's NameError, under whatever name it goes."""
    line = source.count("\n") + 2
    with pytest.raises(BadTest) as caught:
        refuse_broad_raises(f"import pytest\n{source}\n", "test_x.py")
    assert str(caught.value) == f"test_x.py:{line}: raises({name}) accepts any mistake; name the exception"


@pytest.mark.parametrize(
    "source",
    [
        "pytest.raises(ValueError)",
        "pytest.raises((ValueError, KeyError), match='Exception')",
        "pytest.raises(ArithmeticError, student.f, Exception)",
        "E = ValueError\nF = Exception\npytest.raises(E)",
        "a = b = ValueError\npytest.raises(a)",
        "a = b\nb = a\npytest.raises(a)",
        "isinstance(error, Exception)",
        "try:\n    pass\nexcept Exception:\n    raise",
        "pytest.raises()",
        "(lambda: 1)()",
    ],
    ids=[
        "one",
        "two",
        "argument-of-the-call",
        "alias-of-another",
        "chained",
        "circular",
        "isinstance",
        "except",
        "empty",
        "call-of-a-lambda",
    ],
)
def test_narrow_raises_are_fine(source: str) -> None:
    """A named exception, and the word elsewhere."""
    refuse_broad_raises(source, "test_x.py")
