"""`autograder debug`: one item in this process, on the inputs of grading, with the student's lines in view."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.staff.runs import POCKET, own_temporary_folder, run_and_read, write_submission

SECRET = "a secret for tests of the debugger"
SAYS_WHAT_IT_SEES = """
def double(x):
    return 2 * x


def mean(values):
    total = sum(values)
    raise LookupError(f"seen {total!r}")


def span(values):
    return max(values) - min(values)
"""


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    return write_submission(tmp_path / "submission", POCKET, {"alpha.py": SAYS_WHAT_IT_SEES})


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(f"{SECRET}\n", encoding="utf-8")
    return path


def debug(*arguments: object, told: str | None = None, program: str = "from autograder.cli import main; main()") -> str:
    """What the command prints, when it did its work."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    given = {"stdin": subprocess.DEVNULL} if told is None else {"input": told}
    done = subprocess.run(command, capture_output=True, text=True, check=False, **given)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return str(done.stdout)


def test_shows_the_students_lines(submission: Path) -> None:
    """Without a terminal the failing line stands in the output, with its file and the values around it."""
    output = debug("--home", POCKET, "debug", submission, "--item", "mean")
    assert '>       raise LookupError(f"seen {total!r}")' in output
    assert re.search(r"/pocket/alpha\.py:8: LookupError", output)
    assert "values = [1, 2, 6]" in output
    assert "(Pdb)" not in output


def test_runs_one_item_only_public_and_hidden(submission: Path) -> None:
    """All tests of the item run, and none of another."""
    output = debug("--home", POCKET, "debug", submission, "--item", "1.2")
    assert set(re.findall(r"(\w+/test_alpha\.py::test_\w+)", output)) == {
        "public/test_alpha.py::test_mean_of_a_few",
        "hidden/test_alpha.py::test_mean_of_random_numbers",
        "hidden/test_alpha.py::test_mean_of_nothing",
    }


def test_hidden_inputs_are_those_of_grading(submission: Path, secret: Path) -> None:
    """With the term's secret a hidden test asks what it asked in grading, with another one something else."""
    seen = re.compile(r"LookupError: (seen 1\d\d\.\d+)")  # five numbers between 20 and 30
    outputs = [
        run_and_read(submission, POCKET, secret=SECRET.encode()).rows["mean"].output,
        debug("--home", POCKET, "debug", submission, "--item", "mean", "--secret", secret),
        debug("--home", POCKET, "debug", submission, "--item", "mean"),
    ]
    asked = [set(seen.findall(output)) for output in outputs]
    assert [len(numbers) for numbers in asked] == [1, 1, 1]
    assert asked[0] == asked[1]
    assert asked[0] != asked[2]


def test_debugger_stands_in_the_students_frame(submission: Path) -> None:
    """On a terminal a post-mortem opens where the student's code raised, once for each failing test."""
    program = (
        "import sys; from pathlib import Path; from autograder.debug import debug; "
        "sys.exit(debug(Path(sys.argv[1]), Path(sys.argv[2]), 'mean', interactive=True) - 1)"
    )
    output = debug(submission, POCKET, told="p total * 1000\nq\n" * 4, program=program)
    assert output.count("(Pdb)") == 8
    assert '-> raise LookupError(f"seen {total!r}")' in output
    assert "(Pdb) 9000" in output


def test_right_code_is_exit_0_and_leaves_nothing(tmp_path: Path) -> None:
    """Nothing to debug is no error; staged files are gone afterwards."""
    with own_temporary_folder() as folder:
        output = debug("--home", POCKET, "debug", POCKET / "solutions", "--item", "mean")
        assert list(folder.iterdir()) == []
    assert "all 4 checks pass" in output
