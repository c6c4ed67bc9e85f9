"""What a grade depends on, as digests: the grader as a whole, and each item's own part of it.

The grader is what a run reads, with the secret, and the libraries that are installed. An item has the test files that
hold its tests for itself, and shares all else: so a changed test file leaves the other items alone.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from ..feedback.assignment import Assignment
from ..feedback.errors import InputError
from ..submission import Taken

ENGINE = Path(__file__).resolve().parents[1]
# rooms that no run enters: whoever changes the report need not grade a class again
_NO_PART_OF_A_RUN = ("cli", "proof", "authoring", "docs", "classroom")
_LIBRARIES = ("numpy", "torch", "pytest")  # what outcomes may depend on


class GraderDigests:
    """The digests of a grader.

    Args:
        home: the repository, or an unpacked zip.
        assignment: of that home.
        secret: of the term.
        owners: test ("hidden/test_x.py::test_y") -> slug of its item.

    Raises:
        InputError: a file of the grader cannot be read.
    """

    def __init__(self, home: Path, assignment: Assignment, secret: bytes, owners: Mapping[str, str]) -> None:
        files = _files(home, assignment, secret)
        tests: dict[str, set[str]] = {}
        for test, slug in owners.items():
            file = test.partition("::")[0]
            tests.setdefault(slug, set()).add(file if file.startswith("hidden/") else f"public/{file}")
        of_items = {f"tests/{file}" for mine in tests.values() for file in mine}
        shared = {name: content for name, content in files.items() if name not in of_items}
        common = digest(_named(shared), _versions())
        self.whole = digest(_named(files), _versions()).hex()
        self.items: dict[str, bytes] = {
            item.slug: digest(
                [common, item.slug.encode()],
                _named({name: files[name] for name in (f"tests/{file}" for file in tests.get(item.slug, ()))}),
            )
            for item in assignment.items
        }


def digest(*groups: Iterable[bytes]) -> bytes:
    """Of texts in their order; no two different lists have the same."""
    found = hashlib.sha256()
    for group in groups:
        for text in group:
            found.update(len(text).to_bytes(8, "big") + text)
        found.update(b"\xff" * 8)
    return found.digest()


def content_digest(taken: Taken, files: Mapping[str, bytes]) -> str:
    """Of what was taken from a submission, and of what is said about it."""
    said = [*taken.notes, *(f"{name} {why}" for name, why in sorted(taken.rejected.items()))]
    return digest(_named(files), (line.encode("utf-8", "surrogatepass") for line in said)).hex()


def _named(files: Mapping[str, bytes]) -> Iterable[bytes]:
    for name in sorted(files):
        yield name.encode()
        yield files[name]


def _files(home: Path, assignment: Assignment, secret: bytes) -> dict[str, bytes]:
    """What a run reads, by path: the home's assignment, package and tests, the engine, and the secret."""
    package = f"solutions/{assignment.package}"
    found = {"assignment.toml": home / "assignment.toml"}
    for folder in (package, "tests/public", "tests/hidden"):
        found.update({path.relative_to(home).as_posix(): path for path in _below(home / folder)})
    for path in _below(ENGINE):
        name = path.relative_to(ENGINE)
        if name.parts[0] not in _NO_PART_OF_A_RUN:
            found[f"autograder/{name.as_posix()}"] = path
    try:
        return {"secret": secret, **{name: path.read_bytes() for name, path in found.items()}}
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}") from None


def _below(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def _versions() -> Iterable[bytes]:
    yield platform.python_version().encode()
    for name in _LIBRARIES:
        try:
            yield f"{name} {metadata.version(name)}".encode()
        except metadata.PackageNotFoundError:
            yield name.encode()
