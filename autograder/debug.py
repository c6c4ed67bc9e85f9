"""One item inline, with everything shown and a debugger at the failure: for staff, on code they have read.

The student's code runs in this process with our rights. The inputs are those of grading.
"""

from __future__ import annotations

import os
import pdb
import sys
from pathlib import Path

import pytest

from .feedback import plugin as feedback
from .feedback.assignment import load_assignment
from .feedback.errors import StudentError
from .grade import staged
from .secret import secret_of
from .variants import home_of


class Debugger:
    """A pytest plugin: hidden inputs as in grading, and a post-mortem in the student's frame."""

    def __init__(self, secret: bytes, interactive: bool) -> None:
        self._secret, self._interactive = secret, interactive

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[feedback.SESSION].secret = self._secret

    def pytest_exception_interact(self, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
        if not self._interactive or call.excinfo is None:
            return
        error = call.excinfo.value
        cause = error.__cause__ if isinstance(error, StudentError) and error.__cause__ is not None else error
        sys.stdout.write(f"\n{report.nodeid}: {type(cause).__name__}: {cause}\n")
        pdb.post_mortem(cause.__traceback__)


def debug(submission: Path, home: Path, item: str, *, secret: bytes | None = None, interactive: bool = True) -> int:
    """Run one item's tests inline; returns pytest's exit code.

    Raises:
        InputError: the submission or the home is unusable, or there is no such item.
    """
    assignment = load_assignment(home / "assignment.toml")
    feedback.find_item(assignment, item)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    secret = secret or secret_of(home)
    with home_of(home, assignment, secret) as home, staged(submission, home, assignment) as (staging, _):
        arguments = ["-c", os.devnull, "--rootdir", str(home), "--noconftest", "-p", "no:cacheprovider", "-v", "-s"]
        arguments += ["-p", "autograder.feedback.plugin", "--import-mode=importlib", "--tb=long", "--item", item]
        arguments += ["-o", f"assignment={home / 'assignment.toml'}", "--submission", str(staging / "submission")]
        arguments += ["--reference", str(home / "solutions"), str(home / "tests/public"), str(home / "tests/hidden")]
        return int(pytest.main(arguments, plugins=[Debugger(secret, interactive)]))
