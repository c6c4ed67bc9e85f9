"""Regrades of a class that are killed in the middle come to the same journal, whoever dies."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.staff.runs import ROOT


@pytest.mark.parametrize("victim", ["run", "session", "zygote", "worker", "scheduler"])
def test_a_killed_regrade_comes_to_the_same_end(victim: str) -> None:
    """Nothing is lost, nothing stands in the journal twice, no process is left. The moment of the kill is drawn."""
    command = [sys.executable, "-m", "benchmarks.kill_the_regrade", "--rounds", "1", "--victim", victim]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(": 0 off\n")
