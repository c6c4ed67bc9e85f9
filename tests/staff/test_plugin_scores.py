"""Points: shares, partial credit, the leaderboard, messages; and the bugs of gradescope-utils, none of them here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograder import gradescope
from autograder.feedback import scores

from .graded import TOY, Project, Run, project

__all__ = ["project"]
pytest_plugins = ["pytester"]

FAILED, OURS, PASSED = scores.FAILED, scores.GRADER_ERROR, scores.PASSED


def row(run: Run, index: int = 0) -> dict[str, Any]:
    """A row of what results.json would hold."""
    assert run.document is not None
    entry: dict[str, Any] = run.document["tests"][index]
    return entry


# --- shares


def test_cases_share_the_weight_of_their_function(project: Project) -> None:
    """Four cases of a function of weight 1 beside a function of weight 3: each case is a sixteenth."""
    project.public("""
        @item("total")
        @pytest.mark.parametrize("n", [0, 1, 2, 3], ids=["a", "b", "c", "d"])
        def test_cases(student, check, n):
            check.equal(student.maths.total([n]), 0)

        @item("total")
        @weight(3)
        def test_heavy(student, check):
            check.equal(student.maths.total([1]), 1)
    """)
    run = project.run()
    assert run.session is not None
    assert {case.name: case.share for case in run.session.cases.values()} == {
        **{f"test_cases[{name}]": 0.25 for name in "abcd"},
        "test_heavy": 3.0,
    }
    assert run.rows["total"].score == 4 * (3 + 0.25) / 4


def test_stacked_parametrize_shares_too(project: Project) -> None:
    """Two by three cases are six."""
    project.public("""
        @item("total")
        @pytest.mark.parametrize("a", [1, 2], ids=["a1", "a2"])
        @pytest.mark.parametrize("b", [1, 2, 3], ids=["b1", "b2", "b3"])
        def test_cases(student, check, a, b):
            check.equal(student.maths.total([a, b]), 3)
    """)
    run = project.run()
    assert set(run.states) == {f"test_cases[{b}-{a}]" for a in ("a1", "a2") for b in ("b1", "b2", "b3")}
    assert run.rows["total"].score == 1.33


def test_half_of_the_cases_are_half_of_the_points(project: Project) -> None:
    """3 of 5 are 60 percent, not nothing."""
    project.public("""
        @item("total")
        @pytest.mark.parametrize("n", [0, 1, 2, 3, 4], ids=list("abcde"))
        def test_cases(student, check, n):
            check.that(n < 3, "n should be small")
    """)
    run = project.run()
    assert row(run)["score"] == 2.4
    assert row(run)["status"] == "failed"


def test_each_case_has_an_outcome_and_a_name_of_its_own(project: Project) -> None:
    """classroom runners raise KeyError on these."""
    project.public("""
        @item("total")
        @pytest.mark.parametrize("n", [1, 1, 1], ids=["same", "a-b[c]", "x::y"])
        def test_cases(student, n):
            pass
    """)
    assert row(project.run())["extra_data"]["tests"] == {
        "test_toy.py::test_cases[same]": PASSED,
        "test_toy.py::test_cases[a-b[c]]": PASSED,
        "test_toy.py::test_cases[x::y]": PASSED,
    }


def test_a_bonus_row_has_no_maximum(project: Project) -> None:
    """max_score 0, and its points are added."""
    project.public("""
        @item("extra")
        def test_extra(student, check):
            check.equal(student.words.extra(), 1)
    """)
    entry = row(project.run(), 3)
    assert (entry["score"], entry["max_score"], entry["status"]) == (1.0, 0.0, "passed")


def test_an_item_may_have_wider_tolerances(project: Project) -> None:
    """tolerance in assignment.toml reaches the checks of that item, and of no other."""
    source = """
        @item({slug!r})
        def test_{slug}(check):
            check.close(1 + 5e-10, 1.0, "it")
    """
    project.write(
        "assignment.toml", TOY.replace('points = 4, file = "maths.py"', 'points = 4, file = "maths.py", tolerance = 10')
    )
    project.public(source.format(slug="total") + source.format(slug="greet"))
    assert project.run().states == {"test_total": PASSED, "test_greet": FAILED}


# --- partial credit

PARTIAL = """
    {above}
    @item("total")
    {below}
    @partial_credit({weight})
    def test_partial(student, check, set_score, **others):
        {body}
"""
SETS = [
    ("all", "set_score(10)", PASSED, 1.0),
    ("half", "set_score(5)", FAILED, 0.5),
    ("none", "set_score(0)", FAILED, 0.0),
    ("over", "set_score(25)", PASSED, 1.0),
    ("under", "set_score(-5)", FAILED, 0.0),
    ("last-one-counts", "set_score(10); set_score(2)", FAILED, 0.2),
    ("numpy-float", "set_score(np.float32(2.5))", FAILED, 0.25),
    ("numpy-int", "set_score(np.int64(5))", FAILED, 0.5),
    ("then-fails", "set_score(10); check.equal(1, 2)", FAILED, 0.0),
    ("then-asserts", "set_score(10); assert False", FAILED, 0.0),
    ("then-student-raises", "set_score(10); student.maths.total(3)", FAILED, 0.0),
    (
        "then-swallows-an-object",
        "set_score(10)\n        try: bool(student.maths)\n        except StudentError: pass",
        FAILED,
        0.0,
    ),
    ("then-ours", "set_score(10); check.close(1.0, np.nan)", OURS, 0.0),
    ("never", "pass", OURS, 0.0),
    ("none-at-all", "set_score(None)", OURS, 0.0),
    ("nan", "set_score(float('nan'))", OURS, 0.0),
    ("infinite", "set_score(float('inf'))", OURS, 0.0),
    ("text", "set_score('3')", OURS, 0.0),
    ("truth", "set_score(True)", OURS, 0.0),
    ("array", "set_score(np.ones(1))", OURS, 0.0),
]


def test_partial_credit(project: Project) -> None:
    """Clamped, void when the test fails, and never a gift: what is set by mistake is a fault of ours."""
    lines = []
    for name, body, _, _ in SETS:
        source = PARTIAL.format(above="", below="", weight=10, body=body)
        lines.append(source.replace("test_partial", f"test_{name.replace('-', '_')}"))
    project.public("".join(lines))
    run = project.run()
    found = [(name, *told(run, name)) for name, _, _, _ in SETS]
    assert found == [(name, state, fraction) for name, _, state, fraction in SETS]
    assert "set the score nan" in run.outcomes["test_nan"].detail
    assert run.outcomes["test_half"].message == "partial credit: 50% of this check"


def told(run: Run, name: str) -> tuple[str, float]:
    outcome = run.outcomes[f"test_{name.replace('-', '_')}"]
    return outcome.state, outcome.fraction


def test_partial_credit_is_a_share_of_the_item(project: Project) -> None:
    """4 of 10, of an item of 4 points, is 1.6; the run is red, since points are missing."""
    project.public(PARTIAL.format(above="", below="", weight=10, body="set_score(4)"))
    run = project.run()
    assert (row(run)["score"], row(run)["status"], run.code) == (1.6, "failed", 1)
    assert "[x] test_partial" in row(run)["output"]
    assert "partial credit: 40% of this check" in row(run)["output"]
    assert "partial credit: 40% of this check" in run.text


@pytest.mark.parametrize(
    ("above", "below"),
    [("@leaderboard('loss', 'asc')", ""), ("", "@leaderboard('loss', 'asc')"), ("@tags('a')", "@hide_errors('no')")],
    ids=["leaderboard-above", "leaderboard-between", "others"],
)
def test_partial_credit_in_any_stack(project: Project, above: str, below: str) -> None:
    """gradescope-utils loses the score when another decorator wraps the test."""
    project.public(PARTIAL.format(above=above, below=below, weight=10, body="set_score(4)"))
    assert project.run().only.fraction == 0.4


def test_a_score_does_not_live_on_into_the_next_test(project: Project) -> None:
    """gradescope-utils keeps it on the function: a second run of it that sets none would earn the last one."""
    project.public("""
        ran = []

        @item("total")
        @partial_credit(2)
        @leaderboard("loss")
        def test_first(student, set_score, set_leaderboard_value):
            ran.append(1)
            if len(ran) == 1:
                set_score(2)
                set_leaderboard_value(3)

        test_second = test_first
    """)
    run = project.run()
    assert run.states == {"test_first": PASSED, "test_second": OURS}
    assert run.outcomes["test_second"].detail == "test_second set the score None"


@pytest.mark.parametrize(
    "signature", ["set_score", "set_score=None", "**given"], ids=["fixture", "default", "keywords"]
)
def test_every_signature_of_partial_credit(project: Project, signature: str) -> None:
    """The ways in which gradescope-utils' documentation declares the parameter."""
    project.public(f"""
        @item("total")
        @partial_credit(4)
        def test_partial(student, {signature}):
            {"given['set_score']" if "given" in signature else "set_score"}(3)
    """)
    assert project.run().rows["total"].score == 3.0


# --- the leaderboard

BOARDS = [
    ("int", "set_leaderboard_value(3)", 3.0),
    ("float", "set_leaderboard_value(0.5)", 0.5),
    ("numpy", "set_leaderboard_value(np.float32(0.5))", 0.5),
    ("numpy_int", "set_leaderboard_value(np.int64(3))", 3.0),
    ("text", "set_leaderboard_value('***')", "***"),
]


def test_leaderboard(project: Project) -> None:
    """Column, order and value arrive as plain numbers or text."""
    source = "".join(
        f"""
        @item("total")
        @leaderboard({name!r}, "asc")
        def test_{name}(student, set_leaderboard_value):
            {body}
        """
        for name, body, _ in BOARDS
    )
    project.public(source)
    run = project.run()
    assert run.document is not None
    assert run.document["leaderboard"] == [{"name": name, "value": value, "order": "asc"} for name, _, value in BOARDS]
    assert all(type(entry["value"]) in (float, str) for entry in run.document["leaderboard"])
    assert row(run)["score"] == 4.0


def test_no_leaderboard_entry_without_a_value(project: Project) -> None:
    """A test that fails, sets nothing, or sets what no board can show has no entry, and counts as usual."""
    project.public("""
        @item("total")
        @leaderboard("fails")
        def test_fails(student, check, set_leaderboard_value):
            set_leaderboard_value(3)
            check.equal(1, 2)

        @item("total")
        @leaderboard("silent")
        def test_silent(student, set_leaderboard_value):
            pass

        @item("total")
        @leaderboard("endless")
        def test_endless(student, set_leaderboard_value):
            set_leaderboard_value(float("inf"))

        @item("total")
        @leaderboard("no_number")
        def test_no_number(student, set_leaderboard_value):
            set_leaderboard_value(np.float64("nan"))

        @item("total")
        @leaderboard("list")
        def test_list(student, set_leaderboard_value):
            set_leaderboard_value([1])
    """)
    run = project.run()
    assert run.document is not None
    assert "leaderboard" not in run.document
    passed = {"test_silent": PASSED, "test_endless": PASSED, "test_no_number": PASSED}
    assert run.states == {"test_fails": FAILED, "test_list": OURS, **passed}


def test_a_leaderboard_test_has_a_row_and_a_weight(project: Project) -> None:
    """gradescope-utils gives it neither."""
    project.public("""
        @item("total")
        @weight(3)
        @leaderboard("loss")
        def test_board(student, set_leaderboard_value):
            set_leaderboard_value(1)

        @item("total")
        def test_other(student, check):
            check.equal(1, 2)
    """)
    assert row(project.run())["score"] == 3.0


# --- hide_errors


def test_hide_errors_replaces_the_message(project: Project) -> None:
    """In place of a check's words, an exception and an assertion; what is not started or cannot be imported is said."""
    project.student("maths", "def total(numbers):\n    raise NotImplementedError('total: total')\n")
    project.student("words", "def greet(name:\n")
    project.public("""
        @item("total")
        @hide_errors("look at page 3")
        def test_check(student, check):
            check.equal(1, 2, "it")

        @item("total")
        @hide_errors("look at page 3")
        def test_exception(student):
            student.maths.nothing()

        @item("total")
        @hide_errors("look at page 3")
        def test_assertion(student):
            assert 1 == 2

        @item("total")
        @hide_errors("")
        def test_nothing_at_all(student, check):
            check.equal(1, 2, "it")

        @item("total")
        @hide_errors("look at page 3")
        def test_stub(student):
            student.maths.total([])

        @item("greet")
        @hide_errors("look at page 3")
        def test_import(student):
            student.words.greet("bee")
    """)
    run = project.run()
    messages = {name.removeprefix("test_"): outcome.message for name, outcome in run.outcomes.items()}
    assert {name for name, message in messages.items() if message == "look at page 3"} == {
        "check",
        "exception",
        "assertion",
    }
    assert messages["nothing_at_all"] == ""
    assert messages["stub"] == "total: total"
    assert messages["import"].startswith("words.py cannot be imported: SyntaxError")
    assert "got 1, expected 2" not in run.text


# --- gradescope-utils' other bugs


def test_a_test_that_is_skipped_in_its_body_does_not_disappear(project: Project) -> None:
    """It is a fault of ours, in its item's row, and the item keeps what passed."""
    project.public("""
        @item("total")
        def test_skips(student):
            pytest.skip("not today")

        @item("total")
        def test_passes(student):
            pass

        @item("greet")
        def test_expected(student):
            pytest.xfail("known")
    """)
    run = project.run()
    assert run.states == {"test_skips": OURS, "test_passes": PASSED, "test_expected": OURS}
    assert (row(run)["score"], row(run)["max_score"], row(run).get("status")) == (2.0, 4, None)


def test_exits_and_interrupts_of_a_test_do_not_end_the_run(project: Project) -> None:
    """sys.exit() in a student's function or in a test is a failure of that test."""
    project.student("maths", "import sys\n\n\ndef total(numbers):\n    sys.exit()\n")
    project.public("""
        @item("total")
        def test_student(student):
            student.maths.total([1])

        @item("greet")
        def test_test(student):
            raise SystemExit

        @item("extra")
        def test_later(student, check):
            check.equal(student.words.extra(), 1)
    """)
    assert project.run().states == {"test_student": FAILED, "test_test": FAILED, "test_later": PASSED}


def test_ctrl_c_stops_the_run(project: Project) -> None:
    """On a laptop it is the student's own key; the tests before it keep their outcome."""
    project.student("maths", "def total(numbers):\n    raise KeyboardInterrupt\n")
    project.public("""
        @item("total")
        def test_total(student):
            student.maths.total([1])

        @item("greet")
        def test_later(student):
            pass
    """)
    with pytest.raises(KeyboardInterrupt):
        project.run()


def test_two_runs_do_not_add_up(project: Project) -> None:
    """gradescope-utils writes both into one stream."""
    project.public("""
        @item("total")
        def test_total(student):
            pass
    """)
    first, second = project.run(), project.run()
    assert first.document == second.document
    assert len(row(second)["extra_data"]["tests"]) == 1


def test_odd_text_of_a_student_reaches_no_file(project: Project) -> None:
    """Colours, NUL, lone surrogates and control characters in a message, printed or raised, are cleaned away."""
    project.student(
        "maths",
        r"""
        def total(numbers):
            print("\0\x1b[31m\ud800")
            raise ValueError("a\0b\x1b[31mred\x1b[0m\x07c\ud800d\r\ne\u202ef")
        """,
    )
    project.public("""
        @item("total")
        def test_total(student):
            student.maths.total([1])
    """)
    run = project.run()
    assert "ValueError: abredc?d\n" in row(run)["output"].replace("    ", "")
    assert gradescope.clean(row(run)["output"]) == row(run)["output"]


def test_hidden_rows_do_not_exist(project: Project) -> None:
    """One of them would hide every student's total: nothing a test says makes one."""
    project.hidden("""
        @item("total")
        @visibility("visible")
        def test_total(student):
            pass
    """)
    run = project.run()
    assert run.document is not None
    assert run.document["visibility"] == "visible"
    assert all("visibility" not in entry for entry in run.document["tests"])


def test_numpy_scores_are_plain_numbers_in_the_file(project: Project) -> None:
    """gradescope-utils leaves half a file behind."""
    project.public(PARTIAL.format(above="", below="", weight=4, body="set_score(np.float32(3))"))
    score = row(project.run())["score"]
    assert (type(score), score) == (float, 3.0)
    assert type(score) is not np.float64
