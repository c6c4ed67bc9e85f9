"""What run_autograder calls: an unpacked zip in a root of its own, from an upload to results.json."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.feedback import scores
from autograder.session import FAULT
from tests.staff import scenario
from tests.staff.runs import (
    POCKET,
    ROOT,
    SCENARIOS,
    Run,
    children,
    command_line,
    copy_home,
    end_user,
    is_alive,
    own_temporary_folder,
    processes_of,
    read_file,
    run_and_read,
    user_of,
    wait_until,
    write_submission,
)
from tests.staff.test_grade import HALF_DONE, SECRET, about_tests
from tests.staff.test_session import HANGS_AT_ONCE


@pytest.fixture
def root() -> Iterator[Path]:
    """$AUTOGRADER_ROOT with the unpacked zip and an empty upload."""
    with own_temporary_folder() as folder:
        place = folder / "autograder"
        source = copy_home(place / "source")
        shutil.copytree(ROOT / "autograder", source / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
        (place / "submission").mkdir()
        (place / "results").mkdir()
        yield place


def command_of(root: Path) -> list[str]:
    return [sys.executable, "-I", "-B", str(root / "source" / "autograder" / "entry.py")]


def enter(root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it as run_autograder does."""
    return subprocess.run(
        command_of(root),
        env={**os.environ, "AUTOGRADER_ROOT": str(root), **environment},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


def results_of(root: Path) -> Run:
    return read_file(root / "results" / "results.json", root / "source")


def hand_in(root: Path, **changes: str) -> None:
    """Put a submission's files where the platform puts them: side by side."""
    shutil.rmtree(root / "submission")
    folder = write_submission(root.parent / "upload", POCKET, {f"{name}.py": text for name, text in changes.items()})
    (folder / "pocket").rename(root / "submission")
    folder.rmdir()


def test_upload_is_graded_like_at_home(root: Path) -> None:
    """Scores and what staff read are those of `autograder grade`; exit 0 whatever the score."""
    hand_in(root, alpha=HALF_DONE["alpha.py"], beta=HALF_DONE["beta.py"])
    done = enter(root)
    assert (done.returncode, done.stderr) == (0, "")
    home = run_and_read(write_submission(root.parent / "home", POCKET, dict(HALF_DONE)), POCKET)
    there = results_of(root)
    assert there.rows == home.rows
    assert there.scores["span"] == 2
    assert [line for line in done.stdout.splitlines() if line in about_tests(home)] == about_tests(home)
    assert list(root.joinpath("results").iterdir()) == [root / "results" / "results.json"]
    ours = (entry.name for entry in root.parent.iterdir() if not entry.name.startswith("autograder-host-"))  # it lives
    assert sorted(ours) == ["autograder", "home"]


def test_secret_of_the_zip_is_used(root: Path) -> None:
    """Hidden inputs are drawn from the file ``secret`` beside the tests."""
    (root / "source" / "secret").write_bytes(SECRET)
    hand_in(root, alpha=HALF_DONE["alpha.py"], beta=HALF_DONE["beta.py"])
    told = enter(root).stdout
    home = run_and_read(write_submission(root.parent / "home", POCKET, dict(HALF_DONE)), POCKET, secret=SECRET)
    lines = [line for line in about_tests(home) if "hidden/" in line]
    assert lines
    assert [line for line in told.splitlines() if line in lines] == lines
    assert SECRET.decode() not in told


@pytest.mark.parametrize(
    ("files", "says"),
    [
        pytest.param({}, "Nothing could be taken from the upload: nothing inside.", id="empty"),
        pytest.param({"essay.pdf": b"%PDF-1.7"}, "Received 0 of 2 files.", id="another-file"),
        pytest.param({"Alpha.PY": b"x = 1\n"}, "alpha.py is missing; is it 'Alpha.PY'?", id="another-name"),
    ],
)
def test_wrong_upload_gets_rows_that_say_so(root: Path, files: dict[str, bytes], says: str) -> None:
    """Whoever uploads the wrong thing reads why each item has no points; the run itself is well."""
    for name, content in files.items():
        (root / "submission" / name).write_bytes(content)
    done = enter(root)
    assert (done.returncode, done.stderr) == (0, "")
    run = results_of(root)
    assert run.total == 0
    assert says in run.output
    assert set(run.states.values()) == {scores.CANNOT_IMPORT}
    for row in run.rows.values():
        assert re.fullmatch(r"(alpha|beta)\.py was not handed in", row.output)


def test_fault_of_ours_is_exit_3_with_results(root: Path) -> None:
    """The platform is told that the grader failed; what was earned is there."""
    told = scenario.load(SCENARIOS / "fault-in-a-fixture.toml")
    for path, text in told.home.items():
        (root / "source" / path).write_text(text, encoding="utf-8")
    hand_in(root)
    done = enter(root)
    assert done.returncode == 3
    assert FAULT in results_of(root).output
    assert "undefined_helper" in done.stdout


@pytest.mark.parametrize(
    ("path", "text", "environment", "complaint"),
    [
        pytest.param("assignment.toml", "[assignment", {}, "assignment.toml", id="broken-assignment"),
        pytest.param("secret", "short", {}, "a secret has 16 to 4096 bytes", id="short-secret"),
        pytest.param("x", "", {"AUTOGRADER_MINIMUM_RUNG": "nine"}, "AUTOGRADER_MINIMUM_RUNG is one of", id="no-rung"),
    ],
)
def test_zip_that_cannot_grade_leaves_no_score(
    root: Path, path: str, text: str, environment: dict[str, str], complaint: str
) -> None:
    """Exit 3, one line for instructors, and no results.json that somebody could take for a score."""
    (root / "source" / path).write_text(text, encoding="utf-8")
    hand_in(root)
    done = enter(root, **environment)
    assert done.returncode == 3
    (line,) = done.stdout.splitlines()
    assert line.startswith("the autograder cannot run: ")
    assert complaint in line
    assert list((root / "results").iterdir()) == []


def test_missing_results_folder_is_made_private(root: Path) -> None:
    """Where nobody made results/, we do, closed to workers."""
    (root / "results").rmdir()
    hand_in(root)
    assert enter(root).returncode == 0
    assert stat.S_IMODE((root / "results").stat().st_mode) == 0o700
    assert results_of(root).total == 12


def test_killed_run_leaves_results_and_no_worker(root: Path) -> None:
    """At the platform's limit run_autograder is killed: every item is in the file, no worker goes on."""
    hand_in(root, alpha=HANGS_AT_ONCE)
    environment = {**os.environ, "AUTOGRADER_ROOT": str(root)}
    pipe = subprocess.DEVNULL
    uid: int | None = None
    with subprocess.Popen(command_of(root), env=environment, cwd=root, stdout=pipe, stderr=pipe) as process:
        try:
            zygote = wait_until(lambda: [p for p in children(process.pid) if b"zygote.py" in command_line(p)])[0]
            wait_until(lambda: (root / "results" / "results.json").is_file())
            uid = user_of(zygote, threads=2)
            process.send_signal(signal.SIGKILL)
            process.wait()
            wait_until(lambda: not is_alive(zygote) and not processes_of(uid))
        finally:
            process.kill()
            if uid is not None:
                end_user(uid)
    run = results_of(root)
    assert set(run.states.values()) == {scores.NOT_RUN}
    assert {row.status for row in run.rows.values()} == {""}
