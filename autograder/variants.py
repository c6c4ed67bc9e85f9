"""Texts of which every term gets another one, picked by its secret, so that last year's answers are no answers.

Trusted side; imports ``removal``, ``secret`` and ``feedback``. ``solutions/variants.toml`` has a table for each group::

    [corpus]
    choices = ['''
    the cow eats corn
    the cow eats hay
    ''', '''
    ...
    ''']

A text is whole lines without blank ones; in the sources it stands behind any indentation, also in a docstring. The
repository holds the choice of the development secret, and so do the files that are run from it; ``choose`` puts another
secret's choice wherever that one stands. What holds:

- A secret picks by HMAC: the same for everybody who has it, and no choice says anything about the secret.
- Every group's text stands in the package, and no text of it that was not picked.
- Without ``variants.toml``, as in the unpacked autograder zip, the sources are what they are.
"""

from __future__ import annotations

import hmac
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .feedback.assignment import Assignment
from .feedback.errors import InputError
from .removal import remove_tree
from .secret import DEVELOPMENT

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib

FILE = "solutions/variants.toml"


@dataclass(frozen=True)
class Group:
    """Texts of which a secret picks one. Each is a tuple of lines."""

    name: str
    choices: tuple[tuple[str, ...], ...]

    def pick(self, secret: bytes) -> int:
        """The index of a secret's choice. White space around the secret does not count."""
        digest = hmac.digest(secret.strip(), f"variant {self.name}".encode(), "sha256")
        return int.from_bytes(digest, "big") % len(self.choices)


def load_variants(root: Path) -> tuple[Group, ...]:
    """The groups of a repository; none where there is no ``variants.toml``.

    Raises:
        InputError: it is malformed, or one text of a group is a part of another.
    """
    path = root / FILE
    if not path.is_file():
        return ()
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{FILE}: {error}") from None
    return tuple(_group(name, table) for name, table in raw.items())


def choose(package: Mapping[str, bytes], groups: tuple[Group, ...], secret: bytes = DEVELOPMENT) -> dict[str, bytes]:
    """The files of a package with a secret's choices in the place of those of the development secret.

    Args:
        package: path below ``solutions`` -> content.
        groups: of ``load_variants``.
        secret: of the term.

    Raises:
        InputError: the package holds another choice than the development secret's, or none.
    """
    texts = {name: content.decode("utf-8").split("\n") for name, content in package.items() if name.endswith(".py")}
    for group in groups:
        held = group.pick(DEVELOPMENT)
        places = [(name, first, indent) for name in texts for first, indent in _runs(texts[name], group.choices[held])]
        for number, other in enumerate(group.choices):
            strays = [(name, first) for name in texts for first, _ in _runs(texts[name], other) if number != held]
            if strays:
                name, first = strays[0]
                raise InputError(
                    f"solutions/{name}:{first + 1} holds choice {number + 1} of {group.name!r} in {FILE}, but the "
                    f"development secret picks choice {held + 1}: put that text in its place"
                )
        if not places:
            raise InputError(
                f"{FILE}: no file of the package holds choice {held + 1} of {group.name!r}, which the development "
                "secret picks: put its text where the choice belongs"
            )
        chosen = group.choices[group.pick(secret)]
        for name, first, indent in reversed(places):  # from the end: texts have different lengths
            texts[name][first : first + len(group.choices[held])] = [indent + line for line in chosen]
    return {**package, **{name: "\n".join(lines).encode("utf-8") for name, lines in texts.items()}}


def refuse_elsewhere(files: Mapping[str, bytes], groups: tuple[Group, ...]) -> None:
    """Refuse a text of a group outside the package, where it would stay the same for every secret.

    Raises:
        InputError: naming the first such place.
    """
    for name, content in files.items():
        lines = content.decode("utf-8", "replace").split("\n")
        for group in groups:
            for choice in group.choices:
                for first, _ in _runs(lines, choice):
                    raise InputError(f"{name}:{first + 1} prints a choice of {group.name!r}, which the secret changes")


@contextmanager
def home_of(home: Path, assignment: Assignment, secret: bytes) -> Iterator[Path]:
    """A home whose package holds a secret's choices: ``home`` itself where it does, else a copy of what grading reads.

    The copy is closed to other users, and is removed on leaving.

    Args:
        home: the repository, or an unpacked zip, whose package has been chosen already.
        assignment: of that home.
        secret: of the term.

    Raises:
        InputError: as for ``choose``.
    """
    groups = load_variants(home)
    if all(group.pick(secret) == group.pick(DEVELOPMENT) for group in groups):
        yield home
        return
    source = home / "solutions" / assignment.package
    files = {
        path.relative_to(home / "solutions").as_posix(): path.read_bytes() for path in sorted(source.rglob("*.py"))
    }
    folder = Path(tempfile.mkdtemp(prefix="home-"))
    try:
        shutil.copyfile(home / "assignment.toml", folder / "assignment.toml")
        for tests in ("tests/public", "tests/hidden"):
            shutil.copytree(home / tests, folder / tests, ignore=shutil.ignore_patterns("__pycache__"))
        package = folder / "solutions" / assignment.package
        shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
        for name, content in choose(files, groups, secret).items():
            (folder / "solutions" / name).write_bytes(content)
        yield folder
    finally:
        remove_tree(folder)


def _group(name: str, table: object) -> Group:
    where = f"{FILE}: {name}"
    choices = table.get("choices") if isinstance(table, dict) and set(table) == {"choices"} else None
    if not isinstance(choices, list) or len(choices) < 2 or not all(isinstance(text, str) for text in choices):
        raise InputError(f"{where} needs choices = [...], two texts or more, and nothing else")
    group = Group(name, tuple(tuple(textwrap.dedent(text).strip("\n").split("\n")) for text in choices))
    for number, lines in enumerate(group.choices, 1):
        if any(not line.strip() or line != line.rstrip() for line in lines) or lines[0] != lines[0].lstrip():
            raise InputError(
                f"{where}: choice {number} has a blank line, an indented first line or spaces at the end of a line"
            )
        for other, text in enumerate(group.choices, 1):
            if other != number and any(_runs(list(text), lines)):
                raise InputError(f"{where}: choice {number} is a part of choice {other}")
    return group


def _runs(lines: list[str], text: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """(index, indentation) of every run of whole lines that is this text behind one and the same indentation."""
    for first in range(len(lines) - len(text) + 1):
        indent = lines[first].removesuffix(text[0])
        if not indent.strip() and lines[first : first + len(text)] == [indent + line for line in text]:
            yield first, indent
