"""What must not be in the handout: solutions, hidden tests, the catalogue of mistakes, the secret of a term.

Trusted side; pure; imports ``archive``, ``regions`` and ``feedback.errors``. What holds after :func:`scan`:

- No line of a solution stands anywhere in the handout, unless it also stands as code in given files: then it is
  listed, and the solution as a whole is more than such lines.
- No line and no name of a hidden test stands in it, unless it also stands in given code or in a public test.
- No line of a mistake, an alternative or a hint stands in it, unless it also stands as code in one of these.
- No file of these, no solution that is not Python, and not the secret, stands in it as a whole.

Lines are compared with every run of white space as one space, from 21 characters on, inside comments and longer lines
too. What is shorter says too little: ``return total`` is in every program.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .archive import Member
from .feedback.errors import InputError
from .regions import find_regions
from .syntax import parse

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib

LONGEST_THAT_SAYS_NOTHING = 20
# of a solution with this many long lines not every one may be a coincidence
COINCIDENCES = 3
_WORD = re.compile(r"\w\w")
_CATALOGUE_TEXT = ("old", "new", "hint", "hint_zh")


@dataclass(frozen=True)
class Line:
    """A line with white space normalised, and where it stands."""

    text: str
    file: str
    number: int

    @property
    def place(self) -> str:
        return f"{self.file}:{self.number}"


class _Text:
    """Many lines, to be searched at once. They are read when they are first asked for."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._source = lines

    @cached_property
    def _lines(self) -> list[Line]:
        return list(self._source)

    @cached_property
    def _joined(self) -> str:
        return "\n".join(line.text for line in self._lines)

    def find(self, words: str) -> Line | None:
        """The first line that holds these words, not as a part of longer ones."""
        place = self._joined.find(words)
        while place >= 0:
            before, after = self._joined[place - 1 : place], self._joined[place + len(words) : place + len(words) + 1]
            if not (_WORD.match(words[0] + before) or _WORD.match(words[-1] + after)):
                return self._lines[self._joined.count("\n", 0, place)]
            place = self._joined.find(words, place + 1)
        return None


def scan(
    handout: Mapping[str, Member],
    *,
    given: Collection[str],
    public: Collection[str],
    solutions: Mapping[str, bytes],
    hidden: Mapping[str, bytes],
    catalogue: Mapping[str, bytes],
    secret: bytes,
) -> list[str]:
    """Look for what must not be in the handout.

    Args:
        handout: everything that students get.
        given: names in the handout of given code: the package and the parts of the grader in it.
        public: names in the handout of public tests.
        solutions: the submission files, by path in the repository; those that are Python have regions.
        hidden: the hidden tests, likewise.
        catalogue: mistakes and alternatives, likewise.
        secret: what the hidden inputs are made from.

    Returns:
        A line for each line of a solution that also stands in given code.

    Raises:
        InputError: something leaks. Names file and line in the handout, and where it comes from.
    """
    everything = _Text(line for name, member in handout.items() for line in _lines(name, member.content))
    code = _Text(line for name in given if name.endswith(".py") for line in code_lines(name, handout[name].content))
    tests = _Text(line for name in public for line in _lines(name, handout[name].content))
    public_code = [name for name in public if name.endswith(".py")]
    test_code = _Text(line for name in public_code for line in code_lines(name, handout[name].content))
    shared: list[str] = []
    found: list[str] = []

    python = {path: content for path, content in solutions.items() if path.endswith(".py")}
    for path, content in python.items():
        for lines in solution_lines(path, content):
            twins = 0
            for line in lines:
                copy = everything.find(line.text)
                twin = code.find(line.text) if copy is not None else None
                if twin is not None:
                    twins += 1
                    shared.append(f"{line.place} also stands in given code, {twin.place}: {line.text}")
                elif copy is not None:
                    found.append(f"{copy.place} repeats the solution at {line.place}")
            if twins == len(lines) >= COINCIDENCES:
                found.append(f"given code holds the whole solution at {lines[0].place}")
    for line in _hidden(hidden):
        copy = everything.find(line.text)
        if copy is not None and tests.find(line.text) is None and code.find(line.text) is None:
            found.append(f"{copy.place} repeats the hidden test at {line.place}")
    for line in _catalogue(catalogue):
        copy = everything.find(line.text)
        if copy is not None and test_code.find(line.text) is None and code.find(line.text) is None:
            found.append(f"{copy.place} repeats the catalogue at {line.place}")
    other = [(path, content) for path, content in solutions.items() if path not in python]
    private = {content: path for path, content in (*hidden.items(), *catalogue.items(), *other) if content.strip()}
    for name, member in handout.items():
        if member.content in private:
            found.append(f"{name} is a copy of {private[member.content]}")
        if secret.strip() and secret.strip() in member.content:
            number = member.content[: member.content.index(secret.strip())].count(b"\n") + 1
            found.append(f"{name}:{number} holds the secret")
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise InputError(f"leak in the handout: {found[0]}{more}")
    return shared


def _lines(file: str, content: bytes) -> Iterator[Line]:
    """All lines of a text file; none of a binary one."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return
    for number, line in enumerate(text.split("\n"), 1):
        yield Line(" ".join(line.split()), file, number)


def _long(lines: Iterable[Line]) -> list[Line]:
    return [line for line in lines if len(line.text) > LONGEST_THAT_SAYS_NOTHING]


def code_lines(file: str, content: bytes) -> Iterator[Line]:
    """The lines of a Python file without comments and docstrings, where a solution would be no coincidence."""
    source = content.decode("utf-8")
    lines = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for row in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[row - 1] = ""
    for number, line in enumerate(lines, 1):
        yield Line(" ".join(line.split()), file, number)


def solution_lines(path: str, content: bytes) -> Iterator[list[Line]]:
    """The long lines of each region."""
    lines = list(_lines(path, content))
    for region in find_regions(content.decode("utf-8"), path)[1]:
        yield _long(lines[region.first : region.last - 1])


def _hidden(files: Mapping[str, bytes]) -> Iterator[Line]:
    """The long lines of hidden tests, and the names of their functions."""
    for path, content in files.items():
        lines = list(_lines(path, content))
        yield from _long(lines)
        for line in lines:
            name = re.match(r"(?:async )?def (test\w*)", line.text)
            if name:
                yield Line(name[1], path, line.number)


def _catalogue(files: Mapping[str, bytes]) -> Iterator[Line]:
    """The long lines of what the entries replace, put in its place, and hint at."""
    for path, content in files.items():
        try:
            texts = list(_texts(tomllib.loads(content.decode("utf-8"))))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: {error}") from None
        for text in texts:
            for line in _long(_lines(path, text.encode("utf-8"))):
                yield Line(line.text, path, _number(content, line.text))


def _texts(table: dict[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if key in _CATALOGUE_TEXT and isinstance(value, str):
            yield value
        elif isinstance(value, list):
            for entry in value:
                if isinstance(entry, dict):
                    yield from _texts(entry)


def _number(content: bytes, words: str) -> int:
    """The line of a file that holds these words; 1 when they are written with escapes."""
    return next((line.number for line in _lines("", content) if words in line.text), 1)
