"""What a confined worker is and what it cannot do: ``autograder.confine``.

These tests need root, which CI has: without it a worker keeps its user, and most of them would say so by failing.
"""

from __future__ import annotations

import io
import os
import pwd
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograder import confine as module
from autograder import landlock, seccomp
from autograder.confine import MAX_FILE, MAX_OPEN_FILES, MAX_THREADS, Cell, confine
from autograder.feedback.handles import Student
from autograder.pool import Pool, _uids
from tests.staff.links import ITEM, PROBE, open_pool

ROOT = Path(__file__).parents[2]
MEMORY = 700
UID = 1 << 30
SECRET = "a secret of the trusted process"


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Pool, Path]]:
    """A pool, and the folder in which its packages lie."""
    with open_pool({"probe": PROBE}, memory=MEMORY, test=40) as (pool, folder):
        (folder / "secret.txt").write_text(SECRET)
        (folder / "secret.txt").chmod(0o600)
        (folder / "private").mkdir(mode=0o700)
        (folder / "private" / "open.txt").write_text(SECRET)
        (folder / "private" / "open.txt").chmod(0o644)
        yield pool, folder


@pytest.fixture
def far(site: tuple[Pool, Path]) -> Iterator[Student]:
    """The student's side, in a worker."""
    with site[0].open(ITEM) as student:
        yield student


def run(far: Student, source: str, **names: Any) -> Any:
    """Run code as the student; it leaves its result in ``answer``."""
    return far.probe.run(source, **names)


def attempt(far: Student, expression: str, **names: Any) -> str:
    """The name of the exception that an expression of the student's raises; "done" if it succeeds."""
    source = """
        import os, resource, signal
        try:
            eval(expression)
            answer = "done"
        except BaseException as error:
            answer = type(error).__name__
    """
    return str(run(far, source, expression=expression, **names))


def status_of(pid: int) -> dict[str, str]:
    """What the kernel says of a process."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def test_tests_run_as_root() -> None:
    """The promises below are those of a grader that runs as root."""
    assert os.geteuid() == 0


def test_worker_is_a_user_that_owns_nothing(far: Student) -> None:
    """Real, effective, saved and file-system ids are one fresh number without a name, and there are no groups."""
    pid = run(far, "import os; answer = os.getpid()")
    status = status_of(pid)
    (uid,) = set(status["Uid"].split())
    assert set(status["Gid"].split()) == {uid}
    assert status["Groups"].split() == []
    assert int(uid) >= 1 << 30
    assert int(uid) not in {entry.pw_uid for entry in pwd.getpwall()}


def test_worker_has_no_capabilities(far: Student) -> None:
    """No capability is left, none can be inherited, and no program can give one."""
    status = status_of(run(far, "import os; answer = os.getpid()"))
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"


def test_every_worker_is_another_user(site: tuple[Pool, Path]) -> None:
    """Two workers have no user in common, so that what one leaves is not the other's."""
    seen = []
    for _ in range(3):
        with site[0].open(ITEM) as student:
            seen.append(tuple(run(student, "import os; answer = list(os.getresuid() + os.getresgid())")))
    assert len(set(seen)) == 3


@pytest.mark.parametrize(
    "expression",
    [
        "os.setuid(0)",
        "os.seteuid(0)",
        "os.setresuid(0, 0, 0)",
        "os.setgid(0)",
        "os.setgroups([0])",
        "os.setgroups([])",
        "os.chroot('/')",
        "os.nice(-5)",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))",
        "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
        "resource.setrlimit(resource.RLIMIT_NPROC, (4096, 4096))",
    ],
)
def test_nothing_given_up_can_be_had_again(far: Student, expression: str) -> None:
    """The way back to root, to groups or to higher limits is closed."""
    assert attempt(far, expression) in ("PermissionError", "ValueError", "OSError")


@pytest.mark.parametrize(
    "expression",
    [
        "open(folder + '/secret.txt').read()",
        "open(folder + '/secret.txt', 'a')",
        "os.unlink(folder + '/secret.txt')",
        "os.chmod(folder + '/secret.txt', 0o644)",
        "os.link(folder + '/secret.txt', 'mine')",
        "open(folder + '/private/open.txt').read()",
        "os.listdir(folder + '/private')",
        "os.listdir(folder)",
        "open(folder + '/submission/mini/probe.py', 'a')",
        "open(folder + '/submission/mini/numpy.py', 'w')",
        "os.rename(folder + '/submission/mini', folder + '/submission/other')",
        "os.mkdir(folder + '/scratch/mine')",
        "os.listdir(folder + '/scratch')",
        "os.listdir(folder + '/reference')",
        "open('/etc/shadow').read()",
        "open('/proc/1/environ').read()",
        "open(f'/proc/{trusted}/environ').read()",
        "open(f'/proc/{trusted}/mem', 'rb').read(1)",
        "open(f'/proc/{trusted}/maps').read()",
        "os.listdir(f'/proc/{trusted}/fd')",
        "os.listdir(f'/proc/{os.getppid()}/fd')",
        "open(f'/proc/{os.getppid()}/environ').read()",
    ],
)
def test_what_is_roots_is_closed(far: Student, site: tuple[Pool, Path], expression: str) -> None:
    """Private files and folders, the package itself and the memory of our processes cannot be read or changed."""
    source = expression.replace("folder", repr(str(site[1]))).replace("{trusted}", str(os.getpid()))
    assert attempt(far, source) == "PermissionError"


@pytest.mark.parametrize(
    "expression",
    ["os.kill(trusted, 0)", "os.kill(trusted, signal.SIGTERM)", "os.kill(os.getppid(), signal.SIGKILL)"],
)
def test_our_processes_cannot_be_signalled(far: Student, expression: str) -> None:
    """Neither the trusted process nor the zygote takes a signal from a worker."""
    assert attempt(far, expression.replace("trusted", str(os.getpid()))) == "PermissionError"


def test_our_processes_cannot_be_traced_or_limited(far: Student) -> None:
    """ptrace, process_vm_readv and prlimit on the trusted process are refused."""
    answer = run(
        far,
        """
        import ctypes, resource
        libc = ctypes.CDLL(None, use_errno=True)
        answer = [libc.ptrace(16, trusted, 0, 0), libc.ptrace(0x4206, trusted, 0, 0)]
        buffer = (ctypes.c_size_t * 2)(id(answer), 8)
        answer.append(libc.process_vm_readv(trusted, buffer, 1, buffer, 1, 0))
        try:
            resource.prlimit(trusted, resource.RLIMIT_CPU, (1, 1))
            answer.append(0)
        except PermissionError:
            answer.append(-1)
        """,
        trusted=os.getpid(),
    )
    assert answer == [-1, -1, -1, -1]


FILTERED = [
    "__import__('socket').socket()",
    "__import__('socket').socket(__import__('socket').AF_UNIX)",
    "os._exit(0) if os.fork() == 0 else os.wait()",
    "os.execv('/bin/true', ['true'])",
    "__import__('subprocess').run(['/bin/true'])",
    "__import__('multiprocessing').Process(target=print).start()",
    "os.kill(-1, 0)",
    "os.killpg(os.getpgrp(), 0)",
    "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))",
]


@pytest.mark.parametrize("expression", FILTERED)
def test_filtered_system_calls_are_refused(far: Student, site: tuple[Pool, Path], expression: str) -> None:
    """No network, no other process or program, no signals: where the worker says that its calls are filtered."""
    if site[0].report.confinement.filtered:
        assert attempt(far, expression) == "PermissionError"
    assert run(far, "answer = 1") == 1


CLOSED = [
    "os.listdir('/')",
    "os.listdir('/tmp')",
    "open('/tmp/mine', 'w')",
    "open('/dev/shm/mine', 'w')",
    "open('/etc/passwd').read()",
    "open(f'/proc/{os.getppid()}/cmdline').read()",
    "os.listdir('/proc')",
]


@pytest.mark.parametrize("expression", CLOSED)
def test_closed_file_system_is_closed(far: Student, site: tuple[Pool, Path], expression: str) -> None:
    """What everybody may read or write elsewhere is closed here, where the worker says that it has Landlock."""
    if site[0].report.confinement.landlock:
        assert attempt(far, expression) == "PermissionError"
    assert run(far, "answer = 1") == 1


def test_honest_code_works_all_the_same(far: Student, site: tuple[Pool, Path]) -> None:
    """Under the whole sandbox: threads, temporary files, late imports, own sources, the clock, numpy's solvers."""
    source = """
        import concurrent.futures, inspect, datetime, json, sqlite3, tempfile, threading, zoneinfo
        import numpy as np
        import mini.probe
        with tempfile.TemporaryDirectory() as folder, open(folder + "/a", "w") as file:
            file.write("text")
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            squares = list(threads.map(lambda n: n * n, range(4)))
        answer = [squares, "def run" in inspect.getsource(mini.probe), datetime.datetime.now().year > 2000]
        answer.append(np.linalg.svd(np.eye(30))[1].sum())
        answer.append(bool(np.random.default_rng().random() < 1))
    """
    assert run(far, source) == [[0, 1, 4, 9], True, True, 30.0, True]


def test_own_memory_is_closed_to_others(far: Student) -> None:
    """A worker cannot be looked into by processes of its own user: what it left running, say."""
    assert attempt(far, "open('/proc/self/environ').read()") == "PermissionError"
    assert attempt(far, "open('/proc/self/mem', 'rb')") == "PermissionError"


def test_limits_are_set_hard(far: Student) -> None:
    """Each limit is what the cell says, and its hard limit too."""
    names = ["AS", "FSIZE", "NOFILE", "CORE", "NPROC", "CPU"]
    limits = run(
        far,
        "import resource; answer = {n: resource.getrlimit(getattr(resource, 'RLIMIT_' + n)) for n in names}",
        names=names,
    )
    assert limits == {
        "AS": (MEMORY << 20, MEMORY << 20),
        "FSIZE": (MAX_FILE, MAX_FILE),
        "NOFILE": (MAX_OPEN_FILES, MAX_OPEN_FILES),
        "CORE": (0, 0),
        "NPROC": (MAX_THREADS, MAX_THREADS),
        "CPU": (41, 42),
    }


def test_too_much_memory_is_a_memory_error(far: Student) -> None:
    """A memory bomb, in one block or in many, is an exception of the student's, and the worker lives."""
    assert attempt(far, "bytearray(1 << 33)") == "MemoryError"
    with pytest.raises(MemoryError):
        run(far, "import numpy as np; answer = np.ones(1 << 30)")
    with pytest.raises(MemoryError):
        run(far, "blocks = []\nwhile True: blocks.append(bytearray(1 << 26))")
    assert run(far, "answer = 1") == 1


def test_too_large_a_file_is_an_error(far: Student) -> None:
    """A file may not grow over its limit; the worker lives."""
    with pytest.raises(OSError, match="too large"):
        run(far, "file = open('large', 'wb', 0)\nwhile True: file.write(bytes(1 << 20))")
    assert run(far, "import os; answer = os.path.getsize('large')") == MAX_FILE


def test_too_many_open_files_are_an_error(far: Student) -> None:
    """Open files are limited."""
    with pytest.raises(OSError, match="Too many open files"):
        run(far, "files = []\nwhile True: files.append(open('/dev/null'))")


def test_too_many_threads_are_an_error(far: Student) -> None:
    """A thread bomb ends at the limit, and the worker lives."""
    count = run(
        far,
        """
        import ctypes, threading
        ctypes.CDLL(None).mallopt(-8, 1)  # no memory pool a thread: that would end them earlier
        threading.stack_size(1 << 16)
        over, answer = threading.Event(), 0
        try:
            while answer < 500:
                threading.Thread(target=over.wait, daemon=True).start()
                answer += 1
        except RuntimeError:
            pass
        over.set()
        """,
    )
    assert MAX_THREADS - 8 < count < MAX_THREADS


def test_worker_is_killed_first_when_memory_runs_out(far: Student) -> None:
    """The kernel's killer takes the worker, never the trusted process; and the worker cannot change that."""
    pid = run(far, "import os; answer = os.getpid()")
    assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"
    assert attempt(far, "open('/proc/self/oom_score_adj', 'w').write('0')") == "PermissionError"


def test_worker_is_told_to_die_with_its_zygote(far: Student) -> None:
    """The kernel kills the worker when the zygote dies: asked for after the change of user, which would undo it."""
    answer = run(
        far,
        """
        import ctypes
        number = ctypes.c_int()
        ctypes.CDLL(None).prctl(2, ctypes.byref(number), 0, 0, 0)
        answer = number.value
        """,
    )
    assert answer == signal.SIGKILL


def test_files_of_a_worker_are_its_own(far: Student) -> None:
    """What it writes is readable by nobody else."""
    path = run(far, "open('mine', 'w').close()\nimport os; answer = os.path.abspath('mine')")
    assert Path(path).stat().st_mode & 0o777 == 0o600


# The order of the steps, and what happens when one fails.


class Recorder:
    """Stands in for a module: writes down which of its functions was called."""

    def __init__(self, real: Any, steps: list[str], failing: str = "") -> None:
        self._real, self._steps, self._failing = real, steps, failing

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)
        if not callable(real) or isinstance(real, type):
            return real

        def record(*arguments: Any, **keywords: Any) -> Any:
            self._steps.append(name if name != "setrlimit" else f"setrlimit {arguments[0]}")
            if name == self._failing:
                raise PermissionError(name)
            return {"getppid": 77, "getresuid": (UID,) * 3, "getresgid": (UID,) * 3, "getgroups": []}.get(name)

        return record


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> list[str]:
    """The steps of ``confine``, none of them taken."""
    steps: list[str] = []
    failing = getattr(request, "param", "")
    monkeypatch.setattr(module, "os", Recorder(os, steps, failing))
    monkeypatch.setattr(module, "resource", Recorder(resource, steps, failing))
    monkeypatch.setattr(module, "prctl", lambda option, value: steps.append(f"prctl {option}"))
    monkeypatch.setattr(module, "_be_killed_first_when_memory_runs_out", lambda: steps.append("oom"))

    def restrict(*paths: object) -> int:
        steps.append("landlock")
        return 7

    monkeypatch.setattr(landlock, "restrict", restrict)
    monkeypatch.setattr(seccomp, "install", lambda pid: steps.append("seccomp"))
    return steps


def test_order_of_the_steps(steps: list[str]) -> None:
    """Limits while they may still be raised, /proc while it is ours, groups before gid before uid, then the rest."""
    confine(Cell(uid=UID, memory=100, cpu=5), parent=77)
    order = [step for step in steps if not step.startswith("setrlimit")]
    looks = ["getresuid", "getresgid", "getgroups"]
    takes_away = ["prctl 38", "landlock", "getpid", "seccomp", "prctl 1", "getppid"]
    assert order == ["oom", "umask", "setgroups", "setresgid", "setresuid", *looks, *takes_away]
    first_drop = steps.index("setgroups")
    limits = [place for place, step in enumerate(steps) if step.startswith("setrlimit")]
    assert len(limits) == 6
    assert max(limits) < first_drop


@pytest.mark.parametrize("uid", [0, -1, -5], ids=["root", "unchanged", "negative"])
def test_root_is_no_worker(steps: list[str], uid: int) -> None:
    """A worker that would stay root, because it is told to or because -1 changes nothing, does not come to be."""
    with pytest.raises(PermissionError, match=f"a worker cannot be user {uid}"):
        confine(Cell(uid=uid, memory=100, cpu=5), parent=77)
    assert not [step for step in steps if step.startswith("setres")]


def test_kernel_is_asked_who_we_are(steps: list[str]) -> None:
    """A change of user that did not happen is an error, even when no call failed."""
    with pytest.raises(PermissionError, match=f"should be user {UID + 1}, it is"):
        confine(Cell(uid=UID + 1, memory=100, cpu=5), parent=77)
    assert "prctl 1" not in steps


MAPS = {
    "no-namespace": ("0 0 4294967295", "0 0 4294967295", 4294967295),
    "container": ("0 100000 65536", "0 100000 65536", 65536),
    "two-ranges": ("0 1000 1\n1 100000 65536", "0 1000 1\n1 100000 65536", 65537),
    "groups-are-fewer": ("0 100000 65536", "0 1000 1", 1),
    "root-alone": ("0 1000 1", "0 1000 1", 1),
    "no-such-file": (None, None, 1 << 32),
}


@pytest.mark.parametrize(("uids", "gids", "count"), MAPS.values(), ids=MAPS)
def test_namespace_says_how_many_users_there_are(
    monkeypatch: pytest.MonkeyPatch, uids: str | None, gids: str | None, count: int
) -> None:
    """Where root is the only user that is mapped, a worker can have none of its own."""

    def read(path: str, **keywords: str) -> io.StringIO:
        text = uids if path.endswith("uid_map") else gids
        if text is None:
            raise FileNotFoundError(path)
        return io.StringIO(text)

    monkeypatch.setattr(module, "open", read, raising=False)
    assert module.mapped_ids() == count
    assert module.can_change_uid() is (count > 1)
    if count > 1:
        users = list(islice(_uids(), 600))
        assert max(users) < min(count, 2**32 - 1)
        assert min(users) >= 2048
        assert users[512:] == users[:88]


@pytest.mark.parametrize("steps", ["setgroups", "setresgid", "setresuid", "setrlimit"], indirect=True)
def test_failing_step_is_an_error(steps: list[str]) -> None:
    """Better no worker than a free one: the first failure ends it, and nothing further is done."""
    with pytest.raises(OSError, match="set"):
        confine(Cell(uid=UID, memory=100, cpu=5), parent=77)
    assert "prctl 1" not in steps


def test_without_a_uid_the_user_stays(steps: list[str]) -> None:
    """Without root a worker keeps its user; everything else is done all the same."""
    confine(Cell(uid=None, memory=100, cpu=5), parent=77)
    assert not [step for step in steps if step.startswith("setres") or step == "setgroups"]
    assert f"setrlimit {resource.RLIMIT_NPROC}" not in steps  # it would count all processes of this user
    assert steps[-6:] == ["prctl 38", "landlock", "getpid", "seccomp", "prctl 1", "getppid"]


@pytest.mark.parametrize("missing", ["landlock", "seccomp"], ids=["landlock", "seccomp"])
def test_what_the_kernel_lacks_is_reported(steps: list[str], monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """A kernel without Landlock or filters gives a worker all the same, and one that says so."""

    def refuse(*arguments: object) -> None:
        raise OSError(f"no {missing}")

    monkeypatch.setattr(module, missing, SimpleNamespace(restrict=refuse, install=refuse))
    kept = {"landlock": (0, True), "seccomp": (7, False)}[missing]
    if missing == "seccomp":
        monkeypatch.setattr(landlock, "restrict", lambda *paths: 7)
    got = confine(Cell(uid=UID, memory=100, cpu=5), parent=77)
    assert (got.own_user, got.landlock, got.filtered) == (True, *kept)
    assert steps[-2:] == ["prctl 1", "getppid"]


def test_failed_prctl_is_an_error() -> None:
    """The kernel's refusal is raised, with its reason."""
    with pytest.raises(OSError, match=re.escape("prctl(99999): Invalid argument")):
        module.prctl(99999, 0)


def in_child(source: str) -> int:
    """The exit code of a program."""
    return subprocess.run([sys.executable, "-c", source], cwd=ROOT, check=False).returncode


def test_child_of_a_dead_parent_ends() -> None:
    """A parent that died before the request to die with it is noticed."""
    assert in_child("import os; from autograder.confine import die_with; die_with(os.getppid() + 1); os._exit(7)") == 1
    assert in_child("import os; from autograder.confine import die_with; die_with(os.getppid()); os._exit(7)") == 7


def test_trusted_process_can_hide(tmp_path: Path) -> None:
    """After ``hide_from_others`` the process is not dumpable: others of its user cannot read it."""
    source = "import os, ctypes; from autograder.confine import hide_from_others; hide_from_others(); "
    assert in_child(source + "os._exit(10 + ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))") == 10
