"""Helpers for tests of grading: a toy assignment, cases and outcomes by hand, and whole inline runs of pytest.

``run`` is the only way in which these tests obtain results: it checks every rule of the platform, and that there is
one row an item whose score follows from its tests, before it hands out anything.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder import gradescope, results
from autograder.feedback import plugin as feedback
from autograder.feedback import scores
from autograder.feedback.assignment import Assignment, Budgets, Item, Part
from autograder.feedback.graded import GradedSession
from autograder.feedback.handles import Student
from autograder.feedback.scores import Case, ItemScore, Outcome

Key = tuple[str, str, str]


# By hand: for scores and results.


def item(slug: str, points: float = 1.0, **keys: Any) -> Item:
    """An item of ``maths.py``."""
    return Item(slug, f"The {slug}", f"The {slug}", points, "maths.py", **keys)


def assignment(*items: Item) -> Assignment:
    """An assignment of one part, its items numbered from 1.1."""
    values = [{name: getattr(one, name) for name in one.__dataclass_fields__} for one in items]
    numbered = tuple(
        Item(**{**told, "number": f"1.{index}", "part": "one"}) for index, told in enumerate(values, start=1)
    )
    return Assignment(
        title="Toy",
        title_zh="Toy",
        version="1",
        package="toy",
        parts=(Part("one", "1", "Part one", "Part one", numbered),),
        files={"maths.py": 10_000},
        budgets=Budgets(),
        by_slug={one.slug: one for one in numbered},
    )


def case(slug: str, function: str, case_id: str = "", *, share: float = 1.0, hidden: bool = False) -> Case:
    """A test of an item, in ``test_maths.py``."""
    file = "hidden/test_maths.py" if hidden else "test_maths.py"
    return Case((file, function, case_id), slug, share, hidden, f"{function} holds")


def scored(told: Assignment, tests: Mapping[Case, Any]) -> dict[str, ItemScore]:
    """The rows, by slug. A test's outcome may be given by its state alone; PASSED then earns all."""
    outcomes = {
        test.key: outcome if isinstance(outcome, Outcome) else Outcome(outcome, float(outcome == scores.PASSED))
        for test, outcome in tests.items()
        if outcome != scores.NOT_RUN
    }
    return {row.item.slug: row for row in scores.score_items(told, tests, outcomes)}


# Whole runs: for the plugin.

TOY = """
[assignment]
title = "Toy"
title_zh = "Toy"
version = "1"
package = "toy"

[files]
"maths.py" = 10
"words.py" = 10

[[parts]]
slug = "one"
number = "1"
title = "Part one"
title_zh = "Part one"
items = [
    {slug = "total", title = "Totals", title_zh = "T", points = 4, file = "maths.py"},
    {slug = "scale", title = "Scaling", title_zh = "S", points = 3, file = "maths.py", needs = ["total"]},
    {slug = "greet", title = "Greetings", title_zh = "G", points = 2, file = "words.py"},
    {slug = "extra", title = "More", title_zh = "M", points = 1, file = "words.py", bonus = true},
]
"""
MATHS = '''
"""The student's sums."""


def total(numbers):
    return sum(numbers)


def scale(x, by):
    return x * by
'''
WORDS = '''
"""The student's words."""


def greet(name):
    return "hello " + name


def extra():
    return 1
'''
PREAMBLE = """
import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import (
    hide_errors, leaderboard, number, partial_credit, tags, visibility, weight,
)

from autograder.feedback import StudentError, item
"""


@dataclass
class Run:
    """What came out of a run of pytest.

    Attributes:
        code: pytest's exit code.
        text: what a student saw on the terminal.
        complaints: what stood on standard error.
        session: of the graded tests; None when pytest did not get that far.
        document: what results.json would hold.
        ran: the tests that ran, in their order.
        kept: students that were still there after their test.
    """

    code: int
    text: str
    complaints: str
    session: GradedSession | None
    document: dict[str, Any] | None
    ran: list[str]
    kept: list[object]

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """``test_name[case]`` -> outcome, of every test that ran."""
        assert self.session is not None
        return {self.session.cases[key].name: outcome for key, outcome in self.session.outcomes.items()}

    @property
    def states(self) -> dict[str, str]:
        """``test_name[case]`` -> state."""
        return {name: outcome.state for name, outcome in self.outcomes.items()}

    @property
    def only(self) -> Outcome:
        """The outcome of the one test that ran."""
        (outcome,) = self.outcomes.values()
        return outcome

    @property
    def rows(self) -> dict[str, ItemScore]:
        """Slug -> row."""
        assert self.session is not None
        return {row.item.slug: row for row in self.session.item_scores()}


class Project:
    """A small assignment in pytester's folder: toy/ (the student's), solved/toy/ (the reference) and tests/.

    Test files get the usual imports. Each run is in this process, with the plugin on and nothing else of ours.
    """

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester, self.root = pytester, pytester.path
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        monkeypatch.setattr("sys.dont_write_bytecode", True)  # a file that is rewritten within a second is read again
        self.write("assignment.toml", TOY)
        self.write("pytest.ini", "[pytest]\naddopts = --import-mode=importlib -p no:cacheprovider\n")
        for folder in ("toy", "solved/toy"):
            self.write(f"{folder}/__init__.py", "")
            self.write(f"{folder}/maths.py", MATHS)
            self.write(f"{folder}/words.py", WORDS)

    def write(self, name: str, text: str) -> Path:
        """A file, dedented."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def student(self, module: str, source: str) -> None:
        """Replace a module of the student's."""
        self.write(f"toy/{module}.py", source)

    def public(self, source: str, name: str = "test_toy.py") -> None:
        """A file of public tests."""
        self.write(f"tests/public/{name}", PREAMBLE + textwrap.dedent(source))

    def hidden(self, source: str, name: str = "test_toy.py") -> None:
        """A file of hidden tests."""
        self.write(f"tests/hidden/{name}", PREAMBLE + textwrap.dedent(source))

    def run(
        self,
        *arguments: str,
        paths: Sequence[str] = ("tests",),
        reference: str | None = "solved",
        secret: bytes | None = None,
        open_student: Callable[[Item], AbstractContextManager[Student]] | None = None,
    ) -> Run:
        """Run pytest on these paths, and check what came out against every rule of the platform."""
        catch = _Catch(secret, open_student)
        told = [*arguments, *(("--reference", reference) if reference else ()), *paths]
        done = self.pytester.runpytest_inprocess(*told, plugins=[catch, "autograder.feedback.plugin"])
        document = None
        if catch.session is not None:
            rows = catch.session.item_scores()
            document = results.document(rows, results.Heading(), catch.session.leaderboard, 0.0)
            check_document(self.root / "results.json", document, catch.session.assignment, rows)
        return Run(int(done.ret), done.stdout.str(), done.stderr.str(), catch.session, document, catch.ran, catch.kept)


class _Catch:
    """Takes the session out of pytest's config, and notes which tests ran and what was left of them."""

    def __init__(
        self, secret: bytes | None, open_student: Callable[[Item], AbstractContextManager[Student]] | None
    ) -> None:
        self.secret, self.open_student = secret, open_student
        self.session: GradedSession | None = None
        self.ran: list[str] = []
        self.kept: list[object] = []

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        self.session = config.stash[feedback.SESSION]
        self.session.secret = self.secret
        if self.open_student is not None:
            self.session.open_student = self.open_student

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":
            self.ran.append(report.nodeid.partition("::")[2])

    def pytest_runtest_logfinish(self) -> None:
        assert self.session is not None
        if self.session.current is not None:
            self.kept.append(self.session.current)


def check_document(path: Path, document: dict[str, Any], told: Assignment, rows: Sequence[ItemScore]) -> None:
    """What must hold of every results.json, whatever was graded."""
    assert gradescope.validate(document, told.points) == []
    assert "score" not in document
    assert [entry["extra_data"]["item"] for entry in document["tests"]] == [one.slug for one in told.items]
    for row, entry in zip(rows, document["tests"], strict=True):
        shares = sum(test.share for test, _ in row.cases)
        earned = sum(test.share * outcome.fraction for test, outcome in row.cases)
        expected = row.item.points * (1.0 if row.item.waived else earned / shares if shares else 0.0)
        assert entry["score"] == pytest.approx(expected, abs=0.0051)
        assert entry.get("status") in {"passed": ("passed",), "grader error": (None,), "not run": (None,)}.get(
            row.state, ("failed",)
        )
        for _, outcome in row.cases:
            assert 0 <= outcome.fraction <= 1
            assert (outcome.fraction == 1) >= (outcome.state == scores.PASSED)
            assert (outcome.fraction < 1) >= (outcome.state in (scores.FAILED, scores.NOT_STARTED, scores.LATE))
    results.write(path, document)
    assert strict(path) == document
    path.unlink()


def strict(path: Path) -> Any:
    """A JSON file, read as strictly as anybody may: no NaN, no Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{path} holds {name}")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """For test modules to import; they need ``pytest_plugins = ["pytester"]`` too."""
    return Project(pytester, monkeypatch)
