"""Gradescope's contract: what our results must be, what the platform makes of any results, what it tells the grader."""

from __future__ import annotations

import copy
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import gradescope
from autograder.feedback.errors import InputError
from autograder.gradescope import CUT, FAILED, clean, post, rows, total, validate
from autograder.metadata import VARIANTS, metadata, read_metadata

GOOD: dict[str, Any] = {
    "execution_time": 1.25,
    "output": "Received 2 of 2 files.\n\tindented",
    "output_format": "text",
    "test_output_format": "text",
    "visibility": "visible",
    "extra_data": {"isolation": [1, None, True, {"a": 0.5}]},
    "leaderboard": [{"name": "gap", "value": 0.03, "order": "asc"}],
    "tests": [
        {"name": "1.1 Counting", "number": "1.1", "score": 3.0, "max_score": 3, "status": "passed", "output": "好"},
        {"name": "1.2 MLE", "number": "1.2", "score": 0.67, "max_score": 2.0, "status": "failed", "tags": ["a"]},
        {"name": "Bonus", "number": "B.1", "score": 1, "max_score": 0, "extra_data": {"item": "bonus"}},
    ],
}


# --- clean ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        pytest.param("a\tb\nc é 好 😀", "a\tb\nc é 好 😀", id="plain text stays"),
        pytest.param("a\0b", "ab", id="NUL"),
        pytest.param("a\x07\x08\x0b\x0c\x1f\x7f\x85\x9fb", "ab", id="control characters"),
        pytest.param("a\ud800b\udfffc", "abc", id="lone surrogates"),
        pytest.param("a\r\nb\rc\u2028d\u2029e", "a\nb\nc\nd\ne", id="line ends"),
        pytest.param("\x1b[31;1mred\x1b[0m \x1b]0;title\x07x\x1bMy", "red xy", id="terminal sequences"),
        pytest.param("\x1b[31", "[31", id="half a sequence"),
        pytest.param("x\u202eflipped\u2066", "xflipped", id="text direction"),
        pytest.param("\ufffe\uffff", "", id="no characters"),
    ],
)
def test_clean_makes_text_legal(text: str, cleaned: str) -> None:
    """What stays is text; what goes is what a file, a terminal or a page could stumble over."""
    assert clean(text) == cleaned


def test_clean_keeps_head_and_tail_of_a_long_text() -> None:
    """The cut is at most the cap, and says how much is missing."""
    text = clean("head" + "x" * 300_000 + "tail")
    assert text.startswith("headxxx")
    assert text.endswith("xxxtail")
    assert "[... 200,008 or more characters left out ...]" in text
    assert len(text) <= CUT
    assert clean("x" * CUT) == "x" * CUT


@pytest.mark.parametrize("cap", [0, 1, 10, 60, 61], ids=str)
def test_shorten_never_exceeds_a_small_cap(cap: int) -> None:
    """Even when the note alone is longer."""
    assert len(gradescope.shorten("x" * 100, cap)) <= cap


@settings(derandomize=True, deadline=None)
@given(st.text(st.characters(codec=None, categories=None)))
def test_clean_is_idempotent_and_always_valid(text: str) -> None:
    """Cleaned text cleans to itself, can be encoded, and passes the validator."""
    once = clean(text)
    assert clean(once) == once
    once.encode("utf-8")
    assert validate({**GOOD, "output": once}) == []


# --- validate ---------------------------------------------------------------------------------------------------


def changed(path: str, value: Any) -> dict[str, Any]:
    """GOOD with one value changed; the path is ``key`` or ``tests.0.key``; no value removes the key."""
    document = copy.deepcopy(GOOD)
    *way, last = path.split(".")
    place: Any = document
    for step in way:
        place = place[int(step) if step.isdigit() else step]
    if value is ...:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return document


def test_good_results_are_valid() -> None:
    """No rule is broken, with the points that the rows have."""
    assert validate(GOOD, points=5) == []


BROKEN: dict[str, tuple[str, Any, str]] = {
    "top-level score": ("score", 3, "there is a top-level score: it overrides the rows"),
    "unknown key": ("stdout", "x", "results: unknown key 'stdout'"),
    "no tests": ("tests", ..., "tests is no list of rows"),
    "empty tests": ("tests", [], "tests is no list of rows"),
    "tests no list": ("tests", {"a": 1}, "tests is no list of rows"),
    "output no text": ("output", 3, "results: output is no text"),
    "output too long": ("output", "x" * 100_001, "results: output has 100,001 characters; the platform keeps 100,000"),
    "control character": ("output", "\x1b[0m", "results.output has a character that may not be there"),
    "NUL": ("output", "\0", "results.output has a character that may not be there"),
    "surrogate": ("output", "\ud83d", "results.output has a character that may not be there"),
    "format": ("test_output_format", "HTML", "test_output_format is 'HTML'"),
    "visibility": ("visibility", "hidden", "visibility is 'hidden': students would see no total"),
    "stdout": ("stdout_visibility", "visible", "stdout_visibility is 'visible': stdout is for staff only"),
    "time as text": ("execution_time", "0.08", "execution_time is no number"),
    "time is NaN": ("execution_time", float("nan"), "results.execution_time is nan, which JSON cannot carry"),
    "extra data": ("extra_data", [], "extra_data is no object"),
    "infinity deep inside": ("extra_data.deep", [[float("inf")]], "results.extra_data.deep[1][1] is inf, which JSON"),
    "key no text": ("extra_data.deep", {1: 2}, "results.extra_data.deep has the key 1, which is no text"),
    "illegal key": ("extra_data.deep", {"\0": 2}, "results.extra_data.deep has a key with a character that may not"),
    "a tuple": ("extra_data.deep", (1, 2), "results.extra_data.deep is (1, 2), which JSON cannot carry"),
    "bytes": ("extra_data.deep", b"x", "results.extra_data.deep is b'x', which JSON cannot carry"),
    "leaderboard no list": ("leaderboard", {}, "leaderboard is no list"),
    "leaderboard entry": ("leaderboard.0", 3, "leaderboard 1 is no object"),
    "leaderboard name": ("leaderboard.0.name", "", "leaderboard 1 has no name"),
    "leaderboard value": ("leaderboard.0.value", None, "leaderboard 1: value is neither a number nor text"),
    "leaderboard order": ("leaderboard.0.order", "up", "leaderboard 1: order is 'up'"),
    "row no object": ("tests.0", "x", "row 1 is no object"),
    "row unknown key": ("tests.0.points", 3, "row 1: unknown key 'points'"),
    "no name": ("tests.0.name", ..., "row 1 has no name of one line"),
    "blank name": ("tests.0.name", " ", "row 1 has no name of one line"),
    "name of two lines": ("tests.0.name", "a\nb", "row 1 has no name of one line"),
    "name twice": ("tests.1.name", "1.1 Counting", "the name '1.1 Counting' stands twice"),
    "number twice": ("tests.1.number", "1.1", "the number '1.1' stands twice"),
    "number is a number": ("tests.0.number", 1.1, "row 1: number is 1.1"),
    "no score": ("tests.0.score", ..., "row 1: score and max_score must be numbers"),
    "score is text": ("tests.0.score", "3", "row 1: score and max_score must be numbers"),
    "score is true": ("tests.0.score", True, "row 1: score and max_score must be numbers"),
    "score is null": ("tests.0.score", None, "row 1: score and max_score must be numbers"),
    "score is NaN": ("tests.0.score", float("nan"), "row 1: score and max_score must be numbers"),
    "score below zero": ("tests.0.score", -1, "row 1: score -1 of 3"),
    "score above the maximum": ("tests.0.score", 3.5, "row 1: score 3.5 of 3"),
    "three decimals": ("tests.0.score", 0.125, "row 1: score 0.125 has more than two decimals"),
    "status null": ("tests.0.status", None, "row 1: status is None; leave the key out instead"),
    "status misspelt": ("tests.0.status", "pass", "row 1: status is 'pass'; leave the key out instead"),
    "hidden row": ("tests.0.visibility", "hidden", "row 1: visibility is 'hidden': one hidden row hides the total"),
    "misspelt visibility": ("tests.0.visibility", "hiden", "row 1: visibility is 'hiden': one hidden row hides"),
    "row output null": ("tests.0.output", None, "row 1: output is no text"),
    "row format": ("tests.0.output_format", "markdown", "row 1: output_format is 'markdown'"),
    "tags": ("tests.0.tags", ["a", 1], "row 1: tags is no list of texts"),
    "row extra data": ("tests.0.extra_data", None, "row 1: extra_data is no object"),
}


@pytest.mark.parametrize(("path", "value", "problem"), BROKEN.values(), ids=BROKEN.keys())
def test_each_broken_rule_is_named(path: str, value: Any, problem: str) -> None:
    """One wrong value, one line that says which."""
    problems = validate(changed(path, value))
    assert [line for line in problems if line.startswith(problem)], problems


def test_numpy_scalars_are_refused() -> None:
    """np.float64 is a float to isinstance; another writer than json would refuse it."""
    numpy = pytest.importorskip("numpy")
    assert "row 1: score and max_score must be numbers" in validate(changed("tests.0.score", numpy.float64(1)))


def test_the_sum_of_the_rows_is_that_of_the_assignment() -> None:
    """A row that is lost would lower what everybody can reach."""
    assert validate(GOOD, points=6) == ["the rows' max_score add up to 5, the assignment has 6"]


@pytest.mark.parametrize("document", [None, [], 3, "x"], ids=repr)
def test_a_document_that_is_no_object_is_refused(document: object) -> None:
    """The first rule of all."""
    assert validate(document) == ["the document is no object"]


def test_endless_nesting_is_refused() -> None:
    """A list in a list in a list: one line, no RecursionError."""
    deep: list[Any] = []
    deep.append(deep)
    assert any("nested more than" in line for line in validate({**GOOD, "extra_data": {"x": deep}}))


# --- post: what the platform makes of results -------------------------------------------------------------------


def raw(document: object) -> bytes:
    return json.dumps(document).encode()


OUTCOMES: dict[str, tuple[bytes | None, str]] = {
    "good": (raw(GOOD), "posted"),
    "missing": (None, "missing"),
    "null": (b"null", "missing"),
    "empty": (b"", "invalid_json"),
    "cut off": (raw(GOOD)[:-9], "invalid_json"),
    "two documents": (raw(GOOD) * 2, "invalid_json"),
    "byte order mark": (b"\xef\xbb\xbf" + raw(GOOD), "invalid_json"),
    "utf-16": (json.dumps(GOOD).encode("utf-16"), "invalid_json"),
    "raw NUL outside a string": (b"{\0}", "invalid_json"),
    "a string": (b'"done"', "invalid_json"),
    "NaN": (b'{"score": NaN}', "failed"),
    "Infinity in extra_data": (b'{"score": 1, "extra_data": {"x": -Infinity}}', "failed"),
    "a list": (b"[]", "failed"),
    "a list with output": (b'["output"]', "failed"),
    "a number": (b"3", "failed"),
    "false": (b"false", "failed"),
    "output a number": (b'{"score": 1, "output": 3}', "failed"),
    "a row's output a number": (b'{"tests": [{"score": 1, "output": 3}]}', "failed"),
    "a row is a number": (b'{"tests": [3]}', "failed"),
    "tests a number": (b'{"tests": 3}', "failed"),
    "nested beyond the parser": (b"[" * 100_000, "failed"),
    "a row is text": (b'{"tests": ["x"]}', "posted"),
    "a row is null output": (b'{"tests": [{"score": 1, "output": null}]}', "posted"),
    "invalid utf-8": (b'{"score": 1, "output": "\xff"}', "posted"),
    "escaped NUL": (b'{"score": 1, "output": "\\u0000"}', "posted"),
    "lone surrogate": (b'{"score": 1, "output": "\\ud800"}', "posted"),
    "nothing in it": (b"{}", "posted"),
}


@pytest.mark.parametrize(("content", "outcome"), OUTCOMES.values(), ids=OUTCOMES.keys())
def test_every_odd_results_file_has_the_platforms_outcome(content: bytes | None, outcome: str) -> None:
    """What the harness keeps, what it gives 0 points for, and what breaks it."""
    posted = post(content)
    assert posted.outcome == outcome
    assert posted.message == ("" if outcome == "posted" else FAILED)
    if outcome in ("invalid_json", "failed"):
        assert posted.document == {"score": 0, "output": FAILED}
    if outcome == "missing":
        assert posted.document is None


def test_good_results_arrive_as_they_were() -> None:
    """No doubt, no change."""
    posted = post(raw(GOOD), b"for staff\n")
    assert (posted.document, posted.stdout, posted.doubts) == (GOOD, "for staff\n", ())


def test_text_that_is_no_json_goes_to_the_instructor() -> None:
    """The student reads a fixed sentence, the instructor the raw content after the output."""
    posted = post(b"Traceback", b"out")
    assert posted.stdout == f"out\n{gradescope.UNPARSED}\n\nTraceback"


def test_bytes_that_are_no_text_are_replaced() -> None:
    """Invalid UTF-8 and NUL become U+FFFD, in results and in stdout."""
    posted = post(b'{"score": 1, "output": "a\xffb\0c"}', b"\0\xff")
    assert posted.document == {"score": 1, "output": "a\ufffdb\ufffdc"}
    assert posted.stdout == "\ufffd\ufffd"


def test_long_texts_are_cut_as_the_platform_does() -> None:
    """stdout, the text above the rows and each row's text, to 100,000 characters with a marker in the middle."""
    long = "a" * 100_000 + "b" * 100_000
    posted = post(raw({"output": long, "tests": [{"score": 1, "output": long, "name": long}]}), long.encode())
    assert posted.document is not None
    cut = posted.document["output"]
    assert cut == "a" * 49_990 + "[...(truncated)...]" + "b" * 49_990
    assert posted.document["tests"][0]["output"] == posted.stdout == cut
    assert posted.document["tests"][0]["name"] == long
    assert gradescope.truncate("x" * CUT) == "x" * CUT


@pytest.mark.parametrize(
    ("content", "doubt"),
    [
        pytest.param(b"{}", "there is neither a score nor a row", id="nothing"),
        pytest.param(b'{"tests": ["x"]}', "row 1 is no object", id="row is text"),
        pytest.param(b'{"tests": "xyz"}', "tests is no list", id="tests is text"),
        pytest.param(b'{"tests": [{"name": "x"}]}', "row 1 has neither score nor status", id="no score"),
        pytest.param(b'{"score": 1, "output": "\\u0000"}', "results.output has a character", id="escaped NUL"),
        pytest.param(b'{"score": 1, "output": "\\udfff"}', "results.output has a character", id="surrogate"),
    ],
)
def test_what_nobody_knows_is_a_doubt(content: bytes, doubt: str) -> None:
    """It passes the harness; what the server makes of it is not documented."""
    assert [line for line in post(content).doubts if line.startswith(doubt)]


def test_time_out_overwrites_everything() -> None:
    """Score 0 and one line, however much had been earned."""
    assert gradescope.timed_out(600, 600.4) == {
        "score": 0,
        "output": "Your submission timed out. It took longer than 600 seconds to run.",
        "execution_time": 600.4,
    }


# --- what a student sees ----------------------------------------------------------------------------------------


def test_rows_have_the_platforms_defaults() -> None:
    """Numbers by order, status by score, visibility from the top."""
    found = rows({"visibility": "after_due_date", "tests": [{"score": 1, "max_score": 2}, {"status": "passed"}, 3]})
    assert [(row.number, row.name, row.score, row.max_score, row.status, row.visibility) for row in found] == [
        ("1", "", 1.0, 2.0, "failed", "after_due_date"),
        ("2", "", None, None, "passed", "after_due_date"),
    ]
    assert rows({"tests": [{"score": 2, "max_score": 2}]})[0].status == "passed"
    assert rows({"tests": [{"name": "note"}]})[0].status == ""


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(GOOD, (4.67, 5.0), id="sum, a bonus on top"),
        pytest.param({"score": 0, "output": FAILED}, (0.0, 0.0), id="score alone"),
        pytest.param({"score": 9, "tests": [{"score": 1, "max_score": 2}]}, (9.0, 2.0), id="the top score overrides"),
        pytest.param(changed("tests.0.visibility", "hidden"), (None, 5.0), id="one hidden row hides the total"),
        pytest.param(changed("visibility", "after_published"), (None, 5.0), id="all hidden"),
    ],
)
def test_total_is_what_a_student_sees(document: dict[str, Any], expected: tuple[float | None, float]) -> None:
    """The sum, the overriding score, or nothing."""
    assert total(document) == pytest.approx(expected)


# --- metadata ---------------------------------------------------------------------------------------------------

TOP_KEYS = {"id", "created_at", "assignment_id", "submission_method", "assignment", "users", "previous_submissions"}
ASSIGNMENT_KEYS = {
    "id",
    "title",
    "course_id",
    "release_date",
    "due_date",
    "late_due_date",
    "total_points",
    "group_submission",
    "group_size",
    "outline",
}


@pytest.mark.parametrize("case", VARIANTS)
def test_metadata_has_every_key(case: str) -> None:
    """Types as the platform writes them: points are text, dates have an offset and microseconds."""
    document = read_metadata(case, "Title", 20)
    assert set(document) == TOP_KEYS
    assert set(document["assignment"]) == ASSIGNMENT_KEYS
    assert document["assignment"]["total_points"] == "20.0"
    assert document["assignment"]["title"] == "Title"
    assert all(set(user) == {"id", "email", "name", "sid", "assignment"} for user in document["users"])
    assert moment(document["created_at"]).utcoffset() is not None
    assert "." in document["created_at"]
    assert json.loads(json.dumps(document)) == document


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_variants_are_what_they_are_called() -> None:
    """Late is after the due date, an extension is later for its student, a group has two, a resubmission a past."""
    on_time, late, extension, group, again, undated = (read_metadata(case) for case in VARIANTS)
    assert moment(on_time["created_at"]) < moment(on_time["assignment"]["due_date"])
    assert moment(late["assignment"]["due_date"]) < moment(late["created_at"])
    assert moment(late["created_at"]) < moment(late["assignment"]["late_due_date"])
    own = extension["users"][0]["assignment"]["due_date"]
    assert moment(extension["assignment"]["due_date"]) < moment(extension["created_at"]) < moment(own)
    assert len(group["users"]) == group["assignment"]["group_size"] == 2
    assert len({user["assignment"]["due_date"] for user in group["users"]}) == 2
    earlier = again["previous_submissions"]
    assert [entry["score"] for entry in earlier] == [4.0, None, 11.5]
    assert [entry["autograder_error"] for entry in earlier] == [False, True, False]
    assert [("results" in entry) for entry in earlier] == [False, False, True]
    assert undated["assignment"]["due_date"] is None
    assert undated["users"][0]["assignment"]["due_date"] is None


def test_metadata_is_read_from_a_file(tmp_path: Path) -> None:
    """What is no name of a case is a path."""
    path = tmp_path / "late"
    path.write_text(json.dumps(metadata(points=7)), encoding="utf-8")
    assert read_metadata(str(path))["assignment"]["total_points"] == "7.0"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "no such file, and none of on-time, late,", id="missing"),
        pytest.param(b"{", "Expecting property name", id="no JSON"),
        pytest.param(b"\xff", "can't decode", id="no text"),
        pytest.param(b"[]", "should be a JSON object", id="no object"),
    ],
)
def test_bad_metadata_gives_one_line(tmp_path: Path, content: bytes | None, message: str) -> None:
    """The path and the reason."""
    path = tmp_path / "metadata.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_metadata(str(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
