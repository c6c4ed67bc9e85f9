"""Rehearsals: the same outcomes as in isolation, whatever the package does; nothing outlives a play."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.feedback import scores
from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import GraderError
from autograder.grade import grade
from autograder.proof.audit import differences
from autograder.proof.executed import executed, telling
from autograder.proof.rehearsal import Rehearsal, Rehearsed, troupe
from autograder.proof.trials import Sources
from autograder.secret import DEVELOPMENT
from tests.staff.runs import HOST, POCKET, copy_home, write_submission

SECONDS = 0.5  # of the processor: what hangs hangs for so long


@pytest.fixture(scope="module")
def rehearsal() -> Iterator[Rehearsal]:
    """One stage for all tests of this file."""
    one = Rehearsal(POCKET, DEVELOPMENT, SECONDS)
    yield one
    one.close()


def with_double(body: str) -> dict[str, bytes]:
    """The small package with another ``double``."""
    source = (POCKET / "solutions/pocket/alpha.py").read_text(encoding="utf-8")
    assert "return 2 * x" in source
    return {"pocket/alpha.py": source.replace("return 2 * x", body).encode()}


def outcomes(played: Rehearsed) -> dict[str, str]:
    """Case -> state, of those that were run."""
    return {
        f"{case.test.rpartition('::')[2]}[{case.case}]": case.state
        for case in played.cases
        if case.state != scores.NOT_RUN
    }


WAYS = {
    "right": "return 2 * x",
    "wrong": "return 3 * x",
    "raises": "raise ValueError(x)",
    "of-another-type": "return [x]",
    "not-started": 'raise NotImplementedError("double: double")',
    "does-not-parse": "return (",
}


@pytest.mark.parametrize("body", WAYS.values(), ids=WAYS)
def test_a_play_comes_to_the_same_as_a_grading(rehearsal: Rehearsal, tmp_path: Path, body: str) -> None:
    """Every test of every item has the state that it has in isolation, and the rows read the same."""
    package = with_double(body)
    played = rehearsal.play(package)
    changes = {"alpha.py": package["pocket/alpha.py"].decode()}
    graded = grade(write_submission(tmp_path / "s", POCKET, changes), POCKET, host=HOST)
    assert differences(played, graded) == []
    assert played.scores == graded.scores
    rows = zip(played.results["tests"], graded.results["tests"], strict=True)
    assert [(mine["output"], mine["score"]) for mine, _ in rows] == [
        (row["output"], row["score"]) for row in graded.results["tests"]
    ]


def test_a_difference_between_the_two_is_told(rehearsal: Rehearsal) -> None:
    """Where a test has another state the audit says which."""
    right, wrong = rehearsal.play({}), rehearsal.play(with_double("return 3 * x"))
    assert (
        "hidden/test_alpha.py::test_double_of_random_numbers[number]: failed in a rehearsal, passed in isolation"
        in (differences(wrong, right))
    )


DEATHS = {
    "ends-its-process": ("import os; os._exit(0)", scores.FAILED),
    "is-killed": ("import os; os.kill(os.getpid(), 9)", scores.FAILED),
    "never-ends": ("while True: pass", scores.LATE),
    "wants-all-memory": ("return bytearray(1 << 40)", scores.FAILED),
}


@pytest.mark.parametrize(("body", "state"), DEATHS.values(), ids=DEATHS)
def test_whatever_dies_costs_its_own_tests_only(rehearsal: Rehearsal, body: str, state: str) -> None:
    """The tests behind it run, in another fork; after two deaths the rest of the item is not tried."""
    played = rehearsal.play(with_double(body))
    assert {
        name for name, found in outcomes(played).items() if found not in (state, scores.PASSED, scores.LATE)
    } == set()
    assert played.states["double"] in (state, scores.LATE)
    assert {slug: found for slug, found in played.states.items() if slug != "double"} == dict.fromkeys(
        ("mean", "span", "tally", "commonest"), scores.PASSED
    )
    assert played.cases[0].state == state


def test_nothing_outlives_a_play(rehearsal: Rehearsal) -> None:
    """What one package does to its interpreter, the next one does not see, nor the folder that it left things in."""
    rehearsal.play(with_double("import builtins; builtins.sorted = None; open('left', 'w').close(); return 2 * x"))
    assert rehearsal.play({}).total == 12
    found = rehearsal.play(with_double("import os; assert not os.path.exists('left'); return 2 * x"))
    assert found.states["double"] == scores.PASSED


def test_enough_stops_at_the_first_loss_of_an_item_and_once_at_the_first_of_all(rehearsal: Rehearsal) -> None:
    """What has lost is not tried any further; other items are, unless one loss is all that is asked."""
    wrong = with_double("return 3 * x")
    assert sum(state == scores.FAILED for state in outcomes(rehearsal.play(wrong)).values()) > 1
    enough = outcomes(rehearsal.play(wrong, enough=True))
    assert sum(state == scores.FAILED for state in enough.values()) == 1
    assert any("span" in name for name in enough)
    once = outcomes(rehearsal.play(wrong, once=True))
    assert list(once.values()) == [scores.FAILED]


def test_only_the_tests_and_items_that_are_asked_for_run(rehearsal: Rehearsal) -> None:
    """By test and by item."""
    one = rehearsal.play({}, tests=("hidden/test_alpha.py::test_mean_of_nothing",))
    assert list(outcomes(one)) == ["test_mean_of_nothing[]"]
    assert {case.item for case in rehearsal.play({}, items=("span",)).cases} == {"span"}


def test_traces_say_what_failing_checks_saw_and_how_far_numbers_were_off(rehearsal: Rehearsal) -> None:
    """A key for a wrong answer, a reason where it says nothing, and every comparison in units of its tolerance."""
    right = rehearsal.play({}, items=("double",), traces=True)
    assert all(not case.key and not case.place for case in right.cases)
    assert max(ratio for case in right.cases for _, ratio in case.measured) < 0.1
    assert {what for case in right.cases if case.test.startswith("hidden/") for what, _ in case.measured} == {
        "twice the array"
    }
    wrong = rehearsal.play(with_double("return 3 * x"), items=("double",), traces=True)
    assert all(case.key and case.place.startswith(case.test) for case in wrong.cases)
    assert min(ratio for case in wrong.cases for _, ratio in case.measured) > 1e6
    assert {
        case.reason for case in rehearsal.play(with_double("return 0 * x"), items=("double",), traces=True).cases
    } == {"all zeros"}


def test_executed_says_which_test_calls_what(rehearsal: Rehearsal) -> None:
    """Of the student's package only, methods and what other functions call among them."""
    sources = Sources(POCKET, load_assignment(POCKET / "assignment.toml"), DEVELOPMENT)
    found = executed(rehearsal, sources.solved)
    assert found["hidden/test_alpha.py::test_mean_of_random_numbers"] == {"alpha.mean", "given.total"}
    assert found["hidden/test_alpha.py::test_mean_of_nothing"] == {"alpha.mean"}
    assert found["hidden/test_beta.py::test_commonest_of_a_random_text"] == {"beta.tally", "beta.commonest"}
    with pytest.raises(GraderError, match="test_double"):
        executed(rehearsal, {**sources.solved, **with_double("return 3 * x")})


def test_telling_names_every_function() -> None:
    """Methods, nested ones, and those with a docstring, which stays."""
    source = b'class A:\n    def f(self):\n        """Doc."""\n        def g(): return 1\n        return g()\n'
    heard: list[str] = []
    builtins._functions_seen = heard.append  # type: ignore[attr-defined]
    space: dict[str, object] = {}
    exec(telling("p/m.py", source), space)
    made = space["A"]()  # type: ignore[operator]
    assert made.f() == 1
    assert heard == ["m.A.f", "m.A.f.g"]
    assert made.f.__doc__ == "Doc."


def test_another_secret_gives_other_hidden_inputs() -> None:
    """And the same public ones."""
    wrong = with_double("return 3 * x")
    keys = []
    for secret in (b"one", b"two"):
        with troupe(POCKET, load_assignment(POCKET / "assignment.toml"), secret, 1) as actors:
            played = actors.one(lambda actor: actor.play(wrong, items=("double",), traces=True))
        keys.append({(case.test, case.case): case.key for case in played.cases})
    same = {name for name in keys[0] if keys[0][name] == keys[1][name]}
    assert same == {(test, case) for test, case in keys[0] if not test.startswith("hidden/")}


def test_a_stage_whose_tests_cannot_be_collected_says_so(tmp_path: Path) -> None:
    """One clear error, and no process is left."""
    home = copy_home(tmp_path / "home", changes={"tests/hidden/test_alpha.py": "import nothing_of_that_name"})
    one = Rehearsal(home, DEVELOPMENT)
    with pytest.raises(GraderError, match="the stage of a rehearsal has ended"):
        one.play({})
    assert one._process is None


def test_what_is_stopped_plays_nothing_any_more(rehearsal: Rehearsal) -> None:
    """Ctrl-C: whoever waits for a play gets an error, and its process is gone."""
    one = Rehearsal(POCKET, DEVELOPMENT)
    assert one.play({}).total == 12
    assert one._process is not None
    pid = one._process.pid
    one.stop()
    with pytest.raises(GraderError):
        one.play({})
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
