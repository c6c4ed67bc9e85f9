"""Helpers for the tests of the engine: small packages, the three ways to reach one, and a socket made of bytes."""

from __future__ import annotations

import os
import shutil
import struct
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from autograder import wire
from autograder.deadlines import Deadlines
from autograder.feedback.assignment import Assignment, Budgets, Item, Part
from autograder.feedback.inline import InlineLink
from autograder.feedback.loading import forget
from autograder.feedback.values import Flat
from autograder.pool import Pool

PACKAGE = "mini"
ITEM = Item("work", "Work", "Work", 1.0, "work.py")
TORCH_ITEM = Item("torch_work", "Work", "Work", 1.0, "work.py", torch=True)

# A module whose one function runs code of the test's on the student's side.
PROBE = """
    import textwrap

    def run(source, **names):
        space = dict(names)
        exec(textwrap.dedent(source), space)
        return space.get("answer")
"""


def write_package(folder: Path, modules: Mapping[str, str], name: str = PACKAGE) -> Path:
    """A package of these modules, readable by every user. Returns ``folder``."""
    package = folder / name
    package.mkdir(parents=True)
    for module, source in {"__init__": "", **modules}.items():
        (package / f"{module}.py").write_text(textwrap.dedent(source), encoding="utf-8")
    for path in (folder, package, *package.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


@contextmanager
def open_folder() -> Iterator[Path]:
    """A temporary folder that other users may pass through: pytest's own are private."""
    folder = Path(tempfile.mkdtemp(prefix="engine-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def make_assignment(**budgets: float) -> Assignment:
    """An assignment with an item that needs numpy and one that needs torch; generous budgets unless given."""
    values: dict[str, Any] = {"call": 20.0, "test": 60.0, "item": 1e5, "run": 1e6, "platform": 2e6, **budgets}
    part = Part("part", "1", "Part", "Part", (ITEM, TORCH_ITEM))
    by_slug = {item.slug: item for item in part.items}
    return Assignment("Mini", "Mini", "1", PACKAGE, (part,), {ITEM.file: 1000}, Budgets(**values), by_slug=by_slug)


@contextmanager
def open_pool(
    modules: Mapping[str, str], reference: Mapping[str, str] | None = None, **budgets: float
) -> Iterator[tuple[Pool, Path]]:
    """A pool for a package of these modules, and the folder in which everything lies."""
    with open_folder() as folder:
        write_package(folder / "submission", modules)
        write_package(folder / "reference", reference or {})
        (folder / "reference").chmod(0o700)
        scratch = folder / "scratch"
        scratch.mkdir()
        scratch.chmod(0o711)
        assignment = make_assignment(**budgets)
        deadlines = Deadlines(assignment.budgets)
        pool = Pool(assignment, folder / "submission", scratch, deadlines, folder / "reference")
        try:
            yield pool, folder
        finally:
            pool.close()


@contextmanager
def unchanged_imports(package: str = PACKAGE) -> Iterator[None]:
    """Undo what an inline link does to the import path of this process."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before
        forget(package)


class Stream:
    """A socket's sending and receiving ends in one, over bytes: what is sent can be received."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)
        self.waits: list[float | None] = []

    def sendall(self, part: bytes) -> None:
        self.data += part

    def recv_into(self, view: memoryview) -> int:
        count = min(len(view), len(self.data))
        view[:count] = self.data[:count]
        del self.data[:count]
        return count

    def settimeout(self, seconds: float | None) -> None:
        self.waits.append(seconds)


def as_bytes(number: int, word: str, flat: Flat) -> bytes:
    """One frame."""
    stream = Stream()
    wire.send(stream, number, word, flat)  # type: ignore[arg-type]
    return bytes(stream.data)


def from_bytes(data: bytes) -> tuple[int, str, Flat]:
    """The frame that these bytes are."""
    return wire.receive(Stream(data))  # type: ignore[arg-type]


class Loopback:
    """A link whose requests and answers become bytes, and are read from them, without leaving this process."""

    def __init__(self, folder: Path, package: str) -> None:
        self._inline = InlineLink(folder, package)
        self._number = 0

    def ask(self, request: str, arguments: Flat) -> tuple[str, Flat]:
        """See ``handles.Link``."""
        self._number += 1
        _, word, flat = from_bytes(as_bytes(self._number, request, arguments))
        _, status, reply = from_bytes(as_bytes(self._number, *self._inline.ask(word, flat)))
        return status, reply


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal with their types, bit by bit: NaN is NaN, 0.0 is not -0.0, order counts."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a), list(b)) and same(list(a.values()), list(b.values()))
    if isinstance(a, set):
        return a == b and same(sorted(a, key=repr), sorted(b, key=repr))
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, complex):
        return same((a.real, a.imag), (b.real, b.imag))
    if isinstance(a, slice):
        return same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    return bool(a == b)


def processes() -> set[int]:
    """The ids of all processes that run, zombies aside."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit() and is_alive(int(entry)):
            found.add(int(entry))
    return found


def is_alive(pid: int) -> bool:
    """Whether a process runs: a zombie does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")
