"""What is compared: the code of submissions, read as text and never run, and what everybody has anyway."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...build import package_members
from ...feedback.assignment import Assignment
from ...feedback.errors import InputError
from ...proof.catalogue import load_alternatives
from ...secret import DEVELOPMENT
from ...submission import take
from ..export import read_export
from .fingerprints import Prints, fingerprints

Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Work:
    """One submission.

    Attributes:
        name: of the submission.
        people: keys of who handed it in.
        who: their names, to be shown.
        earlier: it is of an earlier term, and is not compared with its like.
        sources: file -> text.
        prints: file -> fingerprints, without those of the handout.
        binaries: file that is no code -> digest.
    """

    name: str
    people: frozenset[str]
    who: str
    earlier: bool
    sources: dict[str, str]
    prints: dict[str, Prints]
    binaries: dict[str, str]


def works(path: Path, home: Path, assignment: Assignment, earlier: bool, tell: Tell) -> Iterator[Work]:
    """The submissions of an export or folder; of two of the same person only the last.

    Raises:
        InputError: there are none, or copydetect is not installed.
    """
    boilerplate = handout_prints(home, assignment)
    listed = [pair for pair in read_export(path, assignment).submissions if pair[0].active]
    for number, (handed, source) in enumerate(listed, start=1):
        with source.unpacked() as folder:
            files = _files(folder, assignment)
        sources = {name: content.decode("utf-8") for name, content in files.items() if name.endswith(".py")}
        own = {
            name: Prints({key: lines for key, lines in fingerprints(text).lines.items() if key not in boilerplate})
            for name, text in sources.items()
        }
        people = [person.name or person.key for person in handed.people]
        yield Work(
            name=f"{path.name}/{handed.submission}" if earlier else handed.submission,
            people=frozenset(person.key for person in handed.people),
            who=", ".join(people) or handed.submission,
            earlier=earlier,
            sources=sources,
            prints={name: prints for name, prints in own.items() if prints.lines},
            binaries={
                name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name not in sources
            },
        )
        tell(number, len(listed))


def handout_prints(home: Path, assignment: Assignment) -> frozenset[int]:
    """What the handout explains: stubs and given files."""
    members = package_members(home, assignment, (), DEVELOPMENT)
    texts = (member.content.decode("utf-8") for name, member in members.items() if name.endswith(".py"))
    return frozenset[int]().union(*(fingerprints(text).hashes for text in texts))


def published(home: Path, assignment: Assignment) -> dict[str, frozenset[int]]:
    """What anybody could have read: the solutions, and the alternatives, each by its name."""
    boilerplate = handout_prints(home, assignment)
    solved = package_members(home, assignment, None, DEVELOPMENT)
    found = {
        f"solutions: {file}": fingerprints(solved[f"{assignment.package}/{file}"].content.decode("utf-8")).hashes
        for file in assignment.files
        if file.endswith(".py") and f"{assignment.package}/{file}" in solved
    }
    folder = home / "tests" / "alternatives"
    for entry in load_alternatives(folder, assignment) if folder.is_dir() else ():
        text = "\n".join(change.new for change in entry.changes)
        found[f"alternative: {entry.id}"] = fingerprints(text).hashes
    return {name: prints - boilerplate for name, prints in found.items() if prints - boilerplate}


def _files(folder: Path, assignment: Assignment) -> dict[str, bytes]:
    """The submission files, as grading takes them; none of an upload that it refuses."""
    with tempfile.TemporaryDirectory(prefix="autograder-compare-") as name:
        try:
            taken = take(folder, assignment, Path(name))
        except InputError:
            return {}
        return {file: (Path(name) / assignment.package / file).read_bytes() for file in taken.files}


def owners(every: Iterable[Work]) -> list[frozenset[str]]:
    """Who each work is of: its people, or itself where they are not known."""
    return [work.people or frozenset([f"submission {work.name}"]) for work in every]
