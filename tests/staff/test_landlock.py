"""What a worker sees of the file system: open is what is named, closed is everything else. ``autograder.landlock``.

All that is tried here may be read and written by every user, so that it is Landlock that closes it, and not a mode.
On a kernel with fewer means the same tests say what is left.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder import landlock
from autograder.canaries import rung_of
from autograder.confine import Confinement
from autograder.feedback.handles import Student
from autograder.pool import Pool
from tests.staff.links import ITEM, PROBE, open_folder, open_pool

ROOT = Path(__file__).parents[2]
UID = (1 << 30) + 4343
ABI = landlock.version()


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Pool, Path]]:
    """A pool whose folder holds, open to every user, what stands for a home with tests."""
    with open_pool({"probe": PROBE}) as (pool, folder):
        hidden = folder / "home" / "tests" / "hidden"
        hidden.mkdir(parents=True)
        (hidden / "test_x.py").write_text("secret")
        (folder / "home" / "everybodys").mkdir()
        for path in (folder, *folder.joinpath("home").rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        yield pool, folder


@pytest.fixture
def far(site: tuple[Pool, Path]) -> Iterator[Student]:
    """The student's side, in a worker."""
    with site[0].open(ITEM) as student:
        yield student


def attempt(far: Student, expression: str, **names: Any) -> str:
    """The name of the exception that an expression of the student's raises; "done" if it succeeds."""
    source = """
        import os, tempfile
        try:
            eval(expression)
            answer = "done"
        except BaseException as error:
            answer = type(error).__name__
    """
    return str(far.probe.run(source, expression=expression, **names))


CLOSED = {
    "hidden-test": "open(home + '/tests/hidden/test_x.py').read()",
    "list-of-tests": "os.listdir(home + '/tests/hidden')",
    "home": "os.listdir(home)",
    "write-a-test": "open(home + '/tests/hidden/test_x.py', 'a')",
    "cut-a-test": "os.truncate(home + '/tests/hidden/test_x.py', 0)",
    "remove-a-test": "os.unlink(home + '/tests/hidden/test_x.py')",
    "new-file": "open(home + '/everybodys/mine', 'w')",
    "new-folder": "os.mkdir(home + '/everybodys/mine')",
    "new-link": "os.symlink('/etc/passwd', home + '/everybodys/mine')",
    "new-pipe": "os.mkfifo(home + '/everybodys/mine')",
    "link-to-a-test": "os.link(home + '/tests/hidden/test_x.py', 'mine')",
    "move-out": "(open('mine', 'w').close(), os.rename('mine', home + '/everybodys/mine'))",
    "through-a-link": "(os.symlink(home + '/tests/hidden/test_x.py', 'link'), open('link').read())",
    "through-dots": "open('../../home/tests/hidden/test_x.py').read()",
    "tmp": "open('/tmp/mine', 'w')",
    "list-of-tmp": "os.listdir('/tmp')",
    "var-tmp": "open('/var/tmp/mine', 'w')",
    "shared-memory": "open('/dev/shm/mine', 'w')",
    "temporary-file-elsewhere": "tempfile.TemporaryFile(dir='/tmp')",
    "other-scratch": "os.listdir('..')",
    "users": "open('/etc/passwd').read()",
    "hosts": "open('/etc/hosts').read()",
    "root-folder": "os.listdir('/')",
    "processes": "os.listdir('/proc')",
    "command-line-of-the-zygote": "open(f'/proc/{os.getppid()}/cmdline').read()",
    "status-of-the-grader": "open(f'/proc/{grader}/status').read()",
    "terminal": "open('/dev/tty')",
    "package": "open(__import__('mini').__path__[0] + '/mine', 'w')",
    "engine": "open(engine + '/mine', 'w')",
}


@pytest.mark.parametrize("expression", CLOSED.values(), ids=CLOSED)
def test_what_is_not_named_is_closed(far: Student, site: tuple[Pool, Path], expression: str) -> None:
    """Tests, temporary folders, other workers and other processes cannot be read or changed, whatever their modes."""
    assert site[0].report.confinement.landlock == ABI
    names = {"home": str(site[1] / "home"), "grader": os.getpid(), "engine": str(ROOT / "autograder")}
    if ABI >= 3:  # cutting a file short is covered from then on
        assert attempt(far, expression, **names) in ("PermissionError", "OSError")
    assert (site[1] / "home" / "tests" / "hidden" / "test_x.py").read_text() == "secret"
    assert list((site[1] / "home" / "everybodys").iterdir()) == []


OPEN = {
    "scratch": "open('mine', 'w').write('text')",
    "scratch-is-readable": "(open('mine', 'w').write('text'), open('mine').read(), os.listdir('.'), os.unlink('mine'))",
    "folders": "(os.makedirs('a/b'), os.rename('a/b', 'c'), os.rmdir('c'), os.rmdir('a'))",
    "move-between-folders": "(os.mkdir('a'), open('mine', 'w').close(), os.rename('mine', 'a/mine'))",
    "links": "(open('mine', 'w').close(), os.link('mine', 'second'), os.symlink('mine', 'third'))",
    "cut": "(open('mine', 'w').write('text'), os.truncate('mine', 1))",
    "temporary-files": "[tempfile.TemporaryFile().close(), tempfile.mkdtemp()]",
    "null": "open('/dev/null', 'w').write('text')",
    "random": "open('/dev/urandom', 'rb').read(4)",
    "own-package": "open(__import__('mini').__path__[0] + '/probe.py').read()",
    "library": "open(__import__('numpy').__file__).read()",
    "standard-library": "[__import__(name) for name in ('sqlite3', 'decimal', 'xml.dom.minidom', 'ssl')]",
    "numpy-parts": "[__import__('numpy.' + name) for name in ('fft', 'polynomial', 'ma', 'testing')]",
    "own-maps": "os.stat('/proc/self/maps')",
    "processors": "open('/proc/cpuinfo').read()",
}


@pytest.mark.parametrize("expression", OPEN.values(), ids=OPEN)
def test_what_honest_code_needs_is_open(far: Student, expression: str) -> None:
    """The scratch folder, the libraries, the package and a few devices."""
    assert attempt(far, expression) == "done"


# The kernel's call itself, at each of its levels.

CHILD = """
    import json, os, signal, socket, sys
    from autograder import landlock
    from autograder.confine import PR_SET_NO_NEW_PRIVS, become, prctl

    def attempt(function, *arguments):
        try:
            function(*arguments)
        except OSError as error:
            return type(error).__name__
        return "done"

    folder, uid = sys.argv[1], int(sys.argv[2])
    become(uid)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
"""


def child(source: str, folder: Path) -> Any:
    """The ``answer`` of a program that is another user."""
    program = f"{textwrap.dedent(CHILD)}\n{textwrap.dedent(source)}\nprint(json.dumps(answer), flush=True)"
    command = [sys.executable, "-c", program, str(folder), str(UID)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the other user's: ``open/a`` and ``closed/a``."""
    with open_folder() as folder:
        for name in ("open", "closed"):
            (folder / name).mkdir()
            (folder / name / "a").write_text("text")
        for path in (folder, *folder.rglob("*")):
            os.chown(path, UID, UID)
        yield folder


@pytest.mark.parametrize("abi", [1, 2, 3, 4, 5, 6, 7])
def test_level_of_the_kernel_decides_what_is_closed(folder: Path, abi: int) -> None:
    """Files from 1 on, cutting them from 3, TCP from 4, signals and abstract sockets from 6."""
    name = f"\\0autograder-{uuid.uuid4().hex}"
    answer = child(
        f"""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind("{name}")
        listener.listen()
        service = socket.create_server(("127.0.0.1", 0))
        read, write = os.pipe()
        other = os.fork()
        if other == 0:
            os.close(write)
            os.read(read, 1)  # until the test is over
            os._exit(0)
        real = landlock.version
        landlock.version = lambda: min({abi}, real())
        answer = [landlock.restrict([], [folder + "/open"])]
        answer.append(attempt(open, folder + "/open/a", "w"))
        answer.append(attempt(open, folder + "/closed/a"))
        answer.append(attempt(os.truncate, folder + "/closed/a", 0))
        answer.append(attempt(socket.socket().connect, service.getsockname()))
        answer.append(attempt(socket.socket().bind, ("127.0.0.1", 0)))
        answer.append(attempt(os.kill, other, 0))
        answer.append(attempt(socket.socket(socket.AF_UNIX).connect, "{name}"))
        os.close(write)
        os.waitpid(other, 0)
        """,
        folder,
    )
    level = min(abi, ABI)
    closed = ["done", "PermissionError"]
    tcp, scope = closed[level >= 4], closed[level >= 6]
    assert answer == [level, "done", "PermissionError", closed[level >= 3], tcp, tcp, scope, scope]


def test_programs_in_scratch_cannot_be_run(folder: Path) -> None:
    """What may be written may not be executed."""
    answer = child(
        """
        import subprocess
        with open(folder + "/open/program", "w") as file:
            file.write("#!/bin/true")
        os.chmod(folder + "/open/program", 0o755)
        landlock.restrict(["/usr", "/bin", "/lib", "/lib64"], [folder + "/open"])
        answer = attempt(subprocess.run, [folder + "/open/program"])
        """,
        folder,
    )
    assert answer == ("PermissionError" if ABI else "done")


def test_there_is_no_way_back(folder: Path) -> None:
    """A second rule set only takes away: what was closed cannot be named open again."""
    answer = child(
        """
        landlock.restrict([], [folder + "/open"])
        landlock.restrict([folder + "/closed"], [folder + "/open", folder + "/closed"])
        answer = [attempt(open, folder + "/closed/a"), attempt(open, folder + "/open/a")]
        """,
        folder,
    )
    assert answer == ["PermissionError", "done"]


def test_missing_paths_and_files_are_no_error(folder: Path) -> None:
    """A list of what may be there: absent is passed over, a file gets the rights that a file can have."""
    answer = child(
        """
        landlock.restrict(["/no/such/folder", folder + "/closed/a"], [folder + "/open/a", "/dev/null"])
        answer = [attempt(open, folder + "/closed/a"), attempt(open, folder + "/closed/a", "a")]
        answer += [attempt(open, folder + "/open/a", "a"), attempt(os.listdir, folder + "/open")]
        """,
        folder,
    )
    assert answer == ["done", "PermissionError", "done", "PermissionError"]


def test_rules_leave_no_open_file(folder: Path) -> None:
    """The descriptors that name the paths are closed again, also when the kernel refuses."""
    answer = child(
        """
        before = len(os.listdir("/proc/self/fd"))
        landlock.restrict(["/proc", "/usr", "/no/such/folder"], [folder + "/open"])
        answer = len(os.listdir("/proc/self/fd")) - before
        """,
        folder,
    )
    assert answer == 0


# A kernel without it.


@pytest.mark.parametrize("libc", [None, ctypes.CDLL(None)], ids=["no-linux", "old-kernel"])
def test_kernel_without_landlock_has_version_0(monkeypatch: pytest.MonkeyPatch, libc: Any) -> None:
    """Neither another system nor a kernel that does not know the call is an error before it is asked for."""
    monkeypatch.setattr(landlock, "_libc", libc)
    monkeypatch.setattr(landlock, "_CREATE", 9999)
    assert landlock.version() == 0
    with pytest.raises(OSError, match="not in this kernel"):
        landlock.restrict([], [])


def test_without_landlock_a_worker_is_on_rung_2(folder: Path) -> None:
    """It starts, is another user and filtered, and says that its file system is open; what is readable it reads."""
    answer = child(
        """
        from autograder.confine import Cell, confine
        landlock.version = lambda: 0
        got = confine(Cell(None, 2000, 20, [], [folder + "/open"]), os.getppid())
        answer = [got.filtered, got.landlock, attempt(open, folder + "/closed/a")]
        """,
        folder,
    )
    assert answer == [True, 0, "done"]
    assert rung_of(Confinement(own_user=True, filtered=True, landlock=0)) == "2"


def test_refused_rule_set_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's refusal is raised with its reason."""
    monkeypatch.setattr(landlock, "version", lambda: 1)
    monkeypatch.setattr(landlock, "_ALL_OF_ABI_1", 1 << 60)
    with pytest.raises(OSError, match="landlock: "):
        landlock.restrict([], [])
