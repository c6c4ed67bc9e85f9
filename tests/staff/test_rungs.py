"""Whole runs on each rung of the ladder: what is graded, what is refused, and what is said. Needs root, as in CI.

Each runs an unpacked zip as the platform does, with a copy of the engine in which one of the kernel's means is planted
as missing; the rootless ones run as a user that is not root.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from autograder import entry
from tests.staff.runs import (
    POCKET,
    ROOT,
    Run,
    copy_home,
    own_temporary_folder,
    processes_of,
    read_file,
    write_submission,
)

USER = (1 << 30) - 77  # somebody who is not root, and no worker either


@pytest.fixture
def root() -> Iterator[Path]:
    """$AUTOGRADER_ROOT with an unpacked zip, closed as setup.sh closes it, and the solved upload."""
    with own_temporary_folder() as folder:
        place = folder / "autograder"
        source = copy_home(place / "source")
        shutil.copytree(ROOT / "autograder", source / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
        (source / "tests").chmod(0o700)
        (source / "solutions").chmod(0o700)
        (place / "results").mkdir(mode=0o700)
        write_submission(folder / "upload", POCKET)
        (folder / "upload" / "pocket").rename(place / "submission")
        (folder / "upload").rmdir()
        yield place


MISSING = {
    "landlock": ("landlock.py", "    everything = _ALL", '    raise OSError("planted")\n    everything = _ALL'),
    "seccomp": ("seccomp.py", "    program = _bytes()", '    raise OSError("planted")\n    program = _bytes()'),
    "fork-allowed": ("seccomp.py", "allowed=(CLONE_THREAD,)),", "allowed=(CLONE_THREAD, 0)),"),
    "worker": ("worker.py", "os.setsid()", 'raise OSError("planted")'),
    "numpy-in-the-zygote": ("zygote.py", "    preload(torch, g", '    raise OSError("planted")\n    preload(torch, g'),
}


def plant(root: Path, *flaws: str) -> None:
    """Take a means of the kernel away from the copied engine."""
    for flaw in flaws:
        name, old, new = MISSING[flaw]
        path = root / "source" / "autograder" / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, flaw
        path.write_text(text.replace(old, new), encoding="utf-8")


def enter(root: Path, *, user: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it as run_autograder does."""
    return subprocess.run(
        [sys.executable, "-I", "-B", str(root / "source" / "autograder" / "entry.py")],
        env={**os.environ, "AUTOGRADER_ROOT": str(root), **environment},
        cwd=root,
        user=user,
        group=user,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )


def results_of(root: Path) -> Run:
    return read_file(root / "results" / "results.json", root / "source")


def isolation_line(done: subprocess.CompletedProcess[str]) -> str:
    """What staff read of the sandbox."""
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("isolation: ")]
    return line


# What is graded, and what is said of it.

GRADED = {
    "sealed": ((), "3", "3 sealed", 18),
    "separated": (("landlock",), "2", "2 separated", 18),
    "network-open": (("seccomp",), "", "2n network open", 13),
    "network-open-by-request": (("seccomp",), "2n", "2n network open", 13),
}


@pytest.mark.parametrize(("flaws", "minimum", "rung", "canaries"), GRADED.values(), ids=GRADED)
def test_run_says_on_which_rung_it_stands(
    root: Path, flaws: Sequence[str], minimum: str, rung: str, canaries: int
) -> None:
    """Graded in full at or above the minimum; standard output and extra_data name the rung, students see nothing."""
    plant(root, *flaws)
    done = enter(root, AUTOGRADER_MINIMUM_RUNG=minimum)
    assert (done.returncode, done.stderr) == (0, "")
    run = results_of(root)
    assert run.total == 12
    assert re.fullmatch(
        rf"isolation: rung {rung} \| landlock ABI \d \| canaries {canaries}/{canaries}", isolation_line(done)
    )
    isolation = run.document["extra_data"]["isolation"]
    assert isolation["rung"] == rung.split()[0]
    assert isolation["canaries_through"] == []
    assert isolation["leftovers"] == 0
    assert "rung" not in run.text
    assert "stdout_visibility" not in run.document or run.document["stdout_visibility"] == "hidden"


def test_open_secret_is_named_where_nothing_closes_it(root: Path) -> None:
    """Off the platform, without Landlock, in a clone whose tests everybody reads: graded, and said."""
    plant(root, "landlock")
    for name in ("tests", "solutions"):
        (root / "source" / name).chmod(0o755)
    done = enter(root)
    assert done.returncode == 0
    assert results_of(root).total == 12
    assert "GOT THROUGH: read hidden" in isolation_line(done)
    assert "read hidden" in results_of(root).document["extra_data"]["isolation"]["canaries_through"]


# What is refused.

REFUSED = {
    "no-filter": (("seccomp",), "rung 2n network open", True),
    "no-filter-by-setting": (("seccomp",), "rung 2n network open", False),
    "filter-does-not-hold": (("fork-allowed",), "GOT THROUGH: fork", False),
    "worker-does-not-start": (("worker",), "a worker did not start", True),
    "zygote-does-not-start": (("numpy-in-the-zygote",), "the zygote does not answer", False),
}


@pytest.mark.parametrize(("flaws", "says", "harness"), REFUSED.values(), ids=REFUSED)
def test_too_little_isolation_is_refused_on_the_platform(
    root: Path, flaws: Sequence[str], says: str, harness: bool
) -> None:
    """No results.json, one line for staff, exit 3: never a score, and never code that is not isolated.

    It is the platform where its harness is, or where the setting says what it says there.
    """
    plant(root, *flaws)
    if harness:
        (root / "harness.py").write_text("# the platform's")
        done = enter(root, AUTOGRADER_MINIMUM_RUNG="")  # says nothing
    else:
        done = enter(root, AUTOGRADER_MINIMUM_RUNG="2")
    assert done.returncode == 3
    (line,) = done.stdout.splitlines()
    assert line.startswith("NOT GRADED. The fault is this machine's, no student's: ")
    assert says in line
    assert list((root / "results").iterdir()) == []


def test_open_secret_is_refused_on_the_platform(root: Path) -> None:
    """Without Landlock the modes are all there is: tests that everybody reads are as good as published."""
    plant(root, "landlock")
    (root / "source" / "tests").chmod(0o755)
    (root / "harness.py").write_text("# the platform's")
    # what entry.py does to /tmp without Landlock is none of this test's business: the kernel here has it
    done = enter(root)
    assert done.returncode == 3
    assert "GOT THROUGH: read hidden" in done.stdout
    assert list((root / "results").iterdir()) == []


def test_open_results_folder_is_refused_on_the_platform(root: Path) -> None:
    """A folder of results in which a worker could write is found by one that tries."""
    plant(root, "landlock")
    (root / "results").chmod(0o777)
    done = enter(root, AUTOGRADER_MINIMUM_RUNG="2")
    assert done.returncode == 3
    assert "GOT THROUGH: write to results" in done.stdout


def test_unknown_kind_of_workers_is_refused(root: Path) -> None:
    """One line, exit 3, and nothing that could be taken for a score."""
    done = enter(root, AUTOGRADER_WORKERS="threads")
    assert done.returncode == 3
    assert done.stdout == "the autograder cannot run: AUTOGRADER_WORKERS is one of forked, fresh, not 'threads'\n"
    assert list((root / "results").iterdir()) == []


def test_minimum_may_be_raised(root: Path) -> None:
    """Whoever asks for rung 3 gets nothing less."""
    plant(root, "landlock")
    done = enter(root, AUTOGRADER_MINIMUM_RUNG="3")
    assert done.returncode == 3
    assert done.stdout.endswith("needed: 3\n")


def test_places_of_everybody_are_closed_where_there_is_no_landlock(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two workers cannot meet in a folder that both may write to; one that is not there is passed over."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o1777)
    monkeypatch.setattr(entry, "EVERYBODYS", (str(tmp_path / "open"), str(tmp_path / "missing")))
    entry._close_what_everybody_writes_to()
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o755


# Without root.

HOSTILE = '''
import ctypes
import os
import signal
import socket


def trusted():
    """The grader and its zygote, or whatever may be one: the ids just below ours."""
    return [pid for pid in range(max(2, os.getpid() - 40), os.getpid())]


def opens(name):
    def attempt():
        for pid in trusted():
            try:
                open(f"/proc/{pid}/{name}", "rb").read(1)
                return
            except OSError:
                pass
        raise PermissionError

    return attempt


def reads_memory():
    libc, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(8)
    place = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    # the lists of the interpreter's own memory are the same in a fork: its address is good in the zygote as well
    if not any(libc.process_vm_readv(pid, place, 1, place, 1, 0) == 8 for pid in trusted()):
        raise PermissionError


def forks():
    if os.fork() == 0:
        os._exit(0)
    os.wait()


def signals():
    for pid in trusted():
        try:
            os.kill(pid, 0)
            return
        except ProcessLookupError:
            pass
        except PermissionError:
            pass
    raise PermissionError


THROUGH = []
for name, attempt in {
    "environ": opens("environ"), "mem": opens("mem"), "cmdline": opens("cmdline"), "memory": reads_memory,
    "fork": forks, "network": socket.socket, "signals": signals,
    "tests": lambda: os.listdir("HOME/tests/hidden"), "results": lambda: open("HOME/../results/x", "w"),
    "tmp": lambda: open("TEMPORARY/mine", "w"),
}.items():
    try:
        attempt()
        THROUGH.append(name)
    except OSError:
        pass


def double(x):
    raise RuntimeError("through: " + " ".join(THROUGH) + ".")


def mean(values):
    if not values:
        raise ValueError("none")
    return sum(values) / len(values)


def span(values):
    return max(values) - min(values)
'''


@pytest.fixture
def users(root: Path) -> Path:
    """The same, owned by a user who is not root, with a temporary folder of his own."""
    (root / "tmp").mkdir()
    for path in (root, *root.rglob("*")):
        os.chown(path, USER, USER)
    return root


def enter_as_user(root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return enter(root, user=USER, TMPDIR=str(root / "tmp"), HOME=str(root / "tmp"), **environment)


def hostile(root: Path) -> None:
    """Hand in what tries everything, and says in ``double`` what got through."""
    text = HOSTILE.replace("HOME", str(root / "source")).replace("TEMPORARY", str(root / "tmp"))
    (root / "submission" / "alpha.py").write_text(text, encoding="utf-8")


def through(run: Run) -> set[str]:
    """What the hostile submission says that it could do."""
    found = re.search(r"through: ([a-z ]*)\.", run.rows["double"].output)
    assert found is not None, run.rows["double"].output
    return set(found[1].split())


@pytest.mark.parametrize(("workers", "canaries"), [("forked", 17), ("fresh", 14)], ids=["forked", "fresh"])
def test_rootless_run_grades_in_full(users: Path, workers: str, canaries: int) -> None:
    """A user's own Linux machine: rung 1, the canaries hold, the solved upload has all points, nothing is left."""
    done = enter_as_user(users, AUTOGRADER_WORKERS=workers)
    assert (done.returncode, done.stderr) == (0, "")
    run = results_of(users)
    assert run.total == 12
    line = rf"isolation: rung 1 rootless \| landlock ABI \d \| canaries {canaries}/{canaries}"
    assert re.fullmatch(line, isolation_line(done))
    assert run.document["extra_data"]["isolation"]["rung"] == "1"
    assert processes_of(USER) == []
    assert list((users / "tmp").iterdir()) == []


def test_rootless_run_gives_a_hostile_upload_nothing(users: Path) -> None:
    """It reads no memory, environment, test or result of the grader's, and has no network, process or signal."""
    hostile(users)
    assert enter_as_user(users).returncode == 0
    run = results_of(users)
    assert through(run) == set()
    assert (run.scores["double"], run.scores["mean"], run.scores["span"]) == (0, 3, 2)
    assert processes_of(USER) == []


def test_process_alone_claims_nothing_and_says_so(users: Path) -> None:
    """Without filters and Landlock a user's worker can do what the user can: rung 1b, and the words for it."""
    plant(users, "seccomp", "landlock")
    hostile(users)
    done = enter_as_user(users)
    assert done.returncode == 0
    run = results_of(users)
    assert {"fork", "network", "signals", "tests", "results", "tmp", "cmdline"} <= through(run)
    assert isolation_line(done) == "isolation: rung 1b process | landlock ABI 0 | canaries 1/1"
    assert run.document["extra_data"]["isolation"]["rung"] == "1b"
    assert (run.scores["mean"], run.scores["span"]) == (3, 2)


def test_rootless_is_too_little_for_the_platform(users: Path) -> None:
    """A platform that does not run us as root gets no results."""
    (users / "harness.py").write_text("# the platform's")
    done = enter_as_user(users)
    assert done.returncode == 3
    (line,) = done.stdout.splitlines()
    assert "needed: 2" in line
    assert not (users / "results" / "results.json").exists()


PEEK = """
import os, pathlib, sys
for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
    try:
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        continue
    if sys.argv[1].encode() in command and b"entry.py" in command:
        for name in ("environ", "mem", "maps"):
            try:
                open(f"/proc/{pid}/{name}", "rb").read(1)
                print("read", name)
            except PermissionError:
                print("refused", name)
"""


def test_trusted_process_hides_from_its_own_user(users: Path) -> None:
    """On every rung another process of the same user reads neither the memory nor the environment of the grader."""
    plant(users, "seccomp", "landlock")
    program = users / "tmp" / "peek.py"
    program.write_text(PEEK)
    program.chmod(0o644)
    text = f"""
import subprocess, sys
SEEN = subprocess.run([{sys.executable!r}, {str(program)!r}, {str(users)!r}], capture_output=True, text=True).stdout


def double(x):
    raise RuntimeError("seen: " + ",".join(SEEN.split()))
"""
    (users / "submission" / "alpha.py").write_text(text)
    assert enter_as_user(users).returncode == 0
    output = results_of(users).rows["double"].output
    assert "seen: refused,environ,refused,mem,refused,maps" in output, output
