"""The pytest plugin of graded tests: fixtures, inputs, and what every test earned.

Inline by default: the student's code runs in this process, for laptops and debuggers. The isolated run registers its
own way to open a ``Student`` (``GradedSession.open_student``); nothing else differs.

A graded test is one with ``@item`` or with the fixture ``student``. Other tests are left alone.
"""

from __future__ import annotations

import functools
import inspect
import sys
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import card, language, marks, scores
from .assignment import Assignment, Item, load_assignment
from .checks import Check
from .errors import GraderError, InputError
from .facts import facts_in
from .graded import GradedSession, Reference
from .handles import Student
from .inline import load_torch
from .language import Language
from .patience import Patience
from .scores import Case, Outcome
from .verdict import line_of, outcome_of

SESSION = pytest.StashKey[GradedSession]()
CASE = pytest.StashKey[Case]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("graded tests")
    group.addoption("--item", action="append", default=[], metavar="ITEM", help="only this item, by slug or number")
    group.addoption("--seed", type=int, default=0, help="seed of the inputs of public tests (default: 0)")
    group.addoption("--submission", metavar="DIR", help="folder that holds the student's package")
    group.addoption("--reference", metavar="DIR", help="folder that holds the solved package, for hidden tests")
    group.addoption("--lang", metavar="LANG", help="of the feedback: en or zh (default: the machine's own)")
    parser.addini("patience", "seconds that a call of student code may take, inline; 0 for ever", default="0")
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
        session.patience = Patience(float(config.getini("patience")))
        session.language = Language(language.chosen(option("--lang"), session.assignment.language))
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
    if session.language.name != "en":
        folders = sorted({test.path.parent for test, _ in kept})
        session.language = Language(session.language.name, language.words_in(folders))
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
        session, case = item.config.stash[SESSION], item.stash[CASE]
        _stop_at_an_untouched_stub(session, case, item.path.parent)
        _skip_without_torch(session, case)
    return (yield)


class UntouchedError(Exception):
    """Nothing need be run: the student's file is as it was handed out."""


def _stop_at_an_untouched_stub(session: GradedSession, case: Case, tests: Path) -> None:
    """A blank handout answers at once, and loads no library for nothing."""
    if session.inline:
        package = session.submission / session.assignment.package
        text = facts_in(tests).stub_of(package, session.assignment.by_slug[case.item].file, case.item)
        if text is not None:
            raise UntouchedError(text)


class TorchMissing(pytest.skip.Exception):  # type: ignore[name-defined,misc]
    """Our own skip, on a laptop without PyTorch. Any other one of a graded test is a fault."""


def _skip_without_torch(session: GradedSession, case: Case) -> None:
    """A laptop may do without PyTorch until the part that needs it. Grading has its own."""
    if session.assignment.by_slug[case.item].torch and session.inline:
        if find_spec("torch") is None:
            part = next(part.number for part in session.assignment.parts if part.torch)
            raise TorchMissing(f"torch is not installed (needed from part {part} on)")
        load_torch()  # before the student's time counts: a cold disk may need half a minute


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        item.config.stash[SESSION].current = None  # no student object outlives its test


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    case = item.stash.get(CASE, None)
    with _without_traceback(item.config, case is not None):
        report: pytest.TestReport = yield  # type: ignore[assignment]
    if case is None or not isinstance(item, pytest.Function):
        return report  # type: ignore[return-value]
    session = item.config.stash[SESSION]
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, (KeyboardInterrupt, pytest.exit.Exception)):
        return report  # type: ignore[return-value]
    if isinstance(error, UntouchedError):
        outcome = Outcome(scores.NOT_STARTED, 0.0, str(error))
    elif isinstance(error, TorchMissing):
        outcome = Outcome(scores.SKIPPED, 0.0, f"skipped: {error}")
    elif call.when == "call":
        outcome = outcome_of(session, item, case, error)
    elif error is not None:
        earned = (
            session.outcomes[case.key].fraction if call.when == "teardown" and case.key in session.outcomes else 0.0
        )
        outcome = Outcome(scores.GRADER_ERROR, earned, "", f"{call.when}: {line_of(error)}")
    else:
        return report  # type: ignore[return-value]
    session.outcomes[case.key] = outcome
    if outcome.state not in (scores.PASSED, scores.SKIPPED):
        traced = error is not None and outcome.state != scores.NOT_STARTED and item.config.get_verbosity() > 0
        shown = replace(outcome, hint="") if outcome.hint in session.said else outcome  # a hint is said once
        told = card.failure_text(case, shown, outcome.message in session.said, session.language)
        session.said |= {outcome.message, outcome.hint}
        report.longrepr = card.Told(f"{told}\n\n{report.longreprtext}" if traced else told)  # type: ignore[assignment]
        report.outcome = "failed"
    report.user_properties.append(("state", outcome.state))
    for listener in session.listeners:
        listener(case, outcome)
    return report  # type: ignore[return-value]


@contextmanager
def _without_traceback(config: pytest.Config, graded: bool) -> Iterator[None]:
    """Of a graded test pytest need not format a traceback that is not shown: it takes longer than the test."""
    style = config.option.tbstyle
    if graded and config.get_verbosity() <= 0:
        config.option.tbstyle = "no"
    try:
        yield
    finally:
        config.option.tbstyle = style


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str | tuple[str, dict[str, bool]]] | None:
    told = isinstance(report, pytest.TestReport) and report.when != "teardown"
    state = dict(report.user_properties).get("state") if told else None
    if state == scores.NOT_STARTED:
        return "not started", "-", ("NOT STARTED", {"yellow": True})
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    session = config.stash[SESSION]
    if session.cases and session.outcomes:
        card.write(terminalreporter, session.assignment, session.item_scores(), session.seed, session.language)


def torch_is_loaded() -> bool:
    """Whether this process imported torch: the trusted one never does."""
    return "torch" in sys.modules
