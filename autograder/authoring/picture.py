"""What a terminal shows, as an SVG picture that fetches nothing."""

from __future__ import annotations

import io
import re

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ANSI = re.compile(r"\x1b\[[0-9;]*m")
_FORMAT = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def plain(text: str) -> str:
    """The text without its colours."""
    return ANSI.sub("", text)


def picture(text: str, title: str) -> str:
    """The picture of a text with ANSI colours, in a window with a title."""
    width = max(map(len, plain(text).splitlines()), default=1)
    console = Console(width=width + 1, record=True, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(Text.from_ansi(text.rstrip("\n")))
    return console.export_svg(title=title, code_format=_FORMAT, unique_id="terminal")
