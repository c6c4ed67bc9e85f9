"""The pytest plugin of graded tests: fixtures, inputs, and what every test earned.

Inline by default: the student's code runs in this process, for laptops and debuggers. The isolated run registers its
own way to open a ``Student`` (``GradedSession.open_student``); nothing else differs.

A graded test is one with ``@item`` or with the fixture ``student``. Other tests are left alone.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import importlib
import inspect
import math
import os
import re
import sys
import unittest
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import card, diagnosis, marks, scores
from .assignment import Assignment, Item, load_assignment
from .checks import Check
from .errors import CheckFailed, Ended, GraderError, InputError, Late, StudentError, WrongType
from .handles import Student
from .inline import InlineLink
from .loading import load_as
from .scores import Case, Outcome

ENGINE = str(Path(__file__).parent.parent) + os.sep


class GradedSession:
    """The graded tests of one pytest run. One object, in the config's stash.

    Attributes:
        cases: every graded test, in the order in which they run.
        outcomes: what those that have run have earned.
        leaderboard: column -> (value, order).
        open_student: gives a context manager that yields the Student for one test.
        seed: of the inputs of public tests. ``secret`` is the seed of hidden ones.
        reference_folder: where the solved package lies; None in the handout.
        listeners: called with (case, outcome) after each test.
        traces: what failing checks saw, by case; kept for whoever sets it to a dict.
        measured: set as that of every ``Check``, with the case before its arguments.
    """

    def __init__(
        self, assignment: Assignment, submission: Path, reference: Path | None, seed: int, secret: bytes | None
    ) -> None:
        self.assignment, self.submission, self.reference_folder = assignment, submission, reference
        self.seed, self.secret = seed, secret
        self.cases: dict[tuple[str, str, str], Case] = {}
        self.outcomes: dict[tuple[str, str, str], Outcome] = {}
        self.marks: dict[tuple[str, str, str], marks.Marks] = {}
        self.leaderboard: dict[str, tuple[float | str, str]] = {}
        self.said: set[str] = set()  # messages that were shown
        self.listeners: list[Callable[[Case, Outcome], None]] = []
        self.traces: dict[tuple[str, str, str], diagnosis.Trace] | None = None
        self.measured: Callable[[Case, str, float], None] | None = None
        self.open_student: Callable[[Item], AbstractContextManager[Student]] = self._open_inline
        self.open_reference: Callable[[], Student] = self._open_reference_inline
        self.current: Student | None = None
        self._reference: Reference | None = None

    @property
    def reference(self) -> Reference:
        """The solved package, loaded once."""
        if self._reference is None:
            self._reference = Reference(self)
        return self._reference

    @property
    def reference_package(self) -> str:
        """The name under which the reference is loaded, which is not the student's."""
        return f"reference_{self.assignment.package}"

    def seed_for(self, case: Case) -> int:
        """The seed of a test's inputs, from its item, file, function and case id alone."""
        secret = self.secret if case.hidden and self.secret is not None else f"seed {self.seed}".encode()
        message = "\0".join((case.item, *case.key)).encode()
        return int.from_bytes(hmac.digest(secret, message, hashlib.sha256), "big")

    def item_scores(self) -> list[scores.ItemScore]:
        """The score of every item as things stand."""
        return scores.score_items(self.assignment, self.cases.values(), self.outcomes)

    @contextmanager
    def _open_inline(self, item: Item) -> Iterator[Student]:
        yield Student(InlineLink(self.submission, self.assignment.package))

    def _open_reference_inline(self) -> Student:
        assert self.reference_folder is not None
        load_as(self.reference_folder, self.assignment.package, self.reference_package)
        from .server import Server  # not before it is needed: the isolated run never serves in this process

        folder = self.reference_folder / self.assignment.package
        server = Server(self.reference_package, str(folder), inline=True)

        class Direct:
            def ask(self, request: str, arguments: Any) -> Any:
                return server.answer(request, arguments)

        return Student(Direct(), ours=True)


class Reference:
    """The solved package under another name: real modules, but for those that need torch.

    The trusted process never imports torch: what needs it is asked of a second, trusted worker, by the same handles
    as the student's.
    """

    _TORCH = ("torch", "tensor", "put", "get", "like")

    def __init__(self, session: GradedSession) -> None:
        if session.reference_folder is None:
            raise GraderError("hidden tests need --reference DIR, the folder of the solved package")
        self._session = session
        self._worker: Student | None = None
        self._torch_modules = {item.file.removesuffix(".py") for item in session.assignment.items if item.torch}
        load_as(session.reference_folder, session.assignment.package, session.reference_package)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._TORCH or name in self._torch_modules:
            if self._worker is None:
                self._worker = self._session.open_reference()
            return getattr(self._worker, name)
        return importlib.import_module(f"{self._session.reference_package}.{name}")


SESSION = pytest.StashKey[GradedSession]()
CASE = pytest.StashKey[Case]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("graded tests")
    group.addoption("--item", action="append", default=[], metavar="ITEM", help="only this item, by slug or number")
    group.addoption("--seed", type=int, default=0, help="seed of the inputs of public tests (default: 0)")
    group.addoption("--submission", metavar="DIR", help="folder that holds the student's package")
    group.addoption("--reference", metavar="DIR", help="folder that holds the solved package, for hidden tests")
    parser.addini("assignment", "path of assignment.toml", default="assignment.toml")
    parser.addini("submission", "folder that holds the student's package", default=".")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "item(slug): the item of assignment.toml that a test belongs to")
    root = config.rootpath
    option = config.getoption
    reference = option("--reference")
    try:
        session = GradedSession(
            load_assignment(root / config.getini("assignment")),
            Path(option("--submission") or root / config.getini("submission")).resolve(),
            Path(reference).resolve() if reference else None,
            option("--seed"),
            None,
        )
        wanted = [find_item(session.assignment, name) for name in option("--item")]
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[SESSION] = session
    config.stash[_WANTED] = frozenset(item.slug for item in wanted)


_WANTED = pytest.StashKey[frozenset[str]]()


def find_item(assignment: Assignment, name: str) -> Item:
    """The item with this slug or number, or InputError."""
    for item in assignment.items:
        if name in (item.slug, item.number):
            return item
    raise InputError(f"no item {name!r}; there are {', '.join(item.slug for item in assignment.items)}")


# Collection: every graded test becomes a Case, or is refused with one line.


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    session = config.stash[SESSION]
    wanted = config.stash[_WANTED]
    graded: list[tuple[pytest.Function, marks.Marks]] = []
    others: list[pytest.Item] = []
    checked: set[Path] = set()
    try:
        for test in items:
            if isinstance(test, pytest.Function) and _is_graded(test):
                graded.append((test, _marks(test)))
                if test.path not in checked:
                    checked.add(test.path)
                    marks.refuse_broad_raises(test.path.read_text(encoding="utf-8"), test.path.name)
            else:
                others.append(test)
    except marks.BadTest as problem:
        raise pytest.UsageError(str(problem)) from None
    order = {slug: index for index, slug in enumerate(session.assignment.by_slug)}
    for slug in {mark.item for _, mark in graded} - set(order) - set(session.assignment.dropped):
        raise pytest.UsageError(f"a test is about {slug!r}, which is no item of assignment.toml")
    chosen = set(order) & wanted if wanted else set(order)
    kept = [(test, mark) for test, mark in graded if mark.item in chosen]
    gone: list[pytest.Item] = [test for test, mark in graded if mark.item not in chosen]
    if wanted:
        gone, others = gone + others, []
    if kept and not (session.submission / session.assignment.package).is_dir():
        raise pytest.UsageError(f"{session.submission}: no package {session.assignment.package!r} here")
    if gone:
        config.hook.pytest_deselected(items=gone)
    kept.sort(key=lambda pair: (order[pair[1].item], _is_hidden(pair[0])))
    _register(session, kept)
    items[:] = [test for test, _ in kept] + others


def _is_graded(test: pytest.Function) -> bool:
    return hasattr(test.function, "__item__") or "student" in test.fixturenames


def _is_hidden(test: pytest.Item) -> bool:
    return test.path.parent.name == "hidden"


def _marks(test: pytest.Function) -> marks.Marks:
    problem = ""
    parametrized = list(test.iter_markers("parametrize"))
    if test.cls is not None and issubclass(test.cls, unittest.TestCase):
        problem = "a graded test is a function, not a method of a TestCase"
    elif any(next(test.iter_markers(name), None) is not None for name in ("skip", "skipif", "xfail")):
        problem = "a graded test is neither skipped nor expected to fail"
    elif "subtests" in test.fixturenames:
        problem = "subtests are no tests of their own; parametrize"
    elif not all(_has_ids(mark) for mark in parametrized):
        problem = "parametrize needs ids=[...], one for each case"
    elif hasattr(test, "callspec") and not parametrized:
        problem = "parametrize the test itself, not a fixture of it"
    elif not _is_hidden(test) and "reference" in test.fixturenames:
        problem = "public tests have no reference"
    if problem:
        raise marks.BadTest(f"{test.path.name}: {test.originalname}: {problem}")
    mark = marks.read_marks(test.function, bool(parametrized))
    takes = inspect.signature(test.function).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values())
    for name, given in (("set_score", mark.partial), ("set_leaderboard_value", mark.leaderboard is not None)):
        if name in test.fixturenames and not given:
            problem = f"nothing gives it {name}; its decorator is missing"
        if given and name not in takes and not takes_all:
            problem = f"its decorator gives it {name}, which it does not take"
    if problem:
        raise marks.BadTest(f"{test.path.name}: {test.originalname}: {problem}")
    return mark


def _has_ids(mark: pytest.Mark) -> bool:
    """Whether every case has a name of its author's: one that pytest makes changes with the values."""
    ids = mark.kwargs.get("ids")
    if ids is not None:
        return isinstance(ids, (list, tuple)) and all(isinstance(name, str) for name in ids)
    values = mark.args[1] if len(mark.args) > 1 else mark.kwargs.get("argvalues")
    return isinstance(values, (list, tuple)) and all(getattr(value, "id", None) for value in values)


def _register(session: GradedSession, tests: list[tuple[pytest.Function, marks.Marks]]) -> None:
    counts: dict[Any, int] = {}
    for test, _ in tests:
        counts[test.function] = counts.get(test.function, 0) + 1
    for test, mark in tests:
        callspec = getattr(test, "callspec", None)
        file = f"hidden/{test.path.name}" if _is_hidden(test) else test.path.name
        case = Case(
            key=(file, test.originalname, callspec.id if callspec else ""),
            item=mark.item,
            share=mark.weight / counts[test.function],
            hidden=_is_hidden(test),
            title=_first_line(test.function.__doc__) or test.originalname,
        )
        if case.key in session.cases:
            raise pytest.UsageError(f"two graded tests are called {case.name} in {test.path.name}")
        session.cases[case.key] = case
        session.marks[case.key] = mark
        test.stash[CASE] = case


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0].strip()


# Fixtures: what a test may ask for.


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Iterator[Student]:
    """The student's package, behind handles. Fresh for every test."""
    session, case = _session_and_case(request)
    with session.open_student(session.assignment.by_slug[case.item]) as opened:
        session.current = opened
        opened.own_modules = frozenset(Path(file).stem for file in session.assignment.files)
        yield opened


@pytest.fixture
def reference(request: pytest.FixtureRequest) -> Reference:
    """The solved package (hidden tests only)."""
    return request.config.stash[SESSION].reference


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator that is seeded by the test's own name: the same inputs whatever else runs."""
    session, case = _session_and_case(request)
    return np.random.Generator(np.random.PCG64(session.seed_for(case)))


@pytest.fixture
def check(request: pytest.FixtureRequest, rng: np.random.Generator) -> Check:
    """``check.close``, ``check.equal``, ... : the only way to look at a student's value."""
    session, case = _session_and_case(request)
    # its own stream: a check that draws must not shift the test's inputs
    own = np.random.Generator(np.random.PCG64(session.seed_for(case) ^ 1))
    tolerance = session.assignment.by_slug[case.item].tolerance
    made = Check(case.hidden, tolerance, lambda: session.current, own)
    if session.measured is not None:
        made.measured = functools.partial(session.measured, case)
    return made


@pytest.fixture
def set_score() -> None:
    """Filled by gradescope-utils' @partial_credit."""


@pytest.fixture
def set_leaderboard_value() -> None:
    """Filled by gradescope-utils' @leaderboard."""


def _session_and_case(request: pytest.FixtureRequest) -> tuple[GradedSession, Case]:
    case = request.node.stash.get(CASE, None)
    if case is None:
        raise GraderError(f"{request.node.name} uses a fixture of graded tests and has no @item")
    return request.config.stash[SESSION], case


# Running: one outcome a test, whatever happened.


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    if CASE in item.stash:
        item.config.stash[SESSION].current = None
        marks.clear_values(item.function)  # type: ignore[attr-defined]
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        item.config.stash[SESSION].current = None  # no student object outlives its test


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: pytest.TestReport = yield  # type: ignore[assignment]
    case = item.stash.get(CASE, None)
    if case is None or not isinstance(item, pytest.Function):
        return report  # type: ignore[return-value]
    session = item.config.stash[SESSION]
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, (KeyboardInterrupt, pytest.exit.Exception)):
        return report  # type: ignore[return-value]
    if call.when == "call":
        outcome = _outcome(session, item, case, error)
    elif error is not None:
        earned = (
            session.outcomes[case.key].fraction if call.when == "teardown" and case.key in session.outcomes else 0.0
        )
        outcome = Outcome(scores.GRADER_ERROR, earned, "", f"{call.when}: {_line(error)}")
    else:
        return report  # type: ignore[return-value]
    session.outcomes[case.key] = outcome
    if outcome.state != scores.PASSED:
        traced = error is not None and outcome.state != scores.NOT_STARTED and item.config.get_verbosity() > 0
        shown = replace(outcome, hint="") if outcome.hint in session.said else outcome  # a hint is said once
        told = card.failure_text(case, shown, again=outcome.message in session.said)
        session.said |= {outcome.message, outcome.hint}
        report.longrepr = f"{told}\n\n{report.longreprtext}" if traced else told
        report.outcome = "failed"
    report.user_properties.append(("state", outcome.state))
    for listener in session.listeners:
        listener(case, outcome)
    return report  # type: ignore[return-value]


def _outcome(session: GradedSession, test: pytest.Function, case: Case, error: BaseException | None) -> Outcome:
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
        return Outcome(scores.LATE, 0.0, f"{while_importing}{error}")
    if isinstance(error, StudentError):
        return _students_error(session, case, error, instead)
    if isinstance(error, (GraderError, pytest.skip.Exception, pytest.xfail.Exception)) or _is_ours(
        error, test, session
    ):
        return Outcome(scores.GRADER_ERROR, 0.0, "", _line(error))
    outcome = Outcome(scores.FAILED, 0.0, _tripped(session, case, error) if instead is None else instead, _line(error))
    answered = session.current.answered if session.current is not None else ()
    return _diagnosed(session, test, case, outcome, type(error).__name__, answered)


def _diagnosed(
    session: GradedSession, test: pytest.Function, case: Case, outcome: Outcome, place: str, got: tuple[object, ...]
) -> Outcome:
    """The outcome with the hint of the known mistake that gives this answer, if there is one."""
    if not got or session.current is None:
        return outcome
    hints = diagnosis.hints_in(test.path.parent)
    if session.traces is None and (not hints or session.marks[case.key].hidden_message is not None):
        return outcome
    seen = diagnosis.trace(f"{case.key[0]}::{case.name} {place}", session.current.sent, got[0])
    if session.traces is not None:
        session.traces[case.key] = seen
    hint = hints.named(seen.key)
    return outcome if hint is None else replace(outcome, hint=hint.lines, mistakes=hint.ids)


def _students_error(session: GradedSession, case: Case, error: StudentError, instead: str | None) -> Outcome:
    ours = isinstance(error, (WrongType, Ended))  # they say all that there is to say
    text = str(error) if ours else f"{error.kind}: {error}"
    place = "".join(f"\n  {file}:{line} in {function}" for file, line, function in error.frames)
    if error.importing:
        return Outcome(scores.CANNOT_IMPORT, 0.0, f"{error.importing}.py cannot be imported: {text}{place}")
    if error.kind == "NotImplementedError":
        return _stub(session, case, str(error))
    if error.kind == "AttributeError" and (missing := _MISSING_NAME.match(str(error))):
        text = f"{missing[1]}.py has no {missing[2]}: was it renamed or deleted?"
    return Outcome(scores.FAILED, 0.0, text + place if instead is None else instead)


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
    shown = type(error).__name__ if case.hidden else _line(error)
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


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {_text(error)}"[:500]


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str | tuple[str, dict[str, bool]]] | None:
    state = dict(report.user_properties).get("state") if report.when == "call" else None
    if state == scores.NOT_STARTED:
        return "not started", "-", ("NOT STARTED", {"yellow": True})
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    session = config.stash[SESSION]
    if session.cases and session.outcomes:
        card.write(terminalreporter, session.assignment, session.item_scores(), session.seed)


def torch_is_loaded() -> bool:
    """Whether this process imported torch: the trusted one never does."""
    return "torch" in sys.modules
