"""Whole runs on a small assignment: one submission from its files to its results."""

from __future__ import annotations

import ast
import contextlib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from autograder import grade as grading
from autograder.feedback import scores
from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import GraderError, InputError
from autograder.host import Host
from tests.staff import scenario
from tests.staff.runs import (
    POCKET,
    SCENARIOS,
    Run,
    copy_home,
    own_temporary_folder,
    read,
    read_file,
    read_inline,
    run_and_read,
    write_submission,
)

# --- scenarios


@pytest.mark.parametrize("path", scenario.paths(), ids=[path.stem for path in scenario.paths()])
def test_scenario(path: Path, tmp_path: Path) -> None:
    """Each scenario comes out as it says."""
    expected = scenario.load(path)
    problems = scenario.problems(expected, scenario.play(expected, tmp_path))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        pytest.param("says =", "say =", "unknown key 'say'", id="misspelt-key"),
        pytest.param("[rows.span]", "[rows.spam]", "rows are", id="row-of-no-item"),
        pytest.param('[rows.commonest]\nscore = 1.0\nstate = "passed"\n', "", "rows are", id="row-forgotten"),
        pytest.param("score = 4.0", "points = 4.0", "unknown key 'points'", id="misspelt-key-of-a-row"),
    ],
)
def test_scenarios_that_prove_less_than_they_seem_to_are_refused(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    """An expectation that nothing would read is an error, not a comment."""
    text = (SCENARIOS / "solved.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "changed.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ValueError, match=complaint):
        scenario.load(path)


def test_a_scenario_that_does_not_come_out_is_noticed(tmp_path: Path) -> None:
    """Every kind of expectation can fail: nothing of a blank run is what the solved one must be."""
    expected = scenario.load(SCENARIOS / "solved.toml")
    blank = run_and_read(write_submission(tmp_path / "blank", POCKET, solved=False), POCKET)
    found = "\n".join(scenario.problems(expected, blank))
    for kind in (
        "double: score is 0.0",
        "double: state is 'not started'",
        "double: status is 'failed'",
        "does not say",
    ):
        assert kind in found


# --- the same submission gets the same results

HALF_DONE = {
    "alpha.py": """
def double(x):
    return x


def mean(values):
    return sum(values)


def span(values):
    return max(values) - min(values)
""",
    "beta.py": """
def tally(words):
    return {word: 1 for word in words}


def commonest(words):
    return words[0]
""",
}
SECRET, OTHER_SECRET = b"a secret for tests", b"one more secret for tests"
GOT = re.compile(r"got (\S+?)[, ]")


@pytest.fixture(scope="module")
def half_done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A submission that gives its inputs back: what it was asked shows in what it got wrong."""
    return write_submission(tmp_path_factory.mktemp("half") / "submission", POCKET, HALF_DONE)


@pytest.fixture(scope="module")
def first(half_done: Path) -> Run:
    """Its results under one secret."""
    return run_and_read(half_done, POCKET, secret=SECRET)


def settled(run: Run) -> dict[str, Any]:
    """The document without what may differ between two runs: time, and the run's id."""
    document = json.loads(json.dumps(run.document))
    del document["execution_time"], document["extra_data"]["isolation"]
    document["output"] = re.sub(r"Run \w+\. Graded in \d+ s\.", "", document["output"])
    return dict(document)


def about_tests(run: Run) -> list[str]:
    """What staff are told about single tests."""
    return [line for line in run.staff.splitlines() if re.match(r"\w+: (hidden/)?test_", line)]


def test_the_same_submission_gets_the_same_results(half_done: Path, first: Run) -> None:
    """Scores, texts and what staff are told do not change from run to run."""
    again = run_and_read(half_done, POCKET, secret=SECRET)
    assert settled(again) == settled(first)
    assert about_tests(again) == about_tests(first)
    assert about_tests(first)


def test_the_order_of_tests_changes_nothing(half_done: Path, first: Run, tmp_path: Path) -> None:
    """With the functions of every test file in reverse order, inputs, scores and reasons are the same."""
    changed = {}
    for path in sorted((POCKET / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tests: list[ast.stmt] = [node for node in tree.body if getattr(node, "name", "").startswith("test_")]
        tree.body = [node for node in tree.body if node not in tests] + tests[::-1]
        changed[str(path.relative_to(POCKET))] = ast.unparse(tree)
    run = run_and_read(half_done, copy_home(tmp_path / "home", changes=changed), secret=SECRET)
    assert list(run.tests) != list(first.tests)
    assert run.tests == first.tests
    assert run.scores == first.scores
    assert sorted(about_tests(run)) == sorted(about_tests(first))


def test_another_secret_draws_other_inputs_for_hidden_tests_only(half_done: Path, first: Run) -> None:
    """What hidden tests ask depends on the secret, what public tests ask does not."""
    other = run_and_read(half_done, POCKET, secret=OTHER_SECRET)
    hidden = [[line for line in about_tests(run) if "hidden/" in line] for run in (first, other)]
    public = [[line for line in about_tests(run) if "hidden/" not in line] for run in (first, other)]
    assert public[0] == public[1]
    assert public[0]
    drawn = [[line for line in lines if "double" in line or "random" in line] for lines in hidden]
    assert drawn[0]
    assert not set(drawn[0]) & set(drawn[1])


def test_public_inputs_are_those_of_a_laptop(half_done: Path, first: Run, tmp_path: Path) -> None:
    """`pytest` on a laptop, whose seed is 0, asks what the public tests ask in grading; another seed asks else."""
    whole = write_whole(tmp_path / "laptop", HALF_DONE)
    pattern = re.compile(r"\[x\] Twice a number\.\n.*\n.*\n.*got (\S+) ")
    got = [
        pattern.findall(run.rows["double"].output)
        for run in (first, read_inline(whole, POCKET, hidden=False), read_inline(whole, POCKET, seed=7, hidden=False))
    ]
    assert len(got[0]) == 1
    assert got[0] == got[1]
    assert got[0] != got[2]


def write_whole(folder: Path, changes: Mapping[str, str]) -> Path:
    """The solved package with its given files, as it lies on a laptop, with some files replaced."""
    for file in (POCKET / "solutions" / "pocket").glob("*.py"):
        target = folder / "pocket" / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(changes.get(file.name) or file.read_text(encoding="utf-8"), encoding="utf-8")
    return folder


# --- what students must not read

WRONG = """
import numpy as np


class Odd:
    pass


ANSWERS = {
    "zero": lambda: 0.0,
    "near": lambda: 9630.3247,
    "integer": lambda: 7,
    "array": lambda: np.zeros(3),
    "single": lambda: np.array([1.0]),
    "float32": lambda: np.float32(2.5),
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "none": lambda: None,
    "text": lambda: "forty",
    "list": lambda: [1, 2, 3],
    "tuple": lambda: (1, 2),
    "empty": lambda: {},
    "counts": lambda: {"xylograph": 2, "quincunx": 3},
    "more": lambda: {"xylograph": 17, "quincunx": 23, "another": 1},
    "object": lambda: Odd(),
    "function": lambda: (lambda: 1),
    "raises": lambda: 1 / 0,
    "stub": lambda: (_ for _ in ()).throw(NotImplementedError("double: double")),
}


def double(way, x=None):
    return ANSWERS[way]()
"""
WAYS = re.findall(r'^    "(\w+)":', WRONG, re.MULTILINE)
HIDDEN_TESTS = f'''
import numpy as np
import pytest

from autograder.feedback import item

X = 4815.162342
ARRAY = np.array([4815.162342, 108.236067, 23.571113])
WORDS = {{"xylograph": 17, "quincunx": 23}}
ways = pytest.mark.parametrize("way", {WAYS!r}, ids={WAYS!r})


@item("double")
@ways
def test_close_to_a_number(student, check, way):
    """A number is doubled."""
    check.close(student.alpha.double(way, X), 2 * X, "twice the number")


@item("double")
@ways
def test_close_to_an_array(student, check, way):
    """An array is doubled."""
    check.close(student.alpha.double(way, ARRAY), 2 * ARRAY, "twice the array")


@item("double")
@ways
def test_equal_to_a_table(student, check, way):
    """The table is the right one."""
    check.equal(student.alpha.double(way, WORDS), WORDS, "the table")


@item("double")
@ways
def test_equal_to_a_list(student, check, way):
    """The list is the right one."""
    check.equal(student.alpha.double(way, list(WORDS)), [4815.162342, 108.236067, 23.571113], "the list")


@item("double")
@ways
def test_number_and_that(student, check, way):
    """The number is the right one."""
    got = check.number(student.alpha.double(way, X), "the number")
    check.that(got == 2 * X, "the number is not right")


@item("double")
@ways
def test_array_and_gradient(student, check, way):
    """The gradient is the right one."""
    got = check.array(student.alpha.double(way, ARRAY), "the gradient", shape=(3,))
    check.gradient(got, lambda a: a * 4815.162342, ARRAY, what="the gradient")


@item("double")
@ways
def test_unpack(student, check, way):
    """There are three parts."""
    parts = check.unpack(student.alpha.double(way, X), 3, "the parts")
    check.equal(parts, tuple(ARRAY.tolist()), "the parts")


@item("double")
@ways
def test_that_trips_over_it(student, way):
    """What a test of mine trips over is not shown."""
    assert student.alpha.double(way, X)["xylograph"] == 4815.162342
'''
VALUES = ("4815.16", "9630.32", "108.236", "216.472", "23.571", "47.142", "xylograph", "quincunx")


def test_no_message_of_a_hidden_check_shows_a_value(tmp_path: Path) -> None:
    """Whatever is wrong in whatever way: no expected value and no hidden input is in any message."""
    home = copy_home(tmp_path / "home", changes={"tests/hidden/test_alpha.py": HIDDEN_TESTS})
    run = read_inline(write_whole(tmp_path / "whole", {"alpha.py": WRONG}), home)
    tests = {name: state for name, state in run.tests.items() if name.startswith("hidden/test_alpha.py")}
    assert len(tests) == 8 * len(WAYS)
    assert scores.PASSED not in tests.values()
    assert scores.GRADER_ERROR not in tests.values()
    assert [value for value in VALUES if value in run.text] == []


def test_results_hold_no_value_secret_or_path(tmp_path: Path) -> None:
    """All of results.json, what is for machines too; staff do read what was expected."""
    secret = b"the unspeakable word is mellifluous"
    ways = re.sub(r"ids=\[.*?\]", "ids=WAYS", HIDDEN_TESTS).replace(f"{WAYS!r}", "WAYS")
    chosen = ["zero", "near", "array", "counts", "more", "object", "raises"]
    home = copy_home(tmp_path / "home", changes={"tests/hidden/test_alpha.py": f"WAYS = {chosen!r}\n{ways}"})
    submission = write_submission(tmp_path / "submission", home, {"alpha.py": WRONG})
    run = run_and_read(submission, home, secret=secret, items=["double"])
    assert run.scores["double"] == 0
    assert not run.failed
    written = json.dumps(run.document, ensure_ascii=False)
    places = (str(tmp_path), str(POCKET), "/tmp", "autograder-", "site-packages")
    assert [word for word in (*VALUES, "unspeakable", secret.hex(), *places) if word in written] == []
    assert "expected 9630.32468" in run.staff
    assert "xylograph" in run.staff


# --- the call itself


def test_results_file_is_what_is_returned(tmp_path: Path) -> None:
    """--results holds the same document, and the folder holds nothing else."""
    results = tmp_path / "out" / "results.json"
    results.parent.mkdir()
    run = run_and_read(POCKET / "solutions", POCKET, results=results)
    assert read_file(results, POCKET) == read(run.document, POCKET)
    assert list(results.parent.iterdir()) == [results]


def test_chosen_items_only_are_graded(tmp_path: Path) -> None:
    """With ``items`` the other rows say that they were not run, and have no status."""
    run = run_and_read(POCKET / "solutions", POCKET, items=["mean", "tally"])
    assert run.states == {
        "double": scores.NOT_RUN,
        "mean": scores.PASSED,
        "span": scores.NOT_RUN,
        "tally": scores.PASSED,
        "commonest": scores.NOT_RUN,
    }
    assert [row.status for row in run.rows.values()] == ["", "passed", "", "passed", ""]
    assert not run.failed


def test_chosen_tests_only_are_graded(tmp_path: Path) -> None:
    """With ``tests`` only those run: the audit asks for no more than those that a mistake can touch."""
    chosen = ["hidden/test_alpha.py::test_double_of_random_numbers", "test_beta.py::test_tally_of_a_phrase"]
    run = run_and_read(POCKET / "solutions", POCKET, tests=chosen)
    assert {name for name, state in run.tests.items() if state == scores.PASSED} == {
        *(f"{chosen[0]}[{case}]" for case in ("number", "vector", "column")),
        chosen[1],
    }
    assert not run.failed


def test_an_item_that_has_lost_is_tried_no_further_where_that_is_enough(tmp_path: Path) -> None:
    """Its first test that does not pass ends it; every other item is tried in full."""
    wrong = write_submission(tmp_path / "wrong", POCKET, {"alpha.py": HALF_RIGHT})
    whole, enough = run_and_read(wrong, POCKET), run_and_read(wrong, POCKET, enough=True)
    assert enough.scores == whole.scores
    states = {slug: list(row.tests.values()) for slug, row in enough.rows.items()}
    first = states["double"].index(scores.FAILED)
    assert set(states["double"][first + 1 :]) == {scores.LATE}
    assert len(states["double"]) > first + 1
    assert {slug: row.tests for slug, row in enough.rows.items() if slug != "double"} == {
        slug: row.tests for slug, row in whole.rows.items() if slug != "double"
    }


HALF_RIGHT = """
def double(x):
    return x


def mean(values):
    if not values:
        raise ValueError("the mean of nothing")
    return sum(values) / len(values)


def span(values):
    return max(values) - min(values)
"""


def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path) -> None:
    """Staged files go when the run ends, and when it does not begin."""
    (tmp_path / "empty").mkdir()
    with own_temporary_folder() as folder:
        run_and_read(POCKET / "solutions", POCKET, items=["span"])
        assert list(folder.iterdir()) == []
        with pytest.raises(InputError, match="nothing inside"):
            grading.grade(tmp_path / "empty", POCKET)
        assert list(folder.iterdir()) == []


def test_closed_folder_is_named_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of another user could not get in: one line says which folder is in the way."""
    (tmp_path / "closed").mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "closed"))
    with pytest.raises(InputError, match="closed to other users"):
        grading.grade(POCKET / "solutions", POCKET)


def test_a_run_that_cannot_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that outlives its budgets is killed; its file holds every item, and the grader failed."""
    stuck = {"tests/hidden/test_stuck.py": "import time\n\ntime.sleep(1000)\n"}
    home = copy_home(tmp_path / "home", changes=stuck, budgets="call = 1\ntest = 1\nitem = 1\nrun = 1")
    monkeypatch.setattr(grading, "SPARE_SECONDS", 2.0)
    with contextlib.closing(Host()) as host:
        run_and_read(POCKET / "solutions", POCKET, host=host, items=["span"])  # its start does not count
        run = run_and_read(POCKET / "solutions", home, host=host)
    assert run.failed
    assert "did not end in time" in run.staff
    assert {row.status for row in run.rows.values()} == {""}


def test_session_that_dies_at_once_is_a_fault_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any results there is one line, not a zero, and not what an earlier run left in the same place."""
    results = tmp_path / "results.json"
    run_and_read(POCKET / "solutions", POCKET, results=results)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(GraderError, match="the session was killed"):
        grading.grade(POCKET / "solutions", POCKET, results=results)
    assert not results.exists()


@pytest.mark.parametrize("inside", ["", "file/results.json"], ids=["a-folder", "below-a-file"])
def test_results_that_cannot_be_written_are_bad_input(tmp_path: Path, inside: str) -> None:
    """One line, before anything is run."""
    (tmp_path / "file").write_text("text", encoding="utf-8")
    with pytest.raises(InputError, match="cannot write"):
        grading.grade(POCKET / "solutions", POCKET, results=tmp_path / inside)


def test_older_stubs_are_noticed(tmp_path: Path) -> None:
    """A file that began as a stub of another version of the handout is graded, and the top says so."""
    home = copy_home(tmp_path / "home")
    assignment = load_assignment(home / "assignment.toml")
    submission = write_submission(tmp_path / "submission", home)
    for name in assignment.files:
        file = submission / assignment.package / name
        file.write_text("# Handout version 1999.1\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    document = run_and_read(submission, home).document
    for name in assignment.files:
        assert f"{name} began as a stub of version 1999.1, graded is version {assignment.version}" in document["output"]
    assert document["tests"][0]["status"] == "passed"
