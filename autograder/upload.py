"""A folder or a zip that somebody handed in, listed and read without trusting it. Trusted side.

* No link is followed, below the path that the caller gave.
* A zip is never extracted: its members are read by name, and none has a name that leads out of it.
* What is read is capped while it is read, whatever a header says.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .feedback.errors import InputError

MAX_ZIP = 100_000_000  # bytes; what the platform takes in one upload
MAX_MEMBERS = 10_000
BYTES_A_MEMBER = 400  # of a zip's table of contents, for each: a long name
MAX_DEPTH = 20  # folders in folders
_SHOWN_NAME = 60

Where = tuple[str, ...]  # names of folders, from the top of the submission down


class UnusableError(Exception):
    """One file cannot be taken. ``str()`` continues a sentence that begins with its name."""


@dataclass(frozen=True)
class Entry:
    """One entry of a folder or zip; ``kind`` is folder, file, link or other."""

    name: str
    kind: str


def shown(name: str) -> str:
    """A student's file name, fit for a message: printable and short."""
    text = "".join(c if c.isprintable() else "?" for c in name)
    return text if len(text) <= _SHOWN_NAME else f"{text[: _SHOWN_NAME - 1]}…"


def size(count: int) -> str:
    """A number of bytes for people: 200 kB, 12.5 MB."""
    if count < 1_000_000:
        return f"{count / 1000:.4g} kB"
    return f"{count / 1_000_000:.1f} MB" if count < 1_000_000_000 else f"{count / 1_000_000_000:.1f} GB"


def open_upload(path: Path, largest: int = MAX_ZIP, members: int = MAX_MEMBERS) -> FolderUpload | ZipUpload:
    """What lies at a path, to be used in a ``with`` statement.

    Args:
        path: a folder or a zip.
        largest: bytes that a zip may have.
        members: files that a zip may hold.

    Raises:
        InputError: no such path, neither a folder nor a zip, or a zip that is damaged or too large.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError:  # a NUL in it
        raise InputError(f"{str(path)!r}: not a path") from None
    if stat.S_ISDIR(status.st_mode):
        return FolderUpload(path)
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path}: neither a folder nor a zip archive")
    try:
        return ZipUpload(path, status.st_size, largest, members)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


class FolderUpload:
    """A folder. No link below it is followed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []

    def __enter__(self) -> FolderUpload:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def entries(self, where: Where) -> Iterator[Entry]:
        """The entries of one folder, in no particular order."""
        try:
            with os.scandir(self.path.joinpath(*where)) as found:
                for entry in found:
                    yield Entry(entry.name, _kind(entry))
        except OSError as error:
            if not where:
                raise InputError(f"{self.path}: {error.strerror}") from None
            self.notes.append(f"the folder {shown('/'.join(where))} cannot be read")

    def read(self, where: Where, name: str, cap: int) -> bytes:
        """The content of one file of at most ``cap`` bytes, or UnusableError."""
        # O_NONBLOCK: opening a pipe must not wait for a writer
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            with open(os.open(self.path.joinpath(*where, name), flags), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise UnusableError("is not a regular file")
                _fits(status.st_size, cap)
                return _capped(file, cap)
        except OSError as error:
            raise UnusableError(f"cannot be read: {error.strerror}") from None


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


class ZipUpload:
    """A zip. Members are read by name; nothing is extracted."""

    def __init__(self, path: Path, count: int, largest: int = MAX_ZIP, most: int = MAX_MEMBERS) -> None:
        self.path = path
        self.notes: list[str] = []
        self._folders: dict[Where, dict[str, Entry]] = {(): {}}
        self._members: dict[Where, zipfile.ZipInfo] = {}
        if count > largest:
            raise InputError(f"{path}: is {size(count)}; at most {size(largest)} are taken")
        self._file = path.open("rb")
        try:
            self._zip = zipfile.ZipFile(_OneReadCapped(self._file, most))
            if len(self._zip.infolist()) > most:
                raise _too_many(most)
            for member in self._zip.infolist():
                self._add(member)
        except InputError as error:
            self._file.close()
            raise InputError(f"{path}: {error}") from None
        except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError, OverflowError, EOFError):
            self._file.close()
            raise InputError(f"{path}: not a zip archive, or a damaged one") from None

    def __enter__(self) -> ZipUpload:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()

    def entries(self, where: Where) -> Iterable[Entry]:
        """The entries of one folder, in no particular order."""
        return self._folders.get(where, {}).values()

    def read(self, where: Where, name: str, cap: int) -> bytes:
        """The content of one file of at most ``cap`` bytes, or UnusableError."""
        member = self._members[(*where, name)]
        if member.flag_bits & 0x1:
            raise UnusableError("is encrypted; make the archive without a password")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnusableError("is compressed in an unusual way; make an ordinary zip")
        _fits(member.file_size, cap)
        try:
            with self._zip.open(member) as file:
                return _capped(file, cap)
        except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError):
            raise UnusableError("is damaged in the archive; make the zip again") from None

    def _add(self, member: zipfile.ZipInfo) -> None:
        parts = safe_parts(member.filename)
        if not parts:
            self.notes.append(f"{shown(member.filename)!r} was left out: its name leads out of the archive")
            return
        if len(parts) > MAX_DEPTH:
            self.notes.append(f"{shown(member.filename)!r} was left out: it lies more than {MAX_DEPTH} folders deep")
            return
        for depth in range(1, len(parts)):
            self._put(parts[:depth], "folder")
        if member.filename.endswith(("/", "\\")):
            self._put(parts, "folder")
            return
        if parts in self._members:
            self.notes.append(f"{shown('/'.join(parts))} is in the archive twice: the last one counts")
        self._members[parts] = member
        mode = stat.S_IFMT(member.external_attr >> 16)
        self._put(parts, "link" if mode == stat.S_IFLNK else "file" if mode in (0, stat.S_IFREG) else "other")

    def _put(self, parts: Where, kind: str) -> None:
        if kind == "folder":
            self._folders.setdefault(parts, {})
        self._folders.setdefault(parts[:-1], {})[parts[-1]] = Entry(parts[-1], kind)


class _OneReadCapped:
    """A file that refuses one huge read: zipfile reads the whole table of contents at once, before it counts."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file, self._most = file, most
        self.seek, self.tell, self.seekable, self.close = file.seek, file.tell, file.seekable, file.close

    def read(self, count: int = -1) -> bytes:
        if count > BYTES_A_MEMBER * self._most:
            raise _too_many(self._most)
        return self._file.read(count)


def safe_parts(name: str) -> Where:
    """A zip member's name as folder names; empty when it is absolute, has ``..`` or is no name at all.

    Backslashes are separators: some Windows tools write them.
    """
    name = name.replace("\\", "/")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in parts or "\0" in name or (parts and re.match(r"[A-Za-z]:", parts[0])):
        return ()
    return parts


def _too_many(most: int) -> InputError:
    return InputError(f"holds too many files; at most {most:,}")


def _fits(count: int, cap: int) -> None:
    if count > cap:
        raise UnusableError(f"is {size(count)}; at most {size(cap)} are taken")


def _capped(file: IO[bytes], cap: int) -> bytes:
    """A file's content; its size may have been a lie."""
    content = file.read(cap + 1)
    _fits(len(content), cap)
    return content


Upload = FolderUpload | ZipUpload
