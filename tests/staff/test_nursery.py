"""Zygotes that outlive a job, and the given files that they import for their workers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.grade import grade
from autograder.host import Host
from tests.staff.runs import POCKET, children, command_line, copy_home, is_alive, wait_until, write_submission


@pytest.fixture
def host() -> Iterator[Host]:
    started = Host()
    yield started
    started.close()


def zygotes(host: Host) -> list[int]:
    assert host._process is not None
    return [pid for pid in children(host._process.pid) if b"zygote.py" in command_line(pid)]


def run(host: Host, submission: Path, home: Path = POCKET) -> dict[str, float]:
    graded = grade(submission, home, host=host)
    assert not graded.failed, graded.staff
    return graded.scores


def test_the_next_job_has_the_same_zygote(host: Host, tmp_path: Path) -> None:
    """And it ends with its host."""
    submission = write_submission(tmp_path / "s", POCKET)
    first = run(host, submission)
    before = zygotes(host)
    assert run(host, submission) == first
    assert zygotes(host) == before
    assert len(before) == 1
    host.close()
    wait_until(lambda: not is_alive(before[0]))


def test_a_dead_zygote_is_replaced(host: Host, tmp_path: Path) -> None:
    """It costs the next job nothing."""
    submission = write_submission(tmp_path / "s", POCKET)
    first = run(host, submission)
    (dead,) = zygotes(host)
    os.kill(dead, signal.SIGKILL)
    wait_until(lambda: not is_alive(dead))
    assert run(host, submission) == first


def test_other_given_files_get_another_zygote(host: Host, tmp_path: Path) -> None:
    """What a worker has imported is what lies there now."""
    submission = write_submission(tmp_path / "s", POCKET)
    run(host, submission)
    before = zygotes(host)
    text = (POCKET / "solutions" / "pocket" / "given.py").read_text(encoding="utf-8")
    home = copy_home(tmp_path / "home", changes={"solutions/pocket/given.py": f"{text}\nimport math\n"})
    run(host, submission, home)
    assert zygotes(host) != before


def test_students_files_are_imported_in_workers_only(host: Host, tmp_path: Path) -> None:
    """Also by a given file that imports one: whoever runs it is confined."""
    given = "from .alpha import double\n\n\ndef total(values):\n    return sum(values)\n"
    home = copy_home(tmp_path / "home", changes={"solutions/pocket/late.py": given})
    told = tmp_path / "told"
    text = (home / "solutions" / "pocket" / "alpha.py").read_text(encoding="utf-8")
    spy = f"import os\n\ntry:\n    open({str(told)!r}, 'a').write(str(os.getuid()))\nexcept OSError:\n    pass\n"
    submission = write_submission(tmp_path / "s", home, {"alpha.py": f"{text}\n\n{spy}"})
    scores = run(host, submission, home)
    assert scores["double"] == 4.0
    assert not told.exists()  # in the zygote, which is root's, it could have been written


def test_given_code_is_named_as_the_students_see_it(host: Host, tmp_path: Path) -> None:
    """An error inside a given function: its frame is the package's, not that of a folder of ours."""
    home = copy_home(tmp_path / "home")
    text = (home / "solutions" / "pocket" / "alpha.py").read_text(encoding="utf-8")
    submission = write_submission(tmp_path / "s", home, {"alpha.py": text.replace("total(values)", "total(7)")})
    graded = grade(submission, home, host=host, items=["mean"])
    row = next(row for row in graded.results["tests"] if row["extra_data"]["item"] == "mean")
    assert "pocket/given.py" in row["output"]
    assert "autograder-" not in row["output"]
