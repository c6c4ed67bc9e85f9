"""The score card: what stands on the terminal after a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from autograder.feedback import card, scores
from autograder.feedback.assignment import Assignment
from autograder.feedback.scores import FAILED, GRADER_ERROR, NOT_RUN, NOT_STARTED, PASSED, SKIPPED, Case, Outcome

from .graded import assignment, case, item, scored

TWO = assignment(item("total", 3.0), item("scale", 1.0, needs=("total",)))


class Screen:
    """Takes what is written, with its colour."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.colours: dict[str, str] = {}

    def write_line(self, line: str, **markup: bool) -> None:
        self.lines.append(line)
        self.colours[line.strip()[:3].strip()] = ",".join(markup)


def written(told: Assignment, tests: Mapping[Case, Any], seed: int = 0) -> Screen:
    """The card of these outcomes."""
    screen = Screen()
    card.write(screen, told, list(scored(told, tests).values()), seed)
    return screen


def test_a_card() -> None:
    """A bar a part, a line an item with a word for its state, and where to go on."""
    screen = written(
        TWO,
        {case("total", "a", share=2): PASSED, case("total", "b"): FAILED, case("scale", "c"): NOT_STARTED},
    )
    assert screen.lines == [
        "",
        "1  Part one  [##########----------]",
        "  1.1   The total                              1 of 2 checks   failed",
        "  1.2   The scale                              0 of 1 checks   not started",
        "next: 1.1 The total, in toy/maths.py",
        "      python -m pytest --item total",
    ]


def test_all_unfilled() -> None:
    """Before anything is written nothing is red, and nothing is wrong."""
    screen = written(TWO, {case("total", "a"): NOT_STARTED, case("scale", "b"): NOT_STARTED})
    assert "1  Part one  [--------------------]" in screen.lines
    assert 'nothing is wrong: every function still says "not implemented"' in screen.lines
    assert screen.lines[-2:] == ["next: 1.1 The total, in toy/maths.py", "      python -m pytest --item total"]
    assert (screen.colours["1.1"], screen.colours["1.2"]) == ("yellow", "yellow")


def test_all_local_checks_pass() -> None:
    """A full card never says that all tests pass: grading uses new inputs."""
    screen = written(TWO, {case("total", "a"): PASSED, case("scale", "b"): PASSED, case("scale", "c"): PASSED})
    assert screen.lines[-1] == (
        "all 3 local checks pass; grading uses new inputs, and most points are given only there"
    )
    assert "1  Part one  [####################]" in screen.lines
    assert not any(line.startswith("next") for line in screen.lines)


def test_all_checks_pass_with_the_hidden_ones() -> None:
    """Where hidden tests ran, as for staff, all is all."""
    assert written(TWO, {case("total", "a", hidden=True): PASSED}).lines[-1] == "all 1 checks pass"


@pytest.mark.parametrize(
    ("outcome", "colour"),
    [
        (PASSED, "green"),
        (FAILED, "red"),
        (NOT_STARTED, "yellow"),
        (scores.LATE, "red"),
        (scores.CANNOT_IMPORT, "red"),
        (GRADER_ERROR, "red"),
    ],
    ids=str,
)
def test_a_colour_never_stands_alone(outcome: str, colour: str) -> None:
    """Each state has a word beside its colour."""
    screen = written(assignment(item("total")), {case("total", "a"): outcome})
    (line,) = [line for line in screen.lines if line.startswith("  1.1")]
    assert line.endswith(f"   {outcome}")
    assert screen.colours["1.1"] == colour


def test_a_waiting_item_is_yellow_and_names_what_it_waits_for() -> None:
    """The next thing to do is the item that it waits for."""
    screen = written(TWO, {case("total", "a"): FAILED, case("scale", "b"): FAILED})
    assert "  1.2   The scale                              0 of 1 checks   waiting for 1.1" in screen.lines
    assert screen.colours["1.2"] == "yellow"
    assert screen.lines[-1] == "      python -m pytest --item total"


def test_items_that_did_not_run_are_left_out() -> None:
    """With --item there is one line, and its part's bar is about it alone."""
    screen = written(TWO, {case("total", "a"): NOT_RUN, case("scale", "b"): FAILED})
    assert [line for line in screen.lines if line.startswith("  1.")] == [
        "  1.2   The scale                              0 of 1 checks   failed"
    ]
    assert screen.lines[-1] == "      python -m pytest --item scale"


def test_nothing_is_next_after_a_fault_of_ours() -> None:
    """A student is not sent to look for what is not theirs; nor is all said to pass."""
    screen = written(TWO, {case("total", "a"): GRADER_ERROR, case("scale", "b"): PASSED})
    assert not any(line.startswith(("next", "all")) for line in screen.lines)
    screen = written(TWO, {case("total", "a"): GRADER_ERROR, case("scale", "b"): FAILED})
    assert screen.lines[-1] == "      python -m pytest --item scale"


def test_the_next_command_repeats_the_seed() -> None:
    """The inputs of this run, again."""
    assert (
        written(TWO, {case("total", "a"): FAILED}, seed=7).lines[-1] == "      python -m pytest --item total --seed 7"
    )


def test_partial_credit_fills_the_bar_in_part() -> None:
    """Half of the points are half of the bar, whatever the number of checks."""
    screen = written(assignment(item("total")), {case("total", "a"): Outcome(FAILED, 0.5)})
    assert "1  Part one  [##########----------]" in screen.lines
    assert " 0 of 1 checks   failed" in screen.lines[2]


def test_a_bar_is_full_only_with_every_point() -> None:
    """Rounding never fills the last mark."""
    tests = {case("total", f"t{index}"): PASSED if index else FAILED for index in range(100)}
    assert "1  Part one  [###################-]" in written(assignment(item("total", 2.0)), tests).lines


def test_a_bar_is_full_without_the_bonus() -> None:
    """It is about the points that everybody can get; a part of bonus items alone has a bar about these."""
    told = assignment(item("total"), item("extra", bonus=True))
    assert (
        "1  Part one  [####################]"
        in written(told, {case("total", "a"): PASSED, case("extra", "b"): FAILED}).lines
    )
    told = assignment(item("extra", bonus=True), item("more", bonus=True))
    assert (
        "1  Part one  [##########----------]"
        in written(told, {case("extra", "a"): PASSED, case("more", "b"): FAILED}).lines
    )


def test_a_skipped_part_says_why() -> None:
    """One yellow line in place of its items; it is no failure, nor is it said to pass."""
    absent = Outcome(SKIPPED, 0.0, "skipped: torch is not installed (needed from part 1 on)")
    screen = written(TWO, {case("total", "a"): absent, case("scale", "b"): absent})
    assert screen.lines == ["", "1  Part one  skipped: torch is not installed (needed from part 1 on)"]
    assert screen.colours["1"] == "yellow"


def test_a_waived_item_counts_as_full() -> None:
    """Whatever its tests say."""
    told = assignment(item("free", waived=True))
    assert written(told, {case("free", "a"): FAILED}).lines[1] == "1  Part one  [####################]"


def test_nothing_ran() -> None:
    """No bar, no advice."""
    assert written(TWO, {case("total", "a"): NOT_RUN}).lines == [""]


def test_the_card_is_plain_ascii() -> None:
    """It survives a pipe and a console of another encoding."""
    screen = written(TWO, {case("total", "a"): FAILED, case("scale", "b"): PASSED})
    assert all(line.isascii() for line in screen.lines)


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Outcome(FAILED, 0.0, "it is wrong", "secret"), "test_a holds\nit is wrong"),
        (Outcome(FAILED, 0.5, "partial credit: 50%"), "test_a holds\npartial credit: 50%"),
        (Outcome(FAILED, 0.0, ""), "test_a holds"),
        (Outcome(NOT_STARTED, 0.0, "total: total"), "not started: total: total"),
        (Outcome(NOT_STARTED, 0.0, ""), "not started"),
        (Outcome(GRADER_ERROR, 0.0, "", "KeyError: x"), "grader error (not your code): KeyError: x"),
    ],
    ids=["failed", "partial", "silent", "stub", "silent-stub", "ours"],
)
def test_the_text_of_a_failure(outcome: Outcome, text: str) -> None:
    """What must hold, then what does not; details of staff only where the fault is ours."""
    assert card.failure_text(case("total", "test_a"), outcome) == text


def test_import_error_is_told_once() -> None:
    """One broken file fails many tests: the first says all of it, the others say that it is the same."""
    message = "work.py cannot be imported: SyntaxError\n  mini/work.py:3 in <module>"
    outcome = Outcome(scores.CANNOT_IMPORT, 0.0, message)
    assert card.failure_text(case("mle", "test_prob"), outcome).endswith("mini/work.py:3 in <module>")
    assert (
        card.failure_text(case("mle", "test_prob"), outcome, again=True)
        == "as above: work.py cannot be imported: SyntaxError"
    )
    other = Outcome(scores.FAILED, 0.0, "wrong")
    assert card.failure_text(case("mle", "test_prob"), other, again=True) == card.failure_text(
        case("mle", "test_prob"), other
    )
