"""Runs an autograder zip as the platform does, without Docker, and says what the platform would make of it.

Trusted side, Linux and macOS. How it works::

    1. check    the zip: scripts at the root, LF, executable, a shebang (``image.read_archive``)
    2. build    its image once: setup.sh in a folder of its own, kept by what it depends on (``image.image_of``)
    3. lay out  a fresh AUTOGRADER_ROOT: source/, submission/, results/, submission_metadata.json, run_autograder
    4. run      ./run_autograder, as our user, its output to a file; at the time limit only the process itself is killed
    5. read     results.json through the platform's own post-processing (``gradescope.post``)

This is no second grader: everything about points happens in the zip's own run_autograder. What differs from the
platform: the base image is this machine, memory and CPU are not limited, a run has an AUTOGRADER_ROOT of its own (the
same for two runs at once would not do) in which the image's virtual environment is a link, and what run_autograder
leaves behind is ended when the results have been read (there, the container ends). With a root file system (``rootfs``)
only the last of these is left: the system is one of its own, memory and CPU are the platform's, AUTOGRADER_ROOT is
/autograder.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
import time
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from . import gradescope
from .archive import write_file, write_zip, zip_bytes
from .build import autograder_members
from .feedback.assignment import Assignment, load_assignment
from .feedback.errors import InputError
from .image import (
    HERE,
    Machine,
    Tell,
    default_cache,
    ends_within,
    furnish,
    image_of,
    open_cache,
    read_archive,
    run_folder,
)
from .metadata import metadata as default_metadata
from .metadata import read_metadata
from .rootfs import require, rootfs
from .secret import DEVELOPMENT, NAME
from .upload import MAX_MEMBERS, MAX_ZIP, FolderUpload, UnusableError, Upload, Where, open_upload, shown, size

ARCHIVE = Path("dist") / "autograder.zip"
_SWEEP_SECONDS = 1.0  # for what a killed grader leaves behind to end by itself


@dataclass(frozen=True)
class Simulated:
    """What the site has after a run.

    Attributes:
        outcome: ``posted``, ``missing``, ``invalid_json`` or ``failed``, as in ``gradescope.Posted``; ``timed_out``.
        rows: as the site shows them.
        score: the total that a student sees; None when one row is not visible, or nothing was posted.
        max_score: the rows' sum.
        message: what the student reads in place of rows; the text above the rows for ``posted``.
        stdout: what the instructor reads.
        status: the exit status of run_autograder, negative for a signal; None when it could not be started.
        seconds: how long it ran.
        problems: what the platform may not like, or what only luck has kept from going wrong; one line each.
        left_out: what of the submission does not arrive at the platform.
        document: results.json as the site stores it.
        memory: the most bytes that the run's processes had together; 0 where nobody counts.
        built: setup.sh ran for this simulation.
    """

    outcome: str
    rows: tuple[gradescope.Row, ...]
    score: float | None
    max_score: float
    message: str
    stdout: str
    status: int | None
    seconds: float
    problems: tuple[str, ...]
    left_out: tuple[str, ...]
    document: dict[str, Any] | None
    memory: int
    built: bool

    @property
    def failed(self) -> bool:
        """The grader, or its zip, is not as it should be; whatever the submission is worth."""
        return bool(self.problems)


def simulate(
    submission: Path,
    archive: Path,
    *,
    metadata: dict[str, Any] | None = None,
    cache: Path | None = None,
    timeout: float | None = None,
    results: Path | None = None,
    system: Path | None = None,
    tell: Tell = lambda line: None,
) -> Simulated:
    """Run an autograder zip on a submission as the platform does.

    Args:
        submission: a folder or a zip.
        archive: the autograder zip.
        metadata: submission_metadata.json; one of a submission in time by default. The rows must add up to its points.
        cache: where images are kept; other users must reach it when we are root.
        timeout: seconds, the platform's default if None.
        results: where to write what the site stores: the document, or null.
        system: a root file system to run in, see ``rootfs``; this machine's own if None.
        tell: told what takes long.

    Raises:
        InputError: the submission, the zip, the cache or the results path is unusable; nothing has been run.
        ImageError: setup.sh failed.
        GraderError: no root file system can be made or used.
    """
    checked = read_archive(archive)
    _require_writable(results)
    about = default_metadata() if metadata is None else metadata
    limit = gradescope.TIMEOUT if timeout is None else timeout
    if system is not None:
        require(system.absolute(), (cache or default_cache()).absolute())
    place = open_cache(cache)
    with ExitStack() as stack:
        folder = stack.enter_context(run_folder(place))
        uploaded = folder / "submission"
        left_out = _lay_out_submission(submission, uploaded)
        machine = HERE if system is None else stack.enter_context(rootfs(system, place, tell))
        image = stack.enter_context(image_of(checked, place, tell, machine))
        root = furnish(folder, image, checked, machine)
        if root != folder:
            uploaded.rename(root / "submission")
        (root / "results").mkdir()
        (root / "submission_metadata.json").write_text(json.dumps(about), encoding="utf-8")
        run = _run(machine, folder, limit)
        posted = _post(root, run, limit)
    if results is not None:
        write_file(results, json.dumps(posted.document, indent=1).encode("utf-8"))
    return _simulated(posted, run, _problems(posted, run, _points(metadata)), left_out, built=image.built)


def simulate_home(
    submission: Path,
    home: Path,
    *,
    metadata: Path | str | None = None,
    cache: Path | None = None,
    timeout: float | None = None,
    results: Path | None = None,
    system: Path | None = None,
    tell: Tell = lambda line: None,
) -> Simulated:
    """What ``autograder simulate`` does: bring dist/autograder.zip up to date, then simulate.

    Args:
        submission: a folder or a zip.
        home: the repository.
        metadata: a JSON file, or the name of a case of metadata.VARIANTS; ``on-time`` if None.
        timeout: the platform's limit that assignment.toml states, if None.

    The rest as for :func:`simulate`.
    """
    assignment = load_assignment(home / "assignment.toml")
    about = read_metadata(str(metadata or "on-time"), assignment.title, assignment.points)
    _require_writable(results)
    with open_upload(submission) as upload:  # a wrong path should not wait for a build
        if not any(True for _ in upload.entries(())):
            raise InputError(f"{submission}: nothing inside")
    return simulate(
        submission,
        fresh_archive(home, assignment, tell),
        metadata=about,
        cache=cache,
        timeout=assignment.budgets.platform if timeout is None else timeout,
        results=results,
        system=system,
        tell=tell,
    )


def fresh_archive(home: Path, assignment: Assignment, tell: Tell = lambda line: None) -> Path:
    """dist/autograder.zip, written anew when it is not what the sources give, with the secret that it had."""
    path = home / ARCHIVE
    present = path.read_bytes() if path.is_file() else b""
    secret = _secret_in(path)
    members = autograder_members(home, assignment, None if secret == DEVELOPMENT else secret)
    if zip_bytes(members) != present:
        tell(f"writing {ARCHIVE}, which was {'out of date' if present else 'not there'}")
        write_zip(path, members)
    return path


def _secret_in(path: Path) -> bytes | None:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(NAME)
    except (OSError, KeyError, zipfile.BadZipFile):
        return None


def _require_writable(results: Path | None) -> None:
    if results is None:
        return
    if results.is_dir():
        raise InputError(f"{results} is a folder; name a file for the results")
    if not results.parent.is_dir():
        raise InputError(f"{results.parent}: no such folder for the results")
    if not os.access(results.parent, os.W_OK | os.X_OK):
        raise InputError(f"{results.parent}: the results cannot be written there")


# --- the submission ---------------------------------------------------------------------------------------------


def _lay_out_submission(path: Path, into: Path) -> list[str]:
    """The files of a submission as the platform lays them out: a zip expanded, nested folders kept, files only.

    The platform's harness writes one regular file after another: links and empty folders do not arrive. Folders such
    as .git and .venv are not uploaded by anybody; in a zip they are kept.

    Returns:
        What was left out, a line each.
    """
    left_out: list[str] = []
    room, files = MAX_ZIP, 0
    with open_upload(path) as upload:
        into.mkdir()
        for where, name, kind in _walk(upload, ()):
            if kind != "file":
                left_out.append(f"{shown('/'.join((*where, name)))} is no regular file: the platform does not keep it")
                continue
            try:
                content = upload.read(where, name, room)
            except UnusableError as error:
                raise InputError(f"{path}: {shown('/'.join((*where, name)))} {error}") from None
            room, files = room - len(content), files + 1
            if room <= 0 or files > MAX_MEMBERS:
                raise InputError(f"{path}: more than {size(MAX_ZIP)} or {MAX_MEMBERS:,} files")
            folder = into.joinpath(*where)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        if not files:
            raise InputError(f"{path}: nothing inside")
        return left_out + upload.notes


def _walk(upload: Upload, where: Where) -> list[tuple[Where, str, str]]:
    found: list[tuple[Where, str, str]] = []
    for entry in upload.entries(where):
        if entry.kind != "folder":
            found.append((where, entry.name, entry.kind))
        elif not (isinstance(upload, FolderUpload) and entry.name.startswith(".")):
            found += _walk(upload, (*where, entry.name))
    return sorted(found)


# --- the run ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    """How run_autograder ended.

    Attributes:
        left_behind: some of its processes lived on.
        killed: how many of them the kernel ended for want of memory.
        memory: the most bytes that they had together, page cache included; 0 where nobody counts.
        error: why it could not be started.
    """

    stdout: bytes
    status: int | None
    seconds: float
    timed_out: bool = False
    left_behind: bool = False
    killed: int = 0
    memory: int = 0
    error: str = ""


def _run(machine: Machine, folder: Path, limit: float) -> _Run:
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        try:
            process = machine.start_run(["./run_autograder"], folder, output)
        except OSError as error:
            return _Run(b"", None, 0.0, error=f"run_autograder could not be started: {error.strerror}")
        timed_out = False
        try:
            process.wait(limit)
        except TimeoutExpired:
            timed_out = True
            process.kill()  # this process alone, as on the platform
            process.wait()
        except BaseException:
            machine.end(process)
            raise
        seconds = time.monotonic() - began
        left_behind = not ends_within(process.pid, _SWEEP_SECONDS)
        machine.end(process)
        output.seek(0)
        return _Run(
            output.read(),
            process.returncode,
            seconds,
            timed_out,
            left_behind,
            machine.killed_for_memory(),
            machine.most_memory(),
        )


def _post(root: Path, run: _Run, limit: float) -> gradescope.Posted:
    if run.error:
        return gradescope.lost(run.error)
    path = root / "results" / "results.json"
    if run.timed_out:
        return gradescope.post(json.dumps(gradescope.timed_out(limit, run.seconds)).encode("utf-8"), run.stdout)
    try:
        status = path.stat()
    except OSError:
        return gradescope.post(None, run.stdout)
    if not stat.S_ISREG(status.st_mode):
        return gradescope.lost(run.stdout.decode("utf-8", "replace"))
    return gradescope.post(path.read_bytes(), run.stdout)


def _problems(posted: gradescope.Posted, run: _Run, points: float | None) -> list[str]:
    problems: list[str] = []
    if run.error:
        problems.append(run.error)
    elif run.timed_out:
        problems.append(f"the run did not end within its time limit; all results are lost ({run.seconds:.0f} s)")
    elif run.status:
        problems.append(f"run_autograder ended with status {run.status}: the platform says that it failed")
    if run.killed:
        problems.append(f"{run.killed} processes were killed: more memory than the platform gives")
    if run.left_behind:
        problems.append("processes of the run lived on after it")
    if posted.outcome == "posted" and posted.document is not None and not run.timed_out:
        problems += dict.fromkeys([*posted.doubts, *gradescope.validate(posted.document, points)])
    elif posted.outcome != "posted" and not run.error:
        problems.append(_LOST[posted.outcome])
    return problems


_LOST = {
    "missing": "there is no results.json: the platform records a failure and no score",
    "invalid_json": "results.json is no JSON: the platform gives 0 points",
    "failed": "the platform's harness fails on this results.json: 0 points, all results are lost",
}


def _points(metadata: dict[str, Any] | None) -> float | None:
    """The assignment's points, where the caller has stated them."""
    try:
        return float((metadata or {})["assignment"]["total_points"])
    except (KeyError, TypeError, ValueError):
        return None


def _simulated(
    posted: gradescope.Posted, run: _Run, problems: list[str], left_out: list[str], *, built: bool
) -> Simulated:
    document = posted.document
    rows = gradescope.rows(document) if document is not None else ()
    score, most = gradescope.total(document) if document is not None else (None, 0.0)
    above = document.get("output") if document is not None else None
    return Simulated(
        outcome="timed_out" if run.timed_out else posted.outcome,
        rows=rows,
        score=score,
        max_score=most,
        message=posted.message or (above if isinstance(above, str) else ""),
        stdout=posted.stdout,
        status=run.status,
        seconds=run.seconds,
        problems=tuple(problems),
        left_out=tuple(left_out),
        document=document,
        memory=run.memory,
        built=built,
    )
