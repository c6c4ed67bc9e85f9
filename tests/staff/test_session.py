"""A session that is cut short: what was earned is in results.json, and nothing of it goes on running."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from autograder.feedback import scores
from autograder.session import FAULT, GRADER_FAILED
from tests.staff.runs import (
    Run,
    copy_home,
    is_alive,
    processes_of,
    read_file,
    started,
    wait_until,
    write_submission,
)

ENDLESS = "call = 100\ntest = 100\nitem = 100\nrun = 100"

# Each tries to start a process that leaves the worker's session, then never returns.
HANGS = """
import os
import signal
import threading


def hang():
    try:
        if os.fork() == 0:  # where the kernel lets it: nothing may be left of this either
            os.setsid()
            signal.pause()
    except PermissionError:
        pass
    threading.Thread(target=threading.Event().wait, daemon=True).start()  # shows that it got here
    while True:
        signal.pause()
"""
HANGS_AT_ONCE = f"""{HANGS}

def double(x):
    hang()
"""
HANGS_ON_VECTORS = f"""{HANGS}

def double(x):
    if getattr(x, "shape", ()) == (3,):
        hang()
    return 2 * x
"""
LOOPS_IN_SPAN = """
def double(x):
    return 2 * x


def mean(values):
    if not values:
        raise ValueError("none")
    return sum(values) / len(values)


def span(values):
    while True:
        pass
"""
HANGS_IN_SPAN = HANGS + LOOPS_IN_SPAN.replace("while True:\n        pass", "hang()")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small assignment, with time for every hang."""
    return copy_home(tmp_path_factory.mktemp("endless") / "home", budgets=ENDLESS)


def run_of(home: Path, folder: Path, alpha: str) -> Path:
    return write_submission(folder / "submission", home, {"alpha.py": alpha})


def outcomes(run: Run) -> int:
    """How many tests have ended."""
    return sum(state != scores.NOT_RUN for state in run.tests.values())


def test_results_hold_every_item_before_the_first_test(home: Path, tmp_path: Path) -> None:
    """The first results.json that there is holds a valid row for every item, none of them a zero that looks final."""
    submission = run_of(home, tmp_path, HANGS_AT_ONCE)
    with started(submission, home, tmp_path / "results.json") as session:
        first = session.wait_for(lambda run: True)
    assert outcomes(first) == 0
    assert set(first.states.values()) == {scores.NOT_RUN}
    assert {row.status for row in first.rows.values()} == {""}


@pytest.mark.parametrize(
    ("alpha", "ended", "earned"),
    [
        pytest.param(HANGS_AT_ONCE, 0, {"double": 0.0}, id="before-the-first-test-ends"),
        pytest.param(HANGS_ON_VECTORS, 2, {"double": 2.0}, id="after-the-second-test"),
        pytest.param(HANGS_IN_SPAN, 8, {"double": 4.0, "mean": 3.0}, id="after-the-eighth-test"),
    ],
)
def test_killed_session_leaves_what_was_earned_and_no_process(
    home: Path, tmp_path: Path, alpha: str, ended: int, earned: dict[str, float]
) -> None:
    """kill -9: the file is valid, with every item and what was earned; nothing of the worker's user is left."""
    submission = run_of(home, tmp_path, alpha)
    with started(submission, home, tmp_path / "results.json") as session:
        session.wait_for(lambda run: outcomes(run) == ended)
        zygote, uid = session.zygote, session.user(threads=2)
        os.kill(session.pid, signal.SIGKILL)
        assert session.answer().code == -signal.SIGKILL
        run = read_file(session.results, home)
        wait_until(lambda: not processes_of(uid))
        assert is_alive(zygote)  # it is the host's, for the next job
    assert outcomes(run) == ended
    assert run.scores == {**dict.fromkeys(run.scores, 0.0), **earned}
    for row in run.rows.values():
        assert row.status == ("passed" if row.score == row.most else "")


def test_killed_host_takes_everything_with_it(home: Path, tmp_path: Path) -> None:
    """kill -9 of the host, as a cancelled audit or a lost terminal does: session, zygote and workers end too."""
    submission = run_of(home, tmp_path, HANGS_AT_ONCE)
    with started(submission, home, tmp_path / "results.json") as session:
        mine = session.pid, session.zygote
        uid = session.user(threads=2)
        session.host.kill()
        wait_until(lambda: not processes_of(uid) and not any(map(is_alive, mine)))
        assert set(read_file(session.results, home).states.values()) == {scores.NOT_RUN}


def test_killed_zygote_is_a_fault_of_ours(home: Path, tmp_path: Path) -> None:
    """The tests that a dead zygote costs are grader errors; what was earned stays, and the session ends with 3."""
    submission = run_of(home, tmp_path, LOOPS_IN_SPAN)
    with started(submission, home, tmp_path / "results.json") as session:
        session.wait_for(lambda run: outcomes(run) == 8)
        uid = session.user()
        os.kill(session.zygote, signal.SIGKILL)
        assert session.answer().code == GRADER_FAILED
        run = read_file(session.results, home)
        wait_until(lambda: not processes_of(uid))
    assert FAULT in run.output
    assert run.states == {
        "double": scores.PASSED,
        "mean": scores.PASSED,
        "span": scores.GRADER_ERROR,
        "tally": scores.GRADER_ERROR,
        "commonest": scores.GRADER_ERROR,
    }
    assert [row.status for row in run.rows.values()] == ["passed", "passed", "", "", ""]
    assert run.total == 7.0
    assert "zygote" not in run.text
