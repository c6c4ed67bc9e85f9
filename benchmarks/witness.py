"""A grader that also tells somebody else which tests have ended: results.json alone cannot prove that it is complete.

As a program (``python -I -B witness.py PARENT FILE entry|host``) it is that program of the engine in the folder PARENT,
and appends a line of JSON to FILE after each test, once the grader has done all it does about the test.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])

import json
import os
import runpy
from pathlib import Path
from typing import Any

from autograder import session
from autograder.feedback.scores import Case, Outcome


def watch(path: Path) -> None:
    """Let every session of this process, and of its forks, append what has ended to a file."""
    report = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    configure = session.Isolated.pytest_configure

    def after(case: Case, outcome: Outcome) -> None:
        told = {"item": case.item, "test": f"{case.key[0]}::{case.name}", "state": outcome.state}
        os.write(report, json.dumps(told).encode() + b"\n")  # one small write: a kill leaves it whole or not begun

    def pytest_configure(self: session.Isolated, config: Any) -> None:
        configure(self, config)
        assert self.graded is not None
        self.graded.listeners.append(after)  # the last: after results.json

    pytest_configure.__dict__.update(configure.__dict__)  # what pytest's decorator has noted
    session.Isolated.pytest_configure = pytest_configure  # type: ignore[method-assign]


if __name__ == "__main__":
    parent, file, program = sys.argv[1:4]
    watch(Path(file))
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.argv[1:] = [parent]  # as it would be called
    runpy.run_path(str(Path(parent) / "autograder" / f"{program}.py"), run_name="__main__")
