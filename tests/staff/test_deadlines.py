"""Deadlines of calls, tests, items and the run, with a clock of our own: ``autograder.deadlines``."""

from __future__ import annotations

import pytest

from autograder.deadlines import MISSES, Deadlines
from autograder.feedback.assignment import Budgets

BUDGETS = Budgets(call=5, test=8, item=20, run=100, platform=200)


class Clock:
    """A time that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def deadlines(clock: Clock) -> Deadlines:
    return Deadlines(BUDGETS, clock)


def spend(deadlines: Deadlines, clock: Clock, item: str, seconds: float) -> None:
    """A test of an item that takes so long."""
    deadlines.begin(item)
    clock.now += seconds
    deadlines.end()


def test_call_has_its_own_deadline(deadlines: Deadlines, clock: Clock) -> None:
    """A call that starts now must have ended ``call`` seconds later; the next one gets as much again."""
    deadlines.begin("a")
    assert deadlines.call() == (1005, "did not finish within 5 s")
    clock.now += 2
    assert deadlines.call() == (1007, "did not finish within 5 s")


def test_test_ends_whatever_its_calls_take(deadlines: Deadlines, clock: Clock) -> None:
    """Many short calls do not push the test's own deadline back."""
    deadlines.begin("a")
    clock.now += 6
    assert deadlines.call() == (1008, "did not let the whole check finish within 8 s")
    clock.now += 1.5
    assert deadlines.call()[0] == 1008


def test_item_ends_whatever_its_tests_take(deadlines: Deadlines, clock: Clock) -> None:
    """The tests of an item share its time, with other items' tests between them."""
    spend(deadlines, clock, "a", 7)
    spend(deadlines, clock, "b", 7)
    spend(deadlines, clock, "a", 7)
    deadlines.begin("a")
    clock.now += 3
    assert deadlines.call() == (1027, "did not finish before the time for this item (20 s) was used up")


def test_run_ends_whatever_its_items_take(deadlines: Deadlines, clock: Clock) -> None:
    """No call outlives the run."""
    for item in "abcdefghijkl":
        spend(deadlines, clock, item, 8)
    deadlines.begin("m")
    assert deadlines.call() == (1100, "did not finish before the time for the whole run (100 s) was used up")


def test_time_between_tests_is_no_items(deadlines: Deadlines, clock: Clock) -> None:
    """Only the time between begin and end counts against an item."""
    for _ in range(5):
        spend(deadlines, clock, "a", 1)
        clock.now += 10
    assert deadlines.refusal("a") == ""


def test_item_is_closed_after_two_missed_deadlines(deadlines: Deadlines, clock: Clock) -> None:
    """One miss is forgiven; two close the item, and no other."""
    assert MISSES == 2
    for refusal in ("", "not run: 2 checks of this item did not finish in time"):
        deadlines.begin("a")
        deadlines.missed()
        deadlines.end()
        assert deadlines.refusal("a") == refusal
    assert deadlines.refusal("b") == ""


def test_item_without_time_left_is_closed(deadlines: Deadlines, clock: Clock) -> None:
    """An item whose time is used up to the last second runs no further test."""
    spend(deadlines, clock, "a", 19.5)
    assert deadlines.refusal("a") == ""
    spend(deadlines, clock, "a", 0.5)
    assert deadlines.refusal("a") == "not run: the time for this item (20 s) was used up before this check"
    assert deadlines.refusal("b") == ""


def test_nothing_runs_after_the_runs_end(deadlines: Deadlines, clock: Clock) -> None:
    """At the run's end every item is closed, those that never ran included."""
    clock.now += 99.9
    assert deadlines.refusal("a") == ""
    clock.now += 0.1
    assert deadlines.refusal("a") == "not run: the time for the whole run (100 s) was used up before this check"


def test_run_begins_when_the_clock_is_made(clock: Clock) -> None:
    """Time before the first test counts against the run."""
    deadlines = Deadlines(BUDGETS, clock)
    clock.now += 97
    deadlines.begin("a")
    assert deadlines.call()[0] == 1100


def test_fractions_of_a_second_are_told_as_they_are(clock: Clock) -> None:
    """Budgets below a second are shown without noise."""
    deadlines = Deadlines(Budgets(call=0.25, test=0.5, item=1, run=2), clock)
    deadlines.begin("a")
    assert deadlines.call()[1] == "did not finish within 0.25 s"
