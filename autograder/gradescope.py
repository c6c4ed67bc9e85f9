"""Gradescope's contract as data and pure functions. Trusted side; standard library only, no files, no processes.

Three parts::

    the caps and words of results.json      CUT, STATUSES, VISIBILITIES, FORMATS, ...
    what our results must be                clean(text), validate(document)
    what the platform makes of results      post(raw, stdout), timed_out(seconds), rows(document), total(document)

What the platform tells the grader stands in ``metadata.py``.

The platform's own words and steps are those of its documentation and of a published copy of its harness; where a
reaction of its server is not known, ``post`` lets the document pass and says so in ``Posted.doubts``.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

CUT = 100_000  # characters of stdout, of the top-level output and of each row's output that are kept
TRUNCATED = "[...(truncated)...]"
TIMEOUT = 600.0  # seconds; the default of an assignment

STATUSES = ("passed", "failed")
VISIBILITIES = ("visible", "hidden", "after_due_date", "after_published")
FORMATS = ("text", "html", "simple_format", "md", "ansi")
ORDERS = ("asc", "desc")

FAILED = "The autograder failed to execute correctly."  # what a student reads when results are lost
UNPARSED = "Your results.json file could not be parsed as JSON. Its contents are as follows:"

_TOP_KEYS = {
    "score",
    "tests",
    "execution_time",
    "output",
    "output_format",
    "test_output_format",
    "test_name_format",
    "visibility",
    "stdout_visibility",
    "extra_data",
    "leaderboard",
}
_TEST_KEYS = {
    "score",
    "max_score",
    "status",
    "name",
    "name_format",
    "number",
    "output",
    "output_format",
    "tags",
    "visibility",
    "extra_data",
}
_LEADERBOARD_KEYS = {"name", "value", "order"}
_MAX_DEPTH = 50


# --- what our results must be -----------------------------------------------------------------------------------

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
# C0 without tab and newline, DEL, C1, lone surrogates, characters that turn the direction of text, non-characters
_ILLEGAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
_NEWLINES = re.compile("\r\n?|[\u2028\u2029]")


def clean(text: str, cap: int = CUT) -> str:
    """The same text, made legal for results.json, a terminal and a page: the one way for text to get there.

    Colour codes go, every kind of line end becomes a newline, control characters, lone surrogates and characters
    that turn the direction of text are dropped. A text over the cap keeps its head and its tail.
    ``clean(clean(text)) == clean(text)``.
    """
    return shorten(_ILLEGAL.sub("", _NEWLINES.sub("\n", _ANSI.sub("", text))), cap)


def shorten(text: str, cap: int = CUT) -> str:
    """Head and tail of a text over the cap, with a line between that says how much is missing."""
    if len(text) <= cap:
        return text
    note = f"\n[... {len(text) - cap:,} or more characters left out ...]\n"
    kept = max(cap - len(note), 0)
    head = kept - kept // 2
    return (text[:head] + note + text[len(text) - kept // 2 :])[:cap]


def validate(document: object, points: float | None = None) -> list[str]:
    """Every rule that our own results break, as one line each; an empty list when all hold.

    Stricter than the platform: what its server makes of an odd value is not known, so there is none.

    Args:
        document: results.json, parsed or about to be written.
        points: what the rows' max_score must add up to.
    """
    if not isinstance(document, dict):
        return ["the document is no object"]
    problems = list(_illegal_values(document, "results"))
    problems += _unknown_keys(document, _TOP_KEYS, "results")
    if "score" in document:
        problems.append("there is a top-level score: it overrides the rows")
    tests = document.get("tests")
    if not isinstance(tests, list) or not tests:
        return [*problems, "tests is no list of rows"]
    for index, test in enumerate(tests, 1):
        problems += _validate_row(test, f"row {index}")
    good = [test for test in tests if isinstance(test, dict)]
    for key in ("name", "number"):
        counts = Counter(test[key] for test in good if isinstance(test.get(key), str))
        problems += [f"the {key} {value!r} stands twice" for value, count in counts.items() if count > 1]
    if points is not None:
        most = sum(test["max_score"] for test in good if _is_number(test.get("max_score")))
        if abs(most - points) > 1e-6:
            problems.append(f"the rows' max_score add up to {most:g}, the assignment has {points:g}")
    problems += _validate_top(document)
    return problems


def _validate_top(document: dict[str, Any]) -> Iterator[str]:
    yield from _output(document, "results")
    for key in ("output_format", "test_output_format", "test_name_format"):
        if key in document and document[key] not in FORMATS:
            yield f"{key} is {document[key]!r}"
    if document.get("visibility", "visible") != "visible":
        yield f"visibility is {document['visibility']!r}: students would see no total"
    if document.get("stdout_visibility", "hidden") != "hidden":
        yield f"stdout_visibility is {document['stdout_visibility']!r}: stdout is for staff only"
    if "execution_time" in document and not _is_number(document["execution_time"]):
        yield "execution_time is no number"
    if "extra_data" in document and not isinstance(document["extra_data"], dict):
        yield "extra_data is no object"
    leaderboard = document.get("leaderboard", [])
    if not isinstance(leaderboard, list):
        yield "leaderboard is no list"
        return
    for index, entry in enumerate(leaderboard, 1):
        where = f"leaderboard {index}"
        if not isinstance(entry, dict):
            yield f"{where} is no object"
            continue
        yield from _unknown_keys(entry, _LEADERBOARD_KEYS, where)
        if not isinstance(entry.get("name"), str) or not entry["name"]:
            yield f"{where} has no name"
        if not _is_number(entry.get("value")) and not isinstance(entry.get("value"), str):
            yield f"{where}: value is neither a number nor text"
        if entry.get("order", "desc") not in ORDERS:
            yield f"{where}: order is {entry['order']!r}"


def _validate_row(test: object, where: str) -> Iterator[str]:
    if not isinstance(test, dict):
        yield f"{where} is no object"
        return
    yield from _unknown_keys(test, _TEST_KEYS, where)
    name = test.get("name")
    if not isinstance(name, str) or not name.strip() or "\n" in name:
        yield f"{where} has no name of one line"
    if "number" in test and not (isinstance(test["number"], str) and re.fullmatch(r"\w+(\.\w+)*", test["number"])):
        yield f"{where}: number is {test['number']!r}"
    if not _is_number(test.get("score")) or not _is_number(test.get("max_score")):
        yield f"{where}: score and max_score must be numbers"
    else:
        score, most = test["score"], test["max_score"]
        if score < 0 or most < 0 or (most > 0 and score > most):  # a bonus row has max_score 0
            yield f"{where}: score {score:g} of {most:g}"
        if abs(round(score, 2) - score) > 1e-9:
            yield f"{where}: score {score!r} has more than two decimals"
    if "status" in test and test["status"] not in STATUSES:
        yield f"{where}: status is {test['status']!r}; leave the key out instead"
    if test.get("visibility", "visible") != "visible":
        yield f"{where}: visibility is {test['visibility']!r}: one hidden row hides the total of every student"
    yield from _output(test, where)
    for key in ("output_format", "name_format"):
        if key in test and test[key] not in FORMATS:
            yield f"{where}: {key} is {test[key]!r}"
    if "tags" in test and not (isinstance(test["tags"], list) and all(isinstance(tag, str) for tag in test["tags"])):
        yield f"{where}: tags is no list of texts"
    if "extra_data" in test and not isinstance(test["extra_data"], dict):
        yield f"{where}: extra_data is no object"


def _output(record: dict[str, Any], where: str) -> Iterator[str]:
    if "output" not in record:
        return
    if not isinstance(record["output"], str):
        yield f"{where}: output is no text"
    elif len(record["output"]) > CUT:
        yield f"{where}: output has {len(record['output']):,} characters; the platform keeps {CUT:,}"


def _unknown_keys(record: dict[str, Any], known: set[str], where: str) -> list[str]:
    return [f"{where}: unknown key {key!r}" for key in record if key not in known]


def _is_number(value: object) -> bool:
    """An int or a finite float by exact type: a bool is none, a numpy scalar neither."""
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _illegal_values(value: object, where: str, depth: int = 0) -> Iterator[str]:
    """Everything in a document that JSON, or the platform's own JSON, cannot carry."""
    if depth > _MAX_DEPTH:
        yield f"{where} is nested more than {_MAX_DEPTH} deep"
    elif isinstance(value, str):
        if type(value) is not str or _ILLEGAL.search(value):
            yield f"{where} has a character that may not be there"
    elif isinstance(value, dict):
        for key, entry in value.items():
            if not isinstance(key, str):
                yield f"{where} has the key {key!r}, which is no text"
            elif _ILLEGAL.search(key):
                yield f"{where} has a key with a character that may not be there"
            else:
                yield from _illegal_values(entry, f"{where}.{key}", depth + 1)
    elif isinstance(value, list):
        for index, entry in enumerate(value, 1):
            yield from _illegal_values(entry, f"{where}[{index}]", depth + 1)
    elif value is not None and not isinstance(value, bool) and not _is_number(value):
        yield f"{where} is {value!r:.40}, which JSON cannot carry"


# --- what the platform makes of results -------------------------------------------------------------------------


@dataclass(frozen=True)
class Posted:
    """What arrives at the site after a run.

    Attributes:
        outcome: ``posted``; ``missing`` (no results.json, or null in it); ``invalid_json``; ``failed`` (the harness
            itself failed on it: everything is lost).
        document: what the site stores as results; None when there is none.
        message: what the student reads in place of rows; empty for ``posted``.
        stdout: what the instructor reads.
        doubts: what passes the harness, while nobody knows what the server makes of it.
    """

    outcome: str
    document: dict[str, Any] | None
    message: str
    stdout: str
    doubts: tuple[str, ...] = ()


def post(raw: bytes | None, stdout: bytes = b"") -> Posted:
    """The harness's way with results.json and stdout after a run.

    Args:
        raw: the bytes of results.json; None when there is no such file.
        stdout: what run_autograder printed.
    """
    printed = truncate(_text(stdout))
    if raw is None:
        return Posted("missing", None, FAILED, printed)
    text = _text(raw)
    try:
        document = json.loads(text)
    except ValueError:
        return _not_json(text, printed)
    except RecursionError:
        return lost(printed)
    if isinstance(document, str):  # the harness hands on text that is no JSON in the same variable
        return _not_json(document, printed)
    if document is None:
        return Posted("missing", None, FAILED, printed)
    try:
        _truncate_results(document)
        json.dumps(document, allow_nan=False)
    except (TypeError, AttributeError, ValueError, RecursionError):
        return lost(printed)
    return Posted("posted", document, "", printed, tuple(_doubts(document)))


def truncate(text: str) -> str:
    """The platform's cut: head, marker, tail."""
    if len(text) <= CUT:
        return text
    half = (CUT - len(TRUNCATED)) // 2
    return text[:half] + TRUNCATED + text[-half:]


def timed_out(seconds: float, elapsed: float | None = None) -> dict[str, Any]:
    """What the platform writes over results.json at its time limit."""
    return {
        "score": 0,
        "output": f"Your submission timed out. It took longer than {seconds:g} seconds to run.",
        "execution_time": seconds if elapsed is None else elapsed,
    }


def lost(stdout: str) -> Posted:
    """What arrives when the harness itself fails: it could not start run_autograder, or not send its results on."""
    return Posted("failed", {"score": 0, "output": FAILED}, FAILED, stdout)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _not_json(text: str, printed: str) -> Posted:
    failed = {"score": 0, "output": FAILED}
    return Posted("invalid_json", failed, FAILED, f"{printed}\n{UNPARSED}\n\n{text}")


def _truncate_results(document: Any) -> None:
    """In place, and failing as the harness does: with a TypeError or AttributeError for what it does not expect."""
    if "output" in document:
        document["output"] = _truncate_output(document["output"])
    if document.get("tests"):
        for test in document["tests"]:
            if "output" in test:
                test["output"] = _truncate_output(test["output"])


def _truncate_output(output: Any) -> Any:
    if output is None:
        return None
    if not isinstance(output, str):
        len(output)  # a number has none
        return output
    return truncate(output)


def _doubts(document: dict[str, Any]) -> Iterator[str]:
    tests = document.get("tests")
    if tests is None and "score" not in document:
        yield "there is neither a score nor a row"
    if tests is not None and not isinstance(tests, list):
        yield "tests is no list"
        tests = []
    for index, test in enumerate(tests or [], 1):
        if not isinstance(test, dict):
            yield f"row {index} is no object"
        elif "score" not in test and "score" not in document and "status" not in test:
            yield f"row {index} has neither score nor status"
    yield from _illegal_values(document, "results")


@dataclass(frozen=True)
class Row:
    """One row as the site shows it; ``status`` is passed, failed, or empty for a row that only informs."""

    number: str
    name: str
    score: float | None
    max_score: float | None
    status: str
    output: str
    visibility: str


def rows(document: dict[str, Any]) -> tuple[Row, ...]:
    """The rows of a posted document, with the platform's defaults filled in."""
    found = []
    tests = document.get("tests")
    for index, test in enumerate(tests if isinstance(tests, list) else [], 1):
        if not isinstance(test, dict):
            continue
        score, most = _number(test.get("score")), _number(test.get("max_score"))
        status = test.get("status")
        if status not in STATUSES:
            status = "" if score is None else STATUSES[score < (most or 0)]
        visibility = test.get("visibility") or document.get("visibility") or "visible"
        name, output = test.get("name"), test.get("output")
        found.append(
            Row(
                number=str(test.get("number") or index),
                name=name if isinstance(name, str) else "",
                score=score,
                max_score=most,
                status=status,
                output=output if isinstance(output, str) else "",
                visibility=str(visibility),
            )
        )
    return tuple(found)


def total(document: dict[str, Any]) -> tuple[float | None, float]:
    """Score and maximum as a student sees them before anything is published; the score is None while hidden."""
    found = rows(document)
    most = sum(row.max_score or 0.0 for row in found)
    if any(row.visibility != "visible" for row in found):
        return None, most
    top = _number(document.get("score"))
    return (sum(row.score or 0.0 for row in found) if top is None else top), most


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
