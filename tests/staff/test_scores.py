"""From outcomes to scores: shares, rounding, states."""

from __future__ import annotations

import pytest

from autograder.feedback.scores import (
    CANNOT_IMPORT,
    FAILED,
    GRADER_ERROR,
    LATE,
    NOT_RUN,
    NOT_STARTED,
    PASSED,
    UNFINISHED,
    WAITING,
    Outcome,
    ScoreSheet,
    public_shares,
    score_items,
)

from .graded import assignment, case, item, scored

ONE = assignment(item("total", 4.0))
TWO = assignment(item("total", 4.0), item("scale", 3.0, needs=("total",)))


def test_a_score_is_the_points_times_the_passed_share() -> None:
    """Weights 3 and 1: passing the first earns three quarters of the points."""
    rows = scored(ONE, {case("total", "a", share=3): PASSED, case("total", "b", share=1): FAILED})
    assert rows["total"].score == 3.0


@pytest.mark.parametrize(
    ("passed", "score"),
    [(0, 0.0), (1, 1.33), (2, 2.67), (3, 4.0)],
    ids=["none", "a-third", "two-thirds", "all"],
)
def test_scores_have_two_decimals(passed: int, score: float) -> None:
    """A third of four points is 1.33; all of them are exactly four."""
    tests = {case("total", f"t{index}"): PASSED if index < passed else FAILED for index in range(3)}
    assert scored(ONE, tests)["total"].score == score


def test_all_passed_is_the_whole_score_whatever_the_shares() -> None:
    """No sum of shares like 0.1 + 0.2 costs a full score or the state."""
    tests = {
        case("total", f"t{index}", share=share): PASSED for index, share in enumerate((0.1, 0.2, 1 / 3, 0.7, 1e-9))
    }
    row = scored(ONE, tests)["total"]
    assert (row.score, row.state) == (4.0, PASSED)


def test_partial_credit_earns_its_part() -> None:
    """Half of a test of weight 1 beside a passed one of weight 3."""
    tests = {case("total", "a", share=3): PASSED, case("total", "b"): Outcome(FAILED, 0.5)}
    row = scored(ONE, tests)["total"]
    assert (row.score, row.state) == (3.5, FAILED)


@pytest.mark.parametrize(
    ("fraction", "score"),
    [(2.5, 4.0), (-1.0, 2.0), (1.0, 4.0), (0.0, 2.0)],
    ids=["over", "under", "all", "none"],
)
def test_fractions_are_clamped(fraction: float, score: float) -> None:
    """No test earns more than its share or takes points from another."""
    tests = {case("total", "a"): PASSED, case("total", "b"): Outcome(FAILED, fraction)}
    assert scored(ONE, tests)["total"].score == score


def test_an_item_without_tests_has_no_points_and_was_not_run() -> None:
    """No tests is not the same as all tests passed."""
    row = scored(ONE, {})["total"]
    assert (row.score, row.state, row.cases) == (0.0, NOT_RUN, ())


def test_rows_stand_in_the_order_of_the_assignment() -> None:
    """One row an item, whatever the order of the tests."""
    told = assignment(item("b"), item("a"), item("c"))
    rows = score_items(told, [case("c", "t"), case("b", "t2")], {})
    assert [(row.item.slug, row.item.number) for row in rows] == [("b", "1.1"), ("a", "1.2"), ("c", "1.3")]


STATES = [
    ("all-passed", (PASSED, PASSED), PASSED, 4.0),
    ("one-failed", (PASSED, FAILED), FAILED, 2.0),
    ("all-failed", (FAILED, FAILED), FAILED, 0.0),
    ("all-stubs", (NOT_STARTED, NOT_STARTED), NOT_STARTED, 0.0),
    ("half-a-stub", (PASSED, NOT_STARTED), UNFINISHED, 2.0),
    ("stub-and-wrong", (FAILED, NOT_STARTED), FAILED, 0.0),
    ("stub-before-the-end-of-a-run", (NOT_STARTED, NOT_RUN), NOT_RUN, 0.0),
    ("import", (CANNOT_IMPORT, CANNOT_IMPORT), CANNOT_IMPORT, 0.0),
    ("import-of-one", (PASSED, CANNOT_IMPORT), CANNOT_IMPORT, 2.0),
    ("import-and-late", (LATE, CANNOT_IMPORT), CANNOT_IMPORT, 0.0),
    ("late", (PASSED, LATE), LATE, 2.0),
    ("late-and-failed", (FAILED, LATE), LATE, 0.0),
    ("not-run", (NOT_RUN, NOT_RUN), NOT_RUN, 0.0),
    ("cut-short", (PASSED, NOT_RUN), NOT_RUN, 2.0),
    ("failed-then-cut-short", (FAILED, NOT_RUN), NOT_RUN, 0.0),
    ("our-fault", (GRADER_ERROR, GRADER_ERROR), GRADER_ERROR, 0.0),
    ("our-fault-and-passed", (PASSED, GRADER_ERROR), GRADER_ERROR, 2.0),
    ("our-fault-and-failed", (FAILED, GRADER_ERROR), GRADER_ERROR, 0.0),
    ("our-fault-and-stub", (NOT_STARTED, GRADER_ERROR), GRADER_ERROR, 0.0),
]


@pytest.mark.parametrize(("outcomes", "state", "score"), [row[1:] for row in STATES], ids=[row[0] for row in STATES])
def test_states(outcomes: tuple[str, ...], state: str, score: float) -> None:
    """The state of an item says what matters most, and it always keeps what passed."""
    row = scored(ONE, {case("total", f"t{index}"): outcome for index, outcome in enumerate(outcomes)})["total"]
    assert (row.state, row.score, row.label) == (state, score, state)


WAITS = [
    ("both-fail", (FAILED,), (FAILED,), WAITING),
    ("needed-is-a-stub", (NOT_STARTED,), (FAILED,), WAITING),
    ("needed-half-full", (PASSED, FAILED), (FAILED,), WAITING),
    ("late-because-of-it", (FAILED,), (LATE,), WAITING),
    ("passes-anyway", (FAILED,), (PASSED,), PASSED),
    ("part-passes", (FAILED,), (PASSED, FAILED), WAITING),
    ("needed-is-full", (PASSED,), (FAILED,), FAILED),
    ("both-stubs", (NOT_STARTED,), (NOT_STARTED,), NOT_STARTED),
    ("import-is-the-better-word", (CANNOT_IMPORT,), (CANNOT_IMPORT,), CANNOT_IMPORT),
    ("needed-was-not-run", (NOT_RUN,), (FAILED,), FAILED),
    ("needed-cut-short", (PASSED, NOT_RUN), (FAILED,), FAILED),
    ("needed-broke-on-our-side", (GRADER_ERROR,), (FAILED,), FAILED),
    ("our-fault-comes-first", (FAILED,), (GRADER_ERROR,), GRADER_ERROR),
]


@pytest.mark.parametrize(("needed", "waiting", "state"), [row[1:] for row in WAITS], ids=[row[0] for row in WAITS])
def test_waiting(needed: tuple[str, ...], waiting: tuple[str, ...], state: str) -> None:
    """Tests of a waiting item count if they pass; it is said only when they fail and the needed is not full."""
    tests = {case("total", f"n{index}"): outcome for index, outcome in enumerate(needed)}
    tests |= {case("scale", f"w{index}"): outcome for index, outcome in enumerate(waiting)}
    row = scored(TWO, tests)["scale"]
    assert row.state == state
    assert row.label == ("waiting for 1.1" if state == WAITING else state)
    assert row.score == pytest.approx(3.0 * waiting.count(PASSED) / len(waiting))


def test_waiting_names_every_item_that_is_not_full() -> None:
    """Numbers, not slugs, and only of items that lost something."""
    told = assignment(item("a"), item("b"), item("c"), item("last", needs=("a", "b", "c")))
    tests = {case("a", "t1"): FAILED, case("b", "t2"): PASSED, case("c", "t3"): FAILED, case("last", "t4"): FAILED}
    assert scored(told, tests)["last"].label == "waiting for 1.1, 1.3"


@pytest.mark.parametrize("needs", ["waived", "off"], ids=["waived", "off"])
def test_nobody_waits_for_an_item_that_does_not_count(needs: str) -> None:
    """An item that is waived or switched off is no reason for another one's failure."""
    told = assignment(item("waived", waived=True), item("last", needs=(needs,)))
    rows = scored(told, {case("waived", "t1"): FAILED, case("last", "t2"): FAILED})
    assert rows["last"].state == FAILED


@pytest.mark.parametrize("outcome", [FAILED, NOT_STARTED, GRADER_ERROR, NOT_RUN, CANNOT_IMPORT], ids=str)
def test_a_waived_item_is_full(outcome: str) -> None:
    """Whatever its tests say, everybody has its points."""
    row = scored(assignment(item("free", 2.5, waived=True)), {case("free", "t"): outcome})["free"]
    assert (row.score, row.state) == (2.5, PASSED)


def test_a_waived_item_is_full_without_tests() -> None:
    """Its tests may be gone altogether."""
    row = scored(assignment(item("free", 2.5, waived=True)), {})["free"]
    assert (row.score, row.state) == (2.5, PASSED)


def test_a_bonus_scores_like_any_item() -> None:
    """Its points are earned in the same way; only the maximum differs."""
    told = assignment(item("total", 4.0), item("extra", 2.0, bonus=True))
    rows = scored(told, {case("extra", "a"): PASSED, case("extra", "b"): FAILED})
    assert rows["extra"].score == 1.0
    assert told.points == 4.0


def test_public_shares_follow_from_the_weights() -> None:
    """The part of an item's weight that public tests carry, for each item that has tests."""
    tests = [
        case("total", "seen"),
        case("total", "unseen", share=2, hidden=True),
        case("scale", "unseen", hidden=True),
        case("greet", "seen", share=0.5),
    ]
    assert public_shares(tests) == {"total": pytest.approx(1 / 3), "scale": 0.0, "greet": 1.0}


def test_names_of_cases() -> None:
    """test_function[case], or the function alone."""
    assert case("total", "test_a", "small").name == "test_a[small]"
    assert case("total", "test_a").name == "test_a"


def test_a_sheet_keeps_the_rows_to_which_nothing_has_happened() -> None:
    """As the same objects; what has changed, or waits for what has changed, is scored anew and as by itself."""
    told = assignment(item("total", 4.0), item("scale", 1.0, needs=("total",)), item("free", 1.0))
    cases = [case("total", "a"), case("total", "b"), case("scale", "c"), case("free", "d")]
    sheet, outcomes = ScoreSheet(told), {cases[2].key: Outcome(FAILED), cases[3].key: Outcome(PASSED, 1.0)}
    before = sheet.rows(cases, outcomes)
    outcomes[cases[0].key] = Outcome(FAILED)
    after = sheet.rows(cases, outcomes)
    assert [old is new for old, new in zip(before, after, strict=True)] == [False, False, True]
    assert after[1].waiting_for == ("1.1",)
    assert after == score_items(told, cases, outcomes)
    more = [*cases, case("free", "e")]
    assert sheet.rows(more, outcomes) == score_items(told, more, outcomes)
