"""Grade one submission: stage it where workers can read it, run the session in another process, read the results."""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from .confine import can_change_uid
from .feedback.assignment import Assignment, load_assignment
from .feedback.errors import GraderError, InputError
from .host import BAD_JOB, Host
from .removal import remove_tree
from .secret import secret_of
from .session import OK, Job
from .strip import stamp_of
from .submission import Taken, take
from .variants import home_of

SPARE_SECONDS = 30.0  # beyond the run's own budget, before the session is killed


@dataclass(frozen=True)
class Graded:
    """The results of one submission.

    Attributes:
        results: the document of results.json.
        staff: what the session said to staff.
        failed: the grader itself failed in part.
    """

    results: dict[str, Any]
    staff: str
    failed: bool

    @property
    def scores(self) -> dict[str, float]:
        """Item slug -> score."""
        return {row["extra_data"]["item"]: row["score"] for row in self.results["tests"]}

    @property
    def states(self) -> dict[str, str]:
        """Item slug -> state."""
        return {row["extra_data"]["item"]: row["extra_data"]["state"] for row in self.results["tests"]}

    @property
    def total(self) -> float:
        """The sum of all scores."""
        return round(sum(self.scores.values()), 2)


def grade(
    submission: Path,
    home: Path,
    *,
    results: Path | None = None,
    secret: bytes | None = None,
    items: Sequence[str] = (),
    tests: Sequence[str] = (),
    host: Host | None = None,
    budgets: Mapping[str, float] | None = None,
    enough: bool = False,
) -> Graded:
    """Grade a folder or a zip in isolation.

    Args:
        submission: what the student handed in.
        home: holds assignment.toml, solutions/ and tests/.
        results: where results.json is to be written; None to keep it to ourselves.
        secret: seed of the hidden inputs, and what picks the variants; None for the one that lies in ``home``, or the
            development secret.
        items: only these items, by slug.
        tests: only these tests, as "file::function".
        budgets: seconds in place of those of assignment.toml, by name.
        host: runs the session; None for one of its own. A caller with many submissions keeps one.
        enough: do not try an item any further once it has lost points.

    Raises:
        InputError: the submission, the home or the results path is unusable.
        GraderError: nothing could be graded.
    """
    assignment = load_assignment(home / "assignment.toml")
    require_reachable()
    secret = secret or secret_of(home)
    with home_of(home, assignment, secret) as home, staged(submission, home, assignment) as (staging, taken):
        job = make_job(assignment, home, staging, taken, results or staging / "results.json", secret, items, tests)
        job = msgspec.structs.replace(job, budgets=dict(budgets or {}), enough=enough)
        try:  # those of an earlier run must not be taken for this one's
            Path(job.results).unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"cannot write {job.results}: {error.strerror}") from None
        runner = Host() if host is None else host
        try:
            answer = runner.run(job, assignment.budgets.run + SPARE_SECONDS)
        except BaseException:  # Ctrl-C: nobody waits for this session any more
            runner.kill()
            raise
        finally:
            if host is None:
                runner.close()
        if answer.code == BAD_JOB:
            raise InputError(answer.stderr.strip().rpartition("\n")[2] or "the session refused its job")
        if not Path(job.results).is_file():  # refused, or killed before its first word
            said = answer.stdout.strip() or answer.stderr.strip() or "the session left no results"
            raise GraderError(said.rpartition("\n")[2])
        document = json.loads(Path(job.results).read_text(encoding="utf-8"))
    staff = "\n".join(part for part in (answer.stdout, answer.stderr) if part)
    return Graded(document, staff, failed=answer.code != OK)


@contextmanager
def staged(
    submission: Path, home: Path, assignment: Assignment, *, accept_nothing: bool = False
) -> Iterator[tuple[Path, Taken]]:
    """A fresh folder: submission/<package> (our given files, the student's others), given/<package> (ours alone)
    and scratch/.

    Others may pass through it and read the package, nothing else; it is removed on leaving. With ``accept_nothing``
    (the platform: whoever uploads the wrong thing gets rows that say so) an unusable submission is an empty one.
    """
    staging = Path(tempfile.mkdtemp(prefix="autograder-"))
    try:
        alone = staging / "given" / assignment.package
        folders = ((staging, 0o711), (staging / "submission", 0o755), (staging / "scratch", 0o711))
        for folder, mode in (*folders, (alone.parent, 0o755), (alone, 0o755)):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        solved = sorted((home / "solutions" / assignment.package).glob("*.py"))
        given = [file for file in solved if file.name not in {*assignment.files, *assignment.left_out}]
        try:
            taken = take(submission, assignment, staging / "submission", [file.name for file in given])
        except InputError as error:
            if not accept_nothing:
                raise
            reason = str(error).rpartition(": ")[2]
            taken = Taken((), tuple(assignment.files), {}, (f"Nothing could be taken from the upload: {reason}.",))
        package = staging / "submission" / assignment.package
        package.mkdir(exist_ok=True)
        package.chmod(0o755)
        for file in given:
            for place in (package, alone):
                shutil.copyfile(file, place / file.name)
                (place / file.name).chmod(0o644)
        yield staging, taken
    finally:
        remove_tree(staging)


def make_job(
    assignment: Assignment,
    home: Path,
    staging: Path,
    taken: Taken,
    results: Path,
    secret: bytes | None = None,
    items: Sequence[str] = (),
    tests: Sequence[str] = (),
) -> Job:
    """The session's job for a staged submission."""
    received = f"Received {len(taken.files)} of {len(assignment.files)} files."
    versions = f"Python {platform.python_version()}, numpy {np.__version__}."
    lines = (
        f"{received} {versions} Run {secrets.token_hex(3)}.",
        *_older_stubs(assignment, staging, taken),
        *taken.notes,
    )
    unavailable = {name: f"{name} was not handed in" for name in taken.missing}
    unavailable |= {name: f"{name} {why}" for name, why in taken.rejected.items()}
    return Job(
        home=str(home.resolve()),
        staging=str(staging),
        results=str(results.absolute()),
        secret=(secret or secret_of(home)).hex(),
        items=tuple(items),
        lines=lines,
        unavailable=unavailable,
        tests=tuple(tests),
    )


def _older_stubs(assignment: Assignment, staging: Path, taken: Taken) -> list[str]:
    """A line for each file that was made from another version of the handout."""
    lines = []
    for name in (name for name in taken.files if name.endswith(".py")):
        source = (staging / "submission" / assignment.package / name).read_text(encoding="utf-8", errors="replace")
        version = stamp_of(source)
        if version is not None and version != assignment.version:
            lines.append(
                f"{name} began as a stub of version {version}, graded is version {assignment.version}: "
                "see what has changed in the handout."
            )
    return lines


def require_reachable() -> None:
    """Workers run as another user: the interpreter and this engine must be readable for everybody.

    Raises:
        InputError: naming the folder in the way.
    """
    if not can_change_uid():
        return
    paths = [
        Path(sys.executable).resolve(),
        Path(os.__file__).resolve(),
        Path(np.__file__).resolve(),
        Path(__file__).resolve(),
    ]
    for path in (*paths, Path(sys.prefix).resolve(), Path(tempfile.gettempdir()).resolve()):
        for step in (path, *path.parents):
            mode = step.stat().st_mode
            wanted = stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
            if not mode & wanted:
                raise InputError(
                    f"{step} is closed to other users, and student code runs as another user: "
                    f"open that folder to them (chmod o+x), or keep {path} somewhere else"
                )
