"""The experiments' texts in Chinese: tables of patterns, English -> Chinese, one for each experiment, in ``zh``. Given.

``{}`` stands for anything; what stands there is translated, too, where it can be. Programs say English, tables and
figures are translated when they are shown.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import lru_cache
from typing import Any

from . import zh

_HOLE = re.compile(r"\{\}")


class Quoted(str):
    """A text that is shown as it is: a sentence of a model or of a corpus."""

    __slots__ = ()


def _table(name: str) -> Any:
    return importlib.import_module(f".zh.{name}", __package__)


@lru_cache(maxsize=1)
def tables() -> dict[str, str]:
    """All patterns that there are."""
    found: dict[str, str] = {}
    for module in pkgutil.iter_modules(zh.__path__):
        found.update(_table(module.name).WORDS)
    return found


@lru_cache(maxsize=1)
def the_same() -> frozenset[str]:
    """Words that are the same in both languages: names of models, of functions, of symbols."""
    names = [module.name for module in pkgutil.iter_modules(zh.__path__)]
    return frozenset(word for name in names for word in _table(name).SAME.split())


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Those with holes; what says most comes first."""
    with_holes = sorted((text for text in tables() if "{}" in text), key=lambda text: (-len(text), text))
    return [(re.compile("(.+?)".join(map(re.escape, _HOLE.split(text)))), tables()[text]) for text in with_holes]


@lru_cache(maxsize=4096)
def chinese(text: str) -> str:
    """A text in Chinese; what has no translation stays as it is."""
    if text in tables():
        return tables()[text]
    for pattern, target in _patterns():
        found = pattern.fullmatch(text)
        if found is not None:
            return target.format(*map(chinese, found.groups()))
    return text


def untranslated(text: str) -> bool:
    """Whether a text has words of English in it and no translation."""
    if text in tables() or chinese(text) != text:
        return False
    return any(word not in the_same() for word in re.findall(r"\b[A-Za-z_]\w+", text))


def width(text: str) -> int:
    """How many columns of a terminal a text takes: a Chinese character takes two."""
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def padded(text: str, columns: int) -> str:
    """A text, flush right in so many columns; what is quoted is flush left."""
    blanks = " " * (columns - width(text))
    return text + blanks if isinstance(text, Quoted) else blanks + text
