"""Pandoc, which reads and writes documents: the program that the wheel brings, not another one of this machine.

A document is a list of blocks in pandoc's JSON form: nodes such as ``{"t": "Str", "c": "word"}``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from ..feedback.errors import GraderError, InputError

Node = dict[str, Any]
Blocks = list[Node]

# GitHub's Markdown. A line break between two Chinese characters is no space.
_MARKDOWN = "gfm+east_asian_line_breaks-yaml_metadata_block"
INSTALL = "pip install -e '.[docs]' -c constraints.txt"
# Whoever reads pandoc's trees must say for which version they are.
_VERSION = [1, 23, 1]


class FormulaError(Exception):
    """Pandoc cannot convert a formula.

    Attributes:
        formula: its TeX.
        reason: what pandoc says, on one line.
    """

    def __init__(self, formula: str, reason: str) -> None:
        super().__init__(formula)
        self.formula = formula
        self.reason = reason


@lru_cache(maxsize=100)
def read(markdown: str) -> Blocks:
    """The blocks of a page in GitHub's Markdown. They are shared: to change them is to make others."""
    blocks: Blocks = json.loads(_run(markdown, "--from", _MARKDOWN, "--to", "json"))["blocks"]
    return blocks


def write(blocks: Blocks, *options: str) -> str:
    """The document in another format: ``write(blocks, "--to", "typst")``.

    Raises:
        FormulaError: a formula cannot be converted.
    """
    document = {"pandoc-api-version": _VERSION, "meta": {}, "blocks": blocks}
    return _run(json.dumps(document), "--from", "json", "--wrap", "none", *options)


def rewrite(node: Any, change: Callable[[list[Node]], list[Node]]) -> Any:
    """A copy of a tree in which each list of blocks and of inlines went through ``change``, inner ones first."""
    if isinstance(node, list):
        inner = [rewrite(child, change) for child in node]
        if inner and all(isinstance(child, dict) and "t" in child for child in inner):
            return change(inner)
        return inner
    if isinstance(node, dict):
        return {key: rewrite(value, change) for key, value in node.items()}
    return node


def nodes(tree: Any) -> list[Node]:
    """All blocks and inlines of a tree, in order."""
    if isinstance(tree, list):
        return [found for child in tree for found in nodes(child)]
    if isinstance(tree, dict):
        return [*([tree] if "t" in tree else []), *nodes(list(tree.values()))]
    return []


def plain(tree: Any) -> str:
    """The words of a tree, without their formatting."""
    words = []
    for node in nodes(tree):
        kind = node["t"]
        if kind in ("Str", "Code", "Math"):
            words.append(node["c"] if kind == "Str" else node["c"][1])
        elif kind in ("Space", "SoftBreak", "LineBreak"):
            words.append(" ")
    return "".join(words)


@cache
def _program() -> Path:
    try:
        import pypandoc
    except ImportError:
        raise InputError(f"pages need pandoc and typst: {INSTALL}") from None
    name = "pandoc.exe" if sys.platform == "win32" else "pandoc"
    program = Path(pypandoc.__file__).parent / "files" / name
    if not program.is_file():
        raise InputError(f"this pypandoc comes without pandoc; pages need pypandoc_binary: {INSTALL}")
    return program


def _run(text: str, *arguments: str) -> str:
    with tempfile.TemporaryDirectory(prefix="docs-") as folder:
        log = Path(folder) / "log"
        command: Sequence[str | Path] = [_program(), "--sandbox", "--quiet", "--log", log, *arguments]
        done = subprocess.run(command, input=text.encode("utf-8"), capture_output=True, check=False)
        if done.returncode != 0:
            raise GraderError(f"pandoc failed: {done.stderr.decode('utf-8', 'replace').strip()}")
        for message in json.loads(log.read_text(encoding="utf-8")) if log.exists() else []:
            if message["type"] == "CouldNotConvertTeXMath":
                said = message["message"].splitlines()
                reason = next((line for line in said if line.startswith("unexpected")), "pandoc does not know it")
                raise FormulaError(message["contents"], reason)
    return done.stdout.decode("utf-8")
