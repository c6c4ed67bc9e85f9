"""How a test ended, from what it raised: whose fault it was, what it earned, what its student reads.

An error of ours never costs points silently: what arose in the engine or the reference is a GRADER_ERROR. What a test's
own lines raise is the student's, since the audit proved that they do not over the reference's values.
"""

from __future__ import annotations

import inspect
import math
import os
import platform
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from . import diagnosis, marks, scores
from .errors import CheckFailed, Ended, GraderError, Late, StudentError, WrongType
from .graded import GradedSession
from .scores import Case, Outcome

ENGINE = str(Path(__file__).parent.parent) + os.sep


def outcome_of(session: GradedSession, test: pytest.Function, case: Case, error: BaseException | None) -> Outcome:
    """Whose fault it was, and what the test earned."""
    sticky = session.current.sticky if session.current is not None else None
    if sticky is not None and not isinstance(error, GraderError):
        error = sticky  # even when the test's own `raises` swallowed it
    if error is None:
        return _earned(session, test, case)
    instead = session.marks[case.key].hidden_message
    if isinstance(error, CheckFailed):
        outcome = Outcome(scores.FAILED, 0.0, str(error) if instead is None else instead, error.detail)
        return _diagnosed(session, test, case, outcome, error.place, error.got)
    if isinstance(error, Late):
        while_importing = f"{error.importing}.py cannot be imported: " if error.importing else ""
        return Outcome(scores.LATE, 0.0, f"{while_importing}{error}{_places(error)}")
    if isinstance(error, StudentError):
        return _students_error(session, case, error, instead)
    if isinstance(error, (GraderError, pytest.skip.Exception, pytest.xfail.Exception)) or _is_ours(
        error, test, session
    ):
        return Outcome(scores.GRADER_ERROR, 0.0, "", line_of(error))
    outcome = Outcome(
        scores.FAILED, 0.0, _tripped(session, case, error) if instead is None else instead, line_of(error)
    )
    answered = session.current.answered if session.current is not None else ()
    return _diagnosed(session, test, case, outcome, type(error).__name__, answered)


def _diagnosed(
    session: GradedSession, test: pytest.Function, case: Case, outcome: Outcome, place: str, got: tuple[object, ...]
) -> Outcome:
    """The outcome with the hint of the known mistake that gives this answer, if there is one and it may be told."""
    if not got or session.current is None:
        return outcome
    told = session.assignment.tells_hints(case.hidden)
    hints = diagnosis.hints_in(test.path.parent) if told else diagnosis.Hints({}, {})
    if session.traces is None and (not hints or session.marks[case.key].hidden_message is not None):
        return outcome
    seen = diagnosis.trace(f"{case.key[0]}::{case.name} {place}", session.current.sent, got[0])
    if session.traces is not None:
        session.traces[case.key] = seen
    hint = hints.named(seen.key)
    return (
        outcome
        if hint is None
        else replace(outcome, hint=session.language.hint(hint.text, hint.text_zh), mistakes=hint.ids)
    )


def _students_error(session: GradedSession, case: Case, error: StudentError, instead: str | None) -> Outcome:
    ours = isinstance(error, (WrongType, Ended))  # they say all that there is to say
    text = str(error) if ours else f"{error.kind}: {error}"
    place = _places(error)
    if error.importing:
        if error.kind == "SyntaxError":
            text += f" (read by Python {platform.python_version()})"
        return Outcome(scores.CANNOT_IMPORT, 0.0, f"{error.importing}.py cannot be imported: {text}{place}")
    if error.kind == "NotImplementedError":
        return _stub(session, case, str(error))
    if error.kind == "AttributeError" and (missing := _MISSING_NAME.match(str(error))):
        text = f"{missing[1]}.py has no {missing[2]}: was it renamed or deleted?"
    return Outcome(scores.FAILED, 0.0, text + place if instead is None else instead)


def _places(error: StudentError) -> str:
    return "".join(f"\n  {file}:{line} in {function}" for file, line, function in error.frames)


_MISSING_NAME = re.compile(r"module '\w+\.(\w+)' has no attribute '(\w+)'")


def _stub(session: GradedSession, case: Case, text: str) -> Outcome:
    """A stub was met, which says ``slug: function``: the item's own, or one of another item that the code calls."""
    slug, _, function = text.partition(": ")
    other = session.assignment.by_slug.get(slug)
    if other is None or slug == case.item:
        return Outcome(scores.NOT_STARTED, 0.0, text)
    return Outcome(scores.FAILED, 0.0, f"your code calls {function} (item {other.number}), which is not written yet")


def _tripped(session: GradedSession, case: Case, error: BaseException) -> str:
    """What to say when the test's own lines raised: audit proved that they do not on the reference's values."""
    text = _text(error)
    name = session.current.last_call if session.current is not None else ""
    where = f"{name}: " if name else ""
    if isinstance(error, pytest.fail.Exception) and text.startswith(_RAISED_NOTHING):
        return f"{where}should raise {_CLASS.sub(_LAST_NAME, text.removeprefix(_RAISED_NOTHING))}"
    if isinstance(error, (AssertionError, pytest.fail.Exception)):
        return f"{where}this does not hold" if case.hidden or not text else text
    shown = type(error).__name__ if case.hidden else line_of(error)
    return f"{where}the test cannot work with what your code gave ({shown})"


_RAISED_NOTHING = "DID NOT RAISE "  # pytest.raises
_CLASS, _LAST_NAME = re.compile(r"<class '(?:\w+\.)*(\w+)'>"), r"\1"  # as older releases of pytest put it


def _earned(session: GradedSession, test: pytest.Function, case: Case) -> Outcome:
    mark = session.marks[case.key]
    if mark.leaderboard is not None:
        value = marks.set_value(test.function, "__leaderboard_value__")
        if not isinstance(value, (str, type(None))) and not _is_number(value):
            return Outcome(scores.GRADER_ERROR, 0.0, "", f"{case.name} set the leaderboard value {value!r:.80}")
        if isinstance(value, str) or (value is not None and math.isfinite(value)):  # a board cannot show infinity
            column, order = mark.leaderboard
            session.leaderboard[column] = (value if isinstance(value, str) else float(value), order)
    if not mark.partial:
        return Outcome(scores.PASSED, 1.0)
    score = marks.set_value(test.function, "__score__")
    if not _is_number(score) or not math.isfinite(score):
        return Outcome(scores.GRADER_ERROR, 0.0, "", f"{case.name} set the score {score!r:.80}")
    fraction = min(1.0, max(0.0, float(score) / mark.weight))
    if fraction == 1:
        return Outcome(scores.PASSED, 1.0)
    return Outcome(scores.FAILED, fraction, f"partial credit: {fraction:.0%} of this check")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _is_ours(error: BaseException, test: pytest.Function, session: GradedSession) -> bool:
    """Whether an error arose outside the test's own lines, in or below the engine or the reference.

    What the engine calls back, the forward of a gradient check, is the test's and trusted: ours too.
    """
    own = inspect.unwrap(test.function).__code__.co_filename
    ours = [ENGINE] + ([str(session.reference_folder) + os.sep] if session.reference_folder is not None else [])
    inside = False
    traceback = error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file == own:
            inside = True
        elif inside and file.startswith(tuple(ours)):
            return True
        traceback = traceback.tb_next
    return not inside


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:
        return "(its message cannot be shown)"


def line_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {_text(error)}"[:500]
