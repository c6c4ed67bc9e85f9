"""In which language feedback is said. Everything inside is English; what is shown is translated line by line.

Messages are put together in many places, some of them in another process, which nobody trusts and which need not know
the reader's language. So it is the finished line that is read: a table says what each pattern of ours is in the other
language, ``{what} should be a number, not {other}`` for example, and what stands in the braces is read in the same way.
What no pattern fits stays as it is: names, numbers, and the words of Python itself.
"""

from __future__ import annotations

import locale
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from .assignment import LANGUAGES
from .chinese import MESSAGES
from .errors import InputError

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib

VARIABLE = "AUTOGRADER_LANG"
WORDS = "words.zh.toml"  # beside the tests: what their own words are in Chinese
_HOLE = re.compile(r"\{(\w*)\}")


class Language:
    """How a line, a title and a hint are said.

    Args:
        name: one of ``assignment.LANGUAGES``.
        words: patterns of the tests, pattern -> translation, before those of this package.
    """

    def __init__(self, name: str = "en", words: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._exact: dict[str, str] = {}
        patterns: list[tuple[int, re.Pattern[str], str]] = []
        if name == "zh":
            for pattern, translation in {**(words or {}), **MESSAGES}.items():
                if _HOLE.search(pattern):
                    patterns.append(_compiled(pattern, translation))
                else:
                    self._exact[pattern] = translation
        # what says most by itself comes first: "{what} is wrong" fits nearly everything
        self._patterns = [(regex, target) for _, regex, target in sorted(patterns, key=lambda row: -row[0])]
        self.line = lru_cache(maxsize=4096)(self._line)

    def __call__(self, text: str) -> str:
        """A text of any number of lines, in this language."""
        return "\n".join(map(self.line, text.split("\n"))) if self.name != "en" else text

    def _line(self, line: str) -> str:
        inner = line.strip(" ")
        return line.replace(inner, self._said(inner)) if inner else line

    def _said(self, text: str) -> str:
        if text in self._exact:
            return self._exact[text]
        for pattern, translation in self._patterns:
            found = pattern.fullmatch(text)
            if found is not None:
                return translation.format(**{name: self._said(value) for name, value in found.groupdict().items()})
        return text

    def title(self, thing: Any) -> str:
        """The title of an item, a part or the assignment."""
        return str(thing.title_zh if self.name == "zh" else thing.title)

    def hint(self, text: str, text_zh: str) -> str:
        """The one of two texts that is in this language."""
        return text_zh if self.name == "zh" and text_zh else text


ENGLISH = Language()


def _compiled(pattern: str, translation: str) -> tuple[int, re.Pattern[str], str]:
    """How much of a pattern is text, the pattern as a regular expression, and the translation with numbered holes."""
    parts = _HOLE.split(pattern)
    texts, names = parts[::2], parts[1::2]
    groups = [f"(?P<h{number}>{_KINDS.get(name, '.+?')})" for number, name in enumerate(names)]
    regex = "".join(re.escape(text) + group for text, group in zip(texts, [*groups, ""], strict=True))
    unnamed = iter(range(len(names)))
    target = _HOLE.sub(lambda hole: f"{{h{names.index(hole[1]) if hole[1] else next(unnamed)}}}", translation)
    return sum(map(len, texts)), re.compile(regex), target


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
}


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
        for table in told.values():
            words.update({key: value for key, value in table.items() if isinstance(value, str)})
    return words
