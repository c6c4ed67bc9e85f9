"""What was earned stays: through kills, a full disk, bugs of the grader, broken tests and a folder that goes away."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from autograder import results
from autograder.archive import Member, write_zip
from autograder.feedback import scores
from autograder.feedback.assignment import load_assignment
from autograder.grade import make_job, staged
from autograder.metadata import metadata
from autograder.session import FAULT, GRADER_FAILED
from autograder.simulate import simulate
from benchmarks.kill_the_grader import WITNESS
from tests.staff.runs import (
    POCKET,
    ROOT,
    children,
    command_line,
    copy_home,
    end_user,
    is_alive,
    own_temporary_folder,
    processes_of,
    read_file,
    user_of,
    wait_until,
    write_submission,
)
from tests.staff.test_entry import command_of, enter, hand_in, results_of, root
from tests.staff.test_session import HANGS_AT_ONCE, HANGS_IN_SPAN, HANGS_ON_VECTORS, outcomes

__all__ = ["root"]  # the fixture
SOLVED = {"double": 4.0, "mean": 3.0, "span": 2.0, "tally": 2.0, "commonest": 1.0}


def add_hidden_test(root: Path, text: str) -> None:
    (root / "source" / "tests" / "hidden" / "test_added.py").write_text(text, encoding="utf-8")


def only_results(root: Path) -> bool:
    """Whether results.json is all that lies in its folder."""
    return [path.name for path in (root / "results").iterdir()] == ["results.json"]


# --- killed -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alpha", "ended", "earned"),
    [
        pytest.param(HANGS_AT_ONCE, 0, {}, id="before-the-first-test-ends"),
        pytest.param(HANGS_ON_VECTORS, 2, {"double": 2.0}, id="after-the-second-test"),
        pytest.param(HANGS_IN_SPAN, 8, {"double": 4.0, "mean": 3.0}, id="after-the-eighth-test"),
    ],
)
def test_killed_on_the_platform(root: Path, alpha: str, ended: int, earned: dict[str, float]) -> None:
    """kill -9 of what run_autograder has become: the file is valid and holds what was earned, no worker goes on."""
    hand_in(root, alpha=alpha)
    path = root / "results" / "results.json"
    environment = {**os.environ, "AUTOGRADER_ROOT": str(root)}
    uid: int | None = None
    with subprocess.Popen(command_of(root), env=environment, cwd=root, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: path.is_file() and outcomes(read_file(path, root / "source")) == ended)
            zygote = wait_until(lambda: [p for p in children(process.pid) if b"zygote.py" in command_line(p)])[0]
            uid = user_of(zygote, threads=2)
            process.send_signal(signal.SIGKILL)
            process.wait()
            wait_until(lambda: not is_alive(zygote) and not processes_of(uid))
        finally:
            process.kill()
            if uid is not None:
                end_user(uid)
    run = results_of(root)
    assert run.scores == {**dict.fromkeys(SOLVED, 0.0), **earned}
    assert outcomes(run) == ended
    assert only_results(root)


def test_what_a_killed_run_left_half_written_is_removed_by_the_next(root: Path) -> None:
    """And nothing else: not that of a run that goes on, nor a file of somebody's."""
    dead = subprocess.Popen(["true"])
    dead.wait()
    folder = root / "results"
    kept = (f".results.json.{os.getpid()}.tmp", ".results.json.mine.tmp", "notes.tmp")
    for name in (f".results.json.{dead.pid}.tmp", *kept):
        (folder / name).touch()
    results.remove_unfinished(folder / "results.json")
    assert {path.name for path in folder.iterdir()} == set(kept)


# --- nowhere to write to ----------------------------------------------------------------------------------------

FILLS_THE_DISK = """
import resource
from autograder.feedback import item

HARD = resource.getrlimit(resource.RLIMIT_FSIZE)[1]


@item("span")
def test_fills_the_disk(student):
    \"\"\"Nothing of the student's.\"\"\"
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, HARD))


@item("commonest")
def test_makes_room(student):
    \"\"\"Nothing of the student's.\"\"\"
    if ROOM_AGAIN:
        resource.setrlimit(resource.RLIMIT_FSIZE, (HARD, HARD))
"""


def test_full_disk_leaves_the_last_whole_file(root: Path) -> None:
    """When nothing can be written the old file stays, instructors read why, and the exit code is 3."""
    add_hidden_test(root, f"ROOM_AGAIN = False\n{FILLS_THE_DISK}")
    hand_in(root)
    done = enter(root)
    assert done.returncode == GRADER_FAILED
    reason = f"cannot write {root / 'results' / 'results.json'}: File too large"
    assert f"FAULT OF THE GRADER: results.json lacks the end of this run: {reason}" in done.stdout
    run = results_of(root)
    assert (run.scores["double"], run.scores["mean"]) == (4, 3)
    assert run.states["tally"] == scores.NOT_RUN
    assert only_results(root)


def test_disk_that_was_full_for_a_while_costs_nothing(root: Path) -> None:
    """As when a worker's files have filled it: once they are gone all results are written."""
    add_hidden_test(root, f"ROOM_AGAIN = True\n{FILLS_THE_DISK}")
    hand_in(root)
    done = enter(root)
    assert done.returncode == 0, done.stdout
    assert results_of(root).scores == SOLVED
    assert only_results(root)


@pytest.mark.parametrize("come_back", [True, False], ids=["comes-back", "stays-away"])
def test_results_folder_that_goes_away(root: Path, come_back: bool) -> None:
    """A hidden test removes it: all results are there in the end, or instructors read that they are not."""
    test = f'''
import shutil
from pathlib import Path
from autograder.feedback import item


@item("mean")
def test_that_breaks_things(student):
    """Nothing of the student's."""
    folder = Path({str(root / "results")!r})
    shutil.rmtree(folder)
    if not {come_back}:
        folder.write_text("in the way")
'''
    add_hidden_test(root, test)
    hand_in(root)
    done = enter(root)
    if come_back:
        assert done.returncode == 0, done.stdout
        assert results_of(root).scores == SOLVED
        assert only_results(root)
    else:
        assert done.returncode == GRADER_FAILED
        assert "results.json lacks the end of this run: cannot write" in done.stdout


# --- bugs of ours -----------------------------------------------------------------------------------------------

BUG_IN_A_CHECK = """

_close = Check.close


def _planted(self, got, expected, what="the result", **more):
    if what == "the mean":
        raise KeyError("PLANTED")
    _close(self, got, expected, what, **more)


Check.close = _planted
"""
BUG_IN_A_HOOK = """

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if "span" in item.name:
        raise KeyError("PLANTED")


setattr(Isolated, "pytest_runtest_setup", staticmethod(pytest_runtest_setup))
"""
BUG_IN_THE_RECORD = """

_after_test = Isolated._after


def _planted(self, case, outcome):
    _after_test(self, case, outcome)
    if case.item == "span":
        raise KeyError("PLANTED")


Isolated._after = _planted
"""
BUG_IN_THE_DOCUMENT = """

_document = document


def document(rows, *arguments):
    if any(row.item.slug == "mean" and row.score for row in rows):
        raise KeyError("PLANTED")
    return _document(rows, *arguments)
"""


@pytest.mark.parametrize(
    ("file", "code", "broken", "lost"),
    [
        pytest.param("feedback/checks.py", BUG_IN_A_CHECK, {"mean"}, set(), id="check"),
        pytest.param("session.py", BUG_IN_A_HOOK, {"span"}, set(), id="hook"),
        pytest.param("session.py", BUG_IN_THE_RECORD, set(), {"span", "tally", "commonest"}, id="after-a-test"),
    ],
)
def test_bug_of_the_grader_costs_its_own_item_at_most(
    root: Path, file: str, code: str, broken: set[str], lost: set[str]
) -> None:
    """Items that it does not touch, or that came before, are in full; none is a zero that looks final; exit 3."""
    plant(root, file, code)
    hand_in(root)
    done = enter(root)
    assert done.returncode == GRADER_FAILED
    run = results_of(root)
    for slug, points in SOLVED.items():
        if slug not in broken | lost:
            assert (run.scores[slug], run.rows[slug].status) == (points, "passed")
        else:
            assert run.rows[slug].status == ""
    assert {slug for slug, state in run.states.items() if state == scores.GRADER_ERROR} == broken
    assert FAULT in run.output
    assert "PLANTED" in done.stdout
    assert "PLANTED" not in run.text
    assert only_results(root)


def test_bug_that_makes_no_document_keeps_the_last_one(root: Path) -> None:
    """Nothing can be recorded any more: what was stays as it was, and the run says that it failed."""
    plant(root, "results.py", BUG_IN_THE_DOCUMENT)
    hand_in(root)
    done = enter(root)
    assert done.returncode == GRADER_FAILED
    assert "PLANTED" in done.stdout
    run = results_of(root)
    assert run.scores == {**dict.fromkeys(SOLVED, 0.0), "double": 4.0}
    assert only_results(root)


def plant(root: Path, file: str, code: str) -> None:
    """Add a bug to the end of a module of the unpacked engine."""
    path = root / "source" / "autograder" / file
    text = path.read_text(encoding="utf-8")
    main = text.rfind('\nif __name__ == "__main__":')
    path.write_text(text + code if main < 0 else text[:main] + code + text[main:], encoding="utf-8")


# --- broken hidden tests ----------------------------------------------------------------------------------------

ENDS: dict[str, str] = {
    "raises": "undefined_name",
    "exits": "raise SystemExit(0)",
    "asks-pytest-to-exit": "pytest.exit('enough', returncode=0)",
    "interrupts": "raise KeyboardInterrupt",
    "recurses": "def again(n): return again(n + 1)\n    again(0)",
}


@pytest.mark.parametrize("does", ENDS.values(), ids=ENDS)
def test_broken_hidden_test_costs_nothing_that_was_earned(root: Path, does: str) -> None:
    """Whatever it does to its process, items before it are full, no row is a final zero by it, and staff are told."""
    test = f'''
import pytest
from autograder.feedback import item


@pytest.fixture
def broken():
    {does}


@item("span")
def test_broken(student, broken):
    """Nothing of the student's."""
'''
    add_hidden_test(root, test)
    hand_in(root)
    done = enter(root)
    assert done.returncode == GRADER_FAILED, done.stdout
    run = results_of(root)
    assert (run.scores["double"], run.scores["mean"]) == (4, 3)
    assert run.rows["span"].status == ""
    for slug in ("tally", "commonest"):
        assert run.rows[slug].status == ("passed" if run.scores[slug] else "")
    assert FAULT in run.output
    assert only_results(root)


def test_hidden_test_that_never_ends_costs_its_own_item_at_most(root: Path) -> None:
    """Calls have deadlines; a loop of the test's own is ended too, as a fault of ours; the other items are in full."""
    test = '''
from autograder.feedback import item


@item("mean")
def test_endless(student):
    """Nothing of the student's."""
    while True:
        pass
'''
    add_hidden_test(root, test)
    path = root / "source" / "autograder" / "session.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("item + SPARE_SECONDS", "item / 10"), encoding="utf-8")  # of 40 s
    hand_in(root)
    done = enter(root)
    assert done.returncode == GRADER_FAILED
    run = results_of(root)
    for slug in SOLVED.keys() - {"mean"}:
        assert run.scores[slug] == SOLVED[slug]
    assert run.states["mean"] == scores.GRADER_ERROR
    assert "the test itself did not end within 4 s" in done.stdout
    assert only_results(root)


# --- the platform's own limit -----------------------------------------------------------------------------------

SETUP = f"""#!/usr/bin/env bash
set -eu
mkdir -p "$AUTOGRADER_ROOT/venv/bin"
printf '#!/bin/sh\\nexec {sys.executable} "$@"\\n' >"$AUTOGRADER_ROOT/venv/bin/python"
chmod 755 "$AUTOGRADER_ROOT/venv/bin/python"
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that workers can pass through."""
    with own_temporary_folder() as place:
        yield place


def zip_of(folder: Path, budgets: str) -> Path:
    """The autograder zip of the small assignment, whose Python is the one that runs this test."""
    home = copy_home(folder / "home", budgets=budgets)
    shutil.copytree(ROOT / "autograder", home / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
    members = {
        str(path.relative_to(home)): Member(path.read_bytes()) for path in sorted(home.rglob("*")) if path.is_file()
    }
    members["setup.sh"] = Member(SETUP.encode(), 0o755)
    members["run_autograder"] = Member((ROOT / "run_autograder").read_bytes(), 0o755)
    members["secret"] = Member(b"a secret for this test alone")
    write_zip(folder / "autograder.zip", members)
    return folder / "autograder.zip"


def test_the_platforms_limit_overwrites_everything(folder: Path) -> None:
    """Only run_autograder itself is killed, all that was earned is lost, and yet nothing of the run goes on."""
    archive = zip_of(folder, "call = 100\ntest = 100\nitem = 100\nrun = 100")
    submission = write_submission(folder / "submission", POCKET, {"alpha.py": HANGS_ON_VECTORS})
    done = simulate(submission, archive, metadata=metadata(points=12), cache=folder / "cache", timeout=3)
    assert (done.outcome, done.score, done.rows, done.status) == ("timed_out", 0.0, (), -signal.SIGKILL)
    assert done.message == "Your submission timed out. It took longer than 3 seconds to run."
    cache = str(folder / "cache").encode()
    wait_until(lambda: not any(cache in command_line(int(pid)) for pid in os.listdir("/proc") if pid.isdigit()))


def test_our_own_limit_comes_before_it(folder: Path) -> None:
    """The run's budget ends a hang in time: what was earned is posted, and the rest says that it was not run."""
    archive = zip_of(folder, "call = 8\ntest = 8\nitem = 8\nrun = 8")
    submission = write_submission(folder / "submission", POCKET, {"alpha.py": HANGS_IN_SPAN})
    done = simulate(submission, archive, metadata=metadata(points=12), cache=folder / "cache", timeout=60)
    assert (done.outcome, done.status, done.problems) == ("posted", 0, ()), done.stdout
    assert {row.name: row.score for row in done.rows[:2]} == {"Doubling": 4, "The mean": 3}
    assert done.document is not None
    rest = [row["output"] for row in done.document["tests"][2:]]
    assert all("the time for the whole run (8 s) was used up" in text for text in rest), rest


# --- at random moments ------------------------------------------------------------------------------------------


def test_killed_at_random_moments() -> None:
    """The short form of the command: entry, session, host and zygote by turns, on the small assignment."""
    command = [sys.executable, "-m", "benchmarks.kill_the_grader", "--rounds", "5", "--home", str(POCKET)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("5 kills (2 entry, 1 session, 1 host, 1 zygote): 0 off\n")


def test_shuffled_tests_give_the_same() -> None:
    """The short form of the command: three orders on the small assignment, with a mistake in it."""
    command = [sys.executable, "-m", "benchmarks.shuffle", "--rounds", "3", "--home", str(POCKET)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "with mistakes: double-adds-two\n" in done.stdout
    assert done.stdout.endswith("3 shuffled gradings: 0 off\n")


def test_shuffled_tests_do_run_in_another_order(tmp_path: Path) -> None:
    """What the witness sees differs, and is the same for one seed."""
    assignment = load_assignment(POCKET / "assignment.toml")
    submission = write_submission(tmp_path / "submission", POCKET)

    def order(shuffle: int | None) -> list[str]:
        with own_temporary_folder(), staged(submission, POCKET, assignment) as (staging, taken):
            job = make_job(assignment, POCKET, staging, taken, staging / "results.json")
            job = msgspec.structs.replace(job, shuffle=shuffle)
            command = [sys.executable, "-I", "-B", str(WITNESS), str(ROOT), str(tmp_path / "witness"), "host"]
            subprocess.run(command, input=msgspec.json.encode(job) + b"\n", capture_output=True, check=True)
        told = (tmp_path / "witness").read_text(encoding="utf-8").splitlines()
        (tmp_path / "witness").unlink()
        return [json.loads(line)["test"] for line in told]

    own, first, again = order(None), order(1), order(1)
    assert first == again != own
    assert sorted(first) == sorted(own)


def test_costs_are_printed() -> None:
    """The short form of the command that measures: every figure is there, and torch never in the trusted process."""
    command = [sys.executable, "-m", "benchmarks.grading", "--no-torch", "--home", str(POCKET)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(
        r"^worker with numpy: [\d.]+ \([\d.]+ to [\d.]+\) ms; a call: [\d.]+ \(", done.stdout, re.MULTILINE
    )
    costs = re.findall(
        r"s, processor [\d.]+ s, memory (\d+) MB .*; 12 points, .*trusted process: no$", done.stdout, re.M
    )
    assert len(costs) == 2
    assert all(int(cost) > 20 for cost in costs)
