"""Whole runs on a small assignment: one submission from its files to its results."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.staff import scenario


@pytest.mark.parametrize("path", scenario.paths(), ids=[path.stem for path in scenario.paths()])
def test_scenario(path: Path, tmp_path: Path) -> None:
    """Each scenario comes out as it says."""
    expected = scenario.load(path)
    problems = scenario.problems(expected, scenario.play(expected, tmp_path))
    assert not problems, "\n".join(problems)
