"""The image of an autograder zip: a folder as the platform's build leaves it, kept for the next simulation.

Trusted side, Linux and macOS. How it works::

    cache/                        for root /var/cache/autograder, which other users can reach; else ~/.cache/autograder
      images/<key>/               AUTOGRADER_ROOT while setup.sh runs: source/ and what setup.sh makes, such as venv/
      images/<key>/.complete      written last; an image without it is thrown away and built again
      locks/<key>                 exclusive while an image is built or removed, shared while it is used
      runs/<random>/              one simulation each (``simulate``)

The key is made from what setup.sh depends on: itself, its lists of requirements, and the Pythons of this machine. A
changed test is a new zip, but no new image: ``furnish`` gives each run its own source/, always that of the zip, with
the modes and additions of setup.sh. A virtual environment cannot be moved, so an image is built in its place.

Every program of a zip is started by a ``Machine``: this one as it is, or a root file system of its own (``rootfs``).
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .archive import Member
from .feedback.errors import GraderError, InputError
from .gradescope import clean
from .upload import MAX_ZIP, safe_parts, size

KEPT_IMAGES = 3
RUN_AGE = 86_400  # seconds after which the folder of a run that was killed is removed
SCRIPTS = ("setup.sh", "run_autograder")
_ROOT_CACHE = Path("/var/cache/autograder")
_COMPLETE = ".complete"
_LOG = "setup.log"
_DEPENDS = re.compile(r"setup\.sh|pyproject\.toml|constraints[^/]*\.txt|requirements[^/]*\.txt")
_PYTHONS = ("python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# what a build needs on machines with a proxy, a mirror or certificates of their own, and the choice of a Python
_PASSED_ON = re.compile(r"(?i)(pip|uv)_.*|.*_proxy|ssl_cert_.*|.*_ca_bundle|python")
_RUNS_OWN = {"source", "submission", "results", "submission_metadata.json", "run_autograder", _LOG, _COMPLETE}
_LOG_LINES = 15
_KILL_SECONDS = 5.0  # the kernel needs a moment to end what was killed

Tell = Callable[[str], None]


class ImageError(GraderError):
    """setup.sh failed. The message has the end of its output, and where the rest is."""


# --- the zip ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Archive:
    """An autograder zip, read: its members by name, and the SHA-256 of its bytes."""

    path: Path
    digest: str
    members: dict[str, Member]


def read_archive(path: Path) -> Archive:
    """Read an autograder zip, and refuse one that the platform would not run, or only after mending it.

    Raises:
        InputError: no such file, no zip, or the first of ``problems_of`` it.
    """
    try:
        count = path.stat().st_size
        if count > MAX_ZIP:
            raise InputError(f"{path}: is {size(count)}; the platform takes {size(MAX_ZIP)}")
        content = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            if sum(info.file_size for info in infos) > MAX_ZIP:
                raise InputError(f"{path}: holds more than {size(MAX_ZIP)}")
            members = {info.filename: Member(archive.read(info), info.external_attr >> 16) for info in infos}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError):
        raise InputError(f"{path}: not a zip archive, or a damaged one") from None
    problems = problems_of(members)
    if problems:
        raise InputError(f"{path}: {problems[0]}" + (f" (and {len(problems) - 1} more)" if problems[1:] else ""))
    return Archive(path, hashlib.sha256(content).hexdigest(), members)


def problems_of(members: dict[str, Member]) -> list[str]:
    """What is wrong with the members of an autograder zip, one line each; the script that is missing first."""
    problems: list[str] = []
    for script in SCRIPTS:
        if script not in members:
            nested = [name for name in members if name.endswith(f"/{script}")]
            problems.append(
                f"{script} lies in {nested[0].rpartition('/')[0]}/: zip the files, not the folder"
                if nested
                else f"there is no {script} at the root"
            )
    for script in SCRIPTS:
        if script in members:
            problems += [f"{script} {problem}" for problem in _problems_of_script(members[script])]
    for name, member in members.items():
        if safe_parts(name) != tuple(name.split("/")):
            problems.append(f"{name!r} is no plain path")
        if stat.S_IFMT(member.mode) not in (0, stat.S_IFREG):
            problems.append(f"{name} is a link or something else that is no file")
    return problems


def _problems_of_script(script: Member) -> Iterator[str]:
    if script.content.startswith(b"\xef\xbb\xbf"):
        yield "begins with a byte order mark"
    elif not re.match(rb"#!/\S+[^\n]*\n", script.content):
        yield "does not begin with #! and the path of an interpreter"
    if b"\r" in script.content:
        yield "has Windows line ends"
    if not script.mode & stat.S_IXUSR:
        yield "is not executable"


# --- the cache --------------------------------------------------------------------------------------------------


def default_cache() -> Path:
    """Where images are kept: for root a place that other users can reach, since student code runs as another user."""
    if os.geteuid() == 0:
        return _ROOT_CACHE
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "autograder"


def open_cache(cache: Path | None = None) -> Path:
    """The cache folder, made when there is none, and found to be ours alone to write to.

    Raises:
        InputError: it cannot be made, is a link or no folder, or other users may write to it.
    """
    cache = (cache or default_cache()).absolute()
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        for folder in (cache, cache / "images", cache / "locks", cache / "runs"):
            with suppress(FileExistsError):
                folder.mkdir()
                folder.chmod(0o755)
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode):
                raise InputError(f"{folder} should be a folder, and no link to one")
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                raise InputError(f"{folder} belongs to another user, or others may write to it: remove it")
    except OSError as error:
        raise InputError(f"{cache}: {error.strerror}") from None
    return cache


@contextmanager
def _locked(cache: Path, key: str, kind: int) -> Iterator[None]:
    """Hold the lock of one image; BlockingIOError with LOCK_NB when somebody else does."""
    with (cache / "locks" / key).open("ab") as file:
        fcntl.flock(file, kind)
        yield


def _remove_old(cache: Path, key: str) -> None:
    """Keep this image and the most recently used others; what is in use stays."""
    others = [folder for folder in (cache / "images").iterdir() if folder.name != key]
    others.sort(key=lambda folder: _used(folder), reverse=True)
    for folder in others[KEPT_IMAGES - 1 :]:
        with suppress(BlockingIOError), _locked(cache, folder.name, fcntl.LOCK_EX | fcntl.LOCK_NB):
            # the marker first: a removal that is cut short must not leave something that looks whole
            (folder / _COMPLETE).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)


def _used(folder: Path) -> float:
    try:
        return (folder / _COMPLETE).stat().st_mtime
    except OSError:
        return 0.0


@contextmanager
def run_folder(cache: Path) -> Iterator[Path]:
    """A fresh folder for one run, reachable for other users, removed on leaving."""
    runs = cache / "runs"
    for old in runs.iterdir():
        with suppress(OSError):
            if time.time() - old.lstat().st_mtime > RUN_AGE:
                shutil.rmtree(old, ignore_errors=True)
    folder = runs / os.urandom(6).hex()
    try:
        folder.mkdir()
        folder.chmod(0o755)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# --- building ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Image:
    """A finished image. ``root`` is its AUTOGRADER_ROOT; ``built`` says that setup.sh ran just now."""

    folder: Path
    root: Path
    built: bool


class Machine:
    """Where the programs of a zip run: here, on this machine as it is. ``rootfs.Rootfs`` is the other kind.

    A folder here is that of an image, or of a run; in it lies an AUTOGRADER_ROOT.
    """

    @property
    def key(self) -> object:
        """What setup.sh depends on besides the zip."""
        pythons = [os.path.realpath(shutil.which(name, path=_path()) or "") for name in _PYTHONS]
        return sys.platform, os.uname().machine, os.environ.get("PYTHON"), pythons

    def root(self, folder: Path) -> Path:
        """The AUTOGRADER_ROOT in a folder, as it is called from here."""
        return folder

    def open(self, folder: Path, below: Image | None) -> Path:
        """Make the AUTOGRADER_ROOT in a new folder: of an image, or of a run of the image ``below``."""
        if below is None:
            (folder / "tmp").mkdir()
            (folder / "tmp").chmod(0o755)
        return folder

    def adopt(self, root: Path, below: Image) -> None:
        """Let a run see what its image has beyond the zip."""
        for entry in below.root.iterdir():
            if entry.name not in _RUNS_OWN:
                (root / entry.name).symlink_to(entry)

    def close_build(self, folder: Path) -> None:
        """As the platform does: nothing left in temporary folders survives."""
        shutil.rmtree(folder / "tmp")

    def start_build(self, program: Sequence[str], folder: Path, output: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a program of the build step."""
        return start(program, folder, output, **passed_on(), TMPDIR=str(folder / "tmp"))

    def start_run(self, program: Sequence[str], folder: Path, output: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a program of a run."""
        return start(program, folder, output)

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """End what a program has left behind."""
        kill_group(process)

    def most_memory(self) -> int:
        """The most bytes that the run's processes had together; 0 where nobody counts."""
        return 0

    def killed_for_memory(self) -> int:
        """How many processes of the last program have been killed for want of memory."""
        return 0


HERE = Machine()


def key_of(archive: Archive, machine: Machine = HERE) -> str:
    """A name for everything that setup.sh depends on."""
    digest = hashlib.sha256()
    for name in sorted(archive.members):
        if _DEPENDS.fullmatch(name):
            digest.update(f"{name}\0{len(archive.members[name].content)}\0".encode())
            digest.update(archive.members[name].content)
    digest.update(repr(machine.key).encode())
    return digest.hexdigest()[:20]


@contextmanager
def image_of(archive: Archive, cache: Path, tell: Tell, machine: Machine = HERE) -> Iterator[Image]:
    """The image of a zip: built when there is none, and kept from being removed until the block is left.

    Raises:
        ImageError: setup.sh failed.
    """
    key = key_of(archive, machine)
    folder = cache / "images" / key
    built = False
    while True:
        with _locked(cache, key, fcntl.LOCK_SH):
            if (folder / _COMPLETE).is_file():
                os.utime(folder / _COMPLETE)
                _remove_old(cache, key)
                yield Image(folder, machine.root(folder), built)
                return
        # a lock cannot be widened without letting go of it: look again under the exclusive one, then start over
        with _locked(cache, key, fcntl.LOCK_EX):
            if not (folder / _COMPLETE).is_file():
                tell(f"building the image of {archive.path.name} in {folder} (once)")
                _build(archive, folder, machine)
                built = True


def _build(archive: Archive, folder: Path, machine: Machine) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    folder.chmod(0o755)
    root, log = machine.open(folder, None), folder / _LOG
    source = root / "source"
    source.mkdir()
    source.chmod(0o755)
    for name, member in archive.members.items():
        _write(source, name, member)
    with log.open("wb") as output:
        process = machine.start_build(["bash", "source/setup.sh"], folder, output)
        try:
            status = process.wait()
        except BaseException:
            machine.end(process)
            raise
    if status:
        lines = clean(log.read_text(encoding="utf-8", errors="replace")).strip().splitlines()[-_LOG_LINES:]
        said = "\n".join(f"  {line}" for line in lines)
        raise ImageError(f"setup.sh ended with status {status}; all of its output is in {log}, the end:\n{said}")
    machine.close_build(folder)
    temporary = folder / f"{_COMPLETE}.new"
    temporary.write_text(json.dumps({"archive": archive.digest, "members": sorted(archive.members)}), encoding="utf-8")
    temporary.replace(folder / _COMPLETE)


def furnish(folder: Path, image: Image, archive: Archive, machine: Machine = HERE) -> Path:
    """Give a run what the image holds: its own source/, a copy of run_autograder, and the rest as the machine does.

    Returns:
        Its AUTOGRADER_ROOT.
    """
    root = machine.open(folder, image)
    source = root / "source"
    shutil.copytree(image.root / "source", source, symlinks=True)
    made_from = json.loads((image.folder / _COMPLETE).read_text(encoding="utf-8"))
    if made_from["archive"] != archive.digest:
        for name in made_from["members"]:
            if name not in archive.members:
                (source / name).unlink(missing_ok=True)
        for name, member in archive.members.items():
            path = source / name
            if path.is_file() and not path.is_symlink():
                if path.read_bytes() != member.content:
                    path.write_bytes(member.content)  # keeps the mode that setup.sh gave it
            else:
                _write(source, name, member)
    machine.adopt(root, image)
    shutil.copyfile(source / "run_autograder", root / "run_autograder")
    (root / "run_autograder").chmod(0o755)
    return root


def _write(folder: Path, name: str, member: Member) -> None:
    path = folder / name
    for parent in reversed(path.relative_to(folder).parents):
        if not (folder / parent).is_dir():
            (folder / parent).mkdir()
            (folder / parent).chmod(0o755)
    path.write_bytes(member.content)
    path.chmod(stat.S_IMODE(member.mode) & 0o755 or 0o644)


# --- processes --------------------------------------------------------------------------------------------------


def start(program: Sequence[str], root: Path, output: IO[bytes], **more: str) -> subprocess.Popen[bytes]:
    """Start a program of the zip as the platform does: in ``root``, no terminal, no input, a small environment.

    It leads a process group of its own, so that what it leaves behind can be found.
    """
    home = os.environ.get("HOME", "/")
    return subprocess.Popen(
        list(program),
        cwd=root,
        env={"PATH": _path(), "HOME": home, "LANG": "C.UTF-8", "AUTOGRADER_ROOT": str(root), **more},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        umask=0o022,
    )


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and everything else of its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    ends_within(process.pid, _KILL_SECONDS)


def ends_within(group: int, seconds: float) -> bool:
    """Whether every process of a group is gone within this time."""
    deadline = time.monotonic() + seconds
    while alive(group):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def alive(group: int) -> bool:
    """Whether a process of this group still runs; a zombie that nobody waits for does not."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    stats = list(Path("/proc").glob("[0-9]*/stat"))
    if not stats:  # macOS
        return True
    for path in stats:
        with suppress(OSError):
            state, _, member_of = path.read_text(encoding="ascii", errors="replace").rpartition(") ")[2].split()[:3]
            if int(member_of) == group and state not in "ZX":
                return True
    return False


def passed_on() -> dict[str, str]:
    """What of our own environment a build gets."""
    return {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}


def _path() -> str:
    """The platform's PATH, then what this machine has beyond it."""
    folders = [*PATH.split(":"), *os.environ.get("PATH", "").split(":")]
    return ":".join(dict.fromkeys(filter(None, folders)))
