"""``check.py submit``: looks at the files to hand in as the grader will, and packs exactly these. Never uploads."""

from __future__ import annotations

import ast
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .assignment import Assignment

ZIP = "submission.zip"
_LIBRARIES = {"numpy"}
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass
class Looked:
    """What was found.

    Attributes:
        files: name -> content, of what goes in.
        refused: name -> why the grader would not take it. It stays out.
        problems: name -> why it cannot be read as Python. It goes in: it costs its own items only.
        warnings: lines about what may cost points.
        missing: files that are not there.
        left_out: what else lies in the package and is nobody's.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def look(home: Path, assignment: Assignment) -> Looked:
    """Read the submission files in the package, or beside it."""
    looked = Looked()
    package = home / assignment.package
    for name, cap in assignment.files.items():
        path = package / name if (package / name).is_file() else home / name
        if not path.is_file():
            looked.missing.append(name)
            continue
        content = path.read_bytes()
        refused = _refused(content, cap)
        if refused:
            looked.refused[name] = refused
            continue
        looked.files[name] = content
        if name.endswith(".py"):
            looked.problems[name] = _problem(content, assignment)
            looked.warnings += [] if looked.problems[name] else _about_imports(name, content, assignment)
    known = {*assignment.files, *(path.name for path in package.glob("*.py")), "__pycache__"}
    looked.left_out = sorted(path.name for path in package.iterdir() if path.name not in known)
    return looked


def _refused(content: bytes, cap: int) -> str:
    if not content.strip():
        return "is empty"
    if len(content) > cap:
        return f"has {len(content) / 1000:.0f} kB; at most {cap / 1000:.0f} kB are taken"
    return ""


def _problem(content: bytes, assignment: Assignment) -> str:
    """Why the grader cannot read a program."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "is not UTF-8 text: save it as UTF-8"
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return f"line {getattr(error, 'lineno', 1)}: {getattr(error, 'msg', error)}"
    try:
        ast.parse(text, feature_version=_version(assignment))
    except SyntaxError as error:
        return f"line {error.lineno}: needs a newer Python than the grader's {assignment.python}"
    return ""


def _version(assignment: Assignment) -> tuple[int, int]:
    major, minor = assignment.python.split(".")
    return int(major), int(minor)


def _about_imports(name: str, content: bytes, assignment: Assignment) -> Iterator[str]:
    """A line for each import that is not there, or not allowed, when it is graded."""
    allowed = _LIBRARIES | ({"torch"} if name in assignment.torch_files else set()) | set(sys.stdlib_module_names)
    own = {file.removesuffix(".py") for file in assignment.files}
    for node in ast.walk(ast.parse(content.decode("utf-8-sig"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            if node.module in own:
                yield f"{name}:{node.lineno}: imports {node.module}, another file of yours: items then hang together"
            continue
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for top in {module.partition(".")[0] for module in modules}:
            if top == assignment.package:
                yield f"{name}:{getattr(node, 'lineno', 0)}: write from .x import y, not from {top}.x import y"
            elif top not in allowed:
                yield f"{name}:{getattr(node, 'lineno', 0)}: imports {top}, which this assignment does without"


def told(looked: Looked, assignment: Assignment) -> Iterator[tuple[str, str, str]]:
    """What was found: file name or "", what is said of it, colour."""
    for name in assignment.files:
        if name in looked.refused:
            yield name, looked.refused[name], "red"
        elif name in looked.missing:
            yield name, "is not there: its items get no points", "yellow"
        else:
            size, problem = len(looked.files[name]) / 1000, looked.problems.get(name)
            yield name, problem or f"{size:.1f} kB, ok", "red" if problem else ""
    for line in looked.warnings:
        yield "", line, "yellow"
    if looked.left_out:
        yield "", f"left out: {', '.join(looked.left_out)}", ""
    if sys.version_info[:2] > _version(assignment):
        mine = f"{sys.version_info[0]}.{sys.version_info[1]}"
        yield "", f"note: your Python {mine} is newer than the grader's may be: {assignment.python} must do, too", ""


def write(home: Path, looked: Looked) -> Path:
    """Write the zip: the same files give the same bytes."""
    path = home / ZIP
    temporary = path.with_name(f".{ZIP}.tmp")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in looked.files.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            packed.writestr(info, content)
    temporary.replace(path)
    return path
