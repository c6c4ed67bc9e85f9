"""Running an autograder zip as the platform does, with tiny zips whose scripts do one thing each."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from autograder import image, simulate
from autograder.archive import Member, write_zip
from autograder.build import autograder_members
from autograder.cli import main
from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import InputError
from autograder.image import ImageError
from autograder.metadata import VARIANTS, metadata
from autograder.simulate import Simulated, simulate_home

ROOT = Path(__file__).parents[2]
SETUP = '#!/usr/bin/env bash\nset -e\nmkdir -p "$AUTOGRADER_ROOT/venv"\necho ran >>"$AUTOGRADER_ROOT/../../setups"\n'
ROW = {"name": "a", "number": "1", "score": 2.0, "max_score": 3.0}
RESULTS = {"tests": [ROW]}
SAY_RESULTS = f"cat >results/results.json <<'END'\n{json.dumps(RESULTS)}\nEND\n"

Run = Callable[..., Simulated]


def make_archive(path: Path, run: str = SAY_RESULTS, setup: str = SETUP, **more: str) -> Path:
    """An autograder zip whose run_autograder does ``run``; ``more`` members by name."""
    members = {name: Member(content.encode()) for name, content in more.items()}
    members["setup.sh"] = Member(setup.encode(), 0o755)
    members["run_autograder"] = Member(f"#!/usr/bin/env bash\n{run}".encode(), 0o755)
    return write(path, members)


def write(path: Path, members: Mapping[str, Member]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, member in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFREG | member.mode) << 16
            archive.writestr(info, member.content)
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / "ngram.py").write_bytes(b"x = 1\r\n")
    return folder


@pytest.fixture
def running(tmp_path: Path, cache: Path, submission: Path) -> Run:
    """Simulates a submission with an archive whose run_autograder does what is given."""

    def run(script: str = SAY_RESULTS, submission: Path = submission, **options: Any) -> Simulated:
        archive = make_archive(tmp_path / "autograder.zip", script)
        return simulate.simulate(submission, archive, metadata=metadata(points=3), cache=cache, **options)

    return run


def setups(cache: Path) -> int:
    """How often setup.sh has run."""
    log = cache / "setups"
    return log.read_text().count("ran") if log.exists() else 0


# --- a run ------------------------------------------------------------------------------------------------------


def test_results_are_what_run_autograder_wrote(running: Run) -> None:
    """Rows, total, output for staff and exit status come back, without a problem."""
    done = running(SAY_RESULTS + "echo for staff; echo and errors >&2\n")
    assert (done.outcome, done.score, done.max_score, done.status) == ("posted", 2.0, 3.0, 0)
    assert [(row.number, row.name, row.status) for row in done.rows] == [("1", "a", "failed")]
    assert (done.stdout, done.problems, done.left_out) == ("for staff\nand errors\n", (), ())
    assert done.document == RESULTS
    assert not done.failed


def test_the_run_finds_the_platforms_layout(running: Run, cache: Path) -> None:
    """cwd is AUTOGRADER_ROOT, run_autograder a copy beside source/, results/ empty, the metadata there, no input."""
    done = running(
        'test "$PWD" = "$AUTOGRADER_ROOT" || echo "cwd is $PWD"\n'
        'test "$(dirname "$0")" = . || echo "started as $0"\n'
        "ls -d * source/* submission/*; ls -A results\n"
        'python3 -c \'import json; print(json.load(open("submission_metadata.json"))["assignment"]["total_points"])\'\n'
        + SAY_RESULTS
    )
    assert done.stdout.split() == [
        *("results", "run_autograder", "source", "source/run_autograder", "source/setup.sh", "submission"),
        *("submission/ngram.py", "submission_metadata.json", "venv", "3.0"),
    ]
    assert list((cache / "runs").iterdir()) == []


def test_neither_setup_nor_run_has_input(tmp_path: Path, cache: Path, submission: Path) -> None:
    """What asks a question gets no answer, at once: nobody sits at the platform's terminal."""
    (tmp_path / "typed").write_text("yes\n")
    archive = make_archive(tmp_path / "a.zip", "cat venv/answer -\n" + SAY_RESULTS, SETUP + "cat >venv/answer\n")
    before = os.dup(0)
    with (tmp_path / "typed").open() as typed:
        os.dup2(typed.fileno(), 0)
        try:
            done = simulate.simulate(submission, archive, cache=cache)
        finally:
            os.dup2(before, 0)
            os.close(before)
    assert (done.outcome, done.stdout) == ("posted", "")


def test_the_environment_is_small(running: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the caller's environment reaches the run but PATH and HOME."""
    monkeypatch.setenv("STRAY", "1")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    names = {line.partition("=")[0] for line in running("env\n" + SAY_RESULTS).stdout.splitlines()}
    assert names <= {"PATH", "HOME", "LANG", "AUTOGRADER_ROOT", "PWD", "OLDPWD", "SHLVL", "_"}


def test_other_users_can_reach_the_run_and_not_write_to_it(running: Run) -> None:
    """Student code runs as another user: it must pass through, whatever the caller's umask."""
    before = os.umask(0o077)
    try:
        done = running('stat -c %a . source .. ../.. venv/. "$PWD/run_autograder"\n' + SAY_RESULTS)
    finally:
        os.umask(before)
    assert done.stdout.split() == ["755"] * 6


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        pytest.param("true", "missing", id="nothing written"),
        pytest.param("echo null >results/results.json", "missing", id="null"),
        pytest.param("rm -r results", "missing", id="no folder"),
        pytest.param(": >results/results.json", "invalid_json", id="empty"),
        pytest.param("echo '{\"tests\": [' >results/results.json", "invalid_json", id="cut off"),
        pytest.param("printf '\\xef\\xbb\\xbf{}' >results/results.json", "invalid_json", id="byte order mark"),
        pytest.param("echo '{\"score\": NaN}' >results/results.json", "failed", id="NaN"),
        pytest.param("echo '[]' >results/results.json", "failed", id="a list"),
        pytest.param("echo '{\"output\": 1}' >results/results.json", "failed", id="output a number"),
        pytest.param("mkdir results/results.json", "failed", id="a folder"),
    ],
)
def test_lost_results_are_a_failure(running: Run, tmp_path: Path, script: str, outcome: str) -> None:
    """Whatever the platform makes of it: no rows, the outcome by name, one problem, the same in the results file."""
    path = tmp_path / "results.json"
    done = running(f"echo said\n{script}\n", results=path)
    assert (done.outcome, done.rows, len(done.problems)) == (outcome, (), 1)
    assert done.failed
    assert done.message == "The autograder failed to execute correctly."
    assert done.score == (None if outcome == "missing" else 0)
    assert done.stdout.startswith("said\n")
    assert json.loads(path.read_bytes()) == done.document


def test_what_only_luck_keeps_from_going_wrong_is_a_problem(running: Run) -> None:
    """Posted, but against our rules: a top-level score, a sum that is not the assignment's."""
    done = running('echo \'{"score": 1, "tests": [{"name": "a", "score": 1, "max_score": 1}]}\' >results/results.json')
    assert done.outcome == "posted"
    assert done.problems == (
        "there is a top-level score: it overrides the rows",
        "the rows' max_score add up to 1, the assignment has 3",
    )


def test_without_metadata_any_sum_will_do(tmp_path: Path, cache: Path, submission: Path) -> None:
    """Nobody has said how many points there are."""
    assert simulate.simulate(submission, make_archive(tmp_path / "a.zip"), cache=cache).problems == ()


def test_exit_status_does_not_void_results(running: Run) -> None:
    """They are posted all the same, and the status is a problem."""
    done = running(SAY_RESULTS + "exit 3\n")
    assert (done.outcome, done.score, done.status) == ("posted", 2.0, 3)
    assert done.problems == ("run_autograder ended with status 3: the platform says that it failed",)


def test_missing_interpreter_is_a_failure_to_start(tmp_path: Path, cache: Path, submission: Path) -> None:
    """A shebang that is well-formed and leads nowhere shows when the platform starts it."""
    members = {"setup.sh": Member(SETUP.encode(), 0o755), "run_autograder": Member(b"#!/no/such/bash\n", 0o755)}
    done = simulate.simulate(submission, write(tmp_path / "a.zip", members), cache=cache)
    assert (done.outcome, done.status, done.rows) == ("failed", None, ())
    assert done.problems == ("run_autograder could not be started: No such file or directory",)


# --- the time limit ---------------------------------------------------------------------------------------------


def test_time_out_loses_everything(running: Run) -> None:
    """Results that were there are overwritten by the platform's own document."""
    done = running(SAY_RESULTS + "echo started; exec sleep 60\n", timeout=0.3)
    assert (done.outcome, done.score, done.rows, done.status) == ("timed_out", 0.0, (), -signal.SIGKILL)
    assert done.message == "Your submission timed out. It took longer than 0.3 seconds to run."
    assert done.stdout == "started\n"
    assert len(done.problems) == 1


def test_time_out_kills_only_the_process_itself(running: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grandchild outlives it, as on the platform; that is a problem, and then it is ended."""
    monkeypatch.setattr(simulate, "_SWEEP_SECONDS", 0.05)
    pid = tmp_path / "pid"
    done = running(f"sleep 60 & echo $! >{pid}\nwait\n", timeout=1)
    assert "processes of the run lived on after it" in done.problems
    assert not _runs(int(pid.read_text()))


def test_what_ends_by_itself_after_a_time_out_is_no_problem(running: Run) -> None:
    """A worker that notices the end of its parent has a moment to go."""
    done = running("sleep 0.4 & exec sleep 60\n", timeout=0.2)
    assert "processes of the run lived on after it" not in done.problems


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


# --- the submission ---------------------------------------------------------------------------------------------


LIST_SUBMISSION = "(cd submission && find . ! -type d | LC_ALL=C sort)\n" + SAY_RESULTS


def test_a_zip_is_expanded_with_its_folders(running: Run, tmp_path: Path) -> None:
    """The platform strips nothing that we know of: wrapping folders and a Mac's leavings arrive."""
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("hw/lm/ngram.py", "__MACOSX/hw/._lm", ".DS_Store", "hw/empty/"):
            archive.writestr(name, b"")
    done = running(LIST_SUBMISSION, submission=path)
    assert done.stdout.split() == ["./.DS_Store", "./__MACOSX/hw/._lm", "./hw/lm/ngram.py"]


def test_a_folder_arrives_without_links_and_hidden_folders(running: Run, tmp_path: Path) -> None:
    """The platform writes regular files; nobody uploads a .venv."""
    folder = tmp_path / "s"
    for name in ("lm/ngram.py", ".venv/bin/python", ".hidden", "__pycache__/x.pyc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    (folder / "link.py").symlink_to("/etc/passwd")
    done = running(LIST_SUBMISSION, submission=folder)
    assert done.stdout.split() == ["./.hidden", "./__pycache__/x.pyc", "./lm/ngram.py"]
    assert done.left_out == ("link.py is no regular file: the platform does not keep it",)
    assert done.problems == ()


def test_files_arrive_unchanged(running: Run) -> None:
    """Line ends and bytes stay as the student saved them."""
    assert running("od -c -An submission/ngram.py\n" + SAY_RESULTS).stdout.split() == ["x", "=", "1", "\\r", "\\n"]


# --- bad input --------------------------------------------------------------------------------------------------

BASH = b"#!/usr/bin/env bash\n"
ARCHIVES: dict[str, tuple[dict[str, Member], str]] = {
    "no setup.sh": ({"run_autograder": Member(BASH, 0o755)}, "there is no setup.sh at the root"),
    "no run_autograder": ({"setup.sh": Member(BASH, 0o755)}, "there is no run_autograder at the root"),
    "folder zipped": (
        {"grader/setup.sh": Member(BASH, 0o755), "grader/run_autograder": Member(BASH, 0o755)},
        "setup.sh lies in grader/: zip the files, not the folder (and 1 more)",
    ),
    "not executable": (
        {"setup.sh": Member(BASH, 0o755), "run_autograder": Member(BASH, 0o644)},
        "run_autograder is not executable",
    ),
    "windows line ends": (
        {"setup.sh": Member(BASH, 0o755), "run_autograder": Member(b"#!/bin/bash\r\n", 0o755)},
        "run_autograder has Windows line ends",
    ),
    "windows line ends in setup.sh": (
        {"setup.sh": Member(BASH + b"true\r\n", 0o755), "run_autograder": Member(BASH, 0o755)},
        "setup.sh has Windows line ends",
    ),
    "byte order mark": (
        {"setup.sh": Member(BASH, 0o755), "run_autograder": Member(b"\xef\xbb\xbf" + BASH, 0o755)},
        "run_autograder begins with a byte order mark",
    ),
    "no shebang": (
        {"setup.sh": Member(BASH, 0o755), "run_autograder": Member(b"python3 grade.py\n", 0o755)},
        "run_autograder does not begin with #! and the path of an interpreter",
    ),
    "shebang in line 2": (
        {"setup.sh": Member(BASH, 0o755), "run_autograder": Member(b"\n" + BASH, 0o755)},
        "run_autograder does not begin with #! and the path of an interpreter",
    ),
    "shebang without a path": (
        {"setup.sh": Member(BASH, 0o755), "run_autograder": Member(b"#!bash\n", 0o755)},
        "run_autograder does not begin with #! and the path of an interpreter",
    ),
    "link": (
        {
            "setup.sh": Member(BASH, 0o755),
            "run_autograder": Member(BASH, 0o755),
            "x": Member(b"setup.sh", stat.S_IFLNK | 0o777),
        },
        "x is a link or something else that is no file",
    ),
    "leads out": (
        {"setup.sh": Member(BASH, 0o755), "run_autograder": Member(BASH, 0o755), "../x": Member(b"")},
        "'../x' is no plain path",
    ),
}


@pytest.mark.parametrize(("members", "problem"), ARCHIVES.values(), ids=ARCHIVES.keys())
def test_an_archive_that_the_platform_would_trip_over_is_refused(
    tmp_path: Path, cache: Path, submission: Path, members: dict[str, Member], problem: str
) -> None:
    """One line that names the file; nothing is built."""
    path = write(tmp_path / "a.zip", members)
    with pytest.raises(InputError) as caught:
        simulate.simulate(submission, path, cache=cache)
    assert str(caught.value) == f"{path}: {problem}"
    assert not cache.exists()


def damaged(path: Path) -> Path:
    content = make_archive(path).read_bytes()
    path.write_bytes(content.replace(b"echo ran", b"echo RAN", 1))
    return path


def as_folder(path: Path) -> Path:
    path.mkdir()
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda path: path, "No such file or directory", id="missing"),
        pytest.param(as_folder, "Is a directory", id="folder"),
        pytest.param(lambda path: _text(path), "not a zip archive, or a damaged one", id="text"),
        pytest.param(damaged, "not a zip archive, or a damaged one", id="damaged"),
    ],
)
def test_a_file_that_is_no_archive_is_refused(
    tmp_path: Path, cache: Path, submission: Path, make: Callable[[Path], Path], message: str
) -> None:
    """The path and the reason in one line."""
    with pytest.raises(InputError) as caught:
        simulate.simulate(submission, make(tmp_path / "a.zip"), cache=cache)
    assert str(caught.value) == f"{tmp_path / 'a.zip'}: {message}"


def _text(path: Path) -> Path:
    path.write_text("x")
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda path: path, "No such file or directory", id="missing"),
        pytest.param(as_folder, "nothing inside", id="empty folder"),
        pytest.param(lambda path: _text(path), "not a zip archive, or a damaged one", id="no zip"),
    ],
)
def test_bad_submissions_stop_before_anything_is_built(
    tmp_path: Path, running: Run, cache: Path, make: Callable[[Path], Path], message: str
) -> None:
    """One line, no setup.sh, no folder of a run left behind."""
    with pytest.raises(InputError, match=f"bad: {message}"):
        running(submission=make(tmp_path / "bad"))
    assert setups(cache) == 0
    assert list((cache / "runs").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param(".", "is a folder; name a file for the results", id="folder"),
        pytest.param("no/results.json", "no such folder for the results", id="no folder"),
        pytest.param("autograder.zip/results.json", "no such folder for the results", id="below a file"),
    ],
)
def test_results_path_is_checked_first(running: Run, tmp_path: Path, cache: Path, name: str, message: str) -> None:
    """Nobody waits for a run whose results cannot be written."""
    with pytest.raises(InputError, match=message):
        running(results=tmp_path / name)
    assert not cache.exists()


# --- the image --------------------------------------------------------------------------------------------------


def test_setup_runs_once_for_one_zip(running: Run, cache: Path) -> None:
    """The second simulation uses the image of the first, and says nothing about building."""
    told: list[str] = []
    assert running(tell=told.append).built
    assert not running(tell=told.append).built
    assert setups(cache) == 1
    assert len(told) == 1


def test_a_changed_test_needs_no_new_image(tmp_path: Path, cache: Path, submission: Path) -> None:
    """source/ is that of the zip, with what setup.sh did to it; packages are not installed again."""
    setup = SETUP + 'cd "$AUTOGRADER_ROOT/source"; chmod 700 tests; chmod 600 tests/*; echo made >made\n'
    script = "cd source; cat tests/kept.py; ls tests made; stat -c %a tests tests/kept.py\n"
    first = make_archive(tmp_path / "1.zip", script, setup, **{"tests/kept.py": "old\n", "tests/b": ""})
    second = make_archive(tmp_path / "2.zip", script, setup, **{"tests/kept.py": "new\n", "tests/c": ""})
    simulate.simulate(submission, first, cache=cache)
    done = simulate.simulate(submission, second, cache=cache)
    assert done.stdout.split() == ["new", "made", "tests:", "c", "kept.py", "700", "600"]
    assert setups(cache) == 1
    # and back: the image itself has not changed
    assert simulate.simulate(submission, first, cache=cache).stdout.split()[0] == "old"


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-torch.txt", "constraints.txt", "pyproject.toml"])
def test_a_changed_requirement_needs_a_new_image(tmp_path: Path, cache: Path, submission: Path, name: str) -> None:
    """What setup.sh reads is part of the image's name."""
    for version in "12":
        simulate.simulate(submission, make_archive(tmp_path / "a.zip", **{name: version}), cache=cache)
    assert setups(cache) == 2


def test_a_changed_setup_needs_a_new_image(tmp_path: Path, cache: Path, submission: Path) -> None:
    """setup.sh itself is, too."""
    for line in ("true\n", "false || true\n"):
        simulate.simulate(submission, make_archive(tmp_path / "a.zip", setup=SETUP + line), cache=cache)
    assert setups(cache) == 2


def test_failing_setup_is_told_with_its_last_lines(tmp_path: Path, cache: Path, submission: Path) -> None:
    """Status, the end of the output, and where all of it is; no run."""
    path = make_archive(tmp_path / "a.zip", setup=SETUP + "seq 40; echo '\x1b[31mno network' >&2; exit 7\n")
    with pytest.raises(ImageError) as caught:
        simulate.simulate(submission, path, cache=cache)
    text = str(caught.value)
    assert text.startswith("setup.sh ended with status 7; all of its output is in ")
    assert text.endswith("  40\n  no network")
    assert "  26\n" not in text
    log = Path(text.partition("output is in ")[2].partition(", the end")[0])
    assert log.read_text().startswith("1\n2\n")
    assert list((cache / "runs").iterdir()) == []


def test_a_half_built_image_is_built_again(tmp_path: Path, cache: Path, submission: Path) -> None:
    """What a failed setup.sh left behind is gone when the next one runs."""
    path = make_archive(
        tmp_path / "a.zip",
        "ls venv\n",
        SETUP + 'touch "$AUTOGRADER_ROOT/venv/$(ls "$AUTOGRADER_ROOT/venv" | wc -l)"; test -e ../../allowed\n',
    )
    with pytest.raises(ImageError):
        simulate.simulate(submission, path, cache=cache)
    (cache / "allowed").touch()
    done = simulate.simulate(submission, path, cache=cache)
    assert (done.built, done.stdout, setups(cache)) == (True, "0\n", 2)


def test_temporary_files_of_setup_are_gone(tmp_path: Path, cache: Path, submission: Path) -> None:
    """As on the platform, where nothing left in temporary folders survives."""
    setup = SETUP + 'echo "$TMPDIR" >venv/tmpdir; touch "$TMPDIR/left"; test -d "$TMPDIR"\n'
    done = simulate.simulate(
        submission, make_archive(tmp_path / "a.zip", 'ls "$(cat venv/tmpdir)" 2>/dev/null; ls\n', setup), cache=cache
    )
    assert "left" not in done.stdout
    assert "tmp" not in done.stdout.split()


def test_old_images_are_removed_and_one_in_use_is_not(tmp_path: Path, cache: Path, submission: Path) -> None:
    """Three are kept, and whatever a simulation is using at the moment."""

    def archive(version: int) -> Path:
        return make_archive(tmp_path / f"{version}.zip", **{"constraints.txt": str(version)})

    def images() -> set[str]:
        return {folder.name for folder in (cache / "images").iterdir()}

    keys = [image.key_of(image.read_archive(archive(version))) for version in range(5)]
    simulate.simulate(submission, archive(0), cache=cache)
    with image.image_of(image.read_archive(archive(0)), cache, lambda line: None) as used:
        assert not used.built
        for version in range(1, 5):
            simulate.simulate(submission, archive(version), cache=cache)
        assert images() == {keys[0], *keys[2:]}
    simulate.simulate(submission, archive(4), cache=cache)
    assert images() == {*keys[2:]}


def test_an_image_whose_removal_was_cut_short_is_built_again(
    tmp_path: Path, cache: Path, submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It loses its marker before its files."""
    monkeypatch.setattr(image, "KEPT_IMAGES", 1)
    remove = shutil.rmtree

    def cut_short(path: Path, ignore_errors: bool = False) -> None:
        if path.parent.name != "images":
            remove(path, ignore_errors)

    archives = [make_archive(tmp_path / f"{version}.zip", **{"constraints.txt": version}) for version in "12"]
    simulate.simulate(submission, archives[0], cache=cache)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", cut_short)
        simulate.simulate(submission, archives[1], cache=cache)
    assert simulate.simulate(submission, archives[0], cache=cache).built


def test_a_zombie_is_not_alive() -> None:
    """Where nobody waits for orphans, a process that has ended stays in its group."""
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    assert image.alive(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not image.alive(process.pid)
    process.wait()


def test_two_simulations_at_once_build_one_image_and_do_not_meet(tmp_path: Path, cache: Path, submission: Path) -> None:
    """Two processes, two versions of a zip: one runs setup.sh while the other waits, each runs its own source."""
    setup = SETUP + 'mkdir "$AUTOGRADER_ROOT/building"; sleep 0.3; rmdir "$AUTOGRADER_ROOT/building"\n'
    program = (
        "import sys; from pathlib import Path; from autograder.simulate import simulate\n"
        "done = simulate(Path(sys.argv[1]), Path(sys.argv[2]), cache=Path(sys.argv[3]))\n"
        "print(done.outcome, done.stdout.strip(), done.built)"
    )
    running = []
    for version in "12":
        path = make_archive(
            tmp_path / f"{version}.zip", "cat source/test.py\n" + SAY_RESULTS, setup, **{"test.py": version}
        )
        command = [sys.executable, "-c", program, str(submission), str(path), str(cache)]
        running.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True))
    said = [process.communicate(timeout=60)[0].split() for process in running]
    assert [line[:2] for line in said] == [["posted", "1"], ["posted", "2"]]
    assert sorted(line[2] for line in said) == ["False", "True"]
    assert setups(cache) == 1


# --- the cache --------------------------------------------------------------------------------------------------


def linked(cache: Path) -> None:
    (cache.parent / "elsewhere").mkdir()
    cache.symlink_to(cache.parent / "elsewhere")


def open_to_others(cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)


def linked_inside(cache: Path) -> None:
    cache.mkdir()
    (cache / "runs").symlink_to("/tmp")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(linked, "should be a folder, and no link to one", id="link"),
        pytest.param(open_to_others, "belongs to another user, or others may write to it", id="open to others"),
        pytest.param(linked_inside, "should be a folder, and no link to one", id="link inside"),
        pytest.param(lambda cache: cache.write_text(""), "should be a folder, and no link to one", id="file"),
    ],
)
def test_a_cache_that_others_could_have_made_is_refused(
    running: Run, cache: Path, make: Callable[[Path], object], message: str
) -> None:
    """Code from it is run with our rights."""
    make(cache)
    with pytest.raises(InputError, match=message):
        running()


def test_default_cache_is_reachable_for_other_users_when_we_are_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's own home is closed to the users that student code runs as; others keep images where caches belong."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert image.default_cache() == Path("/var/cache/autograder")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/me/.cache")
    assert image.default_cache() == Path("/home/me/.cache/autograder")


def test_folders_of_killed_runs_are_removed_after_a_day(running: Run, cache: Path) -> None:
    """And not before: they may be another simulation's."""
    running()
    for name, age in (("old", 2 * 86_400), ("new", 3600)):
        (cache / "runs" / name / "submission").mkdir(parents=True)
        moment = (cache / "runs").stat().st_mtime - age
        os.utime(cache / "runs" / name, (moment, moment))
    running()
    assert [folder.name for folder in (cache / "runs").iterdir()] == ["new"]


# --- a repository -----------------------------------------------------------------------------------------------

TOML = """
[assignment]
title = "T"
title_zh = "T"
version = "1"
package = "lm"
[files]
"ngram.py" = 2
[budgets]
run = 50
platform = 60
[[parts]]
slug = "part"
number = "1"
title = "P"
title_zh = "P"
[[parts.items]]
slug = "mle"
title = "I"
title_zh = "I"
points = 3
file = "ngram.py"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A repository as small as it can be, whose grader prints its secret."""
    folder = tmp_path / "home"
    files = {
        "assignment.toml": TOML,
        "constraints.txt": "",
        "requirements.txt": "",
        "setup.sh": SETUP,
        "run_autograder": "#!/usr/bin/env bash\ncat source/secret submission_metadata.json\n" + SAY_RESULTS,
        "autograder/__init__.py": "",
        "solutions/lm/ngram.py": "",
        "tests/public/test_a.py": "",
        "tests/hidden/test_b.py": "",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_repository_is_built_when_absent_or_stale(home: Path, cache: Path, submission: Path) -> None:
    """dist/autograder.zip is written, kept while it is right, and written again after a change."""
    told: list[str] = []
    for _ in range(2):
        done = simulate_home(submission, home, cache=cache, tell=told.append)
        assert (done.outcome, done.score, done.problems) == ("posted", 2.0, ())
    (home / "tests/hidden/test_b.py").write_text("changed = 1\n", encoding="utf-8")
    simulate_home(submission, home, cache=cache, tell=told.append)
    assert [line for line in told if "writing" in line] == [
        "writing dist/autograder.zip, which was not there",
        "writing dist/autograder.zip, which was out of date",
    ]
    assert setups(cache) == 1


def test_a_terms_secret_survives_a_rebuild(home: Path, cache: Path, submission: Path) -> None:
    """A stale zip that was made for a term is made again for that term, not for development."""
    assignment = load_assignment(home / "assignment.toml")
    secret = b"the secret of this term"
    (home / "dist").mkdir()
    write_zip(home / simulate.ARCHIVE, autograder_members(home, assignment, secret))
    (home / "solutions/lm/ngram.py").write_text("changed = 1\n", encoding="utf-8")
    assert simulate_home(submission, home, cache=cache).stdout.startswith(secret.decode())
    with zipfile.ZipFile(home / simulate.ARCHIVE) as archive:
        assert archive.read("solutions/lm/ngram.py") == b"changed = 1\n"


def test_metadata_reaches_the_grader(home: Path, cache: Path, submission: Path, tmp_path: Path) -> None:
    """By the name of a case, with the assignment's title and points, or from a file as it is."""
    late = simulate_home(submission, home, metadata="late", cache=cache).stdout
    assert '"total_points": "3.0"' in late
    assert '"title": "T"' in late
    assert '"late_due_date": null' not in late
    (tmp_path / "own.json").write_text('{"id": 7}', encoding="utf-8")
    own = simulate_home(submission, home, metadata=tmp_path / "own.json", cache=cache)
    assert own.stdout.endswith('{"id": 7}')


def test_a_wrong_path_does_not_wait_for_a_build(home: Path, cache: Path, submission: Path, tmp_path: Path) -> None:
    """The submission, the metadata and the results path are looked at before anything is written."""
    (tmp_path / "empty").mkdir()
    for name, options in (
        ("nothing", {}),
        ("empty", {}),
        ("submission", {"metadata": "early"}),
        ("submission", {"results": tmp_path / "no" / "results.json"}),
    ):
        with pytest.raises(InputError):
            simulate_home(tmp_path / name, home, cache=cache, **options)  # type: ignore[arg-type]
    assert not (home / "dist").exists()


# --- the command ------------------------------------------------------------------------------------------------


@pytest.fixture
def command(home: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Calls ``autograder simulate`` on the small repository."""
    monkeypatch.setattr(image, "default_cache", lambda: cache)

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(main, ["--home", str(home), "simulate", *map(str, arguments)])

    return run


def test_command_prints_rows_and_what_did_not_arrive(command: Callable[..., Result], submission: Path) -> None:
    """The table, how long it took, and each file that the platform does not keep."""
    (submission / "link.py").symlink_to("ngram.py")
    done = command(submission)
    assert done.exit_code == 0, done.stderr
    assert "total 2/3" in done.stdout
    assert "the run took 0." in done.stdout
    assert "left out: link.py is no regular file: the platform does not keep it\n" in done.stdout


def test_command_prints_what_the_student_reads_instead(
    command: Callable[..., Result], home: Path, submission: Path
) -> None:
    """Without rows there is a message in their place; the reason is for us, and the exit code 3."""
    for script, reason in (
        ("true", "there is no results.json: the platform records a failure and no score"),
        ("echo '[' >results/results.json", "results.json is no JSON: the platform gives 0 points"),
    ):
        (home / "run_autograder").write_text(f"#!/usr/bin/env bash\n{script}\n", encoding="utf-8")
        done = command(submission)
        assert done.exit_code == 3
        assert "what the student reads: The autograder failed to execute correctly.\n" in done.stdout
        assert f"platform: {reason}\n" in done.stderr
        assert "total" not in done.stdout


def test_command_takes_the_cases_that_its_help_names(command: Callable[..., Result], submission: Path) -> None:
    """Each case of metadata reaches the grader by its name."""
    told = command("--help").stdout
    for case in VARIANTS:
        assert case in told
    done = command(submission, "--metadata", "late", "-v")
    assert done.exit_code == 0, done.stderr
    assert '"late_due_date": "2026-11' in done.stdout
    wrong = command(submission, "--metadata", "early")
    assert wrong.exit_code == 2
    assert wrong.stderr.endswith(
        "autograder: early: no such file, and none of on-time, late, extension, group, resubmission, no-dates\n"
    )


def test_command_without_root_refuses_a_root_file_system(
    command: Callable[..., Result], home: Path, submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, exit code 2."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = command(submission, "--rootfs", home / "tree")
    assert done.exit_code == 2
    assert "needs root" in done.stderr or "needs Linux" in done.stderr
    assert not (home / "tree").exists()
