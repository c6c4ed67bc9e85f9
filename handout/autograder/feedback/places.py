"""Where things stand in a student's files: a function, a stub. Reads the text, runs nothing."""

from __future__ import annotations

import ast
from pathlib import Path


def function_place(package: Path, path: str) -> str:
    """The place of ``modules.Linear.backward`` as ``lm/modules.py:88``; empty when it is not found."""
    module, _, qualname = path.partition(".")
    file = package / f"{module}.py"
    try:
        scope: ast.AST = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ""
    line = 0
    for name in qualname.split("."):
        found = next((node for node in ast.iter_child_nodes(scope) if getattr(node, "name", None) == name), None)
        if found is None:
            break  # what it inherits, or an attribute: its class is near enough
        scope, line = found, getattr(found, "lineno", 0)
    return f"{package.name}/{file.name}:{line}" if line else ""


def stub_place(package: Path, file: str, text: str) -> str:
    """Where a file raises ``NotImplementedError("<text>")``: as ``lm/ngram.py:41``; the file alone if nowhere."""
    try:
        lines = (package / file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for number, line in enumerate(lines, 1):
        if "NotImplementedError" in line and text in line:
            return f"{package.name}/{file}:{number}"
    return f"{package.name}/{file}"


def line_of(file: Path, number: int) -> str:
    """A line of a file, as it stands there; empty when there is none."""
    try:
        lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError:
        return ""
    return lines[number - 1].rstrip() if 0 < number <= len(lines) else ""
