"""In which language feedback is said. Everything inside is English; what is shown is translated line by line.

Messages are put together in many places, some of them in another process, which nobody trusts and which need not know
the reader's language. So it is the finished line that is read: a table says what each pattern of ours is in the other
language, ``{what} should be a number, not {other}`` for example, and what stands in the braces is read in the same way,
but for what the student's code said itself, ``{raw}``. What no pattern fits stays as it is: names, numbers, and the
words of Python itself.
"""

from __future__ import annotations

import locale
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from .assignment import LANGUAGES
from .chinese import MESSAGES
from .errors import InputError

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib

SAMPLE = {"en": "a", "zh": "\u4e2d"}  # what a console must be able to show
VARIABLE = "AUTOGRADER_LANG"
WORDS = "words.zh.toml"  # beside the tests: what their own words are in Chinese
_HOLE = re.compile(r"\{(\w*)\}")


class Language:
    """How a line, a title and a hint are said.

    Args:
        name: one of ``assignment.LANGUAGES``.
        words: patterns of the tests, pattern -> translation, beside those of this package.
    """

    def __init__(self, name: str = "en", words: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._exact: dict[str, str] = {}
        patterns: list[_Pattern] = []
        for rank, table in enumerate((MESSAGES, words or {}) if name == "zh" else ()):
            for text, translation in table.items():
                if _HOLE.search(text):
                    patterns.append(_compiled(text, translation, rank))
                else:
                    self._exact[text] = translation
        self._patterns = sorted(patterns, key=lambda pattern: pattern.rank)
        self._part = lru_cache(maxsize=8192)(self._said)
        self.line = lru_cache(maxsize=4096)(self._line)

    def __call__(self, text: str) -> str:
        """A text of any number of lines, in this language."""
        return "\n".join(map(self.line, text.split("\n"))) if self.name != "en" else text

    def _line(self, line: str) -> str:
        inner = line.strip(" ")
        if not inner:
            return line
        said = self._part(inner)
        return line if said == inner else line.replace(inner, _GAP.sub(" ", said))

    def _said(self, text: str) -> str:
        """A text, or what stood in a hole, without the blanks between Chinese and other letters."""
        if text in self._exact:
            return self._exact[text]
        for pattern in self._patterns:
            found = pattern.regex.fullmatch(text) if pattern.piece in text else None
            if found is not None:
                holes = zip(pattern.kinds, found.groups(), strict=True)
                said = [value if kind in _AS_IT_IS else self._part(value) for kind, value in holes]
                return "".join(part if isinstance(part, str) else said[part] for part in pattern.target)
        return text

    def title(self, thing: Any) -> str:
        """The title of an item, a part or the assignment."""
        return str(thing.title_zh if self.name == "zh" else thing.title)

    def sentence(self, text: str) -> str:
        """A text of a test's author: as a whole it is translated, or not at all. No pattern is about it."""
        return self._exact.get(text, text)

    def hint(self, text: str, text_zh: str) -> str:
        """The one of two texts that is in this language."""
        return text_zh if self.name == "zh" and text_zh else text


ENGLISH = Language()


def pieces_of(pattern: str) -> list[str]:
    """The texts between the holes of a pattern."""
    return _HOLE.split(pattern)[::2]


class _Pattern(NamedTuple):
    """A pattern, ready to be tried.

    ``rank``: the lowest that fits counts. ``piece``: its longest piece of text; what does not hold it does not fit.
    ``target``: the translation, texts and numbers of holes in turn.
    """

    rank: tuple[int, int]
    piece: str
    regex: re.Pattern[str]
    kinds: tuple[str, ...]
    target: tuple[str | int, ...]


def _compiled(text: str, translation: str, rank: int) -> _Pattern:
    """A pattern, and what it is in the other language, with the same holes in any order.

    First what the student's code raised: "ValueError: the state is wrong" are not our words. Then our sentences, then
    the tests' words in them; and what says most by itself first, since "{what} is wrong" fits nearly everything.
    """
    parts = _HOLE.split(text)
    texts, names = parts[::2], tuple(parts[1::2])
    kinds = tuple(name.rstrip("0123456789") for name in names)
    groups = [f"({_KINDS.get(kind, '.+?')})" for kind in kinds]
    regex = "".join(re.escape(piece) + group for piece, group in zip(texts, [*groups, ""], strict=True))
    weight = sum(map(len, texts)) + _WEIGHT * sum(kind in _KINDS and kind != "kind" for kind in kinds)
    unnamed = iter([number for number, name in enumerate(names) if not name])
    target = [
        part if number % 2 == 0 else names.index(part) if part else next(unnamed)
        for number, part in enumerate(_HOLE.split(translation))
    ]
    order = (-1 if "error" in kinds else rank, -weight)
    return _Pattern(order, max(texts, key=len), re.compile(regex), kinds, tuple(target))


# A hole of this name takes what fits only: "3 of 4 cases" is no name followed by a word.
_KINDS = {
    "n": r"\d+",
    "m": r"\d+",
    "k": r"[\d.]+",
    "number": r"[-+.\de]+(?:[ ]?%)?",
    "where": r"[A-Za-z_][\w.]*\.[\w.]+",
    "name": r"[\w.\-]+",
    "shape": r"\([\d, ]*\)",
    "index": r"\[[\d, ]*\]",
    "path": r"\[.*\]",
    "dtype": r"\S+|\[\(.*\)\]",
    "kind": r"[A-Za-z_]\w*",
    "error": r"[A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt|Iteration|Warning)",
}
_WEIGHT = 10  # in letters, of a hole that does not take everything
_AS_IT_IS = frozenset({"raw", "error", "n", "m", "k", "number", "where", "shape", "index", "path", "dtype"})
_CHINESE = r"[\u4e00-\u9fff]"
_GAP = re.compile(rf"(?<={_CHINESE})(?=[\w(\['\"<+-])|(?<=[\w)\]'\">%])(?={_CHINESE})", re.ASCII)


def chosen(asked: str | None = None, default: str = "en") -> str:
    """The language that somebody asks for: by name, by the variable ``AUTOGRADER_LANG``, or by the machine's own.

    Raises:
        InputError: it is none of ``LANGUAGES``.
    """
    name = asked or os.environ.get(VARIABLE)
    if name:
        if name not in LANGUAGES:
            raise InputError(f"no language {name!r}; there are {', '.join(LANGUAGES)}")
        return name
    named = next((value for key in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(key))), "")
    if not named and sys.platform == "win32":
        named = locale.getlocale()[0] or ""
    return "zh" if named.lower().startswith(("zh", "chinese")) else default


def words_in(folders: Iterable[Path]) -> dict[str, str]:
    """The words of the tests in these folders. A file that is broken costs its words and nothing else."""
    words: dict[str, str] = {}
    for folder in folders:
        try:
            told = tomllib.loads((folder / WORDS).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            continue
        for table in (table for table in told.values() if isinstance(table, dict)):
            words.update({key: value for key, value in table.items() if _is_translation(key, value)})
    return words


def _is_translation(text: str, translation: object) -> bool:
    """Whether both sides have the same holes."""
    return isinstance(translation, str) and sorted(_HOLE.findall(text)) == sorted(_HOLE.findall(translation))
