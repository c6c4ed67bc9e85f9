"""run_autograder, the script at the root of the zip: what it starts, and what it says when it cannot."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "run_autograder"
REPORT = '#!/bin/sh\numask\nprintf "%s\\n" "$AUTOGRADER_ROOT" "$@"\nexit 7\n'


@pytest.fixture
def root(tmp_path):
    """The platform's folder: a copy of the script, a Python that reports how it was called, and an entry."""
    for name in ("source/autograder", "venv/bin", "results"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path)
    (tmp_path / "venv/bin/python").write_text(REPORT)
    (tmp_path / "venv/bin/python").chmod(0o755)
    (tmp_path / "source/autograder/entry.py").write_text("")
    (tmp_path / "results/results.json").write_text("{}")
    return tmp_path


def run(root: Path) -> subprocess.CompletedProcess[str]:
    """The script as the platform starts it, but for the place."""
    environment = {**os.environ, "AUTOGRADER_ROOT": str(root)}
    return subprocess.run(
        [str(root / "run_autograder")], cwd=root, env=environment, capture_output=True, text=True, check=False
    )


def test_it_starts_the_entry_isolated_and_hands_on_its_exit_code(root):
    """No user site, no bytecode, and files that only root can read."""
    done = run(root)
    assert done.stdout.split("\n")[:-1] == ["0077", str(root), "-I", "-B", str(root / "source/autograder/entry.py")]
    assert done.returncode == 7


@pytest.mark.parametrize("missing", ["venv/bin/python", "source/autograder/entry.py"], ids=["python", "entry"])
def test_a_grader_that_cannot_start_is_no_score(root, missing):
    """One line for staff on stdout, a failure, and no results.json, not even an old one."""
    (root / missing).unlink()
    done = run(root)
    assert done.returncode == 3
    assert done.stdout.count("\n") == 1
    assert str(root / missing) in done.stdout
    assert done.stderr == ""
    assert not (root / "results/results.json").exists()


def test_the_script_is_executable_with_lf_line_ends():
    """Whatever system it was checked out on."""
    assert stat.S_IMODE(SCRIPT.stat().st_mode) & 0o111 == 0o111
    assert b"\r" not in SCRIPT.read_bytes()
