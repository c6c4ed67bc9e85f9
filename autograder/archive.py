"""Zips and generated folders whose bytes depend on their contents alone.

Trusted side; imports ``feedback.errors`` only. What holds:

- A zip is the same on every machine, day and Python: names sorted, stored and not deflated (deflate's bytes depend on
  the zlib at hand), dated 1980-01-01, modes and creator system explicit.
- A zip or a folder is whole or as it was: written beside its place, then renamed.
- A written folder holds its members and nothing else: stale files go.
- A name is a plain relative path that means the same file on Linux, macOS and Windows.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .feedback.errors import InputError

_NAME = re.compile(r"[A-Za-z0-9._+-]+(/[A-Za-z0-9._+-]+)*")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # on Windows, with any ending
_UNIX = 3
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Member:
    """One file of a zip or a folder."""

    content: bytes
    mode: int = 0o644


def zip_bytes(members: Mapping[str, Member]) -> bytes:
    """The zip of these members, by name.

    Raises:
        InputError: a name or a mode will not do.
    """
    check_members(members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = _UNIX
            info.external_attr = (stat.S_IFREG | members[name].mode) << 16
            archive.writestr(info, members[name].content)
    return buffer.getvalue()


def write_zip(path: Path, members: Mapping[str, Member]) -> bytes:
    """Write the zip of these members, and return its bytes. The file is whole, or as it was.

    Raises:
        InputError: a name or a mode will not do, or the file cannot be written.
    """
    content = zip_bytes(members)
    write_file(path, content)
    return content


def write_file(path: Path, content: bytes) -> None:
    """Write a file through a temporary one beside it: it is whole, or as it was.

    Raises:
        InputError: it cannot be written.
    """
    with _said(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with open(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o644)  # mkstemp's own is 0600
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise


def write_tree(folder: Path, members: Mapping[str, Member]) -> None:
    """Make a folder hold these members and nothing else.

    The new folder is written beside the old one and takes its place by two renames. A run that is killed between them
    leaves the old folder as ``.NAME.old``, and the next one puts it back first.

    Raises:
        InputError: a name or a mode will not do, the path is no folder, or it cannot be written; then the folder is
            as it was.
    """
    check_members(members)
    old = folder.with_name(f".{folder.name}.old")
    with _said(folder):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise InputError(f"{folder} is in the way: it should be a folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        _put_back(folder, old)
        new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            _fill(new, members)
            if folder.exists():
                os.rename(folder, old)
            try:
                os.rename(new, folder)
            except BaseException:
                _put_back(folder, old)
                raise
        except BaseException:
            shutil.rmtree(new)
            raise
        if old.exists():
            shutil.rmtree(old)


def read_tree(folder: Path, skip: re.Pattern[str]) -> dict[str, bytes]:
    """All files under a folder, by their path in it, but for files and folders whose whole name matches ``skip``.

    Raises:
        InputError: something in it is no regular file, such as a link, or cannot be read.
    """
    contents: dict[str, bytes] = {}
    with _said(folder):
        for path in sorted(folder.iterdir()):
            mode = path.lstat().st_mode
            if skip.fullmatch(path.name):
                continue
            if stat.S_ISDIR(mode):
                contents.update({f"{path.name}/{name}": content for name, content in read_tree(path, skip).items()})
            elif stat.S_ISREG(mode):
                contents[path.name] = path.read_bytes()
            else:
                raise InputError(f"{path} is no regular file")
    return contents


def check_members(members: Mapping[str, Member]) -> None:
    """Refuse what would not be the same file everywhere.

    Raises:
        InputError: naming the member.
    """
    seen: dict[str, str] = {}
    for name in sorted(members):
        parts = name.split("/")
        if not _NAME.fullmatch(name) or any(part.endswith(".") or _RESERVED.fullmatch(part) for part in parts):
            raise InputError(f"{name!r} cannot be the name of a file on every system")
        if members[name].mode not in (0o600, 0o644, 0o755):
            raise InputError(f"{name}: mode {members[name].mode:#o} is none of 0600, 0644 and 0755")
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise InputError(f"{name} and {other} differ in case only")
    for name in members:
        parts = name.lower().split("/")
        for depth in range(1, len(parts)):
            if "/".join(parts[:depth]) in seen:
                raise InputError(f"{name}: {'/'.join(name.split('/')[:depth])} is a file as well")


def _fill(folder: Path, members: Mapping[str, Member]) -> None:
    for name, member in members.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(member.content)
    # explicit, whatever the umask
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else members[path.relative_to(folder).as_posix()].mode)
    folder.chmod(0o755)


def _put_back(folder: Path, old: Path) -> None:
    """After a run that was killed between its two renames, or one whose second rename failed."""
    if old.exists():
        if folder.exists():
            shutil.rmtree(old)
        else:
            os.rename(old, folder)


@contextmanager
def _said(path: Path) -> Iterator[None]:
    """An error of the system as one line about the path."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
