"""Helpers for tests of whole runs: a small assignment, submissions, and results that are validated before being read.

``run_and_read`` grades in isolation, ``read_inline`` runs the same tests in a process without a wire. Both apply every
rule of the platform and return typed rows: no test here looks at an unchecked results.json.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from autograder import gradescope
from autograder.build import package_members
from autograder.feedback.assignment import load_assignment
from autograder.grade import grade, make_job, staged
from autograder.host import Answer, Host

ROOT = Path(__file__).parents[2]
SCENARIOS = Path(__file__).with_name("scenarios")
POCKET = SCENARIOS / "pocket"  # the small assignment
NOT_GRADED = ("staff", "attacks", "kit", "writeup", "experiments", "__pycache__")  # no run reads these
LOWEST_UID = 10_000  # no worker has a lower one; whoever does is not ours to kill
PATIENCE = 30.0  # seconds after which something that must happen has not happened

HOST = Host()  # starts with the first job
atexit.register(HOST.close)


@dataclass(frozen=True)
class Row:
    """One row of results.json; ``status`` is empty when the row has none, which says that staff must look."""

    item: str
    name: str
    score: float
    most: float
    state: str
    status: str
    output: str
    tests: Mapping[str, str]


@dataclass(frozen=True)
class Run:
    """A run's results, validated.

    Attributes:
        rows: by slug, in the order of the assignment.
        output: what stands above the rows.
        staff: standard output, for staff only.
        failed: the grader itself failed.
        document: the whole document.
    """

    rows: Mapping[str, Row]
    output: str
    staff: str
    failed: bool
    document: Mapping[str, Any]

    @property
    def scores(self) -> dict[str, float]:
        return {slug: row.score for slug, row in self.rows.items()}

    @property
    def states(self) -> dict[str, str]:
        return {slug: row.state for slug, row in self.rows.items()}

    @property
    def total(self) -> float:
        return round(sum(row.score for row in self.rows.values()), 2)

    @property
    def text(self) -> str:
        """Everything that a student may read."""
        return "\n".join([self.output, *(f"{row.name}\n{row.output}" for row in self.rows.values())])

    @property
    def tests(self) -> dict[str, str]:
        """Test -> outcome, over all items."""
        return {name: state for row in self.rows.values() for name, state in row.tests.items()}


def run_and_read(submission: Path, home: Path = ROOT, **options: Any) -> Run:
    """Grade in isolation; ``options`` are those of ``autograder.grade.grade``. One host serves all tests."""
    graded = grade(submission, home, **{"host": HOST, **options})
    return read(graded.results, home, graded.staff, graded.failed)


def read(document: Any, home: Path, staff: str = "", failed: bool = False) -> Run:
    """Typed rows of a document, once it keeps every rule of the platform and these of ours.

    One row an item, in the order of the assignment; "passed" has all points, and a row that is not passed says why.
    """
    assignment = load_assignment(home / "assignment.toml")
    assert gradescope.validate(document, assignment.points) == []
    json.dumps(document, allow_nan=False)
    rows = {}
    for row in document["tests"]:
        extra = row["extra_data"]
        assert set(extra) == {"item", "tests", "state", "mistakes"}
        rows[extra["item"]] = Row(
            item=extra["item"],
            name=row["name"],
            score=row["score"],
            most=row["max_score"],
            state=extra["state"],
            status=row.get("status", ""),
            output=row["output"],
            tests=extra["tests"],
        )
    assert list(rows) == [item.slug for item in assignment.items]
    assert len(rows) == len(document["tests"])
    for row in rows.values():
        assert (row.status == "passed") <= (row.score == assignment.by_slug[row.item].points), row
        assert row.output, row
    return Run(rows, document["output"], staff, failed, document)


def read_file(path: Path, home: Path) -> Run:
    """The results that lie in a file, validated."""
    return read(json.loads(path.read_bytes()), home)


def read_inline(submission: Path, home: Path = ROOT, *, seed: int = 0, hidden: bool = True) -> Run:
    """The same tests inline, as ``pytest`` on a laptop runs them, in a process of their own; rows hold all messages."""
    command = [sys.executable, __file__, str(home), str(submission), str(seed), "hidden" if hidden else ""]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-3000:]
    return read(json.loads(done.stdout.splitlines()[-1]), home, done.stdout)


def copy_home(folder: Path, source: Path = POCKET, changes: Mapping[str, str] | None = None, budgets: str = "") -> Path:
    """A copy of an assignment's home, with some files replaced or added, and other budgets.

    Args:
        folder: where to; it must not exist.
        source: ``POCKET`` or ``ROOT``.
        changes: path below the home -> its text.
        budgets: lines of the [budgets] table.
    """
    folder.mkdir(parents=True)
    shutil.copyfile(source / "assignment.toml", folder / "assignment.toml")
    for name in ("solutions", "tests"):
        inside = [entry.name for entry in (source / name).iterdir() if entry.is_dir()]
        for part in (
            entry
            for entry in inside
            if entry not in ("staff", "attacks", "kit", "writeup", "experiments", "__pycache__")
        ):
            shutil.copytree(source / name / part, folder / name / part, ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in (changes or {}).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    if budgets:
        with (folder / "assignment.toml").open("a", encoding="utf-8") as file:
            file.write(f"\n[budgets]\n{budgets}\n")
    return folder


def write_submission(
    folder: Path, home: Path, changes: Mapping[str, str | None] | None = None, *, solved: bool = True
) -> Path:
    """A submission: the solved package or its stubs, with some files replaced by a text or (None) left out."""
    assignment = load_assignment(home / "assignment.toml")
    package = folder / assignment.package
    package.mkdir(parents=True)
    for path, member in package_members(home, assignment, None if solved else ()).items():
        name = path.rpartition("/")[2]
        if name in assignment.files:
            (package / name).write_bytes(member.content)
    for name, text in (changes or {}).items():
        if text is None:
            (package / name).unlink()
        else:
            (package / name).write_text(text, encoding="utf-8")
    return folder


# --- runs that are cut short ------------------------------------------------------------------------------------


@dataclass
class Session:
    """A session that runs in a host of its own, and the file that it writes."""

    host: subprocess.Popen[bytes]
    results: Path
    home: Path
    users: list[int] = field(default_factory=list)  # uids whose processes must not outlive the test

    def wait_for(self, condition: Callable[[Run], bool]) -> Run:
        """The results at the first moment at which ``condition`` holds."""

        def met() -> Run | None:
            if not self.results.is_file():
                return None
            run = read_file(self.results, self.home)
            return run if condition(run) else None

        return wait_until(met)

    @cached_property
    def pid(self) -> int:
        """Of the session itself."""
        return self._child(lambda pid: b"host.py" in command_line(pid))

    @cached_property
    def zygote(self) -> int:
        """Of the host's zygote."""
        return self._child(lambda pid: b"zygote.py" in command_line(pid))

    def _child(self, wanted: Callable[[int], bool]) -> int:
        return int(wait_until(lambda: [pid for pid in children(self.host.pid) if wanted(pid)])[0])

    def user(self, threads: int = 1) -> int:
        """The uid of the worker that runs now, once it has so many threads."""
        self.users.append(user_of(self.zygote, threads))
        return self.users[-1]

    def answer(self) -> Answer:
        """How it ended."""
        assert self.host.stdout is not None
        return msgspec.json.decode(self.host.stdout.readline(), type=Answer)


@contextmanager
def started(submission: Path, home: Path, results: Path) -> Iterator[Session]:
    """A session in a host of its own, as ``grade`` starts it. Killed on leaving."""
    assignment = load_assignment(home / "assignment.toml")
    with staged(submission, home, assignment) as (staging, taken):
        job = make_job(assignment, home, staging, taken, results)
        command = [sys.executable, "-I", "-B", str(ROOT / "autograder" / "host.py"), str(ROOT)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
            assert host.stdin is not None
            host.stdin.write(msgspec.json.encode(job) + b"\n")
            host.stdin.flush()
            session = Session(host, results, home)
            try:
                yield session
            finally:
                host.kill()
                for uid in session.users:
                    end_user(uid)


def wait_until(happened: Callable[[], Any]) -> Any:
    """Poll until the answer is true, and return it; fail after ``PATIENCE``."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = happened()
        if answer:
            return answer
        time.sleep(0.005)
    raise AssertionError(f"did not happen within {PATIENCE:g} s")


def children(pid: int) -> list[int]:
    """The live child processes of a process."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and _status(int(entry)).get("PPid") == str(pid):
            found.append(int(entry))
    return found


def command_line(pid: int) -> bytes:
    """The arguments of a process; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def user_of(zygote: int, threads: int) -> int:
    """The uid of a worker that a zygote has forked, once it runs so many threads."""

    def found() -> int | None:
        for worker in children(zygote):
            uid = _uid(worker)
            if uid is not None and uid >= LOWEST_UID and int(_status(worker).get("Threads", "0")) >= threads:
                return uid
        return None

    return int(wait_until(found))


def processes_of(uid: int) -> list[int]:
    """The live processes of a worker's user, zombies aside."""
    if uid < LOWEST_UID:
        raise ValueError(f"{uid} is no worker's user")
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and _uid(int(entry)) == uid and is_alive(int(entry)):
            found.append(int(entry))
    return found


def end_user(uid: int) -> None:
    """Kill what a failed test has left of a worker's user, and nobody else's processes."""
    for pid in processes_of(uid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    return not _status(pid).get("State", "Z").startswith(("Z", "X"))


def _uid(pid: int) -> int | None:
    """The real user of a process; None when it is gone."""
    uids = _status(pid).get("Uid", "").split()
    return int(uids[0]) if uids else None


def _status(pid: int) -> dict[str, str]:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return {}
    return {name: value for name, _, value in (line.partition(":\t") for line in text.splitlines())}


@contextmanager
def own_temporary_folder() -> Iterator[Path]:
    """A folder that stands for the machine's temporary folder meanwhile, to see what is left in it.

    Workers must pass through it, which pytest's private folders do not allow.
    """
    folder = Path(tempfile.mkdtemp(prefix="runs-"))
    folder.chmod(0o711)
    before, variable = tempfile.tempdir, os.environ.get("TMPDIR")
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        if variable is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = variable
        HOST.close()  # one that was started meanwhile would go on using the folder
        shutil.rmtree(folder)


def _main_inline(home: Path, submission: Path, seed: str, hidden: bool) -> int:
    """What ``read_inline`` starts: the last line of its output is the document."""
    import pytest

    from autograder import results
    from autograder.feedback import plugin as feedback
    from autograder.feedback.graded import GradedSession

    results.SHOWN_TESTS = results.SHOWN_MESSAGES = 10**6  # type: ignore[misc]
    found: list[GradedSession] = []

    class Catch:
        @pytest.hookimpl(trylast=True)
        def pytest_configure(self, config: pytest.Config) -> None:
            found.append(config.stash[feedback.SESSION])

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    arguments = [
        "-c",
        os.devnull,
        "--rootdir",
        str(home),
        "--noconftest",
        "-p",
        "no:cacheprovider",
        "--tb=native",
        "--seed",
        seed,
    ]
    arguments += ["-p", "autograder.feedback.plugin", "--import-mode=importlib", "--submission", str(submission)]
    arguments += ["-o", f"assignment={home / 'assignment.toml'}", str(home / "tests" / "public")]
    if hidden:
        arguments += ["--reference", str(home / "solutions"), str(home / "tests" / "hidden")]
    code = pytest.main(arguments, plugins=[Catch()])
    (session,) = found
    document = results.document(session.item_scores(), results.Heading(), session.leaderboard, 0.0)
    sys.stdout.write("\n" + json.dumps(document) + "\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(_main_inline(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], bool(sys.argv[4])))
