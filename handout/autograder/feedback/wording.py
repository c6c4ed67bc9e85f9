"""Values in messages: named, counted and cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from .handles import Handle

SHOWN = 80  # characters of a value in a message


def _kind_name(value: Any) -> str:
    if isinstance(value, Handle):
        return value._type
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return "None" if value is None else type(value).__name__


def article(value: Any) -> str:
    name = _kind_name(value)
    return name if name == "None" else f"{'an' if name[:1].lower() in list('aeiou') else 'a'} {name}"


def count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def short(value: Any) -> str:
    """A value for a message, cut."""
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"an array of shape {value.shape}"
    text = repr(_plain(value))
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def _plain(value: Any) -> Any:
    """Without numpy's scalars and arrays, whose repr is about numpy."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if type(value) in (list, tuple):
        return type(value)(_plain(member) for member in value)
    return {key: _plain(member) for key, member in value.items()} if type(value) is dict else value
