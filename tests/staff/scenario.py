"""Whole runs as data: a TOML file says what is handed in, what is changed in the small assignment, what must come out.

::

    about = "One plain sentence: what is true."
    stubs = true                 # start from the stubs, not from the solved package
    budgets = "call = 1"         # lines of the [budgets] table
    exit = 3                     # 3 when the grader itself fails; 0 by default
    says = ["text"]              # above the rows
    staff = ["text"]             # on standard output
    never = ["text"]             # in nothing that a student may read

    [submission]                 # file -> its text; "" leaves it out
    [home]                       # path below the small assignment -> its text

    [rows.double]                # one for each item
    score = 1.0
    state = "failed"
    status = "failed"            # "" for a row that has none; by default what the state says
    says = ["text"]              # in the row
    silent = ["text"]            # not in the row

Unknown keys, rows of unknown items and missing rows are refused: an expectation that nothing reads would prove nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from autograder.feedback.assignment import load_assignment
from tests.staff.runs import POCKET, SCENARIOS, Run, copy_home, run_and_read, write_submission

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Expected:
    """What one row must be."""

    score: float
    state: str
    status: str | None = None
    says: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """One whole run, and what must come out."""

    about: str
    rows: Mapping[str, Expected]
    stubs: bool = False
    budgets: str = ""
    exit: int = 0
    says: tuple[str, ...] = ()
    staff: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    submission: Mapping[str, str] = field(default_factory=dict)
    home: Mapping[str, str] = field(default_factory=dict)


def load(path: Path) -> Scenario:
    """Read a scenario. Raises ValueError for anything that is not understood."""
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    _refuse_unknown(raw, Scenario, path.name)
    if raw.get("exit", 0) not in (0, 3):
        raise ValueError(f"{path.name}: exit is 0 or 3")
    rows = {}
    for slug, row in raw["rows"].items():
        _refuse_unknown(row, Expected, f"{path.name}: {slug}")
        rows[slug] = Expected(**_tuples(row))
    items = [item.slug for item in load_assignment(POCKET / "assignment.toml").items]
    if list(rows) != items:
        raise ValueError(f"{path.name}: rows are {', '.join(rows)}; expected {', '.join(items)}")
    return Scenario(**{**_tuples(raw), "rows": rows})


def paths() -> list[Path]:
    """Every scenario."""
    return sorted(SCENARIOS.glob("*.toml"))


def play(scenario: Scenario, folder: Path) -> Run:
    """Grade what the scenario says, below an empty folder."""
    home = copy_home(folder / "home", changes=scenario.home, budgets=scenario.budgets)
    changes = {name: text or None for name, text in scenario.submission.items()}
    submission = write_submission(folder / "submission", home, changes, solved=not scenario.stubs)
    return run_and_read(submission, home)


def problems(scenario: Scenario, run: Run) -> list[str]:
    """Where a run is not what its scenario says."""
    found = []
    if run.failed != (scenario.exit == 3):
        found.append(f"the grader {'failed' if run.failed else 'did not fail'}: {run.staff}")
    for slug, expected in scenario.rows.items():
        row = run.rows[slug]
        status = expected.status if expected.status is not None else _status(expected.state)
        for name, got, want in (
            ("score", row.score, expected.score),
            ("state", row.state, expected.state),
            ("status", row.status, status),
        ):
            if got != want:
                found.append(f"{slug}: {name} is {got!r}, expected {want!r}: {row.output}")
        found += [f"{slug}: does not say {text!r}: {row.output}" for text in expected.says if text not in row.output]
        found += [f"{slug}: says {text!r}: {row.output}" for text in expected.silent if text in row.output]
    found += [f"above the rows: no {text!r}: {run.output}" for text in scenario.says if text not in run.output]
    found += [f"staff are not told {text!r}: {run.staff}" for text in scenario.staff if text not in run.staff]
    found += [f"students read {text!r}" for text in scenario.never if text in run.text]
    return found


def _status(state: str) -> str:
    return {"passed": "passed", "grader error": "", "not run": ""}.get(state, "failed")


def _tuples(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()}


def _refuse_unknown(raw: Mapping[str, Any], cls: Any, where: str) -> None:
    known = {entry.name for entry in fields(cls)}
    for name in raw:
        if name not in known:
            raise ValueError(f"{where}: unknown key {name!r}")
