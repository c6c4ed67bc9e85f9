"""results.json: what stands in it for every outcome, and that the file is whole or absent."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from autograder import gradescope, results
from autograder.feedback import scores
from autograder.feedback.assignment import Assignment
from autograder.feedback.errors import InputError
from autograder.feedback.scores import (
    CANNOT_IMPORT,
    FAILED,
    GRADER_ERROR,
    LATE,
    NOT_RUN,
    NOT_STARTED,
    PASSED,
    Case,
    Outcome,
)
from autograder.results import Heading

from .graded import assignment, case, item, scored, strict

ONE = assignment(item("total", 3.0))
STATES = (PASSED, FAILED, NOT_STARTED, CANNOT_IMPORT, LATE, GRADER_ERROR, NOT_RUN)
NASTY = "a\0b\x1b[31mred\x1b[0m\x07\ud800\r\nz\u202e"


def document(
    told: Assignment,
    tests: Mapping[Case, Any],
    heading: Heading | None = None,
    leaderboard: Mapping[str, tuple[float | str, str]] | None = None,
) -> dict[str, Any]:
    """The document of these outcomes, after every rule of the platform was checked."""
    rows = list(scored(told, tests).values())
    found = results.document(rows, heading or Heading(), leaderboard or {}, 1.23456)
    assert gradescope.validate(found, told.points) == []
    return found


def row(tests: Mapping[Case, Any], told: Assignment = ONE, heading: Heading | None = None) -> dict[str, Any]:
    """Its first row."""
    entry: dict[str, Any] = document(told, tests, heading)["tests"][0]
    return entry


# --- the document


def test_every_item_is_present_before_anything_ran() -> None:
    """A killed grader leaves every row, and the right maximum."""
    told = assignment(item("total", 3.0), item("scale", 2.0), item("extra", 1.0, bonus=True))
    found = document(told, {case("total", "a"): NOT_RUN})
    assert [(entry["number"], entry["score"], entry["max_score"]) for entry in found["tests"]] == [
        ("1.1", 0.0, 3.0),
        ("1.2", 0.0, 2.0),
        ("1.3", 0.0, 0.0),
    ]
    assert all("status" not in entry for entry in found["tests"])


@pytest.mark.parametrize("first", STATES, ids=str)
@pytest.mark.parametrize("second", STATES, ids=str)
def test_every_mixture_of_outcomes_is_legal(first: str, second: str) -> None:
    """The platform accepts each of them; no row is hidden and there is no score on top."""
    found = document(ONE, {case("total", "a"): first, case("total", "b", hidden=True): second})
    assert "score" not in found
    assert found["visibility"] == "visible"
    assert all("visibility" not in entry for entry in found["tests"])


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (PASSED, "passed"),
        (FAILED, "failed"),
        (NOT_STARTED, "failed"),
        (CANNOT_IMPORT, "failed"),
        (LATE, "failed"),
        (GRADER_ERROR, None),
        (NOT_RUN, None),
    ],
    ids=str,
)
def test_status(outcome: str, status: str | None) -> None:
    """Left out where it is not the student's: a null would break the upload."""
    assert row({case("total", "a"): outcome}).get("status") == status


def test_points_stand_in_the_row() -> None:
    """Score and maximum of the item, to two decimals."""
    entry = row({case("total", f"t{index}"): PASSED if index else FAILED for index in range(7)})
    assert (entry["score"], entry["max_score"]) == (2.57, 3.0)


def test_a_bonus_has_no_maximum() -> None:
    """Its points come on top: the maximum of the assignment does not change."""
    found = document(assignment(item("total", 3.0), item("extra", 2.0, bonus=True)), {case("extra", "a"): PASSED})
    assert [(entry["score"], entry["max_score"]) for entry in found["tests"]] == [(0.0, 3.0), (2.0, 0.0)]


@pytest.mark.parametrize("outcome", STATES, ids=str)
def test_a_waived_item_is_full_and_says_so(outcome: str) -> None:
    """Whatever its tests did."""
    entry = row({case("free", "a"): outcome}, assignment(item("free", 2.0, waived=True)))
    assert (entry["score"], entry["max_score"], entry["status"]) == (2.0, 2.0, "passed")
    assert entry["output"] == "This item is waived: full points for everybody."


def test_rows_carry_facts_for_staff() -> None:
    """Item, state, and the outcome of every test by its name."""
    tests = {case("total", "test_a", "x"): PASSED, case("total", "test_b", hidden=True): FAILED}
    assert row(tests)["extra_data"] == {
        "item": "total",
        "state": FAILED,
        "tests": {"test_maths.py::test_a[x]": PASSED, "hidden/test_maths.py::test_b": FAILED},
        "mistakes": [],
    }


def test_a_failure_says_what_and_where() -> None:
    """The property, whether its inputs are hidden, and the message."""
    tests = {
        case("total", "test_a"): Outcome(FAILED, 0.0, "it is wrong", "SECRET"),
        case("total", "test_b", hidden=True): Outcome(FAILED, 0.0, "it is off", "SECRET"),
        case("total", "test_c"): PASSED,
    }
    output = row(tests)["output"]
    assert output.startswith("failed: 1 of 3 checks pass")
    for text in ("[x] test_a holds", "    it is wrong", "[x] test_b holds", "hidden input", "    it is off"):
        assert text in output
    assert "test_c" not in output
    assert "SECRET" not in output


def test_a_message_that_many_share_is_said_once() -> None:
    """Forty cases of one mistake are one line."""
    tests = {case("total", "test_a", f"c{index}"): Outcome(FAILED, 0.0, "it is wrong") for index in range(40)}
    output = row(tests)["output"]
    assert output.count("it is wrong") == 1
    assert output.count("[x]") == 1
    assert "40 of 40 cases" in output


def test_many_failing_tests_are_cut() -> None:
    """A row stays readable, and says how many more there are."""
    tests = {case("total", f"test_{index}"): Outcome(FAILED, 0.0, f"wrong {index}") for index in range(50)}
    output = row(tests)["output"]
    assert output.count("[x]") == results.SHOWN_TESTS
    assert f"... and {50 - results.SHOWN_TESTS} more" in output


def test_partial_credit_is_no_pass() -> None:
    """It is counted apart, with what it says."""
    output = row({case("total", "test_a"): Outcome(FAILED, 0.5, "partial credit: 50% of this check")})["output"]
    assert "0 of 1 checks pass" in output
    assert "partial credit: 50% of this check" in output


def test_a_fault_of_ours_is_said_in_its_row() -> None:
    """Without what broke: that is for staff."""
    output = row({case("total", "test_a"): Outcome(GRADER_ERROR, 0.0, "", "KeyError: SECRET")})["output"]
    assert "not your code" in output
    assert "SECRET" not in output


def test_a_stub_is_one_line() -> None:
    """Nothing is wrong yet."""
    tests = {case("total", f"test_{index}"): Outcome(NOT_STARTED, 0.0, "total: total") for index in range(5)}
    assert row(tests)["output"] == 'not started: the function still says "not implemented"'


def test_a_file_that_was_not_handed_in_is_said_in_its_rows() -> None:
    """In place of forty import errors."""
    heading = Heading(unavailable={"maths.py": "maths.py was not handed in"})
    assert row({case("total", "test_a"): CANNOT_IMPORT}, heading=heading)["output"] == "maths.py was not handed in"


def test_faults_stand_above_everything() -> None:
    """Then what was received."""
    heading = Heading(
        lines=("Received 2 of 2 files.", "Notes."), faults=("The grader failed.",), extra={"version": "1"}
    )
    found = document(ONE, {}, heading)
    assert found["output"] == "The grader failed.\nReceived 2 of 2 files. Graded in 1 s.\nNotes."
    assert found["extra_data"] == {"version": "1"}
    assert found["execution_time"] == 1.23


def test_leaderboard_entries() -> None:
    """Name, value and order; without any the key is left out."""
    found = document(ONE, {}, leaderboard={"loss": (0.5, "asc"), "medal": ("***", "desc")})
    assert found["leaderboard"] == [
        {"name": "loss", "value": 0.5, "order": "asc"},
        {"name": "medal", "value": "***", "order": "desc"},
    ]
    assert "leaderboard" not in document(ONE, {})


def test_text_is_cleaned_wherever_it_comes_from() -> None:
    """Colours, NUL, lone surrogates, control and direction characters of a student's reach no part of the document."""
    tests = {case("total", "test_a"): Outcome(FAILED, 0.0, NASTY, NASTY)}
    heading = Heading(lines=(NASTY,), faults=(NASTY,), extra={"fault": NASTY, NASTY: [NASTY]})
    text = json.dumps(document(ONE, tests, heading, {NASTY: (NASTY, "asc")}), ensure_ascii=False)
    for character in "\0\x1b\x07\ud800\r\u202e":
        assert character not in text
        assert json.dumps(character)[1:-1] not in text
    assert "abred" in text


def test_long_text_is_cut() -> None:
    """The platform's own cut would leave what is allowed, and no more."""
    heading = Heading(lines=("x" * 300_000,), unavailable={"maths.py": "y" * 300_000})
    found = document(ONE, {case("total", "test_a"): CANNOT_IMPORT}, heading)
    assert len(found["output"]) == gradescope.CUT
    assert len(found["tests"][0]["output"]) == gradescope.CUT


# --- the file


def test_the_file_is_strict_json(tmp_path: Path) -> None:
    """Read back as it was written, in UTF-8, by a reader that knows no NaN."""
    path = tmp_path / "results.json"
    found = document(ONE, {case("total", "a"): Outcome(FAILED, 0.0, "größer 概率")})
    results.write(path, found)
    assert strict(path) == found
    assert path.read_bytes().decode("utf-8").isprintable() is False  # several lines: a person can read it
    assert list(tmp_path.iterdir()) == [path]


def test_a_second_write_replaces_the_first(tmp_path: Path) -> None:
    """After each test the whole file again."""
    path = tmp_path / "results.json"
    for outcome in (NOT_RUN, PASSED):
        results.write(path, document(ONE, {case("total", "a"): outcome}))
    assert strict(path)["tests"][0]["score"] == 3.0
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("broken", "error"),
    [("fsync", errno.ENOSPC), ("replace", errno.EACCES)],
    ids=["disk-full", "rename-refused"],
)
def test_a_failing_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, error: int
) -> None:
    """Whole or absent: the old file stays as it was, nothing half-written stays behind, and one line says why."""
    path = tmp_path / "results.json"
    path.write_text("old", encoding="utf-8")

    def fail(*arguments: object) -> None:
        raise OSError(error, os.strerror(error))

    if broken == "replace":
        monkeypatch.setattr(Path, "replace", fail)
    else:
        monkeypatch.setattr(os, broken, fail)
    with pytest.raises(InputError, match=f"cannot write .*results.json: {os.strerror(error)}"):
        results.write(path, {"tests": []})
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("value", [object(), {1, 2}.__iter__(), "\ud800"], ids=["object", "iterator", "surrogate"])
def test_what_is_no_json_leaves_the_old_file(tmp_path: Path, value: object) -> None:
    """A mistake of ours: an exception, and nothing half-written."""
    path = tmp_path / "results.json"
    path.write_text("old", encoding="utf-8")
    with pytest.raises((TypeError, ValueError)):
        results.write(path, {"tests": [value]})
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")], ids=["nan", "inf", "minus-inf"])
def test_no_nan_reaches_the_file(tmp_path: Path, value: float) -> None:
    """The platform would lose all results at the first one."""
    path = tmp_path / "results.json"
    try:
        results.write(path, {"tests": [{"score": value}]})
    except ValueError:
        assert not path.exists()
    else:
        assert strict(path) == {"tests": [{"score": None}]}


@pytest.mark.parametrize(
    ("name", "reason"),
    [("nowhere/results.json", "No such file"), ("file/results.json", "Not a directory"), ("folder", "Is a directory")],
    ids=["no-folder", "file-for-a-folder", "folder-for-a-file"],
)
def test_a_path_that_cannot_be_written(tmp_path: Path, name: str, reason: str) -> None:
    """One clear line that names the path; nothing is left."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=f"cannot write .*{name}: {reason}"):
        results.write(tmp_path / name, {})
    assert {path.name for path in tmp_path.iterdir()} == {"file", "folder"}


def test_states_are_the_words_of_the_score_table() -> None:
    """Every state that an item can have has its row here."""
    known = {value for name, value in vars(scores).items() if name.isupper() and isinstance(value, str)}
    assert known == {*STATES, scores.WAITING, scores.UNFINISHED, scores.SKIPPED}
