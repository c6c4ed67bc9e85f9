"""Other people's text and numbers as HTML. Every name, title and hint of a page passes through ``safe``."""

from __future__ import annotations

import html

from ... import gradescope

DASH = "–"
LONGEST = 80  # characters of a name or an address that are shown


def safe(text: str, longest: int = 0) -> str:
    """Somebody else's text as one line of HTML: no tags, no control characters, no change of direction."""
    line = " ".join(gradescope.clean(text).split())
    if longest and len(line) > longest:
        line = line[: longest - 1] + "…"
    return html.escape(line)


def marked(text: str) -> str:
    """Our own line of Markdown, such as a hint: `code` is code, everything else is text."""
    pieces = safe(text).split("`")
    if len(pieces) % 2 == 0:  # one that is not closed is a backtick
        return safe(text)
    return "".join(f"<code>{piece}</code>" if at % 2 else piece for at, piece in enumerate(pieces))


def number(value: float | None, digits: int = 2) -> str:
    """A number with that many decimals, or a dash. A minus is a hyphen, as programs read it."""
    if value is None:
        return DASH
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def points(value: float | None) -> str:
    """Points, without zeros that say nothing."""
    return DASH if value is None else f"{round(value, 2):g}"


def percent(value: float | None, digits: int = 0) -> str:
    """A part of one as per cent, or a dash."""
    return DASH if value is None else f"{number(100 * value, digits)}\u202f%"
